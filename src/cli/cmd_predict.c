#include "cli.h"

static const struct og_option own[] = {
    OWN_TEXT("checkpoint", "FILE", "safetensors file of the model"),
    OWN_TEXT(
        "out", "FILE",
        "new .npy file: float32 [N, classes], the logits of every node; of a model of links [N, "
        "hidden], "
        "the embeddings that its decoder is given"),
    OWN_TEXT("embeddings", "FILE",
             "new .npy file: float32 [N, hidden], what the last layer is given"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    const char *checkpoint = own_text(in, "checkpoint"), *out = own_text(in, "out");
    char *text = NULL;
    if (!checkpoint)
        return usage_error(err, NULL, "predict: --checkpoint FILE expected");
    if (!out)
        return usage_error(err, NULL, "predict: --out FILE expected");
    int rc = og_predict(in->arg[0], checkpoint, out, own_text(in, "embeddings"), in->options,
                        screen_observer(in->screen, 0), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_predict = {
    .name = "predict",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "apply a trained model to every node",
    .text =
        "Computes every node with all its neighbours, layer by layer. What does not fit in "
        "--memory lies in --scratch (the folder of --out), a layer's rows at a time, shared "
        "out over its folders; --resume goes on with what an interrupted or killed run left "
        "there; without it, files that exist are not replaced. The "
        "model comes from the checkpoint; of the training options only the resources count, "
        "and --sampler walk with its own and --seed: then neighbours are drawn by walks, once "
        "a node, as they are where the checkpoint says so and no --sampler is given.\n"
        "\n"
        "Rows are in the order of nodes. Where an import numbered them anew, node_ids.npy of the "
        "dataset has the source's id of each row.\n"
        "\n"
        "Where nodes have types, --out has a row for each node of the type that the model was "
        "trained on, and neighbours are drawn as in training (docs/guides/heterogeneous.md).",
    .own = own,
    .training = true,
    .often = WORDS("memory", "scratch", "resume"),
    .without = WORDS("workers"),
    .run = run,
};
