/* From counts to seconds: a model of the flow (train/flow.h, ahead/ahead.h).
 *
 *   straight     sample | plan | read | train           each batch through all, side by side
 *
 *   in turns     sample  plan  sweep+write  fill  |  read | train           a superbatch
 *                ---------- one after another --    side by side
 *                (what fills the cache comes by in the sweep, if there is one)
 *
 *   sweep        sample  plan  fill  |  sweep | train          a superbatch
 *
 * What runs side by side takes as long as the slowest of it, and no less than all that it asks of
 * the disk or of the cores together; with --pipeline none as long as all of it. What is reused for
 * R epochs counts for an R-th. */
#include "plan/candidate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what things take ---- */

/* Shares of counts, not rounded. */
struct io {
    double reads, bytes;
};

static struct io times(struct og_io_counts io, double by)
{
    return (struct io){(double)io.reads * by, (double)io.bytes * by};
}

static struct io expected(struct og_io_expected io)
{
    return (struct io){io.reads, io.bytes};
}

static struct io times_io(struct io io, double by)
{
    return (struct io){io.reads * by, io.bytes * by};
}

/* Requests and bytes both take their time, as the profile has it (io/io.h). The longer of the two
 * alone, as of a disk with two limits, was found a third short where rows lie 40 to 80 KiB apart.
 */
static double disk_seconds(const struct og_disk_profile *disk, struct io io, double bandwidth)
{
    return io.reads / disk->iops + io.bytes / bandwidth;
}

static const struct og_disk_profile *structure_disk(const struct og_choice *given)
{
    return given->structure_disk.iops > 0 ? &given->structure_disk : &given->disk;
}

struct rates {
    double bandwidth, write, fresh, copy; /* bytes a second */
    double longer;                        /* than the trace is a superbatch, or 1 */
    double own;                           /* as longer, but for batches that are another's again */
    double wider;        /* distinct nodes of such a superbatch, for one of the trace */
    double traces;       /* of an epoch: counts of one trace times this are an epoch's */
    double prepared;     /* preparations an epoch: 1, or fewer where samples are reused */
    double superbatches; /* an epoch */
    double batches;      /* an epoch */
};

static double or_else(double rate, double otherwise)
{
    return rate > 0 ? rate : otherwise;
}

/* Is what is prepared for a superbatch good for all epochs that reuse its batches, in whatever
 * order? */
static bool lasts(const struct og_candidate *c)
{
    return c->superbatch > 0 && og__policy_is_steady(c->policy.kind);
}

/* A superbatch of k times as many batches as the trace wants more nodes than that shows. With each
 * doubling they grow by a power that is itself smaller each time. */
static double wanted_nodes(const struct og_choice *given, double k)
{
    const double slowing = or_else(given->slowing, 1);
    const double doublings = log2(OG_MAX(k, 1.0));
    const double steps =
        slowing < 1 ? slowing * (1 - pow(slowing, doublings)) / (1 - slowing) : doublings;
    const uint64_t most = given->most_wanted ? given->most_wanted : given->n_nodes;
    return OG_MIN(given->distinct * exp2(given->growth * steps), (double)most);
}

/* Epochs that train on the same samples bring no new nodes: of so many batches in a row, how many
 * are not another's again? For one of the trace, which has n. */
static double own_batches(const struct og_candidate *c, double batches, double n, double epoch)
{
    const double drawn = OG_MAX(epoch, batches / OG_MAX(c->resample_every, 1u));
    return OG_MAX(OG_MIN(batches, drawn), n) / n;
}

