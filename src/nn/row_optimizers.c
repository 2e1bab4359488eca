#include "nn/row_optimizers.h"

#include "base/random.h"
#include "nn/model.h"

#include <math.h>

/* ---- optimizers ---- */

/* PyTorch's SparseAdam: biases are corrected by the number of steps, not of the row's uses. */
static struct og_row_step adam_step(const struct og_pace *pace, uint64_t step)
{
    const double t = (double)step;
    const double root = sqrt(1 - pow(pace->beta2, t));
    return (struct og_row_step){.rate = (float)(pace->lr * root / (1 - pow(pace->beta1, t))),
                                .beta1 = (float)(1 - pace->beta1),
                                .beta2 = (float)(1 - pace->beta2),
                                .epsilon = (float)pace->epsilon};
}

static void sparse_adam(const struct og_row_step *s, float *value, const float *gradient, int dim)
{
    float *m = value + dim, *v = m + dim;
    for (int i = 0; i < dim; i++) {
        const float g = s->scale * gradient[i];
        m[i] += (g - m[i]) * s->beta1;
        v[i] += (g * g - v[i]) * s->beta2;
        value[i] -= s->rate * (m[i] / (sqrtf(v[i]) + s->epsilon));
    }
}

/* Duchi et al. 2011, started at 0 with the epsilon of PyTorch. */
static struct og_row_step adagrad_step(const struct og_pace *pace, uint64_t step)
{
    (void)step;
    return (struct og_row_step){.rate = (float)pace->lr, .epsilon = 1e-10f};
}

static void adagrad(const struct og_row_step *s, float *value, const float *gradient, int dim)
{
    float *sum = value + dim;
    for (int i = 0; i < dim; i++) {
        const float g = s->scale * gradient[i];
        sum[i] += g * g;
        value[i] -= s->rate * g / (sqrtf(sum[i]) + s->epsilon);
    }
}

/* One sum a row, of the mean square of its gradient (PyTorch-BigGraph). */
static void row_adagrad(const struct og_row_step *s, float *value, const float *gradient, int dim)
{
    float *sum = value + dim;
    float square = 0;
    for (int i = 0; i < dim; i++)
        square += s->scale * gradient[i] * s->scale * gradient[i];
    *sum += square / (float)dim;
    const float rate = s->rate / (sqrtf(*sum) + s->epsilon);
    for (int i = 0; i < dim; i++)
        value[i] -= rate * s->scale * gradient[i];
}

/* ---- the table ---- */

static const struct {
    int states; /* arrays of a row's state, */
    bool whole; /* each of one number only */
    struct og_row_step (*step)(const struct og_pace *pace, uint64_t step);
    void (*update)(const struct og_row_step *s, float *value, const float *gradient, int dim);
} optimizers[] = {
    [OG_ROWS_DENSE] = {0, false, NULL, NULL},
    [OG_ROWS_SPARSE_ADAM] = {2, false, adam_step, sparse_adam},
    [OG_ROWS_ADAGRAD] = {1, false, adagrad_step, adagrad},
    [OG_ROWS_ROW_ADAGRAD] = {1, true, adagrad_step, row_adagrad},
};

int og__row_states(int kind)
{
    return optimizers[kind].states;
}

int og__row_state(int kind, int dim)
{
    return optimizers[kind].states * (optimizers[kind].whole ? 1 : dim);
}

struct og_row_step og__row_step(int kind, const struct og_pace *pace, double scale, uint64_t step)
{
    struct og_row_step s = optimizers[kind].step(pace, step);
    s.scale = (float)scale;
    return s;
}

void og__row_update(int kind, const struct og_row_step *s, float *record, const float *gradient,
                    int dim)
{
    optimizers[kind].update(s, record, gradient, dim);
}

/* ---- initial values ---- */

struct og_row_init og__row_init(const struct og_model_config *c, uint32_t type, uint64_t seed)
{
    const struct og_graph_type *t = &c->types->type[type];
    const int n = (int)(t->end - og__first_id(c->types, type));
    return (struct og_row_init){.seed = seed,
                                .number = og__rows_number(c, type),
                                .bound = og__glorot(n, t->dim),
                                .dim = t->dim};
}

void og__row_draw(const struct og_row_init *init, uint32_t row, float *value)
{
    struct og_rng r;
    og__rng_at(&r, init->seed, OG__STREAM_INIT, 0, init->number, OG__ROWS_LAYER, row);
    for (int j = 0; j < init->dim; j++)
        value[j] = (float)(init->bound * (2 * (double)og__rng_unit(&r) - 1));
}
