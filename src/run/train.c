/* og_train: the sink that trains, epochs, the best model. */
#include "ahead/ahead.h"
#include "base/file.h"
#include "run/trainer.h"
#include "train/targets.h"

#include <stdlib.h>
#include <string.h>

static const char *const stages[OG__SPLITS] = {"train", "valid", "test"};

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

/* ---- one batch ---- */

static void tell(const struct og_trainer *t, const struct og_work *w)
{
    struct og_progress p = {
        .stage = stages[w->descriptor.split],
        .epoch = (int)w->descriptor.epoch,
        .epochs = t->s->config.opt.epochs,
        .done = w->descriptor.batch + 1,
        .total = og__schedule_batches(&t->s->facts.schedule, w->descriptor.split),
        .loss = w->descriptor.split == OG__TRAIN ? og__metrics_loss(&t->state.train) : 0,
    };
    og__observe(t->s->config.seen, &p);
}

/* A mini-batch's gradients are there: into its step's, which they may end. */
static int take_gradients(struct og_trainer *t, const struct og_part *part, struct og_err *err)
{
    const struct og_options *opt = &t->s->config.opt;
    const struct og_schedule *schedule = &t->s->facts.schedule;
    const uint32_t batch = part->work->descriptor.batch;
    const uint32_t size = og__step_size(opt, schedule, batch);
    const uint64_t terms = og__metrics_terms(&part->metrics);
    int rc;
    t->state.terms += terms;
    OG_TRY(og__steps_add(&t->steps, part->model, size, terms, err));
    if (!og__step_ends(opt, schedule, batch))
        return rc;
    OG_TRY(og__steps_update(&t->steps, size, t->state.terms, ++t->state.steps, err));
    t->state.terms = 0;
out:
    return rc;
}

/* All that follows from a mini-batch whose gradients were computed, in the order of the schedule.
 */
static int take_part(struct og_trainer *t, const struct og_part *part, struct og_err *err)
{
    const struct og_work *w = part->work;
    const double start = og__now();
    int rc;
    OG_TRY(check_figures(&part->metrics, w->descriptor.epoch, &w->descriptor, err));
    OG_TRY(take_gradients(t, part, err));
    og__metrics_add(&t->state.train, &part->metrics);
    t->state.counters.train_seconds += part->seconds + og__now() - start;
    og__count_work(&t->state.counters, w);
    OG_TRY(og__run_log(t, w, &part->metrics, err));
    t->state.next_item++;
    tell(t, w);
out:
    return rc;
}

/* By the model itself. */
static int train_batch(struct og_trainer *t, const struct og_work *w, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_step key = {(uint64_t)s->config.opt.seed, w->descriptor.epoch,
                                w->descriptor.batch};
    struct og_part part = {.work = w, .model = s->learner.model};
    const double start = og__now();
    int rc;
    OG_TRY(og__steps_gradients(&t->steps, &w->sampled.batch, &w->rows,
                               og__work_targets(&s->facts, w, t->labels), &key, &part.metrics,
                               err));
    part.seconds = og__now() - start;
    OG_TRY(take_part(t, &part, err));
out:
    return rc;
}

/* ---- by trainers ---- */

static int take_next(struct og_trainer *t, struct og_err *err)
{
    const uint64_t made = t->state.steps;
    struct og_part part;
    int rc;
    OG_TRY(og__trainers_take(t->trainers, &part, err));
    OG_TRY(og__model_track(t->s->learner.model, part.model, err));
    OG_TRY(take_part(t, &part, err));
    t->ended -= (int)(t->state.steps - made);
out:
    return rc;
}

/* What was given away is all back: the run stands between two mini-batches. */
static int take_rest(struct og_trainer *t, struct og_err *err)
{
    int rc = 0;
    while (t->trainers && og__trainers_busy(t->trainers) > 0)
        OG_TRY(take_next(t, err));
out:
    return rc;
}

