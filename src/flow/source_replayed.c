/* Mini-batches of a superbatch, in the samplers' place: one thread reads them back in order. */
#include "flow/source.h"

/* Number of the item's batch in the superbatch. */
static uint32_t number_of(const struct og_replayed_source *s, uint64_t item)
{
    if (!s->by_draw)
        return (uint32_t)(item - s->items.first);
    const struct og_descriptor descriptor = og__item_at(&s->items, item);
    const uint64_t n_train = og__schedule_batches(s->items.schedule, OG__TRAIN);
    return descriptor.split == OG__TRAIN ? descriptor.drawn_batch
                                         : (uint32_t)n_train + descriptor.batch;
}

/* The first epoch that trains on a batch is the one that had it sampled. */
static void account_sampled(struct og_work *w, struct og_sampled_lookahead *lookahead)
{
    w->sample_seconds = lookahead->seconds;
    w->sampled_from = lookahead->from;
    lookahead->seconds = 0;
    lookahead->from = (struct og_sample_reads){0};
}

static int make(void *self, int thread, struct og_work *w, struct og_err *err)
{
    struct og_replayed_source *s = self;
    const uint64_t next = w->item + 1;
    (void)thread;
    w->number = number_of(s, w->item);
    int rc;
    OG_TRY(og__superbatch_replay(s->batches, w->number,
                                 next < s->items.last ? number_of(s, next) : UINT32_MAX,
                                 &w->sampled, &w->trace_read, err));
    if (!og__has_its_seeds(w))
        OG_TRY(og__fail(err, -EIO, "give this run a --scratch folder of its own",
                        "batches in --scratch were changed: batch %u has other seeds", w->number));
out:
    account_sampled(w, &s->lookahead[w->number]);
    if (w->item == s->items.first)
        w->lookahead = s->prepared;
    return rc;
}

struct og_batch_source og__source_replayed(struct og_replayed_source *s)
{
    return (struct og_batch_source){s, 1, "replay", make};
}
