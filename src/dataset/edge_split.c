#include "dataset/edge_split.h"

#include "base/hex.h"
#include "base/json.h"
#include "base/random.h"
#include "dataset/edge_walk.h"
#include "dataset/meta.h"
#include "dataset/writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which part ---- */

/* Three numbers with a stroke between them and nothing else. */
static bool read_percents(double p[OG__SPLITS], const char *text)
{
    for (int i = 0; i < OG__SPLITS; i++) {
        char *end;
        p[i] = strtod(text, &end);
        if (end == text || *end != (i < OG__TEST ? '/' : 0))
            return false;
        text = end + 1;
    }
    return true;
}

int og__edge_split_parse(struct og_edge_split *s, const char *text, struct og_err *err)
{
    const double *p = s->percent;
    if (read_percents(s->percent, text) && p[0] > 0 && p[1] >= 0 && p[2] >= 0 &&
        fabs(p[0] + p[1] + p[2] - 100) < 1e-9)
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
    struct og_edge_walk walk;
    const struct og_graph *ds;
    const struct og_edge_split *split;
    uint64_t one, other; /* sums that are equal if the graph is symmetric */
    bool symmetric;
    struct og_thinned left; /* what stays in the graph */
    struct og_npy_writer *edges[OG__SPLITS];
    json_t *checksums;
};

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

/* ---- writing ---- */

/* Node ids are written in the dtype they are read in. */
static int put_edge(struct splitter *w, enum og__split to, uint32_t src, uint32_t dst,
                    struct og_err *err)
{
    const int64_t wide[2] = {src, dst};
    const int32_t narrow[2] = {(int32_t)src, (int32_t)dst};
    bool is_narrow = w->ds->relation->indices.type == OG__NPY_I32;
    if (src == dst || (w->symmetric && src > dst))
        return 0;
    return og__npy_append(w->edges[to], is_narrow ? (const void *)narrow : wide, 1, err);
}

static int split_list(void *arg, const struct og_edge_walk *walk, uint32_t dst, size_t from,
                      size_t to, struct og_err *err)
{
    struct splitter *w = arg;
    int rc = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t src = (uint32_t)walk->src[i];
        enum og__split of = src == dst ? OG__TRAIN : og__edge_split_of(w->split, src, dst);
        if (of == OG__TRAIN)
            OG_TRY(og__thinned_keep(&w->left, walk, i, err));
        OG_TRY(put_edge(w, of, src, dst, err));
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

/* ---- the files ---- */

static const struct og_thinned_files files = {"indptr.npy", "indices.npy", "weights.npy"};

static int create_all(struct splitter *w, const char *folder, struct og_err *err)
{
    const struct og_graph *ds = w->ds;
    int rc;
    OG_TRY(og__thinned_create(&w->left, &w->walk, folder, &files, err));
    for (int s = 0; s < OG__SPLITS; s++)
        OG_TRY(og__split_create(&w->edges[s], folder, og__edge_files[s], ds->relation->indices.type,
                                2, 2, err));
out:
    return rc;
}

static int finish_all(struct splitter *w, struct og_err *err)
{
    int rc;
    OG_TRY(og__thinned_finish(&w->left, &files, w->checksums, err));
    for (int s = 0; s < OG__SPLITS; s++)
        OG_TRY(og__split_finish(&w->edges[s], og__edge_files[s], w->checksums, err));
out:
    return rc;
}

/* The same of features in parts. */
static int parts_json(const struct og_graph *ds, json_t **out, struct og_err *err)
{
    const struct og_npy_parts *parts = ds->group->rows.parts;
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
    *out = og__json_with(json_object(), "unit", json_integer((json_int_t)parts->stripes.unit));
    *out = og__json_with(*out, "parts", list);
    return *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", ds->path);
}

/* The features where they are. */
static int features_json(const struct og_graph *ds, json_t **out, struct og_err *err)
{
    return ds->group->rows.parts ? parts_json(ds, out, err)
                                 : og__file_json(&ds->group->rows, out, err);
}

static int write_meta(struct splitter *w, const char *folder, struct og_err *err)
{
    const struct og_graph *ds = w->ds;
    const struct og_edge_split *s = w->split;
    json_t *features = NULL;
    int rc = features_json(ds, &features, err);
    if (rc < 0)
        return rc;
    json_t *root = json_pack(
        "{s:i s:s s:I s:I s:i s:s s:i s:s s:b s:O s:{s:o} s:{s:s s:[f, f, f] s:I}}", "format", 1,
        "name", ds->name, "num_nodes", (json_int_t)ds->n_nodes, "num_edges",
        (json_int_t)w->left.kept, "feature_dim", ds->group->dim, "feature_dtype",
        og__dtype_name(ds->group->stored), "num_classes", ds->n_classes, "task", "link prediction",
        "symmetric", w->symmetric, "checksums", w->checksums, "files", "features", features,
        "edge_split", "of", og__hex(ds->identity.contents).digits, "percent", s->percent[OG__TRAIN],
        s->percent[OG__VALID], s->percent[OG__TEST], "seed", (json_int_t)s->seed);
    return og__meta_write(folder, root, err);
}

static int open_splitter(struct splitter *w, struct og_budget *b, struct og_err *err)
{
    int rc = og__edge_walk_open(&w->walk, w->ds->relation, b, err);
    w->checksums = json_object();
    return rc < 0 || w->checksums ? rc : og__fail_errno(err, -ENOMEM, NULL, "edge split");
}

static void close_splitter(struct splitter *w)
{
    og__thinned_discard(&w->left);
    for (int i = 0; i < OG__SPLITS; i++)
        og__npy_discard(w->edges[i]);
    og__edge_walk_close(&w->walk);
    json_decref(w->checksums);
}

int og__edge_split_write(const struct og_graph *ds, const struct og_edge_split *s,
                         const char *folder, struct og_budget *b, struct og_err *err)
{
    struct splitter w = {.ds = ds, .split = s};
    int rc;
    OG_TRY(open_splitter(&w, b, err));
    OG_TRY(og__edge_walk(&w.walk, add_fingerprints, NULL, &w, err));
    w.symmetric = w.one == w.other;
    OG_TRY(create_all(&w, folder, err));
    OG_TRY(og__edge_walk(&w.walk, split_list, end_list, &w, err));
    OG_TRY(finish_all(&w, err));
    if (w.left.kept == 0)
        OG_TRY(og__fail(err, -EINVAL, "hold out less with --edge-split",
                        "%s: no edge is left to train on", ds->path));
    OG_TRY(write_meta(&w, folder, err));
out:
    close_splitter(&w);
    return rc;
}

uint64_t og__edge_split_bytes(const struct og_graph *ds)
{
    uint64_t edges = (uint64_t)ds->n_edges;
    uint64_t edge =
        3 * og__npy_size(ds->relation->indices.type) + (ds->relation->weights.fd >= 0 ? 4 : 0);
    return edges * edge + (uint64_t)ds->n_nodes * 8 + 8 * OG_MIB;
}
