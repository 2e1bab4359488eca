/* Options of everything that samples or trains: what there are, and setting them by name. Part of
 * the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_OPTIONS_H
#define OUTGROW_OPTIONS_H

#include <outgrow/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    int workers;   /* processes that train together, one of them this (og_workers_run); calls that
                      neither train nor tell of training take 1 alone */
    bool exchange; /* each of them keeps the rows of a part of the nodes, and sends them to the rest
                    */
    struct og_executor_split executors; /* who samples and who trains */
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

#ifdef __cplusplus
}
#endif

#endif
