/* Segments against a count that knows nothing of ranks, signatures or stamps. The size that is
 * chosen is compared with all others. */
#include "support/testing.h"

#include "base/random.h"
#include "plan/segments.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096 };

/* A trace as sampling makes it: a few nodes come often, most seldom. Batches near one another have
 * some in common. */
static void make_trace(struct og_packing *p, uint32_t n_nodes, size_t row_bytes, uint32_t n_batches,
                       uint32_t rows, uint64_t seed)
{
    uint32_t *ids = malloc(n_nodes * sizeof(*ids));
    bool *in = malloc(n_nodes);
    assert_int_equal(og__packing_open(p, n_nodes, row_bytes, n_batches, NULL, NULL), 0);
    for (uint32_t b = 0; b < n_batches; b++) {
        struct og_rng rng;
        uint32_t n = 0;
        memset(in, 0, n_nodes);
        og__rng_at(&rng, seed, OG__STREAM_BENCH, 0, b, 0, 0);
        for (uint32_t i = 0; i < rows; i++) {
            double u = (og__rng_below(&rng, 1u << 24) + 0.5) / (1u << 24);
            uint32_t node = (uint32_t)(u * u * n_nodes);
            if (!in[node]) {
                in[node] = true;
                ids[n++] = node;
            }
        }
        assert_int_equal(og__packing_add(p, ids, NULL, n, NULL), 0);
    }
    assert_int_equal(og__packing_finish(p, NULL), 0);
    free(ids);
    free(in);
}

static bool uses(const struct og_packing *p, uint32_t batch, uint32_t node)
{
    for (uint64_t i = p->ptr[batch]; i < p->ptr[batch + 1]; i++)
        if (p->rows[i] == node)
            return true;
    return false;
}

/* The node's index in s->order, by looking. */
static uint32_t find(const struct og_segments *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->n_shared; i++)
        if (s->order[i] == node)
            return i;
    return UINT32_MAX;
}

static uint32_t users(const struct og_packing *p, uint32_t first, uint32_t last, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t b = first; b < last; b++)
        n += uses(p, b, node);
    return n;
}

/* Whether the node is among the first s->given_back nodes that have s->least users. Their order is
 * that in which second users come. */
static bool goes_back(const struct og_segments *s, uint32_t first, uint32_t last, uint32_t node)
{
    const struct og_packing *p = s->packing;
    uint32_t before = 0;
    for (uint32_t b = first; b < last; b++)
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++) {
            const uint32_t other = p->rows[i];
            if (users(p, first, b, other) != 1 || users(p, first, last, other) != s->least)
                continue;
            if (other == node)
                return before < s->given_back;
            before++;
        }
    return false;
}

/* Every shared row is stored once, every other not at all; pages are counted in a plain table. */
static void check_segment(struct og_segments *s, uint32_t first, uint32_t last,
                          struct og_segment_cost *sum)
{
    const struct og_packing *p = s->packing;
    uint32_t shared = 0;
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        uint32_t n = users(p, first, last, node);
        bool stays = n >= s->least && !goes_back(s, first, last, node);
        assert_int_equal(find(s, node) != UINT32_MAX, stays);
        shared += stays;
    }
    assert_int_equal(shared, s->n_shared);
    sum->shared += shared;
    sum->disk_bytes += (shared * p->row_bytes + PAGE - 1) / PAGE * PAGE;
    for (uint32_t b = first; b < last; b++) {
        char *page = calloc(p->n_nodes * p->row_bytes / PAGE + 2, 1);
        uint64_t once = 0;
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++) {
            uint32_t at = find(s, p->rows[i]);
            once += at == UINT32_MAX;
            sum->shared_reads += at != UINT32_MAX;
            for (size_t k = 0; at != UINT32_MAX && k < p->row_bytes; k++) {
                size_t number = (at * p->row_bytes + k) / PAGE;
                sum->pages += !page[number];
                page[number] = 1;
            }
        }
        sum->once += once;
        sum->disk_bytes += (once * p->row_bytes + PAGE - 1) / PAGE * PAGE;
        sum->bytes_read += (once * p->row_bytes + PAGE - 1) / PAGE * PAGE;
        free(page);
    }
}

static void compare_costs(struct og_segments *s, uint32_t size, enum og__segment_order order)
{
    struct og_segment_cost expected = {0};
    struct og_segment_cost cost;
    for (uint32_t first = 0; first < 11; first += size) {
        uint32_t last = OG_MIN(first + size, 11u);
        assert_int_equal(og__segments_lay_out(s, first, last, order, NULL), 0);
        check_segment(s, first, last, &expected);
    }
    expected.bytes_read += expected.pages * PAGE;
    assert_int_equal(og__segments_cost(s, size, order, &cost, NULL), 0);
    assert_int_equal(cost.shared, expected.shared);
    assert_int_equal(cost.once, expected.once);
    assert_int_equal(cost.shared_reads, expected.shared_reads);
    assert_int_equal(cost.pages, expected.pages);
    assert_int_equal(cost.disk_bytes, expected.disk_bytes);
    assert_int_equal(cost.bytes_read, expected.bytes_read);
}

