/* The table of options: their names, help and fields.
 *
 *     command line ─┐                             ┌─> help, man page, completion
 *     config.yaml ──┼─> og_options_set ─> struct ─┤
 *     a preset ─────┘    (options_set.c)          └─> config.yaml, summary.json   (options_text.c)
 *
 * A row describes an option completely. A new option is a field in fields.h and a row here.
 * Unfinished features have no row, so that their options are refused instead of ignored. */
#include "options/options.h"

#include "nn/nn.h"
#include "nn/rates.h"
#include "plan/policy.h"
#include "sample/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

#define FIELD(f) offsetof(struct og_options, f)
_Static_assert(offsetof(struct og_options, n_fanout) ==
                   offsetof(struct og_options, fanout) + OG_MAX_HOPS * sizeof(int),
               "a list stands before its length");
#define WORD(NAME, name) #name,
#define NAMES(...)       ((const char *const[]){__VA_ARGS__, NULL})
#define MIN_MEMORY       0x1p20   /* less is a size without its unit */
#define MAX_DROPOUT      0.99     /* at 1 nothing would be left to scale */
#define MAX_BETA         0.999999 /* at 1 a mean never changes */

static const char numbers[] = "The model and its training (these decide the results)";
static const char sampling[] = "Batches and sampling (these decide the results too)";
static const char resources[] = "Memory and disk (these never change the results)";
static const char running[] = "The run";

#define ROW           OG_ROW
#define ALL           NULL, false
#define OF(choice)    choice, false /* parameter of some of its kinds */
#define JOINS(choice) choice, true

#define NOTHING OG_DECIDES_NOTHING
#define EXTENT  OG_DECIDES_EXTENT
#define NUMBERS OG_DECIDES_NUMBERS
#define BATCHES OG_DECIDES_BATCHES

/* Names are in the order of the enums of base/choices.h. Formatted by hand: option, help, storage.
 */
