/* Segments on disk: every batch's rows, through the order that is read with them, against the
 * feature file. What is read against the prediction. Damage, and disks that fail. */
#include "gather/pack_fixture.h"

#include "base/random.h"
#include "gather/pack.h"
#include "gather/shared.h"
#include "support/files.h"
#include "support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const size_t row_sizes[] = {100, 400, 512, 1536, 3000, 4096, 16384};
enum { OFFSET = 128, N_BATCHES = 11, N_NODES = 600, MOST_PARTS = 3 };

/* ---- a disk that fails on demand: pwrite is counted ---- */

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    if (refused(fd) || fails_now())
        return -1;
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

/* ---- fixture ---- */

struct fixture {
    char dir[64], features[80], pack[80], shared[80];
    uint32_t parts; /* of both, in as many files */
    char part_name[2][MOST_PARTS][88];
    const char *part_path[2][MOST_PARTS];
    struct og_places pack_at, shared_at;
    struct og_graph graph;
    struct og_group ds;
    size_t row_bytes;
    unsigned char *bytes;
    struct og_packing all, left; /* all misses; those in chunks */
    uint32_t size;               /* batches of a segment */
};

static struct og_reader_options reader_options(int io)
{
    return (struct og_reader_options){.profile = profile, .io = io};
}

/* Few nodes come by often, most seldom; one batch misses nothing, one all. */
static void plan_batches(struct og_packing *p, size_t row_bytes, uint64_t seed)
{
    uint32_t ids[N_NODES];
    assert_int_equal(og__packing_open(p, N_NODES, row_bytes, N_BATCHES, NULL, NULL), 0);
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        struct og_rng rng;
        uint32_t n = 0;
        og__rng_at(&rng, seed, OG__STREAM_BENCH, 0, b, 0, 0);
        for (uint32_t node = 0; node < N_NODES && b != 3; node++)
            if (b == 7 || og__rng_below(&rng, 4 + node / 20) == 0)
                ids[n++] = node;
        assert_int_equal(og__packing_add(p, ids, NULL, n, NULL), 0);
    }
    assert_int_equal(og__packing_finish(p, NULL), 0);
}

/* The first of several has the name that one has. */
static struct og_places name_parts(struct fixture *f, int of, const char *first)
{
    for (uint32_t i = 0; i < f->parts; i++) {
        snprintf(f->part_name[of][i], sizeof(f->part_name[of][i]), i ? "%s.%u" : "%s", first, i);
        f->part_path[of][i] = f->part_name[of][i];
    }
    return (struct og_places){f->parts, f->part_path[of]};
}

static void over(struct fixture *f, uint32_t parts)
{
    f->parts = parts;
    f->pack_at = name_parts(f, 0, f->pack);
    f->shared_at = name_parts(f, 1, f->shared);
}

static void open_fixture(struct fixture *f, size_t row_bytes, uint32_t size)
{
    *f = (struct fixture){.row_bytes = row_bytes, .size = size};
    assert_non_null(test_folder(f->dir, "segments"));
    snprintf(f->features, sizeof(f->features), "%s/features", f->dir);
    snprintf(f->pack, sizeof(f->pack), "%s/pack", f->dir);
    snprintf(f->shared, sizeof(f->shared), "%s/shared", f->dir);
    over(f, 1);
    f->bytes = write_features(f->features, N_NODES * row_bytes, OFFSET);
    f->ds = features_alone(&f->graph, f->dir, f->features, N_NODES, row_bytes, OFFSET);
    plan_batches(&f->all, row_bytes, row_bytes);
    plan_batches(&f->left, row_bytes, row_bytes);
}

static void close_fixture(struct fixture *f)
{
    og__packing_close(&f->all);
    og__packing_close(&f->left);
    unlink(f->features);
    for (uint32_t i = 0; i < f->parts; i++) {
        unlink(f->pack_at.path[i]);
        unlink(f->shared_at.path[i]);
    }
    assert_int_equal(rmdir(f->dir), 0);
    free(f->bytes);
}

