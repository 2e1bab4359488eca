/* og_train: the sink that trains, the test of the best model, the run; alone or as a rank. */
#include "base/file.h"
#include "base/scratch.h"
#include "base/sized.h"
#include "flow/count_work.h"
#include "flow/exchange.h"
#include "learn/targets.h"
#include "lookahead/lookahead.h"
#include "options/options.h"
#include "run/rounds.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows of other ranks ---- */

static int agree(void *arg, int rc, struct og_err *err)
{
    const struct og_trainer *t = arg;
    return og__ranks_agree(t->ranks, rc, err);
}

/* Batches of the run, or of the test, are next; items of all ranks. */
static void start_rounds(struct og_trainer *t, enum og__split pass, uint64_t first, uint64_t last)
{
    og__rounds_start(t);
    if (t->s->path.exchange)
        og__exchange_start(t->s->path.exchange, pass, first, last);
}

/* ---- a mini-batch ---- */

static int take_part(struct og_trainer *t, const struct og_part *part, struct og_err *err)
{
    struct og_rank_report report = {.what = OG__HAS_PART, .metrics = part->metrics};
    og__count_work(&report.counters, part->work);
    og__count_tiers(&report.tiers, part->work);
    report.counters.train_seconds = part->seconds;
    return og__round_take(t, &report, part->model, err);
}

/* The oldest round that has begun, of which this rank's mini-batch, if it has one, is a trainer's.
 */
static int take_next(struct og_trainer *t, struct og_err *err)
{
    struct og_rank_report none = {.what = OG__HAS_NONE};
    struct og_part part;
    if (!og__round_has_own(t))
        return og__round_take(t, &none, NULL, err);
    OG_DO(og__trainers_take(t->trainers, &part, err));
    return take_part(t, &part, err);
}

static int begin_next(struct og_trainer *t, struct og_err *err)
{
    while (og__round_waits(t))
        OG_DO(take_next(t, err));
    return og__round_begin(t, err);
}

/* Rounds that end before an item does, in which this rank has none, and what is before them. */
static int begin_before(struct og_trainer *t, uint64_t item, struct og_err *err)
{
    while (og__round_before(t, item))
        OG_DO(begin_next(t, err));
    return 0;
}

static int begin_own(struct og_trainer *t, const struct og_work *w, struct og_err *err)
{
    const int rc = begin_before(t, og__round_item(t, &w->descriptor), err);
    return rc < 0 ? rc : begin_next(t, err);
}

/* All that has begun is taken in: the run stands between two rounds. */
static int take_rest(struct og_trainer *t, struct og_err *err)
{
    int rc = 0;
    while (t->under_way > 0)
        OG_TRY(take_next(t, err));
out:
    return rc;
}

/* Until that item of the whole run, or test. */
static int pass_rounds(void *arg, uint64_t item, struct og_err *err)
{
    const int rc = begin_before(arg, item, err);
    return rc < 0 ? rc : take_rest(arg, err);
}

/* By the model itself. */
static int train_batch(struct og_trainer *t, struct og_work *w, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_step key = {(uint64_t)s->config.opt.seed, w->descriptor.epoch,
                                w->descriptor.batch};
    struct og_part part = {.work = w, .model = s->learner.model};
    OG_DO(begin_own(t, w, err));
    const double start = og__now();
    t->steps.places = &w->places;
    OG_DO(og__steps_part(&t->steps, &w->sampled.batch, w->rows,
                         og__learner_view(s->learner.edges, &s->workload, w->rows),
                         og__work_targets(&s->workload, w, t->labels), &key, &part.metrics, err));
    part.seconds = og__now() - start;
    return take_part(t, &part, err);
}

/* ---- by trainers ---- */

/* Rounds that trainers may have when another one begins. Where ranks meet when one does that is for
 * all of them to agree on (compare_beginnings), and there is a trainer for each. */
static int rounds_at_trainers(const struct og_trainer *t)
{
    const struct og_trainers_setup setup = og__trainers_setup(&t->s->config.opt);
    if (!t->trainers)
        return 0;
    return t->s->path.exchange ? OG_MAX(setup.n, 1) - 1 : OG__MOST_TRAINERS;
}

