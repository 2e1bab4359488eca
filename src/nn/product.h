/* Matrix products through oneDNN: one single-threaded call a block of rows.
 *
 * oneDNN would share a product among its own OpenMP threads, with sums whose order follows their
 * number. Here it is told to use one; our pool runs many blocks side by side. A primitive is made
 * once per shape of a block and kept. On two Zen 4 cores blocks of 64 rows run at 0.86 to 1.0 of
 * what one large call reaches (`outgrow bench gemm`). */
#ifndef OG_NN_PRODUCT_H
#define OG_NN_PRODUCT_H

#include "base/memory.h"
#include "base/thread.h"

/* c[m, n] = a b + bias? + c?; a is [m, k], or [k, m] when a_transposed. oneDNN's ReLU would make 0
 * of NaN, so that a model that diverged looks like one that did not. */
struct og_product_shape {
    int m, n, k;
    int lda, ldb, ldc; /* elements between rows; ldb 0: b is packed */
    bool a_transposed, accumulate, bias;
};

struct og_products;
struct og_product;

/* For up to n_threads callers at a time. */
OG_MUST_CHECK int og__products_open(struct og_products **out, int n_threads, struct og_budget *b,
                                    struct og_err *err);
void og__products_close(struct og_products *ps);

/* The product of that shape, made at the first request. Not while another runs. */
OG_MUST_CHECK int og__product_get(struct og_products *ps, const struct og_product_shape *shape,
                                  struct og_product **out, struct og_err *err);

/* thread < n_threads, each by one caller at a time; between og__products_enter and _leave. */
void og__product_run(struct og_product *p, int thread, const float *a, const float *b, float *c,
                     const float *bias);

/* oneDNN's number of threads is a setting of the calling thread; enter returns what it was. */
int og__products_enter(void);
void og__products_leave(int before);

/* Lay b[k, n], whose element (i, j) is at b[i * row + j * column], out as packed operand. */
OG_MUST_CHECK int og__product_pack(struct og_products *ps, const float *b, int k, int n,
                                   int64_t row, int64_t column, void *packed, struct og_err *err);
size_t og__product_packed_bytes(int k, int n); /* an upper bound */

/* Bytes of oneDNN's own scratch a thread: an upper bound for widths up to a few thousand. */
enum { OG__PRODUCT_SCRATCH = 128 * 1024 };

#endif
