// Words move between classes, as in kernels.exchange and kernels.judging, on a card: all words of a batch at once.
//
// A block of threads judges a word, a group of them one side of it. The words of a batch are judged against the same counts; then all that want to move,
// move. So nothing is added up in an order that changes from run to run: counts are whole numbers, and each sum of
// others is made by one thread, or in one tree.
//
//     rows[s][g][c]       pairs of a word of class c whose neighbour on side s is of class g; a row has `stride` numbers
//     sums[s][c]          pairs of a word of class c
//     totals[s][w]        pairs of word w, with itself, too
//     class_of, wish      the class of each word, and the one it moves to; the same but while a batch moves
//     claims[c]           of the words of a batch that are a large part of class c, and leave it or come to it, the one
//                         that the objective rises most by: the others stay

#define ALL 0xffffffffu
#define SPECIAL 3
#define GROUP 128  // threads, which look at one side of a word
#define SOFT 0.4f
#define LEAST 1e-6
#define LARGE 0.03f  // part of a class
enum { CELL, SUM };

// What does not change while words move.
struct Pairs {
    const long long* starts;
    const int *others, *times, *itself, *totals;
    int n_words, sides;
};

// What is known of the classes.
struct Counts {
    int *class_of, *wish, *rows, *sums;
    unsigned long long *claims, *claim_of;
    const double *tables, *priors;
    int table_size, k, stride;
};

__device__ double f_of(long long x, int which, const Counts& counts) {
    const double* table = counts.tables + (long long)which * (counts.table_size + 1);
    return x < counts.table_size ? table[x] : lgamma(x + counts.priors[which]) - table[counts.table_size];
}

__device__ int* row_of(const Counts& counts, int s, int g) {
    return counts.rows + ((long long)s * counts.k + g) * counts.stride;
}

// Add n pairs of a word of class c whose neighbour on the even side 2d is of class g; seen from both ends.
__device__ void add_pairs(const Counts& counts, int d, int g, int c, int n) {
    atomicAdd(row_of(counts, 2 * d, g) + c, n);
    atomicAdd(row_of(counts, 2 * d + 1, c) + g, n);
}

// Wait until all blocks are here; `arrived` only grows, and `goal` is where it will be then.
__device__ void meet(unsigned* arrived, unsigned& goal) {
    __syncthreads();
    goal += gridDim.x;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < goal) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

// The sum over a block, in a fixed order; for all its threads. `room` has a number for each warp.
__device__ double block_sum(double value, double* room) {
    for (int d = 16; d; d /= 2) value += __shfl_xor_sync(ALL, value, d);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0.0;
    for (int i = 0; i < (int)blockDim.x / 32; i++) sum += room[i];
    __syncthreads();
    return sum;
}

// The class with the highest score, the first of equals, for all threads of a block.
__device__ int block_top(float score, int c, double* room) {
    for (int d = 16; d; d /= 2) {
        float other = __shfl_xor_sync(ALL, score, d);
        int its = __shfl_xor_sync(ALL, c, d);
        if (other > score || (other == score && its < c)) score = other, c = its;
    }
    float* scores = (float*)room;
    int n = blockDim.x / 32, *tops = (int*)(scores + n);
    if (threadIdx.x % 32 == 0) scores[threadIdx.x / 32] = score, tops[threadIdx.x / 32] = c;
    __syncthreads();
    for (int i = 0; i < n; i++)
        if (scores[i] > score || (scores[i] == score && tops[i] < c)) score = scores[i], c = tops[i];
    __syncthreads();
    return c;
}

// What a block holds of a word: how often it meets each class on each side (`met`, all 0 before and after), which ones
// it meets at all (`list`, `found` of them), by class, and what a side adds to the scores of some classes (`parts`).
struct Word {
    int *met, *found;
    unsigned short* list;
    float* parts;
    double* room;
};

