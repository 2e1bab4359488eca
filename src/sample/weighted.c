/* Neighbours in proportion to the weights of their edges, one after the other without replacement:
 * of what is left each is next with probability weight / sum of the weights left.
 *
 * A draw with replacement that finds what was drawn before is drawn anew, which leaves just these
 * probabilities. It takes one look into the list's alias table (dataset/alias.h), no logarithm, and
 * no pass over the list. Where few heavy edges would be found again and again the rest comes from
 * one pass: each edge left gets a time to fire, exponential with its weight as rate, and the first
 * to fire are taken in that order (Efraimidis and Spirakis, "Weighted random sampling with a
 * reservoir", 2006, whose jumps over edges that would fire too late are used as well). Which of the
 * two draws next depends on what was drawn so far and on how often that came again, and neither
 * tells what is next: so the mixture is exact.
 *
 * In memory some destinations draw together: what all of them look at is asked for, then looked at.
 */
#include "dataset/alias.h"
#include "sample/heap.h"
#include "sample/lists.h"

#include <math.h>
#include <stdlib.h>

/* Destinations that draw together; draws that are made ahead; those tried for each wanted. */
enum { GROUP = 16, TOGETHER = 16, TRIES = 3 };

static const char part[] = "sampler";

/* A destination that draws. */
struct drawing {
    const float *weights;         /* [n] */
    const struct og_alias *alias; /* [n] */
    int64_t begin, n;             /* its edges */
    uint32_t v;
    bool all;
    struct og_rng rng;
    uint64_t bits[TOGETHER]; /* of its first draws */
};

struct og_weighted {
    struct og_candidate *candidate; /* [max_pick] */
    struct drawing drawing[GROUP];
    /* from disk, of the longest list */
    struct og_alias *alias;
    void *scratch;
    int64_t longest;
};

/* ---- open and close ---- */

static int open_disk(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology_disk *disk = s->topology->disk;
    struct og_weighted *w = s->weighted;
    w->longest = disk->longest;
    w->alias = og__alloc(s->budget, (size_t)w->longest * sizeof(*w->alias), part, err);
    w->scratch = og__alloc(s->budget, og__alias_scratch_bytes(w->longest), part, err);
    if (w->longest > 0 && (!w->alias || !w->scratch))
        return -ENOMEM;
    return og__lists_open(&s->lists, s->topology, &disk->ds->weights, s->budget, err);
}

int og__weighted_open(struct og_sampler *s, struct og_err *err)
{
    const struct og_topology *t = s->topology;
    if (t->disk ? t->disk->ds->weights.fd < 0 : !t->weights)
        return og__fail(err, -ENOTSUP, NULL, "there are no weights of edges");
    struct og_weighted *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->weighted = w;
    w->candidate = og__alloc(s->budget, s->max_pick * sizeof(*w->candidate), part, err);
    if (!w->candidate)
        return -ENOMEM;
    return t->disk ? open_disk(s, err) : 0;
}

