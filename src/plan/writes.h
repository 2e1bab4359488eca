/* writes: rows of a cache that batches change, and when the changed ones are written back. The run
 * and the simulation call the same code, so they count the same writes.
 *
 *   plan of a batch ──> rows that are not kept after it, and rows that leave their slots
 *   prefill         ──> all changed rows, for a row may move from slot to slot
 *
 * A row that was written is clean until the next batch changes it. */
#ifndef OG_PLAN_WRITES_H
#define OG_PLAN_WRITES_H

#include "io/io.h"
#include "plan/plan.h"

struct og_writes {
    uint32_t n_slots;
    uint64_t *dirty; /* [n_slots] bits: the slot's row was changed since it was read or written */
    uint32_t *held;  /* [n_slots] row of each slot, or OG_NO_SLOT */
    struct og_budget *budget;
    uint64_t written; /* rows so far */
};
/* Tables come from the budget as "feature cache". */
OG_MUST_CHECK int og__writes_open(struct og_writes *w, uint32_t n_slots, struct og_budget *b,
                                  struct og_err *err);
void og__writes_close(struct og_writes *w); /* accepts a zeroed one */
size_t og__writes_bytes(uint64_t n_slots);

/* A batch by its plan, with the numbers of one group. */
struct og_writes_batch {
    const uint32_t *place; /* [n] slot of each row, or n_slots + number of the miss */
    uint32_t n;
    const uint32_t *misses; /* [n_misses] rows, ascending */
    uint32_t n_misses;
    /* changes of the plan, whose rows and slots count from these numbers */
    const uint32_t *change_row, *change_slot;
    uint32_t n_changes, first_row, first_slot;
    bool changed; /* the batch changed its rows */
};

/* Rows [n], ascending, are to be written. Row i is in slot at[i], or is miss at[i] - n_slots. */
enum { OG__LEAVE_ROWS = 4096 };
typedef int og_leave(void *arg, const uint32_t *rows, const uint32_t *at, uint32_t n,
                     struct og_err *err);

/* After a batch: calls `leave`, in pieces of OG__LEAVE_ROWS, and advances the tables. */
OG_MUST_CHECK int og__writes_end(struct og_writes *w, const struct og_writes_batch *b,
                                 og_leave *leave, void *arg, struct og_err *err);
/* The batch's rows that are in slots were changed. */
void og__writes_touch(struct og_writes *w, const uint32_t *place, uint32_t n);
/* All changed rows, and with `b` the misses of the batch in use. They stay changed, unless `clean`.
 */
OG_MUST_CHECK int og__writes_flush(struct og_writes *w, const struct og_writes_batch *b, bool clean,
                                   og_leave *leave, void *arg, struct og_err *err);
/* They are no longer changed: all were written elsewhere. */
void og__writes_clean(struct og_writes *w);
/* Rows were put into slots, after a flush. */
void og__writes_fill(struct og_writes *w, const uint32_t *rows, const uint32_t *slots,
                     uint32_t first_slot, uint32_t n);

/* ---- rows that left last ---- */

/* A batch is read while the one before it trains. Misses that leave at that one's end are taken
 * again: it had changed them. The last ones are in memory still (io/write_behind.h), others are
 * read.
 */
struct og_evicted {
    uint32_t *rows; /* [n] of the batch that ended last, in pieces as they left */
    size_t n, capacity;
    struct og_budget *budget; /* as "plans" */
};
OG_MUST_CHECK int og__evicted_reserve(struct og_evicted *l, size_t n, struct og_err *err);
OG_MUST_CHECK int og__evicted_add(struct og_evicted *l, const uint32_t *rows, size_t n,
                                  struct og_err *err);
/* Retains those among misses[n], ascending, that are to be read; in ascending order. The last
 * `in_memory` of all that left are not: for a miss among these `recall` is called, unless it is
 * NULL. back: 1 for the row that left last. */
typedef void og_recall(void *arg, uint32_t miss, size_t back);
void og__evicted_again(struct og_evicted *l, const uint32_t *misses, uint32_t n, size_t in_memory,
                       og_recall *recall, void *arg);
void og__evicted_close(struct og_evicted *l);

#endif
