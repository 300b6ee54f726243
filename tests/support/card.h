// What a card has and C++ has not, for `card_in_cpp.py`: each thread has a stack of its own, and the next one goes on
// where one waits.
#include <math.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __launch_bounds__(...)
using std::min;

struct Index { unsigned x; };
struct int4 { int x, y, z, w; };
struct int2 { int x, y; };
Index threadIdx, blockIdx, blockDim, gridDim;

// Threads that wait for each other: a warp, or a block. Those that are done are not waited for.
struct Barrier {
    unsigned left, arrived = 0, turn = 0;
    void let_go() {
        if (arrived >= left) arrived = 0, turn++;
    }
};

struct Thread {
    ucontext_t context;
    std::vector<char> stack;
    unsigned block, number;
    bool is_done = false;
    Barrier* waits_at = nullptr;
    unsigned turn = 0;  // of that, when it came
    double handed = 0.0;  // to the other threads of its warp
};

struct Card {
    std::vector<Thread> threads;
    std::vector<Barrier> blocks, warps;
    std::vector<std::vector<double>> memory;  // shared by each block
    ucontext_t back;
    unsigned now = 0;

    Thread& self() { return threads[now]; }
    Thread& lane(unsigned i) { return threads[now / 32 * 32 + i]; }
    Barrier& block() { return blocks[now / blockDim.x]; }
    Barrier& warp() { return warps[now / 32]; }
    void* shared() { return memory[now / blockDim.x].data(); }
    void give_way() { swapcontext(&self().context, &back); }
    void wait(Barrier& barrier) {
        self().waits_at = &barrier, self().turn = barrier.turn;
        barrier.arrived++;
        barrier.let_go();
        give_way();
        self().waits_at = nullptr;
    }
    bool can_run() { return !self().is_done && !(self().waits_at && self().waits_at->turn == self().turn); }
    void finish() {
        self().is_done = true;
        for (Barrier* barrier : {&block(), &warp()}) {
            barrier->left--;
            if (barrier->arrived) barrier->let_go();
        }
        give_way();
    }
} card;

inline void __syncthreads() { card.wait(card.block()); }
inline void __syncwarp() { card.wait(card.warp()); }
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
inline int __ffs(unsigned x) { return __builtin_ffs(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
template <class T> T atomicAdd(T* at, T n) { T old = *at; *at = old + n; return old; }

#define PLAYED unsigned blocks, unsigned threads, unsigned bytes, void** arguments
#define PLAYED_ARGUMENTS blocks, threads, bytes, arguments

void** played_arguments;

template <class... A, size_t... I> void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(A*)arguments[I]...);
}

// Run blocks first … last-1 of a launch, a piece of each thread after the other.
template <class... A> void play_blocks(void (*kernel)(A...), unsigned first, unsigned last, unsigned bytes, void** arguments) {
    unsigned n = (last - first) * blockDim.x, left = n;
    card.threads = std::vector<Thread>(n);
    card.memory.assign(last - first, std::vector<double>(bytes / 8 + 1));
    card.blocks.assign(last - first, Barrier{blockDim.x});
    card.warps.assign(n / 32, Barrier{32});
    static void (*run)(void);
    static void (*of_run)(A...);
    of_run = kernel;
    played_arguments = arguments;
    run = [] {
        call(of_run, played_arguments, std::index_sequence_for<A...>());
        card.finish();
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
    while (left)
        for (card.now = 0; card.now < n; card.now++) {
            if (!card.can_run()) continue;
            threadIdx.x = card.self().number, blockIdx.x = card.self().block;
            swapcontext(&card.back, &card.self().context);
            left -= card.self().is_done;
        }
}

template <class... A>
void play(void (*kernel)(A...), unsigned blocks, unsigned threads, unsigned bytes, void** arguments) {
    gridDim.x = blocks, blockDim.x = threads;
    for (unsigned block = 0; block < blocks; block++) play_blocks(kernel, block, block + 1, bytes, arguments);
}
