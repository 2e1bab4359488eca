#include "dataset/edge_walk.h"

#include "base/json.h"
#include "dataset/stream.h"
#include "dataset/writer.h"

#include <stdlib.h>

enum { NODES = 4096, PIECE = 64 * 1024, ROWS_BYTES = 1 << 20 };
static const char part[] = "edge split";

int og__edge_walk_open(struct og_edge_walk *w, const struct og_relation *r, struct og_budget *b,
                       struct og_err *err)
{
    *w = (struct og_edge_walk){.of = r, .arrays = og__allocs(b, part)};
    w->ptr = og__allocs_take(&w->arrays, (NODES + 1) * sizeof(*w->ptr), err);
    w->src = og__allocs_take(&w->arrays, PIECE * sizeof(*w->src), err);
    if (r->weights.fd >= 0)
        w->weight = og__allocs_take(&w->arrays, PIECE * sizeof(*w->weight), err);
    return og__allocs_taken(&w->arrays);
}

void og__edge_walk_close(struct og_edge_walk *w)
{
    og__allocs_release(&w->arrays);
    *w = (struct og_edge_walk){0};
}

static int read_piece(struct og_edge_walk *w, int64_t first, int64_t n, struct og_err *err)
{
    const struct og_relation *r = w->of;
    OG_DO(og__read_indices(r, first, n, w->src, err));
    if (w->weight)
        OG_DO(og__npy_read(&r->weights, first, n, w->weight, err));
    return 0;
}

/* Visits the lists of nodes [node, node + n), whose offsets are in ptr. Calls `end` after each
 * list. */
static int walk_nodes(struct og_edge_walk *w, int64_t node, int64_t n, og_edge_visit *visit,
                      og_edge_visit *end, void *arg, struct og_err *err)
{
    int rc = 0;
    int64_t first = w->ptr[0], filled = 0; /* edges [first, first + filled) are in src */
    for (int64_t v = 0; v < n; v++) {
        for (int64_t at = w->ptr[v], to; at < w->ptr[v + 1]; at = to) {
            if (at == first + filled) {
                first = w->first = at;
                filled = OG_MIN(w->ptr[n] - at, (int64_t)PIECE);
                OG_TRY(read_piece(w, first, filled, err));
            }
            to = OG_MIN(w->ptr[v + 1], first + filled);
            OG_TRY(visit(arg, w, (uint32_t)(node + v), (size_t)(at - first), (size_t)(to - first),
                         err));
        }
        if (end)
            OG_TRY(end(arg, w, (uint32_t)(node + v), 0, 0, err));
    }
out:
    return rc;
}

int og__edge_walk(struct og_edge_walk *w, og_edge_visit *visit, og_edge_visit *end, void *arg,
                  struct og_err *err)
{
    const struct og_relation *r = w->of;
    struct og_indptr_check check = {.of = r};
    for (int64_t node = 0, n; node < r->n_nodes; node += n) {
        n = OG_MIN(r->n_nodes - node, (int64_t)NODES);
        OG_DO(og__npy_read_int64(&r->indptr, node, n + 1, w->ptr, err));
        OG_DO(og__check_indptr(&check, w->ptr, node, (size_t)n + 1, err));
        OG_DO(walk_nodes(w, node, n, visit, end, arg, err));
    }
    return og__check_indptr_end(&check, err);
}

const char *const og__edge_files[OG__SPLITS] = {"train_edges.npy", "valid_edges.npy",
                                                "test_edges.npy"};

static int create_rows(struct og_thinned *t, const struct og_edge_walk *w, const char *folder,
                       const char *name, struct og_err *err)
{
    const struct og_group *edges = &w->of->edges;
    t->budget = w->arrays.budget;
    t->bytes = OG_MAX((size_t)ROWS_BYTES, og__file_row_bytes(edges));
    t->first = t->n = 0;
    t->row = og__alloc(t->budget, t->bytes, part, err);
    return t->row ? og__array_create(&t->rows, folder, name, edges->rows.type, 2, edges->dim, err)
                  : -ENOMEM;
}

