/* The files of a run, and what they say of it. */
#include "run/trainer.h"

#include "nn/tasks.h"
#include "options/options.h"
#include "run/plan_json.h"
#include "session/option_effects.h"

#include <stdlib.h>
#include <sys/stat.h>

const char og__lower_rate[] = "lower --lr, or look for extreme values with `outgrow verify`";

/* ---- parameters ---- */

/* A file of the run that is there now: written in the epoch at hand. */
static void count_written(struct og_trainer *t, const char *path)
{
    struct stat st;
    const struct og_home_io rows = og__learnt_io(t->learnt);
    t->state.counters.prepare_reads += rows.read.reads;
    t->state.counters.prepare_bytes_read += rows.read.bytes;
    t->state.counters.checkpoint_bytes_written += rows.written.bytes;
    if (stat(path, &st) == 0)
        t->state.counters.checkpoint_bytes_written += (uint64_t)st.st_size;
}

/* values: all parameters one after another; NULL = the model's */
static int write_params(struct og_trainer *t, const char *path, const float *values,
                        struct og_err *err)
{
    int rc;
    const struct og_workload *f = &t->s->workload;
    OG_TRY(og__checkpoint_write_rows(path, t->s->learner.model, &t->s->config.opt, values,
                                     t->learnt, f->graph, err));
    count_written(t, path);
out:
    return rc;
}

uint32_t og__run_epoch(const struct og_trainer *t)
{
    uint64_t item = t->state.next_item;
    return item > 0 ? og__schedule_at(&t->whole, item - 1).epoch : 0;
}

int og__run_check_params(const struct og_trainer *t, struct og_err *err)
{
    const char *name;
    int rc = og__model_undefined(t->s->learner.model, &name, err);
    if (rc < 0 || !name)
        return rc;
    return og__fail(err, -EDOM, og__lower_rate, "epoch %u: a value of %s is not a finite number",
                    og__run_epoch(t), name);
}

static int write_best(struct og_trainer *t, struct og_err *err)
{
    int rc;
    OG_TRY(og__learnt_begin_best(t->learnt, t->dir.best, err));
    OG_TRY(write_params(t, t->dir.best, t->best, err));
    OG_TRY(og__learnt_end_best(t->learnt, t->dir.best, err));
out:
    return rc;
}

/* ---- saving ---- */

/* Since the run began, what came before a resume included. */
static double run_seconds(const struct og_trainer *t)
{
    return t->state.seconds + og__now() - t->started;
}

/* Scores are not saved: a resumed run evaluates again from the first batch. */
static void rewind_evaluation(const struct og_trainer *t, struct og_train_state *state)
{
    if (!(og__scores_keep(&t->scores) || t->by_type.n > 0) || state->next_item == 0)
        return;
    struct og_descriptor last = og__schedule_at(&t->whole, state->next_item - 1);
    if (last.split == OG__TRAIN || last.last_of_epoch)
        return;
    state->next_item -= last.batch + 1;
    state->valid = (struct og_metrics){0};
    state->counters.eval_seconds = 0;
    state->counters.eval_bytes_read = 0;
}

static int flush_log(struct og_trainer *t, struct og_err *err)
{
    return !t->log || fflush(t->log) == 0
               ? 0
               : og__fail_errno(err, -errno, NULL, "%s: cannot write", t->dir.metrics);
}

/* Is the model of now the best epoch's? */
static bool is_best(const struct og_trainer *t)
{
    const uint64_t item = t->state.next_item;
    return t->state.best_epoch > 0 && t->state.best_epoch == og__run_epoch(t) &&
           og__schedule_at(&t->whole, item - 1).last_of_epoch;
}

/* Rows outside of the model are in files of the run at every checkpoint. This one has a copy of
 * them, so it is written when the run ends; or it is another name of a file that has the same. */
static int write_last(struct og_trainer *t, struct og_err *err)
{
    if (t->learnt && !t->ends)
        return 0;
    if (t->learnt && is_best(t) && og__file_link(t->dir.best, t->dir.checkpoint) == 0)
        return 0;
    return write_params(t, t->dir.checkpoint, NULL, err);
}

/* Self-contained first, then the parameters alone: a kill between the two loses nothing. */
static int write_checkpoint(struct og_trainer *t, struct og_err *err)
{
    struct og_train_state state = t->state;
    int rc;
    state.seconds = run_seconds(t);
    rewind_evaluation(t, &state);
    og__ranks_write(t->ranks, true);
    OG_TRY(flush_log(t, err));
    OG_TRY(og__resume_write(t->dir.resume, &t->goes_on, &state, t->best, err));
    count_written(t, t->dir.resume);
    OG_TRY(write_last(t, err));
out:
    og__ranks_write(t->ranks, false);
    return rc;
}

