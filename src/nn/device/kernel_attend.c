/* Attention (nn/ops.h), folding, and maximum pooling. */
#include "nn/device/common.h"

/* ==== scores by ends ==== */

/* One warp per row and head. */
OG_KERNEL(og__k_scores, og_k_scores)
{
    const uint32_t r = og_warp() / op->heads, h = og_warp() % op->heads;
    const bool there = r < op->n;
    const uint32_t first = op->shared ? 0 : h * op->width;
    float sum = 0;
    if (there) {
        const char *z = og_row_of(&op->z, r);
        for (uint32_t j = og_lane(); j < op->width; j += OG_LANES)
            sum += og_element(&op->z, z, first + j) * op->att[h * op->width + j];
    }
    sum = og_warp_sum(sum);
    if (there && og_lane() == 0)
        op->score[og_warp()] = sum;
}

/* ==== softmax ==== */

/* First coefficient of destination v: its edges', then its loop's. */
OG_ON_DEVICE size_t first_of(const struct og_k_attend *a, uint32_t v)
{
    return ((size_t)a->block.indptr[v] + v) * (size_t)a->op.heads;
}

OG_ON_DEVICE uint32_t n_of(const struct og_k_attend *a, uint32_t v)
{
    return a->block.indptr[v + 1] - a->block.indptr[v] + !a->op.apart;
}

OG_ON_DEVICE bool is_loop(const struct og_k_attend *a, uint32_t v, uint32_t i)
{
    return i == a->block.indptr[v + 1] - a->block.indptr[v];
}

/* The source of its i-th coefficient; itself twice for an edge that the loop replaces. */
OG_ON_DEVICE uint32_t source_of(const struct og_k_attend *a, uint32_t v, uint32_t i)
{
    return is_loop(a, v, i) ? v : a->block.src[a->block.indptr[v] + i];
}

OG_ON_DEVICE bool counts(const struct og_k_attend *a, uint32_t v, uint32_t i)
{
    return is_loop(a, v, i) || source_of(a, v, i) != v || a->op.apart;
}

/* Whether source u is also a destination. */
OG_ON_DEVICE bool is_both(const struct og_k_attend *a, uint32_t u)
{
    return u < a->block.n_dst && !a->op.apart;
}

/* Pieces of long lists have their own row numbers for dropout (og__dropout_attention). */
OG_ON_DEVICE float drop_coefficient(const struct og_k_attend *a, uint32_t v, uint32_t i, uint32_t h,
                                    float x)
{
    enum { PIECE = 4096 };
    const uint32_t heads = (uint32_t)a->op.heads, start = i / PIECE * PIECE;
    return og_drop(&a->dropout, a->block.indptr[v] + v + start, (i - start) * heads + h, x);
}

/* x, the i-th coefficient of v, after dropout and edge weights; loops have weight 1. */
OG_ON_DEVICE float thin(const struct og_k_attend *a, uint32_t v, uint32_t i, uint32_t h, float x)
{
    const float left = a->drops ? drop_coefficient(a, v, i, h, x) : x;
    const bool weighs = a->block.weight && !is_loop(a, v, i);
    return weighs ? left * a->block.weight[a->block.indptr[v] + i] : left;
}

/* Softmax of p, the scores of head h of v, with maximum `top`; then dropout and weights. */
OG_ON_DEVICE void normalize(const struct og_k_attend *op, uint32_t v, uint32_t h, float top)
{
    const uint32_t heads = (uint32_t)op->op.heads, n = n_of(op, v);
    float *p = op->op.alpha + first_of(op, v) + h;
    float sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        p[(size_t)i * heads] = expf(p[(size_t)i * heads] - top);
        sum += p[(size_t)i * heads];
    }
    for (uint32_t i = 0; i < n; i++) {
        p[(size_t)i * heads] *= 1 / sum;
        if (op->thins)
            op->op.dropped[first_of(op, v) + (size_t)i * heads + h] =
                thin(op, v, i, h, p[(size_t)i * heads]);
    }
}

/* One thread per destination and head. */
OG_KERNEL(og__k_coefficients, og_k_attend)
{
    const uint32_t heads = (uint32_t)op->op.heads, v = og_item() / heads, h = og_item() % heads;
    if (v >= op->block.n_dst)
        return;
    float *p = op->op.alpha + first_of(op, v) + h;
    const float to = op->op.score_dst[v * heads + h];
    const uint32_t n = n_of(op, v);
    float top = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        const float score = op->op.score_src[source_of(op, v, i) * heads + h] + to;
        const float leaky = score > 0 ? score : OG__LEAK * score;
        p[(size_t)i * heads] = counts(op, v, i) ? leaky : -INFINITY;
        top = p[(size_t)i * heads] > top ? p[(size_t)i * heads] : top;
    }
    normalize(op, v, h, top);
}

