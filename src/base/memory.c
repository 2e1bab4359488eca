#include "base/memory.h"

#include "base/option_rows.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if OG_ADDRESS_SANITIZER
/* From sanitizer/allocator_interface.h, which gcc does not ship. */
int __sanitizer_get_ownership(const volatile void *p);
size_t __sanitizer_get_allocated_size(const volatile void *p);
#endif

enum { MAX_PARTS = 48, MOST_KEPT = 16, PAGE = 4096 };
#define HUGE (2 * OG_MIB)

struct og_budget {
    size_t limit;  /* guarded by lock where it is bound later */
    size_t shares; /* of --memory, of which this is one */
    pthread_mutex_t lock;
    /* guarded by lock */
    size_t used;
    struct {
        const char *name;
        size_t bytes;
    } parts[MAX_PARTS];
    size_t n_parts;
    struct block {
        char *start;
        size_t bytes; /* whole huge pages */
    } kept[MOST_KEPT];
    int n_kept;
    size_t kept_bytes;
};

/* ---- address sanitizer ----
 *
 * It knows malloc's blocks but not mappings and arenas. So released memory and the bytes after a
 * request are marked as inaccessible. An extra mapped page after each block, and a gap between
 * arena allocations, make room for such bytes.
 *
 *   | bytes requested | to the end of the page | a page |
 *                     ^ inaccessible from here on */

/* Address space of a mapped block. */
static size_t mapped(size_t bytes)
{
    return og__round_up(bytes + (OG_ADDRESS_SANITIZER ? PAGE : 0), PAGE);
}

/* Someone else may get these addresses. */
static void unmap(char *p, size_t bytes)
{
    og__memory_open(p, bytes);
    munmap(p, bytes);
}

/* Does `bytes` match the request? For large blocks, releasing another number of bytes would release
 * memory of others. Only an assertion calls it. */
__attribute__((unused)) static bool is_whole(const char *p, size_t bytes)
{
#if OG_ADDRESS_SANITIZER
    if (bytes < HUGE)
        return __sanitizer_get_ownership(p) &&
               __sanitizer_get_allocated_size(p) == OG_MAX(bytes, 1);
    return !__asan_address_is_poisoned(p + bytes - 1) && __asan_address_is_poisoned(p + bytes);
#else
    (void)p;
    (void)bytes;
    return true;
#endif
}

/* ---- released memory ----
 *
 * First touches of pages are slow: the kernel clears them. A virtual machine's host may also have
 * to find them. So the budget retains released large blocks for later requests. A request that
 * needs their room drops them. */

/* Bytes that retained blocks never use: the process needs memory that no budget counts. */
static size_t spare(const struct og_budget *b)
{
    return OG_MIN(b->limit, b->limit / 32 + 16 * OG_MIB);
}

/* Caller holds the lock. */
static struct block take_kept(struct og_budget *b, int i)
{
    struct block k = b->kept[i];
    b->kept[i] = b->kept[--b->n_kept];
    b->kept_bytes -= k.bytes;
    og__memory_open(k.start, k.bytes);
    return k;
}

/* Caller holds the lock. */
static void add_kept(struct og_budget *b, struct block k)
{
    og__memory_shut(k.start, k.bytes);
    b->kept[b->n_kept++] = k;
    b->kept_bytes += k.bytes;
}

/* Drops retained blocks until used and retained memory fit. Caller holds the lock. */
static void drop_kept(struct og_budget *b)
{
    const size_t most = b->limit - spare(b);
    while (b->n_kept > 0 && b->used + b->kept_bytes > most) {
        const size_t over = og__round_up(b->used + b->kept_bytes - most, HUGE);
        struct block k = take_kept(b, b->n_kept - 1);
        const size_t rest = k.bytes - OG_MIN(k.bytes, over);
        munmap(k.start + rest, k.bytes - rest);
        if (rest > 0)
            add_kept(b, (struct block){k.start, rest});
    }
}

