/* og_simulate: any policies and cache sizes over the batches of a run, without training.
 *
 *   dataset ──> session ──> batches as training samples them ─┐
 *   trace (a folder) ─────────────────────────────────────────┴─> ids in memory ──> plan/simulate,
 *                                                                      of workers: plan/partitioned
 */
#include "base/file.h"
#include "base/sized.h"
#include "budget/slots.h"
#include "choose/hotness.h"
#include "options/options.h"
#include "report/json.h"
#include "run/simulate_pairs.h"
#include "run/simulator_groups.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

/* ---- a policy ---- */

uint32_t og__simulator_superbatch(const struct simulator *m)
{
    const uint32_t workers = (uint32_t)m->workers;
    return og__superbatch_of(m->opt.superbatch, (m->epoch + workers - 1) / workers);
}

bool og__simulator_keeps(const struct simulator *m, int policy)
{
    return m->opt.resample_every > 1 && og__policy_is_steady(policy);
}

static uint32_t superbatch_of(const struct simulator *m, int policy)
{
    return og__simulator_keeps(m, policy) ? m->epoch : og__simulator_superbatch(m);
}

struct og_simulation og__simulation_of(const struct simulator *m, const struct requested_policy *p)
{
    struct og_simulation sim = m->sim;
    sim.superbatch = superbatch_of(m, p->kind);
    return sim;
}

/* Most rankings are made of the graph, which a trace has not. */
static int check_policies(const struct simulator *m, const struct simulator *lists,
                          struct og_err *err)
{
    for (int i = 0; !m->s && i < lists->n_policies; i++)
        if (og__hotness_needs_graph(lists->policy[i].kind))
            return og__fail(err, -EINVAL,
                            "give both, and the options of `outgrow sample`: outgrow simulate "
                            "DATASET --samples TRACE ...",
                            "policy: %s ranks nodes by their edges: a trace has none, %s has them",
                            lists->policy[i].name, m->folder.said.dataset);
    int rc = 0;
    for (int i = 0; i < lists->n_policies; i++)
        OG_TRY(og__hotness_check(&lists->policy[i].opt, m->n_nodes, err));
out:
    return rc;
}

/* ---- workers ---- */

struct og_partitioned og__simulator_partitioned(const struct simulator *m, bool keeps,
                                                bool exchange)
{
    return (struct og_partitioned){.workers = (uint32_t)m->workers,
                                   .epoch = m->epoch,
                                   .superbatch = keeps ? (int)m->epoch : m->opt.superbatch,
                                   .exchange = exchange};
}

static struct og_partitioned partitioned_of(const struct simulator *m, int policy, bool exchange)
{
    return og__simulator_partitioned(m, og__simulator_keeps(m, policy), exchange);
}

static int check_workers(const struct simulator *m, struct og_err *err)
{
    const int n = m->workers;
    if (n > MOST_WORKERS)
        return og__fail(err, -EINVAL, NULL, "--workers %d: at most %d", n, MOST_WORKERS);
    if ((uint32_t)n > OG_MAX(m->epoch, 1u))
        return og__fail(err, -EINVAL, "give a smaller --batch, or fewer workers",
                        "--workers %d: an epoch has %u mini-batches", n, m->epoch);
    if ((uint64_t)n > m->n_nodes)
        return og__fail(err, -EINVAL, "give fewer --workers",
                        "--workers %d: the graph has %llu nodes, and each owns some", n,
                        (unsigned long long)m->n_nodes);
    return 0;
}

/* ---- a device's cache over the host's ---- */

/* Unless some are named, the device's cache is static, by the ranking of the host's policy. */
static int default_device_policies(struct simulator *m, struct og_err *err)
{
    m->device_is_paired = true;
    for (int i = 0; i < m->n_policies; i++) {
        const int kind = og__policy_ranked_like(m->policy[i].kind);
        const bool same = kind == m->policy[i].kind;
        char *word = strdup(same ? m->policy[i].name : og__policy_word(kind));
        OG_DO(word ? og__simulator_add_policy(m->device, word, err)
                   : og__fail_errno(err, -ENOMEM, NULL, "policy"));
    }
    return 0;
}

static int check_victims(const struct simulator *m, struct og_err *err)
{
    for (int i = 0; m->victim.on && i < m->device->n_policies; i++)
        if (!og__policy_admits(m->device->policy[i].kind))
            return og__fail(err, -EINVAL, "use --device-policy hybrid, or leave out --victim",
                            "victim: the device policy %s evicts no rows",
                            m->device->policy[i].name);
    return 0;
}

