/* plan: where rows that batches change go when they leave memory. A table says where each row is,
 * under caches that admit and evict at random. Batches that end a superbatch may only read. */
#include "support/draws.h"
#include "support/testing.h"

#include "plan/write_count.h"

#include <stdlib.h>

enum { ROWS = 700, SLOTS = 40, MOST_BATCHES = 12, LONGEST = 60, ROW_BYTES = 96 };
enum { NOWHERE = -1, IN_SLOT = -2, STAGED = -3 }; /* else the chunk */

struct world {
    struct og_foreseen f;
    struct og_writes w;
    struct og_write_count count;
    int where[ROWS];
    bool rests[ROWS], kept[ROWS]; /* the rest has it, or has it too: by number, or of evaluations */
    uint32_t rows_of[MOST_BATCHES + 32], blocks_of[MOST_BATCHES + 32]; /* of chunks */
    struct og_io_counts writes, reads;
    uint32_t batch[MOST_BATCHES][LONGEST], n[MOST_BATCHES], n_batches;
    uint32_t draw, n_kept;
};

static uint32_t draw(struct world *x, uint32_t below)
{
    return test_scramble(++x->draw) % below;
}

static bool is_rest(const struct world *x, uint32_t chunk)
{
    return (chunk >= x->f.batches && chunk < x->f.batches + OG__REST_CHUNKS) ||
           chunk == og__kept_chunk(&x->f);
}

static uint32_t slot_of(const struct world *x, uint32_t row)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (x->w.held[slot] == row)
            return slot;
    return OG_NO_SLOT;
}

static void put(struct world *x, uint32_t chunk)
{
    if (++x->rows_of[chunk] < x->f.form.rows)
        return;
    x->rows_of[chunk] = 0;
    x->blocks_of[chunk]++;
    x->writes.reads++;
    x->writes.bytes += x->f.form.block;
}

static int push(void *arg, uint32_t row, uint32_t at, uint32_t chunk, struct og_err *err)
{
    struct world *x = arg;
    (void)err;
    if (!og__foreseen_reads(&x->f) || !is_rest(x, (uint32_t)x->where[row]))
        assert_int_equal(x->where[row], at < SLOTS ? IN_SLOT : STAGED);
    assert_false(is_rest(x, chunk) && x->rests[row]);
    x->rests[row] |= is_rest(x, chunk);
    x->where[row] = (int)chunk;
    put(x, chunk);
    return 0;
}

static void read_chunk(struct world *x, uint32_t chunk)
{
    x->reads.reads += x->blocks_of[chunk];
    x->reads.bytes += x->blocks_of[chunk] * (uint64_t)x->f.form.block;
}

static void drop_chunk(struct world *x, uint32_t chunk)
{
    x->blocks_of[chunk] = x->rows_of[chunk] = 0;
}

static void keep_chunk(struct world *x, uint32_t chunk)
{
    x->blocks_of[og__kept_chunk(&x->f)] += x->blocks_of[chunk];
    for (uint32_t i = 0; i < x->rows_of[chunk]; i++)
        put(x, og__kept_chunk(&x->f));
    drop_chunk(x, chunk);
}

/* Without being written. */
static void leaves(struct world *x, uint32_t row)
{
    x->where[row] = x->rests[row]  ? (int)og__rest_chunk(&x->f, row)
                    : x->kept[row] ? (int)og__kept_chunk(&x->f)
                                   : NOWHERE;
}

static void draw_batches(struct world *x)
{
    x->n_batches = 1 + draw(x, MOST_BATCHES);
    for (uint32_t b = 0; b < x->n_batches; b++) {
        x->n[b] = 0;
        for (uint32_t i = 0, n = 1 + draw(x, LONGEST); i < n; i++) {
            const uint32_t row = draw(x, 3) ? draw(x, ROWS) : draw(x, 80); /* some often */
            bool has = false;
            for (uint32_t k = 0; k < x->n[b]; k++)
                has |= x->batch[b][k] == row;
            if (!has)
                x->batch[b][x->n[b]++] = row;
        }
    }
}

