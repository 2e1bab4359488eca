/* Limits on this process: free memory, control groups with all their parents, CPU affinity.
 * Containers set limits on a group, and may run processes in subgroups. */
#ifndef OG_LIMITS_H
#define OG_LIMITS_H

#include "base/base.h"

/* og__memory_free and og__cpu_count (base.h) of a machine with /proc and /sys under `root`; "" is
 * this machine. */

/* Bytes left on the machine, or in the control group with the least. Inactive page cache of a group
 * counts as left. */
size_t og__memory_free_at(const char *root);

/* Calls `one` for each group that limits this process's memory, the nearest first. */
void og__memory_groups_at(const char *root,
                          void (*one)(void *arg, const char *folder, uint64_t limit), void *arg);

/* Cores' worth of CPU time that control groups grant, rounded up; INT_MAX without a quota. */
int og__cpu_quota_at(const char *root);

/* CPU cores that the scheduler allows this process, its cpuset included; one bit a core. */
enum { OG__MOST_CPUS = 8192 };
struct og_cpus {
    unsigned char bits[OG__MOST_CPUS / 8];
};
void og__cpu_allowed(struct og_cpus *out);

/* The CPU cores that process `own` of n on a machine may keep busy. Process i is allowed all[i].
 * Processes that share a core divide it. At least 1; 0 if all[own] is unknown. */
int og__cpu_share(const struct og_cpus *all, int n, int own);

#endif
