/* The part of the graph that the predictions of some nodes need, for predict --nodes.
 *
 *     requested ──their sources──> hop 1 ──theirs──> hop 2 ...      a bit a node and hop
 *
 *     number    0 .. requested | found in hop 1 | found in hop 2 | ...
 *     node      ascending      | ascending      | ascending
 *
 * Found nodes get new numbers, so what a layer needs is a prefix. The lists of a hop's nodes lead
 * to nodes of the next hop at most. With these lists and numbers the passes of a layer do not
 * distinguish the part from a graph. Only feature rows are read by node. Each list is read once. */
#ifndef OG_INFER_NEEDED_H
#define OG_INFER_NEEDED_H

#include "dataset/graph.h"
#include "io/io.h"
#include "sample/batch.h"

struct og_inference;

struct og_needed {
    uint32_t *requested; /* [n_requested] as the caller lists them; NULL: every node */
    int64_t n_requested;
    uint64_t end[OG_MAX_HOPS + 1];   /* number of nodes that were found up to a hop */
    uint64_t edges[OG_MAX_HOPS + 1]; /* and of edges in their lists */
    uint32_t *ids;                   /* [end of the last hop] node of each number */
    uint64_t n_ids;
    uint64_t *bits;                /* the requested nodes, one bit a node, */
    uint32_t *order;               /* and their ranks (base/bits.h) */
    struct og_io_counts predicted; /* reads of each needed feature row, once */
};

/* Finds the part, after the output folder is open. Writes its lists to that folder, and makes them
 * the inference's lists. */
OG_MUST_CHECK int og__infer_pick(struct og_inference *f, struct og_err *err);
/* After the survey: in-degrees of the last hop's nodes, whose lists are not among those. */
OG_MUST_CHECK int og__infer_pick_degrees(struct og_inference *f, struct og_err *err);
void og__infer_release_picked(struct og_inference *f);

/* The number of a requested node. */
uint32_t og__needed_number(const struct og_needed *d, uint32_t node);

#endif
