// One batch of positions, and a step of Adam: kernels.gradient on a card, in three launches.
//
// A warp takes a position and a thread a pattern. Whatever the CPU adds up one after the other is added up here in the
// same order, so that only exp and log, which are rounded otherwise, make a difference. fmad is off.
//
// Compiled for a number of patterns (P), of features (F), of rows of the gate table (ROWS), and of the probabilities that
// a position has of its word given itself, and given its class in each clustering (GIVEN).

#define BUCKETS 64
#define WORD_BUCKETS 296
#define PIECE 64  // positions, as kernels.descent has it; a warp looks at 32 of them at a time
#define ALL 0xffffffffu
enum { COUNT, TOTAL, N1, N2, N3 };

__device__ double max_discount(int k) { return k + 1.0; }

// How -ln P of each position changes: with the logits [position, P], and [P, position] with the shift of its bucket, with
// what discounts take, and with the discount of the gram itself.
extern "C" __global__ void slopes_of(
    const int* statistics, const int* features, const double* given, const double* log_prior, double uniform,
    const long long* down, const long long* clusterings, const double* table, const double* lifted_by,
    const double* discounts, long long begin, int n, double* by_logit, double* by_shift, double* by_taken,
    double* by_own)
{
    int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32, p = threadIdx.x % 32;
    if (at >= n) return;
    long long t = begin + at;
    bool is_pattern = p < P;
    int own = is_pattern ? features[t * F + p] : -1;
    // The weights of the patterns in the mixture.
    double logit = is_pattern ? log_prior[t * P + p] : 0.0;
    for (int f = 0; f < F; f++) {
        int row = features[t * F + f];
        if (row >= 0 && is_pattern) logit += table[(long long)row * P + p];
    }
    double largest = own >= 0 ? logit : -1e308;
    for (int d = 16; d; d /= 2) largest = fmax(largest, __shfl_xor_sync(ALL, largest, d));
    double weight = own >= 0 ? exp(logit - largest) : 0.0, total_weight = 0.0;
    for (int q = 0; q < P; q++) total_weight += __shfl_sync(ALL, weight, q);
    weight /= total_weight;
    // What each pattern keeps, and what it hands down.
    double kept = 0.0, g = 1.0, gamma = 1.0;
    int total = 0, count = 0, below_me = is_pattern ? (int)down[p] : 0;
    double given_class = is_pattern ? given[t * GIVEN + clusterings[p]] : 1.0;
    if (own >= 0) {
        const int* s = statistics + (t * P + p) * 5;
        total = s[TOTAL];
        count = s[COUNT];
        if (total > 0) {
            const double* d = discounts + 3 * p;
            double taken = d[0] * s[N1] + d[1] * s[N2] + d[2] * s[N3];
            g = taken / total;
            if (count > 0) kept = (count - d[min(count, 3) - 1]) / (total - taken) * given_class;
            double lifted = g * lifted_by[p * BUCKETS + own - p * BUCKETS];
            gamma = lifted / (1.0 - g + lifted);
        }
    }
    // Values from the pattern below to the one above, and their mixture.
    double value = 0.0, below = uniform, probability = 0.0;
    for (int q = 0; q < P; q++) {
        double lower = __shfl_sync(ALL, value, below_me);
        if (p == q && own >= 0) {
            below = p == 0 ? uniform : lower;
            value = (1.0 - gamma) * kept + gamma * below;
        }
    }
    double part = own >= 0 ? weight * value : 0.0;
    for (int q = 0; q < P; q++) probability += __shfl_sync(ALL, part, q);
    // Backwards.
    double scale = -1.0 / probability, reached = weight;
    for (int q = P - 1; q > 0; q--) {
        double r = __shfl_sync(ALL, reached, q), handed = __shfl_sync(ALL, gamma, q);
        int to = __shfl_sync(ALL, below_me, q), row = __shfl_sync(ALL, own, q);
        if (p == to && row >= 0 && r != 0.0) reached += r * handed;
    }
    if (!is_pattern) return;
    by_logit[at * P + p] = weight > 0.0 ? scale * weight * (value - probability) : 0.0;
    double shift = 0.0, taken = 0.0, of_own = 0.0;
    if (own >= 0 && reached != 0.0 && total > 0) {
        double d_gamma = scale * reached * (below - kept), d_kept = scale * reached * (1.0 - gamma);
        shift = d_gamma * gamma * (1.0 - gamma);
        double d_g = d_gamma * gamma * (1.0 - gamma) / (g * (1.0 - g)), left = total * (1.0 - g);
        taken = d_g / total + d_kept * kept / left;
        if (count > 0) of_own = d_kept / left * given_class;
    }
    by_shift[p * n + at] = shift;
    by_taken[p * n + at] = taken;
    by_own[p * n + at] = of_own;
}

