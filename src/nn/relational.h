/* A model of a typed graph: for each layer and relation a convolution of its own, from the rows of
 * the source's type to those of the destination's, and in each type the sum over the relations that
 * end there (R-GCN, Schlichtkrull et al. 2018; PyTorch Geometric's HeteroConv with aggr="sum"):
 *
 *   paper  ──cites──> conv ──┐
 *   author ─writes──> conv ──┼─ + ─> norm, activation, dropout ─> the next layer's paper
 *   paper  ──residual────────┘
 *
 * A relation's convolutions are an og_model without ends or memory of their own: they are computed
 * by the code that untyped ones are (conv_*.c), on the relation's block, and its ends lead to sums.
 * What comes behind a type's sum is an og_model without convolutions (layer.c).
 * So a graph of one type and one relation has the numbers of an untyped one, bit for bit.
 *
 * A relation has a convolution in a layer if its source and destination have rows there, and if
 * what it makes reaches the logits of the seeds. Seeds are of one type, but those of links are of
 * any: what the last layer makes of their types is put in the order of the seeds, as one matrix.
 * Blocks are made a relation at a time, on the way forward and again on the way back: so one has to
 * be held, not one of each relation. */
#ifndef OG_NN_RELATIONAL_H
#define OG_NN_RELATIONAL_H

#include "dataset/meta.h"
#include "nn/model.h"

/* ---- by the configuration alone ---- */

struct og_live {
    bool of[OG_MAX_HOPS][OG_MOST_RELATIONS];
};
/* Which relations have convolutions, in each layer. */
struct og_live og__live_relations(const struct og_model_config *c);
/* Whether logits are made of the type's nodes: those of seeds; of links of all. */
bool og__makes_logits(const struct og_model_config *c, uint32_t type);
/* Whether any ends in the type: then it has rows behind the layer. How many types have. */
bool og__has_end(const struct og_live *live, const struct og_graph_types *g, int layer,
                 uint32_t type);
uint32_t og__count_ends(const struct og_model_config *c, int layer);
/* As those of an untyped model of a relation's convolutions, of what is behind a type's sums. */
struct og_model_config og__relation_config(const struct og_model_config *c, uint32_t relation);
struct og_model_config og__type_config(const struct og_model_config *c, uint32_t type);
/* What relations and types allow. */
OG_MUST_CHECK int og__relational_check(const struct og_model_config *c, struct og_err *err);

/* ---- while there is one ---- */

OG_MUST_CHECK int og__relational_open(struct og_relational **out, struct og_model *whole,
                                      struct og_budget *b, struct og_err *err);
size_t og__relational_bytes(const struct og_model_config *c); /* what it takes of the budget */
void og__relational_close(struct og_relational *d);           /* accepts NULL */
struct og_model *og__relation_model(struct og_relational *d, uint32_t relation);
struct og_model *og__type_model(struct og_relational *d, uint32_t type);
/* Of a parameter: "convs.<layer>.convs.<source___name___destination>.<name>", as PyTorch
 * Geometric's ModuleDict has it, which puts # in the place of a dot. */
void og__name_of_relation(const struct og_model *part, const char *module, int layer,
                          const char *name, char *out, size_t bytes);
/* "norms.<layer>.<type>.<name>", the same way. */
void og__name_of_type(const struct og_model *part, const char *module, int layer, const char *name,
                      char *out, size_t bytes);

/* Memory of a batch, by the counts of types: as carve_layers of workspace.c. */
void og__carve_relations(const struct og_carving *k, struct og_workspace *out);
/* Those of the batch at hand; the largest that there is memory for. */
const struct og_type_counts *og__relational_counts(const struct og_relational *d);
struct og_type_counts *og__relational_most(struct og_relational *d);

/* x: for each type its rows. As those of step.c; pairs: of links, else NULL. */
OG_MUST_CHECK int og__relational_forward(struct og_model *m, const struct og_batch *batch,
                                         const struct og_rows *x, const struct og_pairs *pairs,
                                         const struct og_step *step, struct og_err *err);
OG_MUST_CHECK int og__relational_backward(struct og_model *m, struct og_err *err);

/* What a relation is called in the names of parameters: "<author___writes___paper>"; and a type. */
void og__relation_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes);
void og__type_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes);

#endif
