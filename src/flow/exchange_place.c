/* Rows that ranks of one machine have from one another in place: an owner copies what a round asks
 * of it and its cache has not, each row once, to where all read it, and tells each the numbers of
 * its rows there. Of a cache whose rows change it copies those, too. */
#include "flow/exchange_parts.h"

#include <string.h>

static const char part[] = "exchange";
enum { ALIGNED = 4096 }; /* rows that take whole pages, whatever their size */

/* The first of those that an owner has for a round. */
static uint32_t first_row(const struct og_exchange *x, uint32_t owner, uint64_t round)
{
    return (owner * OG__RECEIVED + (uint32_t)(round % OG__RECEIVED)) * x->in_place.rows;
}

/* And of its cache; that of nobody is the end. */
static uint32_t first_cached(const struct og_exchange *x, uint32_t owner)
{
    return x->in_place.cache_at + owner * x->in_place.cached;
}

/* They are of one size. */
static size_t row_bytes(const struct og_exchange *x)
{
    return x->kinds.kind[0].row_bytes;
}

static size_t place_of(const struct og_exchange *x, uint32_t row)
{
    return row * row_bytes(x);
}

/* As planned for the rows that are copied. */
static int charge(struct og_exchange *x, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const struct og_memory_plan *m = x->path->memory;
    const size_t bytes =
        (m->shown ? x->path->size[0].staging_rows : og__read_rows(x->path->workload)) *
        row_bytes(x);
    int rc = 0;
    for (int i = 0; rc == 0 && i < OG__RECEIVED; i++) {
        rc = og__budget_charge(x->path->budget, bytes, part, err);
        p->charged[i] = rc == 0 ? bytes : 0;
    }
    return rc;
}

int og__place_open(struct og_exchange *x, struct og_err *err)
{
    static const char name[8] = "exchange";
    const struct og_data_path *d = x->path;
    struct og_in_place *p = &x->in_place;
    uint64_t key;
    int rc;
    if (!og__exchanges_in_place(d->config, d->workload))
        return 0;
    p->ranks = x->ranks;
    memcpy(&key, name, sizeof(key));
    x->kinds.unit = sizeof(uint32_t); /* of a message, which has numbers of rows */
    p->rows = (uint32_t)og__owned_nodes(x->ranks, 0, d->workload->n_nodes);
    p->cached = (uint32_t)og__round_up(p->rows, ALIGNED);
    p->cache_at = (uint32_t)og__round_up(first_row(x, x->ranks, 0), ALIGNED) + ALIGNED;
    p->own_slots = d->memory->shown ? d->memory->n_slots : 0;
    p->reserved = place_of(x, first_cached(x, x->ranks));
    p->base = og__address_reserve(p->reserved, err);
    OG_TRY(p->base ? 0 : -ENOMEM);
    const size_t slots = place_of(x, p->cache_at - ALIGNED);
    OG_TRY(og__shared_memory_area(d->config->sharing.shared_memory, key,
                                  slots + x->ranks * sizeof(*p->slots), p->base, &p->area, err));
    OG_TRY(og__shared_memory_room(&p->area, slots, x->ranks * sizeof(*p->slots), err));
    p->slots = (uint32_t *)(void *)(p->base + slots);
    p->slots[x->rank] = p->own_slots;
    OG_TRY(charge(x, err));
out:
    return rc;
}

void og__place_close(struct og_exchange *x)
{
    struct og_in_place *p = &x->in_place;
    for (int i = 0; i < OG__RECEIVED; i++)
        og__budget_uncharge(x->path->budget, p->charged[i], part);
    for (uint32_t i = 0; i < x->ranks; i++)
        og__shared_memory_give(&p->cache[i]);
    og__shared_memory_give(&p->area);
    if (p->base)
        og__address_release(p->base, p->reserved);
}

int og__place_room(struct og_exchange *x, uint64_t round, uint32_t rows, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const int i = (int)(round % OG__RECEIVED);
    const size_t bytes = rows * row_bytes(x);
    int rc = 0;
    if (!p->area.of)
        return 0;
    if (bytes > p->charged[i]) {
        OG_TRY(og__budget_charge(x->path->budget, bytes - p->charged[i], part, err));
        p->charged[i] = bytes;
    }
    if (bytes > p->taken[i]) {
        OG_TRY(og__shared_memory_room(&p->area, place_of(x, first_row(x, x->rank, round)), bytes,
                                      err));
        p->taken[i] = bytes;
    }
out:
    return rc;
}

