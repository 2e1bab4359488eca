/* Eight batches (OG__MARGIN_PERCENT covers what they do not show). They are sampled, from a disk
 * most of them in a group, then measured for sizes, growth and misses. */
#include "choose/profiling.h"

#include "base/bits.h"
#include "nn/relational.h"
#include "nn/tasks.h"
#include "plan/owners.h"
#include "sample/group_sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROFILING_BATCHES = 8, FIRST_EPOCH = 1 };

/* ---- sampling it ---- */

static int keep_ids(struct og_profiling *p, const struct og_batch *batch, uint32_t n_units,
                    struct og_budget *b, struct og_err *err)
{
    const uint64_t n = (uint64_t)batch->n_ids + n_units;
    size_t need = (p->rows + n) * sizeof(*p->ids);
    if (need > p->bytes) {
        size_t first = (size_t)PROFILING_BATCHES * n * sizeof(*p->ids) * 9 / 8;
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
    if (n_units > 0)
        memcpy(p->ids + p->rows + batch->n_ids, batch->units, n_units * sizeof(*p->ids));
    p->rows += n;
    p->ptr[++p->n] = p->rows;
    return 0;
}

static int count_types(struct og_profiling *p, const struct og_workload *f,
                       const struct og_batch *batch, struct og_err *err)
{
    struct og_type_counts own = {0};
    int rc = 0;
    if (!p->by_type.nodes)
        OG_TRY(og__type_counts_init(&p->by_type, f->types, batch->n_hops, err));
    OG_TRY(og__type_counts_init(&own, f->types, batch->n_hops, err));
    const struct og_batch by_place = og__batch_by_place(batch);
    og__count_types(f->types, &by_place, NULL, &own);
    og__type_counts_include(&p->by_type, &own);
out:
    og__type_counts_release(&own);
    return rc;
}

/* Records a sampled batch. */
static int note_batch(struct og_profiling *p, const struct og_workload *f,
                      const struct og_descriptor *descriptor, const struct og_batch *batch,
                      struct og_budget *b, struct og_err *err)
{
    og__caps_include(&p->caps, batch);
    OG_DO(count_types(p, f, batch, err));
    if (descriptor->split == OG__TRAIN)
        OG_DO(keep_ids(p, batch, og__plans_units(f) ? batch->n_units : 0, b, err));
    return 0;
}

static int profiling_batch(struct og_profiling *p, const struct og_structure *g,
                           struct og_sampler *sampler, const struct og_descriptor *descriptor,
                           struct og_batch_memory *m, struct og_budget *b, struct og_err *err)
{
    struct og_seeds seeds;
    int rc;
    OG_TRY(og__seeds_open(&seeds, &g->given.workload->seeds, b, err));
    og__seeds_take(&seeds, &g->given.workload->seeds, descriptor);
    OG_TRY(og__sample(sampler, seeds.node, seeds.n,
                      &(struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                              .epoch = descriptor->drawn_epoch,
                                              .batch = descriptor->drawn_batch,
                                              .times = seeds.time},
                      m, err));
    OG_TRY(note_batch(p, g->given.workload, descriptor, &m->batch, b, err));
out:
    og__seeds_close(&seeds);
    return rc;
}

/* Two rounds at least, where requests of rounds are what counts. */
static uint32_t first_batches(const struct og_structure *g)
{
    return OG_MAX(2 * og__owners(g->given.config).ranks, (uint32_t)PROFILING_BATCHES);
}

static bool enough(const struct og_profiling *p, const struct og_profiling_limits *limits,
                   double since)
{
    return p->n == limits->batches ||
           (limits->seconds > 0 && og__now() - since > limits->seconds) ||
           (limits->bytes > 0 && p->rows * sizeof(*p->ids) > limits->bytes);
}

static double core_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Training batches from the next one on, each by itself: their time is taken. */
static int profiling_training(struct og_profiling *p, const struct og_structure *g,
                              struct og_sampler *sampler, const struct og_profiling_limits *limits,
                              struct og_batch_memory *m, struct og_budget *b, struct og_err *err)
{
    const double start = og__now();
    const double core_start = core_now();
    int rc = 0;
    while (!enough(p, limits, start)) {
        struct og_descriptor descriptor =
            og__schedule_pass(&g->given.workload->schedule, OG__TRAIN, p->n);
        descriptor.drawn_epoch = limits->epoch;
        OG_TRY(profiling_batch(p, g, sampler, &descriptor, m, b, err));
        p->reads.io.reads += og__sampler_reads(sampler).io.reads;
        p->reads.io.bytes += og__sampler_reads(sampler).io.bytes;
    }
out:
    p->seconds += og__now() - start;
    p->core_seconds += core_now() - core_start;
    return rc;
}

/* A model of several types, applied to nodes in the order of their ids. */
static bool orders_types(const struct og_structure *g)
{
    const struct og_workload *f = g->given.workload;
    return og__mixes_seeds(&f->shape) && g->given.config->want & OG__WANT_EVERY;
}

/* If every node is predicted, they come in the order of their ids: a batch of each type. Requested
 * nodes may be fewer batches. */
static int profiling_types(struct og_profiling *p, const struct og_structure *g,
                           struct og_sampler *sampler, struct og_batch_memory *m,
                           struct og_budget *b, struct og_err *err)
{
    const struct og_workload *f = g->given.workload;
    const struct og_graph_types *types = f->types;
    const uint64_t batches = og__schedule_batches(&f->schedule, OG__TEST);
    uint32_t before = 0; /* nodes of earlier types */
    int rc = 0;
    if (batches == 0)
        return rc;
    for (uint32_t t = 0; t < types->n_types; t++) {
        if (!og__makes_logits(&f->shape, t))
            continue;
        const uint32_t n = types->type[t].end - og__first_id(types, t);
        const uint32_t middle = before + n / 2;
        const uint64_t batch = OG_MIN((uint64_t)middle / f->schedule.batch_size, batches - 1);
        before += n;
        struct og_descriptor descriptor = og__schedule_pass(&f->schedule, OG__TEST, batch);
        OG_TRY(profiling_batch(p, g, sampler, &descriptor, m, b, err));
    }
out:
    return rc;
}

static int profiling_evaluation(struct og_profiling *p, const struct og_structure *g,
                                struct og_sampler *sampler, struct og_batch_memory *m,
                                struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    for (int split = OG__VALID; split < OG__SPLITS; split++) {
        if (g->given.workload->split[split].n == 0)
            continue;
        struct og_descriptor descriptor =
            og__schedule_pass(&g->given.workload->schedule, (enum og__split)split, 0);
        OG_TRY(profiling_batch(p, g, sampler, &descriptor, m, b, err));
    }
    if (orders_types(g))
        OG_TRY(profiling_types(p, g, sampler, m, b, err));
out:
    return rc;
}

/* ---- together, from a disk ---- */

/* Sizes of sample groups of `n` batches like those before, in some of the memory that is left.
 * There are 0 batches where that is too little. */
static struct og_group_sampling_sizes sizes_of(const struct og_profiling *p,
                                               const struct og_structure *g, uint32_t n,
                                               const struct og_budget *b)
{
    const size_t most = (size_t)256 << 20;
    const struct og_group_sampling_sizes none = {0};
    const struct og_options *opt = &g->given.config->opt;
    const struct og_workload *f = g->given.workload;
    const struct og_sampling how = og__sampling_setup(opt, f->edge_units);
    if (!b || !g->topology.stored || n < 2 || opt->together == 1 || !og__sampler_takes_groups(&how))
        return none;
    const size_t capacity = OG_MIN(og__budget_left(b) / 2, most);
    const struct og_batch_caps caps = og__caps_with_margin(&p->caps, g->given.config, f);
    const struct og_reader_options reader = og__structure_on_disk(g).reader;
    const struct og_group_sampling_shape shape =
        og__group_sampling_shape(f->graph, &g->topology, &how);
    const struct og_group_sampling_sizes sizes = {
        .batches = n,
        .shift = og__group_sampling_shift(&shape, &reader, capacity),
        .memory = n * og__group_sampling_drawn_bytes(&shape, &caps)};
    const size_t bytes = og__group_sampling_bytes(&shape, &caps, &sizes, 1, &reader) + sizes.memory;
    return bytes <= capacity ? sizes : none;
}

/* The next n of training. */
static int add_next(const struct og_profiling *p, struct og_group_sampling *t,
                    const struct og_workload *f, uint32_t n, struct og_budget *b,
                    struct og_err *err)
{
    struct og_seeds seeds;
    int rc;
    OG_TRY(og__seeds_open(&seeds, &f->seeds, b, err));
    for (uint32_t i = p->n; i < p->n + n; i++) {
        struct og_descriptor d = og__schedule_pass(&f->schedule, OG__TRAIN, i);
        d.drawn_epoch = FIRST_EPOCH;
        og__seeds_take(&seeds, &f->seeds, &d);
        const struct og_sample_key key = {.stream = OG__STREAM_SAMPLE,
                                          .epoch = d.drawn_epoch,
                                          .batch = d.drawn_batch,
                                          .times = seeds.time};
        OG_TRY(og__group_sampling_add(t, seeds.node, seeds.n, &key, err));
    }
out:
    og__seeds_close(&seeds);
    return rc;
}

/* As many of them as memory allows. With no scratch, what is drawn has to stay there. -ENOMEM where
 * they are larger than those before had it. */
static int profiling_group(struct og_profiling *p, const struct og_structure *g,
                           struct og_sampler *sampler, const struct og_group_sampling_sizes *sizes,
                           struct og_batch_memory *m, struct og_budget *b, struct og_err *err)
{
    const struct og_group_sampling_options opt = {
        .sizes = *sizes, .samplers = &sampler, .n_samplers = 1};
    const struct og_descriptor training = {.split = OG__TRAIN};
    struct og_group_sampling_counts counts;
    struct og_group_sampling *group_sampling;
    int rc;
    OG_TRY(og__group_sampling_open(&group_sampling, &g->topology, &opt, b, err));
    OG_TRY(add_next(p, group_sampling, g->given.workload, sizes->batches, b, err));
    OG_TRY(og__group_sampling_sample(group_sampling, &counts, err));
    p->sample_group = counts.requested;
    for (uint32_t i = 0; i < sizes->batches; i++) {
        OG_TRY(og__group_sampling_take(group_sampling, i, 0, m, &counts.drawn, err));
        OG_TRY(note_batch(p, g->given.workload, &training, &m->batch, b, err));
    }
out:
    og__group_sampling_close(group_sampling);
    return rc;
}

/* ---- of a run, or so many ---- */

/* Others take as long as those whose time was taken. */
static void scale(struct og_profiling *p, uint32_t timed)
{
    const double by = (double)p->n / OG_MAX(timed, 1u);
    p->seconds *= by;
    p->core_seconds *= by;
    p->reads.io.reads = (uint64_t)((double)p->reads.io.reads * by);
    p->reads.io.bytes = (uint64_t)((double)p->reads.io.bytes * by);
}

/* Times training batches. From a disk two are timed, and the others share reads as far as they fit
 * in memory. */
static int profiling_of_run(struct og_profiling *p, const struct og_structure *g,
                            struct og_sampler *sampler, const struct og_profiling_limits *all,
                            struct og_batch_memory *m, struct og_budget *b, struct og_err *err)
{
    struct og_profiling_limits timed = *all;
    uint32_t group_sampling = 0;
    int rc;
    timed.batches = g->topology.stored ? OG_MIN(all->batches, 2u) : all->batches;
    OG_TRY(profiling_training(p, g, sampler, &timed, m, b, err));
    const uint32_t before = p->n;
    const struct og_group_sampling_sizes sizes = sizes_of(p, g, all->batches - before, b);
    if (sizes.batches > 0) {
        rc = profiling_group(p, g, sampler, &sizes, m, b, err);
        if (rc == -ENOMEM && err) /* those that are left do, one by one */
            *err = (struct og_err){0};
        OG_TRY(rc == -ENOMEM ? 0 : rc);
        group_sampling = p->n - before;
    }
    OG_TRY(profiling_training(p, g, sampler, all, m, b, err));
    scale(p, p->n - group_sampling);
    OG_TRY(profiling_evaluation(p, g, sampler, m, b, err));
out:
    return rc;
}

static int sample_profiling(struct og_profiling *p, const struct og_structure *g,
                            const struct og_profiling_limits *limits, bool of_run,
                            struct og_budget *b, struct og_err *err)
{
    struct og_sampler *sampler = NULL;
    struct og_batch_memory m;
    *p = (struct og_profiling){.ptr = calloc((size_t)limits->batches + 1, sizeof(*p->ptr))};
    if (!p->ptr)
        return og__fail_errno(err, -ENOMEM, NULL, "pilot");
    og__batch_init(&m, b);
    int rc;
    OG_TRY(og__structure_sampler(g, &sampler, b, err));
    if (of_run)
        OG_TRY(profiling_of_run(p, g, sampler, limits, &m, b, err));
    else
        OG_TRY(profiling_training(p, g, sampler, limits, &m, b, err));
out:
    og__sampler_close(sampler);
    og__batch_release(&m);
    if (rc < 0)
        og__profiling_release(p, b);
    return rc;
}

uint64_t og__profiling_epoch(const struct og_structure *g)
{
    const struct og_schedule *own = &g->given.workload->schedule;
    const struct og_schedule whole = og__schedule_whole(own);
    return og__schedule_batches(og__exchanges(g->given.config) ? &whole : own, OG__TRAIN);
}

int og__profiling_run(struct og_profiling *p, const struct og_structure *g, struct og_budget *b,
                      struct og_err *err)
{
    const struct og_profiling_limits few = {
        .epoch = FIRST_EPOCH,
        .batches = (uint32_t)OG_MIN(og__profiling_epoch(g), (uint64_t)first_batches(g))};
    return sample_profiling(p, g, &few, true, b, err);
}

int og__profiling_sample(struct og_profiling *p, const struct og_structure *g,
                         const struct og_profiling_limits *limits, struct og_budget *b,
                         struct og_err *err)
{
    return sample_profiling(p, g, limits, false, b, err);
}

void og__profiling_release(struct og_profiling *p, struct og_budget *b)
{
    og__profiling_unrank(p, b);
    og__release(b, p->ids, p->bytes, "pilot");
    og__type_counts_release(&p->by_type);
    free(p->ptr);
    *p = (struct og_profiling){0};
}

/* ---- with others ---- */

int og__profiling_requests(struct og_profiling *out, const struct og_profiling *p,
                           const struct og_share *own, uint64_t n_nodes, struct og_budget *b,
                           struct og_err *err)
{
    struct og_owner owner = {0};
    const uint32_t rounds = OG_MAX(p->n / own->ranks, 1u); /* whole ones, if there is one */
    const double share = (double)rounds / OG_MAX(p->n, 1u);
    int rc;
    *out = (struct og_profiling){.ptr = calloc((size_t)rounds + 1, sizeof(*out->ptr)),
                                 .bytes = OG_MAX(p->rows, (uint64_t)1) * sizeof(*out->ids),
                                 .caps = p->caps,
                                 .sample_group = p->sample_group};
    OG_TRY(out->ptr ? 0 : og__fail_errno(err, -ENOMEM, NULL, "pilot"));
    OG_TRY((out->ids = og__alloc(b, out->bytes, "pilot", err)) ? 0 : -ENOMEM);
    OG_TRY(og__owner_open(&owner, own->ranks, own->rank, n_nodes, b, err));
    for (uint32_t r = 0; r < rounds; r++) {
        const uint32_t first = r * own->ranks;
        const uint32_t last = OG_MIN(first + own->ranks, p->n);
        uint32_t *ids = out->ids + out->rows;
        og__owner_begin(&owner, ids);
        for (uint32_t i = first; i < last; i++)
            (void)og__owner_ask(&owner, p->ids + p->ptr[i], (uint32_t)(p->ptr[i + 1] - p->ptr[i]),
                                NULL);
        out->rows += owner.n;
        out->ptr[++out->n] = out->rows;
    }
    for (uint64_t i = 0; i < out->rows; i++)
        out->ids[i] = og__owned_node(own->ranks, own->rank, out->ids[i]);
    out->seconds = p->seconds;
    out->core_seconds = p->core_seconds * share;
    out->reads.io.reads = (uint64_t)((double)p->reads.io.reads * share);
    out->reads.io.bytes = (uint64_t)((double)p->reads.io.bytes * share);
out:
    og__owner_close(&owner);
    if (rc < 0)
        og__profiling_release(out, b);
    return rc;
}

/* ---- how large batches are ---- */

static uint64_t with_margin(uint64_t seen, uint64_t bound)
{
    return OG_MIN(seen + seen * OG__MARGIN_PERCENT / 100 + OG__MARGIN_ROWS, bound);
}

/* The longest list of a relation in hop h; -1: any length. Where nodes draw once, it may have been
 * drawn in a hop before. */
static int longest_list(const struct og_graph_types *g, uint32_t relation, uint32_t n_hops,
                        uint32_t h)
{
    const int *fanout = g->fanout + (size_t)relation * n_hops;
    int longest = fanout[h];
    for (uint32_t k = 0; g->once && longest >= 0 && k < h; k++)
        longest = fanout[k] < 0 ? -1 : OG_MAX(longest, fanout[k]);
    return longest;
}

/* Neighbours of a destination of hop h, at most: a list of each relation; -1: any number. */
static int64_t most_neighbors(const struct og_graph_types *g, uint32_t n_hops, uint32_t h)
{
    int64_t sum = 0;
    for (uint32_t r = 0; sum >= 0 && r < g->n_relations; r++) {
        const int longest = longest_list(g, r, n_hops, h);
        sum = longest < 0 ? -1 : sum + longest;
    }
    return sum;
}

static bool grows_trees(const struct og_config *config)
{
    return og__sampling_of_trees((enum og_sampler_kind)config->opt.sampler);
}

/* A bound on edges of a hop's destinations, from lists with so many edges. Walks lead elsewhere
 * too. With replacement, and in several trees, an edge counts several times. */
static uint64_t bound_edges(const struct og_config *config, int64_t n_edges)
{
    const enum og_sampler_kind kind = (enum og_sampler_kind)config->opt.sampler;
    return og__sampling_by_visits(kind) || config->opt.replace || grows_trees(config)
               ? UINT32_MAX
               : (uint64_t)n_edges;
}

/* Likewise of nodes. */
static uint64_t bound_nodes(const struct og_config *config, uint64_t n_nodes)
{
    return grows_trees(config) ? UINT32_MAX : n_nodes;
}

struct og_batch_caps og__caps_with_margin(const struct og_batch_caps *seen,
                                          const struct og_config *config,
                                          const struct og_workload *f)
{
    struct og_batch_caps caps = {
        .n_hops = seen->n_hops, .n_relations = seen->n_relations, .trees = seen->trees};
    const uint64_t n_nodes = bound_nodes(config, (uint64_t)f->graph->n_nodes);
    uint64_t n_dst = og__seeds_most(&f->seeds);
    if (f->seeds.edges) {
        caps.n_pairs = og__pairs_most(&f->seeds.rule, f->schedule.batch_size, true);
        caps.n_scores =
            OG_MAX(caps.n_pairs, og__pairs_most(&f->seeds.rule, f->schedule.batch_size, false));
    }
    for (uint32_t h = 0; h < seen->n_hops; h++) {
        int64_t fanout = most_neighbors(f->types, seen->n_hops, h);
        uint64_t most_edges = bound_edges(config, f->graph->n_edges);
        bool bounded = !og__sampling_edges_unknown((enum og_sampler_kind)config->opt.sampler);
        if (fanout >= 0 && bounded)
            most_edges = OG_MIN(most_edges, n_dst * (uint64_t)fanout);
        caps.hop[h].n_dst = n_dst;
        caps.hop[h].n_edges = with_margin(seen->hop[h].n_edges, most_edges);
        if (seen->n_relations > 0)
            caps.hop[h].n_lists = with_margin(seen->hop[h].n_lists, caps.hop[h].n_edges);
        caps.hop[h].n_drawn = with_margin(seen->hop[h].n_drawn, caps.hop[h].n_edges);
        n_dst = with_margin(seen->hop[h].n_src, OG_MIN(n_nodes, n_dst + caps.hop[h].n_edges));
        caps.hop[h].n_src = n_dst;
        if (seen->hop[h].n_seen > 0)
            caps.hop[h].n_seen = with_margin(seen->hop[h].n_seen, n_nodes);
        if (seen->hop[h].n_listed > 0)
            caps.hop[h].n_listed = with_margin(seen->hop[h].n_listed, (uint64_t)f->graph->n_edges);
    }
    if (seen->n_units > 0)
        caps.n_units = with_margin(seen->n_units, (uint64_t)f->graph->n_edges);
    return caps;
}

int og__types_with_margin(struct og_type_counts *out, const struct og_type_counts *seen,
                          const struct og_config *config, const struct og_workload *f,
                          struct og_err *err)
{
    const struct og_graph_types *g = f->types;
    OG_DO(out->nodes ? 0 : og__type_counts_init(out, g, seen->n_hops, err));
    for (uint32_t h = 0; h <= seen->n_hops; h++) {
        uint64_t *nodes = out->nodes + (size_t)h * g->n_types;
        uint64_t *edges = out->edges + (size_t)h * g->n_relations;
        for (uint32_t t = 0; t < g->n_types; t++)
            nodes[t] = with_margin(og__nodes_of(seen, h, t),
                                   bound_nodes(config, g->type[t].end - og__first_id(g, t)));
        if (h == 0 && !f->seeds.edges) /* nothing but seeds */
            for (uint32_t t = 0; t < g->n_types; t++)
                nodes[t] = og__makes_logits(&f->shape, t) ? f->schedule.batch_size : 0;
        for (uint32_t r = 0; h < seen->n_hops && r < g->n_relations; r++)
            edges[r] = with_margin(og__edges_of(seen, h, r),
                                   bound_edges(config, f->graph->relation[r].n_edges));
    }
    return 0;
}

/* ---- how distinct nodes grow ---- */

/* Distinct nodes in a quarter, in half, and in all profiling batches. */
static int count_distinct(const struct og_profiling *profiling, uint64_t n_nodes,
                          struct og_budget *budget, double distinct[3], struct og_err *err)
{
    const uint32_t until[3] = {profiling->n / 4, profiling->n / 2, profiling->n};
    const size_t bytes = og__bits_words(n_nodes) * sizeof(uint64_t);
    uint64_t *seen = og__alloc(budget, bytes, "pilot", err);
    if (!seen)
        return -ENOMEM;
    uint64_t found = 0;
    uint64_t i = 0;
    for (int part = 0; part < 3; part++) {
        for (; until[part] > 0 && i < profiling->ptr[until[part]]; i++) {
            found += !og__bits_has(seen, profiling->ids[i]);
            og__bits_add(seen, profiling->ids[i]);
        }
        distinct[part] = (double)found;
    }
    og__release(budget, seen, bytes, "pilot");
    return 0;
}

int og__profiling_growth(struct og_profiling *p, uint64_t n_nodes, struct og_budget *b,
                         struct og_err *err)
{
    double distinct[3];
    OG_DO(count_distinct(p, n_nodes, b, distinct, err));
    const double before = distinct[0] > 0 ? log2(distinct[1] / distinct[0]) : 1;
    const double power = distinct[1] > 0 ? OG_MIN(log2(distinct[2] / distinct[1]), 1.0) : 1;
    const double slowing = before > 0 && p->n >= 4 ? OG_MIN(power / before, 1.0) : 1;
    p->growth = (struct og_growth){distinct[2], power, slowing};
    return 0;
}

/* ---- what a cache would miss ---- */

static void order_by_place(uint64_t n_nodes, uint32_t *hotness)
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
}