static int read_device(struct simulator *m, const struct og_tiers_asked *requested,
                       struct og_err *err)
{
    m->device = calloc(1, sizeof(*m->device));
    OG_DO(m->device ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulation"));
    OG_DO(og__options_copy(&m->device->opt, &m->opt, err));
    OG_DO(requested->policies ? og__simulator_add_policies(m->device, requested->policies, err)
                              : default_device_policies(m, err));
    OG_DO(og__simulator_add_caches(m->device, requested->memory, err));
    OG_DO(og__victim_read(&m->victim, requested->victim, err));
    return check_victims(m, err);
}

/* ---- memory ---- */

/* Sizes of group k's cache, at most, into size. */
static struct og_simulation simulation_of_group(const struct simulator *m,
                                                const struct requested_policy *p, uint32_t k,
                                                const uint32_t *size)
{
    struct og_simulation sim = og__simulation_of(m, p);
    sim.n_nodes = m->group[k].n_nodes;
    sim.rule = m->group[k].rule;
    sim.written_row = m->group[k].written_row;
    sim.foreseen = sim.written_row > 0 && og__policy_looks_ahead(p->kind) &&
                   !og__simulator_keeps(m, p->kind) && sim.superbatch <= OG__MOST_FORESEEN;
    sim.size = size;
    sim.n_sizes = (uint32_t)m->n_caches;
    return sim;
}

static size_t running_bytes(const struct simulator *m, const struct requested_policy *p, uint32_t k)
{
    uint32_t size[OG__MOST_SIZES] = {0};
    const struct og_simulation sim = simulation_of_group(m, p, k, size);
    const struct og_policy_setup setup = og__policy_setup(&p->opt, p->kind, sim.n_nodes);
    size_t most = 0;
    for (int i = 0; i < m->n_caches; i++)
        size[i] = og__simulator_most_slots(m, &m->cache[i].amount, k);
    for (int exchange = 0; exchange <= og__simulates_exchange(m); exchange++) {
        const struct og_partitioned partitioned = partitioned_of(m, p->kind, exchange);
        most = OG_MAX(most, og__simulate_partitioned_bytes(&sim, &setup, &partitioned,
                                                           m->most_batches, m->most_rows,
                                                           OG_MIN(m->longest, sim.n_nodes)));
    }
    return most;
}

static size_t policy_bytes(const struct simulator *m, const struct requested_policy *p)
{
    size_t running = 0;
    for (uint32_t k = 0; k < m->n_groups; k++)
        if (og__simulator_has_rows(m, k))
            running = OG_MAX(running, running_bytes(m, p, k));
    return og__simulator_worth_bytes(m, p) +
           OG_MAX(og__simulator_ranking_bytes(m, p), og__group_batches_bytes(m) + running);
}

/* For the policy that takes most; they run one after another. */
static size_t most_for_a_policy(const struct simulator *m)
{
    size_t most = 0;
    for (int i = 0; i < m->n_policies; i++)
        most = OG_MAX(most,
                      m->device ? og__simulate_pairs_bytes(m, i) : policy_bytes(m, &m->policy[i]));
    return most;
}

static size_t trace_bytes(const struct simulator *m)
{
    return m->most_rows * sizeof(*m->ids) + ((size_t)m->most_batches + 1) * sizeof(*m->ptr);
}

/* Refuse before sampling, or reading, what would not fit afterwards. */
static int check_memory(struct simulator *m, struct og_err *err)
{
    size_t left = og__budget_left(m->sim.budget);
    size_t simulation = most_for_a_policy(m);
    size_t need = OG__PROCESS_BYTES + trace_bytes(m) + simulation;
    char limit[32];
    char trace[32];
    char rest[32];
    char hint[128];
    if (need <= left)
        return 0;
    size_t smallest = og__budget_limit(m->sim.budget) + (need - left);
    snprintf(hint, sizeof(hint), "the smallest that would do is --memory %zuM%s",
             smallest / OG_MIB + 1, m->s ? "; fewer --epochs need less" : "");
    return og__fail(err, -ENOMEM, hint, "--memory %s: too little (trace %s, simulation %s)",
                    og__human_bytes(limit, (double)og__budget_limit(m->sim.budget)),
                    og__human_bytes(trace, (double)trace_bytes(m)),
                    og__human_bytes(rest, (double)simulation));
}

/* ---- either ---- */

static int open_simulator(struct simulator *m, const char *source, const char *policies,
                          const char *caches, const struct og_tiers_asked *tiers,
                          const struct og_options *opt, struct og_err *err)
{
    int rc;
    OG_TRY(og__options_copy(&m->opt, opt, err));
    m->workers = OG_MAX(m->opt.workers, 1);
    m->opt.workers = 1; /* their batches are sampled by this process */
    OG_TRY(og__workers_check(&m->opt, m->workers, err));
    OG_TRY(og__simulator_add_policies(m, policies, err));
    OG_TRY(og__simulator_add_caches(m, caches, err));
    OG_TRY(tiers ? read_device(m, tiers, err) : 0);
    if (m->device && og__options_alternate(&m->opt)) /* all of the host's are released */
        m->sim.n_released = UINT32_MAX;
    OG_TRY(og__exists(source, "trace.json", err));
    OG_TRY(rc ? og__simulator_open_trace(m, source, err)
              : og__simulator_open_dataset(m, source, err));
    OG_TRY(check_policies(m, m, err));
    OG_TRY(check_workers(m, err));
    OG_TRY(m->device ? check_policies(m, m->device, err) : 0);
    m->sim.stop = m->observer ? m->observer->stop : NULL;
    OG_TRY(check_memory(m, err));
    OG_TRY(m->s ? og__simulator_sample(m, err) : og__simulator_read(m, source, err));
out:
    return rc;
}

static void release_lists(struct simulator *m)
{
    for (int i = 0; i < m->n_policies; i++) {
        free(m->policy[i].name);
        og__options_release(&m->policy[i].opt);
    }
    og__options_release(&m->opt);
}

static void close_simulator(struct simulator *m)
{
    if (m->s) {
        size_t batches = (size_t)m->most_batches + 1;
        og__release(m->s->budget, m->ids, m->most_rows * sizeof(*m->ids), "trace");
        og__release(m->s->budget, m->ptr, batches * sizeof(*m->ptr), "trace");
    }
    og__session_close(m->s);
    og__simulator_forget_groups(m);
    og__trace_release(&m->folder);
    og__pool_close(m->pool);
    og__budget_free(m->budget);
    release_lists(m);
    if (m->device)
        release_lists(m->device);
    free(m->device);
}

/* ---- simulating ---- */

/* One policy's caches, by group and size. */
struct caches {
    uint64_t (*slots)[OG_MOST_TYPES]; /* [n_caches], sizes ascending */
    struct og_simulated *own;         /* [n_groups][n_caches] as one process alone has it, */
    struct og_simulated *exchanged;   /* [n_caches] and as workers that exchange rows have it */
};

static int open_caches(struct caches *c, const struct simulator *m, struct og_err *err)
{
    const size_t n = (size_t)m->n_caches;
    *c = (struct caches){.slots = calloc(n, sizeof(*c->slots)),
                         .own = calloc(m->n_groups * n, sizeof(*c->own)),
                         .exchanged = calloc(n, sizeof(*c->exchanged))};
    return c->slots && c->own && c->exchanged ? 0
                                              : og__fail_errno(err, -ENOMEM, NULL, "simulation");
}

static void close_caches(struct caches *c)
{
    free(c->slots);
    free(c->own);
    free(c->exchanged);
}

static struct og_simulated *own_of(const struct simulator *m, const struct caches *c, uint32_t k)
{
    return c->own + (size_t)k * (size_t)m->n_caches;
}

static uint64_t all_slots(const struct simulator *m, const uint64_t *slots)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < m->n_groups; k++)
        sum += slots[k];
    return sum;
}

