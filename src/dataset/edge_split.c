#include "dataset/edge_split.h"

#include "base/json.h"
#include "base/plain.h"
#include "base/random.h"
#include "dataset/edge_walk.h"
#include "dataset/meta.h"
#include "dataset/typed_edges.h"
#include "dataset/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which part ---- */

/* Three numbers with a stroke between them and nothing else. */
static bool read_percents(double p[OG__SPLITS], const char *text)
{
    for (int i = 0; i < OG__SPLITS; i++) {
        char *end;
        p[i] = og__plain_number(text, &end);
        if (end == text || *end != (i < OG__TEST ? '/' : 0))
            return false;
        text = end + 1;
    }
    return true;
}

bool og__percents_read(double p[OG__SPLITS], const char *text)
{
    return read_percents(p, text) && p[0] > 0 && p[1] >= 0 && p[2] >= 0 &&
           fabs(p[0] + p[1] + p[2] - 100) < 1e-9;
}

int og__edge_split_parse(struct og_edge_split *s, const char *text, struct og_err *err)
{
    if (og__percents_read(s->percent, text))
        return 0;
    return og__fail(err, -EINVAL, "such as 85/5/10: train, valid and test, 100 together",
                    "--edge-split: '%.60s' given, three percentages or " OG__OWN_EDGES " expected",
                    text);
}

bool og__edge_split_same(const char *a, const char *b)
{
    double p[OG__SPLITS], q[OG__SPLITS];
    if (!read_percents(p, a) || !read_percents(q, b))
        return strcmp(a, b) == 0;
    return p[OG__TRAIN] == q[OG__TRAIN] && p[OG__VALID] == q[OG__VALID] &&
           p[OG__TEST] == q[OG__TEST];
}

enum og__split og__edge_split_of(const struct og_edge_split *s, uint32_t u, uint32_t v)
{
    uint32_t word[4];
    og__philox(s->seed, OG__STREAM_EDGE_SPLIT, 0, OG_MAX(u, v), 0, OG_MIN(u, v), 0, word);
    double at = (double)word[0] * (100 * 0x1p-32);
    if (at < s->percent[OG__TEST])
        return OG__TEST;
    return at < s->percent[OG__TEST] + s->percent[OG__VALID] ? OG__VALID : OG__TRAIN;
}

/* ---- what is written ---- */

struct splitter {
    const struct og_graph *g;
    const struct og_edge_split *split;
    const bool *requested; /* [n_relations] */
    const char *folder;
    bool rows; /* with features of edges */
    struct og_budget *budget;
    struct og_npy_writer *edges[OG__SPLITS];
    struct og_npy_writer *relations[OG__SPLITS]; /* of these edges; NULL if homogeneous */
    json_t *root, *files, *checksums;
    int64_t kept;        /* edges of all relations that stay */
    uint64_t one, other; /* sums that are equal if every edge is there in both directions */
    bool symmetric;      /* an edge and its reverse are one row of the lists */
    uint32_t at;         /* the current relation; */
    struct og_thinned left;
};

/* Is the relation, or one between the same groups in either direction, to be learned? */
static bool loses_edges(const struct splitter *w, uint32_t r)
{
    const struct og_relation *a = &w->g->relation[r];
    for (uint32_t q = 0; q < w->g->n_relations; q++) {
        const struct og_relation *b = &w->g->relation[q];
        if (w->requested[q] && ((a->source == b->source && a->destination == b->destination) ||
                                (a->source == b->destination && a->destination == b->source)))
            return true;
    }
    return false;
}

/* Dtype of the edge lists: int64 if heterogeneous, else that of the input. */
static enum og__npy_type list_type(const struct og_graph *g)
{
    return og__form_of(g)->lists_relations ? OG__NPY_I64 : g->relation->indices.type;
}

/* ---- is every edge there in both directions? ---- */

static int add_fingerprints(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                            size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    (void)err;
    for (size_t i = from; i < to; i++) {
        w->one += og__edge_fingerprint((uint64_t)walk->src[i], dst);
        w->other += og__edge_fingerprint(dst, (uint64_t)walk->src[i]);
    }
    return 0;
}

