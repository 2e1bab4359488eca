/* Opening a dataset: meta.json is read, every array's header is read and held against the
 * others. Split and label ids are checked when they are loaded, topology in topology.c. */
#include "dataset/identity.h"
#include "dataset/opening.h"

#include "base/file.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

/* ---- opening ---- */

struct og_npy *og__array_of(struct og_dataset *ds, enum og__array a)
{
    struct og_npy *const of[] = {
        [OG__INDPTR] = &ds->indptr,
        [OG__INDICES] = &ds->indices,
        [OG__WEIGHTS] = &ds->weights,
        [OG__FEATURES] = &ds->features,
        [OG__LABELS] = &ds->labels,
        [OG__ARRAY_TRAIN] = &ds->split[OG__TRAIN],
        [OG__ARRAY_VALID] = &ds->split[OG__VALID],
        [OG__ARRAY_TEST] = &ds->split[OG__TEST],
        [OG__ARRAY_TRAIN_EDGES] = &ds->edges[OG__TRAIN],
        [OG__ARRAY_VALID_EDGES] = &ds->edges[OG__VALID],
        [OG__ARRAY_TEST_EDGES] = &ds->edges[OG__TEST],
    };
    return of[a];
}

/* Paths that meta.json declares are relative to the dataset unless absolute. */
static char *declared_path(const char *folder, const char *path)
{
    return path[0] == '/' ? strdup(path) : og__path_join(folder, path);
}

static char *array_path(const char *folder, const struct og_meta_file *f, const char *array)
{
    if (f->path)
        return declared_path(folder, f->path);
    char *path = NULL;
    return asprintf(&path, "%s/%s.npy", folder, array) < 0 ? NULL : path;
}

static int open_raw(struct og_npy *a, const char *path, const struct og_meta_file *f,
                    struct og_err *err)
{
    uint64_t size = 0;
    int rc = og__npy_open_file(a, path, &size, err);
    if (rc < 0)
        return rc;
    a->type = f->type;
    a->ndim = f->ndim;
    a->shape[0] = f->shape[0];
    a->shape[1] = f->shape[1];
    a->offset = f->offset;
    rc = og__npy_fit(a, size, path, err);
    if (rc < 0)
        og__npy_close(a);
    return rc;
}

/* Is this part what the array needs in its place? What is told of it is told with its number. */
static int check_part(const struct og_npy *whole, uint32_t p, uint64_t contents, struct og_err *err)
{
    const struct og_npy *a = &whole->parts->part[p];
    const struct og_npy *first = &whole->parts->part[0];
    const int64_t rows =
        (int64_t)og__part_rows(&whole->parts->stripes, p, (uint64_t)whole->shape[0]);
    uint64_t found = contents;
    if (a->shape[0] != rows)
        return og__fail(err, -EINVAL, NULL, "%s: %lld rows, not %lld", a->path,
                        (long long)a->shape[0], (long long)rows);
    if (a->type != first->type || a->ndim != 2 || a->shape[1] != first->shape[1] ||
        a->offset != first->offset)
        return og__fail(err, -EINVAL, NULL, "%s: not of the form of %s", a->path, first->path);
    int rc = contents ? og__array_contents(a, &found, err) : 0;
    if (rc == 0 && found != contents)
        return og__fail(err, -EINVAL, NULL, "%s: of another dataset, or changed since", a->path);
    return rc;
}

static int open_part(struct og_dataset *ds, struct og_npy *whole, const struct og_meta_file *f,
                     uint32_t p, struct og_err *err)
{
    static const char part_hint[] =
        "is its disk mounted? Else copy the part back to the path that meta.json has for it, or "
        "make the dataset again";
    const struct og_meta_part said = og__meta_part(f, p);
    struct og_err mine = {0};
    char *path = declared_path(ds->path, said.path);
    int rc = path ? og__npy_open(&whole->parts->part[p], path, &mine)
                  : og__fail_errno(&mine, -ENOMEM, NULL, "%s", ds->path);
    if (rc == 0)
        rc = check_part(whole, p, said.contents, &mine);
    free(path);
    return rc < 0 ? og__fail(err, rc, part_hint, "part %u of %u of the features: %s", p + 1,
                             f->stripes.parts, mine.message)
                  : 0;
}

