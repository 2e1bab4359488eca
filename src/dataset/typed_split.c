#include "dataset/typed_split.h"

#include "base/file.h"
#include "dataset/edge_walk.h"
#include "dataset/meta.h"
#include "dataset/typed_edges.h"
#include "dataset/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct splitter {
    const struct og_graph *g;
    const struct og_edge_split *split;
    const bool *asked;
    const char *folder;
    struct og_budget *budget;
    struct og_npy_writer *edges[OG__SPLITS], *relations[OG__SPLITS];
    json_t *root, *files, *checksums;
    int64_t kept; /* edges of all relations that stay */
    uint32_t at;  /* the relation at hand; */
    struct og_thinned left;
};

/* Between the types of a relation that is asked for, in either direction. */
static bool loses_edges(const struct splitter *w, uint32_t r)
{
    const struct og_relation *a = &w->g->relation[r];
    for (uint32_t q = 0; q < w->g->n_relations; q++) {
        const struct og_relation *b = &w->g->relation[q];
        if (w->asked[q] && ((a->source == b->source && a->destination == b->destination) ||
                            (a->source == b->destination && a->destination == b->source)))
            return true;
    }
    return false;
}

/* ---- a relation ---- */

static int put_edge(struct splitter *w, enum og__split to, uint32_t src, uint32_t dst,
                    struct og_err *err)
{
    const int64_t ends[2] = {src, dst};
    const int32_t relation = (int32_t)w->at;
    int rc;
    if (!w->asked[w->at] || src == dst)
        return 0;
    OG_TRY(og__npy_append(w->edges[to], ends, 1, err));
    rc = og__npy_append(w->relations[to], &relation, 1, err);
out:
    return rc;
}

static int split_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                      size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    const struct og_relation *r = &w->g->relation[w->at];
    const uint32_t v = (uint32_t)w->g->group[r->destination].first + dst;
    int rc = 0;
    for (size_t i = from; i < to; i++) {
        const uint32_t u = (uint32_t)(w->g->group[r->source].first + walk->src[i]);
        const enum og__split of = u == v ? OG__TRAIN : og__edge_split_of(w->split, u, v);
        if (of == OG__TRAIN)
            OG_TRY(og__thinned_keep(&w->left, walk, i, err));
        OG_TRY(put_edge(w, of, u, v, err));
    }
out:
    return rc;
}

static int end_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                    size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    (void)walk, (void)dst, (void)from, (void)to;
    return og__thinned_end_list(&w->left, err);
}

static void name_array(char out[48], uint32_t r, const char *what, const char *suffix)
{
    snprintf(out, 48, "rel%u_%s%s", r, what, suffix);
}

static int split_relation(struct splitter *w, struct og_err *err)
{
    struct og_edge_walk walk;
    char indptr[48], indices[48], weights[48];
    const struct og_thinned_files files = {indptr, indices, weights};
    int rc;
    name_array(indptr, w->at, "indptr", ".npy");
    name_array(indices, w->at, "indices", ".npy");
    name_array(weights, w->at, "weights", ".npy");
    OG_TRY(og__edge_walk_open(&walk, &w->g->relation[w->at], w->budget, err));
    OG_TRY(og__thinned_create(&w->left, &walk, w->folder, &files, err));
    OG_TRY(og__edge_walk(&walk, split_list, end_list, w, err));
    OG_TRY(og__thinned_finish(&w->left, &files, w->checksums, err));
out:
    og__edge_walk_close(&walk);
    return rc;
}

/* ---- what stays where it is ---- */

static int refer_to(struct splitter *w, const char *name, const struct og_npy *a,
                    struct og_err *err)
{
    json_t *file = NULL;
    if (a->fd < 0)
        return 0;
    int rc = og__file_json(a, &file, err);
    if (rc == 0 && json_object_set_new(w->files, name, file) < 0)
        rc = og__fail_errno(err, -ENOMEM, NULL, "meta.json");
    return rc;
}

static int refer_to_relation(struct splitter *w, struct og_err *err)
{
    const struct og_relation *view = &w->g->relation[w->at];
    const struct og_npy *const array[] = {&view->indptr, &view->indices, &view->weights};
    static const char *const names[] = {"indptr", "indices", "weights"};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(array); i++) {
        char name[48];
        name_array(name, w->at, names[i], "");
        OG_TRY(refer_to(w, name, array[i], err));
    }
    w->left.kept = view->n_edges;
out:
    return rc;
}

