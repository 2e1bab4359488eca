#include "sample/group_sampling.h"

#include "base/thread.h"
#include "dataset/on_disk.h"
#include "sample/kinds.h"
#include "sample/related.h"
#include "sample/runs.h"

#include <math.h>
#include <stdlib.h>

static const char part[] = "sampler";

/* A batch of the group. Arrays have as many elements as their capacity. */
struct member {
    struct og_sample_key key;
    struct og_words seeds;
    /* nodes: its seeds, then what each hop found but the last; numbers by group (related.h) */
    struct og_words found[OG_MAX_HOPS];
    struct og_words tree[OG_MAX_HOPS]; /* of each, with trees */
    struct og_words start;             /* [n_hops][n_groups + 1] of the groups in these */
    struct og_words times;             /* the key's, which it copies */
    struct og_walkers going;           /* in the current pass */
    size_t n_drawn;                    /* in the current pass, if known */
};

/* A thread's state. */
struct lane {
    struct og_sampler *sampler;
    struct og_batch_memory batch;
    struct og_words drawn, cursor, taken;
    struct og_io_counts read;
    int rc;
    struct og_err err;
};

struct og_group_sampling {
    /* set at open, then constant */
    const struct og_topology *topology;
    struct og_group_sampling_sizes sizes;
    const volatile sig_atomic_t *stop;
    struct og_budget *budget;
    struct og_pool *pool;
    int n_lanes, n_hops;
    uint32_t n_lists, n_groups;
    const struct og_pass_ops *ops;
    struct og_group_sampling_shape shape;
    /* [n_lists] further arrays that are read: weights, then times */
    struct og_blocks *beside[OG__PASS_ARRAYS - 1];
    /* the batches */
    struct lane *lane;
    struct member *member; /* [sizes.batches] */
    uint32_t n;
    struct og_pass *pass; /* [n_hops][n_lists][shape.steps] */
    struct og_spill *store;
    pthread_mutex_t appending;
    /* the current pass */
    int hop;
    uint32_t list, step;
    const struct og_range *range;
    uint32_t slice; /* nodes of the range that a task arranges */
};

/* ---- sizes ---- */

/* Blocks of an array, with the tail. */
static uint64_t blocks_of(uint64_t bytes)
{
    return bytes / OG__LIST_BLOCK + 1;
}

static void add_array(struct og_group_sampling_array *a, const struct og_npy *npy, int64_t longest)
{
    const size_t size = og__npy_size(npy->type);
    a->bytes += (uint64_t)npy->bytes;
    a->n_blocks += blocks_of((uint64_t)npy->bytes);
    a->most = OG_MAX(a->most, blocks_of((uint64_t)npy->bytes));
    a->size = OG_MAX(a->size, size);
    a->longest = OG_MAX(a->longest, (uint64_t)longest * size / OG__LIST_BLOCK + 2);
}

/* Further arrays of relation r, each with an element an edge. Returns their number. */
static uint32_t arrays_beside(const struct og_relation *of, const struct og_sampling *how,
                              const struct og_npy *array[OG__PASS_ARRAYS - 1])
{
    uint32_t n = 0;
    if (og__sampling_weights(how) != OG__NO_WEIGHTS)
        array[n++] = &of->weights;
    if (how->time == OG_TIMES_EDGE && of->edge_times.fd >= 0)
        array[n++] = &of->edge_times;
    return n;
}

