#include "dataset/import/graphbolt_meta.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_document_t *document;
    const char *name;
    struct og_names *unread; /* keys */
    struct og_err *err;
};

/* ---- values ---- */

static int refuse(const struct reader *r, const yaml_mark_t *at, const char *key, const char *why)
{
    return og__fail(r->err, -EINVAL, "DGL's documentation of OnDiskDataset has the format",
                    "%s:%zu: %s: %s", r->name, at->line + 1, key, why);
}

/* The value of `key` in `map`; NULL if absent, unless required. */
static int find(const struct reader *r, const yaml_node_t *map, const char *key,
                yaml_node_type_t type, bool needed, const yaml_node_t **out)
{
    static const char *const expected[] = {[YAML_SCALAR_NODE] = "a word or number expected",
                                           [YAML_SEQUENCE_NODE] = "a list expected",
                                           [YAML_MAPPING_NODE] = "keys and values expected"};
    *out = NULL;
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(r->document, p->key);
        if (k->type != YAML_SCALAR_NODE || strcmp((const char *)k->data.scalar.value, key) != 0)
            continue;
        if (*out)
            return refuse(r, &k->start_mark, key, "is there twice");
        *out = yaml_document_get_node(r->document, p->value);
        if ((*out)->type != type)
            return refuse(r, &(*out)->start_mark, key, expected[type]);
    }
    return *out || !needed ? 0 : refuse(r, &map->start_mark, key, "is missing");
}

/* Collects the keys of `map` that are not among `keys`, which a NULL ends. */
static void name_unread(const struct reader *r, const yaml_node_t *map, const char *const *keys)
{
    for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(r->document, p->key);
        size_t i = 0;
        if (k->type != YAML_SCALAR_NODE)
            continue;
        while (keys[i] && strcmp((const char *)k->data.scalar.value, keys[i]) != 0)
            i++;
        if (!keys[i])
            og__names_add(r->unread, (const char *)k->data.scalar.value);
    }
}

static int get_text(const struct reader *r, const yaml_node_t *map, const char *key,
                    const char **out)
{
    const yaml_node_t *value;
    int rc = find(r, map, key, YAML_SCALAR_NODE, false, &value);
    *out = rc < 0 || !value ? NULL : (const char *)value->data.scalar.value;
    return rc;
}

/* Absent or null: -1. */
static int get_number(const struct reader *r, const yaml_node_t *map, const char *key, int64_t *n)
{
    const char *text;
    int rc = get_text(r, map, key, &text);
    *n = -1;
    if (rc < 0 || !og__gb_typed(text))
        return rc;
    size_t digits = strspn(text, "0123456789");
    bool octal = text[0] == '0' && digits > 1; /* in YAML 1.1 */
    if (digits > 0 && digits <= 18 && !octal && text[digits] == 0) {
        *n = strtoll(text, NULL, 10);
        return 0;
    }
    return og__fail(r->err, -EINVAL, "write a whole number in decimal digits",
                    "%s: %s: '%.40s' is no whole number", r->name, key, text);
}

/* Reads the keys of `map` into a struct. */
typedef int get_struct(const struct reader *r, const yaml_node_t *map, void *out);

/* Reads a list of maps, each into a struct of `size` bytes; free *array. */
static int get_list(const struct reader *r, const yaml_node_t *map, const char *key, bool needed,
                    get_struct *get, size_t size, void *array, unsigned *n)
{
    const yaml_node_t *list;
    int rc = find(r, map, key, YAML_SEQUENCE_NODE, needed, &list);
    if (rc < 0 || !list)
        return rc;
    const yaml_node_item_t *item = list->data.sequence.items.start;
    const size_t length = (size_t)(list->data.sequence.items.top - item);
    char *structs = calloc(OG_MAX(length, 1), size);
    *(void **)array = structs;
    if (!structs)
        return og__fail_errno(r->err, -ENOMEM, NULL, "%s", r->name);
    for (size_t i = 0; i < length; i++) {
        const yaml_node_t *one = yaml_document_get_node(r->document, item[i]);
        *n = (unsigned)i + 1;
        OG_TRY(one->type == YAML_MAPPING_NODE
                   ? get(r, one, structs + i * size)
                   : refuse(r, &one->start_mark, key, "entries of keys and values expected"));
    }
out:
    return rc;
}