/* ---- writing ---- */

static int write_shared(struct fixture *f, size_t memory, struct og_budget *b,
                        const volatile sig_atomic_t *stop, uint64_t *stored, struct og_err *err)
{
    struct og_segments s;
    struct og_pack_counts counts;
    struct og_segment_cost cost;
    const struct og_pack_options opt = {
        .at = f->shared_at, .memory = memory, .reader = reader_options(OG_IO_PREAD), .stop = stop};
    assert_int_equal(og__segments_open(&s, &f->all, NULL, NULL), 0);
    int rc = og__shared_write(&f->ds, &s, f->size, OG__BY_SIGNATURE, &opt, stored, b, &counts, err);
    if (rc == 0) {
        struct stat st;
        uint64_t bytes = 0;
        og__segments_space(&s, f->size, &cost);
        for (uint32_t i = 0; i < f->parts; i++, bytes += (uint64_t)st.st_size)
            assert_int_equal(stat(f->shared_at.path[i], &st), 0);
        assert_int_equal(bytes, og__shared_file_bytes(&f->all, &cost, f->parts));
        assert_in_range(counts.bytes_written, bytes - 4096 * f->parts, bytes);
        assert_true(!refuse_direct || !counts.direct);
    }
    og__segments_close(&s);
    return rc;
}

/* A plain count of who misses what in the segment of batch b. */
static bool is_shared(const struct fixture *f, uint32_t b, uint32_t node)
{
    uint32_t first = b / f->size * f->size;
    uint32_t users = 0;
    for (uint32_t k = first; k < OG_MIN(first + f->size, (uint32_t)N_BATCHES); k++)
        for (uint64_t i = f->all.ptr[k]; i < f->all.ptr[k + 1]; i++)
            users += f->all.rows[i] == node;
    return users >= 2;
}

static void check_left(const struct fixture *f)
{
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        uint64_t at = f->left.ptr[b];
        for (uint64_t i = f->all.ptr[b]; i < f->all.ptr[b + 1]; i++)
            if (!is_shared(f, b, f->all.rows[i]))
                assert_int_equal(f->left.rows[at++], f->all.rows[i]);
        assert_int_equal(at, f->left.ptr[b + 1]);
    }
}

static void write_all(struct fixture *f, size_t memory)
{
    uint64_t *stored = calloc(og__bits_words(f->all.ptr[N_BATCHES]) + 1, sizeof(*stored));
    struct og_reader_options reader = reader_options(OG_IO_PREAD);
    struct og_budget *b = og__budget_new(memory + og__reader_bytes(&reader));
    struct og_pack_counts counts;
    struct og_err err = {0};
    const struct og_pack_options opt = {.at = f->pack_at, .memory = OG_MIB * 64, .reader = reader};
    if (write_shared(f, memory, b, NULL, stored, &err) != 0)
        fail_msg("%s", err.message);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__packing_close(&f->left);
    plan_batches(&f->left, f->row_bytes, f->row_bytes);
    assert_int_equal(og__packing_drop(&f->left, stored, NULL), 0);
    check_left(f);
    struct og_sweep sweep;
    assert_int_equal(og__sweep_share(&f->left, opt.memory, &sweep, NULL), 0);
    assert_int_equal(og__pack_write(&f->ds, &f->left, &sweep, &opt, NULL, &counts, NULL), 0);
    free(stored);
    assert_int_equal(files_in(f->dir), 1 + 2 * f->parts);
}

/* ---- reading ---- */

static int open_both(const struct fixture *f, struct og_pack **pack, int io, struct og_err *err)
{
    struct og_reader_options reader = reader_options(io);
    int rc = og__pack_open(pack, f->pack_at, &f->ds, 2, &reader, NULL, err);
    if (rc == 0 && (rc = og__pack_add_shared(*pack, f->shared_at, &f->ds, &reader, err)) < 0)
        og__pack_close(*pack);
    return rc;
}

