/* Sampling ahead: how many batches make a superbatch, and what it takes. With more batches a policy
 * plans better, but the cache has less memory.
 *
 *   k batches ──> their distinct nodes ──> in memory: trace, tables, packing ──┐
 *                 as profiling showed  └─> on disk: ids, blocks, misses ───────┴──> the largest k
 *                                                                                   that fits */
#include "budget/memory_plan_parts.h"

#include "gather/gather.h"
#include "plan/demand.h"
#include "plan/foreseen.h"
#include "plan/packing.h"
#include "plan/segments.h"
#include "sample/superbatch.h"

#include <math.h>

/* ---- what k batches take ---- */

/* Distinct nodes grow as a power of the batches, a little slower the more there are (Heaps' law).
 * So the profiling batches' growth carries too far rather than too short. */
struct growth {
    double profiling, power; /* distinct nodes of the profiling batches */
    uint32_t batches;
    uint64_t most;
};

static struct growth growth_of(const struct og_workload *f)
{
    return (struct growth){f->growth.distinct, f->growth.power, OG_MAX(f->profiling_batches, 1u),
                           f->n_nodes};
}

/* For so many batches, each of so many rows at most. */
static uint64_t distinct_nodes(const struct growth *g, uint64_t rows, uint64_t batches)
{
    double guess = g->profiling * pow((double)batches / g->batches, g->power);
    return OG_MIN((uint64_t)(guess * 1.05) + 1, OG_MIN(g->most, batches * rows));
}

static size_t block_bytes(const struct og_workload *f)
{
    const unsigned extras = f->trace.extras;
    const unsigned arrays = 1 + !!(extras & OG__WITH_WEIGHTS) + !!(extras & OG__WITH_EDGES);
    size_t words = extras & OG__WITH_EDGES ? f->caps.n_units : 0;
    for (uint32_t h = 0; h < f->caps.n_hops; h++) {
        words += extras & OG__WITH_DEGREES ? f->caps.hop[h].n_src : 0;
        if (!og__is_part(extras, h, f->caps.n_hops))
            words += f->caps.hop[h].n_dst + 1 + f->caps.hop[h].n_edges * arrays;
        if (extras & OG__WITH_RELATIONS) /* a destination may have a list in each relation */
            words += f->caps.n_relations + 2 + 2 * f->caps.hop[h].n_lists;
    }
    return words * 4;
}

size_t og__spilled_batch_bytes(const struct og_workload *f)
{
    size_t edges = 0;
    const unsigned extras = f->trace.extras;
    for (uint32_t h = 0; h < f->caps.n_hops; h++)
        edges += og__is_part(extras, h, f->caps.n_hops) ? 0 : f->caps.hop[h].n_edges;
    size_t degrees = extras & OG__WITH_DEGREES ? og__input_rows(f) * 4 : 0;
    size_t weights = extras & OG__WITH_WEIGHTS ? edges * 4 : 0;
    size_t rows = extras & OG__WITH_EDGES ? (edges + f->caps.n_units) * 4 : 0;
    return (og__input_rows(f) * 8 + edges * 8 + degrees + weights + rows) * 100 /
           (100 + OG__MARGIN_PERCENT);
}

/* ---- its tail ---- */

/* A lot has at least an eighth of the tail. So what is spilled of a tail is in few pieces. */
enum { TAIL_LOTS = 8 };

/* Batches that the policy looks ahead after a superbatch, as far as the run has them. */
static uint64_t wanted_tail(const struct og_plan_inputs *p, uint64_t batches)
{
    const uint64_t run = og__longest_superbatch(p);
    return og__keeps_batches(p->exec)
               ? 0
               : OG_MIN((uint64_t)og__plan_inputs_tail(p), run - OG_MIN(run, batches));
}

