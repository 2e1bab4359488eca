/* Prefixes: the allowed part of lists on disk that are sorted by time. Their times are read by
 * blocks, in rounds of a search, for all lists at once:
 *
 *   list of times   | block | block | block | block | block |
 *                                      ^ its last time is allowed: the end is after it
 *
 * A round looks where the time would be if those between known times were evenly spread. Every
 * third round looks in the middle. */
#ifndef OG_SAMPLE_PREFIXES_H
#define OG_SAMPLE_PREFIXES_H

#include "dataset/on_disk.h"
#include "sample/sample.h"

struct og_prefixes;
enum { OG__PREFIXES = 4096 }; /* lists that are searched together, at most */

/* A list, and where the search has come to. The caller fills all but `low` and `high`. */
struct og_prefix {
    uint32_t node;          /* whose list it is */
    int64_t begin, n;       /* edges of the list */
    int64_t earliest, time; /* that are allowed */
    int64_t low, high;      /* found: entries low to high of the list */
};

/* Opens the times of a relation's edges, on disk; the topology's options configure reads. */
OG_MUST_CHECK int og__prefixes_open(struct og_prefixes **out, const struct og_topology *t,
                                    const struct og_npy *times, struct og_budget *b,
                                    struct og_sample_reads *read, struct og_err *err);
void og__prefixes_close(struct og_prefixes *p); /* also NULL */
size_t og__prefixes_bytes(const struct og_topology_disk_options *opt);

/* Finds the allowed parts of up to OG__PREFIXES lists, and counts reads. Refuses a block that is
 * not sorted, as after times were changed. */
OG_MUST_CHECK int og__prefixes_find(struct og_prefixes *p, struct og_prefix *list, uint32_t n,
                                    struct og_sample_reads *read, struct og_err *err);

#endif