/* ==== scores by sums ==== */

/* Element j of all heads of z[u] + z_dst[v]. */
OG_ON_DEVICE float sum_at(const struct og_k_attend *a, uint32_t v, uint32_t u, uint32_t j)
{
    return og_element(&a->op.z, og_row_of(&a->op.z, u), j) +
           a->op.z_dst[(size_t)v * (uint32_t)a->op.z.dim + j];
}

OG_ON_DEVICE float leaky(float x)
{
    return x > 0 ? x : OG__LEAK * x;
}

/* One warp per destination. */
OG_KERNEL(og__k_sum_scores, og_k_attend)
{
    const uint32_t v = og_warp(), heads = (uint32_t)op->op.heads, width = (uint32_t)op->op.width;
    if (v >= op->block.n_dst)
        return; /* all lanes of the warp */
    for (uint32_t i = 0; i < n_of(op, v); i++)
        for (uint32_t h = 0; h < heads; h++) {
            float score = 0;
            for (uint32_t j = h * width + og_lane(); j < (h + 1) * width; j += OG_LANES)
                score += op->op.att_src[j] * leaky(sum_at(op, v, source_of(op, v, i), j));
            score = og_warp_sum(score);
            if (og_lane() == 0)
                op->op.alpha[first_of(op, v) + (size_t)i * heads + h] =
                    counts(op, v, i) ? score : -INFINITY;
        }
}

/* One thread per destination and head. */
OG_KERNEL(og__k_sum_coefficients, og_k_attend)
{
    const uint32_t heads = (uint32_t)op->op.heads, v = og_item() / heads, h = og_item() % heads;
    if (v >= op->block.n_dst)
        return;
    const float *p = op->op.alpha + first_of(op, v) + h;
    float top = -INFINITY;
    for (uint32_t i = 0; i < n_of(op, v); i++)
        top = p[(size_t)i * heads] > top ? p[(size_t)i * heads] : top;
    normalize(op, v, h, top);
}

/* ==== weighted sums of rows ==== */

/* Column c of head h of v's weighted sum. */
OG_ON_DEVICE float attended(const struct og_k_attend *a, uint32_t v, uint32_t h, uint32_t c)
{
    const uint32_t heads = (uint32_t)a->op.heads;
    const float *p = (a->thins ? a->op.dropped : a->op.alpha) + first_of(a, v) + h;
    const uint32_t column = a->op.shared ? c : h * (uint32_t)a->op.width + c;
    float sum = 0;
    for (uint32_t i = 0; i < n_of(a, v); i++)
        if (counts(a, v, i))
            sum += p[(size_t)i * heads] *
                   og_element(&a->op.z, og_row_of(&a->op.z, source_of(a, v, i)), column);
    return sum;
}

/* One warp per destination. */
OG_KERNEL(og__k_attend, og_k_attend)
{
    const uint32_t v = og_warp(), heads = (uint32_t)op->op.heads, width = (uint32_t)op->op.width;
    const uint32_t cols = op->op.average ? width : heads * width;
    if (v >= op->block.n_dst)
        return;
    float *y = op->op.y + (size_t)v * cols;
    for (uint32_t j = og_lane(); j < cols; j += OG_LANES) {
        float sum = (op->op.add ? y[j] : 0) + (op->op.bias ? op->op.bias[j] : 0);
        for (uint32_t h = 0; op->op.average && h < heads; h++)
            sum += attended(op, v, h, j) / (float)heads;
        y[j] = op->op.average ? sum : sum + attended(op, v, j / width, j % width);
    }
}

/* ==== backward pass by destination ==== */

