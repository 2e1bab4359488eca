#include "sample/triples.h"

#include <string.h>

static const char part[] = "seeds";

static size_t size_for(uint64_t n)
{
    size_t size = 4;
    while (size < 2 * n)
        size *= 2;
    return size;
}

static size_t table_bytes(uint64_t n)
{
    return size_for(n) * sizeof(uint32_t);
}

static uint64_t count(const struct og_triples *t)
{
    uint64_t n = 0;
    for (int s = 0; s < OG__SPLITS; s++)
        n += t->split[s].n;
    return n;
}

/* The first place to look at; those that follow it are next. */
static size_t place_of(const struct og_triples *t, uint32_t source, uint32_t relation,
                       uint32_t destination)
{
    uint64_t h = (uint64_t)source << 32 | destination;
    h = (h ^ (uint64_t)relation * 0x9E3779B97F4A7C15u) * 0xFF51AFD7ED558CCDu;
    h = (h ^ h >> 32) * 0xC4CEB9FE1A85EC53u;
    return (size_t)(h ^ h >> 29) & (t->size - 1);
}

static bool is_at(const struct og_triples *t, uint32_t number, uint32_t source, uint32_t relation,
                  uint32_t destination)
{
    uint64_t i = number - 1;
    const struct og_triple_list *list = t->split;
    for (; i >= list->n; list++)
        i -= list->n;
    return list->ends[2 * i] == source && list->ends[2 * i + 1] == destination &&
           list->relation[i] == relation;
}

static void put(struct og_triples *t, uint32_t number, uint32_t source, uint32_t relation,
                uint32_t destination)
{
    size_t at = place_of(t, source, relation, destination);
    while (t->table[at])
        at = (at + 1) & (t->size - 1);
    t->table[at] = number;
}

int og__triples_open(struct og_triples *t, struct og_budget *b, struct og_err *err)
{
    const uint64_t n = count(t);
    uint32_t number = 0;
    if (n > INT32_MAX)
        return og__fail(err, -EOVERFLOW, "give one --relation",
                        "%llu edges to learn, of several relations", (unsigned long long)n);
    t->table = og__alloc(b, table_bytes(n), part, err);
    if (!t->table)
        return -ENOMEM;
    t->budget = b;
    t->size = size_for(n);
    memset(t->table, 0, table_bytes(n));
    for (int s = 0; s < OG__SPLITS; s++)
        for (uint64_t i = 0; i < t->split[s].n; i++) {
            const struct og_triple_list *list = &t->split[s];
            put(t, ++number, list->ends[2 * i], list->relation[i], list->ends[2 * i + 1]);
        }
    return 0;
}

void og__triples_close(struct og_triples *t)
{
    og__release(t->budget, t->table, t->size * sizeof(*t->table), part);
    t->table = NULL;
    t->size = 0;
}

bool og__triples_has(const struct og_triples *t, uint32_t source, uint32_t relation,
                     uint32_t destination)
{
    size_t at = place_of(t, source, relation, destination);
    for (; t->table[at]; at = (at + 1) & (t->size - 1))
        if (is_at(t, t->table[at], source, relation, destination))
            return true;
    return false;
}
