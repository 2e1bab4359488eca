/* Learnable rows outside of a model, and their optimizers. A row ends with its state:
 *
 *     record of a row   | value [dim] | state [og__row_state] |      float32
 *
 * A batch brings the rows of its nodes, as it brings features. The model makes their gradients
 * (og__model_row_gradient), and only these rows change. */
#ifndef OG_NN_ROW_OPTIMIZERS_H
#define OG_NN_ROW_OPTIMIZERS_H

#include "nn/nn.h"

/* Floats of a row's state; 0 for dense, whose rows are parameters of the model. */
int og__row_state(int kind, int dim);
/* The states of a record are so many arrays, of one number or of dim numbers each. */
int og__row_states(int kind);

/* The inputs of a step, in which `scale` multiplies gradients. */
struct og_row_step {
    float scale, rate, beta1, beta2, epsilon;
};
struct og_row_step og__row_step(int kind, const struct og_pace *pace, double scale, uint64_t step);
/* Updates one record by the gradient [dim]. */
void og__row_update(int kind, const struct og_row_step *s, float *record, const float *gradient,
                    int dim);

/* Initial rows of a type, each from random numbers of its own. Dense rows have the same. */
struct og_row_init {
    uint64_t seed;
    uint32_t number;
    double bound;
    int dim;
};
struct og_row_init og__row_init(const struct og_model_config *c, uint32_t type, uint64_t seed);
/* Writes the value [dim] of row `row`. */
void og__row_draw(const struct og_row_init *init, uint32_t row, float *value);

#endif
