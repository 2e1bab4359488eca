#include "run/simulate_types.h"

#include "budget/slots.h"
#include "choose/hotness.h"
#include "gather/gather.h"
#include "options/options.h"
#include "report/json.h"
#include "sample/degree_counts.h"
#include "session/typed_cache.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "trace";
enum { PLACING_BYTES = 1 << 19 }; /* while rows are ranked */

static const struct og_graph_types *types_of(const struct simulator *m)
{
    return m->types;
}

uint64_t og__simulated_nodes(const struct simulator *m, uint32_t t)
{
    return types_of(m)->type[t].end - og__first_id(types_of(m), t);
}

static size_t row_bytes_of(const struct simulator *m, uint32_t t)
{
    return m->width[t].row_bytes;
}

/* ---- what there is ---- */

int og__simulator_know_types(struct simulator *m, struct og_err *err)
{
    const struct og_graph_types *g = m->types = m->s->facts.types;
    int rc = 0;
    m->width = og__group_widths(m->s->facts.graph);
    m->rule_of = calloc(g->n_types, sizeof(*m->rule_of));
    if (!m->rule_of || !m->width)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulation"));
    for (uint32_t t = 0; t < g->n_types; t++)
        if (og__has_features(&g->type[t]))
            OG_TRY(og__gather_read_rule(&m->s->facts.graph->group[t], m->s->config.opt.io,
                                        m->s->budget, &m->rule_of[t], err));
out:
    return rc;
}

/* Features of f32 may be kept narrower, of each type as in a session. */
static int know_width(struct simulator *m, uint32_t t, struct og_err *err)
{
    const struct og_trace_type *said = &m->folder.said.type[t];
    const enum og_dtype kept = og__pack_dtype(&m->opt, said->dtype);
    if (said->dim > 0 && kept != said->dtype &&
        (said->dtype != OG_F32 || og__dtype_size(kept) >= og__dtype_size(said->dtype)))
        return og__fail(err, -EINVAL,
                        "leave --pack-dtype out: only f32 is made narrower, to f16 or bf16",
                        "--pack-dtype %s: the features of type %s are %s", og__dtype_name(kept),
                        said->name, og__dtype_name(said->dtype));
    m->said.type[t] =
        (struct og_graph_type){.name = said->name, .end = (uint32_t)said->end, .dim = said->dim};
    m->width[t] = og__group_width(said->end, (size_t)said->dim * og__dtype_size(kept),
                                  (size_t)said->dim * og__dtype_size(said->dtype));
    if (said->dim > 0)
        m->rule_of[t] =
            og__simulator_assumed_rule(m, (size_t)said->dim * og__dtype_size(said->dtype));
    return 0;
}

int og__simulator_know_trace_types(struct simulator *m, struct og_err *err)
{
    const struct og_trace_description *said = &m->folder.said;
    int rc = 0;
    if (said->n_types == 0)
        OG_TRY(og__fail(err, -ENOTSUP,
                        "give the dataset, the trace with --samples, and the options it was "
                        "sampled with",
                        "%s: of a graph with types, and it does not say of which", m->dir));
    m->said.n_types = said->n_types;
    m->said.type = calloc(said->n_types, sizeof(*m->said.type));
    m->width = calloc(said->n_types, sizeof(*m->width));
    m->rule_of = calloc(said->n_types, sizeof(*m->rule_of));
    if (!m->said.type || !m->width || !m->rule_of)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulation"));
    for (uint32_t t = 0; t < said->n_types; t++)
        OG_TRY(know_width(m, t, err));
    m->types = &m->said;
out:
    return rc;
}

void og__simulator_forget_types(struct simulator *m)
{
    free(m->width);
    free(m->rule_of);
    free(m->said.type);
}

/* The description was read once more, and has the names. */
static int find_names(struct simulator *m, struct og_err *err)
{
    const struct og_trace_description *said = &m->folder.said;
    bool same = said->n_types == m->said.n_types;
    for (uint32_t t = 0; same && t < said->n_types; t++) {
        struct og_graph_type *own = &m->said.type[t];
        same = said->type[t].end == own->end && said->type[t].dim == own->dim;
        own->name = said->type[t].name;
    }
    return same ? 0 : og__fail(err, -EIO, NULL, "%s: it changed while it was read", m->dir);
}

