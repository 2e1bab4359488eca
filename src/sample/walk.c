/* PinSAGE's neighbourhoods (Yang et al. 2022, §5.1): random walks over in-neighbours from each
 * destination. The nodes visited most become its neighbours, weighted by their visits.
 *
 * A walk takes its first step. Before each further one it ends with probability `restart`, or if
 * there is no in-neighbour. A step accesses memory twice in sequence: the list it leaves and the
 * edge it takes. So destinations walk in parties, which follow one another through the stages of a
 * walk. Each stage prefetches for the next one, and other parties run until then.
 *
 *   set out ──> choose an edge ──> arrive ──> choose ──> arrive ──> ... ──> count, take the most
 *          prefetch         prefetch      prefetch    prefetch              visited
 *
 * In a relation between two types, every second step returns by another relation (related.h). It
 * leads to the type where walks started, and is no visit. Without such a relation a walk is one
 * step.
 *
 * Only active walkers are processed. Ends of walks are computed without branches, since half of
 * them would be mispredicted. On disk there is one party, as large as memory allows: each of its
 * steps is a round of reading. */
#include "sample/walk.h"
#include "sample/from_disk.h"
#include "sample/kinds.h"

#include <math.h>
#include <stdlib.h>

/* Sizes of parties: walkers of one in memory, destinations of the one on disk at most. A register
 * counts FEW visits of a destination. */
enum { TOGETHER = 32, MOST_AT_ONCE = 8192, FEW = 16, WORD_BLOCKS = 8 };
enum { MOST_PARTIES = 2 * OG__MOST_STEPS + 1 };

static const char part[] = "sampler";

struct walker {
    int64_t edge;     /* that it takes */
    uint32_t at;      /* its present node */
    uint16_t from;    /* destination of the party */
    uint8_t walk;     /* of that destination */
    uint8_t steps;    /* that it may make */
    uint32_t word[4]; /* random */
};

struct party {
    uint32_t first, n; /* destinations of the hop */
    uint32_t n_live;
    struct walker *live; /* [n_live] active walkers */
    uint32_t *visit;     /* [n][stride] */
    uint32_t *n_visits;  /* [n] */
};

struct og_walks {
    struct party party[MOST_PARTIES];
    uint32_t n_parties, group; /* destinations of a party */
    struct walker *walkers;    /* [n_parties][group][walks] */
    uint32_t *visit;           /* [n_parties][group][stride] */
    uint32_t *n_visits;        /* [n_parties][group] */
    size_t stride;
    uint64_t *tally;  /* [stride] */
    uint32_t *source; /* [n_sources] what was read */
    size_t n_sources; /* from disk [group][walks] */
    struct og_allocs arrays;
    /* [k] of 2^32 walks, those with more than k steps if nothing stops them */
    uint64_t goes_on[OG__MOST_STEPS];
};

static struct og_walks *state_of(const struct og_sampler *s)
{
    return s->state;
}

static size_t destinations(const struct og_sampler *s)
{
    return (size_t)state_of(s)->n_parties * state_of(s)->group;
}

static size_t walkers(const struct og_sampler *s)
{
    return destinations(s) * (size_t)s->how.walks;
}

/* ---- where a step is taken ---- */

static bool is_way_back(const struct og_sampler *s, uint32_t step)
{
    return s->between && step % 2 == 1;
}

/* No step returns without a relation for it. */
const struct og_topology *og__walk_topology(const struct og_sampler *s, uint32_t step)
{
    return is_way_back(s, step) && s->back.topology ? s->back.topology : s->topology;
}

void og__walk_turn(struct og_sampler *s, uint32_t step)
{
    const struct og_way_back here = {s->topology, s->disk};
    if (!is_way_back(s, step) || !s->back.topology)
        return;
    s->topology = s->back.topology;
    s->disk = s->back.disk;
    s->back = here;
}

/* The last step leads to a source. */
static int bound_steps(const struct og_sampler *s, int steps)
{
    if (!s->between)
        return steps;
    return s->back.topology ? (steps - 1) | 1 : 1;
}

/* ---- open and close ---- */