/* How many of these can be prepared with it, and a lot. */
static uint64_t whole_tail(const struct og_plan_inputs *p, uint64_t batches)
{
    const uint64_t most = OG__MOST_FORESEEN;
    const uint64_t room = most - OG_MIN(most, batches);
    return OG_MIN(wanted_tail(p, batches), room / (TAIL_LOTS + 1) * TAIL_LOTS);
}

static uint64_t lot_of(uint64_t batches, uint64_t tail)
{
    return batches < tail / TAIL_LOTS ? tail / TAIL_LOTS : 0;
}

/* ---- a superbatch, and a tail after it ---- */

/* Rows of a planned batch, for an own one of so many. An owner may get requests for more, or
 * fewer. */
static uint64_t requested_of(const struct og_workload *f, uint64_t rows)
{
    return f->requested_rows > 0
               ? (uint64_t)((double)rows * (double)f->requested_rows / (double)og__input_rows(f)) +
                     1
               : rows;
}

size_t og__spilled_requests_bytes(const struct og_plan_inputs *p)
{
    const bool spilled = p->exec->alternate && og__exchanges(p->config);
    return spilled ? (size_t)p->workload->requested_rows * 2 * sizeof(uint32_t) : 0;
}

/* Does packing write a batch's misses over its ids in memory? It can with phased memory: batches
 * are on disk, and planned ids are not read again. Not if other lists are planned, of others or for
 * two caches, and not if groups are packed side by side. */
static bool packs_over_ids(const struct og_plan_inputs *p)
{
    return p->exec->alternate && !p->exec->tiers && !og__exchanges(p->config) &&
           p->workload->n_groups == 1;
}

/* Counts each group by itself. Besides the rows of one, it has a table of batches for each
 * other, and the longest lists of types may be of several batches. At worst every row is missed. */
static size_t packing_bytes(const struct og_plan_inputs *p, uint64_t rows, uint64_t batches)
{
    const struct og_workload *f = p->workload;
    const uint64_t own = packs_over_ids(p) ? 0 : batches * rows;
    const size_t all = og__packing_bytes(f->n_nodes, own, batches, OG_MAX(rows, f->group_rows));
    const uint32_t groups = f->n_groups;
    return all + (groups > 1 ? (groups - 1) * og__packing_bytes(64, 0, batches, 0) : 0);
}

/* Where each batch is, and the sizes of requests: for as long as batches are trained on. */
static size_t table_bytes(const struct og_plan_inputs *p, uint64_t batches, uint64_t all)
{
    const uint32_t ranks = p->config->share.ranks;
    const size_t bytes = og__superbatch_bytes(p->config->opt.n_fanout, all, 0) +
                         all * OG__SAMPLED_LOOKAHEAD_BYTES + batches * OG__FILL_WINDOW_BYTES;
    if (!og__exchanges(p->config))
        return bytes;
    return bytes + all * (2 * ranks * sizeof(uint32_t) + sizeof(uint64_t)) +
           og__demand_bytes(ranks, p->workload->n_nodes, all, 0) -
           og__demand_bytes(ranks, p->workload->n_nodes, 0, 0);
}

