/* A tiny graph of any shape: hubs, loops, nodes without edges, edges that are there several times.
 * Some have types of nodes and relations. */
#ifndef OG_RANDOM_GRAPH_H
#define OG_RANDOM_GRAPH_H

#include "draw.h"

#include <outgrow/outgrow.h>

#include <stdio.h>

enum { MOST_TYPES = 4, MOST_RELATIONS = 7, MOST_NODES = 300, MOST_EDGES = 6000 };

enum label_kind { LABELS_CLASSES, LABELS_SEVERAL, LABELS_VALUES, LABELS_SHARES };

/* Features of edges; dim 0 = there are none. */
struct edge_rows {
    int dim;
    enum og_element dtype;
};

/* The form of sparse rows of nodes; room 0 = they are dense. */
struct entries {
    int room, most;
    bool ones; /* without values */
};

/* A type of nodes: ids first, first + 1, ... of the whole; dim 0 = it has no features. */
struct node_type {
    int first, count, dim;
    enum og_element dtype;
    struct entries entries;
    bool left_out; /* of splits, where several types have labels */
};

/* A relation from one type to another, or to the same. Its name is r and its number, or rev_ and
 * the name of the one whose reverse it is. */
struct relation {
    int source, destination, edges;
    bool reverses;
    int reversed;
    struct edge_rows rows;
};

/* What options may count on. */
struct graph {
    int nodes, edges, dim;
    enum og_element dtype;
    struct entries entries;
    enum label_kind labels;
    int classes; /* or values */
    int n_train, n_valid, n_test;
    bool weighted, wide_ids, edge_lists;
    bool edge_labels;      /* of the edges in lists */
    int own_rows;          /* features of the edges in lists; 0 = none */
    bool list_times;       /* of the edges in lists */
    int negatives;         /* given for each edge in train_edges.npy */
    bool held_negatives;   /* for the others: given for each */
    struct edge_rows rows; /* of a homogeneous graph */
    bool edges_have_rows;  /* in every relation */
    bool both_ways;        /* and meta.json says so */
    bool node_times, edge_times;
    bool by_time;                   /* lists are in the order of edge_times */
    bool has_times[MOST_RELATIONS]; /* edge_times */

    int n_types; /* 0 = a homogeneous graph; then there is nothing below */
    int n_relations, target;
    struct node_type type[MOST_TYPES];
    struct relation relation[MOST_RELATIONS];
    bool several; /* several types have labels */
    bool bare;    /* a type has no features */
    bool alike;   /* all features have one width: dim */
};

/* Draw a graph and write it as a dataset (docs/reference/formats.md) into the new folder. */
void graph_write(struct graph *g, struct draw *d, const char *folder);

/* ---- heterogeneous graphs (types.c) ---- */

struct edge {
    int src, dst, relation; /* ends are nodes of the whole */
};

/* Types, relations and how many nodes there are. */
void draw_types(struct graph *g, struct draw *d);
/* Edges of all relations, sorted by relation, destination and source; writes their files. */
int write_relations(struct graph *g, struct draw *d, const char *folder, struct edge *out);
void relation_name(const struct graph *g, int relation, char out[16]);
void write_typed_features(struct graph *g, struct draw *d, const char *folder);
/* For meta.json: the members node_types and relations. */
void write_typed_meta(const struct graph *g, FILE *f);

/* ---- feature rows (rows.c) ---- */

void draw_entries(struct entries *form, struct draw *d, int dim, enum og_element dtype);
bool is_sparse(const struct graph *g);
/* The rows of n nodes; `end` is the end of the files' names. Sparse ones are described in *form. */
void write_rows(struct draw *d, const char *folder, const char *end, int n, int dim,
                enum og_element dtype, struct entries *form);
void write_entries_meta(const struct entries *form, FILE *f);
const char *rows_word(enum og_element dtype, const struct entries *form);

/* ---- lists of edges (lists.c) ---- */

void draw_lists(struct graph *g, struct draw *d);
/* of_graph: of the training edges, all of which are in the graph. */
void write_edge_list(const struct graph *g, struct draw *d, const char *folder, const char *split,
                     const struct edge *edges, bool of_graph);

/* ---- what both kinds draw (graph.c) ---- */

void put_labels(const struct graph *g, struct draw *d, FILE *f, int n);

int draw_dim(struct draw *d);
enum og_element draw_dtype(struct draw *d);
void draw_edge_rows(struct edge_rows *r, struct draw *d);
/* The rows of n edges, in a file whose name begins with `prefix`; for meta.json, what they are. */
void write_edge_rows(const struct edge_rows *r, struct draw *d, const char *folder,
                     const char *prefix, int n);
void write_edge_rows_meta(const struct edge_rows *r, FILE *f);
/* n times of nodes or edges, some of them equal. */
void write_times(struct draw *d, const char *folder, const char *name, int n);
/* Between `sources` and `destinations` nodes, numbered from 0 each; sorted into lists. */
int draw_edges(struct draw *d, int sources, int destinations, int most, struct edge *out);
/* indptr, indices, weights and times of a relation, whose names begin with `prefix`. */
void write_lists(struct graph *g, int relation, struct draw *d, const char *folder,
                 const char *prefix, const struct edge *edges, int n, int destinations);

#endif
