#include "infer/hop_rows.h"

#include "base/hex.h"
#include "base/sort.h"
#include "dataset/convert.h"
#include "dataset/identity.h"
#include "dataset/meta.h"
#include "infer/infer_passes.h"
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

#define ROWS "inference rows"

struct writing {
    struct og_inference *f;
    const char *folder;
    json_t *checksums;
    struct og_npy_writer *features, *labels, *node_ids;
    int64_t n; /* rows so far */
    /* of a split */
    uint32_t *ids;    /* [count] in the order of its list, */
    uint32_t *sorted; /* and ascending */
    int64_t count;
    void *values; /* labels of sorted */
    /* of a piece of rows */
    size_t most; /* rows */
    char *memory;
    float *rows;     /* [most, (hops + 1) F] */
    char *hop;       /* [most] of one hop */
    uint32_t *nodes; /* [most] */
};

/* The first hop of a row; the last is the number of layers. */
static int first_hop(const struct og_inference *f)
{
    return f->hops.last ? f->config.layers : 0;
}

static int width(const struct og_inference *f)
{
    return f->ds->group->dim * (f->config.layers + 1 - first_hop(f));
}

int og__hop_rows_count(const struct og_graph *g, int64_t *n, struct og_err *err)
{
    *n = 0;
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        if (og__npy_there(&g->split[s]))
            *n += g->split[s].shape[0];
    if (*n < (int64_t)UINT32_MAX)
        return 0;
    return og__fail(err, -ENOTSUP, NULL, "%s: splits have %lld nodes, fewer than 2^32 - 1 expected",
                    g->path, (long long)*n);
}

/* ==== pieces of rows ==== */

static size_t piece_bytes(const struct og_inference *f, size_t rows)
{
    const size_t all = (size_t)width(f) * sizeof(float), one = (size_t)f->ds->group->dim * 4;
    return rows * (all + one + sizeof(uint32_t));
}

static int take_piece(struct writing *w, struct og_err *err)
{
    const struct og_inference *f = w->f;
    const size_t left = og__infer_left(f), reader = og__infer_reader_bytes(f);
    const size_t spare = left > reader ? left - reader : 0;
    w->most = OG_MAX(spare / 2 / piece_bytes(f, 1), (size_t)1);
    w->most = OG_MIN(w->most, (size_t)w->count);
    w->memory = og__alloc(f->budget, piece_bytes(f, w->most), ROWS, err);
    if (!w->memory)
        return -ENOMEM;
    w->rows = (float *)(void *)w->memory;
    w->hop = (char *)(w->rows + w->most * (size_t)width(f));
    w->nodes = (uint32_t *)(void *)(w->hop + w->most * (size_t)f->ds->group->dim * 4);
    return 0;
}

static void release_piece(struct writing *w)
{
    og__release(w->f->budget, w->memory, piece_bytes(w->f, w->most), ROWS);
    w->memory = NULL;
}

/* Reads hop k of n nodes into its columns. */
static int read_hop(struct writing *w, int k, const uint32_t *ids, uint32_t n, struct og_err *err)
{
    struct og_inference *f = w->f;
    const size_t dim = (size_t)f->ds->group->dim;
    struct og_matrix x = og__infer_features(f);
    struct og_infer_read read = {0};
    int rc = 0;
    if (k > 0)
        OG_TRY(og__infer_output_of(f, k - 1, &x, err));
    OG_TRY(og__infer_read_open(f, &read, &x, err));
    memcpy(w->nodes, ids, n * sizeof(*ids));
    rc = og__infer_submit(f, &read, w->nodes, n, w->hop, err);
    const int waited = og__infer_wait(f, &read, err);
    OG_TRY(rc < 0 ? rc : waited);
    for (uint32_t i = 0; i < n; i++)
        og__widen_row(w->rows + i * (size_t)width(f) + (size_t)(k - first_hop(f)) * dim,
                      w->hop + i * og__matrix_row(&x), x.dim, x.dtype, x.scale, x.sparse);
out:
    og__infer_read_close(f, &read);
    og__step_files_free(&x.files);
    return rc;
}

