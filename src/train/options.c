/* The one table of options, and setting a field from text.
 *
 *   command line ─┐                             ┌─> help, man page, completion
 *   config.yaml ──┼─> og_options_set ─> struct ─┤
 *   a preset ─────┘    (this table)             └─> config.yaml, summary.json   (options_text.c)
 *
 * A row is everything there is to say about an option: adding one means a field in outgrow.h and a
 * row here. What is not built yet has no row, so that it is refused instead of ignored. */
#include "train/options.h"
#include "plan/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

#define FIELD(f)    offsetof(struct og_options, f)
#define NAMES(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define MAX_BYTES   0x1p60
#define MAX_DROPOUT 0.99 /* at 1 nothing is left to scale up */

static const char numbers[] = "Model and batches (these decide the numbers)";
static const char resources[] = "Resources (these move bytes, never values)";
static const char running[] = "The run";

/* Names stand in the order of the enums of outgrow.h. Laid out by hand: an option, its help, how it
 * is stored. */
/* clang-format off */
static const struct og_option table[] = {
    {"model", "KIND", "sage", numbers,
     "network: graph convolution, GraphSAGE, graph attention, graph isomorphism or PinSAGE "
     "(docs/models.md)",
     NAMES("gcn", "sage", "gat", "gin", "pinsage"), OG_OPTION_CHOICE, FIELD(model), 0, 0},
    {"layers", "N", "0", numbers,
     "number of layers; 0 = one for each number of --fanout",
     NULL, OG_OPTION_INT, FIELD(layers), 0, OG_MAX_HOPS},
    {"hidden", "N", "256", numbers,
     "width of the hidden layers",
     NULL, OG_OPTION_INT, FIELD(hidden), 1, 65536},
    {"heads", "N", "4", numbers,
     "attention heads of the model gat, which share --hidden",
     NULL, OG_OPTION_INT, FIELD(heads), 1, 64},
    {"aggregator", "KIND", "mean", numbers,
     "what the model sage makes of the neighbours: their mean, the largest after a layer of their "
     "own, or the mean with the node itself among them",
     NAMES("mean", "max", "gcn"), OG_OPTION_CHOICE, FIELD(aggregator), 0, 0},
    {"norm", "KIND", "none", numbers,
     "normalisation after each hidden layer, over the batch or over each node's row",
     NAMES("none", "batch", "layer"), OG_OPTION_CHOICE, FIELD(norm), 0, 0},
    {"residual", NULL, "false", numbers,
     "add each layer's input to its output",
     NULL, OG_OPTION_FLAG, FIELD(residual), 0, 0},
    {"dropout", "P", "0.5", numbers,
     "share of hidden activations dropped in training",
     NULL, OG_OPTION_REAL, FIELD(dropout), 0, MAX_DROPOUT},
    {"input-dropout", "P", "0", numbers,
     "share of the features dropped in training, for each batch anew",
     NULL, OG_OPTION_REAL, FIELD(input_dropout), 0, MAX_DROPOUT},
    {"attention-dropout", "P", "0", numbers,
     "share of the attention coefficients of the model gat dropped in training",
     NULL, OG_OPTION_REAL, FIELD(attention_dropout), 0, MAX_DROPOUT},
    {"task", "KIND", "node", numbers,
     "what is learnt: the labels of nodes (classes or, where they are values, regression), or which "
     "nodes have an edge (docs/tasks.md)",
     NAMES("node", "link", "regression"), OG_OPTION_CHOICE, FIELD(task), 0, 0},
    {"decoder", "KIND", "dot", numbers,
     "what the task link makes of two nodes: the product of their embeddings, or a perceptron over it",
     NAMES("dot", "mlp"), OG_OPTION_CHOICE, FIELD(decoder), 0, 0},
    {"loss", "KIND", "auto", numbers,
     "loss of a task that has a choice: bce or margin of link, mse or mae of regression, the former "
     "unless given",
     NAMES("auto", "bce", "margin", "mse", "mae"), OG_OPTION_CHOICE, FIELD(loss), 0, 0},
    {"edge-split", "A/B/C", "", numbers,
     "percent of the edges that the task link trains, validates and tests on; unless given, the "
     "dataset's own lists of edges (which `dataset` asks for), else 85/5/10",
     NULL, OG_OPTION_TEXT, FIELD(edge_split), 0, 0},
    {"negatives", "K", "1", numbers,
     "pairs without an edge for each edge that the task link trains on",
     NULL, OG_OPTION_INT, FIELD(negatives), 1, 1 << 16},
    {"negative", "KIND", "uniform", numbers,
     "where their other ends come from: all nodes, or the edges of the batch",
     NAMES("uniform", "batch"), OG_OPTION_CHOICE, FIELD(negative), 0, 0},
    {"eval-negatives", "K", "100", numbers,
     "nodes that an edge's end is ranked among when the task link is evaluated",
     NULL, OG_OPTION_INT, FIELD(eval_negatives), 1, 1 << 20},
    {"fanout", "N,N,...", "10,10,10", numbers,
     "neighbours sampled in each hop, nearest the seeds first; -1 = all",
     NULL, OG_OPTION_LIST, FIELD(fanout), -1, 1 << 20},
    {"sampler", "KIND", "uniform", numbers,
     "how neighbours are drawn: uniformly, by the weights of their edges, as the most visited of "
     "random walks, with draws that destinations share, or for a layer as a whole "
     "(docs/samplers.md)",
     NAMES("uniform", "weighted", "walk", "labor", "ladies"), OG_OPTION_CHOICE, FIELD(sampler), 0, 0},
    {"walks", "N", "4", numbers,
     "random walks from each node, of the sampler walk",
     NULL, OG_OPTION_INT, FIELD(walks), 1, 128},
    {"walk-length", "N", "3", numbers,
     "most steps of such a walk",
     NULL, OG_OPTION_INT, FIELD(walk_length), 1, 16},
    {"walk-restart", "P", "0.5", numbers,
     "chance that such a walk ends before each step but the first",
     NULL, OG_OPTION_REAL, FIELD(walk_restart), 0, 1},
    {"neighbors", "N", "5", numbers,
     "most visited nodes that the sampler walk keeps in each hop, in the place of --fanout's numbers",
     NULL, OG_OPTION_INT, FIELD(neighbors), 1, 2048},
    {"batch", "N", "1000", numbers,
     "seed nodes, or edges, in a mini-batch",
     NULL, OG_OPTION_INT, FIELD(batch), 1, 1 << 30},
    {"epochs", "N", "10", numbers,
     "passes over the training nodes; 0 writes the initial model",
     NULL, OG_OPTION_INT, FIELD(epochs), 0, 1 << 24},
    {"optimizer", "KIND", "adam", numbers,
     "how parameters are updated",
     NAMES("adam", "sgd"), OG_OPTION_CHOICE, FIELD(optimizer), 0, 0},
    {"lr", "X", "0.003", numbers,
     "learning rate",
     NULL, OG_OPTION_REAL, FIELD(lr), 0, 1e6},
    {"weight-decay", "X", "0", numbers,
     "L2 penalty, added to the gradient",
     NULL, OG_OPTION_REAL, FIELD(weight_decay), 0, 1e6},
    {"init", "FILE", "", numbers,
     "safetensors file with the initial parameters; unless given, the sampler is the one it was "
     "trained with and, of the task link, --seed and --edge-split those that held its edges out",
     NULL, OG_OPTION_TEXT, FIELD(init), 0, 0},
    {"seed", "N", "1", numbers,
     "start of every random choice",
     NULL, OG_OPTION_INT64, FIELD(seed), 0, 0x1p63},
    {"no-shuffle", NULL, "false", numbers,
     "take the training nodes in the order of their file",
     NULL, OG_OPTION_FLAG, FIELD(no_shuffle), 0, 0},
    {"eval-every", "EPOCHS", "1", numbers,
     "epochs between validations; 0 = never",
     NULL, OG_OPTION_INT, FIELD(eval_every), 0, 1 << 24},
    {"resample-every", "EPOCHS", "1", numbers,
     "epochs that train on the same sampled batches, each in an order of its own",
     NULL, OG_OPTION_INT, FIELD(resample_every), 1, 1 << 24},
    {"pack-dtype", "TYPE", "stored", numbers,
     "what f32 features are rounded to where they leave their file: caches hold twice the rows, and "
     "packs take and read half the bytes; stored = as they are",
     NAMES("stored", "f32", "f16", "bf16"), OG_OPTION_CHOICE, FIELD(pack_dtype), 0, 0},

    {"memory", "SIZE", "", resources,
     "bound on the memory of everything together, such as 512M, 4G or 25%; unless given, 90% of "
     "what is free",
     NULL, OG_OPTION_AMOUNT, FIELD(memory), 0, MAX_BYTES},
    {"cache", "SIZE", "", resources,
     "bound on the feature cache alone; 5% means that share of all rows; unless given, what is "
     "left of --memory",
     NULL, OG_OPTION_AMOUNT, FIELD(cache), 0, MAX_BYTES},
    {"threads", "N", "all", resources,
     "processor threads",
     NAMES("all"), OG_OPTION_INT, FIELD(threads), 0, 1024},
    {"topology", "PLACE", "auto", resources,
     "where the graph's structure is: memory, or the disk with the neighbours of important nodes "
     "in memory",
     NAMES("memory", "disk", "auto"), OG_OPTION_CHOICE, FIELD(topology), 0, 0},
    {"neighbor-cache", "SIZE", "", resources,
     "memory for in-neighbours of important nodes with --topology disk; unless given, up to half of "
     "what is free, with --alternate all of it; 0 = none",
     NULL, OG_OPTION_AMOUNT, FIELD(neighbor_cache), 0, MAX_BYTES},
    {"policy", "KIND", "auto", resources,
     "which feature rows the cache keeps; presc:K samples K epochs first, hybrid:BY evicts BY; sweep "
     "reads all rows of the next batches while these are trained",
     og__policy_words, OG_OPTION_CHOICE, FIELD(policy), 0, 0},
    {"presc-epochs", "K", "1", resources,
     "epochs that the policy presc samples before it ranks the nodes",
     NULL, OG_OPTION_INT, FIELD(presc_epochs), 1, 1000},
    {"superbatch", "S", "auto", resources,
     "batches sampled ahead and planned together; all = one epoch; auto = what memory and disk "
     "allow, an epoch at most unless --alternate is given",
     NAMES("auto", "all"), OG_OPTION_INT, FIELD(superbatch), 0, 1 << 30},
    {"layout", "KIND", "auto", resources,
     "where batches read rows that no cache holds: the feature file, or copies packed for each "
     "batch beforehand in one pass over that file; segmented: rows that several batches need are "
     "copied once for all of them, as far as --disk is too little for packed",
     NAMES("raw", "packed", "segmented", "auto"), OG_OPTION_CHOICE, FIELD(layout), 0, 0},
    {"alternate", NULL, "false", resources,
     "sample ahead and train in turns, each with all the memory: the graph's structure first, then the "
     "feature cache",
     NULL, OG_OPTION_FLAG, FIELD(alternate), 0, 0},
    {"ways", "N", "32", resources,
     "slots in a set of the policies rr and hybrid",
     NULL, OG_OPTION_INT, FIELD(ways), 1, 1 << 16},
    {"window", "BATCHES", "256", resources,
     "how far the policy hybrid looks ahead",
     NULL, OG_OPTION_INT, FIELD(window), 1, 1 << 16},
    {"update", "BATCHES", "4", resources,
     "batches between two looks of the policy hybrid",
     NULL, OG_OPTION_INT, FIELD(update), 1, 1 << 12},
    {"threshold", "BATCHES", "0", resources,
     "a row that the policy hybrid sees reused within so many batches is kept first; 0 = an eighth "
     "of --window",
     NULL, OG_OPTION_INT, FIELD(threshold), 0, 1 << 16},
    {"evict", "BY", "hybrid", resources,
     "what the policy hybrid looks at: both, the static score alone or the next use alone",
     NAMES("hybrid", "static", "dynamic"), OG_OPTION_CHOICE, FIELD(evict), 0, 0},
    {"disk", "SIZE", "90%", resources,
     "bound on what is written to --scratch; 25% means that share of what is free there",
     NULL, OG_OPTION_AMOUNT, FIELD(disk), 0, MAX_BYTES},
    {"scratch", "DIR", "", resources,
     "folder for what is sampled ahead, and for rows of layers; unless given, the run's, that of --out, or "
     "the cache folder of the user",
     NULL, OG_OPTION_TEXT, FIELD(scratch), 0, 0},
    {"samples", "DIR", "", resources,
     "train on the batches in this folder, which `outgrow sample` made of the same dataset with the "
     "same options, instead of sampling them",
     NULL, OG_OPTION_TEXT, FIELD(samples), 0, 0},
    {"io", "ENGINE", "auto", resources,
     "how files are read",
     NAMES("uring", "pread", "mmap", "auto"), OG_OPTION_CHOICE, FIELD(io), 0, 0},
    {"preset", "NAME", "none", resources,
     "sets those of these options that are not given as a published system would (docs/presets.md); "
     "memory keeps every row",
     NAMES("none", "pyg+", "ali+pg", "ginex", "diskgnn", "fgnn", "lsm-gnn", "helios", "memory", "auto"),
     OG_OPTION_CHOICE, FIELD(preset), 0, 0},

    {"run", "DIR", "", running,
     "folder of the results, which holds no run's files yet unless --resume is given; unless given, "
     "runs/<date>-<n>",
     NULL, OG_OPTION_TEXT, FIELD(run), 0, 0},
    {"resume", NULL, "false", running,
     "go on where the run in --run, or predict or eval --full with the same arguments, was interrupted",
     NULL, OG_OPTION_FLAG, FIELD(resume), 0, 0},
    {"checkpoint-every", "SECONDS", "300", running,
     "time between checkpoints; of predict and eval --full between marks that --resume goes on from",
     NULL, OG_OPTION_INT, FIELD(checkpoint_every), 0, 1 << 30},
    {"log-every", "N", "0", running,
     "batches between lines of metrics.jsonl; 0 = never",
     NULL, OG_OPTION_INT, FIELD(log_every), 0, 1 << 30},
    {"trace-timeline", "FILE", "", running,
     "new file: when each stage worked, for Perfetto or Chrome",
     NULL, OG_OPTION_TEXT, FIELD(trace_timeline), 0, 0},
};
/* clang-format on */
_Static_assert(OG_COUNT(table) <= 64, "og_options.given has 64 bits");

