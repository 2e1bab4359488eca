/* The language of kernels: what C and CUDA C have in common. nvcc compiles them as GPU kernels. A C
 * compiler makes functions that run one thread of a block; the virtual device calls them for each
 * thread (fibres.h).
 *
 *   OG_KERNEL(og__k_name, og_args)      struct og_args: all arguments, available as *op
 *   {
 *       uint32_t i = og_item();         global thread number; og_warp(): global warp number
 *       if (i < op->n) ...
 *   }
 *
 * A warp is 32 adjacent threads of a block; og_lane() is a thread's number in it. A kernel with
 * synchronization (og_synchronize, og_warp_sum) declares that, and all threads must reach every
 * one: og_synchronize the whole block, og_warp_sum the whole warp.
 *
 * No atomics on floats: every sum has a fixed order, independent of thread order. */
#ifndef OG_DEVICE_KERNEL_H
#define OG_DEVICE_KERNEL_H

#include <stdint.h>

enum { OG_LANES = 32, OG_WARPS = 8, OG_THREADS = OG_WARPS * OG_LANES };

#ifdef __CUDACC__

#define OG_ON_DEVICE static __device__ __forceinline__
#define OG_SHARED    __shared__
#define OG_KERNEL(name, type)                                \
    OG_ON_DEVICE void name##_thread(const struct type *op);  \
    extern "C" __global__ void __launch_bounds__(OG_THREADS) \
        name(const __grid_constant__ struct type args)       \
    {                                                        \
        name##_thread(&args);                                \
    }                                                        \
    OG_ON_DEVICE void name##_thread(const struct type *op)

#define OG_HERE /* parameter and argument of functions that use the position of the thread */
#define OG_PASS
#define og_thread()      ((uint32_t)threadIdx.x)
#define og_block()       ((uint32_t)blockIdx.x)
#define og_synchronize() __syncthreads()

/* The sum over the lanes, in a fixed order, returned to all of them. */
OG_ON_DEVICE float og_warp_sum(float x)
{
    for (int step = OG_LANES / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* a b, rounded: no later sum is fused with it. */
OG_ON_DEVICE float og_times(float a, float b)
{
    return __fmul_rn(a, b);
}

/* a b + c, rounded as on the host's CPU. */
OG_ON_DEVICE float og_times_plus(float a, float b, float c)
{
#ifdef __aarch64__
    return __fmaf_rn(a, b, c);
#else
    return __fadd_rn(__fmul_rn(a, b), c);
#endif
}

#else

#include "device/fibres.h"

#define OG_ON_DEVICE static inline
#define OG_SHARED    static _Thread_local
#define OG_KERNEL(name, type)                                                      \
    void name(const void *args, const struct og__here *here);                      \
    static void name##_thread(const struct type *op, const struct og__here *here); \
    void name(const void *args, const struct og__here *here)                       \
    {                                                                              \
        name##_thread((const struct type *)args, here);                            \
    }                                                                              \
    static void name##_thread(const struct type *op, const struct og__here *here)

#define OG_HERE          , const struct og__here *here
#define OG_PASS          , here
#define og_thread()      (here->thread)
#define og_block()       (here->block)
#define og_synchronize() og__fibre_synchronize()
#define og_warp_sum(x)   og__fibre_warp_sum(here, x)

OG_ON_DEVICE float og_times(float a, float b)
{
    return a * b;
}

OG_ON_DEVICE float og_times_plus(float a, float b, float c)
{
    return c + a * b;
}

#endif

#define og_lane() (og_thread() % OG_LANES)
#define og_item() (og_block() * OG_THREADS + og_thread())
#define og_warp() (og_block() * OG_WARPS + og_thread() / OG_LANES)

#endif
