#include "base/id_table.h"

/* ---- memory ---- */

size_t og__id_table_size(uint64_t ids)
{
    size_t size = 64;
    while (size * 5 / 8 < ids)
        size *= 2;
    return size;
}

int og__id_table_open(struct og_id_table *t, size_t size, size_t stride, struct og_budget *b,
                      const char *part, struct og_err *err)
{
    *t = (struct og_id_table){.entry = og__alloc(b, size * stride, part, err)};
    if (!t->entry)
        return -ENOMEM;
    og__id_table_use(t, size, stride);
    return 0;
}

void og__id_table_close(struct og_id_table *t, size_t stride, struct og_budget *b, const char *part)
{
    og__release(b, t->entry, t->size * stride, part);
    *t = (struct og_id_table){0};
}

int og__id_table_grow(struct og_id_table *t, size_t stride, struct og_budget *b, const char *part,
                      struct og_err *err)
{
    struct og_id_table larger;
    if (og__id_table_open(&larger, 2 * t->size, stride, b, part, err) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < t->size; i++) {
        const void *e = og__id_entry(t, stride, i);
        uint32_t id = og__id_of(e, NULL);
        if (id != OG__NO_ID)
            memcpy(og__id_find(&larger, stride, NULL, id), e, stride);
    }
    og__id_table_close(t, stride, b, part);
    *t = larger;
    return 0;
}

/* ---- removing ---- */

void og__id_remove(struct og_id_table *t, size_t stride, const uint32_t *ids, uint32_t id)
{
    const size_t mask = t->size - 1;
    char *gap = og__id_find(t, stride, ids, id);
    size_t hole = (size_t)(gap - (char *)t->entry) / stride;
    for (size_t i = (hole + 1) & mask;; i = (i + 1) & mask) {
        const void *e = og__id_entry(t, stride, i);
        const uint32_t next = og__id_of(e, ids);
        if (next == OG__NO_ID)
            break;
        if (((i - og__id_home(t, next)) & mask) < ((i - hole) & mask))
            continue;
        memcpy(og__id_entry(t, stride, hole), e, stride);
        hole = i;
    }
    memset(og__id_entry(t, stride, hole), 0xff, stride);
}
