#include "dataset/meta.h"

#include "base/file.h"
#include "base/hex.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [OG__INDPTR] = "indptr",
    [OG__INDICES] = "indices",
    [OG__WEIGHTS] = "weights",
    [OG__EDGE_IDS] = "edge_ids",
    [OG__EDGE_FEATURES] = "edge_features",
    [OG__EDGE_TIMES] = "edge_times",
    [OG__FEATURES] = "features",
    [OG__LABELS] = "labels",
    [OG__NODE_TIMES] = "node_times",
    [OG__ARRAY_TRAIN] = "train",
    [OG__ARRAY_VALID] = "valid",
    [OG__ARRAY_TEST] = "test",
    [OG__ARRAY_TRAIN_EDGES] = "train_edges",
    [OG__ARRAY_VALID_EDGES] = "valid_edges",
    [OG__ARRAY_TEST_EDGES] = "test_edges",
};

const char *og__array_name(enum og__array array)
{
    return names[array];
}

/* ---- reading: `at` is "path: meta.json key", for messages ---- */

static int wrong(const char *name, const char *key, const char *expected, struct og_err *err)
{
    return og__fail(err, -EINVAL,
                    "see docs/reference/formats.md for meta.json, or import the data again",
                    "%s: \"%s\" must be %s", name, key, expected);
}

/* A count: absent leaves *out as it is. */
static int get_count(const json_t *object, const char *key, int64_t max, int64_t *out,
                     const char *name, struct og_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return 0;
    int64_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    if (n < 0 || n > max)
        return wrong(name, key, "a count within bounds", err);
    *out = n;
    return 0;
}

static int get_text(json_t *object, const char *key, const char **out, const char *name,
                    struct og_err *err)
{
    json_t *value = json_object_get(object, key);
    if (value && !json_is_string(value))
        return wrong(name, key, "text", err);
    if (value)
        *out = json_string_value(value);
    return 0;
}

static int get_format(struct og_meta *m, const char *name, struct og_err *err)
{
    const json_t *format = json_object_get(m->root, "format");
    if (!json_is_integer(format))
        return og__fail(err, -EINVAL, "make one with `outgrow import` or `outgrow generate`",
                        "%s: not a dataset's (no \"format\")", name);
    const json_int_t n = json_integer_value(format);
    if (n != OG__FORMAT_PLAIN && n != OG__FORMAT_TYPED)
        return og__fail(err, -EINVAL, "use the release of outgrow that made it",
                        "%s: dataset format %lld, this release reads 1 and 2", name, (long long)n);
    m->format = (int)n;
    return 0;
}

static int get_shape(json_t *shape, struct og_meta_file *f, const char *name, struct og_err *err)
{
    size_t ndim = json_array_size(shape);
    if (ndim < 1 || ndim > 2)
        return wrong(name, "shape", "one or two numbers", err);
    f->ndim = (int)ndim;
    f->shape[1] = 1;
    for (size_t i = 0; i < ndim; i++) {
        json_t *n = json_array_get(shape, i);
        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return wrong(name, "shape", "one or two counts", err);
        f->shape[i] = json_integer_value(n);
    }
    return 0;
}

/* "float32", or one of ours: "f32", "bf16". */
static int find_type(const char *dtype)
{
    int type = og__npy_find_type(dtype);
    int ours = og__dtype_find(dtype);
    return type >= 0 || ours < 0 ? type : (int)og__dtype_stored((enum og_dtype)ours);
}

