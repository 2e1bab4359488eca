/* The files of the source: which are there, and opening them. */
#include "dataset/import/import.h"

#include <stdlib.h>
#include <string.h>

char *og__import_source(const struct og_importer *imp, const char *name)
{
    return og__path_join(imp->src, name);
}

int og__import_has(const struct og_importer *imp, const char *name, struct og_err *err)
{
    return og__exists(imp->src, name, err);
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

/* Both without symbolic links. */
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
        rc = og__fail_errno(err, said ? -errno : -ENOMEM, NULL, "%s", said ? said : name);
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

/* Path of a file that is there, malloc'ed; NULL of one that need not be and is not. */
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
    int rc = og__fail(err, -ENOENT, "docs/formats.md lists the files of each format",
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

int og__import_open_either(const struct og_importer *imp, const char *name, struct og_table **out,
                           bool *fortran, struct og_err *err)
{
    char *path;
    *out = NULL;
    int rc = find_npy(imp, name, false, &path, err);
    if (rc < 0)
        return rc;
    rc = og__table_npy_either(out, path, fortran, err);
    free(path);
    return rc;
}
