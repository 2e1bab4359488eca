/* LADIES (Zou et al., "Layer-Dependent Importance Sampling", 2019). A hop samples nodes for all its
 * destinations at once, fanout for each seed of the batch. So every hop adds the same number of
 * nodes, however many it has found.
 *
 * Each draw, without replacement, takes an in-neighbour u of any destination in proportion to
 *
 *     p(u) = sum over the destinations v that it feeds of 1 / in-degree(v)^2
 *
 * the squared columns of the mean. As in weighted.c that is the order of exponential times of rate
 * p(u), here keyed by u. A destination's neighbours are the drawn ones that feed it, with weight 1
 * / p(u), normalized to a sum of 1. So a node that was likely to be drawn stands for fewer others.
 * If all were drawn, their weights are equal. With how.weights, edges' own weights are factors.
 *
 * It scans the destinations' lists twice, with a table of all their in-neighbours in between. On
 * disk, both scans read them. */
#include "sample/heap.h"
#include "sample/kinds.h"
#include "sample/lists.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 8 }; /* table entries prefetched */

static const char part[] = "sampler";

struct seen {
    uint32_t id;
    double p, time;
};

struct og_layer {
    struct og_id_table table;  /* of struct seen; the part of its memory that a hop needs */
    size_t size;               /* entries that there is memory for */
    uint64_t n;                /* in it */
    double limit;              /* those with a time up to here are drawn */
    struct og_candidate *heap; /* [capacity] */
    size_t capacity;
};

static struct og_layer *state_of(const struct og_sampler *s)
{
    return s->state;
}

/* ---- sizes, open and close ---- */

/* While the table grows the half as large one is still there. */
static size_t ladies_bytes(uint64_t seen)
{
    size_t size = og__id_table_size(seen);
    return (size + size / 2) * sizeof(struct seen) + (size_t)seen * sizeof(struct og_candidate);
}

static int open_kind(struct og_sampler *s, struct og_err *err)
{
    struct og_layer *y = calloc(1, sizeof(*y));
    if (!y)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->state = y;
    int rc = og__id_table_open(&y->table, og__id_table_size(0), sizeof(struct seen), s->budget,
                               part, err);
    y->size = y->table.size;
    return rc;
}

static void close_kind(struct og_sampler *s)
{
    struct og_layer *y = s->state;
    if (!y)
        return;
    y->table.size = y->size;
    og__id_table_close(&y->table, sizeof(struct seen), s->budget, part);
    og__release(s->budget, y->heap, y->capacity * sizeof(*y->heap), part);
    free(y);
    s->state = NULL;
}

/* ---- the table ---- */

/* The entry of id, or the free one that it would take. */
static struct seen *find(const struct og_layer *y, uint32_t id)
{
    return og__id_find(&y->table, sizeof(struct seen), NULL, id);
}

/* Inlined, or gcc drops it: it has no other effect. */
static inline __attribute__((always_inline)) void
prefetch_entry(const struct og_layer *y, const struct og_list *list, int64_t i)
{
    if (i < list->n)
        og__id_prefetch(&y->table, sizeof(struct seen), og__list_id(list, i));
}

/* ---- the first pass: in-neighbours of all destinations ---- */

/* Empty, and no larger than `most` ids want it: of hundreds of relations few have many. Then it
 * grows only where all of its memory is in use. */
static void begin_table(struct og_layer *y, uint64_t most)
{
    y->n = 0;
    og__id_table_use(&y->table, OG_MIN(og__id_table_size(most), y->size), sizeof(struct seen));
}

static int grow_table(struct og_sampler *s, struct og_err *err)
{
    struct og_layer *y = s->state;
    int rc = og__id_table_grow(&y->table, sizeof(struct seen), s->budget, part, err);
    y->size = y->table.size;
    return rc;
}

/* The length of all lists together. */
static uint64_t count_listed(const struct og_hop *h)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->block->n_dst; i++)
        n += (uint64_t)og__degree(h->s->topology, h->nodes[i]);
    return n;
}

static int add_list(struct og_sampler *s, const struct og_list *list, struct og_err *err)
{
    struct og_layer *y = s->state;
    double share = 1 / ((double)list->n * (double)list->n);
    for (int64_t i = 0; i < list->n; i++) {
        prefetch_entry(y, list, i + AHEAD);
        uint32_t u = og__list_id(list, i);
        struct seen *e = find(y, u);
        if (e->id == u) {
            e->p += share;
            continue;
        }
        *e = (struct seen){.p = share, .id = u};
        if (++y->n > og__id_table_room(&y->table))
            OG_DO(grow_table(s, err));
    }
    return 0;
}

