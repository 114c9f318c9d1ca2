/* Calls machine code from Python: an extension module of the stable ABI.

   `bind(name, otherwise)` gives a function. A call of it writes its arguments to a block of 64-bit words (an array as its
   address and its shape), chooses the entry by the types of the arrays, and runs it without the GIL. An array must be aligned,
   contiguous in C order, in the machine's byte order, and of a type and number of dimensions that some entry has; else
   `otherwise(*arguments)` is called. */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "table.h"

enum { WORDS = 96, ARRAYS = 40, NUMBERS = 40, KEY = 160 };

typedef struct {
    PyObject *otherwise;
    int first, count;
} Bound;

typedef struct {
    int64_t words[WORDS];
    Py_buffer views[ARRAYS];
    PyObject *numbers[NUMBERS];
    int places[NUMBERS];
    char key[KEY];
    int used, arrays, scalars, length;
} Call;

static PyTypeObject *array_type; /* numpy.ndarray */
static int level = -1;           /* column of the table */

static int64_t letter_of(const Py_buffer *view) {
    const char *format = view->format == NULL ? "B" : view->format;
    if (format[0] == '\0' || format[1] != '\0') return 0; /* a record, or another byte order */
    switch (format[0]) {
    case 'd': return view->itemsize == 8 ? 'd' : 0;
    case 'f': return view->itemsize == 4 ? 'f' : 0;
    case 'i': case 'l': case 'q': return view->itemsize == 8 ? 'q' : view->itemsize == 4 ? 'i' : 0;
    case 'I': case 'L': case 'Q': return view->itemsize == 8 ? 'Q' : view->itemsize == 4 ? 'I' : 0;
    case 'B': return 'B';
    default: return 0;
    }
}

/* 1: done; 0: no entry can take this argument. */
static int write_argument(Call *call, PyObject *argument) {
    if (call->used + 5 > WORDS || call->length + 4 > KEY) return 0;
    if (PyObject_TypeCheck(argument, array_type)) {
        Py_buffer *view = &call->views[call->arrays];
        int64_t letter;
        int axis;
        if (call->arrays == ARRAYS) return 0;
        if (PyObject_GetBuffer(argument, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
            PyErr_Clear();
            return 0;
        }
        call->arrays++;
        letter = letter_of(view);
        if (letter == 0 || view->ndim < 1 || view->ndim > 3) return 0;
        if (view->len > 0 && (uintptr_t)view->buf % (size_t)view->itemsize) return 0; /* an empty array may begin anywhere */
        call->key[call->length++] = (char)letter;
        call->key[call->length++] = (char)('0' + view->ndim);
        call->words[call->used++] = (int64_t)(intptr_t)view->buf;
        for (axis = 0; axis < view->ndim; axis++) call->words[call->used++] = view->shape[axis];
        return 1;
    }
    if (PyTuple_Check(argument)) {
        Py_ssize_t part, size = PyTuple_Size(argument);
        call->key[call->length++] = '(';
        for (part = 0; part < size; part++)
            if (!write_argument(call, PyTuple_GetItem(argument, part))) return 0;
        if (call->length + 2 > KEY) return 0;
        call->key[call->length++] = ')';
        return 1;
    }
    if (call->scalars == NUMBERS) return 0;
    call->numbers[call->scalars] = argument;
    call->places[call->scalars++] = call->used++;
    call->key[call->length++] = 's';
    return 1;
}

static int write_numbers(Call *call, const char *letters) {
    int number;
    for (number = 0; number < call->scalars; number++) {
        int64_t *word = &call->words[call->places[number]];
        PyObject *value = call->numbers[number];
        if (letters[number] == 'd') {
            double converted = PyFloat_AsDouble(value);
            if (converted == -1.0 && PyErr_Occurred()) return 0;
            memcpy(word, &converted, sizeof converted);
        } else if (letters[number] == '?') {
            int truth = PyObject_IsTrue(value);
            if (truth < 0) return 0;
            *word = truth;
        } else {
            *word = PyLong_AsLongLong(value);
            if (*word == -1 && PyErr_Occurred()) return 0;
        }
    }
    return 1;
}

static PyObject *result_at(const int64_t *word, char letter) {
    double number;
    if (letter == '?') return PyBool_FromLong(*word != 0);
    if (letter == 'q') return PyLong_FromLongLong(*word);
    memcpy(&number, word, sizeof number);
    return PyFloat_FromDouble(number);
}

static PyObject *results(const int64_t *words, const char *letters) {
    Py_ssize_t number, size = (Py_ssize_t)strlen(letters);
    PyObject *made;
    if (size == 0) Py_RETURN_NONE;
    if (size == 1) return result_at(words, letters[0]);
    made = PyTuple_New(size);
    for (number = 0; made != NULL && number < size; number++) {
        PyObject *one = result_at(words + number, letters[number]);
        if (one == NULL || PyTuple_SetItem(made, number, one) < 0) Py_CLEAR(made);
    }
    return made;
}

static PyObject *fall_back(PyObject *otherwise, PyObject *const *arguments, Py_ssize_t count) {
    PyObject *given = PyTuple_New(count), *made;
    Py_ssize_t number;
    if (given == NULL) return NULL;
    for (number = 0; number < count; number++) {
        Py_INCREF(arguments[number]);
        PyTuple_SetItem(given, number, arguments[number]);
    }
    made = PyObject_Call(otherwise, given, NULL);
    Py_DECREF(given);
    return made;
}

static PyObject *run(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    Bound *bound = PyCapsule_GetPointer(self, NULL);
    Call call;
    PyObject *made = NULL;
    Py_ssize_t number;
    int variant, understood = 1;
    if (bound == NULL) return NULL;
    call.used = call.arrays = call.scalars = call.length = 0;
    for (number = 0; understood && number < count; number++) understood = write_argument(&call, arguments[number]);
    call.key[call.length] = '\0';
    for (variant = 0; understood && variant < bound->count; variant++)
        if (strcmp(call.key, TABLE[bound->first + variant].key) == 0) break;
    if (!understood || variant == bound->count) {
        made = fall_back(bound->otherwise, arguments, count);
    } else if (write_numbers(&call, TABLE[bound->first + variant].numbers)) {
        const Variant *chosen = &TABLE[bound->first + variant];
        void *unused = NULL, *raised = NULL;
        int32_t status;
        PyThreadState *thread = PyEval_SaveThread();
        status = chosen->entries[level](&unused, &raised, call.words);
        PyEval_RestoreThread(thread);
        made = status == 0 ? results(call.words, chosen->results) : PyErr_NoMemory();
    }
    while (call.arrays > 0) PyBuffer_Release(&call.views[--call.arrays]);
    return made;
}

static PyMethodDef run_method = {"compiled", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "A compiled function."};

static void forget(PyObject *capsule) {
    Bound *bound = PyCapsule_GetPointer(capsule, NULL);
    Py_XDECREF(bound->otherwise);
    PyMem_Free(bound);
}

static PyObject *bind(PyObject *module, PyObject *arguments) {
    const char *name;
    PyObject *otherwise, *capsule, *function;
    Bound *bound;
    int row, first = -1, count = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &otherwise)) return NULL;
    for (row = 0; row < ROWS; row++)
        if (strcmp(TABLE[row].name, name) == 0) {
            if (first < 0) first = row;
            count++;
        }
    if (first < 0) Py_RETURN_NONE;
    bound = PyMem_Malloc(sizeof *bound);
    if (bound == NULL) return PyErr_NoMemory();
    Py_INCREF(otherwise);
    bound->otherwise = otherwise;
    bound->first = first;
    bound->count = count;
    capsule = PyCapsule_New(bound, NULL, forget);
    if (capsule == NULL) {
        Py_DECREF(otherwise);
        PyMem_Free(bound);
        return NULL;
    }
    function = PyCFunction_NewEx(&run_method, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}