static int refer_to_features(struct splitter *w, struct og_err *err)
{
    int rc = 0;
    for (uint32_t t = 0; t < w->g->n_groups; t++) {
        char name[32];
        const struct og_npy *features = &w->g->group[t].rows;
        snprintf(name, sizeof(name), "features_%u", t);
        if (features->parts)
            OG_TRY(og__fail(err, -ENOTSUP, "train on the dataset whose features are in one folder",
                            "--task link: features of type %s of %s lie over several folders",
                            w->g->group[t].name, w->g->path));
        OG_TRY(refer_to(w, name, features, err));
    }
out:
    return rc;
}

/* ---- all of it ---- */

static int split_relations(struct splitter *w, struct og_err *err)
{
    json_t *said = json_object_get(w->root, "relations");
    int rc = 0;
    for (w->at = 0; w->at < w->g->n_relations; w->at++) {
        OG_TRY(loses_edges(w, w->at) ? split_relation(w, err) : refer_to_relation(w, err));
        json_t *relation = json_array_get(said, w->at);
        if (json_object_set_new(relation, "num_edges", json_integer((json_int_t)w->left.kept)) < 0)
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "meta.json"));
        w->kept += w->left.kept;
    }
out:
    return rc;
}

static int create_lists(struct splitter *w, struct og_err *err)
{
    int rc = 0;
    for (int s = 0; s < OG__SPLITS; s++) {
        OG_TRY(
            og__split_create(&w->edges[s], w->folder, og__edge_files[s], OG__NPY_I64, 2, 2, err));
        OG_TRY(og__split_create(&w->relations[s], w->folder, og__edge_relation_files[s],
                                OG__NPY_I32, 1, 1, err));
    }
out:
    return rc;
}

static int finish_lists(struct splitter *w, struct og_err *err)
{
    int rc = 0;
    for (int s = 0; s < OG__SPLITS; s++) {
        OG_TRY(og__split_finish(&w->edges[s], og__edge_files[s], w->checksums, err));
        OG_TRY(og__split_finish(&w->relations[s], og__edge_relation_files[s], w->checksums, err));
    }
out:
    return rc;
}

/* What the dataset says of itself, but for what is new. */
static int write_meta(struct splitter *w, struct og_err *err)
{
    json_t *edges = json_integer((json_int_t)w->kept);
    int bad = json_object_set_new(w->root, "num_edges", edges);
    bad |= json_object_set(w->root, "checksums", w->checksums);
    bad |= json_object_set(w->root, "files", w->files);
    if (bad)
        return og__fail_errno(err, -ENOMEM, NULL, "meta.json");
    json_t *root = w->root;
    w->root = NULL;
    return og__meta_write(w->folder, root, err);
}

static void close_splitter(struct splitter *w)
{
    og__thinned_discard(&w->left);
    for (int s = 0; s < OG__SPLITS; s++) {
        og__npy_discard(w->edges[s]);
        og__npy_discard(w->relations[s]);
    }
    json_decref(w->root);
    json_decref(w->files);
    json_decref(w->checksums);
}

int og__typed_split_write(const struct og_graph *g, const struct og_edge_split *s,
                          const bool *asked, const char *folder, struct og_budget *b,
                          struct og_err *err)
{
    struct splitter w = {.g = g,
                         .split = s,
                         .asked = asked,
                         .folder = folder,
                         .budget = b,
                         .root = json_deep_copy(g->meta),
                         .files = json_object(),
                         .checksums = json_object()};
    int rc = 0;
    if (!w.root || !w.files || !w.checksums)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "meta.json"));
    OG_TRY(refer_to_features(&w, err));
    OG_TRY(create_lists(&w, err));
    OG_TRY(split_relations(&w, err));
    OG_TRY(finish_lists(&w, err));
    if (w.kept == 0)
        OG_TRY(og__fail(err, -EINVAL, "hold out less with --edge-split",
                        "%s: no edge is left to train on", g->path));
    OG_TRY(write_meta(&w, err));
out:
    close_splitter(&w);
    return rc;
}

uint64_t og__typed_split_bytes(const struct og_graph *g)
{
    const uint64_t lists = 16 + 4;
    uint64_t bytes = 8 * OG_MIB;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *view = &g->relation[r];
        const uint64_t edge =
            og__npy_size(view->indices.type) + (view->weights.fd >= 0 ? 4 : 0) + lists;
        bytes += (uint64_t)view->n_edges * edge + ((uint64_t)view->n_nodes + 1) * 8;
    }
    return bytes;
}

uint64_t og__typed_split_written(const char *folder)
{
    uint64_t bytes = 0;
    DIR *dir = opendir(folder);
    struct stat of;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (fstatat(dirfd(dir), e->d_name, &of, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(of.st_mode))
            bytes += (uint64_t)of.st_size;
    if (dir)
        closedir(dir);
    return bytes;
}