/* Heterogeneous graphs skip this: the reverse of an edge is of another relation. */
static int find_symmetry(struct splitter *w, struct og_err *err)
{
    struct og_edge_walk walk;
    if (og__form_of(w->g)->lists_relations)
        return 0;
    int rc = og__edge_walk_open(&walk, w->g->relation, w->budget, err);
    if (rc == 0)
        rc = og__edge_walk(&walk, add_fingerprints, NULL, w, err);
    og__edge_walk_close(&walk);
    w->symmetric = w->one == w->other;
    return rc;
}

/* ---- a relation ---- */

static int put_edge(struct splitter *w, enum og__split to, uint32_t src, uint32_t dst,
                    struct og_err *err)
{
    const int64_t wide[2] = {src, dst};
    const int32_t narrow[2] = {(int32_t)src, (int32_t)dst};
    const int32_t relation = (int32_t)w->at;
    const bool is_narrow = list_type(w->g) == OG__NPY_I32;
    if (!w->requested[w->at] || src == dst || (w->symmetric && src > dst))
        return 0;
    OG_DO(og__npy_append(w->edges[to], is_narrow ? (const void *)narrow : wide, 1, err));
    if (w->relations[to])
        OG_DO(og__npy_append(w->relations[to], &relation, 1, err));
    return 0;
}

static int split_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                      size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    const struct og_relation *r = &w->g->relation[w->at];
    const uint32_t v = (uint32_t)w->g->group[r->destination].first + dst;
    for (size_t i = from; i < to; i++) {
        const uint32_t u = (uint32_t)(w->g->group[r->source].first + walk->src[i]);
        const enum og__split of = u == v ? OG__TRAIN : og__edge_split_of(w->split, u, v);
        if (of == OG__TRAIN)
            OG_DO(og__thinned_keep(&w->left, walk, i, err));
        OG_DO(put_edge(w, of, u, v, err));
    }
    return 0;
}

static int end_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                    size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    (void)walk, (void)dst, (void)from, (void)to;
    return og__thinned_end_list(&w->left, err);
}

static void name_file(char out[48], const struct splitter *w, enum og__array a)
{
    snprintf(out, 48, "%s.npy", og__relation_array(w->g, w->at, a).text);
}

static int split_relation(struct splitter *w, struct og_err *err)
{
    struct og_edge_walk walk;
    char indptr[48], indices[48], weights[48], rows[48];
    const struct og_thinned_files files = {indptr, indices, weights, w->rows ? rows : NULL};
    int rc;
    name_file(indptr, w, OG__INDPTR);
    name_file(indices, w, OG__INDICES);
    name_file(weights, w, OG__WEIGHTS);
    name_file(rows, w, OG__EDGE_FEATURES);
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
    const struct og_relation *r = &w->g->relation[w->at];
    const struct og_npy *const array[] = {
        [OG__INDPTR] = &r->indptr, [OG__INDICES] = &r->indices, [OG__WEIGHTS] = &r->weights};
    for (enum og__array a = OG__INDPTR; a <= OG__WEIGHTS; a++)
        OG_DO(refer_to(w, og__relation_array(w->g, w->at, a).text, array[a], err));
    if (w->rows)
        OG_DO(refer_to(w, og__relation_array(w->g, w->at, OG__EDGE_FEATURES).text, &r->edges.rows,
                       err));
    w->left.kept = r->n_edges;
    return 0;
}

static int refer_to_parts(struct splitter *w, const char *name, const struct og_npy_parts *parts,
                          struct og_err *err)
{
    json_t *list = json_array();
    for (uint32_t p = 0; p < parts->stripes.parts; p++) {
        char *path = realpath(parts->part[p].path, NULL);
        if (!path) {
            json_decref(list);
            return og__fail_errno(err, -errno, NULL, "%s", parts->part[p].path);
        }
        list = og__json_append(list, og__json_with(json_object(), "path", json_string(path)));
        free(path);
    }
    json_t *file = og__json_with(json_object(), "unit", json_integer(parts->stripes.unit));
    file = og__json_with(file, "parts", list);
    return file && json_object_set_new(w->files, name, file) == 0
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "meta.json");
}

