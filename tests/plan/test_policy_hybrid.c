/* Hybrid against the paper's words. */
#include "plan/policy_fixture.h"

/* ---- hybrid ---- */

/* LSM-GNN's cache as in the paper (2024, section 4.2), which knows the whole run. Before every
 * `update`-th batch all that is cached is looked up in the window of the batches to come. */
struct paper {
    const struct og_policy_setup *setup;
    const struct og_trace *t;
    struct line {
        uint32_t node;
        uint32_t reuse; /* batch, as the last look found it; or one of: */
        bool fresh;     /* filled by this batch */
    } * line;           /* [n_slots] */
    uint64_t misses;
};
#define EMPTY         UINT32_MAX
#define NOT_IN_WINDOW (UINT32_MAX - 1)
#define NOT_KNOWN     UINT32_MAX

static void paper_looks(struct paper *p, uint32_t batch)
{
    for (uint32_t i = 0; i < p->setup->n_slots; i++) {
        struct line *l = &p->line[i];
        l->reuse = NOT_IN_WINDOW;
        for (uint32_t b = batch; b <= batch + p->setup->window && b < p->t->n_batches; b++)
            if (l->reuse == NOT_IN_WINDOW && has(p->t, b, l->node))
                l->reuse = b;
    }
}

/* Lines of the node's set; the hash is the cache's own. */
static uint32_t paper_set(const struct paper *p, uint32_t node, uint32_t *end)
{
    const uint64_t slots = p->setup->n_slots;
    const uint64_t sets = OG_MAX(slots / p->setup->ways, (uint64_t)1);
    const uint64_t set = ((node * 0x9E3779B97F4A7C15ull >> 32) & 0xffffffff) * sets >> 32;
    *end = (uint32_t)((set + 1) * slots / sets);
    return (uint32_t)(set * slots / sets);
}

/* What leaves first has the least. */
static uint64_t paper_priority(const struct paper *p, const struct line *l, uint32_t batch)
{
    const uint64_t score = p->setup->hotness[l->node];
    const bool known = l->reuse < NOT_IN_WINDOW;
    uint64_t level = 2;
    if (l->reuse == NOT_IN_WINDOW)
        level = 0;
    if (known)
        level = l->reuse > batch + p->setup->threshold ? 1 : 3;
    if (p->setup->has_victims && p->setup->evict == OG_EVICT_HYBRID && level < 2)
        level = 1 - level; /* section 4.3.2 */
    if (p->setup->evict == OG_EVICT_STATIC)
        return score;
    if (p->setup->evict == OG_EVICT_HYBRID)
        return level << 32 | score;
    return level << 32 | (known ? 1000000 - l->reuse : 0);
}

static struct line *paper_victim(const struct paper *p, uint32_t node, uint32_t batch)
{
    uint32_t end;
    struct line *victim = NULL;
    for (uint32_t i = paper_set(p, node, &end); i < end; i++) {
        struct line *l = &p->line[i];
        if (l->node == EMPTY)
            return l;
        if (!l->fresh &&
            (!victim || paper_priority(p, l, batch) < paper_priority(p, victim, batch)))
            victim = l;
    }
    return victim;
}

