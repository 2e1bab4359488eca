#include "cli.h"

#include <string.h>

static const struct og_option own[] = {
    OWN_TEXT("checkpoint", "FILE", "safetensors file to evaluate"),
    OWN("split", "NAME", "test",
        "nodes or edges to evaluate: valid, val or test; of one type of nodes: test:TYPE", NULL,
        OG_OPTION_TEXT, 0, 0),
    OWN_FLAG("full", "use all neighbours, layer by layer, from disk"),
    {0},
};

/* As the JSON has it, without what is not known. Items of links are edges, and their accuracy is a
 * metric that is shown as one. */
static void show_eval(const json_t *root)
{
    const bool of_edges = json_object_get(root, "edges") != NULL;
    const bool has_acc = json_object_get(json_object_get(root, "metrics"), "acc") != NULL;
    json_t *shown = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        const bool other = of_edges && strcmp(key, "nodes") == 0;
        const bool again = strcmp(key, "edges") == 0 || (!has_acc && strcmp(key, "acc") == 0);
        if (!json_is_null(value) && !again)
            json_object_set(shown, other ? "edges" : key, value);
    }
    show_any(shown);
    json_decref(shown);
}

static int run(struct invocation *in, struct og_err *err)
{
    const char *checkpoint = own_text(in, "checkpoint");
    char *text = NULL;
    const char *split = own_text(in, "split") ? own_text(in, "split") : "test";
    const size_t n = strcspn(split, ":");
    static const char *const known[] = {"valid", "test", "val", "validation", NULL};
    size_t i = 0;
    while (known[i] && (strlen(known[i]) != n || strncmp(split, known[i], n) != 0))
        i++;
    if (!known[i])
        return usage_error(err, NULL, "--split: '%.100s' given, one of valid, test expected",
                           split);
    if (!checkpoint)
        return usage_error(err, NULL, "eval: --checkpoint FILE expected");
    int rc = (own_flag(in, "full") ? og_eval_full : og_eval)(
        in->arg[0], checkpoint, split, in->options, screen_observer(in->screen, 0), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_eval, err);
}

const struct command cmd_eval = {
    .name = "eval",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "measure a trained model",
    .text =
        "Prints loss and metrics of a checkpoint (docs/reference/tasks.md), with sampled "
        "neighbours. The checkpoint sets the model's shape and the defaults of --sampler, --fanout "
        "and --batch: those of training. For link prediction, the checkpoint also sets the "
        "held-out edges: explicit --seed and --edge-split must be those "
        "of training. With --full nothing is sampled, as in `outgrow predict`.",
    .own = own,
    .training = true,
    .often = WORDS("memory", "batch", "fanout"),
    .without = WORDS("workers"),
    .run = run,
};
