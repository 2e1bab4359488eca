/* Inside of relational.h: what there is between the files of that name.
 *
 *   relational_shape.c    which relations have convolutions, and what follows from it
 *   relational_memory.c   what there is of a model, and the memory of a batch
 *   relational.c          a batch through the layers and back */
#ifndef OG_NN_RELATIONAL_PARTS_H
#define OG_NN_RELATIONAL_PARTS_H

#include "nn/relational.h"

/* Of one type, behind one layer. */
struct og_made {
    struct og_block nodes; /* of the hop: n_dst */
    bool begun;            /* the sum over relations has something in it */
};

struct og_relational {
    struct og_model *whole;
    const struct og_graph_types *types;
    struct og_live live;
    struct og_arena arrays;         /* in which these lie: */
    struct og_model *part;          /* [n_relations] their convolutions */
    struct og_model *end;           /* [n_types] what comes behind their sums */
    struct og_type_counts most, at; /* what the workspace was taken for; of the batch at hand */
    /* the batch at hand */
    const struct og_batch *batch;
    uint32_t *local; /* [n_ids] the host's, see by_type.h; and where degrees are looked at */
    uint32_t *node;  /* [n_ids] type by type: which of its type each is. NULL: they are not */
    struct og_numbers degrees; /* of the block at hand: of its sources, or scales of both ends */
    struct og_numbers lists;   /* of the block at hand: its indptr, its src, weights of its edges */
    struct og_block *block;    /* [n_relations] */
    struct og_made *made;      /* [layers][n_types] */
    struct og_side {
        struct og_rows input;
        void *room;               /* of the host's rows; NULL: none is needed */
        float *dropped;           /* what dropout leaves of it; NULL: none */
        struct og_numbers number; /* rows of the parameter that is its rows */
        float *grad;              /* of the layer's input; */
        bool begun;               /* there is something in it, */
        bool skipped;             /* and the residual's share of it */
    } * side;                     /* [n_types] */
    /* of links: rows of the last layer, those of one type behind those of another */
    struct og_ends_of_seeds {
        float *rows, *grad;      /* [seeds, F_out] */
        struct og_numbers place; /* [seeds] where each seed's row is there; */
        struct og_numbers seed;  /* and whose row is at each place */
    } of_seeds;
};

static inline struct og_made *og__made_at(const struct og_relational *d, int l, uint32_t type)
{
    return &d->made[(size_t)l * d->types->n_types + type];
}

static inline uint32_t og__hop_of(const struct og_model_config *c, int l)
{
    return (uint32_t)(c->layers - 1 - l);
}

static inline uint32_t og__type_nodes(const struct og_type_counts *n, uint32_t hop, uint32_t type)
{
    return (uint32_t)og__nodes_of(n, hop, type);
}

extern const struct og_ends og__ends_of_relations;

/* How many seeds are of types before this one, of those that logits are made of. */
static inline uint32_t og__seeds_before(const struct og_type_counts *n, uint32_t type)
{
    uint32_t sum = 0;
    for (uint32_t t = 0; t < type; t++)
        sum += og__type_nodes(n, 0, t);
    return sum;
}

#endif