struct og_group_sampling_shape og__group_sampling_shape(const struct og_graph *g,
                                                        const struct og_topology *t,
                                                        const struct og_sampling *how)
{
    const struct og_sampler_ops *ops = og__sampler_ops(how->kind);
    const bool steps = ops->pass && ops->pass->steps;
    struct og_group_sampling_shape shape = {
        .whole = ops->pass && ops->pass->whole,
        .steps = steps ? ops->pass->steps(how) : 1,
        .walks = steps ? (uint32_t)how->walks : 0,
        .words = og__neighbor_words(how),
        .extras = OG__WITH_DEGREES | (og__sampling_weighs(how) ? OG__WITH_WEIGHTS : 0u) |
                  (how->edges ? OG__WITH_EDGES : 0u) | (t->relation ? OG__WITH_RELATIONS : 0u) |
                  (ops->trees ? OG__WITH_TREES : 0u),
        .trees = ops->trees,
        .n_arrays = 1};
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        if (of->n_edges == 0)
            continue;
        const struct og_npy *beside[OG__PASS_ARRAYS - 1];
        const uint32_t n_beside = arrays_beside(of, how, beside);
        const int64_t longest = og__longest_list(og__lists_seen(t, r));
        shape.n_lists++;
        shape.n_arrays = OG_MAX(shape.n_arrays, 1 + n_beside);
        add_array(&shape.array[0], &of->indices, longest);
        for (uint32_t a = 0; a < n_beside; a++)
            add_array(&shape.array[1 + a], beside[a], longest);
        if (ops->take_bytes && (shape.n_lists == 1 || !ops->one_state))
            shape.taking += ops->take_bytes(how, longest);
    }
    return shape;
}

uint64_t og__group_sampling_list_bytes(const struct og_group_sampling_shape *shape)
{
    uint64_t bytes = 0;
    for (uint32_t a = 0; a < shape->n_arrays; a++)
        bytes += shape->array[a].bytes;
    return bytes;
}

/* Requested blocks of an array in a range of 2^shift. The last list may extend beyond it. A block
 * of the first array has elements whose counterparts are in so many blocks of the second. */
static uint64_t most_of(const struct og_group_sampling_shape *shape, uint32_t array, unsigned shift)
{
    const struct og_group_sampling_array *first = &shape->array[0], *a = &shape->array[array];
    uint64_t most = (uint64_t)1 << shift;
    if (shape->whole)
        most += first->longest + 2;
    if (array > 0)
        most = most * (OG_MAX(a->size / first->size, (size_t)1) + 1) + 2;
    return OG_MIN(most, a->most);
}

/* The memory of ranges of 2^shift blocks. */
static size_t memory_of_ranges(const struct og_group_sampling_shape *shape, unsigned shift,
                               const struct og_reader_options *reader)
{
    size_t bytes = 0;
    for (uint32_t a = 0; a < shape->n_arrays; a++)
        bytes += og__ranges_bytes(most_of(shape, a, shift), reader);
    return bytes;
}

unsigned og__group_sampling_shift(const struct og_group_sampling_shape *shape,
                                  const struct og_reader_options *reader, size_t memory)
{
    enum { LEAST = 7, MOST = 20 };
    unsigned shift = LEAST;
    while (shift < MOST && (shape->array[0].most >> shift) > 0 &&
           memory_of_ranges(shape, shift + 1, reader) <= memory / 3)
        shift++;
    return shift;
}

/* Bytes of an array's bits and their rank, in all relations: each rounds up. */
static size_t bits_bytes(const struct og_group_sampling_shape *shape, uint32_t array)
{
    const uint64_t words =
        og__bits_words(shape->array[array].n_blocks) + 2 * (uint64_t)(shape->n_lists - 1);
    return words * (sizeof(uint64_t) + sizeof(uint32_t));
}

/* The most ranges of one relation, or in all of them. */
static uint64_t ranges_of(uint64_t n_blocks, unsigned shift)
{
    return (n_blocks >> shift) + 1;
}

static uint64_t most_ranges(const struct og_group_sampling_shape *shape, unsigned shift)
{
    return (shape->array[0].n_blocks >> shift) + shape->n_lists;
}

/* Memory of a hop's step in all relations for any number of batches, without runs. */
static size_t pass_bytes(const struct og_group_sampling_shape *shape, unsigned shift)
{
    const uint64_t ranges = most_ranges(shape, shift);
    size_t bytes = (ranges + shape->n_lists) * sizeof(uint32_t);
    for (uint32_t a = 0; a < shape->n_arrays; a++)
        bytes += bits_bytes(shape, a) + ranges * sizeof(struct og_stretch);
    return bytes;
}

