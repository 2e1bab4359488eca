/* eval --full where nodes have types: all in-neighbours in every layer, a batch of seeds at a time,
 * so that memory goes by --batch; layer by layer from disk it is not computed yet. */
#ifndef OG_RUN_TYPED_EVAL_H
#define OG_RUN_TYPED_EVAL_H

#include "dataset/graph.h"

/* As og_eval_full. */
OG_MUST_CHECK int og__typed_eval_full(const char *dataset, const char *checkpoint,
                                      enum og__split split, const struct og_options *opt,
                                      const struct og_observer *seen, char **out,
                                      struct og_err *err);

#endif
