/* Neighbours in proportion to their edge weights, in sequence without replacement. Each next one
 * has probability weight / sum of the remaining weights.
 *
 * A draw with replacement that repeats an earlier pick is redrawn, which leaves exactly these
 * probabilities. It takes one access to the list's alias table (dataset/alias.h), no logarithm, and
 * no scan of the list. If few heavy edges would repeat often, the rest comes from one scan. Each
 * remaining edge gets an exponential time with its weight as rate. The earliest are taken in order
 * (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006, including their
 * jumps over late edges). Which method draws next depends only on earlier picks and on the number
 * of repeats. Neither predicts the next pick, so the mixture is exact.
 *
 * In memory the tables include the drawn nodes, and some destinations draw as a group, in rounds.
 * All accesses of the group are prefetched, then made. Destinations with repeats try once more. */
#include "dataset/alias.h"
#include "sample/from_disk.h"
#include "sample/heap.h"
#include "sample/kinds.h"
#include "sample/lists.h"

#include <math.h>
#include <stdlib.h>

/* Destinations that draw as a group; draws of a round; draws tried for each pick. */
enum { GROUP = 16, TOGETHER = 16, TRIES = 3 };

static const char part[] = "sampler";

/* A destination that draws. */
struct drawing {
    const float *weights;              /* [n] */
    const struct og_alias_edge *table; /* [n], or NULL: from disk */
    const struct og_alias *alias;      /* [n], from disk */
    int64_t begin, n;                  /* its edges */
    uint32_t v;
    bool all;
    struct og_rng rng;
    uint32_t *pick; /* [stride]; OG__NO_NODE if there is none yet, up to TOGETHER */
    uint32_t *node; /* [stride] those picked, in memory */
    uint32_t n_picks, tries;
    uint32_t requested; /* draws of this round */
    uint64_t bits[TOGETHER];
};

struct og_weighted {
    struct og_candidate *candidate; /* [max_pick] */
    uint32_t *pick, *node;          /* [group][stride] */
    uint32_t group;                 /* destinations that draw as a group */
    size_t stride;
    struct drawing drawing[GROUP];
    /* from disk, of the longest list */
    struct og_alias *alias;
    void *scratch;
    struct og_allocs arrays;
};

static struct og_weighted *state_of(const struct og_sampler *s)
{
    return s->state;
}

/* ---- open and close ---- */

static int open_kind(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology *t = s->topology;
    struct og_weighted *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->state = w;
    w->group = s->max_pick <= TOGETHER ? GROUP : 1;
    w->stride = OG_MAX(s->max_pick, (size_t)TOGETHER);
    w->arrays = og__allocs(s->budget, part);
    w->candidate = og__allocs_take(&w->arrays, s->max_pick * sizeof(*w->candidate), err);
    w->pick = og__allocs_take(&w->arrays, w->group * w->stride * sizeof(*w->pick), err);
    w->node = og__allocs_take(&w->arrays, w->group * w->stride * sizeof(*w->node), err);
    if (t->disk) {
        const int64_t longest = t->disk->longest;
        w->alias = og__allocs_take(&w->arrays, (size_t)longest * sizeof(*w->alias), err);
        w->scratch = og__allocs_take(&w->arrays, og__alias_scratch_bytes(longest), err);
    }
    for (uint32_t i = 0; i < w->group; i++) {
        w->drawing[i].pick = w->pick + i * w->stride;
        w->drawing[i].node = w->node + i * w->stride;
    }
    return og__allocs_taken(&w->arrays);
}

static void close_kind(struct og_sampler *s)
{
    struct og_weighted *w = s->state;
    if (!w)
        return;
    og__allocs_release(&w->arrays);
    free(w);
    s->state = NULL;
}

/* ---- the rest, in one pass ---- */

static bool in_set(const struct og_sampler *s, uint32_t x)
{
    size_t i = (size_t)(x * 0x9E3779B1u) & (s->set_size - 1);
    while (s->set[i] != OG__NO_NODE && s->set[i] != x)
        i = (i + 1) & (s->set_size - 1);
    return s->set[i] == x;
}

