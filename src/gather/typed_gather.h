/* Rows of several widths: plans of a typed graph carried out, as gather.h does it for rows of one.
 *
 *   feature cache   | slots of type 0 | of type 1 | ... |   each type's at its own width
 *   staging area    | misses of type 0 | of 1 | ... |
 *
 * A batch's rows are a view a type: the type's slots, and behind them its misses in the order of
 * their file, or of a container that holds a copy of them, each type's one of its own (pack.h).
 * Each type is read by a reader of its own, all at the same time. */
#ifndef OG_GATHER_TYPED_GATHER_H
#define OG_GATHER_TYPED_GATHER_H

#include "dataset/graph.h"
#include "gather/pack.h"
#include "gather/rows.h"
#include "io/io.h"
#include "plan/policy.h"
#include "sample/by_type.h"

struct og_typed_gather;

struct og_typed_gather_options {
    const struct og_slot_range *ranges; /* slots of types with features, in their order; borrowed */
    uint32_t n_ranges;
    uint32_t n_yielded; /* of them so many without memory to begin with, the last ones */
    int n_staging;
    size_t staging_bytes; /* misses of one batch; grows when a batch has more */
    uint32_t rows;        /* of one batch; the same */
    int io;               /* enum og_io_kind */
    bool fills_beside;    /* the cache is filled while batches are in flight */
    int sharers;          /* processes that have the cache together, each of which counts its part
                           * (og__typed_gather_share); 0: it is its own */
};

/* From the budget: "feature cache", "staging", "plans", "read buffers". Types without features have
 * no rows, and are in no plan. Both are borrowed. */
OG_MUST_CHECK int og__typed_gather_open(struct og_typed_gather **out, const struct og_graph *g,
                                        const struct og_graph_types *types,
                                        const struct og_typed_gather_options *opt,
                                        struct og_budget *b, struct og_err *err);
void og__typed_gather_close(struct og_typed_gather *g); /* accepts NULL */
/* How the engine that will read a type's rows merges; asked of one. */
OG_MUST_CHECK int og__typed_reader_rule(const struct og_group *t, int io, struct og_budget *b,
                                        struct og_read_rule *out, struct og_err *err);
/* What its readers take, and what goes with one staging area for batches of so many rows. */
size_t og__typed_reader_bytes(const struct og_graph *g, int io);
size_t og__typed_staging_bytes(const struct og_graph *g, uint64_t rows);
const char *og__typed_gather_engine(const struct og_typed_gather *g);

/* Rows of n nodes, ascending, into slots. counts are added to. No batch is in flight, unless it was
 * opened with fills_beside: then one thread fills slots that no batch in flight uses. */
OG_MUST_CHECK int og__typed_gather_fill(struct og_typed_gather *g, const uint32_t *nodes,
                                        const uint32_t *slots, uint32_t n,
                                        struct og_io_counts *counts, struct og_err *err);

/* As og__gather_share, in the place of filling: rows of all slots, none of them yielded. */
struct og_common;
OG_MUST_CHECK int og__typed_gather_share(struct og_typed_gather *g, struct og_common *c,
                                         uint64_t key,
                                         int (*fill)(void *arg, void *at, struct og_err *err),
                                         void *arg, struct og_err *err);

/* As those of gather.h: the memory of the last n slots, of whichever types; and how many of those
 * lacking any would still lack it, had it so many bytes more. */
void og__typed_gather_yield(struct og_typed_gather *g, uint32_t n);
OG_MUST_CHECK int og__typed_gather_reclaim(struct og_typed_gather *g, uint32_t n,
                                           struct og_err *err);
uint32_t og__typed_gather_yielded(const struct og_typed_gather *g);
uint32_t og__typed_gather_lacking(const struct og_typed_gather *g, size_t bytes);

/* As those of gather.h: a row that somebody else has read, into its slot; packs of each type with
 * features, in their order, or NULL. */
void og__typed_gather_put(struct og_typed_gather *g, uint32_t node, uint32_t slot, const char *row);
void og__typed_gather_from_packs(struct og_typed_gather *g, struct og_pack *const *packs);

/* Start reading what the plan says of ids[plan->n], those of the batch that have rows, into a
 * staging area that no batch uses; `chunk` is the batch's in the packs, if there are any. Loader
 * thread only, as the two below. */
OG_MUST_CHECK int og__typed_gather_begin(struct og_typed_gather *g, int staging,
                                         const struct og_plan *plan, const uint32_t *ids,
                                         uint32_t chunk, struct og_err *err);
/* Wait for it. *rows [n_types] is valid until the area is begun again. */
OG_MUST_CHECK int og__typed_gather_finish(struct og_typed_gather *g, int staging,
                                          const struct og_rows **rows, struct og_io_counts *counts,
                                          struct og_err *err);
/* Wait, whatever comes (gather.h). */
void og__typed_gather_give_up(struct og_typed_gather *g, int staging);

/* The plan's changes, once nobody uses the batch's rows any more and before the next batch's are
 * used: misses go from the batch's staging area to their slots. */
void og__typed_gather_change(struct og_typed_gather *g, int staging, const struct og_plan *plan,
                             const uint32_t *ids);

#endif
