/* Opening a session, part by part, and closing it. */
#include "train/session_parts.h"

#include "base/file.h"
#include "base/scratch.h"
#include "dataset/features.h"
#include "train/hotness.h"
#include "train/idle.h"
#include "train/options.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening, step by step ---- */

static int open_samplers(struct og_session *s, struct og_err *err)
{
    s->samplers = calloc((size_t)og__samplers(&s->way), sizeof(struct og_sampler *));
    if (!s->samplers)
        return og__fail_errno(err, -ENOMEM, NULL, "samplers");
    int rc = 0;
    for (int i = 0; i < og__samplers(&s->way); i++)
        OG_TRY(og__session_sampler(s, &s->samplers[i], s->budget, err));
out:
    return rc;
}

static int open_works(struct og_session *s, unsigned want, struct og_err *err)
{
    uint32_t rows = (uint32_t)s->facts.caps.hop[s->facts.caps.n_hops - 1].n_src;
    uint32_t changes = og__policy_admits(s->way.policy) ? OG_MIN(rows, s->memory.n_slots) : 0;
    s->works = calloc((size_t)og__works(&s->way), sizeof(*s->works));
    if (!s->works)
        return og__fail_errno(err, -ENOMEM, NULL, "batches");
    int rc = 0;
    for (int i = 0; i < og__works(&s->way); i++) {
        struct og_work *w = &s->works[i];
        og__batch_init(&w->sampled, s->budget);
        og__plan_init(&w->plan, s->budget);
        OG_TRY(og__seeds_open(&w->seeds, &s->facts.seeds, s->budget, err));
        OG_TRY(og__batch_reserve(&w->sampled, &s->facts.caps, s->facts.trace.extras, err));
        if ((want & OG__WANT_FEATURES))
            OG_TRY(og__plan_reserve(&w->plan, rows, changes, err));
    }
out:
    return rc;
}

