#include "sample/group_sampling.h"

#include "base/thread.h"
#include "dataset/on_disk.h"
#include "sample/group_sampling_parts.h"
#include "sample/kinds.h"
#include "sample/related.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "sampler";

/* ---- open and close ---- */

size_t og__group_passes(const struct og_group_sampling *t)
{
    return (size_t)t->n_hops * t->n_lists * t->shape.steps;
}

const struct og_topology *og__group_lists_at(const struct og_group_sampling *t, uint32_t list,
                                             uint32_t step)
{
    const struct og_topology *whole = t->topology;
    const uint32_t back = whole->relation ? whole->relation[list].back : list;
    const uint32_t read = step % 2 == 1 && t->shape.walks > 0 ? back : list;
    const struct og_topology *lists = read != OG__NO_RELATION ? og__lists_seen(whole, read) : NULL;
    return lists && lists->disk ? lists : NULL;
}

static uint64_t pass_ranges(const struct og_pass *p)
{
    return og__group_ranges(p->requested.array[0].n_blocks, p->shift);
}

static size_t cuts_bytes(const struct og_pass *p)
{
    return (pass_ranges(p) + 1) * sizeof(*p->cut);
}

static size_t stretch_bytes(const struct og_pass *p)
{
    return pass_ranges(p) * sizeof(struct og_stretch);
}

static int open_array(struct og_group_sampling *t, struct og_pass *p, uint32_t a,
                      const struct og_blocks *of, struct og_err *err)
{
    struct og_requested_blocks *w = &p->requested.array[a];
    w->of = of;
    w->n_blocks = of->n_blocks;
    w->most = OG_MIN(og__group_range_blocks(&t->shape, a, p->shift), of->n_blocks + 1);
    const size_t words = og__bits_words(w->n_blocks);
    w->bits = og__alloc(t->budget, words * sizeof(*w->bits), part, err);
    w->rank = og__alloc(t->budget, words * sizeof(*w->rank), part, err);
    p->requested.stretch[a] = og__alloc(t->budget, stretch_bytes(p), part, err);
    return w->bits && w->rank && p->requested.stretch[a] ? 0 : -ENOMEM;
}

/* A pass without lists requests nothing, and has no arrays. */
static int open_pass(struct og_group_sampling *t, uint32_t list, uint32_t step, struct og_pass *p,
                     struct og_err *err)
{
    const struct og_topology *lists = og__group_lists_at(t, list, step);
    p->shift = t->sizes.shift;
    if (!lists)
        return 0;
    const struct og_npy *beside[OG__PASS_ARRAYS - 1];
    p->requested.n_arrays =
        1 + og__arrays_beside(lists->disk->of, &t->lane[0].sampler->how, beside);
    OG_DO(open_array(t, p, 0, &lists->disk->lists, err));
    for (uint32_t a = 1; a < p->requested.n_arrays; a++)
        OG_DO(open_array(t, p, a, &t->beside[a - 1][list], err));
    p->cut = og__alloc(t->budget, cuts_bytes(p), part, err);
    return p->cut ? 0 : -ENOMEM;
}

