/* packs: what `outgrow pack` adds to pre-sampled batches (Liu et al. 2025, §4, §5.2), in their
 * subfolder `pack`:
 *
 *   pack.json            what it is for
 *   draw<d>_cached.npy   the nodes whose rows the cache is to hold while draw d is trained
 *   draw<d>.pack         a packed file of what its batches miss then (gather/pack.h)
 *   draw<d>_<t>.pack     the same for each type with features, of a heterogeneous graph
 *
 * It is of use to a run whose cache is as large. What does not fit, or is damaged, is reported and
 * ignored. Rows that are found damaged later, when their batch comes, end it. */
#ifndef OG_PACKS_H
#define OG_PACKS_H

#include "base/json.h"
#include "base/memory.h"
#include "dataset/graph.h"

struct og_packs {
    char *dir;
    const struct og_graph *graph;
    uint32_t draws, cache_rows;
    uint32_t *group_rows; /* [n_groups] of cache_rows, those of each */
    json_t *checksums;    /* of the lists of nodes: an array by draw; NULL = not said */
};

/* Does that folder of samples have packs? */
bool og__packs_are_there(const char *samples);
/* Opens the packs in folder `samples`; NULL if there are none for this graph. The graph has to stay
 * open. */
struct og_packs *og__packs_open(const char *samples, const struct og_graph *g,
                                const struct og_log *log);
void og__packs_close(struct og_packs *p); /* accepts NULL */

/* In the making: of no draw yet. og__packs_release is the caller's. */
OG_MUST_CHECK int og__packs_begin(struct og_packs *p, const struct og_graph *g, struct og_err *err);
void og__packs_release(struct og_packs *p);
/* The checksum of the next draw's list of nodes, for pack.json. */
OG_MUST_CHECK int og__packs_note(struct og_packs *p, uint64_t checksum, struct og_err *err);
/* pack.json of a folder `dir` in the making. */
OG_MUST_CHECK int og__packs_describe(const struct og_packs *p, const char *dir, struct og_err *err);

/* Sets the dtype of rows to that of the packs, by pack.json; as stored, where it has none. */
void og__packs_take_dtype(const char *samples, struct og_graph *g);

/* Files of a draw, malloc'ed; NULL on lack of memory. */
char *og__packs_file(const char *dir, uint32_t draw, const struct og_group *g);
char *og__packs_list(const char *dir, uint32_t draw);

/* The nodes to be cached, ascending, for og__release as "policy". */
OG_MUST_CHECK int og__packs_cached(const struct og_packs *p, uint32_t draw, uint64_t n_nodes,
                                   struct og_budget *b, uint32_t **nodes, uint32_t *n,
                                   struct og_err *err);

#endif
