/* Memory of a heterogeneous model, and of a batch: like workspace.c, with counts by type. */
#include "nn/relational_parts.h"
#include "nn/tasks.h"

#include <stdlib.h>
#include <string.h>

/* ==== the model ==== */

static void suballoc_arrays(const struct og_model_config *c, struct og_arena *arena,
                            struct og_relational *d)
{
    const struct og_graph_types *g = c->types;
    d->part = og__suballoc_zeros(arena, g->n_relations * sizeof(*d->part));
    d->end = og__suballoc_zeros(arena, g->n_types * sizeof(*d->end));
    d->block = og__suballoc_zeros(arena, g->n_relations * sizeof(*d->block));
    d->side = og__suballoc_zeros(arena, g->n_types * sizeof(*d->side));
    d->made = og__suballoc_zeros(arena, (size_t)c->layers * g->n_types * sizeof(*d->made));
}

size_t og__relational_bytes(const struct og_model_config *c)
{
    struct og_arena counter = {0};
    struct og_relational d;
    suballoc_arrays(c, &counter, &d);
    return counter.used;
}

int og__relational_open(struct og_relational **out, struct og_model *whole, struct og_budget *b,
                        struct og_err *err)
{
    const struct og_model_config *c = &whole->config;
    const struct og_graph_types *g = c->types;
    struct og_relational *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "model");
    int rc;
    *d = (struct og_relational){.whole = whole, .types = g, .live = og__live_relations(c)};
    OG_TRY(og__type_counts_init(&d->most, g, (uint32_t)c->layers, err));
    OG_TRY(og__type_counts_init(&d->at, g, (uint32_t)c->layers, err));
    OG_TRY(og__arena_init(&d->arrays, og__host_memory(b), og__relational_bytes(c), "model", err));
    suballoc_arrays(c, &d->arrays, d);
    for (uint32_t r = 0; r < g->n_relations; r++)
        d->part[r] = (struct og_model){.config = og__relation_config(c, r),
                                       .ops = whole->ops,
                                       .backend = whole->backend,
                                       .ends = &og__ends_of_relations,
                                       .whole = whole,
                                       .number = r};
    for (uint32_t t = 0; t < g->n_types; t++)
        d->end[t] = (struct og_model){.config = og__type_config(c, t),
                                      .ops = whole->ops,
                                      .backend = whole->backend,
                                      .whole = whole,
                                      .number = t};
    *out = d;
    return 0;
out:
    og__relational_close(d);
    return rc;
}

void og__relational_close(struct og_relational *d)
{
    if (!d)
        return;
    og__type_counts_release(&d->most);
    og__type_counts_release(&d->at);
    og__arena_release(&d->arrays);
    free(d);
}

uint32_t og__n_submodels(const struct og_model_config *c)
{
    return og__in_parts(c) ? og__relations_of(c) + og__types_of(c) : 1;
}

struct og_model *og__submodel(struct og_model *m, uint32_t i)
{
    const struct og_relational *d = m->relational;
    const uint32_t n_parts = og__relations_of(&m->config);
    if (!d)
        return m;
    return i < n_parts ? &d->part[i] : &d->end[i - n_parts];
}

struct og_model *og__type_model(struct og_relational *d, uint32_t type)
{
    return &d->end[type];
}

/* ==== memory of a batch ==== */

/* A relation of a layer, without its lists. */
static struct og_block block_of(const struct og_model_config *c, const struct og_type_counts *n,
                                int l, uint32_t relation)
{
    const struct og_graph_relation *of = &c->types->relation[relation];
    const uint32_t hop = og__hop_of(c, l);
    return (struct og_block){.n_dst = og__type_nodes(n, hop, of->destination),
                             .n_src = og__type_nodes(n, hop + 1, of->source),
                             .n_edges = og__edges_of(n, hop, relation)};
}

/* Rows of a type's seeds, within rows ordered by type. */
static float *seed_rows(const struct og_relational *d, float *rows, uint32_t type)
{
    return rows + og__seeds_before(&d->at, type) * (size_t)og__model_width(&d->whole->config);
}

/* Number of seeds with logits, of all types. */
static uint64_t count_seeds(const struct og_suballocation *k)
{
    return og__seeds_before(k->n->types, k->config->types->n_types);
}

