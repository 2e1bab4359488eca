/* shared: rows that several batches of a segment miss (plan/segments.h), stored once for all of
 * them. The file is next to the packed file of the other rows, and has the order of each batch's
 * rows.
 *
 *     file   | head, one block | rows, consecutive |pad| table | order 0 | order 1 | ...
 *
 *     head   bytes 0-7    "OGSHAR2\n"
 *            8-15         which dataset (dataset/identity.h)
 *            16-23        bytes of a row and its dtype, as in packed.h
 *            24-31        batches
 *            32-39        rows
 *            40-47        rows that all batches miss
 *            48-55        of these, rows that are read from here
 *            56-63        bytes of the file
 *            64-71        XXH3 of the table, seeded with the XXH3 of bytes 0-63
 *     table  per batch: rows it misses, of these in this file, XXH3 of their node ids as u32. Also
 *            XXH3 of its order, and the sum of og__pack_hash_at over its rows here, by position
 *     order  per batch: where[misses], then position[rows in this file], ascending
 *
 * In memory, a batch's rows of this file come first, by position, then those of its chunk. Miss i
 * is row where[i] of them. Numbers of head and table are u64, orders are u32, all little endian.
 * The table begins on a block of 4096 bytes; orders follow it consecutively.
 *
 * Over several disks rows are striped in units of about a MiB (packed_files.h). They begin after
 * the first block of each part. Everything else is in the first part, whose size is the bytes of
 * the file. */
#ifndef OG_GATHER_SHARED_H
#define OG_GATHER_SHARED_H

#include "gather/packed.h"
#include "plan/segments.h"

/* ---- writing ---- */

/* Arrange the segments of `size` batches and write their shared rows, block by block of positions.
 * Each block reads its nodes in one sequential scan of the feature file. `stored`, zeroed, gets a
 * bit for each row of the packing in the file (og__packing_drop). opt and errors: as in
 * og__pack_write. */
OG_MUST_CHECK int og__shared_write(const struct og_group *group, struct og_segments *s,
                                   uint32_t size, enum og__segment_order order,
                                   const struct og_pack_options *opt, uint64_t *stored,
                                   struct og_budget *b, struct og_pack_counts *counts,
                                   struct og_err *err);
size_t og__shared_least(const struct og_packing *p); /* minimum of memory */
/* Bytes of such a file, all `parts` parts together. */
uint64_t og__shared_file_bytes(const struct og_packing *p, const struct og_segment_cost *cost,
                               uint32_t parts);

/* ---- the format ---- */

struct og_shared_head {
    uint64_t dataset; /* identity of its contents */
    uint64_t row_bytes;
    enum og_dtype dtype; /* of rows */
    uint64_t n_batches, n_rows, n_misses, n_reads, file_bytes;
    uint64_t check;
    uint32_t parts; /* not in the file; set by the caller */
};
struct og_shared_entry {
    uint64_t misses, shared, ids, order, check;
};
/* Like those of pack.h; h->parts is set. */
OG_MUST_CHECK int og__shared_parse(struct og_shared_head *h, const void *data, size_t len,
                                   uint64_t file_bytes, const char *name, struct og_err *err);
OG_MUST_CHECK int og__shared_check(const struct og_shared_head *h,
                                   const struct og_shared_entry *table, const char *name,
                                   struct og_err *err);
void og__shared_format(struct og_shared_head *h, const struct og_shared_entry *table,
                       char block[OG__PACK_BLOCK]);
/* Placement of the rows, which are consecutive. */
struct og_packed_lay og__shared_lay(const struct og_shared_head *h);
uint64_t og__shared_part_bytes(const struct og_shared_head *h, uint32_t number);
uint64_t og__shared_table_at(const struct og_shared_head *h);
uint64_t og__shared_orders_at(const struct og_shared_head *h);
uint64_t og__shared_hash_order(const uint32_t *order, uint64_t n);

/* ---- reading ---- */

struct og_shared;

/* Like og__pack_open. */
OG_MUST_CHECK int og__shared_open(struct og_shared **out, struct og_places at,
                                  const struct og_group *group, int n_reads,
                                  const struct og_reader_options *opt, struct og_budget *b,
                                  struct og_err *err);
void og__shared_close(struct og_shared *p); /* accepts NULL */

/* The table's entry of a batch; NULL if there is none. */
const struct og_shared_entry *og__shared_entry(const struct og_shared *p, uint64_t batch);

/* Start to read a batch's rows of this file to `out`. */
OG_MUST_CHECK int og__shared_begin(struct og_shared *p, int read, uint32_t batch, char *out,
                                   struct og_err *err);
OG_MUST_CHECK int og__shared_finish(struct og_shared *p, int read, struct og_io_counts *counts,
                                    struct og_err *err);
/* Wait for a read that is not needed any more. */
void og__shared_give_up(struct og_shared *p, int read);
/* [misses] row of each miss; valid until the next begin of `read`. */
const uint32_t *og__shared_where(const struct og_shared *p, int read);

#endif
