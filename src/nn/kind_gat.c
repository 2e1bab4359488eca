/* GAT (Velickovic et al. 2018): a sum weighted by multi-head attention. Between two node types,
 * destinations have their own matrix and no loops. */
#include "nn/conv_attend.h"
#include "nn/conv_edges.h"

static void suballoc_scores(const struct og_model_config *c, int l, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w)
{
    (void)l;
    (void)training;
    w->score_src = og__suballoc(arena, b->n_src * (size_t)c->heads * sizeof(float));
    w->score_dst = og__suballoc(arena, b->n_dst * (size_t)c->heads * sizeof(float));
}

static void list(struct og_specs *s, const struct og_model_config *c, int l)
{
    const int in = og__layer_in(c, l), own = og__layer_own(c, l), mid = og__all_heads(c, l);
    og__add_attention(s, c, l, OG__ATT_SRC, "att_src");
    og__add_attention(s, c, l, OG__ATT_DST, "att_dst");
    if (og__sees_edges(c))
        og__add_attention(s, c, l, OG__ATT_EDGE, "att_edge");
    og__add_vector(s, OG__BIAS, "bias", og__layer_out(c, l), 0);
    og__add_matrix(s, OG__NEIGHBOUR, c->apart ? "lin_src.weight" : "lin.weight", mid, in,
                   og__glorot(in, mid));
    if (c->apart) /* only for scores: it multiplies no rows */
        og__add_matrix(s, OG__SELF, "lin_dst.weight", mid, own, og__glorot(own, mid))->weight =
            false;
    if (og__sees_edges(c)) /* likewise */
        og__add_matrix(s, OG__EDGE, "lin_edge.weight", mid, c->edge_dim,
                       og__glorot(c->edge_dim, mid))
            ->weight = false;
}

static int edge_cols(const struct og_model_config *c, int l)
{
    (void)l;
    return c->heads;
}

static const char *const marks[] = {"att_src", "lin.weight", NULL};
static const char *const parameters[] = {"heads", "attention-dropout", "edge-weights",
                                         "edge-features", NULL};

const struct og_conv og__conv_gat = {
    .steps = &og__steps_attend,
    .aggregate = OG__MEAN, /* unused */
    .attends = true,
    .folds = true,
    .has_loops = true,
    .by_relation = true,
    .elu = true,
    .edge_cols = edge_cols,
    .mid = og__all_heads,
    .suballoc_scores = suballoc_scores,
    .check = og__check_heads,
    .list = list,
    .names = {.marks = marks,
              .first = "lin.weight",
              .apart = "lin_src.weight",
              .att = "att_src",
              .edge = "lin_edge.weight"},
    .parameters = parameters,
};
