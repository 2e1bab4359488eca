/* Rows of features: what their files must be, and their sizes. */
#include "dataset/graph_parts.h"

#include <math.h>
#include <stdlib.h>

/* Sets the dtype in meta.json if the file can hold it; else the file's own. */
static int take_dtype(struct og_group *g, int said, struct og_err *err)
{
    enum og__npy_type stored = g->rows.type;
    for (enum og_dtype d = OG_F32; said < 0 && d <= OG_U8; d++)
        if (d != OG_BF16 && og__dtype_stored(d) == stored)
            said = (int)d;
    if (said < 0)
        return og__fail(err, -EINVAL, "import it with --feature-dtype f32",
                        "%s: features of type %s", g->rows.path, og__npy_name(stored));
    g->stored = g->dtype = (enum og_dtype)said;
    if (og__dtype_stored(g->stored) != stored)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: %s where meta.json says %s",
                        g->rows.path, og__npy_name(stored), og__dtype_name(g->stored));
    return 0;
}

/* Rows of bytes, of which meta.json says the rest. */
static int take_sparse(struct og_group *g, const struct og_type_meta *m, struct og_err *err)
{
    const struct og_npy *a = &g->rows;
    g->dim = (int)m->dim;
    g->sparse = (struct og_sparse_rows){.room = (uint32_t)m->room, .longest = (uint32_t)m->longest};
    g->stored = g->dtype = (enum og_dtype)m->dtype;
    if (a->type != OG__NPY_U8 || (size_t)a->shape[1] != og__file_row_bytes(g))
        return og__fail(err, -EINVAL, og__graph_again_hint,
                        "%s: %s [N, %lld], sparse rows are uint8 [N, %zu]", a->path,
                        og__npy_name(a->type), (long long)a->shape[1], og__file_row_bytes(g));
    if (og__file_row_bytes(g) > (size_t)g->dim * sizeof(float))
        return og__fail(err, -EINVAL, "import it with --feature-layout dense",
                        "%s: sparse rows of %zu bytes, more than dense rows of %d columns", a->path,
                        og__file_row_bytes(g), g->dim);
    return 0;
}

/* Entries that have no room in rows. */
static int load_rest(struct og_group *g, struct og_err *err)
{
    const struct og_npy *a = &g->rest;
    const size_t each = og__entry_bytes(g->dim, g->stored);
    if (a->fd < 0 && g->sparse.longest > g->sparse.room)
        return og__fail(err, -EINVAL, og__graph_again_hint,
                        "%s: sparse rows, without feature_rest.npy", g->rows.path);
    if (a->fd < 0 || g->sparse.room == 0)
        return 0;
    if (a->type != OG__NPY_U8 || a->shape[1] != 1 || (size_t)a->shape[0] % each != 0 ||
        (size_t)a->shape[0] / each > UINT32_MAX)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be uint8, %zu for each entry",
                        a->path, each);
    g->sparse.n_rest = (uint32_t)((size_t)a->shape[0] / each);
    g->sparse.rest = g->rest_bytes = malloc(OG_MAX((size_t)a->shape[0], (size_t)1));
    OG_DO(g->rest_bytes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", a->path));
    return og__npy_read(a, 0, a->shape[0], g->rest_bytes, err);
}

/* dim, dtype: in meta.json, or -1. */
static int check_rows(struct og_group *g, int64_t rows, const char *of, int64_t dim, int dtype,
                      struct og_err *err)
{
    const struct og_npy *a = &g->rows;
    if (!og__npy_there(a))
        return 0;
    OG_DO(take_dtype(g, dtype, err));
    if (a->shape[0] != rows)
        return og__graph_disagree(a->path, of, rows, a->shape[0], err);
    if (dim >= 0 && dim != a->shape[1])
        return og__graph_disagree(a->path, "columns, feature_dim", dim, a->shape[1], err);
    if (a->shape[1] < 1 || a->shape[1] > INT32_MAX / 8)
        return og__fail(err, -EINVAL, NULL, "%s: %lld columns", a->path, (long long)a->shape[1]);
    g->dim = (int)a->shape[1];
    return 0;
}

static int load_scales(struct og_group *g, struct og_err *err)
{
    const struct og_npy *a = &g->scales;
    if (a->fd < 0)
        return og__dtype_scaled(g->stored) ? og__fail(err, -EINVAL, og__graph_again_hint,
                                                      "%s: %s, without feature_scales.npy",
                                                      g->rows.path, og__dtype_name(g->stored))
                                           : 0;
    if (a->type != OG__NPY_F32 || a->shape[0] != g->dim || a->shape[1] != 1)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be float32 [%d]", a->path,
                        g->dim);
    g->scale = malloc((size_t)g->dim * sizeof(*g->scale));
    OG_DO(g->scale ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", a->path));
    OG_DO(og__npy_read(a, 0, a->shape[0], g->scale, err));
    for (int c = 0; c < g->dim; c++)
        if (!isfinite(g->scale[c]) || g->scale[c] <= 0)
            return og__fail(err, -EINVAL, og__graph_again_hint,
                            "%s: row %d: %g, not a number above 0", a->path, c,
                            (double)g->scale[c]);
    return 0;
}

int og__check_group(struct og_group *g, const struct og_type_meta *m, struct og_err *err)
{
    const int64_t workers = g->graph->workers;
    const int64_t rows =
        workers ? (g->n_nodes + workers - 1 - g->graph->worker) / workers : g->n_nodes;
    const bool sparse = m->room > 0 && og__npy_there(&g->rows);
    OG_DO(check_rows(g, rows, "rows, num_nodes", sparse ? -1 : m->dim, sparse ? OG_U8 : m->dtype,
                     err));
    if (sparse)
        OG_DO(take_sparse(g, m, err));
    OG_DO(load_scales(g, err));
    return load_rest(g, err);
}

int og__check_edge_rows(struct og_relation *r, const struct og_relation_meta *m, struct og_err *err)
{
    if (m->edge_dtype == OG_ONE ||
        (m->edge_dtype >= 0 && og__dtype_scaled((enum og_dtype)m->edge_dtype)))
        return og__fail(err, -EINVAL, "import it with --edge-feature-dtype f16",
                        "%s: features of edges of type %s are not supported", r->edges.rows.path,
                        og__dtype_name((enum og_dtype)m->edge_dtype));
    return check_rows(&r->edges, r->n_edges, "rows, num_edges", m->edge_dim, m->edge_dtype, err);
}

/* ---- sizes ---- */

size_t og__feature_bytes(const struct og_graph *g)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        bytes += (size_t)g->group[k].n_nodes * og__row_bytes(&g->group[k]);
    return bytes;
}

size_t og__rest_bytes(const struct og_graph *g)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        bytes += g->group[k].rest_bytes ? (size_t)g->group[k].rest.shape[0] : 0;
    return bytes;
}

size_t og__row_unit(const struct og_graph *g)
{
    size_t unit = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        for (size_t other = og__row_bytes(&g->group[k]); other > 0;) { /* the common divisor */
            const size_t rest = unit % other;
            unit = other;
            other = rest;
        }
    return OG_MAX(unit, (size_t)1);
}
