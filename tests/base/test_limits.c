/* base: limits of control groups, read from trees of /proc and /sys made for the test. Also from
 * the kernel's own, where it lets us make a group. */
#include "support/testing.h"

#include "base/file.h"
#include "base/limits.h"
#include "support/own_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMINFO "MemTotal: 9000000 kB\nMemFree: 100 kB\nMemAvailable: 4000000 kB\n"
#define FREE    ((size_t)4000000 * OG_KIB)
#define NONE    "9223372036854771712\n" /* version 1 says so where there is no limit */
#define MOUNT_1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
#define MOUNT_2 "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define CPU_1   "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define M1      "/sys/fs/cgroup/memory"
#define M2      "/sys/fs/cgroup"
#define C1      "/sys/fs/cgroup/cpu,cpuacct"
#define IN_1    "9:name=systemd:/\n4:memory:"
#define IN_2    "0::"

enum { MOST_FILES = 12 };

static const struct machine {
    const char *name, *cgroup, *mountinfo;
    size_t memory; /* expected */
    int quota;
    const char *file[MOST_FILES][2];
} machines[] = {
    {"no groups", NULL, NULL, FREE, INT_MAX, {{0}}},
    {"groups without limits",
     IN_1 "/a\n" IN_2 "/\n",
     MOUNT_1 MOUNT_2,
     FREE,
     INT_MAX,
     {{M1 "/a/memory.limit_in_bytes", NONE}, {M1 "/a/memory.usage_in_bytes", "5000\n"}}},
    {"1: its own, page cache not counted",
     IN_1 "/a\n",
     MOUNT_1,
     1000000 - 300000 + 100000,
     INT_MAX,
     {{M1 "/a/memory.limit_in_bytes", "1000000\n"},
      {M1 "/a/memory.usage_in_bytes", "300000\n"},
      {M1 "/a/memory.stat", "inactive_file 7\ntotal_inactive_file 100000\n"}}},
    {"1: two above",
     IN_1 "/a/b/c\n",
     MOUNT_1,
     2000000 - 500000,
     INT_MAX,
     {{M1 "/a/memory.limit_in_bytes", "2000000\n"},
      {M1 "/a/memory.usage_in_bytes", "500000\n"},
      {M1 "/a/memory.use_hierarchy", "1\n"},
      {M1 "/a/b/memory.limit_in_bytes", NONE},
      {M1 "/a/b/c/memory.limit_in_bytes", NONE}}},
    {"1: above, which does not count for those within",
     IN_1 "/a/b\n",
     MOUNT_1,
     FREE,
     INT_MAX,
     {{M1 "/a/memory.limit_in_bytes", "2000000\n"},
      {M1 "/a/memory.use_hierarchy", "0\n"},
      {M1 "/a/b/memory.limit_in_bytes", NONE}}},
    {"1: above what a container sees",
     IN_1 "/docker/abc\n",
     "35 31 0:32 /docker/abc " M1 " ro - cgroup cgroup rw,memory\n",
     700000 - 20000,
     INT_MAX,
     {{M1 "/memory.limit_in_bytes", NONE},
      {M1 "/memory.usage_in_bytes", "20000\n"},
      {M1 "/memory.stat", "cache 5\nhierarchical_memory_limit 700000\n"}}},
    {"1: within a container",
     IN_1 "/docker/abc/job\n",
     "35 31 0:32 /docker/abc " M1 " ro - cgroup cgroup rw,memory\n",
     600000,
     INT_MAX,
     {{M1 "/memory.limit_in_bytes", "800000\n"}, {M1 "/job/memory.limit_in_bytes", "600000\n"}}},
    {"1: the host's path, the container's mount",
     IN_1 "/kubepods/pod1/abc\n",
     MOUNT_1,
     800000,
     INT_MAX,
     {{M1 "/memory.limit_in_bytes", "800000\n"}}},
    {"1: a path out of what is mounted",
     IN_1 "/../other\n",
     "35 31 0:32 /../other " M1 " ro - cgroup cgroup rw,memory\n",
     800000,
     INT_MAX,
     {{M1 "/memory.limit_in_bytes", "800000\n"}}},
    {"1: a name that only begins alike",
     IN_1 "/docker/abcdef\n",
     "35 31 0:32 /docker/abc " M1 " ro - cgroup cgroup rw,memory\n",
     800000,
     INT_MAX,
     {{M1 "/memory.limit_in_bytes", "800000\n"}, {M1 "/def/memory.limit_in_bytes", "5\n"}}},
    {"1: mounted with another, in a folder with a blank",
     "4:hugetlb,memory:/a b\n",
     "35 31 0:32 / /sys/my\\040groups rw - cgroup cgroup rw,hugetlb,memory\n",
     900000,
     INT_MAX,
     {{"/sys/my groups/a b/memory.limit_in_bytes", "900000\n"}}},
    {"2: its own",
     IN_2 "/a\n",
     MOUNT_2,
     1000000 - 200000,
     INT_MAX,
     {{M2 "/a/memory.max", "1000000\n"},
      {M2 "/a/memory.high", "max\n"},
      {M2 "/a/memory.current", "300000\n"},
      {M2 "/a/memory.stat", "anon 1\ninactive_file 100000\n"}}},
    {"2: slowed down before it is full",
     IN_2 "/a\n",
     MOUNT_2,
     600000,
     INT_MAX,
     {{M2 "/a/memory.max", "1000000\n"}, {M2 "/a/memory.high", "600000\n"}}},
    {"2: above, whose other children have used most",
     IN_2 "/user.slice/u.slice/a.scope\n",
     MOUNT_2,
     50000,
     INT_MAX,
     {{M2 "/user.slice/memory.max", "1000000\n"},
      {M2 "/user.slice/memory.current", "950000\n"},
      {M2 "/user.slice/u.slice/memory.max", "max\n"},
      {M2 "/user.slice/u.slice/a.scope/memory.max", "500000\n"},
      {M2 "/user.slice/u.slice/a.scope/memory.current", "1000\n"}}},
    {"2: full",
     IN_2 "/a\n",
     MOUNT_2,
     0,
     INT_MAX,
     {{M2 "/a/memory.max", "1000\n"}, {M2 "/a/memory.current", "2000\n"}}},
    {"2: a container with a namespace of its own",
     IN_2 "/\n",
     MOUNT_2,
     700000,
     3,
     {{M2 "/memory.max", "700000\n"}, {M2 "/cpu.max", "250000 100000\n"}}},
    {"both: memory of 1, processors of 2",
     IN_1 "/a\n" IN_2 "/b\n",
     MOUNT_1 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     900000,
     2,
     {{M1 "/a/memory.limit_in_bytes", "900000\n"},
      {"/sys/fs/cgroup/unified/b/cpu.max", "200000 100000\n"}}},
    {"2: time above, none of its own",
     IN_2 "/a/b\n",
     MOUNT_2,
     FREE,
     1,
     {{M2 "/a/cpu.max", "10000 100000\n"}, {M2 "/a/b/cpu.max", "max 100000\n"}}},
    {"1: time",
     "2:cpu,cpuacct:/a/b\n",
     CPU_1,
     FREE,
     4,
     {{C1 "/a/cpu.cfs_quota_us", "400000\n"},
      {C1 "/a/cpu.cfs_period_us", "100000\n"},
      {C1 "/a/b/cpu.cfs_quota_us", "-1\n"},
      {C1 "/a/b/cpu.cfs_period_us", "100000\n"}}},
    {"nonsense",
     "memory\n4:memory\n:::\n0:\n",
     "1 2\n - \n35 31 0:32 / - cgroup\n - cgroup cgroup rw,memory\n",
     FREE,
     INT_MAX,
     {{0}}},
};