static struct rates rates_of(const struct og_choice *given, const struct og_candidate *c,
                             const struct og_candidate_counts *counts)
{
    const double n = OG_MAX(given->trace.n_batches, 1u);
    const double batches = or_else(given->epoch_batches, n);
    const double reuse = c->resample_every;
    const double epochs = given->epochs;
    const double longer = OG_MAX(c->superbatch, n) / n; /* than the trace, over more epochs */
    const double own = own_batches(c, OG_MAX(c->superbatch, n), n, batches);
    double superbatches = counts->superbatches * batches / n / longer;
    if (longer > 1 && epochs > 0) /* of a run, which the last one may not fill */
        superbatches = ceil(epochs * batches / c->superbatch) / epochs;
    return (struct rates){
        .bandwidth = given->disk.bandwidth,
        .write = or_else(given->times.write, given->disk.bandwidth),
        .fresh = or_else(given->times.fresh, given->disk.bandwidth),
        .copy = or_else(given->times.copy, INFINITY),
        .longer = longer,
        .own = own,
        .wider = given->distinct > 0 ? wanted_nodes(given, own) / given->distinct : own,
        .traces = batches / n,
        .prepared = !lasts(c)    ? 1
                    : epochs > 0 ? ceil(epochs / reuse) / epochs
                                 : 1 / reuse,
        .superbatches = superbatches,
        .batches = batches,
    };
}

/* Of all caches. */
static double slots_of(const struct og_candidate *c)
{
    return (double)c->policy.n_slots + (c->tiers ? c->tiers->device.n_slots : 0);
}

static bool writes(const struct og_candidate *c)
{
    return c->layout == OG__PACKED || c->layout == OG__SEGMENTED;
}

/* ---- what an epoch reads and writes ---- */

struct bytes {
    struct io fill, sweep, batches, topology; /* of a steady epoch */
    double written, spill_written, spill_read, spill_reads;
};

/* At most all of the file. */
static struct io within_file(const struct og_choice *given, struct io io)
{
    const double all = (double)given->n_nodes * (double)given->rule.row_bytes;
    return times_io(io, io.bytes > all ? all / io.bytes : 1);
}

/* A cache that visits choose holds what happened to be visited in the trace; of many more batches
 * it can only hold what all of them visit much. Those misses lie between the trace's own and the
 * ones of batches whose visits did not count, near the harmonic mean (bench/unlearnt.py); the
 * trace's differ from them as the inverse of its length does. */
static double unlearnt_misses(const struct og_candidate_counts *n, const struct rates *r)
{
    const double trace = (double)n->misses;
    const double held_out = (double)n->held_out;
    const double any = trace > 0 ? 2 * trace * held_out / (trace + held_out) : 0;
    return OG_MAX(any - trace, 0.0) * (1 - 1 / r->own);
}

/* What finds no slot in a superbatch longer than the trace is missed at least once. How many rows
 * more than in the trace, for each run of batches as long as that? */
static double more_misses(const struct og_choice *given, const struct og_candidate *c,
                          const struct og_candidate_counts *n, const struct rates *r)
{
    const double slots = slots_of(c);
    if (r->longer <= 1)
        return 0;
    double shown = OG_MAX(given->distinct - slots, 0.0);
    double there = OG_MAX(given->distinct * r->wider - slots, 0.0) / r->longer;
    return OG_MAX(there - shown, unlearnt_misses(n, r));
}

/* Reading those: each by itself from the file, or one behind another from what was written. */
static struct io read_more(const struct og_choice *given, const struct og_candidate *c, double rows)
{
    const struct og_read_rule *rule = &given->rule;
    const double packed = rows * (double)og__kept_row_bytes(given);
    if (!writes(c))
        return (struct io){rows, rows * (double)OG_MAX(rule->row_bytes, rule->align)};
    return (struct io){packed / (double)OG_MAX(rule->max_request, (size_t)1), packed};
}

/* Sweeping up rows that the trace does not show: the whole file where they lie near one another. */
static struct io sweep_more(const struct og_choice *given, const struct og_candidate *c,
                            const struct rates *r)
{
    const struct og_read_rule *rule = &given->rule;
    const double slots = slots_of(c);
    const double shown = OG_MAX(given->distinct - slots, 0.0) * r->wider;
    const double more = OG_MAX(given->distinct * r->wider - slots, 0.0) - shown;
    const double all = (double)given->n_nodes * (double)rule->row_bytes;
    if (more <= 0)
        return (struct io){0};
    if (all / more > (double)(rule->gap + rule->row_bytes))
        return (struct io){more, more * (double)OG_MAX(rule->row_bytes, rule->align)};
    return (struct io){all / (double)OG_MAX(rule->max_request, (size_t)1), all};
}

