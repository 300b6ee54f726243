// All next words after packed states, and the states after them: equations (8) to (20), (24) and (25) of
// docs/ideas/mathematics.md in one launch, a block of threads a state.
//
// A packed state holds the last words, the nearest in its lowest bits: code 0 is no word, code v + 1 label v, and the one
// after all labels <s>. States may also be rows: how many words are known, and these, the nearest first. A block finds the contexts of all patterns, level by level, a warp a search; shares the prediction out;
// adds the grams that follow every context to the mass of their words; and writes logarithms. Masses are whole numbers,
// 2**62 of them a probability of one, so that a sum is the same in whatever order threads add to it.
//
// What bounds a block is how many reads wait for each other. So the head, in which all that is small lies one after the
// other, is copied to shared memory by one read of each thread, and the lists of a level are found beside its searches.
//
// What a stream's session has read (`gapgram.queries.stream_sessions`) is mixed in: its views are looked up beside the
// contexts, their weights are a softmax of logits that add up, and what followed in them joins the mass of words.
// Equations (34) to (38).

typedef long long Int;
typedef unsigned long long Mass;  // REAL: float or double; SESSIONS: 0 where there are none

#define LANES 32
#define ALL 0xffffffffu
#define BUCKETS 64
#define FREQUENT_WORDS 256
#define WORD_BUCKETS 296
#define LOGIT_LIMIT 600.0
#define ONE ((REAL)4611686018427387904.0)
#define ROW_BITS 24
#define UNKNOWN 0  // words
#define START 1
#define PARTS 8  // of what adds up to a logit
#define COLUMNS 2  // of the answer that a thread has at a time
#define MOST_VIEWS 16
#define SUMS 18  // buckets of how much a view has read after a context; of how many words followed it
#define FOLLOWERS 8
#define AGES 28
#define AT_ONCE 4  // pieces of lists whose grams a thread asks for before it adds any

// The head, as `gapgram.cuda.next_words` makes it. What ends in _at is the place of a table in it, in words of 64 bits.
struct Head {
    const unsigned* grams;
    const Int *contexts, *large_at, *large_counts;
    const int* class_of;
    const double *rows, *gate;
    const int* labels;
    // The words of which probabilities are asked, one for each of n_asked columns of the answer, and after these </s>:
    const int* words;          // -1: nothing that may be predicted
    const REAL* kept;          // [column]: the discounted count of the word by itself
    const int* classes;        // [clustering, column]: the class of each
    const REAL* given_class;   // likewise: its probability given that
    Int n_asked, n_large, n_class_words, n_words, n_classes, n_clusterings, n_labels, n_unknown, gated;
    Int order, bits, n_patterns, n_slots, n_roots, n_levels, n_share_levels, n_head;
    Int patterns_at, roots_at, task_base_at, tasks_at, start_base_at, starts_at;
    Int up_base_at, up_at, down_base_at, down_at, down_weights_at;
};
struct Pattern {
    Int gram_at, first_gram, first_context, stride;
    int n_grams, code_bits, key_bits, odd, inverse, n_contexts, first_row, n_rows, clustering, first_class;
    int share_level, unused;
    double discounts[4];
};
// A slot is a gram that is a context, and ends `distance` words back. A task finds one, in what follows the context of
// slot `parent`; or, where it has no slot, the list of what follows that context.
struct Task { int pattern, distance, parent, slot; };

// What a stream has read: for each view and context, by a hash of both, the words that followed, and their shares.
struct Slot { Int key; int begin, n, sum_row, followers_row; Int unused; };  // key 0: the slot is empty
struct Session {
    Int last_slot;               // of a table with open addressing
    const Slot* slots;           // where the words of a context begin, how many there are, rows of the gate by both features
    const int2* following;       // a word, and its share as a float
    const double* logits;        // [row, source]: of the model, and of each view
    Int n_views, age_row;
    const int* class_of;
    Int n_classified;            // words with a class
    int views[MOST_VIEWS][4];    // the distances of the words that make a context, and whether classes do
};
#define MOST_ROWS (2 * MOST_VIEWS + 3)
// What a session has of the context of each view: where its words lie, how many come before them, and rows of the gate;
// what adds up to logits; and the weights of the model, [0], and of the views.
struct Seen {
    double parts[MOST_ROWS * (MOST_VIEWS + 1)], weights[MOST_VIEWS + 2];
    int begins[MOST_VIEWS], sizes[MOST_VIEWS], firsts[MOST_VIEWS + 2], rows[2 * MOST_VIEWS];
};

