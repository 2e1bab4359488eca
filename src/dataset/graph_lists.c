/* Lists of a graph that are loaded whole: splits, seeds, labels. */
#include "dataset/graph_parts.h"

#include <stdlib.h>
#include <string.h>

static const char again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

/* ---- splits ---- */

/* A list of ids that is looked through from the front: each must be below N. */
struct id_check {
    const struct og_graph *g;
    const char *name, *hint; /* of the list; what to do about one that is out of range */
    uint64_t *seen;          /* a bitmap of N bits */
    bool *repeats;           /* becomes true where an id is listed twice; NULL: that is an error */
};

/* Ids [first, first + n) of the list, as u32. */
static int check_ids(const struct id_check *c, const int64_t *list, int64_t first, int64_t n,
                     uint32_t *ids, struct og_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = list[i];
        if (id < 0 || id >= c->g->n_nodes)
            return og__fail(err, -EINVAL, c->hint,
                            "%s: row %lld: node %lld, the graph has %lld nodes", c->name,
                            (long long)(first + i), (long long)id, (long long)c->g->n_nodes);
        const bool repeated = c->seen[id / 64] >> (id % 64) & 1;
        if (repeated && !c->repeats)
            return og__fail(err, -EINVAL,
                            id <= 1 ? "numpy.flatnonzero(mask) makes ids of a mask; of a list "
                                      "remove the repeated ids (numpy.unique)"
                                    : "remove the repeated ids (numpy.unique)",
                            "%s: row %lld: node %lld is listed twice", c->name,
                            (long long)(first + i), (long long)id);
        if (repeated)
            *c->repeats = true;
        c->seen[id / 64] |= (uint64_t)1 << (id % 64);
        ids[i] = (uint32_t)id;
    }
    return 0;
}

static int read_ids(const struct id_check *c, const struct og_npy *a, uint32_t *ids,
                    struct og_err *err)
{
    enum { CHUNK = 4096 };
    int64_t chunk[CHUNK];
    for (int64_t first = 0; first < a->shape[0]; first += CHUNK) {
        int64_t n = OG_MIN(a->shape[0] - first, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(a, first, n, chunk, err));
        OG_DO(check_ids(c, chunk, first, n, ids + first, err));
    }
    return 0;
}

static size_t seen_bytes(const struct og_graph *g)
{
    return ((size_t)g->n_nodes / 64 + 1) * 8;
}

/* n ids, of the array or of the list. */
static int load_ids(struct id_check *c, const struct og_npy *a, const int64_t *list, int64_t n,
                    struct og_budget *b, uint32_t **ids, struct og_err *err)
{
    int rc = 0;
    *ids = NULL;
    if (n <= 0)
        return 0;
    uint32_t *found = og__alloc(b, (size_t)n * 4, "seeds", err);
    if (!found || !(c->seen = og__alloc(b, seen_bytes(c->g), "seeds", err)))
        OG_TRY(-ENOMEM);
    OG_TRY(a ? read_ids(c, a, found, err) : check_ids(c, list, 0, n, found, err));
    *ids = found;
out:
    og__release(b, c->seen, seen_bytes(c->g), "seeds");
    if (rc < 0)
        og__release(b, found, (size_t)n * 4, "seeds");
    return rc;
}

int og__graph_split(const struct og_graph *g, enum og__split split, struct og_budget *b,
                    uint32_t **ids, int64_t *count, struct og_err *err)
{
    const struct og_npy *a = &g->split[split];
    struct id_check check = {.g = g, .name = a->path, .hint = again_hint};
    const int64_t n = a->fd < 0 ? 0 : a->shape[0];
    const int rc = load_ids(&check, a, NULL, n, b, ids, err);
    *count = rc < 0 ? 0 : n;
    return rc;
}

int og__graph_take_ids(const struct og_graph *g, const char *name, const struct og_npy *a,
                       const int64_t *list, int64_t n, struct og_budget *b, uint32_t **ids,
                       struct og_err *err)
{
    struct id_check check = {
        .g = g, .name = name, .hint = "list ids of the graph's nodes, as train.npy does"};
    return load_ids(&check, a, list, n, b, ids, err);
}

enum og__split og__split_named(const char *name, size_t n)
{
    static const struct {
        const char *name;
        enum og__split split;
    } known[] = {{"train", OG__TRAIN},
                 {"valid", OG__VALID},
                 {"val", OG__VALID},
                 {"validation", OG__VALID},
                 {"test", OG__TEST}};
    for (size_t i = 0; i < OG_COUNT(known); i++)
        if (strlen(known[i].name) == n && strncmp(known[i].name, name, n) == 0)
            return known[i].split;
    return OG__SPLITS;
}

int og__graph_seeds(const struct og_graph *g, const int64_t *list, int64_t n, struct og_budget *b,
                    uint32_t **ids, bool *repeats, struct og_err *err)
{
    struct id_check check = {
        .g = g, .name = "seeds", .hint = "give ids of the graph's nodes", .repeats = repeats};
    *repeats = false;
    return load_ids(&check, NULL, list, n, b, ids, err);
}

/* ---- given negatives ---- */

/* Ids may be listed several times. */
static int read_negatives(const struct og_graph *g, const struct og_npy *flat, uint32_t *ids,
                          struct og_err *err)
{
    enum { CHUNK = 4096 };
    int64_t chunk[CHUNK];
    for (int64_t first = 0, n; first < flat->shape[0]; first += n) {
        n = OG_MIN(flat->shape[0] - first, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(flat, first, n, chunk, err));
        for (int64_t i = 0; i < n; i++) {
            if (chunk[i] < 0 || chunk[i] >= g->n_nodes)
                return og__fail(err, -EINVAL, again_hint,
                                "%s: number %lld: node %lld, the graph has %lld nodes", flat->path,
                                (long long)(first + i), (long long)chunk[i], (long long)g->n_nodes);
            ids[first + i] = (uint32_t)chunk[i];
        }
    }
    return 0;
}

