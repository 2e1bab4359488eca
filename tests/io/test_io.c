/* io: every engine delivers the same rows as plain pread, whatever the alignment. Its counts are
 * those of its system calls. */
#include "io/io_fixture.h"

#include "oracles/null_engine.h"

#include <pthread.h>

#define ENGINE(NAME, name) &og__io_##name,
static const struct og_io_ops *const engines[] = {OG__IO_ENGINES(ENGINE)};

/* What needs no more than POSIX is everywhere. */
static bool here(const struct og_io_ops *ops)
{
    const char *reason;
    bool is = ops->available(&reason);
    assert_true(is || ops == &og__io_uring);
    return is;
}

static struct og_reader *must_open(const struct og_io_ops *ops, const struct scratch *s,
                                   size_t offset, size_t row_bytes, uint32_t n_rows,
                                   const struct og_reader_options *opt)
{
    struct og_err err = {0};
    struct og_reader *r = NULL;
    if (og__reader_open_on(&r, ops, s->path, offset, row_bytes, n_rows, opt, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return r;
}

static void must_read(struct og_reader *r, struct og_read_job *job)
{
    struct og_err err = {0};
    if (og__reader_submit(r, job, &err) < 0 || og__reader_wait(r, job, &err) < 0)
        fail_msg("%s", err.message);
}

/* ---- equal bytes ---- */

static void the_fixture_is_what_pread_reads(void **state)
{
    (void)state;
    struct scratch s;
    unsigned char back[5000];
    scratch_open(&s, sizeof(back));
    int fd = open(s.path, O_RDONLY);
    assert_int_equal(pread(fd, back, sizeof(back), 0), sizeof(back));
    assert_memory_equal(back, s.bytes, sizeof(back));
    close(fd);
    scratch_close(&s);
}

/* A file of one shape, all sets through one reader; the file ends with the last row. */
static void check_shape(const struct og_io_ops *ops, size_t offset, size_t row_bytes)
{
    const uint32_t n_rows = row_bytes > 8192 ? 50 : 211;
    const struct og_reader_options opt = {.profile = test_profile};
    struct scratch s;
    scratch_open(&s, offset + n_rows * row_bytes);
    uint32_t *rows = calloc(n_rows, sizeof(*rows));
    char *out = malloc(n_rows * row_bytes + 1);
    struct og_reader *r = must_open(ops, &s, offset, row_bytes, n_rows, &opt);
    for (int set = 0; set < N_SETS; set++) {
        struct og_read_job job = {.rows = rows, .out = out};
        job.n = pick((enum row_set)set, n_rows, rows);
        memset(out, 0, n_rows * row_bytes);
        out[job.n * row_bytes] = 0x55; /* nothing is written after the last row */
        must_read(r, &job);
        check_rows(&s, offset, row_bytes, &job);
        assert_int_equal(out[job.n * row_bytes], 0x55);
    }
    og__reader_close(r);
    free(rows);
    free(out);
    scratch_close(&s);
}

static void every_shape(const struct og_io_ops *ops)
{
    const size_t offsets[] = {0, 128, 513, 4096};
    const size_t sizes[] = {1, 100, 400, 512, 1536, 3000, 4096, 16384, 27220};
    if (!here(ops))
        skip();
    for (size_t o = 0; o < OG_COUNT(offsets); o++)
        for (size_t b = 0; b < OG_COUNT(sizes); b++)
            check_shape(ops, offsets[o], sizes[b]);
}

static void uring_reads_every_shape(void **state)
{
    (void)state;
    every_shape(&og__io_uring);
}

static void pread_reads_every_shape(void **state)
{
    (void)state;
    every_shape(&og__io_pread);
}

static void mmap_reads_every_shape(void **state)
{
    (void)state;
    every_shape(&og__io_mmap);
}

/* Rows longer than the largest request go in pieces; aligned outputs are read to directly. */
static void long_rows_go_in_pieces(void **state)
{
    (void)state;
    const size_t sizes[] = {65536, 300000, (size_t)1 << 20};
    const uint32_t n_rows = 7;
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        for (size_t b = 0; b < OG_COUNT(sizes) && here(engines[e]); b++) {
            struct scratch s;
            uint32_t rows[8];
            struct og_reader_options opt = {.profile = test_profile, .max_request = 65536};
            scratch_open(&s, 513 + n_rows * sizes[b]);
            for (size_t offset = 0; offset <= 513; offset += 513) {
                char *out = aligned_alloc(4096, og__round_up(n_rows * sizes[b], 4096));
                struct og_reader *r = must_open(engines[e], &s, offset, sizes[b], n_rows, &opt);
                for (int set = 0; set < N_SETS; set++) {
                    struct og_read_job job = {.rows = rows, .out = out};
                    job.n = pick((enum row_set)set, n_rows, rows);
                    memset(out, 0, n_rows * sizes[b]);
                    must_read(r, &job);
                    check_rows(&s, offset, sizes[b], &job);
                }
                og__reader_close(r);
                free(out);
            }
            scratch_close(&s);
        }
    }
}

/* A file that ends within its last row. What is missing of that arrives as zeros. */
static void check_cut(const struct og_io_ops *ops, size_t row_bytes, size_t missing, size_t align)
{
    const uint32_t n_rows = 9;
    const size_t offset = 128;
    const size_t whole = n_rows * row_bytes;
    const struct og_reader_options opt = {.profile = test_profile, .max_request = 65536};
    struct scratch s;
    struct og_err err = {0};
    struct og_reader *r;
    uint32_t rows[16];
    char *out = aligned_alloc(4096, og__round_up(whole + align, 4096));
    scratch_open(&s, offset + whole - missing);
    const char *path = s.path;
    const struct og_row_files files = {.paths = &path,
                                       .offset = offset,
                                       .row_bytes = row_bytes,
                                       .n_rows = n_rows,
                                       .bytes = whole - missing};
    if (og__reader_open_parts_on(&r, ops, &files, &opt, NULL, &err) < 0)
        fail_msg("%s", err.message);
    s.bytes = realloc(s.bytes, offset + whole);
    memset(s.bytes + offset + whole - missing, 0, missing);
    for (int set = 0; set < N_SETS; set++) {
        struct og_read_job job = {.rows = rows, .out = out + align};
        job.n = pick((enum row_set)set, n_rows, rows);
        memset(out, 7, whole + align);
        must_read(r, &job);
        check_rows(&s, offset, row_bytes, &job);
        if (!ops->kernel_counts)
            assert_int_equal(job.counts.bytes, og__reader_predict(r, rows, job.n).bytes);
    }
    og__reader_close(r);
    scratch_close(&s);
    free(out);
}

static void the_last_row_may_be_cut_short(void **state)
{
    (void)state;
    const size_t sizes[] = {12, 512, 4000, 300000};
    for (size_t e = 0; e < OG_COUNT(engines); e++)
        for (size_t b = 0; b < OG_COUNT(sizes) && here(engines[e]); b++)
            for (size_t align = 0; align <= 128; align += 128) {
                check_cut(engines[e], sizes[b], 1, align);
                check_cut(engines[e], sizes[b], sizes[b] / 2, align);
                check_cut(engines[e], sizes[b], sizes[b] - 4, align);
            }
}

static void null_reads_zeros(void **state)
{
    (void)state;
    struct scratch s;
    uint32_t rows[100];
    char out[100 * 100];
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, 100 * 100);
    struct og_reader *r = must_open(&og__io_null, &s, 0, 100, 100, &opt);
    struct og_read_job job = {.rows = rows, .n = pick(SET_EVEN, 100, rows), .out = out};
    memset(out, 1, sizeof(out));
    must_read(r, &job);
    for (size_t i = 0; i < job.n * 100; i++)
        assert_int_equal(out[i], 0);
    og__reader_close(r);
    scratch_close(&s);
}

