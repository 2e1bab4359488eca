/* The dataset: a folder of plain .npy files any NumPy user can open (docs/formats.md).
 *
 *   meta.json      counts, dtypes, dims, classes, checksums
 *   indptr.npy     int64 [N+1]        CSC: in-neighbours of v are indices[indptr[v]:indptr[v+1]]
 *   indices.npy    int32|int64 [E]    sorted within each list
 *   weights.npy    float32 [E]        optional
 *   features.npy   f32|f16|u8 [N,F]   bf16 as uint16, named in meta.json
 *   labels.npy     int64 [N], -1 = none | float32 [N,C], multi-label or, where meta.json's task is
 *                  node regression, values; NaN = none
 *   train.npy valid.npy test.npy      int64 node ids
 *   train_edges.npy ...               int32|int64 [n,2] src, dst: optional, of link prediction
 *
 * Opening reads headers, checks sizes, and looks at a few hundred pages of each array to know the
 * dataset again (dataset/identity.h); it never reads all of an array that is larger than that. Read
 * only, so any number of threads may share an open dataset. */
#ifndef OG_DATASET_H
#define OG_DATASET_H

#include <outgrow/outgrow.h>

#include "base/base.h"
#include "base/common.h"
#include "base/memory.h"
#include "dataset/offsets.h"
#include "io/stripes.h"

/* ---- one array on disk ---- */

enum og__npy_type {
    OG__NPY_F16,
    OG__NPY_F32,
    OG__NPY_F64,
    OG__NPY_I8,
    OG__NPY_I16,
    OG__NPY_I32,
    OG__NPY_I64,
    OG__NPY_U8,
    OG__NPY_U16,
    OG__NPY_U32,
    OG__NPY_U64,
    OG__NPY_BOOL,
};
size_t og__npy_size(enum og__npy_type type);      /* bytes an element */
const char *og__npy_name(enum og__npy_type type); /* "float32" */
int og__npy_find_type(const char *name);          /* enum og__npy_type, or -1 */
bool og__npy_is_integer(enum og__npy_type type);  /* bool is not */

/* An open .npy file, or a raw one declared in meta.json. Little endian, C order. */
struct og_npy {
    int fd; /* -1 = absent */
    char *path;
    enum og__npy_type type;
    int ndim;
    int64_t shape[2];           /* shape[1] = 1 when ndim is 1 */
    int64_t offset;             /* byte of the first element */
    int64_t bytes;              /* of the elements; the file is at least offset + bytes long */
    struct og_npy_parts *parts; /* NULL, or the files that hold it in place of this one */
};

/* Rows of an array in several files (io/stripes.h), whose first rows begin at the same byte. The
 * array itself then has no descriptor; its path, for messages, is that of the first part. */
struct og_npy_parts {
    struct og_stripes stripes;
    struct og_npy part[]; // [stripes.parts]
};

static inline bool og__npy_there(const struct og_npy *a)
{
    return a->fd >= 0 || a->parts;
}

/* Elements' bytes [at, at + bytes) as far as they lie in one file: which one, where, how many. */
struct og_npy_piece {
    const struct og_npy *file;
    int64_t at; /* byte of the file */
    size_t bytes;
};
struct og_npy_piece og__npy_piece(const struct og_npy *a, int64_t at, size_t bytes);

/* Those bytes, from all files that hold some. */
OG_MUST_CHECK int og__npy_read_bytes(const struct og_npy *a, int64_t at, size_t bytes, void *out,
                                     struct og_err *err);

/* -ENOENT, -EACCES, or -EINVAL for anything that is not such a file: wrong magic, a header that
 * lies about the size, Fortran order, big endian, more than two dimensions. */
OG_MUST_CHECK int og__npy_open(struct og_npy *a, const char *path, struct og_err *err);
/* How the elements of other programs' files lie. */
struct og_npy_order {
    bool columns; /* Fortran order, two dimensions: shape is that of the transpose, which has the
                   * same bytes in C order */
    bool swapped; /* big endian */
};
/* Also takes both. */
OG_MUST_CHECK int og__npy_open_any(struct og_npy *a, const char *path, struct og_npy_order *order,
                                   struct og_err *err);
