/* og_train: the sink that trains, epochs, the best model, the files of a run. */
#include "ahead/ahead.h"
#include "base/file.h"
#include "run/plan_json.h"
#include "run/rundir.h"
#include "train/checkpoint.h"
#include "train/idle.h"
#include "train/json.h"
#include "train/options.h"
#include "train/scores.h"
#include "train/session.h"
#include "train/targets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct trainer {
    struct og_session *s;
    struct og_rundir dir;
    struct og_train_state state;
    struct og_resumable goes_on;
    struct og_scores scores; /* of the evaluation under way */
    FILE *log;               /* metrics.jsonl */
    void *labels;            /* of one batch */
    float *best;             /* parameters of the best epoch, one after another */
    size_t n_values;
    double lap; /* when the last batch ended */
    double started, saved;
};

/* ---- parameters as one vector ---- */

static size_t count_values(const struct og_session *s)
{
    size_t n;
    size_t values = 0;
    const struct og_param *params = og__model_params(s->learner.model, &n);
    for (size_t i = 0; i < n; i++)
        values += og__param_count(&params[i]);
    return values;
}

/* Those that are trained: running statistics are none. */
static size_t count_trained(const struct og_session *s)
{
    size_t n;
    size_t trained = 0;
    const struct og_param *params = og__model_params(s->learner.model, &n);
    for (size_t i = 0; i < n; i++)
        trained += params[i].grad ? og__param_count(&params[i]) : 0;
    return trained;
}

static int fetch_params(const struct og_session *s, float *values, struct og_err *err)
{
    size_t n;
    int rc = 0;
    const struct og_param *params = og__model_params(s->learner.model, &n);
    for (size_t i = 0, m; i < n; i++, values += m) {
        m = og__param_count(&params[i]);
        OG_TRY(
            og__model_fetch(s->learner.model, values, params[i].value, m * sizeof(*values), err));
    }
out:
    return rc;
}

static int push_params(struct og_session *s, const float *values, struct og_err *err)
{
    size_t n;
    int rc = 0;
    const struct og_param *params = og__model_params(s->learner.model, &n);
    for (size_t i = 0, m; i < n; i++, values += m) {
        m = og__param_count(&params[i]);
        OG_TRY(og__model_push(s->learner.model, params[i].value, values, m * sizeof(*values), err));
    }
out:
    return rc;
}

/* A file of the run that is there now: written in the epoch at hand. */
static void count_written(struct trainer *t, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        t->state.counters.checkpoint_bytes_written += (uint64_t)st.st_size;
}

/* values: all parameters one after another; NULL = the model's */
static int write_params(struct trainer *t, const char *path, const float *values,
                        struct og_err *err)
{
    int rc;
    OG_TRY(og__checkpoint_write(path, t->s->learner.model, &t->s->config.opt, values, err));
    count_written(t, path);
out:
    return rc;
}

/* ---- what has diverged ---- */

static const char lower_rate[] = "lower --lr, or look for extreme values with `outgrow verify`";
static const char *const stages[OG__SPLITS] = {"train", "valid", "test"};

