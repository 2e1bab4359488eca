/* Decides what a session will do and what of it memory holds, before any large allocation.
 * Profiling batches are sampled, sizes follow from them, and with these the budget is refused or
 * divided. What was left open is tried in turn: with packs or without, the graph's topology in
 * memory or on disk. */
#include "session/session_parts.h"

#include "choose/exec_plans.h"
#include "choose/hotness.h"
#include "choose/predict.h"
#include "dataset/on_disk.h"
#include "options/options.h"

#include <inttypes.h>

/* ---- the cache ---- */

static size_t hotness_bytes(const struct og_session *s)
{
    return s->workload.n_nodes * sizeof(*s->hotness);
}

/* Scores by which the policy ranks nodes. For a policy that learns what is hot from the superbatch.
 * Degrees and visits of the first half of the profiling batches estimate its misses in the other
 * half. *from: the first of those. With several groups also what rows are worth, which divides
 * slots among them. */
static int rank_nodes(struct og_session *s, const struct og_profiling *profiling, uint32_t *from,
                      struct og_err *err)
{
    const int policy = s->exec.policy;
    if (!s->memory.hotness || !(og__policy_caches(policy) || og__policy_wants_hotness(policy)))
        return 0;
    s->hotness = og__alloc(s->budget, hotness_bytes(s), "hotness", err);
    if (!s->hotness)
        return -ENOMEM;
    if (og__shares_slots(&s->workload))
        return og__hotness_worth(&s->structure, s->pool, policy, &s->config.opt, s->hotness, err);
    if (og__policy_wants_hotness(policy))
        return og__hotness_of(&s->structure, s->pool, policy, &s->config.opt, s->hotness, err);
    *from = profiling->n / 2;
    int rc;
    OG_TRY(og__hotness_degree_guess(&s->structure.topology, s->hotness, err));
    for (uint64_t i = 0; *from > 0 && i < profiling->ptr[*from]; i++)
        s->hotness[profiling->ids[i]]++;
out:
    return rc;
}

static void drop_device_hotness(struct og_session *s)
{
    og__release(s->budget, s->device_hotness, hotness_bytes(s), "hotness");
    s->device_hotness = NULL;
}

void og__session_drop_hotness(struct og_session *s)
{
    og__release(s->budget, s->hotness, hotness_bytes(s), "hotness");
    s->hotness = NULL;
    drop_device_hotness(s);
}

/* An owner misses the share of its requests that a batch misses with all owners' slots. If it gets
 * several times its share of requests, that cache is so many times smaller. */
struct owned_misses {
    struct og_misses of_batch;
    const struct og_workload *workload;
    uint32_t owners;
};

static int worst_owned(const void *arg, const uint64_t *n_slots, uint64_t *rows, struct og_err *err)
{
    const struct owned_misses *o = arg;
    const struct og_workload *f = o->workload;
    const double more = (double)f->requested_rows / (double)og__input_rows(f);
    const double all = (double)*n_slots * o->owners / OG_MAX(more, 1.0);
    const uint64_t slots = OG_MIN((uint64_t)all, f->n_nodes);
    const int rc = o->of_batch.worst(o->of_batch.arg, &slots, rows, err);
    *rows = OG_MIN((uint64_t)((double)*rows * more) + 1, og__read_rows(f));
    return rc;
}

static int size_cache(struct og_session *s, const struct og_profiling *profiling,
                      struct og_err *err)
{
    const bool shares = s->workload.row_graph->has_types;
    const bool exchanges = og__exchanges(&s->config);
    struct og_profiling_cache cache = {.profiling = profiling,
                                       .workload = &s->workload,
                                       .policy = s->exec.policy,
                                       .of_batches = !shares,
                                       .budget = s->budget};
    struct og_upper_tier upper;
    int rc;
    OG_TRY(rank_nodes(s, profiling, &cache.from, err));
    if (og__policy_prefills(s->exec.policy)) /* hybrid knows its misses, but starts empty */
        cache.hotness = s->hotness;
    const struct owned_misses owned = {og__profiling_misses(&cache), &s->workload,
                                       s->config.share.ranks};
    const struct og_misses of_owner = {worst_owned, &owned};
    const struct og_slots_given given = {.misses =
                                             exchanges && !shares ? &of_owner : &owned.of_batch,
                                         .upper = &upper,
                                         .worth = shares ? s->hotness : NULL,
                                         .budget = s->budget};
    if (shares) /* their misses are counted over all of them */
        og__session_own_hotness(s);
    OG_TRY(og__session_rank_device(s, err));
    OG_TRY(og__upper_tier_plan(&upper, &s->given,
                               shares ? s->device_hotness ? s->device_hotness : s->hotness : NULL,
                               s->budget, err));
    OG_TRY(og__memory_plan_cache(&s->memory, &s->given, &given, s->size, err));
    if (!shares)
        og__session_own_hotness(s);
out:
    return rc;
}

