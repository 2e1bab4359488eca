/* predict for a checkpoint of --task edge (predict_edges.c). */
#ifndef OG_RUN_PREDICT_EDGES_H
#define OG_RUN_PREDICT_EDGES_H

#include <outgrow/outgrow.h>

#include "base/base.h"

/* As og_predict_with. how->nodes: `valid` or `test`, which is the default. */
OG_MUST_CHECK int og__predict_edges(const char *dataset, const char *checkpoint, const char *out,
                                    const struct og_predict_options *how,
                                    const struct og_options *opt,
                                    const struct og_observer *observer, char **text,
                                    struct og_err *err);

#endif