// Shared memory, after the head; as `gapgram.cuda.next_words` counts it.
struct Room {
    const Int* head;
    Mass *masses, *class_masses;
    double *rows, *weights, *shares;   // of each pattern
    double* logits;                    // [part, pattern]
    Int *begins, *features;            // of each pattern; of the gate
    REAL* scales;
    int *sizes, *chunks, *first_chunks, *entries, *words;
    unsigned char* pattern_of;         // of each piece of a list
    Seen* seen;
    const Session* session;            // of the state's stream, or null

    __device__ const Head& m() const { return *(const Head*)head; }
    __device__ const Pattern& pattern(Int p) const { return ((const Pattern*)(head + m().patterns_at))[p]; }
    __device__ double& scale(Int p) const { return rows[4 * p]; }
    __device__ double& backoff(Int p) const { return rows[4 * p + 1]; }
    __device__ double& weight(Int p) const { return rows[4 * p + 2]; }
    __device__ double& bucket(Int p) const { return rows[4 * p + 3]; }
};

// spread: where the masses of all blocks lie in the card's memory, if they are too many to be shared; or null.
__device__ Room room_of(Int* shared, Mass* spread) {
    Room r;
    const Head& m = *(const Head*)shared;
    Int p = m.n_patterns, n_masses = m.n_words + m.n_classes;
    Int* free = shared + m.n_head;
    r.head = shared;
    r.seen = (Seen*)free;
    if (SESSIONS) free += sizeof(Seen) / sizeof(Int);
    r.masses = spread ? spread + blockIdx.x * n_masses : (Mass*)free;
    r.class_masses = r.masses + m.n_words;
    r.rows = (double*)(spread ? free : free + n_masses);
    r.weights = r.rows + 4 * p;
    r.shares = r.weights + p;
    r.logits = r.shares + p;
    r.begins = (Int*)(r.logits + PARTS * p);
    r.features = r.begins + p;
    r.scales = (REAL*)(r.features + p + m.order + 1);
    r.sizes = (int*)(r.scales + p);
    r.chunks = r.sizes + p;
    r.first_chunks = r.chunks + p;
    r.entries = r.first_chunks + p + 1;
    r.words = r.entries + m.n_slots;
    r.pattern_of = (unsigned char*)(r.words + m.order);
    return r;
}

template <class T> __device__ T least(T a, T b) { return a < b ? a : b; }
template <class T> __device__ T most(T a, T b) { return a > b ? a : b; }

// Fill the words of a state, words[k] the k-th before the next; returns how many there are. row: of a state, or null.
__device__ int unpack(const Head& m, Int state, const int* row, int* words) {
    if (row) {
        int n = most(least(row[0], (int)m.order - 1), 0);
        for (int k = 1 + threadIdx.x; k <= n; k += blockDim.x)
            words[k] = 0 <= row[k] && row[k] < m.n_words ? row[k] : UNKNOWN;
        return n;
    }
    Int codes = (1LL << m.bits) - 1;
    int known = 0;
    while (known < m.order - 1 && (state >> known * m.bits & codes)) known++;
    for (int k = 1 + threadIdx.x; k <= known; k += blockDim.x) {
        Int code = state >> (k - 1) * m.bits & codes;
        words[k] = code <= m.n_labels ? m.labels[code - 1] : code == m.n_labels + 1 ? START : UNKNOWN;
    }
    return known;
}

// The gram of a pattern without a context: of a word, or of its class.
__device__ int root_of(const Head& m, const Pattern& p, int word) {
    if (p.clustering > 0 && word < m.n_class_words)
        word = m.class_of[(p.clustering - 1) * m.n_class_words + word] - p.first_class;
    return 0 <= word && word < p.n_grams ? word : 0;
}