static int give_batch(struct og_trainer *t, const struct og_work *w, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_descriptor *d = &w->descriptor;
    const uint64_t left =
        og__schedule_batches(&s->workload.schedule, OG__TRAIN) - d->batch / og__rounds_ranks(t);
    int one;
    OG_DO(begin_own(t, w, err));
    while ((one = og__trainers_pick(t->trainers, OG_MIN(w->behind + 1, left),
                                    og__device_rows_keeper(s->path.device_rows, w))) < 0)
        OG_DO(take_next(t, err));
    return og__trainers_give(t->trainers, one, w, &t->steps, og__rounds_behind(t, d), s->pool, err);
}

/* ---- evaluation ---- */

static int evaluate_batch(struct og_trainer *t, struct og_work *w, struct og_err *err)
{
    const void *targets = og__work_targets(&t->s->workload, w, t->labels);
    struct og_rank_report report = {.what = OG__HAS_PART};
    OG_DO(begin_own(t, w, err));
    OG_DO(og__model_forward(t->s->learner.model, &w->sampled.batch, w->rows,
                            og__learner_view(t->s->learner.edges, &t->s->workload, w->rows),
                            targets, &report.metrics, err));
    OG_DO(og__scores_add(&t->scores, w->sampled.batch.n_seeds, targets, err));
    OG_DO(og__type_scores_add(&t->by_type, w, targets, err));
    og__count_evaluated(&report.counters, w);
    return og__round_take(t, &report, NULL, err);
}

/* ---- the run's consumer ---- */

/* Or of the batches that were prepared together. */
static uint64_t epoch_end(const struct og_trainer *t, uint32_t epoch)
{
    const uint64_t end = og__schedule_start(&t->whole, epoch + 1);
    const struct og_exchange *x = t->s->path.exchange;
    return x ? OG_MIN(end, og__exchange_limit(x)) : end;
}

static int train_sink(void *arg, struct og_work *w, struct og_err *err)
{
    struct og_trainer *t = arg;
    int rc;
    if (w->descriptor.split != OG__TRAIN)
        OG_TRY(evaluate_batch(t, w, err));
    else
        OG_TRY(t->trainers ? give_batch(t, w, err) : train_batch(t, w, err));
    if (w->descriptor.last_of_epoch)
        OG_TRY(pass_rounds(t, epoch_end(t, w->descriptor.epoch), err));
out:
    return rc;
}

/* ---- the best model on the test nodes ---- */

static int test_sink(void *arg, struct og_work *w, struct og_err *err)
{
    return evaluate_batch(arg, w, err);
}

/* Counts the test, and the checkpoint after it, with the last epoch. So the rows of a summary add
 * up to all that was read and written. */
static int count_rest(struct og_trainer *t, struct og_err *err)
{
    json_t *epochs = t->state.epochs;
    json_t *last = json_array_get(epochs, json_array_size(epochs) - 1);
    struct og_epoch_counters sum;
    if (!last)
        return 0;
    og__epoch_counters_parse(&sum, last);
    og__epoch_counters_add(&sum, &t->state.counters);
    if (t->learnt) {
        const struct og_io_counts last_rows = og__gather_written(t->s->path.gather);
        sum.row_writes += last_rows.reads;
        sum.row_bytes_written += last_rows.bytes;
    }
    json_t *report = og__epoch_counters_json(&sum, json_incref(last));
    json_decref(report);
    return report ? 0 : og__fail_errno(err, -ENOMEM, NULL, "figures of the last epoch");
}

static int test_best(struct og_trainer *t, struct og_err *err)
{
    struct og_session *s = t->s;
    t->test =
        (struct og_test_result){json_null(), json_null(), json_null(), json_null(), json_null()};
    if (s->workload.split[OG__TEST].n == 0)
        return 0;
    int rc = t->state.best_epoch ? og__model_push_values(s->learner.model, t->best, err) : 0;
    if (rc == 0)
        rc = og__learnt_use(t->learnt, t->state.best_epoch ? t->dir.best : NULL, err);
    if (rc < 0)
        return rc;
    t->state.valid = (struct og_metrics){0};
    og__scores_clear(&t->scores);
    og__type_scores_clear(&t->by_type);
    double start = og__now();
    t->testing = true;
    start_rounds(t, OG__TEST, 0, og__schedule_batches(&t->whole, OG__TEST));
    rc = og__run_batches(&s->path, OG__TEST, 0,
                         og__schedule_batches(&s->workload.schedule, OG__TEST), test_sink, t, err);
    if (rc == 0)
        rc = pass_rounds(t, og__schedule_batches(&t->whole, OG__TEST), err);
    if (rc < 0)
        return rc;
    og__scores_rank(&t->scores);
    og__type_scores_rank(&t->by_type);
    t->test.acc = og__json_real(og__scores_chief(&t->scores, &t->state.valid));
    t->test.metrics = og__scores_json(&t->scores, &t->state.valid);
    t->test.types = og__type_scores_json(&t->by_type);
    t->test.classes = og__scores_classes_json(&t->scores, s->workload.graph->meta);
    t->test.confusion = og__scores_confusion_json(&t->scores);
    t->state.counters.eval_seconds = og__now() - start;
    return 0;
}

