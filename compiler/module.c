/* The extension module `gapgram._kernels`: Python's objects to the words that kernels take, and back.

   `table.c`, made by the build, lists the kernels. Each has one or more forms, for arguments of some kinds, which are
   told in letters:

       b i u f n      True or False, a whole number, one of NumPy's uint64, a float, None
       y s            bytes; bytes, or a string, which gets a newline
       A dtype n      an array without gaps of n dimensions; dtype: a letter, in the order of `dtypes`
       G dtype n      the same, with gaps or without
       ( … )          a tuple

   How the words lie is said in `compiler/kinds.py`, the letters of results in `compiler/entries.py`. */

#include "module.h"
#include "runtime.h"

#define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

enum { LONGEST_LINE = 1 << 14, ARENA_BYTES = 1 << 17 }; /* of a string that is copied, and of an arena, on the stack */

static const int dtypes[] = {
    NPY_BOOL, NPY_INT8, NPY_UINT8, NPY_INT16, NPY_UINT16, NPY_INT32, NPY_UINT32, NPY_INT64, NPY_UINT64,
    NPY_FLOAT32, NPY_FLOAT64,
};
static char letter_of[NPY_NTYPES_LEGACY]; /* of a number of NumPy's for a type the letter, or 0 */
static int has_second_processor;          /* whether the code for a newer processor can run here */
static PyObject *kind_error, *classes[MOST_CLASSES];

/* Each `take_…` writes the words of an object of the kind that `kind` points to and moves `words` on; returns where the
   next kind begins, or null where the object is of another kind. */
static const char *take_other(const char *kind, PyObject *thing, int64_t **words);

static const char *take_array(const char *kind, PyObject *thing, int64_t **words) {
    PyArrayObject *array = (PyArrayObject *)thing;
    if (!PyArray_Check(thing))
        return 0;
    int n = kind[2] - '0', type = PyArray_TYPE(array), gaps = kind[0] == 'G';
    if (PyArray_NDIM(array) != n || type < 0 || type >= NPY_NTYPES_LEGACY || letter_of[type] != kind[1] ||
        !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array) || !(gaps || PyArray_IS_C_CONTIGUOUS(array)))
        return 0;
    *(*words)++ = (int64_t)(intptr_t)PyArray_DATA(array);
    for (int i = 0; i < n; i++)
        *(*words)++ = PyArray_DIM(array, i);
    for (int i = 0; gaps && i < n; i++)
        *(*words)++ = PyArray_STRIDE(array, i);
    return kind + 3;
}

static const char *take_tuple(const char *kind, PyObject *thing, int64_t **words) {
    int64_t size = PyTuple_Check(thing) ? PyTuple_Size(thing) : -1, i = 0;
    for (kind++; kind && *kind != ')'; i++)
        kind = i < size ? take_other(kind, PyTuple_GetItem(thing, i), words) : 0;
    return kind && i == size ? kind + 1 : 0;
}

/* Bytes as they lie. */
static inline const char *take_bytes(const char *kind, PyObject *thing, int64_t **words) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(thing, &data, &size) < 0)
        return 0;
    *(*words)++ = (int64_t)(intptr_t)data;
    *(*words)++ = size;
    return kind + 1;
}

/* A copy of a string with a newline; not of a string that has one, or of a long one. line: room for it, or null. */
static const char *take_line(const char *kind, PyObject *thing, int64_t **words, char *line) {
    Py_ssize_t size;
    const char *text = line ? PyUnicode_AsUTF8AndSize(thing, &size) : 0;
    if (!text || size >= LONGEST_LINE || memchr(text, '\n', size))
        return 0;
    memcpy(line, text, size);
    line[size] = '\n';
    *(*words)++ = (int64_t)(intptr_t)line;
    *(*words)++ = size + 1;
    return kind + 1;
}

/* What decoders and loops over lines give again and again. */
static inline const char *take(const char *kind, PyObject *thing, int64_t **words, char *line) {
    if (*kind == 'i' && PyLong_CheckExact(thing)) {
        int64_t number = *(*words)++ = PyLong_AsLongLong(thing);
        return number != -1 || !PyErr_Occurred() ? kind + 1 : 0;
    }
    if (*kind == 'y' || (*kind == 's' && PyBytes_Check(thing)))
        return take_bytes(kind, thing, words);
    if (*kind == 's')
        return PyUnicode_Check(thing) ? take_line(kind, thing, words, line) : 0;
    return take_other(kind, thing, words);
}

