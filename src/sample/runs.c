#include "sample/runs.h"

#include "dataset/relation.h"
#include "dataset/stream.h"
#include "sample/kinds.h"

static const char part[] = "sampler";

int og__words_reserve(struct og_words *w, size_t n, struct og_budget *b, struct og_err *err)
{
    if (n <= w->capacity)
        return 0;
    og__words_release(w, b);
    w->data = og__alloc(b, n * sizeof(*w->data), part, err);
    w->capacity = w->data ? n : 0;
    return w->data ? 0 : -ENOMEM;
}

void og__words_release(struct og_words *w, struct og_budget *b)
{
    og__release(b, w->data, w->capacity * sizeof(*w->data), part);
    *w = (struct og_words){0};
}

int og__taken_grow(struct og_taken *t, size_t n, struct og_budget *b, struct og_err *err)
{
    struct og_words more = {0};
    OG_DO(og__words_reserve(&more, t->n + t->n / 8 + OG_MAX(n, (size_t)OG__WINDOW), b, err));
    if (t->n > 0 && more.data)
        memcpy(more.data, t->words->data, t->n * sizeof(*more.data));
    og__words_release(t->words, b);
    *t->words = more;
    return 0;
}

/* ---- a node's list on disk ---- */

struct list {
    int64_t begin, degree; /* its edges */
    uint32_t drawn;
};

static struct list list_of(const struct og_hop *h, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    const int64_t degree = og__degree(t, v);
    return (struct list){og__first_edge(t, v), degree, og__drawn_of(h, degree)};
}

/* The i-th drawn edge. */
static int64_t edge_of(const struct list *l, const uint32_t *positions, uint32_t i)
{
    return l->begin + (positions ? positions[i] : i);
}

/* The blocks of the list; it is not empty. */
static struct og_stretch stretch_of(const struct og_requested_blocks *w, const struct list *l)
{
    return (struct og_stretch){og__place_in(w, l->begin).block,
                               og__place_in(w, l->begin + l->degree - 1).block};
}

static const uint32_t *positions_of(const struct og_hop *h, uint32_t v)
{
    return og__sampler_ops(h->s->how.kind)->positions(h, v);
}

static bool is_cached(const struct og_hop *h, uint32_t v)
{
    return og__neighbors_has(&h->s->topology->disk->cache, v);
}

/* ---- requests ---- */

