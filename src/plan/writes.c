#include "plan/writes.h"

#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "feature cache", plans[] = "plans";

/* ---- memory ---- */

static size_t bits_bytes(uint64_t n)
{
    return og__bits_words(n) * sizeof(uint64_t);
}

size_t og__writes_bytes(uint64_t n_slots)
{
    return bits_bytes(n_slots) + n_slots * sizeof(uint32_t);
}

int og__writes_open(struct og_writes *w, uint32_t n_slots, struct og_budget *b, struct og_err *err)
{
    *w = (struct og_writes){.n_slots = n_slots, .budget = b};
    char *at = og__alloc(b, og__writes_bytes(n_slots), part, err);
    if (!at)
        return -ENOMEM;
    w->dirty = (void *)at;
    w->held = (void *)(at + bits_bytes(n_slots));
    memset(w->dirty, 0, bits_bytes(n_slots));
    for (uint32_t i = 0; i < n_slots; i++)
        w->held[i] = OG_NO_SLOT;
    return 0;
}

void og__writes_close(struct og_writes *w)
{
    if (w->dirty)
        og__release(w->budget, w->dirty, og__writes_bytes(w->n_slots), part);
    *w = (struct og_writes){0};
}

/* ---- rows that leave ---- */

struct leaving {
    uint32_t row, at;
};

struct list {
    struct og_writes *writes;
    og_leave *leave;
    void *arg;
    uint32_t n;
    struct leaving leaving[OG__LEAVE_ROWS];
    uint32_t rows[OG__LEAVE_ROWS], at[OG__LEAVE_ROWS];
};

static struct list *list_of(struct og_writes *w, og_leave *leave, void *arg, struct og_err *err)
{
    struct list *l = malloc(sizeof(*l));
    if (!l) {
        og__fail_errno(err, -ENOMEM, NULL, "embeddings");
        return NULL;
    }
    l->writes = w;
    l->leave = leave;
    l->arg = arg;
    l->n = 0;
    return l;
}

static int by_row(const void *a, const void *b)
{
    const struct leaving *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int hand_over(struct list *l, struct og_err *err)
{
    const uint32_t n = l->n;
    bool sorted = true;
    for (uint32_t i = 1; sorted && i < n; i++)
        sorted = l->leaving[i - 1].row < l->leaving[i].row;
    if (!sorted)
        og__sort_in_place(l->leaving, n, sizeof(*l->leaving), by_row);
    for (uint32_t i = 0; i < n; i++) {
        l->rows[i] = l->leaving[i].row;
        l->at[i] = l->leaving[i].at;
    }
    l->n = 0;
    l->writes->written += n;
    return n > 0 ? l->leave(l->arg, l->rows, l->at, n, err) : 0;
}

static int put(struct list *l, uint32_t row, uint32_t at, struct og_err *err)
{
    l->leaving[l->n++] = (struct leaving){row, at};
    return l->n == OG__LEAVE_ROWS ? hand_over(l, err) : 0;
}

static void clear(struct og_writes *w, uint64_t slot)
{
    w->dirty[slot >> 6] &= ~((uint64_t)1 << (slot & 63));
}

static uint32_t slot_of(const struct og_writes_batch *b, uint32_t change)
{
    return b->change_slot[change] - b->first_slot;
}

/* The number of the miss that enters a slot. */
static uint32_t miss_of(const struct og_writes *w, const struct og_writes_batch *b, uint32_t change)
{
    return b->place[b->change_row[change] - b->first_row] - w->n_slots;
}

void og__writes_touch(struct og_writes *w, const uint32_t *place, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (place[i] < w->n_slots)
            og__bits_add(w->dirty, place[i]);
}

/* enters: bits of misses that are kept. */
static int put_misses(struct list *l, const struct og_writes_batch *b, const uint64_t *enters,
                      struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < b->n_misses; i++)
        if (!enters || !og__bits_has(enters, i))
            OG_TRY(put(l, b->misses[i], l->writes->n_slots + i, err));
out:
    return rc;
}

