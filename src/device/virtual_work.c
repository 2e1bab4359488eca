/* Products and sorts of virtual devices, in place of a vendor's libraries. They are simple, with
 * sums in a fixed order. */
#include "device/virtual.h"

#include "base/base.h"
#include "base/choices.h"

#include <stdlib.h>
#include <string.h>

/* ==== products ==== */

OG_CLONES static void add_scaled(float *restrict c, float a, const float *restrict b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        c[j] += a * b[j];
}

/* Rounds to nearest, ties to even, to a mantissa without its last bits. NaN stays NaN, and a number
 * beyond the largest becomes infinity. */
static void round_off(float *x, size_t n, unsigned bits)
{
    const uint32_t half = 1u << (bits - 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t b;
        memcpy(&b, &x[i], sizeof(b));
        b = (b & 0x7fffffff) > 0x7f800000 ? b : (b + half - 1 + (b >> bits & 1)) & ~(2 * half - 1);
        memcpy(&x[i], &b, sizeof(b));
    }
}

/* A matrix without gaps between rows, rounded. */
static float *rounded(const float *x, size_t rows, size_t cols, size_t ld, int compute)
{
    float *y = malloc(OG_MAX(rows * cols, (size_t)1) * sizeof(*y));
    for (size_t i = 0; y && i < rows; i++)
        memcpy(y + i * cols, x + i * ld, cols * sizeof(*y));
    if (y)
        round_off(y, rows * cols, compute == OG_COMPUTE_BF16 ? 16 : 13);
    return y;
}

/* Over k in turn. */
static void multiply_row(const struct og_product_of *p, uint32_t i, const float *b, size_t ldb)
{
    float *c = p->c + i * p->ldc;
    for (size_t j = 0; j < p->n; j++)
        c[j] = (p->add ? c[j] : 0) + (p->bias ? p->bias[j] : 0);
    for (uint32_t k = 0; k < p->k; k++)
        add_scaled(c, p->a_transposed ? p->a[k * p->lda + i] : p->a[i * p->lda + k], b + k * ldb,
                   p->n);
}

/* b^T: rows are walked faster than columns. */
static float *turned(const struct og_product_of *p)
{
    float *b = malloc((size_t)OG_MAX(p->k, 1u) * OG_MAX(p->n, 1u) * sizeof(*b));
    for (size_t j = 0; b && j < p->n; j++)
        for (size_t k = 0; k < p->k; k++)
            b[k * p->n + j] = p->b[j * p->ldb + k];
    return b;
}

static int multiply(const struct og_product_of *p, struct og_err *err)
{
    float *b = p->b_transposed ? turned(p) : NULL;
    if (p->b_transposed && !b)
        return og__fail_errno(err, -ENOMEM, NULL, "a product");
    for (uint32_t i = 0; i < p->m; i++)
        multiply_row(p, i, b ? b : p->b, b ? p->n : p->ldb);
    free(b);
    return 0;
}

int og__virtual_multiply(const struct og_product_of *p, struct og_err *err)
{
    struct og_product_of q = *p;
    if (p->compute == OG_COMPUTE_F32)
        return multiply(p, err);
    q.lda = p->a_transposed ? p->m : p->k;
    q.ldb = p->b_transposed ? p->k : p->n;
    float *a = rounded(p->a, p->a_transposed ? p->k : p->m, q.lda, p->lda, p->compute);
    float *b = rounded(p->b, p->b_transposed ? p->n : p->k, q.ldb, p->ldb, p->compute);
    q.a = a;
    q.b = b;
    int rc = a && b ? multiply(&q, err) : og__fail_errno(err, -ENOMEM, NULL, "a product");
    free(a);
    free(b);
    return rc;
}

/* ==== sorts ==== */

/* Two counting sorts by halves of the keys, from the lower. */
static void sort_by_half(size_t n, const uint32_t *key, const uint32_t *value, uint32_t *sorted,
                         uint32_t *moved, unsigned shift, uint32_t *start)
{
    memset(start, 0, 65536 * sizeof(*start));
    for (size_t i = 0; i < n; i++)
        start[key[i] >> shift & 0xffff]++;
    og__counts_to_starts(start, 65536);
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = start[key[i] >> shift & 0xffff]++;
        sorted[at] = key[i];
        moved[at] = value[i];
    }
}

/* room: | starts of 2^16 | keys | values |, as og__device_virtual.sort_bytes has it. */
void og__virtual_sort(const struct og_sort *op)
{
    uint32_t *start = op->room, *key = start + 65536, *value = key + op->n;
    if (op->bound <= 65536) {
        sort_by_half(op->n, op->key, op->value, op->sorted, op->moved, 0, start);
        return;
    }
    sort_by_half(op->n, op->key, op->value, key, value, 0, start);
    sort_by_half(op->n, key, value, op->sorted, op->moved, 16, start);
}