static void costs_are_what_a_plain_count_says(void **state)
{
    (void)state;
    static const size_t row_sizes[] = {100, 512, 1536, 4096, 5000};
    static const uint32_t back[][2] = {{2, 0}, {2, 7}, {3, 0}, {4, 2}};
    for (size_t i = 0; i < OG_COUNT(row_sizes) * OG_COUNT(back); i++) {
        struct og_packing p;
        struct og_segments s;
        make_trace(&p, 300, row_sizes[i / OG_COUNT(back)], 11, 60, i);
        assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
        assert_int_equal(s.least, 2);
        assert_int_equal(s.given_back, 0);
        s.least = back[i % OG_COUNT(back)][0];
        s.given_back = back[i % OG_COUNT(back)][1];
        for (uint32_t size = 1; size <= 12; size += 3)
            for (int order = OG__BY_SIGNATURE; order <= OG__BY_NODE; order++)
                compare_costs(&s, size, (enum og__segment_order)order);
        og__segments_close(&s);
        og__packing_close(&p);
    }
}

/* Rows that the same batches use lie next to one another. */
static void equal_users_are_neighbours(void **state)
{
    (void)state;
    struct og_packing p;
    struct og_segments s;
    uint32_t batch[6][100];
    uint32_t n[6] = {0};
    const uint32_t sets[] = {3, 5, 48, 40, 63}; /* bit b: batch b uses the row */
    for (uint32_t node = 0; node < 100; node++)
        for (uint32_t b = 0; b < 6; b++)
            if (sets[node % OG_COUNT(sets)] >> b & 1)
                batch[b][n[b]++] = node;
    assert_int_equal(og__packing_open(&p, 100, 512, 6, NULL, NULL), 0);
    for (uint32_t b = 0; b < 6; b++)
        assert_int_equal(og__packing_add(&p, batch[b], NULL, n[b], NULL), 0);
    assert_int_equal(og__packing_finish(&p, NULL), 0);
    assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
    struct og_err err = {0};
    assert_int_equal(og__segments_lay_out(&s, 0, p.n_batches + 1, OG__BY_SIGNATURE, &err), -EINVAL);
    assert_int_equal(og__segments_lay_out(&s, 2, 1, OG__BY_SIGNATURE, NULL), -EINVAL);
    assert_non_null(strstr(err.message, "are there"));
    assert_int_equal(og__segments_lay_out(&s, 0, 6, OG__BY_SIGNATURE, NULL), 0);
    assert_int_equal(s.n_shared, 100);
    uint32_t runs = 1;
    for (uint32_t i = 1; i < 100; i++)
        runs += s.order[i] % OG_COUNT(sets) != s.order[i - 1] % OG_COUNT(sets);
    assert_true(runs <= 10); /* two sets may share a signature; without order there are 100 */
    og__segments_close(&s);
    og__packing_close(&p);
}

static void order_saves_pages(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++)
        for (uint32_t size = 2; size <= 50; size += 12) {
            struct og_packing p;
            struct og_segments s;
            struct og_segment_cost ordered;
            struct og_segment_cost plain;
            make_trace(&p, 40000, 512, 50, 1500, seed);
            assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
            assert_int_equal(og__segments_cost(&s, size, OG__BY_SIGNATURE, &ordered, NULL), 0);
            assert_int_equal(og__segments_cost(&s, size, OG__BY_NODE, &plain, NULL), 0);
            assert_int_equal(ordered.disk_bytes, plain.disk_bytes);
            assert_int_equal(ordered.shared_reads, plain.shared_reads);
            assert_true(ordered.pages <= plain.pages);
            og__segments_close(&s);
            og__packing_close(&p);
        }
}

/* ---- the size that is chosen ---- */

/* One setting of the whole grid: segments of `size` batches that share rows with `least` users or
 * more. Users count in the segment; all other rows are packed. */
struct figures {
    uint64_t space, read;
};

static uint64_t padded(uint64_t rows, const struct og_packing *p)
{
    return (rows * p->row_bytes + PAGE - 1) / PAGE * PAGE;
}

static void add_segment(const struct og_segments *s, uint32_t least, struct figures *sum)
{
    const struct og_packing *p = s->packing;
    uint32_t *n_users = calloc(p->n_nodes, sizeof(*n_users));
    uint32_t *at = malloc(p->n_nodes * sizeof(*at));
    uint32_t *touched = calloc(p->n_nodes * p->row_bytes / PAGE + 2, sizeof(*touched));
    uint32_t shared = 0;
    for (uint64_t i = p->ptr[s->first]; i < p->ptr[s->last]; i++)
        n_users[p->rows[i]]++;
    for (uint32_t i = 0; i < s->n_shared; i++)
        if (n_users[s->order[i]] >= least)
            at[s->order[i]] = shared++;
    sum->space += padded(shared, p);
    for (uint32_t b = s->first; b < s->last; b++) {
        uint64_t packed = 0;
        for (uint64_t i = p->ptr[b]; i < p->ptr[b + 1]; i++) {
            uint32_t node = p->rows[i];
            if (n_users[node] < least) {
                packed++;
                continue;
            }
            size_t page = at[node] * p->row_bytes / PAGE; /* rows of 512 bytes straddle none */
            sum->read += touched[page] != b + 1 ? PAGE : 0;
            touched[page] = b + 1;
        }
        sum->space += padded(packed, p);
        sum->read += padded(packed, p);
    }
    free(n_users);
    free(at);
    free(touched);
}

