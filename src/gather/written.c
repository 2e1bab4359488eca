#include "gather/written_parts.h"

#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#define TABLES "feature cache"

enum { AT_ONCE = 4096 }; /* rows that are read together */

/* ---- memory ---- */

static size_t there_bytes(uint64_t n_rows)
{
    return og__bits_words(n_rows) * sizeof(uint64_t);
}

static size_t least_left(const struct og_group *of)
{
    return og__write_behind_rows(og__row_bytes(of), (uint64_t)of->n_nodes);
}

/* Chunks for no batch: what the rest takes. */
static struct og_chunk_form least_form(const struct og_group *of)
{
    return og__foreseen_form(og__row_bytes(of), (uint64_t)of->n_nodes, 0);
}

static size_t foreseen_bytes(const struct og_group *of, uint32_t batches)
{
    const struct og_chunk_form form =
        og__foreseen_form(og__row_bytes(of), (uint64_t)of->n_nodes, batches);
    const struct og_chunk_form least = least_form(of);
    return og__chunk_file_blocks_bytes(&form) - og__chunk_file_blocks_bytes(&least);
}

size_t og__gather_foreseen_bytes(const struct og_graph *g, uint64_t batches)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].state > 0)
            bytes += foreseen_bytes(&g->group[k], (uint32_t)batches);
    return bytes;
}

/* With either kind of storage. */
size_t og__written_bytes(const struct og_group *of)
{
    const uint64_t n_rows = (uint64_t)of->n_nodes;
    const struct og_chunk_form least = least_form(of);
    const size_t behind = there_bytes(n_rows) + least_left(of) * sizeof(uint32_t) +
                          og__write_behind_bytes(og__row_bytes(of), n_rows);
    const size_t ahead = og__foreseen_bytes(n_rows, n_rows) +
                         og__row_writer_bytes(og__row_bytes(of)) + og__chunk_file_bytes(&least);
    return og__writes_bytes(n_rows) + there_bytes(n_rows) + OG_MAX(behind, ahead);
}

static int open_behind(struct og_written *w, size_t in_flight, struct og_err *err)
{
    const struct og_group *of = w->of;
    w->there = og__alloc(w->budget, there_bytes(w->n_rows), TABLES, err);
    OG_DO(w->there ? 0 : -ENOMEM);
    memset(w->there, 0, there_bytes(w->n_rows));
    OG_DO(og__evicted_reserve(&w->left, least_left(of) + in_flight, err));
    return og__write_behind_open(&w->file, of->rows.path, (uint64_t)of->rows.offset,
                                 og__row_bytes(of), (uint64_t)of->n_nodes, w->budget, err);
}

int og__written_open(struct og_written **out, const struct og_group *of, uint32_t n_slots,
                     size_t in_flight, const struct og_gather_options *opt, struct og_budget *b,
                     struct og_err *err)
{
    struct og_written *w = *out = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    *w = (struct og_written){.of = of, .budget = b, .n_rows = (uint32_t)of->n_nodes, .touched = -1};
    w->left.budget = b;
    OG_DO(og__writes_open(&w->writes, n_slots, b, err));
    w->changed = og__alloc(b, there_bytes(w->n_rows), TABLES, err);
    OG_DO(w->changed ? 0 : -ENOMEM);
    OG_DO(opt->foreseen > 0 ? og__ahead_open(w, opt, err) : open_behind(w, in_flight, err));
    return 0;
}

void og__written_close(struct og_written *w)
{
    if (!w)
        return;
    og__ahead_close(w);
    og__write_behind_close(w->file);
    og__evicted_close(&w->left);
    og__writes_close(&w->writes);
    og__release(w->budget, w->there, w->there ? there_bytes(w->n_rows) : 0, TABLES);
    og__release(w->budget, w->changed, w->changed ? there_bytes(w->n_rows) : 0, TABLES);
    free(w);
}

const struct og_reader *og__written_reader(const struct og_written *w)
{
    return w->ahead ? og__chunk_file_reader(w->ahead->chunks) : NULL;
}

void og__gather_fresh(struct og_gather *g, const struct og_fresh_rows *fresh)
{
    g->fresh = fresh;
}

/* ---- rows that come ---- */

void og__gather_make(const struct og_gather *g, uint32_t k, uint32_t row, float *record)
{
    g->fresh->make(g->fresh->self, k, row, record);
}

int og__written_arrived(struct og_gather *g, uint32_t k, const uint32_t *rows, uint32_t n, char *at,
                        struct og_err *err)
{
    const struct og_gather_group *group = &g->group[k];
    const struct og_written *w = group->written;
    int rc = 0;
    for (uint32_t i = 0; w && i < n; i++) {
        float *record = (float *)(void *)(at + i * group->row_bytes);
        if (og__bits_has(w->there, rows[i]))
            continue;
        if (w->base && !w->ahead)
            OG_TRY(w->base->get(w->base->self, k, rows[i], 1, record, err));
        else
            og__gather_make(g, k, rows[i], record);
    }
out:
    return rc;
}

