/* gather: executes plans. Copies and reads feature rows; decides nothing.
 *
 *   one allocation:   | host cache: slots of group 0 | of 1 | ... | staging 0 | staging 1 | ... |
 *                        ^                                          misses of the batches in flight
 *                        └── changes of a batch ────────────────────┘
 *
 * A group is a set of rows of one size. A batch's features are one view per group over two tiers:
 * the group's slots, and its part of the batch's staging area (rows.h). The plan gives each row's
 * location and is not changed.
 *
 * Cached rows are never copied. Misses are read directly into the batch's staging area, by one
 * reader per group, all in parallel. They come from the feature file, or from a packed file that
 * has copies of them in one piece (pack.h). Rows that enter the cache are copied to their slots
 * after the batch. */
#ifndef OG_GATHER_H
#define OG_GATHER_H

#include "gather/pack.h"
#include "gather/rows.h"
#include "io/io.h"
#include "plan/plan.h"

struct og_gather;

/* Allocator of memory that a device reaches too, used instead of the process's own. It does not
 * charge the budget. */
struct og_pinned {
    void *self;
    void *(*take)(void *self, size_t bytes, struct og_err *err);
    void (*give)(void *self, void *p, size_t bytes); /* NULL: no-op */
};

struct og_gather_options {
    const uint32_t *n_slots;      /* [n_groups] rows that the host cache has slots for; 0 without
                                     features */
    const uint32_t *staging_rows; /* [n_groups] misses of one batch; grows when a batch has more */
    uint32_t rows;                /* rows of one batch, with several groups; grows likewise */
    uint32_t n_released;          /* so many of the last slots have no memory at first, as after
                                    og__gather_release_slots */
    int n_staging;                /* batches in flight between loader and trainer, >= 1 */
    uint32_t foreseen;          /* the most batches of a superbatch for whose uses written rows wait
                                   in chunks (written.h); 0: none do */
    bool fills_during_training; /* the cache is filled while batches are in flight */
    const struct og_pinned *pinned;  /* memory of cache and staging areas; NULL: one allocation.
                                        Borrowed. Excludes sharing; released only as a whole */
    int n_processes;                 /* processes that share the cache and count a part of it each
                                    (og__gather_share);                 0: private */
    struct og_reader_options reader; /* for all groups; each uses the profile of its own files */
};

/* Open a gatherer of n_groups groups. `group` is borrowed; the arrays of opt are copied. Node ids
 * are those of the graph, or of the only group, from 0. Charges "feature cache", "staging", "read
 * buffers" and, with several groups, "plans" to the budget. */
OG_MUST_CHECK int og__gather_open(struct og_gather **out, const struct og_group *group,
                                  uint32_t n_groups, const struct og_gather_options *opt,
                                  struct og_budget *b, struct og_err *err);
void og__gather_close(struct og_gather *g); /* accepts NULL */
/* Additional bytes that fills_during_training takes, of one group. */
size_t og__gather_extra_bytes(const struct og_reader_options *reader, size_t row_bytes);
/* Bytes of all readers. The second: bytes per staging area for batches of `rows` rows in addition
 * to these, with several groups. */
size_t og__gather_reader_bytes(const struct og_graph *g, int io);
size_t og__gather_staging_bytes(const struct og_graph *g, uint64_t rows);
/* The list of written rows that leave while a batch of so many rows is in flight. */
size_t og__gather_left_bytes(const struct og_graph *g, uint64_t rows);
/* What written rows take for each batch of a superbatch whose uses are known. */
size_t og__gather_foreseen_bytes(const struct og_graph *g, uint64_t batches);
/* The read engine's rule for merging requests of a group's rows. Opens a reader for it. */
OG_MUST_CHECK int og__gather_read_rule(const struct og_group *group, int io, struct og_budget *b,
                                       struct og_read_rule *out, struct og_err *err);
const char *og__gather_engine(const struct og_gather *g);
int og__gather_areas(const struct og_gather *g); /* number of staging areas */

