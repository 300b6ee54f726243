/* What models are asked. Kernels do it; here arguments are looked at, and become the words that kernels take. */

#include <math.h>
#include "internal.h"

#define WRONG(...) return gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, __VA_ARGS__)
#define NEED(what)                                                                                                             \
    do {                                                                                                                       \
        if (!(what))                                                                                                           \
            WRONG("null in the place of $", #what);                                                                            \
    } while (0)

#define NO_WORDS "<s> and </s> are no words of a line"

enum { SHORT_LINE = 1 << 12, BEAM = 256, FEWEST_OF_ALL = 1024 };

static int no_memory(gapgram_error *error) {
    return gapgram_fail(error, GAPGRAM_NO_MEMORY, "not enough memory");
}

static double as_double(int64_t word) {
    double number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static const void *pointer(int64_t word) {
    return (const void *)(uintptr_t)word;
}

static void release(int64_t head) {
    if (head)
        gapgram_release((void *)(uintptr_t)head);
}

int32_t gapgram_order(const gapgram_model *model) {
    return model ? model->order : 0;
}

int32_t gapgram_n_words(const gapgram_model *model) {
    return model ? model->n_words : 0;
}

const char *gapgram_word(const gapgram_model *model, int32_t word, size_t *bytes) {
    int there = model && word >= 0 && word < model->n_words;
    if (bytes)
        *bytes = there ? (size_t)(model->offsets[word + 1] - model->offsets[word]) : 0;
    return there ? (const char *)model->pool + model->offsets[word] : 0;
}

const char *gapgram_about(const gapgram_model *model, size_t *bytes) {
    if (bytes)
        *bytes = model ? model->file.metadata.bytes : 0;
    return model ? model->file.metadata.at : 0;
}

int32_t gapgram_find(const gapgram_model *model, const char *word, size_t bytes) {
    struct words words = {0};
    int64_t found = 0;
    if (!model || !word || !bytes)
        return 0;
    gapgram_push_pointer(&words, word, (int64_t)bytes);
    gapgram_push_pointer(&words, model->slots, model->n_slots);
    gapgram_push_pointer(&words, model->pool, model->pool_bytes);
    gapgram_push_pointer(&words, model->offsets, model->n_words + 1);
    return gapgram_call(model->kernels->find_word, &words, &found, 0) || found < 0 ? 0 : (int32_t)found;
}

int gapgram_encode(const gapgram_model *model, const char *text, size_t bytes, int32_t *out, size_t room, size_t *n, gapgram_error *error) {
    NEED(model);
    NEED(text);
    NEED(n);
    *n = 0;
    for (size_t i = 0; i < bytes;) {
        for (; i < bytes && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')); i++)
            if (text[i] == '\n')
                WRONG("a line with a newline in it: give one line at a time");
        size_t begin = i;
        while (i < bytes && text[i] != ' ' && !(text[i] >= '\t' && text[i] <= '\r'))
            i++;
        if (begin == i)
            break;
        int32_t word = gapgram_find(model, text + begin, i - begin);
        if (word == GAPGRAM_END || (word == GAPGRAM_BEGIN && *n))
            WRONG("<s> may stand first, </s> nowhere");
        if (*n < room && out)
            out[*n] = word;
        ++*n;
    }
    if (out && *n > room)
        WRONG("~ words, and room for ~", (int64_t)*n, (int64_t)room);
    return GAPGRAM_OK;
}

/* A line word by word. */
static int score_line_of_words(const gapgram_model *model, const char *text, size_t bytes, int begins, int ends, double *log10, gapgram_error *error) {
    size_t n = 0, size = bytes / 2 + 3;
    int32_t *words = malloc(size * 12 + 4);
    double *scores = (double *)words;
    if (!words)
        return no_memory(error);
    words += 2 * size;
    words[0] = GAPGRAM_BEGIN;
    int status = gapgram_encode(model, text, bytes, words + 1, size - 2, &n, error);
    words[n + 1] = GAPGRAM_END;
    if (!status && n && words[1] == GAPGRAM_BEGIN)
        status = gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, NO_WORDS);
    int64_t total = (int64_t)n + (begins != 0) + (ends != 0);
    if (!status && total)
        status = gapgram_score_each(model, words + !begins, (int64_t[]){0, total}, 1, scores, error);
    *log10 = 0.0;
    for (int64_t i = 0; !status && i < total; i++)
        *log10 += scores[i];
    free(scores);
    return status;
}

int gapgram_score(const gapgram_model *model, const char *text, size_t bytes, int begins, int ends, double *log10, gapgram_error *error) {
    NEED(model);
    NEED(text);
    NEED(log10);
    if (memchr(text, '\n', bytes))
        WRONG("a line with a newline in it: give one line at a time");
    if (model->kind == KIND_MIXTURE)
        return score_line_of_words(model, text, bytes, begins, ends, log10, error);
    char short_line[SHORT_LINE], arena[ARENA_BYTES], *line = bytes < SHORT_LINE ? short_line : malloc(bytes + 1);
    if (!line)
        return no_memory(error);
    memcpy(line, text, bytes);
    line[bytes] = '\n';
    struct words words = model->score_line;
    int64_t result = 0;
    gapgram_push_pointer(&words, line, (int64_t)bytes + 1);
    gapgram_push(&words, begins != 0);
    gapgram_push(&words, ends != 0);
    code *kernel = model->kind == KIND_BACKOFF ? model->kernels->score_backoff_line : model->kernels->score_line;
    int status = gapgram_call_brief(kernel, &words, &result, error, arena);
    if (line != short_line)
        free(line);
    *log10 = as_double(result);
    if (!status && *log10 != *log10)
        WRONG(NO_WORDS);
    return status;
}

/* Refuse words that are not there; `from`: the first word that may not be <s>. */
static int check_words(const gapgram_model *model, const int32_t *words, size_t n, size_t from, gapgram_error *error) {
    for (size_t i = 0; i < n; i++)
        if (words[i] < 0 || words[i] >= model->n_words || (words[i] == GAPGRAM_BEGIN && i >= from))
            WRONG("word ~ where one from 0 to ~ was expected, and <s> only first", (int64_t)words[i], (int64_t)model->n_words - 1);
    return GAPGRAM_OK;
}

int gapgram_score_each(const gapgram_model *model, const int32_t *words, const int64_t *begins, int64_t n, double *out, gapgram_error *error) {
    struct words given = {0};
    int64_t total = begins[n], result, *lengths = 0;
    if (model->kind == KIND_MIXTURE)
        return gapgram_mix_each(model, words, begins, n, out, error);
    gapgram_push_pointer(&given, words, total);
    gapgram_push_pointer(&given, begins, n + 1);
    gapgram_append(&given, &model->model);
    gapgram_push_pointer(&given, out, total);
    if (model->kind == KIND_MODEL)
        return gapgram_call(model->kernels->score_sequences, &given, &result, error);
    if (!(lengths = malloc((size_t)(total + 1) * 8)))
        return no_memory(error);
    gapgram_push_pointer(&given, lengths, total);
    int status = gapgram_call(model->kernels->score_positions, &given, &result, error);
    free(lengths);
    return status;
}

int gapgram_score_words(const gapgram_model *model, const int32_t *words, size_t n, double *log10, gapgram_error *error) {
    NEED(model);
    NEED(words);
    NEED(log10);
    int status = check_words(model, words, n, 1, error);
    return status || !n ? status : gapgram_score_each(model, words, (int64_t[]){0, (int64_t)n}, 1, log10, error);
}

/* States. */

size_t gapgram_state_bytes(const gapgram_model *model) {
    return model ? (size_t)model->width * (size_t)model->key_bytes : 0;
}

int gapgram_begin(const gapgram_model *model, int after_begin, void *state, gapgram_error *error) {
    NEED(model);
    NEED(state);
    memcpy(state, model->null_state + (after_begin ? gapgram_state_bytes(model) : 0), gapgram_state_bytes(model));
    return GAPGRAM_OK;
}

int gapgram_step(const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length, gapgram_error *error) {
    if (model->kind == KIND_MIXTURE)
        return gapgram_mix_step(model, state, word, after, log10, length, error);
    const struct kernels *k = model->kernels;
    int is_backoff = model->kind == KIND_BACKOFF;
    size_t bytes = gapgram_state_bytes(model), item = (size_t)model->key_bytes;
    int64_t results[8], held = 0, at = model->step.n;
    struct words words;
    memcpy(&words, &model->step, offsetof(struct words, at) + (size_t)at * 8);
    char arena[ARENA_BYTES];
    if (is_backoff) { /* how many grams there are, then these */
        memcpy(&held, state, item);
        if (held < 0 || held >= model->order)
            WRONG("a state of another model");
        gapgram_push_pointer(&words, (const char *)state + item, held * (int64_t)item);
    } else {
        gapgram_push_pointer(&words, state, (int64_t)bytes);
    }
    gapgram_push(&words, word);
    int wide = item == 8;
    code *kernel = is_backoff ? (wide ? k->extend_backoff_64 : k->extend_backoff_32)
                   : model->is_quick ? (wide ? k->extend_chain_64 : k->extend_chain_32)
                                     : (wide ? k->extend_one_64 : k->extend_one_32);
    int status = gapgram_call_brief(kernel, &words, results, error, arena);
    if (status)
        return status;
    if (results[1] < 1)
        WRONG("a state of another model");
    if (is_backoff) {
        memset(after, 0, bytes);
        int64_t n = results[4] / (int64_t)item;
        memcpy(after, &n, item);
        memcpy((char *)after + item, pointer(results[3]), (size_t)results[4]);
    } else {
        memcpy(after, pointer(results[3]), bytes);
    }
    *log10 = as_double(results[0]);
    if (length)
        *length = (int32_t)results[1];
    return GAPGRAM_OK;
}

int gapgram_extend(const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length, gapgram_error *error) {
    NEED(model);
    NEED(state);
    NEED(after);
    NEED(log10);
    int status = check_words(model, &word, 1, 0, error);
    return status ? status : gapgram_step(model, state, word, after, log10, length, error);
}

int gapgram_extend_many(const gapgram_model *model, size_t n, const void *states, const int32_t *words, void *after, double *log10, gapgram_error *error) {
    NEED(model);
    NEED(states);
    NEED(words);
    NEED(after);
    NEED(log10);
    size_t bytes = gapgram_state_bytes(model), wide = model->key_bytes == 8;
    int status = check_words(model, words, n, 0, error);
    for (size_t i = 0; model->kind != KIND_MODEL && i < n && !status; i++)
        status = gapgram_step(model, (const char *)states + i * bytes, words[i], (char *)after + i * bytes, log10 + i, 0, error);
    if (model->kind != KIND_MODEL || status)
        return status;
    char *made = after == states ? malloc(BEAM * bytes) : 0;
    if (after == states && !made)
        return no_memory(error);
    for (size_t i = 0; i < n && !status; i += BEAM) {
        int64_t some = (int64_t)(n - i < BEAM ? n - i : BEAM), lengths[BEAM], result;
        char *out = made ? made : (char *)after + i * bytes;
        struct words given = {0};
        gapgram_push_pointer(&given, (const char *)states + i * bytes, some);
        gapgram_push(&given, model->width);
        gapgram_push_pointer(&given, words + i, some);
        gapgram_append(&given, &model->plan);
        gapgram_append(&given, &model->model);
        gapgram_push_pointer(&given, out, some);
        gapgram_push(&given, model->width);
        gapgram_push_pointer(&given, log10 + i, some);
        gapgram_push_pointer(&given, lengths, some);
        status = gapgram_call(wide ? model->kernels->extend_64 : model->kernels->extend_32, &given, &result, error);
        if (made && !status)
            memcpy((char *)after + i * bytes, made, (size_t)some * bytes);
    }
    free(made);
    return status;
}

/* Distributions and predictions. */

int gapgram_check_context(const gapgram_model *model, const int32_t *context, size_t *n, int32_t most, gapgram_error *error, const int32_t **last) {
    if (*n)
        NEED(context);
    for (size_t i = 0; i < *n; i++)
        if (context[i] < 0 || context[i] >= most || context[i] == GAPGRAM_END || (context[i] == GAPGRAM_BEGIN && i))
            WRONG("word ~ in a context: expected one from 0 to ~, <s> only first and </s> nowhere", (int64_t)context[i], (int64_t)most - 1);
    size_t seen = (size_t)model->order - 1;
    *last = *n > seen ? context + (*n - seen) : context;
    *n = *n > seen ? seen : *n;
    return GAPGRAM_OK;
}

int gapgram_all(const gapgram_model *model, const int32_t *context, int64_t n, double *out, gapgram_error *error) {
    struct words words = {0};
    int64_t results[3];
    if (model->kind == KIND_MIXTURE)
        return gapgram_mix_all(model, context, n, out, error);
    gapgram_push_pointer(&words, context, n);
    if (model->kind == KIND_BACKOFF) { /* the grams' bounds come second */
        struct words rest = model->model;
        gapgram_push(&words, rest.at[0]);
        gapgram_push_array(&words, &model->file.sections[BACKOFF_base]);
        memmove(rest.at, rest.at + 1, (size_t)--rest.n * 8);
        gapgram_append(&words, &rest);
    } else {
        gapgram_append(&words, &model->model);
    }
    int status = gapgram_call(model->kind == KIND_BACKOFF ? model->kernels->backoff_distribution : model->kernels->distribution, &words, results, error);
    if (!status) {
        memcpy(out, pointer(results[1]), (size_t)model->n_words * 8);
        release(results[0]);
    }
    return status;
}

int gapgram_distribution(const gapgram_model *model, const int32_t *context, size_t n, double *out, gapgram_error *error) {
    NEED(model);
    NEED(out);
    int status = gapgram_check_context(model, context, &n, model->n_words, error, &context);
    return status ? status : gapgram_all(model, context, (int64_t)n, out, error);
}

static int before(const gapgram_guess *one, const gapgram_guess *other) {
    return one->probability > other->probability || (one->probability == other->probability && one->word < other->word);
}

/* Put a guess where it belongs among the best. */
static void insert(gapgram_guess *best, size_t *n, size_t k, gapgram_guess guess) {
    if (*n == k && !before(&guess, &best[k - 1]))
        return;
    size_t low = 0, high = *n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (before(&best[middle], &guess))
            low = middle + 1;
        else
            high = middle;
    }
    *n += *n < k;
    memmove(best + low + 1, best + low, (*n - 1 - low) * sizeof *best);
    best[low] = guess;
}

/* The bytes of the character at `text`; 0 where there is none. */
static size_t character(const char *text, size_t bytes, uint32_t *code_point) {
    if (!bytes)
        return 0;
    unsigned char first = (unsigned char)*text;
    size_t n = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    n = n > bytes ? bytes : n;
    *code_point = n == 1 ? first : first & (0xff >> (n + 1));
    for (size_t i = 1; i < n; i++)
        *code_point = *code_point << 6 | ((unsigned char)text[i] & 0x3f);
    return n;
}

/* Whether a word is wanted. */
static int is_wanted(const gapgram_wanted *wanted, int32_t word, const char *text, size_t bytes) {
    uint32_t c, letter;
    if (word <= GAPGRAM_END)
        return word != GAPGRAM_BEGIN && wanted->special && !wanted->prefix_bytes && !wanted->letters;
    if (wanted->prefix && (bytes < wanted->prefix_bytes || memcmp(text, wanted->prefix, wanted->prefix_bytes)))
        return 0;
    for (size_t i = 0; wanted->letters && i < bytes;) {
        i += character(text + i, bytes - i, &c);
        size_t at = 0;
        for (letter = ~c; at < wanted->letters_bytes && letter != c;)
            at += character(wanted->letters + at, wanted->letters_bytes - at, &letter);
        if (letter != c)
            return 0;
    }
    return 1;
}

int gapgram_choose(
    const double *p, int64_t n, const gapgram_wanted *wanted, size_t k, gapgram_guess *guesses, size_t *found,
    const char *(*word)(const void *, int32_t, size_t *), const void *of, gapgram_error *error) {
    (void)error;
    *found = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t bytes;
        gapgram_guess guess = {(int32_t)i, p[i]};
        if (*found == k && !before(&guess, &guesses[k - 1]))
            continue;
        const char *text = word(of, (int32_t)i, &bytes);
        if (is_wanted(wanted, (int32_t)i, text, bytes))
            insert(guesses, found, k, guess);
    }
    return GAPGRAM_OK;
}

