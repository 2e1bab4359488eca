#include "plan/count.h"

#include "base/choices.h"

const char *og__layout_name(enum og__layout layout)
{
    static const char *const names[] = {"raw", "packed", "segmented"};
    return names[layout];
}

enum og__layout og__layout_of(int option)
{
    static const enum og__layout layout[] = {[OG_LAYOUT_RAW] = OG__RAW,
                                             [OG_LAYOUT_PACKED] = OG__PACKED,
                                             [OG_LAYOUT_SEGMENTED] = OG__SEGMENTED};
    return layout[option];
}

/* ---- policy ──> misses ---- */

int og__walk_batches(const struct og_walk *w, const struct og_trace *t, uint32_t n,
                     struct og_err *err)
{
    int rc = 0;
    for (uint32_t b = 0; b < n && !og__stop_requested(w->stop); b++) {
        const uint32_t rows = (uint32_t)(t->ptr[b + 1] - t->ptr[b]);
        if (w->before)
            OG_TRY(w->before(w->arg, b, err));
        OG_TRY(og__policy_plan(w->policy, w->planner, t->ids + t->ptr[b], rows, w->plan, err));
        OG_TRY(w->planned(w->arg, b, w->plan, err));
    }
out:
    return rc;
}

/* ---- misses ──> requests and bytes ---- */

void og__count_batch(const struct og_counting *how, uint32_t n, const uint32_t *misses,
                     uint32_t n_misses, struct og_plan_cost *sum)
{
    struct og_io_counts io = {0};
    if (how->layout == OG__RAW)
        io = og__read_rule_predict(how->rule, misses, n_misses);
    else if (how->layout == OG__PACKED)
        io = og__packing_predict_chunk(n_misses * how->row_bytes, how->rule->max_request);
    const struct og_plan_cost cost = {n, n - n_misses, n_misses, io.reads, io.bytes};
    og__plan_cost_add(sum, &cost);
}

/* ---- segments ---- */

static const char part[] = "packing";

/* The locations of a batch's rows. */
struct order {
    uint32_t *where, *positions;
};

static void count_laid_out(struct og_segments *segments, uint32_t batch, uint32_t first,
                           const struct og_read_rule *rule, struct order *o,
                           struct og_io_counts *io)
{
    const struct og_packing *p = segments->packing;
    const uint64_t n = og__packing_chunk_rows(p, batch);
    const uint32_t n_shared = og__segments_batch(segments, batch, o->where, o->positions);
    for (uint32_t i = 0; i < n_shared; i++)
        o->positions[i] += first;
    struct og_io_counts shared = og__read_rule_predict(rule, o->positions, n_shared);
    struct og_io_counts chunk =
        og__packing_predict_chunk((n - n_shared) * p->row_bytes, rule->max_request);
    io->reads = shared.reads + chunk.reads + (n > 0);
    io->bytes = shared.bytes + chunk.bytes + (n + n_shared) * sizeof(uint32_t);
}

static int count_all(struct og_segments *segments, uint32_t size, const struct og_read_rule *rule,
                     struct order *o, struct og_io_counts *io, struct og_err *err)
{
    const uint32_t n = segments->packing->n_batches;
    uint32_t before = 0; /* rows of the segments before */
    for (uint32_t first = 0; first < n; first += OG_MIN(size, n - first)) {
        const uint32_t last = first + OG_MIN(size, n - first);
        OG_DO(og__segments_lay_out(segments, first, last, OG__BY_SIGNATURE, err));
        for (uint32_t b = first; b < last; b++)
            count_laid_out(segments, b, before, rule, o, &io[b]);
        before += segments->n_shared;
    }
    return 0;
}

int og__count_segments(struct og_segments *segments, uint32_t size, const struct og_read_rule *rule,
                       struct og_io_counts *io, struct og_err *err)
{
    const struct og_packing *p = segments->packing;
    struct og_read_rule own = *rule; /* of the file with shared rows */
    uint64_t longest = 0;
    for (uint32_t b = 0; b < p->n_batches; b++)
        longest = OG_MAX(longest, og__packing_chunk_rows(p, b));
    const size_t bytes = longest * sizeof(uint32_t);
    struct order o = {.where = og__alloc(segments->memory.budget, bytes, part, err)};
    o.positions = o.where ? og__alloc(segments->memory.budget, bytes, part, err) : NULL;
    own.offset = OG__PACK_BLOCK;
    own.row_bytes = p->row_bytes;
    own.element = 0;
    own.stripes = (struct og_stripes){0};
    int rc = o.positions ? count_all(segments, size, &own, &o, io, err) : -ENOMEM;
    og__release(segments->memory.budget, o.where, bytes, part);
    og__release(segments->memory.budget, o.positions, bytes, part);
    return rc;
}
