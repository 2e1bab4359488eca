/* The reader and its engines on one existing file, nothing else.
 *
 *     bench_reader FILE WHAT ENGINE [BYTES] [DEPTH] [SECONDS]
 *
 *     random       single reads of BYTES at random places, no rows: what fio's randread does
 *     sequential   single reads of BYTES in order
 *     rows         a sparse random set of rows of BYTES through the reader (one in 256 KiB)
 *     all-rows     every row of BYTES through the reader, from a multiple of 512 rows on. 2 MiB
 *                  at a time, so that where they arrive is as warm as a benchmark's buffers are
 *
 * Prints one line: reads a second, bytes a second, and the CPU time a read costs. */
#include "io/engine.h"

#include "base/random.h"
#include "oracles/null_engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct args {
    const char *file, *what;
    const struct og_io_ops *ops;
    size_t bytes;
    int depth;
    double seconds;
};

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void say(void *arg, int level, const char *text)
{
    (void)arg, (void)level;
    fprintf(stderr, "%s\n", text);
}

static const struct og_log log_to_stderr = {.fn = say};

static const struct og_io_ops *engine_named(const char *name)
{
    static const struct og_io_ops *const all[] = {&og__io_uring, &og__io_pread, &og__io_mmap,
                                                  &og__io_null};
    for (size_t i = 0; i < OG_COUNT(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static void print(const struct args *a, double reads, double bytes, double rows, double seconds,
                  double cpu)
{
    printf("%s %s bytes=%zu depth=%d iops=%.0f bytes_per_second=%.4g rows_per_second=%.4g "
           "cpu_us_per_read=%.2f\n",
           a->what, a->ops->name, a->bytes, a->depth, reads / seconds, bytes / seconds,
           rows / seconds, 1e6 * cpu / reads);
}

static int bench_engine(const struct args *a, bool sequential, struct og_err *err)
{
    struct og_io_file file;
    struct og_io_rate rate;
    int rc = og__io_file_open(&file, a->file, a->ops->wants_direct, &log_to_stderr, err);
    if (rc < 0)
        return rc;
    (void)posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED); /* under mmap, misses are measured */
    const struct og_io_load load = {
        .bytes = a->bytes,
        .depth = a->depth,
        .threads = a->depth,
        .sequential = sequential,
        .seconds = a->seconds,
        .seed = (uint32_t)(1e6 * og__now()),
    };
    double cpu = cpu_seconds();
    rc = og__io_measure(a->ops, &file, &load, &rate, err);
    cpu = cpu_seconds() - cpu;
    double reads = rate.iops * a->seconds;
    if (rc == 0)
        print(a, reads, rate.bytes_per_second * a->seconds, reads, a->seconds, cpu);
    og__io_file_close(&file);
    return rc;
}

/* Two jobs alternate, as batches do in training: one drains while the next is in the ring. */
struct turn {
    struct og_read_job job;
    uint32_t *rows;
    char *out;
};

static size_t pick_rows(struct turn *t, uint64_t n_rows, size_t count, bool all, uint32_t seed)
{
    struct og_rng rng;
    og__rng_at(&rng, seed, OG__STREAM_BENCH, 0, 0, 0, 0);
    uint64_t step = all ? 1 : OG_MAX(n_rows / count, 1);
    uint64_t from = all ? og__rng_below(&rng, (uint32_t)(n_rows - count + 1)) & ~(uint64_t)511 : 0;
    for (size_t i = 0; i < count; i++)
        t->rows[i] = (uint32_t)(from + i * step + (all ? 0 : og__rng_below(&rng, (uint32_t)step)));
    return count;
}

static int run_turns(const struct args *a, struct og_reader *r, struct turn turns[2],
                     uint64_t n_rows, size_t count, bool all, struct og_err *err)
{
    int rc = 0;
    double reads = 0;
    double bytes = 0;
    double rows = 0;
    double cpu = cpu_seconds();
    double begin = og__now();
    for (uint32_t k = 0; rc == 0; k++) {
        struct turn *t = &turns[k % 2];
        if (k >= 2) {
            rc = og__reader_wait(r, &t->job, err);
            reads += (double)t->job.counts.reads;
            bytes += (double)t->job.counts.bytes;
            rows += (double)t->job.n;
        }
        if (rc < 0 || og__now() - begin > a->seconds)
            break;
        pick_rows(t, n_rows, count, all, k);
        t->job = (struct og_read_job){.rows = t->rows, .n = count, .out = t->out};
        rc = og__reader_submit(r, &t->job, err);
    }
    if (rc == 0)
        print(a, reads, bytes, rows, og__now() - begin, cpu_seconds() - cpu);
    return rc;
}

static int bench_rows(const struct args *a, bool all, struct og_err *err)
{
    struct og_io_file file;
    struct og_reader *r = NULL;
    struct turn turns[2] = {{.rows = NULL}, {.rows = NULL}};
    int rc = og__io_file_open(&file, a->file, false, NULL, err);
    if (rc < 0)
        return rc;
    uint64_t n_rows = OG_MIN(file.size / a->bytes, (uint64_t)UINT32_MAX);
    size_t count = all ? OG_MAX(2 * OG_MIB / a->bytes, 1) : OG_MAX(file.size / (256 * OG_KIB), 1);
    count = OG_MIN(count, n_rows);
    count = all && count >= 512 ? count & ~(size_t)511 : count; /* the run ends with a block */
    og__io_file_close(&file);
    struct og_reader_options opt = {.depth = a->depth, .log = &log_to_stderr};
    og__profile_load(a->file, &opt.profile);
    size_t out_bytes = og__round_up(count * a->bytes, 2 * OG_MIB); /* huge pages */
    for (int i = 0; i < 2; i++) {
        turns[i].rows = og__alloc(NULL, count * sizeof(uint32_t), "rows", err);
        turns[i].out = og__alloc(NULL, out_bytes, "out", err);
        if (!turns[i].rows || !turns[i].out)
            return -ENOMEM; /* the process ends */
        memset(turns[i].out, 1, out_bytes);
    }
    rc = og__reader_open_on(&r, a->ops, a->file, 0, a->bytes, n_rows, &opt, NULL, err);
    if (rc == 0)
        rc = run_turns(a, r, turns, n_rows, count, all, err);
    og__reader_close(r);
    for (int i = 0; i < 2; i++) {
        og__release(NULL, turns[i].rows, count * sizeof(uint32_t), "rows");
        og__release(NULL, turns[i].out, out_bytes, "out");
    }
    return rc;
}

static int run(const struct args *a, struct og_err *err)
{
    if (strcmp(a->what, "random") == 0)
        return bench_engine(a, false, err);
    if (strcmp(a->what, "sequential") == 0)
        return bench_engine(a, true, err);
    if (strcmp(a->what, "rows") == 0)
        return bench_rows(a, false, err);
    if (strcmp(a->what, "all-rows") == 0)
        return bench_rows(a, true, err);
    return og__fail(err, -EINVAL, "random, sequential, rows, all-rows", "%s: no such load",
                    a->what);
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: bench_reader FILE random|sequential|rows|all-rows "
                        "uring|pread|mmap|null [BYTES] [DEPTH] [SECONDS]\n");
        return 2;
    }
    struct args a = {
        .file = argv[1],
        .what = argv[2],
        .ops = engine_named(argv[3]),
        .bytes = argc > 4 ? (size_t)strtoull(argv[4], NULL, 10) : 4096,
        .depth = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 128,
        .seconds = argc > 6 ? strtod(argv[6], NULL) : 3,
    };
    if (!a.ops || a.bytes == 0 || a.depth < 1) {
        fprintf(stderr, "bench_reader: no such engine, or no size\n");
        return 2;
    }
    int rc = run(&a, &err);
    if (rc < 0)
        fprintf(stderr, "bench_reader: %s\nhint: %s\n", err.message, err.hint);
    return rc < 0;
}
