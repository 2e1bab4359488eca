/* The neutral layout: edges.npy, feat.npy (or feat_indptr, feat_indices, feat_data), label.npy,
 * splits, and what docs/formats.md lists as optional. Every array is read in pieces. */
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 * 1024 * 1024, EDGES_A_PIECE = 64 * 1024 };
static const char part[] = "import";

/* ---- opening ---- */

/* An array of the source. With `optional`, absence leaves fd = -1 and is no failure. */
static int open_array(const struct og_importer *imp, const char *name, bool optional,
                      struct og_npy *a, struct og_err *err)
{
    char *path = og__import_source(imp, name);
    *a = (struct og_npy){.fd = -1};
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    bool absent = access(path, F_OK) != 0 && errno == ENOENT;
    int rc = 0;
    if (!absent)
        rc = og__npy_open(a, path, err);
    else if (!optional)
        rc = og__fail(err, -ENOENT, "a source has edges.npy, feat.npy, label.npy and train.npy",
                      "%s: not there", path);
    free(path);
    return rc;
}

struct source {
    struct og_npy edges, weights;
    struct og_npy dense, indptr, indices, data; /* features, one way or the other */
    struct og_npy labels;
    int64_t said_nodes, said_classes; /* by its meta.json; -1 = not said */
    bool values;                      /* it says that the task is regression */
    int64_t dim;                      /* of features */
};

static void close_source(struct source *s)
{
    struct og_npy *const arrays[] = {&s->edges,   &s->weights, &s->dense, &s->indptr,
                                     &s->indices, &s->data,    &s->labels};
    for (size_t i = 0; i < OG_COUNT(arrays); i++)
        og__npy_close(arrays[i]);
}

static int read_said(struct og_importer *imp, struct source *s, struct og_err *err)
{
    char *path = og__import_source(imp, "meta.json");
    char *text = NULL;
    size_t len = 0;
    json_error_t why;
    s->said_nodes = s->said_classes = -1;
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "meta.json");
    if (imp->opt->symmetrize)
        json_object_set_new(imp->meta, "symmetric", json_true());
    if (access(path, F_OK) != 0) {
        free(path);
        return 0;
    }
    int rc = og__read_text(path, 16 * OG_MIB, &text, &len, err);
    json_t *root = rc == 0 ? json_loadb(text, len, 0, &why) : NULL;
    if (rc == 0 && !json_is_object(root))
        rc = og__fail(err, -EINVAL, "mend it, or remove it: it is optional", "%s: line %d: %s",
                      path, root ? 1 : why.line, root ? "not an object" : why.text);
    const json_t *nodes = json_object_get(root, "num_nodes");
    const json_t *classes = json_object_get(root, "num_classes");
    const json_t *name = json_object_get(root, "name");
    const char *task = json_string_value(json_object_get(root, "task"));
    const json_t *symmetric = json_object_get(root, "symmetric");
    if (json_is_integer(nodes))
        s->said_nodes = json_integer_value(nodes);
    if (json_is_integer(classes))
        s->said_classes = json_integer_value(classes);
    if (json_is_string(name))
        json_object_set(imp->meta, "name", (json_t *)name);
    s->values = task && strstr(task, "regression");
    if (json_is_true(symmetric))
        json_object_set_new(imp->meta, "symmetric", json_true());
    json_decref(root);
    free(text);
    free(path);
    return rc;
}

static int check_edges(const struct og_npy *a, struct og_err *err)
{
    if (!og__npy_is_integer(a->type))
        return og__fail(err, -EINVAL, "store node ids as int32 or int64",
                        "%s: %s edges: node ids are whole numbers", a->path, og__npy_name(a->type));
    if (a->ndim != 2 || a->shape[1] != 2)
        return og__fail(err, -EINVAL, "one row an edge: src, dst; weights go to edge_weight.npy",
                        "%s: shape [%lld, %lld], expected [E, 2]", a->path, (long long)a->shape[0],
                        (long long)a->shape[1]);
    if (a->shape[0] == 0)
        return og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                        "%s: an empty graph: no edges", a->path);
    return 0;
}

