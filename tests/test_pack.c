/* Packing: every chunk against the feature file itself, costs against what was predicted, and what
 * happens when the disk will not. */
#include "pack_fixture.h"

#include "base/random.h"
#include "gather/pack.h"
#include "support/files.h"
#include "support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static const size_t row_sizes[] = {1, 100, 400, 512, 1536, 3000, 4096, 16384};
enum { OFFSET = 77, N_BATCHES = 9 };

/* ---- a disk that fails when told to: pwritev is counted ---- */

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    if (refused(fd))
        return -1;
    return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec *io, int n, off_t offset)
{
    if (fails_now())
        return -1;
    /* one vector a call: the rest is a short write */
    (void)n;
    return pwrite(fd, io[0].iov_base, io[0].iov_len, offset);
}

/* ---- fixture ---- */

struct fixture {
    char dir[64], features[80], pack[80];
    const char *pack_path; /* the same, as places have it */
    struct og_dataset ds;
    uint32_t n_nodes;
    size_t row_bytes;
    unsigned char *bytes;
    struct og_packing packing;
};

static void open_fixture(struct fixture *f, uint32_t n_nodes, size_t row_bytes)
{
    *f = (struct fixture){.n_nodes = n_nodes, .row_bytes = row_bytes};
    assert_non_null(test_folder(f->dir, "pack"));
    snprintf(f->features, sizeof(f->features), "%s/features", f->dir);
    snprintf(f->pack, sizeof(f->pack), "%s/pack", f->dir);
    f->pack_path = f->pack;
    f->bytes = write_features(f->features, n_nodes * row_bytes, OFFSET);
    f->ds = features_alone(f->dir, f->features, n_nodes, row_bytes, OFFSET);
}

static void close_fixture(struct fixture *f)
{
    og__packing_close(&f->packing);
    unlink(f->features);
    unlink(f->pack);
    assert_int_equal(rmdir(f->dir), 0);
    free(f->bytes);
}

/* Batches of random rows in random order, some of them missed; one batch misses nothing, one all,
 * and the last half of the file is wanted rarely. */
static void plan_batches(struct fixture *f, uint64_t seed)
{
    uint32_t *ids = malloc(f->n_nodes * sizeof(*ids));
    uint32_t *codes = malloc(f->n_nodes * sizeof(*codes));
    struct og_rng rng;
    og__rng_at(&rng, seed, OG__STREAM_BENCH, 0, 0, 0, 0);
    assert_int_equal(og__packing_open(&f->packing, f->n_nodes, f->row_bytes, N_BATCHES, NULL, NULL),
                     0);
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        struct og_permutation p;
        uint32_t n = b == 4 ? f->n_nodes : 1 + og__rng_below(&rng, f->n_nodes / 2);
        uint32_t kept = 0;
        og__permutation_init(&p, f->n_nodes, seed, b);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t id = (uint32_t)og__permutation_at(&p, i);
            bool rare = id > f->n_nodes / 2 && b != 4 && id % 97 != 0;
            bool missed = b != 3 && !rare && og__rng_below(&rng, 3) > 0;
            ids[kept] = id;
            codes[kept++] = !missed  ? id
                            : id % 2 ? OG__CODE_STAYS_OUT
                                     : (uint32_t)OG__CODE_MISS | 7;
        }
        assert_int_equal(og__packing_add(&f->packing, ids, b == 4 ? NULL : codes, kept, NULL), 0);
        for (uint32_t i = 0, at = 0; i < f->n_nodes && b != 4;
             i++) { /* ascending, and only misses */
            bool missed = false;
            for (uint32_t k = 0; k < kept && f->n_nodes < 300; k++)
                missed |= ids[k] == i && codes[k] & (uint32_t)OG__CODE_MISS;
            if (missed)
                assert_int_equal(f->packing.rows[f->packing.ptr[b] + at++], i);
        }
    }
    assert_int_equal(og__packing_seal(&f->packing, NULL), 0);
    free(ids);
    free(codes);
}

static struct og_pack_options options(const struct fixture *f, size_t memory)
{
    return (struct og_pack_options){.at = {1, &f->pack_path},
                                    .memory = memory,
                                    .reader = {.profile = profile, .io = OG_IO_PREAD}};
}

static int write_pack(const struct fixture *f, const struct og_pack_options *opt,
                      struct og_budget *b, struct og_pack_counts *counts, struct og_err *err)
{
    struct og_sweep sweep;
    int rc = og__sweep_share(&f->packing, opt->memory, &sweep, err);
    return rc < 0 ? rc : og__pack_write(&f->ds, &f->packing, &sweep, opt, b, counts, err);
}

