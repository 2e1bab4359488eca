/* GraphBolt's metadata.yaml: which file holds what. */
#ifndef OG_IMPORT_GRAPHBOLT_META_H
#define OG_IMPORT_GRAPHBOLT_META_H

#include "dataset/names.h"

/* Absent text is NULL, absent numbers -1. */
struct og_gb_data {
    const char *name, *type, *format, *path, *domain;
};
struct og_gb_nodes {
    const char *type;
    int64_t num;
};
struct og_gb_set { /* one entry of train_set and its kin */
    const char *type;
    struct og_gb_data *data;
    unsigned n_data;
};
struct og_gb_task {
    const char *name;
    int64_t num_classes;
    struct og_gb_set *set[3]; /* train, valid, test */
    unsigned n_sets[3];
};
struct og_gb_graph {
    struct og_gb_nodes *nodes;
    struct og_gb_data *edges;
    struct og_gb_data *features; /* of the sampling graph: weights that samplers use */
    unsigned n_nodes, n_edges, n_features;
};
struct og_gb_meta {
    const char *name;
    struct og_gb_graph graph;
    struct og_gb_data *features;
    unsigned n_features;
    struct og_gb_task *tasks;
    unsigned n_tasks;
    struct og_names unread;           /* keys of any map */
    struct yaml_document_s *document; /* has the texts */
};

/* -EINVAL with the line and the error. Lists unknown keys in `unread`; refuses aliases. */
OG_MUST_CHECK int og__gb_meta_parse(struct og_gb_meta **out, const char *text, size_t len,
                                    const char *name, struct og_err *err);
void og__gb_meta_free(struct og_gb_meta *m);

/* "", "null" and "~" are no type. */
bool og__gb_typed(const char *type);

#endif
