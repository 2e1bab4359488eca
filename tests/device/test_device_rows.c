/* Rows of features on devices arrive from all tiers, for any order of threads and pace of streams.
 * What moves is where it should be, and bytes over links are as counted. Tested with one device,
 * and with several that are one cache. */
#include "device/tested_device.h"

#include "base/random.h"
#include "device/virtual.h"
#include "nn/device/backend.h"
#include "nn/nn.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 900, MOST_ROWS = 700, BATCHES = 12, DEVICES = 4, STAGINGS = 4, LOOKS = 3 };

/* A plain picture of all places: which node is in each. */
struct places {
    uint32_t n_device, n_host, n_victim;
    uint32_t held[2 * NODES];
};

struct case_of {
    struct places p;
    size_t row;
    char *host, *victims; /* pinned */
    char *staging[STAGINGS];
    uint32_t *each; /* [MOST_ROWS] pinned: 0, 1, ... */
    int n;          /* devices */
    struct og_nn_backend *be[DEVICES];
    struct og_nn_backend *guest[DEVICES]; /* who looks at buffers of each as well */
    struct og_device_row_store *t;
    struct og_rng rng;
    uint64_t link, back, peer_hits, peer;
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
    return tested_ops()->rows;
}

static void open_case(struct case_of *c, int n, size_t row, int rooms, uint64_t seed)
{
    memset(c, 0, sizeof(*c));
    og__rng_at(&c->rng, seed, OG__STREAM_BENCH, 1, 2, 3, 4);
    c->row = row;
    c->n = n;
    c->p = (struct places){.n_device = og__rng_below(&c->rng, 200),
                           .n_host = og__rng_below(&c->rng, 200),
                           .n_victim = og__rng_below(&c->rng, 40)};
    const struct og_rows_setup setup = {c->p.n_device, rooms, 50 /* they grow */, row};
    for (int k = 0; k < n; k++) {
        assert_int_equal(tested_ops()->open(&c->be[k], k, NULL, NULL, NULL), 0);
        assert_int_equal(tested_ops()->open(&c->guest[k], k, NULL, NULL, NULL), 0);
    }
    assert_int_equal(ops_of()->open(&c->t, c->be, n, &setup, NULL), 0);
    for (int k = 0; k < n; k++)
        assert_int_equal(ops_of()->join(c->t, k, c->guest[k], NULL), 0);
    c->host = ops_of()->pin(c->t, c->p.n_host * row + 1, NULL);
    c->victims = ops_of()->pin(c->t, c->p.n_victim * row + 1, NULL);
    for (int i = 0; i < STAGINGS; i++)
        c->staging[i] = ops_of()->pin(c->t, MOST_ROWS * row, NULL);
    c->each = ops_of()->pin(c->t, MOST_ROWS * sizeof(*c->each), NULL);
    for (uint32_t i = 0; i < MOST_ROWS; i++)
        c->each[i] = i;
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
    ops_of()->unpin(c->t, c->each, 0);
    for (int i = 0; i < STAGINGS; i++)
        ops_of()->unpin(c->t, c->staging[i], 0);
    for (int k = 0; k < c->n; k++)
        tested_ops()->close(c->guest[k]);
    ops_of()->close(c->t);
    for (int k = 0; k < c->n; k++)
        tested_ops()->close(c->be[k]);
}

struct batch {
    int device, room; /* the room's number on it */
    struct og_nn_backend *by;
    struct og_uploaded out;
    char *seen; /* its rows, as they were looked at; NULL: not so far */
    uint32_t n, n_misses;
    uint32_t place[MOST_ROWS], node[MOST_ROWS];
    uint32_t where[MOST_ROWS]; /* of misses: they lie in another order */
    uint32_t n_moves, from[200], to[200];
    uint32_t n_entries, row[200], slot[200];
};

/* Any rows, from anywhere. Some slots go to the host, and then rows of the batch come into
 * slots. */
