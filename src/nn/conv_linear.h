/* Common parts of convolutions that sum rows and multiply them (conv_linear.c): GIN's perceptron.
 */
#ifndef OG_NN_CONV_LINEAR_H
#define OG_NN_CONV_LINEAR_H

#include "nn/model.h"

/* The second product of the perceptron, from t, and the layer's end. */
OG_MUST_CHECK int og__multiply_hidden(struct og_model *m, int l, struct og_rows own,
                                      struct og_err *err);
/* Backward pass of the second product: its gradients, and in t the gradient before its ReLU. */
OG_MUST_CHECK int og__hidden_gradient(struct og_model *m, int l, const float *dy,
                                      struct og_err *err);
/* Gradients of the destinations' weights and of the first bias. The second: of the aggregate, in a,
 * and of eps. dy: of the stage up to that bias. It skips what nothing requires. */
OG_MUST_CHECK int og__gradients_of_rows(struct og_model *m, int l, const float *dy,
                                        struct og_rows own, struct og_err *err);
OG_MUST_CHECK int og__gradient_of_aggregate(struct og_model *m, int l, const float *dy,
                                            struct og_rows own, struct og_err *err);
/* Gradient of destinations that are apart, from dy and a; t is free for it. */
OG_MUST_CHECK int og__apart_gradient(struct og_model *m, int l, const float *dy,
                                     struct og_err *err);

#endif
