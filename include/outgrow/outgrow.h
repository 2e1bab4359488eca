/* Outgrow: trains graph neural networks on graphs that outgrow memory.
 *
 * The short tour, which compiles (examples/train.c):
 *
 *     struct og_err err = {0};
 *     struct og_options opt;
 *     char *summary = NULL;
 *     og_options_init(&opt);
 *     if (og_options_set(&opt, "memory", "4G", &err) < 0 ||
 *         og_options_set(&opt, "fanout", "10,10", &err) < 0 ||
 *         og_train("papers100M", &opt, NULL, &summary, &err) < 0)
 *         fprintf(stderr, "outgrow: %s\nhint: %s\n", err.message, err.hint);
 *     puts(summary ? summary : "");
 *     free(summary);
 *     og_options_release(&opt);
 *
 * Sections: 1 options, 2 run (train, eval, plan, sample, simulate), 3 mini-batches for a model of
 * your own, 4 make and check datasets.
 *
 * Conventions, stated once. Functions return 0, or a negative errno with `err` filled (err.h).
 * Strings passed in are read during the call only. Results too rich for a struct are JSON text
 * in the schema of docs/json.md, malloc'ed: free() it. Where it would go may be NULL: then nothing
 * is told. After an error it is NULL. All sizes are bytes, all times seconds.
 * Calls on different objects may run in different threads; one call uses as many threads as its
 * options say and returns when they have ended. The library keeps no global state. */
#ifndef OUTGROW_H
#define OUTGROW_H

#include <outgrow/err.h>

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

OG_EXPORT const char *og_version(void); /* "0.1.0"; static storage */

/* ==== 1. Options ==== */

enum { OG_MAX_HOPS = 16 };

/* A size as users write it: "512M" (2^20), "4G", "25%"; or not given. */
struct og_amount {
    enum { OG_UNSET, OG_BYTES, OG_PERCENT } unit;
    double value;
};

/* Values of the choices, in the order og_option_table() lists them. */
enum og_model_kind {
    OG_MODEL_GCN,
    OG_MODEL_SAGE,
    OG_MODEL_GAT,
    OG_MODEL_GIN,
    OG_MODEL_PINSAGE,
    OG_MODEL_RGCN,
};
enum og_aggregator_kind { OG_AGGREGATOR_MEAN, OG_AGGREGATOR_MAX, OG_AGGREGATOR_GCN };
enum og_norm_kind { OG_NORM_NONE, OG_NORM_BATCH, OG_NORM_LAYER };
enum og_sampler_kind {
    OG_SAMPLER_UNIFORM,
    OG_SAMPLER_WEIGHTED,
    OG_SAMPLER_WALK,
    OG_SAMPLER_LABOR,
    OG_SAMPLER_LADIES,
};
/* EACH: a node draws its neighbours in every hop that it is a destination of (DGL's blocks). ONCE:
 * in the first of these, and has the same in those that follow (PyTorch Geometric's
 * NeighborLoader): then the edges of a hop are the first ones of the next, in the same order. */
