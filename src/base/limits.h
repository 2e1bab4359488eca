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

#endif
