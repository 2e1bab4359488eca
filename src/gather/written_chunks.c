/* Rows that batches change, where these are known in advance. Rows that leave wait in the chunk of
 * the batch that uses them next (plan/foreseen.h). */
#include "gather/written_parts.h"

#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#define READS "read buffers"

/* ---- memory ---- */

int og__ahead_open(struct og_written *w, const struct og_gather_options *opt, struct og_err *err)
{
    const struct og_group *of = w->of;
    const size_t row_bytes = og__row_bytes(of);
    struct og_ahead *a = w->ahead = calloc(1, sizeof(*a));
    char *path = NULL;
    int rc;
    if (!a)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    OG_TRY(og__foreseen_open(&a->foreseen, row_bytes, w->n_rows, w->writes.n_slots, opt->foreseen,
                             w->budget, err));
    a->buffer = og__alloc(w->budget, og__row_writer_bytes(row_bytes), READS, err);
    OG_TRY(a->buffer ? 0 : -ENOMEM);
    rc = asprintf(&path, "%s.chunks", of->rows.path);
    OG_TRY(rc < 0 ? og__fail_errno(err, -ENOMEM, NULL, "embeddings") : 0);
    OG_TRY(og__chunk_file_open(&a->chunks, path, &a->foreseen.form, &opt->reader, w->budget, err));
    w->there = a->foreseen.there;
out:
    free(path);
    return rc;
}

void og__ahead_close(struct og_written *w)
{
    struct og_ahead *a = w->ahead;
    if (!a)
        return;
    og__chunk_file_close(a->chunks);
    og__release(w->budget, a->buffer, a->buffer ? og__row_writer_bytes(og__row_bytes(w->of)) : 0,
                READS);
    og__foreseen_close(&a->foreseen);
    free(a);
    w->ahead = NULL;
    w->there = NULL;
}

struct og_foreseen *og__gather_foreseen(struct og_gather *g, uint32_t k)
{
    struct og_written *w = g->group[k].written;
    return w && w->ahead ? &w->ahead->foreseen : NULL;
}

void og__gather_foresee(struct og_gather *g, const struct og_next_use_list *uses,
                        uint32_t reads_from)
{
    og__ahead_settle(g);
    for (uint32_t k = 0; k < g->n_groups; k++) {
        struct og_written *w = g->group[k].written;
        if (!w || !w->ahead)
            continue;
        w->ahead->uses = uses;
        og__foreseen_done(&w->ahead->foreseen, &w->writes, reads_from);
    }
}

/* ---- a batch's rows come ---- */

struct arriving {
    struct og_gather_part *part;
    size_t row_bytes;
};

int og__written_damaged(struct og_err *err)
{
    return og__fail(err, -EIO, "the disk may be failing: see the kernel's log (dmesg)",
                    "embeddings: a file of waiting rows is damaged");
}

static int take_row(void *arg, uint32_t row, const char *record, struct og_err *err)
{
    const struct arriving *a = arg;
    struct og_gather_part *p = a->part;
    const uint32_t *at = bsearch(&row, p->job.rows, p->job.n, sizeof(row), og__by_number);
    if (!at)
        return og__written_damaged(err);
    memcpy(p->at + (size_t)(at - p->job.rows) * a->row_bytes, record, a->row_bytes);
    p->found++;
    return 0;
}

static int take_chunk(struct og_gather *g, int area, uint32_t k, uint32_t chunk, bool aside,
                      struct og_io_counts *read, struct og_err *err)
{
    struct arriving a = {&g->staging[area].part[k], g->group[k].row_bytes};
    return og__chunk_each(g->group[k].written->ahead->chunks, chunk, aside, take_row, &a, read,
                          err);
}

int og__written_finish(struct og_gather *g, int area, uint32_t k, struct og_err *err)
{
    struct og_gather_part *p = &g->staging[area].part[k];
    p->job.counts = (struct og_io_counts){0};
    return take_chunk(g, area, k, g->staging[area].number, false, &p->job.counts, err);
}

/* Rows that left at the end of the batch before. All that ever left have come then. */
int og__ahead_arrive(struct og_gather *g, int area, uint32_t k, struct og_io_counts *read,
                     struct og_err *err)
{
    const struct og_written *w = g->group[k].written;
    struct og_gather_part *p = &g->staging[area].part[k];
    struct og_io_counts own = {0};
    uint32_t there = 0;
    int rc;
    OG_TRY(take_chunk(g, area, k, og__late_chunk(&w->ahead->foreseen, g->staging[area].number),
                      true, &own, err));
    for (size_t i = 0; i < p->job.n; i++)
        there += og__bits_has(w->there, p->job.rows[i]);
    OG_TRY(there == p->found ? 0 : og__written_damaged(err));
    og__add_io(read, own);
    og__add_io(&p->job.counts, own);
out:
    return rc;
}

/* ---- rows leave ---- */

struct pushing {
    struct og_gather *g;
    const struct og_gather_group *group;
    const char *staged; /* the batch's missed rows */
};