static int fill_rows(struct og_session *s, struct og_io_counts *counted, struct og_err *err)
{
    int rc;
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    uint32_t *slots = nodes ? nodes + OG__FILL_ROWS : NULL;
    OG_TRY(nodes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling the cache"));
    for (uint32_t n; (n = og__policy_prefill(s->policy, nodes, slots, OG__FILL_ROWS)) > 0;) {
        OG_TRY(og__gather_fill(s->gather, nodes, slots, n, counted, err));
        OG_TRY(og__session_stopped(s, "stopped while filling caches", err));
    }
out:
    free(nodes);
    return rc;
}

/* Static and learning policies are told that it begins; what they want in the cache is read now. */
static int fill_cache(struct og_session *s, struct og_err *err)
{
    struct og_io_counts counted = {0}; /* with all that is read before the first batch */
    uint32_t n_prefill = 0;
    int rc = og__policy_prepare(s->policy, NULL, &n_prefill, err);
    if (rc < 0)
        return rc;
    s->prepare.prefill = n_prefill;
    rc = fill_rows(s, &counted, err);
    int ended = og__gather_fill_end(s->gather, &counted, rc < 0 ? NULL : err);
    return rc < 0 ? rc : ended;
}

static int open_features(struct og_session *s, struct og_err *err)
{
    struct og_gather_options opt = {
        .n_slots = s->memory.n_slots,
        .n_yielded = s->memory.n_yielded,
        .fills_beside = og__policy_fills_beside(s->way.policy),
        .staging_rows = s->memory.staging_rows,
        .n_staging = s->memory.n_staging,
        .reader = og__session_reader(s),
    };
    int rc = og__gather_open(&s->gather, s->facts.ds, &opt, s->budget, err);
    return rc < 0 || og__samples_ahead(&s->way) ? rc : fill_cache(s, err);
}

static int build_session(struct og_session *s, unsigned want, struct og_err *err)
{
    const struct og_premises p = og__session_premises(s);
    int rc;
    OG_TRY(open_samplers(s, err));
    OG_TRY(open_works(s, want, err));
    if ((want & OG__WANT_MODEL))
        OG_TRY(og__learner_open(&s->learner, &p, s->pool, s->budget, err));
    if ((want & OG__WANT_FEATURES))
        OG_TRY(open_features(s, err));
    if (s->config.opt.trace_timeline)
        OG_TRY(og__timeline_open(&s->timeline, s->config.opt.trace_timeline, err));
out:
    s->prepare.seconds = og__now() - s->opened;
    return rc;
}

static int check_sampler(const struct og_session *s, struct og_err *err)
{
    if (og__sampling_reads_weights((enum og_sampler_kind)s->config.opt.sampler) &&
        s->facts.ds->weights.fd < 0)
        return og__fail(err, -EINVAL,
                        "import the graph with an edge_weight.npy, or use --sampler uniform",
                        "%s: has no edge weights", s->facts.ds->path);
    return 0;
}

/* Evaluation alone trains on nothing. */
static int open_offline(struct og_session *s, unsigned want, struct og_err *err)
{
    bool trains = want & OG__WANT_TRAINING || !(want & OG__WANT_MODEL);
    if (!s->config.opt.samples || !trains)
        return 0;
    const struct og_offline_for run = {.opt = &s->config.opt,
                                       .schedule = &s->facts.schedule,
                                       .ds = s->facts.ds,
                                       .extras = s->facts.trace.extras};
    return og__offline_open(&s->offline, &run, s->budget, err);
}

/* Of features that are kept as they are stored there is one word for it. */
static int settle_rows(struct og_session *s, struct og_err *err)
{
    int rc =
        og__features_keep(s->facts.ds, og__pack_dtype(&s->config.opt, s->facts.ds->dtype), err);
    if (rc < 0)
        return rc;
    if (s->facts.ds->kept == s->facts.ds->dtype)
        s->config.opt.pack_dtype = OG_PACK_STORED;
    return 0;
}

/* The model of a checkpoint comes with its options settled. */
static int settle_options(struct og_session *s, const struct og_options *opt,
                          const struct og_model_config *model, struct og_err *err)
{
    struct og_config *c = &s->config;
    int rc;
    OG_TRY(og__options_copy(&c->opt, opt, err));
    if (!model)
        OG_TRY(og__learner_adopt(c, opt, err));
    const struct og_option_set given = c->opt.given;
    c->asked = og__options_set_apart(opt);
    OG_TRY(og__options_resolve(&c->opt, &c->log, err));
    c->preset_asked = og__options_set_apart(&c->opt);
    og__option_set_keep(&c->preset_asked, &c->opt.given, &given);
    c->layout_open = c->opt.layout == OG_LAYOUT_AUTO;
out:
    return rc;
}

/* An earlier one stays, unless it is of the part of the run that --resume goes on from. */
static int check_timeline(const struct og_session *s, struct og_err *err)
{
    const char *path = s->config.opt.trace_timeline;
    int rc = og__dataset_spare(s->facts.ds, path, err);
    return rc < 0 || !path || s->config.opt.resume ? rc : og__check_absent(path, err);
}

static int start_session(struct og_session *s, const char *dataset, const struct og_options *opt,
                         const struct og_model_config *model, struct og_err *err)
{
    s->opened = og__now();
    s->opened_read = og__io_made();
    if (s->config.seen)
        s->config.log = (struct og_log){s->config.seen->message, s->config.seen->arg};
    int rc;
    OG_TRY(settle_options(s, opt, model, err));
    OG_TRY(og__session_scratch(s, NULL, err));
    OG_TRY(og__dataset_open(dataset, &s->facts.ds, err));
    OG_TRY(check_timeline(s, err));
    OG_TRY(og__session_settle_task(s, err));
    OG_TRY(og__pool_open(&s->pool, s->config.opt.threads, err));
    s->memory.limit = (size_t)s->config.opt.memory.value;
    s->budget = og__budget_new(s->memory.limit);
    if (!s->budget)
        return og__fail_errno(err, -ENOMEM, NULL, "budget");
    rc = og__session_hold_out(s, err);
    return rc < 0 ? rc : settle_rows(s, err);
out:
    return rc;
}

int og__session_open(struct og_session **out, const char *dataset, const struct og_options *opt,
                     unsigned want, const struct og_model_config *model,
                     const struct og_observer *seen, struct og_err *err)
{
    const struct og_session_use use = {.want = want, .model = model};
    return og__session_open_for(out, dataset, opt, &use, seen, err);
}

int og__session_open_for(struct og_session **out, const char *dataset, const struct og_options *opt,
                         const struct og_session_use *use, const struct og_observer *seen,
                         struct og_err *err)
{
    const unsigned want = use->want;
    const struct og_model_config *model = use->model;
    *out = NULL;
    struct og_err own = {0};
    if (!err)
        err = &own; /* refusals below are rewritten, which needs the first message */
    struct og_session *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "session");
    s->config.seen = seen;
    s->config.want = want;
    if (use->handover)
        s->config.handover = *use->handover;
    int rc;
    OG_TRY(start_session(s, dataset, opt, model, err));
    og__planner_init(&s->planner, s->budget);
    OG_TRY(check_sampler(s, err));
    if (want & OG__WANT_FEATURES)
        OG_TRY(og__hotness_check(&s->config.opt, (uint64_t)s->facts.ds->n_nodes, err));
    og__know_disks(&s->facts, &s->config.opt);
    OG_TRY(og__learner_shape(&s->facts, &s->config.opt, model, err));
    if (want & OG__WANT_MODEL)
        OG_TRY(og__learner_begin(&s->learner, s->pool, err));
    s->baseline_rss = og__rss_now();
    og__session_name_neighbors(s);
    og__know_graph(&s->facts, &s->config.opt);
    OG_TRY(og__session_load_seeds(s, want, err));
    og__know_splits(&s->facts, want);
    OG_TRY(og__session_schedule(s, err));
    OG_TRY(open_offline(s, want, err));
    OG_TRY(og__session_plan(s, err));
    og__say_idle(s, s->config.want);
    if (!(want & OG__WANT_PLAN_ONLY))
        OG_TRY(build_session(s, want, err));
    else if (!s->predicted.known) /* batches tell what it will do */
        OG_TRY(build_session(s, 0, err));
    og__session_count_prepared(s);
    *out = s;
    return 0;
out:
    og__timeline_discard(s->timeline);
    s->timeline = NULL;
    og__session_close(s);
    return rc;
}

