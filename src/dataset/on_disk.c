#include "dataset/on_disk.h"

#include "base/file.h"
#include "dataset/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "topology";

/* ---- opening ---- */

size_t og__relation_disk_bytes(const struct og_relation *r)
{
    return og__offsets_bytes((uint64_t)r->n_nodes);
}

struct loading {
    struct og_indptr_check check;
    struct og_offsets *first;
    int64_t last, longest;
};

static int take_chunk(void *arg, const void *data, int64_t first_byte, size_t bytes,
                      struct og_err *err)
{
    struct loading *l = arg;
    const int64_t *p = data;
    size_t n = bytes / sizeof(*p);
    uint64_t at = (uint64_t)first_byte / sizeof(*p);
    OG_DO(og__check_indptr(&l->check, p, (int64_t)at, n, err));
    for (size_t i = 0; i < n; i++) {
        l->longest = OG_MAX(l->longest, p[i] - l->last);
        l->last = p[i];
        if (!og__offsets_put(l->first, at + i, p[i]))
            OG_DO(
                og__fail(err, -EOVERFLOW, "such a graph must be held in memory",
                         "%s: the nodes before %llu have more in-neighbours than topology on disk "
                         "can count",
                         l->check.of->indptr.path, (unsigned long long)(at + i)));
    }
    return 0;
}

static int load_first(struct og_topology *t, const struct og_relation *r, struct og_err *err)
{
    struct loading l = {.check = {r, 0}, .first = &t->first};
    int rc = og__offsets_init(&t->first, (uint64_t)r->n_nodes, t->budget, part, err);
    if (rc < 0)
        return rc;
    void *buffer = og__alloc(t->budget, OG__CHUNK, part, err);
    rc = buffer ? og__npy_stream(&r->indptr, buffer, take_chunk, &l, err) : -ENOMEM;
    og__release(t->budget, buffer, OG__CHUNK, part);
    t->disk->longest = l.longest;
    rc = rc < 0 ? rc : og__check_indptr_end(&l.check, err);
    if (rc < 0)
        og__offsets_release(&t->first, t->budget, part);
    return rc;
}

int og__blocks_lay(struct og_blocks *d, const struct og_npy *a, struct og_err *err)
{
    uint64_t start = (uint64_t)a->offset;
    uint64_t end = start + (uint64_t)a->bytes;
    d->array = a;
    d->size = og__npy_size(a->type);
    bool on_boundary = start % d->size == 0;
    d->base = on_boundary ? start / OG__LIST_BLOCK * OG__LIST_BLOCK : start;
    d->skew = start - d->base;
    d->n_blocks = (end - d->base) / OG__LIST_BLOCK;
    if (d->n_blocks >= OG__MOST_BLOCKS)
        return og__fail(err, -EOVERFLOW, "such a graph must be held in memory",
                        "%s: topology on disk is limited to 2 TiB", a->path);
    uint64_t at = OG_MAX(d->base + d->n_blocks * OG__LIST_BLOCK, start);
    return og__read_all(a->fd, d->tail + (at - d->base) % OG__LIST_BLOCK, end - at, (off_t)at,
                        a->path, err);
}

int og__relation_open_disk(const struct og_relation *r, const struct og_topology_disk_options *opt,
                           struct og_budget *b, struct og_topology *out, struct og_err *err)
{
    int rc = 0;
    *out = (struct og_topology){
        .n_nodes = r->n_nodes, .n_edges = r->n_edges, .n_sources = r->n_sources, .budget = b};
    struct og_topology_disk *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", r->graph->path);
    out->disk = d;
    d->of = r;
    d->opt = *opt;
    d->opt.cache_bytes = 0;
    d->opt.cache_dir = NULL;
    OG_TRY(og__blocks_lay(&d->lists, &r->indices, err));
    OG_TRY(load_first(out, r, err));
out:
    if (rc < 0) {
        og__topology_close_disk(out);
        *out = (struct og_topology){0};
    }
    return rc;
}

