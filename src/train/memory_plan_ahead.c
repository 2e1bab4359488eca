/* Sampling ahead: how many batches make a superbatch, and what it takes. Of more batches a policy
 * makes better plans, but what they take the cache has not.
 *
 *   k batches ──> their distinct nodes ──> in memory: trace, tables, packing ──┐
 *                 as the pilot's grew  └─> on disk: ids, blocks, misses ───────┴──> the largest k
 *                                                                                   that fits */
#include "train/memory_plan_parts.h"

#include "plan/packing.h"
#include "plan/segments.h"
#include "train/options.h"

#include <inttypes.h>
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
                         (uint64_t)s->facts.ds->n_nodes};
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
    for (uint32_t h = 0; h < s->facts.caps.n_hops; h++)
        words += s->facts.caps.hop[h].n_dst + 1 +
                 s->facts.caps.hop[h].n_edges * (extras & OG__WITH_WEIGHTS ? 2 : 1) +
                 (extras & OG__WITH_DEGREES ? s->facts.caps.hop[h].n_src : 0);
    return words * 4;
}

size_t og__put_away_bytes(const struct og_session *s)
{
    size_t edges = 0;
    for (uint32_t h = 0; h < s->facts.caps.n_hops; h++)
        edges += s->facts.caps.hop[h].n_edges;
    unsigned extras = og__batch_extras(s);
    size_t degrees = extras & OG__WITH_DEGREES ? og__input_rows(s) * 4 : 0;
    size_t weights = extras & OG__WITH_WEIGHTS ? edges * 4 : 0;
    return (og__input_rows(s) * 8 + edges * 8 + degrees + weights) * 100 /
           (100 + OG__MARGIN_PERCENT);
}

static uint64_t longest_epoch(const struct og_session *s)
{
    uint64_t train = og__schedule_batches(&s->facts.schedule, OG__TRAIN);
    uint64_t valid =
        s->config.opt.eval_every ? og__schedule_batches(&s->facts.schedule, OG__VALID) : 0;
    return OG_MAX(train + valid, og__schedule_batches(&s->facts.schedule, OG__TEST));
}

/* Items of the whole run, or of the test that follows it. */
static uint64_t longest_superbatch(const struct og_session *s)
{
    return OG_MAX(og__schedule_items(&s->facts.schedule), longest_epoch(s));
}

/* ---- its tail ---- */

/* A tail is sampled in eighths at least, so that what is put away of it lies in few pieces. */
enum { TAIL_LOTS = 8 };

/* Batches that the policy wants to see behind a superbatch, as far as the run has them. */
static uint64_t wanted_tail(const struct og_session *s, uint64_t batches)
{
    const struct og_policy_setup setup = og__session_policy(s, 0);
    const uint64_t run = longest_superbatch(s);
    return og__keeps_batches(s)
               ? 0
               : OG_MIN((uint64_t)og__policy_tail(&setup), run - OG_MIN(run, batches));
}

/* Of which so many can be foreseen with it, and a lot. */
static uint64_t whole_tail(const struct og_session *s, uint64_t batches)
{
    const uint64_t most = OG__MOST_FORESEEN;
    const uint64_t room = most - OG_MIN(most, batches);
    return OG_MIN(wanted_tail(s, batches), room / (TAIL_LOTS + 1) * TAIL_LOTS);
}

static uint64_t lot_of(uint64_t batches, uint64_t tail)
{
    return batches < tail / TAIL_LOTS ? tail / TAIL_LOTS : 0;
}

/* ---- a superbatch, and a tail behind it ---- */

/* Ids, and the policy's tables for them; buffers to put the rest away. */
static void size_ahead(struct og_memory_plan *m, const struct og_session *s, const struct growth *g,
                       uint64_t rows, uint64_t batches, uint64_t tail)
{
    struct og_policy_setup setup = og__session_policy(s, 0);
    const struct og_trace_options form = og__session_trace(s);
    size_t held =
        og__policy_keeps_hotness(s->config.opt.policy) ? (size_t)s->facts.ds->n_nodes * 4 : 0;
    m->superbatch = batches;
    m->tail = tail;
    m->lot = lot_of(batches, tail);
    const uint64_t all = batches + tail + m->lot;
    m->policy = held + og__policy_bytes(&setup, all * rows, all, distinct_nodes(g, rows, all));
    m->trace = og__superbatch_bytes(s->config.opt.n_fanout, all, all * rows) +
               all * sizeof(struct og_sampled_ahead) + batches * sizeof(struct og_fill_window) +
               rows * 4 + OG__FILL_LIST;
    m->spill = og__trace_writer_bytes(&form);
    if (og__packs(s)) /* at worst every row is missed */
        m->packing =
            og__packing_bytes((uint64_t)s->facts.ds->n_nodes, batches * rows, batches, rows);
    if (s->config.opt.layout == OG_LAYOUT_SEGMENTED) /* and a bit a row: is it shared? */
        m->packing += og__segments_bytes(distinct_nodes(g, rows, batches), (uint32_t)batches,
                                         og__row_bytes(s->facts.ds)) +
                      og__bits_words(batches * rows) * sizeof(uint64_t);
}

