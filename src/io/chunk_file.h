/* Records that wait for their next use: appended to chunks, and read chunk by chunk.
 *
 *   push ──> the chunk's open block, in memory ──full──> threads ──> a free block of the file
 *   each <── its blocks, then what is in memory
 *
 *   block:   numbers of its rows, u32 | their records | rest of the last 4 KiB
 *
 * Only full blocks are written, so requests are large. Their number follows from the order of
 * pushes alone. The file has no name and is not synced: it ends with the process.
 *
 * Any thread may push and read, but no two may use one chunk at the same time. `each` with the
 * reader is for one thread at a time. */
#ifndef OG_IO_CHUNK_FILE_H
#define OG_IO_CHUNK_FILE_H

#include "io/io.h"

struct og_chunk_file;

/* The layout of n_rows records of row_bytes. */
struct og_chunk_form {
    size_t row_bytes, block; /* bytes of a record, of a block */
    uint32_t rows;           /* of a block */
    uint32_t n_blocks;       /* the most there can be with n_chunks */
    uint32_t n_chunks;
};
struct og_chunk_form og__chunk_form(size_t row_bytes, uint64_t n_rows, uint32_t n_chunks);
/* Memory from the budget as "read buffers": what grows with the number of chunks, and the rest. The
 * reader comes besides (og__reader_bytes). */
size_t og__chunk_file_blocks_bytes(const struct og_chunk_form *f);
size_t og__chunk_file_bytes(const struct og_chunk_form *f);
/* Options of the reader that reads a chunk file. */
struct og_reader_options og__chunk_reader_options(const struct og_reader_options *like);

/* Makes a file at `path`, which must not exist, and takes its name away. Writes are direct if the
 * file system allows. */
OG_MUST_CHECK int og__chunk_file_open(struct og_chunk_file **out, const char *path,
                                      const struct og_chunk_form *form,
                                      const struct og_reader_options *like, struct og_budget *b,
                                      struct og_err *err);
void og__chunk_file_close(struct og_chunk_file *f); /* accepts NULL */
/* The reader, for its name alone. */
const struct og_reader *og__chunk_file_reader(const struct og_chunk_file *f);

/* Copies a record. Waits while all blocks in memory are being written. Adds a request to *written
 * if that fills a block. Returns also why an earlier block could not be written. */
OG_MUST_CHECK int og__chunk_push(struct og_chunk_file *f, uint32_t chunk, uint32_t row,
                                 const void *record, struct og_io_counts *written,
                                 struct og_err *err);
/* Calls `row` for each record of the chunk, which stays. Adds the blocks that it reads to *read.
 * aside: without the reader, block by block, in memory of its own; one thread at a time as well. */
typedef int og_chunk_row(void *arg, uint32_t row, const char *record, struct og_err *err);
OG_MUST_CHECK int og__chunk_each(struct og_chunk_file *f, uint32_t chunk, bool aside,
                                 og_chunk_row *row, void *arg, struct og_io_counts *read,
                                 struct og_err *err);
/* Frees its blocks. */
void og__chunk_drop(struct og_chunk_file *f, uint32_t chunk);
/* Blocks that it has in the file. */
uint32_t og__chunk_blocks(const struct og_chunk_file *f, uint32_t chunk);
/* Chunk `to` gets all that `from` has; that is empty then. What is in memory is pushed. */
OG_MUST_CHECK int og__chunk_append(struct og_chunk_file *f, uint32_t from, uint32_t to,
                                   struct og_io_counts *written, struct og_err *err);
/* Chunk `to`, which is empty, becomes what `from` was; that is empty then. */
void og__chunk_move(struct og_chunk_file *f, uint32_t from, uint32_t to);

/* ---- the same counted in advance ---- */

struct og_chunk_count {
    uint32_t rows;   /* in memory */
    uint32_t blocks; /* in the file */
};
/* One more record; true: it fills a block, which is written. */
static inline bool og__chunk_count_push(const struct og_chunk_form *f, struct og_chunk_count *c)
{
    if (++c->rows < f->rows)
        return false;
    c->rows = 0;
    c->blocks++;
    return true;
}

#endif
