/* From reads and writes to seconds: a model of the pipeline (flow/flow.h, lookahead/lookahead.h).
 *
 *   straight     sample | plan | read | train           each batch through all stages, in parallel
 *
 *   phased       sample  plan  sweep+write  fill  |  read | train           a superbatch
 *                ------ one after another ------     in parallel
 *                (prefills come from the scan, if there is one)
 *
 *   sweep        sample  plan  fill  |  sweep | train          a superbatch
 *
 * Parallel stages take as long as the slowest of them. They take at least their total demand on the
 * disk or on the cores. With --pipeline none, they take their sum. Work reused for R epochs counts
 * 1 / R. */
#include "plan/candidate_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what a disk takes ---- */

/* Requests and bytes both take time, as in the profile (io/io.h). The maximum of the two, as for a
 * disk with two limits, measured a third too short for rows 40 to 80 KiB apart. */
static double disk_seconds(const struct og_disk_profile *disk, struct og_io_expected io,
                           double bandwidth)
{
    return io.reads / disk->iops + io.bytes / bandwidth;
}

static const struct og_disk_profile *structure_disk(const struct og_cost_inputs *given)
{
    return given->structure_disk.iops > 0 ? &given->structure_disk : &given->disk;
}

/* The rate of writes during a run. */
static double write_rate(const struct og_cost_inputs *given)
{
    return og__or_else(given->times.write, given->disk.bandwidth);
}

/* The rate of reads soon after writes. */
static double fresh_rate(const struct og_cost_inputs *given)
{
    return og__or_else(given->times.fresh, given->disk.bandwidth);
}

/* ---- in addition to rows ---- */

/* An epoch's topology reads and spilled samples. */
struct other_io {
    struct og_io_expected topology;
    double spilled, spill_reads;
    double spill_written;
};

/* Topology reads of a sample group, from those of a smaller one. Without that, or for a topology in
 * memory so far: the file once a hop, with the largest requests. */
static struct og_io_expected group(const struct og_cost_inputs *given, const struct og_candidate *c,
                                   double batches)
{
    const double passes = (double)given->hops * (double)given->structure_bytes;
    if (given->sample_group.batches > 0 && !c->moves)
        return og__sample_group_expect(&given->sample_group, batches, &given->lists_rule);
    return (struct og_io_expected){passes / (double)OG_MAX(given->rule.max_request, (size_t)1),
                                   passes};
}

/* Topology reads of an epoch, without those that a cache serves. */
static struct og_io_expected structure(const struct og_cost_inputs *given,
                                       const struct og_candidate *c, const struct og__scale *r)
{
    const double share = r->prepared * (1 - c->lists_cached);
    const struct og_io_expected alone = og__io_times(given->topology, share);
    const double group_sampling = OG_MIN((double)OG_MAX(c->group_sampling, 1u), r->batches);
    const double groups = ceil(r->batches / OG_MAX(c->group_sampling, 1u)) * share;
    const struct og_io_expected most = og__io_scaled(group(given, c, group_sampling), groups);
    if (c->moves)
        return most;
    if (c->group_sampling < 2 || alone.bytes <= most.bytes)
        return alone;
    return (struct og_io_expected){OG_MIN(alone.reads, most.reads), most.bytes};
}
/* If rows enter during training, a superbatch is prepared again even if its batches are reused. */
static struct other_io other_io_of(const struct og_cost_inputs *given, const struct og_candidate *c,
                                   const struct og__scale *r)
{
    const bool anew = og__policy_fills_during_training(c->policy.kind);
    struct other_io b = {.topology = structure(given, c, r),
                         .spilled = (double)c->spill_bytes,
                         .spill_reads = (double)c->spill_reads,
                         .spill_written = (double)c->spill_bytes * r->prepared};
    b.topology.bytes += (double)c->reload_bytes * r->superbatches * (anew ? 1 : r->prepared);
    return b;
}

