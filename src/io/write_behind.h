/* Rows of a file that a thread writes while their owner continues.
 *
 *   push ──copy──> ring ──thread──> row writer (row_writer.h)
 *
 * Rows are numbered in the order of their pushes, from 0. One thread pushes and settles. */
#ifndef OG_IO_WRITE_BEHIND_H
#define OG_IO_WRITE_BEHIND_H

#include "io/row_writer.h"

struct og_write_behind;

/* Memory of the ring and the writer, from the budget as "read buffers". */
size_t og__write_behind_bytes(size_t row_bytes, uint64_t n_rows);
/* Rows that the ring has space for. */
uint32_t og__write_behind_rows(size_t row_bytes, uint64_t n_rows);
OG_MUST_CHECK int og__write_behind_open(struct og_write_behind **out, const char *path,
                                        uint64_t offset, size_t row_bytes, uint64_t n_rows,
                                        struct og_budget *b, struct og_err *err);
void og__write_behind_close(struct og_write_behind *w); /* drops what is left; accepts NULL */

/* Copies rows[n], ascending and distinct; row i is at from(arg, i). Waits while the ring is full.
 * Adds the requests of one write of them to *written. */
OG_MUST_CHECK int og__write_behind_push(struct og_write_behind *w, const uint32_t *rows, size_t n,
                                        const char *(*from)(void *arg, size_t i), void *arg,
                                        struct og_io_counts *written, struct og_err *err);
/* The record that was pushed `back` pushes ago; at most as many as the ring has space for. */
const char *og__write_behind_recall(const struct og_write_behind *w, size_t back);
/* Has the rows that were pushed before those. */
const struct og_row_writer *og__write_behind_file(const struct og_write_behind *w);
/* Rows pushed so far. */
uint64_t og__write_behind_pushed(const struct og_write_behind *w);
/* Waits until rows with lower numbers are in the file, or a write has failed. Any thread. */
void og__write_behind_await(struct og_write_behind *w, uint64_t number);
/* Waits until all are. The file may then be used until the next push. */
OG_MUST_CHECK int og__write_behind_settle(struct og_write_behind *w, struct og_row_writer **file,
                                          struct og_err *err);

#endif
