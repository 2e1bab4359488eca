/* What others leave this process: the machine, its control groups and all above them, its
 * affinity. Containers set limits on a group of theirs, and processes run in groups within it. */
#ifndef OG_LIMITS_H
#define OG_LIMITS_H

#include "base/base.h"

/* og__memory_free and og__cpu_count (base.h) of a machine whose /proc and /sys lie under `root`;
 * "" is this one. */

/* Bytes: what is left of the machine's memory, or of the group's that has least. Page cache that a
 * group has not used lately counts as left. */
size_t og__memory_free_at(const char *root);

/* Calls `one` for each group that limits this process's memory, the nearest first. */
void og__memory_groups_at(const char *root,
                          void (*one)(void *arg, const char *folder, uint64_t limit), void *arg);

/* Processors' worth of time that groups grant, rounded up; INT_MAX where none sets a quota. */
int og__cpu_quota_at(const char *root);

/* Processors that the scheduler may put this process on, its cpuset's included: a bit each. */
enum { OG__MOST_PROCESSORS = 8192 };
struct og_processors {
    unsigned char bits[OG__MOST_PROCESSORS / 8];
};
void og__cpu_allowed(struct og_processors *out);

/* How many processors number `own` of n processes on a machine may keep busy, each of which is
 * allowed those of all[i]: of one that several are allowed each has its part. At least 1; 0 where
 * its own are not known. */
int og__cpu_share(const struct og_processors *all, int n, int own);

#endif
