/* The caches of a session: the host's, or a device's over it. How large they are, their policies,
 * and what these will read. */
#include "session/session_parts.h"

#include "choose/hotness.h"
#include "choose/measure.h"
#include "choose/predict.h"
#include "options/options.h"

#include <inttypes.h>

/* ---- how large they are ---- */

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

/* Where rows are exchanged that of own nodes alone, by their own numbers, from now on. */
static void own_hotness(struct og_session *s)
{
    const struct og_share *own = &s->config.share;
    const uint64_t n = og__nodes_known(&s->config, s->workload.n_nodes);
    if (og__exchanges(&s->config) && s->hotness)
        og__owned_values(own->ranks, own->rank, n, s->hotness, s->hotness);
}

/* What ranks nodes for the device's cache: of several groups what their rows are worth to it. */
static int rank_device(struct og_session *s, struct og_err *err)
{
    const int kind = s->exec.device_policy;
    const size_t bytes = s->workload.n_nodes * sizeof(*s->device_hotness);
    const bool shares = og__shares_slots(&s->workload) && og__policy_caches(kind);
    if (og__ranks_alike(&s->given) || !(shares || og__policy_wants_hotness(kind)))
        return 0;
    s->device_hotness = og__alloc(s->budget, bytes, "hotness", err);
    if (!s->device_hotness)
        return -ENOMEM;
    return shares ? og__hotness_worth(&s->structure, s->pool, kind, &s->config.upper,
                                      s->device_hotness, err)
                  : og__hotness_of(&s->structure, s->pool, kind, &s->config.upper,
                                   s->device_hotness, err);
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
    struct og_worth_sums *sums = NULL;
    int rc;
    OG_TRY(rank_nodes(s, profiling, &cache.from, err));
    if (og__policy_prefills(s->exec.policy)) /* hybrid knows its misses, but starts empty */
        cache.hotness = s->hotness;
    const struct owned_misses owned = {og__profiling_misses(&cache), &s->workload,
                                       s->config.share.ranks};
    const struct og_misses of_owner = {worst_owned, &owned};
    struct og_slots_given given = {.misses = exchanges && !shares ? &of_owner : &owned.of_batch,
                                   .upper = &upper,
                                   .worth = shares ? s->hotness : NULL,
                                   .budget = s->budget};
    if (shares) /* their misses are counted over all of them */
        own_hotness(s);
    OG_TRY(rank_device(s, err));
    OG_TRY(og__upper_tier_plan(&upper, &s->given,
                               shares ? s->device_hotness ? s->device_hotness : s->hotness : NULL,
                               NULL, s->budget, err));
    if (shares)
        OG_TRY((given.sums = sums = og__worth_sums_open(s->budget, err)) ? 0 : -ENOMEM);
    OG_TRY(og__memory_plan_cache(&s->memory, &s->given, &given, s->size, err));
    if (!shares)
        own_hotness(s);
out:
    og__worth_sums_close(sums, s->budget);
    return rc;
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

/* ---- the host's cache alone ---- */

static int open_policy(struct og_session *s, struct og_err *err)
{
    struct og_group_slots groups[OG_MOST_TYPES];
    struct og_policy_setup setup = og__policy_setup(
        &s->config.opt, s->exec.policy, og__nodes_known(&s->config, s->workload.n_nodes));
    setup.n_slots = s->memory.n_slots;
    setup.hotness = s->hotness;
    setup.groups = groups;
    setup.n_groups = og__slots_of_groups(&s->workload, s->size, false, groups);
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

/* ---- a device's cache over it ---- */

void og__session_say_device(const struct og_session *s)
{
    const struct og_device_plan d = og__device_plan(&s->given);
    char left[32];
    if (d.is_short)
        og__say(&s->config.log, OG__INFO,
                "no rows stay on the device: the %s that it has free are for the model and a batch",
                og__human_bytes(left, (double)d.limit));
}

/* Slots of each group. */
struct slots {
    struct og_group_slots device[OG_MOST_TYPES], host[OG_MOST_TYPES];
};

static struct og_tiers_setup setup_of(const struct og_session *s, struct slots *slots)
{
    struct og_tiers_setup setup = og__plan_inputs_tiers(&s->given, s->memory.n_slots);
    setup.host.hotness = s->hotness;
    setup.device.hotness = s->device_hotness ? s->device_hotness : s->hotness;
    setup.host.n_groups = og__slots_of_groups(&s->workload, s->size, false, slots->host);
    setup.device.n_groups = og__slots_of_groups(&s->workload, s->size, true, slots->device);
    setup.host.groups = slots->host;
    setup.device.groups = slots->device;
    return setup;
}

static int open_tiers(struct og_session *s, struct og_err *err)
{
    struct slots slots;
    const struct og_tiers_setup setup = setup_of(s, &slots);
    return og__tiers_open(&s->path.tiers, &setup, s->budget, err);
}

/* What the profiling batches predict. */
struct telling {
    struct og_session *s;
    struct og_trace all;
    uint64_t *ptr; /* [batches + 1] of a group, */
    uint32_t *ids; /* [rows] by its numbers */
    struct og_simulated_tiers sum;
};

/* Part k of the setup, whose rows are of group g. */
static int tell_part(struct telling *t, uint32_t k, uint32_t g, const struct og_tiers_setup *all,
                     struct og_err *err)
{
    struct og_session *s = t->s;
    struct og_group_size *size = &s->size[g];
    const struct og_tiers_setup setup = og__tiers_of_group(all, k);
    struct og_simulation sim = {.trace = t->all,
                                .n_nodes = setup.host.n_nodes,
                                .superbatch = OG_MAX(t->all.n_batches, 1u),
                                .rule = size->rule,
                                .budget = s->budget};
    struct og_simulated_tiers counted;
    int rc;
    if (t->ids) {
        sim.trace = (struct og_trace){t->all.n_batches, t->ptr, t->ids};
        (void)og__trace_of_group(&t->all, all->host.groups[k].first, all->host.groups[k].end,
                                 t->ptr, t->ids);
    }
    OG_TRY(og__simulate_tiers(&sim, &setup, NULL, NULL, &counted, err));
    size->seen = counted.cost;
    size->seen_tiers = counted.tiers;
    og__plan_cost_add(&t->sum.cost, &counted.cost);
    og__tiers_cost_sum(&t->sum.tiers, &counted.tiers);
out:
    return rc;
}

static int tell_parts(struct telling *t, const struct og_tiers_setup *setup, struct og_err *err)
{
    const struct og_session *s = t->s;
    int rc = 0;
    for (uint32_t g = 0, k = 0; g < s->workload.row_graph->n_groups; g++)
        if (s->size[g].row_bytes > 0)
            OG_TRY(tell_part(t, k++, g, setup, err));
out:
    return rc;
}

/* May the caches be looked at in advance? Others continue from where that leaves them. */
static bool can_tell(const struct og_session *s, const struct og_profiling *profiling,
                     const struct og_tiers_setup *setup)
{
    const bool still =
        og__policy_is_static(setup->device.kind) && og__policy_is_static(setup->host.kind);
    const bool plans = s->config.want & OG__WANT_PLAN_ONLY && !(s->config.want & OG__WANT_QUICK);
    const struct og_simulation sim = {.n_nodes = s->workload.n_nodes,
                                      .superbatch = OG_MAX(profiling->n, 1u),
                                      .budget = s->budget};
    return still && !plans && !og__samples_ahead(&s->exec) &&
           og__simulate_tiers_bytes(&sim, setup, profiling->rows, og__input_rows(&s->workload)) <=
               og__budget_left(s->budget);
}

static int tell_tiers(struct og_session *s, const struct og_profiling *profiling,
                      struct og_err *err)
{
    static const char part[] = "pilot";
    struct slots slots;
    const struct og_tiers_setup setup = setup_of(s, &slots);
    struct telling t = {.s = s, .all = {profiling->n, profiling->ptr, profiling->ids}};
    const size_t ptr_bytes = ((size_t)profiling->n + 1) * sizeof(*t.ptr);
    const size_t ids_bytes = OG_MAX((size_t)profiling->rows, (size_t)1) * sizeof(*t.ids);
    int rc;
    OG_TRY(og__know_links(&s->learner, &s->config, &s->workload, s->budget, err));
    if (!can_tell(s, profiling, &setup))
        return 0;
    if (setup.host.n_groups > 0) {
        OG_TRY((t.ptr = og__alloc(s->budget, ptr_bytes, part, err)) ? 0 : -ENOMEM);
        OG_TRY((t.ids = og__alloc(s->budget, ids_bytes, part, err)) ? 0 : -ENOMEM);
    }
    OG_TRY(tell_parts(&t, &setup, err));
    OG_TRY(og__predict_from(&s->path, profiling, &t.sum.cost, &t.sum.tiers, err));
out:
    og__release(s->budget, t.ids, ids_bytes, part);
    og__release(s->budget, t.ptr, ptr_bytes, part);
    return rc;
}

/* ---- either ---- */

static const struct caches {
    int (*open)(struct og_session *s, struct og_err *err);
    int (*tell)(struct og_session *s, const struct og_profiling *profiling, struct og_err *err);
} of_host = {open_policy, tell_policy}, of_device = {open_tiers, tell_tiers};

static const struct caches *caches_of(const struct og_session *s)
{
    return s->exec.tiers ? &of_device : &of_host;
}

static int decide_rows(struct og_session *s, const struct og_profiling *profiling,
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

/* ---- with lists of neighbours ---- */

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

int og__session_decide_caches(struct og_session *s, const struct og_profiling *profiling,
                              struct og_err *err)
{
    s->size = s->path.size = og__group_sizes(s->workload.row_graph);
    OG_DO(s->size ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", s->workload.graph->path));
    say_short_tail(s);
    OG_DO(og__structure_add_neighbors(&s->structure, s->memory.neighbors, room_for_lists(s),
                                      &s->prepare.bytes_written, err));
    OG_DO(og__learn_rules(&s->path, err));
    return decide_rows(s, profiling, err);
}
