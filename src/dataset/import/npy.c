/* The neutral layout: edges.npy, feat.npy (or feat_indptr, feat_indices, feat_data), label.npy,
 * splits, and what docs/formats.md lists as optional. */
#include "dataset/import/npy.h"

#include "dataset/import/by_id.h"

#include "dataset/convert.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "import";

/* ---- features as CSR: a table whose rows are filled in ---- */

struct sparse_table {
    struct og_table t;
    struct og_npy indptr, indices, data;
    struct og_budget *budget;
    size_t bytes;
    char *raw; /* indices and values of one row */
};

static int read_sparse_row(struct sparse_table *s, const int64_t ptr[2], int64_t v, float *row,
                           struct og_err *err)
{
    int64_t begin = ptr[0];
    int64_t n = ptr[1] - begin;
    char *values = s->raw + (size_t)s->t.columns * 8;
    if (begin < 0 || n < 0 || n > s->t.columns || begin > s->indices.shape[0] - n)
        return og__fail(err, -EINVAL, "indptr, indices and data of one CSR matrix belong together",
                        "%s: row %lld: %lld values from %lld on, of %lld", s->indptr.path,
                        (long long)v, (long long)n, (long long)begin,
                        (long long)s->indices.shape[0]);
    int rc;
    OG_TRY(og__npy_read(&s->indices, begin, n, s->raw, err));
    OG_TRY(og__npy_read(&s->data, begin, n, values, err));
    memset(row, 0, (size_t)s->t.columns * sizeof(*row));
    for (int64_t i = 0; i < n; i++) {
        int64_t column = og__integer_at(s->indices.type, s->raw, (size_t)i);
        if (column < 0 || column >= s->t.columns)
            return og__fail(err, -EINVAL, "columns count from 0",
                            "%s: entry %lld: column %lld of %lld", s->indices.path,
                            (long long)(begin + i), (long long)column, (long long)s->t.columns);
        row[column] += (float)og__number_at(s->data.type, values, (size_t)i);
    }
    return 0;
out:
    return rc;
}

static int sparse_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                       struct og_err *err)
{
    enum { ROWS = 512 };
    struct sparse_table *s = (struct sparse_table *)t;
    int64_t ptr[ROWS + 1];
    int rc = 0;
    *got = 0;
    while (*got < want) {
        int64_t n = OG_MIN(want - *got, (int64_t)ROWS);
        OG_TRY(og__npy_read_int64(&s->indptr, t->next + *got, n + 1, ptr, err));
        for (int64_t i = 0; i < n; i++, ++*got)
            OG_TRY(
                read_sparse_row(s, ptr + i, t->next + *got, (float *)out + *got * t->columns, err));
    }
out:
    return rc;
}