static int push_row(void *arg, uint32_t row, uint32_t at, uint32_t chunk, struct og_err *err)
{
    const struct pushing *p = arg;
    const struct og_gather_group *group = p->group;
    const char *record = at < group->n_slots ? og__gather_slot(p->g, group, group->slot + at)
                                             : p->staged + (at - group->n_slots) * group->row_bytes;
    return og__chunk_push(group->written->ahead->chunks, chunk, row, record, &p->g->wrote, err);
}

int og__ahead_leave(struct og_gather *g, int area, uint32_t k, const struct og_writes_batch *b,
                    struct og_err *err)
{
    struct og_written *w = g->group[k].written;
    struct og_ahead *a = w->ahead;
    const struct og_staging *s = &g->staging[area];
    struct pushing p = {g, &g->group[k], s->part[k].at};
    const uint16_t *next = a->uses->next + a->uses->ptr[s->number] + b->first_row;
    const uint32_t own[] = {s->number, og__late_chunk(&a->foreseen, s->number)};
    const uint32_t kept = og__kept_chunk(&a->foreseen);
    const uint32_t blocks =
        og__chunk_blocks(a->chunks, own[0]) + og__chunk_blocks(a->chunks, own[1]);
    const bool keeps = og__foreseen_keeps(&a->foreseen, b, s->number, next, blocks,
                                          og__chunk_blocks(a->chunks, kept));
    int rc;
    OG_TRY(
        og__foreseen_end(&a->foreseen, &w->writes, b, s->number, keeps, next, push_row, &p, err));
    for (int i = 0; i < 2; i++) {
        if (keeps && !og__foreseen_reads(&a->foreseen))
            OG_TRY(og__chunk_append(a->chunks, own[i], kept, &g->wrote, err));
        else
            og__chunk_drop(a->chunks, own[i]);
    }
out:
    return rc;
}

/* ---- a superbatch begins ---- */

static int enter(struct og_gather *g, uint32_t k, uint32_t row, uint32_t slot, struct og_err *err)
{
    const struct og_gather_group *group = &g->group[k];
    struct og_written *w = group->written;
    struct pushing p = {g, group, NULL};
    uint32_t from;
    char *to = og__gather_slot(g, group, group->slot + slot);
    const int comes =
        og__foreseen_fill(&w->ahead->foreseen, &w->writes, row, slot, push_row, &p, &from, err);
    if (comes == OG__COMES_FRESH)
        g->fresh->make(g->fresh->self, k, row, (float *)(void *)to);
    else if (comes == OG__COMES_MOVED)
        memcpy(to, og__gather_slot(g, group, group->slot + from), group->row_bytes);
    return OG_MIN(comes, 0);
}

/* Nodes ascend, so those of a group follow each other. */
int og__gather_tell(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                    struct og_err *err)
{
    for (uint32_t k = 0, i = 0; k < g->n_groups; k++) {
        const struct og_gather_group *group = &g->group[k];
        const uint32_t first = og__gather_first(g, group);
        struct og_written *w = group->written;
        for (; i < n && nodes[i] - (uint64_t)first < (uint64_t)group->of->n_nodes; i++) {
            if (!w || !w->ahead)
                continue;
            w->in_order = false;
            OG_DO(enter(g, k, nodes[i] - first, slots[i] - group->slot, err));
        }
    }
    return 0;
}

struct distributing {
    struct og_gather *g;
    const struct og_gather_group *group;
    bool back; /* of a superbatch that ended early: to the rest */
    uint64_t entered;
};

static int push_into(const struct distributing *d, uint32_t chunk, uint32_t row, const char *record,
                     struct og_err *err)
{
    return og__chunk_push(d->group->written->ahead->chunks, chunk, row, record, &d->g->wrote, err);
}

static int distribute_row(void *arg, uint32_t row, const char *record, struct og_err *err)
{
    struct distributing *d = arg;
    const struct og_gather_group *group = d->group;
    struct og_written *w = group->written;
    struct og_foreseen *f = &w->ahead->foreseen;
    uint32_t to;
    if (row >= w->n_rows)
        return og__written_damaged(err);
    if (d->back)
        return push_into(d, og__rest_chunk(f, row), row, record, err);
    const enum og_goes goes = og__foreseen_distribute(f, &w->writes, row, &to);
    if (goes == OG__GOES_CHUNK)
        return push_into(d, to, row, record, err);
    if (goes == OG__GOES_SLOT) {
        memcpy(og__gather_slot(d->g, group, group->slot + to), record, group->row_bytes);
        d->entered++;
    }
    return 0;
}

/* Chunks of batches that never came. */
static int give_back(struct distributing *d, struct og_io_counts *read, struct og_err *err)
{
    const struct og_ahead *a = d->group->written->ahead;
    const uint32_t late = og__late_chunk(&a->foreseen, 0);
    int rc = 0;
    d->back = true;
    for (uint32_t c = 0; c < late + OG__LATE_CHUNKS; c++) {
        if (c >= a->foreseen.batches && c < late)
            continue;
        if (!a->copied)
            OG_TRY(og__chunk_each(a->chunks, c, false, distribute_row, d, read, err));
        og__chunk_drop(a->chunks, c);
    }
    d->back = false;
out:
    return rc;
}

