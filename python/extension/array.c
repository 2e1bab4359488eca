/* An array of a mini-batch. It retains the batch and exports the memory without a copy, by DLPack
 * and the buffer protocol. Consumers retain the batch too, so it outlives this object and the
 * loader. */
#include "dlpack.h"
#include "extension.h"

#include <stdlib.h>
#include <string.h>

struct array {
    PyObject ob_base;
    const struct og_minibatch *batch;
    struct og_array view;
    Py_ssize_t shape[2], strides[2]; /* strides in bytes, for buffers */
};

/* By enum og_element. Python's buffers have no format for bf16, so its bits are exported as u16. */
static const struct element {
    const char *name, *format;
    size_t size;
    struct dl_dtype dl;
} elements[] = {
    [OG_ELEMENT_F32] = {"float32", "f", 4, {DL_FLOAT, 32, 1}},
    [OG_ELEMENT_F16] = {"float16", "e", 2, {DL_FLOAT, 16, 1}},
    [OG_ELEMENT_BF16] = {"bfloat16", "H", 2, {DL_BFLOAT, 16, 1}},
    [OG_ELEMENT_U8] = {"uint8", "B", 1, {DL_UINT, 8, 1}},
    [OG_ELEMENT_I64] = {"int64", "q", 8, {DL_INT, 64, 1}},
};

static const struct element *element_of(const struct array *a)
{
    return &elements[a->view.element];
}

static size_t bytes_of(const struct array *a)
{
    size_t n = element_of(a)->size;
    for (int i = 0; i < a->view.n_dims; i++)
        n *= (size_t)a->view.shape[i];
    return n;
}

PyObject *array_new(const struct module_state *state, const struct og_minibatch *batch,
                    const struct og_array *view)
{
    if (!view->data)
        Py_RETURN_NONE;
    struct array *a = PyObject_New(struct array, state->array);
    if (!a)
        return NULL;
    og_minibatch_keep(batch);
    a->batch = batch;
    a->view = *view;
    Py_ssize_t stride = (Py_ssize_t)element_of(a)->size;
    for (int i = view->n_dims - 1; i >= 0; i--) {
        a->shape[i] = (Py_ssize_t)view->shape[i];
        a->strides[i] = stride;
        stride *= a->shape[i];
    }
    return (PyObject *)a;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    og_minibatch_release(((struct array *)self)->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- buffers ---- */

static int array_buffer(PyObject *self, Py_buffer *out, int flags)
{
    struct array *a = (struct array *)self;
    bool shaped = (flags & PyBUF_ND) == PyBUF_ND;
    *out = (Py_buffer){
        .buf = a->view.data,
        .obj = Py_NewRef(self),
        .len = (Py_ssize_t)bytes_of(a),
        .itemsize = (Py_ssize_t)element_of(a)->size,
        .ndim = shaped ? a->view.n_dims : 1,
        .shape = shaped ? a->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL,
        .format = flags & PyBUF_FORMAT ? (char *)element_of(a)->format : NULL,
    };
    return 0;
}

/* ---- DLPack ---- */

/* Memory exported to a consumer, in either form. */
struct handed {
    union {
        struct dl_managed plain;
        struct dl_managed_versioned versioned;
    };
    int64_t shape[2], strides[2];
    const struct og_minibatch *batch; /* NULL: a copy */
    void *copy;
};

/* May be called from any thread, with or without the interpreter's lock, also after the
 * interpreter's end. */
static void let_go(struct handed *h)
{
    og_minibatch_release(h->batch);
    free(h->copy);
    free(h);
}

static void delete_plain(struct dl_managed *self)
{
    let_go(self->context);
}

static void delete_versioned(struct dl_managed_versioned *self)
{
    let_go(self->context);
}

/* Frees a capsule that nobody consumed; a consumed one has another name. */
static void plain_unused(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        struct dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    }
}

static void versioned_unused(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        struct dl_managed_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

static struct dl_tensor describe(const struct array *a, struct handed *h)
{
    int64_t stride = 1;
    for (int i = a->view.n_dims - 1; i >= 0; i--) {
        h->shape[i] = a->view.shape[i];
        h->strides[i] = stride;
        stride *= h->shape[i];
    }
    return (struct dl_tensor){
        .data = h->copy ? h->copy : a->view.data,
        .device = {DL_CPU, 0},
        .n_dims = a->view.n_dims,
        .dtype = element_of(a)->dl,
        .shape = h->shape,
        .strides = h->strides,
    };
}

static struct handed *hand_on(const struct array *a, bool copy)
{
    struct handed *h = calloc(1, sizeof(*h));
    if (h && copy) {
        size_t whole_lines = (bytes_of(a) + 64) / 64 * 64;
        h->copy = aligned_alloc(64, whole_lines);
    }
    if (!h || (copy && !h->copy)) {
        free(h);
        PyErr_NoMemory();
        return NULL;
    }
    if (copy) {
        memcpy(h->copy, a->view.data, bytes_of(a));
    } else {
        og_minibatch_keep(a->batch);
        h->batch = a->batch;
    }
    return h;
}

static PyObject *capsule_of(const struct array *a, struct handed *h, bool versioned)
{
    struct dl_tensor tensor = describe(a, h);
    PyObject *capsule;
    if (versioned) {
        h->versioned = (struct dl_managed_versioned){.major = 1,
                                                     .context = h,
                                                     .deleter = delete_versioned,
                                                     .flags = h->copy ? DL_FLAG_COPIED : 0,
                                                     .tensor = tensor};
        capsule = PyCapsule_New(&h->versioned, "dltensor_versioned", versioned_unused);
    } else {
        h->plain = (struct dl_managed){.tensor = tensor, .context = h, .deleter = delete_plain};
        capsule = PyCapsule_New(&h->plain, "dltensor", plain_unused);
    }
    if (!capsule)
        let_go(h);
    return capsule;
}

/* Accepts (1, 0) or None: there is no other device. */
static bool is_here(PyObject *device)
{
    int type = DL_CPU;
    int id = 0;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id))
        return false;
    if (type == DL_CPU && id == 0)
        return true;
    PyErr_SetString(PyExc_BufferError, "the memory is the CPU's: dl_device must be (1, 0)");
    return false;
}