static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    if (!text)
        return;
    snprintf(path, sizeof(path), "%s%s", root, name);
    char *end = strrchr(path, '/');
    *end = 0;
    assert_int_equal(og__make_dirs(path, NULL), 0);
    *end = '/';
    assert_int_equal(og__write_text(path, text, strlen(text), NULL), 0);
}

static void every_group_above_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(machines); i++) {
        const struct machine *m = &machines[i];
        char root[sizeof(folder) + 32];
        snprintf(root, sizeof(root), "%s/%zu", folder, i);
        put(root, "/proc/meminfo", MEMINFO);
        put(root, "/proc/self/cgroup", m->cgroup);
        put(root, "/proc/self/mountinfo", m->mountinfo);
        for (size_t k = 0; k < MOST_FILES && m->file[k][0]; k++)
            put(root, m->file[k][0], m->file[k][1]);
        size_t memory = og__memory_free_at(root);
        int quota = og__cpu_quota_at(root);
        if (memory != m->memory || quota != m->quota)
            fail_msg("%s: %zu bytes, %d processors; %zu and %d expected", m->name, memory, quota,
                     m->memory, m->quota);
    }
}

static void note_group(void *arg, const char *group, uint64_t limit)
{
    char *told = arg;
    snprintf(told + strlen(told), 256 - strlen(told), "%s %llu;", group + strlen(folder),
             (unsigned long long)limit);
}

