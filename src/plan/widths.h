/* Static placement of rows of several widths, within so many bytes. Types of a graph are ranges of
 * nodes, each with rows of a width of its own or with none; slots of a range follow each other, as
 * the nodes do.
 *
 * What a byte of cache saves decides: of a row that is used so often, what reading it costs for
 * each of its bytes. Narrow rows cost more than they have, since whole blocks are read; among rows
 * of one width the hottest are kept, as ever. */
#ifndef OG_PLAN_WIDTHS_H
#define OG_PLAN_WIDTHS_H

#include "plan/plan.h"

struct og_width {
    uint64_t end;     /* nodes of it end here, and those of the next begin */
    size_t row_bytes; /* 0: it has no rows */
    size_t read_bytes;
};

/* How often a row of such hotness is used, in units of its own: counts; floats as bits, none below
 * 0 (pagerank); ordered ones (plan.h). Rows that are never used differ by their widths still, but
 * for the last kind. */
typedef double og_uses(uint32_t hotness);
double og__uses_counted(uint32_t hotness);
double og__uses_float(uint32_t hotness);
double og__uses_ordered(uint32_t hotness);

/* What hotness[N] is worth: an order of nodes of all widths, 0 for those without rows. Of uses
 * below 0, which a user's scores may be, narrow rows are worth more too. */
void og__widths_weigh(uint32_t *hotness, og_uses *uses, const struct og_width *width, uint32_t n);
/* Room for rows. */
struct og_capacity {
    uint64_t bytes, rows;
};
/* The worthiest that there is room for, of equal ones those with the smaller id: how many of each
 * width, into fit[n]. Takes OG__WIDTHS_FIT_BYTES of the budget meanwhile. */
enum { OG__WIDTHS_FIT_BYTES = 1 << 15 };
OG_MUST_CHECK int og__widths_fit(const uint32_t *worth, const struct og_width *width, uint32_t n,
                                 const struct og_capacity *room, struct og_budget *b, uint64_t *fit,
                                 struct og_err *err);

#endif