/* ---- chunks ---- */

static void check_chunk(const struct fixture *f, const char *out, uint32_t batch)
{
    const struct og_packing *p = &f->packing;
    uint64_t n = og__packing_chunk_rows(p, batch);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t id = p->rows[p->ptr[batch] + i];
        if (memcmp(out + i * f->row_bytes, f->bytes + id * f->row_bytes, f->row_bytes) != 0)
            fail_msg("batch %u row %llu (node %u) differs", batch, (unsigned long long)i, id);
    }
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(out[n * f->row_bytes + i], 'G'); /* nothing beyond the rows */
}

/* All chunks, two on their way at a time, into places of any alignment. */
static void read_back(const struct fixture *f, const struct og_reader_options *opt,
                      struct og_io_counts *sum)
{
    struct og_pack *pack = NULL;
    struct og_err err = {0};
    size_t most = f->n_nodes * f->row_bytes + 128;
    char *out[2] = {malloc(most), malloc(most)};
    assert_int_equal(og__pack_open(&pack, OG__ONE_PLACE(f->pack), &f->ds, 2, opt, NULL, &err), 0);
    assert_int_equal(og__pack_batches(pack), N_BATCHES);
    for (uint32_t b = 0; b <= N_BATCHES; b++) {
        if (b < N_BATCHES) {
            memset(out[b % 2], 'G', most);
            assert_int_equal(og__pack_begin(pack, (int)(b % 2), b, out[b % 2] + b, &err), 0);
        }
        if (b > 0) {
            assert_int_equal(og__pack_finish(pack, (int)((b - 1) % 2), sum, &err), 0);
            check_chunk(f, out[(b - 1) % 2] + (b - 1), b - 1);
        }
    }
    for (uint32_t b = 0; b < N_BATCHES; b++) {
        const uint32_t *rows = f->packing.rows + f->packing.ptr[b];
        uint64_t n = og__packing_chunk_rows(&f->packing, b);
        assert_int_equal(og__pack_rows(pack, b), n);
        assert_int_equal(og__pack_holds(pack, b, rows, n, NULL), 0);
        if (n > 0)
            assert_int_equal(og__pack_holds(pack, b, rows, n - 1, NULL), -EINVAL);
        assert_int_equal(og__pack_holds(pack, b, f->packing.rows + 1, n, NULL), n ? -EINVAL : 0);
    }
    og__pack_close(pack);
    free(out[0]);
    free(out[1]);
}

/* What this process asked the kernel to read and write so far, page cache or not. */
static void asked(uint64_t *read, uint64_t *written)
{
    char line[64];
    FILE *f = fopen("/proc/self/io", "r");
    *read = *written = 0;
    while (f && fgets(line, sizeof(line), f)) {
        *read += strncmp(line, "rchar: ", 7) == 0 ? strtoull(line + 7, NULL, 10) : 0;
        *written += strncmp(line, "wchar: ", 7) == 0 ? strtoull(line + 7, NULL, 10) : 0;
    }
    if (f)
        fclose(f);
}

/* The counters against the kernel's: no more than opening files and writing the head besides. */
static void check_asked(const struct og_pack_counts *counts, uint64_t read, uint64_t written)
{
    enum { ASIDE = 32 * 1024 };
    uint64_t read_now;
    uint64_t written_now;
    asked(&read_now, &written_now);
    if (read_now == 0)
        return;
    assert_in_range(read_now - read, counts->sweep.bytes, counts->sweep.bytes + ASIDE);
    assert_in_range(written_now - written, counts->bytes_written, counts->bytes_written + ASIDE);
}

