#include "sample/prefixes.h"

#include "base/sort.h"
#include "dataset/stream.h"
#include "sample/lists.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "sampler";
enum {
    WIDTH = 4, /* blocks of sources that are looked at together: draws will be among them */
    LEAST_HELD = 1 << 10,
    HELD_A_LIST = 4,    /* more than a search reads */
    MOST_A_BLOCK = 128, /* entries */
    LOOKED_AT = 64,     /* blocks of times of edges, or */
    LOOKED_AT_NODES = 4096
};

/* A search for the first entry that is not before a bound. */
struct search {
    int64_t low, high;
    int64_t after, before; /* times of entries around them, or of all */
    int64_t most;          /* no entry below `high` is later */
    uint32_t first, last;  /* blocks to look at next; */
    bool asked;            /* they are in memory */
};

struct og_prefixes {
    const struct og_topology *topology;
    const struct og_blocks *blocks; /* of what is read: */
    struct og_blocks times;         /* times, or */
    const int64_t *node;            /* sources, which have these times; else NULL */
    struct og_reader *reader;
    struct og_budget *budget;
    uint32_t most;         /* lists together */
    uint32_t width;        /* blocks that are looked at together */
    uint32_t whole;        /* or all of so many */
    struct search *search; /* [most] for ends, then those for starts that are left */
    struct search *start;  /* [most] for starts, in blocks that the former read */
    struct og_held_blocks held;
    int64_t earliest, latest; /* of some edges */
};

/* ---- open and close ---- */

static uint32_t capacity_of(const struct og_topology_disk_options *opt)
{
    const size_t staging = opt->staging_bytes ? opt->staging_bytes : 8 * OG_MIB;
    return (uint32_t)OG_MAX(OG_MIN(staging / OG__LIST_BLOCK, (size_t)OG__MOST_HELD),
                            (size_t)LEAST_HELD);
}

uint32_t og__prefixes_lists(const struct og_topology_disk_options *opt)
{
    return capacity_of(opt) / HELD_A_LIST;
}

size_t og__prefixes_bytes(const struct og_topology_disk_options *opt)
{
    const size_t held = capacity_of(opt);
    return sizeof(struct og_prefixes) + 2 * og__prefixes_lists(opt) * sizeof(struct search) +
           held * (sizeof(uint32_t) + OG__LIST_BLOCK) +
           og__id_table_size(held) * sizeof(struct og_id_place) + og__reader_bytes(&opt->reader);
}

static void hold_none(struct og_prefixes *p)
{
    og__id_table_clear(&p->held.at, sizeof(struct og_id_place));
    p->held.n = 0;
}

/* Reads so many blocks, which are listed after those that are held. */
static int read_blocks(struct og_prefixes *p, uint32_t n, struct og_sample_reads *read,
                       struct og_err *err)
{
    struct og_held_blocks *held = &p->held;
    struct og_read_job job = {.rows = held->block + held->n,
                              .n = n,
                              .out = held->data + (size_t)held->n * OG__LIST_BLOCK};
    if (n == 0)
        return 0;
    OG_DO(og__reader_submit(p->reader, &job, err));
    OG_DO(og__reader_wait(p->reader, &job, err));
    held->n += n;
    read->io.reads += job.counts.reads;
    read->io.bytes += job.counts.bytes;
    read->passes++;
    return 0;
}

static void include_time(struct og_prefixes *p, int64_t time)
{
    p->earliest = OG_MIN(p->earliest, time);
    p->latest = OG_MAX(p->latest, time);
}

/* When edges came to be, by blocks all over the file. Block 0 may begin before the first time. */
static int look_at_some(struct og_prefixes *p, struct og_sample_reads *read, struct og_err *err)
{
    const uint64_t n = OG_MIN(p->blocks->n_blocks, (uint64_t)LOOKED_AT);
    int64_t time;
    for (uint64_t i = 1; i < n; i++)
        p->held.block[i - 1] = (uint32_t)(i * p->blocks->n_blocks / n);
    OG_DO(read_blocks(p, n > 1 ? (uint32_t)n - 1 : 0, read, err));
    for (size_t at = 0; at < (size_t)p->held.n * OG__LIST_BLOCK; at += sizeof(time)) {
        memcpy(&time, p->held.data + at, sizeof(time));
        include_time(p, time);
    }
    return 0;
}

static void look_at_nodes(struct og_prefixes *p)
{
    const int64_t n = og__sources(p->topology);
    const int64_t step = n / LOOKED_AT_NODES + 1;
    for (int64_t v = 0; v < n; v += step)
        include_time(p, p->node[v]);
}

