/* Each command as one call: train, evaluate, predict, plan, sample, pack, simulate. Part of the
 * public API; see outgrow.h for the tour. */
#ifndef OUTGROW_RUN_H
#define OUTGROW_RUN_H

#include <outgrow/options.h>

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Progress of a long call. */
struct og_progress {
    size_t size;       /* of this struct, as the library has it */
    const char *stage; /* "train", "valid", "test", "import", ...; static storage */
    int epoch, epochs;
    uint64_t done, total; /* total 0 = unknown */
    double loss;          /* running mean of this epoch, 0 outside training */
    const char *unit;     /* unit of done: "edges", "bytes", ...; NULL = batches or rows */
};

/* Callbacks of a long call. Any member may be NULL. Functions may be called from any thread of the
 * call, never two at a time. */
struct og_observer {
    size_t size; /* of this struct, as the caller has it */
    void *arg;
    void (*message)(void *arg, int level, const char *text); /* 0 warning, 1 info, 2 debug */
    void (*progress)(void *arg, const struct og_progress *p);
    void (*epoch)(void *arg, const char *epoch_json); /* after each epoch, as in summary.json */
    /* Non-zero = stop at the next batch, resumable. Set it in a signal handler or, since the call's
     * threads read it, by an atomic store. */
    const volatile sig_atomic_t *stop;
};

/* Train on the dataset in folder `dataset`. Writes the run folder (summary.json, checkpoints).
 * Options without effect are reported as messages.
 *
 * summary  the text of summary.json
 *
 * Returns OG_INTERRUPTED after a stop, with resume.safetensors written. Returns -ENOMEM if the
 * memory limit is too small; the message has the minimum. Returns -EEXIST if the folder has files
 * of a run and `resume` is not set; the message names one. Others are -EINVAL, -EIO, ... */
OG_EXPORT OG_MUST_CHECK int og_train(const char *dataset, const struct og_options *opt,
                                     const struct og_observer *seen, char **summary,
                                     struct og_err *err);

/* Raise this process's limit of open files, `ulimit -n`, to its hard limit. Graphs with many
 * relations have thousands of files open. Other calls leave the limit alone, except og_workers_run.
 * The library does not use select(), which supports 1024 files only. */
OG_EXPORT void og_files_raise(void);

/* Start n workers: processes of this program on this machine. They train together when each calls
 * og_train with workers = n. A worker recognizes itself by its environment.
 *
 * n     2 to 64; for one, call og_train
 * argv  as main has it; every worker gets it
 *
 * Returns the exit status for the program when all workers have ended. It is 0, or that of the
 * first that failed, after which the others are ended. Negative with `err` if a worker could not be
 * started or was killed. SIGINT and SIGTERM go to all workers, SIGUSR1 as SIGTERM. When workers
 * stop this way only the first ends with 130. */
OG_EXPORT OG_MUST_CHECK int og_workers_run(int n, char *const *argv, struct og_err *err);
/* Rank of this worker, from 0; -1 outside of og_workers_run. Only worker 0 writes files and has
 * results. */
OG_EXPORT int og_worker(void);

/* Evaluate a checkpoint on split "valid" or "test", with neighbours sampled by opt. The
 * checkpoint sets the model's shape and, unless explicit, the sampler with its parameters. For
 * links it also sets seed and edge_split, which decide the held-out edges: -EINVAL if the explicit
 * ones differ. Batch, fanout and resources are those of `opt`.
 *
 * out  {"split","loss","acc","rows",...}
 *
 * Returns OG_INTERRUPTED after a stop, -ENOMEM, -EINVAL, -EIO, ... */
OG_EXPORT OG_MUST_CHECK int og_eval(const char *dataset, const char *checkpoint, const char *split,
                                    const struct og_options *opt, const struct og_observer *seen,
                                    char **out, struct og_err *err);

/* Evaluate a checkpoint with all neighbours of every node, computed as in og_predict. Nothing is
 * sampled. Otherwise like og_eval.
 *
 * out  {"split","loss","acc","nodes","layers":[...],...} */
OG_EXPORT OG_MUST_CHECK int og_eval_full(const char *dataset, const char *checkpoint,
                                         const char *split, const struct og_options *opt,
                                         const struct og_observer *seen, char **out,
                                         struct og_err *err);

