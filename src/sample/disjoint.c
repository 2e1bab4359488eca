/* Disjoint trees (trees.h), and neighbourhoods that know no future. No edge of a tree is later than
 * its seed's time T, nor earlier than T - window. An edge has a time of its own or its source's
 * (dataset/times.h).
 *
 *   list by time   | too early | first ... allowed ... | later than T |
 *                              uniform: min(fanout, n) of them       last: these |<--|
 *
 * Places with equal times are in the order of the list. A tree's draws are
 * keyed by its seed: it is the same whatever else is in the batch.
 *
 * In memory two binary searches find what is allowed. From disk lists are read whole, with their
 * times. If they are sorted by times of edges, a batch reads the blocks that decide (prefixes.h),
 * and those of its draws. A group of batches reads each list once a hop, and sorts it there for all
 * of them. */
#include "dataset/on_disk.h"
#include "dataset/times.h"
#include "sample/from_disk.h"
#include "sample/kinds.h"
#include "sample/prefixes.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "sampler";

/* A destination of those whose lists were read together. */
struct wanting {
    uint32_t node, i;
};

/* The state of a relation with times, from disk. Lists are sorted once for all trees that have the
 * node. */
struct og_disjoint {
    struct og_lists *times;  /* of its edges; NULL: of nodes, or not opened */
    struct og_timed *timed;  /* [2 * longest] the list of one node, and room to sort it */
    struct wanting *wanting; /* [OG__LISTS_AT_ONCE] by node */
    uint32_t *place, *n;     /* [OG__LISTS_AT_ONCE][width] drawn places, and how many of each */
    uint32_t width;
    int64_t longest;
    struct og_partly *partly; /* of sorted lists; NULL: not opened */
};
enum { MOST_WIDTH = 64 }; /* a larger fanout sorts for each tree */

/* What is drawn of sorted lists, of as many destinations as fit. */
struct og_partly {
    struct og_prefixes *prefixes;
    struct og_prefix *list; /* [OG__PREFIXES] */
    uint32_t *n;            /* [OG__PREFIXES] drawn */
    uint32_t *place;        /* [room] places in lists, of all draws; */
    uint32_t *id;           /* their sources, less the relation's first; */
    float *weight;          /* their weights; NULL: none */
    size_t room;
};

/* What a destination may sample. */
struct allowed {
    int64_t first, n;
    const uint32_t *order;        /* entry first + i: place in the list; NULL: first + i, or */
    const struct og_timed *timed; /* the same from disk; NULL: in memory, or arranged */
};

static inline uint32_t place_at(const struct allowed *a, int64_t i)
{
    if (a->timed)
        return a->timed[a->first + i].place;
    return a->order ? a->order[a->first + i] : (uint32_t)(a->first + i);
}

/* ---- open and close ---- */

static const struct og_list_times *times_of(const struct og_hop *h)
{
    const struct og_times *t = h->s->how.times;
    const struct og_list_times *of = t ? &t->of[h->relation] : NULL;
    return of && (of->node || of->edge || of->file) ? of : NULL;
}

static size_t places_bytes(uint32_t width)
{
    return (size_t)OG__LISTS_AT_ONCE * width * sizeof(uint32_t);
}

static int open_kind(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology_disk *disk = s->topology->disk;
    if (!disk || !s->how.times)
        return 0;
    struct og_disjoint *d = og__alloc(s->budget, sizeof(*d), part, err);
    if (!d)
        return -ENOMEM;
    *d = (struct og_disjoint){.longest = OG_MAX(disk->longest, 1)};
    s->state = d;
    d->width = (uint32_t)OG_MIN(s->max_pick, (size_t)MOST_WIDTH);
    d->timed = og__alloc(s->budget, 2 * (size_t)d->longest * sizeof(*d->timed), part, err);
    d->wanting = og__alloc(s->budget, OG__LISTS_AT_ONCE * sizeof(*d->wanting), part, err);
    d->place = og__alloc(s->budget, places_bytes(d->width), part, err);
    d->n = og__alloc(s->budget, OG__LISTS_AT_ONCE * sizeof(*d->n), part, err);
    return d->timed && d->wanting && d->place && d->n ? 0 : -ENOMEM;
}

