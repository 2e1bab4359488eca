/* What the files of disjoint trees share. Nobody else includes this. */
#ifndef OG_SAMPLE_DISJOINT_PARTS_H
#define OG_SAMPLE_DISJOINT_PARTS_H

#include "dataset/on_disk.h"
#include "dataset/times.h"
#include "sample/hop.h"
#include "sample/lists.h"

enum { OG__MOST_WIDTH = 64 }; /* places of a destination that there is room for at first */

/* ---- disjoint.c ---- */

/* What a destination may sample. */
struct og_allowed {
    int64_t first, n;
    const uint32_t *order;        /* entry first + i: place in the list; NULL: first + i, or */
    const struct og_timed *timed; /* the same from disk; NULL: in memory, or arranged */
};

/* The times of the hop's relation; NULL: it has none. */
const struct og_list_times *og__hop_times(const struct og_hop *h);
/* The earliest time that a tree of this time may sample. */
int64_t og__tree_earliest(const struct og_hop *h, int64_t time);
/* The allowed part of a list in memory, which is sorted; without times all of it. */
struct og_allowed og__allowed_in_list(const struct og_hop *h, const struct og_list *list,
                                      int64_t time);
/* Returns the first of the allowed ones that v may draw, and in *n how many it draws. They are
 * those from it on; with *picks, those at these distances from it. */
int64_t og__tree_draw(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_allowed *a,
                      const uint32_t **picks, int64_t *n);

/* ---- disjoint_blocks.c ---- */

/* Its state in a sampler, of one relation. */
struct og_tree_blocks;
void og__tree_blocks_close(struct og_sampler *s, struct og_tree_blocks *b); /* also NULL */
/* With `searches`, lists have times. */
size_t og__tree_blocks_bytes(const struct og_topology_disk_options *opt, int64_t longest,
                             bool searches);
/* Samples the hop of a batch by itself: from lists that are sorted by time, or without times. Opens
 * *b at first. */
OG_MUST_CHECK int og__tree_blocks_hop(struct og_hop *h, struct og_tree_blocks **b,
                                      struct og_err *err);

#endif
