/* The one memory budget, and arenas carved from it.
 *
 * Everything larger than about a MiB is taken through a budget: topology, tables, traces, plans,
 * caches, staging, model, activations. What would carry the process past the budget fails with
 * -ENOMEM and a message that names the part; it is never granted and regretted. Small
 * bookkeeping (paths, option strings, thread stacks) is covered by a fixed reserve that the
 * memory plan in train/ sets aside.
 *
 * Allocations of 2 MiB and more are mapped on 2 MiB boundaries and offered to the kernel as huge
 * pages: sampling walks them at random, and TLB misses would dominate. Given back, they are kept
 * for the next that asks, within the limit. */
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

/* From now on no more than so many bytes, 0 = any number; false where more is taken already. */
bool og__budget_bound(struct og_budget *b, size_t limit);

size_t og__budget_limit(const struct og_budget *b); /* SIZE_MAX when unlimited */
size_t og__budget_used(const struct og_budget *b);
size_t og__budget_left(const struct og_budget *b);

/* Zeroed memory, aligned to 64 bytes (2 MiB when that large). `part` is a string literal such as
 * "feature cache". b may be NULL: then nothing is counted. NULL on failure, with err filled.
 * Any thread. */
void *og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err);

/* Give back what og__alloc returned, with the same bytes and part: a part that gives back more than
 * it took is a bug and stops the program. p may be NULL. */
void og__release(struct og_budget *b, void *p, size_t bytes, const char *part);

/* What malloc keeps of memory that was given back goes to the kernel: after many buffers of a
 * thread whose arena others do not take from. */
void og__memory_trim(void);

/* ---- kinds of memory ----
 *
 * What computes has memory of its own: the host's on processors, a device's on a device. Each kind
 * has a budget of its own; what is kept in it knows neither kind nor budget. The functions are
 * used as og__alloc and og__release are, and promise the same. */
struct og_memory {
    const struct og_memory_kind {
        void *(*alloc)(const struct og_memory *m, size_t bytes, const char *part,
                       struct og_err *err);
        void (*release)(const struct og_memory *m, void *p, size_t bytes, const char *part);
    } * kind;
    struct og_budget *budget;
    void *device; /* whose memory it is; NULL: the host's */
};
/* The process's: og__alloc and og__release. */
struct og_memory og__host_memory(struct og_budget *b);

/* ---- address space ---- */

/* Address space without memory, for an array that may have to grow in place: charge the budget and
 * open what it has grown by before touching that. NULL when the kernel has no such range. */
void *og__address_reserve(size_t bytes, struct og_err *err);
/* Whole pages that hold these bytes may be touched. Only now does the kernel count them as promised
 * (vm.overcommit_memory=2), and it may refuse. */
OG_MUST_CHECK int og__address_open(void *start, size_t bytes, struct og_err *err);
void og__address_release(void *p, size_t bytes);
/* Such space that is not touched yet gets memory that the budget has from others who gave theirs
 * back, as far as there is; that spares touching new pages. What it holds is undefined. Charge it
 * right after: charging first would give away what is kept. */
void og__address_furnish(struct og_budget *b, void *start, size_t bytes);
/* The other way round, of whole pages: they hold zeros as before they were touched, and what was
 * there the budget keeps for others. Uncharge it right before, so that there is room. */
void og__address_empty(struct og_budget *b, void *start, size_t bytes);
OG_MUST_CHECK int og__budget_charge(struct og_budget *b, size_t bytes, const char *part,
                                    struct og_err *err);
void og__budget_uncharge(struct og_budget *b, size_t bytes, const char *part);

/* Bytes of a --memory setting: the size given, or a share of what is free now; 90 % when unset. */
struct og_amount;
size_t og__memory_amount(const struct og_amount *a);

/* Whose touches it is an error from now on, and whose no more; nothing but in a build with address
 * sanitizer. */
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

/* ---- arena: one allocation, pointers carved in order, all given back at once ----
 *
 *   base                    used                      cap
 *   |  array | array | ...  |        untouched        |
 */
struct og_arena {
    char *base;
    size_t used, cap;
    struct og_memory memory;
    const char *part;
};

OG_MUST_CHECK int og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap,
                                 const char *part, struct og_err *err);
void og__arena_release(struct og_arena *a);

/* og__memory_shut and _open of the host's memory alone: of a device's, work that was asked for
 * before an arena is carved anew may still be to be done. */
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

/* What `bytes` bytes take of an arena: sizes are sums of these. */
static inline size_t og__arena_room(size_t bytes)
{
    return og__round_up(bytes, 64) + (OG_ADDRESS_SANITIZER ? 64 : 0); /* so that overruns show */
}

/* 64-byte aligned, contents undefined. NULL when the arena is full: a caller sizes it first. */
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

/* Mark by reading a->used; go back to a mark. */
static inline void og__arena_rewind(struct og_arena *a, size_t mark)
{
    a->used = mark;
    og__arena_shut(a, a->base + mark, a->cap - mark);
}

#endif