/* The batch before the last has ended: of two in flight one is read. What has left up to then is in
 * the file. Without misses too: what left before is read again by no later batch. */
bool og__written_begin(struct og_written *w)
{
    if (!w->ahead)
        og__write_behind_await(w->file, w->pushed[w->begun++ % 2]);
    return w->ahead != NULL;
}

void og__gather_restart(struct og_gather *g)
{
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].written)
            g->group[k].written->begun = g->group[k].written->ended;
}

struct coming {
    const struct og_write_behind *file;
    const struct og_evicted *left;
    const struct og_gather_part *part;
    size_t row_bytes;
};

static char *place_in_batch(void *arg, size_t i)
{
    const struct coming *c = arg;
    const struct og_read_job *job = &c->part->job;
    const uint32_t *at =
        bsearch(&c->left->rows[i], job->rows, job->n, sizeof(*job->rows), og__by_number);
    return c->part->at + (size_t)(at - job->rows) * c->row_bytes;
}

static void recall(void *arg, uint32_t miss, size_t back)
{
    const struct coming *c = arg;
    memcpy(c->part->at + miss * c->row_bytes, og__write_behind_recall(c->file, back), c->row_bytes);
}

/* Takes the part's rows again that left after its reads may have begun. */
static int take_again(struct og_written *w, struct og_gather_part *p, size_t row_bytes,
                      struct og_io_counts *read, struct og_err *err)
{
    struct coming c = {w->file, &w->left, p, row_bytes};
    struct og_io_counts own = {0};
    og__evicted_again(&w->left, p->job.rows, (uint32_t)p->job.n,
                      og__write_behind_rows(row_bytes, w->n_rows), recall, &c);
    if (w->left.n == 0)
        return 0;
    OG_DO(og__row_writer_read(og__write_behind_file(w->file), w->left.rows, w->left.n,
                              place_in_batch, &c, &own, err));
    og__add_io(read, own);
    og__add_io(&p->job.counts, own);
    return 0;
}

int og__gather_arrive(struct og_gather *g, int area, struct og_io_counts *read,
                      struct og_io_counts *written, struct og_err *err)
{
    struct og_staging *s = &g->staging[area];
    int rc = og__gather_check(g, err);
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++) {
        const struct og_gather_group *group = &g->group[k];
        struct og_gather_part *p = &s->part[k];
        if (!group->written)
            continue;
        group->written->touched = -1;
        OG_TRY(group->written->ahead ? og__ahead_arrive(g, area, k, read, err)
                                     : take_again(group->written, p, group->row_bytes, read, err));
        OG_TRY(og__written_arrived(g, k, p->job.rows, (uint32_t)p->job.n, p->at, err));
    }
    const struct og_io_counts wrote = og__gather_written(g);
    written->reads += wrote.reads;
    written->bytes += wrote.bytes;
out:
    return rc;
}

struct og_io_counts og__gather_written(struct og_gather *g)
{
    const struct og_io_counts wrote = g->wrote;
    g->wrote = (struct og_io_counts){0};
    return wrote;
}

static int area_of(const struct og_gather *g, const struct og_rows *rows)
{
    int area = g->n_areas - 1;
    while (area >= 0 && g->staging[area].rows != rows)
        area--;
    return area;
}

void og__gather_touch(struct og_gather *g, const struct og_rows *rows, uint32_t k)
{
    struct og_written *w = g->group[k].written;
    const uint32_t *at = rows[k].index;
    og__writes_touch(&w->writes, at, rows[k].n);
    w->touched = area_of(g, rows);
    const uint32_t *misses = g->staging[w->touched].part[k].job.rows;
    for (uint32_t i = 0; i < rows[k].n; i++)
        og__bits_add(w->changed, at[i] < w->writes.n_slots ? w->writes.held[at[i]]
                                                           : misses[at[i] - w->writes.n_slots]);
}

int og__gather_check(const struct og_gather *g, struct og_err *err)
{
    if (g->failed < 0 && err)
        *err = g->why;
    return g->failed;
}

/* ---- rows that leave ---- */

struct leaving {
    struct og_gather *g;
    const struct og_gather_group *group;
    const char *staged; /* the batch's missed rows */
    const uint32_t *at;
    struct og_io_counts *counts;
};

static const char *place_of(void *arg, size_t i)
{
    const struct leaving *l = arg;
    const struct og_gather_group *group = l->group;
    const uint32_t at = l->at[i];
    return at < group->n_slots ? og__gather_slot(l->g, group, group->slot + at)
                               : l->staged + (at - group->n_slots) * group->row_bytes;
}