/* ---- recoded ---- */

/* Three bytes become their first and their sum; three zeros have no such form. */
static int64_t sums_of_three(const void *in, size_t n, void *out)
{
    const unsigned char *from = in;
    unsigned char *to = out;
    int64_t refused = -1;
    for (size_t i = 0; i < n; i++, from += 3, to += 2) {
        to[0] = from[0];
        to[1] = (unsigned char)(from[0] + from[1] + from[2]);
        if (refused < 0 && !from[0] && !from[1] && !from[2])
            refused = (int64_t)i;
    }
    return refused;
}

static const struct og_recode by_threes = {
    .from = 3, .to = 2, .fn = sums_of_three, .refusal = "nothing", .hint = "write something"};

/* The same, with the second byte times the element's scale. */
static int64_t scaled_sums(const void *in, const float *scale, size_t n, void *out)
{
    unsigned char *to = out;
    const int64_t refused = sums_of_three(in, n, out);
    for (size_t i = 0; i < n; i++)
        to[2 * i + 1] = (unsigned char)(to[2 * i + 1] * (unsigned)scale[i]);
    return refused;
}

static const float *scales(void)
{
    static float scale[100000];
    for (size_t i = 0; i < OG_COUNT(scale); i++)
        scale[i] = (float)(i % 251);
    return scale;
}