// What follows a context of a pattern: where its grams begin, how many there are, and the row of its statistics.
__device__ void span_of(const Head& m, const Pattern& p, int context, int& begin, int& n, Int& row) {
    const Int* record = m.contexts + p.first_context + least(context, p.n_contexts - 1) * p.stride;
    Int here = record[0], following = record[p.stride];
    begin = (int)least(here >> ROW_BITS, (Int)p.n_grams);
    n = most((int)least(following >> ROW_BITS, (Int)p.n_grams) - begin, 0);
    row = p.first_row + least(here & ((1 << ROW_BITS) - 1), (Int)p.n_rows - 1);
}

// The gram with a key among n grams, which are sorted by their keys; -1: it is not there. A warp looks at 32 together
// around the place where the key would lie if keys lay evenly.
__device__ int find(const Head& m, const Pattern& p, int begin, int n, int key) {
    const unsigned* grams = m.grams + p.gram_at;
    int lane = threadIdx.x % LANES, first = begin, last = begin + n - 1, at = begin + (int)((Int)key * n >> p.key_bits);
    while (first <= last) {
        int low = most(least(at - LANES / 2, last - LANES + 1), first), inside = least(LANES, last - low + 1);
        int own = lane < inside ? (int)(grams[low + lane] >> p.code_bits) : 0x7fffffff;
        unsigned same = __ballot_sync(ALL, own == key);
        if (same) return low + __ffs(same) - 1;
        int smaller = __popc(__ballot_sync(ALL, own < key));
        if (0 < smaller && smaller < inside) return -1;
        int ahead = key - __shfl_sync(ALL, own, smaller ? inside - 1 : 0);
        if (smaller) first = low + inside; else last = low - 1;
        at = most(least((smaller ? first : last) + (int)((Int)ahead * n >> p.key_bits), last), first);
    }
    return -1;
}

// Find the grams that are contexts, from the shortest on, and of each pattern the list of what follows its context and
// the figures of its row; a warp a task.
__device__ void find_lists(const Room& r, int known) {
    const Head& m = r.m();
    const Task *roots = (const Task*)(r.head + m.roots_at), *tasks = (const Task*)(r.head + m.tasks_at);
    const Int* task_base = r.head + m.task_base_at;
    int warp = threadIdx.x / LANES, n_warps = blockDim.x / LANES, lane = threadIdx.x % LANES;
    for (int i = threadIdx.x; i < m.n_roots; i += blockDim.x)
        r.entries[i] = roots[i].distance <= known ? root_of(m, r.pattern(roots[i].pattern), r.words[roots[i].distance]) : -1;
    __syncthreads();
    for (int level = 0; level < m.n_levels; level++) {
        for (int t = (int)task_base[level] + warp; t < task_base[level + 1]; t += n_warps) {
            const Task task = tasks[t];
            const Pattern& p = r.pattern(task.pattern);
            int context = task.parent < 0 ? 0 : r.entries[task.parent], begin = 0, n = 0;
            Int row = p.first_row;
            if (context >= 0) span_of(m, p, context, begin, n, row);
            if (task.slot >= 0) {
                int found = -1;
                if (n > 0) {
                    int root = root_of(m, p, r.words[task.distance]);
                    found = find(m, p, begin, n, root * p.odd & ((1 << p.key_bits) - 1));
                }
                if (lane == 0) r.entries[task.slot] = found;
            } else {
                // Where too few words are known nothing starts from the pattern, and none that does falls back on it.
                if (lane < 4) r.rows[4 * task.pattern + lane] = m.rows[4 * row + lane];
                if (lane == 0) r.begins[task.pattern] = begin, r.sizes[task.pattern] = n;
            }
        }
        __syncthreads();
    }
}

// The bucket of a word in a gate: equation (20).
__device__ int word_bucket(int word) {
    if (word < FREQUENT_WORDS) return word;
    int bucket = FREQUENT_WORDS;
    for (; word; word >>= 1) bucket++;
    return bucket;
}

