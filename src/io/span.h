/* Spans: what of a file one request covers, and for which rows. Inside io only. */
#ifndef OG_IO_SPAN_H
#define OG_IO_SPAN_H

#include "io/io.h"

/* Of rows[first..last], all of one unit; of the first and the last perhaps only a piece: bytes
 * [start, end) of the file are wanted. */
struct og_span {
    const uint32_t *rows;
    struct og_unit unit;
    size_t first, last;
    uint64_t start, end;
    uint64_t from;   /* whole blocks are read, from here */
    uint32_t length; /* and so many bytes of them */
    bool dense;      /* nothing unwanted lies between */
};

/* The next span of the job, from where its cursor (next, skip) stands; the cursor moves on. A row
 * that does not fit is cut where a block ends, so that no block is read twice and, in a long run,
 * every request but the first and the last may be read straight to where its rows belong. */
void og__span_next(const struct og_read_rule *r, struct og_read_job *job, struct og_span *s);

/* Byte of a row of this unit in its file. */
static inline uint64_t og__read_rule_row(const struct og_read_rule *r, const struct og_unit *u,
                                         uint64_t row)
{
    return r->offset + (u->at + (row - u->first)) * r->row_bytes;
}

/* Byte of rows[i] of the span in its file. */
static inline uint64_t og__span_row(const struct og_read_rule *r, const struct og_span *s, size_t i)
{
    return og__read_rule_row(r, &s->unit, s->rows[i]);
}

/* The largest request under these options, in bytes. */
size_t og__read_request_limit(const struct og_reader_options *opt);

#endif