static const char *word_of_model(const void *model, int32_t word, size_t *bytes) {
    return gapgram_word(model, word, bytes);
}

/* Something that is made once, by whichever thread is first. */
#define MADE_ONCE(place, made)                                                                                                 \
    do {                                                                                                                       \
        void *none = 0;                                                                                                        \
        if (!atomic_compare_exchange_strong((_Atomic(void *) *)&(place), &none, (void *)(made)))                               \
            free(made);                                                                                                        \
    } while (0)

#include <stdatomic.h>

/* The largest counts of blocks of grams, which `kernels.topk.exact` remembers. */
static int64_t *block_counts(gapgram_model *model, int64_t *n) {
    struct words words = {0};
    gapgram_push_array(&words, &CONTENTS(model, places));
    if (gapgram_call(model->kernels->n_blocks, &words, n, 0))
        return 0;
    if (!model->block_counts) {
        int64_t *made = calloc((size_t)*n + 1, 8);
        if (made)
            MADE_ONCE(model->block_counts, made);
    }
    return model->block_counts;
}

static int compare_words(const gapgram_model *model, int32_t one, int32_t other) {
    size_t a, b;
    const char *first = gapgram_word(model, one, &a), *second = gapgram_word(model, other, &b);
    int order = memcmp(first, second, a < b ? a : b);
    return order ? order : (a > b) - (a < b);
}

