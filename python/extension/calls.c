/* Calls of the library without a loader. Each returns JSON as str and takes options as a dict of
 * str to str; the Python code (../outgrow) converts both. */
#include "extension.h"

#include <stdlib.h>
#include <xxhash.h>

/* ---- options ---- */

typedef int set_one(void *fields, const char *name, const char *value, struct og_err *err);

/* Calls `set` for each entry of the dict, in order. */
static bool set_all(const struct module_state *state, PyObject *dict, set_one *set, void *fields)
{
    PyObject *name;
    PyObject *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &name, &value)) {
        struct og_err err = {0};
        const char *n = PyUnicode_AsUTF8AndSize(name, NULL);
        const char *v = n ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
        if (!v)
            return false;
        if (set(fields, n, v, &err) < 0) {
            raise_err(state, &err);
            return false;
        }
    }
    return true;
}

static int set_option(void *opt, const char *name, const char *value, struct og_err *err)
{
    return og_options_set(opt, name, value, err);
}

struct og_options *options_from(const struct module_state *state, PyObject *dict)
{
    struct og_err err = {0};
    struct og_options *opt;
    if (og_options_new(&opt, &err) < 0) {
        raise_err(state, &err);
        return NULL;
    }
    if (set_all(state, dict, set_option, opt))
        return opt;
    og_options_free(opt);
    return NULL;
}

static int set_generate(void *g, const char *name, const char *value, struct og_err *err)
{
    return og_generate_set(g, name, value, err);
}

static int set_import(void *opt, const char *name, const char *value, struct og_err *err)
{
    return og_import_set(opt, name, value, err);
}

/* ---- calls ---- */

static PyObject *call_info(PyObject *module, PyObject *args)
{
    struct og_err err = {0};
    const char *dataset;
    char *text = NULL;
    if (!PyArg_ParseTuple(args, "s", &dataset))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_info(dataset, &text, &err);
    PyEval_RestoreThread(mine);
    return text_or_raise(PyModule_GetState(module), rc, text, &err);
}

static PyObject *call_simulate(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_observer seen;
    struct og_options *opt;
    const char *source;
    const char *policies;
    const char *caches;
    PyObject *options;
    PyObject *watch;
    char *text = NULL;
    if (!PyArg_ParseTuple(args, "sssO!O", &source, &policies, &caches, &PyDict_Type, &options,
                          &watch) ||
        !watch_observer(state, watch, &seen) || !(opt = options_from(state, options)))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_simulate(source, policies, caches, NULL, opt, &seen, &text, &err);
    og_options_free(opt);
    PyEval_RestoreThread(mine);
    return text_or_raise(state, rc, text, &err);
}

static PyObject *call_generate(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_observer seen;
    struct og_generate *g;
    const char *out;
    PyObject *options;
    PyObject *watch;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "sO!O", &out, &PyDict_Type, &options, &watch) ||
        !watch_observer(state, watch, &seen))
        return NULL;
    if (og_generate_new(&g, &err) < 0)
        return raise_err(state, &err);
    if (set_all(state, options, set_generate, g)) {
        PyThreadState *mine = PyEval_SaveThread();
        int rc = og_generate(out, g, &seen, &err);
        PyEval_RestoreThread(mine);
        result = rc < 0 ? raise_err(state, &err) : Py_NewRef(Py_None);
    }
    og_generate_free(g);
    return result;
}

static PyObject *call_import(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_observer seen;
    struct og_import *opt;
    const char *format;
    const char *source;
    const char *out;
    PyObject *options;
    PyObject *watch;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "sssO!O", &format, &source, &out, &PyDict_Type, &options, &watch) ||
        !watch_observer(state, watch, &seen))
        return NULL;
    if (og_import_new(&opt, &err) < 0)
        return raise_err(state, &err);
    if (set_all(state, options, set_import, opt)) {
        PyThreadState *mine = PyEval_SaveThread();
        int rc = og_import(format, source, out, opt, &seen, &err);
        PyEval_RestoreThread(mine);
        result = rc < 0 ? raise_err(state, &err) : Py_NewRef(Py_None);
    }
    og_import_free(opt);
    return result;
}

static PyObject *call_import_memory(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_import *opt;
    const char *text;
    if (!PyArg_ParseTuple(args, "s", &text))
        return NULL;
    if (og_import_new(&opt, &err) < 0)
        return raise_err(state, &err);
    const int rc = og_import_set(opt, "memory", text, &err);
    PyObject *bytes =
        rc < 0 ? raise_err(state, &err) : PyLong_FromUnsignedLongLong(og_import_memory(opt));
    og_import_free(opt);
    return bytes;
}

