/* Batched packing against packing batch by batch, and reading back.
 *
 *     bench_pack DATASET FOLDER [CACHE_PERCENT] [MEMORY_MIB] [WRITERS] [BATCHES] [SEEDS] [ALL]
 *
 * One epoch is sampled (fanout 10,10,10, SEEDS a batch) and the most visited rows are taken as
 * cached. What is left is packed into FOLDER/pack in one scan and read back; then, of the first
 * BATCHES, packed batch by batch, each with random reads and one write. Each line: seconds, what it
 * read and wrote, and what the kernel says of both. The file is removed.
 *
 * Then what segments would take and read, with MinHash order and in the order of the file. And how
 * long it takes to choose their size, for half the disk between the smallest and packs.
 *
 * Then segments are written to FOLDER and read back, in either order. They have as much disk as the
 * features take 3 and 5 times. Given ALL, every size is tried and the best that fits compared with
 * the one that was chosen. */
#include "base/file.h"
#include "dataset/features.h"
#include "gather/pack.h"
#include "gather/shared.h"
#include "plan/policy.h"
#include "plan/segments.h"
#include "sample/sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOPS = 3 };

struct bench {
    struct og_graph *ds;
    struct og_packing packing;
    struct og_pack_options opt;
    uint32_t individual; /* batches packed one by one */
    uint32_t seeds;      /* of a batch */
    char *shared;        /* path */
    bool all;            /* try every size of segments */
};

/* What this process had the block layer read and write. */
static void kernel_counts(uint64_t *read, uint64_t *written)
{
    char line[128];
    FILE *f = fopen("/proc/self/io", "r");
    *read = *written = 0;
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "read_bytes: ", 12) == 0)
            *read = strtoull(line + 12, NULL, 10);
        if (strncmp(line, "write_bytes: ", 13) == 0)
            *written = strtoull(line + 13, NULL, 10);
    }
    if (f)
        fclose(f);
}

struct watch {
    double start;
    uint64_t read, written;
};

static struct watch begin(void)
{
    struct watch w;
    kernel_counts(&w.read, &w.written);
    w.start = og__now();
    return w;
}

static double report(const struct watch *w, const char *what, uint64_t read, uint64_t written)
{
    uint64_t kernel_read;
    uint64_t kernel_written;
    double seconds = og__now() - w->start;
    kernel_counts(&kernel_read, &kernel_written);
    printf("%-12s %8.3f s  read %9.1f MB (kernel %9.1f)  written %9.1f MB (kernel %9.1f)\n", what,
           seconds, (double)read / 1e6, (double)(kernel_read - w->read) / 1e6,
           (double)written / 1e6, (double)(kernel_written - w->written) / 1e6);
    return seconds;
}

/* ---- what an epoch misses ---- */

struct sampled {
    uint64_t *ptr;
    uint32_t *ids, *visits;
    uint32_t n_batches;
    uint64_t capacity;
};

static int keep(struct sampled *s, const struct og_batch *batch, struct og_err *err)
{
    uint64_t used = s->ptr[s->n_batches];
    if (used + batch->n_ids > s->capacity) {
        s->capacity = 2 * (used + batch->n_ids);
        s->ids = realloc(s->ids, s->capacity * sizeof(*s->ids));
        if (!s->ids)
            return og__fail_errno(err, -ENOMEM, NULL, "trace");
    }
    memcpy(s->ids + used, batch->ids, batch->n_ids * sizeof(*s->ids));
    for (uint32_t i = 0; i < batch->n_ids; i++)
        s->visits[batch->ids[i]]++;
    s->ptr[++s->n_batches] = used + batch->n_ids;
    return 0;
}

static int sample_epoch(const struct og_graph *ds, uint32_t batch, struct sampled *out,
                        struct og_err *err)
{
    static const int fanout[HOPS] = {10, 10, 10};
    struct og_topology t = {0};
    struct og_sampler *s = NULL;
    struct og_batch_memory m;
    uint32_t *seeds = NULL;
    int64_t n_seeds = 0;
    int rc = 0;
    og__batch_init(&m, NULL);
    OG_TRY(og__graph_split(ds, OG__TRAIN, NULL, &seeds, &n_seeds, err));
    out->ptr = calloc((size_t)(n_seeds / batch) + 1, sizeof(*out->ptr));
    out->visits = calloc((size_t)ds->n_nodes, sizeof(*out->visits));
    if (!out->ptr || !out->visits)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "trace"));
    OG_TRY(og__topology_load(ds, false, NULL, &t, err));
    OG_TRY(og__sampler_open(&s, &t, fanout, HOPS, 1, NULL, err));
    for (int64_t b = 0; b < n_seeds / batch; b++) {
        OG_TRY(og__sample(
            s, seeds + b * batch, batch,
            &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = (uint32_t)b},
            &m, err));
        OG_TRY(keep(out, &m.batch, err));
    }
