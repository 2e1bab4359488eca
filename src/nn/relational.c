#include "nn/relational.h"

#include <stdlib.h>
#include <string.h>

/* ==== by the configuration alone ==== */

static bool has_rows(const struct og_graph_types *g, uint32_t type)
{
    return g->type[type].dim > 0;
}

/* Where both ends have rows: then the destination has some behind the layer. */
static void live_forwards(const struct og_model_config *c, struct og_live *live)
{
    const struct og_graph_types *g = c->types;
    bool rows[OG_MAX_HOPS + 1][OG_MOST_TYPES] = {{false}};
    for (uint32_t t = 0; t < g->n_types; t++)
        rows[0][t] = has_rows(g, t);
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < g->n_relations; r++) {
            const struct og_graph_relation *of = &g->relation[r];
            live->of[l][r] = rows[l][of->source] && rows[l][of->destination];
            rows[l + 1][of->destination] |= live->of[l][r];
        }
}

struct og_live og__live_relations(const struct og_model_config *c)
{
    const struct og_graph_types *g = c->types;
    struct og_live live = {{{false}}};
    bool looked_at[OG_MAX_HOPS + 1][OG_MOST_TYPES] = {{false}};
    live_forwards(c, &live);
    looked_at[c->layers][g->target] = true;
    for (int l = c->layers - 1; l >= 0; l--)
        for (uint32_t r = 0; r < g->n_relations; r++) {
            const struct og_graph_relation *of = &g->relation[r];
            live.of[l][r] &= looked_at[l + 1][of->destination];
            looked_at[l][of->source] |= live.of[l][r];
            looked_at[l][of->destination] |= live.of[l][r];
        }
    return live;
}

struct og_model_config og__relation_config(const struct og_model_config *c, uint32_t relation)
{
    const struct og_graph_relation *of = &c->types->relation[relation];
    const struct og_graph_type *source = &c->types->type[of->source];
    const struct og_graph_type *own = &c->types->type[of->destination];
    struct og_model_config part = *c;
    part.types = NULL;
    part.in_dim = source->dim;
    part.own_dim = own->dim;
    part.apart = of->source != of->destination;
    part.trains_input = source->trained || own->trained;
    return part;
}

static bool same_width(const struct og_graph_types *g, uint32_t relation)
{
    const struct og_graph_relation *of = &g->relation[relation];
    return g->type[of->source].dim == g->type[of->destination].dim;
}

int og__relational_check(const struct og_model_config *c, struct og_err *err)
{
    const struct og_graph_types *g = c->types;
    const struct og_live live = og__live_relations(c);
    const char *hint = "leave it out";
    if (!og__conv_of(c)->by_relation)
        return og__fail(err, -ENOTSUP, "use --model sage, with --aggregator mean or max, or gin",
                        "--model %s%s: it has no convolution of a relation yet",
                        og__model_words[c->kind],
                        c->kind == OG_MODEL_SAGE ? " --aggregator gcn" : "");
    if (c->residual)
        return og__fail(err, -ENOTSUP, hint, "--residual: not where nodes have types yet");
    if (c->norm != OG_NORM_NONE)
        return og__fail(err, -ENOTSUP, hint, "--norm: not where nodes have types yet");
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (og__conv_of(c)->perceptron && live.of[0][r] && !same_width(g, r))
            return og__fail(err, -EINVAL, "use --model sage, or features of one width",
                            "--model %s: it adds rows of %s to those of %s, which are of another "
                            "width",
                            og__model_words[c->kind], g->type[g->relation[r].source].name,
                            g->type[g->relation[r].destination].name);
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (live.of[c->layers - 1][r])
            return 0;
    return og__fail(err, -EINVAL,
                    "import it with --reverse-relations, or give types without features a trained "
                    "--embedding",
                    "type %s: no relation between types with features ends there",
                    g->type[g->target].name);
}

/* ==== what there is ==== */

