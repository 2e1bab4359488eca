/* A mini-batch: numbers, and arrays that are created on access. */
#include "extension.h"

#include <stddef.h>

struct batch {
    PyObject ob_base;
    const struct og_minibatch *m;
};

PyObject *batch_new(const struct module_state *state, const struct og_minibatch *m)
{
    struct batch *b = PyObject_New(struct batch, state->batch);
    if (!b) {
        og_minibatch_release(m);
        return NULL;
    }
    b->m = m;
    return (PyObject *)b;
}

static void batch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    og_minibatch_release(((struct batch *)self)->m);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- attributes; `at` is the field's offset ---- */

static const void *field(PyObject *self, void *at)
{
    return (const char *)((struct batch *)self)->m + (size_t)at;
}

static PyObject *get_array(PyObject *self, void *at)
{
    return array_new(state_of(self), ((struct batch *)self)->m, field(self, at));
}

static PyObject *get_int64(PyObject *self, void *at)
{
    return PyLong_FromLongLong(*(const int64_t *)field(self, at));
}

static PyObject *get_uint64(PyObject *self, void *at)
{
    return PyLong_FromUnsignedLongLong(*(const uint64_t *)field(self, at));
}

static PyObject *get_int(PyObject *self, void *at)
{
    return PyLong_FromLong(*(const int *)field(self, at));
}

static PyObject *get_double(PyObject *self, void *at)
{
    return PyFloat_FromDouble(*(const double *)field(self, at));
}

static PyObject *get_text(PyObject *self, void *at)
{
    return PyUnicode_FromString(*(const char *const *)field(self, at));
}

static PyObject *hop_tuple(const struct module_state *state, const struct og_minibatch *m,
                           const struct og_minibatch_hop *hop)
{
    PyObject *indptr = array_new(state, m, &hop->indptr);
    PyObject *src = indptr ? array_new(state, m, &hop->src) : NULL;
    PyObject *dst = src ? array_new(state, m, &hop->dst) : NULL;
    PyObject *weight = dst ? array_new(state, m, &hop->weight) : NULL;
    PyObject *edge = weight ? array_new(state, m, &hop->edge) : NULL;
    PyObject *attr = edge ? array_new(state, m, &hop->edge_attr) : NULL;
    PyObject *out =
        attr ? Py_BuildValue("(LLLLOOOOOO)", (long long)hop->n_dst, (long long)hop->n_src,
                             (long long)hop->n_edges, (long long)hop->first_edge, indptr, src, dst,
                             weight, edge, attr)
             : NULL;
    Py_XDECREF(indptr);
    Py_XDECREF(src);
    Py_XDECREF(dst);
    Py_XDECREF(weight);
    Py_XDECREF(edge);
    Py_XDECREF(attr);
    return out;
}

