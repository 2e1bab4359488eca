/* Operators of links and of regression on the CPU. Pairs and rows are processed block by block. A
 * row's gradient is summed in the order of its pairs, a loss in the order of its terms. */
#include "nn/kernels.h"
#include "nn/loss_terms.h"
#include "nn/ops_cpu.h"
#include "nn/tasks.h"
#include "nn/vector.h"

#include <math.h>
#include <string.h>

/* ==== forward ==== */

/* The vector of a pair's kind. */
static const float *vector_of(const struct og_pair_op *op, uint32_t p)
{
    return op->by ? op->by + (op->kind ? op->kind[p] : 0) * (size_t)op->dim : NULL;
}

static void dot_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_pair_op *op = arg;
    const struct og_scoring *scoring = og__scoring(op->decoder);
    size_t dim = (size_t)op->dim;
    uint32_t p = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = p + og__rows_in_block(op->n, block);
    for (; p < end; p++) {
        const float *a = op->h + op->a[p] * dim, *b = op->h + op->b[p] * dim;
        op->out[p] = scoring->score(a, b, vector_of(op, p), dim);
    }
}

void og__cpu_pair_dot(struct og_nn_backend *be, const struct og_pair_op *op)
{
    og__pool_run(be->pool, og__n_blocks(op->n), dot_block, (void *)op);
}

OG_CLONES static void multiply(float *restrict y, const float *restrict a, const float *restrict b,
                               size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = a[j] * b[j];
}

static void product_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_pair_op *op = arg;
    size_t dim = (size_t)op->dim;
    uint32_t p = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = p + og__rows_in_block(op->n, block);
    for (; p < end; p++) {
        const float *a = op->h + op->a[p] * dim, *b = op->h + op->b[p] * dim;
        if (op->joins) {
            const size_t own = (size_t)op->own_dim;
            float *out = op->out + p * (2 * dim + own);
            memcpy(out, a, dim * sizeof(*a));
            memcpy(out + dim, b, dim * sizeof(*b));
            if (own > 0)
                memcpy(out + 2 * dim, op->own + p * own, own * sizeof(*out));
        } else {
            multiply(op->out + p * dim, a, b, dim);
        }
    }
}

void og__cpu_pair_product(struct og_nn_backend *be, const struct og_pair_op *op)
{
    og__pool_run(be->pool, og__n_blocks(op->n), product_block, (void *)op);
}

/* ==== backward ==== */

static void back_row(const struct og_pair_back *op, uint32_t r)
{
    const struct og_pair_op *f = op->forward;
    const struct og_scoring *scoring = og__scoring(f->decoder);
    size_t dim = (size_t)f->dim;
    float *dh = op->dh + r * dim;
    memset(dh, 0, dim * sizeof(*dh));
    for (uint32_t i = op->first[r]; i < op->first[r + 1]; i++) {
        const uint32_t p = op->pair[i] >> 1, second = op->pair[i] & 1;
        const float *a = f->h + f->a[p] * dim, *b = f->h + f->b[p] * dim;
        if (f->joins) /* entry 2 p or 2 p + 1 */
            og__add_scaled(dh, 1, op->g + op->pair[i] * dim + p * (size_t)f->own_dim, dim);
        else if (op->wide)
            og__add_product(dh, op->g + p * dim, second ? a : b, dim);
        else
            scoring->slope(dh, op->g[p], second ? OG__OTHER_ROW : OG__SOURCE_ROW, a, b,
                           vector_of(f, p), dim);
    }
    if (!f->joins && !op->wide && scoring->finish)
        scoring->finish(dh, f->h + r * dim, dim);
}

static void back_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_pair_back *op = arg;
    uint32_t r = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t end = r + og__rows_in_block(op->n_rows, block);
    for (; r < end; r++)
        back_row(op, r);
}

