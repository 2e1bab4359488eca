#include "nn/conv_edges.h"
#include "nn/joined.h"
#include "nn/relational.h"
#include "nn/tasks.h"

#include <string.h>

/* ==== the table ==== */

#define POINTER(NAME, name) [OG_MODEL_##NAME] = &og__conv_##name,
#define WORD(NAME, name)    #name,
#define LISTED(NAME, name)  ", " #name
static const struct og_conv *const kinds[] = {OG__MODELS(POINTER)};
const char *const og__model_words[] = {OG__MODELS(WORD) NULL};

const struct og_conv *og__conv_of(const struct og_model_config *c)
{
    const struct og_conv *conv = kinds[c->kind];
    return conv->by_aggregator ? conv->by_aggregator[c->aggregator] : conv;
}

const struct og_conv_names *og__model_names(const struct og_model_config *c)
{
    const bool has_choice = c->kind < (int)OG_COUNT(kinds) && kinds[c->kind]->by_aggregator;
    const bool there = c->kind < (int)OG_COUNT(kinds) && (has_choice || c->aggregator == 0);
    return there ? &og__conv_of(c)->names : NULL;
}

bool og__model_normalises(int kind)
{
    const struct og_model_config c = {.kind = kind};
    return og__conv_of(&c)->wants_degrees;
}

bool og__model_takes_edges(int kind)
{
    return kinds[kind]->edge_cols;
}

bool og__model_needs_edges(int kind)
{
    return kinds[kind]->needs_edges;
}

bool og__model_is_alone(int kind)
{
    return kinds[kind]->alone;
}

bool og__model_joins(int kind)
{
    return kinds[kind]->joins;
}

bool og__model_wants_degrees(const struct og_model_config *c)
{
    return og__conv_of(c)->wants_degrees && !og__in_parts(c);
}

bool og__model_counts_relation(const struct og_model_config *c, uint32_t relation)
{
    if (!og__conv_of(c)->wants_degrees || !og__in_parts(c))
        return false;
    const struct og_live live = og__live_relations(c);
    for (int l = 0; l < c->layers; l++)
        if (live.of[l][relation])
            return true;
    return false;
}

bool og__model_weighs(const struct og_model_config *c)
{
    return og__conv_of(c)->aggregate == OG__WEIGHTED_MEAN || c->edge_weights != OG_EDGE_WEIGHTS_OFF;
}

bool og__model_sums_weights(const struct og_model_config *c)
{
    return og__conv_of(c)->wants_degrees && c->edge_weights != OG_EDGE_WEIGHTS_OFF;
}

/* ==== checks ==== */

static int check_weights(const struct og_model_config *c, struct og_err *err)
{
    if (c->edge_weights == OG_EDGE_WEIGHTS_MEAN && !og__conv_of(c)->means)
        return og__fail(err, -EINVAL, "use --edge-weights multiply",
                        "--edge-weights mean: of the model sage with --aggregator mean alone");
    return 0;
}

static int check_choices(const struct og_model_config *c, struct og_err *err)
{
    if (c->kind < 0 || c->kind >= (int)OG_COUNT(kinds))
        return og__fail(err, -EINVAL, &OG__MODELS(LISTED)[2], "model: kind %d is unknown", c->kind);
    if (c->norm < OG_NORM_NONE || c->norm > OG_NORM_LAYER)
        return og__fail(err, -EINVAL, "none, batch or layer", "model: norm %d is unknown", c->norm);
    if (c->aggregator < OG_AGGREGATOR_MEAN || c->aggregator > OG_AGGREGATOR_GCN)
        return og__fail(err, -EINVAL, "mean, max or gcn", "model: aggregator %d is unknown",
                        c->aggregator);
    if (!kinds[c->kind]->by_aggregator && c->aggregator != OG_AGGREGATOR_MEAN)
        return og__fail(err, -EINVAL, "leave it out, or use --model sage",
                        "--aggregator: this model's is fixed");
    if (!og__is_task(c->task) || !og__scoring(c->decoder))
        return og__fail(err, -EINVAL, NULL, "model: task %d with decoder %d is unknown", c->task,
                        c->decoder);
    const struct og_conv *conv = og__conv_of(c);
    const struct og_scoring *scoring = og__scoring(c->decoder);
    int rc = og__relates(c) && scoring->check ? scoring->check(c->n_classes, err) : 0;
    if (rc == 0)
        rc = check_weights(c, err);
    if (rc == 0)
        rc = og__model_check_edges(c, err);
    if (rc == 0 && conv->check)
        rc = conv->check(c, err);
    if (rc == 0 && conv->joins)
        rc = og__joined_check(c, err);
    return rc == 0 && og__in_parts(c) ? og__relational_check(c, err) : rc;
}