static void total_bytes(const struct other_io *b, struct og_estimate *e)
{
    const struct og_candidate_io *io = &e->io;
    double reads = io->fill.reads + io->sweep.reads + io->batches.reads + b->topology.reads;
    double bytes = io->fill.bytes + io->sweep.bytes + io->batches.bytes + b->topology.bytes;
    e->reads = (uint64_t)llround(reads + b->spill_reads);
    e->bytes_read = (uint64_t)llround(bytes + b->spilled);
    e->bytes_written = (uint64_t)llround(io->written + b->spill_written);
}

static void check_disk(const struct og_cost_inputs *given, const struct og_candidate *c,
                       struct og_estimate *e)
{
    char requested[32];
    char there[32];
    const double disk = e->io.disk + (double)c->spilled_bytes;
    if (disk > (double)given->disk_limit)
        og__candidate_refuse(e, "takes %s of disk, %s are allowed",
                             og__human_bytes(requested, disk),
                             og__human_bytes(there, (double)given->disk_limit));
}

/* ---- terms ---- */

/* Core-seconds of planning a row. Frequency counts visits; sweep records each node's last use;
 * others build a list of each node's uses. */
static double plan_row(const struct og_flow_times *t, const struct og_candidate *c)
{
    const int policy = c->policy.kind;
    if (c->superbatch == 0 || og__policy_is_static(policy))
        return t->plan_row;
    return t->plan_row + (og__policy_lists_uses(policy) ? t->prepare_row : t->count_row);
}
/* Rows go over the link, some the other way; and each batch is collected on the device. */
static void set_link(const struct og_cost_inputs *given, const struct og_candidate *c,
                     const struct og__scale *r, struct og_estimate *e)
{
    const struct og_tiers_cost *tiers = &e->counts.tiers;
    const struct og_link_rates *link = &given->link;
    if (!c->tiers)
        return;
    e->device_hits = (uint64_t)llround((double)tiers->device_hits * r->traces);
    e->host_hits = (uint64_t)llround((double)tiers->host_hits * r->traces);
    e->victim_hits = (uint64_t)llround((double)tiers->victim_hits * r->traces);
    e->link_bytes = (uint64_t)llround(e->io.linked);
    e->link_bytes_back = (uint64_t)llround(e->io.linked_back);
    if (link->bandwidth <= 0)
        return;
    e->term[OG__LINKING] =
        (e->io.linked + e->io.linked_back) / link->bandwidth + r->batches * link->latency;
    e->term[OG__COLLECTING] = e->io.collected / link->collect;
}

/* Core-seconds of a batch: the trace's were sampled from where its lists were. */
static double sample_one(const struct og_flow_times *t, const struct og_candidate *c)
{
    if (c->moves)
        return t->sample * og__or_else(t->group_sampling, 1);
    return t->sample * (1 - c->lists_cached * (1 - og__or_else(t->cached, 1)));
}

static void set_terms(const struct og_cost_inputs *given, const struct og_candidate *c,
                      const struct og__scale *r, const struct other_io *b, struct og_estimate *e)
{
    const struct og_candidate_io *io = &e->io;
    const struct og_flow_times *t = &given->times;
    const struct og_disk_profile *disk = &given->disk;
    const struct og_disk_profile *of_structure = structure_disk(given);
    const double sample = r->batches * sample_one(t, c) * r->prepared;
    const double rows = (double)e->counts.rows * r->traces * r->prepared;
    const double topology = disk_seconds(of_structure, b->topology, of_structure->bandwidth);
    const double read_back = b->spilled / fresh_rate(given);
    double *term = e->term;
    const int samplers = given->one_by_one && c->superbatch == 0 ? 1 : t->samplers;
    term[OG__SAMPLING] = OG_MAX(sample / OG_MAX(samplers, 1), topology);
    term[OG__PLANNING] = rows * plan_row(t, c);
    term[OG__SWEEPING] = disk_seconds(disk, io->sweep, disk->bandwidth);
    term[OG__SPILLING] = b->spill_written / write_rate(given);
    term[OG__WRITING] = io->written / write_rate(given);
    term[OG__COPYING] = io->copied / og__or_else(t->copy, INFINITY);
    term[OG__FILLING] = disk_seconds(disk, io->fill, disk->bandwidth);
    term[OG__READING] =
        disk_seconds(disk, io->batches,
                     og__candidate_writes(c) ? fresh_rate(given) : disk->bandwidth) +
        read_back;
    set_link(given, c, r, e);
    term[OG__TRAINING] = r->batches * t->model;
    term[OG__DISK] =
        topology + term[OG__SPILLING] + term[OG__SWEEPING] + term[OG__WRITING] + term[OG__READING];
    term[OG__CORES] = (sample + term[OG__PLANNING] + term[OG__COPYING]) / OG_MAX(t->threads, 1) +
                      term[OG__TRAINING];
}

