#include "train/memory_plan.h"

#include "plan/segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PILOT_BATCHES = 8,
    MARGIN_PERCENT = 12, /* batches of a run spread by a few percent around the pilot's */
    MARGIN_ROWS = 256,   /* and by more when they are tiny */
    MOST_STAGING = 2,    /* one batch is read while one is trained */
    LEAST_SWEEP = 32 * OG_MIB,
    FILL_LIST = 2 * OG__FILL_ROWS * 4, /* rows that are about to enter the cache, and their slots */
};

/* ---- pilot ---- */

static int keep_ids(struct og_pilot *p, const struct og_batch *batch, struct og_budget *b,
                    struct og_err *err)
{
    size_t need = (p->rows + batch->n_ids) * sizeof(*p->ids);
    if (need > p->bytes) {
        size_t first = (size_t)PILOT_BATCHES * batch->n_ids * sizeof(*p->ids) * 9 / 8;
        size_t bytes = OG_MAX(OG_MAX(need, p->bytes * 3 / 2), first);
        uint32_t *ids = og__alloc(b, bytes, "pilot", err);
        if (!ids)
            return -ENOMEM;
        if (p->ids)
            memcpy(ids, p->ids, p->rows * sizeof(*ids));
        og__release(b, p->ids, p->bytes, "pilot");
        p->ids = ids;
        p->bytes = bytes;
    }
    memcpy(p->ids + p->rows, batch->ids, batch->n_ids * sizeof(*p->ids));
    p->rows += batch->n_ids;
    p->end[p->n++] = p->rows;
    return 0;
}

static int pilot_batch(struct og_pilot *p, struct og_session *s, struct og_sampler *sampler,
                       const struct og_turn *turn, struct og_batch_memory *m, struct og_budget *b,
                       struct og_err *err)
{
    struct og_seeds seeds;
    int rc = og__seeds_open(&seeds, &s->seeds, b, err);
    if (rc == 0) {
        og__seeds_take(&seeds, &s->seeds, turn);
        rc = og__sample(sampler, seeds.node, seeds.n, OG__STREAM_SAMPLE, turn->drawn_epoch,
                        turn->drawn_batch, m, err);
    }
    if (rc == 0) {
        og__caps_include(&p->caps, &m->batch);
        if (turn->split == OG__TRAIN)
            rc = keep_ids(p, &m->batch, b, err);
    }
    og__seeds_close(&seeds);
    return rc;
}

static bool enough(const struct og_pilot *p, const struct og_pilot_limits *limits, double since)
{
    return p->n == limits->batches ||
           (limits->seconds > 0 && og__now() - since > limits->seconds) ||
           (limits->bytes > 0 && p->rows * sizeof(*p->ids) > limits->bytes);
}

static int pilot_training(struct og_pilot *p, struct og_session *s, struct og_sampler *sampler,
                          const struct og_pilot_limits *limits, struct og_batch_memory *m,
                          struct og_budget *b, struct og_err *err)
{
    double start = og__now();
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && !enough(p, limits, start); i++) {
        struct og_turn turn = og__schedule_pass(&s->schedule, OG__TRAIN, i);
        turn.drawn_epoch = limits->epoch;
        rc = pilot_batch(p, s, sampler, &turn, m, b, err);
        p->reads.io.reads += og__sampler_reads(sampler).io.reads;
        p->reads.io.bytes += og__sampler_reads(sampler).io.bytes;
    }
    p->seconds = og__now() - start;
    return rc;
}

static int pilot_evaluation(struct og_pilot *p, struct og_session *s, struct og_sampler *sampler,
                            struct og_batch_memory *m, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    for (int split = OG__VALID; rc == 0 && split < OG__SPLITS; split++) {
        if (s->split[split].n == 0)
            continue;
        struct og_turn turn = og__schedule_pass(&s->schedule, (enum og__split)split, 0);
        rc = pilot_batch(p, s, sampler, &turn, m, b, err);
    }
    return rc;
}

