/* io: the disk profile is found again, and only if it makes sense. The disk benchmark leaves no
 * file when it is stopped. */
#include "io/io_fixture.h"

#include "bench/bench.h"
#include "oracles/null_engine.h"
#include "support/files.h"

#include <dirent.h>
#include <linux/magic.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/statfs.h>

struct home {
    struct scratch s;
    char cache[300];
};

static void home_open(struct home *h)
{
    scratch_open(&h->s, 1);
    snprintf(h->cache, sizeof(h->cache), "%s/cache", h->s.dir);
    setenv("XDG_CACHE_HOME", h->cache, 1);
}

static void home_close(struct home *h)
{
    char dir[400];
    snprintf(dir, sizeof(dir), "%s/outgrow", h->cache);
    rmdir(dir);
    rmdir(h->cache);
    unsetenv("XDG_CACHE_HOME");
    scratch_close(&h->s);
}

static void a_profile_is_found_again(void **state)
{
    (void)state;
    struct home h;
    struct og_err err = {0};
    struct og_disk_profile got;
    char *file = NULL;
    home_open(&h);
    og__profile_load(h.s.path, &got);
    assert_false(got.measured);
    assert_int_equal(og__profile_gap(&got), 11428); /* 1.6 GB/s over 140 k/s */
    const struct og_disk_profile p = {.iops = 12345.5,
                                      .bandwidth = 2.5e9,
                                      .fresh = 3.5e9,
                                      .write = 1.5e9,
                                      .depth = 64,
                                      .fault_threads = 24,
                                      .others = 0.25};
    assert_int_equal(og__profile_save(h.s.dir, &p, &file, &err), 0);
    assert_int_equal(strncmp(file, h.cache, strlen(h.cache)), 0);
    og__profile_load(h.s.path, &got); /* another path of the same device */
    assert_true(got.measured);
    assert_true(got.iops == p.iops && got.bandwidth == p.bandwidth);
    assert_true(got.fresh == p.fresh && got.write == p.write);
    assert_int_equal(got.depth, 64);
    assert_int_equal(got.fault_threads, 24);
    assert_true(got.others == 0.25);
    og__profile_load("/nowhere/at/all", &got);
    assert_false(got.measured);
    unlink(file);
    free(file);
    home_close(&h);
}

/* Memory is no part of a disk; an unknown device is taken for one. */
/* Whatever was there before: a profile is not for several disks. */
static void a_profile_is_of_one_disk(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,"
        "\"write_bandwidth\":1e9,\"depth\":64,\"fault_threads\":8}";
    struct og_disk_profile p;
    memset(&p, 0x5a, sizeof(p));
    assert_true(og__profile_parse(text, strlen(text), &p));
    assert_int_equal(p.disks, 0);
}

static void disks_are_told_apart(void **state)
{
    (void)state;
    struct home h;
    struct stat here;
    struct stat memory;
    struct statfs fs;
    home_open(&h);
    assert_true(og__same_disk(h.s.path, h.s.dir));
    assert_true(og__same_disk(h.s.path, "/nowhere/at/all"));
    assert_true(og__same_disk(h.s.path, "/proc")); /* a file system on no disk */
    if (stat("/dev/shm", &memory) == 0 && statfs("/dev/shm", &fs) == 0 &&
        fs.f_type == TMPFS_MAGIC && stat(h.s.path, &here) == 0 && here.st_dev != memory.st_dev) {
        assert_false(og__same_disk(h.s.path, "/dev/shm"));
        assert_false(og__same_disk("/dev/shm", h.s.path));
    }
    home_close(&h);
}

/* Reads past the page cache, written before: the disk has moved at least these bytes. */
static void the_kernel_counts_what_a_disk_moves(void **state)
{
    (void)state;
    enum { BYTES = 4 * 1024 * 1024 };
    struct home h;
    uint64_t before, after;
    char path[400];
    void *block = NULL;
    home_open(&h);
    assert_false(og__disk_traffic("/nowhere/at/all", &before));
    assert_false(og__disk_traffic("/proc", &before)); /* on no disk */
    if (!og__disk_traffic(h.s.dir, &before)) {
        home_close(&h);
        return;
    }
    snprintf(path, sizeof(path), "%s/moved", h.s.dir);
    assert_int_equal(posix_memalign(&block, 4096, BYTES), 0);
    memset(block, 7, BYTES);
    const int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (fd >= 0) {
        assert_int_equal(write(fd, block, BYTES), BYTES);
        assert_int_equal(fsync(fd), 0);
        assert_int_equal(pread(fd, block, BYTES, 0), BYTES);
        assert_true(og__disk_traffic(h.s.dir, &after));
        assert_true(after - before >= 2 * (uint64_t)BYTES);
        close(fd);
    }
    unlink(path);
    free(block);
    home_close(&h);
}