/* clang-format off */
static const struct og_row table[] = {
    ROW("model", "KIND", "sage", numbers, NUMBERS,
     "network; rgcn is for heterogeneous graphs (docs/reference/models.md)",
     og__model_words, OG_OPTION_CHOICE, FIELD(model), 0, 0, ALL),
    ROW("layers", "N", "0", numbers, NUMBERS,
     "number of layers; 0 = as many as --fanout has numbers",
     NULL, OG_OPTION_INT, FIELD(layers), 0, OG_MAX_HOPS, ALL),
    ROW("hidden", "N", "256", numbers, NUMBERS,
     "width of the hidden layers",
     NULL, OG_OPTION_INT, FIELD(hidden), 1, 65536, ALL),
    ROW("heads", "N", "4", numbers, NUMBERS,
     "attention heads of the models gat, gatv2 and transformer, which share --hidden",
     NULL, OG_OPTION_INT, FIELD(heads), 1, 64, OF("model")),
    ROW("aggregator", "KIND", "mean", numbers, NUMBERS,
     "aggregation of the model sage; gcn: mean over the neighbours and the node itself",
     NAMES("mean", "max", "gcn"), OG_OPTION_CHOICE, FIELD(aggregator), 0, 0, OF("model")),
    ROW("edge-weights", "HOW", "auto", numbers, BATCHES,
     "edge weights: factors along the edges or, in sage, weights of the mean "
     "(docs/reference/models.md); auto = multiply in gcn, else off",
     NAMES("off", "multiply", "mean", "auto"), OG_OPTION_CHOICE, FIELD(edge_weights), 0, 0, OF("model")),
    ROW("edge-features", "HOW", "auto", numbers, NUMBERS,
     "features of edges in gat, gatv2, gine and transformer; auto = on if the dataset has them and "
     "batches can",
     NAMES("off", "on", "auto"), OG_OPTION_CHOICE, FIELD(edge_features), 0, 0, OF("model")),
    ROW("inputs", "HOPS", "", numbers, BATCHES,
     "rows that mlp reads: 0-K, the features and K propagated hops, or K, hop K alone "
     "(docs/guides/hops.md); default: 0",
     NULL, OG_OPTION_TEXT, FIELD(inputs), 0, 0, OF("model")),
    ROW("bases", "B", "0", numbers, NUMBERS,
     "rgcn: basis matrices that relations combine; 0 = a matrix per relation",
     NULL, OG_OPTION_INT, FIELD(bases), 0, 4096, OF("model")),
    ROW("norm", "KIND", "none", numbers, NUMBERS,
     "normalisation after each hidden layer, over the batch or over each node's row",
     NAMES("none", "batch", "layer"), OG_OPTION_CHOICE, FIELD(norm), 0, 0, ALL),
    ROW("residual", NULL, "false", numbers, NUMBERS,
     "add each layer's input to its output",
     NULL, OG_OPTION_FLAG, FIELD(residual), 0, 0, ALL),
    ROW("compute", "HOW", "f32", numbers, NUMBERS,
     "how operands of matrix products are rounded; sums are f32 (docs/reference/models.md)",
     NAMES("f32", "bf16", "tf32"), OG_OPTION_CHOICE, FIELD(compute), 0, 0, ALL),
    ROW("embedding", "DIM", "0", numbers, NUMBERS,
     "heterogeneous graphs: width of the learnable embeddings of types without features; 0 = none. If "
     "features have several widths, rgcn projects them to this one, or else to --hidden",
     NULL, OG_OPTION_INT, FIELD(embedding), 0, 1 << 20, ALL),
    ROW("embedding-optimizer", "KIND", "dense", numbers, NUMBERS,
     "optimizer of learnable embeddings; dense = --optimizer, for all rows. The others update the rows of a "
     "batch alone, which may exceed memory",
     NAMES("dense", "sparse-adam", "adagrad", "row-adagrad"), OG_OPTION_CHOICE, FIELD(embedding_optimizer), 0, 0, ALL),
    ROW("embedding-lr", "X", "0", numbers, NUMBERS,
     "learning rate of embeddings with such an optimizer, which follows --lr-schedule; 0 = --lr",
     NULL, OG_OPTION_REAL, FIELD(embedding_lr), 0, 1e6, ALL),
    ROW("dropout", "P", "0.5", numbers, NUMBERS,
     "fraction of the hidden activations dropped in training",
     NULL, OG_OPTION_REAL, FIELD(dropout), 0, MAX_DROPOUT, ALL),
    ROW("input-dropout", "P", "0", numbers, NUMBERS,
     "fraction of the features dropped in training, per batch",
     NULL, OG_OPTION_REAL, FIELD(input_dropout), 0, MAX_DROPOUT, ALL),
    ROW("attention-dropout", "P", "0", numbers, NUMBERS,
     "fraction of the attention coefficients of gat, gatv2 and transformer dropped in training",
     NULL, OG_OPTION_REAL, FIELD(attention_dropout), 0, MAX_DROPOUT, OF("model")),
    ROW("task", "KIND", "node", numbers, BATCHES,
     "what the model predicts: labels of nodes, edges between nodes, or labels of edges "
     "(docs/reference/tasks.md)",
     og__task_words, OG_OPTION_CHOICE, FIELD(task), 0, 0, ALL),
    ROW("decoder", "KIND", "dot", numbers, NUMBERS,
     "score of a pair in the task link (docs/reference/tasks.md); the last three learn a vector per relation",
     og__decoder_words, OG_OPTION_CHOICE, FIELD(decoder), 0, 0, OF("task")),
    ROW("loss", "KIND", "auto", numbers, NUMBERS,
     "loss of a task that has several (docs/reference/tasks.md); auto = the usual one for its labels",
     og__loss_words, OG_OPTION_CHOICE, FIELD(loss), 0, 0, ALL),
    ROW("focal-gamma", "G", "2", numbers, NUMBERS,
     "exponent of the loss focal: 0 = cross-entropy",
     NULL, OG_OPTION_REAL, FIELD(focal_gamma), 0, 100, JOINS("loss")),
    ROW("class-weights", "balanced|FILE", "", numbers, NUMBERS,
     "weights of the classes in the loss: balanced, by the training nodes of each, or a .npy file "
     "with a number a class (docs/guides/training-practice.md)",
     NULL, OG_OPTION_TEXT, FIELD(class_weights), 0, 0, ALL),
    ROW("seed-weights", "FILE", "", numbers, NUMBERS,
     ".npy file with the weight in the loss of each training node or edge",
     NULL, OG_OPTION_TEXT, FIELD(seed_weights), 0, 0, ALL),
    ROW("type-weights", "TYPE=W,...", "", numbers, NUMBERS,
     "heterogeneous graphs: the weight in the loss of training nodes of these types, 1 by default",
     NULL, OG_OPTION_TEXT, FIELD(type_weights), 0, 0, ALL),
    ROW("label-smoothing", "E", "0", numbers, NUMBERS,
     "share of a node's target that is spread evenly over all classes",
     NULL, OG_OPTION_REAL, FIELD(label_smoothing), 0, 1, ALL),
    ROW("edge-split", "A/B/C", "", sampling, BATCHES,
     "percent of the edges to train, validate and test the task link on; default: the dataset's own "
     "edge lists (required by `dataset`), else 85/5/10",
     NULL, OG_OPTION_TEXT, FIELD(edge_split), 0, 0, OF("task")),
    ROW("relation", "NAME", "", sampling, BATCHES,
     "heterogeneous graphs: the relation whose edges the tasks link and edge learn; default: all "
     "relations",
     NULL, OG_OPTION_TEXT, FIELD(relation), 0, 0, OF("task")),
    ROW("negatives", "K", "1", sampling, BATCHES,
     "negatives per edge in training of the task link: pairs of nodes without an edge",
     NULL, OG_OPTION_INT, FIELD(negatives), 1, 1 << 16, OF("task")),
    ROW("negative", "KIND", "uniform", sampling, BATCHES,
     "negatives in training: drawn from all nodes, from the ends of the batch's edges, or given by the dataset",
     NAMES("uniform", "batch", "given"), OG_OPTION_CHOICE, FIELD(negative), 0, 0, OF("task")),
    ROW("eval-negatives", "K", "100", numbers, NUMBERS,
     "nodes against which each end of an edge is ranked in evaluation of the task link",
     NULL, OG_OPTION_INT, FIELD(eval_negatives), 1, 1 << 20, OF("task")),
    ROW("fanout", "N,N,...", "10,10,10", sampling, BATCHES,
     "neighbours sampled per hop, the seeds' hop first; -1 = all",
     NULL, OG_OPTION_LIST, FIELD(fanout), -1, 1 << 20, ALL),
    ROW("relation-fanout", "R=N,N,...;...", "", sampling, BATCHES,
     "heterogeneous graphs: fanouts of relations by name, also accepted by --fanout after a semicolon: "
     "--fanout '10,10;cites=15,10'; 0 = none",
     NULL, OG_OPTION_TEXT, FIELD(relation_fanout), 0, 0, ALL),
    ROW("sampler", "KIND", "uniform", sampling, BATCHES,
     "neighbour sampling (docs/reference/samplers.md)",
     og__sampler_words, OG_OPTION_CHOICE, FIELD(sampler), 0, 0, ALL),
    ROW("walks", "N", "4", sampling, BATCHES,
     "random walks per node of the sampler walk",
     NULL, OG_OPTION_INT, FIELD(walks), 1, 128, OF("sampler")),
    ROW("walk-length", "N", "3", sampling, BATCHES,
     "maximum steps of a random walk",
     NULL, OG_OPTION_INT, FIELD(walk_length), 1, 16, OF("sampler")),
    ROW("walk-restart", "P", "0.5", sampling, BATCHES,
     "probability that a random walk ends before a step, except the first",
     NULL, OG_OPTION_REAL, FIELD(walk_restart), 0, 1, OF("sampler")),
    ROW("neighbors", "N", "5", sampling, BATCHES,
     "nodes with the most visits that the sampler walk keeps per hop, instead of --fanout's numbers",
     NULL, OG_OPTION_INT, FIELD(neighbors), 1, 2048, OF("sampler")),
    ROW("draw", "WHEN", "each", sampling, BATCHES,
     "when a node samples its neighbours: in each hop, or once per batch, as in PyTorch "
     "Geometric's NeighborLoader",
     NAMES("each", "once"), OG_OPTION_CHOICE, FIELD(draw), 0, 0, OF("sampler")),
    ROW("replace", NULL, "false", sampling, BATCHES,
     "sample neighbours with replacement: --fanout's number of them even where a node has fewer",
     NULL, OG_OPTION_FLAG, FIELD(replace), 0, 0, OF("sampler")),
    ROW("disjoint", NULL, "false", sampling, BATCHES,
     "sample a neighbourhood of its own for each seed, as --sampler disjoint does",
     NULL, OG_OPTION_FLAG, FIELD(disjoint), 0, 0, OF("sampler")),
    ROW("time", "OF", "off", sampling, BATCHES,
     "sample no edge that is later than its seed, by times of nodes (node_times.npy) or of edges "
     "(edge_times.npy); neighbourhoods are disjoint",
     NAMES("off", "node", "edge"), OG_OPTION_CHOICE, FIELD(time), 0, 0, OF("sampler")),
    ROW("time-strategy", "HOW", "uniform", sampling, BATCHES,
     "which edges of --time are sampled: any, or the latest",
     NAMES("uniform", "last"), OG_OPTION_CHOICE, FIELD(time_strategy), 0, 0, OF("sampler")),
    ROW("time-window", "W", "0", sampling, BATCHES,
     "with --time, edges that are at most so much earlier than the seed; 0 = all",
     NULL, OG_OPTION_INT64, FIELD(time_window), 0, 0x1p62, OF("sampler")),
    ROW("batch-dependency", "K", "1", sampling, BATCHES,
     "labor: training batches that a node keeps its random number for. They share more rows "
     "(docs/guides/locality.md)",
     NULL, OG_OPTION_INT, FIELD(batch_dependency), 1, 1 << 30, OF("sampler")),
    ROW("layer-dependency", NULL, "false", sampling, BATCHES,
     "labor: one random number per node for all hops. Batches have fewer nodes",
     NULL, OG_OPTION_FLAG, FIELD(layer_dependency), 0, 0, OF("sampler")),
    ROW("batch", "N", "1000", sampling, BATCHES,
     "seed nodes, or edges, per mini-batch",
     NULL, OG_OPTION_INT, FIELD(batch), 1, 1 << 30, ALL),
    ROW("accumulate", "G", "1", numbers, NUMBERS,
     "mini-batches per optimizer step, whose gradients are added "
     "(docs/explanation/training-order.md)",
     NULL, OG_OPTION_INT, FIELD(accumulate), 1, 1 << 20, ALL),
    ROW("staleness", "S", "0", numbers, NUMBERS,
     "optimizer steps by which the parameters of a gradient lag (docs/explanation/training-order.md)",
     NULL, OG_OPTION_INT, FIELD(staleness), 0, 64, ALL),
    ROW("epochs", "N", "10", numbers, EXTENT,
     "passes over the training nodes; 0 writes the initial model",
     NULL, OG_OPTION_INT, FIELD(epochs), 0, 1 << 24, ALL),
    ROW("optimizer", "KIND", "adam", numbers, NUMBERS,
     "optimizer; in adamw the weight decay makes the parameters themselves smaller",
     og__optimizer_words, OG_OPTION_CHOICE, FIELD(optimizer), 0, 0, ALL),
    ROW("lr", "X", "0.003", numbers, NUMBERS,
     "learning rate",
     NULL, OG_OPTION_REAL, FIELD(lr), 0, 1e6, ALL),
    ROW("weight-decay", "X", "0", numbers, NUMBERS,
     "L2 penalty, added to the gradient; with adamw, times --lr, the share by which a step shrinks the "
     "parameters",
     NULL, OG_OPTION_REAL, FIELD(weight_decay), 0, 1e6, ALL),
    ROW("beta1", "B", "0.9", numbers, NUMBERS,
     "adam and adamw: decay of the running mean of gradients",
     NULL, OG_OPTION_REAL, FIELD(beta1), 0, MAX_BETA, OF("optimizer")),
    ROW("beta2", "B", "0.999", numbers, NUMBERS,
     "adam and adamw: decay of the running mean of squared gradients",
     NULL, OG_OPTION_REAL, FIELD(beta2), 0, MAX_BETA, OF("optimizer")),
    ROW("epsilon", "X", "1e-8", numbers, NUMBERS,
     "adam and adamw: added to the root by which a step divides",
     NULL, OG_OPTION_REAL, FIELD(epsilon), 1e-30, 1, OF("optimizer")),
    ROW("clip", "C", "0", numbers, NUMBERS,
     "maximum norm of a step's gradient, over all parameters; 0 = none",
     NULL, OG_OPTION_REAL, FIELD(clip), 0, 1e30, ALL),
    ROW("lr-schedule", "KIND", "constant", numbers, NUMBERS,
     "learning rate from --lr on. step:E,G: times G every E epochs; plateau:F,P: times F when more "
     "than P validations in a row did not improve (docs/guides/training-practice.md)",
     og__rate_words, OG_OPTION_CHOICE, FIELD(lr_schedule), 0, 0, ALL),
    ROW("lr-steps", "T", "0", numbers, NUMBERS,
     "optimizer steps of half a cosine; 0 = those of --epochs when the run began",
     NULL, OG_OPTION_INT64, FIELD(lr_steps), 0, 0x1p62, OF("lr-schedule")),
    ROW("lr-min", "X", "0", numbers, NUMBERS,
     "smallest learning rate of the schedules cosine and plateau",
     NULL, OG_OPTION_REAL, FIELD(lr_min), 0, 1e6, OF("lr-schedule")),
    ROW("lr-every", "EPOCHS", "10", numbers, NUMBERS,
     "epochs between two changes of the schedule step",
     NULL, OG_OPTION_INT, FIELD(lr_every), 1, 1 << 24, JOINS("lr-schedule")),
    ROW("lr-factor", "X", "0.1", numbers, NUMBERS,
     "factor of a change of the schedules step and plateau",
     NULL, OG_OPTION_REAL, FIELD(lr_factor), 0, 1e6, JOINS("lr-schedule")),
    ROW("lr-patience", "N", "10", numbers, NUMBERS,
     "validations in a row without improvement that the schedule plateau waits for",
     NULL, OG_OPTION_INT, FIELD(lr_patience), 0, 1 << 24, JOINS("lr-schedule")),
    ROW("warmup", "STEPS", "0", numbers, NUMBERS,
     "optimizer steps in which the learning rate first rises, in equal parts, to --lr",
     NULL, OG_OPTION_INT, FIELD(warmup), 0, 1 << 30, ALL),
    ROW("device", "KIND", "cpu", numbers, NUMBERS,
     "what computes the model: the CPU, a virtual device for tests, or a GPU (docs/guides/gpu.md). "
     "Results agree within rounding",
     NAMES("cpu", "virtual", "cuda"), OG_OPTION_CHOICE, FIELD(device), 0, 0, ALL),
    ROW("devices", "N,N,...", "", resources, NOTHING,
     "numbers of the devices that train, each on its own mini-batches; requires --accumulate or "
     "--staleness. --device cuda:0,1 has them too (docs/guides/gpu.md)",
     NULL, OG_OPTION_TEXT, FIELD(devices), 0, 0, ALL),
    ROW("init", "FILE", "", numbers, EXTENT,
     "safetensors file with the initial parameters. Defaults of --sampler and, for the task link, of "
     "--seed and --edge-split are then those that the file was trained with",
     NULL, OG_OPTION_TEXT, FIELD(init), 0, 0, ALL),
    ROW("seed", "N", "1", sampling, BATCHES,
     "seed of all random choices",
     NULL, OG_OPTION_INT64, FIELD(seed), 0, 0x1p63, ALL),
    ROW("no-shuffle", NULL, "false", sampling, BATCHES,
     "use the training nodes in the order of their file",
     NULL, OG_OPTION_FLAG, FIELD(no_shuffle), 0, 0, ALL),
    ROW("locality", "C", "off", sampling, BATCHES,
     "shuffle chunks of C training nodes or edges, not single ones. Batches need fewer rows "
     "(docs/guides/locality.md)",
     NAMES("off"), OG_OPTION_INT, FIELD(locality), 1, 1 << 30, ALL),
    ROW("order", "file|minhash|FILE", "", sampling, BATCHES,
     "list of --locality: the training list (default), by MinHash of in-neighbours, or a .npy file "
     "of places in it",
     NULL, OG_OPTION_TEXT, FIELD(order), 0, 0, ALL),
    ROW("oversample", "HOW", "none", sampling, BATCHES,
     "balanced: draw the training nodes of an epoch with replacement, each class equally often; none: "
     "each node once",
     NAMES("none", "balanced"), OG_OPTION_CHOICE, FIELD(oversample), 0, 0, ALL),
    ROW("eval-every", "EPOCHS", "1", numbers, NUMBERS,
     "epochs between validations; 0 = never",
     NULL, OG_OPTION_INT, FIELD(eval_every), 0, 1 << 24, ALL),
    ROW("best-by", "FIGURE", "auto", numbers, NUMBERS,
     "validation metric that selects the best epoch, stored in best.safetensors; the smallest "
     "validation loss breaks ties. The default is acc for classes, micro_f1 for several "
     "labels, r2 for values, ndcg@10 for shares, auc for links. The metric f1 is that of class 1 of two, else "
     "micro_f1. With more than two classes auc and ap need 4 bytes per held-out node and class",
     og__best_words, OG_OPTION_CHOICE, FIELD(best_by), 0, 0, ALL),
    ROW("patience", "P", "0", numbers, EXTENT,
     "stop when the --best-by metric has not improved for P validations in a row; --epochs is then the "
     "most; 0 = never stop",
     NULL, OG_OPTION_INT, FIELD(patience), 0, 1 << 24, ALL),
    ROW("min-delta", "X", "0", numbers, NUMBERS,
     "improvement of the --best-by metric that --patience and --lr-schedule plateau take for one: more "
     "than this",
     NULL, OG_OPTION_REAL, FIELD(min_delta), 0, 1e30, ALL),
    ROW("resample-every", "EPOCHS", "1", sampling, NUMBERS,
     "epochs that train on the same sampled batches, each in its own order",
     NULL, OG_OPTION_INT, FIELD(resample_every), 1, 1 << 24, ALL),
    ROW("pack-dtype", "TYPE", "stored", numbers, NUMBERS,
     "type to which f32 features are rounded when read; stored = not rounded. i8 and e4m3 require "
     "`import --feature-scales`",
     NAMES("stored", "f32", "f16", "bf16", "i8", "e4m3"), OG_OPTION_CHOICE, FIELD(pack_dtype), 0, 0, ALL),

    ROW("memory", "SIZE", "", resources, NOTHING,
     "limit of all memory together, such as 512M, 4G or 25%; default: 90% of the free memory",
     NULL, OG_OPTION_AMOUNT, FIELD(memory), MIN_MEMORY, OG__MOST_BYTES, ALL),
    ROW("cache", "SIZE", "", resources, NOTHING,
     "limit of the feature cache; 5% = that share of all rows; default: the rest of --memory",
     NULL, OG_OPTION_AMOUNT, FIELD(cache), 0, OG__MOST_BYTES, ALL),
    ROW("threads", "N", "all", resources, NOTHING,
     "CPU threads",
     NAMES("all"), OG_OPTION_INT, FIELD(threads), 0, 1024, ALL),
    ROW("workers", "N", "1", resources, NOTHING,
     "processes on this machine that train together, each on its share of a step's mini-batches. They "
     "share --memory; the default of --accumulate is N (docs/guides/workers-and-machines.md)",
     NULL, OG_OPTION_INT, FIELD(workers), 1, 64, ALL),
    ROW("exchange", NULL, "false", resources, NOTHING,
     "partition the feature rows among the workers: each reads and caches its own and sends them "
     "to the others (docs/guides/workers-and-machines.md)",
     NULL, OG_OPTION_FLAG, FIELD(exchange), 0, 0, ALL),
    ROW("executors", "N|S:T", "auto", resources, NOTHING,
     "N trainers, groups of threads that compute a mini-batch each. S:T = S sampling threads, "
     "which stand in as trainers when idle, and T trainers; 1:0 = one that does both in turn "
     "(docs/explanation/training-order.md)",
     NAMES("auto"), OG_OPTION_SPLIT, FIELD(executors), 0, 32, ALL),
    ROW("topology", "PLACE", "auto", resources, NOTHING,
     "where the topology is: in memory, or on disk with a neighbour cache. By default in memory if "
     "it fits, unless --policy auto has a better use of the memory",
     NAMES("memory", "disk", "auto"), OG_OPTION_CHOICE, FIELD(topology), 0, 0, ALL),
    ROW("neighbor-cache", "SIZE", "", resources, NOTHING,
     "memory for adjacency lists of important nodes with --topology disk; default: up to half of what "
     "is free, with --phased-memory all of it; 0 = none",
     NULL, OG_OPTION_AMOUNT, FIELD(neighbor_cache), 0, OG__MOST_BYTES, ALL),
    ROW("sample-on", "PLACE", "host", resources, NOTHING,
     "where neighbours are sampled: the CPU, the device with the topology in its memory, or, "
     "pinned, in host memory. Requires --sampler uniform",
     NAMES("host", "device", "pinned"), OG_OPTION_CHOICE, FIELD(sample_on), 0, 0, ALL),
    ROW("sample-group", "BATCHES", "auto", resources, NOTHING,
     "batches sampled as one group with --topology disk: each hop of a group reads the topology "
     "once; 1 = no groups",
     NAMES("auto"), OG_OPTION_INT, FIELD(together), 0, 1 << 30, ALL),
    ROW("policy", "KIND", "auto", resources, NOTHING,
     "which feature rows the cache keeps; parameters follow a colon, as in presc:2, "
     "hybrid:window=128,update=4 and file:SCORES.npy (docs/reference/policies.md)",
     og__policy_words, OG_OPTION_CHOICE, FIELD(policy), 0, 0, ALL),
    ROW("presc-epochs", "K", "1", resources, NOTHING,
     "epochs that the policy presc samples to rank the nodes",
     NULL, OG_OPTION_INT, FIELD(presc_epochs), 1, 1000, JOINS("policy")),
    ROW("scores", "FILE", "", resources, NOTHING,
     ".npy file with a number per node, by which the policy file ranks them: highest cached first",
     NULL, OG_OPTION_TEXT, FIELD(scores), 0, 0, JOINS("policy")),
    ROW("superbatch", "S", "auto", resources, NOTHING,
     "batches sampled ahead and planned together; all = one epoch; auto = what memory and disk allow, "
     "an epoch at most without --phased-memory",
     NAMES("auto", "all"), OG_OPTION_INT, FIELD(superbatch), 0, 1 << 30, ALL),
    ROW("layout", "KIND", "auto", resources, NOTHING,
     "where batches read rows that miss the cache: the feature file, or copies packed per batch. "
     "With segmented, rows that several batches need are copied once, if --disk is too small for "
     "packed",
     NAMES("raw", "packed", "segmented", "auto"), OG_OPTION_CHOICE, FIELD(layout), 0, 0, ALL),
    ROW("phased-memory", NULL, "false", resources, NOTHING,
     "phased memory: first the topology for sampling ahead, then the feature cache for training, each "
     "with all the memory",
     NULL, OG_OPTION_FLAG, FIELD(alternate), 0, 0, ALL),
    ROW("pipeline", "WHAT", "batches", resources, NOTHING,
     "which stages overlap: batches = training with the sampling, planning and reading of later "
     "batches; none = no overlap, to measure its gain",
     NAMES("none", "batches"), OG_OPTION_CHOICE, FIELD(pipeline), 0, 0, ALL),
    ROW("ways", "N", "32", resources, NOTHING,
     "slots per set of the policies rr and hybrid",
     NULL, OG_OPTION_INT, FIELD(ways), 1, 1 << 16, JOINS("policy")),
    ROW("window", "BATCHES", "256", resources, NOTHING,
     "lookahead of the policy hybrid",
     NULL, OG_OPTION_INT, FIELD(window), 1, 1 << 16, JOINS("policy")),
    ROW("update", "BATCHES", "4", resources, NOTHING,
     "batches between two updates of the policy hybrid",
     NULL, OG_OPTION_INT, FIELD(update), 1, 1 << 12, JOINS("policy")),
    ROW("threshold", "BATCHES", "0", resources, NOTHING,
     "the policy hybrid prefers to keep rows reused within this many batches; 0 = an eighth of "
     "--window",
     NULL, OG_OPTION_INT, FIELD(threshold), 0, 1 << 16, JOINS("policy")),
    ROW("evict", "BY", "hybrid", resources, NOTHING,
     "what the policy hybrid evicts by: both criteria, the static score alone or the next use alone",
     NAMES("hybrid", "static", "dynamic"), OG_OPTION_CHOICE, FIELD(evict), 0, 0, JOINS("policy")),
    ROW("device-memory", "SIZE", "", resources, NOTHING,
     "limit of the memory that training takes on each --device, such as 8G: model, activations, batches "
     "and, in the rest, a feature cache, one for all devices. Default: free device memory; for a "
     "virtual device the model's needs, without a cache (docs/guides/gpu.md)",
     NULL, OG_OPTION_AMOUNT, FIELD(device_memory), 0, OG__MOST_BYTES, ALL),
    ROW("device-policy", "KIND", "", resources, NOTHING,
     "which rows the device's cache keeps, one of the values of --policy; default: static, ranked as by "
     "--policy; with --policy auto the fastest pair",
     NULL, OG_OPTION_TEXT, FIELD(device_policy), 0, 0, ALL),
    ROW("victim", "off|pvp[:depth=N]", "", resources, NOTHING,
     "pvp: rows evicted from the device's cache wait in host memory, in ring buffers of N "
     "rows, for the next batch that needs them. Default N: what --memory allows, at most 16384",
     NULL, OG_OPTION_TEXT, FIELD(victim), 0, 0, ALL),
    ROW("disk", "SIZE", "90%", resources, NOTHING,
     "limit of what is written to --scratch, split evenly over its folders; 25% = that share of the "
     "free space",
     NULL, OG_OPTION_AMOUNT, FIELD(disk), 0, OG__MOST_BYTES, ALL),
    ROW("scratch", "DIR,...", "", resources, NOTHING,
     "folder for batches sampled ahead and for rows of layers; default: that of --run or --out, or the "
     "user's cache folder. Several folders, on a disk each, are written and read in parallel; files "
     "that are not split are in the first",
     NULL, OG_OPTION_TEXT, FIELD(scratch), 0, 0, ALL),
    ROW("samples", "DIR", "", resources, NOTHING,
     "train on the batches in this folder instead of sampling; `outgrow sample` made it from the same "
     "dataset with the same options",
     NULL, OG_OPTION_TEXT, FIELD(samples), 0, 0, ALL),
    ROW("io", "ENGINE", "auto", resources, NOTHING,
     "I/O engine for reading files",
     NAMES(OG__IO_ENGINES(WORD) "auto"), OG_OPTION_CHOICE, FIELD(io), 0, 0, ALL),
    ROW("preset", "NAME", "none", resources, NOTHING,
     "sets those of these options that are not explicit to a published system's "
     "(docs/reference/presets.md); memory caches every row",
     NAMES("none", "pyg+", "ali+pg", "ginex", "diskgnn", "fgnn", "lsm-gnn", "helios", "memory", "auto"),
     OG_OPTION_CHOICE, FIELD(preset), 0, 0, ALL),

    ROW("run", "DIR", "", running, NOTHING,
     "folder of the results, without files of another run unless --resume is given; default: "
     "runs/<date>-<n>",
     NULL, OG_OPTION_TEXT, FIELD(run), 0, 0, ALL),
    ROW("resume", NULL, "false", running, NOTHING,
     "resume the interrupted run in --run, or predict or eval --full with the same arguments",
     NULL, OG_OPTION_FLAG, FIELD(resume), 0, 0, ALL),
    ROW("checkpoint-every", "SECONDS", "300", running, NOTHING,
     "time between checkpoints, and between the restart points of predict and eval --full",
     NULL, OG_OPTION_INT, FIELD(checkpoint_every), 0, 1 << 30, ALL),
    ROW("log-every", "N", "0", running, NOTHING,
     "batches between further lines of metrics.jsonl; 0 = one line per epoch",
     NULL, OG_OPTION_INT, FIELD(log_every), 0, 1 << 30, ALL),
    ROW("trace-timeline", "FILE", "", running, NOTHING,
     "new file: timeline of all stages, for Perfetto or Chrome",
     NULL, OG_OPTION_TEXT, FIELD(trace_timeline), 0, 0, ALL),
};
/* clang-format on */
_Static_assert(OG_COUNT(table) <= 8 * sizeof(struct og_option_set), "given has a bit for each");

