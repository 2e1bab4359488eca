/* What an epoch reads where memory has too little room for a cache: a sentence. */
#include "session/session_parts.h"

/* So many times the feature file is much. */
#define MANY_TIMES 20

double og__session_reads(const struct og_session *s)
{
    const struct og_estimate *e = &s->choice.estimate;
    if (e->possible && e->counted)
        return e->io.fill.bytes + e->io.sweep.bytes + e->io.batches.bytes;
    return s->predicted.known ? (double)s->predicted.plan.bytes : 0;
}

/* Do the options say that no rows are cached? */
static bool wants_none(const struct og_options *opt)
{
    return (og_options_given(opt, "policy") && opt->policy == OG_POLICY_NONE) ||
           (opt->cache.unit != OG_UNSET && opt->cache.value == 0);
}

bool og__session_reads_much(const struct og_session *s)
{
    const struct og_config *c = &s->config;
    const double file = (double)og__feature_bytes(s->workload.row_graph);
    const double bytes = og__session_reads(s);
    if (!og__trains_on_rows(c) || c->want & OG__WANT_QUICK || s->exec.tiers || file == 0)
        return false;
    return bytes > MANY_TIMES * file ||
           (s->memory.n_slots == 0 && bytes > file && !wants_none(&c->opt));
}

void og__session_say_reads(const struct og_session *s, int smaller)
{
    const double file = (double)og__feature_bytes(s->workload.row_graph);
    const double bytes = og__session_reads(s);
    const uint32_t rows = s->memory.n_slots;
    char text[32], held[32] = "no feature rows", remedy[96] = "";
    if (s->config.share.rank > 0)
        return;
    if (rows > 0)
        snprintf(held, sizeof(held), "%u feature row%s", rows, rows == 1 ? "" : "s");
    if (smaller > 0)
        snprintf(remedy, sizeof(remedy),
                 "; more --memory reads less, as does --batch %d, which changes the results",
                 smaller);
    else if (!wants_none(&s->config.opt))
        snprintf(remedy, sizeof(remedy), "; more --memory, or a smaller --batch, reads less");
    og__say(&s->config.log, OG__WARN,
            "memory caches %s: an epoch reads about %s, %.1f times the feature file%s", held,
            og__human_bytes(text, bytes), bytes / file, remedy);
}
