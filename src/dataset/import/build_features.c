/* A table -> features.npy or edge_features.npy, copied or converted; or a reference to the source's
 * file. */
#include "dataset/import/import.h"

#include "dataset/convert.h"
#include "dataset/import/moments.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "import";

/* The array that is made. */
struct place {
    const char *array; /* "features" */
    const char *group; /* its name, for nodes */
    bool of_edges;     /* whose rows are in another order than the source's */
    int64_t rows;      /* that it must have */
    int64_t dim;       /* found out */
    enum og_dtype dtype;
    struct og_sparse_rows form;
    char *rest; /* of sparse rows, in memory until it is written */
    size_t rest_bytes;
    uint32_t rest_at;          /* entries of it so far */
    uint32_t *column;          /* [dim] of a row's entries */
    struct og_moment *moment;  /* [dim] by which numbers are standardized, or NULL */
    float *scale;              /* [dim] of types with scales, or for --feature-scales; else NULL */
    struct og_array_name said; /* names of the scales */
    struct og_array_name more; /* and of the rest */
};

/* Are rows scaled to sum 1? */
static bool normalizes(const struct og_importer *imp, const struct place *to)
{
    return imp->opt->row_normalize && !to->of_edges;
}

static bool standardizes(const struct og_importer *imp, const struct place *to)
{
    return og__standardizes(imp->opt) && !to->of_edges;
}

/* Integers and sparse values are stored as u8 where that is exact. It takes a look at all of them.
 */
static int fits_bytes(struct og_importer *imp, struct og_table *t, bool *fits, struct og_err *err)
{
    struct og_piece p;
    int rc;
    *fits = true;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; *fits && n > 0;) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (size_t i = 0; i < (size_t)(n * t->columns); i++) {
            double x = og__number_at(t->type, p.raw, i);
            *fits = *fits && x >= 0 && x <= 255 && x == floor(x);
        }
    }
    OG_TRY(og__table_rewind(t, err));
out:
    og__piece_give(&p);
    return rc;
}

static int choose_dtype(struct og_importer *imp, struct og_table *t, struct og_table *values,
                        struct place *to, struct og_err *err)
{
    bool whole = og__npy_is_integer(t->type) || t->type == OG__NPY_BOOL;
    bool fits = false;
    int rc = 0;
    const int given = to->of_edges ? imp->opt->edge_feature_dtype : imp->opt->feature_dtype;
    if (given >= 0) {
        to->dtype = (enum og_dtype)given;
        return 0;
    }
    const bool stay = !normalizes(imp, to) && !standardizes(imp, to);
    if (stay && (whole || values))
        rc = fits_bytes(imp, values ? values : t, &fits, err);
    to->dtype = fits ? OG_U8 : OG_F32;
    if (t->type == OG__NPY_F16 && stay)
        to->dtype = OG_F16;
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

/* Row i of the piece is row v of the source, and x what its number became. */
static int bad_feature(const struct og_piece *p, int64_t i, int64_t v, int64_t column, float x,
                       enum og_dtype dtype, struct og_err *err)
{
    const struct og_table *t = p->t;
    const struct og_table_place place = og__table_place(t, v, column);
    const double given = og__number_at(t->type, p->raw, (size_t)(i * t->columns + column));
    if (!isfinite(x) && isfinite(given))
        return og__fail(err, -ERANGE, "scale the column: float32 ends at 3.4e38",
                        "%s: %s: %g does not fit float32", t->name, place.text, given);
    if (!isfinite(x))
        return og__fail(err, -EINVAL, "replace missing features, by 0 say",
                        "%s: %s: not a finite number (NaN or infinite)", t->name, place.text);
    return og__fail(err, -EINVAL, "choose another --feature-dtype, or --edge-feature-dtype",
                    "%s: %s: %g does not fit %s", t->name, place.text, x, og__dtype_name(dtype));
}

/* Row i of the piece as floats. */
static void read_row(const struct og_importer *imp, const struct og_piece *p, int64_t i,
                     const struct place *to, float *row)
{
    const int64_t dim = p->t->columns;
    for (int64_t j = 0; j < dim; j++) {
        const double x = og__number_at(p->t->type, p->raw, (size_t)(i * dim + j));
        row[j] = (float)(to->moment ? og__standard(&to->moment[j], x) : x);
    }
    if (normalizes(imp, to))
        normalize(row, dim);
}

/* ---- sparse rows ---- */

static size_t stored_bytes(const struct place *to)
{
    return og__row_size((int)to->dim, to->dtype, to->form.room);
}

static bool is_sparse(const struct place *to)
{
    return to->form.room > 0;
}

enum { MOST_COUNTED = 1 << 16 }; /* longer rows count as of this length */

/* How many rows have so many entries, and whether each entry is 1. */
struct lengths {
    uint64_t rows[MOST_COUNTED + 1];
    uint64_t all;
    uint32_t longest;
    bool ones;
};

static void count_row(struct lengths *l, const float *row, int64_t dim)
{
    const uint32_t n = og__count_entries(row, (size_t)dim);
    l->rows[OG_MIN(n, (uint32_t)MOST_COUNTED)]++;
    l->all += n;
    l->longest = OG_MAX(l->longest, n);
    for (int64_t j = 0; l->ones && j < dim; j++)
        l->ones = row[j] == 0 || row[j] == 1;
}

static int count_rows(struct og_importer *imp, struct og_table *t, const struct place *to,
                      float *row, struct lengths *out, struct og_err *err)
{
    struct og_piece p;
    int rc;
    memset(out, 0, sizeof(*out));
    out->ones = true;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1, done = 0; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (int64_t i = 0; i < n; i++) {
            read_row(imp, &p, i, to, row);
            count_row(out, row, to->dim);
        }
        OG_TRY(og__writing_goes_on(imp->observer, "entries", "rows", done + n, to->rows, err));
    }
    OG_TRY(og__table_rewind(t, err));
out:
    og__piece_give(&p);
    return rc;
}

