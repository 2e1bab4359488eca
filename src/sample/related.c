#include "sample/related.h"

#include "base/bits.h"
#include "dataset/on_disk.h"
#include "sample/kinds.h"
#include "sample/walk.h"

#include <stdlib.h>

static const char part[] = "sampler";

/* Moves the key of each relation's draws; odd, as OG__KEY_STEP is. */
#define RELATION_STEP 0xD1B54A32D192ED03u

/* Destinations of the hop that are of one type, which relations lead to. */
struct group {
    uint32_t first, n_nodes; /* its ids */
    uint32_t start, end;     /* of the two arrays below */
};

/* A relation, and what the sampler has of it while another has its turn. */
struct turn {
    const struct og_related_lists *of;
    uint32_t group;
    struct og_disk_sampler *disk;
    struct og_lists *lists, *weight_lists;
    void *state; /* where relations have states of their own */
};

struct og_related {
    const struct og_topology *whole;
    int *fanout;         /* [n_relations][n_hops] */
    struct turn *turn;   /* [n_relations] */
    struct group *group; /* [n_groups] ids ascend */
    uint32_t n_groups;
    uint32_t *position, *number; /* [capacity] in the batch, and within the type */
    uint32_t *listed;            /* [capacity] numbers of those the relation has lists of */
    size_t capacity;
};

/* ---- turns ---- */

static bool has_one_state(const struct og_sampler *s)
{
    return og__sampler_ops(s->how.kind)->one_state;
}

static struct turn *turn_back(const struct og_sampler *s, const struct turn *t)
{
    const uint32_t back = t->of->back;
    return s->between && back != OG__NO_RELATION ? &s->related->turn[back] : NULL;
}

static void begin_turn(struct og_sampler *s, const struct turn *t)
{
    s->between = t->of->back != (uint32_t)(t - s->related->turn);
    const struct turn *back = turn_back(s, t);
    if (back)
        s->back = (struct og_way_back){&back->of->lists, back->disk};
    s->topology = &t->of->lists;
    s->disk = t->disk;
    s->lists = t->lists;
    s->weight_lists = t->weight_lists;
    if (!has_one_state(s))
        s->state = t->state;
}

static void end_turn(struct og_sampler *s, struct turn *t)
{
    struct turn *back = turn_back(s, t);
    if (back)
        back->disk = s->back.disk;
    s->between = false;
    s->back = (struct og_way_back){0};
    t->disk = s->disk;
    t->lists = s->lists;
    t->weight_lists = s->weight_lists;
    s->topology = s->related->whole;
    s->disk = NULL;
    s->lists = s->weight_lists = NULL;
    if (has_one_state(s))
        return;
    t->state = s->state;
    s->state = NULL;
}

void og__relation_begin(struct og_sampler *s, uint32_t r)
{
    if (s->related)
        begin_turn(s, &s->related->turn[r]);
}

void og__relation_end(struct og_sampler *s, uint32_t r)
{
    if (s->related)
        end_turn(s, &s->related->turn[r]);
}

/* ---- open and close ---- */

