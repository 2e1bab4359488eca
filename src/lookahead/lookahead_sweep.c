/* The sweep that packs misses also fills the cache. Both are spread over the file, and where either
 * is dense, fetching it reads most of that.
 *
 *   to be filled, in the order of the file     | piece | piece | ...            | piece |
 *                                              |<-- slots that are there  -->|  others: read later
 *
 * With --phased-memory the last slots are released for sampling. By now they have most of that
 * again, but for what packing needs. Policies fill low slots first, so what is left is at the end
 * of the file, and reading it is no second sweep. */
#include "lookahead/lookahead_parts.h"

#include <assert.h>
#include <stdlib.h>

struct og_lookahead_passing {
    struct og_data_path *path;
    uint64_t at, end; /* the pieces to come, in the spilled plans */
    uint64_t *read;   /* bytes of those */
    uint32_t next;    /* of this piece's rows: */
    struct og_fill_piece piece;
    uint32_t first; /* of the group whose rows come by: its first node, */
    size_t row_bytes;
};

size_t og__lookahead_left(const struct og_data_path *d)
{
    const struct og_reader_options reader = og__reader_setup(d->config, &d->workload->profile);
    const size_t kept = d->memory->process + d->memory->slack + og__reader_bytes(&reader);
    const size_t left = og__budget_left(d->budget);
    return left - OG_MIN(left, kept);
}

/* The next piece, its nodes as rows of the file. */
static int next_piece(const struct og_data_path *d, uint64_t *at, struct og_fill_piece *piece,
                      uint64_t *read, struct og_err *err)
{
    const int rc = og__filling_get(d->stores.codes, at, piece, read, err);
    if (rc == 0)
        og__rows_of_own(d->config, piece->nodes, piece->head.n);
    return rc;
}

/* Memory of slots that were released and are no longer used, less what the sweep works in. That is
 * pieces of a batch large enough for a disk, and two partitions. */
static int take_slots_back(const struct og_lookahead *a, struct og_err *err)
{
    enum { A_BATCH = 128 * 1024, PARTITIONS = 16 * OG_MIB };
    const struct og_data_path *d = a->path;
    const size_t left = og__lookahead_left(d);
    const size_t sweep =
        OG_MAX(d->memory->sweep, (size_t)og__lookahead_packed(a) * A_BATCH + PARTITIONS);
    return d->rows.ops->reclaim(d->rows.self, left - OG_MIN(left, sweep), err);
}

static uint32_t highest(const struct og_fill_piece *p)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->head.n; i++)
        most = OG_MAX(most, p->slots[i]);
    return most;
}

/* They ascend, through all groups. */
static void mark_rows(struct og_lookahead *a, const uint32_t *nodes, uint32_t n)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < a->n_groups; k++) {
        struct og_lookahead_group *w = &a->group[k];
        const uint32_t first = i;
        while (i < n && nodes[i] < w->end)
            i++;
        og__packing_also(&w->misses, nodes + first, i - first);
    }
}

static bool misses_any(const struct og_lookahead *a)
{
    bool any = false;
    for (uint32_t k = 0; k < a->n_groups; k++)
        any |= a->group[k].misses.n_distinct > 0;
    return any;
}

/* The pieces, of those from `at` on, whose slots are there and free before the first batch. */
static int mark_pieces(struct og_lookahead *a, struct og_lookahead_passing *p, struct og_err *err)
{
    const struct og_fill_head *head = &p->piece.head;
    const uint32_t slots = a->path->memory->n_slots - og__gather_released(a->path->gather);
    int64_t last = -1;
    for (uint64_t at = p->at;;) {
        OG_DO(next_piece(a->path, &at, &p->piece, p->read, err));
        if (head->n == 0 || head->after > 0 || p->piece.nodes[0] <= last ||
            highest(&p->piece) >= slots)
            break;
        mark_rows(a, p->piece.nodes, head->n);
        last = p->piece.nodes[head->n - 1];
        p->end = at;
    }
    for (uint32_t k = 0; k < a->n_groups; k++)
        og__packing_number(&a->group[k].misses);
    p->piece.head.n = 0; /* the first is yet to be fetched */
    return 0;
}

int og__lookahead_pass_begin(struct og_lookahead *a, struct og_lookahead_passing **out,
                             uint64_t *read, struct og_err *err)
{
    *out = NULL;
    if (a->windows.n == 0 || !misses_any(a))
        return 0;
    int rc = a->path->memory->alternates ? take_slots_back(a, err) : 0;
    if (rc < 0)
        return rc;
    struct og_lookahead_passing *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "packing");
    *p =
        (struct og_lookahead_passing){.path = a->path, .at = a->windows.window[0].at, .read = read};
    p->end = p->at;
    rc = mark_pieces(a, p, err);
    if (rc == 0)
        *out = p;
    else
        free(p);
    return rc;
}

/* Is there a row that has not come by? */
static int one_to_come(struct og_lookahead_passing *p, bool *some, struct og_err *err)
{
    int rc = 0;
    while (rc == 0 && p->next == p->piece.head.n && p->at < p->end) {
        p->next = 0;
        rc = next_piece(p->path, &p->at, &p->piece, p->read, err);
    }
    *some = rc == 0 && p->next < p->piece.head.n;
    return rc;
}

void og__lookahead_pass_group(struct og_lookahead_passing *p, uint32_t first_node, size_t row_bytes)
{
    p->first = first_node;
    p->row_bytes = row_bytes;
}

int og__lookahead_pass(void *arg, const uint32_t *nodes, uint32_t n, const char *rows,
                       struct og_err *err)
{
    struct og_lookahead_passing *p = arg;
    bool some = true;
    for (uint32_t i = 0; i < n; i++) {
        int rc = one_to_come(p, &some, err);
        if (rc < 0 || !some)
            return rc;
        if (p->piece.nodes[p->next] == p->first + nodes[i])
            og__gather_put(p->path->gather, p->piece.slots[p->next++], rows + i * p->row_bytes);
    }
    return 0;
}

void og__lookahead_pass_end(struct og_lookahead *a, struct og_lookahead_passing *p, bool whole)
{
    assert(!p || !whole || (p->at == p->end && p->next == p->piece.head.n));
    if (p && whole)
        a->windows.window[0].at = p->end;
    free(p);
}
