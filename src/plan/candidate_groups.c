/* Candidates with several row sizes. Each size is counted alone, since its rows have slots of their
 * own; then reads and writes are added up. */
#include "plan/candidate_parts.h"

#include <stdlib.h>

/* ---- one of them ---- */

static double chunk_bytes(const struct og_cost_group *w)
{
    return (double)w->trace.ptr[w->trace.n_batches] * (double)w->row_bytes;
}

/* Each size gets a part of the disk in proportion to chunks of all its rows. */
static double part_of(const struct og_cost_inputs *given, uint32_t group)
{
    double all = 0;
    for (uint32_t w = 0; w < given->n_groups; w++)
        all += chunk_bytes(&given->group[w]);
    return all > 0 ? chunk_bytes(&given->group[group]) / all : 0;
}

/* The inputs for rows of this size alone. */
static struct og_cost_inputs inputs_of(const struct og_cost_inputs *given, uint32_t group)
{
    const struct og_cost_group *w = &given->group[group];
    struct og_cost_inputs one = *given;
    if (given->disk_limit < UINT64_MAX)
        one.disk_limit = (uint64_t)((double)given->disk_limit * part_of(given, group));
    one.trace = w->trace;
    one.n_nodes = w->n_nodes;
    one.most_requested = w->most_requested;
    one.distinct = w->distinct;
    one.growth = w->growth;
    one.slowing = w->slowing;
    one.rule = w->rule;
    one.row_bytes = w->row_bytes;
    one.group = NULL;
    one.n_groups = 0;
    return one;
}

/* Slots of a group that are released. The groups' slots follow one another, and the last slots
 * of all are released. */
static uint32_t released_of(const struct og_candidate *c, uint32_t k)
{
    uint64_t kept = c->policy.n_slots - OG_MIN(c->n_released, c->policy.n_slots);
    const struct og_group_slots *group = c->policy.groups;
    for (uint32_t w = 0; w < k; w++)
        kept -= OG_MIN(kept, (uint64_t)group[w].n_slots);
    return group[k].n_slots - (uint32_t)OG_MIN(kept, (uint64_t)group[k].n_slots);
}

/* *tiers: where its caches go, if it has two. */
static struct og_candidate candidate_of(const struct og_cost_inputs *given,
                                        const struct og_candidate *c, uint32_t group,
                                        struct og_tiers_setup *tiers)
{
    struct og_candidate one = *c;
    one.policy = og__policy_of_group(&c->policy, group);
    if (c->tiers) {
        *tiers = og__tiers_of_group(c->tiers, group);
        one.tiers = tiers;
    }
    one.n_released = released_of(c, group);
    one.spilled_bytes = (uint64_t)((double)c->spilled_bytes * part_of(given, group));
    return one;
}

/* ---- their sum ---- */

static void add_counts(struct og_candidate_counts *sum, const struct og_candidate_counts *of)
{
    sum->rows += of->rows;
    sum->hits += of->hits;
    sum->misses += of->misses;
    sum->held_out += of->held_out;
    sum->prefill += of->prefill;
    og__add_io(&sum->fill, of->fill);
    og__add_io(&sum->first_fill, of->first_fill);
    og__add_io(&sum->open, of->open);
    sum->open_batches = OG_MAX(sum->open_batches, of->open_batches);
    sum->windows = OG_MAX(sum->windows, of->windows);
    og__add_io(&sum->sweep, of->sweep);
    og__add_io(&sum->batches, of->batches);
    sum->written += of->written;
    sum->disk += of->disk;
    sum->superbatches = OG_MAX(sum->superbatches, of->superbatches);
    sum->segment = OG_MAX(sum->segment, of->segment);
    og__tiers_cost_sum(&sum->tiers, &of->tiers);
}

