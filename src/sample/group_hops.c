/* A hop of all batches of a group. */
#include "sample/group_sampling_parts.h"

#include "base/thread.h"
#include "dataset/on_disk.h"
#include "sample/kinds.h"
#include "sample/related.h"

#include <string.h>

static const char part[] = "sampler";

/* ---- a batch in the current pass ---- */

/* The pass's draws for a batch with complete earlier hops. */
static struct og_hop hop_of(const struct og_group_sampling *t, const struct og_group_lane *lane,
                            const struct og_group_member *m)
{
    return og__hop_of(lane->sampler, &m->key, (uint32_t)t->hop, t->list);
}

/* Nodes that draw are all that were found before the hop; where they draw once, the latest. Only
 * those whose lists the relation has. */
static struct og_frontier frontier_of(const struct og_group_sampling *t,
                                      const struct og_group_lane *lane, struct og_group_member *m)
{
    const uint32_t group = og__destination_group(lane->sampler, t->list);
    struct og_frontier f = {.step = t->step, .going = &m->going};
    for (int h = lane->sampler->how.once ? t->hop : 0; h <= t->hop; h++) {
        const uint32_t *start = og__group_starts(t, m, h) + group;
        f.part[f.n++] =
            (struct og_nodes){.id = m->found[h].data + start[0],
                              .tree = t->shape.trees ? m->tree[h].data + start[0] : NULL,
                              .n = start[1] - start[0]};
    }
    return f;
}

static struct og_pass *pass_at(const struct og_group_sampling *t)
{
    return &t->pass[((size_t)t->hop * t->n_lists + t->list) * t->shape.steps + t->step];
}

/* ---- a hop of all batches ---- */

/* A lane keeps the first failure of its tasks. */
static void fail_lane(struct og_group_lane *lane, int rc, const struct og_err *err)
{
    if (rc < 0 && lane->rc == 0) {
        lane->rc = rc;
        lane->err = *err;
    }
}

static int run_tasks(struct og_group_sampling *t, size_t n,
                     void (*fn)(void *arg, size_t task, int thread), struct og_err *err)
{
    og__pool_run(t->pool, n, fn, t);
    for (int i = 0; i < t->n_lanes; i++) {
        const struct og_group_lane *lane = &t->lane[i];
        if (lane->rc < 0)
            return og__fail(err, lane->rc, lane->err.hint, "%s", lane->err.message);
    }
    return og__stop_requested(t->stop) ? og__fail(err, OG_INTERRUPTED, NULL, "interrupted") : 0;
}

static bool has_failed(const struct og_group_sampling *t, const struct og_group_lane *lane)
{
    return lane->rc < 0 || og__stop_requested(t->stop);
}

/* Stores the nodes that the previous hop found. */
static void find_batch(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct og_group_lane *lane = &t->lane[thread];
    const struct og_batch *b = &lane->batch.batch;
    struct og_err why = {0};
    int rc = 0;
    if (has_failed(t, lane))
        return;
    OG_TRY(og__group_join(t, lane, (uint32_t)task, t->hop, &lane->batch, &why));
    const uint32_t n_dst = b->hop[t->hop - 1].n_dst;
    const struct og_trees *trees = lane->sampler->trees;
    const struct og_nodes found = {.id = og__place_nodes(b) + n_dst,
                                   .tree = trees ? trees->tree + n_dst : NULL,
                                   .n = og__n_places(b) - n_dst};
    OG_TRY(og__group_keep_found(t, lane->sampler, &t->member[task], t->hop, &found, &why));
out:
    fail_lane(lane, rc, &why);
}

