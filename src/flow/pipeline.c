#include "flow/pipeline.h"

#include <math.h>

static struct og_flow flow_of(struct og_data_path *d, const struct og_items *items)
{
    return (struct og_flow){.items = *items,
                            .seeds = &d->workload->seeds,
                            .works = d->works,
                            .n_works = og__works(d->exec),
                            .stop = og__stop_flag(d->config),
                            .timeline = d->timeline,
                            .use = "train"};
}

/* ---- batches ---- */

static struct og_batch_source sample_alone(struct og_pipeline *p)
{
    return og__source_sampled(&p->batches.sampled);
}

static struct og_batch_source sample_groups(struct og_pipeline *p)
{
    struct og_data_path *d = p->path;
    p->group_sampling = true;
    p->batches.group_sampling = (struct og_sample_group_source){.sampled = &p->batches.sampled,
                                                                .seeds = &d->workload->seeds,
                                                                .items = p->flow.items,
                                                                .skips_training = d->offline,
                                                                .budget = d->budget};
    return og__source_sample_groups(&p->batches.group_sampling);
}

/* What the folder has not is sampled. */
static struct og_batch_source read_stored(struct og_pipeline *p, struct og_batch_source sampled,
                                          bool ids_only)
{
    p->batches.stored = (struct og_stored_source){.sampled = sampled,
                                                  .folder = p->path->offline,
                                                  .items = p->flow.items,
                                                  .ids_only = ids_only};
    return og__source_stored(&p->batches.stored);
}

void og__pipeline_sample(struct og_pipeline *p, struct og_data_path *d, struct og_items items,
                         bool ids_only)
{
    *p = (struct og_pipeline){.flow = flow_of(d, &items), .path = d};
    p->flow.idle_hooks = d->idle_hooks;
    p->batches.sampled = (struct og_sampled_source){.samplers = d->samplers,
                                                    .n_samplers = og__samplers(d->exec),
                                                    .n_hops = d->config->opt.n_fanout};
    const bool group_sampling = d->memory->sample_group.batches > 1;
    p->flow.batches = group_sampling ? sample_groups(p) : sample_alone(p);
    if (d->offline)
        p->flow.batches = read_stored(p, p->flow.batches, ids_only);
}

static int open_groups(struct og_pipeline *p, struct og_err *err)
{
    const struct og_data_path *d = p->path;
    const struct og_items *items = &p->flow.items;
    struct og_group_sampling_options opt = {.sizes = d->memory->sample_group,
                                            .scratch = og__scratch_or_here(&d->stores),
                                            .samplers = d->samplers,
                                            .n_samplers = og__samplers(d->exec),
                                            .stop = p->flow.stop};
    opt.sizes.batches = (uint32_t)OG_MIN((uint64_t)opt.sizes.batches, items->last - items->first);
    return og__sample_group_source_open(&p->batches.group_sampling, &d->structure->topology, &opt,
                                        err);
}

static int run_flow(struct og_pipeline *p, og_consumer *consumer, void *arg, struct og_err *err)
{
    const struct og_row_store *rows = &p->flow.rows;
    const int rc = og__flow_run(&p->flow, consumer, arg, err);
    return rc < 0 || !rows->ops ? rc : rows->ops->check(rows->self, err);
}

static uint64_t scaled(uint64_t x, double scale)
{
    return (uint64_t)llround((double)x * scale);
}

/* What an epoch reads of the topology, by what the first sample group, of n batches, read. */
static void learn_of_group(struct og_data_path *d, const struct og_sample_reads *read, uint32_t n)
{
    struct og_predicted *p = d->predicted;
    const uint64_t epoch = og__schedule_batches(&d->workload->schedule, OG__TRAIN);
    const double scale = (double)epoch / (double)OG_MAX(n, 1u);
    if (!p->known || !p->bound || n == 0)
        return;
    p->topology_reads = scaled(read->io.reads, scale);
    p->topology_bytes = scaled(read->io.bytes, scale);
    p->topology_passes = scaled(read->passes, scale);
    p->bound = false;
}

int og__pipeline_run(struct og_pipeline *p, og_consumer *consumer, void *arg, struct og_err *err)
{
    if (!p->group_sampling || p->flow.items.first >= p->flow.items.last)
        return run_flow(p, consumer, arg, err);
    int rc = open_groups(p, err);
    if (rc == 0)
        rc = run_flow(p, consumer, arg, err);
    if (p->flow.items.pass == OG__SPLITS) /* those of an evaluation do not count for an epoch */
        learn_of_group(p->path, &p->batches.group_sampling.told, p->batches.group_sampling.n_told);
    og__sample_group_source_close(&p->batches.group_sampling);
    return rc;
}

/* ---- planned, and loaded ---- */

/* The store decides how many batches may be between their reads and the end of their training. */
static void load_rows(struct og_pipeline *p, struct og_data_path *d,
                      int (*plan)(void *plans, struct og_work *w, struct og_err *err),
                      const struct og_sampled_lookahead *lookahead)
{
    p->plans = (struct og_plans){d, lookahead};
    p->flow.plans = (struct og_plan_source){&p->plans, plan};
    p->flow.n_works = og__works_trained(d->exec);
    p->flow.rows = d->rows;
    p->flow.groups = d->workload->row_graph;
    p->flow.n_staging = d->rows.ops->start(d->rows.self);
}

void og__pipeline_train(struct og_pipeline *p, struct og_data_path *d, struct og_items items)
{
    og__pipeline_sample(p, d, items, false);
    load_rows(p, d, d->stack->plan, NULL);
}

void og__pipeline_look_on(struct og_pipeline *p, struct og_upcoming *upcoming)
{
    p->flow.plans = (struct og_plan_source){0};
    p->flow.rows = (struct og_row_store){0};
    p->flow.groups = NULL;
    p->flow.filling = NULL;
    p->flow.n_works = og__works_trained(p->path->exec);
    p->flow.n_staging = 0;
    p->flow.upcoming = upcoming;
}

void og__pipeline_replay(struct og_pipeline *p, struct og_data_path *d,
                         const struct og_replayed_source *batches, struct og_filling *filling)
{
    *p = (struct og_pipeline){.flow = flow_of(d, &batches->items), .path = d};
    p->batches.replayed = *batches;
    p->flow.batches = og__source_replayed(&p->batches.replayed);
    p->flow.filling = filling;
    load_rows(p, d, d->stack->read_back, batches->lookahead);
}
