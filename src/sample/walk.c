/* PinSAGE's neighbourhoods (fgnn.txt §5.1): from each destination some random walks over
 * in-neighbours; the nodes they visit most often are its neighbours, and weigh by their visits.
 *
 * A walk takes its first step, and before each further one ends with probability `restart`, or
 * where there is no in-neighbour. A step is two dependent misses, so destinations walk in groups,
 * all walkers of a group a step at a time. From disk groups are as large as memory allows: a step
 * of one is a round of reading. */
#include "sample/lists.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 32, FEW = 24, MOST_TOGETHER = 8192, MOST_STEPS = 16, WORD_BLOCKS = 8 };
#define ENDED OG__NO_NODE

static const char part[] = "sampler";

struct og_walks {
    uint32_t group;  /* destinations that walk together */
    uint32_t *at;    /* [group][walks] where walkers stand, or ENDED */
    int64_t *edge;   /* [group][walks] that they go next, or -1; from disk its place in its list */
    uint32_t *visit; /* [group][walks * length] */
    uint32_t *n_visits;   /* [group] */
    uint64_t *tally;      /* [walks * length] */
    uint32_t (*words)[4]; /* [group][walks] */
    uint8_t *steps;       /* [group][walks] that a walker may make */
    /* of 2^32 walks so many make more than that many steps, where nothing stops them */
    uint64_t goes_on[MOST_STEPS];
};

static size_t walkers(const struct og_sampler *s)
{
    return (size_t)s->walks->group * (size_t)s->how.walks;
}

static size_t visits_a_node(const struct og_sampler *s)
{
    return (size_t)s->how.walks * (size_t)s->how.walk_length;
}

int og__walks_open(struct og_sampler *s, struct og_err *err)
{
    struct og_walks *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->walks = w;
    int visits = (int)visits_a_node(s); /* there are no more nodes to take */
    for (int i = 0; i < s->n_hops; i++)
        s->fanout[i] = s->fanout[i] < 0 ? visits : OG_MIN(s->fanout[i], visits);
    w->group = GROUP;
    if (s->disk)
        w->group = OG_MIN((uint32_t)OG__MOST_VISITS / (uint32_t)visits, (uint32_t)MOST_TOGETHER);
    for (int steps = 0; steps < MOST_STEPS; steps++)
        w->goes_on[steps] = (uint64_t)llround(pow(1 - s->how.restart, steps) * 0x1p32);
    w->at = og__alloc(s->budget, walkers(s) * sizeof(*w->at), part, err);
    w->edge = og__alloc(s->budget, walkers(s) * sizeof(*w->edge), part, err);
    w->visit = og__alloc(s->budget, w->group * visits_a_node(s) * sizeof(*w->visit), part, err);
    w->n_visits = og__alloc(s->budget, w->group * sizeof(*w->n_visits), part, err);
    w->tally = og__alloc(s->budget, visits_a_node(s) * sizeof(*w->tally), part, err);
    w->words = og__alloc(s->budget, walkers(s) * sizeof(*w->words), part, err);
    w->steps = og__alloc(s->budget, walkers(s) * sizeof(*w->steps), part, err);
    return w->at && w->edge && w->visit && w->n_visits && w->tally && w->words && w->steps
               ? 0
               : -ENOMEM;
}

void og__walks_close(struct og_sampler *s)
{
    struct og_walks *w = s->walks;
    if (!w)
        return;
    og__release(s->budget, w->at, walkers(s) * sizeof(*w->at), part);
    og__release(s->budget, w->edge, walkers(s) * sizeof(*w->edge), part);
    og__release(s->budget, w->visit, w->group * visits_a_node(s) * sizeof(*w->visit), part);
    og__release(s->budget, w->n_visits, w->group * sizeof(*w->n_visits), part);
    og__release(s->budget, w->tally, visits_a_node(s) * sizeof(*w->tally), part);
    og__release(s->budget, w->words, walkers(s) * sizeof(*w->words), part);
    og__release(s->budget, w->steps, walkers(s) * sizeof(*w->steps), part);
    free(w);
    s->walks = NULL;
}