static int smallest_kept(const struct og_budget *b)
{
    int best = 0;
    for (int i = 1; i < b->n_kept; i++)
        if (b->kept[i].bytes < b->kept[best].bytes)
            best = i;
    return best;
}

/* As much of it as there is room for; where there are many, the largest ones. Caller holds the
 * lock. */
static void put_kept(struct og_budget *b, struct block k)
{
    if (b->limit == SIZE_MAX) {
        unmap(k.start, k.bytes);
        return;
    }
    if (b->n_kept == MOST_KEPT) {
        const int i = smallest_kept(b);
        const struct block smallest = take_kept(b, i);
        const bool larger = k.bytes > smallest.bytes;
        unmap(larger ? smallest.start : k.start, larger ? smallest.bytes : k.bytes);
        k = larger ? k : smallest;
    }
    add_kept(b, k);
    drop_kept(b);
}

/* Retains an unused mapping. */
static void keep(struct og_budget *b, char *p, size_t bytes)
{
    const size_t size = mapped(bytes);
    struct block k = {p, b ? size / HUGE * HUGE : 0};
    if (size > k.bytes)
        unmap(p + k.bytes, size - k.bytes);
    if (k.bytes == 0)
        return;
    pthread_mutex_lock(&b->lock);
    put_kept(b, k);
    pthread_mutex_unlock(&b->lock);
}

/* The smallest retained block that is large enough, or -1. Caller holds the lock. */
static int best_kept(const struct og_budget *b, size_t bytes)
{
    int best = -1;
    for (int i = 0; i < b->n_kept; i++)
        if (b->kept[i].bytes >= bytes && (best < 0 || b->kept[i].bytes < b->kept[best].bytes))
            best = i;
    return best;
}

/* Zeroed; NULL if no retained block is large enough. */
static void *reuse(struct og_budget *b, size_t bytes)
{
    const size_t size = og__round_up(mapped(bytes), HUGE);
    struct block k = {0};
    if (!b)
        return NULL;
    pthread_mutex_lock(&b->lock);
    int i = best_kept(b, size);
    if (i >= 0) {
        k = take_kept(b, i);
        if (k.bytes > size)
            put_kept(b, (struct block){k.start + size, k.bytes - size});
    }
    pthread_mutex_unlock(&b->lock);
    if (!k.start)
        return NULL;
    const size_t used = mapped(bytes);
    if (size > used)
        munmap(k.start + used, size - used);
    return memset(k.start, 0, used);
}

