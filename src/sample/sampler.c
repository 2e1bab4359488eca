/* The sampler of any kind: makes batches. A batch is its seeds, then one hop after another. Each
 * hop reserves memory, samples by its kind (kinds.h) and, if requested, adds degrees of the nodes
 * it found. */
#include "dataset/times.h"
#include "sample/from_disk.h"
#include "sample/kinds.h"
#include "sample/lists.h"
#include "sample/related.h"
#include "sample/runs.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

#define POINTER(NAME, name) [OG_SAMPLER_##NAME] = &og__sampler_##name,
#define WORD(NAME, name)    #name,
static const struct og_sampler_ops *const kinds[] = {OG__SAMPLERS(POINTER)};
const char *const og__sampler_words[] = {OG__SAMPLERS(WORD) NULL};

const struct og_sampler_ops *og__sampler_ops(enum og_sampler_kind kind)
{
    return kinds[kind];
}

bool og__sampling_reads_weights(enum og_sampler_kind kind)
{
    return kinds[kind]->reads_weights;
}

bool og__sampling_by_visits(enum og_sampler_kind kind)
{
    return kinds[kind]->by_visits;
}

bool og__sampling_edges_unknown(enum og_sampler_kind kind)
{
    return kinds[kind]->edges_unknown;
}

bool og__sampling_of_trees(enum og_sampler_kind kind)
{
    return kinds[kind]->trees;
}

bool og__sampling_weighs(const struct og_sampling *how)
{
    return kinds[how->kind]->weighs || how->weights;
}

enum og_weights og__sampling_weights(const struct og_sampling *how)
{
    if (kinds[how->kind]->reads_weights)
        return OG__WEIGHT_TABLES;
    return how->weights ? OG__PLAIN_WEIGHTS : OG__NO_WEIGHTS;
}

/* Neighbours of whole lists come without their places in the list. */
bool og__sampler_takes_groups(const struct og_sampling *how)
{
    const struct og_pass_ops *pass = kinds[how->kind]->pass;
    return pass && !(pass->whole && how->edges);
}

bool og__sampling_takes(int kind, const char *option)
{
    const char *const *name = kinds[kind]->parameters;
    for (; name && *name; name++)
        if (strcmp(*name, option) == 0)
            return true;
    return false;
}

/* ---- open and close ---- */

int og__sampler_open(struct og_sampler **out, const struct og_topology *topology, const int *fanout,
                     int n_hops, uint64_t seed, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_sampler *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "sampler");
    s->topology = topology;
    s->budget = b;
    s->n_hops = n_hops;
    s->n_relations = OG_MAX(topology->n_relations, 1u);
    s->seed = seed;
    memcpy(s->fanout, fanout, (size_t)n_hops * sizeof(*fanout));
    const size_t n_fanouts = (size_t)n_hops * s->n_relations;
    int most = 1;
    for (size_t i = 0; i < n_fanouts; i++)
        most = OG_MAX(most, fanout[i]);
    s->max_pick = (size_t)most;
    s->set_size = 64;
    while (s->set_size < 2 * s->max_pick)
        s->set_size *= 2;
    s->pick = og__alloc(b, s->max_pick * 4, "sampler", err);
    s->set = og__alloc(b, s->set_size * 4, "sampler", err);
    int rc = 0;
    if (!s->pick || !s->set)
        OG_TRY(-ENOMEM);
    OG_TRY(og__fit_table(s, 1, NULL, 0, err));
    if (topology->relation)
        OG_TRY(og__related_open(s, fanout, err));
    *out = s;
    return 0;
out:
    og__sampler_close(s);
    return rc;
}

/* Releases the state for one topology. */
static void close_lists(struct og_sampler *s)
{
    og__disk_sampler_close(s);
    if (kinds[s->how.kind]->close)
        kinds[s->how.kind]->close(s);
    og__lists_close(s->lists);
    og__lists_close(s->weight_lists);
    s->lists = s->weight_lists = NULL;
}

void og__sampler_close(struct og_sampler *s)
{
    if (!s)
        return;
    og__related_close(s, close_lists);
    close_lists(s);
    og__release(s->budget, s->pick, s->max_pick * 4, "sampler");
    og__release(s->budget, s->set, s->set_size * 4, "sampler");
    og__id_table_close(&s->table, sizeof(struct og_id_place), s->budget, "sampler");
    og__id_table_close(&s->units, sizeof(struct og_id_place), s->budget, "sampler");
    og__trees_close(s->trees);
    free(s->n_units);
    free(s);
}

