/* The operators on a device (nn/ops.h), each a few kernels and products one behind the other.
 *
 * Only what metrics count comes back to the host here; all else stays. What an operator needs for
 * itself is in the backend's room, which the next operator on the same stream may have. */
#include "nn/device/backend.h"
#include "nn/sparse.h"

#include "nn/tasks.h"

#include <string.h>

/* ==== what lies in the room ==== */

/* Carve so many bytes, which take room_of them. */
static void *carve(char **at, size_t bytes)
{
    char *p = *at;
    *at += og__device_room_of(bytes);
    return p;
}

/* ==== rows and products ==== */

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
    float *made; /* what is made of them: where they belong, or in the room */
    size_t ld;
    float *tile; /* of an input */
    bool any;    /* made holds something */
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
                              .bias = n == c->n && !c->biased ? c->op->bias : NULL};
    int rc = 0;
    if (n == 0)
        return 0;
    OG_TRY(operand(be, c, in, n, &p.a, &p.lda, err));
    OG_TRY(be->ops->multiply(be->work, &p, err));
    c->any = true;
    c->biased |= p.bias != NULL;
out:
    return rc;
}

/* All terms of the chunk. */
static int add_terms(struct og_nn_backend *be, struct chunk *c, struct og_err *err)
{
    const struct og_affine *op = c->op;
    int rc = 0;
    for (int k = 0; k < op->n_inputs; k++)
        if (op->input[k].weight)
            OG_TRY(add_product(be, c, &op->input[k], err));
    if (op->plus_through) {
        OG_TRY(aggregate(be, op->plus_through, &op->plus, c->first, c->n, c->made, c->ld, c->any,
                         err));
        c->any = true;
    }
    for (int k = 0; k < op->n_inputs; k++) {
        const struct og_input *in = &op->input[k];
        if (!in->weight && in->n > c->first)
            OG_TRY(widen(be, &in->x, c->first, OG_MIN(in->n - c->first, c->n), c->made, c->ld, true,
                         err));
    }
out:
    return rc;
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

/* Does the first term reach all rows, so that nothing has to be cleared before it? */
static bool first_reaches_all(const struct og_affine *op)
{
    if (op->n_inputs > 0 && op->input[0].weight)
        return op->input[0].n >= op->rows;
    return op->plus_through;
}

/* What the operands of all inputs that have to be made take at most, of so many rows. */
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
    int rc = 0;
    OG_TRY(og__device_room(be, made_bytes + tile_bytes(op, rows), err));
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
            OG_TRY(be->ops->clear(be->work, made, n * cols * sizeof(float), err));
        OG_TRY(add_terms(be, &c, err));
        OG_TRY(end_chunk(be, &c, op->y + first * ld, ld, err));
    }
out:
    return rc;
}

/* ==== sums of columns ==== */

static int add_parts(struct og_nn_backend *be, const struct og_k_columns *args, struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_column_sums, args->cols, args, err);
}

/* part: room for parts_bytes. */
static int sum_columns(struct og_nn_backend *be, struct og_k_columns args, double *part,
                       struct og_err *err)
{
    args.part = part;
    args.step = args.cols;
    args.n_parts = og__parts_of(args.rows);
    int rc = OG__EACH_ITEM(be, og__k_column_parts, (uint64_t)args.n_parts * args.cols, &args, err);
    return rc < 0 ? rc : add_parts(be, &args, err);
}

/* ==== weight gradient ==== */

/* In one product where the input lies densely, else as many rows as the room has at a time. */
static int input_gradient(struct og_nn_backend *be, const struct og_weight_grad *op, int k,
                          struct og_err *err)
{
    const struct og_rows *x = &op->input[k];
    const size_t dim = (size_t)x->dim, ld = op->ld ? (size_t)op->ld : (size_t)op->n_out;
    const bool dense = lies_densely(x);
    int rc = 0;
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
                                  .add = first > 0};
        if (!dense)
            OG_TRY(widen(be, x, first, n, (float *)(void *)be->room, dim, false, err));
        OG_TRY(be->ops->multiply(be->work, &p, err));
    }