/* Turns the bytes of n elements around. */
void og__npy_swap(enum og__npy_type type, void *elements, size_t n);
void og__npy_close(struct og_npy *a);

/* The two halves of opening a headerless file: open it and learn its size; then, with type, ndim,
 * shape and offset filled by the caller, check that the elements fit and fill bytes. */
OG_MUST_CHECK int og__npy_open_file(struct og_npy *a, const char *path, uint64_t *size,
                                    struct og_err *err);
OG_MUST_CHECK int og__npy_fit(struct og_npy *a, uint64_t file_size, const char *name,
                              struct og_err *err);

/* The parser alone, for fuzzing and archives: `head` holds the first `len` bytes of a file of
 * `file_size` bytes. Fills type, ndim, shape, offset, bytes. `name` is for messages. */
OG_MUST_CHECK int og__npy_parse(struct og_npy *a, const void *head, size_t len, uint64_t file_size,
                                const char *name, struct og_err *err);
OG_MUST_CHECK int og__npy_parse_any(struct og_npy *a, const void *head, size_t len,
                                    uint64_t file_size, const char *name,
                                    struct og_npy_order *order, struct og_err *err);

/* Enough bytes to hold any header we accept. */
enum { OG__NPY_HEAD_MAX = 64 * 1024 };

/* A header for ndim, shape and type, padded with spaces to `pad` bytes (4096 for our own data
 * files, a multiple of 64). Returns the number of bytes written into buf[4096]; NumPy reads it. */
size_t og__npy_header(char buf[4096], enum og__npy_type type, int ndim, const int64_t shape[2],
                      size_t pad);

/* Rows [first, first + count) into out, as stored. */
OG_MUST_CHECK int og__npy_read(const struct og_npy *a, int64_t first, int64_t count, void *out,
                               struct og_err *err);

/* n integers (or bools) of `type` as int64; uint64 beyond int64 comes out negative. */
void og__npy_widen(enum og__npy_type type, const void *in, size_t n, int64_t *out);

/* A one-dimensional integer array of any integer type as int64, [first, first + count). */
OG_MUST_CHECK int og__npy_read_int64(const struct og_npy *a, int64_t first, int64_t count,
                                     int64_t *out, struct og_err *err);

/* ---- feature dtypes ---- */

size_t og__dtype_size(enum og_dtype dtype);
const char *og__dtype_name(enum og_dtype dtype);         /* "f32" */
int og__dtype_find(const char *name);                    /* enum og_dtype, or -1 */
enum og__npy_type og__dtype_stored(enum og_dtype dtype); /* bf16 is stored as uint16 */

/* ---- the dataset ---- */

enum og__array {
    OG__INDPTR,
    OG__INDICES,
    OG__WEIGHTS,
    OG__FEATURES,
    OG__LABELS,
    OG__ARRAY_TRAIN,
    OG__ARRAY_VALID,
    OG__ARRAY_TEST,
    OG__ARRAY_TRAIN_EDGES,
    OG__ARRAY_VALID_EDGES,
    OG__ARRAY_TEST_EDGES,
    OG__ARRAYS
};
const char *og__array_name(enum og__array array); /* "indptr" */

/* Which dataset it is, wherever it lies, and which files in what state (dataset/identity.h). */
struct og_identity {
    uint64_t contents; /* of all arrays, and of what else decides numbers */
    struct og_array_state {
        uint64_t contents;
        uint64_t file;    /* 0 = the file system does not tell, or there is no such array */
        uint64_t written; /* the same until it is written to */
    } array[OG__ARRAYS];
};

enum og__split { OG__TRAIN, OG__VALID, OG__TEST, OG__SPLITS };