static void check_batch(const struct fixture *f, const struct og_pack *pack, int read,
                        const char *out, uint32_t b)
{
    const uint32_t *where = og__pack_where(pack, read);
    const uint64_t n = og__packing_chunk_rows(&f->all, b);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t node = f->all.rows[f->all.ptr[b] + i];
        if (memcmp(out + where[i] * f->row_bytes, f->bytes + node * f->row_bytes, f->row_bytes) !=
            0)
            fail_msg("batch %u miss %llu (node %u) differs", b, (unsigned long long)i, node);
    }
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(out[n * f->row_bytes + i], 'G'); /* nothing beyond the rows */
}

/* All batches, two on their way at a time, in an order that is not theirs. */
static void read_back(const struct fixture *f, int io, struct og_io_counts *sum)
{
    struct og_pack *pack = NULL;
    struct og_err err = {0};
    const size_t most = N_NODES * f->row_bytes + 128;
    char *out[2] = {malloc(most), malloc(most)};
    if (open_both(f, &pack, io, &err) != 0)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i <= N_BATCHES; i++) {
        uint32_t b = i * 4 % N_BATCHES;
        if (i < N_BATCHES) {
            const uint32_t *rows = f->all.rows + f->all.ptr[b];
            uint64_t n = og__packing_chunk_rows(&f->all, b);
            assert_int_equal(og__pack_holds(pack, b, rows, n, NULL), 0);
            assert_int_equal(og__pack_holds(pack, b, rows, n + 1, NULL), -EINVAL);
            memset(out[i % 2], 'G', most);
            assert_int_equal(og__pack_begin(pack, (int)(i % 2), b, out[i % 2] + i, &err), 0);
        }
        if (i > 0) {
            int read = (int)((i - 1) % 2);
            assert_int_equal(og__pack_finish(pack, read, sum, &err), 0);
            check_batch(f, pack, read, out[read] + (i - 1), (i - 1) * 4 % N_BATCHES);
        }
    }
    assert_int_equal(og__pack_holds(pack, N_BATCHES, NULL, 0, NULL), -EINVAL);
    og__pack_close(pack);
    free(out[0]);
    free(out[1]);
}

static void batches_find_their_rows(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 5, N_BATCHES};
    static const int engines[] = {OG_IO_PREAD, OG_IO_MMAP, OG_IO_AUTO};
    for (size_t i = 0; i < OG_COUNT(row_sizes); i++)
        for (size_t k = 0; k < OG_COUNT(sizes); k++) {
            struct fixture f;
            open_fixture(&f, row_sizes[i], sizes[k]);
            const size_t least = og__shared_least(&f.all);
            const size_t memory[] = {least, least + 6 * row_sizes[i] + 77, least + 40000,
                                     64 * OG_MIB};
            for (size_t m = 0; m < OG_COUNT(memory); m++) {
                struct og_io_counts sum = {0};
                refuse_direct = m % 2;
                write_all(&f, memory[m]);
                read_back(&f, engines[m % OG_COUNT(engines)], &sum);
            }
            refuse_direct = false;
            close_fixture(&f);
        }
}

/* Bytes of a file that is striped in units, put together again by that description alone. Units
 * begin after the first `aside` bytes of each part. What follows the rows is the first part's. */
static char *put_together(struct og_places at, size_t unit, size_t aside, size_t bytes)
{
    char *all = malloc(bytes + 1);
    size_t len;
    for (uint32_t p = 0; p < at.n; p++) {
        char *part = test_read(at.path[p], &len);
        for (size_t i = 0; p * unit + i * at.n * unit < bytes; i++) {
            const size_t to = (p + i * at.n) * unit;
            const size_t n = OG_MIN(unit, bytes - to);
            assert_true(aside + i * unit + n <= len);
            memcpy(all + to, part + aside + i * unit, n);
        }
        free(part);
    }
    return all;
}

/* The same packed file, and the same shared rows, whatever the number of disks; each has its share.
 */