/* ---- an epoch ---- */

#define OF(term) (1u << (term))

static double sum_of(const double *term, unsigned set)
{
    double sum = 0;
    for (int i = 0; i < OG__TERMS; i++)
        sum += set >> i & 1 ? term[i] : 0;
    return sum;
}

/* The longest of a set, the first of equal ones. */
static enum og__term longest(const double *term, unsigned set)
{
    enum og__term found = OG__TERMS;
    for (int i = 0; i < OG__TERMS; i++)
        if (set >> i & 1 && (found == OG__TERMS || term[i] > term[found]))
            found = (enum og__term)i;
    return found;
}

/* The stages that bring rows to a device, if any. */
static unsigned coming(const struct og_candidate *c)
{
    return c->tiers ? OF(OG__LINKING) | OF(OG__COLLECTING) : 0;
}

/* Time of parallel stages: that of the slowest. The others add once for the first batch of every
 * superbatch, when there is nothing to overlap. */
static double side_by_side(const struct og_cost_inputs *given, const double *term, unsigned stages,
                           enum og__term slowest, const struct og__scale *r)
{
    if (given->one_by_one)
        return sum_of(term, stages);
    double others = sum_of(term, stages & ~OF(slowest));
    return term[slowest] + others * OG_MAX(r->superbatches, 1.0) / OG_MAX(r->batches, 1.0);
}

/* In a sample group the first batch waits for the last. */
static enum og__term straight(const struct og_cost_inputs *given, const struct og_candidate *c,
                              const struct og__scale *r, struct og_estimate *e)
{
    const unsigned before = c->group_sampling > 1 ? OF(OG__SAMPLING) : 0;
    const unsigned stages =
        (OF(OG__SAMPLING) | OF(OG__PLANNING) | OF(OG__READING) | coming(c) | OF(OG__TRAINING)) &
        ~before;
    const unsigned shared = given->one_by_one || before ? 0 : OF(OG__DISK) | OF(OG__CORES);
    enum og__term slowest = longest(e->term, stages | shared);
    e->epoch = sum_of(e->term, before) + side_by_side(given, e->term, stages, slowest, r);
    return longest(e->term, before | OF(slowest));
}

/* Time of a superbatch before the cache is filled: three phases, each as long as its slowest part.
 * Spills are written while others are sampled. The scan and the packed files add up if they share a
 * disk. */
static unsigned phases(const struct og_cost_inputs *given, const struct og_candidate *c,
                       const double *term)
{
    const unsigned both = OF(OG__SWEEPING) | OF(OG__WRITING);
    const unsigned disk = given->apart ? OF(longest(term, both)) : both;
    unsigned set = OF(OG__PLANNING) | OF(longest(term, OF(OG__SAMPLING) | OF(OG__SPILLING)));
    if (!og__candidate_writes(c))
        return set;
    return set | (sum_of(term, disk) >= term[OG__COPYING] ? disk : OF(OG__COPYING));
}

