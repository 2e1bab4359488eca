#include "train/session_parts.h"

#include "base/file.h"
#include "base/scratch.h"
#include "dataset/features.h"
#include "train/checkpoint.h"
#include "train/choose.h"
#include "train/hotness.h"
#include "train/memory_plan.h"
#include "train/options.h"
#include "train/pilot.h"
#include "train/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void og__observe(const struct og_observer *seen, const struct og_progress *p)
{
    if (seen && seen->progress)
        seen->progress(seen->arg, p);
}

size_t og__session_peak_rss(const struct og_session *s)
{
    size_t peak = og__rss_peak();
    size_t mapped = s->opt.io == OG_IO_MMAP ? og__rss_file() : 0; /* clean: the kernel's to drop */
    return peak - OG_MIN(peak, s->baseline_rss + mapped);
}

/* ---- opening, step by step ---- */

struct og_reader_options og__session_reader(const struct og_session *s)
{
    return (struct og_reader_options){.io = s->opt.io, .profile = s->profile, .log = &s->log};
}

/* Of features that are kept as they are stored there is one word for it. */
static int settle_rows(struct og_session *s, struct og_err *err)
{
    int rc = og__features_keep(s->ds, og__pack_dtype(&s->opt, s->ds->dtype), err);
    if (rc == 0 && s->ds->kept == s->ds->dtype)
        s->opt.pack_dtype = OG_PACK_STORED;
    return rc;
}

/* Sizes by sampling with the topology mapped, for a budget that cannot hold it: only to name the
 * one that would do. Nothing of it stays. */
static int refuse_topology(struct og_session *s, unsigned want, struct og_err *err)
{
    struct og_pilot pilot;
    int rc = og__topology_map(s->ds, &s->topology, err);
    if (rc < 0)
        return rc;
    rc = og__pilot_run(&pilot, s, NULL, err);
    if (rc < 0)
        return rc;
    s->caps = og__caps_with_margin(&pilot.caps, s);
    og__memory_plan_fixed(&s->memory, s, want);
    og__pilot_release(&pilot, NULL);
    rc = og__memory_plan_check(&s->memory, err);
    return rc < 0 ? rc : og__fail(err, -ENOMEM, NULL, "topology does not fit");
}

struct og_policy_setup og__policy_setup(const struct og_options *opt, uint64_t n_nodes)
{
    return (struct og_policy_setup){.kind = opt->policy,
                                    .n_nodes = n_nodes,
                                    .ways = (uint32_t)opt->ways,
                                    .window = (uint32_t)opt->window,
                                    .update = (uint32_t)opt->update,
                                    .threshold = (uint32_t)opt->threshold,
                                    .evict = opt->evict};
}

struct og_policy_setup og__session_policy(const struct og_session *s, uint32_t n_slots)
{
    struct og_policy_setup setup = og__policy_setup(&s->opt, (uint64_t)s->ds->n_nodes);
    setup.n_slots = n_slots;
    setup.hotness = s->hotness;
    return setup;
}

/* Scores by which the policy ranks nodes; or, for one that learns what is hot from the superbatch,
 * a sample of the degrees and visits in the first half of the pilot, to guess its misses in the
 * other. *from: the first of those. */
static int rank_nodes(struct og_session *s, const struct og_pilot *pilot, uint32_t *from,
                      struct og_err *err)
{
    *from = 0;
    s->hotness = og__alloc(s->budget, s->memory.hotness, "hotness", err);
    if (!s->hotness)
        return -ENOMEM;
    if (og__policy_wants_hotness(s->opt.policy))
        return og__hotness_of(s, s->hotness, err);
    *from = pilot->n / 2;
    int rc = og__hotness_degree_guess(&s->topology, s->hotness, err);
    for (uint64_t i = 0; rc == 0 && *from > 0 && i < pilot->end[*from - 1]; i++)
        s->hotness[pilot->ids[i]]++;
    return rc;
}

static void drop_hotness(struct og_session *s)
{
    og__release(s->budget, s->hotness, s->memory.hotness, "hotness");
    s->hotness = NULL;
}

