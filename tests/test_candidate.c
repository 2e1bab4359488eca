/* Candidates: counts against the policies and layouts themselves, run plainly; and what the ranking
 * promises. */
#include "candidate_fixture.h"

/* ---- random traces ---- */

struct random_trace {
    uint32_t n_nodes;
    uint32_t ids[MOST_BATCHES * MOST_NODES];
    uint64_t ptr[MOST_BATCHES + 1];
    uint32_t hotness[MOST_NODES];
};

static void draw_trace(struct random_trace *t, struct og_rng *rng, struct og_choice *out)
{
    t->n_nodes = 2 + og__rng_below(rng, MOST_NODES - 1);
    uint32_t n_batches = 1 + og__rng_below(rng, MOST_BATCHES);
    for (uint32_t v = 0; v < t->n_nodes; v++)
        t->hotness[v] = og__rng_below(rng, 20);
    for (uint32_t b = 0; b < n_batches; b++) {
        struct og_permutation order;
        og__permutation_init(&order, t->n_nodes, og__rng_u32(rng), b);
        uint32_t n = 1 + og__rng_below(rng, t->n_nodes);
        for (uint32_t i = 0; i < n; i++)
            t->ids[t->ptr[b] + i] = (uint32_t)og__permutation_at(&order, i);
        t->ptr[b + 1] = t->ptr[b] + n;
    }
    *out = (struct og_choice){
        .trace = {n_batches, t->ptr, t->ids},
        .n_nodes = t->n_nodes,
        .rule = {.offset = og__rng_below(rng, 600),
                 .row_bytes = 40 + og__rng_below(rng, 900),
                 .align = 512,
                 .gap = og__rng_below(rng, 2000),
                 .max_request = 65536},
        .row_bytes = og__rng_below(rng, 2) * (20 + og__rng_below(rng, 900)),
        .fill_rows = FILL_ROWS,
        .disk = {.iops = 1e5, .bandwidth = 1e9, .depth = 64},
        .times = {.sample = 1e-3, .plan_row = 1e-8, .model = 2e-3, .samplers = 2, .threads = 2},
        .memory_limit = SIZE_MAX,
        .disk_limit = UINT64_MAX,
    };
}

static const int policies[] = {OG_POLICY_NONE,      OG_POLICY_DEGREE, OG_POLICY_PRESC,
                               OG_POLICY_FREQUENCY, OG_POLICY_LRU,    OG_POLICY_RR,
                               OG_POLICY_BELADY,    OG_POLICY_HYBRID, OG_POLICY_SWEEP};

static struct og_candidate draw_candidate(const struct random_trace *t, struct og_rng *rng)
{
    struct og_candidate c = {
        .policy = {.kind = policies[og__rng_below(rng, OG_COUNT(policies))],
                   .n_nodes = t->n_nodes,
                   .n_slots = og__rng_below(rng, t->n_nodes + 1),
                   .hotness = t->hotness,
                   .ways = 4,
                   .window = 4,
                   .update = 2},
        .layout = (enum og__layout)og__rng_below(rng, 3),
        .resample_every = 1,
        .superbatch = 1 + og__rng_below(rng, MOST_BATCHES),
        .n_yielded = og__rng_below(rng, 2) * og__rng_below(rng, t->n_nodes),
        .sweep_memory = 200000 + og__rng_below(rng, 100000),
    };
    if (c.layout == OG__RAW && !og__policy_looks_ahead(c.policy.kind) && og__rng_below(rng, 2))
        c.superbatch = c.n_yielded = 0;
    return c;
}

/* ---- the same, run plainly ---- */

struct plain {
    struct og_candidate_counts counts;
    /* of the superbatch at hand */
    uint32_t n_batches;
    uint32_t n[MOST_BATCHES];
    uint32_t missed[MOST_BATCHES][MOST_NODES];
};

static void add(struct og_io_counts *sum, struct og_io_counts more)
{
    sum->reads += more.reads;
    sum->bytes += more.bytes;
}

/* Rows in memory may be narrower, or wider, than in the file. */
static size_t kept_row(const struct og_choice *g)
{
    return g->row_bytes > 0 ? g->row_bytes : g->rule.row_bytes;
}