static void files_in_parts_are_the_same(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(row_sizes); k++) {
        const size_t row = row_sizes[k];
        size_t blocks = 1; /* rows that are whole blocks; and as many of those as a MiB has */
        while (blocks * row % 4096 != 0)
            blocks++;
        size_t unit = blocks;
        while ((unit + blocks) * row <= OG_MIB)
            unit += blocks;
        struct fixture f;
        open_fixture(&f, row, 3);
        write_all(&f, 64 * OG_MIB);
        size_t pack_bytes, shared_bytes;
        char *pack = test_read(f.pack, &pack_bytes);
        char *shared = test_read(f.shared, &shared_bytes);
        struct og_shared_head head = {.parts = 1};
        assert_int_equal(og__shared_parse(&head, shared, 4096, shared_bytes, "x", NULL), 0);
        const size_t rows = head.n_rows * row;
        for (uint32_t parts = 2; parts <= MOST_PARTS; parts++) {
            static const int engines[] = {OG_IO_PREAD, OG_IO_MMAP, OG_IO_AUTO};
            struct og_io_counts sum = {0};
            unlink(f.pack);
            unlink(f.shared);
            over(&f, parts);
            refuse_direct = parts == 3;
            write_all(&f, parts == 2 ? 64 * OG_MIB : og__shared_least(&f.all) + 9 * row);
            char *pack_again = put_together(f.pack_at, OG_MIB, 0, pack_bytes);
            char *shared_again = put_together(f.shared_at, unit * row, 4096, rows);
            assert_memory_equal(pack_again, pack, pack_bytes);
            assert_memory_equal(shared_again, shared + 4096, rows);
            for (size_t e = 0; e < OG_COUNT(engines); e++)
                read_back(&f, engines[e], &sum);
            free(pack_again);
            free(shared_again);
        }
        refuse_direct = false;
        free(pack);
        free(shared);
        close_fixture(&f);
    }
}

/* Orders, the pages of shared rows, chunks: counted with nothing but the format's description. */
static void what_is_read_is_what_was_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(row_sizes); i++) {
        struct fixture f;
        struct og_segments s;
        struct og_io_counts sum = {0};
        struct og_io_file file;
        struct og_reader_options reader = reader_options(OG_IO_PREAD);
        uint64_t reads = 0;
        uint64_t bytes = 0;
        uint32_t where[N_NODES];
        uint32_t positions[N_NODES];
        open_fixture(&f, row_sizes[i], 4);
        write_all(&f, 64 * OG_MIB);
        read_back(&f, OG_IO_PREAD, &sum);
        assert_int_equal(og__io_file_open(&file, f.shared, true, NULL, NULL), 0);
        const struct og_read_rule rule =
            og__read_rule_standard(4096, row_sizes[i], file.align_offset, &reader);
        og__io_file_close(&file);
        assert_int_equal(og__segments_open(&s, &f.all, NULL, NULL), 0);
        uint32_t before = 0;
        for (uint32_t first = 0; first < N_BATCHES; first += 4) {
            const uint32_t last = OG_MIN(first + 4, (uint32_t)N_BATCHES);
            assert_int_equal(og__segments_lay_out(&s, first, last, OG__BY_SIGNATURE, NULL), 0);
            for (uint32_t b = first; b < last; b++) {
                const uint64_t n = og__packing_chunk_rows(&f.all, b);
                uint32_t n_shared = og__segments_batch(&s, b, where, positions);
                for (uint32_t k = 0; k < n_shared; k++)
                    positions[k] += before;
                struct og_io_counts shared = og__read_rule_predict(&rule, positions, n_shared);
                struct og_io_counts chunk =
                    og__packing_predict_chunk((n - n_shared) * row_sizes[i], rule.max_request);
                reads += shared.reads + chunk.reads + (n > 0);
                bytes += shared.bytes + chunk.bytes + 4 * (n + n_shared);
            }
            before += s.n_shared;
        }
        og__segments_close(&s);
        assert_int_equal(sum.reads, reads);
        assert_int_equal(sum.bytes, bytes);
        close_fixture(&f);
    }
}