enum og_draw_kind { OG_DRAW_EACH, OG_DRAW_ONCE };
enum og_task_kind { OG_TASK_NODE, OG_TASK_LINK, OG_TASK_REGRESSION };
enum og_decoder_kind { OG_DECODER_DOT, OG_DECODER_MLP, OG_DECODER_DISTMULT };
enum og_loss_kind {
    OG_LOSS_AUTO,
    OG_LOSS_BCE,
    OG_LOSS_MARGIN,
    OG_LOSS_MSE,
    OG_LOSS_MAE,
    OG_LOSS_HUBER,
};
/* Which figure of validation chooses the best epoch; auto: the task's own. */
enum og_best_kind {
    OG_BEST_AUTO,
    OG_BEST_LOSS,
    OG_BEST_ACC,
    OG_BEST_F1,
    OG_BEST_MICRO_F1,
    OG_BEST_AUC,
    OG_BEST_AP,
    OG_BEST_MRR,
    OG_BEST_HITS_1,
    OG_BEST_HITS_3,
    OG_BEST_HITS_10,
    OG_BEST_MSE,
    OG_BEST_MAE,
    OG_BEST_R2,
};
enum og_negative_kind { OG_NEGATIVE_UNIFORM, OG_NEGATIVE_BATCH };
enum og_optimizer_kind { OG_OPTIMIZER_ADAM, OG_OPTIMIZER_SGD };
enum og_device_kind { OG_DEVICE_CPU, OG_DEVICE_VIRTUAL, OG_DEVICE_CUDA };
enum og_policy_kind {
    OG_POLICY_NONE,
    OG_POLICY_RANDOM,
    OG_POLICY_DEGREE,
    OG_POLICY_PRESC,
    OG_POLICY_PAGERANK,
    OG_POLICY_FREQUENCY,
    OG_POLICY_LRU,
    OG_POLICY_RR,
    OG_POLICY_BELADY,
    OG_POLICY_HYBRID,
    OG_POLICY_SWEEP,
    OG_POLICY_FILE,
    OG_POLICY_SIEVE,
    OG_POLICY_S3FIFO,
    OG_POLICY_CLOCK,
    OG_POLICY_TINYLFU,
    OG_POLICY_AUTO,
};
enum og_evict_kind { OG_EVICT_HYBRID, OG_EVICT_STATIC, OG_EVICT_DYNAMIC };
/* f32 to bf16: as enum og_dtype, one further on. */
enum og_pack_dtype_kind { OG_PACK_STORED, OG_PACK_F32, OG_PACK_F16, OG_PACK_BF16 };
enum og_layout_kind { OG_LAYOUT_RAW, OG_LAYOUT_PACKED, OG_LAYOUT_SEGMENTED, OG_LAYOUT_AUTO };
enum og_topology_kind { OG_TOPOLOGY_MEMORY, OG_TOPOLOGY_DISK, OG_TOPOLOGY_AUTO };
enum { OG_SUPERBATCH_AUTO = 0, OG_SUPERBATCH_ALL = -1 };
enum { OG_TOGETHER_AUTO = 0 };
enum og_sample_on_kind { OG_SAMPLE_ON_HOST, OG_SAMPLE_ON_DEVICE, OG_SAMPLE_ON_PINNED };
enum og_pipeline_kind { OG_PIPELINE_NONE, OG_PIPELINE_BATCHES };
enum og_io_kind { OG_IO_URING, OG_IO_PREAD, OG_IO_MMAP, OG_IO_AUTO };
enum og_preset_kind {
    OG_PRESET_NONE,
    OG_PRESET_PYG_PLUS,
    OG_PRESET_ALI_PG,
    OG_PRESET_GINEX,
    OG_PRESET_DISKGNN,
    OG_PRESET_FGNN,
    OG_PRESET_LSM_GNN,
    OG_PRESET_HELIOS,
    OG_PRESET_MEMORY,
    OG_PRESET_AUTO,
};

/* A set of options, a bit for each row of og_option_table(). There is room for more than there are,
 * so that new options do not change the size of what holds it. */
struct og_option_set {
    unsigned char bits[32];
};

/* How many sample, and how many train. */
struct og_executor_split {
    int samplers, trainers;
};

/* Everything that training can be told. Names, defaults and help are in og_option_table(); set
 * fields directly or by name. Strings are owned by the struct. A preset fills in what was not
 * `given`: og_options_set and og_options_load record that, a field set directly does not. So does a
 * checkpoint, of `init` say, with the sampler that it was trained with. */
