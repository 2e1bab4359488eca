/* Configuring a session: from the options and what it is opened for, values alone. */
#include "session/session_parts.h"

#include "flow/packs.h"
#include "options/devices.h"
#include "options/options.h"
#include "session/option_effects.h"

#include <math.h>

/* ---- a cache on the device over the host's ---- */

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
static void offer_device(struct og_config *c)
{
    struct og_options *opt = &c->opt;
    const bool otherwise = opt->policy == OG_POLICY_SWEEP || og__exchanges(c) || c->stores_rows ||
                           og__sampling_of_trees((enum og_sampler_kind)opt->sampler) ||
                           c->want & OG__WANT_WHOLE_DRAWS ||
                           (opt->samples && og__packs_are_there(opt->samples));
    if (opt->device == OG_DEVICE_CPU || opt->device_memory.unit != OG_UNSET || otherwise ||
        !og__trains_on_rows(c))
        return;
    c->device_free = free_of_each(c);
    if (c->device_free > 0)
        opt->device_memory = (struct og_amount){OG_BYTES, floor(c->device_free * OFFERED)};
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
        {og__sampling_of_trees((enum og_sampler_kind)opt->sampler),
         "a device cache does not support --time and --disjoint yet", "leave --device-memory out"},
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
    OG_DO(og__options_copy(&c->upper, &c->opt, err));
    if (!requested && c->opt.policy == OG_POLICY_AUTO)
        return 0;
    const int like = og__policy_ranked_like(c->opt.policy);
    if (!requested && like != c->opt.policy)
        requested = og__policy_word(like);
    OG_DO(requested ? og_options_set(&c->upper, "policy", requested, err) : 0);
    if (c->upper.policy == OG_POLICY_AUTO)
        return og__fail(err, -EINVAL, "leave out --device-policy, which --policy auto chooses too",
                        "device-policy: auto selects the policies of both caches");
    return 0;
}

static int read_victims(struct og_config *c, struct og_err *err)
{
    int rc = og__victim_read(&c->victim, c->opt.victim, err);
    const bool open = c->upper.policy == OG_POLICY_AUTO;
    if (rc < 0 || !c->victim.on || open || og__policy_admits(c->upper.policy))
        return rc;
    return og__fail(err, -EINVAL, "use --device-policy hybrid, or leave out --victim",
                    "victim: the device policy %s evicts no rows",
                    og__policy_word(c->upper.policy));
}

static int resolve_tiers(struct og_config *c, struct og_err *err)
{
    struct og_options *opt = &c->opt;
    if (opt->device_memory.unit == OG_PERCENT)
        return og__fail(err, -EINVAL, "give a size, such as --device-memory 8G",
                        "--device-memory: takes a size, not a percentage");
    if (!og__has_tiers(c))
        return 0;
    if (opt->layout == OG_LAYOUT_AUTO)
        opt->layout = OG_LAYOUT_RAW;
    OG_DO(read_policy(c, err));
    OG_DO(refuse_with(c, err));
    OG_DO(read_victims(c, err));
    if (opt->executors.trainers == 0 &&
        opt->executors.samplers == 0) /* what several do is not measured with rows on devices */
        opt->executors.trainers = 1;
    return 0;
}

int og__session_resolve_typed_tiers(struct og_config *c, struct og_err *err)
{
    if (c->upper.policy == OG_POLICY_AUTO)
        OG_DO(og_options_set(&c->upper, "policy", og__policy_word(c->opt.policy), err));
    return read_victims(c, err);
}

/* ---- files ---- */

/* Files that are whole in one folder are in the user's cache folder, unless --scratch is given.
 * What batches take, which --disk bounds, is with the run. */
static int know_whole(struct og_config *c, struct og_err *err)
{
    struct og_places folders;
    const char *here = c->want & OG__WANT_TRAINING ? "." : NULL; /* a run's folder is made there */
    const char *run = c->opt.run ? c->opt.run : here;
    int rc = og__scratch_folders(&folders, &c->opt, NULL, err);
    c->whole = (struct og_whole_files){.times = OG_MAX(folders.n, 1u)};
    if (rc == 0 && !c->opt.scratch && run && folders.n > 0 &&
        !og__same_file_system(folders.path[0], run))
        c->whole = (struct og_whole_files){.room = og__disk_free(folders.path[0]) / 10 * 9 /
                                                   (uint64_t)OG_MAX(c->n_local, 1)};
    og__places_free(&folders);
    return rc;
}

