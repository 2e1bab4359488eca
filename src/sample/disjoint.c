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
 * In memory two binary searches find what is allowed, of many lists at once. From disk a batch
 * reads blocks of lists that are sorted by time, and of those without times (disjoint_blocks.c).
 * Other lists are read whole, with their times. A group of batches reads each list once a hop, and
 * sorts it there for all of them. */
#include "sample/disjoint_parts.h"
#include "sample/kinds.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "sampler";

/* A destination of those whose lists were read together. */
struct wanting {
    uint32_t node, i;
};

/* The state of a relation from disk. Lists that are not sorted by time are read whole and sorted
 * once for all trees that have the node. */
struct og_disjoint {
    struct og_lists *times;  /* of its edges; NULL: of nodes, or not opened */
    struct og_timed *timed;  /* [2 * longest] the list of one node, and room to sort it; NULL: */
                             /* with the following not opened */
    struct wanting *wanting; /* [OG__LISTS_AT_ONCE] by node */
    uint32_t *place, *n;     /* [OG__LISTS_AT_ONCE][width] drawn places, and how many of each */
    uint32_t width;
    int64_t longest;
    struct og_tree_blocks *blocks; /* NULL: not opened */
};
enum {
    MOST_WIDTH = OG__MOST_WIDTH, /* a larger fanout sorts for each tree */
    SEARCHES = 32,               /* in memory, at once */
};

static inline uint32_t place_at(const struct og_allowed *a, int64_t i)
{
    if (a->timed)
        return a->timed[a->first + i].place;
    return a->order ? a->order[a->first + i] : (uint32_t)(a->first + i);
}

/* ---- open and close ---- */

const struct og_list_times *og__hop_times(const struct og_hop *h)
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
    if (!disk)
        return 0;
    struct og_disjoint *d = og__alloc(s->budget, sizeof(*d), part, err);
    if (!d)
        return -ENOMEM;
    *d = (struct og_disjoint){.longest = OG_MAX(disk->longest, 1),
                              .width = (uint32_t)OG_MIN(s->max_pick, (size_t)MOST_WIDTH)};
    s->state = d;
    return 0;
}

static void close_sorting(struct og_sampler *s, struct og_disjoint *d)
{
    og__release(s->budget, d->timed, 2 * (size_t)d->longest * sizeof(*d->timed), part);
    og__release(s->budget, d->wanting, OG__LISTS_AT_ONCE * sizeof(*d->wanting), part);
    og__release(s->budget, d->place, places_bytes(d->width), part);
    og__release(s->budget, d->n, OG__LISTS_AT_ONCE * sizeof(*d->n), part);
    d->timed = NULL;
    d->wanting = NULL;
    d->place = d->n = NULL;
}

static int open_sorting(const struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_disjoint *d = s->state;
    if (d->timed)
        return 0;
    d->timed = og__alloc(s->budget, 2 * (size_t)d->longest * sizeof(*d->timed), part, err);
    d->wanting = og__alloc(s->budget, OG__LISTS_AT_ONCE * sizeof(*d->wanting), part, err);
    d->place = og__alloc(s->budget, places_bytes(d->width), part, err);
    d->n = og__alloc(s->budget, OG__LISTS_AT_ONCE * sizeof(*d->n), part, err);
    if (d->timed && d->wanting && d->place && d->n)
        return 0;
    close_sorting(s, d);
    return -ENOMEM;
}

static void close_kind(struct og_sampler *s)
{
    struct og_disjoint *d = s->state;
    if (!d)
        return;
    og__tree_blocks_close(s, d->blocks);
    og__lists_close(d->times);
    close_sorting(s, d);
    og__release(s->budget, d, sizeof(*d), part);
    s->state = NULL;
}

/* The state where the longest list has so many edges. */
static size_t state_bytes(const struct og_sampling *how, int64_t longest)
{
    if (how->time == OG_TIMES_OFF)
        return sizeof(struct og_disjoint);
    return sizeof(struct og_disjoint) + 2 * (size_t)OG_MAX(longest, 1) * sizeof(struct og_timed) +
           OG__LISTS_AT_ONCE * (sizeof(struct wanting) + sizeof(uint32_t)) +
           places_bytes(MOST_WIDTH);
}

