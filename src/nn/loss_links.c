/* Losses of links: of scores of edges, followed by those of each edge's negatives (ops.h). Scalar
 * code: there are few scores, compared with the products. */
#include "nn/loss_terms.h"
#include "nn/tasks.h"

static double bce(const struct og_link_loss *op, uint32_t n_negatives)
{
    double edges = 0;
    double negatives = 0;
    float slope;
    for (uint32_t p = 0; p < op->n_edges; p++) {
        edges += og_softplus(-op->score[p], &slope);
        if (op->grad)
            op->grad[p] = -0.5f * slope / (float)op->n_edges;
    }
    for (uint32_t p = op->n_edges; p < op->n_edges + n_negatives; p++) {
        negatives += og_softplus(op->score[p], &slope);
        if (op->grad)
            op->grad[p] = 0.5f * slope / (float)n_negatives;
    }
    return 0.5 * (edges / op->n_edges + negatives / n_negatives);
}

static double margin(const struct og_link_loss *op, uint32_t n_negatives)
{
    double sum = 0;
    float share = 1 / (float)n_negatives;
    for (uint32_t p = 0; op->grad && p < op->n_edges + n_negatives; p++)
        op->grad[p] = 0;
    for (uint32_t k = 0; k < n_negatives; k++) {
        uint32_t edge = k / op->each, p = op->n_edges + k;
        float lacks = 1 - op->score[edge] + op->score[p];
        if (lacks <= 0)
            continue;
        sum += (double)lacks;
        if (op->grad) {
            op->grad[edge] -= share;
            op->grad[p] += share;
        }
    }
    return sum / n_negatives;
}

const struct og_loss_ops og__loss_bce = {.tasks = 1u << OG_TASK_LINK, .pairs = bce};
const struct og_loss_ops og__loss_margin = {.tasks = 1u << OG_TASK_LINK, .pairs = margin};