static int open_passes(struct og_group_sampling *t, struct og_err *err)
{
    const uint32_t steps = t->shape.steps;
    t->pass = calloc(og__group_passes(t), sizeof(*t->pass));
    OG_DO(t->pass ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    for (size_t i = 0; i < og__group_passes(t); i++)
        OG_DO(open_pass(t, (uint32_t)(i / steps % t->n_lists), (uint32_t)(i % steps), &t->pass[i],
                        err));
    return 0;
}

static int lay_beside(struct og_group_sampling *t, uint32_t list, struct og_err *err)
{
    const struct og_topology *lists = og__group_lists_at(t, list, 0);
    const struct og_npy *beside[OG__PASS_ARRAYS - 1];
    const uint32_t n =
        lists ? og__arrays_beside(lists->disk->of, &t->lane[0].sampler->how, beside) : 0;
    for (uint32_t a = 0; a < n; a++)
        OG_DO(og__blocks_lay(&t->beside[a][list], beside[a], err));
    return 0;
}

static int open_beside(struct og_group_sampling *t, struct og_err *err)
{
    for (uint32_t a = 0; a + 1 < t->shape.n_arrays; a++)
        if (!(t->beside[a] = calloc(t->n_lists, sizeof(*t->beside[a]))))
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    for (uint32_t r = 0; r < t->n_lists; r++)
        OG_DO(lay_beside(t, r, err));
    return 0;
}

size_t og__group_runs_bytes(const struct og_pass *p)
{
    return (size_t)p->requested.n_ranges * p->n_batches * sizeof(*p->run);
}

void og__group_drop_runs(struct og_group_sampling *t, struct og_pass *p)
{
    og__release(t->budget, p->run, og__group_runs_bytes(p), part);
    p->run = NULL;
    p->requested.n_ranges = 0;
}

static void close_array(struct og_group_sampling *t, struct og_pass *p, uint32_t a)
{
    struct og_requested_blocks *w = &p->requested.array[a];
    const size_t words = og__bits_words(w->n_blocks);
    og__release(t->budget, w->bits, words * sizeof(*w->bits), part);
    og__release(t->budget, w->rank, words * sizeof(*w->rank), part);
    og__release(t->budget, p->requested.stretch[a], stretch_bytes(p), part);
}

static void close_pass(struct og_group_sampling *t, struct og_pass *p)
{
    og__group_drop_runs(t, p);
    og__release(t->budget, p->cut, cuts_bytes(p), part);
    for (uint32_t a = 0; a < p->requested.n_arrays; a++)
        close_array(t, p, a);
}

static int open_lanes(struct og_group_sampling *t, const struct og_group_sampling_options *opt,
                      struct og_err *err)
{
    t->lane = calloc((size_t)opt->n_samplers, sizeof(*t->lane));
    if (!t->lane)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    t->n_lanes = opt->n_samplers;
    for (int i = 0; i < t->n_lanes; i++) {
        t->lane[i].sampler = opt->samplers[i];
        og__batch_init(&t->lane[i].batch, t->budget);
    }
    return og__pool_open(&t->pool, t->n_lanes, err);
}

int og__group_sampling_open(struct og_group_sampling **out, const struct og_topology *topology,
                            const struct og_group_sampling_options *opt, struct og_budget *b,
                            struct og_err *err)
{
    *out = NULL;
    struct og_group_sampling *t = calloc(1, sizeof(*t));
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    const struct og_sampling *how = &opt->samplers[0]->how;
    t->topology = topology;
    t->sizes = opt->sizes;
    t->stop = opt->stop;
    t->budget = b;
    t->n_hops = opt->samplers[0]->n_hops;
    t->n_lists = og__n_lists(topology);
    t->n_groups = og__n_destination_groups(opt->samplers[0]);
    t->ops = og__sampler_ops(how->kind)->pass;
    t->shape = og__group_sampling_shape(topology->stored->graph, topology, how);
    pthread_mutex_init(&t->appending, NULL);
    const struct og_spill_options store = {
        .scratch = opt->scratch, .memory = opt->sizes.memory, .part = part};
    int rc;
    OG_TRY(open_lanes(t, opt, err));
    OG_TRY(open_beside(t, err));
    t->member = og__alloc(b, t->sizes.batches * sizeof(*t->member), part, err);
    OG_TRY(t->member ? 0 : -ENOMEM);
    OG_TRY(open_passes(t, err));
    OG_TRY(og__spill_open(&t->store, &store, b, err));
    *out = t;
    return 0;
out:
    og__group_sampling_close(t);
    return rc;
}

void og__group_sampling_clear(struct og_group_sampling *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        for (int h = 0; h < t->n_hops; h++) {
            og__words_release(&t->member[i].found[h], t->budget);
            og__words_release(&t->member[i].tree[h], t->budget);
        }
        og__words_release(&t->member[i].times, t->budget);
        og__words_release(&t->member[i].seeds, t->budget);
        og__words_release(&t->member[i].start, t->budget);
        og__words_release(&t->member[i].going.words, t->budget);
    }
    t->n = 0;
    for (size_t i = 0; t->pass && i < og__group_passes(t); i++)
        og__group_drop_runs(t, &t->pass[i]);
    if (t->store)
        og__spill_clear(t->store);
}

void og__group_sampling_close(struct og_group_sampling *t)
{
    if (!t)
        return;
    og__group_sampling_clear(t);
    for (size_t i = 0; t->pass && i < og__group_passes(t); i++)
        close_pass(t, &t->pass[i]);
    free(t->pass);
    for (size_t a = 0; a < OG_COUNT(t->beside); a++)
        free(t->beside[a]);
    for (int i = 0; i < t->n_lanes; i++) {
        og__batch_release(&t->lane[i].batch);
        og__words_release(&t->lane[i].drawn, t->budget);
        og__words_release(&t->lane[i].cursor, t->budget);
        og__words_release(&t->lane[i].taken, t->budget);
    }
    free(t->lane);
    og__release(t->budget, t->member, t->sizes.batches * sizeof(*t->member), part);
    og__spill_close(t->store);
    og__pool_close(t->pool);
    pthread_mutex_destroy(&t->appending);
    free(t);
}

/* ---- batches ---- */

