/* What a command does as one call: train, evaluate, predict, plan, sample, pack, simulate. Part of
 * the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_RUN_H
#define OUTGROW_RUN_H

#include <outgrow/options.h>

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

struct og_progress {
    size_t size;       /* of this struct, as the library has it */
    const char *stage; /* "train", "valid", "test", "import", ...; static storage */
    int epoch, epochs;
    uint64_t done, total; /* total 0 = not known */
    double loss;          /* running mean of this epoch, 0 outside training */
    const char *unit;     /* what done counts: "edges", "bytes", ...; NULL = batches, or rows */
};

/* How a long call talks back. Any member may be NULL; functions may be called from any thread of
 * the call, never two at a time. */
struct og_observer {
    size_t size; /* of this struct, as the caller has it */
    void *arg;
    void (*message)(void *arg, int level, const char *text); /* 0 warning, 1 info, 2 debug */
    void (*progress)(void *arg, const struct og_progress *p);
    void (*epoch)(void *arg, const char *epoch_json); /* after each epoch, as in summary.json */
    /* Non-zero = end at the next batch, resumable. Set by a signal handler or, as the call's own
     * threads read it, with an atomic store. */
    const volatile sig_atomic_t *stop;
};

/* Train on the dataset in folder `dataset`. Writes the run folder (summary.json, checkpoints).
 * Unless `resume` is set the folder has none of the files that a run writes: -EEXIST names the
 * first that is there, whoever made it. Options that have no effect beside others are told as
 * messages. summary  the text of summary.json; NULL to not want it Returns 0; OG_INTERRUPTED after
 * a stop, with resume.safetensors written; -ENOMEM when the memory budget cannot do (the message
 * names the smallest that would); -EINVAL, -EIO, ... */
OG_EXPORT OG_MUST_CHECK int og_train(const char *dataset, const struct og_options *opt,
                                     const struct og_observer *seen, char **summary,
                                     struct og_err *err);

/* Raises the limit of files that this process may hold open, `ulimit -n`, to the most that it may
 * set by itself: a graph of many relations has thousands open on disk. Other calls leave it as it
 * is, but for og_workers_run. Nothing here uses select(), which knows none above 1024. */
OG_EXPORT void og_files_raise(void);

/* Workers: n processes of this program on this machine, that train together when each comes to
 * og_train with workers = n. One that was started so knows it by its environment.
 *
 * n     2 to 64; one is og_train by itself
 * argv  as main has it; every worker gets it
 *
 * Returns the exit status for the program when all have ended: 0, or that of the first that failed,
 * after which the others are ended; negative with err where one could not be started, or was
 * killed. SIGINT and SIGTERM go to all of them, and SIGUSR1 as SIGTERM; of those that it stops
 * the first alone ends with 130. */
OG_EXPORT OG_MUST_CHECK int og_workers_run(int n, char *const *argv, struct og_err *err);
/* Which of them this process is, from 0; -1: none. Only worker 0 writes files and has results. */
OG_EXPORT int og_worker(void);

/* Metrics of a checkpoint on split "valid" or "test", with sampled neighbours as in training.
 * The model's shape comes from the checkpoint, as does the sampler with its own options where they
 * were not `given`; of links also seed and edge_split, which decide what was held out: -EINVAL
 * where others were given. Batch, fanout and resources from `opt`. out
 * {"split","loss","acc","rows",...} */
OG_EXPORT OG_MUST_CHECK int og_eval(const char *dataset, const char *checkpoint, const char *split,
                                    const struct og_options *opt, const struct og_observer *seen,
                                    char **out, struct og_err *err);

/* The same with all neighbours of every node, as og_predict computes it: nothing is sampled.
 * out  {"split","loss","acc","nodes","layers":[...],...} */
OG_EXPORT OG_MUST_CHECK int og_eval_full(const char *dataset, const char *checkpoint,
                                         const char *split, const struct og_options *opt,
                                         const struct og_observer *seen, char **out,
                                         struct og_err *err);

/* The logits of every node, with all its neighbours, layer by layer from disk: float32 [N, C] in
 * .npy file `out`, and, unless NULL, what the last layer was given, float32 [N, hidden], in
 * `embeddings`. Of a model of links there are no logits: `out` holds the embeddings that its
 * decoder is given, [N, hidden], and `embeddings` is NULL. Both appear when they are complete. Of
 * `opt` only the resources count, and what the sampler walk goes by, if it is that (where it was
 * not `given`, the checkpoint says so); rows of a layer lie in `scratch`, else in the folder of
 * `out`. The same bytes whatever the memory.
 *
 * text  {"nodes","seconds","bytes_read","layers":[{"read_amplification",...}],...}; may be NULL
 *
 * Returns OG_INTERRUPTED after a stop: then, as after a kill, rows are kept where they lie, and the
 * same call with `resume` goes on from there, to the same bytes. -EEXIST where an output exists and
 * `resume` is not set; -EBUSY while another process makes the same file; -ENOENT where the
 * file was taken away while it was written. */