static int write_rows(struct writing *w, struct og_err *err)
{
    struct og_inference *f = w->f;
    int rc = 0;
    for (int64_t first = 0; first < w->count; first += (int64_t)w->most) {
        const uint32_t n = (uint32_t)OG_MIN((int64_t)w->most, w->count - first);
        for (int k = first_hop(f); k <= f->config.layers; k++)
            OG_TRY(read_hop(w, k, w->sorted + first, n, err));
        OG_TRY(og__npy_append(w->features, w->rows, n, err));
        OG_TRY(og__writing_goes_on(f->observer, "write", "nodes", w->n + first + n, 0, err));
    }
out:
    return rc;
}

/* ==== a split ==== */

static int load_split(struct writing *w, enum og__split split, struct og_err *err)
{
    struct og_inference *f = w->f;
    int rc = og__graph_split(f->ds, split, f->budget, &w->ids, &w->count, err);
    if (rc < 0 || w->count == 0)
        return rc;
    const size_t bytes = (size_t)w->count * sizeof(*w->sorted);
    w->sorted = og__alloc(f->budget, bytes, "seeds", err);
    if (!w->sorted)
        return -ENOMEM;
    memcpy(w->sorted, w->ids, bytes);
    og__sort_in_place(w->sorted, (size_t)w->count, sizeof(*w->sorted), og__by_number);
    if (og__npy_there(&f->ds->labels))
        rc = og__graph_labels(f->ds, w->sorted, w->count, f->budget, &w->values, err);
    return rc;
}

static void release_split(struct writing *w)
{
    struct og_budget *b = w->f->budget;
    const size_t bytes = (size_t)w->count * sizeof(*w->ids);
    og__release(b, w->ids, bytes, "seeds");
    og__release(b, w->sorted, bytes, "seeds");
    if (w->values)
        og__release(b, w->values, og__labels_bytes(w->f->ds, w->count), "labels");
    w->ids = w->sorted = NULL;
    w->values = NULL;
    w->count = 0;
}

int og__hop_rows_check(struct og_inference *f, struct og_err *err)
{
    int rc = 0;
    for (enum og__split s = OG__TRAIN; rc == 0 && s < OG__SPLITS; s++) {
        struct writing w = {.f = f};
        rc = load_split(&w, s, err);
        release_split(&w);
    }
    return rc;
}

static int write_labels(struct writing *w, struct og_err *err)
{
    const struct og_graph *g = w->f->ds;
    int rc = 0;
    if (!w->values)
        return 0;
    if (og__float_labels(g))
        return og__npy_append(w->labels, w->values, w->count, err);
    for (int64_t i = 0; rc == 0 && i < w->count; i++) {
        const int64_t label = ((const int32_t *)w->values)[i];
        rc = og__npy_append(w->labels, &label, 1, err);
    }
    return rc;
}

/* The list of the split, in its order, by numbers of the rows. */
static int write_list(struct writing *w, enum og__split split, struct og_err *err)
{
    static const char *const names[OG__SPLITS] = {"train.npy", "valid.npy", "test.npy"};
    struct og_npy_writer *list = NULL;
    int rc;
    OG_TRY(og__array_create(&list, w->folder, names[split], OG__NPY_I64, 1, 1, err));
    for (int64_t i = 0; i < w->count; i++) {
        const uint32_t *at =
            bsearch(&w->ids[i], w->sorted, (size_t)w->count, sizeof(*at), og__by_number);
        const int64_t row = w->n + (at - w->sorted), id = w->sorted[i];
        OG_TRY(og__npy_append(list, &row, 1, err));
        OG_TRY(og__npy_append(w->node_ids, &id, 1, err));
    }
    OG_TRY(og__array_finish(&list, names[split], w->checksums, err));
out:
    og__npy_discard(list);
    return rc;
}

static int write_split(struct writing *w, enum og__split split, struct og_err *err)
{
    int rc;
    OG_TRY(load_split(w, split, err));
    if (w->count == 0)
        return 0;
    OG_TRY(write_list(w, split, err));
    OG_TRY(write_labels(w, err));
    OG_TRY(take_piece(w, err));
    OG_TRY(write_rows(w, err));
    w->n += w->count;
out:
    if (w->memory)
        release_piece(w);
    release_split(w);
    return rc;
}

/* ==== the folder ==== */

