/* Models of heterogeneous graphs. Each layer has a convolution per relation, from rows of the
 * source type to rows of the destination type. Each type sums over the relations that end there
 * (R-GCN, Schlichtkrull et al. 2018; PyTorch Geometric's HeteroConv with aggr="sum"):
 *
 *     paper  ──cites──> conv ──┐
 *     author ─writes──> conv ──┼─ + ─> norm, activation, dropout ─> the next layer's paper
 *     paper  ──residual────────┘
 *
 * A relation's convolutions are an og_model without ends and memory of its own. The code of
 * homogeneous models (conv_*.c) computes them on the relation's block; their outputs are added to
 * sums. The ends after a type's sums are an og_model without convolutions (layer.c). So a graph
 * with one type and one relation has bit-identical results to a homogeneous one.
 *
 * A relation has a convolution in a layer if its source and destination have rows there. Its output
 * must also reach the logits of the seeds. Seeds of nodes have the types with labels, each with
 * convolutions of its own in the last layer. Seeds of links have any type. With several types, rows
 * of the last layer are ordered by seed, as one matrix. Blocks are computed for one relation at a
 * time, in both passes, so only one is in memory. */
#ifndef OG_NN_RELATIONAL_H
#define OG_NN_RELATIONAL_H

#include "dataset/meta.h"
#include "nn/model.h"

/* ---- by the configuration alone ---- */

struct og_live {
    bool of[OG_MAX_HOPS][OG_MOST_RELATIONS]; /* the relation has a convolution in the layer; */
    bool end[OG_MAX_HOPS][OG_MOST_TYPES];    /* one ends in the type, which has rows after it */
};
struct og_live og__live_relations(const struct og_model_config *c);
/* Whether logits are computed for the type: one of the seeds', or every type for links. */
bool og__makes_logits(const struct og_model_config *c, uint32_t type);
/* Whether seeds of a batch may be of several types. */
bool og__mixes_seeds(const struct og_model_config *c);
/* The number of types that have rows after the layer. */
uint32_t og__count_ends(const struct og_model_config *c, int layer);
/* Configurations, as of homogeneous models, of a relation's convolutions and of a type's ends. */
struct og_model_config og__relation_config(const struct og_model_config *c, uint32_t relation);
struct og_model_config og__type_config(const struct og_model_config *c, uint32_t type);
/* Check a configuration against types and relations. -EINVAL. */
OG_MUST_CHECK int og__relational_check(const struct og_model_config *c, struct og_err *err);

/* ---- an open model ---- */

OG_MUST_CHECK int og__relational_open(struct og_relational **out, struct og_model *whole,
                                      struct og_budget *b, struct og_err *err);
size_t og__relational_bytes(const struct og_model_config *c); /* charged to the budget */
void og__relational_close(struct og_relational *d);           /* accepts NULL */
/* What a model consists of: convolutions of relations, then ends of types; or the model itself. */
uint32_t og__n_submodels(const struct og_model_config *c);
struct og_model *og__submodel(struct og_model *m, uint32_t i);
struct og_model *og__type_model(struct og_relational *d, uint32_t type);
/* Name of a parameter: "convs.<layer>.convs.<source___name___destination>.<name>". As in PyTorch
 * Geometric's ModuleDict, # replaces dots. */
void og__name_of_relation(const struct og_model *part, const char *module, int layer,
                          const char *name, char *out, size_t bytes);
/* Name of a type's parameter: "norms.<layer>.<type>.<name>", likewise. */
void og__name_of_type(const struct og_model *part, const char *module, int layer, const char *name,
                      char *out, size_t bytes);

/* Memory of a batch, from its counts by type; like suballoc_layers of workspace.c. */
void og__suballoc_relations(const struct og_suballocation *k, struct og_workspace *out);
/* Counts of the current batch; the largest that memory was allocated for. */
const struct og_type_counts *og__relational_counts(const struct og_relational *d);
struct og_type_counts *og__relational_most(struct og_relational *d);

/* x: the rows of each type. Like those of step.c; pairs: for links, else NULL. */
OG_MUST_CHECK int og__relational_forward(struct og_model *m, const struct og_batch *batch,
                                         const struct og_rows *x, const struct og_pairs *pairs,
                                         const struct og_step *step, struct og_err *err);
OG_MUST_CHECK int og__relational_backward(struct og_model *m, struct og_err *err);

/* Key of a relation in names of parameters, "<author___writes___paper>"; and of a type. */
void og__relation_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes);
void og__type_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes);

#endif
