/* og_verify: reads every array once, in pieces, and reports all defects. */
#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/option_rows.h"
#include "base/sized.h"
#include "dataset/convert.h"
#include "dataset/edge_labels.h"
#include "dataset/edge_walk.h"
#include "dataset/node_names.h"
#include "dataset/times.h"
#include "dataset/typed_edges.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1024 * 1024, TOLD_A_FILE = 3 };

struct verifier {
    struct og_graph *ds;
    struct og_budget *budget; /* there is no --memory: of what is free */
    void (*finding)(void *arg, const char *text, const char *hint);
    void *arg;
    const struct og_observer *observer;
    int n_findings;
    const char *file;      /* being read */
    char name[48];         /* its name, of a relation's or a group's */
    enum og_dtype of_type; /* of features */
    const float *scale;    /* of the columns of features that are floats; or NULL */
    uint64_t wrong;        /* defects in it; only the first few are reported one by one */
    const struct og_relation *of;
    enum og_times_kind by_time; /* its lists are sorted by these times */
    long long before;           /* the previous entry of its indptr */
    int split;                  /* being read */
    long long width;            /* numbers of a row of given negatives */
    int64_t *piece;             /* [PIECE_BYTES] bytes */
    unsigned char *split_of;    /* [N] bit s: the node is in split s */
};

static const char part[] = "verify";

/* Hints for each kind of damage. Verification only reads; repairs are up to the user. */
static const char anew[] =
    "import or generate the dataset again, or copy indptr.npy and indices.npy from a sound copy";
static const char sort_lists[] =
    "sort it: i = np.load('indices.npy', mmap_mode='r+'); i[p[v]:p[v+1]].sort(), with p = "
    "np.load('indptr.npy'), and weights.npy along with it if there is one; then drop both from "
    "checksums in meta.json";
static const char mend_numbers[] =
    "x = np.load(FILE, mmap_mode='r+'); x[~np.isfinite(x)] = 0 (bf16, stored as "
    "uint16: x[(x & 0x7f80) == 0x7f80] = 0); x.flush(); then drop the file from "
    "checksums in meta.json";
static const char mend_weights[] = "import it again with weights of 0 and more; or correct the "
                                   "values, and drop the file from checksums in meta.json";
static const char mend_shares[] = "import it again, with shares of at least 0";
static const char mend_scales[] =
    "import the graph again, whose features changed; or leave --pack-dtype i8 and e4m3 out";
static const char mend_labels[] =
    "set what is unknown to -1, or raise num_classes in meta.json if the class is meant";
static const char mend_split[] =
    "write it again without them: np.save(FILE, np.setdiff1d(ids, wrong)); a node is in one split, "
    "once; then drop the file from checksums in meta.json";
static const char mend_checksum[] =
    "copy the file from a sound copy, or import again; if it was changed on purpose, drop it from "
    "checksums in meta.json";

static void tell(struct verifier *v, const char *hint, const char *fmt, ...) OG_PRINTF(3, 4);

static void tell(struct verifier *v, const char *hint, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (v->wrong++ >= TOLD_A_FILE)
        return;
    va_start(ap, fmt);
    int n = snprintf(text, sizeof(text), "%s: ", v->file);
    vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    v->finding(v->arg, text, hint);
    v->n_findings++;
}

static void begin(struct verifier *v, const char *file)
{
    v->file = file;
    v->wrong = 0;
}

static void end(struct verifier *v)
{
    char text[256];
    if (v->wrong <= TOLD_A_FILE)
        return;
    snprintf(text, sizeof(text), "%s: and %" PRIu64 " more like it", v->file,
             v->wrong - TOLD_A_FILE);
    v->finding(v->arg, text, "");
    v->n_findings++;
}

static int64_t piece_rows(const struct og_npy *a)
{
    size_t row = (size_t)a->shape[1] * og__npy_size(a->type);
    return OG_MAX((int64_t)(PIECE_BYTES / OG_MAX(row, (size_t)1)), (int64_t)1);
}

