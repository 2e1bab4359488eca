/* Sparse node ids -> 0, 1, 2, ... in the order of the ids. */
#ifndef OG_IMPORT_IDS_H
#define OG_IMPORT_IDS_H

#include "dataset/import/id_ranges.h"

struct og_ids {
    struct og_budget *budget;
    bool wide;        /* a sorted list instead of a bitmap, */
    bool far;         /* and on disk */
    uint64_t enough;  /* bytes that a bitmap may take in any case */
    uint64_t most;    /* largest id so far */
    int64_t n;        /* distinct ids, once settled */
    uint64_t *bits;   /* one an id; address space is reserved for 2^32 */
    size_t charged;   /* bytes of it that may be touched */
    uint32_t *before; /* settled: how many ids lie below each word */
    uint64_t *list;   /* wide: open addressing, then sorted */
    uint64_t secret;  /* so that nobody can choose ids that all meet at one place of it */
    uint64_t room, most_room;
    struct og_id_runs runs;     /* what did not fit the list */
    struct og_id_ranges ranges; /* far: the places of the ids of all edges */
};

/* The ids come from a text of so many bytes: what they take is in proportion. What does not fit
 * memory goes to a file without a name in `folder`, which must outlive it. */
OG_MUST_CHECK int og__ids_open(struct og_ids *ids, uint64_t text_bytes, const char *folder,
                               struct og_budget *b, struct og_err *err);
void og__ids_close(struct og_ids *ids);

/* Makes room for ids up to `most`. False: they do not fit a bitmap; then widen, and mark all of
 * them again. */
bool og__ids_cover(struct og_ids *ids, uint64_t most);
OG_MUST_CHECK int og__ids_widen(struct og_ids *ids, struct og_err *err);

/* Notes ids, all covered. Any thread, unless wide: then one, and it may fail. */
OG_MUST_CHECK int og__ids_mark(struct og_ids *ids, const uint64_t *id, size_t n,
                               struct og_err *err);

/* All were marked: counts them. */
OG_MUST_CHECK int og__ids_settle(struct og_ids *ids, struct og_err *err);
/* Are they 0 ... n - 1 already? */
static inline bool og__ids_dense(const struct og_ids *ids)
{
    return (uint64_t)ids->n == ids->most + 1;
}
/* Places of marked ids, unless far. Any thread. */
void og__ids_rank(const struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank);

/* Far: the ids of all edges are put, then the places of all are found, then they are taken in the
 * order of the puts. One thread. */
OG_MUST_CHECK int og__ids_put(struct og_ids *ids, const uint64_t *id, size_t n, struct og_err *err);
OG_MUST_CHECK int og__ids_find(struct og_ids *ids, struct og_err *err);
OG_MUST_CHECK int og__ids_take(struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank,
                               struct og_err *err);

/* Ids in order, from *at on (0 at first, then left alone by the caller): at most `room`, *n of
 * them, 0 at the end. */
OG_MUST_CHECK int og__ids_list(const struct og_ids *ids, uint64_t *at, int64_t *out, size_t room,
                               size_t *n, struct og_err *err);

#endif