static void mark_written(struct og_written *w, const uint32_t *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        og__bits_add(w->there, rows[i]);
}

/* They are written while the next batch trains. */
static int push_rows(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                     struct og_err *err)
{
    struct leaving *l = arg;
    struct og_written *w = l->group->written;
    int rc;
    l->at = at;
    OG_TRY(og__evicted_add(&w->left, rows, n, err));
    OG_TRY(og__write_behind_push(w->file, rows, n, place_of, l, l->counts, err));
    mark_written(w, rows, n);
out:
    return rc;
}

/* They stay in memory, so no batch reads them before they leave. */
static int write_rows(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                      struct og_err *err)
{
    struct leaving *l = arg;
    struct og_written *w = l->group->written;
    struct og_row_writer *file;
    int rc;
    l->at = at;
    OG_TRY(og__write_behind_settle(w->file, &file, err));
    OG_TRY(og__row_writer_write(file, rows, n, place_of, l, l->counts, err));
    mark_written(w, rows, n);
out:
    return rc;
}

static struct og_writes_batch batch_of(const struct og_staging *s, uint32_t k)
{
    return (struct og_writes_batch){.place = s->rows[k].index,
                                    .n = s->rows[k].n,
                                    .misses = s->part[k].job.rows,
                                    .n_misses = (uint32_t)s->part[k].job.n};
}

int og__written_leave(struct og_gather *g, const struct og_rows *rows, uint32_t k, uint32_t first,
                      uint32_t end, uint32_t row, struct og_err *err)
{
    const struct og_gather_group *group = &g->group[k];
    struct og_written *w = group->written;
    const int area = area_of(g, rows);
    const struct og_staging *s = &g->staging[area];
    struct og_writes_batch b = batch_of(s, k);
    struct leaving l = {g, group, s->part[k].at, NULL, &g->wrote};
    b.change_row = s->plan->change_row + first;
    b.change_slot = s->plan->change_slot + first;
    b.n_changes = end - first;
    b.first_row = row;
    b.first_slot = group->slot;
    b.changed = w->touched == area;
    w->touched = -1;
    if (w->ahead)
        return og__ahead_leave(g, area, k, &b, err);
    w->left.n = 0;
    const int rc = og__writes_end(&w->writes, &b, push_rows, &l, err);
    w->pushed[w->ended++ % 2] = og__write_behind_pushed(w->file);
    return rc;
}

/* ---- filling slots ---- */

int og__written_before_fill(struct og_gather *g, uint32_t k, struct og_err *err)
{
    struct og_written *w = g->group[k].written;
    if (w->ahead)
        return 0;
    w->in_order = false; /* rows may leave their slots: what was changed goes to the file */
    const struct og_staging *s = w->touched >= 0 ? &g->staging[w->touched] : NULL;
    const struct og_writes_batch b = s ? batch_of(s, k) : (struct og_writes_batch){0};
    struct leaving l = {g, &g->group[k], s ? s->part[k].at : NULL, NULL, &g->wrote};
    struct og_row_writer *file;
    int rc;
    OG_TRY(og__writes_flush(&w->writes, s ? &b : NULL, true, write_rows, &l, err));
    OG_TRY(og__write_behind_settle(w->file, &file, err)); /* rows are read from it */
out:
    w->touched = -1;
    return rc;
}

void og__written_filled(struct og_gather *g, uint32_t k, const uint32_t *rows,
                        const uint32_t *slots, uint32_t n)
{
    const struct og_gather_group *group = &g->group[k];
    og__writes_fill(&group->written->writes, rows, slots, group->slot, n);
    og__written_know_order(group->written);
}

void og__written_know_order(struct og_written *w)
{
    const uint32_t *held = w->writes.held;
    if (w->writes.n_slots < w->n_rows || held[w->n_rows - 1] != w->n_rows - 1)
        return;
    w->in_order = true;
    for (uint32_t i = 0; w->in_order && i < w->n_rows; i++)
        w->in_order = held[i] == i;
}

/* ---- changed rows, for a checkpoint ---- */

const uint64_t *og__gather_changed(const struct og_gather *g, uint32_t k)
{
    return g->group[k].written->changed;
}

struct bringing {
    struct leaving from;
    struct og_written *written;
    og_put_row *put;
    void *arg;
};

static int bring_row(void *arg, uint32_t row, const char *record, struct og_err *err)
{
    const struct bringing *b = arg;
    struct og_written *w = b->written;
    if (row >= w->n_rows)
        return og__written_damaged(err);
    if (!og__bits_has(w->changed, row))
        return 0;
    w->changed[row >> 6] &= ~((uint64_t)1 << (row & 63));
    return b->put(b->arg, row, record, err);
}

