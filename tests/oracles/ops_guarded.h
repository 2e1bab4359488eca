/* A backend whose memory no one else can touch: a stand-in for a device.
 *
 * It computes with the operators of the product, in memory of its own. That memory is open while
 * one of its calls runs and closed to everyone else: a host that reads or writes there gets
 * SIGSEGV. Every pointer that an operator gets must be in one live allocation, with all that it
 * points to. Otherwise the program ends and names the operator and the operand. */
#ifndef OG_OPS_GUARDED_H
#define OG_OPS_GUARDED_H

#include "nn/ops.h"

extern const struct og_nn_ops og__ops_guarded;

/* What it did in this process. */
struct og_guarded_counts {
    uint64_t operators, fetches, pushes, gathers;
    size_t live, peak; /* bytes of its memory */
};
struct og_guarded_counts og__guarded_counts(void);

#endif