int og__model_check(const struct og_model_config *c, struct og_err *err)
{
    const int widest = 1 << 20;
    if (c->layers < 1 || c->layers > OG_MAX_HOPS)
        return og__fail(err, -EINVAL, NULL, "model: %d layers, 1 to %d expected", c->layers,
                        OG_MAX_HOPS);
    if (c->in_dim < 1 || c->in_dim > widest || c->hidden < 1 || c->hidden > widest)
        return og__fail(err, -EINVAL, NULL, "model: widths %d and %d, 1 to %d expected", c->in_dim,
                        c->hidden, widest);
    if (c->edge_dim < 0 || c->edge_dim > widest)
        return og__fail(err, -EINVAL, NULL, "model: rows of edges of width %d, 0 to %d expected",
                        c->edge_dim, widest);
    if (c->n_classes < 1 || c->n_classes > widest)
        return og__fail(err, -EINVAL,
                        "classes are numbered from 0; do the labels hold ids, or values?",
                        "model: %d classes, 1 to %d expected", c->n_classes, widest);
    const double shares[] = {c->dropout, c->input_dropout, c->attention_dropout};
    for (size_t i = 0; i < OG_COUNT(shares); i++)
        if (!(shares[i] >= 0 && shares[i] < 1))
            return og__fail(err, -EINVAL, NULL, "model: dropout %g is not in [0, 1)", shares[i]);
    return check_choices(c, err);
}

int og__model_check_graph(const struct og_model_config *c, struct og_err *err)
{
    if (og__types_of(c) > 0)
        return 0;
    if (og__conv_of(c)->joins)
        return og__fail(err, -EINVAL, "use --model sage, or a heterogeneous graph",
                        "--model %s: requires relations, and this graph has none",
                        og__model_words[c->kind]);
    return 0;
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
    return kinds[kind]->parameters && is_one_of(option, kinds[kind]->parameters);
}

/* ==== types ==== */

const struct og_graph_types *og__types(const struct og_model_config *c)
{
    static const struct og_graph_types one = {.n_relations = 1};
    return c->types && c->types->by_relation ? c->types : &one;
}

/* ==== layers ==== */

int og__layer_in(const struct og_model_config *c, int layer)
{
    return layer == 0 ? c->in_dim : c->hidden;
}

int og__layer_own(const struct og_model_config *c, int layer)
{
    return layer == 0 && c->own_dim > 0 ? c->own_dim : og__layer_in(c, layer);
}

int og__layer_out(const struct og_model_config *c, int layer)
{
    return og__is_last(c, layer) ? og__model_width(c) : c->hidden;
}

int og__layer_mid(const struct og_model_config *c, int layer)
{
    const struct og_conv *conv = og__conv_of(c);
    if (conv->mid)
        return conv->mid(c, layer);
    return conv->pools ? og__layer_in(c, layer) : og__layer_out(c, layer);
}

int og__head_width(const struct og_model_config *c, int layer)
{
    return og__is_last(c, layer) ? og__model_width(c) : c->hidden / c->heads;
}

int og__all_heads(const struct og_model_config *c, int layer)
{
    return c->heads * og__head_width(c, layer);
}

enum og__aggregate og__aggregate_of(const struct og_model_config *c)
{
    const enum og__aggregate kind = og__conv_of(c)->aggregate;
    if (kind == OG__MEAN && c->edge_weights == OG_EDGE_WEIGHTS_MEAN)
        return OG__WEIGHTED_MEAN;
    return kind == OG__SYMMETRIC && c->apart ? OG__BETWEEN : kind;
}

bool og__pools(const struct og_model_config *c)
{
    return og__conv_of(c)->pools;
}

bool og__has_self(const struct og_model_config *c)
{
    return og__conv_of(c)->has_self;
}

bool og__in_parts(const struct og_model_config *c)
{
    return og__types_of(c) > 0 && !og__conv_of(c)->joins;
}

