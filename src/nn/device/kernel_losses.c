/* Losses and counts of metrics, one thread per row; and pairs of rows. */
#include "nn/device/common.h"

#include "nn/decoders.h"
#include "nn/loss_terms.h"

OG_ON_DEVICE struct og_metrics no_metrics(void)
{
    struct og_metrics m = {0};
    return m;
}

/* Adds the block's rows in their order; all its threads must call it. */
OG_ON_DEVICE void leave(const struct og_metrics *mine, struct og_metrics *blocks OG_HERE)
{
    OG_SHARED struct og_metrics row[OG__BLOCK_ROWS];
    row[og_thread()] = *mine;
    og_synchronize();
    if (og_thread() > 0)
        return;
    struct og_metrics sum = row[0];
    for (int i = 1; i < OG__BLOCK_ROWS; i++)
        og_metrics_add(&sum, &row[i]);
    blocks[og_block()] = sum;
}

OG_KERNEL(og__k_add_metrics, og_k_add_metrics)
{
    if (og_item() > 0)
        return;
    struct og_metrics sum = op->blocks[0];
    for (uint32_t i = 1; i < op->n; i++)
        og_metrics_add(&sum, &op->blocks[i]);
    op->blocks[0] = sum;
}

OG_ON_DEVICE uint32_t my_row(uint32_t block, uint32_t thread)
{
    return block * OG__BLOCK_ROWS + thread;
}

/* One block: the sum over its threads. */
OG_ON_DEVICE void leave_weight(double mine, double *sum OG_HERE)
{
    OG_SHARED double weight[OG_THREADS];
    weight[og_thread()] = mine;
    og_synchronize();
    for (int i = 1; og_thread() == 0 && i < OG_THREADS; i++)
        mine += weight[i];
    if (og_thread() == 0)
        *sum = mine;
}

/* ==== classes ==== */

OG_KERNEL(og__k_count_classes, og_k_loss)
{
    double sum = 0;
    for (uint32_t r = og_thread(); r < op->op.rows; r += OG_THREADS)
        sum += (double)og_term_weight(&op->op, r);
    leave_weight(sum, op->weight OG_PASS);
}

OG_ON_DEVICE void softmax_row(const struct og_loss *op, uint32_t r, double all_weight,
                              struct og_metrics *m)
{
    const uint32_t cols = (uint32_t)op->cols, label = (uint32_t)((const int32_t *)op->labels)[r];
    const float *x = op->logits + (size_t)r * cols;
    float *grad = op->grad ? op->grad + (size_t)r * cols : NULL;
    const float share = all_weight > 0 ? 1.0f / (float)all_weight : 0;
    uint32_t best = 0;
    float sum = 0, classes = 0, slope;
    for (uint32_t j = 1; j < cols; j++)
        best = x[j] > x[best] ? j : best;
    for (uint32_t j = 0; j < cols; j++) {
        const float e = expf(x[j] - x[best]);
        sum += e;
        if (grad)
            grad[j] = e;
    }
    const double log_sum = (double)logf(sum) + (double)x[best], loss = log_sum - (double)x[label];
    const float weight = og_term_weight(op, r), rest = 1 - op->smoothing;
    const float spread = og_weight_of(op->row_weight, r) * op->smoothing / (float)op->cols;
    m->counted = 1;
    m->correct = best == label && loss == loss; /* a row with NaN has no maximum */
    m->weight = (double)weight;
    m->loss_sum = (double)rest * (double)weight * og_class_loss(op, loss, &slope);
    for (uint32_t j = 0; spread > 0 && j < cols; j++) {
        const float w = og_weight_of(op->class_weight, j);
        classes += w;
        m->loss_sum += (double)spread * (double)w * (log_sum - (double)x[j]);
    }
    const float pull = share * rest * weight * slope;
    const float all = spread > 0 ? pull + share * spread * classes : pull;
    for (uint32_t j = 0; grad && j < cols; j++) {
        grad[j] = grad[j] * (all / sum) - (j == label ? pull : 0);
        if (spread > 0)
            grad[j] -= share * spread * og_weight_of(op->class_weight, j);
    }
}

OG_KERNEL(og__k_softmax, og_k_loss)
{
    const uint32_t r = my_row(og_block(), og_thread());
    struct og_metrics m = no_metrics();
    if (r < op->op.rows && og_is_class(&op->op, r))
        softmax_row(&op->op, r, *op->weight, &m);
    else if (r < op->op.rows && op->op.grad)
        for (uint32_t j = 0; j < (uint32_t)op->op.cols; j++)
            op->op.grad[(size_t)r * (size_t)op->op.cols + j] = 0;
    leave(&m, op->blocks OG_PASS);
}

