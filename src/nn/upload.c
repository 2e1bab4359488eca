#include "nn/upload.h"

/* ==== buffers ==== */

static void *take_room(const struct og_nn_ops *ops, struct og_arena *arena, uint64_t n, size_t each)
{
    size_t bytes = ops->room_bytes((size_t)n * each);
    return bytes ? og__suballoc(arena, bytes) : NULL;
}

void og__suballoc_rooms(const struct og_nn_ops *ops, const struct og_room_sizes *n,
                        struct og_arena *arena, struct og_rooms *out)
{
    out->rows = take_room(ops, arena, n->rows, sizeof(float));
    out->own = take_room(ops, arena, n->own, sizeof(float));
    out->made = take_room(ops, arena, n->made, sizeof(float));
    out->logits = take_room(ops, arena, n->logits, sizeof(float));
    out->targets = take_room(ops, arena, n->targets, sizeof(float));
    out->a = take_room(ops, arena, n->pairs, sizeof(uint32_t));
    out->b = take_room(ops, arena, n->pairs, sizeof(uint32_t));
    out->relation = take_room(ops, arena, n->relations, sizeof(uint32_t));
    out->ends = take_room(ops, arena, 2 * n->ends, sizeof(float));
}

void og__suballoc_numbers(const struct og_nn_ops *ops, uint64_t n, struct og_arena *host,
                          struct og_arena *on_backend, struct og_numbers *out)
{
    out->host = og__suballoc(host, (size_t)n * sizeof(*out->host));
    out->room = take_room(ops, on_backend, n, sizeof(*out->host));
}

void og__suballoc_block_room(const struct og_nn_ops *ops, const struct og_block *b,
                             struct og_arena *arena, struct og_block_room *out)
{
    const uint64_t lists = OG_MAX(b->n_dst, b->n_lists);
    const uint64_t relations = b->n_relations > 0 ? (uint64_t)b->n_relations + 1 : 0;
    out->indptr = take_room(ops, arena, lists + 1, sizeof(*b->indptr));
    out->src = take_room(ops, arena, b->n_edges, sizeof(*b->src));
    out->dst = take_room(ops, arena, b->n_lists, sizeof(*b->dst));
    out->relation = take_room(ops, arena, relations, sizeof(*b->relation));
    out->weight = take_room(ops, arena, b->n_edges, sizeof(*b->weight));
    out->degree = take_room(ops, arena, b->n_src, sizeof(*b->degree));
}

/* ==== uploads and downloads ==== */

int og__upload(struct og_model *m, const void *host, size_t bytes, void *room, struct og_err *err)
{
    return host && room && bytes > 0 ? og__model_push(m, room, host, bytes, err) : 0;
}

int og__deliver(struct og_model *m, void *host, size_t bytes, const void *room, struct og_err *err)
{
    return room && bytes > 0 ? og__model_fetch(m, host, room, bytes, err) : 0;
}

int og__upload_numbers(struct og_model *m, const struct og_numbers *numbers, uint32_t n,
                       struct og_err *err)
{
    return og__upload(m, numbers->host, n * sizeof(*numbers->host), numbers->room, err);
}

int og__upload_block(struct og_model *m, const struct og_block *b, const struct og_block_room *room,
                     struct og_block *on_backend, struct og_err *err)
{
    const bool weighs = og__model_weighs(og__model_config(m));
    size_t edges = b->n_edges, beyond = b->degree ? b->n_src - b->n_dst : 0;
    const size_t lists = og__lists_of(b), relations = b->n_relations + (size_t)1;
    *on_backend = *b;
    on_backend->indptr = og__on_backend(b->indptr, room->indptr);
    on_backend->src = og__on_backend(b->src, room->src);
    on_backend->dst = og__on_backend(b->dst, room->dst);
    on_backend->relation = og__on_backend(b->relation, room->relation);
    on_backend->weight = weighs ? og__on_backend(b->weight, room->weight) : NULL;
    on_backend->degree = og__on_backend(b->degree, room->degree);
    OG_DO(og__upload(m, b->indptr, (lists + 1) * sizeof(*b->indptr), room->indptr, err));
    OG_DO(og__upload(m, b->src, edges * sizeof(*b->src), room->src, err));
    OG_DO(og__upload(m, b->dst, lists * sizeof(*b->dst), room->dst, err));
    OG_DO(og__upload(m, b->relation, relations * sizeof(*b->relation), room->relation, err));
    if (weighs)
        OG_DO(og__upload(m, b->weight, edges * sizeof(*b->weight), room->weight, err));
    return og__upload(m, b->degree, beyond * sizeof(*b->degree), room->degree, err);
}

int og__upload_pairs(struct og_model *m, const struct og_pairs *p, const struct og_rooms *room,
                     struct og_pairs *on_backend, struct og_err *err)
{
    *on_backend = *p;
    on_backend->a = og__on_backend(p->a, room->a);
    on_backend->b = og__on_backend(p->b, room->b);
    on_backend->relation = og__on_backend(p->relation, room->relation);
    OG_DO(og__upload(m, p->a, p->n * sizeof(*p->a), room->a, err));
    OG_DO(og__upload(m, p->b, p->n * sizeof(*p->b), room->b, err));
    return og__upload(m, p->relation, p->n * sizeof(*p->relation), room->relation, err);
}

int og__upload_rows(struct og_model *m, const struct og_rows *x, uint32_t n, void *room,
                    struct og_rows *on_backend, struct og_err *err)
{
    struct og_rows wanted = *x;
    *on_backend = *x;
    int rc = og__model_await(m, x, err);
    if (x->comes)
        on_backend->n = n;
    if (rc == 0 && x->scale)
        rc = og__model_constant(m, x->scale, (size_t)x->dim * sizeof(*x->scale),
                                (const void **)&on_backend->scale, err);
    if (rc < 0 || x->comes || !room)
        return rc;
    wanted.n = n;
    *on_backend = (struct og_rows){.base = room,
                                   .stride = og__row_length(x),
                                   .n = n,
                                   .dim = x->dim,
                                   .dtype = x->dtype,
                                   .sparse = x->sparse,
                                   .scale = on_backend->scale};
    return og__model_gather(m, &wanted, room, err);
}