struct og_options {
    /* model: these and the next group decide the numbers */
    int model;  /* enum og_model_kind */
    int layers; /* 0 = length of fanout */
    int hidden;
    int heads;      /* of gat */
    int aggregator; /* enum og_aggregator_kind, of sage */
    int bases;      /* of rgcn; 0 = a matrix for each relation */
    int norm;       /* enum og_norm_kind */
    int embedding;  /* width of rows that are learnt for types without features; 0 = none */
    bool residual;
    double dropout, input_dropout;
    double attention_dropout; /* of gat */
    int optimizer;            /* enum og_optimizer_kind */
    double lr, weight_decay;
    int device;    /* enum og_device_kind: what computes */
    char *devices; /* numbers of those that train, with commas between; NULL = the first */
    char *init;    /* safetensors file with initial parameters, or NULL */
    int task;      /* enum og_task_kind */
    int decoder;   /* enum og_decoder_kind, of link */
    int loss;      /* enum og_loss_kind */
    /* batches */
    char *edge_split; /* of link: "85/5/10", "dataset", or NULL = the dataset's, else the former */
    char *relation;   /* of link, in a typed graph: whose edges; NULL = those of all relations */
    int negatives;    /* an edge, in training */
    int negative;     /* enum og_negative_kind */
    int eval_negatives;
    int fanout[OG_MAX_HOPS]; /* hop 1 first; -1 = all neighbours */
    int n_fanout;
    char *relation_fanout; /* "NAME=N,N;NAME=N,N" of relations of a typed graph; NULL = none */
    int sampler;           /* enum og_sampler_kind */
    int walks, walk_length, neighbors; /* of the sampler walk */
    double walk_restart;
    int draw; /* enum og_draw_kind */
    int batch, epochs;
    int accumulate; /* mini-batches whose gradients one step adds */
    int staleness;  /* steps by which the parameters of a gradient lag */
    int64_t seed;
    bool no_shuffle;
    int eval_every;     /* epochs; 0 = never */
    int best_by;        /* enum og_best_kind */
    int resample_every; /* epochs that train on the same batches, in another order */
    int pack_dtype;     /* enum og_pack_dtype_kind: of rows in memory and in packs */
    /* resources: these move bytes, never values */
    struct og_amount memory, cache;
    int threads;   /* 0 = all */
    int trainers;  /* groups of threads that each compute a mini-batch; 0 = auto */
    int workers;   /* processes that train together, one of them this (og_workers_run); calls that
                      neither train nor tell of training take 1 alone */
    bool exchange; /* each of them keeps the rows of a part of the nodes, and sends them to the rest
                    */
    struct og_executor_split executors; /* who samples and who trains; no samplers = auto */
    int topology;                       /* enum og_topology_kind */
    struct og_amount neighbor_cache;
    int sample_on;      /* enum og_sample_on_kind: who draws neighbours */
    int together;       /* batches whose neighbours are read together; OG_TOGETHER_AUTO */
    int policy;         /* enum og_policy_kind */
    int presc_epochs;   /* pre-sampled by presc */
    char *scores;       /* of file: .npy with one number a node */
    int superbatch;     /* batches sampled ahead together, or OG_SUPERBATCH_* */
    int layout;         /* enum og_layout_kind: where rows that no cache has are read */
    bool alternate;     /* sample ahead and train in turns, each with all the memory */
    int pipeline;       /* enum og_pipeline_kind: what goes on side by side */
    int ways;           /* slots a set of rr and hybrid */
    int window, update; /* batches; of hybrid */
    int threshold;      /* batches; 0 = an eighth of the window */
    int evict;          /* enum og_evict_kind */
    /* a cache of rows in the memory of the device, over that of the host */
    struct og_amount
        device_memory; /* bound on all that training takes of it; bytes, or not given */
    char
        *device_policy; /* as `policy` takes it, with parameters; NULL = static, ranked as policy */
    char *victim;       /* "off", "pvp", "pvp:depth=N"; NULL = off */
    struct og_amount disk; /* bound on what is written to scratch, all its folders together */
    char *scratch;         /* folder, or several with commas between; NULL = the run's */
    char *samples;         /* folder made by og_sample, or NULL = batches are sampled */
    int io;                /* enum og_io_kind */
    int preset;            /* enum og_preset_kind */
    /* the run */
    char *run; /* folder, or NULL = runs/<date>-<n> */
    bool resume;
    int checkpoint_every; /* seconds */
    int log_every;        /* batches; 0 = never */
    char *trace_timeline; /* file, or NULL */

    struct og_option_set given; /* by name; the library's own */
    const char *removed;        /* of a file, an option that there is no more; the library's own */
};

enum og_option_type {
    OG_OPTION_FLAG,   /* bool */
    OG_OPTION_INT,    /* int */
    OG_OPTION_INT64,  /* int64_t */
    OG_OPTION_REAL,   /* double */
    OG_OPTION_AMOUNT, /* struct og_amount */
    OG_OPTION_CHOICE, /* int: position in choices */
    OG_OPTION_LIST,   /* int[OG_MAX_HOPS], with n_fanout */
    OG_OPTION_TEXT,   /* char *, malloc'ed */
    OG_OPTION_SPLIT,  /* struct og_executor_split */
};

