#include "choose/hotness.h"

#include "budget/slots.h"
#include <stdatomic.h>
#include <stdlib.h>

/* ---- visits (presc) ---- */

/* What one thread samples with. */
struct visitor {
    struct og_sampler *sampler;
    struct og_batch_memory sampled;
    struct og_seeds seeds;
    int rc;
    struct og_err err;
};

/* Each visitor takes the next batch that none has. Visits are added up, so that it does not matter
 * which. */
struct visits {
    const struct og_structure *g;
    uint32_t *hotness;
    uint64_t batches, all; /* of an epoch, of all */
    atomic_uint_fast64_t next;
    struct visitor *visitor;
    size_t n;
};

static size_t visits_bytes(const struct og_workload *f)
{
    return og__sampler_bytes(&f->caps) + og__batch_bytes(&f->caps, f->trace.extras);
}

static int open_visitor(struct visitor *v, const struct og_structure *g, struct og_err *err)
{
    og__batch_init(&v->sampled, g->budget);
    int rc = og__seeds_open(&v->seeds, &g->given.workload->seeds, g->budget, err);
    return rc < 0 ? rc : og__structure_sampler(g, &v->sampler, g->budget, err);
}

static void close_visitor(struct visitor *v)
{
    og__sampler_close(v->sampler);
    og__batch_release(&v->sampled);
    og__seeds_close(&v->seeds);
}

static void count_visits(const uint32_t *ids, uint32_t n, uint32_t *hotness)
{
    enum { AHEAD = 16 };
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&hotness[ids[i + AHEAD]], 1);
        __atomic_fetch_add(&hotness[ids[i]], 1, __ATOMIC_RELAXED);
    }
}

static int visit_batch(struct visits *all, struct visitor *v, uint64_t number)
{
    const struct og_workload *workload = all->g->given.workload;
    const uint64_t batch = number % all->batches;
    struct og_descriptor descriptor = og__schedule_pass(&workload->schedule, OG__TRAIN, batch);
    descriptor.drawn_epoch = (uint32_t)(number / all->batches) + 1;
    og__seeds_take(&v->seeds, &workload->seeds, &descriptor);
    OG_DO(og__sample(v->sampler, v->seeds.node, v->seeds.n,
                     &(struct og_sample_key){.stream = OG__STREAM_PRESC,
                                             .epoch = descriptor.drawn_epoch,
                                             .batch = descriptor.batch,
                                             .times = v->seeds.time},
                     &v->sampled, &v->err));
    const struct og_batch *b = &v->sampled.batch;
    count_visits(b->ids, b->n_ids, all->hotness);
    if (og__plans_units(workload))
        count_visits(b->units, b->n_units, all->hotness);
    return og__stopped(all->g->given.config, "stopped while sampling ahead", &v->err);
}

static void visit(void *arg, size_t task, int thread)
{
    struct visits *all = arg;
    struct visitor *v = &all->visitor[task];
    (void)thread;
    while (v->rc == 0) {
        const uint64_t number = atomic_fetch_add(&all->next, 1);
        if (number >= all->all)
            return;
        v->rc = visit_batch(all, v, number);
    }
    atomic_store(&all->next, all->all); /* the others need not go on */
}

/* The first of them that failed. */
static int visits_failed(const struct visits *all, struct og_err *err)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->visitor[i].rc < 0)
            return og__fail(err, all->visitor[i].rc, all->visitor[i].err.hint, "%s",
                            all->visitor[i].err.message);
    return 0;
}

/* One is planned for. There are more as far as half of the memory that is idle just now goes:
 * arrays that grow are there twice for a moment. */
static size_t visitors_for(const struct og_structure *g, struct og_pool *pool)
{
    const struct og_workload *f = g->given.workload;
    const size_t each = visits_bytes(f) + f->bytes.sampler_reading + og__seeds_bytes(&f->seeds);
    const size_t fit = og__budget_left(g->budget) / 2 / each;
    return OG_MAX(OG_MIN((size_t)og__pool_threads(pool), fit), (size_t)1);
}

/* Without memory for all that seemed to fit, those that do will do. */
static void open_visitors(struct visits *all)
{
    for (size_t i = 0; i < all->n; i++) {
        struct visitor *v = &all->visitor[i];
        v->rc = open_visitor(v, all->g, &v->err);
        if (v->rc == -ENOMEM && i > 0) {
            close_visitor(v);
            all->n = i;
        }
    }
}

