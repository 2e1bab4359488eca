/* Prefixes: the allowed part of lists on disk that are sorted by time. What has their times is read
 * by blocks, in rounds of a search, for all lists at once:
 *
 *   list of times   | block | block | block | block | block |
 *                                      ^ its last time is allowed: the end is after it
 *
 * Edges have times on disk, or those of their sources in memory. A round looks where the time would
 * be if those between known times were evenly spread, at a few blocks. Every third round looks in
 * the middle. Blocks stay in memory, so that none is read again. */
#ifndef OG_SAMPLE_PREFIXES_H
#define OG_SAMPLE_PREFIXES_H

#include "dataset/on_disk.h"
#include "dataset/times.h"
#include "sample/from_disk.h"
#include "sample/sample.h"

struct og_prefixes;

/* A list, and where the search has come to. The caller fills all but `low` and `high`, or with
 * `known` these. */
struct og_prefix {
    uint32_t node;          /* whose list it is */
    bool known;             /* it is not searched */
    int64_t begin, n;       /* edges of the list */
    int64_t earliest, time; /* that are allowed */
    int64_t low, high;      /* found: entries low to high of the list */
};

/* Opens the lists of a relation on disk, which are sorted by `times`. The topology's options
 * configure reads. `scattered`: draws come from all over the allowed part. Then lists of sources
 * that a second request would cost more than are looked at whole. */
OG_MUST_CHECK int og__prefixes_open(struct og_prefixes **out, const struct og_topology *t,
                                    const struct og_list_times *times, bool scattered,
                                    struct og_budget *b, struct og_sample_reads *read,
                                    struct og_err *err);
void og__prefixes_close(struct og_prefixes *p); /* also NULL */
size_t og__prefixes_bytes(const struct og_topology_disk_options *opt);
/* Lists that are searched together, at most. */
uint32_t og__prefixes_lists(const struct og_topology_disk_options *opt);

/* Finds the allowed parts of the first of n lists, up to so many, and counts reads. Stores in *n
 * how many. Refuses lists that it sees are not sorted, as after times were changed. */
OG_MUST_CHECK int og__prefixes_find(struct og_prefixes *p, struct og_prefix *list, uint32_t *n,
                                    struct og_sample_reads *read, struct og_err *err);
/* Blocks of the sources that the last call read; NULL: it read times. */
const struct og_held_blocks *og__prefixes_sources(const struct og_prefixes *p);

#endif
