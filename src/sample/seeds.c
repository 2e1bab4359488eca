#include "sample/seeds.h"

static const char part[] = "batches";

uint32_t og__seeds_most(const struct og_seed_source *source)
{
    uint32_t batch = source->schedule->batch_size;
    return source->edges ? og__pairs_most_seeds(&source->rule, batch) : batch;
}

/* Trees may begin at the same node. */
static bool drops(const struct og_seed_source *source)
{
    return source->repeats && !source->trees;
}

/* What times of a batch's seeds take. */
static size_t times_bytes(const struct og_seed_source *source)
{
    const bool its_own = source->edges && source->rule.trees; /* pairs have them */
    return source->trees && !its_own ? og__seeds_most(source) * sizeof(int64_t) : 0;
}

size_t og__seeds_bytes(const struct og_seed_source *source)
{
    size_t batch = source->schedule->batch_size;
    if (source->edges)
        return batch * sizeof(uint64_t) + og__pairs_bytes(&source->rule, (uint32_t)batch) +
               times_bytes(source);
    const size_t table = og__id_table_size(batch) * sizeof(struct og_id_place);
    const size_t repeats = 2 * batch * sizeof(uint32_t) + table;
    return batch * (sizeof(uint64_t) + sizeof(uint32_t)) + (drops(source) ? repeats : 0) +
           times_bytes(source);
}

int og__seeds_open(struct og_seeds *s, const struct og_seed_source *source, struct og_budget *b,
                   struct og_err *err)
{
    const size_t batch = source->schedule->batch_size;
    struct og_allocs *a = &s->arrays;
    *s = (struct og_seeds){.arrays = og__allocs(b, part)};
    s->place = og__allocs_take(a, batch * sizeof(*s->place), err);
    if (times_bytes(source) > 0)
        s->own_time = og__allocs_take(a, times_bytes(source), err);
    if (!source->edges)
        s->own = og__allocs_take(a, batch * sizeof(*s->own), err);
    if (!source->edges && drops(source)) {
        s->first = og__allocs_take(a, batch * sizeof(*s->first), err);
        s->next = og__allocs_take(a, batch * sizeof(*s->next), err);
        og__id_table_take(&s->table, og__id_table_size(batch), sizeof(struct og_id_place), a, err);
    }
    if (og__allocs_taken(a) < 0)
        return -ENOMEM;
    return source->edges ? og__pairs_open(&s->pairs, &source->rule, (uint32_t)batch, b, err) : 0;
}

void og__seeds_close(struct og_seeds *s)
{
    og__allocs_release(&s->arrays);
    og__pairs_close(&s->pairs);
    *s = (struct og_seeds){0};
}

/* Leaves each node once, in the order in which the turn of n nodes lists them. */
static void drop_repeats(struct og_seeds *s, uint32_t n)
{
    s->n = 0;
    og__id_table_clear(&s->table, sizeof(struct og_id_place));
    for (uint32_t v = 0; v < n; v++) {
        const uint32_t i = og__id_place(&s->table, s->own[v], s->n);
        s->n += i == s->n;
        s->own[i] = s->own[v];
        s->first[i] = OG__NO_ID;
        s->next[v] = i; /* until all are known */
    }
    for (uint32_t v = n; v-- > 0;) {
        const uint32_t i = s->next[v];
        s->next[v] = s->first[i];
        s->first[i] = v;
    }
    s->extra = n - s->n;
    s->repeating = s->extra > 0 ? s->n : 0;
}

/* Seeds have the times of their places. The first n_sources begin edges. */
static void take_times(struct og_seeds *s, const int64_t *times, uint32_t n_sources)
{
    for (uint32_t i = 0; times && i < s->n; i++)
        s->own_time[i] = times[s->place[i < n_sources ? i : i - n_sources]];
    s->time = times ? s->own_time : NULL;
}

void og__seeds_take(struct og_seeds *s, const struct og_seed_source *source,
                    const struct og_descriptor *descriptor)
{
    const uint32_t *split = source->split[descriptor->split];
    const bool of_run = descriptor->split == OG__TRAIN && descriptor->drawn_epoch > 0;
    s->repeating = s->extra = 0;
    if (source->balanced && of_run)
        og__balanced_places(source->balanced, descriptor->drawn_epoch, descriptor->first,
                            descriptor->n_seeds, s->place);
    else
        og__schedule_places(source->schedule, descriptor, s->place);
    if (source->edges) {
        const int64_t *times = source->times[descriptor->split];
        struct og_pair_key key = {descriptor->split == OG__TRAIN, (uint32_t)descriptor->split,
                                  descriptor->drawn_epoch, descriptor->drawn_batch, times};
        og__pairs_make(&s->pairs, &source->rule, split, s->place, descriptor->n_seeds, &key);
        s->node = s->pairs.seeds;
        s->n = s->pairs.n_seeds;
        if (source->rule.trees)
            s->time = times ? s->pairs.time : NULL;
        else
            take_times(s, times, s->pairs.n_sources);
        return;
    }
    for (uint32_t i = 0; i < descriptor->n_seeds; i++)
        s->own[i] = split[s->place[i]];
    s->node = s->own;
    s->n = descriptor->n_seeds;
    take_times(s, source->times[descriptor->split], 0);
    if (drops(source) && descriptor->split == OG__TRAIN)
        drop_repeats(s, descriptor->n_seeds);
}

/* Held-out edges are not in the graph, or later than what is sampled. */
void og__seeds_exclude(struct og_seeds *s, const struct og_descriptor *descriptor,
                       struct og_batch *batch)
{
    if (s->pairs.n_edges > 0 && !s->pairs.keeps && descriptor->split == OG__TRAIN)
        og__pairs_exclude(&s->pairs, batch);
}
