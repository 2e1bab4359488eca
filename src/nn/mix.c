/* Linear combinations of matrices on the CPU. Elements are processed in chunks, which stay in cache
 * for all results. Sums of a chunk's products are added in the order of chunks. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/vector.h"

#include <string.h>

enum { CHUNK = 1024 };

size_t og__mix_parts(size_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

static size_t chunk_of(size_t n, size_t chunk)
{
    return OG_MIN(n - chunk * CHUNK, (size_t)CHUNK);
}

/* ==== forward ==== */

static void mix_chunk(void *arg, size_t chunk, int thread)
{
    (void)thread;
    const struct og_mix *op = arg;
    const size_t first = chunk * CHUNK;
    const size_t n = chunk_of(op->n, chunk);
    for (uint32_t k = 0; k < op->n_made; k++) {
        const float *weight = op->weight + (size_t)op->row[k] * op->n_base;
        float *made = op->made + k * op->n + first;
        memset(made, 0, n * sizeof(*made));
        for (uint32_t b = 0; b < op->n_base; b++)
            og__add_scaled(made, weight[b], op->base + b * op->n + first, n);
    }
}

void og__cpu_mix(struct og_nn_backend *be, const struct og_mix *op)
{
    og__pool_run(be->pool, og__mix_parts(op->n), mix_chunk, (void *)op);
}

/* ==== backward ==== */

OG_CLONES static float dot(const float *a, const float *b, size_t n)
{
    return og__dot_product(a, b, n);
}

static void mix_back_chunk(void *arg, size_t chunk, int thread)
{
    (void)thread;
    const struct og_mix_back *op = arg;
    const struct og_mix *f = op->forward;
    const size_t first = chunk * CHUNK;
    const size_t n = chunk_of(f->n, chunk);
    float *partial = op->partial + chunk * f->n_made * f->n_base;
    for (uint32_t b = 0; b < f->n_base; b++)
        for (uint32_t k = 0; k < f->n_made; k++) {
            const float *dmade = op->dmade + k * f->n + first;
            const float weight = f->weight[(size_t)f->row[k] * f->n_base + b];
            og__add_scaled(op->dbase + b * f->n + first, weight, dmade, n);
            partial[k * f->n_base + b] = dot(f->base + b * f->n + first, dmade, n);
        }
}

void og__cpu_mix_back(struct og_nn_backend *be, const struct og_mix_back *op)
{
    const struct og_mix *f = op->forward;
    const size_t parts = og__mix_parts(f->n);
    og__pool_run(be->pool, parts, mix_back_chunk, (void *)op);
    for (uint32_t k = 0; k < f->n_made; k++) {
        float *dweight = op->dweight + (size_t)f->row[k] * f->n_base;
        memset(dweight, 0, f->n_base * sizeof(*dweight));
        for (size_t p = 0; p < parts; p++)
            og__add(dweight, op->partial + (p * f->n_made + k) * f->n_base, f->n_base);
    }
}
