#include "dataset/typed.h"

#include "base/descriptors.h"
#include "base/file.h"
#include "dataset/identity.h"
#include "dataset/opening.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const char again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

int og__is_typed(const char *path, bool *is, struct og_err *err)
{
    char *text;
    size_t len = 0;
    struct og_err why = {0};
    *is = false;
    int rc = og__meta_read(path, &text, &len, &why);
    if (rc == -ENOMEM)
        return og__fail_errno(err, rc, NULL, "%s", path);
    rc = rc < 0 ? 0 : og__meta_is_typed(text, len, is, err);
    free(text);
    return rc;
}

/* ---- opening ---- */

/* One of its arrays, by name. */
static int open_array(const struct og_typed *g, const char *name, bool optional, struct og_npy *a,
                      struct og_err *err)
{
    struct og_meta_file f;
    int rc = og__meta_find_file(&g->meta.plain, name, &f, g->nodes.path, err);
    return rc < 0 ? rc : og__open_array(g->nodes.path, name, &f, optional, a, err);
}

/* Whether weights of a relation are there: a file that meta.json names, or the usual one. */
static bool are_there(const struct og_typed *g, uint32_t r)
{
    char name[32];
    char file[64];
    struct og_meta_file f;
    snprintf(name, sizeof(name), "rel%u_weights", r);
    if (og__meta_find_file(&g->meta.plain, name, &f, g->nodes.path, NULL) < 0 || f.path)
        return true; /* or opening it says what is wrong */
    snprintf(file, sizeof(file), "%s.npy", name);
    char *path = og__path_join(g->nodes.path, file);
    const bool there = path && access(path, F_OK) == 0;
    free(path);
    return there;
}

/* All its arrays stay open. */
static int check_descriptors(const struct og_typed *g, struct og_err *err)
{
    enum { OF_NODES = 12 };
    uint64_t n = OF_NODES;
    for (uint32_t t = 0; t < g->meta.n_types; t++)
        n += g->meta.type[t].dim > 0;
    for (uint32_t r = 0; r < g->meta.n_relations; r++)
        n += are_there(g, r) ? 3 : 2;
    return og__descriptors_check(n, g->nodes.path, NULL, err);
}

static int open_features(const struct og_typed *g, uint32_t t, struct og_err *err)
{
    char name[32];
    const struct og_type_meta *m = &g->meta.type[t];
    struct og_dataset *view = &g->type[t].view;
    snprintf(name, sizeof(name), "features_%u", t);
    int rc = open_array(g, name, m->dim < 1, &view->features, err);
    if (rc < 0 || view->features.fd < 0)
        return rc;
    return og__check_features(view, m->dim, m->dtype, err);
}

static void blank_view(const struct og_typed *g, struct og_dataset *view)
{
    og__dataset_blank(view);
    view->path = g->nodes.path; /* the views' strings are the whole's */
    view->name = g->nodes.name;
}

static int open_types(struct og_typed *g, struct og_err *err)
{
    int64_t first = 0;
    int rc = 0;
    if (!(g->type = calloc(g->meta.n_types, sizeof(*g->type))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path);
    for (; g->n_types < g->meta.n_types; g->n_types++) {
        const struct og_type_meta *m = &g->meta.type[g->n_types];
        struct og_node_type *t = &g->type[g->n_types];
        *t = (struct og_node_type){.name = m->name, .first = first};
        blank_view(g, &t->view);
        t->view.n_nodes = t->view.n_sources = m->count;
        first += m->count;
    }
    for (uint32_t t = 0; t < g->n_types; t++)
        OG_TRY(open_features(g, t, err));
out:
    return rc;
}

static int disagree(const struct og_npy *a, const char *what, int64_t said, int64_t found,
                    struct og_err *err)
{
    return og__fail(err, -EINVAL, again_hint, "%s: %s: %lld expected, %lld found", a->path, what,
                    (long long)said, (long long)found);
}

static int check_relation(struct og_dataset *v, int64_t said, struct og_err *err)
{
    const struct og_npy *p = &v->indptr;
    const struct og_npy *i = &v->indices;
    const struct og_npy *w = &v->weights;
    if (p->type != OG__NPY_I64 || p->shape[1] != 1)
        return og__fail(err, -EINVAL, again_hint, "%s: must be int64", p->path);
    if ((i->type != OG__NPY_I32 && i->type != OG__NPY_I64) || i->shape[1] != 1)
        return og__fail(err, -EINVAL, again_hint, "%s: must be int32 or int64", i->path);
    if (p->shape[0] != v->n_nodes + 1)
        return disagree(p, "one more than nodes of the destination", v->n_nodes + 1, p->shape[0],
                        err);
    v->n_edges = i->shape[0];
    if (said >= 0 && said != v->n_edges)
        return disagree(i, "num_edges", said, v->n_edges, err);
    if (w->fd >= 0 && (w->type != OG__NPY_F32 || w->shape[0] != v->n_edges || w->shape[1] != 1))
        return og__fail(err, -EINVAL, again_hint, "%s: must be float32, one an edge", w->path);
    return 0;
}

static int open_relation(const struct og_typed *g, uint32_t r, struct og_err *err)
{
    static const char *const arrays[] = {"indptr", "indices", "weights"};
    struct og_relation *rel = &g->relation[r];
    struct og_npy *const array[] = {&rel->view.indptr, &rel->view.indices, &rel->view.weights};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        char name[32];
        snprintf(name, sizeof(name), "rel%u_%s", r, arrays[i]);
        OG_TRY(open_array(g, name, i == 2, array[i], err));
    }
    OG_TRY(check_relation(&rel->view, g->meta.relation[r].n_edges, err));
out:
    return rc;
}

