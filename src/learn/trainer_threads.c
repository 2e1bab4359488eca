/* Trainers that are groups of threads: a copy of the mini-batch, a model without moments, a pool.
 */
#include "learn/targets.h"
#include "learn/trainer_kind.h"
#include "nn/shape.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATIONS "activations"

struct group {
    const struct og_workload *workload;
    struct og_device_rows *rows; /* or NULL */
    struct og_edge_rows *edges;  /* or NULL */
    struct og_pool *pool;
    struct og_model *model;
    struct og_arena copy; /* of the mini-batch: */
    struct og_work work;
    struct og_rows view; /* of its rows, where they are of one group */
    const void *targets;
    struct og_step key;
};

/* ---- what one takes ---- */

/* Gradients without moments. */
enum { OPTIMIZER = OG_OPTIMIZER_SGD };

/* Sizes of a copy. */
struct extent {
    struct og_batch_caps caps;
    size_t rows, labels; /* bytes, rows with the padding between those of types; 0: on the device */
    uint32_t n_types;    /* 0: of one */
    bool ids;            /* are they looked at? */
    uint32_t n_edge_rows; /* relations whose edges have rows */
};

/* With relations, lists have the relation of their edges, and pairs have it too. */
static size_t related_bytes(const struct extent *e)
{
    const uint32_t n = e->caps.n_hops;
    size_t sum = og__arena_room(e->n_types * sizeof(struct og_rows)) +
                 og__arena_room(e->caps.n_pairs * sizeof(uint32_t));
    for (uint32_t h = 0; h < n; h++)
        sum += og__arena_room((e->caps.n_relations + (size_t)1) * sizeof(uint32_t)) +
               og__arena_room(e->caps.hop[h].n_lists * sizeof(uint32_t)) +
               og__arena_room((e->caps.hop[h].n_lists + 1) * sizeof(uint32_t));
    return sum;
}

static size_t copy_bytes(const struct extent *e)
{
    size_t sum = og__arena_room(e->rows) + og__arena_room(e->labels) +
                 2 * og__arena_room(e->caps.n_pairs * sizeof(uint32_t));
    for (uint32_t h = 0; h < e->caps.n_hops; h++) {
        const size_t edges = e->caps.hop[h].n_edges, sources = e->caps.hop[h].n_src;
        sum += og__arena_room((e->caps.hop[h].n_dst + 1) * sizeof(uint32_t)) +
               og__arena_room(edges * sizeof(uint32_t)) + og__arena_room(edges * sizeof(float)) +
               og__arena_room(sources * sizeof(uint32_t));
    }
    for (uint32_t h = 0; e->n_edge_rows > 0 && h < e->caps.n_hops; h++)
        sum += og__arena_room(e->caps.hop[h].n_edges * sizeof(uint32_t));
    if (e->n_edge_rows > 0) /* views of groups */
        sum += og__arena_room((e->n_edge_rows + 1) * sizeof(struct og_rows));
    if (e->ids)
        sum += og__arena_room(e->caps.hop[e->caps.n_hops - 1].n_src * sizeof(uint32_t));
    return sum + (e->caps.n_relations > 0 ? related_bytes(e) : 0);
}

/* Models find types by ids, or what is known of the weights of their edges. */
static bool needs_ids(const struct og_workload *f)
{
    return og__types_of(&f->shape) > 0 || og__model_sums_weights(&f->shape);
}

static uint32_t edge_groups(const struct og_workload *f)
{
    return f->row_graph->n_groups - f->graph->n_groups;
}

static size_t most_copied(const struct og_workload *f)
{
    const struct extent most = {
        .caps = f->caps,
        .rows = f->caps.rows_come ? 0 : f->bytes.input + f->row_graph->n_groups * og__arena_room(1),
        .labels = og__targets_bytes(f),
        .n_types = og__types_of(&f->shape),
        .ids = needs_ids(f),
        .n_edge_rows = edge_groups(f)};
    return copy_bytes(&most);
}

static size_t model_bytes(const struct og_nn_ops *ops, const struct og_workload *f)
{
    return og__model_bytes(ops, &f->shape, OPTIMIZER);
}