static int sample_pilot(struct og_pilot *p, struct og_session *s,
                        const struct og_pilot_limits *limits, bool evaluates, struct og_budget *b,
                        struct og_err *err)
{
    struct og_sampler *sampler = NULL;
    struct og_batch_memory m;
    *p = (struct og_pilot){.end = calloc(OG_MAX(limits->batches, 1u), sizeof(*p->end))};
    if (!p->end)
        return og__fail_errno(err, -ENOMEM, NULL, "pilot");
    og__batch_init(&m, b);
    int rc = og__session_sampler(s, &sampler, b, err);
    if (rc == 0)
        rc = pilot_training(p, s, sampler, limits, &m, b, err);
    if (rc == 0 && evaluates)
        rc = pilot_evaluation(p, s, sampler, &m, b, err);
    og__sampler_close(sampler);
    og__batch_release(&m);
    if (rc < 0)
        og__pilot_release(p, b);
    return rc;
}

int og__pilot_run(struct og_pilot *p, struct og_session *s, struct og_budget *b, struct og_err *err)
{
    uint64_t n = og__schedule_batches(&s->schedule, OG__TRAIN);
    const struct og_pilot_limits few = {.epoch = 1,
                                        .batches = (uint32_t)OG_MIN(n, (uint64_t)PILOT_BATCHES)};
    return sample_pilot(p, s, &few, true, b, err);
}

int og__pilot_sample(struct og_pilot *p, struct og_session *s, const struct og_pilot_limits *limits,
                     struct og_budget *b, struct og_err *err)
{
    return sample_pilot(p, s, limits, false, b, err);
}

void og__pilot_release(struct og_pilot *p, struct og_budget *b)
{
    og__release(b, p->ids, p->bytes, "pilot");
    free(p->end);
    *p = (struct og_pilot){0};
}

static uint64_t with_margin(uint64_t seen, uint64_t bound)
{
    return OG_MIN(seen + seen * MARGIN_PERCENT / 100 + MARGIN_ROWS, bound);
}

struct og_batch_caps og__caps_with_margin(const struct og_batch_caps *seen,
                                          const struct og_session *s)
{
    struct og_batch_caps caps = {.n_hops = seen->n_hops};
    uint64_t n_nodes = (uint64_t)s->ds->n_nodes;
    uint64_t n_dst = og__seeds_most(&s->seeds);
    if (s->seeds.edges) {
        caps.n_pairs = og__pairs_most(&s->seeds.rule, s->schedule.batch_size, true);
        caps.n_scores =
            OG_MAX(caps.n_pairs, og__pairs_most(&s->seeds.rule, s->schedule.batch_size, false));
    }
    for (uint32_t h = 0; h < seen->n_hops; h++) {
        int fanout = s->opt.fanout[h];
        uint64_t most_edges = (uint64_t)s->ds->n_edges;
        bool bounded = s->opt.sampler != OG_SAMPLER_LABOR && s->opt.sampler != OG_SAMPLER_LADIES;
        if (fanout >= 0 && bounded)
            most_edges = OG_MIN(most_edges, n_dst * (uint64_t)fanout);
        caps.hop[h].n_dst = n_dst;
        caps.hop[h].n_edges = with_margin(seen->hop[h].n_edges, most_edges);
        n_dst = with_margin(seen->hop[h].n_src, OG_MIN(n_nodes, n_dst + caps.hop[h].n_edges));
        caps.hop[h].n_src = n_dst;
        if (seen->hop[h].n_seen > 0)
            caps.hop[h].n_seen = with_margin(seen->hop[h].n_seen, n_nodes);
    }
    return caps;
}

/* ---- the fixed part ---- */

static uint64_t input_rows(const struct og_session *s)
{
    return s->caps.hop[s->caps.n_hops - 1].n_src;
}

/* What is there in either phase. */
static size_t always(const struct og_memory_plan *m)
{
    return m->process + m->samples + m->seeds + m->labels + m->sampler + m->batches + m->plans +
           m->reader + m->model + m->activations + m->staging;
}

/* What a run takes beside it without turns, with no row cached. */
static size_t without_turns(const struct og_memory_plan *m)
{
    return always(m) + m->topology + m->neighbors + m->trace + m->packing + m->policy +
           m->n_slots * m->policy_slot;
}

