/* Sizes of exchanged rows, and the layout of a message. In a homogeneous graph all rows have one
 * size; in others each type with features has one. */
#include "flow/exchange_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- which ids have rows: of a graph of one type all ---- */

int og__exchange_groups_reserve(const struct og_exchange *x, struct og_planned_ids *room,
                                uint32_t n, struct og_err *err)
{
    return og__planned_ids_reserve(room, x->path->workload->planned_groups, n, err);
}

int og__exchange_groups_list(const struct og_exchange *x, struct og_planned_ids *room,
                             const uint32_t **ids, uint32_t *n, struct og_err *err)
{
    const int rc = og__planned_ids_list(room, x->path->workload->planned_groups, *ids, *n, err);
    *ids = room->ids;
    *n = room->n;
    return rc;
}

/* Whoever gathers rows of several groups looks at the groups of the list. */
int og__exchange_groups_serve(struct og_exchange *x, const struct og_demanded *requested,
                              struct og_err *err)
{
    struct og_planned_ids *p = &x->served.planned;
    const int rc = x->groups.n > 1 ? og__exchange_groups_reserve(x, p, requested->n, err) : 0;
    if (rc < 0 || x->groups.n == 1)
        return rc;
    if (requested->n > 0)
        memcpy(p->own, requested->ids, requested->n * sizeof(*p->own));
    p->ids = p->own;
    p->n = requested->n;
    og__rows_of_own(x->path->config, p->own, p->n);
    return 0;
}

/* ---- open and close ---- */

static void add_group(struct og_exchange *x, const struct og_group *g)
{
    struct og_exchange_groups *k = &x->groups;
    const uint32_t end = (uint32_t)(g->first + g->n_nodes);
    k->end[k->n] = end;
    k->group[k->n++] = (struct og_exchange_group){
        .own_end = (uint32_t)og__owned_nodes(x->ranks, x->rank, (uint64_t)end),
        .row_bytes = og__row_bytes(g),
        .dim = g->dim,
        .dtype = g->dtype,
        .sparse = og__row_form(g),
        .scale = og__row_scale(g)};
}

int og__exchange_groups_open(struct og_exchange *x, struct og_err *err)
{
    const struct og_graph *g = x->path->workload->row_graph;
    const uint32_t n = g->n_groups;
    struct og_exchange_groups *k = &x->groups;
    k->end = calloc(n, sizeof(*k->end));
    k->group = calloc(n, sizeof(*k->group));
    k->views = calloc((size_t)OG__RECEIVED * n, sizeof(*k->views));
    if (!k->end || !k->group || !k->views)
        return og__fail_errno(err, -ENOMEM, NULL, "exchange");
    for (uint32_t t = 0; t < n; t++)
        add_group(x, &g->group[t]);
    k->unit = og__row_unit(g);
    for (uint32_t t = 0; t < n; t++)
        k->group[t].units = (uint32_t)(k->group[t].row_bytes / k->unit);
    return 0;
}

void og__exchange_groups_close(struct og_exchange *x)
{
    free(x->groups.end);
    free(x->groups.group);
    free(x->groups.views);
    og__planned_ids_release(&x->listed);
    og__planned_ids_release(&x->served.planned);
}

/* ---- requests ---- */

bool og__exchange_groups_fit(const struct og_exchange *x, const uint32_t *nodes, uint32_t n)
{
    const struct og_exchange_groups *k = &x->groups;
    uint32_t t = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (t < k->n && nodes[i] >= k->end[t])
            t++;
        if (t == k->n || k->group[t].units == 0 || (t > 0 && nodes[i] < k->end[t - 1]) ||
            og__owner_of(x->ranks, nodes[i]) != x->rank)
            return false;
    }
    return true;
}

void og__exchange_sort(struct og_exchange *x, const uint32_t *ids, uint32_t n, struct og_sorted *by,
                       uint32_t *place)
{
    const struct og_exchange_groups *k = &x->groups;
    uint32_t at[OG__MOST_RANKS];
    uint64_t unit[OG__MOST_RANKS];
    uint32_t *lists_sent = x->lists_sent.at;
    *by = (struct og_sorted){0};
    for (uint32_t i = 0, t = 0; i < n; i++) {
        const uint32_t owner = og__owner_of(x->ranks, ids[i]);
        while (ids[i] >= k->end[t])
            t++;
        by->first[owner + 1]++;
        by->begins[owner + 1] += k->group[t].units;
    }
    for (uint32_t o = 0; o < x->ranks; o++) {
        at[o] = by->first[o];
        unit[o] = by->begins[o];
        by->first[o + 1] += by->first[o];
        by->begins[o + 1] += by->begins[o];
    }
    for (uint32_t i = 0, t = 0; i < n; i++) {
        const uint32_t owner = og__owner_of(x->ranks, ids[i]);
        while (ids[i] >= k->end[t])
            t++;
        lists_sent[at[owner]++] = ids[i];
        if (place)
            place[i] = (uint32_t)unit[owner];
        unit[owner] += k->group[t].units;
    }
}

