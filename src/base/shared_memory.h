/* common: a memory segment shared by processes of one machine. Each part is filled once and freed
 * with its last user.
 *
 *   | lock, table of parts | part | part | ...        one memfd, without a name in any folder
 *
 * One process creates the segment; others open it by an og_shared_memory_place. The first process
 * that requests a part fills it while later ones wait. Then all have it read-only, except areas. If
 * a process is killed before its part is full, the next one fills it. The segment vanishes with the
 * last process that has it open. */
#ifndef OG_SHARED_MEMORY_H
#define OG_SHARED_MEMORY_H

#include "base/base.h"

struct og_shared_memory;

/* Identifies a segment to other processes, while its creator runs and has it open. */
struct og_shared_memory_place {
    int64_t pid, fd;
    uint64_t token; /* unique to this segment */
};

OG_MUST_CHECK int og__shared_memory_make(struct og_shared_memory **out, struct og_err *err);
struct og_shared_memory_place og__shared_memory_place(const struct og_shared_memory *c);
/* Opens a segment. -ENOENT: not found, as when its creator is in another container or another
 * user's. */
OG_MUST_CHECK int og__shared_memory_open(struct og_shared_memory **out,
                                         const struct og_shared_memory_place *place,
                                         struct og_err *err);
/* Call after all pieces are released. NULL does nothing. */
void og__shared_memory_close(struct og_shared_memory *c);

/* A part and its filler: `fill` gets `bytes` of zeroed memory, and returns 0 or a negative
 * errno. */
struct og_shared_memory_part {
    uint64_t key; /* identifies the content: key and size are unique to it */
    size_t bytes; /* above 0 */
    int (*fill)(void *arg, void *at, struct og_err *err);
    void *arg;
    void *place; /* page-aligned address to map it at; replaces mappings there. NULL: anywhere */
};
/* A part as mapped in one process. */
struct og_shared_memory_piece {
    struct og_shared_memory *of; /* NULL: none */
    uint32_t number;
    bool placed; /* mapped at a requested address: the range stays reserved after release */
    size_t bytes;
    const void *at; /* aligned to a page */
};
/* Maps the whole part; *out is valid until released. Returns the error of `fill`, or -ENOSPC for
 * too many parts. One thread of a process at a time. */
OG_MUST_CHECK int og__shared_memory_take(struct og_shared_memory *c,
                                         const struct og_shared_memory_part *part,
                                         struct og_shared_memory_piece *out, struct og_err *err);
/* Maps an area: a zeroed part that nobody fills and every process may write. Callers synchronize
 * access. og__shared_memory_room reserves its memory in advance: a page that the kernel cannot
 * supply would raise a signal. place: as in og_shared_memory_part. */
OG_MUST_CHECK int og__shared_memory_area(struct og_shared_memory *c, uint64_t key, size_t bytes,
                                         void *place, struct og_shared_memory_piece *out,
                                         struct og_err *err);
OG_MUST_CHECK int og__shared_memory_room(const struct og_shared_memory_piece *p, size_t from,
                                         size_t bytes, struct og_err *err);
/* Bytes of [from, from + bytes) that this process has touched, in whole pages. 0: the kernel does
 * not report it. */
size_t og__shared_memory_touched(const struct og_shared_memory_piece *p, size_t from, size_t bytes);
/* Releases a piece; a piece without a segment is ignored. */
void og__shared_memory_give(struct og_shared_memory_piece *p);

#endif