/* A time below `limit`: the exponential one of rate w, given that. */
static double time_before(double limit, double w, struct og_rng *rng)
{
    return -log1p(og__draw_open(rng) * expm1(-limit * w)) / w;
}

/* The picks become k, or as many as have weight. */
static void draw_rest(struct og_sampler *s, struct drawing *l, uint32_t k)
{
    struct og_candidate *heap = state_of(s)->candidate;
    struct og_rng *rng = &l->rng;
    const size_t room = k - l->n_picks;
    size_t held = 0;
    double jump = 0; /* weight to pass over before the next candidate, once the heap is full */
    memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint32_t i = 0; i < l->n_picks; i++)
        og__set_add(s, l->pick[i]);
    for (int64_t i = 0; i < l->n; i++) {
        double w = (double)l->weights[i];
        uint32_t at = (uint32_t)i;
        if (w == 0 || in_set(s, at))
            continue;
        if (held < room) {
            heap[held++] = (struct og_candidate){-log(og__draw_open(rng)) / w, at};
            if (held < room)
                continue;
            og__heap_make(heap, held);
        } else if ((jump -= w) < 0) {
            heap[0] = (struct og_candidate){time_before(heap[0].time, w, rng), at};
            og__heap_sink(heap, held, 0);
        } else {
            continue;
        }
        jump = -log(og__draw_open(rng)) / heap[0].time;
    }
    if (held < room) /* all that have weight */
        og__heap_make(heap, held);
    og__heap_sort(heap, held);
    for (size_t i = 0; i < held; i++) {
        if (l->table)
            l->node[l->n_picks] = l->table[heap[i].at].node;
        l->pick[l->n_picks++] = heap[i].at;
    }
}

/* ---- draws ---- */

static void begin_draws(struct og_sampler *s, struct drawing *l, uint32_t k)
{
    l->tries = 0;
    if (k <= TOGETHER)
        memset(l->pick, 0xff, TOGETHER * sizeof(*l->pick));
    else if (k > OG__LINEAR_FLOYD)
        memset(s->set, 0xff, s->set_size * sizeof(*s->set));
}

/* Prefetches the draws of the next round. They are as many as missing picks, and twice as many
 * after repeats. Two come from one call. */
static inline void ask(struct drawing *l, uint32_t k)
{
    uint32_t missing = k - l->n_picks;
    uint32_t most = OG_MIN(l->tries > 0 ? 2 * missing : missing, (uint32_t)TOGETHER);
    l->requested = (uint32_t)OG_MIN((uint64_t)most, TRIES * (uint64_t)k - l->tries);
    l->tries += l->requested;
    for (uint32_t i = 0; i < l->requested; i += 2) {
        uint32_t word[4];
        og__rng_block(&l->rng, word);
        l->bits[i] = (uint64_t)word[0] << 32 | word[1];
        l->bits[i + 1] = (uint64_t)word[2] << 32 | word[3];
        if (l->table) {
            __builtin_prefetch(&l->table[og__alias_place(l->n, l->bits[i])]);
            __builtin_prefetch(&l->table[og__alias_place(l->n, l->bits[i + 1])]);
        }
    }
}

/* Is x not yet a pick? A fixed number of comparisons needs no branches. */
static inline bool is_fresh(struct og_sampler *s, const struct drawing *l, uint32_t k, uint32_t x)
{
    if (k <= TOGETHER)
        return !og__picked_before(l->pick, TOGETHER, x);
    if (k <= OG__LINEAR_FLOYD)
        return !og__picked_before(l->pick, l->n_picks, x);
    return og__set_add(s, x);
}

