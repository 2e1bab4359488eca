/* Names: an og_name_map, for outgrow._names. */
#include "extension.h"

struct names {
    PyObject ob_base;
    struct og_name_map *map;
};

PyObject *new_names(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    const char *folder;
    unsigned long long memory;
    if (!PyArg_ParseTuple(args, "sK", &folder, &memory))
        return NULL;
    struct names *n = PyObject_New(struct names, state->names);
    if (!n)
        return NULL;
    n->map = NULL;
    if (og_name_map_new(&n->map, folder, memory, &err) >= 0)
        return (PyObject *)n;
    Py_DECREF(n);
    return raise_err(state, &err);
}

static void names_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    og_name_map_free(((struct names *)self)->map);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *none_or_raise(PyObject *self, int rc, const struct og_err *err)
{
    return rc < 0 ? raise_err(state_of(self), err) : Py_NewRef(Py_None);
}

static PyObject *names_put(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    Py_buffer bytes;
    Py_buffer offsets;
    int adds;
    int text;
    int rc = -1;
    if (!PyArg_ParseTuple(args, "y*y*pp", &bytes, &offsets, &adds, &text))
        return NULL;
    const int64_t *at = offsets.buf;
    const Py_ssize_t n = offsets.len / 8 - 1;
    bool good = n >= 0 && at[0] >= 0 && at[n] <= bytes.len;
    for (Py_ssize_t i = 0; good && i < n; i++)
        good = at[i] <= at[i + 1];
    PyThreadState *mine = PyEval_SaveThread();
    if (good)
        rc = og_name_map_put(((struct names *)self)->map, bytes.buf, at, (size_t)n, adds, text,
                             &err);
    PyEval_RestoreThread(mine);
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&offsets);
    if (good)
        return none_or_raise(self, rc, &err);
    PyErr_SetString(PyExc_ValueError, "put: ascending offsets into the bytes expected");
    return NULL;
}

static PyObject *names_sort(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    const char *prefix;
    int64_t n = 0;
    if (!PyArg_ParseTuple(args, "s", &prefix))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    const int rc = og_name_map_sort(((struct names *)self)->map, prefix, &n, &err);
    PyEval_RestoreThread(mine);
    return rc < 0 ? raise_err(state_of(self), &err) : PyLong_FromLongLong(n);
}

static PyObject *names_take(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    unsigned long long first;
    Py_buffer out;
    if (!PyArg_ParseTuple(args, "Kw*", &first, &out))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    const int rc =
        og_name_map_take(((struct names *)self)->map, first, (size_t)out.len / 4, out.buf, &err);
    PyEval_RestoreThread(mine);
    PyBuffer_Release(&out);
    return none_or_raise(self, rc, &err);
}

static PyMethodDef methods[] = {
    {"put", names_put, METH_VARARGS, "put(bytes, offsets int64 [n + 1], adds, text)"},
    {"sort", names_sort, METH_VARARGS, "sort(prefix of the files) -> number of names"},
    {"take", names_take, METH_VARARGS, "take(first, out uint32): numbers of occurrences"},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Names to numbers, in the order of their bytes. One thread at a time."},
    {Py_tp_dealloc, (void *)names_dealloc},
    {Py_tp_methods, methods},
    {0},
};

PyType_Spec names_spec = {
    .name = "outgrow._outgrow.Names",
    .basicsize = sizeof(struct names),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
