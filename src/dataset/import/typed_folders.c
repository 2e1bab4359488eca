/* processed/<type>/node_feat.npy and processed/<source>__<name>__<destination>/edge_index.npy.
 *
 * Which types and relations there are is told by the folders' names, in alphabetical order behind
 * the type that has labels. A type has as many nodes as rows of features; without these, one more
 * than the largest id that its edges have. */
#include "dataset/import/typed_folders.h"

#include <assert.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 8192 };

/* ---- names of folders ---- */

/* source, name, destination: pointers into `text`, which is cut. False: none of these names. */
static bool cut_name(char *text, const char *join, char *out[3])
{
    out[0] = text;
    for (int i = 1; i < 3; i++) {
        char *end = strstr(out[i - 1], join);
        if (!end)
            return false;
        *end = 0;
        out[i] = end + strlen(join);
    }
    return out[0][0] && out[1][0] && out[2][0];
}

struct names {
    char **list;
    size_t n, room;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
}

static int add_name(struct names *names, const char *name, struct og_err *err)
{
    if (names->n == names->room) {
        const size_t room = OG_MAX(2 * names->room, (size_t)16);
        char **list = realloc(names->list, room * sizeof(*list));
        if (!list)
            return og__fail_errno(err, -ENOMEM, NULL, "import");
        names->list = list;
        names->room = room;
    }
    names->list[names->n] = strdup(name);
    if (!names->list[names->n])
        return og__fail_errno(err, -ENOMEM, NULL, "import");
    names->n++;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folders of relations, by name. */
static int list_relations(const struct og_importer *imp, const struct og_folder_layout *layout,
                          struct names *names, struct og_err *err)
{
    char *path = og__import_source(imp, "processed");
    DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *entry;
    int rc = 0;
    if (!dir)
        OG_TRY(og__fail_errno(err, path ? -errno : -ENOMEM, NULL, "%s/processed", imp->src));
    while ((entry = readdir(dir))) {
        char *parts[3];
        char name[256];
        snprintf(name, sizeof(name), "%s", entry->d_name);
        if (cut_name(name, layout->join, parts))
            OG_TRY(add_name(names, entry->d_name, err));
    }
    if (names->n > 1)
        qsort(names->list, names->n, sizeof(*names->list), compare_names);
out:
    if (dir)
        closedir(dir);
    free(path);
    return rc;
}

int og__folders_typed(const struct og_importer *imp, const struct og_folder_layout *layout,
                      bool *typed, struct og_err *err)
{
    struct names names = {0};
    *typed = false;
    int there = og__import_has(imp, "processed", err);
    int rc = there > 0 ? list_relations(imp, layout, &names, err) : there;
    for (size_t i = 0; i < names.n; i++)
        *typed = *typed || strcmp(names.list[i], layout->only) != 0;
    free_names(&names);
    return rc;
}

/* ---- what is there ---- */

struct folders {
    struct og_importer *imp;
    const struct og_folder_layout *layout;
    struct names relations;
    struct names types; /* the labelled one first */
    struct og_table *features[OG_MOST_TYPES];
    int64_t count[OG_MOST_TYPES]; /* of nodes, as far as it is known */
    struct og_edges edges;
    struct og_table *labels;
};

static void close_all(struct folders *f)
{
    for (size_t t = 0; t < OG_COUNT(f->features); t++)
        og__table_close(f->features[t]);
    og__edges_close(&f->edges);
    og__table_close(f->labels);
    free_names(&f->relations);
    free_names(&f->types);
}

static int find_type(const struct folders *f, const char *name)
{
    for (size_t t = 0; t < f->types.n; t++)
        if (strcmp(f->types.list[t], name) == 0)
            return (int)t;
    return -1;
}

static int add_type(struct folders *f, const char *name, struct og_err *err)
{
    if (find_type(f, name) >= 0)
        return 0;
    if (f->types.n == OG_MOST_TYPES)
        return og__fail(err, -EINVAL, "256 types at most", "%s: too many types of nodes",
                        f->imp->src);
    return add_name(&f->types, name, err);
}

static int find_types(struct folders *f, struct og_err *err)
{
    int rc;
    OG_TRY(add_type(f, f->layout->labelled, err));
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[256];
        char *parts[3];
        snprintf(name, sizeof(name), "%s", f->relations.list[i]);
        if (!cut_name(name, f->layout->join, parts))
            continue;
        OG_TRY(add_type(f, parts[0], err));
        OG_TRY(add_type(f, parts[2], err));
    }
    if (f->types.n > 2)
        qsort(f->types.list + 1, f->types.n - 1, sizeof(*f->types.list), compare_names);
out:
    return rc;
}

static int open_features(struct folders *f, struct og_err *err)
{
    int rc = 0;
    for (size_t t = 0; t < f->types.n; t++) {
        char *name = NULL;
        if (asprintf(&name, "processed/%s/node_feat.npy", f->types.list[t]) < 0)
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", f->imp->src));
        rc = og__import_has(f->imp, name, err);
        if (rc > 0)
            rc = f->layout->open_features(f->imp, name, &f->features[t], err);
        free(name);
        OG_TRY(rc);
        f->count[t] = f->features[t] ? f->features[t]->rows : 0;
    }
out:
    return rc;
}

