#include "gather/typed_gather.h"

#include "base/common.h"
#include "dataset/features.h"
#include "gather/lent.h"

#include <stdlib.h>
#include <string.h>

static const char cache_part[] = "feature cache";
static const char staging_part[] = "staging";
static const char index_part[] = "plans";

/* A type, as far as it has features. */
struct width {
    const struct og_group *view;
    struct og_reader *reader; /* NULL: it has none */
    struct og_reader *beside; /* fills the cache meanwhile; NULL: the first does */
    size_t row_bytes;
    uint32_t first, end;  /* ids */
    char *kept;           /* its slots in the cache, */
    uint32_t slot;        /* from this one on, */
    uint32_t n_slots;     /* so many */
    struct og_pack *pack; /* NULL: misses come from the feature file */
};

struct staging {
    char *data; /* misses, type by type */
    size_t bytes;
    uint32_t *index; /* [capacity] places of the batch's rows, type by type */
    uint32_t *row;   /* [capacity] numbers of the misses within their types */
    uint32_t capacity;
    struct og_rows *rows;    /* [n_types] */
    struct og_read_job *job; /* [n_types] */
    bool *begun;             /* [n_types] the job is to be waited for; */
    bool *from_pack;         /* [n_types] instead of it, a chunk of the pack */
};

struct og_typed_gather {
    struct og_budget *budget;
    const struct og_graph_types *types;
    uint32_t n_slots, n_yielded;
    size_t cache_bytes;
    char *cache;    /* reserved; there are the slots that are not yielded */
    int sharers;    /* of it; 0: it is its own */
    size_t charged; /* of what is shared */
    struct og_common_piece shared;
    struct width *width; /* [n_types] */
    int n_staging;
    struct staging *staging; /* [n_staging] */
};

/* ---- open and close ---- */

static bool has_rows(const struct og_group *t)
{
    return t->dim > 0;
}

static struct og_reader_options reader_of(const struct og_group *t, int io)
{
    struct og_reader_options opt = {.io = io};
    og__features_profile(t, &opt.profile);
    return opt;
}

size_t og__typed_reader_bytes(const struct og_graph *g, int io)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < g->n_groups; t++) {
        if (!has_rows(&g->group[t]))
            continue;
        const struct og_reader_options opt = reader_of(&g->group[t], io);
        bytes += og__reader_bytes(&opt);
    }
    return bytes;
}

size_t og__typed_staging_bytes(const struct og_graph *g, uint64_t rows)
{
    return (size_t)rows * 2 * sizeof(uint32_t) +
           g->n_groups * (sizeof(struct og_rows) + sizeof(struct og_read_job) + 2 * sizeof(bool));
}

int og__typed_reader_rule(const struct og_group *t, int io, struct og_budget *b,
                          struct og_read_rule *out, struct og_err *err)
{
    struct og_reader *reader;
    const struct og_reader_options opt = reader_of(t, io);
    int rc = og__features_open(&reader, t, &opt, b, err);
    if (rc < 0)
        return rc;
    *out = og__reader_rule(reader);
    og__reader_close(reader);
    return 0;
}

static void release_index(struct og_typed_gather *g, struct staging *s)
{
    og__release(g->budget, s->index, s->capacity * sizeof(*s->index), index_part);
    og__release(g->budget, s->row, s->capacity * sizeof(*s->row), index_part);
    s->index = s->row = NULL;
    s->capacity = 0;
}

/* Nobody uses the area: what it held may go. */
static int reserve_rows(struct og_typed_gather *g, struct staging *s, uint32_t rows,
                        struct og_err *err)
{
    if (rows <= s->capacity)
        return 0;
    release_index(g, s);
    s->capacity = rows;
    s->index = og__alloc(g->budget, rows * sizeof(*s->index), index_part, err);
    s->row = s->index ? og__alloc(g->budget, rows * sizeof(*s->row), index_part, err) : NULL;
    return s->row ? 0 : -ENOMEM;
}

static int reserve_data(struct og_typed_gather *g, struct staging *s, size_t bytes,
                        struct og_err *err)
{
    if (bytes <= s->bytes)
        return 0;
    og__release(g->budget, s->data, s->bytes, staging_part);
    s->bytes = 0;
    s->data = og__alloc(g->budget, bytes, staging_part, err);
    if (!s->data)
        return -ENOMEM;
    s->bytes = bytes;
    return 0;
}