static int give_batch(struct og_trainer *t, const struct og_work *w, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_options *opt = &s->config.opt;
    const uint64_t left = og__schedule_batches(&s->facts.schedule, OG__TRAIN) - w->descriptor.batch;
    int one = -1;
    int rc = 0;
    while (t->ended > opt->staleness ||
           (one = og__trainers_pick(t->trainers, OG_MIN(w->behind + 1, left))) < 0)
        OG_TRY(take_next(t, err));
    OG_TRY(og__trainers_give(t->trainers, one, w, &t->steps, t->ended, s->pool, err));
    t->ended += og__step_ends(opt, &s->facts.schedule, w->descriptor.batch);
out:
    return rc;
}

/* ---- evaluation ---- */

/* epoch: whose model it is. */
static int evaluate_batch(struct og_trainer *t, const struct og_work *w, uint32_t epoch,
                          const void *targets, struct og_err *err)
{
    struct og_metrics part = {0};
    int rc;
    OG_TRY(
        og__model_forward(t->s->learner.model, &w->sampled.batch, &w->rows, targets, &part, err));
    OG_TRY(check_figures(&part, epoch, &w->descriptor, err));
    og__metrics_add(&t->state.valid, &part);
    og__count_evaluated(&t->state.counters, w);
    return og__scores_add(&t->scores, &w->sampled.batch, targets, err);
out:
    return rc;
}

/* ---- the end of an epoch ---- */

/* Keeps the epoch's row, logs it, and hands it to who watches, of whom some read the log. */
static int tell_epoch(struct og_trainer *t, uint32_t epoch, struct og_err *err)
{
    const struct og_observer *seen = t->s->config.seen;
    json_t *row = og__run_epoch_json(t, epoch);
    char *text = og__json_print(row, JSON_REAL_PRECISION(17));
    bool kept = json_array_append_new(t->state.epochs, row) == 0 && text;
    int rc = kept ? 0 : og__fail_errno(err, -ENOMEM, NULL, "figures of epoch %u", epoch);
    OG_TRY(rc);
    OG_TRY(og__run_log_epoch(t, text, err));
    if (seen && seen->epoch)
        seen->epoch(seen->arg, text);
out:
    free(text);
    return rc;
}

static int end_epoch(struct og_trainer *t, uint32_t epoch, struct og_err *err)
{
    struct og_session *s = t->s;
    struct og_train_state *state = &t->state;
    og__scores_rank(&t->scores);
    double acc = og__scores_chief(&t->scores, &state->valid);
    int rc;
    OG_TRY(og__run_check_params(t, err));
    if (og__schedule_evaluates(&s->facts.schedule, epoch) &&
        (acc > state->best_valid || state->best_epoch == 0)) {
        state->best_valid = acc;
        state->best_epoch = epoch;
        OG_TRY(og__model_fetch_values(s->learner.model, t->best, err));
        OG_TRY(og__run_write_best(t, err));
    }
    OG_TRY(tell_epoch(t, epoch, err));
out:
    state->counters = (struct og_epoch_counters){0};
    state->train = state->valid = (struct og_metrics){0};
    og__scores_clear(&t->scores);
    return rc;
}

/* Wall time goes to training or to evaluation, whichever the batch was. */
static void count_time(struct og_trainer *t, enum og__split split)
{
    double now = og__now();
    *(split == OG__TRAIN ? &t->state.counters.seconds : &t->state.counters.eval_seconds) +=
        now - t->lap;
    t->lap = now;
}

static int validate_batch(struct og_trainer *t, const struct og_work *w, struct og_err *err)
{
    int rc;
    if (t->trainers && og__trainers_busy(t->trainers) > 0) {
        OG_TRY(take_rest(t, err));
        count_time(t, OG__TRAIN);
    }
    OG_TRY(evaluate_batch(t, w, w->descriptor.epoch, og__work_targets(&t->s->facts, w, t->labels),
                          err));
    t->state.next_item++;
    tell(t, w);
out:
    return rc;
}

static int save(struct og_trainer *t, struct og_err *err)
{
    int rc = take_rest(t, err);
    return rc < 0 ? rc : og__run_save(t, err);
}

