#include "budget/config.h"

#include <math.h>

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

struct og_sampling og__sampling_setup(const struct og_options *opt)
{
    return (struct og_sampling){.kind = (enum og_sampler_kind)opt->sampler,
                                .walks = opt->walks,
                                .walk_length = opt->walk_length,
                                .restart = opt->walk_restart,
                                .once = opt->draw == OG_DRAW_ONCE};
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
    return og__asked(og__stop_flag(config)) ? og__fail(err, OG_INTERRUPTED, NULL, "%s", what) : 0;
}

void og__observe(const struct og_observer *seen, const struct og_progress *p)
{
    if (seen && seen->progress)
        seen->progress(seen->arg, p);
}
