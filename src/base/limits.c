/* Locates a process's control groups. The file /proc/self/cgroup names them relative to the root of
 * a hierarchy. In /proc/self/mountinfo is which part of the hierarchy is mounted where.
 *
 *   cgroup      4:memory:/docker/abc/job       (version 2: 0::/docker/abc/job)
 *   mountinfo   ... /docker/abc /sys/fs/cgroup/memory ... - cgroup cgroup rw,memory
 *   folder      /sys/fs/cgroup/memory/job, and every one above it up to the mount's
 *
 * In a container either path may be the host's view. A path that is absent, or not below the
 * mounted part, is resolved from the mount's own folder. */
#include "base/limits.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE = 8192, PATH = 4096 };

/* ---- files ---- */

/* The next line without its end; of a longer one the beginning. */
static bool read_line(FILE *f, char line[LINE])
{
    if (!fgets(line, LINE, f))
        return false;
    size_t len = strcspn(line, "\n");
    for (int c = 0; line[len] == 0 && c != '\n' && c != EOF;)
        c = fgetc(f);
    line[len] = 0;
    return true;
}

/* Reads up to two numbers after `key` on its line; returns their number. "max" is none. */
static int read_numbers(const char *folder, const char *file, const char *key, int64_t number[2])
{
    char path[PATH + 64];
    char line[LINE];
    int n = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    bool found = false;
    while (f && !found && read_line(f, line))
        found = strncmp(line, key, strlen(key)) == 0;
    for (char *at = line + strlen(key), *end = at; found && n < 2; at = end, n++) {
        number[n] = strtoll(at, &end, 10);
        if (end == at)
            break;
    }
    if (f)
        fclose(f);
    return n;
}

static uint64_t read_number(const char *folder, const char *file, const char *key,
                            uint64_t otherwise)
{
    int64_t number[2];
    bool there = read_numbers(folder, file, key, number) > 0 && number[0] >= 0;
    return there ? (uint64_t)number[0] : otherwise;
}

/* ---- groups ---- */

struct group {
    char folder[PATH];
    size_t top; /* length of the mount's folder in it */
};

/* Is it among the words between commas? */
static bool lists(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = words; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        if (n == len && strncmp(p, word, n) == 0)
            return true;
        p += n;
    }
    return false;
}

/* This process's path in the hierarchy of a controller; "" is that of version 2. */
static bool find_path(const char *root, const char *controller, char path[PATH])
{
    char name[PATH + 64];
    char line[LINE];
    bool found = false;
    snprintf(name, sizeof(name), "%s/proc/self/cgroup", root);
    FILE *f = fopen(name, "re");
    while (f && !found && read_line(f, line)) {
        char *names = strchr(line, ':');
        char *at = names ? strchr(names + 1, ':') : NULL;
        if (!at)
            continue;
        *at++ = 0;
        found = *controller ? lists(names + 1, controller) : names[1] == 0;
        if (found)
            snprintf(path, PATH, "%.*s", PATH - 1, at);
    }
    if (f)
        fclose(f);
    return found;
}

/* mountinfo writes blanks and backslashes as \040. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p; to++) {
        const bool octal = p[0] == '\\' && strspn(p + 1, "01234567") >= 3;
        *to = *p;
        if (octal)
            *to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
        p += octal ? 4 : 1;
    }
    *to = 0;
}

/* A line of mountinfo that mounts the controller's hierarchy: which part of it, and where. */
static bool read_mount(char *line, const char *controller, char **part, char **at)
{
    enum { ID, PARENT, DEVICE, PART, AT, BEFORE };
    char *word[BEFORE] = {0};
    char *rest = line;
    char *behind = strstr(line, " - ");
    if (!behind)
        return false;
    *behind = 0;
    for (int i = 0; i < BEFORE; i++)
        word[i] = strsep(&rest, " ");
    behind += strlen(" - ");
    const char *type = strsep(&behind, " ");
    strsep(&behind, " "); /* what is mounted */
    if (!word[AT] || !behind || strcmp(type, *controller ? "cgroup" : "cgroup2") != 0 ||
        (*controller && !lists(behind, controller)))
        return false;
    unescape(*part = word[PART]);
    unescape(*at = word[AT]);
    return true;
}