/* Sizes of the hops before the last. */
static struct og_batch_caps before_last(const struct og_batch_caps *caps)
{
    struct og_batch_caps before = *caps;
    before.n_hops = caps->n_hops > 0 ? caps->n_hops - 1 : 0;
    return before;
}

/* Words that a hop draws. By positions: its edges. By lists, also the number of each node's; a
 * block has those of relations of which something was drawn. By walks, each step of each walk. */
static uint64_t drawn_in(const struct og_group_sampling_shape *shape,
                         const struct og_batch_caps *caps, uint32_t hop)
{
    const uint64_t n_dst = caps->hop[hop].n_dst;
    const uint64_t edges = OG_MAX(caps->hop[hop].n_edges, caps->hop[hop].n_listed);
    const bool related = caps->n_relations > 0;
    const uint64_t drawn = caps->hop[hop].n_lists;
    const uint64_t read = related ? OG_MAX(2 * drawn, caps->hop[hop].n_listed) : n_dst;
    if (shape->walks)
        return (related ? drawn : n_dst) * shape->walks * shape->steps;
    return edges * shape->words + (shape->whole ? read : 0);
}

size_t og__group_sampling_drawn_bytes(const struct og_group_sampling_shape *shape,
                                      const struct og_batch_caps *caps)
{
    size_t bytes = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        bytes += drawn_in(shape, caps, h) * sizeof(uint32_t);
    return bytes;
}

/* A batch's nodes, and its walkers in a relation. */
static size_t member_bytes(const struct og_group_sampling_shape *shape,
                           const struct og_batch_caps *caps)
{
    const uint64_t nodes = caps->hop[caps->n_hops - 1].n_dst;
    const uint64_t starts = caps->n_hops * ((uint64_t)shape->n_lists + 1);
    const size_t trees =
        shape->trees ? nodes * sizeof(uint32_t) + caps->hop[0].n_dst * sizeof(int64_t) : 0;
    return (caps->hop[0].n_dst + nodes * (1 + (size_t)shape->walks * 3) + starts) *
               sizeof(uint32_t) +
           trees + sizeof(struct member);
}

size_t og__group_sampling_bytes(const struct og_group_sampling_shape *shape,
                                const struct og_batch_caps *caps,
                                const struct og_group_sampling_sizes *sizes, int n_samplers,
                                const struct og_reader_options *reader)
{
    const struct og_batch_caps before = before_last(caps);
    const uint64_t ranges = most_ranges(shape, sizes->shift);
    uint64_t drawn = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        drawn = OG_MAX(drawn, drawn_in(shape, caps, h));
    if (shape->whole) /* what is drawn is not known before: it grows, and is copied */
        drawn = drawn * 9 / 4;
    const size_t lane =
        og__batch_bytes(&before, shape->extras) + shape->taking +
        (caps->hop[0].n_dst + OG__WINDOW + drawn + shape->steps * ranges) * sizeof(uint32_t);
    return caps->n_hops * shape->steps *
               (pass_bytes(shape, sizes->shift) + ranges * sizes->batches * sizeof(struct og_run)) +
           (size_t)n_samplers * lane + sizes->batches * member_bytes(shape, caps) +
           memory_of_ranges(shape, sizes->shift, reader);
}

/* ---- open and close ---- */

static size_t passes_of(const struct og_group_sampling *t)
{
    return (size_t)t->n_hops * t->n_lists * t->shape.steps;
}

/* What a pass reads; NULL: nothing. */
static const struct og_topology *lists_at(const struct og_group_sampling *t, uint32_t list,
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
    return ranges_of(p->requested.array[0].n_blocks, p->shift);
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
    w->most = OG_MIN(most_of(&t->shape, a, p->shift), of->n_blocks + 1);
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
    const struct og_topology *lists = lists_at(t, list, step);
    int rc = 0;
    p->shift = t->sizes.shift;
    if (!lists)
        return 0;
    const struct og_npy *beside[OG__PASS_ARRAYS - 1];
    p->requested.n_arrays = 1 + arrays_beside(lists->disk->of, &t->lane[0].sampler->how, beside);
    OG_TRY(open_array(t, p, 0, &lists->disk->lists, err));
    for (uint32_t a = 1; a < p->requested.n_arrays; a++)
        OG_TRY(open_array(t, p, a, &t->beside[a - 1][list], err));
    p->cut = og__alloc(t->budget, cuts_bytes(p), part, err);
    rc = p->cut ? 0 : -ENOMEM;
out:
    return rc;
}

