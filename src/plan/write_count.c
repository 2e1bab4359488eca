#include "plan/write_count.h"

#include "io/write_behind.h"

#include <stdlib.h>

int og__write_count_open(struct og_write_count *c, size_t row_bytes, uint64_t n_rows,
                         uint32_t n_slots, uint32_t batches, struct og_budget *b,
                         struct og_err *err)
{
    int rc;
    *c = (struct og_write_count){.row_bytes = row_bytes, .left = {.budget = b}};
    if (row_bytes == 0)
        return 0;
    c->in_memory = og__write_behind_rows(row_bytes, n_rows);
    OG_TRY(og__writes_open(&c->tables, n_slots, b, err));
    if (batches == 0)
        return 0;
    OG_TRY(og__foreseen_open(&c->foreseen, row_bytes, n_rows, n_slots, batches, b, err));
    c->chunk = calloc(c->foreseen.form.n_chunks, sizeof(*c->chunk));
    c->batches = batches;
    OG_TRY(c->chunk ? 0 : og__fail_errno(err, -ENOMEM, NULL, "embeddings"));
out:
    return rc;
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

/* Its blocks are read, and it is empty. */
static void take_chunk(struct og_write_count *c, uint32_t chunk, struct og_io_counts *read)
{
    read->reads += c->chunk[chunk].blocks;
    read->bytes += c->chunk[chunk].blocks * (uint64_t)c->foreseen.form.block;
    c->chunk[chunk] = (struct og_chunk_count){0};
}

int og__write_count_foresee(struct og_write_count *c, struct og_next_use_list *uses,
                            const struct og_trace *t, struct og_budget *b, struct og_err *err)
{
    int rc;
    OG_TRY(og__next_use_list_begin(uses, t, b, err));
    og__foreseen_begin(&c->foreseen);
    for (uint32_t i = t->n_batches; i-- > 0;)
        og__foreseen_batch(&c->foreseen, i, t->ids + t->ptr[i], 0,
                           (uint32_t)(t->ptr[i + 1] - t->ptr[i]), uses->next + uses->ptr[i]);
    og__foreseen_done(&c->foreseen, &c->tables);
out:
    return rc;
}

void og__write_count_begin(struct og_write_count *c, struct og_io_counts *read)
{
    const struct og_foreseen *f = &c->foreseen;
    uint32_t row = 0, to;
    for (uint32_t k = 0; k < OG__REST_CHUNKS; k++) {
        take_chunk(c, f->batches + k, read);
        for (; row < f->n_rows && og__rest_chunk(f, row) == f->batches + k; row++)
            if (og__bits_has(f->there, row) && !og__foreseen_enters(f, row, &to))
                (void)!count_push(c, row, 0, to, NULL);
    }
    c->foreseen.fills = false;
    c->number = 0;
}

static int foreseen_batch(struct og_write_count *c, const struct og_writes_batch *b,
                          const uint16_t *next, struct og_io_counts *read, struct og_err *err)
{
    const uint32_t number = c->number++;
    take_chunk(c, number, read);
    take_chunk(c, og__late_chunk(&c->foreseen, number), read);
    return og__foreseen_end(&c->foreseen, &c->tables, b, number, next, count_push, c, err);
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
