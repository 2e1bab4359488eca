#include "train/learner.h"
#include "nn/tasks.h"

#include "train/checkpoint.h"
#include "train/steps.h"
#include "train/trainers.h"

#include <stdlib.h>

/* ---- before there is one ---- */

unsigned og__learner_wants(void)
{
    return og__nn_ops() ? OG__WANT_MODEL | OG__WANT_TRAINING : 0;
}

int og__learner_adopt(struct og_config *config, const struct og_options *asked, struct og_err *err)
{
    if (!asked->init)
        return 0;
    int rc = og__checkpoint_sampler(asked->init, &config->opt, &config->log, err);
    if (rc < 0 || og__task(asked->task)->targets != OG__OF_PAIRS)
        return rc;
    return og__checkpoint_edges(asked->init, &config->opt, &config->log, err);
}

static struct og_model_config asked_shape(const struct og_options *opt, const struct og_dataset *ds)
{
    return (struct og_model_config){.kind = opt->model,
                                    .layers = opt->layers,
                                    .in_dim = ds->dim,
                                    .hidden = opt->hidden,
                                    .n_classes =
                                        og__task(opt->task)->embeds ? opt->hidden : ds->n_classes,
                                    .task = opt->task,
                                    .decoder = opt->decoder,
                                    .loss = opt->loss,
                                    .dropout = opt->dropout,
                                    .input_dropout = opt->input_dropout,
                                    .attention_dropout = opt->attention_dropout,
                                    .multi_label = ds->multi_label,
                                    .heads = opt->heads,
                                    .aggregator = opt->aggregator,
                                    .norm = opt->norm,
                                    .residual = opt->residual};
}

int og__learner_shape(struct og_facts *f, const struct og_options *opt,
                      const struct og_model_config *given, struct og_err *err)
{
    const struct og_dataset *ds = f->ds;
    f->shape = given ? *given : asked_shape(opt, ds);
    f->shape.multi_label = ds->multi_label;
    f->shape.task = opt->task;
    f->shape.loss = opt->loss;
    const bool widths = og__task(opt->task)->embeds || f->shape.n_classes == ds->n_classes;
    if (f->shape.in_dim != ds->dim || !widths)
        return og__fail(err, -EINVAL, "is it a checkpoint of this dataset?",
                        "the checkpoint has %d features and %d classes, %s has %d and %d",
                        f->shape.in_dim, f->shape.n_classes, ds->path, ds->dim, ds->n_classes);
    return og__model_check(&f->shape, err);
}

unsigned og__learner_extras(const struct og_facts *f)
{
    return og__model_wants_degrees(&f->shape) ? OG__WITH_DEGREES : 0;
}

int og__learner_begin(struct og_learner *l, struct og_pool *pool, struct og_err *err)
{
    *l = (struct og_learner){0};
    int rc = og__nn_find(&l->ops, err);
    return rc < 0 ? rc : og__nn_warm_up(l->ops, pool, err);
}

/* Several compute for the model, which then has no gradients of its own to compute. */
static bool has_trainers(const struct og_config *config)
{
    return config->want & OG__WANT_TRAINING && config->opt.trainers > 1;
}

static void add_trainers(const struct og_learner *l, struct og_facts *f,
                         const struct og_options *opt)
{
    f->bytes.model += og__trainers_model_bytes(l->ops, f, opt->trainers);
    f->bytes.activations += og__trainers_activation_bytes(l->ops, f, opt->threads, opt->trainers);
}

/* Training keeps the best parameters so far, those being written, and what steps are made of. */
void og__learner_sizes(const struct og_learner *l, struct og_facts *f,
                       const struct og_config *config)
{
    const bool training = config->want & OG__WANT_TRAINING;
    const bool alone = training && !has_trainers(config);
    const size_t model = og__model_bytes(l->ops, &f->shape, config->opt.optimizer);
    f->bytes.model = model + (training ? model / 2 + og__steps_bytes(&f->shape, &config->opt) : 0);
    f->bytes.activations =
        og__model_workspace_bytes(l->ops, &f->shape, &f->caps, alone, config->opt.threads);
    if (!f->seeds.edges)
        f->bytes.targets = og__labels_bytes(f->ds, (int64_t)f->schedule.batch_size);
    if (has_trainers(config))
        add_trainers(l, f, &config->opt);
}

/* ---- while there is one ---- */

static int open_model(struct og_learner *l, const struct og_premises *p, bool gradients,
                      struct og_pool *pool, struct og_budget *b, struct og_err *err)
{
    const struct og_options *opt = &p->config->opt;
    int rc = og__model_create(&l->model, l->ops, &p->facts->shape, opt->optimizer,
                              (uint64_t)opt->seed, pool, b, err);
    return rc < 0 ? rc : og__model_reserve(l->model, &p->facts->caps, gradients, err);
}

int og__learner_open(struct og_learner *l, const struct og_premises *p, struct og_pool *pool,
                     struct og_budget *b, struct og_err *err)
{
    const bool gradients = p->config->want & OG__WANT_TRAINING && !has_trainers(p->config);
    return open_model(l, p, gradients, pool, b, err);
}

void og__learner_close(struct og_learner *l)
{
    og__model_free(l->model);
    l->model = NULL;
}

/* The second of two steps counts. */
static int time_steps(struct og_model *model, const struct og_batch *batch,
                      const struct og_rows *rows, const void *targets, bool training,
                      double *seconds, struct og_err *err)
{
    int rc = 0;
    for (int round = 0; round < 2; round++) {
        struct og_step step = {1, 1, 0};
        struct og_metrics ignored = {0};
        double start = og__now();
        OG_TRY(training ? og__model_gradients(model, batch, rows, targets, &step, &ignored, err)
                        : og__model_forward(model, batch, rows, targets, &ignored, err));
        *seconds = og__now() - start;
    }
out:
    return rc;
}

int og__learner_time(const struct og_learner *l, const struct og_premises *p,
                     const struct og_batch *batch, const struct og_pairs *pairs,
                     struct og_pool *pool, struct og_budget *b, double *seconds, struct og_err *err)
{
    const struct og_dataset *ds = p->facts->ds;
    const size_t index_bytes = batch->n_ids * sizeof(uint32_t);
    const size_t labels_bytes = og__labels_bytes(ds, batch->n_seeds);
    struct og_learner own = {.ops = l->ops};
    uint32_t *index = og__alloc(b, index_bytes, "batches", err);
    void *labels = og__alloc(b, labels_bytes, "batches", err);
    char *row = calloc(1, og__row_bytes(ds));
    const struct og_rows rows = {.base = row,
                                 .index = index,
                                 .stride = og__row_bytes(ds),
                                 .n = batch->n_ids,
                                 .dim = ds->dim,
                                 .dtype = ds->kept};
    int rc;
    OG_TRY(index && labels ? 0 : -ENOMEM);
    OG_TRY(row ? 0 : og__fail_errno(err, -ENOMEM, NULL, "timing the model"));
    OG_TRY(open_model(&own, p, p->config->want & OG__WANT_TRAINING, pool, b, err));
    OG_TRY(time_steps(own.model, batch, &rows, p->facts->seeds.edges ? (void *)pairs : labels,
                      p->config->want & OG__WANT_TRAINING, seconds, err));
out:
    og__learner_close(&own);
    og__release(b, index, index_bytes, "batches");
    og__release(b, labels, labels_bytes, "batches");
    free(row);
    return rc;
}
