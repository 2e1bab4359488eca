/* What a session is asked for, by its own files while it opens and by all who use it. */
#include "train/session.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- policies and layouts ---- */

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
    struct og_policy_setup setup = og__policy_setup(&s->config.opt, (uint64_t)s->facts.ds->n_nodes);
    setup.n_slots = n_slots;
    setup.hotness = s->hotness;
    return setup;
}

bool og__samples_ahead(const struct og_session *s)
{
    return og__policy_looks_ahead(s->config.opt.policy) || og__packs(s) || s->config.opt.alternate;
}

bool og__packs(const struct og_session *s)
{
    return s->config.opt.layout == OG_LAYOUT_PACKED || s->config.opt.layout == OG_LAYOUT_SEGMENTED;
}

bool og__keeps_batches(const struct og_session *s)
{
    bool kept = s->config.opt.resample_every > 1 || s->whole_draws;
    return kept && og__samples_ahead(s) && og__policy_is_steady(s->config.opt.policy);
}

/* ---- batches ---- */

unsigned og__batch_extras(const struct og_session *s)
{
    return (s->facts.shape.kind == OG_MODEL_GCN ? OG__WITH_DEGREES : 0u) |
           (og__sampling_weighs((enum og_sampler_kind)s->config.opt.sampler) ? OG__WITH_WEIGHTS
                                                                             : 0u);
}

struct og_trace_options og__session_trace(const struct og_session *s)
{
    return (struct og_trace_options){.n_hops = s->config.opt.n_fanout,
                                     .n_nodes = (uint64_t)s->facts.ds->n_nodes,
                                     .extras = og__batch_extras(s)};
}

struct og_trace_options og__session_record(const struct og_session *s)
{
    struct og_trace_options form = og__session_trace(s);
    const bool values = og__float_labels(s->facts.ds);
    form.checks = true;
    form.multi_label = values;
    form.label_width = s->facts.seeds.edges ? 0 : values ? s->facts.ds->n_classes : 1;
    return form;
}

struct og_sampling og__session_sampling(const struct og_session *s)
{
    return (struct og_sampling){.kind = (enum og_sampler_kind)s->config.opt.sampler,
                                .walks = s->config.opt.walks,
                                .walk_length = s->config.opt.walk_length,
                                .restart = s->config.opt.walk_restart};
}

int og__session_sampler(const struct og_session *s, struct og_sampler **out, struct og_budget *b,
                        struct og_err *err)
{
    int rc = og__sampler_open(out, &s->topology, s->config.opt.fanout, s->config.opt.n_fanout,
                              (uint64_t)s->config.opt.seed, b, err);
    if (rc < 0)
        return rc;
    struct og_sampling how = og__session_sampling(s);
    if (og__sampling_reads_weights(how.kind) && s->topology.mapped) /* sizes alone are asked for */
        how = (struct og_sampling){0};
    if (og__batch_extras(s) & OG__WITH_DEGREES)
        og__sampler_keep_degrees(*out);
    rc = og__sampler_choose(*out, &how, err);
    if (rc < 0) {
        og__sampler_close(*out);
        *out = NULL;
    }
    return rc;
}

void og__session_threads(struct og_session *s, unsigned want)
{
    /* Sampling is a small part of a training step: half the threads keep ahead of the model. With
     * no model, or none at work while batches are sampled ahead, there is nothing to leave the
     * other half to. */
    bool beside = (want & OG__WANT_MODEL) && !og__samples_ahead(s);
    s->n_samplers = beside ? (s->config.opt.threads + 1) / 2 : s->config.opt.threads;
    s->n_samplers = OG_MIN(OG_MAX(s->n_samplers, 1), OG__MOST_SAMPLERS);
    s->n_works = s->n_samplers + 3; /* one in each sampler, one planned, one read, one trained */
}

struct og_flow og__session_flow(struct og_session *s)
{
    return (struct og_flow){
        .schedule = &s->facts.schedule,
        .seeds = &s->facts.seeds,
        .samplers = s->samplers,
        .n_samplers = s->n_samplers,
        .n_hops = s->config.opt.n_fanout,
        .offline = s->offline,
        .policy = s->policy,
        .n_slots = s->memory.n_slots,
        .planner = &s->planner,
        .gather = s->gather,
        .n_staging = s->memory.n_staging,
        .works = s->works,
        .n_works = s->n_works,
        .stop = s->config.seen ? s->config.seen->stop : NULL,
        .timeline = s->timeline,
    };
}

/* ---- disk and memory ---- */

struct og_reader_options og__session_reader(const struct og_session *s)
{
    return (struct og_reader_options){
        .io = s->config.opt.io, .profile = s->facts.profile, .log = &s->config.log};
}

int og__session_scratch(struct og_session *s, const char *run, struct og_err *err)
{
    const char *named = s->config.opt.scratch ? s->config.opt.scratch : run;
    free(s->scratch);
    s->scratch = named ? strdup(named) : og__cache_dir();
    if (named && !s->scratch)
        return og__fail_errno(err, -ENOMEM, NULL, "scratch");
    if (s->scratch)
        og__scratch_sweep(s->scratch);
    return 0;
}

size_t og__session_peak_rss(const struct og_session *s)
{
    size_t peak = og__rss_peak();
    size_t mapped =
        s->config.opt.io == OG_IO_MMAP ? og__rss_file() : 0; /* clean: the kernel's to drop */
    return peak - OG_MIN(peak, s->baseline_rss + mapped);
}

/* ---- the user ---- */

void og__observe(const struct og_observer *seen, const struct og_progress *p)
{
    if (seen && seen->progress)
        seen->progress(seen->arg, p);
}

int og__session_stopped(const struct og_session *s, const char *what, struct og_err *err)
{
    const volatile sig_atomic_t *stop = s->config.seen ? s->config.seen->stop : NULL;
    return stop && *stop ? og__fail(err, OG_INTERRUPTED, NULL, "%s", what) : 0;
}
