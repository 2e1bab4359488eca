/* profiling: a few batches that are sampled before the run, and estimates from them.
 *
 *   ids of each batch ──> how distinct nodes grow with batches ──> what a superbatch will have
 *                    └──> misses under a cache of any size ──────> staging areas, cache
 *   sizes of each hop ──> caps, with a margin ───────────────────> all buffers of the run
 *   seconds, reads ──────────────────────────────────────────────> what sampling takes */
#ifndef OG_PROFILING_H
#define OG_PROFILING_H

#include "flow/structure.h"

/* Batches sampled before the run to learn its sizes. Each has ids of input nodes, then of units of
 * edges whose rows it takes. */
struct og_profiling {
    uint32_t *ids;
    uint64_t *ptr; /* [n + 1] ids of batch i: [ptr[i], ptr[i + 1]) */
    uint32_t n;
    size_t bytes;
    uint64_t rows; /* of all of them */
    double seconds;
    double core_seconds;                          /* of its thread: without waiting for the disk */
    struct og_sample_reads reads;                 /* what sampling the training batches read */
    struct og_sample_group_requests sample_group; /* of a sample group, from a disk; or none */
    struct og_batch_caps caps;     /* of these and of an evaluation batch; no margin */
    struct og_type_counts by_type; /* the same by types, where a model reads them */
    /* once it is noted: */
    struct og_growth growth;
    uint32_t *place; /* [rows] by og__profiling_rank; NULL = not ranked */
};

/* ---- sampling it ---- */

/* Training batches of an epoch that it may take: this rank's, or all ranks' where they exchange
 * rows. */
uint64_t og__profiling_epoch(const struct og_structure *g);
/* From a structure that is open, or mapped for a first look. */
OG_MUST_CHECK int og__profiling_run(struct og_profiling *p, const struct og_structure *g,
                                    struct og_budget *b, struct og_err *err);
/* The first training batches alone, as far as the limits let it, and at least one. */
struct og_profiling_limits {
    uint32_t epoch; /* whose they are */
    uint32_t batches;
    double seconds; /* none is begun later; 0 = no limit */
    size_t bytes;   /* none is begun with more ids; 0 = no limit */
};
OG_MUST_CHECK int og__profiling_sample(struct og_profiling *p, const struct og_structure *g,
                                       const struct og_profiling_limits *limits,
                                       struct og_budget *b, struct og_err *err);
void og__profiling_release(struct og_profiling *p, struct og_budget *b);
/* Requests to one of several ranks that exchange rows, each of its nodes once a round. The
 * profiling batches are those of rounds. The time and the reads are those of an own batch a
 * round. */
OG_MUST_CHECK int og__profiling_requests(struct og_profiling *out, const struct og_profiling *p,
                                         const struct og_share *own, uint64_t n_nodes,
                                         struct og_budget *b, struct og_err *err);

/* ---- how large batches are ---- */

/* Caps with a margin for batches larger than the profiling batches', bounded by what the graph
 * allows. */
struct og_batch_caps og__caps_with_margin(const struct og_batch_caps *seen,
                                          const struct og_config *config,
                                          const struct og_workload *f);
/* The same by types; *out is made where it is zeroed. */
OG_MUST_CHECK int og__types_with_margin(struct og_type_counts *out,
                                        const struct og_type_counts *seen,
                                        const struct og_config *config, const struct og_workload *f,
                                        struct og_err *err);

/* ---- how distinct nodes grow ---- */

/* Distinct nodes among the profiling batches, and how they grow: into p->growth. */
OG_MUST_CHECK int og__profiling_growth(struct og_profiling *p, uint64_t n_nodes,
                                       struct og_budget *b, struct og_err *err);

/* ---- what a cache would miss ---- */

/* Ranks nodes: hotness[N] becomes the position of each node, N - 1 the hottest. The smaller id
 * comes first among equal ones. Also notes the positions of the profiling batches' rows. Memory
 * plans made with such profiling batches count their misses without a placement: for many execution
 * plans. */
OG_MUST_CHECK int og__profiling_rank(struct og_profiling *p, uint64_t n_nodes, uint32_t *hotness,
                                     struct og_budget *b, struct og_err *err);
/* The places alone are given back. */
void og__profiling_unrank(struct og_profiling *p, struct og_budget *b);

/* Estimates of a cache by the profiling batches. */
struct og_profiling_cache {
    const struct og_profiling *profiling;
    const struct og_workload *workload;
    int policy;
    bool of_batches; /* rows of an own batch, where requests of others are planned */
    /* [N] hotness that stands for what the policy will cache. It is not made of the profiling
     * batches before number `from`. NULL: nothing is known before the run, and every row may
     * miss */
    const uint32_t *hotness;
    uint32_t from;
    struct og_budget *budget; /* of a placement, where the profiling batches are not ranked */
};
/* Misses of the worst batch, with margin, of each group with rows. */
struct og_misses og__profiling_misses(const struct og_profiling_cache *cache);

#endif
