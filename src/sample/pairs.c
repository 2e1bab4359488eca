#include "sample/pairs.h"

#include "base/random.h"

#include <assert.h>
#include <string.h>

static const char part[] = "batches";

/* ---- sizes ---- */

/* Per batch, for any number of edges. */
static uint64_t rank_negatives_drawn(const struct og_pair_rule *rule)
{
    return rule->rank_negatives * (uint64_t)(rule->of ? rule->of->types->n_types : 1);
}

/* Are negatives ends of the batch's other edges, always? In a type that none of those has, they are
 * sampled. With trees, an end at another time is another seed. */
static bool others_alone(const struct og_pair_rule *rule)
{
    return rule->in_batch && !rule->of && !rule->trees;
}

/* Pairs of an edge that evaluation ranks, or scores to rank them: in the split that has most. */
static uint64_t most_ranked(const struct og_pair_rule *rule)
{
    uint64_t most = rule->rank_negatives * (uint64_t)(rule->of ? 2 : 1);
    for (int s = OG__VALID; s < OG__SPLITS; s++) {
        const struct og_given_negatives *g = &rule->given[s];
        if (g->ids && g->n_edges > 0)
            most = OG_MAX(most, g->each ? g->each : (g->n + g->n_edges - 1) / g->n_edges);
    }
    return most;
}

static uint64_t most_given_seeds(const struct og_pair_rule *rule)
{
    uint64_t most = 0;
    for (int s = OG__VALID; s < OG__SPLITS; s++) {
        const struct og_given_negatives *g = &rule->given[s];
        if (g->ids && g->n_edges > 0)
            most = OG_MAX(most, g->each ? g->each : 2 * ((g->n + g->n_edges - 1) / g->n_edges));
    }
    return most;
}

/* Trees of so many edges that begin at their sources. */
static uint32_t sources_of(const struct og_pair_rule *rule, uint32_t edges)
{
    return edges / (1 + rule->source_repeats);
}

uint32_t og__pairs_most_seeds(const struct og_pair_rule *rule, uint32_t edges)
{
    const struct og_given_negatives *given = &rule->given[OG__TRAIN];
    uint64_t each = others_alone(rule) ? 0 : given->ids && !given->each ? 2 : 1;
    uint64_t training = edges * (2 + each * rule->negatives);
    uint64_t evaluation = edges * (4 + most_given_seeds(rule)) + rank_negatives_drawn(rule);
    uint64_t alone = 2 + (uint64_t)rule->negatives; /* one edge draws from all nodes */
    uint64_t most = OG_MAX(OG_MAX(training, evaluation), alone);
    if (rule->planted)
        return edges + sources_of(rule, edges);
    if (rule->trees) {
        evaluation += edges * (uint64_t)rule->rank_negatives * (rule->of ? 2 : 1);
        return (uint32_t)OG_MIN(OG_MAX(most, evaluation), (uint64_t)UINT32_MAX);
    }
    return (uint32_t)OG_MIN(most, (uint64_t)rule->n_nodes);
}

uint64_t og__pairs_most(const struct og_pair_rule *rule, uint32_t edges, bool training)
{
    return (uint64_t)edges * (training ? 1 + (uint64_t)rule->negatives : 2 + most_ranked(rule));
}

static struct og_pair_sizes sizes_for(const struct og_pair_rule *rule, uint32_t edges)
{
    struct og_pair_sizes size = {.seeds = og__pairs_most_seeds(rule, edges),
                                 .banned = 2 * (size_t)edges};
    size.pairs = OG_MAX(og__pairs_most(rule, edges, true), og__pairs_most(rule, edges, false));
    size.table = rule->trees ? 0 : og__id_table_size(size.seeds);
    size.trees = rule->trees ? og__id_table_size(size.seeds) : 0;
    size.relations = rule->of ? size.pairs : 0;
    size.drawn = rule->of ? rank_negatives_drawn(rule) : 0;
    return size;
}

size_t og__pairs_bytes(const struct og_pair_rule *rule, uint32_t edges)
{
    struct og_pair_sizes size = sizes_for(rule, edges);
    return 2 * size.pairs * sizeof(uint32_t) + size.seeds * sizeof(uint32_t) +
           size.table * sizeof(struct og_id_place) + size.banned * sizeof(uint64_t) +
           (size.relations + size.drawn + size.trees) * sizeof(uint32_t) +
           (rule->trees ? size.seeds * sizeof(int64_t) : 0);
}

