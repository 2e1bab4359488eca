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