static int open_staging(struct og_typed_gather *g, struct staging *s,
                        const struct og_typed_gather_options *opt, struct og_err *err)
{
    const size_t n = g->types->n_types;
    s->rows = calloc(n, sizeof(*s->rows));
    s->job = calloc(n, sizeof(*s->job));
    s->begun = calloc(n, sizeof(*s->begun));
    s->from_pack = calloc(n, sizeof(*s->from_pack));
    if (!s->rows || !s->job || !s->begun || !s->from_pack)
        return og__fail_errno(err, -ENOMEM, NULL, "staging");
    int rc = reserve_rows(g, s, opt->rows, err);
    return rc < 0 ? rc : reserve_data(g, s, opt->staging_bytes, err);
}

static int open_width(struct og_typed_gather *g, const struct og_group *type, uint32_t t,
                      const struct og_typed_gather_options *how, struct og_err *err)
{
    struct width *w = &g->width[t];
    *w = (struct width){.view = type,
                        .row_bytes = og__row_bytes(type),
                        .first = og__first_id(g->types, t),
                        .end = g->types->type[t].end};
    if (!has_rows(type))
        return 0;
    const struct og_reader_options opt = reader_of(type, how->io);
    int rc;
    OG_TRY(og__features_open(&w->reader, w->view, &opt, g->budget, err));
    if (how->fills_beside)
        OG_TRY(og__features_open(&w->beside, w->view, &opt, g->budget, err));
out:
    return rc;
}

/* Its memory comes with what is shared. */
static int charge_part(struct og_typed_gather *g, struct og_err *err)
{
    const size_t n = (size_t)g->sharers;
    const size_t bytes = (g->cache_bytes + n - 1) / n;
    int rc = og__budget_charge(g->budget, bytes, cache_part, err);
    if (rc < 0)
        return rc;
    g->charged = bytes;
    g->n_yielded = 0;
    return 0;
}

static void release_cache(struct og_typed_gather *g)
{
    if (!g->cache)
        return;
    if (g->sharers) {
        og__common_give(&g->shared);
        og__budget_uncharge(g->budget, g->charged, cache_part);
    } else {
        og__typed_gather_yield(g, g->n_slots);
    }
    og__address_release(g->cache, g->cache_bytes);
}

/* Slots follow each other as the ranges do, which are of types with features. */
static int open_cache(struct og_typed_gather *g, const struct og_typed_gather_options *opt,
                      struct og_err *err)
{
    for (uint32_t t = 0, k = 0; t < g->types->n_types && k < opt->n_ranges; t++) {
        struct width *w = &g->width[t];
        if (!w->reader)
            continue;
        w->slot = g->n_slots;
        w->n_slots = opt->ranges[k++].n_slots;
        g->n_slots += w->n_slots;
        g->cache_bytes += w->n_slots * w->row_bytes;
    }
    g->n_yielded = g->n_slots;
    g->sharers = opt->sharers;
    if (g->cache_bytes == 0)
        return 0;
    g->cache = og__address_reserve(g->cache_bytes, err);
    if (!g->cache)
        return -ENOMEM;
    char *at = g->cache;
    for (uint32_t t = 0; t < g->types->n_types; t++) {
        g->width[t].kept = at;
        at += g->width[t].n_slots * g->width[t].row_bytes;
    }
    return g->sharers ? charge_part(g, err) : og__typed_gather_reclaim(g, opt->n_yielded, err);
}

int og__typed_gather_open(struct og_typed_gather **out, const struct og_graph *graph,
                          const struct og_graph_types *types,
                          const struct og_typed_gather_options *opt, struct og_budget *b,
                          struct og_err *err)
{
    struct og_typed_gather *g = calloc(1, sizeof(*g));
    int rc = 0;
    *out = NULL;
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "features");
    *g = (struct og_typed_gather){.budget = b, .types = types};
    g->width = calloc(types->n_types, sizeof(*g->width));
    g->staging = calloc((size_t)opt->n_staging, sizeof(*g->staging));
    if (!g->width || !g->staging)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "features"));
    for (uint32_t t = 0; t < types->n_types; t++)
        OG_TRY(open_width(g, &graph->group[t], t, opt, err));
    for (; g->n_staging < opt->n_staging;)
        OG_TRY(open_staging(g, &g->staging[g->n_staging++], opt, err));
    OG_TRY(open_cache(g, opt, err));
    *out = g;
    return 0;
