#include "choose/predict.h"

#include "choose/typed_told.h"
#include "dataset/features.h"
#include "plan/count.h"

#include <math.h>

/* ---- counting batches ---- */

static void add_plan(struct og_plan_cost *sum, const struct og_data_path *d,
                     const struct og_plan *plan)
{
    if (d->told) {
        og__typed_count(d, plan, sum);
        return;
    }
    const struct og_counting how = {.layout = og__layout_of(d->way->layout),
                                    .rule = &d->facts->read_rule,
                                    .row_bytes = d->facts->row_bytes};
    og__count_batch(&how, plan->n, plan->misses, plan->n_misses, sum);
}

static void add_structure(struct og_prediction *p, const struct og_sample_reads *from)
{
    p->sum.topology_reads += from->io.reads;
    p->sum.topology_bytes += from->io.bytes;
    p->sum.topology_passes += from->passes;
    p->batches++;
}

void og__predict_batch(struct og_prediction *p, const struct og_data_path *d,
                       const struct og_plan *plan, const struct og_sample_reads *from)
{
    add_plan(&p->sum.plan, d, plan);
    add_structure(p, from);
}

void og__predict_tiers(struct og_prediction *p, const struct og_data_path *d,
                       const struct og_tiers_plan *plan, uint32_t batch,
                       const struct og_sample_reads *from)
{
    for (uint32_t k = 0; k < plan->n_parts; k++) {
        const struct og_tiers_plan part = og__tiers_plan_part(plan, k);
        if (d->told)
            og__typed_count_part(d, k, &part, batch, &p->sum.plan);
        else
            add_plan(&p->sum.plan, d, &part.plan);
        og__tiers_cost_add(&p->sum.tiers, og__tiers_part_setup(d->tiers, k), &part, batch);
    }
    add_structure(p, from);
}

static uint64_t scaled(uint64_t x, double scale)
{
    return (uint64_t)llround((double)x * scale);
}

static void scale_costs(struct og_predicted *p, const struct og_predicted *sum, double scale)
{
    p->known = true;
    p->plan.rows = scaled(sum->plan.rows, scale);
    p->plan.misses = scaled(sum->plan.misses, scale);
    p->plan.hits = p->plan.rows - p->plan.misses;
    p->plan.reads = scaled(sum->plan.reads, scale);
    p->plan.bytes = scaled(sum->plan.bytes, scale);
    p->tiers.host_hits = OG_MIN(scaled(sum->tiers.host_hits, scale), p->plan.hits);
    p->tiers.victim_hits =
        OG_MIN(scaled(sum->tiers.victim_hits, scale), p->plan.hits - p->tiers.host_hits);
    p->tiers.device_hits = p->plan.hits - p->tiers.host_hits - p->tiers.victim_hits;
    p->tiers.demoted = scaled(sum->tiers.demoted, scale);
    p->tiers.victim_pushed = scaled(sum->tiers.victim_pushed, scale);
    p->tiers.victim_dropped = scaled(sum->tiers.victim_dropped, scale);
    p->tiers.peer_hits = OG_MIN(scaled(sum->tiers.peer_hits, scale), p->tiers.device_hits);
    p->tiers.peer_entries = scaled(sum->tiers.peer_entries, scale);
    p->topology_reads = scaled(sum->topology_reads, scale);
    p->topology_bytes = scaled(sum->topology_bytes, scale);
    p->topology_passes = scaled(sum->topology_passes, scale);
    p->trace.reads = scaled(sum->trace.reads, scale);
    p->trace.bytes = scaled(sum->trace.bytes, scale);
}

static void scale_to_epoch(const struct og_data_path *d, const struct og_predicted *sum, double by)
{
    scale_costs(d->predicted, sum, by);
    for (uint32_t t = 0; d->told && t < d->facts->types->n_types; t++) {
        const struct og_predicted seen = {.plan = d->told[t].seen, .tiers = d->told[t].seen_tiers};
        struct og_predicted epoch = {0};
        scale_costs(&epoch, &seen, by);
        d->told[t].epoch = epoch.plan;
        d->told[t].epoch_tiers = epoch.tiers;
    }
}

void og__predict_epoch(const struct og_prediction *p, const struct og_data_path *d)
{
    uint64_t epoch = og__schedule_batches(&d->facts->schedule, OG__TRAIN);
    if (p->batches > 0)
        scale_to_epoch(d, &p->sum, (double)epoch / (double)p->batches);
}

/* ---- the pilot ---- */

int og__learn_rule(struct og_facts *f, const struct og_config *config, struct og_budget *b,
                   struct og_err *err)
{
    struct og_reader *reader;
    struct og_reader_options opt = og__reader_setup(config, &f->profile);
    int rc = og__features_open(&reader, f->graph->group, &opt, b, err);
    if (rc < 0)
        return rc;
    f->read_rule = og__reader_rule(reader);
    og__reader_close(reader);
    return 0;
}

struct pilot_count {
    const struct og_data_path *d;
    struct og_plan_cost *sum;
};

static int count_planned(void *arg, uint32_t b, struct og_plan *plan, struct og_err *err)
{
    struct pilot_count *c = arg;
    (void)b;
    (void)err;
    add_plan(c->sum, c->d, plan);
    return 0;
}