/* Compute the logits of every node with all its neighbours, layer by layer from disk. Writes
 * float32 [N, C] to the .npy file `out`. Unless NULL, `embeddings` gets the input of the last
 * layer, float32 [N, hidden]. For link prediction `out` has the inputs of the decoder, [N, hidden],
 * and `embeddings` must be NULL. Both files appear when complete.
 *
 * Only resource options of `opt` apply, and the sampler walk with its parameters. By default the
 * checkpoint decides about that sampler. Rows of a layer are written to `scratch`, else to the
 * folder of `out`. Results are bit-identical for every memory limit, except on CUDA.
 *
 * text  {"nodes","seconds","bytes_read","layers":[{"read_amplification",...}],...}
 *
 * Returns OG_INTERRUPTED after a stop. After it, or after a kill, rows stay on disk; the same call
 * with `resume` continues to bit-identical results. Returns -EEXIST if an output exists and
 * `resume` is not set. Returns -EBUSY if another process writes the same file. Returns -ENOENT if
 * the file was removed while it was written. */
OG_EXPORT OG_MUST_CHECK int og_predict(const char *dataset, const char *checkpoint, const char *out,
                                       const char *embeddings, const struct og_options *opt,
                                       const struct og_observer *seen, char **text,
                                       struct og_err *err);

/* What og_predict_with writes. */
struct og_predict_options {
    size_t size;            /* of this struct, as the caller has it */
    const char *nodes;      /* "train", "valid", "test", "unlabelled", a file of nodes in any order,
                               each once, or one node; NULL = all */
    const char *embeddings; /* as og_predict has it */
    const char *dtype;      /* of .npy files: "f32" or "f16"; NULL = "f32" */
    bool probabilities;     /* of classes or labels, in place of logits */
    bool names;             /* refuse a table without the source's ids */
    int top_k;              /* so many classes with the largest scores; 0 = all */
    bool overwrite;         /* replace files that are there, once the new ones are whole */
};

/* As og_predict, for some nodes or in other forms. Rows are in the order of `nodes`. Neither lists
 * nor feature rows are read that these nodes do not need, except with the sampler walk, which walks
 * from every node. A message before the first layer has the counts, and so has `text` as "needed".
 * Results agree with those of all nodes within 1e-5.
 *
 * If `out` ends in .csv, it is a table with ids and a column a class (docs/reference/formats.md).
 * The ids are those of the source, or else of the dataset. */
OG_EXPORT OG_MUST_CHECK int og_predict_with(const char *dataset, const char *checkpoint,
                                            const char *out, const struct og_predict_options *how,
                                            const struct og_options *opt,
                                            const struct og_observer *seen, char **text,
                                            struct og_err *err);

/* What og_propagate writes. */
struct og_propagate_options {
    size_t size;      /* of this struct, as the caller has it */
    int hops;         /* K, 1 to OG_MAX_HOPS */
    const char *norm; /* "sym": D^-1/2 A D^-1/2, "row": D^-1 A; NULL = "sym" */
    bool loops;       /* with an edge from each node to itself, as in GCN */
    const char *rows; /* "all": also hop<k>.npy, of every node; "labelled"; NULL = "all" */
    bool last;        /* the labelled nodes' rows are of hop K alone */
    bool overwrite;   /* replace hops that are there; those of an earlier propagation go */
};

/* Write features propagated along the edges into the dataset, hop by hop, within the option memory.
 * Hop k of a node is the normalised sum of its in-neighbours' hop k - 1; hop 0 is the features. For
 * every hop there is hop<k>.npy, float32 [N, F]. The folder `hops` is a dataset of the nodes of all
 * splits; their rows are hops 0 to K side by side, or hop K. The options memory, threads, io,
 * scratch, resume, checkpoint_every and edge-weights apply.
 *
 * out  {"hops","norm","loops","rows","labelled", ... as og_predict} */
OG_EXPORT OG_MUST_CHECK int og_propagate(const char *dataset,
                                         const struct og_propagate_options *how,
                                         const struct og_options *opt,
                                         const struct og_observer *seen, char **out,
                                         struct og_err *err);

enum { OG_MAX_SMOOTHING = 100 };

/* How og_smooth propagates: as PyTorch Geometric's CorrectAndSmooth. */
struct og_smooth_options {
    size_t size;           /* of this struct, as the caller has it */
    int correction_layers; /* 0 to OG_MAX_SMOOTHING each, not both 0 */
    int smoothing_layers;
    double correction_alpha; /* 0 to 1: the share of the neighbours */
    double smoothing_alpha;
    bool fixed_scale;  /* corrections are multiplied by `scale`; else each node has its own */
    double scale;      /* above 0 */
    const char *dtype; /* these four: as og_predict_options has them */
    bool names;
    int top_k;
    bool overwrite;
};

