#include "sample/trees.h"

#include "base/id_table.h"

#include <string.h>

static const char part[] = "sampler";

/* ---- memory ---- */

size_t og__trees_bytes(uint64_t seeds, uint64_t places)
{
    return og__id_table_size(2 * places) * sizeof(struct og_tree_place) +
           2 * (size_t)places * sizeof(uint32_t) +
           (size_t)seeds * (sizeof(int64_t) + sizeof(uint64_t)) + sizeof(struct og_trees);
}

int og__trees_open(struct og_trees **out, struct og_budget *b, struct og_err *err)
{
    *out = og__alloc(b, sizeof(**out), part, err);
    if (!*out)
        return -ENOMEM;
    **out = (struct og_trees){.budget = b};
    return 0;
}

static void drop_seeds(struct og_trees *t)
{
    og__release(t->budget, t->time, t->n * sizeof(*t->time), part);
    og__release(t->budget, t->key, t->n * sizeof(*t->key), part);
    t->time = NULL;
    t->key = NULL;
    t->n = 0;
}

void og__trees_close(struct og_trees *t)
{
    if (!t)
        return;
    drop_seeds(t);
    og__release(t->budget, t->entry, t->size * sizeof(*t->entry), part);
    og__release(t->budget, t->tree, t->n_tree * sizeof(*t->tree), part);
    og__release(t->budget, t, sizeof(*t), part);
}

int og__trees_fit_seeds(struct og_trees *t, size_t n, struct og_err *err)
{
    if (n <= t->n)
        return 0;
    drop_seeds(t);
    t->time = og__alloc(t->budget, n * sizeof(*t->time), part, err);
    t->key = t->time ? og__alloc(t->budget, n * sizeof(*t->key), part, err) : NULL;
    t->n = t->time ? n : 0;
    return t->key ? 0 : -ENOMEM;
}

static int fit_list(struct og_trees *t, size_t n, size_t keep, struct og_err *err)
{
    if (n <= t->n_tree)
        return 0;
    n += n / 4;
    uint32_t *tree = og__alloc(t->budget, n * sizeof(*tree), part, err);
    if (!tree)
        return -ENOMEM;
    if (keep > 0)
        memcpy(tree, t->tree, keep * sizeof(*tree));
    og__release(t->budget, t->tree, t->n_tree * sizeof(*tree), part);
    t->tree = tree;
    t->n_tree = n;
    return 0;
}

static int fit_table(struct og_trees *t, uint64_t places, const struct og_batch *b,
                     struct og_err *err)
{
    if (t->size > 0 && places <= t->size * 5 / 8)
        return 0;
    og__release(t->budget, t->entry, t->size * sizeof(*t->entry), part);
    t->size = og__id_table_size(2 * places);
    t->entry = og__alloc(t->budget, t->size * sizeof(*t->entry), part, err);
    if (!t->entry) {
        t->size = 0;
        return -ENOMEM;
    }
    memset(t->entry, 0xff, t->size * sizeof(*t->entry));
    for (uint32_t i = 0; i < b->n_places; i++)
        og__tree_place(t, b->node[i], t->tree[i], i);
    return 0;
}

int og__trees_fit(struct og_trees *t, uint64_t places, const struct og_batch *b, struct og_err *err)
{
    const int rc = fit_list(t, (size_t)places, b->n_places, err);
    return rc < 0 ? rc : fit_table(t, places, b, err);
}

/* ---- a batch ---- */

int og__trees_begin(struct og_trees *t, const uint32_t *seeds, uint32_t n, struct og_err *err)
{
    static const struct og_batch none;
    OG_DO(og__trees_fit_seeds(t, n, err));
    OG_DO(og__trees_fit(t, n, &none, err));
    memset(t->entry, 0xff, t->size * sizeof(*t->entry));
    for (uint32_t i = 0; i < n; i++) {
        t->tree[i] = i;
        og__tree_place(t, seeds[i], i, i);
    }
    return 0;
}
