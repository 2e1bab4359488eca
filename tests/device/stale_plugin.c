/* A plugin for CUDA whose kernels are not the command's. Built with KERNELS it has a fingerprint of
 * its own. Built without it has none, as plugins of before fingerprints. */
#include "device/device.h"

static int one(char *why, size_t size)
{
    (void)why;
    (void)size;
    return 1;
}

extern const struct og_device_ops og_cuda_device;
const struct og_device_ops og_cuda_device = {
    .version = OG__DEVICE_VERSION, .name = "stale", .count = one};
#if KERNELS
extern const uint64_t og_cuda_kernels;
const uint64_t og_cuda_kernels = KERNELS;
#endif
