/* Choosing an execution plan, in the order of this file:
 *
 *   ways       those there are (exec_plans.h)
 *   memory     what each would have with the topology in memory, and without it. Candidates are
 *              those that fit
 *   comparing  all by the profiling batches. Then those near the fastest by an epoch's, with rates
 *              better known, if the run is long enough for that to pay
 *   choosing   the first, and the report on the others */
#include "choose/choose.h"

#include "budget/slots.h"
#include "choose/exec_plans.h"
#include "choose/hotness.h"
#include "choose/measure.h"
#include "choose/profiling_groups.h"
#include "choose/trial.h"
#include "gather/gather.h"
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Core-seconds a row: looking it up, and besides counting it, or finding its next use
 * (bench/bench_plan). */
#define PLAN_ROW    6e-9
#define COUNT_ROW   6e-9
#define FORESEE_ROW 18e-9
/* How much choosing may take of a run, beyond a look at the profiling batches. */
#define CHOOSING_SHARE 0.03
/* Execution plans so many times slower than the fastest, by the profiling batches, are not compared
 * again. */
#define CONTENDS 1.6
/* The structure leaves memory for an execution plan that is faster so many times: estimates are no
 * better. */
#define WORTH_MOVING 1.1
/* A cache so many times larger is worth a word. */
#define LARGER 1.25
/* Core-seconds of a batch in a sample group, over those of one by itself from memory. */
#define TOGETHER 3.0
/* And of one whose lists lie in a cache, for one that reads them. */
#define CACHED (1.0 / 3)

/* ---- all that fit ---- */

struct chooser {
    const struct og_choice_inputs *in;
    struct og_choice *to;
    struct og_profiling profiling;     /* the session's, and its locations */
    struct og_profiling_groups groups; /* the same, group by group */
    struct og_group_slots *slots;      /* [OG__MOST_EXEC_PLANS][2][groups] of the trials */
    double began;
    uint32_t *hotness; /* [N] places by a guess at degrees. Not by visits: what is counted over the
                          profiling batches must not have learnt from them */
    uint32_t *worth;   /* [own nodes] of groups, by which they share slots; maybe hotness */
    struct og_worth_sums *sums;
    struct og_workload on_disk; /* the session's, were the structure there; if it may move */
    double model;    /* seconds of one batch, the caller's where batches leave the session */
    double copy;     /* bytes a second */
    double counting; /* seconds a batch of the trace */
    struct og_probe probe;
    struct og_trial trial[OG__MOST_EXEC_PLANS];
    uint32_t n;
    struct og_candidate candidate[OG__MOST_EXEC_PLANS]; /* trials that fit */
    uint32_t number[OG__MOST_EXEC_PLANS];               /* which they are */
    uint32_t n_fit;
    struct og_estimate out[OG__MOST_EXEC_PLANS]; /* of these, ranked */
};

/* Nodes of other owners are never requested: they come last in any ranking. */
static void forget_others(const struct og_choice_inputs *in, uint32_t *hotness)
{
    for (uint64_t i = 0; og__exchanges(in->config) && i < in->workload->n_nodes; i++) {
        const bool owns =
            og__owner_of(in->config->share.ranks, (uint32_t)i) == in->config->share.rank;
        hotness[i] = owns ? OG_MIN(hotness[i], UINT32_MAX - 1) + 1 : 0;
    }
}

/* Slots are shared by own nodes alone, in their own numbers. */
static int take_own_worth(struct chooser *c, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    const struct og_share *own = &in->config->share;
    const uint64_t n = og__nodes_known(in->config, in->workload->n_nodes);
    c->worth = c->hotness;
    if (!og__exchanges(in->config))
        return 0;
    c->worth = og__alloc(in->budget, n * sizeof(*c->worth), "hotness", err);
    if (!c->worth)
        return -ENOMEM;
    og__owned_values(own->ranks, own->rank, n, c->hotness, c->worth);
    forget_others(in, c->hotness);
    return 0;
}

