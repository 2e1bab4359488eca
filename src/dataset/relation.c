/* The lists of one relation in memory, or mapped. */
#include "dataset/relation.h"

#include "dataset/alias.h"
#include "dataset/on_disk.h"
#include "dataset/stream.h"

#include <math.h>
#include <sys/mman.h>

enum { BLOCK = 4096 };

static const char part[] = "topology";

/* ---- in memory ---- */

size_t og__relation_bytes(const struct og_relation *r)
{
    return (size_t)r->indptr.bytes + (size_t)r->indices.bytes;
}

static size_t index_bytes(const struct og_topology *t)
{
    return (size_t)t->n_edges * (t->indices32 ? 4 : 8);
}

static int check_indptr(void *arg, const void *data, int64_t first_byte, size_t bytes,
                        struct og_err *err)
{
    return og__check_indptr(arg, data, first_byte / 8, bytes / 8, err);
}

static struct og_topology empty(const struct og_relation *r, struct og_budget *b)
{
    return (struct og_topology){
        .n_nodes = r->n_nodes, .n_edges = r->n_edges, .n_sources = r->n_sources, .budget = b};
}

static int read_lists(const struct og_relation *r, int64_t *indptr, void *indices,
                      struct og_err *err)
{
    struct og_indptr_check c = {r, 0};
    OG_DO(og__npy_load(&r->indptr, indptr, check_indptr, &c, err));
    OG_DO(og__check_indptr_end(&c, err));
    return og__npy_load(&r->indices, indices, og__check_indices, (void *)r, err);
}

static void set_indices(struct og_topology *t, const struct og_relation *r, const void *indices)
{
    if (r->indices.type == OG__NPY_I32)
        t->indices32 = indices;
    else
        t->indices64 = indices;
}

int og__relation_load(const struct og_relation *r, struct og_budget *b, struct og_topology *out,
                      struct og_err *err)
{
    int rc = 0;
    *out = empty(r, b);
    int64_t *indptr = og__alloc(b, (size_t)r->indptr.bytes, part, err);
    out->indptr = indptr;
    void *indices = indptr ? og__alloc(b, (size_t)r->indices.bytes, part, err) : NULL;
    set_indices(out, r, indices);
    if (!indices)
        OG_TRY(-ENOMEM);
    OG_TRY(read_lists(r, indptr, indices, err));
out:
    if (rc < 0)
        og__topology_release(out);
    return rc;
}

/* ---- edge weights ---- */

static size_t alias_bytes(int64_t n_edges)
{
    return ((size_t)n_edges + 1) * sizeof(struct og_alias_edge);
}

size_t og__relation_weights_bytes(const struct og_relation *r, enum og_weights weights)
{
    return (weights != OG__NO_WEIGHTS ? (size_t)r->weights.bytes : 0) +
           (weights == OG__WEIGHT_TABLES ? alias_bytes(r->n_edges) : 0);
}

int og__check_weights(const struct og_relation *r, const float *w, int64_t first, size_t n,
                      struct og_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(w[i] >= 0 && isfinite(w[i])))
            return og__fail(err, -EINVAL, "weights are finite numbers, 0 or more",
                            "%s: edge %lld: weight %g", r->weights.path,
                            (long long)first + (long long)i, (double)w[i]);
    return 0;
}

static int check_chunk(void *dataset, const void *data, int64_t first_byte, size_t bytes,
                       struct og_err *err)
{
    return og__check_weights(dataset, data, first_byte / (int64_t)sizeof(float),
                             bytes / sizeof(float), err);
}

static void release_weights(struct og_topology *t)
{
    og__release(t->budget, (void *)t->weights, (size_t)t->n_edges * sizeof(float), part);
    og__release(t->budget, (void *)t->alias, alias_bytes(t->n_edges), part);
    t->weights = NULL;
    t->alias = NULL;
}

static int make_aliases(const struct og_topology *t, struct og_alias_edge *table,
                        struct og_err *err)
{
    size_t bytes = og__alias_list_scratch_bytes(OG_MAX(og__longest_list(t), (int64_t)1));
    void *scratch = og__alloc(t->budget, bytes, part, err);
    if (!scratch)
        return -ENOMEM;
    for (int64_t v = 0; v < t->n_nodes; v++)
        og__alias_list_make(t, (uint32_t)v, table, scratch);
    og__release(t->budget, scratch, bytes, part);
    return 0;
}

static int read_weights(const struct og_relation *r, const struct og_topology *t, float *weights,
                        struct og_alias_edge *alias, struct og_err *err)
{
    int rc = og__npy_load(&r->weights, weights, check_chunk, (void *)r, err);
    return rc < 0 || !alias ? rc : make_aliases(t, alias, err);
}

static int need_weights(const struct og_relation *r, struct og_err *err)
{
    return r->weights.fd >= 0 ? 0
                              : og__fail(err, -EINVAL, "import the graph with an edge_weight.npy",
                                         "%s: has no edge weights", r->graph->path);
}

int og__relation_load_weights(const struct og_relation *r, enum og_weights weights,
                              struct og_topology *t, struct og_err *err)
{
    const bool tables = weights == OG__WEIGHT_TABLES;
    int rc = need_weights(r, err);
    if (rc < 0)
        return rc;
    float *weight = og__alloc(t->budget, (size_t)r->weights.bytes, part, err);
    t->weights = weight;
    struct og_alias_edge *alias =
        weight && tables ? og__alloc(t->budget, alias_bytes(t->n_edges), part, err) : NULL;
    t->alias = alias;
    if (!weight || (tables && !alias))
        OG_TRY(-ENOMEM);
    OG_TRY(read_weights(r, t, weight, alias, err));
out:
    if (rc < 0)
        release_weights(t);
    return rc;
}

