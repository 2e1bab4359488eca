#include "train/segmented.h"

static const char part[] = "packing";

/* Bytes on disk beside the rows, at most: both heads and tables, and every row of every batch a
 * shared one. */
static uint64_t aside(const struct og_packing *p)
{
    const struct og_segment_cost all = {.shared_reads = p->ptr[p->n_batches]};
    return og__packing_data_start(p->n_batches) + og__shared_file_bytes(p, &all);
}

int og__segmented_choose(struct og_segments *out, uint32_t *size, const struct og_session *s,
                         const struct og_packing *p, uint64_t disk, uint64_t *least,
                         struct og_err *err)
{
    struct og_err why = {0};
    struct og_segment_cost once;
    const uint64_t beside = aside(p);
    *least = 0;
    int rc = og__segments_open(out, p, s->budget, err);
    if (rc < 0)
        return rc;
    rc = og__segments_choose(out, disk - OG_MIN(disk, beside), size, &why);
    if (rc == -ENOSPC) {
        og__segments_space(out, p->n_batches, &once);
        *least = once.disk_bytes + beside;
    } else if (rc < 0) {
        og__fail(err, rc, why.hint, "%s", why.message);
    }
    if (rc < 0)
        og__segments_close(out);
    return rc;
}

/* ---- what batches will read ---- */

struct order {
    uint32_t *where, *positions;
};

static void predict_batch(struct og_segments *segments, uint32_t batch, uint32_t first,
                          const struct og_read_rule *rule, struct order *o, struct og_io_counts *io)
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

static int predict_all(struct og_segments *segments, uint32_t size, const struct og_read_rule *rule,
                       struct order *o, struct og_io_counts *io, struct og_err *err)
{
    const uint32_t n = segments->packing->n_batches;
    uint32_t before = 0; /* rows of the segments before */
    int rc = 0;
    for (uint32_t first = 0; rc == 0 && first < n; first += OG_MIN(size, n - first)) {
        const uint32_t last = first + OG_MIN(size, n - first);
        rc = og__segments_lay_out(segments, first, last, OG__BY_SIGNATURE, err);
        for (uint32_t b = first; rc == 0 && b < last; b++)
            predict_batch(segments, b, before, rule, o, &io[b]);
        before += segments->n_shared;
    }
    return rc;
}

int og__segmented_predict(struct og_segments *segments, uint32_t size, const struct og_session *s,
                          struct og_io_counts *io, struct og_err *err)
{
    const struct og_packing *p = segments->packing;
    struct og_read_rule rule = s->facts.read_rule;
    uint64_t longest = 0;
    for (uint32_t b = 0; b < p->n_batches; b++)
        longest = OG_MAX(longest, og__packing_chunk_rows(p, b));
    const size_t bytes = longest * sizeof(uint32_t);
    struct order o = {.where = og__alloc(s->budget, bytes, part, err)};
    o.positions = o.where ? og__alloc(s->budget, bytes, part, err) : NULL;
    rule.offset = OG__PACK_BLOCK;
    rule.row_bytes = p->row_bytes;
    rule.element = 0;
    int rc = o.positions ? predict_all(segments, size, &rule, &o, io, err) : -ENOMEM;
    og__release(s->budget, o.where, bytes, part);
    og__release(s->budget, o.positions, bytes, part);
    return rc;
}

/* ---- writing ---- */

int og__segmented_write(struct og_segments *segments, uint32_t size, const struct og_session *s,
                        struct og_packing *p, const struct og_pack_options *opt,
                        struct og_pack_counts *counts, struct og_err *err)
{
    const size_t bytes = og__bits_words(p->ptr[p->n_batches]) * sizeof(uint64_t);
    uint64_t *stored = og__alloc(s->budget, bytes, part, err);
    int rc = stored ? og__shared_write(s->facts.ds, segments, size, OG__BY_SIGNATURE, opt, stored,
                                       s->budget, counts, err)
                    : -ENOMEM;
    og__segments_close(segments);
    if (rc == 0)
        rc = og__packing_drop(p, stored, err);
    og__release(s->budget, stored, bytes, part);
    return rc;
}