/* In turns a superbatch is sampled, planned, packed, and only then the cache has its rows: the most
 * that the first three take. */
static size_t before_training(const struct og_memory_plan *m)
{
    const size_t rest = m->rest + m->n_slots * m->rest_slot;
    const size_t policy = m->policy + m->n_slots * m->policy_slot;
    const size_t sampling = m->topology + m->neighbors + m->trace + rest;
    const size_t planning = m->topology_rest + m->trace + m->packing + policy;
    const size_t packing = m->topology_rest + m->packing + m->sweep + rest;
    return always(m) + OG_MAX(sampling, OG_MAX(planning, packing));
}

static size_t without_rows(const struct og_memory_plan *m)
{
    return m->alternates ? before_training(m) : without_turns(m);
}

/* Tables of the policy for an empty superbatch, and what a slot adds. */
static void plan_policy(struct og_memory_plan *m, const struct og_session *s)
{
    enum { MANY = 1 << 20 };
    struct og_policy_setup setup = og__session_policy(s, 0);
    m->policy = og__policy_bytes(&setup, 0, 0, 0);
    m->rest = og__policy_rest_bytes(&setup);
    setup.n_slots = MANY;
    m->policy_slot = (og__policy_bytes(&setup, 0, 0, 0) - m->policy + MANY - 1) / MANY;
    m->rest_slot = (og__policy_rest_bytes(&setup) - m->rest + MANY - 1) / MANY;
    m->alternates = s->opt.alternate && og__samples_ahead(s);
    size_t ranks = (size_t)s->ds->n_nodes * 4;
    bool foresees = og__policy_looks_ahead(s->opt.policy) && s->opt.policy != OG_POLICY_SWEEP;
    if (og__policy_wants_hotness(s->opt.policy) || foresees) /* to guess at misses */
        m->hotness = ranks;
    if (s->opt.policy == OG_POLICY_HYBRID) { /* as long as the run */
        m->policy += ranks;
        m->rest += ranks;
    }
}

/* Staging areas there must be: one a batch in flight when samplers read early. */
static int least_staging(const struct og_session *s)
{
    return s->opt.early_reads ? s->n_works : 1;
}

static void plan_sampling(struct og_memory_plan *m, const struct og_session *s)
{
    const bool on_disk = s->opt.topology == OG_TOPOLOGY_DISK;
    struct og_topology_disk_options disk = og__session_topology(s);
    struct og_sampling how = og__session_sampling(s);
    size_t sampler = og__sampler_bytes(&s->caps);
    if (on_disk)
        sampler +=
            og__sampler_disk_bytes(s->ds, &disk, &s->caps, &how, og__longest_list(&s->topology));
    m->samples = s->offline ? og__samples_memory(s->offline->samples) : 0;
    m->topology = og__session_structure_bytes(s);
    m->topology_rest = on_disk ? m->topology : 0;
    for (int i = 0; i < OG__SPLITS; i++) {
        m->seeds += og__split_bytes(s, &s->split[i]);
        if (s->split[i].labels)
            m->labels += og__labels_bytes(s->ds, s->split[i].n);
    }
    m->sampler = (size_t)s->n_samplers * sampler;
    m->batches = (size_t)s->n_works *
                 (og__batch_bytes(&s->caps, og__batch_extras(s)) + og__seeds_bytes(&s->seeds));
}

/* Planning and reading, but for staging and cache. */
static void plan_reading(struct og_memory_plan *m, const struct og_session *s)
{
    enum { SWEEP_SHARE = 16 };
    const uint64_t rows = input_rows(s);
    const uint64_t changes = og__policy_admits(s->opt.policy) ? rows : 0;
    const size_t early = s->opt.early_reads ? (size_t)s->n_samplers : 0; /* each by itself */
    const struct og_reader_options opt = {.io = s->opt.io, .profile = s->profile};
    const size_t reader = og__reader_bytes(&opt);
    m->plans = (size_t)s->n_works * og__plan_bytes(rows, changes) +
               OG_MAX(early, (size_t)1) * og__planner_bytes(rows);
    m->reader = reader * (early + 1);
    if (s->opt.policy == OG_POLICY_SWEEP)
        m->reader += og__gather_beside_bytes(&opt, og__row_bytes(s->ds));
    if (og__packs(s)) { /* of packs, which the sweep may have before */
        m->reader += reader;
        m->sweep = OG_MAX(m->limit / SWEEP_SHARE, (size_t)LEAST_SWEEP);
    }
    if (s->opt.layout == OG_LAYOUT_SEGMENTED) { /* and of shared rows, with their orders */
        m->reader += reader;
        m->plans += MOST_STAGING * rows * 2 * sizeof(uint32_t);
        m->sweep += (size_t)s->ds->n_nodes * 3 / 16 + rows * 2 * sizeof(uint32_t);
    }
    plan_policy(m, s);
}