const struct og_option *og_option(size_t i)
{
    return i < OG_COUNT(table) ? &table[i].option : NULL;
}

const struct og_row *og__option_row(size_t i)
{
    return i < OG_COUNT(table) ? &table[i] : NULL;
}

size_t og__option_number(const struct og_row *row)
{
    return (size_t)(row - table);
}

static const struct og_row *find_row(const char *name)
{
    return og__row_find(table, OG_COUNT(table), name);
}

/* ---- names in other libraries, and former names ---- */

#define NAMED(alias, name, former)                          \
    {                                                       \
        sizeof(struct og_option_alias), alias, name, former \
    }
#define ALIAS(alias, name)  NAMED(alias, name, false)
#define FORMER(alias, name) NAMED(alias, name, true)
static const struct og_option_alias aliases[] = {
    ALIAS("batch-size", "batch"),         ALIAS("num-neighbors", "fanout"),
    ALIAS("learning-rate", "lr"),         ALIAS("hidden-channels", "hidden"),
    ALIAS("num-hidden", "hidden"),        ALIAS("num-layers", "layers"),
    ALIAS("num-heads", "heads"),          ALIAS("num-epochs", "epochs"),
    FORMER("trainers", "executors"),      FORMER("together", "sample-group"),
    FORMER("alternate", "phased-memory"), FORMER("tickets", "batches"), /* of simulate, */
    FORMER("link", "in-place"),                                         /* and of import */
};