static void suballoc_batch(const struct og_suballocation *k)
{
    const struct og_model_config *c = k->config;
    size_t n_ids = 0;
    uint64_t most = 0;
    uint64_t most_ends = 0;
    const bool counts = og__conv_of(c)->wants_degrees;
    const uint64_t of_edge = og__model_weighs(c) ? 2 : 1;
    struct og_numbers lists;
    struct og_numbers degrees = {0};
    for (uint32_t t = 0; t < c->types->n_types; t++)
        n_ids += og__type_nodes(k->n->types, (uint32_t)c->layers, t);
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n->types, l, r);
            most = OG_MAX(most, b.n_dst + 1 + of_edge * b.n_edges);
            most_ends = OG_MAX(most_ends, (uint64_t)b.n_dst + b.n_src);
        }
    uint32_t *local = og__suballoc(k->numbers, n_ids * sizeof(*local));
    uint32_t *node = counts ? og__suballoc(k->numbers, n_ids * sizeof(*node)) : NULL;
    og__suballoc_numbers(k->ops, most, k->numbers, k->arena, &lists);
    if (counts)
        og__suballoc_numbers(k->ops, (og__model_sums_weights(c) ? 3 : 1) * most_ends, k->numbers,
                             k->arena, &degrees);
    if (!k->out)
        return;
    k->out->local = local;
    k->out->node = node;
    k->out->lists = lists;
    k->out->degrees = degrees;
}

/* Allocates buffers for features, features after dropout, and numbers of learnable rows. */
static void suballoc_side(const struct og_suballocation *k, uint32_t type)
{
    const struct og_model_config *c = k->config;
    const struct og_graph_type *of = &c->types->type[type];
    const uint64_t n = og__nodes_of(k->n->types, (uint32_t)c->layers, type);
    const bool drops = k->training && c->input_dropout > 0 && !of->trained && of->dim > 0;
    struct og_side s = {
        .dropped = drops ? og__suballoc_floats(k->arena, n, og__dropped_width(of->dim, of->entries))
                         : NULL};
    struct og_rooms room = {0};
    if (of->trained && !of->stored)
        og__suballoc_numbers(k->ops, n, k->numbers, k->arena, &s.number);
    else if (!k->n->rows_come)
        og__suballoc_rooms(k->ops, &(struct og_room_sizes){.rows = n * (uint64_t)of->dim}, k->arena,
                           &room);
    s.room = room.rows;
    uint64_t most = of->trained ? n * (uint64_t)of->dim : 0;
    for (int l = 1; l < c->layers; l++)
        most = OG_MAX(most,
                      og__nodes_of(k->n->types, og__hop_of(c, l) + 1, type) * (uint64_t)c->hidden);
    if (k->training)
        s.grad = og__suballoc_floats(k->arena, most, 1);
    if (k->out)
        k->out->side[type] = s;
}

static void suballoc_end(const struct og_suballocation *k, int l, uint32_t type)
{
    const struct og_model_config end = og__type_config(k->config, type);
    const struct og_block nodes = {.n_dst =
                                       og__type_nodes(k->n->types, og__hop_of(k->config, l), type)};
    struct og_layer_work w = {0};
    if (og__mixes_seeds(k->config) && og__is_last(k->config, l))
        w.h = k->out ? seed_rows(k->out, k->out->of_seeds.rows, type) : NULL;
    else
        og__suballoc_end(&end, l, &nodes, k->training, k->arena, &w);
    if (!k->out)
        return;
    struct og_made *made = og__made_at(k->out, l, type);
    *made = (struct og_made){.nodes = nodes};
    w.block = &made->nodes;
    k->out->end[type].at.work[l] = w;
}

static void suballoc_layer(const struct og_suballocation *k, const struct og_live *live, int l)
{
    const struct og_model_config *c = k->config;
    for (uint32_t r = 0; r < c->types->n_relations; r++) {
        struct og_layer_work w;
        const struct og_block b = block_of(c, k->n->types, l, r);
        const struct og_model_config part = og__relation_config(c, r);
        if (!live->of[l][r])
            continue;
        og__suballoc_conv(&part, l, &b, k->training, k->arena, &w);
        w.block = k->out ? &k->out->block[r] : NULL;
        if (k->out)
            k->out->part[r].at.work[l] = w;
    }
    for (uint32_t t = 0; t < c->types->n_types; t++)
        if (live->end[l][t])
            suballoc_end(k, l, t);
}

/* Bytes of partial sums of gradients of a type's end. */
static size_t end_partial(const struct og_suballocation *k, int l, uint32_t type)
{
    const struct og_model_config end = og__type_config(k->config, type);
    const uint32_t n = og__type_nodes(k->n->types, og__hop_of(k->config, l), type);
    const int out = og__layer_out(&end, l);
    size_t most = 0;
    if (end.residual)
        most = k->ops->partial_bytes(n, out, (uint64_t)og__layer_in(&end, l));
    if (og__finishes(&end, l))
        most = OG_MAX(most, k->ops->column_bytes(n, 2 * (size_t)out));
    return most;
}

