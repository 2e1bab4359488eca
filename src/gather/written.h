/* Rows that batches change: learnable embeddings, with their optimizer state. A row is in one place
 * that counts, and is changed there. Where batches are not known in advance:
 *
 *   its file ──arrive──> staging of the batch ──change──> a slot of the cache
 *      ^                        │ not kept                    │ leaves it
 *      └────────────────────────┴─────────────────────────────┘  sorted and merged
 *
 * Rows that leave are written by a thread (io/write_behind.h), and batches are read in advance.
 * Rows that leave at the end of the batch before are taken again then (plan/writes.h). The file is
 * read through the page cache, which has what was just written.
 *
 * Where they are known, a row that leaves waits in the chunk of its next batch. The file stays
 * empty then (plan/foreseen.h).
 *
 * Values and counts do not depend on slots or pipeline. All calls but og__written_begin and
 * og__written_finish are the consumer's, or come while no batch is in flight.
 *
 * A row that was never written has no bytes in the file, which is sparse. The base has it, if there
 * is one, or else `fresh` makes it. */
#ifndef OG_GATHER_WRITTEN_H
#define OG_GATHER_WRITTEN_H

#include "gather/gather.h"

/* Makes a row that was never written; group and row as in og__gather_open. */
struct og_fresh_rows {
    void *self;
    void (*make)(void *self, uint32_t group, uint32_t row, float *record);
};
/* Gives its rows to all groups whose rows are written. Borrowed. Call before any row is read. */
void og__gather_fresh(struct og_gather *g, const struct og_fresh_rows *fresh);
size_t og__written_bytes(const struct og_group *of); /* tables and buffers */

/* With batches known in advance (og_gather_options.foreseen), before each superbatch. The caller
 * puts first uses into the group's table (NULL: it has none), then all uses, borrowed, follow.
 * Batches change no row from `reads_from` on. */
struct og_foreseen;
struct og_next_use_list;
struct og_foreseen *og__gather_foreseen(struct og_gather *g, uint32_t k);
void og__gather_foresee(struct og_gather *g, const struct og_next_use_list *uses,
                        uint32_t reads_from);
/* Then rows of a window before the first batch, as og__gather_fill; those of other groups are left
 * out. After the last of them, a thread distributes rows, until og__gather_fill_end. The same rows
 * may be filled again meanwhile: they are there. */
OG_MUST_CHECK int og__gather_tell(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots,
                                  uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__gather_distribute(struct og_gather *g, struct og_err *err);

/* Brings the batch's missed rows of written groups up to date, after og__gather_finish. Adds to
 * *read what it read, and to *written what was written since the previous call. */
OG_MUST_CHECK int og__gather_arrive(struct og_gather *g, int staging, struct og_io_counts *read,
                                    struct og_io_counts *written, struct og_err *err);
/* Before batches of a new flow; those of the previous one that were not used are dropped. */
void og__gather_restart(struct og_gather *g);
/* The batch's rows of group k were changed, in place. Before og__gather_change. rows: from
 * og__gather_finish. */
void og__gather_touch(struct og_gather *g, const struct og_rows *rows, uint32_t k);
/* Why the last og__gather_change could not write. */
OG_MUST_CHECK int og__gather_check(const struct og_gather *g, struct og_err *err);

/* Bits of group k's rows that were changed since they were brought, or based. */
const uint64_t *og__gather_changed(const struct og_gather *g, uint32_t k);
/* Calls `put` once for each of them, with its record of now, in any order. Also for those of a
 * batch in use. Where rows are does not depend on it. Adds to *read. */
typedef int og_put_row(void *arg, uint32_t row, const void *record, struct og_err *err);
OG_MUST_CHECK int og__gather_bring(struct og_gather *g, uint32_t k, og_put_row *put, void *arg,
                                   struct og_io_counts *read, struct og_err *err);
/* What rows were before batches changed them. */
struct og_base_rows {
    void *self;
    /* Records of rows [first, first + n) of the group. Any thread. */
    int (*get)(void *self, uint32_t group, uint64_t first, size_t n, float *records,
               struct og_err *err);
};
/* All rows of group k are as `base` has them, borrowed. Bits `there` are of those that are not
 * fresh; NULL: all. No batch may be in flight. */
OG_MUST_CHECK int og__gather_base(struct og_gather *g, uint32_t k, const struct og_base_rows *base,
                                  const uint64_t *there, struct og_err *err);
/* A fresh row of group k. */
void og__gather_make(const struct og_gather *g, uint32_t k, uint32_t row, float *record);
/* No thread reads from bases any more, until the next superbatch. */
void og__gather_settle(struct og_gather *g);
/* What was written since the previous call, or og__gather_arrive. */
struct og_io_counts og__gather_written(struct og_gather *g);

/* ---- of gather's files ---- */

struct og_written;
/* in_flight: rows that leave while a batch waits. */
OG_MUST_CHECK int og__written_open(struct og_written **out, const struct og_group *of,
                                   uint32_t n_slots, size_t in_flight,
                                   const struct og_gather_options *opt, struct og_budget *b,
                                   struct og_err *err);
void og__written_close(struct og_written *w); /* accepts NULL */
/* That reads chunks; NULL: rows are read from their file. */
const struct og_reader *og__written_reader(const struct og_written *w);
/* The loader, before it reads a batch. At most one batch before it may still be in use. True: its
 * rows wait in chunks, which finish reads. */
bool og__written_begin(struct og_written *w);
OG_MUST_CHECK int og__written_finish(struct og_gather *g, int area, uint32_t k, struct og_err *err);
/* Rows [n] of a group arrived at `at`, one after another. */
OG_MUST_CHECK int og__written_arrived(struct og_gather *g, uint32_t k, const uint32_t *rows,
                                      uint32_t n, char *at, struct og_err *err);
/* Before and after rows are put into slots. */
OG_MUST_CHECK int og__written_before_fill(struct og_gather *g, uint32_t k, struct og_err *err);
void og__written_filled(struct og_gather *g, uint32_t k, const uint32_t *rows,
                        const uint32_t *slots, uint32_t n);
/* Where they wait in chunks: until they are in their slots. */
OG_MUST_CHECK int og__written_fill_end(struct og_gather *g, struct og_io_counts *read,
                                       struct og_err *err);
/* Writes what leaves with the changes [first, end) of the batch's plan; the group's rows begin at
 * `row`. */
OG_MUST_CHECK int og__written_leave(struct og_gather *g, const struct og_rows *rows, uint32_t k,
                                    uint32_t first, uint32_t end, uint32_t row, struct og_err *err);

#endif