static void pack_and_check(const struct fixture *f, size_t memory, int io)
{
    struct og_pack_options opt = options(f, memory);
    struct og_pack_counts counts;
    struct og_packing_cost cost;
    struct og_sweep sweep;
    struct og_err err = {0};
    struct stat st;
    opt.reader.io = io;
    opt.writers = 1 + (int)(memory % 3);
    struct og_budget *b = og__budget_new(memory + og__reader_bytes(&opt.reader));
    uint64_t read;
    uint64_t written;
    asked(&read, &written);
    if (write_pack(f, &opt, b, &counts, &err) != 0)
        fail_msg("%s", err.message);
    if (io == OG_IO_PREAD)
        check_asked(&counts, read, written);
    assert_true(!refuse_direct || !counts.direct);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    assert_int_equal(og__sweep_share(&f->packing, memory, &sweep, NULL), 0);
    assert_true(og__sweep_bytes(&f->packing, &sweep) <= memory);
    struct og_io_file file;
    assert_int_equal(og__io_file_open(&file, f->features, true, NULL, NULL), 0);
    struct og_read_rule rule =
        og__read_rule_standard(OFFSET, f->row_bytes, file.align_offset, &opt.reader);
    og__io_file_close(&file);
    assert_int_equal(og__packing_predict(&f->packing, &sweep, &rule, &cost, NULL), 0);
    assert_int_equal(counts.sweep.reads, cost.sweep.reads);
    assert_int_equal(counts.sweep.bytes, cost.sweep.bytes);
    assert_int_equal(counts.bytes_written, cost.bytes_written);
    assert_int_equal(stat(f->pack, &st), 0);
    assert_int_equal(st.st_size, cost.bytes_written);
    struct og_io_counts back = {0};
    read_back(f, &opt.reader, &back);
    assert_int_equal(back.reads, cost.back.reads);
    assert_int_equal(back.bytes, cost.back.bytes);
    assert_int_equal(files_in(f->dir), 2);
}

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
    assert_int_equal(og__packing_seal(&f.packing, NULL), 0);
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
    assert_int_equal(og__packing_seal(&f.packing, NULL), 0);
    struct og_pack_options opt = options(&f, OG_MIB);
    assert_int_equal(write_pack(&f, &opt, NULL, &counts, NULL), 0);
    assert_int_equal(counts.sweep.reads, 3);
    assert_true(counts.sweep.bytes <= 4 * 4096 + 3 * 4096);
    close_fixture(&f);
}

/* A container of the first n batches, and how many distinct rows they miss. */
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

static void as_many_batches_are_packed_as_there_is_room_for(void **state)
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
    assert_int_equal(og__packing_seal(&p, NULL), 0);
    for (uint32_t n = BATCHES; n > 0; n--) {
        const uint64_t whole = size_of_first(&p, n, &distinct);
        assert_int_equal(p.offset[n], whole);
        assert_int_equal(p.n_distinct, distinct);
        assert_int_equal(og__packing_within(&p, whole), n);
        uint32_t fewer = n - 1; /* a batch that misses nothing takes nothing */
        while (fewer > 0 && size_of_first(&p, fewer, &distinct) > whole - 1)
            fewer--;
        assert_int_equal(og__packing_within(&p, whole - 1), fewer);
        assert_int_equal(og__packing_shorten(&p, n - 1, NULL), 0);
        assert_int_equal(p.n_batches, n - 1);
    }
    assert_int_equal(og__packing_within(&p, 0), 0);
    og__packing_close(&p);
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
    assert_int_equal(og__packing_seal(&f.packing, NULL), 0);
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

/* ---- containers that are not to be trusted ---- */

static void expect_refused(const struct fixture *f, const struct og_dataset *ds)
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
    struct og_dataset other = f.ds;
    other.identity.contents++;
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

/* -EINVAL where it cannot be opened; else how many chunks are not what was written, the last in
 * *which. */
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

/* Of the chunk that holds it, rows and the zeros behind them alike. */
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
    assert_int_equal(og__packing_seal(&f.packing, NULL), 0);
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
    assert_non_null(strstr(err.message, "of an earlier version"));
    assert_non_null(strstr(err.hint, "make it anew with `outgrow pack`"));
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
        cmocka_unit_test(chunks_hold_the_rows_of_the_file),
        cmocka_unit_test(batches_keep_the_order_of_the_file),
        cmocka_unit_test(reading_back_reads_little_else),
        cmocka_unit_test(other_rows_come_by),
        cmocka_unit_test(what_nobody_needs_is_skipped),
        cmocka_unit_test(as_many_batches_are_packed_as_there_is_room_for),
        cmocka_unit_test(nothing_missed_is_a_container_too),
        cmocka_unit_test(a_write_that_fails_leaves_nothing),
        cmocka_unit_test(a_file_may_be_too_large),
        cmocka_unit_test(features_that_end_early_are_told),
        cmocka_unit_test(too_little_memory_names_what_would_do),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(damaged_containers_are_refused),
        cmocka_unit_test(any_byte_that_changes_is_told),
        cmocka_unit_test(blocks_that_changed_places_are_told),
        cmocka_unit_test(an_earlier_version_is_named),
        cmocka_unit_test(a_container_that_shrinks_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