int64_t og__longest_list(const struct og_topology *t)
{
    int64_t longest = 0;
    if (t->disk)
        return t->disk->longest;
    for (int64_t v = 0; v < t->n_nodes; v++)
        longest = OG_MAX(longest, t->indptr[v + 1] - t->indptr[v]);
    return longest;
}

/* ---- in memory that processes share ---- */

/* Consecutive arrays: indptr, indices, and if weights are used, these and the alias tables. */
struct layout {
    size_t indices, weights, alias, bytes;
};

static struct layout lay_out(const struct og_relation *r, enum og_weights weights)
{
    struct layout l = {.indices = og__round_up((size_t)r->indptr.bytes, 64)};
    l.weights = l.indices + og__round_up((size_t)r->indices.bytes, 64);
    l.alias =
        l.weights + (weights != OG__NO_WEIGHTS ? og__round_up((size_t)r->weights.bytes, 64) : 0);
    l.bytes = l.alias + (weights == OG__WEIGHT_TABLES ? alias_bytes(r->n_edges) : 0);
    return l;
}

size_t og__relation_placed_bytes(const struct og_relation *r, enum og_weights weights)
{
    return lay_out(r, weights).bytes;
}

void og__relation_place(const struct og_relation *r, enum og_weights weights, const char *at,
                        struct og_topology *t)
{
    const struct layout l = lay_out(r, weights);
    const bool weighs = weights != OG__NO_WEIGHTS, tables = weights == OG__WEIGHT_TABLES;
    t->n_nodes = r->n_nodes;
    t->n_edges = r->n_edges;
    t->n_sources = r->n_sources;
    t->indptr = (const int64_t *)(const void *)at;
    set_indices(t, r, at + l.indices);
    t->weights = weighs ? (const float *)(const void *)(at + l.weights) : NULL;
    t->alias = tables ? (const struct og_alias_edge *)(const void *)(at + l.alias) : NULL;
}

int og__relation_fill(const struct og_relation *r, enum og_weights weights, struct og_budget *b,
                      char *at, struct og_err *err)
{
    const struct layout l = lay_out(r, weights);
    const bool weighs = weights != OG__NO_WEIGHTS;
    struct og_topology t = {.budget = b};
    og__relation_place(r, weights, at, &t);
    int rc = weighs ? need_weights(r, err) : 0;
    OG_TRY(rc);
    OG_TRY(read_lists(r, (int64_t *)(void *)at, at + l.indices, err));
    if (weighs)
        OG_TRY(read_weights(r, &t, (float *)(void *)(at + l.weights),
                            (struct og_alias_edge *)t.alias, err));
out:
    return rc;
}

/* ---- mapped ---- */

/* A page before the first element is mapped along when the header is shorter than a page. */
static const void *map_array(const struct og_npy *a)
{
    off_t start = a->offset / BLOCK * BLOCK;
    size_t skip = (size_t)(a->offset - start);
    char *p = mmap(NULL, skip + (size_t)a->bytes, PROT_READ, MAP_SHARED, a->fd, start);
    return p == MAP_FAILED ? NULL : p + skip;
}

static void unmap_array(const void *p, size_t bytes)
{
    if (!p)
        return;
    size_t skip = (uintptr_t)p % BLOCK;
    munmap((char *)p - skip, skip + bytes);
}

int og__relation_map(const struct og_relation *r, struct og_topology *out, struct og_err *err)
{
    bool narrow = r->indices.type == OG__NPY_I32;
    *out = (struct og_topology){
        .n_nodes = r->n_nodes, .n_edges = r->n_edges, .n_sources = r->n_sources, .mapped = r};
    if (r->indptr.offset % 8 != 0 || r->indices.offset % (narrow ? 4 : 8) != 0)
        return og__fail(err, -ENOTSUP, "load it into memory, or import the graph again",
                        "%s: its arrays start off an element's boundary", r->graph->path);
    out->indptr = map_array(&r->indptr);
    const void *indices = map_array(&r->indices);
    if (narrow)
        out->indices32 = indices;
    else
        out->indices64 = indices;
    if (out->indptr && indices)
        return 0;
    int rc = og__fail_errno(err, -errno, NULL, "%s: cannot map the topology", r->graph->path);
    og__topology_release(out);
    return rc;
}

int og__mapped_lists(const struct og_topology *t, const uint32_t *nodes, uint32_t n,
                     struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const int64_t begin = t->indptr[nodes[i]];
        const int64_t end = t->indptr[nodes[i] + (uint64_t)1];
        if (begin < 0 || end < begin || end > t->n_edges)
            return og__bad_list(t->mapped, nodes[i], begin, end, err);
    }
    return 0;
}

int og__mapped_edges(const struct og_topology *t, int64_t first, int64_t n, struct og_err *err)
{
    const int64_t size = t->indices32 ? 4 : 8;
    const char *data =
        t->indices32 ? (const char *)(t->indices32 + first) : (const char *)(t->indices64 + first);
    return og__check_indices((void *)t->mapped, data, first * size, (size_t)(n * size), err);
}

void og__relation_release(struct og_topology *t)
{
    const size_t indptr_bytes = (size_t)(t->n_nodes + 1) * 8;
    const void *indices = t->indices32 ? (const void *)t->indices32 : t->indices64;
    release_weights(t);
    if (t->mapped) {
        unmap_array(t->indptr, indptr_bytes);
        unmap_array(indices, index_bytes(t));
    } else {
        og__release(t->budget, (void *)t->indptr, indptr_bytes, part);
        og__release(t->budget, (void *)indices, index_bytes(t), part);
    }
}