/* Evaluates the prefetched draws. Returns whether picks are still missing. */
static inline bool look(struct og_sampler *s, struct drawing *l, uint32_t k)
{
    for (uint32_t i = 0; i < l->requested && l->n_picks < k; i++) {
        uint64_t place = og__alias_place(l->n, l->bits[i]);
        const struct og_alias_edge *edge = l->table ? &l->table[place] : NULL;
        const struct og_alias a = edge ? edge->alias : l->alias[place];
        bool keeps = og__alias_keeps(a, l->n, l->bits[i]);
        uint32_t x = og__alias_choose(keeps, (uint32_t)place, a.other);
        if (OG_UNLIKELY(x == OG__NO_OTHER))
            return false;
        if (edge)
            l->node[l->n_picks] = og__alias_choose(keeps, edge->node, edge->other_node);
        bool fresh = is_fresh(s, l, k, x);
        l->pick[l->n_picks] = fresh ? x : OG__NO_NODE;
        l->n_picks += fresh;
    }
    bool missing = l->n_picks < k;
    bool tried = l->tries == TRIES * (uint64_t)k;
    if (missing && tried)
        draw_rest(s, l, k);
    return missing && !tried;
}

/* k picks each, or as many as have weight. */
static void draw(struct og_sampler *s, struct drawing *drawing, uint32_t n, uint32_t k)
{
    uint32_t at_it[GROUP]; /* drawings with missing picks */
    uint32_t n_at_it = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!drawing[i].all) {
            at_it[n_at_it++] = i;
            begin_draws(s, &drawing[i], k);
        }
    while (n_at_it > 0) {
        uint32_t left = 0;
        for (uint32_t j = 0; j < n_at_it; j++)
            ask(&drawing[at_it[j]], k);
        for (uint32_t j = 0; j < n_at_it; j++)
            if (look(s, &drawing[at_it[j]], k))
                at_it[left++] = at_it[j];
        n_at_it = left;
    }
}

/* ---- a hop ---- */

/* In lists taken whole, a share of 0 marks weight 0. */
static int take_in_memory(struct og_hop *h, const struct drawing *l, struct og_err *err)
{
    for (int64_t i = 0; l->all && i < l->n; i++)
        if (l->table[i].alias.share > 0)
            OG_DO(og__push_drawn(h, l->table[i].node, &l->weights[i], l->begin + i, err));
    for (uint32_t i = 0; i < l->n_picks; i++)
        OG_DO(og__push_drawn(h, l->node[i], &l->weights[l->pick[i]], l->begin + l->pick[i], err));
    return 0;
}

/* On disk, draws are only requested. */
static int want_pick(struct og_hop *h, const struct drawing *l, uint32_t i, struct og_err *err)
{
    const uint64_t at = h->block->n_edges + h->n_requested;
    if (h->weight)
        h->weight[at] = l->weights[i];
    og__fetch_want(h->s, h->n_requested++, l->v, &i, 1);
    return og__number_places(h, at, l->begin, &i, 1, err);
}

static int want_picks(struct og_hop *h, const struct drawing *l, struct og_err *err)
{
    for (uint32_t i = 0; l->all && i < l->n; i++)
        if (l->weights[i] > 0)
            OG_DO(want_pick(h, l, i, err));
    for (uint32_t i = 0; i < l->n_picks; i++)
        OG_DO(want_pick(h, l, l->pick[i], err));
    return 0;
}

static void set_up(const struct og_hop *h, struct drawing *l, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    l->v = v;
    l->begin = og__first_edge(t, v);
    l->n = og__degree(t, v);
    l->all = h->fanout < 0 || l->n <= h->fanout;
    l->n_picks = 0;
    if (!l->all)
        og__hop_rng(h, v, &l->rng);
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct drawing *drawing = state_of(h->s)->drawing;
    uint32_t n_dst = h->block->n_dst;
    for (uint32_t first = h->first; first < n_dst; first += state_of(h->s)->group) {
        uint32_t n = OG_MIN(n_dst - first, state_of(h->s)->group);
        for (uint32_t i = 0; i < n; i++) {
            struct drawing *l = &drawing[i];
            if (first + i + OG__PREFETCH_DISTANCE < n_dst)
                og__prefetch_degree(t, h->nodes[first + i + OG__PREFETCH_DISTANCE]);
            set_up(h, l, h->nodes[first + i]);
            l->weights = t->weights + l->begin;
            l->table = t->alias + l->begin;
            if (l->all)
                __builtin_prefetch(l->table);
        }
        draw(h->s, drawing, n, (uint32_t)h->fanout);
        for (uint32_t i = 0; i < n; i++) {
            og__begin_list(h, first + i);
            OG_DO(take_in_memory(h, &drawing[i], err));
        }
    }
    return og__number_window(h, err);
}

