#include "learn/learner.h"

#include "budget/device_plan.h"
#include "dataset/edge_labels.h"
#include "flow/data_path.h"
#include "nn/ops.h"
#include "nn/shape.h"
#include "nn/tasks.h"

#include "learn/checkpoint.h"
#include "learn/learnt_rows.h"
#include "learn/shares.h"
#include "learn/targets.h"
#include "learn/trainers.h"
#include "options/options.h"

#include <stdlib.h>

/* ---- before there is one ---- */

unsigned og__learner_wants(void)
{
    return og__nn_ops() ? OG__WANT_MODEL | OG__WANT_TRAINING : 0;
}

int og__learner_adopt(struct og_config *config, const struct og_options *requested,
                      struct og_err *err)
{
    if (!requested->init)
        return 0;
    int rc = og__checkpoint_sampler(requested->init, &config->opt, &config->log, err);
    if (rc < 0 || og__task(requested->task)->targets != OG__OF_PAIRS)
        return rc;
    return og__checkpoint_edges(requested->init, &config->opt, &config->log, err);
}

/* The input's width: the widest of several, or that to which a model that joins them brings all. */
static int width_of_input(const struct og_options *opt, const struct og_workload *f)
{
    const struct og_graph_types *g = og__types(&f->shape);
    int most = og__row_dim(f->graph->group);
    bool one = true;
    for (uint32_t t = 0; t < g->n_types; t++) {
        one &= g->type[t].dim == g->type[0].dim;
        most = OG_MAX(most, g->type[t].dim);
    }
    if (one || !og__model_joins(f->shape.kind))
        return most;
    return opt->embedding > 0 ? opt->embedding : opt->hidden;
}

/* The widest rows of edges that batches take; 0: none. */
static int width_of_edges(const struct og_workload *f)
{
    int most = 0;
    for (uint32_t r = 0; og__plans_units(f) && r < f->graph->n_relations; r++)
        most = OG_MAX(most, f->graph->relation[r].edges.dim);
    return most;
}

/* Where no model is made there may be no labels either, and one class does. */
static int classes_of(const struct og_config *config, const struct og_graph *ds)
{
    if (og__targets_of_task(config->opt.task) == OG__OF_PAIRS)
        return config->opt.hidden;
    return config->want & OG__WANT_MODEL ? ds->n_classes : OG_MAX(ds->n_classes, 1);
}

static struct og_model_config requested_shape(const struct og_config *config,
                                              const struct og_workload *f)
{
    const struct og_options *opt = &config->opt;
    const struct og_graph *ds = f->graph;
    return (struct og_model_config){.kind = opt->model,
                                    .layers = opt->layers,
                                    .hidden = opt->hidden,
                                    .n_classes = classes_of(config, ds),
                                    .task = opt->task,
                                    .decoder = opt->decoder,
                                    .loss = opt->loss,
                                    .dropout = opt->dropout,
                                    .input_dropout = opt->input_dropout,
                                    .attention_dropout = opt->attention_dropout,
                                    .multi_label = ds->multi_label,
                                    .shares = ds->shares,
                                    .heads = opt->heads,
                                    .aggregator = opt->aggregator,
                                    .bases = opt->bases,
                                    .norm = opt->norm,
                                    .residual = opt->residual};
}

bool og__reads_as_a_model(const struct og_config *c)
{
    const bool leaves = c->handover.n > 0 || c->want & OG__WANT_RECORD;
    return c->want & OG__WANT_MODEL || (c->want & OG__WANT_FEATURES && !leaves);
}

int og__learner_check_labels(const struct og_workload *f, const struct og_config *config,
                             const struct og_model_config *given, struct og_err *err)
{
    const unsigned both = config->want & (OG__WANT_MODEL | OG__WANT_EVERY);
    const bool reads = both == OG__WANT_MODEL && !og__task(config->opt.task)->embeds;
    if (given || !reads || f->graph->labels.fd >= 0)
        return given && reads ? og__targets_check(f->graph, given, err) : 0;
    return og__fail(err, -EINVAL,
                    "import the graph with a label.npy, or learn its edges: --task link",
                    "%s: has no labels to learn from", f->graph->path);
}