static int reserve(struct og_sampler *s, struct og_err *err)
{
    struct og_walks *w = s->state;
    size_t n = destinations(s);
    w->n_sources = s->topology->disk ? walkers(s) : 0;
    w->arrays = og__allocs(s->budget, part);
    w->walkers = og__allocs_take(&w->arrays, walkers(s) * sizeof(*w->walkers), err);
    w->visit = og__allocs_take(&w->arrays, n * w->stride * sizeof(*w->visit), err);
    w->n_visits = og__allocs_take(&w->arrays, n * sizeof(*w->n_visits), err);
    w->tally = og__allocs_take(&w->arrays, w->stride * sizeof(*w->tally), err);
    w->source = og__allocs_take(&w->arrays, w->n_sources * sizeof(*w->source), err);
    if (og__allocs_taken(&w->arrays) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->n_parties; i++) {
        struct party *p = &w->party[i];
        p->live = w->walkers + (size_t)i * w->group * (size_t)s->how.walks;
        p->visit = w->visit + (size_t)i * w->group * w->stride;
        p->n_visits = w->n_visits + (size_t)i * w->group;
    }
    return 0;
}

static uint32_t most_visits(const struct og_sampling *how)
{
    return (uint32_t)(how->walks * how->walk_length);
}

int og__walk_fanout(const struct og_sampling *how, int fanout)
{
    const int visits = (int)most_visits(how); /* there are no more nodes to take */
    return fanout < 0 ? visits : OG_MIN(fanout, visits);
}

/* Destinations of the one party from disk. */
static uint32_t most_at_once(const struct og_sampling *how)
{
    return OG_MIN((uint32_t)OG__MOST_VISITS / most_visits(how), (uint32_t)MOST_AT_ONCE);
}

/* Sets the number of walkers of a party. */
static void size_parties(struct og_sampler *s, uint32_t visits)
{
    struct og_walks *w = s->state;
    if (s->topology->disk) {
        w->n_parties = 1;
        w->group = most_at_once(&s->how);
    } else {
        w->n_parties = 2 * (uint32_t)s->how.walk_length + 1;
        w->group = OG_MAX(TOGETHER / (uint32_t)s->how.walks, 1u);
    }
    w->stride = OG_MAX(visits, (uint32_t)FEW);
}

static int open_kind(struct og_sampler *s, struct og_err *err)
{
    struct og_walks *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->state = w;
    for (int i = 0; i < s->n_hops; i++)
        s->fanout[i] = og__walk_fanout(&s->how, s->fanout[i]);
    for (int steps = 0; steps < OG__MOST_STEPS; steps++)
        w->goes_on[steps] = (uint64_t)llround(pow(1 - s->how.restart, steps) * 0x1p32);
    size_parties(s, most_visits(&s->how));
    return reserve(s, err);
}

static void close_kind(struct og_sampler *s)
{
    struct og_walks *w = s->state;
    if (!w)
        return;
    og__allocs_release(&w->arrays);
    free(w);
    s->state = NULL;
}

/* ---- random words ----
 *
 * The first word of a walk decides its end, the others each step. Four are generated at once and
 * stored with the walker until it needs the next. */

static inline void words_of(const struct og_hop *h, uint32_t node, uint32_t walk, uint32_t block,
                            uint32_t word[4])
{
    og__philox(h->seed, h->stream, h->epoch, h->batch, h->number, node, walk * WORD_BLOCKS + block,
               word);
}

static inline void draw_words(const struct og_hop *h, const struct party *p, struct walker *x,
                              uint32_t block)
{
    words_of(h, h->nodes[p->first + x->from], x->walk, block, x->word);
}

static inline uint8_t steps_of(const struct og_sampler *s, uint32_t word)
{
    const struct og_walks *w = state_of(s);
    int steps = 1;
    for (int k = 1; k < s->how.walk_length; k++)
        steps += word < w->goes_on[k];
    return (uint8_t)bound_steps(s, steps);
}

/* Maps a walker's random word to a position in a list of n. Probabilities differ by at most
 * 2^-32. */
static inline int64_t place_in(uint64_t n, uint32_t word)
{
    return (int64_t)(word * n >> 32);
}