/* ---- what is sent ---- */

/* The first index in [from, to) whose value is not below `bound`. Values ascend. */
static uint32_t below(const uint32_t *values, uint32_t from, uint32_t to, uint32_t bound)
{
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (values[middle] < bound)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct og_run begin_runs(uint32_t rank, uint32_t from)
{
    return (struct og_run){.rank = rank, .group = UINT32_MAX, .end = from};
}

static bool next_run(const struct og_exchange *x, const struct og_demanded *requested, uint32_t to,
                     struct og_run *r)
{
    const struct og_exchange_groups *k = &x->groups;
    if (++r->group >= k->n)
        return false;
    r->begin = r->end;
    r->first =
        r->group == 0 ? 0 : below(requested->ids, 0, requested->n, k->group[r->group - 1].own_end);
    const uint32_t behind =
        below(requested->ids, r->first, requested->n, k->group[r->group].own_end);
    r->end = below(requested->at, r->begin, to, behind);
    return true;
}

size_t og__exchange_groups_sizes(const struct og_exchange *x, const struct og_demanded *requested,
                                 size_t *bytes)
{
    size_t all = 0;
    for (uint32_t i = 0, from = 0; i < x->ranks; from += requested->counts[i++]) {
        struct og_run r = begin_runs(i, from);
        bytes[i] = 0;
        while (next_run(x, requested, from + requested->counts[i], &r))
            bytes[i] += (r.end - r.begin) * x->groups.group[r.group].units * x->groups.unit;
        all += bytes[i];
    }
    return all - bytes[x->rank];
}

void og__exchange_groups_put(const struct og_exchange *x, const struct og_demanded *requested,
                             og_put_run *put)
{
    for (uint32_t i = 0, from = 0; i < x->ranks; from += requested->counts[i++]) {
        struct og_run r = begin_runs(i, from);
        char *to = x->send[i].at;
        while (next_run(x, requested, from + requested->counts[i], &r))
            put(x, requested, &r, &to);
    }
}

void og__exchange_groups_copy(const struct og_exchange *x, const struct og_demanded *requested,
                              const struct og_run *r, char **to)
{
    enum { AHEAD = 8 };
    const struct og_rows *rows = &x->served.rows[r->group];
    const size_t bytes = x->groups.group[r->group].row_bytes;
    for (uint32_t k = r->begin; k < r->end; k++, *to += bytes) {
        assert(*to); /* there is room for all */
        if (k + AHEAD < r->end)
            __builtin_prefetch(og__row(rows, requested->at[k + AHEAD] - r->first));
        memcpy(*to, og__row(rows, requested->at[k] - r->first), bytes);
    }
}

/* ---- what is received ---- */

const struct og_rows *og__exchange_groups_show(struct og_exchange *x, uint64_t round)
{
    const struct og_exchange_groups *k = &x->groups;
    const struct og_round_state *t = &x->state[round % OG__ROUNDS_UNDER_WAY];
    const void *received = x->received[round % OG__RECEIVED].at;
    const void *in_place = x->in_place.base;
    struct og_rows *views = k->views + (round % OG__RECEIVED) * k->n;
    for (uint32_t i = 0, from = 0; i < k->n; i++) {
        const struct og_exchange_group *group = &k->group[i];
        const uint32_t end = below(t->ids, from, t->n, k->end[i]);
        const uint32_t *place = t->place.at;
        views[i] = (struct og_rows){.base = received,
                                    .index = place ? place + from : NULL,
                                    .stride = in_place ? x->in_place.unit : k->unit,
                                    .n = end - from,
                                    .dim = group->dim,
                                    .dtype = group->dtype,
                                    .sparse = group->sparse,
                                    .scale = group->scale,
                                    .n_more = in_place ? 1 : 0,
                                    .more = {{.base = in_place, .where = received}}};
        from = end;
    }
    return views;
}