int og__learner_shape(struct og_workload *f, const struct og_config *config,
                      const struct og_model_config *given, struct og_err *err)
{
    const struct og_options *opt = &config->opt;
    const struct og_graph *ds = f->graph;
    f->shape = given ? *given : requested_shape(config, f);
    f->shape.types = f->types;
    if (!given || !og__model_joins(given->kind)) /* files say it of the first relation alone */
        f->shape.in_dim = width_of_input(opt, f);
    f->shape.entries = f->shape.own_entries =
        og__types_of(&f->shape) > 0 ? 0 : ds->group->sparse.longest;
    f->shape.multi_label = ds->multi_label;
    f->shape.shares = ds->shares;
    f->shape.task = opt->task;
    f->shape.loss = opt->loss;
    f->shape.gamma = opt->focal_gamma;
    f->shape.compute = opt->compute;
    f->shape.label_smoothing = opt->label_smoothing;
    f->shape.edge_weights = og__edge_weights(opt);
    f->shape.edge_dim = width_of_edges(f);
    if (given && og__types_of(&f->shape) == 0 && given->edge_dim != f->shape.edge_dim)
        return og__fail(err, -EINVAL, "use a checkpoint of this dataset",
                        "model: trained with features of edges of width %d, %s has %d",
                        given->edge_dim, ds->path, f->shape.edge_dim);
    f->shape.pair_dim = f->seeds.rule.labelled ? (int)og__edge_rows_dim(ds) : 0;
    if (given && f->seeds.rule.labelled && given->pair_dim != f->shape.pair_dim)
        return og__fail(err, -EINVAL, "use a checkpoint of this dataset",
                        "model: scores edges with %d features of their own, %s has %d",
                        given->pair_dim, ds->path, f->shape.pair_dim);
    if (given && og__types_of(&f->shape) == 0) /* else parameters are checked by type */
        OG_DO(og__features_check(given, ds->path, ds->group->dim, err));
    if (!og__reads_as_a_model(config))
        return 0;
    OG_DO(og__model_check(&f->shape, err));
    return og__model_check_graph(&f->shape, err);
}

unsigned og__learner_extras(const struct og_workload *f)
{
    return og__model_wants_degrees(&f->shape) ? OG__WITH_DEGREES : 0;
}

int og__learner_begin(struct og_learner *l, const struct og_config *config, struct og_pool *pool,
                      struct og_err *err)
{
    int rc;
    *l = (struct og_learner){.devices = og__devices(config)};
    if (og__has_tiers(config))
        l->devices.n = OG_MIN(l->devices.n, og__trainers_keepers(&config->opt));
    OG_TRY(og__nn_find(&l->ops, config->opt.device, err));
    OG_TRY(l->ops->check_compute(config->opt.compute, err));
    const char *remark = l->ops->compute_remark(config->opt.compute);
    if (remark && config->want & OG__WANT_TRAINING)
        og__say(&config->log, OG__INFO, "%s", remark);
    for (int i = 0; i < l->devices.n; i++)
        OG_TRY(og__nn_warm_up(l->ops, l->devices.number[i], pool, err));
out:
    return rc;
}

/* Several compute for the model, which then has no gradients of its own to compute. */
static bool has_trainers(const struct og_config *config)
{
    const struct og_trainers_setup s = og__trainers_setup(&config->opt);
    return config->want & OG__WANT_TRAINING && og__trainers_all(&s) > 0;
}

static void add_trainers(const struct og_learner *l, struct og_workload *f,
                         const struct og_options *opt)
{
    const struct og_trainers_setup s = og__trainers_setup(opt);
    f->bytes.model += og__trainers_model_bytes(l->ops, f, &s);
    f->bytes.activations += og__trainers_activation_bytes(l->ops, f, &s);
}

/* For a model with those gradients, or without; not counting what is the host's. */
static void add_on_device(struct og_device_use *t, const struct og_learner *l,
                          const struct og_workload *f, int optimizer, bool gradients, int threads)
{
    t->model += og__model_bytes(l->ops, &f->shape, optimizer);
    t->activations += og__model_workspace_bytes(l->ops, &f->shape, &f->caps, gradients, threads) -
                      l->ops->own_bytes(threads);
}

/* And what operators keep of the graph, the scales of features. */
static void add_library(struct og_device_use *t, const struct og_learner *l,
                        const struct og_workload *f)
{
    const size_t own = l->ops->device_own_bytes ? l->ops->device_own_bytes() : 0;
    size_t scales = 0;
    for (uint32_t k = 0; l->ops->constant && k < f->graph->n_groups; k++)
        if (og__row_scale(&f->graph->group[k]))
            scales += (size_t)f->graph->group[k].dim * sizeof(float);
    t->activations += own + scales;
    t->library += own + scales;
}

