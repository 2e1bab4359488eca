#include "base/allocs.h"

#include <assert.h>

void *og__allocs_take(struct og_allocs *a, size_t bytes, struct og_err *err)
{
    assert(a->n < OG__MOST_ALLOCS);
    void *base = a->failed ? NULL : og__alloc(a->budget, bytes, a->part, err);
    a->failed = !base;
    if (base) {
        a->of[a->n].base = base;
        a->of[a->n++].bytes = bytes;
    }
    return base;
}

void og__allocs_release(struct og_allocs *a)
{
    while (a->n > 0) {
        a->n--;
        og__release(a->budget, a->of[a->n].base, a->of[a->n].bytes, a->part);
    }
    a->failed = false;
    a->room = 0;
}

int og__allocs_taken(struct og_allocs *a)
{
    if (!a->failed)
        return 0;
    og__allocs_release(a);
    return -ENOMEM;
}

bool og__allocs_fit(struct og_allocs *a, uint64_t n)
{
    if (a->n > 0 && n <= a->room)
        return true;
    og__allocs_release(a);
    a->room = n;
    return false;
}