/* One ranking gives all groups their slots. So a cache that is larger in all is no smaller in any
 * group. */
static int resolve_slots(struct simulator *m, const uint32_t *worth, struct caches *c,
                         struct og_err *err)
{
    const struct og_upper_tier nothing = {0};
    uint64_t own[OG_MOST_TYPES];
    for (int i = 0; i < m->n_caches; i++) {
        int at = i;
        OG_DO(og__amount_slots(worth, &m->cache[i].amount, m->bytes, m->n_groups, &nothing,
                               m->sim.budget, own, err));
        for (; at > 0 && m->size[at - 1] > all_slots(m, own); at--) {
            m->size[at] = m->size[at - 1];
            memcpy(c->slots[at], c->slots[at - 1], sizeof(own));
        }
        for (int before = 0; before < i; before++)
            m->cache[before].place += m->cache[before].place >= (uint32_t)at;
        m->cache[i].place = (uint32_t)at;
        m->size[at] = (uint32_t)all_slots(m, own);
        memcpy(c->slots[at], own, sizeof(own));
    }
    return 0;
}

static int count_group(const struct simulator *m, const struct requested_policy *p, uint32_t k,
                       const uint32_t *worth, const struct og_trace *trace, struct caches *c,
                       struct og_err *err)
{
    uint32_t size[OG__MOST_SIZES] = {0};
    struct og_simulation sim = simulation_of_group(m, p, k, size);
    struct og_policy_setup setup = og__policy_setup(&p->opt, p->kind, sim.n_nodes);
    const struct og_partitioned own = partitioned_of(m, p->kind, false);
    const struct og_partitioned owners = partitioned_of(m, p->kind, true);
    for (int i = 0; i < m->n_caches; i++)
        size[i] = (uint32_t)c->slots[i][k];
    sim.trace = *trace;
    setup.hotness = worth ? worth + m->group[k].first : NULL;
    OG_DO(og__simulate_partitioned(&sim, &setup, &own, own_of(m, c, k), err));
    if (og__simulates_exchange(m))
        OG_DO(og__simulate_partitioned(&sim, &setup, &owners, c->exchanged, err));
    return 0;
}