void og__weighted_close(struct og_sampler *s)
{
    struct og_weighted *w = s->weighted;
    if (!w)
        return;
    og__release(s->budget, w->candidate, s->max_pick * sizeof(*w->candidate), part);
    og__release(s->budget, w->alias, (size_t)w->longest * sizeof(*w->alias), part);
    og__release(s->budget, w->scratch, og__alias_scratch_bytes(w->longest), part);
    free(w);
    s->weighted = NULL;
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
static uint32_t draw_rest(struct og_sampler *s, const struct drawing *l, struct og_rng *rng,
                          uint32_t n, uint32_t k)
{
    struct og_candidate *heap = s->weighted->candidate;
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

/* ---- draws ---- */

static uint64_t next_bits(struct og_rng *rng)
{
    uint64_t high = og__rng_u32(rng);
    return high << 32 | og__rng_u32(rng);
}

/* The first draws are asked for. */
static void ask(struct drawing *l, uint32_t k)
{
    for (uint32_t i = 0; i < OG_MIN(k, (uint32_t)TOGETHER); i++) {
        l->bits[i] = next_bits(&l->rng);
        __builtin_prefetch(&l->alias[og__alias_place(l->n, l->bits[i])]);
    }
}

/* k picks, or as many as have weight; what was asked for first. */
static uint32_t draw(struct og_sampler *s, struct drawing *l, uint32_t k)
{
    bool few = k <= OG__LINEAR_FLOYD;
    uint32_t n = 0;
    if (!few)
        memset(s->set, 0xff, s->set_size * sizeof(*s->set));
    for (uint64_t tries = 0; n < k && tries < TRIES * (uint64_t)k; tries++) {
        uint64_t bits = tries < OG_MIN(k, (uint32_t)TOGETHER) ? l->bits[tries] : next_bits(&l->rng);
        uint32_t x = og__alias_draw(l->alias, l->n, bits);
        if (OG_UNLIKELY(x == OG__NO_OTHER))
            return 0;
        bool fresh = few ? !og__picked_before(s->pick, n, x) : og__set_add(s, x);
        s->pick[n] = x;
        n += fresh;
    }
    return n < k ? draw_rest(s, l, &l->rng, n, k) : n;
}

/* ---- a hop ---- */

/* The edge at a place in the list of v is one of the hop's. */
static inline int take(struct og_hop *h, uint32_t v, int64_t begin, uint32_t place,
                       struct og_err *err)
{
    if (!h->s->disk)
        return og__push_edge(h, begin + place, err);
    og__fetch_want(h->s, h->n_wanted++, v, &place, 1);
    return 0;
}

static int take_picks(struct og_hop *h, struct drawing *l, struct og_err *err)
{
    struct og_sampler *s = h->s;
    int rc = 0;
    if (l->all) {
        for (int64_t i = 0; rc == 0 && i < l->n; i++)
            if (l->weights[i] > 0)
                rc = take(h, l->v, l->begin, (uint32_t)i, err);
        return rc;
    }
    uint32_t n = draw(s, l, (uint32_t)h->fanout);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = take(h, l->v, l->begin, s->pick[i], err);
    return rc;
}

static void set_up(const struct og_hop *h, struct drawing *l, uint32_t v)
{
    const struct og_topology *t = h->s->topology;
    l->v = v;
    l->begin = og__first_edge(t, v);
    l->n = og__degree(t, v);
    l->all = h->fanout < 0 || l->n <= h->fanout;
    if (!l->all)
        og__hop_rng(h, v, &l->rng);
}

static int sample_in_memory(struct og_hop *h, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    struct drawing *drawing = h->s->weighted->drawing;
    uint32_t n_dst = h->block->n_dst;
    int rc = 0;
    for (uint32_t first = 0; rc == 0 && first < n_dst; first += GROUP) {
        uint32_t n = OG_MIN(n_dst - first, (uint32_t)GROUP);
        for (uint32_t i = 0; i < n; i++) {
            struct drawing *l = &drawing[i];
            if (first + i + OG__LOOKAHEAD < n_dst)
                og__prefetch_degree(t, h->ids[first + i + OG__LOOKAHEAD]);
            set_up(h, l, h->ids[first + i]);
            l->weights = t->weights + l->begin;
            l->alias = t->alias + l->begin;
            if (l->all)
                __builtin_prefetch(l->weights);
            else
                ask(l, (uint32_t)h->fanout);
        }
        for (uint32_t i = 0; rc == 0 && i < n; i++) {
            og__begin_list(h, first + i);
            rc = take_picks(h, &drawing[i], err);
        }
    }
    return rc < 0 ? rc : og__flush_edges(h, err);
}

/* ---- from disk ---- */

/* Destination `i` after `first`. Weights in memory were looked at when they were loaded. */
static int draw_from_disk(struct og_hop *h, uint32_t first, uint32_t i, struct og_err *err)
{
    struct og_weighted *w = h->s->weighted;
    struct drawing *l = &w->drawing[0];
    set_up(h, l, h->ids[first + i]);
    l->weights = og__lists_start(h->s->lists, i);
    l->alias = w->alias;
    int rc = og__check_weights(h->s->topology->disk->ds, l->weights, l->begin, (size_t)l->n, err);
    if (rc < 0)
        return rc;
    if (!l->all) {
        og__alias_make(w->alias, l->weights, l->n, w->scratch);
        ask(l, (uint32_t)h->fanout);
    }
    h->block->indptr[first + i] = h->n_wanted;
    return take_picks(h, l, err);
}

/* Weights of whole lists are read, what is drawn of them is only wanted; its sources are read
 * together. */
static int sample_from_disk(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    uint32_t n_dst = h->block->n_dst;
    uint32_t n = 0;
    int rc = og__fetch_begin(s, h->block->src, h->n_edges, err);
    for (uint32_t first = 0; rc == 0 && first < n_dst; first += n) {
        rc = og__lists_read(s->lists, s->topology, NULL, h->ids + first, n_dst - first, &n,
                            &s->reads.io, err);
        for (uint32_t i = 0; rc == 0 && i < n; i++)
            rc = draw_from_disk(h, first, i, err);
    }
    if (rc == 0)
        rc = og__fetch(s, err);
    return rc < 0 ? rc : og__number_fetched(h, h->n_wanted, err);
}

int og__sample_hop_weighted(struct og_hop *h, struct og_err *err)
{
    return h->s->disk ? sample_from_disk(h, err) : sample_in_memory(h, err);
}
