#include "dataset/offsets.h"

static size_t base_bytes(uint64_t n)
{
    return (size_t)(n / OG__OFFSETS_A_BASE + 1) * sizeof(int64_t);
}

static size_t low_bytes(uint64_t n)
{
    return (size_t)(n + 1) * sizeof(uint32_t);
}

size_t og__offsets_bytes(uint64_t n)
{
    return base_bytes(n) + low_bytes(n);
}

int og__offsets_init(struct og_offsets *o, uint64_t n, struct og_budget *b, const char *name,
                     struct og_err *err)
{
    *o = (struct og_offsets){.n = n};
    o->base = og__alloc(b, base_bytes(n), name, err);
    o->low = o->base ? og__alloc(b, low_bytes(n), name, err) : NULL;
    if (o->low)
        return 0;
    og__offsets_release(o, b, name);
    return -ENOMEM;
}

bool og__offsets_put(struct og_offsets *o, uint64_t i, int64_t value)
{
    int64_t *base = &o->base[i / OG__OFFSETS_A_BASE];
    if (i % OG__OFFSETS_A_BASE == 0)
        *base = value;
    o->low[i] = (uint32_t)(value - *base);
    return value - *base <= UINT32_MAX;
}

void og__offsets_release(struct og_offsets *o, struct og_budget *b, const char *name)
{
    og__release(b, o->base, base_bytes(o->n), name);
    og__release(b, o->low, low_bytes(o->n), name);
    *o = (struct og_offsets){0};
}
