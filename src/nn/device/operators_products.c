/* Device operators (nn/ops.h) that multiply matrices: each is a few kernels and products in
 * sequence. Their scratch is in the backend's memory, which the next operator on the stream may
 * overwrite. This holds in all files of operators. */
#include "nn/device/backend.h"
#include "nn/sparse.h"

#include <string.h>

static bool lies_densely(const struct og_rows *x)
{
    return x->dtype == OG_F32 && !x->index && x->n_more == 0 && x->stride % sizeof(float) == 0;
}

static int widen(struct og_nn_backend *be, const struct og_rows *x, uint32_t first, uint32_t n,
                 float *y, size_t ld, bool add, struct og_err *err)
{
    const struct og_k_widen args = {.x = *x, .first = first, .n = n, .y = y, .ld = ld, .add = add};
    return OG__EACH_WARP(be, og__k_widen, n, &args, err);
}

static int aggregate(struct og_nn_backend *be, const struct og_sparse *s, const struct og_rows *x,
                     uint32_t first, uint32_t n, float *y, size_t ld, bool add, struct og_err *err)
{
    const struct og_k_aggregate args = {
        .s = *s, .x = *x, .first = first, .n = n, .y = y, .ld = ld, .add = add};
    return OG__EACH_WARP(be, og__k_aggregate, n, &args, err);
}

/* Some rows of y. */
struct chunk {
    const struct og_affine *op;
    uint32_t first, n;
    float *made; /* their result: its destination, or scratch */
    size_t ld;
    float *tile; /* of an input */
    bool any;    /* made has a term */
    bool biased;
};

/* The input's rows as a matrix. */
static int operand(struct og_nn_backend *be, const struct chunk *c, const struct og_input *in,
                   uint32_t n, const float **a, size_t *lda, struct og_err *err)
{
    const size_t dim = (size_t)in->x.dim;
    *a = c->tile;
    *lda = dim;
    if (in->through) {
        float *y = in->keep ? in->keep + c->first * dim : c->tile;
        *a = y;
        return aggregate(be, in->through, &in->x, c->first, n, y, dim, false, err);
    }
    if (!lies_densely(&in->x))
        return widen(be, &in->x, c->first, n, c->tile, dim, false, err);
    *lda = in->x.stride / sizeof(float);
    *a = (const float *)(const void *)(in->x.base + c->first * in->x.stride);
    return 0;
}

static int add_product(struct og_nn_backend *be, struct chunk *c, const struct og_input *in,
                       struct og_err *err)
{
    const uint32_t n = in->n > c->first ? OG_MIN(in->n - c->first, c->n) : 0;
    const bool forward = in->direction == OG__FORWARD;
    struct og_product_of p = {.m = n,
                              .n = (uint32_t)c->op->cols,
                              .k = (uint32_t)in->x.dim,
                              .b = in->weight->value,
                              .ldb = (size_t)in->weight->n_in,
                              .b_transposed = forward,
                              .c = c->made,
                              .ldc = c->ld,
                              .add = c->any,
                              .compute = be->compute,
                              .bias = n == c->n && !c->biased ? c->op->bias : NULL};
    if (n == 0)
        return 0;
    OG_DO(operand(be, c, in, n, &p.a, &p.lda, err));
    OG_DO(be->ops->multiply(be->work, &p, err));
    c->any = true;
    c->biased |= p.bias != NULL;
    return 0;
}

static int add_terms(struct og_nn_backend *be, struct chunk *c, struct og_err *err)
{
    const struct og_affine *op = c->op;
    for (int k = 0; k < op->n_inputs; k++)
        if (op->input[k].weight)
            OG_DO(add_product(be, c, &op->input[k], err));
    if (op->plus_through) {
        OG_DO(aggregate(be, op->plus_through, &op->plus, c->first, c->n, c->made, c->ld, c->any,
                        err));
        c->any = true;
    }
    for (int k = 0; k < op->n_inputs; k++) {
        const struct og_input *in = &op->input[k];
        if (!in->weight && in->n > c->first)
            OG_DO(widen(be, &in->x, c->first, OG_MIN(in->n - c->first, c->n), c->made, c->ld, true,
                        err));
    }
    return 0;
}

static int end_chunk(struct og_nn_backend *be, const struct chunk *c, float *y, size_t ld,
                     struct og_err *err)
{
    const struct og_affine *op = c->op;
    struct og_k_end args = {.first = c->first,
                            .n = c->n,
                            .cols = (uint32_t)op->cols,
                            .made = c->made,
                            .ld_made = c->ld,
                            .ld = ld,
                            .y = y,
                            .bias = c->biased ? NULL : op->bias,
                            .relu = op->relu,
                            .drops = op->dropout,
                            .gated = op->gated,
                            .add = op->add,
                            .gate_scale = op->gate_scale};
    if (op->dropout)
        args.dropout = *op->dropout;
    if (c->made == y && !args.bias && !args.relu && !args.drops)
        return 0;
    return OG__EACH_WARP(be, og__k_end, c->n, &args, err);
}

/* Whether the first term covers all rows, so that nothing must be cleared before. */
static bool first_reaches_all(const struct og_affine *op)
{
    if (op->n_inputs > 0 && op->input[0].weight)
        return op->input[0].n >= op->rows;
    return op->plus_through;
}

