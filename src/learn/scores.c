#include "learn/scores.h"

#include "nn/tasks.h"

#include <stdio.h>

static const char part[] = "labels";

int og__scores_open(struct og_scores *c, const struct og_workload *f, struct og_model *model,
                    struct og_budget *b, struct og_err *err)
{
    *c = (struct og_scores){.workload = f, .model = model, .budget = b, .most = og__most_scores(f)};
    if (c->most > 0)
        c->value = og__alloc(b, c->most * sizeof(*c->value), part, err);
    return c->value || c->most == 0 ? 0 : -ENOMEM;
}

void og__scores_close(struct og_scores *c)
{
    og__release(c->budget, c->value, c->most * sizeof(*c->value), part);
    *c = (struct og_scores){0};
}

void og__scores_clear(struct og_scores *c)
{
    c->n_high = c->n_low = 0;
}

static void put(struct og_scores *c, float score, bool high)
{
    if (high)
        c->value[c->n_high++] = score;
    else
        c->value[c->most - ++c->n_low] = score;
}

/* n scores of what the model made. */
static int put_scores(struct og_scores *c, const struct og_task *task, const float *made, size_t n,
                      const void *targets, struct og_err *err)
{
    enum { PIECE = 2048 };
    float piece[PIECE], score;
    const size_t width = (size_t)task->score_width;
    int rc = 0;
    for (size_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, PIECE / width);
        OG_TRY(og__model_fetch(c->model, piece, made + first * width, m * width * sizeof(*piece),
                               err));
        for (size_t i = 0; i < m; i++) {
            const int high = task->score(targets, first + i, piece + i * width, &score);
            if (high >= 0)
                put(c, score, high);
        }
    }
out:
    return rc;
}

int og__scores_add(struct og_scores *c, const struct og_batch *batch, const void *targets,
                   struct og_err *err)
{
    const struct og_model_config *config = &c->workload->shape;
    const struct og_task *task = og__task_of(config);
    const struct og_pairs *pairs = targets;
    if (!c->value)
        return 0;
    if (task->targets == OG__OF_PAIRS)
        return put_scores(c, task, og__model_scores(c->model), pairs->n_edges + pairs->n_negatives,
                          targets, err);
    return put_scores(c, task, og__model_logits(c->model),
                      task->n_scores(config->n_classes, batch->n_seeds), targets, err);
}

void og__scores_rank(struct og_scores *c)
{
    if (c->value)
        c->ranking = og__rank_scores(c->value, c->n_high, c->value + c->most - c->n_low, c->n_low);
}

double og__scores_chief(const struct og_scores *c, const struct og_metrics *sum)
{
    return og__task_of(&c->workload->shape)->chief(sum, &c->ranking);
}

double og__scores_figure(const struct og_scores *c, const struct og_metrics *sum, int kind)
{
    const struct og_figure *f = og__task_of(&c->workload->shape)->figures;
    if (kind == OG_BEST_LOSS)
        return og__metrics_loss(sum);
    while (f->kind != kind)
        f++;
    return f->of(sum, &c->ranking);
}

static json_t *with(json_t *object, const char *key, double value)
{
    return og__json_with(object, key, og__json_real(value));
}

static json_t *figures(const struct og_task *task, const struct og_metrics *sum,
                       const struct og_ranking *areas)
{
    json_t *object = with(json_object(), "loss", og__metrics_loss(sum));
    for (const struct og_figure *f = task->figures; f->kind != OG_BEST_AUTO; f++)
        if (areas || !f->of_areas)
            object = with(object, og__best_words[f->kind], f->of(sum, areas));
    return object;
}

json_t *og__metrics_json(const struct og_model_config *config, const struct og_metrics *sum)
{
    return figures(og__task_of(config), sum, NULL);
}

json_t *og__scores_json(const struct og_scores *c, const struct og_metrics *sum)
{
    const struct og_model_config *config = &c->workload->shape;
    return figures(og__task_of(config), sum, og__keeps_scores(config) ? &c->ranking : NULL);
}
