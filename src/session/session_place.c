/* Where a session's topology is, and with it all that follows. Each place is tried in turn: the
 * topology is opened there, a few batches are sampled, and what memory holds is planned
 * (session_plan.c). With packs or without is another such choice. */
#include "session/session_parts.h"

#include "choose/exec_plans.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- one place ---- */

/* Where batches may be sampled ahead. */
static int know_growth(const struct og_session *s, struct og_profiling *profiling,
                       struct og_budget *b, struct og_err *err)
{
    const bool ahead = s->exec.policy == OG_POLICY_AUTO || og__samples_ahead(&s->exec);
    return ahead && (s->config.want & OG__WANT_FEATURES)
               ? og__profiling_growth(profiling, s->workload.n_nodes, b, err)
               : 0;
}

/* Samples profiling batches that the budget has no room for. It does so only to name the size that
 * would do. */
static int refuse_by_profiling(struct og_session *s, const char *what, struct og_err *err)
{
    struct og_profiling profiling;
    int rc;
    OG_TRY(og__profiling_run(&profiling, &s->structure, NULL, err));
    OG_TRY(know_growth(s, &profiling, NULL, err));
    OG_TRY(og__know_batches(s, &profiling, err));
out:
    og__profiling_release(&profiling, NULL);
    if (rc < 0)
        return rc;
    og__plainest_exec_plan(&s->exec);
    og__session_resolve_victims(&s->config, &s->given);
    rc = og__session_plan_fixed(&s->memory, &s->given, err);
    return rc < 0 ? rc : og__fail(err, -ENOMEM, NULL, "%s does not fit", what);
}

static bool structure_fits(const struct og_session *s, int topology)
{
    const size_t structure = og__structure_bytes(&s->structure, topology);
    return OG__PROCESS_BYTES + structure + og__budget_used(s->budget) <= s->memory.limit;
}

/* By sampling with the topology mapped, for a budget that cannot hold it. Nothing of it stays. */
static int refuse_topology(struct og_session *s, struct og_err *err)
{
    const int rc = og__topology_map(s->workload.graph, &s->structure.topology, err);
    return rc < 0 ? rc : refuse_by_profiling(s, "topology", err);
}

/* Moves the topology out of memory, where another plan is faster with its bytes. Batches are the
 * same, so the profiling batches predict as much of those to come. */
static int move_structure(struct og_session *s, const struct og_profiling *profiling,
                          struct og_err *err)
{
    int rc;
    OG_TRY(og__structure_move(&s->structure, err));
    OG_TRY(og__know_batches(s, profiling, err));
    og__say(&s->config.log, OG__INFO,
            "the graph's structure stays on disk and is read in its order: memory holds more "
            "features for it");
out:
    return rc;
}

/* What the execution plan leaves open, into s->exec. It may say that the topology moves. */
static int choose(struct og_session *s, const struct og_profiling *profiling, struct og_err *err)
{
    const struct og_exec_plan now = s->exec;
    const struct og_choice_inputs in = {.config = &s->config,
                                        .workload = &s->workload,
                                        .exec = &now,
                                        .structure = &s->structure,
                                        .learner = &s->learner,
                                        .pool = s->pool,
                                        .budget = s->budget,
                                        .memory_limit = s->memory.limit,
                                        .opened = s->opened,
                                        .samples = s->offline != NULL,
                                        .packs = s->path.stores.packs != NULL};
    og__session_resolve_victims(&s->config, &s->given);
    return og__choose(&s->choice, &in, profiling, &s->exec, err);
}

/* With batches that were sampled there. */
static int plan_there(struct og_session *s, struct og_profiling *profiling, struct og_err *err)
{
    const int topology = s->exec.topology;
    int rc;
    OG_TRY(know_growth(s, profiling, s->budget, err));
    OG_TRY(og__know_batches(s, profiling, err));
    OG_TRY(og__session_calibrate(s, err));
    OG_TRY(choose(s, profiling, err));
    if (s->exec.topology != topology)
        OG_TRY(move_structure(s, profiling, err));
    OG_TRY(og__session_plan(&s->memory, &s->given, err));
    if (s->config.want & OG__WANT_FEATURES)
        OG_TRY(og__session_decide_caches(s, profiling, err));
out:
    return rc;
}

