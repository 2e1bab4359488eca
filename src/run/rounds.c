#include "run/rounds.h"

#include "flow/exchange.h"
#include "nn/tasks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const char *const stages[OG__SPLITS] = {"train", "valid", "test"};

/* ---- where it stands ---- */

/* Mini-batches taken in of the run, or of the test. */
static uint64_t position(const struct og_trainer *t)
{
    return t->testing ? t->tested : t->state.next_item;
}

static struct og_descriptor descriptor_at(const struct og_trainer *t, uint64_t item)
{
    return t->testing ? og__schedule_pass(&t->whole, OG__TEST, item)
                      : og__schedule_at(&t->whole, item);
}

static struct og_descriptor next_descriptor(const struct og_trainer *t)
{
    return descriptor_at(t, position(t));
}

uint32_t og__rounds_ranks(const struct og_trainer *t)
{
    return (uint32_t)t->ranks->comm->n;
}

/* Mini-batches of a round: up to the next multiple of the ranks, or the end of the split. */
static uint32_t round_size(const struct og_trainer *t, uint64_t item)
{
    const struct og_descriptor d = descriptor_at(t, item);
    const uint64_t left = og__schedule_batches(&t->whole, d.split) - d.batch;
    const uint32_t most = og__rounds_ranks(t) - d.batch % og__rounds_ranks(t);
    return (uint32_t)OG_MIN(left, (uint64_t)most);
}

/* Which mini-batch of all a descriptor's is. */
uint64_t og__round_item(const struct og_trainer *t, const struct og_descriptor *d)
{
    if (t->testing)
        return d->batch;
    const uint64_t n_train = og__schedule_batches(&t->whole, OG__TRAIN);
    return og__schedule_start(&t->whole, d->epoch) + (d->split == OG__TRAIN ? 0 : n_train) +
           d->batch;
}

/* Steps before that of a mini-batch that are not made yet. */
int og__rounds_behind(const struct og_trainer *t, const struct og_descriptor *d)
{
    const uint64_t size = (uint64_t)t->s->config.opt.accumulate;
    const uint64_t an_epoch = (og__schedule_batches(&t->whole, OG__TRAIN) + size - 1) / size;
    return (int)((d->epoch - 1) * an_epoch + d->batch / size - t->state.steps);
}

/* Then it is the oldest that it has given to a trainer. */
bool og__round_has_own(const struct og_trainer *t)
{
    const struct og_descriptor d = next_descriptor(t);
    const uint32_t first = d.batch % og__rounds_ranks(t);
    const uint32_t rank = og__ranks_share(t->ranks).rank;
    return rank - first < round_size(t, position(t));
}

/* ---- the end of an epoch ---- */

/* Keeps the epoch's row, logs it, and passes it to observers, of whom some read the log. */
static int tell_epoch(struct og_trainer *t, uint32_t epoch, struct og_err *err)
{
    const struct og_observer *observer = t->s->config.observer;
    json_t *row = og__run_epoch_json(t, epoch);
    char *text = og__json_print(row, JSON_REAL_PRECISION(17));
    bool kept = json_array_append_new(t->state.epochs, row) == 0 && text;
    int rc = kept ? 0 : og__fail_errno(err, -ENOMEM, NULL, "figures of epoch %u", epoch);
    OG_TRY(rc);
    OG_TRY(og__run_log_epoch(t, text, err));
    if (observer && observer->epoch)
        observer->epoch(observer->arg, text);
out:
    free(text);
    return rc;
}

