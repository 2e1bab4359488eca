/* Calls of the library that need no loader. Each returns JSON as str; options come as dicts of str
 * to str, and the Python around it (../outgrow) makes both. */
#include "extension.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

typedef int set_one(void *fields, const char *name, const char *value, struct og_err *err);

/* `set` for each entry of the dict, in its order. */
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

bool options_from(const struct module_state *state, PyObject *dict, struct og_options *opt)
{
    og_options_init(opt);
    bool set = set_all(state, dict, set_option, opt);
    if (!set)
        og_options_release(opt);
    return set;
}

/* ---- options of generate and import ---- */

enum { MOST_THREADS = 1024, MOST_DIM = 1 << 20 };
#define MOST_BYTES 0x1p60
static const char *const dtypes[] = {"f32", "f16", "bf16", "u8", NULL}; /* enum og_dtype */
static const char *const models[] = {"planted", "rmat", NULL};          /* enum og_generator */

#define ROW(struct_, name_, field_, type_, choices_, min_, max_)               \
    {                                                                          \
        .name = (name_), .type = (type_), .offset = offsetof(struct_, field_), \
        .choices = (choices_), .min = (min_), .max = (max_)                    \
    }
#define MADE(name, field, type, choices, min, max) \
    ROW(struct og_generate, name, field, type, choices, min, max)
#define BROUGHT(name, field, type, choices, min, max) \
    ROW(struct og_import, name, field, type, choices, min, max)
#define SWITCH(name, field) BROUGHT(name, field, OG_OPTION_FLAG, NULL, 0, 0)

static const struct og_option generate_rows[] = {
    MADE("model", model, OG_OPTION_CHOICE, models, 0, 0),
    MADE("nodes", nodes, OG_OPTION_INT64, NULL, 1, UINT32_MAX - 2),
    MADE("degree", degree, OG_OPTION_REAL, NULL, 0, 1e6),
    MADE("dim", dim, OG_OPTION_INT, NULL, 1, MOST_DIM),
    MADE("classes", classes, OG_OPTION_INT, NULL, 1, MOST_DIM),
    MADE("dtype", dtype, OG_OPTION_CHOICE, dtypes, 0, 0),
    MADE("train-fraction", train_fraction, OG_OPTION_REAL, NULL, 0, 1),
    MADE("homophily", homophily, OG_OPTION_REAL, NULL, 0, 1),
    MADE("seed", seed, OG_OPTION_INT64, NULL, 0, 0x1p63),
    MADE("types", types, OG_OPTION_TEXT, NULL, 0, 0),
    MADE("relations", relations, OG_OPTION_TEXT, NULL, 0, 0),
    MADE("memory", memory, OG_OPTION_AMOUNT, NULL, 0, MOST_BYTES),
    MADE("threads", threads, OG_OPTION_INT, NULL, 0, MOST_THREADS),
    {0},
};

static const struct og_option import_rows[] = {
    SWITCH("symmetrize", symmetrize),
    SWITCH("drop-self-loops", drop_self_loops),
    SWITCH("drop-duplicates", drop_duplicates),
    SWITCH("row-normalize", row_normalize),
    SWITCH("reverse", reverse),
    SWITCH("link", link),
    SWITCH("keep-ids", keep_ids),
    SWITCH("drop-types", drop_types),
    SWITCH("reverse-relations", reverse_relations),
    BROUGHT("weight-column", weight_column, OG_OPTION_INT, NULL, 0, 1024),
    BROUGHT("columns", columns, OG_OPTION_TEXT, NULL, 0, 0),
    BROUGHT("split-column", split_column, OG_OPTION_INT, NULL, 0, INT_MAX),
    BROUGHT("labels", labels, OG_OPTION_TEXT, NULL, 0, 0),
    BROUGHT("mean-features", mean_features, OG_OPTION_TEXT, NULL, 0, 0),
    BROUGHT("feature-dtype", feature_dtype, OG_OPTION_CHOICE, dtypes, 0, 0),
    BROUGHT("memory", memory, OG_OPTION_AMOUNT, NULL, 0, MOST_BYTES),
    BROUGHT("threads", threads, OG_OPTION_INT, NULL, 0, MOST_THREADS),
    {0},
};

