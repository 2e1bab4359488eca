#include "dataset/times.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "times";

const char og__by_time_key[] = "by_time";
const char *const og__times_words[] = {"off", "node", "edge"};

enum og_times_kind og__sorted_by(const struct og_graph *g, uint32_t r)
{
    const json_t *all = json_object_get(g->meta, og__by_time_key);
    const char *word = json_string_value(json_array_get(all, r));
    enum og_times_kind kind = OG_TIMES_OFF;
    for (int k = OG_TIMES_NODE; word && k <= OG_TIMES_EDGE; k++)
        if (strcmp(word, og__times_words[k]) == 0)
            kind = (enum og_times_kind)k;
    return kind;
}

static bool has_times(const struct og_graph *g, enum og_times_kind kind)
{
    bool has = kind == OG_TIMES_NODE && g->node_times.fd >= 0;
    for (uint32_t r = 0; kind == OG_TIMES_EDGE && r < g->n_relations; r++)
        has |= g->relation[r].edge_times.fd >= 0;
    return has;
}

int og__times_check(const struct og_graph *g, enum og_times_kind kind, struct og_err *err)
{
    if (kind == OG_TIMES_OFF || has_times(g, kind))
        return 0;
    return og__fail(err, -EINVAL,
                    kind == OG_TIMES_NODE
                        ? "import the graph with a node_times.npy: int64 [N], a number a node"
                    : og__form_of(g)->by_relation
                        ? "import the graph with edge_times_SOURCE__NAME__DESTINATION.npy of a "
                          "relation: int64, a number an edge"
                        : "import the graph with an edge_times.npy: int64 [E], a number an edge",
                    "%s: has no times of %s", g->path, kind == OG_TIMES_NODE ? "nodes" : "edges");
}

/* ---- the order of lists ---- */

/* Bits of a digit at most; of lists from LONG_DIGITS on the second. */
enum { DIGIT = 8, LONG_DIGIT = 11, LONG_DIGITS = 1024, FEW = 32 };
/* A longer list is sorted in its place, so that loading takes no more for it. */
enum { LONG_LIST = 1 << 16, ROOM_BYTES = 2 * LONG_LIST * (int)sizeof(struct og_timed) };

static void insert_by_time(struct og_timed *list, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct og_timed one = list[i];
        size_t k = i;
        for (; k > 0 && list[k - 1].time > one.time; k--)
            list[k] = list[k - 1];
        list[k] = one;
    }
}

/* Moves entries by one digit of their time above the earliest. */
static void move_by_digit(const struct og_timed *from, struct og_timed *to, size_t n,
                          int64_t earliest, unsigned shift, unsigned digit)
{
    const size_t values = (size_t)1 << digit;
    size_t start[((size_t)1 << LONG_DIGIT) + 1];
    memset(start, 0, (values + 1) * sizeof(*start));
    for (size_t i = 0; i < n; i++)
        start[((((uint64_t)from[i].time - (uint64_t)earliest) >> shift) & (values - 1)) + 1]++;
    for (size_t v = 0; v < values; v++)
        start[v + 1] += start[v];
    for (size_t i = 0; i < n; i++)
        to[start[(((uint64_t)from[i].time - (uint64_t)earliest) >> shift) & (values - 1)]++] =
            from[i];
}

void og__sort_by_time(struct og_timed *list, struct og_timed *room, size_t n)
{
    struct og_timed *from = list;
    struct og_timed *to = room;
    int64_t first = n > 0 ? list[0].time : 0;
    int64_t last = first;
    bool sorted = true;
    for (size_t i = 1; i < n; i++) {
        first = OG_MIN(first, list[i].time);
        last = OG_MAX(last, list[i].time);
        sorted &= list[i - 1].time <= list[i].time;
    }
    if (sorted)
        return;
    if (n <= FEW) {
        insert_by_time(list, n);
        return;
    }
    const unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)last - (uint64_t)first);
    const unsigned most = n < LONG_DIGITS ? DIGIT : LONG_DIGIT;
    const unsigned moves = (bits + most - 1) / most;
    const unsigned digit = (bits + moves - 1) / moves;
    for (unsigned shift = 0; shift < bits; shift += digit) {
        move_by_digit(from, to, n, first, shift, digit);
        struct og_timed *const moved = to;
        to = from;
        from = moved;
    }
    if (from != list)
        memcpy(list, from, n * sizeof(*list));
}

