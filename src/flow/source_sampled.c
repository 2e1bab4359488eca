/* Mini-batches that are drawn from the graph, hop by hop; each thread has a sampler. */
#include "flow/source.h"

struct og_sample_key og__sample_key_of(const struct og_descriptor *descriptor)
{
    /* Evaluation draws the same neighbours every time: its figures differ by the model alone. */
    if (descriptor->split != OG__TRAIN)
        return (struct og_sample_key){.stream = OG__STREAM_EVAL,
                                      .epoch = (uint32_t)descriptor->split,
                                      .batch = descriptor->batch};
    return (struct og_sample_key){.stream = OG__STREAM_SAMPLE,
                                  .epoch = descriptor->drawn_epoch,
                                  .batch = descriptor->drawn_batch};
}

static int make(void *self, int thread, struct og_work *w, struct og_err *err)
{
    const struct og_sampled_source *s = self;
    struct og_sampler *sampler = s->samplers[thread];
    struct og_sample_key key = og__sample_key_of(&w->descriptor);
    key.times = w->seeds.time;
    int rc;
    OG_TRY(og__sample_begin(sampler, w->seeds.node, w->seeds.n, &w->sampled, err));
    for (int hop = 0; hop < s->n_hops; hop++)
        OG_TRY(og__sample_hop(sampler, &key, hop, &w->sampled, err));
    w->sampled_from = og__sampler_reads(sampler);
    og__seeds_exclude(&w->seeds, &w->descriptor, &w->sampled.batch);
out:
    return rc;
}

struct og_batch_source og__source_sampled(struct og_sampled_source *s)
{
    return (struct og_batch_source){s, s->n_samplers, "sample", make};
}
