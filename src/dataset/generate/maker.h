/* A synthetic dataset in creation: its specification (request.c) and its generation (generate.c).
 */
#ifndef OG_GENERATE_MAKER_H
#define OG_GENERATE_MAKER_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/generate/edges.h"
#include "dataset/schema.h"
#include "dataset/writer.h"

/* A node group. */
struct og_maker_group {
    struct og_generate g;
    struct og_graph_model model; /* of it */
};

struct og_maker {
    struct og_generate g; /* of the first group */
    const struct og_observer *observer;
    struct og_graph graph;
    struct og_maker_group *group; /* [n_groups] */
    double *degree;               /* [n_relations] edges for each node of the destination */
    uint64_t *seed;               /* [n_relations] */
    const struct og_edge_model *edges;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_newdir dir;
    json_t *checksums;
    float *quantile; /* [QUANTILES] of the standard normal */
    char *chunk;     /* of an array, on its way to disk */
    /* the current group */
    const struct og_maker_group *of;
    float *mean; /* [classes, dim] */
    uint64_t first, count;
};

/* Parses and checks the groups and relations of the options, and sets their models. Release it even
 * after a failure. */
OG_MUST_CHECK int og__maker_request(struct og_maker *k, const struct og_generate *g,
                                    struct og_err *err);
void og__maker_release(struct og_maker *k);

#endif
