#include "plan/write_count.h"

#include "io/write_behind.h"

#include <stdlib.h>

int og__write_count_open(struct og_write_count *c, size_t row_bytes, uint64_t n_rows,
                         uint32_t n_slots, uint32_t batches, struct og_budget *b,
                         struct og_err *err)
{
    *c = (struct og_write_count){.row_bytes = row_bytes, .left = {.budget = b}};
    if (row_bytes == 0)
        return 0;
    c->in_memory = og__write_behind_rows(row_bytes, n_rows);
    OG_DO(og__writes_open(&c->tables, n_slots, b, err));
    if (batches == 0)
        return 0;
    OG_DO(og__foreseen_open(&c->foreseen, row_bytes, n_rows, n_slots, batches, b, err));
    c->chunk = calloc(c->foreseen.form.n_chunks, sizeof(*c->chunk));
    c->batches = batches;
    return c->chunk ? 0 : og__fail_errno(err, -ENOMEM, NULL, "embeddings");
}

void og__write_count_close(struct og_write_count *c)
{
    og__writes_close(&c->tables);
    og__foreseen_close(&c->foreseen);
    og__evicted_close(&c->left);
    free(c->chunk);
    c->chunk = NULL;
}

size_t og__write_count_bytes(uint64_t n_rows, uint64_t n_slots, uint32_t batches)
{
    return og__writes_bytes(n_slots) + (batches > 0 ? og__foreseen_bytes(n_rows, n_slots) : 0);
}

static int count_rows(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                      struct og_err *err)
{
    struct og_write_count *c = arg;
    const struct og_io_counts io = og__row_writer_predict(c->row_bytes, rows, n);
    (void)at;
    (void)err;
    og__add_io(&c->writes, io);
    return 0;
}

static int count_leaving(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                         struct og_err *err)
{
    struct og_write_count *c = arg;
    const int rc = og__evicted_add(&c->left, rows, n, err);
    return rc < 0 ? rc : count_rows(c, rows, at, n, err);
}

/* ---- batches known in advance ---- */

static int count_push(void *arg, uint32_t row, uint32_t at, uint32_t chunk, struct og_err *err)
{
    struct og_write_count *c = arg;
    const struct og_chunk_form *form = &c->foreseen.form;
    (void)row;
    (void)at;
    (void)err;
    if (og__chunk_count_push(form, &c->chunk[chunk])) {
        c->tables.written += form->rows;
        c->writes.reads++;
        c->writes.bytes += form->block;
    }
    return 0;
}

static void read_chunk(const struct og_write_count *c, uint32_t chunk, struct og_io_counts *read)
{
    read->reads += c->chunk[chunk].blocks;
    read->bytes += c->chunk[chunk].blocks * (uint64_t)c->foreseen.form.block;
}

/* As og__chunk_append and og__chunk_drop. */
static void empty_chunk(struct og_write_count *c, uint32_t chunk, bool into_kept)
{
    const struct og_chunk_count was = c->chunk[chunk];
    const uint32_t kept = og__kept_chunk(&c->foreseen);
    c->chunk[chunk] = (struct og_chunk_count){0};
    if (into_kept)
        c->chunk[kept].blocks += was.blocks;
    for (uint32_t i = 0; into_kept && i < was.rows; i++)
        (void)!count_push(c, 0, 0, kept, NULL);
}

int og__write_count_foresee(struct og_write_count *c, struct og_next_use_list *uses,
                            const struct og_trace *t, struct og_budget *b, struct og_err *err)
{
    OG_DO(og__next_use_list_begin(uses, t, b, err));
    og__foreseen_begin(&c->foreseen);
    for (uint32_t i = t->n_batches; i-- > 0;)
        og__foreseen_batch(&c->foreseen, i, t->ids + t->ptr[i], 0,
                           (uint32_t)(t->ptr[i + 1] - t->ptr[i]), uses->next + uses->ptr[i]);
    og__foreseen_done(&c->foreseen, &c->tables, t->n_batches);
    return 0;
}

void og__write_count_begin(struct og_write_count *c, struct og_io_counts *read)
{
    struct og_foreseen *f = &c->foreseen;
    uint32_t row = 0, to;
    for (uint32_t k = 0; k <= OG__REST_CHUNKS; k++) {
        const uint32_t chunk = og__kth_rest_chunk(f, k);
        read_chunk(c, chunk, read);
        if (!og__foreseen_reads(f))
            empty_chunk(c, chunk, false);
        for (; row < f->n_rows && og__rest_chunk(f, row) == chunk; row++)
            if (og__bits_has(f->there, row) &&
                og__foreseen_distribute(f, &c->tables, row, &to) == OG__GOES_CHUNK)
                (void)!count_push(c, row, 0, to, NULL);
    }
    og__foreseen_filled(f, &c->tables);
    c->number = 0;
}

static int foreseen_batch(struct og_write_count *c, const struct og_writes_batch *b,
                          const uint16_t *next, struct og_io_counts *read, struct og_err *err)
{
    struct og_foreseen *f = &c->foreseen;
    const uint32_t number = c->number++, late = og__late_chunk(f, number);
    const bool keeps =
        og__foreseen_keeps(f, b, number, next, c->chunk[number].blocks + c->chunk[late].blocks,
                           c->chunk[og__kept_chunk(f)].blocks);
    const bool into_kept = keeps && !og__foreseen_reads(f);
    read_chunk(c, number, read);
    read_chunk(c, late, read);
    const int rc = og__foreseen_end(f, &c->tables, b, number, keeps, next, count_push, c, err);
    empty_chunk(c, number, into_kept);
    empty_chunk(c, late, into_kept);
    return rc;
}

/* ---- all ---- */

static int fill_foreseen(struct og_write_count *c, const uint32_t *rows, const uint32_t *slots,
                         uint32_t first_slot, uint32_t n, struct og_err *err)
{
    int rc = 0;
    uint32_t from;
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        rc = og__foreseen_fill(&c->foreseen, &c->tables, rows[i], slots[i] - first_slot, count_push,
                               c, &from, err);
    return OG_MIN(rc, 0);
}

int og__write_count_fill(struct og_write_count *c, const uint32_t *rows, const uint32_t *slots,
                         uint32_t first_slot, uint32_t n, struct og_err *err)
{
    if (c->row_bytes == 0)
        return 0;
    if (c->batches > 0)
        return fill_foreseen(c, rows, slots, first_slot, n, err);
    const int rc = c->clean ? 0 : og__writes_flush(&c->tables, NULL, true, count_rows, c, err);
    c->clean = true;
    og__writes_fill(&c->tables, rows, slots, first_slot, n);
    return rc;
}

int og__write_count_batch(struct og_write_count *c, const struct og_writes_batch *b,
                          const uint16_t *next, struct og_io_counts *again, struct og_err *err)
{
    *again = (struct og_io_counts){0};
    if (c->row_bytes == 0)
        return 0;
    if (b->changed)
        og__writes_touch(&c->tables, b->place, b->n);
    if (c->batches > 0)
        return foreseen_batch(c, b, next, again, err);
    og__evicted_again(&c->left, b->misses, b->n_misses, c->in_memory, NULL, NULL);
    *again = og__row_writer_predict(c->row_bytes, c->left.rows, c->left.n);
    c->left.n = 0;
    c->clean = false;
    return og__writes_end(&c->tables, b, count_leaving, c, err);
}