/* One warp per destination: gradients of its coefficients, through dropout and weights. */
OG_KERNEL(og__k_attend_slopes, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t v = og_warp(), heads = (uint32_t)a->op.heads, width = (uint32_t)a->op.width;
    if (v >= a->block.n_dst)
        return; /* all lanes of the warp */
    const float *dy = op->dy + (size_t)v * (a->op.average ? width : heads * width);
    const float share = a->op.average ? 1.0f / (float)heads : 1;
    for (uint32_t i = 0; i < n_of(a, v); i++) {
        const char *z = og_row_of(&a->op.z, source_of(a, v, i));
        for (uint32_t h = 0; h < heads; h++) {
            const uint32_t from_z = a->op.shared ? 0 : h * width;
            const uint32_t from_dy = a->op.average ? 0 : h * width;
            float sum = 0;
            for (uint32_t j = og_lane(); j < width; j += OG_LANES)
                sum += og_element(&a->op.z, z, from_z + j) * share * dy[from_dy + j];
            sum = og_warp_sum(sum);
            if (og_lane() > 0)
                continue;
            sum = counts(a, v, i) ? sum : 0;
            op->dscore[first_of(a, v) + (size_t)i * heads + h] = thin(a, v, i, h, sum);
        }
    }
}

/* The sum of alpha times its gradient, over the coefficients of head h of v. */
OG_ON_DEVICE float mean_slope(const struct og_k_attend_back *op, uint32_t v, uint32_t h)
{
    const struct og_k_attend *a = &op->forward;
    const float *d = op->dscore + first_of(a, v) + h, *p = a->op.alpha + first_of(a, v) + h;
    const uint32_t heads = (uint32_t)a->op.heads;
    float mean = 0;
    for (uint32_t i = 0; i < n_of(a, v); i++)
        mean += p[(size_t)i * heads] * d[(size_t)i * heads];
    return mean;
}

/* One thread per destination and head: gradients of its scores before the leaky ReLU. Their sum
 * replaces the destination's score, alpha after dropout and weights replaces alpha. */
OG_KERNEL(og__k_score_slopes, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t heads = (uint32_t)a->op.heads, v = og_item() / heads, h = og_item() % heads;
    if (v >= a->block.n_dst)
        return;
    float *d = op->dscore + first_of(a, v) + h, *p = a->op.alpha + first_of(a, v) + h;
    const float to = a->op.score_dst[v * heads + h];
    const float mean = mean_slope(op, v, h);
    float sum = 0;
    for (uint32_t i = 0; i < n_of(a, v); i++) {
        const float score = a->op.score_src[source_of(a, v, i) * heads + h] + to;
        const float leak = score > 0 ? 1 : OG__LEAK, alpha = p[(size_t)i * heads];
        const float slope = leak * alpha * (d[(size_t)i * heads] - mean);
        d[(size_t)i * heads] = slope;
        sum += slope;
        if (a->thins)
            p[(size_t)i * heads] = thin(a, v, i, h, alpha);
    }
    a->op.score_dst[v * heads + h] = sum;
}

/* The same by sums, with the leaky ReLU before the score. */
OG_KERNEL(og__k_sum_slopes, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t heads = (uint32_t)a->op.heads, v = og_item() / heads, h = og_item() % heads;
    if (v >= a->block.n_dst)
        return;
    float *d = op->dscore + first_of(a, v) + h, *p = a->op.alpha + first_of(a, v) + h;
    const float mean = mean_slope(op, v, h);
    for (uint32_t i = 0; i < n_of(a, v); i++) {
        const float alpha = p[(size_t)i * heads];
        d[(size_t)i * heads] = alpha * (d[(size_t)i * heads] - mean);
        if (a->thins)
            p[(size_t)i * heads] = thin(a, v, i, h, alpha);
    }
}

/* One warp per destination: gradient of z_dst from its scores. */
OG_KERNEL(og__k_sum_destinations, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t v = og_warp(), heads = (uint32_t)a->op.heads, dim = (uint32_t)a->op.z.dim;
    if (v >= a->block.n_dst)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        const float *d = op->dscore + first_of(a, v) + j / (uint32_t)a->op.width;
        float sum = 0;
        for (uint32_t i = 0; i < n_of(a, v); i++)
            if (counts(a, v, i))
                sum +=
                    d[(size_t)i * heads] * (sum_at(a, v, source_of(a, v, i), j) > 0 ? 1 : OG__LEAK);
        op->dz_dst[(size_t)v * dim + j] = a->op.att_src[j] * sum;
    }
}

/* ==== backward pass by source ==== */