static uint32_t plain_prefill(const struct og_choice *g, struct og_policy *p, struct plain *plain)
{
    uint64_t before = plain->counts.prefill;
    uint32_t nodes[FILL_ROWS];
    uint32_t slots[FILL_ROWS];
    for (uint32_t n; (n = og__policy_prefill(p, nodes, slots, FILL_ROWS)) > 0;) {
        plain->counts.prefill += n;
        add(&plain->counts.fill, og__read_rule_predict(&g->rule, nodes, n));
    }
    return (uint32_t)(plain->counts.prefill - before);
}

static void plain_batch(const struct og_choice *g, const struct og_candidate *c,
                        const struct og_plan *plan, struct plain *plain)
{
    plain->counts.rows += plan->n;
    plain->counts.misses += plan->n_misses;
    plain->counts.hits += plan->n - plan->n_misses;
    plain->n[plain->n_batches] = plan->n_misses;
    memcpy(plain->missed[plain->n_batches++], plan->misses, plan->n_misses * sizeof(uint32_t));
    if (c->layout == OG__RAW)
        add(&plain->counts.batches, og__read_rule_predict(&g->rule, plan->misses, plan->n_misses));
}

/* The misses of the superbatch as a packing. */
static struct og_packing plain_packing(const struct og_choice *g, const struct plain *plain)
{
    struct og_packing p;
    assert_int_equal(og__packing_open(&p, g->n_nodes, kept_row(g), plain->n_batches, NULL, NULL),
                     0);
    for (uint32_t b = 0; b < plain->n_batches; b++)
        assert_int_equal(og__packing_add(&p, plain->missed[b], NULL, plain->n[b], NULL), 0);
    assert_int_equal(og__packing_seal(&p, NULL), 0);
    return p;
}

/* Of each batch its order, then its shared rows where they lie in a file of their own, then the
 * others in a chunk. */
static void plain_segments(const struct og_choice *g, const struct og_packing *p, uint32_t size,
                           struct og_io_counts *sum)
{
    struct og_segments s;
    struct og_read_rule rule = g->rule;
    uint32_t before = 0;
    rule.offset = 4096;
    rule.row_bytes = kept_row(g);
    rule.element = 0;
    assert_int_equal(og__segments_open(&s, p, NULL, NULL), 0);
    for (uint32_t b = 0; b < p->n_batches; b++) {
        if (b % size == 0) {
            before += b > 0 ? s.n_shared : 0;
            assert_int_equal(
                og__segments_lay_out(&s, b, OG_MIN(b + size, p->n_batches), OG__BY_SIGNATURE, NULL),
                0);
        }
        const uint64_t rows = p->ptr[b + 1] - p->ptr[b];
        uint32_t *where = calloc(rows + 1, 4);
        uint32_t *at = calloc(rows + 1, 4);
        const uint32_t shared = og__segments_batch(&s, b, where, at);
        const uint64_t order = 4 * (rows + shared);
        for (uint32_t i = 0; i < shared; i++)
            at[i] += before;
        add(sum, og__read_rule_predict(&rule, at, shared));
        add(sum, og__packing_predict_chunk((rows - shared) * rule.row_bytes, rule.max_request));
        add(sum, (struct og_io_counts){rows > 0, order});
        free(where);
        free(at);
    }
    og__segments_close(&s);
}

static void plain_written(const struct og_choice *g, const struct og_candidate *c,
                          struct plain *plain)
{
    struct og_packing p = plain_packing(g, plain);
    struct og_sweep sweep;
    struct og_packing_cost cost;
    struct og_candidate_counts *n = &plain->counts;
    assert_int_equal(og__sweep_share(&p, c->sweep_memory, &sweep, NULL), 0);
    assert_int_equal(og__packing_predict(&p, &sweep, &g->rule, &cost, NULL), 0);
    add(&n->sweep, cost.sweep);
    if (c->layout == OG__PACKED) {
        add(&n->batches, cost.back);
    } else {
        struct og_segments s;
        struct og_segment_cost seg;
        uint32_t size;
        assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
        assert_int_equal(og__segments_choose(&s, UINT64_MAX, &size, NULL), 0);
        assert_int_equal(og__segments_cost(&s, size, OG__BY_SIGNATURE, &seg, NULL), 0);
        og__segments_close(&s);
        n->segment = n->segment ? n->segment : size;
        uint64_t orders = 4 * (p.ptr[p.n_batches] + seg.shared_reads);
        plain_segments(g, &p, size, &n->batches);
        cost.bytes_written = seg.disk_bytes + orders + og__packing_data_start(p.n_batches) + 4096;
    }
    n->written += cost.bytes_written;
    n->disk = OG_MAX(n->disk, cost.bytes_written);
    og__packing_close(&p);
}

