/* Feature rows of sampled batches, as files of a folder of samples. A homogeneous graph has
 *
 *   features.npy            the row of each id, in their order
 *
 * a heterogeneous one, for each group t that has features,
 *
 *   features_<t>.npy        the rows of its nodes among each batch's ids, in the order of these
 *   features_<t>_ptr.npy    int64, where each batch's begin */
#ifndef OG_RUN_RECORDED_ROWS_H
#define OG_RUN_RECORDED_ROWS_H

#include "flow/flow.h"
#include "gather/gather.h"

#include <jansson.h>

struct og_recorded_rows;

/* The graph is borrowed. */
OG_MUST_CHECK int og__recorded_rows_open(struct og_recorded_rows **out, const struct og_graph *g,
                                         const char *dir, struct og_err *err);
/* A batch's rows, which `from` has brought. */
OG_MUST_CHECK int og__recorded_rows_append(struct og_recorded_rows *r, const struct og_work *w,
                                           const struct og_gather *from, struct og_err *err);
/* Completes the files, and notes their checksums. *written is added to. */
OG_MUST_CHECK int og__recorded_rows_finish(struct og_recorded_rows *r, json_t *checksums,
                                           uint64_t *written, struct og_err *err);
/* A list of the groups with features, as JSON: rows, misses, reads; slots[n_groups] are of the
 * cache. NULL without memory. */
json_t *og__recorded_rows_json(const struct og_recorded_rows *r, const uint64_t *slots);
void og__recorded_rows_close(struct og_recorded_rows *r); /* accepts NULL */

#endif