/* Those that are not in a cache that is read where it is, in the order of their places there. */
static void copy_rows(const struct og_exchange *x, uint32_t n, char *to)
{
    const uint32_t skipped = x->in_place.own_slots;
    const size_t bytes = row_bytes(x);
    struct og_rows copied = *x->served.rows;
    if (skipped == 0) {
        og__rows_copy(&copied, 0, n, to);
        return;
    }
    for (uint32_t i = 0; i < x->served.plan.n_misses; i++)
        memcpy(to + i * bytes, og__row_at(&copied, skipped + i), bytes);
}

/* Of a row that a round asked for. */
static uint32_t number_of(const struct og_exchange *x, uint32_t first, uint32_t row)
{
    const uint32_t skipped = x->in_place.own_slots;
    const uint32_t place = skipped > 0 ? x->served.rows->index[row] : row;
    const uint32_t cached = first_cached(x, x->rank);
    return place < skipped ? cached + place : first + place - skipped;
}

void og__place_rows(struct og_exchange *x, uint64_t round, const struct og_demanded *requested)
{
    const uint32_t first = first_row(x, x->rank, round);
    copy_rows(x, requested->n, x->in_place.base + place_of(x, first));
    for (uint32_t i = 0, k = 0; i < x->ranks; i++) {
        uint32_t *to = x->send[i].at;
        for (uint32_t n = requested->counts[i]; n > 0; n--)
            *to++ = number_of(x, first, requested->at[k++]);
    }
    x->with.comm->sent +=
        (requested->n_at - requested->counts[x->rank]) * row_bytes(x); /* as if it were */
}

/* An owner's cache. It has told of it by now. */
static int open_cache(struct og_exchange *x, uint32_t owner, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const uint32_t slots = p->slots[owner];
    if (slots == 0 || slots > p->rows || p->cache[owner].of)
        return 0;
    return og__shared_memory_area(x->path->config->sharing.shared_memory, og__cache_key(owner),
                                  place_of(x, slots), p->base + place_of(x, first_cached(x, owner)),
                                  &p->cache[owner], err);
}

static bool is_row_of(const struct og_exchange *x, uint32_t owner, uint64_t round, uint32_t number)
{
    const struct og_shared_memory_piece *cache = &x->in_place.cache[owner];
    return number - first_row(x, owner, round) < x->in_place.rows ||
           place_of(x, number - first_cached(x, owner)) < cache->bytes;
}

int og__place_check(struct og_exchange *x, uint64_t round, struct og_err *err)
{
    const uint32_t *number = x->received[round % OG__RECEIVED].at;
    const uint32_t *first = x->turn[round % OG__TURNS].by.first;
    int rc = 0;
    for (uint32_t i = 0; i < x->in_place.ranks; i++) {
        bool fits = true;
        OG_TRY(open_cache(x, i, err));
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            fits &= is_row_of(x, i, round, number[k]);
        if (!fits)
            OG_TRY(og__fail(err, -EPROTO, "start all workers from the same version",
                            "worker %u has no such rows as it tells of", i));
    }
out:
    return rc;
}

static size_t rows_touched(const struct og_exchange *x, uint32_t owner)
{
    return og__shared_memory_touched(&x->in_place.area, place_of(x, first_row(x, owner, 0)),
                                     place_of(x, OG__RECEIVED * x->in_place.rows));
}

/* Of own ones the cache alone, which is counted where it lies for this rank. */
size_t og__exchange_counted_elsewhere(const struct og_exchange *x)
{
    size_t bytes = 0;
    if (!x || !x->in_place.area.of)
        return 0;
    for (uint32_t i = 0; i < x->ranks; i++) {
        bytes += rows_touched(x, i);
        if (x->in_place.cache[i].of)
            bytes +=
                og__shared_memory_touched(&x->in_place.cache[i], 0, x->in_place.cache[i].bytes);
    }
    return bytes - rows_touched(x, x->rank);
}