static int sparse_rewind(struct og_table *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static void sparse_close(struct og_table *t)
{
    struct sparse_table *s = (struct sparse_table *)t;
    og__release(s->budget, s->raw, s->bytes, part);
    og__npy_close(&s->indptr);
    og__npy_close(&s->indices);
    og__npy_close(&s->data);
    free(s);
}

static const struct og_table_ops sparse_ops = {sparse_read, sparse_rewind, sparse_close, NULL};

static int open_in(const struct og_importer *imp, const char *name, struct og_npy *a,
                   struct og_err *err)
{
    char *path = og__import_source(imp, name);
    int rc = path ? og__npy_open(a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    free(path);
    return rc;
}

static int check_sparse(const struct sparse_table *s, struct og_err *err)
{
    if (!og__npy_is_integer(s->indptr.type) || !og__npy_is_integer(s->indices.type))
        return og__fail(err, -EINVAL, "store them as int32 or int64",
                        "%s: indptr and indices are whole numbers", s->indptr.path);
    if (s->indptr.shape[0] < 1 || s->indices.shape[1] != 1 || s->data.shape[1] != 1 ||
        s->indices.shape[0] != s->data.shape[0])
        return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                        "%s: %lld indices, %lld values", s->data.path,
                        (long long)s->indices.shape[0], (long long)s->data.shape[0]);
    return 0;
}

/* The rows are all of the values, from the first to the last. */
static int check_ends(const struct sparse_table *s, struct og_err *err)
{
    int64_t first = 0;
    int64_t last = 0;
    int rc;
    OG_TRY(og__npy_read_int64(&s->indptr, 0, 1, &first, err));
    OG_TRY(og__npy_read_int64(&s->indptr, s->indptr.shape[0] - 1, 1, &last, err));
    if (first == 0 && last == s->data.shape[0])
        return rc;
    return og__fail(err, -EINVAL, "the three arrays of one CSR matrix belong together",
                    "%s: from %lld to %lld, there are %lld values", s->indptr.path,
                    (long long)first, (long long)last, (long long)s->data.shape[0]);
out:
    return rc;
}

/* Width of the matrix: one more than its largest column. */
static int find_columns(struct sparse_table *s, struct og_err *err)
{
    enum { PIECE = 8192 };
    int64_t piece[PIECE];
    int64_t most = -1;
    int rc = 0;
    for (int64_t first = 0, n; first < s->indices.shape[0]; first += n) {
        n = OG_MIN(s->indices.shape[0] - first, (int64_t)PIECE);
        OG_TRY(og__npy_read_int64(&s->indices, first, n, piece, err));
        for (int64_t i = 0; i < n; i++)
            most = OG_MAX(most, piece[i]);
    }
    if (most >= INT32_MAX / 8)
        OG_TRY(og__fail(err, -EINVAL, "columns count from 0", "%s: column %lld", s->indices.path,
                        (long long)most));
out:
    s->t.columns = most + 1;
    return rc;
}

/* <prefix>_indptr.npy and so on. */
static int open_csr(const struct og_importer *imp, const char *prefix, struct sparse_table *s,
                    struct og_err *err)
{
    static const char *const ends[] = {"indptr", "indices", "data"};
    struct og_npy *const arrays[] = {&s->indptr, &s->indices, &s->data};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(ends); i++) {
        char name[OG__NPY_PREFIX + 16];
        snprintf(name, sizeof(name), "%s_%s.npy", prefix, ends[i]);
        OG_TRY(open_in(imp, name, arrays[i], err));
    }
out:
    return rc;
}

static int open_sparse(const struct og_importer *imp, const char *prefix, struct og_table **out,
                       struct og_err *err)
{
    int rc = 0;
    *out = NULL;
    struct sparse_table *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    s->t = (struct og_table){.ops = &sparse_ops, .type = OG__NPY_F32, .ndim = 2};
    s->budget = imp->budget;
    s->indptr.fd = s->indices.fd = s->data.fd = -1;
    OG_TRY(open_csr(imp, prefix, s, err));
    OG_TRY(check_sparse(s, err));
    OG_TRY(check_ends(s, err));
    OG_TRY(find_columns(s, err));
    s->t.rows = s->indptr.shape[0] - 1;
    s->bytes = (size_t)OG_MAX(s->t.columns, (int64_t)1) * 16;
    if (!(s->t.name = strdup(s->data.path)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src));
    if (!(s->raw = og__alloc(imp->budget, s->bytes, part, err)))
        OG_TRY(-ENOMEM);
    *out = &s->t;
out:
    if (rc < 0)
        og__table_close(&s->t);
    return rc;
}

/* ---- edges: a row an edge, or a row of sources and one of destinations ----
 *
 *   shape            order     in the file
 *   [E, 2]           C         src dst src dst ...
 *   [E, 2]           Fortran   src src ... dst dst ...
 *   [2, E], E != 2   C         src src ... dst dst ...    PyTorch Geometric's edge_index
 *   [2, E], E != 2   Fortran   src dst src dst ...
 *
 * What lies as two rows is read by two tables, side by side. [2, 2] is [E, 2]. */

static const char edges_file[] = "edges.npy";

/* src is the file already. */
static int take_two_rows(const struct og_importer *imp, struct og_edges *e, struct og_err *err)
{
    bool fortran = false;
    int rc;
    OG_TRY(og__import_open_as_stored(imp, edges_file, &e->dst, &fortran, err));
    OG_TRY(og__table_take_row(e->src, 0, err));
    OG_TRY(og__table_take_row(e->dst, 1, err));
out:
    return rc;
}