/* Rows that stay on devices without the model have a backend of their own there. */
struct og_device_use og__learner_device_use(const struct og_learner *l, const struct og_workload *f,
                                            const struct og_config *config, int k)
{
    const struct og_trainers_setup s = og__trainers_setup(&config->opt);
    const bool shared = has_trainers(config), trains = config->want & OG__WANT_TRAINING;
    const int threads = config->opt.threads;
    struct og_device_use t = {0};
    for (int i = k; shared && i < og__trainers_all(&s); i += l->devices.n) {
        t.trainers++;
        add_on_device(&t, l, f, OG_OPTIMIZER_SGD, true, threads);
        add_library(&t, l, f);
    }
    if (k == 0)
        add_on_device(&t, l, f, config->opt.optimizer, trains && !shared, threads);
    if (k == 0 && trains)
        t.model += og__shares_device_bytes(l->ops, &f->shape, (int)config->share.ranks);
    if (k == 0 || og__has_tiers(config))
        add_library(&t, l, f);
    return t;
}

/* What is on devices has a budget of its own (device_plan.h). Backends and rows count what they
 * take of the host's memory. */
static void set_apart(const struct og_learner *l, struct og_workload *f,
                      const struct og_config *config)
{
    const struct og_device_use first = og__learner_device_use(l, f, config, 0);
    const int n = l->devices.n;
    struct og_device_use trainer = {0};
    add_on_device(&trainer, l, f, OG_OPTIMIZER_SGD, true, config->opt.threads);
    add_library(&trainer, l, f);
    for (int k = 0; k < n; k++) {
        const struct og_device_use t = og__learner_device_use(l, f, config, k);
        f->bytes.model -= t.model;
        f->bytes.activations -= t.activations - t.library;
    }
    const size_t widths = f->n_groups;
    f->bytes.activations += (size_t)n * widths * l->ops->rows->host_bytes() +
                            (size_t)(n - 1) * l->ops->own_bytes(config->opt.threads);
    f->bytes.device_model = first.model;
    f->bytes.device_activations = first.activations;
    f->bytes.device_trainer = trainer.model + trainer.activations;
    f->first_trainers = first.trainers;
    f->keepers = n;
}

/* Training keeps the best parameters so far, those being written, and what steps are made of. */
void og__learner_sizes(const struct og_learner *l, struct og_workload *f,
                       const struct og_config *config)
{
    const bool training = config->want & OG__WANT_TRAINING;
    const bool alone = training && !has_trainers(config);
    const int ranks = (int)config->share.ranks;
    const size_t model = og__model_bytes(l->ops, &f->shape, config->opt.optimizer);
    f->bytes.model = model + (training ? model / 2 + og__steps_bytes(&f->shape, &config->opt) +
                                             og__shares_bytes(&f->shape, ranks) +
                                             og__shares_device_bytes(l->ops, &f->shape, ranks) +
                                             og__learnt_bytes(f)
                                       : 0);
    f->bytes.activations =
        og__model_workspace_bytes(l->ops, &f->shape, &f->caps, alone, config->opt.threads);
    if (config->want & OG__WANT_EVERY) /* whose logits go to a file, and hidden rows */
        f->bytes.activations += og__logits_bytes(f) + og__hidden_bytes(f);
    f->bytes.targets = og__targets_bytes(f);
    if (has_trainers(config))
        add_trainers(l, f, &config->opt);
    f->bytes.device_model = f->bytes.device_activations = f->bytes.device_trainer = 0;
    f->keepers = f->first_trainers = 0;
    if (og__has_tiers(config))
        set_apart(l, f, config);
}

/* ---- while there is one ---- */

/* bound: of a device's memory; 0 = none, and rows come from the host's. */
static int open_model(struct og_learner *l, const struct og_plan_inputs *p, bool gradients,
                      size_t bound, struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    const struct og_options *opt = &p->config->opt;
    struct og_batch_caps caps = p->workload->caps;
    caps.rows_come = bound > 0;
    OG_DO(og__model_create_on(&l->model, l->ops, l->devices.number[0], &p->workload->shape,
                              opt->optimizer, (uint64_t)opt->seed, pool, b, err));
    OG_DO(og__model_bound(l->model, bound, err));
    return og__model_reserve(l->model, &caps, gradients, err);
}

int og__learner_open(struct og_learner *l, const struct og_plan_inputs *p, struct og_pool *pool,
                     struct og_budget *b, struct og_err *err)
{
    const bool gradients = p->config->want & OG__WANT_TRAINING && !has_trainers(p->config);
    const size_t bound = og__device_plan(p).of_rows;
    const int rc = og__learner_edges(&l->edges, p->workload, err);
    return rc < 0 ? rc : open_model(l, p, gradients, bound, pool, b, err);
}