/* Requests the pass's blocks. */
static void want_batch(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct og_group_lane *lane = &t->lane[thread];
    struct og_group_member *m = &t->member[task];
    struct og_runs runs = og__group_runs(t, lane, (uint32_t)task);
    struct og_err why = {0};
    if (has_failed(t, lane))
        return;
    const struct og_hop hop = hop_of(t, lane, m);
    const struct og_frontier frontier = frontier_of(t, lane, m);
    lane->sampler->runs = &runs;
    og__relation_begin(lane->sampler, t->list);
    const int rc = t->ops->want(&hop, pass_at(t), &frontier, &m->n_drawn, &why);
    og__relation_end(lane->sampler, t->list);
    og__group_end_runs(lane);
    fail_lane(lane, rc, &why);
}

static int append_run(struct og_group_sampling *t, struct og_run *run, const uint32_t *drawn,
                      size_t n, struct og_err *err)
{
    pthread_mutex_lock(&t->appending);
    *run = (struct og_run){og__spill_size(t->store), (uint32_t)n};
    int rc = og__spill_append(t->store, drawn, n * sizeof(*drawn), err);
    pthread_mutex_unlock(&t->appending);
    return rc;
}

/* Collects the batch's draws from the current range. */
static void gather_batch(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct og_group_lane *lane = &t->lane[thread];
    struct og_group_member *m = &t->member[task];
    const struct og_pass *pass = pass_at(t);
    struct og_taken taken = {.words = &lane->drawn};
    struct og_err why = {0};
    int rc = 0;
    if (has_failed(t, lane))
        return;
    const struct og_hop hop = hop_of(t, lane, m);
    const struct og_frontier frontier = frontier_of(t, lane, m);
    OG_TRY(og__words_reserve(&lane->drawn, m->n_drawn, t->budget, &why));
    if (t->shape.trees)
        OG_TRY(og__key_trees(lane->sampler, &m->key, m->seeds.data, (uint32_t)m->seeds.capacity,
                             &why));
    og__relation_begin(lane->sampler, t->list);
    rc = t->ops->gather(&hop, pass, t->range, &frontier, &taken, &why);
    og__relation_end(lane->sampler, t->list);
    OG_TRY(rc);
    OG_TRY(append_run(t, og__run_of(pass, t->range->number, (uint32_t)task), lane->drawn.data,
                      taken.n, &why));
out:
    fail_lane(lane, rc, &why);
}

/* Nodes of the range that a task arranges: a few slices for each thread. */
static uint32_t slices(const struct og_group_sampling *t, const struct og_pass *p,
                       const struct og_range *range)
{
    const uint32_t n = p->cut[range->number + 1] - p->cut[range->number];
    return n / (16 * (uint32_t)t->n_lanes) + 1;
}

static void arrange_slice(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct og_group_lane *lane = &t->lane[thread];
    const struct og_pass *pass = pass_at(t);
    const uint32_t first = pass->cut[t->range->number] + (uint32_t)task * t->slice;
    const uint32_t end = pass->cut[t->range->number + 1];
    struct og_err why = {0};
    if (has_failed(t, lane))
        return;
    const struct og_hop hop = hop_of(t, lane, &t->member[0]);
    og__relation_begin(lane->sampler, t->list);
    const int rc =
        og__listed_arrange(&hop, pass, t->range, first, OG_MIN(t->slice, end - first), &why);
    og__relation_end(lane->sampler, t->list);
    fail_lane(lane, rc, &why);
}

static int arrange_range(struct og_group_sampling *t, const struct og_pass *pass,
                         struct og_err *err)
{
    const struct og_sampler *s = t->lane[0].sampler;
    if (!og__sampler_ops(s->how.kind)->arrange || s->how.time == OG_TIMES_OFF)
        return 0;
    t->slice = slices(t, pass, t->range);
    const uint32_t n = pass->cut[t->range->number + 1] - pass->cut[t->range->number];
    return run_tasks(t, (n + t->slice - 1) / t->slice, arrange_slice, err);
}

