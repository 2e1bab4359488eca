/* Layers of Correct & Smooth (Huang et al. 2021), with S = D^-1/2 A D^-1/2.
 *
 *     transform     E0 = label - prediction of train nodes, 0 of others
 *     corrections   E  = clamp(a S E + (1 - a) E0, -1, 1)
 *     the last      Z0 = prediction + scale E; of train nodes the label
 *     the others    Z  = clamp(b S Z + (1 - b) Z0, 0, 1)
 *
 * Errors of train nodes correct the others' predictions, then labels smooth them. The scale of a
 * node is sigma / |E|, with |E| the sum of its magnitudes. A fixed one is the same for all; then E
 * of train nodes stays E0, and nothing is clamped in corrections. An unknown label of a train node
 * counts as that of another node. */
#include "infer/infer_passes.h"

#include "base/hex.h"
#include "dataset/identity.h"

#include <math.h>

enum { MOST_SCALE = 1000 }; /* a node without neighbours' errors has scale 1 */

static int columns(const struct og_inference *f)
{
    return f->smoothing.predictions.dim;
}

static json_t *numbers(struct og_inference *f, struct og_err *err)
{
    const struct og_smoothing *s = &f->smoothing;
    uint64_t contents = 0;
    if (og__array_contents(&s->predictions.rows, &contents, err) < 0)
        return NULL;
    json_t *all = json_pack(
        "{s:i s:i s:f s:f s:f s:o}", "corrections", s->corrections, "layers", f->config.layers,
        "correction_alpha", (double)s->alpha[0], "smoothing_alpha", (double)s->alpha[1], "scale",
        s->fixed ? (double)s->scale : 0.0, "predictions", og__json_hex(contents));
    if (!all)
        og__fail_errno(err, -ENOMEM, NULL, "inference");
    return all;
}

static struct og_whole_layer shape(const struct og_inference *f, int l)
{
    const int c = columns(f);
    return (struct og_whole_layer){
        .transforms = l == 0, .own = true, .n_in = c, .n_source = c, .n_out = c};
}

static int own(const struct og_inference *f, int l)
{
    const int corrections = f->smoothing.corrections;
    if (l < corrections)
        return OG__INFER_INPUT;
    return corrections == 0 ? og__transform_step(0) : og__combine_step(corrections - 1);
}

/* ==== labels ==== */