/* Checks one integer of an array. */
typedef void look(struct verifier *v, long long row, long long x);

static int verify_integers(struct verifier *v, const char *file, const struct og_npy *a,
                           look *look_at, struct og_err *err)
{
    if (a->fd < 0)
        return 0;
    begin(v, file);
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, (int64_t)PIECE_BYTES / 8);
        OG_DO(og__npy_read_int64(a, first, n, v->piece, err));
        for (int64_t i = 0; i < n; i++)
            look_at(v, first + i, v->piece[i]);
    }
    end(v);
    return 0;
}

/* ---- topology ---- */

static void look_at_offset(struct verifier *v, long long row, long long x)
{
    if (x < v->before)
        tell(v, anew, "entry %lld: %lld after %lld", row, x, v->before);
    if (row == 0 && x != 0)
        tell(v, anew, "starts at %lld, not 0", x);
    if (row == v->of->n_nodes && x != v->of->n_edges)
        tell(v, anew, "ends at %lld, there are %lld edges", x, (long long)v->of->n_edges);
    v->before = x;
}

/* Indices list by list, with indptr read along. */
static int verify_indices(struct verifier *v, const struct og_relation *r, const char *file,
                          struct og_err *err)
{
    enum { NODES = 4096 };
    int64_t ptr[NODES + 1];
    begin(v, file);
    for (int64_t node = 0, n; node < r->n_nodes; node += n) {
        n = OG_MIN(r->n_nodes - node, (int64_t)NODES);
        OG_DO(og__npy_read_int64(&r->indptr, node, n + 1, ptr, err));
        int64_t list = 0; /* of this run of nodes */
        int64_t before = -1;
        for (int64_t at = ptr[0], m; at < ptr[n]; at += m) {
            m = OG_MIN(ptr[n] - at, (int64_t)PIECE_BYTES / 8);
            OG_DO(og__npy_read_int64(&r->indices, at, m, v->piece, err));
            for (int64_t i = 0; i < m; i++) {
                while (at + i >= ptr[list + 1]) {
                    list++;
                    before = -1;
                }
                int64_t u = v->piece[i];
                if (u < 0 || u >= r->n_sources)
                    tell(v, anew, "entry %lld: node %lld of %lld", (long long)(at + i),
                         (long long)u, (long long)r->n_sources);
                else if (u < before && !v->by_time)
                    tell(v, sort_lists, "entry %lld: the list of node %lld is not sorted",
                         (long long)(at + i), (long long)(node + list));
                before = u;
            }
        }
    }
    end(v);
    return 0;
}

/* ---- numbers ---- */

static bool is_finite(enum og_dtype of_type, enum og__npy_type type, const void *data, size_t i)
{
    if (of_type == OG_BF16)
        return (((const uint16_t *)data)[i] & 0x7f80) != 0x7f80;
    if (of_type == OG_E4M3)
        return (((const uint8_t *)data)[i] & 0x7f) != 0x7f;
    return isfinite(og__number_at(type, data, i));
}

/* A label or value that is not known is NaN. */
static bool is_value(const struct og_npy *a, const void *data, size_t i)
{
    return !isinf(og__number_at(a->type, data, i));
}

/* At least 0, and known if the node's first share is. */
static bool is_share(const struct og_npy *a, const void *data, size_t i)
{
    const double x = og__number_at(a->type, data, i);
    const double first = og__number_at(a->type, data, i - i % (size_t)a->shape[1]);
    return !(x < 0) && isnan(x) == isnan(first);
}