int og__pairs_open(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t edges,
                   struct og_budget *b, struct og_err *err)
{
    struct og_pair_sizes size = sizes_for(rule, edges);
    *p = (struct og_pairs){
        .keeps = rule->keeps, .trees = rule->trees, .planted = rule->planted, .timed = rule->timed};
    if (size.pairs > INT32_MAX || size.seeds > INT32_MAX) /* they are numbered in 32 bits, twice */
        return og__fail(err, -EOVERFLOW, "use a smaller --batch, --negatives or --eval-negatives",
                        "a batch of %u edges with %zu pairs of %zu nodes", edges, size.pairs,
                        size.seeds);
    p->size = size;
    struct og_allocs *a = &p->arrays;
    *a = og__allocs(b, part);
    p->a = og__allocs_take(a, size.pairs * sizeof(*p->a), err);
    p->b = og__allocs_take(a, size.pairs * sizeof(*p->b), err);
    p->seeds = og__allocs_take(a, size.seeds * sizeof(*p->seeds), err);
    p->banned = og__allocs_take(a, size.banned * sizeof(*p->banned), err);
    if (rule->of) {
        p->relation = og__allocs_take(a, size.relations * sizeof(*p->relation), err);
        p->drawn = og__allocs_take(a, size.drawn * sizeof(*p->drawn), err);
    }
    if (rule->trees) {
        p->time = og__allocs_take(a, size.seeds * sizeof(*p->time), err);
        p->tree = og__allocs_take(a, size.trees * sizeof(*p->tree), err);
    } else {
        og__id_table_take(&p->table, size.table, sizeof(struct og_id_place), a, err);
    }
    return og__allocs_taken(a);
}

void og__pairs_close(struct og_pairs *p)
{
    og__allocs_release(&p->arrays);
    *p = (struct og_pairs){0};
}

/* ---- node -> position ---- */

static int64_t before(int64_t time)
{
    return time > INT64_MIN ? time - 1 : time;
}

static int64_t time_of(const struct og_pairs *p, uint32_t i)
{
    return p->times ? p->times[p->place[i]] : INT64_MAX;
}

/* The pairs that follow are of edge i. */
static void turn_to(struct og_pairs *p, uint32_t i)
{
    p->now = time_of(p, i);
}

/* The position of a node's tree at the time of the edge; n_seeds if it is new. */
static uint32_t tree_of(struct og_pairs *p, uint32_t node)
{
    const int64_t time = before(p->now);
    const uint64_t key = ((uint64_t)time * 0x9E3779B97F4A7C15u ^ node) * 0xFF51AFD7ED558CCDu;
    size_t i = (size_t)(key >> 32) & (p->size.trees - 1);
    for (; p->tree[i] != OG__NO_ID; i = (i + 1) & (p->size.trees - 1))
        if (p->seeds[p->tree[i]] == node && p->time[p->tree[i]] == time)
            return p->tree[i];
    p->tree[i] = p->n_seeds;
    p->time[p->n_seeds] = time;
    return p->n_seeds;
}

static uint32_t position_of(struct og_pairs *p, uint32_t node)
{
    uint32_t position = p->n_seeds;
    if (p->trees)
        position = tree_of(p, node);
    else if (!p->planted)
        position = og__id_place(&p->table, node, p->n_seeds);
    p->seeds[position] = node;
    p->n_seeds += position == p->n_seeds;
    return position;
}

static void add_pair(struct og_pairs *p, uint32_t a, uint32_t relation, uint32_t b)
{
    if (p->relation)
        p->relation[p->n] = relation;
    p->a[p->n] = position_of(p, a);
    p->b[p->n++] = position_of(p, b);
}

static uint32_t relation_of(const struct og_pairs *p, uint32_t i)
{
    return p->relation ? p->relation[i] : 0;
}

/* ---- negatives ---- */

enum { ENDS, RANK_NEGATIVES, TRIES = 32 }; /* draws of each kind are keyed apart */

static void key_rng(struct og_rng *rng, const struct og_pair_rule *rule,
                    const struct og_pair_key *key, uint32_t kind, uint32_t item)
{
    og__rng_at(rng, rule->seed, OG__STREAM_NEGATIVE, key->training ? key->epoch : 0, key->batch,
               key->split << 4 | kind, item);
}

