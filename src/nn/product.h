/* Matrix products by oneDNN: one single-threaded call per block of rows.
 *
 * oneDNN would parallelize with its own OpenMP threads, and the order of sums would depend on their
 * number. So it runs with one thread, and our pool runs blocks in parallel. Primitives are created
 * once per shape of a block. On two Zen 4 cores blocks of 64 rows reach 0.86 to 1.0 of one large
 * call (`outgrow bench gemm`). */
#ifndef OG_NN_PRODUCT_H
#define OG_NN_PRODUCT_H

#include "base/memory.h"
#include "base/thread.h"

/* c[m, n] = a b + bias? + c?; a is [m, k], or [k, m] with a_transposed. ReLU is not fused: oneDNN's
 * turns NaN into 0, which would hide divergence. */
struct og_product_shape {
    int m, n, k;
    int lda, ldb, ldc; /* elements between rows; ldb 0: b is packed */
    bool a_transposed, accumulate, bias;
    bool bf16; /* a and b are bfloat16; c and bias are f32 */
};

struct og_products;
struct og_product;

/* For up to n_threads concurrent callers. */
OG_MUST_CHECK int og__products_open(struct og_products **out, int n_threads, struct og_budget *b,
                                    struct og_err *err);
void og__products_close(struct og_products *ps);

/* Get the product of a shape; created on first request. Not thread-safe with running products. */
OG_MUST_CHECK int og__product_get(struct og_products *ps, const struct og_product_shape *shape,
                                  struct og_product **out, struct og_err *err);

/* Whether every run would copy a transposed first operand. Then its caller may transpose it once
 * for several products, whose sums stay the same. */
bool og__product_copies(const struct og_product *p);

/* Whether the CPU has instructions for products of bfloat16, and oneDNN uses them. */
bool og__products_take_bf16(void);
bool og__products_have_amx(void); /* whether these are AMX's */

/* Run a product. thread < n_threads, one caller each at a time; between og__products_enter and
 * _leave. */
void og__product_run(struct og_product *p, int thread, const void *a, const void *b, float *c,
                     const float *bias);

/* Set oneDNN's number of threads for the calling thread. enter returns the former number, for
 * leave. */
int og__products_enter(void);
void og__products_leave(int before);

/* Pack b[k, n], whose element (i, j) is at b[i * row + j * column]. With bf16 they are rounded to
 * nearest, ties to even. */
OG_MUST_CHECK int og__product_pack(struct og_products *ps, const float *b, int k, int n,
                                   int64_t row, int64_t column, bool bf16, void *packed,
                                   struct og_err *err);
size_t og__product_packed_bytes(int k, int n); /* an upper bound */

/* Upper bound of oneDNN's scratch per thread, for widths up to a few thousand. */
enum { OG__PRODUCT_SCRATCH = 128 * 1024 };

#endif
