/* Tables by 32-bit id: open addressing with linear probing, a power of two of entries.
 *
 * An entry is a struct that begins with its id, UINT32_MAX where it is free; so no entry has that
 * id. Its size is passed to each call, as `stride`, lest it be looked up at run time: inlined, a
 * table of eight bytes an entry is as fast as one written for it. A table whose entries are places
 * in an array of ids that is there anyway passes the array as `ids`, others NULL.
 *
 * How full a table gets is its owner's to see to: og__ids_room ids fit before probing becomes slow.
 * A direct array of N entries would be a cache miss a look as well, and takes memory by the graph
 * instead of by what is in it. */
#ifndef OG_ID_TABLE_H
#define OG_ID_TABLE_H

#include "base/memory.h"

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

/* Entries of a table that is at most 5/8 full with so many ids; at least 64. */
size_t og__id_table_size(uint64_t ids);

/* An empty table of `size` entries, a power of two. -ENOMEM, the table being none. */
OG_MUST_CHECK int og__id_table_open(struct og_id_table *t, size_t size, size_t stride,
                                    struct og_budget *b, const char *part, struct og_err *err);
void og__id_table_close(struct og_id_table *t, size_t stride, struct og_budget *b,
                        const char *part);

/* So many of the entries there is memory for from now on, a power of two; and all of them free. */
static inline void og__id_table_use(struct og_id_table *t, size_t size, size_t stride)
{
    t->size = size;
    t->shift = 64 - (unsigned)__builtin_ctzll(size);
    memset(t->entry, 0xff, size * stride);
}

/* Twice the entries; the old ones are there until the new ones are filled. After -ENOMEM it is as
 * it was. */
OG_MUST_CHECK int og__id_table_grow(struct og_id_table *t, size_t stride, struct og_budget *b,
                                    const char *part, struct og_err *err);

/* How many ids `t` holds at 5/8. */
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

/* The entry of `id`, or the free one that is to be it. */
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

/* Where `id` is, of a table of places; `fresh`, from now on, where it was not there. */
static inline uint32_t og__id_place(struct og_id_table *t, uint32_t id, uint32_t fresh)
{
    struct og_id_place *e = (struct og_id_place *)og__id_find(t, sizeof(*e), NULL, id);
    if (e->id != id)
        *e = (struct og_id_place){id, fresh};
    return e->place;
}

/* Frees the entry of `id`, which is there, and closes the gap: what follows and would be missed
 * moves up. (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm R.) */
void og__id_remove(struct og_id_table *t, size_t stride, const uint32_t *ids, uint32_t id);

#endif