bool og__projects(const struct og_model_config *c, uint32_t type)
{
    const struct og_graph_type *of = &c->types->type[type];
    return og__conv_of(c)->joins && og__has_features(of) && of->dim != c->in_dim;
}

bool og__projects_some(const struct og_model_config *c)
{
    bool some = false;
    for (uint32_t t = 0; t < og__types_of(c); t++)
        some |= og__projects(c, t);
    return some;
}

int og__widest_row(const struct og_model_config *c)
{
    int most = c->in_dim;
    for (uint32_t t = 0; t < og__types_of(c); t++)
        most = OG_MAX(most, c->types->type[t].dim);
    return most;
}

bool og__trains_input(const struct og_model_config *c)
{
    bool any = c->trains_input || og__projects_some(c);
    for (uint32_t t = 0; t < og__types_of(c); t++)
        any |= c->types->type[t].trained;
    return any;
}

bool og__is_last(const struct og_model_config *c, int layer)
{
    return layer == c->layers - 1;
}

bool og__finishes(const struct og_model_config *c, int layer)
{
    const struct og_conv *conv = og__conv_of(c);
    const bool more = c->norm != OG_NORM_NONE || conv->elu || conv->unit || conv->finishes;
    return more && !og__is_last(c, layer);
}

/* ==== sparse rows ==== */

bool og__is_sparse(const struct og_model_config *c, int layer)
{
    return layer == 0 && c->entries > 0;
}

bool og__multiplies_sparse(const struct og_model_config *c, int layer, enum og__role role, int n_in)
{
    const bool own = c->own_dim > 0 && role == OG__SELF;
    if (layer > 0 || role == OG__EDGE || role == OG__OUT)
        return false;
    return own ? c->own_entries > 0 : c->entries > 0 && n_in == og__layer_in(c, layer);
}

int og__dropped_width(int dim, uint32_t entries)
{
    return entries > 0 ? (int)(og__row_size(dim, OG_F32, og__dropped_room(entries)) / sizeof(float))
                       : dim;
}

/* ==== order of operators ==== */

bool og__transform_first(const struct og_block *b, int n_in, int n_out)
{
    double e = (double)b->n_edges, s = b->n_src, d = b->n_dst, in = n_in, out = n_out;
    double aggregate_first = (e + 2 * d) * in;
    double transform_first = s * (in + out) + e * out;
    return transform_first < aggregate_first && s * out <= d * in;
}

bool og__may_transform_first(const struct og_model_config *c, int layer)
{
    return c->own_dim > 0 || og__is_sparse(c, layer) ||
           og__layer_mid(c, layer) < og__layer_in(c, layer);
}

/* How many multiply-adds of a product take as long as an element that an edge adds. */
enum { OF_AN_EDGE = 12 };

bool og__may_blend(const struct og_model_config *c, int layer)
{
    return c->bases > 0 && c->bases * OF_AN_EDGE < og__layer_out(c, layer);
}

bool og__blends(const struct og_model_config *c, int layer, const struct og_block *b)
{
    const double d = b->n_dst, lists = b->n_lists, edges = (double)b->n_edges;
    const double out = og__layer_out(c, layer), bases = c->bases;
    return og__may_blend(c, layer) && bases * d <= lists &&
           bases * (d * out + OF_AN_EDGE * edges) < lists * out;
}

/* A row of all heads must stay in cache, and scratch has memory for such rows. */
enum { WIDEST_ATTENDED = 4096 };

bool og__may_attend_first(const struct og_model_config *c, int layer)
{
    return og__conv_of(c)->folds && !og__is_last(c, layer) && !og__is_sparse(c, layer) &&
           (int64_t)c->heads * og__layer_in(c, layer) <= WIDEST_ATTENDED;
}

bool og__folds_own(const struct og_model_config *c)
{
    return og__conv_of(c)->folds && c->apart;
}

bool og__folds_edges(const struct og_model_config *c)
{
    return og__conv_of(c)->folds && og__sees_edges(c);
}

bool og__may_write_input(const struct og_model_config *c, int layer)
{
    return og__may_attend_first(c, layer) || og__conv_of(c)->needs_edges;
}

/* Compares multiplications. Products take three passes, two of them backward (the last not for
 * features). So does aggregation along the edges, whose multiplications take eight times as
 * long. */
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