/* Of one type, behind one layer. */
struct made {
    float *y, *h; /* [nodes of the hop, F_out]; y: what relations add up to, may be h */
    bool begun;   /* there is something in y */
};

struct og_relational {
    struct og_model *whole;
    const struct og_graph_types *types;
    struct og_live live;
    struct og_model *part; /* [n_relations] */
    struct og_param **row; /* [n_types] parameters that are the type's rows; NULL: it has others */
    struct og_type_counts most, at; /* what the workspace was taken for; of the batch at hand */
    /* the batch at hand */
    const struct og_batch *batch;
    struct og_step step;    /* of its dropout */
    uint32_t *local;        /* [n_ids] see by_type.h */
    uint32_t *indptr, *src; /* of the block at hand */
    struct og_block *block; /* [n_relations] */
    struct made *made;      /* [layers][n_types] */
    struct side {
        struct og_rows input;
        float *dropped;   /* what dropout leaves of it; NULL: none */
        uint32_t *number; /* rows of the parameter that is its rows */
        float *grad;      /* of the layer's input; */
        bool begun;       /* there is something in it */
    } * side;             /* [n_types] */
};

static struct made *made_at(const struct og_relational *d, int l, uint32_t type)
{
    return &d->made[(size_t)l * d->types->n_types + type];
}

static uint32_t hop_of(const struct og_model_config *c, int l)
{
    return (uint32_t)(c->layers - 1 - l);
}

static const struct og_ends ends_of_relations;

int og__relational_open(struct og_relational **out, struct og_model *whole, struct og_err *err)
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
    d->part = calloc(g->n_relations, sizeof(*d->part));
    d->block = calloc(g->n_relations, sizeof(*d->block));
    d->row = calloc(g->n_types, sizeof(*d->row));
    d->side = calloc(g->n_types, sizeof(*d->side));
    d->made = calloc((size_t)c->layers * g->n_types, sizeof(*d->made));
    if (!d->part || !d->block || !d->row || !d->side || !d->made)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "model"));
    for (uint32_t r = 0; r < g->n_relations; r++)
        d->part[r] = (struct og_model){.config = og__relation_config(c, r),
                                       .ops = whole->ops,
                                       .backend = whole->backend,
                                       .ends = &ends_of_relations,
                                       .whole = whole,
                                       .relation = r};
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
    free(d->part);
    free(d->block);
    free(d->row);
    free(d->side);
    free(d->made);
    free(d);
}

struct og_model *og__relation_model(struct og_relational *d, uint32_t relation)
{
    return &d->part[relation];
}

void og__name_of_relation(const struct og_model *part, const char *module, int layer,
                          const char *name, char *out, size_t bytes)
{
    const struct og_graph_types *g = part->whole->config.types;
    const struct og_graph_relation *r = &g->relation[part->relation];
    const int head = snprintf(out, bytes, "%s.%d.%s.<", module, layer, module);
    snprintf(out + head, bytes - (size_t)head, "%s___%s___%s>", g->type[r->source].name, r->name,
             g->type[r->destination].name);
    for (char *c = out + head; *c; c++)
        if (*c == '.')
            *c = '#';
    const size_t used = strlen(out);
    snprintf(out + used, bytes - used, ".%s", name);
}

void og__relational_train_rows(struct og_relational *d, uint32_t type, struct og_param *p)
{
    d->row[type] = p;
}

/* ==== memory of a batch ==== */

static uint32_t nodes_of(const struct og_type_counts *n, uint32_t hop, uint32_t type)
{
    return (uint32_t)og__nodes_of(n, hop, type);
}

/* A relation of a layer, without its lists. */
static struct og_block block_of(const struct og_model_config *c, const struct og_type_counts *n,
                                int l, uint32_t relation)
{
    const struct og_graph_relation *of = &c->types->relation[relation];
    const uint32_t hop = hop_of(c, l);
    return (struct og_block){.n_dst = nodes_of(n, hop, of->destination),
                             .n_src = nodes_of(n, hop + 1, of->source),
                             .n_edges = og__edges_of(n, hop, relation)};
}

