/* What a group of batches reads at most, and the memory that it takes. */
#include "sample/group_sampling_parts.h"

#include "dataset/on_disk.h"
#include "sample/kinds.h"

#include <math.h>

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

uint32_t og__arrays_beside(const struct og_relation *of, const struct og_sampling *how,
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
        const uint32_t n_beside = og__arrays_beside(of, how, beside);
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
uint64_t og__group_range_blocks(const struct og_group_sampling_shape *shape, uint32_t array,
                                unsigned shift)
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
        bytes += og__ranges_bytes(og__group_range_blocks(shape, a, shift), reader);
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
uint64_t og__group_ranges(uint64_t n_blocks, unsigned shift)
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
           trees + sizeof(struct og_group_member);
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
