/* Sampling a dataset with its topology on disk, compared with in memory.
 *
 *     bench_topology DATASET [BATCHES] [BATCH] [STAGING_MIB]
 *
 * Fanout 10,10,10 on the training nodes, one thread, the same batches each time. `share` is of the
 * bytes that caching every list would take. One line a share: milliseconds, reads and KiB a batch,
 * reads a sampled edge, share of lists found in the neighbour cache. Then seconds to open with the
 * cache built, and to load it again. */
#include "dataset/on_disk.h"
#include "sample/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS = 3 };

struct bench {
    struct og_graph *ds;
    uint32_t *seeds;
    int64_t n_seeds;
    uint32_t n_batches, batch;
};

struct totals {
    double seconds;
    uint64_t edges, reads, bytes, cached, read;
};

static int sample_all(const struct bench *b, const struct og_topology *t, struct totals *sum,
                      struct og_err *err)
{
    static const int fanout[HOPS] = {10, 10, 10};
    struct og_sampler *s = NULL;
    struct og_batch_memory m;
    og__batch_init(&m, NULL);
    int rc = og__sampler_open(&s, t, fanout, HOPS, 1, NULL, err);
    for (uint32_t i = 0; rc == 0 && i < b->n_batches; i++) {
        const uint32_t *seeds = b->seeds + (size_t)i * b->batch % (b->n_seeds - b->batch);
        double start = og__now();
        rc = og__sample(s, seeds, b->batch,
                        &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = i},
                        &m, err);
        sum->seconds += og__now() - start;
        struct og_sample_reads r = og__sampler_reads(s);
        for (int h = 0; h < HOPS; h++)
            sum->edges += m.batch.hop[h].n_edges;
        sum->reads += r.io.reads;
        sum->bytes += r.io.bytes;
        sum->cached += r.lists_cached;
        sum->read += r.lists_read;
    }
    og__sampler_close(s);
    og__batch_release(&m);
    return rc;
}

static void print(const struct bench *b, const char *name, const struct totals *t, double build,
                  double load)
{
    double n = b->n_batches;
    double lists = (double)OG_MAX(t->cached + t->read, (uint64_t)1);
    printf("%-8s %8.2f ms  %8.0f reads  %8.0f KiB  %.4f reads/edge  %5.1f %% cached  "
           "build %.2f s  load %.3f s\n",
           name, t->seconds / n * 1e3, (double)t->reads / n, (double)t->bytes / n / 1024,
           (double)t->reads / (double)t->edges, 100 * (double)t->cached / lists, build, load);
}

static int in_memory(const struct bench *b, struct og_err *err)
{
    struct og_topology t;
    struct totals sum = {0};
    int rc = og__topology_load(b->ds, false, NULL, &t, err);
    if (rc == 0)
        rc = sample_all(b, &t, &sum, err);
    if (rc == 0)
        print(b, "memory", &sum, 0, 0);
    og__topology_release(&t);
    return rc;
}

static int on_disk(const struct bench *b, int share, size_t staging, struct og_err *err)
{
    char name[16];
    char dir[] = "/tmp/bench-topology-XXXXXX";
    char command[64];
    struct og_topology t;
    struct totals sum = {0};
    struct og_topology_disk_options opt = {.staging_bytes = staging};
    if (!mkdtemp(dir))
        return og__fail_errno(err, -errno, NULL, "%s", dir);
    opt.cache_bytes = og__neighbors_whole_bytes(b->ds, false) / 100 * (size_t)share;
    opt.cache_dir = dir;
    og__profile_load(b->ds->path, &opt.reader.profile);
    double start = og__now();
    int rc = og__topology_open_disk(b->ds, &opt, NULL, &t, err);
    double build = og__now() - start;
    start = og__now();
    if (rc == 0)
        rc = og__neighbors_load(&t, err);
    double load = og__now() - start;
    if (rc == 0)
        rc = sample_all(b, &t, &sum, err);
    snprintf(name, sizeof(name), "%d %%", share);
    if (rc == 0)
        print(b, name, &sum, build, load);
    og__topology_release(&t);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command) < 0 ? -ECHILD : rc;
}

int main(int argc, char **argv)
{
    static const int shares[] = {0, 25, 50, 75, 100};
    struct og_err err = {0};
    struct bench b = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_topology DATASET [BATCHES] [BATCH] [STAGING_MIB]\n");
        return 2;
    }
    b.n_batches = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20;
    b.batch = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
    size_t staging = argc > 4 ? strtoul(argv[4], NULL, 10) * OG_MIB : 0;
    int rc = og__graph_open(argv[1], &b.ds, &err);
    if (rc == 0)
        rc = og__graph_split(b.ds, OG__TRAIN, NULL, &b.seeds, &b.n_seeds, &err);
    if (rc == 0 && b.n_seeds <= b.batch)
        rc = og__fail(&err, -EINVAL, NULL, "%s: too few training nodes", argv[1]);
    if (rc == 0)
        rc = in_memory(&b, &err);
    for (size_t i = 0; rc == 0 && i < OG_COUNT(shares); i++)
        rc = on_disk(&b, shares[i], staging, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    og__release(NULL, b.seeds, (size_t)b.n_seeds * 4, "seeds");
    og__graph_close(b.ds);
    return rc < 0;
}
