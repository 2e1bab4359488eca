/* The victim buffer against the words of the paper (Park et al. 2024, section 4.3). */
#include "plan/tiers_fixture.h"

enum { NODES = 120, EPOCH = 10, EPOCHS = 3, ROWS = 40, MOST_SLOTS = 60, MOST_DEPTH = 12 };

/* The paper's victim buffers for any cache. Before every `update`-th batch each line is looked up
 * in the window, and tagged with the batch that needs it. */
struct paper {
    const struct og_tiers_setup *setup;
    const struct og_trace *t;
    uint32_t node[MOST_SLOTS];
    int tag[MOST_SLOTS]; /* batch, or -1 */
    uint32_t ring[32][MOST_DEPTH];
    uint32_t in_ring[32];
    uint64_t served, pushed, dropped;
};

static void look(struct paper *p, uint32_t batch)
{
    for (uint32_t s = 0; s < p->setup->device.n_slots; s++) {
        p->tag[s] = -1;
        for (uint32_t b = batch; b <= batch + p->setup->victim.n_rings && b < p->t->n_batches; b++)
            if (p->tag[s] < 0 && p->node[s] != OG_NO_SLOT && has(p->t, b, p->node[s]))
                p->tag[s] = (int)b;
    }
}

static void evict(struct paper *p, uint32_t slot)
{
    if (p->tag[slot] < 0)
        return;
    const uint32_t ring = (uint32_t)p->tag[slot] % p->setup->victim.n_rings;
    if (p->in_ring[ring] == p->setup->victim.depth) {
        p->dropped++;
        return;
    }
    p->ring[ring][p->in_ring[ring]++] = p->node[slot];
    p->pushed++;
}

static void paper_batch(struct paper *p, uint32_t batch, const struct og_plan *plan)
{
    const uint32_t *ids = p->t->ids + p->t->ptr[batch];
    const uint32_t own = batch % p->setup->victim.n_rings;
    if (batch % p->setup->victim.update == 0)
        look(p, batch);
    for (uint32_t i = 0; i < plan->n; i++) {
        bool served = false;
        if (plan->place[i] < p->setup->device.n_slots) {
            p->tag[plan->place[i]] = -1;
            continue;
        }
        for (uint32_t k = 0; k < p->in_ring[own]; k++)
            served |= p->ring[own][k] == ids[i];
        p->served += served;
    }
    p->in_ring[own] = 0;
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        evict(p, plan->change_slot[c]);
        p->node[plan->change_slot[c]] = ids[plan->change_row[c]];
        p->tag[plan->change_slot[c]] = -1;
    }
}

/* The device's policy by itself, in superbatches of `s`, and the rings by the paper. */
static void follow(struct paper *p, uint32_t s)
{
    struct og_policy *policy;
    struct og_planner planner;
    struct og_plan plan;
    struct og_policy_setup setup = p->setup->device;
    setup.has_victims = true;
    memset(p->node, 0xff, sizeof(p->node));
    memset(p->tag, 0xff, sizeof(p->tag));
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&policy, &setup, NULL, NULL), 0);
    for (uint32_t first = 0; first < p->t->n_batches; first += s) {
        struct prepared f = prepare(policy, &setup, p->t, first, s);
        for (uint32_t b = first; b < first + f.n; b++) {
            uint32_t node;
            uint32_t slot;
            while (og__policy_prefill(policy, &node, &slot, 1) > 0) {
                p->node[slot] = node;
                p->tag[slot] = -1;
            }
            const uint32_t n = (uint32_t)(p->t->ptr[b + 1] - p->t->ptr[b]);
            assert_int_equal(
                og__policy_plan(policy, &planner, p->t->ids + p->t->ptr[b], n, &plan, NULL), 0);
            paper_batch(p, b, &plan);
        }
        free(f.ptr);
    }
    og__policy_close(policy);
    og__planner_release(&planner);
    og__plan_release(&plan);
}

static struct og_tiers_setup draw_rings(struct og_rng *rng, int kind, const uint32_t *hotness)
{
    struct og_tiers_setup s = {
        .device = draw_setup(rng, kind, NODES, 1 + og__rng_below(rng, MOST_SLOTS), hotness),
        .host = {.kind = OG_POLICY_NONE, .n_nodes = NODES}};
    s.victim = (struct og_victim_setup){s.device.window, 1 + og__rng_below(rng, MOST_DEPTH),
                                        s.device.update};
    return s;
}

static void rings_are_the_paper_s(void **state)
{
    (void)state;
    struct og_rng rng;
    uint32_t hotness[NODES];
    uint64_t served = 0;
    uint64_t dropped = 0;
    og__rng_at(&rng, 61, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(12, NODES, hotness);
    for (int draw = 0; draw < 60; draw++) {
        struct trace t = draw_trace(&rng, NODES, EPOCH * EPOCHS, ROWS);
        for (int kind = 0; kind < OG_POLICY_AUTO; kind++) {
            const struct og_tiers_setup s = draw_rings(&rng, kind, hotness);
            const uint32_t superbatch = 1 + og__rng_below(&rng, EPOCH * EPOCHS);
            struct paper paper = {.setup = &s, .t = &t.view};
            follow(&paper, superbatch);
            const struct tiers_tally sum = run_tiers(&s, &t.view, superbatch);
            assert_int_equal(sum.victim_hits, paper.served);
            assert_int_equal(sum.pushed, paper.pushed);
            assert_int_equal(sum.dropped, paper.dropped);
            /* a row may be there twice, or come to the device otherwise, where rows are prefilled
             */
            if (!og__policy_prefills(kind))
                assert_int_equal(sum.pushed, sum.victim_hits + sum.left_in_rings);
            served += sum.victim_hits;
            dropped += sum.dropped;
        }
        drop_trace(&t);
    }
    assert_true(served > 10000 && dropped > 1000);
}

/* What comes back is the same wherever superbatches end, if the cache is. */
static void superbatches_do_not_show(void **state)
{
    (void)state;
    static const int kinds[] = {OG_POLICY_HYBRID, OG_POLICY_RR, OG_POLICY_LRU};
    struct og_rng rng;
    uint32_t hotness[NODES];
    og__rng_at(&rng, 62, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(13, NODES, hotness);
    for (int draw = 0; draw < 30; draw++) {
        struct trace t = draw_trace(&rng, NODES, EPOCH * EPOCHS, ROWS);
        const struct og_tiers_setup s = draw_rings(&rng, kinds[draw % 3], hotness);
        const struct tiers_tally whole = run_tiers(&s, &t.view, EPOCH * EPOCHS);
        for (uint32_t superbatch = 1; superbatch <= EPOCH; superbatch++) {
            const struct tiers_tally sum = run_tiers(&s, &t.view, superbatch);
            assert_memory_equal(&sum, &whole, sizeof(sum));
        }
        drop_trace(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_are_the_paper_s),
        cmocka_unit_test(superbatches_do_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
