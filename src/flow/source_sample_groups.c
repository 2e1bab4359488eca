/* Mini-batches that are drawn from a graph on disk, many at a time (sample/group_sampling.h). */
#include "flow/source.h"

#include "flow/filling.h"

/* ---- which batches ---- */

static bool is_mine(const struct og_sample_group_source *s, uint64_t item)
{
    return !s->skips_training || s->items.pass != OG__SPLITS ||
           og__item_at(&s->items, item).split != OG__TRAIN;
}

static int add_item(struct og_sample_group_source *s, uint64_t item, uint32_t *n_training,
                    struct og_err *err)
{
    const struct og_descriptor descriptor = og__item_at(&s->items, item);
    struct og_sample_key key = og__sample_key_of(&descriptor);
    og__seeds_take(&s->its_seeds, s->seeds, &descriptor);
    key.times = s->its_seeds.time;
    s->item[s->n] = item;
    int rc =
        og__group_sampling_add(s->group_sampling, s->its_seeds.node, s->its_seeds.n, &key, err);
    s->n += rc == 0;
    *n_training += descriptor.split == OG__TRAIN;
    return rc;
}

/* A run that is resumed in the middle of an epoch has validation batches in its first group. */
static void note_group(struct og_sample_group_source *s, uint32_t n_training)
{
    if (n_training <= s->n_training)
        return;
    s->told = s->counts.structure;
    s->n_told = s->n;
    s->n_training = n_training;
}

/* As many as there may be, from the first that no group has. */
static int sample_group(struct og_sample_group_source *s, struct og_err *err)
{
    uint32_t n_training = 0;
    og__group_sampling_clear(s->group_sampling);
    s->n = 0;
    for (; s->end < s->items.last && s->n < s->most; s->end++)
        if (is_mine(s, s->end))
            OG_DO(add_item(s, s->end, &n_training, err));
    OG_DO(og__group_sampling_sample(s->group_sampling, &s->counts, err));
    s->left = s->n;
    note_group(s, n_training);
    return 0;
}

static uint32_t number_of(const struct og_sample_group_source *s, uint64_t item)
{
    uint32_t low = 0;
    for (uint32_t high = s->n; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->item[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- one batch ---- */

/* Until the item is in the group, or nothing is any more. Who finds that all of the group before
 * are taken samples the next one. */
static int await_group(struct og_sample_group_source *s, uint64_t item, struct og_err *err)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    while (rc == 0 && !s->failed && item >= s->end) {
        if (s->left > 0) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        rc = sample_group(s, err);
        s->failed = rc < 0; /* before another looks: what there is of the group is no batch */
        pthread_cond_broadcast(&s->changed);
    }
    if (rc == 0 && s->failed)
        rc = OG__GIVEN_UP;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void end_take(struct og_sample_group_source *s, bool failed)
{
    pthread_mutex_lock(&s->lock);
    s->failed |= failed;
    s->left -= !failed;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The i-th of n equal parts, to the unit. */
static uint64_t part_of(uint64_t sum, uint32_t i, uint32_t n)
{
    return sum * (i + (uint64_t)1) / n - sum * i / n;
}

/* What the group read and wrote is counted in equal parts, so that an epoch has its own. */
static void account_part(const struct og_sample_group_source *s, uint32_t i, struct og_work *w)
{
    const struct og_group_sampling_counts *c = &s->counts;
    w->sampled_from.io.reads = part_of(c->structure.io.reads, i, s->n);
    w->sampled_from.io.bytes = part_of(c->structure.io.bytes, i, s->n);
    w->sampled_from.passes = part_of(c->structure.passes, i, s->n);
    w->trace_read.reads += part_of(c->drawn.reads, i, s->n);
    w->trace_read.bytes += part_of(c->drawn.bytes, i, s->n);
    w->lookahead.bytes_written += part_of(c->written, i, s->n);
}

static int take_batch(struct og_sample_group_source *s, int thread, struct og_work *w,
                      struct og_err *err)
{
    const uint32_t number = number_of(s, w->item);
    OG_DO(og__group_sampling_take(s->group_sampling, number, thread, &w->sampled, &w->trace_read,
                                  err));
    w->sampled_from = og__sampler_reads(s->sampled->samplers[thread]);
    account_part(s, number, w);
    og__seeds_exclude(&w->seeds, &w->descriptor, &w->sampled.batch);
    return 0;
}

static int make(void *self, int thread, struct og_work *w, struct og_err *err)
{
    struct og_sample_group_source *s = self;
    int rc;
    OG_TRY(await_group(s, w->item, err));
    OG_TRY(take_batch(s, thread, w, err));
out:
    end_take(s, rc < 0);
    return rc;
}

/* ---- open and close ---- */

int og__sample_group_source_open(struct og_sample_group_source *s,
                                 const struct og_topology *topology,
                                 const struct og_group_sampling_options *opt, struct og_err *err)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->end = s->items.first;
    s->most = opt->sizes.batches;
    s->item = og__alloc(s->budget, s->most * sizeof(*s->item), "sampler", err);
    OG_DO(s->item ? 0 : -ENOMEM);
    OG_DO(og__seeds_open(&s->its_seeds, s->seeds, s->budget, err));
    return og__group_sampling_open(&s->group_sampling, topology, opt, s->budget, err);
}

void og__sample_group_source_close(struct og_sample_group_source *s)
{
    og__seeds_close(&s->its_seeds);
    og__release(s->budget, s->item, s->most * sizeof(*s->item), "sampler");
    og__group_sampling_close(s->group_sampling);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

struct og_batch_source og__source_sample_groups(struct og_sample_group_source *s)
{
    return (struct og_batch_source){s, s->sampled->n_samplers, "sample", make};
}
