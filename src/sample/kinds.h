/* The ways to draw, each in a file of its own and a row of this table, in the order of enum
 * og_sampler_kind. A row names the struct of its traits and functions, og__sampler_<name>. */
#ifndef OG_SAMPLE_KINDS_H
#define OG_SAMPLE_KINDS_H

#include "sample/lists.h"
#include "sample/runs.h"

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
    bool one_state;                /* s->state is of no relation: all have the same */
    const char *const *parameters; /* options, ends with NULL; NULL: none */
    /* functions; all but hop may be NULL: nothing to do, or nothing held */
    OG_MUST_CHECK int (*open)(struct og_sampler *s, struct og_err *err); /* into s->state */
    void (*close)(struct og_sampler *s); /* accepts what open left when it failed */
    OG_MUST_CHECK int (*hop)(struct og_hop *h, struct og_err *err);
    /* Batches whose structure is on disk are sampled together (together.h) in this way; NULL: each
     * reads for itself. */
    const struct og_pass_ops *pass;
    /* By positions: where in its list the og__drawn_of neighbours of v are that it takes; NULL =
     * its first. */
    const uint32_t *(*positions)(const struct og_hop *h, uint32_t v);
    /* By lists: what v takes of its own; `weights` where it reads_weights. */
    OG_MUST_CHECK int (*take)(const struct og_hop *h, uint32_t v, const struct og_list *list,
                              const float *weights, struct og_taken *out, struct og_err *err);
    size_t (*take_bytes)(int64_t longest); /* what a sampler holds to be sampled together */
    size_t (*bytes)(uint64_t seen); /* where a hop has that many in-neighbours to draw from */
    size_t (*disk_bytes)(const struct og_relation *of, const struct og_topology_disk_options *opt,
                         int64_t longest);
    /* the same of a state that relations share (one_state) */
    size_t (*disk_state_bytes)(const struct og_sampling *how);
    /* from disk: edges fetched together at least */
    uint64_t (*disk_edges)(const struct og_sampling *how);
};
#define OG__SAMPLER_DECLARED(NAME, name) extern const struct og_sampler_ops og__sampler_##name;
OG__SAMPLERS(OG__SAMPLER_DECLARED)
const struct og_sampler_ops *og__sampler_ops(enum og_sampler_kind kind);

/* Takes the i-th of the list of v. -EINVAL for an id that is none. */
OG_MUST_CHECK int og__take_source(const struct og_hop *h, uint32_t v, const struct og_list *list,
                                  int64_t i, struct og_taken *out, struct og_err *err);

#endif