static void sort_words(const gapgram_model *model, int32_t *words, int32_t *room, int64_t n) {
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int64_t middle = begin + width < n ? begin + width : n, end = begin + 2 * width < n ? begin + 2 * width : n;
            for (int64_t i = begin, j = middle, at = begin; at < end; at++)
                room[at] = i < middle && (j >= end || compare_words(model, words[i], words[j]) <= 0) ? words[i++] : words[j++];
        }
        memcpy(words, room, (size_t)n * sizeof *words);
    }
}

/* The words by their bytes: the rank of each, then the words in that order. */
static int32_t *ranking(gapgram_model *model) {
    int32_t n = model->n_words, *made = model->ranking ? 0 : malloc((size_t)n * 8 + 8);
    if (made) {
        for (int32_t i = 0; i < n; i++)
            made[n + i] = i;
        sort_words(model, made + n, made, n);
        for (int32_t i = 0; i < n; i++)
            made[made[n + i]] = i;
        MADE_ONCE(model->ranking, made);
    }
    return model->ranking;
}

/* The probabilities of all words that begin with a prefix, to be freed, and the first and last of their ranks. */
static int completions(gapgram_model *model, const int32_t *context, size_t n, const char *prefix, size_t bytes, double **p, int64_t *first, int64_t *last, gapgram_error *error) {
    int32_t *ranks = ranking(model), *ranked = ranks + model->n_words;
    if (!ranks)
        return no_memory(error);
    struct words words = {0};
    int64_t range[2], results[3];
    gapgram_push_pointer(&words, prefix, (int64_t)bytes);
    gapgram_push_pointer(&words, ranked, model->n_words);
    gapgram_push_pointer(&words, model->pool, model->pool_bytes);
    gapgram_push_pointer(&words, model->offsets, model->n_words + 1);
    int status = gapgram_call(model->kernels->prefix_range, &words, range, error);
    *first = range[0];
    *last = range[1];
    size_t n_found = model->kind == KIND_MODEL ? (size_t)(range[1] - range[0]) : (size_t)model->n_words;
    if (status || !(*p = malloc(n_found * 8 + 8)))
        return status ? status : no_memory(error);
    if (model->kind == KIND_MODEL) {
        words.n = 0;
        gapgram_push_pointer(&words, context, (int64_t)n);
        gapgram_append(&words, &model->model);
        gapgram_push_pointer(&words, ranks, model->n_words);
        gapgram_push_pointer(&words, ranked, model->n_words);
        gapgram_push(&words, *first);
        gapgram_push(&words, *last);
        if (!(status = gapgram_call(model->kernels->probabilities_of_range, &words, results, error))) {
            memcpy(*p, pointer(results[1]), n_found * 8);
            release(results[0]);
        }
    } else {
        double *all = malloc(n_found * 8);
        status = all ? gapgram_all(model, context, (int64_t)n, all, error) : no_memory(error);
        for (int64_t rank = *first; rank < *last && !status; rank++)
            (*p)[rank - *first] = all[ranked[rank]];
        free(all);
    }
    if (status)
        free(*p);
    return status;
}

