/* Candidates whose rows are of several widths. */
#include "candidate_plain.h"

enum { WIDTHS = 3 };

struct several {
    struct random_trace t[WIDTHS];
    struct og_choice own[WIDTHS]; /* as if it were alone */
    struct og_choice_width width[WIDTHS];
    uint32_t hotness[WIDTHS * MOST_NODES]; /* of all nodes */
    struct og_choice all;
};

static void draw_several(struct several *s, struct og_rng *rng, struct og_budget *b)
{
    uint32_t first = 0;
    uint32_t n_batches = MOST_BATCHES;
    for (int w = 0; w < WIDTHS; w++) {
        s->t[w] = (struct random_trace){0};
        draw_trace(&s->t[w], rng, &s->own[w]);
        n_batches = OG_MIN(n_batches, s->own[w].trace.n_batches);
    }
    for (int w = 0; w < WIDTHS; w++) {
        struct og_choice *own = &s->own[w];
        own->trace.n_batches = n_batches;
        own->budget = b;
        own->distinct = 1 + og__rng_below(rng, s->t[w].n_nodes);
        own->growth = 0.5;
        own->epoch_batches = 4 * n_batches;
        s->width[w] = (struct og_choice_width){.first = first,
                                               .trace = own->trace,
                                               .n_nodes = own->n_nodes,
                                               .distinct = own->distinct,
                                               .growth = own->growth,
                                               .rule = own->rule,
                                               .row_bytes = own->row_bytes};
        memcpy(s->hotness + first, s->t[w].hotness, s->t[w].n_nodes * sizeof(*s->hotness));
        first += s->t[w].n_nodes;
    }
    s->all = (struct og_choice){.trace = {.n_batches = n_batches},
                                .n_nodes = first,
                                .epoch_batches = 4 * n_batches,
                                .fill_rows = FILL_ROWS,
                                .disk = s->own[0].disk,
                                .times = s->own[0].times,
                                .memory_limit = SIZE_MAX,
                                .disk_limit = UINT64_MAX,
                                .budget = b,
                                .width = s->width,
                                .n_widths = WIDTHS};
}

/* Slots of each width, one behind another, the last ones of which yield. */
static struct og_candidate draw_shared(const struct several *s, struct og_rng *rng,
                                       uint64_t slots[WIDTHS], struct og_candidate own[WIDTHS])
{
    struct og_candidate c = draw_candidate(&s->t[0], rng);
    c.policy.n_slots = 0;
    for (int w = 0; w < WIDTHS; w++) {
        const uint32_t n = og__rng_below(rng, s->t[w].n_nodes + 1);
        slots[w] = n;
        c.policy.n_slots += n;
    }
    c.n_yielded = c.superbatch > 0 ? og__rng_below(rng, c.policy.n_slots + 1) : 0;
    c.policy.hotness = s->hotness;
    c.slots = slots;
    if (c.superbatch == 0 && og__policy_looks_ahead(c.policy.kind))
        c.superbatch = MOST_BATCHES;
    uint32_t slot = 0;
    for (int w = 0; w < WIDTHS; w++) {
        own[w] = c;
        own[w].slots = NULL;
        own[w].policy.n_nodes = s->t[w].n_nodes;
        own[w].policy.n_slots = (uint32_t)slots[w];
        own[w].policy.hotness = s->t[w].hotness;
        own[w].n_yielded = 0;
        for (uint32_t i = 0; i < slots[w]; i++)
            own[w].n_yielded += slot++ >= c.policy.n_slots - c.n_yielded;
    }
    return c;
}

/* Each width is counted as a graph of its own, plainly; what is read and written is the sum. */
static void widths_add_up(void **state)
{
    (void)state;
    static struct several s;
    struct og_rng rng;
    og__rng_at(&rng, 26, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 300; draw++) {
        uint64_t slots[WIDTHS];
        struct og_candidate own[WIDTHS];
        struct og_estimate e;
        struct og_budget *b = og__budget_new(0);
        draw_several(&s, &rng, b);
        const struct og_candidate c = draw_shared(&s, &rng, slots, own);
        assert_int_equal(og__candidates_rank(&s.all, &c, 1, &e, NULL), 0);
        struct og_candidate_counts sum = {0};
        double reads = 0, bytes = 0, written = 0;
        for (int w = 0; w < WIDTHS; w++) {
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
        assert_true(fabs((double)e.reads - reads) <= WIDTHS);
        assert_true(fabs((double)e.bytes_read - bytes) <= WIDTHS);
        assert_true(fabs((double)e.bytes_written - written) <= WIDTHS);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