/* The rest of the path after `part`; NULL if the path is not inside it. */
static const char *below(const char *path, const char *part)
{
    size_t n = strcmp(part, "/") == 0 ? 0 : strlen(part);
    bool in = strncmp(path, part, n) == 0 && (path[n] == '/' || path[n] == 0);
    return in && !strstr(path, "/..") ? path + n : NULL;
}

/* The group's folder below this mount, or the mount's own folder. Returns whether the mount
 * contains the path. */
static bool place(struct group *g, const char *root, const char *path, const char *part,
                  const char *at)
{
    const char *rest = below(path, part);
    snprintf(g->folder, sizeof(g->folder), "%s%s", root, at);
    g->top = strlen(g->folder);
    if (rest && strcmp(rest, "/") != 0)
        snprintf(g->folder + g->top, sizeof(g->folder) - g->top, "%s", rest);
    return rest != NULL;
}

/* Moves from a group to its parent; false at the last. */
static bool climb(struct group *g)
{
    if (strlen(g->folder) <= g->top)
        return false;
    *strrchr(g->folder, '/') = 0;
    return true;
}

static bool find_group(const char *root, const char *controller, struct group *g)
{
    char path[PATH];
    char line[LINE];
    bool found = false;
    bool inside = false;
    struct stat st;
    if (!find_path(root, controller, path))
        return false;
    snprintf(g->folder, sizeof(g->folder), "%s/proc/self/mountinfo", root);
    FILE *f = fopen(g->folder, "re");
    while (f && !inside && read_line(f, line)) {
        char *part = NULL;
        char *at = NULL;
        if (!read_mount(line, controller, &part, &at))
            continue;
        inside = place(g, root, path, part, at);
        found = true;
    }
    if (f)
        fclose(f);
    while (found && stat(g->folder, &st) < 0 && climb(g))
        continue;
    return found;
}

/* ---- memory ---- */

static const struct memory_files {
    const char *controller, *limit[2], *used, *idle;
} versions[] = {
    {"memory", {"memory.limit_in_bytes", NULL}, "memory.usage_in_bytes", "total_inactive_file "},
    {"", {"memory.max", "memory.high"}, "memory.current", "inactive_file "},
};

/* The group's own, or the one that is known, if that is smaller; UINT64_MAX = none. */
static uint64_t limit_of(const struct group *g, const struct memory_files *files, uint64_t limit)
{
    for (size_t i = 0; i < OG_COUNT(files->limit) && files->limit[i]; i++)
        limit = OG_MIN(limit, read_number(g->folder, files->limit[i], "", UINT64_MAX));
    return limit > (uint64_t)1 << 60 ? UINT64_MAX : limit; /* how version 1 writes none */
}