/* Rows enter slots before the first batch; some come from other slots. */
static void fill(struct world *x)
{
    for (uint32_t i = 0, n = draw(x, SLOTS); i < n; i++) {
        const uint32_t row = x->batch[draw(x, x->n_batches)][0], slot = draw(x, SLOTS);
        const uint32_t before = x->w.held[slot];
        uint32_t from;
        bool was_filled = false;
        for (uint32_t k = 0; k < SLOTS; k++)
            was_filled |= x->w.held[k] == row;
        if (before != OG_NO_SLOT && before != row && x->where[before] != IN_SLOT)
            continue; /* it is still to come */
        if (was_filled && x->where[row] != IN_SLOT)
            continue;
        const bool dirty = before != OG_NO_SLOT && (x->w.dirty[slot >> 6] >> (slot & 63) & 1);
        const int comes = og__foreseen_fill(&x->f, &x->w, row, slot, push, x, &from, NULL);
        assert_int_equal(og__write_count_fill(&x->count, &row, &slot, 0, 1, NULL), 0);
        if (before != OG_NO_SLOT && before != row && !dirty)
            leaves(x, before);
        assert_int_equal(x->w.held[slot], row);
        if (comes == OG__COMES_FRESH) {
            assert_int_equal(x->where[row], NOWHERE);
            x->where[row] = IN_SLOT;
        } else if (comes == OG__COMES_READ) {
            assert_true(x->rests[row] || x->kept[row]);
            assert_true(is_rest(x, (uint32_t)x->where[row]));
        } else {
            assert_int_equal(x->where[row], IN_SLOT);
        }
    }
}

/* True: to its slot. */
static bool distribute_row(struct world *x, uint32_t row)
{
    const bool reads = og__foreseen_reads(&x->f), was_filled = slot_of(x, row) != OG_NO_SLOT;
    uint32_t to = 0;
    x->rests[row] &= reads;
    x->kept[row] &= reads;
    const enum og_goes goes = og__foreseen_distribute(&x->f, &x->w, row, &to);
    if (goes == OG__GOES_NOWHERE)
        return false;
    x->where[row] = IN_SLOT;
    assert_int_equal(goes == OG__GOES_SLOT, was_filled);
    if (goes == OG__GOES_SLOT)
        assert_int_equal(x->w.held[to], row);
    else
        assert_int_equal(push(x, row, 0, to, NULL), 0);
    return goes == OG__GOES_SLOT;
}

static void distribute(struct world *x)
{
    const struct og_io_counts before = x->reads;
    uint64_t entered = 0;
    for (uint32_t k = 0; k <= OG__REST_CHUNKS; k++) {
        const uint32_t c = og__kth_rest_chunk(&x->f, k);
        uint32_t moved[ROWS], n = 0;
        for (uint32_t row = 0; row < ROWS; row++)
            if (k == OG__REST_CHUNKS ? x->kept[row]
                                     : x->rests[row] && og__rest_chunk(&x->f, row) == c)
                moved[n++] = row;
        read_chunk(x, c);
        if (!og__foreseen_reads(&x->f))
            drop_chunk(x, c);
        for (uint32_t i = 0; i < n; i++)
            entered += distribute_row(x, moved[i]);
    }
    assert_int_equal(og__foreseen_copies(&x->f, &x->w), entered);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (x->w.held[slot] != OG_NO_SLOT)
            assert_int_equal(x->where[x->w.held[slot]], IN_SLOT);
    struct og_io_counts read = {0};
    og__write_count_begin(&x->count, &read);
    assert_int_equal(read.reads, x->reads.reads - before.reads);
    assert_int_equal(read.bytes, x->reads.bytes - before.bytes);
    og__foreseen_filled(&x->f, &x->w);
}