void og__session_own_hotness(struct og_session *s)
{
    const struct og_share *own = &s->config.share;
    const uint64_t n = og__nodes_known(&s->config, s->workload.n_nodes);
    if (og__exchanges(&s->config) && s->hotness)
        og__owned_values(own->ranks, own->rank, n, s->hotness, s->hotness);
}

static void drop_spent_hotness(struct og_session *s, int rc)
{
    if (rc < 0 || !og__policy_keeps_hotness(s->exec.policy)) {
        og__release(s->budget, s->hotness, hotness_bytes(s), "hotness");
        s->hotness = NULL;
    }
    if (rc < 0 || !og__policy_keeps_hotness(s->exec.device_policy))
        drop_device_hotness(s);
}

/* ---- of the host's cache alone, or of a device's over it ---- */

static int open_policy(struct og_session *s, struct og_err *err)
{
    struct og_group_slots groups[OG_MOST_TYPES];
    struct og_policy_setup setup = og__policy_setup(
        &s->config.opt, s->exec.policy, og__nodes_known(&s->config, s->workload.n_nodes));
    setup.n_slots = s->memory.n_slots;
    setup.hotness = s->hotness;
    setup.groups = groups;
    setup.n_groups = og__host_groups(&s->workload, s->size, groups);
    return og__policy_open(&s->path.policy, &setup, s->budget, err);
}

/* What the profiling batches predict. Others would continue from where it left them, and a
 * superbatch predicts for itself. */
static int tell_policy(struct og_session *s, const struct og_profiling *profiling,
                       struct og_err *err)
{
    if (!og__policy_is_static(s->exec.policy) || og__samples_ahead(&s->exec) ||
        og__exchanges(&s->config))
        return 0;
    drop_spent_hotness(s, 0); /* the policy has seen it */
    return og__predict_profiling(&s->path, profiling, err);
}

static const struct caches {
    int (*open)(struct og_session *s, struct og_err *err);
    int (*tell)(struct og_session *s, const struct og_profiling *profiling, struct og_err *err);
} of_host = {open_policy, tell_policy},
  of_device = {og__session_open_tiers, og__session_tell_tiers};

static const struct caches *caches_of(const struct og_session *s)
{
    return s->exec.tiers ? &of_device : &of_host;
}

static int decide_cache(struct og_session *s, const struct og_profiling *profiling,
                        struct og_err *err)
{
    int rc;
    OG_TRY(size_cache(s, profiling, err));
    OG_TRY(caches_of(s)->open(s, err));
    OG_TRY(caches_of(s)->tell(s, profiling, err));
out:
    drop_spent_hotness(s, rc);
    return rc;
}

/* ---- sizes ---- */

/* By default victim rings are as deep as what is left has room for (memory_plan.h). While a policy
 * is open, the plainest counts. */
static void resolve_victim_buffer(struct og_session *s)
{
    struct og_victim_request *v = &s->config.victim;
    const struct og_exec_plan exec = s->exec;
    if (!v->fitted)
        return;
    og__plainest_exec_plan(&s->exec);
    v->depth = og__memory_plan_victim_buffer(&s->given);
    s->exec = exec;
}

/* With the profiling batches known everything but the cache is: does it fit? */
static int plan_fixed(struct og_session *s, struct og_err *err)
{
    const struct og_device_plan device = og__device_plan(&s->given);
    og__memory_plan_fixed(&s->memory, &s->given);
    const int rc = og__device_plan_check(&device, err);
    return rc < 0 ? rc : og__memory_plan_check(&s->memory, err);
}

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
    resolve_victim_buffer(s);
    rc = plan_fixed(s, err);
    return rc < 0 ? rc : og__fail(err, -ENOMEM, NULL, "%s does not fit", what);
}

/* By sampling with the topology mapped, for a budget that cannot hold it. Nothing of it stays. */
static int refuse_topology(struct og_session *s, struct og_err *err)
{
    const int rc = og__topology_map(s->workload.graph, &s->structure.topology, err);
    return rc < 0 ? rc : refuse_by_profiling(s, "topology", err);
}

static void say_short_tail(const struct og_session *s)
{
    const struct og_memory_plan *m = &s->memory;
    if (m->tail < m->wanted)
        og__say(&s->config.log, OG__WARN,
                "--memory and --disk have room for %" PRIu64 " of the %" PRIu64
                " batches that --policy %s looks ahead after a superbatch",
                m->tail, m->wanted, og__option_word("policy", s->exec.policy));
}

/* What batches will leave of --disk. All, if so many bytes of lists were requested: then those
 * leave room for them. */
static uint64_t room_for_lists(const struct og_session *s)
{
    const bool requested = s->config.opt.neighbor_cache.unit == OG_BYTES;
    const uint64_t away = requested ? 0 : og__memory_plan_away(&s->memory, &s->given);
    const uint64_t all = og__whole_room(&s->config);
    const uint32_t times = s->config.whole.times;
    return times > 0 ? all - OG_MIN(all, (away + times - 1) / times) : all;
}