static int find_visits(const struct og_structure *g, struct og_pool *pool,
                       const struct og_options *opt, uint32_t *hotness, struct og_err *err)
{
    const struct og_schedule whole = og__schedule_whole(&g->given.workload->schedule);
    const uint64_t batches = og__schedule_batches(&whole, OG__TRAIN);
    struct visits all = {.g = g,
                         .hotness = hotness,
                         .batches = batches,
                         .all = batches * (uint64_t)opt->presc_epochs,
                         .n = visitors_for(g, pool)};
    int rc;
    atomic_init(&all.next, 0);
    all.visitor = calloc(all.n, sizeof(*all.visitor));
    if (!all.visitor)
        return og__fail_errno(err, -ENOMEM, NULL, "presc");
    open_visitors(&all);
    OG_TRY(visits_failed(&all, err));
    og__pool_run(pool, all.n, visit, &all);
    OG_TRY(visits_failed(&all, err));
out:
    for (size_t i = 0; i < all.n; i++)
        close_visitor(&all.visitor[i]);
    free(all.visitor);
    return rc;
}

/* ---- the others ---- */

int og__hotness_degree_guess(const struct og_topology *t, uint32_t *hotness, struct og_err *err)
{
    int rc = 0;
    if (!t->relation)
        return og__topology_scan(t, og__hotness_some_edges, hotness, err);
    for (uint32_t r = 0; rc == 0 && r < t->n_relations; r++) {
        const struct og_related_lists *of = &t->relation[r];
        if (of->lists.n_edges > 0)
            rc = og__topology_scan(&of->lists, og__hotness_some_edges, hotness + of->first_source,
                                   err);
    }
    return rc;
}

static int find_degrees(const struct og_structure *g, struct og_pool *pool,
                        const struct og_options *opt, uint32_t *hotness, struct og_err *err)
{
    (void)pool;
    (void)opt;
    return og__topology_out_degrees(&g->topology, hotness, err);
}

static int pass_relations(struct og_pagerank *p, struct og_err *err)
{
    int rc = 0;
    for (uint32_t r = 0; rc == 0 && r < p->t->n_relations; r++) {
        og__pagerank_pass_relation(p, r);
        if (p->lists->n_edges > 0)
            rc = og__topology_scan(p->lists, og__pagerank_edges, p, err);
    }
    return rc;
}

static int pass_edges(struct og_pagerank *p, struct og_err *err)
{
    og__pagerank_pass(p);
    return og__topology_scan(p->t, og__pagerank_edges, p, err);
}

int og__hotness_pagerank(const struct og_topology *t, const uint32_t *seeds, int64_t n_seeds,
                         struct og_budget *b, uint32_t *hotness, struct og_err *err)
{
    struct og_pagerank p;
    int rc;
    OG_TRY(og__pagerank_open(&p, t, seeds, n_seeds, b, err));
    while (og__pagerank_round(&p))
        OG_TRY(t->relation ? pass_relations(&p, err) : pass_edges(&p, err));
    og__pagerank_scores(&p, hotness);
out:
    og__pagerank_close(&p);
    return rc;
}

static int find_pagerank(const struct og_structure *g, struct og_pool *pool,
                         const struct og_options *opt, uint32_t *hotness, struct og_err *err)
{
    (void)pool;
    (void)opt;
    const struct og_split *train = &g->given.workload->split[OG__TRAIN];
    return og__hotness_pagerank(&g->topology, train->ids,
                                train->n * (g->given.workload->seeds.edges ? 2 : 1), g->budget,
                                hotness, err);
}

static size_t pagerank_bytes(const struct og_workload *f)
{
    return og__pagerank_bytes(f->n_nodes);
}

/* ---- without a graph ---- */

static int find_noise(const struct og_options *opt, uint64_t n_nodes, uint32_t *hotness,
                      struct og_err *err)
{
    (void)err;
    og__hotness_random((uint64_t)opt->seed, n_nodes, hotness);
    return 0;
}

/* ---- of units of edges ---- */

typedef uint32_t unit_hotness(uint32_t edges);

/* The degree of a node that as many edges lead to. */
static uint32_t degree_of_unit(uint32_t edges)
{
    return edges;
}

static uint32_t score_of_unit(uint32_t edges)
{
    (void)edges;
    return og__float_ordered(0);
}

static void rank_units(const struct og_workload *f, unit_hotness *of_unit, uint32_t *hotness)
{
    const struct og_graph *g = f->row_graph;
    for (uint32_t k = f->graph->n_groups; of_unit && k < g->n_groups; k++) {
        const struct og_group *of = &g->group[k];
        const uint32_t rows = f->edge_units[of->relation].rows;
        const int64_t edges = g->relation[of->relation].n_edges;
        for (int64_t u = 0; u < of->n_nodes; u++)
            hotness[of->first + u] = of_unit((uint32_t)OG_MIN((int64_t)rows, edges - u * rows));
    }
}

/* ---- of any policy ---- */

