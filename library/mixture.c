/* Mixtures: P(w | context) = weight 1 * P1(w | context) + weight 2 * P2(w | context) + …, as `gapgram.models.mixture` has
   them. Each model is a file inside of the mixture's. A word of the mixture that a model does not know gets an even share
   of what that model gives to <unk>. */

#include <math.h>
#include "internal.h"

enum { MOST_MODELS = 100, MOST_NESTED = 16, ALIGN = 64 };
#define ODD "not as gapgram writes it: "
#define REFUSE(...) return gapgram_fail(error, GAPGRAM_WRONG_FILE, __VA_ARGS__)

static int no_memory(gapgram_error *error) {
    return gapgram_fail(error, GAPGRAM_NO_MEMORY, "not enough memory");
}

/* The words of all models, those of the first first; with `pool`, they are put there. */
static void all_words(gapgram_model *model, int64_t *n, int64_t *bytes, uint8_t *pool) {
    *n = *bytes = 0;
    for (int m = 0; m < model->n_parts; m++)
        for (int32_t word = m ? GAPGRAM_END + 1 : 0; word < model->parts[m].model->n_words; word++) {
            size_t length;
            const char *text = gapgram_word(model->parts[m].model, word, &length);
            int known = 0;
            for (int before = 0; word > GAPGRAM_END && before < m && !known; before++)
                known = gapgram_find(model->parts[before].model, text, length) > 0;
            if (known)
                continue;
            if (pool) {
                memcpy(pool + *bytes, text, length);
                model->offsets[*n + 1] = *bytes + (int64_t)length;
            }
            *bytes += (int64_t)length;
            ++*n;
        }
}

static int take_all_words(gapgram_model *model, gapgram_error *error) {
    int64_t n, bytes;
    all_words(model, &n, &bytes, 0);
    if (n >= INT32_MAX / 2)
        REFUSE("a mixture of ~ words, which are too many", n);
    for (model->n_slots = 16; model->n_slots <= 2 * n;)
        model->n_slots *= 2;
    model->own_words = 1;
    model->n_words = (int32_t)n;
    model->offsets = calloc((size_t)n + 1, 8);
    model->slots = malloc((size_t)model->n_slots * 8);
    uint8_t *pool = model->own_pool = malloc((size_t)bytes + 1);
    if (!model->offsets || !model->slots || !pool)
        return no_memory(error);
    all_words(model, &n, &bytes, pool);
    model->pool = pool;
    model->pool_bytes = bytes;
    int status = gapgram_fill_slots(model, error);
    for (int m = 0; m < model->n_parts && !status; m++) {
        struct part *part = &model->parts[m];
        int64_t unknown = 0;
        if (!(part->ids = malloc((size_t)n * 4)))
            return no_memory(error);
        for (int32_t word = 0; word < n; word++) {
            size_t length;
            const char *text = gapgram_word(model, word, &length);
            part->ids[word] = gapgram_find(part->model, text, length);
            unknown += part->ids[word] == GAPGRAM_UNKNOWN;
        }
        part->share = 1.0 / (double)unknown; /* <unk> is one of them */
        part->log10_share = -log10((double)unknown);
    }
    return status;
}

int gapgram_take_mixture(gapgram_model *model, int depth, int *n_models, gapgram_error *error) {
    int status = gapgram_read(&model->file, mixture_rules, N_MIXTURE_SECTIONS, KIND_MIXTURE, error);
    if (status)
        return status;
    const struct section *sections = model->file.sections, *all = &sections[MIXTURE_parts];
    const int64_t *sizes = sections[MIXTURE_part_sizes].data;
    const double *weights = sections[MIXTURE_weights].data;
    int64_t n = sections[MIXTURE_weights].shape[0], at = 0;
    double sum = 0.0;
    if (depth >= MOST_NESTED)
        REFUSE("mixtures inside of each other, more than ~ deep; mix fewer", (int64_t)MOST_NESTED);
    if (n < 2)
        REFUSE(ODD "~ models of a mixture, expected two or more", n);
    if ((*n_models += n > MOST_MODELS ? MOST_MODELS + 1 : (int)n) > MOST_MODELS)
        REFUSE("a mixture of more than ~ models; mix fewer", (int64_t)MOST_MODELS);
    for (int64_t m = 0; m < n; m++)
        sum += weights[m];
    if (!(fabs(sum - 1.0) <= 1e-6))
        REFUSE(ODD "weights of a mixture that do not sum to 1");
    model->kind = KIND_MIXTURE;
    model->kernels = &gapgram_kernels[gapgram_can_run(4)][0];
    if (!(model->parts = calloc((size_t)n, sizeof *model->parts)) || !(model->weights = malloc((size_t)n * 8)))
        return no_memory(error);
    for (int64_t m = 0; m < n && !status; m++) {
        struct part *part = &model->parts[m];
        if (sizes[m] > all->shape[0] - at || !(part->model = calloc(1, sizeof *part->model))) {
            if (sizes[m] <= all->shape[0] - at)
                return no_memory(error);
            REFUSE(ODD "models that are larger or smaller than their place");
        }
        model->n_parts++;
        model->weights[m] = fabs(sum - 1.0) < 1e-12 ? weights[m] : weights[m] / sum;
        part->model->file.data = (const uint8_t *)all->data + at;
        part->model->file.bytes = (uint64_t)sizes[m];
        at += (sizes[m] + ALIGN - 1) / ALIGN * ALIGN;
        if ((status = gapgram_take(part->model, depth + 1, n_models, error)) && error) {
            gapgram_error said = *error;
            gapgram_fail(error, status, "model ~: $", m + 1, said.sentence);
        }
        model->order = part->model->order > model->order ? part->model->order : model->order;
        part->state = (size_t)model->width;
        part->padding = -gapgram_state_bytes(part->model) % 8;
        model->width += (int32_t)(gapgram_state_bytes(part->model) + part->padding);
    }
    if (status)
        return status;
    if (at != all->shape[0])
        REFUSE(ODD "models that are larger or smaller than their place");
    model->key_bytes = 1;
    if ((status = take_all_words(model, error)))
        return status;
    uint8_t *null = model->null_state = calloc(2, (size_t)model->width + 8);
    for (int m = 0; null && m < model->n_parts; m++)
        gapgram_begin(model->parts[m].model, 0, null + model->parts[m].state, 0);
    return null ? GAPGRAM_OK : no_memory(error);
}

