/* Writes a dataset: streams arrays into a folder that appears when it is complete. Used by
 * generators and importers, as is the sorter. */
#ifndef OG_DATASET_WRITER_H
#define OG_DATASET_WRITER_H

#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "dataset/graph.h"

/* Reports progress; OG_INTERRUPTED after a stop request. seen may be NULL; unit and total are those
 * of og_progress. */
OG_MUST_CHECK int og__writing_goes_on(const struct og_observer *observer, const char *stage,
                                      const char *unit, int64_t done, int64_t total,
                                      struct og_err *err);

/* ---- one .npy file, written front to back ----
 *
 * Writes large aligned pieces from an internal buffer and computes the file's XXH3 on the way. The
 * row count may be unknown at first: finish completes the header. */
struct og_npy_writer;
OG_MUST_CHECK int og__npy_create(struct og_npy_writer **out, const char *path,
                                 enum og__npy_type type, int ndim, int64_t row, struct og_err *err);
/* Continues an incomplete two-dimensional array after its first `rows` rows. */
OG_MUST_CHECK int og__npy_reopen(struct og_npy_writer **out, const char *path,
                                 enum og__npy_type type, int64_t rows, int64_t row,
                                 struct og_err *err);
/* As og__npy_reopen, for an open file: the caller owns `fd`, and `path` is for messages. */
OG_MUST_CHECK int og__npy_over(struct og_npy_writer **out, int fd, const char *path,
                               enum og__npy_type type, int64_t rows, int64_t row,
                               struct og_err *err);
/* row = elements a row (1 when ndim is 1); data = whole rows. */
OG_MUST_CHECK int og__npy_append(struct og_npy_writer *w, const void *data, int64_t rows,
                                 struct og_err *err);
/* n rows of the one number, in an array of uint8 or uint16. */
OG_MUST_CHECK int og__npy_repeat(struct og_npy_writer *w, uint16_t number, int64_t n,
                                 struct og_err *err);
int64_t og__npy_rows(const struct og_npy_writer *w);
const char *og__npy_path(const struct og_npy_writer *w);
uint64_t og__npy_bytes(const struct og_npy_writer *w); /* of the file so far, header included */
enum {
    OG__NPY_HEADER = 4096, /* bytes of the file before its first row */
    /* Bytes of a writer's buffer: enough for few calls to the page cache, which forms large writes.
     * It is small, since a trace has two dozen writers. */
    OG__NPY_BUFFER = 128 * 1024,
};
/* Changes the dimensions of the data written so far to [rows, row]. Call before finish. */
void og__npy_reshape(struct og_npy_writer *w, int64_t rows, int64_t row);
/* Makes all appended data durable; later data may be lost. */
OG_MUST_CHECK int og__npy_sync(struct og_npy_writer *w, struct og_err *err);
/* Completes the header, flushes, closes and frees. checksum may be NULL. */
OG_MUST_CHECK int og__npy_finish(struct og_npy_writer *w, uint64_t *checksum, struct og_err *err);
void og__npy_discard(struct og_npy_writer *w); /* closes and frees; the caller removes the file */

/* Creates an array in the folder. Then og__array_finish sets *w to NULL and adds the checksum to
 * `checksums`, which may be NULL. A NULL *w does nothing. */
OG_MUST_CHECK int og__array_create(struct og_npy_writer **w, const char *folder, const char *name,
                                   enum og__npy_type type, int ndim, int64_t row,
                                   struct og_err *err);
OG_MUST_CHECK int og__array_finish(struct og_npy_writer **w, const char *name, json_t *checksums,
                                   struct og_err *err);

/* Hashes an ordered pair, so that sums over different sets of pairs differ. If the edges have the
 * same sum as their reverses, the graph has every edge in both directions. */
static inline uint64_t og__edge_fingerprint(uint64_t a, uint64_t b)
{
    uint64_t x = (a << 32 | b) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 32) * 0x94D049BB133111EBu;
    return x ^ x >> 29;
}

/* ---- external sort: edges in any order -> CSC, of each relation ----
 *
 * Described in sorter.c. Edges go to bucket files by range of dst; then each bucket is sorted in
 * memory. This writes and reads the edges once, for any number. A relation's lists follow those of
 * earlier relations, so one sorter takes all relations, in any order. */
struct og_edge_sorter;
struct og_edge_sorter_options {
    struct og_graph *graph; /* its groups and relations; finish sets n_edges */
    bool weighted;
    bool numbered; /* edge_ids.npy is written too */
    bool drop_duplicates, drop_self_loops;
    size_t memory;       /* bytes it may hold */
    const char *scratch; /* existing folder for the bucket files, removed at the end */
    struct og_pool *pool;
    /* called while edges are written; a negative result ends it. May be NULL */
    int (*progress)(void *arg, int64_t done, int64_t total, struct og_err *err);
    void *progress_arg;
};
OG_MUST_CHECK int og__sorter_open(struct og_edge_sorter **out,
                                  const struct og_edge_sorter_options *opt, struct og_budget *b,
                                  struct og_err *err);
/* Adds edges of a relation by ids within its groups, checked by the caller. Unweighted ones have
 * NULL weights. The edges have numbers first, first + 1, ... in the source. */
OG_MUST_CHECK int og__sorter_add(struct og_edge_sorter *s, uint32_t relation, const uint32_t *src,
                                 const uint32_t *dst, const float *weights, int64_t first,
                                 size_t count, struct og_err *err);
/* Edges added so far. */
int64_t og__sorter_edges(const struct og_edge_sorter *s);

struct og_edge_sorter_result {
    int64_t n_edges;
    int64_t n_self_loops, n_duplicates; /* dropped */
    int64_t n_other_weights;            /* duplicates whose weight was not that of the edge kept */
    int64_t n_alone;                    /* lists that no edge is in */
    bool symmetric; /* there is one relation, and every edge is there in both directions */
    uint64_t bytes_written;
};
/* Writes the arrays of each relation into `folder`; adds their checksums to the object. They are
 * indptr.npy, indices.npy and, if weighted, weights.npy, and if numbered, edge_ids.npy. */
OG_MUST_CHECK int og__sorter_finish(struct og_edge_sorter *s, const char *folder, json_t *checksums,
                                    struct og_edge_sorter_result *result, struct og_err *err);
void og__sorter_free(struct og_edge_sorter *s);

#endif