int og__npy_edges(const struct og_importer *imp, struct og_edges *e, struct og_err *err)
{
    struct og_table *t;
    bool fortran = false;
    int rc = og__import_open_as_stored(imp, edges_file, &t, &fortran, err);
    if (rc < 0)
        return rc;
    const int64_t rows = fortran ? t->columns : t->rows;
    const int64_t columns = fortran ? t->rows : t->columns;
    const bool in_pairs = (columns == 2) != fortran;
    if (in_pairs)
        e->pairs = t;
    else
        e->src = t;
    if (t->ndim != 2 || (rows != 2 && columns != 2))
        return og__fail(err, -EINVAL,
                        "one row an edge: src, dst; weights go to a file of their own",
                        "%s: shape [%lld, %lld], expected [E, 2] or [2, E]", t->name,
                        (long long)rows, (long long)columns);
    rc = in_pairs ? 0 : take_two_rows(imp, e, err);
    return rc < 0 ? rc : og__import_open_npy(imp, "edge_weight.npy", true, &e->weights, err);
}

/* ---- opening ---- */

static const char features_by_id[] = "feat.csv";
static const char labels_by_id[] = "label.csv";

struct source {
    struct og_edges edges;
    struct og_table *features, *values, *labels;
    struct og_npy_said said;
};

void og__npy_close_edges(struct og_edges *e)
{
    og__table_close(e->pairs);
    og__table_close(e->src);
    og__table_close(e->dst);
    og__table_close(e->weights);
    *e = (struct og_edges){0};
}

static void close_source(struct source *s)
{
    og__npy_close_edges(&s->edges);
    og__table_close(s->features);
    og__table_close(s->values);
    og__table_close(s->labels);
    json_decref(s->said.root);
}

static const char optional[] = "mend it, or remove it: it is optional";

/* *n stays where it is not said, or null. */
static int get_count(const json_t *root, const char *key, int64_t *n, const char *path,
                     struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    if (!value || json_is_null(value))
        return 0;
    *n = json_integer_value(value);
    return json_is_integer(value) && *n >= 0
               ? 0
               : og__fail(err, -EINVAL, "mend it, or leave it out: the arrays tell as well",
                          "%s: \"%s\" must be a whole number", path, key);
}

/* Texts, where they are there. */
static int check_text(const json_t *root, const char *key, const char *path, struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    return !value || json_is_null(value) || json_is_string(value)
               ? 0
               : og__fail(err, -EINVAL, "mend it, or leave it out", "%s: \"%s\" must be a text",
                          path, key);
}

/* true or false, where it is there. */
static int check_flag(const json_t *root, const char *key, const char *path, struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    return !value || json_is_null(value) || json_is_boolean(value)
               ? 0
               : og__fail(err, -EINVAL, "mend it, or leave it out",
                          "%s: \"%s\" must be true or false", path, key);
}

/* Names of types, where they are there: a list of {"<key>": number, "name": text}, each number
 * once. */
static int check_types(const json_t *root, const char *list, const char *key, const char *path,
                       struct og_err *err)
{
    const json_t *types = json_object_get(root, list);
    char hint[96];
    size_t i;
    json_t *one;
    snprintf(hint, sizeof(hint), "write \"%s\": [{\"%s\": 0, \"name\": \"paper\"}, ...]", list,
             key);
    if (types && !json_is_null(types) && !json_is_array(types))
        return og__fail(err, -EINVAL, hint, "%s: \"%s\" must be a list", path, list);
    json_array_foreach(types, i, one)
    {
        const json_t *number = json_object_get(one, key);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            !json_is_string(json_object_get(one, "name")))
            return og__fail(err, -EINVAL, hint, "%s: \"%s\": entry %zu is no type", path, list, i);
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_object_get(json_array_get(types, j), key), number))
                return og__fail(err, -EINVAL, hint, "%s: \"%s\": type %lld has two names", path,
                                list, (long long)json_integer_value(number));
    }
    return 0;
}

/* Of the source's meta.json. */
static void name_unread_keys(const struct og_importer *imp, json_t *root, const char *path)
{
    static const char *const read[] = {"name",      "num_nodes",  "num_classes", "task",
                                       "symmetric", "node_types", "edge_types"};
    struct og_names names = {.n = 0};
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        size_t i = 0;
        while (i < OG_COUNT(read) && strcmp(key, read[i]) != 0)
            i++;
        if (i == OG_COUNT(read))
            og__names_add(&names, key);
    }
    if (names.n > 0)
        og__import_warn(imp, "%s: keys that are not read: %s", path, og__names_text(&names));
}