struct og_dataset {
    char *path, *name;
    int64_t n_nodes;   /* N, < 2^32 - 1: node ids are u32 inside a batch */
    int64_t n_sources; /* indices are below it: N, but of a relation of a typed graph */
    int64_t n_edges;   /* E */
    int dim;           /* F */
    int n_classes;     /* C */
    bool multi_label;
    bool regression;     /* labels are C values; then not multi_label */
    bool symmetric;      /* said to hold every edge in both directions */
    enum og_dtype dtype; /* of features, in the file */
    enum og_dtype kept;  /* of their rows in memory and in packs (dataset/features.h) */
    struct og_npy indptr, indices, weights, features, labels, split[OG__SPLITS];
    uint32_t workers,
        worker; /* features has rows of the nodes that this one of them owns: 0: all */
    struct og_npy edges[OG__SPLITS]; /* of link prediction; those held out are not in the graph */
    struct og_identity identity;
};

struct og_npy *og__array_of(struct og_dataset *ds, enum og__array array);

/* -EINVAL for a typed one (dataset/typed.h). */
OG_MUST_CHECK int og__dataset_open(const char *path, struct og_dataset **out, struct og_err *err);
/* The same, but it may be a worker's share (ds->workers), which that refuses. */
OG_MUST_CHECK int og__dataset_open_share(const char *path, struct og_dataset **out,
                                         struct og_err *err);
void og__dataset_close(struct og_dataset *ds);
/* Refuses an output that is one of the dataset's own files. NULL, and what is not there yet, may be
 * written. */
OG_MUST_CHECK int og__dataset_spare(const struct og_dataset *ds, const char *path,
                                    struct og_err *err);

/* Of a feature row as it is kept, in memory and in packs; and of one in the feature file. */
static inline size_t og__row_bytes(const struct og_dataset *ds)
{
    return (size_t)ds->dim * og__dtype_size(ds->kept);
}
static inline size_t og__file_row_bytes(const struct og_dataset *ds)
{
    return (size_t)ds->dim * og__dtype_size(ds->dtype);
}

/* Node ids of a split, [*count] u32 in file order, from the budget as "seeds". Ids out of range or
 * doubled are refused. Release with og__release(b, ids, *count * 4, "seeds"). An absent split has
 * count 0 and NULL. */
OG_MUST_CHECK int og__dataset_split(const struct og_dataset *ds, enum og__split split,
                                    struct og_budget *b, uint32_t **ids, int64_t *count,
                                    struct og_err *err);

/* A list of the caller's own [n] in their place; *repeats: it lists a node several times. */
OG_MUST_CHECK int og__dataset_seeds(const struct og_dataset *ds, const int64_t *list, int64_t n,
                                    struct og_budget *b, uint32_t **ids, bool *repeats,
                                    struct og_err *err);

/* The edges of a split for link prediction: src and dst of one after another, [*count][2] u32, from
 * the budget as "seeds". Release with og__release(b, ends, *count * 8, "seeds"). An absent split
 * has count 0 and NULL. */
OG_MUST_CHECK int og__dataset_edges(const struct og_dataset *ds, enum og__split split,
                                    struct og_budget *b, uint32_t **ends, int64_t *count,
                                    struct og_err *err);

/* Labels of `count` nodes in the order of ids, from the budget as "labels": int32 [count] class, -1
 * = none; or float32 [count, C] when multi-label or values. Classes out of range are refused.
 * Release with og__release(b, labels, og__labels_bytes(ds, count), "labels"). */
OG_MUST_CHECK int og__dataset_labels(const struct og_dataset *ds, const uint32_t *ids,
                                     int64_t count, struct og_budget *b, void **labels,
                                     struct og_err *err);
static inline bool og__float_labels(const struct og_dataset *ds)
{
    return ds->multi_label || ds->regression;
}
static inline size_t og__labels_bytes(const struct og_dataset *ds, int64_t count)
{
    return (size_t)count * (og__float_labels(ds) ? (size_t)ds->n_classes * 4 : 4);
}

