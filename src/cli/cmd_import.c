#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define FIELD(f)              offsetof(struct og_import, f)
#define SWITCH(name, f, help) OWN(name, NULL, "false", help, NULL, OG_OPTION_FLAG, FIELD(f), 0, 0)

static const struct og_option own[] = {
    SWITCH("symmetrize", symmetrize, "add the reverse of every edge; duplicates are dropped"),
    SWITCH("drop-self-loops", drop_self_loops, "leave out edges from a node to itself"),
    SWITCH("drop-duplicates", drop_duplicates, "of equal edges keep the first"),
    SWITCH("row-normalize", row_normalize, "scale the features of each node to sum 1"),
    SWITCH("reverse", reverse, "the source lists edges as dst,src"),
    SWITCH("link", link, "leave the features in the source's file and use them in place"),
    SWITCH("drop-types", drop_types,
           "leave out types of nodes and relations: a graph of one type, which any command takes"),
    SWITCH("reverse-relations", reverse_relations,
           "with types: add each relation backwards, as rev_<name>"),
    OWN_TEXT("mean-features", "TYPE,...",
             "with types: nodes of these, which have no features, get the mean of their "
             "in-neighbours', one type after another"),
    SWITCH("keep-ids", keep_ids, "edgelist: node ids are rows already; do not number them anew"),
    OWN_TEXT("labels", "FILE", "igb: which of its label files [node_label_19.npy]"),
    OWN_TEXT(
        "columns", "NAME,...",
        "edgelist: what its columns are, whatever its first line says: src, dst, weight, and - "
        "for what is not read"),
    OWN("weight-column", "N", "",
        "edgelist: the column, from 1, that holds edge weights; edgelist, mtx: 0 = leave them out",
        NULL, OG_OPTION_INT, FIELD(weight_column), 0, 1024),
    OWN("split-column", "K", "",
        "of masks [nodes, splits] of train, valid and test: the column to take, from 0", NULL,
        OG_OPTION_INT, FIELD(split_column), 0, INT_MAX),
    OWN("feature-dtype", "TYPE", "",
        "how to store features; unless given, floats as they are, integers as u8 where that is "
        "exact, else f32",
        dtype_names, OG_OPTION_CHOICE, FIELD(feature_dtype), 0, 0),
    OWN("memory", "SIZE", "", "bound on what the import holds; unless given, 90% of what is free",
        NULL, OG_OPTION_AMOUNT, FIELD(memory), 0, MOST_BYTES),
    OWN("threads", "N", "0", "processor threads; 0 = all", NULL, OG_OPTION_INT, FIELD(threads), 0,
        1024),
    {0},
};
_Static_assert(sizeof(own) / sizeof(*own) <= MAX_OWN + 1, "options of a command");

/* Without a format the files show it. */
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
        fprintf(stderr, "outgrow: %s: taken as %s, for %s\n", in->arg[1], in->arg[0], file);
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    struct og_import opt;
    char *text = NULL;
    og_import_init(&opt);
    opt.labels = own_text(in, "labels");
    opt.mean_features = own_text(in, "mean-features");
    opt.columns = own_text(in, "columns");
    int rc = own_fields(in, &opt, err);
    if (rc < 0)
        return rc;
    rc = find_format(in, err);
    if (rc < 0)
        return rc;
    rc = og_import(in->arg[0], in->arg[1], in->arg[2], &opt, screen_observer(in->screen, 0), err);
    if (rc < 0)
        return rc;
    rc = og_info(in->arg[2], &text, err);
    return rc < 0 ? rc : deliver(in, text, show_dataset, err);
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
        "Edges are sorted on disk, so the graph may be larger than memory; OUT appears when it is "
        "complete. The files themselves show which FORMAT they are in, unless it is given. "
        "docs/formats.md has the details.",
    .paragraph = tell_format,
    .own = own,
    .run = run,
};
