#include "dataset/import/graphbolt_meta.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <string.h>

/* ---- schema ---- */

#define TEXT(key, structure, member)                                                            \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, structure, member, 0, \
                           CYAML_UNLIMITED)

static const cyaml_schema_field_t data_fields[] = {
    TEXT("name", struct og_gb_data, name),
    TEXT("type", struct og_gb_data, type),
    TEXT("format", struct og_gb_data, format),
    TEXT("path", struct og_gb_data, path),
    TEXT("domain", struct og_gb_data, domain),
    CYAML_FIELD_INT("num", CYAML_FLAG_OPTIONAL, struct og_gb_data, num),
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
    CYAML_FIELD_INT_PTR("num_classes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct og_gb_task,
                        num_classes),
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

int og__gb_meta_parse(struct og_gb_meta **out, const char *text, size_t len, const char *name,
                      struct og_err *err)
{
    struct told told = {0};
    cyaml_config_t config = config_for(&told);
    cyaml_data_t *data = NULL;
    *out = NULL;
    cyaml_err_t rc = cyaml_load_data((const uint8_t *)text, len, &config, &meta_value, &data, NULL);
    /* libyaml names no problem where it lacks memory */
    bool nameless = rc == CYAML_ERR_LIBYAML_PARSER && strstr(told.what, "(null)");
    if (rc == CYAML_ERR_OOM || rc == CYAML_ERR_LIBYAML_PARSER_INIT || nameless)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (rc == CYAML_OK && data) {
        *out = data;
        return 0;
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