/* Chooses the room of rows for the smallest file. The rest, which is in memory during runs, is at
 * most a sixteenth of the rows. */
static void choose_room(struct place *to, const struct lengths *l)
{
    const uint64_t each = og__entry_bytes((int)to->dim, to->dtype);
    uint64_t least = UINT64_MAX;
    uint64_t rest = l->all;
    uint64_t longer = (uint64_t)to->rows - l->rows[0]; /* rows with more entries than the room */
    const uint32_t most = (uint32_t)og__round_up(OG_MAX(l->longest, 1u), OG__ENTRIES_STEP);
    for (uint32_t room = 1; room <= OG_MIN(most, (uint32_t)MOST_COUNTED); room++) {
        rest -= longer;
        longer -= l->rows[room];
        const uint64_t rows = (uint64_t)to->rows * (OG__ENTRIES_HEAD + room * each);
        if (room % OG__ENTRIES_STEP == 0 && rest <= UINT32_MAX && rest * each <= rows / 16 &&
            rows + rest * each < least) {
            least = rows + rest * each;
            to->form = (struct og_sparse_rows){
                .room = room, .longest = l->longest, .n_rest = (uint32_t)rest};
        }
    }
    if (least == UINT64_MAX)
        to->form = (struct og_sparse_rows){.room = most, .longest = l->longest};
}

static int take_rest(struct og_importer *imp, struct place *to, struct og_err *err)
{
    to->rest_bytes = to->form.n_rest * og__entry_bytes((int)to->dim, to->dtype);
    to->rest = to->rest_bytes > 0 ? og__alloc(imp->budget, to->rest_bytes, part, err) : NULL;
    to->column = og__alloc(imp->budget, (size_t)to->dim * sizeof(*to->column), part, err);
    return to->column && (to->rest || to->rest_bytes == 0) ? 0 : -ENOMEM;
}

static void release_rest(struct og_importer *imp, struct place *to)
{
    og__release(imp->budget, to->rest, to->rest_bytes, part);
    og__release(imp->budget, to->column, (size_t)to->dim * sizeof(*to->column), part);
}

