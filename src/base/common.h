/* common: memory that processes of one machine have in common, each part of it filled once, and
 * given back to the kernel when nobody has it any more.
 *
 *   | lock, what there is | part | part | ...        one file in memory, which no folder names
 *
 * One process makes it, others open it by what the maker tells them. Who asks for a part first
 * fills it, while others that ask wait; all have it, read-only, from then on, but for areas.
 * Whoever is killed before a part is full leaves it to the next; the file is gone with the last
 * process that has it open, however that ends. */
#ifndef OG_COMMON_H
#define OG_COMMON_H

#include "base/base.h"

struct og_common;

/* By which others find it: numbers that hold as long as its maker lives and has it open. */
struct og_common_place {
    int64_t pid, fd;
    uint64_t token; /* of this one and no other */
};

OG_MUST_CHECK int og__common_make(struct og_common **out, struct og_err *err);
struct og_common_place og__common_place(const struct og_common *c);
/* -ENOENT where it is not to be found: its maker is of another container, or another user's. */
OG_MUST_CHECK int og__common_open(struct og_common **out, const struct og_common_place *place,
                                  struct og_err *err);
/* Once all pieces are given back. NULL is none. */
void og__common_close(struct og_common *c);

/* A part, and how it is filled: `fill` gets zeroed memory of `bytes`, and fails as a call does. */
struct og_common_part {
    uint64_t key; /* what it holds: never two things of one key and size */
    size_t bytes; /* above 0 */
    int (*fill)(void *arg, void *at, struct og_err *err);
    void *arg;
    void *place; /* where it is to lie, on a page; what is mapped there gives way. NULL: anywhere */
};
/* What a process has of a part. */
struct og_common_piece {
    struct og_common *of; /* NULL: none */
    uint32_t number;
    bool placed; /* where it was to lie: that stays taken once it is given back */
    size_t bytes;
    const void *at; /* aligned to a page */
};
/* *out: all of the part, until it is given back. What fill fails with; -ENOSPC where there are too
 * many parts. One thread of a process at a time. */
OG_MUST_CHECK int og__common_take(struct og_common *c, const struct og_common_part *part,
                                  struct og_common_piece *out, struct og_err *err);
/* A part that nobody fills, of zeros, which all may write; who reads what when is theirs to know.
 * Room is taken before it is written, else a page that cannot be had would be a signal. place: as
 * of other parts. */
OG_MUST_CHECK int og__common_area(struct og_common *c, uint64_t key, size_t bytes, void *place,
                                  struct og_common_piece *out, struct og_err *err);
OG_MUST_CHECK int og__common_room(const struct og_common_piece *p, size_t from, size_t bytes,
                                  struct og_err *err);
/* Of `bytes` from a place in it: what this process has touched, in whole pages. 0 where the kernel
 * does not say. */
size_t og__common_touched(const struct og_common_piece *p, size_t from, size_t bytes);
/* None does nothing. */
void og__common_give(struct og_common_piece *p);

#endif
