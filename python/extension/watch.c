/* Observes and stops a library call in another thread: progress and messages. The library's side
 * never waits for the interpreter's lock. */
#include "extension.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 1000 }; /* not taken yet */

struct message {
    struct message *next;
    int level;
    char text[];
};

struct watch {
    PyObject ob_base;
    volatile sig_atomic_t stop;
    pthread_mutex_t lock; /* guards everything below */
    struct og_progress progress;
    bool fresh; /* progress was not taken yet */
    struct message *first, **end;
    int n_messages;
};

/* ---- the library's side ---- */

static void on_message(void *arg, int level, const char *text)
{
    struct watch *w = arg;
    size_t n = strlen(text) + 1;
    struct message *m = malloc(sizeof(*m) + n);
    if (!m)
        return;
    m->next = NULL;
    m->level = level;
    memcpy(m->text, text, n);
    pthread_mutex_lock(&w->lock);
    if (w->n_messages < MOST_MESSAGES) {
        *w->end = m;
        w->end = &m->next;
        w->n_messages++;
        m = NULL;
    }
    pthread_mutex_unlock(&w->lock);
    free(m);
}

static void on_progress(void *arg, const struct og_progress *p)
{
    struct watch *w = arg;
    pthread_mutex_lock(&w->lock);
    w->progress = *p;
    w->fresh = true;
    pthread_mutex_unlock(&w->lock);
}

bool watch_observer(const struct module_state *state, PyObject *watch, struct og_observer *seen)
{
    *seen = (struct og_observer){.size = sizeof(*seen)};
    if (watch == Py_None)
        return true;
    if (Py_TYPE(watch) != state->watch) {
        PyErr_SetString(PyExc_TypeError, "watch: a Watch expected");
        return false;
    }
    struct watch *w = (struct watch *)watch;
    *seen = (struct og_observer){.size = sizeof(*seen),
                                 .arg = w,
                                 .message = on_message,
                                 .progress = on_progress,
                                 .stop = &w->stop};
    return true;
}

/* ---- Python's side ---- */

PyObject *new_watch(PyObject *module, PyObject *none)
{
    const struct module_state *state = PyModule_GetState(module);
    struct watch *w = PyObject_New(struct watch, state->watch);
    (void)none;
    if (!w)
        return NULL;
    w->stop = 0;
    w->progress = (struct og_progress){0};
    w->fresh = false;
    w->first = NULL;
    w->end = &w->first;
    w->n_messages = 0;
    if (pthread_mutex_init(&w->lock, NULL) != 0) {
        PyObject_Free(w);
        Py_DECREF(state->watch);
        return PyErr_NoMemory();
    }
    return (PyObject *)w;
}

static void free_messages(struct message *m)
{
    while (m) {
        struct message *next = m->next;
        free(m);
        m = next;
    }
}

static void watch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct watch *w = (struct watch *)self;
    free_messages(w->first);
    pthread_mutex_destroy(&w->lock);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *watch_stop(PyObject *self, PyObject *none)
{
    (void)none;
    ((struct watch *)self)->stop = 1;
    Py_RETURN_NONE;
}

static PyObject *watch_progress(PyObject *self, PyObject *none)
{
    struct watch *w = (struct watch *)self;
    (void)none;
    pthread_mutex_lock(&w->lock);
    struct og_progress p = w->progress;
    bool fresh = w->fresh;
    w->fresh = false;
    pthread_mutex_unlock(&w->lock);
    if (!fresh)
        Py_RETURN_NONE;
    return Py_BuildValue("(siiKK)", p.stage, p.epoch, p.epochs, (unsigned long long)p.done,
                         (unsigned long long)p.total);
}

static PyObject *watch_messages(PyObject *self, PyObject *none)
{
    struct watch *w = (struct watch *)self;
    PyObject *out = PyList_New(0);
    (void)none;
    if (!out)
        return NULL;
    pthread_mutex_lock(&w->lock);
    struct message *first = w->first;
    w->first = NULL;
    w->end = &w->first;
    w->n_messages = 0;
    pthread_mutex_unlock(&w->lock);
    for (const struct message *m = first; out && m; m = m->next) {
        PyObject *one = Py_BuildValue("(is)", m->level, m->text);
        if (!one || PyList_Append(out, one) < 0)
            Py_CLEAR(out);
        Py_XDECREF(one);
    }
    free_messages(first);
    return out;
}

static PyMethodDef methods[] = {
    {"stop", watch_stop, METH_NOARGS, "ask the call to end"},
    {"progress", watch_progress, METH_NOARGS,
     "(stage, epoch, epochs, done, total), or None if nothing is new"},
    {"messages", watch_messages, METH_NOARGS, "[(level, text), ...] since the last call"},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Progress and messages of a call, and its stop."},
    {Py_tp_dealloc, (void *)watch_dealloc},
    {Py_tp_methods, methods},
    {0},
};

PyType_Spec watch_spec = {
    .name = "outgrow._outgrow.Watch",
    .basicsize = sizeof(struct watch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
