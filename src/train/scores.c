#include "train/scores.h"

#include <math.h>
#include <stdio.h>

static const char part[] = "labels";

int og__scores_open(struct og_scores *c, struct og_session *s, struct og_err *err)
{
    *c = (struct og_scores){.s = s, .most = og__most_scores(&s->facts)};
    if (c->most > 0)
        c->value = og__alloc(s->budget, c->most * sizeof(*c->value), part, err);
    return c->value || c->most == 0 ? 0 : -ENOMEM;
}

void og__scores_close(struct og_scores *c)
{
    if (c->s)
        og__release(c->s->budget, c->value, c->most * sizeof(*c->value), part);
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

/* Row i of what the model made. */
typedef void put_row(struct og_scores *c, const float *row, size_t i, const void *targets);

static void put_pair(struct og_scores *c, const float *score, size_t i, const void *targets)
{
    put(c, *score, i < ((const struct og_pairs *)targets)->n_edges);
}

static void put_label(struct og_scores *c, const float *logit, size_t i, const void *targets)
{
    put(c, *logit, ((const float *)targets)[i] > 0.5f);
}

/* One class or the other: how far the second is ahead. */
static void put_classes(struct og_scores *c, const float *logit, size_t i, const void *targets)
{
    int32_t label = ((const int32_t *)targets)[i];
    if (label >= 0)
        put(c, logit[1] - logit[0], label == 1);
}

static int put_rows(struct og_scores *c, const float *made, size_t n, size_t width, put_row *row,
                    const void *targets, struct og_err *err)
{
    enum { PIECE = 2048 };
    float piece[PIECE];
    int rc = 0;
    for (size_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, PIECE / width);
        OG_TRY(og__model_fetch(c->s->learner.model, piece, made + first * width,
                               m * width * sizeof(*piece), err));
        for (size_t i = 0; i < m; i++)
            row(c, piece + i * width, first + i, targets);
    }
out:
    return rc;
}

int og__scores_add(struct og_scores *c, const struct og_batch *batch, const void *targets,
                   struct og_err *err)
{
    const struct og_model_config *config = &c->s->facts.shape;
    const struct og_pairs *pairs = targets;
    const float *logits = og__model_logits(c->s->learner.model);
    if (!c->value)
        return 0;
    if (config->task == OG_TASK_LINK)
        return put_rows(c, og__model_scores(c->s->learner.model),
                        pairs->n_edges + pairs->n_negatives, 1, put_pair, targets, err);
    if (config->multi_label)
        return put_rows(c, logits, batch->n_seeds * (size_t)config->n_classes, 1, put_label,
                        targets, err);
    return put_rows(c, logits, batch->n_seeds, 2, put_classes, targets, err);
}

void og__scores_rank(struct og_scores *c)
{
    if (c->value)
        c->ranking = og__rank_scores(c->value, c->n_high, c->value + c->most - c->n_low, c->n_low);
}

double og__scores_chief(const struct og_scores *c, const struct og_metrics *sum)
{
    if (c->s->facts.seeds.edges)
        return isnan(c->ranking.auc) ? 0 : c->ranking.auc;
    return og__metrics_acc(sum, &c->s->facts.shape);
}

static json_t *with(json_t *object, const char *key, double value)
{
    return og__json_with(object, key, og__json_real(value));
}

json_t *og__metrics_json(const struct og_model_config *config, const struct og_metrics *sum)
{
    json_t *object = with(json_object(), "loss", og__metrics_loss(sum));
    if (config->task == OG_TASK_REGRESSION) {
        object = with(object, "mse", sum->squared / (double)sum->values);
        object = with(object, "mae", sum->absolute / (double)sum->values);
        object = with(object, "r2", og__metrics_r2(sum));
    } else if (config->task == OG_TASK_NODE) {
        const char *key = config->multi_label ? "micro_f1" : "acc";
        object = with(object, key, og__metrics_acc(sum, config));
    }
    return object;
}

static json_t *with_areas(json_t *object, const struct og_scores *c)
{
    return with(with(object, "auc", c->ranking.auc), "ap", c->ranking.ap);
}

static json_t *with_ranks(json_t *object, const struct og_metrics *sum)
{
    double n = (double)sum->ranked;
    object = with(object, "mrr", sum->reciprocal_ranks / n);
    for (int k = 0; k < OG__HITS; k++) {
        char key[16];
        snprintf(key, sizeof(key), "hits@%d", og__hits_at[k]);
        object = with(object, key, (double)sum->hits[k] / n);
    }
    return object;
}

json_t *og__scores_json(const struct og_scores *c, const struct og_metrics *sum)
{
    const struct og_model_config *config = &c->s->facts.shape;
    json_t *object = og__metrics_json(config, sum);
    bool links = config->task == OG_TASK_LINK;
    if (links || config->multi_label || (config->task == OG_TASK_NODE && c->value))
        object = with_areas(object, c);
    if (links)
        object = with_ranks(object, sum);
    return object;
}
