#include "run/simulator_groups.h"

#include "budget/slots.h"
#include "choose/hotness.h"
#include "gather/gather.h"
#include "options/options.h"
#include "report/json.h"
#include "sample/degree_counts.h"

#include <stdlib.h>

static const char part[] = "trace";

/* ---- what there is ---- */

static int open_groups(struct simulator *m, uint32_t n, struct og_group_bytes *group,
                       struct og_err *err)
{
    m->n_groups = n;
    m->bytes = group;
    m->group = calloc(n, sizeof(*m->group));
    return m->bytes && m->group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulation");
}

bool og__simulator_has_rows(const struct simulator *m, uint32_t k)
{
    return m->bytes[k].row_bytes > 0;
}

int og__simulator_know_graph(struct simulator *m, struct og_err *err)
{
    const struct og_graph *g = m->s->workload.row_graph;
    const uint32_t of_nodes = m->s->workload.graph->n_groups;
    OG_DO(open_groups(m, g->n_groups, og__group_bytes_of_graph(g), err));
    for (uint32_t k = 0; k < g->n_groups; k++) {
        m->group[k] = (struct simulated_group){.name = g->group[k].name,
                                               .first = (uint64_t)g->group[k].first,
                                               .n_nodes = (uint64_t)g->group[k].n_nodes,
                                               .of_edges = k >= of_nodes};
        if (g->group[k].state > 0)
            m->group[k].written_row = og__row_bytes(&g->group[k]);
        if (og__simulator_has_rows(m, k))
            OG_DO(og__gather_read_rule(&g->group[k], m->s->config.opt.io, m->s->budget,
                                       &m->group[k].rule, err));
    }
    return 0;
}

/* Rows in a file of the trace's disk, as if they had been written here. */
static struct og_read_rule assumed_rule(const struct simulator *m, size_t row_bytes)
{
    enum { FIRST_ROW = 4096, BLOCK = 512 };
    struct og_reader_options opt = {.io = m->opt.io};
    og__profile_load(m->dir, &opt.profile);
    return og__read_rule_standard(FIRST_ROW, row_bytes, BLOCK, &opt);
}

/* Features of f32 may be kept narrower, as in a session. */
static int know_group(struct simulator *m, uint32_t k, struct og_err *err)
{
    const struct og_trace_type *said = &m->folder.said.type[k];
    const uint64_t first = k > 0 ? said[-1].end : 0;
    const enum og_dtype kept = og__pack_dtype(&m->opt, said->dtype);
    const size_t file_row_bytes = og__row_size(said->dim, said->dtype, said->room);
    if (said->dim > 0 && kept != said->dtype &&
        (said->room > 0 || said->dtype != OG_F32 ||
         og__dtype_size(kept) >= og__dtype_size(said->dtype)))
        return og__fail(err, -EINVAL,
                        "leave --pack-dtype out: only f32 is made narrower, to f16, bf16, i8 or "
                        "e4m3",
                        "--pack-dtype %s: the features%s%s are %s", og__dtype_name(kept),
                        *said->name ? " of type " : "", said->name, og__dtype_name(said->dtype));
    m->group[k] = (struct simulated_group){.name = said->name,
                                           .first = first,
                                           .n_nodes = said->end - first,
                                           .rule = assumed_rule(m, file_row_bytes)};
    m->bytes[k] =
        og__group_bytes_to(said->end, og__row_size(said->dim, kept, said->room), file_row_bytes);
    return 0;
}

int og__simulator_know_trace(struct simulator *m, struct og_err *err)
{
    const struct og_trace_description *said = &m->folder.said;
    static const char hint[] = "give the dataset, the trace with --samples, and the options it was "
                               "sampled with";
    if (said->extras & OG__WITH_EDGES)
        return og__fail(err, -ENOTSUP, hint, "%s: batches with features of edges", m->dir);
    if (said->n_relations > 0 && !said->has_types)
        return og__fail(err, -ENOTSUP, hint,
                        "%s: batches of a heterogeneous graph, without the names of its types",
                        m->dir);
    OG_DO(open_groups(m, said->n_types, calloc(said->n_types, sizeof(*m->bytes)), err));
    for (uint32_t k = 0; k < said->n_types; k++)
        OG_DO(know_group(m, k, err));
    return 0;
}

void og__simulator_forget_groups(struct simulator *m)
{
    free(m->bytes);
    free(m->group);
}

struct group_rows og__simulated_groups(const struct simulator *m)
{
    struct group_rows rows = og__group_rows();
    for (uint32_t k = 0; k < m->n_groups; k++)
        if (og__simulator_has_rows(m, k))
            og__group_rows_add(&rows, &m->group[k],
                               json_pack("{s:s s:I s:I}", "name", m->group[k].name,
                                         m->group[k].of_edges ? "units" : "nodes",
                                         (json_int_t)m->group[k].n_nodes, "row_bytes",
                                         (json_int_t)m->bytes[k].row_bytes));
    return rows;
}

/* ---- ids with rows ---- */

static uint32_t group_of(const struct simulator *m, uint32_t id)
{
    uint32_t k = 0;
    while (id >= m->bytes[k].end)
        k++;
    return k;
}

uint32_t og__simulator_ids_with_rows(const struct simulator *m, const uint32_t *ids, uint32_t n,
                                     uint32_t *to)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (og__simulator_has_rows(m, group_of(m, ids[i])))
            to[kept++] = ids[i];
    return kept;
}

