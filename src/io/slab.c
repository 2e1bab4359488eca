#include "io/slab.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "read buffers";

static size_t units(size_t bytes)
{
    return (bytes + OG_SLAB_UNIT - 1) / OG_SLAB_UNIT;
}

/* One more unit, because the budget aligns small allocations to cache lines only. */
size_t og__slab_bytes(size_t bytes)
{
    return (units(bytes) + 1) * OG_SLAB_UNIT;
}

int og__slab_init(struct og_slab *s, size_t bytes, struct og_budget *b, struct og_err *err)
{
    *s = (struct og_slab){.budget = b, .n_units = units(bytes)};
    s->memory = og__alloc(b, og__slab_bytes(bytes), part, err);
    s->busy = calloc(s->n_units, 1);
    if (!s->memory || !s->busy) {
        og__slab_release(s);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    }
    s->base = (char *)og__round_up((uintptr_t)s->memory, OG_SLAB_UNIT);
    return 0;
}

void og__slab_release(struct og_slab *s)
{
    og__release(s->budget, s->memory, (s->n_units + 1) * OG_SLAB_UNIT, part);
    free(s->busy);
    *s = (struct og_slab){0};
}

/* Index of the first run of n free units that starts in [from, to). Returns n_units if there is
 * none. */
static size_t find_run(const struct og_slab *s, size_t n, size_t from, size_t to)
{
    while (from < to && from + n <= s->n_units) {
        const unsigned char *taken = memrchr(s->busy + from, 1, n);
        if (!taken)
            return from;
        from = (size_t)(taken - s->busy) + 1;
    }
    return s->n_units;
}

char *og__slab_take(struct og_slab *s, size_t bytes)
{
    size_t n = units(bytes);
    size_t at = find_run(s, n, s->next, s->n_units);
    if (at == s->n_units)
        at = find_run(s, n, 0, s->next);
    if (at == s->n_units)
        return NULL;
    memset(s->busy + at, 1, n);
    s->next = at + n;
    return s->base + at * OG_SLAB_UNIT;
}

void og__slab_give(struct og_slab *s, const char *data, size_t bytes)
{
    memset(s->busy + (size_t)(data - s->base) / OG_SLAB_UNIT, 0, units(bytes));
}
