/* Tables -> the arrays of a dataset. Every array is read in pieces, so what this holds does not
 * grow with the graph. */
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 * 1024 * 1024, EDGES_A_PIECE = 64 * 1024, MOST_COLUMNS = INT32_MAX / 8 };
static const char part[] = "import";

/* ---- arrays of the dataset ---- */

int og__import_create(struct og_importer *imp, struct og_npy_writer **w, const char *name,
                      enum og__npy_type type, int ndim, int64_t row, struct og_err *err)
{
    char *path = og__import_target(imp, name);
    int rc = path ? og__npy_create(w, path, type, ndim, row, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

int og__import_finish(struct og_importer *imp, struct og_npy_writer *w, const char *name,
                      struct og_err *err)
{
    uint64_t checksum;
    int rc = og__npy_finish(w, &checksum, err);
    if (rc == 0)
        rc = og__meta_set_checksum(imp->checksums, name, checksum, err);
    return rc;
}

/* ---- pieces of a table ---- */

struct piece {
    struct og_table *t;
    struct og_budget *budget;
    int64_t room; /* rows */
    size_t bytes;
    char *raw; /* [room, columns] as stored */
};

static int take_piece(struct piece *p, struct og_table *t, struct og_budget *b, struct og_err *err)
{
    size_t row = OG_MAX(og__table_row_bytes(t), (size_t)1);
    *p = (struct piece){.t = t, .budget = b};
    p->room = OG_MAX((int64_t)(PIECE_BYTES / row), (int64_t)1);
    p->bytes = (size_t)p->room * row;
    p->raw = og__alloc(b, p->bytes, part, err);
    return p->raw ? 0 : -ENOMEM;
}

static void give_piece(struct piece *p)
{
    og__release(p->budget, p->raw, p->bytes, part);
    *p = (struct piece){0};
}

static int check_rows(const struct og_importer *imp, const struct og_table *t, int64_t rows,
                      const char *what, struct og_err *err)
{
    if (rows < 0 || rows == imp->n_nodes)
        return 0;
    return og__fail(err, -EINVAL, "one for every node; a label of -1 where there is none",
                    "%s: %lld %s, the graph has %lld nodes", t->name, (long long)rows, what,
                    (long long)imp->n_nodes);
}

static int check_columns(const struct og_table *t, const char *what, struct og_err *err)
{
    if (t->columns >= 1 && t->columns <= MOST_COLUMNS)
        return 0;
    return og__fail(err, -EINVAL, "at least one column, at most 268435455",
                    "%s: %s of %lld columns", t->name, what, (long long)t->columns);
}

int og__import_expect_rows(const struct og_importer *imp, const struct og_table *t,
                           const char *what, struct og_err *err)
{
    int rc = t ? check_columns(t, what, err) : 0;
    return t && rc == 0 ? check_rows(imp, t, t->rows, what, err) : rc;
}

/* ---- nodes ---- */

int og__import_set_nodes(struct og_importer *imp, int64_t n, struct og_err *err)
{
    imp->n_nodes = n;
    if (n >= 1 && n < UINT32_MAX - 1)
        return 0;
    return og__fail(err, -EINVAL, "from 1 to 4294967293 nodes", "%s: %lld nodes", imp->src,
                    (long long)n);
}

/* ---- edges ---- */

static int tell_sorted(void *arg, int64_t done, int64_t total, struct og_err *err)
{
    return og__import_tell(arg, "sorting", done, total, err);
}

/* What will stand on the disk at most: the edges being sorted, and the result. */
static int check_room(const struct og_importer *imp, bool weighted, int64_t expected,
                      struct og_err *err)
{
    char need_text[32];
    char free_text[32];
    uint64_t edges = (uint64_t)expected * (imp->opt->symmetrize ? 2 : 1);
    uint64_t sorted = edges * (weighted ? 12 : 8);
    uint64_t result = edges * (imp->n_nodes <= INT32_MAX ? 4 : 8) + edges * (weighted ? 4 : 0);
    uint64_t need = result + 8 * (uint64_t)imp->n_nodes;
    if (2 * sorted > og__budget_left(imp->budget))
        need += sorted;
    uint64_t left = og__disk_free(imp->dir.temporary);
    if (expected < 0 || left == 0 || need <= left)
        return 0;
    return og__fail(err, -ENOSPC, "free space there, or write to another disk",
                    "%s: sorting the edges takes %s of disk, %s are free", imp->dir.path,
                    og__human_bytes(need_text, (double)need),
                    og__human_bytes(free_text, (double)left));
}

int og__import_sorter(struct og_importer *imp, bool weighted, int64_t expected,
                      struct og_edge_sorter **out, struct og_err *err)
{
    const struct og_import *o = imp->opt;
    struct og_edge_sorter_options opt = {.n_nodes = imp->n_nodes,
                                         .weighted = weighted,
                                         .drop_duplicates = o->symmetrize || o->drop_duplicates,
                                         .drop_self_loops = o->drop_self_loops,
                                         .memory = og__budget_left(imp->budget),
                                         .scratch = imp->dir.temporary,
                                         .pool = imp->pool,
                                         .progress = tell_sorted,
                                         .progress_arg = imp};
    int rc = check_room(imp, weighted, expected, err);
    return rc < 0 ? rc : og__sorter_open(out, &opt, imp->budget, err);
}

/* A number costs a few bytes to write and eight bytes a node to believe. */
static int check_claim(const struct og_importer *imp, int64_t edges, struct og_err *err)
{
    enum { NODES_AN_EDGE = 1024, ALWAYS = 1 << 24 };
    if (!imp->claimed || imp->n_nodes <= ALWAYS || imp->n_nodes / NODES_AN_EDGE <= edges)
        return 0;
    return og__fail(err, -EINVAL, "is the number of nodes right? features or labels would show it",
                    "%s: %lld nodes, of which %lld edges are all that is known", imp->src,
                    (long long)imp->n_nodes, (long long)edges);
}

int og__import_sorted(struct og_importer *imp, struct og_edge_sorter *sorter, bool weighted,
                      struct og_err *err)
{
    struct og_edge_sorter_result result;
    int64_t edges = og__sorter_edges(sorter);
    int rc = edges > 0 ? check_claim(imp, edges, err)
                       : og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                                  "%s: an empty graph: no edges", imp->src);
    if (rc == 0)
        rc = og__sorter_finish(sorter, imp->dir.temporary, &result, err);
    if (rc < 0)
        return rc;
    og__import_note(imp, "num_nodes", json_integer(imp->n_nodes));
    og__import_note(imp, "num_edges", json_integer(result.n_edges));
    if (result.symmetric)
        og__import_note(imp, "symmetric", json_true());
    rc = og__meta_set_checksum(imp->checksums, "indptr.npy", result.indptr_checksum, err);
    if (rc == 0)
        rc = og__meta_set_checksum(imp->checksums, "indices.npy", result.indices_checksum, err);
    if (rc == 0 && weighted)
        rc = og__meta_set_checksum(imp->checksums, "weights.npy", result.weights_checksum, err);
    return rc;
}

struct edge_piece {
    int64_t raw[2 * EDGES_A_PIECE]; /* as stored: src, dst in turn, or all src, then all dst */
    int64_t raw_weight[EDGES_A_PIECE];
    uint32_t src[EDGES_A_PIECE], dst[EDGES_A_PIECE];
    float weight[EDGES_A_PIECE];
};

static int check_edges(const struct og_edges *e, struct og_err *err)
{
    const struct og_table *const ends[] = {e->pairs ? e->pairs : e->src, e->pairs ? NULL : e->dst};
    for (size_t i = 0; i < OG_COUNT(ends) && ends[i]; i++)
        if (!og__npy_is_integer(ends[i]->type))
            return og__fail(err, -EINVAL, "store node ids as int32 or int64",
                            "%s: %s edges: node ids are whole numbers", ends[i]->name,
                            og__npy_name(ends[i]->type));
    if (ends[0]->columns != (e->pairs ? 2 : 1))
        return og__fail(err, -EINVAL,
                        "one row an edge: src, dst; weights go to a file of their own",
                        "%s: shape [%lld, %lld], expected [E, 2]", ends[0]->name,
                        (long long)ends[0]->rows, (long long)ends[0]->columns);
    if (ends[0]->rows == 0)
        return og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                        "%s: an empty graph: no edges", ends[0]->name);
    if (e->weights && e->weights->columns != 1)
        return og__fail(err, -EINVAL, "one number an edge", "%s: %lld columns", e->weights->name,
                        (long long)e->weights->columns);
    if (e->weights && e->weights->rows >= 0 && ends[0]->rows >= 0 &&
        e->weights->rows != ends[0]->rows)
        return og__fail(err, -EINVAL, "a weight for every edge", "%s: %lld weights for %lld edges",
                        e->weights->name, (long long)e->weights->rows, (long long)ends[0]->rows);
    return 0;
}