/* The description was read once more, and has the names. */
static int find_names(struct simulator *m, struct og_err *err)
{
    const struct og_trace_description *said = &m->folder.said;
    bool same = said->n_types == m->n_groups;
    for (uint32_t k = 0; same && k < m->n_groups; k++) {
        same = said->type[k].end == m->bytes[k].end &&
               (said->type[k].dim > 0) == og__simulator_has_rows(m, k);
        m->group[k].name = said->type[k].name;
    }
    return same ? 0 : og__fail(err, -EIO, NULL, "%s: it changed while it was read", m->dir);
}

int og__simulator_keep_rows(struct simulator *m, struct og_err *err)
{
    OG_DO(find_names(m, err));
    uint64_t *ptr = (uint64_t *)m->folder.trace.ptr; /* ours to change */
    uint32_t *ids = (uint32_t *)m->folder.trace.ids;
    uint64_t first = 0;
    uint64_t to = 0;
    for (uint32_t b = 0; b < m->folder.trace.n_batches; b++) {
        const uint32_t n = (uint32_t)(ptr[b + 1] - first);
        to += og__simulator_ids_with_rows(m, ids + first, n, ids + to);
        first = ptr[b + 1];
        ptr[b + 1] = to;
    }
    return 0;
}

/* ---- what rows are worth to a policy ---- */

/* Several groups share slots out by it, whatever the policy. */
static bool shares_slots(const struct simulator *m)
{
    return m->n_groups > 1;
}

size_t og__simulator_worth_bytes(const struct simulator *m, const struct requested_policy *p)
{
    const bool wanted = shares_slots(m) || og__policy_wants_hotness(p->kind);
    return wanted ? m->sim.n_nodes * sizeof(uint32_t) : 0;
}

/* Weighs several groups without a graph. Where the policy ranks no nodes, degrees count, as the
 * trace has them. */
static int weigh_trace(const struct simulator *m, const struct requested_policy *p, uint32_t *worth,
                       struct og_err *err)
{
    const int by = og__policy_ranked_like(p->kind);
    og_uses *uses = og__uses_counted;
    int rc = og__hotness_needs_graph(by)
                 ? og__degree_counts_read(m->dir, &m->folder.said, worth, err)
                 : og__hotness_uses_bare(by, &p->opt, m->sim.n_nodes, worth, &uses, err);
    if (rc == 0)
        og__worth_weigh(worth, uses, m->bytes, m->n_groups);
    return rc;
}

static int weigh(const struct simulator *m, const struct requested_policy *p, uint32_t *worth,
                 struct og_err *err)
{
    if (shares_slots(m))
        return m->s ? og__hotness_worth(&m->s->structure, m->s->pool, p->kind, &p->opt, worth, err)
                    : weigh_trace(m, p, worth, err);
    return m->s ? og__hotness_of(&m->s->structure, m->s->pool, p->kind, &p->opt, worth, err)
                : og__hotness_without_graph(p->kind, &p->opt, m->sim.n_nodes, worth, err);
}

int og__simulator_find_worth(const struct simulator *m, const struct requested_policy *p,
                             uint32_t **worth, struct og_err *err)
{
    const size_t bytes = og__simulator_worth_bytes(m, p);
    *worth = NULL;
    if (bytes == 0)
        return 0;
    *worth = og__alloc(m->sim.budget, bytes, "hotness", err);
    return *worth ? weigh(m, p, *worth, err) : -ENOMEM;
}

void og__simulator_release_worth(const struct simulator *m, const struct requested_policy *p,
                                 uint32_t *worth)
{
    og__release(m->sim.budget, worth, og__simulator_worth_bytes(m, p), "hotness");
}

size_t og__simulator_ranking_bytes(const struct simulator *m, const struct requested_policy *p)
{
    const int by = shares_slots(m) ? og__policy_ranked_like(p->kind) : p->kind;
    return OG_MAX(m->s ? og__hotness_bytes(&m->s->workload, by) : 0, (size_t)OG__WORTH_FIT_BYTES);
}

uint32_t og__simulator_most_slots(const struct simulator *m, const struct og_amount *cache,
                                  uint32_t k)
{
    const uint64_t most = og__cache_rows(cache, m->sim.n_nodes, m->bytes[k].row_bytes);
    return (uint32_t)OG_MIN(most, m->group[k].n_nodes);
}

/* ---- a group's batches ---- */

static size_t ptr_bytes(const struct simulator *m)
{
    return m->n_groups > 1 ? ((size_t)m->most_batches + 1) * sizeof(uint64_t) : 0;
}

static size_t ids_bytes(const struct simulator *m)
{
    return m->n_groups > 1 ? OG_MAX(m->most_rows, (uint64_t)1) * sizeof(uint32_t) : 0;
}

int og__group_batches_open(struct group_batches *b, const struct simulator *m, struct og_err *err)
{
    *b = (struct group_batches){.m = m};
    if (m->n_groups == 1)
        return 0;
    b->ptr = og__alloc(m->sim.budget, ptr_bytes(m), part, err);
    b->ids = b->ptr ? og__alloc(m->sim.budget, ids_bytes(m), part, err) : NULL;
    return b->ids ? 0 : -ENOMEM;
}

struct og_trace og__group_batches_of(const struct group_batches *b, uint32_t k)
{
    const struct simulator *m = b->m;
    if (m->n_groups == 1)
        return m->sim.trace;
    (void)og__trace_of_group(&m->sim.trace, m->group[k].first, m->bytes[k].end, b->ptr, b->ids);
    return (struct og_trace){m->sim.trace.n_batches, b->ptr, b->ids};
}

void og__group_batches_close(struct group_batches *b)
{
    og__release(b->m->sim.budget, b->ptr, ptr_bytes(b->m), part);
    og__release(b->m->sim.budget, b->ids, ids_bytes(b->m), part);
}

size_t og__group_batches_bytes(const struct simulator *m)
{
    return ptr_bytes(m) + ids_bytes(m);
}
