#include "choose/measure.h"

#include "choose/predict.h"
#include "dataset/features.h"

#include <math.h>
#include <string.h>

/* ---- the disk ---- */

enum {
    PROBE_ROWS = 512,
    PROBE_RUN = 8 * 1024 * 1024,
    PROBE_JOBS = 8,
    LEAST_BYTES = 64 * 1024 * 1024,
};

void og__probe_close(struct og_probe *p, struct og_budget *b)
{
    og__reader_close(p->reader);
    og__release(b, p->out, p->out_bytes, "probe");
    og__release(b, p->rows, p->n * sizeof(*p->rows), "probe");
}

/* The features; of several groups those that are most. NULL: there are none. */
static const struct og_group *probed(const struct og_graph *g)
{
    const struct og_group *most = NULL;
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const size_t own = (size_t)g->group[k].n_nodes * og__file_row_bytes(&g->group[k]);
        most = own > bytes ? &g->group[k] : most;
        bytes = OG_MAX(bytes, own);
    }
    return most;
}

/* How rows of one size are read is known from then on. Types learn it one by one, elsewhere. */
static int learn_rule(struct og_probe *p, struct og_workload *f, const struct og_config *config,
                      struct og_budget *b, struct og_err *err)
{
    if (f->row_graph->n_groups > 1)
        return 0;
    if (!p->reader || f->row_graph->group->dtype !=
                          f->row_graph->group->stored) /* not read, or rounded on the way */
        return og__gather_read_rule(f->row_graph->group, config->opt.io, b, &f->read_rule, err);
    f->read_rule = og__reader_rule(p->reader);
    return 0;
}

int og__probe_open(struct og_probe *p, struct og_workload *f, const struct og_config *config,
                   struct og_budget *b, struct og_err *err)
{
    const struct og_reader_options opt = og__reader_setup(config, &f->profile);
    const struct og_group *g = probed(f->row_graph);
    *p = (struct og_probe){0};
    if (!g)
        return 0;
    const size_t row = og__file_row_bytes(g);
    const uint64_t n_nodes = (uint64_t)g->n_nodes;
    *p = (struct og_probe){.row_bytes = row, .n_nodes = n_nodes};
    const uint32_t disks = (uint32_t)OG_MAX(f->profile.disks, 1); /* each has as much to do */
    p->run = (uint32_t)OG_MIN((uint64_t)disks * PROBE_RUN / row + 1, n_nodes / 16);
    p->scattered = disks * PROBE_ROWS;
    p->n = OG_MAX(p->run, p->scattered);
    p->out_bytes = (p->n / PROBE_JOBS + 1) * row;
    const bool small = n_nodes * row < LEAST_BYTES || n_nodes < (uint64_t)16 * p->scattered;
    const bool costs = p->out_bytes > og__budget_left(b) / 16;
    if (small || costs || og__io_uses_page_cache(config->opt.io))
        return learn_rule(p, f, config, b, err);
    p->rows = og__alloc(b, p->n * sizeof(*p->rows), "probe", err);
    p->out = p->rows ? og__alloc(b, p->out_bytes, "probe", err) : NULL;
    if (!p->out)
        return -ENOMEM;
    memset(p->out, 0, p->out_bytes);
    int rc = og__features_open_stored(&p->reader, g, &opt, b, err);
    return rc < 0 ? rc : learn_rule(p, f, config, b, err);
}

/* Rows a second: a few jobs at a time, so that the disk has always work. */
static int read_rate(struct og_probe *p, uint32_t n, double *rate, struct og_err *err)
{
    struct og_read_job job[PROBE_JOBS] = {0};
    const double start = og__now();
    int rc = 0;
    for (uint32_t i = 0; i < PROBE_JOBS; i++) {
        const uint32_t first = (uint32_t)((uint64_t)n * i / PROBE_JOBS);
        const uint32_t end = (uint32_t)((uint64_t)n * (i + 1) / PROBE_JOBS);
        job[i] = (struct og_read_job){.rows = p->rows + first, .n = end - first, .out = p->out};
        OG_TRY(og__reader_submit(p->reader, &job[i], err));
    }
    for (int i = 0; i < PROBE_JOBS; i++)
        OG_TRY(og__reader_wait(p->reader, &job[i], err));
out:
    *rate = n / OG_MAX(og__now() - start, 1e-6);
    return rc;
}