/* Only features are large enough to be on several disks. */
static int get_parts(json_t *object, struct og_meta_file *f, const char *name, struct og_err *err)
{
    static const char expected[] = "a list of 2 to 64 files with \"path\"";
    json_t *parts = json_object_get(object, "parts");
    int64_t unit = 0;
    const size_t n = json_array_size(parts);
    OG_DO(get_count(object, "unit", UINT32_MAX, &unit, name, err));
    if (unit < 1)
        OG_DO(wrong(name, "unit", "the rows of a unit", err));
    if (n < 2 || n > OG_MOST_PARTS)
        OG_DO(wrong(name, "parts", expected, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *part = json_array_get(parts, i);
        const char *path = json_string_value(json_object_get(part, "path"));
        const json_t *contents = json_object_get(part, "contents");
        uint64_t number;
        if (!path || !*path)
            OG_DO(wrong(name, "parts", expected, err));
        if (contents && !og__json_hex_get(contents, &number))
            OG_DO(wrong(name, "contents", "16 hexadecimal digits", err));
    }
    f->whole = -1;
    OG_DO(get_count(object, "bytes", INT64_MAX, &f->whole, name, err));
    f->stripes = (struct og_stripes){.parts = (uint32_t)n, .unit = (uint32_t)unit};
    f->parts = parts;
    return 0;
}

struct og_meta_part og__meta_part(const struct og_meta_file *f, uint32_t part)
{
    const json_t *object = json_array_get(f->parts, part);
    struct og_meta_part found = {
        .path = json_string_value(json_object_get(object, "path")),
        .checksum = json_string_value(json_object_get(object, "checksum")),
    };
    (void)!og__json_hex_get(json_object_get(object, "contents"), &found.contents);
    return found;
}

/* Features alone are so large that machines have a share each. */
static int get_share(json_t *object, struct og_meta_file *f, const char *name, struct og_err *err)
{
    int64_t workers = 0;
    int64_t worker = 0;
    OG_DO(get_count(object, "workers", OG_MOST_PARTS, &workers, name, err));
    OG_DO(get_count(object, "worker", OG_MOST_PARTS, &worker, name, err));
    if (workers < 2 || worker >= workers)
        OG_DO(wrong(name, "workers", "2 to 64, and \"worker\" below it", err));
    if (!og__json_hex_get(json_object_get(object, "contents"), &f->contents))
        OG_DO(wrong(name, "contents", "16 hexadecimal digits", err));
    f->workers = (uint32_t)workers;
    f->worker = (uint32_t)worker;
    return 0;
}

static int get_file(json_t *files, const char *key, struct og_meta_file *f, const char *name,
                    struct og_err *err)
{
    json_t *object = json_object_get(files, key);
    const char *dtype = NULL;
    const bool of_features = strncmp(key, "features", strlen("features")) == 0;
    if (!object)
        return 0;
    if (!json_is_object(object))
        return wrong(name, key, "an object", err);
    if (of_features && json_object_get(object, "parts"))
        return get_parts(object, f, name, err);
    if (strcmp(key, names[OG__FEATURES]) == 0 && json_object_get(object, "workers"))
        OG_DO(get_share(object, f, name, err));
    OG_DO(get_text(object, "path", &f->path, name, err));
    OG_DO(get_text(object, "dtype", &dtype, name, err));
    OG_DO(get_count(object, "offset", INT64_MAX / 2, &f->offset, name, err));
    if (!f->path || !*f->path)
        OG_DO(wrong(name, "path", "the name of a file", err));
    f->raw = dtype != NULL;
    if (f->raw) {
        int type = find_type(dtype);
        if (type < 0)
            OG_DO(wrong(name, "dtype", "a NumPy type such as float32", err));
        f->type = (enum og__npy_type)type;
        OG_DO(get_shape(json_object_get(object, "shape"), f, name, err));
    }
    return 0;
}

static int get_dtype(json_t *object, const char *key, int *out, const char *name,
                     struct og_err *err)
{
    const char *dtype = NULL;
    const int rc = get_text(object, key, &dtype, name, err);
    if (rc < 0 || !dtype)
        return rc;
    *out = og__dtype_find(dtype);
    return *out < 0 ? wrong(name, key, "f32, f16, bf16, u8, i8, e4m3 or one", err) : 0;
}

/* The form of sparse rows. */
static int get_form(json_t *object, struct og_type_meta *t, const char *name, struct og_err *err)
{
    OG_DO(get_count(object, "feature_entries", INT32_MAX / 16, &t->room, name, err));
    OG_DO(get_count(object, "feature_entries_most", INT32_MAX / 16, &t->longest, name, err));
    if (t->room < 0)
        return t->dtype == OG_ONE ? wrong(name, "feature_dtype", "one of sparse rows", err) : 0;
    if (t->dim < 1 || t->dtype < 0 || og__dtype_scaled((enum og_dtype)t->dtype))
        return wrong(name, "feature_entries", "of rows with feature_dim and a dtype without scales",
                     err);
    if (t->room < 1 || t->room % OG__ENTRIES_STEP != 0)
        return wrong(name, "feature_entries", "a multiple of 4", err);
    if (t->longest < 0 || t->longest > t->dim)
        return wrong(name, "feature_entries_most", "there, and feature_dim at most", err);
    return 0;
}

/* What the features of nodes are, or of edges. */
static int get_rows(json_t *object, bool of_edges, int64_t *dim, int *dtype, const char *name,
                    struct og_err *err)
{
    OG_DO(get_count(object, of_edges ? "edge_feature_dim" : "feature_dim", INT32_MAX / 8, dim, name,
                    err));
    return get_dtype(object, of_edges ? "edge_feature_dtype" : "feature_dtype", dtype, name, err);
}

static int get_facts(struct og_meta *m, const char *name, struct og_err *err)
{
    OG_DO(get_text(m->root, "name", &m->name, name, err));
    OG_DO(get_text(m->root, "task", &m->task, name, err));
    OG_DO(get_count(m->root, "num_nodes", UINT32_MAX - 1, &m->n_nodes, name, err));
    OG_DO(get_count(m->root, "num_edges", INT64_MAX / 16, &m->n_edges, name, err));
    OG_DO(get_count(m->root, "num_classes", INT32_MAX / 8, &m->n_classes, name, err));
    json_t *multi = json_object_get(m->root, "multi_label");
    if (multi && !json_is_boolean(multi))
        OG_DO(wrong(name, "multi_label", "true or false", err));
    if (multi)
        m->multi_label = json_is_true(multi);
    json_t *symmetric = json_object_get(m->root, "symmetric");
    if (symmetric && !json_is_boolean(symmetric))
        OG_DO(wrong(name, "symmetric", "true or false", err));
    m->symmetric = json_is_true(symmetric) && m->format == OG__FORMAT_PLAIN;
    if (m->n_classes < 0)
        OG_DO(wrong(name, "num_classes", "there", err));
    return 0;
}

/* ---- types of nodes and of edges ---- */

int og__check_type_name(const char *name, const char *said_by, struct og_err *err)
{
    size_t n = strlen(name);
    bool good = n > 0 && n <= OG__TYPE_NAME_MAX && !strstr(name, "__") && name[0] != '.' &&
                !strpbrk(name, "/,;:=");
    for (const char *p = name; *p; p++)
        good = good && (unsigned char)*p >= ' ' && *p != 0x7f;
    if (good)
        return 0;
    return og__fail(err, -EINVAL,
                    "1 to 63 bytes, without / , ; : = and __, which names are joined by, and "
                    "no . in front",
                    "%s: '%.80s' cannot be the name of a type or a relation", said_by, name);
}

static int get_name(const json_t *object, const char *key, const char **out, const char *name,
                    struct og_err *err)
{
    *out = json_string_value(json_object_get(object, key));
    return *out ? og__check_type_name(*out, name, err) : wrong(name, key, "there, and text", err);
}

static int get_type(json_t *object, struct og_type_meta *t, const char *name, struct og_err *err)
{
    *t = (struct og_type_meta){.count = -1, .dim = -1, .dtype = -1, .room = -1, .longest = -1};
    OG_DO(get_name(object, "name", &t->name, name, err));
    OG_DO(get_count(object, "count", UINT32_MAX - 1, &t->count, name, err));
    OG_DO(get_rows(object, false, &t->dim, &t->dtype, name, err));
    OG_DO(get_form(object, t, name, err));
    t->has_rows = t->dim > 0;
    if (t->count < 1)
        OG_DO(wrong(name, "count", "there, and 1 at least", err));
    return 0;
}

static int find_named(const struct og_meta *m, const json_t *object, const char *key, uint32_t *out,
                      const char *name, struct og_err *err)
{
    const char *wanted;
    int rc = get_name(object, key, &wanted, name, err);
    if (rc < 0 || !wanted)
        return rc;
    for (*out = 0; *out < m->n_types; ++*out) {
        assert(m->type[*out].name);
        if (strcmp(m->type[*out].name, wanted) == 0)
            return 0;
    }
    return wrong(name, key, "the name of one of \"node_types\"", err);
}

static int get_relation(const struct og_meta *m, json_t *object, struct og_relation_meta *r,
                        const char *name, struct og_err *err)
{
    *r = (struct og_relation_meta){.n_edges = -1, .edge_dim = -1, .edge_dtype = -1};
    OG_DO(find_named(m, object, "source", &r->source, name, err));
    OG_DO(get_name(object, "name", &r->name, name, err));
    OG_DO(find_named(m, object, "destination", &r->destination, name, err));
    OG_DO(get_count(object, "num_edges", INT64_MAX / 16, &r->n_edges, name, err));
    return get_rows(object, true, &r->edge_dim, &r->edge_dtype, name, err);
}

static bool same_relation(const struct og_relation_meta *a, const struct og_relation_meta *b)
{
    return a->source == b->source && a->destination == b->destination &&
           strcmp(a->name, b->name) == 0;
}

/* The totals of format 1, for a homogeneous graph. */
static int get_all(struct og_meta *m, const char *name, struct og_err *err)
{
    if (!(m->type = calloc(1, sizeof(*m->type))) ||
        !(m->relation = calloc(1, sizeof(*m->relation))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    m->n_types = m->n_relations = 1;
    *m->type = (struct og_type_meta){.name = "",
                                     .count = m->n_nodes,
                                     .dim = -1,
                                     .dtype = -1,
                                     .room = -1,
                                     .longest = -1,
                                     .has_rows = true};
    *m->relation = (struct og_relation_meta){
        .name = "", .n_edges = m->n_edges, .edge_dim = -1, .edge_dtype = -1};
    OG_DO(get_rows(m->root, false, &m->type->dim, &m->type->dtype, name, err));
    OG_DO(get_form(m->root, m->type, name, err));
    return get_rows(m->root, true, &m->relation->edge_dim, &m->relation->edge_dtype, name, err);
}

static int get_types(struct og_meta *m, const char *name, struct og_err *err)
{
    const json_t *list = json_object_get(m->root, "node_types");
    const size_t n = json_array_size(list);
    int64_t total = 0;
    if (n < 1 || n > OG_MOST_TYPES)
        return wrong(name, "node_types", "a list of 1 to 256 types", err);
    if (!(m->type = calloc(n, sizeof(*m->type))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    for (; m->n_types < n; m->n_types++) {
        struct og_type_meta *t = &m->type[m->n_types];
        OG_DO(get_type(json_array_get(list, m->n_types), t, name, err));
        for (uint32_t i = 0; i < m->n_types; i++)
            if (strcmp(m->type[i].name, t->name) == 0)
                OG_DO(wrong(name, "node_types", "types of different names", err));
        total += t->count;
    }
    if (total >= UINT32_MAX || (m->n_nodes >= 0 && m->n_nodes != total))
        OG_DO(wrong(name, "num_nodes", "the sum of the counts of \"node_types\"", err));
    m->n_nodes = total;
    return 0;
}

static int get_relations(struct og_meta *m, const char *name, struct og_err *err)
{
    const json_t *list = json_object_get(m->root, "relations");
    const size_t n = json_array_size(list);
    if (n < 1 || n > OG_MOST_RELATIONS)
        return wrong(name, "relations", "a list of 1 to 1024 relations", err);
    if (!(m->relation = calloc(n, sizeof(*m->relation))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    for (; m->n_relations < n; m->n_relations++) {
        struct og_relation_meta *r = &m->relation[m->n_relations];
        OG_DO(get_relation(m, json_array_get(list, m->n_relations), r, name, err));
        for (uint32_t i = 0; i < m->n_relations; i++)
            if (same_relation(&m->relation[i], r))
                OG_DO(wrong(name, "relations", "relations that differ", err));
    }
    return 0;
}

/* ---- all of it ---- */

int og__meta_find_file(const struct og_meta *m, const char *key, struct og_meta_file *f,
                       const char *name, struct og_err *err)
{
    *f = (struct og_meta_file){0};
    return get_file(json_object_get(m->root, "files"), key, f, name, err);
}

int og__meta_parse(struct og_meta *m, const char *text, size_t len, const char *name,
                   struct og_err *err)
{
    static const char hint[] = "the file was cut short or edited: import the data again";
    *m = (struct og_meta){.n_nodes = -1, .n_edges = -1, .n_classes = -1, .multi_label = -1};
    int rc = og__json_parse(&m->root, text, len, name, hint, err);
    if (rc < 0)
        return rc;
    if (!json_is_object(m->root))
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not a JSON object", name));
    OG_TRY(get_format(m, name, err));
    OG_TRY(get_facts(m, name, err));
    const json_t *files = json_object_get(m->root, "files");
    if (files && !json_is_object(files))
        OG_TRY(wrong(name, "files", "an object", err));
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        OG_TRY(og__meta_find_file(m, names[a], &m->file[a], name, err));
    if (m->format == OG__FORMAT_PLAIN)
        OG_TRY(get_all(m, name, err));
    else {
        OG_TRY(get_types(m, name, err));
        OG_TRY(get_relations(m, name, err));
    }
out:
    if (rc < 0)
        og__meta_release(m);
    return rc;
}

int og__meta_open(struct og_meta *m, const char *folder, struct og_err *err)
{
    static const char hint[] = "name a folder made by `outgrow import` or `outgrow generate`";
    struct og_err mine = {0};
    char *text = NULL;
    size_t len = 0;
    char *path = og__path_join(folder, "meta.json");
    int rc = path ? og__read_text(path, OG__META_MAX, &text, &len, &mine)
                  : og__fail_errno(&mine, -ENOMEM, NULL, "%s", folder);
    rc = rc < 0 ? og__fail(err, rc, hint, "%s", mine.message)
                : og__meta_parse(m, text, len, path, err);
    free(text);
    free(path);
    return rc;
}

void og__meta_release(struct og_meta *m)
{
    if (!m)
        return;
    free(m->type);
    free(m->relation);
    json_decref(m->root);
    *m = (struct og_meta){0};
}

/* ---- writing ---- */

int og__meta_write(const char *folder, json_t *root, struct og_err *err)
{
    char *path = og__path_join(folder, "meta.json");
    char *text = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    int rc = path && text ? og__write_text(path, text, strlen(text), err)
                          : og__fail_errno(err, -ENOMEM, NULL, "%s/meta.json", folder);
    free(text);
    free(path);
    json_decref(root);
    return rc;
}
