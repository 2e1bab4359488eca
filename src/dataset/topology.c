/* The graph's structure in memory, or mapped. */
#include "dataset/alias.h"
#include "dataset/on_disk.h"
#include "dataset/relations.h"
#include "dataset/stream.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BLOCK = 4096 };

static const char part[] = "topology";

/* ---- in memory ---- */

size_t og__topology_bytes(const struct og_dataset *ds)
{
    return (size_t)ds->indptr.bytes + (size_t)ds->indices.bytes;
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

static struct og_topology empty(const struct og_dataset *ds, struct og_budget *b)
{
    return (struct og_topology){
        .n_nodes = ds->n_nodes, .n_edges = ds->n_edges, .n_sources = ds->n_sources, .budget = b};
}

static int read_lists(const struct og_dataset *ds, int64_t *indptr, void *indices,
                      struct og_err *err)
{
    struct og_indptr_check c = {ds, 0};
    int rc;
    OG_TRY(og__npy_load(&ds->indptr, indptr, check_indptr, &c, err));
    OG_TRY(og__check_indptr_end(&c, err));
    OG_TRY(og__npy_load(&ds->indices, indices, og__check_indices, (void *)ds, err));
out:
    return rc;
}

static void set_indices(struct og_topology *t, const struct og_dataset *ds, const void *indices)
{
    if (ds->indices.type == OG__NPY_I32)
        t->indices32 = indices;
    else
        t->indices64 = indices;
}

int og__topology_load(const struct og_dataset *ds, struct og_budget *b, struct og_topology *out,
                      struct og_err *err)
{
    int rc = 0;
    *out = empty(ds, b);
    int64_t *indptr = og__alloc(b, (size_t)ds->indptr.bytes, part, err);
    out->indptr = indptr;
    void *indices = indptr ? og__alloc(b, (size_t)ds->indices.bytes, part, err) : NULL;
    set_indices(out, ds, indices);
    if (!indices)
        OG_TRY(-ENOMEM);
    OG_TRY(read_lists(ds, indptr, indices, err));
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

size_t og__weights_bytes(const struct og_dataset *ds)
{
    return (size_t)ds->weights.bytes + alias_bytes(ds->n_edges);
}

int og__check_weights(const struct og_dataset *ds, const float *w, int64_t first, size_t n,
                      struct og_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(w[i] >= 0 && isfinite(w[i])))
            return og__fail(err, -EINVAL, "weights are finite numbers, 0 or more",
                            "%s: edge %lld: weight %g", ds->weights.path,
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

static int read_weights(const struct og_dataset *ds, const struct og_topology *t, float *weights,
                        struct og_alias_edge *alias, struct og_err *err)
{
    int rc = og__npy_load(&ds->weights, weights, check_chunk, (void *)ds, err);
    return rc < 0 ? rc : make_aliases(t, alias, err);
}

static int need_weights(const struct og_dataset *ds, struct og_err *err)
{
    return ds->weights.fd >= 0 ? 0
                               : og__fail(err, -EINVAL, "import the graph with an edge_weight.npy",
                                          "%s: has no edge weights", ds->path);
}

int og__weights_load(const struct og_dataset *ds, struct og_topology *t, struct og_err *err)
{
    int rc = need_weights(ds, err);
    if (rc < 0)
        return rc;
    float *weights = og__alloc(t->budget, (size_t)ds->weights.bytes, part, err);
    t->weights = weights;
    struct og_alias_edge *alias =
        weights ? og__alloc(t->budget, alias_bytes(t->n_edges), part, err) : NULL;
    t->alias = alias;
    if (!alias)
        OG_TRY(-ENOMEM);
    OG_TRY(read_weights(ds, t, weights, alias, err));
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

/* One behind the other: indptr, indices, and of a graph whose weights are used these and aliases.
 */
struct layout {
    size_t indices, weights, alias, bytes;
};

static struct layout lay_out(const struct og_dataset *ds, bool weighs)
{
    struct layout l = {.indices = og__round_up((size_t)ds->indptr.bytes, 64)};
    l.weights = l.indices + og__round_up((size_t)ds->indices.bytes, 64);
    l.alias = l.weights + (weighs ? og__round_up((size_t)ds->weights.bytes, 64) : 0);
    l.bytes = l.alias + (weighs ? alias_bytes(ds->n_edges) : 0);
    return l;
}

size_t og__topology_placed_bytes(const struct og_dataset *ds, bool weighs)
{
    return lay_out(ds, weighs).bytes;
}

static size_t own_part(size_t bytes, int sharers)
{
    const size_t n = (size_t)OG_MAX(sharers, 1);
    return (bytes + n - 1) / n;
}

size_t og__topology_part_bytes(const struct og_dataset *ds, bool weighs, int sharers)
{
    return own_part(lay_out(ds, weighs).bytes, sharers);
}

static void place(struct og_topology *t, const struct og_dataset *ds, bool weighs, const char *at)
{
    const struct layout l = lay_out(ds, weighs);
    t->indptr = (const int64_t *)(const void *)at;
    set_indices(t, ds, at + l.indices);
    t->weights = weighs ? (const float *)(const void *)(at + l.weights) : NULL;
    t->alias = weighs ? (const struct og_alias_edge *)(const void *)(at + l.alias) : NULL;
}

struct og_topology og__topology_at(const struct og_dataset *ds, bool weighs, const char *at)
{
    struct og_topology t = empty(ds, NULL);
    place(&t, ds, weighs, at);
    return t;
}

int og__topology_fill(const struct og_dataset *ds, bool weighs, struct og_budget *b, char *at,
                      struct og_err *err)
{
    const struct layout l = lay_out(ds, weighs);
    struct og_topology t = empty(ds, b);
    place(&t, ds, weighs, at);
    int rc = weighs ? need_weights(ds, err) : 0;
    OG_TRY(rc);
    OG_TRY(read_lists(ds, (int64_t *)(void *)at, at + l.indices, err));
    if (weighs)
        OG_TRY(read_weights(ds, &t, (float *)(void *)(at + l.weights),
                            (struct og_alias_edge *)(void *)(at + l.alias), err));
out:
    return rc;
}

struct filling {
    const struct og_dataset *ds;
    struct og_budget *budget;
    bool weighs;
};

static int fill(void *arg, void *at, struct og_err *err)
{
    const struct filling *f = arg;
    return og__topology_fill(f->ds, f->weighs, f->budget, at, err);
}

/* Wherever they lie. */
static uint64_t key_of(const struct og_dataset *ds, bool weighs)
{
    const struct og_array_state *a = ds->identity.array;
    const uint64_t lists = a[OG__INDPTR].contents * 3 + a[OG__INDICES].contents;
    return weighs ? lists * 3 + a[OG__WEIGHTS].contents + 1 : lists;
}

int og__topology_take(struct og_topology *t, const struct og_sharers *with,
                      const struct og_common_part *wanted, struct og_err *err)
{
    const size_t charged = own_part(wanted->bytes, with->n);
    int rc = og__budget_charge(t->budget, charged, part, err);
    if (rc < 0)
        return rc;
    rc = og__common_take(with->common, wanted, &t->shared, err);
    if (rc < 0)
        og__budget_uncharge(t->budget, charged, part);
    else
        t->charged = charged;
    return rc;
}

int og__topology_share(const struct og_dataset *ds, bool weighs, const struct og_sharers *with,
                       struct og_budget *b, struct og_topology *out, struct og_err *err)
{
    struct filling f = {ds, b, weighs};
    const struct og_common_part wanted = {
        .key = key_of(ds, weighs), .bytes = lay_out(ds, weighs).bytes, .fill = fill, .arg = &f};
    *out = empty(ds, b);
    int rc = weighs ? need_weights(ds, err) : 0;
    OG_TRY(rc);
    OG_TRY(og__topology_take(out, with, &wanted, err));
    place(out, ds, weighs, out->shared.at);
out:
    return rc;
}

static void release_shared(struct og_topology *t)
{
    og__common_give(&t->shared);
    og__budget_uncharge(t->budget, t->charged, part);
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

int og__topology_map(const struct og_dataset *ds, struct og_topology *out, struct og_err *err)
{
    bool narrow = ds->indices.type == OG__NPY_I32;
    *out = (struct og_topology){
        .n_nodes = ds->n_nodes, .n_edges = ds->n_edges, .n_sources = ds->n_sources, .mapped = ds};
    if (ds->indptr.offset % 8 != 0 || ds->indices.offset % (narrow ? 4 : 8) != 0)
        return og__fail(err, -ENOTSUP, "load it, or import the graph anew",
                        "%s: its arrays start off an element's boundary", ds->path);
    out->indptr = map_array(&ds->indptr);
    const void *indices = map_array(&ds->indices);
    if (narrow)
        out->indices32 = indices;
    else
        out->indices64 = indices;
    if (out->indptr && indices)
        return 0;
    int rc = og__fail_errno(err, -errno, NULL, "%s: cannot map the topology", ds->path);
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

void og__topology_release(struct og_topology *t)
{
    if (!t)
        return;
    og__relations_release(t);
    og__topology_close_disk(t);
    og__loops_release(t);
    if (t->shared.of) {
        release_shared(t);
        *t = (struct og_topology){0};
        return;
    }
    release_weights(t);
    size_t indptr_bytes = (size_t)(t->n_nodes + 1) * 8;
    const void *indices = t->indices32 ? (const void *)t->indices32 : t->indices64;
    if (t->mapped) {
        unmap_array(t->indptr, indptr_bytes);
        unmap_array(indices, index_bytes(t));
    } else {
        og__release(t->budget, (void *)t->indptr, indptr_bytes, part);
        og__release(t->budget, (void *)indices, index_bytes(t), part);
    }
    *t = (struct og_topology){0};
}