static PyObject *words_of(const struct og_option *option)
{
    if (option->type == OG_OPTION_FLAG)
        return Py_NewRef(Py_None);
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && option->choices && option->choices[i]; i++) {
        PyObject *word = PyUnicode_FromString(option->choices[i]);
        if (!word || PyList_Append(out, word) < 0)
            Py_CLEAR(out);
        Py_XDECREF(word);
    }
    return out;
}

static PyObject *choices_of(const struct og_option *(*row)(size_t i))
{
    const struct og_option *option;
    PyObject *out = PyDict_New();
    for (size_t i = 0; out && (option = row(i)); i++) {
        PyObject *words = words_of(option);
        if (!words || PyDict_SetItemString(out, option->name, words) < 0)
            Py_CLEAR(out);
        Py_XDECREF(words);
    }
    return out;
}

static PyObject *call_option_choices(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return choices_of(og_option);
}

static PyObject *call_import_choices(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return choices_of(og_import_option);
}

/* ---- edges by their ends ---- */

/* In-neighbours as a dataset has them: i64 [n + 1], and i32 or i64, ascending within a list. */
struct lists {
    const int64_t *indptr;
    const void *indices;
    bool wide;
};

static int64_t source_at(const struct lists *l, int64_t place)
{
    return l->wide ? ((const int64_t *)l->indices)[place] : ((const int32_t *)l->indices)[place];
}

/* The first place in the list of `destination` whose source is not less than `source`. */
static int64_t lower_place(const struct lists *l, int64_t source, int64_t destination)
{
    int64_t begin = l->indptr[destination];
    int64_t end = l->indptr[destination + 1];
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (source_at(l, middle) < source)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static PyObject *call_places(PyObject *module, PyObject *args)
{
    enum { INDPTR, INDICES, SOURCE, DESTINATION, OUT, BUFFERS };
    Py_buffer b[BUFFERS];
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*", &b[INDPTR], &b[INDICES], &b[SOURCE], &b[DESTINATION],
                          &b[OUT]))
        return NULL;
    const int64_t *source = b[SOURCE].buf;
    const int64_t *destination = b[DESTINATION].buf;
    int64_t *out = b[OUT].buf;
    const int64_t n = b[OUT].len / 8;
    const bool fits = b[SOURCE].len == b[OUT].len && b[DESTINATION].len == b[OUT].len;
    const struct lists l = {b[INDPTR].buf, b[INDICES].buf, b[INDICES].itemsize == 8};
    PyThreadState *mine = PyEval_SaveThread();
    for (int64_t i = 0; fits && i < n; i++)
        out[i] = lower_place(&l, source[i], destination[i]);
    PyEval_RestoreThread(mine);
    for (int i = 0; i < BUFFERS; i++)
        PyBuffer_Release(&b[i]);
    if (fits)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "places: arrays of one length expected");
    return NULL;
}

/* ---- arrays ---- */

static PyObject *call_checksum(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*", &bytes))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    const uint64_t sum = XXH3_64bits(bytes.buf, (size_t)bytes.len);
    PyEval_RestoreThread(mine);
    PyBuffer_Release(&bytes);
    return PyLong_FromUnsignedLongLong(sum);
}

PyMethodDef call_methods[] = {
    {"info", call_info, METH_VARARGS, "info(dataset) -> JSON"},
    {"simulate", call_simulate, METH_VARARGS,
     "simulate(source, policies, caches, options, watch) -> JSON"},
    {"generate", call_generate, METH_VARARGS, "generate(out, options, watch)"},
    {"import_", call_import, METH_VARARGS, "import_(format, src, out, options, watch)"},
    {"import_memory", call_import_memory, METH_VARARGS,
     "import_memory(size such as 4G or 25%) -> bytes of an import's option memory"},
    {"places", call_places, METH_VARARGS,
     "places(indptr, indices, source, destination, out): where each edge lies, or would lie"},
    {"checksum", call_checksum, METH_VARARGS, "checksum(bytes) -> XXH3-64 of them"},
    {"import_choices", call_import_choices, METH_NOARGS, "the same of an import's options"},
    {"option_choices", call_option_choices, METH_NOARGS,
     "the options of training: {name: its words; None for a flag}"},
    {0},
};
