#include "choose/predict.h"

#include "gather/gather.h"
#include "plan/count.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { PIECE = 1024 }; /* rows */

/* ---- counting batches ---- */

/* Hits of each group: its slots follow each other. */
static void count_hits(const struct og_group_size *size, uint32_t n, const struct og_plan *plan,
                       uint32_t *hits)
{
    uint64_t end[OG_MOST_TYPES]; /* of its slots */
    uint64_t slots = 0;
    for (uint32_t g = 0; g < n; g++) {
        end[g] = slots += size[g].slots;
        hits[g] = 0;
    }
    if (n == 1)
        hits[0] = plan->n - plan->n_misses;
    for (uint32_t i = 0; i < plan->n && n > 1; i++) {
        uint32_t g = 0;
        while (g < n && plan->place[i] >= end[g])
            g++;
        if (g < n)
            hits[g]++;
    }
}

static struct og_counting counting_of(const struct og_data_path *d,
                                      const struct og_group_size *size)
{
    return (struct og_counting){.layout = og__layout_of(d->exec->layout),
                                .rule = &size->rule,
                                .row_bytes = size->row_bytes};
}

/* For n rows of a group, with misses by its own numbers. */
static void add_rows(struct og_plan_cost *sum, const struct og_data_path *d, uint32_t group,
                     uint32_t n, const uint32_t *misses, uint32_t n_misses)
{
    struct og_group_size *size = &d->size[group];
    const struct og_counting how = counting_of(d, size);
    const bool foreseen =
        d->workload->row_graph->group[group].state > 0 && og__foreseen_batches(d) > 0;
    struct og_plan_cost cost = {0};
    if (n > 0 && foreseen) /* what they read is counted with what they write */
        cost = (struct og_plan_cost){.rows = n, .hits = n - n_misses, .misses = n_misses};
    else if (n > 0)
        og__count_batch(&how, n, misses, n_misses, &cost);
    og__plan_cost_add(&size->seen, &cost);
    og__plan_cost_add(sum, &cost);
}

/* ---- rows that batches change ---- */

static uint64_t all_slots(const struct og_data_path *d)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < d->workload->row_graph->n_groups; k++)
        n += d->size[k].slots;
    return n;
}

/* A cache that stays as it is needs no tables: nothing leaves it. */
int og__predict_writes(struct og_prediction *p, const struct og_data_path *d, struct og_err *err)
{
    const struct og_graph *g = d->workload->row_graph;
    const bool still = og__policy_is_static(d->exec->policy);
    if (!d->config->stores_rows || !d->size)
        return 0;
    d->predicted->writes = true;
    p->writes = calloc(g->n_groups, sizeof(*p->writes));
    OG_DO(p->writes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "embeddings"));
    for (uint32_t k = 0; k < g->n_groups; k++)
        OG_DO(og__write_count_open(&p->writes[k], g->group[k].state > 0 ? d->size[k].row_bytes : 0,
                                   (uint64_t)g->group[k].n_nodes,
                                   still ? 0 : (uint32_t)d->size[k].slots, og__foreseen_batches(d),
                                   d->budget, err));
    return 0;
}

void og__predict_end(struct og_prediction *p, const struct og_data_path *d)
{
    for (uint32_t k = 0; p->writes && k < d->workload->row_graph->n_groups; k++)
        og__write_count_close(&p->writes[k]);
    free(p->writes);
    p->writes = NULL;
}

void og__predict_begin(struct og_prediction *p, const struct og_data_path *d)
{
    struct og_io_counts before_batches = {0};
    for (uint32_t k = 0; k < d->workload->row_graph->n_groups; k++) {
        struct og_write_count *w = &p->writes[k];
        const uint64_t before = w->writes.bytes;
        if (w->batches > 0)
            og__write_count_begin(w, &before_batches);
        d->size[k].seen_written += w->writes.bytes - before;
    }
}

/* Before rows enter slots, each group's changed rows are written. */
static int clean_all(struct og_prediction *p, const struct og_data_path *d, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < d->workload->row_graph->n_groups; k++) {
        struct og_write_count *w = &p->writes[k];
        const uint64_t before = w->writes.bytes;
        rc = og__write_count_fill(w, NULL, NULL, 0, 0, err);
        d->size[k].seen_written += w->writes.bytes - before;
    }
    return rc;
}