static int by_number(const void *a, const void *b)
{
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* A batch's plan. */
struct drawn {
    uint32_t place[LONGEST], misses[LONGEST], change_row[LONGEST], change_slot[LONGEST];
    uint32_t n_misses, n_changes;
};

static uint32_t miss_of(const struct drawn *d, uint32_t row)
{
    uint32_t m = 0;
    while (d->misses[m] != row)
        m++;
    return SLOTS + m;
}

/* Hits by the slots. What has left waits in one of the batch's two chunks. */
static void find_rows(struct world *x, uint32_t b, struct drawn *d)
{
    const int late = (int)og__late_chunk(&x->f, b);
    for (uint32_t i = 0; i < x->n[b]; i++) {
        d->place[i] = slot_of(x, x->batch[b][i]);
        if (d->place[i] == OG_NO_SLOT)
            d->misses[d->n_misses++] = x->batch[b][i];
    }
    qsort(d->misses, d->n_misses, sizeof(*d->misses), by_number);
    for (uint32_t i = 0; i < x->n[b]; i++) {
        const uint32_t row = x->batch[b][i];
        if (d->place[i] != OG_NO_SLOT)
            continue;
        d->place[i] = miss_of(d, row);
        const bool waits = x->where[row] == (int)b || x->where[row] == late;
        assert_true(waits || x->where[row] == NOWHERE);
        assert_int_equal(waits, (int)(x->f.there[row >> 6] >> (row & 63) & 1));
        x->where[row] = STAGED;
    }
    for (uint32_t row = 0; row < ROWS; row++) /* and nothing else does */
        assert_true(x->where[row] != (int)b && x->where[row] != late);
}

static bool takes(const struct drawn *d, uint32_t slot)
{
    bool taken = false;
    for (uint32_t c = 0; c < d->n_changes; c++)
        taken |= d->change_slot[c] == slot;
    return taken;
}

/* Misses enter slots at random. */
static void draw_changes(struct world *x, uint32_t b, struct drawn *d)
{
    for (uint32_t i = 0; i < x->n[b]; i++) {
        const uint32_t slot = draw(x, SLOTS);
        if (d->place[i] < SLOTS || takes(d, slot) || draw(x, 3) == 0)
            continue;
        d->change_row[d->n_changes] = 10 + i; /* numbers begin with those of other groups */
        d->change_slot[d->n_changes++] = slot;
    }
}

/* Where rows are once the batch has ended. */
static void see_end(struct world *x, uint32_t b, const struct drawn *d, const uint32_t *left,
                    uint32_t n_left, bool changed)
{
    for (uint32_t i = 0; i < n_left; i++) /* made again, or read again */
        if (x->where[left[i]] == IN_SLOT)
            leaves(x, left[i]);
    for (uint32_t c = 0; c < d->n_changes; c++) {
        const uint32_t row = x->batch[b][d->change_row[c] - 10];
        assert_int_equal(x->where[row], STAGED);
        assert_int_equal(x->w.held[d->change_slot[c]], row);
        x->where[row] = IN_SLOT;
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        if (x->where[row] != STAGED)
            continue;
        assert_false(changed);
        assert_int_equal(x->rests[row] || x->kept[row],
                         (int)(x->f.there[row >> 6] >> (row & 63) & 1));
        leaves(x, row);
    }
}

static void run_batch(struct world *x, uint32_t b, const uint16_t *next)
{
    struct drawn d = {.n_misses = 0};
    const struct og_io_counts before = x->reads;
    find_rows(x, b, &d);
    const uint32_t late = og__late_chunk(&x->f, b), kept = og__kept_chunk(&x->f);
    read_chunk(x, b);
    read_chunk(x, late);
    draw_changes(x, b, &d);
    const bool changed = b < x->f.reads_from && draw(x, 5) > 0;
    const struct og_writes_batch batch = {.place = d.place,
                                          .n = x->n[b],
                                          .misses = d.misses,
                                          .n_misses = d.n_misses,
                                          .change_row = d.change_row,
                                          .change_slot = d.change_slot,
                                          .n_changes = d.n_changes,
                                          .first_row = 10,
                                          .changed = changed};
    const bool keeps = og__foreseen_keeps(&x->f, &batch, b, next,
                                          x->blocks_of[b] + x->blocks_of[late], x->blocks_of[kept]);
    const bool into_kept = keeps && !og__foreseen_reads(&x->f);
    for (uint32_t i = 0; into_kept && i < d.n_misses; i++)
        x->kept[d.misses[i]] |= x->f.there[d.misses[i] >> 6] >> (d.misses[i] & 63) & 1;
    x->n_kept += into_kept;
    uint32_t left[LONGEST], n_left = 0;
    if (changed)
        og__writes_touch(&x->w, d.place, x->n[b]);
    for (uint32_t c = 0; c < d.n_changes; c++)
        if (x->w.held[d.change_slot[c]] != OG_NO_SLOT)
            left[n_left++] = x->w.held[d.change_slot[c]];
    assert_int_equal(og__foreseen_end(&x->f, &x->w, &batch, b, keeps, next, push, x, NULL), 0);
    see_end(x, b, &d, left, n_left, changed);
    for (uint32_t i = 0; i < 2; i++)
        (into_kept ? keep_chunk : drop_chunk)(x, i == 0 ? b : late);
    struct og_io_counts read;
    assert_int_equal(og__write_count_batch(&x->count, &batch, next, &read, NULL), 0);
    assert_int_equal(read.reads, x->reads.reads - before.reads);
    assert_int_equal(read.bytes, x->reads.bytes - before.bytes);
}

static void each_row_is_in_one_place(void **state)
{
    (void)state;
    struct world *x = calloc(1, sizeof(*x));
    struct og_next_use_list uses = {0}, again = {0};
    assert_int_equal(og__foreseen_open(&x->f, ROW_BYTES, ROWS, SLOTS, MOST_BATCHES, NULL, NULL), 0);
    assert_int_equal(og__writes_open(&x->w, SLOTS, NULL, NULL), 0);
    assert_int_equal(
        og__write_count_open(&x->count, ROW_BYTES, ROWS, SLOTS, MOST_BATCHES, NULL, NULL), 0);
    for (uint32_t row = 0; row < ROWS; row++)
        x->where[row] = NOWHERE;
    for (uint32_t turn = 0; turn < 400; turn++) {
        uint32_t ids[MOST_BATCHES * LONGEST];
        uint64_t ptr[MOST_BATCHES + 1] = {0};
        draw_batches(x);
        for (uint32_t b = 0; b < x->n_batches; b++) {
            ptr[b + 1] = ptr[b] + x->n[b];
            memcpy(ids + ptr[b], x->batch[b], x->n[b] * sizeof(*ids));
        }
        const struct og_trace trace = {x->n_batches, ptr, ids};
        assert_int_equal(og__next_use_list_begin(&uses, &trace, NULL, NULL), 0);
        og__foreseen_begin(&x->f);
        for (uint32_t b = x->n_batches; b-- > 0;)
            og__foreseen_batch(&x->f, b, ids + ptr[b], 0, x->n[b], uses.next + ptr[b]);
        const uint32_t reads_from = draw(x, 3) == 0 ? 0 : 1 + draw(x, x->n_batches);
        og__foreseen_done(&x->f, &x->w, reads_from);
        assert_int_equal(og__write_count_foresee(&x->count, &again, &trace, NULL, NULL), 0);
        assert_memory_equal(uses.next, again.next, ptr[x->n_batches] * sizeof(*uses.next));
        x->count.foreseen.reads_from = reads_from;
        fill(x);
        distribute(x);
        for (uint32_t b = 0; b < x->n_batches; b++)
            run_batch(x, b, uses.next + ptr[b]);
        assert_int_equal(x->count.writes.reads, x->writes.reads);
        assert_int_equal(x->count.writes.bytes, x->writes.bytes);
    }
    assert_true(x->writes.reads > 100 && x->reads.reads > 100 && x->n_kept > 100);
    og__next_use_list_release(&uses);
    og__next_use_list_release(&again);
    og__foreseen_close(&x->f);
    og__writes_close(&x->w);
    og__write_count_close(&x->count);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_row_is_in_one_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