void gapgram_close_parts(gapgram_model *model) {
    for (int m = 0; m < model->n_parts; m++) {
        gapgram_close(model->parts[m].model);
        free(model->parts[m].ids);
    }
    free(model->parts);
    free(model->weights);
    free(model->own_pool);
}

/* log10 of the weighted sum of the probabilities of [model, position]. */
static int mix(const gapgram_model *model, const double *log10_probs, int64_t n, double *out, gapgram_error *error) {
    struct words words = {0};
    int64_t results[4];
    gapgram_push_pointer(&words, log10_probs, model->n_parts);
    gapgram_push(&words, n);
    gapgram_push_pointer(&words, model->weights, model->n_parts);
    int status = gapgram_call(model->kernels->mix, &words, results, error);
    if (status)
        return status;
    memcpy(out, (const void *)(uintptr_t)results[1], (size_t)n * 8);
    gapgram_release((void *)(uintptr_t)results[0]);
    return GAPGRAM_OK;
}

static double shared(const struct part *part, int32_t word, double log10) {
    return part->ids[word] == GAPGRAM_UNKNOWN ? log10 + part->log10_share : log10;
}

int gapgram_mix_each(const gapgram_model *model, const int32_t *words, const int64_t *begins, int64_t n, double *out, gapgram_error *error) {
    int64_t total = begins[n];
    double *scores = malloc((size_t)(total * model->n_parts + 1) * 8);
    int32_t *ids = malloc((size_t)(total + 1) * 4);
    int status = scores && ids ? GAPGRAM_OK : no_memory(error);
    for (int m = 0; m < model->n_parts && !status; m++) {
        const struct part *part = &model->parts[m];
        double *own = scores + m * total;
        for (int64_t i = 0; i < total; i++)
            ids[i] = part->ids[words[i]];
        status = gapgram_score_each(part->model, ids, begins, n, own, error);
        for (int64_t i = 0; i < total && !status; i++)
            own[i] = shared(part, words[i], own[i]);
    }
    if (!status)
        status = mix(model, scores, total, out, error);
    for (int64_t i = 0; i < total && !status; i++)
        out[i] = words[i] == GAPGRAM_BEGIN ? 0.0 : out[i];
    free(scores);
    free(ids);
    return status;
}

int gapgram_mix_step(const gapgram_model *model, const void *state, int32_t word, void *after, double *log10, int32_t *length, gapgram_error *error) {
    double scores[MOST_MODELS];
    int32_t found, longest = 0;
    for (int m = 0; m < model->n_parts; m++) {
        const struct part *part = &model->parts[m];
        int status = gapgram_step(part->model, (const char *)state + part->state, part->ids[word], (char *)after + part->state, &scores[m], &found, error);
        if (status)
            return status;
        memset((char *)after + part->state + gapgram_state_bytes(part->model), 0, part->padding);
        scores[m] = shared(part, word, scores[m]);
        longest = found > longest ? found : longest;
    }
    if (length)
        *length = longest;
    return mix(model, scores, 1, log10, error);
}

int gapgram_mix_all(const gapgram_model *model, const int32_t *context, int64_t n, double *out, gapgram_error *error) {
    int32_t ids[64];
    int status = GAPGRAM_OK;
    for (int32_t word = 0; word < model->n_words; word++)
        out[word] = 0.0;
    for (int m = 0; m < model->n_parts && !status; m++) {
        const struct part *part = &model->parts[m];
        int64_t seen = n < part->model->order - 1 ? n : part->model->order - 1;
        double *own = malloc((size_t)part->model->n_words * 8);
        if (!own)
            return no_memory(error);
        for (int64_t i = 0; i < seen; i++)
            ids[i] = part->ids[context[n - seen + i]];
        status = gapgram_all(part->model, ids, seen, own, error);
        for (int32_t word = 0; word < model->n_words && !status; word++) {
            double share = part->ids[word] == GAPGRAM_UNKNOWN ? part->share : 1.0;
            out[word] += model->weights[m] * own[part->ids[word]] * share;
        }
        free(own);
    }
    return status;
}
