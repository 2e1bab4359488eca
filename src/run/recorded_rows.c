#include "run/recorded_rows.h"

#include "base/json.h"
#include "dataset/writer.h"
#include "gather/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rows_of_group {
    struct og_npy_writer *rows, *ptr; /* NULL: it has no features; no batches' ends are written */
    uint64_t n, misses;
    struct og_io_counts read;
};

struct og_recorded_rows {
    const struct og_graph *graph;
    struct rows_of_group *of; /* [n_groups] */
};

static int open_group(struct og_recorded_rows *r, uint32_t k, const char *dir, struct og_err *err)
{
    const struct og_group *g = &r->graph->group[k];
    const enum og__npy_type type = og__dtype_stored(g->stored);
    const int64_t none = 0;
    const char *ends = og__form_of(r->graph)->group_ends;
    char name[40];
    if (g->sparse.room > 0)
        return og__fail(err, -EINVAL,
                        "leave it out, or import the graph with --feature-layout dense",
                        "--with-features: %s: the rows are sparse", g->rows.path);
    if (og__dtype_scaled(g->stored))
        return og__fail(err, -EINVAL, "leave it out, or import the graph with --feature-dtype f16",
                        "--with-features: %s: the features are %s, with scales", g->rows.path,
                        og__dtype_name(g->stored));
    snprintf(name, sizeof(name), "%s.npy", og__group_array(r->graph, k).text);
    OG_DO(og__array_create(&r->of[k].rows, dir, name, type, 2, g->dim, err));
    if (!ends)
        return 0;
    const int head = snprintf(name, sizeof(name), ends, k);
    snprintf(name + head, sizeof(name) - (size_t)head, ".npy");
    OG_DO(og__array_create(&r->of[k].ptr, dir, name, OG__NPY_I64, 1, 1, err));
    return og__npy_append(r->of[k].ptr, &none, 1, err);
}

int og__recorded_rows_open(struct og_recorded_rows **out, const struct og_graph *g, const char *dir,
                           struct og_err *err)
{
    struct og_recorded_rows *r = calloc(1, sizeof(*r));
    *out = r;
    if (!r || !(r->of = calloc(g->n_groups, sizeof(*r->of))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    r->graph = g;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            OG_DO(open_group(r, k, dir, err));
    return 0;
}

void og__recorded_rows_close(struct og_recorded_rows *r)
{
    if (!r)
        return;
    for (uint32_t k = 0; r->of && k < r->graph->n_groups; k++) {
        og__npy_discard(r->of[k].rows);
        og__npy_discard(r->of[k].ptr);
    }
    free(r->of);
    free(r);
}

int og__recorded_rows_append(struct og_recorded_rows *r, const struct og_work *w,
                             const struct og_gather *from, struct og_err *err)
{
    const struct og_batch *batch = &w->sampled.batch;
    const struct og_graph *g = r->graph;
    uint32_t next[OG_MOST_TYPES] = {0};
    for (uint32_t i = 0; i < batch->n_ids; i++) {
        const uint32_t k = og__group_of(g, batch->ids[i]);
        if (r->of[k].rows)
            OG_DO(og__npy_append(r->of[k].rows, og__row(&w->rows[k], next[k]++), 1, err));
    }
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const int64_t end = (int64_t)(r->of[k].n += next[k]);
        if (r->of[k].ptr)
            OG_DO(og__npy_append(r->of[k].ptr, &end, 1, err));
        r->of[k].misses += og__gather_read_of(from, w->staging, k, &r->of[k].read);
    }
    return 0;
}

json_t *og__recorded_rows_json(const struct og_recorded_rows *r, const uint64_t *slots)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < r->graph->n_groups; k++) {
        const struct rows_of_group *of = &r->of[k];
        if (r->graph->group[k].dim > 0)
            list = og__json_append(list, json_pack("{s:s s:I s:I s:I s:I s:I}", "name",
                                                   r->graph->group[k].name, "cache_rows",
                                                   (json_int_t)slots[k], "rows", (json_int_t)of->n,
                                                   "misses", (json_int_t)of->misses, "reads",
                                                   (json_int_t)of->read.reads, "feature_bytes_read",
                                                   (json_int_t)of->read.bytes));
    }
    return list;
}

/* ---- the end ---- */

static int finish(struct og_npy_writer **w, json_t *checksums, uint64_t *written,
                  struct og_err *err)
{
    char name[40];
    if (!*w)
        return 0;
    snprintf(name, sizeof(name), "%s", strrchr(og__npy_path(*w), '/') + 1);
    *written += og__npy_bytes(*w);
    return og__array_finish(w, name, checksums, err);
}

int og__recorded_rows_finish(struct og_recorded_rows *r, json_t *checksums, uint64_t *written,
                             struct og_err *err)
{
    for (uint32_t k = 0; k < r->graph->n_groups; k++) {
        OG_DO(finish(&r->of[k].rows, checksums, written, err));
        OG_DO(finish(&r->of[k].ptr, checksums, written, err));
    }
    return 0;
}