static int verify_sparse(struct verifier *v, const char *file, const struct og_group *g,
                         struct og_err *err)
{
    const int64_t rows = piece_rows(&g->rows);
    const size_t row_bytes = og__file_row_bytes(g);
    const size_t bytes = (size_t)rows * row_bytes;
    char *piece = og__alloc(v->budget, bytes, part, err);
    int rc;
    begin(v, file);
    OG_TRY(piece ? 0 : -ENOMEM);
    for (int64_t first = 0, n; first < g->rows.shape[0]; first += n) {
        n = OG_MIN(g->rows.shape[0] - first, rows);
        OG_TRY(og__npy_read(&g->rows, first, n, piece, err));
        for (int64_t i = 0; i < n; i++) {
            const char *wrong =
                og__entries_wrong(piece + (size_t)i * row_bytes, g->dim, g->stored, &g->sparse);
            if (wrong)
                tell(v, mend_numbers, "row %lld: %s", (long long)(first + i), wrong);
        }
    }
out:
    end(v);
    og__release(v->budget, piece, bytes, part);
    return rc;
}

/* With the rounding of a division by the scale. */
static bool beyond(float scale, double x)
{
    return fabs(x) > (double)scale * OG__SCALED_MOST * (1 + 1e-6);
}

enum numbers { FEATURES, LABELS, WEIGHTS };

/* Features in bf16 are stored as uint16, in e4m3 as uint8; weights must not be negative. */
static int verify_numbers(struct verifier *v, const char *file, const struct og_npy *a,
                          enum numbers what, struct og_err *err)
{
    if (!og__npy_there(a))
        return 0;
    int64_t rows = piece_rows(a);
    size_t bytes = (size_t)(rows * a->shape[1]) * og__npy_size(a->type);
    char *piece = bytes > PIECE_BYTES ? og__alloc(v->budget, bytes, part, err) : (char *)v->piece;
    int rc;
    begin(v, file);
    OG_TRY(piece ? 0 : -ENOMEM);
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, rows);
        OG_TRY(og__npy_read(a, first, n, piece, err));
        for (size_t i = 0; i < (size_t)(n * a->shape[1]); i++) {
            const long long row = first + (int64_t)i / a->shape[1];
            if (what == LABELS
                    ? !is_value(a, piece, i)
                    : !is_finite(what == FEATURES ? v->of_type : OG_F32, a->type, piece, i))
                tell(v, mend_numbers, "row %lld, column %lld: NaN or infinite", row,
                     (long long)((int64_t)i % a->shape[1]));
            else if (what == LABELS && v->ds->shares && !is_share(a, piece, i))
                tell(v, mend_shares, "row %lld, column %lld: %g is no share", row,
                     (long long)((int64_t)i % a->shape[1]), og__number_at(a->type, piece, i));
            else if (what == FEATURES && v->scale &&
                     beyond(v->scale[(int64_t)i % a->shape[1]], og__number_at(a->type, piece, i)))
                tell(v, mend_scales, "row %lld, column %lld: %g is beyond the column's scale", row,
                     (long long)((int64_t)i % a->shape[1]), og__number_at(a->type, piece, i));
            else if (what == WEIGHTS && og__number_at(a->type, piece, i) < 0)
                tell(v, mend_weights, "row %lld: %g, a weight below 0", row,
                     og__number_at(a->type, piece, i));
        }
        struct og_progress p = {.size = sizeof(p),
                                .stage = "verify",
                                .done = (uint64_t)(first + n),
                                .total = (uint64_t)a->shape[0]};
        if (v->observer && v->observer->progress)
            v->observer->progress(v->observer->arg, &p);
    }
out:
    end(v);
    if (piece != (char *)v->piece)
        og__release(v->budget, piece, bytes, part);
    return rc;
}

static void look_at_label(struct verifier *v, long long row, long long x)
{
    if (x < -1 || x >= v->ds->n_classes)
        tell(v, mend_labels, "row %lld: class %lld of %d", row, x, v->ds->n_classes);
}

static int verify_labels(struct verifier *v, struct og_err *err)
{
    const struct og_npy *a = &v->ds->labels;
    return og__float_labels(v->ds) ? verify_numbers(v, "labels.npy", a, LABELS, err)
                                   : verify_integers(v, "labels.npy", a, look_at_label, err);
}

/* ---- splits ---- */

