/* Rows that ranks send one another, of one width and of several. Every row of every batch is that
 * of its node, whoever owns it. Lists that no rank may send are recognised. */
#include "support/testing.h"

#include "flow/exchange_parts.h"
#include "support/draws.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4, NODES = 160, BATCH = 60, TYPES = 5 };

/* ---- a graph, whose rows say of which node they are ---- */

static const struct {
    uint32_t nodes;
    int dim;
    enum og_dtype dtype;
    bool learnt;
} shape[TYPES] = {
    {61, 3, OG_F32, false},
    {40, 8, OG_F32, true},
    {9, 5, OG_F16, false},
    {1, 4, OG_F32, false},
    {NODES - 61 - 40 - 9 - 1, 1, OG_F16, false},
};

struct graph {
    struct og_group node[TYPES];
    struct og_graph typed;
    struct og_graph_type type[TYPES];
    struct og_graph_types types;
    struct og_group rows; /* of the homogeneous graph */
    struct og_graph plain;
    struct og_workload workload;
};

static void make_graph(struct graph *g, bool typed)
{
    memset(g, 0, sizeof(*g));
    uint32_t end = 0;
    for (uint32_t t = 0; t < TYPES; t++) {
        const int dim = shape[t].learnt ? 0 : shape[t].dim;
        g->node[t] = (struct og_group){.dim = dim,
                                       .stored = shape[t].dtype,
                                       .dtype = shape[t].dtype,
                                       .first = end,
                                       .n_nodes = shape[t].nodes};
        g->type[t] = (struct og_graph_type){
            .end = end += shape[t].nodes, .dim = shape[t].dim, .trained = shape[t].learnt};
    }
    g->typed = (struct og_graph){.has_types = true, .group = g->node, .n_groups = TYPES};
    g->types = (struct og_graph_types){.n_types = TYPES, .type = g->type};
    g->rows = (struct og_group){.dim = 7, .stored = OG_F16, .dtype = OG_F16, .n_nodes = NODES};
    g->plain = (struct og_graph){.group = &g->rows, .n_groups = 1};
    struct og_graph *const of = typed ? &g->typed : &g->plain;
    g->workload = (struct og_workload){.n_nodes = NODES, .graph = of, .row_graph = of};
    g->workload.planned_groups = typed ? &g->types : NULL;
}

static uint32_t group_of(const struct graph *g, uint32_t node)
{
    return g->workload.planned_groups ? og__graph_type(g->workload.planned_groups, node) : 0;
}

static uint32_t groups_of(const struct graph *g)
{
    return g->workload.planned_groups ? TYPES : 1;
}

static const struct og_group *view_of(const struct graph *g, uint32_t kind)
{
    return &g->workload.graph->group[kind];
}

static void put_row(char *row, uint32_t node, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        row[i] = (char)(node * 37 + i * 11 + 5);
}

/* ---- ranks ---- */

struct rank {
    struct og_config config;
    struct og_data_path path;
    struct og_exchange x;
    struct og_batch batch;
    uint32_t ids[BATCH];
    uint32_t place[BATCH];
    uint32_t spoken[BATCH];
    char received[BATCH * 32];
};

static void open_ranks(struct rank *r, uint32_t ranks, const struct graph *g)
{
    for (uint32_t i = 0; i < ranks; i++) {
        struct rank *own = &r[i];
        memset(own, 0, sizeof(*own));
        own->config.opt.exchange = true;
        own->config.share = (struct og_share){i, ranks};
        own->path = (struct og_data_path){.workload = &g->workload, .config = &own->config};
        own->x = (struct og_exchange){.path = &own->path, .rank = i, .ranks = ranks};
        own->x.lists_sent = (struct og_room){own->spoken, sizeof(own->spoken)};
        own->x.received[0] = (struct og_room){own->received, sizeof(own->received)};
        own->x.state[0].place = (struct og_room){own->place, sizeof(own->place)};
        assert_int_equal(og__exchange_groups_open(&own->x, NULL), 0);
    }
}

static void close_ranks(struct rank *r, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        og__exchange_groups_close(&r[i].x);
}

/* Any nodes, each once, in any order; maybe none. */
static void draw_batch(struct rank *r, uint32_t round, uint32_t rank)
{
    bool taken[NODES] = {false};
    const uint32_t key = test_scramble(round * 64 + rank + 1);
    const uint32_t n = key % (BATCH + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = test_scramble(key + i + 1) % NODES;
        while (taken[node])
            node = (node + 1) % NODES;
        taken[node] = true;
        r->ids[i] = node;
    }
    r->batch = (struct og_batch){.ids = r->ids, .n_ids = n};
}

