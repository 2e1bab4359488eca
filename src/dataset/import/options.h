/* The struct that options of an import are (og_import_set), and the table behind it. */
#ifndef OG_IMPORT_OPTIONS_H
#define OG_IMPORT_OPTIONS_H

#include "base/choices.h"
#include "base/option_rows.h"

/* Texts are owned by a struct of og_import_new. */
struct og_import {
    bool symmetrize; /* add every edge's reverse; duplicates are dropped */
    bool drop_self_loops;
    bool drop_duplicates; /* of equal edges the first is kept */
    bool row_normalize;   /* scale each feature row to sum 1 (rows of zeros stay) */
    bool reverse;         /* the source lists dst,src */
    bool link;            /* leave features in the source's file and refer to it */
    bool keep_ids;        /* edgelist: ids as they are, not renumbered */
    int weight_column;    /* edgelist: from 1; 0 = leave further columns out; -1 = there are none */
    char *labels;         /* igb: name of the label file; NULL = node_label_19.npy */
    int feature_dtype;    /* enum og_dtype, or -1 = as stored (exact) */
    struct og_amount memory;
    int threads;
    bool drop_types;        /* of a source with types of nodes and relations: leave them out */
    bool reverse_relations; /* add each relation backwards, as rev_<name> */
    /* types without features, "author,institution", whose nodes get the mean of their
     * in-neighbours'; NULL = none */
    char *mean_features;
    char *columns;    /* edgelist: names of its columns, "dst,src,-"; NULL = as the file says */
    int split_column; /* of masks [N, K], from 0; -1 = there are none */
};
void og__import_init(struct og_import *opt); /* the defaults */

#endif