static void plan_model(struct og_memory_plan *m, const struct og_session *s, bool training)
{
    m->model = og__model_bytes(&s->config, s->opt.optimizer);
    if (training)
        m->model += m->model / 2; /* the best parameters so far, and those being written */
    m->activations = og__model_workspace_bytes(&s->config, &s->caps, training, s->opt.threads);
    if (!s->seeds.edges)
        m->activations += og__labels_bytes(s->ds, (int64_t)s->schedule.batch_size);
    m->labels += og__session_most_scores(s) * sizeof(float);
}

/* Hotness lives only while the cache is decided, when little else does; PageRank takes two more
 * arrays of its size. */
static size_t while_deciding(const struct og_memory_plan *m, const struct og_session *s)
{
    bool ranks = s->opt.policy == OG_POLICY_PAGERANK || s->opt.policy == OG_POLICY_HYBRID;
    return m->process + m->topology + m->seeds + m->labels + m->policy +
           m->hotness * (ranks ? 3 : 1);
}

void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_session *s, unsigned want)
{
    const uint64_t rows = input_rows(s);
    const bool features = want & OG__WANT_FEATURES;
    m->process = OG__PROCESS_BYTES;
    plan_sampling(m, s);
    if (features)
        plan_reading(m, s);
    if (want & OG__WANT_MODEL)
        plan_model(m, s, want & OG__WANT_TRAINING);
    size_t fixed = OG_MAX(og__memory_plan_sum(m), without_rows(m));
    size_t staged = rows * og__row_bytes(s->ds) * (size_t)least_staging(s);
    m->smallest = fixed + (features ? staged : 0);
    if (og__samples_ahead(s)) /* a superbatch of one batch */
        m->smallest += rows * 8 + FILL_LIST;
    m->smallest = og__round_up(OG_MAX(m->smallest, while_deciding(m, s)), OG_MIB);
}

size_t og__memory_plan_sum(const struct og_memory_plan *m)
{
    if (m->alternates)
        return always(m) + m->topology_rest + m->rest + m->cache + m->n_slots * m->rest_slot;
    return without_turns(m) + m->sweep + m->cache;
}

int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err)
{
    if (m->limit >= m->smallest)
        return 0;
    const struct {
        const char *name;
        size_t bytes;
    } parts[] = {{"topology", m->topology},
                 {"activations", m->activations},
                 {"batches", m->batches + m->plans + m->sampler},
                 {"model", m->model},
                 {"seeds and labels", m->seeds + m->labels},
                 {"read buffers", m->reader},
                 {"process", m->process}};
    char text[400] = "";
    char size[32];
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        size_t used = strlen(text);
        if (parts[i].bytes >= OG_MIB)
            snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "", parts[i].name,
                     og__human_bytes(size, (double)parts[i].bytes));
    }
    char hint[128];
    snprintf(hint, sizeof(hint), "the smallest that would do is --memory %zuM%s",
             m->smallest / OG_MIB, "; smaller --batch or --fanout need less");
    return og__fail(err, -ENOMEM, hint, "--memory %s: too little (%s)",
                    og__human_bytes(size, (double)m->limit), text);
}

/* ---- sampling ahead ---- */

/* Distinct nodes grow as a power of the batches, a little slower the more there are (Heaps' law),
 * so that the pilot's growth carries too far rather than too short. */
struct growth {
    double pilot, power; /* distinct nodes of the pilot's batches */
    uint32_t batches;
    uint64_t most;
};