static int short_table(const struct og_table *t, struct og_err *err)
{
    return og__fail(err, -EINVAL, "both belong to the same edges",
                    "%s: ends at row %lld, too early", t->name, (long long)t->next);
}

/* As stored. *n = 0 at the end. */
static int read_edges(const struct og_edges *e, struct edge_piece *p, int64_t *n,
                      struct og_err *err)
{
    int64_t m = 0;
    int rc;
    if (e->pairs) {
        OG_TRY(og__table_read(e->pairs, p->raw, EDGES_A_PIECE, n, err));
    } else {
        OG_TRY(og__table_read(e->src, p->raw, EDGES_A_PIECE, n, err));
        OG_TRY(og__table_read(e->dst, p->raw + EDGES_A_PIECE, EDGES_A_PIECE, &m, err));
        if (m != *n)
            OG_TRY(short_table(m < *n ? e->dst : e->src, err));
    }
    if (e->weights) {
        OG_TRY(og__table_read(e->weights, p->raw_weight, *n, &m, err));
        if (m != *n)
            OG_TRY(short_table(e->weights, err));
    }
out:
    return rc;
}

static int convert_edges(const struct og_importer *imp, const struct og_edges *e, int64_t first,
                         size_t n, struct edge_piece *p, struct og_err *err)
{
    const struct og_table *const from = e->pairs ? e->pairs : e->src;
    const struct og_table *const to = e->pairs ? e->pairs : e->dst;
    const int64_t *const raw_dst = e->pairs ? p->raw : p->raw + EDGES_A_PIECE;
    const size_t step = e->pairs ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        int64_t u = og__integer_at(from->type, p->raw, i * step);
        int64_t v = og__integer_at(to->type, raw_dst, i * step + (step - 1));
        bool bad_from = u < 0 || u >= imp->n_nodes;
        if (bad_from || v < 0 || v >= imp->n_nodes)
            return og__fail(err, -EINVAL, "ids count from 0; is the number of nodes right?",
                            "%s: row %lld: node %lld, the graph has %lld nodes",
                            bad_from ? from->name : to->name, (long long)(first + (int64_t)i),
                            (long long)(bad_from ? u : v), (long long)imp->n_nodes);
        p->src[i] = (uint32_t)(imp->opt->reverse ? v : u);
        p->dst[i] = (uint32_t)(imp->opt->reverse ? u : v);
        if (!e->weights)
            continue;
        p->weight[i] = (float)og__number_at(e->weights->type, p->raw_weight, i);
        if (!isfinite(p->weight[i]))
            return og__fail(err, -EINVAL, "weights are finite numbers",
                            "%s: row %lld: not a finite number", e->weights->name,
                            (long long)(first + (int64_t)i));
    }
    return 0;
}

