#include "choose/ways.h"

#include "options/options.h"

/* Does --policy auto compare it, with each batch straight from the feature file? */
static bool reads_straight(int policy)
{
    int n;
    const struct og_policy_way *its = og__policy_ways(policy, &n);
    while (n > 0 && (its[n - 1].layout != OG_LAYOUT_RAW || its[n - 1].alternate))
        n--;
    return n > 0 && !og__policy_fills_beside(policy);
}

/* What is learnt of the coming batches is learnt of both tiers' rows, or of none. */
static bool is_pair(int device, int host)
{
    const bool learnt = (og__policy_looks_ahead(device) && og__policy_is_steady(device)) ||
                        (og__policy_looks_ahead(host) && og__policy_is_steady(host));
    return device == host || (reads_straight(device) && !learnt);
}

/* A device's cache over the host's: the same policy twice, or one over another; where the device's
 * was named, that over each. */
static int list_pairs(const struct og_way *asked, struct og_way out[OG__MOST_WAYS])
{
    const bool open = asked->device_policy == OG_POLICY_AUTO;
    int n_all = 0;
    for (int host = 0; host < OG_POLICY_AUTO; host++)
        for (int device = 0; device < OG_POLICY_AUTO && reads_straight(host); device++) {
            const bool fits = open ? is_pair(device, host) : device == asked->device_policy;
            if (!fits || n_all == OG__MOST_WAYS || (asked->has_rings && !og__policy_admits(device)))
                continue;
            out[n_all] = *asked;
            out[n_all].policy = host;
            out[n_all++].device_policy = device;
        }
    return n_all;
}

int og__ways_list(const struct og_way *asked, struct og_way out[OG__MOST_WAYS])
{
    if (asked->tiers)
        return list_pairs(asked, out);
    int n_all = 0;
    for (int policy = 0; policy < OG_POLICY_AUTO; policy++) {
        int n;
        const struct og_policy_way *its = og__policy_ways(policy, &n);
        for (int i = 0; i < n && n_all < OG__MOST_WAYS; i++) {
            struct og_way *way = &out[n_all++];
            *way = *asked;
            way->policy = policy;
            way->layout = its[i].layout;
            way->alternate = its[i].alternate;
        }
    }
    return n_all;
}

void og__plainest_way(struct og_way *way)
{
    struct og_way ways[OG__MOST_WAYS];
    if (way->policy == OG_POLICY_AUTO && og__ways_list(way, ways) > 0)
        *way = ways[0];
}

bool og__way_allowed(const struct og_config *config, const struct og_way *way)
{
    const struct og_options *opt = &config->opt;
    if (og__exchanges(config) && way->alternate) /* as session.c refuses it */
        return false;
    if (og_options_given(opt, "phased-memory") && opt->alternate != way->alternate)
        return false;
    return opt->layout == OG_LAYOUT_AUTO || opt->layout == way->layout;
}
