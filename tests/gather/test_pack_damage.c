/* Packing: packed files that are not to be trusted. */
#include "gather/packing_fixture.h"

static void expect_refused(const struct fixture *f, const struct og_group *ds)
{
    struct og_pack *pack = NULL;
    struct og_err err = {0};
    struct og_reader_options opt = {.profile = profile};
    assert_int_equal(og__pack_open(&pack, OG__ONE_PLACE(f->pack), ds, 1, &opt, NULL, &err),
                     -EINVAL);
    assert_null(pack);
    assert_true(err.message[0] != 0);
}

static void poke(const struct fixture *f, off_t at, uint64_t value)
{
    int fd = open(f->pack, O_RDWR);
    assert_int_equal(pwrite(fd, &value, sizeof(value), at), sizeof(value));
    close(fd);
}

static void damaged_containers_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct stat st;
    open_fixture(&f, 1500, 400);
    plan_batches(&f, 1);
    pack_and_check(&f, OG_MIB, OG_IO_PREAD);
    assert_int_equal(stat(f.pack, &st), 0);
    struct og_group other = f.ds;
    other.contents++;
    expect_refused(&f, &other);
    other = f.ds;
    other.dim = 100;
    expect_refused(&f, &other);
    const off_t words[] = {0,  8,    16,       24,        32,        40,
                           48, 4096, 4096 + 8, 4096 + 16, 4096 + 24, 4096 + 32 * 8};
    static const uint64_t values[] = {0, 1, UINT64_MAX, (uint64_t)1 << 62};
    for (size_t i = 0; i < OG_COUNT(words); i++) {
        uint64_t before;
        int fd = open(f.pack, O_RDONLY);
        assert_int_equal(pread(fd, &before, sizeof(before), words[i]), sizeof(before));
        close(fd);
        for (size_t v = 0; v < OG_COUNT(values); v++) {
            poke(&f, words[i], values[v] ^ (before == values[v]));
            expect_refused(&f, &f.ds);
        }
        poke(&f, words[i], before);
    }
    struct og_io_counts io = {0};
    struct og_reader_options opt = {.profile = profile, .io = OG_IO_PREAD};
    read_back(&f, &opt, &io); /* as it was again */
    const off_t cuts[] = {st.st_size - 1, st.st_size - 4096, 8192, 4096, 100, 0};
    for (size_t i = 0; i < OG_COUNT(cuts); i++) {
        assert_int_equal(truncate(f.pack, cuts[i]), 0);
        expect_refused(&f, &f.ds);
    }
    close_fixture(&f);
}

/* How many chunks are not what was written; *which is the last. Returns -EINVAL where the pack
 * cannot be opened. */
static int damaged_chunks(const struct fixture *f, uint32_t *which, const char *hint)
{
    struct og_reader_options opt = {.profile = profile, .io = OG_IO_PREAD};
    struct og_pack *pack = NULL;
    int damaged = 0;
    if (og__pack_open(&pack, OG__ONE_PLACE(f->pack), &f->ds, 1, &opt, NULL, NULL) < 0)
        return -EINVAL;
    if (strstr(hint, "--scratch"))
        og__pack_is_own(pack);
    char *out = malloc(f->n_nodes * f->row_bytes);
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        struct og_io_counts io = {0};
        struct og_err err = {0};
        assert_int_equal(og__pack_begin(pack, 0, b, out, &err), 0);
        if (og__pack_finish(pack, 0, &io, &err) == 0)
            continue;
        assert_int_equal(err.code, -EIO);
        assert_non_null(strstr(err.message, "not what was written"));
        assert_non_null(strstr(err.hint, hint));
        *which = b;
        damaged++;
    }
    og__pack_close(pack);
    free(out);
    return damaged;
}

