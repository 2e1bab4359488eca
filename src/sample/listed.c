/* Passes for samplers by whole lists. Each batch that has a node chooses its neighbours once the
 * list is in memory. So a list is within one range, and a range is a set of nodes:
 *
 *   requested blocks   | 2^shift | 2^shift | ...            of the first array
 *   ranges             | lists that begin in it   | ...     of every array; to the end of the last
 *                                                           list
 *
 * A run holds the neighbours of each node of the range, in the order of the frontier. Before them
 * is the number of their words. Those of whole lists are all ids, then with how.weights all
 * weights. Lists in the neighbour cache are not read; assembling the batch reads them there. */
#include "dataset/relation.h"
#include "dataset/stream.h"
#include "dataset/times.h"
#include "sample/kinds.h"

/* ---- locations of lists ---- */

static struct og_list cached_list(const struct og_topology *t, uint32_t v, int64_t n)
{
    const struct og_neighbors *cache = &t->disk->cache;
    return (struct og_list){.n = n,
                            .ids = cache->ids + og__neighbors_first(cache, v),
                            .weights = og__neighbors_weights(cache, v)};
}

static bool is_cached(const struct og_topology *t, uint32_t v)
{
    return og__neighbors_has(&t->disk->cache, v);
}

static const struct og_list_times *times_of(const struct og_hop *h)
{
    const struct og_times *times = h->s->how.times;
    return times ? &times->of[h->relation] : NULL;
}

/* Does the node's list need reading? */
static bool is_read(const struct og_hop *h, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    const struct og_list_times *times = times_of(h);
    return og__degree(t, v) > 0 && ((times && times->uncached) || !is_cached(t, v));
}

/* ---- requests ---- */

static void want_of(struct og_requested_blocks *w, int64_t begin, int64_t n)
{
    const uint32_t last = og__place_in(w, begin + n - 1).block;
    for (uint32_t block = og__place_in(w, begin).block; block <= last; block++)
        og__runs_want(w, block);
}

/* The number of draws is unknown until the list is read. */
static uint32_t want_list(const struct og_hop *h, struct og_pass *p, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    const int64_t begin = og__first_edge(t, v), n = og__degree(t, v);
    if (!is_read(h, v))
        return 0;
    for (uint32_t a = 0; a < p->requested.n_arrays; a++)
        want_of(&p->requested.array[a], begin, n);
    return 0;
}

static int want_lists(const struct og_hop *h, struct og_pass *p, const struct og_frontier *f,
                      size_t *n_drawn, struct og_err *err)
{
    (void)err;
    *n_drawn = og__runs_each(h, p, f, want_list);
    return 0;
}

/* ---- ranges ---- */

static void stretch_ranges(const struct og_topology *t, struct og_pass *p, uint32_t array)
{
    const struct og_requested_blocks *w = &p->requested.array[array];
    for (uint32_t i = 0; i < p->requested.n_ranges; i++) {
        const uint32_t last = p->cut[i + 1] - 1;
        const int64_t begin = og__first_edge(t, p->cut[i]);
        const int64_t end = og__first_edge(t, last) + og__degree(t, last);
        struct og_stretch *s = &p->requested.stretch[array][i];
        *s = (struct og_stretch){.low = 1, .high = 0};
        if (begin < end)
            *s = (struct og_stretch){og__place_in(w, begin).block, og__place_in(w, end - 1).block};
    }
}

/* A list that continues in the next 2^shift blocks belongs to the range of its start. */
static void cut_lists(const struct og_topology *t, struct og_pass *p)
{
    const struct og_requested_blocks *w = &p->requested.array[0];
    const uint64_t mask = ((uint64_t)1 << p->shift) - 1;
    uint32_t n = 0;
    p->cut[0] = 0;
    uint64_t at = og__bits_next(w->bits, w->n_blocks, 0);
    for (uint64_t i = 1; i < w->n; i++) {
        at = og__bits_next(w->bits, w->n_blocks, at + 1);
        const uint32_t first = (i & mask) == 0 ? og__runs_node_from(t, w->of, at) : 0;
        if (first > p->cut[n] && first < t->n_nodes)
            p->cut[++n] = first;
    }
    p->cut[++n] = (uint32_t)t->n_nodes;
    p->requested.n_ranges = w->n > 0 || w->tail ? n : 0;
    for (uint32_t a = 0; a < p->requested.n_arrays; a++)
        stretch_ranges(t, p, a);
}

/* ---- from a range ---- */

static int take_source(const struct og_hop *h, uint32_t v, const struct og_list *list, int64_t i,
                       struct og_taken *out, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    const int64_t id = og__list_source(list, i);
    if (OG_UNLIKELY(id < 0 || id >= og__sources(t)))
        return og__bad_index(t->disk->of, og__first_edge(t, v) + i, id, err);
    return og__take(out, (uint32_t)id, h->s->budget, err);
}

static int take_weight(const struct og_hop *h, const struct og_list *list, int64_t i,
                       struct og_taken *out, struct og_err *err)
{
    uint32_t word;
    memcpy(&word, &list->weights[i], sizeof(word));
    return og__take(out, word, h->s->budget, err);
}