/* ==== labels ==== */

OG_KERNEL(og__k_sigmoid, og_k_loss)
{
    const uint32_t r = my_row(og_block(), og_thread());
    struct og_metrics m = no_metrics();
    if (r < op->op.rows)
        og_sigmoid_row(&op->op, r, *op->weight, &m);
    leave(&m, op->blocks OG_PASS);
}

/* ==== values ==== */

OG_KERNEL(og__k_count_values, og_k_loss)
{
    const size_t all = op->op.rows * (size_t)op->op.cols;
    double n = 0;
    for (size_t i = og_thread(); i < all; i += OG_THREADS) {
        const float y = ((const float *)op->op.labels)[i];
        n += y == y ? (double)og_weight_of(op->op.row_weight, i / (size_t)op->op.cols) : 0;
    }
    leave_weight(n, op->weight OG_PASS);
}

OG_KERNEL(og__k_values, og_k_loss)
{
    const uint32_t r = my_row(og_block(), og_thread());
    struct og_metrics m = no_metrics();
    if (r < op->op.rows)
        og_value_row(&op->op, r, *op->weight, &m);
    leave(&m, op->blocks OG_PASS);
}

/* ==== shares ==== */

OG_KERNEL(og__k_count_shares, og_k_loss)
{
    double sum = 0;
    for (uint32_t r = og_thread(); r < op->op.rows; r += OG_THREADS)
        sum += og_shares_known(&op->op, r) ? og_share_weight(&op->op, r) : 0;
    leave_weight(sum, op->weight OG_PASS);
}

OG_KERNEL(og__k_shares, og_k_loss)
{
    const uint32_t r = my_row(og_block(), og_thread());
    struct og_metrics m = no_metrics();
    if (r < op->op.rows && og_shares_known(&op->op, r))
        og_share_row(&op->op, r, *op->weight, &m);
    else if (r < op->op.rows && op->op.grad)
        for (uint32_t j = 0; j < (uint32_t)op->op.cols; j++)
            op->op.grad[(size_t)r * (size_t)op->op.cols + j] = 0;
    leave(&m, op->blocks OG_PASS);
}

/* ==== links ==== */

/* An edge's term: half its own loss and half the mean of its negatives'. */
OG_ON_DEVICE double bce_of(const struct og_link_loss *op, uint32_t i)
{
    const uint32_t n_negatives = op->n_edges * op->each;
    float slope;
    double negatives = 0;
    const double edge = og_softplus(-op->score[i], &slope);
    if (op->grad)
        op->grad[i] = -0.5f * slope / (float)op->n_edges;
    for (uint32_t k = 0; k < op->each; k++) {
        const uint32_t p = op->n_edges + i * op->each + k;
        negatives += og_softplus(op->score[p], &slope);
        if (op->grad)
            op->grad[p] = 0.5f * slope / (float)n_negatives;
    }
    return 0.5 * (edge + negatives / op->each);
}

OG_ON_DEVICE double margin_of(const struct og_link_loss *op, uint32_t i)
{
    const float share = 1 / (float)(op->n_edges * op->each);
    float slope = 0;
    double sum = 0;
    for (uint32_t k = 0; k < op->each; k++) {
        const uint32_t p = op->n_edges + i * op->each + k;
        const float lacks = 1 - op->score[i] + op->score[p];
        const bool counts = !(lacks <= 0); /* also NaN */
        sum += counts ? (double)lacks : 0;
        slope -= counts ? share : 0;
        if (op->grad)
            op->grad[p] = counts ? share : 0;
    }
    if (op->grad)
        op->grad[i] = slope;
    return sum / op->each;
}

/* One thread per edge. */
OG_KERNEL(og__k_links, og_k_links)
{
    const struct og_link_loss *l = &op->op;
    const uint32_t i = my_row(og_block(), og_thread());
    struct og_metrics m = no_metrics();
    if (i < l->n_edges) {
        m.counted = 1;
        m.weight = 1;
        m.compared = l->each;
        m.loss_sum = l->loss == OG_LOSS_BCE ? bce_of(l, i) : margin_of(l, i);
        for (uint32_t k = 0; k < l->each; k++) {
            const float other = l->score[l->n_edges + i * l->each + k];
            m.twice_ordered += l->score[i] > other ? 2 : l->score[i] == other;
        }
    }
    leave(&m, op->blocks OG_PASS);
}

