/* Mini-batches for a model of your own. Part of the public API; see outgrow.h for the tour.
 *
 * The data path of training without the model: batches are sampled, planned, read and copied in
 * threads of their own, while the caller computes (examples/loader.c):
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
 * The batches are those of og_sample with the same options, in the same order, whatever the memory,
 * the policy and the threads. `epochs` is how many are looked ahead to, at most; more may be asked
 * for. Of the options of the model only the task counts; eval_every does not.
 *
 * Calls on one loader may come from any thread; those that wait are og_loader_next,
 * og_loader_start, og_loader_evaluate, og_loader_restore and og_loader_close. In a child process
 * after fork every call that can fail returns -ECHILD, the others do nothing. */
#ifndef OUTGROW_LOADER_H
#define OUTGROW_LOADER_H

#include <outgrow/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an array has. bf16 is the upper half of a float. */
enum og_element {
    OG_ELEMENT_F32,
    OG_ELEMENT_F16,
    OG_ELEMENT_BF16,
    OG_ELEMENT_U8,
    OG_ELEMENT_I64,
};

/* Dense, in C order, aligned to 64 bytes but for `src`, `dst` and `weight` of a hop, which are
 * aligned to their elements. data NULL: there is no such array. */
struct og_array {
    void *data;
    int element; /* enum og_element */
    int n_dims;  /* 1 or 2 */
    int64_t shape[2];
};

/* One hop, a bipartite block. hop[0] is nearest the seeds: its destinations are the seeds. Those of
 * hop h are ids[0 .. n_dst), its sources ids[0 .. n_src), so the destinations of hop h + 1 are the
 * sources of hop h. */
struct og_minibatch_hop {
    size_t size; /* of this struct, as the library has it: so in all that follow */
    int64_t n_dst, n_src, n_edges;
    int64_t first_edge;     /* columns [first_edge, first_edge + n_edges) of edge_index */
    struct og_array indptr; /* i64 [n_dst + 1] of CSR by destination, from 0 */
    struct og_array src;    /* i64 [n_edges] positions in ids: indices of CSR, a row of COO */
    struct og_array dst;    /* i64 [n_edges] positions in ids, ascending: the other row */
    struct og_array weight; /* f32 [n_edges], of samplers that weigh edges */
};

/* Of a graph with types. One type of nodes: ids[0 .. n[h]) are destinations of hop h, n[0] of them
 * seeds, and ids[0 .. n[h + 1]) are its sources. */
struct og_minibatch_type {
    size_t size;
    const char *name;
    int64_t n[OG_MAX_HOPS + 1];
    struct og_array ids; /* i64 [n[n_hops]] within the type, in the order they were found */
    struct og_array x;   /* [n[n_hops], the type's dim]; of a type without features there is none */
};

/* One relation: blocks whose sources are of one type, destinations of another or the same. What
 * they have are positions in the ids of these types. */
struct og_minibatch_relation {
    size_t size;
    const char *name;
    int source, destination;                   /* types */
    struct og_minibatch_hop *hop[OG_MAX_HOPS]; /* [n_hops] */
    struct og_array edge_index;                /* i64 [2, E] of the relation */
};

/* The struct is read only. What its arrays point to is the caller's to write: nobody else looks at
 * it until the batch is released. */
struct og_minibatch {
    size_t size;
    const char *split; /* "train", "valid", "test", or "seeds": the caller's own; static storage */
    int epoch;         /* from 1; 0 in a pass of og_loader_evaluate */
    int64_t batch;     /* its number there, from 0 */
    int64_t batches;   /* how many there are */
    int64_t n_seeds;   /* ids[0 .. n_seeds) are the seeds; of links, the ends of its pairs. One that
                          og_loader_options.seeds lists twice is there twice, with its row and its
                          edges; edges from it leave its first place */
    int n_hops;
    struct og_minibatch_hop *hop[OG_MAX_HOPS]; /* [n_hops]; of a graph with types there are none */
    struct og_array ids;        /* i64 [n] of nodes, seeds first; distinct but for repeated seeds */
    struct og_array input_id;   /* i64 [n_seeds] position of each seed in the list that was given,
                                   or in the split's file; of links [n_positive], of each edge */
    struct og_array x;          /* [n, dim] features, in the type they are stored in, or that
                                   the option pack-dtype says */
    struct og_array y;          /* i64 [n_seeds] classes, -1 where there is none; f32 [n_seeds, C]
                                   of several labels and of regression; none of links */
    struct og_array edge_index; /* i64 [2, E] src and dst of all hops, hop 0 first. With
                                   OG_DRAW_ONCE those of the last hop, which the others' are the
                                   first ones of: then first_edge is 0 in all, and memory shared */
    struct og_array pairs;      /* of links: i64 [2, P] positions in ids, src and dst: n_positive
                                   edges, then n_negative pairs that stand against them, then, in
                                   evaluation, rivals of edge 0, of edge 1, ..., as many each */
    int64_t n_positive, n_negative;
    /* Of a graph with types the above has ids, which are of the whole graph, y and pairs; what else
     * there is has types and relations. It lies with the batch, the names too. */
    int n_types, n_relations;                /* 0: it has none */
    struct og_minibatch_type **type;         /* [n_types] */
    struct og_minibatch_relation **relation; /* [n_relations] */
    struct og_array pair_relation;           /* i64 [P]; the pair's positions are in the ids of its
                                                relation's types. Rivals are first those that keep
                                                the source, of each edge in turn, then as many that
                                                keep the destination; in the place of one that is an
                                                edge too stands the edge itself */
    uint64_t hits, misses;                   /* rows, of all nodes that have features */
    uint64_t bytes_read;  /* for this batch, of features, structure and samples */
    double stall_seconds; /* that og_loader_next waited for it */
};

