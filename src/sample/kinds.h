/* The table of samplers, each in its own file, in the order of enum og_sampler_kind. A row names
 * og__sampler_<name>, the struct of its traits and functions. */
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
    row(LADIES, ladies)                                                                            \
    row(DISJOINT, disjoint)
/* clang-format on */

struct og_sampler_ops {
    /* traits, described in sample.h */
    bool reads_weights, by_visits, edges_unknown;
    bool weighs;                   /* it has weights of its own for og_block.weight */
    bool one_state;                /* s->state is shared by all relations */
    bool trees;                    /* each seed has a tree of its own (trees.h) */
    const char *const *parameters; /* options, ends with NULL; NULL: none */
    /* functions; all but hop may be NULL: nothing to do, or no memory */
    OG_MUST_CHECK int (*open)(struct og_sampler *s, struct og_err *err); /* into s->state */
    void (*close)(struct og_sampler *s); /* accepts what open left when it failed */
    OG_MUST_CHECK int (*hop)(struct og_hop *h, struct og_err *err);
    /* How batches on disk are sampled as a group (group_sampling.h); NULL: each reads alone. */
    const struct og_pass_ops *pass;
    /* By positions: the positions in v's list of its og__drawn_of neighbours; NULL = the first
     * ones. */
    const uint32_t *(*positions)(const struct og_hop *h, uint32_t v);
    /* By lists: chooses neighbours of v, or takes the whole list for a hop. `tree` is that of v, if
     * there are trees. */
    OG_MUST_CHECK int (*take)(const struct og_hop *h, uint32_t v, uint32_t tree,
                              const struct og_list *list, struct og_taken *out, struct og_err *err);
    /* By lists: checks or changes a list in memory before any batch takes from it. It may be called
     * again for a changed list. NULL: nothing to do. */
    OG_MUST_CHECK int (*arrange)(const struct og_hop *h, uint32_t v, const struct og_list *list,
                                 struct og_err *err);
    /* memory of a sampler for group sampling */
    size_t (*take_bytes)(const struct og_sampling *how, int64_t longest);
    size_t (*bytes)(uint64_t seen); /* for a hop with that many in-neighbours to draw from */
    size_t (*disk_bytes)(const struct og_relation *of, const struct og_sampling *how,
                         const struct og_topology_disk_options *opt, int64_t longest);
    /* the same for a state that relations share (one_state) */
    size_t (*disk_state_bytes)(const struct og_sampling *how);
    /* from disk: edges fetched together at least */
    uint64_t (*disk_edges)(const struct og_sampling *how);
};
#define OG__SAMPLER_DECLARED(NAME, name) extern const struct og_sampler_ops og__sampler_##name;
OG__SAMPLERS(OG__SAMPLER_DECLARED)
const struct og_sampler_ops *og__sampler_ops(enum og_sampler_kind kind);

/* Takes element i of the list of v, with its weight if how.weights. The second takes all elements,
 * ids before weights. Returns -EINVAL for an invalid id. */
OG_MUST_CHECK int og__take_neighbor(const struct og_hop *h, uint32_t v, const struct og_list *list,
                                    int64_t i, struct og_taken *out, struct og_err *err);
OG_MUST_CHECK int og__take_list(const struct og_hop *h, uint32_t v, uint32_t tree,
                                const struct og_list *list, struct og_taken *out,
                                struct og_err *err);

/* Calls the kind's arrange for nodes first .. first + n whose lists are in the range. */
OG_MUST_CHECK int og__listed_arrange(const struct og_hop *h, const struct og_pass *p,
                                     const struct og_range *range, uint32_t first, uint32_t n,
                                     struct og_err *err);

#endif
