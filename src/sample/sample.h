/* sample: neighbourhoods of mini-batches. It does not know what a feature is.
 *
 * A batch is a pure function of (seeds, fanout, seed, stream, epoch, batch): one sampler a thread,
 * any number of threads, the same batches. */
#ifndef OG_SAMPLE_H
#define OG_SAMPLE_H

#include "base/memory.h"
#include "base/random.h"
#include "dataset/topology.h"
#include "io/io.h"
#include "sample/batch_memory.h"

struct og_sampler;

/* topology stays the caller's and may be shared by many samplers. fanout[h]: hop h + 1, the one
 * nearest the seeds first; -1 = all neighbours; of a typed graph fanout[r * n_hops + h], of each
 * relation r. Buffers come from the budget as "sampler". On a
 * topology on disk it opens a reader of its own; the batches are the same, bit for bit. */
OG_MUST_CHECK int og__sampler_open(struct og_sampler **out, const struct og_topology *topology,
                                   const int *fanout, int n_hops, uint64_t seed,
                                   struct og_budget *b, struct og_err *err);
void og__sampler_close(struct og_sampler *s);
/* How neighbours are drawn; zeros = uniformly, in every hop. */
struct og_sampling {
    enum og_sampler_kind kind;
    int walks, walk_length; /* of walk: 1 to 128 walks of 1 to 16 steps */
    double restart;
    bool once; /* a node draws once a batch (og_draw_kind): blocks are OG__NESTED */
};
/* Right after open; then og__sample draws so. One that reads weights needs them, in memory
 * beside a topology in memory: else -ENOTSUP. */
OG_MUST_CHECK int og__sampler_choose(struct og_sampler *s, const struct og_sampling *how,
                                     struct og_err *err);
/* Traits of a kind, answered by its row in kinds.h. */
extern const char *const og__sampler_words[];               /* all kinds; ends with NULL */
bool og__sampling_weighs(enum og_sampler_kind kind);        /* does it fill og_block.weight? */
bool og__sampling_reads_weights(enum og_sampler_kind kind); /* of the dataset's edges? */
/* Does it keep the most visited nodes of walks, not in-neighbours alone, as many as --neighbors? */
bool og__sampling_by_visits(enum og_sampler_kind kind);
/* Is it not known beforehand how many edges a hop has? */
bool og__sampling_edges_unknown(enum og_sampler_kind kind);
/* Does it draw by degrees alone, so that batches can be sampled together from disk (together.h)? */
bool og__sampling_together(enum og_sampler_kind kind);
/* Does it look at this option, a parameter of some samplers? */
bool og__sampling_takes(int kind, const char *option);
/* Fill og_block.degree from now on; edges of nodes to themselves are known after og__loops_find. */
void og__sampler_keep_degrees(struct og_sampler *s);
/* What a sampler holds for batches up to caps; and what it holds besides when the topology is on
 * disk, its readers included, and the longest list is so long. */
size_t og__sampler_bytes(const struct og_batch_caps *caps);
/* Whose memory and kernels draw hops in a sampler's place, to the same edges and numbers: of
 * uniform sampling from a structure in memory. By one thread at a time. */
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

/* And of a state that has all relations in turn (og__sampler_disk_bytes is of each). */
size_t og__sampler_disk_state_bytes(const struct og_sampling *how);

/* What malloc holds for the former: little, but of hundreds of relations. */
size_t og__sampler_beside_bytes(const struct og_topology_disk_options *opt,
                                const struct og_sampling *how);

/* What the last og__sample read, and from where it had the lists it drew from (those of nodes
 * without in-neighbours are neither). All 0 in memory. */
struct og_sample_reads {
    struct og_io_counts io;
    uint64_t passes; /* how often something was read in the order of the file */
    uint64_t lists_cached, lists_read;
};
struct og_sample_reads og__sampler_reads(const struct og_sampler *s);

/* Sample one mini-batch: in every hop each node found so far draws up to fanout of its
 * in-neighbours, afresh, without replacement: uniformly, or as og__sampler_choose has it (labor
 * draws fanout of them on average; ladies fanout times n_seeds for all together). Those that draw
 * once a batch do so in the hop behind the one that found them, the seeds in the first; in later
 * hops they have the same neighbours.
 *
 * seeds   n_seeds distinct node ids, each < n_nodes; copied
 * out     refilled; its arrays stay valid until the next call with it
 *
 * 0, -EINVAL (seed out of range or doubled), -ENOMEM; of a topology on disk -EIO, and -EINVAL for
 * an id that is none. One sampler a thread. */
OG_MUST_CHECK int og__sample(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                             enum og__stream stream, uint32_t epoch, uint32_t batch,
                             struct og_batch_memory *out, struct og_err *err);

/* The same in steps, for those who use the nodes of a hop while the next is sampled: begin takes
 * the seeds; each hop adds its block and the nodes it found to out->batch.ids[before .. n_ids). */
struct og_sample_key {
    enum og__stream stream;
    uint32_t epoch, batch;
};
OG_MUST_CHECK int og__sample_begin(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                                   struct og_batch_memory *out, struct og_err *err);
OG_MUST_CHECK int og__sample_hop(struct og_sampler *s, const struct og_sample_key *key, int hop,
                                 struct og_batch_memory *out, struct og_err *err);

#endif
