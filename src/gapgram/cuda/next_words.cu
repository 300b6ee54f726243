// All next words after packed states, and the states after them: equations (8) to (20), (24) and (25) of
// docs/ideas/mathematics.md in one launch, a block of threads a state.
//
// A state holds the last words, the nearest in its lowest bits: code 0 is no word, code v + 1 label v, and the one after
// all labels <s>. A block finds the contexts of all patterns, level by level, a warp a search; shares the prediction out;
// adds the grams that follow every context to the mass of their words; and writes logarithms. Masses are whole numbers,
// 2**62 of them a probability of one, so that a sum is the same in whatever order threads add to it.
//
// What bounds a block is how many reads wait for each other. So the head, in which all that is small lies one after the
// other, is copied to shared memory by one read of each thread, and the lists of a level are found beside its searches.

typedef long long Int;
typedef unsigned long long Mass;

#define LANES 32
#define ALL 0xffffffffu
#define BUCKETS 64
#define FREQUENT_WORDS 256
#define WORD_BUCKETS 296
#define LOGIT_LIMIT 600.0
#define ONE 4611686018427387904.0f
#define ROW_BITS 24
#define UNKNOWN 0  // words
#define START 1
#define PARTS 8  // of what adds up to a logit
#define COLUMNS 2  // of the answer that a thread has at a time
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
    const float* kept;         // [column]: the discounted count of the word by itself
    const int* classes;        // [clustering, column]: the class of each
    const float* given_class;  // likewise: its probability given that
    Int n_asked, n_large, n_class_words, n_words, n_classes, n_clusterings, n_labels, n_unknown, gated;
    Int order, bits, n_patterns, n_slots, n_roots, n_levels, n_share_levels, n_head;
    Int patterns_at, roots_at, task_base_at, tasks_at, start_base_at, starts_at;
    Int up_base_at, up_at, down_base_at, down_at, down_weights_at;
};
struct Pattern {
    Int gram_at, first_gram, first_context, stride;
    int n_grams, code_bits, key_bits, odd, inverse, n_contexts, first_row, n_rows, clustering, first_class;
    int share_level, unused;
    float discounts[4];
};
// A slot is a gram that is a context, and ends `distance` words back. A task finds one, in what follows the context of
// slot `parent`; or, where it has no slot, the list of what follows that context.
struct Task { int pattern, distance, parent, slot; };