static void drop_room(struct og_sampler *s, struct og_partly *p)
{
    og__release(s->budget, p->place, p->room * sizeof(*p->place), part);
    og__release(s->budget, p->id, p->room * sizeof(*p->id), part);
    og__release(s->budget, p->weight, p->room * sizeof(*p->weight), part);
    p->place = p->id = NULL;
    p->weight = NULL;
    p->room = 0;
}

static void close_partly(struct og_sampler *s, struct og_partly *p)
{
    if (!p)
        return;
    og__prefixes_close(p->prefixes);
    drop_room(s, p);
    og__release(s->budget, p->list, OG__PREFIXES * sizeof(*p->list), part);
    og__release(s->budget, p->n, OG__PREFIXES * sizeof(*p->n), part);
    og__release(s->budget, p, sizeof(*p), part);
}

static int make_room(struct og_sampler *s, struct og_partly *p, size_t n, bool weights,
                     struct og_err *err)
{
    if (n <= p->room)
        return 0;
    drop_room(s, p);
    p->place = og__alloc(s->budget, n * sizeof(*p->place), part, err);
    p->id = og__alloc(s->budget, n * sizeof(*p->id), part, err);
    p->weight = weights ? og__alloc(s->budget, n * sizeof(*p->weight), part, err) : NULL;
    p->room = n;
    return p->place && p->id && (p->weight || !weights) ? 0 : -ENOMEM;
}

static int open_partly(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_disjoint *d = s->state;
    int rc;
    if (d->partly)
        return 0;
    struct og_partly *p = og__alloc(s->budget, sizeof(*p), part, err);
    if (!p)
        return -ENOMEM;
    d->partly = p;
    *p = (struct og_partly){0};
    p->list = og__alloc(s->budget, OG__PREFIXES * sizeof(*p->list), part, err);
    p->n = og__alloc(s->budget, OG__PREFIXES * sizeof(*p->n), part, err);
    OG_TRY(p->list && p->n ? 0 : -ENOMEM);
    OG_TRY(make_room(s, p, (size_t)OG__PREFIXES * d->width, h->weight, err));
    rc = og__prefixes_open(&p->prefixes, s->topology, s->how.times->of[h->relation].file, s->budget,
                           &s->reads, err);
out:
    return rc;
}

/* With draws of whole lists. */
static size_t partly_bytes(const struct og_topology_disk_options *opt, int64_t longest)
{
    const size_t room = OG_MAX((size_t)OG__PREFIXES * MOST_WIDTH, (size_t)longest);
    return sizeof(struct og_partly) + og__prefixes_bytes(opt) +
           OG__PREFIXES * (sizeof(struct og_prefix) + sizeof(uint32_t)) +
           room * (2 * sizeof(uint32_t) + sizeof(float));
}

static void close_kind(struct og_sampler *s)
{
    struct og_disjoint *d = s->state;
    if (!d)
        return;
    close_partly(s, d->partly);
    og__lists_close(d->times);
    og__release(s->budget, d->timed, 2 * (size_t)d->longest * sizeof(*d->timed), part);
    og__release(s->budget, d->wanting, OG__LISTS_AT_ONCE * sizeof(*d->wanting), part);
    og__release(s->budget, d->place, places_bytes(d->width), part);
    og__release(s->budget, d->n, OG__LISTS_AT_ONCE * sizeof(*d->n), part);
    og__release(s->budget, d, sizeof(*d), part);
    s->state = NULL;
}

/* The state where the longest list has so many edges. */
static size_t state_bytes(const struct og_sampling *how, int64_t longest)
{
    if (how->time == OG_TIMES_OFF)
        return 0;
    return sizeof(struct og_disjoint) + 2 * (size_t)OG_MAX(longest, 1) * sizeof(struct og_timed) +
           OG__LISTS_AT_ONCE * (sizeof(struct wanting) + sizeof(uint32_t)) +
           places_bytes(MOST_WIDTH);
}

static size_t disk_bytes(const struct og_relation *of, const struct og_sampling *how,
                         const struct og_topology_disk_options *opt, int64_t longest)
{
    const size_t sources = og__source_lists_bytes(of, how, opt, longest);
    const bool timed = how->time == OG_TIMES_EDGE && of->edge_times.fd >= 0;
    const uint32_t r = (uint32_t)(of - of->graph->relation);
    const bool sorted = timed && og__sorted_by(of->graph, r) == how->time;
    if (sorted)
        return sources + state_bytes(how, longest) + partly_bytes(opt, longest);
    return sources + state_bytes(how, longest) +
           (timed ? og__lists_bytes(opt, sizeof(int64_t), longest) : 0);
}

