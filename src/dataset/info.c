/* og_info: what a dataset is, and what of it fits in which memory. */
#include "dataset/identity.h"
#include "dataset/stream.h"

#include <stdlib.h>

enum {
    EXACT = 1 << 16, /* degrees below are counted one by one, above by powers of two */
    COARSE = 64,
    PIECE = 64 * 1024,
};

struct degrees {
    uint64_t exact[EXACT], coarse[COARSE];
    uint64_t nodes;
    int64_t least, most;
};

static void count_degree(struct degrees *d, int64_t degree)
{
    d->least = d->nodes ? OG_MIN(d->least, degree) : degree;
    d->most = OG_MAX(d->most, degree);
    d->nodes++;
    if (degree < EXACT)
        d->exact[degree]++;
    else
        d->coarse[63 - __builtin_clzll((uint64_t)degree)]++;
}

static int read_degrees(const struct og_dataset *ds, struct degrees *d, struct og_err *err)
{
    int64_t ptr[1024];
    struct og_indptr_check check = {.ds = ds};
    int rc;
    for (int64_t first = 0, n; first <= ds->n_nodes; first += n) {
        n = OG_MIN(ds->n_nodes + 1 - first, (int64_t)OG_COUNT(ptr));
        int64_t before = check.last;
        OG_TRY(og__npy_read_int64(&ds->indptr, first, n, ptr, err));
        OG_TRY(og__check_indptr(&check, ptr, first, (size_t)n, err));
        for (int64_t i = first == 0; i < n; i++)
            count_degree(d, ptr[i] - (i > 0 ? ptr[i - 1] : before));
    }
    OG_TRY(og__check_indptr_end(&check, err));
out:
    return rc;
}

/* The degree that a share of the nodes does not exceed; above 2^16 the power of two below it. */
static int64_t quantile(const struct degrees *d, double share)
{
    uint64_t rank = (uint64_t)(share * (double)(d->nodes - 1));
    uint64_t seen = 0;
    for (int64_t degree = 0; degree < EXACT; degree++)
        if ((seen += d->exact[degree]) > rank)
            return degree;
    for (int bit = 0; bit < COARSE; bit++)
        if ((seen += d->coarse[bit]) > rank)
            return (int64_t)1 << bit;
    return d->most;
}

static json_t *degrees_json(const struct og_dataset *ds, const struct degrees *d)
{
    double nodes = (double)ds->n_nodes;
    return json_pack("{s:I s:f s:I s:I s:I s:I s:f}", "min", (json_int_t)d->least, "mean",
                     (double)ds->n_edges / nodes, "median", (json_int_t)quantile(d, 0.5), "p90",
                     (json_int_t)quantile(d, 0.9), "p99", (json_int_t)quantile(d, 0.99), "max",
                     (json_int_t)d->most, "share_of_zero", (double)d->exact[0] / nodes);
}

/* For each memory size: does the topology fit, and what share of the feature rows beside it? */
static json_t *fits_json(const struct og_dataset *ds)
{
    static const int sizes[] = {1, 4, 16, 64, 256};
    double features = (double)ds->n_nodes * (double)og__file_row_bytes(ds);
    json_t *list = json_array();
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        double left = sizes[i] * (double)OG_GIB - (double)og__topology_bytes(ds);
        double share = left > 0 ? OG_MIN(left / features, 1.0) : 0;
        char text[16];
        snprintf(text, sizeof(text), "%dG", sizes[i]);
        list = og__json_append(list, json_pack("{s:s s:b s:f}", "memory", text, "topology_fits",
                                               left >= 0, "feature_share", share));
    }
    return list;
}

/* The one of its numbers that every copy has. */
static json_t *checksum_json(const struct og_dataset *ds)
{
    json_t *id = og__identity_with(json_object(), &ds->identity);
    json_t *checksum = json_incref(json_object_get(id, "dataset_checksum"));
    json_decref(id);
    return checksum;
}

/* Where features lie that are on several disks. */
static json_t *parts_json(const struct og_npy *features)
{
    const struct og_npy_parts *parts = features->parts;
    json_t *list = json_array();
    for (uint32_t p = 0; p < parts->stripes.parts; p++) {
        const struct og_npy *a = &parts->part[p];
        json_t *part = og__json_with(json_object(), "path", og__json_text(a->path));
        part = og__json_with(part, "bytes", json_integer((json_int_t)a->bytes));
        list = og__json_append(list, part);
    }
    return list;
}

static json_t *info_json(const struct og_dataset *ds, const struct degrees *d)
{
    const struct og_npy *w = &ds->weights;
    json_t *root = json_pack(
        "{s:s s:s s:I s:I s:i s:s s:i s:b s:b s:{s:I s:I s:I s:I s:I s:I} s:{s:I s:I s:I s:I} s:o "
        "s:o}",
        "name", ds->name, "path", ds->path, "num_nodes", (json_int_t)ds->n_nodes, "num_edges",
        (json_int_t)ds->n_edges, "feature_dim", ds->dim, "feature_dtype", og__dtype_name(ds->dtype),
        "num_classes", ds->n_classes, "multi_label", ds->multi_label, "regression", ds->regression,
        "splits", "train", (json_int_t)ds->split[OG__TRAIN].shape[0], "valid",
        (json_int_t)ds->split[OG__VALID].shape[0], "test", (json_int_t)ds->split[OG__TEST].shape[0],
        "train_edges", (json_int_t)ds->edges[OG__TRAIN].shape[0], "valid_edges",
        (json_int_t)ds->edges[OG__VALID].shape[0], "test_edges",
        (json_int_t)ds->edges[OG__TEST].shape[0], "bytes", "topology",
        (json_int_t)og__topology_bytes(ds), "features",
        (json_int_t)ds->n_nodes * (json_int_t)og__file_row_bytes(ds), "labels",
        (json_int_t)ds->labels.bytes, "weights", (json_int_t)(w->fd >= 0 ? w->bytes : 0),
        "in_degree", degrees_json(ds, d), "fits", fits_json(ds));
    if (ds->features.parts)
        root = og__json_with(root, "feature_parts", parts_json(&ds->features));
    return og__json_with(root, "dataset_checksum", checksum_json(ds));
}

int og_info(const char *dataset, char **out, struct og_err *err)
{
    struct og_dataset *ds;
    char *text = NULL;
    if (out)
        *out = NULL;
    int rc = og__dataset_open(dataset, &ds, err);
    if (rc < 0)
        return rc;
    json_t *root = NULL;
    struct degrees *d = calloc(1, sizeof(*d));
    OG_TRY(d ? read_degrees(ds, d, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", dataset));
    root = info_json(ds, d);
    text = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    OG_TRY(text ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", dataset));
    if (out) {
        *out = text;
        text = NULL;
    }
out:
    free(text);
    json_decref(root);
    free(d);
    og__dataset_close(ds);
    return rc;
}
