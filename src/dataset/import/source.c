/* The files of the source: which are there, opening them, and which were not opened. */
#include "dataset/import/import.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which were read ---- */

struct og_source_files {
    char **name; /* relative to the source */
    size_t n;
};

struct og_source_files *og__source_files_new(void)
{
    return calloc(1, sizeof(struct og_source_files));
}

static bool was_read(const struct og_source_files *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->name[i], name) == 0)
            return true;
    return false;
}

/* False on lack of memory. */
static bool note_read(struct og_source_files *f, const char *name)
{
    if (was_read(f, name))
        return true;
    char **more = realloc(f->name, (f->n + 1) * sizeof(*more));
    char *copy = more ? strdup(name) : NULL;
    f->name = more ? more : f->name;
    if (copy)
        f->name[f->n++] = copy;
    return copy;
}

void og__source_files_free(struct og_source_files *f)
{
    for (size_t i = 0; f && i < f->n; i++)
        free(f->name[i]);
    if (f)
        free(f->name);
    free(f);
}

char *og__import_source(const struct og_importer *imp, const char *name)
{
    return note_read(imp->files, name) ? og__path_join(imp->src, name) : NULL;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* A folder that `outgrow import` made, or is making now. */
static bool is_dataset(const struct og_importer *imp, const char *folder)
{
    struct og_err none;
    const char *const ours = strrchr(imp->dir.temporary, '/');
    const char *const name = strrchr(folder, '/');
    if (name && strcmp(name, ours ? ours : imp->dir.temporary) == 0)
        return true;
    return og__exists(folder, "meta.json", &none) > 0 &&
           og__exists(folder, "indptr.npy", &none) > 0;
}

/* A folder below those that are looked into, as "name/". */
static void name_folder(struct og_names *names, const char *name)
{
    char text[256];
    snprintf(text, sizeof(text), "%.250s/", name);
    og__names_add(names, text);
}

static int name_unread(const struct og_importer *imp, const char *below, int deep,
                       struct og_names *names, struct og_err *err);

/* Handles one entry: `name` is relative to the source. */
static int look_at(const struct og_importer *imp, const char *name, int deep,
                   struct og_names *names, struct og_err *err)
{
    struct stat st;
    int rc = 0;
    char *path = og__path_join(imp->src, name);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (stat(path, &st) < 0) {
        rc = errno == ENOENT ? 0 : og__fail_errno(err, -errno, NULL, "%s", path);
        free(path);
        return rc;
    }
    const bool folder = S_ISDIR(st.st_mode) && !is_dataset(imp, path);
    if (folder && deep > 0)
        rc = name_unread(imp, name, deep - 1, names, err);
    else if (folder)
        name_folder(names, name);
    else if (S_ISREG(st.st_mode) && !was_read(imp->files, name))
        og__names_add(names, name);
    free(path);
    return rc;
}

static int name_unread(const struct og_importer *imp, const char *below, int deep,
                       struct og_names *names, struct og_err *err)
{
    struct dirent **list = NULL;
    char *folder = og__path_join(imp->src, below);
    const int n = folder ? scandir(folder, &list, visible, alphasort) : 0;
    int rc = folder ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", below);
    if (n < 0 && errno == EACCES && *below)
        name_folder(names, below);
    else if (n < 0 && errno != ENOTDIR) /* SRC may be one file */
        rc = og__fail_errno(err, -errno, NULL, "%s", folder);
    for (int i = 0; i < n; i++) {
        char *name = *below ? og__path_join(below, list[i]->d_name) : strdup(list[i]->d_name);
        if (rc >= 0)
            rc = name ? look_at(imp, name, deep, names, err)
                      : og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
        free(name);
        free(list[i]);
    }
    free(list);
    free(folder);
    return rc;
}

int og__import_tell_unread(const struct og_importer *imp, int deep, struct og_err *err)
{
    struct og_names names = {.n = 0};
    int rc = name_unread(imp, "", deep, &names, err);
    if (rc >= 0 && names.n > 0)
        og__import_warn(imp, "%s: not read: %s", imp->src, og__names_text(&names));
    return rc;
}

/* ---- which are there ---- */

int og__import_has(const struct og_importer *imp, const char *name, struct og_err *err)
{
    return og__exists(imp->src, name, err);
}

int og__import_graph_file(const struct og_importer *imp, const char *name, char **path,
                          bool *is_folder, struct og_err *err)
{
    struct stat st;
    char packed[64];
    *path = NULL;
    *is_folder = stat(imp->src, &st) == 0 && S_ISDIR(st.st_mode);
    const int plain = *is_folder ? og__import_has(imp, name, err) : 1;
    if (plain < 0)
        return plain;
    snprintf(packed, sizeof(packed), "%s.gz", name);
    *path = *is_folder ? og__import_source(imp, plain ? name : packed) : strdup(imp->src);
    return *path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
}

int og__import_find_names(const struct og_importer *imp, const char *prefix, int64_t n,
                          struct og_node_names **out, struct og_err *err)
{
    static const char *const ends[] = {"", "_offsets", "_bytes"};
    char file[96];
    *out = NULL;
    if (imp->named.words)
        return 0;
    int rc = og__node_names_in(out, imp->src, prefix, n, err);
    for (size_t i = 0; *out && i < OG_COUNT(ends); i++) {
        snprintf(file, sizeof(file), "%.80s%s.npy", prefix, ends[i]);
        if (!note_read(imp->files, file))
            rc = og__fail_errno(err, -ENOMEM, NULL, "%s", file);
    }
    return rc;
}

static int leaves(const char *name, const char *said_by, struct og_err *err)
{
    return og__fail(
        err, -EINVAL,
        "files are named relative to the source, and lie in it; links lead nowhere else",
        "%s: '%s' leaves the source's folder", said_by, name);
}

int og__import_inside(const char *name, const char *said_by, struct og_err *err)
{
    bool inside = name[0] != '/' && name[0] != 0;
    for (const char *p = name; inside && p; p = strchr(p, '/')) {
        p += *p == '/';
        inside = strncmp(p, "..", 2) != 0 || (p[2] != '/' && p[2] != 0);
    }
    if (inside)
        return 0;
    return leaves(name, said_by, err);
}

/* Both paths are free of symbolic links. */
static bool lies_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || folder[n - 1] == '/');
}