/* What rows of several sizes are worth, by their degrees; the batches by groups. */
static int weigh_groups(struct chooser *c, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    OG_DO(og__hotness_worth(in->structure, in->pool, OG_POLICY_DEGREE, &in->config->opt, c->hotness,
                            err));
    OG_DO(take_own_worth(c, err));
    OG_DO((c->sums = og__worth_sums_open(in->budget, err)) ? 0 : -ENOMEM);
    OG_DO(og__profiling_groups(&c->groups, &c->profiling, in->structure, in->budget, err));
    c->slots = calloc((size_t)OG__MOST_EXEC_PLANS * 2 * OG_MAX(c->groups.n, 1u), sizeof(*c->slots));
    return c->slots ? 0 : og__fail_errno(err, -ENOMEM, NULL, "candidates");
}

static int guess_hotness(struct chooser *c, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    struct og_profiling *p = &c->profiling;
    c->hotness = og__alloc(in->budget, (size_t)in->workload->n_nodes * 4, "hotness", err);
    if (c->hotness && og__shares_slots(in->workload))
        return weigh_groups(c, err);
    int rc =
        c->hotness ? og__hotness_degree_guess(&in->structure->topology, c->hotness, err) : -ENOMEM;
    if (rc < 0)
        return rc;
    forget_others(in, c->hotness);
    return og__profiling_rank(p, in->workload->n_nodes, c->hotness, in->budget, err);
}

/* Caches that differ by a hundredth are counted as one. */
static void count_together(struct og_candidate *a, struct og_candidate *b)
{
    uint32_t less = OG_MIN(a->policy.n_slots, b->policy.n_slots);
    uint32_t more = OG_MAX(a->policy.n_slots, b->policy.n_slots);
    if (a->tiers || b->tiers || a->policy.kind != b->policy.kind || a->superbatch == 0 ||
        b->superbatch == 0 || more - less > more / 100)
        return;
    a->policy.n_slots = b->policy.n_slots = less;
}

/* Segments read more than chunks: they are for when the disk is too small for those. */
static bool is_for_it(const struct chooser *c, const struct og_trial *t,
                      const struct og_options *requested)
{
    const uint64_t rows = c->profiling.rows / OG_MAX(c->profiling.n, 1u);
    const double chunks = (double)(t->memory.superbatch * rows) * og__mean_row(c->in->workload);
    return t->exec.layout != OG_LAYOUT_SEGMENTED || requested->layout == OG_LAYOUT_SEGMENTED ||
           chunks > requested->disk.value;
}

/* Requests are counted by the graph's numbers of nodes, also those to one of several owners. */
static void number_over_all(const struct og_graph *g, struct og_group_slots *groups)
{
    for (uint32_t k = 0, n = 0; k < g->n_groups; k++) {
        if (g->group[k].dim == 0)
            continue;
        groups[n].first = (uint64_t)g->group[k].first;
        groups[n].end = groups[n].first + (uint64_t)g->group[k].n_nodes;
        n++;
    }
}

/* Its memory; slots of groups, which follow each other. */
static int plan_slots(const struct chooser *c, const struct og_plan_inputs *p, struct og_trial *t,
                      struct og_group_size *size)
{
    const struct og_choice_inputs *in = c->in;
    const struct og_profiling_cache cache = {.profiling = &c->profiling,
                                             .workload = p->workload,
                                             .policy = t->exec.policy,
                                             .hotness = c->hotness,
                                             .budget = in->budget};
    const struct og_misses misses = og__profiling_misses(&cache);
    struct og_upper_tier upper;
    const struct og_slots_given given = {.misses = &misses,
                                         .upper = &upper,
                                         .worth = c->slots ? c->worth : NULL,
                                         .sums = c->sums,
                                         .budget = in->budget};
    OG_DO(og__upper_tier_plan(&upper, p, given.worth, given.sums, in->budget, &t->refused));
    OG_DO(og__memory_plan(&t->memory, p, &given, size, &t->refused));
    if (!c->slots)
        return 0;
    t->host = c->slots + (size_t)c->n * 2 * c->groups.n;
    t->there = t->host + c->groups.n;
    (void)og__slots_of_groups(p->workload, size, false, t->host);
    (void)og__slots_of_groups(p->workload, size, true, t->there);
    number_over_all(in->workload->graph, t->host);
    number_over_all(in->workload->graph, t->there);
    return 0;
}