static void check_recoded(const struct scratch *s, size_t offset, size_t row_bytes,
                          const struct og_recode *how, const struct og_read_job *job)
{
    const size_t kept = row_bytes / 3 * 2;
    char *want = malloc(kept);
    for (size_t i = 0; i < job->n; i++) {
        const unsigned char *row = s->bytes + offset + job->rows[i] * row_bytes;
        if (how->scaled)
            scaled_sums(row, how->scale, row_bytes / 3, want);
        else
            sums_of_three(row, row_bytes / 3, want);
        if (memcmp(job->out + i * kept, want, kept) != 0)
            fail_msg("row %u (%zu bytes from %zu) differs", job->rows[i], row_bytes, offset);
    }
    free(want);
}

/* Wherever rows begin and requests end, elements are whole, and nothing goes straight to out. */
static void rows_are_recoded(bool scaled)
{
    const size_t offsets[] = {0, 1, 512, 4096};
    const size_t sizes[] = {3, 99, 1536, 4101, 300000};
    for (size_t e = 0; e < OG_COUNT(engines) * OG_COUNT(offsets) * OG_COUNT(sizes); e++) {
        const struct og_io_ops *ops = engines[e % OG_COUNT(engines)];
        const size_t offset = offsets[e / OG_COUNT(engines) % OG_COUNT(offsets)];
        const size_t row_bytes = sizes[e / OG_COUNT(engines) / OG_COUNT(offsets)];
        const uint32_t n_rows = row_bytes > 8192 ? 7 : 211;
        const size_t kept = n_rows * (row_bytes / 3 * 2);
        struct og_recode how = by_threes;
        if (scaled) {
            how.scaled = scaled_sums;
            how.scale = scales();
            how.columns = row_bytes / 3;
        }
        const struct og_reader_options opt = {
            .profile = test_profile, .max_request = 65536, .recode = &how};
        uint32_t rows[211];
        struct scratch s;
        if (!here(ops))
            continue;
        scratch_open(&s, offset + n_rows * row_bytes);
        char *out = aligned_alloc(4096, og__round_up(kept + 1, 4096));
        struct og_reader *r = must_open(ops, &s, offset, row_bytes, n_rows, &opt);
        for (int set = 0; set < N_SETS; set++) {
            struct og_read_job job = {.rows = rows, .out = out};
            job.n = pick((enum row_set)set, n_rows, rows);
            memset(out, 0, kept);
            out[job.n * (row_bytes / 3 * 2)] = 0x55;
            must_read(r, &job);
            check_recoded(&s, offset, row_bytes, &how, &job);
            assert_int_equal(out[job.n * (row_bytes / 3 * 2)], 0x55);
            struct og_io_counts told = og__reader_predict(r, rows, job.n);
            if (ops != &og__io_mmap) {
                assert_int_equal(told.reads, job.counts.reads);
                assert_int_equal(told.bytes, job.counts.bytes);
            }
        }
        og__reader_close(r);
        free(out);
        scratch_close(&s);
    }
}

