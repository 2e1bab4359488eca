#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

static const struct og_option own[] = {
    OWN_TEXT("checkpoint", "FILE", "safetensors file of the model"),
    OWN_TEXT(
        "out", "FILE",
        "new .npy file: float32 [N, classes], the logits of every node; for link prediction [N, "
        "hidden], the inputs of the decoder; FILE.csv or FILE.parquet: a table"),
    OWN_TEXT(
        "nodes", "FILE|SPLIT",
        "only these nodes: train, valid, test, unlabelled, one id, or a file, .npy or text with "
        "an id a line"),
    OWN_FLAG("probabilities", "of classes or labels, in place of logits"),
    OWN_NUMBER("top-k", "K", "", "in a table, the classes with the largest scores", 1, 1 << 30),
    OWN_FLAG("names", "refuse a table without ids of the source"),
    OWN_FLAG("overwrite", "replace files that are there, once the new ones are whole"),
    OWN_TEXT("dtype", "f32|f16", "numbers in .npy files [f32]"),
    OWN_TEXT("embeddings", "FILE",
             "new .npy file: float32 [N, hidden], the inputs of the last layer"),
    {0},
};

/* Writes a .csv file next to it first. */
static int predict_parquet(struct invocation *in, const char *out,
                           const struct og_predict_options *how, char **text, struct og_err *err)
{
    const char *checkpoint = own_text(in, "checkpoint");
    char *csv = NULL;
    if (asprintf(&csv, "%s.part.csv", out) < 0)
        return no_result(err);
    int rc = check_parquet(in, checkpoint, out, csv, err);
    if (rc == 0)
        rc = og_predict_with(in->arg[0], checkpoint, csv, how, in->options,
                             screen_observer(in->screen, 0), text, err);
    if (rc == 0) {
        rc = write_parquet(in->arg[0], checkpoint, csv, out, err);
        rc = rc < 0 ? rc : name_output(text, out, err);
    }
    if (rc < 0) {
        free(*text);
        *text = NULL;
    }
    unlink(csv);
    free(csv);
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    const char *checkpoint = own_text(in, "checkpoint"), *out = own_text(in, "out");
    char *text = NULL;
    if (!checkpoint)
        return usage_error(err, NULL, "predict: --checkpoint FILE expected");
    if (!out)
        return usage_error(err, NULL, "predict: --out FILE expected");
    struct og_predict_options how = {.size = sizeof(how),
                                     .nodes = own_text(in, "nodes"),
                                     .embeddings = own_text(in, "embeddings"),
                                     .dtype = own_text(in, "dtype"),
                                     .probabilities = own_flag(in, "probabilities"),
                                     .names = own_flag(in, "names"),
                                     .overwrite = own_flag(in, "overwrite")};
    int rc = own_text(in, "top-k") ? own_number(in, "top-k", &how.top_k, err) : 0;
    if (rc < 0)
        return rc;
    if (is_parquet_file(out))
        rc = predict_parquet(in, out, &how, &text, err);
    else
        rc = og_predict_with(in->arg[0], checkpoint, out, &how, in->options,
                             screen_observer(in->screen, 0), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_predict = {
    .name = "predict",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "apply a trained model to every node, or to some",
    .text =
        "Computes every node with all its neighbours, layer by layer. Rows that exceed --memory "
        "are spilled to --scratch (default: the folder of --out), one layer at a time, striped "
        "over its folders. With --resume it continues an interrupted or killed run. Existing files "
        "are replaced with --overwrite. With --quiet it says errors and warnings alone. The "
        "model comes from the checkpoint, and so do names of classes. Resource "
        "options apply, and so do --seed and --sampler walk with its parameters; other training "
        "options do not. With that sampler, explicit or from the checkpoint, neighbours are "
        "sampled by walks, once per node.\n\nWith --nodes only some nodes are predicted, in the "
        "order of the list. Then no adjacency list or feature row is read that they do not need, "
        "except with walks, which start at every node.\n\nRows are in the order of nodes. If an "
        "import renumbered them, node_ids.npy of the dataset has the source's id of each row, and "
        "so has a table, --out FILE.csv.\n\nOn a heterogeneous "
        "graph, --out has a row per node of the model's target type, and neighbours are sampled "
        "as in training (docs/guides/heterogeneous.md).",
    .own = own,
    .training = true,
    .delivers_files = true,
    .often = WORDS("memory", "scratch", "resume"),
    .without = WORDS("workers"),
    .run = run,
};
