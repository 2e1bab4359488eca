/* Shared by tests of packing. It has batches of random rows, and a packed file of theirs next to
 * the feature file itself. */
#ifndef OG_PACKING_FIXTURE_H
#define OG_PACKING_FIXTURE_H

#include "gather/pack_fixture.h"

#include "base/random.h"
#include "gather/pack.h"
#include "support/files.h"
#include "support/folder.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { OFFSET = 77, N_BATCHES = 9 };

/* ---- a disk that fails on demand: pwritev is counted ---- */

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
    struct og_graph graph;
    struct og_group ds;
    uint32_t n_nodes;
    size_t row_bytes;
    unsigned char *bytes;
    struct og_packing packing;
};

static inline void open_fixture(struct fixture *f, uint32_t n_nodes, size_t row_bytes)
{
    *f = (struct fixture){.n_nodes = n_nodes, .row_bytes = row_bytes};
    assert_non_null(test_folder(f->dir, "pack"));
    snprintf(f->features, sizeof(f->features), "%s/features", f->dir);
    snprintf(f->pack, sizeof(f->pack), "%s/pack", f->dir);
    f->pack_path = f->pack;
    f->bytes = write_features(f->features, n_nodes * row_bytes, OFFSET);
    f->ds = features_alone(&f->graph, f->dir, f->features, n_nodes, row_bytes, OFFSET);
}

static inline void close_fixture(struct fixture *f)
{
    og__packing_close(&f->packing);
    unlink(f->features);
    unlink(f->pack);
    assert_int_equal(rmdir(f->dir), 0);
    free(f->bytes);
}

/* Batches of random rows in random order, some of them missed. One batch misses nothing, one all,
 * and the last half of the file is rarely missed. */
static inline void plan_batches(struct fixture *f, uint64_t seed)
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
    assert_int_equal(og__packing_finish(&f->packing, NULL), 0);
    free(ids);
    free(codes);
}

static inline struct og_pack_options options(const struct fixture *f, size_t memory)
{
    return (struct og_pack_options){.at = {1, &f->pack_path},
                                    .memory = memory,
                                    .reader = {.profile = profile, .io = OG_IO_PREAD}};
}

static inline int write_pack(const struct fixture *f, const struct og_pack_options *opt,
                             struct og_budget *b, struct og_pack_counts *counts, struct og_err *err)
{
    struct og_sweep sweep;
    int rc = og__sweep_share(&f->packing, opt->memory, &sweep, err);
    return rc < 0 ? rc : og__pack_write(&f->ds, &f->packing, &sweep, opt, b, counts, err);
}

/* ---- chunks ---- */

static inline void check_chunk(const struct fixture *f, const char *out, uint32_t batch)
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
static inline void read_back(const struct fixture *f, const struct og_reader_options *opt,
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

/* Bytes that this process has read and written by system calls so far, page cache or not. */
static inline void requested(uint64_t *read, uint64_t *written)
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
static inline void check_requested(const struct og_pack_counts *counts, uint64_t read,
                                   uint64_t written)
{
    enum { ASIDE = 32 * 1024 };
    uint64_t read_now;
    uint64_t written_now;
    requested(&read_now, &written_now);
    if (read_now == 0)
        return;
    assert_in_range(read_now - read, counts->sweep.bytes, counts->sweep.bytes + ASIDE);
    assert_in_range(written_now - written, counts->bytes_written, counts->bytes_written + ASIDE);
}

static inline void pack_and_check(const struct fixture *f, size_t memory, int io)
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
    requested(&read, &written);
    if (write_pack(f, &opt, b, &counts, &err) != 0)
        fail_msg("%s", err.message);
    if (io == OG_IO_PREAD)
        check_requested(&counts, read, written);
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

#endif
