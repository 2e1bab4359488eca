/* Static placement of rows of several sizes, within a number of bytes. Node types are groups of
 * nodes, each with rows of its own size or none. Slots of groups follow each other, as nodes do.
 *
 * Nodes are ranked by the saving per byte of cache. The saving is the uses times the cost of
 * reading. Short rows cost more than their bytes, since whole blocks are read. Among rows of one
 * size the hottest are selected, as usual. */
#ifndef OG_PLAN_WORTH_H
#define OG_PLAN_WORTH_H

#include "plan/plan.h"

struct og_group_bytes {
    uint64_t end;     /* end of its nodes, and start of the next type's */
    size_t row_bytes; /* 0: it has no rows */
    size_t read_bytes;
};

/* The uses of a row of such hotness, in its own units. There are counts, floats as bits, none below
 * 0 (pagerank), and ordered ones (plan.h). Rows without uses still differ by their sizes, except in
 * the last form. */
typedef double og_uses(uint32_t hotness);
double og__uses_counted(uint32_t hotness);
double og__uses_float(uint32_t hotness);
double og__uses_ordered(uint32_t hotness);

/* Replaces hotness[N] by a worth: one order for nodes of all sizes, 0 for nodes without rows. If
 * uses are below 0, as user scores may be, short rows are worth more too. */
void og__worth_weigh(uint32_t *hotness, og_uses *uses, const struct og_group_bytes *group,
                     uint32_t n);
/* Room for rows. */
struct og_capacity {
    uint64_t bytes, rows;
};
/* Bytes and rows by some bits of their worth, of worths whose higher bits are `high`. */
enum { OG__WORTH_BITS = 11, OG__WORTH_LEVELS = 3 };
struct og_worth_level {
    uint64_t bytes[1 << OG__WORTH_BITS], rows[1 << OG__WORTH_BITS];
    uint32_t high;
    bool known;
};
/* What og__worth_fit counted. Its next call with the same worths and groups counts less. One
 * thread. */
struct og_worth_sums {
    struct og_worth_level level[OG__WORTH_LEVELS];
};
enum { OG__WORTH_FIT_BYTES = sizeof(struct og_worth_sums) };
/* NULL: not enough memory. */
struct og_worth_sums *og__worth_sums_open(struct og_budget *b, struct og_err *err);
void og__worth_sums_close(struct og_worth_sums *s, struct og_budget *b); /* may be NULL */

/* Counts the nodes of highest worth that fit, ties to smaller ids. Stores the number of each size
 * in fit[n]. NULL for sums: it temporarily takes OG__WORTH_FIT_BYTES of the budget. */
OG_MUST_CHECK int og__worth_fit(const uint32_t *worth, const struct og_group_bytes *group,
                                uint32_t n, const struct og_capacity *room,
                                struct og_worth_sums *sums, struct og_budget *b, uint64_t *fit,
                                struct og_err *err);

#endif
