/* Device operators of relations: linear combinations of matrices, and sums of rows along edges.
 * Sums over edges are made in parts of each relation's edges. */
#include "nn/device/backend.h"

/* ==== matrices ==== */

int og__device_mix(struct og_nn_backend *be, const struct og_mix *op, struct og_err *err)
{
    const struct og_k_mix args = {.op = *op};
    return OG__EACH_ITEM(be, og__k_mix, op->n_made * (uint64_t)op->n, &args, err);
}

int og__device_mix_back(struct og_nn_backend *be, const struct og_mix_back *op, struct og_err *err)
{
    const struct og_mix *f = op->forward;
    const uint64_t columns = f->n_made * (uint64_t)f->n_base;
    struct og_k_mix args = {.op = *f,
                            .dmade = op->dmade,
                            .dbase = op->dbase,
                            .dweight = op->dweight,
                            .n_parts = og__parts_of(f->n)};
    OG_DO(og__device_room(be, og__device_parts_bytes(f->n, (size_t)columns), err));
    args.part = (double *)(void *)be->room;
    OG_DO(OG__EACH_ITEM(be, og__k_mix_bases, f->n_base * (uint64_t)f->n, &args, err));
    OG_DO(OG__EACH_ITEM(be, og__k_mix_parts, args.n_parts * columns, &args, err));
    return OG__EACH_ITEM(be, og__k_mix_weights, columns, &args, err);
}

/* ==== edges by their ends ==== */

static int sort_edges(struct og_nn_backend *be, const struct og_block *block, bool by_source,
                      const struct og_blend_edges *out, struct og_err *err)
{
    const size_t n = (size_t)block->n_edges;
    const size_t key_bytes = og__device_room_of(n * sizeof(uint32_t));
    uint32_t *moved;
    OG_DO(og__device_room(be, key_bytes + og__device_lists_bytes(be, n), err));
    struct og_k_blend_sort args = {.block = *block,
                                   .by_source = by_source,
                                   .key = (uint32_t *)(void *)be->room,
                                   .edge = out->edge};
    const struct og_listing l = {
        .n = n, .key = args.key, .bound = out->n_rows, .first = out->first};
    OG_DO(OG__EACH_ITEM(be, og__k_blend_keys, n, &args, err));
    OG_DO(og__device_list(be, &l, be->room + key_bytes, &moved, err));
    args.moved = moved;
    return OG__EACH_ITEM(be, og__k_blend_edges, n, &args, err);
}

int og__device_blend_sort(struct og_nn_backend *be, const struct og_blend_sort *op,
                          struct og_err *err)
{
    return sort_edges(be, op->block, false, &op->out, err);
}

/* ==== rows ==== */

int og__device_blend(struct og_nn_backend *be, const struct og_blend *op, struct og_err *err)
{
    const struct og_k_blend args = {.op = *op};
    return OG__EACH_WARP(be, og__k_blend, op->edges.n_rows, &args, err);
}

int og__device_blend_rows(struct og_nn_backend *be, const struct og_blend_rows *op,
                          struct og_err *err)
{
    const struct og_k_blend args = {
        .op = *op->forward, .dz = op->dz, .source = op->turned, .dx = op->dx};
    int rc = sort_edges(be, op->block, true, &op->turned, err);
    return rc < 0 ? rc : OG__EACH_WARP(be, og__k_blend_rows, op->turned.n_rows, &args, err);
}

/* | kinds of edges | first of each kind | lists while they are sorted | parts | */
int og__device_blend_weights(struct og_nn_backend *be, const struct og_blend_weights *op,
                             struct og_err *err)
{
    const struct og_blend *f = op->forward;
    const size_t n = (size_t)op->n_edges, columns = (size_t)f->n_kinds * f->n_base;
    const size_t kinds = og__device_room_of(n * sizeof(uint32_t));
    const size_t firsts = og__device_room_of((f->n_kinds + (size_t)1) * sizeof(uint32_t));
    const size_t lists = og__device_room_of(og__device_lists_bytes(be, n));
    struct og_k_blend args = {
        .op = *f, .dz = op->dz, .n_edges = (uint32_t)n, .n_parts = og__parts_of(n)};
    uint32_t *of_kind;
    OG_DO(og__device_room(be, kinds + firsts + lists + og__device_parts_bytes(n, columns), err));
    uint32_t *first = (uint32_t *)(void *)(be->room + kinds);
    args.kind = (uint32_t *)(void *)be->room;
    args.part = (double *)(void *)(be->room + kinds + firsts + lists);
    const struct og_listing l = {.n = n, .key = args.kind, .bound = f->n_kinds, .first = first};
    OG_DO(OG__EACH_ITEM(be, og__k_blend_kinds, n, &args, err));
    OG_DO(og__device_list(be, &l, be->room + kinds + firsts, &of_kind, err));
    args.first = first;
    args.of_kind = of_kind;
    OG_DO(OG__EACH_WARP(be, og__k_blend_parts, args.n_parts * (uint64_t)columns, &args, err));
    const struct og_k_columns sums = {.cols = (uint32_t)columns,
                                      .n_parts = args.n_parts,
                                      .part = args.part,
                                      .step = columns,
                                      .sum = op->dweight,
                                      .times = 1};
    return og__device_add_parts(be, &sums, err);
}
