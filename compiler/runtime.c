/* What kernels call: memory, and a few functions that Numba has in a library of its own.

   Memory that arrays share begins with a head of six words, see `struct head`. A kernel and what it calls run in one
   thread: references are counted without atomic instructions (compiler/memory.py).

   A brief kernel takes memory from an arena on the stack of its caller while there is room, one piece after the other,
   and gives none back: the arena goes when the kernel returns. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "runtime.h"
#ifdef __x86_64__
#include <cpuid.h>
#endif

#ifdef _WIN32
#include <windows.h>
#endif

struct head {
    int64_t refcount;
    int64_t apart;               /* whether the data lie elsewhere, as those of lists do, which grow */
    void (*destructor)(void *);  /* called with the data before they go, or null */
    _Alignas(8) void *data;
    _Alignas(8) int64_t bytes;
    int64_t unused;
};

enum { ALIGN = 16, LINE = 64 }; /* bytes: of what malloc gives; of a line of the cache */

THREAD_LOCAL struct arena gapgram_arena;

static void *take(int64_t bytes) {
    int64_t rounded = (bytes + ALIGN - 1) & -(int64_t)ALIGN;
    if (rounded > gapgram_arena.end - gapgram_arena.next)
        return malloc(bytes);
    void *memory = gapgram_arena.next;
    gapgram_arena.next += rounded;
    return memory;
}

static void give_back(void *memory) {
    if ((char *)memory < gapgram_arena.begin || (char *)memory >= gapgram_arena.end)
        free(memory);
}

/* Data begin with a line of the cache, so that no number lies in two. */
void *NRT_MemInfo_alloc_aligned(int64_t bytes, uint32_t align) {
    struct head *head = take(bytes + sizeof *head + LINE - ALIGN);
    if (head) {
        uintptr_t data = ((uintptr_t)(head + 1) + LINE - 1) & -(uintptr_t)LINE;
        *head = (struct head){1, 0, 0, (void *)data, bytes, 0};
    }
    return head;
}

void *NRT_MemInfo_alloc(int64_t bytes) {
    return NRT_MemInfo_alloc_aligned(bytes, ALIGN);
}

void *NRT_MemInfo_new_varsize_dtor(int64_t bytes, void (*destructor)(void *)) {
    struct head *head = take(sizeof *head);
    void *data = head ? malloc(bytes) : 0;
    if (!data) {
        if (head)
            give_back(head);
        return 0;
    }
    *head = (struct head){1, 1, destructor, data, bytes, 0};
    return head;
}

void *NRT_MemInfo_varsize_realloc(struct head *head, int64_t bytes) {
    void *data = realloc(head->data, bytes);
    if (data) {
        head->data = data;
        head->bytes = bytes;
    }
    return data;
}

void NRT_MemInfo_call_dtor(struct head *head) {
    if (head->apart) {
        if (head->destructor)
            head->destructor(head->data);
        free(head->data);
    }
    give_back(head);
}

void *NRT_Allocate(int64_t bytes) {
    return take(bytes);
}

void NRT_Free(void *memory) {
    give_back(memory);
}

void gapgram_release(void *head) {
    if (--((struct head *)head)->refcount == 0)
        NRT_MemInfo_call_dtor(head);
}

double numba_frexp(double x, int *exponent) {
    return frexp(x, exponent);
}

/* The strides of an array without gaps in its new shape; it never fails. */
int numba_attempt_nocopy_reshape(
    int64_t nd, const int64_t *dims, const int64_t *strides, int64_t new_nd, const int64_t *new_dims,
    int64_t *new_strides, int64_t item_bytes, int is_f_order) {
    int64_t stride = item_bytes;
    for (int64_t axis = new_nd - 1; axis >= 0; axis--) {
        new_strides[axis] = stride;
        stride *= new_dims[axis];
    }
    return 1;
}

#ifdef _WIN32
/* Kernels are translated for all systems alike, and call it by this name. */
int sched_yield(void) {
    return !SwitchToThread();
}
#endif

/* Of a thread that looks again and again whether others are ready: let the processor's other half work. */
void gapgram_rest(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Whether this machine runs code for x86-64-v3, or v4: the processor has the instructions, and the system keeps the
   registers. No linker's library is asked, since only some have one. */
int gapgram_can_run(int level) {
#ifdef __x86_64__
    enum { OSXSAVE = 1 << 27, OF_LEAF_1 = 1 << 12 | 1 << 22 | 1 << 29 | OSXSAVE }; /* FMA, MOVBE, F16C */
    enum { OF_LEAF_7 = 1 << 3 | 1 << 5 | 1 << 8, LZCNT = 1 << 5 };                 /* BMI1, AVX2, BMI2 */
    const unsigned newer = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;   /* AVX512 F, DQ, CD, BW, VL */
    unsigned a, b, c, d, kept;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & OF_LEAF_1) != OF_LEAF_1)
        return 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & LZCNT) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if (level == 3)
        return (kept & 0x06) == 0x06 && (b & OF_LEAF_7) == OF_LEAF_7;
    return (kept & 0xe6) == 0xe6 && (b & newer) == newer;
#else
    return level == 3;
#endif
}