// The threads of a block are as many groups as there are sides; the first warp of each makes the list of its side.
__device__ void gather(int w, const Pairs& pairs, const Counts& counts, const Word& word) {
    int s = threadIdx.x / GROUP, mine = threadIdx.x % GROUP, *met = word.met + s * counts.k;
    const long long* starts = pairs.starts + (long long)s * (pairs.n_words + 1) + w;
    long long end = starts[1];
    #pragma unroll 4
    for (long long i = starts[0] + mine; i < end; i += GROUP)
        atomicAdd(met + counts.class_of[pairs.others[i]], pairs.times[i]);
    __syncthreads();
    if (mine < 32) {
        int n = 0;
        for (int c = mine; c - mine < counts.k; c += 32) {
            bool is_met = c < counts.k && met[c] > 0;
            unsigned which = __ballot_sync(ALL, is_met);
            if (is_met) word.list[s * counts.k + n + __popc(which & ((1u << mine) - 1))] = c;
            n += __popc(which);
        }
        if (mine == 0) word.found[s] = n;
    }
    __syncthreads();
}

// About what the pairs of a word on side s would be worth in classes c to c + 3, by logarithms to base 2.
__device__ float4 scores_of(int w, int s, int c, const Pairs& pairs, const Counts& counts, const Word& word) {
    float4 score = {0.0f, 0.0f, 0.0f, 0.0f};
    float prior = (float)counts.priors[CELL];
    const int* met = word.met + s * counts.k;
    const unsigned short* list = word.list + s * counts.k;
    int n_found = word.found[s], total = pairs.totals[(long long)s * pairs.n_words + w];
    #pragma unroll 8
    for (int i = 0; i < n_found; i++) {
        int g = list[i];
        float n = (float)met[g], more = prior + SOFT * (n - 1.0f);
        int4 x = *(const int4*)(row_of(counts, s, g) + c);
        score.x += n * __log2f(x.x + more);
        score.y += n * __log2f(x.y + more);
        score.z += n * __log2f(x.z + more);
        score.w += n * __log2f(x.w + more);
    }
    if (total > 0) {
        float n = (float)total, more = (float)counts.priors[SUM] + SOFT * (n - 1.0f);
        int4 x = *(const int4*)(counts.sums + s * counts.stride + c);
        score.x -= n * __log2f(x.x + more);
        score.y -= n * __log2f(x.y + more);
        score.z -= n * __log2f(x.z + more);
        score.w -= n * __log2f(x.w + more);
    }
    int own_pairs = pairs.itself[(long long)s * pairs.n_words + w];
    if (own_pairs > 0 && s % 2 == 0) {
        float n = (float)own_pairs, more = prior + SOFT * (n - 1.0f);
        float* each = &score.x;
        for (int j = 0; j < 4 && c + j < counts.k; j++)
            each[j] += n * __log2f(row_of(counts, s, c + j)[c + j] + more);
    }
    return score;
}

// By how much the objective rises if a word moves and all others stay.
__device__ double rise_of(int w, int own, int to, const Pairs& pairs, const Counts& counts, const Word& word) {
    double rise = 0.0;
    int side = threadIdx.x / GROUP;
    for (int i = threadIdx.x % GROUP; i < word.found[side]; i += GROUP) {
        int g = word.list[side * counts.k + i];
        if (g == own || g == to) continue;
        int n = word.met[side * counts.k + g], a = row_of(counts, side, g)[own], b = row_of(counts, side, g)[to];
        rise += f_of(a - n, CELL, counts) - f_of(a, CELL, counts) + f_of(b + n, CELL, counts) - f_of(b, CELL, counts);
    }
    // The four cells of both classes, which pairs of both sides change.
    for (int i = threadIdx.x; i < 2 * pairs.sides; i += blockDim.x) {
        int d = i / 4, g = i & 1 ? own : to, c = i & 2 ? own : to;
        int n = word.met[2 * d * counts.k + g] * (c == own ? -1 : 1);
        n += word.met[(2 * d + 1) * counts.k + c] * (g == own ? -1 : 1);
        if (g == c) n += pairs.itself[(long long)2 * d * pairs.n_words + w] * (g == own ? -1 : 1);
        int x = row_of(counts, 2 * d, g)[c];
        rise += f_of(x + n, CELL, counts) - f_of(x, CELL, counts);
    }
    for (int i = threadIdx.x; i < 2 * pairs.sides; i += blockDim.x) {
        int s = i / 2, total = pairs.totals[(long long)s * pairs.n_words + w];
        long long x = counts.sums[s * counts.stride + (i & 1 ? own : to)];
        rise -= f_of(x + (i & 1 ? -total : total), SUM, counts) - f_of(x, SUM, counts);
    }
    return block_sum(rise, word.room);
}

