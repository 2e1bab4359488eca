/* Positions of ids in a sorted list that exceeds memory. First put all ids, in any order; then
 * compute all positions; then take them in the order of the puts. */
#ifndef OG_ID_RANGES_H
#define OG_ID_RANGES_H

#include "dataset/import/id_runs.h"

struct og_id_ranges {
    struct og_budget *budget;
    const struct og_id_runs *list; /* one run, of `n_ids` */
    uint64_t n_ids, ids;           /* of a range */
    size_t n;                      /* ranges */
    uint64_t *least;               /* [n] first id of each */
    int fd;
    uint64_t end;    /* of the file */
    uint64_t pushed; /* on its way to the disk */
    size_t block;    /* bytes */
    char *buffer;    /* [n, block] */
    struct og_id_stream {
        uint64_t at; /* of its present block */
        uint64_t n;  /* ids put; later, ids not yet taken */
        size_t next, filled;
    } * stream; /* [n] */
};

/* Takes at most a quarter of the budget's remaining memory, and as much again while it computes
 * positions. */
OG_MUST_CHECK int og__id_ranges_open(struct og_id_ranges *r, const struct og_id_runs *list,
                                     struct og_budget *b, struct og_err *err);
void og__id_ranges_close(struct og_id_ranges *r); /* also on a zeroed one */

OG_MUST_CHECK int og__id_ranges_put(struct og_id_ranges *r, const uint64_t *id, size_t n,
                                    struct og_err *err);
/* Computes all positions. Call after the last put. */
OG_MUST_CHECK int og__id_ranges_find(struct og_id_ranges *r, struct og_err *err);
OG_MUST_CHECK int og__id_ranges_take(struct og_id_ranges *r, const uint64_t *id, size_t n,
                                     uint32_t *place, struct og_err *err);

#endif