/* Those with rows, type by type, in their order. */
static uint32_t listed(const struct graph *g, const struct og_batch *b, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < groups_of(g); t++)
        for (uint32_t i = 0; i < b->n_ids; i++)
            if (group_of(g, b->ids[i]) == t && view_of(g, t)->dim > 0)
                out[n++] = b->ids[i];
    return n;
}

static void ask(struct rank *r, const struct graph *g)
{
    struct og_round_state *t = &r->x.state[0];
    uint32_t want[BATCH];
    const uint32_t n = listed(g, &r->batch, want);
    t->ids = r->batch.ids;
    t->n = r->batch.n_ids;
    assert_int_equal(og__exchange_groups_list(&r->x, &r->x.listed, &t->ids, &t->n, NULL), 0);
    assert_int_equal(t->n, n);
    if (n > 0)
        assert_memory_equal(t->ids, want, n * sizeof(*want));
    og__exchange_sort(&r->x, t->ids, t->n, &t->by, t->place.at);
    assert_int_equal(t->by.first[r->x.ranks], n);
}

/* ---- an owner ---- */

/* Requested rows, as a gather would show them: in reverse, seen through an index. */
static void gather(struct rank *o, const struct graph *g, struct og_rows *rows, char *at)
{
    const struct og_planned_ids *p = &o->x.served.planned;
    uint32_t *index = (uint32_t *)(void *)at;
    at += NODES * sizeof(*index);
    for (uint32_t t = 0, i = 0; t < groups_of(g); t++) {
        const size_t bytes = og__row_bytes(view_of(g, t));
        const uint32_t first = i;
        while (i < p->n && group_of(g, p->ids[i]) == t)
            i++;
        rows[t] =
            (struct og_rows){.base = at, .index = index + first, .stride = bytes, .n = i - first};
        for (uint32_t k = first; k < i; k++) {
            index[k] = i - 1 - k;
            put_row(at + index[k] * bytes, p->ids[k], bytes);
        }
        at += rows[t].n * bytes;
    }
    o->x.served.rows = rows;
}

/* Each once, kind by kind: all that anybody requests of its nodes. */
static void check_requested(const struct rank *o, const struct graph *g,
                            const struct og_demanded *requested, const bool *wanted)
{
    const struct og_exchange *x = &o->x;
    bool seen[NODES] = {false};
    uint32_t kind = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < requested->n; i++) {
        const uint32_t node = og__owned_node(x->ranks, x->rank, requested->ids[i]);
        assert_true(node < NODES && wanted[node] && !seen[node] && group_of(g, node) >= kind);
        seen[node] = true;
        kind = group_of(g, node);
    }
    for (uint32_t v = 0; v < NODES; v++)
        n += wanted[v] && og__owner_of(x->ranks, v) == x->rank;
    assert_int_equal(requested->n, n);
}

/* The lists of all, as one round of requests. */
static void hear(struct rank *r, struct rank *o, const struct graph *g, struct og_demand *d)
{
    const struct og_exchange *x = &o->x;
    const uint32_t *nodes[MOST];
    uint32_t counts[MOST];
    bool wanted[NODES] = {false};
    for (uint32_t i = 0; i < x->ranks; i++) {
        const struct og_round_state *t = &r[i].x.state[0];
        nodes[i] = r[i].spoken + t->by.first[x->rank];
        counts[i] = t->by.first[x->rank + 1] - t->by.first[x->rank];
        assert_true(og__exchange_groups_fit(x, nodes[i], counts[i]));
        for (uint32_t k = 0; k < t->n; k++)
            wanted[t->ids[k]] = true;
    }
    assert_int_equal(og__demand_open(d, x->ranks, x->rank, x->groups.end, x->groups.n, NULL, NULL),
                     0);
    assert_int_equal(og__demand_reserve(d, 1, MOST * BATCH, NULL), 0);
    og__demand_add(d, nodes, counts);
    const struct og_demanded requested = og__demand_of(d, 0);
    assert_memory_equal(requested.counts, counts, x->ranks * sizeof(*counts));
    check_requested(o, g, &requested, wanted);
}