/* Reading so many rows that lie anywhere among all. */
static struct io scattered(const struct og_choice *given, double rows)
{
    return expected(og__read_rule_expect(&given->rule, rows, (double)given->n_nodes));
}

/* Reading a share of so many rows anew, beside reading them all: what lies between is read too. */
static double among_others(const struct og_choice *given, double rows, double share)
{
    const double all = scattered(given, rows).bytes;
    return all > 0 ? scattered(given, rows * share).bytes / all : share;
}

/* The share of a cache that a later superbatch has to read anew, where the trace shows only one:
 * what it yielded; but for caches that stay, also rows that its batches bring. Those of a new
 * sample are as many as twice the batches have more nodes; those of the same one again, what the
 * cache did not hold of them. */
static double later_share(const struct og_choice *given, const struct og_candidate *c,
                          const struct rates *r)
{
    const double slots = OG_MAX(slots_of(c), 1.0);
    const double yielded = OG_MIN(c->n_yielded, slots) / slots;
    if (og__policy_is_static(c->policy.kind))
        return yielded;
    if (given->distinct <= 0)
        return 1;
    const double wanted = given->distinct * r->wider;
    double anew = OG_MIN(wanted_nodes(given, 2 * r->own) / wanted - 1, 1.0);
    double again = OG_MAX(1 - slots / wanted, 0.0);
    double of_sample = lasts(c) ? 1 : OG_MAX(c->resample_every * r->superbatches, 1.0);
    double share = (anew + again * (of_sample - 1)) / of_sample;
    return yielded + (1 - yielded) * among_others(given, OG_MIN(wanted, slots), share);
}

/* Filling the cache, an epoch: the first superbatch of a run all of it (where the policy does not
 * begin with that), others as later ones of the trace do. */
static struct io filling(const struct og_choice *given, const struct og_candidate *c,
                         const struct og_candidate_counts *n, const struct rates *r)
{
    const struct og_io_counts later = {n->fill.reads - n->first_fill.reads,
                                       n->fill.bytes - n->first_fill.bytes};
    const double slots = OG_MAX(slots_of(c), 1.0);
    const double shown = OG_MIN(given->distinct, slots);
    const double grown = shown > 0 ? OG_MIN(given->distinct * r->wider, slots) / shown : 1;
    const double all = r->superbatches * r->prepared;
    const double first = given->epochs > 0 ? OG_MIN(1.0 / given->epochs, all) : 0;
    const double begins = og__policy_looks_ahead(c->policy.kind) ? first : 0;
    const struct io one = within_file(given, times(n->first_fill, grown));
    const struct io each = n->superbatches > 1
                               ? within_file(given, times(later, grown / (n->superbatches - 1)))
                               : times_io(one, later_share(given, c, r));
    const struct io begun = times_io(one, begins);
    const struct io rest = times_io(each, all - first);
    return (struct io){begun.reads + rest.reads, begun.bytes + rest.bytes};
}

/* A longer superbatch has its misses from more of the file, and still reads that but once. */
static struct io sweeping(const struct og_choice *given, const struct og_candidate *c,
                          const struct og_candidate_counts *n, const struct rates *r)
{
    const double sweeps = r->superbatches * r->prepared;
    if (n->superbatches == 0)
        return (struct io){0};
    struct io sweep = times(n->sweep, r->wider / n->superbatches);
    if (writes(c) && r->longer > 1) {
        const struct io more = sweep_more(given, c, r);
        sweep.reads += more.reads;
        sweep.bytes += more.bytes;
    }
    return times_io(r->longer > 1 ? within_file(given, sweep) : sweep, sweeps);
}

/* ---- rows that enter while others are trained (plan/sweep.c) ---- */

/* The trace shows how many rows the first window of a superbatch reads, and if it is longer than
 * that also how many the later ones do. If it is not, windows are as much longer as the cache is
 * larger, and as often again as epochs reuse what fits, and the next one reads what two of them
 * want and one does not. */
