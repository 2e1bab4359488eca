/* Rows that ranks of one machine read in place. An owner copies requested rows that its cache has
 * not, each row once, to where all read it, and sends each rank the numbers of its rows there. From
 * a cache whose rows change it copies those, too. */
#include "flow/exchange_parts.h"

#include <assert.h>
#include <string.h>

static const char part[] = "exchange";
enum { ALIGNED = 4096 }; /* rows that take whole pages, whatever their size */

/* Where an owner's rows of a round begin. */
static uint32_t first_row(const struct og_exchange *x, uint32_t owner, uint64_t round)
{
    return (owner * OG__RECEIVED + (uint32_t)(round % OG__RECEIVED)) * x->in_place.room;
}

/* And its cache; that of nobody is the end. */
static uint32_t first_cached(const struct og_exchange *x, uint32_t owner)
{
    return x->in_place.cache_at + owner * x->in_place.cached;
}

static size_t place_of(const struct og_exchange *x, uint32_t units)
{
    return units * x->in_place.unit;
}

/* As planned for the rows that are copied. */
static int charge(struct og_exchange *x, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const struct og_data_path *d = x->path;
    size_t bytes = d->memory->shown ? 0 : d->workload->bytes.read;
    int rc = 0;
    for (uint32_t t = 0; d->memory->shown && t < x->groups.n; t++)
        bytes += d->size[t].staging_rows * x->groups.group[t].row_bytes;
    for (int i = 0; rc == 0 && i < OG__RECEIVED; i++) {
        rc = og__budget_charge(d->budget, bytes, part, err);
        p->charged[i] = rc == 0 ? bytes : 0;
    }
    return rc;
}

/* Each group has a row more than its share: any owner's rows fit. */
static void set_places(struct og_exchange *x)
{
    const struct og_data_path *d = x->path;
    struct og_in_place *p = &x->in_place;
    uint32_t slots = 0;
    p->unit = x->groups.unit;
    x->groups.unit = sizeof(uint32_t); /* of a message, which has places of rows */
    for (uint32_t t = 0; t < x->groups.n; t++) {
        struct og_exchange_group *k = &x->groups.group[t];
        const uint32_t n = x->groups.end[t] - (t > 0 ? x->groups.end[t - 1] : 0);
        k->takes = (uint32_t)(k->row_bytes / p->unit);
        k->units = k->takes > 0;
        p->room += (n / x->ranks + 1) * k->takes;
        k->slots = d->memory->shown ? (uint32_t)d->size[t].slots : 0;
        k->slots_at = slots;
        slots += k->slots * k->takes;
    }
    p->cached = (uint32_t)og__round_up(p->room, ALIGNED);
    p->cache_at = (uint32_t)og__round_up(first_row(x, x->ranks, 0), ALIGNED) + ALIGNED;
}

static uint32_t own_slots(const struct og_exchange *x)
{
    const struct og_exchange_group *last = &x->groups.group[x->groups.n - 1];
    return last->slots_at + last->slots * last->takes;
}