/* ---- the run ---- */

static int open_exchange(struct og_trainer *t, struct og_err *err)
{
    const struct og_exchange_with with = {t->ranks->comm, agree, pass_rounds, t};
    return og__exchange_open(&t->s->path, &with, err);
}

/* Parameters to begin with. What they know of other classes and columns is a warning here. */
static int load_init(struct og_trainer *t, struct og_err *err)
{
    const struct og_session *s = t->s;
    const struct og_workload *f = &s->workload;
    struct og_err why = {0};
    int rc;
    OG_TRY(s->config.opt.resume && t->dir.resume ? og__exists(NULL, t->dir.resume, err) : 0);
    OG_TRY(og__checkpoint_load_rows(s->config.opt.init, s->learner.model, rc > 0 ? NULL : t->learnt,
                                    err));
    OG_TRY(og__checkpoint_other_classes(s->config.opt.init, og__class_names(f->graph, &f->shape),
                                        &s->config.log, err));
    if (og__checkpoint_columns(s->config.opt.init, f->graph, &s->config.log, &why) < 0)
        og__say(&s->config.log, OG__WARN, "%s", why.message);
out:
    return rc;
}

static int start_run(struct og_trainer *t, struct og_err *err)
{
    struct og_session *s = t->s;
    const struct og_trainers_setup setup = og__trainers_setup(&s->config.opt);
    t->started = s->opened;
    t->saved = og__now();
    t->whole = og__schedule_whole(&s->workload.schedule);
    t->goes_on =
        (struct og_resumable){&s->config.opt,   s->workload.graph, &t->whole,
                              s->learner.model, &t->steps,         &s->workload.split[OG__TRAIN]};
    t->state.epochs = json_array();
    t->n_values = og__model_values(s->learner.model);
    t->labels = og__alloc(s->budget, og__targets_bytes(&s->workload), "batches", err);
    int opened = og__scores_open(&t->scores, &s->workload.shape, s->learner.model,
                                 og__held_out_items(&s->workload), s->budget, err);
    t->best = og__alloc(s->budget, t->n_values * sizeof(float), "model", err);
    if (!t->labels || !t->best || opened < 0)
        return -ENOMEM;
    OG_DO(og__type_scores_open(&t->by_type, &s->workload, s->learner.model, t->ranks->comm->n,
                               t->ranks->comm->rank, s->budget, err));
    if (s->config.stores_rows)
        OG_DO(og__learnt_open(&t->learnt, &s->workload, &s->config.opt, s->path.gather, t->dir.path,
                              s->budget, err));
    if (s->config.opt.init)
        OG_DO(load_init(t, err));
    OG_DO(og__steps_open(&t->steps, s->learner.model, &s->config.opt, s->budget, err));
    t->steps.learnt = t->learnt;
    OG_DO(og__shares_open(&t->shares, t->ranks->comm, &t->steps, s->learner.ops, &s->config.log,
                          s->budget, err));
    if (og__exchanges(&s->config))
        OG_DO(open_exchange(t, err));
    if (s->config.opt.resume)
        OG_DO(og__run_resume(t, err));
    og__watch_begin(&t->watch, &s->config.opt, &s->workload.shape, t->state.epochs);
    OG_DO(t->shares.transport->resume(&t->shares, err));
    if (og__trainers_all(&setup) > 0) {
        OG_DO(og__trainers_open(&t->trainers, &s->learner, &s->workload, &setup,
                                s->path.device_rows, og__device_plan(&s->given).of_trainer,
                                s->budget, err));
        s->path.idle_hooks = og__trainers_idle_hooks(t->trainers);
    }
    t->behind_most = rounds_at_trainers(t);
    og__session_count_prepared(s);
    return t->files->begin(t, err);
}