static void drop_rows(struct og_thinned *t)
{
    if (t->row)
        og__release(t->budget, t->row, t->bytes, part);
    t->row = NULL;
}

/* Edges come in their order, so rows are read once. */
static int keep_row(struct og_thinned *t, const struct og_relation *r, int64_t edge,
                    struct og_err *err)
{
    const size_t row = og__file_row_bytes(&r->edges);
    if (edge >= t->first + t->n) {
        t->first = edge;
        t->n = OG_MIN((int64_t)(t->bytes / row), r->n_edges - edge);
        OG_DO(og__npy_read(&r->edges.rows, t->first, t->n, t->row, err));
    }
    return og__npy_append(t->rows, t->row + (size_t)(edge - t->first) * row, 1, err);
}

int og__thinned_create(struct og_thinned *t, const struct og_edge_walk *w, const char *folder,
                       const struct og_thinned_files *files, struct og_err *err)
{
    const enum og__npy_type id = w->of->indices.type;
    t->kept = 0;
    OG_DO(og__array_create(&t->indptr, folder, files->indptr, OG__NPY_I64, 1, 1, err));
    OG_DO(og__array_create(&t->indices, folder, files->indices, id, 1, 1, err));
    if (w->weight)
        OG_DO(og__array_create(&t->weights, folder, files->weights, OG__NPY_F32, 1, 1, err));
    if (files->rows && w->of->edges.dim > 0)
        OG_DO(create_rows(t, w, folder, files->rows, err));
    OG_DO(og__thinned_end_list(t, err)); /* of no node: where the first begins */
    return 0;
}

int og__thinned_keep(struct og_thinned *t, const struct og_edge_walk *w, size_t i,
                     struct og_err *err)
{
    const int32_t narrow = (int32_t)w->src[i];
    const bool is_narrow = w->of->indices.type == OG__NPY_I32;
    OG_DO(og__npy_append(t->indices, is_narrow ? (const void *)&narrow : &w->src[i], 1, err));
    if (t->weights)
        OG_DO(og__npy_append(t->weights, &w->weight[i], 1, err));
    if (t->rows)
        OG_DO(keep_row(t, w->of, w->first + (int64_t)i, err));
    t->kept++;
    return 0;
}

int og__thinned_end_list(struct og_thinned *t, struct og_err *err)
{
    return og__npy_append(t->indptr, &t->kept, 1, err);
}

int og__thinned_finish(struct og_thinned *t, const struct og_thinned_files *files,
                       json_t *checksums, struct og_err *err)
{
    OG_DO(og__array_finish(&t->indptr, files->indptr, checksums, err));
    OG_DO(og__array_finish(&t->indices, files->indices, checksums, err));
    OG_DO(og__array_finish(&t->weights, files->weights, checksums, err));
    OG_DO(og__array_finish(&t->rows, files->rows, checksums, err));
    drop_rows(t);
    return 0;
}

void og__thinned_discard(struct og_thinned *t)
{
    og__npy_discard(t->indptr);
    og__npy_discard(t->indices);
    og__npy_discard(t->weights);
    og__npy_discard(t->rows);
    drop_rows(t);
    *t = (struct og_thinned){0};
}

int og__file_json(const struct og_npy *a, json_t **out, struct og_err *err)
{
    char *path = realpath(a->path, NULL);
    if (!path)
        return og__fail_errno(err, -errno, NULL, "%s", a->path);
    *out = json_pack("{s:s s:s s:[I, I] s:I}", "path", path, "dtype", og__npy_name(a->type),
                     "shape", (json_int_t)a->shape[0], (json_int_t)a->shape[1], "offset",
                     (json_int_t)a->offset);
    free(path);
    return *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", a->path);
}
