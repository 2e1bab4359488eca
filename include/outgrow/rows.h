/* Feature rows by number, for batches that another sampler made. Part of the public API; see
 * outgrow.h for the tour.
 *
 * A cache within the option memory has the rows that were read most. It knows no batches in
 * advance; og_loader_open plans them, and reads less:
 *
 *     struct og_row_reader *r = NULL;
 *     int rc = og_rows_open(&r, "papers100M", OG_ROWS_OF_NODES, 0, opt, &err);
 *     if (rc == 0)
 *         rc = og_rows_read(r, ids, n, rows, &err);
 *     og_rows_close(r);
 *
 * One thread at a time may call functions of one reader. */
#ifndef OUTGROW_ROWS_H
#define OUTGROW_ROWS_H

#include <outgrow/options.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum og_rows_of {
    OG_ROWS_OF_NODES, /* of a node type, by number */
    OG_ROWS_OF_EDGES, /* of a relation, by number; a row is where its edge is in indices.npy */
};

/* An open array of rows. Opaque. */
struct og_row_reader;

/* Open the features of a node type or of a relation's edges. A homogeneous graph has type 0 and
 * relation 0. The caller closes the reader with og_rows_close.
 *
 * opt  memory bounds cache, tables and buffers. Policy is an adaptive one, none, or auto, which is
 *      s3fifo. Others that apply: io
 *
 * Returns -ENOMEM if the memory limit is too small. Returns -EINVAL if there are no such features,
 * or for another policy. */
OG_EXPORT OG_MUST_CHECK int og_rows_open(struct og_row_reader **out, const char *dataset,
                                         enum og_rows_of of, uint32_t number,
                                         const struct og_options *opt, struct og_err *err);

/* Bytes of a row. */
OG_EXPORT size_t og_rows_bytes(const struct og_row_reader *r);

/* Copy the rows ids[n] to `rows`, in this order and with their stored dtype. Ids may repeat.
 * Returns -EINVAL for an id outside of the array; then nothing was read. After another error the
 * reader can only be closed. */
OG_EXPORT OG_MUST_CHECK int og_rows_read(struct og_row_reader *r, const int64_t *ids, int64_t n,
                                         void *rows, struct og_err *err);

/* Get what the reader has, and counters of what it read.
 *
 * out  {"rows","dim","dtype","cached_rows","requested","hits","misses","reads","bytes_read"}. The
 *      last five count since the opening; those of edges may count several rows as one */
OG_EXPORT OG_MUST_CHECK int og_rows_about(const struct og_row_reader *r, char **out,
                                          struct og_err *err);

/* Close a reader. NULL is ignored. */
OG_EXPORT void og_rows_close(struct og_row_reader *r);

#ifdef __cplusplus
}
#endif

#endif
