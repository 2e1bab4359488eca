/* Disjoint trees of one batch from disk, from lists of which blocks are read.
 *
 *   list on disk     | block | block | block | block | block |
 *                       ^draw           ^draw ^ later than T: the search looked here
 *
 * The allowed part of lists by time is searched (prefixes.h), for many destinations at once. Lists
 * without times are allowed as they are. What is drawn is fetched (from_disk.h), but for blocks
 * that the search has read. So no block is read twice, and none that neither needs. */
#include "sample/disjoint_parts.h"
#include "sample/prefixes.h"

static const char part[] = "sampler";

struct og_tree_blocks {
    struct og_prefixes *prefixes; /* NULL: no times */
    uint32_t most;                /* destinations together */
    struct og_prefix *list;       /* [most] */
    uint32_t *n;                  /* [most] drawn */
    uint32_t *place;              /* [room] places in lists, of all draws; */
    uint32_t *id;                 /* their sources, less the relation's first; */
    float *weight;                /* their weights; NULL: none. A hop without edges has none */
    size_t room;
};

/* ---- open and close ---- */

static void drop_room(struct og_sampler *s, struct og_tree_blocks *b)
{
    og__release(s->budget, b->place, b->room * sizeof(*b->place), part);
    og__release(s->budget, b->id, b->room * sizeof(*b->id), part);
    og__release(s->budget, b->weight, b->room * sizeof(*b->weight), part);
    b->place = b->id = NULL;
    b->weight = NULL;
    b->room = 0;
}

void og__tree_blocks_close(struct og_sampler *s, struct og_tree_blocks *b)
{
    if (!b)
        return;
    og__prefixes_close(b->prefixes);
    drop_room(s, b);
    og__release(s->budget, b->list, b->most * sizeof(*b->list), part);
    og__release(s->budget, b->n, b->most * sizeof(*b->n), part);
    og__release(s->budget, b, sizeof(*b), part);
}

static int make_room(struct og_sampler *s, struct og_tree_blocks *b, size_t n, bool weights,
                     struct og_err *err)
{
    if (n <= b->room)
        return 0;
    drop_room(s, b);
    b->place = og__alloc(s->budget, n * sizeof(*b->place), part, err);
    b->id = og__alloc(s->budget, n * sizeof(*b->id), part, err);
    b->weight = weights ? og__alloc(s->budget, n * sizeof(*b->weight), part, err) : NULL;
    b->room = n;
    if (b->place && b->id && (b->weight || !weights))
        return 0;
    drop_room(s, b);
    return -ENOMEM;
}

static int open_blocks(struct og_hop *h, struct og_tree_blocks **out, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const struct og_list_times *times = og__hop_times(h);
    const size_t width = OG_MIN(s->max_pick, (size_t)OG__MOST_WIDTH);
    int rc;
    if (*out)
        return 0;
    struct og_tree_blocks *b = *out = og__alloc(s->budget, sizeof(*b), part, err);
    if (!b)
        return -ENOMEM;
    *b = (struct og_tree_blocks){.most = og__prefixes_lists(&s->topology->disk->opt)};
    b->list = og__alloc(s->budget, b->most * sizeof(*b->list), part, err);
    b->n = og__alloc(s->budget, b->most * sizeof(*b->n), part, err);
    OG_TRY(b->list && b->n ? 0 : -ENOMEM);
    OG_TRY(make_room(s, b, b->most * width, s->how.weights, err));
    if (times)
        OG_TRY(og__prefixes_open(&b->prefixes, s->topology, times, !s->how.last && !s->how.window,
                                 s->budget, &s->reads, err));
    return 0;
out:
    og__tree_blocks_close(s, b);
    *out = NULL;
    return rc;
}

/* With draws of whole lists. */
size_t og__tree_blocks_bytes(const struct og_topology_disk_options *opt, int64_t longest,
                             bool searches)
{
    const size_t most = og__prefixes_lists(opt);
    const size_t room = OG_MAX(most * OG__MOST_WIDTH, (size_t)longest);
    return sizeof(struct og_tree_blocks) + (searches ? og__prefixes_bytes(opt) : 0) +
           most * (sizeof(struct og_prefix) + sizeof(uint32_t)) +
           room * (2 * sizeof(uint32_t) + sizeof(float));
}

/* ---- a hop ---- */

/* The allowed part is known of lists without times, and of those that the neighbour cache has. But
 * the cache has no times of edges. */
