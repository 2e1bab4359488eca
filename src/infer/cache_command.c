/* og_cache: shows and clears files kept between runs. */
#include "base/file.h"
#include "base/persistent_cache.h"
#include "base/scratch.h"
#include "dataset/neighbors.h"
#include "infer/infer_state.h"
#include "report/json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct listing {
    const char *folder; /* current folder */
    bool clear;
    json_t *caches;
    uint64_t bytes, removed;
};

/* The dataset named in a kept folder. */
static json_t *dataset_json(const struct listing *l, const char *name)
{
    char *path = og__path_join(l->folder, name);
    char *dataset = path ? og__neighbors_dataset(path) : NULL;
    json_t *text = dataset ? og__json_text(dataset) : json_null();
    free(dataset);
    free(path);
    return text;
}

static void add(struct listing *l, const struct og_persistent_cache_kind *kind, const char *what,
                const struct og_persistent_cache *k)
{
    json_t *dataset = dataset_json(l, k->name);
    const bool gone =
        l->clear && !k->in_use && og__persistent_cache_remove(l->folder, kind, k->name);
    *(gone ? &l->removed : &l->bytes) += k->bytes;
    l->caches = og__json_append(
        l->caches,
        json_pack("{s:s s:s s:s s:o s:I s:I s:b s:b}", "name", k->name, "folder", l->folder, "kind",
                  what, "dataset", dataset, "bytes", (json_int_t)k->bytes, "idle_seconds",
                  (json_int_t)OG_MAX((int64_t)time(NULL) - k->used, (int64_t)0), "in_use",
                  k->in_use, "removed", gone));
}

static int list_kind(struct listing *l, const struct og_persistent_cache_kind *kind,
                     const char *what, struct og_err *err)
{
    struct og_persistent_cache *list;
    size_t n;
    int rc;
    OG_TRY(og__persistent_cache_list(l->folder, kind, &list, &n, err));
    for (size_t i = 0; i < n; i++)
        add(l, kind, what, &list[i]);
out:
    free(list);
    return rc;
}

static int list_folders(struct listing *l, struct og_places folders, const char *name, char **out,
                        struct og_err *err)
{
    uint64_t limit = 0;
    if (l->clear)
        og__scratch_sweep(folders);
    for (uint32_t i = 0; i < folders.n; i++) {
        l->folder = folders.path[i];
        limit += og__persistent_cache_bytes(l->folder);
        OG_DO(list_kind(l, &og__neighbors_kind, "neighbour cache", err));
        OG_DO(list_kind(l, &og__infer_kind, "inference", err));
    }
    json_t *folder = og__json_text(name);
    json_t *root =
        json_pack("{s:o s:I s:I s:I s:I}", "folder", folder, "bytes", (json_int_t)l->bytes,
                  "removed_bytes", (json_int_t)l->removed, "limit_bytes", (json_int_t)limit,
                  "limit_seconds", (json_int_t)OG__PERSISTENT_CACHE_SECONDS);
    root = og__json_with(root, "kept", json_incref(l->caches));
    return og__json_deliver(root, NULL, out, err);
}

int og_cache(const char *folder, bool clear, char **out, struct og_err *err)
{
    char *own = folder ? NULL : og__cache_dir();
    struct listing l = {.clear = clear, .caches = json_array()};
    struct og_places folders = {0};
    int rc = 0;
    if (out)
        *out = NULL;
    if (!folder && !own)
        OG_TRY(og__fail(err, -ENOENT, "use --scratch DIR",
                        "no cache folder: neither XDG_CACHE_HOME nor HOME is set"));
    OG_TRY(folder ? og__places_split(&folders, folder, "scratch", err)
                  : og__places_copy(&folders, OG__ONE_PLACE(own), err));
    OG_TRY(list_folders(&l, folders, folder ? folder : own, out, err));
out:
    og__places_free(&folders);
    json_decref(l.caches);
    free(own);
    return rc;
}
