/* clock, sieve and s3fifo against the papers' algorithms, written again as lists that are searched
 * from their front. The cache has the same rows after every batch. */
#include "support/testing.h"

#include "base/random.h"
#include "plan/policy.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 400, MOST_BATCHES = 40 };

/* ---- lists of rows, the oldest first ---- */

struct row {
    uint32_t node;
    int uses;
    bool pinned;
};
struct list {
    struct row at[MOST_NODES];
    int n;
};

static int find(const struct list *l, uint32_t node)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i].node == node)
            return i;
    return -1;
}

static void append(struct list *l, struct row row)
{
    l->at[l->n++] = row;
}

static struct row take(struct list *l, int i)
{
    struct row row = l->at[i];
    l->n--;
    memmove(l->at + i, l->at + i + 1, (size_t)(l->n - i) * sizeof(row));
    return row;
}

static int count_free(const struct list *l)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += !l->at[i].pinned;
    return n;
}

static void unpin(struct list *l)
{
    for (int i = 0; i < l->n; i++)
        l->at[i].pinned = false;
}

/* ---- a cache by the book: gets hits, then misses one after another ---- */

struct book {
    int capacity;
    struct list rows; /* s3fifo: main */
    struct list small;
    uint32_t ghost[MOST_NODES * MOST_BATCHES]; /* all that ever left small; UINT32_MAX: came back */
    int n_ghost;
    int hand; /* sieve: index in rows of the one looked at next */
};

struct teacher {
    int kind;
    void (*hit)(struct book *b, uint32_t node);
    void (*evict)(struct book *b); /* there is one that is not pinned */
    void (*enter)(struct book *b, uint32_t node);
};

static void hit_once(struct book *b, uint32_t node)
{
    struct row *row = &b->rows.at[find(&b->rows, node)];
    row->uses = 1;
    row->pinned = true;
}

static void enter_rows(struct book *b, uint32_t node)
{
    append(&b->rows, (struct row){node, 0, true});
}

/* Corbató 1968 as first in, first out with reinsertion. */
static void evict_clock(struct book *b)
{
    for (;;) {
        struct row row = take(&b->rows, 0);
        if (!row.pinned && row.uses == 0)
            return;
        if (!row.pinned)
            row.uses = 0;
        append(&b->rows, row);
    }
}

/* Zhang et al. 2024, algorithm 1. */
static void evict_sieve(struct book *b)
{
    for (;; b->hand++) {
        if (b->hand >= b->rows.n)
            b->hand = 0;
        struct row *row = &b->rows.at[b->hand];
        if (row->pinned)
            continue;
        if (row->uses == 0)
            break;
        row->uses = 0;
    }
    (void)take(&b->rows, b->hand); /* the hand is at the next newer one now, or at the end: */
    if (b->hand == b->rows.n)      /* then a row that enters is not the one it looks at */
        b->hand = 0;
}

/* Yang et al. 2023, algorithm 1. */
static void hit_s3fifo(struct book *b, uint32_t node)
{
    int in_small = find(&b->small, node);
    struct row *row = in_small >= 0 ? &b->small.at[in_small] : &b->rows.at[find(&b->rows, node)];
    row->uses += row->uses < 3;
    row->pinned = true;
}

static bool evict_oldest_small(struct book *b)
{
    struct row row = take(&b->small, 0);
    if (row.uses > 1)
        append(&b->rows, (struct row){row.node, 0, row.pinned});
    else if (row.pinned)
        append(&b->small, row);
    else
        b->ghost[b->n_ghost++] = row.node;
    return row.uses <= 1 && !row.pinned;
}

static bool evict_oldest_main(struct book *b)
{
    struct row row = take(&b->rows, 0);
    if (!row.pinned && row.uses == 0)
        return true;
    append(&b->rows, (struct row){row.node, row.uses - !row.pinned, row.pinned});
    return false;
}

static void evict_s3fifo(struct book *b)
{
    const int tenth = b->capacity < 20 ? 1 : b->capacity / 10;
    for (bool done = false; !done;) {
        bool small = count_free(&b->small) > 0 && b->small.n >= tenth;
        if (count_free(&b->rows) == 0)
            small = true;
        done = small ? evict_oldest_small(b) : evict_oldest_main(b);
    }
}

static void enter_s3fifo(struct book *b, uint32_t node)
{
    const int tenth = b->capacity < 20 ? 1 : b->capacity / 10;
    const int remembered = b->capacity - tenth > 0 ? b->capacity - tenth : 1;
    for (int i = b->n_ghost - 1; i >= 0 && i >= b->n_ghost - remembered; i--) {
        if (b->ghost[i] != node)
            continue;
        b->ghost[i] = UINT32_MAX;
        append(&b->rows, (struct row){node, 0, true});
        return;
    }
    append(&b->small, (struct row){node, 0, true});
}

static const struct teacher teachers[] = {
    {OG_POLICY_CLOCK, hit_once, evict_clock, enter_rows},
    {OG_POLICY_SIEVE, hit_once, evict_sieve, enter_rows},
    {OG_POLICY_S3FIFO, hit_s3fifo, evict_s3fifo, enter_s3fifo},
};

static bool holds(const struct book *b, uint32_t node)
{
    return find(&b->rows, node) >= 0 || find(&b->small, node) >= 0;
}

