/* sums: gradients that ranks computed, each on a device of its own, added there in the order of the
 * schedule: what the hosts would do (learn/shares.h), with pieces that go from device to device. A
 * rank adds a slice of all of them; a sum is there when it has the others' slices as well. After a
 * failure it is of no group any more, so that no rank waits for this one. */
#ifndef OG_NN_SUMS_H
#define OG_NN_SUMS_H

#include "nn/ops.h"

struct og_sums;
struct og_sums_setup {
    const unsigned char *id; /* of the group */
    int rank, ranks;
    size_t n, slice; /* numbers; of the longest slice: rank r has those from r * slice on */
};
/* Mini-batches of one step: those of ranks first .. last - 1, weighed. */
struct og_sums_round {
    int first, last;
    bool alone;          /* the only one of its step: as it is */
    const float *weight; /* by rank */
};
struct og_sums_ops {
    /* Which device it is, as OG__DEVICE_ID bytes; -ENOTSUP, saying why, where there are no groups.
     */
    int (*identify)(struct og_nn_backend *be, unsigned char *id, struct og_err *err);
    /* A group's id, of OG__GROUP_ID bytes. */
    int (*group_id)(struct og_nn_backend *be, unsigned char *id, struct og_err *err);
    /* By all ranks. The sum is 0. */
    int (*open)(struct og_sums **out, struct og_nn_backend *be, const struct og_sums_setup *setup,
                struct og_err *err);
    void (*close)(struct og_sums *s); /* NULL: nothing */
    /* Something else failed here: others that wait for this rank fail, too. */
    void (*leave)(struct og_sums *s);
    size_t (*bytes)(size_t n, size_t slice, int ranks); /* what it takes of the backend's memory */

    /* What comes next is of a model whose backend is `from`, on the same device. */
    int (*begin)(struct og_sums *s, struct og_nn_backend *from, struct og_err *err);
    /* Numbers [at, at + n) of this rank's gradient. */
    int (*take)(struct og_sums *s, const float *gradient, size_t at, size_t n, struct og_err *err);
    /* By all ranks, whether they have a mini-batch in the round or not. Finished when it returns.
     */
    int (*add)(struct og_sums *s, const struct og_sums_round *round, struct og_err *err);
    /* By all ranks: the others' slices of the sum. Finished when it returns. */
    int (*gather)(struct og_sums *s, struct og_err *err);
    /* factor times numbers [at, at + n) of the sum, into the backend's memory. */
    int (*give)(struct og_sums *s, float *gradient, size_t at, size_t n, float factor,
                struct og_err *err);
    int (*clear)(struct og_sums *s, struct og_err *err); /* the sum is 0 */
    /* [n] of the host's memory, to and fro. */
    int (*fetch)(struct og_sums *s, float *sum, struct og_err *err);
    int (*push)(struct og_sums *s, const float *sum, struct og_err *err);
};

#endif
