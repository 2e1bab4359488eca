#include "cli.h"

#include <unistd.h>

/* Detects the format by default. */
static int find_format(struct invocation *in, struct og_err *err)
{
    const char *file;
    if (in->n_args == 3)
        return 0;
    if (is_format(in->arg[0]) && access(in->arg[0], F_OK) < 0)
        return usage_error(err, NULL, "import: %s SRC OUT expected", in->arg[0]);
    in->arg[2] = in->arg[1];
    in->arg[1] = in->arg[0];
    int rc = guess_format(in->arg[1], &in->arg[0], &file, err);
    if (rc == 0 && !in->quiet)
        fprintf(stderr, "outgrow: %s: taken as %s, because of %s\n", in->arg[1], in->arg[0], file);
    return rc;
}

static int set(void *opt, const char *name, const char *value, struct og_err *err)
{
    return og_import_set(opt, name, value, err);
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_import *opt;
    char *text = NULL;
    int rc;
    const size_t out = in->n_args - 1;
    const bool python = is_for_python(out == 2 ? in->arg[0] : NULL, in->arg[out - 1]);
    TRY(og_import_new(&opt, err));
    TRY(own_set(in, set, opt, err));
    TRY(python ? import_by_python(in, err) : find_format(in, err));
    if (!python)
        TRY(og_import(in->arg[0], in->arg[1], in->arg[2], opt, screen_observer(in->screen, 0),
                      err));
    TRY(og_info(in->arg[python ? out : 2], &text, err));
    rc = deliver(in, text, show_dataset, err);
out:
    og_import_free(opt);
    return rc;
}

static bool tell_format(size_t i, char *out, size_t size)
{
    const struct og_import_format *f = og_import_format(i);
    if (f)
        snprintf(out, size, "%s: %s", f->name, f->files);
    return f;
}

const struct command cmd_import = {
    .name = "import",
    .group = "Datasets",
    .args = "[FORMAT] SRC OUT",
    .min_args = 2,
    .max_args = 3,
    .summary = "make a dataset from files in another format",
    .text =
        "Edges are sorted on disk, so the graph may be larger than memory; OUT appears only when "
        "complete. FORMAT is detected from the files by default. parquet, tgb, "
        "relbench and OGB's datasets of links are read by the Python package. Details: "
        "docs/reference/formats.md.",
    .paragraph = tell_format,
    .takes = og_import_option,
    .run = run,
};
