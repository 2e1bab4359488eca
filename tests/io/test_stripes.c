/* Rows in parts: striped one by one here, and read back as if they were one file. */
#include "io/io_fixture.h"

#include "oracles/null_engine.h"

#include <math.h>

/* ---- which row is where ---- */

static void rows_are_dealt_out_in_units(void **state)
{
    (void)state;
    for (uint32_t parts = 1; parts <= 5; parts++)
        for (uint32_t unit = 1; unit <= 7; unit++)
            for (uint64_t n_rows = 0; n_rows <= 80; n_rows += 1 + n_rows / 9) {
                const struct og_stripes s = {parts, unit};
                uint64_t filled[5] = {0};
                uint32_t turn = 0;
                uint32_t in_unit = 0; /* rows striped to the part whose turn it is */
                for (uint64_t row = 0; row < n_rows; row++) {
                    const struct og_unit u = og__unit_of(&s, row);
                    assert_int_equal(u.part, turn);
                    assert_int_equal(u.at + (row - u.first), filled[turn]++);
                    assert_true(u.first <= row && row < u.end);
                    if (parts > 1 && ++in_unit == unit) {
                        turn = (turn + 1) % parts;
                        in_unit = 0;
                    }
                }
                for (uint32_t p = 0; p < parts; p++)
                    assert_int_equal(og__part_rows(&s, p, n_rows), filled[p]);
            }
}

/* A unit is about a MiB, in whole blocks where some number of rows makes them. A longer row is a
 * unit alone. */
static void units_are_whole_blocks(void **state)
{
    (void)state;
    const struct {
        size_t row;
        uint32_t unit;
    } cases[] = {{512, 2048},     {4096, 256}, {100, 10240}, {400, 2560},          {1, 1048576},
                 {4 * 1025, 255}, {1433, 731}, {1048576, 1}, {4 * 1024 * 1024, 1}, {6144, 170}};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const uint32_t unit = og__stripe_unit(cases[i].row);
        assert_int_equal(unit, cases[i].unit);
        assert_true(unit * cases[i].row <= OG_MAX(OG_MIB, cases[i].row));
    }
}

/* ---- reading ---- */

/* The rows of s->bytes, from `offset`, in files of their own. */
struct parts {
    struct og_stripes stripes;
    char name[OG_MOST_PARTS][320];
    const char *path[OG_MOST_PARTS];
};

static void deal(struct parts *p, const struct scratch *s, size_t offset, size_t row_bytes,
                 uint64_t n_rows)
{
    FILE *file[OG_MOST_PARTS];
    for (uint32_t i = 0; i < p->stripes.parts; i++) {
        snprintf(p->name[i], sizeof(p->name[i]), "%s/part%u", s->dir, i);
        p->path[i] = p->name[i];
        file[i] = fopen(p->name[i], "w");
        assert_non_null(file[i]);
        assert_int_equal(fwrite(s->bytes, 1, offset, file[i]), offset); /* a header */
    }
    for (uint64_t r = 0; r < n_rows; r++)
        assert_int_equal(fwrite(s->bytes + offset + r * row_bytes, 1, row_bytes,
                                file[r / p->stripes.unit % p->stripes.parts]),
                         row_bytes);
    for (uint32_t i = 0; i < p->stripes.parts; i++)
        assert_int_equal(fclose(file[i]), 0);
}

static void drop(const struct parts *p)
{
    for (uint32_t i = 0; i < p->stripes.parts; i++)
        unlink(p->path[i]);
}

static struct og_row_files files_of(const struct parts *p, size_t offset, size_t row_bytes,
                                    uint64_t n_rows)
{
    return (struct og_row_files){.paths = p->path,
                                 .stripes = p->stripes,
                                 .offset = offset,
                                 .row_bytes = row_bytes,
                                 .n_rows = n_rows};
}