void og__cpu_pair_back(struct og_nn_backend *be, const struct og_pair_back *op)
{
    og__pool_run(be->pool, og__n_blocks(op->n_rows), back_block, (void *)op);
}

static void kind_back(void *arg, size_t k, int thread)
{
    (void)thread;
    const struct og_pair_kinds *op = arg;
    const struct og_pair_op *f = op->forward;
    const size_t dim = (size_t)f->dim;
    float *dby = op->dby + k * dim;
    memset(dby, 0, dim * sizeof(*dby));
    const uint32_t first = op->first ? op->first[k] : 0, end = op->first ? op->first[k + 1] : f->n;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t p = op->first ? op->pair[i] : i;
        og__scoring(f->decoder)
            ->slope(dby, op->g[p], OG__RELATION_ROW, f->h + f->a[p] * dim, f->h + f->b[p] * dim,
                    vector_of(f, p), dim);
    }
}

void og__cpu_pair_kinds(struct og_nn_backend *be, const struct og_pair_kinds *op)
{
    og__pool_run(be->pool, op->n_kinds, kind_back, (void *)op);
}

/* ==== losses ==== */

void og__cpu_link_loss(struct og_nn_backend *be, const struct og_link_loss *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    uint32_t n_negatives = op->n_edges * op->each;
    double mean = og__loss(op->loss)->pairs(op, n_negatives);
    *out = (struct og_metrics){.loss_sum = mean * op->n_edges,
                               .weight = op->n_edges,
                               .counted = op->n_edges,
                               .compared = n_negatives};
    for (uint32_t k = 0; k < n_negatives; k++) {
        float edge = op->score[k / op->each], other = op->score[op->n_edges + k];
        out->twice_ordered += edge > other ? 2 : edge == other;
    }
}

/* ==== ranks ==== */

/* turn: over all edges and then, if both ends are ranked, over all again by their sources. */
static double rank_edge(const struct og_pairs *p, const float *scores, uint32_t turn)
{
    const uint32_t i = turn % p->n_edges;
    const uint32_t *replaced = turn < p->n_edges ? p->b : p->a;
    uint32_t first = p->n_edges + p->n_negatives + turn * p->n_rank_negatives;
    uint32_t above = 0, equal = 0;
    bool compares = !isnan(scores[i]);
    for (uint32_t r = first; r < first + p->n_rank_negatives; r++) {
        bool own = !p->ranks_given && (replaced[r] == p->a[i] || replaced[r] == p->b[i]);
        above += !own && scores[r] > scores[i];
        equal += !own && scores[r] == scores[i];
        compares &= own || !isnan(scores[r]);
    }
    return compares ? 1 + above + 0.5 * equal : (double)NAN;
}

void og__cpu_rank(struct og_nn_backend *be, const struct og_rank *op)
{
    (void)be;
    struct og_metrics *out = op->out;
    const uint32_t turns = op->pairs->n_edges * (op->pairs->both_ends ? 2 : 1);
    for (uint32_t i = 0; i < turns; i++) {
        double rank = rank_edge(op->pairs, op->score, i);
        out->ranked++;
        out->reciprocal_ranks += 1 / rank;
        for (int k = 0; k < OG__HITS; k++)
            out->hits[k] += rank <= og__hits_at[k];
    }
}

/* ==== regression ==== */

double og__weight_of_known(const struct og_loss *l)
{
    const size_t cols = (size_t)l->cols;
    double weight = 0;
    for (size_t i = 0; i < l->rows * cols; i++)
        if (!isnan(((const float *)l->labels)[i]))
            weight += (double)og_weight_of(l->row_weight, i / cols);
    return weight;
}

void og__cpu_value_loss(struct og_nn_backend *be, const struct og_loss *l)
{
    (void)be;
    const double weight = og__weight_of_known(l);
    *l->out = (struct og_metrics){0};
    for (uint32_t r = 0; r < l->rows; r++)
        og_value_row(l, r, weight, l->out);
}
