/* write count: counts in advance what a cache's batches read and write of rows that they change. By
 * the code that the run calls: writes.h, and with batches known in advance foreseen.h. */
#ifndef OG_PLAN_WRITE_COUNT_H
#define OG_PLAN_WRITE_COUNT_H

#include "plan/foreseen.h"

struct og_write_count {
    size_t row_bytes; /* of a row that batches change; 0: they change none, and all are 0 */
    size_t in_memory; /* rows that left last */
    bool clean;       /* no batch came since rows entered slots */
    struct og_writes tables;
    struct og_evicted left;
    struct og_io_counts writes; /* so far */
    /* with batches known in advance: */
    uint32_t batches; /* of a superbatch, at most; 0: they are not */
    uint32_t number;  /* of the next one */
    struct og_foreseen foreseen;
    struct og_chunk_count *chunk; /* [form.n_chunks] */
};
OG_MUST_CHECK int og__write_count_open(struct og_write_count *c, size_t row_bytes, uint64_t n_rows,
                                       uint32_t n_slots, uint32_t batches, struct og_budget *b,
                                       struct og_err *err);
void og__write_count_close(struct og_write_count *c); /* accepts a zeroed one */
size_t og__write_count_bytes(uint64_t n_rows, uint64_t n_slots, uint32_t batches);

/* Batches known in advance: the uses of a superbatch of the group alone, whose nodes are rows. Its
 * batches change them. */
OG_MUST_CHECK int og__write_count_foresee(struct og_write_count *c, struct og_next_use_list *uses,
                                          const struct og_trace *t, struct og_budget *b,
                                          struct og_err *err);
/* Before the next batch, rows enter slots. */
OG_MUST_CHECK int og__write_count_fill(struct og_write_count *c, const uint32_t *rows,
                                       const uint32_t *slots, uint32_t first_slot, uint32_t n,
                                       struct og_err *err);
/* Batches known in advance, once rows have entered slots: what the superbatch reads before its
 * first batch. */
void og__write_count_begin(struct og_write_count *c, struct og_io_counts *read);
/* The next batch. next: [b->n] its uses, where batches are known. Then *again is all that it reads.
 * Else it is what it reads of rows that left at the end of the one before. */
OG_MUST_CHECK int og__write_count_batch(struct og_write_count *c, const struct og_writes_batch *b,
                                        const uint16_t *next, struct og_io_counts *again,
                                        struct og_err *err);

#endif
