/* `bench train`: one in-memory epoch, and a lower bound of its operators on this machine. */
#include "bench/bench.h"
#include "bench/floor.h"
#include "flow/count_work.h"
#include "learn/targets.h"
#include "lookahead/lookahead.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session.h"

#include <assert.h>

struct training {
    struct og_session *s;
    void *labels;
    uint64_t batches;
    struct og_batch_caps sum; /* over all batches; the mean is the typical batch */
    double gradient_seconds, update_seconds, seconds;
    struct og_epoch_counters counters;
};

static void add_shape(struct og_batch_caps *sum, const struct og_batch *batch)
{
    sum->n_hops = batch->n_hops;
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        sum->hop[h].n_dst += batch->hop[h].n_dst;
        sum->hop[h].n_src += batch->hop[h].n_src;
        sum->hop[h].n_edges += batch->hop[h].n_edges;
    }
}

static int train_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct training *t = arg;
    const struct og_options *opt = &t->s->config.opt;
    const struct og_step step = {(uint64_t)opt->seed, w->descriptor.epoch, w->descriptor.batch};
    const struct og_pace pace = og__steps_pace(opt, opt->lr);
    struct og_metrics metrics = {0};
    const void *targets = og__work_targets(&t->s->workload, w, t->labels);
    double start = og__now();
    int rc = og__model_gradients(t->s->learner.model, &w->sampled.batch, w->rows,
                                 og__learner_view(t->s->learner.edges, &t->s->workload, w->rows),
                                 targets, &step, &metrics, err);
    double middle = og__now();
    if (rc < 0)
        goto out;
    OG_TRY(og__model_update(t->s->learner.model, &pace, 1, ++t->batches, err));
out:
    t->gradient_seconds += middle - start;
    t->update_seconds += og__now() - middle;
    og__count_work(&t->counters, w);
    add_shape(&t->sum, &w->sampled.batch);
    return rc;
}

/* The lower bound of the mean batch, which stands for all batches. */
static int find_floor(const struct training *t, struct og_floor *floor, struct og_err *err)
{
    struct og_batch_caps mean = t->sum;
    for (uint32_t h = 0; h < mean.n_hops; h++) {
        mean.hop[h].n_dst /= t->batches;
        mean.hop[h].n_src /= t->batches;
        mean.hop[h].n_edges /= t->batches;
    }
    return og__model_floor(&t->s->workload.shape, &mean, t->s->workload.graph->group->dtype,
                           t->s->pool, floor, err);
}

static json_t *training_json(const struct training *t, const struct og_floor *floor)
{
    double n = (double)t->batches;
    double train = t->gradient_seconds + t->update_seconds;
    double products = floor->product_seconds * n;
    double memory = floor->memory_seconds * n;
    return json_pack("{s:I s:I s:f s:f s:f s:f s:f s:f s:f s:f s:f s:f s:f}", "batches",
                     (json_int_t)t->batches, "rows", (json_int_t)t->counters.rows, "seconds",
                     t->seconds, "train_seconds", train, "gradient_seconds", t->gradient_seconds,
                     "update_seconds", t->update_seconds, "sample_seconds",
                     t->counters.sample_seconds, "stall_seconds", t->counters.stall_seconds,
                     "floor_seconds", products + memory, "product_floor_seconds", products,
                     "memory_floor_seconds", memory, "memory_bytes_per_second",
                     floor->bytes_per_second, "ratio", (products + memory) / train);
}

static int run_bench(struct training *t, char **out, struct og_err *err)
{
    struct og_floor floor = {0};
    uint64_t items = og__schedule_start(&t->s->workload.schedule, 2);
    double start = og__now();
    int rc = og__run_batches(&t->s->path, OG__SPLITS, 0, items, train_sink, t, err);
    t->seconds = og__now() - start;
    if (rc < 0)
        goto out;
    OG_TRY(find_floor(t, &floor, err));
    OG_TRY(og__json_deliver(training_json(t, &floor), NULL, out, err));
out:
    return rc;
}

int og__bench_train(const char *dataset, const struct og_options *opt,
                    const struct og_observer *observer, char **out, struct og_err *err)
{
    struct training t = {0};
    struct og_options own = {0};
    if (out)
        *out = NULL;
    int rc;
    OG_TRY(og__options_copy(&own, opt, err));
    if (!og_options_given(&own, "preset"))
        OG_TRY(og_options_set(&own, "preset", "memory", err));
    own.epochs = 1;
    OG_TRY(og__session_open(&t.s, dataset, &own,
                            OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING |
                                OG__WANT_UNEVALUATED,
                            NULL, observer, err));
    OG_TRY(og__graph_refuse_types(t.s->workload.graph, err)); /* whose blocks have other products */
out:
    og__options_release(&own);
    if (rc < 0) {
        og__session_close(t.s);
        return rc;
    }
    struct og_session *s = t.s;
    assert(s);
    size_t bytes = og__targets_bytes(&s->workload);
    t.labels = og__alloc(s->budget, bytes, "batches", err);
    rc = t.labels ? run_bench(&t, out, err) : -ENOMEM;
    og__release(s->budget, t.labels, bytes, "batches");
    og__session_close(s);
    return rc;
}