/* Returns the misses. */
static uint32_t book_batch(const struct teacher *t, struct book *b, const uint32_t *ids, uint32_t n)
{
    bool hit[MOST_NODES];
    uint32_t misses = 0;
    for (uint32_t i = 0; i < n; i++) {
        hit[i] = holds(b, ids[i]);
        if (hit[i])
            t->hit(b, ids[i]);
        misses += !hit[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool full = b->rows.n + b->small.n == b->capacity;
        if (hit[i] || (full && count_free(&b->rows) + count_free(&b->small) == 0))
            continue;
        if (full)
            t->evict(b);
        t->enter(b, ids[i]);
    }
    unpin(&b->rows);
    unpin(&b->small);
    return misses;
}

/* ---- against the policies ---- */

/* Few rows often, most seldom, so that all queues have work. */
static uint32_t draw_batch(struct og_rng *rng, uint32_t n_nodes, uint32_t most, uint32_t *ids)
{
    bool in[MOST_NODES] = {false};
    uint32_t n = 0;
    for (uint32_t tries = og__rng_below(rng, most + 1); tries > 0; tries--) {
        uint32_t v = og__rng_below(rng, 1 + og__rng_below(rng, n_nodes));
        if (!in[v])
            ids[n++] = v;
        in[v] = true;
    }
    return n;
}

static void follow(const struct teacher *t, uint32_t n_slots, uint32_t n_nodes, uint32_t most,
                   struct og_rng *rng, uint64_t *evictions)
{
    struct og_policy_setup setup = {.kind = t->kind, .n_nodes = n_nodes, .n_slots = n_slots};
    struct book *book = calloc(1, sizeof(*book));
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    uint32_t held[MOST_NODES];
    uint32_t ids[MOST_NODES];
    book->capacity = (int)OG_MIN(n_slots, n_nodes);
    memset(held, 0xff, sizeof(held));
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    for (int batch = 0; batch < MOST_BATCHES; batch++) {
        uint32_t n = draw_batch(rng, n_nodes, most, ids);
        assert_int_equal(og__policy_plan(p, &planner, ids, n, &plan, NULL), 0);
        assert_int_equal(plan.n_misses, book_batch(t, book, ids, n));
        for (uint32_t c = 0; c < plan.n_changes; c++) {
            uint32_t *slot = &held[plan.change_slot[c]];
            *evictions += *slot != UINT32_MAX;
            *slot = ids[plan.change_row[c]];
        }
        int n_held = 0;
        for (int slot = 0; slot < book->capacity; slot++) {
            if (held[slot] == UINT32_MAX)
                continue;
            n_held++;
            if (!holds(book, held[slot]))
                fail_msg("policy %d, %u slots, batch %d: holds node %u, by the book it does not",
                         t->kind, n_slots, batch, held[slot]);
        }
        assert_int_equal(n_held, book->rows.n + book->small.n);
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
    free(book);
}

static void the_cache_is_that_of_the_papers(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 51, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (size_t i = 0; i < OG_COUNT(teachers); i++) {
        uint64_t evictions = 0;
        for (int draw = 0; draw < 200; draw++) {
            uint32_t n_nodes = 1 + og__rng_below(&rng, MOST_NODES);
            uint32_t n_slots = og__rng_below(&rng, n_nodes + 3);
            follow(&teachers[i], n_slots, n_nodes, 1 + og__rng_below(&rng, n_nodes), &rng,
                   &evictions);
        }
        assert_true(evictions > 10000);
    }
}

/* ---- what each is for, on traces small enough to follow by hand ---- */

/* Batches of a row each; returns a bit for each row that missed. */
static uint32_t misses_of(int kind, uint32_t n_slots, const char *rows)
{
    struct og_policy_setup setup = {.kind = kind, .n_nodes = 26, .n_slots = n_slots};
    struct og_policy *p;
    struct og_planner planner;
    struct og_plan plan;
    uint32_t missed = 0;
    og__planner_init(&planner, NULL);
    og__plan_init(&plan, NULL);
    assert_int_equal(og__policy_open(&p, &setup, NULL, NULL), 0);
    for (int i = 0; rows[i]; i++) {
        uint32_t id = (uint32_t)(rows[i] - 'a');
        assert_int_equal(og__policy_plan(p, &planner, &id, 1, &plan, NULL), 0);
        missed |= plan.n_misses << i;
    }
    og__policy_close(p);
    og__planner_release(&planner);
    og__plan_release(&plan);
    return missed;
}

static uint32_t bits(const char *text)
{
    uint32_t set = 0;
    for (int i = 0; text[i]; i++)
        set |= (uint32_t)(text[i] == 'M') << i;
    return set;
}

static void small_traces_by_hand(void **state)
{
    (void)state;
    /* `d`: a loses its mark and goes after b and c, b leaves. `e`: c leaves. Then a is there, b
     * not */
    assert_int_equal(misses_of(OG_POLICY_CLOCK, 3, "abcadeab"), bits("MMM.MM.M"));
    /* `d`: a loses its mark and stays the oldest, b leaves. `e`: c leaves; `f`: d leaves; `g`: e
     * leaves */
    assert_int_equal(misses_of(OG_POLICY_SIEVE, 3, "abcadefga"), bits("MMM.MMMM."));
    /* under clock a would have left for f */
    assert_int_equal(misses_of(OG_POLICY_CLOCK, 3, "abcadefga"), bits("MMM.MMMMM"));
    /* a, used twice again, moves to main when d comes; b leaves and is remembered. When b comes
     * again it enters main, where the rows that come once do not reach it */
    assert_int_equal(misses_of(OG_POLICY_S3FIFO, 3, "abcaadbefga"), bits("MMM..MMMMM."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_is_that_of_the_papers),
        cmocka_unit_test(small_traces_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