int og__npy_said(struct og_importer *imp, struct og_npy_said *s, struct og_err *err)
{
    char *text = NULL;
    size_t len = 0;
    json_t *root = NULL;
    *s = (struct og_npy_said){.nodes = -1, .classes = -1};
    int rc = og__import_has(imp, "meta.json", err);
    if (rc <= 0)
        return rc;
    char *path = og__import_source(imp, "meta.json");
    OG_TRY(path ? og__read_text(path, OG_MIB, &text, &len, err)
                : og__fail_errno(err, -ENOMEM, NULL, "meta.json"));
    OG_TRY(og__json_parse(&root, text, len, path, optional, err));
    if (!json_is_object(root))
        OG_TRY(og__fail(err, -EINVAL, optional, "%s: not a JSON object", path));
    OG_TRY(get_count(root, "num_nodes", &s->nodes, path, err));
    OG_TRY(get_count(root, "num_classes", &s->classes, path, err));
    OG_TRY(check_text(root, "name", path, err));
    OG_TRY(check_text(root, "task", path, err));
    OG_TRY(check_flag(root, "symmetric", path, err));
    OG_TRY(check_types(root, "node_types", "type", path, err));
    OG_TRY(check_types(root, "edge_types", "edge_type", path, err));
    og__import_set_name(imp, json_string_value(json_object_get(root, "name")));
    const char *task = json_string_value(json_object_get(root, "task"));
    imp->values = task && strstr(task, "regression");
    imp->said_symmetric = json_is_true(json_object_get(root, "symmetric"));
    name_unread_keys(imp, root, path);
    s->root = json_incref(root);
out:
    json_decref(root);
    free(text);
    free(path);
    return rc;
}

int og__npy_features(const struct og_importer *imp, const char *prefix, struct og_table **features,
                     struct og_table **values, struct og_err *err)
{
    char name[OG__NPY_PREFIX + 16];
    snprintf(name, sizeof(name), "%s.npy", prefix);
    int rc = og__import_open_npy(imp, name, true, features, err);
    if (rc < 0 || *features)
        return rc;
    snprintf(name, sizeof(name), "%s_indptr.npy", prefix);
    rc = og__import_has(imp, name, err);
    if (rc <= 0)
        return rc;
    rc = open_sparse(imp, prefix, features, err);
    snprintf(name, sizeof(name), "%s_data.npy", prefix);
    return rc < 0 ? rc : og__import_open_npy(imp, name, false, values, err);
}

/* Are the numbers in it ids or rows? */
static int doubtful(const struct og_importer *imp, const struct og_table *t, const char *split,
                    struct og_err *err)
{
    if (!imp->ids.list)
        return 0;
    char hint[160];
    snprintf(hint, sizeof(hint), "write the ids to %s.csv, one a line", split);
    return og__fail(err, -EINVAL, hint,
                    "%s: rows or ids? Nodes are numbered anew, and CSV beside it has ids", t->name);
}

/* Files that a split may be in: one of them, or none. */
static const struct split {
    const char *name; /* in the dataset */
    bool of_edges;
    const char *file[9];
} splits[] = {
    {"train", false, {"train.npy", "train_idx.npy", "train_mask.npy", "train.csv"}},
    {"valid",
     false,
     {"valid.npy", "val.npy", "valid_idx.npy", "val_idx.npy", "valid_mask.npy", "val_mask.npy",
      "valid.csv", "val.csv"}},
    {"test", false, {"test.npy", "test_idx.npy", "test_mask.npy", "test.csv"}},
    {"train_edges", true, {"train_edges.npy"}},
    {"valid_edges", true, {"valid_edges.npy", "val_edges.npy"}},
    {"test_edges", true, {"test_edges.npy"}},
};

static bool is_text(const char *file)
{
    return strcmp(file + strlen(file) - 4, ".csv") == 0;
}

/* *file = NULL where there is none. */
static int find_split(const struct og_importer *imp, const struct split *s, const char **file,
                      struct og_err *err)
{
    int rc = 0;
    *file = NULL;
    for (size_t i = 0; s->file[i]; i++) {
        rc = is_text(s->file[i]) ? og__by_id_has(imp, s->file[i], err)
                                 : og__import_has(imp, s->file[i], err);
        if (rc < 0)
            return rc;
        if (rc > 0 && *file)
            return og__fail(err, -EINVAL, "remove one of them", "%s: both %s and %s", imp->src,
                            *file, s->file[i]);
        if (rc > 0)
            *file = s->file[i];
    }
    return 0;
}