/* ---- damage ---- */

/* Every batch, until one is refused. */
static int read_all(const struct fixture *f)
{
    struct og_pack *pack;
    struct og_io_counts io = {0};
    char *out = malloc(N_NODES * f->row_bytes + 64);
    int rc = open_both(f, &pack, OG_IO_PREAD, NULL);
    bool open = rc == 0;
    for (uint32_t b = 0; rc == 0 && b < N_BATCHES; b++) {
        rc = og__pack_begin(pack, 0, b, out, NULL);
        if (rc == 0)
            rc = og__pack_finish(pack, 0, &io, NULL);
    }
    if (open)
        og__pack_close(pack);
    free(out);
    return rc;
}

/* Two rows that are whole, but in each other's place. */
static void rows_that_changed_places_are_told(void **state)
{
    (void)state;
    struct fixture f;
    char row[2][400];
    open_fixture(&f, 400, 5);
    write_all(&f, og__shared_least(&f.all) + 9000); /* several blocks a segment */
    for (int order = 0; order < 2; order++) {
        int fd = open(f.shared, O_RDWR);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pread(fd, row[k], 400, 4096 + 400 * (3 + 2 * k)), 400);
        for (int k = 0; k < 2; k++)
            assert_int_equal(pwrite(fd, row[k], 400, 4096 + 400 * (5 - 2 * k)), 400);
        close(fd);
        assert_int_equal(read_all(&f), order == 0 ? -EIO : 0);
    }
    close_fixture(&f);
}

static void damage_is_detected(void **state)
{
    (void)state;
    struct fixture f;
    struct stat st;
    struct og_shared_head head = {.parts = 1};
    char block[4096];
    open_fixture(&f, 400, 5);
    write_all(&f, OG_MIB);
    assert_int_equal(read_all(&f), 0);
    assert_int_equal(stat(f.shared, &st), 0);
    int fd = open(f.shared, O_RDONLY);
    assert_int_equal(pread(fd, block, sizeof(block), 0), sizeof(block));
    close(fd);
    assert_int_equal(og__shared_parse(&head, block, sizeof(block), (uint64_t)st.st_size, "x", NULL),
                     0);
    for (off_t at = 0; at < 72; at++) {
        test_flip(f.shared, at);
        assert_int_equal(read_all(&f), -EINVAL);
        test_flip(f.shared, at);
    }
    for (off_t at = (off_t)og__shared_table_at(&head); at < st.st_size; at += 3) {
        test_flip(f.shared, at);
        assert_int_equal(read_all(&f), -EINVAL);
        test_flip(f.shared, at);
    }
    const off_t end = (off_t)(4096 + head.n_rows * head.row_bytes);
    for (off_t at = 4096; at < end; at += at == end - 400 ? 399 : 397) {
        test_flip(f.shared, at);
        assert_int_equal(read_all(&f), -EIO);
        test_flip(f.shared, at);
    }
    assert_int_equal(read_all(&f), 0);
    f.ds.contents++;
    assert_int_equal(read_all(&f), -EINVAL);
    f.ds.contents--;
    assert_int_equal(truncate(f.shared, st.st_size - 1), 0);
    assert_int_equal(read_all(&f), -EINVAL);
    assert_int_equal(truncate(f.shared, 10), 0);
    assert_int_equal(read_all(&f), -EINVAL);
    close_fixture(&f);
}

struct attempt {
    struct og_pack *pack;
    char *out;
};

/* How many batches are refused. */
static void *try_all(void *arg)
{
    const struct attempt *a = arg;
    intptr_t refused = 0;
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        struct og_io_counts io = {0};
        int rc = og__pack_begin(a->pack, 0, b, a->out, NULL);
        if (rc == 0)
            rc = og__pack_finish(a->pack, 0, &io, NULL);
        refused += rc < 0;
    }
    return (void *)refused;
}

