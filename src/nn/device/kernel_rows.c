/* Rows and columns of matrices, and the optimisers. */
#include "nn/device/common.h"

/* ==== sums along edges ==== */

OG_ON_DEVICE float right_of(const struct og_sparse *s, uint32_t u)
{
    return u < s->n_right ? s->right[u] : 1.0f;
}

OG_ON_DEVICE float weight_of(const struct og_sparse *s, uint32_t e)
{
    return s->weight ? s->weight[s->edge ? s->edge[e] : e] : 1.0f;
}

/* As many edges of row r, from e on, as are loaded at once. Edges that do not count have dim 0. */
struct edges {
    uint32_t to[OG_PREFETCHED], dim[OG_PREFETCHED];
    float times[OG_PREFETCHED], x[OG_PREFETCHED][OG_PREFETCHED];
};

OG_ON_DEVICE void ask_for_edges(struct edges *of, const struct og_k_aggregate *op, uint32_t r,
                                uint32_t e, uint32_t j)
{
    const struct og_sparse *s = &op->s;
    const bool loop = r < s->n_loops;
    const uint32_t end = s->indptr[r + 1];
    for (uint32_t i = 0; i < OG_PREFETCHED; i++)
        of->to[i] = e + i < end ? s->col[e + i] : r;
    for (uint32_t i = 0; i < OG_PREFETCHED; i++) {
        const bool counts = e + i < end && (!loop || s->diagonal || of->to[i] != r);
        of->dim[i] = counts ? (uint32_t)op->x.dim : 0;
        of->times[i] = counts ? weight_of(s, e + i) * right_of(s, of->to[i]) : 0;
        og_elements(of->x[i], &op->x, counts ? og_row_of(&op->x, of->to[i]) : NULL, j, of->dim[i]);
    }
}

/* Sums of column j and those of the same lane, over row r's edges in their order. */
OG_ON_DEVICE void add_up(float sum[OG_PREFETCHED], const struct og_k_aggregate *op, uint32_t r,
                         uint32_t j)
{
    const struct og_sparse *s = &op->s;
    const bool loop = r < s->n_loops;
    const float weight = loop && s->loop ? s->loop[r] : 1;
    const float own = loop ? (s->eps ? 1 + *s->eps : 1) * weight * right_of(s, r) : 0;
    struct edges of;
    og_elements(sum, &op->x, loop ? og_row_of(&op->x, r) : NULL, j, loop ? (uint32_t)op->x.dim : 0);
    for (uint32_t k = 0; k < OG_PREFETCHED; k++)
        sum[k] = loop ? own * sum[k] : 0;
    for (uint32_t e = s->indptr[r]; e < s->indptr[r + 1]; e += OG_PREFETCHED) {
        ask_for_edges(&of, op, r, e, j);
        for (uint32_t i = 0; i < OG_PREFETCHED; i++)
            for (uint32_t k = 0; k < OG_PREFETCHED && of.dim[i] > 0; k++)
                sum[k] += of.times[i] * of.x[i][k];
    }
}

/* One warp per row; each lane sums its columns. */
OG_KERNEL(og__k_aggregate, og_k_aggregate)
{
    const uint32_t r = op->first + og_warp(), dim = (uint32_t)op->x.dim;
    if (og_warp() >= op->n)
        return;
    const float left = r < op->s.n_left ? op->s.left[r] : 1.0f;
    float *y = op->y + og_warp() * op->ld;
    for (uint32_t j = og_lane(); j < dim; j += OG_PREFETCHED * OG_LANES) {
        float sum[OG_PREFETCHED];
        add_up(sum, op, r, j);
        for (uint32_t k = 0; k < OG_PREFETCHED && j + k * OG_LANES < dim; k++) {
            const uint32_t at = j + k * OG_LANES;
            y[at] = (op->add ? y[at] : 0) + left * sum[k];
        }
    }
}

OG_KERNEL(og__k_widen, og_k_widen)
{
    if (og_warp() >= op->n)
        return;
    const char *x = og_row_of(&op->x, op->first + og_warp());
    float *y = op->y + og_warp() * op->ld;
    for (uint32_t j = og_lane(); j < (uint32_t)op->x.dim; j += OG_LANES)
        y[j] = (op->add ? y[j] : 0) + og_element(&op->x, x, j);
}

OG_KERNEL(og__k_put, og_put)
{
    const uint32_t i = og_warp(), dim = (uint32_t)op->x.dim;
    if (i >= op->n)
        return;
    const char *x = og_row_of(&op->x, i);
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        op->to[(size_t)op->place[i] * dim + j] = og_element(&op->x, x, j);
}

/* ==== end of a product ==== */

/* Element j of a row after the end, from the product and the former y. */
OG_ON_DEVICE float ended(const struct og_k_end *op, uint32_t row, uint32_t j, float z, float y)
{
    if (op->relu)
        z = z <= 0 ? 0 : z; /* NaN stays NaN */
    if (op->drops)
        z = og_drop(&op->dropout, row, j, z);
    if (op->gated)
        return y > 0 ? op->gate_scale * z : 0;
    return op->add ? y + z : z;
}

