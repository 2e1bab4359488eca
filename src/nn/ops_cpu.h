/* Common parts of the CPU backend's files. */
#ifndef OG_NN_OPS_CPU_H
#define OG_NN_OPS_CPU_H

#include "nn/ops.h"

/* Columns of a weight gradient summed at a time: they fit L2. */
enum { OG__STRIP = 256 };

struct og_nn_backend {
    struct og_memory memory;
    struct og_pool *pool;
    struct og_products *products; /* oneDNN primitives */
    bool bf16;                    /* their operands are bfloat16 */
    /* set by the caller */
    char *scratch;
    size_t scratch_stride; /* bytes a thread */
    float *partial;
};

int og__cpu_open(struct og_nn_backend **out, int number, struct og_pool *pool, struct og_budget *b,
                 struct og_err *err);
void og__cpu_close(struct og_nn_backend *be);
size_t og__cpu_own_bytes(int threads);
int og__cpu_check_compute(int compute, struct og_err *err);
void og__cpu_set_compute(struct og_nn_backend *be, int compute);
const char *og__cpu_compute_remark(int compute);
struct og_memory og__cpu_memory(const struct og_nn_backend *be);
int og__cpu_fetch(struct og_nn_backend *be, void *host, const void *on_backend, size_t bytes,
                  struct og_err *err);
int og__cpu_push(struct og_nn_backend *be, void *on_backend, const void *host, size_t bytes,
                 struct og_err *err);
int og__cpu_clear(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err);
int og__cpu_number(struct og_nn_backend *be, uint32_t *on_backend, uint32_t n, struct og_err *err);
size_t og__cpu_room_bytes(size_t bytes);
void og__cpu_set_scratch(struct og_nn_backend *be, char *scratch, size_t scratch_bytes,
                         float *partial);
size_t og__cpu_scratch_bytes(const struct og_most *of, int threads);
size_t og__cpu_column_bytes(uint64_t rows, size_t columns);
size_t og__cpu_packed_bytes(int n_out, int n_in);

/* A thread's part of the workspace: two tiles of 64 rows, and one row, of the widest matrix. Tiles
 * of bfloat16 take half of theirs. */
struct og__scratch {
    float *in, *out, *row;
};
struct og__scratch og__scratch_of(const struct og_nn_backend *be, int thread);

/* ---- tiles (tiles.c) ----
 *
 * The tile and its row length of columns [first, first + width), for `height` rows from r0. Rows
 * from n on do not exist and are zero. It is in `scratch` unless products can read the rows. */
const void *og__tile_of(const struct og_nn_backend *be, const struct og_rows *x, uint32_t r0,
                        uint32_t n, uint32_t height, int first, int width, float *scratch,
                        float *row, int *ld);
/* n rows of an input, or of what it aggregates; see og_input. */
const void *og__input_tile(const struct og_nn_backend *be, const struct og_input *in, uint32_t r0,
                           uint32_t n, const struct og__scratch *s);

static inline uint32_t og__rows_in_block(uint32_t rows, size_t block)
{
    return OG_MIN(rows - (uint32_t)block * OG__BLOCK_ROWS, (uint32_t)OG__BLOCK_ROWS);
}

/* ---- sums of columns over rows ----
 *
 * Rows are split into parts, fixed runs of blocks. Each part is summed in the order of its rows in
 * its own memory; parts are added in order. */
struct og__part {
    uint32_t first, last; /* rows [first, last) */
    float *sum;           /* [columns], zeros at first */
};
size_t og__n_parts(uint64_t rows);
struct og__part og__part_of(const struct og_nn_backend *be, uint32_t rows, size_t columns,
                            size_t part);
/* out[n] = the sums of columns [first, first + n). */
void og__add_parts(const struct og_nn_backend *be, uint32_t rows, size_t columns, size_t first,
                   size_t n, float *out);

/* ---- sparse rows (by_column.c) ---- */

void og__pack_by_column(const struct og_nn_backend *be, const struct og_weight *w);
/* y[n, cols] += rows [r0, r0 + n) of an input whose weight is by_column. */
void og__multiply_by_column(const struct og_input *in, uint32_t r0, uint32_t n,
                            const struct og__scratch *s, float *y, size_t cols);
/* og_weight_grad's grad[k] of sparse rows. */
void og__gradient_by_column(const struct og_nn_backend *be, const struct og_weight_grad *op, int k);

/* ---- operators that never fail ---- */

#define OG__CPU_OP(name, operands) \
    void og__cpu_##name(struct og_nn_backend *be, const struct operands *op);
OG__PLAIN_OPS(OG__CPU_OP)
OG__EDGE_OPS(OG__CPU_OP)
OG__ENTRY_OPS(OG__CPU_OP)

/* The sum of weights over labels or values that are known. */
double og__weight_of_known(const struct og_loss *op);

#endif
