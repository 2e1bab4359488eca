/* A typed dataset in the layout that `import npy` takes: edges.npy by ids of the whole, relation
 * after relation, edge_type.npy, node_type.npy, feat_<type>.npy, <split>_edges.npy and
 * <split>_edge_type.npy, and the names in meta.json. */
#include "dataset/export.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "export";
enum { PIECE = 8192 };

/* ---- edges ---- */

struct edge_files {
    struct og_npy_writer *edges, *types, *weights; /* weights NULL = none */
};

static int append_relation(const struct og_exporter *x, const struct og_graph *g, uint32_t r,
                           struct og_edge_walk *walk, const struct edge_files *f,
                           struct og_err *err)
{
    const struct og_relation *rel = &g->relation[r];
    const int64_t first_src = g->group[rel->source].first;
    const int64_t first_dst = g->group[rel->destination].first;
    const uint16_t type = (uint16_t)r;
    int rc = 0;
    memset(walk, 0, sizeof(*walk));
    walk->of = walk->check.of = rel;
    for (int64_t n = 1; n > 0;) {
        OG_TRY(og__walk_edges(walk, &n, err));
        for (int64_t i = 0; i < n; i++) {
            const int64_t ends[] = {walk->src[i] + first_src, walk->dst[i] + first_dst};
            OG_TRY(og__npy_append(f->edges, ends, 1, err));
            OG_TRY(og__npy_append(f->types, &type, 1, err));
        }
        OG_TRY(og__writing_goes_on(x->seen, "edges", "edges", walk->edge, rel->n_edges, err));
    }
out:
    return rc;
}

static int append_weights(const struct og_relation *rel, struct og_npy_writer *w,
                          struct og_err *err)
{
    float piece[PIECE];
    int rc = 0;
    for (int64_t at = 0, n; at < rel->n_edges; at += n) {
        n = OG_MIN(rel->n_edges - at, (int64_t)PIECE);
        OG_TRY(og__npy_read(&rel->weights, at, n, piece, err));
        OG_TRY(og__npy_append(w, piece, n, err));
    }
out:
    return rc;
}

static int finish(struct og_npy_writer **w, struct og_err *err)
{
    struct og_npy_writer *done = *w;
    *w = NULL; /* closed, whether it could be finished or not */
    return done ? og__npy_finish(done, NULL, err) : 0;
}

static int export_edges(const struct og_exporter *x, const struct og_graph *g, struct og_err *err)
{
    struct edge_files f = {0};
    struct og_edge_walk *walk = og__alloc(x->budget, sizeof(*walk), part, err);
    bool weighted = true;
    int rc;
    for (uint32_t r = 0; r < g->n_relations; r++)
        weighted = weighted && g->relation[r].weights.fd >= 0;
    OG_TRY(walk ? 0 : -ENOMEM);
    OG_TRY(og__export_create(x, "edges.npy", OG__NPY_I64, 2, 2, &f.edges, err));
    OG_TRY(og__export_create(x, "edge_type.npy", OG__NPY_U16, 1, 1, &f.types, err));
    if (weighted)
        OG_TRY(og__export_create(x, "edge_weight.npy", OG__NPY_F32, 1, 1, &f.weights, err));
    for (uint32_t r = 0; r < g->n_relations; r++) {
        OG_TRY(append_relation(x, g, r, walk, &f, err));
        if (weighted)
            OG_TRY(append_weights(&g->relation[r], f.weights, err));
    }
    OG_TRY(finish(&f.edges, err));
    OG_TRY(finish(&f.types, err));
    OG_TRY(finish(&f.weights, err));
out:
    og__npy_discard(f.edges);
    og__npy_discard(f.types);
    og__npy_discard(f.weights);
    og__release(x->budget, walk, sizeof(*walk), part);
    return rc;
}

/* ---- nodes ---- */

static int export_node_types(const struct og_exporter *x, const struct og_graph *g,
                             struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    uint8_t piece[PIECE];
    int rc;
    OG_TRY(og__export_create(x, "node_type.npy", OG__NPY_U8, 1, 1, &w, err));
    for (uint32_t t = 0; t < g->n_groups; t++) {
        memset(piece, (int)t, sizeof(piece));
        for (int64_t at = 0, n; at < g->group[t].n_nodes; at += n) {
            n = OG_MIN(g->group[t].n_nodes - at, (int64_t)PIECE);
            OG_TRY(og__npy_append(w, piece, n, err));
        }
    }
    OG_TRY(finish(&w, err));
out:
    og__npy_discard(w);
    return rc;
}

static int export_nodes(const struct og_exporter *x, const struct og_graph *g, struct og_err *err)
{
    static const char *const splits[OG__SPLITS] = {"train", "valid", "test"};
    char name[OG__TYPE_NAME_MAX + 16];
    int rc;
    OG_TRY(export_node_types(x, g, err));
    for (uint32_t t = 0; t < g->n_groups; t++) {
        snprintf(name, sizeof(name), "feat_%s.npy", g->group[t].name);
        OG_TRY(og__export_rows(x, &g->group[t], name, err));
    }
    OG_TRY(og__export_array(x, &g->labels, false, "label.npy", err));
    for (int s = 0; s < OG__SPLITS; s++) {
        snprintf(name, sizeof(name), "%s.npy", splits[s]);
        OG_TRY(og__export_array(x, &g->split[s], false, name, err));
        snprintf(name, sizeof(name), "%s_edges.npy", splits[s]);
        OG_TRY(og__export_array(x, &g->edges[s], false, name, err));
        snprintf(name, sizeof(name), "%s_edge_type.npy", splits[s]); /* a type is a relation */
        OG_TRY(og__export_array(x, &g->edge_relations[s], false, name, err));
    }
out:
    return rc;
}

static int write_meta(const struct og_exporter *x, const struct og_graph *g, struct og_err *err)
{
    json_t *nodes = json_array();
    json_t *edges = json_array();
    for (uint32_t t = 0; t < g->n_groups; t++)
        nodes = og__json_append(
            nodes, json_pack("{s:I s:s}", "type", (json_int_t)t, "name", g->group[t].name));
    for (uint32_t r = 0; r < g->n_relations; r++)
        edges = og__json_append(
            edges, json_pack("{s:I s:s}", "edge_type", (json_int_t)r, "name", g->relation[r].name));
    json_t *meta = json_pack("{s:s s:I s:I s:i s:o s:o}", "name", g->name, "num_nodes",
                             (json_int_t)g->n_nodes, "num_edges", (json_int_t)g->n_edges,
                             "num_classes", g->n_classes, "node_types", nodes, "edge_types", edges);
    if (g->regression)
        meta = og__json_with(meta, "task", json_string("node regression"));
    return og__meta_write(x->dir.temporary, meta, err);
}

int og__export_typed(struct og_exporter *x, const char *format, struct og_err *err)
{
    const struct og_graph *g = x->ds;
    int rc;
    if (strcmp(format, "npy") != 0)
        return og__fail(err, -EINVAL, "npy has types of nodes and relations",
                        "export %s: not of a graph with types", format);
    OG_TRY(export_edges(x, g, err));
    OG_TRY(export_nodes(x, g, err));
    OG_TRY(write_meta(x, g, err));
out:
    return rc;
}