static size_t disk_bytes(const struct og_relation *of, const struct og_sampling *how,
                         const struct og_topology_disk_options *opt, int64_t longest)
{
    const bool edges = how->time == OG_TIMES_EDGE && of->edge_times.fd >= 0;
    const bool timed = how->time == OG_TIMES_NODE || edges;
    const uint32_t r = (uint32_t)(of - of->graph->relation);
    const bool sorted = og__sorted_by(of->graph, r) == how->time;
    const size_t blocks =
        sizeof(struct og_disjoint) + og__tree_blocks_bytes(opt, longest, timed && sorted);
    if (!timed || sorted)
        return blocks;
    const size_t whole = og__source_lists_bytes(of, how, opt, longest) + state_bytes(how, longest) +
                         (edges ? og__lists_bytes(opt, sizeof(int64_t), longest) : 0);
    return edges ? whole : OG_MAX(whole, blocks); /* sources may have no times */
}

/* ---- what is allowed ---- */

int64_t og__tree_earliest(const struct og_hop *h, int64_t time)
{
    const int64_t window = h->s->how.window;
    if (window == 0)
        return INT64_MIN;
    return time < INT64_MIN + window ? INT64_MIN : time - window;
}

/* A list by time. */
struct by_time {
    const struct og_list_times *of;
    const struct og_timed *timed; /* or */
    const struct og_list *list;   /* arranged */
    int64_t n;
};

/* The time of a list's element i. */
static int64_t list_time(const struct og_list_times *of, const struct og_list *list, int64_t i)
{
    return list->times ? list->times[i] : of->node[og__list_id(list, i)];
}