static int import_split(struct og_importer *imp, const struct split *s, struct og_err *err)
{
    char name[32];
    struct og_table *t = NULL;
    const char *file;
    int rc = find_split(imp, s, &file, err);
    if (rc < 0 || !file)
        return rc;
    snprintf(name, sizeof(name), "%s.npy", s->name);
    if (is_text(file))
        OG_TRY(og__by_id_list(imp, file, &t, err));
    else
        OG_TRY(og__import_open_npy(imp, file, false, &t, err));
    if (!is_text(file))
        OG_TRY(doubtful(imp, t, s->name, err));
    rc = s->of_edges ? og__import_edge_split(imp, t, name, err)
                     : og__import_split(imp, t, name, err);
out:
    og__table_close(t);
    return rc;
}

int og__import_npy_splits(struct og_importer *imp, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(splits); i++)
        OG_TRY(import_split(imp, &splits[i], err));
    if (!imp->has_splits)
        og__import_say(imp, "no train.npy or train.csv: a graph without splits, for predict, "
                            "--task link and loaders");
out:
    return rc;
}

/* What is not there as .npy may be there by id: such a table takes memory, so it is opened when its
 * turn comes, and closed before the next. */
static int import_features(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc = 0;
    if (!s->features)
        OG_TRY(og__by_id_open(imp, features_by_id, true, &s->features, err));
    OG_TRY(s->features ? og__import_features(imp, s->features, s->values, err)
                       : og__import_no_features(imp, err));
out:
    og__table_close(s->features);
    s->features = NULL;
    return rc;
}

static int import_labels(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc = 0;
    if (!s->labels)
        OG_TRY(og__by_id_open(imp, labels_by_id, false, &s->labels, err));
    if (s->labels)
        OG_TRY(og__import_labels(imp, s->labels, s->said.classes, false, err));
    else
        og__import_no_labels(imp, s->said.classes);
out:
    return rc;
}

/* Names of types of meta.json, in a graph without types. */
static void doubt_types(const struct og_importer *imp, const struct source *s, const char *list,
                        const char *file)
{
    const size_t n = json_array_size(json_object_get(s->said.root, list));
    if (n > 1)
        og__import_warn(imp, "%s/meta.json: \"%s\" names %zu types, there is %s %s", imp->src, list,
                        n, imp->opt->drop_types ? "--drop-types, not" : "no", file);
}

static int import_nodes(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc = 0;
    if (s->said.nodes >= 0 && s->said.nodes != imp->n_nodes)
        OG_TRY(og__fail(err, -EINVAL, "mend meta.json, or leave it out",
                        "%s/meta.json: \"num_nodes\" is %lld, the edges' file has %lld nodes",
                        imp->src, (long long)s->said.nodes, (long long)imp->n_nodes));
    doubt_types(imp, s, "node_types", "node_type.npy");
    doubt_types(imp, s, "edge_types", "edge_type.npy");
    OG_TRY(import_features(imp, s, err));
    OG_TRY(import_labels(imp, s, err));
    OG_TRY(og__import_npy_splits(imp, err));
out:
    return rc;
}

/* N, from what says it first; the others must agree when their turn comes. */
static int64_t count_nodes(const struct source *s)
{
    return s->said.nodes >= 0 ? s->said.nodes
           : s->features      ? s->features->rows
           : s->labels        ? s->labels->rows
                              : -1;
}

/* What count_nodes goes by. */
static const char *nodes_from(const struct source *s)
{
    return s->said.nodes >= 0 ? "meta.json"
           : s->values        ? "feat_indptr.npy"
           : s->features      ? "feat.npy"
           : s->labels        ? "label.npy"
                              : NULL;
}

static int open_nodes(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc;
    OG_TRY(og__npy_said(imp, &s->said, err));
    OG_TRY(og__npy_features(imp, "feat", &s->features, &s->values, err));
    OG_TRY(og__import_open_npy(imp, "label.npy", true, &s->labels, err));
out:
    return rc;
}

