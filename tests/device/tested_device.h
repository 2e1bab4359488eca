/* The device of the tests: a virtual one, or a GPU with OUTGROW_TEST_DEVICE=cuda
 * (tools/gpu-bundle). What only a virtual one does is skipped on a GPU. */
#ifndef TESTED_DEVICE_H
#define TESTED_DEVICE_H

#include "support/testing.h"

#include "nn/ops.h"

#include <stdlib.h>
#include <string.h>

static inline const char *tested_device(void)
{
    const char *requested = getenv("OUTGROW_TEST_DEVICE");
    return requested ? requested : "virtual";
}

static inline bool on_gpu(void)
{
    return strcmp(tested_device(), "cuda") == 0;
}

static inline const struct og_nn_ops *tested_ops(void)
{
    return on_gpu() ? &og__ops_cuda : &og__ops_virtual;
}

/* The host looks into its memory, it fails on demand, or is one of several. */
static inline void of_a_virtual_device(void)
{
    if (on_gpu())
        skip();
}

#endif