/* ---- topology ---- */

/* Two forms. In memory (or mapped): indptr and one of the two indices. On disk: `first` in the
 * place of indptr, and `disk` (dataset/on_disk.h), which knows how to read the indices.
 * In-neighbours of v are edges [og__first_edge(v), og__first_edge(v) + og__degree(v)) of both. */
struct og_alias_edge;
/* Edges of nodes to themselves: who has one, and each beyond a node's first. */
struct og_loops {
    uint64_t *bits;     /* [N], a bit a node; NULL = nobody */
    uint32_t *more;     /* [n_more] nodes, ascending */
    size_t n_more, cap; /* cap: room */
};
struct og_topology {
    int64_t n_nodes, n_edges;
    int64_t n_sources;     /* ids in the lists are below it; 0 = n_nodes */
    const int64_t *indptr; /* [N+1] */
    const int32_t *indices32;
    const int64_t *indices64;
    struct og_offsets first;
    struct og_topology_disk *disk;
    /* in memory, where og__weights_load was asked for */
    const float *weights;              /* [E] */
    const struct og_alias_edge *alias; /* [E] of each list */
    struct og_loops loops;             /* where og__loops_find was asked for */
    /* of a typed graph (dataset/relations.h), whose lists are those of its relations */
    struct og_related_lists *relation; /* [n_relations], or NULL */
    uint32_t n_relations;
    /* who gives the memory back */
    struct og_budget *budget;
    const struct og_dataset *mapped; /* whose files this is a read-only view of, or NULL */
    struct og_common_piece shared; /* where processes share it, of which this one counts so much */
    size_t charged;
};

/* Resident copies, counted in the budget as "topology", read with large sequential reads. The
 * degrees are checked (monotone, ending at E) and every index (in range). */
OG_MUST_CHECK int og__topology_load(const struct og_dataset *ds, struct og_budget *b,
                                    struct og_topology *out, struct og_err *err);
size_t og__topology_bytes(const struct og_dataset *ds);

/* Edge weights of a topology in memory, counted as "topology" and given back with it; and the
 * tables for draws in proportion to them (dataset/alias.h): 20 bytes an edge. -EINVAL where the
 * dataset has none, or one is negative or not finite. */
OG_MUST_CHECK int og__weights_load(const struct og_dataset *ds, struct og_topology *t,
                                   struct og_err *err);
size_t og__weights_bytes(const struct og_dataset *ds);
/* Weights of edges from `first` on: -EINVAL for one that no weight can be. */
OG_MUST_CHECK int og__check_weights(const struct og_dataset *ds, const float *w, int64_t first,
                                    size_t n, struct og_err *err);

/* What processes of a machine have in common, and how many of them there are. */
struct og_sharers {
    struct og_common *common;
    int n;
};
/* A topology in memory, with weights if they are used, in memory that processes share: read by the
 * first that asks, while others wait for it. Of its bytes each counts its part as "topology". */
OG_MUST_CHECK int og__topology_share(const struct og_dataset *ds, bool weighs,
                                     const struct og_sharers *with, struct og_budget *b,
                                     struct og_topology *out, struct og_err *err);
size_t og__topology_part_bytes(const struct og_dataset *ds, bool weighs, int sharers);
/* One that lies at a place of so many bytes, which is another's: what it takes, reading it there,
 * and the topology. */
size_t og__topology_placed_bytes(const struct og_dataset *ds, bool weighs);
OG_MUST_CHECK int og__topology_fill(const struct og_dataset *ds, bool weighs, struct og_budget *b,
                                    char *at, struct og_err *err);
struct og_topology og__topology_at(const struct og_dataset *ds, bool weighs, const char *at);
/* Part of memory that processes share, by whom it is filled; counted, and given back, with the
 * topology. */
OG_MUST_CHECK int og__topology_take(struct og_topology *t, const struct og_sharers *with,
                                    const struct og_common_part *wanted, struct og_err *err);

