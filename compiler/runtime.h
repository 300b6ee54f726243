/* What `module.c` and kernels need of `runtime.c`. */

#ifndef GAPGRAM_RUNTIME_H
#define GAPGRAM_RUNTIME_H

#ifdef _MSC_VER
#define THREAD_LOCAL __declspec(thread)
#else
#define THREAD_LOCAL _Thread_local
#endif

/* Memory that a brief kernel may use, all of it gone when it returns. */
struct arena {
    char *begin, *next, *end;
};

/* Use this memory from now on; returns what was used before, which is to be given to `gapgram_leave`. */
struct arena gapgram_enter(struct arena inner);
void gapgram_leave(struct arena outer);

/* Give up a reference to the memory of an array that a kernel returned. */
void gapgram_release(void *head);

#endif