static void end_run(struct og_trainer *t)
{
    struct og_session *s = t->s;
    if (t->log)
        fclose(t->log);
    og__release(s->budget, t->labels, og__targets_bytes(&s->workload), "batches");
    s->path.idle_hooks = NULL;
    og__trainers_close(t->trainers);
    og__scores_close(&t->scores);
    og__type_scores_close(&t->by_type);
    og__shares_close(&t->shares);
    og__steps_close(&t->steps);
    og__learnt_close(t->learnt);
    og__release(s->budget, t->best, t->n_values * sizeof(float), "model");
    json_decref(t->state.epochs);
    json_decref(t->test.acc);
    json_decref(t->test.metrics);
    json_decref(t->test.types);
    json_decref(t->test.classes);
    json_decref(t->test.confusion);
}

/* What was said gives way to what is said next. */
static void clear(struct og_err *err)
{
    if (err)
        *err = (struct og_err){0};
}

/* Keeps what an interrupted run has done so far, if it can be. That is the rounds that were taken
 * in, for ranks have nothing else in common. */
static int save_interrupted(struct og_trainer *t, struct og_err *err)
{
    int rc = 0;
    clear(err);
    t->ends = true;
    if (t->state.weight > 0)
        OG_TRY(t->shares.transport->sum(&t->shares, true, err));
    OG_TRY(og__run_save(t, err));
out:
    rc = og__ranks_agree(t->ranks, rc, err);
    return rc < 0 ? rc : OG_INTERRUPTED;
}

static int save_and_test(struct og_trainer *t, struct og_err *err)
{
    int rc;
    OG_TRY(take_rest(t, err));
    t->ends = true;
    OG_TRY(og__run_save(t, err));
    OG_TRY(test_best(t, err));
    OG_TRY(count_rest(t, err));
out:
    return rc;
}

/* All epochs are over, or no more are trained. */
static int finish_training(struct og_trainer *t, struct og_err *err)
{
    int rc = save_and_test(t, err);
    OG_TRY(og__ranks_agree(t->ranks, rc, err));
    OG_TRY(og__ranks_introduce(t->ranks, og__session_peak_rss(t->s), err));
    OG_TRY(t->files->end(t, err));
out:
    return rc;
}

/* Between two epochs; one that has begun is trained to its end. */
static bool has_stopped(const struct og_trainer *t)
{
    const struct og_options *opt = &t->s->config.opt;
    const uint64_t item = t->state.next_item;
    const bool between = item < og__schedule_items(&t->whole) &&
                         og__schedule_at(&t->whole, item).batch == 0 &&
                         og__schedule_at(&t->whole, item).split == OG__TRAIN;
    return between && opt->patience > 0 && t->watch.without >= opt->patience;
}

static int run_stretch(struct og_trainer *t, uint64_t last, struct og_err *err)
{
    const struct og_schedule *own = &t->s->workload.schedule;
    const uint64_t first = t->state.next_item;
    start_rounds(t, OG__SPLITS, first, last);
    const int rc = og__run_batches(&t->s->path, OG__SPLITS, og__share_item(own, first),
                                   og__share_item(own, last), train_sink, t, err);
    return rc < 0 ? rc : pass_rounds(t, last, err);
}

static int run_training(struct og_trainer *t, struct og_err *err)
{
    int rc = 0;
    t->lap = og__now();
    while (rc == 0 && t->state.next_item < og__schedule_items(&t->whole) &&
           !(t->stopped = has_stopped(t)))
        rc = run_stretch(t, og__schedule_stretch(&t->whole, t->state.next_item), err);
    if (t->stopped)
        og__say(&t->s->config.log, OG__INFO,
                "stopped after epoch %u: %s has not improved for %d validation%s", og__run_epoch(t),
                og__best_words[t->watch.figure], t->watch.without, t->watch.without > 1 ? "s" : "");
    if (rc < 0)
        rc = og__ranks_agree(t->ranks, rc, err);
    if (rc == OG_INTERRUPTED)
        rc = save_interrupted(t, err);
    else if (rc == 0)
        rc = finish_training(t, err);
    if (rc == OG_INTERRUPTED) {
        clear(err);
        og__fail(err, rc, "go on with --resume", "interrupted");
    }
    return rc;
}

