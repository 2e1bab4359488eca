/* og_row_reader: feature rows by number, for batches that are made elsewhere.
 *
 *   ids ──> units, each once ──> policy ──> plan ──> gather ──> copied in the order of ids
 *
 * The data path of a run with an adaptive policy, without sampling. One batch is read at a time, in
 * pieces of the size of the staging memory. Rows of edges are read in units of several
 * (session/session_edges.c). */
#include <outgrow/rows.h>

#include "base/id_table.h"
#include "dataset/features.h"
#include "gather/gather.h"
#include "options/options.h"
#include "plan/policy.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "row reader";
enum { MOST_UNITS = 65536, LEAST_UNITS = 64, UNIT_BYTES = 512 };

struct og_row_reader {
    struct og_graph *graph;
    struct og_group group; /* units as rows */
    int64_t n_rows;
    int dim;
    uint32_t unit_rows;
    size_t row_bytes, unit_bytes;
    uint32_t batch; /* units of a piece, at most */
    struct og_policy_setup setup;
    struct og_budget *budget;
    struct og_policy *policy;
    struct og_gather *gather;
    struct og_planner planner;
    struct og_plan plan;
    struct og_id_table table; /* units of a piece, and their places in: */
    uint32_t *unit;           /* [batch] distinct units, */
    uint32_t *where;          /* [batch] and of each row of a piece */
    bool failed;              /* the policy and the cache may differ */
    uint64_t requested, misses;
    struct og_io_counts read;
};

/* ---- what is read ---- */

static int check_rows(const struct og_row_reader *r, const char *dataset, const char *what,
                      uint32_t number, struct og_err *err)
{
    if (r->dim == 0)
        return og__fail(err, -EINVAL, "`outgrow info` lists what a dataset has",
                        "%s: no features of %s %u", dataset, what, number);
    return r->group.n_nodes < (int64_t)UINT32_MAX - 1
               ? 0
               : og__fail(err, -EINVAL, "use outgrow's own loader", "%s: too many rows", dataset);
}

static int find_rows(struct og_row_reader *r, const char *dataset, enum og_rows_of of,
                     uint32_t number, struct og_err *err)
{
    const bool nodes = of == OG_ROWS_OF_NODES;
    const char *what = nodes ? "node type" : "relation";
    OG_DO(og__graph_open(dataset, &r->graph, err));
    if (number >= (nodes ? r->graph->n_groups : r->graph->n_relations))
        return og__fail(err, -EINVAL, "`outgrow info` lists what a dataset has", "%s: no %s %u",
                        dataset, what, number);
    r->group = nodes ? r->graph->group[number] : r->graph->relation[number].edges;
    if (og__row_form(&r->group))
        return og__fail(err, -ENOTSUP,
                        "use outgrow's own loader, or import the graph with --feature-layout dense",
                        "%s: sparse rows of %s %u", dataset, what, number);
    r->n_rows = nodes ? r->group.n_nodes : r->graph->relation[number].n_edges;
    r->dim = r->group.dim;
    r->row_bytes = og__file_row_bytes(&r->group);
    r->unit_rows = nodes ? 1 : (uint32_t)OG_MAX(UNIT_BYTES / OG_MAX(r->row_bytes, 1u), 1u);
    r->group.dtype = r->group.stored;
    r->group.first = 0;
    r->group.n_nodes = (r->n_rows + r->unit_rows - 1) / r->unit_rows;
    r->group.dim = (int)((uint32_t)r->dim * r->unit_rows);
    r->unit_bytes = og__row_bytes(&r->group);
    return check_rows(r, dataset, what, number, err);
}

/* ---- memory ---- */

static int policy_of(const struct og_options *opt, int *kind, struct og_err *err)
{
    *kind = opt->policy == OG_POLICY_AUTO ? OG_POLICY_S3FIFO : opt->policy;
    if (!og__policy_caches(*kind) || (og__policy_admits(*kind) && !og__policy_looks_ahead(*kind)))
        return 0;
    return og__fail(err, -EINVAL, "use --policy s3fifo, lru, clock, sieve, tinylfu or none",
                    "--policy %s: batches of rows are not known in advance",
                    og__policy_word(*kind));
}