static int decide_cache(struct og_session *s, const struct og_pilot *pilot, struct og_err *err)
{
    uint32_t from = 0;
    int rc = s->memory.hotness ? rank_nodes(s, pilot, &from, err) : 0;
    bool foresees = s->opt.policy != OG_POLICY_HYBRID; /* it knows, but starts empty */
    if (rc == 0)
        rc = og__memory_plan_cache(&s->memory, s, pilot, foresees ? s->hotness : NULL, from, err);
    if (rc == 0) {
        struct og_policy_setup setup = og__session_policy(s, s->memory.n_slots);
        rc = og__policy_open(&s->policy, &setup, s->budget, err);
    }
    if (rc < 0 || s->opt.policy != OG_POLICY_HYBRID)
        drop_hotness(s);
    return rc;
}

/* ---- sizes ---- */

/* With a pilot's caps everything but the cache is known: does it fit? */
static int plan_fixed(struct og_session *s, const struct og_pilot *pilot, unsigned want,
                      struct og_err *err)
{
    s->caps = og__caps_with_margin(&pilot->caps, s);
    og__memory_plan_fixed(&s->memory, s, want);
    return og__memory_plan_check(&s->memory, err);
}

static int plan_features(struct og_session *s, const struct og_pilot *pilot, struct og_err *err)
{
    int rc = og__memory_plan_ahead(&s->memory, s, pilot, err);
    if (rc == 0)
        rc = og__memory_plan_neighbors(&s->memory, s, err);
    if (rc == 0)
        rc = og__session_open_neighbors(s, err);
    if (rc == 0)
        rc = decide_cache(s, pilot, err);
    return rc < 0 ? rc : og__predict_pilot(s, pilot, err);
}

/* Topology in, sizes learnt, budget checked, cache decided; topology in memory or on disk, as
 * resolved. */
static int plan_resolved(struct og_session *s, unsigned want, struct og_err *err)
{
    struct og_pilot pilot = {0};
    s->memory = (struct og_memory_plan){.limit = s->memory.limit};
    size_t structure = og__session_structure_bytes(s);
    if (OG__PROCESS_BYTES + structure + og__budget_used(s->budget) > s->memory.limit)
        return refuse_topology(s, want, err);
    int rc = og__session_open_topology(s, err);
    if (rc < 0)
        return rc;
    rc = og__pilot_run(&pilot, s, s->budget, err);
    if (rc == -ENOMEM) { /* not even the pilot fits: measure it unbudgeted, then refuse */
        *err = (struct og_err){0};
        rc = og__pilot_run(&pilot, s, NULL, err);
        if (rc == 0) {
            rc = plan_fixed(s, &pilot, want, err);
            og__pilot_release(&pilot, NULL);
        }
        return rc < 0 ? rc : og__fail(err, -ENOMEM, NULL, "pilot does not fit");
    }
    if (rc < 0)
        return rc;
    s->caps = og__caps_with_margin(&pilot.caps, s);
    rc = og__choose(s, &pilot, want, err);
    if (rc == 0)
        rc = plan_fixed(s, &pilot, want, err);
    if (rc == 0 && (want & OG__WANT_FEATURES))
        rc = plan_features(s, &pilot, err);
    og__pilot_release(&pilot, s->budget);
    return rc;
}

/* Left to the program, the structure is on disk when it does not fit in memory. */
static int plan_session(struct og_session *s, unsigned want, struct og_err *err)
{
    const struct og_options asked = s->opt;
    bool open = s->opt.topology == OG_TOPOLOGY_AUTO;
    if (open)
        s->opt.topology = OG_TOPOLOGY_MEMORY;
    int rc = plan_resolved(s, want, err);
    if (rc != -ENOMEM || !open)
        return rc;
    struct og_err first = *err;
    size_t smallest = s->memory.smallest;
    *err = (struct og_err){0};
    og__topology_release(&s->topology);
    s->opt = asked; /* what was tried out for the other is forgotten */
    og__policy_close(s->policy);
    s->policy = NULL;
    drop_hotness(s);
    s->opt.topology = OG_TOPOLOGY_DISK;
    rc = plan_resolved(s, want, err);
    if (rc == 0)
        og__say(&s->log, OG__INFO, "the graph's structure stays on disk (%s)", first.message);
    if (rc == -ENOMEM && smallest < s->memory.smallest) /* the refusal that names less */
        *err = first;
    return rc;
}