/* Those of cached lists are read nowhere else. */
static bool has_weights(const struct og_topology *t)
{
    return t->disk
               ? t->disk->of->weights.fd >= 0 && !(t->disk->cache.ids && !t->disk->cache.weights)
               : t->weights != NULL;
}

int og__sampler_begin(struct og_sampler *s, struct og_err *err)
{
    const struct og_sampler_ops *kind = kinds[s->how.kind];
    if (og__sampling_weights(&s->how) != OG__NO_WEIGHTS && !has_weights(s->topology))
        return og__fail(err, -ENOTSUP, NULL, "there are no weights of edges");
    if (s->how.edges && kind->by_visits)
        return og__fail(err, -ENOTSUP, NULL, "walks sample no edges");
    return kind->open && !s->state ? kind->open(s, err) : 0;
}

static int open_units(struct og_sampler *s, struct og_err *err)
{
    if (s->n_units)
        return 0;
    if (!(s->n_units = calloc(s->n_relations, sizeof(*s->n_units))))
        return og__fail_errno(err, -ENOMEM, NULL, "sampler");
    return og__id_table_open(&s->units, og__id_table_size(0), sizeof(struct og_id_place), s->budget,
                             "sampler", err);
}

int og__sampler_choose(struct og_sampler *s, const struct og_sampling *how, struct og_err *err)
{
    s->how = *how;
    OG_DO(how->edges ? open_units(s, err) : 0);
    if (kinds[how->kind]->trees && !s->trees)
        OG_DO(og__trees_open(&s->trees, s->budget, err));
    return s->related ? og__related_choose(s, err) : og__sampler_begin(s, err);
}

size_t og__sampler_bytes(const struct og_batch_caps *caps)
{
    uint64_t ids = caps->n_hops ? caps->hop[caps->n_hops - 1].n_src : 1;
    uint64_t seen = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        seen = OG_MAX(seen, caps->hop[h].n_seen);
    size_t own = 0; /* of samplers that count nodes */
    for (size_t k = 0; seen && k < OG_COUNT(kinds); k++)
        own = OG_MAX(own, kinds[k]->bytes ? kinds[k]->bytes(seen) : 0);
    if (caps->n_relations > 0)
        own += og__related_bytes(ids);
    own += caps->trees ? og__trees_bytes(caps->hop[0].n_dst, ids) : 0;
    if (caps->n_units > 0) /* while the table grows the half as large one is still there */
        own += og__id_table_size(caps->n_units + OG__WINDOW) * 3 / 2 * sizeof(struct og_id_place);
    return og__id_table_size(2 * (ids + OG__WINDOW)) * sizeof(struct og_id_place) + OG_MIB / 2 +
           own;
}

struct og_sample_reads og__sampler_reads(const struct og_sampler *s)
{
    return s->reads;
}

/* ---- degrees of the nodes found ---- */

void og__sampler_keep_degrees(struct og_sampler *s)
{
    s->keep_degrees = true;
}

/* Computes the in-degrees that `fanout` leaves of the nodes this hop found, without self-loops, as
 * for destinations. The fanout is this hop's, as if the nodes were its destinations. If nodes
 * sample once it is the next hop's, by which they get their lists. */
static void look_up_degrees(const struct og_sampler *s, const uint32_t *ids, int fanout,
                            struct og_block *block)
{
    for (uint32_t i = block->n_dst; i < block->n_src; i++) {
        if (i + OG__PREFETCH_DISTANCE < block->n_src)
            og__prefetch_degree(s->topology, ids[i + OG__PREFETCH_DISTANCE]);
        int64_t degree = og__degree(s->topology, ids[i]) - og__loops_of(s->topology, ids[i]);
        block->degree[i - block->n_dst] =
            (uint32_t)og__drawn_number(s->how.replace, fanout, degree);
    }
}

/* ---- a batch, hop by hop ---- */

int og__sample_begin(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
                     struct og_batch_memory *out, struct og_err *err)
{
    s->filled = 0;
    s->reads = (struct og_sample_reads){0};
    return og__take_seeds(s, seeds, n_seeds, out, err);
}