/* ---- from disk ---- */

/* Draws for v by the weights of its list, which were checked. */
static void draw_list(const struct og_hop *h, uint32_t v, const float *weights)
{
    struct og_weighted *w = h->s->state;
    struct drawing *l = &w->drawing[0];
    set_up(h, l, v);
    l->weights = weights;
    l->alias = w->alias;
    if (!l->all)
        og__alias_make(w->alias, l->weights, l->n, w->scratch);
    draw(h->s, l, 1, (uint32_t)h->fanout);
}

/* Destination `i` after `first`. */
static int draw_from_disk(struct og_hop *h, uint32_t first, uint32_t i, struct og_err *err)
{
    const struct og_neighbors *cache = &h->s->topology->disk->cache;
    const struct og_topology *t = h->s->topology;
    const uint32_t v = h->nodes[first + i];
    const bool cached = og__neighbors_has(cache, v);
    const float *weights =
        cached ? og__neighbors_weights(cache, v) : og__lists_start(h->s->lists, i);
    OG_DO(cached ? 0
                 : og__check_weights(t->disk->of, weights, og__first_edge(t, v),
                                     (size_t)og__degree(t, v), err));
    draw_list(h, v, weights);
    h->block->indptr[first + i] = (uint32_t)h->block->n_edges + h->n_requested;
    return want_picks(h, &state_of(h->s)->drawing[0], err);
}

/* In group sampling: the list is in memory. */
static int take(const struct og_hop *h, uint32_t v, uint32_t tree, const struct og_list *list,
                struct og_taken *out, struct og_err *err)
{
    (void)tree;
    const struct drawing *l = &state_of(h->s)->drawing[0];
    draw_list(h, v, list->weights);
    for (int64_t i = 0; l->all && i < l->n; i++)
        if (list->weights[i] > 0)
            OG_DO(og__take_neighbor(h, v, list, i, out, err));
    for (uint32_t i = 0; i < l->n_picks; i++)
        OG_DO(og__take_neighbor(h, v, list, l->pick[i], out, err));
    return 0;
}

static size_t take_bytes(const struct og_sampling *how, int64_t longest)
{
    (void)how;
    return (size_t)longest * sizeof(struct og_alias) + og__alias_scratch_bytes(longest);
}

/* Reads weights of whole lists, and requests only the drawn sources, which are then read at
 * once. */
static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    uint32_t n_dst = h->block->n_dst;
    uint32_t n = 0;
    const uint64_t before = h->block->n_edges;
    OG_DO(og__fetch_begin(s, h->block->src + before, NULL, h->n_edges - before, NULL, err));
    if (!s->lists)
        OG_DO(og__lists_open(&s->lists, s->topology, &s->topology->disk->of->weights, s->budget,
                             err));
    for (uint32_t first = h->first; first < n_dst; first += n) {
        OG_DO(og__lists_read(s->lists, s->topology, &s->topology->disk->cache, h->nodes + first,
                             n_dst - first, &n, &s->reads, err));
        for (uint32_t i = 0; i < n; i++)
            OG_DO(draw_from_disk(h, first, i, err));
    }
    OG_DO(og__fetch(s, err));
    return og__number_fetched(h, h->n_requested, err);
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    return h->s->topology->disk ? sample_from_disk(h, err) : sample_in_memory(h, err);
}

static size_t disk_bytes(const struct og_relation *of, const struct og_sampling *how,
                         const struct og_topology_disk_options *opt, int64_t longest)
{
    (void)of;
    return og__lists_bytes(opt, sizeof(float), longest) + take_bytes(how, longest);
}

static const char *const parameters[] = {"draw", NULL};

const struct og_sampler_ops og__sampler_weighted = {
    .reads_weights = true,
    .parameters = parameters,
    .open = open_kind,
    .close = close_kind,
    .hop = sample_hop,
    .pass = &og__pass_by_lists,
    .take = take,
    .take_bytes = take_bytes,
    .disk_bytes = disk_bytes,
};
