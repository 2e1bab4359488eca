/* pack: writes what a packing lays out, and reads it back a chunk at a time.
 *
 *   feature file ──> partition ──> pieces of chunks ──> container ──> chunk into staging
 *        reader thread     the caller's        writer threads       the loader, batch by batch
 *
 *   container   | head, one block | table, whole blocks | chunk 0 | chunk 1 | ...
 *
 *   head        bytes 0-7    "OGPACK2\n"
 *               8-15         which dataset (dataset/identity.h)
 *               16-19        bytes of a row
 *               20-23        dtype of its elements (enum og_dtype)
 *               24-31        batches
 *               32-39        rows in all chunks
 *               40-47        bytes of the file
 *               48-55        XXH3 of the table's blocks, seeded with the XXH3 of bytes 0-47
 *   table       a batch: byte of its chunk, rows in it, XXH3 of their node ids as u32, the sum of
 *               og__pack_hash_at over its blocks, places counted from the beginning of the file
 *
 * Numbers are u64 but for those two, which are u32; all little endian. Chunks begin on blocks of
 * 4096 and are padded to them with zeros, as are head and table.
 *
 * Over several disks the container is dealt out in units of a MiB (packed_files.h): a chunk is read
 * from all of them at once. Whole containers a disk each would not do, since it is one container
 * that is read at a time. */
#ifndef OG_GATHER_PACK_H
#define OG_GATHER_PACK_H

#include "gather/packed.h"

/* ---- writing ---- */

/* One sweep of the group's features, with the memory that og__sweep_share shared out. On failure,
 * or OG_INTERRUPTED after *stop, no container is left behind; -ENOSPC comes before the sweep where
 * the file system can reserve room. What a killed process leaves is gone with its folder, if that
 * is a scratch folder (base/scratch.h). The dataset is only read. */
OG_MUST_CHECK int og__pack_write(const struct og_group *group, const struct og_packing *p,
                                 const struct og_sweep *sweep, const struct og_pack_options *opt,
                                 struct og_budget *b, struct og_pack_counts *counts,
                                 struct og_err *err);

/* ---- the format ---- */

struct og_pack_head {
    uint64_t dataset; /* contents */
    uint64_t row_bytes;
    enum og_dtype dtype; /* of rows */
    uint64_t n_batches, n_rows, file_bytes;
    uint64_t check;
};
struct og_pack_entry {
    uint64_t offset, rows, ids, check;
};
/* Head of a file of file_bytes, from its first len bytes. Nothing in it is believed: -EINVAL.
 * `name` is for messages. */
OG_MUST_CHECK int og__pack_parse(struct og_pack_head *h, const void *data, size_t len,
                                 uint64_t file_bytes, const char *name, struct og_err *err);
/* The table behind it, up to where chunks begin: they lie one behind another and within the file.
 */
OG_MUST_CHECK int og__pack_check(const struct og_pack_head *h, const struct og_pack_entry *table,
                                 const char *name, struct og_err *err);
/* How one lies over so many disks. */
struct og_packed_lay og__pack_lay(uint32_t parts);
/* One block, h->check filled from the table. */
void og__pack_format(struct og_pack_head *h, const struct og_pack_entry *table,
                     char block[OG__PACK_BLOCK]);

/* ---- reading ---- */

struct og_pack;

/* n_reads: chunks on their way at the same time. -EINVAL for what is no container or one of another
 * dataset. The table and lists of blocks are "packing", buffers "read buffers". Owner thread only.
 */
OG_MUST_CHECK int og__pack_open(struct og_pack **out, struct og_places at,
                                const struct og_group *group, int n_reads,
                                const struct og_reader_options *opt, struct og_budget *b,
                                struct og_err *err);
void og__pack_close(struct og_pack *p); /* accepts NULL */

/* Rows that several batches miss were left out of the chunks and are in another file
 * (gather/shared.h): from now on a batch's rows come from both. -EINVAL unless they fit together.
 */
OG_MUST_CHECK int og__pack_add_shared(struct og_pack *p, struct og_places at,
                                      const struct og_group *group,
                                      const struct og_reader_options *opt, struct og_err *err);

/* It was made by this run: then what is damaged is a disk's doing, and the hint says so. */
void og__pack_is_own(struct og_pack *p);

uint32_t og__pack_batches(const struct og_pack *p);
uint64_t og__pack_rows(const struct og_pack *p, uint32_t batch);
/* -EINVAL unless chunk `batch` holds just these rows, or it and the shared ones together. */
OG_MUST_CHECK int og__pack_holds(const struct og_pack *p, uint32_t batch, const uint32_t *rows,
                                 uint64_t n, struct og_err *err);

/* Start reading a batch: its rows arrive at out, one behind another and not a byte more; shared
 * ones first, then og__pack_rows of its chunk. `read` < n_reads is free. */
OG_MUST_CHECK int og__pack_begin(struct og_pack *p, int read, uint32_t batch, char *out,
                                 struct og_err *err);
/* -EIO for a chunk, or shared rows, that are not what was written. After a failure, of begin as
 * well, nothing is read to out any more. */
OG_MUST_CHECK int og__pack_finish(struct og_pack *p, int read, struct og_io_counts *counts,
                                  struct og_err *err);
/* Wait for what was begun, whatever comes. */
void og__pack_give_up(struct og_pack *p, int read);
/* Miss i is row where[i] of what arrived; NULL: row i. Valid until `read` begins again. */
const uint32_t *og__pack_where(const struct og_pack *p, int read);

#endif