static void plain_superbatch(const struct og_choice *g, const struct og_candidate *c,
                             struct og_policy *p, uint32_t first, uint32_t last,
                             struct plain *plain)
{
    uint64_t ptr[MOST_BATCHES + 1];
    uint32_t n_prefill;
    struct og_planner planner;
    struct og_plan plan;
    const uint32_t seen = OG_MIN(last + og__policy_tail(&c->policy), g->trace.n_batches);
    for (uint32_t b = first; b <= seen; b++)
        ptr[b - first] = g->trace.ptr[b] - g->trace.ptr[first];
    const struct og_trace t = {seen - first, ptr, g->trace.ids + g->trace.ptr[first]};
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    plain->n_batches = 0;
    if (c->n_yielded > 0)
        og__policy_invalidate(p, c->policy.n_slots - OG_MIN(c->n_yielded, c->policy.n_slots));
    assert_int_equal(og__policy_prepare(p, &t, &n_prefill, NULL), 0);
    const struct og_io_counts before = plain->counts.fill;
    bool in_first = true;
    for (uint32_t b = 0; b < last - first; b++) {
        bool fills = plain_prefill(g, p, plain) > 0;
        if (b == 0) {
            plain->counts.open.reads += plain->counts.fill.reads - before.reads;
            plain->counts.open.bytes += plain->counts.fill.bytes - before.bytes;
        }
        if (b > 0 && fills)
            in_first = false;
        plain->counts.windows += b == 0 || fills;
        plain->counts.open_batches += in_first;
        assert_int_equal(og__policy_plan(p, &planner, t.ids + ptr[b],
                                         (uint32_t)(ptr[b + 1] - ptr[b]), &plan, NULL),
                         0);
        plain_batch(g, c, &plan, plain);
    }
    og__planner_release(&planner);
    og__plan_release(&plan);
    if (first == 0)
        plain->counts.first_fill = plain->counts.fill;
    plain->counts.superbatches++;
    if (c->layout == OG__PACKED || c->layout == OG__SEGMENTED)
        plain_written(g, c, plain);
}

static struct og_candidate_counts run_plainly(const struct og_choice *g,
                                              const struct og_candidate *c)
{
    static struct plain plain;
    struct og_policy *p;
    uint32_t n = g->trace.n_batches;
    plain = (struct plain){0};
    assert_int_equal(og__policy_open(&p, &c->policy, NULL, NULL), 0);
    for (uint32_t b = 0, last; b < n; b = last) {
        last = c->superbatch ? OG_MIN(n, b + c->superbatch) : n;
        plain_superbatch(g, c, p, b, last, &plain);
    }
    og__policy_close(p);
    return plain.counts;
}

static void assert_io(struct og_io_counts a, struct og_io_counts b)
{
    assert_int_equal(a.reads, b.reads);
    assert_int_equal(a.bytes, b.bytes);
}

static void assert_same_counts(const struct og_candidate_counts *a,
                               const struct og_candidate_counts *b, const struct og_candidate *c)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->hits, b->hits);
    assert_int_equal(a->misses, b->misses);
    assert_int_equal(a->prefill, b->prefill);
    assert_io(a->fill, b->fill);
    assert_io(a->first_fill, b->first_fill);
    assert_io(a->sweep, b->sweep);
    assert_io(a->batches, b->batches);
    assert_int_equal(a->written, b->written);
    assert_int_equal(a->disk, b->disk);
    assert_int_equal(a->superbatches, b->superbatches);
    if (c->policy.kind == OG_POLICY_SWEEP) {
        assert_io(a->open, b->open);
        assert_int_equal(a->open_batches, b->open_batches);
        assert_int_equal(a->windows, b->windows);
    }
    assert_int_equal(a->segment, b->segment);
}

