/* A trace: the batches of one or more epochs, kept. A folder of .npy files, batches concatenated,
 * `*_ptr` int64 offsets by batch, appended to while sampling:
 *
 *   seeds, seeds_ptr                int64   the seed nodes, in batch order
 *   ids, ids_ptr                    int64   the distinct input nodes; seeds first, then as
 * discovered hop<h>_src, hop<h>_dst          int32   sampled edges of hop h = 1, 2, ... as
 * positions in ids hop<h>_ptr                      int64 labels                          as the
 * dataset's, a row per seed */
#ifndef OG_TRACE_H
#define OG_TRACE_H

#include "dataset/dataset.h"
#include "sample/batch.h"

struct og_trace_writer;

/* Into existing folder `dir`. label_width: classes when multi-label, 1 for class numbers. */
OG_MUST_CHECK int og__trace_create(struct og_trace_writer **out, const char *dir, int n_hops,
                                   bool multi_label, int label_width, struct og_err *err);
/* labels: int32 [n_seeds], or float32 [n_seeds, label_width]. */
OG_MUST_CHECK int og__trace_append(struct og_trace_writer *w, const struct og_batch *batch,
                                   const void *labels, struct og_err *err);
/* Completes every header and frees. After an error elsewhere call discard instead. */
OG_MUST_CHECK int og__trace_finish(struct og_trace_writer *w, struct og_err *err);
void og__trace_discard(struct og_trace_writer *w);

#endif
