#include "flow/packs.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/self_checksum.h"
#include "dataset/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char hint[] = "remove the folder and make it again with `outgrow pack`";

static char *file_of(const char *dir, uint32_t draw, const char *suffix)
{
    char *path;
    return asprintf(&path, "%s/draw%" PRIu32 "%s", dir, draw, suffix) < 0 ? NULL : path;
}

char *og__packs_file(const char *dir, uint32_t draw, const struct og_group *g)
{
    char suffix[32] = ".pack";
    if (og__form_of(g->graph)->list)
        snprintf(suffix, sizeof(suffix), "_%u.pack", (unsigned)(g - g->graph->group));
    return file_of(dir, draw, suffix);
}

char *og__packs_list(const char *dir, uint32_t draw)
{
    return file_of(dir, draw, "_cached.npy");
}

/* ---- pack.json ---- */

int og__packs_begin(struct og_packs *p, const struct og_graph *g, struct og_err *err)
{
    p->graph = g;
    p->group_rows = calloc(g->n_groups, sizeof(*p->group_rows));
    return p->group_rows ? 0 : og__fail_errno(err, -ENOMEM, NULL, "packs");
}

void og__packs_release(struct og_packs *p)
{
    json_decref(p->checksums);
    free(p->group_rows);
    free(p->dir);
    *p = (struct og_packs){0};
}

static json_t *with_rows(json_t *object, const struct og_packs *p, uint32_t k)
{
    const struct og_group *g = &p->graph->group[k];
    if (g->dim == 0)
        return object;
    object = og__json_with(object, "feature_dtype", json_string(og__dtype_name(g->dtype)));
    object = og__json_with(object, "row_bytes", json_integer((json_int_t)og__row_bytes(g)));
    return og__json_with(object, "cache_rows", json_integer(p->group_rows[k]));
}

static json_t *types_json(const struct og_packs *p)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < p->graph->n_groups; k++)
        list = og__json_append(
            list, with_rows(json_pack("{s:s}", "name", p->graph->group[k].name), p, k));
    return list;
}

int og__packs_describe(const struct og_packs *p, const char *dir, struct og_err *err)
{
    const struct og_graph *g = p->graph;
    const struct og_form *form = og__form_of(g);
    json_t *root = json_pack("{s:i s:s s:I}", "format", form->format, "dataset", g->name, "draws",
                             (json_int_t)p->draws);
    root = form->list ? og__json_with(root, form->list, types_json(p)) : with_rows(root, p, 0);
    root = og__identity_with(root, &g->identity);
    if (p->checksums)
        root = og__json_with(root, "cached_checksums", json_incref(p->checksums));
    char *path = og__path_join(dir, "pack.json");
    int rc = path ? og__self_checksum_write(path, root, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    if (!path)
        json_decref(root);
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

/* The dtype of packed rows: enum og_dtype, or -1. */
static int dtype_of(const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "feature_dtype"));
    return name ? og__dtype_find(name) : -1;
}

/* Where the rows of a group are described. */
static const json_t *said_of(const json_t *root, const struct og_group *g)
{
    const size_t k = (size_t)(g - g->graph->group);
    const char *list = og__form_of(g->graph)->list;
    return list ? json_array_get(json_object_get(root, list), k) : root;
}

/* Does an object give rows so wide, in whatever dtype; or none? */
static bool fits_rows(const json_t *object, const struct og_group *g, uint32_t *cache_rows)
{
    uint32_t row_bytes;
    const int dtype = dtype_of(object);
    if (g->dim == 0)
        return dtype < 0;
    return dtype >= 0 && get_count(object, "row_bytes", &row_bytes) &&
           row_bytes == og__row_size(g->dim, (enum og_dtype)dtype, g->sparse.room) &&
           get_count(object, "cache_rows", cache_rows);
}

static bool fits_name(const json_t *object, const struct og_group *g)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    return strcmp(name ? name : "", g->name) == 0;
}

static bool fits_groups(struct og_packs *p, const json_t *root)
{
    const struct og_graph *g = p->graph;
    const char *list = og__form_of(g)->list;
    uint64_t all = 0;
    bool fits = !list || json_array_size(json_object_get(root, list)) == g->n_groups;
    for (uint32_t k = 0; fits && k < g->n_groups; k++) {
        const json_t *said = said_of(root, &g->group[k]);
        fits = fits_name(said, &g->group[k]) && fits_rows(said, &g->group[k], &p->group_rows[k]);
        all += p->group_rows[k];
    }
    p->cache_rows = (uint32_t)OG_MIN(all, (uint64_t)UINT32_MAX);
    return fits && all < UINT32_MAX;
}

