/* Losses of labels, of values, and of shares of classes: the formulas are in loss_terms.h. */
#include "nn/tasks.h"

/* Tasks of values. */
#define VALUES (1u << OG_TASK_REGRESSION | 1u << OG_TASK_EDGE_REGRESSION)

static const char *const parameters[] = {"focal-gamma", NULL};

const struct og_loss_ops og__loss_focal = {.tasks = 1u << OG_TASK_NODE | 1u << OG_TASK_EDGE,
                                           .parameters = parameters};
const struct og_loss_ops og__loss_mse = {.tasks = VALUES};
const struct og_loss_ops og__loss_mae = {.tasks = VALUES};
const struct og_loss_ops og__loss_huber = {.tasks = VALUES};
const struct og_loss_ops og__loss_cross_entropy = {.tasks = 1u << OG_TASK_REGRESSION, .rows = true};