/* An end of an edge. */
enum end { SOURCE, DESTINATION };

static uint32_t type_of_end(const struct og_pair_rule *rule, uint32_t relation, enum end end)
{
    const struct og_graph_relation *r = &rule->of->types->relation[relation];
    return end == SOURCE ? r->source : r->destination;
}

/* The nodes of a type; of a homogeneous graph, all. */
struct nodes {
    uint32_t first, n;
    const struct og_timed *by_time; /* [n] those that are there; NULL: first, first + 1, ... */
};

static struct nodes of_type(const struct og_pair_rule *rule, uint32_t type)
{
    const uint32_t first = og__first_id(rule->of->types, type);
    return (struct nodes){.first = first, .n = rule->of->types->type[type].end - first};
}

static struct nodes of_end(const struct og_pair_rule *rule, uint32_t relation, enum end end)
{
    return rule->of ? of_type(rule, type_of_end(rule, relation, end))
                    : (struct nodes){.n = rule->n_nodes};
}

/* Those that are there at a time; the earliest if none is. */
static struct nodes at_time(const struct og_pair_rule *rule, struct nodes of, int64_t time)
{
    if (!rule->arrivals)
        return of;
    of.by_time = rule->arrivals->node + of.first;
    of.n = OG_MAX(og__arrived(rule->arrivals, of.first, of.n, time), 1u);
    return of;
}

static uint32_t nth_node(struct nodes of, uint32_t i)
{
    return of.by_time ? of.by_time[i].place : of.first + i;
}

static uint32_t draw_node(struct nodes from, struct og_rng *rng)
{
    return nth_node(from, og__rng_below(rng, from.n));
}

/* Draws the replacement of an end of edge i, a node of its type. It is from the batch's other edges
 * if the rule says so and one is found that is not later. */
static uint32_t draw_end(const struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                         enum end end, struct og_rng *rng)
{
    const struct nodes all = of_end(rule, relation_of(p, i), end);
    const struct nodes from = at_time(rule, all, p->now);
    const uint32_t *ends = end == SOURCE ? p->a : p->b;
    for (int n = 0; rule->in_batch && p->n_edges > 1 && n < TRIES; n++) {
        const uint32_t other = og__rng_below(rng, p->n_edges - 1);
        const uint32_t j = other + (other >= i), node = p->seeds[ends[j]];
        if (node >= all.first && node - all.first < all.n && time_of(p, j) <= p->now)
            return node;
    }
    return draw_node(from, rng);
}

static void add_negatives(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                          const struct og_pair_key *key)
{
    const bool either = rule->symmetric || rule->of;
    struct og_rng rng;
    const uint32_t a = p->seeds[p->a[i]], b = p->seeds[p->b[i]];
    key_rng(&rng, rule, key, ENDS, i);
    for (uint32_t k = 0; k < rule->negatives; k++) {
        const enum end end = either && og__rng_u32(&rng) >> 31 ? SOURCE : DESTINATION;
        uint32_t node = draw_end(p, rule, i, end, &rng);
        for (int n = 0; (node == a || node == b) && n < TRIES; n++)
            node = draw_end(p, rule, i, end, &rng);
        add_pair(p, end == SOURCE ? node : a, relation_of(p, i), end == SOURCE ? b : node);
    }
}

static void add_stranger(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                         const struct og_pair_key *key)
{
    const uint32_t r = relation_of(p, i);
    const struct nodes sources = at_time(rule, of_end(rule, r, SOURCE), p->now);
    const struct nodes destinations = at_time(rule, of_end(rule, r, DESTINATION), p->now);
    struct og_rng rng;
    key_rng(&rng, rule, key, ENDS, i);
    const uint32_t a = draw_node(sources, &rng);
    uint32_t b = draw_node(destinations, &rng);
    for (int n = 0; a == b && n < TRIES; n++)
        b = draw_node(destinations, &rng);
    add_pair(p, a, r, b);
}

/* ---- ranking negatives ---- */

static uint32_t draw_rank_negative(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                                   uint32_t r, const struct og_pair_key *key)
{
    struct og_rng rng;
    turn_to(p, i);
    key_rng(&rng, rule, key, RANK_NEGATIVES, r);
    return position_of(p, draw_node(at_time(rule, of_end(rule, 0, DESTINATION), p->now), &rng));
}