/* Of a quarter, of half, and of all batches of a pilot. */
static int count_distinct(const struct og_session *s, const struct og_pilot *pilot,
                          double distinct[3], struct og_err *err)
{
    const uint32_t until[3] = {pilot->n / 4, pilot->n / 2, pilot->n};
    const size_t bytes = og__bits_words((uint64_t)s->ds->n_nodes) * sizeof(uint64_t);
    uint64_t *seen = og__alloc(s->budget, bytes, "pilot", err);
    if (!seen)
        return -ENOMEM;
    uint64_t found = 0;
    uint64_t i = 0;
    for (int part = 0; part < 3; part++) {
        for (; until[part] > 0 && i < pilot->end[until[part] - 1]; i++) {
            found += !og__bits_has(seen, pilot->ids[i]);
            og__bits_add(seen, pilot->ids[i]);
        }
        distinct[part] = (double)found;
    }
    og__release(s->budget, seen, bytes, "pilot");
    return 0;
}

int og__pilot_growth(struct og_pilot *p, const struct og_session *s, struct og_err *err)
{
    double distinct[3];
    int rc = count_distinct(s, p, distinct, err);
    if (rc < 0)
        return rc;
    const double before = distinct[0] > 0 ? log2(distinct[1] / distinct[0]) : 1;
    const double power = distinct[1] > 0 ? OG_MIN(log2(distinct[2] / distinct[1]), 1.0) : 1;
    const double slowing = before > 0 && p->n >= 4 ? OG_MIN(power / before, 1.0) : 1;
    p->growth = (struct og_growth){distinct[2], power, slowing};
    return 0;
}

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

static uint64_t distinct_nodes(const struct growth *g, uint64_t batches)
{
    double guess = g->pilot * pow((double)batches / g->batches, g->power);
    return OG_MIN((uint64_t)(guess * 1.05) + 1, g->most);
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
    size_t degrees = extras & OG__WITH_DEGREES ? input_rows(s) * 4 : 0;
    size_t weights = extras & OG__WITH_WEIGHTS ? edges * 4 : 0;
    return (input_rows(s) * 8 + edges * 8 + degrees + weights) * 100 / (100 + MARGIN_PERCENT);
}

static uint64_t longest_epoch(const struct og_session *s)
{
    uint64_t train = og__schedule_batches(&s->schedule, OG__TRAIN);
    uint64_t valid = s->opt.eval_every ? og__schedule_batches(&s->schedule, OG__VALID) : 0;
    return OG_MAX(train + valid, og__schedule_batches(&s->schedule, OG__TEST));
}

/* Ids of a superbatch and the policy's tables for it. */
static void size_ahead(struct og_memory_plan *m, const struct og_session *s, const struct growth *g,
                       uint64_t rows, uint64_t batches)
{
    struct og_policy_setup setup = og__session_policy(s, 0);
    size_t held = s->opt.policy == OG_POLICY_HYBRID ? (size_t)s->ds->n_nodes * 4 : 0;
    m->superbatch = batches;
    m->policy =
        held + og__policy_bytes(&setup, batches * rows, batches, distinct_nodes(g, batches));
    m->trace = batches * (rows * 4 + 64) + rows * 4 + FILL_LIST;
    if (og__packs(s)) /* at worst every row is missed */
        m->packing = og__packing_bytes((uint64_t)s->ds->n_nodes, batches * rows, batches, rows);
    if (s->opt.layout == OG_LAYOUT_SEGMENTED) /* and a bit a row: is it shared? */
        m->packing += og__segments_bytes(distinct_nodes(g, batches), (uint32_t)batches,
                                         og__row_bytes(s->ds)) +
                      og__bits_words(batches * rows) * sizeof(uint64_t);
}

/* What batches that are sampled ahead put on the disk: ids, edges and their ends, plans, and what
 * they miss, at worst every row. Segments can have each row but once, and some room makes them
 * shorter. */
