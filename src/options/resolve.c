/* Resolves presets, auto and percentages. Explicit options and config files override a preset. */
#include "base/file.h"
#include "base/memory.h"
#include "nn/nn.h"
#include "nn/rates.h"
#include "options/devices.h"
#include "options/options.h"
#include "options/trainer_count.h"
#include "sample/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A preset is a list of options and values for options that are not explicit. None of them changes
 * results. */
static const struct preset_value {
    int preset;
    const char *name, *value;
} preset_values[] = {
    /* memory-mapped features, cached by the kernel only (Park et al. 2022, §5.1) */
    {OG_PRESET_PYG_PLUS, "io", "mmap"},
    {OG_PRESET_PYG_PLUS, "policy", "none"},
    /* neighbour cache and PaGraph's feature cache (Park et al. 2022, §5.1) */
    {OG_PRESET_ALI_PG, "topology", "disk"},
    {OG_PRESET_ALI_PG, "sample-group", "1"},
    {OG_PRESET_ALI_PG, "policy", "degree"},
    /* (Park et al. 2022, §3) */
    {OG_PRESET_GINEX, "topology", "disk"},
    {OG_PRESET_GINEX, "sample-group", "1"},
    {OG_PRESET_GINEX, "policy", "belady"},
    {OG_PRESET_GINEX, "phased-memory", "true"},
    /* (Liu et al. 2025, §4, §5.2) */
    {OG_PRESET_DISKGNN, "topology", "memory"},
    {OG_PRESET_DISKGNN, "policy", "frequency"},
    {OG_PRESET_DISKGNN, "layout", "packed"},
    {OG_PRESET_DISKGNN, "phased-memory", "true"},
    /* (Yang et al. 2022, §6) */
    {OG_PRESET_FGNN, "topology", "memory"},
    {OG_PRESET_FGNN, "policy", "presc"},
    {OG_PRESET_FGNN, "presc-epochs", "1"},
    /* (Park et al. 2024, §4.2) */
    {OG_PRESET_LSM_GNN, "topology", "memory"},
    {OG_PRESET_LSM_GNN, "policy", "hybrid"},
    /* (Sun et al. 2023, §3) */
    {OG_PRESET_HELIOS, "topology", "memory"},
    {OG_PRESET_HELIOS, "policy", "presc"},
    {OG_PRESET_HELIOS, "presc-epochs", "1"},
    /* everything resident */
    {OG_PRESET_MEMORY, "topology", "memory"},
    {OG_PRESET_MEMORY, "policy", "degree"},
    {OG_PRESET_MEMORY, "cache", "100%"},
};

/* With --device-memory these come first: a device cache above the host's. Rows are ranked by how
 * often the superbatch's samples read them (Liu et al. 2025, §4), or as in Park et al. 2024, §4.2,
 * §4.3. */
static const struct preset_value device_values[] = {
    {OG_PRESET_GINEX, "device-policy", "frequency"},
    {OG_PRESET_DISKGNN, "device-policy", "frequency"},
    {OG_PRESET_LSM_GNN, "policy", "pagerank"},
    {OG_PRESET_LSM_GNN, "device-policy", "hybrid"},
    {OG_PRESET_LSM_GNN, "victim", "pvp"},
};

static int apply_values(struct og_options *opt, const struct preset_value *list, size_t n,
                        struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct preset_value *p = &list[i];
        if (p->preset != opt->preset || og_options_given(opt, p->name))
            continue;
        OG_DO(og_options_set(opt, p->name, p->value, err));
    }
    return 0;
}

static int apply_preset(struct og_options *opt, struct og_err *err)
{
    const bool over = opt->device_memory.unit != OG_UNSET;
    int rc = over ? apply_values(opt, device_values, OG_COUNT(device_values), err) : 0;
    return rc < 0 ? rc : apply_values(opt, preset_values, OG_COUNT(preset_values), err);
}

bool og__options_alternate(const struct og_options *opt)
{
    for (size_t i = 0; i < OG_COUNT(preset_values); i++) {
        const struct preset_value *p = &preset_values[i];
        if (p->preset == opt->preset && strcmp(p->name, "phased-memory") == 0 &&
            !og_options_given(opt, p->name))
            return strcmp(p->value, "true") == 0;
    }
    return opt->alternate;
}

bool og__options_leave_policy(const struct og_options *opt)
{
    bool set = opt->policy != OG_POLICY_AUTO;
    for (size_t i = 0; i < OG_COUNT(preset_values); i++)
        set |=
            preset_values[i].preset == opt->preset && strcmp(preset_values[i].name, "policy") == 0;
    return !set;
}