static void rows_are_recoded_on_their_way(void **state)
{
    (void)state;
    rows_are_recoded(false);
}

/* Each element by its column's scale. */
static void rows_are_scaled_on_their_way(void **state)
{
    (void)state;
    rows_are_recoded(true);
}

/* The job fails with the row and the byte; the reader continues. */
static void what_cannot_be_recoded_is_named(void **state)
{
    (void)state;
    enum { ROWS = 50, ROW = 300, FIRST = 100 };
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        const struct og_reader_options opt = {.profile = test_profile, .recode = &by_threes};
        struct og_err err = {0};
        uint32_t rows[ROWS];
        static char out[ROWS * ROW];
        struct scratch s;
        if (!here(engines[e]))
            continue;
        scratch_open(&s, FIRST + ROWS * ROW);
        int fd = open(s.path, O_WRONLY);
        assert_int_equal(pwrite(fd, "\0\0", 3, FIRST + 33 * ROW + 27), 3);
        close(fd);
        struct og_reader *r = must_open(engines[e], &s, FIRST, ROW, ROWS, &opt);
        struct og_read_job job = {.rows = rows, .n = pick(SET_ALL, ROWS, rows), .out = out};
        int rc = og__reader_submit(r, &job, &err);
        assert_int_equal(rc < 0 ? rc : og__reader_wait(r, &job, &err), -ERANGE);
        assert_non_null(strstr(err.message, "row 33 is nothing (at byte 10027)"));
        assert_string_equal(err.hint, "write something");
        job = (struct og_read_job){.rows = rows, .n = 33, .out = out};
        must_read(r, &job);
        check_recoded(&s, FIRST, ROW, &by_threes, &job);
        og__reader_close(r);
        scratch_close(&s);
    }
}

/* ---- many jobs ---- */

/* Jobs are waited for in another order than they were queued in. The depth is far below what they
 * need, so each keeps the ring full for the next. */
static void jobs_queue_behind_each_other(void **state)
{
    (void)state;
    enum { JOBS = 5, ROWS = 3000, BYTES = 700 };
    static const int order[JOBS] = {2, 0, 4, 1, 3};
    struct scratch s;
    struct og_err err = {0};
    const struct og_reader_options opt = {.profile = test_profile, .depth = 8};
    scratch_open(&s, 128 + (size_t)ROWS * BYTES);
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        if (!here(engines[e]))
            continue;
        struct og_reader *r = must_open(engines[e], &s, 128, BYTES, ROWS, &opt);
        struct og_read_job jobs[JOBS];
        uint32_t *rows[JOBS];
        for (int round = 0; round < 3; round++) {
            for (int j = 0; j < JOBS; j++) {
                rows[j] = calloc(ROWS, sizeof(uint32_t));
                jobs[j] =
                    (struct og_read_job){.rows = rows[j], .out = malloc((size_t)ROWS * BYTES)};
                jobs[j].n = pick((enum row_set)((j + round) % N_SETS), ROWS, rows[j]);
                assert_int_equal(og__reader_submit(r, &jobs[j], &err), 0);
            }
            for (int j = 0; j < JOBS; j++) {
                struct og_read_job *job = &jobs[order[j]];
                assert_int_equal(og__reader_wait(r, job, &err), 0);
                check_rows(&s, 128, BYTES, job);
            }
            for (int j = 0; j < JOBS; j++) {
                free(rows[j]);
                free(jobs[j].out);
            }
        }
        og__reader_close(r);
    }
    scratch_close(&s);
}

