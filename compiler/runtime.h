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

/* Of the brief kernel that this thread is in; else without room. */
extern THREAD_LOCAL struct arena gapgram_arena __attribute__((visibility("hidden")));

/* Give up a reference to the memory of an array that a kernel returned. */
void gapgram_release(void *head);

/* Whether this machine runs code for x86-64-v3, or v4; elsewhere only 3 is asked, and yes. */
int gapgram_can_run(int level);

#endif
