/* Sampling ahead: how many batches make a superbatch, and what it takes. Of more batches a policy
 * makes better plans, but what they take the cache has not.
 *
 *   k batches ──> their distinct nodes ──> in memory: trace, tables, packing ──┐
 *                 as the pilot's grew  └─> on disk: ids, blocks, misses ───────┴──> the largest k
 *                                                                                   that fits */
#include "train/memory_plan_parts.h"

#include "plan/packing.h"
#include "plan/segments.h"

#include <math.h>

/* ---- what k batches take ---- */

/* Distinct nodes grow as a power of the batches, a little slower the more there are (Heaps' law),
 * so that the pilot's growth carries too far rather than too short. */
struct growth {
    double pilot, power; /* distinct nodes of the pilot's batches */
    uint32_t batches;
    uint64_t most;
};

static int measure_growth(const struct og_session *s, const struct og_pilot *pilot,
                          struct growth *g, struct og_err *err)
{
    struct og_pilot own = *pilot;
    int rc = own.growth.distinct > 0 ? 0 : og__pilot_growth(&own, s, err);
    if (rc < 0)
        return rc;
    *g = (struct growth){own.growth.distinct, own.growth.power, OG_MAX(pilot->n, 1u),
                         (uint64_t)s->ds->n_nodes};
    return 0;
}

/* Of so many batches, each of so many rows at most. */
static uint64_t distinct_nodes(const struct growth *g, uint64_t rows, uint64_t batches)
{
    double guess = g->pilot * pow((double)batches / g->batches, g->power);
    return OG_MIN((uint64_t)(guess * 1.05) + 1, OG_MIN(g->most, batches * rows));
}

static size_t block_bytes(const struct og_session *s)
{
    unsigned extras = og__batch_extras(s);
    size_t words = 0;
    for (uint32_t h = 0; h < s->caps.n_hops; h++)
        words += s->caps.hop[h].n_dst + 1 +
                 s->caps.hop[h].n_edges * (extras & OG__WITH_WEIGHTS ? 2 : 1) +
                 (extras & OG__WITH_DEGREES ? s->caps.hop[h].n_src : 0);
    return words * 4;
}

size_t og__put_away_bytes(const struct og_session *s)
{
    size_t edges = 0;
    for (uint32_t h = 0; h < s->caps.n_hops; h++)
        edges += s->caps.hop[h].n_edges;
    unsigned extras = og__batch_extras(s);
    size_t degrees = extras & OG__WITH_DEGREES ? og__input_rows(s) * 4 : 0;
    size_t weights = extras & OG__WITH_WEIGHTS ? edges * 4 : 0;
    return (og__input_rows(s) * 8 + edges * 8 + degrees + weights) * 100 /
           (100 + OG__MARGIN_PERCENT);
}

static uint64_t longest_epoch(const struct og_session *s)
{
    uint64_t train = og__schedule_batches(&s->schedule, OG__TRAIN);
    uint64_t valid = s->opt.eval_every ? og__schedule_batches(&s->schedule, OG__VALID) : 0;
    return OG_MAX(train + valid, og__schedule_batches(&s->schedule, OG__TEST));
}

/* Items of the whole run, or of the test that follows it. */
static uint64_t longest_superbatch(const struct og_session *s)
{
    return OG_MAX(og__schedule_items(&s->schedule), longest_epoch(s));
}

/* Ids of a superbatch and the policy's tables for it. */
static void size_ahead(struct og_memory_plan *m, const struct og_session *s, const struct growth *g,
                       uint64_t rows, uint64_t batches)
{
    struct og_policy_setup setup = og__session_policy(s, 0);
    size_t held = s->opt.policy == OG_POLICY_HYBRID ? (size_t)s->ds->n_nodes * 4 : 0;
    m->superbatch = batches;
    m->policy =
        held + og__policy_bytes(&setup, batches * rows, batches, distinct_nodes(g, rows, batches));
    m->trace = batches * (rows * 4 + 64) + rows * 4 + OG__FILL_LIST;
    if (og__packs(s)) /* at worst every row is missed */
        m->packing = og__packing_bytes((uint64_t)s->ds->n_nodes, batches * rows, batches, rows);
    if (s->opt.layout == OG_LAYOUT_SEGMENTED) /* and a bit a row: is it shared? */
        m->packing += og__segments_bytes(distinct_nodes(g, rows, batches), (uint32_t)batches,
                                         og__row_bytes(s->ds)) +
                      og__bits_words(batches * rows) * sizeof(uint64_t);
}

/* What batches that are sampled ahead put on the disk: ids, edges and their ends, plans, what
 * enters the cache, and what they miss, at worst every row. Segments can have each row but once,
 * and some room makes them shorter. */
static double disk_bytes(const struct og_session *s, const struct growth *g, uint64_t rows,
                         uint64_t batches)
{
    const double n = (double)batches;
    const double all = n * (double)rows * (double)og__row_bytes(s->ds);
    const double distinct = (double)distinct_nodes(g, rows, batches);
    const double once = distinct * (double)og__row_bytes(s->ds);
    const double entering = s->opt.policy == OG_POLICY_SWEEP ? n * (double)rows : distinct;
    double away = n * (double)(rows * 8 + 2 * block_bytes(s) + 1) + entering * 8;
    if (s->opt.layout == OG_LAYOUT_PACKED)
        away += all;
    if (s->opt.layout == OG_LAYOUT_SEGMENTED)
        away += OG_MIN(all, 2 * once) + n * (double)rows * 8;
    return away;
}