/* ---- what is allowed ---- */

static int64_t earliest(const struct og_hop *h, int64_t time)
{
    const int64_t window = h->s->how.window;
    if (window == 0)
        return INT64_MIN;
    return time < INT64_MIN + window ? INT64_MIN : time - window;
}

/* A list by time. */
struct by_time {
    const struct og_topology *t;
    const struct og_list_times *of;
    const struct og_timed *timed; /* or */
    const struct og_list *list;   /* arranged; both NULL: in memory, edges from `begin` */
    int64_t begin, n;
};

/* The time of a list's element i. */
static int64_t list_time(const struct og_list_times *of, const struct og_list *list, int64_t i)
{
    return list->times ? list->times[i] : of->node[og__list_id(list, i)];
}

static int64_t time_at(const struct by_time *l, int64_t i)
{
    if (l->timed)
        return l->timed[i].time;
    if (l->list)
        return list_time(l->of, l->list, i);
    const int64_t e = l->begin + (l->of->order ? l->of->order[l->begin + i] : i);
    return l->of->edge ? l->of->edge[e] : l->of->node[og__neighbor(l->t, e)];
}

/* The first of n entries that is not below `time`; with `after`, that is above. */
static int64_t bound(const struct by_time *l, int64_t n, int64_t time, bool after)
{
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const int64_t at = time_at(l, low + half);
        if (at < time || (after && at == time)) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

static struct allowed allowed_of(const struct og_hop *h, const struct by_time *l, int64_t time)
{
    const int64_t end = bound(l, l->n, time, true);
    const int64_t first = h->s->how.window > 0 ? bound(l, end, earliest(h, time), false) : 0;
    return (struct allowed){.first = first,
                            .n = end - first,
                            .order = l->of->order ? l->of->order + l->begin : NULL,
                            .timed = l->timed};
}

static struct allowed allowed_in_memory(const struct og_hop *h, uint32_t v, int64_t time)
{
    const struct og_topology *t = h->s->topology;
    const struct by_time l = {
        .t = t, .of = times_of(h), .begin = og__first_edge(t, v), .n = og__degree(t, v)};
    return l.of ? allowed_of(h, &l, time) : (struct allowed){.n = l.n};
}

/* Sorts a list by time, into the state. */
static void sort_list(const struct og_hop *h, const struct og_list *list)
{
    const struct og_list_times *of = times_of(h);
    const struct og_disjoint *d = h->s->state;
    for (int64_t i = 0; i < list->n; i++)
        d->timed[i] = (struct og_timed){list_time(of, list, i), (uint32_t)i};
    og__sort_by_time(d->timed, d->timed + d->longest, (size_t)list->n);
}

static bool is_in_order(const struct og_list_times *of, const struct og_list *list)
{
    for (int64_t i = 1; i < list->n; i++)
        if (list_time(of, list, i - 1) > list_time(of, list, i))
            return false;
    return true;
}

/* Fails for a list that is out of order, though meta.json says that it is sorted. Its times were
 * changed after the import. */
static int check_order(const struct og_hop *h, uint32_t v, const struct og_list *list,
                       struct og_err *err)
{
    const struct og_list_times *of = times_of(h);
    if (!of->sorted || is_in_order(of, list))
        return 0;
    return og__fail(err, -EINVAL, "import the graph again with --by-time",
                    "the neighbours of node %u are not sorted by time, though by_time in meta.json "
                    "says so",
                    v);
}

/* A list that is read by itself, in order there or in the state. */
static int order_list(const struct og_hop *h, uint32_t v, const struct og_list *list,
                      struct og_err *err)
{
    if (!times_of(h)->sorted)
        sort_list(h, list);
    return check_order(h, v, list, err);
}

/* The allowed part of a list; without times all of it. It is sorted, there or in the state. */
static struct allowed allowed_from_disk(const struct og_hop *h, const struct og_list *list,
                                        int64_t time)
{
    const struct og_disjoint *d = h->s->state;
    const struct og_list_times *of = times_of(h);
    struct by_time l = {.of = of, .n = list->n};
    if (!of)
        return (struct allowed){.n = l.n};
    l.list = of->sorted ? list : NULL;
    l.timed = of->sorted ? NULL : d->timed;
    return allowed_of(h, &l, time);
}

/* ---- draws ---- */

/* Returns the first of the allowed ones that may be drawn, and in *n how many are. They are those
 * from it on; with *picks, those at these distances from it. `last` with replacement draws among
 * the latest, as PyTorch Geometric does. */
static int64_t draw(const struct og_hop *h, uint32_t v, uint32_t tree, const struct allowed *a,
                    const uint32_t **picks, int64_t *n)
{
    struct og_sampler *s = h->s;
    struct og_rng rng;
    const bool last = s->how.last && times_of(h) && h->fanout >= 0;
    const int64_t first = last ? OG_MAX(a->n - h->fanout, 0) : 0;
    const int64_t among = a->n - first;
    *picks = NULL;
    *n = among;
    if (og__takes_all(h, among))
        return first;
    *n = og__drawn_number(s->how.replace, h->fanout, among);
    og__rng_at(&rng, s->trees->key[tree] + (h->seed - s->seed), h->stream, h->epoch, h->batch,
               h->number, v);
    og__draw(s, &rng, (uint32_t)among, (uint32_t)*n);
    *picks = s->pick;
    return first;
}

/* The edge at a place of destination i's list into the window. list NULL: in memory. */
static int push_place(struct og_hop *h, uint32_t i, int64_t place, const struct og_list *list,
                      struct og_err *err)
{
    const int64_t edge = og__first_edge(h->s->topology, h->nodes[i]) + place;
    og__push_into(h, og__tree_of(h, i));
    return list ? og__push_drawn(h, og__list_id(list, place),
                                 list->weights ? list->weights + place : NULL, edge, err)
                : og__push_edge(h, edge, err);
}

/* Draws of destination i into the window. */
static int sample_node(struct og_hop *h, uint32_t i, const struct allowed *a,
                       const struct og_list *list, struct og_err *err)
{
    const uint32_t *picks;
    int64_t n;
    const int64_t first = draw(h, h->nodes[i], og__tree_of(h, i), a, &picks, &n);
    int rc = 0;
    for (int64_t k = 0; k < n; k++)
        OG_TRY(push_place(h, i, place_at(a, first + (picks ? picks[k] : k)), list, err));
out:
    return rc;
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    const uint32_t n = h->block->n_dst;
    int rc = 0;
    for (uint32_t i = h->first; i < n; i++) {
        if (i + OG__PREFETCH_DISTANCE < n)
            og__prefetch_degree(t, h->nodes[i + OG__PREFETCH_DISTANCE]);
        const int64_t time = h->s->trees->time[og__tree_of(h, i)];
        const struct allowed a = allowed_in_memory(h, h->nodes[i], time);
        og__begin_list(h, i);
        OG_TRY(sample_node(h, i, &a, NULL, err));
    }
    OG_TRY(og__flush_edges(h, err));
out:
    return rc;
}

/* The times of the same lists, cached ones too. */
static int read_times(struct og_hop *h, uint32_t first, uint32_t *taken, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_disjoint *d = s->state;
    const struct og_list_times *of = times_of(h);
    int rc = 0;
    if (!of || !of->file)
        return 0;
    if (!d->times)
        OG_TRY(og__lists_open(&d->times, s->topology, of->file, s->budget, err));
    OG_TRY(og__lists_read(d->times, s->topology, NULL, h->nodes + first, *taken, taken, &s->reads,
                          err));
out:
    return rc;
}

static int by_node(const void *a, const void *b)
{
    const struct wanting *x = a;
    const struct wanting *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* The list of destination first + i, with times of its edges. */
static struct og_list timed_list(const struct og_hop *h, uint32_t first, uint32_t i)
{
    const struct og_disjoint *d = h->s->state;
    struct og_list list = og__hop_list(h, first, i);
    if (times_of(h) && times_of(h)->file)
        list.times = og__lists_start(d->times, i);
    return list;
}

/* Draws for all destinations first to first + n, node after node. */
static int draw_by_node(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    struct og_disjoint *d = h->s->state;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        d->wanting[i] = (struct wanting){h->nodes[first + i], i};
    qsort(d->wanting, n, sizeof(*d->wanting), by_node);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = d->wanting[k].i;
        const struct og_list list = timed_list(h, first, i);
        const uint32_t tree = og__tree_of(h, first + i);
        const uint32_t *picks;
        int64_t drawn;
        if (k == 0 || d->wanting[k - 1].node != d->wanting[k].node)
            OG_TRY(order_list(h, d->wanting[k].node, &list, err));
        const struct allowed a = allowed_from_disk(h, &list, h->s->trees->time[tree]);
        const int64_t from = draw(h, d->wanting[k].node, tree, &a, &picks, &drawn);
        d->n[i] = (uint32_t)drawn;
        for (int64_t j = 0; j < drawn; j++)
            d->place[i * (size_t)d->width + (size_t)j] =
                place_at(&a, from + (picks ? picks[j] : j));
    }
out:
    return rc;
}

/* What was drawn, in the order of destinations. */
static int push_drawn(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    const struct og_disjoint *d = h->s->state;
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct og_list list = og__hop_list(h, first, i);
        og__begin_list(h, first + i);
        for (uint32_t j = 0; j < d->n[i]; j++)
            OG_TRY(push_place(h, first + i, d->place[i * (size_t)d->width + j], &list, err));
    }
out:
    return rc;
}

