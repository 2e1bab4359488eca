/* The ways to draw, each in a file of its own and a row of this table, in the order of enum
 * og_sampler_kind. A row names the struct of its traits and functions, og__sampler_<name>. */
#ifndef OG_SAMPLE_KINDS_H
#define OG_SAMPLE_KINDS_H

#include "sample/hop.h"

/* clang-format off */
#define OG__SAMPLERS(row)                                                                          \
    row(UNIFORM, uniform)                                                                          \
    row(WEIGHTED, weighted)                                                                        \
    row(WALK, walk)                                                                                \
    row(LABOR, labor)                                                                              \
    row(LADIES, ladies)
/* clang-format on */

struct og_sampler_ops {
    /* traits: sample.h says what each means */
    bool weighs, reads_weights, by_visits, edges_unknown;
    const char *const *parameters; /* options, ends with NULL; NULL: none */
    /* functions; all but hop may be NULL: nothing to do, or nothing held */
    OG_MUST_CHECK int (*open)(struct og_sampler *s, struct og_err *err); /* into s->state */
    void (*close)(struct og_sampler *s); /* accepts what open left when it failed */
    OG_MUST_CHECK int (*hop)(struct og_hop *h, struct og_err *err);
    /* Where in its list the og__drawn_of neighbours of v are that it takes; NULL = its first. Only
     * of those that draw by degrees alone: batches of these are sampled together (together.h). */
    const uint32_t *(*positions)(const struct og_hop *h, uint32_t v);
    size_t (*bytes)(uint64_t seen); /* where a hop has that many in-neighbours to draw from */
    size_t (*disk_bytes)(const struct og_dataset *ds, const struct og_topology_disk_options *opt,
                         int64_t longest);
    uint64_t disk_edges; /* from disk: edges fetched together at least */
};
#define OG__SAMPLER_DECLARED(NAME, name) extern const struct og_sampler_ops og__sampler_##name;
OG__SAMPLERS(OG__SAMPLER_DECLARED)
const struct og_sampler_ops *og__sampler_ops(enum og_sampler_kind kind);

#endif
