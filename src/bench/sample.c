/* `bench sample`: sampled edges per second, each thread on its own batches. */
#include "bench/bench.h"
#include "report/json.h"
#include "session/session.h"

#include <stdlib.h>

#define BENCH_SECONDS 3.0

struct sampling {
    struct og_session *s;
    struct sampling_share {
        uint64_t batches, rows, edges;
        double seconds;
        int rc;
        struct og_err err;
    } * share; /* [threads] */
};

static int sample_one(struct og_session *s, struct og_sampler *sampler, struct og_work *w,
                      uint64_t item, struct sampling_share *share)
{
    w->descriptor = og__schedule_at(&s->workload.schedule, item);
    og__seeds_take(&w->seeds, &s->workload.seeds, &w->descriptor);
    double start = og__now();
    int rc = og__sample(sampler, w->seeds.node, w->seeds.n,
                        &(struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                                .epoch = w->descriptor.epoch,
                                                .batch = w->descriptor.batch,
                                                .times = w->seeds.time},
                        &w->sampled, &share->err);
    share->seconds += og__now() - start;
    for (uint32_t h = 0; h < w->sampled.batch.n_hops; h++)
        share->edges += w->sampled.batch.hop[h].n_edges;
    share->rows += w->sampled.batch.n_ids;
    share->batches++;
    return rc;
}

static void sample_for_a_while(void *arg, size_t task, int thread)
{
    struct sampling *b = arg;
    struct sampling_share *share = &b->share[task];
    uint64_t items = og__schedule_items(&b->s->workload.schedule);
    double end = og__now() + BENCH_SECONDS;
    (void)thread;
    for (uint64_t i = task; share->rc >= 0 && og__now() < end;
         i += (uint64_t)og__samplers(&b->s->exec))
        share->rc =
            sample_one(b->s, b->s->path.samplers[task], &b->s->path.works[task], i % items, share);
}

static json_t *sum_up(const struct sampling *b)
{
    struct sampling_share sum = {0};
    for (int i = 0; i < og__samplers(&b->s->exec); i++) {
        sum.batches += b->share[i].batches;
        sum.rows += b->share[i].rows;
        sum.edges += b->share[i].edges;
        sum.seconds += b->share[i].seconds;
    }
    double busy = OG_MAX(sum.seconds, 1e-9);
    return json_pack("{s:i s:I s:I s:I s:f s:f s:f}", "threads", og__samplers(&b->s->exec),
                     "batches", (json_int_t)sum.batches, "rows", (json_int_t)sum.rows, "edges",
                     (json_int_t)sum.edges, "thread_seconds", sum.seconds,
                     "edges_per_second_per_thread", (double)sum.edges / busy, "edges_per_second",
                     (double)sum.edges / busy * og__samplers(&b->s->exec));
}

int og__bench_sample(const char *dataset, const struct og_options *opt, char **out,
                     struct og_err *err)
{
    if (out)
        *out = NULL;
    struct sampling b = {0};
    if (opt->epochs < 1)
        return og__fail(err, -EINVAL, "give --epochs 1 or more", "--epochs 0: no batches");
    int rc = og__session_open(&b.s, dataset, opt, OG__WANT_UNEVALUATED, NULL, NULL, err);
    if (rc < 0)
        return rc;
    b.share = calloc((size_t)og__samplers(&b.s->exec), sizeof(*b.share));
    if (!b.share)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "bench"));
    og__pool_run(b.s->pool, (size_t)og__samplers(&b.s->exec), sample_for_a_while, &b);
    for (int i = 0; i < og__samplers(&b.s->exec); i++)
        if (b.share[i].rc < 0)
            OG_TRY(og__fail(err, b.share[i].rc, b.share[i].err.hint, "%s", b.share[i].err.message));
    OG_TRY(og__json_deliver(sum_up(&b), NULL, out, err));
out:
    free(b.share);
    og__session_close(b.s);
    return rc;
}
