/* pack: writes packed files from the layout of a packing, and reads them back chunk by chunk.
 *
 *     feature file ──> partition ──> pieces of chunks ──> packed file ──> chunk into staging
 *          reader thread     the caller's        writer threads       the loader, batch by batch
 *
 *     packed file | head, one block | table, whole blocks | chunk 0 | chunk 1 | ...
 *
 *     head   bytes 0-7    "OGPACK2\n"
 *            8-15         which dataset (dataset/identity.h)
 *            16-19        bytes of a row
 *            20-23        dtype of its elements (enum og_dtype)
 *            24-31        batches
 *            32-39        rows in all chunks
 *            40-47        bytes of the file
 *            48-55        XXH3 of the table's blocks, seeded with the XXH3 of bytes 0-47
 *     table  per batch: byte of its chunk, rows in it, XXH3 of their node ids as u32. Also the sum
 *            of og__pack_hash_at over its blocks, at positions from the beginning of the file
 *
 * All numbers are little endian and u64, except for the two u32. Chunks begin on blocks of 4096
 * bytes; head, table and chunks are padded with zeros to whole blocks.
 *
 * Over several disks the file is striped in units of a MiB (packed_files.h). So all disks read a
 * chunk at once. One packed file per disk would not do that, since only one file is read at a
 * time. */
#ifndef OG_GATHER_PACK_H
#define OG_GATHER_PACK_H

#include "gather/packed.h"

/* ---- writing ---- */

/* Write a packed file in one sequential scan of the group's features, with the memory assigned by
 * og__sweep_share. On failure, or OG_INTERRUPTED after *stop, no file is left. Returns -ENOSPC
 * before the scan if the file system can reserve space. A scratch folder also removes what a killed
 * process leaves (base/scratch.h). The dataset is only read. */
OG_MUST_CHECK int og__pack_write(const struct og_group *group, const struct og_packing *p,
                                 const struct og_sweep *sweep, const struct og_pack_options *opt,
                                 struct og_budget *b, struct og_pack_counts *counts,
                                 struct og_err *err);

/* ---- the format ---- */

struct og_pack_head {
    uint64_t dataset; /* identity of its contents */
    uint64_t row_bytes;
    enum og_dtype dtype; /* of rows */
    uint64_t n_batches, n_rows, file_bytes;
    uint64_t check;
};
struct og_pack_entry {
    uint64_t offset, rows, ids, check;
};
/* Parse the head of a file of file_bytes from its first len bytes. Trusts nothing: -EINVAL. `name`
 * is for messages. */
OG_MUST_CHECK int og__pack_parse(struct og_pack_head *h, const void *data, size_t len,
                                 uint64_t file_bytes, const char *name, struct og_err *err);
/* Check the table up to the first chunk: chunks must be consecutive and within the file. */
OG_MUST_CHECK int og__pack_check(const struct og_pack_head *h, const struct og_pack_entry *table,
                                 const char *name, struct og_err *err);
/* The striping of a packed file over so many disks. */
struct og_packed_lay og__pack_lay(uint32_t parts);
/* Write the head, one block. Sets h->check from the table. */
void og__pack_format(struct og_pack_head *h, const struct og_pack_entry *table,
                     char block[OG__PACK_BLOCK]);

/* ---- reading ---- */

struct og_pack;

/* Open a packed file for n_reads chunks in flight. Returns -EINVAL if it is not a packed file or of
 * another dataset. Charges table and block lists as "packing", buffers as "read buffers". One
 * thread only. */
OG_MUST_CHECK int og__pack_open(struct og_pack **out, struct og_places at,
                                const struct og_group *group, int n_reads,
                                const struct og_reader_options *opt, struct og_budget *b,
                                struct og_err *err);
void og__pack_close(struct og_pack *p); /* accepts NULL */

/* Add the file of rows that several batches miss (gather/shared.h). They are not in the chunks;
 * batches then read from both files. Returns -EINVAL unless the two match. */
OG_MUST_CHECK int og__pack_add_shared(struct og_pack *p, struct og_places at,
                                      const struct og_group *group,
                                      const struct og_reader_options *opt, struct og_err *err);

/* Mark the file as made by this run. Damage then is a disk error, and the hint says so. */
void og__pack_is_own(struct og_pack *p);

uint32_t og__pack_batches(const struct og_pack *p);
uint64_t og__pack_rows(const struct og_pack *p, uint32_t batch);
/* Returns -EINVAL unless chunk `batch` has exactly these rows, with the shared rows if there are
 * any. */
OG_MUST_CHECK int og__pack_holds(const struct og_pack *p, uint32_t batch, const uint32_t *rows,
                                 uint64_t n, struct og_err *err);

/* Start to read a batch. Its rows arrive at `out` consecutively, not a byte more: first the shared
 * ones, then og__pack_rows of its chunk. `read` < n_reads is free. */
OG_MUST_CHECK int og__pack_begin(struct og_pack *p, int read, uint32_t batch, char *out,
                                 struct og_err *err);
/* Wait for a batch. Returns -EIO if the checksum of the chunk or of the shared rows is wrong. After
 * a failure, also of begin, nothing is written to `out` any more. */
OG_MUST_CHECK int og__pack_finish(struct og_pack *p, int read, struct og_io_counts *counts,
                                  struct og_err *err);
/* Wait for a read that is not needed any more. */
void og__pack_give_up(struct og_pack *p, int read);
/* Row index of each miss in `out`; NULL: miss i is row i. Valid until the next begin of `read`. */
const uint32_t *og__pack_where(const struct og_pack *p, int read);

#endif
