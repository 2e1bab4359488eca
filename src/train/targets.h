/* targets: what a model learns a batch from. */
#ifndef OG_TARGETS_H
#define OG_TARGETS_H

#include "budget/facts.h"
#include "train/flow.h"

/* Labels of a work's seeds, gathered into `out` (og__labels_bytes of the batch size). */
void og__work_labels(const struct og_facts *f, const struct og_work *w, void *out);
/* The same into `out` (og__targets_bytes), or, of links, the work's pairs. */
const void *og__work_targets(const struct og_facts *f, const struct og_work *w, void *out);

#endif
