/* Striped arrays: rows in parts, a file on each of several disks. Units of whole rows go to the
 * parts in round robin.
 *
 *   row           0 .. u-1 | u .. 2u-1 | 2u .. 3u-1 | 3u .. 4u-1 | 4u .. N-1
 *   part of two      0     |     1     |     0      |     1      |    0
 *   row of it     0 .. u-1 | 0 .. u-1  |  u .. 2u-1 |  u .. 2u-1 | 2u ..        the last is short
 *
 * Only this file maps rows to parts. Within a unit rows are as in one file. */
#ifndef OG_IO_STRIPES_H
#define OG_IO_STRIPES_H

#include "base/base.h"

enum { OG_MOST_PARTS = 64 };

struct og_stripes {
    uint32_t parts; /* 0 and 1 = one file: all rows are one unit */
    uint32_t unit;  /* rows, > 0 where there are several parts */
};

/* Rows [first, end) of the array are rows `at` and on of their part. The number `end` may exceed
 * the number of rows. */
struct og_unit {
    uint32_t part;
    uint64_t first, end, at;
};

static inline struct og_unit og__unit_of(const struct og_stripes *s, uint64_t row)
{
    if (s->parts <= 1)
        return (struct og_unit){.end = UINT64_MAX};
    const uint64_t unit = row / s->unit;
    return (struct og_unit){.part = (uint32_t)(unit % s->parts),
                            .first = unit * s->unit,
                            .end = (unit + 1) * s->unit,
                            .at = unit / s->parts * s->unit};
}

/* The number of the n_rows rows that are in this part. */
static inline uint64_t og__part_rows(const struct og_stripes *s, uint32_t part, uint64_t n_rows)
{
    if (s->parts <= 1)
        return n_rows;
    const uint64_t turn = (uint64_t)s->parts * s->unit;
    const uint64_t left = n_rows % turn;
    const uint64_t before = (uint64_t)part * s->unit;
    return n_rows / turn * s->unit + OG_MIN(left - OG_MIN(left, before), (uint64_t)s->unit);
}

/* Rows of a unit: about a MiB. Whole disk blocks if a MiB holds such a number of rows, so that no
 * block belongs to two units. */
uint32_t og__stripe_unit(size_t row_bytes);
/* As og__stripe_unit, but whole blocks even if they exceed a MiB. */
uint32_t og__stripe_unit_of_blocks(size_t row_bytes);

#endif
