/* A pilot's batches by widths of rows, for counting ways of graphs with types: each type's rows
 * are of one width, and lie in slots of their own. */
#ifndef OG_PILOT_WIDTHS_H
#define OG_PILOT_WIDTHS_H

#include "choose/pilot.h"
#include "plan/candidate.h"

struct og_pilot_widths {
    struct og_choice_width *width; /* [n] of types with features, in their order */
    uint32_t n;                    /* 0: all rows are of one */
    uint32_t *ids;                 /* the pilot's, a width after the other, each from 0 */
    uint64_t *ptr;                 /* of each width's batches in them */
    size_t bytes;                  /* of ids */
};

/* Nothing of a graph without types. How rows are read is asked of a reader of each type. */
OG_MUST_CHECK int og__pilot_widths(struct og_pilot_widths *out, const struct og_pilot *p,
                                   const struct og_structure *g, struct og_budget *b,
                                   struct og_err *err);
void og__pilot_widths_release(struct og_pilot_widths *w, struct og_budget *b);

#endif