bool og__samples_ahead(const struct og_session *s)
{
    return og__policy_looks_ahead(s->opt.policy) || og__packs(s);
}

bool og__packs(const struct og_session *s)
{
    return s->opt.layout == OG_LAYOUT_PACKED || s->opt.layout == OG_LAYOUT_SEGMENTED;
}

bool og__keeps_batches(const struct og_session *s)
{
    bool kept = s->opt.resample_every > 1 || s->whole_draws;
    return kept && og__samples_ahead(s) && og__policy_is_steady(s->opt.policy);
}

unsigned og__batch_extras(const struct og_session *s)
{
    return (s->config.kind == OG_MODEL_GCN ? OG__WITH_DEGREES : 0u) |
           (og__sampling_weighs((enum og_sampler_kind)s->opt.sampler) ? OG__WITH_WEIGHTS : 0u);
}

struct og_sampling og__session_sampling(const struct og_session *s)
{
    return (struct og_sampling){.kind = (enum og_sampler_kind)s->opt.sampler,
                                .walks = s->opt.walks,
                                .walk_length = s->opt.walk_length,
                                .restart = s->opt.walk_restart};
}

int og__session_sampler(const struct og_session *s, struct og_sampler **out, struct og_budget *b,
                        struct og_err *err)
{
    int rc = og__sampler_open(out, &s->topology, s->opt.fanout, s->opt.n_fanout,
                              (uint64_t)s->opt.seed, b, err);
    if (rc < 0)
        return rc;
    struct og_sampling how = og__session_sampling(s);
    if (how.kind == OG_SAMPLER_WEIGHTED && s->topology.mapped) /* sizes alone are asked for */
        how.kind = OG_SAMPLER_UNIFORM;
    if (og__batch_extras(s) & OG__WITH_DEGREES)
        og__sampler_keep_degrees(*out);
    rc = og__sampler_choose(*out, &how, err);
    if (rc < 0) {
        og__sampler_close(*out);
        *out = NULL;
    }
    return rc;
}

static int open_early(struct og_session *s, struct og_err *err)
{
    if (!s->opt.early_reads)
        return 0;
    s->early = calloc((size_t)s->n_samplers, sizeof(*s->early));
    for (int i = 0; s->early && i < s->n_samplers; i++)
        og__planner_init(&s->early[i], s->budget);
    return s->early ? 0 : og__fail_errno(err, -ENOMEM, NULL, "planners");
}

static int open_samplers(struct og_session *s, struct og_err *err)
{
    s->samplers = calloc((size_t)s->n_samplers, sizeof(struct og_sampler *));
    if (!s->samplers)
        return og__fail_errno(err, -ENOMEM, NULL, "samplers");
    int rc = 0;
    for (int i = 0; rc == 0 && i < s->n_samplers; i++)
        rc = og__session_sampler(s, &s->samplers[i], s->budget, err);
    return rc;
}

static int open_works(struct og_session *s, unsigned want, struct og_err *err)
{
    uint32_t rows = (uint32_t)s->caps.hop[s->caps.n_hops - 1].n_src;
    uint32_t changes = og__policy_admits(s->opt.policy) ? OG_MIN(rows, s->memory.n_slots) : 0;
    s->works = calloc((size_t)s->n_works, sizeof(*s->works));
    if (!s->works)
        return og__fail_errno(err, -ENOMEM, NULL, "batches");
    int rc = 0;
    for (int i = 0; rc == 0 && i < s->n_works; i++) {
        struct og_work *w = &s->works[i];
        og__batch_init(&w->sampled, s->budget);
        og__plan_init(&w->plan, s->budget);
        rc = og__seeds_open(&w->seeds, &s->seeds, s->budget, err);
        if (rc == 0)
            rc = og__batch_reserve(&w->sampled, &s->caps, og__batch_extras(s), err);
        if (rc == 0 && (want & OG__WANT_FEATURES))
            rc = og__plan_reserve(&w->plan, rows, changes, err);
    }
    return rc;
}

