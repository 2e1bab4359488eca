#include "plan/foreseen.h"

#include <stdlib.h>
#include <string.h>

static const char tables[] = "feature cache", lists[] = "superbatch";

/* ---- memory ---- */

size_t og__next_use_list_bytes(uint64_t batches, uint64_t rows)
{
    return (size_t)(batches + 1) * sizeof(uint64_t) + (size_t)rows * sizeof(uint16_t);
}

void og__next_use_list_release(struct og_next_use_list *l)
{
    if (l->ptr)
        og__release(l->budget, l->ptr, og__next_use_list_bytes(l->most_batches, l->most_rows),
                    lists);
    *l = (struct og_next_use_list){0};
}

int og__next_use_list_begin(struct og_next_use_list *l, const struct og_trace *t,
                            struct og_budget *b, struct og_err *err)
{
    const uint32_t n = t->n_batches;
    if (n > l->most_batches || t->ptr[n] > l->most_rows || !l->ptr) {
        og__next_use_list_release(l);
        l->ptr = og__alloc(b, og__next_use_list_bytes(n, t->ptr[n]), lists, err);
        if (!l->ptr)
            return -ENOMEM;
        l->budget = b;
        l->most_batches = n;
        l->most_rows = t->ptr[n];
    }
    l->next = (void *)(l->ptr + l->most_batches + 1);
    for (uint32_t i = 0; i <= n; i++)
        l->ptr[i] = t->ptr[i] - t->ptr[0];
    return 0;
}

static size_t there_bytes(uint64_t n_rows)
{
    return og__bits_words(n_rows) * sizeof(uint64_t);
}

size_t og__foreseen_bytes(uint64_t n_rows, uint64_t n_slots)
{
    return there_bytes(n_rows) + (size_t)n_rows * sizeof(uint32_t) +
           (size_t)n_slots * sizeof(uint16_t);
}

struct og_chunk_form og__foreseen_form(size_t row_bytes, uint64_t n_rows, uint32_t batches)
{
    return og__chunk_form(row_bytes, n_rows,
                          batches + OG__REST_CHUNKS + OG__LATE_CHUNKS + OG__OTHER_CHUNKS);
}

int og__foreseen_open(struct og_foreseen *f, size_t row_bytes, uint64_t n_rows, uint32_t n_slots,
                      uint32_t batches, struct og_budget *b, struct og_err *err)
{
    *f = (struct og_foreseen){.n_rows = (uint32_t)n_rows,
                              .n_slots = n_slots,
                              .batches = batches,
                              .budget = b,
                              .form = og__foreseen_form(row_bytes, n_rows, batches)};
    char *at = og__alloc(b, og__foreseen_bytes(n_rows, n_slots), tables, err);
    if (!at)
        return -ENOMEM;
    memset(at, 0, og__foreseen_bytes(n_rows, n_slots));
    f->there = (void *)at;
    f->due = (void *)(at + there_bytes(n_rows));
    f->next = (void *)(f->due + n_rows);
    return 0;
}

void og__foreseen_close(struct og_foreseen *f)
{
    if (f->there)
        og__release(f->budget, f->there, og__foreseen_bytes(f->n_rows, f->n_slots), tables);
    *f = (struct og_foreseen){0};
}

/* ---- a superbatch begins ---- */

#define DISTRIBUTED UINT32_MAX

void og__foreseen_begin(struct og_foreseen *f)
{
    for (uint32_t i = 0; i < f->n_rows; i++)
        f->due[i] = OG__NO_USE;
}

void og__foreseen_batch(struct og_foreseen *f, uint32_t batch, const uint32_t *ids, uint64_t first,
                        uint32_t n, uint16_t *next)
{
    enum { AHEAD = 16 };
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&f->due[ids[i + AHEAD] - first], 1);
        uint32_t *due = &f->due[ids[i] - first];
        next[i] = (uint16_t)*due;
        *due = batch;
    }
}

static void put_in(struct og_foreseen *f, struct og_writes *w, uint32_t row, uint32_t slot,
                   uint16_t next)
{
    w->held[slot] = row;
    f->next[slot] = next;
    f->due[row] = OG__NO_USE + 1 + slot;
}

