#include "steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum array { VALUES, GRADIENTS };

static float *move(struct og_model *m, enum array array, float *vector, bool into_model)
{
    size_t n_params;
    struct og_param *p = og__model_params(m, &n_params);
    for (float *at = vector; n_params > 0; n_params--, p++) {
        float *there = array == VALUES ? p->value : p->grad;
        if (!p->grad)
            continue;
        memcpy(into_model ? there : at, into_model ? at : there, og__param_count(p) * sizeof(*at));
        at += og__param_count(p);
    }
    return vector;
}

static float *copy_of(struct og_oracle_steps *o, enum array array)
{
    return move(o->model, array, malloc(o->n * sizeof(float)), false);
}

void og__oracle_begin(struct og_oracle_steps *o, struct og_model *model, int staleness, double lr,
                      double weight_decay)
{
    size_t n_params;
    *o = (struct og_oracle_steps){
        .model = model, .staleness = staleness, .lr = lr, .weight_decay = weight_decay};
    const struct og_param *p = og__model_params(model, &n_params);
    for (; n_params > 0; n_params--, p++)
        o->n += p->grad ? og__param_count(p) : 0;
    o->after[0] = copy_of(o, VALUES);
}

/* The mean over all terms of the step; of a single mini-batch as it is. */
static void divide(struct og_oracle_steps *o)
{
    double terms = 0;
    for (int b = 0; b < o->batches; b++)
        terms += o->terms[b];
    for (size_t j = 0; o->batches > 1 && j < o->n; j++) {
        float sum = 0;
        for (int b = 0; b < o->batches; b++)
            sum += (float)o->terms[b] * o->gradient[b][j];
        o->gradient[0][j] = 1 / (float)terms * sum;
    }
}

/* The factor that makes the step's gradient no longer than `clip`. */
static double shorten(const struct og_oracle_steps *o)
{
    double squares = 0;
    for (size_t j = 0; j < o->n; j++)
        squares += pow((double)o->gradient[0][j], 2);
    return o->clip > 0 ? fmin(1, o->clip / (sqrt(squares) + 1e-6)) : 1;
}

int og__oracle_batch(struct og_oracle_steps *o, const struct og_batch *batch,
                     const struct og_rows *x, const void *labels, const struct og_step *key,
                     bool last)
{
    struct og_metrics metrics = {0};
    const struct og_pace pace = og__usual_pace(o->lr, o->weight_decay);
    const int seen = o->steps - o->staleness;
    move(o->model, VALUES, o->after[seen > 0 ? seen : 0], true);
    if (og__model_gradients(o->model, batch, x, NULL, labels, key, &metrics, NULL) < 0)
        return -1;
    o->terms[o->batches] = metrics.weight;
    o->gradient[o->batches++] = copy_of(o, GRADIENTS);
    if (!last)
        return 0;
    divide(o);
    move(o->model, VALUES, o->after[o->steps], true);
    move(o->model, GRADIENTS, o->gradient[0], true);
    if (og__model_update(o->model, &pace, shorten(o), (uint64_t)++o->steps, NULL) < 0)
        return -1;
    o->after[o->steps] = copy_of(o, VALUES);
    while (o->batches > 0)
        free(o->gradient[--o->batches]);
    return 0;
}

void og__oracle_end(struct og_oracle_steps *o)
{
    for (int i = 0; i <= o->steps; i++)
        free(o->after[i]);
    while (o->batches > 0)
        free(o->gradient[--o->batches]);
}
