/* Allocations of one owner, taken one by one and released together. */
#ifndef OG_ALLOCS_H
#define OG_ALLOCS_H

#include "base/memory.h"

enum { OG__MOST_ALLOCS = 16 };
struct og_allocs {
    struct og_budget *budget;
    const char *part;
    bool failed;
    uint32_t n;
    uint64_t room; /* items that the allocations were taken for, if the owner says so */
    struct {
        void *base;
        size_t bytes;
    } of[OG__MOST_ALLOCS];
};
static inline struct og_allocs og__allocs(struct og_budget *b, const char *part)
{
    return (struct og_allocs){.budget = b, .part = part};
}

/* As og__alloc. NULL also after one has failed, so that one question covers all of them. */
void *og__allocs_take(struct og_allocs *a, size_t bytes, struct og_err *err);
/* 0; or -ENOMEM if one has failed, and then all are released. */
OG_MUST_CHECK int og__allocs_taken(struct og_allocs *a);
void og__allocs_release(struct og_allocs *a); /* accepts zeros; more may be taken later */
/* Are they taken for n items or more? Else releases them: the caller takes new ones for n. */
bool og__allocs_fit(struct og_allocs *a, uint64_t n);

#endif
