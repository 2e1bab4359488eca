/* A cache on the device over the host's: its options, and both policies. */
#include "session/session_parts.h"

#include "choose/hotness.h"
#include "choose/measure.h"
#include "choose/predict.h"
#include "flow/packs.h"
#include "options/devices.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

/* The part of free device memory that leaves something to their library and to other processes. */
#define OFFERED (15.0 / 16)

/* Ranks of this machine that have the same device. */
static int processes_per_device(const struct og_config *c)
{
    const int devices = og__devices_requested(&c->opt).n;
    return OG_MAX((c->n_local + devices - 1) / devices, 1);
}

/* Bytes of each device that are free for this process alone; 0: they do not say. */
static double free_of_each(const struct og_config *c)
{
    const struct og_nn_ops *ops = og__nn_ops_of_device(c->opt.device);
    const struct og_devices d = og__devices(c);
    size_t least = SIZE_MAX;
    for (int i = 0; i < d.n; i++)
        least = OG_MIN(least, ops->device_free_bytes(d.number[i]));
    return floor((double)least / processes_per_device(c));
}

/* Lets rows stay on a device that reports free memory. Not if --device-memory is given, or another
 * option excludes it. */
void og__session_offer_device(struct og_config *c)
{
    struct og_options *opt = &c->opt;
    const bool otherwise = opt->policy == OG_POLICY_SWEEP || og__exchanges(c) ||
                           c->want & OG__WANT_WHOLE_DRAWS ||
                           (opt->samples && og__packs_are_there(opt->samples));
    if (opt->device == OG_DEVICE_CPU || opt->device_memory.unit != OG_UNSET || otherwise ||
        !og__trains_on_rows(c))
        return;
    c->device_free = free_of_each(c);
    if (c->device_free > 0)
        opt->device_memory = (struct og_amount){OG_BYTES, floor(c->device_free * OFFERED)};
}

void og__session_say_device(const struct og_session *s)
{
    const struct og_device_plan d = og__device_plan(&s->given);
    char left[32];
    if (d.is_short)
        og__say(&s->config.log, OG__INFO,
                "no rows stay on the device: the %s that it has free are for the model and a batch",
                og__human_bytes(left, (double)d.limit));
}

/* Refuses what is requested together with it and does not go with it. */
static int refuse_with(const struct og_config *c, struct og_err *err)
{
    const struct og_options *opt = &c->opt;
    const struct {
        bool given;
        const char *what, *hint;
    } others[] = {
        {opt->device == OG_DEVICE_CPU, "--device cpu has no memory of its own",
         "give --device virtual or --device cuda, or leave --device-memory out"},
        {c->want & OG__WANT_WHOLE_DRAWS, "packs are for the host's cache alone",
         "leave --device-memory out"},
        {opt->policy == OG_POLICY_SWEEP || c->upper.policy == OG_POLICY_SWEEP,
         "sweep fills its cache while a device reads it", "use --policy belady or degree"},
        {og__exchanges(c), "rows on a device cannot be exchanged yet", "leave --exchange out"},
    };
    for (size_t i = 0; i < OG_COUNT(others); i++)
        if (others[i].given)
            return og__fail(err, -EINVAL, others[i].hint, "--device-memory: %s", others[i].what);
    return 0;
}

/* Unless it is named, the device's policy is static, by the host policy's ranking; or chosen with
 * that. */
static int read_policy(struct og_config *c, struct og_err *err)
{
    const char *requested = c->opt.device_policy;
    int rc;
    OG_TRY(og__options_copy(&c->upper, &c->opt, err));
    if (!requested && c->opt.policy == OG_POLICY_AUTO)
        return 0;
    const int like = og__policy_ranked_like(c->opt.policy);
    if (!requested && like != c->opt.policy)
        requested = og__policy_word(like);
    OG_TRY(requested ? og_options_set(&c->upper, "policy", requested, err) : 0);
    if (c->upper.policy == OG_POLICY_AUTO)
        OG_TRY(og__fail(err, -EINVAL, "leave out --device-policy, which --policy auto chooses too",
                        "device-policy: auto is not taken for the device's cache alone"));
out:
    return rc;
}

static int read_victims(struct og_config *c, struct og_err *err)
{
    int rc = og__victim_read(&c->victim, c->opt.victim, err);
    const bool open = c->upper.policy == OG_POLICY_AUTO;
    if (rc < 0 || !c->victim.on || open || og__policy_admits(c->upper.policy))
        return rc;
    return og__fail(err, -EINVAL, "name one that lets rows in: --device-policy hybrid",
                    "victim: nothing leaves a device's cache under %s",
                    og__policy_word(c->upper.policy));
}

int og__session_resolve_tiers(struct og_config *c, struct og_err *err)
{
    struct og_options *opt = &c->opt;
    int rc = 0;
    if (opt->device_memory.unit == OG_PERCENT)
        return og__fail(err, -EINVAL, "give a size, such as --device-memory 8G",
                        "--device-memory: a share of what a device has is not known yet");
    if (!og__has_tiers(c))
        return 0;
    if (opt->layout == OG_LAYOUT_AUTO)
        opt->layout = OG_LAYOUT_RAW;
    OG_TRY(read_policy(c, err));
    OG_TRY(refuse_with(c, err));
    OG_TRY(read_victims(c, err));
    if (opt->executors.trainers == 0 &&
        opt->executors.samplers == 0) /* what several do is not measured with rows on devices */
        opt->executors.trainers = 1;
out:
    return rc;
}

int og__session_resolve_typed_tiers(struct og_config *c, struct og_err *err)
{
    int rc = 0;
    if (c->upper.policy == OG_POLICY_AUTO)
        OG_TRY(og_options_set(&c->upper, "policy", og__policy_word(c->opt.policy), err));
    OG_TRY(read_victims(c, err));
out:
    return rc;
}

/* ---- the policies ---- */

/* What ranks nodes for the device's cache: of several groups what their rows are worth to it. */
int og__session_rank_device(struct og_session *s, struct og_err *err)
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

/* Slots of each range. */
struct slots {
    struct og_group_slots device[OG_MOST_TYPES], host[OG_MOST_TYPES];
};

static struct og_tiers_setup setup_of(const struct og_session *s, struct slots *slots)
{
    struct og_tiers_setup setup = og__plan_inputs_tiers(&s->given, s->memory.n_slots);
    setup.host.hotness = s->hotness;
    setup.device.hotness = s->device_hotness ? s->device_hotness : s->hotness;
    setup.host.n_groups = og__host_groups(&s->workload, s->size, slots->host);
    setup.device.n_groups = og__device_groups(&s->workload, s->size, slots->device);
    setup.host.groups = slots->host;
    setup.device.groups = slots->device;
    return setup;
}

int og__session_open_tiers(struct og_session *s, struct og_err *err)
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

int og__session_tell_tiers(struct og_session *s, const struct og_profiling *profiling,
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
