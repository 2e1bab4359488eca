/* The classes of a model in place of a dataset's. Classes that are words are numbered in their
 * order, so the same word may have another number in a dataset that was imported later. */
#include "base/json.h"
#include "dataset/graph.h"

#include <stdlib.h>
#include <string.h>

/* The model's class of each label; NULL: they are the same. */
static int match(struct og_graph *g, const json_t *labels, const json_t *names, struct og_err *err)
{
    const size_t n = json_array_size(labels);
    json_t *number = json_object();
    int rc = 0;
    if (n == 0 || json_equal(labels, names))
        goto out;
    g->class_of = malloc(n * sizeof(*g->class_of));
    for (size_t i = 0; i < json_array_size(names); i++)
        number = og__json_with(number, json_string_value(json_array_get(names, i)),
                               json_integer((json_int_t)i));
    if (!number || !g->class_of)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", g->path));
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(labels, i));
        const json_t *found = name ? json_object_get(number, name) : NULL;
        g->class_of[i] = found ? (int32_t)json_integer_value(found) : -1;
    }
out:
    json_decref(number);
    return rc;
}

int og__graph_take_classes(struct og_graph *g, bool of_edges, json_t *names,
                           const struct og_log *judged, struct og_err *err)
{
    const char *key = of_edges ? "edge_class_names" : "class_names";
    json_t *labels = json_object_get(g->meta, key), *meta;
    OG_DO(match(g, labels, names, err));
    if (!labels && judged)
        og__say(judged, OG__INFO, "%s: labels have no names; 0 is taken as the model's %s", g->path,
                json_string_value(json_array_get(names, 0)));
    g->label_names = json_incref(labels);
    meta = og__json_with(json_copy(g->meta), key, json_incref(names));
    if (!meta)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    json_decref(g->meta);
    g->meta = meta;
    return 0;
}

static int refuse(const struct og_graph *g, const char *path, int64_t row, int64_t label,
                  struct og_err *err)
{
    const char *name = json_string_value(json_array_get(g->label_names, (size_t)label));
    return og__fail(err, -EINVAL,
                    "`outgrow predict` applies it without reading labels; else train with it",
                    "%s: row %lld: label %.100s, no class of the model", path, (long long)row,
                    name ? name : "without a name");
}

int og__graph_class(const struct og_graph *g, const char *path, int64_t row, int64_t label,
                    int32_t *out, struct og_err *err)
{
    const bool named = label >= 0 && (size_t)label < json_array_size(g->label_names);
    *out = (int32_t)label;
    if (!g->class_of || label < 0)
        return 0;
    *out = named ? g->class_of[label] : -1;
    return *out < 0 ? refuse(g, path, row, label, err) : 0;
}

int og__graph_label_row(const struct og_graph *g, const char *path, int64_t row, const float *label,
                        float *out, struct og_err *err)
{
    const int64_t n = g->n_classes;
    float *own;
    int32_t class;
    int rc = 0;
    if (!g->class_of) {
        memmove(out, label, (size_t)n * sizeof(*out));
        return 0;
    }
    own = malloc((size_t)n * sizeof(*own)); /* both may be the same row */
    if (!own)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    memcpy(own, label, (size_t)n * sizeof(*own));
    for (int64_t j = 0; j < n; j++) {
        OG_TRY(og__graph_class(g, path, row, j, &class, err));
        OG_TRY(class < n ? 0 : refuse(g, path, row, j, err));
        out[class] = own[j];
    }
out:
    free(own);
    return rc;
}