/* Where searches begin. */
static int look_around(struct og_prefixes *p, struct og_sample_reads *read, struct og_err *err)
{
    p->earliest = INT64_MAX;
    p->latest = INT64_MIN;
    if (p->node)
        look_at_nodes(p);
    else
        OG_DO(look_at_some(p, read, err));
    return 0;
}

static int open_held(struct og_prefixes *p, uint32_t capacity, struct og_err *err)
{
    struct og_held_blocks *held = &p->held;
    held->capacity = capacity;
    held->block = og__alloc(p->budget, capacity * sizeof(*held->block), part, err);
    held->data = og__alloc(p->budget, (size_t)capacity * OG__LIST_BLOCK, part, err);
    if (!held->block || !held->data)
        return -ENOMEM;
    return og__id_table_open(&held->at, og__id_table_size(capacity), sizeof(struct og_id_place),
                             p->budget, part, err);
}

int og__prefixes_open(struct og_prefixes **out, const struct og_topology *t,
                      const struct og_list_times *times, bool scattered, struct og_budget *b,
                      struct og_sample_reads *read, struct og_err *err)
{
    const struct og_topology_disk_options *opt = &t->disk->opt;
    int rc = 0;
    struct og_prefixes *p = og__alloc(b, sizeof(*p), part, err);
    *out = NULL;
    if (!p)
        return -ENOMEM;
    *p = (struct og_prefixes){.topology = t,
                              .blocks = &t->disk->lists,
                              .node = times->node,
                              .budget = b,
                              .most = og__prefixes_lists(opt),
                              .width = times->node ? WIDTH : 1};
    p->search = og__alloc(b, p->most * sizeof(*p->search), part, err);
    p->start = og__alloc(b, p->most * sizeof(*p->start), part, err);
    OG_TRY(p->search && p->start ? 0 : -ENOMEM);
    OG_TRY(open_held(p, capacity_of(opt), err));
    if (times->file) {
        OG_TRY(og__blocks_lay(&p->times, times->file, err));
        p->blocks = &p->times;
    }
    OG_TRY(og__reader_open(&p->reader, p->blocks->array->path, p->blocks->base, OG__LIST_BLOCK,
                           p->blocks->n_blocks, &opt->reader, b, err));
    p->whole = 2 * p->width;
    if (scattered && p->node)
        p->whole =
            (uint32_t)OG_MIN(OG_MAX(og__reader_rule(p->reader).gap / OG__LIST_BLOCK, p->whole),
                             (size_t)p->held.capacity / HELD_A_LIST);
    OG_TRY(look_around(p, read, err));
    *out = p;
    return 0;
out:
    og__prefixes_close(p);
    return rc;
}

void og__prefixes_close(struct og_prefixes *p)
{
    if (!p)
        return;
    struct og_held_blocks *held = &p->held;
    og__reader_close(p->reader);
    og__release(p->budget, p->search, p->most * sizeof(*p->search), part);
    og__release(p->budget, p->start, p->most * sizeof(*p->start), part);
    og__release(p->budget, held->block, held->capacity * sizeof(*held->block), part);
    og__release(p->budget, held->data, (size_t)held->capacity * OG__LIST_BLOCK, part);
    og__id_table_close(&held->at, sizeof(struct og_id_place), p->budget, part);
    og__release(p->budget, p, sizeof(*p), part);
}

const struct og_held_blocks *og__prefixes_sources(const struct og_prefixes *p)
{
    return p->node ? &p->held : NULL;
}

/* ---- rounds ---- */

static struct og_list_place place_of(const struct og_prefixes *p, const struct og_prefix *list,
                                     int64_t entry)
{
    return og__list_place(p->blocks, (uint64_t)(list->begin + entry) * p->blocks->size);
}

/* Where the bound would be in evenly spread times. */
static int64_t guess(const struct search *s, int64_t bound, int round)
{
    const double span = (double)s->before - (double)s->after;
    const double share = ((double)bound - (double)s->after) / span;
    if (round % 3 == 2 || !(span > 0) || !(share >= 0))
        return s->low + (s->high - s->low) / 2;
    const double at = OG_MIN(share, 1.0) * (double)(s->high - s->low);
    return OG_MIN(s->low + (int64_t)at, s->high - 1);
}

static uint32_t block_of(const struct og_prefixes *p, const struct og_prefix *list, int64_t entry)
{
    return place_of(p, list, entry).block;
}