out:
    return rc;
}

int og__device_weight_grad(struct og_nn_backend *be, const struct og_weight_grad *op,
                           struct og_err *err)
{
    size_t room = og__device_parts_bytes(op->rows, (size_t)op->n_out);
    int rc = 0;
    for (int k = 0; k < op->n_inputs; k++) {
        const size_t dim = (size_t)op->input[k].dim;
        if (!lies_densely(&op->input[k]))
            room = OG_MAX(room, OG_MIN(op->rows, og__device_chunk_rows(dim)) * dim * sizeof(float));
    }
    OG_TRY(og__device_room(be, room, err));
    for (int k = 0; k < op->n_inputs; k++)
        OG_TRY(input_gradient(be, op, k, err));
    if (op->bias_grad)
        OG_TRY(sum_columns(be,
                           (struct og_k_columns){.of = OG__VALUES,
                                                 .rows = op->rows,
                                                 .cols = (uint32_t)op->n_out,
                                                 .y = op->dy,
                                                 .ld = (size_t)(op->ld ? op->ld : op->n_out),
                                                 .sum = op->bias_grad,
                                                 .times = 1},
                           (double *)(void *)be->room, err));
out:
    return rc;
}

int og__device_dot(struct og_nn_backend *be, const struct og_dot *op, struct og_err *err)
{
    struct og_k_dot args = {.op = *op, .n_parts = og__parts_of(op->rows)};
    int rc;
    OG_TRY(og__device_room(be, args.n_parts * sizeof(double), err));
    args.part = (double *)(void *)be->room;
    OG_TRY(
        og__device_launch(be, og__k_dot_parts_number, args.n_parts, 256, &args, sizeof(args), err));
    OG_TRY(OG__EACH_ITEM(be, og__k_dot, 1, &args, err));
out:
    return rc;
}

/* ==== blocks ==== */

int og__device_scale(struct og_nn_backend *be, const struct og_scale *op, struct og_err *err)
{
    const struct og_k_scale args = {*op->block, op->kind, og__n_scales(op->block, op->kind),
                                    op->scale};
    return OG__EACH_ITEM(be, og__k_scale, args.n, &args, err);
}

/* Numbers 0 to n - 1 by their keys, and where each key's begin. moved NULL: not wanted. */
struct listing {
    size_t n;
    const uint32_t *key;
    uint32_t bound;
    uint32_t *first; /* out [bound + 1] */
    uint32_t *moved; /* out [n] */
};

static size_t listing_bytes(struct og_nn_backend *be, size_t n)
{
    return og__device_listing_bytes(n, n > 0 ? be->ops->sort_bytes(be->device, n) : 0);
}

/* at: room for listing_bytes. */
static int list(struct og_nn_backend *be, const struct listing *l, char *at, uint32_t **moved,
                struct og_err *err)
{
    const size_t bytes = l->n * sizeof(uint32_t);
    uint32_t *number = carve(&at, bytes), *sorted = carve(&at, bytes), *own = carve(&at, bytes);
    int rc = 0;
    *moved = l->moved ? l->moved : own;
    const struct og_k_count_up count = {(uint32_t)l->n, number};
    const struct og_sort sort = {.n = l->n,
                                 .key = l->key,
                                 .value = number,
                                 .sorted = sorted,
                                 .moved = *moved,
                                 .bound = l->bound,
                                 .room = at};
    const struct og_k_starts starts = {l->bound, (uint32_t)l->n, sorted, l->first};
    OG_TRY(OG__EACH_ITEM(be, og__k_count_up, l->n, &count, err));
    if (l->n > 0)
        OG_TRY(be->ops->sort(be->work, &sort, err));
    OG_TRY(OG__EACH_ITEM(be, og__k_starts, (uint64_t)l->bound + 1, &starts, err));
out:
    return rc;
}