static int create_arrays(struct writing *w, struct og_err *err)
{
    const struct og_graph *g = w->f->ds;
    const bool wide = og__float_labels(g);
    OG_DO(og__array_create(&w->features, w->folder, "features.npy", OG__NPY_F32, 2, width(w->f),
                           err));
    OG_DO(og__array_create(&w->node_ids, w->folder, "node_ids.npy", OG__NPY_I64, 1, 1, err));
    if (og__npy_there(&g->labels))
        OG_DO(og__array_create(&w->labels, w->folder, "labels.npy",
                               wide ? OG__NPY_F32 : OG__NPY_I64, wide ? 2 : 1,
                               wide ? g->n_classes : 1, err));
    return 0;
}

/* A dataset has an edge: here a loop of node 0, which models of single nodes never sample. */
static int write_lists(struct writing *w, struct og_err *err)
{
    struct og_npy_writer *indptr = NULL, *indices = NULL;
    const int32_t loop = 0;
    int rc;
    OG_TRY(og__array_create(&indptr, w->folder, "indptr.npy", OG__NPY_I64, 1, 1, err));
    for (int64_t i = 0; i <= w->n; i++) {
        const int64_t end = i > 0;
        OG_TRY(og__npy_append(indptr, &end, 1, err));
    }
    OG_TRY(og__array_finish(&indptr, "indptr.npy", w->checksums, err));
    OG_TRY(og__array_create(&indices, w->folder, "indices.npy", OG__NPY_I32, 1, 1, err));
    OG_TRY(og__npy_append(indices, &loop, 1, err));
    OG_TRY(og__array_finish(&indices, "indices.npy", w->checksums, err));
out:
    og__npy_discard(indptr);
    og__npy_discard(indices);
    return rc;
}

/* What the files of all nodes' hops are known by; there are none with --rows labelled. */
static json_t *files_json(struct og_inference *f)
{
    json_t *all = json_array();
    for (int k = 0; k < f->config.layers && !f->hops.labelled; k++) {
        struct og_npy a = {.fd = -1};
        struct og_matrix x = {0};
        uint64_t contents = 0;
        bool there = og__infer_output_of(f, k, &x, NULL) == 0 &&
                     og__npy_open(&a, x.files.at.path[0], NULL) == 0 &&
                     og__array_contents(&a, &contents, NULL) == 0;
        all = og__json_append(all, there ? og__json_hex(contents) : NULL);
        og__npy_close(&a);
        og__step_files_free(&x.files);
    }
    return all;
}

json_t *og__hop_rows_json(struct og_inference *f)
{
    json_t *all = json_pack("{s:i s:i s:i s:s s:b s:s s:o}", "first", first_hop(f), "hops",
                            f->config.layers, "dim", f->ds->group->dim, "norm",
                            f->hops.by_row ? "row" : "sym", "loops", f->hops.loops, "edge_weights",
                            og__option_word("edge-weights", f->config.edge_weights), "graph",
                            og__json_hex(f->ds->identity.contents));
    return og__json_with(all, "files", files_json(f));
}

static int write_meta(struct writing *w, struct og_err *err)
{
    static const char *const kept[] = {"name", "num_classes", "task", "class_names"};
    json_t *meta = json_pack("{s:i s:I s:i s:i s:s s:O}", "format", 1, "num_nodes",
                             (json_int_t)w->n, "num_edges", 1, "feature_dim", width(w->f),
                             "feature_dtype", "f32", "checksums", w->checksums);
    for (size_t i = 0; i < OG_COUNT(kept); i++) {
        json_t *value = json_object_get(w->f->ds->meta, kept[i]);
        if (value)
            meta = og__json_with(meta, kept[i], json_incref(value));
    }
    meta = og__json_with(meta, "hops", og__hop_rows_json(w->f));
    return og__meta_write(w->folder, meta, err);
}

int og__hop_rows_write(struct og_inference *f, const char *folder, struct og_err *err)
{
    struct writing w = {.f = f, .folder = folder, .checksums = json_object()};
    int rc;
    OG_TRY(create_arrays(&w, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_TRY(write_split(&w, s, err));
    OG_TRY(write_lists(&w, err));
    f->bytes_written += og__npy_bytes(w.features);
    OG_TRY(og__array_finish(&w.features, "features.npy", w.checksums, err));
    OG_TRY(og__array_finish(&w.node_ids, "node_ids.npy", w.checksums, err));
    OG_TRY(og__array_finish(&w.labels, "labels.npy", w.checksums, err));
    OG_TRY(write_meta(&w, err));
out:
    og__npy_discard(w.features);
    og__npy_discard(w.node_ids);
    og__npy_discard(w.labels);
    json_decref(w.checksums);
    return rc;
}