static int compare_beginnings(struct og_trainer *t, struct og_err *err)
{
    struct og_beginning own = {.next_item = t->state.next_item,
                               .contents = t->s->workload.graph->identity.contents,
                               .structure = t->s->structure.topology.shared.of != NULL,
                               .features = t->s->memory.whole,
                               .exchanges = t->s->path.exchange != NULL,
                               .ahead = t->s->path.exchange && og__samples_ahead(&t->s->exec),
                               .behind_most = t->behind_most};
    int rc = og__resume_numbers(&t->goes_on, &own.numbers, err);
    OG_TRY(og__ranks_agree(t->ranks, rc, err));
    OG_TRY(og__ranks_compare(t->ranks, &own, err));
    if (t->s->path.exchange)
        t->behind_most = own.behind_most;
out:
    return rc;
}

/* From what the folder holds to what it will hold. */
static int train(struct og_trainer *t, struct og_err *err)
{
    struct og_timeline **timeline = &t->s->path.timeline;
    int rc;
    OG_TRY(og__ranks_agree(t->ranks, start_run(t, err), err));
    OG_TRY(compare_beginnings(t, err));
    rc = run_training(t, err);
    const int closed = og__timeline_close(*timeline, rc < 0 ? NULL : err); /* what failed has one */
    *timeline = NULL;
    rc = rc < 0 ? rc : closed;
out:
    end_run(t);
    return og__ranks_agree(t->ranks, rc, err); /* nobody leaves before the files are written */
}

/* ---- opening ---- */

/* The session, with this rank's share of the batches. follows: another rank chose its layout. */
static int open_session(struct og_trainer *t, const char *dataset, const struct og_options *opt,
                        bool follows, const struct og_observer *observer, struct og_err *err)
{
    const struct og_session_use use = {.want =
                                           OG__WANT_FEATURES | OG__WANT_MODEL | OG__WANT_TRAINING,
                                       .share = og__ranks_share(t->ranks),
                                       .n_local = t->ranks->comm->n_local,
                                       .cpus = t->ranks->cpus,
                                       .shared_memory = t->ranks->shared_memory,
                                       .layout_open = follows};
    const int rc = t->files->check(t, err);
    return rc < 0 ? rc : og__session_open_for(&t->s, dataset, opt, &use, observer, err);
}

/* What rank 0 was left to choose. */
struct chosen {
    int32_t there; /* else it failed, and says so when all meet */
    int32_t policy, layout, topology, alternate;
};

/* As rank 0 chose. Where memory has no room for that a rank chooses differently, as bits do not
 * depend on it; with exchanged rows it chooses only the topology's place. */
static int open_as_chosen(struct og_trainer *t, const char *dataset, const struct og_options *opt,
                          const struct chosen *by, const struct og_observer *observer,
                          struct og_err *err)
{
    const bool open = opt->layout == OG_LAYOUT_AUTO;
    struct og_options own;
    int rc = og__options_copy(&own, opt, err);
    if (rc < 0)
        return rc;
    own.policy = by->policy;
    own.layout = by->layout; /* raw where all rows fit, whatever was given */
    if (own.topology == OG_TOPOLOGY_AUTO)
        own.topology = by->topology;
    own.alternate = by->alternate;
    rc = open_session(t, dataset, &own, open, observer, err);
    if (rc == -ENOMEM) {
        clear(err);
        own.topology = opt->topology;
        rc = open_session(t, dataset, opt->exchange ? &own : opt, open, observer, err);
    }
    og__options_release(&own);
    return rc;
}

/* By default rank 0 chooses the policy first, by its measured times, and the others do the same.
 * All receive it, whatever their options. */
static int open_sessions(struct og_trainer *t, const char *dataset, const struct og_options *opt,
                         const struct og_observer *observer, struct og_err *err)
{
    const bool first = t->ranks->comm->rank == 0;
    const bool follows = !first && og__options_leave_policy(opt);
    struct chosen by = {0};
    int rc = follows ? 0 : open_session(t, dataset, opt, false, observer, err);
    if (first && rc == 0) {
        const struct og_options *own = &t->s->config.opt;
        by = (struct chosen){true, own->policy, own->layout, own->topology, own->alternate};
    }
    const int heard = og__ranks_hear(t->ranks, &by, sizeof(by), rc == 0 ? err : NULL);
    if (rc == 0)
        rc = heard;
    if (follows && heard == 0 && by.there)
        rc = open_as_chosen(t, dataset, opt, &by, observer, err);
    return og__ranks_agree(t->ranks, rc, err);
}