int og__device_transpose(struct og_nn_backend *be, const struct og_transpose *op,
                         struct og_err *err)
{
    const struct og_block *b = op->block;
    const struct listing l = {(size_t)b->n_edges, b->src, b->n_src, op->indptr, op->edge};
    uint32_t *edge;
    int rc;
    OG_TRY(og__device_room(be, listing_bytes(be, l.n), err));
    OG_TRY(list(be, &l, be->room, &edge, err));
    const struct og_k_owners args = {(uint32_t)l.n, b->n_dst, b->indptr, edge, op->col};
    OG_TRY(OG__EACH_ITEM(be, og__k_owners, l.n, &args, err));
out:
    return rc;
}

/* ==== attention ==== */

static struct og_k_attend attention(const struct og_attend *op)
{
    struct og_k_attend a = {.op = *op, .block = *op->block, .drops = op->dropout};
    if (op->dropout)
        a.dropout = *op->dropout;
    return a;
}

int og__device_attend(struct og_nn_backend *be, const struct og_attend *op, struct og_err *err)
{
    const struct og_k_attend args = attention(op);
    const uint32_t heads = (uint32_t)op->heads;
    struct og_k_scores scores = {.z = op->z,
                                 .n = op->block->n_src,
                                 .heads = heads,
                                 .width = (uint32_t)op->width,
                                 .shared = op->shared,
                                 .att = op->att_src,
                                 .score = op->score_src};
    int rc;
    OG_TRY(OG__EACH_WARP(be, og__k_scores, (uint64_t)scores.n * heads, &scores, err));
    scores.n = op->block->n_dst;
    scores.att = op->att_dst;
    scores.score = op->score_dst;
    OG_TRY(OG__EACH_WARP(be, og__k_scores, (uint64_t)scores.n * heads, &scores, err));
    OG_TRY(OG__EACH_ITEM(be, og__k_coefficients, (uint64_t)op->block->n_dst * heads, &args, err));
    OG_TRY(OG__EACH_WARP(be, og__k_attend, op->block->n_dst, &args, err));
out:
    return rc;
}

/* The gradients of att_src and att_dst, from parts of both side by side. */
static int sum_vectors(struct og_nn_backend *be, const struct og_attend_back *op,
                       const struct og_k_attend_back *args, size_t f, struct og_err *err)
{
    struct og_k_columns sums = {.cols = (uint32_t)f,
                                .n_parts = args->n_parts,
                                .part = args->part,
                                .step = 2 * f,
                                .sum = op->datt_src,
                                .times = 1};
    int rc = add_parts(be, &sums, err);
    sums.part += f;
    sums.sum = op->datt_dst;
    return rc < 0 ? rc : add_parts(be, &sums, err);
}

int og__device_attend_back(struct og_nn_backend *be, const struct og_attend_back *op,
                           struct og_err *err)
{
    const struct og_attend *fwd = op->forward;
    const uint32_t n_src = fwd->block->n_src, n_dst = fwd->block->n_dst;
    const uint64_t heads = (uint64_t)fwd->heads, f = heads * (uint64_t)fwd->width;
    struct og_k_attend_back args = {.forward = attention(fwd),
                                    .dy = op->dy,
                                    .indptr = op->indptr,
                                    .col = op->col,
                                    .edge = op->edge,
                                    .dscore = op->dscore,
                                    .dz = op->dz,
                                    .n_parts = og__parts_of(n_src)};
    const size_t from_bytes = og__device_room_of(n_src * heads * sizeof(float));
    int rc;
    OG_TRY(og__device_room(be, from_bytes + og__device_parts_bytes(n_src, 2 * f), err));
    args.from = (float *)(void *)be->room;
    args.part = (double *)(void *)(be->room + from_bytes);
    OG_TRY(OG__EACH_WARP(be, og__k_attend_slopes, n_dst, &args, err));
    OG_TRY(OG__EACH_ITEM(be, og__k_score_slopes, n_dst * heads, &args, err));
    OG_TRY(OG__EACH_ITEM(be, og__k_source_slopes, n_src * heads, &args, err));
    OG_TRY(OG__EACH_ITEM(be, og__k_vector_parts, args.n_parts * 2 * f, &args, err));
    OG_TRY(sum_vectors(be, op, &args, f, err));
    if (op->dz)
        OG_TRY(OG__EACH_WARP(be, og__k_source_back, n_src, &args, err));
out:
    return rc;
}