static void windows_of(const struct og_choice *given, const struct og_candidate *c,
                       const struct og_candidate_counts *n, const struct rates *r, struct bytes *b)
{
    const double batches = OG_MAX(given->trace.n_batches, 1u);
    const double begun = OG_MAX(n->superbatches, 1u);
    double first = (double)n->open_batches / begun; /* batches of the first window */
    struct io later;                                /* a batch */
    b->fill = times(n->open, r->superbatches / begun);
    if (n->windows > n->superbatches) {
        const struct og_io_counts rest = {n->fill.reads - n->open.reads,
                                          n->fill.bytes - n->open.bytes};
        later = times(rest, 1 / (batches - (double)n->open_batches));
    } else {
        const double larger = c->policy.n_slots / OG_MAX(given->distinct, 1.0);
        const double reach = pow(OG_MAX(larger, 1.0), 1 / OG_MAX(given->growth, 0.1));
        const bool whole = reach * batches >= r->batches; /* samples of an epoch, or several */
        const double longer = whole ? reach * c->resample_every : reach;
        const double grown = OG_MIN(longer, r->longer);
        const double shown = scattered(given, given->distinct).bytes;
        const double one =
            wanted_nodes(given, own_batches(c, grown * batches, batches, r->batches));
        const double both =
            wanted_nodes(given, own_batches(c, 2 * grown * batches, batches, r->batches));
        const double measured = shown > 0 ? (double)n->open.bytes / begun / shown : 1;
        const struct io window = scattered(given, one);
        const struct io next = scattered(given, both - one);
        b->fill = (struct io){window.reads * measured * r->superbatches,
                              window.bytes * measured * r->superbatches};
        first *= grown;
        later = (struct io){next.reads * measured / first, next.bytes * measured / first};
    }
    const double rest = OG_MAX(r->batches - first * r->superbatches, 0.0);
    b->sweep = (struct io){later.reads * rest, later.bytes * rest};
}

/* What a group of batches reads of the structure: what a smaller one tells; but where none was
 * seen, or it was in memory so far, the file once a hop, with the largest requests. */
static struct io group(const struct og_choice *given, const struct og_candidate *c, double batches)
{
    const double passes = (double)given->hops * (double)given->structure_bytes;
    if (given->group.batches > 0 && !c->moves)
        return expected(og__group_expect(&given->group, batches, &given->lists_rule));
    return (struct io){passes / (double)OG_MAX(given->rule.max_request, (size_t)1), passes};
}

/* An epoch, but for what lies in a cache. */
static struct io structure(const struct og_choice *given, const struct og_candidate *c,
                           const struct rates *r)
{
    const double share = r->prepared * (1 - c->lists_cached);
    const struct io alone = times(given->topology, share);
    const double together = OG_MIN((double)OG_MAX(c->together, 1u), r->batches);
    const double groups = ceil(r->batches / OG_MAX(c->together, 1u)) * share;
    const struct io most = times_io(group(given, c, together), groups);
    if (c->moves)
        return most;
    if (c->together < 2 || alone.bytes <= most.bytes)
        return alone;
    return (struct io){OG_MIN(alone.reads, most.reads), most.bytes};
}

/* The sweep that packs also fills the cache: what both want of the file is read but once. */
static void sweep_once(const struct og_choice *given, const struct og_candidate *c,
                       const struct rates *r, struct bytes *b)
{
    const double sweeps = r->superbatches * r->prepared;
    if (c->layout != OG__PACKED || sweeps <= 0)
        return;
    const struct io both = {b->fill.reads + b->sweep.reads, b->fill.bytes + b->sweep.bytes};
    const struct io once = times_io(within_file(given, times_io(both, 1 / sweeps)), sweeps);
    b->sweep.reads = OG_MAX(once.reads - b->fill.reads, 0.0);
    b->sweep.bytes = OG_MAX(once.bytes - b->fill.bytes, 0.0);
}