/* The chunk that holds it: rows and the zeros after them alike. */
static void any_byte_that_changes_is_told(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_counts counts;
    uint32_t which = 0;
    open_fixture(&f, 90, 300);
    plan_batches(&f, 2);
    struct og_pack_options opt = options(&f, og__sweep_least(&f.packing)); /* many partitions */
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
    const off_t data = (off_t)og__packing_data_start(N_BATCHES);
    const off_t end = (off_t)f.packing.offset[N_BATCHES];
    assert_int_equal(damaged_chunks(&f, &which, ""), 0);
    for (off_t at = 0; at < end; at += at % 4096 < 64 || at % 4096 >= 4032 ? 1 : 61) {
        uint32_t in = 0;
        while (at >= data && (uint64_t)at >= f.packing.offset[in + 1])
            in++;
        test_flip(f.pack, at);
        const char *hint = at % 2 ? "outgrow pack" : "--scratch";
        assert_int_equal(damaged_chunks(&f, &which, hint), at < data ? -EINVAL : 1);
        assert_true(at < data || which == in);
        test_flip(f.pack, at);
    }
    assert_int_equal(damaged_chunks(&f, &which, ""), 0);
    close_fixture(&f);
}

/* Blocks that are whole, but in each other's place: of one chunk, and of two. */
static void blocks_that_changed_places_are_told(void **state)
{
    (void)state;
    static const int swaps[][2] = {{0, 1}, {1, 3}, {0, 4}};
    struct fixture f;
    struct og_pack_counts counts;
    char block[2][4096];
    uint32_t ids[64];
    uint32_t which = 0;
    open_fixture(&f, 64, 512);
    for (uint32_t i = 0; i < 64; i++)
        ids[i] = i;
    assert_int_equal(og__packing_open(&f.packing, 64, 512, N_BATCHES, NULL, NULL), 0);
    for (uint32_t b = 0; b < N_BATCHES; b++) /* two have four blocks, each another's */
        assert_int_equal(og__packing_add(&f.packing, ids + 32 * b, NULL, b < 2 ? 32 : 0, NULL), 0);
    assert_int_equal(og__packing_finish(&f.packing, NULL), 0);
    struct og_pack_options opt = options(&f, OG_MIB);
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
    for (size_t i = 0; i < OG_COUNT(swaps); i++) {
        int fd = open(f.pack, O_RDWR);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pread(fd, block[k], 4096, 8192 + 4096 * swaps[i][k]), 4096);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pwrite(fd, block[k], 4096, 8192 + 4096 * swaps[i][1 - k]), 4096);
        assert_int_equal(damaged_chunks(&f, &which, ""), i == 2 ? 2 : 1);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pwrite(fd, block[k], 4096, 8192 + 4096 * swaps[i][k]), 4096);
        close(fd);
    }
    assert_int_equal(damaged_chunks(&f, &which, ""), 0);
    close_fixture(&f);
}

static void an_earlier_version_is_named(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack *pack = NULL;
    struct og_err err = {0};
    struct og_reader_options opt = {.profile = profile};
    open_fixture(&f, 300, 100);
    plan_batches(&f, 1);
    pack_and_check(&f, OG_MIB, OG_IO_PREAD);
    int fd = open(f.pack, O_RDWR);
    assert_int_equal(pwrite(fd, "1", 1, 6), 1);
    close(fd);
    assert_int_equal(og__pack_open(&pack, OG__ONE_PLACE(f.pack), &f.ds, 1, &opt, NULL, &err),
                     -EINVAL);
    assert_non_null(strstr(err.message, "by an earlier version"));
    assert_non_null(strstr(err.hint, "make it again with `outgrow pack`"));
    close_fixture(&f);
}

static void a_container_that_shrinks_is_told(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack *pack = NULL;
    struct og_io_counts io = {0};
    struct og_err err = {0};
    struct og_reader_options opt = {.profile = profile};
    open_fixture(&f, 1500, 400);
    plan_batches(&f, 1);
    pack_and_check(&f, OG_MIB, OG_IO_PREAD);
    assert_int_equal(og__pack_open(&pack, OG__ONE_PLACE(f.pack), &f.ds, 1, &opt, NULL, NULL), 0);
    assert_int_equal(truncate(f.pack, 3 * 4096), 0);
    char *out = malloc(f.n_nodes * f.row_bytes);
    int rc = og__pack_begin(pack, 0, 4, out, &err);
    if (rc == 0)
        rc = og__pack_finish(pack, 0, &io, &err);
    assert_int_equal(rc, -EIO);
    og__pack_close(pack);
    free(out);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_containers_are_refused),
        cmocka_unit_test(any_byte_that_changes_is_told),
        cmocka_unit_test(blocks_that_changed_places_are_told),
        cmocka_unit_test(an_earlier_version_is_named),
        cmocka_unit_test(a_container_that_shrinks_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
