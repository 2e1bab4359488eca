/* Random traces and candidates, and what candidates count by running policies and layouts plainly.
 */
#ifndef OG_CANDIDATE_PLAIN_H
#define OG_CANDIDATE_PLAIN_H

#include "plan/candidate_fixture.h"

/* ---- random traces ---- */

struct random_trace {
    uint32_t n_nodes;
    uint32_t ids[MOST_BATCHES * MOST_NODES];
    uint64_t ptr[MOST_BATCHES + 1];
    uint32_t hotness[MOST_NODES];
};

static inline void draw_trace(struct random_trace *t, struct og_rng *rng,
                              struct og_cost_inputs *out)
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
    *out = (struct og_cost_inputs){
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

static inline struct og_candidate draw_candidate(const struct random_trace *t, struct og_rng *rng)
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
        .n_released = og__rng_below(rng, 2) * og__rng_below(rng, t->n_nodes),
        .sweep_memory = 200000 + og__rng_below(rng, 100000),
    };
    if (c.layout == OG__RAW && !og__policy_looks_ahead(c.policy.kind) && og__rng_below(rng, 2))
        c.superbatch = c.n_released = 0;
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

static inline void add(struct og_io_counts *sum, struct og_io_counts more)
{
    sum->reads += more.reads;
    sum->bytes += more.bytes;
}

/* Rows in memory may be narrower, or wider, than in the file. */
static inline size_t kept_row(const struct og_cost_inputs *g)
{
    return g->row_bytes > 0 ? g->row_bytes : g->rule.row_bytes;
}

static inline uint32_t plain_prefill(const struct og_cost_inputs *g, struct og_policy *p,
                                     struct plain *plain)
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

static inline void plain_batch(const struct og_cost_inputs *g, const struct og_candidate *c,
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
static inline struct og_packing plain_packing(const struct og_cost_inputs *g,
                                              const struct plain *plain)
{
    struct og_packing p;
    assert_int_equal(og__packing_open(&p, g->n_nodes, kept_row(g), plain->n_batches, NULL, NULL),
                     0);
    for (uint32_t b = 0; b < plain->n_batches; b++)
        assert_int_equal(og__packing_add(&p, plain->missed[b], NULL, plain->n[b], NULL), 0);
    assert_int_equal(og__packing_finish(&p, NULL), 0);
    return p;
}

/* Each batch reads its order, its shared rows if a file has them, and a chunk of others. */
static inline void plain_segments(const struct og_cost_inputs *g, const struct og_packing *p,
                                  uint32_t size, struct og_io_counts *sum)
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

static inline void plain_written(const struct og_cost_inputs *g, const struct og_candidate *c,
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

static inline void plain_superbatch(const struct og_cost_inputs *g, const struct og_candidate *c,
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
    if (c->n_released > 0)
        og__policy_invalidate(p, c->policy.n_slots - OG_MIN(c->n_released, c->policy.n_slots));
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

static inline struct og_candidate_counts run_plainly(const struct og_cost_inputs *g,
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

static inline void assert_io(struct og_io_counts a, struct og_io_counts b)
{
    assert_int_equal(a.reads, b.reads);
    assert_int_equal(a.bytes, b.bytes);
}

static inline void assert_same_counts(const struct og_candidate_counts *a,
                                      const struct og_candidate_counts *b,
                                      const struct og_candidate *c)
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

#endif