/* ---- in group sampling: lists in memory, in order ---- */

/* Moves elements of `size` bytes to the order of the sorted list. */
static void move_elements(const struct og_disjoint *d, const void *elements, size_t size, int64_t n)
{
    char *to = (char *)elements;
    char *from = (void *)(d->timed + d->longest);
    memcpy(from, to, (size_t)n * size);
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)i * size, from + d->timed[i].place * size, size);
}

/* A list in order of time, for all batches that have its node. */
static int arrange(const struct og_hop *h, uint32_t v, const struct og_list *list,
                   struct og_err *err)
{
    const struct og_list_times *of = times_of(h);
    const struct og_disjoint *d = h->s->state;
    int rc = 0;
    if (!of)
        return 0;
    OG_TRY(of->node ? og__check_sources(h->s->topology, list, v, err) : 0);
    OG_TRY(check_order(h, v, list, err));
    if (of->sorted || is_in_order(of, list))
        return 0;
    sort_list(h, list);
    move_elements(d, list->ids, list->wide ? sizeof(int64_t) : sizeof(uint32_t), list->n);
    if (list->weights)
        move_elements(d, list->weights, sizeof(float), list->n);
    if (list->times)
        move_elements(d, list->times, sizeof(int64_t), list->n);
out:
    return rc;
}