static int count_pilot(struct og_data_path *d, const struct og_pilot *pilot,
                       struct og_plan_cost *sum, struct og_err *err)
{
    struct og_plan plan;
    struct pilot_count count = {d, sum};
    const struct og_trace trace = {pilot->n, pilot->ptr, pilot->ids};
    const struct og_walk walk = {.policy = d->policy,
                                 .planner = &d->planner,
                                 .plan = &plan,
                                 .planned = count_planned,
                                 .arg = &count};
    og__plan_init(&plan, d->budget);
    int rc = og__walk_batches(&walk, &trace, pilot->n, err);
    og__plan_release(&plan);
    return rc;
}

/* The pilot was sampled before there was a neighbour cache: some of it once more. */
static int count_topology(const struct og_data_path *d, struct og_predicted *sum,
                          struct og_err *err)
{
    enum { BATCHES = 2 };
    struct og_pilot again;
    uint64_t n = og__schedule_batches(&d->facts->schedule, OG__TRAIN);
    const struct og_pilot_limits limits = {.epoch = 1,
                                           .batches = (uint32_t)OG_MIN(n, (uint64_t)BATCHES)};
    int rc = og__pilot_sample(&again, d->structure, &limits, d->budget, err);
    if (rc < 0)
        return rc;
    sum->topology_reads = again.reads.io.reads;
    sum->topology_bytes = again.reads.io.bytes;
    og__pilot_release(&again, d->budget);
    return 0;
}

/* What a group of so many reads: as a smaller one tells, or once the file a pass. */
static struct og_io_expected group_of(const struct og_data_path *d, const struct og_pilot *pilot,
                                      uint64_t batches)
{
    const struct og_facts *f = d->facts;
    const struct og_read_rule rule = og__structure_rule(d->structure);
    const double passes = (double)f->caps.n_hops * f->together.steps;
    const double file = (double)og__together_list_bytes(&f->together);
    if (pilot->group.batches > 0)
        return og__group_expect(&pilot->group, (double)batches, &rule);
    return (struct og_io_expected){passes * file / (double)rule.max_request, passes * file};
}

/* Batches that are sampled together read no more than their groups do: how much less, one group of
 * them tells. */
static void bound_topology(const struct og_data_path *d, const struct og_pilot *pilot)
{
    const struct og_facts *f = d->facts;
    const uint64_t group = d->memory->group.batches;
    const uint64_t epoch = og__schedule_batches(&f->schedule, OG__TRAIN);
    struct og_predicted *p = d->predicted;
    if (group < 2 || d->offline)
        return;
    const uint64_t groups = (epoch + group - 1) / group;
    const struct og_io_expected one = group_of(d, pilot, OG_MIN(group, epoch));
    const uint64_t most = scaled((uint64_t)one.bytes, (double)groups);
    p->topology_passes = groups * f->caps.n_hops * f->together.steps;
    p->bound = true;
    if (p->topology_bytes > most) {
        p->topology_reads = OG_MIN(p->topology_reads, scaled((uint64_t)one.reads, (double)groups));
        p->topology_bytes = most;
    }
}

static bool is_on_disk(const struct og_structure *g)
{
    return g->topology.disk || (g->topology.relation && g->given.way->topology == OG_TOPOLOGY_DISK);
}

/* Of an epoch, for one of the pilot's. */
static double epoch_of(const struct og_data_path *d, const struct og_pilot *pilot)
{
    const struct og_schedule *schedule = &d->facts->schedule;
    const uint64_t all = schedule->n_seeds[OG__TRAIN] / OG_MAX(schedule->share.ranks, 1u);
    const uint64_t seen =
        OG_MIN(schedule->n_seeds[OG__TRAIN], (uint64_t)pilot->n * d->facts->schedule.batch_size);
    return (double)all / (double)OG_MAX(seen, (uint64_t)1);
}

int og__predict_pilot(struct og_data_path *d, const struct og_pilot *pilot, struct og_err *err)
{
    struct og_plan_cost sum = {0};
    /* what is sampled ahead is told exactly by its first superbatch, and so is what is written anew
     */
    if (!og__policy_is_static(d->way->policy) || og__samples_ahead(d->way) ||
        og__exchanges(d->config))
        return 0;
    int rc = count_pilot(d, pilot, &sum, err);
    return rc < 0 ? rc : og__predict_from(d, pilot, &sum, NULL, err);
}

/* So many of their batches. */
static struct og_io_counts read_samples(const struct og_samples *s, uint32_t n)
{
    const struct og_io_counts all = og__samples_asks(s);
    const double share = (double)n / (double)og__samples_batches(s);
    return (struct og_io_counts){scaled(all.reads, share), scaled(all.bytes, share)};
}

int og__predict_from(struct og_data_path *d, const struct og_pilot *pilot,
                     const struct og_plan_cost *rows, const struct og_tiers_cost *tiers,
                     struct og_err *err)
{
    struct og_predicted sum = {.plan = *rows};
    struct og_predicted topology = {0};
    int rc = 0;
    if (tiers)
        sum.tiers = *tiers;
    if (d->offline)
        sum.trace = read_samples(d->offline->samples, pilot->n);
    else if (is_on_disk(d->structure))
        OG_TRY(count_topology(d, &topology, err));
    double share = (double)pilot->n / OG_MAX(OG_MIN(pilot->n, 2u), 1u);
    sum.topology_reads = scaled(topology.topology_reads, share);
    sum.topology_bytes = scaled(topology.topology_bytes, share);
    scale_to_epoch(d, &sum, epoch_of(d, pilot));
    bound_topology(d, pilot);
out:
    return rc;
}