/* What an option decides, the less first. */
enum og_decides {
    OG_DECIDES_NOTHING, /* it moves bytes, or says where they lie */
    OG_DECIDES_EXTENT,  /* where a run begins and ends: it may go on with another */
    OG_DECIDES_NUMBERS, /* losses and parameters */
    OG_DECIDES_BATCHES, /* and what is sampled, too */
};

/* One row an option; the command line, the config file, the help text, the man page and
 * summary.json are all made from this table. */
struct og_option {
    const char *name;     /* "weight-decay" */
    const char *arg;      /* what its argument is called in help, NULL for a flag */
    const char *standard; /* default, as text; "" = unset */
    const char *group;    /* heading in the help text */
    int decides;          /* enum og_decides */
    const char *help;     /* one sentence */
    /* Ends with NULL. OG_OPTION_CHOICE: the names, by value; OG_OPTION_INT: words for 0, -1, ...;
     * OG_OPTION_SPLIT: the word for none;
     * else NULL. */
    const char *const *choices;
    enum og_option_type type;
    size_t offset;   /* in struct og_options */
    double min, max; /* numbers outside are refused */
    /* The choice ("policy", "sampler", "model", "task") of which some kinds alone look at this
     * option, as its parameter; NULL = it is none. It may be given in the kind's word:
     * --policy hybrid:window=128,update=4. */
    const char *of;
    bool joins; /* help lists it there alone; the option of its own is an alias */
};
OG_EXPORT const struct og_option *og_option_table(size_t *count); /* static storage */

/* What PyTorch Geometric and DGL call some of them. og_options_set and config files take these
 * names too; help, results and config.yaml have ours. */
struct og_option_alias {
    const char *alias, *name; /* "batch-size", "batch" */
};
OG_EXPORT const struct og_option_alias *og_option_aliases(size_t *count); /* static storage */

/* The one of n words that was meant by `word`, when two letters less, more or other make it that;
 * NULL = none. */
OG_EXPORT const char *og_nearest_word(const char *const *words, size_t n, const char *word);

OG_EXPORT void og_options_init(struct og_options *opt); /* the defaults */
OG_EXPORT void og_options_release(struct og_options *opt);

/* Set one option by name from text, as the command line does. -EINVAL: no such option, or a
 * value outside its range; err says what would be accepted. Flags take "true" or "false". */
OG_EXPORT OG_MUST_CHECK int og_options_set(struct og_options *opt, const char *name,
                                           const char *value, struct og_err *err);

/* The same for a field of any struct that a row of the caller's own describes: name, type, range
 * and offset are looked at. A list is OG_MAX_HOPS ints and, behind them, how many of these there
 * are. */
OG_EXPORT OG_MUST_CHECK int og_option_read(const struct og_option *row, void *fields,
                                           const char *value, struct og_err *err);

/* Set options from a YAML file of `name: value` lines (config.yaml of an earlier run is one). */
OG_EXPORT OG_MUST_CHECK int og_options_load(struct og_options *opt, const char *path,
                                            struct og_err *err);

/* ==== 2. Run ==== */

struct og_progress {
    const char *stage; /* "train", "valid", "test", "import", ...; static storage */
    int epoch, epochs;
    uint64_t done, total; /* total 0 = not known */
    double loss;          /* running mean of this epoch, 0 outside training */
    const char *unit;     /* what done counts: "edges", "bytes", ...; NULL = batches, or rows */
};

/* How a long call talks back. Any member may be NULL; functions may be called from any thread of
 * the call, never two at a time. */
struct og_observer {
    void *arg;
    void (*message)(void *arg, int level, const char *text); /* 0 warning, 1 info, 2 debug */
    void (*progress)(void *arg, const struct og_progress *p);
    void (*epoch)(void *arg, const char *epoch_json); /* after each epoch, as in summary.json */
    /* Non-zero = end at the next batch, resumable. Set by a signal handler or, as the call's own
     * threads read it, with an atomic store. */
    const volatile sig_atomic_t *stop;
};