typedef int from_graph(const struct og_structure *g, struct og_pool *pool,
                       const struct og_options *opt, uint32_t *hotness, struct og_err *err);
typedef int from_options(const struct og_options *opt, uint64_t n_nodes, uint32_t *hotness,
                         struct og_err *err);

static const struct {
    from_graph *find; /* or, where no graph is needed: */
    from_options *find_bare;
    from_options *find_numbers; /* of several sizes, if another, of nodes alone; */
    unit_hotness *of_unit;      /* of edges; NULL: found with the others, or 0 */
    og_uses *uses;              /* and how often, by what either found */
    int (*check)(const struct og_options *opt, uint64_t n_nodes, struct og_err *err); /* or NULL */
    size_t (*bytes)(const struct og_workload *f); /* NULL: none */
} kinds[OG__HOTNESS_KINDS] = {
    [OG__HOTNESS_NOISE] = {.find_bare = find_noise, .uses = og__uses_counted},
    [OG__HOTNESS_DEGREE] = {.find = find_degrees,
                            .of_unit = degree_of_unit,
                            .uses = og__uses_counted},
    [OG__HOTNESS_VISITS] = {.find = find_visits, .uses = og__uses_counted, .bytes = visits_bytes},
    [OG__HOTNESS_PAGERANK] = {.find = find_pagerank,
                              .uses = og__uses_float,
                              .bytes = pagerank_bytes},
    [OG__HOTNESS_SCORES] = {.find_bare = og__hotness_scores,
                            .find_numbers = og__hotness_scores_as_floats,
                            .of_unit = score_of_unit,
                            .uses = og__uses_ordered,
                            .check = og__hotness_scores_check},
};

int og__hotness_without_graph(int policy, const struct og_options *opt, uint64_t n_nodes,
                              uint32_t *hotness, struct og_err *err)
{
    return kinds[og__policy_hotness(policy)].find_bare(opt, n_nodes, hotness, err);
}

int og__hotness_of(const struct og_structure *g, struct og_pool *pool, int policy,
                   const struct og_options *opt, uint32_t *hotness, struct og_err *err)
{
    from_graph *find = kinds[og__policy_hotness(policy)].find;
    return find ? find(g, pool, opt, hotness, err)
                : og__hotness_without_graph(policy, opt, g->given.workload->n_nodes, hotness, err);
}

int og__hotness_uses(const struct og_structure *g, struct og_pool *pool, int policy,
                     const struct og_options *opt, uint32_t *hotness, og_uses **uses,
                     struct og_err *err)
{
    const enum og_hotness kind = og__policy_hotness(policy);
    const struct og_workload *f = g->given.workload;
    const uint64_t n = kinds[kind].find_numbers ? (uint64_t)f->graph->n_nodes : f->n_nodes;
    *uses = kinds[kind].uses;
    rank_units(f, kinds[kind].of_unit, hotness);
    return kinds[kind].find ? kinds[kind].find(g, pool, opt, hotness, err)
                            : og__hotness_uses_bare(policy, opt, n, hotness, uses, err);
}

int og__hotness_worth(const struct og_structure *g, struct og_pool *pool, int policy,
                      const struct og_options *opt, uint32_t *worth, struct og_err *err)
{
    const struct og_graph *graph = g->given.workload->row_graph;
    struct og_group_bytes *group = og__group_bytes_of_graph(graph);
    og_uses *uses;
    int rc;
    OG_TRY(group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache"));
    OG_TRY(og__hotness_uses(g, pool, og__policy_ranked_like(policy), opt, worth, &uses, err));
    og__worth_weigh(worth, uses, group, graph->n_groups);
out:
    free(group);
    return rc;
}

int og__hotness_uses_bare(int policy, const struct og_options *opt, uint64_t n_nodes,
                          uint32_t *hotness, og_uses **uses, struct og_err *err)
{
    const enum og_hotness kind = og__policy_hotness(policy);
    *uses = kinds[kind].uses;
    return kinds[kind].find_numbers ? kinds[kind].find_numbers(opt, n_nodes, hotness, err)
                                    : kinds[kind].find_bare(opt, n_nodes, hotness, err);
}

int og__hotness_check(const struct og_options *opt, uint64_t n_nodes, struct og_err *err)
{
    const enum og_hotness kind = og__policy_hotness(opt->policy);
    return kinds[kind].check ? kinds[kind].check(opt, n_nodes, err) : 0;
}

size_t og__hotness_bytes(const struct og_workload *f, int policy)
{
    const enum og_hotness kind = og__policy_hotness(policy);
    return kinds[kind].bytes ? kinds[kind].bytes(f) : 0;
}

bool og__hotness_needs_graph(int policy)
{
    return kinds[og__policy_hotness(policy)].find;
}
