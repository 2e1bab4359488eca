/* Rows of features on a device: what is brought out of all tiers is there, in any order of threads
 * and at any pace of streams, what moves is where it should be, and what goes over the link is
 * what is told. */
#include "testing.h"

#include "base/random.h"
#include "device/virtual.h"
#include "nn/device/backend.h"
#include "nn/nn.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 900, MOST_ROWS = 700, BATCHES = 12 };

/* A plain picture of all places: which node is in each. */
struct places {
    uint32_t n_device, n_host, n_victim;
    uint32_t held[2 * NODES];
};

struct case_of {
    struct places p;
    size_t row;
    char *host, *victims; /* pinned */
    char *staging[2];
    struct og_nn_backend *be;
    struct og_rows_there *t;
    struct og_rng rng;
    uint64_t link, back;
};

static char byte_of(uint32_t node, size_t j)
{
    return (char)((node * 2654435761u + j * 40503u) >> 7);
}

static void write_row(char *to, uint32_t node, size_t row)
{
    for (size_t j = 0; j < row; j++)
        to[j] = byte_of(node, j);
}

static const struct og_rows_ops *ops_of(void)
{
    return og__ops_virtual.rows;
}

static void open_case(struct case_of *c, size_t row, int rooms, uint64_t seed)
{
    memset(c, 0, sizeof(*c));
    og__rng_at(&c->rng, seed, OG__STREAM_BENCH, 1, 2, 3, 4);
    c->row = row;
    c->p = (struct places){.n_device = og__rng_below(&c->rng, 200),
                           .n_host = og__rng_below(&c->rng, 200),
                           .n_victim = og__rng_below(&c->rng, 40)};
    const struct og_rows_setup setup = {c->p.n_device, rooms, 50 /* they grow */, row};
    assert_int_equal(og__ops_virtual.open(&c->be, 0, NULL, NULL, NULL), 0);
    assert_int_equal(ops_of()->open(&c->t, c->be, &setup, NULL), 0);
    c->host = ops_of()->pin(c->t, c->p.n_host * row + 1, NULL);
    c->victims = ops_of()->pin(c->t, c->p.n_victim * row + 1, NULL);
    for (int i = 0; i < 2; i++)
        c->staging[i] = ops_of()->pin(c->t, MOST_ROWS * row, NULL);
    char *rows = ops_of()->pin(c->t, c->p.n_device * row + 1, NULL);
    uint32_t slots[200];
    for (uint32_t s = 0; s < c->p.n_device; s++) {
        slots[s] = c->p.n_device - 1 - s;
        c->p.held[slots[s]] = s;
        write_row(rows + s * row, s, row);
    }
    assert_int_equal(ops_of()->fill(c->t, rows, slots, c->p.n_device, NULL), 0);
    ops_of()->unpin(c->t, rows, 0);
    for (uint32_t h = 0; h < c->p.n_host + c->p.n_victim; h++) {
        char *to = h < c->p.n_host ? c->host + h * row : c->victims + (h - c->p.n_host) * row;
        c->p.held[c->p.n_device + h] = 300 + h;
        write_row(to, 300 + h, row);
    }
}

static void close_case(struct case_of *c)
{
    assert_int_equal(ops_of()->finish(c->t, NULL), 0);
    ops_of()->unpin(c->t, c->host, 0);
    ops_of()->unpin(c->t, c->victims, 0);
    for (int i = 0; i < 2; i++)
        ops_of()->unpin(c->t, c->staging[i], 0);
    ops_of()->close(c->t);
    og__ops_virtual.close(c->be);
}

struct batch {
    uint32_t n, n_misses;
    uint32_t place[MOST_ROWS], node[MOST_ROWS];
    uint32_t where[MOST_ROWS]; /* of misses: they lie in another order */
    uint32_t n_moves, from[200], to[200];
    uint32_t n_entries, row[200], slot[200];
};

/* Any rows, from anywhere; some slots go to the host, and then rows of the batch come into slots.
 */