static void plan_memory(const struct chooser *c, const struct og_exec_plan *exec,
                        struct og_trial *t)
{
    const struct og_choice_inputs *in = c->in;
    const bool moves = exec->topology != in->exec->topology;
    *t = (struct og_trial){.exec = *exec};
    const struct og_plan_inputs plan_inputs = {in->config, moves ? &c->on_disk : in->workload,
                                               &t->exec};
    struct og_group_size *size = og__group_sizes(in->workload->row_graph);
    const int rc = size ? plan_slots(c, &plan_inputs, t, size)
                        : og__fail_errno(&t->refused, -ENOMEM, NULL, "candidates");
    t->fits = rc == 0;
    free(size);
}

static void add_trial(struct chooser *c, const struct og_trial *t)
{
    struct og_trial *kept = &c->trial[c->n];
    *kept = *t;
    if (t->fits) {
        c->number[c->n_fit] = c->n;
        c->candidate[c->n_fit++] = og__trial_candidate(c->in, kept, c->hotness);
    }
    c->n++;
}

/* What fits in memory; the others are kept with the reason why they do not. */
static void try_exec(struct chooser *c, const struct og_exec_plan *exec)
{
    struct og_trial t;
    plan_memory(c, exec, &t);
    if (is_for_it(c, &t, &c->in->config->opt))
        add_trial(c, &t);
}

/* The same with the topology on disk and group sampling. It has to leave more memory for rows or a
 * superbatch. */
static void try_moved(struct chooser *c, const struct og_exec_plan *exec)
{
    struct og_exec_plan moved = *exec;
    struct og_trial here;
    struct og_trial t;
    moved.topology = OG_TOPOLOGY_DISK;
    plan_memory(c, exec, &here);
    plan_memory(c, &moved, &t);
    const bool more = !here.fits || t.memory.n_slots > here.memory.n_slots ||
                      t.memory.superbatch > here.memory.superbatch;
    if (t.fits && t.memory.sample_group.batches > 1 && more &&
        is_for_it(c, &t, &c->in->config->opt))
        add_trial(c, &t);
}

static void try_all(struct chooser *c, const struct og_exec_plan *execs, int n_execs)
{
    for (int i = 0; i < n_execs; i++)
        if (og__exec_plan_allowed(c->in->config, &execs[i]))
            try_exec(c, &execs[i]);
    for (int i = 0; i < n_execs && og__structure_may_move(c->in); i++)
        if (og__exec_plan_allowed(c->in->config, &execs[i]))
            try_moved(c, &execs[i]);
    for (uint32_t i = 1; i < c->n_fit; i++)
        for (uint32_t k = 0; k < i; k++)
            count_together(&c->candidate[k], &c->candidate[i]);
}

/* ---- comparing ---- */

/* The same disk is as fast as was found just now. */
static struct og_disk_profile structure_disk(const struct og_workload *f,
                                             const struct og_disk_profile *found)
{
    const bool same =
        f->lists.iops == f->profile.iops && f->lists.bandwidth == f->profile.bandwidth;
    return same ? *found : f->lists;
}