/* Requests to the kernel never belong to two units, and are as predicted. */
static void read_sets(const struct scratch *s, const struct parts *p, const struct og_io_ops *ops,
                      size_t offset, size_t row_bytes, uint32_t n_rows)
{
    const struct og_reader_options opt = {.profile = test_profile, .max_request = 65536};
    const struct og_row_files files = files_of(p, offset, row_bytes, n_rows);
    uint32_t *rows = malloc(n_rows * sizeof(*rows));
    char *out = malloc((size_t)n_rows * row_bytes + 1);
    struct og_reader *r = NULL;
    struct og_err err = {0};
    if (og__reader_open_parts_on(&r, ops, &files, &opt, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (enum row_set set = 0; set < N_SETS; set++) {
        struct og_read_job job = {.rows = rows, .n = pick(set, n_rows, rows), .out = out};
        memset(out, 0, (size_t)n_rows * row_bytes);
        const struct og_io_counts told = og__reader_predict(r, rows, job.n);
        assert_int_equal(og__reader_submit(r, &job, &err), 0);
        assert_int_equal(og__reader_wait(r, &job, &err), 0);
        check_rows(s, offset, row_bytes, &job);
        if (!ops->kernel_counts) {
            assert_int_equal(job.counts.reads, told.reads);
            assert_int_equal(job.counts.bytes, told.bytes);
        }
    }
    og__reader_close(r);
    free(out);
    free(rows);
}

#define ENGINE(NAME, name) &og__io_##name,
static const struct og_io_ops *const engines[] = {OG__IO_ENGINES(ENGINE)};

/* Rows of any length from any byte, units that end within blocks, parts that are short or empty. */
static void parts_are_read_as_one_file(void **state)
{
    (void)state;
    static const size_t row_sizes[] = {1, 100, 512, 4096, 70000};
    static const struct og_stripes stripes[] = {{2, 3}, {2, 1}, {3, 16}, {3, 41}, {5, 7}, {2, 500}};
    static const size_t offsets[] = {0, 128, 4096};
    const char *reason;
    for (size_t e = 0; e < OG_COUNT(engines); e++)
        for (size_t k = 0; k < OG_COUNT(row_sizes); k++)
            for (size_t i = 0; i < OG_COUNT(stripes); i++) {
                struct scratch s;
                struct parts p = {.stripes = stripes[i]};
                const size_t offset = offsets[(e + k + i) % OG_COUNT(offsets)];
                const uint32_t n_rows = row_sizes[k] > 4096 ? 61 : 397;
                if (!engines[e]->available(&reason))
                    continue;
                scratch_open(&s, offset + n_rows * row_sizes[k]);
                deal(&p, &s, offset, row_sizes[k], n_rows);
                read_sets(&s, &p, engines[e], offset, row_sizes[k], n_rows);
                drop(&p);
                scratch_close(&s);
            }
}

/* ---- requests ---- */

/* An engine that records its requests: the null engine, which reads nothing. */
static struct {
    size_t n, of_file[OG_MOST_PARTS];
    const struct og_io_file *files;
    uint64_t bytes[OG_MOST_PARTS];
} noted;

static int note_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    noted.files = s->files;
    return og__io_null.open(out, s, err);
}

static int note_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                       struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        noted.of_file[reqs[i]->file - noted.files]++;
        noted.bytes[reqs[i]->file - noted.files] += reqs[i]->length;
    }
    noted.n += n;
    return og__io_null.submit(e, reqs, n, err);
}

/* A sweep reads a third from each of three disks, in requests as large as they may be. All disks
 * have requests from the first moment on. */
static void a_sweep_asks_all_disks_alike(void **state)
{
    (void)state;
    enum { ROW = 512, ROWS = 3 * 8 * 2048 }; /* eight units of a MiB for each */
    struct og_io_ops ops = og__io_null;
    struct scratch s;
    struct parts p = {.stripes = {3, 2048}};
    struct og_reader_options opt = {.profile = test_profile};
    struct og_reader *r;
    uint32_t *rows = malloc(ROWS * sizeof(*rows));
    char *out = malloc((size_t)ROWS * ROW);
    opt.profile.disks = 3;
    opt.profile.depth *= 3;
    ops.open = note_open;
    ops.submit = note_submit;
    scratch_open(&s, (size_t)ROWS * ROW);
    deal(&p, &s, 0, ROW, ROWS);
    const struct og_row_files files = files_of(&p, 0, ROW, ROWS);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = i;
    memset(&noted, 0, sizeof(noted));
    assert_int_equal(og__reader_open_parts_on(&r, &ops, &files, &opt, NULL, NULL), 0);
    struct og_read_job job = {.rows = rows, .n = ROWS, .out = out};
    assert_int_equal(og__reader_submit(r, &job, NULL), 0);
    for (int f = 0; f < 3; f++)
        assert_true(noted.of_file[f] >= 4); /* a MiB each */
    assert_int_equal(og__reader_wait(r, &job, NULL), 0);
    for (int f = 0; f < 3; f++) {
        assert_int_equal(noted.of_file[f], 8 * 4);
        assert_int_equal(noted.bytes[f], 8 * OG_MIB);
    }
    og__reader_close(r);
    drop(&p);
    scratch_close(&s);
    free(out);
    free(rows);
}

/* ---- what may be wrong ---- */

static void a_part_that_is_missing_or_short_is_named(void **state)
{
    (void)state;
    struct scratch s;
    struct parts p = {.stripes = {3, 10}};
    struct og_reader *r;
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, 100 * 64);
    deal(&p, &s, 0, 64, 100);
    const struct og_row_files files = files_of(&p, 0, 64, 100);
    struct og_err err = {0};
    assert_int_equal(truncate(p.path[1], 29 * 64), 0);
    assert_int_equal(og__reader_open_parts(&r, &files, &opt, NULL, &err), -EIO);
    assert_non_null(strstr(err.message, "part1"));
    assert_int_equal(unlink(p.path[1]), 0);
    err = (struct og_err){0};
    assert_int_equal(og__reader_open_parts(&r, &files, &opt, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.message, "part1"));
    drop(&p);
    scratch_close(&s);
}