static void draw_batch(struct case_of *c, struct batch *b, char *staging)
{
    const uint32_t places = c->p.n_device + c->p.n_host + c->p.n_victim;
    b->n = 1 + og__rng_below(&c->rng, MOST_ROWS);
    b->n_misses = b->n_moves = b->n_entries = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const bool missed = places == 0 || og__rng_below(&c->rng, 3) == 0;
        b->place[i] = missed ? places + b->n_misses++ : og__rng_below(&c->rng, places);
        b->node[i] = missed ? og__rng_below(&c->rng, NODES) : c->p.held[b->place[i]];
    }
    for (uint32_t k = 0; k < b->n_misses; k++)
        b->where[k] = b->n_misses - 1 - k;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->place[i] >= places)
            write_row(staging + b->where[b->place[i] - places] * c->row, b->node[i], c->row);
    for (uint32_t s = 0; s < c->p.n_device; s++) {
        if (og__rng_below(&c->rng, 2))
            continue;
        const uint32_t to = c->p.n_host + c->p.n_victim; /* each place of the host at most once */
        if (b->n_moves < to && og__rng_below(&c->rng, 2)) {
            b->from[b->n_moves] = s;
            b->to[b->n_moves] = c->p.n_device + b->n_moves;
            b->n_moves++;
        }
        b->slot[b->n_entries] = s;
        b->row[b->n_entries++] = og__rng_below(&c->rng, b->n);
    }
}

static void bring(struct case_of *c, struct batch *b, int room, char *staging,
                  struct og_brought *out)
{
    const uint32_t host = c->p.n_device;
    const uint32_t victim = host + c->p.n_host;
    const uint32_t misses = victim + c->p.n_victim;
    const struct og_bringing ask = {.room = room,
                                    .x = {.index = b->place,
                                          .stride = c->row,
                                          .n = b->n,
                                          .dim = (int)c->row,
                                          .dtype = OG_U8,
                                          .n_more = 3,
                                          .more = {{c->host, host, NULL},
                                                   {c->victims, victim, NULL},
                                                   {staging, misses, b->where}}},
                                    .n_moves = b->n_moves,
                                    .move_from = b->from,
                                    .move_to = b->to,
                                    .n_entries = b->n_entries,
                                    .entry_row = b->row,
                                    .entry_slot = b->slot};
    assert_int_equal(ops_of()->bring(c->t, &ask, out, NULL), 0);
    for (uint32_t i = 0; i < b->n; i++)
        c->link += b->place[i] >= host ? c->row : 0;
    c->back += b->n_moves * c->row;
    for (uint32_t k = 0; k < b->n_moves; k++)
        c->p.held[b->to[k]] = c->p.held[b->from[k]];
    for (uint32_t k = 0; k < b->n_entries; k++)
        c->p.held[b->slot[k]] = b->node[b->row[k]];
}

/* What the model would find; and then nobody wants the room any more. */
static void look(struct case_of *c, const struct batch *b, int room, const struct og_brought *out)
{
    char *got = malloc(b->n * c->row);
    assert_int_equal(og__ops_virtual.await(c->be, out->rows.comes, NULL), 0);
    assert_int_equal(og__ops_virtual.fetch(c->be, got, out->rows.base, b->n * c->row, NULL), 0);
    for (uint32_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < c->row; j++)
            if (got[i * c->row + j] != byte_of(b->node[i], j))
                fail_msg("row %u, byte %zu of node %u", i, j, b->node[i]);
    assert_int_equal(ops_of()->used(c->t, room, NULL), 0);
    free(got);
}

