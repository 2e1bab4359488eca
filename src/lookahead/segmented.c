#include "lookahead/segmented.h"

static const char part[] = "packing";

/* Bytes on disk besides the rows, at most. Both heads and tables, with every row of every batch a
 * shared one. */
static uint64_t aside(const struct og_packing *p, uint32_t parts)
{
    const struct og_segment_cost all = {.shared_reads = p->ptr[p->n_batches]};
    return og__packing_data_start(p->n_batches) + og__shared_file_bytes(p, &all, parts);
}

int og__segmented_least(uint64_t *least, const struct og_packing *p, uint32_t parts,
                        struct og_budget *b, struct og_err *err)
{
    struct og_segments segments;
    struct og_segment_cost once;
    OG_DO(og__segments_open(&segments, p, b, err));
    og__segments_space(&segments, OG_MAX(p->n_batches, 1u), &once);
    *least = once.disk_bytes + aside(p, parts);
    og__segments_close(&segments);
    return 0;
}

int og__segmented_choose(struct og_segments *out, uint32_t *size, const struct og_packing *p,
                         uint64_t disk, uint32_t parts, struct og_budget *b, struct og_err *err)
{
    const uint64_t beside = aside(p, parts);
    int rc = og__segments_open(out, p, b, err);
    if (rc < 0)
        return rc;
    rc = og__segments_choose(out, disk - OG_MIN(disk, beside), size, err);
    if (rc < 0)
        og__segments_close(out);
    return rc;
}

/* ---- writing ---- */

int og__segmented_write(struct og_segments *segments, uint32_t size, const struct og_group *group,
                        struct og_packing *p, const struct og_pack_options *opt,
                        struct og_budget *b, struct og_pack_counts *counts, struct og_err *err)
{
    const size_t bytes = og__bits_words(p->ptr[p->n_batches]) * sizeof(uint64_t);
    uint64_t *stored = og__alloc(b, bytes, part, err);
    int rc = stored ? og__shared_write(group, segments, size, OG__BY_SIGNATURE, opt, stored, b,
                                       counts, err)
                    : -ENOMEM;
    og__segments_close(segments);
    rc = rc < 0 ? rc : og__packing_drop(p, stored, err);
    og__release(b, stored, bytes, part);
    return rc;
}