static int bring_rows(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                      struct og_err *err)
{
    struct bringing *b = arg;
    int rc = 0;
    b->from.at = at;
    for (uint32_t i = 0; i < n; i++)
        OG_TRY(bring_row(b, rows[i], place_of(&b->from, i), err));
out:
    return rc;
}

static int bring_from_file(struct bringing *b, struct og_err *err)
{
    const struct og_written *w = b->written;
    const size_t bytes = b->from.group->row_bytes, most = og__row_writer_bytes(bytes) / bytes;
    struct og_row_writer *file;
    int rc;
    OG_TRY(og__write_behind_settle(w->file, &file, err));
    for (uint64_t i = 0, n; (i = og__bits_next(w->changed, w->n_rows, i)) < w->n_rows; i += n) {
        for (n = 0; n < most && i + n < w->n_rows && og__bits_has(w->changed, i + n); n++)
            OG_TRY(og__bits_has(w->there, i + n) ? 0 : og__written_damaged(err));
        OG_TRY(og__row_writer_get(file, i, n, file->buffer, err));
        b->from.counts->reads++;
        b->from.counts->bytes += n * bytes;
        for (uint64_t j = 0; j < n; j++)
            OG_TRY(bring_row(b, (uint32_t)(i + j), file->buffer + j * bytes, err));
    }
out:
    return rc;
}

/* What memory has first: what files have of these rows is older. */
int og__gather_bring(struct og_gather *g, uint32_t k, og_put_row *put, void *arg,
                     struct og_io_counts *read, struct og_err *err)
{
    struct og_written *w = g->group[k].written;
    const struct og_staging *s = w->touched >= 0 ? &g->staging[w->touched] : NULL;
    const struct og_writes_batch batch = s ? batch_of(s, k) : (struct og_writes_batch){0};
    struct bringing b = {{g, &g->group[k], s ? s->part[k].at : NULL, NULL, read}, w, put, arg};
    int rc = 0;
    og__ahead_settle(g);
    if (og__bits_next(w->changed, w->n_rows, 0) == w->n_rows)
        return 0;
    if (w->ahead && g->distributor.rc < 0) { /* some rows are nowhere */
        if (err)
            *err = g->distributor.err;
        return g->distributor.rc;
    }
    OG_TRY(og__writes_flush(&w->writes, s ? &batch : NULL, false, bring_rows, &b, err));
    if (og__bits_next(w->changed, w->n_rows, 0) < w->n_rows)
        OG_TRY(w->ahead ? og__ahead_each(g, k, bring_row, &b, read, err)
                        : bring_from_file(&b, err));
    OG_TRY(og__bits_next(w->changed, w->n_rows, 0) < w->n_rows ? og__written_damaged(err) : 0);
out:
    return rc;
}

/* ---- all rows, from elsewhere ---- */

/* Slots that follow one another with rows that do are read together. */
static int reload(struct og_gather *g, uint32_t k, struct og_err *err)
{
    const struct og_gather_group *group = &g->group[k];
    const struct og_written *w = group->written;
    const uint32_t *held = w->writes.held, n_slots = w->writes.n_slots;
    int rc = 0;
    for (uint32_t i = 0, n; i < n_slots; i += n) {
        n = 1;
        if (held[i] == OG_NO_SLOT)
            continue;
        while (i + n < n_slots && n < AT_ONCE && held[i + n] == held[i] + n)
            n++;
        OG_TRY(w->base->get(w->base->self, k, held[i], n,
                            (float *)(void *)og__gather_slot(g, group, group->slot + i), err));
    }
out:
    return rc;
}

int og__gather_base(struct og_gather *g, uint32_t k, const struct og_base_rows *base,
                    const uint64_t *there, struct og_err *err)
{
    struct og_written *w = g->group[k].written;
    struct og_row_writer *file;
    int rc = 0;
    og__ahead_settle(g);
    if (!w->ahead)
        OG_TRY(og__write_behind_settle(w->file, &file, err));
    w->base = base;
    w->touched = -1;
    w->left.n = 0; /* what left has former values in memory */
    memset(w->changed, 0, there_bytes(w->n_rows));
    memset(w->there, 0, there_bytes(w->n_rows));
    og__writes_clean(&w->writes);
    if (w->in_order) /* memory alone has them */
        for (uint32_t i = 0; i < w->n_rows; i++)
            og__bits_add(w->writes.dirty, i);
    else if (w->ahead && there)
        memcpy(w->there, there, there_bytes(w->n_rows));
    else
        for (uint32_t i = 0; w->ahead && i < w->n_rows; i++)
            og__bits_add(w->there, i);
    if (w->ahead)
        og__ahead_base(w, !w->in_order);
    OG_TRY(reload(g, k, err));
out:
    return rc;
}

void og__gather_settle(struct og_gather *g)
{
    og__ahead_settle(g);
}
