/* Reading a table of predictions (prediction_file.h). */
#ifndef OG_INFER_PREDICTION_TABLE_H
#define OG_INFER_PREDICTION_TABLE_H

#include "dataset/graph.h"

bool og__prediction_is_table(const char *path); /* by its ending */
/* Writes the scores of all nodes into the new file `out`, .npy of float32 [N, classes]. Lines, one
 * a node in any order, are found by their ids, and columns by the names of classes. */
OG_MUST_CHECK int og__prediction_table(const char *table, const char *out, const struct og_graph *g,
                                       struct og_budget *b, struct og_err *err);

#endif