static int train_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_trainer *t = arg;
    int rc;
    if (w->descriptor.split != OG__TRAIN)
        OG_TRY(validate_batch(t, w, err));
    else
        OG_TRY(t->trainers ? give_batch(t, w, err) : train_batch(t, w, err));
    if (w->descriptor.last_of_epoch)
        OG_TRY(take_rest(t, err));
    count_time(t, w->descriptor.split);
    if (w->descriptor.last_of_epoch)
        OG_TRY(end_epoch(t, w->descriptor.epoch, err));
    if (og__now() - t->saved >= t->s->config.opt.checkpoint_every)
        OG_TRY(save(t, err));
out:
    return rc;
}

/* ---- the best model on the test nodes ---- */

static int test_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_trainer *t = arg;
    uint32_t epoch = t->state.best_epoch ? t->state.best_epoch : og__run_epoch(t);
    int rc = evaluate_batch(t, w, epoch, og__work_targets(&t->s->facts, w, t->labels), err);
    tell(t, w);
    return rc;
}

/* The test is evaluation too: what it took is told with the last epoch, and so is the checkpoint
 * after that epoch, so that the rows of a summary add up to all that was read and written. */
static int count_rest(struct og_trainer *t, struct og_err *err)
{
    json_t *epochs = t->state.epochs;
    json_t *last = json_array_get(epochs, json_array_size(epochs) - 1);
    struct og_epoch_counters sum;
    if (!last)
        return 0;
    og__epoch_counters_parse(&sum, last);
    og__epoch_counters_add(&sum, &t->state.counters);
    json_t *told = og__epoch_counters_json(&sum, json_incref(last));
    json_decref(told);
    return told ? 0 : og__fail_errno(err, -ENOMEM, NULL, "figures of the last epoch");
}

static int test_best(struct og_trainer *t, struct og_test_result *found, struct og_err *err)
{
    struct og_session *s = t->s;
    *found = (struct og_test_result){json_null(), json_null()};
    if (s->facts.split[OG__TEST].n == 0)
        return 0;
    int rc = t->state.best_epoch ? og__model_push_values(s->learner.model, t->best, err) : 0;
    if (rc < 0)
        return rc;
    t->state.valid = (struct og_metrics){0};
    og__scores_clear(&t->scores);
    double start = og__now();
    rc = og__run_batches(&s->path, OG__TEST, 0, og__schedule_batches(&s->facts.schedule, OG__TEST),
                         test_sink, t, err);
    if (rc < 0)
        return rc;
    og__scores_rank(&t->scores);
    found->acc = og__json_real(og__scores_chief(&t->scores, &t->state.valid));
    found->metrics = og__scores_json(&t->scores, &t->state.valid);
    t->state.counters.eval_seconds = og__now() - start;
    return 0;
}

/* ---- the run ---- */

static int start_run(struct og_trainer *t, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_trainers_setup setup = og__trainers_setup(&s->config.opt);
    t->started = t->saved = og__now();
    t->goes_on = (struct og_resumable){&s->config.opt, s->facts.ds, &s->facts.schedule,
                                       s->learner.model, &t->steps};
    t->state.best_valid = -1;
    t->state.epochs = json_array();
    t->n_values = og__model_values(s->learner.model);
    t->labels = og__alloc(s->budget, og__targets_bytes(&s->facts), "batches", err);
    int opened = og__scores_open(&t->scores, &s->facts, s->learner.model, s->budget, err);
    t->best = og__alloc(s->budget, t->n_values * sizeof(float), "model", err);
    if (!t->labels || !t->best || opened < 0)
        return -ENOMEM;
    int rc;
    if (s->config.opt.init)
        OG_TRY(og__checkpoint_load(s->config.opt.init, s->learner.model, err));
    OG_TRY(og__steps_open(&t->steps, s->learner.model, &s->config.opt, s->budget, err));
    if (s->config.opt.resume)
        OG_TRY(og__run_resume(t, err));
    if (og__trainers_all(&setup) > 0) {
        OG_TRY(og__trainers_open(&t->trainers, &s->learner, &s->facts, &setup, s->budget, err));
        s->path.shift = og__trainers_shift(t->trainers);
    }
    og__session_count_prepared(s);
    OG_TRY(og__run_write_settings(t, err));
    if (!(t->log = og__rundir_metrics(&t->dir, s->config.opt.resume ? "a" : "w", err)))
        rc = -errno;
out:
    return rc;
}

