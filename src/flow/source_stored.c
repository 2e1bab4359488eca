/* Training batches of a run from the folder that `outgrow sample` made. Batches of evaluation,
 * which it does not have, are sampled. */
#include "flow/source.h"

#include <string.h>

bool og__has_its_seeds(const struct og_work *w)
{
    const struct og_batch *b = &w->sampled.batch;
    const bool unnamed = b->n_places > 0 && !b->row; /* read without blocks: later with them */
    return b->n_seeds == w->seeds.n && (unnamed || memcmp(og__place_nodes(b), w->seeds.node,
                                                          b->n_seeds * sizeof(*b->ids)) == 0);
}

static bool has(const struct og_stored_source *s, const struct og_descriptor *descriptor)
{
    return s->items.pass == OG__SPLITS && descriptor->split == OG__TRAIN;
}

/* Let the batch that this thread will likely read next come meanwhile. */
static void prefetch_next(const struct og_stored_source *s, uint64_t item)
{
    const uint64_t next = item + (uint64_t)s->sampled.n_threads;
    if (s->ids_only || next >= s->items.last)
        return;
    const struct og_descriptor descriptor = og__item_at(&s->items, next);
    const uint32_t number = og__offline_number(s->folder, &descriptor);
    if (has(s, &descriptor) && number != UINT32_MAX)
        og__samples_prefetch(s->folder->samples, number);
}

static int read_batch(const struct og_stored_source *s, struct og_work *w, struct og_err *err)
{
    const uint32_t number = og__offline_number(s->folder, &w->descriptor);
    if (number == UINT32_MAX)
        return og__fail(err, -EINVAL, "sample with more --epochs",
                        "--samples %s: no batches for epoch %u", s->folder->dir,
                        w->descriptor.epoch);
    OG_DO(og__samples_read(s->folder->samples, number, !s->ids_only, &w->sampled, &w->trace_read,
                           err));
    prefetch_next(s, w->item);
    w->stored = true;
    return og__has_its_seeds(w) ? 0
                                : og__fail(err, -EINVAL, "sample again with `outgrow sample`",
                                           "--samples %s: batch %u has other seeds than this run",
                                           s->folder->dir, number);
}

static int make(void *self, int thread, struct og_work *w, struct og_err *err)
{
    struct og_stored_source *s = self;
    if (has(s, &w->descriptor))
        return read_batch(s, w, err);
    return s->sampled.make(s->sampled.self, thread, w, err);
}

struct og_batch_source og__source_stored(struct og_stored_source *s)
{
    return (struct og_batch_source){s, s->sampled.n_threads, "sample", make};
}