/* Correct & Smooth (Huang et al. 2021) of predictions. Errors of train nodes correct those of
 * other nodes along the edges, then labels of train nodes smooth them. Other labels are read for
 * the accuracies alone.
 *
 * - predictions: .npy of float32 or float16 [N, classes], probabilities, or a .csv of these
 * - out: .npy or .csv, as og_predict_with has it
 * - text: {"valid_acc","test_acc","before", ... as og_predict}; accuracies are NULL without labels
 *
 * The options memory, threads, io, scratch, resume, checkpoint_every and edge-weights apply. */
OG_EXPORT OG_MUST_CHECK int og_smooth(const char *dataset, const char *predictions, const char *out,
                                      const struct og_smooth_options *how,
                                      const struct og_options *opt, const struct og_observer *seen,
                                      char **text, struct og_err *err);

/* Predictions of a few nodes or edges at a time, from disk. */
struct og_predictor;
/* Open a predictor. It takes all neighbours of every node, as og_predict does, and results agree
 * within 1e-5. With the option fanout it samples them. A node's neighbours then follow from the
 * option seed, whatever nodes are requested with it.
 *
 * The option memory bounds everything: half is for topology, model and degrees, half for requests.
 * `batch` is the most nodes of a request that are computed together. `threads` is the threads of
 * the model; twice as many sample and read. While it is opened, `seen` gets messages and may
 * stop it. */
OG_EXPORT OG_MUST_CHECK int og_predictor_open(struct og_predictor **out, const char *dataset,
                                              const char *checkpoint, const struct og_options *opt,
                                              const struct og_observer *seen, struct og_err *err);
/* Numbers per node: classes or values, or for links --hidden. 0: the model predicts edges. */
OG_EXPORT int og_predictor_columns(const struct og_predictor *p);
/* Numbers per edge: classes or values, or for links 1, the score. 0: the model predicts nodes. */
OG_EXPORT int og_predictor_edge_columns(const struct og_predictor *p);
/* Features of its own that the model reads of an edge. */
OG_EXPORT int og_predictor_edge_features(const struct og_predictor *p);
/* out  {"nodes","columns","edge_columns","edge_features","type","fanout","batch","threads",
 *      "memory_bytes","memory_budget_bytes"}
 *
 * Also "class_names" of the columns, if classes have names and a node or edge has one class. */
OG_EXPORT OG_MUST_CHECK int og_predictor_info(const struct og_predictor *p, char **out,
                                              struct og_err *err);
/* Compute the logits of n nodes, which may repeat, into out [n][columns]. Ids count as in
 * train.npy. Any threads may call it at the same time; it waits for a free one of the predictor's.
 *
 * Returns -EINVAL for other nodes, -ENOMEM if the neighbourhoods do not fit, or -EIO. Returns
 * -ECANCELED if the predictor is being closed. Other requests are not affected. */
OG_EXPORT OG_MUST_CHECK int og_predictor_rows(struct og_predictor *p, const int64_t *nodes,
                                              int64_t n, float *out, struct og_err *err);
/* Compute the scores of n edges ends [n][2] into out [n][edge columns], as og_predictor_rows does
 * for nodes.
 *
 * own  their features [n][edge features]; NULL if the model reads none */
OG_EXPORT OG_MUST_CHECK int og_predictor_edges(struct og_predictor *p, const int64_t *ends,
                                               const float *own, int64_t n, float *out,
                                               struct og_err *err);
/* What a request says besides its ids. */
struct og_predictor_request {
    size_t size;          /* of this struct, as the caller has it */
    const float *own;     /* as of og_predictor_edges */
    const int64_t *times; /* [n] of nodes, or of both ends of each edge: no edge of a neighbourhood
                             is later. NULL: those of node_times.npy, of edges none. A model that
                             was trained with --time refuses unknown ones */
    const char *relation; /* of the edges, where the decoder scores them by it. NULL: that of
                             training. Other models refuse a name */
};
/* Find the ids of n nodes by their names, for og_predictor_rows_with. Or of the 2n ends of n edges,
 * with `edges`. Returns -EINVAL for an unknown name. */
OG_EXPORT OG_MUST_CHECK int og_predictor_find(const struct og_predictor *p, const char *const *name,
                                              int64_t n, bool edges,
                                              const struct og_predictor_request *more, int64_t *out,
                                              struct og_err *err);
/* Refuse numbers of nodes that have names. The message has a name. Callers need it whose users know
 * no rows. Numbers are fine if nodes of several types may be requested. Returns -EINVAL. */
OG_EXPORT OG_MUST_CHECK int og_predictor_check_numbers(const struct og_predictor *p,
                                                       const int64_t *ids, int64_t n, bool edges,
                                                       const struct og_predictor_request *more,
                                                       struct og_err *err);