/* Train on the dataset in folder `dataset`. Writes the run folder (summary.json, checkpoints).
 * Without opt->resume the folder has none of the files that a run writes: -EEXIST names the first
 * that is there, whoever made it. Options that have no effect beside others are told as messages.
 * summary  the text of summary.json; NULL to not want it
 * Returns 0; OG_INTERRUPTED after a stop, with resume.safetensors written; -ENOMEM when the
 * memory budget cannot do (the message names the smallest that would); -EINVAL, -EIO, ... */
OG_EXPORT OG_MUST_CHECK int og_train(const char *dataset, const struct og_options *opt,
                                     const struct og_observer *seen, char **summary,
                                     struct og_err *err);

/* Raises the limit of files that this process may hold open, `ulimit -n`, to the most that it may
 * set by itself: a graph of many relations has thousands open on disk. Other calls leave it as it
 * is, but for og_workers_run. Nothing here uses select(), which knows none above 1024. */
OG_EXPORT void og_files_raise(void);

/* Workers: n processes of this program on this machine, that train together when each comes to
 * og_train with opt->workers = n. One that was started so knows it by its environment.
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
 * not `given`, the checkpoint says so); rows of a layer lie in opt->scratch, else in the folder of
 * `out`. The same bytes whatever the memory.
 *
 * text  {"nodes","seconds","bytes_read","layers":[{"read_amplification",...}],...}; may be NULL
 *
 * Returns OG_INTERRUPTED after a stop: then, as after a kill, rows are kept where they lie, and the
 * same call with opt->resume goes on from there, to the same bytes. -EEXIST where an output exists
 * and opt->resume is not set; -EBUSY while another process makes the same file; -ENOENT where the
 * file was taken away while it was written. */
OG_EXPORT OG_MUST_CHECK int og_predict(const char *dataset, const char *checkpoint, const char *out,
                                       const char *embeddings, const struct og_options *opt,
                                       const struct og_observer *seen, char **text,
                                       struct og_err *err);