static float *take_floats(struct og_arena *arena, uint64_t rows, int cols)
{
    return og__carve(arena, (size_t)rows * (size_t)cols * sizeof(float));
}

/* What it is carved by. out NULL: only counts. */
struct carving {
    const struct og_nn_ops *ops;
    const struct og_model_config *config;
    const struct og_live *live;
    const struct og_type_counts *n;
    bool training;
    struct og_arena *arena;
    struct og_relational *out;
};

static void carve_batch(const struct carving *k)
{
    const struct og_model_config *c = k->config;
    size_t n_ids = 0;
    size_t n_dst = 0;
    size_t n_edges = 0;
    for (uint32_t t = 0; t < c->types->n_types; t++)
        n_ids += nodes_of(k->n, (uint32_t)c->layers, t);
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n, l, r);
            n_dst = OG_MAX(n_dst, (size_t)b.n_dst);
            n_edges = OG_MAX(n_edges, (size_t)b.n_edges);
        }
    uint32_t *local = og__carve(k->arena, n_ids * sizeof(*local));
    uint32_t *indptr = og__carve(k->arena, (n_dst + 1) * sizeof(*indptr));
    uint32_t *src = og__carve(k->arena, n_edges * sizeof(*src));
    if (!k->out)
        return;
    k->out->local = local;
    k->out->indptr = indptr;
    k->out->src = src;
}

/* Features as dropout leaves them, and numbers of trained rows. */
static void carve_side(const struct carving *k, uint32_t type)
{
    const struct og_model_config *c = k->config;
    const struct og_graph_type *of = &c->types->type[type];
    const uint64_t n = og__nodes_of(k->n, (uint32_t)c->layers, type);
    const bool drops = k->training && c->input_dropout > 0 && !of->trained && of->dim > 0;
    struct side s = {.dropped = drops ? take_floats(k->arena, n, of->dim) : NULL,
                     .number = of->trained ? og__carve(k->arena, n * sizeof(*s.number)) : NULL};
    uint64_t most = of->trained ? n * (uint64_t)of->dim : 0;
    for (int l = 1; l < c->layers; l++)
        most = OG_MAX(most, og__nodes_of(k->n, hop_of(c, l) + 1, type) * (uint64_t)c->hidden);
    if (k->training)
        s.grad = take_floats(k->arena, most, 1);
    if (k->out)
        k->out->side[type] = s;
}

static void carve_layer(const struct carving *k, int l)
{
    const struct og_model_config *c = k->config;
    const bool elu = og__conv_of(c)->elu && !og__is_last(c, l);
    for (uint32_t r = 0; r < c->types->n_relations; r++) {
        struct og_layer_work w;
        const struct og_block b = block_of(c, k->n, l, r);
        const struct og_model_config part = og__relation_config(c, r);
        if (!k->live->of[l][r])
            continue;
        og__carve_conv(&part, l, &b, k->training, k->arena, &w);
        w.block = k->out ? &k->out->block[r] : NULL;
        if (k->out)
            k->out->part[r].at.work[l] = w;
    }
    for (uint32_t t = 0; t < c->types->n_types; t++) {
        const uint64_t n = og__nodes_of(k->n, hop_of(c, l), t);
        float *h = take_floats(k->arena, n, og__layer_out(c, l));
        float *y = elu && k->training ? take_floats(k->arena, n, og__layer_out(c, l)) : h;
        if (k->out)
            *made_at(k->out, l, t) = (struct made){.y = y, .h = h};
    }
}