static void counts_are_those_of_plain_runs(void **state)
{
    (void)state;
    enum { N = 24 };
    static struct random_trace t;
    struct og_rng rng;
    struct og_pool *pool;
    og__rng_at(&rng, 21, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__pool_open(&pool, 3, NULL), 0);
    for (int draw = 0; draw < 60; draw++) {
        struct og_candidate c[N];
        struct og_estimate out[N];
        struct og_choice g;
        struct og_budget *b = og__budget_new(0);
        draw_trace(&t, &rng, &g);
        g.pool = draw % 2 ? pool : NULL;
        g.budget = b;
        for (uint32_t i = 0; i < N; i++) {
            c[i] = draw_candidate(&t, &rng);
            if (i % 3 == 2) /* passes are shared */
                c[i].policy = c[i - 1].policy;
            if (c[i].superbatch == 0 && og__policy_looks_ahead(c[i].policy.kind))
                c[i].superbatch = MOST_BATCHES;
        }
        assert_int_equal(og__candidates_count(&g, c, N, out, NULL), 0);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(out[i].possible && out[i].counted);
            assert_int_equal(out[i].candidate, i);
            const struct og_candidate_counts want = run_plainly(&g, &c[i]);
            assert_same_counts(&out[i].counts, &want, &c[i]);
        }
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__pool_close(pool);
}

/* ---- rows of several widths ---- */

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

/* ---- whatever the threads and the memory ---- */

static void assert_same_estimate(const struct og_estimate *a, const struct og_estimate *b)
{
    assert_int_equal(a->candidate, b->candidate);
    assert_int_equal(a->possible, b->possible);
    assert_same_counts(&a->counts, &b->counts, &(struct og_candidate){.layout = OG__RAW});
    assert_memory_equal(a->term, b->term, sizeof(a->term));
    assert_true(a->epoch == b->epoch && a->prepare == b->prepare && a->seconds == b->seconds);
    assert_int_equal(a->reads, b->reads);
    assert_int_equal(a->bytes_read, b->bytes_read);
    assert_int_equal(a->bytes_written, b->bytes_written);
    assert_string_equal(a->why, b->why);
}

static void threads_and_memory_change_nothing(void **state)
{
    (void)state;
    enum { N = 30 };
    static struct random_trace t;
    static struct og_estimate one[N], other[N];
    struct og_rng rng;
    struct og_pool *pool;
    og__rng_at(&rng, 22, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__pool_open(&pool, 4, NULL), 0);
    for (int draw = 0; draw < 30; draw++) {
        struct og_candidate c[N];
        struct og_choice g;
        draw_trace(&t, &rng, &g);
        g.disk_limit = 30000;
        for (uint32_t i = 0; i < N; i++)
            c[i] = draw_candidate(&t, &rng);
        assert_int_equal(og__candidates_rank(&g, c, N, one, NULL), 0);
        g.pool = pool;
        g.budget = og__budget_new(draw % 2 ? 4 * OG_MIB : 0);
        assert_int_equal(og__candidates_rank(&g, c, N, other, NULL), 0);
        for (uint32_t i = 0; i < N; i++) {
            assert_same_estimate(&one[i], &other[i]);
            if (i > 0 && one[i].possible) {
                assert_true(one[i - 1].possible);
                assert_true(one[i - 1].seconds <= one[i].seconds);
            }
        }
        og__budget_free(g.budget);
    }
    og__pool_close(pool);
}