/* A batch that is refused for its shared rows leaves no read of its chunk in flight. The thread may
 * end, and another may close. */
static void what_is_refused_is_read_no_more(void **state)
{
    (void)state;
    struct fixture f;
    struct og_err err = {0};
    struct attempt a;
    pthread_t thread;
    void *refused;
    open_fixture(&f, 16384, 5);
    write_all(&f, 64 * OG_MIB);
    for (int row = 0; row < 40; row++)
        test_flip(f.shared, 4096 + (off_t)row * 16384);
    if (open_both(&f, &a.pack, OG_IO_AUTO, &err) != 0)
        fail_msg("%s", err.message);
    a.out = malloc(N_NODES * f.row_bytes);
    alarm(60); /* reads that were forgotten confuse the next ones */
    assert_int_equal(pthread_create(&thread, NULL, try_all, &a), 0);
    assert_int_equal(pthread_join(thread, &refused), 0);
    assert_true((intptr_t)refused > 2);
    og__pack_close(a.pack);
    alarm(0);
    free(a.out);
    close_fixture(&f);
}

/* A packed file and shared rows of different segments do not go together. */
static void two_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct og_err err = {0};
    struct og_pack *pack;
    uint64_t *stored = calloc(N_BATCHES * N_NODES / 64 + 1, sizeof(*stored));
    open_fixture(&f, 400, 5);
    write_all(&f, OG_MIB);
    f.size = 2;
    assert_int_equal(write_shared(&f, OG_MIB, NULL, NULL, stored, NULL), 0);
    assert_int_equal(open_both(&f, &pack, OG_IO_PREAD, &err), -EINVAL);
    assert_non_null(strstr(err.message, "misses"));
    free(stored);
    close_fixture(&f);
}

/* ---- failures leave nothing ---- */

static void expect_failure(struct fixture *f, int code, const volatile sig_atomic_t *stop)
{
    uint64_t *stored = calloc(N_BATCHES * N_NODES / 64 + 1, sizeof(*stored));
    struct og_err err = {0};
    assert_int_equal(write_shared(f, og__shared_least(&f->all) + 9000, NULL, stop, stored, &err),
                     code);
    assert_true(err.message[0]);
    assert_int_equal(files_in(f->dir), 1); /* the features */
    free(stored);
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    static const int codes[] = {ENOSPC, EIO};
    struct fixture f;
    volatile sig_atomic_t stop = 1;
    uint64_t stored[N_BATCHES * N_NODES / 64 + 1] = {0};
    open_fixture(&f, 1536, 4);
    for (size_t i = 0; i < OG_COUNT(codes); i++) {
        failing_errno = codes[i];
        for (int after = 1; after < 60; after += 7) {
            fail_writes_after = after;
            expect_failure(&f, -codes[i], NULL);
        }
        fail_writes_after = -1;
        refuse_fallocate = codes[i];
        expect_failure(&f, -codes[i], NULL);
        refuse_fallocate = 0;
    }
    expect_failure(&f, OG_INTERRUPTED, &stop);
    assert_int_equal(write_shared(&f, og__shared_least(&f.all) - 1, NULL, NULL, stored, NULL),
                     -ENOMEM);
    f.ds.rows.path = "/nonexistent";
    expect_failure(&f, -ENOENT, NULL);
    f.ds.rows.path = f.features;
    refuse_fallocate = EOPNOTSUPP; /* of a file system that cannot, only */
    write_all(&f, OG_MIB);
    refuse_fallocate = 0;
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_find_their_rows),
        cmocka_unit_test(files_in_parts_are_the_same),
        cmocka_unit_test(what_is_read_is_what_was_told),
        cmocka_unit_test(rows_that_changed_places_are_told),
        cmocka_unit_test(damage_is_detected),
        cmocka_unit_test(what_is_refused_is_read_no_more),
        cmocka_unit_test(two_that_do_not_fit_are_refused),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