static int check_sparse(const struct source *s, struct og_err *err)
{
    if (!og__npy_is_integer(s->indptr.type) || !og__npy_is_integer(s->indices.type))
        return og__fail(err, -EINVAL, "store them as int32 or int64",
                        "%s: indptr and indices are whole numbers", s->indptr.path);
    if (s->indptr.shape[0] < 1 || s->indices.shape[0] != s->data.shape[0])
        return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                        "%s: %lld indices, %lld values", s->data.path,
                        (long long)s->indices.shape[0], (long long)s->data.shape[0]);
    return 0;
}

static int open_features(const struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc = open_array(imp, "feat.npy", true, &s->dense, err);
    if (rc < 0 || s->dense.fd >= 0)
        return rc;
    rc = open_array(imp, "feat_indptr.npy", true, &s->indptr, err);
    if (rc == 0 && s->indptr.fd < 0)
        return og__fail(err, -ENOENT, "add feat.npy [N, F], or feat_indptr/indices/data.npy (CSR)",
                        "%s: no features: neither feat.npy nor feat_indptr.npy", imp->src);
    if (rc == 0)
        rc = open_array(imp, "feat_indices.npy", false, &s->indices, err);
    if (rc == 0)
        rc = open_array(imp, "feat_data.npy", false, &s->data, err);
    return rc < 0 ? rc : check_sparse(s, err);
}

/* N, from what says it first; the others must agree. */
static int settle_nodes(struct og_importer *imp, const struct source *s, struct og_err *err)
{
    int64_t rows = s->dense.fd >= 0 ? s->dense.shape[0] : s->indptr.shape[0] - 1;
    const char *feat = s->dense.fd >= 0 ? s->dense.path : s->indptr.path;
    imp->n_nodes = s->said_nodes >= 0 ? s->said_nodes : rows;
    if (imp->n_nodes < 1 || imp->n_nodes >= UINT32_MAX - 1)
        return og__fail(err, -EINVAL, "from 1 to 4294967293 nodes", "%s: %lld nodes", imp->src,
                        (long long)imp->n_nodes);
    if (rows != imp->n_nodes)
        return og__fail(err, -EINVAL, "a row for every node",
                        "%s: %lld rows, the graph has %lld nodes", feat, (long long)rows,
                        (long long)imp->n_nodes);
    if (s->labels.shape[0] != imp->n_nodes)
        return og__fail(err, -EINVAL, "a label for every node; -1 where there is none",
                        "%s: %lld labels, the graph has %lld nodes", s->labels.path,
                        (long long)s->labels.shape[0], (long long)imp->n_nodes);
    return 0;
}

static int open_source(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc = read_said(imp, s, err);
    if (rc == 0)
        rc = open_array(imp, "edges.npy", false, &s->edges, err);
    if (rc == 0)
        rc = check_edges(&s->edges, err);
    if (rc == 0)
        rc = open_array(imp, "edge_weight.npy", true, &s->weights, err);
    if (rc == 0 && s->weights.fd >= 0 && s->weights.shape[0] != s->edges.shape[0])
        rc =
            og__fail(err, -EINVAL, "a weight for every edge", "%s: %lld weights for %lld edges",
                     s->weights.path, (long long)s->weights.shape[0], (long long)s->edges.shape[0]);
    if (rc == 0)
        rc = open_features(imp, s, err);
    if (rc == 0)
        rc = open_array(imp, "label.npy", false, &s->labels, err);
    return rc < 0 ? rc : settle_nodes(imp, s, err);
}

/* ---- edges ---- */

struct edge_piece {
    void *raw; /* as stored */
    void *raw_weight;
    uint32_t src[EDGES_A_PIECE], dst[EDGES_A_PIECE];
    float weight[EDGES_A_PIECE];
};