/* The array that the parts make. The lists, open by now, tell how many rows it has. */
static int open_parts(struct og_dataset *ds, struct og_npy *whole, const struct og_meta_file *f,
                      struct og_err *err)
{
    const uint32_t n = f->stripes.parts;
    struct og_npy_parts *parts = calloc(1, sizeof(*parts) + n * sizeof(struct og_npy));
    int rc = 0;
    if (!parts)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", ds->path);
    parts->stripes = f->stripes;
    for (uint32_t p = 0; p < n; p++)
        parts->part[p].fd = -1;
    whole->parts = parts;
    whole->ndim = 2;
    whole->shape[0] = ds->indptr.shape[0] - 1;
    if (whole->shape[0] < 1)
        return og__fail(err, -EINVAL, again_hint, "%s: no node has features", ds->path);
    for (uint32_t p = 0; p < n; p++)
        OG_TRY(open_part(ds, whole, f, p, err));
    const struct og_npy *first = &parts->part[0];
    whole->type = first->type;
    whole->shape[1] = first->shape[1];
    whole->offset = first->offset;
    whole->bytes = whole->shape[0] * whole->shape[1] * (int64_t)og__npy_size(whole->type);
    whole->path = first->path ? strdup(first->path) : NULL;
    if (!whole->path)
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", ds->path);
out:
    return rc;
}

int og__open_array(const char *folder, const char *name, const struct og_meta_file *f,
                   bool optional, struct og_npy *a, struct og_err *err)
{
    struct og_err mine = {0};
    char *path = array_path(folder, f, name);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    int rc = f->raw ? open_raw(a, path, f, &mine) : og__npy_open(a, path, &mine);
    free(path);
    if (rc == -ENOENT && optional && !f->path)
        return 0; /* left closed: absent */
    if (rc < 0)
        og__fail(err, rc, mine.hint[0] ? mine.hint : again_hint, "%s", mine.message);
    return rc;
}

static int open_array(struct og_dataset *ds, const struct og_meta *m, enum og__array which,
                      struct og_err *err)
{
    static const bool optional[OG__ARRAYS] = {
        [OG__WEIGHTS] = true,           [OG__LABELS] = true,
        [OG__ARRAY_TRAIN] = true,       [OG__ARRAY_VALID] = true,
        [OG__ARRAY_TEST] = true,        [OG__ARRAY_TRAIN_EDGES] = true,
        [OG__ARRAY_VALID_EDGES] = true, [OG__ARRAY_TEST_EDGES] = true,
    };
    const struct og_meta_file *f = &m->file[which];
    struct og_npy *a = og__array_of(ds, which);
    if (f->stripes.parts > 0)
        return open_parts(ds, a, f, err);
    return og__open_array(ds->path, og__array_name(which), f, optional[which], a, err);
}

static int disagree(const struct og_dataset *ds, const char *what, int64_t said, int64_t found,
                    struct og_err *err)
{
    return og__fail(err, -EINVAL, again_hint, "%s: %s: %lld expected, %lld found", ds->path, what,
                    (long long)said, (long long)found);
}

