#include "budget/workload.h"

#include "dataset/edge_labels.h"
#include "nn/tasks.h"

size_t og__split_bytes(const struct og_workload *f, const struct og_split *split)
{
    return (size_t)split->n * (f->seeds.edges ? 8 : 4);
}

size_t og__split_relation_bytes(const struct og_split *split)
{
    return split->relation ? (size_t)split->n * sizeof(*split->relation) : 0;
}

size_t og__split_negatives_bytes(const struct og_split *split)
{
    return (size_t)split->n_negatives * (size_t)split->negatives_width * sizeof(*split->negatives);
}

size_t og__logits_bytes(const struct og_workload *f)
{
    return f->schedule.batch_size * (size_t)og__model_width(&f->shape) * sizeof(float);
}

size_t og__hidden_bytes(const struct og_workload *f)
{
    return f->schedule.batch_size * (size_t)f->shape.hidden * sizeof(float);
}

static size_t own_bytes(const struct og_workload *f, int64_t n)
{
    return (size_t)n * (size_t)f->shape.pair_dim * sizeof(float);
}

size_t og__split_own_bytes(const struct og_workload *f, const struct og_split *split)
{
    return split->own ? (size_t)split->n * (size_t)og__edge_rows_dim(f->graph) * sizeof(float) : 0;
}

size_t og__seed_targets_bytes(const struct og_workload *f, uint32_t n)
{
    const size_t weights = f->shape.weighs_seeds ? n * sizeof(float) : 0;
    const bool none = f->seeds.edges && !f->seeds.rule.labelled;
    return none ? 0 : og__labels_bytes(f->graph, n) + weights + own_bytes(f, n);
}

size_t og__targets_bytes(const struct og_workload *f)
{
    return og__seed_targets_bytes(f, f->schedule.batch_size);
}

size_t og__held_out_items(const struct og_workload *f)
{
    return (size_t)OG_MAX(f->split[OG__VALID].n, f->split[OG__TEST].n);
}

struct og_trace_options og__record_form(const struct og_workload *f)
{
    struct og_trace_options form = f->trace;
    const bool values = og__float_labels(f->graph);
    form.checks = true;
    form.extras &= ~(unsigned)OG__NESTED; /* others read each hop by itself */
    form.multi_label = values;
    form.label_width = f->seeds.edges ? 0 : values ? f->graph->n_classes : 1;
    return form;
}