static int predict_by_sorting(const gapgram_model *model, const int32_t *context, size_t n, size_t k, const gapgram_wanted *wanted, gapgram_guess *guesses, size_t *found, gapgram_error *error) {
    double *all = malloc((size_t)model->n_words * 8);
    if (!all)
        return no_memory(error);
    int status = gapgram_all(model, context, (int64_t)n, all, error);
    if (!status)
        status = gapgram_choose(all, model->n_words, wanted, k, guesses, found, word_of_model, model, error);
    free(all);
    return status;
}

int gapgram_predict(const gapgram_model *shared, const int32_t *context, size_t n, size_t k, const gapgram_wanted *asked, gapgram_guess *guesses, size_t *found, gapgram_error *error) {
    gapgram_model *model = (gapgram_model *)shared; /* of which only what is made once is changed */
    gapgram_wanted wanted = asked ? *asked : (gapgram_wanted){0};
    int64_t results[8], first, last, n_blocks;
    double *p;
    NEED(model);
    NEED(guesses);
    NEED(found);
    *found = 0;
    if (!k || (!wanted.prefix && wanted.prefix_bytes) || (!wanted.letters && wanted.letters_bytes))
        WRONG("k = 0, or a null text of some bytes");
    int status = gapgram_check_context(model, context, &n, model->n_words, error, &context);
    if (status)
        return status;
    if (wanted.prefix_bytes) {
        if ((status = completions(model, context, n, wanted.prefix, wanted.prefix_bytes, &p, &first, &last, error)))
            return status;
        for (int64_t rank = first; rank < last; rank++) {
            size_t bytes;
            gapgram_guess guess = {model->ranking[model->n_words + rank], p[rank - first]};
            const char *text = gapgram_word(model, guess.word, &bytes);
            if (is_wanted(&wanted, guess.word, text, bytes))
                insert(guesses, found, k, guess);
        }
        free(p);
        return GAPGRAM_OK;
    }
    size_t most = (size_t)model->n_words >> 3 > FEWEST_OF_ALL ? (size_t)model->n_words >> 3 : FEWEST_OF_ALL;
    int64_t *blocks = model->kind == KIND_MODEL && !wanted.letters && k <= most ? block_counts(model, &n_blocks) : 0;
    if (!blocks)
        return predict_by_sorting(model, context, n, k, &wanted, guesses, found, error);
    struct words words = {0};
    gapgram_push_pointer(&words, context, (int64_t)n);
    gapgram_append(&words, &model->model);
    gapgram_push_pointer(&words, blocks, n_blocks);
    gapgram_push(&words, (int64_t)k);
    gapgram_push(&words, wanted.special != 0);
    if ((status = gapgram_call(model->kernels->most_probable, &words, results, error)))
        return status;
    const int64_t *some = pointer(results[1]);
    const double *probabilities = pointer(results[4]);
    for (int64_t i = 0; results[6] && i < results[2]; i++)
        insert(guesses, found, k, (gapgram_guess){(int32_t)some[i], probabilities[i]});
    release(results[0]);
    release(results[3]);
    return results[6] ? GAPGRAM_OK : predict_by_sorting(model, context, n, k, &wanted, guesses, found, error);
}