int og__take_neighbor(const struct og_hop *h, uint32_t v, const struct og_list *list, int64_t i,
                      struct og_taken *out, struct og_err *err)
{
    const int rc = take_source(h, v, list, i, out, err);
    return rc < 0 || !h->s->how.weights ? rc : take_weight(h, list, i, out, err);
}

int og__take_list(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_list *list,
                  struct og_taken *out, struct og_err *err)
{
    (void)tree;
    for (int64_t i = 0; i < list->n; i++)
        OG_DO(take_source(h, v, list, i, out, err));
    for (int64_t i = 0; h->s->how.weights && i < list->n; i++)
        OG_DO(take_weight(h, list, i, out, err));
    return 0;
}

struct looking {
    const struct og_hop *hop;
    const struct og_block_requests *requested;
    const struct og_range *range;
    uint32_t weights, times; /* arrays; 0: none */
    struct og_taken *out;
};

static struct looking looking_in(const struct og_hop *h, const struct og_pass *p,
                                 const struct og_range *range, struct og_taken *out)
{
    const struct og_list_times *times = times_of(h);
    const bool weighs = og__sampling_weights(&h->s->how) != OG__NO_WEIGHTS;
    return (struct looking){.hop = h,
                            .requested = &p->requested,
                            .range = range,
                            .weights = weighs,
                            .times = times && times->file ? weighs + 1u : 0,
                            .out = out};
}

/* The list in the range, for an array in which it is requested. */
static const void *at_in(const struct looking *l, uint32_t array, int64_t begin)
{
    const struct og_requested_blocks *w = &l->requested->array[array];
    return og__range_at(&l->range->part[array], w, og__place_in(w, begin));
}

static struct og_list list_in(const struct looking *l, uint32_t v)
{
    const struct og_topology *t = l->hop->s->topology;
    const int64_t begin = og__first_edge(t, v);
    return (struct og_list){.n = og__degree(t, v),
                            .ids = at_in(l, 0, begin),
                            .wide = t->disk->of->indices.type == OG__NPY_I64,
                            .weights = l->weights ? at_in(l, l->weights, begin) : NULL,
                            .times = l->times ? at_in(l, l->times, begin) : NULL};
}

static int look_at(const struct looking *l, uint32_t v, uint32_t tree, struct og_err *err)
{
    const struct og_hop *h = l->hop;
    const struct og_topology *t = h->s->topology;
    const struct og_list list = list_in(l, v);
    if (list.weights)
        OG_DO(og__check_weights(t->disk->of, list.weights, og__first_edge(t, v), (size_t)list.n,
                                err));
    return og__sampler_ops(h->s->how.kind)->take(h, v, tree, &list, l->out, err);
}

static int gather_node(const struct looking *l, uint32_t v, uint32_t tree, struct og_err *err)
{
    const size_t mark = l->out->n;
    int rc;
    OG_TRY(og__take(l->out, 0, l->hop->s->budget, err));
    OG_TRY(look_at(l, v, tree, err));
    l->out->words->data[mark] = (uint32_t)(l->out->n - mark - 1);
out:
    return rc;
}

static int gather_lists(const struct og_hop *h, const struct og_pass *p,
                        const struct og_range *range, const struct og_frontier *f,
                        struct og_taken *out, struct og_err *err)
{
    const uint32_t low = p->cut[range->number], high = p->cut[range->number + 1];
    const struct looking l = looking_in(h, p, range, out);
    int rc = 0;
    for (int k = 0; k < f->n; k++) {
        const struct og_nodes *nodes = &f->part[k];
        for (size_t i = 0; i < nodes->n; i++) {
            const uint32_t v = nodes->id[i];
            if (v >= low && v < high && is_read(h, v))
                OG_TRY(gather_node(&l, v, nodes->tree ? nodes->tree[i] : 0, err));
        }
    }
out:
    return rc;
}

/* Is the list in each of the requested arrays? Then some batch may have requested it. */
static bool is_requested(const struct looking *l, uint32_t v)
{
    const struct og_topology *t = l->hop->s->topology;
    const int64_t begin = og__first_edge(t, v), n = og__degree(t, v);
    for (uint32_t a = 0; a < l->requested->n_arrays; a++) {
        const struct og_requested_blocks *w = &l->requested->array[a];
        const uint32_t last = og__place_in(w, begin + n - 1).block;
        for (uint32_t b = og__place_in(w, begin).block; b <= last; b++)
            if (b < w->n_blocks ? !og__bits_has(w->bits, b) : !w->tail)
                return false;
    }
    return true;
}

int og__listed_arrange(const struct og_hop *h, const struct og_pass *p,
                       const struct og_range *range, uint32_t first, uint32_t n, struct og_err *err)
{
    const struct looking l = looking_in(h, p, range, NULL);
    int rc = 0;
    for (uint32_t v = first; v < first + n; v++) {
        if (!is_read(h, v) || !is_requested(&l, v))
            continue;
        const struct og_list list = list_in(&l, v);
        OG_TRY(og__sampler_ops(h->s->how.kind)->arrange(h, v, &list, err));
    }
out:
    return rc;
}

