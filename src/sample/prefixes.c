#include "sample/prefixes.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "sampler";
enum { A_BLOCK = OG__LIST_BLOCK / (int)sizeof(int64_t), LOOKED_AT = 64 };

/* A search for the first entry that is not before a bound. */
struct search {
    int64_t low, high;
    int64_t after, before; /* times of entries around them, or of all */
    int64_t at;            /* entry to look at next, */
    uint32_t block;        /* and its block */
};

struct og_prefixes {
    struct og_blocks blocks;
    struct og_reader *reader;
    struct og_budget *budget;
    struct search *search;    /* [OG__PREFIXES] for ends, then those for starts that are left */
    struct search *start;     /* [OG__PREFIXES] for starts, in blocks that the former read */
    uint32_t *requested;      /* [OG__PREFIXES] blocks, each once, ascending */
    char *data;               /* [OG__PREFIXES] of OG__LIST_BLOCK bytes */
    int64_t earliest, latest; /* of some blocks */
};

/* ---- open and close ---- */

static size_t arrays_bytes(void)
{
    return (size_t)OG__PREFIXES * (2 * sizeof(struct search) + sizeof(uint32_t) + OG__LIST_BLOCK);
}

size_t og__prefixes_bytes(const struct og_topology_disk_options *opt)
{
    return sizeof(struct og_prefixes) + arrays_bytes() + og__reader_bytes(&opt->reader);
}

static int read_blocks(struct og_prefixes *p, uint32_t n, struct og_sample_reads *read,
                       struct og_err *err)
{
    struct og_read_job job = {.rows = p->requested, .n = n, .out = p->data};
    int rc;
    if (n == 0)
        return 0;
    OG_TRY(og__reader_submit(p->reader, &job, err));
    OG_TRY(og__reader_wait(p->reader, &job, err));
    read->io.reads += job.counts.reads;
    read->io.bytes += job.counts.bytes;
    read->passes++;
out:
    return rc;
}

/* When edges came to be, by blocks all over the file: where a search begins. Block 0 may begin
 * before the first time. */
static int look_at_some(struct og_prefixes *p, struct og_sample_reads *read, struct og_err *err)
{
    const uint64_t n = OG_MIN(p->blocks.n_blocks, (uint64_t)LOOKED_AT);
    int64_t time;
    int rc;
    p->earliest = INT64_MAX;
    p->latest = INT64_MIN;
    for (uint64_t i = 1; i < n; i++)
        p->requested[i - 1] = (uint32_t)(i * p->blocks.n_blocks / n);
    OG_TRY(read_blocks(p, n > 1 ? (uint32_t)n - 1 : 0, read, err));
    for (size_t i = 0; n > 1 && i < (n - 1) * A_BLOCK; i++) {
        memcpy(&time, p->data + i * sizeof(time), sizeof(time));
        p->earliest = OG_MIN(p->earliest, time);
        p->latest = OG_MAX(p->latest, time);
    }
out:
    return rc;
}

int og__prefixes_open(struct og_prefixes **out, const struct og_topology *t,
                      const struct og_npy *times, struct og_budget *b, struct og_sample_reads *read,
                      struct og_err *err)
{
    const struct og_topology_disk_options *opt = &t->disk->opt;
    int rc = 0;
    struct og_prefixes *p = og__alloc(b, sizeof(*p), part, err);
    *out = NULL;
    if (!p)
        return -ENOMEM;
    *p = (struct og_prefixes){.budget = b};
    p->search = og__alloc(b, OG__PREFIXES * sizeof(*p->search), part, err);
    p->start = og__alloc(b, OG__PREFIXES * sizeof(*p->start), part, err);
    p->requested = og__alloc(b, OG__PREFIXES * sizeof(*p->requested), part, err);
    p->data = og__alloc(b, (size_t)OG__PREFIXES * OG__LIST_BLOCK, part, err);
    OG_TRY(p->search && p->start && p->requested && p->data ? 0 : -ENOMEM);
    OG_TRY(og__blocks_lay(&p->blocks, times, err));
    OG_TRY(og__reader_open(&p->reader, times->path, p->blocks.base, OG__LIST_BLOCK,
                           p->blocks.n_blocks, &opt->reader, b, err));
    OG_TRY(look_at_some(p, read, err));
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
    og__reader_close(p->reader);
    og__release(p->budget, p->search, OG__PREFIXES * sizeof(*p->search), part);
    og__release(p->budget, p->start, OG__PREFIXES * sizeof(*p->start), part);
    og__release(p->budget, p->requested, OG__PREFIXES * sizeof(*p->requested), part);
    og__release(p->budget, p->data, (size_t)OG__PREFIXES * OG__LIST_BLOCK, part);
    og__release(p->budget, p, sizeof(*p), part);
}

/* ---- rounds ---- */

