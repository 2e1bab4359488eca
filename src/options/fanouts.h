/* Fanouts of relations: --fanout, or --relation-fanout for the relations that it names. */
#ifndef OG_FANOUTS_H
#define OG_FANOUTS_H

#include "dataset/graph.h"

/* Allocate *out [n_relations][opt->n_fanout]; the caller frees it. Returns -EINVAL unless the graph
 * is homogeneous or the option is "NAME=N,N;NAME=N,N", names each of the graph's relations at
 * most once, and has one number per hop. */
OG_MUST_CHECK int og__fanouts_of_relations(const struct og_options *opt, const struct og_graph *g,
                                           int **out, struct og_err *err);

/* Whether the relation's name is NAME, or SOURCE__NAME__DESTINATION. And the error for an unknown
 * name: -EINVAL with the names of all relations. */
bool og__relation_is_named(const struct og_graph *g, const struct og_relation *r, const char *name,
                           size_t len);
int og__refuse_relation(const struct og_graph *g, const char *option, const char *name, size_t len,
                        struct og_err *err);

#endif
