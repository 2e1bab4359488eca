/* Placement of a packed file: in one piece, or striped over several disks.
 *
 *   byte          0 .. u-1 | u .. 2u-1 | 2u .. 3u-1 | ...       units of whole blocks
 *   part of two      0     |     1     |     0      |           after the first `aside` bytes of
 *   (io/stripes.h)                                              each part */
#ifndef OG_GATHER_PACKED_FILES_H
#define OG_GATHER_PACKED_FILES_H

#include "base/file.h"
#include "base/places.h"
#include "io/stripes.h"
#include "plan/packing.h"

extern const char og__pack_full_hint[]; /* the disk is full */

struct og_packed_lay {
    struct og_stripes blocks;
    uint64_t aside;
};

/* The location of byte `at` of the rows, and how many bytes follow in its unit. */
struct og_packed_spot {
    uint32_t part;
    uint64_t at, n;
};
struct og_packed_spot og__packed_spot(const struct og_packed_lay *lay, uint64_t at);
/* Size of a part of `bytes` bytes of rows (whole blocks), with `aside`. */
uint64_t og__packed_part_bytes(const struct og_packed_lay *lay, uint32_t part, uint64_t bytes);

/* ---- writing ---- */

struct og_packed_out {
    struct og_packed_lay lay;
    uint32_t n;
    struct og_packed_part {
        struct og_newfile file;
        int direct_fd; /* -1 where direct writes are refused */
    } part[OG_MOST_PARTS];
};

/* Create new files, with space for bytes[i] reserved first if the file system can. The block at
 * byte 0 is overwritten last. og__packed_abandon must follow, also after a failure. */
OG_MUST_CHECK int og__packed_create(struct og_packed_out *out, struct og_places at,
                                    const struct og_packed_lay *lay, const uint64_t *bytes,
                                    struct og_err *err);
/* Write through the page cache. */
OG_MUST_CHECK int og__packed_put(const struct og_packed_out *out, const void *data, uint64_t bytes,
                                 uint64_t at, struct og_err *err);
/* Write whole blocks from memory aligned to blocks. Bypasses the page cache if the file system
 * allows; writes to all disks in parallel. */
OG_MUST_CHECK int og__packed_write(const struct og_packed_out *out, const char *data,
                                   uint64_t bytes, uint64_t at, struct og_err *err);
/* Flush a part's writes through the page cache to disk, and drop them from the cache. */
void og__packed_push(const struct og_packed_part *part, uint64_t at, uint64_t bytes);
bool og__packed_is_direct(const struct og_packed_out *out); /* for all parts */
OG_MUST_CHECK int og__packed_commit(struct og_packed_out *out, struct og_err *err);
void og__packed_abandon(struct og_packed_out *out); /* also after commit; accepts a zeroed one */

#endif
