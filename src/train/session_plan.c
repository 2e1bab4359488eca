/* What a session will do and what of it memory holds, decided before anything large is taken: a
 * pilot is sampled, sizes follow from it, and with them the budget is refused or shared out. What
 * was left to the program is tried in turn: with packs or without, the graph's structure in memory
 * or on disk. */
#include "train/session_parts.h"

#include "train/choose.h"
#include "train/hotness.h"
#include "train/memory_plan.h"
#include "train/pilot.h"
#include "train/predict.h"

#include <inttypes.h>

/* ---- the cache ---- */

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
    if (og__policy_wants_hotness(s->config.opt.policy))
        return og__hotness_of(s, s->hotness, err);
    *from = pilot->n / 2;
    int rc = og__hotness_degree_guess(&s->topology, s->hotness, err);
    for (uint64_t i = 0; rc == 0 && *from > 0 && i < pilot->end[*from - 1]; i++)
        s->hotness[pilot->ids[i]]++;
    return rc;
}

void og__session_drop_hotness(struct og_session *s)
{
    og__release(s->budget, s->hotness, s->memory.hotness, "hotness");
    s->hotness = NULL;
}

static int decide_cache(struct og_session *s, const struct og_pilot *pilot, struct og_err *err)
{
    uint32_t from = 0;
    int rc = s->memory.hotness ? rank_nodes(s, pilot, &from, err) : 0;
    bool filled =
        og__policy_prefills(s->config.opt.policy); /* hybrid knows its misses, but starts empty */
    if (rc == 0)
        rc = og__memory_plan_cache(&s->memory, s, pilot, filled ? s->hotness : NULL, from, err);
    if (rc == 0) {
        struct og_policy_setup setup = og__session_policy(s, s->memory.n_slots);
        rc = og__policy_open(&s->policy, &setup, s->budget, err);
    }
    if (rc < 0 || !og__policy_keeps_hotness(s->config.opt.policy))
        og__session_drop_hotness(s);
    return rc;
}

/* ---- sizes ---- */

/* Sizes by sampling with the topology mapped, for a budget that cannot hold it: only to name the
 * one that would do. Nothing of it stays. */
static int refuse_topology(struct og_session *s, unsigned want, struct og_err *err)
{
    struct og_pilot pilot;
    int rc = og__topology_map(s->facts.ds, &s->topology, err);
    if (rc < 0)
        return rc;
    rc = og__pilot_run(&pilot, s, NULL, err);
    if (rc < 0)
        return rc;
    s->facts.caps = og__caps_with_margin(&pilot.caps, s);
    og__memory_plan_fixed(&s->memory, s, want);
    og__pilot_release(&pilot, NULL);
    rc = og__memory_plan_check(&s->memory, err);
    return rc < 0 ? rc : og__fail(err, -ENOMEM, NULL, "topology does not fit");
}

/* With a pilot's caps everything but the cache is known: does it fit? */
static int plan_fixed(struct og_session *s, const struct og_pilot *pilot, unsigned want,
                      struct og_err *err)
{
    s->facts.caps = og__caps_with_margin(&pilot->caps, s);
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
    s->facts.caps = og__caps_with_margin(&pilot.caps, s);
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
    const struct og_options asked = s->config.opt;
    bool open = s->config.opt.topology == OG_TOPOLOGY_AUTO;
    if (open)
        s->config.opt.topology = OG_TOPOLOGY_MEMORY;
    int rc = plan_resolved(s, want, err);
    if (rc != -ENOMEM || !open)
        return rc;
    struct og_err first = *err;
    size_t smallest = s->memory.smallest;
    *err = (struct og_err){0};
    og__topology_release(&s->topology);
    s->config.opt = asked; /* what was tried out for the other is forgotten */
    og__policy_close(s->policy);
    s->policy = NULL;
    og__session_drop_hotness(s);
    s->config.opt.topology = OG_TOPOLOGY_DISK;
    rc = plan_resolved(s, want, err);
    if (rc == 0)
        og__say(&s->config.log, OG__INFO, "the graph's structure stays on disk (%s)",
                first.message);
    if (rc == -ENOMEM && smallest < s->memory.smallest) /* the refusal that names less */
        *err = first;
    return rc;
}

/* ---- packs made beforehand ---- */

/* May memory hold every feature, as far as is known before it is planned? */
static bool may_hold_all(const struct og_session *s)
{
    double features = (double)s->facts.ds->n_nodes * (double)og__row_bytes(s->facts.ds);
    double most = (double)s->memory.limit / 2;
    if (s->config.opt.cache.unit == OG_PERCENT)
        most = features * s->config.opt.cache.value / 100;
    if (s->config.opt.cache.unit == OG_BYTES)
        most = s->config.opt.cache.value;
    return features <= most;
}

/* Packs beside the samples are for what a policy that adopts it keeps. Left open, they are what to
 * read where memory does not hold all features anyway. */
static bool open_packs(struct og_session *s, unsigned want)
{
    bool open = s->config.opt.policy == OG_POLICY_AUTO && s->config.opt.layout != OG_LAYOUT_RAW &&
                !may_hold_all(s);
    bool asked =
        og__policy_adopts(s->config.opt.policy) && s->config.opt.layout == OG_LAYOUT_PACKED;
    if (s->offline && (want & OG__WANT_FEATURES) && !s->whole_draws && (open || asked))
        s->packs = og__packs_open(s->offline->dir, s->facts.ds, &s->config.log);
    return s->packs != NULL;
}

/* The cache that they were made for is more than this run has. */
static void refuse_packs(struct og_session *s, bool planned)
{
    og__say(&s->config.log, OG__WARN,
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
    s->config.opt = *asked;
    s->whole_draws = false;
    *err = (struct og_err){0};
    return plan_session(s, want, err);
}

/* With packs made beforehand if they serve, else as if there were none. */
int og__session_plan(struct og_session *s, unsigned want, struct og_err *err)
{
    const struct og_options asked = s->config.opt;
    s->whole_draws = want & OG__WANT_WHOLE_DRAWS;
    s->config.layout_open = asked.layout == OG_LAYOUT_AUTO;
    if (!open_packs(s, want))
        return plan_session(s, want, err);
    s->config.opt.policy = og__policy_that_adopts();
    s->config.opt.layout = OG_LAYOUT_PACKED;
    s->whole_draws = true;
    int rc = plan_session(s, want, err);
    bool room = rc == 0 && s->packs->cache_rows <= s->memory.n_slots;
    if (room || (rc < 0 && rc != -ENOMEM))
        return rc;
    refuse_packs(s, rc == 0);
    return plan_again(s, &asked, want, err);
}