/* --feature-layout sparse, where that is smaller. */
static int choose_layout(struct og_importer *imp, struct og_table *t, struct place *to,
                         struct og_err *err)
{
    const size_t row_bytes = (size_t)to->dim * sizeof(float);
    const size_t bytes = row_bytes + sizeof(struct lengths);
    const enum og_dtype dense = to->dtype;
    const size_t dense_bytes = stored_bytes(to);
    struct lengths *l = NULL;
    int rc = 0;
    if (imp->opt->feature_layout != OG_FEATURES_SPARSE || to->of_edges)
        return 0;
    if (og__dtype_scaled(dense) || imp->opt->feature_scales)
        return og__fail(err, -EINVAL, "use --feature-dtype f16, without --feature-scales",
                        "--feature-layout sparse: entries have no scales of their columns");
    l = og__alloc(imp->budget, bytes, part, err);
    OG_TRY(l ? count_rows(imp, t, to, (float *)(void *)(l + 1), l, err) : -ENOMEM);
    if (l->ones && imp->opt->feature_dtype < 0)
        to->dtype = OG_ONE;
    choose_room(to, l);
    const bool smaller = stored_bytes(to) < dense_bytes;
    og__import_say(imp,
                   "%s: %.1f features of a node are not 0, %u at most: %zu bytes a row as sparse "
                   "rows%s",
                   t->name, (double)l->all / (double)OG_MAX(to->rows, (int64_t)1), l->longest,
                   stored_bytes(to), smaller ? "" : ", more than dense: they stay dense");
    if (smaller)
        OG_TRY(take_rest(imp, to, err));
    else
        to->form = (struct og_sparse_rows){0};
    to->dtype = smaller ? to->dtype : dense;
out:
    og__release(imp->budget, l, bytes, part);
    return rc;
}

/* Stores a row; entries come to the front of it first. Returns the column that does not fit. */
static int64_t store_sparse(struct place *to, char *out, float *row)
{
    uint32_t n = 0;
    for (int64_t j = 0; j < to->dim; j++) {
        if (row[j] == 0)
            continue;
        to->column[n] = (uint32_t)j;
        row[n++] = row[j];
    }
    const int64_t bad = og__store_entries(out, to->column, row, n, (int)to->dim, to->dtype,
                                          &to->form, to->rest, to->rest_at);
    to->rest_at += n > to->form.room ? n - to->form.room : 0;
    return bad;
}

static int64_t store(struct place *to, char *out, float *row)
{
    return is_sparse(to) ? store_sparse(to, out, row)
                         : og__store_row(to->dtype, out, row, to->scale, (size_t)to->dim);
}

static int write_bytes(struct og_importer *imp, const char *name, const char *bytes, size_t n,
                       struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char file[40];
    int rc;
    snprintf(file, sizeof(file), "%s.npy", name);
    OG_TRY(og__array_create(&w, imp->dir.temporary, file, OG__NPY_U8, 1, 1, err));
    OG_TRY(og__npy_append(w, bytes, (int64_t)n, err));
    OG_TRY(og__array_finish(&w, file, imp->checksums, err));
out:
    og__npy_discard(w);
    return rc;
}

/* ---- scales ---- */

static bool has_scales(const struct og_importer *imp, const struct place *to)
{
    return og__dtype_scaled(to->dtype) ||
           (imp->opt->feature_scales && !to->of_edges && to->dtype == OG_F32);
}

/* The largest magnitude of each column, by a pass over the source. */
static int find_largest(struct og_importer *imp, struct og_table *t, const struct place *to,
                        float *row, struct og_err *err)
{
    struct og_piece p;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (int64_t i = 0; i < n; i++) {
            read_row(imp, &p, i, to, row);
            const int64_t bad = og__widest(to->scale, row, (size_t)to->dim);
            if (bad >= 0)
                OG_TRY(bad_feature(&p, i, done + i, bad, row[bad], to->dtype, err));
        }
        OG_TRY(og__writing_goes_on(imp->observer, "scales", "rows", done + n, to->rows, err));
    }
    OG_TRY(og__table_rewind(t, err));
out:
    og__piece_give(&p);
    return rc;
}

static int find_scales(struct og_importer *imp, struct og_table *t, struct place *to,
                       struct og_err *err)
{
    const size_t bytes = (size_t)to->dim * sizeof(float);
    float *row;
    int rc;
    if (!has_scales(imp, to)) {
        if (imp->opt->feature_scales && !to->of_edges)
            og__import_say(imp, "%s: --feature-scales: stored as %s, which has none", t->name,
                           og__dtype_name(to->dtype));
        return 0;
    }
    to->scale = og__alloc(imp->budget, bytes, part, err);
    row = og__alloc(imp->budget, bytes, part, err);
    OG_TRY(to->scale && row ? 0 : -ENOMEM);
    memset(to->scale, 0, bytes);
    OG_TRY(find_largest(imp, t, to, row, err));
    og__scales_of(to->scale, (size_t)to->dim);
out:
    og__release(imp->budget, row, bytes, part);
    return rc;
}