/* The edges that a hop will draw. The number is exact, because a batch that does not fit must be
 * known before it is written. The pass also brings indptr into the cache for the sampling that
 * follows. */
static uint64_t count_edges(const struct og_sampler *s, const uint32_t *ids, uint32_t n, int fanout)
{
    const struct og_topology *t = s->topology;
    uint64_t edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + OG__PREFETCH_DISTANCE < n)
            og__prefetch_degree(t, ids[i + OG__PREFETCH_DISTANCE]);
        edges += (uint64_t)og__drawn_number(s->how.replace, fanout, og__degree(t, ids[i]));
    }
    return edges;
}

/* May it draw fewer than it seems, or more? Then a hop's arrays grow while it is drawn. */
static bool grows(const struct og_sampler *s)
{
    return kinds[s->how.kind]->edges_unknown || kinds[s->how.kind]->by_visits;
}

static uint64_t room_of(const struct og_hop *h)
{
    const struct og_batch_memory *out = h->out;
    size_t room = out->src[h->array].bytes;
    if (og__sampling_weighs(&h->s->how))
        room = OG_MIN(room, out->weight[h->array].bytes);
    if (h->s->how.edges)
        room = OG_MIN(room, out->edge[h->array].bytes);
    return room / sizeof(*h->block->src);
}

/* The initial capacity of a hop: as a rule, all that it can draw. If that is much more than likely,
 * it is the capacity of earlier batches. */
static uint64_t beginning(const struct og_hop *h, uint64_t drawn)
{
    const uint64_t room = room_of(h);
    const uint64_t left = room - OG_MIN(room, h->block->n_edges);
    return grows(h->s) && room > 0 ? OG_MIN(drawn, left) : drawn;
}

int og__reserve_edges(struct og_hop *h, uint32_t n, struct og_err *err)
{
    struct og_sampler *s = h->s;
    struct og_batch_memory *out = h->out;
    const uint32_t *nodes = h->nodes + h->first; /* that draw */
    const uint64_t before = h->block->n_edges;
    int rc = 0;
    if (s->topology->mapped)
        OG_TRY(og__mapped_lists(s->topology, nodes, n, err));
    const uint64_t most = og__sampling_by_visits(s->how.kind) ? (uint64_t)n * (uint64_t)h->fanout
                                                              : count_edges(s, nodes, n, h->fanout);
    const uint64_t drawn = beginning(h, most);
    const uint64_t edges = before + drawn;
    if (edges > UINT32_MAX)
        OG_TRY(og__fail(err, -EOVERFLOW, og__too_many_hint, "a batch with %llu edges in hop %u",
                        (unsigned long long)edges, h->number + 1));
    OG_TRY(og__fit_ids(h, drawn, err));
    OG_TRY(og__batch_grow(out, &out->src[h->array], edges * 4, before * 4, err));
    if (og__sampling_weighs(&s->how))
        OG_TRY(og__batch_grow(out, &out->weight[h->array], edges * 4, before * 4, err));
    if (s->how.edges)
        OG_TRY(og__batch_grow(out, &out->edge[h->array], edges * 4, before * 4, err));
    h->n_edges = edges;
out:
    og__ids_moved(h);
    return rc;
}

/* Nested blocks preserve the existing lists. */
static int reserve_hop(struct og_hop *h, struct og_err *err)
{
    const uint32_t n_dst = og__n_places(&h->out->batch);
    struct og_growing *indptr = &h->out->indptr[h->array];
    OG_DO(og__batch_grow(h->out, indptr, ((size_t)n_dst + 1) * 4, (size_t)h->first * 4, err));
    return og__reserve_edges(h, n_dst - h->first, err);
}

void og__find_room(struct og_hop *h)
{
    const struct og_batch_memory *out = h->out;
    h->block->src = out->src[h->array].data;
    if (og__sampling_weighs(&h->s->how))
        h->weight = out->weight[h->array].data;
    if (h->s->how.edges)
        h->edge = out->edge[h->array].data;
    if (grows(h->s))
        h->n_edges = room_of(h);
}

/* Sets pointers to the arrays of the hop. */
static void place_hop(struct og_hop *h)
{
    h->block->n_dst = og__n_places(&h->out->batch);
    h->block->indptr = h->out->indptr[h->array].data;
    og__find_room(h);
}