/* Adds the ranking negatives, drawn once for the batch. With trees each edge has one of the same
 * draw at its own time. Negative r of edge i is pair 2 n_edges + i n_rank_negatives + r. */
static void add_rank_negatives(struct og_pairs *p, const struct og_pair_rule *rule,
                               const struct og_pair_key *key)
{
    p->n_rank_negatives = rule->rank_negatives;
    for (uint32_t r = 0; r < rule->rank_negatives; r++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < p->n_edges; i++) {
            if (i == 0 || p->trees)
                at = draw_rank_negative(p, rule, i, r, key);
            size_t pair = 2 * (size_t)p->n_edges + (size_t)i * rule->rank_negatives + r;
            p->a[pair] = p->a[i];
            p->b[pair] = at;
        }
    }
    p->n += p->n_edges * rule->rank_negatives;
}

/* Draws the ranking negatives of a type, or takes all its nodes if there are no more. Those that
 * are missing are NOBODY. */
enum { NOBODY = UINT32_MAX };
static void draw_rank_negatives(struct og_pairs *p, const struct og_pair_rule *rule,
                                const struct og_pair_key *key, uint32_t type)
{
    const struct nodes of = at_time(rule, of_type(rule, type), p->now);
    uint32_t *out = p->drawn + type * (size_t)rule->rank_negatives;
    for (uint32_t r = 0; r < rule->rank_negatives; r++) {
        struct og_rng rng;
        key_rng(&rng, rule, key, RANK_NEGATIVES, r);
        const bool some = rule->rank_negatives < of.n;
        out[r] = NOBODY;
        if (some || r < of.n)
            out[r] = position_of(p, some ? draw_node(of, &rng) : nth_node(of, r));
    }
}

/* Does replacing that end of edge i by the candidate give an edge? */
static bool is_edge(const struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                    enum end end, uint32_t rank_negative)
{
    const uint32_t a = p->seeds[p->a[i]], b = p->seeds[p->b[i]], node = p->seeds[rank_negative];
    return end == SOURCE ? og__triples_has(rule->of, node, p->relation[i], b)
                         : og__triples_has(rule->of, a, p->relation[i], node);
}

/* With trees the draws are made again, at the edge's time. */
static void rank_end(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i, enum end end,
                     const struct og_pair_key *key)
{
    if (p->trees) {
        turn_to(p, i);
        draw_rank_negatives(p, rule, key, type_of_end(rule, p->relation[i], end));
    }
    const uint32_t own = end == SOURCE ? p->a[i] : p->b[i];
    const uint32_t *drawn =
        p->drawn + type_of_end(rule, p->relation[i], end) * (size_t)rule->rank_negatives;
    for (uint32_t r = 0; r < rule->rank_negatives; r++) {
        const bool counts = drawn[r] != NOBODY && !is_edge(p, rule, i, end, drawn[r]);
        const uint32_t other = counts ? drawn[r] : own;
        p->relation[p->n] = p->relation[i];
        p->a[p->n] = end == SOURCE ? other : p->a[i];
        p->b[p->n++] = end == SOURCE ? p->b[i] : other;
    }
}

static void add_rank_negatives_of_types(struct og_pairs *p, const struct og_pair_rule *rule,
                                        const struct og_pair_key *key)
{
    bool requested[OG_MOST_TYPES] = {false};
    p->n_rank_negatives = rule->rank_negatives;
    p->both_ends = true;
    for (uint32_t i = 0; i < p->n_edges; i++)
        for (enum end end = SOURCE; end <= DESTINATION; end++)
            requested[type_of_end(rule, p->relation[i], end)] = true;
    for (uint32_t t = 0; t < rule->of->types->n_types && !p->trees; t++)
        if (requested[t])
            draw_rank_negatives(p, rule, key, t);
    for (uint32_t i = 0; i < p->n_edges; i++)
        rank_end(p, rule, i, DESTINATION, key);
    for (uint32_t i = 0; i < p->n_edges; i++)
        rank_end(p, rule, i, SOURCE, key);
}

/* ---- given negatives ---- */

static void add_given_pairs(struct og_pairs *p, const struct og_given_negatives *g,
                            const uint64_t *place)
{
    const uint32_t before = p->n;
    for (uint32_t i = 0; i < p->n_edges; i++) {
        const uint64_t end = g->n * (place[i] + 1) / g->n_edges;
        turn_to(p, i);
        for (uint64_t k = g->n * place[i] / g->n_edges; k < end; k++)
            add_pair(p, g->ids[2 * k], relation_of(p, i), g->ids[2 * k + 1]);
    }
    p->n_given = p->n - before;
}