/* Is it for these features, in whatever dtype? If not, why. */
static bool fits_graph(struct og_packs *p, const json_t *root, char why[OG__WHY])
{
    struct og_identity then;
    uint32_t format;
    snprintf(why, OG__WHY, "not packs of these features");
    return get_count(root, "format", &format) && (int)format == og__form_of(p->graph)->format &&
           fits_groups(p, root) && get_count(root, "draws", &p->draws) &&
           og__identity_get(root, &then) && og__identity_same(&then, &p->graph->identity, why);
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
        OG_TRY(og__self_checksum_parse(out, text, len, path, hint, err));
        rc = 1;
    }
out:
    free(text);
    free(path);
    return rc;
}

void og__packs_take_dtype(const char *samples, struct og_graph *g)
{
    char *dir = og__path_join(samples, "pack");
    json_t *root = NULL;
    (void)!(dir ? load_description(dir, &root, NULL) : 0);
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const int dtype = dtype_of(said_of(root, &g->group[k]));
        g->group[k].dtype = dtype < 0 ? g->group[k].stored : (enum og_dtype)dtype;
    }
    json_decref(root);
    free(dir);
}

/* Are rows kept as they were packed? */
static bool suit_rows(const struct og_packs *p, const json_t *root, const struct og_group *g,
                      const struct og_log *log)
{
    const int dtype = dtype_of(said_of(root, g));
    if (g->dim == 0 || dtype == (int)g->dtype)
        return true;
    og__say(log, OG__WARN,
            "%s: rows%s%s are %s, this run caches them as %s: ignored (use the --pack-dtype they "
            "were packed with)",
            p->dir, *g->name ? " of " : "", g->name, og__dtype_name((enum og_dtype)dtype),
            og__dtype_name(g->dtype));
    return false;
}

/* Are they what this run could use? If not, why. */
static bool suits(struct og_packs *p, const json_t *root, const struct og_log *log)
{
    char why[OG__WHY];
    bool suit = fits_graph(p, root, why);
    if (!suit)
        og__say(log, OG__WARN, "%s: %s, ignored (%s)", p->dir, why, hint);
    for (uint32_t k = 0; suit && k < p->graph->n_groups; k++)
        suit = suit_rows(p, root, &p->graph->group[k], log);
    return suit;
}

static bool read_description(struct og_packs *p, const struct og_log *log)
{
    struct og_err why = {0};
    json_t *root;
    int rc = load_description(p->dir, &root, &why);
    if (rc < 0)
        og__say(log, OG__WARN, "%s: ignored (%s)", why.message, why.hint[0] ? why.hint : hint);
    const bool use = rc > 0 && suits(p, root, log);
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

struct og_packs *og__packs_open(const char *samples, const struct og_graph *g,
                                const struct og_log *log)
{
    struct og_packs *p = calloc(1, sizeof(*p));
    if (p && og__packs_begin(p, g, NULL) == 0 && (p->dir = og__path_join(samples, "pack")) &&
        read_description(p, log))
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
    for (int64_t done = 0, n; done < a->shape[0]; done += n) {
        n = OG_MIN(a->shape[0] - done, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(a, done, n, wide, err));
        for (int64_t i = 0; i < n; i++) {
            if (wide[i] <= before || (uint64_t)wide[i] >= n_nodes)
                return og__fail(err, -EINVAL, hint, "%s: not nodes in ascending order", a->path);
            before = wide[i];
            out[done + i] = (uint32_t)wide[i];
        }
    }
    return 0;
}

/* Each group has slots of its own, and those without features none. */
static int check_groups(const struct og_packs *p, const char *path, const uint32_t *nodes,
                        uint32_t n, struct og_err *err)
{
    const struct og_graph *g = p->graph;
    uint32_t of_group = 0;
    for (uint32_t i = 0, k = 0; i < n; i++) {
        for (; k + 1 < g->n_groups && nodes[i] >= g->group[k + 1].first; k++)
            of_group = 0;
        if (++of_group > p->group_rows[k])
            return og__fail(err, -EINVAL, hint,
                            "%s: more nodes of type %" PRIu32 " than its %" PRIu32 " rows", path, k,
                            p->group_rows[k]);
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
        rc = check_groups(p, a->path, *nodes, *n, err);
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
