/* Operators of every backend, and their gradients against finite differences of the reference. */
#ifndef OG_NN_SLOPES_H
#define OG_NN_SLOPES_H

#include "nn/nn_ops.h"

enum { BACKENDS = 2 };
static const struct og_nn_ops *const backends[BACKENDS] = {&og__ops_cpu, &og__ops_reference};

/* d(sum of c y) / d at[i] by two-sided steps of the reference, which rounds least; compared with
 * grad. Where the slopes of both sides differ, a kink is between: such elements are counted, not
 * judged. */
struct slopes {
    double (*value)(void *arg);
    void *arg;
    float step;
    double tolerance;
    size_t tried, bent;
};

static inline void check_slopes(struct slopes *s, const char *what, float *at, const float *grad,
                                size_t n, size_t stride)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)grad[i]));
    double here = s->value(s->arg), tolerance = s->tolerance * fmax(largest, 1e-2);
    for (size_t i = 0; i < n; i += stride) {
        float before = at[i];
        at[i] = before + s->step;
        double up = (s->value(s->arg) - here) / (double)s->step;
        at[i] = before - s->step;
        double down = (here - s->value(s->arg)) / (double)s->step;
        at[i] = before;
        s->tried++;
        if (fabs(up - down) > tolerance)
            s->bent++;
        else if (!(fabs((up + down) / 2 - (double)grad[i]) <= tolerance))
            fail_msg("%s[%zu]: slope %.6g, not %.6g", what, i, (up + down) / 2, (double)grad[i]);
    }
}

static inline void assert_mostly_judged(const struct slopes *s)
{
    if (s->bent * 10 > s->tried)
        fail_msg("%zu of %zu slopes cannot be judged", s->bent, s->tried);
}

#endif
