/* Spans: the part of a file that one request covers, and its rows. Inside io only. */
#ifndef OG_IO_SPAN_H
#define OG_IO_SPAN_H

#include "io/io.h"

/* Rows rows[first..last], all of one unit. The first and last may be partial: bytes [start, end) of
 * the file are requested. */
struct og_span {
    const uint32_t *rows;
    struct og_unit unit;
    size_t first, last;
    uint64_t start, end;
    uint64_t from;   /* whole blocks are read, from here */
    uint32_t length; /* and their length */
    bool dense;      /* no other rows in between */
};

/* Computes the next span from the job's cursor (next, skip) and advances that. A row that does not
 * fit is cut at a block's end, so that no block is read twice. In a long run, every request but the
 * first and last may then read straight into the destination. */
void og__span_next(const struct og_read_rule *r, struct og_read_job *job, struct og_span *s);

/* Byte offset in its file of a row of this unit. */
static inline uint64_t og__read_rule_row(const struct og_read_rule *r, const struct og_unit *u,
                                         uint64_t row)
{
    return r->offset + (u->at + (row - u->first)) * r->row_bytes;
}

/* Byte offset in its file of rows[i] of the span. */
static inline uint64_t og__span_row(const struct og_read_rule *r, const struct og_span *s, size_t i)
{
    return og__read_rule_row(r, &s->unit, s->rows[i]);
}

/* The largest request under these options, in bytes. */
size_t og__read_request_limit(const struct og_reader_options *opt);

#endif