void og__topology_close_disk(struct og_topology *t)
{
    if (!t->disk)
        return;
    og__offsets_release(&t->first, t->budget, part);
    free(t->disk);
    t->disk = NULL;
}

/* ---- of all relations ---- */

int og__stored_open(const struct og_graph *g, const struct og_topology_disk_options *opt,
                    struct og_topology *t, struct og_err *err)
{
    struct og_stored_topology *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    t->stored = s;
    s->graph = g;
    s->opt = *opt;
    if (opt->cache_dir && !(s->opt.cache_dir = strdup(opt->cache_dir)))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    return 0;
}

static void let_go(struct og_stored_topology *s)
{
    if (s->lock > 0)
        close(s->lock);
    s->lock = 0;
}

void og__stored_close(struct og_topology *t)
{
    if (!t->stored)
        return;
    og__neighbors_unload(t);
    let_go(t->stored);
    free((char *)t->stored->opt.cache_dir);
    free(t->stored);
    t->stored = NULL;
}

/* ---- the neighbour cache ---- */

void og__neighbors_unload(struct og_topology *t)
{
    og__neighbors_release(t);
}

void og__neighbors_keep_none(struct og_topology *t)
{
    let_go(t->stored);
    free((char *)t->stored->opt.cache_dir);
    t->stored->opt.cache_dir = NULL;
}

/* Holds the lock that prevents the folder's removal. */
static void hold(struct og_stored_topology *s)
{
    let_go(s);
    if (s->opt.cache_dir && s->opt.cache_bytes > 0)
        s->lock = og__persistent_cache_hold(s->opt.cache_dir);
}

static bool has_some(const struct og_topology *t)
{
    for (uint32_t r = 0; r < og__n_lists(t); r++) {
        const struct og_topology_disk *disk = og__lists_seen(t, r)->disk;
        if (disk && disk->cache.bits)
            return true;
    }
    return false;
}

/* Or there are none to load. */
static bool neighbors_are_loaded(const struct og_topology *t)
{
    return t->stored->opt.cache_bytes == 0 || has_some(t);
}

int og__neighbors_load(struct og_topology *t, struct og_err *err)
{
    struct og_stored_topology *s = t->stored;
    const struct og_neighbors_options opt = {.capacity = s->opt.cache_bytes,
                                             .weights = s->opt.weights,
                                             .dir = s->opt.cache_dir,
                                             .log = s->opt.log};
    og__neighbors_unload(t);
    hold(s);
    s->written = 0;
    OG_DO(og__neighbors_open(t, s->graph, &opt, &s->written, err));
    if (has_some(t))
        hold(s); /* it may be new */
    return 0;
}

/* ---- all that only sampling needs ---- */

static bool has_offsets(const struct og_topology *lists)
{
    return !lists->disk || lists->first.base;
}

bool og__stored_is_loaded(const struct og_topology *t)
{
    bool all = neighbors_are_loaded(t);
    for (uint32_t r = 0; r < og__n_lists(t); r++)
        all = all && has_offsets(og__lists_seen(t, r));
    return all;
}

void og__stored_unload(struct og_topology *t)
{
    og__neighbors_unload(t);
    for (uint32_t r = 0; r < og__n_lists(t); r++) {
        struct og_topology *lists = og__relation_lists(t, r);
        if (lists->disk)
            og__offsets_release(&lists->first, lists->budget, part);
    }
}

int og__stored_load(struct og_topology *t, struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; r < og__n_lists(t); r++) {
        struct og_topology *lists = og__relation_lists(t, r);
        if (!has_offsets(lists))
            OG_TRY(load_first(lists, lists->disk->of, err));
    }
    OG_TRY(neighbors_are_loaded(t) ? 0 : og__neighbors_load(t, err));
out:
    if (rc < 0)
        og__stored_unload(t);
    return rc;
}