static int open_model(struct og_session *s, unsigned want, struct og_err *err)
{
    int rc = og__model_create(&s->model, &s->config, s->opt.optimizer, (uint64_t)s->opt.seed,
                              s->pool, s->budget, err);
    if (rc == 0)
        rc = og__model_reserve(s->model, &s->caps, want & OG__WANT_TRAINING, err);
    return rc;
}

/* Static and learning policies are told that it begins; what they want in the cache is read now. */
static int fill_cache(struct og_session *s, struct og_io_counts *counts, struct og_err *err)
{
    uint32_t n_prefill = 0;
    int rc = og__policy_foresee(s->policy, NULL, &n_prefill, err);
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    if (rc == 0 && !nodes)
        rc = og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
    while (rc == 0 && nodes) {
        uint32_t *slots = nodes + OG__FILL_ROWS;
        uint32_t n = og__policy_prefill(s->policy, nodes, slots, OG__FILL_ROWS);
        if (n == 0)
            break;
        rc = og__gather_fill(s->gather, nodes, slots, n, counts, err);
        if (rc == 0)
            rc = og__session_stopped(s, "stopped while filling caches", err);
    }
    int ended = og__gather_fill_end(s->gather, counts, rc == 0 ? err : NULL);
    free(nodes);
    s->prepare.prefill = n_prefill;
    return rc < 0 ? rc : ended;
}

int og__session_scratch(struct og_session *s, const char *run, struct og_err *err)
{
    const char *named = s->opt.scratch ? s->opt.scratch : run;
    free(s->scratch);
    s->scratch = named ? strdup(named) : og__cache_dir();
    if (named && !s->scratch)
        return og__fail_errno(err, -ENOMEM, NULL, "scratch");
    if (s->scratch)
        og__scratch_sweep(s->scratch);
    return 0;
}

int og__session_stopped(const struct og_session *s, const char *what, struct og_err *err)
{
    const volatile sig_atomic_t *stop = s->seen ? s->seen->stop : NULL;
    return stop && *stop ? og__fail(err, OG_INTERRUPTED, NULL, "%s", what) : 0;
}

static int open_features(struct og_session *s, struct og_err *err)
{
    struct og_gather_options opt = {
        .n_slots = s->memory.n_slots,
        .n_lent = s->memory.n_lent,
        .n_lanes = s->opt.early_reads ? s->n_samplers : 0,
        .fills_beside = s->opt.policy == OG_POLICY_SWEEP,
        .staging_rows = s->memory.staging_rows,
        .n_staging = s->memory.n_staging,
        .reader = og__session_reader(s),
    };
    struct og_io_counts counts = {0};
    int rc = open_early(s, err);
    if (rc == 0)
        rc = og__gather_open(&s->gather, s->ds, &opt, s->budget, err);
    if (rc == 0 && !og__samples_ahead(s))
        rc = fill_cache(s, &counts, err);
    s->prepare.reads += counts.reads;
    s->prepare.bytes_read += counts.bytes;
    return rc;
}

static int build_session(struct og_session *s, unsigned want, struct og_err *err)
{
    int rc = open_samplers(s, err);
    if (rc == 0)
        rc = open_works(s, want, err);
    if (rc == 0 && (want & OG__WANT_MODEL))
        rc = open_model(s, want, err);
    if (rc == 0 && (want & OG__WANT_FEATURES))
        rc = open_features(s, err);
    if (rc == 0)
        rc = og__dataset_spare(s->ds, s->opt.trace_timeline, err);
    if (rc == 0 && s->opt.trace_timeline)
        rc = og__timeline_open(&s->timeline, s->opt.trace_timeline, err);
    s->prepare.seconds = og__now() - s->opened;
    return rc;
}

