/* Entries of meta.json for features in parts, and the names of parts. */
#include "dataset/striper.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "dataset/meta.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { META_MAX = 1024 * 1024 };

static const char replaces[] = "replaces";

/* The file of features that are not in parts, "features.npy". */
struct one_file {
    char name[40];
};
static struct one_file one_file_of(const struct og_striper *s)
{
    struct one_file f;
    snprintf(f.name, sizeof(f.name), "%s.npy", s->name.text);
    return f;
}

int og__striper_no_memory(const struct og_striper *s, struct og_err *err)
{
    return og__fail_errno(err, -ENOMEM, NULL, "%s: stripe", s->ds->path);
}

/* ---- names ---- */

char *og__striper_part_path(const struct og_striper *s, const char *const *folders, uint32_t n,
                            uint32_t p)
{
    uint64_t sum = XXH3_64bits_withSeed(s->home, strlen(s->home), s->ds->identity.contents);
    for (uint32_t i = 0; i < n; i++)
        sum = XXH3_64bits_withSeed(folders[i], strlen(folders[i]) + 1, sum);
    const char *name = strrchr(s->home, '/') + 1;
    char *path = NULL;
    return asprintf(&path, "%s/%s-%s-%uof%u-%08" PRIx32 ".npy", folders[p], name, s->name.text,
                    p + 1, n, (uint32_t)sum) < 0
               ? NULL
               : path;
}

/* The path for meta.json: relative for files in the dataset's folder, which move with it. */
static const char *as_declared(const struct og_striper *s, const char *path)
{
    const size_t n = strlen(s->home);
    const bool inside = strncmp(path, s->home, n) == 0 && path[n] == '/';
    return inside ? path + n + 1 : path;
}

static char *as_absolute(const struct og_striper *s, const char *declared)
{
    return declared[0] == '/' ? strdup(declared) : og__path_join(s->home, declared);
}

/* Folders and names of parts, as declared. */
static int split_paths(const struct og_striper *s, const json_t *paths, size_t n,
                       char *path[OG_MOST_PARTS], char *folder[OG_MOST_PARTS], struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        path[i] = as_absolute(s, json_string_value(json_array_get(paths, i)));
        folder[i] = path[i] ? strdup(path[i]) : NULL;
        if (!folder[i])
            return og__striper_no_memory(s, err);
        dirname(folder[i]);
    }
    return 0;
}

/* Did a stripe of this dataset, at its present path, make these parts? */
static int find_ours(const struct og_striper *s, const json_t *paths, bool *ours,
                     struct og_err *err)
{
    const size_t n = json_array_size(paths);
    char *path[OG_MOST_PARTS] = {0};
    char *folder[OG_MOST_PARTS] = {0};
    int rc = 0;
    *ours = n > 0 && n <= OG_MOST_PARTS;
    for (size_t i = 0; i < n; i++)
        *ours &= json_is_string(json_array_get(paths, i));
    if (!*ours)
        return 0;
    OG_TRY(split_paths(s, paths, n, path, folder, err));
    for (uint32_t i = 0; *ours && i < n; i++) {
        char *made = og__striper_part_path(s, (const char *const *)folder, (uint32_t)n, i);
        *ours = made && strcmp(made, path[i]) == 0;
        free(made);
        OG_TRY(made ? 0 : og__striper_no_memory(s, err));
    }
out:
    for (size_t i = 0; i < OG_MOST_PARTS; i++) {
        free(path[i]);
        free(folder[i]);
    }
    return rc;
}

/* ---- meta.json ---- */

int og__striper_read_meta(struct og_striper *s, struct og_err *err)
{
    char *path = og__path_join(s->home, "meta.json");
    char *text = NULL;
    size_t len = 0;
    int rc;
    OG_TRY(path ? og__read_text(path, META_MAX, &text, &len, err) : og__striper_no_memory(s, err));
    OG_TRY(og__json_parse(&s->meta, text, len, path, NULL, err));
out:
    free(text);
    free(path);
    return rc;
}

static json_t *features_of(const struct og_striper *s)
{
    return json_object_get(json_object_get(s->meta, "files"), s->name.text);
}

const char *og__striper_checksum(const struct og_striper *s, uint32_t i)
{
    const json_t *own = features_of(s);
    const json_t *parts = json_object_get(own, "parts");
    if (parts)
        return json_string_value(json_object_get(json_array_get(parts, i), "checksum"));
    return own ? NULL
               : json_string_value(
                     json_object_get(json_object_get(s->meta, "checksums"), one_file_of(s).name));
}

/* Paths of the parts that there are, as declared; empty where there is one file. NULL: no memory.
 */
static json_t *declared_parts(const struct og_striper *s)
{
    json_t *paths = json_array();
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(features_of(s), "parts"), i, part)
    {
        paths = og__json_append(paths, json_incref(json_object_get(part, "path")));
    }
    return paths;
}

int og__striper_lies_so(const struct og_striper *s, bool *so, struct og_err *err)
{
    json_t *paths = declared_parts(s);
    const uint32_t n = s->stripes.parts;
    *so = json_array_size(paths) == n;
    int rc = paths ? 0 : og__striper_no_memory(s, err);
    for (uint32_t p = 0; rc == 0 && *so && p < n; p++) {
        char *there = as_absolute(s, json_string_value(json_array_get(paths, p)));
        char *wanted = og__striper_part_path(s, (const char *const *)s->folder, n, p);
        rc = there && wanted ? 0 : og__striper_no_memory(s, err);
        *so = rc == 0 && strcmp(there, wanted) == 0;
        free(there);
        free(wanted);
    }
    json_decref(paths);
    return rc;
}

