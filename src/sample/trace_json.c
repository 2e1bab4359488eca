/* trace.json: the description of a trace's folder. This is its only reader. */
#include "base/file.h"
#include "base/self_checksum.h"
#include "sample/trace.h"

#include <stdlib.h>

static const char hint[] = "make it again with `outgrow sample`";

static int wrong(const char *name, const char *key, const char *expected, struct og_err *err)
{
    return og__fail(err, -EINVAL, hint, "%s: \"%s\" must be %s", name, key, expected);
}

static int get_count(const json_t *root, const char *key, int64_t least, int64_t most, int64_t *out,
                     const char *name, struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    *out = json_is_integer(value) ? json_integer_value(value) : -1;
    return *out < least || *out > most ? wrong(name, key, "a count within bounds", err) : 0;
}

/* A count that a trace need not have. */
static int get_more(const json_t *root, const char *key, uint32_t *out, const char *name,
                    struct og_err *err)
{
    int64_t n = 0;
    int rc =
        json_object_get(root, key) ? get_count(root, key, 0, UINT32_MAX - 1, &n, name, err) : 0;
    *out = (uint32_t)OG_MAX(n, (int64_t)0);
    return rc;
}

static int get_dataset(struct og_trace_description *d, const char *name, struct og_err *err)
{
    int64_t nodes = 0;
    int64_t dim = 0;
    OG_DO(get_count(d->root, "num_nodes", 0, UINT32_MAX - 1, &nodes, name, err));
    OG_DO(get_count(d->root, "feature_dim", 0, INT32_MAX / 8, &dim, name, err));
    const char *text = json_string_value(json_object_get(d->root, "feature_dtype"));
    int dtype = text ? og__dtype_find(text) : -1;
    if (dtype < 0)
        OG_DO(wrong(name, "feature_dtype", "f32, f16, bf16, u8, i8, e4m3 or one", err));
    if (!(d->dataset = json_string_value(json_object_get(d->root, "dataset"))))
        OG_DO(wrong(name, "dataset", "text", err));
    d->n_nodes = (uint64_t)nodes;
    d->dim = (int)dim;
    d->dtype = (enum og_dtype)dtype;
    OG_DO(get_more(d->root, "feature_entries", &d->room, name, err));
    d->row_bytes = og__row_size(d->dim, d->dtype, d->room);
    return 0;
}

static int get_batches(struct og_trace_description *d, const char *name, struct og_err *err)
{
    int64_t batches = 0;
    int rc;
    OG_TRY(get_count(d->root, "batches_per_epoch", 0, UINT32_MAX, &batches, name, err));
    OG_TRY(get_more(d->root, "resample_every", &d->every, name, err));
    OG_TRY(get_more(d->root, "draws", &d->draws, name, err));
out:
    d->batches_per_epoch = (uint32_t)OG_MAX(batches, (int64_t)0);
    d->extras = json_is_true(json_object_get(d->root, "degrees")) ? OG__WITH_DEGREES : 0;
    d->extras |= json_is_true(json_object_get(d->root, "weights")) ? OG__WITH_WEIGHTS : 0;
    d->extras |= json_is_array(json_object_get(d->root, "edges_of_unit")) ? OG__WITH_EDGES : 0;
    d->extras |= json_is_true(json_object_get(d->root, "disjoint")) ? OG__WITH_TREES : 0;
    d->n_relations = (uint32_t)json_array_size(json_object_get(d->root, "relations"));
    d->extras |= d->n_relations > 0 ? OG__WITH_RELATIONS : 0;
    return rc;
}

/* ---- types ---- */

static int get_type(const struct og_trace_description *d, const json_t *said,
                    struct og_trace_type *t, uint64_t first, const char *name, struct og_err *err)
{
    const json_t *dtype = json_object_get(said, "feature_dtype");
    int64_t count = 0;
    uint32_t dim = 0;
    if (!(t->name = json_string_value(json_object_get(said, "name"))))
        OG_DO(wrong(name, "name", "text, of each of \"node_types\"", err));
    OG_DO(get_count(said, "count", 0, (int64_t)(d->n_nodes - first), &count, name, err));
    OG_DO(get_more(said, "feature_dim", &dim, name, err));
    OG_DO(get_more(said, "feature_entries", &t->room, name, err));
    if (dim > INT32_MAX / 8)
        OG_DO(wrong(name, "feature_dim", "a count within bounds", err));
    const int found = json_is_string(dtype) ? og__dtype_find(json_string_value(dtype)) : -1;
    if (dim > 0 && found < 0)
        OG_DO(wrong(name, "feature_dtype", "f32, f16, bf16, u8, i8, e4m3 or one", err));
    t->end = first + (uint64_t)count;
    t->dim = (int)dim;
    t->dtype = found < 0 ? d->dtype : (enum og_dtype)found;
    return 0;
}

/* Each type has a range of ids. Without a list all nodes are of one. */
static int get_types(struct og_trace_description *d, const char *name, struct og_err *err)
{
    enum { MOST = 256 };
    const json_t *list = json_object_get(d->root, "node_types");
    const size_t n = list ? json_array_size(list) : 1;
    uint64_t end = 0;
    if (n < 1 || n > MOST)
        return wrong(name, "node_types", "a list of 1 to 256 types", err);
    if (!(d->type = calloc(n, sizeof(*d->type))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    d->has_types = list;
    if (!list) {
        d->type[d->n_types++] = (struct og_trace_type){"", d->n_nodes, d->dim, d->dtype, d->room};
        return 0;
    }
    for (; d->n_types < n; end = d->type[d->n_types++].end)
        OG_DO(get_type(d, json_array_get(list, d->n_types), &d->type[d->n_types], end, name, err));
    if (end != d->n_nodes)
        OG_DO(wrong(name, "num_nodes", "the sum of the counts of \"node_types\"", err));
    return 0;
}

int og__trace_parse(struct og_trace_description *d, const char *text, size_t len, const char *name,
                    struct og_err *err)
{
    int64_t format;
    *d = (struct og_trace_description){0};
    int rc;
    OG_TRY(og__self_checksum_parse(&d->root, text, len, name, hint, err));
    if (!json_is_object(d->root))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: not a JSON object", name));
    OG_TRY(get_count(d->root, "format", 1, 1, &format, name, err));
    OG_TRY(get_dataset(d, name, err));
    OG_TRY(get_batches(d, name, err));
    OG_TRY(get_types(d, name, err));
out:
    if (rc < 0)
        og__trace_description_release(d);
    return rc;
}

int og__trace_describe(struct og_trace_description *d, const char *dir, struct og_err *err)
{
    enum { MOST = 1024 * 1024 };
    char *path = og__path_join(dir, "trace.json");
    char *text = NULL;
    size_t len = 0;
    *d = (struct og_trace_description){0};
    int rc;
    OG_TRY(path ? og__read_text(path, MOST, &text, &len, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    OG_TRY(og__trace_parse(d, text, len, path, err));
out:
    free(text);
    free(path);
    return rc;
}

void og__trace_description_release(struct og_trace_description *d)
{
    json_decref(d->root);
    free(d->type);
    *d = (struct og_trace_description){0};
}
