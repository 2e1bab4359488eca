/* The source's own meta.json, which may be there. */
#include "dataset/import/npy.h"

#include <stdlib.h>
#include <string.h>

static const char optional[] = "correct it, or remove it: it is optional";

/* An absent or null key leaves n unchanged. */
static int get_count(const json_t *root, const char *key, int64_t *n, const char *path,
                     struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    if (!value || json_is_null(value))
        return 0;
    *n = json_integer_value(value);
    return json_is_integer(value) && *n >= 0
               ? 0
               : og__fail(err, -EINVAL, "correct it, or leave it out: the arrays have it as well",
                          "%s: \"%s\" must be a whole number", path, key);
}

/* Texts, where they are there. */
static int check_text(const json_t *root, const char *key, const char *path, struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    return !value || json_is_null(value) || json_is_string(value)
               ? 0
               : og__fail(err, -EINVAL, "correct it, or leave it out", "%s: \"%s\" must be a text",
                          path, key);
}

/* true or false, where it is there. */
static int check_flag(const json_t *root, const char *key, const char *path, struct og_err *err)
{
    const json_t *value = json_object_get(root, key);
    return !value || json_is_null(value) || json_is_boolean(value)
               ? 0
               : og__fail(err, -EINVAL, "correct it, or leave it out",
                          "%s: \"%s\" must be true or false", path, key);
}

/* Names of classes or columns, where they are there: texts. */
static int check_names(const json_t *root, const char *key, const char *path, struct og_err *err)
{
    const json_t *names = json_object_get(root, key);
    bool good = !names || json_is_array(names);
    size_t i;
    json_t *one;
    json_array_foreach(names, i, one)
    {
        good = good && json_is_string(one);
    }
    return good ? 0
                : og__fail(err, -EINVAL, "a list of texts; or leave it out",
                           "%s: \"%s\" must be a list of texts", path, key);
}

/* Names of features, where they are there: a list of texts, or one a type. */
static int check_columns(const json_t *root, const char *path, struct og_err *err)
{
    static const char key[] = "feature_names";
    json_t *names = json_object_get(root, key);
    const char *type;
    json_t *of;
    int rc = json_is_object(names) ? 0 : check_names(root, key, path, err);
    if (json_is_object(names))
        json_object_foreach(names, type, of) rc = rc < 0 ? rc : check_names(names, type, path, err);
    return rc;
}

/* Names of types, where they are there: a list of {"<key>": number, "name": text}, each number
 * once. */
static int check_types(const json_t *root, const char *list, const char *key, const char *path,
                       struct og_err *err)
{
    const json_t *said = json_object_get(root, list);
    char hint[96];
    size_t i;
    json_t *one;
    snprintf(hint, sizeof(hint), "write \"%s\": [{\"%s\": 0, \"name\": \"paper\"}, ...]", list,
             key);
    if (said && !json_is_null(said) && !json_is_array(said))
        return og__fail(err, -EINVAL, hint, "%s: \"%s\" must be a list", path, list);
    json_array_foreach(said, i, one)
    {
        const json_t *number = json_object_get(one, key);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            !json_is_string(json_object_get(one, "name")))
            return og__fail(err, -EINVAL, hint, "%s: \"%s\": entry %zu is no type", path, list, i);
        for (size_t j = 0; j < i; j++)
            if (json_equal(json_object_get(json_array_get(said, j), key), number))
                return og__fail(err, -EINVAL, hint, "%s: \"%s\": type %lld has two names", path,
                                list, (long long)json_integer_value(number));
    }
    return 0;
}

/* Lists unknown keys of the source's meta.json. */
static void name_unread_keys(const struct og_importer *imp, json_t *root, const char *path)
{
    static const char *const read[] = {
        "name",        "num_nodes",     "num_classes",
        "task",        "symmetric",     "node_types",
        "edge_types",  "directed",      "edge_class_names",
        "class_names", "feature_names", "num_edges"}; /* which the edges say */
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
    OG_TRY(check_flag(root, "directed", path, err));
    OG_TRY(check_names(root, "class_names", path, err));
    OG_TRY(check_names(root, "edge_class_names", path, err));
    OG_TRY(check_columns(root, path, err));
    OG_TRY(check_types(root, "node_types", "type", path, err));
    OG_TRY(check_types(root, "edge_types", "edge_type", path, err));
    og__import_set_name(imp, json_string_value(json_object_get(root, "name")));
    const char *task = json_string_value(json_object_get(root, "task"));
    og__import_task(imp, task);
    if (task && !imp->values && !strstr(task, "classification"))
        og__import_warn(imp,
                        "%s: task '%.40s' has no effect; the words regression and shares have one",
                        path, task);
    if (json_is_true(json_object_get(root, "symmetric")))
        imp->symmetric = "meta.json: \"symmetric\" is true";
    else if (json_is_false(json_object_get(root, "directed")))
        imp->symmetric = "meta.json: \"directed\" is false";
    name_unread_keys(imp, root, path);
    s->root = json_incref(root);
out:
    json_decref(root);
    free(text);
    free(path);
    return rc;
}