static int plan_features(struct og_session *s, const struct og_profiling *profiling,
                         struct og_err *err)
{
    int rc;
    s->size = s->path.size = og__group_sizes(s->workload.row_graph);
    OG_TRY(s->size ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", s->workload.graph->path));
    OG_TRY(og__memory_plan_lookahead(&s->memory, &s->given, err));
    say_short_tail(s);
    og__memory_plan_sample_groups(&s->memory, &s->given);
    OG_TRY(og__memory_plan_neighbors(&s->memory, &s->given, err));
    OG_TRY(og__structure_add_neighbors(&s->structure, s->memory.neighbors, room_for_lists(s),
                                       &s->prepare.bytes_written, err));
    OG_TRY(og__learn_rules(&s->path, err));
    OG_TRY(decide_cache(s, profiling, err));
out:
    return rc;
}

/* ---- calibration ---- */

/* Is there room for so many trainers? From then on sizes are those with them. */
static bool has_room(struct og_session *s, int trainers)
{
    const struct og_exec_plan exec = s->exec;
    struct og_memory_plan m = s->memory;
    struct og_err ignored = {0};
    s->config.opt.executors.trainers = trainers;
    og__learner_sizes(&s->learner, &s->workload, &s->config);
    og__plainest_exec_plan(&s->exec);
    og__memory_plan_fixed(&m, &s->given);
    s->exec = exec;
    return og__memory_plan_check(&m, &ignored) == 0;
}

/* For --executors auto: as fast as measured, as many as memory holds. What was measured stays when
 * a plan is tried another way. */
static int resolve_trainers(struct og_session *s, struct og_err *err)
{
    struct og_calibration *h = &s->calibration;
    int rc = 0;
    if (h->n_tried == 0 && og__calibration_requested(&s->config, &s->workload))
        OG_TRY(og__calibration_try(h, &s->learner, &s->structure, s->config.opt.threads,
                                   og__trainers_useful(&s->config.opt), err));
    for (int n = h->n_tried; n > 0; n--) {
        const int trainers = og__calibration_choose(h->tried, n);
        if (has_room(s, trainers) || trainers == 1)
            break;
    }
    if (s->config.opt.executors.trainers == 0 && s->config.opt.executors.samplers == 0)
        s->config.opt.executors.trainers = 1;
out:
    return rc;
}

/* For --preset fgnn; measured once, as above. */
static int resolve_samplers(struct og_session *s, struct og_err *err)
{
    struct og_calibration *h = &s->calibration;
    int rc = 0;
    if (h->by_rule == 0 && og__calibration_ruled(&s->config, &s->workload))
        rc = og__calibration_rule(h, &s->learner, &s->structure, s->config.opt.threads, err);
    s->exec.samplers = h->by_rule;
    return rc;
}

static int resolve_calibration(struct og_session *s, struct og_err *err)
{
    const struct og_trainers_setup setup = og__trainers_setup(&s->config.opt);
    if (s->config.opt.executors.samplers == 0) {
        const int rc = resolve_trainers(s, err);
        return rc < 0 ? rc : resolve_samplers(s, err);
    }
    return s->config.want & OG__WANT_TRAINING && !s->calibration.known &&
                   og__trainers_all(&setup) > 0
               ? og__calibration_time(&s->calibration, &s->learner, &s->structure, err)
               : 0;
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
    return og__choose(&s->choice, &in, profiling, &s->exec, err);
}

static int plan_known(struct og_session *s, struct og_profiling *profiling, struct og_err *err)
{
    const int topology = s->exec.topology;
    int rc;
    OG_TRY(know_growth(s, profiling, s->budget, err));
    OG_TRY(og__know_batches(s, profiling, err));
    OG_TRY(resolve_calibration(s, err));
    resolve_victim_buffer(s);
    OG_TRY(choose(s, profiling, err));
    if (s->exec.topology != topology)
        OG_TRY(move_structure(s, profiling, err));
    OG_TRY(plan_fixed(s, err));
    if (s->config.want & OG__WANT_FEATURES)
        OG_TRY(plan_features(s, profiling, err));
    else
        og__memory_plan_sample_groups(&s->memory, &s->given);
out:
    return rc;
}

static bool structure_fits(const struct og_session *s, int topology)
{
    const size_t structure = og__structure_bytes(&s->structure, topology);
    return OG__PROCESS_BYTES + structure + og__budget_used(s->budget) <= s->memory.limit;
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
    rc = plan_known(s, &profiling, err);
    og__profiling_release(&profiling, s->budget);
    return rc;
}

/* ---- where the topology is ---- */

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
    if (s->offline && (s->config.want & OG__WANT_FEATURES) && !exec->whole_draws &&
        (open || requested))
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

int og__session_plan(struct og_session *s, struct og_err *err)
{
    const struct og_exec_plan requested = requested_exec(&s->config);
    s->exec = requested;
    int rc;
    OG_TRY(open_packs(s, &requested) ? plan_with_packs(s, &requested, err)
                                     : plan_session(s, &requested, err));
    rc = resolve_options(&s->config, &s->exec, err);
out:
    return rc;
}
