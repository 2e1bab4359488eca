#include "dataset/meta.h"

#include "base/file.h"
#include "base/hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [OG__INDPTR] = "indptr",
    [OG__INDICES] = "indices",
    [OG__WEIGHTS] = "weights",
    [OG__FEATURES] = "features",
    [OG__LABELS] = "labels",
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
    return og__fail(err, -EINVAL, "see docs/formats.md for meta.json, or import the data again",
                    "%s: \"%s\" must be %s", name, key, expected);
}

/* A count: absent leaves *out as it is. */
static int get_count(json_t *object, const char *key, int64_t max, int64_t *out, const char *name,
                     struct og_err *err)
{
    json_t *value = json_object_get(object, key);
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

static int get_format(json_t *root, int expected, const char *name, struct og_err *err)
{
    json_t *format = json_object_get(root, "format");
    if (!json_is_integer(format))
        return og__fail(err, -EINVAL, "make one with `outgrow import` or `outgrow generate`",
                        "%s: not a dataset's (no \"format\")", name);
    if (json_integer_value(format) == expected)
        return 0;
    if (json_integer_value(format) == OG__FORMAT_TYPED)
        return og__fail(err, -EINVAL,
                        "`outgrow train`, `eval`, `predict`, `info`, `verify`, `sample`, `pack` "
                        "and `export npy` "
                        "take it; import the source with --drop-types for a graph of one type",
                        "%s: a graph with types of nodes and relations, not taken here yet", name);
    return og__fail(err, -EINVAL, "use the release of outgrow that made it",
                    "%s: dataset format %lld, this release reads 1 and 2", name,
                    (long long)json_integer_value(format));
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

/* Features alone are so large that they lie on several disks. */
static int get_parts(json_t *object, struct og_meta_file *f, const char *name, struct og_err *err)
{
    static const char expected[] = "a list of 2 to 64 files with \"path\"";
    json_t *parts = json_object_get(object, "parts");
    int64_t unit = 0;
    const size_t n = json_array_size(parts);
    int rc;
    OG_TRY(get_count(object, "unit", UINT32_MAX, &unit, name, err));
    if (unit < 1)
        OG_TRY(wrong(name, "unit", "the rows of a unit", err));
    if (n < 2 || n > OG_MOST_PARTS)
        OG_TRY(wrong(name, "parts", expected, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *part = json_array_get(parts, i);
        const char *path = json_string_value(json_object_get(part, "path"));
        const json_t *contents = json_object_get(part, "contents");
        uint64_t number;
        if (!path || !*path)
            OG_TRY(wrong(name, "parts", expected, err));
        if (contents && !og__json_hex_get(contents, &number))
            OG_TRY(wrong(name, "contents", "16 hexadecimal digits", err));
    }
    f->whole = -1;
    OG_TRY(get_count(object, "bytes", INT64_MAX, &f->whole, name, err));
    f->stripes = (struct og_stripes){.parts = (uint32_t)n, .unit = (uint32_t)unit};
    f->parts = parts;
out:
    return rc;
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
    int rc;
    OG_TRY(get_count(object, "workers", OG_MOST_PARTS, &workers, name, err));
    OG_TRY(get_count(object, "worker", OG_MOST_PARTS, &worker, name, err));
    if (workers < 2 || worker >= workers)
        OG_TRY(wrong(name, "workers", "2 to 64, and \"worker\" below it", err));
    if (!og__json_hex_get(json_object_get(object, "contents"), &f->contents))
        OG_TRY(wrong(name, "contents", "16 hexadecimal digits", err));
    f->workers = (uint32_t)workers;
    f->worker = (uint32_t)worker;
out:
    return rc;
}

static int get_file(json_t *files, const char *key, bool in_parts, struct og_meta_file *f,
                    const char *name, struct og_err *err)
{
    json_t *object = json_object_get(files, key);
    const char *dtype = NULL;
    int rc = 0;
    if (!object)
        return 0;
    if (!json_is_object(object))
        return wrong(name, key, "an object", err);
    if (in_parts && json_object_get(object, "parts"))
        return get_parts(object, f, name, err);
    if (in_parts && json_object_get(object, "workers"))
        OG_TRY(get_share(object, f, name, err));
    OG_TRY(get_text(object, "path", &f->path, name, err));
    OG_TRY(get_text(object, "dtype", &dtype, name, err));
    OG_TRY(get_count(object, "offset", INT64_MAX / 2, &f->offset, name, err));
    if (!f->path || !*f->path)
        OG_TRY(wrong(name, "path", "the name of a file", err));
    f->raw = dtype != NULL;
    if (f->raw) {
        int type = find_type(dtype);
        if (type < 0)
            OG_TRY(wrong(name, "dtype", "a NumPy type such as float32", err));
        f->type = (enum og__npy_type)type;
        OG_TRY(get_shape(json_object_get(object, "shape"), f, name, err));
    }
out:
    return rc;
}

static int get_facts(struct og_meta *m, const char *name, struct og_err *err)
{
    const char *dtype = NULL;
    int rc = 0;
    OG_TRY(get_text(m->root, "name", &m->name, name, err));
    OG_TRY(get_text(m->root, "task", &m->task, name, err));
    OG_TRY(get_count(m->root, "num_nodes", UINT32_MAX - 1, &m->n_nodes, name, err));
    OG_TRY(get_count(m->root, "num_edges", INT64_MAX / 16, &m->n_edges, name, err));
    OG_TRY(get_count(m->root, "feature_dim", INT32_MAX / 8, &m->dim, name, err));
    OG_TRY(get_count(m->root, "num_classes", INT32_MAX / 8, &m->n_classes, name, err));
    OG_TRY(get_text(m->root, "feature_dtype", &dtype, name, err));
    if (dtype && (m->dtype = og__dtype_find(dtype)) < 0)
        OG_TRY(wrong(name, "feature_dtype", "f32, f16, bf16 or u8", err));
    json_t *multi = json_object_get(m->root, "multi_label");
    if (multi && !json_is_boolean(multi))
        OG_TRY(wrong(name, "multi_label", "true or false", err));
    if (multi)
        m->multi_label = json_is_true(multi);
    json_t *symmetric = json_object_get(m->root, "symmetric");
    if (symmetric && !json_is_boolean(symmetric))
        OG_TRY(wrong(name, "symmetric", "true or false", err));
    m->symmetric = json_is_true(symmetric);
    if (m->n_classes < 0)
        OG_TRY(wrong(name, "num_classes", "there", err));
out:
    return rc;
}

int og__meta_find_file(const struct og_meta *m, const char *key, struct og_meta_file *f,
                       const char *name, struct og_err *err)
{
    *f = (struct og_meta_file){0};
    return get_file(json_object_get(m->root, "files"), key, false, f, name, err);
}

int og__meta_parse(struct og_meta *m, int format, const char *text, size_t len, const char *name,
                   struct og_err *err)
{
    static const char hint[] = "the file was cut short or edited: import the data again";
    *m = (struct og_meta){
        .n_nodes = -1, .n_edges = -1, .dim = -1, .n_classes = -1, .dtype = -1, .multi_label = -1};
    int rc = og__json_parse(&m->root, text, len, name, hint, err);
    if (rc < 0)
        return rc;
    if (!json_is_object(m->root))
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: not a JSON object", name));
    OG_TRY(get_format(m->root, format, name, err));
    OG_TRY(get_facts(m, name, err));
    json_t *files = json_object_get(m->root, "files");
    if (files && !json_is_object(files))
        OG_TRY(wrong(name, "files", "an object", err));
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        OG_TRY(get_file(files, names[a], a == OG__FEATURES, &m->file[a], name, err));
out:
    if (rc < 0)
        og__meta_release(m);
    return rc;
}

void og__meta_release(struct og_meta *m)
{
    if (!m)
        return;
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

int og__meta_set_checksum(json_t *object, const char *file, uint64_t checksum, struct og_err *err)
{
    return json_object_set_new(object, file, og__json_hex(checksum)) == 0
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "meta.json");
}
