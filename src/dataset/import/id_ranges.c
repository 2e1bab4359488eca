/* The list is cut into ranges that fit memory. Ids go to the stream of their range; each range
 * replaces its ids by positions, in place. Streams keep the order of ids, so looking the same ids
 * up again reads the positions sequentially:
 *
 *   ids ──> by range ──> streams of ids ──(a range of the list in memory)──> streams of positions
 *                                                                                  │
 *   ids again ──> by range ──> the next of its stream  <───────────────────────────┘
 *
 * A stream is a chain of blocks in one file; a block is written when full:
 *
 *   | u64: offset of the next block | ids, u64; later positions, u32 |
 *
 * This writes 16 bytes an edge, then half of that again, and keeps the order of edges. Sorting by
 * one end and then by the other would keep it less simply. */
#include "dataset/import/id_ranges.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "node ids";
enum { HEAD = sizeof(uint64_t), LEAST_BLOCK = 4096, MOST_BLOCK = 1024 * 1024 };

static size_t ids_a_block(const struct og_id_ranges *r)
{
    return (r->block - HEAD) / sizeof(uint64_t);
}

/* ---- opening ---- */

static int read_least(struct og_id_ranges *r, struct og_err *err)
{
    for (size_t i = 0; i < r->n; i++)
        OG_DO(og__id_runs_read(r->list, i * r->ids, 1, &r->least[i], err));
    return 0;
}

static int open_streams(struct og_id_ranges *r, struct og_err *err)
{
    r->least = og__alloc(r->budget, r->n * sizeof(*r->least), part, err);
    r->stream = og__alloc(r->budget, r->n * sizeof(*r->stream), part, err);
    r->buffer = og__alloc(r->budget, r->n * r->block, part, err);
    if (!r->least || !r->stream || !r->buffer)
        return -ENOMEM;
    for (size_t i = 0; i < r->n; i++)
        r->stream[i].at = i * r->block;
    r->end = r->n * r->block;
    return read_least(r, err);
}

int og__id_ranges_open(struct og_id_ranges *r, const struct og_id_runs *list, struct og_budget *b,
                       struct og_err *err)
{
    size_t left = OG_MIN(og__budget_left(b), (size_t)1 << 40);
    *r = (struct og_id_ranges){.budget = b, .list = list, .n_ids = list->run[0].n, .fd = -1};
    r->ids = OG_MAX(left / 4 / sizeof(uint64_t), (uint64_t)1);
    r->n = (size_t)((r->n_ids + r->ids - 1) / r->ids);
    r->block = left / 4 / r->n / LEAST_BLOCK * LEAST_BLOCK;
    r->block = OG_MIN(r->block, (size_t)MOST_BLOCK);
    int rc;
    if (r->block == 0)
        OG_TRY(og__fail(err, -ENOMEM, "give it more --memory, or renumber the nodes below 2^32",
                        "node ids: %llu distinct ones are too many to be sorted in %zu bytes",
                        (unsigned long long)r->n_ids, left));
    OG_TRY(r->fd = og__unnamed_file(list->folder, err));
    OG_TRY(open_streams(r, err));
    return 0;
out:
    og__id_ranges_close(r);
    return rc;
}

void og__id_ranges_close(struct og_id_ranges *r)
{
    if (!r->list)
        return;
    if (r->fd >= 0)
        close(r->fd);
    og__release(r->budget, r->least, r->n * sizeof(*r->least), part);
    og__release(r->budget, r->stream, r->n * sizeof(*r->stream), part);
    og__release(r->budget, r->buffer, r->n * r->block, part);
    *r = (struct og_id_ranges){0};
}

/* The last range that does not begin beyond it. */
static size_t range_of(const struct og_id_ranges *r, uint64_t id)
{
    size_t low = 0;
    for (size_t n = r->n; n > 1;) {
        size_t half = n / 2;
        low += r->least[low + half] <= id ? half : 0;
        n -= half;
    }
    return low;
}

/* ---- ids by range ---- */

/* Allocates the stream's next block now, so that this one can store its offset. */
static int write_block(struct og_id_ranges *r, size_t i, struct og_err *err)
{
    struct og_id_stream *s = &r->stream[i];
    char *block = r->buffer + i * r->block;
    const uint64_t next = r->end;
    memcpy(block, &next, HEAD);
    int rc = og__write_all(r->fd, block, r->block, (off_t)s->at, part, err);
    og__write_behind(r->fd, &r->pushed, s->at);
    r->end += r->block;
    s->at = next;
    s->filled = 0;
    return rc;
}