static size_t activation_bytes(const struct og_nn_ops *ops, const struct og_workload *f,
                               int threads)
{
    return og__model_workspace_bytes(ops, &f->shape, &f->caps, true, threads) + most_copied(f);
}

/* ---- a copy of a mini-batch ---- */

static void *copied(struct og_arena *arena, const void *from, size_t bytes)
{
    if (!from)
        return NULL;
    void *to = og__arena_take(arena, bytes);
    return memcpy(to, from, bytes);
}

static void copy_block(struct og_arena *arena, const struct og_block *from, struct og_block *to)
{
    const size_t beyond = from->n_src - from->n_dst;
    *to = *from;
    to->indptr =
        copied(arena, from->indptr, (og__lists_of(from) + (size_t)1) * sizeof(*to->indptr));
    to->dst = copied(arena, from->dst, from->n_lists * sizeof(*to->dst));
    to->relation =
        copied(arena, from->relation, (from->n_relations + (size_t)1) * sizeof(*to->relation));
    to->src = copied(arena, from->src, from->n_edges * sizeof(*to->src));
    to->degree = copied(arena, from->degree, beyond * sizeof(*to->degree));
    to->weight = copied(arena, from->weight, from->n_edges * sizeof(*to->weight));
    to->edge = copied(arena, from->edge, from->n_edges * sizeof(*to->edge));
}

enum { TASK_ROWS = 4096 };

struct copying {
    const struct og_rows *from;
    char *to;
};

static void copy_rows(void *arg, size_t task, int thread)
{
    const struct copying *c = arg;
    const uint32_t first = (uint32_t)task * TASK_ROWS;
    const uint32_t last = OG_MIN(c->from->n - first, (uint32_t)TASK_ROWS) + first;
    (void)thread;
    og__rows_copy(c->from, first, last, c->to);
}

/* Rows, consecutive: a view of the cache would change with it. */
static void gather_rows(struct og_arena *arena, const struct og_rows *from, struct og_rows *to,
                        struct og_pool *pool)
{
    *to = (struct og_rows){.stride = og__row_length(from),
                           .n = from->n,
                           .dim = from->dim,
                           .dtype = from->dtype,
                           .sparse = from->sparse,
                           .scale = from->scale};
    struct copying c = {from, og__arena_take(arena, from->n * to->stride)};
    to->base = c.to;
    og__pool_run(pool, (from->n + (size_t)TASK_ROWS - 1) / TASK_ROWS, copy_rows, &c);
}

/* A view per type, in a heterogeneous graph. What is on the device stays where it is. */
static const struct og_rows *gather_all(struct group *to, const struct og_work *w,
                                        struct og_pool *pool)
{
    const uint32_t n = to->workload->row_graph->n_groups;
    if (to->rows)
        return w->rows;
    struct og_rows *rows = n > 1 ? og__arena_take(&to->copy, n * sizeof(*rows)) : &to->view;
    for (uint32_t k = 0; k < n; k++)
        gather_rows(&to->copy, &w->rows[k], &rows[k], pool);
    return rows;
}

static size_t rows_bytes(const struct og_workload *f, const struct og_work *w)
{
    size_t sum = 0;
    for (uint32_t k = 0; !f->caps.rows_come && k < f->row_graph->n_groups; k++)
        sum += og__arena_room(w->rows[k].n * og__row_length(&w->rows[k]));
    return sum;
}

static struct extent extent_of(const struct og_workload *f, const struct og_work *w)
{
    struct extent e = {.caps = {.n_hops = w->sampled.batch.n_hops},
                       .rows = rows_bytes(f, w),
                       .n_types = og__types_of(&f->shape),
                       .ids = needs_ids(f),
                       .n_edge_rows = edge_groups(f)};
    og__caps_include(&e.caps, &w->sampled.batch);
    if (f->seeds.edges)
        e.caps.n_pairs = w->seeds.pairs.n;
    e.labels = og__seed_targets_bytes(f, w->descriptor.n_seeds);
    return e;
}