static int64_t time_at(const struct by_time *l, int64_t i)
{
    return l->timed ? l->timed[i].time : list_time(l->of, l->list, i);
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

static struct og_allowed allowed_of(const struct og_hop *h, const struct by_time *l, int64_t time)
{
    const int64_t end = bound(l, l->n, time, true);
    const int64_t first =
        h->s->how.window > 0 ? bound(l, end, og__tree_earliest(h, time), false) : 0;
    return (struct og_allowed){.first = first, .n = end - first, .timed = l->timed};
}

struct og_allowed og__allowed_in_list(const struct og_hop *h, const struct og_list *list,
                                      int64_t time)
{
    const struct by_time l = {.of = og__hop_times(h), .list = list, .n = list->n};
    return l.of ? allowed_of(h, &l, time) : (struct og_allowed){.n = l.n};
}

/* The allowed part of the list that was sorted last. */
static struct og_allowed allowed_of_sorted(const struct og_hop *h, int64_t n, int64_t time)
{
    const struct og_disjoint *d = h->s->state;
    const struct by_time l = {.of = og__hop_times(h), .timed = d->timed, .n = n};
    return allowed_of(h, &l, time);
}

/* Sorts a list by time, into the state. */
static void sort_list(const struct og_hop *h, const struct og_list *list)
{
    const struct og_list_times *of = og__hop_times(h);
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
    const struct og_list_times *of = og__hop_times(h);
    if (!of->sorted || is_in_order(of, list))
        return 0;
    return og__fail(err, -EINVAL, "import the graph again with --by-time",
                    "the neighbours of node %u are not sorted by time, though by_time in meta.json "
                    "says so",
                    v);
}

/* ---- draws ---- */

/* `last` with replacement draws among the latest, as PyTorch Geometric does. */
int64_t og__tree_draw(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_allowed *a,
                      const uint32_t **picks, int64_t *n)
{
    struct og_sampler *s = h->s;
    struct og_rng rng;
    const bool last = s->how.last && og__hop_times(h) && h->fanout >= 0;
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
static int sample_node(struct og_hop *h, uint32_t i, const struct og_allowed *a,
                       const struct og_list *list, struct og_err *err)
{
    const uint32_t *picks;
    int64_t n;
    const int64_t first = og__tree_draw(h, h->nodes[i], og__tree_of(h, i), a, &picks, &n);
    for (int64_t k = 0; k < n; k++)
        OG_DO(push_place(h, i, place_at(a, first + (picks ? picks[k] : k)), list, err));
    return 0;
}

/* ---- in memory ---- */

/* A list, and the part that a search for a bound has left. */
struct search {
    int64_t begin, low, n;
    int64_t time, edge; /* the bound; what is looked at */
    int64_t end;
};

/* Looks at the middle of each. A step is of all of them: memory arrives meanwhile. */
static void look_at_all(const struct og_topology *t, const struct og_list_times *of,
                        struct search *const *left, uint32_t m, bool after)
{
    for (uint32_t i = 0; i < m; i++) {
        left[i]->edge = left[i]->begin + left[i]->low + left[i]->n / 2;
        if (of->order)
            __builtin_prefetch(&of->order[left[i]->edge]);
    }
    for (uint32_t i = 0; i < m; i++) {
        if (of->order)
            left[i]->edge = left[i]->begin + of->order[left[i]->edge];
        if (of->edge)
            __builtin_prefetch(&of->edge[left[i]->edge]);
        else
            og__prefetch_edge(t, left[i]->edge);
    }
    for (uint32_t i = 0; of->node && i < m; i++)
        __builtin_prefetch(&of->node[og__neighbor(t, left[i]->edge)]);
    for (uint32_t i = 0; i < m; i++) {
        struct search *s = left[i];
        const int64_t half = s->n / 2;
        const int64_t time = of->edge ? of->edge[s->edge] : of->node[og__neighbor(t, s->edge)];
        const bool passed = time < s->time || (after && time == s->time);
        s->low += passed ? half + 1 : 0;
        s->n = passed ? s->n - half - 1 : half;
    }
}

/* bound() of m lists. */
static void bound_all(const struct og_hop *h, struct search *search, uint32_t m, bool after)
{
    struct search *left[SEARCHES];
    uint32_t n;
    do {
        n = 0;
        for (uint32_t i = 0; i < m; i++)
            if (search[i].n > 0)
                left[n++] = &search[i];
        look_at_all(h->s->topology, og__hop_times(h), left, n, after);
    } while (n > 0);
}

/* Stores in `low` and `end` what m destinations may sample. */
static void find_allowed(const struct og_hop *h, uint32_t first, struct search *search, uint32_t m)
{
    const struct og_topology *t = h->s->topology;
    const uint32_t end = OG_MIN(h->block->n_dst, first + m + SEARCHES);
    for (uint32_t i = first + m; i < end; i++)
        og__prefetch_degree(t, h->nodes[i]);
    for (uint32_t i = 0; i < m; i++) {
        const uint32_t v = h->nodes[first + i];
        search[i] = (struct search){.begin = og__first_edge(t, v),
                                    .n = og__degree(t, v),
                                    .end = og__degree(t, v),
                                    .time = h->s->trees->time[og__tree_of(h, first + i)]};
    }
    if (!og__hop_times(h))
        return;
    bound_all(h, search, m, true);
    for (uint32_t i = 0; i < m; i++) {
        struct search *s = &search[i];
        s->end = s->low;
        s->low = 0;
        s->n = h->s->how.window > 0 ? s->end : 0;
        s->time = og__tree_earliest(h, s->time);
    }
    bound_all(h, search, m, false);
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_list_times *of = og__hop_times(h);
    struct search search[SEARCHES];
    for (uint32_t first = h->first, m; first < h->block->n_dst; first += m) {
        m = OG_MIN(h->block->n_dst - first, (uint32_t)SEARCHES);
        find_allowed(h, first, search, m);
        for (uint32_t i = 0; i < m; i++) {
            const struct search *s = &search[i];
            const struct og_allowed a = {.first = s->low,
                                         .n = s->end - s->low,
                                         .order = of && of->order ? of->order + s->begin : NULL};
            og__begin_list(h, first + i);
            OG_DO(sample_node(h, first + i, &a, NULL, err));
        }
    }
    return og__flush_edges(h, err);
}

/* ---- from disk, one batch: all trees that have a node share its list ---- */

/* The times of the same lists, cached ones too. */
static int read_times(struct og_hop *h, uint32_t first, uint32_t *taken, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_disjoint *d = s->state;
    const struct og_list_times *of = og__hop_times(h);
    if (!of->file)
        return 0;
    if (!d->times)
        OG_DO(og__lists_open(&d->times, s->topology, of->file, s->budget, err));
    return og__lists_read(d->times, s->topology, NULL, h->nodes + first, *taken, taken, &s->reads,
                          err);
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
    if (og__hop_times(h)->file)
        list.times = og__lists_start(d->times, i);
    return list;
}

/* Draws for all destinations first to first + n, node after node. */
static void draw_by_node(struct og_hop *h, uint32_t first, uint32_t n)
{
    struct og_disjoint *d = h->s->state;
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
            sort_list(h, &list);
        const struct og_allowed a = allowed_of_sorted(h, list.n, h->s->trees->time[tree]);
        const int64_t from = og__tree_draw(h, d->wanting[k].node, tree, &a, &picks, &drawn);
        d->n[i] = (uint32_t)drawn;
        for (int64_t j = 0; j < drawn; j++)
            d->place[i * (size_t)d->width + (size_t)j] =
                place_at(&a, from + (picks ? picks[j] : j));
    }
}

/* What was drawn, in the order of destinations. */
static int push_drawn(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    const struct og_disjoint *d = h->s->state;
    for (uint32_t i = 0; i < n; i++) {
        const struct og_list list = og__hop_list(h, first, i);
        og__begin_list(h, first + i);
        for (uint32_t j = 0; j < d->n[i]; j++)
            OG_DO(push_place(h, first + i, d->place[i * (size_t)d->width + j], &list, err));
    }
    return 0;
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
    const struct og_list_times *of = og__hop_times(h);
    const struct og_disjoint *d = h->s->state;
    if (!of)
        return 0;
    OG_DO(of->node ? og__check_sources(h->s->topology, list, v, err) : 0);
    OG_DO(check_order(h, v, list, err));
    if (of->sorted || is_in_order(of, list))
        return 0;
    OG_DO(open_sorting(h, err));
    sort_list(h, list);
    move_elements(d, list->ids, list->wide ? sizeof(int64_t) : sizeof(uint32_t), list->n);
    if (list->weights)
        move_elements(d, list->weights, sizeof(float), list->n);
    if (list->times)
        move_elements(d, list->times, sizeof(int64_t), list->n);
    return 0;
}

static int take(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_list *list,
                struct og_taken *out, struct og_err *err)
{
    const struct og_allowed a = og__allowed_in_list(h, list, h->s->trees->time[tree]);
    const uint32_t *picks;
    int64_t n;
    const int64_t first = og__tree_draw(h, v, tree, &a, &picks, &n);
    for (int64_t k = 0; k < n; k++)
        OG_DO(og__take_neighbor(h, v, list, a.first + first + (picks ? picks[k] : k), out, err));
    return 0;
}

/* ---- from disk, one batch ---- */

/* Each destination by itself. */
static int sample_lists(struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct og_list list = timed_list(h, first, i);
        const int64_t time = h->s->trees->time[og__tree_of(h, first + i)];
        sort_list(h, &list);
        const struct og_allowed a = allowed_of_sorted(h, list.n, time);
        og__begin_list(h, first + i);
        OG_DO(sample_node(h, first + i, &a, &list, err));
    }
    return 0;
}

static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    struct og_disjoint *d = h->s->state;
    const struct og_list_times *times = og__hop_times(h);
    const uint32_t n = h->block->n_dst;
    const bool shares = h->fanout >= 0 && h->fanout <= MOST_WIDTH;
    uint32_t taken;
    if (!times || times->sorted)
        return og__tree_blocks_hop(h, &d->blocks, err);
    OG_DO(open_sorting(h, err));
    for (uint32_t first = h->first; first < n; first += taken) {
        OG_DO(og__hop_lists(h, first, h->weight != NULL, &taken, err));
        OG_DO(read_times(h, first, &taken, err));
        if (shares) {
            draw_by_node(h, first, taken);
            OG_DO(push_drawn(h, first, taken, err));
        } else {
            OG_DO(sample_lists(h, first, taken, err));
        }
    }
    return og__number_window(h, err);
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
