#include "sample/schedule.h"

static uint64_t all_batches(const struct og_schedule *s, enum og__split split)
{
    const uint64_t whole = s->n_seeds[split] / s->batch_size;
    if (s->whole_rounds > 0 && split == OG__TRAIN)
        return whole - whole % s->whole_rounds;
    return whole + (s->n_seeds[split] % s->batch_size > 0);
}

int og__schedule_check(const struct og_schedule *s, struct og_err *err)
{
    for (int i = 0; i < OG__SPLITS; i++)
        if (all_batches(s, (enum og__split)i) > (uint64_t)UINT32_MAX + 1)
            return og__fail(err, -EOVERFLOW, "give a larger --batch",
                            "--batch %u: more than 2^32 batches of %llu seeds", s->batch_size,
                            (unsigned long long)s->n_seeds[i]);
    return 0;
}

struct og_schedule og__schedule_whole(const struct og_schedule *s)
{
    struct og_schedule whole = *s;
    whole.share = (struct og_share){0};
    return whole;
}

/* The number, among all batches, of batch `own` of the share. */
static uint64_t among_all(const struct og_schedule *s, uint64_t own)
{
    return own * OG_MAX(s->share.ranks, 1u) + s->share.rank;
}

uint64_t og__schedule_batches(const struct og_schedule *s, enum og__split split)
{
    const uint64_t ranks = OG_MAX(s->share.ranks, 1u);
    return (all_batches(s, split) + ranks - 1 - s->share.rank) / ranks;
}

uint32_t og__schedule_drawn(const struct og_schedule *s, uint32_t epoch)
{
    uint32_t every = (uint32_t)OG_MAX(s->resample_every, 1);
    return epoch - (epoch - 1) % every;
}

/* Every eval_every epochs, and at the end. */
bool og__schedule_evaluates(const struct og_schedule *s, uint32_t epoch)
{
    if (s->eval_every == 0 || s->n_seeds[OG__VALID] == 0)
        return false;
    return epoch % (uint32_t)s->eval_every == 0 || epoch == (uint32_t)s->epochs;
}

uint64_t og__schedule_start(const struct og_schedule *s, uint32_t epoch)
{
    uint64_t before = epoch - 1;
    uint64_t evaluated = s->eval_every ? before / (uint64_t)s->eval_every : 0;
    /* the extra evaluation after the last epoch */
    if (before == (uint64_t)s->epochs && s->eval_every && before % (uint64_t)s->eval_every)
        evaluated++;
    return before * og__schedule_batches(s, OG__TRAIN) +
           evaluated * og__schedule_batches(s, OG__VALID);
}

uint64_t og__schedule_items(const struct og_schedule *s)
{
    return og__schedule_start(s, (uint32_t)s->epochs + 1);
}

static struct og_descriptor descriptor_of(const struct og_schedule *s, enum og__split split,
                                          uint64_t batch)
{
    uint64_t first = batch * s->batch_size;
    uint64_t left = s->n_seeds[split] - first;
    return (struct og_descriptor){.split = split,
                                  .batch = (uint32_t)batch,
                                  .drawn_batch = (uint32_t)batch,
                                  .first = first,
                                  .n_seeds = (uint32_t)OG_MIN(left, (uint64_t)s->batch_size)};
}

struct og_descriptor og__schedule_pass(const struct og_schedule *s, enum og__split split,
                                       uint64_t batch)
{
    return descriptor_of(s, split, batch);
}

/* Epochs that reuse batches take them in an order of their own. */
static struct og_descriptor training_descriptor(const struct og_schedule *s, uint32_t epoch,
                                                uint64_t batch)
{
    uint32_t drawn = og__schedule_drawn(s, epoch);
    uint64_t which = batch;
    if (drawn != epoch && s->shuffle) {
        struct og_permutation order;
        og__permutation_init(&order, all_batches(s, OG__TRAIN), s->seed, epoch);
        which = og__permutation_at(&order, batch);
    }
    struct og_descriptor descriptor = descriptor_of(s, OG__TRAIN, which);
    descriptor.batch = (uint32_t)batch;
    descriptor.epoch = epoch;
    descriptor.drawn_epoch = drawn;
    return descriptor;
}

static struct og_descriptor evaluation_descriptor(const struct og_schedule *s, uint32_t epoch,
                                                  uint64_t batch)
{
    struct og_descriptor descriptor = descriptor_of(s, OG__VALID, batch);
    descriptor.epoch = descriptor.drawn_epoch = epoch;
    return descriptor;
}