/* Updates blocks within the arrays of this one after a move. */
static void follow(struct og_batch *b, const struct og_block *last)
{
    for (struct og_block *k = b->hop; k < last; k++) {
        k->indptr = last->indptr;
        k->src = last->src;
        k->weight = last->weight;
        k->edge = last->edge;
    }
}

static int add_degrees(struct og_sampler *s, int i, struct og_batch_memory *out, struct og_err *err)
{
    struct og_batch *b = &out->batch;
    struct og_block *block = &b->hop[i];
    const int drawing = s->how.once ? OG_MIN(i + 1, s->n_hops - 1) : i;
    OG_DO(og__batch_grow(out, &out->degree[i], (size_t)block->n_src * 4, 0, err));
    block->degree = out->degree[i].data;
    if (s->topology->mapped)
        OG_DO(og__mapped_lists(s->topology, og__place_nodes(b), block->n_src, err));
    look_up_degrees(s, og__place_nodes(b), s->fanout[drawing], block);
    return 0;
}

void og__sampler_elsewhere(struct og_sampler *s, const struct og_elsewhere *e)
{
    s->elsewhere = e;
}

int og__draw_hop(struct og_hop *h, struct og_err *err)
{
    const struct og_elsewhere *e = h->s->elsewhere;
    if (h->s->runs)
        return kinds[h->s->how.kind]->pass->join(h, err);
    if (e && h->edge)
        return og__fail(err, -ENOTSUP, NULL, "a device that samples does not know places of edges");
    return e ? e->hop(e->self, h, err) : kinds[h->s->how.kind]->hop(h, err);
}

int og__key_trees(struct og_sampler *s, const struct og_sample_key *key, const uint32_t *seeds,
                  uint32_t n, struct og_err *err)
{
    const struct og_times *times = s->how.times;
    const int rc = og__trees_fit_seeds(s->trees, n, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        uint32_t word[4];
        og__philox(s->seed, OG__STREAM_TREE, key->epoch, key->batch, (uint32_t)key->stream,
                   seeds[i], 0, word);
        s->trees->key[i] = (uint64_t)word[0] << 32 | word[1];
        s->trees->time[i] = times && times->node ? times->node[seeds[i]] : INT64_MAX;
        if (key->times)
            s->trees->time[i] = key->times[i];
    }
    return rc;
}

int og__sample_hop(struct og_sampler *s, const struct og_sample_key *key, int i,
                   struct og_batch_memory *out, struct og_err *err)
{
    struct og_batch *b = &out->batch;
    struct og_block *block = &b->hop[i];
    const struct og_block *before = s->how.once && i > 0 ? block - 1 : NULL;
    int rc = 0;
    if (s->trees && i == 0)
        OG_TRY(og__key_trees(s, key, b->node, b->n_seeds, err));
    if (s->related)
        return og__related_hop(s, key, i, out, err);
    struct og_hop hop = og__hop_of(s, key, (uint32_t)i, 0);
    hop.out = out;
    hop.block = block;
    hop.ids = b->ids;
    hop.nodes = og__place_nodes(b);
    hop.first = before ? before->n_dst : 0;
    hop.array = og__arrays_at(s->how.once ? OG__NESTED : 0, (uint32_t)i);
    *block = (struct og_block){.n_edges = before ? before->n_edges : 0};
    OG_TRY(reserve_hop(&hop, err));
    place_hop(&hop);
    b->n_hops = (uint32_t)i + 1;
    OG_TRY(og__draw_hop(&hop, err));
    block->indptr[block->n_dst] = (uint32_t)block->n_edges;
    block->n_src = og__n_places(b);
    block->weight = hop.weight;
    block->edge = hop.edge;
    if (before)
        follow(b, block);
    if (s->keep_degrees)
        OG_TRY(add_degrees(s, i, out, err));
out:
    return rc;
}

int og__sample(struct og_sampler *s, const uint32_t *seeds, uint32_t n_seeds,
               const struct og_sample_key *key, struct og_batch_memory *out, struct og_err *err)
{
    int rc;
    OG_TRY(og__sample_begin(s, seeds, n_seeds, out, err));
    for (int hop = 0; hop < s->n_hops; hop++)
        OG_TRY(og__sample_hop(s, key, hop, out, err));
out:
    return rc;
}