/* What relations need one after another on the way back: the largest of each. */
static void carve_shared(const struct carving *k, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    size_t partial = 0;
    size_t n_src = 0;
    size_t n_edges = 0;
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n, l, r);
            const struct og_model_config part = og__relation_config(c, r);
            if (!k->live->of[l][r])
                continue;
            partial = OG_MAX(partial, og__partial_bytes(k->ops, &part, l, &b));
            n_src = OG_MAX(n_src, (size_t)b.n_src + 1);
            n_edges = OG_MAX(n_edges, (size_t)b.n_edges);
        }
    out->partial = og__carve(k->arena, partial);
    out->back_indptr = og__carve(k->arena, n_src * sizeof(*out->back_indptr));
    out->back_col = og__carve(k->arena, n_edges * sizeof(*out->back_col));
    if (og__conv_of(c)->attends)
        out->back_edge = og__carve(k->arena, n_edges * sizeof(*out->back_edge));
    out->dlogits = take_floats(k->arena, og__nodes_of(k->n, 0, c->types->target), c->n_classes);
}

static struct og_most largest_of(const struct carving *k)
{
    const struct og_model_config *c = k->config;
    struct og_most most = {.width = 1};
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < c->types->n_relations; r++) {
            const struct og_block b = block_of(c, k->n, l, r);
            const struct og_model_config part = og__relation_config(c, r);
            og__most_of_block(&part, l, &b, k->training, &most);
        }
    return most;
}

static void carve(const struct carving *k, int threads, struct og_workspace *out)
{
    const struct og_model_config *c = k->config;
    const struct og_most most = largest_of(k);
    *out = (struct og_workspace){.scratch_bytes = k->ops->scratch_bytes(&most, threads)};
    out->scratch = og__carve(k->arena, out->scratch_bytes);
    out->loss_blocks = og__carve(k->arena, og__n_blocks(og__nodes_of(k->n, 0, c->types->target)) *
                                               sizeof(*out->loss_blocks));
    carve_batch(k);
    for (uint32_t t = 0; t < c->types->n_types; t++)
        carve_side(k, t);
    for (int l = 0; l < c->layers; l++)
        carve_layer(k, l);
    if (k->training)
        carve_shared(k, out);
}

size_t og__relational_arena_bytes(const struct og_nn_ops *ops, const struct og_model_config *c,
                                  const struct og_type_counts *most, bool training, int threads)
{
    const struct og_live live = og__live_relations(c);
    struct og_arena counter = {0};
    struct og_workspace at;
    const struct carving k = {ops, c, &live, most, training, &counter, NULL};
    carve(&k, threads, &at);
    return counter.used;
}

int og__relational_reserve(struct og_model *m, const struct og_type_counts *most, bool training,
                           struct og_err *err)
{
    struct og_relational *d = m->relational;
    const size_t bytes = og__relational_arena_bytes(m->ops, &m->config, most, training, m->threads);
    og__arena_release(&m->workspace);
    if (most != &d->most)
        memcpy(d->most.nodes, most->nodes, most->bytes);
    m->training = training;
    return og__arena_init(&m->workspace, m->own, bytes, "activations", err);
}

/* ==== the batch at hand ==== */

static int check_rows(const struct og_model *m, const struct og_batch *batch,
                      const struct og_rows *x, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    if (batch->n_hops != (uint32_t)m->config.layers)
        return og__fail(err, -EINVAL, "one fanout a layer", "model: %d layers, a batch of %u hops",
                        m->config.layers, batch->n_hops);
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_graph_type *of = &d->types->type[t];
        if (of->dim == 0 || of->trained)
            continue;
        if (x[t].dim != of->dim || x[t].n < og__nodes_of(&d->at, batch->n_hops, t))
            return og__fail(err, -EINVAL, NULL,
                            "model: %u rows of width %d for %llu of width %d of type %s", x[t].n,
                            x[t].dim, (unsigned long long)og__nodes_of(&d->at, batch->n_hops, t),
                            of->dim, of->name);
    }
    return 0;
}

