/* gather: carries plans out and decides nothing.
 *
 *   one allocation:   | host cache: slots of group 0 | of 1 | ... | staging 0 | staging 1 | ... |
 *                        ^                                          misses of the batches in flight
 *                        └── changes of a batch ────────────────────┘
 *
 * A batch's features are views, one a group of rows of one width: the places that its plan says, in
 * two tiers, the group's slots and its part of the batch's staging area (rows.h). The plan is left
 * as it is. Rows in the cache are never copied; misses are read straight into the staging area of
 * their batch, each group's by a reader of its own, all at the same time: from the feature file, or
 * from a container that holds a copy of them in one piece (pack.h). Those that are to stay are
 * copied to their slots once the batch is done with. */
#ifndef OG_GATHER_H
#define OG_GATHER_H

#include "gather/pack.h"
#include "gather/rows.h"
#include "io/io.h"
#include "plan/plan.h"

struct og_gather;

/* Memory that a device reaches as well, in the place of the process's own. It is not counted by who
 * gives it. */
struct og_pinned {
    void *self;
    void *(*take)(void *self, size_t bytes, struct og_err *err);
    void (*give)(void *self, void *p, size_t bytes); /* NULL: nothing */
};

struct og_gather_options {
    const uint32_t *n_slots;      /* [n_groups] rows of each that the host cache holds; 0 where they
                                     have no features */
    const uint32_t *staging_rows; /* [n_groups] misses of one batch; grows when a batch has more */
    uint32_t rows;                /* of one batch, with several groups; the same */
    uint32_t n_yielded;           /* of all slots so many, the last, are yielded to begin with, see
                                     og__gather_yield */
    int n_staging;                /* batches in flight between loader and trainer, >= 1 */
    bool fills_beside;            /* the cache is filled while batches are in flight */
    const struct og_pinned *pinned; /* cache and staging areas lie there; NULL: one allocation.
                                       Borrowed. Not shared then, and yielded as a whole */
    int sharers; /* processes that have the cache together, each of which counts its part
                    (og__gather_share); 0: its own */
    struct og_reader_options reader; /* of all groups; each has the profile of its own files */
};

/* Rows of group[n_groups], which stay as long; the arrays of opt do not. Nodes are the graph's, of
 * one group its own from 0. Everything from the budget: "feature cache", "staging", "read buffers",
 * and with several groups "plans". */
OG_MUST_CHECK int og__gather_open(struct og_gather **out, const struct og_group *group,
                                  uint32_t n_groups, const struct og_gather_options *opt,
                                  struct og_budget *b, struct og_err *err);
void og__gather_close(struct og_gather *g); /* accepts NULL */
/* What fills_beside takes more of one group. */
size_t og__gather_beside_bytes(const struct og_reader_options *reader, size_t row_bytes);
/* What its readers take, and what goes with a staging area for batches of so many rows beside them,
 * of several groups. */
size_t og__gather_reader_bytes(const struct og_graph *g, int io);
size_t og__gather_staging_bytes(const struct og_graph *g, uint64_t rows);
/* How the engine that will read a group's rows merges; asked of one. */
OG_MUST_CHECK int og__gather_read_rule(const struct og_group *group, int io, struct og_budget *b,
                                       struct og_read_rule *out, struct og_err *err);
const char *og__gather_engine(const struct og_gather *g);
int og__gather_areas(const struct og_gather *g); /* of staging */

/* Start putting rows into slots, n <= OG__FILL_ROWS, nodes of a group ascending; both arrays are
 * copied. Reads of the call before are finished meanwhile. counts are added to. No batch is in
 * flight, unless opened with fills_beside: then one thread fills slots that no batch in flight
 * uses. After the last call, or a failed one, comes og__gather_fill_end. */
enum { OG__FILL_ROWS = 16384 };
OG_MUST_CHECK int og__gather_fill(struct og_gather *g, const uint32_t *nodes, const uint32_t *slots,
                                  uint32_t n, struct og_io_counts *counts, struct og_err *err);
OG_MUST_CHECK int og__gather_fill_end(struct og_gather *g, struct og_io_counts *counts,
                                      struct og_err *err);

/* The cache of processes that share it, which hold the same rows in the same slots and change none:
 * `fill` fills it, by og__gather_fill, where this one is the first (`at`: where it lies). Before
 * anything is read from it. */
struct og_common;
OG_MUST_CHECK int og__gather_share(struct og_gather *g, struct og_common *c, uint64_t key,
                                   int (*fill)(void *arg, void *at, struct og_err *err), void *arg,
                                   struct og_err *err);
/* A cache of this process (`sharers` 1) that others may look into, wherever they map the part; it
 * is filled as any other, and nothing in it changes from then on. */
OG_MUST_CHECK int og__gather_show(struct og_gather *g, struct og_common *c, uint64_t key,
                                  struct og_err *err);
/* Bytes of it that others count. */
size_t og__gather_counted_elsewhere(const struct og_gather *g);

/* A row that somebody else has read, into a slot that no batch in flight uses. */
void og__gather_put(struct og_gather *g, uint32_t slot, const char *row);

/* Give the memory of the last n slots back to the budget, of whichever groups, and take it again,
 * but for that of the last n: what they held is lost. Pinned memory cannot be given in part: of n >
 * 0 all slots' goes. No batch is in flight. */
void og__gather_yield(struct og_gather *g, uint32_t n);
OG_MUST_CHECK int og__gather_reclaim(struct og_gather *g, uint32_t n, struct og_err *err);
uint32_t og__gather_yielded(const struct og_gather *g); /* slots without memory, the last ones */
/* As many would still be, had it so many bytes more. */
uint32_t og__gather_lacking(const struct og_gather *g, size_t bytes);

/* From now on the misses of batches come from these containers, one for each group with features,
 * made from the same plans, chunk by chunk, as far as they have any; NULL: from the feature files
 * again. Borrowed; opened for as many reads as there are staging areas. No batch is in flight. */
void og__gather_from_packs(struct og_gather *g, struct og_pack *const *packs);

/* Start reading a batch's misses into staging area `staging` (free: no batch uses it). `plan` is
 * borrowed until the area is begun again; it is of ids[plan->n], which come group by group and need
 * not be given where there is one. `chunk` is the batch's in the containers, if there are any.
 * Loader thread only. */
OG_MUST_CHECK int og__gather_begin(struct og_gather *g, int staging, const struct og_plan *plan,
                                   const uint32_t *ids, uint32_t chunk, struct og_err *err);
/* Wait for them; *rows [n_groups] then shows the batch's features, valid until the staging area is
 * begun again. *counts is set. Loader thread only. */
OG_MUST_CHECK int og__gather_finish(struct og_gather *g, int staging, const struct og_rows **rows,
                                    struct og_io_counts *counts, struct og_err *err);

/* What was read of group k for the batch that was finished last in this area: returns how many rows
 * were missed, and adds to *read. */
uint32_t og__gather_read_of(const struct og_gather *g, int staging, uint32_t k,
                            struct og_io_counts *read);

/* Wait for them, whatever comes: nobody wants the batch any more. By the thread that has begun, or
 * tried to, before it ends: reads must end before their buffers do, and no other thread can wait
 * for them. */
void og__gather_give_up(struct og_gather *g, int staging);

/* The plan's changes, once nobody uses the batch's rows any more and before the next batch's are
 * used: rows that it read go to their slots. rows: as finish showed them. */
void og__gather_change(struct og_gather *g, const struct og_plan *plan, const struct og_rows *rows);

#endif
