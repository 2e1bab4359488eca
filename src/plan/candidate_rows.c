/* Extrapolates counts over a trace to an epoch's reads and writes, for rows of one size. A trace
 * has some of the batches of a superbatch and an epoch. The growth of distinct nodes over its
 * batches predicts what longer ones use, cache and miss. */
#include "plan/candidate_parts.h"

#include <math.h>

/* ---- from a trace to an epoch ---- */

/* Does a superbatch's preparation serve all epochs that reuse its batches, in any order? */
static bool lasts(const struct og_candidate *c)
{
    return c->superbatch > 0 && og__policy_is_steady(c->policy.kind);
}

/* Distinct nodes of k times the trace's batches, relative to the trace. With each doubling they
 * grow by a power that itself decreases. */
static double wanted_nodes(const struct og_cost_inputs *given, double k)
{
    const double slowing = og__or_else(given->slowing, 1);
    const double doublings = log2(OG_MAX(k, 1.0));
    const double steps =
        slowing < 1 ? slowing * (1 - pow(slowing, doublings)) / (1 - slowing) : doublings;
    const uint64_t most = given->most_requested ? given->most_requested : given->n_nodes;
    return OG_MIN(given->distinct * exp2(given->growth * steps), (double)most);
}

/* The number of batches, of so many in a row, that are not reused. Epochs that train on the same
 * samples add no nodes. Relative to the trace, which has n. */
static double own_batches(const struct og_candidate *c, double batches, double n, double epoch)
{
    const double drawn = OG_MAX(epoch, batches / OG_MAX(c->resample_every, 1u));
    return OG_MAX(OG_MIN(batches, drawn), n) / n;
}