static double disk_bytes(const struct og_session *s, const struct growth *g, uint64_t rows,
                         uint64_t batches)
{
    const double n = (double)batches;
    const double all = n * (double)rows * (double)og__row_bytes(s->ds);
    const double once = (double)distinct_nodes(g, batches) * (double)og__row_bytes(s->ds);
    double away = n * (double)(rows * 8 + 2 * block_bytes(s) + 1);
    if (s->opt.layout == OG_LAYOUT_PACKED)
        away += all;
    if (s->opt.layout == OG_LAYOUT_SEGMENTED)
        away += OG_MIN(all, 2 * once) + n * (double)rows * 8;
    return away;
}

/* As many batches as fit (ginex.txt §3.5): where sampling has the memory to itself three quarters
 * of what is left of it, up to the whole run; else an eighth, and an epoch at most, since what the
 * trace takes the cache has not. */
static void choose_superbatch(struct og_memory_plan *m, const struct og_session *s,
                              const struct growth *g, uint64_t rows, size_t used)
{
    const size_t free = m->limit - OG_MIN(m->limit, used);
    const size_t bound = used + (m->alternates ? free / 4 * 3 : free / 8);
    uint64_t epoch = longest_epoch(s);
    uint64_t most = m->alternates ? OG_MAX(og__schedule_items(&s->schedule), epoch) : epoch;
    uint64_t high = OG_MIN(most, (uint64_t)OG__MOST_FORESEEN);
    if (s->opt.layout == OG_LAYOUT_SEGMENTED)
        high = OG_MIN(high, (uint64_t)OG__MOST_SEGMENTED);
    uint64_t low = 1;
    while (low < high) { /* the largest that fits */
        uint64_t middle = low + (high - low + 1) / 2;
        size_ahead(m, s, g, rows, middle);
        if (without_rows(m) <= bound && disk_bytes(s, g, rows, middle) <= s->opt.disk.value)
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
    m->code_bytes = m->superbatch * input_rows(s) * 4;
    if (m->alternates || m->trace_blocks + m->code_bytes > free / 32)
        m->trace_blocks = m->code_bytes = 0;
    m->trace += m->trace_blocks + m->code_bytes;
}

static int refuse_superbatch(const struct og_memory_plan *m, size_t need, struct og_err *err)
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
    /* hybrid starts with nothing cached: all of the first batches may have to be read */
    const size_t areas = m->alternates && s->opt.policy == OG_POLICY_HYBRID ? MOST_STAGING : 1;
    const size_t staging = input_rows(s) * og__row_bytes(s->ds) * areas;
    uint64_t mean = pilot->rows / OG_MAX(pilot->n, 1u);
    uint64_t rows = OG_MIN(mean + mean / 32 + MARGIN_ROWS, input_rows(s));
    if (m->alternates) /* at most: how many there are depends on what follows */
        m->n_slots = (uint32_t)OG_MIN(m->limit / og__row_bytes(s->ds), (size_t)s->ds->n_nodes);
    const size_t used = without_rows(m);
    if (og__keeps_batches(s))
        size_ahead(m, s, &g, rows, longest_epoch(s));
    else if (s->opt.superbatch == OG_SUPERBATCH_AUTO)
        choose_superbatch(m, s, &g, rows, used + staging);
    else
        size_ahead(m, s, &g, rows,
                   s->opt.superbatch == OG_SUPERBATCH_ALL ? longest_epoch(s)
                                                          : (uint64_t)s->opt.superbatch);
    keep_blocks(m, s, m->limit - OG_MIN(m->limit, used + staging));
    size_t need = without_rows(m) + staging;
    return need <= m->limit ? 0 : refuse_superbatch(m, need, err);
}

/* ---- topology on disk ---- */

/* Are the blocks that a hop draws from so near each other that reading them is reading through the
 * whole file? Then lists in memory save little until nearly all are there. */
static bool sweeps(const struct og_session *s)
{
    uint64_t lists = s->caps.hop[s->caps.n_hops - 1].n_dst;
    uint64_t apart = (uint64_t)s->ds->indices.bytes / OG_MAX(lists, (uint64_t)1);
    return apart < og__profile_gap(&s->profile);
}

