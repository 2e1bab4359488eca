/* Packing: every chunk against the feature file itself, and costs against what was predicted. Also
 * what happens when the disk fails. */
#include "gather/packing_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const size_t row_sizes[] = {1, 100, 400, 512, 1536, 3000, 4096, 16384};

static void chunks_hold_the_rows_of_the_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(row_sizes); i++) {
        struct fixture f;
        open_fixture(&f, row_sizes[i] == 1 ? 9000 : 1000, row_sizes[i]);
        plan_batches(&f, i);
        size_t least = og__sweep_least(&f.packing);
        const size_t memory[] = {least, least + 40000, 3 * least, OG_MIB, 64 * OG_MIB};
        for (size_t m = 0; m < OG_COUNT(memory); m++) {
            refuse_fallocate = m % 2 ? EOPNOTSUPP : 0;
            refuse_direct = m >= 3;
            pack_and_check(&f, OG_MAX(memory[m], least), m == 1 ? OG_IO_AUTO : OG_IO_PREAD);
        }
        refuse_fallocate = 0;
        refuse_direct = false;
        close_fixture(&f);
    }
}

/* A small file, so that every row's fate is compared with a scan. */
static void batches_keep_the_order_of_the_file(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fixture f;
        open_fixture(&f, 40 + (uint32_t)seed * 7, 36);
        plan_batches(&f, seed);
        pack_and_check(&f, og__sweep_least(&f.packing) + seed * 100, OG_IO_PREAD);
        close_fixture(&f);
    }
}

static void reading_back_reads_little_else(void **state)
{
    (void)state;
    for (size_t i = 1; i < OG_COUNT(row_sizes); i++) {
        uint64_t rows = 200 * OG_KIB / row_sizes[i]; /* a small batch */
        uint64_t bytes = rows * row_sizes[i];
        struct og_io_counts io = og__packing_predict_chunk(bytes, 256 * OG_KIB);
        assert_true((double)io.bytes <= 1.05 * (double)bytes);
    }
}

struct passed {
    const struct fixture *f;
    uint32_t seen;
    int64_t last;
};

static int pass(void *arg, const uint32_t *nodes, uint32_t n, const char *rows, struct og_err *err)
{
    struct passed *p = arg;
    (void)err;
    for (uint32_t i = 0; i < n; i++) {
        assert_true(nodes[i] > p->last);
        assert_memory_equal(rows + i * p->f->row_bytes, p->f->bytes + nodes[i] * p->f->row_bytes,
                            p->f->row_bytes);
        p->seen += nodes[i] % 7 == 3; /* those that no batch misses */
        p->last = nodes[i];
    }
    return 0;
}

/* Rows that no chunk has come by in the same sweep, and chunks are what they were. */
static void other_rows_come_by(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_counts counts;
    struct og_io_counts back = {0};
    uint32_t ids[1000];
    uint32_t n = 0;
    open_fixture(&f, 1000, 100);
    assert_int_equal(og__packing_open(&f.packing, f.n_nodes, f.row_bytes, N_BATCHES, NULL, NULL),
                     0);
    assert_int_equal(og__packing_reserve(&f.packing, 100000, NULL), 0);
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        n = 0;
        for (uint32_t v = b; v < f.n_nodes; v += 3 + b)
            if (v % 7 != 3)
                ids[n++] = v;
        assert_int_equal(og__packing_add(&f.packing, ids, NULL, n, NULL), 0);
    }
    assert_int_equal(og__packing_finish(&f.packing, NULL), 0);
    assert_true(f.packing.capacity < 100000); /* what was not needed is given back */
    n = 0;
    for (uint32_t v = 3; v < f.n_nodes; v += 7)
        ids[n++] = v;
    og__packing_also(&f.packing, ids, n);
    og__packing_number(&f.packing);
    for (size_t more = 0; more < 200000; more += 66000) {
        struct passed p = {.f = &f, .last = -1};
        struct og_pack_options opt = options(&f, og__sweep_least(&f.packing) + more);
        opt.pass = pass;
        opt.arg = &p;
        assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
        assert_int_equal(p.seen, n);
        read_back(&f, &opt.reader, &back);
    }
    close_fixture(&f);
}

/* Rows far apart: the ranges between are not read. */
static void what_nobody_needs_is_skipped(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_counts counts;
    const uint32_t ids[] = {5, 900, 901, 1400};
    open_fixture(&f, 1500, 4096);
    assert_int_equal(og__packing_open(&f.packing, 1500, 4096, 1, NULL, NULL), 0);
    assert_int_equal(og__packing_add(&f.packing, ids, NULL, 4, NULL), 0);
    assert_int_equal(og__packing_finish(&f.packing, NULL), 0);
    struct og_pack_options opt = options(&f, OG_MIB);
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
    assert_int_equal(counts.sweep.reads, 3);
    assert_true(counts.sweep.bytes <= 4 * 4096 + 3 * 4096);
    close_fixture(&f);
}