static int convert_piece(const struct og_importer *imp, const struct source *s, int64_t first,
                         size_t n, struct edge_piece *p, struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t u = og__integer_at(s->edges.type, p->raw, 2 * i);
        int64_t v = og__integer_at(s->edges.type, p->raw, 2 * i + 1);
        int64_t bad = u < 0 || u >= imp->n_nodes ? u : v;
        if (bad < 0 || bad >= imp->n_nodes)
            return og__fail(err, -EINVAL, "ids count from 0; num_nodes in meta.json may say N",
                            "%s: row %lld: node %lld, the graph has %lld nodes", s->edges.path,
                            (long long)(first + (int64_t)i), (long long)bad,
                            (long long)imp->n_nodes);
        p->src[i] = (uint32_t)(imp->opt->reverse ? v : u);
        p->dst[i] = (uint32_t)(imp->opt->reverse ? u : v);
        if (s->weights.fd < 0)
            continue;
        p->weight[i] = (float)og__number_at(s->weights.type, p->raw_weight, i);
        if (!isfinite(p->weight[i]))
            return og__fail(err, -EINVAL, "weights are finite numbers",
                            "%s: row %lld: not a finite number", s->weights.path,
                            (long long)(first + (int64_t)i));
    }
    return 0;
}

static int add_pieces(struct og_importer *imp, const struct source *s,
                      struct og_edge_sorter *sorter, struct edge_piece *p, struct og_err *err)
{
    const float *weight = s->weights.fd >= 0 ? p->weight : NULL;
    int64_t total = s->edges.shape[0];
    int rc = 0;
    for (int64_t first = 0; first < total; first += EDGES_A_PIECE) {
        size_t n = (size_t)OG_MIN(total - first, (int64_t)EDGES_A_PIECE);
        OG_TRY(og__npy_read(&s->edges, first, (int64_t)n, p->raw, err));
        if (weight)
            OG_TRY(og__npy_read(&s->weights, first, (int64_t)n, p->raw_weight, err));
        OG_TRY(convert_piece(imp, s, first, n, p, err));
        OG_TRY(og__sorter_add(sorter, p->src, p->dst, weight, n, err));
        if (imp->opt->symmetrize)
            OG_TRY(og__sorter_add(sorter, p->dst, p->src, weight, n, err));
        OG_TRY(og__import_tell(imp, "edges", first + (int64_t)n, total, err));
    }
out:
    return rc;
}

static int import_edges(struct og_importer *imp, const struct source *s, struct og_err *err)
{
    size_t raw_bytes = (size_t)EDGES_A_PIECE * 24; /* two ids and a weight of 8 bytes */
    struct edge_piece *p = og__alloc(imp->budget, sizeof(*p), part, err);
    char *raw = og__alloc(imp->budget, raw_bytes, part, err);
    struct og_edge_sorter *sorter = NULL;
    struct og_edge_sorter_result result;
    int rc = 0;
    if (!p || !raw)
        OG_TRY(-ENOMEM);
    p->raw = raw;
    p->raw_weight = raw + (size_t)EDGES_A_PIECE * 16;
    struct og_edge_sorter_options opt = {.n_nodes = imp->n_nodes,
                                         .weighted = s->weights.fd >= 0,
                                         .drop_duplicates = imp->opt->symmetrize,
                                         .drop_self_loops = imp->opt->drop_self_loops,
                                         .memory = og__budget_left(imp->budget),
                                         .scratch = imp->dir.temporary,
                                         .pool = imp->pool};
    OG_TRY(og__sorter_open(&sorter, &opt, imp->budget, err));
    OG_TRY(add_pieces(imp, s, sorter, p, err));
    OG_TRY(og__sorter_finish(sorter, imp->dir.temporary, &result, err));
    json_object_set_new(imp->meta, "num_nodes", json_integer(imp->n_nodes));
    json_object_set_new(imp->meta, "num_edges", json_integer(result.n_edges));
    og__meta_set_checksum(imp->checksums, "indptr.npy", result.indptr_checksum);
    og__meta_set_checksum(imp->checksums, "indices.npy", result.indices_checksum);
    if (s->weights.fd >= 0)
        og__meta_set_checksum(imp->checksums, "weights.npy", result.weights_checksum);
out:
    og__sorter_free(sorter);
    og__release(imp->budget, raw, raw_bytes, part);
    og__release(imp->budget, p, sizeof(*p), part);
    return rc;
}