/* One larger than was planned is taken as far as the budget goes. */
static int make_room(struct og_arena *arena, size_t bytes, struct og_err *err)
{
    og__arena_rewind(arena, 0);
    if (bytes <= arena->cap)
        return 0;
    const struct og_memory memory = arena->memory;
    og__arena_release(arena);
    return og__arena_init(arena, memory, bytes, ACTIVATIONS, err);
}

static int bring(void *self, const struct og_work *w, const struct og_steps *steps, int ended,
                 struct og_pool *pool, struct og_err *err)
{
    struct group *to = self;
    const struct og_workload *f = to->workload;
    const struct extent e = extent_of(f, w);
    struct og_work *own = &to->work;
    int rc;
    OG_TRY(make_room(&to->copy, copy_bytes(&e), err));
    *own = *w;
    own->sampled.batch.ids =
        e.ids ? copied(&to->copy, w->sampled.batch.ids, w->sampled.batch.n_ids * sizeof(uint32_t))
              : NULL;
    for (uint32_t h = 0; h < w->sampled.batch.n_hops; h++)
        copy_block(&to->copy, &w->sampled.batch.hop[h], &own->sampled.batch.hop[h]);
    own->rows = gather_all(to, w, pool);
    if (f->seeds.edges) {
        const struct og_pairs *pairs = &w->seeds.pairs;
        own->seeds.pairs.a = copied(&to->copy, pairs->a, pairs->n * sizeof(*pairs->a));
        own->seeds.pairs.b = copied(&to->copy, pairs->b, pairs->n * sizeof(*pairs->b));
        own->seeds.pairs.relation =
            copied(&to->copy, pairs->relation, pairs->n * sizeof(*pairs->relation));
    }
    to->targets = og__work_targets(f, own, og__arena_take(&to->copy, e.labels));
    to->key =
        (struct og_step){(uint64_t)steps->opt->seed, w->descriptor.epoch, w->descriptor.batch};
    OG_TRY(og__steps_show(steps, ended, to->model, err));
    if (to->rows)
        og__device_rows_keep(to->rows, w);
out:
    return rc;
}

/* ---- computing it ---- */

static int compute(void *self, struct og_part *part, struct og_err *err)
{
    struct group *own = self;
    const double start = og__now();
    *part = (struct og_part){.work = &own->work, .model = own->model};
    int rc = og__model_part(own->model, &own->work.sampled.batch, own->work.rows,
                            og__learner_view(own->edges, own->workload, own->work.rows),
                            own->targets, &own->key, &part->metrics, err);
    if (own->rows)
        og__device_rows_done(own->rows, &own->work, og__model_backend(own->model));
    part->seconds = og__now() - start;
    return rc;
}

/* ---- one of them ---- */

static int open_group(void **self, const struct og_trainer_given *g, struct og_err *err)
{
    const struct og_workload *f = g->workload;
    struct group *own = *self = calloc(1, sizeof(*own));
    if (!own)
        return og__fail_errno(err, -ENOMEM, NULL, "trainers");
    own->workload = f;
    own->rows = g->rows;
    OG_DO(og__learner_edges(&own->edges, f, err));
    OG_DO(og__pool_open(&own->pool, g->threads, err));
    OG_DO(og__model_create_on(&own->model, g->learner->ops, g->device, &f->shape, OPTIMIZER, 0,
                              own->pool, g->budget, err));
    OG_DO(og__model_bound(own->model, g->bound, err));
    if (g->rows)
        OG_DO(og__device_rows_join(g->rows, g->keeper, og__model_backend(own->model), err));
    OG_DO(og__model_reserve(own->model, &f->caps, true, err));
    return og__arena_init(&own->copy, og__host_memory(g->budget), most_copied(f), ACTIVATIONS, err);
}

static void close_group(void *self)
{
    struct group *own = self;
    if (!own)
        return;
    og__model_free(own->model);
    og__arena_release(&own->copy);
    og__pool_close(own->pool);
    free(own->edges);
    free(own);
}

const struct og_trainer_kind og__trainer_threads = {.name = "threads",
                                                    .model_bytes = model_bytes,
                                                    .activation_bytes = activation_bytes,
                                                    .open = open_group,
                                                    .close = close_group,
                                                    .bring = bring,
                                                    .compute = compute};
