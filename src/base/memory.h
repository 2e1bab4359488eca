/* The memory budget, and arenas allocated from it.
 *
 * Every allocation of about a MiB or more is charged to a budget. That is topology, tables, traces,
 * plans, caches, staging, model, activations. One that would exceed the budget fails with -ENOMEM
 * and a message that names the part. The memory plan (src/budget) sets a fixed reserve aside for
 * small bookkeeping (paths, option strings, thread stacks).
 *
 * Allocations of 2 MiB or more are mapped on 2 MiB boundaries. The kernel may use huge pages for
 * them. Sampling accesses them at random, and TLB misses would dominate. The budget retains
 * released blocks for later requests, within the limit. */
#ifndef OG_MEMORY_H
#define OG_MEMORY_H

#include "base/base.h"

#if defined(__SANITIZE_ADDRESS__)
#define OG_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define OG_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define OG_ADDRESS_SANITIZER 0
#endif
#if OG_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

struct og_budget;

/* limit 0 = unlimited (still counted). NULL on lack of memory. */
struct og_budget *og__budget_new(size_t limit);
void og__budget_free(struct og_budget *b);

/* Sets the limit, 0 = none; false if more is in use already. */
bool og__budget_bound(struct og_budget *b, size_t limit);

/* Says that --memory has so many shares as large as this one; hints name their sum. */
void og__budget_divide(struct og_budget *b, size_t shares);

size_t og__budget_limit(const struct og_budget *b); /* SIZE_MAX when unlimited */
size_t og__budget_used(const struct og_budget *b);
size_t og__budget_left(const struct og_budget *b);

/* Zeroed memory, aligned to 64 bytes (2 MiB if that large). `part` is a string literal such as
 * "feature cache". b may be NULL: then nothing is counted. NULL on failure, with err filled. Any
 * thread. */
void *og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err);

/* Releases memory of og__alloc, with the bytes and the part of its allocation. Releasing more than
 * a part allocated is a bug and aborts the program. p may be NULL. */
void og__release(struct og_budget *b, void *p, size_t bytes, const char *part);

/* Returns malloc's free memory to the kernel. Useful after a thread freed many buffers, because
 * other threads do not allocate from its arena. */
void og__memory_trim(void);

/* ---- kinds of memory ----
 *
 * CPU code uses host memory, device code uses device memory. Each kind has its own budget; its
 * users know neither kind nor budget. The functions have the contracts of og__alloc and
 * og__release. */
struct og_memory {
    const struct og_memory_kind {
        void *(*alloc)(const struct og_memory *m, size_t bytes, const char *part,
                       struct og_err *err);
        void (*release)(const struct og_memory *m, void *p, size_t bytes, const char *part);
    } * kind;
    struct og_budget *budget;
    void *device; /* owner of the memory; NULL: the host */
};
/* Host memory of this process: og__alloc and og__release. */
struct og_memory og__host_memory(struct og_budget *b);

/* ---- address space ---- */

/* Reserves address space without memory, for an array that may grow in place. Before use, charge
 * the budget and open the new range. NULL if the kernel has no such range. */
void *og__address_reserve(size_t bytes, struct og_err *err);
/* Opens the whole pages that hold these bytes. Only now does the kernel commit them
 * (vm.overcommit_memory=2), and it may refuse. */
OG_MUST_CHECK int og__address_open(void *start, size_t bytes, struct og_err *err);
void og__address_release(void *p, size_t bytes);
/* Moves pages that the budget retains into this untouched space, as far as there are any. This
 * avoids first touches of new pages. Contents are undefined. Charge the bytes right after: charging
 * first would release the retained pages. */
void og__address_furnish(struct og_budget *b, void *start, size_t bytes);
/* The reverse, for whole pages: the budget retains the pages, and the range reads as zeros.
 * Uncharge the bytes right before, so that there is room. */
void og__address_empty(struct og_budget *b, void *start, size_t bytes);
OG_MUST_CHECK int og__budget_charge(struct og_budget *b, size_t bytes, const char *part,
                                    struct og_err *err);
void og__budget_uncharge(struct og_budget *b, size_t bytes, const char *part);

/* Bytes of a --memory setting: the given size, or a share of the free memory; 90 % if unset. */
struct og_amount;
size_t og__memory_amount(const struct og_amount *a);

/* Marks memory as inaccessible, or accessible again. No effect without address sanitizer. */
static inline void og__memory_shut(const void *p, size_t bytes)
{
#if OG_ADDRESS_SANITIZER
    ASAN_POISON_MEMORY_REGION(p, bytes);
#else
    (void)p;
    (void)bytes;
#endif
}

static inline void og__memory_open(const void *p, size_t bytes)
{
#if OG_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#else
    (void)p;
    (void)bytes;
#endif
}

/* ---- arena: one allocation, pointers taken in order, released at once ----
 *
 *   base                    used                      cap
 *   |  array | array | ...  |        untouched        | */
struct og_arena {
    char *base;
    size_t used, cap;
    struct og_memory memory;
    const char *part;
};

OG_MUST_CHECK int og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap,
                                 const char *part, struct og_err *err);
void og__arena_release(struct og_arena *a);

/* og__memory_shut and _open for host arenas. Device arenas are skipped: work queued earlier may
 * still run when the arena is reused. */
static inline void og__arena_shut(const struct og_arena *a, const void *p, size_t bytes)
{
    if (!a->memory.device)
        og__memory_shut(p, bytes);
}

static inline void og__arena_open(const struct og_arena *a, const void *p, size_t bytes)
{
    if (!a->memory.device)
        og__memory_open(p, bytes);
}

/* Arena bytes that an allocation of `bytes` takes; arenas are sized as sums of these. */
static inline size_t og__arena_room(size_t bytes)
{
    return og__round_up(bytes, 64) + (OG_ADDRESS_SANITIZER ? 64 : 0); /* so that overruns show */
}

/* 64-byte aligned, contents undefined. NULL when the arena is full: the caller sizes it first. */
static inline void *og__arena_take(struct og_arena *a, size_t bytes)
{
    size_t size = og__arena_room(bytes);
    if (size > a->cap - a->used)
        return NULL;
    void *p = a->base + a->used;
    a->used += size;
    og__arena_open(a, p, bytes);
    return p;
}

/* Rewinds to a mark, an earlier value of a->used. */
static inline void og__arena_rewind(struct og_arena *a, size_t mark)
{
    a->used = mark;
    og__arena_shut(a, a->base + mark, a->cap - mark);
}

#endif