static int check_sampler(const struct og_session *s, struct og_err *err)
{
    if (s->opt.sampler == OG_SAMPLER_WEIGHTED && s->ds->weights.fd < 0)
        return og__fail(err, -EINVAL,
                        "import the graph with an edge_weight.npy, or use --sampler uniform",
                        "%s: has no edge weights", s->ds->path);
    return 0;
}

void og__session_threads(struct og_session *s, unsigned want)
{
    /* Sampling is a small part of a training step: half the threads keep ahead of the model. With
     * no model, or none at work while batches are sampled ahead, there is nothing to leave the
     * other half to. */
    bool beside = (want & OG__WANT_MODEL) && !og__samples_ahead(s);
    s->n_samplers = beside ? (s->opt.threads + 1) / 2 : s->opt.threads;
    s->n_samplers = OG_MIN(OG_MAX(s->n_samplers, 1), 32);
    /* one in each sampler, one planned, one read, one trained; a sampler that reads early has two
     */
    s->n_works = (s->opt.early_reads ? 2 * s->n_samplers : s->n_samplers) + 3;
}

/* A model from a checkpoint must fit the dataset; else the options and the dataset give its shape.
 */
static int shape_model(struct og_session *s, const struct og_model_config *given,
                       struct og_err *err)
{
    if (given) {
        s->config = *given;
        s->config.multi_label = s->ds->multi_label;
        s->config.task = s->opt.task;
        s->config.loss = s->opt.loss;
        bool widths = s->opt.task == OG_TASK_LINK || given->n_classes == s->ds->n_classes;
        if (given->in_dim != s->ds->dim || !widths)
            return og__fail(err, -EINVAL, "is it a checkpoint of this dataset?",
                            "the checkpoint has %d features and %d classes, %s has %d and %d",
                            given->in_dim, given->n_classes, s->ds->path, s->ds->dim,
                            s->ds->n_classes);
    } else {
        s->config = (struct og_model_config){
            .kind = s->opt.model,
            .layers = s->opt.layers,
            .in_dim = s->ds->dim,
            .hidden = s->opt.hidden,
            .n_classes = s->opt.task == OG_TASK_LINK ? s->opt.hidden : s->ds->n_classes,
            .task = s->opt.task,
            .decoder = s->opt.decoder,
            .loss = s->opt.loss,
            .dropout = s->opt.dropout,
            .input_dropout = s->opt.input_dropout,
            .attention_dropout = s->opt.attention_dropout,
            .multi_label = s->ds->multi_label,
            .heads = s->opt.heads,
            .aggregator = s->opt.aggregator,
            .norm = s->opt.norm,
            .residual = s->opt.residual};
    }
    return og__model_check(&s->config, err);
}

/* Evaluation alone trains on nothing. */
static int open_offline(struct og_session *s, unsigned want, struct og_err *err)
{
    bool trains = want & OG__WANT_TRAINING || !(want & OG__WANT_MODEL);
    if (!s->opt.samples || !trains)
        return 0;
    const struct og_offline_for run = {
        .opt = &s->opt, .schedule = &s->schedule, .ds = s->ds, .extras = og__batch_extras(s)};
    return og__offline_open(&s->offline, &run, s->budget, err);
}

/* May memory hold every feature, as far as is known before it is planned? */
static bool may_hold_all(const struct og_session *s)
{
    double features = (double)s->ds->n_nodes * (double)og__row_bytes(s->ds);
    double most = (double)s->memory.limit / 2;
    if (s->opt.cache.unit == OG_PERCENT)
        most = features * s->opt.cache.value / 100;
    if (s->opt.cache.unit == OG_BYTES)
        most = s->opt.cache.value;
    return features <= most;
}

/* Packs beside the samples are for what frequency keeps. Left open, they are what to read where
 * memory does not hold all features anyway. */
