#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct og_option own[] = {
    OWN_TEXT("out", "FILE",
             "new .npy file: float32 [N, classes], the scores of every node; FILE.csv or "
             "FILE.parquet: a table"),
    OWN_NUMBER("correction-layers", "L", "50", "propagations of the errors of train nodes", 0,
               OG_MAX_SMOOTHING),
    OWN_REAL("correction-alpha", "A", "0.8", "share of the neighbours in a correction", 0, 1),
    OWN_NUMBER("smoothing-layers", "L", "50", "propagations of labels and corrected predictions", 0,
               OG_MAX_SMOOTHING),
    OWN_REAL("smoothing-alpha", "A", "0.8", "share of the neighbours in a smoothing", 0, 1),
    OWN_REAL("scale", "S", "", "multiply corrections by S; default: a scale for each node", 1e-6,
             1e6),
    OWN_NUMBER("top-k", "K", "", "in a table, the classes with the largest scores", 1, 1 << 30),
    OWN_FLAG("names", "refuse a table without ids of the source"),
    OWN_TEXT("dtype", "f32|f16", "numbers in .npy files [f32]"),
    OWN_FLAG("overwrite", "replace --out, once the new file is whole"),
    {0},
};

static int read_own(const struct invocation *in, struct og_smooth_options *how, struct og_err *err)
{
    int rc = 0;
    TRY(own_number(in, "correction-layers", &how->correction_layers, err));
    TRY(own_number(in, "smoothing-layers", &how->smoothing_layers, err));
    TRY(own_real(in, "correction-alpha", &how->correction_alpha, err));
    TRY(own_real(in, "smoothing-alpha", &how->smoothing_alpha, err));
    how->fixed_scale = own_text(in, "scale");
    if (how->fixed_scale)
        TRY(own_real(in, "scale", &how->scale, err));
    if (own_text(in, "top-k"))
        TRY(own_number(in, "top-k", &how->top_k, err));
out:
    return rc;
}

/* Without a row for each of a hundred layers. */
static void show(const json_t *root)
{
    json_t *brief = json_copy((json_t *)root);
    if (brief)
        json_object_del(brief, "layers");
    show_any(brief ? brief : root);
    json_decref(brief);
}

/* Parquet is read from and written to .csv files next to the output. */
static int smooth(struct invocation *in, const char *out, const struct og_smooth_options *how,
                  char **text, struct og_err *err)
{
    const char *given = in->arg[1];
    const bool reads = is_parquet_file(given), writes = is_parquet_file(out);
    char *read = NULL, *made = NULL;
    int rc =
        asprintf(&read, "%s.given.part.csv", out) > 0 && asprintf(&made, "%s.part.csv", out) > 0
            ? 0
            : no_result(err);
    if (rc == 0 && writes)
        rc = check_parquet(in, given, out, made, err);
    if (rc == 0 && reads)
        rc = read_parquet(given, read, err);
    if (rc == 0)
        rc = og_smooth(in->arg[0], reads ? read : given, writes ? made : out, how, in->options,
                       screen_observer(in->screen, 0), text, err);
    if (rc == 0 && writes)
        rc = write_parquet(in->arg[0], "", made, out, err);
    if (rc == 0 && writes)
        rc = name_output(text, out, err);
    if (reads && read)
        unlink(read);
    if (writes && made)
        unlink(made);
    free(read);
    free(made);
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_smooth_options how = {.size = sizeof(how),
                                    .dtype = own_text(in, "dtype"),
                                    .names = own_flag(in, "names"),
                                    .overwrite = own_flag(in, "overwrite")};
    const char *out = own_text(in, "out");
    char *text = NULL;
    if (!out)
        return usage_error(err, NULL, "smooth: --out FILE expected");
    int rc = read_own(in, &how, err);
    if (rc < 0)
        return rc;
    rc = smooth(in, out, &how, &text, err);
    return rc < 0 ? rc : deliver(in, text, show, err);
}

const struct command cmd_smooth = {
    .name = "smooth",
    .group = "Models",
    .args = "DATASET PREDICTIONS",
    .min_args = 2,
    .max_args = 2,
    .summary = "correct and smooth predictions along the edges (Correct & Smooth)",
    .text =
        "PREDICTIONS is the file of `predict --probabilities`: .npy, or a table, .csv or .parquet, "
        "whose lines are found by their ids. Errors of train nodes correct the predictions of "
        "others, then "
        "labels of train nodes smooth them (Huang et al. 2021). "
        "Other labels are read for the accuracies alone. The result says the validation accuracy "
        "before and after. Rows that exceed --memory are read again from disk, so results do not "
        "depend on memory or threads. With --resume it continues an interrupted or killed run. "
        "Existing files are replaced with --overwrite. With --edge-weights multiply, edges count "
        "by their weights.",
    .own = own,
    .training = true,
    .delivers_files = true,
    .often = WORDS("memory", "scratch", "resume", "edge-weights"),
    .without = WORDS("workers"),
    .run = run,
};
