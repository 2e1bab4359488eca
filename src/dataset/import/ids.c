/* Ids below 2^32 are a bitmap with a running count of ones for every word. The count is the new
 * number. That is 1.5 bits for each possible id, and keeps the order. (A count for every eight
 * words would take 1.06 bits and 40 % more time.) Larger ids, such as hashes, are a set, then a
 * sorted list: 8 bytes an id, and two to five times that while collecting. A set of more than half
 * of the memory is written to disk as a sorted run whenever it is full. Positions are then found on
 * disk too. */
#include "dataset/import/ids.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char part[] = "node ids";
#define BITMAP_BYTES ((size_t)1 << 29) /* 2^32 bits */
enum { FIRST_ROOM = 1 << 12 };
static const uint64_t EMPTY = UINT64_MAX; /* no id: those are below 2^63 */

int og__ids_open(struct og_ids *ids, uint64_t text_bytes, const char *folder, struct og_budget *b,
                 struct og_err *err)
{
    *ids = (struct og_ids){.budget = b, .enough = text_bytes};
    og__id_runs_init(&ids->runs, folder, b);
    ids->bits = og__address_reserve(BITMAP_BYTES, err);
    return ids->bits ? 0 : -ENOMEM;
}

static size_t before_bytes(const struct og_ids *ids)
{
    return (size_t)(ids->most / 64 + 1) * sizeof(*ids->before);
}

static void drop_bitmap(struct og_ids *ids)
{
    if (!ids->bits)
        return;
    og__address_release(ids->bits, BITMAP_BYTES);
    og__budget_uncharge(ids->budget, ids->charged, part);
    ids->bits = NULL;
    ids->charged = 0;
}

void og__ids_close(struct og_ids *ids)
{
    if (ids->before)
        og__release(ids->budget, ids->before, before_bytes(ids), part);
    og__release(ids->budget, ids->list, ids->room * sizeof(*ids->list), part);
    drop_bitmap(ids);
    og__id_ranges_close(&ids->ranges);
    og__id_runs_release(&ids->runs);
    *ids = (struct og_ids){0};
}

/* A bitmap is worth it where there are many ids: a few large ones are a short list. */
static bool worth_a_bitmap(const struct og_ids *ids, size_t bytes)
{
    return ids->most <= UINT32_MAX && bytes <= OG_MAX(16 * OG_MIB, ids->enough) &&
           bytes <= (og__budget_left(ids->budget) + ids->charged) / 4;
}

bool og__ids_cover(struct og_ids *ids, uint64_t most)
{
    ids->most = OG_MAX(ids->most, most);
    if (ids->wide)
        return true;
    size_t need = (size_t)og__round_up(ids->most / 8 + 1, OG_MIB);
    if (!worth_a_bitmap(ids, need))
        return false;
    if (need > ids->charged) {
        if (og__budget_charge(ids->budget, need - ids->charged, part, NULL) < 0)
            return false;
        if (og__address_open(ids->bits, need, NULL) < 0) {
            og__budget_uncharge(ids->budget, need - ids->charged, part);
            return false;
        }
        ids->charged = need;
    }
    return true;
}

/* ---- wide: a set, then a list ---- */

static uint64_t place_of(const struct og_ids *ids, uint64_t id)
{
    uint64_t x = (id ^ ids->secret) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    uint64_t at = x >> 20 & (ids->room - 1);
    while (ids->list[at] != EMPTY && ids->list[at] != id)
        at = (at + 1) & (ids->room - 1);
    return at;
}

static int make_room(struct og_ids *ids, uint64_t room, struct og_err *err)
{
    uint64_t *old = ids->list;
    uint64_t old_room = ids->room;
    uint64_t *list = og__alloc(ids->budget, room * sizeof(*list), part, err);
    if (!list)
        return -ENOMEM;
    memset(list, 0xff, room * sizeof(*list));
    ids->list = list;
    ids->room = room;
    for (uint64_t i = 0; i < old_room; i++)
        if (old[i] != EMPTY)
            list[place_of(ids, old[i])] = old[i];
    og__release(ids->budget, old, old_room * sizeof(*old), part);
    return 0;
}