const struct og_option_alias *og_option_alias(size_t i)
{
    return i < OG_COUNT(aliases) ? &aliases[i] : NULL;
}

/* Finds an option by its name or an alias. */
const struct og_row *og__option_named(const char *name)
{
    for (size_t i = 0; i < OG_COUNT(aliases); i++)
        if (strcmp(aliases[i].alias, name) == 0)
            return find_row(aliases[i].name);
    return find_row(name);
}

int og__option_unknown(const char *name, struct og_err *err)
{
    const char *names[OG_COUNT(table) + OG_COUNT(aliases)];
    char hint[128] = "`outgrow help train --all` lists them";
    size_t n = 0;
    for (size_t i = 0; i < OG_COUNT(table); i++)
        names[n++] = table[i].option.name;
    for (size_t i = 0; i < OG_COUNT(aliases); i++)
        names[n++] = aliases[i].alias;
    const char *nearest = og_nearest_word(names, n, name);
    const struct og_option *meant = nearest ? &og__option_named(nearest)->option : NULL;
    if (meant && meant->arg && *meant->standard)
        snprintf(hint, sizeof(hint), "did you mean '%s'? Its default is %s", meant->name,
                 meant->standard);
    else if (meant)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", meant->name);
    return og__fail(err, -EINVAL, hint, "%.100s: no such option", name);
}