void og__foreseen_done(struct og_foreseen *f, const struct og_writes *w, uint32_t reads_from)
{
    f->fills = true;
    f->reads_from = reads_from;
    for (uint32_t slot = 0; slot < f->n_slots; slot++) {
        const uint32_t row = w->held[slot];
        if (row == OG_NO_SLOT)
            continue;
        f->next[slot] = (uint16_t)f->due[row];
        f->due[row] = OG__NO_USE + 1 + slot;
    }
}

/* ---- slots ---- */

static bool is_dirty(const struct og_writes *w, uint32_t slot)
{
    return og__bits_has(w->dirty, slot);
}

static void set_dirty(struct og_writes *w, uint32_t slot, bool dirty)
{
    const uint64_t bit = (uint64_t)1 << (slot & 63);
    w->dirty[slot >> 6] = dirty ? w->dirty[slot >> 6] | bit : w->dirty[slot >> 6] & ~bit;
}

int og__foreseen_fill(struct og_foreseen *f, struct og_writes *w, uint32_t row, uint32_t slot,
                      og_push_row *push, void *arg, uint32_t *from, struct og_err *err)
{
    const uint32_t before = w->held[slot];
    if (before == row)
        return OG__COMES_NOT;
    if (before != OG_NO_SLOT) {
        f->due[before] = f->next[slot];
        if (is_dirty(w, slot)) {
            og__bits_add(f->there, before);
            OG_DO(push(arg, before, slot, og__rest_chunk(f, before), err));
        }
    }
    if (f->due[row] > OG__NO_USE) { /* it is in another slot */
        const uint32_t to = *from = f->due[row] - OG__NO_USE - 1;
        set_dirty(w, slot, is_dirty(w, to));
        set_dirty(w, to, false);
        w->held[to] = OG_NO_SLOT;
        put_in(f, w, row, slot, f->next[to]);
        return OG__COMES_MOVED;
    }
    set_dirty(w, slot, false);
    put_in(f, w, row, slot, (uint16_t)f->due[row]);
    return og__bits_has(f->there, row) ? OG__COMES_READ : OG__COMES_FRESH;
}

enum og_goes og__foreseen_distribute(struct og_foreseen *f, const struct og_writes *w, uint32_t row,
                                     uint32_t *to)
{
    const uint32_t due = f->due[row];
    f->due[row] = DISTRIBUTED;
    if (due == DISTRIBUTED || (due == OG__NO_USE && og__foreseen_reads(f)))
        return OG__GOES_NOWHERE;
    if (due <= OG__NO_USE) {
        *to = due < OG__NO_USE ? due : og__rest_chunk(f, row);
        return OG__GOES_CHUNK;
    }
    *to = due - OG__NO_USE - 1;
    return is_dirty(w, *to) ? OG__GOES_NOWHERE : OG__GOES_SLOT;
}

static bool is_copy(const struct og_foreseen *f, const struct og_writes *w, uint32_t slot)
{
    return w->held[slot] != OG_NO_SLOT && !is_dirty(w, slot) &&
           og__bits_has(f->there, w->held[slot]);
}

uint64_t og__foreseen_copies(const struct og_foreseen *f, const struct og_writes *w)
{
    uint64_t n = 0;
    for (uint32_t slot = 0; slot < f->n_slots; slot++)
        n += is_copy(f, w, slot);
    return n;
}

void og__foreseen_filled(struct og_foreseen *f, struct og_writes *w)
{
    f->fills = false;
    for (uint32_t slot = 0; !og__foreseen_reads(f) && slot < f->n_slots; slot++)
        if (is_copy(f, w, slot))
            set_dirty(w, slot, true);
}

/* ---- a batch ends ---- */

/* A batch's end: rows leave it. */
struct end {
    struct og_foreseen *f;
    uint32_t number; /* of the batch */
    bool keeps;
    og_push_row *push;
    void *arg;
};