/* A packed file of the first n batches, and how many distinct rows they miss. */
static uint64_t size_of_first(const struct og_packing *p, uint32_t n, uint32_t *distinct)
{
    bool seen[400] = {false};
    uint64_t bytes = 4096 + ((uint64_t)n * 32 + 4095) / 4096 * 4096;
    *distinct = 0;
    for (uint32_t b = 0; b < n; b++) {
        bytes += ((p->ptr[b + 1] - p->ptr[b]) * p->row_bytes + 4095) / 4096 * 4096;
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++) {
            *distinct += !seen[p->rows[i]];
            seen[p->rows[i]] = true;
        }
    }
    return bytes;
}

static void containers_of_the_first_batches_are_as_large_as_is_told(void **state)
{
    (void)state;
    enum { BATCHES = 270, NODES = 400 };
    struct og_packing p;
    struct og_rng rng;
    uint32_t distinct;
    og__rng_at(&rng, 9, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__packing_open(&p, NODES, 300, BATCHES, NULL, NULL), 0);
    for (uint32_t b = 0; b < BATCHES; b++) {
        uint32_t ids[NODES];
        uint32_t n = og__rng_below(&rng, 40);
        for (uint32_t i = 0; i < n; i++)
            ids[i] = (b + 7 * i) % NODES;
        assert_int_equal(og__packing_add(&p, ids, NULL, n, NULL), 0);
    }
    assert_int_equal(og__packing_finish(&p, NULL), 0);
    for (uint32_t n = BATCHES; n > 0; n--) {
        const uint64_t whole = size_of_first(&p, n, &distinct);
        assert_int_equal(p.offset[n], whole);
        assert_int_equal(p.n_distinct, distinct);
        assert_int_equal(og__packing_file_bytes(&p, n), whole);
        for (uint32_t m = n % 7; m < n; m += 7)
            assert_int_equal(og__packing_file_bytes(&p, m), size_of_first(&p, m, &distinct));
        assert_int_equal(og__packing_shorten(&p, n - 1, NULL), 0);
        assert_int_equal(p.n_batches, n - 1);
    }
    og__packing_close(&p);
}

/* In memory of its own, and over the very ids that it is shown, batch by batch. */
static void what_is_missed_may_lie_over_the_ids(void **state)
{
    (void)state;
    enum { BATCHES = 60, NODES = 5000, MOST = 300 };
    static uint32_t ids[BATCHES * MOST], codes[BATCHES * MOST];
    uint64_t ptr[BATCHES + 1] = {0};
    struct og_packing own, over;
    struct og_rng rng;
    og__rng_at(&rng, 11, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__packing_open(&own, NODES, 300, BATCHES, NULL, NULL), 0);
    assert_int_equal(og__packing_open(&over, NODES, 300, BATCHES, NULL, NULL), 0);
    for (uint32_t b = 0; b < BATCHES; b++) {
        const uint32_t n = b % 7 == 3 ? 0 : og__rng_below(&rng, MOST);
        const uint32_t some = b % 5; /* of the first all are missed, and of some none */
        for (uint32_t i = 0; i < n; i++) {
            ids[ptr[b] + i] = (b + 4999 * (i + 1)) % NODES;
            codes[ptr[b] + i] = og__rng_below(&rng, 4) >= some ? (uint32_t)OG__CODE_MISS : 0;
        }
        ptr[b + 1] = ptr[b] + n;
        assert_int_equal(og__packing_add(&own, ids + ptr[b], codes + ptr[b], n, NULL), 0);
    }
    og__packing_borrow(&over, ids, ptr[BATCHES]);
    for (uint32_t b = 0; b < BATCHES; b++)
        assert_int_equal(og__packing_add(&over, ids + ptr[b], codes + ptr[b],
                                         (uint32_t)(ptr[b + 1] - ptr[b]), NULL),
                         0);
    assert_int_equal(og__packing_finish(&own, NULL), 0);
    assert_int_equal(og__packing_finish(&over, NULL), 0);
    assert_ptr_equal(over.rows, ids);
    assert_true(own.ptr[BATCHES] > 0 && own.ptr[BATCHES] < ptr[BATCHES]);
    assert_memory_equal(over.ptr, own.ptr, sizeof(ptr));
    assert_memory_equal(over.offset, own.offset, sizeof(ptr));
    assert_memory_equal(over.rows, own.rows, own.ptr[BATCHES] * sizeof(*ids));
    assert_int_equal(over.n_distinct, own.n_distinct);
    og__packing_close(&over);
    og__packing_close(&own);
}