static PyObject *hops_tuple(const struct module_state *state, const struct og_minibatch *m,
                            struct og_minibatch_hop *const *hops)
{
    PyObject *out = PyTuple_New(m->n_hops);
    for (int h = 0; out && h < m->n_hops; h++) {
        PyObject *hop = hop_tuple(state, m, hops[h]);
        if (!hop || PyTuple_SetItem(out, h, hop) < 0) /* which takes `hop` in any case */
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *get_hops(PyObject *self, void *none)
{
    const struct og_minibatch *m = ((struct batch *)self)->m;
    (void)none;
    return hops_tuple(state_of(self), m, m->hop);
}

/* ---- types ---- */

static PyObject *counts_tuple(const struct og_minibatch *m, const struct og_minibatch_type *type)
{
    PyObject *out = PyTuple_New(m->n_hops + 1);
    for (int h = 0; out && h <= m->n_hops; h++) {
        PyObject *n = PyLong_FromLongLong(type->n[h]);
        if (!n || PyTuple_SetItem(out, h, n) < 0)
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *type_tuple(const struct module_state *state, const struct og_minibatch *m, int i)
{
    const struct og_minibatch_type *type = m->type[i];
    PyObject *n = counts_tuple(m, type);
    PyObject *ids = n ? array_new(state, m, &type->ids) : NULL;
    PyObject *x = ids ? array_new(state, m, &type->x) : NULL;
    PyObject *tree = x ? array_new(state, m, &type->tree) : NULL;
    PyObject *out = tree ? Py_BuildValue("(sOOOO)", type->name, n, ids, x, tree) : NULL;
    Py_XDECREF(n);
    Py_XDECREF(ids);
    Py_XDECREF(x);
    Py_XDECREF(tree);
    return out;
}

static PyObject *relation_tuple(const struct module_state *state, const struct og_minibatch *m,
                                int i)
{
    const struct og_minibatch_relation *r = m->relation[i];
    PyObject *edges = array_new(state, m, &r->edge_index);
    PyObject *hops = edges ? hops_tuple(state, m, r->hop) : NULL;
    PyObject *out = hops ? Py_BuildValue("(sssOO)", m->type[r->source]->name, r->name,
                                         m->type[r->destination]->name, edges, hops)
                         : NULL;
    Py_XDECREF(edges);
    Py_XDECREF(hops);
    return out;
}

typedef PyObject *part(const struct module_state *state, const struct og_minibatch *m, int i);

/* None for a homogeneous graph. */
static PyObject *tuple_of(PyObject *self, int n, part *make)
{
    const struct og_minibatch *m = ((struct batch *)self)->m;
    if (m->n_types == 0)
        Py_RETURN_NONE;
    PyObject *out = PyTuple_New(n);
    for (int i = 0; out && i < n; i++) {
        PyObject *one = make(state_of(self), m, i);
        if (!one || PyTuple_SetItem(out, i, one) < 0)
            Py_CLEAR(out);
    }
    return out;
}

static PyObject *get_types(PyObject *self, void *none)
{
    (void)none;
    return tuple_of(self, ((struct batch *)self)->m->n_types, type_tuple);
}

static PyObject *get_relations(PyObject *self, void *none)
{
    (void)none;
    return tuple_of(self, ((struct batch *)self)->m->n_relations, relation_tuple);
}

#define AT(name) ((void *)offsetof(struct og_minibatch, name))

static PyGetSetDef attributes[] = {
    {"ids", get_array, NULL, "int64 [n] nodes, seeds first", AT(ids)},
    {"input_id", get_array, NULL, "int64 [n_seeds] positions in the given seeds", AT(input_id)},
    {"x", get_array, NULL, "[n, F] features", AT(x)},
    {"y", get_array, NULL, "int64 [n_seeds] or float32 [n_seeds, C]", AT(y)},
    {"edge_index", get_array, NULL, "int64 [2, E] positions in ids", AT(edge_index)},
    {"pairs", get_array, NULL, "int64 [2, P] positions in ids", AT(pairs)},
    {"pair_relation", get_array, NULL, "int64 [P] with types", AT(pair_relation)},
    {"types", get_types, NULL, "None, or (name, n, ids, x, tree) of each; n per hop, and in total",
     NULL},
    {"tree", get_array, NULL, "int64 [n] seed in whose neighbourhood each of ids is", AT(tree)},
    {"relations", get_relations, NULL,
     "None, or (source, name, destination, edge_index, hops) of each", NULL},
    {"n_positive", get_int64, NULL, "edges at the beginning of pairs", AT(n_positive)},
    {"n_negative", get_int64, NULL, "negatives after them", AT(n_negative)},
    {"hops", get_hops, NULL,
     "(n_dst, n_src, n_edges, first_edge, indptr, src, dst, weight, edge, edge_attr) of each hop",
     NULL},
    {"n_seeds", get_int64, NULL, "seeds, or ends of pairs", AT(n_seeds)},
    {"split", get_text, NULL, "train, valid, test or seeds", AT(split)},
    {"epoch", get_int, NULL, "from 1; 0 in an evaluation", AT(epoch)},
    {"number", get_int64, NULL, "of the batch in its epoch, from 0", AT(batch)},
    {"batches", get_int64, NULL, "of the epoch", AT(batches)},
    {"hits", get_uint64, NULL, "rows that were in memory", AT(hits)},
    {"misses", get_uint64, NULL, "rows that were read for it", AT(misses)},
    {"bytes_read", get_uint64, NULL, "for it", AT(bytes_read)},
    {"stall_seconds", get_double, NULL, "waiting time for the batch", AT(stall_seconds)},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A mini-batch of the library; each array retains it."},
    {Py_tp_dealloc, (void *)batch_dealloc},
    {Py_tp_getset, attributes},
    {0},
};

PyType_Spec batch_spec = {
    .name = "outgrow._outgrow.Batch",
    .basicsize = sizeof(struct batch),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
