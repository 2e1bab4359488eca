#include "learn/watch.h"

#include "nn/tasks.h"

#include <math.h>

struct og_rate og__rate_of_options(const struct og_options *opt)
{
    return (struct og_rate){.kind = opt->lr_schedule,
                            .lr = opt->lr,
                            .min = opt->lr_min,
                            .factor = opt->lr_factor,
                            .steps = (uint64_t)opt->lr_steps,
                            .warmup = (uint64_t)opt->warmup,
                            .every = opt->lr_every,
                            .patience = opt->lr_patience,
                            .reduced = opt->lr};
}

void og__watch_begin(struct og_watch *w, const struct og_options *opt,
                     const struct og_model_config *model, const json_t *rows)
{
    size_t i;
    const json_t *row;
    *w = (struct og_watch){.figure = og__best_of(model, opt->best_by),
                           .min_delta = opt->min_delta,
                           .best = -INFINITY,
                           .rate = og__rate_of_options(opt)};
    json_array_foreach(rows, i, row) og__watch_epoch(w, row);
}

void og__watch_epoch(struct og_watch *w, const json_t *row)
{
    const json_t *metrics = json_object_get(row, "valid_metrics");
    if (!json_is_object(metrics))
        return;
    const json_t *value = json_object_get(metrics, og__best_words[w->figure]);
    const double worth =
        og__best_worth(w->figure, json_is_number(value) ? json_number_value(value) : NAN);
    const bool improved = worth > w->best + w->min_delta;
    if (improved)
        w->best = worth;
    w->without = improved ? 0 : w->without + 1;
    og__rate_evaluated(&w->rate, improved);
}