/* Topology in, sizes learnt, budget checked, cache decided. */
static int plan_exec(struct og_session *s, const struct og_exec_plan *exec, struct og_err *err)
{
    struct og_profiling profiling = {0};
    s->exec = *exec;
    s->memory = (struct og_memory_plan){.limit = s->memory.limit};
    if (!structure_fits(s, exec->topology))
        return refuse_topology(s, err);
    int rc = og__structure_open(&s->structure, err);
    if (rc < 0)
        return rc;
    rc = og__profiling_run(&profiling, &s->structure, s->budget, err);
    if (rc ==
        -ENOMEM) { /* not even the profiling batches fit: measure it unbudgeted, then refuse */
        *err = (struct og_err){0};
        return refuse_by_profiling(s, "pilot", err);
    }
    if (rc < 0)
        return rc;
    rc = plan_there(s, &profiling, err);
    og__profiling_release(&profiling, s->budget);
    return rc;
}

/* ---- one after another ---- */

static void drop_plan(struct og_session *s)
{
    og__topology_release(&s->structure.topology);
    og__policy_close(s->path.policy);
    s->path.policy = NULL;
    og__tiers_close(s->path.tiers);
    s->path.tiers = NULL;
    og__session_drop_hotness(s);
    s->predicted = (struct og_predicted){0};
    free(s->choice.compared);
    s->choice = (struct og_choice){0};
    free(s->size);
    s->size = s->path.size = NULL;
}

/* By default the topology is on disk when memory is too small, or the disk is better (choose.h).
 * Where it cannot fit it is planned for memory last, only to name the size that would do: batches
 * of a large file that is mapped take minutes. */
static int plan_session(struct og_session *s, const struct og_exec_plan *requested,
                        struct og_err *err)
{
    struct og_exec_plan exec = *requested;
    if (requested->topology != OG_TOPOLOGY_AUTO)
        return plan_exec(s, &exec, err);
    const bool fits = structure_fits(s, OG_TOPOLOGY_MEMORY);
    exec.topology = fits ? OG_TOPOLOGY_MEMORY : OG_TOPOLOGY_DISK;
    int rc = plan_exec(s, &exec, err);
    if (rc == 0 && !fits)
        og__say(&s->config.log, OG__INFO,
                "the graph's structure stays on disk: --memory cannot hold it");
    if (rc != -ENOMEM)
        return rc;
    const struct og_err first = *err;
    const size_t smallest = s->memory.smallest;
    *err = (struct og_err){0};
    drop_plan(s);
    exec.topology = fits ? OG_TOPOLOGY_DISK : OG_TOPOLOGY_MEMORY;
    rc = plan_exec(s, &exec, err);
    if (rc == 0)
        og__say(&s->config.log, OG__INFO, "the graph's structure stays on disk (%s)",
                first.message);
    if (rc == -ENOMEM && smallest < s->memory.smallest) /* the refusal that names less */
        *err = first;
    return rc;
}

/* ---- packs of --samples ---- */

/* May memory hold every feature, as far as is known before it is planned? */
static bool may_hold_all(const struct og_session *s)
{
    const struct og_amount *cache = &s->config.opt.cache;
    const double bytes = (double)og__feature_bytes(s->workload.row_graph);
    if (cache->unit == OG_BYTES)
        return cache->value >= bytes;
    if (cache->unit != OG_UNSET)
        return s->workload.cache_rows >= s->workload.n_nodes;
    return bytes <= (double)s->memory.limit / 2;
}

/* Packs of the samples are for what a policy that adopts it keeps. Left open, they are what to read
 * where memory does not hold all features anyway. */
static bool open_packs(struct og_session *s, const struct og_exec_plan *exec)
{
    bool open = exec->policy == OG_POLICY_AUTO && exec->layout != OG_LAYOUT_RAW && !may_hold_all(s);
    bool requested = og__policy_adopts(exec->policy) && exec->layout == OG_LAYOUT_PACKED;
    if (exec->tiers) /* what a cache of its own on the device misses is another */
        return false;
    if (!s->offline || !(s->config.want & OG__WANT_FEATURES) || exec->whole_draws ||
        !(open || requested))
        return false;
    if (og__plans_units(&s->workload) && og__packs_are_there(s->offline->dir))
        og__say(&s->config.log, OG__WARN,
                "%s/pack: without features of edges, ignored (what batches miss is packed in "
                "training)",
                s->offline->dir);
    else
        s->path.stores.packs = og__packs_open(s->offline->dir, s->workload.graph, &s->config.log);
    if (s->path.stores.packs)
        og__profile_load(s->path.stores.packs->dir, &s->workload.made);
    return s->path.stores.packs != NULL;
}