int og__profiling_rank(struct og_profiling *p, uint64_t n_nodes, uint32_t *hotness,
                       struct og_budget *b, struct og_err *err)
{
    order_by_place(n_nodes, hotness);
    p->place = og__alloc(b, p->rows * sizeof(*p->place), "pilot", err);
    for (uint64_t i = 0; p->place && i < p->rows; i++)
        p->place[i] = hotness[p->ids[i]];
    return p->place ? 0 : -ENOMEM;
}

void og__profiling_unrank(struct og_profiling *p, struct og_budget *b)
{
    og__release(b, p->place, p->rows * sizeof(*p->place), "pilot");
    p->place = NULL;
}

/* Rows of a group, by its own numbers, that a cache of n_slots rows keeps. */
struct cached {
    struct og_placement placement;
    const uint32_t *ids;
    const uint32_t *place; /* NULL: by the placement */
    uint64_t first_cached;
    uint64_t first, end; /* nodes of the group */
};

static int find_cached(struct cached *k, const struct og_profiling_cache *c, uint64_t n_slots,
                       struct og_err *err)
{
    const struct og_profiling *profiling = c->profiling;
    const uint64_t n_nodes = k->end - k->first;
    k->ids = profiling->ids;
    k->place = profiling->place;
    k->first_cached = n_nodes - n_slots;
    return k->place ? 0
                    : og__placement_build(&k->placement, c->hotness ? c->hotness + k->first : NULL,
                                          n_nodes, n_slots, c->budget, err);
}

