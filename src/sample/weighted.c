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
#include "sample/sampler.h"

#include <math.h>

enum { TOGETHER = 32 }; /* draws */

int og__weighted_open(struct og_sampler *s, struct og_err *err)
{
    if (!s->topology->weights)
        return og__fail(err, -ENOTSUP, NULL, "weights of edges are not in memory");
    s->candidate = og__alloc(s->budget, s->max_pick * sizeof(*s->candidate), "sampler", err);
    return s->candidate ? 0 : -ENOMEM;
}

/* ---- one draw ---- */

struct list {
    const float *weights;
    const double *sums;
    int64_t begin, end;
    int64_t first_sum, last_sum; /* those inside the list; none when last < first */
    double total;
};

static struct list list_of(const struct og_topology *t, int64_t begin, int64_t degree)
{
    struct list l = {.weights = t->weights,
                     .sums = t->weights_sum,
                     .begin = begin,
                     .end = begin + degree,
                     .first_sum = (begin + OG__WEIGHTS_A_SUM - 1) / OG__WEIGHTS_A_SUM,
                     .last_sum = (begin + degree - 1) / OG__WEIGHTS_A_SUM};
    int64_t e = begin;
    if (l.last_sum >= l.first_sum) {
        l.total = l.sums[l.last_sum];
        e = l.last_sum * OG__WEIGHTS_A_SUM;
    }
    for (; e < l.end; e++)
        l.total += (double)l.weights[e];
    return l;
}

/* Where in the list the search for x begins: at the last sum <= x, or with the list. Without
 * branches, which would be guessed wrong half the time. */
static int64_t sum_before(const struct list *l, double x)
{
    int64_t low = l->first_sum - 1;
    for (int64_t n = l->last_sum - low; n > 0;) {
        int64_t half = (n + 1) / 2;
        low = l->sums[low + half] <= x ? low + half : low;
        n -= half;
    }
    return low;
}

/* The edge at x of the list's total, 0 <= x < total. Sums are added up in the same order
 * everywhere, so what lies beside a sum finds its edge before the next. */
static int64_t edge_at(const struct list *l, int64_t low, double x)
{
    bool inside = low >= l->first_sum;
    double sum = inside ? l->sums[low] : 0;
    int64_t e = inside ? low * OG__WEIGHTS_A_SUM : l->begin;
    int64_t end = OG_MIN((low + 1) * OG__WEIGHTS_A_SUM, l->end);
    int64_t before = 0;
    for (int64_t i = e; i < end; i++) {
        sum += (double)l->weights[i];
        before += sum <= x;
    }
    return OG_MIN(e + before, l->end - 1);
}

/* ---- the rest, in one pass ---- */

static bool in_set(const struct og_sampler *s, uint32_t x)
{
    size_t i = (size_t)(x * 0x9E3779B1u) & (s->set_size - 1);
    while (s->set[i] != OG__NO_NODE && s->set[i] != x)
        i = (i + 1) & (s->set_size - 1);
    return s->set[i] == x;
}

/* The candidate at `i` of a heap whose top is the latest sinks to its place. */
static void sink(struct og_candidate *heap, size_t n, size_t i)
{
    struct og_candidate c = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1].time > heap[child].time)
            child++;
        if (heap[child].time <= c.time)
            break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

static void make_heap(struct og_candidate *heap, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sink(heap, n, i);
}

/* A heap becomes a list, earliest first. */
static void sort_heap(struct og_candidate *heap, size_t n)
{
    while (n > 1) {
        struct og_candidate last = heap[--n];
        heap[n] = heap[0];
        heap[0] = last;
        sink(heap, n, 0);
    }
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
    for (int64_t e = l->begin; e < l->end; e++) {
        double w = (double)l->weights[e];
        uint32_t at = (uint32_t)(e - l->begin);
        if (w == 0 || in_set(s, at))
            continue;
        if (held < k - n) {
            heap[held++] = (struct og_candidate){-log(og__draw_open(rng)) / w, at};
            if (held < k - n)
                continue;
            make_heap(heap, held);
        } else if ((jump -= w) < 0) {
            heap[0] = (struct og_candidate){time_before(heap[0].time, w, rng), at};
            sink(heap, held, 0);
        } else {
            continue;
        }
        jump = -log(og__draw_open(rng)) / heap[0].time;
    }
    if (held < k - n) /* all that have weight */
        make_heap(heap, held);
    sort_heap(heap, held);
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
        __builtin_prefetch(&l->weights[OG_MAX(low[i] * OG__WEIGHTS_A_SUM, l->begin)]);
    }
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint32_t)(edge_at(l, low[i], x[i]) - l->begin);
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

static int sample_node(struct og_hop *h, int64_t begin, int64_t degree, uint32_t v,
                       struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = 0;
    if (h->fanout < 0 || degree <= h->fanout) {
        for (int64_t e = begin; rc == 0 && e < begin + degree; e++)
            if (s->topology->weights[e] > 0)
                rc = og__push_edge(h, e, err);
        return rc;
    }
    struct og_rng rng;
    struct list l = list_of(s->topology, begin, degree);
    og__hop_rng(h, v, &rng);
    uint32_t n = draw(s, &l, &rng, (uint32_t)h->fanout);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = og__push_edge(h, begin + s->pick[i], err);
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

int og__sample_hop_weighted(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    uint32_t n_dst = h->block->n_dst;
    for (uint32_t i = 0; i < n_dst; i++) {
        if (i + OG__LOOKAHEAD < n_dst)
            og__prefetch_degree(t, h->ids[i + OG__LOOKAHEAD]);
        if (i + OG__LOOKAHEAD / 2 < n_dst)
            prefetch_weights(t, h->ids[i + OG__LOOKAHEAD / 2]);
        uint32_t v = h->ids[i];
        og__begin_list(h, i);
        int rc = sample_node(h, og__first_edge(t, v), og__degree(t, v), v, err);
        if (rc < 0)
            return rc;
    }
    return og__flush_edges(h, err);
}
