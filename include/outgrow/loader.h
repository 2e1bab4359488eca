/* Mini-batches for a model of your own. Part of the public API; see outgrow.h for the tour.
 *
 * The loader is the data path of training without the model. Its threads sample, plan, read and
 * copy batches while the caller computes (examples/loader.c):
 *
 *     struct og_loader *l = NULL;
 *     const struct og_minibatch *b = NULL;
 *     int rc = og_loader_open(&l, "papers100M", opt, NULL, NULL, &err);
 *     for (int epoch = 1; rc == 0 && epoch <= 10; epoch++) {
 *         rc = og_loader_start(l, epoch, &err);
 *         while (rc == 0 && (rc = og_loader_next(l, -1, &b, &err)) == 0 && b) {
 *             step(b->x.data, b->edge_index.data, b->y.data);
 *             og_minibatch_release(b);
 *         }
 *     }
 *     og_loader_close(l);
 *
 * Batches and their order are those of og_sample with the same options, for any memory, policy and
 * threads. `epochs` bounds the lookahead; later epochs may be started too. The task is the only
 * option of the model that applies; eval_every does not.
 *
 * Any thread may call functions of one loader. og_loader_next, og_loader_start, og_loader_evaluate,
 * og_loader_restore and og_loader_close may wait. In a forked process, calls that can fail return
 * -ECHILD and the others do nothing. */
#ifndef OUTGROW_LOADER_H
#define OUTGROW_LOADER_H

#include <outgrow/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element type of an array. bf16 is the upper half of a float. */
enum og_element {
    OG_ELEMENT_F32,
    OG_ELEMENT_F16,
    OG_ELEMENT_BF16,
    OG_ELEMENT_U8,
    OG_ELEMENT_I64,
};

/* A dense array in C order; data NULL: no such array. Aligned to 64 bytes, except `src`, `dst`,
 * `weight`, `edge` and `edge_attr` of a hop, which are aligned to their elements. */
struct og_array {
    void *data;
    int element; /* enum og_element */
    int n_dims;  /* 1 or 2 */
    int64_t shape[2];
};

/* One hop, a bipartite block. hop[0] is nearest the seeds, which are its destinations. Destinations
 * of hop h are ids[0 .. n_dst), its sources ids[0 .. n_src). So the destinations of hop h + 1 are
 * the sources of hop h. */
struct og_minibatch_hop {
    size_t size; /* of this struct, as the library has it; likewise in the next structs */
    int64_t n_dst, n_src, n_edges;
    int64_t first_edge;        /* columns [first_edge, first_edge + n_edges) of edge_index */
    struct og_array indptr;    /* i64 [n_dst + 1] of CSR by destination, from 0 */
    struct og_array src;       /* i64 [n_edges] positions in ids: CSR indices, COO sources */
    struct og_array dst;       /* i64 [n_edges] positions in ids, ascending: COO destinations */
    struct og_array weight;    /* f32 [n_edges], if the sampler weights edges */
    struct og_array edge;      /* i64 [n_edges] place of each edge in indices.npy, of a relation in
                                  rel<r>_indices.npy; with og_loader_options.edge_places */
    struct og_array edge_attr; /* [n_edges, dim of the relation] rows of edge_features.npy; with
                                  og_loader_options.edge_features, of relations that have them */
};

/* One node type of a heterogeneous graph. Destinations of hop h are ids[0 .. n[h]), the first n[0]
 * of them seeds; its sources are ids[0 .. n[h + 1]). */
struct og_minibatch_type {
    size_t size;
    const char *name;
    int64_t n[OG_MAX_HOPS + 1];
    struct og_array ids;  /* i64 [n[n_hops]] within the type, in order of discovery */
    struct og_array x;    /* [n[n_hops], dim of the type]; absent without features */
    struct og_array tree; /* i64 [n[n_hops]] as og_minibatch.tree; absent likewise */
};

