/* Reads whole lists of nodes from an array on disk with an element an edge. For samplers that need
 * every in-neighbour, or the weight of every edge.
 *
 *   nodes ──> as many as the buffer holds, in file order ──> blocks, each once ──> one read job
 *   data    | block | block | block | ...      a list is in one piece: its blocks are
 *           ^ list of the first    ^ second    adjacent there as in the file
 *
 * The buffer grows for a list that exceeds it, so the memory plan needs the longest list. */
#include "sample/lists.h"

#include "dataset/stream.h"

#include <stdlib.h>
#include <string.h>

enum { LISTS = OG__LISTS_AT_ONCE, LEAST_BLOCKS = 64 }; /* blocks in the buffer */

static const char part[] = "sampler";

struct og_lists {
    struct og_blocks blocks;
    struct og_reader *reader;
    struct og_budget *budget;
    size_t element;          /* bytes */
    size_t capacity;         /* blocks */
    uint32_t *requested;     /* [capacity] */
    char *data;              /* [capacity] of OG__LIST_BLOCK bytes */
    uint64_t *order;         /* [LISTS] node << 32 | its position in the request */
    struct og_id_table seen; /* of og_id_place: its nodes, each once */
    const char **start;      /* [LISTS] of each list, in data */
};

/* ---- sizes, open and close ---- */

static size_t capacity_of(const struct og_topology_disk_options *opt)
{
    size_t staging = opt->staging_bytes ? opt->staging_bytes : 8 * OG_MIB;
    return OG_MAX(OG_MIN(staging, OG_GIB) / OG__LIST_BLOCK, (size_t)LEAST_BLOCKS);
}

static size_t bytes_of(size_t capacity)
{
    return capacity * (OG__LIST_BLOCK + sizeof(uint32_t));
}

static size_t tables_bytes(void)
{
    return (size_t)LISTS * (sizeof(uint64_t) + sizeof(const char *)) +
           og__id_table_size(LISTS) * sizeof(struct og_id_place);
}

size_t og__lists_bytes(const struct og_topology_disk_options *opt, size_t element, int64_t longest)
{
    size_t most = (size_t)longest * element / OG__LIST_BLOCK + 2;
    return bytes_of(OG_MAX(capacity_of(opt), most)) + tables_bytes() + sizeof(struct og_lists) +
           og__reader_bytes(&opt->reader);
}

static void drop_buffer(struct og_lists *l)
{
    og__release(l->budget, l->requested, l->capacity * sizeof(*l->requested), part);
    og__release(l->budget, l->data, l->capacity * OG__LIST_BLOCK, part);
    l->requested = NULL;
    l->data = NULL;
}

static int take_buffer(struct og_lists *l, size_t capacity, struct og_err *err)
{
    drop_buffer(l);
    l->capacity = capacity;
    l->requested = og__alloc(l->budget, capacity * sizeof(*l->requested), part, err);
    l->data = l->requested ? og__alloc(l->budget, capacity * OG__LIST_BLOCK, part, err) : NULL;
    return l->data ? 0 : -ENOMEM;
}

int og__lists_open(struct og_lists **out, const struct og_topology *t, const struct og_npy *array,
                   struct og_budget *b, struct og_err *err)
{
    const struct og_topology_disk_options *opt = &t->disk->opt;
    int rc = 0;
    *out = NULL;
    struct og_lists *l = og__alloc(b, sizeof(*l), part, err);
    if (!l)
        return -ENOMEM;
    l->budget = b;
    l->element = og__npy_size(array->type);
    l->order = og__alloc(b, LISTS * sizeof(*l->order), part, err);
    l->start = og__alloc(b, LISTS * sizeof(*l->start), part, err);
    if (!l->order || !l->start)
        OG_TRY(-ENOMEM);
    OG_TRY(og__id_table_open(&l->seen, og__id_table_size(LISTS), sizeof(struct og_id_place), b,
                             part, err));
    OG_TRY(og__blocks_lay(&l->blocks, array, err));
    OG_TRY(take_buffer(l, capacity_of(opt), err));
    OG_TRY(og__reader_open(&l->reader, array->path, l->blocks.base, OG__LIST_BLOCK,
                           l->blocks.n_blocks, &opt->reader, b, err));
    *out = l;
    return 0;
out:
    og__lists_close(l);
    return rc;
}

void og__lists_close(struct og_lists *l)
{
    if (!l)
        return;
    og__reader_close(l->reader);
    drop_buffer(l);
    og__release(l->budget, l->order, LISTS * sizeof(*l->order), part);
    og__release(l->budget, l->start, LISTS * sizeof(*l->start), part);
    og__id_table_close(&l->seen, sizeof(struct og_id_place), l->budget, part);
    og__release(l->budget, l, sizeof(*l), part);
}