int gapgram_next_characters(const gapgram_model *shared, const int32_t *context, size_t n, const char *typed, size_t typed_bytes, size_t room, gapgram_guess *characters, size_t *found, gapgram_error *error) {
    gapgram_model *model = (gapgram_model *)shared;
    int64_t first, last;
    double *p;
    NEED(model);
    NEED(characters);
    NEED(found);
    if (typed_bytes)
        NEED(typed);
    *found = 0;
    int status = gapgram_check_context(model, context, &n, model->n_words, error, &context);
    if (status)
        return status;
    if ((status = completions(model, context, n, typed, typed_bytes, &p, &first, &last, error)))
        return status;
    /* Words that begin alike are neighbours, and so are those that go on alike. */
    gapgram_guess sum = {-1, 0.0};
    for (int64_t rank = first; rank <= last; rank++) {
        size_t bytes = 0;
        uint32_t next = 0;
        const char *text = rank < last ? gapgram_word(model, model->ranking[model->n_words + rank], &bytes) : 0;
        if (text)
            character(text + typed_bytes, bytes - typed_bytes, &next);
        if (text && model->ranking[model->n_words + rank] <= GAPGRAM_END)
            continue;
        if (!text || (int32_t)next != sum.word) {
            if (sum.word >= 0 && room)
                insert(characters, found, room, sum);
            sum = (gapgram_guess){(int32_t)next, 0.0};
        }
        sum.probability += text ? p[rank - first] : 0.0;
    }
    free(p);
    return GAPGRAM_OK;
}