/* What execution plans are judged by, over the profiling batches. */
static struct og_cost_inputs judged_by(const struct chooser *c, const struct og_profiling *batches,
                                       const struct og_profiling_groups *groups)
{
    const struct og_choice_inputs *in = c->in;
    const double n = OG_MAX(batches->n, 1u);
    const double epoch = (double)og__schedule_batches(&in->workload->schedule, OG__TRAIN);
    struct og_disk_profile disk = in->workload->profile;
    if (c->probe.iops > 0)
        disk.iops = OG_MIN(c->probe.iops, 2 * in->workload->profile.iops);
    if (c->probe.bandwidth > 0)
        disk.bandwidth = c->probe.bandwidth;
    /* the file at hand may be a fresh one. Only on the same disk does it predict rates of
     * writing */
    const double fresh = in->workload->apart ? in->workload->away.fresh
                                             : OG_MAX(in->workload->away.fresh, disk.bandwidth);
    const double faster = in->workload->away.measured ? 1 : fresh / in->workload->away.fresh;
    const struct og_group_sampling_shape *group_sampling =
        og__structure_may_move(in) ? &c->on_disk.group_sampling : &in->workload->group_sampling;
    return (struct og_cost_inputs){
        .trace = {.n_batches = batches->n, .ptr = batches->ptr, .ids = batches->ids},
        .n_nodes = in->workload->n_nodes,
        .owners = in->config->own_rows ? in->config->share.ranks : 0,
        .most_requested = og__nodes_known(in->config, in->workload->n_nodes),
        .distinct = batches->growth.distinct,
        .growth = batches->growth.power,
        .slowing = batches->growth.slowing,
        .epoch_batches = epoch,
        .epochs = (uint32_t)in->config->opt.epochs,
        .topology = {(uint64_t)((double)batches->reads.io.reads * epoch / n),
                     (uint64_t)((double)batches->reads.io.bytes * epoch / n)},
        .rule = in->workload->read_rule,
        .row_bytes = in->workload->row_bytes,
        .fill_rows = OG__FILL_ROWS,
        .disk = disk,
        .structure_disk = structure_disk(in->workload, &disk),
        .apart = in->workload->apart,
        .one_by_one = in->exec->one_by_one,
        .structure_bytes = og__group_sampling_list_bytes(group_sampling),
        .hops = (uint32_t)in->config->opt.n_fanout * OG_MAX(group_sampling->steps, 1u),
        .sample_group = c->profiling.sample_group,
        .lists_rule = og__structure_rule(in->structure),
        .times = {.sample = batches->core_seconds / n,
                  .group_sampling = TOGETHER,
                  .cached = CACHED,
                  .plan_row = PLAN_ROW,
                  .count_row = COUNT_ROW,
                  .prepare_row = FORESEE_ROW,
                  .model = c->model,
                  .copy = c->copy,
                  .write = in->workload->away.write * faster,
                  .fresh = fresh,
                  .before = og__now() - in->opened,
                  .samplers = in->config->opt.threads,
                  .threads = in->config->opt.threads},
        .link = in->workload->links.all,
        .memory_limit = in->memory_limit,
        .disk_limit = in->config->disk,
        .disk_margin = 1.0 / OG__SUM_MARGIN,
        .pool = in->pool,
        .budget = in->budget,
        .stop = og__stop_flag(in->config),
        .group = groups->group,
        .n_groups = groups->n,
    };
}

/* Estimates say so that follow from some of an epoch's batches only. */
static void note_batches(const struct chooser *c, const struct og_profiling *batches,
                         struct og_estimate *e)
{
    const uint64_t epoch = og__schedule_batches(&c->in->workload->schedule, OG__TRAIN);
    const size_t used = strlen(e->why);
    if (e->possible && batches->n < epoch)
        snprintf(e->why + used, sizeof(e->why) - used, "; by %u of %llu batches", batches->n,
                 (unsigned long long)epoch);
}

/* The first n of those in c->out, which they are in again, ranked, by other batches. */
static int rank(struct chooser *c, const struct og_profiling *batches,
                const struct og_profiling_groups *groups, uint32_t n, struct og_err *err)
{
    struct og_candidate these[OG__MOST_EXEC_PLANS];
    uint32_t number[OG__MOST_EXEC_PLANS];
    const struct og_cost_inputs given = judged_by(c, batches, groups);
    for (uint32_t i = 0; i < n; i++) {
        number[i] = c->out[i].candidate;
        these[i] = c->candidate[number[i]];
    }
    const double start = og__now();
    OG_DO(og__candidates_rank(&given, these, n, c->out, err));
    c->counting = (og__now() - start) / OG_MAX(batches->n, 1u);
    for (uint32_t i = 0; i < n; i++) {
        c->out[i].candidate = number[c->out[i].candidate];
        note_batches(c, batches, &c->out[i]);
    }
    return 0;
}

/* The same counts with better known rates. */
static void rank_again(struct chooser *c)
{
    const struct og_cost_inputs given = judged_by(c, &c->profiling, &c->groups);
    for (uint32_t i = 0; i < c->n_fit; i++) {
        og__candidate_seconds(&given, &c->candidate[c->out[i].candidate], &c->out[i]);
        note_batches(c, &c->profiling, &c->out[i]);
    }
    og__candidates_sort(c->out, c->n_fit);
}