/* The folder is rank 0's; others know its name, and keep what they say in it. */
static int open_folder(struct og_trainer *t, struct og_err *err)
{
    char path[4096] = "";
    int rc = t->files->open(t, err);
    OG_TRY(og__ranks_agree(t->ranks, rc, err));
    snprintf(path, sizeof(path), "%s", t->dir.path ? t->dir.path : "");
    OG_TRY(og__ranks_name(t->ranks, path, sizeof(path), err));
    if (t->dir.path) /* it has made it */
        return 0;
    t->dir.path = strdup(path);
    OG_TRY(t->dir.path ? og__make_dirs(path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(og__ranks_log(t->ranks, path, err));
out:
    return rc;
}

/* With the timeline of a run that never began. */
static void close_session(struct og_trainer *t)
{
    if (!t->s)
        return;
    og__timeline_discard(t->s->path.timeline);
    t->s->path.timeline = NULL;
    og__session_close(t->s);
}

static int train_rank(struct og_trainer *t, const char *dataset, const struct og_options *opt,
                      const struct og_observer *observer, struct og_err *err)
{
    t->requested = opt;
    int rc = open_sessions(t, dataset, opt, observer, err);
    if (rc < 0) {
        close_session(t); /* another rank's failed */
        return rc;
    }
    /* after the session: a refusal leaves no folder */
    OG_TRY(open_folder(t, err));
    if (!t->s->config.opt.scratch)
        OG_TRY(og__stores_name(&t->s->path.stores, OG__ONE_PLACE(t->dir.path), err));
    OG_TRY(train(t, err));
out:
    if (rc < 0 && rc != OG_INTERRUPTED)
        rc = og__ranks_agree(t->ranks, rc, err);
    close_session(t); /* its scratch is in the run's folder */
    if (rc < 0 && rc != OG_INTERRUPTED && t->dir.lock > 0 && !opt->resume &&
        t->state.next_item == 0)
        og__rundir_abandon(&t->dir);
    else
        og__rundir_close(&t->dir);
    return rc;
}

/* Defaults that follow from how many ranks and epochs there are stay as the run was begun with. A
 * rank above 0 says what it has to say in a file of its own. */
static int train_among(struct og_trainer *t, const char *dataset, const struct og_options *opt,
                       const struct og_observer *observer, struct og_err *err)
{
    struct og_options own;
    struct og_observer said;
    int rc = og__options_copy(&own, opt, err);
    if (rc < 0)
        return rc;
    if (opt->resume && opt->run)
        rc = og__resume_defaults(opt->run, og__rounds_ranks(t) > 1, &own, err);
    OG_TRY(og__ranks_agree(t->ranks, rc, err));
    if (t->ranks->comm->rank > 0) {
        og__ranks_listen(t->ranks, &said, observer);
        observer = &said;
        free(own.trace_timeline);
        own.trace_timeline = NULL;
    }
    OG_TRY(train_rank(t, dataset, &own, observer, err));
out:
    t->requested = NULL;
    og__options_release(&own);
    return rc;
}

int og_train(const char *dataset, const struct og_options *opt, const struct og_observer *observer,
             char **summary, struct og_err *err)
{
    struct og_trainer t = {.summary = summary};
    struct og_err why = {0}; /* others get it */
    if (summary)
        *summary = NULL;
    if (!err)
        err = &why;
    int rc = OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    rc = og__ranks_open(&t.ranks, err);
    if (rc < 0)
        return rc;
    t.files = og__run_files(t.ranks);
    const int ranks = (int)og__rounds_ranks(&t);
    if (opt->workers > 1 && opt->workers != ranks)
        rc = og__fail(err, -EINVAL, "leave out --workers under mpirun, or mpirun with --workers",
                      "--workers %d: %d processes were started", opt->workers, ranks);
    else
        rc = train_among(&t, dataset, opt, observer, err);
    og__ranks_close(t.ranks);
    return rc;
}
