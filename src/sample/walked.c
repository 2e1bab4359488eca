/* Passes for walks, one a step. A walker's next step depends on its position, known from the
 * previous pass. So instead of nodes, a batch has its active walkers in memory:
 *
 *   nodes ──> walkers ──> requested blocks ──> | range | ... ──> run: destinations of steps ──┐
 *                ^                                                                            │
 *                └────────────────── active walkers, a step further <─────────────────────────┘
 *
 * A run has one node for each walker whose position is in its range. */
#include "sample/kinds.h"
#include "sample/walk.h"

enum { WORDS = 3 }; /* of a walker */

struct walker {
    uint32_t node; /* that it set out from */
    uint32_t walk; /* of that node */
    uint32_t at;   /* its present node */
};

static struct walker walker_at(const struct og_walkers *w, size_t i)
{
    const uint32_t *word = w->words.data + i * WORDS;
    return (struct walker){word[0], word[1], word[2]};
}

static void put_walker(struct og_walkers *w, struct walker x)
{
    uint32_t *word = w->words.data + w->n++ * WORDS;
    word[0] = x.node;
    word[1] = x.walk;
    word[2] = x.at;
}

static int64_t place_of(const struct og_hop *h, const struct walker *x, uint32_t step)
{
    return og__walk_place(h, x->node, x->walk, step, og__degree(h->s->topology, x->at));
}

static int64_t edge_of(const struct og_hop *h, const struct walker *x, uint32_t step)
{
    return og__first_edge(h->s->topology, x->at) + place_of(h, x, step);
}

static bool is_cached(const struct og_hop *h, uint32_t v)
{
    return og__neighbors_has(&h->s->topology->disk->cache, v);
}

static uint32_t steps_of(const struct og_sampling *how)
{
    return (uint32_t)how->walk_length;
}

/* ---- active walkers ---- */

/* Every node that has in-neighbours sends its walkers. */
static int set_out(const struct og_hop *h, const struct og_frontier *f, struct og_err *err)
{
    struct og_walkers *w = f->going;
    const uint32_t walks = (uint32_t)h->s->how.walks;
    size_t n = 0;
    for (int k = 0; k < f->n; k++)
        n += f->part[k].n;
    OG_DO(og__words_reserve(&w->words, n * walks * WORDS, h->s->budget, err));
    w->n = 0;
    for (int k = 0; k < f->n; k++)
        for (size_t i = 0; i < f->part[k].n; i++) {
            const uint32_t v = f->part[k].id[i];
            for (uint32_t walk = 0; og__degree(h->s->topology, v) > 0 && walk < walks; walk++)
                put_walker(w, (struct walker){v, walk, v});
        }
    return 0;
}

/* Moves walkers to the results of the previous step. */
static int step_on(const struct og_hop *h, const struct og_frontier *f, struct og_err *err)
{
    struct og_walkers *w = f->going;
    const struct og_topology *next = og__walk_topology(h->s, f->step);
    const size_t n = w->n;
    int rc;
    og__walk_turn(h->s, f->step - 1);
    OG_TRY(og__runs_fetch(h, f->step - 1, 1, err));
    w->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct walker x = walker_at(w, i);
        OG_TRY(og__runs_next(h, f->step - 1, x.at, place_of(h, &x, f->step - 1), &x.at, err));
        if (og__degree(next, x.at) > 0 && og__walk_steps(h, x.node, x.walk) > f->step)
            put_walker(w, x);
    }
out:
    og__walk_turn(h->s, f->step - 1);
    return rc;
}

/* ---- a pass ---- */

static int want_steps(const struct og_hop *h, struct og_pass *p, const struct og_frontier *f,
                      size_t *n_drawn, struct og_err *err)
{
    int rc = f->step == 0 ? set_out(h, f, err) : step_on(h, f, err);
    struct og_requested_blocks *w = &p->requested.array[0];
    *n_drawn = f->going->n;
    og__walk_turn(h->s, f->step);
    for (size_t i = 0; rc == 0 && i < f->going->n; i++) {
        const struct walker x = walker_at(f->going, i);
        if (!is_cached(h, x.at))
            og__runs_want(w, og__place_in(w, edge_of(h, &x, f->step)).block);
    }
    og__walk_turn(h->s, f->step);
    return rc;
}

/* May any of the list be in the range? */
static bool meets(const struct og_hop *h, uint32_t v, const struct og_stretch *s)
{
    const struct og_topology *t = h->s->topology;
    const uint64_t size = og__npy_size(t->disk->of->indices.type);
    const uint64_t begin = (uint64_t)og__first_edge(t, v);
    const uint64_t end = begin + (uint64_t)og__degree(t, v);
    return og__list_place(&t->disk->lists, begin * size).block <= s->high &&
           og__list_place(&t->disk->lists, (end - 1) * size).block >= s->low;
}

static int gather_step(const struct og_hop *h, const struct og_pass *p,
                       const struct og_range *range, const struct og_frontier *f,
                       struct og_taken *out, struct og_err *err)
{
    struct og_gathering g = og__gathering(h, p, range, out);
    const struct og_stretch *stretch = &range->part[0].stretch;
    const struct og_span span = og__runs_span(h->s->topology, stretch);
    const struct og_walkers *w = f->going;
    for (size_t i = 0; i < w->n; i++) {
        const struct walker x = walker_at(w, i);
        const uint32_t later = walker_at(w, OG_MIN(i + OG__PREFETCH_DISTANCE, w->n - 1)).at;
        if (og__runs_spans(&span, later))
            og__runs_prefetch(h->s->topology, later);
        if (og__runs_spans(&span, x.at) && meets(h, x.at, stretch) && !is_cached(h, x.at))
            OG_DO(og__gather_edge(&g, edge_of(h, &x, f->step), err));
    }
    return og__gather_window(&g, err);
}

static int gather_steps(const struct og_hop *h, const struct og_pass *p,
                        const struct og_range *range, const struct og_frontier *f,
                        struct og_taken *out, struct og_err *err)
{
    og__walk_turn(h->s, f->step);
    const int rc = gather_step(h, p, range, f, out, err);
    og__walk_turn(h->s, f->step);
    return rc;
}

/* The sampler repeats the walks, and gets each step from og__runs_next. */
static int join_hop(struct og_hop *h, struct og_err *err)
{
    int rc = og__runs_fetch(h, 0, h->s->runs->steps, err);
    return rc < 0 ? rc : og__sampler_ops(h->s->how.kind)->hop(h, err);
}

const struct og_pass_ops og__pass_by_walks = {.steps = steps_of,
                                              .want = want_steps,
                                              .cut = og__runs_cut,
                                              .gather = gather_steps,
                                              .join = join_hop};