static int write_scales(struct og_importer *imp, const struct place *to, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char file[40];
    int rc;
    if (!to->scale)
        return 0;
    snprintf(file, sizeof(file), "%s.npy", to->said.text);
    OG_TRY(og__array_create(&w, imp->dir.temporary, file, OG__NPY_F32, 1, 1, err));
    OG_TRY(og__npy_append(w, to->scale, to->dim, err));
    OG_TRY(og__array_finish(&w, file, imp->checksums, err));
out:
    og__npy_discard(w);
    return rc;
}

/* ---- rows ---- */

/* Compares row i of the piece, as stored in `out`, with the source's values. */
static void compare_row(const struct og_piece *p, int64_t first, int64_t i, const struct place *to,
                        float *row, const char *out, struct og_changed *changed)
{
    const int64_t dim = p->t->columns;
    struct og_sparse_rows form = to->form;
    form.rest = to->rest;
    og__widen_row(row, out, (int)to->dim, to->dtype, to->scale, is_sparse(to) ? &form : NULL);
    for (int64_t j = 0; j < dim; j++) {
        const size_t at = (size_t)(i * dim + j);
        /* 64-bit integers differ in what a double does not hold */
        const double difference = og__npy_size(p->t->type) == 8 && og__npy_is_integer(p->t->type)
                                      ? og__integer_less(p->t->type, p->raw, at, row[j])
                                      : og__number_at(p->t->type, p->raw, at) - (double)row[j];
        if (p->t->text ? og__text_changes(og__number_at(p->t->type, p->raw, at), (double)row[j])
                       : difference != 0)
            og__changed_by(changed, first + i, j, fabs(difference));
    }
}

/* Rows [first, first + n) from p to the writer. `changed` is NULL where no number can. */
static int convert_rows(struct og_importer *imp, const struct og_piece *p, int64_t first, int64_t n,
                        struct place *to, float *row, char *out, struct og_npy_writer *w,
                        struct og_changed *changed, struct og_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        read_row(imp, p, i, to, row);
        int64_t bad = store(to, out, row);
        if (bad >= 0)
            OG_DO(bad_feature(p, i, first + i, is_sparse(to) ? to->column[bad] : bad, row[bad],
                              to->dtype, err));
        if (changed)
            compare_row(p, first, i, to, row, out, changed);
        OG_DO(w ? og__npy_append(w, out, 1, err) : 0);
    }
    return 0;
}

/* Can a number become another one on the way? */
static bool may_change(const struct og_importer *imp, const struct og_table *t,
                       const struct place *to)
{
    const size_t size = og__npy_size(t->type);
    if (og__dtype_scaled(to->dtype))
        return !normalizes(imp, to) && !to->moment;
    if (normalizes(imp, to) || to->moment || to->dtype == OG_ONE ||
        t->type == og__dtype_stored(to->dtype))
        return false;
    if (to->dtype == OG_F32)
        return t->type == OG__NPY_F64 || (og__npy_is_integer(t->type) && size > 2);
    return to->dtype != OG_U8;
}

/* Moments for a warning: of the first rows, NULL where nobody needs it. */
static struct og_moment *take_seen(const struct og_importer *imp, const struct og_table *t,
                                   const struct place *to)
{
    enum { WIDEST = 1 << 14 };
    struct og_moment *seen = NULL;
    const bool needed = !to->moment && !is_sparse(to) && t->columns <= WIDEST;
    return needed && og__moments_take(&seen, imp, t->columns, NULL) == 0 ? seen : NULL;
}

/* w: NULL only looks at them. */
static int copy_rows(struct og_importer *imp, struct og_table *t, struct place *to,
                     struct og_npy_writer *w, struct og_err *err)
{
    enum { LOOKED_AT = 64 * 1024 * 1024 }; /* bytes */
    struct og_moment *const seen = take_seen(imp, t, to);
    struct og_changed changed = {.n = 0};
    struct og_changed *const compared = may_change(imp, t, to) ? &changed : NULL;
    const size_t row_bytes = (size_t)t->columns * sizeof(float);
    struct og_piece p = {0};
    float *row = og__alloc(imp->budget, 2 * row_bytes, part, err);
    int64_t done = 0;
    int rc;
    OG_TRY(row ? og__piece_take(&p, t, imp->budget, err) : -ENOMEM);
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        if (done + n <= to->rows)
            OG_TRY(
                convert_rows(imp, &p, done, n, to, row, (char *)row + row_bytes, w, compared, err));
        if (seen && (size_t)done * og__table_row_bytes(t) < LOOKED_AT)
            og__moments_add(seen, &p, n);
        OG_TRY(og__writing_goes_on(imp->observer, "features", "bytes",
                                   (done + n) * (int64_t)row_bytes, to->rows * (int64_t)row_bytes,
                                   err));
    }