/* ---- features ---- */

/* Rows of the source, a piece at a time, as float. */
struct feature_reader {
    const struct source *s;
    struct og_budget *budget;
    int64_t piece; /* rows */
    size_t raw_bytes;
    char *raw;        /* [piece, F] as stored; CSR: indices and values of one row */
    float *row;       /* [F] */
    int64_t *ptr;     /* CSR: [piece + 1] */
    int64_t first, n; /* rows in raw, or ptr */
};

static void close_reader(struct feature_reader *r)
{
    og__release(r->budget, r->raw, r->raw_bytes, part);
    og__release(r->budget, r->row, (size_t)r->s->dim * sizeof(float), part);
    og__release(r->budget, r->ptr, (size_t)(r->piece + 1) * sizeof(int64_t), part);
    *r = (struct feature_reader){0};
}

static int open_reader(struct feature_reader *r, const struct source *s, struct og_budget *b,
                       struct og_err *err)
{
    bool dense = s->dense.fd >= 0;
    size_t stored =
        dense ? (size_t)s->dim * og__npy_size(s->dense.type)
              : (size_t)s->dim * (og__npy_size(s->indices.type) + og__npy_size(s->data.type));
    *r = (struct feature_reader){.s = s, .budget = b};
    r->piece = OG_MAX((int64_t)(PIECE_BYTES / OG_MAX(stored, (size_t)1)), (int64_t)1);
    r->raw_bytes = dense ? (size_t)r->piece * stored : stored;
    r->raw = og__alloc(b, r->raw_bytes, part, err);
    r->row = og__alloc(b, (size_t)s->dim * sizeof(float), part, err);
    if (!dense)
        r->ptr = og__alloc(b, (size_t)(r->piece + 1) * sizeof(int64_t), part, err);
    if (r->raw && r->row && (dense || r->ptr))
        return 0;
    close_reader(r);
    return -ENOMEM;
}

static int read_sparse_row(struct feature_reader *r, int64_t v, struct og_err *err)
{
    const struct source *s = r->s;
    assert(r->ptr); /* open_reader: not dense */
    int64_t begin = r->ptr[v - r->first];
    int64_t n = r->ptr[v - r->first + 1] - begin;
    char *values = r->raw + (size_t)s->dim * og__npy_size(s->indices.type);
    if (begin < 0 || n < 0 || n > s->dim || begin > s->indices.shape[0] - n)
        return og__fail(err, -EINVAL, "indptr, indices and data of one CSR matrix belong together",
                        "%s: row %lld: %lld values from %lld on, of %lld", s->indptr.path,
                        (long long)v, (long long)n, (long long)begin,
                        (long long)s->indices.shape[0]);
    int rc = og__npy_read(&s->indices, begin, n, r->raw, err);
    if (rc == 0)
        rc = og__npy_read(&s->data, begin, n, values, err);
    if (rc < 0)
        return rc;
    memset(r->row, 0, (size_t)s->dim * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        int64_t column = og__integer_at(s->indices.type, r->raw, (size_t)i);
        if (column < 0 || column >= s->dim)
            return og__fail(err, -EINVAL, "columns count from 0",
                            "%s: entry %lld: column %lld of %lld", s->indices.path,
                            (long long)(begin + i), (long long)column, (long long)s->dim);
        r->row[column] += (float)og__number_at(s->data.type, values, (size_t)i);
    }
    return 0;
}

