/* What tests of operators work on: random numbers, a backend with its workspace, random blocks. */
#ifndef OG_NN_OPS_TEST_H
#define OG_NN_OPS_TEST_H

#include "support/testing.h"

#include "base/random.h"
#include "nn/kernels.h"
#include "nn/sparse.h"
#include "oracles/ops_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct og_rng rng;

static inline float draw(void)
{
    return 2 * og__rng_unit(&rng) - 1;
}

static inline float *random_floats(size_t n)
{
    float *x = aligned_alloc(64, og__round_up(n * sizeof(float) + 64, 64));
    for (size_t i = 0; i < n; i++)
        x[i] = draw();
    return x;
}

static inline float *copy_floats(const float *x, size_t n)
{
    float *y = aligned_alloc(64, og__round_up(n * sizeof(float) + 64, 64));
    memcpy(y, x, n * sizeof(float));
    return y;
}

static inline void assert_close(const char *what, const float *got, const float *want, size_t n,
                                double tolerance)
{
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * largest))
            fail_msg("%s[%zu]: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

/* ==== what the operators work on ==== */

struct bench {
    struct og_pool *pool;
    struct og_nn_backend *be;
    char *scratch;
    float *partial;
};

static inline void bench_open(struct bench *b, int threads, int width)
{
    assert_int_equal(og__pool_open(&b->pool, threads, NULL), 0);
    assert_int_equal(og__ops_cpu.open(&b->be, 0, b->pool, NULL, NULL), 0);
    const struct og_most most = {.width = width};
    size_t bytes = og__ops_cpu.scratch_bytes(&most, threads);
    b->scratch = aligned_alloc(64, og__round_up(bytes, 64));
    b->partial = aligned_alloc(64, 8 * OG_MIB);
    og__ops_cpu.set_scratch(b->be, b->scratch, bytes, b->partial);
}

static inline void bench_close(struct bench *b)
{
    og__ops_cpu.close(b->be);
    og__pool_close(b->pool);
    free(b->scratch);
    free(b->partial);
}

/* Without threads or room: for operators that need neither. */
static inline struct og_nn_backend *backend_alone(void)
{
    struct og_nn_backend *be;
    assert_int_equal(og__ops_cpu.open(&be, 0, NULL, NULL, NULL), 0);
    return be;
}

static inline struct og_block random_block(uint32_t n_dst, uint32_t n_src, uint32_t degree)
{
    struct og_block b = {.n_dst = n_dst, .n_src = n_src};
    b.indptr = calloc(n_dst + 1, sizeof(*b.indptr));
    b.src = calloc((size_t)n_dst * degree + 1, sizeof(*b.src));
    for (uint32_t v = 0; v < n_dst; v++) {
        uint32_t n = og__rng_below(&rng, degree + 1);
        for (uint32_t i = 0; i < n; i++) /* some edges are loops */
            b.src[b.n_edges++] = i == 3 ? v % n_src : og__rng_below(&rng, n_src);
        b.indptr[v + 1] = (uint32_t)b.n_edges;
    }
    return b;
}

static inline void transpose(const struct og_block *b, uint32_t *indptr, uint32_t *col,
                             uint32_t *edge)
{
    const struct og_transpose op = {b, indptr, col, edge};
    assert_int_equal(og__ops_cpu.transpose(NULL, &op, NULL), 0);
}

static inline void scale_block(const struct og_block *b, enum og__aggregate kind, float *scale)
{
    const struct og_scale op = {b, kind, scale};
    assert_int_equal(og__ops_cpu.scale(NULL, &op, NULL), 0);
}

static inline void free_block(struct og_block *b)
{
    free(b->indptr);
    free(b->src);
}

static inline void start(void)
{
    og__rng_at(&rng, 5, OG__STREAM_BENCH, 0, 0, 0, 0);
}

/* sum of c * y: its gradient with respect to y is c. */
static inline double weighted_sum(const float *c, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)c[i] * (double)y[i];
    return sum;
}

#endif