/* Of the epoch under way, or the last one. */
static uint32_t epoch_of(const struct trainer *t)
{
    uint64_t item = t->state.next_item;
    return item > 0 ? og__schedule_at(&t->s->facts.schedule, item - 1).epoch : 0;
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static int check_param(const struct trainer *t, const struct og_param *p, struct og_err *err)
{
    enum { PIECE = 4096 };
    float piece[PIECE];
    for (size_t first = 0, n; first < og__param_count(p); first += n) {
        n = OG_MIN(og__param_count(p) - first, (size_t)PIECE);
        int rc =
            og__model_fetch(t->s->learner.model, piece, p->value + first, n * sizeof(*piece), err);
        if (rc < 0)
            return rc;
        if (!all_finite(piece, n))
            return og__fail(err, -EDOM, lower_rate,
                            "epoch %u: a value of %s is not a finite number", epoch_of(t), p->name);
    }
    return 0;
}

static int check_params(const struct trainer *t, struct og_err *err)
{
    size_t n;
    int rc = 0;
    const struct og_param *params = og__model_params(t->s->learner.model, &n);
    for (size_t i = 0; i < n; i++)
        OG_TRY(check_param(t, &params[i], err));
out:
    return rc;
}

/* epoch: whose model it is. */
static int check_figures(const struct og_metrics *part, uint32_t epoch,
                         const struct og_descriptor *descriptor, struct og_err *err)
{
    const char *what = og__metrics_undefined(part);
    bool trains = descriptor->split == OG__TRAIN;
    if (!what)
        return 0;
    return og__fail(err, -EDOM, lower_rate, "epoch %u, %s%sbatch %u: the %s is not a finite number",
                    epoch, trains ? "" : stages[descriptor->split], trains ? "" : " ",
                    descriptor->batch + 1, what);
}

/* ---- saving ---- */

static double seconds_so_far(const struct trainer *t)
{
    return t->state.seconds + og__now() - t->started;
}

/* Scores are not saved: a run that goes on evaluates again from the first batch. */
static void rewind_evaluation(const struct trainer *t, struct og_train_state *state)
{
    if (!t->scores.value || state->next_item == 0)
        return;
    struct og_descriptor last = og__schedule_at(&t->s->facts.schedule, state->next_item - 1);
    if (last.split == OG__TRAIN || last.last_of_epoch)
        return;
    state->next_item -= last.batch + 1;
    state->valid = (struct og_metrics){0};
    state->counters.eval_seconds = 0;
    state->counters.eval_bytes_read = 0;
}

static int flush_log(struct trainer *t, struct og_err *err)
{
    return fflush(t->log) == 0
               ? 0
               : og__fail_errno(err, -errno, NULL, "%s: cannot write", t->dir.metrics);
}

/* Self-contained first, then the parameters alone: a kill between the two loses nothing. What
 * diverged is not put in the place of what had not. */
static int save(struct trainer *t, struct og_err *err)
{
    struct og_train_state state = t->state;
    state.seconds = seconds_so_far(t);
    rewind_evaluation(t, &state);
    int rc;
    OG_TRY(check_params(t, err));
    OG_TRY(flush_log(t, err));
    OG_TRY(og__resume_write(t->dir.resume, &t->goes_on, &state, t->best, err));
    count_written(t, t->dir.resume);
    OG_TRY(write_params(t, t->dir.checkpoint, NULL, err));
out:
    t->saved = og__now();
    return rc;
}

/* ---- one batch ---- */

static int log_line(struct trainer *t, const char *text, struct og_err *err)
{
    bool written = fprintf(t->log, "%s\n", text) > 0;
    return written ? 0 : og__fail_errno(err, -EIO, NULL, "%s: cannot write", t->dir.metrics);
}

static int log_batch(struct trainer *t, const struct og_work *w, const struct og_metrics *part,
                     struct og_err *err)
{
    int every = t->s->config.opt.log_every;
    if (every == 0 || (w->descriptor.batch + 1) % (uint32_t)every)
        return 0;
    json_t *line = json_pack("{s:i s:i s:f s:I s:I s:I s:f}", "epoch", (int)w->descriptor.epoch,
                             "batch", (int)w->descriptor.batch + 1, "loss", og__metrics_loss(part),
                             "rows", (json_int_t)w->plan.n, "misses", (json_int_t)w->plan.n_misses,
                             "bytes_read", (json_int_t)w->read.bytes, "seconds", seconds_so_far(t));
    char *text = og__json_print(line, JSON_REAL_PRECISION(17));
    json_decref(line);
    if (!text)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", t->dir.metrics);
    int rc = log_line(t, text, err);
    free(text);
    return rc;
}

static int train_batch(struct trainer *t, const struct og_work *w, const void *targets,
                       struct og_err *err)
{
    struct og_session *s = t->s;
    struct og_step step = {(uint64_t)s->config.opt.seed, w->descriptor.epoch, w->descriptor.batch};
    struct og_metrics part = {0};
    double start = og__now();
    int rc;
    OG_TRY(og__model_gradients(s->learner.model, &w->sampled.batch, &w->rows, targets, &step, &part,
                               err));
    OG_TRY(check_figures(&part, w->descriptor.epoch, &w->descriptor, err));
    rc = og__model_update(s->learner.model, s->config.opt.lr, s->config.opt.weight_decay,
                          ++t->state.steps, err);
    if (rc < 0)
        return rc;
    og__metrics_add(&t->state.train, &part);
    t->state.counters.train_seconds += og__now() - start;
    og__count_work(&t->state.counters, w);
    return log_batch(t, w, &part, err);
out:
    return rc;
}

/* epoch: whose model it is. */
static int evaluate_batch(struct trainer *t, const struct og_work *w, uint32_t epoch,
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

static json_t *epoch_json(const struct trainer *t, uint32_t epoch)
{
    const struct og_train_state *state = &t->state;
    bool evaluated = og__schedule_evaluates(&t->s->facts.schedule, epoch);
    json_t *row =
        json_pack("{s:i s:f s:f}", "epoch", (int)epoch, "loss", og__metrics_loss(&state->train),
                  "train_acc", og__metrics_acc(&state->train, &t->s->facts.shape));
    row = og__json_with(row, "valid_acc",
                        evaluated ? og__json_real(og__scores_chief(&t->scores, &state->valid))
                                  : json_null());
    row = og__json_with(row, "valid_metrics",
                        evaluated ? og__scores_json(&t->scores, &state->valid) : json_null());
    return og__epoch_counters_json(&state->counters, row);
}

/* Keeps the epoch's row, logs it, and hands it to who watches, of whom some read the log. */
static int tell_epoch(struct trainer *t, uint32_t epoch, struct og_err *err)
{
    const struct og_observer *seen = t->s->config.seen;
    json_t *row = epoch_json(t, epoch);
    char *text = og__json_print(row, JSON_REAL_PRECISION(17));
    bool kept = json_array_append_new(t->state.epochs, row) == 0 && text;
    int rc = kept ? 0 : og__fail_errno(err, -ENOMEM, NULL, "figures of epoch %u", epoch);
    OG_TRY(rc);
    OG_TRY(log_line(t, text, err));
    OG_TRY(flush_log(t, err));
    if (seen && seen->epoch)
        seen->epoch(seen->arg, text);
out:
    free(text);
    return rc;
}

static int end_epoch(struct trainer *t, uint32_t epoch, struct og_err *err)
{
    struct og_session *s = t->s;
    struct og_train_state *state = &t->state;
    og__scores_rank(&t->scores);
    double acc = og__scores_chief(&t->scores, &state->valid);
    int rc;
    OG_TRY(check_params(t, err));
    if (og__schedule_evaluates(&s->facts.schedule, epoch) &&
        (acc > state->best_valid || state->best_epoch == 0)) {
        state->best_valid = acc;
        state->best_epoch = epoch;
        OG_TRY(fetch_params(s, t->best, err));
        OG_TRY(write_params(t, t->dir.best, t->best, err));
    }
    OG_TRY(tell_epoch(t, epoch, err));
out:
    state->counters = (struct og_epoch_counters){0};
    state->train = state->valid = (struct og_metrics){0};
    og__scores_clear(&t->scores);
    return rc;
}

static void tell(const struct trainer *t, const struct og_work *w)
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

/* Wall time goes to training or to evaluation, whichever the batch was. */
static void count_time(struct trainer *t, enum og__split split)
{
    double now = og__now();
    *(split == OG__TRAIN ? &t->state.counters.seconds : &t->state.counters.eval_seconds) +=
        now - t->lap;
    t->lap = now;
}

static int train_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct trainer *t = arg;
    const void *targets = og__work_targets(&t->s->facts, w, t->labels);
    int rc = w->descriptor.split == OG__TRAIN
                 ? train_batch(t, w, targets, err)
                 : evaluate_batch(t, w, w->descriptor.epoch, targets, err);
    if (rc < 0)
        return rc;
    t->state.next_item++;
    tell(t, w);
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
    struct trainer *t = arg;
    uint32_t epoch = t->state.best_epoch ? t->state.best_epoch : epoch_of(t);
    int rc = evaluate_batch(t, w, epoch, og__work_targets(&t->s->facts, w, t->labels), err);
    tell(t, w);
    return rc;
}

/* The test is evaluation too: what it took is told with the last epoch, and so is the checkpoint
 * after that epoch, so that the rows of a summary add up to all that was read and written. */
static int count_rest(struct trainer *t, struct og_err *err)
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

/* What the summary tells of the test; null where there is none. */
struct test_result {
    json_t *acc, *metrics;
};

static int test_best(struct trainer *t, struct test_result *found, struct og_err *err)
{
    struct og_session *s = t->s;
    *found = (struct test_result){json_null(), json_null()};
    if (s->facts.split[OG__TEST].n == 0)
        return 0;
    int rc = t->state.best_epoch ? push_params(s, t->best, err) : 0;
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

/* ---- summary ---- */

/* As the epoch's row has them. */
static json_t *best_metrics(const struct og_train_state *state)
{
    json_t *row = json_array_get(state->epochs, state->best_epoch - 1);
    json_t *metrics = state->best_epoch ? json_object_get(row, "valid_metrics") : NULL;
    return metrics ? json_incref(metrics) : json_null();
}

static int write_summary(struct trainer *t, const struct test_result *test, char **summary,
                         struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_train_state *state = &t->state;
    bool evaluated = state->best_epoch > 0;
    json_t *root = json_pack(
        "{s:s s:s s:s s:I s:o s:I s:o s:o s:O s:o s:o s:o s:o s:o s:I s:I s:I s:s s:f}", "version",
        og_version(), "dataset", s->facts.ds->name, "run", t->dir.path, "parameters",
        (json_int_t)count_trained(s), "config", og__options_json(&s->config.opt), "seed",
        (json_int_t)s->config.opt.seed, "plan", og__session_plan_json(s), "prepare",
        og__prepare_counters_json(&s->prepare), "epochs", state->epochs, "best_epoch",
        evaluated ? json_integer(state->best_epoch) : json_null(), "valid_acc",
        evaluated ? og__json_real(state->best_valid) : json_null(), "test_acc", test->acc,
        "valid_metrics", best_metrics(state), "test_metrics", test->metrics, "peak_rss_bytes",
        (json_int_t)og__session_peak_rss(s), "baseline_rss_bytes", (json_int_t)s->baseline_rss,
        "memory_budget_bytes", (json_int_t)s->memory.limit, "io", og__gather_engine(s->path.gather),
        "seconds", seconds_so_far(t));
    return og__json_deliver(root, t->dir.summary, summary, err);
}

/* ---- the run ---- */

static int write_plan(struct trainer *t, struct og_err *err)
{
    return og__json_deliver(og__session_plan_json(t->s), t->dir.plan, NULL, err);
}

static int write_settings(struct trainer *t, struct og_err *err)
{
    int rc = write_plan(t, err); /* first: it tells a run's folder (rundir.h) */
    return rc < 0 ? rc : og__options_write_yaml(&t->s->config.opt, t->dir.config, err);
}

/* The run's other files as they were at the position that resume.safetensors tells: it was written
 * first, and the process may have ended between any two of them, or long after. */
static int restore_files(struct trainer *t, struct og_err *err)
{
    const struct og_schedule *schedule = &t->s->facts.schedule;
    int rc;
    OG_TRY(write_params(t, t->dir.checkpoint, NULL, err));
    if (t->state.best_epoch)
        OG_TRY(write_params(t, t->dir.best, t->best, err));
    if (t->state.next_item >= og__schedule_items(schedule))
        return rc;
    struct og_descriptor descriptor = og__schedule_at(schedule, t->state.next_item);
    uint32_t batch = descriptor.split == OG__TRAIN ? descriptor.batch + 1 : UINT32_MAX;
    return og__rundir_cut_metrics(&t->dir, descriptor.epoch, batch, err);
out:
    return rc;
}

/* Goes on where the folder's run stopped; without a file to resume from it starts anew. */
static int resume_run(struct trainer *t, struct og_err *err)
{
    int rc;
    OG_TRY(og__resume_read(t->dir.resume, &t->goes_on, &t->state, t->best, err));
    if (t->s->config.opt.init)
        og__say_without_effect(&t->s->config.log, "", "init", "resume", "",
                               "the run goes on with its own parameters");
    count_written(t, t->dir.resume); /* it does not tell of itself */
    return restore_files(t, err);
out:
    if (rc != -ENOENT)
        return rc;
    og__say(&t->s->config.log, OG__INFO, "%s: nothing to resume, starting anew", t->dir.path);
    return og__rundir_cut_metrics(&t->dir, 0, 0, err);
}

static int start_run(struct trainer *t, struct og_err *err)
{
    struct og_session *s = t->s;
    t->started = t->saved = og__now();
    t->goes_on =
        (struct og_resumable){&s->config.opt, s->facts.ds, &s->facts.schedule, s->learner.model};
    t->state.best_valid = -1;
    t->state.epochs = json_array();
    t->n_values = count_values(s);
    t->labels = og__alloc(s->budget, og__targets_bytes(&s->facts), "batches", err);
    int opened = og__scores_open(&t->scores, &s->facts, s->learner.model, s->budget, err);
    t->best = og__alloc(s->budget, t->n_values * sizeof(float), "model", err);
    if (!t->labels || !t->best || opened < 0)
        return -ENOMEM;
    int rc;
    if (s->config.opt.init)
        OG_TRY(og__checkpoint_load(s->config.opt.init, s->learner.model, err));
    if (s->config.opt.resume)
        OG_TRY(resume_run(t, err));
    og__session_count_prepared(s);
    OG_TRY(write_settings(t, err));
    if (!(t->log = og__rundir_metrics(&t->dir, s->config.opt.resume ? "a" : "w", err)))
        rc = -errno;
out:
    return rc;
}

static void end_run(struct trainer *t)
{
    struct og_session *s = t->s;
    if (t->log)
        fclose(t->log);
    og__release(s->budget, t->labels, og__targets_bytes(&s->facts), "batches");
    og__scores_close(&t->scores);
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
static int save_interrupted(struct trainer *t, struct og_err *err)
{
    clear(err);
    int rc = save(t, err);
    return rc < 0 ? rc : OG_INTERRUPTED;
}

/* All epochs are over. */
static int finish_training(struct trainer *t, char **summary, struct og_err *err)
{
    struct test_result test = {0};
    int rc;
    OG_TRY(save(t, err));
    OG_TRY(test_best(t, &test, err));
    OG_TRY(count_rest(t, err));
    OG_TRY(write_plan(t, err)); /* what a first superbatch predicted is known now */
    return write_summary(t, &test, summary, err);
out:
    json_decref(test.acc);
    json_decref(test.metrics);
    return rc;
}

static int run_training(struct trainer *t, char **summary, struct og_err *err)
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
static int train(struct trainer *t, char **summary, struct og_err *err)
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
    struct trainer t = {0};
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
