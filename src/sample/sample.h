/* sample: neighbourhoods of mini-batches. It knows nothing of features.
 *
 * A batch is a pure function of (seeds, fanout, seed, stream, epoch, batch). With one sampler a
 * thread, any number of threads makes the same batches. */
#ifndef OG_SAMPLE_H
#define OG_SAMPLE_H

#include "base/memory.h"
#include "base/random.h"
#include "dataset/topology.h"
#include "io/io.h"
#include "sample/batch_memory.h"

struct og_sampler;
struct og_times;

/* Opens a sampler. The caller owns topology, which many samplers may share. fanout[h]: of hop h +
 * 1, the one nearest the seeds first; -1 = all neighbours. Heterogeneous: fanout[r * n_hops + h] of
 * each relation r. Buffers come from the budget as "sampler". A topology on disk gets a reader of
 * its own; its batches are bit-identical. */
OG_MUST_CHECK int og__sampler_open(struct og_sampler **out, const struct og_topology *topology,
                                   const int *fanout, int n_hops, uint64_t seed,
                                   struct og_budget *b, struct og_err *err);
void og__sampler_close(struct og_sampler *s);
/* The sampling method; zeros = uniform in every hop. */
struct og_sampling {
    enum og_sampler_kind kind;
    int walks, walk_length; /* of walk: 1 to 128 walks of 1 to 16 steps */
    double restart;
    bool once;    /* a node samples once a batch (og_draw_kind): blocks are OG__NESTED */
    bool replace; /* a neighbour may be sampled several times: uniform only */
    /* og_block.weight has the weights of the sampled edges, times the kind's own weights. Not with
     * walks, which sample no edges. */
    bool weights;
    /* [n_relations] of the edges' rows; NULL: blocks have no og_block.edge. Not with walks, which
     * sample no edges. Borrowed while samplers are open */
    const struct og_edge_unit *edges;
    /* Disjoint trees, whose edges are no later than the tree's seed, by times of this kind. NULL:
     * all edges are early enough. Borrowed while samplers are open */
    enum og_times_kind time;
    const struct og_times *times;
    int64_t window; /* nor earlier than the seed by more; 0: any earlier edge */
    bool last;      /* the last ones are taken, instead of a uniform sample */
    /* of labor: batches of training that share most random numbers; 0 counts as 1. And how many
     * batches an epoch has */
    uint32_t dependency;
    uint64_t batches;
    bool one_layer; /* all hops have the numbers of the first */
};
/* The number of neighbours that a node samples of so many: all of them if fanout is -1. */
static inline int64_t og__drawn_number(bool replace, int fanout, int64_t degree)
{
    if (fanout < 0 || degree == 0)
        return degree;
    return replace ? fanout : OG_MIN(degree, (int64_t)fanout);
}
/* Sets the method right after open. One that reads weights needs them in memory if the topology is
 * in memory, with tables if it samples by them: else -ENOTSUP. */
OG_MUST_CHECK int og__sampler_choose(struct og_sampler *s, const struct og_sampling *how,
                                     struct og_err *err);
/* Traits of a sampler, from its row in kinds.h. */
extern const char *const og__sampler_words[];               /* all kinds; ends with NULL */
bool og__sampling_reads_weights(enum og_sampler_kind kind); /* does it sample by edge weights? */
/* Does it select the most visited nodes of walks, as many as --neighbors, not only in-
 * neighbours? */
bool og__sampling_by_visits(enum og_sampler_kind kind);
/* Is the number of a hop's edges unknown in advance? */
bool og__sampling_edges_unknown(enum og_sampler_kind kind);
/* Does it use this option, a parameter of some samplers? */
bool og__sampling_takes(int kind, const char *option);
/* Does each seed have a tree of its own (trees.h)? Then a seed may come several times. */
bool og__sampling_of_trees(enum og_sampler_kind kind);
/* Does it fill og_block.weight? How does it use edge weights? Can batches be sampled as a group
 * from disk (group_sampling.h)? */
bool og__sampling_weighs(const struct og_sampling *how);
enum og_weights og__sampling_weights(const struct og_sampling *how);
bool og__sampler_takes_groups(const struct og_sampling *how);
/* Fills og_block.degree from now on; self-loops are known after og__loops_find. */
void og__sampler_keep_degrees(struct og_sampler *s);
/* Memory of a sampler for batches up to caps. The second: its additional memory with the topology
 * on disk, readers included, for this longest list. */
size_t og__sampler_bytes(const struct og_batch_caps *caps);
/* Draws hops instead of a sampler, with its own memory and kernels and identical results. For
 * uniform sampling from a topology in memory. One thread at a time. */
struct og_hop;
struct og_elsewhere {
    void *self;
    int (*hop)(void *self, struct og_hop *h, struct og_err *err);
};
void og__sampler_elsewhere(struct og_sampler *s, const struct og_elsewhere *e); /* borrowed */
struct og_topology_disk_options;
size_t og__sampler_disk_bytes(const struct og_relation *of,
                              const struct og_topology_disk_options *opt,
                              const struct og_batch_caps *caps, const struct og_sampling *how,
                              int64_t longest);

/* The state shared by all relations (og__sampler_disk_bytes is for each). */
size_t og__sampler_disk_state_bytes(const struct og_sampling *how);

/* malloc's memory for the former: small, unless there are hundreds of relations. */
size_t og__sampler_extra_bytes(const struct og_topology_disk_options *opt,
                               const struct og_sampling *how);

/* Reads of the last og__sample, and the sources of its lists (neither counter has nodes without
 * in-neighbours). All 0 in memory. */
struct og_sample_reads {
    struct og_io_counts io;
    uint64_t passes; /* sequential scans of a file */
    uint64_t lists_cached, lists_read;
};
struct og_sample_reads og__sampler_reads(const struct og_sampler *s);

/* What identifies the draws of a batch. */
struct og_sample_key {
    enum og__stream stream;
    uint32_t epoch, batch;
    const int64_t *times; /* [n_seeds] of the seeds' trees; NULL: those of the seeds themselves */
};

/* Samples one mini-batch. In every hop each node found so far draws up to fanout of its
 * in-neighbours, independently of other hops, without replacement. Uniformly, or by
 * og__sampler_choose (labor draws fanout on average; ladies fanout times n_seeds for all together).
 * Nodes that sample once a batch do so in the hop after the one that found them, seeds in the
 * first. In later hops they keep these neighbours.
 *
 * seeds   n_seeds node ids, each < n_nodes; distinct, except of trees; copied
 * out     refilled; its arrays stay valid until the next call with it
 *
 * Returns 0, -ENOMEM, or -EINVAL for a seed out of range or duplicated. With a topology on disk
 * also -EIO, and -EINVAL for an invalid id. One sampler a thread. */
OG_MUST_CHECK int og__sample(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                             const struct og_sample_key *key, struct og_batch_memory *out,
                             struct og_err *err);

/* og__sample in steps, for callers that use the nodes of a hop while the next is sampled. The seeds
 * go to begin. Each hop adds its block and the nodes it found to out->batch.ids[before ..
 * n_ids). */
OG_MUST_CHECK int og__sample_begin(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                                   struct og_batch_memory *out, struct og_err *err);
OG_MUST_CHECK int og__sample_hop(struct og_sampler *s, const struct og_sample_key *key, int hop,
                                 struct og_batch_memory *out, struct og_err *err);

#endif
