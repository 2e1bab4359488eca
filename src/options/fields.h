/* The struct of all options, opaque to programs (<outgrow/options.h>). A new option is a field here
 * and a row in options.c. */
#ifndef OG_FIELDS_H
#define OG_FIELDS_H

#include "base/choices.h"
#include "base/option_rows.h"

#include <stdbool.h>
#include <stdint.h>

/* A set of options, a bit for each row. */
struct og_option_set {
    unsigned char bits[32];
};

/* All options of training: a field per row of the table in options.c, and the fanout's length. Set
 * by name, or directly inside the library. The struct owns its strings. Presets set options that
 * are not `given`, and so do checkpoints with the sampler that they were trained with.
 * og_options_set and og_options_load set `given`; assignments do not. */
struct og_options {
    /* model: this group and the next decide the results */
    int model;  /* enum og_model_kind */
    int layers; /* 0 = length of fanout */
    int hidden;
    int heads;               /* of attention */
    int aggregator;          /* enum og_aggregator_kind, for sage */
    int bases;               /* rgcn; 0 = a matrix per relation */
    int edge_weights;        /* enum og_edge_weights_kind; use og__edge_weights */
    int edge_features;       /* enum og_edge_features_kind */
    char *inputs;            /* of mlp: hops of a row, "0-K" or "K", and ":HOW"; NULL = "0" */
    int norm;                /* enum og_norm_kind */
    int compute;             /* enum og_compute_kind */
    int embedding;           /* width of learnable embeddings of types without features; 0 = none */
    int embedding_optimizer; /* enum og_row_optimizer_kind */
    double embedding_lr;     /* of other optimizers than dense; 0 = lr */
    bool residual;
    double dropout, input_dropout;
    double attention_dropout; /* of coefficients of attention */
    int optimizer;            /* enum og_optimizer_kind */
    double lr, weight_decay;
    double beta1, beta2, epsilon; /* adam and adamw */
    double clip;                  /* maximum norm of a step's gradient; 0 = none */
    int lr_schedule;              /* enum og_rate_kind */
    int64_t lr_steps;             /* cosine: its steps; 0 = those of the run */
    double lr_min;                /* cosine and plateau */
    int lr_every;                 /* epochs; step */
    double lr_factor;             /* step and plateau */
    int lr_patience;              /* evaluations; plateau */
    int warmup;                   /* steps */
    int device;                   /* enum og_device_kind: what computes */
    char *devices;          /* comma-separated numbers of the training devices; NULL = the first */
    char *init;             /* safetensors file with initial parameters, or NULL */
    int task;               /* enum og_task_kind */
    int decoder;            /* enum og_decoder_kind, for link */
    int loss;               /* enum og_loss_kind */
    double focal_gamma;     /* of the loss focal */
    double label_smoothing; /* classes; 0 = none */
    char *class_weights;    /* "balanced", a .npy file, or NULL = all equal */
    char *seed_weights;     /* a .npy file, or NULL = all equal */
    char *type_weights;     /* TYPE=W,..., or NULL */
    /* batches */
    char *edge_split; /* link: "85/5/10", "dataset", or NULL = the dataset's, else the former */
    char *relation;   /* link, heterogeneous: relation of the edges; NULL = all relations */
    int negatives;    /* per edge, in training */
    int negative;     /* enum og_negative_kind */
    int eval_negatives;
    int fanout[OG_MAX_HOPS]; /* hop 1 first; -1 = all neighbours */
    int n_fanout;
    char *relation_fanout;             /* "NAME=N,N;NAME=N,N", heterogeneous; NULL = none */
    int sampler;                       /* enum og_sampler_kind */
    int walks, walk_length, neighbors; /* sampler walk */
    double walk_restart;
    int draw; /* enum og_draw_kind */
    bool replace;
    bool disjoint;
    int time, time_strategy; /* enum og_times_kind, og_time_strategy_kind */
    int64_t time_window;
    int batch_dependency; /* labor: batches over which a node's random number stays */
    bool layer_dependency;
    int batch, epochs;
    int accumulate; /* mini-batches whose gradients are added in a step */
    int staleness;  /* steps by which the parameters of a gradient lag */
    int64_t seed;
    bool no_shuffle;
    int locality;       /* training seeds per chunk; 0 = off */
    char *order;        /* of them: "minhash" or a .npy file; NULL = the list's */
    int oversample;     /* enum og_oversample_kind: how seeds of training are drawn */
    int eval_every;     /* epochs; 0 = never */
    int best_by;        /* enum og_best_kind */
    int patience;       /* validations without improvement after which a run stops; 0 = never */
    double min_delta;   /* of its figure; a smaller improvement is none */
    int resample_every; /* epochs that train on the same batches, in different order */
    int pack_dtype;     /* enum og_pack_dtype_kind: of cached and packed rows */
    /* resources: these never change the results */
    struct og_amount memory, cache;
    int threads;   /* 0 = all */
    int workers;   /* processes that train together (og_workers_run); 1 for calls other than train,
                      plan and simulate */
    bool exchange; /* each worker caches rows of its nodes only and sends them to the others */
    struct og_executor_split executors; /* samplers and trainers */
    int topology;                       /* enum og_topology_kind */
    struct og_amount neighbor_cache;
    int sample_on;      /* enum og_sample_on_kind: where neighbours are sampled */
    int together;       /* batches per sample group; OG_TOGETHER_AUTO */
    int policy;         /* enum og_policy_kind */
    int presc_epochs;   /* of presc */
    char *scores;       /* of file: .npy with a number per node */
    int superbatch;     /* batches sampled ahead and planned together, or OG_SUPERBATCH_* */
    int layout;         /* enum og_layout_kind: where missed rows are read */
    bool alternate;     /* phased memory: sampling ahead, then training, each with all the memory */
    int pipeline;       /* enum og_pipeline_kind: which stages overlap */
    int ways;           /* slots per set of rr and hybrid */
    int window, update; /* batches; hybrid */
    int threshold;      /* batches; 0 = an eighth of the window */
    int evict;          /* enum og_evict_kind */
    /* device tier: a cache in device memory, above the host's */
    struct og_amount
        device_memory;     /* limit of all device memory of training; bytes, or not given */
    char *device_policy;   /* a policy with parameters; NULL = static, with the ranking of policy */
    char *victim;          /* "off", "pvp", "pvp:depth=N"; NULL = off */
    struct og_amount disk; /* limit of what is written to scratch, all folders together */
    char *scratch;         /* comma-separated folders; NULL = the run's */
    char *samples;         /* folder made by og_sample; NULL = batches are sampled */
    int io;                /* enum og_io_kind */
    int preset;            /* enum og_preset_kind */
    /* the run */
    char *run; /* folder, or NULL = runs/<date>-<n> */
    bool resume;
    int checkpoint_every; /* seconds */
    int log_every;        /* batches; 0 = never */
    char *trace_timeline; /* file, or NULL */

    struct og_option_set given; /* set explicitly */
    const char *removed;        /* a former option found in a file */
};

/* Set all defaults; the struct may be uninitialised. And free its strings. */
void og__options_init(struct og_options *opt);
void og__options_release(struct og_options *opt);

#endif