/* One relation of a heterogeneous graph: blocks between a source type and a destination type.
 * Positions refer to the ids of these types. */
struct og_minibatch_relation {
    size_t size;
    const char *name;
    int source, destination;                   /* node types */
    struct og_minibatch_hop *hop[OG_MAX_HOPS]; /* [n_hops] */
    struct og_array edge_index;                /* i64 [2, E], edges of the relation */
};

/* A mini-batch. The struct is read-only. The caller may write to the memory of its arrays until the
 * batch is released. */
struct og_minibatch {
    size_t size;
    const char *split; /* "train", "valid", "test", or "seeds" (the caller's); static storage */
    int epoch;         /* from 1; 0 in a pass of og_loader_evaluate */
    int64_t batch;     /* number in the epoch or pass, from 0, among the batches of all ranks */
    int64_t batches;   /* of the epoch or pass, of all ranks */
    int64_t n_seeds;   /* ids[0 .. n_seeds) are seeds; for links, the ends of the pairs. A seed that
                          og_loader_options.seeds lists twice appears twice, with its row and its
                          in-edges; its out-edges leave the first place */
    int n_hops;
    struct og_minibatch_hop *hop[OG_MAX_HOPS]; /* [n_hops]; none for a heterogeneous graph */
    struct og_array ids;        /* i64 [n] nodes, seeds first; distinct except for repeated seeds */
    struct og_array input_id;   /* i64 [n_seeds] position of each seed in og_loader_options.seeds or
                                   in the split's file. For links [n_positive], of each edge */
    struct og_array x;          /* [n, dim] features with their stored dtype, or that of the option
                                   pack-dtype; i8 and e4m3 as floats. Sparse rows are the bytes
                                   [n, bytes] of the dataset's features.npy */
    struct og_array y;          /* i64 [n_seeds] classes, -1 = none; f32 [n_seeds, C] for several
                                   labels and regression; absent for links */
    struct og_array edge_index; /* i64 [2, E] sources and destinations of all hops, hop 0 first.
                                   With the option draw once those of the last hop, which begin
                                   with the edges of the other hops. Then first_edge is 0, and hops
                                   share memory */
    struct og_array pairs;      /* for links: i64 [2, P] positions in ids, sources and destinations.
                                   First n_positive edges, then n_negative negatives, then in
                                   evaluation the ranking negatives of edge 0, of edge 1, ...,
                                   equally many each */
    int64_t n_positive, n_negative;
    /* For a heterogeneous graph the members above have ids (of the whole graph), y and pairs. Types
     * and relations have the rest. They live as long as the batch, names included. */
    int n_types, n_relations;                /* 0: homogeneous */
    struct og_minibatch_type **type;         /* [n_types] */
    struct og_minibatch_relation **relation; /* [n_relations] */
    struct og_array pair_relation;           /* i64 [P] relation of each pair; the pair's positions
                                                refer to the ids of its types. Ranking negatives are
                                                first those that keep the source, of each edge in
                                                turn, then equally many that keep the destination. A
                                                ranking negative that is an edge is replaced by the
                                                positive edge itself */
    uint64_t hits, misses;                   /* rows, of all nodes with features */
    uint64_t bytes_read;                     /* of features, topology and samples, for this batch */
    double stall_seconds;                    /* time that og_loader_next waited for it */
    struct og_array tree; /* i64 [n] position of the seed in whose neighbourhood each of ids is.
                             With the sampler disjoint, whose batches have a node once in each
                             neighbourhood; else absent */
};