// A block adds up the slopes of one half of the batch by what belongs to one column of the features: its rows of the
// gate table by the first warp, the shifts and discounts of its pattern by the second, first over pieces.
extern "C" __global__ void add_columns(
    const int* statistics, const int* features, const double* discounts, long long begin, int n, int order,
    const double* by_logit, const double* by_shift, const double* by_taken, const double* by_own, double* halves)
{
    extern __shared__ double sums[];
    int f = blockIdx.x % F, half = blockIdx.x / F, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first = half ? n / 2 : 0, last = half ? n : n / 2;
    int row_base = f < P ? f * BUCKETS : f == P ? P * BUCKETS : P * BUCKETS + order + (f - P - 1) * WORD_BUCKETS;
    int n_rows = f < P ? BUCKETS : f == P ? order : WORD_BUCKETS;
    double *shifts = sums + WORD_BUCKETS * P, *of_piece = shifts + BUCKETS;
    double* out = halves + (long long)half * ((long long)ROWS * P + (BUCKETS + 3) * P);
    for (int i = threadIdx.x; i < n_rows * P; i += blockDim.x) sums[i] = 0.0;
    for (int i = threadIdx.x; i < BUCKETS; i += blockDim.x) shifts[i] = of_piece[i] = 0.0;
    __syncthreads();
    if (warp == 0) {
        for (int some = first; some < last; some += 32) {
            int here = some + lane < last ? features[(begin + some + lane) * F + f] : -1;
            for (int j = 0; j < 32 && some + j < last; j++) {
                int row = __shfl_sync(ALL, here, j);
                if (row >= 0 && lane < P) sums[(row - row_base) * P + lane] += by_logit[(some + j) * P + lane];
                __syncwarp();
            }
        }
    } else if (f < P) {
        double by_discount = 0.0, discount = 0.0;
        for (int some = first; some < last; some += 32) {
            int at = some + lane, row = -1, count = 0, n1 = 0, n2 = 0, n3 = 0;
            double s = 0.0, taken = 0.0, own = 0.0;
            if (at < last) {
                const int* numbers = statistics + ((begin + at) * P + f) * 5;
                row = features[(begin + at) * F + f];
                count = numbers[COUNT], n1 = numbers[N1], n2 = numbers[N2], n3 = numbers[N3];
                s = by_shift[f * n + at], taken = by_taken[f * n + at], own = by_own[f * n + at];
            }
            for (int j = 0; j < 32 && some + j < last; j++) {
                int r = __shfl_sync(ALL, row, j), c = __shfl_sync(ALL, count, j);
                int of1 = __shfl_sync(ALL, n1, j), of2 = __shfl_sync(ALL, n2, j), of3 = __shfl_sync(ALL, n3, j);
                double shift = __shfl_sync(ALL, s, j), t = __shfl_sync(ALL, taken, j), o = __shfl_sync(ALL, own, j);
                if (r < 0) continue;
                if (lane < 3) {
                    discount += t * (lane == 0 ? of1 : lane == 1 ? of2 : of3);
                    if (c > 0 && lane == min(c, 3) - 1) discount -= o;
                } else if (lane == 3) {
                    of_piece[r - row_base] += shift;
                }
            }
            if ((some + 32 - first) % PIECE != 0 && some + 32 < last) continue;
            by_discount += discount, discount = 0.0;
            __syncwarp();
            for (int i = lane; i < BUCKETS; i += 32) shifts[i] += of_piece[i], of_piece[i] = 0.0;
            __syncwarp();
        }
        if (lane < 3) {
            double d = discounts[3 * f + lane];
            out[(long long)ROWS * P + BUCKETS * P + 3 * f + lane] = by_discount * d * (1.0 - d / max_discount(lane));
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_rows * P; i += blockDim.x) out[(long long)row_base * P + i] = sums[i];
    if (f < P)
        for (int i = threadIdx.x; i < BUCKETS; i += blockDim.x) out[(long long)ROWS * P + f * BUCKETS + i] = shifts[i];
}

// Every parameter takes its step, and what follows from it is worked out again.
extern "C" __global__ void adam_step(
    double* values, const double* start, double hold, const double* halves, int n, double* means, double* squares,
    double fast, double slow, double* lifted_by, double* discounts)
{
    int size = (ROWS + BUCKETS + 3) * P, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    double gradient = (halves[i] + halves[size + i]) / n + hold * (values[i] - start[i]);
    double mean = 0.9 * means[i] + 0.1 * gradient, square = 0.99 * squares[i] + 0.01 * (gradient * gradient);
    double value = values[i] - fast * mean / (sqrt(slow * square) + 1e-8);
    values[i] = value;
    means[i] = mean;
    squares[i] = square;
    int shift = i - ROWS * P, odds = shift - BUCKETS * P;
    if (odds >= 0)
        discounts[odds] = max_discount(odds % 3) / (1.0 + exp(-value));
    else if (shift >= 0)
        lifted_by[shift] = exp(value);
}
