/* A dataset in layouts that others read.
 *
 *   npy         edges.npy [E, 2], edge_weight.npy, feat.npy, label.npy, <split>.npy,
 *               <split>_edges.npy, meta.json: what `import npy` takes
 *   graphbolt   metadata.yaml, edges/edges.npy [2, E], data/feat.npy,
 *               set/<split>_{seeds,labels}.npy
 *
 * Arrays are copied in pieces; bf16, which NumPy has no name for, becomes float32. */
#include "dataset/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 4 * 1024 * 1024 };
static const char part[] = "export";
static const char *const splits[OG__SPLITS] = {"train", "valid", "test"};

int og__export_create(const struct og_exporter *x, const char *name, enum og__npy_type type,
                      int ndim, int64_t row, struct og_npy_writer **w, struct og_err *err)
{
    char *path = og__path_join(x->dir.temporary, name);
    int rc = path ? og__npy_create(w, path, type, ndim, row, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

/* ---- edges, in the order of indices.npy ---- */

/* Where the list of w->node ends. */
static int list_end(struct og_edge_walk *w, int64_t *end, struct og_err *err)
{
    int64_t at = w->node + 1;
    int rc = 0;
    *end = 0;
    if (at >= w->first + w->n) {
        w->first = at == 1 ? 0 : at; /* the first offset is looked at as well */
        w->n = OG_MIN((int64_t)OG__WALK_OFFSETS, w->of->n_nodes + 1 - w->first);
        OG_TRY(w->n > 0 ? og__npy_read_int64(&w->of->indptr, w->first, w->n, w->ptr, err)
                        : og__check_indptr_end(&w->check, err));
        OG_TRY(og__check_indptr(&w->check, w->ptr, w->first, (size_t)w->n, err));
    }
    *end = w->ptr[at - w->first];
out:
    return rc;
}

/* The next edges to src and dst; 0 at the end. */
int og__walk_edges(struct og_edge_walk *w, int64_t *count, struct og_err *err)
{
    int64_t n = OG_MIN((int64_t)OG__WALK_EDGES, w->of->n_edges - w->edge);
    int64_t end = 0;
    int rc;
    OG_TRY(og__read_indices(w->of, w->edge, n, w->src, err));
    for (int64_t i = 0; i < n; w->node += i < n) {
        OG_TRY(list_end(w, &end, err));
        for (; i < n && w->edge + i < end; i++)
            w->dst[i] = w->node;
    }
out:
    w->edge += n;
    *count = rc < 0 ? 0 : n;
    return rc;
}

/* Both ends side by side, [E, 2]; or, with `only`, one of them. */
static int append_edges(const struct og_exporter *x, const int64_t *only, struct og_edge_walk *walk,
                        struct og_npy_writer *w, struct og_err *err)
{
    int rc = 0;
    for (int64_t n = 1; n > 0;) {
        OG_TRY(og__walk_edges(walk, &n, err));
        if (only)
            OG_TRY(og__npy_append(w, only, n, err));
        for (int64_t i = 0; !only && i < n; i++)
            OG_TRY(og__npy_append(w, (const int64_t[]){walk->src[i], walk->dst[i]}, 1, err));
        OG_TRY(og__writing_goes_on(x->seen, "edges", "edges", walk->edge, x->ds->n_edges, err));
    }
out:
    walk->edge = walk->node = walk->n = walk->first = walk->check.last = 0;
    return rc;
}

/* [E, 2], or [2, E]: all sources, then all destinations. */
static int export_edges(const struct og_exporter *x, const char *name, bool two_rows,
                        struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    struct og_edge_walk *walk = og__alloc(x->budget, sizeof(*walk), part, err);
    const int width = two_rows ? 1 : 2;
    int rc;
    OG_TRY(walk ? og__export_create(x, name, OG__NPY_I64, width, width, &w, err) : -ENOMEM);
    walk->of = walk->check.of = x->ds->relation;
    OG_TRY(append_edges(x, two_rows ? walk->src : NULL, walk, w, err));
    if (two_rows) {
        OG_TRY(append_edges(x, walk->dst, walk, w, err));
        og__npy_reshape(w, 2, x->ds->n_edges);
    }
    rc = og__npy_finish(w, NULL, err);
    w = NULL; /* closed, whether it could be finished or not */
out:
    og__npy_discard(w);
    og__release(x->budget, walk, sizeof(*walk), part);
    return rc;
}

/* ---- arrays as they are ---- */

static void widen_bfloat(const uint16_t *in, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        memcpy(&out[i], &bits, sizeof(bits));
    }
}

static int copy_rows(const struct og_exporter *x, const struct og_npy *a, bool bfloat,
                     const char *what, struct og_npy_writer *w, struct og_err *err)
{
    size_t row = (size_t)a->shape[1] * og__npy_size(a->type);
    int64_t rows = OG_MAX((int64_t)(PIECE_BYTES / OG_MAX(row, (size_t)1)), (int64_t)1);
    size_t bytes = (size_t)rows * row;
    char *raw = og__alloc(x->budget, 3 * bytes, part, err); /* as stored; wider */
    int rc;
    OG_TRY(raw ? 0 : -ENOMEM);
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, rows);
        OG_TRY(og__npy_read(a, first, n, raw, err));
        if (bfloat)
            widen_bfloat((const uint16_t *)raw, (size_t)(n * a->shape[1]), (float *)(raw + bytes));
        OG_TRY(og__npy_append(w, bfloat ? raw + bytes : raw, n, err));
        OG_TRY(og__writing_goes_on(x->seen, what, "bytes", (first + n) * (int64_t)row,
                                   a->shape[0] * (int64_t)row, err));
    }