static void end_run(struct og_trainer *t)
{
    struct og_session *s = t->s;
    if (t->log)
        fclose(t->log);
    og__release(s->budget, t->labels, og__targets_bytes(&s->facts), "batches");
    s->path.shift = NULL;
    og__trainers_close(t->trainers);
    og__scores_close(&t->scores);
    og__steps_close(&t->steps);
    og__release(s->budget, t->best, t->n_values * sizeof(float), "model");
    json_decref(t->state.epochs);
}

/* What was said gives way to what is said next. */
static void clear(struct og_err *err)
{
    if (err)
        *err = (struct og_err){0};
}

/* Of an interrupted run what was done so far is kept, if it can be. */
static int save_interrupted(struct og_trainer *t, struct og_err *err)
{
    clear(err);
    int rc = save(t, err);
    return rc < 0 ? rc : OG_INTERRUPTED;
}

/* All epochs are over. */
static int finish_training(struct og_trainer *t, char **summary, struct og_err *err)
{
    struct og_test_result test = {0};
    int rc;
    OG_TRY(save(t, err));
    OG_TRY(test_best(t, &test, err));
    OG_TRY(count_rest(t, err));
    OG_TRY(og__run_write_plan(t, err)); /* what a first superbatch predicted is known now */
    return og__run_write_summary(t, &test, summary, err);
out:
    json_decref(test.acc);
    json_decref(test.metrics);
    return rc;
}

static int run_training(struct og_trainer *t, char **summary, struct og_err *err)
{
    struct og_session *s = t->s;
    t->lap = og__now();
    int rc = og__run_batches(&s->path, OG__SPLITS, t->state.next_item,
                             og__schedule_items(&s->facts.schedule), train_sink, t, err);
    if (rc == OG_INTERRUPTED)
        rc = save_interrupted(t, err);
    else if (rc == 0)
        rc = finish_training(t, summary, err);
    if (rc == OG_INTERRUPTED) {
        clear(err);
        og__fail(err, rc, "go on with --resume", "interrupted");
    }
    return rc;
}

/* From what the folder holds to what it will hold. */
static int train(struct og_trainer *t, char **summary, struct og_err *err)
{
    struct og_timeline **timeline = &t->s->path.timeline;
    int rc;
    OG_TRY(start_run(t, err));
    OG_TRY(run_training(t, summary, err));
    rc = og__timeline_close(*timeline, err);
    *timeline = NULL;
out:
    (void)!og__timeline_close(*timeline, NULL); /* what failed has one too */
    *timeline = NULL;
    end_run(t);
    return rc;
}

int og_train(const char *dataset, const struct og_options *opt, const struct og_observer *seen,
             char **summary, struct og_err *err)
{
    struct og_trainer t = {0};
    if (summary)
        *summary = NULL;
    int rc = og__rundir_check(opt->run, opt->resume, opt->init, err);
    if (rc < 0)
        return rc;
    rc = og__session_open(&t.s, dataset, opt,
                          OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING, NULL, seen, err);
    if (rc < 0)
        return rc;
    /* after the session: a refusal leaves no folder behind */
    OG_TRY(og__rundir_open(&t.dir, opt->run, opt->resume, err));
    const char *scratch = t.s->config.opt.scratch;
    OG_TRY(og__stores_name(&t.s->path.stores, scratch ? scratch : t.dir.path, err));
    OG_TRY(train(&t, summary, err));
out:
    og__timeline_discard(t.s->path.timeline); /* of a run that never began */
    t.s->path.timeline = NULL;
    og__session_close(t.s); /* its scratch lies in the run's folder */
    if (rc < 0 && rc != OG_INTERRUPTED && t.dir.lock > 0 && !opt->resume && t.state.next_item == 0)
        og__rundir_abandon(&t.dir);
    else
        og__rundir_close(&t.dir);
    return rc;
}
