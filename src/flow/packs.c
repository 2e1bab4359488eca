#include "flow/packs.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/seal.h"
#include "dataset/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char hint[] = "remove the folder and make it anew with `outgrow pack`";

/* pack.json's, which says of no types, or of which. */
enum { PLAIN = 1, TYPED = 2 };

static char *file_of(const char *dir, uint32_t draw, const char *suffix)
{
    char *path;
    return asprintf(&path, "%s/draw%" PRIu32 "%s", dir, draw, suffix) < 0 ? NULL : path;
}

char *og__packs_container(const char *dir, uint32_t draw)
{
    return file_of(dir, draw, ".pack");
}

char *og__packs_container_of(const char *dir, uint32_t draw, uint32_t type)
{
    char suffix[32];
    snprintf(suffix, sizeof(suffix), "_%" PRIu32 ".pack", type);
    return file_of(dir, draw, suffix);
}

char *og__packs_list(const char *dir, uint32_t draw)
{
    return file_of(dir, draw, "_cached.npy");
}

/* ---- pack.json ---- */

int og__packs_begin(struct og_packs *p, const struct og_typed *typed, struct og_err *err)
{
    if (!typed)
        return 0;
    p->type = calloc(typed->n_types, sizeof(*p->type));
    if (!p->type)
        return og__fail_errno(err, -ENOMEM, NULL, "packs");
    p->n_types = typed->n_types;
    for (uint32_t t = 0; t < p->n_types; t++)
        p->type[t].end = (uint64_t)(typed->type[t].first + typed->type[t].view.n_nodes);
    return 0;
}

void og__packs_release(struct og_packs *p)
{
    json_decref(p->checksums);
    free(p->type);
    free(p->dir);
    *p = (struct og_packs){0};
}

static json_t *with_rows(json_t *object, const struct og_dataset *rows, uint32_t cache_rows)
{
    object = og__json_with(object, "feature_dtype", json_string(og__dtype_name(rows->kept)));
    object = og__json_with(object, "row_bytes", json_integer((json_int_t)og__row_bytes(rows)));
    return og__json_with(object, "cache_rows", json_integer(cache_rows));
}

static json_t *types_json(const struct og_packs *p, const struct og_typed *g)
{
    json_t *list = json_array();
    for (uint32_t t = 0; list && t < g->n_types; t++) {
        const struct og_node_type *type = &g->type[t];
        json_t *one = json_pack("{s:s}", "name", type->name);
        if (type->view.dim > 0)
            one = with_rows(one, &type->view, p->type[t].cache_rows);
        if (json_array_append_new(list, one) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

int og__packs_describe(const struct og_packs *p, const char *dir, const struct og_dataset *ds,
                       const struct og_typed *typed, struct og_err *err)
{
    char *path = og__path_join(dir, "pack.json");
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    json_t *root = json_pack("{s:i s:s s:I}", "format", typed ? TYPED : PLAIN, "dataset", ds->name,
                             "draws", (json_int_t)p->draws);
    root = typed ? og__json_with(root, "node_types", types_json(p, typed))
                 : with_rows(root, ds, p->cache_rows);
    root = og__identity_with(root, &ds->identity);
    if (p->checksums)
        root = og__json_with(root, "cached_checksums", json_incref(p->checksums));
    int rc = og__sealed_write(path, root, err);
    free(path);
    return rc;
}

int og__packs_note(struct og_packs *p, uint64_t checksum, struct og_err *err)
{
    if (!p->checksums)
        p->checksums = json_array();
    return json_array_append_new(p->checksums, og__json_hex(checksum)) == 0
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "pack.json");
}

static bool get_count(const json_t *root, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(root, key);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    *out = n >= 0 && n < UINT32_MAX ? (uint32_t)n : 0;
    return n >= 0 && n < UINT32_MAX;
}

/* Of the packed rows: enum og_dtype, or -1. */
static int dtype_of(const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "feature_dtype"));
    return name ? og__dtype_find(name) : -1;
}

/* Does an object tell of rows so wide, in whatever dtype? */
static bool fits_rows(const json_t *object, const struct og_dataset *rows, uint32_t *cache_rows)
{
    uint32_t row_bytes;
    const int dtype = dtype_of(object);
    return dtype >= 0 && get_count(object, "row_bytes", &row_bytes) &&
           row_bytes == (size_t)rows->dim * og__dtype_size((enum og_dtype)dtype) &&
           get_count(object, "cache_rows", cache_rows);
}

static const json_t *type_of(const json_t *root, uint32_t t)
{
    return json_array_get(json_object_get(root, "node_types"), t);
}