/* Those that have a limit, from the process's own upwards. */
static void limits_of_groups_are_told(void **state)
{
    (void)state;
    char root[sizeof(folder) + 32];
    char told[256] = "";
    snprintf(root, sizeof(root), "%s/told", folder);
    put(root, "/proc/self/cgroup", IN_2 "/a/b/c\n");
    put(root, "/proc/self/mountinfo", MOUNT_2);
    put(root, M2 "/a/memory.max", "5000000\n");
    put(root, M2 "/a/b/memory.max", "max\n");
    put(root, M2 "/a/b/c/memory.max", "4000000\n");
    put(root, M2 "/a/b/c/memory.high", "3000000\n");
    og__memory_groups_at(root, note_group, told);
    assert_string_equal(told, "/told" M2 "/a/b/c 3000000;/told" M2 "/a 5000000;");
}

/* Lines of any length: what a container's mounts look like. */
static void long_lines_are_passed_over(void **state)
{
    (void)state;
    enum { LONG = 30000 };
    static char text[LONG + 1000];
    char root[sizeof(folder) + 32];
    snprintf(root, sizeof(root), "%s/long", folder);
    int n = snprintf(text, sizeof(text), "9 8 0:1 / / rw - overlay overlay rw,lowerdir=");
    memset(text + n, 'x', LONG);
    snprintf(text + n + LONG, sizeof(text) - (size_t)n - LONG, "\n%s", MOUNT_2);
    put(root, "/proc/meminfo", MEMINFO);
    put(root, "/proc/self/mountinfo", text);
    put(root, "/proc/self/cgroup", IN_2 "/a\n");
    put(root, M2 "/a/memory.max", "123456\n");
    assert_int_equal(og__memory_free_at(root), 123456);
}

/* ---- the kernel's own ---- */

#define OURS M1 "/outgrow-test-limits"

static bool tell(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool told = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return told;
}

/* In a group of its own: exit status. */
static int look_from_within(void)
{
    char pid[32];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (!tell(OURS "/child/cgroup.procs", pid))
        return 77;
    size_t left = og__memory_free();
    return left > 0 && left <= (size_t)400 << 20 ? 0 : 1;
}

static void a_child_has_what_its_parent_has(void **state)
{
    (void)state;
    int status = 0;
    bool made = mkdir(OURS, 0700) == 0 && mkdir(OURS "/child", 0700) == 0 &&
                tell(OURS "/memory.limit_in_bytes", "419430400");
    if (made) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(look_from_within());
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    rmdir(OURS "/child");
    rmdir(OURS);
    if (!made || WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void affinity_bounds_the_processors(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int all = og__cpu_count();
    assert_true(all >= 1 && all <= CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(og__cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* "0-3,8" */
static struct og_cpus cpus(const char *list)
{
    struct og_cpus p = {{0}};
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (; first <= last; first++)
            p.bits[first / 8] |= (unsigned char)(1 << first % 8);
        list = *end ? end + 1 : end;
    }
    return p;
}

static void processors_are_shared_with_those_who_are_allowed_them(void **state)
{
    (void)state;
    static const struct {
        const char *allowed[4]; /* of each process */
        int share[4];
    } cases[] = {
        {{"0-15", "0-15"}, {8, 8}},                   /* one shell's */
        {{"0-15", "16-31"}, {16, 16}},                /* srun --cpus-per-task=16 */
        {{"0-3", "4-7", "0-3", "4-7"}, {2, 2, 2, 2}}, /* two a socket */
        {{"0-7", "4-7", "6-7"}, {5, 1, 1}},           /* 4 + 2/2 + 2/3, 2/2 + 2/3, 2/3 */
        {{"5", "5", "5"}, {1, 1, 1}},                 /* not less than one */
        {{"0-8", "0-8", "0-8"}, {3, 3, 3}},           /* nine thirds are three */
        {{"8191", "0-8191"}, {1, 8191}},
        {{"", "0-3"}, {0, 4}},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_cpus all[4];
        int n = 0;
        for (; n < 4 && cases[i].allowed[n]; n++)
            all[n] = cpus(cases[i].allowed[n]);
        for (int k = 0; k < n; k++)
            assert_int_equal(og__cpu_share(all, n, k), cases[i].share[k]);
    }
}

static void the_kernel_tells_what_is_allowed(void **state)
{
    (void)state;
    struct og_cpus own;
    og__cpu_allowed(&own);
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    assert_int_equal(og__cpu_share(&own, 1, 0), CPU_COUNT(&set));
    for (int i = 0; i < CPU_SETSIZE; i++)
        assert_int_equal(own.bits[i / 8] >> i % 8 & 1, CPU_ISSET(i, &set) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_group_above_counts),
        cmocka_unit_test(limits_of_groups_are_told),
        cmocka_unit_test(long_lines_are_passed_over),
        cmocka_unit_test(a_child_has_what_its_parent_has),
        cmocka_unit_test(affinity_bounds_the_processors),
        cmocka_unit_test(processors_are_shared_with_those_who_are_allowed_them),
        cmocka_unit_test(the_kernel_tells_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
