/* predict and eval --full for homogeneous graphs, layer by layer (infer.h). */
#ifndef OG_INFER_WHOLE_GRAPH_H
#define OG_INFER_WHOLE_GRAPH_H

#include "dataset/graph.h"
#include "nn/nn.h"

/* Like og_predict_with and og_eval_full. */
OG_MUST_CHECK int og__whole_predict(const char *dataset, const char *checkpoint, const char *out,
                                    const struct og_predict_options *how,
                                    const struct og_options *opt,
                                    const struct og_observer *observer, char **text,
                                    struct og_err *err);
OG_MUST_CHECK int og__whole_eval(const char *dataset, const char *checkpoint, enum og__split which,
                                 const struct og_options *opt, const struct og_observer *observer,
                                 char **out, struct og_err *err);

/* Check --embeddings FILE, or NULL: refused for models without a hidden layer, and for link
 * prediction. */
OG_MUST_CHECK int og__embeddings_check(const struct og_model_config *c, const char *path,
                                       struct og_err *err);

#endif