static int add_edges(struct og_importer *imp, const struct og_edges *e,
                     struct og_edge_sorter *sorter, struct edge_piece *p, struct og_err *err)
{
    const float *weight = e->weights ? p->weight : NULL;
    const bool both = e->both_ways || imp->opt->symmetrize;
    int64_t total = e->pairs ? e->pairs->rows : e->src->rows;
    int64_t done = 0;
    int rc = 0;
    for (int64_t n = EDGES_A_PIECE; n == EDGES_A_PIECE; done += n) {
        OG_TRY(read_edges(e, p, &n, err));
        OG_TRY(convert_edges(imp, e, done, (size_t)n, p, err));
        OG_TRY(og__sorter_add(sorter, p->src, p->dst, weight, (size_t)n, err));
        if (both)
            OG_TRY(og__sorter_add(sorter, p->dst, p->src, weight, (size_t)n, err));
        OG_TRY(og__import_tell(imp, "edges", done + n, OG_MAX(total, (int64_t)0), err));
    }
out:
    return rc;
}

int og__import_edges(struct og_importer *imp, const struct og_edges *e, struct og_err *err)
{
    struct edge_piece *p = NULL;
    struct og_edge_sorter *sorter = NULL;
    int64_t rows = e->pairs ? e->pairs->rows : e->src->rows;
    int rc;
    OG_TRY(check_edges(e, err));
    if (!(p = og__alloc(imp->budget, sizeof(*p), part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(og__import_sorter(imp, e->weights != NULL, rows < 0 || !e->both_ways ? rows : 2 * rows,
                             &sorter, err));
    OG_TRY(add_edges(imp, e, sorter, p, err));
    OG_TRY(og__import_sorted(imp, sorter, e->weights != NULL, err));
out:
    og__sorter_free(sorter);
    og__release(imp->budget, p, sizeof(*p), part);
    return rc;
}

/* ---- features ---- */

/* Integers and sparse values are stored as u8 where that is exact; it takes a look at all of them.
 */
static int fits_bytes(struct og_importer *imp, struct og_table *t, bool *fits, struct og_err *err)
{
    struct piece p;
    int64_t n;
    int rc = take_piece(&p, t, imp->budget, err);
    *fits = rc == 0;
    while (rc == 0 && *fits && (rc = og__table_read(t, p.raw, p.room, &n, err)) == 0 && n > 0) {
        for (size_t i = 0; i < (size_t)(n * t->columns); i++) {
            double x = og__number_at(t->type, p.raw, i);
            *fits = *fits && x >= 0 && x <= 255 && x == floor(x);
        }
    }
    give_piece(&p);
    return rc < 0 ? rc : og__table_rewind(t, err);
}

static int choose_dtype(struct og_importer *imp, struct og_table *t, struct og_table *values,
                        enum og_dtype *dtype, struct og_err *err)
{
    bool whole = og__npy_is_integer(t->type) || t->type == OG__NPY_BOOL;
    bool fits = false;
    int rc = 0;
    if (imp->opt->feature_dtype >= 0) {
        *dtype = (enum og_dtype)imp->opt->feature_dtype;
        return 0;
    }
    if (!imp->opt->row_normalize && (whole || values))
        rc = fits_bytes(imp, values ? values : t, &fits, err);
    *dtype = fits ? OG_U8 : OG_F32;
    if (t->type == OG__NPY_F16 && !imp->opt->row_normalize)
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

static int bad_feature(const struct og_table *t, int64_t v, int64_t column, float x,
                       enum og_dtype dtype, struct og_err *err)
{
    if (!isfinite(x))
        return og__fail(err, -EINVAL, "replace missing features, by 0 say",
                        "%s: row %lld, column %lld: not a finite number (NaN or infinite)", t->name,
                        (long long)v, (long long)column);
    return og__fail(err, -EINVAL, "choose another --feature-dtype",
                    "%s: row %lld, column %lld: %g does not fit %s", t->name, (long long)v,
                    (long long)column, x, og__dtype_name(dtype));
}

/* Rows [first, first + n) from p to the writer. */
static int convert_rows(struct og_importer *imp, const struct piece *p, int64_t first, int64_t n,
                        enum og_dtype dtype, float *row, char *out, struct og_npy_writer *w,
                        struct og_err *err)
{
    const int64_t dim = p->t->columns;
    int rc = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < dim; j++)
            row[j] = (float)og__number_at(p->t->type, p->raw, (size_t)(i * dim + j));
        if (imp->opt->row_normalize)
            normalize(row, dim);
        int64_t bad = og__store_row(dtype, out, row, (size_t)dim);
        if (bad >= 0)
            OG_TRY(bad_feature(p->t, first + i, bad, row[bad], dtype, err));
        OG_TRY(og__npy_append(w, out, 1, err));
    }
out:
    return rc;
}

static int copy_rows(struct og_importer *imp, struct og_table *t, enum og_dtype dtype,
                     struct og_npy_writer *w, struct og_err *err)
{
    const size_t row_bytes = (size_t)t->columns * sizeof(float);
    struct piece p = {0};
    float *row = og__alloc(imp->budget, 2 * row_bytes, part, err);
    int64_t done = 0;
    int rc = row ? take_piece(&p, t, imp->budget, err) : -ENOMEM;
    for (int64_t n = 1; rc == 0 && n > 0; done += n) {
        rc = og__table_read(t, p.raw, p.room, &n, err);
        if (rc == 0 && done + n <= imp->n_nodes)
            rc = convert_rows(imp, &p, done, n, dtype, row, (char *)row + row_bytes, w, err);
        if (rc == 0)
            rc = og__import_tell(imp, "features", done + n, imp->n_nodes, err);
    }
    give_piece(&p);
    og__release(imp->budget, row, 2 * row_bytes, part);
    return rc < 0 ? rc : check_rows(imp, t, done, "rows", err);
}

static void set_features(struct og_importer *imp, int64_t dim, enum og_dtype dtype)
{
    og__import_note(imp, "feature_dim", json_integer(dim));
    og__import_note(imp, "feature_dtype", json_string(og__dtype_name(dtype)));
}

/* Features stay where they are. */
static int link_features(struct og_importer *imp, const struct og_table *t, struct og_err *err)
{
    char full[PATH_MAX];
    int stored = -1;
    for (int d = OG_F32; stored < 0 && d <= OG_U8; d++)
        if (d != OG_BF16 && og__dtype_stored((enum og_dtype)d) == t->type)
            stored = d;
    if (!t->path || t->skip != 0)
        return og__fail(err, -EINVAL, "leave out --link: they have to be copied",
                        "%s: --link: only a .npy or headerless file can be used in place", t->name);
    if (stored < 0 || imp->opt->row_normalize ||
        (imp->opt->feature_dtype >= 0 && imp->opt->feature_dtype != stored))
        return og__fail(err, -EINVAL, "leave out --link: they have to be converted",
                        "%s: --link: %s features cannot stay as they are", t->name,
                        og__npy_name(t->type));
    if (!realpath(t->path, full))
        return og__fail_errno(err, -errno, NULL, "%s", t->path);
    json_t *path = json_string(full);
    if (!path)
        return og__fail(err, -EINVAL, "rename the folder, or leave out --link",
                        "%s: --link: its path is not UTF-8", t->name);
    json_t *where = t->raw ? json_pack("{s:o s:s s:[I,I] s:I}", "path", path, "dtype",
                                       og__npy_name(t->type), "shape", (json_int_t)t->rows,
                                       (json_int_t)t->columns, "offset", (json_int_t)t->offset)
                           : json_pack("{s:o}", "path", path);
    og__import_note(imp, "files", json_pack("{s:o}", "features", where));
    set_features(imp, t->columns, (enum og_dtype)stored);
    return 0;
}

int og__import_features(struct og_importer *imp, struct og_table *t, struct og_table *values,
                        struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    enum og_dtype dtype = OG_F32;
    int rc;
    OG_TRY(og__import_expect_rows(imp, t, "rows", err));
    if (imp->opt->link)
        return link_features(imp, t, err);
    OG_TRY(choose_dtype(imp, t, values, &dtype, err));
    OG_TRY(og__import_create(imp, &w, "features.npy", og__dtype_stored(dtype), 2, t->columns, err));
    OG_TRY(copy_rows(imp, t, dtype, w, err));
    rc = og__import_finish(imp, w, "features.npy", err);
    w = NULL;
    set_features(imp, t->columns, dtype);
out:
    og__npy_discard(w);
    return rc;
}

int og__import_no_features(struct og_importer *imp, struct og_err *err)
{
    enum { ONES = 4096 };
    uint8_t ones[ONES];
    struct og_npy_writer *w = NULL;
    int rc = og__import_create(imp, &w, "features.npy", OG__NPY_U8, 2, 1, err);
    memset(ones, 1, sizeof(ones));
    for (int64_t v = 0; rc == 0 && v < imp->n_nodes; v += ONES)
        rc = og__npy_append(w, ones, OG_MIN(imp->n_nodes - v, (int64_t)ONES), err);
    if (rc < 0)
        og__npy_discard(w);
    else
        rc = og__import_finish(imp, w, "features.npy", err);
    set_features(imp, 1, OG_U8);
    return rc;
}

/* ---- labels ---- */

/* A class number, -1 for none. */
static int class_of(const struct og_table *t, const void *raw, size_t i, int64_t node,
                    int64_t *class, struct og_err *err)
{
    double x = og__number_at(t->type, raw, i);
    if (isnan(x))
        x = -1;
    if (x < -1 || x > INT32_MAX / 8 || x != floor(x))
        return og__fail(err, -EINVAL, "classes count from 0; -1 or NaN means none",
                        "%s: row %lld: %g is no class", t->name, (long long)node, x);
    *class = (int64_t)x;
    return 0;
}

struct labelling {
    struct og_npy_writer *w;
    bool rows;    /* of several labels, or of values */
    bool values;  /* any number, NaN for none; else 0 or 1 */
    float *row;   /* [C], when rows */
    int64_t most; /* largest class */
};

static bool is_label(const struct labelling *l, float x)
{
    return l->values ? !isinf(x) : x >= 0 && x <= 1;
}

/* Label of node v, in row i of the piece. */
static int copy_label(struct labelling *l, const struct piece *p, size_t i, int64_t v,
                      struct og_err *err)
{
    const size_t width = (size_t)p->t->columns;
    int64_t class = -1;
    if (!l->rows) {
        int rc = class_of(p->t, p->raw, i, v, &class, err);
        l->most = OG_MAX(l->most, class);
        return rc < 0 ? rc : og__npy_append(l->w, &class, 1, err);
    }
    for (size_t j = 0; j < width; j++) {
        l->row[j] = (float)og__number_at(p->t->type, p->raw, i * width + j);
        if (!is_label(l, l->row[j]))
            return og__fail(err, -EINVAL,
                            l->values ? "NaN where a value is not known"
                                      : "1 where the node is of the class, else 0",
                            "%s: row %lld, column %zu: %g is no label", p->t->name, (long long)v, j,
                            l->row[j]);
    }
    return og__npy_append(l->w, l->row, 1, err);
}

static int copy_labels(struct og_importer *imp, struct og_table *t, bool partly,
                       struct labelling *l, struct og_err *err)
{
    static const int64_t none = -1;
    struct piece p;
    int64_t done = 0;
    int rc = take_piece(&p, t, imp->budget, err);
    for (int64_t n = 1; rc == 0 && n > 0; done += n) {
        rc = og__table_read(t, p.raw, p.room, &n, err);
        for (int64_t i = 0; rc == 0 && i < n && done + i < imp->n_nodes; i++)
            rc = copy_label(l, &p, (size_t)i, done + i, err);
    }
    give_piece(&p);
    for (; rc == 0 && partly && !l->rows && done < imp->n_nodes; done++)
        rc = og__npy_append(l->w, &none, 1, err);
    return rc < 0 ? rc : check_rows(imp, t, done, "labels", err);
}

static int set_classes(struct og_importer *imp, const struct og_table *t, const struct labelling *l,
                       int64_t said, struct og_err *err)
{
    if (!l->rows && said >= 0 && l->most >= said)
        return og__fail(err, -EINVAL, "the source says how many there are",
                        "%s: class %lld of %lld", t->name, (long long)l->most, (long long)said);
    int64_t classes = l->rows ? t->columns : OG_MAX(said, l->most + 1);
    if (classes > MOST_COLUMNS)
        return og__fail(err, -EINVAL, "at most 268435455; is it what the labels are?",
                        "%s: %lld classes", t->name, (long long)classes);
    og__import_note(imp, "num_classes", json_integer(classes));
    og__import_note(imp, "multi_label", json_boolean(l->rows && !l->values));
    if (l->values)
        og__import_note(imp, "task", json_string("node regression"));
    return 0;
}

int og__import_no_labels(struct og_importer *imp, struct og_err *err)
{
    (void)err;
    og__import_note(imp, "num_classes", json_integer(0));
    og__import_note(imp, "multi_label", json_false());
    return 0;
}

/* What was written of them. */
static int drop_labels(struct og_importer *imp, struct og_err *err)
{
    char *path = og__import_target(imp, "labels.npy");
    int rc = path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "labels.npy");
    if (path && unlink(path) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    free(path);
    return rc < 0 ? rc : og__import_no_labels(imp, err);
}

int og__import_labels(struct og_importer *imp, struct og_table *t, int64_t n_classes, bool partly,
                      struct og_err *err)
{
    struct labelling l = {.rows = imp->values || t->columns > 1, .values = imp->values, .most = -1};
    const size_t row_bytes = (size_t)t->columns * sizeof(float);
    int rc;
    if (partly)
        OG_TRY(check_columns(t, "labels", err));
    else
        OG_TRY(og__import_expect_rows(imp, t, "labels", err));
    if (!(l.row = og__alloc(imp->budget, row_bytes, part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(og__import_create(imp, &l.w, "labels.npy", l.rows ? OG__NPY_F32 : OG__NPY_I64,
                             l.rows ? 2 : 1, t->columns, err));
    OG_TRY(copy_labels(imp, t, partly, &l, err));
    if (!l.rows && l.most < 0 && n_classes <= 0) {
        og__import_say(imp, "%s: no node has a label", t->name);
        OG_TRY(drop_labels(imp, err));
        goto out;
    }
    OG_TRY(set_classes(imp, t, &l, n_classes, err));
    rc = og__import_finish(imp, l.w, "labels.npy", err);
    l.w = NULL;
out:
    og__npy_discard(l.w);
    og__release(imp->budget, l.row, row_bytes, part);
    return rc;
}

/* ---- splits ---- */

static void swap_ends(int64_t *ids, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t src = ids[2 * i + 1];
        ids[2 * i + 1] = ids[2 * i];
        ids[2 * i] = src;
    }
}

/* Nodes that a list has had: a bit each. Without (NULL, where memory has no room for them) nothing
 * is told here, but when the list is loaded. */
static int note_id(uint64_t *seen, const struct og_table *t, int64_t row, int64_t id,
                   struct og_err *err)
{
    uint64_t bit = (uint64_t)1 << id % 64;
    if (seen && (seen[id / 64] & bit))
        return og__fail(err, -EINVAL, "remove the repeated ids (numpy.unique)",
                        "%s: row %lld: node %lld is listed twice", t->name, (long long)row,
                        (long long)id);
    if (seen)
        seen[id / 64] |= bit;
    return 0;
}

static int copy_ids(struct og_importer *imp, struct og_table *t, uint64_t *seen,
                    struct og_npy_writer *w, struct og_err *err)
{
    enum { IDS = 8192 };
    int64_t raw[IDS];
    int64_t ids[IDS];
    const int64_t width = t->columns;
    int rc = 0;
    for (int64_t done = 0, n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, raw, IDS / width, &n, err));
        og__npy_widen(t->type, raw, (size_t)(n * width), ids);
        for (int64_t i = 0; i < n * width; i++) {
            if (ids[i] < 0 || ids[i] >= imp->n_nodes)
                OG_TRY(og__fail(err, -EINVAL, "ids count from 0", "%s: row %lld: node %lld of %lld",
                                t->name, (long long)(done + i / width), (long long)ids[i],
                                (long long)imp->n_nodes));
            OG_TRY(note_id(seen, t, done + i, ids[i], err));
        }
        if (width == 2 && imp->opt->reverse)
            swap_ends(ids, n);
        OG_TRY(og__npy_append(w, ids, n, err));
    }
out:
    return rc;
}

static int import_list(struct og_importer *imp, struct og_table *t, const char *name, int width,
                       struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    size_t seen_bytes = (size_t)(imp->n_nodes / 64 + 1) * sizeof(uint64_t);
    uint64_t *seen = NULL;
    int rc;
    if (!og__npy_is_integer(t->type) || t->columns != width)
        return og__fail(err, -EINVAL,
                        width == 1 ? "a list of node ids, int64" : "one row an edge: src, dst",
                        "%s: %s [%lld, %lld]", t->name, og__npy_name(t->type), (long long)t->rows,
                        (long long)t->columns);
    OG_TRY(og__import_create(imp, &w, name, OG__NPY_I64, width, width, err));
    if (width == 1 && seen_bytes <= og__budget_left(imp->budget) &&
        !(seen = og__alloc(imp->budget, seen_bytes, part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(copy_ids(imp, t, seen, w, err));
    rc = og__import_finish(imp, w, name, err);
    w = NULL;
out:
    og__release(imp->budget, seen, seen_bytes, part);
    og__npy_discard(w);
    return rc;
}

int og__import_split(struct og_importer *imp, struct og_table *t, const char *name,
                     struct og_err *err)
{
    return import_list(imp, t, name, 1, err);
}

int og__import_edge_split(struct og_importer *imp, struct og_table *t, const char *name,
                          struct og_err *err)
{
    return import_list(imp, t, name, 2, err);
}
