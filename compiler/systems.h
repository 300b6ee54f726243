/* What Python's and NumPy's headers say of the system on which they lie, said anew for the one that a library is for,
   macOS or Windows. It is read before them. */

#ifndef GAPGRAM_SYSTEMS_H
#define GAPGRAM_SYSTEMS_H

#ifdef _WIN32
#define Py_PYCONFIG_H /* this stands in the place of pyconfig.h */
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define Py_ENABLE_SHARED /* what Python has is imported from a DLL */
#define HAVE_DECLSPEC_DLL
#define HAVE_PY_SSIZE_T
#define STDC_HEADERS 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define ALIGNOF_MAX_ALIGN_T 16

#include <stdint.h>
typedef int64_t Py_ssize_t;
#define PY_SSIZE_T_MAX INT64_MAX

#endif

#include <numpy/numpyconfig.h>
#undef NPY_HAVE_ENDIAN_H
#ifdef _WIN32
#undef NPY_SIZEOF_LONG
#undef NPY_SIZEOF_LONGDOUBLE
#undef NPY_SIZEOF_COMPLEX_LONGDOUBLE
#undef NPY_SIZEOF_WCHAR_T
#undef NPY_SIZEOF_OFF_T
#define NPY_SIZEOF_LONG 4
#define NPY_SIZEOF_LONGDOUBLE 8
#define NPY_SIZEOF_COMPLEX_LONGDOUBLE 16
#define NPY_SIZEOF_WCHAR_T 2
#define NPY_SIZEOF_OFF_T 4
#endif

#endif
