/* Rows: an og_row_reader, for outgrow._graphbolt. */
#include "extension.h"

#include <stdlib.h>

struct rows {
    PyObject ob_base;
    struct og_row_reader *reader;
};

PyObject *open_rows(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    const char *dataset;
    int edges;
    unsigned number;
    PyObject *dict;
    if (!PyArg_ParseTuple(args, "spIO!", &dataset, &edges, &number, &PyDict_Type, &dict))
        return NULL;
    struct og_options *opt = options_from(state, dict);
    struct rows *r = opt ? PyObject_New(struct rows, state->rows) : NULL;
    if (!r) {
        og_options_free(opt);
        return NULL;
    }
    r->reader = NULL;
    PyThreadState *mine = PyEval_SaveThread();
    const int rc = og_rows_open(&r->reader, dataset, edges ? OG_ROWS_OF_EDGES : OG_ROWS_OF_NODES,
                                number, opt, &err);
    og_options_free(opt);
    PyEval_RestoreThread(mine);
    if (rc >= 0)
        return (PyObject *)r;
    Py_DECREF(r);
    return raise_err(state, &err);
}

static void rows_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    og_rows_close(((struct rows *)self)->reader);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *rows_read(PyObject *self, PyObject *args)
{
    struct rows *r = (struct rows *)self;
    struct og_err err = {0};
    Py_buffer ids;
    Py_buffer out;
    int rc = 0;
    if (!PyArg_ParseTuple(args, "y*w*", &ids, &out))
        return NULL;
    const bool fits = (size_t)out.len == (size_t)ids.len / 8 * og_rows_bytes(r->reader);
    PyThreadState *mine = PyEval_SaveThread();
    if (fits)
        rc = og_rows_read(r->reader, ids.buf, ids.len / 8, out.buf, &err);
    PyEval_RestoreThread(mine);
    PyBuffer_Release(&ids);
    PyBuffer_Release(&out);
    if (rc < 0)
        return raise_err(state_of(self), &err);
    if (fits)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "read: as many rows as ids expected");
    return NULL;
}

static PyObject *rows_about(PyObject *self, PyObject *none)
{
    struct og_err err = {0};
    char *text = NULL;
    (void)none;
    const int rc = og_rows_about(((struct rows *)self)->reader, &text, &err);
    return text_or_raise(state_of(self), rc, text, &err);
}

static PyMethodDef methods[] = {
    {"read", rows_read, METH_VARARGS, "read(ids int64, out): rows in the order of ids"},
    {"about", rows_about, METH_NOARGS, "about() -> JSON"},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Feature rows by number. One thread at a time."},
    {Py_tp_dealloc, (void *)rows_dealloc},
    {Py_tp_methods, methods},
    {0},
};

PyType_Spec rows_spec = {
    .name = "outgrow._outgrow.Rows",
    .basicsize = sizeof(struct rows),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