/* Rows come group by group, in pieces. */
int og__predict_fill(struct og_prediction *p, const struct og_data_path *d, const uint32_t *nodes,
                     const uint32_t *slots, uint32_t n, struct og_err *err)
{
    const struct og_group *group = d->workload->row_graph->group;
    uint64_t first = 0; /* slot of group k */
    int rc = p->writes ? clean_all(p, d, err) : 0;
    for (uint32_t k = 0, i = 0; rc == 0 && p->writes && i < n;) {
        const uint32_t begin = i;
        uint32_t rows[PIECE];
        for (; i < n && i - begin < PIECE && slots[i] < first + d->size[k].slots; i++)
            rows[i - begin] = nodes[i] - (uint32_t)group[k].first;
        const uint64_t before = p->writes[k].writes.bytes;
        OG_TRY(og__write_count_fill(&p->writes[k], rows, slots + begin, (uint32_t)first, i - begin,
                                    err));
        d->size[k].seen_written += p->writes[k].writes.bytes - before;
        if (i == begin)
            first += d->size[k++].slots;
    }
out:
    return rc;
}

/* A group's part of a batch and its plan, by the first of each. */
struct part {
    uint32_t group, row, n, miss, n_misses, change, n_changes;
    uint64_t slot, all_slots;
};

static int add_writes(struct og_prediction *p, const struct og_data_path *d, struct og_plan *plan,
                      const struct part *of, const struct og_predicted_batch *batch,
                      struct og_err *err)
{
    struct og_write_count *w = &p->writes[of->group];
    struct og_group_size *size = &d->size[of->group];
    const uint64_t before = w->writes.bytes;
    struct og_io_counts again;
    for (uint32_t i = of->row; i < of->row + of->n; i++)
        plan->place[i] = plan->place[i] < of->all_slots ? plan->place[i] - (uint32_t)of->slot
                                                        : plan->place[i] - (uint32_t)of->all_slots -
                                                              of->miss + w->tables.n_slots;
    const struct og_writes_batch b = {.place = plan->place + of->row,
                                      .n = of->n,
                                      .misses = plan->misses + of->miss,
                                      .n_misses = of->n_misses,
                                      .change_row = plan->change_row + of->change,
                                      .change_slot = plan->change_slot + of->change,
                                      .n_changes = of->n_changes,
                                      .first_row = of->row,
                                      .first_slot = (uint32_t)of->slot,
                                      .changed = batch->trains};
    const uint16_t *next =
        w->batches > 0 ? p->uses->next + p->uses->ptr[p->number] + of->row : NULL;
    const int rc = og__write_count_batch(w, &b, next, &again, err);
    if (rc < 0 || !batch->counts)
        return rc;
    const struct og_plan_cost cost = {.reads = again.reads, .bytes = again.bytes};
    og__plan_cost_add(&size->seen, &cost);
    og__plan_cost_add(&p->sum.plan, &cost);
    size->seen_written += w->writes.bytes - before;
    return 0;
}

/* Misses ascend, so those of a group follow each other. Each is read by its number in the group,
 * which they are for the time being. */
static int add_plan(struct og_prediction *p, const struct og_data_path *d, struct og_plan *plan,
                    const struct og_predicted_batch *batch, struct og_err *err)
{
    const struct og_graph *g = d->workload->row_graph;
    uint32_t hits[OG_MOST_TYPES];
    struct part of = {.all_slots = all_slots(d)};
    int rc = 0;
    count_hits(d->size, g->n_groups, plan, hits);
    for (; rc == 0 && of.group < g->n_groups; of.slot += d->size[of.group++].slots) {
        const uint32_t k = of.group;
        const uint32_t first = (uint32_t)g->group[k].first;
        const uint64_t end = (uint64_t)(g->group[k].first + g->group[k].n_nodes);
        uint32_t i = of.miss;
        for (; i < plan->n_misses && plan->misses[i] < end; i++)
            plan->misses[i] -= first;
        of.n_misses = i - of.miss;
        of.n = hits[k] + of.n_misses;
        for (of.n_changes = 0; of.change + of.n_changes < plan->n_changes &&
                               plan->change_row[of.change + of.n_changes] < of.row + of.n;)
            of.n_changes++;
        if (batch->counts)
            add_rows(&p->sum.plan, d, k, of.n, plan->misses + of.miss, of.n_misses);
        if (p->writes)
            rc = add_writes(p, d, plan, &of, batch, err);
        for (; of.miss < i; of.miss++)
            plan->misses[of.miss] += first;
        of.row += of.n;
        of.change += of.n_changes;
    }
    p->number++;
    return rc;
}

