#include "budget/config.h"

#include "options/options.h"

#include "plan/victim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t og__cache_rows(const struct og_amount *amount, uint64_t n_nodes, size_t row_bytes)
{
    const double n = (double)n_nodes;
    if (amount->unit == OG_PERCENT)
        return (uint64_t)OG_MIN(floor(n * amount->value / 100), n);
    if (amount->unit == OG_BYTES && row_bytes > 0)
        return OG_MIN((uint64_t)amount->value / row_bytes, n_nodes);
    return n_nodes;
}

struct og_policy_setup og__policy_setup(const struct og_options *opt, int policy, uint64_t n_nodes)
{
    return (struct og_policy_setup){.kind = policy,
                                    .n_nodes = n_nodes,
                                    .ways = (uint32_t)opt->ways,
                                    .window = (uint32_t)opt->window,
                                    .update = (uint32_t)opt->update,
                                    .threshold = (uint32_t)opt->threshold,
                                    .evict = opt->evict};
}

/* ---- the victim buffer ---- */

/* Park et al. 2024, §5.1: rings of 16 K rows. */
enum { RING_ROWS = 16384, MOST_RING_ROWS = 1 << 20 };

int og__victim_read(struct og_victim_request *v, const char *text, struct og_err *err)
{
    static const char prefix[] = "pvp:depth=";
    static const char hint[] = "off, pvp, or pvp:depth=N with N from 1 to 1048576 rows a ring";
    text = text ? text : "off";
    *v = (struct og_victim_request){0};
    snprintf(v->name, sizeof(v->name), "%s", text);
    v->on = strcmp(text, "off") != 0;
    v->fitted = strcmp(text, "pvp") == 0;
    if (!v->on || v->fitted)
        return 0;
    char *end = NULL;
    const char *digits = text + strlen(prefix);
    const bool named =
        strncmp(text, prefix, strlen(prefix)) == 0 && *digits >= '0' && *digits <= '9';
    const unsigned long depth = named ? strtoul(digits, &end, 10) : 0;
    if (depth == 0 || depth > MOST_RING_ROWS || *end)
        return og__fail(err, -EINVAL, hint, "victim: '%s' given, off or pvp expected", text);
    v->depth = (uint32_t)depth;
    return 0;
}

struct og_victim_setup og__victim_setup(const struct og_victim_request *v,
                                        const struct og_options *device, uint64_t most)
{
    if (!v->on)
        return (struct og_victim_setup){0};
    const uint32_t usual = (uint32_t)OG_MAX(OG_MIN(most, (uint64_t)RING_ROWS), 1u);
    return (struct og_victim_setup){.n_rings = (uint32_t)device->window,
                                    .depth = v->depth > 0 ? v->depth : usual,
                                    .update = (uint32_t)OG_MAX(device->update, 1)};
}

/* ---- batches and files ---- */

struct og_sampling og__sampling_setup(const struct og_options *opt,
                                      const struct og_edge_unit *edges)
{
    return (struct og_sampling){.kind = (enum og_sampler_kind)opt->sampler,
                                .walks = opt->walks,
                                .walk_length = opt->walk_length,
                                .restart = opt->walk_restart,
                                .once = opt->draw == OG_DRAW_ONCE,
                                .replace =
                                    opt->replace && og__sampling_takes(opt->sampler, "replace"),
                                .weights = og__edge_weights(opt) != OG_EDGE_WEIGHTS_OFF,
                                .edges = edges,
                                .time = (enum og_times_kind)opt->time,
                                .window = opt->time_window,
                                .last = opt->time_strategy == OG_TIME_STRATEGY_LAST,
                                .dependency = (uint32_t)opt->batch_dependency,
                                .one_layer = opt->layer_dependency};
}

int og__walks_refuse_weights(const struct og_options *opt, struct og_err *err)
{
    if (!og__sampling_by_visits((enum og_sampler_kind)opt->sampler))
        return 0;
    return og__fail(
        err, -EINVAL, "use --sampler uniform, or leave --edge-weights off",
        "--edge-weights %s: not with --sampler %s, whose neighbours are no edges of the "
        "graph",
        og__option_word("edge-weights", opt->edge_weights),
        og__option_word("sampler", opt->sampler));
}

struct og_reader_options og__reader_setup(const struct og_config *config,
                                          const struct og_disk_profile *profile)
{
    return (struct og_reader_options){
        .io = config->opt.io, .profile = *profile, .log = &config->log};
}

/* ---- the user ---- */

int og__stopped(const struct og_config *config, const char *what, struct og_err *err)
{
    return og__stop_requested(og__stop_flag(config))
               ? og__fail(err, OG_INTERRUPTED, NULL, "%s", what)
               : 0;
}

void og__observe(const struct og_observer *observer, const struct og_progress *p)
{
    if (observer && observer->progress)
        observer->progress(observer->arg, p);
}

struct og_devices og__devices(const struct og_config *config)
{
    const struct og_devices d = og__devices_requested(&config->opt);
    const uint32_t own = config->share.rank % (uint32_t)d.n;
    return config->share.ranks > 1 ? (struct og_devices){1, {d.number[own]}} : d;
}