/* ---- reading ---- */

struct span {
    struct og_list_place first;
    uint32_t n; /* blocks */
};

/* The blocks of v's list; none if it is empty, or cached. */
static struct span span_of(const struct og_lists *l, const struct og_topology *t,
                           const struct og_neighbors *kept, uint32_t v)
{
    uint64_t begin = (uint64_t)og__first_edge(t, v) * l->element;
    uint64_t bytes = (uint64_t)og__degree(t, v) * l->element;
    if (bytes == 0 || (kept && og__neighbors_has(kept, v)))
        return (struct span){.n = 0};
    struct span s = {.first = og__list_place(&l->blocks, begin)};
    s.n = og__list_place(&l->blocks, begin + bytes - 1).block - s.first.block + 1;
    return s;
}

/* Stores in *taken how many nodes to read at once: those whose blocks fit the buffer. It is at
 * least one; the buffer grows for that one if needed. */
static int choose_lists(struct og_lists *l, const struct og_topology *t,
                        const struct og_neighbors *kept, const uint32_t *nodes, uint32_t n,
                        uint32_t *taken, struct og_err *err)
{
    size_t blocks = 0;
    uint32_t k = 0;
    og__id_table_clear(&l->seen, sizeof(struct og_id_place));
    for (; k < OG_MIN(n, (uint32_t)LISTS); k++) {
        const bool first = og__id_place(&l->seen, nodes[k], k) == k;
        uint32_t more = first ? span_of(l, t, kept, nodes[k]).n : 0;
        if (k > 0 && blocks + more > l->capacity)
            break;
        blocks += more;
        l->order[k] = (uint64_t)nodes[k] << 32 | k;
    }
    *taken = k;
    return blocks > l->capacity ? take_buffer(l, blocks, err) : 0;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Computes the blocks of the lists in file order, and each list's position. A node may be there
 * several times. Returns the number of blocks. */
static size_t lay_out(struct og_lists *l, const struct og_topology *t,
                      const struct og_neighbors *kept, uint32_t n)
{
    size_t m = 0;
    qsort(l->order, n, sizeof(*l->order), ascending);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && l->order[i] >> 32 == l->order[i - 1] >> 32) {
            l->start[(uint32_t)l->order[i]] = l->start[(uint32_t)l->order[i - 1]];
            continue;
        }
        struct span s = span_of(l, t, kept, (uint32_t)(l->order[i] >> 32));
        bool shared = m > 0 && s.n > 0 && l->requested[m - 1] == s.first.block;
        size_t at = m - shared;
        l->start[(uint32_t)l->order[i]] = l->data + at * OG__LIST_BLOCK + s.first.within;
        for (uint32_t b = shared; b < s.n; b++)
            l->requested[m++] = s.first.block + b;
    }
    return m;
}

int og__lists_read(struct og_lists *l, const struct og_topology *t, const struct og_neighbors *kept,
                   const uint32_t *nodes, uint32_t n, uint32_t *taken, struct og_sample_reads *read,
                   struct og_err *err)
{
    int rc = choose_lists(l, t, kept, nodes, n, taken, err);
    if (rc < 0)
        return rc;
    size_t m = lay_out(l, t, kept, *taken);
    if (m > 0 && l->requested[m - 1] == l->blocks.n_blocks) {
        m--;
        memcpy(l->data + m * OG__LIST_BLOCK, l->blocks.tail, OG__LIST_BLOCK);
    }
    struct og_read_job job = {.rows = l->requested, .n = m, .out = l->data};
    OG_TRY(og__reader_submit(l->reader, &job, err));
    OG_TRY(og__reader_wait(l->reader, &job, err));
out:
    read->passes += m > 0;
    read->io.reads += job.counts.reads;
    read->io.bytes += job.counts.bytes;
    return rc;
}

const void *og__lists_start(const struct og_lists *l, uint32_t i)
{
    return l->start[i];
}

/* ---- sources ---- */

/* Without a branch an element: it looks at all. */
static bool are_below(const struct og_list *list, uint64_t sources)
{
    const int64_t *wide = list->ids;
    const uint32_t *narrow = list->ids;
    const uint32_t below = (uint32_t)OG_MIN(sources, (uint64_t)INT32_MAX + 1);
    bool bad = false;
    for (int64_t i = 0; list->wide && i < list->n; i++)
        bad |= (uint64_t)wide[i] >= sources;
    for (int64_t i = 0; !list->wide && i < list->n; i++)
        bad |= narrow[i] >= below;
    return !bad;
}