void og__session_count_prepared(struct og_session *s)
{
    struct og_io_counts read = {0};
    og__io_add_since(&read, s->opened_read);
    s->prepare.reads = read.reads;
    s->prepare.bytes_read = read.bytes;
}

void og__session_close(struct og_session *s)
{
    if (!s)
        return;
    (void)!og__timeline_close(s->timeline, NULL); /* of commands that do not tell of it */
    og__learner_close(&s->learner);
    og__pack_close(s->pack);
    og__gather_close(s->gather);
    for (int i = 0; s->works && i < og__works(&s->way); i++) {
        struct og_work *w = &s->works[i];
        og__batch_release(&w->sampled);
        og__plan_release(&w->plan);
        og__seeds_close(&w->seeds);
    }
    free(s->works);
    for (int i = 0; s->samplers && i < og__samplers(&s->way); i++)
        og__sampler_close(s->samplers[i]);
    free(s->samplers);
    og__planner_release(&s->planner);
    og__superbatch_close(s->superbatch);
    og__spill_close(s->codes);
    og__scratch_close(s->pack_dir);
    free(s->choice);
    free(s->scratch);
    free(s->neighbors_dir);
    og__policy_close(s->policy);
    og__session_drop_hotness(s);
    for (int i = 0; i < OG__SPLITS; i++) {
        struct og_split *split = &s->facts.split[i];
        og__release(s->budget, split->ids, og__split_bytes(&s->facts, split), "seeds");
        if (split->labels)
            og__release(s->budget, split->labels, og__labels_bytes(s->facts.ds, split->n),
                        "labels");
    }
    og__topology_release(&s->topology);
    og__packs_close(s->packs);
    og__offline_close(s->offline);
    og__pool_close(s->pool);
    og__dataset_close(s->facts.ds);
    og__scratch_close(s->held_out);
    og__budget_free(s->budget);
    og_options_release(&s->config.opt);
    free(s);
}