OG_KERNEL(og__k_end, og_k_end)
{
    if (og_warp() >= op->n)
        return;
    const float *made = op->made + og_warp() * op->ld_made;
    float *y = op->y + og_warp() * op->ld;
    for (uint32_t j = og_lane(); j < op->cols; j += OG_PREFETCHED * OG_LANES) {
        float z[OG_PREFETCHED], was[OG_PREFETCHED];
        for (uint32_t k = 0; k < OG_PREFETCHED; k++) {
            const uint32_t at = j + k * OG_LANES;
            z[k] = at < op->cols ? made[at] + (op->bias ? op->bias[at] : 0) : 0;
            was[k] = at < op->cols && (op->gated || op->add) ? y[at] : 0;
        }
        for (uint32_t k = 0; k < OG_PREFETCHED; k++) {
            const uint32_t at = j + k * OG_LANES;
            if (at < op->cols)
                y[at] = ended(op, op->first + og_warp(), at, z[k], was[k]);
        }
    }
}

/* ==== sums of columns ==== */

OG_ON_DEVICE double of_column(const struct og_k_columns *op, uint32_t r, uint32_t j)
{
    const size_t at = r * op->ld + j;
    double d;
    switch (op->of) {
    case OG__VALUES:
        return (double)op->y[at];
    case OG__SQUARES:
        d = (double)op->y[at] - (double)op->mean[j];
        return d * d;
    case OG__SLOPES:
        return (double)op->g[at];
    case OG__SCALED:
        return (double)(op->g[at] * (op->y[at] - op->mean[j]) * op->rstd[j]);
    case OG__SCALED_BY_ROW:
        return (double)(op->g[at] * (op->y[at] - op->row[2 * r]) * op->row[2 * r + 1]);
    }
    return 0;
}

/* One thread per column of a part. */
OG_KERNEL(og__k_column_parts, og_k_columns)
{
    const uint32_t j = og_item() % op->cols, part = og_item() / op->cols;
    if (part >= op->n_parts)
        return;
    const uint32_t end = og_part_start(op->rows, op->n_parts, part + 1);
    double sum = 0;
    for (uint32_t r = og_part_start(op->rows, op->n_parts, part); r < end; r++)
        sum += of_column(op, r, j);
    op->part[part * op->step + j] = sum;
}

OG_KERNEL(og__k_column_sums, og_k_columns)
{
    const uint32_t j = og_item();
    if (j >= op->cols)
        return;
    double sum = 0;
    for (uint32_t part = 0; part < op->n_parts; part++)
        sum += op->part[part * op->step + j];
    op->sum[j] = (float)(sum * op->times);
}

/* ==== dot products ==== */

/* One block per part. Each thread sums its columns, row by row; then the threads' sums are added in
 * order. */
OG_KERNEL(og__k_dot_parts, og_k_dot)
{
    OG_SHARED double mine[OG_THREADS];
    const uint32_t part = og_block(), dim = (uint32_t)op->op.x.dim;
    const uint32_t end = og_part_start(op->op.rows, op->n_parts, part + 1);
    double sum = 0;
    for (uint32_t r = og_part_start(op->op.rows, op->n_parts, part); r < end; r++)
        for (uint32_t j = og_thread(); j < dim; j += OG_THREADS)
            sum += (double)(op->op.a[(size_t)r * dim + j] *
                            og_element(&op->op.x, og_row_of(&op->op.x, r), j));
    mine[og_thread()] = sum;
    og_synchronize();
    if (og_thread() > 0)
        return;
    for (int i = 1; i < OG_THREADS; i++)
        sum += mine[i];
    op->part[part] = sum;
}

OG_KERNEL(og__k_dot, og_k_dot)
{
    if (og_item() > 0)
        return;
    double sum = 0;
    for (uint32_t part = 0; part < op->n_parts; part++)
        sum += op->part[part];
    *op->op.out = (float)sum;
}

/* ==== optimisers ==== */

/* As in nn/kernels.c. */
OG_KERNEL(og__k_adam, og_k_update)
{
    const struct og_update *u = &op->op;
    const size_t i = og_item();
    if (i >= u->n)
        return;
    const float old = op->shrink * u->value[i];
    const float g = op->scale * u->grad[i] + op->decay * old;
    const float m = op->beta1 * u->m[i] + op->rest1 * g;
    const float v = op->beta2 * u->v[i] + op->rest2 * g * g;
    u->m[i] = m;
    u->v[i] = v;
    u->value[i] = old - op->rate * m / (sqrtf(v) / op->root + op->epsilon);
}

OG_KERNEL(og__k_sgd, og_k_update)
{
    const struct og_update *u = &op->op;
    const size_t i = og_item();
    if (i >= u->n)
        return;
    const float old = op->shrink * u->value[i];
    u->value[i] = old - op->rate * (op->scale * u->grad[i] + op->decay * old);
}

OG_KERNEL(og__k_add, og_k_add)
{
    const size_t i = og_item();
    if (i < op->n)
        op->to[i] =
            op->anew ? op->factor * op->from[i] : og_times_plus(op->factor, op->from[i], op->to[i]);
}
