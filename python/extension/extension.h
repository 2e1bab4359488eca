/* outgrow._outgrow: the library's loader and calls, for the Python around them (../outgrow).
 *
 * Limited API of Python 3.11, so that one binary serves every later version. What modules usually
 * keep in static variables is in a state of the module's own. Whatever may take long goes without
 * the interpreter's lock; what other threads of the library call (watch.c) never takes it. */
#ifndef OG_EXTENSION_H
#define OG_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <outgrow/outgrow.h>

#include <stdbool.h>

struct module_state {
    PyTypeObject *array, *batch, *loader, *watch;
    PyObject *error_of; /* outgrow._errors.error_of(code, message, hint) -> exception */
};

/* Of the module that defines the type of `self`. */
struct module_state *state_of(PyObject *self);

/* ---- errors and results ---- */

/* Raise what `err` says. NULL, for a function to return. */
PyObject *raise_err(const struct module_state *state, const struct og_err *err);
/* The text as str, and freed; what `err` says where rc < 0. */
PyObject *text_or_raise(const struct module_state *state, int rc, char *text,
                        const struct og_err *err);

/* ---- types ---- */

/* An array of a mini-batch, which it keeps: __dlpack__, buffer protocol, shape, dtype. None where
 * the batch has no such array. */
PyObject *array_new(const struct module_state *state, const struct og_minibatch *batch,
                    const struct og_array *view);
/* A mini-batch; takes over the caller's claim on it, also where it fails. */
PyObject *batch_new(const struct module_state *state, const struct og_minibatch *batch);

/* What a call tells meanwhile, and how it is stopped (watch.c). The observer is good for as long as
 * `watch` is referred to; None watches nothing. False with an exception where it is neither. */
bool watch_observer(const struct module_state *state, PyObject *watch, struct og_observer *seen);

extern PyType_Spec array_spec, batch_spec, loader_spec, watch_spec;

/* ---- functions of the module ---- */

/* Options by name, from a dict of str to str, to be given back. NULL with an exception set. */
struct og_options *options_from(const struct module_state *state, PyObject *dict);

extern PyMethodDef call_methods[]; /* calls.c; ends with {0} */
PyObject *open_loader(PyObject *module, PyObject *args);
PyObject *new_watch(PyObject *module, PyObject *none);

#endif