static int count_groups(const struct simulator *m, const struct requested_policy *p,
                        const uint32_t *worth, struct caches *c, struct og_err *err)
{
    struct group_batches batches;
    int rc;
    OG_TRY(og__group_batches_open(&batches, m, err));
    for (uint32_t k = 0; k < m->n_groups; k++) {
        if (!og__simulator_has_rows(m, k))
            continue;
        const struct og_trace own = og__group_batches_of(&batches, k);
        OG_TRY(count_group(m, p, k, worth, &own, c, err));
    }
out:
    og__group_batches_close(&batches);
    return rc;
}

static json_t *result_json(const struct simulator *m, const struct requested_policy *p,
                           const struct requested_cache *cache, const struct caches *c)
{
    struct og_simulated own = {0};
    struct group_rows groups = og__group_rows();
    for (uint32_t k = 0; k < m->n_groups; k++) {
        const struct og_simulated *of = &own_of(m, c, k)[cache->place];
        if (!og__simulator_has_rows(m, k))
            continue;
        og__plan_cost_add(&own.cost, &of->cost);
        own.prefill += of->prefill;
        og__group_rows_add(&groups, &m->group[k],
                           og__simulated_group_json(m, k, c->slots[cache->place][k], of));
    }
    json_t *row = og__simulated_json(m, p, cache, &own);
    if (og__simulates_exchange(m))
        row =
            og__json_with(row, "exchanged", og__simulated_counts_json(&c->exchanged[cache->place]));
    return og__with_group_rows(row, groups);
}

static int simulate_policy(struct simulator *m, const struct requested_policy *p, json_t *results,
                           struct og_err *err)
{
    uint32_t *worth = NULL;
    struct caches c;
    int rc;
    OG_TRY(open_caches(&c, m, err));
    OG_TRY(og__simulator_find_worth(m, p, &worth, err));
    OG_TRY(resolve_slots(m, worth, &c, err));
    OG_TRY(count_groups(m, p, worth, &c, err));
    for (int i = 0; i < m->n_caches; i++)
        if (json_array_append_new(results, result_json(m, p, &m->cache[i], &c)) < 0)
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulate"));
out:
    og__simulator_release_worth(m, p, worth);
    close_caches(&c);
    return rc;
}

/* A number without a unit is of bytes, which is easily overlooked. */
static void say_too_small(const struct simulator *m, const struct og_amount *cache,
                          const char *name)
{
    size_t least = SIZE_MAX;
    for (uint32_t k = 0; k < m->n_groups; k++)
        if (m->bytes[k].row_bytes > 0)
            least = OG_MIN(least, m->bytes[k].row_bytes);
    if (m->observer && cache->unit == OG_BYTES && cache->value > 0 && cache->value < (double)least)
        og__say(&(struct og_log){m->observer->message, m->observer->arg}, OG__INFO,
                "--cache %s is smaller than a row, as a number without K, M, G or %% is bytes",
                name);
}

static int simulate_all(struct simulator *m, json_t *results, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < m->n_caches; i++)
        say_too_small(m, &m->cache[i].amount, m->cache[i].name);
    for (int i = 0; i < m->n_policies; i++) {
        const struct requested_policy *of = &m->policy[i];
        OG_TRY(m->device ? og__simulate_pairs(m, i, results, err)
                         : simulate_policy(m, of, results, err));
        struct og_progress p = {.size = sizeof(p),
                                .stage = "simulate",
                                .done = (uint64_t)i + 1,
                                .total = (uint64_t)m->n_policies};
        og__observe(m->observer, &p);
    }
out:
    return rc;
}

int og_simulate(const char *source, const char *policies, const char *caches,
                const struct og_tiers_asked *tiers, const struct og_options *opt,
                const struct og_observer *observer, char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    int rc = OG_SIZED(tiers, "og_tiers_asked", err);
    rc = rc < 0 ? rc : OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    double start = og__now();
    json_t *results = json_array();
    struct simulator *m = calloc(1, sizeof(*m));
    rc = m && results ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulation");
    if (rc < 0)
        goto out;
    m->observer = observer;
    OG_TRY(open_simulator(m, source, policies, caches, tiers, opt, err));
    double opened = og__now();
    OG_TRY(simulate_all(m, results, err));
    json_t *root = og__simulation_json(m, results, opened - start, og__now() - opened);
    rc = og__simulation_add_exchange(m, root, err);
    if (rc < 0) {
        json_decref(root);
        goto out;
    }
    rc = og__json_deliver(root, NULL, out, err);
out:
    if (m)
        close_simulator(m);
    free(m);
    json_decref(results);
    return rc;
}