static void add_structure(struct og_prediction *p, const struct og_sample_reads *from)
{
    p->sum.topology_reads += from->io.reads;
    p->sum.topology_bytes += from->io.bytes;
    p->sum.topology_passes += from->passes;
    p->batches++;
}

int og__predict_batch(struct og_prediction *p, const struct og_data_path *d, struct og_plan *plan,
                      const struct og_predicted_batch *batch, struct og_err *err)
{
    if (batch->counts)
        add_structure(p, batch->from);
    return add_plan(p, d, plan, batch, err);
}

void og__predict_tiers(struct og_prediction *p, const struct og_data_path *d,
                       const struct og_tiers_plan *plan, uint32_t batch,
                       const struct og_sample_reads *from)
{
    for (uint32_t g = 0, k = 0; k < plan->n_parts; g++) {
        if (d->size[g].row_bytes == 0)
            continue;
        const struct og_tiers_plan part = og__tiers_plan_part(plan, k);
        const struct og_tiers_setup *setup = og__tiers_part_setup(d->tiers, k++);
        add_rows(&p->sum.plan, d, g, part.plan.n, part.plan.misses, part.plan.n_misses);
        og__tiers_cost_add(&d->size[g].seen_tiers, setup, &part, batch);
        og__tiers_cost_add(&p->sum.tiers, setup, &part, batch);
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
    for (uint32_t g = 0; g < d->workload->row_graph->n_groups; g++) {
        struct og_group_size *size = &d->size[g];
        const struct og_predicted seen = {.plan = size->seen, .tiers = size->seen_tiers};
        struct og_predicted epoch = {0};
        scale_costs(&epoch, &seen, by);
        size->epoch = epoch.plan;
        size->epoch_written = scaled(size->seen_written, by);
        size->epoch_tiers = epoch.tiers;
    }
}

/* Seeds of an epoch's training batches, the last of which may be small. */
static uint64_t epoch_seeds(const struct og_schedule *schedule)
{
    const uint64_t n = og__schedule_batches(schedule, OG__TRAIN);
    uint64_t seeds = 0;
    for (uint64_t i = 0; i < n; i++)
        seeds += og__schedule_at(schedule, i).n_seeds;
    return seeds;
}

void og__predict_epoch(const struct og_prediction *p, const struct og_data_path *d)
{
    const struct og_schedule *schedule = &d->workload->schedule;
    const bool whole = p->batches == og__schedule_batches(schedule, OG__TRAIN);
    if (p->seeds > 0)
        scale_to_epoch(d, &p->sum, whole ? 1 : (double)epoch_seeds(schedule) / (double)p->seeds);
}

/* ---- profiling ---- */

int og__learn_rules(const struct og_data_path *d, struct og_err *err)
{
    const struct og_graph *g = d->workload->row_graph;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            OG_DO(og__gather_read_rule(&g->group[k], d->config->opt.io, d->budget, &d->size[k].rule,
                                       err));
    return 0;
}

static int count_profiling(struct og_data_path *d, const struct og_profiling *profiling,
                           struct og_plan_cost *sum, struct og_err *err)
{
    const struct og_predicted_batch batch = {.counts = true, .trains = true};
    struct og_plan plan;
    struct og_planned_ids planned = {.budget = d->budget};
    struct og_prediction p = {0};
    int rc;
    og__plan_init(&plan, d->budget);
    OG_TRY(og__predict_writes(&p, d, err));
    for (uint32_t b = 0; b < profiling->n; b++) {
        const uint32_t n = (uint32_t)(profiling->ptr[b + 1] - profiling->ptr[b]);
        OG_TRY(og__planned_ids_list(&planned, d->workload->planned_groups,
                                    profiling->ids + profiling->ptr[b], n, err));
        OG_TRY(og__policy_plan(d->policy, &d->planner, planned.ids, planned.n, &plan, err));
        OG_TRY(add_plan(&p, d, &plan, &batch, err));
    }
    *sum = p.sum.plan;
out:
    og__predict_end(&p, d);
    og__planned_ids_release(&planned);
    og__plan_release(&plan);
    return rc;
}

/* The profiling batches were sampled before there was a neighbour cache: some of it once more. */
static int count_topology(const struct og_data_path *d, struct og_predicted *sum,
                          struct og_err *err)
{
    enum { BATCHES = 2 };
    struct og_profiling again;
    uint64_t n = og__schedule_batches(&d->workload->schedule, OG__TRAIN);
    const struct og_profiling_limits limits = {.epoch = 1,
                                               .batches = (uint32_t)OG_MIN(n, (uint64_t)BATCHES)};
    OG_DO(og__profiling_sample(&again, d->structure, &limits, d->budget, err));
    sum->topology_reads = again.reads.io.reads;
    sum->topology_bytes = again.reads.io.bytes;
    og__profiling_release(&again, d->budget);
    return 0;
}

/* What a group of so many reads: estimated from a smaller one, or once the file a pass. */
static struct og_io_expected group_of(const struct og_data_path *d,
                                      const struct og_profiling *profiling, uint64_t batches)
{
    const struct og_workload *f = d->workload;
    const struct og_read_rule rule = og__structure_rule(d->structure);
    const double steps = (double)f->caps.n_hops * f->group_sampling.steps;
    const double file = (double)og__group_sampling_list_bytes(&f->group_sampling);
    if (profiling->sample_group.batches > 0)
        return og__sample_group_expect(&profiling->sample_group, (double)batches, &rule);
    return (struct og_io_expected){steps * file / (double)rule.max_request, steps * file};
}

/* Bounds reads of an epoch's topology by those of one sample group. A batch reads less in a group
 * than alone. */
static void bound_topology(const struct og_data_path *d, const struct og_profiling *profiling)
{
    const struct og_workload *f = d->workload;
    const uint64_t group = d->memory->sample_group.batches;
    const uint64_t epoch = og__schedule_batches(&f->schedule, OG__TRAIN);
    struct og_predicted *p = d->predicted;
    if (group < 2 || d->offline)
        return;
    const uint64_t groups = (epoch + group - 1) / group;
    const struct og_io_expected one = group_of(d, profiling, OG_MIN(group, epoch));
    const uint64_t most = scaled((uint64_t)one.bytes, (double)groups);
    p->topology_passes =
        groups * f->caps.n_hops * f->group_sampling.steps * f->group_sampling.n_lists;
    p->bound = true;
    if (p->topology_bytes > most) {
        p->topology_reads = OG_MIN(p->topology_reads, scaled((uint64_t)one.reads, (double)groups));
        p->topology_bytes = most;
    }
}

/* Seeds of an epoch for each seed of the profiling batches. */
static double epoch_of(const struct og_data_path *d, const struct og_profiling *profiling)
{
    const struct og_schedule *schedule = &d->workload->schedule;
    const uint64_t all = schedule->n_seeds[OG__TRAIN] / OG_MAX(schedule->share.ranks, 1u);
    const uint64_t seen = OG_MIN(schedule->n_seeds[OG__TRAIN],
                                 (uint64_t)profiling->n * d->workload->schedule.batch_size);
    return (double)all / (double)OG_MAX(seen, (uint64_t)1);
}

int og__predict_profiling(struct og_data_path *d, const struct og_profiling *profiling,
                          struct og_err *err)
{
    const struct og_tiers_cost none = {0};
    struct og_plan_cost sum = {0};
    int rc = count_profiling(d, profiling, &sum, err);
    return rc < 0 ? rc : og__predict_from(d, profiling, &sum, &none, err);
}

/* So many of their batches. */
static struct og_io_counts read_samples(const struct og_samples *s, uint32_t n)
{
    const struct og_io_counts all = og__samples_asks(s);
    const double share = (double)n / (double)og__samples_batches(s);
    return (struct og_io_counts){scaled(all.reads, share), scaled(all.bytes, share)};
}

int og__predict_from(struct og_data_path *d, const struct og_profiling *profiling,
                     const struct og_plan_cost *rows, const struct og_tiers_cost *tiers,
                     struct og_err *err)
{
    struct og_predicted sum = {.plan = *rows, .tiers = *tiers};
    struct og_predicted topology = {0};
    if (d->offline)
        sum.trace = read_samples(d->offline->samples, profiling->n);
    else if (d->structure->topology.stored)
        OG_DO(count_topology(d, &topology, err));
    double share = (double)profiling->n / OG_MAX(OG_MIN(profiling->n, 2u), 1u);
    sum.topology_reads = scaled(topology.topology_reads, share);
    sum.topology_bytes = scaled(topology.topology_bytes, share);
    scale_to_epoch(d, &sum, epoch_of(d, profiling));
    bound_topology(d, profiling);
    return 0;
}