enum { BATCHES = 30, MOST_LEAST = 8 };

static void try_all(struct og_segments *s, struct figures grid[BATCHES + 1][MOST_LEAST + 1])
{
    for (uint32_t size = 1; size <= BATCHES; size++)
        for (uint32_t first = 0; first < BATCHES; first += size) {
            uint32_t last = OG_MIN(first + size, (uint32_t)BATCHES);
            assert_int_equal(og__segments_lay_out(s, first, last, OG__BY_SIGNATURE, NULL), 0);
            for (uint32_t least = 2; least <= MOST_LEAST; least++)
                add_segment(s, least, &grid[size][least]);
        }
}

static uint64_t best_read(struct figures grid[BATCHES + 1][MOST_LEAST + 1], uint64_t limit)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t size = 1; size <= BATCHES; size++)
        for (uint32_t least = 2; least <= MOST_LEAST; least++)
            if (grid[size][least].space <= limit)
                best = OG_MIN(best, grid[size][least].read);
    return best;
}

static void the_choice_is_close_to_the_best(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct og_packing p;
        struct og_segments s;
        struct figures grid[BATCHES + 1][MOST_LEAST + 1] = {0};
        make_trace(&p, 10000, 512, BATCHES, 1000, seed);
        assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
        try_all(&s, grid);
        uint64_t least = grid[BATCHES][2].space;
        uint64_t most = grid[1][2].space;
        for (int percent = 0; percent <= 110; percent += 10) {
            uint64_t limit = least + (most - least) * percent / 100;
            struct og_segment_cost cost;
            uint32_t size;
            assert_int_equal(og__segments_choose(&s, limit, &size, NULL), 0);
            assert_int_equal(og__segments_cost(&s, size, OG__BY_SIGNATURE, &cost, NULL), 0);
            assert_true(cost.disk_bytes <= limit);
            assert_true(cost.disk_bytes >= grid[size][2].space);
            assert_true((double)cost.bytes_read <= 1.01 * (double)grid[size][2].read);
            uint64_t best = best_read(grid, limit);
            if ((double)cost.bytes_read > 1.05 * (double)best)
                fail_msg("limit %d %%: size %u reads %llu, the best %llu", percent, size,
                         (unsigned long long)cost.bytes_read, (unsigned long long)best);
        }
        og__segments_close(&s);
        og__packing_close(&p);
    }
}

/* All of the disk is used but what the ends of chunks and segments take. It is not where every row
 * is in a chunk. */
static void what_is_left_of_the_disk_takes_rows_back(void **state)
{
    (void)state;
    struct og_packing p;
    struct og_segments s;
    struct og_segment_cost packs, least, cost;
    uint32_t size;
    make_trace(&p, 20000, 512, BATCHES, 2000, 4);
    assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
    og__segments_space(&s, 1, &packs);
    og__segments_space(&s, BATCHES, &least);
    for (int percent = 5; percent <= 95; percent += 10) {
        uint64_t limit = least.disk_bytes + (packs.disk_bytes - least.disk_bytes) * percent / 100;
        assert_int_equal(og__segments_choose(&s, limit, &size, NULL), 0);
        og__segments_space(&s, size, &cost);
        const uint64_t segments = (BATCHES + size - 1) / size;
        const uint64_t ends = 2 * (BATCHES + segments) * PAGE;
        const uint64_t uneven = limit / 50; /* the last segment may have few to give */
        assert_true(cost.disk_bytes <= limit);
        if (cost.shared > 0 && cost.disk_bytes + ends + uneven < limit)
            fail_msg("%d %%: %llu of %llu bytes", percent, (unsigned long long)cost.disk_bytes,
                     (unsigned long long)limit);
    }
    og__segments_close(&s);
    og__packing_close(&p);
}

static void too_little_disk_is_told(void **state)
{
    (void)state;
    struct og_packing p;
    struct og_segments s;
    struct og_err err = {0};
    uint32_t size;
    make_trace(&p, 4000, 512, 20, 500, 1);
    assert_int_equal(og__segments_open(&s, &p, NULL, NULL), 0);
    assert_int_equal(og__segments_choose(&s, 100000, &size, &err), -ENOSPC);
    assert_non_null(strstr(err.message, "at least"));
    og__segments_close(&s);
    og__packing_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_what_a_plain_count_says),
        cmocka_unit_test(equal_users_are_neighbours),
        cmocka_unit_test(order_saves_pages),
        cmocka_unit_test(the_choice_is_close_to_the_best),
        cmocka_unit_test(what_is_left_of_the_disk_takes_rows_back),
        cmocka_unit_test(too_little_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