OG_EXPORT OG_MUST_CHECK int og_predict(const char *dataset, const char *checkpoint, const char *out,
                                       const char *embeddings, const struct og_options *opt,
                                       const struct og_observer *seen, char **text,
                                       struct og_err *err);

/* What training would keep where and read, without running it: the text of plan.json. */
OG_EXPORT OG_MUST_CHECK int og_plan(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* Write the batches of `epochs` epochs as a trace (docs/reference/formats.md) into new folder
 * `out_dir`, each once where epochs reuse them. The option samples takes it, on this machine or
 * another.
 *
 * out  {"trace","batches","rows","bytes_read","bytes_written",...} */
OG_EXPORT OG_MUST_CHECK int og_sample(const char *dataset, const char *out_dir, bool with_features,
                                      const struct og_options *opt, const struct og_observer *seen,
                                      char **out, struct og_err *err);

/* Offline packing: for each draw of the batches in the folder `samples`, the rows that a cache as
 * large as opt allows is to hold, and a copy of those that its batches read besides, in one piece a
 * batch. Written to subfolder `pack`, which must not exist; og_train with the same `samples` uses
 * it. Options that decide numbers are those of the samples unless they were given by name.
 *
 * out  {"pack","draws","cache_rows","rows","bytes_written",...} */
OG_EXPORT OG_MUST_CHECK int og_pack(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* A cache in a device's memory over each of the host's: what the device's policy misses is what the
 * host's plans (docs/reference/policies.md). */
struct og_tiers_asked {
    size_t size;          /* of this struct, as the caller has it */
    const char *policies; /* of the device's cache, as `policies`; NULL: static ones, by the
                             rankings of the host's */
    const char *memory;   /* sizes of the device's cache, as `caches`; of several all together */
    const char *victim;   /* "off", "pvp" or "pvp:depth=N", rows a ring; NULL = off */
};

/* What policies would keep and read with caches of several sizes, without training: the batches of
 * `epochs` epochs, or those of a trace, go by once a policy. The figures are those of a run.
 *
 * source    a dataset, or a trace made by og_sample
 * policies  "presc:2,lru,belady": a list of values of the option policy
 * caches    "1%,5%,64M": a list of values of the option cache
 * tiers     NULL: there is no device
 * out       {"results":[{"policy","cache","hit_rate",...}],...}, of tiers with "device_policy",
 *           "device_memory", "device_hits", ...
 *
 * With `workers` above 1 the caches are of each of them: counted with their own mini-batches,
 * and under "exchanged" as if each owned nodes, by their number modulo the workers, and sent their
 * rows to the others (Park et al. 2024, §4.1). */
OG_EXPORT OG_MUST_CHECK int og_simulate(const char *source, const char *policies,
                                        const char *caches, const struct og_tiers_asked *tiers,
                                        const struct og_options *opt,
                                        const struct og_observer *seen, char **out,
                                        struct og_err *err);

/* What an epoch would take with executors of which some sample and some train, told by a clock of
 * events (docs/explanation/training-order.md).
 *
 * dataset  whose mini-batches are counted and timed, for executors of one thread each; NULL: times
 *          and tickets are given
 * opt      accumulate and staleness say how many mini-batches are trained at a time
 * out      {"splits":[{"split","seconds",...}],...} */
struct og_executors_asked {
    size_t size;        /* of this struct, as the caller has it */
    const char *splits; /* "1:1,2:3": samplers and trainers; "4": every split of four */
    const char *times;  /* "SAMPLE,TRAIN[,STANDBY]", seconds of a mini-batch; NULL: measured */
    uint64_t tickets;   /* mini-batches of an epoch; 0 = the dataset's */
    uint64_t queue;     /* that may be sampled and not yet trained; 0 = an epoch's */
};
OG_EXPORT OG_MUST_CHECK int og_simulate_executors(const char *dataset,
                                                  const struct og_executors_asked *asked,
                                                  const struct og_options *opt,
                                                  const struct og_observer *seen, char **out,
                                                  struct og_err *err);

#ifdef __cplusplus
}
#endif

#endif
