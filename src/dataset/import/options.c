/* The option table of an import. A new option is a field in options.h and a row here. */
#include "dataset/import/options.h"

#include "base/base.h"
#include "base/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(f) offsetof(struct og_import, f)
#define ROW(name, arg, standard, help, choices, type, field, min, max)                          \
    OG_ROW(name, arg, standard, "Options", OG_DECIDES_NOTHING, help, choices, type, field, min, \
           max, OG__NO_PARENT)
#define SWITCH(name, f, help)    ROW(name, NULL, "false", help, NULL, OG_OPTION_FLAG, FIELD(f), 0, 0)
#define TEXT(name, arg, f, help) ROW(name, arg, "", help, NULL, OG_OPTION_TEXT, FIELD(f), 0, 0)

static const char *const layout_words[] = {"dense", "sparse", NULL};

/* Formatted by hand: an option, its help, its field. */
/* clang-format off */
static const struct og_row table[] = {
    SWITCH("symmetrize", symmetrize, "add the reverse of every edge; duplicates are dropped"),
    SWITCH("drop-self-loops", drop_self_loops, "leave out edges from a node to itself"),
    SWITCH("drop-duplicates", drop_duplicates, "of equal edges keep the first"),
    SWITCH("row-normalize", row_normalize, "scale the features of each node to sum 1"),
    SWITCH("reverse", reverse, "the source lists edges as dst,src"),
    SWITCH("edge-ids", edge_ids,
           "write edge_ids.npy: the number of each edge in the source, from 0; with edge features always"),
    SWITCH("by-time", by_time,
           "npy, edgelist, ogb: sort the neighbours of each node by time, which makes --time faster with the topology on disk"),
    SWITCH("in-place", link, "leave the features in the source's file and use them in place"),
    SWITCH("drop-types", drop_types,
           "leave out types of nodes and relations: a homogeneous graph, which any command takes"),
    SWITCH("drop-features", drop_features,
           "leave out features of nodes, for `train --embedding`; a homogeneous graph gets a type, node, and a relation, to"),
    SWITCH("reverse-relations", reverse_relations,
           "heterogeneous graphs: add the reverse of each relation, as rev_<name>"),
    TEXT("mean-features", "TYPE,...", mean_features,
         "heterogeneous graphs: nodes of these types, which have no features, get the mean of their in-neighbours', one type after another"),
    SWITCH("keep-ids", keep_ids, "edgelist: node ids are rows already; do not renumber them"),
    TEXT("labels", "FILE", labels, "igb: which of its label files [node_label_19.npy]"),
    TEXT("columns", "NAME,...", columns,
         "edgelist: what its columns are, whatever its first line says: src, dst, weight, and - for "
         "what is not read"),
    TEXT("id-columns", "SRC,DST", id_columns,
         "edgelist: the two columns of nodes, by their names in the first line"),
    TEXT("edge-time", "NAME", edge_time,
         "edgelist: the column of times of edges, by its name in the first line or in --columns"),
    TEXT("edge-features", "NAME,...", edge_features,
         "edgelist: the columns of features of edges, in the file's order; f* takes all that begin with f, but no id, weight, time or label"),
    TEXT("node-id", "NAME", node_id, "nodes.csv: the column of ids, if not called id"),
    TEXT("node-label", "NAME", node_label, "nodes.csv: the column of labels, if not called label or y"),
    ROW("weight-column", "N", "",
        "edgelist: the column, from 1, that holds edge weights; any format: 0 = leave them out",
        NULL, OG_OPTION_INT, FIELD(weight_column), 0, 1024),
    ROW("split-column", "K", "",
        "of masks [nodes, splits] of train, valid and test: the column to take, from 0",
        NULL, OG_OPTION_INT, FIELD(split_column), 0, INT_MAX),
    TEXT("split", "A/B/C", split,
         "percent of the nodes with a label to train, validate and test on, at random, where the source has no splits: 60/20/20"),
    ROW("seed", "N", "1", "start of the random choices of --split",
        NULL, OG_OPTION_INT64, FIELD(seed), 0, 0x1p63),
    ROW("feature-dtype", "TYPE", "",
        "how to store features; unless given, floats as they are, integers as u8 where that is "
        "exact, else f32. i8 and e4m3 (fp8) have a scale per column",
        og__dtype_words, OG_OPTION_CHOICE, FIELD(feature_dtype), 0, 0),
    ROW("feature-layout", "LAYOUT", "dense",
        "sparse: store the features of a node that are not 0, with their columns, where that is smaller",
        layout_words, OG_OPTION_CHOICE, FIELD(feature_layout), 0, 0),
    SWITCH("feature-scales", feature_scales,
         "write scales of the columns of f32 features too, for --pack-dtype i8 and e4m3"),
    SWITCH("standardize", standardize,
         "scale each column of node features to mean 0 and deviation 1; columns of 0 and 1 stay, missing numbers count as the mean"),
    TEXT("standardize-as", "DATASET", standardize_as,
         "the same by the means and deviations of this dataset, on whose features a model was trained"),
    ROW("edge-feature-dtype", "TYPE", "", "the same for the features of edges",
        og__plain_dtype_words, OG_OPTION_CHOICE, FIELD(edge_feature_dtype), 0, 0),
    ROW("memory", "SIZE", "", "bound on what the import holds; unless given, 90% of what is free",
        NULL, OG_OPTION_AMOUNT, FIELD(memory), 0x1p20, OG__MOST_BYTES),
    ROW("threads", "N", "0", "CPU threads; 0 = all",
        NULL, OG_OPTION_INT, FIELD(threads), 0, 1024),
};
/* clang-format on */

void og__import_init(struct og_import *opt)
{
    *opt = (struct og_import){.feature_dtype = -1,
                              .edge_feature_dtype = -1,
                              .weight_column = -1,
                              .split_column = -1,
                              .seed = 1};
}

/* ---- as programs have it ---- */

const struct og_option *og_import_option(size_t i)
{
    return i < OG_COUNT(table) ? &table[i].option : NULL;
}

int og_import_new(struct og_import **out, struct og_err *err)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return og__fail_errno(err, -ENOMEM, NULL, "import");
    og__import_init(*out);
    return 0;
}

uint64_t og_import_memory(const struct og_import *opt)
{
    return og__memory_amount(&opt->memory);
}

void og_import_free(struct og_import *opt)
{
    if (opt)
        og__rows_release(table, OG_COUNT(table), opt);
    free(opt);
}

int og_import_set(struct og_import *opt, const char *name, const char *value, struct og_err *err)
{
    if (strcmp(name, "link") == 0) /* as it was called */
        name = "in-place";
    return og__rows_set(table, OG_COUNT(table), opt, name, value, err);
}