/* Seeds of a loader, and how the caller uses batches. Defaults are in brackets. */
struct og_loader_options {
    size_t size;          /* of this struct, as the caller has it; og_loader_options_init sets it */
    const char *split;    /* "train", "valid" or "test" [NULL = "train"] */
    const int64_t *seeds; /* instead of a split: node ids, copied [NULL]; not for links */
    int64_t n_seeds;
    int hold;            /* batches that the caller retains in addition to the last one [1]. Each
                            has a planned buffer; unused buffers are filled with the next batches.
                            0: the next batch is copied only after the last one was released */
    double step_seconds; /* seconds that the caller computes per batch, an input of policy auto [0 =
                            unknown] */
    bool no_features;    /* do not read features; x is absent [false] */
    bool evaluates;      /* evaluate "valid" after every eval_every epochs and after the last
                            planned one [false]. These passes are prefetched like epochs */
    const int64_t
        *links; /* [n_links, 2] for the task link: source and destination of each, in place of the
                   graph's edges [NULL]. Nodes of the whole graph; copied. In a heterogeneous graph
                   they belong to the one relation of the option relation. Blocks keep edges that
                   links repeat; no negatives are drawn */
    int64_t n_links;
    uint32_t rank, ranks; /* of a process that trains together with others: it has the batches whose
                             number modulo ranks is rank. All of them open the loader with the same
                             dataset, options and seeds [0, 0 = alone] */
    int local_ranks;      /* of them on this machine [0 = all]. They share the option memory and,
                             unless these are given, threads and disk */
    bool drop_last;     /* an epoch ends before a batch of fewer seeds [false]. It also ends before
                           a round that has no batch for every rank */
    bool edge_places;   /* hops have `edge`. Not with walks, pre-sampled batches or a device that
                           samples [false] */
    bool edge_features; /* hops have `edge_attr`, under the same conditions [false]. Rows of edges
                           are read and cached within the option memory, as rows of nodes are */
    const char *share; /* name of memory that this machine's ranks share [NULL: no further name]. It
                          has the topology, and a static cache of all features. Ranks find each
                          other by dataset and name. "": each has copies of its own */
    const int64_t *times;    /* with the option time: those of seeds or links, copied [NULL: the
                                nodes' own, or the split's]. No edge of a seed's neighbourhood is later
                              */
    uint32_t source_repeats; /* with links, and the options disjoint and no-shuffle [0]. The first
                                m = n / (1 + source_repeats) of a batch's n links have sources of
                                their own. Link i has the source and time of link i % m, else
                                -EINVAL, and shares its neighbourhood: negatives need no other */
};
/* Set the defaults of the members within the first `size` bytes. */
OG_EXPORT void og_loader_options_defaults(struct og_loader_options *from, size_t size);
/* Set all defaults. */
static inline void og_loader_options_init(struct og_loader_options *from)
{
    og_loader_options_defaults(from, sizeof(*from));
}

/* A loader. Opaque. */
struct og_loader;

/* Plan the run, as og_plan does, and fill the caches. The caller closes the loader with
 * og_loader_close.
 *
 * from  NULL = the defaults; read during the call only
 * seen  copied, but `arg` and `stop` are used until the loader is closed. `message` may be called
 *       from any thread; `progress` and `epoch` are not called. After *stop og_loader_next returns
 *       OG_INTERRUPTED.
 *
 * Returns -ENOMEM if the memory limit is too small; the message has the minimum. Returns -EINVAL if
 * seeds are out of range, ... */
OG_EXPORT OG_MUST_CHECK int og_loader_open(struct og_loader **out, const char *dataset,
                                           const struct og_options *opt,
                                           const struct og_loader_options *from,
                                           const struct og_observer *seen, struct og_err *err);

/* Go to the first batch of epoch `epoch`, from 1. For the epoch after the current one nothing
 * restarts: caches stay warm, and its first batches may be ready. Any other epoch, even the same
 * again, may be started at any time; prefetched batches are then dropped.
 *
 * Returns -EINVAL if the option samples has no batches of that epoch; the position does not change.
 * Returns -ECANCELED if the loader is being closed. Otherwise the error of a thread of the loader.
 */
OG_EXPORT OG_MUST_CHECK int og_loader_start(struct og_loader *l, int epoch, struct og_err *err);