static double best_so_far(const struct og_train_state *state, int kind)
{
    const json_t *metrics = json_object_get(og__train_state_best(state), "valid_metrics");
    const json_t *value = json_object_get(metrics, og__best_words[kind]);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Is the model that was just evaluated better than the best so far? If two measure the same, the
 * one with the smaller validation loss is: where classes are rare many epochs tie. */
static bool is_better(const struct og_trainer *t)
{
    const struct og_train_state *state = &t->state;
    const int kind = og__best_of(&t->s->workload.shape, t->s->config.opt.best_by);
    const double now = og__best_worth(kind, og__scores_figure(&t->scores, &state->valid, kind));
    const double before = og__best_worth(kind, best_so_far(state, kind));
    if (state->best_epoch == 0 || now > before)
        return true;
    return now == before && og__metrics_loss(&state->valid) < best_so_far(state, OG_BEST_LOSS);
}

/* Wall time goes to training or to evaluation, whichever the batch was. */
static void count_time(struct og_trainer *t, enum og__split split)
{
    double now = og__now();
    *(split == OG__TRAIN ? &t->state.counters.seconds : &t->state.counters.eval_seconds) +=
        now - t->lap;
    t->lap = now;
}

static int end_epoch(struct og_trainer *t, uint32_t epoch, struct og_err *err)
{
    struct og_session *s = t->s;
    struct og_train_state *state = &t->state;
    og__scores_rank(&t->scores);
    og__type_scores_rank(&t->by_type);
    count_time(t, OG__VALID);
    int rc;
    OG_TRY(og__run_check_params(t, err));
    if (og__schedule_evaluates(&s->workload.schedule, epoch) && is_better(t)) {
        state->best_epoch = epoch;
        OG_TRY(og__model_fetch_values(s->learner.model, t->best, err));
        OG_TRY(t->files->best(t, err));
    }
    OG_TRY(tell_epoch(t, epoch, err));
    og__watch_epoch(&t->watch, json_array_get(state->epochs, epoch - 1));
out:
    state->counters = (struct og_epoch_counters){0};
    state->tiers = (struct og_tier_counters){0};
    state->train = state->valid = (struct og_metrics){0};
    og__scores_clear(&t->scores);
    og__type_scores_clear(&t->by_type);
    return rc;
}

/* ---- taking in what was computed of a mini-batch, or of one of each rank ---- */

static void tell(const struct og_trainer *t, const struct og_descriptor *d)
{
    struct og_progress p = {
        .size = sizeof(p),
        .stage = stages[d->split],
        .epoch = (int)d->epoch,
        .epochs = t->s->config.opt.epochs,
        .done = d->batch + 1,
        .total = og__schedule_batches(&t->whole, d->split),
        .loss = d->split == OG__TRAIN ? og__metrics_loss(&t->state.train) : 0,
    };
    og__observe(t->s->config.observer, &p);
}

/* Part number i of the round that begins with d. */
static const struct og_rank_report *report_of(const struct og_trainer *t,
                                              const struct og_descriptor *d, uint32_t i)
{
    return &t->ranks->report[(d->batch + i) % og__rounds_ranks(t)];
}

static struct og_round round_of(const struct og_trainer *t, const struct og_descriptor *d,
                                uint32_t n)
{
    struct og_round r = {.size = og__step_size(&t->s->config.opt, &t->whole, d->batch)};
    r.first = (int)(d->batch % og__rounds_ranks(t));
    r.last = r.first + (int)n;
    for (int i = r.first; i < r.last; i++)
        r.weight[i] = t->ranks->report[i].metrics.weight;
    return r;
}

/* Gradients are there, in `made` and in other ranks: into their step's. */
static int add_gradients(struct og_trainer *t, const struct og_descriptor *d, uint32_t n,
                         struct og_model *made, bool ends, struct og_err *err)
{
    const struct og_round round = round_of(t, d, n);
    OG_DO(t->shares.transport->add(&t->shares, &round, made, err));
    if (ends || t->saves)
        OG_DO(t->shares.transport->sum(&t->shares, !ends, err));
    return 0;
}

/* Adds one of a round's mini-batches, which may be the last of its step. */
static int take_gradients(struct og_trainer *t, const struct og_descriptor *d, uint32_t n,
                          struct og_model *made, struct og_err *err)
{
    const struct og_options *opt = &t->s->config.opt;
    const bool ends = og__step_ends(opt, &t->whole, d->batch + n - 1);
    const uint32_t size = og__step_size(opt, &t->whole, d->batch);
    const double start = og__now();
    int rc;
    for (uint32_t i = 0; i < n; i++)
        t->state.weight += report_of(t, d, i)->metrics.weight;
    OG_TRY(add_gradients(t, d, n, made, ends, err));
    if (ends) {
        const double lr = og__rate_at(&t->watch.rate, t->state.steps, d->epoch - 1);
        OG_TRY(og__steps_update(&t->steps, size, t->state.weight, ++t->state.steps, lr, err));
        t->state.weight = 0;
    }
out:
    t->state.counters.train_seconds += og__now() - start;
    return rc;
}

/* Counts a mini-batch's part, in the order of the schedule. */
static int take_figures(struct og_trainer *t, const struct og_descriptor *d,
                        const struct og_rank_report *report, struct og_err *err)
{
    const bool trains = d->split == OG__TRAIN;
    og__metrics_add(trains ? &t->state.train : &t->state.valid, &report->metrics);
    og__epoch_counters_add(&t->state.counters, &report->counters);
    if (report->what == OG__HAS_PART)
        og__tier_counters_add(&t->state.tiers, &report->tiers);
    if (!trains)
        og__type_scores_take(&t->by_type, (int)(d->batch % og__rounds_ranks(t)));
    if (trains)
        og__ranks_count(t->ranks, (int)(d->batch % og__rounds_ranks(t)), report);
    if (trains)
        OG_DO(og__run_log(t, d, report, err));
    if (t->testing)
        t->tested++;
    else
        t->state.next_item++;
    tell(t, d);
    return 0;
}

/* What ranks did that have no mini-batch in the round, for those that have. */
static void take_idle(struct og_trainer *t, const struct og_descriptor *d, uint32_t n)
{
    const uint32_t first = d->batch % og__rounds_ranks(t);
    for (uint32_t i = 0; i < og__rounds_ranks(t); i++) {
        if (i >= first && i < first + n)
            continue;
        og__epoch_counters_add(&t->state.counters, &t->ranks->report[i].counters);
        if (d->split == OG__TRAIN)
            og__ranks_count(t->ranks, (int)i, &t->ranks->report[i]);
    }
}

/* epoch: whose model it is. */
static int check_figures(const struct og_metrics *part, uint32_t epoch,
                         const struct og_descriptor *descriptor, struct og_err *err)
{
    const char *what = og__metrics_undefined(part);
    bool trains = descriptor->split == OG__TRAIN;
    if (!what)
        return 0;
    return og__fail(
        err, -EDOM, og__lower_rate, "epoch %u, %s%sbatch %u: the %s is not a finite number", epoch,
        trains ? "" : stages[descriptor->split], trains ? "" : " ", descriptor->batch + 1, what);
}

static int check_round(const struct og_trainer *t, const struct og_descriptor *d, uint32_t n,
                       struct og_err *err)
{
    const bool best = t->testing && t->state.best_epoch;
    for (uint32_t i = 0; i < n; i++) {
        struct og_descriptor one = *d;
        one.batch += i;
        const uint32_t epoch = best         ? t->state.best_epoch
                               : t->testing ? og__run_epoch(t)
                                            : d->epoch;
        OG_DO(check_figures(&report_of(t, d, i)->metrics, epoch, &one, err));
    }
    return 0;
}

/* All that ranks exchange comes first: whoever fails later says so when they meet again. */
static int synchronize(struct og_trainer *t, struct og_rank_report *own, struct og_err *err)
{
    struct og_exchange *x = t->s->path.exchange;
    int rc = x ? og__exchange_await(x, err) : 0;
    if (rc < 0)
        return rc;
    if (x)
        own->rows_sent = og__exchange_count(x, &own->counters);
    own->saves = og__now() - t->saved >= t->s->config.opt.checkpoint_every;
    const struct og_rank_report *first = t->ranks->report;
    rc = og__ranks_synchronize(t->ranks, own, err);
    t->saves = first->saves && !t->testing;
    return rc;
}

/* Gathers what ranks evaluated in a round; at the end of a pass its scores too. */
static int collect_scores(struct og_trainer *t, bool ends, struct og_err *err)
{
    struct og_type_scores *c = &t->by_type;
    int rc = 0;
    if (c->n > 0)
        OG_TRY(og__comm_gather(t->ranks->comm, c->part, c->n * sizeof(*c->part), err));
    if (!ends)
        return rc;
    OG_TRY(og__ranks_scores(t->ranks, &t->scores, err));
    for (uint32_t k = 0; k < c->n; k++)
        OG_TRY(og__ranks_scores(t->ranks, &c->of[k].scores, err));
out:
    return rc;
}

void og__rounds_start(struct og_trainer *t)
{
    t->begun = position(t);
    t->under_way = 0;
}

bool og__round_waits(const struct og_trainer *t)
{
    const struct og_descriptor d = descriptor_at(t, t->begun);
    if (t->under_way == 0)
        return false;
    return d.split != OG__TRAIN || d.batch == 0 || t->under_way > t->behind_most ||
           og__rounds_behind(t, &d) > t->s->config.opt.staleness;
}

int og__round_begin(struct og_trainer *t, struct og_err *err)
{
    struct og_exchange *x = t->s->path.exchange;
    OG_DO(x ? og__exchange_reach(x, err) : 0);
    t->begun += round_size(t, t->begun);
    t->under_way++;
    return 0;
}

bool og__round_before(const struct og_trainer *t, uint64_t item)
{
    return t->begun < item && t->begun + round_size(t, t->begun) <= item;
}

/* own: what this rank brings; made: the model that has its gradients, of training. */
int og__round_take(struct og_trainer *t, struct og_rank_report *own, struct og_model *made,
                   struct og_err *err)
{
    const struct og_descriptor first = next_descriptor(t);
    const uint32_t n = round_size(t, position(t));
    const bool trains = first.split == OG__TRAIN;
    const bool ends = first.batch + n == og__schedule_batches(&t->whole, first.split);
    int rc;
    assert(t->under_way > 0);
    t->under_way--;
    OG_TRY(synchronize(t, own, err));
    OG_TRY(check_round(t, &first, n, err));
    take_idle(t, &first, n);
    if (trains)
        OG_TRY(take_gradients(t, &first, n, made, err));
    else
        OG_TRY(collect_scores(t, ends, err));
    for (uint32_t i = 0; i < n; i++) {
        const struct og_descriptor d = next_descriptor(t);
        OG_TRY(take_figures(t, &d, report_of(t, &first, i), err));
        if (t->testing)
            continue;
        count_time(t, d.split);
        if (d.last_of_epoch)
            OG_TRY(end_epoch(t, d.epoch, err));
    }
    if (t->saves)
        OG_TRY(og__run_save(t, err));
out:
    return rc;
}
