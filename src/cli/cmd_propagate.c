#include "cli.h"

static const struct og_option own[] = {
    OWN_NUMBER("hops", "K", "2", "hops of propagation", 1, OG_MAX_HOPS),
    OWN_TEXT("norm", "sym|row",
             "divide by the root of the degrees of both ends, or by the degree of the node [sym]"),
    OWN_FLAG("loops", "add an edge from each node to itself, as in GCN and SGC"),
    OWN_TEXT("rows", "all|labelled",
             "keep hop<k>.npy of all nodes, or only the rows of the splits' nodes [all]"),
    OWN_FLAG("last", "the splits' rows are of the last hop alone, as in SGC"),
    OWN_FLAG("overwrite", "replace hops that are there"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    struct og_propagate_options how = {.size = sizeof(how),
                                       .norm = own_text(in, "norm"),
                                       .loops = own_flag(in, "loops"),
                                       .rows = own_text(in, "rows"),
                                       .last = own_flag(in, "last"),
                                       .overwrite = own_flag(in, "overwrite")};
    char *text = NULL;
    int rc = own_number(in, "hops", &how.hops, err);
    if (rc < 0)
        return rc;
    rc = og_propagate(in->arg[0], &how, in->options, screen_observer(in->screen, 0), &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_propagate = {
    .name = "propagate",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "propagate features along the edges, for models without neighbours",
    .text =
        "Hop k of a node is the normalised sum of its in-neighbours' hop k - 1; hop 0 is the "
        "features. Writes hop<k>.npy, float32 [N, F], into the dataset. The folder hops is a "
        "dataset of the splits' nodes, with hops 0 to K side by side. --model mlp --inputs 0-K "
        "trains on that. Rows that exceed --memory are read again from disk, so results do not "
        "depend on memory or threads. With --resume it continues an interrupted or killed run. "
        "Existing hops are replaced with --overwrite. With --edge-weights multiply, edges count by "
        "their weights.",
    .own = own,
    .training = true,
    .often = WORDS("memory", "scratch", "resume", "edge-weights"),
    .without = WORDS("workers"),
    .run = run,
};
