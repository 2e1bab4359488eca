/* Checks the headers of a split's lists, and of arrays with a row for each seed. */
#include "dataset/edge_labels.h"
#include "dataset/graph_parts.h"

const char og__graph_again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

int og__graph_disagree(const char *where, const char *what, int64_t said, int64_t found,
                       struct og_err *err)
{
    return og__fail(err, -EINVAL, og__graph_again_hint, "%s: %s: %lld expected, %lld found", where,
                    what, (long long)said, (long long)found);
}

int og__graph_check_times(const struct og_npy *a, int64_t n, const char *shape, struct og_err *err)
{
    if (a->fd < 0 || (a->type == OG__NPY_I64 && a->shape[0] == n && a->shape[1] == 1))
        return 0;
    return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be int64 %s", a->path, shape);
}

static int64_t edges_in(const struct og_graph *g, int s)
{
    return g->edges[s].fd < 0 ? 0 : g->edges[s].shape[0];
}

static int check_node_splits(const struct og_graph *g, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &g->split[s];
        if (a->fd >= 0 && (!og__npy_is_integer(a->type) || a->shape[1] != 1))
            return og__fail(err, -EINVAL,
                            a->type == OG__NPY_BOOL ? "a split has ids: numpy.flatnonzero(mask)"
                                                    : og__graph_again_hint,
                            "%s: must be int64 node ids", a->path);
        if (a->fd >= 0 && a->shape[0] > g->n_nodes)
            return og__fail(err, -EINVAL, og__graph_again_hint,
                            "%s: %lld ids, the graph has %lld nodes", a->path,
                            (long long)a->shape[0], (long long)g->n_nodes);
    }
    return 0;
}

static int check_edges(const struct og_graph *g, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &g->edges[s];
        if (a->fd >= 0 && (!og__npy_is_integer(a->type) || a->ndim != 2 || a->shape[1] != 2))
            return og__fail(err, -EINVAL, "one row an edge: src, dst",
                            "%s: must be whole numbers [n,2]", a->path);
    }
    return 0;
}

/* Checks that each edge list has as many relations. */
static int check_edge_relations(const struct og_graph *g, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &g->edge_relations[s];
        const struct og_npy *edges = &g->edges[s];
        const int64_t n = edges->fd < 0 ? 0 : edges->shape[0];
        if (a->fd < 0)
            continue;
        if (!og__npy_is_integer(a->type) || a->shape[1] != 1)
            return og__fail(err, -EINVAL, og__graph_again_hint,
                            "%s: must be whole numbers, one an edge", a->path);
        if (a->shape[0] != n || edges->fd < 0)
            return og__graph_disagree(a->path, "edges of its list", n, a->shape[0], err);
    }
    return 0;
}

static int check_negatives(const struct og_graph *g, struct og_err *err)
{
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++) {
        const struct og_npy *a = &g->negatives[s];
        const int64_t n = edges_in(g, s);
        const bool each = g->negatives_each[s];
        if (a->fd < 0)
            continue;
        if (!og__npy_is_integer(a->type) || a->ndim != 2 || a->shape[1] < 1 ||
            (!each && a->shape[1] != 2))
            return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be whole numbers [%s]",
                            a->path, each ? "edges, k" : "m, 2");
        if (each && a->shape[0] != n)
            return og__graph_disagree(a->path, "edges of its list", n, a->shape[0], err);
        if (s == OG__TRAIN && (n == 0 || a->shape[0] == 0 || a->shape[0] % n != 0))
            return og__fail(err, -EINVAL, "give equally many negatives for each training edge",
                            "%s: %lld negatives for %lld edges", a->path, (long long)a->shape[0],
                            (long long)n);
    }
    return 0;
}

static int check_edge_labels(const struct og_graph *g, int s, struct og_err *err)
{
    const struct og_npy *a = &g->listed[OG__EDGE_LIST_LABELS][s];
    if (a->fd < 0 || (og__npy_is_integer(a->type) && a->shape[1] == 1) || a->type == OG__NPY_F32)
        return 0;
    return og__fail(err, -EINVAL, og__graph_again_hint,
                    "%s: must be whole numbers, one an edge, or float32", a->path);
}

static int check_edge_rows(const struct og_graph *g, int s, struct og_err *err)
{
    const struct og_npy *a = &g->listed[OG__EDGE_LIST_ROWS][s];
    const int64_t dim = og__edge_rows_dim(g);
    if (a->fd < 0 || (a->type == OG__NPY_F32 && a->shape[1] == dim))
        return 0;
    return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be float32 [edges, %lld]",
                    a->path, (long long)dim);
}

static int check_listed(const struct og_graph *g, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        OG_DO(check_edge_labels(g, s, err));
        OG_DO(check_edge_rows(g, s, err));
        OG_DO(og__graph_check_times(&g->listed[OG__NODE_LIST_TIMES][s], g->split[s].shape[0],
                                    "[nodes of the split]", err));
        OG_DO(og__graph_check_times(&g->listed[OG__EDGE_LIST_TIMES][s], edges_in(g, s),
                                    "[edges of the split]", err));
        for (enum og__listed i = 0; i < OG__LISTED; i++) {
            const struct og_npy *a = &g->listed[i][s];
            if (a->fd >= 0 && og__is_of_edges(i) && a->shape[0] != edges_in(g, s))
                return og__graph_disagree(a->path, "edges of its list", edges_in(g, s), a->shape[0],
                                          err);
        }
    }
    return 0;
}

static int check_node_ids(const struct og_graph *g, struct og_err *err)
{
    const struct og_npy *a = &g->node_ids;
    if (a->fd >= 0 && (a->type != OG__NPY_I64 || a->shape[1] != 1 || a->shape[0] != g->n_nodes))
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be int64, one a node",
                        a->path);
    return 0;
}

int og__graph_check_splits(const struct og_graph *g, struct og_err *err)
{
    OG_DO(check_node_splits(g, err));
    OG_DO(check_edges(g, err));
    OG_DO(check_edge_relations(g, err));
    OG_DO(check_negatives(g, err));
    OG_DO(check_listed(g, err));
    return check_node_ids(g, err);
}