static uint32_t chunk_after(const struct end *e, uint32_t row, uint16_t next)
{
    return next == OG__NO_USE       ? og__rest_chunk(e->f, row)
           : next == e->number + 1u ? og__late_chunk(e->f, next)
                                    : next;
}

/* alone: memory alone has the row as it is. It is written then. Else the rest has it, unless it was
 * never changed, and a batch that uses it again gets a copy. */
static int leave(const struct end *e, uint32_t row, uint32_t at, uint16_t next, bool alone,
                 struct og_err *err)
{
    struct og_foreseen *f = e->f;
    const bool rests = og__foreseen_reads(f) || !alone;
    if (alone)
        og__bits_add(f->there, row);
    if (alone && rests)
        OG_DO(e->push(e->arg, row, at, og__rest_chunk(f, row), err));
    if (rests ? next != OG__NO_USE && og__bits_has(f->there, row) : alone)
        OG_DO(e->push(e->arg, row, at, chunk_after(e, row, next), err));
    return 0;
}

static uint32_t slot_of(const struct og_writes_batch *b, uint32_t change)
{
    return b->change_slot[change] - b->first_slot;
}

static uint32_t row_of(const struct og_writes_batch *b, uint32_t change)
{
    return b->change_row[change] - b->first_row;
}

bool og__foreseen_keeps(const struct og_foreseen *f, const struct og_writes_batch *b,
                        uint32_t number, const uint16_t *next, uint32_t blocks, uint32_t kept)
{
    uint32_t last = 0;
    if (number < f->reads_from || og__foreseen_reads(f))
        return number >= f->reads_from;
    for (uint32_t i = 0; i < b->n; i++)
        last += b->place[i] >= f->n_slots && next[i] == OG__NO_USE;
    return 2 * last >= b->n_misses && kept + blocks <= f->n_rows / f->form.rows + 1;
}

/* A batch takes its missed rows out of their chunk, unless that is kept. */
static bool is_alone(const struct end *e, const struct og_writes_batch *b, uint32_t miss)
{
    return b->changed || (!e->keeps && og__bits_has(e->f->there, miss));
}

/* Slots' rows, and then misses that enter none. */
static int leave_all(const struct end *e, const struct og_writes *w,
                     const struct og_writes_batch *b, const uint16_t *next, uint64_t *enters,
                     struct og_err *err)
{
    const struct og_foreseen *f = e->f;
    for (uint32_t c = 0; c < b->n_changes; c++) {
        const uint32_t slot = slot_of(b, c);
        og__bits_add(enters, b->place[row_of(b, c)] - f->n_slots);
        if (w->held[slot] != OG_NO_SLOT)
            OG_DO(leave(e, w->held[slot], slot, f->next[slot], is_dirty(w, slot), err));
    }
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t miss = b->place[i] - f->n_slots;
        if (b->place[i] < f->n_slots || og__bits_has(enters, miss))
            continue;
        const uint32_t row = b->misses[miss];
        OG_DO(leave(e, row, b->place[i], next[i], is_alone(e, b, row), err));
    }
    return 0;
}

int og__foreseen_end(struct og_foreseen *f, struct og_writes *w, const struct og_writes_batch *b,
                     uint32_t number, bool keeps, const uint16_t *next, og_push_row *push,
                     void *arg, struct og_err *err)
{
    uint64_t *enters = calloc(og__bits_words(b->n_misses) + 1, sizeof(*enters));
    const struct end e = {f, number, keeps, push, arg};
    int rc = enters ? 0 : og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    OG_TRY(rc);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->place[i] < f->n_slots)
            f->next[b->place[i]] = next[i];
    OG_TRY(leave_all(&e, w, b, next, enters, err));
    for (uint32_t c = 0; c < b->n_changes; c++) {
        const uint32_t slot = slot_of(b, c), i = row_of(b, c);
        const uint32_t row = b->misses[b->place[i] - f->n_slots];
        w->held[slot] = row;
        f->next[slot] = next[i];
        set_dirty(w, slot, is_alone(&e, b, row));
    }
out:
    free(enters);
    return rc;
}