/* What training would keep where and read, without running it: the text of plan.json. */
OG_EXPORT OG_MUST_CHECK int og_plan(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* Write the batches of opt->epochs epochs as a trace (docs/formats.md) into new folder `out_dir`,
 * each once where epochs reuse them. opt->samples takes it, on this machine or another. */
OG_EXPORT OG_MUST_CHECK int og_sample(const char *dataset, const char *out_dir, bool with_features,
                                      const struct og_options *opt, const struct og_observer *seen,
                                      struct og_err *err);
/* The same, telling what it did.
 * out  {"trace","batches","rows","bytes_read","bytes_written",...}; NULL to not want it */
OG_EXPORT OG_MUST_CHECK int og_sample_figures(const char *dataset, const char *out_dir,
                                              bool with_features, const struct og_options *opt,
                                              const struct og_observer *seen, char **out,
                                              struct og_err *err);

/* Offline packing: for each draw of the batches in opt->samples, the rows that a cache as large as
 * opt allows is to hold, and a copy of those that its batches read besides, in one piece a batch.
 * Written to subfolder `pack`, which must not exist; og_train with opt->samples uses it. Options
 * that decide numbers are those of the samples unless they were given by name.
 *
 * out  {"pack","draws","cache_rows","rows","bytes_written",...} */
OG_EXPORT OG_MUST_CHECK int og_pack(const char *dataset, const struct og_options *opt,
                                    const struct og_observer *seen, char **out, struct og_err *err);

/* What policies would keep and read with caches of several sizes, without training: the batches of
 * opt->epochs epochs, or those of a trace, go by once a policy. The figures are those of a
 * run.
 *
 * source    a dataset, or a trace made by og_sample
 * policies  "presc:2,lru,belady": a list of values of the option policy
 * caches    "1%,5%,64M": a list of values of the option cache
 * out       {"results":[{"policy","cache","hit_rate",...}],...}
 *
 * With opt->workers above 1 the caches are of each of them: counted with their own mini-batches,
 * and under "exchanged" as if each owned nodes, by their number modulo the workers, and sent their
 * rows to the others (Park et al. 2024, §4.1). */
OG_EXPORT OG_MUST_CHECK int og_simulate(const char *source, const char *policies,
                                        const char *caches, const struct og_options *opt,
                                        const struct og_observer *seen, char **out,
                                        struct og_err *err);

/* The same with a cache in a device's memory over each of the host's: what the device's policy
 * misses is what the host's plans (docs/policies.md, Two tiers).
 *
 * tiers  NULL: as og_simulate
 * out    {"results":[{"policy","cache","device_policy","device_memory","device_hits",...}],...} */
struct og_tiers_asked {
    const char *policies; /* of the device's cache, as `policies`; NULL: static ones, by the
                             rankings of the host's */
    const char *memory;   /* sizes of the device's cache, as `caches`; of several all together */
    const char *victim;   /* "off", "pvp" or "pvp:depth=N", rows a ring; NULL = off */
};
OG_EXPORT OG_MUST_CHECK int
og_simulate_tiers(const char *source, const char *policies, const char *caches,
                  const struct og_tiers_asked *tiers, const struct og_options *opt,
                  const struct og_observer *seen, char **out, struct og_err *err);

/* What an epoch would take with executors of which some sample and some train, told by a clock of
 * events (docs/executors.md).
 *
 * dataset  whose mini-batches are counted and timed, for executors of one thread each; NULL: times
 *          and tickets are given
 * opt      accumulate and staleness say how many mini-batches are trained at a time
 * out      {"splits":[{"split","seconds",...}],...} */
struct og_executors_asked {
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

/* ==== 3. Mini-batches for a model of your own ====
 *
 * The data path of training without the model: batches are sampled, planned, read and copied in
 * threads of their own, while the caller computes (examples/loader.c):
 *
 *     struct og_loader *l = NULL;
 *     const struct og_minibatch *b = NULL;
 *     int rc = og_loader_open(&l, "papers100M", &opt, NULL, NULL, &err);
 *     for (int epoch = 1; rc == 0 && epoch <= opt.epochs; epoch++) {
 *         rc = og_loader_start(l, epoch, &err);
 *         while (rc == 0 && (rc = og_loader_next(l, -1, &b, &err)) == 0 && b) {
 *             step(b->x.data, b->edge_index.data, b->y.data);
 *             og_minibatch_release(b);
 *         }
 *     }
 *     og_loader_close(l);
 *
 * The batches are those of og_sample with the same options, in the same order, whatever the memory,
 * the policy and the threads. opt->epochs is how many are looked ahead to, at most; more may be
 * asked for. Of the options of the model only the task counts; eval_every does not.
 *
 * Calls on one loader may come from any thread; those that wait are og_loader_next,
 * og_loader_start, og_loader_evaluate, og_loader_restore and og_loader_close. In a child process
 * after fork every call that can fail returns -ECHILD, the others do nothing. */

/* What an array has; the first four as enum og_dtype. bf16 is the upper half of a float. */
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
    const char *name;
    int64_t n[OG_MAX_HOPS + 1];
    struct og_array ids; /* i64 [n[n_hops]] within the type, in the order they were found */
    struct og_array x;   /* [n[n_hops], the type's dim]; of a type without features there is none */
};

/* One relation: blocks whose sources are of one type, destinations of another or the same. What
 * they have are positions in the ids of these types. */
struct og_minibatch_relation {
    const char *name;
    int source, destination;      /* types */
    struct og_minibatch_hop *hop; /* [n_hops] */
    struct og_array edge_index;   /* i64 [2, E] of the relation */
};

/* The struct is read only. What its arrays point to is the caller's to write: nobody else looks at
 * it until the batch is released. */
struct og_minibatch {
    const char *split; /* "train", "valid", "test", or "seeds": the caller's own; static storage */
    int epoch;         /* from 1; 0 in a pass of og_loader_evaluate */
    int64_t batch;     /* its number there, from 0 */
    int64_t batches;   /* how many there are */
    int64_t n_seeds;   /* ids[0 .. n_seeds) are the seeds; of links, the ends of its pairs. One that
                          og_loader_options.seeds lists twice is there twice, with its row and its
                          edges; edges from it leave its first place */
    int n_hops;
    struct og_minibatch_hop hop[OG_MAX_HOPS];
    struct og_array ids;        /* i64 [n] of nodes, seeds first; distinct but for repeated seeds */
    struct og_array input_id;   /* i64 [n_seeds] position of each seed in the list that was given,
                                   or in the split's file; of links [n_positive], of each edge */
    struct og_array x;          /* [n, dim] features, in the type they are stored in, or that
                                   opt->pack_dtype says */
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
    int n_types, n_relations;               /* 0: it has none */
    struct og_minibatch_type *type;         /* [n_types] */
    struct og_minibatch_relation *relation; /* [n_relations] */
    struct og_array pair_relation;          /* i64 [P]; the pair's positions are in the ids of its
                                               relation's types. Rivals are first those that keep
                                               the source, of each edge in turn, then as many that
                                               keep the destination; in the place of one that is an
                                               edge too stands the edge itself */
    uint64_t hits, misses;                  /* rows, of all nodes that have features */
    uint64_t bytes_read;                    /* for this batch, of features, structure and samples */
    double stall_seconds;                   /* that og_loader_next waited for it */
};

/* Whose neighbourhoods, and how they are used. */
struct og_loader_options {
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
OG_EXPORT void og_loader_options_init(struct og_loader_options *from); /* the defaults */

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
 * -EINVAL opt->samples has no batches of that epoch, and it stays where it is; -ECANCELED the
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

/* ==== 4. Make and check datasets ==== */

enum og_dtype { OG_F32, OG_F16, OG_BF16, OG_U8 };
enum og_generator { OG_PLANTED, OG_RMAT };

struct og_generate {
    int model;               /* enum og_generator [planted] */
    int64_t nodes;           /* [100000] */
    double degree;           /* mean in-degree [15] */
    int dim, classes;        /* [128] [16] */
    int dtype;               /* enum og_dtype [f32] */
    double train_fraction;   /* of the nodes; valid and test are as large [0.1] */
    double homophily;        /* planted: share of edges inside a class [0.8] */
    int64_t seed;            /* [1] */
    struct og_amount memory; /* bound on what generation holds [as for training] */
    int threads;             /* 0 = all */
    /* With types of nodes, planted: "paper:1000:128,author:5000", NAME:NODES[:FEATURES] each, and
     * relations between them, "author:writes:paper:3", SOURCE:NAME:DESTINATION[:DEGREE] each.
     * Labels and splits are of the first type. [NULL] */
    const char *types, *relations;
};
OG_EXPORT void og_generate_init(struct og_generate *g);

/* Write a synthetic dataset into new folder `out`. rmat uses Graph500's parameters; planted is a
 * degree-corrected block model whose features tell the class only noisily. */
OG_EXPORT OG_MUST_CHECK int og_generate(const char *out, const struct og_generate *g,
                                        const struct og_observer *seen, struct og_err *err);

struct og_import {
    bool symmetrize; /* add every edge's reverse; duplicates are dropped */
    bool drop_self_loops;
    bool drop_duplicates; /* of equal edges the first is kept */
    bool row_normalize;   /* scale each feature row to sum 1 (rows of zeros stay) */
    bool reverse;         /* the source lists dst,src */
    bool link;            /* leave features in the source's file and refer to it */
    bool keep_ids;        /* edgelist: ids as they are, not renumbered */
    int weight_column;    /* edgelist: from 1; 0 = leave further columns out; -1 = there are none */
    const char *labels;   /* igb: name of the label file; NULL = node_label_19.npy */
    int feature_dtype;    /* enum og_dtype, or -1 = as stored (exact) */
    struct og_amount memory;
    int threads;
    bool drop_types;        /* of a source with types of nodes and relations: leave them out */
    bool reverse_relations; /* add each relation backwards, as rev_<name> */
    /* types without features, "author,institution", whose nodes get the mean of their
     * in-neighbours'; NULL = none */
    const char *mean_features;
    const char *columns; /* edgelist: names of its columns, "dst,src,-"; NULL = as the file says */
    int split_column;    /* of masks [N, K], from 0; -1 = there are none */
};
OG_EXPORT void og_import_init(struct og_import *i);

/* A format of og_import. All is static. */
struct og_import_format {
    const char *name;         /* "npy" */
    const char *files;        /* what `src` holds, in a sentence or several */
    const char *const *signs; /* files of a folder: one that is there shows the format; NULL ends */
    /* where `src` is a file: how it begins, "" = as any text; or how its name ends, a list that
     * NULL ends; NULL = not so */
    const char *begins;
    const char *const *ends;
    bool beside; /* what nodes have lies beside the edges, as of "npy" */
};
/* Number i of them, from 0, in the order in which their files are looked for; NULL = no more. */
OG_EXPORT const struct og_import_format *og_import_format(size_t i);

/* Make dataset folder `out` from `src` in the `format` of that name (docs/formats.md). In bounded
 * memory: edges are sorted on disk. Nothing is left at `out` on
 * failure. */
OG_EXPORT OG_MUST_CHECK int og_import(const char *format, const char *src, const char *out,
                                      const struct og_import *opt, const struct og_observer *seen,
                                      struct og_err *err);

/* Write `dataset` as new folder `out` in `format`: "npy" or "graphbolt". In bounded memory. */
OG_EXPORT OG_MUST_CHECK int og_export(const char *format, const char *dataset, const char *out,
                                      const struct og_observer *seen, struct og_err *err);

/* Make dataset folder `out` for worker `part` of `parts`, numbered from 0, of machines that train
 * with opt->exchange: all of `dataset`, but of features the rows of those nodes alone that this
 * worker owns, whose number is `part` modulo `parts`. Nothing but og_train on all of them takes it.
 * Nothing is left at `out` on failure. */
OG_EXPORT OG_MUST_CHECK int og_stripe_part(const char *dataset, const char *out, int parts,
                                           int part, const struct og_observer *seen,
                                           struct og_err *err);

/* Put the features of `dataset` in parts into the folders `over`, "DIR,DIR[,...]", each on a disk
 * of its own as a rule, from which they are then read side by side: units of about 1 MiB of whole
 * rows, in turn. The dataset is what it was until all parts are written and checked; then the file
 * that they replace is removed, unless `keep`. One that was killed goes on from the start. -EBUSY:
 * another process does this to the dataset. */
OG_EXPORT OG_MUST_CHECK int og_stripe(const char *dataset, const char *over, bool keep,
                                      const struct og_observer *seen, struct og_err *err);

/* Counts, dtypes, sizes, degree distribution, what fits in which memory. */
OG_EXPORT OG_MUST_CHECK int og_info(const char *dataset, char **out, struct og_err *err);

/* Check checksums, ranges, order and NaN; `finding` is called once each, with one line of text.
 * Returns the number of findings, or a negative code when the check itself could not be made. */
OG_EXPORT OG_MUST_CHECK int og_verify(const char *dataset,
                                      void (*finding)(void *arg, const char *text), void *arg,
                                      const struct og_observer *seen, struct og_err *err);
/* The same; `hint` says what would mend it, "" where the line before says so already. */
OG_EXPORT OG_MUST_CHECK int
og_verify_hints(const char *dataset, void (*finding)(void *arg, const char *text, const char *hint),
                void *arg, const struct og_observer *seen, struct og_err *err);

/* The same for a folder of samples made by og_sample, and what og_pack put into it: everything
 * against its checksums; and, unless `dataset` is NULL, against that dataset, packed rows too. */
OG_EXPORT OG_MUST_CHECK int
og_verify_samples(const char *samples, const char *dataset,
                  void (*finding)(void *arg, const char *text, const char *hint), void *arg,
                  const struct og_observer *seen, struct og_err *err);

/* What runs keep for those to come in `folder`, the `scratch` they were given, a folder or several
 * (NULL = the user's cache folder): neighbour caches, and layers of inference that was interrupted.
 * With `clear` all of it is removed that no process uses; it is made again when it is needed. A
 * folder that is not there is an empty one.
 *
 * out  {"folder","bytes","removed_bytes","limit_bytes","limit_seconds",
 *       "kept":[{"name","folder","kind","dataset","bytes","idle_seconds","in_use","removed"},...]}
 */
OG_EXPORT OG_MUST_CHECK int og_cache(const char *folder, bool clear, char **out,
                                     struct og_err *err);

#ifdef __cplusplus
}
#endif

#endif
