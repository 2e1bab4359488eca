/* Topology as one long stream of edges, wherever it is. */
#include "dataset/on_disk.h"
#include "dataset/stream.h"

#include <string.h>

enum {
    RUN = 1 << 20, /* edges passed on at once where nothing has to be converted */
    NARROW = 4096, /* where they have */
};

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
        int rc = s->fn(s->arg, first + (int64_t)done, ids, m, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int scan_memory(const struct scan *s, struct og_err *err)
{
    const struct og_topology *t = s->t;
    int rc = 0;
    for (int64_t first = 0; rc == 0 && first < t->n_edges; first += RUN) {
        size_t n = (size_t)OG_MIN(t->n_edges - first, (int64_t)RUN);
        rc = t->indices32 ? pass_on32(s, first, t->indices32 + first, n, err)
                          : pass_on64(s, first, t->indices64 + first, n, err);
    }
    return OG_MIN(rc, 0);
}

static int scan_chunk(void *arg, const void *data, int64_t first_byte, size_t bytes,
                      struct og_err *err)
{
    const struct scan *s = arg;
    const struct og_dataset *ds = s->t->disk->ds;
    int rc = og__check_indices((void *)ds, data, first_byte, bytes, err);
    if (rc < 0)
        return rc;
    return ds->indices.type == OG__NPY_I32 ? pass_on32(s, first_byte / 4, data, bytes / 4, err)
                                           : pass_on64(s, first_byte / 8, data, bytes / 8, err);
}

int og__topology_scan(const struct og_topology *t, og_scan_fn *fn, void *arg, struct og_err *err)
{
    struct scan s = {t, fn, arg};
    if (!t->disk)
        return scan_memory(&s, err);
    void *buffer = og__alloc(t->budget, OG__CHUNK, "topology", err);
    if (!buffer)
        return -ENOMEM;
    int rc = og__npy_stream(&t->disk->ds->indices, buffer, scan_chunk, &s, err);
    og__release(t->budget, buffer, OG__CHUNK, "topology");
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
    return og__topology_scan(t, count_run, count, err);
}