int og__device_fold(struct og_nn_backend *be, const struct og_fold *op, struct og_err *err)
{
    const struct og_k_fold args = {.heads = (uint32_t)op->heads,
                                   .width = (uint32_t)op->width,
                                   .n_in = (uint32_t)op->n_in,
                                   .att = op->att,
                                   .weight = op->weight,
                                   .out = op->out};
    return OG__EACH_ITEM(be, og__k_fold, (uint64_t)args.heads * args.n_in, &args, err);
}

int og__device_fold_back(struct og_nn_backend *be, const struct og_fold_back *op,
                         struct og_err *err)
{
    const struct og_fold *fwd = op->forward;
    const struct og_k_fold args = {.heads = (uint32_t)fwd->heads,
                                   .width = (uint32_t)fwd->width,
                                   .n_in = (uint32_t)fwd->n_in,
                                   .att = fwd->att,
                                   .weight = fwd->weight,
                                   .dout = op->dout,
                                   .dweight = op->dweight,
                                   .datt = op->datt};
    return OG__EACH_WARP(be, og__k_fold_back, (uint64_t)args.heads * args.width, &args, err);
}

int og__device_pool_max(struct og_nn_backend *be, const struct og_pool_max *op, struct og_err *err)
{
    const struct og_k_pool_max args = {*op->block, op->x, op->y, op->from};
    return OG__EACH_WARP(be, og__k_pool_max, args.block.n_dst, &args, err);
}

int og__device_pool_max_back(struct og_nn_backend *be, const struct og_pool_max_back *op,
                             struct og_err *err)
{
    const struct og_k_pool_max_back args = {*op};
    return OG__EACH_WARP(be, og__k_pool_max_back, op->n_src, &args, err);
}

/* ==== the end of a layer ==== */

int og__device_moments(struct og_nn_backend *be, const struct og_moments *op, struct og_err *err)
{
    const size_t cols = (size_t)op->cols;
    struct og_k_columns args = {.of = OG__VALUES,
                                .rows = op->rows,
                                .cols = (uint32_t)cols,
                                .y = op->y,
                                .mean = op->mean,
                                .ld = cols,
                                .sum = op->mean,
                                .times = 1.0 / op->rows};
    int rc;
    OG_TRY(og__device_room(be, og__device_parts_bytes(op->rows, cols), err));
    OG_TRY(sum_columns(be, args, (double *)(void *)be->room, err));
    args.of = OG__SQUARES;
    args.sum = op->var;
    OG_TRY(sum_columns(be, args, (double *)(void *)be->room, err));
out:
    return rc;
}

int og__device_track(struct og_nn_backend *be, const struct og_track *op, struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_track, op->cols, op, err);
}

int og__device_rstd(struct og_nn_backend *be, const struct og_rstd *op, struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_rstd, op->cols, op, err);
}

static struct og_k_finish ending(const struct og_finish *op)
{
    struct og_k_finish args = {.op = *op, .drops = op->dropout};
    if (op->dropout)
        args.dropout = *op->dropout;
    return args;
}

int og__device_finish(struct og_nn_backend *be, const struct og_finish *op, struct og_err *err)
{
    const struct og_k_finish args = ending(op);
    return OG__EACH_WARP(be, og__k_finish, op->rows, &args, err);
}