// The weight of each pattern that the prediction starts from: equations (11), (16) and (17). Returns their sum.
__device__ double weigh(const Room& r, int known) {
    const Head& m = r.m();
    const Int *start_base = r.head + m.start_base_at, *starts = r.head + m.starts_at + start_base[known];
    int n = (int)(start_base[known + 1] - start_base[known]);
    for (int p = threadIdx.x; p < m.n_patterns; p += blockDim.x) r.weights[p] = n == 1 && p == starts[0] ? 1.0 : 0.0;
    if (n == 1) return 1.0;
    if (m.gated) {
        // Rows of the table whose logits add up: of how many words are known, of each context, and of each word.
        for (int i = threadIdx.x; i <= n + known; i += blockDim.x) {
            Int row = m.n_patterns * BUCKETS + known;
            if (0 < i && i <= n) {
                row = starts[i - 1] * BUCKETS + most(least((int)r.bucket(starts[i - 1]), BUCKETS - 1), 0);
            } else if (i > n) {
                int k = i - n;
                row = m.n_patterns * BUCKETS + m.order + (k - 1) * WORD_BUCKETS + word_bucket(r.words[k]);
            }
            r.features[i] = row * m.n_patterns;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < PARTS * n; i += blockDim.x) {
            const double* gate = m.gate + starts[i / PARTS];
            double logit = 0.0;
            #pragma unroll 4
            for (int f = i % PARTS; f <= n + known; f += PARTS) logit += gate[r.features[f]];
            r.logits[i] = logit;
        }
    }
    __syncthreads();
    for (int s = threadIdx.x; s < n; s += blockDim.x) {
        double logit = 0.0;
        for (int part = 0; m.gated && part < PARTS; part++) logit += r.logits[s * PARTS + part];
        r.weights[starts[s]] = r.weight(starts[s]) * exp(fmin(fmax(logit, -LOGIT_LIMIT), LOGIT_LIMIT));
    }
    __syncthreads();
    double total = 0.0;
    #pragma unroll 8
    for (int p = 0; p < m.n_patterns; p++) total += r.weights[p];
    return total;
}

// `kernels.sessions.count_table.mixed`
__device__ Int mixed(Int a, Int b) {
    Mass h = (Mass)a * 0x9E3779B97F4A7C15ULL ^ (Mass)(b + 7) * 0xC2B2AE3D27D4EB4FULL;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ULL;
    h ^= h >> 32;
    return (Int)(h | 1);
}

// The view of a thread: the last ones, which have least to do, have one each.
struct View {
    int v, n_views;
    int offsets[4];
    Int last_slot, key, at;
    const Slot* slots;
    const int* class_of;
    Int n_classified;
    Slot slot;
};

__device__ View view_of(const Session* session) {
    View view = {};
    view.v = blockDim.x - 1 - threadIdx.x;
    if (!session || view.v >= MOST_VIEWS) return view;
    for (int i = 0; i < 4; i++) view.offsets[i] = session->views[view.v][i];
    view.n_views = (int)session->n_views, view.last_slot = session->last_slot, view.slots = session->slots;
    view.class_of = session->class_of, view.n_classified = session->n_classified;
    return view;
}

// Ask for the slot where the context of a view is looked for first: other searches go on until it is there.
__device__ void ask_for_slot(const Room& r, int known, View& view) {
    if (view.v >= view.n_views) return;
    view.key = mixed(view.v + 1, 0);
    for (int i = 0; i < 3 && view.offsets[i] && view.key; i++) {
        int offset = view.offsets[i], word = offset <= known ? r.words[offset] : UNKNOWN;
        if (view.offsets[3]) word = word < view.n_classified ? view.class_of[word] : 0;
        view.key = offset <= known ? mixed(view.key, word) : 0;
    }
    view.at = view.key >> 7 & view.last_slot;
    view.slot = view.slots[view.at];
}