/* Sizes, memory, and what number each id has. */
static int begin_batch(struct og_model *m, const struct og_batch *batch, const struct og_rows *x,
                       struct og_err *err)
{
    struct og_relational *d = m->relational;
    int rc = 0;
    og__count_types(d->types, batch, NULL, &d->at);
    OG_TRY(check_rows(m, batch, x, err));
    const size_t need =
        og__relational_arena_bytes(m->ops, &m->config, &d->at, m->training, m->threads);
    if (!m->workspace.base || need > m->workspace.cap) { /* more of one type may be less in all */
        og__type_counts_include(&d->most, &d->at);
        OG_TRY(og__relational_reserve(m, &d->most, m->training, err));
    }
    og__arena_rewind(&m->workspace, 0);
    const struct carving k = {m->ops, &m->config, &d->live, &d->at, m->training, &m->workspace, d};
    carve(&k, m->threads, &m->at);
    m->ops->set_scratch(m->backend, m->at.scratch, m->at.scratch_bytes, m->at.partial);
    for (uint32_t r = 0; r < d->types->n_relations; r++) {
        d->part[r].at.back_indptr = m->at.back_indptr;
        d->part[r].at.back_col = m->at.back_col;
        d->part[r].at.back_edge = m->at.back_edge;
    }
    d->batch = batch;
    og__count_types(d->types, batch, d->local, &d->at);
    m->at.work[m->config.layers - 1].h = made_at(d, m->config.layers - 1, d->types->target)->h;
out:
    return rc;
}

/* Rows of a type that are parameters. */
static void number_rows(struct og_relational *d, uint32_t type)
{
    const struct og_param *p = d->row[type];
    const uint32_t first = og__first_id(d->types, type);
    const uint32_t end = d->types->type[type].end;
    struct side *s = &d->side[type];
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->batch->n_ids; i++)
        if (d->batch->ids[i] >= first && d->batch->ids[i] < end)
            s->number[n++] = d->batch->ids[i] - first;
    s->input = og__dense(p->value, n, (int)p->shape[1]);
    s->input.index = s->number;
}

static int take_inputs(struct og_model *m, const struct og_rows *x, const struct og_step *step,
                       struct og_err *err)
{
    struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        struct side *s = &d->side[t];
        const uint32_t n = nodes_of(&d->at, d->batch->n_hops, t);
        if (d->row[t]) {
            number_rows(d, t);
        } else if (has_rows(d->types, t)) {
            s->input = x[t];
            OG_TRY(og__drop_input(m, &s->input, n, step, OG__INPUT_KEY + OG__KEYS * t, s->dropped,
                                  err));
        }
    }
out:
    return rc;
}

/* What layer l reads of a type. */
static struct og_rows input_of(const struct og_relational *d, int l, uint32_t type)
{
    const struct og_model_config *c = &d->whole->config;
    if (l == 0)
        return d->side[type].input;
    return og__dense(made_at(d, l - 1, type)->h, nodes_of(&d->at, hop_of(c, l) + 1, type),
                     c->hidden);
}

/* The relation's block, and its convolution's rows; false: none of its destinations are there. */
struct turn {
    struct og_rows in, own;
};
static bool begin_turn(struct og_relational *d, int l, uint32_t relation, struct turn *turn)
{
    const struct og_graph_relation *of = &d->types->relation[relation];
    const uint32_t hop = hop_of(&d->whole->config, l);
    if (!d->live.of[l][relation] || og__nodes_of(&d->at, hop, of->destination) == 0)
        return false;
    og__relation_block(d->types, d->batch, hop, relation, d->local, &d->at, d->indptr, d->src,
                       &d->block[relation]);
    *turn = (struct turn){input_of(d, l, of->source), input_of(d, l, of->destination)};
    return true;
}

/* ==== forward ==== */

