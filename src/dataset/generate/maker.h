/* A synthetic dataset being made: what those with and without types share (generate.c, typed.c). */
#ifndef OG_GENERATE_MAKER_H
#define OG_GENERATE_MAKER_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/generate/edges.h"
#include "dataset/schema.h"
#include "dataset/writer.h"

enum { OG__TASKS_A_ROUND = 64 }; /* edges drawn in parallel before they go to the sorter */

struct og_maker {
    const struct og_generate *g;
    struct og_graph_model model;
    const struct og_observer *seen;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_newdir dir;
    json_t *checksums;
    struct og_graph graph; /* its groups and relations */
    float *quantile;       /* [QUANTILES] of the standard normal */
    float *mean;           /* [classes, dim] */
    /* one chunk on its way to disk */
    char *chunk;
    uint64_t first, count;
};

OG_MUST_CHECK int og__generate_check(const struct og_generate *g, struct og_err *err);
void og__maker_tell(const struct og_maker *k, const char *stage, const char *unit, uint64_t done,
                    uint64_t total);
OG_MUST_CHECK int og__maker_stopped(const struct og_maker *k, struct og_err *err);

/* What features are made of, and room for a chunk; free also what failed. */
OG_MUST_CHECK int og__maker_tables(struct og_maker *k, struct og_err *err);
void og__maker_free_tables(struct og_maker *k);
/* A row a node, as `name`. */
OG_MUST_CHECK int og__maker_features(struct og_maker *k, const char *name, struct og_err *err);
/* train.npy, valid.npy and test.npy. */
OG_MUST_CHECK int og__maker_splits(struct og_maker *k, struct og_err *err);

OG_MUST_CHECK int og__generate_plain(const char *out, const struct og_generate *g,
                                     const struct og_observer *seen, struct og_err *err);
OG_MUST_CHECK int og__generate_typed(const char *out, const struct og_generate *g,
                                     const struct og_observer *seen, struct og_err *err);

#endif
