#include "sample/seeds.h"

static const char part[] = "batches";

uint32_t og__seeds_most(const struct og_seed_source *source)
{
    uint32_t batch = source->schedule->batch_size;
    return source->edges ? og__pairs_most_seeds(&source->rule, batch) : batch;
}

size_t og__seeds_bytes(const struct og_seed_source *source)
{
    size_t batch = source->schedule->batch_size;
    if (source->edges)
        return batch * sizeof(uint64_t) + og__pairs_bytes(&source->rule, (uint32_t)batch);
    return batch * (sizeof(uint64_t) + sizeof(uint32_t));
}

int og__seeds_open(struct og_seeds *s, const struct og_seed_source *source, struct og_budget *b,
                   struct og_err *err)
{
    uint32_t batch = source->schedule->batch_size;
    *s = (struct og_seeds){.budget = b, .most = batch};
    s->place = og__alloc(b, batch * sizeof(*s->place), part, err);
    if (!s->place)
        return -ENOMEM;
    if (source->edges)
        return og__pairs_open(&s->pairs, &source->rule, batch, b, err);
    s->own = og__alloc(b, batch * sizeof(*s->own), part, err);
    return s->own ? 0 : -ENOMEM;
}

void og__seeds_close(struct og_seeds *s)
{
    og__release(s->budget, s->place, s->most * sizeof(*s->place), part);
    og__release(s->budget, s->own, s->most * sizeof(*s->own), part);
    og__pairs_close(&s->pairs);
    *s = (struct og_seeds){0};
}

void og__seeds_take(struct og_seeds *s, const struct og_seed_source *source,
                    const struct og_descriptor *descriptor)
{
    const uint32_t *split = source->split[descriptor->split];
    og__schedule_places(source->schedule, descriptor, s->place);
    if (source->edges) {
        struct og_pair_key key = {descriptor->split == OG__TRAIN, (uint32_t)descriptor->split,
                                  descriptor->drawn_epoch, descriptor->drawn_batch};
        og__pairs_make(&s->pairs, &source->rule, split, s->place, descriptor->n_seeds, &key);
        s->node = s->pairs.seeds;
        s->n = s->pairs.n_seeds;
        return;
    }
    for (uint32_t i = 0; i < descriptor->n_seeds; i++)
        s->own[i] = split[s->place[i]];
    s->node = s->own;
    s->n = descriptor->n_seeds;
}

/* Edges that are held out are not in the graph. */
void og__seeds_exclude(struct og_seeds *s, const struct og_descriptor *descriptor,
                       struct og_batch *batch)
{
    if (s->pairs.n_edges > 0 && descriptor->split == OG__TRAIN)
        og__pairs_exclude(&s->pairs, batch);
}