/* ---- all options ---- */

/* Ranks on one machine share it: each has its part of the CPUs, and of the disk. */
static void share_machine(struct og_config *c)
{
    if (c->n_local < 2)
        return;
    if (c->opt.threads == 0)
        c->opt.threads = c->cpus > 0 ? c->cpus : OG_MAX(og__cpu_count() / c->n_local, 1);
    if (c->opt.disk.unit != OG_BYTES)
        c->opt.disk = (struct og_amount){
            OG_PERCENT, (c->opt.disk.unit == OG_PERCENT ? c->opt.disk.value : 90) / c->n_local};
}

/* Steps that ranks can share out, and nothing that makes them need one another's samples. Who is no
 * rank works alone: most commands are of one process. */
static int share_steps(struct og_config *c, struct og_err *err)
{
    struct og_options *opt = &c->opt;
    const int ranks = (int)c->share.ranks;
    OG_DO(og__workers_check(opt, ranks, err));
    opt->workers = ranks;
    if (ranks > 1 && c->handover.n == 0 && !og_options_given(opt, "accumulate")) {
        opt->accumulate = ranks;
        og__say(&c->log, OG__INFO,
                "a step takes %d mini-batches, one of each worker: --accumulate %d", ranks, ranks);
    }
    return 0;
}

/* Some of several may have nothing to do. */
static void tell_devices(const struct og_config *c)
{
    const struct og_options *opt = &c->opt;
    const int n = og__devices(c).n;
    const int trainers = OG_MAX(opt->executors.trainers, 1);
    if (n > trainers && c->want & OG__WANT_TRAINING)
        og__say(&c->log, OG__INFO,
                "%d of %d devices train%s: with --accumulate %d --staleness %d --pipeline %s, %d "
                "mini-batches are computed at a time",
                trainers, n, trainers == 1 ? "s" : "", opt->accumulate, opt->staleness,
                og__option_word("pipeline", opt->pipeline), og__trainers_useful(opt));
}

static void take_use(struct og_config *c, const struct og_session_use *use)
{
    c->want = use->want;
    if (use->handover)
        c->handover = *use->handover;
    c->target = use->target;
    c->nodes = use->nodes;
    c->checkpoint = use->checkpoint;
    c->share = (struct og_share){use->share.rank, OG_MAX(use->share.ranks, 1u)};
    c->n_local = use->n_local;
    c->cpus = use->cpus;
    c->layout_open = use->layout_open;
    c->sharing = (struct og_sharing){use->shared_memory, use->n_local};
}

/* The model of a checkpoint comes with its options settled. */
int og__session_configure(struct og_config *c, const struct og_options *opt,
                          const struct og_session_use *use, const struct og_observer *observer,
                          struct og_err *err)
{
    const struct og_model_config *model = use->model;
    take_use(c, use);
    c->stores_rows = !model && opt->embedding > 0 &&
                     (og__reads_as_a_model(c) || c->want & OG__WANT_COUNTED) &&
                     opt->embedding_optimizer != OG_ROWS_DENSE;
    c->observer = observer;
    if (observer)
        c->log = (struct og_log){observer->message, observer->arg};
    OG_DO(og__options_copy(&c->opt, opt, err));
    if (!model)
        OG_DO(og__learner_adopt(c, opt, err));
    OG_DO(share_steps(c, err));
    share_machine(c);
    const struct og_option_set given = c->opt.given;
    c->requested = og__options_set_apart(opt);
    offer_device(c);
    OG_DO(og__options_resolve(&c->opt, &c->log, err));
    if (c->stores_rows && c->opt.executors.trainers == 0 && c->opt.executors.samplers == 0)
        c->opt.executors.trainers = 1; /* the model itself */
    tell_devices(c);
    c->preset_requested = og__options_set_apart(&c->opt);
    og__option_set_keep(&c->preset_requested, &c->opt.given, &given);
    c->layout_open = c->layout_open || c->opt.layout == OG_LAYOUT_AUTO;
    c->disk = (uint64_t)c->opt.disk.value;
    OG_DO(know_whole(c, err));
    OG_DO(og__device_sampling_check(c, err));
    if (c->opt.sample_on != OG_SAMPLE_ON_HOST && c->opt.topology == OG_TOPOLOGY_AUTO)
        c->opt.topology = OG_TOPOLOGY_MEMORY;
    return resolve_tiers(c, err);
}
