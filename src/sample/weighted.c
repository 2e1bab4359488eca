/* Neighbours in proportion to the weights of their edges, one after the other without replacement:
 * of what is left each is next with probability weight / sum of the weights left.
 *
 * A draw with replacement that finds what was drawn before is drawn anew, which leaves just these
 * probabilities. It takes a search in the sums that stand beside the weights, one cache line of
 * weights, no logarithm, and no pass over the list. Where few heavy edges would be found again and
 * again the rest comes from one pass: each edge left gets a time to fire, exponential with its
 * weight as rate, and the first to fire are taken in that order (Efraimidis and Spirakis, "Weighted
 * random sampling with a reservoir", 2006, whose jumps over edges that would fire too late are
 * used as well). Which of the two draws next depends on what was drawn so far and on how often that
 * came again, and neither tells what is next: so the mixture is exact. */
#include "sample/heap.h"
#include "sample/lists.h"

#include <math.h>

enum { TOGETHER = 32 }; /* draws */

static size_t sums_of(int64_t longest)
{
    return (size_t)longest / OG__WEIGHTS_A_SUM + 1;
}

/* From disk: the weights of whole lists, and sums beside one. */
static int open_disk(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology_disk *disk = s->topology->disk;
    s->n_sums = sums_of(disk->longest);
    s->sums = og__alloc(s->budget, s->n_sums * sizeof(*s->sums), "sampler", err);
    return s->sums ? og__lists_open(&s->lists, s->topology, &disk->ds->weights, s->budget, err)
                   : -ENOMEM;
}

int og__weighted_open(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology *t = s->topology;
    if (t->disk ? t->disk->ds->weights.fd < 0 : !t->weights)
        return og__fail(err, -ENOTSUP, NULL, "there are no weights of edges");
    s->candidate = og__alloc(s->budget, s->max_pick * sizeof(*s->candidate), "sampler", err);
    if (!s->candidate)
        return -ENOMEM;
    return t->disk ? open_disk(s, err) : 0;
}

/* ---- one draw ---- */

/* The weights of a list. Sums stand where edges have numbers that OG__WEIGHTS_A_SUM divides: the
 * first `first` places after the list's begin. */
struct list {
    const float *weights; /* [n] */
    const double *sums;   /* [n_sums] of what comes before */
    int64_t n, first, n_sums;
    double total;
};

static struct list list_of(const float *weights, const double *sums, int64_t begin, int64_t n)
{
    struct list l = {.weights = weights, .sums = sums, .n = n};
    l.first = -begin & (OG__WEIGHTS_A_SUM - 1);
    l.n_sums = n > l.first ? (n - l.first - 1) / OG__WEIGHTS_A_SUM + 1 : 0;
    return l;
}

static void add_up(struct list *l)
{
    int64_t i = 0;
    if (l->n_sums > 0) {
        l->total = l->sums[l->n_sums - 1];
        i = l->first + (l->n_sums - 1) * OG__WEIGHTS_A_SUM;
    }
    for (; i < l->n; i++)
        l->total += (double)l->weights[i];
}

/* As og__weights_load leaves them beside weights in memory. */
static void make_sums(struct list *l, double *sums)
{
    double sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (i >= l->first && (i - l->first) % OG__WEIGHTS_A_SUM == 0)
            sums[(i - l->first) / OG__WEIGHTS_A_SUM] = sum;
        sum += (double)l->weights[i];
    }
    l->sums = sums;
}

/* The last sum <= x, or -1: where the search for x begins. Without branches, which would be guessed
 * wrong half the time. */
static int64_t sum_before(const struct list *l, double x)
{
    int64_t low = -1;
    for (int64_t n = l->n_sums; n > 0;) {
        int64_t half = (n + 1) / 2;
        low = l->sums[low + half] <= x ? low + half : low;
        n -= half;
    }
    return low;
}

/* Where in the list the weights after that sum begin. */
static int64_t place_of(const struct list *l, int64_t sum)
{
    return sum < 0 ? 0 : l->first + sum * OG__WEIGHTS_A_SUM;
}

/* The edge at x of the list's total, 0 <= x < total. Sums are added up in the same order
 * everywhere, so what lies beside a sum finds its edge before the next. */
static int64_t edge_at(const struct list *l, int64_t low, double x)
{
    double sum = low < 0 ? 0 : l->sums[low];
    int64_t begin = place_of(l, low);
    int64_t end = OG_MIN(l->first + (low + 1) * OG__WEIGHTS_A_SUM, l->n);
    int64_t before = 0;
    for (int64_t i = begin; i < end; i++) {
        sum += (double)l->weights[i];
        before += sum <= x;
    }
    return OG_MIN(begin + before, l->n - 1);
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

/* n picks become k, or as many as have weight. */
static uint32_t draw_rest(struct og_sampler *s, const struct list *l, struct og_rng *rng,
                          uint32_t n, uint32_t k)
{
    struct og_candidate *heap = s->candidate;
    size_t held = 0;
    double jump = 0; /* weight to pass over before the next candidate, once the heap is full */
    memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint32_t i = 0; i < n; i++)
        og__set_add(s, s->pick[i]);
    for (int64_t i = 0; i < l->n; i++) {
        double w = (double)l->weights[i];
        uint32_t at = (uint32_t)i;
        if (w == 0 || in_set(s, at))
            continue;
        if (held < k - n) {
            heap[held++] = (struct og_candidate){-log(og__draw_open(rng)) / w, at};
            if (held < k - n)
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
    if (held < k - n) /* all that have weight */
        og__heap_make(heap, held);
    og__heap_sort(heap, held);
    for (size_t i = 0; i < held; i++)
        s->pick[n++] = heap[i].at;
    return n;
}

/* ---- a hop ---- */

/* `n` draws with replacement, in order: found together, so that their memory comes meanwhile. */
static void draw_some(const struct list *l, struct og_rng *rng, uint32_t n, uint32_t *out)
{
    double x[TOGETHER];
    int64_t low[TOGETHER];
    for (uint32_t i = 0; i < n; i++)
        x[i] = og__draw_open(rng) * l->total;
    for (uint32_t i = 0; i < n; i++) {
        low[i] = sum_before(l, x[i]);
        __builtin_prefetch(&l->weights[place_of(l, low[i])]);
    }
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint32_t)edge_at(l, low[i], x[i]);
}

static uint32_t draw(struct og_sampler *s, const struct list *l, struct og_rng *rng, uint32_t k)
{
    bool few = k <= OG__LINEAR_FLOYD;
    uint32_t found[TOGETHER];
    uint32_t n = 0;
    if (l->total == 0)
        return 0;
    if (!few)
        memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint64_t tries = 0; n < k && tries < 3 * (uint64_t)k;) {
        uint32_t some = OG_MIN(k - n, (uint32_t)TOGETHER);
        draw_some(l, rng, some, found);
        for (uint32_t i = 0; i < some; i++) {
            bool fresh = few ? !og__picked_before(s->pick, n, found[i]) : og__set_add(s, found[i]);
            s->pick[n] = found[i];
            n += fresh;
        }
        tries += some;
    }
    return n < k ? draw_rest(s, l, rng, n, k) : n;
}