static const char *take_other(const char *kind, PyObject *thing, int64_t **words) {
    double number;
    switch (*kind) {
    case 'A':
    case 'G':
        return take_array(kind, thing, words);
    case '(':
        return take_tuple(kind, thing, words);
    case 'i':
        *(*words)++ = PyArray_IsScalar(thing, UInt64) ? -1 : PyLong_AsLongLong(thing);
        return PyArray_IsScalar(thing, UInt64) || PyErr_Occurred() ? 0 : kind + 1;
    case 'u':
        thing = PyArray_IsScalar(thing, UInt64) ? PyNumber_Index(thing) : 0;
        *(*words)++ = thing ? (int64_t)PyLong_AsUnsignedLongLong(thing) : 0;
        Py_XDECREF(thing);
        return thing ? kind + 1 : 0;
    case 'f':
        number = PyFloat_AsDouble(thing);
        memcpy((*words)++, &number, sizeof number);
        return number == -1.0 && PyErr_Occurred() ? 0 : kind + 1;
    case 'b':
        *(*words)++ = thing == Py_True;
        return thing == Py_True || thing == Py_False ? kind + 1 : 0;
    case 'y':
    case 's':
        return take_bytes(kind, thing, words);
    default:
        *(*words)++ = 0;
        return thing == Py_None ? kind + 1 : 0;
    }
}

/* The words of several objects; returns where the kinds of others begin, or null. */
static inline const char *take_all(const char *kind, PyObject *const *things, int64_t n, int64_t **words, char *line) {
    for (int64_t i = 0; kind && i < n; i++)
        kind = *kind ? take(kind, things[i], words, line) : 0;
    return kind;
}

static void release(PyObject *capsule) {
    gapgram_release(PyCapsule_GetPointer(capsule, 0));
}

/* An array that keeps the memory a kernel took for it; one in memory of somebody else, such as an argument's, is copied. */
static PyObject *give_array(const char *kind, const int64_t *words) {
    npy_intp shape[8];
    int n = kind[2] - '0';
    for (int i = 0; i < n; i++)
        shape[i] = words[2 + i];
    void *head = (void *)(intptr_t)words[0], *data = (void *)(intptr_t)words[1];
    PyObject *array = PyArray_SimpleNewFromData(n, shape, dtypes[kind[1] - 'a'], data);
    if (array && head) {
        PyObject *keeper = PyCapsule_New(head, 0, release);
        if (!keeper || PyArray_SetBaseObject((PyArrayObject *)array, keeper) < 0)
            Py_CLEAR(array);
    } else if (array) {
        PyObject *copy = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
        Py_DECREF(array);
        array = copy;
    } else if (head) {
        gapgram_release(head);
    }
    return array;
}

/* The class of results of a number; the table has it as "module:name". */
static PyObject *named_class(int i) {
    if (!classes[i]) {
        const char *colon = strchr(class_names[i], ':');
        PyObject *of = PyUnicode_FromStringAndSize(class_names[i], colon - class_names[i]);
        PyObject *module = of ? PyImport_Import(of) : 0;
        classes[i] = module ? PyObject_GetAttrString(module, colon + 1) : 0;
        Py_XDECREF(of);
        Py_XDECREF(module);
    }
    return classes[i];
}

static PyObject *give(const char **letters, const int64_t **words);

/* A tuple, with names or without. */
static PyObject *give_tuple(const char **letters, const int64_t **words, int is_named) {
    const char *kind = *letters;
    const int64_t *word = *words;
    double number;
    PyObject *class = is_named ? named_class(*kind++ - '0') : 0;
    int n = *kind++ - '0';
    PyObject *tuple = is_named && !class ? 0 : PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *field;
        switch (*kind) {
        case 'i':
            field = PyLong_FromLongLong(*word++);
            kind++;
            break;
        case 'f':
            memcpy(&number, word++, sizeof number);
            field = PyFloat_FromDouble(number);
            kind++;
            break;
        case 'Y':
            field = PyBytes_FromStringAndSize((const char *)(intptr_t)word[1], word[2]);
            word += 3;
            kind++;
            break;
        default:
            field = give(&kind, &word);
        }
        if (!field || PyTuple_SetItem(tuple, i, field) < 0)
            Py_CLEAR(tuple);
    }
    *letters = kind;
    *words = word;
    if (!tuple || !class)
        return tuple;
    PyObject *named = PyObject_CallObject(class, tuple);
    Py_DECREF(tuple);
    return named;
}

