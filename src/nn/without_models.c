/* A build without models: shapes and words exist, so that options keep their meaning; nothing
 * computes. */
#include "nn/nn.h"

const struct og_nn_ops *og__nn_ops(void)
{
    return NULL;
}

const struct og_nn_ops *og__nn_ops_of_device(int device)
{
    (void)device;
    return NULL;
}