int64_t og__negatives_width(const struct og_graph *g, enum og__split split)
{
    const struct og_npy *a = &g->negatives[split];
    return split == OG__TRAIN ? a->shape[0] * a->shape[1] / g->edges[split].shape[0] : a->shape[1];
}

int og__graph_negatives(const struct og_graph *g, enum og__split split, struct og_budget *b,
                        uint32_t **ids, int64_t *rows, int64_t *width, struct og_err *err)
{
    const struct og_npy *a = &g->negatives[split];
    *ids = NULL;
    *rows = *width = 0;
    if (a->fd < 0 || a->shape[0] * a->shape[1] == 0)
        return 0;
    const struct og_npy flat = og__npy_flat(a);
    const size_t bytes = (size_t)flat.shape[0] * sizeof(**ids);
    uint32_t *found = og__alloc(b, bytes, "seeds", err);
    if (!found)
        return -ENOMEM;
    const int rc = read_negatives(g, &flat, found, err);
    if (rc < 0) {
        og__release(b, found, bytes, "seeds");
        return rc;
    }
    *ids = found;
    *width = og__negatives_width(g, split);
    *rows = flat.shape[0] / *width;
    return 0;
}

/* ---- labels ---- */

/* Reads the file once, front to back. `order` sorts ids ascending, with entries id << 32 |
 * position; near rows are read together. */
struct label_walk {
    const struct og_graph *g;
    const uint64_t *order;
    int64_t count;
    char *buffer; /* WINDOW bytes, or one row if that is more */
    size_t buffer_bytes;
    void *out;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int put_class(const struct label_walk *w, const char *row, uint64_t entry,
                     struct og_err *err)
{
    int64_t label = 0;
    og__npy_widen(w->g->labels.type, row, 1, &label);
    if (label < -1 || label >= w->g->n_classes)
        return og__fail(err, -EINVAL, again_hint, "%s: node %llu: class %lld, there are %d",
                        w->g->labels.path, (unsigned long long)(entry >> 32), (long long)label,
                        w->g->n_classes);
    return og__graph_class(w->g, w->g->labels.path, (int64_t)(entry >> 32), label,
                           (int32_t *)w->out + (uint32_t)entry, err);
}

/* Reads one window from the next id on and serves all ids inside; returns how many. */
static int64_t serve_window(const struct label_walk *w, int64_t from, struct og_err *err)
{
    const struct og_npy *a = &w->g->labels;
    size_t row = og__npy_size(a->type) * (size_t)a->shape[1];
    int64_t rows = (int64_t)(w->buffer_bytes / row);
    int64_t first = (int64_t)(w->order[from] >> 32);
    int64_t end = from;
    while (end < w->count && (int64_t)(w->order[end] >> 32) < first + rows)
        end++;
    int rc = og__npy_read(a, first, (int64_t)(w->order[end - 1] >> 32) - first + 1, w->buffer, err);
    if (rc < 0)
        return rc;
    for (int64_t i = from; i < end; i++) {
        const char *p = w->buffer + (size_t)((int64_t)(w->order[i] >> 32) - first) * row;
        rc = og__float_labels(w->g)
                 ? og__graph_label_row(
                       w->g, a->path, (int64_t)(w->order[i] >> 32), (const float *)(const void *)p,
                       (float *)w->out + (size_t)(uint32_t)w->order[i] * (size_t)a->shape[1], err)
                 : put_class(w, p, w->order[i], err);
        if (rc < 0)
            return rc;
    }
    return end - from;
}

int og__graph_labels(const struct og_graph *g, const uint32_t *ids, int64_t count,
                     struct og_budget *b, void **labels, struct og_err *err)
{
    enum { WINDOW = 256 * 1024 };
    size_t bytes = og__labels_bytes(g, count);
    size_t order_bytes = (size_t)count * 8;
    int rc = 0;
    uint64_t *order = NULL;
    struct label_walk w = {g, NULL, count, NULL, 0, NULL};
    *labels = NULL;
    if (g->labels.fd < 0)
        return og__fail(err, -EINVAL, "import the graph with a label.npy", "%s: has no labels",
                        g->path);
    w.buffer_bytes = OG_MAX((size_t)g->labels.shape[1] * 8, (size_t)WINDOW);
    if (!(w.out = og__alloc(b, bytes, "labels", err)) ||
        !(order = og__alloc(b, order_bytes, "labels", err)) ||
        !(w.buffer = og__alloc(b, w.buffer_bytes, "labels", err)))
        OG_TRY(-ENOMEM);
    bool ascending = true;
    for (int64_t i = 0; i < count; i++) {
        order[i] = (uint64_t)ids[i] << 32 | (uint64_t)i;
        ascending = ascending && (i == 0 || order[i - 1] < order[i]);
    }
    if (!ascending)
        qsort(order, (size_t)count, sizeof(*order), compare_u64);
    w.order = order;
    for (int64_t done = 0, n; done < count; done += n) {
        n = serve_window(&w, done, err);
        OG_TRY((int)OG_MIN(n, (int64_t)0));
    }
    *labels = w.out;
out:
    og__release(b, w.buffer, w.buffer_bytes, "labels");
    og__release(b, order, order_bytes, "labels");
    if (rc < 0)
        og__release(b, w.out, bytes, "labels");
    return rc;
}
