#include "train/hotness.h"

#include <stdlib.h>

struct presc {
    const struct og_structure *g;
    struct og_sampler *sampler;
    struct og_batch_memory sampled;
    struct og_seeds seeds;
};

static int visit_batch(struct presc *p, uint32_t epoch, uint64_t batch, uint32_t *hotness,
                       struct og_err *err)
{
    enum { AHEAD = 16 };
    struct og_descriptor descriptor =
        og__schedule_pass(&p->g->given.facts->schedule, OG__TRAIN, batch);
    descriptor.drawn_epoch = epoch;
    og__seeds_take(&p->seeds, &p->g->given.facts->seeds, &descriptor);
    int rc;
    OG_TRY(og__sample(p->sampler, p->seeds.node, p->seeds.n, OG__STREAM_PRESC, epoch,
                      descriptor.batch, &p->sampled, err));
    const struct og_batch *b = &p->sampled.batch;
    for (uint32_t i = 0; i < b->n_ids; i++) {
        if (i + AHEAD < b->n_ids)
            __builtin_prefetch(&hotness[b->ids[i + AHEAD]], 1);
        hotness[b->ids[i]]++;
    }
out:
    return rc;
}

static int find_visits(const struct og_structure *g, const struct og_options *opt,
                       uint32_t *hotness, struct og_err *err)
{
    struct presc p = {.g = g};
    uint64_t batches = og__schedule_batches(&g->given.facts->schedule, OG__TRAIN);
    og__batch_init(&p.sampled, g->budget);
    int rc;
    OG_TRY(og__seeds_open(&p.seeds, &g->given.facts->seeds, g->budget, err));
    OG_TRY(og__structure_sampler(g, &p.sampler, g->budget, err));
    for (uint32_t epoch = 1; epoch <= (uint32_t)opt->presc_epochs; epoch++) {
        for (uint64_t batch = 0; batch < batches; batch++) {
            OG_TRY(visit_batch(&p, epoch, batch, hotness, err));
            OG_TRY(og__stopped(g->given.config, "stopped while sampling ahead", err));
        }
    }
out:
    og__sampler_close(p.sampler);
    og__batch_release(&p.sampled);
    og__seeds_close(&p.seeds);
    return rc;
}

int og__hotness_degree_guess(const struct og_topology *t, uint32_t *hotness, struct og_err *err)
{
    return og__topology_scan(t, og__hotness_some_edges, hotness, err);
}

/* ---- the others ---- */

static int find_degrees(const struct og_structure *g, const struct og_options *opt,
                        uint32_t *hotness, struct og_err *err)
{
    (void)opt;
    return og__topology_out_degrees(&g->topology, hotness, err);
}

int og__hotness_pagerank(const struct og_topology *t, const uint32_t *seeds, int64_t n_seeds,
                         struct og_budget *b, uint32_t *hotness, struct og_err *err)
{
    struct og_pagerank p;
    int rc;
    OG_TRY(og__pagerank_open(&p, t, seeds, n_seeds, b, err));
    while (og__pagerank_round(&p))
        OG_TRY(og__topology_scan(t, og__pagerank_edges, &p, err));
    og__pagerank_scores(&p, hotness);
out:
    og__pagerank_close(&p);
    return rc;
}

static int find_pagerank(const struct og_structure *g, const struct og_options *opt,
                         uint32_t *hotness, struct og_err *err)
{
    (void)opt;
    const struct og_split *train = &g->given.facts->split[OG__TRAIN];
    return og__hotness_pagerank(&g->topology, train->ids,
                                train->n * (g->given.facts->seeds.edges ? 2 : 1), g->budget,
                                hotness, err);
}

static size_t visits_bytes(const struct og_facts *f)
{
    return og__sampler_bytes(&f->caps) + og__batch_bytes(&f->caps, f->trace.extras);
}

static size_t pagerank_bytes(const struct og_facts *f)
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

/* ---- of any policy ---- */

typedef int from_graph(const struct og_structure *g, const struct og_options *opt,
                       uint32_t *hotness, struct og_err *err);
typedef int from_options(const struct og_options *opt, uint64_t n_nodes, uint32_t *hotness,
                         struct og_err *err);

static const struct {
    from_graph *find; /* or, where no graph is needed: */
    from_options *find_bare;
    int (*check)(const struct og_options *opt, uint64_t n_nodes, struct og_err *err); /* or NULL */
    size_t (*bytes)(const struct og_facts *f); /* NULL: none */
} kinds[OG__HOTNESS_KINDS] = {
    [OG__HOTNESS_NOISE] = {NULL, find_noise, NULL, NULL},
    [OG__HOTNESS_DEGREE] = {find_degrees, NULL, NULL, NULL},
    [OG__HOTNESS_VISITS] = {find_visits, NULL, NULL, visits_bytes},
    [OG__HOTNESS_PAGERANK] = {find_pagerank, NULL, NULL, pagerank_bytes},
    [OG__HOTNESS_SCORES] = {NULL, og__hotness_scores, og__hotness_scores_check, NULL},
};

int og__hotness_without_graph(int policy, const struct og_options *opt, uint64_t n_nodes,
                              uint32_t *hotness, struct og_err *err)
{
    return kinds[og__policy_hotness(policy)].find_bare(opt, n_nodes, hotness, err);
}

int og__hotness_of(const struct og_structure *g, int policy, const struct og_options *opt,
                   uint32_t *hotness, struct og_err *err)
{
    from_graph *find = kinds[og__policy_hotness(policy)].find;
    return find ? find(g, opt, hotness, err)
                : og__hotness_without_graph(policy, opt, g->given.facts->n_nodes, hotness, err);
}

int og__hotness_check(const struct og_options *opt, uint64_t n_nodes, struct og_err *err)
{
    const enum og_hotness kind = og__policy_hotness(opt->policy);
    return kinds[kind].check ? kinds[kind].check(opt, n_nodes, err) : 0;
}

size_t og__hotness_bytes(const struct og_facts *f, int policy)
{
    const enum og_hotness kind = og__policy_hotness(policy);
    return kinds[kind].bytes ? kinds[kind].bytes(f) : 0;
}

bool og__hotness_needs_graph(int policy)
{
    return kinds[og__policy_hotness(policy)].find;
}