int og__device_finish_back(struct og_nn_backend *be, const struct og_finish_back *op,
                           struct og_err *err)
{
    const struct og_finish *fwd = op->forward;
    const size_t cols = (size_t)fwd->cols;
    const size_t row_bytes = og__device_room_of(2 * (size_t)fwd->rows * sizeof(float));
    struct og_k_finish args = ending(fwd);
    int rc;
    OG_TRY(og__device_room(be, row_bytes + og__device_parts_bytes(fwd->rows, cols), err));
    args.g = op->g;
    args.dweight = op->dweight;
    args.dbias = op->dbias;
    args.row = (float *)(void *)be->room;
    OG_TRY(OG__EACH_WARP(be, og__k_finish_back, fwd->rows, &args, err));
    if (fwd->norm == OG_NORM_NONE)
        return 0;
    struct og_k_columns sums = {.of = fwd->norm == OG_NORM_BATCH ? OG__SCALED : OG__SCALED_BY_ROW,
                                .rows = fwd->rows,
                                .cols = (uint32_t)cols,
                                .y = fwd->y,
                                .g = op->g,
                                .mean = fwd->mean,
                                .rstd = fwd->rstd,
                                .row = args.row,
                                .ld = cols,
                                .sum = op->dweight,
                                .times = 1};
    OG_TRY(sum_columns(be, sums, (double *)(void *)(be->room + row_bytes), err));
    sums.of = OG__SLOPES;
    sums.sum = op->dbias;
    OG_TRY(sum_columns(be, sums, (double *)(void *)(be->room + row_bytes), err));
    OG_TRY(OG__EACH_WARP(be, og__k_norm_back, fwd->rows, &args, err));
out:
    return rc;
}

/* ==== losses ==== */

/* Room for a block's metrics each, and behind them for a count. */
static int loss_room(struct og_nn_backend *be, uint32_t rows, struct og_metrics **blocks,
                     uint32_t **counted, struct og_err *err)
{
    const size_t bytes = og__device_room_of(og__n_blocks(rows) * sizeof(**blocks));
    int rc = og__device_room(be, bytes + sizeof(**counted), err);
    *blocks = (struct og_metrics *)(void *)be->room;
    *counted = (uint32_t *)(void *)(be->room + bytes);
    return rc;
}

static int launch_rows(struct og_nn_backend *be, int kernel, uint32_t rows, const void *args,
                       size_t bytes, struct og_err *err)
{
    return og__device_launch(be, kernel, og__n_blocks(rows), OG__BLOCK_ROWS, args, bytes, err);
}

/* The sum of all blocks, in their order, at the host. */
static int collect(struct og_nn_backend *be, uint32_t rows, struct og_metrics *blocks,
                   struct og_metrics *out, struct og_err *err)
{
    const struct og_k_add_metrics args = {(uint32_t)og__n_blocks(rows), blocks};
    *out = (struct og_metrics){0};
    if (rows == 0)
        return 0;
    int rc = OG__EACH_ITEM(be, og__k_add_metrics, 1, &args, err);
    return rc < 0 ? rc : og__device_fetch(be, out, blocks, sizeof(*out), err);
}

/* count: the kernel that says how many there are, or none. */
static int rows_loss(struct og_nn_backend *be, const struct og_loss *op, int loss, int count,
                     int kernel, struct og_err *err)
{
    struct og_k_loss args = {.op = *op, .loss = loss};
    int rc;
    OG_TRY(loss_room(be, op->rows, &args.blocks, &args.counted, err));
    if (count >= 0)
        OG_TRY(og__device_launch(be, count, 1, 256, &args, sizeof(args), err));
    OG_TRY(launch_rows(be, kernel, op->rows, &args, sizeof(args), err));
    OG_TRY(collect(be, op->rows, args.blocks, op->out, err));
out:
    return rc;
}

int og__device_softmax_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return rows_loss(be, op, 0, og__k_count_classes_number, og__k_softmax_number, err);
}

int og__device_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return rows_loss(be, op, 0, -1, og__k_sigmoid_number, err);
}

static int no_such_loss(int loss, struct og_err *err)
{
    return og__fail(err, -ENOTSUP, "use --device cpu", "--loss %s: devices have no kernel of it",
                    og__loss_words[loss]);
}

int og__device_value_loss(struct og_nn_backend *be, const struct og_value_loss *op,
                          struct og_err *err)
{
    if (op->loss != OG_LOSS_MSE && op->loss != OG_LOSS_MAE && op->loss != OG_LOSS_HUBER)
        return no_such_loss(op->loss, err);
    return rows_loss(be, &op->rows, op->loss, og__k_count_values_number, og__k_values_number, err);
}

