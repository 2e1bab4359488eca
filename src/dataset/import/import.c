#include "dataset/import/import.h"

#include <stdlib.h>
#include <string.h>

void og_import_init(struct og_import *i)
{
    *i = (struct og_import){.feature_dtype = -1, .weight_column = -1};
}

char *og__import_source(const struct og_importer *imp, const char *name)
{
    return og__path_join(imp->src, name);
}

char *og__import_target(const struct og_importer *imp, const char *name)
{
    return og__path_join(imp->dir.temporary, name);
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

void og__import_say(const struct og_importer *imp, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (!imp->seen)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    og__say(&(struct og_log){imp->seen->message, imp->seen->arg}, OG__INFO, "%s", text);
}

void og__import_note(struct og_importer *imp, const char *key, json_t *value)
{
    imp->meta = og__json_with(imp->meta, key, value);
}

int og__import_tell(const struct og_importer *imp, const char *stage, int64_t done, int64_t total,
                    struct og_err *err)
{
    const struct og_observer *seen = imp->seen;
    struct og_progress p = {.stage = stage, .done = (uint64_t)done, .total = (uint64_t)total};
    if (seen && seen->progress)
        seen->progress(seen->arg, &p);
    if (seen && seen->stop && *seen->stop)
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted: nothing was written");
    return 0;
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
    if (rc == 0 && path)
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
    if (rc == 0)
        rc = og__table_npy_either(out, path, fortran, err);
    free(path);
    return rc;
}

int og__import_npy_splits(struct og_importer *imp, struct og_err *err)
{
    static const char *const names[] = {"train.npy",       "valid.npy",       "test.npy",
                                        "train_edges.npy", "valid_edges.npy", "test_edges.npy"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < OG_COUNT(names); i++) {
        struct og_table *t;
        rc = og__import_open_npy(imp, names[i], true, &t, err);
        if (rc == 0 && t)
            rc = i < 3 ? og__import_split(imp, t, names[i], err)
                       : og__import_edge_split(imp, t, names[i], err);
        og__table_close(t);
    }
    return rc;
}

static const struct format {
    const char *name;
    int (*read)(struct og_importer *imp, struct og_err *err);
} formats[] = {
    {"npy", og__import_npy},
    {"ogb", og__import_ogb},
    {"igb", og__import_igb},
    {"mtx", og__import_mtx},
    {"graphbolt", og__import_graphbolt},
    {"edgelist", og__import_edgelist},
};
static const char format_hint[] = "one of npy, ogb, igb, graphbolt, edgelist, mtx";

static const struct format *find_format(const char *name, struct og_err *err)
{
    for (size_t i = 0; i < OG_COUNT(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    og__fail(err, -EINVAL, format_hint, "import %s: no such format", name);
    return NULL;
}

/* What does not come from the arrays. */
static int start_meta(struct og_importer *imp, const char *format, struct og_err *err)
{
    const struct og_import *o = imp->opt;
    const char *slash = strrchr(imp->dir.path, '/');
    imp->checksums = json_object();
    imp->meta =
        json_pack("{s:i s:s s:s s:O s:{s:s s:s s:s s:b s:b s:b s:b s:b}}", "format", 1, "name",
                  slash ? slash + 1 : imp->dir.path, "task", "node classification", "checksums",
                  imp->checksums, "provenance", "importer", og_version(), "format", format,
                  "source", imp->src, "symmetrize", o->symmetrize, "drop_duplicates",
                  o->symmetrize || o->drop_duplicates, "drop_self_loops", o->drop_self_loops,
                  "row_normalize", o->row_normalize, "reverse", o->reverse);
    return imp->meta ? 0 : og__fail_errno(err, -ENOMEM, NULL, "import");
}

static int import_into(struct og_importer *imp, const struct format *format, struct og_err *err)
{
    int rc = start_meta(imp, format->name, err);
    if (rc == 0)
        rc = format->read(imp, err);
    if (rc == 0)
        rc = og__meta_write(imp->dir.temporary, json_incref(imp->meta), err);
    return rc < 0 ? rc : og__newdir_commit(&imp->dir, err);
}

int og_import(const char *format, const char *src, const char *out, const struct og_import *opt,
              const struct og_observer *seen, struct og_err *err)
{
    struct og_importer imp = {.opt = opt, .seen = seen, .src = src};
    const struct format *reader = find_format(format, err);
    if (!reader)
        return -EINVAL;
    imp.budget = og__budget_new(og__memory_amount(&opt->memory));
    int rc = imp.budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "import");
    if (rc == 0)
        rc = og__pool_open(&imp.pool, opt->threads ? opt->threads : og__cpu_count(), err);
    if (rc == 0)
        rc = og__newdir_begin(&imp.dir, out, err);
    if (rc == 0)
        rc = import_into(&imp, reader, err);
    og__newdir_abandon(&imp.dir);
    og__pool_close(imp.pool);
    og__budget_free(imp.budget);
    json_decref(imp.meta);
    json_decref(imp.checksums);
    return rc;
}
