/* Options that a source makes nothing of: those of another format are refused, others are named. */
#include "dataset/import/unused.h"

#include "dataset/import/moments.h"

#include <string.h>
#include <strings.h>

/* ---- of other formats ---- */

/* Options of features that --drop-features leaves out. */
static int check_dropped(const struct og_import *o, struct og_err *err)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {
        {"--feature-dtype", o->feature_dtype >= 0},
        {"--feature-layout", o->feature_layout != OG_FEATURES_DENSE},
        {"--feature-scales", o->feature_scales},
        {"--row-normalize", o->row_normalize},
        {"--standardize-as", o->standardize_as},
        {"--standardize", o->standardize},
        {"--mean-features", o->mean_features},
        {"--in-place", o->link},
    };
    for (size_t i = 0; i < OG_COUNT(rows); i++)
        if (o->drop_features && rows[i].given)
            return og__fail(err, -EINVAL, "leave out one of them",
                            "import: %s: not with --drop-features, which leaves out features of "
                            "nodes",
                            rows[i].option);
    return 0;
}

/* Two names, which differ. */
static int check_ends(const struct og_import *o, struct og_err *err)
{
    const char *const ends = o->id_columns ? o->id_columns : "src,dst";
    const size_t n = strcspn(ends, ",");
    const char *const second = ends + n + (ends[n] == ',');
    const bool two = n > 0 && *second && !strchr(second, ',');
    return two && !(strlen(second) == n && strncasecmp(ends, second, n) == 0)
               ? 0
               : og__fail(err, -EINVAL, "give two names: --id-columns SRC,DST",
                          "import: --id-columns %.60s: the columns of both ends expected", ends);
}

int og__import_check_options(const struct og_import *o, const struct og_format *format,
                             struct og_err *err)
{
    const char *const name = format->info.name;
    const struct {
        const char *option;
        bool given;
        unsigned by; /* og_format_takes; 0 = none here */
        const char *why, *hint;
    } others[] = {
        {"--columns", o->columns, OG__TAKES_COLUMNS, "it names columns of an edgelist", NULL},
        {"--id-columns", o->id_columns, OG__TAKES_COLUMNS, "it names columns of an edgelist", NULL},
        {"--edge-time", o->edge_time, OG__TAKES_COLUMNS, "it names columns of an edgelist", NULL},
        {"--edge-features", o->edge_features, OG__TAKES_COLUMNS, "it names columns of an edgelist",
         NULL},
        {"--weight-column", o->weight_column > 0, OG__TAKES_COLUMNS,
         "it counts columns of an edgelist", NULL},
        {"--labels", o->labels, OG__TAKES_LABELS, "it is a label file of igb",
         "leave it out; docs/reference/formats.md names the file of each format"},
        {"--node-id", o->node_id && !format->info.node_arrays, 0, "it names a column of nodes.csv",
         NULL},
        {"--node-label", o->node_label && !format->info.node_arrays, 0,
         "it names a column of nodes.csv", NULL},
        {"--by-time", o->by_time, OG__TAKES_TIMES, "this format has no times",
         "leave it out, or import the arrays as npy"},
    };
    for (size_t i = 0; i < OG_COUNT(others); i++)
        if (others[i].given && !(others[i].by & format->takes))
            return og__fail(err, -EINVAL,
                            others[i].hint ? others[i].hint
                                           : "leave it out; docs/reference/formats.md names the "
                                             "files of each format",
                            "import %s: %s: %s", name, others[i].option, others[i].why);
    OG_DO(check_ends(o, err));
    return check_dropped(o, err);
}

/* ---- without effect ---- */

void og__import_tell_idle(const struct og_importer *imp, const struct og_format *format)
{
    static const char no_rows[] = "the source has no features of nodes";
    const struct og_import *o = imp->opt;
    const struct {
        const char *option;
        bool idle;
        const char *why;
    } rows[] = {
        {"--feature-dtype", o->feature_dtype >= 0 && !imp->has_rows && !o->mean_features, no_rows},
        {"--feature-layout", o->feature_layout != OG_FEATURES_DENSE && !imp->has_rows, no_rows},
        {"--feature-scales", o->feature_scales && !imp->has_rows, no_rows},
        {"--row-normalize", o->row_normalize && !imp->has_rows, no_rows},
        {"--seed", o->seed != 1 && !o->split, "there is no --split"},
        {"--split-column", o->split_column >= 0 && !imp->many_masks, "no mask has several columns"},
        {"--in-place", o->link && !imp->linked, no_rows},
        {"--standardize", og__standardizes(o) && imp->standardized == 0, no_rows},
        {"--drop-types", o->drop_types && !imp->dropped_types, "the source has no types"},
        {"--keep-ids", o->keep_ids && !(format->takes & OG__TAKES_COLUMNS),
         "ids are rows in this format"},
        {"--edge-feature-dtype", o->edge_feature_dtype >= 0 && !imp->has_edge_rows,
         "edges have no features"},
        {"--reverse-relations", o->reverse_relations && imp->n_relations == imp->graph.n_relations,
         "the graph is homogeneous; --symmetrize adds the reverse of every edge"},
        {"--weight-column", o->weight_column == 0 && !(format->takes & OG__TAKES_WEIGHTS),
         "this format has no weights"},
    };
    for (size_t i = 0; i < OG_COUNT(rows); i++)
        if (rows[i].idle)
            og__import_say(imp, "%s has no effect: %s", rows[i].option, rows[i].why);
}