static PyObject *step(PyObject *module, PyObject *arguments) {
    const char *name;
    int row;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s", &name)) return NULL;
    for (row = 0; row < STEP_ROWS; row++)
        if (strcmp(STEPS[row].name, name) == 0)
            return Py_BuildValue("(Ns)", PyLong_FromVoidPtr((void *)(uintptr_t)STEPS[row].entries[level]), STEPS[row].source);
    Py_RETURN_NONE;
}

static PyObject *signatures(PyObject *module, PyObject *unused) {
    PyObject *made = PyList_New(0);
    int row;
    (void)module;
    (void)unused;
    for (row = 0; made != NULL && row < ROWS; row++) {
        PyObject *pair = Py_BuildValue("(ss)", TABLE[row].name, TABLE[row].key);
        if (pair == NULL || PyList_Append(made, pair) < 0) Py_CLEAR(made);
        Py_XDECREF(pair);
    }
    return made;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, "The function of a name, or None."},
    {"step", step, METH_VARARGS, "The address of a step function and the hash of its source, or None."},
    {"signatures", signatures, METH_NOARGS, "Name and types of every entry."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods, NULL, NULL, NULL, NULL};

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
static int has_level(const char *name) {
    unsigned a, b, c, d, low, high, extended;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if ((c & 0x00982201u) != 0x00982201u) return 0; /* SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT */
    if (strcmp(name, "x86-64-v2") == 0) return 1;
    if ((c & 0x38401000u) != 0x38401000u) return 0; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6u) != 6u) return 0; /* the system keeps the AVX registers */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & 0x128u) != 0x128u) return 0; /* BMI1, AVX2, BMI2 */
    return __get_cpuid(0x80000001u, &a, &b, &extended, &d) && (extended & 0x20u); /* LZCNT */
}
#else
static int has_level(const char *name) {
    (void)name;
    return 1;
}
#endif

PyMODINIT_FUNC PyInit__native(void) {
    const char *asked = getenv("ROSENBLATT_CPU_LEVEL");
    PyObject *numpy, *module, *type;
    char levels[256] = ""; /* that this processor runs */
    int column, best = -1;
    level = -1;
    for (column = 0; column < LEVEL_COUNT; column++) { /* from the lowest to the highest */
        if (!has_level(LEVELS[column])) continue;
        best = column;
        if (asked != NULL && strcmp(asked, LEVELS[column]) == 0) level = column;
        if (levels[0] != '\0') strncat(levels, " ", sizeof levels - strlen(levels) - 1);
        strncat(levels, LEVELS[column], sizeof levels - strlen(levels) - 1);
    }
    if (level < 0) level = best; /* native.py compares it with what was asked for, and checks that there is one */
    numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) return NULL;
    type = PyObject_GetAttrString(numpy, "ndarray");
    Py_DECREF(numpy);
    if (type == NULL) return NULL;
    array_type = (PyTypeObject *)type;
    module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddStringConstant(module, "level", level < 0 ? "" : LEVELS[level]) < 0 ||
        PyModule_AddStringConstant(module, "levels", levels) < 0 || PyModule_AddStringConstant(module, "sources", SOURCES) < 0 ||
        PyModule_AddStringConstant(module, "made_by", MADE_BY) < 0)
        Py_CLEAR(module);
    return module;
}