int og__place_open(struct og_exchange *x, struct og_err *err)
{
    static const char name[8] = "exchange";
    const struct og_data_path *d = x->path;
    struct og_in_place *p = &x->in_place;
    uint64_t key;
    if (!og__exchanges_in_place(d->config, d->workload))
        return 0;
    memcpy(&key, name, sizeof(key));
    set_places(x);
    p->reserved = place_of(x, first_cached(x, x->ranks));
    p->base = og__address_reserve(p->reserved, err);
    OG_DO(p->base ? 0 : -ENOMEM);
    const size_t slots = place_of(x, p->cache_at - ALIGNED);
    OG_DO(og__shared_memory_area(d->config->sharing.shared_memory, key,
                                 slots + x->ranks * sizeof(*p->slots), p->base, &p->area, err));
    OG_DO(og__shared_memory_room(&p->area, slots, x->ranks * sizeof(*p->slots), err));
    p->slots = (uint32_t *)(void *)(p->base + slots);
    p->slots[x->rank] = own_slots(x);
    return charge(x, err);
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

/* Those that are not in a cache that is read where it is. */
static size_t find_copied(struct og_exchange *x)
{
    const struct og_gather *from = x->path->gather;
    struct og_io_counts ignored = {0};
    uint32_t units = 0;
    for (uint32_t t = 0; t < x->groups.n; t++) {
        struct og_exchange_group *k = &x->groups.group[t];
        k->n = own_slots(x) > 0 ? og__gather_read_of(from, x->served.staging, t, &ignored)
                                : x->served.rows[t].n;
        k->n_at = units;
        units += k->n * k->takes;
    }
    return place_of(x, units);
}

int og__place_room(struct og_exchange *x, uint64_t round, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const int i = (int)(round % OG__RECEIVED);
    if (!p->area.of)
        return 0;
    const size_t bytes = find_copied(x);
    if (bytes > p->charged[i]) {
        OG_DO(og__budget_charge(x->path->budget, bytes - p->charged[i], part, err));
        p->charged[i] = bytes;
    }
    if (bytes > p->taken[i]) {
        OG_DO(og__shared_memory_room(&p->area, place_of(x, first_row(x, x->rank, round)), bytes,
                                     err));
        p->taken[i] = bytes;
    }
    return 0;
}

/* Copies rows of a group, in the order of their places. */
static void copy_rows(const struct og_exchange *x, uint32_t t, char *to)
{
    const struct og_exchange_group *k = &x->groups.group[t];
    const struct og_rows *rows = &x->served.rows[t];
    if (own_slots(x) == 0) {
        og__rows_copy(rows, 0, k->n, to);
        return;
    }
    for (uint32_t i = 0; i < k->n; i++)
        memcpy(to + i * k->row_bytes, og__row_at(rows, k->slots + i), k->row_bytes);
}

/* Where each row of a run is; counted as if it were sent. */
static void put_places(const struct og_exchange *x, const struct og_demanded *requested,
                       const struct og_run *r, char **to)
{
    const struct og_exchange_group *k = &x->groups.group[r->group];
    const struct og_rows *rows = &x->served.rows[r->group];
    const uint32_t copied = first_row(x, x->rank, x->here) + k->n_at;
    const uint32_t cached = first_cached(x, x->rank) + k->slots_at;
    const bool shown = own_slots(x) > 0;
    uint32_t *place = (uint32_t *)(void *)*to;
    for (uint32_t i = r->begin; i < r->end; i++) {
        const uint32_t row = requested->at[i] - r->first;
        const uint32_t at = shown ? rows->index[row] : row;
        *place++ = at < k->slots ? cached + at * k->takes : copied + (at - k->slots) * k->takes;
    }
    *to = (char *)place;
    x->with.comm->sent += (r->rank != x->rank) * (size_t)(r->end - r->begin) * k->row_bytes;
}

void og__place_rows(struct og_exchange *x, uint64_t round, const struct og_demanded *requested)
{
    char *to = x->in_place.base + place_of(x, first_row(x, x->rank, round));
    for (uint32_t t = 0; t < x->groups.n; t++)
        copy_rows(x, t, to + place_of(x, x->groups.group[t].n_at));
    og__exchange_groups_put(x, requested, put_places);
}

/* An owner's cache. It has been announced by now. */
static int open_cache(struct og_exchange *x, uint32_t owner, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const uint32_t slots = p->slots[owner];
    if (slots == 0 || slots > p->room || p->cache[owner].of)
        return 0;
    return og__shared_memory_area(x->path->config->sharing.shared_memory, og__cache_key(owner),
                                  place_of(x, slots), p->base + place_of(x, first_cached(x, owner)),
                                  &p->cache[owner], err);
}

/* A row that takes so many units, whole. */
static bool is_row_of(const struct og_exchange *x, uint32_t owner, uint64_t round, uint32_t number,
                      uint32_t takes)
{
    const struct og_shared_memory_piece *cache = &x->in_place.cache[owner];
    return number - first_row(x, owner, round) <= x->in_place.room - takes ||
           place_of(x, number - first_cached(x, owner)) + place_of(x, takes) <= cache->bytes;
}

int og__place_check(struct og_exchange *x, uint64_t round, struct og_err *err)
{
    const struct og_round_state *state = &x->state[round % OG__ROUNDS_UNDER_WAY];
    const uint32_t *number = x->received[round % OG__RECEIVED].at;
    const uint32_t *place = state->place.at;
    if (!x->in_place.area.of)
        return 0;
    assert(x->ranks > 0);
    for (uint32_t i = 0; i < x->ranks; i++)
        OG_DO(open_cache(x, i, err));
    for (uint32_t i = 0, t = 0; i < state->n; i++) {
        const uint32_t owner = og__owner_of(x->ranks, state->ids[i]);
        while (state->ids[i] >= x->groups.end[t])
            t++;
        if (!is_row_of(x, owner, round, number[place[i]], x->groups.group[t].takes))
            return og__fail(err, -EPROTO, "start all workers from the same version",
                            "worker %u has no such rows as it announces", owner);
    }
    return 0;
}

static size_t rows_touched(const struct og_exchange *x, uint32_t owner)
{
    return og__shared_memory_touched(&x->in_place.area, place_of(x, first_row(x, owner, 0)),
                                     place_of(x, OG__RECEIVED * x->in_place.room));
}

/* For own rows the cache alone, which is counted where this rank allocates it. */
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
