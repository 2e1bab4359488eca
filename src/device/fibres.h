/* Runs a kernel on a CPU core, block by block. Each thread of a block is a call. If threads
 * synchronize, it is a fibre with its own stack, which yields the core at every synchronization.
 *
 * Threads run in any of three orders, which must not change the result. If one does, a
 * synchronization is missing, or two threads write to one location. */
#ifndef OG_DEVICE_FIBRES_H
#define OG_DEVICE_FIBRES_H

#include "device/device.h"

/* The position of a thread. */
struct og__here {
    uint32_t thread, block;
};

enum og__order { OG__FORWARDS, OG__REVERSED, OG__SHUFFLED, OG__ORDERS };

/* Runs the kernel to its end. Fails with -ENOMEM without stacks. Fails with -EDEADLK if some
 * threads of a block or warp have ended, or wait elsewhere, while others wait for them. The next
 * call reuses *crew, which is NULL at first. */
struct og_crew;
OG_MUST_CHECK int og__fibres_run(struct og_crew **crew, const struct og_launch *l,
                                 enum og__order order, struct og_err *err);
void og__crew_close(struct og_crew *c); /* NULL: nothing */

/* For kernels: a barrier of the block; the sum over the warp, in a fixed order. */
void og__fibre_synchronize(void);
float og__fibre_warp_sum(const struct og__here *here, float x);

#endif