// Whether a word is a large part of a class.
__device__ bool is_large(int w, int c, const Pairs& pairs, const Counts& counts) {
    return pairs.totals[w] >= LARGE * counts.sums[c];
}

// Wish for a class, and lay claim to that and to its own, with number `at` of batch b. A later batch counts for more than
// an earlier one, then a higher rise, then an earlier word.
__device__ void lay_claim(int w, int to, double rise, int b, int at, const Pairs& pairs, const Counts& counts) {
    counts.wish[w] = to;
    unsigned long long rank = __float_as_uint((float)rise);
    unsigned long long claim = (unsigned long long)(b + 1) << 52 | rank << 21 | (0x1fffff - at);
    counts.claim_of[w] = claim;
    if (is_large(w, to, pairs, counts)) atomicMax(counts.claims + to, claim);
    if (is_large(w, counts.class_of[w], pairs, counts)) atomicMax(counts.claims + counts.class_of[w], claim);
}

// Give up a wish where another word has the better claim.
__device__ void settle(int w, const Pairs& pairs, const Counts& counts) {
    int own = counts.class_of[w], to = counts.wish[w];
    if (own == to) return;
    unsigned long long claim = counts.claim_of[w];
    if ((is_large(w, to, pairs, counts) && counts.claims[to] != claim)
        || (is_large(w, own, pairs, counts) && counts.claims[own] != claim)) counts.wish[w] = own;
}

// Find the class that a word, number `at` of batch b, fits best, and let it wish for that if the objective rises.
__device__ void judge(int w, int b, int at, const Pairs& pairs, const Counts& counts, const Word& word) {
    gather(w, pairs, counts, word);
    int s = threadIdx.x / GROUP, mine = threadIdx.x % GROUP, own = counts.class_of[w], top = 0x7fffffff;
    float highest = -3e38f;
    for (int first = 0; first < counts.k; first += 4 * GROUP) {
        if (first + 4 * mine < counts.k)
            ((float4*)word.parts)[s * GROUP + mine] = scores_of(w, s, first + 4 * mine, pairs, counts, word);
        __syncthreads();
        for (int i = threadIdx.x; i < 4 * GROUP; i += blockDim.x) {
            int c = first + i;
            if (c < SPECIAL || c >= counts.k || c == own) continue;
            float score = 0.0f;
            for (int side = 0; side < pairs.sides; side++) score += word.parts[side * 4 * GROUP + i];
            if (score > highest) highest = score, top = c;
        }
        __syncthreads();
    }
    top = block_top(highest, top, word.room);
    if (top < counts.k) {
        double rise = rise_of(w, own, top, pairs, counts, word);
        if (threadIdx.x == 0 && rise > LEAST) lay_claim(w, top, rise, b, at, pairs, counts);
    }
    for (int i = mine; i < word.found[s]; i += GROUP) word.met[s * counts.k + word.list[s * counts.k + i]] = 0;
    __syncthreads();
}