out:
    og__release(NULL, seeds, (size_t)n_seeds * sizeof(*seeds), "seeds");
    og__sampler_close(s);
    og__batch_release(&m);
    og__topology_release(&t);
    return rc;
}

static int lay_out(struct bench *b, const struct sampled *s, double cache, struct og_err *err)
{
    struct og_placement cached;
    uint64_t n_nodes = (uint64_t)b->ds->n_nodes;
    uint32_t *codes = malloc(n_nodes * sizeof(*codes));
    int rc = og__placement_build(&cached, s->visits, n_nodes, (uint64_t)(cache * (double)n_nodes),
                                 NULL, err);
    double start = og__now();
    if (rc == 0)
        rc = og__packing_open(&b->packing, n_nodes, og__row_bytes(b->ds->group), s->n_batches, NULL,
                              err);
    for (uint32_t k = 0; rc == 0 && k < s->n_batches; k++) {
        const uint32_t *ids = s->ids + s->ptr[k];
        uint32_t n = (uint32_t)(s->ptr[k + 1] - s->ptr[k]);
        for (uint32_t i = 0; i < n; i++)
            codes[i] = og__placement_has(&cached, ids[i]) ? 0 : OG__CODE_STAYS_OUT;
        rc = og__packing_add(&b->packing, ids, codes, n, err);
    }
    if (rc == 0)
        rc = og__packing_finish(&b->packing, err);
    if (rc == 0)
        printf("%u batches, %llu rows, %llu missed, %u distinct; laid out in %.3f s\n",
               s->n_batches, (unsigned long long)s->ptr[s->n_batches],
               (unsigned long long)b->packing.ptr[s->n_batches], b->packing.n_distinct,
               og__now() - start);
    og__placement_release(&cached);
    free(codes);
    return rc;
}

/* ---- packing ---- */

static int pack_batched(const struct bench *b, double *seconds, struct og_err *err)
{
    struct og_pack_counts counts;
    struct og_sweep sweep;
    struct watch w = begin();
    int rc = og__sweep_share(&b->packing, b->opt.memory, &sweep, err);
    if (rc == 0)
        rc = og__pack_write(b->ds->group, &b->packing, &sweep, &b->opt, NULL, &counts, err);
    if (rc < 0)
        return rc;
    *seconds = report(&w, "batched", counts.sweep.bytes, counts.bytes_written);
    printf("             %u partitions, pieces of %zu KiB, %llu writes, %s\n", sweep.n_parts,
           sweep.piece / 1024, (unsigned long long)counts.writes,
           counts.direct ? "direct" : "through the page cache");
    return rc;
}

/* p: all that batches miss. */
static int read_back(const struct bench *b, const struct og_packing *p, bool segmented,
                     struct og_err *err)
{
    struct og_pack *pack = NULL;
    struct og_io_counts sum = {0};
    uint64_t most = 0;
    int rc = og__pack_open(&pack, b->opt.at, b->ds->group, 2, &b->opt.reader, NULL, err);
    if (rc == 0 && segmented)
        rc = og__pack_add_shared(pack, OG__ONE_PLACE(b->shared), b->ds->group, &b->opt.reader, err);
    for (uint32_t k = 0; rc == 0 && k < p->n_batches; k++)
        most = OG_MAX(most, og__packing_chunk_rows(p, k) * p->row_bytes);
    char *out[2] = {og__alloc(NULL, most, "out", err), og__alloc(NULL, most, "out", err)};
    struct watch w = begin();
    for (uint32_t k = 0; rc == 0 && k <= p->n_batches; k++) {
        if (k < p->n_batches)
            rc = og__pack_begin(pack, (int)(k % 2), k, out[k % 2], err);
        if (rc == 0 && k > 0)
            rc = og__pack_finish(pack, (int)((k - 1) % 2), &sum, err);
    }
    if (rc == 0) {
        report(&w, "read back", sum.bytes, 0);
        printf("             %.4f bytes read a byte of rows, %llu reads\n",
               (double)sum.bytes / (double)(p->ptr[p->n_batches] * p->row_bytes),
               (unsigned long long)sum.reads);
    }
    og__pack_close(pack);
    og__release(NULL, out[0], most, "out");
    og__release(NULL, out[1], most, "out");
    return rc;
}