static bool major_version(PyObject *version, int *major)
{
    int minor;
    *major = 0;
    return version == Py_None || PyArg_ParseTuple(version, "ii", major, &minor);
}

static PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None;
    PyObject *version = Py_None;
    PyObject *device = Py_None;
    PyObject *copy = Py_None;
    int major;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream, &version,
                                     &device, &copy) ||
        !major_version(version, &major) || !is_here(device))
        return NULL;
    if (stream != Py_None) {
        PyErr_SetString(PyExc_ValueError, "stream must be None: the memory is the CPU's");
        return NULL;
    }
    int copied = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (copied < 0)
        return NULL;
    struct array *a = (struct array *)self;
    struct handed *h = hand_on(a, copied);
    return h ? capsule_of(a, h, major >= 1) : NULL;
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

/* ---- attributes ---- */

static PyObject *array_shape(PyObject *self, void *none)
{
    const struct og_array *view = &((struct array *)self)->view;
    (void)none;
    return view->n_dims == 1
               ? Py_BuildValue("(L)", (long long)view->shape[0])
               : Py_BuildValue("(LL)", (long long)view->shape[0], (long long)view->shape[1]);
}

static PyObject *array_dtype(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(element_of((struct array *)self)->name);
}

static Py_ssize_t array_length(PyObject *self)
{
    return ((struct array *)self)->shape[0];
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)"},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "(1, 0): the CPU"},
    {0},
};

static PyGetSetDef attributes[] = {
    {"shape", array_shape, NULL, "tuple of int", NULL},
    {"dtype", array_dtype, NULL, "name: float32, float16, bfloat16, uint8 or int64", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Memory of a mini-batch, for from_dlpack and numpy.asarray, without a copy."},
    {Py_tp_dealloc, (void *)array_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_length, (void *)array_length},
    {Py_bf_getbuffer, (void *)array_buffer},
    {0},
};

PyType_Spec array_spec = {
    .name = "outgrow._outgrow.Array",
    .basicsize = sizeof(struct array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
