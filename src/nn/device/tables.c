/* The operators' table for each kind of device. */
#include "nn/device/backend.h"
#include "nn/device/sampler.h"

static int virtual_open(struct og_nn_backend **out, int number, struct og_pool *pool,
                        struct og_budget *b, struct og_err *err)
{
    (void)pool;
    return og__device_open(out, &og__device_virtual, number, b, err);
}

static int cuda_open(struct og_nn_backend **out, int number, struct og_pool *pool,
                     struct og_budget *b, struct og_err *err)
{
    const struct og_device_ops *ops;
    (void)pool;
    *out = NULL;
    int rc = og__device_cuda(og__kernels_print(), &ops, err);
    return rc < 0 ? rc : og__device_open(out, ops, number, b, err);
}

static size_t virtual_own_bytes(void)
{
    return og__device_virtual.own_bytes();
}

static size_t cuda_own_bytes(void)
{
    const struct og_device_ops *ops;
    return og__device_cuda(og__kernels_print(), &ops, NULL) < 0 ? 0 : ops->own_bytes();
}

static size_t virtual_free_bytes(int number)
{
    return og__device_virtual.free_bytes(number);
}

static size_t cuda_free_bytes(int number)
{
    const struct og_device_ops *ops;
    return og__device_cuda(og__kernels_print(), &ops, NULL) < 0 ? 0 : ops->free_bytes(number);
}

/* Features and blocks are copied to device memory. Partial sums are in the scratch. */
static size_t room_bytes(size_t bytes)
{
    return bytes;
}

static size_t partial_bytes(uint64_t rows, int n_out, uint64_t n_in)
{
    (void)rows, (void)n_out, (void)n_in;
    return 0;
}

static size_t column_bytes(uint64_t rows, size_t columns)
{
    (void)rows, (void)columns;
    return 0;
}

/* A GPU that is too old is found by the first product. */
static int check_compute(int compute, struct og_err *err)
{
    (void)compute, (void)err;
    return 0;
}

static const char *compute_remark(int compute)
{
    (void)compute;
    return NULL;
}

/* Products read weights without packing. */
static size_t packed_bytes(int n_out, int n_in)
{
    (void)n_out, (void)n_in;
    return 0;
}

static int pack(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err)
{
    (void)be, (void)w, (void)n, (void)err;
    return 0;
}

static const struct og_sampling_ops samplers = {og__device_sampler_open, og__device_sampler_close,
                                                og__device_sampler_hops, og__device_sampler_bytes};

#define FIELD(name, operands) .name = og__device_##name,
#define OPERATORS(kind, opens, own, left)                                                        \
    {                                                                                            \
        .name = (kind), .device_own_bytes = (own), .device_free_bytes = (left),                  \
        .rows = &og__device_rows, .samplers = &samplers, .sums = &og__device_sums,               \
        .open = (opens), .close = og__device_close, .check_compute = check_compute,              \
        .compute_remark = compute_remark, .set_compute = og__device_set_compute,                 \
        .bound = og__device_bound, .await = og__device_await, .own_bytes = og__device_own_bytes, \
        .memory = og__device_memory, .fetch = og__device_fetch, .push = og__device_push,         \
        .constant = og__device_constant, .clear = og__device_clear, .number = og__device_number, \
        .room_bytes = room_bytes, .gather = og__device_gather,                                   \
        .set_scratch = og__device_set_scratch, .scratch_bytes = og__device_scratch_bytes,        \
        .partial_bytes = partial_bytes, .column_bytes = column_bytes,                            \
        .packed_bytes = packed_bytes, .pack = pack, OG__PRODUCT_OPS(FIELD) OG__PLAIN_OPS(FIELD)  \
    }

const struct og_nn_ops og__ops_virtual =
    OPERATORS("virtual", virtual_open, virtual_own_bytes, virtual_free_bytes);
const struct og_nn_ops og__ops_cuda = OPERATORS("cuda", cuda_open, cuda_own_bytes, cuda_free_bytes);

const struct og_nn_ops *og__nn_ops_of_device(int device)
{
    return device == OG_DEVICE_CUDA ? &og__ops_cuda : &og__ops_virtual;
}
