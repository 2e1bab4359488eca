/* Properties of layers that follow from a model's configuration and a block's sizes: widths,
 * memory, order of operators. */
#ifndef OG_NN_SHAPE_H
#define OG_NN_SHAPE_H

#include "nn/kinds.h"

/* Those of the graph; if homogeneous, no node types and one relation. */
const struct og_graph_types *og__types(const struct og_model_config *c);
static inline uint32_t og__types_of(const struct og_model_config *c)
{
    return og__types(c)->n_types;
}
static inline uint32_t og__relations_of(const struct og_model_config *c)
{
    return og__types(c)->n_relations;
}
int og__layer_in(const struct og_model_config *c, int layer);
int og__layer_own(const struct og_model_config *c, int layer); /* width of destinations' own rows */
int og__layer_out(const struct og_model_config *c, int layer);
/* Width of a layer's intermediate rows, or of its output if there are none. */
int og__layer_mid(const struct og_model_config *c, int layer);
int og__head_width(const struct og_model_config *c, int layer);
int og__all_heads(const struct og_model_config *c, int layer); /* heads times that */

enum og__aggregate og__aggregate_of(const struct og_model_config *c);
bool og__pools(const struct og_model_config *c);    /* sources pass a layer before pooling */
bool og__has_self(const struct og_model_config *c); /* own rows have their own matrix */
/* Whether each relation has its own convolution (relational.h). */
bool og__in_parts(const struct og_model_config *c);
/* Whether features of the type pass a linear layer to the common width (joined.h). */
bool og__projects(const struct og_model_config *c, uint32_t type);
bool og__projects_some(const struct og_model_config *c); /* whether those of some type do */
int og__widest_row(const struct og_model_config *c); /* of layer 0's input, before the linear layers
                                                        too */
bool og__trains_input(const struct og_model_config *c); /* layer 0 reads learnable rows */
bool og__is_last(const struct og_model_config *c, int layer);
bool og__finishes(const struct og_model_config *c, int layer); /* the layer ends with `finish` */

/* Are layer 0's rows sparse? They are multiplied before all else, by og_weight.by_column. */
bool og__is_sparse(const struct og_model_config *c, int layer);
/* Does the weight of this role and width multiply sparse rows? */
bool og__multiplies_sparse(const struct og_model_config *c, int layer, enum og__role role,
                           int n_in);
/* Floats of a feature row after dropout. */
int og__dropped_width(int dim, uint32_t entries);
/* Such rows have room for the longest. */
static inline uint32_t og__dropped_room(uint32_t longest)
{
    return (uint32_t)og__round_up(OG_MAX(longest, 1u), OG__ENTRIES_STEP);
}

/* Whether to multiply before aggregating. This moves rows of width F_out instead of F_in along the
 * edges, but multiplies S sources instead of D destinations. Chooses the order that moves fewer
 * bytes, if its matrix fits the memory of the other's. */
bool og__transform_first(const struct og_block *b, int n_in, int n_out);
/* Whether a block exists for which og__transform_first can hold. Only narrower products qualify if
 * every block has all destinations as sources; a relation may have fewer sources than destinations.
 */
bool og__may_transform_first(const struct og_model_config *c, int layer);

/* Whether to attend before multiplying, which moves rows heads times F_in wide. This saves products
 * if there are many sources per destination. Hidden layers only. */
bool og__attend_first(const struct og_model_config *c, int layer, const struct og_block *b);
/* Whether a block exists for which og__attend_first can hold. */
bool og__may_attend_first(const struct og_model_config *c, int layer);
/* R-GCN's bases: whether to sum with coefficients along the edges first. A destination then has a
 * product per basis instead of per list. Only if the sums fit the memory of the lists' means. */
bool og__blends(const struct og_model_config *c, int layer, const struct og_block *b);
/* Whether a block exists for which og__blends can hold. */
bool og__may_blend(const struct og_model_config *c, int layer);
/* Whether scores of destinations come from their rows, without a product. */
bool og__folds_own(const struct og_model_config *c);
/* Whether scores of edges do. */
bool og__folds_edges(const struct og_model_config *c);
/* Whether a layer may write the gradient of its input itself (og__input_slot). Else it has terms
 * for an affine operator. */
bool og__may_write_input(const struct og_model_config *c, int layer);

#endif
