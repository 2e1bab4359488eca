#include "sample/runs.h"

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

int og__taken_grow(struct og_taken *t, struct og_budget *b, struct og_err *err)
{
    struct og_words more = {0};
    int rc = og__words_reserve(&more, t->n + t->n / 8 + OG__WINDOW, b, err);
    if (rc < 0)
        return rc;
    if (t->n > 0 && more.data)
        memcpy(more.data, t->words->data, t->n * sizeof(*more.data));
    og__words_release(t->words, b);
    *t->words = more;
    return 0;
}

/* ---- a node's list on disk ---- */

struct list {
    const struct og_blocks *in;
    uint64_t begin;       /* byte of the array */
    size_t size;          /* of an element */
    uint32_t first, last; /* blocks */
    uint32_t drawn;
};

static struct list list_of(const struct og_hop *h, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    const int64_t degree = og__degree(t, v);
    struct list l = {.in = &t->disk->lists,
                     .size = og__npy_size(t->disk->of->indices.type),
                     .drawn = og__drawn_of(h, degree)};
    l.begin = (uint64_t)og__first_edge(t, v) * l.size;
    if (degree > 0) {
        l.first = og__list_place(l.in, l.begin).block;
        l.last = og__list_place(l.in, l.begin + (uint64_t)degree * l.size - 1).block;
    }
    return l;
}

/* The position of the i-th drawn neighbour. */
static struct og_list_place place_of(const struct list *l, const uint32_t *positions, uint32_t i)
{
    return og__list_place(l->in, l->begin + (uint64_t)(positions ? positions[i] : i) * l->size);
}

static const uint32_t *positions_of(const struct og_hop *h, uint32_t v)
{
    return og__sampler_ops(h->s->how.kind)->positions(h, v);
}

static bool is_cached(const struct og_hop *h, uint32_t v)
{
    return og__neighbors_has(&h->s->topology->disk->cache, v);
}

void og__runs_prefetch(const struct og_topology *t, uint32_t v)
{
    og__prefetch_degree(t, v);
    if (t->disk->cache.bits)
        __builtin_prefetch(&t->disk->cache.bits[v >> 6]);
}

/* The id of `size` bytes, little endian. */
static uint64_t id_at(const char *at, size_t size)
{
    uint64_t id = 0;
    memcpy(&id, at, size);
    return id;
}

static int bad_id(const struct og_topology *t, struct og_list_place p, struct og_err *err)
{
    const struct og_blocks *lists = &t->disk->lists;
    return og__fail(
        err, -EINVAL, "the dataset is damaged: see `outgrow verify`, or import it again",
        "%s: a node out of range near byte %llu", lists->array->path,
        (unsigned long long)(lists->base + (uint64_t)p.block * OG__LIST_BLOCK + p.within));
}

/* ---- requests ---- */