/* The files themselves, mapped, for looking before the budget is settled: nothing is copied, and
 * nothing is checked but what the two functions below are asked about. Works where the arrays start
 * on an element boundary; else -ENOTSUP. The dataset stays open as long as the topology. */
OG_MUST_CHECK int og__topology_map(const struct og_dataset *ds, struct og_topology *out,
                                   struct og_err *err);
/* Of a mapped topology, before anything of it is used: do the lists of these nodes lie within the
 * edges; have these edges, which do, nodes for sources? -EINVAL if not, naming the file. */
OG_MUST_CHECK int og__mapped_lists(const struct og_topology *t, const uint32_t *nodes, uint32_t n,
                                   struct og_err *err);
OG_MUST_CHECK int og__mapped_edges(const struct og_topology *t, int64_t first, int64_t n,
                                   struct og_err *err);
void og__topology_release(struct og_topology *t); /* any form */

static inline int64_t og__sources(const struct og_topology *t)
{
    return t->n_sources ? t->n_sources : t->n_nodes;
}

/* Ids of destinations and of sources are below it. */
static inline int64_t og__most_ids(const struct og_topology *t)
{
    return OG_MAX(t->n_nodes, t->n_sources);
}

static inline int64_t og__first_edge(const struct og_topology *t, uint64_t v)
{
    return OG_LIKELY(t->indptr) ? t->indptr[v] : og__offset(&t->first, v);
}

static inline int64_t og__degree(const struct og_topology *t, uint32_t v)
{
    return og__first_edge(t, v + (uint64_t)1) - og__first_edge(t, v);
}

/* One prefetch for both: gcc leaves out those on a path that it takes for an unlikely one. */
static inline void og__prefetch_degree(const struct og_topology *t, uint32_t v)
{
    const void *in_memory = &t->indptr[v], *on_disk = &t->first.low[v];
    __builtin_prefetch(t->indptr ? in_memory : on_disk);
}

/* The longest list's length. On disk it is known; else a pass over the degrees. */
int64_t og__longest_list(const struct og_topology *t);

/* Source of an edge; in memory only. */
static inline uint32_t og__neighbor(const struct og_topology *t, int64_t e)
{
    return t->indices32 ? (uint32_t)t->indices32[e] : (uint32_t)t->indices64[e];
}

/* Both forms, in bounded memory: fn is called with the sources of edges [first, first + n), run
 * after run in the order of edges. On disk they are read sequentially past the page cache, through
 * a buffer from the topology's budget, and an id out of range is refused before fn sees it. What fn
 * returns below 0 ends the scan and is returned. */
typedef int og_scan_fn(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err);
OG_MUST_CHECK int og__topology_scan(const struct og_topology *t, og_scan_fn *fn, void *arg,
                                    struct og_err *err);

/* Look for them, in one scan. Counted as "topology" and given back with it; og__loops_bytes is what
 * it takes where no node has two. */
OG_MUST_CHECK int og__loops_find(struct og_topology *t, struct og_err *err);
void og__loops_release(struct og_topology *t);
size_t og__loops_bytes(uint64_t n_nodes);
/* How many of a node's edges are to itself; 0 where nobody looked. */
int64_t og__loops_of(const struct og_topology *t, uint32_t v);

/* How many lists each node is in: count[N], zeroed first. One scan. */
OG_MUST_CHECK int og__topology_out_degrees(const struct og_topology *t, uint32_t *count,
                                           struct og_err *err);
/* The same of one relation, whose sources may be of another type: count[og__sources(t)]. */
OG_MUST_CHECK int og__topology_count_sources(const struct og_topology *t, uint32_t *count,
                                             struct og_err *err);
/* In-degrees, without edges of nodes to themselves: count[N]. One scan. */
OG_MUST_CHECK int og__topology_count_neighbors(const struct og_topology *t, uint32_t *count,
                                               struct og_err *err);

#endif