/* What batches that are sampled ahead put on the disk: ids, edges and their ends, plans, what
 * enters the cache, and what they miss, at worst every row. Segments can have each row but once,
 * and some room makes them shorter. Of a tail there are ids and edges alone; where it is longer
 * than the superbatch, also of trained batches that lie in one piece with others. */
static double disk_bytes(const struct og_session *s, const struct growth *g, uint64_t rows,
                         uint64_t batches, uint64_t tail)
{
    const double n = (double)batches;
    const struct og_trace_options form = og__session_trace(s);
    const uint64_t lot = lot_of(batches, tail);
    const uint64_t piece = OG_MAX(batches, lot);
    const uint64_t spent = batches < tail ? piece : 0;
    const uint64_t pieces = 1 + (tail > 0) + (tail + lot + piece - 1) / piece;
    const double sampled = (double)(batches + tail + lot + spent);
    const double all = n * (double)rows * (double)og__row_bytes(s->facts.ds);
    const double distinct = (double)distinct_nodes(g, rows, batches);
    const double once = distinct * (double)og__row_bytes(s->facts.ds);
    const double entering =
        og__policy_fills_beside(s->config.opt.policy) ? n * (double)rows : distinct;
    double away = (double)(pieces * og__trace_empty_bytes(&form)) +
                  sampled * (double)(rows * 4 + 2 * block_bytes(s) + 1) + n * (double)rows * 4 +
                  entering * 8;
    if (s->config.opt.layout == OG_LAYOUT_PACKED)
        away += all;
    if (s->config.opt.layout == OG_LAYOUT_SEGMENTED)
        away += OG_MIN(all, 2 * once) + n * (double)rows * 8;
    return away;
}

uint32_t og__memory_plan_most_slots(const struct og_session *s, size_t memory)
{
    return (uint32_t)OG_MIN(memory / og__row_bytes(s->facts.ds), (size_t)s->facts.ds->n_nodes);
}

size_t og__memory_plan_least_ahead(const struct og_memory_plan *m, const struct og_session *s)
{
    enum { ROUNDS = 8 }; /* slots take a fraction of what rows do */
    const uint64_t rows = og__input_rows(s);
    const struct growth all = {(double)rows, 0, 1, (uint64_t)s->facts.ds->n_nodes};
    struct og_memory_plan one = *m;
    size_ahead(&one, s, &all, rows, 1, 0);
    const size_t staging = rows * og__row_bytes(s->facts.ds) * (size_t)og__first_staging(m, s);
    for (int i = 0; one.alternates && i < ROUNDS; i++)
        one.n_slots = og__memory_plan_most_slots(s, og__memory_plan_without_rows(&one) + staging);
    return og__memory_plan_without_rows(&one);
}

/* ---- how many there are ---- */

/* What is to be shared out. */
struct room {
    struct og_memory_plan *m;
    const struct og_session *s;
    const struct growth *g;
    uint64_t rows; /* of a batch */
    size_t beside; /* bytes of staging and slack, which come later */
    size_t bound;  /* bytes of memory, in all */
    uint64_t most; /* batches of a superbatch */
};

/* Where sampling has the memory to itself three quarters of what is left of it (Park et al. 2022,
 * §3.5); else an eighth, since what the trace takes the cache has not. */
static void bound_memory(struct room *r)
{
    const struct og_memory_plan *m = r->m;
    const size_t used = og__memory_plan_without_rows(m);
    const size_t free = m->limit - OG_MIN(m->limit, used + r->beside);
    r->bound = used + (m->alternates ? free / 4 * 3 : free / 8);
}

static bool fits(const struct room *r, uint64_t batches, uint64_t tail)
{
    size_ahead(r->m, r->s, r->g, r->rows, batches, tail);
    return og__memory_plan_without_rows(r->m) <= r->bound &&
           disk_bytes(r->s, r->g, r->rows, batches, tail) <= r->s->config.opt.disk.value;
}