/* Those that may still be the fastest: they are the first. */
static uint32_t contenders(const struct chooser *c)
{
    uint32_t n = 0;
    while (n < c->n_fit && c->out[n].possible && c->out[n].seconds <= CONTENDS * c->out[0].seconds)
        n++;
    return n;
}

/* Requests of all ranks to this one in the profiling batches, where they exchange rows. */
static int see_rounds(const struct chooser *c, struct og_profiling *p, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    struct og_profiling requested;
    if (!og__exchanges(in->config))
        return 0;
    OG_DO(og__profiling_requests(&requested, p, &in->config->share, in->workload->n_nodes,
                                 in->budget, err));
    og__profiling_release(p, in->budget);
    *p = requested;
    return 0;
}

/* Batches of an epoch that profiling has not seen: all, unless that takes too long, or much memory.
 */
static int count_more(struct chooser *c, double seconds, struct og_err *err)
{
    enum { MEMORY_SHARE = 8 };
    const struct og_choice_inputs *in = c->in;
    struct og_profiling more;
    struct og_profiling_groups groups = {0};
    const uint32_t n = contenders(c);
    const uint32_t ranks = og__owners(in->config).ranks; /* of a round */
    const double each = c->profiling.seconds / OG_MAX(c->profiling.n, 1u) + c->counting;
    const double epoch = (double)og__schedule_batches(&in->workload->schedule, OG__TRAIN);
    const double all = (double)OG_MIN(og__profiling_epoch(in->structure), (uint64_t)UINT32_MAX);
    const double most = OG_MIN(seconds / OG_MAX(each, 1e-9), OG_MIN(epoch, 1e9));
    const struct og_profiling_limits limits = {.epoch = 2,
                                               .batches = (uint32_t)OG_MIN(most * ranks, all),
                                               .bytes = og__budget_left(in->budget) / MEMORY_SHARE};
    if (n < 2 || most < 2.0 * c->profiling.n) {
        rank_again(c);
        return 0;
    }
    int rc;
    OG_TRY(og__profiling_sample(&more, in->structure, &limits, in->budget, err));
    OG_TRY(see_rounds(c, &more, err));
    OG_TRY(og__profiling_growth(&more, in->workload->n_nodes, in->budget, err));
    OG_TRY(og__profiling_groups(&groups, &more, in->structure, in->budget, err));
    rank_again(c);
    OG_TRY(rank(c, &more, &groups, n, err));
out:
    og__profiling_groups_release(&groups, in->budget);
    og__profiling_release(&more, in->budget);
    return rc;
}

/* First by the profiling batches alone. Then, as far as the run is long enough for it to pay, with
 * rates better known, and those that are near the fastest by more batches. */
static int compare_all(struct chooser *c, struct og_err *err)
{
    const double least = 0.01;
    const double most = 4;
    int rc;
    OG_TRY(og__probe_disk(&c->probe, &c->in->workload->profile, 0, err));
    for (uint32_t i = 0; i < c->n_fit; i++)
        c->out[i].candidate = i;
    OG_TRY(rank(c, &c->profiling, &c->groups, c->n_fit, err));
    const double run = c->out[0].seconds * OG_MAX(c->in->config->opt.epochs, 1);
    const double left = OG_MIN(CHOOSING_SHARE * run, most) - (og__now() - c->began);
    if (left < least)
        return 0;
    rc = og__probe_disk(&c->probe, &c->in->workload->profile, left / 4, err);
    return rc < 0 ? rc : count_more(c, left / 2, err);
out:
    return rc;
}

/* ---- choosing ---- */

static void add_compared(struct og_choice *to, const struct og_trial *t,
                         const struct og_estimate *e)
{
    to->compared[to->n_compared++] = (struct og_chosen){.policy = t->exec.policy,
                                                        .device_policy = t->exec.device_policy,
                                                        .layout = t->exec.layout,
                                                        .topology = t->exec.topology,
                                                        .alternate = t->exec.alternate,
                                                        .n_slots = t->memory.n_slots,
                                                        .estimate = *e};
}