/* ---- relations ---- */

/* Edges and types of relation i. */
static int open_relation(struct folders *f, size_t i, int ends[2], char name[256],
                         struct og_err *err)
{
    char *file = NULL;
    char *parts[3] = {NULL};
    int rc;
    og__edges_close(&f->edges);
    snprintf(name, 256, "%s", f->relations.list[i]);
    (void)cut_name(name, f->layout->join, parts); /* as when it was listed */
    assert(parts[0] && parts[1] && parts[2]);
    ends[0] = find_type(f, parts[0]);
    ends[1] = find_type(f, parts[2]);
    memmove(name, parts[1], strlen(parts[1]) + 1);
    if (asprintf(&file, "processed/%s/edge_index.npy", f->relations.list[i]) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", f->imp->src));
    OG_TRY(f->layout->open_edges(f->imp, file, &f->edges, err));
    OG_TRY(og__edges_check(&f->edges, err));
out:
    free(file);
    return rc;
}

/* One more than the largest of column `at` of `of`, into count unless it is larger. */
static int count_ids(struct og_table *t, int64_t at, int64_t of, int64_t *count, struct og_err *err)
{
    int64_t raw[PIECE];
    int64_t ids[PIECE];
    int rc = 0;
    for (int64_t n = 1; n > 0;) {
        OG_TRY(og__table_read(t, raw, PIECE / of, &n, err));
        og__npy_widen(t->type, raw, (size_t)(n * of), ids);
        for (int64_t i = at; i < n * of; i += of)
            *count = OG_MAX(*count, ids[i] + 1);
    }
    OG_TRY(og__table_rewind(t, err));
out:
    return rc;
}

/* Types without features: what their edges know of them. */
static int count_nodes(struct folders *f, struct og_err *err)
{
    const bool reverse = f->imp->opt->reverse;
    int rc = 0;
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[256];
        int ends[2];
        OG_TRY(open_relation(f, i, ends, name, err));
        for (int end = 0; end < 2; end++) {
            const int t = ends[end];
            const int column = reverse ? 1 - end : end;
            struct og_table *table = f->edges.pairs ? f->edges.pairs
                                     : column == 0  ? f->edges.src
                                                    : f->edges.dst;
            if (!f->features[t])
                OG_TRY(count_ids(table, f->edges.pairs ? column : 0, f->edges.pairs ? 2 : 1,
                                 &f->count[t], err));
        }
    }
out:
    return rc;
}

static int add_all(struct folders *f, int64_t *edges, struct og_err *err)
{
    const char *src = f->imp->src;
    int rc = 0;
    *edges = 0;
    for (size_t t = 0; t < f->types.n; t++)
        OG_TRY(og__schema_add_group(&f->imp->graph, f->types.list[t], f->count[t], src, err));
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[256];
        int ends[2];
        OG_TRY(open_relation(f, i, ends, name, err));
        OG_TRY(og__schema_add_relation(&f->imp->graph, (uint32_t)ends[0], name, (uint32_t)ends[1],
                                       src, err));
        *edges += og__edges_rows(&f->edges);
    }
out:
    return rc;
}

static int import_edges(struct folders *f, int64_t edges, struct og_err *err)
{
    int rc;
    OG_TRY(og__import_settle(f->imp, err));
    OG_TRY(og__import_take_piece(f->imp, err));
    OG_TRY(og__import_open_edges(f->imp, false, edges, err));
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[256];
        int ends[2];
        OG_TRY(open_relation(f, i, ends, name, err));
        OG_TRY(og__import_relation(f->imp, (uint32_t)i, &f->edges, err));
    }
    OG_TRY(og__import_close_edges(f->imp, err));
out:
    return rc;
}

static int import_nodes(struct folders *f, struct og_err *err)
{
    struct og_importer *imp = f->imp;
    int rc = 0;
    for (size_t t = 0; t < f->types.n; t++)
        OG_TRY(og__import_features(imp, (uint32_t)t, f->features[t], NULL, err));
    OG_TRY(f->layout->open_labels(imp, f->count[0], &f->labels, err));
    OG_TRY(og__import_labels(imp, f->labels, f->labels->rows, -1, err));
    OG_TRY(f->layout->import_splits(imp, f->labels, err));
out:
    return rc;
}

int og__import_folders(struct og_importer *imp, const struct og_folder_layout *layout,
                       struct og_err *err)
{
    struct folders *f = calloc(1, sizeof(*f));
    int64_t edges;
    int rc;
    if (!f)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    f->imp = imp;
    f->layout = layout;
    OG_TRY(og__import_with_types(imp, err));
    OG_TRY(list_relations(imp, layout, &f->relations, err));
    OG_TRY(find_types(f, err));
    OG_TRY(open_features(f, err));
    OG_TRY(count_nodes(f, err));
    OG_TRY(add_all(f, &edges, err));
    OG_TRY(import_edges(f, edges, err));
    OG_TRY(import_nodes(f, err));
out:
    close_all(f);
    free(f);
    return rc;
}
