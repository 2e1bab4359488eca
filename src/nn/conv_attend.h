/* What convolutions of attention share (conv_attend.c). What their scores are made of is their own:
 * conv_attend.c has GAT's, kind_gatv2.c GATv2's. */
#ifndef OG_NN_CONV_ATTEND_H
#define OG_NN_CONV_ATTEND_H

#include "nn/model.h"

/* ---- by the configuration alone ---- */

OG_MUST_CHECK int og__check_heads(const struct og_model_config *c, struct og_err *err);
/* A vector for each head, [1, H, C]. */
void og__add_attention(struct og_specs *s, const struct og_model_config *c, int l,
                       enum og__role role, const char *name);

/* ---- a layer ---- */

/* But for its end, and for its scores: att_src is set. */
struct og_attend og__attention(const struct og_model *m, int l, struct og_rows sources);
/* The way back, which leaves the gradient of the multiplied sources in their place, t. */
struct og_attend_back og__attention_back(const struct og_model *m, int l,
                                         const struct og_attend *forward, const float *dy);
/* multiply of og_conv_steps: OG__NEIGHBOUR, and OG__POOL_BIAS where there is one. */
OG_MUST_CHECK int og__multiply_sources(struct og_model *m, int l, struct og_rows in, float *out,
                                       struct og_err *err);
/* Gradients of what multiplied the sources, from t, and of the bias, from dy. */
OG_MUST_CHECK int og__source_gradients(struct og_model *m, int l, struct og_rows in,
                                       const float *dy, struct og_err *err);
/* The residual, in the place of the end, which then has something to add to. */
OG_MUST_CHECK int og__start_from_input(struct og_model *m, struct og_affine *end,
                                       struct og_err *err);

#endif