// What a view has of its context: n = 0 where it was never read.
__device__ void see(const Room& r, View& view) {
    if (view.v >= view.n_views) return;
    Slot found = {0, 0, 0, view.v * SUMS, view.n_views * SUMS + view.v * FOLLOWERS, 0};
    while (view.key && view.slot.key && view.slot.key != view.key) {
        view.at = (view.at + 1) & view.last_slot;
        view.slot = view.slots[view.at];
    }
    if (view.key && view.slot.key == view.key) found = view.slot;
    r.seen->begins[view.v] = found.begin, r.seen->sizes[view.v] = found.n;
    r.seen->rows[2 * view.v] = found.sum_row, r.seen->rows[2 * view.v + 1] = found.followers_row;
}

// Ask for all that adds up to logits, a thread a number.
__device__ void read_logits(const Room& r, int known) {
    const Session& s = *r.session;
    int n = (int)s.n_views + 1, n_rows = 2 * (int)s.n_views;
    for (int i = threadIdx.x; i < (n_rows + 3) * n; i += blockDim.x) {
        int part = i / n, k = part - n_rows;
        Int row = k < 0 ? r.seen->rows[part] : s.age_row;
        if (k > 0) {
            int word = k <= known && r.words[k] < s.n_classified ? r.words[k] : 0;
            row = s.n_views * (SUMS + FOLLOWERS) + AGES + (k - 1) * WORD_BUCKETS + word_bucket(word);
        }
        r.seen->parts[i] = s.logits[row * n + i % n];
    }
}

// The weights of the model, [0], and of the views: a thread a source, a warp. And where the words of each view come.
__device__ void weigh_sources(const Room& r) {
    Seen& seen = *r.seen;
    int source = threadIdx.x % LANES, n = (int)r.session->n_views + 1;
    double logit = -1e300;
    if (source < n && (source == 0 || seen.sizes[source - 1] > 0)) {
        logit = 0.0;
        #pragma unroll 4
        for (int part = 0; part < 2 * n + 1; part++) logit += seen.parts[part * n + source];
    }
    double largest = logit;
    for (int step = LANES / 2; step; step /= 2) largest = fmax(largest, __shfl_xor_sync(ALL, largest, step));
    double weight = logit > -1e300 ? exp(fmax(logit - largest, -20.0)) : 0.0, total = weight;
    for (int step = LANES / 2; step; step /= 2) total += __shfl_xor_sync(ALL, total, step);
    if (source < n) seen.weights[source] = weight / total;
    if (source < n) {
        int first = 0;
        for (int v = 0; v < source; v++) first += seen.sizes[v];
        seen.firsts[source] = first;
    }
}

// Add what followed the contexts of all views.
__device__ void add_views(const Room& r) {
    const Session& s = *r.session;
    const Seen& seen = *r.seen;
    int n_views = (int)s.n_views, n = seen.firsts[n_views];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = 0;
        while (i >= seen.firsts[v + 1]) v++;
        int2 following = s.following[seen.begins[v] + i - seen.firsts[v]];
        REAL term = (REAL)(seen.weights[v + 1] * (double)__int_as_float(following.y));
        atomicAdd(r.masses + least(most((Int)following.x, (Int)0), r.m().n_words - 1), (Mass)(term * ONE));
    }
}