static bool is_node(struct verifier *v, long long row, long long x)
{
    const bool is = x >= 0 && x < v->ds->n_nodes;
    if (!is)
        tell(v, mend_split, "row %lld: node %lld of %lld", row, x, (long long)v->ds->n_nodes);
    return is;
}

static void look_at_node(struct verifier *v, long long row, long long node)
{
    if (!is_node(v, row, node))
        return;
    if (v->split_of[node] >> v->split & 1)
        tell(v, mend_split, "row %lld: node %lld is listed twice", row, node);
    else if (v->split_of[node])
        tell(v, mend_split, "row %lld: node %lld is in another split too", row, node);
    v->split_of[node] |= (unsigned char)(1 << v->split);
}

static void look_at_end(struct verifier *v, long long place, long long node)
{
    (void)is_node(v, place / 2, node);
}

static void look_at_negative(struct verifier *v, long long place, long long node)
{
    (void)is_node(v, place / v->width, node);
}

/* ---- checksums ---- */

static int verify_checksum(struct verifier *v, const char *file, const char *expected,
                           struct og_err *err)
{
    uint64_t hash = 0;
    char *path = file[0] == '/' ? strdup(file) : og__path_join(v->ds->path, file);
    int rc =
        path ? og__file_checksum(path, &hash, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", file);
    free(path);
    if (rc < 0)
        return rc;
    const struct og_hex found = og__hex(hash);
    begin(v, file);
    if (strcmp(found.digits, expected) != 0)
        tell(v, mend_checksum, "checksum %s, meta.json says %s", found.digits, expected);
    return 0;
}

/* Names come from a file: none of them leads out of the folder. */
static int check_reference(struct verifier *v, const char *file)
{
    begin(v, "meta.json");
    tell(v, mend_checksum, "checksums: %.60s is not in the folder", file);
    return 0;
}

/* Parts are on other disks: any path is valid. */
static int verify_parts(struct verifier *v, uint32_t group, struct og_err *err)
{
    const struct og_array_name name = og__group_array(v->ds, group);
    const json_t *features = json_object_get(json_object_get(v->ds->meta, "files"), name.text);
    size_t p;
    json_t *one;
    json_array_foreach(json_object_get(features, "parts"), p, one)
    {
        const char *path = json_string_value(json_object_get(one, "path"));
        const char *said = json_string_value(json_object_get(one, "checksum"));
        if (path && said)
            OG_DO(verify_checksum(v, path, said, err));
    }
    return 0;
}

static int verify_checksums(struct verifier *v, struct og_err *err)
{
    json_t *value;
    const char *file;
    json_object_foreach(json_object_get(v->ds->meta, "checksums"), file, value)
    {
        if (json_is_string(value))
            OG_DO(strchr(file, '/') ? check_reference(v, file)
                                    : verify_checksum(v, file, json_string_value(value), err));
    }
    for (uint32_t k = 0; k < v->ds->n_groups; k++)
        OG_DO(verify_parts(v, k, err));
    return 0;
}

/* ---- all of it ---- */

static const char *file_of(struct verifier *v, struct og_array_name array)
{
    snprintf(v->name, sizeof(v->name), "%s.npy", array.text);
    return v->name;
}

/* Several edges may have one number, such as an edge and its reverse. */
static void look_at_number(struct verifier *v, long long row, long long x)
{
    if (x < 0)
        tell(v, "import the dataset again", "row %lld: %lld is the number of no edge", row, x);
}

/* Any time is fine; the file is read for its checksum. */
static void look_at_time(struct verifier *v, long long row, long long x)
{
    (void)v;
    (void)row;
    (void)x;
}

/* Lists that meta.json says to be by time. `node`: times of sources; NULL: edges have their own. */
static int verify_order(struct verifier *v, const struct og_relation *r, const int64_t *node,
                        struct og_err *err)
{
    enum { EDGES = PIECE_BYTES / 16, LISTS = 4096 };
    int64_t end[LISTS]; /* of lists */
    int64_t *ids = v->piece, *times = v->piece + EDGES;
    int64_t id = 0, time = 0, list = -1;
    int64_t next = 0; /* edge, with which the next list begins */
    for (int64_t first = 0, n; first < r->n_edges; first += n) {
        n = OG_MIN(r->n_edges - first, (int64_t)EDGES);
        OG_DO(og__npy_read_int64(&r->indices, first, n, ids, err));
        OG_DO(node ? 0 : og__npy_read_int64(&r->edge_times, first, n, times, err));
        for (int64_t i = 0; i < n; i++) {
            const int64_t t = node ? node[ids[i]] : times[i];
            const bool begins = first + i >= next;
            while (first + i >= next && ++list < r->n_nodes) {
                if (list % LISTS == 0)
                    OG_DO(og__npy_read_int64(&r->indptr, list + 1,
                                             OG_MIN(r->n_nodes - list, (int64_t)LISTS), end, err));
                next = end[list % LISTS];
            }
            if (!begins && (t < time || (t == time && ids[i] < id)))
                tell(v, "import it again with --by-time",
                     "entry %lld: the list of node %lld is not sorted by time",
                     (long long)(first + i), (long long)list);
            id = ids[i];
            time = t;
        }
    }
    return 0;
}

static int verify_by_time(struct verifier *v, const struct og_relation *r, const char *file,
                          struct og_err *err)
{
    const struct og_group *g = &v->ds->group[r->source];
    const bool of_nodes = v->by_time == OG_TIMES_NODE;
    const size_t bytes = of_nodes ? (size_t)g->n_nodes * sizeof(int64_t) : 0;
    const struct og_npy *from = of_nodes ? &v->ds->node_times : &r->edge_times;
    int64_t *node = NULL;
    int rc = 0;
    begin(v, file);
    if (from->fd < 0) /* as of edges that --edge-split leaves */
        return 0;
    if (of_nodes) {
        node = og__alloc(v->budget, bytes, part, err);
        OG_TRY(node ? og__npy_read(from, g->first, g->n_nodes, node, err) : -ENOMEM);
    }
    OG_TRY(verify_order(v, r, node, err));
    end(v);
out:
    og__release(v->budget, node, bytes, part);
    return rc;
}

static int verify_relation(struct verifier *v, uint32_t r, struct og_err *err)
{
    const struct og_relation *of = &v->ds->relation[r];
    v->of = of;
    v->before = 0;
    v->by_time = og__sorted_by(v->ds, r);
    OG_DO(verify_integers(v, file_of(v, og__relation_array(v->ds, r, OG__INDPTR)), &of->indptr,
                          look_at_offset, err));
    if (v->wrong == 0) /* lists that go astray say nothing about what is in them */
        OG_DO(verify_indices(v, of, file_of(v, og__relation_array(v->ds, r, OG__INDICES)), err));
    if (v->wrong == 0 && v->by_time)
        OG_DO(verify_by_time(v, of, file_of(v, og__relation_array(v->ds, r, OG__INDICES)), err));
    OG_DO(verify_numbers(v, file_of(v, og__relation_array(v->ds, r, OG__WEIGHTS)), &of->weights,
                         WEIGHTS, err));
    OG_DO(verify_integers(v, file_of(v, og__relation_array(v->ds, r, OG__EDGE_IDS)), &of->edge_ids,
                          look_at_number, err));
    OG_DO(verify_integers(v, file_of(v, og__relation_array(v->ds, r, OG__EDGE_TIMES)),
                          &of->edge_times, look_at_time, err));
    v->of_type = of->edges.stored;
    return verify_numbers(v, file_of(v, og__relation_array(v->ds, r, OG__EDGE_FEATURES)),
                          &of->edges.rows, FEATURES, err);
}

static void look_at_edge_label(struct verifier *v, long long row, long long x)
{
    if (x < -1)
        tell(v, mend_labels, "row %lld: class %lld", row, x);
}

static int verify_edge_labels(struct verifier *v, enum og__split s, struct og_err *err)
{
    const struct og_npy *a = &v->ds->listed[OG__EDGE_LIST_LABELS][s];
    char name[32];
    snprintf(name, sizeof(name), "%s.npy", og__listed_name(OG__EDGE_LIST_LABELS, s));
    return og__npy_is_integer(a->type) ? verify_integers(v, name, a, look_at_edge_label, err)
                                       : verify_numbers(v, name, a, LABELS, err);
}

static int verify_times(struct verifier *v, const char *array, const struct og_npy *a,
                        struct og_err *err)
{
    struct og_array_name name;
    snprintf(name.text, sizeof(name.text), "%s", array);
    return verify_integers(v, file_of(v, name), a, look_at_time, err);
}

static int verify_listed_times(struct verifier *v, enum og__listed what, enum og__split s,
                               struct og_err *err)
{
    return verify_times(v, og__listed_name(what, s), &v->ds->listed[what][s], err);
}

static int verify_edge_rows(struct verifier *v, enum og__split s, struct og_err *err)
{
    char name[32];
    snprintf(name, sizeof(name), "%s.npy", og__listed_name(OG__EDGE_LIST_ROWS, s));
    v->of_type = OG_F32;
    return verify_numbers(v, name, &v->ds->listed[OG__EDGE_LIST_ROWS][s], FEATURES, err);
}

/* Labels and lists, by ids of all nodes. */
static int verify_nodes(struct verifier *v, struct og_err *err)
{
    static const char *const splits[] = {"train.npy", "valid.npy", "test.npy"};
    OG_DO(verify_labels(v, err));
    for (v->split = 0; v->split < OG__SPLITS; v->split++)
        OG_DO(verify_integers(v, splits[v->split], &v->ds->split[v->split], look_at_node, err));
    OG_DO(verify_times(v, "node_times", &v->ds->node_times, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++) {
        OG_DO(verify_listed_times(v, OG__NODE_LIST_TIMES, s, err));
        OG_DO(verify_listed_times(v, OG__EDGE_LIST_TIMES, s, err));
    }
    for (int i = 0; i < OG__SPLITS; i++) {
        const struct og_npy ends = og__npy_flat(&v->ds->edges[i]);
        OG_DO(verify_integers(v, og__edge_files[i], &ends, look_at_end, err));
    }
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_DO(verify_edge_labels(v, s, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_DO(verify_edge_rows(v, s, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++) {
        const struct og_npy flat = og__npy_flat(&v->ds->negatives[s]);
        char name[32];
        v->width = v->ds->negatives[s].shape[1];
        snprintf(name, sizeof(name), "%s.npy", og__negatives_name(s, v->ds->negatives_each[s]));
        OG_DO(verify_integers(v, name, &flat, look_at_negative, err));
    }
    return 0;
}

/* Within a type each id of the source comes after that of the node before. */
static void look_at_id(struct verifier *v, long long row, long long id)
{
    static const char one_each[] = "the nodes' ids in the source, ascending: import it again";
    const uint32_t group = og__group_of(v->ds, (uint32_t)row);
    if (row > v->ds->group[group].first && id <= v->before)
        tell(v, one_each, "row %lld: %lld after %lld", row, id, v->before);
    v->before = id;
}

/* In a homogeneous graph users may have any ids. */
static int verify_node_ids(struct verifier *v, struct og_err *err)
{
    if (!og__form_of(v->ds)->lists_relations)
        return 0;
    return verify_integers(v, "node_ids.npy", &v->ds->node_ids, look_at_id, err);
}

/* Checks that each edge of a list has a relation that fits its ends. */
static int verify_edge_relations(struct verifier *v, enum og__split split, struct og_err *err)
{
    static const char hint[] = "whole numbers of relations between the types of the ends";
    const struct og_npy *a = &v->ds->edge_relations[split];
    const struct og_npy flat = og__npy_flat(&v->ds->edges[split]);
    const int64_t most = (int64_t)PIECE_BYTES / 8 / 3;
    int64_t *ends = v->piece + most;
    if (a->fd < 0)
        return 0;
    begin(v, og__edge_relation_files[split]);
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, most);
        int rc = og__npy_read_int64(a, first, n, v->piece, err);
        if (rc == 0)
            rc = og__npy_read_int64(&flat, 2 * first, 2 * n, ends, err);
        if (rc < 0)
            return rc;
        for (int64_t i = 0; i < n; i++)
            if (!og__typed_edge_fits(v->ds, ends[2 * i], v->piece[i], ends[2 * i + 1]))
                tell(v, hint, "row %lld: %lld is no relation between nodes %lld and %lld",
                     (long long)(first + i), (long long)v->piece[i], (long long)ends[2 * i],
                     (long long)ends[2 * i + 1]);
    }
    end(v);
    return 0;
}

static int verify_names(struct verifier *v, uint32_t group, struct og_err *err)
{
    struct og_node_names *names = NULL;
    int rc = og__node_names_open(&names, v->ds, group, err);
    if (rc < 0 || !names)
        return rc;
    const int64_t wrong = og__node_names_wrong(names);
    og__node_names_close(names);
    snprintf(v->name, sizeof(v->name), "%s", og__node_names_prefix(v->ds, group).text);
    begin(v, v->name);
    if (wrong >= 0)
        tell(v, "names are in the order of their bytes, each once: import the graph again",
             "row %lld comes before the row before it, or equals it", (long long)wrong);
    return 0;
}

static int verify_all(struct verifier *v, struct og_err *err)
{
    const struct og_graph *g = v->ds;
    OG_DO(verify_checksums(v, err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        OG_DO(verify_relation(v, r, err));
    for (uint32_t k = 0; k < g->n_groups; k++) {
        v->of_type = g->group[k].stored;
        v->scale = v->of_type == OG_F32 ? g->group[k].scale : NULL;
        const char *file = file_of(v, og__group_array(g, k));
        OG_DO(og__row_form(&g->group[k])
                  ? verify_sparse(v, file, &g->group[k], err)
                  : verify_numbers(v, file, &g->group[k].rows, FEATURES, err));
    }
    v->scale = NULL;
    OG_DO(verify_nodes(v, err));
    for (int s = 0; s < OG__SPLITS; s++)
        OG_DO(verify_edge_relations(v, (enum og__split)s, err));
    OG_DO(verify_node_ids(v, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        OG_DO(verify_names(v, k, err));
    return 0;
}

/* Room for what is looked at, then all of it. */
static int with_memory(struct verifier *v, struct og_err *err)
{
    const size_t n_nodes = (size_t)v->ds->n_nodes;
    int rc;
    v->budget = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}));
    if (!v->budget)
        return og__fail_errno(err, -ENOMEM, NULL, "verify");
    v->piece = og__alloc(v->budget, PIECE_BYTES, part, err);
    v->split_of = og__alloc(v->budget, n_nodes, part, err);
    rc = v->piece && v->split_of ? verify_all(v, err) : -ENOMEM;
    og__release(v->budget, v->piece, PIECE_BYTES, part);
    og__release(v->budget, v->split_of, n_nodes, part);
    og__budget_free(v->budget);
    return rc;
}

int og_verify(const char *dataset, void (*finding)(void *arg, const char *text, const char *hint),
              void *arg, const struct og_observer *observer, struct og_err *err)
{
    struct verifier v = {.finding = finding, .arg = arg, .observer = observer};
    struct og_err why = {0};
    int rc = OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    rc = og__graph_open_share(dataset, &v.ds, &why);
    if (rc == -EINVAL) { /* it is there, but no dataset can be made of it: that is a finding */
        finding(arg, why.message, why.hint);
        return 1;
    }
    if (rc < 0)
        return og__fail(err, rc, why.hint, "%s", why.message);
    rc = with_memory(&v, err);
    og__graph_close(v.ds);
    return rc < 0 ? rc : v.n_findings;
}