void og__learner_close(struct og_learner *l)
{
    og__model_free(l->model);
    l->model = NULL;
    free(l->edges);
    l->edges = NULL;
}

int og__learner_edges(struct og_edge_rows **room, const struct og_workload *f, struct og_err *err)
{
    if (!og__plans_units(f))
        return 0;
    *room = calloc(f->graph->n_relations, sizeof(**room));
    return *room ? 0 : og__fail_errno(err, -ENOMEM, NULL, "rows of edges");
}

const struct og_edge_rows *og__learner_view(struct og_edge_rows *room, const struct og_workload *f,
                                            const struct og_rows *rows)
{
    for (uint32_t r = 0; room && r < f->graph->n_relations; r++)
        room[r] = og__rows_of_edges(f, rows, r);
    return room;
}

/* What a step is timed on: a batch, rows that are all zero, any labels. */
struct timed {
    const struct og_plan_inputs *given;
    struct og_budget *budget;
    const struct og_batch *batch;
    const void *targets;
    struct og_pairs pairs;
    struct og_rows *rows;       /* one, or one per type in a heterogeneous graph */
    struct og_edge_rows *edges; /* NULL: none */
    uint32_t *index;
    void *labels;
    char *row;
};

static size_t widest_row(const struct og_workload *f)
{
    size_t most = 0;
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        most = OG_MAX(most, og__row_bytes(&f->graph->group[k]));
    for (uint32_t r = 0; r < f->graph->n_relations; r++)
        most = OG_MAX(most, og__row_bytes(&f->graph->relation[r].edges));
    return most;
}

static void name_rows(const struct timed *t)
{
    const struct og_workload *f = t->given->workload;
    const struct og_graph *g = f->graph;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        t->rows[k] = og__rows_of_group(&g->group[k]);
        t->rows[k].base = t->row;
        t->rows[k].index = t->index;
    }
    for (uint32_t i = 0; i < t->batch->n_ids; i++)
        t->rows[og__group_of(g, t->batch->ids[i])].n++;
    for (uint32_t r = 0; t->edges && r < g->n_relations; r++) /* all edges have one row */
        t->edges[r] = (struct og_edge_rows){.units = {.base = t->row,
                                                      .dim = g->relation[r].edges.dim,
                                                      .dtype = g->relation[r].edges.dtype},
                                            .rows = 1,
                                            .dim = g->relation[r].edges.dim};
}

static size_t index_bytes(const struct timed *t)
{
    return t->batch->n_ids * sizeof(*t->index);
}

static size_t labels_bytes(const struct timed *t)
{
    return og__seed_targets_bytes(
        t->given->workload, t->given->workload->seeds.edges ? t->pairs.n_edges : t->batch->n_seeds);
}

static void close_timed(struct timed *t)
{
    og__release(t->budget, t->index, index_bytes(t), "batches");
    og__release(t->budget, t->labels, labels_bytes(t), "batches");
    free(t->row);
    free(t->rows);
    free(t->edges);
}

static int open_timed(struct timed *t, const struct og_pairs *pairs, struct og_err *err)
{
    const struct og_workload *f = t->given->workload;
    if (f->seeds.edges)
        t->pairs = *pairs;
    t->index = og__alloc(t->budget, index_bytes(t), "batches", err);
    t->labels = og__alloc(t->budget, labels_bytes(t), "batches", err);
    t->row = calloc(1, OG_MAX(widest_row(f), (size_t)1));
    t->rows = calloc(OG_MAX(f->graph->n_groups, 1u), sizeof(*t->rows));
    if (og__plans_units(f) && !(t->edges = calloc(f->graph->n_relations, sizeof(*t->edges))))
        return og__fail_errno(err, -ENOMEM, NULL, "timing the model");
    t->targets = t->labels;
    if (f->seeds.edges) {
        t->pairs.targets = t->labels;
        t->pairs.own = og__own_rows_in(f, t->pairs.n_edges, t->labels);
        t->targets = &t->pairs;
    }
    if (!t->index || !t->labels)
        return -ENOMEM;
    if (!t->row || !t->rows)
        return og__fail_errno(err, -ENOMEM, NULL, "timing the model");
    name_rows(t);
    return 0;
}