/* ---- structs ---- */

static int get_data(const struct reader *r, const yaml_node_t *map, void *out)
{
    static const char *const keys[] = {"name",   "type",      "format", "path",
                                       "domain", "in_memory", NULL};
    struct og_gb_data *d = out;
    name_unread(r, map, keys);
    OG_DO(get_text(r, map, "name", &d->name));
    OG_DO(get_text(r, map, "type", &d->type));
    OG_DO(get_text(r, map, "format", &d->format));
    OG_DO(get_text(r, map, "path", &d->path));
    return get_text(r, map, "domain", &d->domain);
}

static int get_nodes(const struct reader *r, const yaml_node_t *map, void *out)
{
    static const char *const keys[] = {"type", "num", NULL};
    struct og_gb_nodes *n = out;
    name_unread(r, map, keys);
    int rc = get_text(r, map, "type", &n->type);
    return rc < 0 ? rc : get_number(r, map, "num", &n->num);
}

static int get_data_list(const struct reader *r, const yaml_node_t *map, const char *key,
                         bool needed, struct og_gb_data **out, unsigned *n)
{
    return get_list(r, map, key, needed, get_data, sizeof(**out), out, n);
}

static int get_set(const struct reader *r, const yaml_node_t *map, void *out)
{
    static const char *const keys[] = {"type", "data", NULL};
    struct og_gb_set *s = out;
    name_unread(r, map, keys);
    int rc = get_text(r, map, "type", &s->type);
    return rc < 0 ? rc : get_data_list(r, map, "data", true, &s->data, &s->n_data);
}

static int get_task(const struct reader *r, const yaml_node_t *map, void *out)
{
    static const char *const sets[] = {"train_set", "validation_set", "test_set"};
    static const char *const keys[] = {"name",           "num_classes", "train_set",
                                       "validation_set", "test_set",    NULL};
    struct og_gb_task *t = out;
    int rc = 0;
    name_unread(r, map, keys);
    OG_TRY(get_text(r, map, "name", &t->name));
    OG_TRY(get_number(r, map, "num_classes", &t->num_classes));
    for (size_t i = 0; i < OG_COUNT(sets); i++)
        OG_TRY(get_list(r, map, sets[i], false, get_set, sizeof(*t->set[i]), &t->set[i],
                        &t->n_sets[i]));
out:
    return rc;
}

static int get_meta(const struct reader *r, const yaml_node_t *map, struct og_gb_meta *m)
{
    static const char *const keys[] = {"dataset_name", "graph", "feature_data", "tasks", NULL};
    static const char *const graph_keys[] = {"nodes", "edges", "feature_data", NULL};
    const yaml_node_t *graph;
    name_unread(r, map, keys);
    OG_DO(get_text(r, map, "dataset_name", &m->name));
    OG_DO(find(r, map, "graph", YAML_MAPPING_NODE, true, &graph));
    name_unread(r, graph, graph_keys);
    OG_DO(get_list(r, graph, "nodes", true, get_nodes, sizeof(*m->graph.nodes), &m->graph.nodes,
                   &m->graph.n_nodes));
    OG_DO(get_data_list(r, graph, "edges", true, &m->graph.edges, &m->graph.n_edges));
    OG_DO(get_data_list(r, graph, "feature_data", false, &m->graph.features, &m->graph.n_features));
    OG_DO(get_data_list(r, map, "feature_data", false, &m->features, &m->n_features));
    OG_DO(get_list(r, map, "tasks", false, get_task, sizeof(*m->tasks), &m->tasks, &m->n_tasks));
    return 0;
}