/* Memory to the byte: what a reader of so many disks takes is what it predicts. */
static void more_disks_take_what_is_planned(void **state)
{
    (void)state;
    size_t before = 0;
    for (int disks = 1; disks <= 4; disks++) {
        struct scratch s;
        struct parts p = {.stripes = {(uint32_t)disks, 10}};
        struct og_reader *r;
        struct og_reader_options opt = {.profile = test_profile};
        opt.profile.disks = disks;
        opt.profile.depth = 128 * disks;
        const size_t need = og__reader_bytes(&opt);
        struct og_budget *b = og__budget_new(need);
        scratch_open(&s, 100 * 64);
        deal(&p, &s, 0, 64, 100);
        const struct og_row_files files = files_of(&p, 0, 64, 100);
        assert_int_equal(og__reader_open_parts(&r, &files, &opt, b, NULL), 0);
        assert_int_equal(og__budget_left(b), 0);
        og__reader_close(r);
        assert_int_equal(og__budget_left(b), need);
        assert_int_equal(need - 4096, (size_t)disks * 4 * OG_MIB); /* 16 requests of 256 KiB each */
        assert_true(need > before);
        before = need;
        og__budget_free(b);
        drop(&p);
        scratch_close(&s);
    }
}

/* ---- profiles ---- */

/* Folders of one disk are no faster together. */
static void paths_on_one_disk_have_its_rates(void **state)
{
    (void)state;
    struct scratch s;
    struct og_disk_profile one;
    struct og_disk_profile three;
    scratch_open(&s, 1);
    setenv("XDG_CACHE_HOME", s.dir, 1);
    const char *paths[] = {s.path, s.dir, s.path};
    og__profile_load(s.path, &one);
    og__profile_load_all(paths, 3, &three);
    assert_int_equal(three.disks, 1);
    assert_true(three.iops == one.iops && three.bandwidth == one.bandwidth);
    assert_true(three.write == one.write && three.fresh == one.fresh);
    assert_int_equal(three.depth, one.depth);
    assert_int_equal(three.fault_threads, one.fault_threads);
    unsetenv("XDG_CACHE_HOME");
    scratch_close(&s);
}

/* Another disk: memory. If two paths of three are on the slower one, its share decides. */
static void the_slowest_share_decides(void **state)
{
    (void)state;
    struct scratch s;
    struct stat here;
    struct stat shm;
    struct og_disk_profile sum;
    struct og_disk_profile fast = {
        .iops = 4e5, .bandwidth = 4e9, .fresh = 4e9, .write = 4e9, .depth = 64, .fault_threads = 8};
    struct og_disk_profile slow = {
        .iops = 1e5, .bandwidth = 3e9, .fresh = 3e9, .write = 2e9, .depth = 32, .fault_threads = 4};
    scratch_open(&s, 1);
    if (stat("/dev/shm", &shm) < 0 || stat(s.dir, &here) < 0 || shm.st_dev == here.st_dev) {
        scratch_close(&s);
        skip();
    }
    char cache[300];
    snprintf(cache, sizeof(cache), "%s/cache", s.dir);
    setenv("XDG_CACHE_HOME", cache, 1);
    char *file[2];
    assert_int_equal(og__profile_save("/dev/shm", &fast, &file[0], NULL), 0);
    assert_int_equal(og__profile_save(s.dir, &slow, &file[1], NULL), 0);
    const char *paths[] = {s.path, "/dev/shm", s.path};
    og__profile_load_all(paths, 3, &sum);
    assert_int_equal(sum.disks, 2);
    assert_true(fabs(sum.iops - 1e5 * 1.5) < 1); /* two thirds of all */
    assert_true(fabs(sum.bandwidth - 4.5e9) < 10);
    assert_true(fabs(sum.write - 3e9) < 10);
    og__profile_load_all(paths, 2, &sum); /* half of all each */
    assert_true(fabs(sum.iops - 2e5) < 1);
    assert_int_equal(sum.depth, 96);
    assert_int_equal(sum.fault_threads, 12);
    for (int i = 0; i < 2; i++) {
        unlink(file[i]);
        free(file[i]);
    }
    char dir[320];
    snprintf(dir, sizeof(dir), "%s/outgrow", cache);
    rmdir(dir);
    rmdir(cache);
    unsetenv("XDG_CACHE_HOME");
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_dealt_out_in_units),
        cmocka_unit_test(units_are_whole_blocks),
        cmocka_unit_test(parts_are_read_as_one_file),
        cmocka_unit_test(a_sweep_asks_all_disks_alike),
        cmocka_unit_test(a_part_that_is_missing_or_short_is_named),
        cmocka_unit_test(more_disks_take_what_is_planned),
        cmocka_unit_test(paths_on_one_disk_have_its_rates),
        cmocka_unit_test(the_slowest_share_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
