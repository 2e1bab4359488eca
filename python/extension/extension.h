/* outgrow._outgrow: the library's loader and calls, for the Python code (../outgrow).
 *
 * It uses the limited API of Python 3.11, so one binary serves all later versions. Module state
 * replaces static variables. Long operations release the interpreter's lock; callbacks from library
 * threads (watch.c) never take it. */
#ifndef OG_EXTENSION_H
#define OG_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <outgrow/outgrow.h>

#include <stdbool.h>

struct module_state {
    PyTypeObject *array, *batch, *loader, *names, *rows, *watch;
    PyObject *error_of; /* outgrow._errors.error_of(code, message, hint) -> exception */
};

/* State of the module that defines the type of `self`. */
struct module_state *state_of(PyObject *self);

/* ---- errors and results ---- */

/* Raise the exception of `err`. Returns NULL. */
PyObject *raise_err(const struct module_state *state, const struct og_err *err);
/* Return text as str and free it, or raise `err` if rc < 0. */
PyObject *text_or_raise(const struct module_state *state, int rc, char *text,
                        const struct og_err *err);

/* ---- types ---- */

/* An array of a mini-batch, which it retains: __dlpack__, buffer protocol, shape, dtype. None if
 * the batch has no such array. */
PyObject *array_new(const struct module_state *state, const struct og_minibatch *batch,
                    const struct og_array *view);
/* A mini-batch; takes the caller's reference, also on failure. */
PyObject *batch_new(const struct module_state *state, const struct og_minibatch *batch);

/* The observer of a call, to follow and stop it (watch.c). Valid while `watch` is referenced; None
 * observes nothing. False with an exception if it is neither. */
bool watch_observer(const struct module_state *state, PyObject *watch, struct og_observer *seen);

extern PyType_Spec array_spec, batch_spec, loader_spec, names_spec, rows_spec, watch_spec;

/* ---- functions of the module ---- */

/* Options from a dict of str to str; the caller frees them. NULL with an exception set. */
struct og_options *options_from(const struct module_state *state, PyObject *dict);

extern PyMethodDef call_methods[]; /* calls.c; ends with {0} */
PyObject *open_loader(PyObject *module, PyObject *args);
PyObject *open_rows(PyObject *module, PyObject *args);
PyObject *new_watch(PyObject *module, PyObject *none);
PyObject *new_names(PyObject *module, PyObject *args);

#endif