out:
    og__piece_give(&p);
    og__release(imp->budget, row, 2 * row_bytes, part);
    if (rc >= 0)
        og__import_tell_changed(imp, t, &changed, og__dtype_name(to->dtype));
    if (rc >= 0 && seen)
        og__moments_warn(imp, to->group, t, seen, to->of_edges || !w);
    og__moments_give(imp, seen, t->columns);
    if (rc < 0)
        return rc;
    return to->of_edges ? 0 : og__import_check_rows(imp, t, done, to->rows, "rows", err);
}

static void set_features(struct og_importer *imp, uint32_t group, const struct place *to)
{
    imp->graph.group[group].dim = (int)to->dim;
    imp->graph.group[group].stored = to->dtype;
    imp->graph.group[group].sparse = to->form;
}

/* Features stay where they are. */
static int link_features(struct og_importer *imp, const struct og_table *t, struct place *to,
                         struct og_err *err)
{
    char full[PATH_MAX];
    int stored = -1;
    for (int d = OG_F32; stored < 0 && d <= OG_U8; d++)
        if (d != OG_BF16 && og__dtype_stored((enum og_dtype)d) == t->type)
            stored = d;
    if (!t->path || t->skip != 0)
        return og__fail(err, -EINVAL, "leave out --in-place: they have to be copied",
                        "%s: --in-place: only a .npy or headerless file can be used in place",
                        t->name);
    if (stored < 0 || imp->opt->row_normalize || imp->opt->feature_layout != OG_FEATURES_DENSE ||
        (imp->opt->feature_dtype >= 0 && imp->opt->feature_dtype != stored))
        return og__fail(err, -EINVAL, "leave out --in-place: they have to be converted",
                        "%s: --in-place: %s features cannot stay as they are", t->name,
                        og__npy_name(t->type));
    if (!realpath(t->path, full))
        return og__fail_errno(err, -errno, NULL, "%s", t->path);
    json_t *path = json_string(full);
    if (!path)
        return og__fail(err, -EINVAL, "rename the folder, or leave out --in-place",
                        "%s: --in-place: its path is not UTF-8", t->name);
    json_t *where = t->raw ? json_pack("{s:o s:s s:[I,I] s:I}", "path", path, "dtype",
                                       og__npy_name(t->type), "shape", (json_int_t)t->rows,
                                       (json_int_t)t->columns, "offset", (json_int_t)t->offset)
                           : json_pack("{s:o}", "path", path);
    json_t *files = json_object_get(imp->meta, "files");
    og__import_note(imp, "files",
                    og__json_with(files ? json_incref(files) : json_object(), to->array, where));
    to->dtype = (enum og_dtype)stored;
    return 0;
}

static int make_features(struct og_importer *imp, struct og_table *t, struct og_table *values,
                         struct place *to, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char file[40];
    int rc;
    to->dim = t->columns;
    imp->has_rows |= !to->of_edges;
    imp->has_edge_rows |= to->of_edges;
    if (imp->opt->link && !to->of_edges) {
        imp->linked = true;
        OG_TRY(link_features(imp, t, to, err));
        OG_TRY(to->dtype == OG_U8 ? 0 : copy_rows(imp, t, to, NULL, err));
        OG_TRY(og__table_rewind(t, err));
        OG_TRY(find_scales(imp, t, to, err));
        return write_scales(imp, to, err);
    }
    snprintf(file, sizeof(file), "%s.npy", to->array);
    if (standardizes(imp, to)) {
        OG_TRY(og__moments_take(&to->moment, imp, to->dim, err));
        OG_TRY(og__moments_find(imp, to->group, t, to->moment, err));
    }
    OG_TRY(choose_dtype(imp, t, values, to, err));
    OG_TRY(choose_layout(imp, t, to, err));
    const bool sparse = is_sparse(to);
    OG_TRY(find_scales(imp, t, to, err));
    OG_TRY(write_scales(imp, to, err));
    OG_TRY(og__array_create(&w, imp->dir.temporary, file,
                            sparse ? OG__NPY_U8 : og__dtype_stored(to->dtype), 2,
                            sparse ? (int64_t)stored_bytes(to) : t->columns, err));
    OG_TRY(copy_rows(imp, t, to, w, err));
    OG_TRY(og__array_finish(&w, file, imp->checksums, err));
    if (to->rest_bytes > 0)
        OG_TRY(write_bytes(imp, to->more.text, to->rest, to->rest_bytes, err));
out:
    og__npy_discard(w);
    return rc;
}