// Count the pairs of a word that moves where they will be. A pair of two words that move is counted by the first.
__device__ void move(int w, const Pairs& pairs, const Counts& counts) {
    int s = threadIdx.x / GROUP, mine = threadIdx.x % GROUP, own = counts.class_of[w], to = counts.wish[w];
    const long long* starts = pairs.starts + (long long)s * (pairs.n_words + 1) + w;
    long long end = starts[1];
    for (long long i = starts[0] + mine; i < end; i += GROUP) {
        int other = pairs.others[i], n = pairs.times[i], before = counts.class_of[other], after = counts.wish[other];
        if (s % 2 == 0) {
            add_pairs(counts, s / 2, before, own, -n);
            add_pairs(counts, s / 2, after, to, n);
        } else if (before == after) {
            add_pairs(counts, s / 2, own, before, -n);
            add_pairs(counts, s / 2, to, before, n);
        }
    }
    if (mine == 0) {
        int own_pairs = pairs.itself[(long long)s * pairs.n_words + w];
        if (own_pairs > 0 && s % 2 == 0) {
            add_pairs(counts, s / 2, own, own, -own_pairs);
            add_pairs(counts, s / 2, to, to, own_pairs);
        }
        int total = pairs.totals[(long long)s * pairs.n_words + w];
        atomicAdd(counts.sums + s * counts.stride + own, -total);
        atomicAdd(counts.sums + s * counts.stride + to, total);
    }
}

// Count all pairs by the classes of their words; rows and sums are 0 before. A warp takes a word.
extern "C" __global__ void fill(
    const long long* starts, const int* others, const int* times, const int* itself, const int* totals, int n_words,
    int sides, int* class_of, int* rows, int* sums, int k, int stride)
{
    Counts counts = {class_of, class_of, rows, sums, 0, 0, 0, 0, 0, k, stride};
    int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32; w < n_words; w += warps)
        for (int s = 0; s < sides; s++) {
            const long long* at = starts + (long long)s * (n_words + 1) + w;
            for (long long i = at[0] + lane; i < at[1] && s % 2 == 0; i += 32)
                add_pairs(counts, s / 2, class_of[others[i]], class_of[w], times[i]);
            if (lane == 0) {
                if (s % 2 == 0) add_pairs(counts, s / 2, class_of[w], class_of[w], itself[(long long)s * n_words + w]);
                atomicAdd(sums + s * stride + class_of[w], totals[(long long)s * n_words + w]);
            }
        }
}

// Let words move, batch by batch: words[cuts[b]] up to words[cuts[b + 1]] are judged, then moved. All blocks of the grid
// run at the same time, and meet after each step.
extern "C" __global__ void __launch_bounds__(4 * GROUP, 2) sweep(
    const long long* starts, const int* others, const int* times, const int* itself, const int* totals, int n_words,
    int sides, int* class_of, int* wish, int* rows, int* sums, unsigned long long* claims,
    unsigned long long* claim_of, const double* tables, const double* priors, int table_size, int k, int stride, const int* words, const int* cuts, int n_batches, unsigned* arrived)
{
    extern __shared__ double held[];
    Pairs pairs = {starts, others, times, itself, totals, n_words, sides};
    Counts counts = {class_of, wish, rows, sums, claims, claim_of, tables, priors, table_size, k, stride};
    float* parts = (float*)(held + 32);
    int *met = (int*)(parts + sides * 4 * GROUP), *found = met + sides * k;
    Word word = {met, found, (unsigned short*)(found + sides), parts, held};
    for (int i = threadIdx.x; i < sides * k; i += blockDim.x) word.met[i] = 0;
    __syncthreads();
    unsigned goal = 0;
    for (int b = 0; b < n_batches; b++) {
        int begin = cuts[b], end = cuts[b + 1], first = begin + blockIdx.x * blockDim.x + threadIdx.x;
        for (int at = begin + blockIdx.x; at < end; at += gridDim.x) judge(words[at], b, at - begin, pairs, counts, word);
        meet(arrived, goal);
        for (int at = first; at < end; at += gridDim.x * blockDim.x) settle(words[at], pairs, counts);
        meet(arrived, goal);
        for (int at = begin + blockIdx.x; at < end; at += gridDim.x)
            if (wish[words[at]] != class_of[words[at]]) move(words[at], pairs, counts);
        meet(arrived, goal);
        for (int at = first; at < end; at += gridDim.x * blockDim.x) class_of[words[at]] = wish[words[at]];
        meet(arrived, goal);
    }
}