int og__ids_widen(struct og_ids *ids, struct og_err *err)
{
    drop_bitmap(ids);
    ids->wide = true;
    if (getrandom(&ids->secret, sizeof(ids->secret), GRND_NONBLOCK) < 0)
        ids->secret = (uint64_t)(uintptr_t)ids; /* no less is known of it */
    ids->most_room = og__budget_left(ids->budget) / 2 / sizeof(*ids->list);
    return make_room(ids, FIRST_ROOM, err);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The set becomes a list, in its memory. */
static size_t sort_set(struct og_ids *ids)
{
    size_t n = 0;
    for (uint64_t i = 0; i < ids->room; i++)
        if (ids->list[i] != EMPTY)
            ids->list[n++] = ids->list[i];
    qsort(ids->list, n, sizeof(*ids->list), compare);
    return n;
}

/* Writes the set to disk and empties it. */
static int spill(struct og_ids *ids, struct og_err *err)
{
    int rc = og__id_runs_add(&ids->runs, ids->list, sort_set(ids), err);
    memset(ids->list, 0xff, ids->room * sizeof(*ids->list));
    ids->n = 0;
    return rc;
}

static int mark_wide(struct og_ids *ids, const uint64_t *id, size_t n, struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t at = place_of(ids, id[i]);
        if (ids->list[at] == id[i])
            continue;
        ids->list[at] = id[i];
        ids->n++;
        if ((uint64_t)ids->n <= ids->room / 8 * 5)
            continue;
        int rc =
            2 * ids->room <= ids->most_room ? make_room(ids, 2 * ids->room, err) : spill(ids, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Sorted, in memory of its own size; or one run on disk. */
static int resolve_wide(struct og_ids *ids, struct og_err *err)
{
    if (ids->runs.n > 0) {
        int rc = spill(ids, err);
        og__release(ids->budget, ids->list, ids->room * sizeof(*ids->list), part);
        ids->list = NULL;
        ids->room = 0;
        ids->far = true;
        if (rc < 0)
            return rc;
        rc = og__id_runs_merge(&ids->runs, err);
        ids->n = rc < 0 ? 0 : (int64_t)ids->runs.run[0].n;
        return rc;
    }
    uint64_t n = sort_set(ids);
    uint64_t *list = og__alloc(ids->budget, n * sizeof(*list), part, err);
    if (!list)
        return -ENOMEM;
    memcpy(list, ids->list, n * sizeof(*list));
    og__release(ids->budget, ids->list, ids->room * sizeof(*ids->list), part);
    ids->list = list;
    ids->room = n;
    return 0;
}

static uint32_t find(const struct og_ids *ids, uint64_t id)
{
    uint64_t low = 0;
    for (uint64_t n = ids->room; n > 1;) {
        uint64_t half = n / 2;
        low += ids->list[low + half] <= id ? half : 0;
        n -= half;
    }
    return (uint32_t)low;
}

/* ---- both ---- */

int og__ids_mark(struct og_ids *ids, const uint64_t *id, size_t n, struct og_err *err)
{
    if (ids->wide)
        return mark_wide(ids, id, n, err);
    for (size_t i = 0; i < n; i++) {
        uint64_t *word = &ids->bits[id[i] / 64];
        uint64_t bit = (uint64_t)1 << id[i] % 64;
        if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) /* as a rule it is there already */
            __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    }
    return 0;
}

OG_CLONES static int64_t count_ones(const uint64_t *word, size_t words, uint32_t *before)
{
    int64_t n = 0;
    for (size_t w = 0; w < words; w++) {
        before[w] = (uint32_t)n;
        n += __builtin_popcountll(word[w]);
    }
    return n;
}

int og__ids_resolve(struct og_ids *ids, struct og_err *err)
{
    if (ids->wide)
        return resolve_wide(ids, err);
    ids->before = og__alloc(ids->budget, before_bytes(ids), part, err);
    if (!ids->before)
        return -ENOMEM;
    ids->n = count_ones(ids->bits, ids->most / 64 + 1, ids->before);
    return 0;
}

OG_CLONES static void rank_bitmap(const struct og_ids *ids, const uint64_t *id, size_t n,
                                  uint32_t *rank)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t below = ((uint64_t)1 << id[i] % 64) - 1;
        uint64_t word = ids->bits[id[i] / 64];
        rank[i] = ids->before[id[i] / 64] + (uint32_t)__builtin_popcountll(word & below);
    }
}

void og__ids_rank(const struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank)
{
    if (og__ids_dense(ids))
        for (size_t i = 0; i < n; i++)
            rank[i] = (uint32_t)id[i];
    else if (ids->wide)
        for (size_t i = 0; i < n; i++)
            rank[i] = find(ids, id[i]);
    else
        rank_bitmap(ids, id, n, rank);
}

/* ---- far ---- */

int og__ids_put(struct og_ids *ids, const uint64_t *id, size_t n, struct og_err *err)
{
    int rc = 0;
    if (!ids->ranges.list)
        rc = og__id_ranges_open(&ids->ranges, &ids->runs, ids->budget, err);
    return rc < 0 ? rc : og__id_ranges_put(&ids->ranges, id, n, err);
}

int og__ids_find(struct og_ids *ids, struct og_err *err)
{
    return og__id_ranges_find(&ids->ranges, err);
}

int og__ids_take(struct og_ids *ids, const uint64_t *id, size_t n, uint32_t *rank,
                 struct og_err *err)
{
    return og__id_ranges_take(&ids->ranges, id, n, rank, err);
}

/* ---- the map ---- */

/* The next ids of a bitmap. */
static size_t list_bits(const struct og_ids *ids, uint64_t *at, int64_t *out, size_t room)
{
    size_t n = 0;
    while (n < room && *at <= ids->most) {
        uint64_t rest = ids->bits[*at / 64] >> *at % 64;
        if (rest == 0) {
            *at = (*at / 64 + 1) * 64;
            continue;
        }
        *at += (uint64_t)__builtin_ctzll(rest);
        out[n++] = (int64_t)(*at)++;
    }
    return n;
}

int og__ids_list(const struct og_ids *ids, uint64_t *at, int64_t *out, size_t room, size_t *n,
                 struct og_err *err)
{
    int rc = 0;
    if (!ids->wide) {
        *n = list_bits(ids, at, out, room);
        return 0;
    }
    *n = (size_t)OG_MIN((uint64_t)room, (uint64_t)ids->n - *at);
    if (ids->far)
        rc = og__id_runs_read(&ids->runs, *at, *n, (uint64_t *)out, err);
    else
        memcpy(out, ids->list + *at, *n * sizeof(*out));
    *at += *n;
    return rc;
}