static int open_relations(struct og_typed *g, struct og_err *err)
{
    int rc = 0;
    if (!(g->relation = calloc(g->meta.n_relations, sizeof(*g->relation))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path);
    for (; g->n_relations < g->meta.n_relations; g->n_relations++) {
        const struct og_relation_meta *m = &g->meta.relation[g->n_relations];
        struct og_relation *r = &g->relation[g->n_relations];
        *r = (struct og_relation){
            .name = m->name, .source = m->source, .destination = m->destination};
        blank_view(g, &r->view);
        r->view.n_nodes = g->meta.type[r->destination].count;
        r->view.n_sources = g->meta.type[r->source].count;
    }
    for (uint32_t r = 0; r < g->n_relations; r++) {
        OG_TRY(open_relation(g, r, err));
        g->nodes.n_edges += g->relation[r].view.n_edges;
    }
    const int64_t said = g->meta.plain.n_edges;
    if (g->nodes.n_edges < 1 || (said >= 0 && said != g->nodes.n_edges))
        OG_TRY(og__fail(err, -EINVAL, again_hint, "%s: num_edges: %lld edges in all relations",
                        g->nodes.path, (long long)g->nodes.n_edges));
out:
    return rc;
}

/* Beside each list of edges, as many. */
static int open_edge_relations(struct og_typed *g, struct og_err *err)
{
    static const char *const names[OG__SPLITS] = {"train_edge_relations", "valid_edge_relations",
                                                  "test_edge_relations"};
    int rc = 0;
    for (int s = 0; s < OG__SPLITS; s++) {
        struct og_npy *a = &g->edge_relations[s];
        const struct og_npy *edges = &g->nodes.edges[s];
        OG_TRY(open_array(g, names[s], true, a, err));
        if (a->fd < 0)
            continue;
        if (!og__npy_is_integer(a->type) || a->shape[1] != 1)
            OG_TRY(og__fail(err, -EINVAL, again_hint, "%s: must be whole numbers, one an edge",
                            a->path));
        if (edges->fd < 0 || edges->shape[0] != a->shape[0])
            OG_TRY(disagree(a, "edges of the list beside it", edges->fd < 0 ? 0 : edges->shape[0],
                            a->shape[0], err));
    }
out:
    return rc;
}

static int open_nodes(struct og_typed *g, struct og_err *err)
{
    static const enum og__array arrays[] = {
        OG__LABELS,          OG__ARRAY_TRAIN,       OG__ARRAY_VALID,
        OG__ARRAY_TEST,      OG__ARRAY_TRAIN_EDGES, OG__ARRAY_VALID_EDGES,
        OG__ARRAY_TEST_EDGES};
    struct og_dataset *ds = &g->nodes;
    int rc = 0;
    ds->n_nodes = ds->n_sources = g->meta.plain.n_nodes;
    for (size_t i = 0; i < OG_COUNT(arrays); i++)
        OG_TRY(open_array(g, og__array_name(arrays[i]), true, og__array_of(ds, arrays[i]), err));
    OG_TRY(open_array(g, "node_ids", true, &g->node_ids, err));
    OG_TRY(og__check_labels(ds, &g->meta.plain, err));
    OG_TRY(og__check_splits(ds, err));
    OG_TRY(open_edge_relations(g, err));
    if (g->node_ids.fd >= 0 && (g->node_ids.type != OG__NPY_I64 || g->node_ids.shape[1] != 1 ||
                                g->node_ids.shape[0] != ds->n_nodes))
        OG_TRY(
            og__fail(err, -EINVAL, again_hint, "%s: must be int64, one a node", g->node_ids.path));
out:
    return rc;
}

/* ---- which dataset it is ---- */

static int mix_array(uint64_t *sum, const struct og_npy *a, struct og_err *err)
{
    uint64_t one = 0;
    int rc = og__npy_there(a) ? og__array_contents(a, &one, err) : 0;
    *sum = XXH3_64bits_withSeed(&one, sizeof(one), *sum);
    return rc;
}

static int mix_view(uint64_t *sum, struct og_dataset *v, struct og_err *err)
{
    const int64_t facts[] = {v->n_nodes, v->n_sources, v->n_edges,   v->dim,
                             v->dtype,   v->n_classes, v->regression};
    int rc = 0;
    *sum = XXH3_64bits_withSeed(facts, sizeof(facts), *sum);
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        OG_TRY(mix_array(sum, og__array_of(v, a), err));
out:
    return rc;
}

static void mix_name(uint64_t *sum, const char *name)
{
    *sum = XXH3_64bits_withSeed(name, strlen(name) + 1, *sum);
}

uint64_t og__type_contents(uint64_t whole, uint32_t type)
{
    return XXH3_64bits_withSeed(&type, sizeof(type), whole);
}

static void settle_contents(struct og_typed *g, uint64_t whole)
{
    g->contents = g->nodes.identity.contents = whole;
    for (uint32_t t = 0; t < g->n_types; t++)
        g->type[t].view.identity.contents = og__type_contents(whole, t);
}

static int identify(struct og_typed *g, struct og_err *err)
{
    uint64_t *sum = &g->contents;
    int rc;
    OG_TRY(mix_view(sum, &g->nodes, err));
    for (uint32_t t = 0; t < g->n_types; t++) {
        mix_name(sum, g->type[t].name);
        OG_TRY(mix_view(sum, &g->type[t].view, err));
    }
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *rel = &g->relation[r];
        const uint32_t ends[] = {rel->source, rel->destination};
        mix_name(sum, rel->name);
        *sum = XXH3_64bits_withSeed(ends, sizeof(ends), *sum);
        OG_TRY(mix_view(sum, &g->relation[r].view, err));
    }
    for (int s = 0; s < OG__SPLITS; s++)
        if (g->edge_relations[s].fd >= 0)
            OG_TRY(mix_array(sum, &g->edge_relations[s], err));
    settle_contents(g, g->contents);
out:
    return rc;
}