static void nothing_missed_is_a_container_too(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_counts counts;
    struct og_pack *pack = NULL;
    struct og_io_counts io = {0};
    open_fixture(&f, 10, 512);
    assert_int_equal(og__packing_open(&f.packing, 10, 512, 3, NULL, NULL), 0);
    assert_int_equal(og__packing_add(&f.packing, NULL, NULL, 0, NULL), 0);
    assert_int_equal(og__packing_finish(&f.packing, NULL), 0);
    struct og_pack_options opt = options(&f, OG_MIB);
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
    assert_int_equal(og__pack_open(&pack, OG__ONE_PLACE(f.pack), &f.ds, 1, &opt.reader, NULL, NULL),
                     0);
    assert_int_equal(og__pack_begin(pack, 0, 0, NULL, NULL), 0);
    assert_int_equal(og__pack_finish(pack, 0, &io, NULL), 0);
    assert_int_equal(io.bytes, 0);
    og__pack_close(pack);
    close_fixture(&f);
}

/* ---- faults ---- */

static void expect_failure(struct fixture *f, int code, const char *says)
{
    struct og_pack_options opt = options(f, 2 * og__sweep_least(&f->packing));
    struct og_pack_counts counts;
    struct og_err err = {0};
    assert_int_equal(write_pack(f, &opt, NULL, &counts, &err), code);
    if (!strstr(err.message, says))
        fail_msg("\"%s\" is not in \"%s\"", says, err.message);
    assert_int_equal(files_in(f->dir), 1); /* the features */
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *says;
    } faults[] = {{ENOSPC, "No space left"}, {EIO, "Input/output error"}};
    struct fixture f;
    open_fixture(&f, 1500, 3000);
    plan_batches(&f, 1);
    for (size_t i = 0; i < OG_COUNT(faults); i++)
        for (int after = 0; after < 40; after += 13) {
            fail_writes_after = after;
            failing_errno = faults[i].code;
            expect_failure(&f, -faults[i].code, faults[i].says);
        }
    fail_writes_after = -1;
    pack_and_check(&f, OG_MIB, OG_IO_PREAD); /* the next run starts clean */
    close_fixture(&f);
}

static void a_file_may_be_too_large(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1500, 3000);
    plan_batches(&f, 1);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct rlimit limit = {OG_MIB, OG_MIB};
            signal(SIGXFSZ, SIG_IGN);
            refuse_fallocate = i == 1 ? EOPNOTSUPP : 0;
            if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
                _exit(1);
            expect_failure(&f, -EFBIG, "File too large");
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close_fixture(&f);
}

static void features_that_end_early_are_told(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_options opt;
    struct og_pack_counts counts;
    struct og_err err = {0};
    open_fixture(&f, 1500, 512);
    plan_batches(&f, 1);
    opt = options(&f, OG_MIB);
    assert_int_equal(truncate(f.features, 300000), 0);
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, &err), -EIO);
    assert_int_equal(files_in(f.dir), 1);
    close_fixture(&f);
}

static void too_little_memory_names_what_would_do(void **state)
{
    (void)state;
    struct fixture f;
    struct og_sweep sweep;
    struct og_err err = {0};
    open_fixture(&f, 100, 512);
    plan_batches(&f, 1);
    size_t least = og__sweep_least(&f.packing);
    assert_int_equal(og__sweep_share(&f.packing, least - 1, &sweep, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "takes at least"));
    for (size_t m = least; m < 3 * least; m += 1000) {
        assert_int_equal(og__sweep_share(&f.packing, m, &sweep, NULL), 0);
        assert_true(og__sweep_bytes(&f.packing, &sweep) <= m);
        assert_true(sweep.n_pieces > f.packing.n_batches && sweep.part_rows > 0);
    }
    close_fixture(&f);
}

static void it_can_be_stopped(void **state)
{
    (void)state;
    struct fixture f;
    struct og_pack_counts counts;
    volatile sig_atomic_t stop = 1;
    open_fixture(&f, 1500, 512);
    plan_batches(&f, 1);
    struct og_pack_options opt = options(&f, OG_MIB);
    opt.stop = &stop;
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), OG_INTERRUPTED);
    assert_int_equal(files_in(f.dir), 1);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_hold_the_rows_of_the_file),
        cmocka_unit_test(batches_keep_the_order_of_the_file),
        cmocka_unit_test(reading_back_reads_little_else),
        cmocka_unit_test(other_rows_come_by),
        cmocka_unit_test(what_nobody_needs_is_skipped),
        cmocka_unit_test(containers_of_the_first_batches_are_as_large_as_is_told),
        cmocka_unit_test(what_is_missed_may_lie_over_the_ids),
        cmocka_unit_test(nothing_missed_is_a_container_too),
        cmocka_unit_test(a_write_that_fails_leaves_nothing),
        cmocka_unit_test(a_file_may_be_too_large),
        cmocka_unit_test(features_that_end_early_are_told),
        cmocka_unit_test(too_little_memory_names_what_would_do),
        cmocka_unit_test(it_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
