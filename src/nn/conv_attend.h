/* Common parts of the attention convolutions (conv_attend.c). Each has its own scores: GAT's are in
 * conv_attend.c, the others' in their kind_*.c. */
#ifndef OG_NN_CONV_ATTEND_H
#define OG_NN_CONV_ATTEND_H

#include "nn/model.h"

/* ---- by the configuration alone ---- */

OG_MUST_CHECK int og__check_heads(const struct og_model_config *c, struct og_err *err);
/* Add a parameter with a vector per head, [1, H, C]. */
void og__add_attention(struct og_specs *s, const struct og_model_config *c, int l,
                       enum og__role role, const char *name);

/* ---- a layer ---- */

/* The operands of a layer's attention, except for its end and its scores; att_src is set. */
struct og_attend og__attention(const struct og_model *m, int l, struct og_rows sources);
/* The operands of its gradients. The gradient of the multiplied sources replaces them in t. */
struct og_attend_back og__attention_back(const struct og_model *m, int l,
                                         const struct og_attend *forward, const float *dy);
/* Gradients of the sources' weights, from t, and of the bias, from dy. */
OG_MUST_CHECK int og__source_gradients(struct og_model *m, int l, struct og_rows in,
                                       const float *dy, struct og_err *err);
/* Write the residual to the end's output; the end then adds to it. */
OG_MUST_CHECK int og__start_from_input(struct og_model *m, struct og_affine *end,
                                       struct og_err *err);

#endif