out:
    og__release(x->budget, raw, 3 * bytes, part);
    return rc;
}

int og__export_array(const struct og_exporter *x, const struct og_npy *a, bool bfloat,
                     const char *name, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    int rc;
    if (!og__npy_there(a))
        return 0;
    OG_TRY(
        og__export_create(x, name, bfloat ? OG__NPY_F32 : a->type, a->ndim, a->shape[1], &w, err));
    OG_TRY(copy_rows(x, a, bfloat, name, w, err));
    return og__npy_finish(w, NULL, err);
out:
    og__npy_discard(w);
    return rc;
}

int og__export_rows(const struct og_exporter *x, const struct og_group *g, const char *name,
                    struct og_err *err)
{
    return og__export_array(x, &g->rows, g->stored == OG_BF16, name, err);
}

/* ---- npy ---- */

static int write_meta(const struct og_exporter *x, struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    json_t *meta =
        json_pack("{s:s s:I s:I s:i s:b s:b}", "name", ds->name, "num_nodes",
                  (json_int_t)ds->n_nodes, "num_edges", (json_int_t)ds->n_edges, "num_classes",
                  ds->n_classes, "directed", 1, "symmetric", ds->symmetric);
    if (ds->regression)
        meta = og__json_with(meta, "task", json_string("node regression"));
    return og__meta_write(x->dir.temporary, meta, err);
}

static int export_npy(struct og_exporter *x, struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    int rc;
    OG_TRY(export_edges(x, "edges.npy", false, err));
    OG_TRY(og__export_array(x, &ds->relation->weights, false, "edge_weight.npy", err));
    OG_TRY(og__export_rows(x, ds->group, "feat.npy", err));
    OG_TRY(og__export_array(x, &ds->labels, false, "label.npy", err));
    for (int s = 0; s < OG__SPLITS; s++) {
        char name[32];
        snprintf(name, sizeof(name), "%s.npy", splits[s]);
        OG_TRY(og__export_array(x, &ds->split[s], false, name, err));
        snprintf(name, sizeof(name), "%s_edges.npy", splits[s]);
        OG_TRY(og__export_array(x, &ds->edges[s], false, name, err));
    }
    OG_TRY(write_meta(x, err));
out:
    return rc;
}

/* ---- graphbolt ---- */

/* Labels of a split's nodes, int64 or float32, in its order. */
static int export_labels(const struct og_exporter *x, enum og__split s, const char *name,
                         struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    const bool floats = og__float_labels(ds);
    struct og_npy_writer *w = NULL;
    uint32_t *ids = NULL;
    void *labels = NULL;
    int64_t n = 0;
    int rc;
    OG_TRY(og__graph_split(ds, s, x->budget, &ids, &n, err));
    OG_TRY(og__graph_labels(ds, ids, n, x->budget, &labels, err));
    OG_TRY(og__export_create(x, name, floats ? OG__NPY_F32 : OG__NPY_I64, floats ? 2 : 1,
                             floats ? ds->n_classes : 1, &w, err));
    if (floats)
        OG_TRY(og__npy_append(w, labels, n, err));
    for (int64_t i = 0; !floats && i < n; i++)
        OG_TRY(og__npy_append(w, (const int64_t[]){((const int32_t *)labels)[i]}, 1, err));
    rc = og__npy_finish(w, NULL, err);
    w = NULL; /* closed, whether it could be finished or not */
out:
    og__npy_discard(w);
    og__release(x->budget, labels, og__labels_bytes(ds, n), "labels");
    og__release(x->budget, ids, (size_t)n * sizeof(*ids), "seeds");
    return rc;
}

struct text {
    FILE *file;
    bool lacking; /* something could not be added: the file itself does not remember */
};

static void OG_PRINTF(2, 3) say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (vfprintf(t->file, fmt, ap) < 0)
        t->lacking = true;
    va_end(ap);
}