/* As in nn/pairs.c. */
OG_ON_DEVICE double rank_of(const struct og_k_ranks *op, uint32_t turn)
{
    const uint32_t i = turn % op->n_edges;
    const uint32_t first = op->n_edges + op->n_negatives + turn * op->n_rank_negatives;
    const uint32_t *replaced = turn < op->n_edges ? op->b : op->a;
    const float own = op->score[i];
    uint32_t above = 0, equal = 0;
    bool compares = own == own;
    for (uint32_t r = first; r < first + op->n_rank_negatives; r++) {
        const float score = op->score[r];
        if (!op->given && (replaced[r] == op->a[i] || replaced[r] == op->b[i]))
            continue; /* skip a negative that is an end of the edge */
        above += score > own;
        equal += score == own;
        compares = compares && score == score;
    }
    return compares ? 1 + above + 0.5 * equal : (double)NAN;
}

OG_KERNEL(og__k_ranks, og_k_ranks)
{
    const uint32_t i = my_row(og_block(), og_thread());
    const int at[OG__HITS] = {1, 3, 10, 20, 50, 100}; /* og__hits_at */
    struct og_metrics m = no_metrics();
    if (i < op->n_turns) {
        const double rank = rank_of(op, i);
        m.ranked = 1;
        m.reciprocal_ranks = 1 / rank;
        for (int k = 0; k < OG__HITS; k++)
            m.hits[k] = rank <= at[k];
    }
    leave(&m, op->blocks OG_PASS);
}

/* ==== pairs ==== */

/* The vector of the pair's kind. */
OG_ON_DEVICE const float *vector_of(const struct og_pair_op *o, uint32_t p)
{
    return o->by ? o->by + (size_t)(o->kind ? o->kind[p] : 0) * (uint32_t)o->dim : NULL;
}

/* Formulas as in nn/decoders.c. Element j of x z, where x and z are complex numbers; the signs, 1
 * or -1, are of their imaginary parts. */
OG_ON_DEVICE float complex_part(const float *x, float x_sign, const float *z, float z_sign,
                                uint32_t dim, uint32_t j)
{
    const uint32_t half = dim / 2;
    return j < half ? x[j] * z[j] - x_sign * x[half + j] * (z_sign * z[half + j])
                    : x[j - half] * (z_sign * z[j]) + x_sign * x[j] * z[j - half];
}

/* Element j of the slope by the source's row, the other's, or the relation's vector w. */
OG_ON_DEVICE float slope_by(const struct og_pair_op *o, int by, const float *a, const float *b,
                            const float *w, uint32_t j)
{
    const uint32_t dim = (uint32_t)o->dim;
    const float *x = by == OG__SOURCE_ROW ? b : a, *y = by == OG__RELATION_ROW ? b : w;
    if (o->decoder != OG_DECODER_COMPLEX)
        return y ? x[j] * y[j] : x[j];
    return by == OG__OTHER_ROW    ? complex_part(w, 1, a, 1, dim, j)
           : by == OG__SOURCE_ROW ? complex_part(w, -1, b, 1, dim, j)
                                  : complex_part(a, -1, b, 1, dim, j);
}

/* One over a row's sum of magnitudes; all lanes of the warp. */
OG_ON_DEVICE float to_unit(const float *x, uint32_t dim OG_HERE)
{
    float sum = 0;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        sum += fabsf(x[j]);
    sum = og_warp_sum(sum);
    return 1 / (sum < OG__LEAST_MAGNITUDE ? OG__LEAST_MAGNITUDE : sum);
}

OG_ON_DEVICE float sign_of(float x)
{
    return (float)(x > 0) - (float)(x < 0);
}

/* One warp per pair. */
OG_KERNEL(og__k_pair_dot, og_k_pair)
{
    const struct og_pair_op *o = &op->op;
    const uint32_t p = og_warp(), dim = (uint32_t)o->dim;
    if (p >= o->n)
        return; /* all lanes of the warp */
    const float *a = o->h + (size_t)o->a[p] * dim, *b = o->h + (size_t)o->b[p] * dim;
    const float *by = vector_of(o, p);
    const bool translates = o->decoder == OG_DECODER_TRANSE;
    const float s = translates ? to_unit(a, dim OG_PASS) : 1;
    const float t = translates ? to_unit(b, dim OG_PASS) : 1;
    float sum = 0;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        if (translates)
            sum -= fabsf(a[j] * s + by[j] - b[j] * t);
        else if (o->decoder == OG_DECODER_COMPLEX)
            sum += a[j] * complex_part(by, -1, b, 1, dim, j);
        else
            sum += by ? a[j] * b[j] * by[j] : a[j] * b[j];
    sum = og_warp_sum(sum);
    if (og_lane() == 0)
        o->out[p] = sum;
}