static void end_convolution(struct og_model *part, int l, struct og_rows in, struct og_affine *op)
{
    (void)in; /* no residual */
    const struct og_relational *d = part->whole->relational;
    struct made *to = made_at(d, l, d->types->relation[part->relation].destination);
    op->rows = part->at.work[l].block->n_dst;
    op->cols = part->layer[l].n_out;
    op->y = to->y;
    op->add = to->begun;
    to->begun = true;
}

static struct og_finish finish_of(const struct og_relational *d, int l, uint32_t type,
                                  const struct og_dropout *dropout)
{
    const struct og_model_config *c = &d->whole->config;
    const struct made *at = made_at(d, l, type);
    return (struct og_finish){.rows = nodes_of(&d->at, hop_of(c, l), type),
                              .cols = og__layer_out(c, l),
                              .norm = OG_NORM_NONE,
                              .activation = og__conv_of(c)->elu ? OG__ELU : OG__RELU,
                              .dropout = dropout->p > 0 ? dropout : NULL,
                              .y = at->y,
                              .h = at->h};
}

static struct og_dropout dropout_of(const struct og_relational *d, int l, uint32_t type,
                                    const struct og_step *step)
{
    return (struct og_dropout){d->whole->config.dropout, *step, (uint32_t)l + OG__KEYS * type};
}

/* Activation and dropout of what relations made in a type. */
static int finish_types(struct og_model *m, int l, const struct og_step *step, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        const struct og_dropout dropout = step ? dropout_of(d, l, t, step) : (struct og_dropout){0};
        const struct og_finish op = finish_of(d, l, t, &dropout);
        if (made_at(d, l, t)->begun)
            OG_TRY(m->ops->finish(m->backend, &op, err));
    }
out:
    return rc;
}

int og__relational_forward(struct og_model *m, const struct og_batch *batch,
                           const struct og_rows *x, const struct og_step *step, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc;
    OG_TRY(begin_batch(m, batch, x, err));
    OG_TRY(og__pack_weights(m, err));
    for (uint32_t r = 0; step && r < d->types->n_relations; r++)
        og__key_dropout(&d->part[r], step, OG__KEYS * r);
    d->step = step ? *step : (struct og_step){0};
    OG_TRY(take_inputs(m, x, step, err));
    for (int l = 0; l < m->config.layers; l++) {
        for (uint32_t r = 0; r < d->types->n_relations; r++)
            if (begin_turn(d, l, r, &turn))
                OG_TRY(og__convolve(&d->part[r], l, turn.in, turn.own, step, err));
        if (!og__is_last(&m->config, l))
            OG_TRY(finish_types(m, l, step, err));
    }
out:
    return rc;
}

/* ==== backward ==== */

/* Rows of a type that layer l reads have a gradient. */
static bool goes_to(const struct og_relational *d, int l, uint32_t type)
{
    return l > 0 || d->row[type];
}

static bool goes_back(const struct og_model *part, int l)
{
    return l > 0 || part->config.trains_input;
}

/* op, terms of the gradient of what layer l reads of a type, is added to the others. */
static int add_gradient(struct og_model *part, int l, uint32_t type, struct og_affine *op,
                        struct og_err *err)
{
    struct og_relational *d = part->whole->relational;
    struct side *to = &d->side[type];
    if (!goes_to(d, l, type))
        return 0;
    op->rows = nodes_of(&d->at, hop_of(&part->config, l) + 1, type);
    op->cols = input_of(d, l, type).dim;
    op->y = to->grad;
    op->add = to->begun;
    to->begun = true;
    return part->ops->affine(part->backend, op, err);
}

static int input_gradient(struct og_model *part, int l, const float *dy, struct og_affine *op,
                          struct og_err *err)
{
    (void)dy; /* no residual */
    const uint32_t source = part->whole->config.types->relation[part->relation].source;
    return add_gradient(part, l, source, op, err);
}

static int own_gradient(struct og_model *part, int l, struct og_affine *op, struct og_err *err)
{
    const uint32_t own = part->whole->config.types->relation[part->relation].destination;
    return add_gradient(part, l, own, op, err);
}