const char *og__option_word(const char *name, int value)
{
    return find_row(name)->option.choices[value];
}

int og__option_choice(const char *name, const char *word)
{
    const char *const *choices = find_row(name)->option.choices;
    for (int i = 0; word && choices[i]; i++)
        if (strcmp(choices[i], word) == 0)
            return i;
    return -1;
}

/* ---- sets ---- */

bool og__option_set_has(const struct og_option_set *s, size_t row)
{
    return s->bits[row / 8] >> row % 8 & 1;
}

void og__option_set_add(struct og_option_set *s, size_t row)
{
    s->bits[row / 8] |= (unsigned char)(1 << row % 8);
}

void og__option_set_join(struct og_option_set *s, const struct og_option_set *other)
{
    for (size_t i = 0; i < sizeof(s->bits); i++)
        s->bits[i] |= other->bits[i];
}

void og__option_set_keep(struct og_option_set *s, const struct og_option_set *in,
                         const struct og_option_set *out)
{
    for (size_t i = 0; i < sizeof(s->bits); i++)
        s->bits[i] &= (unsigned char)(in->bits[i] & ~out->bits[i]);
}

bool og__option_sets_meet(const struct og_option_set *a, const struct og_option_set *b)
{
    for (size_t i = 0; i < sizeof(a->bits); i++)
        if (a->bits[i] & b->bits[i])
            return true;
    return false;
}

