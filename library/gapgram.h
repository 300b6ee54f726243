/* gapgram: n-gram language models that may skip words, for C, C++ and whatever calls C.

   A model is opened from a file, which is mapped, or from memory, which stays the caller's; it is never changed, and
   threads may share it. A session, which learns what it reads, is for one thread at a time. There is no global state.

   Text is UTF-8 and given with its number of bytes. Words are what white space separates; a model's own words are
   numbered from 0: 0 is <unk>, 1 <s>, 2 </s>. Probabilities are given as log10 where a name says so.

   Functions return GAPGRAM_OK or another code; with `error`, which may be null, they write a sentence. Nothing that a
   caller or a file does wrong ends the program. Memory is taken for a model when it is opened (for some lists when a
   model is first asked for predictions) and for a session as it grows; all else is given back before a call returns. */

#ifndef GAPGRAM_H
#define GAPGRAM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined _WIN32 && defined GAPGRAM_SHARED
#define GAPGRAM_API __declspec(dllimport)
#elif defined __GNUC__
#define GAPGRAM_API __attribute__((visibility("default")))
#else
#define GAPGRAM_API
#endif

enum {
    GAPGRAM_OK,
    GAPGRAM_WRONG_ARGUMENT, /* null, a word that is not there, no UTF-8 … */
    GAPGRAM_NO_FILE,        /* cannot be read or written */
    GAPGRAM_WRONG_FILE,     /* damaged, cut short, hostile, or of a kind that this library does not know */
    GAPGRAM_NO_MEMORY,
    GAPGRAM_NOT_POSSIBLE    /* of models of this kind, or on this machine */
};

enum { GAPGRAM_UNKNOWN, GAPGRAM_BEGIN, GAPGRAM_END }; /* the first words */

typedef struct gapgram_model gapgram_model;
typedef struct gapgram_session gapgram_session;

typedef struct {
    int32_t code;
    char sentence[508];
} gapgram_error;

/* Opening: models of gapgram (all lattices, layouts and weights), backoff models (`gapgram convert` makes them of ARPA
   files and KenLM's) and mixtures in one file. Memory must begin at a multiple of 8 bytes and stay until the model is closed. */
GAPGRAM_API int gapgram_open(const char *path, gapgram_model **model, gapgram_error *error);
GAPGRAM_API int gapgram_open_memory(const void *data, size_t bytes, gapgram_model **model, gapgram_error *error);
GAPGRAM_API void gapgram_close(gapgram_model *model); /* not before its sessions */

/* What it knows. A word is not followed by a zero byte; null, and 0 bytes, for a number that is none. */
GAPGRAM_API int32_t gapgram_order(const gapgram_model *model);
GAPGRAM_API int32_t gapgram_n_words(const gapgram_model *model);
GAPGRAM_API const char *gapgram_word(const gapgram_model *model, int32_t word, size_t *bytes);
GAPGRAM_API int32_t gapgram_find(const gapgram_model *model, const char *word, size_t bytes); /* 0: not known */
/* What the file says beside its tables, as JSON: its lattice, how text was split, a name, a licence. */
GAPGRAM_API const char *gapgram_about(const gapgram_model *model, size_t *bytes);

/* The numbers of the words of a line; room for bytes / 2 + 1 is always enough. `n`: how many there are. */
GAPGRAM_API int gapgram_encode(
    const gapgram_model *model, const char *text, size_t bytes, int32_t *words, size_t room, size_t *n, gapgram_error *error);

/* log10 of the probability of a line; `begins`: it is a sentence after <s>, `ends`: </s> follows. */
GAPGRAM_API int gapgram_score(
    const gapgram_model *model, const char *text, size_t bytes, int begins, int ends, double *log10, gapgram_error *error);
/* The same of each of n words, the first of which may be <s>, whose own is 0. */
GAPGRAM_API int gapgram_score_words(
    const gapgram_model *model, const int32_t *words, size_t n, double *log10, gapgram_error *error);

/* States: what is known before the next word, so many bytes, in the caller's memory at a multiple of 8; two that are
   equal, byte by byte, give the same to all that follows. `length`, which may be null: of the longest n-gram found. */
GAPGRAM_API size_t gapgram_state_bytes(const gapgram_model *model);
GAPGRAM_API int gapgram_begin(const gapgram_model *model, int after_begin, void *state, gapgram_error *error);
GAPGRAM_API int gapgram_extend(
    const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length,
    gapgram_error *error);
/* n states side by side, a word for each; `after` may be the same memory. */
GAPGRAM_API int gapgram_extend_many(
    const gapgram_model *model, size_t n, const void *states, const int32_t *words, void *after, double *log10,
    gapgram_error *error);