const struct og_option *og_option_table(size_t *count)
{
    *count = OG_COUNT(table);
    return table;
}

static const struct og_option *find_row(const char *name)
{
    for (size_t i = 0; i < OG_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

bool og__options_given(const struct og_options *opt, const char *name)
{
    const struct og_option *row = find_row(name);
    return row && (opt->given >> (row - table) & 1);
}

const char *og__option_word(const char *name, int value)
{
    return find_row(name)->choices[value];
}

/* ---- refusing ---- */

/* Letters to change, add or drop to make one word of the other. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    size_t row[MAX + 1];
    size_t n = strlen(b);
    if (n > MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = OG_MIN(changed, OG_MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

static const char *nearest_name(const char *name)
{
    const char *nearest = NULL;
    size_t least = 3; /* further off, it is another word */
    for (size_t i = 0; i < OG_COUNT(table); i++) {
        size_t distance = edit_distance(name, table[i].name);
        if (distance < least && distance < strlen(name)) {
            least = distance;
            nearest = table[i].name;
        }
    }
    return nearest;
}

static int refuse_name(const char *name, struct og_err *err)
{
    char hint[64] = "`outgrow help train` lists them";
    const char *nearest = nearest_name(name);
    if (nearest)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest);
    return og__fail(err, -EINVAL, hint, "%.100s: no such option", name);
}

