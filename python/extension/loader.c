/* A loader. Several threads may call it. Closing waits until no call is in the library: calls are
 * counted under the interpreter's lock, and waiting calls wait in short intervals. */
#include "extension.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static const double turn_seconds = 0.05; /* interval after which signals are checked */

struct loader {
    PyObject ob_base;
    struct og_loader *l; /* NULL once closed */
    PyObject *watch;     /* observer of `l` */
    int calls;           /* currently in the library */
    bool closing;
};

/* ---- opening ---- */

/* int64 [n] nodes or [n, 2] links, C order; or None. False with an exception. */
static bool get_seeds(PyObject *seeds, Py_buffer *buffer, struct og_loader_options *from)
{
    if (seeds == Py_None)
        return true;
    if (PyObject_GetBuffer(seeds, buffer, PyBUF_ND | PyBUF_FORMAT) < 0)
        return false;
    const bool links = buffer->ndim == 2 && buffer->shape[1] == 2;
    bool fits = (buffer->ndim == 1 || links) && buffer->itemsize == 8 && buffer->format &&
                strchr("lq", buffer->format[0]) && !buffer->format[1];
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "seeds: int64 [n] or [n, 2] expected");
        PyBuffer_Release(buffer);
        *buffer = (Py_buffer){0};
        return false;
    }
    *(links ? &from->links : &from->seeds) = buffer->buf;
    *(links ? &from->n_links : &from->n_seeds) = (int64_t)buffer->shape[0];
    return true;
}

/* int64 [n] times of the seeds, C order; or None. False with an exception. */
static bool get_times(PyObject *times, Py_buffer *buffer, struct og_loader_options *from)
{
    if (times == Py_None)
        return true;
    if (PyObject_GetBuffer(times, buffer, PyBUF_ND | PyBUF_FORMAT) < 0)
        return false;
    const int64_t seeds = from->links ? from->n_links : from->n_seeds;
    if (buffer->ndim != 1 || buffer->itemsize != 8 || buffer->shape[0] != seeds) {
        PyErr_SetString(PyExc_TypeError, "times: int64 [n] expected, one of each seed");
        return false;
    }
    from->times = buffer->buf;
    return true;
}

static struct loader *loader_new(const struct module_state *state, PyObject *watch)
{
    struct loader *o = PyObject_New(struct loader, state->loader);
    if (o) {
        o->l = NULL;
        o->watch = Py_NewRef(watch);
        o->calls = 0;
        o->closing = false;
    }
    return o;
}

/* Opens a loader with its arguments; the options stay the caller's. */
static PyObject *open_with(const struct module_state *state, const char *dataset,
                           const struct og_options *opt, const struct og_loader_options *from,
                           PyObject *watch)
{
    struct og_observer seen;
    struct og_err err = {0};
    if (!watch_observer(state, watch, &seen))
        return NULL;
    struct loader *o = loader_new(state, watch);
    if (!o)
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_loader_open(&o->l, dataset, opt, from, &seen, &err);
    PyEval_RestoreThread(mine);
    if (rc == 0)
        return (PyObject *)o;
    Py_DECREF(o);
    return raise_err(state, &err);
}

PyObject *open_loader(PyObject *module, PyObject *args)
{
    const struct module_state *state = PyModule_GetState(module);
    const char *dataset;
    PyObject *options;
    PyObject *seeds;
    PyObject *times;
    PyObject *watch;
    struct og_loader_options from;
    int evaluates;
    int drop_last;
    int edge_places;
    int edge_features;
    unsigned repeats;
    Py_buffer buffer = {0};
    Py_buffer of_times = {0};
    struct og_options *opt;
    og_loader_options_init(&from);
    if (!PyArg_ParseTuple(args, "sO!zOidp(IIi)zpppOIO", &dataset, &PyDict_Type, &options,
                          &from.split, &seeds, &from.hold, &from.step_seconds, &evaluates,
                          &from.rank, &from.ranks, &from.local_ranks, &from.share, &drop_last,
                          &edge_places, &edge_features, &times, &repeats, &watch) ||
        !(opt = options_from(state, options)))
        return NULL;
    from.evaluates = evaluates;
    from.drop_last = drop_last;
    from.edge_places = edge_places;
    from.edge_features = edge_features;
    from.source_repeats = repeats;
    PyObject *out = NULL;
    if (get_seeds(seeds, &buffer, &from) && get_times(times, &of_times, &from))
        out = open_with(state, dataset, opt, &from, watch);
    if (buffer.obj)
        PyBuffer_Release(&buffer);
    if (of_times.obj)
        PyBuffer_Release(&of_times);
    og_options_free(opt);
    return out;
}

/* ---- calls ---- */

/* Returns the library's loader for one call, which `leave` ends. NULL with an exception once
 * closed. */
static struct og_loader *enter(struct loader *o)
{
    if (!o->l || o->closing) {
        struct og_err err = {-ECANCELED, "loader: it is closed", "open another"};
        raise_err(state_of((PyObject *)o), &err);
        return NULL;
    }
    o->calls++;
    return o->l;
}

static PyObject *leave(struct loader *o, int rc, const struct og_err *err)
{
    o->calls--;
    if (rc < 0)
        return raise_err(state_of((PyObject *)o), err);
    Py_RETURN_NONE;
}

static PyObject *loader_start(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    int epoch;
    struct og_loader *l = PyArg_ParseTuple(args, "i", &epoch) ? enter((struct loader *)self) : NULL;
    if (!l)
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_loader_start(l, epoch, &err);
    PyEval_RestoreThread(mine);
    return leave((struct loader *)self, rc, &err);
}