/* Bytes of everything, with so many slots. */
static size_t bytes_with(const struct og_row_reader *r, const struct og_reader_options *reader,
                         uint32_t n_slots)
{
    struct og_policy_setup setup = r->setup;
    setup.n_slots = n_slots;
    return og__policy_bytes(&setup, r->batch, 1, r->batch) + og__plan_bytes(r->batch, r->batch) +
           og__planner_bytes(r->batch) + og__reader_bytes(reader) +
           og__id_table_size(r->batch) * sizeof(struct og_id_place) +
           2 * r->batch * sizeof(uint32_t) + ((size_t)n_slots + r->batch) * r->unit_bytes;
}

/* As many slots as memory has room for. */
static int size_cache(struct og_row_reader *r, const struct og_reader_options *reader,
                      size_t memory, struct og_err *err)
{
    const uint32_t n_units = (uint32_t)r->group.n_nodes;
    const size_t spare = memory - OG_MIN(memory, og__reader_bytes(reader));
    const size_t fit = OG_MIN(spare / 8 / r->unit_bytes, (size_t)MOST_UNITS);
    uint32_t below = 0;
    uint32_t above;
    r->batch = OG_MIN(OG_MAX((uint32_t)fit, (uint32_t)LEAST_UNITS), OG_MAX(n_units, 1u));
    if (bytes_with(r, reader, 0) > memory)
        return og__fail(err, -ENOMEM, "raise --memory",
                        "--memory: %zu bytes, and rows of %zu bytes need at least %zu", memory,
                        r->unit_bytes, bytes_with(r, reader, 0));
    above = og__policy_caches(r->setup.kind) ? n_units + 1 : 1;
    while (above - below > 1) {
        const uint32_t middle = below + (above - below) / 2;
        if (bytes_with(r, reader, middle) <= memory)
            below = middle;
        else
            above = middle;
    }
    r->setup.n_slots = below;
    return 0;
}

static int open_cache(struct og_row_reader *r, const struct og_reader_options *reader,
                      struct og_err *err)
{
    const struct og_gather_options opt = {
        .n_slots = &r->setup.n_slots, .staging_rows = &r->batch, .n_staging = 1, .reader = *reader};
    uint32_t n_prefill;
    OG_DO(og__policy_open(&r->policy, &r->setup, r->budget, err));
    OG_DO(og__policy_prepare(r->policy, NULL, &n_prefill, err));
    OG_DO(og__gather_open(&r->gather, &r->group, 1, &opt, r->budget, err));
    OG_DO(og__plan_reserve(&r->plan, r->batch, r->batch, err));
    OG_DO(og__planner_reserve(&r->planner, r->batch, err));
    OG_DO(og__id_table_open(&r->table, og__id_table_size(r->batch), sizeof(struct og_id_place),
                            r->budget, part, err));
    r->unit = og__alloc(r->budget, r->batch * sizeof(*r->unit), part, err);
    OG_DO(r->unit ? 0 : -ENOMEM);
    r->where = og__alloc(r->budget, r->batch * sizeof(*r->where), part, err);
    return r->where ? 0 : -ENOMEM;
}

static int open_reader(struct og_row_reader *r, const char *dataset, enum og_rows_of of,
                       uint32_t number, const struct og_options *opt, struct og_err *err)
{
    struct og_reader_options reader = {.io = opt->io};
    const size_t memory = og__memory_amount(&opt->memory);
    OG_DO(find_rows(r, dataset, of, number, err));
    OG_DO(policy_of(opt, &r->setup.kind, err));
    og__features_profile(&r->group, &reader.profile);
    r->setup.n_nodes = (uint64_t)r->group.n_nodes;
    r->setup.ways = (uint32_t)opt->ways;
    OG_DO(size_cache(r, &reader, memory, err));
    if (!(r->budget = og__budget_new(memory)))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dataset);
    og__plan_init(&r->plan, r->budget);
    og__planner_init(&r->planner, r->budget);
    return open_cache(r, &reader, err);
}

int og_rows_open(struct og_row_reader **out, const char *dataset, enum og_rows_of of,
                 uint32_t number, const struct og_options *opt, struct og_err *err)
{
    struct og_row_reader *r = calloc(1, sizeof(*r));
    int rc;
    *out = NULL;
    if (!r)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dataset);
    rc = open_reader(r, dataset, of, number, opt, err);
    if (rc < 0)
        og_rows_close(r);
    else
        *out = r;
    return rc;
}

