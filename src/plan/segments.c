#include "plan/segments.h"

#include "base/random.h"

#include <string.h>

static const char part[] = "packing";
enum { PAGE = OG__PACK_BLOCK };
#define SHARED (UINT32_MAX - 2) /* two or more do, and its position is not known yet */

/* ---- memory ---- */

static size_t rows_bytes(const struct og_segments *s)
{
    return s->packing->n_distinct * sizeof(uint32_t);
}

static size_t hash_bytes(const struct og_segments *s)
{
    return s->packing->n_batches * sizeof(uint16_t);
}

/* Values of a random permutation, one a batch. */
static void permute(uint16_t *hash, uint32_t n, uint32_t number)
{
    struct og_rng rng;
    og__rng_at(&rng, 0, OG__STREAM_POLICY, 0, 0, 0, number);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = og__rng_below(&rng, i + 1);
        hash[i] = hash[k];
        hash[k] = (uint16_t)i;
    }
}

static int take_memory(struct og_segments *s, struct og_err *err)
{
    uint32_t **rows[] = {&s->order, &s->position, &s->signature, &s->spare};
    for (size_t i = 0; i < OG_COUNT(rows); i++)
        *rows[i] = og__allocs_take(&s->memory, rows_bytes(s), err);
    for (size_t i = 0; i < OG_COUNT(s->hash); i++)
        s->hash[i] = og__allocs_take(&s->memory, hash_bytes(s), err);
    s->touched = og__allocs_take(&s->memory, s->n_pages * sizeof(*s->touched), err);
    return og__allocs_taken(&s->memory);
}

static uint64_t pages_for(uint64_t n_distinct, size_t row_bytes)
{
    return og__round_up(n_distinct * (uint64_t)row_bytes, PAGE) / PAGE;
}

size_t og__segments_bytes(uint64_t n_distinct, uint32_t n_batches, size_t row_bytes)
{
    return n_distinct * 4 * sizeof(uint32_t) + n_batches * 2 * sizeof(uint16_t) +
           pages_for(n_distinct, row_bytes) * sizeof(uint32_t);
}

int og__segments_open(struct og_segments *s, const struct og_packing *p, struct og_budget *b,
                      struct og_err *err)
{
    *s = (struct og_segments){.packing = p, .least = 2, .memory = og__allocs(b, part)};
    s->n_pages = pages_for(p->n_distinct, p->row_bytes);
    if (p->n_batches > OG__MOST_SEGMENTED)
        return og__fail(err, -EINVAL, NULL, "segments of more than %d batches", OG__MOST_SEGMENTED);
    if (take_memory(s, err) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < OG_COUNT(s->hash); i++)
        permute(s->hash[i], p->n_batches, i);
    memset(s->position, 0xff, rows_bytes(s)); /* OG__NO_BATCH */
    return 0;
}

void og__segments_close(struct og_segments *s)
{
    og__allocs_release(&s->memory);
    *s = (struct og_segments){0};
}

/* ---- one segment ---- */

static uint32_t rank_of(const struct og_segments *s, uint32_t node)
{
    return og__bits_rank(s->packing->bits, s->packing->rank, node);
}

/* Clears the previous segment's entries of `position`. */
static void invalidate_last(struct og_segments *s)
{
    const struct og_packing *p = s->packing;
    for (uint64_t i = p->ptr[s->first]; i < p->ptr[s->last]; i++)
        s->position[rank_of(s, p->rows[i])] = OG__NO_BATCH;
}

/* Keeps those of the n rows in spare that stay shared; the others are packed. signature has
 * users. */
static void keep_shared(struct og_segments *s, uint32_t n)
{
    uint32_t back = s->given_back;
    s->n_shared = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = rank_of(s, s->spare[i]);
        const uint32_t users = s->signature[rank];
        const bool first = users == s->least && back > 0;
        back -= first;
        if (users < s->least || first)
            continue;
        s->position[rank] = SHARED;
        s->spare[s->n_shared++] = s->spare[i];
    }
}

/* Marks rows as packed or shared; shared ones into spare, as they are found. */
static void mark(struct og_segments *s, uint32_t first, uint32_t last)
{
    const struct og_packing *p = s->packing;
    uint32_t *users = s->signature;
    uint32_t n = 0;
    for (uint64_t i = p->ptr[first]; i < p->ptr[last]; i++) {
        const uint32_t rank = rank_of(s, p->rows[i]);
        users[rank] = s->position[rank] == OG__NO_BATCH ? 1 : users[rank] + 1;
        s->position[rank] = OG__ONCE;
        if (users[rank] == 2)
            s->spare[n++] = p->rows[i];
    }
    s->first = first;
    s->last = last;
    keep_shared(s, n);
}

/* Two MinHash values, one in each half. Each is the minimum of a hash over the batches that use the
 * row. */