static bool fits_types(struct og_packs *p, const json_t *root, const struct og_typed *g)
{
    uint64_t all = 0;
    bool fits = json_array_size(json_object_get(root, "node_types")) == g->n_types;
    for (uint32_t t = 0; fits && t < g->n_types; t++) {
        const struct og_node_type *type = &g->type[t];
        const json_t *said = type_of(root, t);
        const char *name = json_string_value(json_object_get(said, "name"));
        fits = name && strcmp(name, type->name) == 0 &&
               (type->view.dim > 0 ? fits_rows(said, &type->view, &p->type[t].cache_rows)
                                   : dtype_of(said) < 0);
        all += p->type[t].cache_rows;
    }
    p->cache_rows = (uint32_t)OG_MIN(all, (uint64_t)UINT32_MAX);
    return fits && all < UINT32_MAX;
}

/* Is it for these features, in whatever dtype? If not, why. */
static bool fits_dataset(struct og_packs *p, const json_t *root, const struct og_dataset *ds,
                         const struct og_typed *typed, char why[OG__WHY])
{
    struct og_identity then;
    uint32_t format;
    snprintf(why, OG__WHY, "not packs of these features");
    return get_count(root, "format", &format) && format == (typed ? TYPED : PLAIN) &&
           (typed ? fits_types(p, root, typed) : fits_rows(root, ds, &p->cache_rows)) &&
           get_count(root, "draws", &p->draws) && og__identity_get(root, &then) &&
           og__identity_same(&then, &ds->identity, why);
}