/* Closing with a job in the ring waits for it: its memory may go right afterwards. */
static void close_waits_for_what_is_in_flight(void **state)
{
    (void)state;
    enum { ROWS = 4000, BYTES = 512 };
    struct scratch s;
    struct og_err err = {0};
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, (size_t)ROWS * BYTES);
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        if (!here(engines[e]))
            continue;
        uint32_t *rows = calloc(ROWS, sizeof(*rows));
        struct og_read_job job = {.rows = rows, .out = malloc((size_t)ROWS * BYTES)};
        job.n = pick(SET_SPARSE, ROWS, rows);
        struct og_reader *r = must_open(engines[e], &s, 0, BYTES, ROWS, &opt);
        assert_int_equal(og__reader_submit(r, &job, &err), 0);
        og__reader_close(r);
        free(job.out);
        free(rows);
    }
    scratch_close(&s);
}

struct handover {
    struct og_reader *reader;
    struct og_read_job job;
    int rc;
};

static void *read_elsewhere(void *arg)
{
    struct handover *h = arg;
    h->rc = og__reader_submit(h->reader, &h->job, NULL);
    if (h->rc == 0)
        h->rc = og__reader_wait(h->reader, &h->job, NULL);
    return NULL;
}

/* Opened here, used by one thread an epoch: rings that belong to a thread are made again. */
static void a_reader_may_change_threads(void **state)
{
    (void)state;
    struct scratch s;
    uint32_t rows[100];
    char out[100 * 512];
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, sizeof(out));
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        if (!here(engines[e]))
            continue;
        struct handover h = {.reader = must_open(engines[e], &s, 0, 512, 100, &opt)};
        for (int epoch = 0; epoch < 3; epoch++) {
            pthread_t thread;
            memset(out, 0, sizeof(out));
            h.job = (struct og_read_job){.rows = rows, .n = pick(SET_EVEN, 100, rows), .out = out};
            assert_int_equal(pthread_create(&thread, NULL, read_elsewhere, &h), 0);
            pthread_join(thread, NULL);
            assert_int_equal(h.rc, 0);
            check_rows(&s, 0, 512, &h.job);
        }
        must_read(h.reader, &h.job);
        og__reader_close(h.reader);
    }
    scratch_close(&s);
}

/* ---- counts ---- */

/* read_bytes of the whole process: what its reads made the disk deliver. */
static bool disk_bytes(uint64_t *bytes)
{
    static const char key[] = "read_bytes: ";
    char line[128];
    bool found = false;
    FILE *f = fopen("/proc/self/io", "r");
    while (f && !found && fgets(line, sizeof(line), f))
        found = strncmp(line, key, strlen(key)) == 0;
    if (found)
        *bytes = strtoull(line + strlen(key), NULL, 10);
    if (f)
        fclose(f);
    return found;
}

static void counts_are_what_the_kernel_counts(void **state)
{
    (void)state;
    enum { ROWS = 20000, BYTES = 512 };
    struct scratch s;
    struct og_io_file file;
    const struct og_reader_options opt = {.profile = test_profile};
    uint64_t before = 0;
    uint64_t after = 0;
    scratch_open(&s, (size_t)ROWS * BYTES);
    assert_int_equal(og__io_file_open(&file, s.path, true, NULL, NULL), 0);
    bool direct = file.direct;
    og__io_file_close(&file);
    uint32_t *rows = calloc(ROWS, sizeof(*rows));
    char *out = malloc((size_t)ROWS * BYTES);
    for (size_t e = 0; direct && e < OG_COUNT(engines); e++) {
        if (!here(engines[e]))
            continue;
        for (int set = SET_ALL; set <= SET_SPARSE; set++) {
            struct og_read_job job = {.rows = rows, .out = out};
            job.n = pick((enum row_set)set, ROWS, rows);
            scratch_evict(&s);
            struct og_reader *r = must_open(engines[e], &s, 0, BYTES, ROWS, &opt);
            assert_true(disk_bytes(&before));
            must_read(r, &job);
            assert_true(disk_bytes(&after));
            struct og_io_counts predicted = og__reader_predict(r, rows, job.n);
            assert_int_equal(predicted.reads, job.counts.reads);
            assert_int_equal(predicted.bytes, job.counts.bytes);
            og__reader_close(r);
            double ratio = (double)job.counts.bytes / (double)(after - before);
            if (ratio < 0.9 || ratio > 1.1)
                fail_msg("%s, set %d: counted %lu bytes, the kernel %lu", engines[e]->name, set,
                         job.counts.bytes, after - before);
            assert_true(job.counts.reads > 0);
        }
    }
    free(rows);
    free(out);
    scratch_close(&s);
    if (!direct)
        skip();
}