static bool open_packs(struct og_session *s, unsigned want)
{
    bool open =
        s->opt.policy == OG_POLICY_AUTO && s->opt.layout != OG_LAYOUT_RAW && !may_hold_all(s);
    bool asked = s->opt.policy == OG_POLICY_FREQUENCY && s->opt.layout == OG_LAYOUT_PACKED;
    if (s->offline && (want & OG__WANT_FEATURES) && !s->whole_draws && (open || asked))
        s->packs = og__packs_open(s->offline->dir, s->ds, &s->log);
    return s->packs != NULL;
}

/* The cache that they were made for is more than this run has. */
static void refuse_packs(struct og_session *s, bool planned)
{
    og__say(&s->log, OG__WARN,
            "%s: for a cache of %" PRIu32 " rows, this run's has %" PRIu32 ": it does without",
            s->packs->dir, s->packs->cache_rows, planned ? s->memory.n_slots : 0);
    og__packs_close(s->packs);
    s->packs = NULL;
}

static int plan_again(struct og_session *s, const struct og_options *asked, unsigned want,
                      struct og_err *err)
{
    og__policy_close(s->policy);
    og__topology_release(&s->topology);
    s->policy = NULL;
    s->predicted = (struct og_predicted){0};
    s->opt = *asked;
    s->whole_draws = false;
    *err = (struct og_err){0};
    return plan_session(s, want, err);
}

/* With packs made beforehand if they serve, else as if there were none. */
static int plan_offline(struct og_session *s, unsigned want, struct og_err *err)
{
    const struct og_options asked = s->opt;
    s->whole_draws = want & OG__WANT_WHOLE_DRAWS;
    if (!open_packs(s, want))
        return plan_session(s, want, err);
    s->opt.policy = OG_POLICY_FREQUENCY;
    s->opt.layout = OG_LAYOUT_PACKED;
    s->whole_draws = true;
    int rc = plan_session(s, want, err);
    bool room = rc == 0 && s->packs->cache_rows <= s->memory.n_slots;
    if (room || (rc < 0 && rc != -ENOMEM))
        return rc;
    refuse_packs(s, rc == 0);
    return plan_again(s, &asked, want, err);
}

/* The model of a checkpoint comes with its options settled. */
static int settle_options(struct og_session *s, const struct og_options *opt,
                          const struct og_model_config *model, struct og_err *err)
{
    int rc = og__options_copy(&s->opt, opt, err);
    if (rc == 0 && opt->init && !model)
        rc = og__checkpoint_sampler(opt->init, &s->opt, &s->log, err);
    return rc < 0 ? rc : og__options_resolve(&s->opt, &s->log, err);
}

static int start_session(struct og_session *s, const char *dataset, const struct og_options *opt,
                         const struct og_model_config *model, struct og_err *err)
{
    s->opened = og__now();
    if (s->seen)
        s->log = (struct og_log){s->seen->message, s->seen->arg};
    int rc = settle_options(s, opt, model, err);
    if (rc == 0)
        rc = og__session_scratch(s, NULL, err);
    if (rc == 0)
        rc = og__dataset_open(dataset, &s->ds, err);
    if (rc == 0)
        rc = og__session_settle_task(s, err);
    if (rc == 0)
        rc = og__pool_open(&s->pool, s->opt.threads, err);
    if (rc < 0)
        return rc;
    s->memory.limit = (size_t)s->opt.memory.value;
    s->budget = og__budget_new(s->memory.limit);
    if (!s->budget)
        return og__fail_errno(err, -ENOMEM, NULL, "budget");
    rc = og__session_hold_out(s, err);
    return rc < 0 ? rc : settle_rows(s, err);
}

