/* Device operators along edges and pairs: scales, transposed blocks, attention, maximum pooling,
 * decoders of links. */
#include "nn/device/backend.h"
#include "nn/sparse.h"

int og__device_scale(struct og_nn_backend *be, const struct og_scale *op, struct og_err *err)
{
    const struct og_k_scale args = {*op->block, op->kind, og__n_scales(op->block, op->kind),
                                    op->scale};
    return OG__EACH_ITEM(be, og__k_scale, args.n, &args, err);
}

size_t og__device_lists_bytes(struct og_nn_backend *be, size_t n)
{
    return og__device_listing_bytes(n, n > 0 ? be->ops->sort_bytes(be->device, n) : 0);
}

int og__device_list(struct og_nn_backend *be, const struct og_listing *l, char *at,
                    uint32_t **moved, struct og_err *err)
{
    const size_t bytes = l->n * sizeof(uint32_t);
    const size_t room = og__device_room_of(bytes);
    uint32_t *number = (uint32_t *)(void *)at;
    uint32_t *sorted = (uint32_t *)(void *)(at + room);
    uint32_t *own = (uint32_t *)(void *)(at + 2 * room);
    *moved = l->moved ? l->moved : own;
    const struct og_k_count_up count = {(uint32_t)l->n, number};
    const struct og_sort sort = {.n = l->n,
                                 .key = l->key,
                                 .value = number,
                                 .sorted = sorted,
                                 .moved = *moved,
                                 .bound = l->bound,
                                 .room = at + 3 * room};
    const struct og_k_starts starts = {l->bound, (uint32_t)l->n, sorted, l->first};
    OG_DO(OG__EACH_ITEM(be, og__k_count_up, l->n, &count, err));
    if (l->n > 0)
        OG_DO(be->ops->sort(be->work, &sort, err));
    return OG__EACH_ITEM(be, og__k_starts, (uint64_t)l->bound + 1, &starts, err);
}

int og__device_transpose(struct og_nn_backend *be, const struct og_transpose *op,
                         struct og_err *err)
{
    const struct og_block *b = op->block;
    const struct og_listing l = {(size_t)b->n_edges, b->src, b->n_src, op->indptr, op->edge};
    uint32_t *edge;
    OG_DO(og__device_room(be, og__device_lists_bytes(be, l.n), err));
    OG_DO(og__device_list(be, &l, be->room, &edge, err));
    const struct og_k_owners args = {(uint32_t)l.n, b->n_dst, b->indptr, edge, op->col};
    return OG__EACH_ITEM(be, og__k_owners, l.n, &args, err);
}

/* ==== attention ==== */

static struct og_k_attend attention(const struct og_attend *op)
{
    struct og_k_attend a = {.op = *op,
                            .block = *op->block,
                            .drops = op->dropout,
                            .thins = op->dropout || op->block->weight};
    if (op->dropout)
        a.dropout = *op->dropout;
    return a;
}

static int attend_by_ends(struct og_nn_backend *be, const struct og_k_attend *args,
                          struct og_err *err)
{
    const struct og_attend *op = &args->op;
    const uint32_t heads = (uint32_t)op->heads;
    struct og_k_scores scores = {.z = op->z,
                                 .n = args->block.n_src,
                                 .heads = heads,
                                 .width = (uint32_t)op->width,
                                 .shared = op->shared,
                                 .att = op->att_src,
                                 .score = op->score_src};
    OG_DO(OG__EACH_WARP(be, og__k_scores, (uint64_t)scores.n * heads, &scores, err));
    scores.n = args->block.n_dst;
    scores.att = op->att_dst;
    scores.score = op->score_dst;
    if (!op->apart)
        OG_DO(OG__EACH_WARP(be, og__k_scores, (uint64_t)scores.n * heads, &scores, err));
    return OG__EACH_ITEM(be, og__k_coefficients, (uint64_t)args->block.n_dst * heads, args, err);
}

static int attend_by_sums(struct og_nn_backend *be, const struct og_k_attend *args,
                          struct og_err *err)
{
    const uint64_t n = args->block.n_dst;
    OG_DO(OG__EACH_WARP(be, og__k_sum_scores, n, args, err));
    return OG__EACH_ITEM(be, og__k_sum_coefficients, n * (uint64_t)args->op.heads, args, err);
}

/* The gradient of the k-th attention vector, from n parts with F columns per vector. */
static int sum_vector(struct og_nn_backend *be, const struct og_k_attend_back *args, int k, int n,
                      float *out, struct og_err *err)
{
    const size_t f = (size_t)args->forward.op.heads * (size_t)args->forward.op.width;
    const struct og_k_columns sums = {.cols = (uint32_t)f,
                                      .n_parts = args->n_parts,
                                      .part = args->part + (size_t)k * f,
                                      .step = (size_t)n * f,
                                      .sum = out,
                                      .times = 1};
    return og__device_add_parts(be, &sums, err);
}