/* A run of rows, and rows from all over the file, others in each round. */
static int probe_once(struct og_probe *p, struct og_err *err)
{
    const uint64_t step = p->n_nodes / p->scattered;
    const double golden = 0.6180339887498949; /* its multiples lie apart from one another */
    const double place = p->round * golden - floor(p->round * golden);
    const uint64_t first = (uint64_t)(place * (double)(p->n_nodes - p->run));
    double rate = 0;
    p->round++;
    for (uint32_t i = 0; i < p->run; i++)
        p->rows[i] = (uint32_t)first + i;
    int rc = read_rate(p, p->run, &rate, err);
    if (rc < 0)
        return rc;
    p->bandwidth = OG_MAX(p->bandwidth, rate * (double)p->row_bytes);
    for (uint32_t i = 0; i < p->scattered; i++)
        p->rows[i] = (uint32_t)(i * step + (uint64_t)(place * (double)step));
    rc = read_rate(p, p->scattered, &rate, err);
    p->iops = OG_MAX(p->iops, rate);
    return rc;
}

/* Rates far below those of the profile may be of a moment when others used the disk. A file that
 * was not written last has half of them. */
static bool doubtful(const struct og_probe *p, const struct og_disk_profile *known)
{
    const double share = 0.35;
    return p->bandwidth < share * known->bandwidth || p->iops < share * known->iops;
}

/* Until so many seconds have gone; at least once, and once more if in doubt. */
int og__probe_disk(struct og_probe *p, const struct og_disk_profile *known, double seconds,
                   struct og_err *err)
{
    enum { FEW = 2 };
    const double start = og__now();
    if (!p->reader)
        return 0;
    do {
        OG_DO(probe_once(p, err));
    } while (og__now() - start < seconds || (p->round < FEW && doubtful(p, known)));
    return 0;
}

/* ---- memory ---- */

double og__copy_rate(struct og_budget *b)
{
    enum { BYTES = 2 * 1024 * 1024 };
    char *from = og__alloc(b, 2 * (size_t)BYTES, "measuring", NULL);
    if (!from)
        return 0;
    memset(from, 1, 2 * (size_t)BYTES);
    double start = og__now();
    memcpy(from + BYTES, from, BYTES);
    double seconds = og__now() - start;
    og__release(b, from, 2 * (size_t)BYTES, "measuring");
    return BYTES / OG_MAX(seconds, 1e-6);
}

/* ---- the model ---- */

/* A training batch that is sampled for it. */
struct one_batch {
    struct og_sampler *sampler;
    struct og_batch_memory memory;
    struct og_seeds seeds;
};

static void release_batch(struct one_batch *b)
{
    og__sampler_close(b->sampler);
    og__batch_release(&b->memory);
    og__seeds_close(&b->seeds);
}

static int sample_batch(struct one_batch *b, const struct og_structure *g, struct og_err *err)
{
    const struct og_workload *f = g->given.workload;
    const struct og_descriptor descriptor = og__schedule_pass(&f->schedule, OG__TRAIN, 0);
    int rc;
    *b = (struct one_batch){0};
    og__batch_init(&b->memory, g->budget);
    OG_TRY(og__seeds_open(&b->seeds, &f->seeds, g->budget, err));
    OG_TRY(og__structure_sampler(g, &b->sampler, g->budget, err));
    og__seeds_take(&b->seeds, &f->seeds, &descriptor);
    OG_TRY(
        og__sample(b->sampler, b->seeds.node, b->seeds.n,
                   &(struct og_sample_key){
                       .stream = OG__STREAM_BENCH, .epoch = 0, .batch = 0, .times = b->seeds.time},
                   &b->memory, err));
    b->memory.batch = og__batch_by_place(&b->memory.batch);
out:
    return rc;
}

int og__time_model(const struct og_learner *l, const struct og_structure *g, struct og_pool *pool,
                   double *seconds, struct og_err *err)
{
    struct one_batch b;
    int rc;
    OG_TRY(sample_batch(&b, g, err));
    OG_TRY(og__learner_time(l, &g->given, &b.memory.batch, &b.seeds.pairs, pool, g->budget, seconds,
                            err));
out:
    release_batch(&b);
    return rc;
}

int og__time_trainers(const struct og_learner *l, const struct og_structure *g, int n, int threads,
                      double *seconds, struct og_err *err)
{
    struct one_batch b;
    int rc;
    OG_TRY(sample_batch(&b, g, err));
    OG_TRY(og__learner_time_groups(l, &g->given, &b.memory.batch, &b.seeds.pairs,
                                   &(struct og_groups){n, threads}, g->budget, seconds, err));
out:
    release_batch(&b);
    return rc;
}