/* Index of the coefficient of the transposed block's edge e of source u; its loop's is last. */
OG_ON_DEVICE size_t coefficient_of(const struct og_k_attend_back *op, uint32_t u, uint32_t e)
{
    const struct og_k_attend *a = &op->forward;
    const bool loop = e == op->indptr[u + 1];
    const uint32_t v = loop ? u : op->col[e];
    const uint32_t edge = loop ? a->block.indptr[u + 1] : op->edge[e];
    return ((size_t)edge + v) * (size_t)a->op.heads;
}

/* End of its edges, plus one for the loop of a destination. */
OG_ON_DEVICE uint32_t last_edge(const struct og_k_attend_back *op, uint32_t u)
{
    return op->indptr[u + 1] + is_both(&op->forward, u);
}

/* One thread per source and head. */
OG_KERNEL(og__k_source_slopes, og_k_attend_back)
{
    const uint32_t heads = (uint32_t)op->forward.op.heads;
    const uint32_t u = og_item() / heads, h = og_item() % heads;
    if (u >= op->forward.block.n_src)
        return;
    float sum = 0;
    for (uint32_t e = op->indptr[u]; e < last_edge(op, u); e++)
        sum += op->dscore[coefficient_of(op, u, e) + h];
    op->from[u * heads + h] = sum;
}

/* One thread per column of a part of the sources: att_src's columns, then att_dst's. */
OG_KERNEL(og__k_vector_parts, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t heads = (uint32_t)a->op.heads, width = (uint32_t)a->op.width, f = heads * width;
    const uint32_t j = og_item() % (2 * f), part = og_item() / (2 * f), h = j % f / width;
    if (part >= op->n_parts)
        return;
    const uint32_t n = a->block.n_src, column = a->op.shared ? j % f % width : j % f;
    const uint32_t end = (uint32_t)((uint64_t)n * (part + 1) / op->n_parts);
    double sum = 0;
    for (uint32_t u = (uint32_t)((uint64_t)n * part / op->n_parts); u < end; u++) {
        if (j >= f && !is_both(a, u))
            break;
        const float slope = j < f ? op->from[u * heads + h] : a->op.score_dst[u * heads + h];
        sum += (double)(slope * og_element(&a->op.z, og_row_of(&a->op.z, u), column));
    }
    op->part[(size_t)part * 2 * f + j] = sum;
}

/* The destination of edge e from source u. */
OG_ON_DEVICE uint32_t destination_of(const struct og_k_attend_back *op, uint32_t u, uint32_t e)
{
    return e == op->indptr[u + 1] ? u : op->col[e];
}

/* Gradient of column c of head h of source u through coefficients. */
OG_ON_DEVICE float sum_of_dy(const struct og_k_attend_back *op, uint32_t u, uint32_t h, uint32_t c)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t heads = (uint32_t)a->op.heads, width = (uint32_t)a->op.width;
    const uint32_t cols = a->op.average ? width : heads * width;
    const uint32_t at = a->op.average ? c : h * width + c;
    float sum = 0;
    for (uint32_t e = op->indptr[u]; e < last_edge(op, u); e++)
        sum += a->op.alpha[coefficient_of(op, u, e) + h] *
               op->dy[(size_t)destination_of(op, u, e) * cols + at];
    return a->op.average ? sum / (float)heads : sum;
}

/* Gradient through coefficients and through scores. */
OG_ON_DEVICE float come_back(const struct og_k_attend_back *op, uint32_t u, uint32_t h, uint32_t c)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t heads = (uint32_t)a->op.heads, width = (uint32_t)a->op.width;
    const float sum =
        sum_of_dy(op, u, h, c) + op->from[u * heads + h] * a->op.att_src[h * width + c];
    return is_both(a, u) ? sum + a->op.score_dst[u * heads + h] * a->op.att_dst[h * width + c]
                         : sum;
}

/* One warp per source. */
OG_KERNEL(og__k_source_back, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t u = og_warp(), heads = (uint32_t)a->op.heads, width = (uint32_t)a->op.width;
    const uint32_t dim = (uint32_t)a->op.z.dim;
    if (u >= a->block.n_src)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float sum = 0;
        for (uint32_t h = 0; a->op.shared && h < heads; h++)
            sum += come_back(op, u, h, j);
        op->dz[(size_t)u * dim + j] = a->op.shared ? sum : come_back(op, u, j / width, j % width);
    }
}