OG_KERNEL(og__k_pair_product, og_k_pair)
{
    const struct og_pair_op *o = &op->op;
    const uint32_t p = og_warp(), dim = (uint32_t)o->dim;
    if (p >= o->n)
        return;
    const float *a = o->h + (size_t)o->a[p] * dim, *b = o->h + (size_t)o->b[p] * dim;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        if (o->joins) {
            o->out[2 * (size_t)p * dim + j] = a[j];
            o->out[(2 * (size_t)p + 1) * dim + j] = b[j];
        } else {
            o->out[(size_t)p * dim + j] = a[j] * b[j];
        }
    }
}

/* One warp per row, over its pairs in their order. */
OG_KERNEL(og__k_pair_back, og_k_pair_back)
{
    const struct og_pair_op *f = &op->forward;
    const uint32_t r = og_warp(), dim = (uint32_t)f->dim;
    if (r >= op->n_rows)
        return;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float sum = 0;
        for (uint32_t i = op->first[r]; i < op->first[r + 1]; i++) {
            if (f->joins) {
                sum += op->g[(size_t)op->pair[i] * dim + j];
                continue;
            }
            const uint32_t p = op->pair[i] >> 1, second = op->pair[i] & 1;
            const float *a = f->h + (size_t)f->a[p] * dim, *b = f->h + (size_t)f->b[p] * dim;
            if (op->wide)
                sum += op->g[(size_t)p * dim + j] * (second ? a[j] : b[j]);
            else
                sum += op->g[p] * slope_by(f, second ? OG__OTHER_ROW : OG__SOURCE_ROW, a, b,
                                           vector_of(f, p), j);
        }
        op->dh[(size_t)r * dim + j] = sum;
    }
}

/* One warp per kind, over its pairs in their order. */
OG_KERNEL(og__k_pair_kinds, og_k_pair_kinds)
{
    const struct og_pair_op *f = &op->forward;
    const uint32_t k = og_warp(), dim = (uint32_t)f->dim;
    if (k >= op->n_kinds)
        return;
    const uint32_t first = op->first ? op->first[k] : 0, end = op->first ? op->first[k + 1] : f->n;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES) {
        float sum = 0;
        for (uint32_t i = first; i < end; i++) {
            const uint32_t p = op->first ? op->pair[i] : i;
            sum += op->g[p] * slope_by(f, OG__RELATION_ROW, f->h + (size_t)f->a[p] * dim,
                                       f->h + (size_t)f->b[p] * dim, vector_of(f, p), j);
        }
        op->dby[(size_t)k * dim + j] = sum;
    }
}

/* TransE. y[j] += g sign(a s + w - b t) */
OG_ON_DEVICE void add_signs(float *y, float g, const struct og_pair_op *f, uint32_t p OG_HERE)
{
    const uint32_t dim = (uint32_t)f->dim;
    const float *a = f->h + (size_t)f->a[p] * dim, *b = f->h + (size_t)f->b[p] * dim;
    const float *w = vector_of(f, p);
    const float s = to_unit(a, dim OG_PASS), t = to_unit(b, dim OG_PASS);
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        y[j] += g * sign_of(a[j] * s + w[j] - b[j] * t);
}

/* As og__k_pair_back, then through the division of the row by its magnitude. */
OG_KERNEL(og__k_translated_back, og_k_pair_back)
{
    const struct og_pair_op *f = &op->forward;
    const uint32_t r = og_warp(), dim = (uint32_t)f->dim;
    if (r >= op->n_rows)
        return;
    const float *h = f->h + (size_t)r * dim;
    float *dh = op->dh + (size_t)r * dim;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        dh[j] = 0;
    for (uint32_t i = op->first[r]; i < op->first[r + 1]; i++) {
        const uint32_t p = op->pair[i] >> 1;
        add_signs(dh, op->pair[i] & 1 ? op->g[p] : -op->g[p], f, p OG_PASS);
    }
    const float s = to_unit(h, dim OG_PASS);
    float along = 0;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        along += dh[j] * h[j];
    along = og_warp_sum(along);
    along = s >= 1 / OG__LEAST_MAGNITUDE ? 0 : along * s;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        dh[j] = (dh[j] - along * sign_of(h[j])) * s;
}

OG_KERNEL(og__k_translated_kinds, og_k_pair_kinds)
{
    const struct og_pair_op *f = &op->forward;
    const uint32_t k = og_warp(), dim = (uint32_t)f->dim;
    if (k >= op->n_kinds)
        return;
    const uint32_t first = op->first ? op->first[k] : 0, end = op->first ? op->first[k + 1] : f->n;
    float *dby = op->dby + (size_t)k * dim;
    for (uint32_t j = og_lane(); j < dim; j += OG_LANES)
        dby[j] = 0;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t p = op->first ? op->pair[i] : i;
        add_signs(dby, -op->g[p], f, p OG_PASS);
    }
}