/* As messages go. */
static void send(struct rank *r, struct rank *o, const struct og_demanded *requested)
{
    static char others[MOST * BATCH * 32];
    struct og_exchange *x = &o->x;
    size_t bytes[MOST];
    const size_t sent = og__exchange_groups_sizes(x, requested, bytes);
    const char *from = others;
    char *at = others;
    for (uint32_t i = 0; i < x->ranks; i++) {
        x->send[i] = (struct og_message){at, bytes[i]};
        at += i == x->rank ? 0 : bytes[i];
    }
    x->send[x->rank].at = o->received + x->state[0].by.begins[x->rank] * x->groups.unit;
    og__exchange_groups_put(x, requested, og__exchange_groups_copy);
    for (uint32_t i = 0; i < x->ranks; i++) {
        const struct og_exchange *to = &r[i].x;
        const uint64_t *begins = to->state[0].by.begins;
        assert_int_equal(bytes[i], (begins[x->rank + 1] - begins[x->rank]) * to->groups.unit);
        if (i == x->rank)
            continue;
        memcpy(r[i].received + begins[x->rank] * to->groups.unit, from, bytes[i]);
        from += bytes[i];
    }
    assert_ptr_equal(from, others + sent);
}

static void serve(struct rank *r, struct rank *o, const struct graph *g)
{
    static char memory[NODES * 32];
    static struct og_rows rows[TYPES];
    const struct og_exchange *x = &o->x;
    struct og_planned_ids *p = &o->x.served.planned;
    struct og_demand d;
    hear(r, o, g, &d);
    const struct og_demanded requested = og__demand_of(&d, 0);
    assert_int_equal(og__exchange_groups_serve(&o->x, &requested, NULL), 0);
    if (g->workload.planned_groups)
        assert_int_equal(p->n, requested.n);
    assert_int_equal(og__planned_ids_reserve(p, &g->types, requested.n, NULL), 0);
    for (uint32_t i = 0; i < requested.n; i++) {
        const uint32_t node = og__owned_node(x->ranks, x->rank, requested.ids[i]);
        assert_true(!g->workload.planned_groups || p->ids[i] == node);
        p->own[i] = node; /* of one width nobody lists them */
    }
    p->ids = p->own;
    p->n = requested.n;
    gather(o, g, rows, memory);
    send(r, o, &requested);
    og__demand_close(&d);
}

/* ---- what a batch has then ---- */

static void check_rows(struct rank *r, const struct graph *g)
{
    const struct og_rows *views = og__exchange_groups_show(&r->x, 0);
    uint32_t want[BATCH];
    const uint32_t n = listed(g, &r->batch, want);
    uint32_t k = 0;
    for (uint32_t t = 0; t < groups_of(g); t++) {
        const struct og_group *view = view_of(g, t);
        assert_true(views[t].dim == view->dim && views[t].dtype == view->dtype);
        for (uint32_t i = 0; i < views[t].n; i++, k++) {
            char row[32];
            assert_true(k < n && group_of(g, want[k]) == t);
            put_row(row, want[k], og__row_bytes(view));
            assert_memory_equal(og__row(&views[t], i), row, og__row_bytes(view));
        }
    }
    assert_int_equal(k, n);
}

static void all_rows_are_their_nodes(bool typed)
{
    static struct rank r[MOST];
    struct graph g;
    make_graph(&g, typed);
    for (uint32_t ranks = 2; ranks <= MOST; ranks++) {
        open_ranks(r, ranks, &g);
        for (uint32_t round = 0; round < 60; round++) {
            for (uint32_t i = 0; i < ranks; i++) {
                draw_batch(&r[i], round, i);
                ask(&r[i], &g);
            }
            for (uint32_t i = 0; i < ranks; i++)
                serve(r, &r[i], &g);
            for (uint32_t i = 0; i < ranks; i++)
                check_rows(&r[i], &g);
        }
        close_ranks(r, ranks);
    }
}

static void rows_of_one_width(void **state)
{
    (void)state;
    all_rows_are_their_nodes(false);
}

static void rows_of_several(void **state)
{
    (void)state;
    all_rows_are_their_nodes(true);
}

static void lists_that_nobody_asks_with(void **state)
{
    static struct rank r[2];
    static const struct {
        uint32_t n, nodes[3];
        bool fits;
    } lists[] = {
        {0, {0}, true},
        {3, {0, 58, 102}, true},
        {3, {58, 0, 108}, true},
        {2, {0, 1}, false},           /* another's */
        {2, {102, 0}, false},         /* not type by type */
        {1, {70}, false},             /* its rows are learnt */
        {2, {0, NODES}, false},       /* no node */
        {1, {UINT32_MAX - 1}, false}, /* nor this */
    };
    struct graph g;
    (void)state;
    make_graph(&g, true);
    open_ranks(r, 2, &g);
    for (size_t i = 0; i < OG_COUNT(lists); i++)
        assert_int_equal(og__exchange_groups_fit(&r[0].x, lists[i].nodes, lists[i].n),
                         lists[i].fits);
    close_ranks(r, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_width),
        cmocka_unit_test(rows_of_several),
        cmocka_unit_test(lists_that_nobody_asks_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