bool og_options_given(const struct og_options *opt, const char *name)
{
    const struct og_row *row = og__option_named(name);
    return row && og__option_set_has(&opt->given, (size_t)(row - table));
}

/* ---- the struct ---- */

void og__options_init(struct og_options *opt)
{
    *opt = (struct og_options){0};
    og__rows_init(table, OG_COUNT(table), opt);
}

void og__options_release(struct og_options *opt)
{
    og__rows_release(table, OG_COUNT(table), opt);
}

int og__options_copy(struct og_options *to, const struct og_options *from, struct og_err *err)
{
    *to = *from;
    return og__rows_own(table, OG_COUNT(table), to, err);
}

/* ---- public functions ---- */

int og_options_new(struct og_options **out, struct og_err *err)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return og__fail_errno(err, -ENOMEM, NULL, "options");
    og__options_init(*out);
    return 0;
}

void og_options_free(struct og_options *opt)
{
    if (opt)
        og__options_release(opt);
    free(opt);
}

int og_options_copy(struct og_options **out, const struct og_options *from, struct og_err *err)
{
    int rc = og_options_new(out, err);
    if (rc < 0)
        return rc;
    rc = og__options_copy(*out, from, err);
    if (rc < 0) {
        og_options_free(*out);
        *out = NULL;
    }
    return rc;
}