/* Start to read rows into slots. At most OG__FILL_ROWS; nodes are of one group and ascend; both
 * arrays are copied. Finishes the reads of the previous call meanwhile. Adds to counts. No batch
 * may be in flight, unless fills_during_training: then one thread may fill slots that no batch in
 * flight uses. og__gather_fill_end must follow the last call, also after a failure. */
enum { OG__FILL_ROWS = 16384 };
OG_MUST_CHECK int og__gather_fill(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots,
                                  uint32_t n, struct og_io_counts *counts, struct og_err *err);
OG_MUST_CHECK int og__gather_fill_end(struct og_gather *g, struct og_io_counts *counts,
                                      struct og_err *err);

/* Share the cache among processes that hold the same rows in the same slots and change none. The
 * first process fills it through `fill`, which calls og__gather_fill and gets its address in `at`.
 * Must precede all reads of the cache. */
struct og_shared_memory;
OG_MUST_CHECK int og__gather_share(struct og_gather *g, struct og_shared_memory *c, uint64_t key,
                                   int (*fill)(void *arg, void *at, struct og_err *err), void *arg,
                                   struct og_err *err);
/* Publish this process's cache (`n_processes` 1), so that others may map and read it. It is filled
 * as usual and must not change afterwards. */
OG_MUST_CHECK int og__gather_show(struct og_gather *g, struct og_shared_memory *c, uint64_t key,
                                  struct og_err *err);
/* Bytes of the cache that other processes count. */
size_t og__gather_counted_elsewhere(const struct og_gather *g);

/* Copy a row that was read elsewhere into a slot that no batch in flight uses. */
void og__gather_put(struct og_gather *g, uint32_t slot, const char *row);

/* Returns the memory of the last n slots, of any group, to the budget; their rows are lost.
 * Afterwards og__gather_reclaim allocates it again, except for the last n slots. Pinned memory can
 * only be returned as a whole: n > 0 returns all. No batch may be in flight. */
void og__gather_release_slots(struct og_gather *g, uint32_t n);
OG_MUST_CHECK int og__gather_reclaim(struct og_gather *g, uint32_t n, struct og_err *err);
uint32_t og__gather_released(const struct og_gather *g); /* slots without memory, the last ones */
/* Slots that would still be without memory, had the cache `bytes` more. */
uint32_t og__gather_lacking(const struct og_gather *g, size_t bytes);

/* Read misses from packed files, one per group with features, made from the same plans. Batches
 * beyond their last chunk are read from the feature files; NULL: all are. Borrowed; each file is
 * open for as many reads as there are staging areas. No batch may be in flight. */
void og__gather_from_packs(struct og_gather *g, struct og_pack *const *packs);

/* Start to read a batch's misses into the free staging area `staging`. `plan` is borrowed until the
 * batch's og__gather_change, or its end. It refers to ids[plan->n], ordered by group; ids may be
 * NULL with one group. `chunk` is the batch's in the packed files, if any. Loader thread only. */
OG_MUST_CHECK int og__gather_begin(struct og_gather *g, int staging, const struct og_plan *plan,
                                   const uint32_t *ids, uint32_t chunk, struct og_err *err);
/* Wait for a batch's misses. Views of the batch's features are in *rows [n_groups], valid until the
 * next begin of the area. Sets *counts. Loader thread only. */
OG_MUST_CHECK int og__gather_finish(struct og_gather *g, int staging, const struct og_rows **rows,
                                    struct og_io_counts *counts, struct og_err *err);

/* Reads of group k for the batch that finished last in this area. Adds them to *read, and returns
 * its misses. */
uint32_t og__gather_read_of(const struct og_gather *g, int staging, uint32_t k,
                            struct og_io_counts *read);

/* Wait for the reads of a batch that is not needed any more. The thread that began the area must
 * call it before it ends: reads must end before their buffers do, and no other thread can wait for
 * them. */
void og__gather_give_up(struct og_gather *g, int staging);

/* Apply the plan's changes: copy rows that enter the cache to their slots. Nobody may use the
 * batch's rows any more, and the next batch's rows not yet. rows: from finish. Rows that batches
 * change are in written.h. */
void og__gather_change(struct og_gather *g, const struct og_plan *plan, const struct og_rows *rows);

#endif