static int open_passes(struct og_group_sampling *t, struct og_err *err)
{
    const uint32_t steps = t->shape.steps;
    int rc = 0;
    t->pass = calloc(passes_of(t), sizeof(*t->pass));
    OG_TRY(t->pass ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    for (size_t i = 0; i < passes_of(t); i++)
        OG_TRY(open_pass(t, (uint32_t)(i / steps % t->n_lists), (uint32_t)(i % steps), &t->pass[i],
                         err));
out:
    return rc;
}

static int lay_beside(struct og_group_sampling *t, uint32_t list, struct og_err *err)
{
    const struct og_topology *lists = lists_at(t, list, 0);
    const struct og_npy *beside[OG__PASS_ARRAYS - 1];
    const uint32_t n = lists ? arrays_beside(lists->disk->of, &t->lane[0].sampler->how, beside) : 0;
    int rc = 0;
    for (uint32_t a = 0; a < n; a++)
        OG_TRY(og__blocks_lay(&t->beside[a][list], beside[a], err));
out:
    return rc;
}

static int open_beside(struct og_group_sampling *t, struct og_err *err)
{
    int rc = 0;
    for (uint32_t a = 0; a + 1 < t->shape.n_arrays; a++)
        if (!(t->beside[a] = calloc(t->n_lists, sizeof(*t->beside[a]))))
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    for (uint32_t r = 0; r < t->n_lists; r++)
        OG_TRY(lay_beside(t, r, err));
out:
    return rc;
}

static size_t runs_bytes(const struct og_pass *p)
{
    return (size_t)p->requested.n_ranges * p->n_batches * sizeof(*p->run);
}

static void drop_runs(struct og_group_sampling *t, struct og_pass *p)
{
    og__release(t->budget, p->run, runs_bytes(p), part);
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
    drop_runs(t, p);
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
    for (size_t i = 0; t->pass && i < passes_of(t); i++)
        drop_runs(t, &t->pass[i]);
    if (t->store)
        og__spill_clear(t->store);
}

void og__group_sampling_close(struct og_group_sampling *t)
{
    if (!t)
        return;
    og__group_sampling_clear(t);
    for (size_t i = 0; t->pass && i < passes_of(t); i++)
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

static uint32_t *starts_of(const struct og_group_sampling *t, const struct member *m, int hop)
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

/* Keeps nodes that sample from hop `hop` on, by their groups, and their trees. */
static int keep_found(struct og_group_sampling *t, struct og_sampler *s, struct member *m, int hop,
                      const struct og_nodes *nodes, struct og_err *err)
{
    uint32_t *start = starts_of(t, m, hop);
    struct og_grouped by;
    int rc;
    OG_TRY(og__sort_by_group(s, nodes->id, (uint32_t)nodes->n, start, &by, err));
    OG_TRY(keep(t, &m->found[hop], by.number, start[t->n_groups], err));
    OG_TRY(keep_trees(t, &m->tree[hop], by.position, nodes->tree, start[t->n_groups], err));
out:
    return rc;
}

/* The caller's are those of another batch by then. */
static int keep_times(struct og_group_sampling *t, struct member *m, uint32_t n, struct og_err *err)
{
    int rc = 0;
    if (!m->key.times)
        return 0;
    OG_TRY(og__words_reserve(&m->times, 2 * (size_t)n, t->budget, err));
    if (n > 0)
        memcpy(m->times.data, m->key.times, n * sizeof(*m->key.times));
    m->key.times = (const void *)m->times.data;
out:
    return rc;
}

int og__group_sampling_add(struct og_group_sampling *t, const uint32_t *seeds, uint32_t n_seeds,
                           const struct og_sample_key *key, struct og_err *err)
{
    struct member *m = &t->member[t->n++];
    int rc;
    *m = (struct member){.key = *key};
    OG_TRY(keep(t, &m->seeds, seeds, n_seeds, err));
    OG_TRY(og__words_reserve(&m->start, (size_t)t->n_hops * (t->n_groups + 1), t->budget, err));
    OG_TRY(keep_times(t, m, n_seeds, err));
    OG_TRY(keep_found(t, t->lane[0].sampler, m, 0, &(struct og_nodes){.id = seeds, .n = n_seeds},
                      err));
out:
    return rc;
}

/* The pass's draws for a batch with complete earlier hops. */
static struct og_hop hop_of(const struct og_group_sampling *t, const struct lane *lane,
                            const struct member *m)
{
    return og__hop_of(lane->sampler, &m->key, (uint32_t)t->hop, t->list);
}

/* Nodes that draw are all that were found before the hop; where they draw once, the latest. Only
 * those whose lists the relation has. */
static struct og_frontier frontier_of(const struct og_group_sampling *t, const struct lane *lane,
                                      struct member *m)
{
    const uint32_t group = og__destination_group(lane->sampler, t->list);
    struct og_frontier f = {.step = t->step, .going = &m->going};
    for (int h = lane->sampler->how.once ? t->hop : 0; h <= t->hop; h++) {
        const uint32_t *start = starts_of(t, m, h) + group;
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

static struct og_runs runs_of(const struct og_group_sampling *t, struct lane *lane, uint32_t i)
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

/* The sampler works on runs until here. */
static void end_runs(struct lane *lane)
{
    const struct og_runs *runs = lane->sampler->runs;
    lane->read.reads += runs->read > 0;
    lane->read.bytes += runs->read;
    lane->sampler->runs = NULL;
}

/* The first `n_hops` hops of a batch, from its runs. */
static int join_hops(struct og_group_sampling *t, struct lane *lane, uint32_t i, int n_hops,
                     struct og_batch_memory *out, struct og_err *err)
{
    const struct member *m = &t->member[i];
    struct og_runs runs = runs_of(t, lane, i);
    struct og_sampler *s = lane->sampler;
    s->runs = &runs;
    int rc;
    OG_TRY(og__sample_begin(s, m->seeds.data, (uint32_t)m->seeds.capacity, out, err));
    for (int h = 0; h < n_hops; h++)
        OG_TRY(og__sample_hop(s, &m->key, h, out, err));
out:
    end_runs(lane);
    return rc;
}

/* ---- a hop of all batches ---- */

/* The task's failure is its hand's: the first one stays. */
static void fail_lane(struct lane *lane, int rc, const struct og_err *err)
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
        const struct lane *lane = &t->lane[i];
        if (lane->rc < 0)
            return og__fail(err, lane->rc, lane->err.hint, "%s", lane->err.message);
    }
    return og__stop_requested(t->stop) ? og__fail(err, OG_INTERRUPTED, NULL, "interrupted") : 0;
}

static bool has_failed(const struct og_group_sampling *t, const struct lane *lane)
{
    return lane->rc < 0 || og__stop_requested(t->stop);
}

/* Stores the nodes that the previous hop found. */
static void find_batch(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct lane *lane = &t->lane[thread];
    const struct og_batch *b = &lane->batch.batch;
    struct og_err why = {0};
    int rc = 0;
    if (has_failed(t, lane))
        return;
    OG_TRY(join_hops(t, lane, (uint32_t)task, t->hop, &lane->batch, &why));
    const uint32_t n_dst = b->hop[t->hop - 1].n_dst;
    const struct og_trees *trees = lane->sampler->trees;
    const struct og_nodes found = {.id = og__place_nodes(b) + n_dst,
                                   .tree = trees ? trees->tree + n_dst : NULL,
                                   .n = og__n_places(b) - n_dst};
    OG_TRY(keep_found(t, lane->sampler, &t->member[task], t->hop, &found, &why));
out:
    fail_lane(lane, rc, &why);
}

/* Requests the pass's blocks. */
static void want_batch(void *arg, size_t task, int thread)
{
    struct og_group_sampling *t = arg;
    struct lane *lane = &t->lane[thread];
    struct member *m = &t->member[task];
    struct og_runs runs = runs_of(t, lane, (uint32_t)task);
    struct og_err why = {0};
    if (has_failed(t, lane))
        return;
    const struct og_hop hop = hop_of(t, lane, m);
    const struct og_frontier frontier = frontier_of(t, lane, m);
    lane->sampler->runs = &runs;
    og__relation_begin(lane->sampler, t->list);
    const int rc = t->ops->want(&hop, pass_at(t), &frontier, &m->n_drawn, &why);
    og__relation_end(lane->sampler, t->list);
    end_runs(lane);
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
    struct lane *lane = &t->lane[thread];
    struct member *m = &t->member[task];
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
    struct lane *lane = &t->lane[thread];
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
    const struct og_topology *lists = lists_at(t, t->list, t->step);
    struct og_pass *pass = pass_at(t);
    uint64_t n_requested;
    int rc;
    clear_bits(pass);
    OG_TRY(run_tasks(t, t->n, want_batch, err));
    drop_runs(t, pass);
    n_requested = count_bits(pass);
    counts->requested.blocks[t->hop] += n_requested;
    counts->structure.passes += n_requested > 0;
    t->ops->cut(lists, pass);
    pass->n_batches = t->n;
    pass->run = og__alloc(t->budget, runs_bytes(pass), part, err);
    OG_TRY(pass->run || runs_bytes(pass) == 0 ? 0 : -ENOMEM);
    if (pass->requested.n_ranges > 0)
        OG_TRY(read_ranges(t, pass, &counts->structure.io, err));
out:
    return rc;
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
        for (t->step = 0; draws && t->step < t->shape.steps && lists_at(t, t->list, t->step);
             t->step++) /* walks end where none leads back */
            OG_TRY(sample_step(t, counts, err));
    }
out:
    return rc;
}

static void take_counts(struct lane *lane, struct og_io_counts *sum)
{
    sum->reads += lane->read.reads;
    sum->bytes += lane->read.bytes;
    lane->read = (struct og_io_counts){0};
}

int og__group_sampling_sample(struct og_group_sampling *t, struct og_group_sampling_counts *counts,
                              struct og_err *err)
{
    const uint64_t written = og__spill_written(t->store);
    struct og_sample_group_requests *requested = &counts->requested;
    int rc = 0;
    *counts = (struct og_group_sampling_counts){.requested = {t->n, (uint32_t)t->n_hops, {0}, 0}};
    for (size_t i = 0; i < passes_of(t) / (size_t)t->n_hops; i++)
        for (uint32_t a = 0; a < t->pass[i].requested.n_arrays; a++)
            requested->of += t->pass[i].requested.array[a].n_blocks;
    for (t->hop = 0; t->hop < t->n_hops; t->hop++)
        OG_TRY(sample_hop(t, counts, err));
out:
    for (int i = 0; i < t->n_lanes; i++)
        take_counts(&t->lane[i], &counts->drawn);
    counts->written = og__spill_written(t->store) - written;
    return rc;
}

struct og_io_expected og__sample_group_expect(const struct og_sample_group_requests *seen,
                                              double batches, const struct og_read_rule *rule)
{
    const double times = batches / OG_MAX(seen->batches, 1u);
    const double all = (double)seen->of;
    struct og_io_expected sum = {0};
    for (uint32_t h = 0; h < seen->n_hops && all > 0; h++) {
        const double requested = all * (1 - pow(1 - (double)seen->blocks[h] / all, times));
        const struct og_io_expected hop = og__read_rule_expect(rule, requested, all);
        sum.reads += hop.reads;
        sum.bytes += hop.bytes;
    }
    return sum;
}

int og__group_sampling_take(struct og_group_sampling *t, uint32_t i, int thread,
                            struct og_batch_memory *out, struct og_io_counts *read,
                            struct og_err *err)
{
    struct lane *lane = &t->lane[thread];
    int rc = join_hops(t, lane, i, t->n_hops, out, err);
    take_counts(lane, read);
    return rc;
}