static struct bytes bytes_of(const struct og_choice *given, const struct og_candidate *c,
                             const struct og_candidate_counts *n, const struct rates *r)
{
    struct bytes b = {
        .fill = filling(given, c, n, r),
        .sweep = sweeping(given, c, n, r),
        .batches = times(n->batches, r->traces),
        .topology = structure(given, c, r),
        .written = (double)n->written * r->traces * r->prepared,
        .spill_written = (double)c->spill_bytes * r->prepared,
        .spill_read = (double)c->spill_bytes,
        .spill_reads = (double)c->spill_reads,
    };
    if (og__policy_fills_beside(c->policy.kind)) {
        windows_of(given, c, n, r, &b);
        b.topology.bytes += (double)c->reload_bytes * r->superbatches;
        return b;
    }
    const double missed = more_misses(given, c, n, r) * r->traces;
    const struct io more = read_more(given, c, missed);
    sweep_once(given, c, r, &b);
    b.batches.reads += more.reads;
    b.batches.bytes += more.bytes;
    b.written += writes(c) ? more.bytes * r->prepared : 0;
    b.topology.bytes += (double)c->reload_bytes * r->superbatches * r->prepared;
    return b;
}

static void total_bytes(const struct bytes *b, struct og_estimate *e)
{
    double reads = b->fill.reads + b->sweep.reads + b->batches.reads + b->topology.reads;
    double bytes = b->fill.bytes + b->sweep.bytes + b->batches.bytes + b->topology.bytes;
    e->reads = (uint64_t)llround(reads + b->spill_reads);
    e->bytes_read = (uint64_t)llround(bytes + b->spill_read);
    e->bytes_written = (uint64_t)llround(b->written + b->spill_written);
}

/* ---- what the disk has room for ---- */

/* Containers of a superbatch, as far as the trace tells: where it has fewer batches, those it does
 * not have miss as much, and rows that it does not show; and a margin. In segments each row may be
 * there but once. */
static double written_at_once(const struct og_choice *given, const struct og_candidate *c,
                              const struct og_candidate_counts *n, const struct rates *r)
{
    const double row = (double)og__kept_row_bytes(given);
    const double shown = OG_MIN(c->superbatch, OG_MAX(given->trace.n_batches, 1u));
    const double longer = OG_MAX(c->written_batches, c->superbatch) / shown;
    const double bytes = (double)n->disk;
    if (!writes(c) || longer <= 1)
        return bytes;
    const double more = OG_MIN(more_misses(given, c, n, r), (double)(n->rows - n->misses));
    double all = (bytes + more * row) * longer;
    const double orders = 2 * sizeof(uint32_t) * (double)n->misses * longer;
    if (c->layout == OG__SEGMENTED && given->distinct > 0)
        all = OG_MIN(all, given->distinct * r->wider * row + orders);
    return bytes + OG_MAX(all - bytes, 0.0) * (1 + given->disk_margin);
}

static void check_disk(const struct og_choice *given, const struct og_candidate *c,
                       const struct rates *r, struct og_estimate *e)
{
    char asked[32];
    char there[32];
    const double disk = written_at_once(given, c, &e->counts, r) + (double)c->spilled_bytes;
    if (disk > (double)given->disk_limit)
        og__candidate_refuse(e, "takes %s of disk, %s are allowed", og__human_bytes(asked, disk),
                             og__human_bytes(there, (double)given->disk_limit));
}

/* ---- terms ---- */

/* Rows are copied into chunks; or those that enter a cache from staging, at most all misses. */
static double copied_bytes(const struct og_choice *given, const struct og_candidate *c,
                           const struct og_candidate_counts *n, const struct rates *r)
{
    double enters = og__policy_admits(c->policy.kind) ? 1 : 0;
    double packed = writes(c) ? r->prepared : 0;
    return (enters + packed) * (double)n->misses * r->traces * (double)og__kept_row_bytes(given);
}

/* Core-seconds of planning a row. Frequency counts visits, sweep notes when a node is wanted last;
 * others keep a list of each node's uses. */
static double plan_row(const struct og_flow_times *t, const struct og_candidate *c)
{
    const int policy = c->policy.kind;
    if (c->superbatch == 0 || og__policy_is_static(policy))
        return t->plan_row;
    return t->plan_row + (og__policy_lists_uses(policy) ? t->prepare_row : t->count_row);
}

/* Rows that a device has not go over the link, those that its cache lets go the other way; and each
 * batch is collected there. */