static void enter(struct og_writes *w, const struct og_writes_batch *b)
{
    for (uint32_t c = 0; c < b->n_changes; c++) {
        const uint32_t slot = slot_of(b, c);
        w->held[slot] = b->misses[miss_of(w, b, c)];
        clear(w, slot);
        if (b->changed)
            og__bits_add(w->dirty, slot);
    }
}

int og__writes_end(struct og_writes *w, const struct og_writes_batch *b, og_leave *leave, void *arg,
                   struct og_err *err)
{
    struct list *l = list_of(w, leave, arg, err);
    uint64_t *enters = calloc(og__bits_words(b->n_misses) + 1, sizeof(*enters));
    int rc = l ? 0 : -ENOMEM;
    if (l && !enters)
        rc = og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    OG_TRY(rc);
    for (uint32_t c = 0; c < b->n_changes; c++) {
        const uint32_t slot = slot_of(b, c);
        og__bits_add(enters, miss_of(w, b, c));
        if (og__bits_has(w->dirty, slot))
            OG_TRY(put(l, w->held[slot], slot, err));
    }
    if (b->changed)
        OG_TRY(put_misses(l, b, enters, err));
    OG_TRY(hand_over(l, err));
    enter(w, b);
out:
    free(enters);
    free(l);
    return rc;
}

void og__writes_clean(struct og_writes *w)
{
    memset(w->dirty, 0, bits_bytes(w->n_slots));
}

int og__writes_flush(struct og_writes *w, const struct og_writes_batch *b, bool clean,
                     og_leave *leave, void *arg, struct og_err *err)
{
    struct list *l = list_of(w, leave, arg, err);
    int rc = l ? 0 : -ENOMEM;
    OG_TRY(rc);
    for (uint64_t i = 0; (i = og__bits_next(w->dirty, w->n_slots, i)) < w->n_slots; i++)
        OG_TRY(put(l, w->held[i], (uint32_t)i, err));
    if (b)
        OG_TRY(put_misses(l, b, NULL, err));
    OG_TRY(hand_over(l, err));
    if (clean)
        og__writes_clean(w);
out:
    free(l);
    return rc;
}

void og__writes_fill(struct og_writes *w, const uint32_t *rows, const uint32_t *slots,
                     uint32_t first_slot, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        w->held[slots[i] - first_slot] = rows[i];
}

/* ---- rows that left last ---- */

int og__evicted_reserve(struct og_evicted *l, size_t n, struct og_err *err)
{
    if (n <= l->capacity)
        return 0;
    uint32_t *rows = og__alloc(l->budget, n * sizeof(*rows), plans, err);
    if (!rows)
        return -ENOMEM;
    if (l->n > 0)
        memcpy(rows, l->rows, l->n * sizeof(*rows));
    og__release(l->budget, l->rows, l->capacity * sizeof(*rows), plans);
    l->rows = rows;
    l->capacity = n;
    return 0;
}

int og__evicted_add(struct og_evicted *l, const uint32_t *rows, size_t n, struct og_err *err)
{
    OG_DO(og__evicted_reserve(l, l->n + n, err));
    memcpy(l->rows + l->n, rows, n * sizeof(*rows));
    l->n += n;
    return 0;
}

void og__evicted_again(struct og_evicted *l, const uint32_t *misses, uint32_t n, size_t in_memory,
                       og_recall *recall, void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; n > 0 && i < l->n; i++) {
        const uint32_t *miss = bsearch(&l->rows[i], misses, n, sizeof(*misses), og__by_number);
        if (miss && l->n - i > in_memory)
            l->rows[kept++] = l->rows[i];
        else if (miss && recall)
            recall(arg, (uint32_t)(miss - misses), l->n - i);
    }
    l->n = kept;
    og__sort_in_place(l->rows, kept, sizeof(*l->rows), og__by_number);
}

void og__evicted_close(struct og_evicted *l)
{
    og__release(l->budget, l->rows, l->capacity * sizeof(*l->rows), plans);
    *l = (struct og_evicted){.budget = l->budget};
}