static void list_choices(const struct og_option *row, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "one of");
    for (size_t i = 0; row->choices[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s %s", i ? "," : "", row->choices[i]);
}

static int refuse_value(const struct og_option *row, const char *value, struct og_err *err)
{
    char expected[160] = "some text in UTF-8";
    size_t size = sizeof(expected);
    switch (row->type) {
    case OG_OPTION_FLAG:
        snprintf(expected, size, "true or false");
        break;
    case OG_OPTION_INT:
        snprintf(expected, size, "a whole number from %.0f to %.0f%s%s%s%s", row->min, row->max,
                 row->choices ? " or " : "", row->choices ? row->choices[0] : "",
                 row->choices && row->choices[1] ? " or " : "",
                 row->choices && row->choices[1] ? row->choices[1] : "");
        break;
    case OG_OPTION_INT64:
        snprintf(expected, size, "a whole number from %.0f to 2^63 - 1", row->min);
        break;
    case OG_OPTION_REAL:
        snprintf(expected, size, "a number from %g to %g", row->min, row->max);
        break;
    case OG_OPTION_AMOUNT:
        snprintf(expected, size, "a size such as 512M or 4G, or a share such as 25%%");
        break;
    case OG_OPTION_CHOICE:
        list_choices(row, expected, size);
        break;
    case OG_OPTION_LIST:
        snprintf(expected, size,
                 "1 to %d whole numbers such as 10,10,10, each at least 1, or -1 for all",
                 OG_MAX_HOPS);
        break;
    case OG_OPTION_TEXT:
        break;
    }
    return og__fail(err, -EINVAL, NULL, "%s: '%.100s' given, %s expected", row->name, value,
                    expected);
}

/* ---- reading values: each says whether the text is one ---- */

static bool read_flag(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0;
}

static bool read_whole(const char *text, double min, double max, long long *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    bool plain = end != text && strspn(text, "-0123456789") == (size_t)(end - text) && *end == 0;
    return plain && errno == 0 && (double)*out >= min && (double)*out <= max;
}

static bool read_int(const struct og_option *row, const char *text, int *out)
{
    for (int i = 0; row->choices && row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *out = -i;
            return true;
        }
    }
    long long value = 0;
    if (!read_whole(text, row->min, row->max, &value))
        return false;
    *out = (int)value;
    return true;
}

