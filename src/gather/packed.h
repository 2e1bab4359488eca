/* packed: what files of rows written anew have in common, the container (pack.h) and the shared
 * rows beside it (shared.h): how they are made, what their heads say of a row, checksums. */
#ifndef OG_GATHER_PACKED_H
#define OG_GATHER_PACKED_H

#include "dataset/graph.h"
#include "gather/packed_files.h"
#include "io/io.h"

#include <signal.h>

/* ---- making one ---- */

struct og_pack_options {
    /* The file, or its parts on several disks; what was there is replaced when it is whole. */
    struct og_places at;
    size_t memory;                     /* bytes for shared rows; from the budget as "packing" */
    int writers;                       /* threads a disk; 0 = what suits most disks */
    struct og_reader_options reader;   /* of the sweep; its buffers are "read buffers" */
    const volatile sig_atomic_t *stop; /* may be NULL */
    /* May be NULL: sees all rows that the sweep of a container fetches, part by part, ascending;
     * those of nodes[i] lie at rows + i * row_bytes. The caller's thread. */
    int (*pass)(void *arg, const uint32_t *nodes, uint32_t n, const char *rows, struct og_err *err);
    void *arg;
};

struct og_pack_counts {
    struct og_io_counts sweep;
    uint64_t bytes_written, writes;
    bool direct; /* past the page cache */
};

/* ---- rows ---- */

/* Bytes of a row and its dtype as one number of a head; false = no such rows. */
uint64_t og__pack_put_row(uint64_t row_bytes, enum og_dtype dtype);
bool og__pack_get_row(uint64_t number, uint64_t *row_bytes, enum og_dtype *dtype);
/* -EINVAL unless rows like these of the dataset with these contents are what group keeps. */
OG_MUST_CHECK int og__pack_suits(const struct og_group *group, uint64_t contents,
                                 uint64_t row_bytes, enum og_dtype dtype, const char *name,
                                 struct og_err *err);

/* ---- checksums ---- */

uint64_t og__pack_hash_ids(const uint32_t *rows, uint64_t n);
/* XXH3 times an odd number that tells the place. Summed up it does not matter in what order, or by
 * whom, parts are looked at; and what lies in the place of another is found. */
uint64_t og__pack_hash_at(const void *data, size_t bytes, uint64_t place);
/* The sum over n blocks of a file from number `first` on. */
uint64_t og__pack_hash_blocks(const char *blocks, uint64_t n, uint64_t first);

/* ---- hints ---- */

extern const char og__pack_remake_hint[]; /* a file made beforehand is not the right one */
extern const char og__pack_disk_hint[];   /* one made by this run is not what was written */

#endif
