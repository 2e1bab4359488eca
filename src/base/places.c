#include "base/places.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lists ---- */

static int no_memory(struct og_err *err)
{
    return og__fail_errno(err, -ENOMEM, NULL, "folders");
}

/* Stores the pointers, then the strings, in one allocation. */
static int keep(struct og_places *out, struct og_places of, const char *infix, const char *name,
                struct og_err *err)
{
    const size_t more = strlen(infix) + strlen(name) + 1;
    size_t bytes = of.n * sizeof(char *);
    for (uint32_t i = 0; i < of.n; i++)
        bytes += strlen(of.path[i]) + more;
    char **path = malloc(OG_MAX(bytes, (size_t)1));
    *out = (struct og_places){0};
    if (!path)
        return no_memory(err);
    char *at = (char *)(path + of.n);
    for (uint32_t i = 0; i < of.n; i++) {
        const size_t length = strlen(of.path[i]) + more;
        snprintf(at, length, "%s%s%s", of.path[i], infix, name);
        path[i] = at;
        at += length;
    }
    *out = (struct og_places){of.n, (const char *const *)path};
    return 0;
}

int og__places_copy(struct og_places *out, struct og_places of, struct og_err *err)
{
    return keep(out, of, "", "", err);
}

int og__places_in(struct og_places *out, struct og_places of, const char *name, struct og_err *err)
{
    return keep(out, of, "/", name, err);
}

void og__places_free(struct og_places *p)
{
    free((void *)p->path);
    *p = (struct og_places){0};
}

static int refuse_twice(const char *option, const char *a, const char *b, struct og_err *err)
{
    if (strcmp(a, b) == 0)
        return og__fail(err, -EINVAL, "name a folder of another disk", "--%s: %s is there twice",
                        option, a);
    return og__fail(err, -EINVAL, "name a folder of another disk", "--%s: %s and %s are one folder",
                    option, a, b);
}

static int add(struct og_places *p, const char **path, const char *name, const char *option,
               struct og_err *err)
{
    if (p->n == OG_MOST_PLACES)
        return og__fail(err, -EINVAL, NULL, "--%s: more than %d folders", option, OG_MOST_PLACES);
    if (!*name)
        return og__fail(err, -EINVAL, "separate folders by a comma: DIR,DIR",
                        "--%s: a folder without a name", option);
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(path[i], name) == 0)
            return refuse_twice(option, name, name, err);
    path[p->n++] = name;
    return 0;
}

int og__places_split(struct og_places *out, const char *list, const char *option,
                     struct og_err *err)
{
    const char *path[OG_MOST_PLACES];
    struct og_places found = {0, path};
    char *text = strdup(list);
    char *rest = text;
    *out = (struct og_places){0};
    if (!text)
        return no_memory(err);
    int rc = 0;
    for (char *name; (name = strsep(&rest, ",")) != NULL;)
        OG_TRY(add(&found, path, name, option, err));
    OG_TRY(og__places_copy(out, found, err));
out:
    free(text);
    return rc;
}

/* ---- what is there ---- */

bool og__same_file_system(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;
    char *there_a = og__nearest_there(a);
    char *there_b = og__nearest_there(b);
    const bool same = there_a && there_b && stat(there_a, &of_a) == 0 &&
                      stat(there_b, &of_b) == 0 && of_a.st_dev == of_b.st_dev;
    free(there_a);
    free(there_b);
    return same;
}

uint64_t og__places_room(struct og_places p)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < p.n; i++) {
        uint64_t sharers = 0;
        for (uint32_t k = 0; k < p.n; k++)
            sharers += k == i || og__same_file_system(p.path[i], p.path[k]);
        least = OG_MIN(least, og__disk_free(p.path[i]) / sharers);
    }
    return p.n > 0 ? least * p.n : 0;
}

/* The part of a path that is not there yet, and which folder it begins in. */
struct way_to {
    struct stat there;
    const char *rest;
};

/* Returns the length of the path's next name, 0 at the end; moves *path past it. */
static size_t next_name(const char **path, const char **name)
{
    size_t n;
    do {
        *name = *path + strspn(*path, "/");
        n = strcspn(*name, "/");
        *path = *name + n;
    } while (n == 1 && **name == '.');
    return n;
}

static bool same_folder(const struct way_to *a, const struct way_to *b)
{
    const char *in_a = a->rest;
    const char *in_b = b->rest;
    const char *name_a;
    const char *name_b;
    size_t n;
    if (a->there.st_ino != b->there.st_ino || a->there.st_dev != b->there.st_dev)
        return false;
    do {
        n = next_name(&in_a, &name_a);
        if (n != next_name(&in_b, &name_b) || strncmp(name_a, name_b, n) != 0)
            return false;
    } while (n > 0);
    return true;
}

/* The part of the path that does not exist: "." is the parent of a path without a slash. */
static const char *behind(const char *path, const char *there)
{
    const size_t n = strlen(there);
    const bool whole = path[n] == '/' || path[n] == 0 || there[n - 1] == '/';
    return strncmp(path, there, n) == 0 && whole ? path + n : path;
}

/* Does the path leave an absent folder by ".."? Such paths cannot be compared yet. */
static bool leads_out(const char *rest)
{
    const char *name;
    size_t n;
    while ((n = next_name(&rest, &name)) > 0)
        if (n == 2 && strncmp(name, "..", n) == 0)
            return true;
    return false;
}

static int look_at(const char *path, const char *option, struct way_to *out, struct og_err *err)
{
    static const char hint[] = "name a folder that can be written to, or made";
    char *there = og__nearest_there(path);
    int rc = there ? 0 : no_memory(err);
    if (there && (stat(there, &out->there) < 0 || !S_ISDIR(out->there.st_mode)))
        rc = og__fail(err, -ENOTDIR, hint, "--%s: %s is no folder", option, there);
    else if (there && access(there, W_OK | X_OK) < 0)
        rc = og__fail_errno(err, -errno, hint, "--%s: %s", option, there);
    if (rc == 0) {
        out->rest = behind(path, there);
        if (leads_out(out->rest))
            rc = og__fail(err, -ENOENT, "name the folder without ..",
                          "--%s: %s leads through a folder that is not there", option, path);
    }
    free(there);
    return rc;
}

int og__places_check(struct og_places p, const char *option, struct og_err *err)
{
    struct way_to way[OG_MOST_PLACES];
    for (uint32_t i = 0; i < p.n; i++) {
        OG_DO(look_at(p.path[i], option, &way[i], err));
        for (uint32_t k = 0; k < i; k++)
            if (same_folder(&way[k], &way[i]))
                OG_DO(refuse_twice(option, p.path[k], p.path[i], err));
    }
    return 0;
}

int og__scratch_check(const char *where, struct og_err *err)
{
    struct og_err why;
    if (og__places_check(OG__ONE_PLACE(where), "scratch", &why) == 0)
        return 0;
    return og__fail(err, -ENOTDIR,
                    "set XDG_CACHE_HOME to a folder that can be written to, or give --scratch DIR",
                    "%s: no folder, and none can be made there", where);
}