static int refer_to_features(struct splitter *w, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < w->g->n_groups; k++) {
        const struct og_npy *a = &w->g->group[k].rows;
        const struct og_array_name name = og__group_array(w->g, k);
        rc =
            a->parts ? refer_to_parts(w, name.text, a->parts, err) : refer_to(w, name.text, a, err);
        if (rc == 0)
            rc = refer_to(w, og__scales_array(w->g, k).text, &w->g->group[k].scales, err);
        if (rc == 0 && og__npy_there(&w->g->group[k].rest))
            rc = refer_to(w, og__rest_array(w->g, k).text, &w->g->group[k].rest, err);
    }
    return rc;
}

/* ---- all of it ---- */

static int split_relations(struct splitter *w, struct og_err *err)
{
    json_t *said = json_object_get(w->root, "relations");
    for (w->at = 0; w->at < w->g->n_relations; w->at++) {
        OG_DO(loses_edges(w, w->at) ? split_relation(w, err) : refer_to_relation(w, err));
        json_t *kept = json_integer((json_int_t)w->left.kept);
        json_t *relation = json_array_get(said, w->at);
        if (json_object_set_new(relation ? relation : w->root, "num_edges", kept) < 0)
            return og__fail_errno(err, -ENOMEM, NULL, "meta.json");
        w->kept += w->left.kept;
    }
    return 0;
}

static int create_lists(struct splitter *w, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        OG_DO(og__array_create(&w->edges[s], w->folder, og__edge_files[s], list_type(w->g), 2, 2,
                               err));
        if (og__form_of(w->g)->lists_relations)
            OG_DO(og__array_create(&w->relations[s], w->folder, og__edge_relation_files[s],
                                   OG__NPY_I32, 1, 1, err));
    }
    return 0;
}

static int finish_lists(struct splitter *w, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        OG_DO(og__array_finish(&w->edges[s], og__edge_files[s], w->checksums, err));
        OG_DO(og__array_finish(&w->relations[s], og__edge_relation_files[s], w->checksums, err));
    }
    return 0;
}

/* Copies the dataset's declarations, except those that change. */
static int write_meta(struct splitter *w, struct og_err *err)
{
    int bad = json_object_set_new(w->root, "num_edges", json_integer((json_int_t)w->kept));
    bad |= json_object_set_new(w->root, "symmetric", json_boolean(w->symmetric));
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

int og__edge_split_write(const struct og_graph *g, const struct og_edge_split *s,
                         const bool *requested, bool rows, const char *folder, struct og_budget *b,
                         struct og_err *err)
{
    struct splitter w = {.g = g,
                         .split = s,
                         .requested = requested,
                         .rows = rows,
                         .folder = folder,
                         .budget = b,
                         .root = json_deep_copy(g->meta),
                         .files = json_object(),
                         .checksums = json_object()};
    int rc = 0;
    if (!w.root || !w.files || !w.checksums)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "meta.json"));
    OG_TRY(find_symmetry(&w, err));
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

uint64_t og__edge_split_bytes(const struct og_graph *g, bool rows)
{
    const size_t beside = og__form_of(g)->lists_relations * sizeof(int32_t);
    const uint64_t list = 2 * og__npy_size(list_type(g)) + beside;
    uint64_t bytes = 8 * OG_MIB;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        const uint64_t edge = og__npy_size(of->indices.type) + (of->weights.fd >= 0 ? 4 : 0) +
                              (rows ? og__file_row_bytes(&of->edges) : 0) + list;
        bytes += (uint64_t)of->n_edges * edge + ((uint64_t)of->n_nodes + 1) * 8;
    }
    return bytes;
}

/* Excludes meta.json, whose length depends on paths. */
uint64_t og__edge_split_written(const char *folder)
{
    uint64_t bytes = 0;
    DIR *dir = opendir(folder);
    struct stat of;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const size_t n = strlen(e->d_name);
        if (n > 4 && strcmp(e->d_name + n - 4, ".npy") == 0 &&
            fstatat(dirfd(dir), e->d_name, &of, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(of.st_mode))
            bytes += (uint64_t)of.st_size;
    }
    if (dir)
        closedir(dir);
    return bytes;
}
