/* The rows of hops that training reads: those of the nodes of all splits, side by side.
 *
 * The folder hops is a dataset. Its features are float32, hops 0 to K in a row; first the train
 * nodes, ascending, then the valid, then the test nodes. Labels and splits are by its own numbers,
 * and node_ids.npy has the graph's. So an epoch of training can read its rows front to back.
 * meta.json says what they were made of, and of which graph. */
#ifndef OG_INFER_HOP_ROWS_H
#define OG_INFER_HOP_ROWS_H

#include "dataset/hops.h"
#include "infer/infer.h"

/* Number of labelled nodes: the rows. */
OG_MUST_CHECK int og__hop_rows_count(const struct og_graph *g, int64_t *n, struct og_err *err);
/* Refuse lists and labels that og__hop_rows_write would refuse. */
OG_MUST_CHECK int og__hop_rows_check(struct og_inference *f, struct og_err *err);
/* Write them, after all layers, into the folder that og__newdir_begin made. */
OG_MUST_CHECK int og__hop_rows_write(struct og_inference *f, const char *folder,
                                     struct og_err *err);
/* What meta.json has as "hops". NULL on lack of memory. */
json_t *og__hop_rows_json(struct og_inference *f);

#endif
