#include "dataset/edge_labels.h"

#include "dataset/convert.h"

#include <string.h>

enum { PIECE = 2048, MOST_CLASSES = INT32_MAX / 8 };

int64_t og__edge_rows_dim(const struct og_graph *g)
{
    for (int s = 0; s < OG__SPLITS; s++)
        if (g->listed[OG__EDGE_LIST_ROWS][s].fd >= 0)
            return g->listed[OG__EDGE_LIST_ROWS][s].shape[1];
    return 0;
}

/* ---- what they are ---- */

static int refuse_class(const struct og_npy *a, int64_t row, int64_t class, struct og_err *err)
{
    return og__fail(err, -EINVAL, "classes count from 0; -1 is a label that is not known",
                    "%s: row %lld: class %lld", a->path, (long long)row, (long long)class);
}

static int largest_class(const struct og_npy *a, int64_t *most, struct og_err *err)
{
    int64_t class[PIECE];
    for (int64_t first = 0, n; first < a->shape[0]; first += n) {
        n = OG_MIN(a->shape[0] - first, (int64_t)PIECE);
        OG_DO(og__npy_read_int64(a, first, n, class, err));
        for (int64_t i = 0; i < n; i++) {
            if (class[i] < -1 || class[i] > MOST_CLASSES)
                OG_DO(refuse_class(a, first + i, class[i], err));
            *most = OG_MAX(*most, class[i]);
        }
    }
    return 0;
}

static int refuse_none(const struct og_graph *g, struct og_err *err)
{
    return og__fail(err, -EINVAL,
                    "import the graph with train_edges.npy and train_edge_labels.npy, a row per "
                    "edge",
                    "--task edge: %s has no labels of edges", g->path);
}

int og__graph_adopt_edge_labels(struct og_graph *g, bool values, struct og_err *err)
{
    const struct og_npy *train = &g->listed[OG__EDGE_LIST_LABELS][OG__TRAIN];
    int64_t most = 0;
    if (train->fd < 0)
        return refuse_none(g, err);
    const bool floats = !og__npy_is_integer(train->type);
    if (values && !floats)
        return og__fail(err, -EINVAL, "use --task edge, or store the values as float32",
                        "--task edge_regression: %s has classes", train->path);
    for (int s = 0; s < OG__SPLITS; s++) {
        const struct og_npy *a = &g->listed[OG__EDGE_LIST_LABELS][s];
        if (a->fd < 0)
            continue;
        if (og__npy_is_integer(a->type) == floats || a->shape[1] != train->shape[1])
            return og__fail(err, -EINVAL, "store the labels of all splits alike",
                            "%s: other labels than those of %s", a->path, train->path);
        if (!floats)
            OG_DO(largest_class(a, &most, err));
    }
    g->n_classes = floats ? (int)train->shape[1] : (int)most + 1;
    g->regression = floats && (values || train->shape[1] == 1);
    g->multi_label = floats && !g->regression;
    g->shares = false;
    return 0;
}

/* ---- reading them ---- */

/* An array with a row per edge of a list. */
struct rows_of_list {
    const struct og_graph *g;
    const struct og_npy *array, *relations;
    bool classes, labels; /* labels: several, in the order of the model's */
    size_t width;         /* of a row in memory */
    const char *part;
};

/* Reads rows [first, first + n) as they are stored in memory. */
static int read_rows(const struct rows_of_list *of, int64_t first, int64_t n, void *out,
                     struct og_err *err)
{
    const char *path = of->array->path;
    int64_t class[PIECE];
    float *row = out;
    if (!of->classes) {
        OG_DO(og__npy_read(of->array, first, n, out, err));
        for (int64_t i = 0; of->labels && i < n; i++, row += of->g->n_classes)
            OG_DO(og__graph_label_row(of->g, path, first + i, row, row, err));
        return 0;
    }
    OG_DO(og__npy_read_int64(of->array, first, n, class, err));
    for (int64_t i = 0; i < n; i++)
        OG_DO(og__graph_class(of->g, path, first + i, class[i], (int32_t *)out + i, err));
    return 0;
}

/* Moves rows of other relations out; returns how many stay. */
static int64_t keep_requested(const bool *requested, const int64_t *relation, int64_t n,
                              size_t width, char *rows)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (requested[relation[i]])
            memmove(rows + (size_t)kept++ * width, rows + (size_t)i * width, width);
    return kept;
}

static int load_rows(const struct rows_of_list *of, const bool *requested, int64_t n,
                     struct og_budget *b, void **loaded, struct og_err *err)
{
    const size_t width = of->width, all = (size_t)n * width;
    const char *part = of->part;
    int64_t relation[PIECE], piece;
    char *rows = NULL, *out = NULL;
    size_t used = 0;
    int rc = 0;
    *loaded = NULL;
    if (of->array->fd < 0 || n == 0)
        return 0;
    rows = og__alloc(b, PIECE * width, part, err);
    out = og__alloc(b, all, part, err);
    OG_TRY(rows && out ? 0 : -ENOMEM);
    for (int64_t first = 0; first < of->array->shape[0]; first += piece) {
        piece = OG_MIN(of->array->shape[0] - first, (int64_t)PIECE);
        int64_t kept = piece;
        OG_TRY(read_rows(of, first, piece, rows, err));
        if (requested) {
            OG_TRY(og__npy_read_int64(of->relations, first, piece, relation, err));
            kept = keep_requested(requested, relation, piece, width, rows);
        }
        memcpy(out + used, rows, (size_t)kept * width);
        used += (size_t)kept * width;
    }
    *loaded = out;
out:
    og__release(b, rows, PIECE * width, part);
    if (rc < 0)
        og__release(b, out, all, part);
    return rc;
}

int og__graph_edge_labels(const struct og_graph *g, enum og__split split, const bool *requested,
                          int64_t n, struct og_budget *b, void **labels, struct og_err *err)
{
    const struct rows_of_list of = {.g = g,
                                    .array = &g->listed[OG__EDGE_LIST_LABELS][split],
                                    .relations = &g->edge_relations[split],
                                    .classes = !og__float_labels(g),
                                    .labels = g->multi_label,
                                    .width = og__labels_bytes(g, 1),
                                    .part = "labels"};
    return load_rows(&of, requested, n, b, labels, err);
}

int og__graph_edge_rows(const struct og_graph *g, enum og__split split, const bool *requested,
                        int64_t n, struct og_budget *b, float **rows, struct og_err *err)
{
    const struct rows_of_list of = {.array = &g->listed[OG__EDGE_LIST_ROWS][split],
                                    .relations = &g->edge_relations[split],
                                    .width = (size_t)og__edge_rows_dim(g) * sizeof(float),
                                    .part = "labels"};
    void *loaded;
    const int rc = load_rows(&of, requested, n, b, &loaded, err);
    *rows = loaded;
    return rc;
}

int og__graph_edge_times(const struct og_graph *g, enum og__split split, const bool *requested,
                         int64_t n, struct og_budget *b, int64_t **times, struct og_err *err)
{
    const struct rows_of_list of = {.array = &g->listed[OG__EDGE_LIST_TIMES][split],
                                    .relations = &g->edge_relations[split],
                                    .width = sizeof(int64_t),
                                    .part = "seeds"};
    void *loaded;
    const int rc = load_rows(&of, requested, n, b, &loaded, err);
    *times = loaded;
    return rc;
}
