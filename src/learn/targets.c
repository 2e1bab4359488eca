#include "learn/targets.h"

#include "nn/tasks.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* ---- are there any, and of the model's kind? ---- */

int og__features_check(const struct og_model_config *c, const char *dataset, int dim,
                       struct og_err *err)
{
    return c->in_dim == dim
               ? 0
               : og__fail(
                     err, -EINVAL, "apply it to a graph with the features that it was trained on",
                     "the checkpoint reads %d features a node, %s has %d", c->in_dim, dataset, dim);
}

const json_t *og__class_names(const struct og_graph *ds, const struct og_model_config *c)
{
    const enum og__targets targets = og__task_of(c)->targets;
    const json_t *names =
        json_object_get(ds->meta, og__of_pairs(c) ? "edge_class_names" : "class_names");
    const bool named = targets == OG__OF_CLASSES || targets == OG__OF_LABELS;
    return named && json_array_size(names) == (size_t)c->n_classes ? names : NULL;
}

int og__targets_check(const struct og_graph *ds, const struct og_model_config *c,
                      struct og_err *err)
{
    static const char hint[] = "`outgrow predict` applies it without reading labels";
    const bool values = c->task >= 0 && og__targets_of_task(c->task) == OG__OF_VALUES;
    const bool of_edges = c->task >= 0 && og__task(c->task)->pairs; /* adopted */
    if (!of_edges && ds->labels.fd < 0)
        return og__fail(err, -EINVAL, hint, "%s: has no labels to evaluate by", ds->path);
    if (values && !og__float_labels(ds))
        return og__fail(err, -EINVAL, hint,
                        "the checkpoint was trained on values, the labels of %s are classes",
                        ds->path);
    if (values && c->loss == OG_LOSS_CROSS_ENTROPY && !ds->shares)
        return og__fail(err, -EINVAL, hint,
                        "the checkpoint was trained on shares, the labels of %s are values",
                        ds->path);
    if (c->task >= 0 && !values && ds->regression)
        return og__fail(err, -EINVAL, hint,
                        "the checkpoint was trained on classes, the labels of %s are values",
                        ds->path);
    if (og__float_labels(ds) && ds->n_classes != c->n_classes)
        return og__fail(err, -EINVAL, hint,
                        "the checkpoint makes %d numbers a node, the labels of %s have %d",
                        c->n_classes, ds->path, ds->n_classes);
    return 0;
}

/* A node counts if its class is known, or any of its labels or values is. */
static bool is_labelled(const struct og_graph *ds, const void *labels, int64_t k)
{
    const float *row = (const float *)labels + k * ds->n_classes;
    bool any = false;
    if (!og__float_labels(ds))
        return ((const int32_t *)labels)[k] >= 0;
    for (int j = 0; j < ds->n_classes; j++)
        any |= !isnan(row[j]);
    return any;
}

void og__forget_label(const struct og_graph *ds, void *labels, int64_t k)
{
    if (!og__float_labels(ds))
        ((int32_t *)labels)[k] = -1;
    for (int j = 0; og__float_labels(ds) && j < ds->n_classes; j++)
        ((float *)labels)[k * ds->n_classes + j] = NAN;
}

int64_t og__labelled(const struct og_graph *ds, const struct og_split *split)
{
    int64_t n = 0;
    for (int64_t k = 0; split->labels && k < split->n; k++)
        n += is_labelled(ds, split->labels, k);
    return n;
}

static int check_classes(const struct og_graph *ds, const struct og_model_config *c,
                         const struct og_split *split, struct og_err *err)
{
    const int32_t *label = split->labels;
    for (int64_t k = 0; !og__float_labels(ds) && k < split->n; k++)
        if (label[k] >= c->n_classes)
            return og__fail(err, -EINVAL, "`outgrow predict` applies it without reading labels",
                            "%s: number %lld of a split is of class %d, the checkpoint knows %d "
                            "classes",
                            ds->path, (long long)k, label[k], c->n_classes);
    return 0;
}