static uint64_t left_in(const struct group *g, const struct memory_files *files, uint64_t limit)
{
    limit = limit_of(g, files, limit);
    if (limit == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = read_number(g->folder, files->used, "", 0);
    uint64_t idle = read_number(g->folder, "memory.stat", files->idle, 0);
    used -= OG_MIN(used, idle);
    return limit - OG_MIN(limit, used);
}

/* Bytes left in the group and all its parents. Version 1 reports the smallest limit of all parents,
 * including those that a container cannot see. Old groups (no use_hierarchy) do not limit
 * subgroups. */
static uint64_t left_in_groups(const char *root, const struct memory_files *files)
{
    struct group g;
    if (!find_group(root, files->controller, &g))
        return UINT64_MAX;
    uint64_t all = read_number(g.folder, "memory.stat", "hierarchical_memory_limit ", UINT64_MAX);
    uint64_t least = left_in(&g, files, all);
    while (climb(&g))
        if (read_number(g.folder, "memory.use_hierarchy", "", 1) > 0)
            least = OG_MIN(least, left_in(&g, files, UINT64_MAX));
    return least;
}

size_t og__memory_free_at(const char *root)
{
    char proc[PATH];
    snprintf(proc, sizeof(proc), "%s/proc", root);
    uint64_t least = read_number(proc, "meminfo", "MemAvailable:", 0) * OG_KIB;
    for (size_t i = 0; i < OG_COUNT(versions); i++)
        least = OG_MIN(least, left_in_groups(root, &versions[i]));
    return (size_t)least;
}

size_t og__memory_free(void)
{
    return og__memory_free_at("");
}

void og__memory_groups_at(const char *root,
                          void (*one)(void *arg, const char *folder, uint64_t limit), void *arg)
{
    struct group g;
    for (size_t i = 0; i < OG_COUNT(versions); i++) {
        for (bool more = find_group(root, versions[i].controller, &g); more; more = climb(&g)) {
            uint64_t limit = limit_of(&g, &versions[i], UINT64_MAX);
            if (limit != UINT64_MAX)
                one(arg, g.folder, limit);
        }
    }
}

/* ---- CPU cores ---- */

/* The quota of one group; INT_MAX without one. */
static int64_t quota_in(const char *folder, bool first_version)
{
    int64_t number[2] = {0, 0}; /* microseconds, of as many */
    if (first_version) {
        number[0] = (int64_t)read_number(folder, "cpu.cfs_quota_us", "", 0);
        number[1] = (int64_t)read_number(folder, "cpu.cfs_period_us", "", 0);
    } else {
        (void)!read_numbers(folder, "cpu.max", "", number);
    }
    return number[0] > 0 && number[1] > 0 ? (number[0] - 1) / number[1] + 1 : INT_MAX;
}

static int quota_of(const char *root, const char *controller)
{
    struct group g;
    int64_t least = INT_MAX;
    for (bool more = find_group(root, controller, &g); more; more = climb(&g))
        least = OG_MIN(least, quota_in(g.folder, *controller));
    return (int)least;
}

int og__cpu_quota_at(const char *root)
{
    return OG_MIN(quota_of(root, "cpu"), quota_of(root, ""));
}

/* Cores that the scheduler allows this process, its cpuset included. The set is as large as the
 * kernel's. */
static int count_allowed(void)
{
    int count = 0;
    for (int most = CPU_SETSIZE; count == 0 && most <= 1 << 16; most *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(most), set) == 0)
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(most), set);
        CPU_FREE(set);
    }
    return OG_MAX(count, 1);
}

void og__cpu_allowed(struct og_cpus *out)
{
    cpu_set_t *set = CPU_ALLOC(OG__MOST_CPUS);
    const size_t size = CPU_ALLOC_SIZE(OG__MOST_CPUS);
    *out = (struct og_cpus){{0}};
    const bool known = set && sched_getaffinity(0, size, set) == 0;
    for (int i = 0; known && i < OG__MOST_CPUS; i++)
        if (CPU_ISSET_S(i, size, set))
            out->bits[i / 8] |= (unsigned char)(1 << i % 8);
    CPU_FREE(set);
}

static bool is_allowed(const struct og_cpus *p, int i)
{
    return p->bits[i / 8] >> i % 8 & 1;
}

int og__cpu_share(const struct og_cpus *all, int n, int own)
{
    double sum = 0;
    for (int i = 0; i < OG__MOST_CPUS; i++) {
        int sharers = 0;
        if (!is_allowed(&all[own], i))
            continue;
        for (int k = 0; k < n; k++)
            sharers += is_allowed(&all[k], i);
        sum += 1.0 / sharers;
    }
    return sum > 0 ? OG_MAX((int)(sum + 1e-6), 1) : 0; /* parts add up to wholes */
}

int og__cpu_count(void)
{
    return OG_MIN(count_allowed(), og__cpu_quota_at(""));
}
