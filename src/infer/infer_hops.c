/* Layers of a propagation. Hop k of a node is the normalised sum of its in-neighbours' hop k - 1.
 *
 *     sym    scale_v (sum of w x_u scale_u),  scale = D^-1/2      D_v: sum of w over v's list
 *     row    scale_v (sum of w x_u),          scale = D^-1
 *
 * With loops each node has one edge from itself: its own, or else one of weight 1. D counts it. A
 * node with D = 0 has zeros. */
#include "infer/infer_passes.h"

#include "nn/kernels.h"

#include <math.h>

static json_t *numbers(struct og_inference *f, struct og_err *err)
{
    const struct og_hops *h = &f->hops;
    json_t *all = json_pack("{s:i s:b s:b s:b s:b}", "hops", f->config.layers, "by_row", h->by_row,
                            "loops", h->loops, "labelled", h->labelled, "last", h->last);
    if (!all)
        og__fail_errno(err, -ENOMEM, NULL, "inference");
    return all;
}

static double degree_of(const struct og_inference *f, int64_t v)
{
    const double others = f->degree[v] * (f->weights.mean ? (double)f->weights.mean[v] : 1);
    const double loop = f->weights.loop ? (double)f->weights.loop[v] : 1;
    return others + (f->hops.loops ? loop : 0);
}

int og__hops_survey(struct og_inference *f, struct og_err *err)
{
    struct og_hops *h = &f->hops;
    const int64_t n = f->lists->n_nodes;
    if (f->config.edge_weights != OG_EDGE_WEIGHTS_OFF)
        OG_DO(og__infer_sum_weights(f, h->loops, err));
    h->scale = og__alloc(f->budget, (size_t)n * sizeof(*h->scale), OG__INFER_NODES, err);
    OG_DO(h->scale ? 0 : -ENOMEM);
    for (int64_t v = 0; v < n; v++) {
        const double d = degree_of(f, v);
        h->scale[v] = d > 0 ? (float)(1 / (h->by_row ? d : sqrt(d))) : 0;
    }
    f->ends[0] = h->scale;
    f->n_ends = !h->by_row;
    return 0;
}

static struct og_whole_layer shape(const struct og_inference *f, int l)
{
    const int dim = f->ds->group->dim;
    (void)l;
    return (struct og_whole_layer){
        .prefix = f->hops.loops, .n_in = dim, .n_source = dim, .n_out = dim};
}

struct summing {
    struct og_sparse through;
    const struct og_rows *rows;
    float *out;
};

static void sum_group(void *arg, size_t group, int thread)
{
    const struct summing *s = arg;
    const uint32_t first = (uint32_t)group * OG__WHOLE_ROWS;
    const uint32_t end = OG_MIN(first + OG__WHOLE_ROWS, s->through.n_rows);
    (void)thread;
    for (uint32_t r = first; r < end; r++)
        og__aggregate_row(&s->through, s->rows, r, s->out + r * (size_t)s->rows->dim);
}

void og__hops_sum(struct og_inference *f, const struct og_infer_block *b, float *out)
{
    const struct og_hops *h = &f->hops;
    const uint32_t n = b->block.n_dst;
    struct summing s = {.rows = &b->sources, .out = out};
    s.through = (struct og_sparse){.n_rows = n,
                                   .n_left = n,
                                   .left = h->scale + b->first,
                                   .n_right = b->ends ? b->block.n_src : 0,
                                   .right = b->ends,
                                   .n_loops = h->loops ? n : 0,
                                   .indptr = b->block.indptr,
                                   .col = b->block.src,
                                   .weight = b->block.weight};
    if (f->weights.loop)
        s.through.loop = f->weights.loop + b->first;
    og__pool_run(f->pool, (n + OG__WHOLE_ROWS - 1) / OG__WHOLE_ROWS, sum_group, &s);
}

static int combine(struct og_inference *f, int l, const struct og_whole_layer *how,
                   const struct og_infer_block *b, float *out, struct og_err *err)
{
    (void)l;
    (void)how;
    (void)err;
    og__hops_sum(f, b, out);
    return 0;
}

const struct og_infer_kind og__infer_of_hops = {
    .layer = "hop",
    .undefined_hint = "`outgrow verify` finds features that are not finite",
    .numbers = numbers,
    .survey = og__hops_survey,
    .shape = shape,
    .combine = combine,
};
