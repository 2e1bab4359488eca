/* The module: its state, types and functions. */
#include "extension.h"

#include <stdlib.h>

struct module_state *state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

PyObject *raise_err(const struct module_state *state, const struct og_err *err)
{
    PyObject *error = PyObject_CallFunction(state->error_of, "iss", err->code,
                                            err->message[0] ? err->message : "failed", err->hint);
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

PyObject *text_or_raise(const struct module_state *state, int rc, char *text,
                        const struct og_err *err)
{
    PyObject *out = rc < 0 ? raise_err(state, err) : PyUnicode_FromString(text);
    free(text);
    return out;
}

/* ---- state ---- */

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? PyModule_AddType(module, *type) : -1;
}

static int fill(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (add_type(module, &array_spec, &state->array) < 0 ||
        add_type(module, &batch_spec, &state->batch) < 0 ||
        add_type(module, &loader_spec, &state->loader) < 0 ||
        add_type(module, &names_spec, &state->names) < 0 ||
        add_type(module, &rows_spec, &state->rows) < 0 ||
        add_type(module, &watch_spec, &state->watch) < 0)
        return -1;
    PyObject *errors = PyImport_ImportModule("outgrow._errors");
    if (!errors)
        return -1;
    state->error_of = PyObject_GetAttrString(errors, "error_of");
    Py_DECREF(errors);
    return state->error_of ? PyModule_AddStringConstant(module, "version", og_version()) : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    Py_VISIT(state->array);
    Py_VISIT(state->batch);
    Py_VISIT(state->loader);
    Py_VISIT(state->names);
    Py_VISIT(state->rows);
    Py_VISIT(state->watch);
    Py_VISIT(state->error_of);
    return 0;
}

static int clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->array);
    Py_CLEAR(state->batch);
    Py_CLEAR(state->loader);
    Py_CLEAR(state->names);
    Py_CLEAR(state->rows);
    Py_CLEAR(state->watch);
    Py_CLEAR(state->error_of);
    return 0;
}

static void module_free(void *module)
{
    clear(module);
}

/* ---- definition ---- */

static PyMethodDef own_methods[] = {
    {"open_loader", open_loader, METH_VARARGS,
     "open_loader(dataset, options, split, seeds, hold, step_seconds, evaluates, "
     "(rank, ranks, local_ranks), share, drop_last, edge_places, edge_features, "
     "times, source_repeats, watch) -> Loader"},
    {"open_rows", open_rows, METH_VARARGS,
     "open_rows(dataset, of edges?, number, options) -> Rows"},
    {"Names", new_names, METH_VARARGS, "Names(folder, memory in bytes) -> names to numbers"},
    {"Watch", new_watch, METH_NOARGS, "Watch() -> observer of a call"},
    {0},
};

static int add_functions(PyObject *module)
{
    return PyModule_AddFunctions(module, own_methods) < 0
               ? -1
               : PyModule_AddFunctions(module, call_methods);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {Py_mod_exec, (void *)add_functions},
    {0},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "outgrow._outgrow",
    .m_size = sizeof(struct module_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__outgrow(void);
PyMODINIT_FUNC PyInit__outgrow(void)
{
    return PyModuleDef_Init(&definition);
}