static void set_link(const struct og_choice *given, const struct og_candidate *c,
                     const struct rates *r, struct og_estimate *e)
{
    const struct og_candidate_counts *n = &e->counts;
    const struct og_link_rates *link = &given->link;
    const double row = (double)og__kept_row_bytes(given) * r->traces;
    if (!c->tiers)
        return;
    const double to = (double)og__tiers_linked(&n->tiers, n->rows) * row;
    const double back = (double)og__tiers_linked_back(&n->tiers) * row;
    e->device_hits = (uint64_t)llround((double)n->tiers.device_hits * r->traces);
    e->host_hits = (uint64_t)llround((double)n->tiers.host_hits * r->traces);
    e->victim_hits = (uint64_t)llround((double)n->tiers.victim_hits * r->traces);
    e->link_bytes = (uint64_t)llround(to);
    e->link_bytes_back = (uint64_t)llround(back);
    if (link->bandwidth <= 0)
        return;
    e->term[OG__LINKING] = (to + back) / link->bandwidth + r->batches * link->latency;
    e->term[OG__COLLECTING] = (double)n->rows * row / link->collect;
}

/* Core-seconds of a batch: the trace's were sampled from where its lists were. */
static double sample_one(const struct og_flow_times *t, const struct og_candidate *c)
{
    if (c->moves)
        return t->sample * or_else(t->together, 1);
    return t->sample * (1 - c->lists_cached * (1 - or_else(t->cached, 1)));
}

