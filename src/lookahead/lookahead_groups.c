/* What a superbatch's batches miss, by groups. A homogeneous graph has one; in others each
 * type's rows are packed by themselves. Each group numbers its nodes from 0, as its feature
 * file does, so that a packing, its packed file and its segments know of one size. */
#include "lookahead/lookahead_parts.h"

#include <stdlib.h>

/* Which there are is known as soon as the graph is. */
static int find_groups(struct og_lookahead *a, struct og_err *err)
{
    const struct og_graph *g = a->path->workload->row_graph;
    if (a->group)
        return 0;
    a->group = calloc(g->n_groups, sizeof(*a->group));
    if (!a->group)
        return og__fail_errno(err, -ENOMEM, NULL, "packing");
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct og_group *rows = &g->group[k];
        if (rows->dim > 0)
            a->group[a->n_groups++] =
                (struct og_lookahead_group){.rows = rows,
                                            .end = (uint64_t)(rows->first + rows->n_nodes),
                                            .group = k,
                                            .misses = {.first = (uint32_t)rows->first}};
    }
    return 0;
}

/* The rows of this group in the trace, whose nodes have the policy's numbers. */
static uint64_t count_rows(const struct og_config *config, const struct og_lookahead_group *w,
                           const struct og_trace *t)
{
    const uint64_t first = og__nodes_known(config, w->misses.first);
    const uint64_t end = og__nodes_known(config, w->end);
    const uint64_t all = t->ptr[t->n_batches];
    uint64_t n = 0;
    for (uint64_t i = 0; i < all; i++)
        n += t->ids[i] >= first && t->ids[i] < end;
    return n;
}

static int make_room(struct og_lookahead *a, struct og_lookahead_group *w,
                     const struct og_trace *trace, struct og_err *err)
{
    const bool alone = a->path->workload->row_graph->n_groups == 1;
    const uint64_t rows =
        alone ? trace->ptr[trace->n_batches] : count_rows(a->path->config, w, trace);
    if (a->path->memory->missed == 0)
        return og__packing_reserve(&w->misses, rows, err);
    og__packing_borrow(&w->misses, og__superbatch_ids(a->path->stores.superbatch), rows);
    return 0;
}

int og__lookahead_release_ids(struct og_lookahead *a, struct og_err *err)
{
    const struct og_packing *p = a->n_groups > 0 ? &a->group[0].misses : NULL;
    const uint64_t keep = p && p->borrowed ? p->ptr[p->n_batches] : 0;
    return og__superbatch_release_ids(a->path->stores.superbatch, keep, err);
}

int og__lookahead_begin_packing(struct og_lookahead *a, const struct og_trace *trace,
                                struct og_err *err)
{
    OG_DO(find_groups(a, err));
    og__lookahead_drop_packing(a);
    a->packed = trace->n_batches;
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_lookahead_group *w = &a->group[k];
        const uint32_t first = w->misses.first;
        OG_DO(og__packing_open(&w->misses, w->end - first, og__row_bytes(w->rows), trace->n_batches,
                               a->path->budget, err));
        w->misses.first = first;
        OG_DO(make_room(a, w, trace, err));
    }
    return 0;
}

void og__lookahead_drop_packing(struct og_lookahead *a)
{
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_packing *p = &a->group[k].misses;
        const uint32_t first = p->first;
        og__packing_close(p);
        p->first = first;
    }
}

void og__lookahead_end_packing(struct og_lookahead *a)
{
    og__lookahead_drop_packing(a);
    free(a->group);
    a->group = NULL;
    a->n_groups = 0;
}

int og__lookahead_add_misses(struct og_lookahead *a, const uint32_t *ids, const uint32_t *codes,
                             uint32_t n, struct og_err *err)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_lookahead_group *w = &a->group[k];
        uint32_t some = a->n_groups == 1 ? n : 0;
        while (at + some < n && ids[at + some] < w->end)
            some++;
        OG_DO(og__packing_add(&w->misses, ids + at, codes ? codes + at : NULL, some, err));
        at += some;
    }
    return 0;
}

int og__lookahead_finish(struct og_lookahead *a, struct og_err *err)
{
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_DO(og__packing_finish(&a->group[k].misses, err));
    return 0;
}

struct og_lookahead_files *og__lookahead_files_new(const struct og_lookahead *a)
{
    return calloc(OG_MAX(a->n_groups, 1u), sizeof(struct og_lookahead_files));
}

void og__lookahead_files_free(const struct og_lookahead *a, struct og_lookahead_files *files)
{
    for (uint32_t k = 0; files && k < a->n_groups; k++) {
        og__places_free(&files[k].at);
        og__places_free(&files[k].shared);
    }
    free(files);
}

int og__lookahead_made_files(const struct og_lookahead *a, const char *dir, uint32_t draw,
                             struct og_lookahead_files **out, struct og_err *err)
{
    struct og_lookahead_files *files = *out = og__lookahead_files_new(a);
    int rc = files ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    for (uint32_t k = 0; rc == 0 && k < a->n_groups; k++) {
        char *path = og__packs_file(dir, draw, a->group[k].rows);
        rc = path ? og__places_copy(&files[k].at, OG__ONE_PLACE(path), err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
        free(path);
    }
    return rc;
}

uint32_t og__lookahead_packed(const struct og_lookahead *a)
{
    return a->n_groups > 0 ? a->group[0].misses.n_batches : 0;
}

uint64_t og__lookahead_file_bytes(const struct og_lookahead *a, uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < a->n_groups; k++)
        bytes += og__packing_file_bytes(&a->group[k].misses, n);
    return bytes;
}

int og__lookahead_shorten(struct og_lookahead *a, uint32_t n, struct og_err *err)
{
    for (uint32_t k = 0; k < a->n_groups; k++)
        OG_DO(og__packing_shorten(&a->group[k].misses, n, err));
    return 0;
}

/* For the run's own. */
struct og_disk_profile og__lookahead_profile(const struct og_data_path *d,
                                             const struct og_lookahead_group *w, bool packs)
{
    struct og_disk_profile profile = packs ? *og__packs_profile(d->workload) : d->workload->profile;
    if (!packs || d->workload->scratch_disks == 1)
        og__features_profile(w->rows, &profile);
    return profile;
}