/* Finds a type of which the packs' cache has more rows than this run's. *requested, *here: how
 * many. Returns the name of the type, "" if homogeneous, NULL if all have room. */
static const char *find_short(const struct og_session *s, bool planned, uint32_t *requested,
                              uint32_t *here)
{
    const struct og_packs *p = s->path.stores.packs;
    const struct og_graph *g = s->workload.row_graph;
    *requested = p->cache_rows;
    *here = 0;
    if (!planned)
        return "";
    for (uint32_t k = 0; k < g->n_groups; k++) {
        *requested = p->group_rows[k];
        *here = (uint32_t)s->size[k].slots;
        if (*requested > *here)
            return g->group[k].name;
    }
    return NULL;
}

static bool lack_room(struct og_session *s, bool planned)
{
    uint32_t requested, here;
    const char *type = find_short(s, planned, &requested, &here);
    if (type)
        og__say(&s->config.log, OG__WARN,
                "%s: for a cache of %" PRIu32 " rows%s%s, this run's has %" PRIu32
                ": it does without",
                s->path.stores.packs->dir, requested, *type ? " of " : "", type, here);
    return type != NULL;
}

static void drop_packs(struct og_session *s)
{
    og__packs_close(s->path.stores.packs);
    s->path.stores.packs = NULL;
    s->workload.made = (struct og_disk_profile){0};
}

/* With packs of --samples if they fit, else as if there were none. */
static int plan_with_packs(struct og_session *s, const struct og_exec_plan *requested,
                           struct og_err *err)
{
    struct og_exec_plan packed = *requested;
    packed.policy = og__policy_that_adopts();
    packed.layout = OG_LAYOUT_PACKED;
    packed.whole_draws = true;
    int rc = plan_session(s, &packed, err);
    if ((rc < 0 && rc != -ENOMEM) || !lack_room(s, rc == 0))
        return rc;
    drop_packs(s);
    drop_plan(s);
    *err = (struct og_err){0};
    return plan_session(s, requested, err);
}

/* ---- the execution plan ---- */

/* What the options say, and leave open. */
static struct og_exec_plan requested_exec(const struct og_config *config)
{
    const struct og_options *opt = &config->opt;
    return (struct og_exec_plan){.policy = opt->policy,
                                 .layout = opt->layout,
                                 .topology = opt->topology,
                                 .alternate = opt->alternate,
                                 .whole_draws = config->want & OG__WANT_WHOLE_DRAWS,
                                 .reuses = opt->resample_every > 1,
                                 .models = config->want & OG__WANT_MODEL,
                                 .tiers = og__has_tiers(config),
                                 .device_policy = config->upper.policy,
                                 .has_victim_buffer = config->victim.on,
                                 .one_by_one = opt->pipeline == OG_PIPELINE_NONE,
                                 .threads = opt->threads,
                                 .samplers = opt->executors.samplers};
}

/* From here on the options say what was chosen: it is reported, and written down. */
static int resolve_options(struct og_config *config, const struct og_exec_plan *exec,
                           struct og_err *err)
{
    struct og_options *opt = &config->opt;
    const char *device = og__policy_word(exec->device_policy);
    int rc = 0;
    opt->policy = exec->policy;
    opt->layout = exec->layout;
    opt->topology = exec->topology;
    opt->alternate = exec->alternate;
    if (!exec->tiers)
        return 0;
    config->upper.policy = exec->device_policy;
    if (!opt->device_policy && exec->device_policy != og__policy_ranked_like(exec->policy))
        rc = og_options_set(opt, "device-policy", device, err);
    return rc;
}

int og__session_place(struct og_session *s, struct og_err *err)
{
    const struct og_exec_plan requested = requested_exec(&s->config);
    s->exec = requested;
    OG_DO(open_packs(s, &requested) ? plan_with_packs(s, &requested, err)
                                    : plan_session(s, &requested, err));
    return resolve_options(&s->config, &s->exec, err);
}
