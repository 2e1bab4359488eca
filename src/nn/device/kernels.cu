/* The kernels by number, as CUDA launches them. */
#include "device/kernel.h"
#include "nn/device/kernels.h"

#define DECLARED(name, type, meets) \
    extern "C" __global__ void name(const __grid_constant__ struct type args);
OG__KERNELS(DECLARED)

extern "C" {
extern const void *const og__cuda_kernel[OG__N_KERNELS];
extern const uint32_t og__cuda_n_kernels;

#define ADDRESS(name, args, meets) (const void *)name,
const void *const og__cuda_kernel[OG__N_KERNELS] = {OG__KERNELS(ADDRESS)};
const uint32_t og__cuda_n_kernels = OG__N_KERNELS;

/* Compared by the command with its own. */
extern const uint64_t og_cuda_kernels;
__attribute__((visibility("default"))) const uint64_t og_cuda_kernels = og__kernels_print();
}