/* What diverged is not put in the place of what had not. */
int og__run_save(struct og_trainer *t, struct og_err *err)
{
    int rc = og__run_check_params(t, err);
    rc = rc < 0 ? rc : t->files->save(t, err);
    t->saved = og__now();
    return rc;
}

static int write_plan(struct og_trainer *t, struct og_err *err)
{
    return og__json_deliver(og__session_plan_json(t->s), t->dir.plan, NULL, err);
}

/* The plan first: by it a run's folder is recognised (rundir.h). */
static int begin_files(struct og_trainer *t, struct og_err *err)
{
    const struct og_options *opt = &t->s->config.opt;
    OG_DO(write_plan(t, err));
    OG_DO(og__options_write_yaml(opt, t->dir.config, err));
    t->log = og__rundir_metrics(&t->dir, opt->resume ? "a" : "w", err);
    return t->log ? 0 : -errno;
}

/* Restores the run's other files to the position in resume.safetensors. It was written first, and
 * the process may have ended between any two of them, or long after. */
static int restore_files(struct og_trainer *t, struct og_err *err)
{
    const struct og_schedule *schedule = &t->whole;
    int rc = 0;
    if (!t->learnt)
        OG_TRY(write_params(t, t->dir.checkpoint, NULL, err));
    if (t->state.best_epoch)
        OG_TRY(t->learnt ? og__learnt_find_best(t->learnt, t->dir.best, err) : write_best(t, err));
    if (t->state.next_item >= og__schedule_items(schedule))
        return rc;
    struct og_descriptor descriptor = og__schedule_at(schedule, t->state.next_item);
    uint32_t batch = descriptor.split == OG__TRAIN ? descriptor.batch + 1 : UINT32_MAX;
    return og__rundir_cut_metrics(&t->dir, descriptor.epoch, batch, err);
out:
    return rc;
}

static int restore(struct og_trainer *t, struct og_err *err)
{
    count_written(t, t->dir.resume); /* it does not contain itself */
    return restore_files(t, err);
}

/* A run that ended before it saved anything begins again with its own options. Others would replace
 * its best model by that of another run. */