static void sign(struct og_segments *s)
{
    const struct og_packing *p = s->packing;
    for (uint32_t i = 0; i < s->n_shared; i++)
        s->signature[rank_of(s, s->order[i])] = UINT32_MAX;
    for (uint32_t b = s->first; b < s->last; b++) {
        const uint32_t high = s->hash[0][b];
        const uint32_t low = s->hash[1][b];
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++) {
            uint32_t rank = rank_of(s, p->rows[i]);
            if (s->position[rank] != SHARED)
                continue;
            uint32_t *sig = &s->signature[rank];
            *sig = OG_MIN(*sig >> 16, high) << 16 | OG_MIN(*sig & 0xffff, low);
        }
    }
}

/* Counting passes; of equal signatures the smaller id stays first. */
static void sort_by_signature(struct og_segments *s)
{
    enum { BITS = 8, BINS = 1 << BITS };
    for (unsigned shift = 0; shift < 32; shift += BITS) { /* an even number: ends in `order` */
        uint32_t start[BINS] = {0};
        for (uint32_t i = 0; i < s->n_shared; i++)
            start[s->signature[rank_of(s, s->order[i])] >> shift & (BINS - 1)]++;
        og__counts_to_starts(start, BINS);
        for (uint32_t i = 0; i < s->n_shared; i++) {
            uint32_t node = s->order[i];
            s->spare[start[s->signature[rank_of(s, node)] >> shift & (BINS - 1)]++] = node;
        }
        uint32_t *swap = s->order;
        s->order = s->spare;
        s->spare = swap;
    }
}

int og__segments_lay_out(struct og_segments *s, uint32_t first, uint32_t last,
                         enum og__segment_order order, struct og_err *err)
{
    if (first > last || last > s->packing->n_batches)
        return og__fail(err, -EINVAL, NULL, "segment of batches %u to %u, %u are there", first,
                        last, s->packing->n_batches);
    invalidate_last(s);
    mark(s, first, last);
    og__sort_ids(s->spare, s->order, s->n_shared);
    if (order == OG__BY_SIGNATURE) {
        sign(s);
        sort_by_signature(s);
    }
    for (uint32_t i = 0; i < s->n_shared; i++)
        s->position[rank_of(s, s->order[i])] = i;
    return 0;
}

static bool is_shared(uint32_t position)
{
    return position <= SHARED;
}

uint32_t og__segments_batch(struct og_segments *s, uint32_t batch, uint32_t *where,
                            uint32_t *positions)
{
    const struct og_packing *p = s->packing;
    const uint32_t *rows = p->rows + p->ptr[batch];
    const uint32_t n = (uint32_t)og__packing_chunk_rows(p, batch);
    uint32_t *number = s->signature; /* of a shared row among the batch's */
    uint32_t n_shared = 0;
    uint32_t once = 0;
    for (uint32_t i = 0; i < n; i++) {
        where[i] = rank_of(s, rows[i]);
        if (is_shared(s->position[where[i]]))
            s->spare[n_shared++] = s->position[where[i]];
    }
    og__sort_ids(s->spare, positions, n_shared);
    for (uint32_t i = 0; i < n_shared; i++)
        number[rank_of(s, s->order[positions[i]])] = i;
    for (uint32_t i = 0; i < n; i++)
        where[i] = is_shared(s->position[where[i]]) ? number[where[i]] : n_shared + once++;
    return n_shared;
}

/* ---- what they cost ---- */

static void add_chunk(const struct og_segments *s, uint64_t once, struct og_segment_cost *sum)
{
    uint64_t bytes = og__round_up(once * s->packing->row_bytes, OG__PACK_BLOCK);
    sum->once += once;
    sum->disk_bytes += bytes;
    sum->bytes_read += bytes;
}

/* Space alone: positions need not be known. */
static void add_space(const struct og_segments *s, struct og_segment_cost *sum)
{
    const struct og_packing *p = s->packing;
    for (uint32_t b = s->first; b < s->last; b++) {
        uint64_t once = 0;
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++)
            once += !is_shared(s->position[rank_of(s, p->rows[i])]);
        add_chunk(s, once, sum);
        sum->shared_reads += og__packing_chunk_rows(p, b) - once;
    }
    sum->shared += s->n_shared;
    sum->disk_bytes += og__round_up(s->n_shared * (uint64_t)p->row_bytes, PAGE);
}

/* The number of distinct pages with the batch's shared rows. */
static uint64_t pages_of(struct og_segments *s, uint32_t batch)
{
    const struct og_packing *p = s->packing;
    uint64_t pages = 0;
    for (uint64_t i = p->ptr[batch]; i < p->ptr[batch + 1]; i++) {
        uint32_t position = s->position[rank_of(s, p->rows[i])];
        if (!is_shared(position))
            continue;
        uint64_t start = position * (uint64_t)p->row_bytes;
        for (uint64_t page = start / PAGE; page <= (start + p->row_bytes - 1) / PAGE; page++) {
            pages += s->touched[page] != batch + 1;
            s->touched[page] = batch + 1;
        }
    }
    return pages;
}