int og__import_named(const struct og_importer *imp, const char *name, const char *said_by,
                     char **path, struct og_err *err)
{
    *path = NULL;
    int rc = og__import_inside(name, said_by, err);
    if (rc < 0)
        return rc;
    char *said = og__import_source(imp, name);
    char *folder = said ? realpath(imp->src, NULL) : NULL;
    char *real = folder ? realpath(said, NULL) : NULL;
    if (!real)
        rc = og__fail_errno(err, said ? -errno : -ENOMEM, NULL, "%s: path: %s", said_by, name);
    else if (!lies_in(real, folder))
        rc = leaves(name, said_by, err);
    free(said);
    free(folder);
    if (rc < 0)
        free(real);
    else
        *path = real;
    return rc;
}

/* Path of an existing file, malloc'ed; NULL for an optional one that is absent. */
static int find_npy(const struct og_importer *imp, const char *name, bool optional, char **path,
                    struct og_err *err)
{
    int there = og__import_has(imp, name, err);
    *path = NULL;
    if (there < 0 || (there == 0 && optional))
        return there;
    *path = og__import_source(imp, name);
    if (!*path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    if (there)
        return 0;
    int rc = og__fail(err, -ENOENT, "docs/reference/formats.md lists the files of each format",
                      "%s: not there", *path);
    free(*path);
    *path = NULL;
    return rc;
}

int og__import_open_npy(const struct og_importer *imp, const char *name, bool optional,
                        struct og_table **out, struct og_err *err)
{
    char *path;
    *out = NULL;
    int rc = find_npy(imp, name, optional, &path, err);
    if (rc < 0 || !path)
        return rc;
    rc = og__table_npy(out, path, err);
    free(path);
    return rc;
}

int og__import_open_pairs(const struct og_importer *imp, const char *name, struct og_table **out,
                          struct og_err *err)
{
    char *path;
    *out = NULL;
    int rc = find_npy(imp, name, false, &path, err);
    if (rc < 0)
        return rc;
    rc = og__table_npy_pairs(out, path, err);
    free(path);
    return rc;
}

int og__import_open_as_stored(const struct og_importer *imp, const char *name,
                              struct og_table **out, bool *columns, struct og_err *err)
{
    char *path;
    *out = NULL;
    int rc = find_npy(imp, name, false, &path, err);
    if (rc < 0)
        return rc;
    rc = og__table_npy_as_stored(out, path, columns, err);
    free(path);
    return rc;
}
