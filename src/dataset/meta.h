/* meta.json, read and written.
 *
 *   {"format": 1, "name": ..., "num_nodes": N, "num_edges": E,
 *    "feature_dim": F, "feature_dtype": "f32", "num_classes": C, "multi_label": false,
 *    "task": "node classification", "symmetric": false,
 *    "checksums": {"indptr.npy": "16 hex digits: XXH3-64 of the file", ...},
 *    "files": {"features": {"path": "/big/paper.npy"},              any .npy, or in parts:
 *              "features": {"unit": 2048, "parts": [{"path": "/disk1/p.npy", "checksum": ...,
 *                                                    "contents": ...}, ...]},
 *              "features": {"path": "features.npy", "workers": 4, "worker": 0,   rows of own nodes
 *                           "contents": ...},                                or headerless:
 *              "labels":   {"path": "labels.bin", "dtype": "int64", "shape": [N], "offset": 0}},
 *    "provenance": {...}}
 *
 * Only "format" and "num_classes" must be there: counts are taken from the arrays, and what is
 * said must agree with them. Arrays not named in "files" are NAME.npy in the dataset's folder.
 *
 * Format 2 has types of nodes and relations (dataset/typed_meta.h). */
#ifndef OG_DATASET_META_H
#define OG_DATASET_META_H

#include "base/json.h"
#include "dataset/dataset.h"

/* Where an array lies when not in NAME.npy. */
struct og_meta_file {
    const char *path; /* NULL = not declared; relative to the dataset; lives as long as the meta */
    struct og_stripes stripes; /* parts > 0: it has parts, og__meta_part tells which, and no path */
    const json_t *parts;       /* [stripes.parts] */
    int64_t whole;             /* bytes of the one file that these were, its header included; -1 */
    uint32_t workers,
        worker;        /* of features: rows of the nodes that this one of them owns; else 0 */
    uint64_t contents; /* and of those of all nodes, as of an array */
    bool raw;          /* headerless: the rest is filled */
    enum og__npy_type type;
    int ndim;
    int64_t shape[2], offset;
};

struct og_meta {
    json_t *root;                             /* owns every string below */
    const char *name;                         /* NULL = not said */
    const char *task;                         /* NULL = not said */
    int64_t n_nodes, n_edges, dim, n_classes; /* -1 = not said */
    int dtype;                                /* enum og_dtype, or -1 */
    int multi_label;                          /* -1 = not said */
    bool symmetric;                           /* false = not said */
    struct og_meta_file file[OG__ARRAYS];
};

enum { OG__META_MAX = 1024 * 1024, OG__FORMAT_PLAIN = 1, OG__FORMAT_TYPED = 2 };

/* -EINVAL with the key that is wrong, or for another format. Release after success only. */
OG_MUST_CHECK int og__meta_parse(struct og_meta *m, int format, const char *text, size_t len,
                                 const char *name, struct og_err *err);
void og__meta_release(struct og_meta *m);

/* What "files" says of an array called `key`; of a typed dataset, say "features_2". */
OG_MUST_CHECK int og__meta_find_file(const struct og_meta *m, const char *key,
                                     struct og_meta_file *f, const char *name, struct og_err *err);

/* One file of those that hold an array in parts. */
struct og_meta_part {
    const char *path;
    const char *checksum; /* XXH3-64 of the file, 16 hexadecimal digits; NULL = not said */
    uint64_t contents;    /* as of an array (dataset/identity.h); 0 = not said */
};
struct og_meta_part og__meta_part(const struct og_meta_file *f, uint32_t part);

/* Write `root` as `folder`/meta.json; takes over the reference, also on failure. root may be NULL
 * (out of memory while it was built). */
OG_MUST_CHECK int og__meta_write(const char *folder, json_t *root, struct og_err *err);

/* object[file] = "16 hex digits". */
OG_MUST_CHECK int og__meta_set_checksum(json_t *object, const char *file, uint64_t checksum,
                                        struct og_err *err);

#endif