static int64_t time_at(const struct og_topology *t, const struct og_list_times *of, int64_t edge)
{
    return of->edge ? of->edge[edge] : of->node[og__neighbor(t, edge)];
}

static bool in_order(const struct og_topology *t, const struct og_list_times *of)
{
    for (int64_t v = 0; v < t->n_nodes; v++)
        for (int64_t e = t->indptr[v] + 1; e < t->indptr[v + 1]; e++)
            if (time_at(t, of, e - 1) > time_at(t, of, e))
                return false;
    return true;
}

/* A list that is sorted in its place. */
struct long_list {
    const struct og_topology *t;
    const struct og_list_times *of;
    int64_t begin;
    uint32_t *order; /* of its places */
};

static bool is_later(const struct long_list *l, uint32_t a, uint32_t b)
{
    const int64_t x = time_at(l->t, l->of, l->begin + a);
    const int64_t y = time_at(l->t, l->of, l->begin + b);
    return x != y ? x > y : a > b;
}

/* Sinks entry i of a heap, whose root is the latest. */
static void sink(const struct long_list *l, size_t n, size_t i)
{
    const uint32_t one = l->order[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && is_later(l, l->order[child + 1], l->order[child]);
        if (!is_later(l, l->order[child], one))
            break;
        l->order[i] = l->order[child];
    }
    l->order[i] = one;
}

static void sort_in_place(const struct long_list *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        l->order[i] = (uint32_t)i;
    for (size_t i = n / 2; i-- > 0;)
        sink(l, n, i);
    for (size_t end = n; end-- > 1;) {
        const uint32_t latest = l->order[0];
        l->order[0] = l->order[end];
        l->order[end] = latest;
        sink(l, end, 0);
    }
}