static const struct og_ends ends_of_relations = {.end = end_convolution,
                                                 .goes_back = goes_back,
                                                 .input_gradient = input_gradient,
                                                 .own_gradient = own_gradient};

static int clear_floats(struct og_model *m, float *there, size_t n, struct og_err *err)
{
    static const float zeros[1024];
    int rc = 0;
    for (size_t i = 0, some; i < n; i += some) {
        some = OG_MIN(n - i, OG_COUNT(zeros));
        OG_TRY(og__model_push(m, there + i, zeros, some * sizeof(*zeros), err));
    }
out:
    return rc;
}

/* Of a relation that had no turn. */
static int clear_gradients(struct og_model *part, int l, struct og_err *err)
{
    int rc = 0;
    for (int role = 0; role < OG__ROLES; role++) {
        const struct og_param *p = part->layer[l].param[role];
        if (p)
            OG_TRY(clear_floats(part->whole, p->grad, og__param_count(p), err));
    }
out:
    return rc;
}

/* The gradient of what a type's relations made, from that of its rows behind layer l. */
static int through_end(struct og_model *m, int l, uint32_t type, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    const struct side *s = &d->side[type];
    const struct og_dropout dropout = dropout_of(d, l, type, &d->step);
    const struct og_finish forward = finish_of(d, l, type, &dropout);
    const bool elu = forward.activation == OG__ELU;
    struct og_affine op = {.rows = forward.rows,
                           .cols = forward.cols,
                           .y = forward.h,
                           .gated = !elu,
                           .gate_scale = (float)(1 / (1 - m->config.dropout))};
    if (s->begun)
        op.input[op.n_inputs++] = og__weighted(og__dense(s->grad, forward.rows, forward.cols),
                                               forward.rows, NULL, OG__FORWARD);
    struct og_finish_back back = {.forward = &forward, .g = forward.h};
    int rc = m->ops->affine(m->backend, &op, err);
    return rc < 0 || !elu ? rc : m->ops->finish_back(m->backend, &back, err);
}

/* Rows that no batch has have none. */
static int row_gradients(struct og_model *m, uint32_t type, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    const struct side *s = &d->side[type];
    const struct og_param *p = d->row[type];
    const size_t dim = (size_t)p->shape[1];
    int rc = clear_floats(m, p->grad, og__param_count(p), err);
    for (uint32_t i = 0; rc == 0 && s->begun && i < s->input.n; i++)
        memcpy(p->grad + s->number[i] * dim, s->grad + i * dim, dim * sizeof(*p->grad));
    return rc;
}

static int end_gradients(struct og_model *m, int l, struct og_err *err)
{
    const struct og_relational *d = m->relational;
    int rc = 0;
    for (uint32_t t = 0; t < d->types->n_types; t++) {
        if (l == 0 && d->row[t])
            OG_TRY(row_gradients(m, t, err));
        if (l > 0 && made_at(d, l - 1, t)->begun)
            OG_TRY(through_end(m, l - 1, t, err));
        d->side[t].begun = false;
    }
out:
    return rc;
}

int og__relational_backward(struct og_model *m, struct og_err *err)
{
    struct og_relational *d = m->relational;
    struct turn turn;
    int rc = 0;
    for (int l = m->config.layers - 1; l >= 0; l--) {
        for (uint32_t r = 0; r < d->types->n_relations; r++) {
            struct og_model *part = &d->part[r];
            const uint32_t to = d->types->relation[r].destination;
            const float *dy = og__is_last(&m->config, l) ? m->at.dlogits : made_at(d, l, to)->h;
            if (begin_turn(d, l, r, &turn))
                OG_TRY(og__conv_of(&part->config)
                           ->steps->backward(part, l, turn.in, turn.own, dy, err));
            else
                OG_TRY(clear_gradients(part, l, err));
        }
        OG_TRY(end_gradients(m, l, err));
    }
out:
    return rc;
}