static int check_options(const struct og_trainer *t, struct og_err *err)
{
    struct og_options theirs;
    json_t *numbers = NULL;
    int rc = og__exists(NULL, t->dir.config, err);
    if (rc <= 0)
        return rc;
    og__options_init(&theirs);
    rc = og_options_load(&theirs, t->dir.config, NULL);
    if (rc < 0) { /* not a run's: it decides nothing */
        rc = rc == -ENOMEM ? og__fail_errno(err, rc, NULL, "%s", t->dir.config) : 0;
        goto out;
    }
    og__fanout_resolve(&theirs);
    numbers = og__options_deciding(&theirs, OG_DECIDES_NUMBERS);
    OG_TRY(numbers ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", t->dir.config));
    OG_TRY(og__resume_match(&t->s->config.opt, numbers, t->dir.path, err));
out:
    og__options_release(&theirs);
    json_decref(numbers);
    return rc;
}

static int start_anew(struct og_trainer *t, struct og_err *err)
{
    OG_DO(check_options(t, err));
    og__say(&t->s->config.log, OG__INFO, "%s: nothing to resume, starting a new run", t->dir.path);
    return og__rundir_cut_metrics(&t->dir, 0, 0, err);
}

int og__run_resume(struct og_trainer *t, struct og_err *err)
{
    char *path = og__path_join(t->dir.path, "resume.safetensors"); /* ranks above 0 have no other */
    int rc = path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", t->dir.path);
    if (rc < 0)
        return rc;
    rc = og__resume_read(path, &t->goes_on, &t->state, t->best, err);
    free(path);
    if (rc < 0)
        return rc == -ENOENT ? t->files->anew(t, err) : rc;
    if (t->s->config.opt.init)
        og__log_without_effect(&t->s->config.log, "", "init", "resume", "",
                               "the run continues with its own parameters");
    return t->files->restore(t, err);
}

/* ---- figures ---- */

static int log_line(struct og_trainer *t, const char *text, struct og_err *err)
{
    if (!t->log) /* a rank above 0 */
        return 0;
    bool written = fprintf(t->log, "%s\n", text) > 0;
    return written ? 0 : og__fail_errno(err, -EIO, NULL, "%s: cannot write", t->dir.metrics);
}

int og__run_log_epoch(struct og_trainer *t, const char *row, struct og_err *err)
{
    int rc = log_line(t, row, err);
    return rc < 0 ? rc : flush_log(t, err);
}

int og__run_log(struct og_trainer *t, const struct og_descriptor *d,
                const struct og_rank_report *report, struct og_err *err)
{
    int every = t->s->config.opt.log_every;
    const struct og_epoch_counters *c = &report->counters;
    if (every == 0 || !t->log || (d->batch + 1) % (uint32_t)every)
        return 0;
    json_t *line = json_pack("{s:i s:i s:f s:I s:I s:I s:f}", "epoch", (int)d->epoch, "batch",
                             (int)d->batch + 1, "loss", og__metrics_loss(&report->metrics), "rows",
                             (json_int_t)c->rows, "misses", (json_int_t)c->misses, "bytes_read",
                             (json_int_t)c->feature_bytes_read, "seconds", run_seconds(t));
    char *text = og__json_print(line, JSON_REAL_PRECISION(17));
    json_decref(line);
    if (!text)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", t->dir.metrics);
    int rc = log_line(t, text, err);
    free(text);
    return rc;
}

json_t *og__run_epoch_json(const struct og_trainer *t, uint32_t epoch)
{
    const struct og_train_state *state = &t->state;
    bool evaluated = og__schedule_evaluates(&t->whole, epoch);
    const struct og_model_config *shape = &t->s->workload.shape;
    json_t *row =
        json_pack("{s:i s:f s:s s:f}", "epoch", (int)epoch, "loss", og__metrics_loss(&state->train),
                  "metric", og__best_words[og__task_of(shape)->best], "train_acc",
                  og__metrics_acc(&state->train, shape));
    row = og__json_with(row, "lr",
                        og__json_real(og__rate_at(&t->watch.rate, state->steps - 1, epoch - 1)));
    row = og__json_with(row, "valid_acc",
                        evaluated ? og__json_real(og__scores_chief(&t->scores, &state->valid))
                                  : json_null());
    row = og__json_with(row, "valid_metrics",
                        evaluated ? og__scores_json(&t->scores, &state->valid) : json_null());
    if (t->by_type.n > 0)
        row = og__json_with(row, "valid_types",
                            evaluated ? og__type_scores_json(&t->by_type) : json_null());
    row = og__tier_counters_json(&state->tiers, og__epoch_counters_json(&state->counters, row));
    return og__ranks_with_sent(t->ranks, row);
}

static json_t *mean_json(double seconds, uint64_t n)
{
    return n > 0 ? json_real(seconds / (double)n) : json_null();
}

/* As the best epoch's row has it. */
static json_t *of_best(const struct og_train_state *state, const char *key)
{
    json_t *value = json_object_get(og__train_state_best(state), key);
    return value ? json_incref(value) : json_null();
}

/* By which figure it was chosen. */
static const char *best_by(const struct og_trainer *t)
{
    return og__best_words[og__best_of(&t->s->workload.shape, t->s->config.opt.best_by)];
}

static json_t *best_value(const struct og_trainer *t)
{
    const json_t *metrics = json_object_get(og__train_state_best(&t->state), "valid_metrics");
    json_t *value = json_object_get(metrics, best_by(t));
    return value ? json_incref(value) : json_null();
}

/* What each executor did, in this process; null where the model itself trains. */
static json_t *executors_json(const struct og_trainer *t)
{
    struct og_trainers_did all;
    json_t *list = json_array();
    struct og_executor_did sampling = {0};
    struct og_executor_did training = {0};
    struct og_executor_did standing_in = {0};
    if (!t->trainers) {
        json_decref(list);
        return json_null();
    }
    og__trainers_tell(t->trainers, &all);
    for (int i = 0; i < all.samplers + all.trainers; i++) {
        const struct og_executor_did *d = &all.did[i];
        const bool samples = i < all.samplers;
        struct og_executor_did *of = samples ? &standing_in : &training;
        sampling.sampled += d->sampled;
        sampling.sample_seconds += d->sample_seconds;
        of->trained += d->trained;
        of->train_seconds += d->train_seconds;
        list = og__json_append(
            list, json_pack("{s:s s:i s:I s:I s:f s:f}", "role", samples ? "sampler" : "trainer",
                            "device", d->device, "sampled", (json_int_t)d->sampled, "trained",
                            (json_int_t)d->trained, "sample_seconds", d->sample_seconds,
                            "train_seconds", d->train_seconds));
    }
    return json_pack("{s:i s:i s:o s:o s:o s:I s:o}", "samplers", all.samplers, "trainers",
                     all.trainers, "sample_seconds_each",
                     mean_json(sampling.sample_seconds, sampling.sampled), "train_seconds_each",
                     mean_json(training.train_seconds, training.trained), "standby_seconds_each",
                     mean_json(standing_in.train_seconds, standing_in.trained), "switched",
                     (json_int_t)standing_in.trained, "each", list);
}

/* Which transport gradients take between workers; null where they go nowhere. */
static json_t *gradients_json(const struct og_trainer *t)
{
    const char *word = t->shares.transport->word;
    return word ? json_string(word) : json_null();
}

static int write_summary(struct og_trainer *t, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_train_state *state = &t->state;
    json_t *root = json_pack(
        "{s:s s:s s:s s:I s:o s:I s:o s:o s:O s:i s:s s:o s:s s:o s:o s:o s:o s:o s:o s:o s:I s:I "
        "s:I s:s s:f s:o s:o s:o}",
        "version", og_version(), "dataset", s->workload.graph->name, "run", t->dir.path,
        "parameters",
        (json_int_t)(og__model_trained(og__model_config(s->learner.model)) +
                     og__learnt_trained(t->learnt)),
        "config", og__options_json(&s->config.opt), "seed", (json_int_t)s->config.opt.seed, "plan",
        og__session_plan_json(s), "prepare", og__prepare_counters_json(&s->prepare), "epochs",
        state->epochs, "stopped_epoch", (int)og__run_epoch(t), "stopped_by",
        t->stopped ? "patience" : "epochs", "best_epoch",
        state->best_epoch ? json_integer(state->best_epoch) : json_null(), "best_by", best_by(t),
        "best_value", best_value(t), "valid_acc", of_best(state, "valid_acc"), "test_acc",
        t->test.acc, "valid_metrics", of_best(state, "valid_metrics"), "test_metrics",
        t->test.metrics, "test_classes", t->test.classes, "test_confusion", t->test.confusion,
        "peak_rss_bytes", (json_int_t)og__session_peak_rss(s), "baseline_rss_bytes",
        (json_int_t)s->baseline_rss, "memory_budget_bytes", (json_int_t)s->memory.limit, "io",
        s->path.rows.ops->engine(s->path.rows.self), "seconds", run_seconds(t), "executors",
        executors_json(t), "workers", og__ranks_json(t->ranks), "gradients", gradients_json(t));
    root = og__json_with(root, "valid_types", of_best(state, "valid_types"));
    root = og__json_with(root, "test_types", t->test.types);
    t->test = (struct og_test_result){0};
    root = og__json_with(root, "dataset_path", og__json_text(s->workload.graph->path));
    root = og__json_with(root, "requested", og__options_requested(t->requested));
    return og__json_deliver(root, t->dir.summary, t->summary, err);
}

/* From here on it ends by itself. What a first superbatch predicted is known now. */
static int end_files(struct og_trainer *t, struct og_err *err)
{
    og__ranks_write(t->ranks, true);
    const int rc = write_plan(t, err);
    return rc < 0 ? rc : write_summary(t, err);
}

/* ---- who writes them ---- */

static int check_folder(struct og_trainer *t, struct og_err *err)
{
    return og__rundir_check(t->requested->run, t->requested->resume, t->requested->init, err);
}

static int open_folder(struct og_trainer *t, struct og_err *err)
{
    return og__rundir_open(&t->dir, t->requested->run, t->requested->resume, err);
}

static const struct og_run_files written = {.check = check_folder,
                                            .open = open_folder,
                                            .begin = begin_files,
                                            .restore = restore,
                                            .anew = start_anew,
                                            .best = write_best,
                                            .save = write_checkpoint,
                                            .end = end_files};

/* ---- who follows ---- */

static int nothing(struct og_trainer *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static const struct og_run_files followed = {.check = nothing,
                                             .open = nothing,
                                             .begin = nothing,
                                             .restore = nothing,
                                             .anew = nothing,
                                             .best = nothing,
                                             .save = nothing,
                                             .end = nothing};

const struct og_run_files *og__run_files(const struct og_ranks *r)
{
    return r->comm->rank == 0 ? &written : &followed;
}
