/* Where a file of rows written anew lies: in one piece, or in parts over several disks.
 *
 *   byte          0 .. u-1 | u .. 2u-1 | 2u .. 3u-1 | ...       units of whole blocks
 * (io/stripes.h) part of two      0     |     1     |     0      |           behind the first
 * `aside` bytes of each part
 */
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

/* Byte `at` of the rows, and how many from there on lie in the same unit. */
struct og_packed_spot {
    uint32_t part;
    uint64_t at, n;
};
struct og_packed_spot og__packed_spot(const struct og_packed_lay *lay, uint64_t at);
/* What a part has of so many bytes of rows, whole blocks, with what is aside. */
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

/* New files with room for bytes[i] before anything is read, where the file system can reserve it.
 * What is written first at byte 0 is overwritten last. After a failure, too, abandon ends it. */
OG_MUST_CHECK int og__packed_create(struct og_packed_out *out, struct og_places at,
                                    const struct og_packed_lay *lay, const uint64_t *bytes,
                                    struct og_err *err);
/* By way of the page cache. */
OG_MUST_CHECK int og__packed_put(const struct og_packed_out *out, const void *data, uint64_t bytes,
                                 uint64_t at, struct og_err *err);
/* Whole blocks from memory that is aligned to them, past the page cache where that is allowed; all
 * disks at a time. */
OG_MUST_CHECK int og__packed_write(const struct og_packed_out *out, const char *data,
                                   uint64_t bytes, uint64_t at, struct og_err *err);
/* What was written to a part by way of the page cache goes to the disk, and makes room. */
void og__packed_push(const struct og_packed_part *part, uint64_t at, uint64_t bytes);
bool og__packed_is_direct(const struct og_packed_out *out); /* all of it */
OG_MUST_CHECK int og__packed_commit(struct og_packed_out *out, struct og_err *err);
void og__packed_abandon(struct og_packed_out *out); /* also after commit; accepts a zeroed one */

#endif