/* The host's places, once the batch was collected: and then they are overwritten, as is staging. */
static void check_host(struct case_of *c, int room, char *staging)
{
    assert_int_equal(ops_of()->wait(c->t, room, NULL), 0);
    memset(staging, 0x5a, MOST_ROWS * c->row);
    for (uint32_t h = 0; h < c->p.n_host + c->p.n_victim; h++) {
        char *at = h < c->p.n_host ? c->host + h * c->row : c->victims + (h - c->p.n_host) * c->row;
        for (size_t j = 0; j < c->row; j++)
            assert_int_equal(at[j], byte_of(c->p.held[c->p.n_device + h], j));
        const uint32_t node = og__rng_below(&c->rng, NODES);
        write_row(at, node, c->row);
        c->p.held[c->p.n_device + h] = node;
    }
}

/* One batch is looked at while the next one comes. */
static void run_case(size_t row, int rooms, uint64_t seed)
{
    static struct batch batch[2];
    struct case_of c;
    struct og_brought brought[2];
    struct og_device_counts counts;
    uint64_t told = 0, told_back = 0, lists = 0;
    open_case(&c, row, rooms, seed);
    c.be->ops->counts(c.be->device, &counts);
    const uint64_t reads = counts.reads;
    for (int i = 0; i < BATCHES; i++) {
        struct batch *b = &batch[i % 2];
        draw_batch(&c, b, c.staging[i % 2]);
        bring(&c, b, i % rooms, c.staging[i % 2], &brought[i % 2]);
        told += brought[i % 2].link_bytes;
        told_back += brought[i % 2].link_bytes_back;
        lists += 4 * b->n + 8 * (b->n_moves + b->n_entries);
        if (rooms > 1 && i > 0)
            look(&c, &batch[(i - 1) % 2], (i - 1) % rooms, &brought[(i - 1) % 2]);
        if (rooms == 1 || i == BATCHES - 1)
            look(&c, b, i % rooms, &brought[i % 2]);
        check_host(&c, i % rooms, c.staging[i % 2]);
    }
    assert_int_equal(told, c.link);
    assert_int_equal(told_back, c.back);
    c.be->ops->counts(c.be->device, &counts);
    assert_int_equal(counts.reads - reads, told + lists);
    assert_int_equal(counts.writes, told_back);
    close_case(&c);
}

static void rows_come_from_everywhere(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 7, 32, 100, 516};
    uint64_t seed = 0;
    for (int order = 0; order < OG__ORDERS; order++)
        for (int pace = 0; pace < OG__PACES; pace++)
            for (size_t k = 0; k < OG_COUNT(rows); k++)
                for (int rooms = 1; rooms <= OG__MOST_ROOMS; rooms++) {
                    struct og_virtual v = og__virtual_usual;
                    v.order = (enum og__order)order;
                    v.pace = (enum og__pace)pace;
                    v.seed = ++seed;
                    og__virtual_become(&v);
                    run_case(rows[k], rooms, seed);
                }
    og__virtual_become(&og__virtual_usual);
}

