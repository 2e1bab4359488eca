/* The convolutions, in the order of enum og_model_kind: each is a file and a row of this table. A
 * row names the struct of its traits and functions, og__conv_<name>. Convolutions share
 * conv_linear.c, conv_pool.c, conv_attend.c, conv_edges.c and conv_mixed.c. */
#ifndef OG_NN_KINDS_H
#define OG_NN_KINDS_H

#include "nn/sparse.h"

/* clang-format off */
#define OG__MODELS(row) \
    row(GCN, gcn) \
    row(SAGE, sage) \
    row(GAT, gat) \
    row(GIN, gin) \
    row(PINSAGE, pinsage) \
    row(RGCN, rgcn) \
    row(GATV2, gatv2) \
    row(GINE, gine) \
    row(TRANSFORMER, transformer) \
    row(MLP, mlp)
/* clang-format on */

struct og_arena;
struct og_conv_steps;
struct og_layer_work;
extern const struct og_conv_steps og__steps_linear, og__steps_pool, og__steps_attend,
    og__steps_mixed;
struct og_specs;

struct og_conv {
    const struct og_conv_steps *steps; /* model.h */
    enum og__aggregate aggregate;      /* how messages are aggregated */
    bool means;                        /* is a mean, which edge weights can weight */
    bool attends;                      /* with attention coefficients, */
    bool folds;                        /* whose vectors can be folded through the matrices */
    bool pools;                        /* sources pass a layer before pooling */
    bool takes_max;                    /* maximum pooling; else weighted mean */
    bool has_self;                     /* own rows have their own matrix */
    bool has_loops;                    /* a node is among its own neighbours */
    bool wants_degrees;                /* also degrees of sources */
    bool by_relation;                  /* has a convolution from one type's rows to another's, */
    bool sources_alone;                /* which ignores the destinations' own rows */
    bool joins;       /* one convolution for the edges of all relations (joined.h) */
    bool perceptron;  /* a hidden layer after the sum, and a weight of the own row */
    bool elu;         /* activation of hidden layers, instead of ReLU */
    bool unit;        /* and rows are scaled to length 1 */
    bool finishes;    /* hidden layers end with the operator `finish`, never within a product */
    bool needs_edges; /* has no formula without rows of edges */
    bool alone;       /* computes each node by itself: batches have no neighbours */
    bool needs_dots;  /* requires the operator `dots` */
    /* Columns of what an edge's row becomes in a layer; NULL: does not see edges. */
    int (*edge_cols)(const struct og_model_config *c, int layer);
    /* Width of the layer's intermediate rows; NULL: that of its output or, with pooling, of its
     * input. */
    int (*mid)(const struct og_model_config *c, int layer);
    /* With attention: memory of the scores of layer l on block b (workspace.c). */
    void (*suballoc_scores)(const struct og_model_config *c, int layer, const struct og_block *b,
                            bool training, struct og_arena *arena, struct og_layer_work *w);
    /* NULL: every configuration is valid. */
    int (*check)(const struct og_model_config *c, struct og_err *err);
    /* Parameters of a layer, in the order of PyTorch Geometric's state_dict. */
    void (*list)(struct og_specs *s, const struct og_model_config *c, int layer);
    struct og_conv_names names;
    const char *const *parameters; /* options; ends with NULL; NULL: none */
    /* One convolution per enum og_aggregator_kind, or NULL. If set, only `parameters` is used of
     * the rest. */
    const struct og_conv *const *by_aggregator;
};
#define OG__CONV_DECLARED(NAME, name) extern const struct og_conv og__conv_##name;
OG__MODELS(OG__CONV_DECLARED)

/* The convolution of a valid configuration. */
const struct og_conv *og__conv_of(const struct og_model_config *c);

/* ---- listing parameters (model.c) ---- */

/* Roles of a layer's parameters. */
enum og__role {
    OG__NEIGHBOUR, /* multiplies aggregated messages */
    OG__BIAS,
    OG__SELF, /* multiplies the destination's own row */
    OG__COMP, /* R-GCN: coefficients of the relations' matrices over the bases in OG__NEIGHBOUR */
    OG__POOL, /* multiplies every source before pooling */
    OG__POOL_BIAS, /* bias of that product, or of OG__NEIGHBOUR's if that comes first */
    OG__OUT,       /* GIN: second product of the perceptron */
    OG__OUT_BIAS,
    OG__EPS, /* GIN */
    OG__ATT_SRC,
    OG__ATT_DST,
    OG__ATT_EDGE,
    OG__EDGE, /* multiplies rows of edges */
    OG__EDGE_BIAS,
    OG__VALUE, /* transformer: of the sources, whose OG__NEIGHBOUR makes keys */
    OG__VALUE_BIAS,
    OG__QUERY,
    OG__QUERY_BIAS,
    OG__SELF_BIAS,
    OG__SKIP, /* residual between different widths */
    OG__NORM_WEIGHT,
    OG__NORM_BIAS,
    OG__NORM_MEAN, /* running statistic, like the next two */
    OG__NORM_VAR,
    OG__NORM_COUNT,
    OG__ROLES,
};

struct og_spec {
    enum og__role role;
    const char *module, *name; /* "<module>.<layer>.<name>" */
    int ndim;
    int64_t shape[OG_PARAM_DIMS];
    double bound; /* uniform in [-bound, bound]; 0: `value` */
    double value;
    bool running;         /* a statistic */
    bool weight;          /* multiplies rows, and is packed for that */
    bool multiplies_back; /* also in the backward pass */
};

struct og_specs {
    struct og_spec spec[OG__ROLES];
    size_t n;
};

struct og_spec *og__add_matrix(struct og_specs *s, enum og__role role, const char *name, int n_out,
                               int n_in, double bound);
struct og_spec *og__add_vector(struct og_specs *s, enum og__role role, const char *name, int n,
                               double bound);
/* Bounds of PyTorch's Linear initialisation, and of Glorot's. */
double og__by_fan_in(int n_in);
double og__glorot(int n_in, int n_out);

#endif