static void add_io(struct og_candidate_io *sum, const struct og_candidate_io *of)
{
    sum->first_fill = og__io_sum(sum->first_fill, of->first_fill);
    sum->fill = og__io_sum(sum->fill, of->fill);
    sum->sweep = og__io_sum(sum->sweep, of->sweep);
    sum->batches = og__io_sum(sum->batches, of->batches);
    sum->written += of->written;
    sum->copied += of->copied;
    sum->linked += of->linked;
    sum->linked_back += of->linked_back;
    sum->collected += of->collected;
    sum->disk += of->disk;
}

/* One size that is impossible makes all impossible. */
static void add_groups(struct og_estimate *sum, const struct og_estimate *of,
                       const struct og_candidate_io *io)
{
    if (!of->possible)
        og__candidate_refuse(sum, "%s", of->why);
    sum->counted &= of->counted;
    add_counts(&sum->counts, &of->counts);
    add_io(&sum->io, io);
}

/* ---- all of them ---- */

static int count_one(const struct og_cost_inputs *given, const struct og_candidate *c, uint32_t n,
                     struct og_estimate *out, struct og_err *err)
{
    const int rc = og__candidates_count_group(given, c, n, out, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (out[i].counted)
            out[i].io = og__candidate_io(given, &c[i], &out[i].counts);
    return rc;
}

static int count_group(const struct og_cost_inputs *given, const struct og_candidate *c, uint32_t n,
                       uint32_t group, struct og_estimate *of, struct og_estimate *out,
                       struct og_err *err)
{
    const struct og_cost_inputs own = inputs_of(given, group);
    struct og_candidate *these = malloc(OG_MAX(n, 1u) * sizeof(*these));
    struct og_tiers_setup *tiers = malloc(OG_MAX(n, 1u) * sizeof(*tiers));
    int rc;
    OG_TRY(these && tiers ? 0 : og__fail_errno(err, -ENOMEM, NULL, "candidates"));
    for (uint32_t i = 0; i < n; i++)
        these[i] = candidate_of(given, &c[i], group, &tiers[i]);
    OG_TRY(count_one(&own, these, n, of, err));
    for (uint32_t i = 0; i < n; i++)
        add_groups(&out[i], &of[i], &of[i].io);
out:
    free(these);
    free(tiers);
    return rc;
}

static int count_groups(const struct og_cost_inputs *given, const struct og_candidate *c,
                        uint32_t n, struct og_estimate *out, struct og_err *err)
{
    struct og_estimate *of = calloc(OG_MAX(n, 1u), sizeof(*of));
    int rc = of ? 0 : og__fail_errno(err, -ENOMEM, NULL, "candidates");
    for (uint32_t i = 0; i < n; i++)
        out[i] = (struct og_estimate){
            .candidate = i, .possible = true, .counted = true, .memory = c[i].memory};
    for (uint32_t w = 0; rc == 0 && w < given->n_groups; w++)
        rc = count_group(given, c, n, w, of, out, err);
    free(of);
    return rc;
}

static void check_memory(const struct og_cost_inputs *given, const struct og_candidate *c,
                         struct og_estimate *e)
{
    char requested[32];
    char there[32];
    if (c->memory > given->memory_limit)
        og__candidate_refuse(e, "needs %s of memory, %s are available",
                             og__human_bytes(requested, (double)c->memory),
                             og__human_bytes(there, (double)given->memory_limit));
}

int og__candidates_count(const struct og_cost_inputs *given, const struct og_candidate *c,
                         uint32_t n, struct og_estimate *out, struct og_err *err)
{
    if (n > OG__MOST_SIZES)
        return og__fail(err, -EINVAL, NULL, "%u candidates: at most %d at once", n, OG__MOST_SIZES);
    OG_DO(given->n_groups > 0 ? count_groups(given, c, n, out, err)
                              : count_one(given, c, n, out, err));
    for (uint32_t i = 0; i < n; i++)
        if (out[i].counted)
            check_memory(given, &c[i], &out[i]);
    return 0;
}