static int back_by_ends(struct og_nn_backend *be, const struct og_attend_back *op,
                        const struct og_k_attend_back *args, struct og_err *err)
{
    const struct og_attend *fwd = op->forward;
    const uint32_t n_src = fwd->block->n_src, n_dst = fwd->block->n_dst;
    const uint64_t heads = (uint64_t)fwd->heads, f = heads * (uint64_t)fwd->width;
    OG_DO(OG__EACH_ITEM(be, og__k_score_slopes, n_dst * heads, args, err));
    OG_DO(OG__EACH_ITEM(be, og__k_source_slopes, n_src * heads, args, err));
    OG_DO(OG__EACH_ITEM(be, og__k_vector_parts, args->n_parts * 2 * f, args, err));
    OG_DO(sum_vector(be, args, 0, 2, op->datt_src, err));
    if (!fwd->apart)
        OG_DO(sum_vector(be, args, 1, 2, op->datt_dst, err));
    if (op->dz)
        OG_DO(OG__EACH_WARP(be, og__k_source_back, n_src, args, err));
    return 0;
}

static int back_by_sums(struct og_nn_backend *be, const struct og_attend_back *op,
                        const struct og_k_attend_back *args, struct og_err *err)
{
    const struct og_attend *fwd = op->forward;
    const uint32_t n_src = fwd->block->n_src, n_dst = fwd->block->n_dst;
    const uint64_t heads = (uint64_t)fwd->heads, f = heads * (uint64_t)fwd->width;
    OG_DO(OG__EACH_ITEM(be, og__k_sum_slopes, n_dst * heads, args, err));
    OG_DO(OG__EACH_WARP(be, og__k_sum_destinations, n_dst, args, err));
    OG_DO(OG__EACH_ITEM(be, og__k_sum_vector_parts, args->n_parts * f, args, err));
    OG_DO(sum_vector(be, args, 0, 1, op->datt_src, err));
    if (op->dz)
        OG_DO(OG__EACH_WARP(be, og__k_sum_source_back, n_src, args, err));
    return 0;
}

/* Forward and backward functions of each kind of scores. */
static const struct {
    int (*forward)(struct og_nn_backend *be, const struct og_k_attend *args, struct og_err *err);
    int (*back)(struct og_nn_backend *be, const struct og_attend_back *op,
                const struct og_k_attend_back *args, struct og_err *err);
} scorings[] = {
    [OG__BY_ENDS] = {attend_by_ends, back_by_ends}, [OG__BY_SUMS] = {attend_by_sums, back_by_sums}};

int og__device_attend(struct og_nn_backend *be, const struct og_attend *op, struct og_err *err)
{
    const struct og_k_attend args = attention(op);
    OG_DO(scorings[op->scoring].forward(be, &args, err));
    return OG__EACH_WARP(be, og__k_attend, op->block->n_dst, &args, err);
}

int og__device_attend_back(struct og_nn_backend *be, const struct og_attend_back *op,
                           struct og_err *err)
{
    const struct og_attend *fwd = op->forward;
    const uint32_t n_src = fwd->block->n_src;
    const uint64_t heads = (uint64_t)fwd->heads, f = heads * (uint64_t)fwd->width;
    struct og_k_attend_back args = {.forward = attention(fwd),
                                    .dy = op->dy,
                                    .indptr = op->indptr,
                                    .col = op->col,
                                    .edge = op->edge,
                                    .dscore = op->dscore,
                                    .dz = op->dz,
                                    .dz_dst = op->dz_dst,
                                    .n_parts = og__parts_of(n_src)};
    const size_t from_bytes = og__device_room_of(n_src * heads * sizeof(float));
    OG_DO(og__device_room(be, from_bytes + og__device_parts_bytes(n_src, 2 * f), err));
    args.from = (float *)(void *)be->room;
    args.part = (double *)(void *)(be->room + from_bytes);
    OG_DO(OG__EACH_WARP(be, og__k_attend_slopes, fwd->block->n_dst, &args, err));
    return scorings[fwd->scoring].back(be, op, &args, err);
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
    OG_DO(og__device_room(be, key_bytes + og__device_lists_bytes(be, keys), err));
    uint32_t *key = (uint32_t *)(void *)be->room;
    const struct og_k_pair_keys args = {op->n, op->a, op->b, key};
    const struct og_listing l = {keys, key, op->n_rows, op->first, op->pair};
    OG_DO(OG__EACH_ITEM(be, og__k_pair_keys, op->n, &args, err));
    return og__device_list(be, &l, be->room + key_bytes, &moved, err);
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
    if (!op->wide && !op->forward->joins && op->forward->decoder == OG_DECODER_TRANSE)
        return OG__EACH_WARP(be, og__k_translated_back, op->n_rows, &args, err);
    return OG__EACH_WARP(be, og__k_pair_back, op->n_rows, &args, err);
}

int og__device_pair_kinds(struct og_nn_backend *be, const struct og_pair_kinds *op,
                          struct og_err *err)
{
    const struct og_k_pair_kinds args = {.forward = *op->forward,
                                         .g = op->g,
                                         .n_kinds = op->n_kinds,
                                         .first = op->first,
                                         .pair = op->pair,
                                         .dby = op->dby};
    if (op->forward->decoder == OG_DECODER_TRANSE)
        return OG__EACH_WARP(be, og__k_translated_kinds, op->n_kinds, &args, err);
    return OG__EACH_WARP(be, og__k_pair_kinds, op->n_kinds, &args, err);
}