static int keep(struct og_group_sampling *t, struct og_words *found, const uint32_t *ids,
                uint32_t n, struct og_err *err)
{
    int rc = og__words_reserve(found, n, t->budget, err);
    if (rc == 0 && n > 0)
        memcpy(found->data, ids, n * sizeof(*ids));
    return rc;
}

uint32_t *og__group_starts(const struct og_group_sampling *t, const struct og_group_member *m,
                           int hop)
{
    return m->start.data + (size_t)hop * (t->n_groups + 1);
}

/* The trees of n sorted nodes. `of` has those of the unsorted ones; NULL: each has its own. */
static int keep_trees(struct og_group_sampling *t, struct og_words *tree, const uint32_t *position,
                      const uint32_t *of, uint32_t n, struct og_err *err)
{
    int rc = t->shape.trees ? og__words_reserve(tree, n, t->budget, err) : 0;
    for (uint32_t i = 0; t->shape.trees && rc == 0 && i < n; i++) {
        const uint32_t at = position ? position[i] : i;
        tree->data[i] = of ? of[at] : at;
    }
    return rc;
}

int og__group_keep_found(struct og_group_sampling *t, struct og_sampler *s,
                         struct og_group_member *m, int hop, const struct og_nodes *nodes,
                         struct og_err *err)
{
    uint32_t *start = og__group_starts(t, m, hop);
    struct og_grouped by;
    OG_DO(og__sort_by_group(s, nodes->id, (uint32_t)nodes->n, start, &by, err));
    OG_DO(keep(t, &m->found[hop], by.number, start[t->n_groups], err));
    return keep_trees(t, &m->tree[hop], by.position, nodes->tree, start[t->n_groups], err);
}

/* The caller's are those of another batch by then. */
static int keep_times(struct og_group_sampling *t, struct og_group_member *m, uint32_t n,
                      struct og_err *err)
{
    if (!m->key.times)
        return 0;
    OG_DO(og__words_reserve(&m->times, 2 * (size_t)n, t->budget, err));
    if (n > 0)
        memcpy(m->times.data, m->key.times, n * sizeof(*m->key.times));
    m->key.times = (const void *)m->times.data;
    return 0;
}

int og__group_sampling_add(struct og_group_sampling *t, const uint32_t *seeds, uint32_t n_seeds,
                           const struct og_sample_key *key, struct og_err *err)
{
    struct og_group_member *m = &t->member[t->n++];
    *m = (struct og_group_member){.key = *key};
    OG_DO(keep(t, &m->seeds, seeds, n_seeds, err));
    OG_DO(og__words_reserve(&m->start, (size_t)t->n_hops * (t->n_groups + 1), t->budget, err));
    OG_DO(keep_times(t, m, n_seeds, err));
    return og__group_keep_found(t, t->lane[0].sampler, m, 0,
                                &(struct og_nodes){.id = seeds, .n = n_seeds}, err);
}

struct og_runs og__group_runs(const struct og_group_sampling *t, struct og_group_lane *lane,
                              uint32_t i)
{
    return (struct og_runs){.pass = t->pass,
                            .n_lists = t->n_lists,
                            .steps = t->shape.steps,
                            .batch = i,
                            .store = t->store,
                            .drawn = &lane->drawn,
                            .cursor = &lane->cursor,
                            .taken = &lane->taken};
}

void og__group_end_runs(struct og_group_lane *lane)
{
    const struct og_runs *runs = lane->sampler->runs;
    lane->read.reads += runs->read > 0;
    lane->read.bytes += runs->read;
    lane->sampler->runs = NULL;
}

int og__group_join(struct og_group_sampling *t, struct og_group_lane *lane, uint32_t i, int n_hops,
                   struct og_batch_memory *out, struct og_err *err)
{
    const struct og_group_member *m = &t->member[i];
    struct og_runs runs = og__group_runs(t, lane, i);
    struct og_sampler *s = lane->sampler;
    s->runs = &runs;
    int rc;
    OG_TRY(og__sample_begin(s, m->seeds.data, (uint32_t)m->seeds.capacity, out, err));
    for (int h = 0; h < n_hops; h++)
        OG_TRY(og__sample_hop(s, &m->key, h, out, err));
out:
    og__group_end_runs(lane);
    return rc;
}

void og__group_take_counts(struct og_group_lane *lane, struct og_io_counts *sum)
{
    sum->reads += lane->read.reads;
    sum->bytes += lane->read.bytes;
    lane->read = (struct og_io_counts){0};
}

int og__group_sampling_take(struct og_group_sampling *t, uint32_t i, int thread,
                            struct og_batch_memory *out, struct og_io_counts *read,
                            struct og_err *err)
{
    struct og_group_lane *lane = &t->lane[thread];
    int rc = og__group_join(t, lane, i, t->n_hops, out, err);
    og__group_take_counts(lane, read);
    return rc;
}
