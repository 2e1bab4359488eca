/* Candidates whose rows are of several sizes. */
#include "plan/candidate_plain.h"

enum { ROW_GROUPS = 3 };

struct several {
    struct random_trace t[ROW_GROUPS];
    struct og_cost_inputs own[ROW_GROUPS]; /* as if it were alone */
    struct og_cost_group group[ROW_GROUPS];
    struct og_group_slots range[ROW_GROUPS];   /* of nodes, without slots */
    uint32_t hotness[ROW_GROUPS * MOST_NODES]; /* of all nodes */
    struct og_cost_inputs all;
};

static void draw_several(struct several *s, struct og_rng *rng, struct og_budget *b)
{
    uint32_t first = 0;
    uint32_t n_batches = MOST_BATCHES;
    for (int w = 0; w < ROW_GROUPS; w++) {
        s->t[w] = (struct random_trace){0};
        draw_trace(&s->t[w], rng, &s->own[w]);
        n_batches = OG_MIN(n_batches, s->own[w].trace.n_batches);
    }
    for (int w = 0; w < ROW_GROUPS; w++) {
        struct og_cost_inputs *own = &s->own[w];
        own->trace.n_batches = n_batches;
        own->budget = b;
        own->distinct = 1 + og__rng_below(rng, s->t[w].n_nodes);
        own->growth = 0.5;
        own->epoch_batches = 4 * n_batches;
        s->range[w] = (struct og_group_slots){.first = first, .end = first + own->n_nodes};
        s->group[w] = (struct og_cost_group){.trace = own->trace,
                                             .n_nodes = own->n_nodes,
                                             .distinct = own->distinct,
                                             .growth = own->growth,
                                             .rule = own->rule,
                                             .row_bytes = own->row_bytes};
        memcpy(s->hotness + first, s->t[w].hotness, s->t[w].n_nodes * sizeof(*s->hotness));
        first += s->t[w].n_nodes;
    }
    s->all = (struct og_cost_inputs){.trace = {.n_batches = n_batches},
                                     .n_nodes = first,
                                     .epoch_batches = 4 * n_batches,
                                     .fill_rows = FILL_ROWS,
                                     .disk = s->own[0].disk,
                                     .times = s->own[0].times,
                                     .memory_limit = SIZE_MAX,
                                     .disk_limit = UINT64_MAX,
                                     .budget = b,
                                     .group = s->group,
                                     .n_groups = ROW_GROUPS};
}

/* Slots of each group, consecutive, the last ones of which are released. */
static struct og_candidate draw_shared(const struct several *s, struct og_rng *rng,
                                       struct og_group_slots slots[ROW_GROUPS],
                                       struct og_candidate own[ROW_GROUPS])
{
    struct og_candidate c = draw_candidate(&s->t[0], rng);
    c.policy.n_slots = 0;
    for (int w = 0; w < ROW_GROUPS; w++) {
        const uint32_t n = og__rng_below(rng, s->t[w].n_nodes + 1);
        slots[w] = s->range[w];
        slots[w].n_slots = n;
        c.policy.n_slots += n;
    }
    c.n_released = c.superbatch > 0 ? og__rng_below(rng, c.policy.n_slots + 1) : 0;
    c.policy.hotness = s->hotness;
    c.policy.groups = slots;
    c.policy.n_groups = ROW_GROUPS;
    if (c.superbatch == 0 && og__policy_looks_ahead(c.policy.kind))
        c.superbatch = MOST_BATCHES;
    uint32_t slot = 0;
    for (int w = 0; w < ROW_GROUPS; w++) {
        own[w] = c;
        own[w].policy.groups = NULL;
        own[w].policy.n_groups = 0;
        own[w].policy.n_nodes = s->t[w].n_nodes;
        own[w].policy.n_slots = slots[w].n_slots;
        own[w].policy.hotness = s->t[w].hotness;
        own[w].n_released = 0;
        for (uint32_t i = 0; i < slots[w].n_slots; i++)
            own[w].n_released += slot++ >= c.policy.n_slots - c.n_released;
    }
    return c;
}