static void a_damaged_profile_is_as_good_as_none(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",
        "{",
        "[1]",
        "{\"format\":2,\"iops\":1e5,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1e9,\"depth\":9,\"fault_threads\":9}",
        "{\"format\":1,\"iops\":0,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1e9,\"depth\":9,\"fault_threads\":9}",
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":-1,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1e9,\"depth\":9,\"fault_threads\":9}",
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1e9,\"depth\":1e99,\"fault_threads\":9}",
        "{\"format\":1,\"iops\":\"1e5\",\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_"
        "bandwidth\":1e9,\"depth\":9,\"fault_threads\":9}",
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1e9,\"depth\":9}",
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":1e9,\"write_bandwidth\":1e9,\"depth\":9,\"fault_"
        "threads\":9}",
        "{\"format\":1,\"iops\":1e5,\"bandwidth\":1e9,\"fresh_bandwidth\":1e9,\"write_bandwidth\":"
        "1,\"depth\":9,\"fault_threads\":9}",
    };
    struct home h;
    struct og_err err = {0};
    struct og_disk_profile got = {0};
    const struct og_disk_profile p = {
        .iops = 1e5, .bandwidth = 1e9, .fresh = 1e9, .write = 1e9, .depth = 9, .fault_threads = 9};
    char *file = NULL;
    home_open(&h);
    assert_int_equal(og__profile_save(h.s.dir, &p, &file, &err), 0);
    for (size_t i = 0; i < OG_COUNT(texts); i++) {
        FILE *f = fopen(file, "w");
        fputs(texts[i], f);
        fclose(f);
        og__profile_load(h.s.path, &got);
        assert_false(got.measured);
        assert_true(got.iops == 140e3);
    }
    unlink(file);
    free(file);
    home_close(&h);
}

static volatile sig_atomic_t stop_benchmark;

/* Keeps the first message and stops the benchmark. */
static void stop_at_message(void *arg, int level, const char *text)
{
    assert_int_equal(level, OG__INFO);
    snprintf(arg, 200, "%s", text);
    stop_benchmark = 1;
}

static void a_benchmark_says_how_long_it_takes(void **state)
{
    (void)state;
    struct home h;
    char said[200] = "";
    struct og_err err = {0};
    char *out = NULL;
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = said, .message = stop_at_message, .stop = &stop_benchmark};
    home_open(&h);
    assert_int_equal(og__bench_io(h.s.dir, &seen, &out, &err), OG_INTERRUPTED);
    assert_non_null(strstr(said, "2 GiB"));
    assert_non_null(strstr(said, "a minute or two"));
    home_close(&h);
}

static void a_stopped_benchmark_leaves_nothing(void **state)
{
    (void)state;
    struct home h;
    struct og_err err = {0};
    char *out = NULL;
    volatile sig_atomic_t stop = 1;
    const struct og_observer seen = {.size = sizeof(seen), .stop = &stop};
    home_open(&h);
    assert_int_equal(og__bench_io(h.s.dir, &seen, &out, &err), OG_INTERRUPTED);
    assert_null(out);
    assert_int_equal(test_entries(h.s.dir), 1); /* the fixture's file */
    home_close(&h);
}

static void a_folder_that_is_none_is_named(void **state)
{
    (void)state;
    struct og_err err = {0};
    char *out = NULL;
    assert_int_equal(og__bench_io("/nowhere/at/all", NULL, &out, &err), -ENOENT);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    assert_null(out);
}

/* ---- the load that measures ---- */

enum { BLOCK = 8192, BLOCKS = 50 };

static unsigned requested_of[BLOCKS]; /* how often each place was read */
static const struct og_io_file *measured;

static int note_requests(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                         struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(reqs[i]->length, BLOCK);
        assert_int_equal(reqs[i]->done, 0);
        assert_int_equal(reqs[i]->offset % BLOCK, 0);
        assert_true(reqs[i]->offset + BLOCK <= measured->size);
        requested_of[reqs[i]->offset / BLOCK]++;
    }
    return og__io_null.submit(e, reqs, n, err);
}

/* At random each place is read once, however many requests are in flight. In order they are read
 * again and again. */
static void a_load_reads_whole_blocks_of_the_file(void **state)
{
    (void)state;
    struct og_io_file file;
    struct scratch s;
    struct og_io_ops noting = og__io_null;
    noting.submit = note_requests;
    scratch_open(&s, (size_t)BLOCKS * BLOCK + 1000);
    assert_int_equal(og__io_file_open(&file, s.path, false, NULL, NULL), 0);
    measured = &file;
    for (int depth = 1; depth <= 64; depth *= 4) {
        struct og_io_load load = {
            .bytes = BLOCK, .depth = depth, .threads = 1, .seconds = 60, .seed = 3};
        struct og_io_rate rate;
        memset(requested_of, 0, sizeof(requested_of));
        assert_int_equal(og__io_measure(&noting, &file, &load, &rate, NULL), 0);
        for (int i = 0; i < BLOCKS; i++)
            assert_int_equal(requested_of[i], 1);
        assert_true(rate.iops >= BLOCKS / 60.0);
        assert_true(fabs(rate.bytes_per_second / rate.iops - BLOCK) < 1e-6 * BLOCK);
        load.sequential = true;
        load.seconds = 0.01;
        memset(requested_of, 0, sizeof(requested_of));
        assert_int_equal(og__io_measure(&noting, &file, &load, &rate, NULL), 0);
        for (int i = 1; i < BLOCKS; i++)
            assert_true(requested_of[i] <= requested_of[i - 1] &&
                        requested_of[i] + 1 >= requested_of[0]);
        assert_true(requested_of[0] > 0);
    }
    og__io_file_close(&file);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_found_again),
        cmocka_unit_test(a_profile_is_of_one_disk),
        cmocka_unit_test(disks_are_told_apart),
        cmocka_unit_test(the_kernel_counts_what_a_disk_moves),
        cmocka_unit_test(a_damaged_profile_is_as_good_as_none),
        cmocka_unit_test(a_load_reads_whole_blocks_of_the_file),
        cmocka_unit_test(a_benchmark_says_how_long_it_takes),
        cmocka_unit_test(a_stopped_benchmark_leaves_nothing),
        cmocka_unit_test(a_folder_that_is_none_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
