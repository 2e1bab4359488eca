/* Turns rows into requests: merges near rows, extends to blocks, cuts long runs. It does no I/O, so
 * that reads can be predicted without a file. */
#include "io/span.h"

#include <assert.h>
#include <math.h>

size_t og__read_request_limit(const struct og_reader_options *opt)
{
    enum { STANDARD = 256 * 1024, LEAST = 64 * 1024 };
    size_t wish = opt->max_request ? opt->max_request : STANDARD;
    return og__round_up(OG_MIN(OG_MAX(wish, (size_t)LEAST), 64 * OG_MIB), 64 * OG_KIB);
}

/* ---- spans ---- */

static uint64_t block_start(const struct og_read_rule *r, uint64_t at)
{
    return at & ~(uint64_t)(r->align - 1);
}

static uint64_t block_end(const struct og_read_rule *r, uint64_t at)
{
    return og__round_up(at, r->align);
}

/* Adds rows of the unit after s->last to the span while they are near and fit below `limit`. An
 * adjacent row may be added in part. */
static void merge_near(const struct og_read_rule *r, struct og_span *s, uint64_t limit, size_t n)
{
    for (size_t i = s->last + 1; i < n && s->end < limit; i++) {
        if (s->rows[i] >= s->unit.end)
            return;
        uint64_t start = og__span_row(r, s, i);
        uint64_t end = start + r->row_bytes;
        assert(start >= s->end); /* ascending and distinct, as io.h asks */
        if (start > s->end) {
            bool near = block_start(r, start) <= block_end(r, s->end) + r->gap;
            if (!near || end > limit || r->never_merges_gaps)
                return;
            s->dense = false;
        }
        s->last = i;
        s->end = end;
    }
}

/* The largest end of a request that begins with this block. It is a block's end, or the end of the
 * last whole element before it. */
static uint64_t request_end(const struct og_read_rule *r, uint64_t from)
{
    uint64_t limit = from + r->max_request;
    return r->element ? limit - (limit - r->offset) % r->element : limit;
}

void og__span_next(const struct og_read_rule *r, struct og_read_job *job, struct og_span *s)
{
    s->rows = job->rows;
    s->first = s->last = job->next;
    s->unit = og__unit_of(&r->stripes, job->rows[job->next]);
    uint64_t row = og__span_row(r, s, s->first);
    s->start = row + job->skip;
    s->end = row + r->row_bytes;
    s->dense = true;
    uint64_t from = block_start(r, s->start);
    uint64_t limit = request_end(r, from);
    merge_near(r, s, limit, job->n);
    bool cut = s->end > limit;
    s->end = cut ? limit : s->end;
    job->next = cut ? s->last : s->last + 1;
    job->skip = cut ? limit - og__span_row(r, s, s->last) : 0;
    s->from = from;
    s->length = (uint32_t)(block_end(r, s->end) - from);
}

/* ---- predicting ---- */

struct og_read_rule og__read_rule_standard(uint64_t offset, size_t row_bytes, size_t align,
                                           const struct og_reader_options *opt)
{
    return (struct og_read_rule){
        .offset = offset,
        .row_bytes = row_bytes,
        .align = align,
        .gap = opt->profile.iops > 0 ? og__profile_gap(&opt->profile) : 0,
        .max_request = og__read_request_limit(opt),
        .element = opt->recode ? opt->recode->from : 0,
    };
}

static struct og_io_counts cold_pages(const struct og_read_rule *r, const struct og_read_job *job)
{
    const uint64_t page = 4096;
    uint64_t counted_of[OG_MOST_PARTS] = {0}; /* pages below this one */
    uint64_t pages = 0;
    struct og_unit unit = {0};
    for (size_t i = 0; i < job->n; i++) {
        if (job->rows[i] >= unit.end)
            unit = og__unit_of(&r->stripes, job->rows[i]);
        uint64_t *counted = &counted_of[unit.part];
        uint64_t start = og__read_rule_row(r, &unit, job->rows[i]);
        uint64_t first = OG_MAX(start / page, *counted);
        *counted = (start + r->row_bytes - 1) / page + 1;
        pages += *counted - OG_MIN(first, *counted);
    }
    return (struct og_io_counts){.reads = pages, .bytes = pages * page};
}

struct og_io_counts og__read_rule_predict(const struct og_read_rule *r, const uint32_t *rows,
                                          size_t n)
{
    struct og_io_counts counts = {0};
    struct og_read_job job = {.rows = rows, .n = n};
    if (r->by_page)
        return cold_pages(r, &job);
    while (job.next < n) {
        struct og_span s;
        og__span_next(r, &job, &s);
        counts.reads++;
        counts.bytes += s.length;
    }
    return counts;
}

/* Rows in gaps up to the rule's gap are read too. A merged piece has any length and is cut at the
 * request limit. A cut falls between two rows, and the rows in that gap are not read. */
struct og_io_expected og__read_rule_expect(const struct og_read_rule *r, double rows, double all)
{
    const double p = OG_MIN(rows / OG_MAX(all, 1.0), 1.0);
    const double q = 1 - p;
    const double gap = r->never_merges_gaps ? 0 : floor((double)r->gap / (double)r->row_bytes);
    const double between =
        p > 0 ? q * (1 - (gap + 1) * pow(q, gap) + gap * pow(q, gap + 1)) / p : 0;
    const double bytes = rows * (1 + between) * (double)r->row_bytes;
    const double apart = pow(q, gap + 1);
    const double pieces = OG_MAX(rows * apart, 1e-9);
    const double cut = bytes > 0 ? -expm1(-pieces * (double)r->max_request / bytes) : 1;
    const double reads = pieces / cut;
    const double at_cut = apart < 1 ? between / (1 - apart) * (double)r->row_bytes : 0;
    return (struct og_io_expected){reads, bytes - (reads - pieces) * at_cut};
}