/* The probability of every word after some, as many as there are words. */
GAPGRAM_API int gapgram_distribution(
    const gapgram_model *model, const int32_t *context, size_t n, double *probabilities, gapgram_error *error);

typedef struct {
    int32_t word;
    double probability;
} gapgram_guess;

/* Which words are guessed. A zeroed one asks for all but <unk> and </s>. */
typedef struct {
    const char *prefix; /* only words that begin so; null: all */
    size_t prefix_bytes;
    const char *letters; /* only words of these characters; null: all */
    size_t letters_bytes;
    int special; /* <unk> and </s>, too */
} gapgram_wanted;

/* The k most probable next words, the most probable first; `guesses` has room for k, `n`: how many there are. */
GAPGRAM_API int gapgram_predict(
    const gapgram_model *model, const int32_t *context, size_t n_context, size_t k, const gapgram_wanted *wanted,
    gapgram_guess *guesses, size_t *n, gapgram_error *error);
/* The characters (code points, 0 where the word ends) that may follow what was typed of a word, and the probability of
   all words that go on so; the most probable first. `word` of a guess is the character. */
GAPGRAM_API int gapgram_next_characters(
    const gapgram_model *model, const int32_t *context, size_t n_context, const char *typed, size_t typed_bytes, size_t room,
    gapgram_guess *characters, size_t *n, gapgram_error *error);

/* What one pattern says of a word: it counted `count` of `total` after its context, was given a `share` of the
   prediction, and contributes share * discounted * given_class; a part `backoff` of the share went to patterns below. */
typedef struct {
    uint32_t mask;   /* bit k - 1: the word k before is kept */
    int32_t classes; /* the clustering whose classes it is of; 0 for one of words */
    int64_t total, count;
    double discounted, backoff, share, given_class, contribution;
} gapgram_share;

/* Where the probability of a word comes from; not of backoff models and mixtures. `rest`: what every word gets alike. */
GAPGRAM_API int gapgram_explain(
    const gapgram_model *model, const int32_t *context, size_t n_context, int32_t word, gapgram_share *shares, size_t room,
    size_t *n, double *rest, gapgram_error *error);
/* The words of a word's class in a clustering, numbered from 1, the most frequent first; `n`: how many there are, of which
   as many are written as there is room for. None in a clustering that the model does not have. */
GAPGRAM_API int gapgram_class(
    const gapgram_model *model, int32_t clustering, int32_t word, int32_t *words, size_t room, size_t *n, gapgram_error *error);

/* Sessions: a reader of a model, which mixes it with what was read. Words that the model does not know become words of
   the session's own, numbered after those of the model, once they were learned.
   most_words: that it holds; beyond that it keeps the latest third; 0: 100,000. */
GAPGRAM_API int gapgram_session_open(
    const gapgram_model *model, size_t most_words, gapgram_session **session, gapgram_error *error);
GAPGRAM_API void gapgram_session_close(gapgram_session *session);
GAPGRAM_API int32_t gapgram_session_n_words(const gapgram_session *session);
GAPGRAM_API const char *gapgram_session_word(const gapgram_session *session, int32_t word, size_t *bytes);
GAPGRAM_API int32_t gapgram_session_find(const gapgram_session *session, const char *word, size_t bytes);
/* log10 of the probability of a sentence, null where nobody wants it; where `learn`, each word is learned after it. */
GAPGRAM_API int gapgram_session_score(
    gapgram_session *session, const char *text, size_t bytes, int learn, double *log10, gapgram_error *error);
GAPGRAM_API int gapgram_session_forget(gapgram_session *session, double share, gapgram_error *error); /* 1: all */
GAPGRAM_API int gapgram_session_distribution(
    gapgram_session *session, const int32_t *context, size_t n, double *probabilities, gapgram_error *error);
/* Which part of the model's probability of a word after a context is in the session's; what was read gives the rest. */
GAPGRAM_API int gapgram_session_trust(
    gapgram_session *session, const int32_t *context, size_t n, double *of_model, gapgram_error *error);
GAPGRAM_API int gapgram_session_predict(
    gapgram_session *session, const int32_t *context, size_t n_context, size_t k, const gapgram_wanted *wanted,
    gapgram_guess *guesses, size_t *n, gapgram_error *error);
/* What was learned, as bytes that `gapgram_session_restore` takes, for the same model; with null, how many there are. */
GAPGRAM_API int gapgram_session_save(
    const gapgram_session *session, void *data, size_t room, size_t *bytes, gapgram_error *error);
GAPGRAM_API int gapgram_session_restore(
    gapgram_session *session, const void *data, size_t bytes, gapgram_error *error);

#ifdef __cplusplus
}
#endif

#endif
