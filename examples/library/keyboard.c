/* A keyboard with three suggestions that learns its user's words: types a text and counts the keystrokes.

       cc keyboard.c libgapgram.a -lm -o keyboard && ./keyboard MODEL TEXT

   A word is picked as soon as it is suggested, with one keystroke, which types the space too; otherwise each of its letters
   and the space is typed. The keyboard that learns reads every sentence once it was typed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gapgram.h"

enum { SUGGESTIONS = 3, MOST_WORDS = 1000, MOST_BYTES = 1 << 16 };

static gapgram_error error;

static void check(int code) {
    if (code) {
        fprintf(stderr, "%s\n", error.sentence);
        exit(1);
    }
}

/* Type a word letter by letter until it is suggested; returns the keystrokes, the pick or the space included. */
static long type_word(gapgram_session *keyboard, const int32_t *before, size_t n_before, const char *word, size_t bytes) {
    gapgram_guess guesses[SUGGESTIONS];
    long keys = 0;
    for (size_t typed = 0; typed < bytes; typed++) {
        if ((word[typed] & 0xc0) == 0x80)
            continue; /* inside of a character */
        gapgram_wanted wanted = {.prefix = word, .prefix_bytes = typed};
        size_t n, length;
        check(gapgram_session_predict(keyboard, before, n_before, SUGGESTIONS, &wanted, guesses, &n, &error));
        keys++;
        for (size_t i = 0; i < n; i++) {
            const char *guess = gapgram_session_word(keyboard, guesses[i].word, &length);
            if (length == bytes && !memcmp(guess, word, bytes))
                return keys;
        }
    }
    return keys + 1;
}

/* Type a line; adds the keystrokes, and the letters and spaces. */
static void type_line(gapgram_session *keyboard, const char *line, int learn, long *keys, long *letters) {
    int32_t before[MOST_WORDS] = {GAPGRAM_BEGIN};
    size_t n = 1;
    for (const char *word = line; *word && n < MOST_WORDS; n++) {
        size_t bytes = strcspn(word, " ");
        if (bytes) {
            *keys += type_word(keyboard, before, n, word, bytes);
            for (size_t i = 0; i < bytes; i++)
                *letters += (word[i] & 0xc0) != 0x80;
            ++*letters;
        }
        before[n] = gapgram_session_find(keyboard, word, bytes);
        n -= !bytes;
        word += bytes + (word[bytes] != 0);
    }
    if (learn && n > 1)
        check(gapgram_session_score(keyboard, line, strlen(line), 1, 0, &error));
}

int main(int n_arguments, char **arguments) {
    static char line[MOST_BYTES];
    gapgram_model *model;
    if (n_arguments != 3) {
        fprintf(stderr, "usage: keyboard MODEL TEXT\n");
        return 2;
    }
    check(gapgram_open(arguments[1], &model, &error));
    for (int learn = 0; learn < 2; learn++) {
        gapgram_session *keyboard;
        long keys = 0, letters = 0;
        FILE *text = fopen(arguments[2], "r");
        if (!text) {
            perror(arguments[2]);
            return 1;
        }
        check(gapgram_session_open(model, 0, &keyboard, &error));
        while (fgets(line, sizeof line, text)) {
            line[strcspn(line, "\n")] = 0;
            type_line(keyboard, line, learn, &keys, &letters);
        }
        printf("a keyboard that %s: %ld keystrokes for %ld letters and spaces, %.1f %% saved\n",
               learn ? "learns" : "does not learn", keys, letters, 100.0 * (1.0 - (double)keys / (double)letters));
        fclose(text);
        gapgram_session_close(keyboard);
    }
    gapgram_close(model);
    return 0;
}