static PyObject *loader_evaluate(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    const char *split;
    struct og_loader *l = PyArg_ParseTuple(args, "s", &split) ? enter((struct loader *)self) : NULL;
    if (!l)
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_loader_evaluate(l, split, &err);
    PyEval_RestoreThread(mine);
    return leave((struct loader *)self, rc, &err);
}

/* Waits an interval for the next batch; -ECANCELED once another thread closes. */
static int wait_a_turn(struct loader *o, const struct og_minibatch **m, struct og_err *err)
{
    if (o->closing) {
        *err = (struct og_err){-ECANCELED, "loader: it is being closed", ""};
        return -ECANCELED;
    }
    *err = (struct og_err){0};
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_loader_next(o->l, turn_seconds, m, err);
    PyEval_RestoreThread(mine);
    return rc;
}

/* Checks signals only if no batch came, so that none is lost. */
static PyObject *loader_next(PyObject *self, PyObject *none)
{
    struct loader *o = (struct loader *)self;
    const struct og_minibatch *m = NULL;
    struct og_err err;
    int rc;
    (void)none;
    if (!enter(o))
        return NULL;
    while ((rc = wait_a_turn(o, &m, &err)) == -EAGAIN)
        if (PyErr_CheckSignals() < 0) {
            o->calls--;
            return NULL;
        }
    if (rc < 0 || !m)
        return leave(o, rc, &err);
    o->calls--;
    return batch_new(state_of(self), m);
}

static PyObject *loader_grow(PyObject *self, PyObject *none)
{
    struct og_err err = {0};
    struct og_loader *l = enter((struct loader *)self);
    (void)none;
    return l ? leave((struct loader *)self, og_loader_grow(l, &err), &err) : NULL;
}

static PyObject *loader_batches(PyObject *self, PyObject *args)
{
    const char *split;
    struct og_loader *l = PyArg_ParseTuple(args, "z", &split) ? enter((struct loader *)self) : NULL;
    if (!l)
        return NULL;
    int64_t n = og_loader_batches(l, split);
    ((struct loader *)self)->calls--;
    return PyLong_FromLongLong(n);
}

typedef int tell(struct og_loader *l, char **out, struct og_err *err);

static PyObject *told(PyObject *self, tell *f)
{
    struct og_err err = {0};
    char *text = NULL;
    struct og_loader *l = enter((struct loader *)self);
    if (!l)
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = f(l, &text, &err);
    PyEval_RestoreThread(mine);
    ((struct loader *)self)->calls--;
    return text_or_raise(state_of(self), rc, text, &err);
}

static PyObject *loader_plan(PyObject *self, PyObject *none)
{
    (void)none;
    return told(self, og_loader_plan);
}

static PyObject *loader_metrics(PyObject *self, PyObject *none)
{
    (void)none;
    return told(self, og_loader_metrics);
}

static PyObject *loader_state(PyObject *self, PyObject *none)
{
    (void)none;
    return told(self, og_loader_state);
}

static PyObject *loader_restore(PyObject *self, PyObject *args)
{
    struct og_err err = {0};
    const char *text;
    struct og_loader *l = PyArg_ParseTuple(args, "s", &text) ? enter((struct loader *)self) : NULL;
    if (!l)
        return NULL;
    PyThreadState *mine = PyEval_SaveThread();
    int rc = og_loader_restore(l, text, &err);
    PyEval_RestoreThread(mine);
    return leave((struct loader *)self, rc, &err);
}

/* ---- closing ---- */

static void wait_for_calls(const struct loader *o)
{
    static const struct timespec moment = {.tv_nsec = 2000000};
    while (o->calls > 0) {
        PyThreadState *mine = PyEval_SaveThread();
        nanosleep(&moment, NULL);
        PyEval_RestoreThread(mine);
    }
}

static PyObject *loader_close(PyObject *self, PyObject *none)
{
    struct loader *o = (struct loader *)self;
    (void)none;
    o->closing = true;
    wait_for_calls(o);
    struct og_loader *l = o->l; /* another thread may have closed it meanwhile */
    o->l = NULL;
    PyThreadState *mine = PyEval_SaveThread();
    og_loader_close(l);
    PyEval_RestoreThread(mine);
    Py_RETURN_NONE;
}

static void loader_dealloc(PyObject *self)
{
    struct loader *o = (struct loader *)self;
    PyTypeObject *type = Py_TYPE(self);
    struct og_loader *l = o->l;
    if (l) {
        PyThreadState *mine = PyEval_SaveThread();
        og_loader_close(l);
        PyEval_RestoreThread(mine);
    }
    Py_DECREF(o->watch); /* which was in use until now */
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"start", loader_start, METH_VARARGS, "start(epoch)"},
    {"evaluate", loader_evaluate, METH_VARARGS, "evaluate(split)"},
    {"next", loader_next, METH_NOARGS, "next() -> Batch, or None at the end"},
    {"grow", loader_grow, METH_NOARGS, "grow(): room for one more batch that is held"},
    {"batches", loader_batches, METH_VARARGS, "batches(split or None) -> int"},
    {"plan", loader_plan, METH_NOARGS, "plan() -> JSON"},
    {"metrics", loader_metrics, METH_NOARGS, "metrics() -> JSON"},
    {"state", loader_state, METH_NOARGS, "state() -> JSON"},
    {"restore", loader_restore, METH_VARARGS, "restore(state)"},
    {"close", loader_close, METH_NOARGS, "close()"},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Iterator over batches; outgrow.Loader converts them."},
    {Py_tp_dealloc, (void *)loader_dealloc},
    {Py_tp_methods, methods},
    {0},
};

PyType_Spec loader_spec = {
    .name = "outgrow._outgrow.Loader",
    .basicsize = sizeof(struct loader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
