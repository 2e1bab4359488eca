/* Maps sparse node ids to 0, 1, 2, ... in the order of the ids. */
#ifndef OG_IMPORT_IDS_H
#define OG_IMPORT_IDS_H

#include "dataset/import/id_ranges.h"

struct og_ids {
    struct og_budget *budget;
    bool wide;        /* a sorted list instead of a bitmap, */
    bool far;         /* and on disk */
    uint64_t enough;  /* bytes that a bitmap may always take */
    uint64_t most;    /* largest id so far */
    int64_t n;        /* distinct ids, once settled */
    uint64_t *bits;   /* one bit an id; address space is reserved for 2^32 */
    size_t charged;   /* bytes of it that may be touched */
    uint32_t *before; /* after settling: the number of ids below each word */
    uint64_t *list;   /* wide: open addressing, then sorted */
    uint64_t secret;  /* hash key, so that no input can force collisions */
    uint64_t room, most_room;
    struct og_id_runs runs;     /* what did not fit the list */
    struct og_id_ranges ranges; /* far: the positions of the ids of all edges */
};

/* The ids come from a text of text_bytes bytes, which bounds their memory. Ids that exceed memory
 * go to a nameless file in `folder`, which must outlive this. */
OG_MUST_CHECK int og__ids_open(struct og_ids *ids, uint64_t text_bytes, const char *folder,
                               struct og_budget *b, struct og_err *err);
void og__ids_close(struct og_ids *ids);

/* Makes room for ids up to `most`. False: they do not fit a bitmap. Then widen, and mark all of
 * them again. */
bool og__ids_cover(struct og_ids *ids, uint64_t most);
OG_MUST_CHECK int og__ids_widen(struct og_ids *ids, struct og_err *err);

/* Marks ids, all covered. Any thread; if wide, one thread, and it may fail. */
OG_MUST_CHECK int og__ids_mark(struct og_ids *ids, const uint64_t *id, size_t n,
                               struct og_err *err);

/* Call when all are marked: counts them. */
OG_MUST_CHECK int og__ids_resolve(struct og_ids *ids, struct og_err *err);
/* Are they 0 ... n - 1 already? */
static inline bool og__ids_dense(const struct og_ids *ids)
{
    return (uint64_t)ids->n == ids->most + 1;
}
/* Places of marked ids, unless far. Any thread. */
void og__ids_rank(const struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank);

/* Far: put the ids of all edges, compute all positions, then take them. Takes have the order of
 * puts. One thread. */
OG_MUST_CHECK int og__ids_put(struct og_ids *ids, const uint64_t *id, size_t n, struct og_err *err);
OG_MUST_CHECK int og__ids_find(struct og_ids *ids, struct og_err *err);
OG_MUST_CHECK int og__ids_take(struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank,
                               struct og_err *err);

/* Returns the next ids in order: at most `room`, *n of them, 0 at the end. The caller sets *at to 0
 * at first, and then leaves it. */
OG_MUST_CHECK int og__ids_list(const struct og_ids *ids, uint64_t *at, int64_t *out, size_t room,
                               size_t *n, struct og_err *err);

#endif
