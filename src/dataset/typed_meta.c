#include "dataset/typed_meta.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int wrong(const char *name, const char *key, const char *expected, struct og_err *err)
{
    return og__fail(err, -EINVAL, "see docs/formats.md for meta.json, or import the data again",
                    "%s: \"%s\" must be %s", name, key, expected);
}

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

/* ---- reading ---- */

static int get_count(const json_t *object, const char *key, int64_t most, int64_t *out,
                     const char *name, struct og_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return 0;
    *out = json_is_integer(value) ? json_integer_value(value) : -1;
    return *out >= 0 && *out <= most ? 0 : wrong(name, key, "a count within bounds", err);
}

static int get_name(const json_t *object, const char *key, const char **out, const char *name,
                    struct og_err *err)
{
    *out = json_string_value(json_object_get(object, key));
    return *out ? og__check_type_name(*out, name, err) : wrong(name, key, "there, and text", err);
}

static int get_type(const json_t *object, struct og_type_meta *t, const char *name,
                    struct og_err *err)
{
    const json_t *dtype = json_object_get(object, "feature_dtype");
    int rc;
    *t = (struct og_type_meta){.count = -1, .dim = -1, .dtype = -1};
    OG_TRY(get_name(object, "name", &t->name, name, err));
    OG_TRY(get_count(object, "count", UINT32_MAX - 1, &t->count, name, err));
    OG_TRY(get_count(object, "feature_dim", INT32_MAX / 8, &t->dim, name, err));
    if (t->count < 1)
        OG_TRY(wrong(name, "count", "there, and 1 at least", err));
    if (dtype)
        t->dtype = json_is_string(dtype) ? og__dtype_find(json_string_value(dtype)) : -1;
    if (dtype && t->dtype < 0)
        OG_TRY(wrong(name, "feature_dtype", "f32, f16, bf16 or u8", err));
out:
    return rc;
}

static int find_type(const struct og_typed_meta *m, const json_t *object, const char *key,
                     uint32_t *out, const char *name, struct og_err *err)
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

static int get_relation(const struct og_typed_meta *m, const json_t *object,
                        struct og_relation_meta *r, const char *name, struct og_err *err)
{
    int rc;
    *r = (struct og_relation_meta){.n_edges = -1};
    OG_TRY(find_type(m, object, "source", &r->source, name, err));
    OG_TRY(get_name(object, "name", &r->name, name, err));
    OG_TRY(find_type(m, object, "destination", &r->destination, name, err));
    OG_TRY(get_count(object, "num_edges", INT64_MAX / 16, &r->n_edges, name, err));
out:
    return rc;
}

/* ---- all of them ---- */

static bool same_relation(const struct og_relation_meta *a, const struct og_relation_meta *b)
{
    return a->source == b->source && a->destination == b->destination &&
           strcmp(a->name, b->name) == 0;
}

static int get_types(struct og_typed_meta *m, const char *name, struct og_err *err)
{
    const json_t *list = json_object_get(m->plain.root, "node_types");
    const size_t n = json_array_size(list);
    int64_t total = 0;
    int rc = 0;
    if (n < 1 || n > OG_MOST_TYPES)
        return wrong(name, "node_types", "a list of 1 to 256 types", err);
    if (!(m->type = calloc(n, sizeof(*m->type))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    for (; m->n_types < n; m->n_types++) {
        struct og_type_meta *t = &m->type[m->n_types];
        OG_TRY(get_type(json_array_get(list, m->n_types), t, name, err));
        for (uint32_t i = 0; i < m->n_types; i++)
            if (strcmp(m->type[i].name, t->name) == 0)
                OG_TRY(wrong(name, "node_types", "types of different names", err));
        total += t->count;
    }
    if (total >= UINT32_MAX || (m->plain.n_nodes >= 0 && m->plain.n_nodes != total))
        OG_TRY(wrong(name, "num_nodes", "the sum of the counts of \"node_types\"", err));
    m->plain.n_nodes = total;
out:
    return rc;
}

static int get_relations(struct og_typed_meta *m, const char *name, struct og_err *err)
{
    const json_t *list = json_object_get(m->plain.root, "relations");
    const size_t n = json_array_size(list);
    int rc = 0;
    if (n < 1 || n > OG_MOST_RELATIONS)
        return wrong(name, "relations", "a list of 1 to 1024 relations", err);
    if (!(m->relation = calloc(n, sizeof(*m->relation))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    for (; m->n_relations < n; m->n_relations++) {
        struct og_relation_meta *r = &m->relation[m->n_relations];
        OG_TRY(get_relation(m, json_array_get(list, m->n_relations), r, name, err));
        for (uint32_t i = 0; i < m->n_relations; i++)
            if (same_relation(&m->relation[i], r))
                OG_TRY(wrong(name, "relations", "relations that differ", err));
    }
out:
    return rc;
}

int og__typed_meta_parse(struct og_typed_meta *m, const char *text, size_t len, const char *name,
                         struct og_err *err)
{
    *m = (struct og_typed_meta){0};
    int rc = og__meta_parse(&m->plain, OG__FORMAT_TYPED, text, len, name, err);
    if (rc < 0)
        return rc;
    OG_TRY(get_types(m, name, err));
    OG_TRY(get_relations(m, name, err));
out:
    if (rc < 0)
        og__typed_meta_release(m);
    return rc;
}

void og__typed_meta_release(struct og_typed_meta *m)
{
    if (!m)
        return;
    free(m->type);
    free(m->relation);
    og__meta_release(&m->plain);
    *m = (struct og_typed_meta){0};
}

int og__meta_is_typed(const char *text, size_t len, bool *is, struct og_err *err)
{
    json_t *root = NULL;
    struct og_err why = {0};
    int rc = og__json_parse(&root, text, len, "meta.json", NULL, &why);
    *is = rc == 0 && json_integer_value(json_object_get(root, "format")) == OG__FORMAT_TYPED;
    json_decref(root);
    return rc == -ENOMEM ? og__fail_errno(err, rc, NULL, "meta.json") : 0;
}