/* Go to the first batch of one pass over a split in order, without shuffling. `split` is "valid",
 * "test", or the one that the loader was opened with ("seeds": the caller's). All passes over a
 * split sample the same neighbours. The pass drops prefetched batches of the next epoch and, with
 * lookahead policies, their plan; og_loader_start continues after it. With
 * og_loader_options.evaluates, "valid" after an epoch is prefetched instead, and another epoch or
 * split drops it. Errors are those of og_loader_start. */
OG_EXPORT OG_MUST_CHECK int og_loader_evaluate(struct og_loader *l, const char *split,
                                               struct og_err *err);

/* Get the next batch of the epoch or pass. The caller releases it with og_minibatch_release. *out
 * is NULL at the end, and before the first og_loader_start.
 *
 * wait  seconds; negative = no limit
 *
 * Returns -EAGAIN if no batch is ready within `wait`; `err` is unchanged. Returns -ENOBUFS at once
 * if the caller retains all buffers; the hint has the required `hold`. Returns OG_INTERRUPTED after
 * *stop, and -ECANCELED if the loader is being closed. Otherwise the error of a thread of the
 * loader; all later calls return it too, and the loader can only be closed. */
OG_EXPORT OG_MUST_CHECK int og_loader_next(struct og_loader *l, double wait,
                                           const struct og_minibatch **out, struct og_err *err);

/* Add a buffer for one more batch that the caller retains, outside of the memory plan. For use
 * after -ENOBUFS of og_loader_next. It is freed when a batch is released. */
OG_EXPORT OG_MUST_CHECK int og_loader_grow(struct og_loader *l, struct og_err *err);

/* Retain a batch: it needs one more og_minibatch_release. Any thread may call it, also after
 * og_loader_close. NULL is ignored. */
OG_EXPORT void og_minibatch_keep(const struct og_minibatch *b);
/* Release a batch. After the last release its arrays are invalid. Any thread may call it, also
 * after og_loader_close. NULL is ignored. */
OG_EXPORT void og_minibatch_release(const struct og_minibatch *b);

/* Number of batches of an epoch (split NULL) or of a pass over a split. Returns -1 if there is no
 * such split. */
OG_EXPORT int64_t og_loader_batches(const struct og_loader *l, const char *split);

/* Get the loader's plan: the text of plan.json. */
OG_EXPORT OG_MUST_CHECK int og_loader_plan(struct og_loader *l, char **out, struct og_err *err);
/* Get counters of the batches that og_loader_next returned, with the keys of summary.json. An epoch
 * that was started again has new counters.
 *
 * out  {"prepare":{...},"epochs":[{"epoch","batches",...},...],"peak_rss_bytes",...} */
OG_EXPORT OG_MUST_CHECK int og_loader_metrics(struct og_loader *l, char **out, struct og_err *err);

/* Get the position of the loader, for og_loader_restore. It includes the dataset and the options
 * that decide batches. After the last batch of an epoch it is the end of that epoch, until
 * og_loader_next has returned NULL or og_loader_start another epoch. A pass of og_loader_evaluate
 * is not part of it.
 *
 * out  {"epoch","batch",...}, the next batch */
OG_EXPORT OG_MUST_CHECK int og_loader_state(struct og_loader *l, char **out, struct og_err *err);
/* Go to a position of og_loader_state; og_loader_next continues with its batch. Dataset, seeds and
 * options that decide batches must match: -EINVAL names a difference. Otherwise errors of
 * og_loader_start. */
OG_EXPORT OG_MUST_CHECK int og_loader_restore(struct og_loader *l, const char *state,
                                              struct og_err *err);

/* Close a loader. Waiting calls of other threads return -ECANCELED, and it waits for them. No call
 * may begin after it. Batches that the caller retains stay valid until they are released. NULL is
 * ignored. */
OG_EXPORT void og_loader_close(struct og_loader *l);

#ifdef __cplusplus
}
#endif

#endif