struct og__scale og__scale_of(const struct og_cost_inputs *given, const struct og_candidate *c,
                              const struct og_candidate_counts *counts)
{
    const double n = OG_MAX(given->trace.n_batches, 1u);
    const double batches = og__or_else(given->epoch_batches, n);
    const double reuse = c->resample_every;
    const double epochs = given->epochs;
    const double longer = OG_MAX(c->superbatch, n) / n; /* than the trace, over more epochs */
    const double own = own_batches(c, OG_MAX(c->superbatch, n), n, batches);
    double superbatches = counts->superbatches * batches / n / longer;
    if (longer > 1 && epochs > 0) /* of a run, which the last one may not fill */
        superbatches = ceil(epochs * batches / c->superbatch) / epochs;
    return (struct og__scale){
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

static double slots_of(const struct og_candidate *c)
{
    return (double)c->policy.n_slots + (c->tiers ? c->tiers->device.n_slots : 0);
}

/* ---- what an epoch reads and writes ---- */

/* Limits reads to the whole file. */
static struct og_io_expected within_file(const struct og_cost_inputs *given,
                                         struct og_io_expected io)
{
    const double all = (double)given->n_nodes * (double)given->rule.row_bytes;
    return og__io_scaled(io, io.bytes > all ? all / io.bytes : 1);
}

/* Additional misses of a cache selected by visits, which is fitted to the trace. For many more
 * batches it can only hold nodes that all of them visit often. Their misses are between the trace's
 * own and the held-out ones, near the harmonic mean (bench/unlearnt.py). The trace's difference
 * from them is proportional to the inverse of its length. */
static double unlearnt_misses(const struct og_candidate_counts *n, const struct og__scale *r)
{
    const double trace = (double)n->misses;
    const double held_out = (double)n->held_out;
    const double any = trace > 0 ? 2 * trace * held_out / (trace + held_out) : 0;
    return OG_MAX(any - trace, 0.0) * (1 - 1 / r->own);
}

/* Rows missed in addition by a superbatch that is longer than the trace. The result is for a run of
 * as many batches as the trace has. A row without a slot is missed at least once. */
static double more_misses(const struct og_cost_inputs *given, const struct og_candidate *c,
                          const struct og_candidate_counts *n, const struct og__scale *r)
{
    const double slots = slots_of(c);
    if (r->longer <= 1)
        return 0;
    double shown = OG_MAX(given->distinct - slots, 0.0);
    double there = OG_MAX(given->distinct * r->wider - slots, 0.0) / r->longer;
    return OG_MAX(there - shown, unlearnt_misses(n, r));
}

/* The reads of those rows: one by one from the file, or sequentially from packed files. */
static struct og_io_expected read_more(const struct og_cost_inputs *given,
                                       const struct og_candidate *c, double rows)
{
    const struct og_read_rule *rule = &given->rule;
    const double packed = rows * (double)og__cached_row_bytes(given);
    if (!og__candidate_writes(c))
        return (struct og_io_expected){rows, rows * (double)OG_MAX(rule->row_bytes, rule->align)};
    return (struct og_io_expected){packed / (double)OG_MAX(rule->max_request, (size_t)1), packed};
}

/* The scan's reads for rows that the trace does not show. It reads the whole file if these rows are
 * near one another, else each alone. */
static struct og_io_expected sweep_more(const struct og_cost_inputs *given,
                                        const struct og_candidate *c, const struct og__scale *r)
{
    const struct og_read_rule *rule = &given->rule;
    const double slots = slots_of(c);
    const double shown = OG_MAX(given->distinct - slots, 0.0) * r->wider;
    const double more = OG_MAX(given->distinct * r->wider - slots, 0.0) - shown;
    const double all = (double)given->n_nodes * (double)rule->row_bytes;
    if (more <= 0)
        return (struct og_io_expected){0};
    if (all / more > (double)(rule->gap + rule->row_bytes))
        return (struct og_io_expected){more, more * (double)OG_MAX(rule->row_bytes, rule->align)};
    return (struct og_io_expected){all / (double)OG_MAX(rule->max_request, (size_t)1), all};
}

/* Reads of so many rows at random positions. */
static struct og_io_expected scattered(const struct og_cost_inputs *given, double rows)
{
    return og__read_rule_expect(&given->rule, rows, (double)given->n_nodes);
}

/* Reads of a share of so many rows, relative to reading them all: gaps are read too. */
static double among_others(const struct og_cost_inputs *given, double rows, double share)
{
    const double all = scattered(given, rows).bytes;
    return all > 0 ? scattered(given, rows * share).bytes / all : share;
}

/* The share of a cache that later superbatches read again, if the trace has only one. That is the
 * released part and, unless the policy is static, new rows of its batches. A new sample adds as
 * many nodes as twice the batches would. The same sample adds rows that the cache did not hold. */
static double later_share(const struct og_cost_inputs *given, const struct og_candidate *c,
                          const struct og__scale *r)
{
    const double slots = OG_MAX(slots_of(c), 1.0);
    const double released = OG_MIN(c->n_released, slots) / slots;
    if (og__policy_is_static(c->policy.kind))
        return released;
    if (given->distinct <= 0)
        return 1;
    const double wanted = given->distinct * r->wider;
    double anew = OG_MIN(wanted_nodes(given, 2 * r->own) / wanted - 1, 1.0);
    double again = OG_MAX(1 - slots / wanted, 0.0);
    double of_sample = lasts(c) ? 1 : OG_MAX(c->resample_every * r->superbatches, 1.0);
    double share = (anew + again * (of_sample - 1)) / of_sample;
    return released + (1 - released) * among_others(given, OG_MIN(wanted, slots), share);
}

/* Prefills of an epoch. The first superbatch of a run fills the cache (unless the policy starts
 * with that), others as later ones of the trace do. */
static struct og_io_expected filling(const struct og_cost_inputs *given,
                                     const struct og_candidate *c,
                                     const struct og_candidate_counts *n, const struct og__scale *r)
{
    const struct og_io_counts later = {n->fill.reads - n->first_fill.reads,
                                       n->fill.bytes - n->first_fill.bytes};
    const double slots = OG_MAX(slots_of(c), 1.0);
    const double shown = OG_MIN(given->distinct, slots);
    const double grown = shown > 0 ? OG_MIN(given->distinct * r->wider, slots) / shown : 1;
    const double all = r->superbatches * r->prepared;
    const double first = given->epochs > 0 ? OG_MIN(1.0 / given->epochs, all) : 0;
    const double begins = og__policy_looks_ahead(c->policy.kind) ? first : 0;
    const struct og_io_expected one = within_file(given, og__io_times(n->first_fill, grown));
    const struct og_io_expected each =
        n->superbatches > 1 ? within_file(given, og__io_times(later, grown / (n->superbatches - 1)))
                            : og__io_scaled(one, later_share(given, c, r));
    const struct og_io_expected begun = og__io_scaled(one, begins);
    const struct og_io_expected rest = og__io_scaled(each, all - first);
    return (struct og_io_expected){begun.reads + rest.reads, begun.bytes + rest.bytes};
}

/* A longer superbatch has its misses from more of the file, and still reads that but once. */
static struct og_io_expected sweeping(const struct og_cost_inputs *given,
                                      const struct og_candidate *c,
                                      const struct og_candidate_counts *n,
                                      const struct og__scale *r)
{
    const double sweeps = r->superbatches * r->prepared;
    if (n->superbatches == 0)
        return (struct og_io_expected){0};
    struct og_io_expected sweep = og__io_times(n->sweep, r->wider / n->superbatches);
    if (og__candidate_writes(c) && r->longer > 1) {
        const struct og_io_expected more = sweep_more(given, c, r);
        sweep.reads += more.reads;
        sweep.bytes += more.bytes;
    }
    return og__io_scaled(r->longer > 1 ? within_file(given, sweep) : sweep, sweeps);
}

/* ---- rows that enter while others are trained (plan/sweep.c) ---- */

/* The trace has the rows read in the first window of a superbatch. If it is longer than that, also
 * those of later windows. If not, windows grow with the cache, and with reuse of rows that fit by
 * epochs. The next one reads rows used in a pair of windows but not in one. */
static void windows_of(const struct og_cost_inputs *given, const struct og_candidate *c,
                       const struct og_candidate_counts *n, const struct og__scale *r,
                       struct og_candidate_io *b)
{
    const double batches = OG_MAX(given->trace.n_batches, 1u);
    const double begun = OG_MAX(n->superbatches, 1u);
    double first = (double)n->open_batches / begun; /* batches of the first window */
    struct og_io_expected later;                    /* a batch */
    b->fill = og__io_times(n->open, r->superbatches / begun);
    if (n->windows > n->superbatches) {
        const struct og_io_counts rest = {n->fill.reads - n->open.reads,
                                          n->fill.bytes - n->open.bytes};
        later = og__io_times(rest, 1 / (batches - (double)n->open_batches));
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
        const struct og_io_expected window = scattered(given, one);
        const struct og_io_expected next = scattered(given, both - one);
        b->fill = (struct og_io_expected){window.reads * measured * r->superbatches,
                                          window.bytes * measured * r->superbatches};
        first *= grown;
        later =
            (struct og_io_expected){next.reads * measured / first, next.bytes * measured / first};
    }
    const double rest = OG_MAX(r->batches - first * r->superbatches, 0.0);
    b->sweep = (struct og_io_expected){later.reads * rest, later.bytes * rest};
}
/* The sweep that packs also fills the cache: what both want of the file is read but once. */
static void sweep_once(const struct og_cost_inputs *given, const struct og_candidate *c,
                       const struct og__scale *r, struct og_candidate_io *b)
{
    const double sweeps = r->superbatches * r->prepared;
    if (c->layout != OG__PACKED || sweeps <= 0)
        return;
    const struct og_io_expected both = {b->fill.reads + b->sweep.reads,
                                        b->fill.bytes + b->sweep.bytes};
    const struct og_io_expected once =
        og__io_scaled(within_file(given, og__io_scaled(both, 1 / sweeps)), sweeps);
    b->sweep.reads = OG_MAX(once.reads - b->fill.reads, 0.0);
    b->sweep.bytes = OG_MAX(once.bytes - b->fill.bytes, 0.0);
}
/* Rows that the device lacks go over the link; rows that leave its cache go back. */
static void add_link(const struct og_cost_inputs *given, const struct og_candidate *c,
                     const struct og_candidate_counts *n, const struct og__scale *r,
                     struct og_candidate_io *io)
{
    const double row = (double)og__cached_row_bytes(given) * r->traces;
    if (!c->tiers)
        return;
    io->linked = (double)og__tiers_linked(&n->tiers, n->rows) * row;
    io->linked_back = (double)og__tiers_linked_back(&n->tiers) * row;
    io->collected = (double)n->rows * row;
}

/* Rows are copied into chunks; or those that enter a cache from staging, at most all misses. */
static double copied_bytes(const struct og_cost_inputs *given, const struct og_candidate *c,
                           const struct og_candidate_counts *n, const struct og__scale *r)
{
    double enters = og__policy_admits(c->policy.kind) ? 1 : 0;
    double packed = og__candidate_writes(c) ? r->prepared : 0;
    return (enters + packed) * (double)n->misses * r->traces * (double)og__cached_row_bytes(given);
}
/* Packed files of a superbatch, predicted from the trace. Batches beyond the trace miss as many
 * rows, plus new ones and a margin. In segments each row may occur once. */
static double written_at_once(const struct og_cost_inputs *given, const struct og_candidate *c,
                              const struct og_candidate_counts *n, const struct og__scale *r)
{
    const double row = (double)og__cached_row_bytes(given);
    const double shown = OG_MIN(c->superbatch, OG_MAX(given->trace.n_batches, 1u));
    const double longer = OG_MAX(c->written_batches, c->superbatch) / shown;
    const double bytes = (double)n->disk;
    if (!og__candidate_writes(c) || longer <= 1)
        return bytes;
    const double more = OG_MIN(more_misses(given, c, n, r), (double)(n->rows - n->misses));
    double all = (bytes + more * row) * longer;
    const double orders = 2 * sizeof(uint32_t) * (double)n->misses * longer;
    if (c->layout == OG__SEGMENTED && given->distinct > 0)
        all = OG_MIN(all, given->distinct * r->wider * row + orders);
    return bytes + OG_MAX(all - bytes, 0.0) * (1 + given->disk_margin);
}
/* Adds misses of batches that the trace does not have. */
static void add_missed(const struct og_cost_inputs *given, const struct og_candidate *c,
                       const struct og_candidate_counts *n, const struct og__scale *r,
                       struct og_candidate_io *io)
{
    const struct og_io_expected more = read_more(given, c, more_misses(given, c, n, r) * r->traces);
    sweep_once(given, c, r, io);
    io->batches = og__io_sum(io->batches, more);
    io->written += og__candidate_writes(c) ? more.bytes * r->prepared : 0;
}

struct og_candidate_io og__candidate_io(const struct og_cost_inputs *given,
                                        const struct og_candidate *c,
                                        const struct og_candidate_counts *counts)
{
    const struct og__scale r = og__scale_of(given, c, counts);
    struct og_candidate_io io = {
        .first_fill = og__io_times(counts->first_fill, 1),
        .fill = filling(given, c, counts, &r),
        .sweep = sweeping(given, c, counts, &r),
        .batches = og__io_times(counts->batches, r.traces),
        .written = (double)counts->written * r.traces * r.prepared,
        .copied = copied_bytes(given, c, counts, &r),
        .disk = written_at_once(given, c, counts, &r),
    };
    add_link(given, c, counts, &r, &io);
    if (og__policy_fills_during_training(c->policy.kind))
        windows_of(given, c, counts, &r, &io);
    else
        add_missed(given, c, counts, &r, &io);
    return io;
}