/* Bytes of blocks that may be read: requested ones, and gaps of at most `gap` between them. Found
 * block by block, as the reader does not. */
static size_t allowed_bytes(const struct og_read_job *job, size_t offset, size_t row_bytes,
                            size_t file_bytes, size_t align, size_t gap, size_t *wanted)
{
    size_t n_blocks = (file_bytes + align - 1) / align;
    char *in = calloc(n_blocks, 1);
    for (size_t i = 0; i < job->n; i++) {
        size_t first = (offset + job->rows[i] * row_bytes) / align;
        size_t last = (offset + (job->rows[i] + 1) * row_bytes - 1) / align;
        for (size_t b = first; b <= last; b++)
            in[b] = 1;
    }
    size_t blocks = 0;
    size_t total = 0;
    size_t hole = SIZE_MAX / (2 * align);
    for (size_t b = 0; b < n_blocks; b++) {
        if (in[b]) {
            total += 1 + (hole * align <= gap ? hole : 0);
            blocks++;
            hole = 0;
        } else {
            hole++;
        }
    }
    free(in);
    *wanted = blocks * align;
    return total * align;
}

static void merging_keeps_the_gap_rule(void **state)
{
    (void)state;
    const size_t sizes[] = {100, 512, 1536, 4096, 27220};
    const double gaps[] = {0, 600, 5000, 20000, 200000};
    for (size_t b = 0; b < OG_COUNT(sizes); b++) {
        const uint32_t n_rows = 600;
        struct scratch s;
        struct og_io_file file;
        uint32_t rows[600];
        scratch_open(&s, 128 + n_rows * sizes[b]);
        assert_int_equal(og__io_file_open(&file, s.path, true, NULL, NULL), 0);
        char *out = malloc(n_rows * sizes[b]);
        for (size_t g = 0; g < OG_COUNT(gaps); g++) {
            struct og_reader_options opt = {.profile = test_profile, .max_request = 65536};
            opt.profile.iops = 1;
            opt.profile.bandwidth = gaps[g];
            struct og_reader *r = must_open(&og__io_null, &s, 128, sizes[b], n_rows, &opt);
            for (int set = 0; set < N_SETS; set++) {
                struct og_read_job job = {.rows = rows, .out = out};
                size_t wanted;
                job.n = pick((enum row_set)set, n_rows, rows);
                must_read(r, &job);
                size_t allowed = allowed_bytes(&job, 128, sizes[b], s.size, file.align_offset,
                                               (size_t)gaps[g], &wanted);
                /* Two requests that meet inside a block both read it. */
                assert_true(job.counts.bytes >= wanted);
                assert_true(job.counts.bytes <= allowed + job.counts.reads * file.align_offset);
                assert_true(job.counts.bytes <= job.counts.reads * 65536);
            }
            og__reader_close(r);
        }
        free(out);
        og__io_file_close(&file);
        scratch_close(&s);
    }
}

/* All blocks requested: requests are as large as they may be, and no block is read twice. Outputs
 * that are aligned like the file are read to directly; the third place is not. */