static int check_topology(struct og_dataset *ds, const struct og_meta *m, struct og_err *err)
{
    const struct og_npy *p = &ds->indptr;
    const struct og_npy *i = &ds->indices;
    ds->n_nodes = ds->n_sources = p->shape[0] - 1;
    ds->n_edges = i->shape[0];
    if (p->type != OG__NPY_I64 || p->shape[1] != 1)
        return og__fail(err, -EINVAL, again_hint, "%s: must be int64 [N+1]", p->path);
    if ((i->type != OG__NPY_I32 && i->type != OG__NPY_I64) || i->shape[1] != 1)
        return og__fail(err, -EINVAL, again_hint, "%s: must be int32 or int64 [E]", i->path);
    if (m->n_nodes >= 0 && m->n_nodes != ds->n_nodes)
        return disagree(ds, "num_nodes and indptr.npy", m->n_nodes, ds->n_nodes, err);
    if (m->n_edges >= 0 && m->n_edges != ds->n_edges)
        return disagree(ds, "num_edges and indices.npy", m->n_edges, ds->n_edges, err);
    if (ds->n_nodes < 1 || ds->n_edges < 1)
        return og__fail(err, -EINVAL, "there is nothing to train on",
                        "%s: an empty graph (%lld nodes, %lld edges)", ds->path,
                        (long long)OG_MAX(ds->n_nodes, 0), (long long)ds->n_edges);
    if (ds->n_nodes >= UINT32_MAX)
        return og__fail(err, -EINVAL, "fewer than 2^32 - 1 nodes are supported", "%s: %lld nodes",
                        ds->path, (long long)ds->n_nodes);
    const struct og_npy *w = &ds->weights;
    if (w->fd >= 0 && (w->type != OG__NPY_F32 || w->shape[0] != ds->n_edges || w->shape[1] != 1))
        return og__fail(err, -EINVAL, again_hint, "%s: must be float32 [E]", w->path);
    return 0;
}

/* The dtype of features: what meta.json says, if the file can hold it; else what the file says. */
static int features_dtype(struct og_dataset *ds, int said, struct og_err *err)
{
    enum og__npy_type stored = ds->features.type;
    for (enum og_dtype d = OG_F32; said < 0 && d <= OG_U8; d++)
        if (d != OG_BF16 && og__dtype_stored(d) == stored)
            said = (int)d;
    if (said < 0)
        return og__fail(err, -EINVAL, "import it with --feature-dtype f32",
                        "%s: features of type %s", ds->features.path, og__npy_name(stored));
    ds->dtype = ds->kept = (enum og_dtype)said;
    if (og__dtype_stored(ds->dtype) != stored)
        return og__fail(err, -EINVAL, again_hint, "%s: %s where meta.json says %s",
                        ds->features.path, og__npy_name(stored), og__dtype_name(ds->dtype));
    return 0;
}

int og__check_features(struct og_dataset *ds, int64_t dim, int dtype, struct og_err *err)
{
    const struct og_npy *f = &ds->features;
    const int64_t rows =
        ds->workers ? (ds->n_nodes + ds->workers - 1 - ds->worker) / ds->workers : ds->n_nodes;
    int rc = features_dtype(ds, dtype, err);
    if (rc < 0)
        return rc;
    if (f->shape[0] != rows)
        return disagree(ds, "rows of features.npy", rows, f->shape[0], err);
    if (dim >= 0 && dim != f->shape[1])
        return disagree(ds, "feature_dim and columns of features.npy", dim, f->shape[1], err);
    if (f->shape[1] < 1 || f->shape[1] > INT32_MAX / 8)
        return og__fail(err, -EINVAL, NULL, "%s: %lld columns", f->path, (long long)f->shape[1]);
    ds->dim = (int)f->shape[1];
    return 0;
}

int og__check_labels(struct og_dataset *ds, const struct og_meta *m, struct og_err *err)
{
    const struct og_npy *l = &ds->labels;
    ds->n_classes = (int)m->n_classes;
    if (l->fd < 0)
        return 0;
    ds->regression = l->type == OG__NPY_F32 && m->task && strcmp(m->task, "node regression") == 0;
    ds->multi_label = l->type == OG__NPY_F32 && !ds->regression;
    if (!og__float_labels(ds) && (!og__npy_is_integer(l->type) || l->shape[1] != 1))
        return og__fail(err, -EINVAL, again_hint, "%s: must be int64 [N] or float32 [N,C]",
                        l->path);
    if (m->multi_label >= 0 && ds->multi_label != m->multi_label)
        return og__fail(err, -EINVAL, again_hint, "%s: %s where meta.json says multi_label %s",
                        l->path, og__npy_name(l->type), m->multi_label ? "true" : "false");
    if (l->shape[0] != ds->n_nodes)
        return disagree(ds, "rows of labels.npy", ds->n_nodes, l->shape[0], err);
    if (og__float_labels(ds) && l->shape[1] != m->n_classes)
        return disagree(ds, "num_classes and columns of labels.npy", m->n_classes, l->shape[1],
                        err);
    if (ds->n_classes < 1)
        return og__fail(err, -EINVAL, again_hint, "%s: labels, but num_classes is 0", ds->path);
    return 0;
}