/* Row v as float, in r->row. Rows are asked for in order. */
static int read_row(struct feature_reader *r, int64_t v, struct og_err *err)
{
    const struct source *s = r->s;
    bool dense = s->dense.fd >= 0;
    int rc = 0;
    if (v >= r->first + r->n) {
        int64_t rows = dense ? s->dense.shape[0] : s->indptr.shape[0] - 1;
        r->first = v;
        r->n = OG_MIN(r->piece, rows - v);
        rc = dense ? og__npy_read(&s->dense, v, r->n, r->raw, err)
                   : og__npy_read_int64(&s->indptr, v, r->n + 1, r->ptr, err);
    }
    if (rc < 0 || !dense)
        return rc < 0 ? rc : read_sparse_row(r, v, err);
    size_t at = (size_t)(v - r->first) * (size_t)s->dim;
    for (int64_t j = 0; j < s->dim; j++)
        r->row[j] = (float)og__number_at(s->dense.type, r->raw, at + (size_t)j);
    return 0;
}

/* Width of a CSR matrix: one more than its largest column. */
static int find_dim(struct og_importer *imp, struct source *s, struct og_err *err)
{
    if (s->dense.fd >= 0) {
        s->dim = s->dense.shape[1];
        return 0;
    }
    int64_t *piece = og__alloc(imp->budget, PIECE_BYTES, part, err);
    int rc = piece ? 0 : -ENOMEM;
    int64_t most = -1;
    for (int64_t first = 0, n; rc == 0 && first < s->indices.shape[0]; first += n) {
        n = OG_MIN(s->indices.shape[0] - first, (int64_t)PIECE_BYTES / 8);
        rc = og__npy_read_int64(&s->indices, first, n, piece, err);
        for (int64_t i = 0; rc == 0 && i < n; i++)
            most = OG_MAX(most, piece[i]);
    }
    s->dim = most + 1;
    og__release(imp->budget, piece, PIECE_BYTES, part);
    return rc;
}

/* Integers and sparse values are stored as u8 where that is exact; it takes a look at all of them.
 */
static int fits_bytes(struct og_importer *imp, const struct og_npy *a, bool *fits,
                      struct og_err *err)
{
    size_t width = (size_t)a->shape[1] * og__npy_size(a->type);
    int64_t piece = OG_MAX((int64_t)(PIECE_BYTES / OG_MAX(width, (size_t)1)), (int64_t)1);
    char *raw = og__alloc(imp->budget, (size_t)piece * width, part, err);
    int rc = raw ? 0 : -ENOMEM;
    *fits = true;
    for (int64_t first = 0, n; rc == 0 && *fits && first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, piece);
        rc = og__npy_read(a, first, n, raw, err);
        for (size_t i = 0; rc == 0 && i < (size_t)(n * a->shape[1]); i++) {
            double x = og__number_at(a->type, raw, i);
            *fits = *fits && x >= 0 && x <= 255 && x == floor(x);
        }
    }
    og__release(imp->budget, raw, (size_t)piece * width, part);
    return rc;
}

static int choose_dtype(struct og_importer *imp, const struct source *s, enum og_dtype *dtype,
                        struct og_err *err)
{
    const struct og_npy *a = s->dense.fd >= 0 ? &s->dense : &s->data;
    bool whole = og__npy_is_integer(a->type) || a->type == OG__NPY_BOOL;
    bool fits = false;
    int rc = 0;
    if (imp->opt->feature_dtype >= 0) {
        *dtype = (enum og_dtype)imp->opt->feature_dtype;
        return 0;
    }
    if (!imp->opt->row_normalize && (whole || s->dense.fd < 0))
        rc = fits_bytes(imp, a, &fits, err);
    *dtype = fits ? OG_U8 : OG_F32;
    if (a->type == OG__NPY_F16 && s->dense.fd >= 0 && !imp->opt->row_normalize)
        *dtype = OG_F16;
    return rc;
}

static void normalize(float *row, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += row[j];
    for (int64_t j = 0; sum != 0 && j < n; j++)
        row[j] = (float)(row[j] / sum);
}