int og__device_link_loss(struct og_nn_backend *be, const struct og_link_loss *op,
                         struct og_err *err)
{
    struct og_k_links args = {.op = *op};
    uint32_t *unused;
    int rc;
    if (op->loss != OG_LOSS_BCE && op->loss != OG_LOSS_MARGIN)
        return no_such_loss(op->loss, err);
    OG_TRY(loss_room(be, op->n_edges, &args.blocks, &unused, err));
    OG_TRY(launch_rows(be, og__k_links_number, op->n_edges, &args, sizeof(args), err));
    OG_TRY(collect(be, op->n_edges, args.blocks, op->out, err));
out:
    return rc;
}

int og__device_rank(struct og_nn_backend *be, const struct og_rank *op, struct og_err *err)
{
    const struct og_pairs *p = op->pairs;
    struct og_k_ranks args = {.n_edges = p->n_edges,
                              .n_negatives = p->n_negatives,
                              .n_rivals = p->n_rivals,
                              .a = p->a,
                              .b = p->b,
                              .score = op->score};
    struct og_metrics sum;
    uint32_t *unused;
    int rc;
    OG_TRY(loss_room(be, p->n_edges, &args.blocks, &unused, err));
    OG_TRY(launch_rows(be, og__k_ranks_number, p->n_edges, &args, sizeof(args), err));
    OG_TRY(collect(be, p->n_edges, args.blocks, &sum, err));
    og__metrics_add(op->out, &sum);
out:
    return rc;
}

/* ==== pairs ==== */

int og__device_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op, struct og_err *err)
{
    const struct og_k_pair args = {*op};
    return OG__EACH_WARP(be, og__k_pair_dot, op->n, &args, err);
}

int og__device_pair_product(struct og_nn_backend *be, const struct og_pair_op *op,
                            struct og_err *err)
{
    const struct og_k_pair args = {*op};
    return OG__EACH_WARP(be, og__k_pair_product, op->n, &args, err);
}

int og__device_pair_list(struct og_nn_backend *be, const struct og_pair_list *op,
                         struct og_err *err)
{
    const size_t keys = 2 * (size_t)op->n, key_bytes = og__device_room_of(keys * sizeof(uint32_t));
    uint32_t *moved;
    int rc;
    OG_TRY(og__device_room(be, key_bytes + listing_bytes(be, keys), err));
    uint32_t *key = (uint32_t *)(void *)be->room;
    const struct og_k_pair_keys args = {op->n, op->a, op->b, key};
    const struct listing l = {keys, key, op->n_rows, op->first, op->pair};
    OG_TRY(OG__EACH_ITEM(be, og__k_pair_keys, op->n, &args, err));
    OG_TRY(list(be, &l, be->room + key_bytes, &moved, err));
out:
    return rc;
}

int og__device_pair_back(struct og_nn_backend *be, const struct og_pair_back *op,
                         struct og_err *err)
{
    const struct og_k_pair_back args = {.forward = *op->forward,
                                        .g = op->g,
                                        .wide = op->wide,
                                        .n_rows = op->n_rows,
                                        .first = op->first,
                                        .pair = op->pair,
                                        .dh = op->dh};
    return OG__EACH_WARP(be, og__k_pair_back, op->n_rows, &args, err);
}

/* ==== optimisers ==== */

static struct og_k_update update(const struct og_update *op)
{
    return (struct og_k_update){*op, (float)op->rate, (float)op->root, (float)op->weight_decay};
}

int og__device_adam(struct og_nn_backend *be, const struct og_update *op, struct og_err *err)
{
    const struct og_k_update args = update(op);
    return OG__EACH_ITEM(be, og__k_adam, op->n, &args, err);
}

int og__device_sgd(struct og_nn_backend *be, const struct og_update *op, struct og_err *err)
{
    const struct og_k_update args = update(op);
    return OG__EACH_ITEM(be, og__k_sgd, op->n, &args, err);
}
