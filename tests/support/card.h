// What a card has and C++ has not, for `card_in_cpp.py`: each thread has a stack of its own, and the next one goes on
// where one waits.
#include <math.h>
#include <ucontext.h>

#include <algorithm>
#include <utility>
#include <vector>

#define __global__
#define __device__
using std::min;

struct Index { unsigned x; };
struct int4 { int x, y, z, w; };
struct float4 { float x, y, z, w; };
Index threadIdx, blockIdx, blockDim, gridDim;

struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    unsigned block, number, at_block = 0, at_warp = 0;  // how often it has waited for its block, and for its warp
    bool is_done = false;
    double handed = 0.0;  // to the other threads of its warp
};

struct Card {
    std::vector<Thread> threads;
    std::vector<std::vector<double>> memory;  // shared by each block
    ucontext_t back;
    unsigned now = 0, first_block = 0;

    Thread& self() { return threads[now]; }
    void* shared() { return memory[self().block - first_block].data(); }
    void give_way() {
        unsigned me = now;
        swapcontext(&threads[me].context, &back);
    }
    // Wait for the threads of the same block, or of the same warp; those that are done are not waited for.
    void wait(unsigned Thread::*times, unsigned of_how_many) {
        unsigned mine = ++(self().*times), first = now - self().number % of_how_many;
        for (bool all = false; !all;) {
            give_way();
            all = true;
            for (unsigned i = first; i < first + of_how_many; i++) all &= threads[i].is_done || threads[i].*times >= mine;
        }
    }
    Thread& lane(unsigned i) { return threads[now - self().number % 32 + i]; }
} card;

inline void __syncthreads() { card.wait(&Thread::at_block, blockDim.x); }
inline void __syncwarp() { card.wait(&Thread::at_warp, 32); }
inline void __threadfence() {}
inline void __nanosleep(unsigned) { card.give_way(); }
template <class T> T __shfl_sync(unsigned, T value, int from) {
    card.self().handed = value;
    __syncwarp();
    T given = (T)card.lane(from & 31).handed;
    __syncwarp();
    return given;
}
template <class T> T __shfl_xor_sync(unsigned all, T value, int bits) {
    return __shfl_sync(all, value, (threadIdx.x % 32) ^ bits);
}
inline unsigned __ballot_sync(unsigned, bool value) {
    card.self().handed = value;
    __syncwarp();
    unsigned votes = 0;
    for (int i = 0; i < 32; i++) votes |= (unsigned)(card.lane(i).handed != 0.0) << i;
    __syncwarp();
    return votes;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline float __log2f(float x) { return log2f(x); }
template <class T> T atomicAdd(T* at, T n) { T old = *at; *at = old + n; return old; }

#define PLAYED unsigned blocks, unsigned threads, unsigned bytes, int together, void** arguments
#define PLAYED_ARGUMENTS blocks, threads, bytes, together, arguments

void (*played_kernel)(void**);
void** played_arguments;

template <class... A, size_t... I> void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(A*)arguments[I]...);
}

// Run blocks first … last-1 of a launch, a piece of each thread after the other.
template <class... A> void play_blocks(void (*kernel)(A...), unsigned first, unsigned last, unsigned bytes, void** arguments) {
    unsigned n = (last - first) * blockDim.x, left = n;
    card.threads = std::vector<Thread>(n);
    card.memory.assign(last - first, std::vector<double>(bytes / 8 + 1));
    card.first_block = first;
    static void (*run)(void);
    static void (*of_run)(A...);
    of_run = kernel;
    played_arguments = arguments;
    run = [] {
        call(of_run, played_arguments, std::index_sequence_for<A...>());
        card.self().is_done = true;
        card.give_way();
    };
    for (unsigned i = 0; i < n; i++) {
        Thread& thread = card.threads[i];
        thread.block = first + i / blockDim.x, thread.number = i % blockDim.x;
        thread.stack.resize(1 << 15);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        makecontext(&thread.context, run, 0);
    }
    while (left) {
        left = 0;
        for (card.now = 0; card.now < n; card.now++) {
            if (card.self().is_done) continue;
            threadIdx.x = card.self().number, blockIdx.x = card.self().block;
            swapcontext(&card.back, &card.self().context);
            left += !card.self().is_done;
        }
    }
}

template <class... A>
void play(void (*kernel)(A...), unsigned blocks, unsigned threads, unsigned bytes, int together, void** arguments) {
    gridDim.x = blocks, blockDim.x = threads;
    if (together) return play_blocks(kernel, 0, blocks, bytes, arguments);
    for (unsigned block = 0; block < blocks; block++) play_blocks(kernel, block, block + 1, bytes, arguments);
}