int og__simulator_keep_rows(struct simulator *m, struct og_err *err)
{
    int rc = find_names(m, err);
    if (rc < 0)
        return rc;
    uint64_t *ptr = (uint64_t *)m->folder.trace.ptr; /* ours to change */
    uint32_t *ids = (uint32_t *)m->folder.trace.ids;
    const size_t bytes = OG_MAX(m->longest, (uint64_t)1) * sizeof(uint32_t);
    uint32_t *kept = og__alloc(m->sim.budget, bytes, part, err);
    uint32_t n_of[OG_MOST_TYPES];
    uint64_t first = 0;
    uint64_t to = 0;
    if (!kept)
        return -ENOMEM;
    for (uint32_t b = 0; b < m->folder.trace.n_batches; b++) {
        const uint32_t n = (uint32_t)(ptr[b + 1] - first);
        const uint32_t some = og__ids_with_features(m->types, ids + first, n, kept, n_of);
        memcpy(ids + to, kept, some * sizeof(*ids));
        first = ptr[b + 1];
        ptr[b + 1] = to += some;
    }
    og__release(m->sim.budget, kept, bytes, part);
    return 0;
}

json_t *og__simulated_types_json(const struct simulator *m)
{
    const struct og_graph_types *g = types_of(m);
    json_t *list = json_array();
    for (uint32_t t = 0; t < g->n_types; t++)
        if (og__has_features(&g->type[t]))
            list = og__json_append(list, json_pack("{s:s s:I s:I}", "name", g->type[t].name,
                                                   "nodes", (json_int_t)og__simulated_nodes(m, t),
                                                   "row_bytes", (json_int_t)row_bytes_of(m, t)));
    return list;
}

/* ---- a policy's caches ---- */

/* Of one policy, by types and sizes. */
struct shared_out {
    uint64_t (*slots)[OG_MOST_TYPES]; /* [n_caches], sizes ascending */
    struct og_simulated *of;          /* [n_types][n_caches], the same */
};

static void close_shares(struct shared_out *o)
{
    free(o->slots);
    free(o->of);
}

static int open_shares(const struct simulator *m, struct shared_out *o, struct og_err *err)
{
    const size_t n = (size_t)m->n_caches;
    *o = (struct shared_out){.slots = calloc(n, sizeof(*o->slots)),
                             .of = calloc(types_of(m)->n_types * n, sizeof(*o->of))};
    return o->slots && o->of ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulation");
}

static uint64_t all_slots(const struct simulator *m, const uint64_t *slots)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < types_of(m)->n_types; t++)
        sum += slots[t];
    return sum;
}

/* By one ranking, so that what is larger in all is no smaller in any type. */
static void sort_sizes(struct simulator *m, const uint64_t (*slots)[OG_MOST_TYPES],
                       struct shared_out *o)
{
    for (int i = 0; i < m->n_caches; i++) {
        const uint64_t own = all_slots(m, slots[i]);
        uint32_t place = 0;
        for (int k = 0; k < m->n_caches; k++) {
            const uint64_t other = all_slots(m, slots[k]);
            place += other < own || (other == own && k < i);
        }
        m->cache[i].place = place;
        m->size[place] = (uint32_t)own;
        memcpy(o->slots[place], slots[i], sizeof(o->slots[place]));
    }
}

static int settle_slots(struct simulator *m, const uint32_t *worth, struct shared_out *o,
                        struct og_err *err)
{
    const struct og_upper_tier nothing = {0};
    uint64_t(*slots)[OG_MOST_TYPES] = calloc((size_t)m->n_caches, sizeof(*slots));
    int rc = slots ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulation");
    for (int i = 0; rc == 0 && i < m->n_caches; i++)
        rc = og__amount_slots(worth, &m->cache[i].amount, m->width, m->types->n_types, &nothing,
                              m->sim.budget, slots[i], err);
    if (rc == 0)
        sort_sizes(m, (const uint64_t(*)[OG_MOST_TYPES])slots, o);
    free(slots);
    return rc;
}