/* The edge at a place in the list of v is one of the hop's. */
static inline int take(struct og_hop *h, uint32_t v, int64_t begin, uint32_t place,
                       struct og_err *err)
{
    if (!h->s->disk)
        return og__push_edge(h, begin + place, err);
    og__fetch_want(h->s, h->n_wanted++, v, &place, 1);
    return 0;
}

/* Destination v from its list; sums beside a list in memory are there. */
static int sample_node(struct og_hop *h, uint32_t v, int64_t begin, struct list *l,
                       struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = 0;
    if (h->fanout < 0 || l->n <= h->fanout) {
        for (int64_t i = 0; rc == 0 && i < l->n; i++)
            if (l->weights[i] > 0)
                rc = take(h, v, begin, (uint32_t)i, err);
        return rc;
    }
    struct og_rng rng;
    if (s->disk)
        make_sums(l, s->sums);
    add_up(l);
    og__hop_rng(h, v, &rng);
    uint32_t n = draw(s, l, &rng, (uint32_t)h->fanout);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = take(h, v, begin, s->pick[i], err);
    return rc;
}

/* The end of a list, and where it begins, are looked at first. */
static void prefetch_weights(const struct og_topology *t, uint32_t v)
{
    int64_t begin = og__first_edge(t, v);
    int64_t end = og__first_edge(t, v + (uint64_t)1);
    __builtin_prefetch(&t->weights[begin]);
    if (end > begin) {
        __builtin_prefetch(&t->weights[end - 1]);
        __builtin_prefetch(&t->weights_sum[(end - 1) / OG__WEIGHTS_A_SUM]);
    }
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    uint32_t n_dst = h->block->n_dst;
    for (uint32_t i = 0; i < n_dst; i++) {
        if (i + OG__LOOKAHEAD < n_dst)
            og__prefetch_degree(t, h->ids[i + OG__LOOKAHEAD]);
        if (i + OG__LOOKAHEAD / 2 < n_dst)
            prefetch_weights(t, h->ids[i + OG__LOOKAHEAD / 2]);
        uint32_t v = h->ids[i];
        int64_t begin = og__first_edge(t, v);
        const double *sums = &t->weights_sum[(begin + OG__WEIGHTS_A_SUM - 1) / OG__WEIGHTS_A_SUM];
        struct list l = list_of(t->weights + begin, sums, begin, og__degree(t, v));
        og__begin_list(h, i);
        int rc = sample_node(h, v, begin, &l, err);
        if (rc < 0)
            return rc;
    }
    return og__flush_edges(h, err);
}

/* ---- from disk ---- */

/* The weights of destination `i` after `first`; those in memory were looked at when loaded. */
static int weights_from_disk(const struct og_hop *h, uint32_t first, uint32_t i, struct list *l,
                             struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    uint32_t v = h->ids[first + i];
    int64_t begin = og__first_edge(t, v);
    *l = list_of(og__lists_start(h->s->lists, i), NULL, begin, og__degree(t, v));
    return og__check_weights(t->disk->ds, l->weights, begin, (size_t)l->n, err);
}

/* Weights of whole lists are read, what is drawn of them is only wanted; its sources are read
 * together. */
static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct list l;
    uint32_t n_dst = h->block->n_dst;
    uint32_t n = 0;
    int rc = og__fetch_begin(s, h->block->src, h->n_edges, err);
    for (uint32_t first = 0; rc == 0 && first < n_dst; first += n) {
        rc = og__lists_read(s->lists, s->topology, NULL, h->ids + first, n_dst - first, &n,
                            &s->reads.io, err);
        for (uint32_t i = 0; rc == 0 && i < n; i++) {
            uint32_t v = h->ids[first + i];
            h->block->indptr[first + i] = h->n_wanted;
            rc = weights_from_disk(h, first, i, &l, err);
            if (rc == 0)
                rc = sample_node(h, v, og__first_edge(s->topology, v), &l, err);
        }
    }
    if (rc == 0)
        rc = og__fetch(s, err);
    return rc < 0 ? rc : og__number_fetched(h, h->n_wanted, err);
}

int og__sample_hop_weighted(struct og_hop *h, struct og_err *err)
{
    return h->s->disk ? sample_from_disk(h, err) : sample_in_memory(h, err);
}