/* ---- the document ---- */

/* Limits brackets and anchors. For every word libyaml scans all open brackets, and all anchors for
 * each, so a megabyte of them would take hours. Closed ones count too, since only libyaml knows
 * which are in quotes or comments. */
static int check_brackets(const char *text, size_t len, const char *name, struct og_err *err)
{
    enum { MOST_BRACKETS = 1000 };
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '[' || text[i] == '{' || text[i] == '&';
    return n <= MOST_BRACKETS ? 0
                              : og__fail(err, -EINVAL, "write it in block style, one entry a line",
                                         "%s: %zu brackets and anchors, at most %d are read", name,
                                         n, MOST_BRACKETS);
}

/* A node has one place, unless an alias gives it another. */
static bool has_aliases(const yaml_document_t *document)
{
    ptrdiff_t places = 1;
    for (const yaml_node_t *n = document->nodes.start; n < document->nodes.top; n++) {
        if (n->type == YAML_SEQUENCE_NODE)
            places += n->data.sequence.items.top - n->data.sequence.items.start;
        if (n->type == YAML_MAPPING_NODE)
            places += 2 * (n->data.mapping.pairs.top - n->data.mapping.pairs.start);
    }
    return places > document->nodes.top - document->nodes.start;
}

/* The one document of a text. After an error there is nothing to delete. */
static int load_document(const struct reader *r, const char *text, size_t len)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return og__fail_errno(r->err, -ENOMEM, NULL, "%s", r->name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int rc = 0;
    if (!yaml_parser_load(&parser, r->document))
        rc = parser.error == YAML_MEMORY_ERROR
                 ? og__fail_errno(r->err, -ENOMEM, NULL, "%s", r->name)
                 : refuse(r, &parser.problem_mark, "YAML",
                          parser.problem ? parser.problem : "cannot be read");
    yaml_parser_delete(&parser);
    return rc;
}

static int read_document(const struct reader *r, struct og_gb_meta *m)
{
    const yaml_node_t *root = yaml_document_get_root_node(r->document);
    const yaml_mark_t top = {0};
    if (!root || root->type != YAML_MAPPING_NODE)
        return refuse(r, &top, "YAML", "keys and values expected");
    if (has_aliases(r->document))
        return refuse(r, &top, "YAML", "aliases are not read");
    return get_meta(r, root, m);
}

int og__gb_meta_parse(struct og_gb_meta **out, const char *text, size_t len, const char *name,
                      struct og_err *err)
{
    *out = NULL;
    int rc = check_brackets(text, len, name, err);
    if (rc < 0)
        return rc;
    struct og_gb_meta *m = calloc(1, sizeof(*m));
    yaml_document_t *document = calloc(1, sizeof(*document));
    const struct reader r = {document, name, m ? &m->unread : NULL, err};
    rc = m && document ? load_document(&r, text, len)
                       : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (rc < 0) {
        free(document);
        free(m);
        return rc;
    }
    m->document = document;
    rc = read_document(&r, m);
    if (rc < 0)
        og__gb_meta_free(m);
    else
        *out = m;
    return rc;
}

static void free_task(struct og_gb_task *t)
{
    for (size_t s = 0; s < OG_COUNT(t->set); s++) {
        for (unsigned i = 0; i < t->n_sets[s]; i++)
            free(t->set[s][i].data);
        free(t->set[s]);
    }
}

void og__gb_meta_free(struct og_gb_meta *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < m->n_tasks; i++)
        free_task(&m->tasks[i]);
    free(m->tasks);
    free(m->features);
    free(m->graph.nodes);
    free(m->graph.edges);
    free(m->graph.features);
    yaml_document_delete(m->document);
    free(m->document);
    free(m);
}

bool og__gb_typed(const char *type)
{
    return type && *type && strcmp(type, "null") != 0 && strcmp(type, "~") != 0;
}
