/* Ranges of nodes with slots of their own. The plan of each is what a policy for it alone would
 * plan, and no row is among those of another group. */
#include "plan/policy_fixture.h"

enum { RANGES = 3, MOST_ROWS = 90 };

/* Those that know no future, and then those that do. */
static const int kinds[] = {
    OG_POLICY_NONE,      OG_POLICY_RANDOM,  OG_POLICY_DEGREE, OG_POLICY_LRU,   OG_POLICY_RR,
    OG_POLICY_SIEVE,     OG_POLICY_TINYLFU, OG_POLICY_S3FIFO, OG_POLICY_CLOCK, OG_POLICY_BELADY,
    OG_POLICY_FREQUENCY, OG_POLICY_HYBRID,  OG_POLICY_SWEEP};
enum { FIRST_AHEAD = 8 };

struct groups {
    struct og_group_slots of[RANGES];
    uint32_t n_nodes, n_slots;
};

/* Some of a node or two, with nodes of none between them. */
static struct groups draw_ranges(struct og_rng *rng)
{
    struct groups r = {.n_nodes = og__rng_below(rng, 3)};
    for (int k = 0; k < RANGES; k++) {
        const uint32_t n = 1 + og__rng_below(rng, k == 1 ? 3 : 200);
        r.of[k] = (struct og_group_slots){r.n_nodes, r.n_nodes + n, og__rng_below(rng, n + 1)};
        r.n_nodes += n + og__rng_below(rng, 4);
        r.n_slots += r.of[k].n_slots;
    }
    return r;
}

static int group_of(const struct groups *r, uint32_t node)
{
    for (int k = 0; k < RANGES; k++)
        if (node >= r->of[k].first && node < r->of[k].end)
            return k;
    return -1;
}

/* Range by group, those of one in their order: of group k alone, where that is one. */
static struct trace part_of(const struct trace *t, const struct groups *r, int only)
{
    struct trace part = {.ptr = calloc(t->view.n_batches + 1, sizeof(*part.ptr)),
                         .ids = calloc(t->ptr[t->view.n_batches] + 1, sizeof(*part.ids))};
    uint64_t n = 0;
    for (uint32_t b = 0; b < t->view.n_batches; b++) {
        for (int k = 0; k < RANGES; k++)
            for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++)
                if (group_of(r, t->ids[i]) == k && (only < 0 || only == k))
                    part.ids[n++] = t->ids[i] - (only < 0 ? 0 : (uint32_t)r->of[k].first);
        part.ptr[b + 1] = n;
    }
    part.view = (struct og_trace){t->view.n_batches, part.ptr, part.ids};
    return part;
}

static struct og_policy_setup setup_of(const struct og_policy_setup *all, const struct groups *r,
                                       int k)
{
    struct og_policy_setup of = *all;
    of.groups = NULL;
    of.n_groups = 0;
    of.n_nodes = r->of[k].end - r->of[k].first;
    of.n_slots = r->of[k].n_slots;
    of.hotness = all->hotness + r->of[k].first;
    return of;
}

static void every_range_is_planned_as_if_alone(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 41, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 200; draw++) {
        const struct groups r = draw_ranges(&rng);
        uint32_t *hotness = calloc(r.n_nodes, sizeof(*hotness));
        og__hotness_random(og__rng_u32(&rng), r.n_nodes, hotness);
        struct trace drawn = draw_trace(&rng, r.n_nodes, 1 + og__rng_below(&rng, 12), MOST_ROWS);
        struct trace all = part_of(&drawn, &r, -1);
        for (size_t i = 0; i < OG_COUNT(kinds); i++) {
            struct og_policy_setup setup =
                draw_setup(&rng, kinds[i], r.n_nodes, r.n_slots, hotness);
            setup.groups = r.of;
            setup.n_groups = RANGES;
            const uint32_t s = 1 + og__rng_below(&rng, 8);
            const struct tally sum = run_policy(&setup, &all.view, s);
            struct tally alone = {0};
            for (int k = 0; k < RANGES; k++) {
                struct trace part = part_of(&drawn, &r, k);
                const struct og_policy_setup of = setup_of(&setup, &r, k);
                const struct tally one = run_policy(&of, &part.view, s);
                alone.rows += one.rows;
                alone.misses += one.misses;
                alone.prefill += one.prefill;
                drop_trace(&part);
            }
            assert_int_equal(sum.rows, alone.rows);
            assert_int_equal(sum.misses, alone.misses);
            assert_int_equal(sum.prefill, alone.prefill);
        }
        drop_trace(&all);
        drop_trace(&drawn);
        free(hotness);
    }
}