out:
    og__typed_gather_close(g);
    return rc;
}

void og__typed_gather_close(struct og_typed_gather *g)
{
    if (!g)
        return;
    for (uint32_t t = 0; g->width && t < g->types->n_types; t++) {
        og__reader_close(g->width[t].reader);
        og__reader_close(g->width[t].beside);
    }
    for (int i = 0; i < g->n_staging; i++) {
        struct staging *s = &g->staging[i];
        release_index(g, s);
        og__release(g->budget, s->data, s->bytes, staging_part);
        free(s->rows);
        free(s->job);
        free(s->begun);
        free(s->from_pack);
    }
    release_cache(g);
    free(g->width);
    free(g->staging);
    free(g);
}

const char *og__typed_gather_engine(const struct og_typed_gather *g)
{
    for (uint32_t t = 0; t < g->types->n_types; t++)
        if (g->width[t].reader)
            return og__reader_engine(g->width[t].reader);
    return "none";
}

/* ---- the cache ---- */

/* Of all slots but the last n. */
static size_t bytes_without(const struct og_typed_gather *g, uint32_t n)
{
    uint32_t left = g->n_slots - n;
    size_t bytes = 0;
    for (uint32_t t = 0; t < g->types->n_types; t++) {
        const uint32_t of = OG_MIN(left, g->width[t].n_slots);
        bytes += of * g->width[t].row_bytes;
        left -= of;
    }
    return bytes;
}

void og__typed_gather_yield(struct og_typed_gather *g, uint32_t n)
{
    const uint32_t most = OG_MAX(g->n_yielded, OG_MIN(n, g->n_slots));
    og__lend_rows(g->budget, g->cache, bytes_without(g, g->n_yielded), bytes_without(g, most));
    g->n_yielded = most;
}

int og__typed_gather_reclaim(struct og_typed_gather *g, uint32_t n, struct og_err *err)
{
    const uint32_t least = OG_MIN(n, g->n_yielded);
    int rc;
    OG_TRY(og__take_rows_back(g->budget, g->cache, bytes_without(g, g->n_yielded),
                              bytes_without(g, least), err));
    g->n_yielded = least;
out:
    return rc;
}

uint32_t og__typed_gather_yielded(const struct og_typed_gather *g)
{
    return g->n_yielded;
}

