/* What follows from a model's configuration alone, and from the sizes of a block: how wide layers
 * are, what they are made of, what they do first. */
#ifndef OG_NN_SHAPE_H
#define OG_NN_SHAPE_H

#include "nn/kinds.h"

/* How many there are; 0 and 1 of a homogeneous graph. */
static inline uint32_t og__types_of(const struct og_model_config *c)
{
    return c->types ? c->types->n_types : 0;
}
static inline uint32_t og__relations_of(const struct og_model_config *c)
{
    return c->types ? c->types->n_relations : 1;
}
int og__layer_in(const struct og_model_config *c, int layer);
int og__layer_own(const struct og_model_config *c, int layer); /* of destinations' own rows */
int og__layer_out(const struct og_model_config *c, int layer);
/* Width of what a layer makes on the way; that of its output where it makes nothing. */
int og__layer_mid(const struct og_model_config *c, int layer);
int og__head_width(const struct og_model_config *c, int layer);
int og__all_heads(const struct og_model_config *c, int layer); /* heads times that */

enum og__aggregate og__aggregate_of(const struct og_model_config *c);
bool og__pools(const struct og_model_config *c); /* sources pass a layer before they are pooled */
bool og__has_self(const struct og_model_config *c); /* own rows have a matrix of their own */
/* Relations have convolutions of their own (relational.h). */
bool og__in_parts(const struct og_model_config *c);
/* Features of the type pass a layer of their own, to the width that all types' rows have
 * (joined.h). */
bool og__projects(const struct og_model_config *c, uint32_t type);
bool og__projects_some(const struct og_model_config *c); /* those of some type */
int og__widest_row(const struct og_model_config *c); /* of what layer 0 reads, also before that */
bool og__trains_input(const struct og_model_config *c); /* some of what layer 0 reads is learnt */
bool og__is_last(const struct og_model_config *c, int layer);
bool og__finishes(const struct og_model_config *c, int layer); /* the layer's end is `finish` */

/* Whether to multiply before aggregating: it then moves F_out instead of F_in wide rows along the
 * edges, but multiplies all S sources instead of D destinations. Whichever moves fewer bytes; and
 * only where its matrix fits the place of the other's, so that memory can be planned. */
bool og__transform_first(const struct og_block *b, int n_in, int n_out);
/* Whether there are blocks for which it may be so: where no source is missing, only narrower
 * products; a relation may have fewer sources than destinations. */
bool og__may_transform_first(const struct og_model_config *c, int layer);

/* The same choice for attention, which would move rows heads times F_in wide: attending to inputs
 * spares products where sources are many times the destinations. Hidden layers only. */
bool og__attend_first(const struct og_model_config *c, int layer, const struct og_block *b);
/* Whether there are blocks for which it may be so. */
bool og__may_attend_first(const struct og_model_config *c, int layer);
/* R-GCN's bases: whether coefficients are added up along the edges first, so that a destination has
 * a product for each basis instead of one for each of its lists; and only where what is added up
 * fits the place of the lists' means. */
bool og__blends(const struct og_model_config *c, int layer, const struct og_block *b);
/* Whether there are blocks for which it may be so. */
bool og__may_blend(const struct og_model_config *c, int layer);
/* Whether scores of destinations are those of their rows, without a product. */
bool og__folds_own(const struct og_model_config *c);

#endif