void og_rows_close(struct og_row_reader *r)
{
    if (!r)
        return;
    if (r->budget) {
        og__release(r->budget, r->where, r->where ? r->batch * sizeof(*r->where) : 0, part);
        og__release(r->budget, r->unit, r->unit ? r->batch * sizeof(*r->unit) : 0, part);
        og__id_table_close(&r->table, sizeof(struct og_id_place), r->budget, part);
        og__plan_release(&r->plan);
        og__planner_release(&r->planner);
    }
    og__gather_close(r->gather);
    og__policy_close(r->policy);
    og__budget_free(r->budget);
    og__graph_close(r->graph);
    free(r);
}

/* ---- reading ---- */

/* Distinct units of these rows, and the place of each row's; returns their number. */
static uint32_t number_units(struct og_row_reader *r, const int64_t *ids, uint32_t n)
{
    uint32_t found = 0;
    og__id_table_clear(&r->table, sizeof(struct og_id_place));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t unit = (uint32_t)((uint64_t)ids[i] / r->unit_rows);
        r->where[i] = og__id_place(&r->table, unit, found);
        if (r->where[i] == found)
            r->unit[found++] = unit;
    }
    return found;
}

static void copy_rows(const struct og_row_reader *r, const struct og_rows *from, const int64_t *ids,
                      uint32_t n, char *to)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *unit = og__row(from, r->where[i]);
        memcpy(to + i * r->row_bytes, unit + (uint64_t)ids[i] % r->unit_rows * r->row_bytes,
               r->row_bytes);
    }
}

static int read_piece(struct og_row_reader *r, const int64_t *ids, uint32_t n, char *to,
                      struct og_err *err)
{
    const struct og_rows *rows;
    struct og_io_counts counts;
    const uint32_t distinct = number_units(r, ids, n);
    int rc;
    OG_TRY(og__policy_plan(r->policy, &r->planner, r->unit, distinct, &r->plan, err));
    OG_TRY(og__gather_begin(r->gather, 0, &r->plan, NULL, 0, err));
    OG_TRY(og__gather_finish(r->gather, 0, &rows, &counts, err));
    copy_rows(r, rows, ids, n, to);
    og__gather_change(r->gather, &r->plan, rows);
    r->requested += distinct;
    r->misses += r->plan.n_misses;
    r->read.reads += counts.reads;
    r->read.bytes += counts.bytes;
out:
    r->failed = rc < 0;
    return rc;
}

size_t og_rows_bytes(const struct og_row_reader *r)
{
    return r->row_bytes;
}

int og_rows_read(struct og_row_reader *r, const int64_t *ids, int64_t n, void *rows,
                 struct og_err *err)
{
    int rc = 0;
    if (r->failed)
        return og__fail(err, -EIO, "open another one", "the row reader failed before");
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= r->n_rows)
            return og__fail(err, -EINVAL, NULL, "row %" PRId64 ": there are %" PRId64, ids[i],
                            r->n_rows);
    for (int64_t first = 0; rc == 0 && first < n; first += r->batch)
        rc = read_piece(r, ids + first, (uint32_t)OG_MIN(n - first, (int64_t)r->batch),
                        (char *)rows + (size_t)first * r->row_bytes, err);
    return rc;
}

int og_rows_about(const struct og_row_reader *r, char **out, struct og_err *err)
{
    const uint64_t cached = (uint64_t)r->setup.n_slots * r->unit_rows;
    return og__json_deliver(
        json_pack("{sI si ss sI sI sI sI sI sI}", "rows", (json_int_t)r->n_rows, "dim", r->dim,
                  "dtype", og__dtype_name(r->group.stored), "cached_rows",
                  (json_int_t)OG_MIN(cached, (uint64_t)r->n_rows), "requested",
                  (json_int_t)r->requested, "hits", (json_int_t)(r->requested - r->misses),
                  "misses", (json_int_t)r->misses, "reads", (json_int_t)r->read.reads, "bytes_read",
                  (json_int_t)r->read.bytes),
        NULL, out, err);
}