static void draw_batch(struct case_of *c, struct batch *b, char *staging)
{
    const uint32_t places = c->p.n_device + c->p.n_host + c->p.n_victim;
    b->device = (int)og__rng_below(&c->rng, (uint32_t)c->n);
    b->by = og__rng_below(&c->rng, 2) ? c->be[b->device] : c->guest[b->device];
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

static void upload(struct case_of *c, struct batch *b, int room, char *staging)
{
    const uint32_t n = (uint32_t)c->n, own = (uint32_t)b->device;
    const uint32_t host = c->p.n_device;
    const uint32_t victim = host + c->p.n_host;
    const uint32_t misses = victim + c->p.n_victim;
    b->room = b->device * OG__MOST_ROOMS + room;
    const struct og_upload ask = {.room = b->room,
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
    assert_int_equal(ops_of()->upload(c->t, &ask, &b->out, NULL), 0);
    for (uint32_t i = 0; i < b->n; i++) {
        c->link += b->place[i] >= host ? c->row : 0;
        c->peer_hits += b->place[i] < host && b->place[i] % n != own;
    }
    for (uint32_t k = 0; k < b->n_entries; k++)
        c->peer += b->slot[k] % n != own ? c->row : 0;
    c->back += b->n_moves * c->row;
    for (uint32_t k = 0; k < b->n_moves; k++)
        c->p.held[b->to[k]] = c->p.held[b->from[k]];
    for (uint32_t k = 0; k < b->n_entries; k++)
        c->p.held[b->slot[k]] = b->node[b->row[k]];
}

/* Collects the rows that the model would find, by a kernel, as operators look at them. It is
 * queued, and nobody uses the buffer after that. */
static void look(struct case_of *c, struct batch *b)
{
    const size_t bytes = b->n * c->row;
    b->seen = og__device_take(b->by, bytes, "look", NULL);
    assert_non_null(b->seen);
    const struct og_k_places args = {.x = {.index = c->each, .stride = c->row},
                                     .n = b->n,
                                     .room = b->seen,
                                     .slots_of = {b->out.rows.base},
                                     .n_parts = 1};
    assert_int_equal(tested_ops()->await(b->by, b->out.rows.comes, NULL), 0);
    assert_int_equal(OG__EACH_WARP(b->by, og__k_collect, b->n, &args, NULL), 0);
    assert_int_equal(ops_of()->used(c->t, b->room, b->by, NULL), 0);
}

/* What was found, once the room may be another batch's. */
static void see(struct case_of *c, struct batch *b)
{
    const size_t bytes = b->n * c->row;
    char *got = malloc(bytes);
    assert_int_equal(tested_ops()->fetch(b->by, got, b->seen, bytes, NULL), 0);
    for (uint32_t i = 0; i < b->n; i++)
        for (size_t j = 0; j < c->row; j++)
            if (got[i * c->row + j] != byte_of(b->node[i], j))
                fail_msg("row %u, byte %zu of node %u", i, j, b->node[i]);
    og__device_give(b->by, b->seen, bytes, "look");
    b->seen = NULL;
    free(got);
}

/* The host's places, once all batches were collected: and then they are overwritten, as is staging.
 */
static void check_host(struct case_of *c)
{
    for (int i = 0; i < STAGINGS; i++)
        memset(c->staging[i], 0x5a, MOST_ROWS * c->row);
    for (uint32_t h = 0; h < c->p.n_host + c->p.n_victim; h++) {
        char *at = h < c->p.n_host ? c->host + h * c->row : c->victims + (h - c->p.n_host) * c->row;
        for (size_t j = 0; j < c->row; j++)
            assert_int_equal(at[j], byte_of(c->p.held[c->p.n_device + h], j));
        const uint32_t node = og__rng_below(&c->rng, NODES);
        write_row(at, node, c->row);
        c->p.held[c->p.n_device + h] = node;
    }
}

static struct og_device_counts counts_of(const struct case_of *c)
{
    struct og_device_counts sum = {0}, own;
    for (int k = 0; k < c->n; k++) {
        c->be[k]->ops->counts(c->be[k]->device, &own);
        sum.reads += own.reads;
        sum.writes += own.writes;
        sum.peer_reads += own.peer_reads;
    }
    return sum;
}

/* One batch is looked at while the next one comes. Several are on their way when somebody waits. */
static void run_case(int n, size_t row, int rooms, uint64_t seed)
{
    static struct batch batch[LOOKS];
    struct case_of c;
    uint64_t told = 0, told_back = 0, told_peers = 0, peer_hits = 0, lists = 0;
    int requested[STAGINGS], n_requested = 0;
    open_case(&c, n, row, rooms, seed);
    const struct og_device_counts before = counts_of(&c);
    for (int i = 0; i < BATCHES; i++) {
        struct batch *b = &batch[i % LOOKS];
        draw_batch(&c, b, c.staging[i % STAGINGS]);
        upload(&c, b, i % rooms, c.staging[i % STAGINGS]);
        told += b->out.link_bytes;
        told_back += b->out.link_bytes_back;
        told_peers += b->out.peer_bytes;
        peer_hits += b->out.peer_hits;
        lists += 4 * b->n + 8 * (b->n_moves + b->n_entries);
        for (int k = 0; k < LOOKS; k++)
            if (batch[k].seen)
                see(&c, &batch[k]);
        if (rooms > 1 && i > 0)
            look(&c, &batch[(i - 1) % LOOKS]);
        if (rooms == 1 || i == BATCHES - 1)
            look(&c, b);
        requested[n_requested++] = b->room;
        if (n_requested < STAGINGS && og__rng_below(&c.rng, 3) > 0)
            continue;
        while (n_requested > 0)
            assert_int_equal(ops_of()->wait(c.t, requested[--n_requested], NULL), 0);
        check_host(&c);
    }
    for (int k = 0; k < LOOKS; k++)
        if (batch[k].seen)
            see(&c, &batch[k]);
    const struct og_device_counts after = counts_of(&c);
    assert_int_equal(told, c.link);
    assert_int_equal(told_back, c.back);
    assert_int_equal(peer_hits, c.peer_hits);
    assert_int_equal(told_peers, c.peer + c.peer_hits * row);
    assert_int_equal(after.reads - before.reads, told + lists);
    assert_int_equal(after.writes, told_back);
    assert_int_equal(after.peer_reads, told_peers);
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
                    run_case(1, rows[k], rooms, seed);
                    if (!on_gpu())
                        run_case(2 + (int)(seed % (DEVICES - 1)), rows[k], rooms, seed);
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
    struct og_device_row_store *t;
    struct og_uploaded out;
    v.pace = OG__LAZY;
    og__virtual_become(&v);
    assert_int_equal(tested_ops()->open(&be, 0, NULL, NULL, NULL), 0);
    const struct og_rows_setup setup = {SLOTS, 1, ROWS, BYTES};
    assert_int_equal(ops_of()->open(&t, &be, 1, &setup, NULL), 0);
    uint32_t *host = ops_of()->pin(t, ROWS * BYTES, NULL);
    for (uint32_t i = 0; i < ROWS; i++) {
        host[i] = i * 7;
        place[i] = SLOTS + i;
    }
    struct og_upload b = {.x = {.index = place,
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
    assert_int_equal(ops_of()->upload(t, &b, &out, NULL), 0);
    b.n_entries = 0;
    for (uint32_t i = 0; i < ROWS; i++)
        place[i] = i % SLOTS;
    b.n_moves = SLOTS;
    b.move_from = slot;
    b.move_to = row; /* places of the host */
    for (uint32_t s = 0; s < SLOTS; s++)
        row[s] = SLOTS + s;
    assert_int_equal(ops_of()->upload(t, &b, &out, NULL), 0);
    assert_int_equal(tested_ops()->await(be, out.rows.comes, NULL), 0);
    assert_int_equal(tested_ops()->fetch(be, got, out.rows.base, sizeof(got), NULL), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(got[i], (ROWS - 1 - 2 * (i % SLOTS)) * 7);
    assert_int_equal(ops_of()->wait(t, 0, NULL), 0);
    for (uint32_t s = 0; s < SLOTS; s++)
        assert_int_equal(host[s], (ROWS - 1 - 2 * s) * 7);
    ops_of()->unpin(t, host, 0);
    ops_of()->close(t);
    tested_ops()->close(be);
    og__virtual_become(&og__virtual_usual);
}

/* Nothing is taken beyond the bound. */
static void a_bound_is_kept(void **state)
{
    (void)state;
    struct og_nn_backend *be;
    struct og_device_row_store *t;
    struct og_err err = {0};
    const struct og_rows_setup setup = {1000, 2, 1000, 64};
    const size_t need = ops_of()->bytes(&setup, 1) + tested_ops()->device_own_bytes();
    assert_int_equal(tested_ops()->open(&be, 0, NULL, NULL, NULL), 0);
    assert_int_equal(tested_ops()->bound(be, need - 1, NULL), 0);
    assert_int_equal(ops_of()->open(&t, &be, 1, &setup, &err), -ENOMEM);
    assert_null(t);
    assert_non_null(strstr(err.hint, "--device-memory"));
    assert_int_equal(tested_ops()->bound(be, need, NULL), 0);
    assert_int_equal(ops_of()->open(&t, &be, 1, &setup, NULL), 0);
    assert_int_equal(tested_ops()->bound(be, need - 1, NULL), -ENOMEM);
    ops_of()->close(t);
    tested_ops()->close(be);
}

/* A batch that outgrows its buffer does not wait for queued operators. The loading thread grows the
 * buffer, and operators own their rows. */
static void a_room_that_grows_leaves_operators_alone(void **state)
{
    (void)state;
    of_a_virtual_device();
    struct og_virtual v = og__virtual_usual;
    v.pace = OG__LAZY;
    v.glass = true;
    og__virtual_become(&v);
    struct case_of *c = calloc(1, sizeof(*c));
    struct batch *b = calloc(1, sizeof(*b));
    open_case(c, 1, 64, 1, 3);
    struct og_nn_backend *be = c->be[0];
    const struct og_device_ops *ops = be->ops;
    char *mark = og__device_take(be, 16, "mark", NULL);
    assert_non_null(mark);
    memset(mark, 1, 16);
    assert_int_equal(ops->clear(be->work, mark, 16, NULL), 0);
    do
        draw_batch(c, b, c->staging[0]);
    while (b->n < 300); /* its room has 50 rows */
    b->n_moves = b->n_entries = 0;
    upload(c, b, 0, c->staging[0]);
    assert_int_equal(mark[0], 1);
    assert_int_equal(ops->finish(be->work, NULL), 0);
    assert_int_equal(mark[0], 0);
    og__device_give(be, mark, 16, "mark");
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
