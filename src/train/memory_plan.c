/* A memory plan: all that is fixed, and the smallest limit that would do. */
#include "train/memory_plan_parts.h"

#include "dataset/writer.h"
#include "sample/spilled.h"
#include "train/hotness.h"

#include <string.h>

enum { LEAST_SWEEP = 32 * OG_MIB, SWEEP_SHARE = 16 };

/* ---- the fixed part ---- */

/* Tables of the policy for an empty superbatch, and what a slot adds. */
static void plan_policy(struct og_memory_plan *m, const struct og_session *s)
{
    enum { MANY = 1 << 20 };
    struct og_policy_setup setup = og__session_policy(s, 0);
    m->policy = og__policy_bytes(&setup, 0, 0, 0);
    m->rest = og__policy_rest_bytes(&setup);
    setup.n_slots = MANY;
    m->policy_slot = (og__policy_bytes(&setup, 0, 0, 0) - m->policy + MANY - 1) / MANY;
    m->rest_slot = (og__policy_rest_bytes(&setup) - m->rest + MANY - 1) / MANY;
    m->alternates = s->config.opt.alternate;
    size_t ranks = (size_t)s->facts.ds->n_nodes * 4;
    bool foresees = og__policy_looks_ahead(s->config.opt.policy) &&
                    !og__policy_fills_beside(s->config.opt.policy);
    if (og__policy_wants_hotness(s->config.opt.policy) || foresees) /* to guess at misses */
        m->hotness = ranks;
    if (og__policy_keeps_hotness(s->config.opt.policy)) { /* as long as the run */
        m->policy += ranks;
        m->rest += ranks;
    }
}

static void plan_sampling(struct og_memory_plan *m, const struct og_session *s)
{
    const bool on_disk = s->config.opt.topology == OG_TOPOLOGY_DISK;
    struct og_topology_disk_options disk = og__session_topology(s);
    struct og_sampling how = og__session_sampling(s);
    size_t sampler = og__sampler_bytes(&s->facts.caps);
    if (on_disk)
        sampler += og__sampler_disk_bytes(s->facts.ds, &disk, &s->facts.caps, &how,
                                          og__longest_list(&s->topology));
    m->samples = s->offline ? og__samples_memory(s->offline->samples) : 0;
    m->topology = og__session_structure_bytes(s);
    m->topology_rest = on_disk ? m->topology : 0;
    for (int i = 0; i < OG__SPLITS; i++) {
        m->seeds += og__split_bytes(s, &s->facts.split[i]);
        if (s->facts.split[i].labels)
            m->labels += og__labels_bytes(s->facts.ds, s->facts.split[i].n);
    }
    m->sampler = (size_t)s->n_samplers * sampler;
    m->batches = (size_t)s->n_works * (og__batch_bytes(&s->facts.caps, og__batch_extras(s)) +
                                       og__seeds_bytes(&s->facts.seeds));
}

/* Planning and reading, but for staging and cache. */
static void plan_reading(struct og_memory_plan *m, const struct og_session *s)
{
    const uint64_t rows = og__input_rows(s);
    const uint64_t changes = og__policy_admits(s->config.opt.policy) ? rows : 0;
    const struct og_reader_options opt = {.io = s->config.opt.io, .profile = s->facts.profile};
    const size_t reader = og__reader_bytes(&opt);
    m->plans = (size_t)s->n_works * og__plan_bytes(rows, changes) + og__planner_bytes(rows);
    m->reader = reader;
    if (og__samples_ahead(s))
        m->reader += og__spilled_reader_bytes();
    if (og__policy_fills_beside(s->config.opt.policy))
        m->reader += og__gather_beside_bytes(&opt, og__row_bytes(s->facts.ds));
    if (og__packs(s)) { /* of packs, which the sweep may have before */
        m->reader += reader;
        m->sweep = LEAST_SWEEP;
    }
    if (s->config.opt.layout == OG_LAYOUT_SEGMENTED) { /* and of shared rows, with their orders */
        m->reader += reader;
        m->plans += OG__MOST_STAGING * rows * 2 * sizeof(uint32_t);
        m->sweep += (size_t)s->facts.ds->n_nodes * 3 / 16 + rows * 2 * sizeof(uint32_t);
    }
    plan_policy(m, s);
}

