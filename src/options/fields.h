/* The struct that options are. Programs know it as a name alone (<outgrow/options.h>), so that a
 * new option is a field here and a row in options.c. */
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

/* Everything that training can be told: a field for each row of the table in options.c, and how
 * many numbers the fanout has. Set by name, or inside the library directly. Strings are owned by
 * the struct. A preset fills in what was not `given`: og_options_set and og_options_load record
 * that, a field set directly does not. So does a checkpoint, of `init` say, with the sampler that
 * it was trained with. */
struct og_options {
    /* model: these and the next group decide the numbers */
    int model;  /* enum og_model_kind */
    int layers; /* 0 = length of fanout */
    int hidden;
    int heads;      /* of gat and gatv2 */
    int aggregator; /* enum og_aggregator_kind, of sage */
    int bases;      /* of rgcn; 0 = a matrix for each relation */
    int norm;       /* enum og_norm_kind */
    int embedding;  /* width of rows that are learnt for types without features; 0 = none */
    bool residual;
    double dropout, input_dropout;
    double attention_dropout; /* of gat and gatv2 */
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

    struct og_option_set given; /* by name */
    const char *removed;        /* of a file, an option that there is no more */
};

/* The defaults, into a struct that need not be initialised; and its strings given back. */
void og__options_init(struct og_options *opt);
void og__options_release(struct og_options *opt);

#endif