/* ---- open and close ---- */

static int read_meta(struct og_typed *g, struct og_err *err)
{
    char *text;
    size_t len = 0;
    char *path = og__path_join(g->nodes.path, "meta.json");
    int rc;
    OG_TRY(og__meta_read(g->nodes.path, &text, &len, err));
    OG_TRY(path ? og__typed_meta_parse(&g->meta, text, len, path, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path));
    const char *said = g->meta.plain.name;
    g->nodes.name = said ? strdup(said) : og__dataset_name(g->nodes.path);
    OG_TRY(g->nodes.name ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path));
out:
    free(text);
    free(path);
    return rc;
}

int og__typed_open(const char *path, struct og_typed **out, struct og_err *err)
{
    *out = NULL;
    struct og_typed *g = calloc(1, sizeof(*g));
    int rc;
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    og__dataset_blank(&g->nodes);
    g->node_ids.fd = -1;
    for (int s = 0; s < OG__SPLITS; s++)
        g->edge_relations[s].fd = -1;
    OG_TRY((g->nodes.path = strdup(path)) ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(read_meta(g, err));
    OG_TRY(check_descriptors(g, err));
    OG_TRY(open_types(g, err));
    OG_TRY(open_relations(g, err));
    OG_TRY(open_nodes(g, err));
    OG_TRY(identify(g, err));
    *out = g;
    return 0;
out:
    og__typed_close(g);
    return rc;
}

static void close_view(struct og_dataset *v)
{
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        og__npy_close(og__array_of(v, a));
}

void og__typed_close(struct og_typed *g)
{
    if (!g)
        return;
    for (uint32_t t = 0; t < g->n_types; t++)
        close_view(&g->type[t].view);
    for (uint32_t r = 0; r < g->n_relations; r++)
        close_view(&g->relation[r].view);
    close_view(&g->nodes);
    og__npy_close(&g->node_ids);
    for (int s = 0; s < OG__SPLITS; s++)
        og__npy_close(&g->edge_relations[s]);
    free(g->type);
    free(g->relation);
    free(g->nodes.path);
    free(g->nodes.name);
    og__typed_meta_release(&g->meta);
    free(g);
}

void og__typed_replace(struct og_typed *left, struct og_typed *g)
{
    char *path = left->nodes.path;
    left->nodes.path = g->nodes.path;
    g->nodes.path = path;
    for (uint32_t t = 0; t < left->n_types; t++)
        left->type[t].view.path = left->nodes.path;
    for (uint32_t r = 0; r < left->n_relations; r++)
        left->relation[r].view.path = left->nodes.path;
    left->nodes.identity = g->nodes.identity; /* as that of graphs without types */
    settle_contents(left, g->contents);
    og__typed_close(g);
}

size_t og__typed_feature_bytes(const struct og_typed *g)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < g->n_types; t++)
        if (g->type[t].view.dim > 0)
            bytes += (size_t)g->type[t].view.n_nodes * og__row_bytes(&g->type[t].view);
    return bytes;
}

uint32_t og__type_of(const struct og_typed *g, uint32_t node)
{
    uint32_t low = 0;
    for (uint32_t n = g->n_types; n > 1;) { /* types low .. low + n hold it */
        const uint32_t half = n / 2;
        const bool above = node >= g->type[low + half].first;
        low += above ? half : 0;
        n = above ? n - half : half;
    }
    return low;
}