/* The last that begins at `node` or before it, or none: n_groups. */
static uint32_t group_before(const struct og_related *d, uint32_t node)
{
    uint32_t low = 0;
    for (uint32_t high = d->n_groups; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->group[middle].first <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : d->n_groups;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void make_groups(struct og_related *d)
{
    const struct og_topology *t = d->whole;
    uint32_t n = 0;
    for (uint32_t r = 0; r < t->n_relations; r++)
        d->group[r] = (struct group){.first = t->relation[r].first,
                                     .n_nodes = (uint32_t)t->relation[r].lists.n_nodes};
    qsort(d->group, t->n_relations, sizeof(*d->group), compare_groups);
    for (uint32_t r = 0; r < t->n_relations; r++)
        if (n == 0 || d->group[n - 1].first != d->group[r].first)
            d->group[n++] = d->group[r];
    d->n_groups = n;
    for (uint32_t r = 0; r < t->n_relations; r++)
        d->turn[r] =
            (struct turn){.of = &t->relation[r], .group = group_before(d, t->relation[r].first)};
}

int og__related_open(struct og_sampler *s, const int *fanout, struct og_err *err)
{
    const size_t n = s->topology->n_relations;
    const size_t n_fanouts = n * (size_t)s->n_hops;
    struct og_related *d = calloc(1, sizeof(*d));
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    s->related = d;
    d->whole = s->topology;
    d->fanout = malloc(n_fanouts * sizeof(*d->fanout));
    d->turn = calloc(n, sizeof(*d->turn));
    d->group = calloc(n, sizeof(*d->group));
    if (!d->fanout || !d->turn || !d->group)
        return og__fail_errno(err, -ENOMEM, NULL, part);
    memcpy(d->fanout, fanout, n_fanouts * sizeof(*d->fanout));
    make_groups(d);
    return 0;
}

static void bound_fanouts(struct og_sampler *s)
{
    struct og_related *d = s->related;
    const size_t n = d->whole->n_relations * (size_t)s->n_hops;
    for (size_t i = 0; i < n; i++)
        d->fanout[i] = og__walk_fanout(&s->how, d->fanout[i]);
}

int og__related_choose(struct og_sampler *s, struct og_err *err)
{
    struct og_related *d = s->related;
    int rc = 0;
    if (og__sampler_ops(s->how.kind)->by_visits)
        bound_fanouts(s);
    for (uint32_t r = 0; rc == 0 && r < d->whole->n_relations; r++) {
        if (d->turn[r].of->lists.n_edges == 0)
            continue;
        begin_turn(s, &d->turn[r]);
        rc = og__sampler_begin(s, err);
        end_turn(s, &d->turn[r]);
    }
    return rc;
}

static void release_groups(struct og_sampler *s)
{
    struct og_related *d = s->related;
    og__release(s->budget, d->position, d->capacity * sizeof(*d->position), part);
    og__release(s->budget, d->number, d->capacity * sizeof(*d->number), part);
    og__release(s->budget, d->listed, d->capacity * sizeof(*d->listed), part);
    d->position = d->number = d->listed = NULL;
    d->capacity = 0;
}

void og__related_close(struct og_sampler *s, void (*close)(struct og_sampler *s))
{
    struct og_related *d = s->related;
    if (!d)
        return;
    for (uint32_t r = 0; d->turn && r < d->whole->n_relations; r++) {
        if (!d->turn[r].of) /* opening failed before it had turns */
            break;
        begin_turn(s, &d->turn[r]);
        close(s);
        end_turn(s, &d->turn[r]);
    }
    release_groups(s);
    free(d->fanout);
    free(d->turn);
    free(d->group);
    free(d);
    s->related = NULL;
    og__memory_trim(); /* buffers of hundreds of readers, in this thread's arena */
}

/* ---- destinations by type ---- */

size_t og__related_bytes(uint64_t n_dst)
{
    return (size_t)n_dst * 3 * sizeof(uint32_t);
}

static int reserve_groups(struct og_sampler *s, size_t n, struct og_err *err)
{
    struct og_related *d = s->related;
    if (n <= d->capacity)
        return 0;
    release_groups(s);
    d->position = og__alloc(s->budget, n * sizeof(*d->position), part, err);
    d->number = d->position ? og__alloc(s->budget, n * sizeof(*d->number), part, err) : NULL;
    d->listed = d->number ? og__alloc(s->budget, n * sizeof(*d->listed), part, err) : NULL;
    d->capacity = n;
    return d->listed ? 0 : -ENOMEM;
}

/* NULL: no relation leads to its type. */
static struct group *group_of(const struct og_related *d, uint32_t node)
{
    const uint32_t g = group_before(d, node);
    const bool in = g < d->n_groups && node - d->group[g].first < d->group[g].n_nodes;
    return in ? &d->group[g] : NULL;
}

/* Sorts ids[first .. n) by type, each after the earlier ones of its type. */
static int put_in_groups(struct og_sampler *s, const uint32_t *ids, uint32_t first, uint32_t n,
                         struct og_err *err)
{
    struct og_related *d = s->related;
    uint32_t start = 0;
    OG_DO(reserve_groups(s, n - first, err));
    for (uint32_t g = 0; g < d->n_groups; g++)
        d->group[g].end = 0;
    for (uint32_t i = first; i < n; i++) {
        struct group *g = group_of(d, ids[i]);
        if (g)
            g->end++;
    }
    for (uint32_t g = 0; g < d->n_groups; g++) {
        const uint32_t nodes = d->group[g].end;
        d->group[g].start = d->group[g].end = start;
        start += nodes;
    }
    for (uint32_t i = first; i < n; i++) {
        struct group *g = group_of(d, ids[i]);
        if (!g)
            continue;
        d->position[g->end] = i;
        d->number[g->end++] = ids[i] - g->first;
    }
    return 0;
}

uint32_t og__n_destination_groups(const struct og_sampler *s)
{
    return s->related ? s->related->n_groups : 1;
}

uint32_t og__destination_group(const struct og_sampler *s, uint32_t r)
{
    return s->related ? s->related->turn[r].group : 0;
}

int og__sort_by_group(struct og_sampler *s, const uint32_t *ids, uint32_t n, uint32_t *start,
                      struct og_grouped *out, struct og_err *err)
{
    const struct og_related *d = s->related;
    OG_DO(d ? put_in_groups(s, ids, 0, n, err) : 0);
    start[0] = 0;
    start[1] = n;
    *out = (struct og_grouped){d ? d->number : ids, d ? d->position : NULL};
    for (uint32_t g = 0; d && g < d->n_groups; g++)
        start[g + 1] = d->group[g].end;
    return 0;
}

/* ---- a hop ---- */

/* Copies lists from earlier hops, for nodes that sample once. */
static int copy_lists(struct og_hop *h, const struct og_block *before, uint32_t r,
                      struct og_err *err)
{
    struct og_block *k = h->block;
    const uint32_t first = before->relation[r];
    const uint32_t n = before->relation[r + 1] - first;
    const uint32_t edge = before->indptr[first];
    const uint64_t n_edges = before->indptr[first + n] - edge;
    const uint32_t moved = (uint32_t)k->n_edges - edge; /* modulo 2^32 */
    struct og_growing *src = &h->out->src[h->array], *weight = &h->out->weight[h->array];
    struct og_growing *edges = &h->out->edge[h->array];
    if (k->n_edges + n_edges > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, og__too_many_hint, "a batch with more than %llu edges",
                        (unsigned long long)UINT32_MAX);
    const size_t now = (size_t)k->n_edges * 4, more = (size_t)n_edges * 4;
    OG_DO(og__batch_grow(h->out, src, now + more, now, err));
    if (before->weight)
        OG_DO(og__batch_grow(h->out, weight, now + more, now, err));
    if (before->edge)
        OG_DO(og__batch_grow(h->out, edges, now + more, now, err));
    k->src = src->data;
    if (more > 0)
        memcpy(k->src + k->n_edges, before->src + edge, more);
    if (more > 0 && before->weight)
        memcpy((float *)weight->data + k->n_edges, before->weight + edge, more);
    if (more > 0 && before->edge)
        memcpy((uint32_t *)edges->data + k->n_edges, before->edge + edge, more);
    for (uint32_t i = 0; i < n; i++) {
        k->indptr[k->n_lists] = before->indptr[first + i] + moved;
        k->dst[k->n_lists++] = before->dst[first + i];
    }
    k->n_edges += n_edges;
    return 0;
}

/* Makes room for n more lists. */
static int reserve_lists(struct og_hop *h, size_t n, struct og_err *err)
{
    struct og_batch_memory *out = h->out;
    struct og_block *k = h->block;
    const size_t now = k->n_lists;
    int rc;
    OG_TRY(og__batch_grow(out, &out->indptr[h->array], (now + n + 1) * 4, now * 4, err));
    OG_TRY(og__batch_grow(out, &out->dst[h->array], (now + n) * 4, now * 4, err));
out:
    k->indptr = out->indptr[h->array].data;
    k->dst = out->dst[h->array].data;
    return rc;
}

/* Finds the nodes of the group that have a list in the relation. With hundreds of relations these
 * are few. Their positions go to the block's array. Mapped lists are unchecked: one that ends
 * before it begins counts, and og__reserve_edges refuses it. */
static uint32_t find_listed(const struct og_related *d, const struct og_related_lists *of,
                            const struct group *g, uint32_t *position)
{
    uint32_t n = 0;
    for (uint32_t i = g->start; i < g->end; i++) {
        const uint32_t v = d->number[i];
        position[n] = d->position[i];
        d->listed[n] = v;
        n += of->listed ? og__bits_has(of->listed, v) : og__degree(&of->lists, v) != 0;
    }
    return n;
}

/* Samples the relation into a block of its own, whose lists follow the existing ones. Non-empty
 * lists stay. */
static int draw_lists(struct og_hop *h, const struct turn *turn, const struct group *g,
                      struct og_err *err)
{
    const struct og_related *d = h->s->related;
    struct og_block *k = h->block;
    struct og_block own = {.n_edges = k->n_edges, .indptr = k->indptr + k->n_lists};
    const uint32_t *position = k->dst + k->n_lists;
    uint32_t n;
    int rc = 0;
    n = own.n_dst = find_listed(d, turn->of, g, k->dst + k->n_lists);
    h->block = &own;
    h->nodes = d->listed;
    h->position = position;
    OG_TRY(og__reserve_edges(h, n, err));
    og__find_room(h);
    OG_TRY(og__draw_hop(h, err));
    own.indptr[n] = (uint32_t)own.n_edges;
    for (uint32_t i = 0; i < n; i++) {
        if (own.indptr[i] == own.indptr[i + 1])
            continue;
        k->indptr[k->n_lists] = own.indptr[i];
        k->dst[k->n_lists++] = position[i];
    }
out:
    h->block = k;
    k->src = own.src;
    k->n_edges = own.n_edges;
    k->n_seen = OG_MAX(k->n_seen, own.n_seen);
    k->n_listed += own.n_listed;
    return rc;
}

static int sample_relation(struct og_hop *h, const struct og_block *before, uint32_t r,
                           struct og_err *err)
{
    const struct turn *t = &h->s->related->turn[r];
    const struct group *g = &h->s->related->group[t->group];
    const size_t known = before ? before->relation[r + 1] - before->relation[r] : 0;
    int rc;
    OG_TRY(reserve_lists(h, known + g->end - g->start, err));
    if (known > 0)
        OG_TRY(copy_lists(h, before, r, err));
    if (h->fanout != 0 && g->end > g->start && t->of->lists.n_edges > 0)
        OG_TRY(draw_lists(h, t, g, err));
out:
    return rc;
}

struct og_hop og__hop_of(struct og_sampler *s, const struct og_sample_key *key, uint32_t number,
                         uint32_t r)
{
    const struct og_related *d = s->related;
    const size_t at = r * (size_t)s->n_hops + number;
    return (struct og_hop){.s = s,
                           .relation = r,
                           .base = d ? d->turn[r].of->first_source : 0,
                           .most_ids =
                               (uint64_t)(d ? d->whole->n_nodes : og__most_ids(s->topology)),
                           .fanout = d ? d->fanout[at] : s->fanout[number],
                           .seed = s->seed + r * RELATION_STEP,
                           .stream = key->stream,
                           .epoch = key->epoch,
                           .batch = key->batch,
                           .number = number};
}

int og__related_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                    struct og_batch_memory *out, struct og_err *err)
{
    struct og_related *d = s->related;
    const uint32_t n = d->whole->n_relations;
    struct og_batch *b = &out->batch;
    struct og_block *block = &b->hop[i];
    const struct og_block *before = s->how.once && i > 0 ? block - 1 : NULL;
    *block = (struct og_block){.n_dst = og__n_places(b), .n_relations = n};
    int rc;
    OG_TRY(put_in_groups(s, og__place_nodes(b), before ? before->n_dst : 0, block->n_dst, err));
    OG_TRY(og__batch_grow(out, &out->relation[i], ((size_t)n + 1) * 4, 0, err));
    block->relation = out->relation[i].data;
    for (uint32_t r = 0; r < n; r++) {
        struct og_hop hop = og__hop_of(s, key, (uint32_t)i, r);
        hop.out = out;
        hop.block = block;
        hop.ids = b->ids;
        hop.array = (uint32_t)i;
        block->relation[r] = block->n_lists;
        begin_turn(s, &d->turn[r]);
        rc = sample_relation(&hop, before, r, err);
        end_turn(s, &d->turn[r]);
        if (rc < 0)
            return rc;
    }
    block->relation[n] = block->n_lists;
    if (og__sampling_weighs(&s->how))
        block->weight = out->weight[i].data;
    if (s->how.edges)
        block->edge = out->edge[i].data;
    block->indptr[block->n_lists] = (uint32_t)block->n_edges;
    block->n_src = og__n_places(b);
    b->n_hops = (uint32_t)i + 1;
out:
    return rc;
}