/* Ids, and the policy's tables for them; buffers to put the rest away. */
static void size_ahead(struct og_memory_plan *m, const struct og_plan_inputs *p,
                       const struct growth *g, uint64_t rows, uint64_t batches, uint64_t tail)
{
    const struct og_trace_options form = p->workload->trace;
    const int kept = og__policy_keeps_hotness(p->exec->policy) +
                     og__policy_keeps_hotness(p->exec->device_policy);
    const size_t held = (size_t)kept * (size_t)p->workload->n_nodes * 4;
    m->superbatch = batches;
    m->tail = tail;
    m->lot = lot_of(batches, tail);
    const uint64_t all = batches + tail + m->lot;
    const uint64_t requested = requested_of(p->workload, rows);
    const struct og_planned_size planned = {all * requested, all,
                                            distinct_nodes(g, requested, all)};
    m->policy = held + og__plan_inputs_tables(p, 0, &planned);
    m->trace_tables = table_bytes(p, batches, all);
    m->trace = m->trace_tables + og__superbatch_bytes(p->config->opt.n_fanout, all, all * rows) -
               og__superbatch_bytes(p->config->opt.n_fanout, all, 0) + requested * 4 +
               OG__FILL_LIST;
    if (og__exchanges(p->config)) /* rows requested of this rank */
        m->trace +=
            og__demand_bytes(p->config->share.ranks, p->workload->n_nodes, 0, all * requested);
    if (p->config->stores_rows) /* uses of rows, and chunks where they wait */
        m->trace += og__next_use_list_bytes(batches, batches * requested) +
                    og__gather_foreseen_bytes(p->workload->row_graph, batches);
    m->ids_leave = m->alternates || m->handed_released > 0;
    m->trace_training = m->trace - (m->ids_leave ? all * rows * sizeof(uint32_t) : 0);
    m->spill = og__trace_writer_bytes(&form);
    if (og__packs(p->exec)) {
        m->missed = packs_over_ids(p) ? batches * rows * sizeof(uint32_t) : 0;
        m->packing = packing_bytes(p, requested, batches);
    }
    if (p->exec->layout == OG_LAYOUT_SEGMENTED) /* and a bit a row: is it shared? */
        m->packing += og__segments_bytes(distinct_nodes(g, requested, batches), (uint32_t)batches,
                                         p->workload->bytes.widest) +
                      og__bits_words(batches * requested) * sizeof(uint64_t);
}

/* How much more than an equal share the fullest of the folders gets: arrays are distributed whole.
 */
static double unevenness(const struct og_workload *f, uint64_t rows)
{
    struct og_batch largest = {.n_hops = f->caps.n_hops, .n_ids = (uint32_t)rows};
    largest.n_seeds = (uint32_t)f->caps.hop[0].n_dst;
    for (uint32_t h = 0; h < f->caps.n_hops; h++)
        largest.hop[h] = (struct og_block){.n_dst = (uint32_t)f->caps.hop[h].n_dst,
                                           .n_src = (uint32_t)f->caps.hop[h].n_src,
                                           .n_edges = f->caps.hop[h].n_edges};
    const double one = (double)og__trace_batch_room(&f->trace, &largest, 1);
    return (double)og__trace_batch_room(&f->trace, &largest, f->scratch_disks) / one;
}

/* What batches that are sampled ahead put on the disk: ids, edges and their ends. All batches of a
 * tail count; where it is longer than the superbatch, also trained batches that share a piece with
 * others. */
static double sampled_bytes(const struct og_plan_inputs *p, uint64_t rows, uint64_t batches,
                            uint64_t tail)
{
    const struct og_trace_options form = p->workload->trace;
    const uint64_t lot = lot_of(batches, tail);
    const uint64_t piece = OG_MAX(OG_MAX(batches, lot), (uint64_t)1);
    const uint64_t spent = batches < tail ? piece : 0;
    const uint64_t pieces = 1 + (tail > 0) + (tail + lot + piece - 1) / piece;
    const double sampled = (double)(batches + tail + lot + spent);
    const double each = (double)(rows * 4 + 2 * block_bytes(p->workload) + 1);
    return (double)(pieces * p->workload->scratch_disks * og__trace_empty_bytes(&form)) +
           sampled * each * unevenness(p->workload, rows);
}

/* Then also plans, what enters the cache, and what they miss, at worst every row. Segments can have
 * each row but once, and some room makes them shorter. */