static int bad_feature(const struct source *s, int64_t v, int64_t column, float x,
                       enum og_dtype dtype, struct og_err *err)
{
    const char *path = s->dense.fd >= 0 ? s->dense.path : s->data.path;
    if (!isfinite(x))
        return og__fail(err, -EINVAL, "replace missing features, by 0 say",
                        "%s: row %lld, column %lld: not a finite number (NaN or infinite)", path,
                        (long long)v, (long long)column);
    return og__fail(err, -EINVAL, "choose another --feature-dtype",
                    "%s: row %lld, column %lld: %g does not fit %s", path, (long long)v,
                    (long long)column, x, og__dtype_name(dtype));
}

static int copy_rows(struct og_importer *imp, const struct source *s, enum og_dtype dtype,
                     struct feature_reader *r, struct og_npy_writer *w, char *out,
                     struct og_err *err)
{
    int rc = 0;
    for (int64_t v = 0; v < imp->n_nodes; v++) {
        OG_TRY(read_row(r, v, err));
        if (imp->opt->row_normalize)
            normalize(r->row, s->dim);
        int64_t bad = og__store_row(dtype, out, r->row, (size_t)s->dim);
        if (bad >= 0)
            OG_TRY(bad_feature(s, v, bad, r->row[bad], dtype, err));
        OG_TRY(og__npy_append(w, out, 1, err));
        if (v % 4096 == 0 || v + 1 == imp->n_nodes)
            OG_TRY(og__import_tell(imp, "features", v + 1, imp->n_nodes, err));
    }
out:
    return rc;
}

static int finish_array(struct og_importer *imp, struct og_npy_writer *w, const char *name,
                        struct og_err *err)
{
    uint64_t checksum;
    int rc = og__npy_finish(w, &checksum, err);
    if (rc == 0)
        og__meta_set_checksum(imp->checksums, name, checksum);
    return rc;
}