uint32_t og__walk_steps(const struct og_hop *h, uint32_t node, uint32_t walk)
{
    uint32_t word[4];
    words_of(h, node, walk, 0, word);
    return steps_of(h->s, word[0]);
}

int64_t og__walk_place(const struct og_hop *h, uint32_t node, uint32_t walk, uint32_t step,
                       int64_t n)
{
    uint32_t word[4];
    words_of(h, node, walk, (step + 1) / 4, word);
    return place_in((uint64_t)n, word[(step + 1) % 4]);
}

/* ---- the stages of a walk ---- */

static void set_out(const struct og_hop *h, struct party *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        og__prefetch_degree(h->s->topology, h->nodes[p->first + i]);
    memset(p->n_visits, 0, p->n * sizeof(*p->n_visits));
    memset(p->visit, 0xff, p->n * state_of(h->s)->stride * sizeof(*p->visit)); /* none */
}

/* Every destination that has in-neighbours sends its walkers. */
static void choose_first(const struct og_hop *h, struct party *p)
{
    const struct og_sampler *s = h->s;
    const bool in_memory = !s->topology->disk;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t v = h->nodes[p->first + i];
        int64_t begin = og__first_edge(s->topology, v);
        uint64_t degree = (uint64_t)og__degree(s->topology, v);
        for (int k = 0; degree > 0 && k < s->how.walks; k++) {
            struct walker *x = &p->live[n++];
            x->at = v;
            x->from = (uint16_t)i;
            x->walk = (uint8_t)k;
            draw_words(h, p, x, 0);
            x->steps = steps_of(s, x->word[0]);
            x->edge = begin + place_in(degree, x->word[1]);
            if (in_memory)
                og__prefetch_edge(s->topology, x->edge);
        }
    }
    p->n_live = n;
}

static void draw_more_words(const struct og_hop *h, struct party *p, uint32_t block)
{
    for (uint32_t j = 0; j < p->n_live; j++)
        draw_words(h, p, &p->live[j], block);
}

/* A walker at a node without in-neighbours is done. */
static void choose_next(const struct og_hop *h, struct party *p, uint32_t step)
{
    const struct og_topology *t = og__walk_topology(h->s, step);
    const bool in_memory = !t->disk;
    uint32_t word = (step + 1) % 4;
    uint32_t n = 0;
    if (word == 0)
        draw_more_words(h, p, (step + 1) / 4);
    for (uint32_t j = 0; j < p->n_live; j++) {
        struct walker x = p->live[j];
        uint64_t degree = (uint64_t)og__degree(t, x.at);
        x.edge = og__first_edge(t, x.at) + place_in(degree, p->live[j].word[word]);
        if (in_memory)
            og__prefetch_edge(t, x.edge);
        p->live[n] = x;
        n += degree > 0;
    }
    p->n_live = n;
}

static int64_t place_of(const struct og_sampler *s, const struct walker *x)
{
    return x->edge - og__first_edge(s->topology, x->at);
}

/* In group sampling: the drawn sources. */
static int fetch_drawn(const struct og_hop *h, const struct party *p, uint32_t step,
                       struct og_err *err)
{
    struct og_sampler *s = h->s;
    const struct og_neighbors *cache = &s->topology->disk->cache;
    for (uint32_t j = 0; j < p->n_live; j++) {
        const struct walker *x = &p->live[j];
        const bool cached = og__neighbors_has(cache, x->at);
        s->reads.lists_cached += cached;
        s->reads.lists_read += !cached;
        OG_DO(og__runs_next(h, step, x->at, place_of(s, x), &state_of(s)->source[j], err));
    }
    return 0;
}

static int fetch_here(const struct og_hop *h, const struct party *p, struct og_err *err)
{
    struct og_sampler *s = h->s;
    OG_DO(og__fetch_begin(s, state_of(s)->source, NULL, p->n_live, NULL, err));
    for (uint32_t j = 0; j < p->n_live; j++) {
        const struct walker *x = &p->live[j];
        const uint32_t place = (uint32_t)place_of(s, x);
        og__fetch_want(s, j, x->at, &place, 1);
    }
    return og__fetch(s, err);
}

