#include "dataset/import/graphbolt_meta.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- schema ---- */

/* A whole number is read as text: libcyaml's own reading stops at the first character that is no
 * digit, and takes 1e6 for 1. */
#define TEXT(key, structure, member)                                                            \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, structure, member, 0, \
                           CYAML_UNLIMITED)

static const cyaml_schema_field_t data_fields[] = {
    TEXT("name", struct og_gb_data, name),
    TEXT("type", struct og_gb_data, type),
    TEXT("format", struct og_gb_data, format),
    TEXT("path", struct og_gb_data, path),
    TEXT("domain", struct og_gb_data, domain),
    TEXT("num", struct og_gb_data, num_text),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t data_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct og_gb_data, data_fields)};

static const cyaml_schema_field_t set_fields[] = {
    TEXT("type", struct og_gb_set, type),
    CYAML_FIELD_SEQUENCE_COUNT("data", CYAML_FLAG_POINTER, struct og_gb_set, data, n_data,
                               &data_value, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t set_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct og_gb_set, set_fields)};

#define SETS(key, i)                                                                             \
    CYAML_FIELD_SEQUENCE_COUNT(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct og_gb_task, \
                               set[i], n_sets[i], &set_value, 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t task_fields[] = {
    TEXT("name", struct og_gb_task, name),
    TEXT("num_classes", struct og_gb_task, num_classes_text),
    SETS("train_set", 0),
    SETS("validation_set", 1),
    SETS("test_set", 2),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t task_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct og_gb_task, task_fields)};

static const cyaml_schema_field_t graph_fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("nodes", CYAML_FLAG_POINTER, struct og_gb_graph, nodes, n_nodes,
                               &data_value, 0, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("edges", CYAML_FLAG_POINTER, struct og_gb_graph, edges, n_edges,
                               &data_value, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t meta_fields[] = {
    TEXT("dataset_name", struct og_gb_meta, name),
    CYAML_FIELD_MAPPING("graph", CYAML_FLAG_DEFAULT, struct og_gb_meta, graph, graph_fields),
    CYAML_FIELD_SEQUENCE_COUNT("feature_data", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                               struct og_gb_meta, features, n_features, &data_value, 0,
                               CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("tasks", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct og_gb_meta,
                               tasks, n_tasks, &task_value, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t meta_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct og_gb_meta, meta_fields)};

/* ---- loading ---- */

/* What libcyaml says: first what is wrong, then, innermost first, where. */
struct told {
    char what[160], where[80];
};

static void listen(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct told *told = ctx;
    char text[160];
    (void)level;
    vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\n")] = 0;
    const char *line = strstr(text, "(line");
    if (line && !told->where[0])
        snprintf(told->where, sizeof(told->where), "%s", line);
    else if (!told->what[0])
        snprintf(told->what, sizeof(told->what), "%s", text);
}

static cyaml_config_t config_for(struct told *told)
{
    return (cyaml_config_t){.log_fn = told ? listen : NULL,
                            .log_ctx = told,
                            .log_level = CYAML_LOG_ERROR,
                            .mem_fn = cyaml_mem,
                            .flags = CYAML_CFG_IGNORE_UNKNOWN_KEYS | CYAML_CFG_NO_ALIAS};
}

/* Absent or null: -1. */
static int read_number(const char *text, const char *key, int64_t *n, const char *name,
                       struct og_err *err)
{
    *n = -1;
    if (!og__gb_typed(text))
        return 0;
    size_t digits = strspn(text, "0123456789");
    bool octal = text[0] == '0' && digits > 1; /* in YAML 1.1 */
    if (digits > 0 && digits <= 18 && !octal && text[digits] == 0) {
        *n = strtoll(text, NULL, 10);
        return 0;
    }
    return og__fail(err, -EINVAL, "write a whole number in decimal digits",
                    "%s: %s: '%.40s' is no whole number", name, key, text);
}

static int read_numbers(struct og_gb_meta *m, const char *name, struct og_err *err)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < m->graph.n_nodes; i++)
        rc = read_number(m->graph.nodes[i].num_text, "num", &m->graph.nodes[i].num, name, err);
    for (unsigned i = 0; rc == 0 && i < m->n_tasks; i++)
        rc = read_number(m->tasks[i].num_classes_text, "num_classes", &m->tasks[i].num_classes,
                         name, err);
    return rc;
}

/* libyaml looks at all open brackets for every word: a megabyte of them would take hours. Those
 * that are closed count too, since only it knows which are in quotes or remarks. */
static int check_brackets(const char *text, size_t len, const char *name, struct og_err *err)
{
    enum { MOST_BRACKETS = 1000 };
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += text[i] == '[' || text[i] == '{';
    return n <= MOST_BRACKETS
               ? 0
               : og__fail(err, -EINVAL, "write it in block style, one entry a line",
                          "%s: %zu brackets, at most %d are read", name, n, MOST_BRACKETS);
}

int og__gb_meta_parse(struct og_gb_meta **out, const char *text, size_t len, const char *name,
                      struct og_err *err)
{
    struct told told = {0};
    cyaml_config_t config = config_for(&told);
    cyaml_data_t *data = NULL;
    *out = NULL;
    int wrong = check_brackets(text, len, name, err);
    if (wrong < 0)
        return wrong;
    cyaml_err_t rc = cyaml_load_data((const uint8_t *)text, len, &config, &meta_value, &data, NULL);
    /* libyaml names no problem where it lacks memory */
    bool nameless = rc == CYAML_ERR_LIBYAML_PARSER && strstr(told.what, "(null)");
    if (rc == CYAML_ERR_OOM || rc == CYAML_ERR_LIBYAML_PARSER_INIT || nameless)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (rc == CYAML_OK && data) {
        wrong = read_numbers(data, name, err);
        if (wrong < 0)
            og__gb_meta_free(data);
        else
            *out = data;
        return wrong;
    }
    return og__fail(err, -EINVAL, "DGL's documentation of OnDiskDataset has the format",
                    "%s: %s %s", name, told.what[0] ? told.what : cyaml_strerror(rc), told.where);
}

void og__gb_meta_free(struct og_gb_meta *m)
{
    cyaml_config_t config = config_for(NULL);
    cyaml_free(&config, &meta_value, m, 0);
}

bool og__gb_typed(const char *type)
{
    return type && *type && strcmp(type, "null") != 0 && strcmp(type, "~") != 0;
}
