/* Internals of relational.h, shared by its files.
 *
 *     relational_shape.c    which relations have convolutions, and what follows
 *     relational_memory.c   memory of a model and of a batch
 *     relational.c          forward and backward pass of a batch */
#ifndef OG_NN_RELATIONAL_PARTS_H
#define OG_NN_RELATIONAL_PARTS_H

#include "nn/relational.h"

/* Output of one type after one layer. */
struct og_made {
    struct og_block nodes; /* block of the hop: n_dst */
    bool begun;            /* the sum over relations has a first term */
};

struct og_relational {
    struct og_model *whole;
    const struct og_graph_types *types;
    struct og_live live;
    struct og_arena arrays;         /* memory of the next arrays: */
    struct og_model *part;          /* [n_relations] their convolutions */
    struct og_model *end;           /* [n_types] ends after their sums */
    struct og_type_counts most, at; /* counts that the workspace was allocated for; of the current
                                       batch */
    /* the current batch */
    const struct og_batch *batch;
    uint32_t *local; /* [n_ids] in host memory, see by_type.h; and if degrees are required */
    uint32_t *node;  /* [n_ids] by type: id of each within its type; NULL: not required */
    struct og_numbers degrees; /* of the current block: of its sources, or scales of both ends */
    struct og_numbers lists;   /* of the current block: indptr, src, edge weights */
    struct og_block *block;    /* [n_relations] */
    struct og_made *made;      /* [layers][n_types] */
    struct og_side {
        struct og_rows input;
        void *room;     /* copy of host rows; NULL: not required */
        float *dropped; /* rows after dropout; NULL: none */
        struct og_sparse_rows dropped_form;
        struct og_numbers number; /* rows of the parameter that has the type's rows */
        float *grad;              /* gradient of the layer's input; */
        bool begun;               /* it has a first term, */
        bool skipped;             /* and the residual's term */
    } * side;                     /* [n_types] */
    /* for seeds of several types: rows of the last layer, type after type */
    struct og_ends_of_seeds {
        float *rows, *grad;      /* [seeds, F_out] */
        struct og_numbers place; /* [seeds] position of each seed's row in it; */
        struct og_numbers seed;  /* and the seed at each position */
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

/* Number of seeds of earlier types, among types with logits. */
static inline uint32_t og__seeds_before(const struct og_type_counts *n, uint32_t type)
{
    uint32_t sum = 0;
    for (uint32_t t = 0; t < type; t++)
        sum += og__type_nodes(n, 0, t);
    return sum;
}

#endif