static int check_node_splits(const struct og_dataset *ds, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &ds->split[s];
        if (a->fd >= 0 && (!og__npy_is_integer(a->type) || a->shape[1] != 1))
            return og__fail(err, -EINVAL, again_hint, "%s: must be int64 node ids", a->path);
        if (a->fd >= 0 && a->shape[0] > ds->n_nodes)
            return og__fail(err, -EINVAL, again_hint, "%s: %lld ids, the graph has %lld nodes",
                            a->path, (long long)a->shape[0], (long long)ds->n_nodes);
    }
    return 0;
}

static int check_edges(const struct og_dataset *ds, struct og_err *err)
{
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &ds->edges[s];
        if (a->fd >= 0 && (!og__npy_is_integer(a->type) || a->ndim != 2 || a->shape[1] != 2))
            return og__fail(err, -EINVAL, "one row an edge: src, dst",
                            "%s: must be whole numbers [n,2]", a->path);
    }
    return 0;
}

int og__check_splits(const struct og_dataset *ds, struct og_err *err)
{
    int rc = check_node_splits(ds, err);
    return rc < 0 ? rc : check_edges(ds, err);
}

char *og__dataset_name(const char *path)
{
    char *copy = strdup(path);
    char *name = copy ? strdup(basename(copy)) : NULL;
    free(copy);
    return name;
}

/* meta.json's text; a folder that is none of ours gets a message about the folder. */
int og__meta_read(const char *folder, char **text, size_t *len, struct og_err *err)
{
    struct og_err mine = {0};
    char *path = og__path_join(folder, "meta.json");
    *text = NULL;
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    int rc = og__read_text(path, OG__META_MAX, text, len, &mine);
    free(path);
    return rc < 0
               ? og__fail(err, rc, "name a folder made by `outgrow import` or `outgrow generate`",
                          "%s", mine.message)
               : 0;
}

static int read_meta(struct og_dataset *ds, struct og_meta *m, struct og_err *err)
{
    char *text;
    size_t len = 0;
    char *path = NULL;
    int rc = og__meta_read(ds->path, &text, &len, err);
    if (rc < 0)
        return rc;
    path = og__path_join(ds->path, "meta.json");
    rc = path ? og__meta_parse(m, OG__FORMAT_PLAIN, text, len, path, err)
              : og__fail_errno(err, -ENOMEM, NULL, "%s", ds->path);
    free(text);
    free(path);
    return rc;
}

void og__dataset_blank(struct og_dataset *ds)
{
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        og__array_of(ds, a)->fd = -1;
}