// Shared memory, after the head; as `gapgram.cuda.next_words` counts it.
struct Room {
    const Int* head;
    Mass *masses, *class_masses;
    double *rows, *weights, *shares;   // of each pattern
    double* logits;                    // [part, pattern]
    Int *begins, *features;            // of each pattern; of the gate
    float* scales;
    int *sizes, *chunks, *first_chunks, *entries, *words;
    unsigned char* pattern_of;         // of each piece of a list

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
    r.masses = spread ? spread + blockIdx.x * n_masses : (Mass*)free;
    r.class_masses = r.masses + m.n_words;
    r.rows = (double*)(spread ? free : free + n_masses);
    r.weights = r.rows + 4 * p;
    r.shares = r.weights + p;
    r.logits = r.shares + p;
    r.begins = (Int*)(r.logits + PARTS * p);
    r.features = r.begins + p;
    r.scales = (float*)(r.features + p + m.order + 1);
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

// Fill the words of a state, words[k] the k-th before the next; returns how many there are.
__device__ int unpack(const Head& m, Int state, int* words) {
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
                int k = i - n, word = r.words[k], bucket = word;
                if (word >= FREQUENT_WORDS)
                    for (bucket = FREQUENT_WORDS; word; word >>= 1) bucket++;
                row = m.n_patterns * BUCKETS + m.order + (k - 1) * WORD_BUCKETS + bucket;
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

// What each pattern decides: equation (15) with (12) or (13). A thread has a pattern, which collects from those that fall
// back on it; these are of earlier levels. `shares` is what a pattern passes on, over the sum of what its edges lean by.
__device__ void share(const Room& r, double total) {
    const Head& m = r.m();
    const Int *down_base = r.head + m.down_base_at, *down = r.head + m.down_at, *up = r.head + m.up_at;
    const double* down_weights = (const double*)(r.head + m.down_weights_at);
    int p = threadIdx.x, level_of_p = -1;
    Int begin = 0, end = 0;
    double own = 0.0, passes = 0.0, scale = 0.0;
    if (p < m.n_patterns) {
        level_of_p = r.pattern(p).share_level;
        begin = r.head[m.up_base_at + p], end = r.head[m.up_base_at + p + 1];
        own = total == 1.0 ? r.weights[p] : total > 0.0 ? r.weights[p] / total : 0.0;
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
            r.scales[p] = own > 0.0 ? (float)(own * scale) : 0.0f;
        }
        __syncthreads();
    }
    // Pieces of 32 grams of all lists but that of all words, one after the other, and the pattern of each.
    if (p < m.n_patterns) r.chunks[p] = p > 0 && r.scales[p] > 0.0f ? (r.sizes[p] + LANES - 1) / LANES : 0;
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
    float term = r.scales[i] * ((float)count - p.discounts[least((int)least(count, (Int)3), 3)]);
    Mass mass = (Mass)(fminf(fmaxf(term, 0.0f), 1.0f) * ONE);
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
struct Column { int word, own_class; float kept, given; };
__device__ Column column_of(const Head& m, Int v, Int eos) {
    Column column = {0, 0, 0.0f, 0.0f};
    Int at = v == eos ? m.n_asked : v;
    if (v >= m.n_asked) return column;
    column.word = m.words[at], column.kept = m.kept[at];
    if (m.n_clusterings) column.own_class = m.classes[at], column.given = m.given_class[at];
    return column;
}

// scores [state, column]: natural logarithms. after [state, column]: the state after each label; none where null.
// eos: the column of the end of a sentence, after which a state stays what it is; -1: there is none.
extern "C" __global__ void __launch_bounds__(MOST_THREADS, LEAST_BLOCKS) next_words(
    const Int* head, Int n_head, const Int* states, float* scores, Int* after, Int eos, Mass* spread)
{
    extern __shared__ Int shared[];
    Int state = states[blockIdx.x];
    for (Int i = threadIdx.x; i < n_head; i += blockDim.x) shared[i] = head[i];
    __syncthreads();
    const Room r = room_of(shared, spread);
    const Head& m = r.m();
    int known = unpack(m, state, r.words);
    for (Int i = threadIdx.x; i < m.n_words + m.n_classes; i += blockDim.x) r.masses[i] = 0;
    __syncthreads();
    find_lists(r, known);
    double total_weight = weigh(r, known);
    share(r, total_weight);
    // What of the first columns has to be read is on its way while lists are added.
    Int n = m.n_asked, kept = (Int)((1ULL << m.bits * (m.order - 1)) - 1), first = blockIdx.x * n;
    Column columns[COLUMNS];
    #pragma unroll
    for (int j = 0; j < COLUMNS; j++) columns[j] = column_of(m, threadIdx.x + j * blockDim.x, eos);
    add_lists(r);
    // What all words have, what each has by itself, what its grams and its classes give, and the logarithm.
    float floor = (float)(r.shares[0] / (m.n_words - 1)), scale = r.scales[0], share_of_unknown = 1.0f / m.n_unknown;
    for (Int begin = threadIdx.x; begin < n; begin += COLUMNS * blockDim.x) {
        #pragma unroll
        for (int j = 0; j < COLUMNS; j++) {
            Int v = begin + j * blockDim.x;
            if (v >= n) break;
            if (begin >= blockDim.x) columns[j] = column_of(m, v, eos);
            float total = floor + scale * columns[j].kept + (float)r.masses[most(columns[j].word, 0)] * (1.0f / ONE);
            for (Int c = 0; c < m.n_clusterings; c++) {
                Int at = c * (n + 1) + (v == eos ? n : v);
                int own = c ? m.classes[at] : columns[j].own_class;
                total += (float)r.class_masses[own] * (1.0f / ONE) * (c ? m.given_class[at] : columns[j].given);
            }
            if (columns[j].word == UNKNOWN) total *= share_of_unknown;
            scores[first + v] = logf(columns[j].word < 0 ? 0.0f : total);
            if (after) after[first + v] = v == eos ? state : ((state << m.bits) | (v + 1)) & kept;
        }
    }
}
