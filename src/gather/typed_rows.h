/* Feature rows of a typed graph's batches, into a folder: for each type that has features
 *
 *   features_<t>.npy        the rows of its nodes among each batch's ids, in the order of these
 *   features_<t>_ptr.npy    int64, where each batch's begin
 *
 * They are read for each batch, some rows at a time in the order of their file, but for those that
 * are kept in memory. Kept rows are numbered in the order of nodes, so those of a type follow each
 * other, at the type's own width:
 *
 *   | rows of type 0 | of type 1 | ... |     one allocation
 */
#ifndef OG_GATHER_TYPED_ROWS_H
#define OG_GATHER_TYPED_ROWS_H

#include "dataset/graph.h"
#include "io/io.h"
#include "plan/plan.h"
#include "sample/batch.h"

#include <jansson.h>

struct og_typed_rows;

OG_MUST_CHECK int og__typed_rows_open(struct og_typed_rows **out, const struct og_graph *g,
                                      const char *dir, int io, struct og_budget *b,
                                      struct og_err *err);
/* What that takes of the budget. */
size_t og__typed_rows_bytes(const struct og_graph *g, int io);

/* Rows of these nodes are kept from now on: read, as "feature cache" of the budget. `kept` is
 * borrowed. *read is added to. */
OG_MUST_CHECK int og__typed_rows_keep(struct og_typed_rows *r, const struct og_placement *kept,
                                      struct og_budget *b, struct og_io_counts *read,
                                      struct og_err *err);

OG_MUST_CHECK int og__typed_rows_append(struct og_typed_rows *r, const struct og_batch *batch,
                                        struct og_err *err);
/* Completes the files, and notes their checksums. *written is added to. */
OG_MUST_CHECK int og__typed_rows_finish(struct og_typed_rows *r, json_t *checksums,
                                        uint64_t *written, struct og_err *err);
/* Of the i-th type with features, so far; false: there are no more. */
struct og_typed_rows_told {
    const char *type;
    uint64_t kept; /* rows */
    uint64_t rows, misses;
    struct og_io_counts read; /* without what is kept */
};
bool og__typed_rows_tell(const struct og_typed_rows *r, uint32_t i, struct og_typed_rows_told *out);
void og__typed_rows_close(struct og_typed_rows *r); /* accepts NULL */

#endif