/* One thread per column of a part of the sources. */
OG_KERNEL(og__k_sum_vector_parts, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t f = (uint32_t)a->op.z.dim, n = a->block.n_src;
    const uint32_t j = og_item() % f, part = og_item() / f, h = j / (uint32_t)a->op.width;
    if (part >= op->n_parts)
        return;
    double sum = 0;
    for (uint32_t u = og_part_start(n, op->n_parts, part);
         u < og_part_start(n, op->n_parts, part + 1); u++)
        for (uint32_t e = op->indptr[u]; e < last_edge(op, u); e++)
            sum += (double)(op->dscore[coefficient_of(op, u, e) + h] *
                            leaky(sum_at(a, destination_of(op, u, e), u, j)));
    op->part[(size_t)part * f + j] = sum;
}

/* One warp per source. */
OG_KERNEL(og__k_sum_source_back, og_k_attend_back)
{
    const struct og_k_attend *a = &op->forward;
    const uint32_t u = og_warp(), width = (uint32_t)a->op.width, dim = (uint32_t)a->op.z.dim;
    if (u >= a->block.n_src)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        const uint32_t h = j / width;
        float sum = 0;
        for (uint32_t e = op->indptr[u]; e < last_edge(op, u); e++)
            sum += op->dscore[coefficient_of(op, u, e) + h] *
                   (sum_at(a, destination_of(op, u, e), u, j) > 0 ? 1 : OG__LEAK);
        op->dz[(size_t)u * dim + j] = sum_of_dy(op, u, h, j % width) + a->op.att_src[j] * sum;
    }
}

/* ==== vectors through a matrix ==== */

/* One thread per head and column. */
OG_KERNEL(og__k_fold, og_k_fold)
{
    const uint32_t h = og_item() / op->n_in, j = og_item() % op->n_in;
    if (h >= op->heads)
        return;
    float sum = 0;
    for (uint32_t c = h * op->width; c < (h + 1) * op->width; c++)
        sum += op->att[c] * op->weight[(size_t)c * op->n_in + j];
    op->out[og_item()] = sum;
}

/* One warp per row of the matrix. */
OG_KERNEL(og__k_fold_back, og_k_fold)
{
    const uint32_t c = og_warp();
    if (c >= op->heads * op->width)
        return; /* all lanes of the warp */
    const float *weight = op->weight + (size_t)c * op->n_in;
    const float *dout = op->dout + (size_t)(c / op->width) * op->n_in;
    float *dweight = op->dweight + (size_t)c * op->n_in;
    float sum = 0;
    for (uint32_t j = og_lane(); j < op->n_in; j += OG_LANES) {
        sum += weight[j] * dout[j];
        dweight[j] += op->att[c] * dout[j];
    }
    sum = og_warp_sum(sum);
    if (og_lane() == 0)
        op->datt[c] = sum;
}

/* ==== maximum over neighbours ==== */

/* One warp per destination. */
OG_KERNEL(og__k_pool_max, og_k_pool_max)
{
    const struct og_block *b = &op->block;
    const uint32_t v = og_warp(), dim = (uint32_t)op->x.dim;
    if (v >= b->n_dst)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float most = 0;
        uint32_t from = OG__NOWHERE;
        for (uint32_t e = b->indptr[v]; e < b->indptr[v + 1]; e++) {
            const float x = (b->weight ? b->weight[e] : 1) *
                            og_element(&op->x, og_row_of(&op->x, b->src[e]), j);
            if (from == OG__NOWHERE || x > most || x != x) { /* NaN stays NaN */
                most = x;
                from = b->weight ? e : b->src[e];
            }
        }
        op->y[(size_t)v * dim + j] = most;
        if (op->from)
            op->from[(size_t)v * dim + j] = from;
    }
}

/* One warp per source. Duplicate edges are adjacent, and count once. */
OG_KERNEL(og__k_pool_max_back, og_k_pool_max_back)
{
    const struct og_pool_max_back *b = &op->op;
    const uint32_t u = og_warp(), dim = (uint32_t)b->dim;
    if (u >= b->n_src)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float sum = 0;
        for (uint32_t e = b->indptr[u]; e < b->indptr[u + 1]; e++) {
            const size_t at = (size_t)b->col[e] * dim + j;
            const bool again = e > b->indptr[u] && b->col[e] == b->col[e - 1];
            if (b->weight)
                sum += b->from[at] == b->edge[e] ? b->weight[b->edge[e]] * b->dy[at] : 0;
            else
                sum += !again && b->from[at] == u ? b->dy[at] : 0;
        }
        b->x[(size_t)u * dim + j] = b->x[(size_t)u * dim + j] > 0 ? sum : 0;
    }
}