void og__fanout_resolve(struct og_options *opt)
{
    for (int i = 0; og__model_is_alone(opt->model) && i < opt->n_fanout; i++)
        opt->fanout[i] = 0;
    for (int i = 0; og__sampling_by_visits((enum og_sampler_kind)opt->sampler) && i < opt->n_fanout;
         i++)
        opt->fanout[i] = OG_MIN(opt->neighbors, opt->walks * opt->walk_length);
}

void og__fanout_follow(struct og_options *opt, int layers)
{
    if (og_options_given(opt, "fanout"))
        return;
    for (int i = opt->n_fanout; i < layers; i++)
        opt->fanout[i] = opt->fanout[i - 1];
    opt->n_fanout = layers;
}

/* Trees and times have a sampler of their own. */
static void resolve_sampler(struct og_options *opt)
{
    if ((opt->disjoint || opt->time != OG_TIMES_OFF) && !og_options_given(opt, "sampler"))
        opt->sampler = OG_SAMPLER_DISJOINT;
    if (opt->sampler == OG_SAMPLER_DISJOINT)
        opt->disjoint = true;
}

/* A model of single nodes adds up what is sampled, so nothing may be. */
static int check_alone(const struct og_options *opt, struct og_err *err)
{
    struct og_inputs inputs;
    int rc = og__inputs(opt, &inputs, err);
    if (rc < 0 || !og__model_is_alone(opt->model) || opt->sampler == OG_SAMPLER_UNIFORM)
        return rc;
    return og__fail(err, -EINVAL, "leave out --sampler, --disjoint and --time",
                    "--sampler %s: --model %s sees no neighbours",
                    og__option_word("sampler", opt->sampler), og__model_words[opt->model]);
}

/* "K" or "0-K", and ":HOW". */
static bool read_inputs(const char *text, struct og_inputs *out)
{
    const bool all = strncmp(text, "0-", 2) == 0;
    const char *number = all ? text + 2 : text;
    char *end;
    const long last = strtol(number, &end, 10);
    *out = (struct og_inputs){0};
    if (*number < '0' || *number > '9' || (*end != 0 && *end != ':') || last > OG_MAX_HOPS)
        return false;
    snprintf(out->how, sizeof(out->how), "%s", *end ? end + 1 : "");
    out->last = (int)last;
    out->first = all ? 0 : out->last;
    return true;
}

int og__inputs(const struct og_options *opt, struct og_inputs *out, struct og_err *err)
{
    *out = (struct og_inputs){0};
    if (!opt->inputs || !og__model_takes(opt->model, "inputs") || read_inputs(opt->inputs, out))
        return 0;
    return og__fail(err, -EINVAL, "use --inputs 0-2, or --inputs 2 for the last hop alone",
                    "--inputs %.20s: 0-K or K expected, K up to %d", opt->inputs, OG_MAX_HOPS);
}

/* The default has one word for it. */
static void resolve_order(struct og_options *opt)
{
    if (!opt->order || strcmp(opt->order, "file") != 0)
        return;
    free(opt->order);
    opt->order = NULL;
}

static int resolve_layers(struct og_options *opt, struct og_err *err)
{
    if (opt->layers == 0)
        opt->layers = opt->n_fanout;
    og__fanout_follow(opt, opt->layers);
    if (opt->layers == opt->n_fanout)
        return 0;
    return og__fail(err, -EINVAL, "give --fanout a number per layer, the seeds' hop first",
                    "--layers %d: --fanout has %d numbers", opt->layers, opt->n_fanout);
}

enum og_dtype og__pack_dtype(const struct og_options *opt, enum og_dtype stored)
{
    static const enum og_dtype of[] = {[OG_PACK_F32] = OG_F32,
                                       [OG_PACK_F16] = OG_F16,
                                       [OG_PACK_BF16] = OG_BF16,
                                       [OG_PACK_I8] = OG_I8,
                                       [OG_PACK_E4M3] = OG_E4M3};
    return opt->pack_dtype == OG_PACK_STORED ? stored : of[opt->pack_dtype];
}

/* 90 % of the free memory, or the requested share or size. */
static int resolve_memory(struct og_options *opt, const struct og_log *log, struct og_err *err)
{
    size_t bytes = og__memory_amount(&opt->memory);
    opt->memory = (struct og_amount){OG_BYTES, (double)bytes};
    if (bytes > og__memory_whole())
        og__say(log, OG__WARN, "--memory %s: this machine has %s",
                og__human_bytes((char[32]){0}, (double)bytes),
                og__human_bytes((char[32]){0}, (double)og__memory_whole()));
    if (bytes >= 1)
        return 0;
    return og__fail(err, -EINVAL, "give a size, such as --memory 4G",
                    "--memory: the free memory cannot be read");
}

