/* packed: the common parts of packed files (pack.h) and of shared rows (shared.h). Options of
 * writing them, a row's description in their heads, checksums. */
#ifndef OG_GATHER_PACKED_H
#define OG_GATHER_PACKED_H

#include "dataset/graph.h"
#include "gather/packed_files.h"
#include "io/io.h"

#include <signal.h>

/* ---- writing ---- */

struct og_pack_options {
    /* The file, or its parts on several disks. A former file is replaced when the new one is
     * complete. */
    struct og_places at;
    size_t memory;                     /* bytes for shared rows; charged as "packing" */
    int writers;                       /* threads per disk; 0 = a default for most disks */
    struct og_reader_options reader;   /* of the scan; its buffers are "read buffers" */
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* May be NULL. Receives all rows that the scan of a packed file reads, part by part, ascending;
     * row i is at rows + i * row_bytes. Called in the caller's thread. */
    int (*pass)(void *arg, const uint32_t *nodes, uint32_t n, const char *rows, struct og_err *err);
    void *arg;
};

struct og_pack_counts {
    struct og_io_counts sweep;
    uint64_t bytes_written, writes;
    bool direct; /* bypassing the page cache */
};

/* ---- rows ---- */

/* Encode a row's bytes and dtype as one number of a head, and decode it; false = invalid. */
uint64_t og__pack_put_row(uint64_t row_bytes, enum og_dtype dtype);
bool og__pack_get_row(uint64_t number, uint64_t *row_bytes, enum og_dtype *dtype);
/* Returns -EINVAL unless the group stores such rows of the dataset with these contents. */
OG_MUST_CHECK int og__pack_suits(const struct og_group *group, uint64_t contents,
                                 uint64_t row_bytes, enum og_dtype dtype, const char *name,
                                 struct og_err *err);

/* ---- checksums ---- */

uint64_t og__pack_hash_ids(const uint32_t *rows, uint64_t n);
/* XXH3 times an odd number made from the position. Sums of these do not depend on the order of
 * parts, and detect parts in the wrong position. */
uint64_t og__pack_hash_at(const void *data, size_t bytes, uint64_t place);
/* Sum of og__pack_hash_at over n blocks of a file, from block number `first`. */
uint64_t og__pack_hash_blocks(const char *blocks, uint64_t n, uint64_t first);

/* ---- hints ---- */

extern const char og__pack_remake_hint[]; /* a file made earlier is not the right one */
extern const char
    og__pack_disk_hint[]; /* a file made by this run has other data than was written */

#endif