struct og_budget *og__budget_new(size_t limit)
{
    struct og_budget *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->limit = limit ? limit : SIZE_MAX;
    b->shares = 1;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

void og__budget_free(struct og_budget *b)
{
    if (!b)
        return;
    while (b->n_kept > 0) {
        struct block k = take_kept(b, 0);
        munmap(k.start, k.bytes);
    }
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void og__budget_divide(struct og_budget *b, size_t shares)
{
    b->shares = shares;
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

/* The bytes of a part; NULL if there are more than MAX_PARTS names. Caller holds the lock. */
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

bool og__budget_bound(struct og_budget *b, size_t limit)
{
    limit = limit ? limit : SIZE_MAX;
    pthread_mutex_lock(&b->lock);
    const bool fits = b->used <= limit;
    if (fits)
        b->limit = limit;
    pthread_mutex_unlock(&b->lock);
    return fits;
}

int og__budget_charge(struct og_budget *b, size_t bytes, const char *part, struct og_err *err)
{
    if (!b)
        return 0;
    pthread_mutex_lock(&b->lock);
    size_t left = b->limit - b->used;
    const size_t least = b->used + bytes;
    if (bytes <= left) {
        b->used += bytes;
        size_t *held = held_by(b, part);
        if (held)
            *held += bytes;
        drop_kept(b);
    }
    pthread_mutex_unlock(&b->lock);
    if (bytes <= left)
        return 0;
    char need[32];
    char have[32];
    char hint[80];
    snprintf(hint, sizeof(hint), "give it at least --memory %zuM",
             og__round_up(least * b->shares, OG_MIB) / OG_MIB);
    return og__fail(err, -ENOMEM, hint, "%s: needs %s, the budget has %s left", part,
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
static void *map_huge(size_t size, int rights, int flags)
{
    char *p = mmap(NULL, size + HUGE, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *start = (char *)og__round_up((uintptr_t)p, HUGE);
    if (start > p)
        munmap(p, (size_t)(start - p));
    munmap(start + size, (size_t)(p + HUGE - start));
    madvise(start, size, MADV_HUGEPAGE); /* advice only: a kernel without it still serves */
    return start;
}

/* Moves huge pages onto other, untouched ones. One at a time: the kernel moves together only what
 * was mapped together. Returns the bytes moved; the rest stays, as when the process has reached its
 * limit of mappings. */
static size_t move_pages(char *from, char *to, size_t bytes, int flags)
{
    for (size_t at = 0; at < bytes; at += HUGE) {
        char *page = to + at;
        if (mremap(from + at, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED | flags, page) == page)
            continue;
        /* what was there may be gone; this cannot fail for lack of address space */
        if (mmap(page, HUGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != page)
            return at;
        if (!(flags & MREMAP_DONTUNMAP))
            munmap(from + at, HUGE);
    }
    return bytes;
}

/* Moves retained pages onto whole huge ones that are untouched; returns the bytes moved, from the
 * front. */
static size_t furnish(struct og_budget *b, char *start, size_t bytes)
{
    size_t done = 0;
    pthread_mutex_lock(&b->lock);
    while (b->n_kept > 0 && done < bytes) {
        struct block k = take_kept(b, b->n_kept - 1);
        const size_t n = OG_MIN(k.bytes, bytes - done);
        if (k.bytes > n)
            put_kept(b, (struct block){k.start + n, k.bytes - n});
        const size_t moved = move_pages(k.start, start + done, n, 0);
        done += moved;
        if (moved < n) {
            munmap(k.start + moved, n - moved);
            break;
        }
    }
    pthread_mutex_unlock(&b->lock);
    return done;
}

/* Zeroed: moves the retained pages there, so the kernel has to find only the rest. */
static void *piece_together(struct og_budget *b, size_t bytes)
{
    char *p = map_huge(bytes, PROT_READ | PROT_WRITE, 0);
    const size_t kept = p && b ? furnish(b, p, bytes / HUGE * HUGE) : 0;
    return kept > 0 ? memset(p, 0, kept) : p;
}

static void *take_large(struct og_budget *b, size_t bytes)
{
    char *p = reuse(b, bytes);
    p = p ? p : piece_together(b, mapped(bytes));
    if (p)
        og__memory_shut(p + bytes, mapped(bytes) - bytes);
    return p;
}

/* Whole cache lines, but where a tool looks at where it ends. */
static void *take_small(size_t bytes)
{
    void *p = NULL;
    const size_t size = og__round_up(OG_MAX(bytes, 1), OG_ADDRESS_SANITIZER ? 1 : 64);
    return posix_memalign(&p, 64, size) == 0 ? memset(p, 0, size) : NULL;
}

void og__memory_trim(void)
{
    malloc_trim(0);
}

static void *take(struct og_budget *b, size_t bytes)
{
    if (bytes >= HUGE)
        return take_large(b, bytes);
    return take_small(bytes);
}

static void give(struct og_budget *b, void *p, size_t bytes)
{
    if (bytes >= HUGE)
        keep(b, p, bytes);
    else
        free(p);
}

/* Allocates before the charge: a charge drops retained blocks that no longer fit, perhaps the one
 * used here. */
void *og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err)
{
    const bool fits = bytes <= og__budget_left(b);
    void *p = fits ? take(b, bytes) : NULL;
    if (og__budget_charge(b, bytes, part, err) < 0) {
        if (p)
            give(b, p, bytes);
        return NULL;
    }
    if (!p && !fits) /* others gave back meanwhile */
        p = take(b, bytes);
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
    assert(is_whole(p, bytes));
    og__budget_uncharge(b, bytes, part);
    give(b, p, bytes);
}

void *og__address_reserve(size_t bytes, struct og_err *err)
{
    void *p = map_huge(og__round_up(bytes, PAGE), PROT_NONE, MAP_NORESERVE);
    char size[32];
    if (!p)
        og__fail_errno(err, -errno, NULL, "cannot reserve %s of address space",
                       og__human_bytes(size, (double)bytes));
    return p;
}

int og__address_open(void *start, size_t bytes, struct og_err *err)
{
    const uintptr_t from = (uintptr_t)start / PAGE * PAGE;
    const uintptr_t to = og__round_up((uintptr_t)start + bytes, PAGE);
    char size[32];
    if (bytes == 0 || mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0)
        return 0;
    return og__fail(err, -ENOMEM, "close other programs or lower --memory",
                    "the kernel refused %s of memory", og__human_bytes(size, (double)bytes));
}

void og__address_release(void *p, size_t bytes)
{
    if (p)
        munmap(p, og__round_up(bytes, PAGE));
}

/* The whole huge pages of a stretch. */
static struct block huge_pages(void *start, size_t bytes)
{
    char *at = (char *)og__round_up((uintptr_t)start, HUGE);
    char *end = (char *)((uintptr_t)start + bytes);
    return (struct block){at, at < end ? (size_t)(end - at) / HUGE * HUGE : 0};
}

void og__address_furnish(struct og_budget *b, void *start, size_t bytes)
{
    const struct block pages = huge_pages(start, bytes);
    if (b && pages.bytes > 0)
        furnish(b, pages.start, pages.bytes);
}

/* Moves these pages to an untouched range, as many as possible. */
static void lend_pages(struct og_budget *b, const struct block *pages, char *to)
{
    const size_t moved = move_pages(pages->start, to, pages->bytes, MREMAP_DONTUNMAP);
    if (moved < pages->bytes)
        munmap(to + moved, pages->bytes - moved);
    if (moved == 0)
        return;
    pthread_mutex_lock(&b->lock);
    put_kept(b, (struct block){to, moved});
    pthread_mutex_unlock(&b->lock);
}

void og__address_empty(struct og_budget *b, void *start, size_t bytes)
{
    const struct block pages = huge_pages(start, bytes);
    char *to = NULL;
    if (b && pages.bytes > 0)
        to = map_huge(pages.bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    if (to)
        lend_pages(b, &pages, to);
    madvise(start, bytes, MADV_DONTNEED); /* what did not move */
}

size_t og__memory_whole(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t og__memory_amount(const struct og_amount *a)
{
    double available = (double)og__memory_free();
    if (a->unit == OG_UNSET)
        return (size_t)(0.9 * available);
    return (size_t)(a->unit == OG_PERCENT ? available * a->value / 100 : a->value);
}

/* ---- kinds, and arenas in them ---- */

static void *host_alloc(const struct og_memory *m, size_t bytes, const char *part,
                        struct og_err *err)
{
    return og__alloc(m->budget, bytes, part, err);
}

static void host_release(const struct og_memory *m, void *p, size_t bytes, const char *part)
{
    og__release(m->budget, p, bytes, part);
}

struct og_memory og__host_memory(struct og_budget *b)
{
    static const struct og_memory_kind host = {host_alloc, host_release};
    return (struct og_memory){.kind = &host, .budget = b};
}

int og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap, const char *part,
                   struct og_err *err)
{
    *a = (struct og_arena){.cap = og__round_up(cap, 64), .memory = memory, .part = part};
    a->base = memory.kind->alloc(&memory, a->cap, part, err);
    if (!a->base) {
        a->cap = 0;
        return -ENOMEM;
    }
    og__arena_shut(a, a->base, a->cap);
    return 0;
}

void og__arena_release(struct og_arena *a)
{
    if (!a || !a->base)
        return;
    og__arena_open(a, a->base, a->cap);
    a->memory.kind->release(&a->memory, a->base, a->cap, a->part);
    *a = (struct og_arena){0};
}