static int take(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_list *list,
                struct og_taken *out, struct og_err *err)
{
    const struct by_time l = {.of = times_of(h), .list = list, .n = list->n};
    const struct allowed a =
        l.of ? allowed_of(h, &l, h->s->trees->time[tree]) : (struct allowed){.n = l.n};
    const uint32_t *picks;
    int64_t n;
    const int64_t first = draw(h, v, tree, &a, &picks, &n);
    int rc = 0;
    for (int64_t k = 0; k < n; k++)
        OG_TRY(og__take_neighbor(h, v, list, a.first + first + (picks ? picks[k] : k), out, err));
out:
    return rc;
}

/* ---- from disk, one batch ---- */

/* The allowed parts of the lists of n destinations. */
static int find_prefixes(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    struct og_partly *p = ((struct og_disjoint *)h->s->state)->partly;
    const struct og_topology *t = h->s->topology;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t v = h->nodes[first + i];
        const int64_t time = h->s->trees->time[og__tree_of(h, first + i)];
        p->list[i] = (struct og_prefix){.node = v,
                                        .begin = og__first_edge(t, v),
                                        .n = og__degree(t, v),
                                        .time = time,
                                        .earliest = earliest(h, time)};
    }
    return og__prefixes_find(p->prefixes, p->list, n, &h->s->reads, err);
}

/* Draws of destinations from `first` on whose sources fit the room. Returns how many, at least one
 * of n. */
static int draw_prefixes(struct og_hop *h, uint32_t first, uint32_t from, uint32_t n,
                         uint32_t *taken, uint64_t *drawn, struct og_err *err)
{
    struct og_partly *p = ((struct og_disjoint *)h->s->state)->partly;
    int rc = 0;
    *drawn = 0;
    for (*taken = 0; *taken < n; ++*taken) {
        const uint32_t i = from + *taken, v = h->nodes[first + i];
        const struct allowed a = {.first = p->list[i].low, .n = p->list[i].high - p->list[i].low};
        const uint32_t *picks;
        int64_t k;
        const int64_t begin = draw(h, v, og__tree_of(h, first + i), &a, &picks, &k);
        if (*taken > 0 && *drawn + (uint64_t)k > p->room)
            break; /* it is drawn again, the same */
        OG_TRY(*taken > 0 ? 0 : make_room(h->s, p, (size_t)k, h->weight, err));
        p->n[i] = (uint32_t)k;
        for (int64_t j = 0; j < k; j++)
            p->place[(*drawn)++] = place_at(&a, begin + (picks ? picks[j] : j));
    }
out:
    return rc;
}