/* Most are requested already. */
void og__runs_want(struct og_requested_blocks *w, uint32_t block)
{
    const uint64_t bit = (uint64_t)1 << (block & 63);
    uint64_t *word = &w->bits[block >> 6];
    if (block < w->n_blocks && !(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static uint32_t want_node(const struct og_hop *h, struct og_pass *p, uint32_t v)
{
    struct og_requested_blocks *w = &p->requested.array[0];
    const struct list l = list_of(h, v);
    if (l.drawn == 0 || is_cached(h, v))
        return 0;
    if (l.first == l.last) {
        og__runs_want(w, l.first);
        return l.drawn;
    }
    const uint32_t *positions = positions_of(h, v);
    for (uint32_t i = 0; i < l.drawn; i++)
        og__runs_want(w, place_of(&l, positions, i).block);
    return l.drawn;
}

static int want_drawn(const struct og_hop *h, struct og_pass *p, const struct og_frontier *f,
                      size_t *n_drawn, struct og_err *err)
{
    (void)err;
    *n_drawn = og__runs_each(h, p, f, want_node);
    return 0;
}

void og__runs_cut(const struct og_topology *t, struct og_pass *p)
{
    const struct og_requested_blocks *w = &p->requested.array[0];
    const uint64_t each = (uint64_t)1 << p->shift;
    uint64_t n = 0;
    (void)t;
    for (uint64_t at = 0; n < w->n; at++, n++) {
        at = og__bits_next(w->bits, w->n_blocks, at);
        struct og_stretch *s = &p->requested.stretch[0][n >> p->shift];
        if (n % each == 0)
            s->low = (uint32_t)at;
        s->high = (uint32_t)at;
    }
    p->requested.n_ranges = (uint32_t)((n + each - 1) >> p->shift);
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
                                 .requested = &p->requested.array[0],
                                 .part = &range->part[0],
                                 .out = out,
                                 .size = og__npy_size(h->s->topology->disk->of->indices.type)};
}

int og__gather_window(struct og_gathering *g, struct og_err *err)
{
    const struct og_topology *t = g->hop->s->topology;
    const uint64_t n_nodes = (uint64_t)og__sources(t);
    for (size_t i = 0; i < g->filled; i++) {
        const uint64_t id = id_at(g->at[i], g->size);
        if (OG_UNLIKELY(id >= n_nodes)) {
            const size_t offset = (size_t)(g->at[i] - g->part->data);
            const struct og_list_place p = {g->part->block[offset / OG__LIST_BLOCK],
                                            (uint32_t)(offset % OG__LIST_BLOCK)};
            return bad_id(t, p, err);
        }
        int rc = og__take(g->out, (uint32_t)id, g->hop->s->budget, err);
        if (rc < 0)
            return rc;
    }
    g->filled = 0;
    return 0;
}

int og__gather_place(struct og_gathering *g, struct og_list_place at, struct og_err *err)
{
    if (at.block < g->part->stretch.low || at.block > g->part->stretch.high)
        return 0;
    const char *data = og__range_at(g->part, g->requested, at);
    __builtin_prefetch(data);
    g->at[g->filled++] = data;
    return g->filled == OG__WINDOW ? og__gather_window(g, err) : 0;
}

static int gather_node(struct og_gathering *g, uint32_t v, struct og_err *err)
{
    const uint32_t low = g->part->stretch.low, high = g->part->stretch.high;
    const struct list l = list_of(g->hop, v);
    if (l.drawn == 0 || l.last < low || l.first > high || is_cached(g->hop, v))
        return 0;
    const uint32_t *positions = positions_of(g->hop, v);
    int rc = 0;
    for (uint32_t i = 0; i < l.drawn; i++)
        OG_TRY(og__gather_place(g, place_of(&l, positions, i), err));
out:
    return rc;
}

static int gather_nodes(struct og_gathering *g, const uint32_t *nodes, size_t n, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        OG_TRY(gather_node(g, nodes[i], err));
out:
    return rc;
}

/* With many ranges, each has few of the nodes, which are found without their lists. */
static int gather_drawn(const struct og_hop *h, const struct og_pass *p,
                        const struct og_range *range, const struct og_frontier *f,
                        struct og_taken *out, struct og_err *err)
{
    struct og_gathering g = og__gathering(h, p, range, out);
    const struct og_span span = og__runs_span(h->s->topology, &g.part->stretch);
    uint32_t found[OG__PREFETCH_DISTANCE];
    size_t n = 0;
    int rc;
    for (int k = 0; k < f->n; k++) {
        const struct og_words *nodes = &f->nodes[k];
        for (size_t i = 0; i < nodes->capacity; i++) {
            const uint32_t v = nodes->data[i];
            if (!og__runs_spans(&span, v))
                continue;
            og__runs_prefetch(h->s->topology, v);
            found[n++] = v;
            if (n == OG__PREFETCH_DISTANCE) {
                OG_TRY(gather_nodes(&g, found, n, err));
                n = 0;
            }
        }
    }
    OG_TRY(gather_nodes(&g, found, n, err));
    OG_TRY(og__gather_window(&g, err));
out:
    return rc;
}

/* ---- together again ---- */

struct joining {
    struct og_hop *hop;
    const struct og_pass *pass;
    const uint32_t *drawn;
    uint32_t *cursor;
};

int og__runs_foreign(struct og_err *err)
{
    return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                    "spilled samples were altered");
}

static int check_ids(const struct og_hop *h, struct og_err *err)
{
    const struct og_runs *r = h->s->runs;
    uint32_t most = 0;
    for (size_t i = 0; i < r->n_drawn; i++)
        most = OG_MAX(most, r->drawn->data[i]);
    return most < (uint64_t)og__sources(h->s->topology) ? 0 : og__runs_foreign(err);
}

static const struct og_pass *pass_of(const struct og_hop *h, uint32_t step)
{
    const struct og_runs *r = h->s->runs;
    return &r->pass[h->number * r->steps + step];
}

static int fetch_pass(const struct og_hop *h, uint32_t step, struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    const struct og_pass *p = pass_of(h, step);
    const uint32_t *cursor = r->cursor->data + r->first[step];
    int rc = 0;
    for (uint32_t i = 0; i < p->requested.n_ranges; i++) {
        const struct og_run *run = og__run_of(p, i, r->batch);
        OG_TRY(og__spill_read(r->store, run->at, r->drawn->data + cursor[i],
                              run->n * sizeof(uint32_t), &r->read, err));
    }
out:
    return rc;
}

void og__runs_rewind(const struct og_hop *h, uint32_t step, uint32_t n)
{
    struct og_runs *r = h->s->runs;
    r->n_drawn = 0;
    for (uint32_t k = step; k < step + n; k++) {
        const struct og_pass *p = pass_of(h, k);
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
    int rc;
    for (uint32_t k = step; k < step + n; k++) {
        r->first[k] = runs;
        runs += pass_of(h, k)->requested.n_ranges;
    }
    OG_TRY(og__words_reserve(r->cursor, runs, h->s->budget, err));
    og__runs_rewind(h, step, n);
    OG_TRY(og__words_reserve(r->drawn, r->n_drawn, h->s->budget, err));
    for (uint32_t k = step; k < step + n; k++)
        OG_TRY(fetch_pass(h, k, err));
out:
    return rc;
}

static uint32_t range_in(const struct og_pass *p, uint32_t block)
{
    const struct og_requested_blocks *w = &p->requested.array[0];
    return og__bits_rank(w->bits, w->rank, block) >> p->shift;
}

static uint32_t range_of(const struct joining *j, uint32_t block)
{
    return range_in(j->pass, block);
}

/* The tail after the whole blocks is in memory. */
static int tail_id(const struct og_topology *t, struct og_list_place p, uint32_t *out,
                   struct og_err *err)
{
    const struct og_topology_disk *disk = t->disk;
    const uint64_t id = id_at(disk->lists.tail + p.within, og__npy_size(disk->of->indices.type));
    *out = (uint32_t)id;
    return id < (uint64_t)og__sources(t) ? 0 : bad_id(t, p, err);
}

static int next_drawn(const struct og_hop *h, uint32_t step, struct og_list_place p, uint32_t *id,
                      struct og_err *err)
{
    struct og_runs *r = h->s->runs;
    uint32_t *cursor = &r->cursor->data[r->first[step] + range_in(pass_of(h, step), p.block)];
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
    const struct og_blocks *in = &t->disk->lists;
    if (is_cached(h, v)) {
        *id = cache->ids[og__neighbors_first(cache, v) + place];
        return 0;
    }
    const uint64_t edge = (uint64_t)(og__first_edge(t, v) + place);
    const struct og_list_place p =
        og__list_place(in, edge * og__npy_size(t->disk->of->indices.type));
    return p.block == in->n_blocks ? tail_id(t, p, id, err) : next_drawn(h, step, p, id, err);
}

static int join_cached(const struct joining *j, const struct list *l, uint32_t v,
                       struct og_err *err)
{
    const struct og_neighbors *cache = &j->hop->s->topology->disk->cache;
    const uint32_t *ids = cache->ids + og__neighbors_first(cache, v);
    const uint32_t *positions = positions_of(j->hop, v);
    int rc = 0;
    j->hop->s->reads.lists_cached++;
    for (uint32_t i = 0; i < l->drawn; i++)
        OG_TRY(og__push_node(j->hop, ids[positions ? positions[i] : i], err));
out:
    return rc;
}

static int join_tail(const struct joining *j, struct og_list_place p, struct og_err *err)
{
    uint32_t id;
    int rc = tail_id(j->hop->s->topology, p, &id, err);
    return rc < 0 ? rc : og__push_node(j->hop, id, err);
}

static int join_drawn(const struct joining *j, const struct list *l, uint32_t v, struct og_err *err)
{
    const uint32_t *positions = positions_of(j->hop, v);
    int rc = 0;
    for (uint32_t i = 0; i < l->drawn; i++) {
        const struct og_list_place p = place_of(l, positions, i);
        if (p.block == l->in->n_blocks)
            OG_TRY(join_tail(j, p, err));
        else
            OG_TRY(og__push_node(j->hop, j->drawn[j->cursor[range_of(j, p.block)]++], err));
    }
out:
    return rc;
}

/* A list within one range is the next of its run, for any draws. */
static int join_node(const struct joining *j, uint32_t v, struct og_err *err)
{
    const struct list l = list_of(j->hop, v);
    int rc = 0;
    if (l.drawn == 0)
        return 0;
    if (is_cached(j->hop, v))
        return join_cached(j, &l, v, err);
    j->hop->s->reads.lists_read++;
    if (l.last == l.in->n_blocks || range_of(j, l.first) != range_of(j, l.last))
        return join_drawn(j, &l, v, err);
    uint32_t *cursor = &j->cursor[range_of(j, l.first)];
    for (uint32_t i = 0; i < l.drawn; i++)
        OG_TRY(og__push_node(j->hop, j->drawn[(*cursor)++], err));
out:
    return rc;
}

static int join_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_runs *r = h->s->runs;
    const struct og_topology *t = h->s->topology;
    const struct og_pass *pass = pass_of(h, 0);
    int rc;
    OG_TRY(og__runs_fetch(h, 0, 1, err));
    OG_TRY(check_ids(h, err));
    const struct joining j = {h, pass, r->drawn->data, r->cursor->data};
    for (uint32_t i = h->first; i < h->block->n_dst; i++) {
        if (i + OG__PREFETCH_DISTANCE < h->block->n_dst)
            og__runs_prefetch(t, h->nodes[i + OG__PREFETCH_DISTANCE]);
        og__begin_list(h, i);
        OG_TRY(join_node(&j, h->nodes[i], err));
    }
    OG_TRY(og__number_window(h, err));
out:
    return rc;
}

const struct og_pass_ops og__pass_by_positions = {
    .want = want_drawn, .cut = og__runs_cut, .gather = gather_drawn, .join = join_hop};