/* Puts the fastest execution plan that keeps the topology's place first, if moving it gains too
 * little. */
static void prefer_staying(struct chooser *c)
{
    uint32_t stays = 0;
    while (stays < c->n_fit && c->candidate[c->out[stays].candidate].moves)
        stays++;
    if (stays == 0 || stays == c->n_fit || !c->out[stays].possible ||
        c->out[stays].seconds > WORTH_MOVING * c->out[0].seconds)
        return;
    const struct og_estimate first = c->out[stays];
    memmove(&c->out[1], &c->out[0], stays * sizeof(*c->out));
    c->out[0] = first;
}

static int keep_compared(const struct chooser *c, struct og_err *err)
{
    struct og_choice *to = c->to;
    free(to->compared);
    to->compared = calloc(c->n, sizeof(*to->compared));
    to->n_compared = 0;
    if (!to->compared)
        return og__fail_errno(err, -ENOMEM, NULL, "candidates");
    for (uint32_t i = 0; i < c->n_fit; i++)
        add_compared(to, &c->trial[c->number[c->out[i].candidate]], &c->out[i]);
    for (uint32_t i = 0; i < c->n; i++) {
        struct og_estimate none = {.possible = true, .memory = c->trial[i].memory.smallest};
        og__candidate_refuse(&none, "%.150s", c->trial[i].refused.message);
        if (!c->trial[i].fits)
            add_compared(to, &c->trial[i], &none);
    }
    return 0;
}

/* Candidates by how long they take, the first in front. */
static int compare(struct chooser *c, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    int rc;
    if (in->config->want & OG__WANT_MODEL)
        OG_TRY(og__time_model(in->learner, in->structure, in->pool, &c->model, err));
    if (in->config->handover.n > 0)
        c->model = in->config->handover.step_seconds;
    c->copy = og__copy_rate(in->budget);
    OG_TRY(og__know_links(in->learner, in->config, in->workload, in->budget, err));
    OG_TRY(og__probe_open(&c->probe, in->workload, in->config, in->budget, err));
    OG_TRY(compare_all(c, err));
    c->to->estimate = c->out[0];
out:
    og__probe_close(&c->probe, in->budget);
    return rc;
}

static void close_chooser(struct chooser *c)
{
    og__profiling_unrank(&c->profiling, c->in->budget);
    og__profiling_groups_release(&c->groups, c->in->budget);
    free(c->slots);
    og__worth_sums_close(c->sums, c->in->budget);
    if (c->worth != c->hotness)
        og__release(c->in->budget, c->worth,
                    og__nodes_known(c->in->config, c->in->workload->n_nodes) * sizeof(*c->worth),
                    "hotness");
    og__release(c->in->budget, c->hotness, (size_t)c->in->workload->n_nodes * 4, "hotness");
}

/* Nodes that have rows. */
static uint64_t rows_known(const struct og_choice_inputs *in)
{
    const struct og_graph *g = in->workload->row_graph;
    uint64_t n = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            n += og__group_known(in->config, &g->group[k]);
    return n;
}

/* With the plainest execution plan in *exec, and nothing to choose where that has room for all
 * rows. */
static int choose(struct chooser *c, struct og_exec_plan *exec, struct og_err *err)
{
    const struct og_choice_inputs *in = c->in;
    struct og_exec_plan execs[OG__MOST_EXEC_PLANS];
    const int n_execs = og__exec_plans_list(exec, execs);
    int rc = 0;
    og__plainest_exec_plan(exec);
    c->to->not_compared = "no feature rows are read";
    if (!(in->config->want & OG__WANT_FEATURES))
        return 0;
    OG_TRY(guess_hotness(c, err));
    c->on_disk = *in->workload;
    if (og__structure_may_move(in))
        og__structure_sizes(in->structure, OG_TOPOLOGY_DISK, &c->on_disk);
    try_all(c, execs, n_execs);
    if (c->n > 0)
        *exec = c->trial[0].exec;
    const bool holds_all =
        c->n_fit > 0 && c->trial[0].fits && c->trial[0].memory.n_slots >= rows_known(in);
    c->to->not_compared = holds_all  ? "memory holds all rows"
                          : c->n < 2 ? "the options leave one"
                                     : NULL;
    if (holds_all)
        c->n_fit = 1;
    if (c->n_fit > 0)
        OG_TRY(compare(c, err));
    if (c->n_fit > 0 && !c->to->not_compared) {
        prefer_staying(c);
        c->to->estimate = c->out[0];
        OG_TRY(keep_compared(c, err));
        *exec = c->trial[c->number[c->out[0].candidate]].exec;
    }
out:
    return rc;
}