/* Maximum bytes of the computed operands of all inputs, for `rows` rows. */
static size_t tile_bytes(const struct og_affine *op, uint32_t rows)
{
    size_t widest = 0;
    for (int k = 0; k < op->n_inputs; k++) {
        const struct og_input *in = &op->input[k];
        const bool made = in->through ? !in->keep : !lies_densely(&in->x);
        if (in->weight && made)
            widest = OG_MAX(widest, (size_t)in->x.dim);
    }
    return rows * widest * sizeof(float);
}

static uint32_t affine_chunk(const struct og_affine *op)
{
    int widest = op->cols;
    for (int k = 0; k < op->n_inputs; k++)
        widest = OG_MAX(widest, op->input[k].x.dim);
    return og__device_chunk_rows((size_t)widest);
}

int og__device_affine(struct og_nn_backend *be, const struct og_affine *op, struct og_err *err)
{
    const size_t cols = (size_t)op->cols, ld = op->ld ? (size_t)op->ld : cols;
    const bool reaches = first_reaches_all(op), in_place = reaches && !op->gated && !op->add;
    const uint32_t step = affine_chunk(op), rows = OG_MIN(op->rows, step);
    const size_t made_bytes = in_place ? 0 : og__device_room_of(rows * cols * sizeof(float));
    OG_DO(og__device_room(be, made_bytes + tile_bytes(op, rows), err));
    float *made = (float *)(void *)be->room;
    for (uint32_t first = 0, n; first < op->rows; first += n) {
        n = OG_MIN(op->rows - first, step);
        struct chunk c = {.op = op,
                          .first = first,
                          .n = n,
                          .made = in_place ? op->y + first * ld : made,
                          .ld = in_place ? ld : cols,
                          .tile = made + made_bytes / sizeof(float),
                          .any = !reaches};
        if (!reaches)
            OG_DO(be->ops->clear(be->work, made, n * cols * sizeof(float), err));
        OG_DO(add_terms(be, &c, err));
        OG_DO(end_chunk(be, &c, op->y + first * ld, ld, err));
    }
    return 0;
}

/* ==== weight gradient ==== */

/* One product if the input is dense, else in chunks of rows that fit the scratch. */
static int input_gradient(struct og_nn_backend *be, const struct og_weight_grad *op, int k,
                          struct og_err *err)
{
    const struct og_rows *x = &op->input[k];
    const size_t dim = (size_t)x->dim, ld = op->ld ? (size_t)op->ld : (size_t)op->n_out;
    const bool dense = lies_densely(x);
    if (op->rows == 0)
        return be->ops->clear(be->work, op->grad[k], (size_t)op->n_out * dim * sizeof(float), err);
    for (uint32_t first = 0, n; first < op->rows; first += n) {
        n = dense ? op->rows : OG_MIN(op->rows - first, og__device_chunk_rows(dim));
        struct og_product_of p = {.m = (uint32_t)op->n_out,
                                  .n = (uint32_t)dim,
                                  .k = n,
                                  .a = op->dy + first * ld,
                                  .lda = ld,
                                  .a_transposed = true,
                                  .b = dense ? (const float *)(const void *)x->base
                                             : (const float *)(const void *)be->room,
                                  .ldb = dense ? x->stride / sizeof(float) : dim,
                                  .c = op->grad[k],
                                  .ldc = dim,
                                  .add = first > 0,
                                  .compute = be->compute};
        if (!dense)
            OG_DO(widen(be, x, first, n, (float *)(void *)be->room, dim, false, err));
        OG_DO(be->ops->multiply(be->work, &p, err));
    }
    return 0;
}

int og__device_weight_grad(struct og_nn_backend *be, const struct og_weight_grad *op,
                           struct og_err *err)
{
    size_t room = og__device_parts_bytes(op->rows, (size_t)op->n_out);
    for (int k = 0; k < op->n_inputs; k++) {
        const size_t dim = (size_t)op->input[k].dim;
        if (!lies_densely(&op->input[k]))
            room = OG_MAX(room, OG_MIN(op->rows, og__device_chunk_rows(dim)) * dim * sizeof(float));
    }
    OG_DO(og__device_room(be, room, err));
    for (int k = 0; k < op->n_inputs; k++)
        OG_DO(input_gradient(be, op, k, err));
    if (op->bias_grad)
        OG_DO(og__device_sum_columns(
            be,
            (struct og_k_columns){.of = OG__VALUES,
                                  .rows = op->rows,
                                  .cols = (uint32_t)op->n_out,
                                  .y = op->dy,
                                  .ld = (size_t)(op->ld ? op->ld : op->n_out),
                                  .sum = op->bias_grad,
                                  .times = 1},
            (double *)(void *)be->room, err));
    return 0;
}

int og__device_put(struct og_nn_backend *be, const struct og_put *op, struct og_err *err)
{
    return OG__EACH_WARP(be, og__k_put, op->n, op, err);
}

int og__device_dot(struct og_nn_backend *be, const struct og_dot *op, struct og_err *err)
{
    struct og_k_dot args = {.op = *op, .n_parts = og__parts_of(op->rows)};
    OG_DO(og__device_room(be, args.n_parts * sizeof(double), err));
    args.part = (double *)(void *)be->room;
    OG_DO(
        og__device_launch(be, og__k_dot_parts_number, args.n_parts, 256, &args, sizeof(args), err));
    return OG__EACH_ITEM(be, og__k_dot, 1, &args, err);
}

/* ==== blocks ==== */