int og__id_ranges_put(struct og_id_ranges *r, const uint64_t *id, size_t n, struct og_err *err)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = range_of(r, id[k]);
        struct og_id_stream *s = &r->stream[i];
        ((uint64_t *)(r->buffer + i * r->block + HEAD))[s->filled++] = id[k];
        s->n++;
        if (s->filled == ids_a_block(r))
            OG_DO(write_block(r, i, err));
    }
    return 0;
}

/* ---- places, a range at a time ---- */

static int changed(struct og_err *err)
{
    return og__fail(err, -EIO, "import a file that nobody writes to",
                    "node ids: the source changed while it was read");
}

/* n ids of a block become places, in the lower half of their memory. */
static int find_places(const uint64_t *list, uint64_t n_list, uint64_t first, char *block, size_t n,
                       struct og_err *err)
{
    const uint64_t *id = (const uint64_t *)(block + HEAD);
    for (size_t k = 0; k < n; k++) {
        uint64_t low = 0;
        for (uint64_t left = n_list; left > 1;) {
            uint64_t half = left / 2;
            low += list[low + half] <= id[k] ? half : 0;
            left -= half;
        }
        if (list[low] != id[k])
            return changed(err);
        const uint32_t place = (uint32_t)(first + low);
        memcpy(block + HEAD + k * sizeof(place), &place, sizeof(place));
    }
    return 0;
}

static int find_range(struct og_id_ranges *r, size_t i, uint64_t *list, struct og_err *err)
{
    const uint64_t first = i * r->ids;
    const uint64_t n_list = OG_MIN(r->ids, r->n_ids - first);
    char *block = r->buffer + i * r->block;
    uint64_t left = r->stream[i].n;
    uint64_t at = i * r->block;
    uint64_t pushed = at;
    OG_DO(og__id_runs_read(r->list, first, n_list, list, err));
    while (left > 0) {
        size_t n = (size_t)OG_MIN(left, (uint64_t)ids_a_block(r));
        size_t bytes = HEAD + n * sizeof(uint32_t);
        OG_DO(og__read_all(r->fd, block, r->block, (off_t)at, part, err));
        OG_DO(find_places(list, n_list, first, block, n, err));
        OG_DO(og__write_all(r->fd, block, bytes, (off_t)at, part, err));
        og__write_behind(r->fd, &pushed, at);
        memcpy(&at, block, HEAD);
        left -= n;
    }
    return 0;
}

int og__id_ranges_find(struct og_id_ranges *r, struct og_err *err)
{
    size_t bytes = (size_t)OG_MIN(r->ids, r->n_ids) * sizeof(uint64_t);
    uint64_t *list = og__alloc(r->budget, bytes, part, err);
    int rc;
    OG_TRY(list ? 0 : -ENOMEM);
    for (size_t i = 0; i < r->n; i++)
        if (r->stream[i].filled > 0)
            OG_TRY(write_block(r, i, err));
    for (size_t i = 0; i < r->n; i++) {
        OG_TRY(find_range(r, i, list, err));
        r->stream[i].at = i * r->block;
        r->stream[i].next = r->stream[i].filled = 0;
    }
out:
    og__release(r->budget, list, bytes, part);
    return rc;
}

/* ---- the same ids again ---- */

static int read_block(struct og_id_ranges *r, size_t i, struct og_err *err)
{
    struct og_id_stream *s = &r->stream[i];
    char *block = r->buffer + i * r->block;
    size_t n = (size_t)OG_MIN(s->n, (uint64_t)ids_a_block(r));
    if (n == 0)
        return changed(err);
    int rc = og__read_all(r->fd, block, HEAD + n * sizeof(uint32_t), (off_t)s->at, part, err);
    posix_fadvise(r->fd, (off_t)s->at, (off_t)r->block, POSIX_FADV_DONTNEED);
    memcpy(&s->at, block, HEAD);
    s->n -= n;
    s->next = 0;
    s->filled = n;
    return rc;
}

int og__id_ranges_take(struct og_id_ranges *r, const uint64_t *id, size_t n, uint32_t *place,
                       struct og_err *err)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = range_of(r, id[k]);
        struct og_id_stream *s = &r->stream[i];
        OG_DO(s->next == s->filled ? read_block(r, i, err) : 0);
        memcpy(&place[k], r->buffer + i * r->block + HEAD + s->next++ * sizeof(*place),
               sizeof(*place));
    }
    return 0;
}
