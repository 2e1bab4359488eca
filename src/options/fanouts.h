/* Fanouts of relations: --fanout, but where --relation-fanout says otherwise. */
#ifndef OG_FANOUTS_H
#define OG_FANOUTS_H

#include "dataset/graph.h"

/* *out [n_relations][opt->n_fanout], malloc'ed; of a graph without types NULL. -EINVAL for what is
 * not "NAME=N,N;NAME=N,N", a relation that the graph has not or that is named twice, and other
 * numbers than hops. */
OG_MUST_CHECK int og__fanouts_of_relations(const struct og_options *opt, const struct og_graph *g,
                                           int **out, struct og_err *err);

/* Is NAME, or SOURCE__NAME__DESTINATION, what it is called? -EINVAL, saying which there are. */
bool og__relation_is_named(const struct og_graph *g, const struct og_relation *r, const char *name,
                           size_t len);
int og__refuse_relation(const struct og_graph *g, const char *option, const char *name, size_t len,
                        struct og_err *err);

#endif
