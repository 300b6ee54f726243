/* What the files of the library share. */

#ifndef GAPGRAM_INTERNAL_H
#define GAPGRAM_INTERNAL_H

#include <stdlib.h>
#include <string.h>
#include "gapgram.h"
#include "generated.h" /* made by compiler/library.py: kernels, rules of sections, what may be wrong with a file */
#include "runtime.h"

enum { MOST_SECTIONS = 80, MOST_DEPTH = 16, MOST_WORDS = 160 /* of what a kernel takes */, ARENA_BYTES = 1 << 16 };

/* A piece of text, which need not end in a zero. */
struct text {
    const char *at;
    size_t bytes;
};

/* A section of a file: as the table of contents has it. */
struct section {
    const struct rule *rule; /* null: none */
    const void *data;
    char type[4]; /* as "i8" */
    int dimensions;
    int64_t shape[3];
    uint64_t offset, padded, checksum;
};

struct file {
    const uint8_t *data;
    uint64_t bytes;
    struct text metadata;
    struct section sections[MOST_SECTIONS]; /* in the order of the rules */
};

/* Memory that arrays of a kernel's result count on, given back with the model. */
enum { MOST_HEADS = 8 };

struct words {
    int64_t n, at[MOST_WORDS];
};

/* A model of a mixture: for each word of the mixture its number in it, and what of its <unk> such a word gets. */
struct part {
    gapgram_model *model;
    int32_t *ids;
    double share, log10_share;
    size_t state, padding; /* where its state lies in one of the mixture, and the zeros behind it */
};

struct gapgram_model {
    int kind; /* KIND_MODEL, KIND_BACKOFF or KIND_MIXTURE */
    struct file file;
    void *mapped; /* null: memory of the caller's */
    const struct kernels *kernels;
    int32_t order, n_words, n_classes, n_patterns, is_quick, key_bytes, width;
    int64_t n_grams;
    const uint8_t *pool;
    int64_t pool_bytes;
    int64_t *offsets, *slots; /* of the file, or own */
    int64_t n_slots;
    int own_words;
    struct part *parts; /* of a mixture */
    double *weights;
    uint8_t *own_pool;
    int n_parts;
    struct words model, plan, score_line, step; /* arguments of kernels, as words */
    int64_t *patterns;
    void *heads[MOST_HEADS];
    uint64_t signature; /* a hash of what a session depends on */
    uint8_t *null_state; /* and, behind it, the one after <s> */
    int64_t *_Atomic block_counts;
    int32_t *_Atomic ranking; /* ranks of words by their bytes, then words in that order */
};

#define CONTENTS(model, name) ((model)->file.sections[SECTION_##name])

static inline void gapgram_push(struct words *words, int64_t word) {
    if (words->n < MOST_WORDS) /* the widest bundle has half as many */
        words->at[words->n++] = word;
}

static inline void gapgram_push_double(struct words *words, double number) {
    int64_t word;
    memcpy(&word, &number, sizeof word);
    gapgram_push(words, word);
}

static inline void gapgram_push_pointer(struct words *words, const void *data, int64_t size) {
    gapgram_push(words, (int64_t)(uintptr_t)data);
    gapgram_push(words, size);
}

/* hash.c */
uint64_t gapgram_xxh3(const void *data, uint64_t bytes);

/* errors.c: write a sentence, return the code. In the form `~` stands for a number, `$` for a text. */
int gapgram_fail(gapgram_error *error, int code, const char *form, ...);

/* json.c: values are pieces of a text that was found to be JSON. */
int gapgram_is_json(struct text text);
struct text gapgram_member(struct text object, const char *name); /* at is null where there is none */
int gapgram_element(struct text *rest, struct text *element);     /* of a list; rest begins as the list itself */
int gapgram_whole(struct text value, uint64_t *number);
int gapgram_real(struct text value, double *number);
int gapgram_string(struct text value, char *out, size_t room); /* unescaped, ended by a zero; its bytes or -1 */

/* file.c */
int gapgram_read(struct file *file, const struct rule *rules, int n_rules, int kind, gapgram_error *error);
void gapgram_forget_file(struct file *file);
int gapgram_kind(const uint8_t *data, uint64_t bytes, int *kind, gapgram_error *error);
void gapgram_push_array(struct words *words, const struct section *section);
void gapgram_append(struct words *words, const struct words *more);

/* model.c; depth, n_models: of mixtures that it is in, and of models in them so far */
int gapgram_take(gapgram_model *model, int depth, int *n_models, gapgram_error *error);
int gapgram_fill_slots(gapgram_model *model, gapgram_error *error);
int gapgram_call(code *kernel, const struct words *words, int64_t *results, gapgram_error *error);
int gapgram_call_brief(code *kernel, const struct words *words, int64_t *results, gapgram_error *error, char *arena);
int gapgram_step(const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length, gapgram_error *error);
int gapgram_check_context(const gapgram_model *model, const int32_t *context, size_t *n, int32_t most, gapgram_error *error, const int32_t **last);
int gapgram_score_each(const gapgram_model *model, const int32_t *words, const int64_t *begins, int64_t n, double *out, gapgram_error *error);
int gapgram_all(const gapgram_model *model, const int32_t *context, int64_t n, double *out, gapgram_error *error);

/* mixture.c */
int gapgram_take_mixture(gapgram_model *model, int depth, int *n_models, gapgram_error *error);
void gapgram_close_parts(gapgram_model *model);
int gapgram_mix_each(const gapgram_model *model, const int32_t *words, const int64_t *begins, int64_t n, double *out, gapgram_error *error);
int gapgram_mix_step(const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length, gapgram_error *error);
int gapgram_mix_all(const gapgram_model *model, const int32_t *context, int64_t n, double *out, gapgram_error *error);

/* queries.c */
int gapgram_choose(
    const double *p, int64_t n, const gapgram_wanted *wanted, size_t k, gapgram_guess *guesses, size_t *found,
    const char *(*word)(const void *, int32_t, size_t *), const void *of, gapgram_error *error);

#endif