static inline bool is_missed(const struct cached *k, uint64_t row)
{
    if (k->place)
        return k->place[row] < k->first_cached;
    const uint32_t id = k->ids[row];
    return id >= k->first && id < k->end &&
           !og__placement_has(&k->placement, id - (uint32_t)k->first);
}

static uint64_t worst_missed(const struct og_profiling_cache *c, const struct cached *cached)
{
    const struct og_profiling *profiling = c->profiling;
    uint64_t worst = 0;
    uint64_t i = profiling->ptr[c->from];
    for (uint32_t b = c->from; b < profiling->n; b++) {
        uint64_t misses = 0;
        for (; i < profiling->ptr[b + 1]; i++)
            misses += is_missed(cached, i);
        worst = OG_MAX(worst, misses);
    }
    return worst;
}

/* For the group whose nodes are cached->first to cached->end. */
static int worst_of_group(const struct og_profiling_cache *c, struct cached *cached,
                          uint64_t n_slots, uint64_t *rows, struct og_err *err)
{
    if (og__policy_fills_during_training(c->policy)) { /* what the cache has no room for */
        *rows -= OG_MIN(*rows, n_slots);
        return 0;
    }
    if (!c->hotness && !og__policy_is_static(c->policy))
        return 0;
    OG_DO(find_cached(cached, c, n_slots, err));
    *rows =
        with_margin(worst_missed(c, cached), OG_MIN(*rows, cached->end - cached->first - n_slots));
    if (!cached->place)
        og__placement_release(&cached->placement);
    return 0;
}

static int worst_of(const void *arg, const uint64_t *slots, uint64_t *rows, struct og_err *err)
{
    const struct og_profiling_cache *c = arg;
    const struct og_workload *f = c->workload;
    for (uint32_t g = 0, k = 0; k < f->n_groups; g++) {
        const struct og_group *group = &f->row_graph->group[g];
        if (group->dim == 0)
            continue;
        struct cached cached = {.first = (uint64_t)group->first,
                                .end = (uint64_t)(group->first + group->n_nodes)};
        rows[k] = c->of_batches ? f->group[k].rows : f->group[k].read;
        if (f->requested_rows == 0 || f->row_graph->n_groups == 1) /* else all requests */
            OG_DO(worst_of_group(c, &cached, slots[k], &rows[k], err));
        k++;
    }
    return 0;
}

struct og_misses og__profiling_misses(const struct og_profiling_cache *cache)
{
    return (struct og_misses){worst_of, cache};
}
