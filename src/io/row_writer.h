/* Rows of a file that are written back, in place. Rows that follow one another are one request.
 *
 *      sorted row numbers, an address each ──> requests of at most 256 KiB ──> pwrite */
#ifndef OG_IO_ROW_WRITER_H
#define OG_IO_ROW_WRITER_H

#include "io/io.h"

struct og_row_writer {
    int fd;
    const char *path; /* borrowed */
    uint64_t offset;  /* of row 0 */
    size_t row_bytes;
    char *buffer; /* og__row_writer_bytes */
    struct og_budget *budget;
};

/* Opens the file for writing. Its buffer comes from the budget as "read buffers". */
OG_MUST_CHECK int og__row_writer_open(struct og_row_writer *w, const char *path, uint64_t offset,
                                      size_t row_bytes, struct og_budget *b, struct og_err *err);
void og__row_writer_close(struct og_row_writer *w); /* accepts a zeroed one */
/* The size of its buffer, at least one row. */
size_t og__row_writer_bytes(size_t row_bytes);

/* Writes rows[n], ascending and distinct; row i is at from(arg, i). Adds to *written. */
OG_MUST_CHECK int og__row_writer_write(struct og_row_writer *w, const uint32_t *rows, size_t n,
                                       const char *(*from)(void *arg, size_t i), void *arg,
                                       struct og_io_counts *written, struct og_err *err);
/* Lets the kernel read the pages of such a write, all at once: it changes parts of pages. */
void og__row_writer_prepare(const struct og_row_writer *w, const uint32_t *rows, size_t n);
/* Writes in one piece: rows [first, first + n), which follow one another at `from`. */
OG_MUST_CHECK int og__row_writer_put(struct og_row_writer *w, uint64_t first, size_t n,
                                     const void *from, struct og_err *err);
/* Predicts the requests of such a write. */
struct og_io_counts og__row_writer_predict(size_t row_bytes, const uint32_t *rows, size_t n);
/* Reads rows[n], ascending and distinct, to addresses to(arg, i), in the requests of such a write.
 * Rows that follow one another do so at their addresses too. Adds to *read. */
OG_MUST_CHECK int og__row_writer_read(const struct og_row_writer *w, const uint32_t *rows, size_t n,
                                      char *(*to)(void *arg, size_t i), void *arg,
                                      struct og_io_counts *read, struct og_err *err);
/* Reads rows [first, first + n). A hole of the file reads as zeros. */
OG_MUST_CHECK int og__row_writer_get(const struct og_row_writer *w, uint64_t first, size_t n,
                                     void *out, struct og_err *err);

#endif