/* On disk: reads the sources of the edges that walkers take. */
static int fetch(const struct og_hop *h, const struct party *p, uint32_t step, struct og_err *err)
{
    if (p->n_live == 0)
        return 0;
    og__walk_turn(h->s, step);
    const int rc = h->s->runs ? fetch_drawn(h, p, step, err) : fetch_here(h, p, err);
    og__walk_turn(h->s, step);
    return rc;
}

static inline bool goes_on(const struct walker *x, uint32_t step)
{
    return x->steps > step + 1;
}

/* Checks that walkers arrive at nodes, and that the lists they continue from are within the
 * edges. */
static int check_steps(const struct og_sampler *s, const struct party *p, uint32_t step,
                       struct og_err *err)
{
    const struct og_topology *t = og__walk_topology(s, step);
    for (uint32_t j = 0; j < p->n_live; j++) {
        const struct walker *x = &p->live[j];
        OG_DO(og__mapped_edges(t, x->edge, 1, err));
        const uint32_t to = og__neighbor(t, x->edge);
        if (goes_on(x, step))
            OG_DO(og__mapped_lists(og__walk_topology(s, step + 1), &to, 1, err));
    }
    return 0;
}

static void arrive(const struct og_sampler *s, struct party *p, uint32_t step)
{
    const struct og_topology *t = og__walk_topology(s, step),
                             *next = og__walk_topology(s, step + 1);
    const uint32_t *source = state_of(s)->source;
    const bool in_memory = !t->disk, visits = !is_way_back(s, step);
    const size_t stride = state_of(s)->stride;
    uint32_t n = 0;
    for (uint32_t j = 0; j < p->n_live; j++) {
        struct walker x = p->live[j];
        x.at = in_memory ? og__neighbor(t, x.edge) : source[j];
        if (visits)
            p->visit[x.from * stride + p->n_visits[x.from]++] = x.at;
        p->live[n] = x;
        n += goes_on(&x, step);
    }
    for (uint32_t j = 0; j < n; j++)
        og__prefetch_degree(next, p->live[j].at);
    p->n_live = n;
}

/* ---- counting ---- */

/* Visited nodes, the most visited first, of equals the smaller. */
static uint64_t entry_of(uint32_t node, uint32_t visits)
{
    return (((uint64_t)1 << 32) - visits) << 32 | node;
}

static uint32_t visits_of(uint64_t entry)
{
    return (uint32_t)(((uint64_t)1 << 32) - (entry >> 32));
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
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
    qsort(tally, distinct, sizeof(*tally), ascending);
    return distinct;
}

typedef uint32_t lanes __attribute__((vector_size(FEW * 4), aligned(4), may_alias));

/* Compares each visit with all at once. The first visit of a node has all its visits, and its rank
 * is the number of such visits before it. */
OG_CLONES static uint32_t count_few(uint64_t *tally, const uint32_t *visit, uint32_t n)
{
    const lanes node = *(const lanes *)visit;
    const lanes place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    lanes visits = {0}, earlier = {0}, rank = {0};
    for (uint32_t j = 0; j < n; j++) {
        lanes same = (lanes)(node == visit[j]);
        visits -= same;
        earlier |= same & (lanes)(place > j);
    }
    visits &= ~earlier;
    uint32_t distinct = 0;
    for (uint32_t j = 0; j < n; j++) {
        lanes before =
            (lanes)(visits < visits[j]) | ((lanes)(visits == visits[j]) & (lanes)(node > visit[j]));
        rank -= before;
        distinct += visits[j] > 0;
    }
    for (uint32_t i = 0; i < n; i++)
        tally[rank[i]] = entry_of(visit[i], visits[i]);
    return distinct;
}

/* ---- a hop ---- */

/* Destination `i` of the party has the most visited. */
static int take_neighbors(struct og_hop *h, const struct party *p, uint32_t i, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_walks *w = s->state;
    const uint32_t *visit = p->visit + i * w->stride;
    uint32_t n = p->n_visits[i];
    uint32_t distinct = n > FEW ? count_many(w->tally, visit, n) : count_few(w->tally, visit, n);
    uint32_t kept = OG_MIN(distinct, (uint32_t)h->fanout);
    uint32_t sum = 0;
    for (uint32_t k = 0; k < kept; k++)
        sum += visits_of(w->tally[k]);
    og__begin_list(h, p->first + i);
    for (uint32_t k = 0; k < kept; k++) {
        const float weight = (float)visits_of(w->tally[k]) / (float)sum;
        OG_DO(og__push_weighed(h, (uint32_t)w->tally[k], weight, -1, err)); /* no edge */
    }
    return 0;
}