static struct og_prefix prefix_of(const struct og_hop *h, uint32_t i)
{
    const struct og_topology *t = h->s->topology;
    const struct og_neighbors *cache = &t->disk->cache;
    const struct og_list_times *times = og__hop_times(h);
    const uint32_t v = h->nodes[i];
    const int64_t time = h->s->trees->time[og__tree_of(h, i)];
    struct og_prefix p = {.node = v,
                          .begin = og__first_edge(t, v),
                          .n = og__degree(t, v),
                          .time = time,
                          .earliest = og__tree_earliest(h, time)};
    struct og_list list = {.n = p.n};
    p.known = !times || (times->node && og__neighbors_has(cache, v));
    if (!p.known)
        return p;
    if (times)
        list.ids = cache->ids + og__neighbors_first(cache, v);
    const struct og_allowed a = og__allowed_in_list(h, &list, time);
    p.low = a.first;
    p.high = a.first + a.n;
    return p;
}

/* The allowed parts of the lists of destinations, up to *n. Stores in *n how many. */
static int find_prefixes(struct og_hop *h, struct og_tree_blocks *b, uint32_t first, uint32_t *n,
                         struct og_err *err)
{
    for (uint32_t i = 0; i < *n; i++)
        b->list[i] = prefix_of(h, first + i);
    return b->prefixes ? og__prefixes_find(b->prefixes, b->list, n, &h->s->reads, err) : 0;
}

/* Draws of destinations from `first` on whose sources fit the room. Returns how many, at least one
 * of n. */
static int draw_prefixes(struct og_hop *h, struct og_tree_blocks *b, uint32_t first, uint32_t from,
                         uint32_t n, uint32_t *taken, uint64_t *drawn, struct og_err *err)
{
    *drawn = 0;
    for (*taken = 0; *taken < n; ++*taken) {
        const uint32_t i = from + *taken, v = h->nodes[first + i];
        const struct og_allowed a = {.first = b->list[i].low,
                                     .n = b->list[i].high - b->list[i].low};
        const uint32_t *picks;
        int64_t k;
        const int64_t begin = og__tree_draw(h, v, og__tree_of(h, first + i), &a, &picks, &k);
        if (*taken > 0 && *drawn + (uint64_t)k > b->room)
            break; /* it is drawn again, the same */
        OG_DO(*taken > 0 ? 0 : make_room(h->s, b, (size_t)k, h->s->how.weights, err));
        b->n[i] = (uint32_t)k;
        for (int64_t j = 0; j < k; j++)
            b->place[(*drawn)++] = (uint32_t)(a.first + begin + (picks ? picks[j] : j));
    }
    return 0;
}

static int fetch_drawn(struct og_hop *h, const struct og_tree_blocks *b, uint32_t first,
                       uint32_t from, uint32_t n, uint64_t drawn, struct og_err *err)
{
    const struct og_held_blocks *held = b->prefixes ? og__prefixes_sources(b->prefixes) : NULL;
    uint32_t at = 0;
    OG_DO(og__number_window(h, err)); /* which fetching needs */
    OG_DO(og__fetch_begin(h->s, b->id, b->weight, drawn, held, err));
    for (uint32_t i = from; i < from + n; at += b->n[i++])
        if (b->n[i] > 0)
            og__fetch_want(h->s, at, h->nodes[first + i], b->place + at, b->n[i]);
    OG_DO(og__fetch(h->s, err));
    at = 0;
    for (uint32_t i = from; i < from + n; i++) {
        const int64_t begin = b->list[i].begin;
        og__begin_list(h, first + i);
        for (uint32_t k = 0; k < b->n[i]; k++, at++) {
            og__push_into(h, og__tree_of(h, first + i));
            OG_DO(og__push_drawn(h, b->id[at], h->weight ? b->weight + at : NULL,
                                 begin + b->place[at], err));
        }
    }
    return 0;
}

int og__tree_blocks_hop(struct og_hop *h, struct og_tree_blocks **out, struct og_err *err)
{
    const uint32_t end = h->block->n_dst;
    OG_DO(open_blocks(h, out, err));
    struct og_tree_blocks *b = *out;
    for (uint32_t first = h->first, n; first < end; first += n) {
        uint32_t taken;
        uint64_t drawn;
        n = OG_MIN(end - first, b->most);
        OG_DO(find_prefixes(h, b, first, &n, err));
        for (uint32_t from = 0; from < n; from += taken) {
            OG_DO(draw_prefixes(h, b, first, from, n - from, &taken, &drawn, err));
            OG_DO(fetch_drawn(h, b, first, from, taken, drawn, err));
        }
    }
    return og__number_window(h, err);
}