/* A constant feature. */
static int make_ones(struct og_importer *imp, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    int rc;
    og__import_say(imp, "no features: every node gets the number 1; for learnable "
                        "embeddings give --drop-features");
    OG_TRY(og__array_create(&w, imp->dir.temporary, "features.npy", OG__NPY_U8, 2, 1, err));
    OG_TRY(og__npy_repeat(w, 1, imp->graph.n_nodes, err));
    rc = og__array_finish(&w, "features.npy", imp->checksums, err);
    set_features(imp, 0, &(struct place){.dim = 1, .dtype = OG_U8});
out:
    og__npy_discard(w);
    return rc;
}

int og__import_features(struct og_importer *imp, uint32_t group, struct og_table *t,
                        struct og_table *values, struct og_err *err)
{
    const struct og_array_name name = og__group_array(&imp->graph, group);
    const struct og_group *of = &imp->graph.group[group];
    struct place to = {.array = name.text, .group = of->name, .rows = of->n_nodes};
    int rc;
    if (imp->opt->drop_features)
        return 0;
    if (!t)
        return og__form_of(&imp->graph)->needs_rows ? make_ones(imp, err) : 0;
    OG_TRY(og__import_expect_rows(imp, t, to.rows, "rows", err));
    OG_TRY(og__column_names_fit(imp, to.group, t, err));
    to.said = og__scales_array(&imp->graph, group);
    to.more = og__rest_array(&imp->graph, group);
    OG_TRY(make_features(imp, t, values, &to, err));
    set_features(imp, group, &to);
out:
    release_rest(imp, &to);
    og__moments_give(imp, to.moment, to.dim);
    og__release(imp->budget, to.scale, (size_t)to.dim * sizeof(*to.scale), part);
    return rc;
}

static int make_edge_features(struct og_importer *imp, uint32_t relation, struct og_table *t,
                              struct og_err *err)
{
    struct og_relation *r = &imp->graph.relation[relation];
    const struct og_array_name name = og__relation_array(&imp->graph, relation, OG__EDGE_FEATURES);
    struct place to = {.array = name.text, .of_edges = true, .rows = r->n_edges};
    struct og_table *ours = NULL;
    int rc;
    OG_TRY(og__edge_rows_of(&ours, imp, relation, t, err));
    OG_TRY(make_features(imp, ours, NULL, &to, err));
    r->edges.dim = (int)to.dim;
    r->edges.stored = to.dtype;
out:
    og__table_close(ours);
    return rc;
}

int og__import_edge_features(struct og_importer *imp, uint32_t relation, struct og_table *t,
                             struct og_err *err)
{
    const uint32_t reverse = imp->n_relations + relation;
    const bool both = imp->both_ways || reverse < imp->graph.n_relations;
    const struct og_group *rows = &imp->graph.relation[relation].edges;
    const int64_t edges = imp->n_added[relation];
    int rc;
    OG_TRY(og__import_check_columns(t, "features", err));
    if (t->rows >= 0 && t->rows != edges)
        return og__fail(err, -EINVAL, "a row for every edge", "%s: %lld rows for %lld edges",
                        t->name, (long long)t->rows, (long long)edges);
    OG_TRY(make_edge_features(imp, relation, t, err));
    if (reverse < imp->graph.n_relations)
        OG_TRY(make_edge_features(imp, reverse, t, err));
    og__import_say(imp, "%s: %d features of each edge, stored as %s%s%s", t->name, rows->dim,
                   og__dtype_name(rows->stored),
                   both ? "; an edge and its reverse have a row each" : "",
                   imp->opt->link ? "; copied despite --in-place, because edges are sorted" : "");
out:
    return rc;
}

int og__import_groups(struct og_importer *imp, og_open_features *open, void *source,
                      struct og_err *err)
{
    struct og_table *t = NULL;
    int rc = 0;
    for (uint32_t k = 0; k < imp->graph.n_groups; k++) {
        OG_TRY(open(source, k, &t, err));
        OG_TRY(og__import_features(imp, k, t, NULL, err));
        og__table_close(t);
        t = NULL;
    }
out:
    og__table_close(t);
    return rc;
}