struct og_descriptor og__schedule_at(const struct og_schedule *s, uint64_t item)
{
    uint32_t low = 1;
    uint32_t high = (uint32_t)s->epochs;
    while (low < high) { /* the last epoch that starts at or before item */
        uint32_t middle = low + (high - low + 1) / 2;
        if (og__schedule_start(s, middle) <= item)
            low = middle;
        else
            high = middle - 1;
    }
    uint64_t n_train = og__schedule_batches(s, OG__TRAIN);
    uint64_t offset = item - og__schedule_start(s, low);
    struct og_descriptor descriptor =
        offset < n_train ? training_descriptor(s, low, among_all(s, offset))
                         : evaluation_descriptor(s, low, among_all(s, offset - n_train));
    descriptor.last_of_epoch = item + 1 == og__schedule_start(s, low + 1);
    return descriptor;
}

uint64_t og__schedule_stretch(const struct og_schedule *s, uint64_t item)
{
    const uint64_t items = og__schedule_items(s);
    if (!s->may_stop || item >= items)
        return items;
    uint32_t epoch = og__schedule_at(s, item).epoch;
    while (epoch < (uint32_t)s->epochs && !og__schedule_evaluates(s, epoch))
        epoch++;
    return og__schedule_start(s, epoch + 1);
}

uint64_t og__share_item(const struct og_schedule *s, uint64_t item)
{
    const struct og_schedule whole = og__schedule_whole(s);
    const uint64_t ranks = OG_MAX(s->share.ranks, 1u);
    if (item >= og__schedule_items(&whole))
        return og__schedule_items(s);
    const struct og_descriptor d = og__schedule_at(&whole, item);
    const uint64_t before = (d.batch + ranks - 1 - s->share.rank) / ranks; /* of its split */
    const uint64_t n_train = d.split == OG__TRAIN ? 0 : og__schedule_batches(s, OG__TRAIN);
    return og__schedule_start(s, d.epoch) + n_train + before;
}

struct og_descriptor og__item_at(const struct og_items *items, uint64_t item)
{
    return items->pass == OG__SPLITS
               ? og__schedule_at(items->schedule, item)
               : og__schedule_pass(items->schedule, items->pass, among_all(items->schedule, item));
}

/* Neighbours in the order stay together by chunks. Where chunks begin is drawn for each epoch. What
 * is left of whole chunks comes last. */
static void places_by_chunk(const struct og_schedule *s, const struct og_descriptor *descriptor,
                            uint64_t *place)
{
    const uint64_t n = s->n_seeds[OG__TRAIN], size = s->locality;
    const uint64_t whole = n / size * size;
    struct og_permutation chunks;
    uint32_t word[4];
    uint64_t first = 0; /* place in the order of the chunk at hand */
    og__philox(s->seed, OG__STREAM_ORDER, descriptor->drawn_epoch, 0, 0, 0, 0, word);
    const uint64_t offset = ((uint64_t)word[0] << 32 | word[1]) % n;
    og__permutation_init(&chunks, n / size, s->seed, descriptor->drawn_epoch);
    for (uint32_t i = 0; i < descriptor->n_seeds; i++) {
        const uint64_t q = descriptor->first + i;
        if (q < whole && (i == 0 || q % size == 0))
            first = og__permutation_at(&chunks, q / size) * size;
        const uint64_t at = (offset + (q < whole ? first + q % size : q)) % n;
        place[i] = s->order ? s->order[at] : at;
    }
}

void og__schedule_places(const struct og_schedule *s, const struct og_descriptor *descriptor,
                         uint64_t *place)
{
    struct og_permutation order;
    const bool of_run = descriptor->drawn_epoch > 0; /* a pass takes them in order */
    bool shuffled = s->shuffle && descriptor->split == OG__TRAIN && of_run;
    if (shuffled && s->locality > 1) {
        places_by_chunk(s, descriptor, place);
        return;
    }
    og__permutation_init(&order, s->n_seeds[descriptor->split], s->seed, descriptor->drawn_epoch);
    if (shuffled)
        og__permutation_get(&order, descriptor->first, descriptor->n_seeds, place);
    for (uint32_t i = 0; !shuffled && i < descriptor->n_seeds; i++)
        place[i] = descriptor->first + i;
}

/* ---- rounds ---- */

uint64_t og__round_end(const struct og_items *whole, uint32_t ranks, uint64_t item)
{
    const struct og_descriptor d = og__item_at(whole, item);
    const uint64_t left = og__schedule_batches(whole->schedule, d.split) - d.batch;
    return item + OG_MIN(left, (uint64_t)(ranks - d.batch % ranks));
}

uint64_t og__round_start(const struct og_items *share, uint64_t own)
{
    const struct og_descriptor d = og__item_at(share, own);
    const struct og_schedule whole = og__schedule_whole(share->schedule);
    const uint64_t before = d.batch - d.batch % OG_MAX(share->schedule->share.ranks, 1u);
    if (share->pass != OG__SPLITS)
        return before;
    const uint64_t n_train = d.split == OG__TRAIN ? 0 : og__schedule_batches(&whole, OG__TRAIN);
    return og__schedule_start(&whole, d.epoch) + n_train + before;
}
