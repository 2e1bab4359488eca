/* predict where nodes have types: logits of every node of the type that the model is for, or
 * embeddings of those of all types where it is of links; a batch at a time, with neighbours drawn
 * as in training. */
#ifndef OG_RUN_TYPED_PREDICT_H
#define OG_RUN_TYPED_PREDICT_H

#include <outgrow/outgrow.h>

#include "base/base.h"

/* As og_predict; the file has a row for each of these nodes, in the order of their ids. */
OG_MUST_CHECK int og__typed_predict(const char *dataset, const char *checkpoint, const char *out,
                                    const char *embeddings, const struct og_options *opt,
                                    const struct og_observer *seen, char **text,
                                    struct og_err *err);

#endif