static int see_all(struct og_hop *h, struct og_err *err)
{
    const uint64_t sources = (uint64_t)og__sources(h->s->topology);
    uint32_t n = 0;
    h->block->n_listed = count_listed(h);
    begin_table(h->s->state, OG_MIN(h->block->n_listed, sources));
    for (uint32_t first = 0; first < h->block->n_dst; first += n) {
        OG_DO(og__hop_lists(h, first, false, &n, err));
        for (uint32_t i = 0; i < n; i++) {
            struct og_list list = og__hop_list(h, first, i);
            OG_DO(add_list(h->s, &list, err));
        }
    }
    return 0;
}

/* ---- between: the draws ---- */

static double time_of(const struct og_hop *h, const struct seen *e)
{
    struct og_rng rng;
    og__hop_rng(h, e->id, &rng);
    return -log(og__draw_open(&rng)) / e->p;
}

static int reserve_heap(struct og_sampler *s, size_t n, struct og_err *err)
{
    struct og_layer *y = s->state;
    if (n <= y->capacity)
        return 0;
    og__release(s->budget, y->heap, y->capacity * sizeof(*y->heap), part);
    y->heap = og__alloc(s->budget, n * sizeof(*y->heap), part, err);
    y->capacity = y->heap ? n : 0;
    return y->heap ? 0 : -ENOMEM;
}

/* The n earliest. */
static int draw(struct og_hop *h, uint64_t n, struct og_err *err)
{
    struct og_layer *y = h->s->state;
    size_t held = 0;
    y->limit = INFINITY;
    if (n >= y->n)
        return 0;
    OG_DO(reserve_heap(h->s, (size_t)n, err));
    for (size_t i = 0; i < y->table.size; i++) {
        struct seen *e = og__id_entry(&y->table, sizeof(*e), i);
        if (e->id == OG__NO_NODE)
            continue;
        e->time = time_of(h, e);
        const struct og_candidate c = {e->time, e->id};
        if (held < n) {
            y->heap[held++] = c;
            if (held == n)
                og__heap_make(y->heap, held);
        } else if (c.time < y->heap[0].time) {
            y->heap[0] = c;
            og__heap_sink(y->heap, held, 0);
        }
    }
    y->limit = n > 0 ? y->heap[0].time : -1;
    return 0;
}

/* ---- the second pass: edges ---- */

/* The weight of u; 0 = not drawn. */
static double weight_of(const struct og_layer *y, uint32_t u)
{
    if (isinf(y->limit))
        return 1;
    const struct seen *e = find(y, u);
    return e->time <= y->limit ? 1 / e->p : 0;
}

static int connect(struct og_hop *h, uint32_t i, const struct og_list *list, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const int64_t begin = og__first_edge(s->topology, h->nodes[i]);
    double sum = 0;
    for (int64_t k = 0; k < list->n; k++) {
        prefetch_entry(state_of(s), list, k + AHEAD);
        sum += weight_of(state_of(s), og__list_id(list, k));
    }
    og__begin_list(h, i);
    for (int64_t k = 0; k < list->n; k++) {
        uint32_t u = og__list_id(list, k);
        double weight = weight_of(state_of(s), u);
        if (weight > 0)
            OG_DO(og__push_weighed(h, u,
                                   (float)(weight / sum) * (list->weights ? list->weights[k] : 1),
                                   begin + k, err));
    }
    return 0;
}

static int sample_hop(struct og_hop *h, struct og_err *err)
{
    uint64_t n = UINT64_MAX;
    uint32_t taken = 0;
    if (h->fanout >= 0)
        n = (uint64_t)h->fanout * h->out->batch.n_seeds;
    OG_DO(see_all(h, err));
    OG_DO(draw(h, n, err));
    h->block->n_seen = (uint32_t)state_of(h->s)->n;
    for (uint32_t first = 0; first < h->block->n_dst; first += taken) {
        OG_DO(og__hop_lists(h, first, h->s->how.weights, &taken, err));
        for (uint32_t i = 0; i < taken; i++) {
            struct og_list list = og__hop_list(h, first, i);
            OG_DO(connect(h, first + i, &list, err));
        }
    }
    return og__number_window(h, err);
}

const struct og_sampler_ops og__sampler_ladies = {
    .weighs = true,
    .one_state = true,
    .edges_unknown = true, /* depends on the nodes drawn */
    .open = open_kind,
    .close = close_kind,
    .hop = sample_hop,
    .pass = &og__pass_of_lists,
    .take = og__take_list, /* sums over a hop follow the order of its nodes */
    .bytes = ladies_bytes,
    .disk_bytes = og__source_lists_bytes,
};