/* Files to remove once the parts are there, as declared; empty: none. */
static int spare_files(const struct og_striper *s, json_t **out, struct og_err *err)
{
    json_t *paths = declared_parts(s);
    bool ours = false;
    int rc;
    OG_TRY(paths ? 0 : og__striper_no_memory(s, err));
    if (!features_of(s))
        paths = og__json_append(paths, json_string(one_file_of(s).name));
    else /* a file of the user's own, or of a copy's, is not spare */
        OG_TRY(find_ours(s, paths, &ours, err));
    if (paths && (s->keep || (features_of(s) && !ours)))
        json_array_clear(paths);
    OG_TRY(paths ? 0 : og__striper_no_memory(s, err));
out:
    if (rc < 0)
        json_decref(paths);
    *out = rc < 0 ? NULL : paths;
    return rc;
}

static json_t *parts_json(const struct og_striper *s)
{
    json_t *parts = json_array();
    for (uint32_t p = 0; p < s->stripes.parts; p++) {
        const struct og_stripe_target *t = &s->target[p];
        json_t *part =
            og__json_with(json_object(), "path", json_string(as_declared(s, t->file.path)));
        part = og__json_with(part, "checksum", og__json_hex(t->checksum));
        part = og__json_with(part, "contents", og__json_hex(t->contents));
        parts = og__json_append(parts, part);
    }
    return parts;
}

/* The checksum of the one file stays part of what the dataset is. */
static json_t *whole_checksum(const struct og_striper *s)
{
    const json_t *own = features_of(s);
    json_t *said =
        json_object_get(own, "parts")
            ? json_object_get(own, "checksum")
            : json_object_get(json_object_get(s->meta, "checksums"), one_file_of(s).name);
    return json_incref(said);
}

/* And its length; NULL if the parts lack it. */
static json_t *whole_bytes(const struct og_striper *s)
{
    const json_t *own = features_of(s);
    return json_object_get(own, "parts") ? json_incref(json_object_get(own, "bytes"))
                                         : json_integer(s->source_bytes);
}

static json_t *features_json(const struct og_striper *s, json_t *spare)
{
    json_t *whole = whole_checksum(s);
    json_t *bytes = whole_bytes(s);
    json_t *features =
        og__json_with(json_object(), "unit", json_integer((json_int_t)s->stripes.unit));
    features = og__json_with(features, "parts", parts_json(s));
    if (whole)
        features = og__json_with(features, "checksum", whole);
    if (bytes)
        features = og__json_with(features, "bytes", bytes);
    if (json_array_size(spare) > 0)
        features = og__json_with(features, replaces, json_incref(spare));
    return features;
}

/* After a failed write, meta.json may be there nevertheless. So this reads it, and assumes that an
 * unreadable one names the parts. */
static bool meta_names_parts(struct og_striper *s)
{
    bool so = true;
    json_decref(s->meta);
    s->meta = NULL;
    return og__striper_read_meta(s, NULL) < 0 || og__striper_lies_so(s, &so, NULL) < 0 || so;
}

static int put_features(struct og_striper *s, json_t *features)
{
    json_t *files = json_object_get(s->meta, "files");
    if (!files && json_object_set_new(s->meta, "files", json_object()) == 0)
        files = json_object_get(s->meta, "files");
    return json_object_set_new(files, s->name.text, features);
}

int og__striper_switch_meta(struct og_striper *s, struct og_err *err)
{
    json_t *spare = NULL;
    int rc;
    OG_TRY(spare_files(s, &spare, err));
    const bool moves = json_array_size(spare) > 0;
    if (!moves && !s->keep)
        og__say(&s->log, OG__INFO, "%s: stays: it is not this dataset's own", s->group->rows.path);
    json_t *features = features_json(s, spare);
    OG_TRY(features && put_features(s, features) == 0 ? 0 : og__striper_no_memory(s, err));
    if (moves)
        json_object_del(json_object_get(s->meta, "checksums"), one_file_of(s).name);
    rc = og__meta_write(s->home, json_incref(s->meta), err);
    s->switched = rc == 0 || meta_names_parts(s);
out:
    json_decref(spare);
    return rc;
}

/* meta.json is untrusted: removes only files with a name that a dataset or its stripe gives. */
int og__striper_remove_replaced(struct og_striper *s, struct og_err *err)
{
    json_t *features = features_of(s);
    const json_t *paths = json_object_get(features, replaces);
    const char *first = json_string_value(json_array_get(paths, 0));
    bool known;
    size_t i;
    json_t *declared;
    if (!paths)
        return 0;
    OG_DO(find_ours(s, paths, &known, err));
    known |= json_array_size(paths) == 1 && first && strcmp(first, one_file_of(s).name) == 0;
    json_array_foreach(paths, i, declared)
    {
        char *path = known ? as_absolute(s, json_string_value(declared)) : NULL;
        OG_DO(path || !known ? 0 : og__striper_no_memory(s, err));
        if (path && unlink(path) < 0 && errno != ENOENT)
            og__say(&s->log, OG__WARN, "%s: cannot remove: %s; it is no longer needed", path,
                    strerrordesc_np(errno));
        free(path);
    }
    json_object_del(features, replaces);
    return og__meta_write(s->home, json_incref(s->meta), err);
}
