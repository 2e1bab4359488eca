/* Which disk a path is on, and what the kernel counts of that disk. */
#include "io/io.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The kernel's name for the disk of a block device. For a partition, its whole disk. malloc'ed;
 * NULL without one, as for network and overlay file systems. */
static char *disk_of(dev_t device)
{
    char link[64];
    snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
    char *disk = realpath(link, NULL);
    char *partition = disk ? og__path_join(disk, "partition") : NULL;
    if (partition && access(partition, F_OK) == 0)
        *strrchr(disk, '/') = 0;
    free(partition);
    return disk;
}

static bool in_memory(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

bool og__same_disk(const char *a, const char *b)
{
    struct stat of_a;
    struct stat of_b;
    if (stat(a, &of_a) < 0 || stat(b, &of_b) < 0 || of_a.st_dev == of_b.st_dev)
        return true;
    if (in_memory(a) || in_memory(b))
        return false;
    char *disk_a = disk_of(of_a.st_dev);
    char *disk_b = disk_of(of_b.st_dev);
    const bool other = disk_a && disk_b && strcmp(disk_a, disk_b) != 0;
    free(disk_a);
    free(disk_b);
    return !other;
}

bool og__disk_traffic(const char *path, uint64_t *bytes)
{
    enum { SECTOR = 512 };
    /* reads, merged, sectors, milliseconds; the same of writes (Documentation/block/stat) */
    enum { SECTORS_READ = 2, SECTORS_WRITTEN = 6 };
    struct stat st;
    char line[512];
    uint64_t sectors = 0;
    bool known = false;
    char *disk = stat(path, &st) == 0 ? disk_of(st.st_dev) : NULL;
    char *name = disk ? og__path_join(disk, "stat") : NULL;
    FILE *in = name ? fopen(name, "re") : NULL;
    if (in && fgets(line, sizeof(line), in)) {
        char *at = line, *end = NULL;
        int field = 0;
        for (; field <= SECTORS_WRITTEN; field++, at = end) {
            const uint64_t value = strtoull(at, &end, 10);
            if (end == at)
                break;
            sectors += field == SECTORS_READ || field == SECTORS_WRITTEN ? value : 0;
        }
        known = field > SECTORS_WRITTEN;
    }
    if (known)
        *bytes = sectors * SECTOR;
    if (in)
        fclose(in);
    free(name);
    free(disk);
    return known;
}
