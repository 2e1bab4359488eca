/* Reads processed/<type>/node_feat.npy and
 * processed/<source>__<name>__<destination>/edge_index.npy.
 *
 * The folders' names define types and relations. They are in alphabetical order, after the type
 * with labels. A type has as many nodes as rows of features; without features, one more than the
 * largest id in its edges. */
#include "dataset/import/folders.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 8192, NAME = 256 };

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
    *names = (struct names){0};
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

static int list_folders(const struct og_importer *imp, const struct og_folder_layout *layout,
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
        char name[NAME];
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

/* ---- what is there ---- */

struct og_folders {
    struct og_importer *imp;
    const struct og_folder_layout *layout;
    struct names relations;
    struct names groups; /* the labelled one first */
    struct og_table *features[OG_MOST_TYPES];
    int64_t count[OG_MOST_TYPES]; /* of nodes, as far as it is known */
};

void og__folders_close(struct og_folders *f)
{
    if (!f)
        return;
    for (size_t t = 0; t < OG_COUNT(f->features); t++)
        og__table_close(f->features[t]);
    free_names(&f->relations);
    free_names(&f->groups);
    free(f);
}

static int list_relations(struct og_folders *f, struct og_err *err)
{
    const bool dropped = f->imp->dropped_types = f->imp->opt->drop_types;
    int there = dropped ? 0 : og__import_has(f->imp, "processed", err);
    int rc = there > 0 ? list_folders(f->imp, f->layout, &f->relations, err) : there;
    if (rc < 0 || f->relations.n > 0)
        return rc;
    return add_name(&f->relations, f->layout->only, err);
}

static int find_type(const struct og_folders *f, const char *name)
{
    for (size_t t = 0; t < f->groups.n; t++)
        if (strcmp(f->groups.list[t], name) == 0)
            return (int)t;
    return -1;
}

static int add_type(struct og_folders *f, const char *name, struct og_err *err)
{
    if (find_type(f, name) >= 0)
        return 0;
    if (f->groups.n == OG_MOST_TYPES)
        return og__fail(err, -EINVAL, "256 types at most", "%s: too many types of nodes",
                        f->imp->src);
    return add_name(&f->groups, name, err);
}

/* The types of relation i's ends, and its name. */
static void read_name(const struct og_folders *f, size_t i, int ends[2], char name[NAME])
{
    char *parts[3] = {name, name, name};
    snprintf(name, NAME, "%s", f->relations.list[i]);
    (void)cut_name(name, f->layout->join, parts); /* as when it was listed */
    ends[0] = find_type(f, parts[0]);
    ends[1] = find_type(f, parts[2]);
    memmove(name, parts[1], strlen(parts[1]) + 1);
}

static int find_types(struct og_folders *f, struct og_err *err)
{
    OG_DO(add_type(f, f->layout->labelled, err));
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[NAME];
        char *parts[3] = {name, name, name};
        snprintf(name, sizeof(name), "%s", f->relations.list[i]);
        (void)cut_name(name, f->layout->join, parts);
        OG_DO(add_type(f, parts[0], err));
        OG_DO(add_type(f, parts[2], err));
    }
    if (f->groups.n > 2)
        qsort(f->groups.list + 1, f->groups.n - 1, sizeof(*f->groups.list), compare_names);
    return 0;
}

/* With several types, some may have no features. */
static int open_features(struct og_folders *f, size_t t, struct og_err *err)
{
    char *name = NULL;
    if (asprintf(&name, "processed/%s/node_feat.npy", f->groups.list[t]) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", f->imp->src);
    int there = f->groups.n > 1 ? og__import_has(f->imp, name, err) : 1;
    int rc = there > 0 ? f->layout->open_features(f->imp, name, &f->features[t], err) : there;
    free(name);
    f->count[t] = rc == 0 && f->features[t] ? f->features[t]->rows : 0;
    return rc;
}

int og__folders_edges(void *folders, uint32_t relation, struct og_edges *e, struct og_err *err)
{
    const struct og_folders *f = folders;
    char *file = NULL;
    if (asprintf(&file, "processed/%s/edge_index.npy", f->relations.list[relation]) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", f->imp->src);
    const int rc = f->layout->open_edges(f->imp, file, e, err);
    free(file);
    return rc;
}

int og__folders_features(void *folders, uint32_t group, struct og_table **out, struct og_err *err)
{
    struct og_folders *f = folders;
    (void)err;
    *out = f->features[group];
    f->features[group] = NULL;
    return 0;
}

/* ---- how many nodes ---- */

/* Raises count to the largest value of column `at` of `of`, plus 1. */
static int count_ids(struct og_table *t, int64_t at, int64_t of, int64_t *count, struct og_err *err)
{
    int64_t raw[PIECE];
    int64_t ids[PIECE];
    for (int64_t n = 1; n > 0;) {
        OG_DO(og__table_read(t, raw, PIECE / of, &n, err));
        og__npy_widen(t->type, raw, (size_t)(n * of), ids);
        for (int64_t i = at; i < n * of; i += of)
            *count = OG_MAX(*count, ids[i] + 1);
    }
    return og__table_rewind(t, err);
}

/* Node counts from the edges of relation i, for types without features. */
static int count_ends(struct og_folders *f, size_t i, struct og_edges *e, struct og_err *err)
{
    char name[NAME];
    int ends[2];
    read_name(f, i, ends, name);
    OG_DO(og__folders_edges(f, (uint32_t)i, e, err));
    OG_DO(og__edges_check(e, err));
    for (int end = 0; end < 2; end++) {
        const int column = f->imp->opt->reverse ? 1 - end : end;
        struct og_table *table = e->pairs ? e->pairs : column == 0 ? e->src : e->dst;
        if (!f->features[ends[end]])
            OG_DO(count_ids(table, e->pairs ? column : 0, e->pairs ? 2 : 1, &f->count[ends[end]],
                            err));
    }
    return 0;
}

static int count_nodes(struct og_folders *f, struct og_err *err)
{
    struct og_edges e = {0};
    int rc = 0;
    for (size_t i = 0; i < f->relations.n; i++) {
        OG_TRY(count_ends(f, i, &e, err));
        og__edges_close(&e);
    }
out:
    og__edges_close(&e);
    return rc;
}

/* ---- all of it ---- */

static int add_all(struct og_folders *f, struct og_err *err)
{
    struct og_graph *g = &f->imp->graph;
    const char *src = f->imp->src;
    for (size_t t = 0; t < f->groups.n; t++)
        OG_DO(og__schema_add_group(g, f->groups.list[t], f->count[t], src, err));
    for (size_t i = 0; i < f->relations.n; i++) {
        char name[NAME];
        int ends[2];
        read_name(f, i, ends, name);
        OG_DO(og__schema_add_relation(g, (uint32_t)ends[0], name, (uint32_t)ends[1], src, err));
    }
    return og__import_resolve(f->imp, err);
}

int og__folders_open(struct og_folders **out, struct og_importer *imp,
                     const struct og_folder_layout *layout, struct og_err *err)
{
    struct og_folders *f = *out = calloc(1, sizeof(*f));
    if (!f)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    f->imp = imp;
    f->layout = layout;
    OG_DO(list_relations(f, err));
    OG_DO(find_types(f, err));
    for (size_t t = 0; t < f->groups.n; t++)
        OG_DO(open_features(f, t, err));
    if (f->relations.n == 1 && strcmp(f->relations.list[0], layout->only) == 0)
        return og__import_set_nodes(imp, f->count[0], err);
    OG_DO(og__import_with_types(imp, err));
    OG_DO(count_nodes(f, err));
    return add_all(f, err);
}