/* ---- walking ---- */

/* Random words of a walk: the first says when it ends, the others where each step goes. Four come
 * together, and stay with the walker until it needs the next. */
static uint32_t word_of(const struct og_hop *h, uint32_t from, uint32_t walk, uint32_t which,
                        uint32_t words[4])
{
    if (which % 4 == 0)
        og__philox(h->s->seed, h->stream, h->epoch, h->batch, h->number, from,
                   walk * WORD_BLOCKS + which / 4, words);
    return words[which % 4];
}

static uint8_t steps_of(const struct og_sampler *s, uint32_t word)
{
    int steps = 1;
    while (steps < s->how.walk_length && word < s->walks->goes_on[steps])
        steps++;
    return (uint8_t)steps;
}

/* The place in its list of the edge by which a walker leaves, or -1; within 2^-32 as likely as any
 * other. */
static int64_t choose_step(const struct og_hop *h, uint32_t from, uint32_t walker, uint32_t walk,
                           uint32_t step)
{
    struct og_walks *w = h->s->walks;
    if (w->at[walker] == ENDED)
        return -1;
    uint64_t degree = (uint64_t)og__degree(h->s->topology, w->at[walker]);
    if (degree == 0)
        return -1;
    if (step == 0)
        w->steps[walker] = steps_of(h->s, word_of(h, from, walk, 0, w->words[walker]));
    if (step >= w->steps[walker])
        return -1;
    return (int64_t)(word_of(h, from, walk, step + 1, w->words[walker]) * degree >> 32);
}

/* The walker's edge is asked for: of memory, or of the disk. */
static inline void ask(struct og_sampler *s, uint32_t walker, int64_t place)
{
    const struct og_topology *t = s->topology;
    struct og_walks *w = s->walks;
    uint32_t at = w->at[walker];
    w->edge[walker] = place;
    if (place < 0)
        return;
    if (s->disk) {
        const uint32_t position = (uint32_t)place;
        og__fetch_want(s, walker, at, &position, 1);
    } else {
        w->edge[walker] += og__first_edge(t, at);
        og__prefetch_edge(t, w->edge[walker]);
    }
}

/* From disk it stands there already. */
static inline void arrive(struct og_sampler *s, uint32_t i, uint32_t walker)
{
    const struct og_topology *t = s->topology;
    struct og_walks *w = s->walks;
    if (w->edge[walker] < 0) {
        w->at[walker] = ENDED;
        return;
    }
    if (!s->disk)
        w->at[walker] = og__neighbor(t, w->edge[walker]);
    og__prefetch_degree(t, w->at[walker]);
    w->visit[i * visits_a_node(s) + w->n_visits[i]++] = w->at[walker];
}

static int step_all(struct og_hop *h, uint32_t first, uint32_t n, int step, struct og_err *err)
{
    struct og_sampler *s = h->s;
    uint32_t walks = (uint32_t)s->how.walks;
    int rc = s->disk ? og__fetch_begin(s, s->walks->at, (uint64_t)n * walks, err) : 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        for (uint32_t k = 0; k < walks; k++) {
            uint32_t walker = i * walks + k;
            uint32_t from = h->ids[first + i];
            ask(s, walker, choose_step(h, from, walker, k, (uint32_t)step));
        }
    if (rc == 0 && s->disk)
        rc = og__fetch(s, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        for (uint32_t k = 0; k < walks; k++)
            arrive(s, i, i * walks + k);
    return rc;
}

/* ---- counting ---- */

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* An entry is (2^32 - visits) << 32 | node: the smaller, the more visits, of equals the smaller
 * node. */
static uint64_t entry_of(uint32_t node, uint32_t visits)
{
    return (((uint64_t)1 << 32) - visits) << 32 | node;
}

static uint32_t count_many(uint64_t *tally, const uint32_t *visit, uint32_t n)
{
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < n; i++)
        tally[i] = visit[i];
    qsort(tally, n, sizeof(*tally), ascending);
    for (uint32_t i = 0; i < n;) {
        uint32_t begin = i;
        uint64_t node = tally[i];
        while (i < n && tally[i] == node)
            i++;
        tally[distinct++] = entry_of((uint32_t)node, i - begin);
    }
    return distinct;
}

