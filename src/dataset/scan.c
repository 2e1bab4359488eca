/* Topology as one long stream of edges, wherever it is. */
#include "base/bits.h"
#include "dataset/on_disk.h"
#include "dataset/stream.h"

#include <string.h>

enum {
    FIRST_MORE = 1 << 10,
    RUN = 1 << 20, /* edges passed on at once if no conversion is needed */
    NARROW = 4096, /* where they have */
};

static const char part[] = "topology";

struct scan {
    const struct og_topology *t;
    og_scan_fn *fn;
    void *arg;
};

static int pass_on32(const struct scan *s, int64_t first, const int32_t *p, size_t n,
                     struct og_err *err)
{
    return s->fn(s->arg, first, (const uint32_t *)p, n, err);
}

static int pass_on64(const struct scan *s, int64_t first, const int64_t *p, size_t n,
                     struct og_err *err)
{
    uint32_t ids[NARROW];
    for (size_t done = 0; done < n; done += NARROW) {
        size_t m = OG_MIN(n - done, (size_t)NARROW);
        for (size_t i = 0; i < m; i++)
            ids[i] = (uint32_t)p[done + i];
        OG_DO(s->fn(s->arg, first + (int64_t)done, ids, m, err));
    }
    return 0;
}

static int scan_memory(const struct scan *s, struct og_err *err)
{
    const struct og_topology *t = s->t;
    int rc = 0;
    for (int64_t first = 0; first < t->n_edges; first += RUN) {
        size_t n = (size_t)OG_MIN(t->n_edges - first, (int64_t)RUN);
        OG_TRY(t->indices32 ? pass_on32(s, first, t->indices32 + first, n, err)
                            : pass_on64(s, first, t->indices64 + first, n, err));
    }
out:
    return OG_MIN(rc, 0);
}

static int scan_chunk(void *arg, const void *data, int64_t first_byte, size_t bytes,
                      struct og_err *err)
{
    const struct scan *s = arg;
    const struct og_relation *r = s->t->disk->of;
    OG_DO(og__check_indices((void *)r, data, first_byte, bytes, err));
    return r->indices.type == OG__NPY_I32 ? pass_on32(s, first_byte / 4, data, bytes / 4, err)
                                          : pass_on64(s, first_byte / 8, data, bytes / 8, err);
}

int og__topology_scan(const struct og_topology *t, og_scan_fn *fn, void *arg, struct og_err *err)
{
    struct scan s = {t, fn, arg};
    if (!t->disk)
        return scan_memory(&s, err);
    void *buffer = og__alloc(t->budget, OG__CHUNK, part, err);
    if (!buffer)
        return -ENOMEM;
    int rc = og__npy_stream(&t->disk->of->indices, buffer, scan_chunk, &s, err);
    og__release(t->budget, buffer, OG__CHUNK, part);
    return rc;
}

/* ---- out-degrees ---- */

static int count_run(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    enum { AHEAD = 32 };
    uint32_t *count = arg;
    (void)first, (void)err;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&count[ids[i + AHEAD]], 1);
        count[ids[i]]++;
    }
    return 0;
}

int og__topology_out_degrees(const struct og_topology *t, uint32_t *count, struct og_err *err)
{
    memset(count, 0, (size_t)t->n_nodes * sizeof(*count));
    if (!t->relation)
        return og__topology_scan(t, count_run, count, err);
    int rc = 0;
    for (uint32_t r = 0; rc == 0 && r < t->n_relations; r++) {
        const struct og_related_lists *of = &t->relation[r];
        if (of->lists.n_edges > 0)
            rc = og__topology_scan(&of->lists, count_run, count + of->first_source, err);
    }
    return rc;
}

int og__topology_count_sources(const struct og_topology *t, uint32_t *count, struct og_err *err)
{
    memset(count, 0, (size_t)og__sources(t) * sizeof(*count));
    return og__topology_scan(t, count_run, count, err);
}

/* ---- edges of nodes to themselves ---- */

size_t og__loops_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * sizeof(uint64_t);
}

static int grow_more(struct og_topology *t, struct og_err *err)
{
    struct og_loops *l = &t->loops;
    size_t cap = OG_MAX(2 * l->cap, (size_t)FIRST_MORE);
    uint32_t *more = og__alloc(t->budget, cap * sizeof(*more), part, err);
    if (!more)
        return -ENOMEM;
    if (l->n_more > 0)
        memcpy(more, l->more, l->n_more * sizeof(*more));
    og__release(t->budget, l->more, l->cap * sizeof(*more), part);
    l->more = more;
    l->cap = cap;
    return 0;
}

/* Few graphs have any: memory is taken for the first that is met. */
static int add_loop(void *arg, uint32_t v, struct og_err *err)
{
    struct og_topology *t = arg;
    struct og_loops *l = &t->loops;
    if (!l->bits)
        l->bits = og__alloc(t->budget, og__loops_bytes((uint64_t)t->n_nodes), part, err);
    if (!l->bits)
        return -ENOMEM;
    if (!og__bits_has(l->bits, v)) {
        og__bits_add(l->bits, v);
        return 0;
    }
    OG_DO(l->n_more == l->cap ? grow_more(t, err) : 0);
    l->more[l->n_more++] = v;
    return 0;
}

/* found: what is done with one of v's. */
struct loop_search {
    const struct og_topology *t;
    int (*found)(void *arg, uint32_t v, struct og_err *err);
    void *arg;
    uint64_t v; /* the current list's node */
};

static int search_run(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err)
{
    struct loop_search *s = arg;
    for (int64_t i = 0; i < (int64_t)n;) {
        int64_t end = og__first_edge(s->t, s->v + 1) - first; /* of its list, in the run */
        int64_t last = OG_MIN(end, (int64_t)n);
        for (; i < last; i++) {
            OG_DO(OG_UNLIKELY(ids[i] == s->v) ? s->found(s->arg, ids[i], err) : 0);
        }
        if (end > (int64_t)n)
            break; /* the list continues in the next run */
        s->v++;
    }
    return 0;
}

int og__loops_find(struct og_topology *t, struct og_err *err)
{
    struct loop_search s = {.t = t, .found = add_loop, .arg = t};
    og__loops_release(t);
    return og__topology_scan(t, search_run, &s, err);
}

static int leave_out(void *arg, uint32_t v, struct og_err *err)
{
    uint32_t *count = arg;
    (void)err;
    count[v]--;
    return 0;
}

int og__topology_count_neighbors(const struct og_topology *t, uint32_t *count, struct og_err *err)
{
    struct loop_search s = {.t = t, .found = leave_out, .arg = count};
    for (uint32_t v = 0; v < t->n_nodes; v++)
        count[v] = (uint32_t)og__degree(t, v);
    return og__topology_scan(t, search_run, &s, err);
}

void og__loops_release(struct og_topology *t)
{
    struct og_loops *l = &t->loops;
    og__release(t->budget, l->bits, og__loops_bytes((uint64_t)t->n_nodes), part);
    og__release(t->budget, l->more, l->cap * sizeof(*l->more), part);
    *l = (struct og_loops){0};
}

/* The first of `more` that is not below v. */
static size_t lower_bound(const struct og_loops *l, uint32_t v)
{
    size_t low = 0, high = l->n_more;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->more[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int64_t og__loops_of(const struct og_topology *t, uint32_t v)
{
    const struct og_loops *l = &t->loops;
    if (!l->bits || !og__bits_has(l->bits, v))
        return 0;
    int64_t n = 1;
    for (size_t i = lower_bound(l, v); i < l->n_more && l->more[i] == v; i++)
        n++;
    return n;
}