static int fetch_drawn(struct og_hop *h, uint32_t first, uint32_t from, uint32_t n, uint64_t drawn,
                       struct og_err *err)
{
    const struct og_partly *p = ((struct og_disjoint *)h->s->state)->partly;
    uint32_t at = 0;
    int rc;
    OG_TRY(og__number_window(h, err)); /* which fetching needs */
    OG_TRY(og__fetch_begin(h->s, p->id, h->weight ? p->weight : NULL, drawn, err));
    for (uint32_t i = from; i < from + n; at += p->n[i++])
        if (p->n[i] > 0)
            og__fetch_want(h->s, at, h->nodes[first + i], p->place + at, p->n[i]);
    OG_TRY(og__fetch(h->s, err));
    at = 0;
    for (uint32_t i = from; i < from + n; i++) {
        const int64_t begin = p->list[i].begin;
        og__begin_list(h, first + i);
        for (uint32_t k = 0; k < p->n[i]; k++, at++) {
            og__push_into(h, og__tree_of(h, first + i));
            OG_TRY(og__push_drawn(h, p->id[at], h->weight ? p->weight + at : NULL,
                                  begin + p->place[at], err));
        }
    }
out:
    return rc;
}

/* From sorted lists, of which blocks are read. */
static int sample_prefixes(struct og_hop *h, struct og_err *err)
{
    const uint32_t end = h->block->n_dst;
    int rc;
    OG_TRY(open_partly(h, err));
    for (uint32_t first = h->first, n; first < end; first += n) {
        uint32_t taken;
        uint64_t drawn;
        n = OG_MIN(end - first, (uint32_t)OG__PREFIXES);
        OG_TRY(find_prefixes(h, first, n, err));
        for (uint32_t from = 0; from < n; from += taken) {
            OG_TRY(draw_prefixes(h, first, from, n - from, &taken, &drawn, err));
            OG_TRY(fetch_drawn(h, first, from, taken, drawn, err));
        }
    }
    OG_TRY(og__number_window(h, err));
out:
    return rc;
}

/* Each destination by itself. */
static int sample_lists(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct og_list list = timed_list(h, first, i);
        if (times_of(h))
            OG_TRY(order_list(h, h->nodes[first + i], &list, err));
        const int64_t time = h->s->trees->time[og__tree_of(h, first + i)];
        const struct allowed a = allowed_from_disk(h, &list, time);
        og__begin_list(h, first + i);
        OG_TRY(sample_node(h, first + i, &a, &list, err));
    }
out:
    return rc;
}

static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    const uint32_t n = h->block->n_dst;
    const bool shares = times_of(h) && h->fanout >= 0 && h->fanout <= MOST_WIDTH;
    uint32_t taken;
    int rc = 0;
    if (times_of(h) && times_of(h)->file && times_of(h)->sorted)
        return sample_prefixes(h, err);
    for (uint32_t first = h->first; first < n; first += taken) {
        OG_TRY(og__hop_lists(h, first, h->weight != NULL, &taken, err));
        OG_TRY(read_times(h, first, &taken, err));
        if (shares) {
            OG_TRY(draw_by_node(h, first, taken, err));
            OG_TRY(push_drawn(h, first, taken, err));
        } else {
            OG_TRY(sample_lists(h, first, taken, err));
        }
    }
    OG_TRY(og__number_window(h, err));
out:
    return rc;
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    return h->s->topology->disk ? sample_from_disk(h, err) : sample_in_memory(h, err);
}

static const char *const parameters[] = {"draw",          "replace",     "disjoint", "time",
                                         "time-strategy", "time-window", NULL};

const struct og_sampler_ops og__sampler_disjoint = {
    .edges_unknown = true,
    .trees = true,
    .parameters = parameters,
    .open = open_kind,
    .close = close_kind,
    .hop = sample_hop,
    .pass = &og__pass_by_lists,
    .take = take,
    .arrange = arrange,
    .take_bytes = state_bytes,
    .disk_bytes = disk_bytes,
};
