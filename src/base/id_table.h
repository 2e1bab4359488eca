/* Hash tables keyed by 32-bit id: open addressing, linear probing, a power of two of entries.
 *
 * An entry is a struct that begins with its id. UINT32_MAX marks a free entry and is no valid id.
 * Each call takes the entry size as `stride`. Inlining makes it a constant, so a table of 8-byte
 * entries is as fast as a specialised one. A table whose entries are positions in an existing array
 * of ids passes that array as `ids`; others pass NULL.
 *
 * The owner watches the load: og__ids_room ids fit before probing becomes slow. A direct array of N
 * entries would also miss the cache on each lookup. Its memory grows with the graph, not with the
 * number of ids. */
#ifndef OG_ID_TABLE_H
#define OG_ID_TABLE_H

#include "base/allocs.h"

#include <string.h>

#define OG__NO_ID UINT32_MAX

struct og_id_table {
    void *entry; /* [size] */
    size_t size;
    unsigned shift; /* 64 - log2(size) */
};

/* The most common entry. */
struct og_id_place {
    uint32_t id, place;
};

/* ---- memory ---- */

/* Entries of a table that `ids` ids fill to at most 5/8; at least 64. */
size_t og__id_table_size(uint64_t ids);

/* Opens an empty table of `size` entries, a power of two. On -ENOMEM the table stays closed. */
OG_MUST_CHECK int og__id_table_open(struct og_id_table *t, size_t size, size_t stride,
                                    struct og_budget *b, const char *part, struct og_err *err);
void og__id_table_close(struct og_id_table *t, size_t stride, struct og_budget *b,
                        const char *part);

/* Uses the first `size` entries from now on, a power of two, and frees all of them. */
static inline void og__id_table_use(struct og_id_table *t, size_t size, size_t stride)
{
    t->size = size;
    t->shift = 64 - (unsigned)__builtin_ctzll(size);
    memset(t->entry, 0xff, size * stride);
}

/* Opens an empty table of `size` entries among an owner's allocations; nothing where one failed. */
static inline void og__id_table_take(struct og_id_table *t, size_t size, size_t stride,
                                     struct og_allocs *a, struct og_err *err)
{
    t->entry = og__allocs_take(a, size * stride, err);
    if (t->entry)
        og__id_table_use(t, size, stride);
}

/* Doubles the table. Old and new entries coexist while it copies. On -ENOMEM it is unchanged. */
OG_MUST_CHECK int og__id_table_grow(struct og_id_table *t, size_t stride, struct og_budget *b,
                                    const char *part, struct og_err *err);

/* The number of ids that fill `t` to 5/8. */
static inline uint64_t og__id_table_room(const struct og_id_table *t)
{
    return t->size * 5 / 8;
}

static inline void og__id_table_clear(struct og_id_table *t, size_t stride)
{
    memset(t->entry, 0xff, t->size * stride);
}

/* ---- looking up ---- */

static inline size_t og__id_home(const struct og_id_table *t, uint32_t id)
{
    return (size_t)((id * 0x9E3779B97F4A7C15ull) >> t->shift);
}

static inline void *og__id_entry(const struct og_id_table *t, size_t stride, size_t i)
{
    return (char *)t->entry + i * stride;
}

/* The id of an entry, or OG__NO_ID. */
static inline uint32_t og__id_of(const void *entry, const uint32_t *ids)
{
    uint32_t first = *(const uint32_t *)entry;
    return ids && first != OG__NO_ID ? ids[first] : first;
}

static inline void og__id_prefetch(const struct og_id_table *t, size_t stride, uint32_t id)
{
    __builtin_prefetch(og__id_entry(t, stride, og__id_home(t, id)));
}

/* The entry of `id`, or the free entry that it would take. */
static inline void *og__id_find(const struct og_id_table *t, size_t stride, const uint32_t *ids,
                                uint32_t id)
{
    for (size_t i = og__id_home(t, id);; i = (i + 1) & (t->size - 1)) {
        void *e = og__id_entry(t, stride, i);
        uint32_t found = og__id_of(e, ids);
        if (found == id || found == OG__NO_ID)
            return e;
    }
}

/* The position of `id` in a table of positions; inserts `fresh` if it is absent. */
static inline uint32_t og__id_place(struct og_id_table *t, uint32_t id, uint32_t fresh)
{
    struct og_id_place *e = (struct og_id_place *)og__id_find(t, sizeof(*e), NULL, id);
    if (e->id != id)
        *e = (struct og_id_place){id, fresh};
    return e->place;
}

/* Frees the entry of an existing `id`, and moves later entries so that searches still find them.
 * Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm R. */
void og__id_remove(struct og_id_table *t, size_t stride, const uint32_t *ids, uint32_t id);

#endif