// What each pattern decides: equation (15) with (12) or (13). A thread has a pattern, which collects from those that fall
// back on it; these are of earlier levels. kept: of the whole, beside what a session decides. `shares` is what a pattern passes on, over the sum of what its edges lean by.
__device__ void share(const Room& r, double total, double kept) {
    const Head& m = r.m();
    const Int *down_base = r.head + m.down_base_at, *down = r.head + m.down_at, *up = r.head + m.up_at;
    const double* down_weights = (const double*)(r.head + m.down_weights_at);
    int p = threadIdx.x, level_of_p = -1;
    Int begin = 0, end = 0;
    double own = 0.0, passes = 0.0, scale = 0.0;
    if (p < m.n_patterns) {
        level_of_p = r.pattern(p).share_level;
        begin = r.head[m.up_base_at + p], end = r.head[m.up_base_at + p + 1];
        own = kept * (total == 1.0 ? r.weights[p] : total > 0.0 ? r.weights[p] / total : 0.0);
        scale = r.scale(p), passes = r.backoff(p);
        double leaning = 0.0;
        if (down_base[p + 1] - down_base[p] > 1) {
            for (Int e = down_base[p]; e < down_base[p + 1]; e++) leaning += down_weights[e] * r.weight(down[e]);
            passes = leaning > 0.0 ? passes / leaning : 0.0;
        }
    }
    for (int level = 0; level < m.n_share_levels; level++) {
        if (level_of_p == level) {
            for (Int u = begin; u < end; u++) {
                Int edge = up[2 * u + 1];  // where there are several
                own += r.shares[up[2 * u]] * (edge < 0 ? 1.0 : down_weights[edge] * r.weight(p));
            }
            r.shares[p] = own * passes;
            r.scales[p] = own > 0.0 ? (REAL)(own * scale) : (REAL)0.0;
        }
        __syncthreads();
    }
    // Pieces of 32 grams of all lists but that of all words, one after the other, and the pattern of each.
    if (p < m.n_patterns) r.chunks[p] = p > 0 && r.scales[p] > 0 ? (r.sizes[p] + LANES - 1) / LANES : 0;
    __syncthreads();
    for (int q = threadIdx.x / LANES; q < m.n_patterns; q += blockDim.x / LANES) {
        int first = 0;
        #pragma unroll 8
        for (int o = 0; o < q; o++) first += r.chunks[o];
        for (int i = threadIdx.x % LANES; i < r.chunks[q]; i += LANES) r.pattern_of[first + i] = (unsigned char)q;
        if (threadIdx.x % LANES == 0) r.first_chunks[q] = first;
        if (threadIdx.x % LANES == 0 && q == m.n_patterns - 1) r.first_chunks[q + 1] = first + r.chunks[q];
    }
    __syncthreads();
}

// The count of gram g of a pattern, whose code does not tell it.
__device__ Int large_count(const Head& m, const Pattern& p, Int g) {
    Int low = 0, high = m.n_large, value = p.first_gram + g;
    while (low < high) {
        Int middle = (low + high) >> 1;
        if (m.large_at[middle] < value) low = middle + 1; else high = middle;
    }
    return low < m.n_large ? most(m.large_counts[low], (Int)0) : 1;
}

// Add what a gram's discounted count gives to the mass of its word, or of its class.
__device__ void add_gram(const Room& r, int i, Int g, unsigned gram) {
    const Head& m = r.m();
    const Pattern& p = r.pattern(i);
    unsigned mask = (1u << p.code_bits) - 1;
    Int count = gram & mask;
    int word = (int)(gram >> p.code_bits) * p.inverse & ((1 << p.key_bits) - 1);
    if (count >= mask) count = large_count(m, p, g);
    if (count <= 0) return;
    REAL term = r.scales[i] * ((REAL)count - (REAL)p.discounts[least((int)least(count, (Int)3), 3)]);
    Mass mass = (Mass)(least(most(term, (REAL)0.0), (REAL)1.0) * ONE);
    if (p.clustering > 0)
        atomicAdd(r.class_masses + least((Int)p.first_class + word, m.n_classes - 1), mass);
    else
        atomicAdd(r.masses + least((Int)word, m.n_words - 1), mass);
}

// All grams of all lists, a warp 32 of one list.
__device__ void add_lists(const Room& r) {
    const Head& m = r.m();
    int warp = threadIdx.x / LANES, n_warps = blockDim.x / LANES, lane = threadIdx.x % LANES;
    int n = r.first_chunks[m.n_patterns];
    for (int first = warp; first < n; first += AT_ONCE * n_warps) {
        unsigned grams[AT_ONCE];
        int patterns[AT_ONCE];
        Int places[AT_ONCE];
        #pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            int chunk = first + j * n_warps;
            patterns[j] = -1;
            if (chunk >= n) continue;
            int p = r.pattern_of[chunk], i = (chunk - r.first_chunks[p]) * LANES + lane;
            if (i >= r.sizes[p]) continue;
            patterns[j] = p, places[j] = r.begins[p] + i;
            grams[j] = m.grams[r.pattern(p).gram_at + places[j]];
        }
        #pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (patterns[j] >= 0) add_gram(r, patterns[j], places[j], grams[j]);
    }
    __syncthreads();
}

