/* The options of an import (og_import_set), with their option table. */
#ifndef OG_IMPORT_OPTIONS_H
#define OG_IMPORT_OPTIONS_H

#include "base/choices.h"
#include "base/option_rows.h"

/* Texts are owned by a struct of og_import_new. */
struct og_import {
    bool symmetrize; /* add every edge's reverse; duplicates are dropped */
    bool drop_self_loops;
    bool drop_duplicates; /* keeps the first of equal edges */
    bool row_normalize;   /* scales each feature row to sum 1 (zero rows stay) */
    bool reverse;         /* the source lists dst,src */
    bool link;            /* refers to features in the source's file instead of copying them */
    bool keep_ids;        /* edgelist: ids as they are, not renumbered */
    int weight_column;    /* edgelist: from 1; 0 = ignore further columns; -1 = absent */
    char *labels;         /* igb: name of the label file; NULL = node_label_19.npy */
    int feature_dtype;    /* enum og_dtype, or -1 = as stored (exact) */
    int feature_layout;   /* enum og_feature_layout */
    bool feature_scales;  /* write those of f32 features too */
    bool standardize;     /* features to mean 0 and deviation 1, a column */
    char *standardize_as; /* by the means of this dataset; NULL */
    struct og_amount memory;
    int threads;
    bool drop_types;        /* imports a heterogeneous source without its types */
    bool drop_features;     /* nodes have none: a homogeneous graph has one type and relation */
    bool reverse_relations; /* add each relation backwards, as rev_<name> */
    /* types without features, "author,institution", whose nodes get the mean of their
     * in-neighbours'; NULL = none */
    char *mean_features;
    char *id_columns;       /* edgelist: names of the columns of both ends, "user,item"; NULL */
    char *columns;          /* edgelist: names of its columns, "dst,src,-"; NULL = from the file */
    int split_column;       /* of masks [N, K], from 0; -1 = unset */
    int edge_feature_dtype; /* as feature_dtype */
    char *split;            /* "60/20/20" at random, by `seed`; NULL = as the source has them */
    int64_t seed;
    char *edge_time;     /* edgelist: name of the column of edges' times; NULL */
    char *edge_features; /* edgelist: names of columns, "a,f*"; NULL */
    char *node_id;       /* of nodes.csv: name of the column of ids; NULL */
    char *node_label;    /* of nodes.csv: name of the column of labels; NULL */
    bool edge_ids;       /* keep the number that each edge has in the source */
    bool by_time;        /* lists are in the order of their edges' times */
};
void og__import_init(struct og_import *opt); /* the defaults */

#endif