static void paper_batch(struct paper *p, uint32_t batch)
{
    const uint32_t *ids = p->t->ids + p->t->ptr[batch];
    const uint32_t n = (uint32_t)(p->t->ptr[batch + 1] - p->t->ptr[batch]);
    bool *hit = calloc(n + 1, sizeof(*hit));
    if (batch % p->setup->update == 0)
        paper_looks(p, batch);
    for (uint32_t i = 0; i < p->setup->n_slots; i++) {
        p->line[i].fresh = false;
        for (uint32_t k = 0; k < n; k++) {
            if (p->line[i].node != ids[k])
                continue;
            hit[k] = true;
            p->line[i].reuse = NOT_KNOWN;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        struct line *victim = hit[k] ? NULL : paper_victim(p, ids[k], batch);
        p->misses += !hit[k];
        if (victim)
            *victim = (struct line){ids[k], NOT_KNOWN, true};
    }
    free(hit);
}

/* Compares it with plans of src, in superbatches of `s` batches, after every batch the same
 * contents. */
static void follow_paper(const struct og_policy_setup *setup, const struct og_trace *t, uint32_t s)
{
    struct paper paper = {.setup = setup, .t = t};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    uint32_t *held = malloc((setup->n_slots + 1) * sizeof(*held));
    paper.line = malloc((setup->n_slots + 1) * sizeof(*paper.line));
    memset(held, 0xff, setup->n_slots * sizeof(*held));
    memset(paper.line, 0xff, setup->n_slots * sizeof(*paper.line));
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, setup, NULL, NULL), 0);
    struct prepared f = {0};
    uint64_t misses = 0;
    for (uint32_t b = 0; b < t->n_batches; b++) {
        if (b % s == 0)
            free(f.ptr);
        if (b % s == 0)
            f = prepare(p, setup, t, b, s);
        const uint32_t *ids = t->ids + t->ptr[b];
        const uint32_t n = (uint32_t)(t->ptr[b + 1] - t->ptr[b]);
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        paper_batch(&paper, b);
        misses += plan.n_misses;
        for (uint32_t c = 0; c < plan.n_changes; c++)
            held[plan.change_slot[c]] = ids[plan.change_row[c]];
        if (misses != paper.misses)
            fail_msg("superbatches of %u, batch %u: %llu misses so far, the paper has %llu", s, b,
                     (unsigned long long)misses, (unsigned long long)paper.misses);
        for (uint32_t i = 0; i < setup->n_slots; i++)
            if (held[i] != paper.line[i].node)
                fail_msg("superbatches of %u, batch %u: slot %u has %u, the paper has %u", s, b, i,
                         held[i], paper.line[i].node);
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
    free(f.ptr);
    free(held);
    free(paper.line);
}

/* However long superbatches are, up to three epochs at once, with windows shorter and longer than
 * an epoch. */
static void hybrid_is_the_paper_s_in_any_superbatch(void **state)
{
    (void)state;
    enum { NODES = 150, EPOCH = 12, EPOCHS = 3, ROWS = 40 };
    static const uint32_t slots[] = {1, 16, 40, 90};
    static const uint32_t windows[] = {1, 3, 8, EPOCH, 20, 256};
    struct og_rng rng;
    uint32_t hotness[NODES];
    og__rng_at(&rng, 32, OG__STREAM_BENCH, 0, 0, 0, 0);
    og__hotness_random(7, NODES, hotness);
    for (size_t i = 0; i < OG_COUNT(slots) * OG_COUNT(windows); i++) {
        const uint32_t window = windows[i / OG_COUNT(slots)];
        struct trace t = draw_trace(&rng, NODES, EPOCH * EPOCHS, ROWS);
        struct og_policy_setup setup = {.kind = OG_POLICY_HYBRID,
                                        .n_nodes = NODES,
                                        .n_slots = slots[i % OG_COUNT(slots)],
                                        .hotness = hotness,
                                        .ways = 1 + og__rng_below(&rng, 12),
                                        .window = window,
                                        .update = 1 + og__rng_below(&rng, 5),
                                        .threshold = 1 + og__rng_below(&rng, window),
                                        .evict = (int)i % 3,
                                        .has_victims = og__rng_below(&rng, 2)};
        for (uint32_t s = 1; s <= EPOCH; s++)
            follow_paper(&setup, &t.view, s);
        follow_paper(&setup, &t.view, EPOCH * EPOCHS);
        drop_trace(&t);
    }
}

/* Hybrid that knows the window and evicts by next uses misses no more than round robin. All slots
 * are one set. */
static void hybrid_beats_round_robin(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 8, OG__STREAM_BENCH, 0, 0, 0, 0);
    struct trace t = draw_trace(&rng, 5000, 80, 1000);
    uint64_t misses[3];
    static const int evict[] = {OG_EVICT_HYBRID, OG_EVICT_DYNAMIC};
    struct og_policy_setup setup = {.kind = OG_POLICY_RR,
                                    .n_nodes = 5000,
                                    .n_slots = 1000,
                                    .ways = 32,
                                    .window = 256,
                                    .update = 4};
    misses[0] = run_policy(&setup, &t.view, 80).misses;
    setup.kind = OG_POLICY_HYBRID;
    for (int i = 0; i < 2; i++) {
        setup.evict = evict[i];
        misses[i + 1] = run_policy(&setup, &t.view, 80).misses;
        assert_true(misses[i + 1] < misses[0]);
    }
    setup.kind = OG_POLICY_BELADY;
    assert_true(run_policy(&setup, &t.view, 80).misses < misses[1]);
    drop_trace(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_is_the_paper_s_in_any_superbatch),
        cmocka_unit_test(hybrid_beats_round_robin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
