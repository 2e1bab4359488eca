/* The dataset being made: the keys of its meta.json, its arrays, and how many nodes they are of. */
#include "dataset/import/import.h"

#include <string.h>

/* ---- meta.json ---- */

void og__import_note(struct og_importer *imp, const char *key, json_t *value)
{
    imp->meta = og__json_with(imp->meta, key, value);
}

void og__import_set_name(struct og_importer *imp, const char *name)
{
    enum { LONGEST = 255 };
    size_t len = name ? strlen(name) : 0;
    if (len > LONGEST)
        for (len = LONGEST; len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80;)
            len--; /* to where a character ends */
    if (len > 0)
        og__import_note(imp, "name", json_stringn(name, len));
}

/* ---- arrays ---- */

char *og__import_target(const struct og_importer *imp, const char *name)
{
    return og__path_join(imp->dir.temporary, name);
}

/* ---- nodes ---- */

int og__import_check_nodes(struct og_importer *imp, struct og_err *err)
{
    const int64_t n = imp->graph.n_nodes;
    imp->n_relations = imp->graph.n_relations;
    if (imp->nodes_from)
        snprintf(imp->nodes_by, sizeof(imp->nodes_by), " by %s", imp->nodes_from);
    if (n >= 1 && n < UINT32_MAX - 1)
        return 0;
    return og__fail(err, -EINVAL, "from 1 to 4294967293 nodes", "%s: %lld nodes%s", imp->src,
                    (long long)n, imp->nodes_by);
}

int og__import_set_nodes(struct og_importer *imp, int64_t n, struct og_err *err)
{
    (imp->opt->drop_features ? og__schema_single : og__schema_plain)(&imp->graph, n);
    return og__import_check_nodes(imp, err);
}

int og__import_with_types(const struct og_importer *imp, struct og_err *err)
{
    if (!imp->opt->symmetrize)
        return 0;
    return og__fail(err, -EINVAL,
                    "use --reverse-relations to add the reverse of each relation, or --drop-types "
                    "with --symmetrize",
                    "%s: --symmetrize: its relations lead from one node type to another", imp->src);
}

int og__import_resolve(struct og_importer *imp, struct og_err *err)
{
    OG_DO(og__import_check_nodes(imp, err));
    imp->claimed = true;
    return og__schema_resolve(&imp->graph, imp->opt->reverse_relations, imp->src, err);
}

void og__import_note_schema(struct og_importer *imp)
{
    imp->meta = og__json_joined(og__schema_json(&imp->graph), imp->meta);
}

int og__import_check_rows(const struct og_importer *imp, const struct og_table *t, int64_t rows,
                          int64_t nodes, const char *what, struct og_err *err)
{
    if (rows < 0 || rows == nodes)
        return 0;
    if (nodes != imp->graph.n_nodes)
        return og__fail(err, -EINVAL, "one for every node of the type",
                        "%s: %lld %s for %lld nodes", t->name, (long long)rows, what,
                        (long long)nodes);
    return og__fail(err, -EINVAL,
                    t->columns == nodes && nodes > 1 ? "turn it round: array.T"
                    : strcmp(what, "labels") == 0
                        ? "one for every node; a label of -1 where there is none"
                        : "one for every node",
                    "%s: %lld %s, the graph has %lld nodes%s", t->name, (long long)rows, what,
                    (long long)nodes, imp->nodes_by);
}

int og__import_check_columns(const struct og_table *t, const char *what, struct og_err *err)
{
    if (t->columns >= 1 && t->columns <= OG__MOST_COLUMNS)
        return 0;
    if (t->text && t->columns == 0)
        return og__fail(err, -EINVAL, "a line is an id and its values: 0,1",
                        "%s: lines have one column, ids without %s", t->name, what);
    return og__fail(err, -EINVAL, "at least one column, at most 268435455",
                    "%s: %s of %lld columns", t->name, what, (long long)t->columns);
}

int og__import_expect_rows(const struct og_importer *imp, const struct og_table *t, int64_t nodes,
                           const char *what, struct og_err *err)
{
    if (!t)
        return 0;
    int rc = og__import_check_columns(t, what, err);
    return rc < 0 ? rc : og__import_check_rows(imp, t, t->rows, nodes, what, err);
}
