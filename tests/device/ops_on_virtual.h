/* Operators of a virtual device that operate on the host's memory, and are finished when they
 * return. Tests of the cpu backend's operators are run with them as well. */
#ifndef OG_OPS_ON_VIRTUAL_H
#define OG_OPS_ON_VIRTUAL_H

#include "nn/ops.h"

extern const struct og_nn_ops og__ops_on_virtual;
/* Gives back what a test that has no backend of its own was served with. */
void og__ops_on_virtual_end(void);

#endif