static bool read_int64(const struct og_option *row, const char *text, int64_t *out)
{
    long long value;
    if (!read_whole(text, row->min, row->max, &value))
        return false;
    *out = value;
    return true;
}

/* Decimal only: strtod alone would take hexadecimal, "inf" and "nan" as well. */
static bool read_decimal(const char *text, double *out, const char **rest)
{
    char *end;
    size_t decimal = strspn(text, "+-.0123456789eE");
    if (decimal == 0)
        return false;
    errno = 0;
    *out = strtod(text, &end);
    *rest = end;
    return end != text && (size_t)(end - text) <= decimal && errno == 0;
}

static bool read_real(const struct og_option *row, const char *text, double *out)
{
    const char *rest;
    double value;
    if (!read_decimal(text, &value, &rest) || *rest || value < row->min || value > row->max)
        return false;
    *out = value;
    return true;
}

/* 1024^k for the k-th of "KMGT", in either case, with or without "iB"; 0 for anything else. */
static double unit_bytes(const char *unit)
{
    static const char units[] = "kKmMgGtT";
    if (*unit == 0)
        return 1;
    const char *place = strchr(units, *unit);
    if (!place || (unit[1] && strcmp(unit + 1, "iB") != 0))
        return 0;
    return ldexp(1, 10 * (1 + (int)(place - units) / 2));
}

