/* Memory of the CPU operators: products, scratch, sums over rows.
 *
 *     a thread's scratch   | input tile | output tile | row |      in the caller's workspace
 *                           64 x width    64 x width   width       width: of the widest matrix */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/product.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PARTS = 16,  /* partial sums over rows */
    PART_BLOCKS = 4, /* blocks that justify another partial sum */
};

/* ==== products and scratch ==== */

/* A tile has a block of full width, or a tall block of a strip. */
size_t og__cpu_scratch_bytes(const struct og_most *of, int threads)
{
    size_t columns = OG_MAX((size_t)of->width, 2 * (size_t)OG_MIN(of->width, (int)OG__STRIP));
    return (size_t)threads * (2 * OG__BLOCK_ROWS + 1) * og__round_up(columns, 16) * sizeof(float);
}

void og__cpu_set_scratch(struct og_nn_backend *be, char *scratch, size_t scratch_bytes,
                         float *partial)
{
    be->scratch = scratch;
    be->scratch_stride = scratch_bytes / (size_t)og__pool_threads(be->pool);
    be->partial = partial;
}

struct og__scratch og__scratch_of(const struct og_nn_backend *be, int thread)
{
    struct og__scratch s;
    size_t floats = be->scratch_stride / sizeof(float);
    size_t width = floats / (2 * OG__BLOCK_ROWS + 1);
    s.in = (float *)(void *)(be->scratch + (size_t)thread * be->scratch_stride);
    s.out = s.in + OG__BLOCK_ROWS * width;
    s.row = s.out + OG__BLOCK_ROWS * width;
    return s;
}

size_t og__cpu_packed_bytes(int n_out, int n_in)
{
    return OG_MAX(og__product_packed_bytes(n_in, n_out), og__product_packed_bytes(n_out, n_in));
}

size_t og__cpu_own_bytes(int threads)
{
    return (size_t)threads * OG__PRODUCT_SCRATCH;
}

int og__cpu_open(struct og_nn_backend **out, int number, struct og_pool *pool, struct og_budget *b,
                 struct og_err *err)
{
    int rc = 0;
    (void)number;
    struct og_nn_backend *be = calloc(1, sizeof(*be));
    *out = NULL;
    if (!be)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "operators"));
    be->memory = og__host_memory(b);
    be->pool = pool;
    OG_TRY(og__products_open(&be->products, og__pool_threads(pool), b, err));
    *out = be;
    be = NULL;
out:
    og__cpu_close(be);
    return rc;
}

void og__cpu_close(struct og_nn_backend *be)
{
    if (be)
        og__products_close(be->products);
    free(be);
}

int og__cpu_check_compute(int compute, struct og_err *err)
{
    if (compute == OG_COMPUTE_F32 || (compute == OG_COMPUTE_BF16 && og__products_take_bf16()))
        return 0;
    return og__fail(err, -ENOTSUP, "use --compute f32",
                    compute == OG_COMPUTE_BF16
                        ? "--compute bf16: this CPU has neither AVX512-BF16 nor AMX-BF16"
                        : "--compute tf32: CPUs do not have it, only GPUs");
}

void og__cpu_set_compute(struct og_nn_backend *be, int compute)
{
    be->bf16 = compute == OG_COMPUTE_BF16;
}

const char *og__cpu_compute_remark(int compute)
{
    return compute == OG_COMPUTE_F32 || og__products_have_amx()
               ? NULL
               : "--compute bf16: this CPU has no AMX, so products may be slower than in f32; "
                 "`outgrow bench gemm --compute bf16` compares them";
}

/* ==== memory: host memory ==== */

struct og_memory og__cpu_memory(const struct og_nn_backend *be)
{
    return be->memory;
}

int og__cpu_fetch(struct og_nn_backend *be, void *host, const void *on_backend, size_t bytes,
                  struct og_err *err)
{
    (void)be;
    (void)err;
    memcpy(host, on_backend, bytes);
    return 0;
}

int og__cpu_push(struct og_nn_backend *be, void *on_backend, const void *host, size_t bytes,
                 struct og_err *err)
{
    return og__cpu_fetch(be, on_backend, host, bytes, err);
}

int og__cpu_clear(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err)
{
    (void)be;
    (void)err;
    memset(on_backend, 0, bytes);
    return 0;
}

int og__cpu_number(struct og_nn_backend *be, uint32_t *on_backend, uint32_t n, struct og_err *err)
{
    (void)be;
    (void)err;
    for (uint32_t i = 0; i < n; i++)
        on_backend[i] = i;
    return 0;
}

size_t og__cpu_room_bytes(size_t bytes)
{
    (void)bytes;
    return 0;
}

/* ==== sums over rows ==== */

size_t og__n_parts(uint64_t rows)
{
    return OG_MAX(OG_MIN(og__n_blocks(rows) / PART_BLOCKS, (size_t)MAX_PARTS), (size_t)1);
}

static size_t part_floats(size_t columns)
{
    return og__round_up(columns, 16);
}

size_t og__cpu_column_bytes(uint64_t rows, size_t columns)
{
    return og__n_parts(rows) * part_floats(columns) * sizeof(float);
}

struct og__part og__part_of(const struct og_nn_backend *be, uint32_t rows, size_t columns,
                            size_t part)
{
    size_t n = og__n_parts(rows), blocks = og__n_blocks(rows);
    struct og__part p = {.first = (uint32_t)(part * blocks / n * OG__BLOCK_ROWS),
                         .last = (uint32_t)((part + 1) * blocks / n * OG__BLOCK_ROWS),
                         .sum = be->partial + part * part_floats(columns)};
    p.last = OG_MIN(p.last, rows);
    memset(p.sum, 0, columns * sizeof(float));
    return p;
}

void og__add_parts(const struct og_nn_backend *be, uint32_t rows, size_t columns, size_t first,
                   size_t n, float *out)
{
    memcpy(out, be->partial + first, n * sizeof(float));
    for (size_t part = 1; part < og__n_parts(rows); part++)
        og__add(out, be->partial + part * part_floats(columns) + first, n);
}
