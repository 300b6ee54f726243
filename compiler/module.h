/* The table of kernels that `module.c` reads; `table.c`, which the build makes, has it. */

#ifndef GAPGRAM_MODULE_H
#define GAPGRAM_MODULE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030a0000 /* one library for all Pythons from 3.10 on */
#endif
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 512, MOST_RESULTS = 64, MOST_KERNELS = 512, MOST_CLASSES = 64 };

typedef int32_t code(const int64_t *arguments, int64_t *results);

/* A kernel for arguments of some kinds. Forms of one kernel follow each other; one without a name ends the table. */
struct form {
    const char *name, *text;          /* the kernel; its kinds, to be read by people */
    const char *arguments, *results;  /* the same in letters */
    int is_brief;
    code *first, *second;             /* for any processor, and for a newer one or null */
};

extern const struct form forms[];
extern const char *const class_names[]; /* of named results; ends in null */
extern const char sources[];            /* a digest of what the library was built of */
extern const char kernel_sources[];     /* the same of kernels alone, as Python finds it */
extern const char processor[], second_processor[];

#endif