static int read_ranges(struct og_group_sampling *t, const struct og_pass *pass,
                       struct og_io_counts *read, struct og_err *err)
{
    const uint32_t n_ranges = pass->requested.n_ranges;
    struct og_ranges *ranges;
    int rc = og__ranges_start(&ranges, &pass->requested, &t->topology->stored->opt.reader,
                              t->budget, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n_ranges; i++) {
        OG_TRY(og__ranges_next(ranges, &t->range, err));
        OG_TRY(arrange_range(t, pass, err));
        OG_TRY(run_tasks(t, t->n, gather_batch, err));
        og__ranges_put(ranges, t->range);
    }
out:
    og__ranges_stop(ranges, read);
    return rc;
}

static void clear_bits(struct og_pass *pass)
{
    for (uint32_t a = 0; a < pass->requested.n_arrays; a++) {
        struct og_requested_blocks *w = &pass->requested.array[a];
        memset(w->bits, 0, og__bits_words(w->n_blocks) * sizeof(*w->bits));
        w->tail = false;
    }
}

/* Requested blocks; with whole lists these may be only the tail. */
static uint64_t count_bits(struct og_pass *pass)
{
    uint64_t n = 0;
    for (uint32_t a = 0; a < pass->requested.n_arrays; a++) {
        struct og_requested_blocks *w = &pass->requested.array[a];
        w->n = og__bits_count(w->bits, w->n_blocks, w->rank);
        n += w->n;
    }
    return n;
}

static int sample_step(struct og_group_sampling *t, struct og_group_sampling_counts *counts,
                       struct og_err *err)
{
    const struct og_topology *lists = og__group_lists_at(t, t->list, t->step);
    struct og_pass *pass = pass_at(t);
    uint64_t n_requested;
    clear_bits(pass);
    OG_DO(run_tasks(t, t->n, want_batch, err));
    og__group_drop_runs(t, pass);
    n_requested = count_bits(pass);
    counts->requested.blocks[t->hop] += n_requested;
    counts->structure.passes += n_requested > 0;
    t->ops->cut(lists, pass);
    pass->n_batches = t->n;
    pass->run = og__alloc(t->budget, og__group_runs_bytes(pass), part, err);
    OG_DO(pass->run || og__group_runs_bytes(pass) == 0 ? 0 : -ENOMEM);
    if (pass->requested.n_ranges > 0)
        OG_DO(read_ranges(t, pass, &counts->structure.io, err));
    return 0;
}

static int sample_hop(struct og_group_sampling *t, struct og_group_sampling_counts *counts,
                      struct og_err *err)
{
    int rc = t->hop > 0 ? run_tasks(t, t->n, find_batch, err) : 0;
    OG_TRY(rc);
    for (t->list = 0; t->list < t->n_lists; t->list++) {
        const struct og_sample_key any = {0};
        const bool draws =
            !t->topology->relation ||
            og__hop_of(t->lane[0].sampler, &any, (uint32_t)t->hop, t->list).fanout != 0;
        for (t->step = 0;
             draws && t->step < t->shape.steps && og__group_lists_at(t, t->list, t->step);
             t->step++) /* walks end where none leads back */
            OG_TRY(sample_step(t, counts, err));
    }
out:
    return rc;
}

int og__group_sampling_sample(struct og_group_sampling *t, struct og_group_sampling_counts *counts,
                              struct og_err *err)
{
    const uint64_t written = og__spill_written(t->store);
    struct og_sample_group_requests *requested = &counts->requested;
    int rc = 0;
    *counts = (struct og_group_sampling_counts){.requested = {t->n, (uint32_t)t->n_hops, {0}, 0}};
    for (size_t i = 0; i < og__group_passes(t) / (size_t)t->n_hops; i++)
        for (uint32_t a = 0; a < t->pass[i].requested.n_arrays; a++)
            requested->of += t->pass[i].requested.array[a].n_blocks;
    for (t->hop = 0; t->hop < t->n_hops; t->hop++)
        OG_TRY(sample_hop(t, counts, err));
out:
    for (int i = 0; i < t->n_lanes; i++)
        og__group_take_counts(&t->lane[i], &counts->drawn);
    counts->written = og__spill_written(t->store) - written;
    return rc;
}