/* Chooses blocks around where the bound would be; all that are left, if few. */
static void choose_blocks(const struct og_prefixes *p, const struct og_prefix *list,
                          struct search *s, int64_t bound, int round)
{
    const uint32_t at = block_of(p, list, guess(s, bound, round));
    s->first = block_of(p, list, s->low);
    s->last = block_of(p, list, s->high - 1);
    if (s->last - s->first < p->whole)
        return;
    s->first = OG_MAX(s->first, at - OG_MIN(at, p->width / 2));
    s->last = OG_MIN(s->last, s->first + p->width - 1);
}

/* Lists blocks after those that are held, and m others, unless they are among them. Returns how
 * many more. */
static uint32_t list_missing(struct og_prefixes *p, const struct search *s, uint32_t m)
{
    struct og_held_blocks *held = &p->held;
    const uint32_t before = m;
    for (uint32_t b = s->first; b <= s->last && b < p->blocks->n_blocks; b++) {
        const uint32_t fresh = held->n + m;
        if (og__id_place(&held->at, b, fresh) == fresh)
            held->block[held->n + m++] = b;
    }
    return m - before;
}

/* Lists what searches look at, as far as blocks fit. Returns how many are to be read. */
static uint32_t list_blocks(struct og_prefixes *p, uint32_t n, uint32_t most, bool *asked)
{
    uint32_t m = 0;
    *asked = false;
    for (uint32_t i = 0; i < n; i++) {
        struct search *s = &p->search[i];
        if (s->low >= s->high)
            continue;
        if (p->held.n + m + (s->last - s->first + 1) > most)
            break;
        m += list_missing(p, s, m);
        s->asked = *asked = true;
    }
    return m;
}

static uint32_t request_blocks(struct og_prefixes *p, const struct og_prefix *list, uint32_t n,
                               bool ends, int round, bool *left)
{
    struct og_held_blocks *held = &p->held;
    bool asked;
    *left = false;
    for (uint32_t i = 0; i < n; i++) {
        struct search *s = &p->search[i];
        s->asked = false;
        if (s->low >= s->high)
            continue;
        *left = true;
        choose_blocks(p, &list[i], s, ends ? list[i].time : list[i].earliest, round);
    }
    uint32_t m = list_blocks(p, n, held->capacity, &asked);
    if (*left && !asked) { /* the first does not fit */
        hold_none(p);
        m = list_blocks(p, n, held->capacity, &asked);
    }
    qsort(held->block + held->n, m, sizeof(*held->block), og__by_number);
    for (uint32_t i = held->n; i < held->n + m; i++)
        ((struct og_id_place *)og__id_find(&held->at, sizeof(struct og_id_place), NULL,
                                           held->block[i]))
            ->place = i;
    return m;
}

/* The block in memory. */
static const char *block_at(const struct og_prefixes *p, uint32_t block)
{
    if (block == p->blocks->n_blocks)
        return p->blocks->tail;
    return p->held.data + (size_t)og__held_place(&p->held, block) * OG__LIST_BLOCK;
}

/* The times of n entries from `from` on, which are at `data`. */
static int times_of(const struct og_prefixes *p, const struct og_prefix *list, int64_t from,
                    int64_t n, const char *data, int64_t *time, struct og_err *err)
{
    const struct og_list of = {.n = n, .ids = data, .wide = p->blocks->size == sizeof(int64_t)};
    if (!p->node) {
        memcpy(time, data, (size_t)n * sizeof(*time));
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = og__list_source(&of, i);
        if (OG_UNLIKELY(id < 0 || id >= og__sources(p->topology)))
            OG_DO(og__bad_index(p->topology->disk->of, list->begin + from + i, id, err));
        time[i] = p->node[id];
    }
    return 0;
}

static int check_order(const struct og_prefix *list, const struct search *s, const int64_t *time,
                       int64_t n, struct og_err *err)
{
    bool sorted = (s->low == 0 || s->after <= time[0]) && time[n - 1] <= s->most;
    for (int64_t i = 1; i < n; i++)
        sorted &= time[i - 1] <= time[i];
    if (sorted)
        return 0;
    return og__fail(err, -EINVAL, "import the graph again with --by-time",
                    "the neighbours of node %u are not sorted by time, though by_time in meta.json "
                    "says so",
                    list->node);
}

/* Looks at a block of those that are left. The search ends there, or leaves what is after or
 * before. `bound`: entries before it are passed; `also`: so are those at it. */