int og__memory_plan_neighbors(struct og_memory_plan *m, const struct og_session *s,
                              struct og_err *err)
{
    if (s->opt.topology != OG_TOPOLOGY_DISK)
        return 0;
    const size_t row = og__row_bytes(s->ds);
    const size_t used = without_rows(m) + input_rows(s) * row + m->limit / 32;
    const size_t free = m->limit - OG_MIN(m->limit, used);
    const struct og_amount *asked = &s->opt.neighbor_cache;
    size_t capacity = m->alternates ? free : free / (sweeps(s) ? 4 : 2);
    if (asked->unit == OG_BYTES)
        capacity = (size_t)asked->value;
    else if (asked->unit == OG_PERCENT)
        capacity = (size_t)((double)free * asked->value / 100);
    capacity = OG_MIN(capacity, og__neighbors_whole_bytes(s->ds));
    m->neighbors = capacity ? og__neighbors_bytes(s->ds, capacity) : 0;
    if (m->neighbors <= free)
        return 0;
    return og__fail(err, -ENOMEM, "give a smaller --neighbor-cache or more --memory",
                    "--neighbor-cache: %zu MiB asked for, --memory has room for %zu",
                    m->neighbors / OG_MIB, free / OG_MIB);
}

/* ---- staging and cache ---- */

void og__pilot_rank(struct og_pilot *p, uint64_t n_nodes, uint32_t *hotness)
{
    enum { MOST = 1 << 14 }; /* hotter ones are equal */
    uint32_t place[MOST + 1] = {0};
    for (uint64_t v = 0; v < n_nodes; v++)
        place[OG_MIN(hotness[v], (uint32_t)MOST)]++;
    uint32_t hotter = 0;
    for (int score = MOST; score >= 0; score--) {
        const uint32_t equal = place[score];
        place[score] = hotter;
        hotter += equal;
    }
    for (uint64_t v = 0; v < n_nodes; v++)
        hotness[v] = (uint32_t)(n_nodes - 1) - place[OG_MIN(hotness[v], (uint32_t)MOST)]++;
    p->ranked = true;
}

/* Is this node kept by a cache of n_slots rows? place: hotness, once it is ranked. */
struct kept {
    struct og_placement placement;
    const uint32_t *place; /* NULL: by the placement */
    uint64_t first_kept;
};

static int find_kept(struct kept *k, const struct og_session *s, const struct og_pilot *pilot,
                     const uint32_t *hotness, uint64_t n_slots, struct og_err *err)
{
    const uint64_t n = (uint64_t)s->ds->n_nodes;
    *k = (struct kept){.place = pilot->ranked ? hotness : NULL, .first_kept = n - n_slots};
    return k->place ? 0 : og__placement_build(&k->placement, hotness, n, n_slots, s->budget, err);
}

static inline bool is_kept(const struct kept *k, uint32_t node)
{
    return k->place ? k->place[node] >= k->first_kept : og__placement_has(&k->placement, node);
}

/* Misses of the pilot's worst batch under a cache of n_slots rows, with margin. */
static int pilot_misses(const struct og_session *s, const struct og_pilot *pilot,
                        const uint32_t *hotness, uint32_t from, uint64_t n_slots, uint64_t *worst,
                        struct og_err *err)
{
    struct kept kept;
    *worst = input_rows(s);
    if (s->opt.policy == OG_POLICY_SWEEP) { /* what the cache has no room for */
        *worst -= OG_MIN(*worst, n_slots);
        return 0;
    }
    if (!hotness && !og__policy_is_static(s->opt.policy))
        return 0;
    int rc = find_kept(&kept, s, pilot, hotness, n_slots, err);
    if (rc < 0)
        return rc;
    *worst = 0;
    uint64_t i = from ? pilot->end[from - 1] : 0;
    for (uint32_t b = from; b < pilot->n; b++) {
        uint64_t misses = 0;
        for (; i < pilot->end[b]; i++)
            misses += !is_kept(&kept, pilot->ids[i]);
        *worst = OG_MAX(*worst, misses);
    }
    if (!kept.place)
        og__placement_release(&kept.placement);
    *worst = with_margin(*worst, OG_MIN(input_rows(s), (uint64_t)s->ds->n_nodes - n_slots));
    return 0;
}

