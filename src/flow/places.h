/* places: batches of disjoint trees, as those who compute with them see them. Rows are planned and
 * read for distinct nodes; a view shows them at each place of the node:
 *
 *   store's rows   | row of ids[0] | of ids[1] | ...
 *                     ^      ^_______________
 *   view           | place 0 | place 1 | place 2 | ...       index alone, rows are not copied */
#ifndef OG_FLOW_PLACES_H
#define OG_FLOW_PLACES_H

#include "base/memory.h"
#include "dataset/graph.h"
#include "sample/batch.h"

struct og_rows;

/* What is held for a batch; zeros to begin with, and a budget. */
struct og_places_view {
    struct og_rows *rows;      /* [n_groups] */
    const struct og_rows *own; /* the store's */
    uint32_t *index;           /* [room] of the groups, one after another; then of ids */
    size_t room;
    struct og_budget *budget;
    struct og_batch sampled; /* as it was; with `shown` */
    bool shown;
};

/* Shows ids and rows of a batch by place. Without trees it changes nothing. rows: of each of the
 * groups; or NULL. */
OG_MUST_CHECK int og__places_show(struct og_places_view *v, struct og_batch *b,
                                  const struct og_rows **rows, const struct og_graph *groups,
                                  struct og_err *err);
/* The store's rows and the batch's own ids again. */
void og__places_hide(struct og_places_view *v, struct og_batch *b, const struct og_rows **rows);
/* Sums rows of `dim` by id. `from` has one for each place of a group, `to` one for each id. Those
 * of an id are added in the order of places. The batch must be shown. */
void og__places_sum(const struct og_places_view *v, const struct og_graph *groups, uint32_t group,
                    int dim, const float *from, float *to);
void og__places_release(struct og_places_view *v);
/* Bytes of views of a batch with so many places. */
size_t og__places_bytes(uint64_t places);

#endif
