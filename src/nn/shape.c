#include "nn/shape.h"

#include <string.h>

/* ==== whether there is such a model ==== */

static int check_choices(const struct og_model_config *c, struct og_err *err)
{
    if (c->kind < OG_MODEL_GCN || c->kind > OG_MODEL_PINSAGE)
        return og__fail(err, -EINVAL, "gcn, sage, gat, gin or pinsage", "model: kind %d is unknown",
                        c->kind);
    if (c->norm < OG_NORM_NONE || c->norm > OG_NORM_LAYER)
        return og__fail(err, -EINVAL, "none, batch or layer", "model: norm %d is unknown", c->norm);
    if (c->aggregator < OG_AGGREGATOR_MEAN || c->aggregator > OG_AGGREGATOR_GCN)
        return og__fail(err, -EINVAL, "mean, max or gcn", "model: aggregator %d is unknown",
                        c->aggregator);
    if (c->kind != OG_MODEL_SAGE && c->aggregator != OG_AGGREGATOR_MEAN)
        return og__fail(err, -EINVAL, "only the model sage has a choice",
                        "--aggregator: this model has one of its own");
    if (c->task < OG_TASK_NODE || c->task > OG_TASK_REGRESSION || c->decoder < OG_DECODER_DOT ||
        c->decoder > OG_DECODER_MLP)
        return og__fail(err, -EINVAL, NULL, "model: task %d with decoder %d is unknown", c->task,
                        c->decoder);
    if (c->kind != OG_MODEL_GAT)
        return 0;
    if (c->heads < 1 || c->heads > OG__MAX_HEADS)
        return og__fail(err, -EINVAL, NULL, "model: %d heads, 1 to %d are possible", c->heads,
                        OG__MAX_HEADS);
    if (c->hidden % c->heads)
        return og__fail(err, -EINVAL, "--hidden is the width of all heads together",
                        "model: %d heads cannot share a width of %d evenly", c->heads, c->hidden);
    return 0;
}

int og__model_check(const struct og_model_config *c, struct og_err *err)
{
    const int widest = 1 << 20;
    if (c->layers < 1 || c->layers > OG_MAX_HOPS)
        return og__fail(err, -EINVAL, NULL, "model: %d layers, 1 to %d are possible", c->layers,
                        OG_MAX_HOPS);
    if (c->in_dim < 1 || c->in_dim > widest || c->hidden < 1 || c->hidden > widest ||
        c->n_classes < 1 || c->n_classes > widest)
        return og__fail(err, -EINVAL, NULL, "model: widths %d, %d, %d, 1 to %d are possible",
                        c->in_dim, c->hidden, c->n_classes, widest);
    const double shares[] = {c->dropout, c->input_dropout, c->attention_dropout};
    for (size_t i = 0; i < OG_COUNT(shares); i++)
        if (!(shares[i] >= 0 && shares[i] < 1))
            return og__fail(err, -EINVAL, NULL, "model: dropout %g is not in [0, 1)", shares[i]);
    return check_choices(c, err);
}

/* ==== parameters ==== */

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool og__model_takes(int kind, const char *option)
{
    static const char *const of_sage[] = {"aggregator", NULL};
    static const char *const of_gat[] = {"heads", "attention-dropout", NULL};
    return (kind == OG_MODEL_SAGE && is_one_of(option, of_sage)) ||
           (kind == OG_MODEL_GAT && is_one_of(option, of_gat));
}

bool og__task_takes(int kind, const char *option)
{
    static const char *const of_links[] = {"decoder",  "edge-split",     "negatives",
                                           "negative", "eval-negatives", NULL};
    return kind == OG_TASK_LINK && is_one_of(option, of_links);
}

/* ==== layers ==== */

int og__layer_in(const struct og_model_config *c, int layer)
{
    return layer == 0 ? c->in_dim : c->hidden;
}

int og__layer_out(const struct og_model_config *c, int layer)
{
    return og__is_last(c, layer) ? c->n_classes : c->hidden;
}

int og__layer_mid(const struct og_model_config *c, int layer)
{
    if (c->kind == OG_MODEL_GAT)
        return c->heads * og__head_width(c, layer);
    if (c->kind == OG_MODEL_GIN || c->kind == OG_MODEL_PINSAGE)
        return c->hidden;
    return og__pools(c) ? og__layer_in(c, layer) : og__layer_out(c, layer);
}

int og__head_width(const struct og_model_config *c, int layer)
{
    return og__is_last(c, layer) ? c->n_classes : c->hidden / c->heads;
}

enum og__aggregate og__aggregate_of(const struct og_model_config *c)
{
    switch (c->kind) {
    case OG_MODEL_GCN:
        return OG__SYMMETRIC;
    case OG_MODEL_GIN:
        return OG__SUM_AND_SELF;
    case OG_MODEL_PINSAGE:
        return OG__WEIGHTED_MEAN;
    default:
        return c->aggregator == OG_AGGREGATOR_GCN ? OG__MEAN_AND_SELF : OG__MEAN;
    }
}

bool og__pools(const struct og_model_config *c)
{
    return c->kind == OG_MODEL_PINSAGE ||
           (c->kind == OG_MODEL_SAGE && c->aggregator == OG_AGGREGATOR_MAX);
}

bool og__has_self(const struct og_model_config *c)
{
    return c->kind == OG_MODEL_PINSAGE ||
           (c->kind == OG_MODEL_SAGE && c->aggregator != OG_AGGREGATOR_GCN);
}

bool og__is_last(const struct og_model_config *c, int layer)
{
    return layer == c->layers - 1;
}

bool og__finishes(const struct og_model_config *c, int layer)
{
    bool more = c->norm != OG_NORM_NONE || c->kind == OG_MODEL_GAT || c->kind == OG_MODEL_PINSAGE;
    return more && !og__is_last(c, layer);
}

/* ==== what comes first ==== */

bool og__transform_first(const struct og_block *b, int n_in, int n_out)
{
    double e = (double)b->n_edges, s = b->n_src, d = b->n_dst, in = n_in, out = n_out;
    double aggregate_first = (e + 2 * d) * in;
    double transform_first = s * (in + out) + e * out;
    return transform_first < aggregate_first && s * out <= d * in;
}

/* A row of all heads must stay in cache, and scratch has room for such rows. */
enum { WIDEST_ATTENDED = 4096 };

bool og__may_attend_first(const struct og_model_config *c, int layer)
{
    return c->kind == OG_MODEL_GAT && !og__is_last(c, layer) &&
           (int64_t)c->heads * og__layer_in(c, layer) <= WIDEST_ATTENDED;
}

/* By multiplications: products of three passes, two of which concern the way back (the last not for
 * features), and three walks along the edges, whose multiplications take eight times as long. */
bool og__attend_first(const struct og_model_config *c, int layer, const struct og_block *b)
{
    double e = (double)b->n_edges, s = b->n_src, d = b->n_dst;
    double in = og__layer_in(c, layer), out = og__layer_mid(c, layer), wide = in * c->heads;
    if (!og__may_attend_first(c, layer) || d * wide > s * out)
        return false;
    double transform_first = (layer > 0 ? 3 : 2) * s * in * out + 3 * 8 * e * out;
    double attend_first = 3 * d * in * out + 3 * 8 * e * wide;
    return attend_first < transform_first;
}