/* As the verifier follows it, which knows of no groups. */
static void check_slots(const struct og_verifier *v, const struct groups *r)
{
    uint32_t slot = 0;
    for (int k = 0; k < RANGES; k++)
        for (uint32_t i = 0; i < r->of[k].n_slots; i++, slot++)
            assert_true(v->held[slot] == OG_NO_SLOT || group_of(r, v->held[slot]) == k);
    assert_int_equal(slot, v->n_slots);
}

static void follow_slots(const struct og_policy_setup *setup, const struct groups *r,
                         const struct og_trace *t)
{
    struct og_budget *budget = og__budget_new(0);
    struct og_planner planner;
    struct og_verifier v;
    struct og_policy *p;
    struct og_plan plan;
    struct tally sum = {0};
    uint32_t ignored;
    uint32_t n;
    og__planner_init(&planner, budget);
    og__plan_init(&plan, budget);
    assert_int_equal(og__policy_open(&p, setup, budget, NULL), 0);
    const struct og_group_slots *groups = og__policy_groups(p, &n);
    assert_int_equal(n, RANGES);
    for (int k = 0; k < RANGES; k++)
        assert_int_equal(groups[k].n_slots, r->of[k].n_slots);
    assert_int_equal(og__budget_used(budget), og__policy_bytes(setup, 0, 0, 0));
    assert_int_equal(og__verifier_open(&v, setup->n_slots, NULL), 0);
    assert_int_equal(og__policy_prepare(p, NULL, &ignored, NULL), 0);
    prefill_slots(p, &v, NULL, &sum);
    for (uint32_t b = 0; b < t->n_batches; b++) {
        const uint32_t *ids = t->ids + t->ptr[b];
        n = (uint32_t)(t->ptr[b + 1] - t->ptr[b]);
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        assert_int_equal(og__verifier_check(&v, ids, n, &plan, NULL), 0);
        check_slots(&v, r);
    }
    og__verifier_close(&v);
    og__plan_release(&plan);
    og__planner_release(&planner);
    og__policy_close(p);
    assert_int_equal(og__budget_used(budget), 0);
    og__budget_free(budget);
}

static void rows_stay_in_the_slots_of_their_range(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 42, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 100; draw++) {
        const struct groups r = draw_ranges(&rng);
        uint32_t *hotness = calloc(r.n_nodes, sizeof(*hotness));
        struct trace drawn = draw_trace(&rng, r.n_nodes, 12, MOST_ROWS);
        struct trace all = part_of(&drawn, &r, -1);
        for (size_t i = 1; i < FIRST_AHEAD; i++) {
            struct og_policy_setup setup =
                draw_setup(&rng, kinds[i], r.n_nodes, r.n_slots, hotness);
            setup.groups = r.of;
            setup.n_groups = RANGES;
            follow_slots(&setup, &r, &all.view);
        }
        drop_trace(&all);
        drop_trace(&drawn);
        free(hotness);
    }
}

/* Planned by groups in another order a row would lie among those of another size. */
static void a_batch_in_another_order_is_refused(void **state)
{
    (void)state;
    const struct og_group_slots groups[] = {{0, 10, 4}, {12, 20, 4}};
    static const uint32_t right[] = {3, 1, 19, 12}, turned[] = {3, 12, 1}, foreign[] = {3, 11};
    struct og_policy_setup setup = {
        .kind = OG_POLICY_LRU, .n_nodes = 20, .n_slots = 8, .groups = groups, .n_groups = 2};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    assert_int_equal(og__policy_plan(p, &planner, right, 4, &plan, NULL), 0);
    assert_int_equal(og__policy_plan(p, &planner, turned, 3, &plan, NULL), -EINVAL);
    assert_int_equal(og__policy_plan(p, &planner, foreign, 2, &plan, NULL), -EINVAL);
    og__plan_release(&plan);
    og__planner_release(&planner);
    og__policy_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_range_is_planned_as_if_alone),
        cmocka_unit_test(rows_stay_in_the_slots_of_their_range),
        cmocka_unit_test(a_batch_in_another_order_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