static void plan_model(struct og_memory_plan *m, const struct og_session *s, bool training)
{
    m->model = og__model_bytes(s->ops, &s->facts.shape, s->config.opt.optimizer);
    if (training)
        m->model += m->model / 2; /* the best parameters so far, and those being written */
    m->activations = og__model_workspace_bytes(s->ops, &s->facts.shape, &s->facts.caps, training,
                                               s->config.opt.threads);
    if (!s->facts.seeds.edges)
        m->activations += og__labels_bytes(s->facts.ds, (int64_t)s->facts.schedule.batch_size);
    m->labels += og__session_most_scores(s) * sizeof(float);
}

/* Hotness lives only while the cache is decided, when little else does; finding it may take more
 * arrays of its size. */
static size_t while_deciding(const struct og_memory_plan *m, const struct og_session *s)
{
    return m->process + m->topology + m->seeds + m->labels + m->policy +
           m->hotness * (1 + (size_t)og__hotness_arrays(s->config.opt.policy));
}

/* A share of the limit, as far as that leaves as much to the others. */
static void widen_sweep(struct og_memory_plan *m)
{
    const size_t share = OG_MAX(m->limit / SWEEP_SHARE, (size_t)LEAST_SWEEP);
    const size_t spare = m->limit - OG_MIN(m->limit, m->smallest);
    m->sweep += OG_MIN(share - LEAST_SWEEP, spare / 2);
}

/* Buffers of samples that are made for others. */
static size_t record_bytes(const struct og_session *s, bool features)
{
    const struct og_trace_options form = og__session_record(s);
    return og__trace_writer_bytes(&form) + (features ? OG__NPY_BUFFER : 0);
}

void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_session *s, unsigned want)
{
    const uint64_t rows = og__input_rows(s);
    const bool features = want & OG__WANT_FEATURES;
    m->process = OG__PROCESS_BYTES;
    plan_sampling(m, s);
    if (want & OG__WANT_RECORD)
        m->record = record_bytes(s, features);
    if (features)
        plan_reading(m, s);
    if (want & OG__WANT_MODEL)
        plan_model(m, s, want & OG__WANT_TRAINING);
    size_t fixed =
        OG_MAX(og__memory_plan_sum(m), og__samples_ahead(s) ? og__memory_plan_least_ahead(m, s)
                                                            : og__memory_plan_without_rows(m));
    size_t staged = rows * og__row_bytes(s->facts.ds) * (size_t)og__first_staging(m, s);
    m->smallest = fixed + (features ? staged : 0);
    m->smallest = og__round_up(OG_MAX(m->smallest, while_deciding(m, s)), OG_MIB);
    if (m->sweep) /* the more memory, the fewer partitions */
        widen_sweep(m);
}

/* ---- refusing ---- */

int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err)
{
    if (m->limit >= m->smallest)
        return 0;
    const struct {
        const char *name;
        size_t bytes;
    } parts[] = {{"topology", m->topology},
                 {"activations", m->activations},
                 {"batches", m->batches + m->plans + m->sampler},
                 {"model", m->model},
                 {"samples", m->record},
                 {"seeds and labels", m->seeds + m->labels},
                 {"read buffers", m->reader},
                 {"process", m->process}};
    char text[400] = "";
    char size[32];
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        size_t used = strlen(text);
        if (parts[i].bytes >= OG_MIB)
            snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "", parts[i].name,
                     og__human_bytes(size, (double)parts[i].bytes));
    }
    char hint[128];
    snprintf(hint, sizeof(hint), "the smallest that would do is --memory %zuM%s",
             m->smallest / OG_MIB, "; smaller --batch or --fanout need less");
    return og__fail(err, -ENOMEM, hint, "--memory %s: too little (%s)",
                    og__human_bytes(size, (double)m->limit), text);
}