/* More than the device's lists hold at a time. */
static void a_large_batch_goes_in_pieces(void **state)
{
    (void)state;
    enum { ROWS = 100000, SLOTS = 40000, BYTES = 4 };
    static uint32_t place[ROWS], slot[SLOTS], row[SLOTS], got[ROWS];
    struct og_virtual v = og__virtual_usual;
    struct og_nn_backend *be;
    struct og_rows_there *t;
    struct og_brought out;
    v.pace = OG__LAZY;
    og__virtual_become(&v);
    assert_int_equal(og__ops_virtual.open(&be, 0, NULL, NULL, NULL), 0);
    const struct og_rows_setup setup = {SLOTS, 1, ROWS, BYTES};
    assert_int_equal(ops_of()->open(&t, be, &setup, NULL), 0);
    uint32_t *host = ops_of()->pin(t, ROWS * BYTES, NULL);
    for (uint32_t i = 0; i < ROWS; i++) {
        host[i] = i * 7;
        place[i] = SLOTS + i;
    }
    struct og_bringing b = {.x = {.index = place,
                                  .stride = BYTES,
                                  .n = ROWS,
                                  .dim = BYTES,
                                  .dtype = OG_U8,
                                  .n_more = 1,
                                  .more = {{(char *)host, SLOTS, NULL}}},
                            .n_entries = SLOTS,
                            .entry_row = row,
                            .entry_slot = slot};
    for (uint32_t s = 0; s < SLOTS; s++) {
        slot[s] = s;
        row[s] = ROWS - 1 - 2 * s;
    }
    assert_int_equal(ops_of()->bring(t, &b, &out, NULL), 0);
    b.n_entries = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        place[i] = i % SLOTS;
    b.n_moves = SLOTS;
    b.move_from = slot;
    b.move_to = row; /* places of the host */
    for (uint32_t s = 0; s < SLOTS; s++)
        row[s] = SLOTS + s;
    assert_int_equal(ops_of()->bring(t, &b, &out, NULL), 0);
    assert_int_equal(og__ops_virtual.await(be, out.rows.comes, NULL), 0);
    assert_int_equal(og__ops_virtual.fetch(be, got, out.rows.base, sizeof(got), NULL), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(got[i], (ROWS - 1 - 2 * (i % SLOTS)) * 7);
    for (uint32_t s = 0; s < SLOTS; s++)
        assert_int_equal(host[s], (ROWS - 1 - 2 * s) * 7);
    ops_of()->unpin(t, host, 0);
    ops_of()->close(t);
    og__ops_virtual.close(be);
    og__virtual_become(&og__virtual_usual);
}

/* Nothing is taken beyond the bound. */
static void a_bound_is_kept(void **state)
{
    (void)state;
    struct og_nn_backend *be;
    struct og_rows_there *t;
    struct og_err err = {0};
    const struct og_rows_setup setup = {1000, 2, 1000, 64};
    const size_t need = ops_of()->bytes(&setup);
    assert_int_equal(og__ops_virtual.open(&be, 0, NULL, NULL, NULL), 0);
    assert_int_equal(og__ops_virtual.bound(be, need - 1, NULL), 0);
    assert_int_equal(ops_of()->open(&t, be, &setup, &err), -ENOMEM);
    assert_null(t);
    assert_non_null(strstr(err.hint, "--device-memory"));
    assert_int_equal(og__ops_virtual.bound(be, need, NULL), 0);
    assert_int_equal(ops_of()->open(&t, be, &setup, NULL), 0);
    assert_int_equal(og__ops_virtual.bound(be, need - 1, NULL), -ENOMEM);
    ops_of()->close(t);
    og__ops_virtual.close(be);
}

/* What operators were asked is theirs: a batch that outgrows its room, which the thread that loads
 * brings, leaves it as far as it was. */
static void a_room_that_grows_leaves_operators_alone(void **state)
{
    (void)state;
    struct og_virtual v = og__virtual_usual;
    v.pace = OG__LAZY;
    v.glass = true;
    og__virtual_become(&v);
    struct case_of *c = calloc(1, sizeof(*c));
    struct batch *b = calloc(1, sizeof(*b));
    open_case(c, 64, 1, 3);
    const struct og_device_ops *ops = c->be->ops;
    char *mark = og__device_take(c->be, 16, "mark", NULL);
    assert_non_null(mark);
    memset(mark, 1, 16);
    assert_int_equal(ops->clear(c->be->work, mark, 16, NULL), 0);
    do
        draw_batch(c, b, c->staging[0]);
    while (b->n < 300); /* its room has 50 rows */
    b->n_moves = b->n_entries = 0;
    struct og_brought brought;
    bring(c, b, 0, c->staging[0], &brought);
    assert_int_equal(mark[0], 1);
    assert_int_equal(ops->finish(c->be->work, NULL), 0);
    assert_int_equal(mark[0], 0);
    og__device_give(c->be, mark, 16, "mark");
    close_case(c);
    og__virtual_become(&og__virtual_usual);
    free(b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_room_that_grows_leaves_operators_alone),
        cmocka_unit_test(rows_come_from_everywhere),
        cmocka_unit_test(a_large_batch_goes_in_pieces),
        cmocka_unit_test(a_bound_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