int og__session_open(struct og_session **out, const char *dataset, const struct og_options *opt,
                     unsigned want, const struct og_model_config *model,
                     const struct og_observer *seen, struct og_err *err)
{
    *out = NULL;
    struct og_err own = {0};
    if (!err)
        err = &own; /* refusals below are rewritten, which needs the first message */
    struct og_session *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "session");
    s->seen = seen;
    int rc;
    OG_TRY(start_session(s, dataset, opt, model, err));
    og__planner_init(&s->planner, s->budget);
    OG_TRY(check_sampler(s, err));
    og__profile_load(s->ds->features.path, &s->profile);
    if (s->opt.policy == OG_POLICY_AUTO || !og__policy_is_static(s->opt.policy) ||
        og__samples_ahead(s) || !(want & OG__WANT_FEATURES))
        s->opt.early_reads = false;
    og__session_threads(s, want);
    OG_TRY(shape_model(s, model, err));
    if (want & OG__WANT_MODEL)
        OG_TRY(og__nn_warm_up(s->pool, err));
    s->baseline_rss = og__rss_now();
    uint64_t reads;
    uint64_t bytes;
    og__reads_made(&reads, &bytes);
    og__session_name_neighbors(s);
    OG_TRY(og__session_load_seeds(s, want, err));
    og__session_schedule(s);
    OG_TRY(open_offline(s, want, err));
    OG_TRY(plan_offline(s, want, err));
    og__reads_made(&s->prepare.reads, &s->prepare.bytes_read);
    s->prepare.reads += s->held_out_read.reads - reads;
    s->prepare.bytes_read += s->held_out_read.bytes - bytes;
    if (!(want & OG__WANT_PLAN_ONLY))
        OG_TRY(build_session(s, want, err));
    else if (!s->predicted.known) /* batches tell what it will do */
        OG_TRY(build_session(s, 0, err));
    *out = s;
    return 0;
out:
    og__session_close(s);
    return rc;
}

void og__session_close(struct og_session *s)
{
    if (!s)
        return;
    (void)!og__timeline_close(s->timeline, NULL); /* of commands that do not tell of it */
    og__model_free(s->model);
    og__pack_close(s->pack);
    og__gather_close(s->gather);
    for (int i = 0; s->works && i < s->n_works; i++) {
        struct og_work *w = &s->works[i];
        og__batch_release(&w->sampled);
        og__plan_release(&w->plan);
        og__seeds_close(&w->seeds);
    }
    free(s->works);
    for (int i = 0; s->samplers && i < s->n_samplers; i++)
        og__sampler_close(s->samplers[i]);
    free(s->samplers);
    og__planner_release(&s->planner);
    for (int i = 0; s->early && i < s->n_samplers; i++)
        og__planner_release(&s->early[i]);
    free(s->early);
    og__superbatch_close(s->superbatch);
    og__spill_close(s->codes);
    og__scratch_close(s->pack_dir);
    free(s->choice);
    free(s->scratch);
    free(s->neighbors_dir);
    og__policy_close(s->policy);
    drop_hotness(s);
    for (int i = 0; i < OG__SPLITS; i++) {
        struct og_split *split = &s->split[i];
        og__release(s->budget, split->ids, og__split_bytes(s, split), "seeds");
        if (split->labels)
            og__release(s->budget, split->labels, og__labels_bytes(s->ds, split->n), "labels");
    }
    og__topology_release(&s->topology);
    og__packs_close(s->packs);
    og__offline_close(s->offline);
    og__pool_close(s->pool);
    og__dataset_close(s->ds);
    og__scratch_close(s->held_out);
    og__budget_free(s->budget);
    og_options_release(&s->opt);
    free(s);
}

struct og_flow og__session_flow(struct og_session *s)
{
    return (struct og_flow){
        .schedule = &s->schedule,
        .seeds = &s->seeds,
        .samplers = s->samplers,
        .n_samplers = s->n_samplers,
        .n_hops = s->opt.n_fanout,
        .offline = s->offline,
        .early = s->early,
        .policy = s->policy,
        .n_slots = s->memory.n_slots,
        .planner = &s->planner,
        .gather = s->gather,
        .n_staging = s->memory.n_staging,
        .works = s->works,
        .n_works = s->n_works,
        .stop = s->seen ? s->seen->stop : NULL,
        .timeline = s->timeline,
    };
}