/* How a number that is searched becomes a superbatch and its tail. */
struct shares {
    uint64_t batches, tail;
};
typedef struct shares share_fn(const struct room *r, uint64_t n);

static struct shares with_whole_tail(const struct room *r, uint64_t batches)
{
    return (struct shares){batches, whole_tail(r->s, batches)};
}

/* Where it does not fit: of all that does an eighth is the superbatch, so that a batch is not
 * looked at much more often than that. */
static struct shares with_short_tail(const struct room *r, uint64_t all)
{
    const uint64_t own = OG_MIN((all + TAIL_LOTS) / (TAIL_LOTS + 1), r->most);
    return (struct shares){own, OG_MIN(all - own, whole_tail(r->s, own))};
}

static struct shares as_asked(const struct room *r, uint64_t tail)
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
    size_ahead(r->m, r->s, r->g, r->rows, of.batches, of.tail);
}

/* As many batches as fit (Park et al. 2022, §3.5), up to the whole run in turns, else to an
 * epoch. */
static void choose_superbatch(struct room *r)
{
    const uint64_t items = r->m->alternates ? longest_superbatch(r->s) : longest_epoch(r->s);
    r->most = OG_MIN(items, (uint64_t)OG__MOST_FORESEEN);
    if (r->s->config.opt.layout == OG_LAYOUT_SEGMENTED)
        r->most = OG_MIN(r->most, (uint64_t)OG__MOST_SEGMENTED);
    bound_memory(r);
    choose_largest(r, 1, r->most, with_whole_tail);
    const uint64_t batches = r->m->superbatch;
    const uint64_t tail = r->m->tail;
    const bool few = batches < r->most && batches < tail / TAIL_LOTS;
    if (few || (tail > 0 && !fits(r, batches, tail)))
        choose_largest(r, 1, batches + tail, with_short_tail);
}

/* So many batches; of a tail what fits. */
static void take_superbatch(struct room *r, uint64_t batches)
{
    size_ahead(r->m, r->s, r->g, r->rows, batches, 0);
    bound_memory(r);
    choose_largest(r, 0, whole_tail(r->s, batches), as_asked);
}

static void tell_short_tail(const struct og_memory_plan *m, const struct og_session *s)
{
    const uint64_t wanted = wanted_tail(s, m->superbatch);
    if (m->tail < wanted)
        og__say(&s->config.log, OG__WARN,
                "--memory and --disk have room for %" PRIu64 " of the %" PRIu64
                " batches that --policy %s wants to see behind a superbatch",
                m->tail, wanted, og__option_word("policy", s->config.opt.policy));
}

/* Blocks stay in memory where that is cheap; else the memory does more for the cache. */
static void keep_blocks(struct og_memory_plan *m, const struct og_session *s, size_t free)
{
    m->trace_blocks = (m->superbatch + m->tail + m->lot) * block_bytes(s);
    m->code_bytes = m->superbatch * og__input_rows(s) * 4;
    if (m->alternates || m->trace_blocks + m->code_bytes > free / 32)
        m->trace_blocks = m->code_bytes = 0;
    m->trace += m->trace_blocks + m->code_bytes;
    if (m->trace_blocks)
        m->spill = 0;
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
        og__input_rows(s) * og__row_bytes(s->facts.ds) * (size_t)og__first_staging(m, s);
    uint64_t mean = pilot->rows / OG_MAX(pilot->n, 1u);
    uint64_t rows = OG_MIN(mean + mean / OG__SUM_MARGIN + OG__MARGIN_ROWS, og__input_rows(s));
    if (m->alternates)
        m->n_slots = og__memory_plan_most_slots(s, m->limit);
    const size_t beside = staging + m->limit / OG__SLACK_SHARE;
    const size_t used = og__memory_plan_without_rows(m) + beside;
    struct room room = {.m = m, .s = s, .g = &g, .rows = rows, .beside = beside};
    if (og__keeps_batches(s))
        size_ahead(m, s, &g, rows, longest_epoch(s), 0);
    else if (s->config.opt.superbatch == OG_SUPERBATCH_AUTO)
        choose_superbatch(&room);
    else
        take_superbatch(&room,
                        s->config.opt.superbatch == OG_SUPERBATCH_ALL
                            ? longest_epoch(s)
                            : OG_MIN((uint64_t)s->config.opt.superbatch, longest_superbatch(s)));
    tell_short_tail(m, s);
    keep_blocks(m, s, m->limit - OG_MIN(m->limit, used));
    size_t need = og__memory_plan_without_rows(m) + staging;
    return need <= m->limit ? 0 : og__memory_plan_refuse_superbatch(m, need, err);
}