int og__check_sources(const struct og_topology *t, const struct og_list *list, uint32_t v,
                      struct og_err *err)
{
    if (OG_LIKELY(are_below(list, (uint64_t)og__sources(t))))
        return 0;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t id = og__list_source(list, i);
        if (id < 0 || id >= og__sources(t))
            return og__bad_index(t->disk->of, og__first_edge(t, v) + i, id, err);
    }
    return 0;
}

size_t og__source_lists_bytes(const struct og_relation *of, const struct og_sampling *how,
                              const struct og_topology_disk_options *opt, int64_t longest)
{
    return og__lists_bytes(opt, og__npy_size(of->indices.type), longest) +
           (how->weights ? og__lists_bytes(opt, sizeof(float), longest) : 0);
}

/* On disk: weights of a list. It is cached, or the i-th that was read with weights.
 */
static const float *list_weights(const struct og_sampler *s, uint32_t v, uint32_t i)
{
    const struct og_neighbors *cache = &s->topology->disk->cache;
    if (og__neighbors_has(cache, v))
        return og__neighbors_weights(cache, v);
    return s->weight_lists ? og__lists_start(s->weight_lists, i) : NULL;
}

struct og_list og__hop_list(const struct og_hop *h, uint32_t first, uint32_t i)
{
    const struct og_topology *t = h->s->topology;
    uint32_t v = h->nodes[first + i];
    struct og_list list = {.n = og__degree(t, v)};
    int64_t begin = og__first_edge(t, v);
    if (t->indices32) {
        list.ids = t->indices32 + begin;
    } else if (t->indices64) {
        list.ids = t->indices64 + begin;
        list.wide = true;
    } else if (og__neighbors_has(&t->disk->cache, v)) {
        list.ids = t->disk->cache.ids + og__neighbors_first(&t->disk->cache, v);
    } else if (h->s->runs) {
        return og__listed_next(h, v);
    } else {
        list.ids = og__lists_start(h->s->lists, i);
        list.wide = t->disk->of->indices.type == OG__NPY_I64;
    }
    if (h->s->how.weights)
        list.weights = t->disk ? list_weights(h->s, v, i) : t->weights + begin;
    return list;
}

/* The hop's start checked that the lists are in range. */
static int check_mapped(const struct og_hop *h, uint32_t first, uint32_t n, struct og_err *err)
{
    const struct og_topology *t = h->s->topology;
    for (uint32_t i = first; i < first + n; i++)
        OG_DO(og__mapped_edges(t, og__first_edge(t, h->nodes[i]), og__degree(t, h->nodes[i]), err));
    return 0;
}

/* Reads weights for no more nodes than before, without those in the cache. */
static int read_weights(struct og_hop *h, uint32_t first, uint32_t *taken, struct og_err *err)
{
    struct og_sampler *s = h->s;
    const struct og_relation *of = s->topology->disk->of;
    const struct og_neighbors *cache = &s->topology->disk->cache;
    if (!s->weight_lists)
        OG_DO(og__lists_open(&s->weight_lists, s->topology, &of->weights, s->budget, err));
    OG_DO(og__lists_read(s->weight_lists, s->topology, cache, h->nodes + first, *taken, taken,
                         &s->reads, err));
    for (uint32_t i = 0; i < *taken; i++) {
        const uint32_t v = h->nodes[first + i];
        if (og__neighbors_has(cache, v))
            continue;
        OG_DO(og__check_weights(of, og__lists_start(s->weight_lists, i),
                                og__first_edge(s->topology, v), (size_t)og__degree(s->topology, v),
                                err));
    }
    return 0;
}

int og__hop_lists(struct og_hop *h, uint32_t first, bool weights, uint32_t *taken,
                  struct og_err *err)
{
    struct og_sampler *s = h->s;
    const struct og_topology *t = s->topology;
    *taken = h->block->n_dst - first;
    if (!t->disk)
        return t->mapped ? check_mapped(h, first, *taken, err) : 0;
    if (s->runs)
        return og__listed_fetch(h, err);
    const struct og_neighbors *cache = &t->disk->cache;
    if (!s->lists) /* when a batch is first sampled by itself */
        OG_DO(og__lists_open(&s->lists, t, &t->disk->of->indices, s->budget, err));
    OG_DO(og__lists_read(s->lists, t, cache, h->nodes + first, *taken, taken, &s->reads, err));
    if (weights)
        OG_DO(read_weights(h, first, taken, err));
    for (uint32_t i = 0; i < *taken; i++) {
        uint32_t v = h->nodes[first + i];
        struct og_list list = og__hop_list(h, first, i);
        bool kept = og__neighbors_has(cache, v);
        s->reads.lists_cached += list.n > 0 && kept;
        s->reads.lists_read += list.n > 0 && !kept;
        if (!kept)
            OG_DO(og__check_sources(t, &list, v, err));
    }
    return 0;
}
