#include "train/hotness.h"

#include <stdlib.h>

struct presc {
    struct og_session *s;
    struct og_sampler *sampler;
    struct og_batch_memory sampled;
    struct og_seeds seeds;
};

static int visit_batch(struct presc *p, uint32_t epoch, uint64_t batch, uint32_t *hotness,
                       struct og_err *err)
{
    enum { AHEAD = 16 };
    struct og_turn turn = og__schedule_pass(&p->s->facts.schedule, OG__TRAIN, batch);
    turn.drawn_epoch = epoch;
    og__seeds_take(&p->seeds, &p->s->facts.seeds, &turn);
    int rc = og__sample(p->sampler, p->seeds.node, p->seeds.n, OG__STREAM_PRESC, epoch, turn.batch,
                        &p->sampled, err);
    const struct og_batch *b = &p->sampled.batch;
    for (uint32_t i = 0; rc == 0 && i < b->n_ids; i++) {
        if (i + AHEAD < b->n_ids)
            __builtin_prefetch(&hotness[b->ids[i + AHEAD]], 1);
        hotness[b->ids[i]]++;
    }
    return rc;
}

int og__hotness_presc(struct og_session *s, int epochs, uint32_t *hotness, struct og_err *err)
{
    struct presc p = {.s = s};
    uint64_t batches = og__schedule_batches(&s->facts.schedule, OG__TRAIN);
    og__batch_init(&p.sampled, s->budget);
    int rc = og__seeds_open(&p.seeds, &s->facts.seeds, s->budget, err);
    if (rc == 0)
        rc = og__session_sampler(s, &p.sampler, s->budget, err);
    for (uint32_t epoch = 1; epoch <= (uint32_t)epochs; epoch++) {
        for (uint64_t batch = 0; rc == 0 && batch < batches; batch++) {
            rc = visit_batch(&p, epoch, batch, hotness, err);
            if (rc == 0)
                rc = og__session_stopped(s, "stopped while sampling ahead", err);
        }
    }
    og__sampler_close(p.sampler);
    og__batch_release(&p.sampled);
    og__seeds_close(&p.seeds);
    return rc;
}

/* ---- of any policy ---- */

int og__hotness_of(struct og_session *s, int policy, int presc_epochs, uint32_t *hotness,
                   struct og_err *err)
{
    const struct og_split *train = &s->facts.split[OG__TRAIN];
    switch (policy) {
    case OG_POLICY_DEGREE:
        return og__hotness_degree(&s->topology, hotness, err);
    case OG_POLICY_PRESC:
        return og__hotness_presc(s, presc_epochs, hotness, err);
    case OG_POLICY_PAGERANK:
    case OG_POLICY_HYBRID:
        return og__hotness_pagerank(&s->topology, train->ids,
                                    train->n * (s->facts.seeds.edges ? 2 : 1), s->budget, hotness,
                                    err);
    default:
        og__hotness_random((uint64_t)s->config.opt.seed, (uint64_t)s->facts.ds->n_nodes, hotness);
        return 0;
    }
}

size_t og__hotness_bytes(const struct og_session *s, int policy)
{
    switch (policy) {
    case OG_POLICY_PRESC:
        return og__sampler_bytes(&s->facts.caps) +
               og__batch_bytes(&s->facts.caps, s->facts.trace.extras);
    case OG_POLICY_PAGERANK:
    case OG_POLICY_HYBRID:
        return 2 * (size_t)s->facts.ds->n_nodes * sizeof(float);
    default:
        return 0;
    }
}