int og__import_npy_rows(struct og_importer *imp, int64_t *rows, struct og_err *err)
{
    struct source s = {0};
    int rc = open_nodes(imp, &s, err);
    *rows = count_nodes(&s);
    imp->claimed = !s.features && !s.labels;
    close_source(&s);
    return rc;
}

int og__import_npy_nodes(struct og_importer *imp, struct og_err *err)
{
    struct source s = {0};
    int rc;
    OG_TRY(open_nodes(imp, &s, err));
    OG_TRY(import_nodes(imp, &s, err));
out:
    close_source(&s);
    return rc;
}

int og__import_nodes_of(struct og_importer *imp, bool is_folder, struct og_err *err)
{
    if (is_folder)
        return og__import_npy_nodes(imp, err);
    const int rc = og__import_no_features(imp, err);
    if (rc >= 0)
        og__import_no_labels(imp, -1);
    return rc;
}

/* Of edges that do not say how many nodes there are. */
static int find_nodes(struct og_importer *imp, const struct source *s, struct og_err *err)
{
    int64_t lines = -1;
    int rc = 0;
    if (!s->features)
        OG_TRY(og__by_id_count(imp, features_by_id, &lines, err));
    if (!s->features && lines < 0)
        OG_TRY(og__fail(
            err, -ENOENT, "add feat.npy [N, F], or feat_indptr/indices/data.npy (CSR), or feat.csv",
            "%s: no features: none of feat.npy, feat_indptr.npy and feat.csv", imp->src));
    imp->nodes_from = nodes_from(s) ? nodes_from(s) : features_by_id;
    OG_TRY(og__import_set_nodes(imp, count_nodes(s) >= 0 ? count_nodes(s) : lines, err));
out:
    return rc;
}

static int open_source(struct og_importer *imp, struct source *s, struct og_err *err)
{
    int rc;
    OG_TRY(og__npy_edges(imp, &s->edges, err));
    OG_TRY(open_nodes(imp, s, err));
    OG_TRY(find_nodes(imp, s, err));
    OG_TRY(s->labels ? 0 : og__by_id_has(imp, labels_by_id, err));
    if (!s->labels && rc == 0)
        og__import_say(
            imp, "no label.npy or label.csv: a graph without labels, for --task link and loaders");
    OG_TRY(og__import_expect_rows(imp, s->features, "rows", err));
    OG_TRY(og__import_expect_rows(imp, s->labels, "labels", err));
out:
    return rc;
}

static int import_plain(struct og_importer *imp, struct og_err *err)
{
    struct source s = {0};
    int rc;
    OG_TRY(open_source(imp, &s, err));
    OG_TRY(og__import_edges(imp, &s.edges, err));
    OG_TRY(import_nodes(imp, &s, err));
out:
    close_source(&s);
    return rc;
}

static int import_npy(struct og_importer *imp, struct og_err *err)
{
    int node = 0;
    int edge = 0;
    bool typed = false;
    int rc = 0;
    if (!imp->opt->drop_types) {
        OG_TRY(node = og__import_has(imp, "node_type.npy", err));
        OG_TRY(edge = og__import_has(imp, "edge_type.npy", err));
    }
    if (node || edge)
        OG_TRY(og__import_npy_typed(imp, &typed, err));
    if (!typed)
        OG_TRY(import_plain(imp, err));
out:
    return rc;
}

const struct og_format og__format_npy = {
    .info =
        {.name = "npy",
         .files =
             "SRC is a folder with edges.npy (integers [E,2], src,dst, or [2,E] as PyTorch "
             "Geometric's edge_index; [2,2] is [E,2]), feat.npy ([N,F]) or "
             "feat_indptr.npy, feat_indices.npy and feat_data.npy (CSR), label.npy, train.npy, "
             "valid.npy and test.npy, and optionally edge_weight.npy, meta.json and, for --task "
             "link, "
             "train_edges.npy, valid_edges.npy and test_edges.npy; with node_type.npy and "
             "edge_type.npy, numbers that meta.json names, nodes have types and edges relations, "
             "and "
             "train_edge_type.npy and its like are of the edges of those lists. "
             "examples/export_dgl.py and export_pyg.py write it from DGL and PyTorch Geometric.",
         .signs = (const char *const[]){"edges.npy", NULL},
         .node_arrays = true},
    .read = import_npy,
    .deep = 0};