/* Rows in slots have their values from there too. It is then as the rest. */
static int distribute_base(struct distributing *d, struct og_io_counts *read, struct og_err *err)
{
    const struct og_written *w = d->group->written;
    const size_t bytes = d->group->row_bytes;
    const uint64_t at_once = og__row_writer_bytes(bytes) / bytes;
    const uint32_t k = (uint32_t)(d->group - d->g->group);
    char *records = w->ahead->buffer;
    int rc = 0;
    for (uint64_t first = 0, n; (first = og__bits_next(w->there, w->n_rows, first)) < w->n_rows;
         first += n) {
        n = OG_MIN(w->n_rows - first, at_once);
        OG_TRY(w->base->get(w->base->self, k, first, n, (float *)(void *)records, err));
        read->reads++;
        read->bytes += n * bytes;
        for (uint64_t i = 0; i < n; i++)
            if (og__bits_has(w->there, first + i))
                OG_TRY(distribute_row(d, (uint32_t)(first + i), records + i * bytes, err));
    }
out:
    return rc;
}

/* Those of the rest stay there if batches only read. */
static int distribute_rest(struct distributing *d, uint32_t chunk, struct og_io_counts *read,
                           struct og_err *err)
{
    const struct og_ahead *a = d->group->written->ahead;
    const uint32_t aside = og__aside_chunk(&a->foreseen);
    int rc;
    if (og__foreseen_reads(&a->foreseen))
        return og__chunk_each(a->chunks, chunk, false, distribute_row, d, read, err);
    og__chunk_move(a->chunks, chunk, aside);
    OG_TRY(og__chunk_each(a->chunks, aside, false, distribute_row, d, read, err));
    og__chunk_drop(a->chunks, aside);
out:
    return rc;
}

static int distribute(struct og_gather *g, uint32_t k, struct og_io_counts *read,
                      struct og_err *err)
{
    struct og_written *w = g->group[k].written;
    struct og_ahead *a = w->ahead;
    struct distributing d = {.g = g, .group = &g->group[k]};
    int rc = 0;
    if (!a->foreseen.fills)
        return 0;
    OG_TRY(give_back(&d, read, err));
    for (uint32_t c = 0; c <= OG__REST_CHUNKS; c++)
        OG_TRY(distribute_rest(&d, og__kth_rest_chunk(&a->foreseen, c), read, err));
    if (a->at_base)
        OG_TRY(distribute_base(&d, read, err));
    OG_TRY(d.entered == og__foreseen_copies(&a->foreseen, &w->writes) ? 0
                                                                      : og__written_damaged(err));
    og__foreseen_filled(&a->foreseen, &w->writes);
    a->copied = og__foreseen_reads(&a->foreseen);
    a->at_base = a->at_base && a->copied;
    og__written_know_order(w);
out:
    return rc;
}

static void *distribute_all(void *arg)
{
    struct og_gather *g = arg;
    struct og_distributor *d = &g->distributor;
    for (uint32_t k = 0; d->rc == 0 && k < g->n_groups; k++)
        if (og__gather_foreseen(g, k))
            d->rc = distribute(g, k, &d->read, &d->err);
    return NULL;
}

int og__gather_distribute(struct og_gather *g, struct og_err *err)
{
    struct og_distributor *d = &g->distributor;
    d->rc = 0;
    const int failed = pthread_create(&d->thread, NULL, distribute_all, g);
    d->runs = failed == 0;
    return d->runs ? 0 : og__fail_errno(err, -failed, "lower --threads", "cannot start a thread");
}

void og__ahead_settle(struct og_gather *g)
{
    if (g->distributor.runs)
        pthread_join(g->distributor.thread, NULL);
    g->distributor.runs = false;
}

int og__written_fill_end(struct og_gather *g, struct og_io_counts *read, struct og_err *err)
{
    struct og_distributor *d = &g->distributor;
    og__ahead_settle(g);
    og__add_io(read, d->read);
    d->read = (struct og_io_counts){0};
    if (d->rc < 0 && err)
        *err = d->err;
    return d->rc;
}

/* ---- for checkpoints ---- */

int og__ahead_each(struct og_gather *g, uint32_t k, og_chunk_row *row, void *arg,
                   struct og_io_counts *read, struct og_err *err)
{
    const struct og_ahead *a = g->group[k].written->ahead;
    int rc = 0;
    for (uint32_t c = 0; c < a->foreseen.form.n_chunks; c++)
        OG_TRY(og__chunk_each(a->chunks, c, true, row, arg, read, err));
out:
    return rc;
}

void og__ahead_base(struct og_written *w, bool at_base)
{
    struct og_ahead *a = w->ahead;
    for (uint32_t c = 0; c < a->foreseen.form.n_chunks; c++)
        og__chunk_drop(a->chunks, c);
    a->at_base = at_base;
    a->copied = false;
}