/* ---- together again ---- */

static uint32_t range_of(const struct og_pass *p, uint32_t v)
{
    uint32_t low = 0;
    for (uint32_t high = p->requested.n_ranges; low + 1 < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (p->cut[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Neighbours of destination i, of so many words. */
static int push_all(struct og_hop *h, uint32_t i, const uint32_t *word, size_t n,
                    struct og_err *err)
{
    const size_t each = og__neighbor_words(&h->s->how);
    for (size_t k = 0; k < n; k += each) {
        if (word[k] >= (uint64_t)og__sources(h->s->topology))
            return og__runs_foreign(err);
        if (h->s->trees)
            og__push_into(h, og__tree_of(h, i));
        OG_DO(og__push_words(h, word + k, -1, err));
    }
    return 0;
}

static int join_cached(struct og_hop *h, uint32_t i, struct og_err *err)
{
    const uint32_t v = h->nodes[i], tree = h->s->trees ? og__tree_of(h, i) : 0;
    const struct og_list list = cached_list(h->s->topology, v, og__degree(h->s->topology, v));
    struct og_taken taken = {.words = h->s->runs->taken};
    h->s->reads.lists_cached++;
    OG_DO(og__sampler_ops(h->s->how.kind)->take(h, v, tree, &list, &taken, err));
    return push_all(h, i, taken.words->data, taken.n, err);
}

/* The words of v: their number; the cursor moves past them. NULL if there are fewer. */
static const uint32_t *next_of(const struct og_hop *h, uint32_t v, uint32_t *n)
{
    const struct og_runs *r = h->s->runs;
    uint32_t *cursor = &r->cursor->data[range_of(og__pass_of(h, 0), v)];
    const uint32_t *its = r->drawn->data + *cursor;
    if (*cursor >= r->n_drawn || its[0] >= r->n_drawn - *cursor)
        return NULL;
    *n = its[0];
    *cursor += 1 + its[0];
    return its + 1;
}

static int join_read(struct og_hop *h, uint32_t i, struct og_err *err)
{
    uint32_t n;
    const uint32_t *its = next_of(h, h->nodes[i], &n);
    h->s->reads.lists_read++;
    return its ? push_all(h, i, its, n, err) : og__runs_foreign(err);
}

static int join_hop(struct og_hop *h, struct og_err *err)
{
    OG_DO(og__runs_fetch(h, 0, 1, err));
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        const uint32_t v = h->nodes[i];
        if (i + OG__PREFETCH_DISTANCE < h->block->n_dst)
            og__runs_prefetch(h->s->topology, h->nodes[i + OG__PREFETCH_DISTANCE]);
        og__begin_list(h, i);
        if (is_read(h, v))
            OG_DO(join_read(h, i, err));
        else if (og__degree(h->s->topology, v) > 0)
            OG_DO(join_cached(h, i, err));
    }
    return og__number_window(h, err);
}

/* ---- all lists of a hop ---- */

static int check_list(const struct og_hop *h, uint32_t v, struct og_err *err)
{
    uint32_t n;
    uint32_t most = 0;
    const uint32_t *its = next_of(h, v, &n);
    const uint64_t degree = (uint64_t)og__degree(h->s->topology, v);
    const bool whole = its && n == degree * og__neighbor_words(&h->s->how);
    for (uint64_t i = 0; whole && i < degree; i++)
        most = OG_MAX(most, its[i]);
    return whole && most < (uint64_t)og__sources(h->s->topology) ? 0 : og__runs_foreign(err);
}

int og__listed_fetch(struct og_hop *h, struct og_err *err)
{
    OG_DO(og__runs_fetch(h, 0, 1, err));
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        const bool read = is_read(h, h->nodes[i]);
        h->s->reads.lists_read += read;
        h->s->reads.lists_cached += !read && og__degree(h->s->topology, h->nodes[i]) > 0;
        if (read)
            OG_DO(check_list(h, h->nodes[i], err));
    }
    og__runs_rewind(h, 0, 1);
    return 0;
}

struct og_list og__listed_next(const struct og_hop *h, uint32_t v)
{
    uint32_t n = 0;
    const uint32_t *its = is_read(h, v) ? next_of(h, v, &n) : NULL;
    n /= og__neighbor_words(&h->s->how);
    return (struct og_list){
        .n = n, .ids = its, .weights = its && h->s->how.weights ? (const void *)(its + n) : NULL};
}

static int join_lists(struct og_hop *h, struct og_err *err)
{
    return og__sampler_ops(h->s->how.kind)->hop(h, err);
}

const struct og_pass_ops og__pass_of_lists = {.whole = true,
                                              .want = want_lists,
                                              .cut = cut_lists,
                                              .gather = gather_lists,
                                              .join = join_lists};

const struct og_pass_ops og__pass_by_lists = {
    .whole = true, .want = want_lists, .cut = cut_lists, .gather = gather_lists, .join = join_hop};