/* Most are requested already. */
void og__runs_want(struct og_requested_blocks *w, uint32_t block)
{
    const uint64_t bit = (uint64_t)1 << (block & 63);
    uint64_t *word = &w->bits[block >> 6];
    if (block >= w->n_blocks)
        __atomic_store_n(&w->tail, true, __ATOMIC_RELAXED);
    else if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/* Are all blocks of a stretch requested? False if the stretch is long or has the tail. */
static bool all_requested(const struct og_requested_blocks *w, const struct og_stretch *s)
{
    enum { MOST = 8 * 64 };
    if (s->high >= w->n_blocks || s->high - s->low >= MOST)
        return false;
    for (uint32_t k = s->low >> 6; k <= s->high >> 6; k++) {
        const uint32_t from = k == s->low >> 6 ? s->low & 63 : 0;
        const uint32_t to = k == s->high >> 6 ? s->high & 63 : 63;
        const uint64_t mask = UINT64_MAX >> (63 - to) & UINT64_MAX << from;
        if (~__atomic_load_n(&w->bits[k], __ATOMIC_RELAXED) & mask)
            return false;
    }
    return true;
}

/* The elements drawn from the list in one array. */
static void want_elements(const struct og_hop *h, struct og_requested_blocks *w, uint32_t v,
                          const struct list *l)
{
    const struct og_stretch blocks = stretch_of(w, l);
    if (blocks.low == blocks.high) {
        og__runs_want(w, blocks.low);
        return;
    }
    if (all_requested(w, &blocks)) /* then it does not matter which are drawn */
        return;
    const uint32_t *positions = positions_of(h, v);
    for (uint32_t i = 0; i < l->drawn; i++)
        og__runs_want(w, og__place_in(w, edge_of(l, positions, i)).block);
}

static uint32_t want_node(const struct og_hop *h, struct og_pass *p, uint32_t v)
{
    const struct list l = list_of(h, v);
    if (l.drawn == 0 || is_cached(h, v))
        return 0;
    for (uint32_t a = 0; a < p->requested.n_arrays; a++)
        want_elements(h, &p->requested.array[a], v, &l);
    return l.drawn * og__neighbor_words(&h->s->how);
}

static int want_drawn(const struct og_hop *h, struct og_pass *p, const struct og_frontier *f,
                      size_t *n_drawn, struct og_err *err)
{
    (void)err;
    *n_drawn = og__runs_each(h, p, f, want_node);
    return 0;
}

/* The blocks of another array that hold the elements of the same edges. */
static struct og_stretch same_edges(const struct og_topology *t,
                                    const struct og_requested_blocks *of,
                                    const struct og_stretch *s,
                                    const struct og_requested_blocks *other)
{
    const uint64_t size = og__npy_size(of->of->array->type);
    const uint64_t low = (uint64_t)s->low * OG__LIST_BLOCK, skew = of->of->skew;
    const uint64_t end = ((uint64_t)s->high + 1) * OG__LIST_BLOCK;
    const uint64_t first = low > skew ? (low - skew) / size : 0;
    const uint64_t last = OG_MIN((end - skew) / size, (uint64_t)t->n_edges) - 1;
    return (struct og_stretch){og__place_in(other, (int64_t)first).block,
                               og__place_in(other, (int64_t)last).block};
}

void og__runs_cut(const struct og_topology *t, struct og_pass *p)
{
    struct og_block_requests *r = &p->requested;
    const struct og_requested_blocks *w = &r->array[0];
    const uint64_t each = (uint64_t)1 << p->shift;
    uint64_t n = 0;
    for (uint64_t at = 0; n < w->n; at++, n++) {
        at = og__bits_next(w->bits, w->n_blocks, at);
        struct og_stretch *s = &r->stretch[0][n >> p->shift];
        if (n % each == 0)
            s->low = (uint32_t)at;
        s->high = (uint32_t)at;
    }
    r->n_ranges = (uint32_t)((n + each - 1) >> p->shift);
    if (w->tail && n == 0)
        r->stretch[0][r->n_ranges++].low = (uint32_t)w->n_blocks;
    if (w->tail)
        r->stretch[0][r->n_ranges - 1].high = (uint32_t)w->n_blocks;
    for (uint32_t i = 0; r->n_arrays > 1 && i < r->n_ranges; i++)
        r->stretch[1][i] = same_edges(t, w, &r->stretch[0][i], &r->array[1]);
}

/* ---- from a range ---- */

uint32_t og__runs_node_from(const struct og_topology *t, const struct og_blocks *of, uint64_t block)
{
    const uint64_t at = block * OG__LIST_BLOCK;
    const uint64_t size = og__npy_size(of->array->type);
    uint32_t low = 0;
    for (uint32_t high = (uint32_t)t->n_nodes; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (of->skew + (uint64_t)og__first_edge(t, middle) * size < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct og_span og__runs_span(const struct og_topology *t, const struct og_stretch *stretch)
{
    const struct og_blocks *lists = &t->disk->lists;
    const uint32_t from = og__runs_node_from(t, lists, stretch->low);
    const uint32_t first = from > 0 ? from - 1 : 0; /* whose list may continue here */
    const uint32_t end = og__runs_node_from(t, lists, (uint64_t)stretch->high + 1);
    return (struct og_span){first, end - OG_MIN(end, first)};
}

struct og_gathering og__gathering(const struct og_hop *h, const struct og_pass *p,
                                  const struct og_range *range, struct og_taken *out)
{
    return (struct og_gathering){.hop = h,
                                 .requested = &p->requested,
                                 .range = range,
                                 .out = out,
                                 .size = og__npy_size(h->s->topology->disk->of->indices.type)};
}

static int copy_weight(const struct og_gathering *g, size_t i, uint32_t *out, struct og_err *err)
{
    float weight;
    memcpy(&weight, g->weight_at[i], sizeof(weight));
    memcpy(out, &weight, sizeof(weight));
    return og__check_weights(g->hop->s->topology->disk->of, &weight, g->edge[i], 1, err);
}

/* Little endian. */
static uint64_t id_at(const struct og_gathering *g, size_t i)
{
    uint64_t id;
    uint32_t narrow;
    if (g->size == sizeof(narrow)) {
        memcpy(&narrow, g->at[i], sizeof(narrow));
        return narrow;
    }
    memcpy(&id, g->at[i], sizeof(id));
    return id;
}

int og__gather_window(struct og_gathering *g, struct og_err *err)
{
    const struct og_topology *t = g->hop->s->topology;
    const uint64_t n_nodes = (uint64_t)og__sources(t);
    const bool weighs = g->requested->n_arrays > 1;
    struct og_taken *out = g->out;
    if (out->words->capacity - out->n < g->filled * (1 + weighs))
        OG_DO(og__taken_grow(out, g->filled * (1 + weighs), g->hop->s->budget, err));
    uint32_t *to = out->words->data + out->n;
    for (size_t i = 0; i < g->filled; i++) {
        const uint64_t id = id_at(g, i);
        if (OG_UNLIKELY(id >= n_nodes))
            return og__bad_index(t->disk->of, g->edge[i], (int64_t)id, err);
        *to++ = (uint32_t)id;
        if (weighs)
            OG_DO(copy_weight(g, i, to++, err));
    }
    out->n += g->filled * (1 + weighs);
    g->filled = 0;
    return 0;
}

/* The address of an element of an array. Those of a list are mostly in one block. */
static const char *element_at(struct og_gathering *g, uint32_t array, struct og_list_place place)
{
    if (!g->last[array].data || g->last[array].block != place.block) {
        const struct og_list_place start = {place.block, 0};
        g->last[array].block = place.block;
        g->last[array].data =
            og__range_at(&g->range->part[array], &g->requested->array[array], start);
    }
    const char *at = g->last[array].data + place.within;
    __builtin_prefetch(at);
    return at;
}

int og__gather_edge(struct og_gathering *g, int64_t edge, struct og_err *err)
{
    const struct og_stretch *s = &g->range->part[0].stretch;
    const struct og_list_place place = og__place_in(&g->requested->array[0], edge);
    if (place.block < s->low || place.block > s->high)
        return 0;
    g->edge[g->filled] = edge;
    g->at[g->filled] = element_at(g, 0, place);
    if (g->requested->n_arrays > 1)
        g->weight_at[g->filled] = element_at(g, 1, og__place_in(&g->requested->array[1], edge));
    g->filled++;
    return g->filled == OG__WINDOW ? og__gather_window(g, err) : 0;
}

/* Are the blocks of a list one after another in the range? */
static bool is_contiguous(const struct og_gathering *g, const struct og_stretch *blocks)
{
    const struct og_requested_blocks *w = &g->requested->array[0];
    const struct og_stretch *s = &g->range->part[0].stretch;
    if (g->requested->n_arrays > 1)
        return false;
    return blocks->low == blocks->high ||
           (blocks->low >= s->low && blocks->high <= s->high && blocks->high < w->n_blocks &&
            og__bits_rank(w->bits, w->rank, blocks->high) -
                    og__bits_rank(w->bits, w->rank, blocks->low) ==
                blocks->high - blocks->low);
}

static int gather_contiguous(struct og_gathering *g, const struct list *l,
                             const uint32_t *positions, struct og_err *err)
{
    const char *list = element_at(g, 0, og__place_in(&g->requested->array[0], l->begin));
    for (uint32_t i = 0; i < l->drawn; i++) {
        const char *at = list + (positions ? positions[i] : i) * g->size;
        __builtin_prefetch(at);
        g->edge[g->filled] = edge_of(l, positions, i);
        g->at[g->filled++] = at;
        if (g->filled == OG__WINDOW)
            OG_DO(og__gather_window(g, err));
    }
    return 0;
}

static int gather_node(struct og_gathering *g, uint32_t v, struct og_err *err)
{
    const struct og_stretch *s = &g->range->part[0].stretch;
    const struct list l = list_of(g->hop, v);
    if (l.drawn == 0 || is_cached(g->hop, v))
        return 0;
    const struct og_stretch blocks = stretch_of(&g->requested->array[0], &l);
    if (blocks.high < s->low || blocks.low > s->high)
        return 0;
    const uint32_t *positions = positions_of(g->hop, v);
    if (is_contiguous(g, &blocks))
        return gather_contiguous(g, &l, positions, err);
    for (uint32_t i = 0; i < l.drawn; i++)
        OG_DO(og__gather_edge(g, edge_of(&l, positions, i), err));
    return 0;
}

/* With many ranges, each has few of the nodes, which are found without their lists. */
static int gather_drawn(const struct og_hop *h, const struct og_pass *p,
                        const struct og_range *range, const struct og_frontier *f,
                        struct og_taken *out, struct og_err *err)
{
    struct og_gathering g = og__gathering(h, p, range, out);
    const struct og_span span = og__runs_span(h->s->topology, &range->part[0].stretch);
    uint32_t found[OG__PREFETCH_DISTANCE]; /* the latest */
    size_t n = 0;
    for (int k = 0; k < f->n; k++) {
        const struct og_nodes *nodes = &f->part[k];
        for (size_t i = 0; i < nodes->n; i++) {
            const uint32_t v = nodes->id[i];
            if (!og__runs_spans(&span, v))
                continue;
            og__runs_prefetch(h->s->topology, v);
            uint32_t *place = &found[n++ % OG__PREFETCH_DISTANCE];
            if (n > OG__PREFETCH_DISTANCE)
                OG_DO(gather_node(&g, *place, err));
            *place = v;
        }
    }
    for (size_t i = n - OG_MIN(n, (size_t)OG__PREFETCH_DISTANCE); i < n; i++)
        OG_DO(gather_node(&g, found[i % OG__PREFETCH_DISTANCE], err));
    return og__gather_window(&g, err);
}

/* ---- together again ---- */

struct joining {
    struct og_hop *hop;
    const struct og_pass *pass;
    const uint32_t *drawn;
    uint32_t *cursor;
    uint32_t words; /* of a neighbour */
};

int og__runs_foreign(struct og_err *err)
{
    return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                    "samples in --scratch were changed by another program");
}

static int check_ids(const struct og_hop *h, struct og_err *err)
{
    const struct og_runs *r = h->s->runs;
    const uint32_t words = og__neighbor_words(&h->s->how);
    uint32_t most = 0;
    for (size_t i = 0; i < r->n_drawn; i += words)
        most = OG_MAX(most, r->drawn->data[i]);
    return most < (uint64_t)og__sources(h->s->topology) ? 0 : og__runs_foreign(err);
}

static int fetch_pass(const struct og_hop *h, uint32_t step, struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    const struct og_pass *p = og__pass_of(h, step);
    const uint32_t *cursor = r->cursor->data + r->first[step];
    for (uint32_t i = 0; i < p->requested.n_ranges; i++) {
        const struct og_run *run = og__run_of(p, i, r->batch);
        OG_DO(og__spill_read(r->store, run->at, r->drawn->data + cursor[i],
                             run->n * sizeof(uint32_t), &r->read, err));
    }
    return 0;
}

void og__runs_rewind(const struct og_hop *h, uint32_t step, uint32_t n)
{
    struct og_runs *r = h->s->runs;
    r->n_drawn = 0;
    for (uint32_t k = step; k < step + n; k++) {
        const struct og_pass *p = og__pass_of(h, k);
        for (uint32_t i = 0; i < p->requested.n_ranges; i++) {
            r->cursor->data[r->first[k] + i] = (uint32_t)r->n_drawn;
            r->n_drawn += og__run_of(p, i, r->batch)->n;
        }
    }
}

int og__runs_fetch(const struct og_hop *h, uint32_t step, uint32_t n, struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    uint32_t runs = 0;
    for (uint32_t k = step; k < step + n; k++) {
        r->first[k] = runs;
        runs += og__pass_of(h, k)->requested.n_ranges;
    }
    OG_DO(og__words_reserve(r->cursor, runs, h->s->budget, err));
    og__runs_rewind(h, step, n);
    OG_DO(og__words_reserve(r->drawn, r->n_drawn, h->s->budget, err));
    for (uint32_t k = step; k < step + n; k++)
        OG_DO(fetch_pass(h, k, err));
    return 0;
}

static int next_drawn(const struct og_hop *h, uint32_t step, uint32_t block, uint32_t *id,
                      struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    const struct og_pass *p = og__pass_of(h, step);
    uint32_t *cursor = &r->cursor->data[r->first[step] + og__range_of_block(p, block)];
    if (*cursor >= r->n_drawn)
        return og__runs_foreign(err);
    *id = r->drawn->data[(*cursor)++];
    return *id < (uint64_t)og__sources(h->s->topology) ? 0 : og__runs_foreign(err);
}

int og__runs_next(const struct og_hop *h, uint32_t step, uint32_t v, int64_t place, uint32_t *id,
                  struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    const struct og_neighbors *cache = &t->disk->cache;
    if (is_cached(h, v)) {
        *id = cache->ids[og__neighbors_first(cache, v) + place];
        return 0;
    }
    const struct og_requested_blocks *w = &og__pass_of(h, step)->requested.array[0];
    return next_drawn(h, step, og__place_in(w, og__first_edge(t, v) + place).block, id, err);
}

static int join_cached(const struct joining *j, const struct list *l, uint32_t v,
                       struct og_err *err)
{
    const struct og_neighbors *cache = &j->hop->s->topology->disk->cache;
    const uint32_t *ids = cache->ids + og__neighbors_first(cache, v);
    const float *weights = og__neighbors_weights(cache, v);
    const uint32_t *positions = positions_of(j->hop, v);
    j->hop->s->reads.lists_cached++;
    for (uint32_t i = 0; i < l->drawn; i++) {
        const uint32_t at = positions ? positions[i] : i;
        OG_DO(og__push_drawn(j->hop, ids[at], weights ? &weights[at] : NULL,
                             edge_of(l, positions, i), err));
    }
    return 0;
}

static int join_next(const struct joining *j, uint32_t range, int64_t edge, struct og_err *err)
{
    const uint32_t *word = &j->drawn[j->cursor[range]];
    j->cursor[range] += j->words;
    return og__push_words(j->hop, word, edge, err);
}

static int join_drawn(const struct joining *j, const struct list *l, uint32_t v, struct og_err *err)
{
    const struct og_requested_blocks *w = &j->pass->requested.array[0];
    const uint32_t *positions = positions_of(j->hop, v);
    for (uint32_t i = 0; i < l->drawn; i++) {
        const int64_t edge = edge_of(l, positions, i);
        const uint32_t block = og__place_in(w, edge).block;
        OG_DO(join_next(j, og__range_of_block(j->pass, block), edge, err));
    }
    return 0;
}

/* The next n of a run, whose words are ids alone and whose edges nobody needs. */
static int join_ids(const struct joining *j, uint32_t range, uint32_t n, struct og_err *err)
{
    struct og_sampler *s = j->hop->s;
    const uint32_t *id = &j->drawn[j->cursor[range]];
    j->cursor[range] += n;
    while (n > 0) {
        const uint32_t some = OG_MIN(n, (uint32_t)(OG__WINDOW - s->filled));
        for (uint32_t i = 0; i < some; i++)
            s->node[s->filled + i] = j->hop->base + id[i];
        s->filled += some;
        id += some;
        n -= some;
        if (s->filled == OG__WINDOW)
            OG_DO(og__number_window(j->hop, err));
    }
    return 0;
}

/* A list within one range is the next of its run, for any draws. */
static int join_node(const struct joining *j, uint32_t v, struct og_err *err)
{
    const struct list l = list_of(j->hop, v);
    if (l.drawn == 0)
        return 0;
    if (is_cached(j->hop, v))
        return join_cached(j, &l, v, err);
    j->hop->s->reads.lists_read++;
    const struct og_stretch blocks = stretch_of(&j->pass->requested.array[0], &l);
    const uint32_t range = og__range_of_block(j->pass, blocks.low);
    if (blocks.low != blocks.high && range != og__range_of_block(j->pass, blocks.high))
        return join_drawn(j, &l, v, err);
    if (!j->hop->edge && j->words == 1)
        return join_ids(j, range, l.drawn, err);
    const uint32_t *positions = j->hop->edge ? positions_of(j->hop, v) : NULL;
    for (uint32_t i = 0; i < l.drawn; i++)
        OG_DO(join_next(j, range, edge_of(&l, positions, i), err));
    return 0;
}

static int join_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_runs *r = h->s->runs;
    const struct og_topology *t = h->s->topology;
    const struct og_pass *pass = og__pass_of(h, 0);
    OG_DO(og__runs_fetch(h, 0, 1, err));
    OG_DO(check_ids(h, err));
    const struct joining j = {h, pass, r->drawn->data, r->cursor->data,
                              og__neighbor_words(&h->s->how)};
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        if (i + OG__PREFETCH_DISTANCE < h->block->n_dst)
            og__runs_prefetch(t, h->nodes[i + OG__PREFETCH_DISTANCE]);
        og__begin_list(h, i);
        OG_DO(join_node(&j, h->nodes[i], err));
    }
    return og__number_window(h, err);
}

const struct og_pass_ops og__pass_by_positions = {
    .want = want_drawn, .cut = og__runs_cut, .gather = gather_drawn, .join = join_hop};