static double disk_bytes(const struct og_plan_inputs *p, const struct growth *g, uint64_t rows,
                         uint64_t batches, uint64_t tail)
{
    const uint64_t requested = requested_of(p->workload, rows);
    const double n = (double)batches;
    const struct og_workload *f = p->workload;
    const double ends = og__shares_slots(f) ? n * f->n_groups * OG__PACK_BLOCK : 0;
    const double all = n * (double)requested * og__mean_row(f) + ends; /* of chunks, on blocks */
    const double distinct = (double)distinct_nodes(g, requested, batches);
    const double once = OG_MIN(distinct * (double)f->bytes.widest, (double)f->bytes.files);
    const double codes =
        (double)(og__plan_inputs_spilled(p, requested) + og__spilled_requests_bytes(p));
    const double entering =
        og__policy_fills_during_training(p->exec->policy) ? n * (double)requested : distinct;
    double away = sampled_bytes(p, rows, batches, tail) + n * codes + entering * 8;
    if (p->exec->layout == OG_LAYOUT_PACKED)
        away += all;
    if (p->exec->layout == OG_LAYOUT_SEGMENTED)
        away += OG_MIN(all, 2 * once) + n * (double)requested * 8;
    return away;
}

double og__memory_plan_disk(const struct og_plan_inputs *p)
{
    const struct og_amount *requested = &p->config->opt.neighbor_cache;
    const uint64_t all = p->config->disk;
    if (p->exec->topology != OG_TOPOLOGY_DISK || requested->unit != OG_BYTES)
        return (double)all;
    const uint64_t lists =
        (uint64_t)OG_MIN(requested->value, (double)p->workload->bytes.neighbors_most);
    const bool kept = lists <= og__whole_room(p->config);
    return (double)(all - (kept ? og__whole_takes(p->config, lists) : 0));
}

/* Rows of a batch, of many. */
static uint64_t mean_rows(const struct og_workload *f)
{
    const uint64_t mean = f->profiling_rows;
    return OG_MIN(mean + mean / OG__SUM_MARGIN + OG__MARGIN_ROWS, og__input_rows(f));
}

double og__memory_plan_sampled_disk(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const bool spilled = og__samples_ahead(p->exec) && m->trace_blocks == 0;
    return spilled ? sampled_bytes(p, mean_rows(p->workload), m->superbatch, m->tail) : 0;
}

uint64_t og__memory_plan_away(const struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    return OG_MAX(m->disk, (uint64_t)og__memory_plan_sampled_disk(m, p) + m->drawn);
}

/* One batch, of the largest; or an epoch's, where all are kept. */
static void size_least(struct og_memory_plan *m, const struct og_plan_inputs *p)
{
    const uint64_t rows = og__input_rows(p->workload);
    const struct growth one = {(double)rows, 0, 1, p->workload->n_nodes};
    const struct growth many = growth_of(p->workload);
    if (og__keeps_batches(p->exec))
        size_ahead(m, p, &many, mean_rows(p->workload), og__longest_epoch(p), 0);
    else
        size_ahead(m, p, &one, rows, 1, 0);
}

size_t og__memory_plan_least_lookahead(const struct og_memory_plan *m,
                                       const struct og_plan_inputs *p)
{
    enum { ROUNDS = 8 }; /* slots take a fraction of what rows do */
    const struct og_workload *f = p->workload;
    struct og_memory_plan least = *m;
    size_least(&least, p);
    const size_t staging = f->bytes.read * (size_t)og__first_staging(p->exec);
    for (int i = 0; least.alternates && i < ROUNDS; i++)
        og__memory_plan_most_slots(&least, p, og__memory_plan_without_rows(&least) + staging);
    return og__memory_plan_without_rows(&least);
}

/* ---- how many there are ---- */

/* What is to be shared out. */
struct room {
    struct og_memory_plan *m;
    const struct og_plan_inputs *p;
    const struct growth *g;
    uint64_t rows; /* of a batch */
    size_t beside; /* bytes of staging and slack, which come later */
    size_t bound;  /* bytes of memory, in all */
    uint64_t most; /* batches of a superbatch */
};

/* Phased memory gives a superbatch three quarters of what is free (Park et al. 2022, §3.5). Else it
 * gets an eighth, since the trace takes its memory from the cache. Free is what so many batches
 * leave: in little memory, buffers that do not grow with batches would take all of an eighth. */