static struct og_list_place place_of(const struct og_prefixes *p, const struct og_prefix *list,
                                     int64_t entry)
{
    return og__list_place(&p->blocks, (uint64_t)(list->begin + entry) * sizeof(int64_t));
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

/* Lists the blocks that searches look at, each once; what follows the last whole block is in
 * memory. Returns how many. Searches that are left have low < high. */
static uint32_t request_blocks(struct og_prefixes *p, const struct og_prefix *list, uint32_t n,
                               bool ends, int round, bool *left)
{
    uint32_t m = 0;
    uint32_t distinct = 0;
    *left = false;
    for (uint32_t i = 0; i < n; i++) {
        struct search *s = &p->search[i];
        if (s->low >= s->high)
            continue;
        *left = true;
        s->at = guess(s, ends ? list[i].time : list[i].earliest, round);
        s->block = place_of(p, &list[i], s->at).block;
        if (s->block < p->blocks.n_blocks)
            p->requested[m++] = s->block;
    }
    qsort(p->requested, m, sizeof(*p->requested), og__by_number);
    for (uint32_t i = 0; i < m; i++)
        if (i == 0 || p->requested[i] != p->requested[i - 1])
            p->requested[distinct++] = p->requested[i];
    return distinct;
}

static const char *block_at(const struct og_prefixes *p, uint32_t block, uint32_t n)
{
    if (block == p->blocks.n_blocks)
        return p->blocks.tail;
    const uint32_t *at = bsearch(&block, p->requested, n, sizeof(block), og__by_number);
    return p->data + (size_t)(at - p->requested) * OG__LIST_BLOCK;
}

static int refuse_unsorted(const struct og_prefix *list, struct og_err *err)
{
    return og__fail(err, -EINVAL, "import the graph again with --by-time",
                    "the neighbours of node %u are not sorted by time, though by_time in meta.json "
                    "says so",
                    list->node);
}

/* Looks at the block where `of` is. It ends there, or leaves what is after or before. The block may
 * have none of its entries. `bound`: entries before it are passed; `also`: so are those at it. */
static int narrow(const struct og_prefixes *p, const struct og_prefix *list,
                  const struct search *of, struct search *s, uint32_t n, int64_t bound, bool also,
                  struct og_err *err)
{
    const struct og_list_place at = place_of(p, list, of->at);
    const int64_t first = of->at - (int64_t)(at.within / sizeof(int64_t));
    const int64_t from = OG_MAX(first, s->low), to = OG_MIN(first + A_BLOCK, s->high);
    int64_t time[A_BLOCK];
    int64_t passed = 0;
    if (from >= to)
        return 0;
    const char *data = block_at(p, of->block, n) + (from - first) * (int64_t)sizeof(int64_t);
    memcpy(time, data, (size_t)(to - from) * sizeof(*time));
    for (int64_t i = 0; i < to - from; i++) {
        if (i > 0 && time[i - 1] > time[i])
            return refuse_unsorted(list, err);
        passed += time[i] < bound || (also && time[i] == bound);
    }
    if (passed == to - from) {
        s->low = to;
        s->after = time[to - from - 1];
    } else if (passed == 0) {
        s->high = from;
        s->before = time[0];
    } else {
        s->low = s->high = from + passed;
    }
    return 0;
}

/* Looks at the block of list i, for its end and its start. */
static int narrow_both(struct og_prefixes *p, const struct og_prefix *list, uint32_t i, uint32_t n,
                       bool ends, struct og_err *err)
{
    struct search *s = &p->search[i];
    const struct search at = *s;
    int rc;
    OG_TRY(narrow(p, list, &at, s, n, ends ? list->time : list->earliest, ends, err));
    if (ends)
        OG_TRY(narrow(p, list, &at, &p->start[i], n, list->earliest, false, err));
out:
    return rc;
}

/* Searches are from `low` of each list to its `high`. The ends are those of times, or of the
 * earliest ones. */
static int search_all(struct og_prefixes *p, const struct og_prefix *list, uint32_t n, bool ends,
                      struct og_sample_reads *read, struct og_err *err)
{
    bool left;
    int rc = 0;
    for (int round = 0;; round++) {
        const uint32_t blocks = request_blocks(p, list, n, ends, round, &left);
        if (!left)
            break;
        OG_TRY(read_blocks(p, blocks, read, err));
        for (uint32_t i = 0; i < n; i++)
            if (p->search[i].low < p->search[i].high)
                OG_TRY(narrow_both(p, &list[i], i, blocks, ends, err));
    }
out:
    return rc;
}

/* No block is read twice for a list: what one search passes, the other has looked at. */
int og__prefixes_find(struct og_prefixes *p, struct og_prefix *list, uint32_t n,
                      struct og_sample_reads *read, struct og_err *err)
{
    int rc;
    for (uint32_t i = 0; i < n; i++) {
        const struct search whole = {.high = list[i].n, .after = p->earliest, .before = p->latest};
        p->search[i] = p->start[i] = whole;
        if (list[i].earliest == INT64_MIN)
            p->start[i].high = 0;
    }
    OG_TRY(search_all(p, list, n, true, read, err));
    for (uint32_t i = 0; i < n; i++) {
        list[i].high = p->search[i].low;
        p->search[i] = p->start[i];
        p->search[i].high = OG_MIN(p->start[i].high, list[i].high);
        p->search[i].before = OG_MIN(p->start[i].before, list[i].time);
    }
    OG_TRY(search_all(p, list, n, false, read, err));
    for (uint32_t i = 0; i < n; i++)
        list[i].low = p->search[i].low;
out:
    return rc;
}