static void set_terms(const struct og_choice *given, const struct og_candidate *c,
                      const struct rates *r, const struct bytes *b, struct og_estimate *e)
{
    const struct og_flow_times *t = &given->times;
    const struct og_disk_profile *disk = &given->disk;
    const struct og_disk_profile *of_structure = structure_disk(given);
    const double sample = r->batches * sample_one(t, c) * r->prepared;
    const double rows = (double)e->counts.rows * r->traces * r->prepared;
    const double topology = disk_seconds(of_structure, b->topology, of_structure->bandwidth);
    const double read_back = b->spill_read / r->fresh;
    double *term = e->term;
    const int samplers = given->one_by_one && c->superbatch == 0 ? 1 : t->samplers;
    term[OG__SAMPLING] = OG_MAX(sample / OG_MAX(samplers, 1), topology);
    term[OG__PLANNING] = rows * plan_row(t, c);
    term[OG__SWEEPING] = disk_seconds(disk, b->sweep, r->bandwidth);
    term[OG__SPILLING] = b->spill_written / r->write;
    term[OG__WRITING] = b->written / r->write;
    term[OG__COPYING] = copied_bytes(given, c, &e->counts, r) / r->copy;
    term[OG__FILLING] = disk_seconds(disk, b->fill, r->bandwidth);
    term[OG__READING] =
        disk_seconds(disk, b->batches, writes(c) ? r->fresh : r->bandwidth) + read_back;
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

/* How rows come to a device, if they do. */
static unsigned coming(const struct og_candidate *c)
{
    return c->tiers ? OF(OG__LINKING) | OF(OG__COLLECTING) : 0;
}

/* Stages side by side: as long as the slowest, and the others once for the first batch of every
 * superbatch, when there is nothing yet to work on beside. */
static double side_by_side(const struct og_choice *given, const double *term, unsigned stages,
                           enum og__term slowest, const struct rates *r)
{
    if (given->one_by_one)
        return sum_of(term, stages);
    double others = sum_of(term, stages & ~OF(slowest));
    return term[slowest] + others * OG_MAX(r->superbatches, 1.0) / OG_MAX(r->batches, 1.0);
}

/* Of batches that are sampled together the first one waits for the last. */
static enum og__term straight(const struct og_choice *given, const struct og_candidate *c,
                              const struct rates *r, struct og_estimate *e)
{
    const unsigned before = c->together > 1 ? OF(OG__SAMPLING) : 0;
    const unsigned stages =
        (OF(OG__SAMPLING) | OF(OG__PLANNING) | OF(OG__READING) | coming(c) | OF(OG__TRAINING)) &
        ~before;
    const unsigned shared = given->one_by_one || before ? 0 : OF(OG__DISK) | OF(OG__CORES);
    enum og__term slowest = longest(e->term, stages | shared);
    e->epoch = sum_of(e->term, before) + side_by_side(given, e->term, stages, slowest, r);
    return longest(e->term, before | OF(slowest));
}

/* What a superbatch takes before the cache is filled: three phases, each as long as the slowest of
 * what goes on in it. What is spilled is written while others are sampled; the sweep and the
 * containers take as long as both where they share a disk. */
static unsigned phases(const struct og_choice *given, const struct og_candidate *c,
                       const double *term)
{
    const unsigned both = OF(OG__SWEEPING) | OF(OG__WRITING);
    const unsigned disk = given->apart ? OF(longest(term, both)) : both;
    unsigned set = OF(OG__PLANNING) | OF(longest(term, OF(OG__SAMPLING) | OF(OG__SPILLING)));
    if (!writes(c))
        return set;
    return set | (sum_of(term, disk) >= term[OG__COPYING] ? disk : OF(OG__COPYING));
}

static enum og__term ahead(const struct og_choice *given, const struct og_candidate *c,
                           const struct rates *r, struct og_estimate *e)
{
    const double *term = e->term;
    unsigned stages =
        OF(OG__TRAINING) | (writes(c) ? 0 : OF(OG__SWEEPING)) | OF(OG__READING) | coming(c);
    enum og__term slowest = longest(term, stages);
    unsigned before = phases(given, c, term) | OF(OG__FILLING);
    e->epoch = sum_of(term, before) + side_by_side(given, term, stages, slowest, r);
    return longest(term, before | OF(slowest));
}

/* ---- why ---- */

static void say_why(const struct bytes *b, enum og__term most, struct og_estimate *e)
{
    static const char *const names[] = {
        [OG__SAMPLING] = "sampling",
        [OG__PLANNING] = "planning",
        [OG__SWEEPING] = "sweeping the features",
        [OG__SPILLING] = "putting blocks and plans away",
        [OG__WRITING] = "writing",
        [OG__COPYING] = "copying rows",
        [OG__FILLING] = "filling the cache",
        [OG__READING] = "reading what batches miss",
        [OG__LINKING] = "the link to the device",
        [OG__COLLECTING] = "collecting rows on the device",
        [OG__TRAINING] = "training",
        [OG__DISK] = "all that the disk does",
        [OG__CORES] = "all that the cores do",
    };
    const struct io io = most == OG__SWEEPING  ? b->sweep
                         : most == OG__FILLING ? b->fill
                         : most == OG__READING ? b->batches
                                               : (struct io){0};
    char amount[32];
    int n = snprintf(e->why, sizeof(e->why), "%s takes %.3g of %.3g s", names[most], e->term[most],
                     e->epoch);
    if (io.bytes > 0)
        snprintf(e->why + n, sizeof(e->why) - (size_t)n, ": %s in %lld reads",
                 og__human_bytes(amount, io.bytes), llround(io.reads));
}

/* ---- all of it ---- */

void og__candidate_seconds(const struct og_choice *given, const struct og_candidate *c,
                           struct og_estimate *e)
{
    if (!e->counted)
        return;
    const struct rates r = rates_of(given, c, &e->counts);
    const struct bytes b = bytes_of(given, c, &e->counts, &r);
    check_disk(given, c, &r, e);
    /* what comes with every superbatch is in the epochs */
    bool once = !og__policy_looks_ahead(c->policy.kind);
    e->prepare = given->times.before;
    if (once)
        e->prepare += disk_seconds(&given->disk, times(e->counts.first_fill, 1), r.bandwidth);
    e->prepare += (double)c->load_bytes / structure_disk(given)->bandwidth;
    set_terms(given, c, &r, &b, e);
    enum og__term most = c->superbatch > 0 ? ahead(given, c, &r, e) : straight(given, c, &r, e);
    e->seconds = e->epoch + (given->epochs > 0 ? e->prepare / given->epochs : 0);
    total_bytes(&b, e);
    if (e->possible)
        say_why(&b, most, e);
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

int og__candidates_rank(const struct og_choice *given, const struct og_candidate *c, uint32_t n,
                        struct og_estimate *out, struct og_err *err)
{
    int rc = og__candidates_count(given, c, n, out, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        og__candidate_seconds(given, &c[i], &out[i]);
    og__candidates_sort(out, n);
    return 0;
}