/* --split takes the other one, if there is one. */
static const char *other_split(const struct og_graph *ds, const struct og_model_config *c,
                               const char *name)
{
    const enum og__split other = strcmp(name, "test") == 0 ? OG__VALID : OG__TEST;
    const struct og_npy *list = og__of_pairs(c) ? &ds->edges[other] : &ds->split[other];
    if (list->fd >= 0 && list->shape[0] > 0)
        return other == OG__TEST ? "give --split test, or import the graph with such nodes"
                                 : "give --split valid, or import the graph with such nodes";
    return og__of_pairs(c) ? "import the graph with such edges"
                           : "import the graph with such nodes, by --split 60/20/20 for example";
}

int og__targets_check_split(const struct og_graph *ds, const struct og_model_config *c,
                            const struct og_split *split, const char *name, struct og_err *err)
{
    const char *hint = other_split(ds, c, name);
    if (split->n == 0)
        return og__fail(err, -EINVAL, hint, "%s: has no %s nodes or edges", ds->path, name);
    if (c->task >= 0 && og__targets_of_task(c->task) == OG__OF_PAIRS)
        return 0;
    if (og__labelled(ds, split) == 0)
        return og__fail(err, -EINVAL, hint, "%s: none of the %lld %s nodes or edges has a label",
                        ds->path, (long long)split->n, name);
    return check_classes(ds, c, split, err);
}

/* ---- of batches ---- */

static void copy_label(const struct og_workload *f, const struct og_work *w, uint64_t place,
                       uint32_t i, void *out)
{
    const size_t width = og__labels_bytes(f->graph, 1);
    const char *labels = f->split[w->descriptor.split].labels;
    memcpy((char *)out + i * width, labels + place * width, width);
}

void og__work_labels(const struct og_workload *f, const struct og_work *w, void *out)
{
    for (uint32_t i = 0; i < w->descriptor.n_seeds; i++)
        copy_label(f, w, w->seeds.place[i], i, out);
}

void og__seed_labels(const struct og_workload *f, const struct og_work *w, void *out)
{
    const struct og_seeds *s = &w->seeds;
    for (uint32_t i = 0; i < s->n; i++)
        copy_label(f, w, s->place[i < s->repeating ? s->first[i] : i], i, out);
}

/* The weight of seed i, times how often the turn lists it. */
static float weight_of(const struct og_split *split, const struct og_seeds *s, uint32_t i)
{
    const uint32_t at = i < s->repeating ? s->first[i] : i;
    float n = i < s->repeating ? 0 : 1;
    for (uint32_t v = i < s->repeating ? at : OG__NO_ID; v != OG__NO_ID; v = s->next[v])
        n++;
    return split->weights ? n * split->weights[s->place[at]] : n;
}

void og__work_rows(const struct og_workload *f, struct og_work *w, float *out)
{
    const size_t dim = (size_t)f->shape.pair_dim;
    const float *own = f->split[w->descriptor.split].own;
    for (uint32_t i = 0; dim > 0 && i < w->descriptor.n_seeds; i++)
        memcpy(out + i * dim, own + w->seeds.place[i] * dim, dim * sizeof(*out));
    w->seeds.pairs.own = dim > 0 ? out : NULL;
}

const void *og__work_targets(const struct og_workload *f, struct og_work *w, void *out)
{
    struct og_seeds *s = &w->seeds;
    const uint32_t n = f->seeds.edges ? w->descriptor.n_seeds : s->n;
    float *weight = (float *)(void *)((char *)out + og__labels_bytes(f->graph, n));
    if (f->seeds.edges && !f->seeds.rule.labelled)
        return &s->pairs;
    if (f->seeds.edges)
        og__work_labels(f, w, out);
    else
        og__seed_labels(f, w, out);
    for (uint32_t i = 0; f->shape.weighs_seeds && i < n; i++)
        weight[i] = weight_of(&f->split[w->descriptor.split], s, i);
    s->pairs.targets = out;
    if (f->seeds.edges)
        og__work_rows(f, w, og__own_rows_in(f, n, out));
    return f->seeds.edges ? (const void *)&s->pairs : out;
}