static bool read_amount(const struct og_option *row, const char *text, struct og_amount *out)
{
    const char *rest;
    double value;
    if (!read_decimal(text, &value, &rest) || value < 0)
        return false;
    if (strcmp(rest, "%") == 0) {
        *out = (struct og_amount){OG_PERCENT, value};
        return value <= 100;
    }
    double unit = unit_bytes(rest);
    *out = (struct og_amount){OG_BYTES, floor(value * unit)};
    return unit > 0 && out->value <= row->max;
}

static bool read_choice(const struct og_option *row, const char *text, int *out)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_list(const struct og_option *row, const char *text, struct og_options *opt)
{
    int list[OG_MAX_HOPS] = {0};
    int n = 0;
    for (;; n++) {
        size_t len = strcspn(text, ",");
        char word[24];
        long long value;
        if (n == OG_MAX_HOPS || len >= sizeof(word))
            return false;
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        if (!read_whole(word, row->min, row->max, &value) || value == 0)
            return false;
        list[n] = (int)value;
        if (!text[len])
            break;
        text += len + 1;
    }
    memcpy(opt->fanout, list, sizeof(list));
    opt->n_fanout = n + 1;
    return true;
}

/* UTF-8, because it goes into JSON and YAML. */
static bool read_text(const char *text, char **out)
{
    json_t *string = json_string(text);
    bool fits = string && *text;
    json_decref(string);
    char *copy = fits ? strdup(text) : NULL;
    if (!copy)
        return false;
    free(*out);
    *out = copy;
    return true;
}