static void bound_memory(struct room *r, uint64_t batches)
{
    struct og_memory_plan *m = r->m;
    size_ahead(m, r->p, r->g, r->rows, batches, 0);
    const size_t used = og__memory_plan_without_rows(m);
    const size_t free = m->limit - OG_MIN(m->limit, used + r->beside);
    r->bound = used + (m->alternates ? free / 4 * 3 : free / 8);
}

/* While they are sampled, the disk also holds the sample group's data; then that is gone. */
static bool fits_disk(const struct room *r, uint64_t batches, uint64_t tail)
{
    const double disk = og__memory_plan_disk(r->p);
    const double drawn = og__memory_plan_takes_sample_groups(r->p) ? disk / 4 : 0;
    return disk_bytes(r->p, r->g, r->rows, batches, tail) <= disk &&
           sampled_bytes(r->p, r->rows, batches, tail) <= disk - drawn;
}

static bool fits(const struct room *r, uint64_t batches, uint64_t tail)
{
    size_ahead(r->m, r->p, r->g, r->rows, batches, tail);
    return og__memory_plan_without_rows(r->m) <= r->bound && fits_disk(r, batches, tail);
}

/* How a number that is searched becomes a superbatch and its tail. */
struct shares {
    uint64_t batches, tail;
};
typedef struct shares share_fn(const struct room *r, uint64_t n);

static struct shares with_whole_tail(const struct room *r, uint64_t batches)
{
    return (struct shares){batches, whole_tail(r->p, batches)};
}

/* Where it does not fit, an eighth of all that does is the superbatch. So a batch is not looked at
 * much more often than that. */
static struct shares with_short_tail(const struct room *r, uint64_t all)
{
    const uint64_t own = OG_MIN((all + TAIL_LOTS) / (TAIL_LOTS + 1), r->most);
    return (struct shares){own, OG_MIN(all - own, whole_tail(r->p, own))};
}

static struct shares as_requested(const struct room *r, uint64_t tail)
{
    return (struct shares){r->m->superbatch, tail};
}

/* The largest number in [low, high] that fits; low if none does. */
static void choose_largest(const struct room *r, uint64_t low, uint64_t high, share_fn *share)
{
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        const struct shares of = share(r, middle);
        if (fits(r, of.batches, of.tail))
            low = middle;
        else
            high = middle - 1;
    }
    const struct shares of = share(r, low);
    size_ahead(r->m, r->p, r->g, r->rows, of.batches, of.tail);
}

/* To the longest even part of a split. The rest of the memory is the cache's. Short superbatches
 * with a tail have longer lots, which may not fit. */
static void shorten_superbatch(const struct room *r)
{
    const struct og_schedule *s = &r->p->workload->schedule;
    const uint64_t most = r->m->superbatch, tail = r->m->tail;
    const uint64_t train = og__schedule_batches(s, OG__TRAIN);
    uint64_t longest = 0;
    for (enum og__split of = OG__TRAIN; of <= OG__TEST; of++)
        longest = OG_MAX(longest, og__even_part(og__schedule_batches(s, of), most));
    const bool several = s->eval_every != 1 && most >= 2 * train; /* epochs without validation */
    if (!several && !fits(r, longest, tail))
        size_ahead(r->m, r->p, r->g, r->rows, most, tail);
}

/* As many batches as fit (Park et al. 2022, §3.5). That is up to the whole run in phased memory,
 * else up to an epoch. */
static void choose_superbatch(struct room *r)
{
    const uint64_t items =
        r->m->alternates ? og__longest_superbatch(r->p) : og__longest_epoch(r->p);
    r->most = OG_MIN(items, (uint64_t)OG__MOST_FORESEEN);
    if (r->p->exec->layout == OG_LAYOUT_SEGMENTED)
        r->most = OG_MIN(r->most, (uint64_t)OG__MOST_SEGMENTED);
    bound_memory(r, 1);
    choose_largest(r, 1, r->most, with_whole_tail);
    const uint64_t batches = r->m->superbatch;
    const uint64_t tail = r->m->tail;
    const bool few = batches < r->most && batches < tail / TAIL_LOTS;
    if (few || (tail > 0 && !fits(r, batches, tail)))
        choose_largest(r, 1, batches + tail, with_short_tail);
    if (!r->m->alternates && r->m->superbatch < items)
        shorten_superbatch(r);
}

