/* Accumulated and delayed updates as they are defined, in one thread, with every version of the
 * parameters kept. Gradients and the optimiser's arithmetic are the library's (on CPUs, whose
 * memory the host may touch). Which parameters, in which order and divided by what is its own. */
#ifndef OG_ORACLE_STEPS_H
#define OG_ORACLE_STEPS_H

#include "nn/nn.h"

enum { OG_ORACLE_STEPS = 64 };

struct og_oracle_steps {
    struct og_model *model;
    int staleness;
    double lr, weight_decay;           /* lr: of the step under way */
    double clip;                       /* 0: none */
    size_t n;                          /* trained numbers */
    int steps;                         /* made so far */
    float *after[OG_ORACLE_STEPS + 1]; /* parameters after so many steps */
    float *gradient[OG_ORACLE_STEPS];  /* of the mini-batches of the step under way */
    double terms[OG_ORACLE_STEPS];     /* the weight of what each is a mean over */
    int batches;                       /* of the step under way */
};

void og__oracle_begin(struct og_oracle_steps *o, struct og_model *model, int staleness, double lr,
                      double weight_decay);
/* One mini-batch; with `last` its step ends. */
int og__oracle_batch(struct og_oracle_steps *o, const struct og_batch *batch,
                     const struct og_rows *x, const void *labels, const struct og_step *key,
                     bool last);
void og__oracle_end(struct og_oracle_steps *o);

#endif
