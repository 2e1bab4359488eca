#include "base/memory.h"

#include <outgrow/outgrow.h>

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_PARTS = 48 };
#define HUGE (2 * OG_MIB)

struct og_budget {
    size_t limit; /* set at creation, then constant */
    pthread_mutex_t lock;
    /* guarded by lock */
    size_t used;
    struct {
        const char *name;
        size_t bytes;
    } parts[MAX_PARTS];
    size_t n_parts;
};

struct og_budget *og__budget_new(size_t limit)
{
    struct og_budget *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->limit = limit ? limit : SIZE_MAX;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void og__budget_free(struct og_budget *b)
{
    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    free(b);
}

size_t og__budget_limit(const struct og_budget *b)
{
    return b ? b->limit : SIZE_MAX;
}

size_t og__budget_used(const struct og_budget *b)
{
    if (!b)
        return 0;
    pthread_mutex_lock((pthread_mutex_t *)&b->lock);
    size_t used = b->used;
    pthread_mutex_unlock((pthread_mutex_t *)&b->lock);
    return used;
}

size_t og__budget_left(const struct og_budget *b)
{
    return og__budget_limit(b) - og__budget_used(b);
}

/* What a part holds; NULL where more names are in use than are followed. Caller holds the lock. */
static size_t *held_by(struct og_budget *b, const char *part)
{
    for (size_t i = 0; i < b->n_parts; i++)
        if (strcmp(b->parts[i].name, part) == 0)
            return &b->parts[i].bytes;
    if (b->n_parts == MAX_PARTS)
        return NULL;
    b->parts[b->n_parts].name = part;
    return &b->parts[b->n_parts++].bytes;
}

int og__budget_charge(struct og_budget *b, size_t bytes, const char *part, struct og_err *err)
{
    if (!b)
        return 0;
    pthread_mutex_lock(&b->lock);
    size_t left = b->limit - b->used;
    if (bytes <= left) {
        b->used += bytes;
        size_t *held = held_by(b, part);
        if (held)
            *held += bytes;
    }
    pthread_mutex_unlock(&b->lock);
    if (bytes <= left)
        return 0;
    char need[32];
    char have[32];
    return og__fail(err, -ENOMEM, "give it more with --memory",
                    "%s: needs %s, the budget has %s left", part,
                    og__human_bytes(need, (double)bytes), og__human_bytes(have, (double)left));
}

void og__budget_uncharge(struct og_budget *b, size_t bytes, const char *part)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    size_t *held = held_by(b, part);
    assert(b->used >= bytes && (!held || *held >= bytes));
    b->used -= bytes;
    if (held)
        *held -= bytes;
    pthread_mutex_unlock(&b->lock);
}

/* Map with a start on a huge-page boundary: over-map, then cut both ends off. */
static void *map_huge(size_t bytes, int flags)
{
    size_t size = og__round_up(bytes, 4096);
    char *p =
        mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *start = (char *)og__round_up((uintptr_t)p, HUGE);
    if (start > p)
        munmap(p, (size_t)(start - p));
    munmap(start + size, (size_t)(p + HUGE - start));
    madvise(start, size, MADV_HUGEPAGE); /* advice only: a kernel without it still serves */
    return start;
}

void *og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err)
{
    if (og__budget_charge(b, bytes, part, err) < 0)
        return NULL;
    void *p = NULL;
    if (bytes >= HUGE)
        p = map_huge(bytes, 0);
    else if ((p = aligned_alloc(64, og__round_up(OG_MAX(bytes, 1), 64))) != NULL)
        memset(p, 0, og__round_up(OG_MAX(bytes, 1), 64));
    if (p)
        return p;
    og__budget_uncharge(b, bytes, part);
    char need[32];
    og__fail(err, -ENOMEM, "close other programs or lower --memory",
             "%s: the kernel refused %s of memory", part, og__human_bytes(need, (double)bytes));
    return NULL;
}

void og__release(struct og_budget *b, void *p, size_t bytes, const char *part)
{
    if (!p)
        return;
    if (bytes >= HUGE)
        munmap(p, og__round_up(bytes, 4096));
    else
        free(p);
    og__budget_uncharge(b, bytes, part);
}

void *og__address_reserve(size_t bytes, struct og_err *err)
{
    void *p = map_huge(bytes, MAP_NORESERVE);
    char size[32];
    if (!p)
        og__fail_errno(err, -errno, NULL, "cannot reserve %s of address space",
                       og__human_bytes(size, (double)bytes));
    return p;
}

void og__address_release(void *p, size_t bytes)
{
    if (p)
        munmap(p, og__round_up(bytes, 4096));
}

size_t og__memory_amount(const struct og_amount *a)
{
    double available = (double)og__memory_free();
    if (a->unit == OG_UNSET)
        return (size_t)(0.9 * available);
    return (size_t)(a->unit == OG_PERCENT ? available * a->value / 100 : a->value);
}

int og__arena_init(struct og_arena *a, struct og_budget *b, size_t cap, const char *part,
                   struct og_err *err)
{
    *a = (struct og_arena){.cap = og__round_up(cap, 64), .budget = b, .part = part};
    a->base = og__alloc(b, a->cap, part, err);
    if (a->base)
        return 0;
    a->cap = 0;
    return -ENOMEM;
}

void og__arena_release(struct og_arena *a)
{
    if (!a)
        return;
    og__release(a->budget, a->base, a->cap, a->part);
    *a = (struct og_arena){0};
}
