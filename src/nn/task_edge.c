/* Classes, labels or values of edges, by an MLP over the embeddings of both ends (links.c).
 * Targets, losses and metrics are those of nodes. */
#include "nn/tasks.h"

static const char *const parameters[] = {"relation", NULL};

const struct og_task og__task_edge = {
    .pairs = true,
    .embeds = true,
    .as = &og__task_node,
    .of_values = OG_TASK_EDGE_REGRESSION,
    .parameters = parameters,
};

const struct og_task og__task_edge_regression = {
    .pairs = true,
    .embeds = true,
    .as = &og__task_regression,
    .of_values = OG_TASK_EDGE_REGRESSION,
    .loss = OG_LOSS_MSE,
    .parameters = parameters,
};
