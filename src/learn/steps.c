#include "learn/steps.h"

#include "learn/learnt_rows.h"
#include "nn/sums.h"
#include "options/fields.h"

#include <math.h>
#include <string.h>

#define MODEL "model"

/* ---- vectors of all trained numbers ---- */

enum { PIECE = 1 << 15 }; /* over a link a few large ones take a fraction of the time */

/* n numbers of the model's, at most PIECE, and those of a vector that stand for them. */
typedef int piece_op(struct og_model *m, float *on_backend, float *vector, size_t n, float factor,
                     struct og_err *err);

static int fetch_piece(struct og_model *m, float *on_backend, float *vector, size_t n, float factor,
                       struct og_err *err)
{
    (void)factor;
    return og__model_fetch(m, vector, on_backend, n * sizeof(*vector), err);
}

static int exchange_piece(struct og_model *m, float *on_backend, float *vector, size_t n,
                          float factor, struct og_err *err)
{
    (void)factor;
    float piece[PIECE];
    OG_DO(og__model_fetch(m, piece, on_backend, n * sizeof(*piece), err));
    OG_DO(og__model_push(m, on_backend, vector, n * sizeof(*piece), err));
    memcpy(vector, piece, n * sizeof(*piece));
    return 0;
}

static void add_scaled(float *to, const float *from, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

static int add_piece(struct og_model *m, float *on_backend, float *vector, size_t n, float factor,
                     struct og_err *err)
{
    float piece[PIECE];
    int rc = og__model_fetch(m, piece, on_backend, n * sizeof(*piece), err);
    if (rc == 0)
        add_scaled(vector, piece, n, factor);
    return rc;
}

static int push_piece(struct og_model *m, float *on_backend, float *vector, size_t n, float factor,
                      struct og_err *err)
{
    float piece[PIECE];
    for (size_t i = 0; i < n; i++)
        piece[i] = factor * vector[i];
    return og__model_push(m, on_backend, piece, n * sizeof(*piece), err);
}

enum of { VALUES, GRADIENTS };

static int on_pieces(struct og_model *m, enum of of, float *vector, piece_op *op, float factor,
                     struct og_err *err)
{
    size_t n_params;
    int rc = 0;
    const struct og_param *params = og__model_params(m, &n_params);
    for (size_t i = 0; i < n_params; i++) {
        const struct og_param *p = &params[i];
        if (!p->grad) /* a running statistic */
            continue;
        float *on_backend = of == VALUES ? p->value : p->grad;
        for (size_t left = og__param_count(p), n; left > 0; left -= n) {
            n = OG_MIN(left, (size_t)PIECE);
            OG_TRY(op(m, on_backend, vector, n, factor, err));
            on_backend += n;
            vector += n;
        }
    }
out:
    return rc;
}

static int copy_model(struct og_model *from, struct og_model *to, enum of of, struct og_err *err)
{
    size_t n_params;
    float piece[PIECE];
    const struct og_param *on_backend = og__model_params(to, &n_params);
    const struct og_param *here = og__model_params(from, &n_params);
    for (size_t i = 0; i < n_params; i++) {
        const float *src = of == VALUES ? here[i].value : here[i].grad;
        float *dst = of == VALUES ? on_backend[i].value : on_backend[i].grad;
        const size_t count = here[i].grad ? og__param_count(&here[i]) : 0;
        for (size_t first = 0, n; first < count; first += n) {
            n = OG_MIN(count - first, (size_t)PIECE);
            OG_DO(og__model_fetch(from, piece, src + first, n * sizeof(*piece), err));
            OG_DO(og__model_push(to, dst + first, piece, n * sizeof(*piece), err));
        }
    }
    return 0;
}

/* ---- what is held ---- */

/* Whole slices, so that those of other ranks come there (shares.c). */
static size_t sum_bytes(size_t n, const struct og_options *opt)
{
    const size_t ranks = (size_t)OG_MAX(opt->workers, 1);
    return opt->accumulate > 1 ? (n + ranks - 1) / ranks * ranks * sizeof(float) : 0;
}

static size_t older_bytes(size_t n, const struct og_options *opt)
{
    return (size_t)opt->staleness * n * sizeof(float);
}

size_t og__steps_bytes(const struct og_model_config *model, const struct og_options *opt)
{
    const size_t n = (size_t)og__model_trained(model);
    return sum_bytes(n, opt) + older_bytes(n, opt);
}

float *og__steps_older(const struct og_steps *s, int k)
{
    return s->older + (size_t)((s->oldest + k) % s->opt->staleness) * s->n;
}

int og__steps_open(struct og_steps *s, struct og_model *model, const struct og_options *opt,
                   struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    const size_t n = (size_t)og__model_trained(og__model_config(model));
    *s = (struct og_steps){.model = model, .budget = b, .opt = opt, .n = n};
    if (opt->accumulate > 1) {
        s->sum = og__alloc(b, sum_bytes(n, opt), MODEL, err);
        OG_TRY(s->sum ? 0 : -ENOMEM);
        memset(s->sum, 0, sum_bytes(n, opt));
    }
    if (opt->staleness > 0) {
        s->older = og__alloc(b, older_bytes(n, opt), MODEL, err);
        OG_TRY(s->older ? 0 : -ENOMEM);
    }
    for (int k = 0; k < opt->staleness; k++)
        OG_TRY(on_pieces(s->model, VALUES, og__steps_older(s, k), fetch_piece, 1, err));
out:
    return rc;
}

void og__steps_close(struct og_steps *s)
{
    if (s->sum)
        og__release(s->budget, s->sum, sum_bytes(s->n, s->opt), MODEL);
    if (s->older)
        og__release(s->budget, s->older, older_bytes(s->n, s->opt), MODEL);
    *s = (struct og_steps){0};
}

/* ---- which mini-batches ---- */

uint32_t og__step_size(const struct og_options *opt, const struct og_schedule *schedule,
                       uint32_t batch)
{
    const uint64_t most = (uint64_t)opt->accumulate;
    const uint64_t left = og__schedule_batches(schedule, OG__TRAIN) - (batch - batch % most);
    return (uint32_t)OG_MIN(left, most);
}

bool og__step_ends(const struct og_options *opt, const struct og_schedule *schedule, uint32_t batch)
{
    const uint32_t place = batch % (uint32_t)opt->accumulate;
    return place + 1 == og__step_size(opt, schedule, batch);
}

/* ---- a mini-batch, a step ---- */

/* The oldest parameters and those at hand change places. */
static int exchange_parameters(struct og_steps *s, struct og_err *err)
{
    return s->older ? on_pieces(s->model, VALUES, og__steps_older(s, 0), exchange_piece, 1, err)
                    : 0;
}

int og__steps_part(struct og_steps *s, const struct og_batch *batch, const struct og_rows *x,
                   const struct og_edge_rows *edges, const void *labels, const struct og_step *key,
                   struct og_metrics *out, struct og_err *err)
{
    int rc = exchange_parameters(s, err);
    if (rc < 0)
        return rc;
    s->rows = x;
    rc = og__model_part(s->model, batch, x, edges, labels, key, out, err);
    int back = exchange_parameters(s, err);
    return rc < 0 ? rc : back;
}

int og__steps_show(const struct og_steps *s, int ended, struct og_model *to, struct og_err *err)
{
    if (ended == s->opt->staleness)
        return copy_model(s->model, to, VALUES, err);
    return on_pieces(to, VALUES, og__steps_older(s, ended), push_piece, 1, err);
}

int og__steps_add(struct og_steps *s, struct og_model *from, uint32_t size, double weight,
                  struct og_err *err)
{
    if (size > 1)
        return on_pieces(from, GRADIENTS, s->sum, add_piece, (float)weight, err);
    return from == s->model ? 0 : copy_model(from, s->model, GRADIENTS, err);
}

int og__steps_fetch(const struct og_steps *s, struct og_model *from, float *gradient,
                    struct og_err *err)
{
    (void)s;
    return on_pieces(from, GRADIENTS, gradient, fetch_piece, 1, err);
}

void og__steps_add_slice(struct og_steps *s, const float *gradient, size_t first, size_t n,
                         uint32_t size, double weight)
{
    if (size > 1)
        add_scaled(s->sum + first, gradient, n, (float)weight);
    else
        memcpy(s->sum + first, gradient, n * sizeof(*gradient));
    s->whole = size == 1;
}

int og__steps_take(const struct og_steps *s, struct og_model *from, struct og_err *err)
{
    size_t n_params;
    size_t at = 0;
    int rc;
    const struct og_param *params = og__model_params(from, &n_params);
    OG_TRY(s->sums_ops->begin(s->sums, og__model_backend(from), err));
    for (size_t i = 0; i < n_params; i++) {
        const struct og_param *p = &params[i];
        const size_t n = p->grad ? og__param_count(p) : 0;
        if (n > 0)
            OG_TRY(s->sums_ops->take(s->sums, p->grad, at, n, err));
        at += n;
    }
out:
    return rc;
}

static int give_sum(const struct og_steps *s, float factor, struct og_err *err)
{
    size_t n_params;
    size_t at = 0;
    const struct og_param *params = og__model_params(s->model, &n_params);
    for (size_t i = 0; i < n_params; i++) {
        const struct og_param *p = &params[i];
        const size_t n = p->grad ? og__param_count(p) : 0;
        if (n > 0)
            OG_DO(s->sums_ops->give(s->sums, p->grad, at, n, factor, err));
        at += n;
    }
    return s->sums_ops->clear(s->sums, err);
}

/* A step in which nothing counted has sum 0. */
static int take_sum(struct og_steps *s, double weight, struct og_err *err)
{
    const float factor = s->whole ? 1 : 1 / (weight > 0 ? (float)weight : 1);
    int rc = s->sums ? give_sum(s, factor, err)
                     : on_pieces(s->model, GRADIENTS, s->sum, push_piece, factor, err);
    s->whole = false;
    memset(s->sum, 0, sum_bytes(s->n, s->opt));
    return rc;
}

/* Those at hand become the newest of the older ones, in the place of the oldest. */
static int keep_parameters(struct og_steps *s, struct og_err *err)
{
    int rc = on_pieces(s->model, VALUES, og__steps_older(s, 0), fetch_piece, 1, err);
    s->oldest = (s->oldest + 1) % s->opt->staleness;
    return rc;
}

/* In double, in the order of the parameters. So it is the same whoever made the gradients. square:
 * of rows outside of the model. */
static int gradient_norm(struct og_model *m, double square, double *norm, struct og_err *err)
{
    size_t n_params;
    float piece[PIECE];
    double sum = square;
    const struct og_param *params = og__model_params(m, &n_params);
    for (size_t i = 0; i < n_params; i++) {
        const size_t count = params[i].grad ? og__param_count(&params[i]) : 0;
        for (size_t first = 0, n; first < count; first += n) {
            n = OG_MIN(count - first, (size_t)PIECE);
            OG_DO(og__model_fetch(m, piece, params[i].grad + first, n * sizeof(*piece), err));
            for (size_t j = 0; j < n; j++)
                sum += (double)piece[j] * (double)piece[j];
        }
    }
    *norm = sqrt(sum);
    return 0;
}

/* PyTorch's clip_grad_norm_. */
static int clip_factor(const struct og_steps *s, double square, double *factor, struct og_err *err)
{
    double norm = 0;
    const int rc = s->opt->clip > 0 ? gradient_norm(s->model, square, &norm, err) : 0;
    const double by = s->opt->clip / (norm + 1e-6);
    *factor = s->opt->clip > 0 && !(by >= 1) ? by : 1; /* also NaN */
    return rc;
}

struct og_pace og__steps_pace(const struct og_options *opt, double lr)
{
    return (struct og_pace){lr, opt->weight_decay, opt->beta1, opt->beta2, opt->epsilon};
}

int og__steps_update(struct og_steps *s, uint32_t size, double weight, uint64_t number, double lr,
                     struct og_err *err)
{
    const struct og_pace pace = og__steps_pace(s->opt, lr);
    double scale;
    double square = 0;
    int rc = 0;
    if (size > 1 || s->whole)
        OG_TRY(take_sum(s, weight, err));
    if (s->older)
        OG_TRY(keep_parameters(s, err));
    if (s->learnt)
        OG_TRY(og__learnt_take(s->learnt, s->model, s->rows, s->places, &square, err));
    OG_TRY(clip_factor(s, square, &scale, err));
    OG_TRY(og__model_update(s->model, &pace, scale, number, err));
    if (s->learnt)
        OG_TRY(og__learnt_update(s->learnt, &pace, scale, number, err));
out:
    return rc;
}