static void add_given_destinations(struct og_pairs *p, const struct og_given_negatives *g,
                                   const uint64_t *place)
{
    p->n_rank_negatives = g->each;
    p->ranks_given = true;
    for (uint32_t i = 0; i < p->n_edges; i++) {
        turn_to(p, i);
        for (uint32_t k = 0; k < g->each; k++) {
            if (p->relation)
                p->relation[p->n] = p->relation[i];
            p->a[p->n] = p->a[i];
            p->b[p->n++] = position_of(p, g->ids[place[i] * g->each + k]);
        }
    }
}

/* Adds those of edge i, in training. */
static void add_given_negatives(struct og_pairs *p, const struct og_pair_rule *rule, uint32_t i,
                                uint64_t place)
{
    const struct og_given_negatives *g = &rule->given[OG__TRAIN];
    const uint32_t *id = g->ids + place * rule->negatives * (g->each ? 1 : 2);
    for (uint32_t k = 0; k < rule->negatives; k++)
        if (g->each)
            add_pair(p, p->seeds[p->a[i]], relation_of(p, i), id[k]);
        else
            add_pair(p, id[2 * k], relation_of(p, i), id[2 * k + 1]);
}

static void add_ranked(struct og_pairs *p, const struct og_pair_rule *rule, const uint64_t *place,
                       const struct og_pair_key *key)
{
    const struct og_given_negatives *given = &rule->given[key->split];
    if (given->ids && given->each)
        add_given_destinations(p, given, place);
    else if (given->ids)
        add_given_pairs(p, given, place);
    else
        (rule->of ? add_rank_negatives_of_types : add_rank_negatives)(p, rule, key);
}

/* All sources, then all destinations. */
static void plant_pairs(struct og_pairs *p, const struct og_pair_rule *rule, const uint32_t *ends,
                        const uint64_t *place, const uint32_t *relation)
{
    p->n_sources = sources_of(rule, p->n_edges);
    assert(p->n_edges == 0 || p->n_sources > 0);
    for (uint32_t i = 0; i < p->n_edges; i++)
        p->a[i] = i < p->n_sources ? position_of(p, ends[2 * place[i]]) : p->a[i % p->n_sources];
    for (uint32_t i = 0; i < p->n_edges; i++)
        p->b[i] = position_of(p, ends[2 * place[i] + 1]);
    for (uint32_t i = 0; relation && p->relation && i < p->n_edges; i++)
        p->relation[i] = relation[place[i]];
    p->n = p->n_edges;
    p->n_negatives = 0;
}

void og__pairs_make(struct og_pairs *p, const struct og_pair_rule *rule, const uint32_t *ends,
                    const uint64_t *place, uint32_t n_edges, const struct og_pair_key *key)
{
    const uint32_t *relation = rule->of ? rule->of->split[key->split].relation : NULL;
    p->n = p->n_seeds = p->n_rank_negatives = p->n_given = 0;
    p->n_edges = n_edges;
    p->both_ends = p->ranks_given = false;
    p->held_out = !key->training;
    p->times = key->times;
    p->place = place;
    if (rule->trees)
        memset(p->tree, 0xff, p->size.trees * sizeof(*p->tree));
    else
        og__id_table_clear(&p->table, sizeof(struct og_id_place));
    if (rule->planted) {
        plant_pairs(p, rule, ends, place, relation);
        return;
    }
    for (uint32_t i = 0; i < n_edges; i++) {
        turn_to(p, i);
        add_pair(p, ends[2 * place[i]], relation ? relation[place[i]] : 0, ends[2 * place[i] + 1]);
    }
    const bool given = key->training && rule->given[OG__TRAIN].ids;
    for (uint32_t i = 0; i < n_edges && !rule->labelled; i++) {
        turn_to(p, i);
        if (given)
            add_given_negatives(p, rule, i, place[i]);
        else
            (key->training ? add_negatives : add_stranger)(p, rule, i, key);
    }
    p->n_negatives = p->n - n_edges;
    if (!key->training && !rule->labelled)
        add_ranked(p, rule, place, key);
}
