/* Sessions: a model mixed with what was read, as `gapgram.queries.history` has them. Decayed counts lie in a hash table
   (`kernels.sessions.count_table`), the words themselves in a log, from which the latest are counted anew when it is full. */

#include <math.h>
#include "internal.h"

enum { MOST_VIEWS = 32, FIRST_SLOTS = 64, ENTRY = 4 /* numbers of an entry of the table */, COUNT = 1 };
enum { MAGIC = 0x73677067 /* of what is saved, with its version */, VERSION = 2, HEAD = 48 };

#define WRONG(...) return gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, __VA_ARGS__)
#define NEED(what)                                                                                                             \
    do {                                                                                                                       \
        if (!(what))                                                                                                           \
            WRONG("null in the place of $", #what);                                                                            \
    } while (0)

struct table {
    int64_t *cells, slots, used;
};

/* A sentence that was read, or, without words, what share of all counts was kept. */
struct entry {
    int32_t *words;
    int64_t n;
    double kept;
};

struct gapgram_session {
    const gapgram_model *model;
    int64_t n_views, n_rows, offsets[MOST_VIEWS][MOST_OFFSETS];
    uint8_t of_classes[MOST_VIEWS], longest[MOST_VIEWS];
    double (*decays)[2 * AGO], boosts[MOST_VIEWS][32], *gate; /* logits, then squares */
    const int32_t *class_of;
    int32_t *no_classes;
    struct table shared, own; /* what copies share is empty here */
    int32_t *past; /* the words themselves, a ring; those before `first` are forgotten */
    int64_t past_size, first, words_read, words_held, most_words;
    struct entry *log;
    int64_t n_log, log_room;
    char *pool; /* the session's own words, and a hash table of their numbers */
    int64_t *ends, n_own, own_room, pool_room;
    int32_t *found, found_size;
};

static int no_memory(gapgram_error *error) {
    return gapgram_fail(error, GAPGRAM_NO_MEMORY, "not enough memory");
}

static int64_t n_gate(const gapgram_session *s) {
    return s->n_rows * (s->n_views + 1);
}

/* More room for n things of a size; null keeps what was there. */
static void *grown(void *old, int64_t *room, int64_t n, size_t size) {
    int64_t wanted = *room ? *room : 16;
    while (wanted < n)
        wanted *= 2;
    if (wanted == *room)
        return old;
    void *made = realloc(old, (size_t)wanted * size);
    if (made)
        *room = wanted;
    return made;
}

/* The model's own weights of views, or those that come with the program. */
static int take_views(gapgram_session *s, gapgram_error *error) {
    const gapgram_model *model = s->model;
    const struct section *classes = &CONTENTS(model, class_of), *own = &CONTENTS(model, history_logits);
    int has_classes = model->kind == KIND_MODEL && classes->shape[0] >= model->n_words;
    struct text views = {0, 0}, one, offsets, offset;
    struct view view[MOST_VIEWS] = {{{0}, 0, 0, 0, 0}};
    if (model->kind == KIND_MODEL)
        views = gapgram_member(model->file.metadata, "history");
    int is_own = views.at && own->rule && CONTENTS(model, history_squares).rule;
    s->n_views = is_own ? 0 : has_classes ? N_VIEWS_OF_CLASSES : N_VIEWS_OF_WORDS;
    if (!is_own)
        memcpy(view, has_classes ? views_of_classes : views_of_words, (size_t)s->n_views * sizeof *view);
    while (is_own && gapgram_element(&views, &one)) {
        int n = 0, good = s->n_views < MOST_VIEWS - 1;
        struct view *made = &view[s->n_views];
        uint64_t distance;
        offsets = gapgram_member(one, "offsets");
        while (good && gapgram_element(&offsets, &offset)) {
            good = n < MOST_OFFSETS && gapgram_whole(offset, &distance) && distance >= 1 && distance <= MOST_DISTANCE;
            made->offsets[n++ % MOST_OFFSETS] = (int32_t)distance;
        }
        struct text truth = gapgram_member(one, "of_classes");
        made->of_classes = truth.at && *truth.at == 't';
        truth = gapgram_member(one, "longest");
        made->longest = truth.at && *truth.at == 't';
        good = good && gapgram_real(gapgram_member(one, "decay"), &made->decay) && made->decay > 0 && made->decay < 1 &&
               gapgram_real(gapgram_member(one, "boost"), &made->boost) && made->boost >= 0 && made->boost <= 1;
        if (!good)
            return gapgram_fail(error, GAPGRAM_WRONG_FILE, "not as gapgram writes it: a view that no history has");
        s->n_views++;
    }
    s->n_rows = ROWS_OF_NO_VIEW + s->n_views * ROWS_OF_VIEW;
    if (is_own && (own->shape[0] != s->n_rows || own->shape[1] != s->n_views + 1))
        return gapgram_fail(error, GAPGRAM_WRONG_FILE, "not as gapgram writes it: weights of other views of a history");
    s->decays = malloc((size_t)s->n_views * sizeof *s->decays + 8);
    s->gate = malloc((size_t)n_gate(s) * 16);
    s->class_of = has_classes ? classes->data : (s->no_classes = calloc((size_t)model->n_words, 4));
    if (!s->decays || !s->gate || !s->class_of)
        return no_memory(error);
    for (int64_t v = 0; v < s->n_views; v++) {
        for (int i = 0; i < MOST_OFFSETS; i++)
            s->offsets[v][i] = view[v].offsets[i];
        s->of_classes[v] = (uint8_t)view[v].of_classes;
        s->longest[v] = (uint8_t)view[v].longest;
        for (int i = 0; i < AGO; i++) {
            s->decays[v][i] = pow(view[v].decay, i);
            s->decays[v][AGO + i] = pow(view[v].decay, AGO * i);
        }
        for (int i = 0; i < 32; i++)
            s->boosts[v][i] = pow(2.0, view[v].boost * i);
    }
    return GAPGRAM_OK;
}

static void begin_gate(gapgram_session *s) {
    const gapgram_model *model = s->model;
    int has_classes = s->class_of != s->no_classes;
    const float *shipped = has_classes ? gapgram_gate_of_classes : gapgram_gate_of_words;
    if (model->kind == KIND_MODEL && CONTENTS(model, history_logits).rule) {
        memcpy(s->gate, CONTENTS(model, history_logits).data, (size_t)n_gate(s) * 8);
        memcpy(s->gate + n_gate(s), CONTENTS(model, history_squares).data, (size_t)n_gate(s) * 8);
        return;
    }
    for (int64_t i = 0; i < 2 * n_gate(s); i++)
        s->gate[i] = shipped[i];
}

static int new_table(struct table *table, int64_t slots) {
    *table = (struct table){calloc((size_t)(ENTRY * slots), 8), slots, 0};
    return table->cells != 0;
}

static void clear(gapgram_session *s) {
    memset(s->own.cells, 0, (size_t)(ENTRY * s->own.slots) * 8);
    s->own.used = 0;
    for (int64_t i = 0; i < s->n_log; i++)
        free(s->log[i].words);
    s->n_log = s->words_read = s->words_held = s->first = 0;
}

static void push_table(struct words *words, const struct table *table) {
    gapgram_push_pointer(words, table->cells, ENTRY * table->slots);
    gapgram_push_pointer(words, table->cells, ENTRY * table->slots);
    gapgram_push_pointer(words, &table->used, 1);
}

/* with_past: and the words themselves. */
static void push_views(const gapgram_session *s, struct words *words, int with_gate, int with_past) {
    gapgram_push_pointer(words, s->offsets, s->n_views);
    gapgram_push(words, MOST_OFFSETS);
    gapgram_push_pointer(words, s->of_classes, s->n_views);
    gapgram_push_pointer(words, s->longest, s->n_views);
    gapgram_push_pointer(words, s->decays, s->n_views);
    gapgram_push(words, 2 * AGO);
    gapgram_push_pointer(words, s->boosts, s->n_views);
    gapgram_push(words, 32);
    gapgram_push_pointer(words, s->class_of, s->model->n_words);
    for (int i = 0; with_gate && i < 2; i++) {
        gapgram_push_pointer(words, s->gate + i * n_gate(s), s->n_rows);
        gapgram_push(words, s->n_views + 1);
    }
    push_table(words, &s->shared);
    push_table(words, &s->own);
    if (with_past) {
        gapgram_push_pointer(words, s->past, s->past_size);
        gapgram_push(words, s->first);
    }
}

/* Let the table and the words take n words more. */
static int make_room(gapgram_session *s, int64_t n, gapgram_error *error) {
    int64_t slots = s->own.slots, size = s->past_size, result;
    while (size < s->words_read + n - s->first)
        size *= 2;
    if (size > s->past_size) {
        int32_t *larger = calloc((size_t)size, 4);
        if (!larger)
            return no_memory(error);
        for (int64_t i = s->first; i < s->words_read; i++)
            larger[i & (size - 1)] = s->past[i & (s->past_size - 1)];
        free(s->past);
        s->past = larger;
        s->past_size = size;
    }
    while (slots < 2 * (s->own.used + 2 * s->n_views * n))
        slots *= 2;
    if (slots == s->own.slots)
        return GAPGRAM_OK;
    struct table larger;
    struct words words = {0};
    if (!new_table(&larger, slots))
        return no_memory(error);
    push_table(&words, &s->own);
    push_table(&words, &larger);
    int status = gapgram_call(s->model->kernels->move_table, &words, &result, error);
    if (status) {
        free(larger.cells);
        return status;
    }
    free(s->own.cells);
    s->own = larger;
    return GAPGRAM_OK;
}

static int remember(gapgram_session *s, const int32_t *words, int64_t n, double kept, gapgram_error *error) {
    struct entry *log = grown(s->log, &s->log_room, s->n_log + 1, sizeof *log);
    int32_t *copy = log && n ? malloc((size_t)n * 4) : 0;
    if (log)
        s->log = log;
    if (!log || (n && !copy))
        return no_memory(error);
    if (n)
        memcpy(copy, words, (size_t)n * 4);
    s->log[s->n_log++] = (struct entry){copy, n, kept};
    s->words_held += n;
    return GAPGRAM_OK;
}

static void keep(gapgram_session *s, double kept) {
    double *values = (double *)s->own.cells;
    for (int64_t i = 0; i < s->own.slots; i++)
        values[ENTRY * i + COUNT] *= kept;
}

static int64_t n_learned(const int32_t *words, int64_t n) {
    int64_t learned = 0;
    for (int64_t i = 0; i < n; i++)
        learned += words[i] != GAPGRAM_BEGIN;
    return learned;
}

/* Count, and forget, all that a log says, which ends when so many words were read; the log becomes the session's. */
static int replay(gapgram_session *s, struct entry *log, int64_t n_log, int64_t words_read, gapgram_error *error) {
    int status = GAPGRAM_OK;
    clear(s);
    s->words_read = words_read;
    for (int64_t i = 0; i < n_log; i++)
        s->words_read -= n_learned(log[i].words, log[i].n);
    s->first = s->words_read;
    for (int64_t i = 0; i < n_log && !status; i++) {
        if (!log[i].n) {
            keep(s, log[i].kept);
            status = remember(s, 0, 0, log[i].kept, error);
            continue;
        }
        struct words words = {0};
        int64_t begins[] = {0, log[i].n};
        if ((status = make_room(s, log[i].n, error)))
            break;
        push_views(s, &words, 0, 1);
        gapgram_push_pointer(&words, log[i].words, log[i].n);
        gapgram_push_pointer(&words, begins, 2);
        gapgram_push(&words, s->words_read);
        if (!(status = gapgram_call(s->model->kernels->read_history, &words, &s->words_read, error)))
            status = remember(s, log[i].words, log[i].n, 0.0, error);
    }
    for (int64_t i = 0; i < n_log; i++)
        free(log[i].words);
    free(log);
    return status;
}

/* Begin anew with the latest words, a third as many as may be held. */
static int drop_older(gapgram_session *s, gapgram_error *error) {
    int64_t left = s->most_words / 3, first = s->n_log;
    while (first > 0 && left > 0)
        left -= s->log[--first].n;
    struct entry *log = malloc((size_t)(s->n_log - first + 1) * sizeof *log);
    if (!log)
        return no_memory(error);
    int64_t n_log = s->n_log - first;
    memcpy(log, s->log + first, (size_t)n_log * sizeof *log);
    if (left < 0) { /* of the first sentence there may be only the end */
        memmove(log->words, log->words - left, (size_t)(log->n + left) * 4);
        log->n += left;
    }
    for (int64_t i = 0; i < first; i++)
        free(s->log[i].words);
    s->n_log = 0; /* what is left is in the new log */
    return replay(s, log, n_log, s->words_read, error);
}

int gapgram_session_open(const gapgram_model *model, size_t most_words, gapgram_session **out, gapgram_error *error) {
    NEED(out);
    *out = 0;
    NEED(model);
    if (most_words == 1 || most_words > INT32_MAX)
        WRONG("a history of ~ words: expected 2 or more", (int64_t)most_words);
    gapgram_session *s = calloc(1, sizeof *s);
    if (!s)
        return no_memory(error);
    s->model = model;
    s->most_words = most_words ? (int64_t)most_words : MOST_HISTORY;
    int status = take_views(s, error);
    s->past_size = FIRST_SLOTS;
    if (!status && !(s->past = calloc(FIRST_SLOTS, 4)))
        status = no_memory(error);
    if (!status && (!new_table(&s->shared, FIRST_SLOTS) || !new_table(&s->own, FIRST_SLOTS)))
        status = no_memory(error);
    if (status) {
        gapgram_session_close(s);
        return status;
    }
    begin_gate(s);
    *out = s;
    return GAPGRAM_OK;
}

void gapgram_session_close(gapgram_session *s) {
    if (!s)
        return;
    for (int64_t i = 0; i < s->n_log; i++)
        free(s->log[i].words);
    void *all[] = {s->log, s->decays, s->gate, s->no_classes, s->shared.cells, s->own.cells, s->past, s->pool, s->ends, s->found, s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* The session's own words. */

int32_t gapgram_session_n_words(const gapgram_session *s) {
    return s ? s->model->n_words + (int32_t)s->n_own : 0;
}

const char *gapgram_session_word(const gapgram_session *s, int32_t word, size_t *bytes) {
    int64_t own = s ? word - s->model->n_words : 0;
    if (!s || own < 0 || own >= s->n_own)
        return gapgram_word(s ? s->model : 0, word, bytes);
    int64_t begin = own ? s->ends[own - 1] : 0;
    if (bytes)
        *bytes = (size_t)(s->ends[own] - begin);
    return s->pool + begin;
}

/* The slot of a word among the session's own, or the empty one where it belongs. */
static int32_t slot_of(const gapgram_session *s, const char *word, size_t bytes) {
    int32_t at = (int32_t)gapgram_xxh3(word, bytes) & (s->found_size - 1);
    for (; s->found[at]; at = (at + 1) & (s->found_size - 1)) {
        size_t n;
        const char *text = gapgram_session_word(s, s->model->n_words + s->found[at] - 1, &n);
        if (n == bytes && !memcmp(text, word, n))
            break;
    }
    return at;
}

int32_t gapgram_session_find(const gapgram_session *s, const char *word, size_t bytes) {
    int32_t known = s ? gapgram_find(s->model, word, bytes) : 0;
    if (known || !s || !word || !s->found_size)
        return known;
    int32_t at = s->found[slot_of(s, word, bytes)];
    return at ? s->model->n_words + at - 1 : 0;
}

static int learn_word(gapgram_session *s, const char *word, size_t bytes, int32_t *out, gapgram_error *error) {
    *out = gapgram_session_find(s, word, bytes);
    if (*out || (bytes == 5 && !memcmp(word, "<unk>", 5)))
        return GAPGRAM_OK;
    int64_t end = s->n_own ? s->ends[s->n_own - 1] : 0;
    if (2 * (s->n_own + 1) > s->found_size) {
        int32_t size = s->found_size ? 2 * s->found_size : 64, *found = calloc((size_t)size, 4);
        if (!found)
            return no_memory(error);
        free(s->found);
        s->found = found;
        s->found_size = size;
        for (int64_t i = 0; i < s->n_own; i++) {
            size_t n;
            const char *text = gapgram_session_word(s, s->model->n_words + (int32_t)i, &n);
            s->found[slot_of(s, text, n)] = (int32_t)i + 1;
        }
    }
    char *pool = grown(s->pool, &s->pool_room, end + (int64_t)bytes, 1);
    s->pool = pool ? pool : s->pool;
    int64_t *ends = grown(s->ends, &s->own_room, s->n_own + 1, 8);
    s->ends = ends ? ends : s->ends;
    if (!pool || !ends)
        return no_memory(error);
    int32_t at = slot_of(s, word, bytes);
    memcpy(s->pool + end, word, bytes);
    s->ends[s->n_own] = end + (int64_t)bytes;
    s->found[at] = (int32_t)++s->n_own;
    *out = s->model->n_words + (int32_t)s->n_own - 1;
    return GAPGRAM_OK;
}

static void forget_words(gapgram_session *s) {
    s->n_own = 0;
    if (s->found)
        memset(s->found, 0, (size_t)s->found_size * 4);
}

int gapgram_session_score(gapgram_session *s, const char *text, size_t bytes, int learn, double *log10, gapgram_error *error) {
    size_t n = 0, at = 0;
    NEED(s);
    NEED(text);
    const gapgram_model *model = s->model;
    int status = gapgram_encode(model, text, bytes, 0, 0, &n, error);
    int32_t *words = status ? 0 : malloc((n + 2) * 8), *own = words ? words + n + 2 : 0;
    double *given = words ? malloc((n + 2) * 16) : 0, *scores = given ? given + n + 2 : 0, sum = 0.0;
    if (status || !given) {
        free(words);
        return status ? status : no_memory(error);
    }
    int64_t size = (int64_t)n + 2, begins[] = {0, size}, result;
    learn = learn && n;
    words[0] = own[0] = GAPGRAM_BEGIN;
    words[n + 1] = own[n + 1] = GAPGRAM_END;
    gapgram_encode(model, text, bytes, words + 1, n, &n, 0);
    if (n && words[1] == GAPGRAM_BEGIN)
        status = gapgram_fail(error, GAPGRAM_WRONG_ARGUMENT, "<s> and </s> are no words of a line");
    for (size_t i = 1; i <= n && !status; i++) { /* those that the model does not know */
        while (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))
            at++;
        size_t begin = at;
        while (at < bytes && text[at] != ' ' && !(text[at] >= '\t' && text[at] <= '\r'))
            at++;
        own[i] = words[i];
        if (!words[i] && learn)
            status = learn_word(s, text + begin, at - begin, &own[i], error);
        else if (!words[i])
            own[i] = gapgram_session_find(s, text + begin, at - begin);
    }
    if (!status && !(status = gapgram_score_each(model, words, begins, 1, given, error)) && learn &&
        !(status = make_room(s, size, error)))
        status = remember(s, own, size, 0.0, error);
    if (!status) {
        struct words all = {0};
        push_views(s, &all, 1, 1);
        gapgram_push_pointer(&all, own, size);
        gapgram_push_pointer(&all, begins, 2);
        gapgram_push(&all, 0); /* nothing of it was read before */
        gapgram_push(&all, model->n_words);
        gapgram_push_pointer(&all, given, size);
        gapgram_push(&all, s->words_read);
        gapgram_push(&all, learn);
        gapgram_push(&all, learn);
        gapgram_push_pointer(&all, scores, size);
        for (int i = 0; i < 2; i++) { /* nobody wants what each source gives */
            gapgram_push_pointer(&all, scores, 0);
            gapgram_push(&all, 0);
        }
        status = gapgram_call(model->kernels->score_history, &all, &result, error);
        s->words_read = status ? s->words_read : result;
        for (int64_t i = 0; i < size; i++)
            sum += scores[i];
        if (!status && s->words_held > s->most_words)
            status = drop_older(s, error);
    }
    if (log10)
        *log10 = status ? 0.0 : sum;
    free(words);
    free(given);
    return status;
}

int gapgram_session_forget(gapgram_session *s, double share, gapgram_error *error) {
    NEED(s);
    if (!(share >= 0.0 && share <= 1.0))
        WRONG("a share that is not from 0 to 1");
    if (share == 1.0) {
        clear(s);
        begin_gate(s);
        forget_words(s);
    } else if (share > 0.0) {
        int status = remember(s, 0, 0, 1.0 - share, error);
        if (status)
            return status;
        keep(s, 1.0 - share);
    }
    return GAPGRAM_OK;
}

/* What `kernels.sessions.history.weigh_context` says of a context: of each view a key, a sum, its
   followers, those of the longest end; the weights. */
struct weighed {
    int64_t keys[MOST_VIEWS], followers[MOST_VIEWS], tied[MOST_VIEWS * MOST_TIED];
    double sums[MOST_VIEWS], weights[MOST_VIEWS + 1];
};

/* What the model sees of the context is left. */
static int weigh(gapgram_session *s, const int32_t **context, size_t *n, struct weighed *w, gapgram_error *error) {
    int64_t result, size = *n > MOST_SEEN ? MOST_SEEN : (int64_t)*n;
    const int32_t *all = *context + (*n - (size_t)size);
    int status = gapgram_check_context(s->model, *context, n, gapgram_session_n_words(s), error, context);
    struct words words = {0};
    if (status)
        return status;
    push_views(s, &words, 1, 1);
    gapgram_push_pointer(&words, all, size);
    gapgram_push(&words, s->words_read);
    gapgram_push_pointer(&words, w->keys, s->n_views);
    gapgram_push_pointer(&words, w->sums, s->n_views);
    gapgram_push_pointer(&words, w->followers, s->n_views);
    gapgram_push_pointer(&words, w->tied, s->n_views);
    gapgram_push(&words, MOST_TIED);
    gapgram_push_pointer(&words, w->weights, s->n_views + 1);
    return gapgram_call(s->model->kernels->weigh_context, &words, &result, error);
}

int gapgram_session_trust(gapgram_session *s, const int32_t *context, size_t n, double *of_model, gapgram_error *error) {
    struct weighed w;
    NEED(s);
    NEED(of_model);
    int status = weigh(s, &context, &n, &w, error);
    *of_model = status ? 0.0 : w.weights[0];
    return status;
}

int gapgram_session_distribution(gapgram_session *s, const int32_t *context, size_t n, double *out, gapgram_error *error) {
    NEED(s);
    NEED(out);
    const gapgram_model *model = s->model;
    int64_t result, n_all = gapgram_session_n_words(s);
    double *of_model;
    int32_t known[64];
    struct weighed w;
    int status = weigh(s, &context, &n, &w, error);
    if (status)
        return status;
    memset(out, 0, (size_t)n_all * 8);
    for (int64_t v = 0; v < s->n_views; v++) {
        int64_t size = w.sums[v] > 0.0 ? w.followers[v] : 0;
        for (int64_t i = 0; s->longest[v] && i < size; i++)
            out[w.tied[v * MOST_TIED + i]] += w.weights[v + 1] * (1.0 / w.sums[v]);
        if (size <= 0 || s->longest[v])
            continue;
        int64_t *listed = malloc((size_t)size * 16);
        double *counts = (double *)(listed ? listed + size : 0);
        if (!listed)
            return no_memory(error);
        struct words words = {0};
        push_views(s, &words, 0, 0);
        gapgram_push(&words, v);
        gapgram_push(&words, w.keys[v]);
        gapgram_push(&words, s->words_read);
        gapgram_push_pointer(&words, listed, size);
        gapgram_push_pointer(&words, counts, size);
        status = gapgram_call(model->kernels->list_words, &words, &result, error);
        for (int64_t i = 0; !status && i < result; i++)
            out[listed[i]] += w.weights[v + 1] * (counts[i] / w.sums[v]);
        free(listed);
        if (status)
            return status;
    }
    for (size_t i = 0; i < n; i++)
        known[i] = context[i] < model->n_words ? context[i] : GAPGRAM_UNKNOWN;
    if (!(of_model = malloc((size_t)model->n_words * 8)))
        return no_memory(error);
    status = gapgram_all(model, known, (int64_t)n, of_model, error);
    for (int64_t i = 0; !status && i < model->n_words; i++)
        out[i] += w.weights[0] * of_model[i];
    free(of_model);
    return status;
}

static const char *word_of_session(const void *session, int32_t word, size_t *bytes) {
    return gapgram_session_word(session, word, bytes);
}

int gapgram_session_predict(gapgram_session *s, const int32_t *context, size_t n, size_t k, const gapgram_wanted *asked, gapgram_guess *guesses, size_t *found, gapgram_error *error) {
    gapgram_wanted wanted = asked ? *asked : (gapgram_wanted){0};
    NEED(s);
    NEED(guesses);
    NEED(found);
    *found = 0;
    if (!k || (!wanted.prefix && wanted.prefix_bytes) || (!wanted.letters && wanted.letters_bytes))
        WRONG("k = 0, or a null text of some bytes");
    double *all = malloc((size_t)gapgram_session_n_words(s) * 8);
    if (!all)
        return no_memory(error);
    int status = gapgram_session_distribution(s, context, n, all, error);
    if (!status)
        status = gapgram_choose(all, gapgram_session_n_words(s), &wanted, k, guesses, found, word_of_session, s, error);
    free(all);
    return status;
}

/* What is saved: a head of six numbers (magic and version, the model, words read, own words and their bytes, entries of
   the log, the checksum of all that follows), ends and bytes of own words, the log, the gate. */

static int64_t padded(int64_t bytes) {
    return (bytes + 7) & -(int64_t)8;
}

int gapgram_session_save(const gapgram_session *s, void *data, size_t room, size_t *bytes, gapgram_error *error) {
    NEED(s);
    NEED(bytes);
    int64_t pool = s->n_own ? s->ends[s->n_own - 1] : 0, size = HEAD + 8 * s->n_own + padded(pool) + 16 * n_gate(s);
    for (int64_t i = 0; i < s->n_log; i++)
        size += 16 + padded(4 * s->log[i].n);
    *bytes = (size_t)size;
    if (!data)
        return GAPGRAM_OK;
    if (room < (size_t)size)
        WRONG("~ bytes to save, and room for ~", size, (int64_t)room);
    char *p = memset(data, 0, (size_t)size);
    uint64_t head[] = {MAGIC | (uint64_t)VERSION << 32, s->model->signature, (uint64_t)s->words_read, (uint64_t)s->n_own, (uint64_t)s->n_log, 0};
    p += HEAD;
    if (s->n_own) {
        memcpy(p, s->ends, (size_t)s->n_own * 8);
        memcpy(p + 8 * s->n_own, s->pool, (size_t)pool);
    }
    p += 8 * s->n_own + padded(pool);
    for (int64_t i = 0; i < s->n_log; i++) {
        memcpy(p, &s->log[i].n, 8);
        memcpy(p + 8, &s->log[i].kept, 8);
        if (s->log[i].n)
            memcpy(p + 16, s->log[i].words, (size_t)s->log[i].n * 4);
        p += 16 + padded(4 * s->log[i].n);
    }
    memcpy(p, s->gate, (size_t)n_gate(s) * 16);
    head[5] = gapgram_xxh3((char *)data + HEAD, (uint64_t)size - HEAD);
    memcpy(data, head, HEAD);
    return GAPGRAM_OK;
}

int gapgram_session_restore(gapgram_session *s, const void *data, size_t bytes, gapgram_error *error) {
    uint64_t head[6];
    NEED(s);
    NEED(data);
    if (bytes >= HEAD)
        memcpy(head, data, HEAD);
    if (bytes < HEAD || head[0] != (MAGIC | (uint64_t)VERSION << 32) || gapgram_xxh3((const char *)data + HEAD, bytes - HEAD) != head[5])
        return gapgram_fail(error, GAPGRAM_WRONG_FILE, "not a session that this library has saved, or a damaged one");
    if (head[1] != s->model->signature)
        return gapgram_fail(error, GAPGRAM_WRONG_FILE, "a session of another model");
    const char *p = (const char *)data + HEAD, *end = (const char *)data + bytes;
    int64_t gate = 16 * n_gate(s), n_own = (int64_t)head[3], n_log = (int64_t)head[4], before = 0;
    int whole = head[3] <= bytes / 8 && head[4] <= bytes / 16 && head[2] < (uint64_t)1 << 53 && end - p >= gate + 8 * n_own;
    const char *ends = p, *pool = p + 8 * n_own;
    for (int64_t i = 0, at; whole && i < n_own; i++, before = at) {
        memcpy(&at, ends + 8 * i, 8);
        whole = at > before && at <= end - pool;
    }
    p = pool + padded(before);
    struct entry *log = whole ? calloc((size_t)n_log + 1, sizeof *log) : 0;
    int64_t made = 0, learned = 0;
    int status = whole && !log ? no_memory(error) : GAPGRAM_OK;
    for (; whole && !status && made < n_log; made++) {
        struct entry *one = &log[made];
        whole = end - p >= gate + 16;
        if (!whole)
            break;
        memcpy(&one->n, p, 8);
        memcpy(&one->kept, p + 8, 8);
        whole = one->n >= 0 && one->n <= (end - p - 16 - gate) / 4 && (one->n ? 1 : one->kept > 0.0 && one->kept < 1.0);
        if (!whole)
            break;
        if (one->n && !(one->words = malloc((size_t)one->n * 4)))
            status = no_memory(error);
        for (int64_t i = 0; !status && i < one->n; i++) {
            memcpy(&one->words[i], p + 16 + 4 * i, 4);
            whole = whole && one->words[i] >= 0 && one->words[i] < s->model->n_words + n_own;
        }
        learned += status ? 0 : n_learned(one->words, one->n);
        p += 16 + padded(4 * one->n);
    }
    whole = whole && end - p == gate && learned <= (int64_t)head[2];
    for (int64_t i = 0; whole && i < gate / 8; i++) {
        double number;
        memcpy(&number, p + 8 * i, 8);
        whole = fabs(number) <= 1e100 && (i < n_gate(s) || number > 0.0);
    }
    if (!whole || status) {
        for (int64_t i = 0; log && i < n_log; i++)
            free(log[i].words);
        free(log);
        return status ? status : gapgram_fail(error, GAPGRAM_WRONG_FILE, "a session that makes no sense; begin a new one");
    }
    forget_words(s);
    before = 0;
    for (int64_t i = 0, at; i < n_own && !status; i++, before = at) {
        int32_t word;
        memcpy(&at, ends + 8 * i, 8);
        status = learn_word(s, pool + before, (size_t)(at - before), &word, error);
    }
    if (!status && s->n_own != n_own)
        status = gapgram_fail(error, GAPGRAM_WRONG_FILE, "a session with words that are there twice; begin a new one");
    int replayed = replay(s, log, n_log, (int64_t)head[2], status ? 0 : error);
    memcpy(s->gate, p, (size_t)gate);
    if (status || replayed)
        gapgram_session_forget(s, 1.0, 0);
    return status ? status : replayed;
}