static enum og__term ahead(const struct og_cost_inputs *given, const struct og_candidate *c,
                           const struct og__scale *r, struct og_estimate *e)
{
    const double *term = e->term;
    unsigned stages = OF(OG__TRAINING) | (og__candidate_writes(c) ? 0 : OF(OG__SWEEPING)) |
                      OF(OG__READING) | coming(c);
    enum og__term slowest = longest(term, stages);
    unsigned before = phases(given, c, term) | OF(OG__FILLING);
    e->epoch = sum_of(term, before) + side_by_side(given, term, stages, slowest, r);
    return longest(term, before | OF(slowest));
}

/* ---- why ---- */

static void say_why(enum og__term most, struct og_estimate *e)
{
    static const char *const names[] = {
        [OG__SAMPLING] = "sampling",
        [OG__PLANNING] = "planning",
        [OG__SWEEPING] = "sweeping the features",
        [OG__SPILLING] = "spilling blocks and plans",
        [OG__WRITING] = "writing",
        [OG__COPYING] = "copying rows",
        [OG__FILLING] = "filling the cache",
        [OG__READING] = "reading what batches miss",
        [OG__LINKING] = "the link to the device",
        [OG__COLLECTING] = "collecting rows on the device",
        [OG__TRAINING] = "training",
        [OG__DISK] = "all work of the disk",
        [OG__CORES] = "all work of the cores",
    };
    const struct og_io_expected io = most == OG__SWEEPING  ? e->io.sweep
                                     : most == OG__FILLING ? e->io.fill
                                     : most == OG__READING ? e->io.batches
                                                           : (struct og_io_expected){0};
    char amount[32];
    int n = snprintf(e->why, sizeof(e->why), "%s takes %.3g of %.3g s", names[most], e->term[most],
                     e->epoch);
    if (io.bytes > 0)
        snprintf(e->why + n, sizeof(e->why) - (size_t)n, ": %s in %lld reads",
                 og__human_bytes(amount, io.bytes), llround(io.reads));
}
/* ---- all of it ---- */

void og__candidate_seconds(const struct og_cost_inputs *given, const struct og_candidate *c,
                           struct og_estimate *e)
{
    if (!e->counted)
        return;
    const struct og__scale r = og__scale_of(given, c, &e->counts);
    const struct other_io b = other_io_of(given, c, &r);
    check_disk(given, c, e);
    /* what comes with every superbatch is in the epochs */
    bool once = !og__policy_looks_ahead(c->policy.kind);
    e->prepare = given->times.before;
    if (once)
        e->prepare += disk_seconds(&given->disk, e->io.first_fill, given->disk.bandwidth);
    e->prepare += (double)c->load_bytes / structure_disk(given)->bandwidth;
    set_terms(given, c, &r, &b, e);
    enum og__term most = c->superbatch > 0 ? ahead(given, c, &r, e) : straight(given, c, &r, e);
    e->seconds = e->epoch + (given->epochs > 0 ? e->prepare / given->epochs : 0);
    total_bytes(&b, e);
    if (e->possible)
        say_why(most, e);
}

/* Possible ones first, then by time, bytes read and number. */
static int by_rank(const void *left, const void *right)
{
    const struct og_estimate *a = left;
    const struct og_estimate *b = right;
    if (a->possible != b->possible)
        return a->possible ? -1 : 1;
    if (a->possible && a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    if (a->possible && a->bytes_read != b->bytes_read)
        return a->bytes_read < b->bytes_read ? -1 : 1;
    return a->candidate < b->candidate ? -1 : 1;
}

void og__candidates_sort(struct og_estimate *out, uint32_t n)
{
    qsort(out, n, sizeof(*out), by_rank);
}

int og__candidates_rank(const struct og_cost_inputs *given, const struct og_candidate *c,
                        uint32_t n, struct og_estimate *out, struct og_err *err)
{
    OG_DO(og__candidates_count(given, c, n, out, err));
    for (uint32_t i = 0; i < n; i++)
        og__candidate_seconds(given, &c[i], &out[i]);
    og__candidates_sort(out, n);
    return 0;
}