/* Stage 0: set out; 2 k + 1: choose step k; 2 k + 2: arrive. After the last the party is done. */
static int pass_stage(struct og_hop *h, struct party *p, uint32_t stage, struct og_err *err)
{
    struct og_sampler *s = h->s;
    uint32_t step = (stage - 1) / 2;
    if (stage == 0) {
        set_out(h, p);
    } else if (stage == 1) {
        choose_first(h, p);
    } else if (stage % 2 == 1) {
        choose_next(h, p, step);
    } else {
        if (s->topology->disk)
            OG_DO(fetch(h, p, step, err));
        else if (s->topology->mapped)
            OG_DO(check_steps(s, p, step, err));
        arrive(s, p, step);
    }
    bool done = stage == 2 * (uint32_t)s->how.walk_length;
    for (uint32_t i = 0; done && i < p->n; i++)
        OG_DO(take_neighbors(h, p, i, err));
    return 0;
}

/* On disk, each party goes through all stages alone. */
static int walk_from_disk(struct og_hop *h, struct og_err *err)
{
    struct og_walks *w = h->s->state;
    uint32_t n_dst = h->block->n_dst;
    for (uint32_t first = h->first; first < n_dst; first += w->group) {
        struct party *p = &w->party[0];
        p->first = first;
        p->n = OG_MIN(n_dst - first, w->group);
        for (uint32_t stage = 0; stage <= 2 * (uint32_t)h->s->how.walk_length; stage++)
            OG_DO(pass_stage(h, p, stage, err));
        /* what the next party fetches passes through the window too */
        OG_DO(og__number_window(h, err));
    }
    return 0;
}

/* In memory, a party enters every turn, and all active ones advance by one stage, the foremost
 * first. */
static int walk_in_memory(struct og_hop *h, struct og_err *err)
{
    struct og_walks *w = h->s->state;
    uint32_t n_dst = h->block->n_dst;
    uint32_t n_stages = w->n_parties;
    uint32_t last = (n_dst - h->first + w->group - 1) / w->group;
    for (uint32_t turn = 0; turn < last + n_stages - 1; turn++) {
        struct party *entering = &w->party[turn % n_stages];
        if (turn < last) {
            entering->first = h->first + turn * w->group;
            entering->n = OG_MIN(n_dst - entering->first, w->group);
        }
        for (uint32_t stage = n_stages; stage-- > 0;)
            if (stage <= turn && turn - stage < last)
                OG_DO(pass_stage(h, &w->party[(turn - stage) % n_stages], stage, err));
    }
    return og__number_window(h, err);
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    return h->s->topology->disk ? walk_from_disk(h, err) : walk_in_memory(h, err);
}

static size_t take_bytes(const struct og_sampling *how, int64_t longest)
{
    (void)how;
    (void)longest;
    return OG__MOST_VISITS * (sizeof(int64_t) + 9 * sizeof(uint32_t));
}

static size_t disk_state_bytes(const struct og_sampling *how)
{
    return take_bytes(how, 0);
}

static uint64_t disk_edges(const struct og_sampling *how)
{
    return (uint64_t)most_at_once(how) * (uint64_t)how->walks;
}

static const char *const parameters[] = {"walks",     "walk-length", "walk-restart",
                                         "neighbors", "draw",        NULL};

const struct og_sampler_ops og__sampler_walk = {
    .weighs = true,
    .by_visits = true,
    .one_state = true,
    .parameters = parameters,
    .open = open_kind,
    .close = close_kind,
    .hop = sample_hop,
    .pass = &og__pass_by_walks,
    .take_bytes = take_bytes,
    .disk_state_bytes = disk_state_bytes,
    .disk_edges = disk_edges,
};