/* So many batches; of a tail what fits. */
static void take_superbatch(struct room *r, uint64_t batches)
{
    bound_memory(r, batches);
    choose_largest(r, 0, whole_tail(r->p, batches), as_requested);
}

/* Blocks stay in memory where that is cheap; else the memory does more for the cache. */
static void keep_blocks(struct og_memory_plan *m, const struct og_plan_inputs *p, size_t free)
{
    m->trace_blocks = (m->superbatch + m->tail + m->lot) * block_bytes(p->workload);
    m->code_bytes = m->superbatch * og__plan_inputs_spilled(p, og__read_rows(p->workload));
    if (m->alternates || m->trace_blocks + m->code_bytes > free / 32)
        m->trace_blocks = m->code_bytes = 0;
    m->trace += m->trace_blocks + m->code_bytes;
    if (m->trace_blocks) {
        m->spill = 0;
        m->trace_training = m->trace;
        m->ids_leave = false;
    }
}

/* Batches that epochs reuse are prepared as a whole, whatever --superbatch says. */
int og__memory_plan_refuse_superbatch(const struct og_memory_plan *m,
                                      const struct og_exec_plan *exec, size_t need,
                                      struct og_err *err)
{
    const bool keeps = og__keeps_batches(exec);
    char hint[96];
    snprintf(hint, sizeof(hint), "give %s, or --memory %zuM",
             keeps ? "--resample-every 1" : "a smaller --superbatch",
             og__memory_plan_all(m, need) / OG_MIB + 1);
    return og__fail(err, -ENOMEM, hint, "%s: %llu batches do not fit in --memory",
                    keeps ? "--resample-every" : "--superbatch", (unsigned long long)m->superbatch);
}

int og__memory_plan_lookahead(struct og_memory_plan *m, const struct og_plan_inputs *p,
                              struct og_err *err)
{
    const struct growth g = growth_of(p->workload);
    if (!og__samples_ahead(p->exec))
        return 0;
    const size_t staging = p->workload->bytes.read * (size_t)og__first_staging(p->exec);
    const uint64_t rows = mean_rows(p->workload);
    if (m->alternates)
        og__memory_plan_most_slots(m, p, m->limit);
    const size_t beside = staging + m->limit / OG__SLACK_SHARE;
    const size_t used = og__memory_plan_without_rows(m) + beside;
    struct room room = {.m = m, .p = p, .g = &g, .rows = rows, .beside = beside};
    if (og__keeps_batches(p->exec))
        size_ahead(m, p, &g, rows, og__longest_epoch(p), 0);
    else if (p->config->opt.superbatch == OG_SUPERBATCH_AUTO)
        choose_superbatch(&room);
    else
        take_superbatch(
            &room, p->config->opt.superbatch == OG_SUPERBATCH_ALL
                       ? og__longest_epoch(p)
                       : OG_MIN((uint64_t)p->config->opt.superbatch, og__longest_superbatch(p)));
    m->wanted = wanted_tail(p, m->superbatch);
    m->disk = (uint64_t)disk_bytes(p, &g, rows, m->superbatch, m->tail);
    keep_blocks(m, p, m->limit - OG_MIN(m->limit, used));
    const size_t need = og__memory_plan_without_rows(m) + staging;
    if (!m->alternates) /* plus the sweep's buffers */
        m->sweep = OG_MIN(m->sweep, m->limit - OG_MIN(m->limit, need));
    return need <= m->limit ? 0 : og__memory_plan_refuse_superbatch(m, p->exec, need, err);
}