/* Each batch by itself: its rows read at random, its chunk written in one piece. */
static int pack_one_by_one(const struct bench *b, double *seconds, struct og_err *err)
{
    const struct og_packing *p = &b->packing;
    struct og_reader *reader = NULL;
    uint64_t most = 0;
    uint64_t read = 0;
    uint64_t written = 0;
    for (uint32_t k = 0; k < b->individual; k++)
        most = OG_MAX(most, og__round_up(og__packing_chunk_rows(p, k) * p->row_bytes, 4096));
    char *out = og__alloc(NULL, OG_MAX(most, 4 * OG_MIB), "out", err); /* page aligned */
    int fd = open(b->opt.at.path[0], O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0666);
    int rc = fd < 0 ? og__fail_errno(err, -errno, NULL, "%s", b->opt.at.path[0]) : 0;
    if (rc == 0)
        rc = og__features_open(&reader, b->ds->group, &b->opt.reader, NULL, err);
    struct watch w = begin();
    for (uint32_t k = 0; rc == 0 && k < b->individual; k++) {
        uint64_t n = og__packing_chunk_rows(p, k);
        uint64_t bytes = og__round_up(n * p->row_bytes, 4096);
        struct og_read_job job = {.rows = p->rows + p->ptr[k], .n = n, .out = out};
        rc = og__reader_submit(reader, &job, err);
        if (rc == 0)
            rc = og__reader_wait(reader, &job, err);
        if (rc == 0)
            rc = og__write_all(fd, out, bytes, (off_t)written, b->opt.at.path[0], err);
        read += job.counts.bytes;
        written += bytes;
    }
    if (rc == 0 && fsync(fd) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", b->opt.at.path[0]);
    if (rc == 0)
        *seconds = report(&w, "one by one", read, written);
    og__reader_close(reader);
    if (fd >= 0)
        close(fd);
    og__release(NULL, out, OG_MAX(most, 4 * OG_MIB), "out");
    return rc;
}

/* ---- segments ---- */

static int segments_of(struct og_segments *s, uint32_t size, struct og_segment_cost *cost,
                       struct og_err *err)
{
    struct og_segment_cost plain;
    double start = og__now();
    int rc = og__segments_cost(s, size, OG__BY_SIGNATURE, cost, err);
    double seconds = og__now() - start;
    if (rc == 0)
        rc = og__segments_cost(s, size, OG__BY_NODE, &plain, err);
    if (rc == 0)
        printf("segments of %4u: %8.1f MB on disk, %5.1f %% of reads shared, pages %7.1f MB "
               "(unordered %7.1f), counted in %.3f s\n",
               size, (double)cost->disk_bytes / 1e6,
               100 * (double)cost->shared_reads / (double)(cost->shared_reads + cost->once),
               (double)cost->pages * 4096 / 1e6, (double)plain.pages * 4096 / 1e6, seconds);
    return rc;
}

static int compare_segments(const struct bench *b, struct og_err *err)
{
    const uint32_t n = b->packing.n_batches;
    struct og_segments s;
    struct og_segment_cost packs = {0};
    struct og_segment_cost least = {0};
    uint32_t size;
    int rc = og__segments_open(&s, &b->packing, NULL, err);
    if (rc == 0)
        rc = segments_of(&s, 1, &packs, err);
    for (uint32_t k = 2; rc == 0 && k < n; k *= 5)
        rc = segments_of(&s, k, &least, err);
    if (rc == 0)
        rc = segments_of(&s, 50, &least, err);
    if (rc == 0)
        rc = segments_of(&s, n, &least, err);
    double start = og__now();
    if (rc == 0)
        rc = og__segments_choose(&s, (packs.disk_bytes + least.disk_bytes) / 2, &size, err);
    if (rc == 0)
        printf("half the disk between: size %u, chosen in %.3f s\n", size, og__now() - start);
    og__segments_close(&s);
    return rc;
}

/* What of each batch is not shared, as a packing of its own. */
static int copy_packing(const struct og_packing *p, struct og_packing *out, struct og_err *err)
{
    int rc = og__packing_open(out, p->n_nodes, p->row_bytes, p->n_batches, NULL, err);
    for (uint32_t k = 0; rc == 0 && k < p->n_batches; k++)
        rc = og__packing_add(out, p->rows + p->ptr[k], NULL, (uint32_t)og__packing_chunk_rows(p, k),
                             err);
    return rc;
}

static int write_segments(const struct bench *b, struct og_segments *s, uint32_t size,
                          enum og__segment_order order, uint64_t *disk, struct og_err *err)
{
    struct og_pack_options opt = b->opt;
    struct og_pack_counts shared = {0};
    struct og_pack_counts chunks = {0};
    struct og_packing left = {0};
    size_t bytes = og__bits_words(b->packing.ptr[b->packing.n_batches]) * sizeof(uint64_t);
    uint64_t *stored = og__alloc(NULL, bytes, "stored", err);
    opt.at = OG__ONE_PLACE(b->shared);
    struct watch w = begin();
    int rc = stored
                 ? og__shared_write(b->ds->group, s, size, order, &opt, stored, NULL, &shared, err)
                 : -ENOMEM;
    if (rc == 0)
        report(&w, "shared rows", shared.sweep.bytes, shared.bytes_written);
    if (rc == 0)
        rc = copy_packing(&b->packing, &left, err);
    if (rc == 0)
        rc = og__packing_drop(&left, stored, err);
    struct og_sweep sweep;
    w = begin();
    if (rc == 0)
        rc = og__sweep_share(&left, b->opt.memory, &sweep, err);
    if (rc == 0)
        rc = og__pack_write(b->ds->group, &left, &sweep, &b->opt, NULL, &chunks, err);
    if (rc == 0)
        report(&w, "the others", chunks.sweep.bytes, chunks.bytes_written);
    *disk = shared.bytes_written + chunks.bytes_written;
    og__packing_close(&left);
    og__release(NULL, stored, bytes, "stored");
    return rc;
}

/* The fewest bytes read of all sizes that fit, with every row shared that two batches miss. */
static int try_sizes(struct og_segments *s, uint64_t limit, uint64_t *best, struct og_err *err)
{
    const uint32_t least = s->least;
    const uint32_t given_back = s->given_back;
    struct og_segment_cost cost;
    int rc = 0;
    *best = UINT64_MAX;
    s->least = 2;
    s->given_back = 0;
    for (uint32_t k = 1; rc == 0 && k <= s->packing->n_batches; k++) {
        rc = og__segments_cost(s, k, OG__BY_SIGNATURE, &cost, err);
        if (cost.disk_bytes <= limit)
            *best = OG_MIN(*best, cost.bytes_read);
    }
    s->least = least;
    s->given_back = given_back;
    return rc;
}

static int choose(const struct bench *b, struct og_segments *s, uint64_t limit, uint32_t *size,
                  struct og_err *err)
{
    struct og_segment_cost cost;
    uint64_t best;
    double start = og__now();
    int rc = og__segments_choose(s, limit, size, err);
    double chosen = og__now() - start;
    if (rc == 0)
        rc = og__segments_cost(s, *size, OG__BY_SIGNATURE, &cost, err);
    if (rc == 0)
        printf("size %u, chosen in %.4f s, reads %.1f MB\n", *size, chosen,
               (double)cost.bytes_read / 1e6);
    if (rc < 0 || !b->all)
        return rc;
    start = og__now();
    rc = try_sizes(s, limit, &best, err);
    if (rc == 0)
        printf(
            "             all %u sizes in %.2f s, %.0f times; the best reads %.1f MB: %.4f of it\n",
            s->packing->n_batches, og__now() - start, (og__now() - start) / chosen,
            (double)best / 1e6, (double)cost.bytes_read / (double)best);
    return rc;
}

/* With so much disk as the features take `times` times. */
static int keep_to(const struct bench *b, struct og_segments *s, uint32_t times, struct og_err *err)
{
    const uint64_t features = (uint64_t)b->ds->n_nodes * b->packing.row_bytes;
    const uint64_t limit = times * features;
    const struct og_segment_cost all = {.shared_reads = b->packing.ptr[b->packing.n_batches]};
    const uint64_t aside =
        og__packing_data_start(b->packing.n_batches) + og__shared_file_bytes(&b->packing, &all, 1);
    uint64_t disk = 0;
    uint32_t size;
    printf("disk for %u times the features, %.1f MB: ", times, (double)limit / 1e6);
    if (aside > limit)
        return og__fail(err, -ENOSPC, NULL, "orders alone take more");
    int rc = choose(b, s, limit - aside, &size, err);
    for (int order = OG__BY_SIGNATURE; rc == 0 && order <= OG__BY_NODE; order++) {
        puts(order == OG__BY_NODE ? "  in the order of the file" : "  by signature");
        rc = write_segments(b, s, size, (enum og__segment_order)order, &disk, err);
        if (rc == 0)
            printf("             %.1f MB on disk, %.4f of what is allowed\n", (double)disk / 1e6,
                   (double)disk / (double)limit);
        if (rc == 0)
            rc = read_back(b, &b->packing, true, err);
    }
    unlink(b->opt.at.path[0]);
    unlink(b->shared);
    return rc;
}

static int measure_segments(const struct bench *b, struct og_err *err)
{
    struct og_segments s;
    int rc = og__segments_open(&s, &b->packing, NULL, err);
    if (rc < 0)
        return rc;
    rc = keep_to(b, &s, 3, err);
    if (rc == 0)
        rc = keep_to(b, &s, 5, err);
    og__segments_close(&s);
    return rc;
}

static int run(struct bench *b, struct og_err *err)
{
    double batched = 0;
    double one_by_one = 0;
    int rc = pack_batched(b, &batched, err);
    if (rc == 0)
        rc = read_back(b, &b->packing, false, err);
    if (rc == 0 && b->individual > 0)
        rc = pack_one_by_one(b, &one_by_one, err);
    if (rc == 0 && b->individual > 0) {
        double share = (double)b->individual / (double)b->packing.n_batches;
        printf("ratio        %8.2f  (one by one for all batches: %.2f s)\n",
               one_by_one / share / batched, one_by_one / share);
    }
    unlink(b->opt.at.path[0]);
    if (rc == 0)
        rc = compare_segments(b, err);
    return rc < 0 ? rc : measure_segments(b, err);
}

static void say(void *arg, int level, const char *text)
{
    (void)arg, (void)level;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    static const struct og_log log_to_stderr = {.fn = say};
    struct og_err err = {0};
    struct bench b = {0};
    struct sampled s = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: bench_pack DATASET FOLDER [CACHE_PERCENT] [MEMORY_MIB] [WRITERS] "
                        "[BATCHES] [SEEDS] [ALL]\n");
        return 2;
    }
    char *path = og__path_join(argv[2], "pack");
    b.opt.at = OG__ONE_PLACE(path);
    b.shared = og__path_join(argv[2], "shared");
    b.all = argc > 8;
    double cache = argc > 3 ? strtod(argv[3], NULL) / 100 : 0.12;
    b.opt.memory = (argc > 4 ? strtoull(argv[4], NULL, 10) : 256) * OG_MIB;
    b.opt.writers = argc > 5 ? (int)strtol(argv[5], NULL, 10) : 0;
    b.opt.reader.log = &log_to_stderr;
    b.seeds = argc > 7 ? (uint32_t)OG_MAX(strtoul(argv[7], NULL, 10), 1ul) : 1000;
    og__profile_load(argv[1], &b.opt.reader.profile);
    int rc = og__make_dirs(argv[2], &err);
    if (rc == 0)
        rc = og__graph_open(argv[1], &b.ds, &err);
    if (rc == 0)
        rc = sample_epoch(b.ds, b.seeds, &s, &err);
    if (rc == 0)
        rc = lay_out(&b, &s, cache, &err);
    b.individual = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : s.n_batches;
    b.individual = OG_MIN(b.individual, s.n_batches);
    if (rc == 0)
        rc = run(&b, &err);
    if (rc < 0)
        fprintf(stderr, "bench_pack: %s\nhint: %s\n", err.message, err.hint);
    og__packing_close(&b.packing);
    og__graph_close(b.ds);
    free(s.ptr);
    free(s.ids);
    free(s.visits);
    free(b.shared);
    free(path);
    return rc < 0;
}