/* The object of a result; moves the letters and the words on. */
static PyObject *give(const char **letters, const int64_t **words) {
    const char *kind = (*letters)++;
    const int64_t *word = (*words)++;
    double number;
    switch (*kind) {
    case 'i':
        return PyLong_FromLongLong(*word);
    case 'u':
        return PyLong_FromUnsignedLongLong((unsigned long long)*word);
    case 'b':
        return PyBool_FromLong((long)*word);
    case 'f':
        memcpy(&number, word, sizeof number);
        return PyFloat_FromDouble(number);
    case 'A':
        *letters += 2;
        *words += 1 + kind[2] - '0';
        return give_array(kind, word);
    case 'n':
        *words = word;
        Py_RETURN_NONE;
    default:
        *words = word;
        return give_tuple(letters, words, *kind == '[');
    }
}

/* Run a form of a kernel. */
static PyObject *run(const struct form *form, const int64_t *words) {
    int64_t results[MOST_RESULTS];
    code *function = has_second_processor && form->second ? form->second : form->first;
    int32_t status;
    if (form->is_brief) { /* other threads of Python wait, and results are made before the arena goes */
        char memory[ARENA_BYTES];
        struct arena outer = gapgram_arena;
        gapgram_arena = (struct arena){memory, memory, memory + ARENA_BYTES};
        status = function(words, results);
        const int64_t *at = results;
        const char *letters = form->results;
        PyObject *given = status ? 0 : give(&letters, &at);
        gapgram_arena = outer;
        if (given || !status)
            return given;
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = function(words, results);
        Py_END_ALLOW_THREADS
        const int64_t *at = results;
        const char *letters = form->results;
        if (!status)
            return give(&letters, &at);
    }
    PyErr_Format(
        PyExc_MemoryError, "%s: the kernel failed: there was not enough memory, or a number was divided by zero", form->name);
    return 0;
}

/* No form takes these arguments: `gapgram.kernels.compiled.explain` says what was found. */
static PyObject *refuse(const struct form *form, PyObject *const *things, int64_t n) {
    PyErr_Clear();
    PyObject *found = PyTuple_New(n), *kinds = PyList_New(0), *message = 0;
    for (int64_t i = 0; found && i < n; i++) {
        Py_INCREF(things[i]);
        PyTuple_SetItem(found, i, things[i]);
    }
    const char *name = form->name;
    for (; kinds && form->name && !strcmp(form->name, name); form++) {
        PyObject *text = PyUnicode_FromString(form->text);
        if (text)
            PyList_Append(kinds, text);
        Py_XDECREF(text);
    }
    PyObject *module = PyImport_ImportModule("gapgram.kernels.compiled");
    PyObject *explain = module && found && kinds ? PyObject_GetAttrString(module, "explain") : 0;
    message = explain ? PyObject_CallFunction(explain, "sOO", name, kinds, found) : 0;
    if (message)
        PyErr_SetObject(kind_error, message);
    Py_XDECREF(message);
    Py_XDECREF(explain);
    Py_XDECREF(module);
    Py_XDECREF(kinds);
    Py_XDECREF(found);
    return 0;
}

/* A kernel called from Python; self: a capsule with its first form. */
static PyObject *call(PyObject *self, PyObject *const *things, Py_ssize_t n) {
    const struct form *first = PyCapsule_GetPointer(self, 0);
    for (const struct form *form = first; form->name && !strcmp(form->name, first->name); form++) {
        int64_t words[MOST_WORDS], *end = words;
        char line[LONGEST_LINE];
        const char *rest = take_all(form->arguments, things, n, &end, line);
        if (rest && !*rest)
            return run(form, words);
        PyErr_Clear();
    }
    return refuse(first, things, n);
}

/* A kernel whose first arguments were given before: their words, and what keeps them alive. */
struct bound {
    const struct form *form;
    const char *kinds; /* of the other arguments */
    PyObject *constants;
    int64_t n;
    int64_t words[];
};

static PyObject *call_bound(PyObject *self, PyObject *const *things, Py_ssize_t n) {
    const struct bound *bound = PyCapsule_GetPointer(self, 0);
    int64_t words[MOST_WORDS], *end = words + bound->n;
    char line[LONGEST_LINE];
    memcpy(words, bound->words, bound->n * sizeof *words);
    const char *rest = take_all(bound->kinds, things, n, &end, line);
    if (rest && !*rest)
        return run(bound->form, words);
    PyErr_Clear();
    PyErr_Format(kind_error, "kernel %s: its last arguments are not of the kinds (%s)", bound->form->name, bound->form->text);
    return 0;
}

static void forget(PyObject *capsule) {
    struct bound *bound = PyCapsule_GetPointer(capsule, 0);
    Py_DECREF(bound->constants);
    PyMem_Free(bound);
}

static PyMethodDef bound_method = {"bound", (PyCFunction)(void (*)(void))call_bound, METH_FASTCALL, 0};