static int look_at(const struct og_prefixes *p, const struct og_prefix *list, uint32_t block,
                   struct search *s, int64_t bound, bool also, struct og_err *err)
{
    const int64_t size = (int64_t)p->blocks->size;
    const int64_t at = (int64_t)block * OG__LIST_BLOCK - (int64_t)p->blocks->skew;
    const int64_t first = at / size - list->begin;
    const int64_t from = OG_MAX(first, s->low);
    const int64_t n = OG_MIN(first + OG__LIST_BLOCK / size, s->high) - from;
    int64_t time[MOST_A_BLOCK];
    int64_t passed = 0;
    if (n <= 0)
        return 0;
    OG_DO(times_of(p, list, from, n, block_at(p, block) + (from - first) * size, time, err));
    OG_DO(check_order(list, s, time, n, err));
    for (int64_t i = 0; i < n; i++)
        passed += time[i] < bound || (also && time[i] == bound);
    if (passed == n) {
        s->low = from + n;
        s->after = time[n - 1];
    } else if (passed == 0) {
        s->high = from;
        s->before = s->most = time[0];
    } else {
        s->low = s->high = from + passed;
    }
    return 0;
}

/* Looks at blocks in memory from the middle on. They may have no entry that is left. */
static int narrow(const struct og_prefixes *p, const struct og_prefix *list,
                  const struct search *blocks, struct search *s, int64_t bound, bool also,
                  struct og_err *err)
{
    while (s->low < s->high) {
        const uint32_t low = OG_MAX(blocks->first, block_of(p, list, s->low));
        const uint32_t high = OG_MIN(blocks->last, block_of(p, list, s->high - 1));
        if (low > high)
            break;
        OG_DO(look_at(p, list, low + (high - low) / 2, s, bound, also, err));
    }
    return 0;
}

/* Looks at the blocks of list i, for its end and its start. */
static int narrow_both(struct og_prefixes *p, const struct og_prefix *list, uint32_t i, bool ends,
                       struct og_err *err)
{
    struct search *s = &p->search[i];
    const struct search blocks = *s;
    OG_DO(narrow(p, list, &blocks, s, ends ? list->time : list->earliest, ends, err));
    if (ends)
        OG_DO(narrow(p, list, &blocks, &p->start[i], list->earliest, false, err));
    return 0;
}

/* Searches are from `low` of each list to its `high`. The ends are those of times, or of the
 * earliest ones. */
static int search_all(struct og_prefixes *p, const struct og_prefix *list, uint32_t n, bool ends,
                      struct og_sample_reads *read, struct og_err *err)
{
    bool left;
    for (int round = 0;; round++) {
        const uint32_t blocks = request_blocks(p, list, n, ends, round, &left);
        if (!left)
            break;
        OG_DO(read_blocks(p, blocks, read, err));
        for (uint32_t i = 0; i < n; i++)
            if (p->search[i].asked)
                OG_DO(narrow_both(p, &list[i], i, ends, err));
    }
    return 0;
}

/* Begins searches of as many lists as half of the blocks serve. So those that later rounds read fit
 * too, mostly. Returns how many, at least one. */
static uint32_t begin_searches(struct og_prefixes *p, const struct og_prefix *list, uint32_t n)
{
    uint32_t m = 0, i = 0;
    hold_none(p);
    for (; i < n && m < p->held.capacity / 2; i++) {
        const struct search whole = {.high = list[i].known ? 0 : list[i].n,
                                     .after = p->earliest,
                                     .before = p->latest,
                                     .most = INT64_MAX};
        p->search[i] = p->start[i] = whole;
        if (list[i].earliest == INT64_MIN)
            p->start[i].high = 0;
        if (whole.high == 0)
            continue;
        choose_blocks(p, &list[i], &p->search[i], list[i].time, 0);
        m += list_missing(p, &p->search[i], m);
    }
    hold_none(p);
    return i;
}

int og__prefixes_find(struct og_prefixes *p, struct og_prefix *list, uint32_t *found,
                      struct og_sample_reads *read, struct og_err *err)
{
    const uint32_t n = *found = begin_searches(p, list, *found);
    OG_DO(search_all(p, list, n, true, read, err));
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].known)
            continue;
        list[i].high = p->search[i].low;
        p->search[i] = p->start[i];
        p->search[i].high = OG_MIN(p->start[i].high, list[i].high);
        p->search[i].before = OG_MIN(p->start[i].before, list[i].time);
        p->search[i].most = OG_MIN(p->start[i].most, list[i].time);
    }
    OG_DO(search_all(p, list, n, false, read, err));
    for (uint32_t i = 0; i < n; i++)
        if (!list[i].known)
            list[i].low = p->search[i].low;
    return 0;
}