/* Where a probability comes from. */

int gapgram_explain(const gapgram_model *model, const int32_t *context, size_t n, int32_t word, gapgram_share *shares, size_t room, size_t *found, double *rest, gapgram_error *error) {
    int64_t r[20];
    NEED(model);
    NEED(found);
    NEED(rest);
    *found = 0;
    int status = gapgram_check_context(model, context, &n, model->n_words, error, &context);
    if (status || (status = check_words(model, &word, 1, 0, error)))
        return status;
    if (model->kind != KIND_MODEL)
        return gapgram_fail(error, GAPGRAM_NOT_POSSIBLE, "explaining: of models of gapgram, not of backoff models or mixtures");
    int32_t ids[32]; /* the order is 16 at most */
    if (n)
        memcpy(ids, context, n * sizeof *ids);
    ids[n] = word;
    struct words words = {0};
    gapgram_push_pointer(&words, ids, (int64_t)n + 1);
    gapgram_append(&words, &model->model);
    if ((status = gapgram_call(model->kernels->shares_of_last, &words, r, error)))
        return status;
    const int64_t *counts = pointer(r[5]), *rows = pointer(r[9]), width = (int64_t)n + 1;
    const double *share = pointer(r[13]), *values = CONTENTS(model, row_values).data, *discounts = CONTENTS(model, discounts).data;
    const int64_t *statistics = CONTENTS(model, rows).data;
    const struct section *given = &CONTENTS(model, given_class);
    *rest = as_double(r[15]) / (double)(model->n_words - 1);
    for (int64_t p = 0; p < model->n_patterns; p++) {
        int64_t mask = model->patterns[2 * p], classes = model->patterns[2 * p + 1], reach = 0;
        while (mask >> reach)
            reach++;
        if (reach > (int64_t)n)
            continue;
        if (*found < room && shares) {
            int64_t count = counts[p * width + (int64_t)n], row = rows[p * width + (int64_t)n];
            row = row < 0 ? 0 : row;
            double left = (double)count - discounts[4 * p + (count < 3 ? count : 3)];
            int64_t member = (classes - 1) * model->n_words + word;
            double of_class = classes && member < given->shape[0] ? ((const double *)given->data)[member] : 1.0;
            double discounted = (left > 0 ? left : 0.0) * values[4 * row];
            shares[*found] = (gapgram_share){
                (uint32_t)mask, (int32_t)classes, statistics[5 * row], count, discounted, values[4 * row + 1], share[p],
                of_class, share[p] * discounted * of_class,
            };
        }
        ++*found;
    }
    for (int i = 0; i < 12; i += 4)
        release(r[i]);
    release(r[12]);
    if (shares && *found > room)
        WRONG("~ patterns, and room for ~", (int64_t)*found, (int64_t)room);
    return GAPGRAM_OK;
}

int gapgram_class(const gapgram_model *model, int32_t clustering, int32_t word, int32_t *out, size_t room, size_t *n, gapgram_error *error) {
    NEED(model);
    NEED(n);
    *n = 0;
    int status = check_words(model, &word, 1, 1, error);
    const struct section *class_of = &CONTENTS(model, class_of), *base = &CONTENTS(model, member_base), *members = &CONTENTS(model, members);
    int64_t at = ((int64_t)clustering - 1) * model->n_words + word;
    if (status || model->kind != KIND_MODEL || at < word || at >= class_of->shape[0])
        return status;
    int64_t number = ((const int32_t *)class_of->data)[at];
    if (number < 0 || number >= base->shape[0] - 1)
        return gapgram_fail(error, GAPGRAM_WRONG_FILE, "a class that is not there: the file is damaged");
    const int64_t *begin = (const int64_t *)base->data + number;
    *n = (size_t)(begin[1] - begin[0]);
    for (size_t i = 0; out && i < *n && i < room; i++)
        out[i] = ((const int32_t *)members->data)[begin[0] + (int64_t)i];
    return GAPGRAM_OK;
}