/* Whose neighbourhoods, and how they are used. */
struct og_loader_options {
    size_t size;          /* of this struct, as the caller has it: og_loader_options_init says it */
    const char *split;    /* "train", "valid" or "test" [NULL = "train"] */
    const int64_t *seeds; /* instead: node ids, copied [NULL]; not of links */
    int64_t n_seeds;
    int hold;            /* batches that the caller keeps beside the one that og_loader_next
                            returned last [1]: the memory plan has room for them, and while they
                            are not kept the next ones are copied there. 0: none is until the caller
                            has released the one before */
    double step_seconds; /* that the caller takes for a batch, which --policy auto weighs [0 =
                            unknown] */
    bool no_features;    /* x is not wanted, and nothing of it read [false] */
    bool evaluates;      /* "valid" is evaluated behind every --eval-every epochs and the last that
                            is planned, and looked ahead to as those are [false] */
};
/* The defaults; as much of the struct as `size` says. */
OG_EXPORT void og_loader_options_defaults(struct og_loader_options *from, size_t size);
static inline void og_loader_options_init(struct og_loader_options *from)
{
    og_loader_options_defaults(from, sizeof(*from));
}

struct og_loader;

/* Plan the run, as og_plan does, with room for batches that the caller holds, and fill the caches.
 *
 * from  NULL = the defaults; what it points to is read during the call only
 * seen  copied, but `arg` and `stop` are kept until the loader is closed. `message` may be called
 *       from any thread; `progress` and `epoch` are not called. After *stop og_loader_next
 *       returns OG_INTERRUPTED.
 *
 * -ENOMEM when the memory budget cannot do (the message names the smallest that would), -EINVAL for
 * seeds out of range, ... */
OG_EXPORT OG_MUST_CHECK int og_loader_open(struct og_loader **out, const char *dataset,
                                           const struct og_options *opt,
                                           const struct og_loader_options *from,
                                           const struct og_observer *seen, struct og_err *err);

/* Go to the first batch of epoch `epoch`, from 1. After the end of the epoch before it (or its
 * last batch) nothing is started anew: caches are warm, and its first batches are there already.
 * Any other epoch may be asked for at any time, the same again too; batches that were made ahead
 * are dropped then.
 *
 * -EINVAL `samples` has no batches of that epoch, and it stays where it is; -ECANCELED the
 * loader is being closed; what a thread behind it failed with. */
OG_EXPORT OG_MUST_CHECK int og_loader_start(struct og_loader *l, int epoch, struct og_err *err);

/* Go to the first batch of one pass over a split in order, without shuffling: "valid", "test", or
 * what the loader was opened for, by its name ("seeds": the caller's own). Neighbours are drawn as
 * in every other such pass. Between epochs: batches of the next that are there already are dropped,
 * and with policies that look ahead what was planned for them; og_loader_start goes on. Not so with
 * "valid" at the end of an epoch that og_loader_options.evaluates: then this pass is what comes
 * next, and another epoch, or another split, drops what is there of it. */
OG_EXPORT OG_MUST_CHECK int og_loader_evaluate(struct og_loader *l, const char *split,
                                               struct og_err *err);

/* The next batch of the epoch or pass, which the caller releases; *out NULL at its end, and where
 * none was begun.
 *
 * wait  seconds; negative = as long as it takes
 *
 * -EAGAIN none within `wait`, and err is left as it was; -ENOBUFS, at once, the caller holds as
 * many batches as there is room for, the hint says which `hold` would do; OG_INTERRUPTED after
 * *stop; -ECANCELED the loader is being closed; what a thread behind it failed with: then so do all
 * later calls, and it can only be closed. */
OG_EXPORT OG_MUST_CHECK int og_loader_next(struct og_loader *l, double wait,
                                           const struct og_minibatch **out, struct og_err *err);

/* A batch is valid until it was released once more than it was kept. Any thread, after
 * og_loader_close too. NULL is ignored. */
OG_EXPORT void og_minibatch_keep(const struct og_minibatch *b);
OG_EXPORT void og_minibatch_release(const struct og_minibatch *b);

/* Batches of an epoch (split NULL), or of one pass over a split; -1 where there is none such. */
OG_EXPORT int64_t og_loader_batches(const struct og_loader *l, const char *split);

/* What it keeps where and reads: as plan.json. */
OG_EXPORT OG_MUST_CHECK int og_loader_plan(struct og_loader *l, char **out, struct og_err *err);
/* {"prepare":{...},"epochs":[{"epoch","batches",...},...],"peak_rss_bytes",...}: counters as in
 * summary.json, of the batches that og_loader_next returned; an epoch that was begun again counts
 * anew. */
OG_EXPORT OG_MUST_CHECK int og_loader_metrics(struct og_loader *l, char **out, struct og_err *err);

/* Which batch is next: {"epoch","batch",...}, with what decides the batches and which dataset it
 * is. After the last batch of an epoch it is that epoch's end until og_loader_next has told it, or
 * og_loader_start begun another; a pass of og_loader_evaluate is passed over. */
OG_EXPORT OG_MUST_CHECK int og_loader_state(struct og_loader *l, char **out, struct og_err *err);
/* Go there, in a loader of the same dataset, seeds and options, as far as these decide batches:
 * -EINVAL names what differs. og_loader_next goes on at that batch. Errors of og_loader_start. */
OG_EXPORT OG_MUST_CHECK int og_loader_restore(struct og_loader *l, const char *state,
                                              struct og_err *err);

/* From any thread: calls that wait in others return -ECANCELED, and it waits for them. No call may
 * begin after it. Batches that the caller has stay valid until they are released. NULL is
 * ignored. */
OG_EXPORT void og_loader_close(struct og_loader *l);

#ifdef __cplusplus
}
#endif

#endif
