/* Batches spilled to disk in pieces. A piece is a trace of its own (trace_files.h), written front
 * to back, then read in any order. It is deleted with the last of its batches. Its arrays are
 * distributed over the disks; each piece starts with another disk.
 *
 *   append, append, cut, append, ... ──> finish ──> read any, drop from the front ──> append, ...
 *   | piece 7: all its batches, or what is left of them | piece 8 | piece 9, being written | */
#ifndef OG_SPILLED_H
#define OG_SPILLED_H

#include "base/scratch.h"
#include "sample/trace.h"
#include "sample/trace_files.h"

struct og_spilled_piece;

struct og_spilled {
    struct og_trace_options form;
    struct og_trace_files files; /* settings of a piece's files; none is open */
    struct og_places under;      /* where scratch folders are made; borrowed */
    struct og_budget *budget;
    struct og_scratch *scratch; /* NULL until first needed */
    struct og_spilled_piece *piece;
    uint32_t n_pieces, capacity;
    uint64_t first_piece;           /* number of the first; they go on counting */
    struct og_trace_writer *writer; /* of the last piece; NULL = it is finished */
    struct og_trace_spot *next;     /* where in it the next batch begins */
    uint64_t written;               /* bytes of finished pieces ever, */
    uint64_t room;                  /* and what those take that are left */
    uint32_t *chunk;                /* [OG__TRACE_CHUNK] once something is finished */
};

/* The caller sets form, files, under and budget; the rest is 0. Buffers come from the budget as
 * "trace". */
OG_MUST_CHECK int og__spilled_open(struct og_spilled *s, struct og_err *err);
void og__spilled_close(struct og_spilled *s); /* removes everything; also after a failed open */
size_t og__spilled_reader_bytes(void);        /* memory for reading, once a piece is finished */

/* After an error, only clear, lose and close are allowed. */
OG_MUST_CHECK int og__spilled_append(struct og_spilled *s, const struct og_batch *batch,
                                     struct og_err *err);
/* Locates the batch appended last: `own` has its counts, and gets the rest. */
void og__spilled_place(struct og_spilled *s, struct og_trace_spot *own);
/* Ends the piece: the next append starts another. Call before reading any batch of it. */
OG_MUST_CHECK int og__spilled_finish(struct og_spilled *s, struct og_err *err);

/* For a batch in a finished piece; as the functions of trace_files.h. */
OG_MUST_CHECK int og__spilled_ids(const struct og_spilled *s, const struct og_trace_spot *p,
                                  struct og_batch *out, struct og_io_counts *read,
                                  struct og_err *err);
OG_MUST_CHECK int og__spilled_units(const struct og_spilled *s, const struct og_trace_spot *p,
                                    uint32_t *units, struct og_io_counts *read, struct og_err *err);
OG_MUST_CHECK int og__spilled_blocks(const struct og_spilled *s, const struct og_trace_spot *p,
                                     struct og_batch_memory *out, struct og_io_counts *read,
                                     struct og_err *err);
void og__spilled_prefetch(const struct og_spilled *s, const struct og_trace_spot *p, bool ids);

/* Releases this batch of a finished piece. */
void og__spilled_drop(struct og_spilled *s, const struct og_trace_spot *p);
void og__spilled_clear(struct og_spilled *s); /* nothing is left but the folder */
void og__spilled_lose(struct og_spilled *s);  /* nor that */

uint64_t og__spilled_written(const struct og_spilled *s); /* bytes since open */
/* Disk space used, for a bound that folders share equally (og__trace_room). */
uint64_t og__spilled_room(const struct og_spilled *s);

#endif