/* 1 with *out, 0 where there is none, or negative where what is there cannot be believed. */
static int load_description(const char *dir, json_t **out, struct og_err *err)
{
    enum { JSON_MAX = 256 * 1024 };
    char *text = NULL;
    size_t len = 0;
    char *path = og__path_join(dir, "pack.json");
    *out = NULL;
    int rc;
    OG_TRY(path ? og__exists(NULL, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    if (rc > 0) {
        OG_TRY(og__read_text(path, JSON_MAX, &text, &len, err));
        OG_TRY(og__sealed_parse(out, text, len, path, hint, err));
        rc = 1;
    }
out:
    free(text);
    free(path);
    return rc;
}

static void take_dtype(struct og_dataset *rows, const json_t *said)
{
    const int dtype = dtype_of(said);
    rows->kept = dtype < 0 ? rows->dtype : (enum og_dtype)dtype;
}

void og__packs_take_dtype(const char *samples, struct og_dataset *ds, struct og_typed *typed)
{
    char *dir = og__path_join(samples, "pack");
    json_t *root = NULL;
    (void)!(dir ? load_description(dir, &root, NULL) : 0);
    take_dtype(ds, root);
    for (uint32_t t = 0; typed && t < typed->n_types; t++)
        take_dtype(&typed->type[t].view, type_of(root, t));
    json_decref(root);
    free(dir);
}

/* Are rows kept as they were packed? */
static bool suit_rows(const struct og_packs *p, const json_t *said, const struct og_dataset *rows,
                      const char *type, const struct og_log *log)
{
    const enum og_dtype dtype = (enum og_dtype)dtype_of(said);
    if (dtype == rows->kept)
        return true;
    og__say(log, OG__WARN,
            "%s: rows%s%s are %s, this run keeps them as %s: left alone (give the --pack-dtype "
            "they were packed with)",
            p->dir, type ? " of " : "", type ? type : "", og__dtype_name(dtype),
            og__dtype_name(rows->kept));
    return false;
}

/* Are they what this run could use? If not, why. */
static bool suits(struct og_packs *p, const json_t *root, const struct og_dataset *ds,
                  const struct og_typed *typed, const struct og_log *log)
{
    char why[OG__WHY];
    if (!fits_dataset(p, root, ds, typed, why)) {
        og__say(log, OG__WARN, "%s: %s, left alone (%s)", p->dir, why, hint);
        return false;
    }
    bool suit = typed || suit_rows(p, root, ds, NULL, log);
    for (uint32_t t = 0; typed && suit && t < typed->n_types; t++)
        if (typed->type[t].view.dim > 0)
            suit = suit_rows(p, type_of(root, t), &typed->type[t].view, typed->type[t].name, log);
    return suit;
}

static bool read_description(struct og_packs *p, const struct og_dataset *ds,
                             const struct og_typed *typed, const struct og_log *log)
{
    struct og_err why = {0};
    json_t *root;
    int rc = load_description(p->dir, &root, &why);
    if (rc < 0)
        og__say(log, OG__WARN, "%s: left alone (%s)", why.message, why.hint[0] ? why.hint : hint);
    const bool use = rc > 0 && suits(p, root, ds, typed, log);
    if (use)
        p->checksums = json_incref(json_object_get(root, "cached_checksums"));
    json_decref(root);
    return use;
}

bool og__packs_are_there(const char *samples)
{
    char *dir = og__path_join(samples, "pack");
    const bool there = dir && access(dir, F_OK) == 0;
    free(dir);
    return there;
}

struct og_packs *og__packs_open(const char *samples, const struct og_dataset *ds,
                                const struct og_typed *typed, const struct og_log *log)
{
    struct og_packs *p = calloc(1, sizeof(*p));
    if (p && og__packs_begin(p, typed, NULL) == 0 && (p->dir = og__path_join(samples, "pack")) &&
        read_description(p, ds, typed, log))
        return p;
    og__packs_close(p);
    return NULL;
}

void og__packs_close(struct og_packs *p)
{
    if (!p)
        return;
    og__packs_release(p);
    free(p);
}

/* ---- the nodes to be cached ---- */

/* As ids, in place: they ascend, so every one is there once. */
static int narrow(const struct og_npy *a, uint64_t n_nodes, uint32_t *out, struct og_err *err)
{
    enum { CHUNK = 4096 };
    int64_t wide[CHUNK];
    int64_t before = -1;
    int rc = 0;
    for (int64_t done = 0, n; done < a->shape[0]; done += n) {
        n = OG_MIN(a->shape[0] - done, (int64_t)CHUNK);
        OG_TRY(og__npy_read_int64(a, done, n, wide, err));
        for (int64_t i = 0; i < n; i++) {
            if (wide[i] <= before || (uint64_t)wide[i] >= n_nodes)
                OG_TRY(og__fail(err, -EINVAL, hint, "%s: not nodes in ascending order", a->path));
            before = wide[i];
            out[done + i] = (uint32_t)wide[i];
        }
    }
out:
    return rc;
}

/* Each type has slots of its own, and those without features none. */
static int check_types(const struct og_packs *p, const char *path, const uint32_t *nodes,
                       uint32_t n, struct og_err *err)
{
    uint32_t of_type = 0;
    for (uint32_t i = 0, t = 0; p->n_types > 0 && i < n; i++) {
        for (; t + 1 < p->n_types && nodes[i] >= p->type[t].end; t++)
            of_type = 0;
        if (++of_type > p->type[t].cache_rows)
            return og__fail(err, -EINVAL, hint,
                            "%s: more nodes of type %" PRIu32 " than its %" PRIu32 " rows", path, t,
                            p->type[t].cache_rows);
    }
    return 0;
}

static int read_list(const struct og_packs *p, const struct og_npy *a, uint64_t n_nodes,
                     struct og_budget *b, uint32_t **nodes, uint32_t *n, struct og_err *err)
{
    if (a->ndim != 1 || !og__npy_is_integer(a->type) || a->shape[0] > p->cache_rows)
        return og__fail(err, -EINVAL, hint, "%s: not the nodes of a cache of %" PRIu32 " rows",
                        a->path, p->cache_rows);
    *n = (uint32_t)a->shape[0];
    *nodes = og__alloc(b, *n * sizeof(**nodes), "policy", err);
    int rc = *nodes ? narrow(a, n_nodes, *nodes, err) : -ENOMEM;
    if (rc == 0)
        rc = check_types(p, a->path, *nodes, *n, err);
    if (rc < 0) {
        og__release(b, *nodes, *n * sizeof(**nodes), "policy");
        *nodes = NULL;
    }
    return rc;
}

/* Lists of an older pack, or of another program, say nothing. */
static int compare_checksum(const struct og_packs *p, uint32_t draw, const char *path,
                            struct og_err *err)
{
    const char *said = json_string_value(json_array_get(p->checksums, draw));
    uint64_t found = 0;
    int rc = said ? og__file_checksum(path, &found, err) : 0;
    return rc < 0 || !said || strcmp(og__hex(found).digits, said) == 0
               ? rc
               : og__fail(err, -EINVAL, hint, "%s: not what was written: its checksum is another",
                          path);
}

int og__packs_cached(const struct og_packs *p, uint32_t draw, uint64_t n_nodes, struct og_budget *b,
                     uint32_t **nodes, uint32_t *n, struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    char *path = og__packs_list(p->dir, draw);
    *nodes = NULL;
    int rc;
    OG_TRY(path ? compare_checksum(p, draw, path, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", p->dir));
    OG_TRY(og__npy_open(&a, path, err));
    OG_TRY(read_list(p, &a, n_nodes, b, nodes, n, err));
out:
    og__npy_close(&a);
    free(path);
    return rc;
}
