/* What kernels are written in: what C and CUDA C have in common. nvcc makes them kernels of a GPU;
 * a C compiler makes functions of them that run one thread of a block, which the virtual device
 * calls for each (fibres.h).
 *
 *   OG_KERNEL(og__k_name, og_args)      struct og_args: all it is given, seen as *op
 *   {
 *       uint32_t i = og_item();         the thread's number among all; og_warp() the warp's
 *       if (i < op->n) ...
 *   }
 *
 * A warp is 32 neighbours of a block; og_lane() is a thread's number among them. A kernel whose
 * threads meet (og_meet, og_warp_sum) is listed as one that does, and all its threads come to
 * every meeting: og_meet those of the block, og_warp_sum those of the warp.
 *
 * No atomics on floats: every sum has one order, whatever order threads run in. */
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

#define OG_HERE /* parameter and argument of functions that ask where they are */
#define OG_PASS
#define og_thread() ((uint32_t)threadIdx.x)
#define og_block()  ((uint32_t)blockIdx.x)
#define og_meet()   __syncthreads()

/* The sum over the lanes, in one order, and the same in all of them. */
OG_ON_DEVICE float og_warp_sum(float x)
{
    for (int step = OG_LANES / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* a b + c as the host's processors add it up. */
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

#define OG_HERE        , const struct og__here *here
#define OG_PASS        , here
#define og_thread()    (here->thread)
#define og_block()     (here->block)
#define og_meet()      og__fibre_meet()
#define og_warp_sum(x) og__fibre_warp_sum(here, x)

OG_ON_DEVICE float og_times_plus(float a, float b, float c)
{
    return c + a * b;
}

#endif

#define og_lane() (og_thread() % OG_LANES)
#define og_item() (og_block() * OG_THREADS + og_thread())
#define og_warp() (og_block() * OG_WARPS + og_thread() / OG_LANES)

#endif
