/* Writing a dataset: arrays streamed into a folder that appears when it is complete.
 * Used by the generators and importers; the sorter is theirs too. */
#ifndef OG_DATASET_WRITER_H
#define OG_DATASET_WRITER_H

#include "base/file.h"
#include "base/json.h"
#include "base/thread.h"
#include "dataset/graph.h"

/* Says how far making a dataset is; OG_INTERRUPTED when asked to stop. seen may be NULL; unit and
 * total are those of og_progress. */
OG_MUST_CHECK int og__writing_goes_on(const struct og_observer *seen, const char *stage,
                                      const char *unit, int64_t done, int64_t total,
                                      struct og_err *err);

/* ---- one .npy file, written front to back ----
 *
 * Large aligned writes from an internal buffer; the XXH3 of the whole file is kept as it goes by.
 * The row count need not be known beforehand: the header is completed at the end. */
struct og_npy_writer;
OG_MUST_CHECK int og__npy_create(struct og_npy_writer **out, const char *path,
                                 enum og__npy_type type, int ndim, int64_t row, struct og_err *err);
/* Go on with one of two dimensions that was not finished: its first `rows` rows stay. */
OG_MUST_CHECK int og__npy_reopen(struct og_npy_writer **out, const char *path,
                                 enum og__npy_type type, int64_t rows, int64_t row,
                                 struct og_err *err);
/* The same over an open file, whose first `rows` rows stay: `fd` is the caller's, `path` is for
 * messages. */
OG_MUST_CHECK int og__npy_over(struct og_npy_writer **out, int fd, const char *path,
                               enum og__npy_type type, int64_t rows, int64_t row,
                               struct og_err *err);
/* row = elements a row (1 when ndim is 1); data = whole rows. */
OG_MUST_CHECK int og__npy_append(struct og_npy_writer *w, const void *data, int64_t rows,
                                 struct og_err *err);
int64_t og__npy_rows(const struct og_npy_writer *w);
const char *og__npy_path(const struct og_npy_writer *w);
uint64_t og__npy_bytes(const struct og_npy_writer *w); /* of the file so far, header included */
enum {
    OG__NPY_HEADER = 4096, /* bytes of the file before its first row */
    /* what a writer collects before it writes: few calls to the page cache, which makes the large
     * writes of them, and not much where a trace has two dozen writers */
    OG__NPY_BUFFER = 128 * 1024,
};
/* Other dimensions for as many elements: what was written becomes [rows, row]. Then finish. */
void og__npy_reshape(struct og_npy_writer *w, int64_t rows, int64_t row);
/* All that was appended is on disk; what follows may be lost. */
OG_MUST_CHECK int og__npy_sync(struct og_npy_writer *w, struct og_err *err);
/* Completes the header, flushes, closes and frees. checksum may be NULL. */
OG_MUST_CHECK int og__npy_finish(struct og_npy_writer *w, uint64_t *checksum, struct og_err *err);
void og__npy_discard(
    struct og_npy_writer *w); /* closes and frees; the file is the caller's to remove */

/* A number for an ordered pair, such that sums over different sets of pairs differ: a graph whose
 * edges have the same sum as their reverses has every edge in both directions. */
static inline uint64_t og__edge_fingerprint(uint64_t a, uint64_t b)
{
    uint64_t x = (a << 32 | b) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 32) * 0x94D049BB133111EBu;
    return x ^ x >> 29;
}

/* ---- external sort: edges in any order -> CSC, of each relation ----
 *
 * Pictured, and argued for, in sorter.c. Edges go to bucket files by range of dst, each bucket is
 * then sorted in memory: one write and one read of the edges, whatever their number. Lists of a
 * relation lie behind those of the relations before it, so one sorter takes all of them, in
 * whatever order they come. */
struct og_edge_sorter;
struct og_edge_sorter_options {
    struct og_graph *graph; /* its groups and relations; n_edges are filled in at the end */
    bool weighted;
    bool drop_duplicates, drop_self_loops;
    size_t memory;       /* bytes it may hold */
    const char *scratch; /* existing folder for the bucket files, removed at the end */
    struct og_pool *pool;
    /* told while edges are written; below 0 ends it. May be NULL */
    int (*progress)(void *arg, int64_t done, int64_t total, struct og_err *err);
    void *progress_arg;
};
OG_MUST_CHECK int og__sorter_open(struct og_edge_sorter **out,
                                  const struct og_edge_sorter_options *opt, struct og_budget *b,
                                  struct og_err *err);
/* Edges of a relation by ids within its groups, which the caller has checked. weights NULL when
 * unweighted. */
OG_MUST_CHECK int og__sorter_add(struct og_edge_sorter *s, uint32_t relation, const uint32_t *src,
                                 const uint32_t *dst, const float *weights, size_t count,
                                 struct og_err *err);
/* Edges added so far. */
int64_t og__sorter_edges(const struct og_edge_sorter *s);

struct og_edge_sorter_result {
    int64_t n_edges;
    int64_t n_self_loops, n_duplicates; /* dropped */
    int64_t n_alone;                    /* lists that no edge is in */
    bool symmetric; /* there is one relation, and every edge is there in both directions */
    uint64_t bytes_written;
};
/* Writes indptr.npy, indices.npy and, if weighted, weights.npy of each relation into `folder`, and
 * their checksums into the object. */
OG_MUST_CHECK int og__sorter_finish(struct og_edge_sorter *s, const char *folder, json_t *checksums,
                                    struct og_edge_sorter_result *result, struct og_err *err);
void og__sorter_free(struct og_edge_sorter *s);

#endif