static int create_array(struct og_importer *imp, struct og_npy_writer **w, const char *name,
                        enum og__npy_type type, int ndim, int64_t row, struct og_err *err)
{
    char *path = og__import_target(imp, name);
    int rc = path ? og__npy_create(w, path, type, ndim, row, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

static int import_features(struct og_importer *imp, struct source *s, struct og_err *err)
{
    struct feature_reader reader = {0};
    struct og_npy_writer *w = NULL;
    enum og_dtype dtype = OG_F32;
    size_t row_bytes = 0;
    char *out = NULL;
    int rc;
    OG_TRY(find_dim(imp, s, err));
    if (s->dim < 1 || s->dim > INT32_MAX / 8)
        OG_TRY(og__fail(err, -EINVAL, "at least one column", "%s: %lld features a node", imp->src,
                        (long long)s->dim));
    OG_TRY(choose_dtype(imp, s, &dtype, err));
    row_bytes = (size_t)s->dim * og__dtype_size(dtype);
    if (!(out = og__alloc(imp->budget, row_bytes, part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(open_reader(&reader, s, imp->budget, err));
    OG_TRY(create_array(imp, &w, "features.npy", og__dtype_stored(dtype), 2, s->dim, err));
    OG_TRY(copy_rows(imp, s, dtype, &reader, w, out, err));
    rc = finish_array(imp, w, "features.npy", err);
    w = NULL;
    json_object_set_new(imp->meta, "feature_dim", json_integer(s->dim));
    json_object_set_new(imp->meta, "feature_dtype", json_string(og__dtype_name(dtype)));
out:
    og__npy_discard(w);
    if (reader.s)
        close_reader(&reader);
    og__release(imp->budget, out, row_bytes, part);
    return rc;
}

/* ---- labels ---- */

/* A class number, -1 for none. */
static int class_of(const struct og_npy *a, const void *raw, size_t i, int64_t node, int64_t *class,
                    struct og_err *err)
{
    double x = og__number_at(a->type, raw, i);
    if (isnan(x))
        x = -1;
    if (x < -1 || x > INT32_MAX / 8 || x != floor(x))
        return og__fail(err, -EINVAL, "classes count from 0; -1 or NaN means none",
                        "%s: row %lld: %g is no class", a->path, (long long)node, x);
    *class = (int64_t)x;
    return 0;
}

static int copy_classes(struct og_importer *imp, const struct source *s, struct og_npy_writer *w,
                        char *raw, int64_t piece, int64_t *most, struct og_err *err)
{
    const struct og_npy *a = &s->labels;
    int rc = 0;
    for (int64_t first = 0, n; first < imp->n_nodes; first += n) {
        n = OG_MIN(imp->n_nodes - first, piece);
        OG_TRY(og__npy_read(a, first, n, raw, err));
        for (int64_t i = 0; i < n; i++) {
            int64_t class = -1;
            OG_TRY(class_of(a, raw, (size_t)i, first + i, &class, err));
            *most = OG_MAX(*most, class);
            OG_TRY(og__npy_append(w, &class, 1, err));
        }
    }
    if (s->said_classes >= 0 && *most >= s->said_classes)
        OG_TRY(og__fail(err, -EINVAL, "num_classes in meta.json says how many there are",
                        "%s: class %lld of %lld", a->path, (long long)*most,
                        (long long)s->said_classes));
out:
    return rc;
}

/* Labels of 0 and 1, or any values: NaN for none. */
static bool is_label(float x, bool values)
{
    return values ? !isinf(x) : x >= 0 && x <= 1;
}

static int copy_rows_of_labels(struct og_importer *imp, const struct source *s,
                               struct og_npy_writer *w, char *raw, int64_t piece, float *row,
                               struct og_err *err)
{
    const struct og_npy *a = &s->labels;
    const size_t width = (size_t)a->shape[1];
    int rc = 0;
    for (int64_t v = 0; v < imp->n_nodes; v++) {
        if (v % piece == 0)
            OG_TRY(og__npy_read(a, v, OG_MIN(imp->n_nodes - v, piece), raw, err));
        for (size_t j = 0; j < width; j++) {
            row[j] = (float)og__number_at(a->type, raw, (size_t)(v % piece) * width + j);
            if (!is_label(row[j], s->values))
                OG_TRY(og__fail(err, -EINVAL,
                                s->values ? "NaN where a value is not known"
                                          : "1 where the node is of the class, else 0",
                                "%s: row %lld, column %zu: %g is no label", a->path, (long long)v,
                                j, row[j]));
        }
        OG_TRY(og__npy_append(w, row, 1, err));
    }
out:
    return rc;
}

static int import_labels(struct og_importer *imp, const struct source *s, struct og_err *err)
{
    const struct og_npy *a = &s->labels;
    const bool rows = s->values || (a->ndim == 2 && a->shape[1] > 1);
    const size_t stored = OG_MAX((size_t)a->shape[1] * og__npy_size(a->type), (size_t)1);
    const size_t row_bytes = (size_t)a->shape[1] * sizeof(float);
    const int64_t piece = OG_MAX((int64_t)(PIECE_BYTES / stored), (int64_t)1);
    struct og_npy_writer *w = NULL;
    int64_t most = -1;
    char *raw = og__alloc(imp->budget, (size_t)piece * stored, part, err);
    float *row = og__alloc(imp->budget, row_bytes, part, err);
    int rc = 0;
    if (!raw || !row)
        OG_TRY(-ENOMEM);
    OG_TRY(create_array(imp, &w, "labels.npy", rows ? OG__NPY_F32 : OG__NPY_I64, rows ? 2 : 1,
                        rows ? a->shape[1] : 1, err));
    OG_TRY(rows ? copy_rows_of_labels(imp, s, w, raw, piece, row, err)
                : copy_classes(imp, s, w, raw, piece, &most, err));
    rc = finish_array(imp, w, "labels.npy", err);
    w = NULL;
    int64_t classes = rows ? a->shape[1] : OG_MAX(s->said_classes, most + 1);
    json_object_set_new(imp->meta, "num_classes", json_integer(classes));
    json_object_set_new(imp->meta, "multi_label", json_boolean(rows && !s->values));
    if (s->values)
        json_object_set_new(imp->meta, "task", json_string("node regression"));
out:
    og__npy_discard(w);
    og__release(imp->budget, row, row_bytes, part);
    og__release(imp->budget, raw, (size_t)piece * stored, part);
    return rc;
}

/* ---- splits ---- */

/* The same numbers in one column. */
static struct og_npy flattened(const struct og_npy *a)
{
    struct og_npy flat = *a;
    flat.ndim = 1;
    flat.shape[0] = a->shape[0] * a->shape[1];
    flat.shape[1] = 1;
    return flat;
}

static int check_split(const struct og_npy *a, int width, struct og_err *err)
{
    if (og__npy_is_integer(a->type) && a->ndim == width && a->shape[1] == width)
        return 0;
    return og__fail(err, -EINVAL,
                    width == 1 ? "a list of node ids, int64" : "one row an edge: src, dst",
                    "%s: %s [%lld, %lld]", a->path, og__npy_name(a->type), (long long)a->shape[0],
                    (long long)a->shape[1]);
}

static int check_ids(const struct og_importer *imp, const struct og_npy *a, const int64_t *ids,
                     int64_t first, int64_t n, struct og_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= imp->n_nodes)
            return og__fail(err, -EINVAL, "ids count from 0", "%s: row %lld: node %lld of %lld",
                            a->path, (long long)((first + i) / a->shape[1]), (long long)ids[i],
                            (long long)imp->n_nodes);
    return 0;
}

static void swap_ends(int64_t *ids, int64_t n)
{
    for (int64_t i = 0; i + 1 < n; i += 2) {
        int64_t src = ids[i + 1];
        ids[i + 1] = ids[i];
        ids[i] = src;
    }
}

/* width 1: nodes; 2: edges. */
static int copy_split(struct og_importer *imp, const struct og_npy *a, const char *name, int width,
                      struct og_err *err)
{
    enum { IDS = 8192 };
    int64_t ids[IDS];
    struct og_npy_writer *w = NULL;
    struct og_npy flat = flattened(a);
    int rc;
    OG_TRY(check_split(a, width, err));
    OG_TRY(create_array(imp, &w, name, OG__NPY_I64, width, width, err));
    for (int64_t first = 0, n; first < flat.shape[0]; first += n) {
        n = OG_MIN(flat.shape[0] - first, (int64_t)IDS);
        OG_TRY(og__npy_read_int64(&flat, first, n, ids, err));
        OG_TRY(check_ids(imp, a, ids, first, n, err));
        if (width == 2 && imp->opt->reverse)
            swap_ends(ids, n);
        OG_TRY(og__npy_append(w, ids, n / width, err));
    }
    rc = finish_array(imp, w, name, err);
    w = NULL;
out:
    og__npy_discard(w);
    return rc;
}

static int import_splits(struct og_importer *imp, struct og_err *err)
{
    static const char *const names[] = {"train.npy",       "valid.npy",       "test.npy",
                                        "train_edges.npy", "valid_edges.npy", "test_edges.npy"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < OG_COUNT(names); i++) {
        struct og_npy a;
        rc = open_array(imp, names[i], true, &a, err);
        if (rc == 0 && a.fd >= 0)
            rc = copy_split(imp, &a, names[i], i < 3 ? 1 : 2, err);
        og__npy_close(&a);
    }
    return rc;
}

int og__import_npy(struct og_importer *imp, struct og_err *err)
{
    struct source s = {.edges = {.fd = -1},
                       .weights = {.fd = -1},
                       .dense = {.fd = -1},
                       .indptr = {.fd = -1},
                       .indices = {.fd = -1},
                       .data = {.fd = -1},
                       .labels = {.fd = -1}};
    int rc = open_source(imp, &s, err);
    if (rc == 0)
        rc = import_edges(imp, &s, err);
    if (rc == 0)
        rc = import_features(imp, &s, err);
    if (rc == 0)
        rc = import_labels(imp, &s, err);
    if (rc == 0)
        rc = import_splits(imp, err);
    close_source(&s);
    return rc;
}