/* bind(kernel, constants): the kernel that takes the arguments after these. */
static PyObject *bind(PyObject *module, PyObject *arguments) {
    PyObject *kernel, *constants;
    if (!PyArg_ParseTuple(arguments, "OO!", &kernel, &PyTuple_Type, &constants))
        return 0;
    PyObject *self = PyObject_GetAttrString(kernel, "__self__");
    const struct form *first = self ? PyCapsule_GetPointer(self, 0) : 0;
    Py_XDECREF(self);
    if (!first)
        return 0;
    int64_t n = PyTuple_Size(constants);
    PyObject *things[32];
    for (int64_t i = 0; i < n && i < 32; i++)
        things[i] = PyTuple_GetItem(constants, i);
    for (const struct form *form = first; form->name && !strcmp(form->name, first->name); form++) {
        int64_t words[MOST_WORDS], *end = words;
        const char *kinds = take_all(form->arguments, things, n, &end, 0);
        int64_t used = end - words;
        PyErr_Clear();
        if (!kinds)
            continue;
        struct bound *bound = PyMem_Malloc(sizeof *bound + used * sizeof *words);
        if (!bound)
            return PyErr_NoMemory();
        *bound = (struct bound){form, kinds, constants, used};
        memcpy(bound->words, words, used * sizeof *words);
        Py_INCREF(constants);
        PyObject *capsule = PyCapsule_New(bound, 0, forget);
        PyObject *made = capsule ? PyCFunction_NewEx(&bound_method, capsule, 0) : 0;
        Py_XDECREF(capsule);
        return made;
    }
    return refuse(first, things, n);
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, "bind(kernel, constants): the kernel that takes the arguments after these."},
    {0},
};

static PyMethodDef kernel_methods[MOST_KERNELS];

/* A dictionary of all kernels by their names. */
static PyObject *make_kernels(void) {
    PyObject *kernels = PyDict_New();
    int i = 0;
    for (const struct form *form = forms; kernels && form->name; form++) {
        if (form > forms && !strcmp(form->name, form[-1].name))
            continue;
        kernel_methods[i] = (PyMethodDef){form->name, (PyCFunction)(void (*)(void))call, METH_FASTCALL, form->text};
        PyObject *self = PyCapsule_New((void *)form, 0, 0);
        PyObject *kernel = self ? PyCFunction_NewEx(&kernel_methods[i++], self, 0) : 0;
        if (!kernel || PyDict_SetItemString(kernels, form->name, kernel) < 0)
            Py_CLEAR(kernels);
        Py_XDECREF(self);
        Py_XDECREF(kernel);
    }
    return kernels;
}

static int fill(PyObject *module) {
    if (!gapgram_can_run(3)) {
        PyErr_SetString(PyExc_ImportError, "the kernels were built for x86-64 processors with AVX2 (since 2013), which this one is not");
        return -1;
    }
    has_second_processor = gapgram_can_run(4) && !getenv("GAPGRAM_BASELINE");
    if (PyArray_ImportNumPyAPI() < 0)
        return -1;
    for (int i = 0; i < (int)(sizeof dtypes / sizeof *dtypes); i++)
        letter_of[dtypes[i]] = 'a' + i;
    /* two types of C may be the same: int64 is long on Linux, long long elsewhere, and both are met */
    letter_of[sizeof(long) == 8 ? NPY_LONGLONG : NPY_LONG] = sizeof(long) == 8 ? letter_of[NPY_INT64] : letter_of[NPY_INT32];
    letter_of[sizeof(long) == 8 ? NPY_ULONGLONG : NPY_ULONG] = sizeof(long) == 8 ? letter_of[NPY_UINT64] : letter_of[NPY_UINT32];
    if (!kind_error) /* the one of an earlier import in this process is kept */
        kind_error = PyErr_NewException("gapgram._kernels.KindError", PyExc_TypeError, 0);
    PyObject *kernels = make_kernels();
    int failed = !kind_error || !kernels || PyModule_AddObjectRef(module, "KindError", kind_error) < 0 ||
                 PyModule_AddObjectRef(module, "kernels", kernels) < 0 ||
                 PyModule_AddStringConstant(module, "SOURCES", sources) < 0 ||
                 PyModule_AddStringConstant(module, "KERNELS", kernel_sources) < 0 ||
                 PyModule_AddStringConstant(module, "PROCESSOR", has_second_processor ? second_processor : processor) < 0;
    Py_XDECREF(kernels);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels", "Kernels, compiled when the package was built.", 0, methods, slots,
};

PyMODINIT_FUNC PyInit__kernels(void) {
    return PyModuleDef_Init(&definition);
}