static void describe_set(struct text *t, const struct og_graph *ds, int s)
{
    static const char *const keys[OG__SPLITS] = {"train_set", "validation_set", "test_set"};
    if (ds->split[s].fd < 0)
        return;
    say(t, "    %s:\n      - data:\n", keys[s]);
    say(t, "          - {name: seeds, format: numpy, in_memory: true, path: set/%s_seeds.npy}\n",
        splits[s]);
    if (ds->labels.fd >= 0)
        say(t,
            "          - {name: labels, format: numpy, in_memory: true, path: "
            "set/%s_labels.npy}\n",
            splits[s]);
}

static void describe(struct text *t, const struct og_graph *ds, const char *name)
{
    say(t, "dataset_name: %s\n", name); /* JSON's quotes are YAML's */
    say(t, "graph:\n  nodes:\n    - num: %" PRId64 "\n", ds->n_nodes);
    say(t, "  edges:\n    - format: numpy\n      path: edges/edges.npy\n");
    say(t, "feature_data:\n");
    say(t,
        "  - {domain: node, name: feat, format: numpy, in_memory: false, path: data/feat.npy}\n");
    if (ds->relation->weights.fd >= 0)
        say(t, "  - {domain: edge, name: weight, format: numpy, in_memory: false, path: "
               "data/weight.npy}\n");
    say(t, "tasks:\n  - name: node_%s\n    num_classes: %d\n",
        ds->regression ? "regression" : "classification", ds->n_classes);
    for (int s = 0; s < OG__SPLITS; s++)
        describe_set(t, ds, s);
}

static int write_yaml(const struct og_exporter *x, struct og_err *err)
{
    char *path = og__path_join(x->dir.temporary, "metadata.yaml");
    json_t *name = json_string(x->ds->name);
    char *quoted = og__json_print(name, JSON_ENCODE_ANY);
    char *text = NULL;
    size_t len = 0;
    struct text t = {path && quoted ? open_memstream(&text, &len) : NULL, false};
    if (t.file)
        describe(&t, x->ds, quoted);
    bool whole = t.file && fclose(t.file) == 0 && !t.lacking && text;
    int rc;
    OG_TRY(whole ? 0 : og__fail_errno(err, -ENOMEM, NULL, "metadata.yaml"));
    OG_TRY(og__write_text(path, text, len, err));
out:
    free(text);
    free(quoted);
    json_decref(name);
    free(path);
    return rc;
}

static int make_folders(const struct og_exporter *x, struct og_err *err)
{
    static const char *const names[] = {"edges", "data", "set"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        char *path = og__path_join(x->dir.temporary, names[i]);
        int rc =
            path ? og__make_dirs(path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", names[i]);
        free(path);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int export_graphbolt(struct og_exporter *x, struct og_err *err)
{
    const struct og_graph *ds = x->ds;
    int rc;
    OG_TRY(make_folders(x, err));
    OG_TRY(export_edges(x, "edges/edges.npy", true, err));
    OG_TRY(og__export_rows(x, ds->group, "data/feat.npy", err));
    OG_TRY(og__export_array(x, &ds->relation->weights, false, "data/weight.npy", err));
    for (int s = 0; s < OG__SPLITS; s++) {
        char name[32];
        snprintf(name, sizeof(name), "set/%s_seeds.npy", splits[s]);
        OG_TRY(og__export_array(x, &ds->split[s], false, name, err));
        snprintf(name, sizeof(name), "set/%s_labels.npy", splits[s]);
        if (ds->split[s].fd >= 0 && ds->labels.fd >= 0)
            OG_TRY(export_labels(x, (enum og__split)s, name, err));
    }
    OG_TRY(write_yaml(x, err));
out:
    return rc;
}

/* ---- all ---- */

static int export_into(struct og_exporter *x, const char *format, struct og_err *err)
{
    if (strcmp(format, "npy") == 0)
        return export_npy(x, err);
    if (strcmp(format, "graphbolt") == 0)
        return export_graphbolt(x, err);
    return og__fail(err, -EINVAL, "npy or graphbolt", "export %s: no such format", format);
}

int og_export(const char *format, const char *dataset, const char *out,
              const struct og_observer *seen, struct og_err *err)
{
    struct og_exporter x = {.seen = seen};
    struct og_graph *ds = NULL;
    int rc;
    OG_TRY(og__graph_open(dataset, &ds, err));
    x.ds = ds;
    if (!(x.budget = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}))))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "export"));
    OG_TRY(og__newdir_begin(&x.dir, out, err));
    OG_TRY((ds->has_types ? og__export_typed : export_into)(&x, format, err));
    OG_TRY(og__newdir_commit(&x.dir, err));
out:
    og__newdir_abandon(&x.dir);
    og__budget_free(x.budget);
    og__graph_close(ds);
    return rc;
}