int og__scratch_folders(struct og_places *out, const struct og_options *opt, const char *otherwise,
                        struct og_err *err)
{
    *out = (struct og_places){0};
    if (opt->scratch)
        return og__places_split(out, opt->scratch, "scratch", err);
    char *own = otherwise ? NULL : og__cache_dir();
    const char *where = otherwise ? otherwise : own;
    int rc = where ? og__places_copy(out, OG__ONE_PLACE(where), err) : 0;
    free(own);
    return rc;
}

int og__scratch_first(char **out, const struct og_options *opt, const char *otherwise,
                      struct og_err *err)
{
    struct og_places all;
    *out = NULL;
    int rc = og__scratch_folders(&all, opt, otherwise, err);
    if (rc == 0 && all.n > 0 && !(*out = strdup(all.path[0])))
        rc = og__fail_errno(err, -ENOMEM, NULL, "scratch");
    og__places_free(&all);
    return rc;
}

/* Limit of scratch on all its disks together: a share of the free space. */
static int resolve_disk(struct og_options *opt, struct og_err *err)
{
    struct og_places where;
    int rc = og__scratch_folders(&where, opt, opt->run, err);
    if (rc == 0 && opt->scratch)
        rc = og__places_check(where, "scratch", err);
    if (rc == 0 && opt->disk.unit != OG_BYTES) {
        const double share = opt->disk.unit == OG_PERCENT ? opt->disk.value / 100 : 0.9;
        const uint64_t room = where.n > 0 ? og__places_room(where) : og__disk_free(".");
        opt->disk = (struct og_amount){OG_BYTES, floor(share * (double)room)};
    }
    og__places_free(&where);
    return rc;
}

/* No more trainers than mini-batches at a time. */
static void resolve_trainers(struct og_options *opt, const struct og_log *log)
{
    struct og_executor_split *e = &opt->executors;
    const int useful = og__trainers_useful(opt);
    if (e->trainers > useful)
        og__say(log, OG__INFO,
                "--executors %s: limited to %d trainers, the mini-batches computed at a time with "
                "--accumulate %d --staleness %d --pipeline %s",
                og__option_text(opt, "executors", (char[32]){0}), useful, opt->accumulate,
                opt->staleness, og__option_word("pipeline", opt->pipeline));
    e->trainers = OG_MIN(e->trainers, useful);
    if (useful == 1 && e->samplers == 0)
        e->trainers = 1; /* else 0: measured later */
}

/* By default each of several devices is a trainer, if there is work for it. Each of several workers
 * uses one device. */
static void resolve_devices(struct og_options *opt)
{
    const int n = og__devices_requested(opt).n;
    if (n > 1 && opt->workers <= 1 && opt->executors.trainers == 0 && opt->executors.samplers == 0)
        opt->executors.trainers = OG_MIN(n, og__trainers_useful(opt));
}

int og__options_resolve(struct og_options *opt, const struct og_log *log, struct og_err *err)
{
    OG_DO(apply_preset(opt, err));
    resolve_sampler(opt);
    resolve_order(opt);
    OG_DO(resolve_layers(opt, err));
    if (opt->lr_min > opt->lr && og__rate_takes(opt->lr_schedule, "lr-min"))
        return og__fail(err, -EINVAL, "give a smaller --lr-min, or a larger --lr",
                        "--lr-min %g: more than --lr %g", opt->lr_min, opt->lr);
    OG_DO(check_alone(opt, err));
    OG_DO(resolve_memory(opt, log, err));
    OG_DO(resolve_disk(opt, err));
    og__fanout_resolve(opt);
    resolve_devices(opt);
    resolve_trainers(opt, log);
    if (opt->threads == 0)
        opt->threads = og__cpu_count();
    if (opt->policy != OG_POLICY_AUTO && opt->layout == OG_LAYOUT_AUTO)
        opt->layout = OG_LAYOUT_RAW;
    return 0;
}

/* ---- workers ---- */

int og__alone(const struct og_options *opt, struct og_err *err)
{
    return opt->workers <= 1
               ? 0
               : og__fail(err, -EINVAL,
                          "leave --workers out; only train, plan and simulate take it",
                          "--workers %d: this command runs in one process", opt->workers);
}

int og__workers_check(const struct og_options *opt, int workers, struct og_err *err)
{
    if (workers <= 1)
        return og__alone(opt, err);
    if (og_options_given(opt, "accumulate") && opt->accumulate % workers)
        return og__fail(err, -EINVAL, "use a multiple of --workers, or another --workers",
                        "--accumulate %d: not a multiple of %d workers", opt->accumulate, workers);
    if (opt->resample_every > 1)
        return og__fail(err, -EINVAL, "use --resample-every 1 or --workers 1",
                        "--resample-every %d: not with %d workers; each epoch partitions the "
                        "batches again, and a worker has its own samples only",
                        opt->resample_every, workers);
    if (opt->samples)
        return og__fail(err, -EINVAL, "leave out --samples, or use --workers 1",
                        "--samples: not with %d workers", workers);
    return 0;
}