/* Without a graph: by degrees as the trace counts them, where the policy ranks no nodes. */
static int weigh_trace(const struct simulator *m, const struct asked_policy *p, uint32_t *worth,
                       struct og_err *err)
{
    const int by = og__policy_ranked_like(p->kind);
    og_uses *uses = og__uses_counted;
    int rc = og__hotness_needs_graph(by)
                 ? og__degree_counts_read(m->dir, &m->folder.said, worth, err)
                 : og__hotness_uses_bare(by, &p->opt, m->sim.n_nodes, worth, &uses, err);
    if (rc == 0)
        og__widths_weigh(worth, uses, m->width, m->types->n_types);
    return rc;
}

int og__simulated_worth(const struct simulator *m, const struct asked_policy *p, uint32_t *worth,
                        struct og_err *err)
{
    return m->s ? og__typed_cache_weigh(m->s, p->kind, &p->opt, worth, err)
                : weigh_trace(m, p, worth, err);
}

/* ---- a type's batches ---- */

static struct og_simulation simulation_of_type(const struct simulator *m,
                                               const struct asked_policy *p, uint32_t t,
                                               const uint32_t *size)
{
    struct og_simulation sim = og__simulation_of(m, p);
    sim.n_nodes = og__simulated_nodes(m, t);
    sim.rule = m->rule_of[t];
    sim.size = size;
    sim.n_sizes = (uint32_t)m->n_caches;
    return sim;
}

/* One type. */
static int count_type(const struct simulator *m, const struct asked_policy *p, uint32_t t,
                      const uint32_t *worth, const struct og_trace *trace, struct shared_out *o,
                      struct og_err *err)
{
    uint32_t size[OG__MOST_SIZES] = {0};
    struct og_policy_setup setup = og__policy_setup(&p->opt, p->kind, og__simulated_nodes(m, t));
    struct og_simulation sim = simulation_of_type(m, p, t, size);
    const struct og_dealt own = og__simulator_dealt(m, og__simulator_keeps(m, p->kind), false);
    struct og_simulated *out = o->of + (size_t)t * (size_t)m->n_caches;
    for (int i = 0; i < m->n_caches; i++)
        size[i] = (uint32_t)o->slots[i][t];
    sim.trace = *trace;
    setup.hotness = worth + og__first_id(types_of(m), t);
    return og__simulate_dealt(&sim, &setup, &own, out, err);
}

static int count_types(const struct simulator *m, const struct asked_policy *p,
                       const uint32_t *worth, struct shared_out *o, struct og_err *err)
{
    const struct og_graph_types *g = types_of(m);
    const struct og_trace *all = &m->sim.trace;
    const size_t id_bytes = OG_MAX(m->rows, (uint64_t)1) * sizeof(uint32_t);
    const size_t ptr_bytes = ((size_t)all->n_batches + 1) * sizeof(uint64_t);
    uint32_t *ids = og__alloc(m->sim.budget, id_bytes, part, err);
    uint64_t *ptr = ids ? og__alloc(m->sim.budget, ptr_bytes, part, err) : NULL;
    int rc = ptr ? 0 : -ENOMEM;
    for (uint32_t t = 0; rc == 0 && t < g->n_types; t++) {
        if (!og__has_features(&g->type[t]))
            continue;
        const struct og_trace own = {all->n_batches, ptr, ids};
        (void)og__trace_of_range(all, og__first_id(g, t), g->type[t].end, ptr, ids);
        rc = count_type(m, p, t, worth, &own, o, err);
    }
    og__release(m->sim.budget, ptr, ptr_bytes, part);
    og__release(m->sim.budget, ids, id_bytes, part);
    return rc;
}

/* ---- results ---- */

static void add_type(struct og_simulated *sum, const struct og_simulated *of)
{
    og__plan_cost_add(&sum->cost, &of->cost);
    sum->prefill += of->prefill;
}

static json_t *type_json(const struct simulator *m, uint32_t t, uint64_t slots,
                         const struct og_simulated *of)
{
    json_t *row =
        json_pack("{s:s s:I s:I}", "name", types_of(m)->type[t].name, "cache_rows",
                  (json_int_t)slots, "cache_bytes", (json_int_t)(slots * row_bytes_of(m, t)));
    return og__json_joined(row, og__simulated_counts_json(of));
}

