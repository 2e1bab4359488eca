/* The convolutions: a file and a row of this table each, in the order of enum og_model_kind. A row
 * names the struct of its traits and functions, og__conv_<name>; what convolutions are computed
 * with is shared (conv_linear.c, conv_pool.c, conv_attend.c, conv_mixed.c). */
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
    row(GATV2, gatv2)
/* clang-format on */

struct og_arena;
struct og_conv_steps;
struct og_layer_work;
extern const struct og_conv_steps og__steps_linear, og__steps_pool, og__steps_attend,
    og__steps_mixed;
struct og_specs;

struct og_conv {
    const struct og_conv_steps *steps; /* model.h */
    enum og__aggregate aggregate;      /* what comes along the edges is summed so */
    bool attends;                      /* with coefficients of attention, */
    bool folds;                        /* whose vectors may be folded through the matrices */
    bool pools;                        /* sources pass a layer before they are pooled */
    bool takes_max;                    /* of those; else their weighted mean */
    bool has_self;                     /* own rows have a matrix of their own */
    bool has_loops;                    /* a node counts among its own neighbours */
    bool wants_degrees;                /* of sources, too */
    bool by_relation;                  /* there is one from one type's rows to another's, */
    bool sources_alone;                /* which does not look at the destinations' own */
    bool joins;                        /* one for the edges of all relations (joined.h) */
    bool perceptron; /* a hidden layer behind the sum, and a weight of the own row */
    bool elu;        /* hidden layers end in it, in the place of ReLU */
    bool unit;       /* and their rows are scaled to length 1 */
    /* Width of what the layer makes on the way; NULL: that of its output, of one that pools its
     * input's. */
    int (*mid)(const struct og_model_config *c, int layer);
    /* Of one that attends: what scores are made of, for layer l on block b (workspace.c). */
    void (*carve_scores)(const struct og_model_config *c, int layer, const struct og_block *b,
                         bool training, struct og_arena *arena, struct og_layer_work *w);
    /* NULL: any configuration will do. */
    int (*check)(const struct og_model_config *c, struct og_err *err);
    /* Parameters of a layer, in the order of PyTorch Geometric's state_dict. */
    void (*list)(struct og_specs *s, const struct og_model_config *c, int layer);
    struct og_conv_names names;
    const char *const *parameters; /* options, ends with NULL; NULL: none */
    /* One for each enum og_aggregator_kind, where there is a choice: then the rest is not looked at
     * but for parameters. */
    const struct og_conv *const *by_aggregator;
};
#define OG__CONV_DECLARED(NAME, name) extern const struct og_conv og__conv_##name;
OG__MODELS(OG__CONV_DECLARED)

/* The model is one that there is. */
const struct og_conv *og__conv_of(const struct og_model_config *c);

/* ---- listing parameters (model.c) ---- */

/* What a layer's parameters are for. */
enum og__role {
    OG__NEIGHBOUR, /* multiplies what comes along the edges */
    OG__BIAS,
    OG__SELF,      /* multiplies the destination's own row */
    OG__COMP,      /* R-GCN: how relations' matrices are mixed of OG__NEIGHBOUR */
    OG__POOL,      /* multiplies every source before it is pooled */
    OG__POOL_BIAS, /* of that product, or of OG__NEIGHBOUR's where it comes first */
    OG__OUT,       /* GIN: second product of the perceptron */
    OG__OUT_BIAS,
    OG__EPS, /* GIN */
    OG__ATT_SRC,
    OG__ATT_DST,
    OG__SELF_BIAS,
    OG__SKIP, /* residual where widths differ */
    OG__NORM_WEIGHT,
    OG__NORM_BIAS,
    OG__NORM_MEAN, /* running, as the next two */
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
    bool weight;          /* multiplies rows, and is packed for it */
    bool multiplies_back; /* on the way back as well */
};

struct og_specs {
    struct og_spec spec[OG__ROLES];
    size_t n;
};

struct og_spec *og__add_matrix(struct og_specs *s, enum og__role role, const char *name, int n_out,
                               int n_in, double bound);
struct og_spec *og__add_vector(struct og_specs *s, enum og__role role, const char *name, int n,
                               double bound);
/* How PyTorch's Linear starts, and Glorot's rule. */
double og__by_fan_in(int n_in);
double og__glorot(int n_in, int n_out);

#endif