static void too_little_memory_is_an_error(void **state)
{
    (void)state;
    static struct random_trace t;
    struct og_rng rng;
    struct og_choice g;
    int failed = 0;
    og__rng_at(&rng, 23, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (size_t limit = 0; limit < 1 << 21; limit += 30011) {
        struct og_estimate out[4];
        struct og_candidate c[4];
        struct og_err err = {0};
        draw_trace(&t, &rng, &g);
        g.budget = og__budget_new(limit + 1);
        for (uint32_t i = 0; i < 4; i++)
            c[i] = draw_candidate(&t, &rng);
        int rc = og__candidates_rank(&g, c, 4, out, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        failed += rc < 0;
        assert_int_equal(og__budget_used(g.budget), 0);
        og__budget_free(g.budget);
    }
    assert_in_range(failed, 5, 65);
}

/* ---- what may be expected of any ---- */

static void more_is_never_worse(void **state)
{
    (void)state;
    static struct random_trace t;
    struct og_rng rng;
    og__rng_at(&rng, 24, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int draw = 0; draw < 100; draw++) {
        struct og_choice g;
        draw_trace(&t, &rng, &g);
        struct og_candidate c = draw_candidate(&t, &rng);
        const struct og_estimate base = estimate(&g, c);
        struct og_choice better = g;
        better.disk.bandwidth *= 2;
        better.disk.iops *= 2;
        assert_true(estimate(&better, c).seconds <= base.seconds);
        better = g;
        better.times.model *= 3;
        assert_true(estimate(&better, c).seconds >= base.seconds);
        better = g;
        better.times.samplers = better.times.threads = 4;
        assert_true(estimate(&better, c).seconds <= base.seconds);
        struct og_candidate more = c;
        if (og__policy_is_static(c.policy.kind) || c.policy.kind == OG_POLICY_LRU) {
            more.policy.n_slots = t.n_nodes;
            assert_true(estimate(&g, more).counts.misses <= base.counts.misses);
        }
        more = c;
        if (c.policy.kind == OG_POLICY_SWEEP) {
            more.policy.n_slots = t.n_nodes;
            assert_true(estimate(&g, more).counts.windows <= base.counts.windows);
        }
        more = c;
        more.resample_every = 3;
        const struct og_estimate reused = estimate(&g, more);
        assert_true(!reused.possible || reused.seconds <= base.seconds + 1e-12);
    }
}

static void the_best_come_first_and_the_impossible_last(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.memory_limit = 1000;
    h.g.disk_limit = 20000;
    const struct og_candidate raw = {.policy = {.kind = OG_POLICY_NONE, .n_nodes = 80},
                                     .resample_every = 1};
    struct og_candidate c[10];
    for (size_t i = 0; i < OG_COUNT(c); i++)
        c[i] = raw;
    c[0].layout = OG__SEGMENTED; /* straight */
    c[1].memory = 1001;
    c[2].layout = OG__PACKED; /* 24576 bytes */
    c[2].superbatch = 4;
    c[2].sweep_memory = OG_MIB;
    c[3].policy.kind = OG_POLICY_DEGREE;
    c[3].policy.n_slots = 80;
    c[3].memory = 1000;
    c[4].policy.kind = OG_POLICY_BELADY; /* straight */
    c[5].layout = OG__PACKED;
    c[5].superbatch = 4;
    c[5].sweep_memory = 100;
    c[6] = c[2];
    c[6].policy.kind = OG_POLICY_LRU;
    c[6].resample_every = 2;
    c[7].resample_every = 0;
    c[8] = c[2];
    c[8].resample_every = 2;
    c[8].superbatch = 2;
    static const char *const reasons[] = {
        [0] = "this layout needs batches sampled ahead",
        [1] = "asks for 1001 B of memory, 1000 B are there",
        [2] = "takes 24.00 KiB of disk, 19.53 KiB are allowed",
        [4] = "this policy needs batches sampled ahead",
        [5] = "packing 4 batches takes at least 42.48 KiB of memory",
        [6] = "needs a cache that stays as it is",
        [7] = "trained at least once",
        [8] = "has to hold all batches",
    };
    struct og_estimate out[10];
    assert_int_equal(og__candidates_rank(&h.g, c, OG_COUNT(c), out, NULL), 0);
    assert_int_equal(out[0].candidate, 3);
    assert_int_equal(out[1].candidate, 9);
    uint32_t before = 0;
    for (size_t i = 2; i < OG_COUNT(out); i++) {
        assert_false(out[i].possible);
        assert_true(i == 2 || out[i].candidate > before);
        before = out[i].candidate;
        if (!strstr(out[i].why, reasons[before]))
            fail_msg("candidate %u: %s", before, out[i].why);
        assert_int_equal(out[i].counted, before == 1 || before == 2);
    }
    /* batches that miss the same rows have room on the disk in segments */
    struct og_candidate segmented = c[2];
    segmented.layout = OG__SEGMENTED;
    h.g.disk_limit = 21000;
    for (size_t i = 0; i < 12; i++)
        h.ids[i] = (uint32_t)(i % 3 * 10);
    assert_false(estimate(&h.g, c[2]).possible);
    struct og_estimate e = estimate(&h.g, segmented);
    assert_true(e.possible);
    assert_int_equal(e.counts.segment, 2);
    const uint64_t orders = 4 * (12 + 12); /* of 12 rows, all of them shared */
    assert_int_equal(e.counts.disk, (3 + 2) * 4096 + orders);
    assert_int_equal(e.counts.batches.bytes, 4 * 3 * 1024 + orders);
    h.g.disk_limit = 5000;
    e = estimate(&h.g, segmented);
    assert_false(e.possible);
    assert_non_null(strstr(e.why, "segments take at least"));
    struct og_candidate many[OG__MOST_SIZES + 1] = {{.resample_every = 0}};
    struct og_estimate none[1];
    assert_int_equal(og__candidates_rank(&h.g, many, OG_COUNT(many), none, NULL), -EINVAL);
    assert_int_equal(og__candidates_rank(&h.g, many, 0, none, NULL), 0);
}

static void assert_takes(struct by_hand *h, struct og_candidate c, uint64_t disk)
{
    h->g.disk_limit = disk;
    assert_true(estimate(&h->g, c).possible);
    h->g.disk_limit = disk - 1;
    assert_false(estimate(&h->g, c).possible);
}

/* A head, its table, and a chunk of a block for each of four batches; others are like these. */
static void the_disk_has_to_have_room_for_all_batches(void **state)
{
    (void)state;
    struct by_hand h;
    set_by_hand(&h);
    h.g.disk_margin = 0.25;
    h.g.epoch_batches = 12;
    struct og_candidate c = {
        .policy = {.kind = OG_POLICY_NONE}, .layout = OG__PACKED, .superbatch = 4};
    const uint64_t shown = 6 * 4096;
    assert_takes(&h, c, shown);
    c.spilled_bytes = 1000;
    assert_takes(&h, c, shown + 1000);
    c.written_batches = 6; /* two of validation */
    assert_takes(&h, c, shown + shown / 2 * 5 / 4 + 1000);
    c.superbatch = c.written_batches = 12;
    assert_takes(&h, c, shown + 2 * shown * 5 / 4 + 1000);
    c.spilled_bytes = 0;
    c.superbatch = 2; /* two of them at a time */
    c.written_batches = 0;
    assert_takes(&h, c, 4 * 4096);
    /* nothing is written anew */
    c = (struct og_candidate){.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 2},
                              .superbatch = 12,
                              .spilled_bytes = 1234};
    assert_takes(&h, c, 1234);
}

static void what_cannot_be_prepared_is_refused(void **state)
{
    (void)state;
    enum { N = OG__MOST_FORESEEN + 1 };
    uint32_t *ids = calloc(N, sizeof(*ids));
    uint64_t *ptr = calloc(N + 1, sizeof(*ptr));
    struct by_hand h;
    set_by_hand(&h);
    for (uint32_t b = 0; b < N; b++)
        ptr[b + 1] = b + 1;
    h.g.trace = (struct og_trace){N, ptr, ids};
    struct og_candidate c = {.policy = {.kind = OG_POLICY_FREQUENCY, .n_slots = 1},
                             .superbatch = N};
    assert_non_null(strstr(estimate(&h.g, c).why, "cannot be prepared"));
    c.superbatch--;
    assert_true(estimate(&h.g, c).possible);
    free(ids);
    free(ptr);
}

static void stopping_is_heard(void **state)
{
    (void)state;
    struct by_hand h;
    volatile sig_atomic_t stop = 1;
    set_by_hand(&h);
    h.g.stop = &stop;
    struct og_candidate c[2] = {
        {.policy = {.kind = OG_POLICY_NONE, .n_nodes = 80}, .resample_every = 1}};
    struct og_estimate out[2];
    c[1] = c[0];
    c[1].superbatch = 2;
    assert_int_equal(og__candidates_rank(&h.g, c, 1, out, NULL), OG_INTERRUPTED);
    assert_int_equal(og__candidates_rank(&h.g, c + 1, 1, out, NULL), OG_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_plain_runs),
        cmocka_unit_test(widths_add_up),
        cmocka_unit_test(threads_and_memory_change_nothing),
        cmocka_unit_test(too_little_memory_is_an_error),
        cmocka_unit_test(more_is_never_worse),
        cmocka_unit_test(the_best_come_first_and_the_impossible_last),
        cmocka_unit_test(the_disk_has_to_have_room_for_all_batches),
        cmocka_unit_test(what_cannot_be_prepared_is_refused),
        cmocka_unit_test(stopping_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