/* Memory that relations use one after another in the backward pass: the largest of each. */
static void suballoc_shared(const struct og_suballocation *k, const struct og_live *live,
                            struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    size_t partial = og__of_pairs(c) ? og__pair_partial_bytes(k->ops, c, &pairs) : 0;
    size_t n_src = 0;
    size_t n_edges = 0;
    size_t attended = 0;
    for (int l = 0; l < c->layers; l++) {
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n->types, l, r);
            const struct og_model_config part = og__relation_config(c, r);
            if (!live->of[l][r])
                continue;
            partial = OG_MAX(partial, og__partial_bytes(k->ops, &part, l, &b));
            n_src = OG_MAX(n_src, (size_t)b.n_src + 1);
            n_edges = OG_MAX(n_edges, (size_t)b.n_edges);
            if (og__may_write_input(&part, l) && (l > 0 || part.trains_input))
                attended = OG_MAX(attended, b.n_src * (size_t)og__layer_in(&part, l));
        }
        for (uint32_t t = 0; t < c->types->n_types; t++)
            partial = OG_MAX(partial, end_partial(k, l, t));
    }
    og__suballoc_back(k, partial, n_src, n_edges, count_seeds(k), out);
    if (attended > 0)
        out->dz = og__suballoc_floats(k->arena, attended, 1);
}

/* Rows of seeds of all types, and their order; before the memory of ends, which is in them. */
static void suballoc_mixed(const struct og_suballocation *k, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const uint64_t n = count_seeds(k);
    struct og_ends_of_seeds s = {
        .rows = og__suballoc_floats(k->arena, n, og__model_width(c)),
        .grad = k->training ? og__suballoc_floats(k->arena, n, og__model_width(c)) : NULL};
    og__suballoc_numbers(k->ops, n, k->numbers, k->arena, &s.place);
    og__suballoc_numbers(k->ops, n, k->numbers, k->arena, &s.seed);
    out->work[c->layers - 1].h = og__suballoc_floats(k->arena, n, og__model_width(c));
    if (k->out)
        k->out->of_seeds = s;
}

static struct og_most largest_of(const struct og_suballocation *k)
{
    const struct og_model_config *c = k->config;
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    struct og_most most = {.width = 1};
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n->types, l, r);
            const struct og_model_config part = og__relation_config(c, r);
            og__most_of_block(&part, l, &b, k->training, &most);
        }
    most.rows = OG_MAX(most.rows, count_seeds(k));
    most.counted = OG_MAX(most.counted, count_seeds(k));
    if (og__of_pairs(c))
        og__most_of_pairs(&pairs, k->training, &most);
    return most;
}

void og__suballoc_relations(const struct og_suballocation *k, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const struct og_live live = og__live_relations(c);
    const struct og_most most = largest_of(k);
    const struct og_pair_counts pairs = og__pairs_of(k->n);
    const uint64_t items = og__items_of(c, count_seeds(k), k->n);
    const struct og_room_sizes room = {
        .targets = og__targets_of(c, items), .pairs = k->n->n_scores, .relations = k->n->n_scores};
    out->scratch_bytes = k->ops->scratch_bytes(&most, k->threads);
    out->scratch = og__suballoc(k->arena, out->scratch_bytes);
    out->loss_blocks = og__suballoc(k->arena, og__n_blocks(items) * sizeof(*out->loss_blocks));
    og__suballoc_rooms(k->ops, &room, k->arena, &out->room);
    if (og__mixes_seeds(c))
        suballoc_mixed(k, out);
    if (og__of_pairs(c))
        og__suballoc_pairs(c, count_seeds(k), &pairs, k->training, k->arena, out);
    suballoc_batch(k);
    for (uint32_t t = 0; t < c->types->n_types; t++)
        suballoc_side(k, t);
    for (int l = 0; l < c->layers; l++)
        suballoc_layer(k, &live, l);
    if (k->training)
        suballoc_shared(k, &live, out);
    if (!k->out)
        return;
    for (uint32_t r = 0; r < c->types->n_relations; r++) {
        struct og_workspace *part = &k->out->part[r].at;
        part->back_indptr = out->back_indptr;
        part->back_col = out->back_col;
        part->back_edge = out->back_edge;
        part->dz = out->dz;
    }
}

const struct og_type_counts *og__relational_counts(const struct og_relational *d)
{
    return &d->at;
}

struct og_type_counts *og__relational_most(struct og_relational *d)
{
    return &d->most;
}