/* og_predictor_rows with more; NULL: nothing. */
OG_EXPORT OG_MUST_CHECK int og_predictor_rows_with(struct og_predictor *p, const int64_t *nodes,
                                                   int64_t n,
                                                   const struct og_predictor_request *more,
                                                   float *out, struct og_err *err);
/* og_predictor_edges with more; NULL: nothing. */
OG_EXPORT OG_MUST_CHECK int og_predictor_edges_with(struct og_predictor *p, const int64_t *ends,
                                                    int64_t n,
                                                    const struct og_predictor_request *more,
                                                    float *out, struct og_err *err);
/* Close a predictor: waits for calls of other threads. No call may begin after it. NULL is ignored.
 */
OG_EXPORT void og_predictor_close(struct og_predictor *p);

/* Plan training without running it: memory, hits and reads.
 *
 * out  the text of plan.json */
OG_EXPORT OG_MUST_CHECK int og_plan(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* Write the batches of `epochs` epochs into the new folder `out_dir` (docs/reference/formats.md). A
 * batch that several epochs reuse is written once. The option samples reads the folder, on this
 * machine or another.
 *
 * out  {"trace","batches","rows","bytes_read","bytes_written",...} */
OG_EXPORT OG_MUST_CHECK int og_sample(const char *dataset, const char *out_dir, bool with_features,
                                      const struct og_options *opt, const struct og_observer *seen,
                                      char **out, struct og_err *err);

/* Pack rows for each sampled epoch in the option samples. Selects the rows to cache within memory
 * and cache of `opt`, and copies the missed rows, one contiguous run per batch. Writes the
 * subfolder `pack` of samples, which must not exist; og_train with the same samples reads it.
 * Options that decide results default to those of the samples.
 *
 * out  {"pack","draws","cache_rows","rows","bytes_written",...} */
OG_EXPORT OG_MUST_CHECK int og_pack(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* A device cache above each host cache: the host's policy sees the misses of the device's
 * (docs/reference/policies.md). */
struct og_tiers_asked {
    size_t size;          /* of this struct, as the caller has it */
    const char *policies; /* of the device cache, as `policies`; NULL: static, with the rankings of
                             the host's */
    const char *memory;   /* sizes of the device cache, as `caches`; the sum of all devices */
    const char *victim;   /* "off", "pvp" or "pvp:depth=N", rows per ring buffer; NULL = off */
};

/* Simulate policies with caches of several sizes, without training. Each policy processes the
 * batches of `epochs` epochs, or of a trace. The results are those of a run.
 *
 * - source: a dataset, or a folder made by og_sample
 * - policies: values of the option policy, "presc:2,lru,belady"
 * - caches: values of the option cache, "1%,5%,64M"
 * - tiers: a device cache above each, or NULL
 * - out: {"results":[{"policy","cache","hit_rate",...}],...}; with tiers also "device_policy",
 *   "device_memory", "device_hits", ...
 *
 * With `workers` above 1 every worker has such caches, counted with its own mini-batches. Under
 * "exchanged" they are counted as if each worker cached only rows of its nodes and sent them to the
 * others (Park et al. 2024, §4.1). A worker's nodes are those with its rank as number modulo
 * `workers`. */
OG_EXPORT OG_MUST_CHECK int og_simulate(const char *source, const char *policies,
                                        const char *caches, const struct og_tiers_asked *tiers,
                                        const struct og_options *opt,
                                        const struct og_observer *seen, char **out,
                                        struct og_err *err);

/* Executors whose times og_simulate_executors predicts. */
struct og_executors_asked {
    size_t size;        /* of this struct, as the caller has it */
    const char *splits; /* "1:1,2:3": samplers and trainers; "4": all splits of four */
    const char *times;  /* "SAMPLE,TRAIN[,STANDBY]", seconds per mini-batch; NULL: measured */
    uint64_t tickets;   /* mini-batches per epoch; 0 = the dataset's */
    uint64_t queue;     /* maximum of mini-batches sampled and not yet trained; 0 = an epoch's */
};
/* Predict the time of an epoch with executors that sample or train, by a simulation of events
 * (docs/explanation/training-order.md).
 *
 * - dataset: its mini-batches are counted and timed, with one thread per executor; NULL: `asked`
 * has times and `tickets`
 * - opt: accumulate and staleness bound the mini-batches that are trained at a time
 * - out: {"splits":[{"split","seconds",...}],...} */
OG_EXPORT OG_MUST_CHECK int og_simulate_executors(const char *dataset,
                                                  const struct og_executors_asked *asked,
                                                  const struct og_options *opt,
                                                  const struct og_observer *seen, char **out,
                                                  struct og_err *err);

#ifdef __cplusplus
}
#endif

#endif