// What is known of a column before anything of the state is: its word, and its class in the first clustering.
struct Column { int word, own_class; REAL kept, given; };
__device__ Column column_of(const Head& m, Int v, Int eos) {
    Column column = {0, 0, 0, 0};
    Int at = v == eos ? m.n_asked : v;
    if (v >= m.n_asked) return column;
    column.word = m.words[at], column.kept = m.kept[at];
    if (m.n_clusterings) column.own_class = m.classes[at], column.given = m.given_class[at];
    return column;
}

// scores [state, column]: logarithms, unit times the natural ones. after [state, column]: the state after each label; none
// where null. States are packed, or rows where these are not null. eos: the column of the end of a sentence, after which a
// state stays what it is; -1: there is none. sessions: of each stream, whose states follow each other, or null.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, LEAST_BLOCKS) next_words(
    const Int* head, Int n_head, const Int* states, const int* rows, REAL* scores, Int* after, Int eos, double unit,
    const Session* const* sessions, Int states_a_stream, Mass* spread)
{
    extern __shared__ Int shared[];
    Int state = rows ? 0 : states[blockIdx.x];
    const Session* session = SESSIONS ? sessions[blockIdx.x / states_a_stream] : 0;
    View view = view_of(session);
    for (Int i = threadIdx.x; i < n_head; i += blockDim.x) shared[i] = head[i];
    __syncthreads();
    Room r = room_of(shared, spread);
    const Head& m = r.m();
    r.session = session;
    int known = unpack(m, state, rows ? rows + blockIdx.x * m.order : 0, r.words);
    for (Int i = threadIdx.x; i < m.n_words + m.n_classes; i += blockDim.x) r.masses[i] = 0;
    __syncthreads();
    if (SESSIONS && session) ask_for_slot(r, known, view);
    find_lists(r, known);
    if (SESSIONS && session) {
        see(r, view);
        __syncthreads();
        read_logits(r, known);
    }
    double total_weight = weigh(r, known);
    if (SESSIONS && session) {
        __syncthreads();
        if (threadIdx.x / LANES == blockDim.x / LANES - 1) weigh_sources(r);
        __syncthreads();
    }
    share(r, total_weight, SESSIONS && session ? r.seen->weights[0] : 1.0);
    // What of the first columns has to be read is on its way while lists are added.
    Int n = m.n_asked, kept = (Int)((1ULL << m.bits * (m.order - 1)) - 1), first = blockIdx.x * n;
    Column columns[COLUMNS];
    #pragma unroll
    for (int j = 0; j < COLUMNS; j++) columns[j] = column_of(m, threadIdx.x + j * blockDim.x, eos);
    if (SESSIONS && session) add_views(r);
    add_lists(r);
    // What all words have, what each has by itself, what its grams and its classes give, and the logarithm.
    REAL floor = (REAL)(r.shares[0] / (m.n_words - 1)), scale = r.scales[0], share_of_unknown = (REAL)1.0 / m.n_unknown;
    for (Int begin = threadIdx.x; begin < n; begin += COLUMNS * blockDim.x) {
        #pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            Int v = begin + j * blockDim.x;
            if (v >= n) break;
            if (begin >= blockDim.x) columns[j] = column_of(m, v, eos);
            REAL total = floor + scale * columns[j].kept + (REAL)r.masses[most(columns[j].word, 0)] * (1 / ONE);
            for (Int c = 0; c < m.n_clusterings; c++) {
                Int at = c * (n + 1) + (v == eos ? n : v);
                int own = c ? m.classes[at] : columns[j].own_class;
                total += (REAL)r.class_masses[own] * (1 / ONE) * (c ? m.given_class[at] : columns[j].given);
            }
            if (columns[j].word == UNKNOWN) total *= share_of_unknown;
            scores[first + v] = (REAL)unit * log(columns[j].word < 0 ? (REAL)0.0 : total);
            if (after) after[first + v] = v == eos ? state : ((state << m.bits) | (v + 1)) & kept;
        }
    }
}