/* Rows the user's --cache allows; N when it says nothing. */
static uint64_t cache_limit(const struct og_session *s)
{
    uint64_t n = (uint64_t)s->ds->n_nodes;
    if (s->opt.policy == OG_POLICY_NONE)
        return 0;
    if (s->opt.cache.unit == OG_PERCENT)
        return (uint64_t)OG_MIN(floor((double)n * s->opt.cache.value / 100), (double)n);
    if (s->opt.cache.unit == OG_BYTES)
        return OG_MIN((uint64_t)s->opt.cache.value / og__row_bytes(s->ds), n);
    return n;
}

/* A cached row takes its slot and what the policy notes of it. */
static uint64_t rows_left(size_t room, uint64_t staging_rows, int n_staging, size_t row,
                          size_t slot)
{
    size_t staged = staging_rows * (size_t)n_staging * row;
    return room > staged ? (room - staged) / (row + slot) : 0;
}

static int refuse_cache(const struct og_memory_plan *m, const struct og_session *s, uint64_t want,
                        uint64_t have, struct og_err *err)
{
    size_t short_of = (size_t)(want - have) * og__row_bytes(s->ds);
    char hint[128];
    snprintf(hint, sizeof(hint), "give --memory %zuM, or a smaller --cache",
             (m->limit + short_of) / OG_MIB + 1);
    return og__fail(err, -ENOMEM, hint, "--cache: %llu rows asked for, --memory has room for %llu",
                    (unsigned long long)want, (unsigned long long)have);
}

/* Rows that give way to topology, trace and tables while batches are sampled ahead. */
static int settle_lent(struct og_memory_plan *m, size_t row, struct og_err *err)
{
    size_t before = before_training(m) + m->slack;
    if (before > m->limit)
        return refuse_superbatch(m, before, err);
    uint64_t kept = (m->limit - before) / row;
    m->n_lent = kept < m->n_slots ? m->n_slots - (uint32_t)kept : 0;
    return 0;
}

int og__memory_plan_cache(struct og_memory_plan *m, const struct og_session *s,
                          const struct og_pilot *pilot, const uint32_t *hotness, uint32_t from,
                          struct og_err *err)
{
    m->n_slots = 0; /* known below */
    const size_t row = og__row_bytes(s->ds);
    const size_t slot = m->alternates ? m->rest_slot : m->policy_slot;
    const size_t free = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    const size_t need = input_rows(s) * row * (size_t)least_staging(s);
    /* what batches larger than the pilot's may grow into, where there is that much */
    m->slack = OG_MIN(m->limit / 32, free - OG_MIN(free, need));
    const size_t room = free - m->slack;
    const uint64_t limit = cache_limit(s);
    const int least = least_staging(s);
    const int most = OG_MAX(least, (int)MOST_STAGING);
    uint64_t staging = input_rows(s);
    uint64_t slots = 0;
    int n_staging = least;
    /* Grow the cache into what its own hits free of staging; a few rounds settle it, and a second
     * staging area as soon as the misses are few enough. Misses never grow with the cache, so each
     * round's staging suffices for the next round's larger cache. */
    for (int round = 0; round < 6; round++) {
        uint64_t two = OG_MIN(limit, rows_left(room, staging, most, row, slot));
        uint64_t one = OG_MIN(limit, rows_left(room, staging, least, row, slot));
        bool fits_two = staging * (uint64_t)most <= room / row && two >= slots;
        uint64_t next = fits_two ? two : one;
        if (round > 0 && next <= slots && fits_two == (n_staging == most))
            break;
        n_staging = fits_two ? most : least;
        slots = OG_MAX(slots, next);
        int rc = pilot_misses(s, pilot, hotness, from, slots, &staging, err);
        if (rc < 0)
            return rc;
    }
    if (s->opt.cache.unit != OG_UNSET && slots < limit)
        return refuse_cache(m, s, limit, slots, err);
    m->n_slots = (uint32_t)slots;
    m->staging_rows = (uint32_t)staging;
    m->n_staging = n_staging;
    m->staging = staging * (size_t)n_staging * row;
    m->cache = slots * row;
    return m->alternates ? settle_lent(m, row, err) : 0;
}