static int64_t train_before(const struct og_smoothing *s, uint64_t node)
{
    int64_t low = 0, high = s->n_train;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->train[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Label j of train node k, NaN if it is unknown. */
static float label_of(const struct og_inference *f, int64_t k, int j)
{
    if (og__float_labels(f->ds))
        return ((const float *)f->smoothing.labels)[k * columns(f) + j];
    const int32_t class = ((const int32_t *)f->smoothing.labels)[k];
    return class < 0 ? NAN : (float)(class == j);
}

double og__smoothing_error(const struct og_inference *f, int64_t k, const float *z, bool *known)
{
    double sum = 0;
    *known = false;
    for (int j = 0; j < columns(f); j++) {
        const float label = label_of(f, k, j);
        if (isnan(label))
            continue;
        sum += fabs((double)label - (double)z[j]);
        *known = true;
    }
    return sum;
}

/* ==== rows ==== */

/* Nodes from `first` on, and which of them are train nodes: train[k] is the next. */
struct walk {
    const struct og_inference *f;
    uint64_t node;
    int64_t k;
};

static struct walk walk_from(const struct og_inference *f, uint64_t first)
{
    return (struct walk){f, first, train_before(&f->smoothing, first)};
}

/* The index of the current node among train nodes, or -1. Steps to the next node. */
static int64_t next_train(struct walk *w)
{
    const struct og_smoothing *s = &w->f->smoothing;
    const bool is = w->k < s->n_train && s->train[w->k] == w->node;
    w->node++;
    return is ? w->k++ : -1;
}

static int check_row(const struct og_inference *f, uint64_t node, const float *z,
                     struct og_err *err)
{
    for (int j = 0; j < columns(f); j++)
        if (!(z[j] >= 0 && z[j] <= 1))
            return og__fail(err, -EINVAL, "make it with `outgrow predict --probabilities`",
                            "%s: node %llu has %g, probabilities from 0 to 1 expected",
                            f->smoothing.predictions.rows.path, (unsigned long long)node,
                            (double)z[j]);
    return 0;
}

/* E0, or without corrections Z0. */
static void begin_row(const struct og_inference *f, int64_t k, const float *z, float *out)
{
    const bool corrects = f->smoothing.corrections > 0;
    for (int j = 0; j < columns(f); j++) {
        const float label = k >= 0 ? label_of(f, k, j) : NAN;
        const float known = corrects ? label - z[j] : label;
        out[j] = !isnan(label) ? known : corrects ? 0 : z[j];
    }
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* y: S E, becomes E. */
static void correct_row(const struct og_inference *f, int64_t k, const float *z, float *y)
{
    const struct og_smoothing *s = &f->smoothing;
    const float a = s->alpha[0];
    for (int j = 0; j < columns(f); j++) {
        const float label = k >= 0 ? label_of(f, k, j) : NAN;
        const float error = isnan(label) ? 0 : label - z[j];
        y[j] = a * y[j] + (1 - a) * error;
        if (s->fixed)
            y[j] = isnan(label) ? y[j] : error;
        else
            y[j] = clamp(y[j], -1, 1);
    }
}

static float scale_of(const struct og_inference *f, const float *y)
{
    const struct og_smoothing *s = &f->smoothing;
    float sum = 0;
    for (int j = 0; j < columns(f); j++)
        sum += fabsf(y[j]);
    if (s->fixed)
        return s->scale;
    return sum > 0 && s->sigma / sum <= MOST_SCALE ? s->sigma / sum : 1;
}

/* y: E, becomes Z0. */
static void end_corrections(const struct og_inference *f, int64_t k, const float *z, float *y)
{
    const float scale = scale_of(f, y);
    for (int j = 0; j < columns(f); j++) {
        const float label = k >= 0 ? label_of(f, k, j) : NAN;
        y[j] = isnan(label) ? z[j] + scale * y[j] : label;
    }
}

/* y: S Z, becomes Z. */
static void smooth_row(const struct og_inference *f, const float *first, float *y)
{
    const float a = f->smoothing.alpha[1];
    for (int j = 0; j < columns(f); j++)
        y[j] = clamp(a * y[j] + (1 - a) * first[j], 0, 1);
}

/* ==== passes ==== */

static int transform(struct og_inference *f, int l, uint64_t first, struct og_rows x, float *out,
                     struct og_err *err)
{
    struct walk w = walk_from(f, first);
    int rc = 0;
    (void)l;
    for (uint32_t r = 0; rc == 0 && r < x.n; r++) {
        const float *z = (const float *)(const void *)(x.base + r * x.stride);
        rc = check_row(f, first + r, z, err);
        begin_row(f, next_train(&w), z, out + r * (size_t)columns(f));
    }
    return rc;
}

struct finishing {
    const struct og_inference *f;
    int l;
    const struct og_infer_block *b;
    float *out;
};

static void finish_group(void *arg, size_t group, int thread)
{
    const struct finishing *p = arg;
    const struct og_inference *f = p->f;
    const int corrections = f->smoothing.corrections;
    const uint32_t first = (uint32_t)group * OG__WHOLE_ROWS;
    const uint32_t end = OG_MIN(first + OG__WHOLE_ROWS, p->b->block.n_dst);
    struct walk w = walk_from(f, p->b->first + first);
    (void)thread;
    for (uint32_t r = first; r < end; r++) {
        const float *own_row = (const float *)(const void *)(p->b->own.base + r * p->b->own.stride);
        float *y = p->out + r * (size_t)columns(f);
        const int64_t k = next_train(&w);
        if (p->l >= corrections)
            smooth_row(f, own_row, y);
        else
            correct_row(f, k, own_row, y);
        if (p->l == corrections - 1)
            end_corrections(f, k, own_row, y);
    }
}

static int combine(struct og_inference *f, int l, const struct og_whole_layer *how,
                   const struct og_infer_block *b, float *out, struct og_err *err)
{
    struct finishing p = {f, l, b, out};
    (void)how;
    (void)err;
    og__hops_sum(f, b, out);
    og__pool_run(f->pool, (b->block.n_dst + OG__WHOLE_ROWS - 1) / OG__WHOLE_ROWS, finish_group, &p);
    return 0;
}

const struct og_infer_kind og__infer_of_smoothing = {
    .layer = "layer",
    .undefined_hint = "`outgrow verify` finds weights that are not finite",
    .numbers = numbers,
    .survey = og__hops_survey,
    .shape = shape,
    .own = own,
    .transform = transform,
    .combine = combine,
};
