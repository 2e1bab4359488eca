/* Internals of written.h: rows that batches change.
 *
 *   written.c          slots, staging, the file; what all policies do
 *   written_chunks.c   where batches are known in advance: rows wait in chunks (plan/foreseen.h) */
#ifndef OG_GATHER_WRITTEN_PARTS_H
#define OG_GATHER_WRITTEN_PARTS_H

#include "gather/gather_parts.h"
#include "gather/written.h"
#include "io/write_behind.h"
#include "plan/foreseen.h"

struct og_written {
    const struct og_group *of;
    struct og_budget *budget;
    struct og_writes writes;
    uint32_t n_rows;
    uint64_t *there;   /* [n_rows] bits: the row was written */
    uint64_t *changed; /* [n_rows] bits: og__gather_changed */
    const struct og_base_rows *base;
    bool in_order; /* every row is in the slot of its number: none is written */
    int touched;   /* staging area of the batch whose rows were changed; -1 = none */
    /* They are read from the file, and written by a thread: */
    struct og_write_behind *file;
    struct og_evicted left;
    /* Batches whose reads began, and that ended; rows pushed up to the end of the last two. */
    uint64_t begun, ended, pushed[2];
    struct og_ahead *ahead; /* or else they wait in chunks; NULL: they do not */
};

struct og_ahead {
    struct og_foreseen foreseen;
    struct og_chunk_file *chunks;
    char *buffer; /* of the base's rows */
    const struct og_next_use_list *uses;
    bool copied;  /* chunks of batches have copies of rows of the rest */
    bool at_base; /* the base has all rows, and chunks of batches at most copies */
};

OG_MUST_CHECK int og__ahead_open(struct og_written *w, const struct og_gather_options *opt,
                                 struct og_err *err);
void og__ahead_close(struct og_written *w);

/* A batch, as og__gather_arrive and og__written_leave. */
OG_MUST_CHECK int og__ahead_arrive(struct og_gather *g, int area, uint32_t k,
                                   struct og_io_counts *read, struct og_err *err);
OG_MUST_CHECK int og__ahead_leave(struct og_gather *g, int area, uint32_t k,
                                  const struct og_writes_batch *b, struct og_err *err);

/* Waits for the thread that distributes rows, if it runs. Its failure is that of fill_end. */
void og__ahead_settle(struct og_gather *g);

/* Calls `row` for all rows in chunks. */
OG_MUST_CHECK int og__ahead_each(struct og_gather *g, uint32_t k, og_chunk_row *row, void *arg,
                                 struct og_io_counts *read, struct og_err *err);
/* Chunks are empty: the base has all rows, or else slots have. */
void og__ahead_base(struct og_written *w, bool at_base);
OG_MUST_CHECK int og__written_damaged(struct og_err *err);

/* Is the row in every slot that of its number? */
void og__written_know_order(struct og_written *w);

#endif