int og__segments_cost(struct og_segments *s, uint32_t size, enum og__segment_order order,
                      struct og_segment_cost *out, struct og_err *err)
{
    const uint32_t n = s->packing->n_batches;
    *out = (struct og_segment_cost){0};
    memset(s->touched, 0, s->n_pages * sizeof(*s->touched));
    if (size == 0)
        return og__fail(err, -EINVAL, NULL, "segments of no batches");
    for (uint32_t first = 0; first < n; first += OG_MIN(size, n - first)) {
        OG_DO(og__segments_lay_out(s, first, first + OG_MIN(size, n - first), order, err));
        add_space(s, out);
        for (uint32_t b = s->first; b < s->last; b++)
            out->pages += pages_of(s, b);
    }
    out->bytes_read += out->pages * PAGE;
    return 0;
}

void og__segments_space(struct og_segments *s, uint32_t size, struct og_segment_cost *out)
{
    const uint32_t n = s->packing->n_batches;
    *out = (struct og_segment_cost){0};
    for (uint32_t first = 0; first < n; first += OG_MIN(size, n - first)) {
        invalidate_last(s);
        mark(s, first, first + OG_MIN(size, n - first));
        add_space(s, out);
    }
    out->bytes_read = 0;
}

static uint64_t space_of(struct og_segments *s, uint32_t size)
{
    struct og_segment_cost cost;
    og__segments_space(s, size, &cost);
    return cost.disk_bytes;
}

/* ---- how large ---- */

/* The first segment grows batch by batch, until as many of its kind as there would be fit. */
static uint32_t guess_size(struct og_segments *s, uint64_t disk_bytes)
{
    const struct og_packing *p = s->packing;
    uint64_t distinct = 0;
    invalidate_last(s);
    s->first = 0;
    for (s->last = 1; s->last < p->n_batches; s->last++) {
        for (uint64_t i = p->ptr[s->last - 1]; i < p->ptr[s->last]; i++) {
            uint32_t *position = &s->position[rank_of(s, p->rows[i])];
            distinct += *position == OG__NO_BATCH;
            *position = OG__ONCE;
        }
        double segments = (double)p->n_batches / s->last;
        if ((double)(distinct * p->row_bytes) * segments <= (double)disk_bytes)
            break;
    }
    return s->last;
}

/* ---- what is left of the disk ---- */

enum { MOST_USERS = 64 };

/* Counts rows of all segments by the number of batches that miss them. The last count is for
 * more. */
static void count_users(struct og_segments *s, uint32_t size, uint64_t rows[MOST_USERS + 1])
{
    const uint32_t n = s->packing->n_batches;
    memset(rows, 0, (MOST_USERS + 1) * sizeof(*rows));
    for (uint32_t first = 0; first < n; first += OG_MIN(size, n - first)) {
        invalidate_last(s);
        mark(s, first, first + OG_MIN(size, n - first));
        for (uint32_t i = 0; i < s->n_shared; i++)
            rows[OG_MIN(s->signature[rank_of(s, s->spare[i])], (uint32_t)MOST_USERS)]++;
    }
}

/* A row that u batches share takes u - 1 more rows of disk when it is packed. Chunks and segments
 * end at a block, so each may take one more. */
static void give_back(struct og_segments *s, uint32_t size, uint64_t disk_bytes)
{
    const struct og_packing *p = s->packing;
    const uint64_t segments = (p->n_batches + (uint64_t)size - 1) / size;
    const uint64_t ends = (p->n_batches + segments) * PAGE;
    const uint64_t taken = space_of(s, size) + ends;
    uint64_t rows[MOST_USERS + 1];
    if (taken >= disk_bytes)
        return;
    uint64_t left = (disk_bytes - taken) / p->row_bytes;
    uint32_t least = s->least;
    count_users(s, size, rows);
    while (least < MOST_USERS && (least - 1) * rows[least] <= left) {
        left -= (least - 1) * rows[least];
        least++;
    }
    s->least = least;
    s->given_back = (uint32_t)OG_MIN(left / (least - 1) / segments, (uint64_t)UINT32_MAX);
}

/* ---- both ---- */

static int choose_size(struct og_segments *s, uint64_t disk_bytes, uint32_t *size,
                       struct og_err *err)
{
    enum { STEPS = 32 }; /* the guess is moved by such a share of itself */
    const uint32_t n = s->packing->n_batches;
    char least[32];
    *size = 1;
    if (n == 0)
        return 0;
    uint32_t at = guess_size(s, disk_bytes);
    bool fits = space_of(s, at) <= disk_bytes;
    while (!fits && at < n) {
        at = OG_MIN(at + 1 + at / STEPS, n);
        fits = space_of(s, at) <= disk_bytes;
    }
    if (!fits)
        return og__fail(err, -ENOSPC, "allow more disk", "segments take at least %s of disk",
                        og__human_bytes(least, (double)space_of(s, n)));
    for (uint32_t less; at > 1; at = less) {
        less = at - 1 - (at - 1) / STEPS;
        if (less == 0 || space_of(s, less) > disk_bytes)
            break;
    }
    *size = at;
    return 0;
}

int og__segments_choose(struct og_segments *s, uint64_t disk_bytes, uint32_t *size,
                        struct og_err *err)
{
    s->least = 2;
    s->given_back = 0;
    int rc = choose_size(s, disk_bytes, size, err);
    if (rc < 0 || s->packing->n_batches == 0)
        return rc;
    give_back(s, *size, disk_bytes);
    return 0;
}