bool og__exec_plans_are_counted(unsigned want, const struct og_graph *g)
{
    const bool trains = want & OG__WANT_TRAINING || !(want & OG__WANT_MODEL);
    bool known = false;
    for (uint32_t k = 0; k < g->n_groups; k++)
        known |= g->group[k].dim > 0;
    return trains && want & OG__WANT_FEATURES && known;
}

/* Says where phased memory, which the options leave open, gives a policy a much larger cache. */
static void suggest_phases(const struct chooser *c, const struct og_exec_plan *exec)
{
    struct og_exec_plan phased = *exec;
    struct og_trial here, there;
    bool known = false;
    int n;
    const struct og_policy_exec *its = og__policy_execs(exec->policy, &n);
    for (int i = 0; i < n; i++)
        known |= its[i].alternate;
    phased.alternate = true;
    if (exec->alternate || !known || og_options_given(&c->in->config->opt, "phased-memory") ||
        !og__exec_plan_allowed(c->in->config, &phased))
        return;
    plan_memory(c, exec, &here);
    plan_memory(c, &phased, &there);
    const double all = (double)rows_known(c->in);
    const double rows = OG_MIN((double)here.memory.n_slots, all);
    const double more = OG_MIN((double)there.memory.n_slots, all) / OG_MAX(rows, 1);
    if (!here.fits || !there.fits || more <= LARGER)
        return;
    const char *policy = og__option_word("policy", exec->policy);
    if (here.memory.n_slots > 0)
        og__say(
            &c->in->config->log, OG__INFO,
            "--policy %s: with --phased-memory its cache would hold about %.1f times as many rows",
            policy, more);
    else
        og__say(&c->in->config->log, OG__INFO,
                "--policy %s: its cache has few rows or none; with --phased-memory about %.0f",
                policy, more);
}

/* How long the execution plan takes that was given. What that would need is not worth a refusal. */
static int tell_given(struct chooser *c, const struct og_exec_plan *exec, struct og_err *err)
{
    int rc;
    if (c->in->packs ||
        !og__exec_plans_are_counted(c->in->config->want, c->in->workload->row_graph))
        return 0;
    OG_TRY(guess_hotness(c, err));
    try_exec(c, exec);
    suggest_phases(c, exec);
    if (c->n_fit > 0)
        OG_TRY(compare(c, err));
out:
    return rc;
}

int og__choose(struct og_choice *to, const struct og_choice_inputs *in,
               const struct og_profiling *profiling, struct og_exec_plan *exec, struct og_err *err)
{
    const bool rounds = og__exchanges(in->config) && in->config->want & OG__WANT_FEATURES;
    const bool given = exec->policy != OG_POLICY_AUTO;
    struct chooser c = {.in = in, .to = to, .profiling = *profiling, .began = og__now()};
    struct og_profiling requested = {0};
    int rc = 0;
    to->not_compared = given ? "the policy is given" : NULL;
    if (rounds) {
        OG_TRY(og__profiling_requests(&requested, profiling, &in->config->share,
                                      in->workload->n_nodes, in->budget, err));
        OG_TRY(og__samples_ahead(exec) || !given
                   ? og__profiling_growth(&requested, in->workload->n_nodes, in->budget, err)
                   : 0);
        c.profiling = requested;
    }
    OG_TRY(given ? tell_given(&c, exec, err) : choose(&c, exec, err));
out:
    close_chooser(&c);
    if (rounds)
        og__profiling_release(&requested, in->budget);
    if (rc == -ENOMEM && given) { /* nothing was to be chosen */
        *err = (struct og_err){0};
        return 0;
    }
    return rc;
}
