/* Degree histogram in a trace of a heterogeneous graph. It has the nodes of each type with features
 * by out-degree, over all relations. If a policy ranks no nodes, a cache of several row sizes is
 * divided by degrees; for that, the histogram suffices.
 *
 *   degree_counts.npy   int64 [n, 3]: type, degree, nodes; types ascend, and in each degrees do */
#ifndef OG_DEGREE_COUNTS_H
#define OG_DEGREE_COUNTS_H

#include "base/json.h"
#include "sample/trace.h"

/* Writes the histogram of degree[] of all nodes into the folder; *written and `checksums` as for a
 * trace. A buffer comes from the budget as "trace". */
size_t og__degree_counts_bytes(void);
OG_MUST_CHECK int og__degree_counts_write(const char *dir, const struct og_trace_type *type,
                                          uint32_t n_types, const uint32_t *degree,
                                          struct og_budget *b, uint64_t *written, json_t *checksums,
                                          struct og_err *err);

/* Reads it into degree[], of the trace's nodes in the order of their types. The first nodes of a
 * type get the smallest degrees; 0 for nodes without features. Returns -ENOENT if the trace has
 * none, -EINVAL for other content than was written. */
OG_MUST_CHECK int og__degree_counts_read(const char *dir, const struct og_trace_description *of,
                                         uint32_t *degree, struct og_err *err);

/* Validates rows from outside, for fuzzing: one after another, then the end. */
struct og_degree_counts {
    const struct og_trace_description *of;
    uint32_t *degree; /* [n_nodes], zeros */
    const char *name; /* for messages */
    uint32_t type;    /* the row before is of it */
    uint64_t at;      /* the next node of it, 0 = none yet */
    int64_t last;     /* degree of the row before; below all: none */
};
struct og_degree_counts og__degree_counts_begin(const struct og_trace_description *of,
                                                uint32_t *degree, const char *name);
OG_MUST_CHECK int og__degree_counts_add(struct og_degree_counts *c, const int64_t row[3],
                                        struct og_err *err);
OG_MUST_CHECK int og__degree_counts_end(struct og_degree_counts *c, struct og_err *err);

#endif