static uint32_t count_few(uint64_t *tally, const uint32_t *visit, uint32_t n)
{
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = distinct;
        for (uint32_t k = 0; k < distinct; k++)
            at = (uint32_t)tally[k] == visit[i] ? k : at;
        uint64_t before = at < distinct ? tally[at] : entry_of(visit[i], 0);
        tally[at] = before - ((uint64_t)1 << 32);
        distinct += at == distinct;
    }
    return distinct;
}

/* The last of them leaves: the largest entry. */
static void drop_last(uint64_t *tally, uint32_t n)
{
    uint32_t last = 0;
    for (uint32_t k = 1; k < n; k++)
        last = tally[k] > tally[last] ? k : last;
    tally[last] = tally[n - 1];
}

/* The `most` most visited nodes, in no order that means something. */
static uint32_t count_visits(uint64_t *tally, const uint32_t *visit, uint32_t n, uint32_t most)
{
    uint32_t distinct = n > FEW ? count_many(tally, visit, n) : count_few(tally, visit, n);
    if (n > FEW)
        qsort(tally, distinct, sizeof(*tally), ascending);
    for (; n <= FEW && distinct > most; distinct--)
        drop_last(tally, distinct);
    return OG_MIN(distinct, most);
}

static uint32_t visits_of(uint64_t entry)
{
    return (uint32_t)(((uint64_t)1 << 32) - (entry >> 32));
}

/* Destination i has the most visited of `visit`. */
static int take_neighbors(struct og_hop *h, uint32_t i, const uint32_t *visit, uint32_t n,
                          struct og_err *err)
{
    struct og_sampler *s = h->s;
    const uint64_t *tally = s->walks->tally;
    uint32_t kept = count_visits(s->walks->tally, visit, n, (uint32_t)h->fanout);
    uint32_t sum = 0;
    int rc = 0;
    for (uint32_t k = 0; k < kept; k++)
        sum += visits_of(tally[k]);
    og__begin_list(h, i);
    for (uint32_t k = 0; rc == 0 && k < kept; k++) {
        h->weight[h->block->n_edges + s->filled] = (float)visits_of(tally[k]) / (float)sum;
        rc = og__push_node(h, (uint32_t)tally[k], err);
    }
    return rc;
}

static void set_out(struct og_hop *h, uint32_t first, uint32_t n)
{
    struct og_walks *w = h->s->walks;
    size_t walks = (size_t)h->s->how.walks;
    for (uint32_t i = 0; i < n; i++) {
        w->n_visits[i] = 0;
        og__prefetch_degree(h->s->topology, h->ids[first + i]);
        for (size_t k = 0; k < walks; k++)
            w->at[i * walks + k] = h->ids[first + i];
    }
}

int og__sample_hop_by_walks(struct og_hop *h, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_walks *w = s->walks;
    int rc = 0;
    for (uint32_t first = 0; rc == 0 && first < h->block->n_dst; first += w->group) {
        uint32_t n = OG_MIN(h->block->n_dst - first, w->group);
        set_out(h, first, n);
        for (int step = 0; rc == 0 && step < s->how.walk_length; step++)
            rc = step_all(h, first, n, step, err);
        for (uint32_t i = 0; rc == 0 && i < n; i++)
            rc = take_neighbors(h, first + i, w->visit + i * visits_a_node(s), w->n_visits[i], err);
        if (rc == 0 && s->disk) /* what the next group fetches passes through the window too */
            rc = og__number_window(h, err);
    }
    return rc < 0 ? rc : og__number_window(h, err);
}
