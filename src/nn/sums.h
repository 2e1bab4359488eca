/* sums: an all-reduce of gradients of ranks with a device each. Devices add in the order of the
 * schedule. It replaces the hosts' (learn/shares.h); data moves from device to device. Each rank
 * adds one slice of all gradients, then gathers the others' slices. After a failure a rank leaves
 * the group, so that no other rank waits for it. */
#ifndef OG_NN_SUMS_H
#define OG_NN_SUMS_H

#include "nn/ops.h"

struct og_sums;
struct og_sums_setup {
    const unsigned char *id; /* id of the group */
    int rank, ranks;
    size_t n, slice; /* numbers; of the longest slice: rank r adds those from r * slice on */
};
/* Mini-batches of one step: those of ranks first .. last - 1, with weights. */
struct og_sums_round {
    int first, last;
    bool alone;          /* the only one of its step: not weighted */
    const float *weight; /* by rank */
};
struct og_sums_ops {
    /* Identify the device by OG__DEVICE_ID bytes; -ENOTSUP if groups are not supported. */
    int (*identify)(struct og_nn_backend *be, unsigned char *id, struct og_err *err);
    /* Create the id of a group, OG__GROUP_ID bytes. */
    int (*group_id)(struct og_nn_backend *be, unsigned char *id, struct og_err *err);
    /* Called by all ranks. The sum is 0. */
    int (*open)(struct og_sums **out, struct og_nn_backend *be, const struct og_sums_setup *setup,
                struct og_err *err);
    void (*close)(struct og_sums *s); /* NULL: no-op */
    /* Report a failure elsewhere: ranks that wait for this one fail too. */
    void (*leave)(struct og_sums *s);
    size_t (*bytes)(size_t n, size_t slice, int ranks); /* bytes of the backend's memory */

    /* Later calls are for a model with backend `from`, on the same device. */
    int (*begin)(struct og_sums *s, struct og_nn_backend *from, struct og_err *err);
    /* Input: numbers [at, at + n) of this rank's gradient. */
    int (*take)(struct og_sums *s, const float *gradient, size_t at, size_t n, struct og_err *err);
    /* Called by all ranks, also those without a mini-batch in the round. Finished on return. */
    int (*add)(struct og_sums *s, const struct og_sums_round *round, struct og_err *err);
    /* Called by all ranks: gather the others' slices of the sum. Finished on return. */
    int (*gather)(struct og_sums *s, struct og_err *err);
    /* Output: factor times numbers [at, at + n) of the sum, in the backend's memory. */
    int (*give)(struct og_sums *s, float *gradient, size_t at, size_t n, float factor,
                struct og_err *err);
    int (*clear)(struct og_sums *s, struct og_err *err); /* sets the sum to 0 */
    /* Copy the sum, [n], to host memory, and back. */
    int (*fetch)(struct og_sums *s, float *sum, struct og_err *err);
    int (*push)(struct og_sums *s, const float *sum, struct og_err *err);
};

#endif