uint32_t og__memory_plan_most_slots(const struct og_session *s, size_t memory)
{
    return (uint32_t)OG_MIN(memory / og__row_bytes(s->ds), (size_t)s->ds->n_nodes);
}

size_t og__memory_plan_least_ahead(const struct og_memory_plan *m, const struct og_session *s)
{
    enum { ROUNDS = 8 }; /* slots take a fraction of what rows do */
    const uint64_t rows = og__input_rows(s);
    const struct growth all = {(double)rows, 0, 1, (uint64_t)s->ds->n_nodes};
    struct og_memory_plan one = *m;
    size_ahead(&one, s, &all, rows, 1);
    const size_t staging = rows * og__row_bytes(s->ds) * (size_t)og__first_staging(m, s);
    for (int i = 0; one.alternates && i < ROUNDS; i++)
        one.n_slots = og__memory_plan_most_slots(s, og__memory_plan_without_rows(&one) + staging);
    return og__memory_plan_without_rows(&one);
}

/* ---- how many there are ---- */

/* As many batches as fit (Park et al. 2022, §3.5): where sampling has the memory to itself three
 * quarters of what is left of it, up to the whole run; else an eighth, and an epoch at most, since
 * what the trace takes the cache has not. beside: bytes of staging and slack, which come later. */
static void choose_superbatch(struct og_memory_plan *m, const struct og_session *s,
                              const struct growth *g, uint64_t rows, size_t beside)
{
    const size_t used = og__memory_plan_without_rows(m);
    const size_t free = m->limit - OG_MIN(m->limit, used + beside);
    const size_t bound = used + (m->alternates ? free / 4 * 3 : free / 8);
    uint64_t epoch = longest_epoch(s);
    uint64_t most = m->alternates ? longest_superbatch(s) : epoch;
    uint64_t high = OG_MIN(most, (uint64_t)OG__MOST_FORESEEN);
    if (s->opt.layout == OG_LAYOUT_SEGMENTED)
        high = OG_MIN(high, (uint64_t)OG__MOST_SEGMENTED);
    uint64_t low = 1;
    while (low < high) { /* the largest that fits */
        uint64_t middle = low + (high - low + 1) / 2;
        size_ahead(m, s, g, rows, middle);
        if (og__memory_plan_without_rows(m) <= bound &&
            disk_bytes(s, g, rows, middle) <= s->opt.disk.value)
            low = middle;
        else
            high = middle - 1;
    }
    size_ahead(m, s, g, rows, low);
}

/* Blocks stay in memory where that is cheap; else the memory does more for the cache. */
static void keep_blocks(struct og_memory_plan *m, const struct og_session *s, size_t free)
{
    m->trace_blocks = m->superbatch * block_bytes(s);
    m->code_bytes = m->superbatch * og__input_rows(s) * 4;
    if (m->alternates || m->trace_blocks + m->code_bytes > free / 32)
        m->trace_blocks = m->code_bytes = 0;
    m->trace += m->trace_blocks + m->code_bytes;
}

int og__memory_plan_refuse_superbatch(const struct og_memory_plan *m, size_t need,
                                      struct og_err *err)
{
    char hint[96];
    snprintf(hint, sizeof(hint), "give a smaller --superbatch, or --memory %zuM",
             need / OG_MIB + 1);
    return og__fail(err, -ENOMEM, hint, "--superbatch: %llu batches do not fit in --memory",
                    (unsigned long long)m->superbatch);
}

int og__memory_plan_ahead(struct og_memory_plan *m, const struct og_session *s,
                          const struct og_pilot *pilot, struct og_err *err)
{
    struct growth g;
    if (!og__samples_ahead(s))
        return 0;
    int rc = measure_growth(s, pilot, &g, err);
    if (rc < 0)
        return rc;
    const size_t staging =
        og__input_rows(s) * og__row_bytes(s->ds) * (size_t)og__first_staging(m, s);
    uint64_t mean = pilot->rows / OG_MAX(pilot->n, 1u);
    uint64_t rows = OG_MIN(mean + mean / OG__SUM_MARGIN + OG__MARGIN_ROWS, og__input_rows(s));
    if (m->alternates)
        m->n_slots = og__memory_plan_most_slots(s, m->limit);
    const size_t beside = staging + m->limit / OG__SLACK_SHARE;
    const size_t used = og__memory_plan_without_rows(m) + beside;
    if (og__keeps_batches(s))
        size_ahead(m, s, &g, rows, longest_epoch(s));
    else if (s->opt.superbatch == OG_SUPERBATCH_AUTO)
        choose_superbatch(m, s, &g, rows, beside);
    else
        size_ahead(m, s, &g, rows,
                   s->opt.superbatch == OG_SUPERBATCH_ALL
                       ? longest_epoch(s)
                       : OG_MIN((uint64_t)s->opt.superbatch, longest_superbatch(s)));
    keep_blocks(m, s, m->limit - OG_MIN(m->limit, used));
    size_t need = og__memory_plan_without_rows(m) + staging;
    return need <= m->limit ? 0 : og__memory_plan_refuse_superbatch(m, need, err);
}