static int time_step(const struct timed *t, struct og_model *model, double *seconds,
                     struct og_err *err)
{
    const struct og_step step = {1, 1, 0};
    const bool training = t->given->config->want & OG__WANT_TRAINING;
    struct og_metrics ignored = {0};
    const double start = og__now();
    int rc = training
                 ? og__model_gradients(model, t->batch, t->rows, t->edges, t->targets, &step,
                                       &ignored, err)
                 : og__model_forward(model, t->batch, t->rows, t->edges, t->targets, &ignored, err);
    *seconds = og__now() - start;
    return rc;
}

int og__learner_time(const struct og_learner *l, const struct og_plan_inputs *p,
                     const struct og_batch *batch, const struct og_pairs *pairs,
                     struct og_pool *pool, struct og_budget *b, double *seconds, struct og_err *err)
{
    struct og_learner own = {.ops = l->ops, .devices = l->devices};
    struct timed t = {.given = p, .budget = b, .batch = batch};
    int rc;
    OG_TRY(open_timed(&t, pairs, err));
    OG_TRY(open_model(&own, p, p->config->want & OG__WANT_TRAINING, 0, pool, b, err));
    OG_TRY(time_step(&t, own.model, seconds, err));
    OG_TRY(time_step(&t, own.model, seconds, err)); /* the second counts */
out:
    og__learner_close(&own);
    close_timed(&t);
    return rc;
}

/* ---- several at a time ---- */

enum { MOST_GROUPS = 64 };

struct group {
    struct timed *timed;
    pthread_barrier_t *together;
    struct og_learner own;
    struct og_pool *pool;
    pthread_t thread;
    double seconds; /* the better of two rounds */
    int rc;
    struct og_err err;
};

/* Whoever failed still waits for the others. */
static void *time_group(void *arg)
{
    struct group *g = arg;
    double first = 0;
    double second = 0;
    g->rc = time_step(g->timed, g->own.model, &first, &g->err);
    pthread_barrier_wait(g->together);
    if (g->rc == 0)
        g->rc = time_step(g->timed, g->own.model, &first, &g->err);
    pthread_barrier_wait(g->together);
    if (g->rc == 0)
        g->rc = time_step(g->timed, g->own.model, &second, &g->err);
    g->seconds = OG_MIN(first, second);
    return NULL;
}

/* All have models; *n_started of them are to be joined. */
static int run_groups(struct group *group, int n, double *seconds, struct og_err *err)
{
    pthread_barrier_t together;
    int rc = 0;
    int started = 0;
    *seconds = 0;
    if (pthread_barrier_init(&together, NULL, (unsigned)n) != 0)
        return og__fail_errno(err, -ENOMEM, NULL, "timing the model");
    for (; started < n; started++) {
        group[started].together = &together;
        if (pthread_create(&group[started].thread, NULL, time_group, &group[started]) != 0)
            break;
    }
    if (started < n) /* those that wait for it go on in its place */
        rc = og__fail(err, -EAGAIN, "lower --threads", "cannot start a thread");
    for (int round = 0; rc < 0 && round < 2; round++)
        for (int i = started; i < n; i++)
            pthread_barrier_wait(&together);
    for (int i = 0; i < started; i++) {
        pthread_join(group[i].thread, NULL);
        *seconds = OG_MAX(*seconds, group[i].seconds);
        if (group[i].rc < 0 && rc == 0)
            rc = og__fail(err, group[i].rc, group[i].err.hint, "%s", group[i].err.message);
    }
    pthread_barrier_destroy(&together);
    return rc;
}

int og__learner_time_groups(const struct og_learner *l, const struct og_plan_inputs *p,
                            const struct og_batch *batch, const struct og_pairs *pairs,
                            const struct og_groups *groups, struct og_budget *b, double *seconds,
                            struct og_err *err)
{
    const int n = OG_MIN(groups->n, (int)MOST_GROUPS);
    struct timed t = {.given = p, .budget = b, .batch = batch};
    struct group *group = calloc(MOST_GROUPS, sizeof(*group));
    int rc;
    OG_TRY(group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "timing the model"));
    OG_TRY(open_timed(&t, pairs, err));
    for (int i = 0; i < n; i++) {
        group[i].timed = &t;
        group[i].own.ops = l->ops;
        group[i].own.devices = (struct og_devices){1, {l->devices.number[i % l->devices.n]}};
        OG_TRY(og__pool_open(&group[i].pool, groups->threads, err));
        OG_TRY(open_model(&group[i].own, p, true, 0, group[i].pool, b, err));
    }
    OG_TRY(run_groups(group, n, seconds, err));
out:
    for (int i = 0; group && i < n; i++) {
        og__learner_close(&group[i].own);
        og__pool_close(group[i].pool);
    }
    free(group);
    close_timed(&t);
    return rc;
}