static bool read_value(const struct og_option *row, struct og_options *opt, const char *text)
{
    void *field = (char *)opt + row->offset;
    switch (row->type) {
    case OG_OPTION_FLAG:
        return read_flag(text, field);
    case OG_OPTION_INT:
        return read_int(row, text, field);
    case OG_OPTION_INT64:
        return read_int64(row, text, field);
    case OG_OPTION_REAL:
        return read_real(row, text, field);
    case OG_OPTION_AMOUNT:
        return read_amount(row, text, field);
    case OG_OPTION_CHOICE:
        return read_choice(row, text, field);
    case OG_OPTION_LIST:
        return read_list(row, text, opt);
    case OG_OPTION_TEXT:
        return read_text(text, field);
    }
    return false;
}

/* ---- the struct ---- */

/* What stands behind a policy's colon: "presc:2" sets presc-epochs too, "hybrid:static" evict. */
static const char *detail_of(const char *policy)
{
    if (strcmp(policy, "presc") == 0)
        return "presc-epochs";
    return strcmp(policy, "hybrid") == 0 ? "evict" : NULL;
}

static int set_both(struct og_options *opt, const struct og_option *row, const char *value,
                    const char *colon, struct og_err *err)
{
    char word[32];
    snprintf(word, sizeof(word), "%.*s", (int)OG_MIN(colon - value, 31), value);
    const char *detail = strcmp(row->name, "policy") == 0 ? detail_of(word) : NULL;
    if (!detail)
        return refuse_value(row, value, err);
    int rc = og_options_set(opt, detail, colon + 1, err);
    return rc < 0 ? rc : og_options_set(opt, row->name, word, err);
}

int og_options_set(struct og_options *opt, const char *name, const char *value, struct og_err *err)
{
    const struct og_option *row = find_row(name);
    if (!row)
        return refuse_name(name, err);
    const char *colon = row->type == OG_OPTION_CHOICE ? strchr(value, ':') : NULL;
    if (colon)
        return set_both(opt, row, value, colon, err);
    struct og_options before = *opt;
    if (read_value(row, opt, value)) {
        opt->given |= (uint64_t)1 << (row - table);
        return 0;
    }
    *opt = before; /* a refused value changes nothing */
    return refuse_value(row, value, err);
}

void og_options_init(struct og_options *opt)
{
    *opt = (struct og_options){0};
    for (size_t i = 0; i < OG_COUNT(table); i++)
        if (*table[i].standard)
            read_value(&table[i], opt, table[i].standard);
}

void og_options_release(struct og_options *opt)
{
    if (!opt)
        return;
    for (size_t i = 0; i < OG_COUNT(table); i++) {
        char **text = (char **)((char *)opt + table[i].offset);
        if (table[i].type != OG_OPTION_TEXT)
            continue;
        free(*text);
        *text = NULL;
    }
}

int og__options_copy(struct og_options *to, const struct og_options *from, struct og_err *err)
{
    int rc = 0;
    *to = *from;
    for (size_t i = 0; i < OG_COUNT(table); i++) {
        char **text = (char **)((char *)to + table[i].offset);
        if (table[i].type != OG_OPTION_TEXT || !*text)
            continue;
        *text = strdup(*text);
        if (!*text)
            rc = og__fail_errno(err, -ENOMEM, NULL, "options");
    }
    if (rc < 0)
        og_options_release(to);
    return rc;
}