/* `list` has room for 2 LONG_LIST. */
static void sort_lists(const struct og_topology *t, const struct og_list_times *of,
                       struct og_timed *list, uint32_t *order)
{
    for (int64_t v = 0; v < t->n_nodes; v++) {
        const int64_t begin = t->indptr[v];
        const size_t n = (size_t)(t->indptr[v + 1] - begin);
        if (n > LONG_LIST) {
            sort_in_place(&(struct long_list){t, of, begin, order + begin}, n);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            list[i] = (struct og_timed){time_at(t, of, begin + (int64_t)i), (uint32_t)i};
        og__sort_by_time(list, list + LONG_LIST, n);
        for (size_t i = 0; i < n; i++)
            order[begin + (int64_t)i] = list[i].place;
    }
}

static int put_in_order(const struct og_topology *t, struct og_budget *b, struct og_list_times *of,
                        struct og_err *err)
{
    if (in_order(t, of))
        return 0;
    uint32_t *order = og__alloc(b, (size_t)t->n_edges * sizeof(*order), part, err);
    struct og_timed *list = order ? og__alloc(b, ROOM_BYTES, part, err) : NULL;
    of->order = order;
    if (!list)
        return -ENOMEM;
    sort_lists(t, of, list, order);
    og__release(b, list, ROOM_BYTES, part);
    return 0;
}

/* ---- load and release ---- */

static int load_edges(const struct og_relation *r, struct og_budget *b, struct og_list_times *of,
                      struct og_err *err)
{
    int64_t *edge = og__alloc(b, (size_t)r->edge_times.bytes, part, err);
    of->edge = edge;
    return edge ? og__npy_read(&r->edge_times, 0, r->n_edges, edge, err) : -ENOMEM;
}

bool og__times_uncached(const struct og_graph *g, enum og_times_kind kind)
{
    bool sorted = kind == OG_TIMES_NODE;
    for (uint32_t r = 0; r < g->n_relations; r++)
        sorted &= g->relation[r].n_edges == 0 || og__sorted_by(g, r) == kind;
    return has_times(g, kind) && !sorted;
}

static bool has_some(const struct og_times *t, uint32_t group)
{
    const struct og_group *g = &t->graph->group[group];
    for (int64_t v = g->first; v < g->first + g->n_nodes; v++)
        if (t->node[v] != OG__NO_TIME)
            return true;
    return false;
}

static int load_relation(struct og_times *out, const struct og_topology *whole, uint32_t r,
                         struct og_err *err)
{
    const struct og_relation *of = &out->graph->relation[r];
    const struct og_topology *t = og__lists_seen(whole, r);
    struct og_list_times *own = &out->of[r];
    const bool timed = out->kind == OG_TIMES_EDGE && of->edge_times.fd >= 0;
    if (of->n_edges == 0)
        return 0;
    if (out->node && has_some(out, of->source))
        own->node = out->node + out->graph->group[of->source].first;
    if (timed && t->disk)
        own->file = &of->edge_times;
    else if (timed) {
        OG_DO(load_edges(of, out->budget, own, err));
    }
    own->sorted = t->disk && og__sorted_by(out->graph, r) == out->kind;
    own->uncached = t->disk && (own->file || (own->node && !own->sorted));
    return !t->disk && (own->node || own->edge) ? put_in_order(t, out->budget, own, err) : 0;
}

static int load_nodes(struct og_times *out, struct og_err *err)
{
    const struct og_npy *a = &out->graph->node_times;
    out->node = og__alloc(out->budget, out->n_nodes * sizeof(*out->node), part, err);
    return out->node ? og__npy_read(a, 0, (int64_t)out->n_nodes, out->node, err) : -ENOMEM;
}

int og__times_load(const struct og_graph *g, enum og_times_kind kind, const struct og_topology *t,
                   struct og_budget *b, struct og_times *out, struct og_err *err)
{
    int rc;
    *out = (struct og_times){.kind = kind,
                             .n_relations = g->n_relations,
                             .budget = b,
                             .n_nodes = (size_t)g->n_nodes,
                             .graph = g};
    if (kind == OG_TIMES_OFF)
        return 0;
    OG_TRY(og__times_check(g, kind, err));
    if (!(out->of = calloc(g->n_relations, sizeof(*out->of))))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    OG_TRY(kind == OG_TIMES_NODE ? load_nodes(out, err) : 0);
    for (uint32_t r = 0; r < g->n_relations; r++)
        OG_TRY(load_relation(out, t, r, err));
out:
    if (rc < 0)
        og__times_release(out);
    return rc;
}

void og__times_release(struct og_times *t)
{
    for (uint32_t r = 0; t->of && r < t->n_relations; r++) {
        const size_t n = (size_t)t->graph->relation[r].n_edges;
        og__release(t->budget, (void *)t->of[r].edge, n * sizeof(int64_t), part);
        og__release(t->budget, (void *)t->of[r].order, n * sizeof(uint32_t), part);
    }
    og__release(t->budget, t->node, t->n_nodes * sizeof(*t->node), part);
    free(t->of);
    *t = (struct og_times){0};
}

size_t og__times_bytes(const struct og_graph *g, enum og_times_kind kind, bool on_disk)
{
    size_t bytes = kind == OG_TIMES_NODE ? (size_t)g->n_nodes * sizeof(int64_t) : 0;
    size_t edges = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        edges += kind == OG_TIMES_NODE || g->relation[r].edge_times.fd >= 0
                     ? (size_t)g->relation[r].n_edges
                     : 0;
    if (kind == OG_TIMES_OFF || on_disk)
        return bytes;
    return bytes + ROOM_BYTES +
           edges * (sizeof(uint32_t) + (kind == OG_TIMES_EDGE ? sizeof(int64_t) : 0));
}
