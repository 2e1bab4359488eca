/* A kernel on a processor: block by block, each thread of a block a call, or, where threads meet, a
 * fibre with a stack of its own that gives the processor to the next one at every meeting.
 *
 * Threads run in any of three orders, which must make no difference: where it does, a meeting is
 * missing, or two threads write to one place. */
#ifndef OG_DEVICE_FIBRES_H
#define OG_DEVICE_FIBRES_H

#include "device/device.h"

/* Where a thread is. */
struct og__here {
    uint32_t thread, block;
};

enum og__order { OG__FORWARDS, OG__REVERSED, OG__SHUFFLED, OG__ORDERS };

/* Runs it to its end; -ENOMEM without stacks, -EDEADLK where some threads of a block, or of a warp,
 * have ended, or meet elsewhere, while others wait for them. *crew, NULL to begin with, is kept for
 * the next one. */
struct og_crew;
OG_MUST_CHECK int og__fibres_run(struct og_crew **crew, const struct og_launch *l,
                                 enum og__order order, struct og_err *err);
void og__crew_close(struct og_crew *c); /* NULL: nothing */

/* For kernels: wait for all threads of the block; the sum over the warp, in one order. */
void og__fibre_meet(void);
float og__fibre_warp_sum(const struct og__here *here, float x);

#endif
