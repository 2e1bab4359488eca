/* What metadata.yaml names, opened (graphbolt.c); for its graphs with types too
 * (typed_graphbolt.c).
 */
#ifndef OG_IMPORT_GRAPHBOLT_H
#define OG_IMPORT_GRAPHBOLT_H

#include "dataset/import/graphbolt_meta.h"
#include "dataset/import/import.h"

struct og_bolt {
    struct og_importer *imp;
    struct og_gb_meta *meta;
    const struct og_gb_task *task; /* NULL = none */
    const char *labelled;          /* the type that the sets are of, or NULL where there are none */
    struct og_edges edges;
    struct og_table *features;
    struct og_table *seeds[3], *labels[3]; /* NULL = absent */
};
extern const char *const og__bolt_splits[3]; /* "train.npy" */

/* "metadata.yaml: WHAT VALUE" */
int og__bolt_wrong(const struct og_bolt *b, const char *hint, const char *what, const char *value,
                   struct og_err *err);
OG_MUST_CHECK int og__bolt_data(const struct og_bolt *b, const struct og_gb_data *d,
                                enum og__npy_type csv_type, int64_t columns, struct og_table **out,
                                struct og_err *err);
/* To b->edges. */
OG_MUST_CHECK int og__bolt_edges(struct og_bolt *b, const struct og_gb_data *d, struct og_err *err);
/* Of nodes of a type, NULL = without one; *out stays NULL where there are none. */
OG_MUST_CHECK int og__bolt_features(struct og_bolt *b, const char *type, struct og_table **out,
                                    struct og_err *err);
/* Seeds and labels of the task's sets. */
OG_MUST_CHECK int og__bolt_sets(struct og_bolt *b, struct og_err *err);
OG_MUST_CHECK int og__bolt_labels(struct og_bolt *b, struct og_err *err);

OG_MUST_CHECK int og__import_bolt_typed(struct og_bolt *b, struct og_err *err);

#endif