static json_t *result_json(const struct simulator *m, const struct asked_policy *p,
                           const struct asked_cache *c, const struct shared_out *o)
{
    const struct og_graph_types *g = types_of(m);
    struct og_counted *counted = calloc(1, sizeof(*counted));
    json_t *types = json_array();
    for (uint32_t t = 0; counted && t < g->n_types; t++) {
        const struct og_simulated *of = &o->of[(size_t)t * (size_t)m->n_caches + c->place];
        if (!og__has_features(&g->type[t]))
            continue;
        add_type(&counted->own[c->place], of);
        types = og__json_append(types, type_json(m, t, o->slots[c->place][t], of));
    }
    json_t *row = counted ? og__simulated_json(m, p, c, counted) : NULL;
    free(counted);
    return og__json_with(row, "types", types);
}

int og__simulate_types(struct simulator *m, const struct asked_policy *p, json_t *results,
                       struct og_err *err)
{
    const size_t bytes = m->sim.n_nodes * sizeof(uint32_t);
    struct shared_out o = {0};
    uint32_t *worth = og__alloc(m->sim.budget, bytes, "hotness", err);
    int rc;
    OG_TRY(worth ? open_shares(m, &o, err) : -ENOMEM);
    OG_TRY(og__simulated_worth(m, p, worth, err));
    OG_TRY(settle_slots(m, worth, &o, err));
    OG_TRY(count_types(m, p, worth, &o, err));
    for (int i = 0; i < m->n_caches; i++)
        if (json_array_append_new(results, result_json(m, p, &m->cache[i], &o)) < 0)
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "simulate"));
out:
    close_shares(&o);
    og__release(m->sim.budget, worth, bytes, "hotness");
    return rc;
}

/* ---- memory ---- */

uint32_t og__simulated_slots(const struct simulator *m, const struct simulator *lists, uint32_t t)
{
    uint64_t most = 0;
    for (int i = 0; i < lists->n_caches; i++)
        most = OG_MAX(most,
                      og__cache_rows(&lists->cache[i].amount, m->sim.n_nodes, row_bytes_of(m, t)));
    return (uint32_t)OG_MIN(most, og__simulated_nodes(m, t));
}

static size_t running_bytes(const struct simulator *m, const struct asked_policy *p, uint32_t t)
{
    uint32_t size[OG__MOST_SIZES] = {0};
    const struct og_simulation sim = simulation_of_type(m, p, t, size);
    const struct og_policy_setup setup = og__policy_setup(&p->opt, p->kind, sim.n_nodes);
    const struct og_dealt own = og__simulator_dealt(m, og__simulator_keeps(m, p->kind), false);
    const uint64_t longest = OG_MIN(m->longest, sim.n_nodes);
    for (int i = 0; i < m->n_caches; i++)
        size[i] = og__simulated_slots(m, m, t);
    return og__simulate_dealt_bytes(&sim, &setup, &own, m->most_batches, m->most_rows, longest);
}

size_t og__simulated_ranking_bytes(const struct simulator *m, const struct asked_policy *p)
{
    const int by = og__policy_ranked_like(p->kind);
    const size_t ranking = m->s ? og__hotness_bytes(&m->s->facts, by) : 0;
    return OG_MAX(ranking, og__placement_bytes(m->sim.n_nodes) + PLACING_BYTES);
}

size_t og__simulated_batches_bytes(const struct simulator *m)
{
    return m->most_rows * sizeof(uint32_t) + ((size_t)m->most_batches + 1) * sizeof(uint64_t);
}

size_t og__simulate_types_bytes(const struct simulator *m, const struct asked_policy *p)
{
    const size_t copied = og__simulated_batches_bytes(m);
    size_t running = 0;
    for (uint32_t t = 0; t < types_of(m)->n_types; t++)
        if (og__has_features(&types_of(m)->type[t]))
            running = OG_MAX(running, running_bytes(m, p, t));
    return m->sim.n_nodes * sizeof(uint32_t) +
           OG_MAX(og__simulated_ranking_bytes(m, p), copied + running);
}