int og__dataset_open_share(const char *path, struct og_dataset **out, struct og_err *err)
{
    *out = NULL;
    struct og_meta m = {0};
    int rc = 0;
    struct og_dataset *ds = calloc(1, sizeof(*ds));
    if (!ds)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    og__dataset_blank(ds);
    if (!(ds->path = strdup(path)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(read_meta(ds, &m, err));
    if (!(ds->name = m.name ? strdup(m.name) : og__dataset_name(path)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        OG_TRY(open_array(ds, &m, a, err));
    OG_TRY(check_topology(ds, &m, err));
    ds->workers = m.file[OG__FEATURES].workers;
    ds->worker = m.file[OG__FEATURES].worker;
    OG_TRY(og__check_features(ds, m.dim, m.dtype, err));
    OG_TRY(og__check_labels(ds, &m, err));
    OG_TRY(og__check_splits(ds, err));
    ds->symmetric = m.symmetric;
    OG_TRY(og__dataset_identify(ds, &m, err));
    *out = ds;
out:
    og__meta_release(&m);
    if (rc < 0)
        og__dataset_close(ds);
    return rc;
}

int og__dataset_open(const char *path, struct og_dataset **out, struct og_err *err)
{
    int rc = og__dataset_open_share(path, out, err);
    if (rc < 0 || !(*out)->workers)
        return rc;
    rc = og__fail(err, -EINVAL,
                  "give the whole dataset, or train on all parts with --exchange (docs/cluster.md)",
                  "%s: has the feature rows of worker %u of %u alone", path, (*out)->worker,
                  (*out)->workers);
    og__dataset_close(*out);
    *out = NULL;
    return rc;
}

void og__dataset_close(struct og_dataset *ds)
{
    if (!ds)
        return;
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        og__npy_close(og__array_of(ds, a));
    free(ds->path);
    free(ds->name);
    free(ds);
}

static bool is_file_of(const struct og_npy *a, const struct stat *there)
{
    struct stat st;
    for (uint32_t p = 0; a->parts && p < a->parts->stripes.parts; p++)
        if (is_file_of(&a->parts->part[p], there))
            return true;
    return a->fd >= 0 && fstat(a->fd, &st) == 0 && st.st_dev == there->st_dev &&
           st.st_ino == there->st_ino;
}

int og__dataset_spare(const struct og_dataset *ds, const char *path, struct og_err *err)
{
    struct stat there;
    struct stat st;
    if (!path || lstat(path, &there) < 0)
        return 0;
    char *meta = og__path_join(ds->path, "meta.json");
    if (!meta)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    bool ours = stat(meta, &st) == 0 && st.st_dev == there.st_dev && st.st_ino == there.st_ino;
    free(meta);
    for (enum og__array a = 0; !ours && a < OG__ARRAYS; a++)
        ours = is_file_of(og__array_of((struct og_dataset *)ds, a), &there);
    return ours ? og__fail(err, -EEXIST, "choose another name",
                           "%s: a file of the dataset, which is only read", path)
                : 0;
}

/* ---- splits ---- */

/* A list of ids that is looked through from the front: each must be below N. */
struct id_check {
    const struct og_dataset *ds;
    const char *name, *hint; /* of the list; what to do about one that is out of range */
    uint64_t *seen;          /* a bitmap of N bits */
    bool *repeats;           /* becomes true where an id is listed twice; NULL: that is an error */
};

/* Ids [first, first + n) of the list, as u32. */
static int check_ids(const struct id_check *c, const int64_t *list, int64_t first, int64_t n,
                     uint32_t *ids, struct og_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = list[i];
        if (id < 0 || id >= c->ds->n_nodes)
            return og__fail(err, -EINVAL, c->hint,
                            "%s: row %lld: node %lld, the graph has %lld nodes", c->name,
                            (long long)(first + i), (long long)id, (long long)c->ds->n_nodes);
        const bool repeated = c->seen[id / 64] >> (id % 64) & 1;
        if (repeated && !c->repeats)
            return og__fail(err, -EINVAL, "remove the repeated ids (numpy.unique)",
                            "%s: row %lld: node %lld is listed twice", c->name,
                            (long long)(first + i), (long long)id);
        if (repeated)
            *c->repeats = true;
        c->seen[id / 64] |= (uint64_t)1 << (id % 64);
        ids[i] = (uint32_t)id;
    }
    return 0;
}

static int read_ids(const struct id_check *c, const struct og_npy *a, uint32_t *ids,
                    struct og_err *err)
{
    enum { CHUNK = 4096 };
    int64_t chunk[CHUNK];
    for (int64_t first = 0; first < a->shape[0]; first += CHUNK) {
        int64_t n = OG_MIN(a->shape[0] - first, (int64_t)CHUNK);
        int rc = og__npy_read_int64(a, first, n, chunk, err);
        if (rc < 0)
            return rc;
        rc = check_ids(c, chunk, first, n, ids + first, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static size_t seen_bytes(const struct og_dataset *ds)
{
    return ((size_t)ds->n_nodes / 64 + 1) * 8;
}

int og__dataset_split(const struct og_dataset *ds, enum og__split split, struct og_budget *b,
                      uint32_t **ids, int64_t *count, struct og_err *err)
{
    const struct og_npy *a = &ds->split[split];
    struct id_check check = {.ds = ds, .name = a->path, .hint = again_hint};
    *ids = NULL;
    *count = 0;
    if (a->fd < 0 || a->shape[0] == 0)
        return 0;
    int rc = 0;
    uint32_t *found = og__alloc(b, (size_t)a->shape[0] * 4, "seeds", err);
    if (!found || !(check.seen = og__alloc(b, seen_bytes(ds), "seeds", err)))
        OG_TRY(-ENOMEM);
    OG_TRY(read_ids(&check, a, found, err));
    *ids = found;
    *count = a->shape[0];
out:
    og__release(b, check.seen, seen_bytes(ds), "seeds");
    if (rc < 0)
        og__release(b, found, (size_t)a->shape[0] * 4, "seeds");
    return rc;
}

int og__dataset_seeds(const struct og_dataset *ds, const int64_t *list, int64_t n,
                      struct og_budget *b, uint32_t **ids, bool *repeats, struct og_err *err)
{
    struct id_check check = {
        .ds = ds, .name = "seeds", .hint = "give ids of the graph's nodes", .repeats = repeats};
    *ids = NULL;
    *repeats = false;
    if (n <= 0)
        return 0;
    int rc = 0;
    uint32_t *found = og__alloc(b, (size_t)n * 4, "seeds", err);
    if (!found || !(check.seen = og__alloc(b, seen_bytes(ds), "seeds", err)))
        OG_TRY(-ENOMEM);
    OG_TRY(check_ids(&check, list, 0, n, found, err));
    *ids = found;
out:
    og__release(b, check.seen, seen_bytes(ds), "seeds");
    if (rc < 0)
        og__release(b, found, (size_t)n * 4, "seeds");
    return rc;
}

/* Ends as u32, each below N. */
static int read_ends(const struct og_dataset *ds, const struct og_npy *a, uint32_t *ends,
                     struct og_err *err)
{
    enum { CHUNK = 2048 };
    struct og_npy flat = *a; /* the same numbers in one row */
    int64_t chunk[CHUNK];
    flat.ndim = 1;
    flat.shape[0] = 2 * a->shape[0];
    flat.shape[1] = 1;
    for (int64_t first = 0; first < flat.shape[0]; first += CHUNK) {
        int64_t n = OG_MIN(flat.shape[0] - first, (int64_t)CHUNK);
        int rc = og__npy_read_int64(&flat, first, n, chunk, err);
        if (rc < 0)
            return rc;
        for (int64_t i = 0; i < n; i++) {
            if (chunk[i] < 0 || chunk[i] >= ds->n_nodes)
                return og__fail(err, -EINVAL, again_hint,
                                "%s: row %lld: node %lld, the graph has %lld nodes", a->path,
                                (long long)(first + i) / 2, (long long)chunk[i],
                                (long long)ds->n_nodes);
            ends[first + i] = (uint32_t)chunk[i];
        }
    }
    return 0;
}

int og__dataset_edges(const struct og_dataset *ds, enum og__split split, struct og_budget *b,
                      uint32_t **ends, int64_t *count, struct og_err *err)
{
    const struct og_npy *a = &ds->edges[split];
    *ends = NULL;
    *count = 0;
    if (a->fd < 0 || a->shape[0] == 0)
        return 0;
    size_t bytes = (size_t)a->shape[0] * 8;
    uint32_t *found = og__alloc(b, bytes, "seeds", err);
    int rc = found ? read_ends(ds, a, found, err) : -ENOMEM;
    if (rc < 0) {
        og__release(b, found, bytes, "seeds");
        return rc;
    }
    *ends = found;
    *count = a->shape[0];
    return 0;
}

/* ---- labels ---- */

/* Walks the file once, front to back: ids are visited in ascending order through `order`, whose
 * entries are id << 32 | place, and rows near each other are read together. */
struct label_walk {
    const struct og_dataset *ds;
    const uint64_t *order;
    int64_t count;
    char *buffer; /* WINDOW bytes, or one row if that is more */
    size_t buffer_bytes;
    void *out;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int put_class(const struct label_walk *w, const char *row, uint64_t entry,
                     struct og_err *err)
{
    int64_t label = 0;
    og__npy_widen(w->ds->labels.type, row, 1, &label);
    if (label < -1 || label >= w->ds->n_classes)
        return og__fail(err, -EINVAL, again_hint, "%s: node %llu: class %lld, there are %d",
                        w->ds->labels.path, (unsigned long long)(entry >> 32), (long long)label,
                        w->ds->n_classes);
    ((int32_t *)w->out)[(uint32_t)entry] = (int32_t)label;
    return 0;
}

/* Reads one window from the next id on and serves all ids inside; returns how many. */
static int64_t serve_window(const struct label_walk *w, int64_t from, struct og_err *err)
{
    const struct og_npy *a = &w->ds->labels;
    size_t row = og__npy_size(a->type) * (size_t)a->shape[1];
    int64_t rows = (int64_t)(w->buffer_bytes / row);
    int64_t first = (int64_t)(w->order[from] >> 32);
    int64_t end = from;
    while (end < w->count && (int64_t)(w->order[end] >> 32) < first + rows)
        end++;
    int rc = og__npy_read(a, first, (int64_t)(w->order[end - 1] >> 32) - first + 1, w->buffer, err);
    if (rc < 0)
        return rc;
    for (int64_t i = from; i < end; i++) {
        const char *p = w->buffer + (size_t)((int64_t)(w->order[i] >> 32) - first) * row;
        if (og__float_labels(w->ds))
            memcpy((char *)w->out + (size_t)(uint32_t)w->order[i] * row, p, row);
        else if ((rc = put_class(w, p, w->order[i], err)) < 0)
            return rc;
    }
    return end - from;
}

int og__dataset_labels(const struct og_dataset *ds, const uint32_t *ids, int64_t count,
                       struct og_budget *b, void **labels, struct og_err *err)
{
    enum { WINDOW = 256 * 1024 };
    size_t bytes = og__labels_bytes(ds, count);
    size_t order_bytes = (size_t)count * 8;
    int rc = 0;
    uint64_t *order = NULL;
    struct label_walk w = {ds, NULL, count, NULL, 0, NULL};
    *labels = NULL;
    if (ds->labels.fd < 0)
        return og__fail(err, -EINVAL, "import the graph with a label.npy", "%s: has no labels",
                        ds->path);
    w.buffer_bytes = OG_MAX((size_t)ds->labels.shape[1] * 8, (size_t)WINDOW);
    if (!(w.out = og__alloc(b, bytes, "labels", err)) ||
        !(order = og__alloc(b, order_bytes, "labels", err)) ||
        !(w.buffer = og__alloc(b, w.buffer_bytes, "labels", err)))
        OG_TRY(-ENOMEM);
    bool ascending = true;
    for (int64_t i = 0; i < count; i++) {
        order[i] = (uint64_t)ids[i] << 32 | (uint64_t)i;
        ascending = ascending && (i == 0 || order[i - 1] < order[i]);
    }
    if (!ascending)
        qsort(order, (size_t)count, sizeof(*order), compare_u64);
    w.order = order;
    for (int64_t done = 0, n; done < count; done += n) {
        n = serve_window(&w, done, err);
        OG_TRY((int)OG_MIN(n, (int64_t)0));
    }
    *labels = w.out;
out:
    og__release(b, w.buffer, w.buffer_bytes, "labels");
    og__release(b, order, order_bytes, "labels");
    if (rc < 0)
        og__release(b, w.out, bytes, "labels");
    return rc;
}