uint32_t og__typed_gather_lacking(const struct og_typed_gather *g, size_t bytes)
{
    const size_t before = bytes_without(g, g->n_yielded);
    uint32_t low = 0; /* the least to be left without memory that leaves the others enough */
    for (uint32_t high = g->n_yielded; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (bytes_without(g, middle) - before <= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static char *slot_at(const struct width *w, uint32_t slot)
{
    return w->kept + (size_t)(slot - w->slot) * w->row_bytes;
}

/* n nodes of the type, given by their numbers in it, to so many slots from `slot` on. */
static int fill_slots(struct width *w, const uint32_t *number, uint32_t n, uint32_t slot,
                      struct og_io_counts *counts, struct og_err *err)
{
    struct og_reader *reader = w->beside ? w->beside : w->reader;
    struct og_read_job job = {.rows = number, .n = n, .out = slot_at(w, slot)};
    int rc;
    if (slot < w->slot || slot + n > w->slot + w->n_slots)
        return og__fail(err, -EINVAL, NULL, "feature cache: a row for a slot of another width");
    OG_TRY(og__reader_submit(reader, &job, err));
    OG_TRY(og__reader_wait(reader, &job, err));
    counts->reads += job.counts.reads;
    counts->bytes += job.counts.bytes;
out:
    return rc;
}

int og__typed_gather_fill(struct og_typed_gather *g, const uint32_t *nodes, const uint32_t *slots,
                          uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    enum { PIECE = 4096 };
    uint32_t number[PIECE];
    int rc = 0;
    for (uint32_t i = 0; i < n;) {
        struct width *w = &g->width[og__graph_type(g->types, nodes[i])];
        const uint32_t first = i;
        uint32_t some = 0;
        for (; i < n && some < PIECE && nodes[i] < w->end && slots[i] == slots[first] + some; i++)
            number[some++] = nodes[i] - w->first;
        OG_TRY(fill_slots(w, number, some, slots[first], counts, err));
    }
out:
    return rc;
}

int og__typed_gather_share(struct og_typed_gather *g, struct og_common *c, uint64_t key,
                           int (*fill)(void *arg, void *at, struct og_err *err), void *arg,
                           struct og_err *err)
{
    const struct og_common_part cache = {key, g->cache_bytes, fill, arg, g->cache};
    return g->cache ? og__common_take(c, &cache, &g->shared, err) : 0;
}

void og__typed_gather_put(struct og_typed_gather *g, uint32_t node, uint32_t slot, const char *row)
{
    const struct width *w = &g->width[og__graph_type(g->types, node)];
    memcpy(slot_at(w, slot), row, w->row_bytes);
}

void og__typed_gather_from_packs(struct og_typed_gather *g, struct og_pack *const *packs)
{
    uint32_t k = 0;
    for (uint32_t t = 0; t < g->types->n_types; t++)
        if (g->width[t].reader)
            g->width[t].pack = packs ? packs[k++] : NULL;
}

/* ---- a batch ---- */

/* How many of the batch's rows, and of its misses, are of each type: in rows[t].n, job[t].n. */
static void count_types(const struct og_typed_gather *g, struct staging *s,
                        const struct og_plan *plan, const uint32_t *ids)
{
    for (uint32_t t = 0; t < g->types->n_types; t++) {
        s->rows[t] = (struct og_rows){0};
        s->job[t] = (struct og_read_job){0};
    }
    for (uint32_t i = 0; i < plan->n; i++)
        s->rows[og__graph_type(g->types, ids[i])].n++;
    for (uint32_t i = 0; i < plan->n_misses; i++) {
        const uint32_t t = og__graph_type(g->types, plan->misses[i]);
        s->row[i] = plan->misses[i] - g->width[t].first;
        s->job[t].n++;
    }
}

/* Where each type's rows and misses lie; they ascend, so those of a type follow each other. */
static int place_types(struct og_typed_gather *g, struct staging *s, struct og_err *err)
{
    uint32_t first = 0;
    uint32_t miss = 0;
    size_t bytes = 0;
    for (uint32_t t = 0; t < g->types->n_types; t++)
        bytes += s->job[t].n * g->width[t].row_bytes;
    int rc = reserve_data(g, s, bytes, err);
    if (rc < 0)
        return rc;
    bytes = 0;
    for (uint32_t t = 0; t < g->types->n_types; t++) {
        const struct width *w = &g->width[t];
        struct og_rows *x = &s->rows[t];
        s->job[t].rows = s->row + miss;
        s->job[t].out = s->data ? s->data + bytes : NULL;
        *x = (struct og_rows){.base = w->kept,
                              .index = s->index + first,
                              .stride = w->row_bytes,
                              .n = x->n,
                              .dim = w->view->dim,
                              .dtype = w->view->kept,
                              .n_more = s->job[t].n > 0,
                              .more = {{.base = s->job[t].out, .first = w->n_slots}}};
        first += x->n;
        miss += (uint32_t)s->job[t].n;
        bytes += s->job[t].n * w->row_bytes;
    }
    return 0;
}

/* Places count through all types; in a view, through its own. */
static void number_places(const struct og_typed_gather *g, struct staging *s,
                          const struct og_plan *plan, const uint32_t *ids)
{
    for (uint32_t t = 0; t < g->types->n_types; t++)
        s->rows[t].n = 0;
    for (uint32_t i = 0; i < plan->n; i++) {
        const uint32_t t = og__graph_type(g->types, ids[i]);
        const struct width *w = &g->width[t];
        const uint32_t before = (uint32_t)(s->job[t].rows - s->row); /* misses of other types */
        uint32_t *index = (uint32_t *)s->rows[t].index;
        index[s->rows[t].n++] = plan->place[i] < g->n_slots
                                    ? plan->place[i] - w->slot
                                    : plan->place[i] - g->n_slots - before + w->n_slots;
    }
}

/* Misses of a type, from its file or its pack. */
static int begin_type(struct og_typed_gather *g, int staging, uint32_t t, uint32_t chunk,
                      struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    const struct width *w = &g->width[t];
    const struct og_read_job *job = &s->job[t];
    const bool packed = w->pack && chunk < og__pack_batches(w->pack);
    int rc = 0;
    s->from_pack[t] = false;
    if (packed)
        OG_TRY(og__pack_holds(w->pack, chunk, job->rows, job->n, err));
    if (job->n == 0)
        return 0;
    OG_TRY(packed ? og__pack_begin(w->pack, staging, chunk, job->out, err)
                  : og__reader_submit(w->reader, &s->job[t], err));
    s->from_pack[t] = packed;
    s->begun[t] = true;
out:
    return rc;
}

void og__typed_gather_give_up(struct og_typed_gather *g, int staging)
{
    struct staging *s = &g->staging[staging];
    for (uint32_t t = 0; t < g->types->n_types; t++)
        if (s->begun[t] && s->from_pack[t])
            og__pack_give_up(g->width[t].pack, staging);
        else if (s->begun[t])
            (void)!og__reader_wait(g->width[t].reader, &s->job[t], NULL);
    memset(s->begun, 0, g->types->n_types * sizeof(*s->begun));
}

int og__typed_gather_begin(struct og_typed_gather *g, int staging, const struct og_plan *plan,
                           const uint32_t *ids, uint32_t chunk, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    int rc;
    OG_TRY(reserve_rows(g, s, plan->n, err));
    count_types(g, s, plan, ids);
    OG_TRY(place_types(g, s, err));
    number_places(g, s, plan, ids);
    for (uint32_t t = 0; t < g->types->n_types; t++)
        OG_TRY(begin_type(g, staging, t, chunk, err));
out:
    if (rc < 0) /* by who began them */
        og__typed_gather_give_up(g, staging);
    return rc;
}

/* The view shows misses as their file has them, or as the pack does. */
static int finish_type(struct og_typed_gather *g, int staging, uint32_t t,
                       struct og_io_counts *counts, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    struct og_read_job *job = &s->job[t];
    int rc;
    s->begun[t] = false;
    if (s->from_pack[t]) {
        OG_TRY(og__pack_finish(g->width[t].pack, staging, counts, err));
        s->rows[t].more[0].where = og__pack_where(g->width[t].pack, staging);
        return 0;
    }
    OG_TRY(og__reader_wait(g->width[t].reader, job, err));
    counts->reads += job->counts.reads;
    counts->bytes += job->counts.bytes;
out:
    return rc;
}

int og__typed_gather_finish(struct og_typed_gather *g, int staging, const struct og_rows **rows,
                            struct og_io_counts *counts, struct og_err *err)
{
    struct staging *s = &g->staging[staging];
    int rc = 0;
    *counts = (struct og_io_counts){0};
    for (uint32_t t = 0; t < g->types->n_types; t++) {
        if (s->begun[t])
            OG_TRY(finish_type(g, staging, t, counts, err));
    }
    *rows = s->rows;
out:
    if (rc < 0) /* those of other types are under way */
        og__typed_gather_give_up(g, staging);
    return rc;
}

void og__typed_gather_change(struct og_typed_gather *g, int staging, const struct og_plan *plan,
                             const uint32_t *ids)
{
    const struct staging *s = &g->staging[staging];
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        const uint32_t row = plan->change_row[c];
        const uint32_t t = og__graph_type(g->types, ids[row]);
        const struct width *w = &g->width[t];
        const uint32_t before = (uint32_t)(s->job[t].rows - s->row); /* misses of other types */
        const uint32_t miss = plan->place[row] - g->n_slots - before;
        memcpy(slot_at(w, plan->change_slot[c]), og__row_at(&s->rows[t], w->n_slots + miss),
               w->row_bytes);
    }
}