struct table {
    const struct og_option *rows;
    void *fields;
};

static int set_in_table(void *table, const char *name, const char *value, struct og_err *err)
{
    const struct table *t = table;
    for (const struct og_option *row = t->rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return og_option_read(row, t->fields, value, err);
    err->code = -EINVAL;
    snprintf(err->message, sizeof(err->message), "%s: no such option", name);
    return -EINVAL;
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
    struct og_options opt;
    const char *source;
    const char *policies;
    const char *caches;
    PyObject *options;
    PyObject *watch;
    char *text = NULL;
    if (!PyArg_ParseTuple(args, "sssO!O", &source, &policies, &caches, &PyDict_Type, &options,
                          &watch) ||
        !watch_observer(state, watch, &seen) || !options_from(state, options, &opt))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_simulate(source, policies, caches, &opt, &seen, &text, &err);
    og_options_release(&opt);
    PyEval_RestoreThread(mine);
    return text_or_raise(state, rc, text, &err);
}

static PyObject *call_generate(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_observer seen;
    struct og_generate g;
    struct table fields = {generate_rows, &g};
    const char *out;
    PyObject *options;
    PyObject *watch;
    og_generate_init(&g);
    if (!PyArg_ParseTuple(args, "sO!O", &out, &PyDict_Type, &options, &watch) ||
        !watch_observer(state, watch, &seen) || !set_all(state, options, set_in_table, &fields))
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_generate(out, &g, &seen, &err);
    PyEval_RestoreThread(mine);
    if (rc < 0)
        return raise_err(state, &err);
    Py_RETURN_NONE;
}

static PyObject *call_import(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    struct og_err err = {0};
    struct og_observer seen;
    struct og_import opt;
    struct table fields = {import_rows, &opt};
    const char *format;
    const char *source;
    const char *out;
    PyObject *options;
    PyObject *watch;
    PyObject *result = NULL;
    og_import_init(&opt);
    if (!PyArg_ParseTuple(args, "sssO!O", &format, &source, &out, &PyDict_Type, &options, &watch) ||
        !watch_observer(state, watch, &seen))
        return NULL;
    if (set_all(state, options, set_in_table, &fields)) {
        PyThreadState *mine = PyEval_SaveThread();
        int rc = og_import(format, source, out, &opt, &seen, &err);
        PyEval_RestoreThread(mine);
        result = rc < 0 ? raise_err(state, &err) : Py_NewRef(Py_None);
    }
    free((char *)opt.labels); /* the only text, read by og_option_read */
    return result;
}

static PyObject *call_option_names(PyObject *module, PyObject *none)
{
    size_t n;
    const struct og_option *table = og_option_table(&n);
    PyObject *out = PyList_New(0);
    (void)module;
    (void)none;
    for (size_t i = 0; out && i < n; i++) {
        PyObject *name = PyUnicode_FromString(table[i].name);
        if (!name || PyList_Append(out, name) < 0)
            Py_CLEAR(out);
        Py_XDECREF(name);
    }
    return out;
}

PyMethodDef call_methods[] = {
    {"info", call_info, METH_VARARGS, "info(dataset) -> JSON"},
    {"simulate", call_simulate, METH_VARARGS,
     "simulate(source, policies, caches, options, watch) -> JSON"},
    {"generate", call_generate, METH_VARARGS, "generate(out, options, watch)"},
    {"import_", call_import, METH_VARARGS, "import_(format, src, out, options, watch)"},
    {"option_names", call_option_names, METH_NOARGS, "names of the options of training"},
    {0},
};