/* Each group is counted as a graph of its own, plainly. What is read and written is the sum. */
static void widths_add_up(void **state)
{
    (void)state;
    static struct several s;
    struct og_rng rng;
    og__rng_at(&rng, 26, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 300; draw++) {
        struct og_group_slots slots[ROW_GROUPS];
        struct og_candidate own[ROW_GROUPS];
        struct og_estimate e;
        struct og_budget *b = og__budget_new(0);
        draw_several(&s, &rng, b);
        const struct og_candidate c = draw_shared(&s, &rng, slots, own);
        assert_int_equal(og__candidates_rank(&s.all, &c, 1, &e, NULL), 0);
        struct og_candidate_counts sum = {0};
        double reads = 0, bytes = 0, written = 0;
        for (int w = 0; w < ROW_GROUPS; w++) {
            const struct og_candidate_counts of = run_plainly(&s.own[w], &own[w]);
            struct og_estimate alone;
            sum.rows += of.rows;
            sum.hits += of.hits;
            sum.misses += of.misses;
            sum.prefill += of.prefill;
            add(&sum.fill, of.fill);
            add(&sum.sweep, of.sweep);
            add(&sum.batches, of.batches);
            sum.written += of.written;
            assert_int_equal(og__candidates_rank(&s.own[w], &own[w], 1, &alone, NULL), 0);
            reads += (double)alone.reads;
            bytes += (double)alone.bytes_read;
            written += (double)alone.bytes_written;
        }
        assert_true(e.possible && e.counted);
        assert_int_equal(e.counts.rows, sum.rows);
        assert_int_equal(e.counts.hits, sum.hits);
        assert_int_equal(e.counts.misses, sum.misses);
        assert_int_equal(e.counts.prefill, sum.prefill);
        assert_int_equal(e.counts.fill.bytes, sum.fill.bytes);
        assert_int_equal(e.counts.sweep.bytes, sum.sweep.bytes);
        assert_int_equal(e.counts.batches.reads, sum.batches.reads);
        assert_int_equal(e.counts.batches.bytes, sum.batches.bytes);
        assert_int_equal(e.counts.written, sum.written);
        assert_true(fabs((double)e.reads - reads) <= ROW_GROUPS);
        assert_true(fabs((double)e.bytes_read - bytes) <= ROW_GROUPS);
        assert_true(fabs((double)e.bytes_written - written) <= ROW_GROUPS);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
}

/* ---- with a device's cache over the host's ---- */

/* The same nodes, with a random number of slots for each group. */
static struct og_tiers_setup draw_tiers(const struct several *s, const struct og_candidate *c,
                                        struct og_rng *rng, struct og_group_slots there[ROW_GROUPS])
{
    static const int kinds[] = {OG_POLICY_DEGREE, OG_POLICY_LRU, OG_POLICY_RR, OG_POLICY_BELADY};
    struct og_tiers_setup t = {.device = c->policy, .host = c->policy};
    t.device.kind = c->policy.kind == OG_POLICY_NONE || og__rng_below(rng, 2) == 0
                        ? kinds[og__rng_below(rng, OG_COUNT(kinds))]
                        : c->policy.kind;
    t.device.n_slots = 0;
    for (int w = 0; w < ROW_GROUPS; w++) {
        there[w] = s->range[w];
        there[w].n_slots = og__rng_below(rng, s->t[w].n_nodes + 1);
        t.device.n_slots += there[w].n_slots;
    }
    t.device.groups = there;
    return t;
}

/* A group's pair of caches over its own trace. */
static struct og_simulated_tiers count_pair(const struct og_cost_inputs *g,
                                            const struct og_candidate *c,
                                            const struct og_tiers_setup *all, uint32_t w)
{
    struct og_tiers_setup own = *all;
    struct og_simulated_tiers out;
    own.host = c->policy;
    own.device.groups = NULL;
    own.device.n_groups = 0;
    own.device.n_nodes = g->n_nodes;
    own.device.n_slots = all->device.groups[w].n_slots;
    own.device.hotness = all->device.hotness + all->device.groups[w].first;
    const struct og_simulation sim = {.trace = g->trace,
                                      .n_nodes = g->n_nodes,
                                      .superbatch = OG_MIN(c->superbatch, g->trace.n_batches),
                                      .n_released = c->n_released,
                                      .rule = g->rule,
                                      .fill_rows = FILL_ROWS,
                                      .budget = g->budget};
    assert_int_equal(og__simulate_tiers(&sim, &own, NULL, NULL, &out, NULL), 0);
    return out;
}

/* Rows go over the link, and are read, as wide as each is. */
static void pairs_add_up(void **state)
{
    (void)state;
    static struct several s;
    struct og_rng rng;
    og__rng_at(&rng, 27, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 300; draw++) {
        struct og_group_slots slots[ROW_GROUPS];
        struct og_group_slots there[ROW_GROUPS];
        struct og_candidate own[ROW_GROUPS];
        struct og_estimate e;
        struct og_budget *b = og__budget_new(0);
        draw_several(&s, &rng, b);
        struct og_candidate c = draw_shared(&s, &rng, slots, own);
        if (c.policy.kind == OG_POLICY_SWEEP) { /* goes with no device */
            og__budget_free(b);
            continue;
        }
        const struct og_tiers_setup tiers = draw_tiers(&s, &c, &rng, there);
        c.tiers = &tiers;
        c.layout = OG__RAW;
        c.superbatch = OG_MAX(c.superbatch, 1u);
        assert_int_equal(og__candidates_rank(&s.all, &c, 1, &e, NULL), 0);
        assert_true(e.possible && e.counted);
        uint64_t misses = 0;
        struct og_tiers_cost sum = {0};
        struct og_io_counts reads = {0};
        double linked = 0;
        for (uint32_t w = 0; w < ROW_GROUPS; w++) {
            own[w].superbatch = c.superbatch;
            const struct og_simulated_tiers of = count_pair(&s.own[w], &own[w], &tiers, w);
            misses += of.cost.misses;
            add(&reads, (struct og_io_counts){of.cost.reads, of.cost.bytes});
            sum.device_hits += of.tiers.device_hits;
            sum.host_hits += of.tiers.host_hits;
            sum.demoted += of.tiers.demoted;
            linked += (double)(of.cost.rows - of.tiers.device_hits) * (double)kept_row(&s.own[w]);
        }
        assert_int_equal(e.counts.misses, misses);
        assert_io(e.counts.batches, reads);
        assert_int_equal(e.counts.tiers.device_hits, sum.device_hits);
        assert_int_equal(e.counts.tiers.host_hits, sum.host_hits);
        assert_int_equal(e.counts.tiers.demoted, sum.demoted);
        assert_true(fabs((double)e.link_bytes - 4 * linked) <=
                    ROW_GROUPS); /* an epoch is four traces */
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_add_up),
        cmocka_unit_test(pairs_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