static void sequential_rows_merge_fully(void **state)
{
    (void)state;
    const size_t sizes[] = {400, 512, 700, 4096};
    const size_t offsets[] = {0, 4096, 100};
    const size_t total = (size_t)3 << 20;
    struct scratch s;
    struct og_io_file file;
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, 4096 + total);
    assert_int_equal(og__io_file_open(&file, s.path, true, NULL, NULL), 0);
    size_t block = file.align_offset;
    og__io_file_close(&file);
    uint32_t *rows = calloc(total / 400, sizeof(*rows));
    char *out = aligned_alloc(4096, total);
    for (size_t b = 0; b < OG_COUNT(sizes); b++) {
        for (size_t o = 0; o < OG_COUNT(offsets); o++) {
            uint32_t n_rows = (uint32_t)(total / sizes[b]);
            struct og_reader *r = must_open(&og__io_pread, &s, offsets[o], sizes[b], n_rows, &opt);
            struct og_read_job job = {.rows = rows, .n = pick(SET_ALL, n_rows, rows), .out = out};
            memset(out, 0, total);
            must_read(r, &job);
            check_rows(&s, offsets[o], sizes[b], &job);
            size_t bytes = n_rows * sizes[b];
            assert_true(job.counts.bytes >= bytes && job.counts.bytes <= bytes + 2 * block);
            assert_true(job.counts.reads <= bytes / (256 * 1024) + 1);
            og__reader_close(r);
        }
    }
    free(rows);
    free(out);
    scratch_close(&s);
}

/* ---- memory ---- */

static void buffers_come_from_the_budget(void **state)
{
    (void)state;
    struct scratch s;
    struct og_err err = {0};
    struct og_reader *r;
    const struct og_reader_options opt = {.profile = test_profile};
    size_t need = og__reader_bytes(&opt);
    assert_true(need <= 16 * OG_MIB);
    scratch_open(&s, 4096);
    struct og_budget *b = og__budget_new(need);
    assert_int_equal(og__reader_open_on(&r, &og__io_pread, s.path, 0, 512, 8, &opt, b, &err), 0);
    assert_int_equal(og__budget_used(b), need);
    og__reader_close(r);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    b = og__budget_new(need - 1);
    assert_int_equal(og__reader_open_on(&r, &og__io_pread, s.path, 0, 512, 8, &opt, b, &err),
                     -ENOMEM);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    scratch_close(&s);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* glibc lets a program replace malloc; these count and pass on. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
static size_t allocations;

void *malloc(size_t n)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    enum { ROWS = 2000, BYTES = 700 };
    struct scratch s;
    uint32_t *rows = calloc(ROWS, sizeof(*rows));
    char *out = malloc((size_t)ROWS * BYTES);
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, (size_t)ROWS * BYTES);
    for (size_t e = 0; e < 2; e++) { /* mmap reads the kernel's counts from files */
        if (!here(engines[e]))
            continue;
        struct og_reader *r = must_open(engines[e], &s, 0, BYTES, ROWS, &opt);
        size_t before = allocations;
        assert_true(before > 0);
        for (int set = 0; set < N_SETS; set++) {
            struct og_read_job job = {.rows = rows, .out = out};
            job.n = pick((enum row_set)set, ROWS, rows);
            must_read(r, &job);
        }
        assert_int_equal(allocations, before);
        og__reader_close(r);
    }
    free(rows);
    free(out);
    scratch_close(&s);
}
#else
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixture_is_what_pread_reads),
        cmocka_unit_test(uring_reads_every_shape),
        cmocka_unit_test(pread_reads_every_shape),
        cmocka_unit_test(mmap_reads_every_shape),
        cmocka_unit_test(long_rows_go_in_pieces),
        cmocka_unit_test(the_last_row_may_be_cut_short),
        cmocka_unit_test(null_reads_zeros),
        cmocka_unit_test(rows_are_recoded_on_their_way),
        cmocka_unit_test(rows_are_scaled_on_their_way),
        cmocka_unit_test(what_cannot_be_recoded_is_named),
        cmocka_unit_test(jobs_queue_behind_each_other),
        cmocka_unit_test(close_waits_for_what_is_in_flight),
        cmocka_unit_test(a_reader_may_change_threads),
        cmocka_unit_test(counts_are_what_the_kernel_counts),
        cmocka_unit_test(merging_keeps_the_gap_rule),
        cmocka_unit_test(sequential_rows_merge_fully),
        cmocka_unit_test(buffers_come_from_the_budget),
        cmocka_unit_test(steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
