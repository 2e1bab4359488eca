/* The virtual device: threads of kernels in any order, streams at any pace, memory shut to the
 * host. Calls fail on purpose. What is broken on purpose must show. */
#include "support/testing.h"

#include "base/base.h"
#include "device/kernel.h"
#include "device/virtual.h"
#include "nn/device/backend.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== kernels of this test ==== */

struct adding {
    uint32_t n;
    const uint32_t *in;
    uint32_t *out;
};

/* Sums of a block's numbers up to each: right only with both meetings. */
OG_KERNEL(k_sums, adding)
{
    OG_SHARED uint32_t sum[OG_THREADS];
    const uint32_t i = og_thread();
    sum[i] = op->in[og_item()];
    og_synchronize();
    for (uint32_t step = 1; step < OG_THREADS; step *= 2) {
        const uint32_t other = i >= step ? sum[i - step] : 0;
        og_synchronize();
        sum[i] += other;
        og_synchronize();
    }
    op->out[og_item()] = sum[i];
}

OG_KERNEL(k_sums_too_soon, adding)
{
    OG_SHARED uint32_t sum[OG_THREADS];
    const uint32_t i = og_thread();
    sum[i] = op->in[og_item()];
    og_synchronize();
    for (uint32_t step = 1; step < OG_THREADS; step *= 2) {
        const uint32_t other = i >= step ? sum[i - step] : 0;
        sum[i] += other; /* somebody may not have read it yet */
        og_synchronize();
    }
    op->out[og_item()] = sum[i];
}

OG_KERNEL(k_some_stay_away, adding)
{
    if (og_thread() % 2)
        og_synchronize();
    if (og_item() < op->n)
        op->out[og_item()] = 1;
}

OG_KERNEL(k_add_one, adding)
{
    if (og_item() < op->n)
        op->out[og_item()] = op->in[og_item()] + 1;
}

/* Each warp's sum of floats that round. */
struct warps {
    const float *in;
    float *out;
};
OG_KERNEL(k_warps, warps)
{
    op->out[og_item()] = og_warp_sum(op->in[og_item()]);
}

/* Calls itself further than a stack of a fibre goes. */
static uint32_t deep(uint32_t n)
{
    volatile char frame[1024];
    for (size_t i = 0; i < sizeof(frame); i++)
        frame[i] = (char)n;
    return n > 0 ? deep(n - 1) + (uint32_t)frame[n % sizeof(frame)] : 0;
}
OG_KERNEL(k_deep, adding)
{
    op->out[og_item()] = og_thread() == 1 ? deep(op->n) : 0;
}

#define KERNEL(name, meets) static const struct og_kernel name##_ = {#name, name, 0, meets};
KERNEL(k_sums, true)
KERNEL(k_sums_too_soon, true)
KERNEL(k_some_stay_away, true)
KERNEL(k_add_one, false)
KERNEL(k_warps, true)
KERNEL(k_deep, true)

/* ==== a device ==== */

static const struct og_device_ops *const ops = &og__device_virtual;

struct fixture {
    struct og_device *device;
    struct og_stream *stream[2];
    struct og_event *event;
};

static void become(enum og__order order, enum og__pace pace, uint64_t seed)
{
    struct og_virtual v = og__virtual_usual;
    v.order = order;
    v.pace = pace;
    v.seed = seed;
    og__virtual_become(&v);
}

static void open_fixture(struct fixture *f)
{
    assert_int_equal(ops->open(&f->device, 0, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ops->stream(f->device, &f->stream[i], NULL), 0);
    assert_int_equal(ops->event(f->device, &f->event, NULL), 0);
}

static void close_fixture(struct fixture *f)
{
    for (int i = 0; i < 2; i++)
        ops->end_stream(f->stream[i]);
    ops->end_event(f->event);
    ops->close(f->device);
}

static void *alloc(struct fixture *f, size_t bytes)
{
    void *p = ops->alloc(f->device, bytes, NULL);
    assert_non_null(p);
    return p;
}

static void fetch(struct fixture *f, void *host, const void *there, size_t bytes)
{
    assert_int_equal(ops->copy(f->stream[0], host, there, bytes, OG__TO_HOST, NULL), 0);
    assert_int_equal(ops->finish(f->stream[0], NULL), 0);
}

static void push(struct fixture *f, void *there, const void *host, size_t bytes)
{
    assert_int_equal(ops->copy(f->stream[0], there, host, bytes, OG__TO_DEVICE, NULL), 0);
    assert_int_equal(ops->finish(f->stream[0], NULL), 0);
}

/* ==== threads ==== */

enum { BLOCKS = 3, N = BLOCKS * OG_THREADS };

static int run_sums(const struct og_kernel *kernel, enum og__order order, uint32_t out[N])
{
    struct fixture f;
    uint32_t in[N];
    struct og_err err = {0};
    become(order, OG__EAGER, 0);
    open_fixture(&f);
    for (uint32_t i = 0; i < N; i++)
        in[i] = i * 2654435761u % 100;
    uint32_t *there = alloc(&f, 2 * sizeof(in));
    push(&f, there, in, sizeof(in));
    const struct adding args = {N, there, there + N};
    const struct og_launch l = {kernel, BLOCKS, OG_THREADS, &args, sizeof(args), 0, 0, 0};
    assert_int_equal(ops->launch(f.stream[0], &l, NULL), 0);
    int rc = ops->finish(f.stream[0], &err);
    if (rc == 0)
        fetch(&f, out, there + N, sizeof(in));
    else
        assert_non_null(strstr(err.message, kernel->name));
    ops->release(f.device, there, 2 * sizeof(in));
    close_fixture(&f);
    return rc;
}

static void a_missing_meeting_shows(void **state)
{
    (void)state;
    uint32_t want[N], out[N];
    int wrong = 0;
    for (uint32_t i = 0; i < N; i++)
        want[i] = i * 2654435761u % 100 + (i % OG_THREADS ? want[i - 1] : 0);
    for (int order = 0; order < OG__ORDERS; order++) {
        assert_int_equal(run_sums(&k_sums_, (enum og__order)order, out), 0);
        assert_memory_equal(out, want, sizeof(want));
        assert_int_equal(run_sums(&k_sums_too_soon_, (enum og__order)order, out), 0);
        wrong += memcmp(out, want, sizeof(want)) != 0;
        assert_int_equal(run_sums(&k_some_stay_away_, (enum og__order)order, out), -EDEADLK);
    }
    assert_true(wrong > 0);
}

static void warps_add_up_in_one_order(void **state)
{
    (void)state;
    float in[OG_THREADS], out[OG__ORDERS][OG_THREADS];
    for (int i = 0; i < OG_THREADS; i++)
        in[i] = 1 / (float)(i + 1);
    for (int order = 0; order < OG__ORDERS; order++) {
        struct fixture f;
        become((enum og__order)order, OG__EAGER, 0);
        open_fixture(&f);
        float *there = alloc(&f, 2 * sizeof(in));
        push(&f, there, in, sizeof(in));
        const struct warps args = {there, there + OG_THREADS};
        const struct og_launch l = {&k_warps_, 1, OG_THREADS, &args, sizeof(args), 0, 0, 0};
        assert_int_equal(ops->launch(f.stream[0], &l, NULL), 0);
        fetch(&f, out[order], there + OG_THREADS, sizeof(in));
        assert_memory_equal(out[order], out[0], sizeof(in));
        ops->release(f.device, there, 2 * sizeof(in));
        close_fixture(&f);
    }
    for (int i = 0; i < OG_THREADS; i++) {
        double sum = 0;
        for (int k = i / OG_LANES * OG_LANES; k < (i / OG_LANES + 1) * OG_LANES; k++)
            sum += (double)in[k];
        assert_true(fabs((double)out[0][i] - sum) < 1e-6);
    }
}

/* ==== streams ==== */

static void add_one(struct fixture *f, const uint32_t *in, uint32_t *out, size_t peer_reads, int rc)
{
    const struct adding args = {64, in, out};
    const struct og_launch l = {&k_add_one_, 1, 64, &args, sizeof(args), 0, 0, peer_reads};
    assert_int_equal(ops->launch(f->stream[0], &l, NULL), rc);
}

/* One stream brings numbers, the other adds one to them; events or not. What comes back is right
 * if each waited for the other. */
static bool passes_on(enum og__pace pace, uint64_t seed, bool events)
{
    struct fixture f;
    uint32_t in[64], out[64];
    bool right = true;
    become(OG__FORWARDS, pace, seed);
    open_fixture(&f);
    uint32_t *there = alloc(&f, sizeof(in));
    for (uint32_t i = 0; i < 64; i++)
        in[i] = i;
    const struct adding args = {64, there, there};
    const struct og_launch l = {&k_add_one_, 1, 64, &args, sizeof(args), 0, 0, 0};
    assert_int_equal(ops->copy(f.stream[0], there, in, sizeof(in), OG__TO_DEVICE, NULL), 0);
    if (events) {
        assert_int_equal(ops->record(f.event, f.stream[0], NULL), 0);
        assert_int_equal(ops->follow(f.stream[1], f.event, NULL), 0);
    }
    assert_int_equal(ops->launch(f.stream[1], &l, NULL), 0);
    if (events) {
        assert_int_equal(ops->record(f.event, f.stream[1], NULL), 0);
        assert_int_equal(ops->follow(f.stream[0], f.event, NULL), 0);
    }
    assert_int_equal(ops->copy(f.stream[0], out, there, sizeof(in), OG__TO_HOST, NULL), 0);
    assert_int_equal(ops->finish(f.stream[0], NULL), 0);
    for (uint32_t i = 0; i < 64; i++)
        right &= out[i] == i + 1;
    assert_int_equal(ops->finish(f.stream[1], NULL), 0);
    ops->release(f.device, there, sizeof(in));
    close_fixture(&f);
    return right;
}

static void a_missing_event_shows(void **state)
{
    (void)state;
    int wrong = 0;
    for (int pace = 0; pace < OG__PACES; pace++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            assert_true(passes_on((enum og__pace)pace, seed, true));
            wrong += !passes_on((enum og__pace)pace, seed, false);
        }
    assert_true(passes_on(OG__EAGER, 0, false)); /* at once: then nothing shows */
    assert_true(wrong >= 8);
}

static void copies_take_the_host_s_memory_as_it_is_then(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t host = 1, back = 0;
    become(OG__FORWARDS, OG__LAZY, 0);
    open_fixture(&f);
    uint32_t *there = alloc(&f, sizeof(host));
    assert_int_equal(ops->copy(f.stream[0], there, &host, sizeof(host), OG__TO_DEVICE, NULL), 0);
    host = 2; /* nobody waited */
    fetch(&f, &back, there, sizeof(back));
    assert_int_equal(back, 2);
    assert_int_equal(ops->copy(f.stream[0], there, &host, sizeof(host), OG__TO_DEVICE, NULL), 0);
    assert_int_equal(ops->record(f.event, f.stream[0], NULL), 0);
    assert_int_equal(ops->wait(f.event, NULL), 0);
    host = 3;
    fetch(&f, &back, there, sizeof(back));
    assert_int_equal(back, 2);
    ops->release(f.device, there, sizeof(host));
    close_fixture(&f);
}

/* ==== what may not be touched ==== */

static int signal_of(void (*what)(char *), char *p)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        what(p);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void looks(char *p)
{
    (void)*(volatile char *)p;
}

static void writes(char *p)
{
    *(volatile char *)p = 1;
}

/* ==== several devices ==== */

enum { PEER_BYTES = 64 * sizeof(uint32_t) };

/* Numbers that the one was given, read by a kernel of the other. */
struct two {
    struct fixture own, peer;
    uint32_t *out, *in, host[64];
};

static void open_two(struct two *t)
{
    open_fixture(&t->own);
    assert_int_equal(ops->open(&t->peer.device, 1, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ops->stream(t->peer.device, &t->peer.stream[i], NULL), 0);
    assert_int_equal(ops->event(t->peer.device, &t->peer.event, NULL), 0);
    t->out = alloc(&t->own, PEER_BYTES);
    t->in = alloc(&t->peer, PEER_BYTES);
    for (uint32_t i = 0; i < 64; i++)
        t->host[i] = i;
}

static void close_two(struct two *t)
{
    ops->release(t->own.device, t->out, PEER_BYTES);
    ops->release(t->peer.device, t->in, PEER_BYTES);
    close_fixture(&t->own);
    close_fixture(&t->peer);
}

/* With an event from the one's stream to the other's, or none. */
static bool reads_what_came(enum og__pace pace, uint64_t seed, bool event)
{
    struct two t;
    uint32_t got[64];
    bool right = true;
    become(OG__FORWARDS, pace, seed);
    open_two(&t);
    struct fixture *own = &t.own, *peer = &t.peer;
    assert_int_equal(ops->reach(own->device, peer->device, NULL), 0);
    assert_int_equal(ops->copy(peer->stream[0], t.in, t.host, PEER_BYTES, OG__TO_DEVICE, NULL), 0);
    if (event) {
        assert_int_equal(ops->record(peer->event, peer->stream[0], NULL), 0);
        assert_int_equal(ops->follow(own->stream[0], peer->event, NULL), 0);
    }
    add_one(own, t.in, t.out, PEER_BYTES, 0);
    fetch(own, got, t.out, sizeof(got));
    assert_int_equal(ops->finish(peer->stream[0], NULL), 0);
    for (uint32_t i = 0; i < 64; i++)
        right &= got[i] == i + 1;
    close_two(&t);
    return right;
}

static void an_event_that_is_missing_between_devices_shows(void **state)
{
    (void)state;
    int wrong = 0;
    for (int pace = 0; pace < OG__PACES; pace++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            assert_true(reads_what_came((enum og__pace)pace, seed, true));
            wrong += !reads_what_came((enum og__pace)pace, seed, false);
        }
    assert_true(wrong >= 8);
}

static void launches_on(char *p)
{
    struct two *t = (struct two *)(void *)p;
    add_one(&t->own, t->in, t->out, 0, 0);
}

/* And what goes over the link is counted, and takes its time. */
static void a_peer_s_memory_is_shut_unless_it_is_reached(void **state)
{
    (void)state;
    struct two t;
    uint32_t got[64];
    struct og_device_counts n;
    become(OG__FORWARDS, OG__EAGER, 0);
    open_two(&t);
    push(&t.peer, t.in, t.host, PEER_BYTES);
    add_one(&t.own, t.in, t.out, PEER_BYTES, -EINVAL);
    assert_int_equal(signal_of(launches_on, (char *)&t), SIGSEGV);
    assert_int_equal(ops->reach(t.own.device, t.peer.device, NULL), 0);
    assert_int_equal(signal_of(launches_on, (char *)&t), 0);
    add_one(&t.own, t.in, t.out, PEER_BYTES, 0);
    fetch(&t.own, got, t.out, sizeof(got));
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(got[i], i + 1);
    assert_int_equal(signal_of(looks, (char *)t.in), SIGSEGV); /* it is shut again */
    ops->counts(t.own.device, &n);
    assert_int_equal(n.peer_reads, PEER_BYTES);
    assert_true(fabs(n.peer_seconds - og__virtual_usual.peer_latency -
                     PEER_BYTES / og__virtual_usual.peer_bytes_per_second) < 1e-12);
    ops->counts(t.peer.device, &n);
    assert_int_equal(n.peer_reads, 0);
    assert_int_equal(ops->record(t.peer.event, t.own.stream[0], NULL), -EINVAL);
    close_two(&t);
}

enum { TIMES = 300 };

/* The peer's own work, and more and less memory. */
static void *works_there(void *arg)
{
    struct two *t = arg;
    for (int i = 0; i < TIMES; i++) {
        uint32_t *more = alloc(&t->peer, PEER_BYTES);
        add_one(&t->peer, t->in, more, 0, 0);
        fetch(&t->peer, t->host, more, PEER_BYTES);
        ops->release(t->peer.device, more, PEER_BYTES);
    }
    return NULL;
}

/* A piece is shut when the last is done with it, of all who have it open. */
static void both_are_at_work_side_by_side(void **state)
{
    (void)state;
    for (int pace = 0; pace < OG__PACES; pace++) {
        struct two t;
        pthread_t other;
        uint32_t got[64];
        become(OG__FORWARDS, (enum og__pace)pace, 3);
        open_two(&t);
        push(&t.peer, t.in, t.host, PEER_BYTES);
        assert_int_equal(ops->reach(t.own.device, t.peer.device, NULL), 0);
        assert_int_equal(ops->reach(t.peer.device, t.own.device, NULL), 0);
        assert_int_equal(pthread_create(&other, NULL, works_there, &t), 0);
        for (int i = 0; i < TIMES; i++) {
            add_one(&t.own, t.in, t.out, PEER_BYTES, 0);
            fetch(&t.own, got, t.out, sizeof(got));
            for (uint32_t k = 0; k < 64; k++)
                assert_int_equal(got[k], k + 1);
        }
        pthread_join(other, NULL);
        assert_int_equal(signal_of(looks, (char *)t.in), SIGSEGV);
        close_two(&t);
    }
}

/* ==== memory ==== */

static void its_memory_is_shut_and_bounded(void **state)
{
    (void)state;
    struct fixture f;
    struct og_virtual v = og__virtual_usual;
    struct og_err err = {0};
    struct og_device_counts n;
    float none;
    v.capacity = 1 << 20;
    og__virtual_become(&v);
    open_fixture(&f);
    char *p = alloc(&f, 4096);
    assert_int_equal(signal_of(looks, p), SIGSEGV);
    assert_int_equal(signal_of(writes, p), SIGSEGV);
    fetch(&f, &none, p, sizeof(none));
    assert_true(isnan(none)); /* nobody wrote there */
    assert_null(ops->alloc(f.device, 1 << 20, &err));
    assert_int_equal(err.code, -ENOMEM);
    assert_non_null(strstr(err.message, "1.00 MiB"));
    ops->counts(f.device, &n);
    assert_int_equal(n.used, 4096);
    assert_int_equal(n.bytes_to_host, sizeof(none));
    assert_true(fabs(n.link_seconds - (v.latency + sizeof(none) / v.bytes_per_second)) < 1e-12);
    ops->release(f.device, p, 4096);
    p = alloc(&f, 1 << 20);
    ops->release(f.device, p, 1 << 20);
    close_fixture(&f);
    v = og__virtual_usual;
    v.glass = true;
    og__virtual_become(&v);
    open_fixture(&f);
    p = alloc(&f, 4096);
    assert_int_equal(signal_of(looks, p), 0);
    ops->release(f.device, p, 4096);
    close_fixture(&f);
}

static void run_deep(char *unused)
{
    struct fixture f;
    (void)unused;
    open_fixture(&f);
    uint32_t *there = alloc(&f, OG_THREADS * sizeof(*there));
    const struct adding args = {66, there, there};
    const struct og_launch l = {&k_deep_, 1, OG_THREADS, &args, sizeof(args), 0, 0, 0};
    (void)ops->launch(f.stream[0], &l, NULL);
}

/* A thread that needs more of a stack than there is does not write over its neighbour's. */
static void a_stack_ends_at_a_page_of_nobody(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) /* which ends the process itself */
    skip();
#endif
    become(OG__FORWARDS, OG__EAGER, 0);
    assert_int_equal(signal_of(run_deep, NULL), SIGSEGV);
}

/* Where it has no more room for streams and pieces, that is what it says. */
static void its_tables_end_with_a_word(void **state)
{
    (void)state;
    struct og_device *d;
    struct og_stream *stream[64] = {0};
    void *piece[256] = {0};
    struct og_err err = {0};
    int n = 0;
    og__virtual_become(&og__virtual_usual);
    assert_int_equal(ops->open(&d, 0, NULL), 0);
    while (n < 64 && ops->stream(d, &stream[n], &err) == 0)
        n++;
    assert_int_equal(err.code, -ENOMEM);
    assert_non_null(strstr(err.message, "streams, as many as it can"));
    while (n > 0)
        ops->end_stream(stream[--n]);
    err = (struct og_err){0};
    while (n < 256 && (piece[n] = ops->alloc(d, 1, &err)))
        n++;
    assert_int_equal(err.code, -ENOMEM);
    assert_non_null(strstr(err.message, "pieces of memory, as many as it can"));
    while (n > 0)
        ops->release(d, piece[--n], 1);
    ops->close(d);
}

/* Kernels number what they do in 32 bits. */
static void more_than_32_bits_count_are_refused(void **state)
{
    (void)state;
    struct og_nn_backend *be = NULL;
    struct og_err err = {0};
    uint32_t nothing;
    const struct og_k_count_up args = {0, &nothing};
    become(OG__FORWARDS, OG__LAZY, 0); /* queued work is never done */
    assert_int_equal(og__ops_virtual.open(&be, 0, NULL, NULL, NULL), 0);
    assert_int_equal(OG__EACH_ITEM(be, og__k_count_up, UINT64_C(1) << 32, &args, &err), -EOVERFLOW);
    assert_non_null(strstr(err.message, "4294967296"));
    assert_int_equal(OG__EACH_WARP(be, og__k_count_up, UINT64_C(1) << 32, &args, NULL), -EOVERFLOW);
    assert_int_equal(OG__EACH_ITEM(be, og__k_count_up, 1, &args, NULL), 0);
    og__device_close(be);
}

/* ==== what a vendor's libraries do ==== */

static float number(size_t i)
{
    return (float)((i * 2654435761u >> 7) % 201) / 100 - 1;
}

static double element(const float *x, size_t ld, bool transposed, size_t row, size_t column)
{
    return (double)(transposed ? x[column * ld + row] : x[row * ld + column]);
}

static void products_are_what_they_should_be(void **state)
{
    (void)state;
    enum { M = 7, COLS = 5, K = 40, LD = 41, SIZE = LD * LD };
    static float x[4 * SIZE];
    for (int which = 0; which < 16; which++) {
        const bool at = which & 1, bt = which & 2, add = which & 4, bias = which & 8;
        for (size_t i = 0; i < OG_COUNT(x); i++)
            x[i] = number(i + (size_t)which);
        float before[M * LD];
        memcpy(before, x + 2 * SIZE, sizeof(before));
        const struct og_product_of p = {.m = M,
                                        .n = COLS,
                                        .k = K,
                                        .a = x,
                                        .b = x + SIZE,
                                        .lda = LD,
                                        .ldb = LD,
                                        .ldc = LD,
                                        .a_transposed = at,
                                        .b_transposed = bt,
                                        .add = add,
                                        .bias = bias ? x + 3 * SIZE : NULL,
                                        .c = x + 2 * SIZE};
        assert_int_equal(og__virtual_multiply(&p, NULL), 0);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < LD; j++) {
                double want = j >= COLS || add ? (double)before[i * LD + j] : 0;
                want += j < COLS && bias ? (double)x[3 * SIZE + j] : 0;
                for (size_t k = 0; j < COLS && k < K; k++)
                    want += element(p.a, LD, at, i, k) * element(p.b, LD, bt, k, j);
                assert_true(fabs((double)p.c[i * LD + j] - want) < 1e-5);
            }
    }
}

static void sorts_keep_the_order_of_equals(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static uint32_t key[COUNT], value[COUNT], sorted[COUNT], moved[COUNT];
    static uint32_t room[65536 + 2 * COUNT];
    for (int wide = 0; wide < 2; wide++) {
        const uint32_t bound = wide ? 1u << 30 : 50;
        for (uint32_t i = 0; i < COUNT; i++) {
            key[i] = wide ? (i % 700) * 1500007u : i * 2654435761u % bound;
            value[i] = i;
        }
        const struct og_sort op = {COUNT, key, value, sorted, moved, bound, room};
        og__virtual_sort(&op);
        uint64_t seen = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(sorted[i], key[moved[i]]);
            if (i > 0)
                assert_true(sorted[i - 1] < sorted[i] ||
                            (sorted[i - 1] == sorted[i] && moved[i - 1] < moved[i]));
            seen += moved[i];
        }
        assert_int_equal(seen, (uint64_t)COUNT * (COUNT - 1) / 2);
    }
}

/* ==== failures ==== */

static void every_call_fails_when_it_is_to(void **state)
{
    (void)state;
    struct og_virtual v = og__virtual_usual;
    for (v.fail = 1; v.fail <= 3; v.fail++) {
        struct og_device *d = NULL;
        struct og_stream *s = NULL;
        struct og_err err = {0};
        og__virtual_become(&v);
        int rc = ops->open(&d, 0, &err);
        rc = rc < 0 ? rc : ops->stream(d, &s, &err);
        rc = rc < 0 ? rc : ops->finish(s, &err);
        assert_int_equal(rc, -EIO);
        assert_non_null(strstr(err.message, "was to fail"));
        assert_int_equal(og__virtual_calls(), v.fail);
        ops->end_stream(s);
        ops->close(d);
    }
    og__virtual_become(&og__virtual_usual);
}

/* Why the plugin that OUTGROW_CUDA names is not taken. */
static struct og_err plugin_named(const char *path)
{
    const struct og_device_ops *cuda = NULL;
    struct og_err err = {0};
    assert_int_equal(setenv("OUTGROW_CUDA", path, 1), 0);
    assert_int_equal(og__device_cuda(og__kernels_print(), &cuda, &err), -ENOTSUP);
    assert_int_equal(unsetenv("OUTGROW_CUDA"), 0);
    return err;
}

static void plugins_of_other_builds_are_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(plugin_named(STALE_PLUGIN).message, "of another version"));
    assert_non_null(strstr(plugin_named(BARE_PLUGIN).message, "of another version"));
    assert_non_null(strstr(plugin_named("libm.so.6").message, "is no plugin of outgrow"));
}

/* An empty name is none: then it is looked for where it is installed. */
static void an_empty_name_is_none(void **state)
{
    (void)state;
    const struct og_device_ops *cuda = NULL;
    struct og_err unset = {0}, empty = {0};
    assert_int_equal(unsetenv("OUTGROW_CUDA"), 0);
    const int rc = og__device_cuda(og__kernels_print(), &cuda, &unset);
    assert_int_equal(setenv("OUTGROW_CUDA", "", 1), 0);
    assert_int_equal(og__device_cuda(og__kernels_print(), &cuda, &empty), rc);
    assert_int_equal(unsetenv("OUTGROW_CUDA"), 0);
    assert_string_equal(empty.message, unset.message);
}

/* A kernel that is called otherwise, is given more, or comes at another place. */
static void fingerprints_tell_kernels_apart(void **state)
{
    (void)state;
    const uint64_t none = og__device_print(), one = og__print(none, "a", 8);
    assert_true(one != none);
    assert_true(og__print(none, "b", 8) != one);
    assert_true(og__print(none, "a", 16) != one);
    assert_true(og__print(one, "b", 8) != og__print(og__print(none, "b", 8), "a", 8));
    assert_true(og__kernels_print() != none);
}

/* An event whose recording could not be queued is as it was before. */
static bool no_memory;
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return no_memory ? NULL : __real_malloc(bytes);
}

static void what_was_not_recorded_has_happened(void **state)
{
    (void)state;
    for (int pace = 0; pace < OG__PACES; pace++) {
        struct fixture f;
        become(OG__FORWARDS, (enum og__pace)pace, 0);
        open_fixture(&f);
        no_memory = true;
        const int rc = ops->record(f.event, f.stream[0], NULL);
        no_memory = false;
        assert_int_equal(rc, -ENOMEM);
        assert_int_equal(ops->follow(f.stream[1], f.event, NULL), 0);
        assert_int_equal(ops->finish(f.stream[1], NULL), 0);
        assert_int_equal(ops->wait(f.event, NULL), 0);
        close_fixture(&f);
    }
}

static void cuda_is_there_or_says_what_is_missing(void **state)
{
    (void)state;
    const struct og_device_ops *cuda = NULL;
    struct og_err err = {0};
    if (og__device_cuda(og__kernels_print(), &cuda, &err) == 0) {
        assert_string_equal(cuda->name, "cuda");
        return;
    }
    assert_int_equal(err.code, -ENOTSUP);
    assert_non_null(strstr(err.message, "device cuda: "));
    assert_null(strchr(err.message, '\n'));
    assert_non_null(strstr(err.hint, "--device cpu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_meeting_shows),
        cmocka_unit_test(warps_add_up_in_one_order),
        cmocka_unit_test(a_missing_event_shows),
        cmocka_unit_test(copies_take_the_host_s_memory_as_it_is_then),
        cmocka_unit_test(an_event_that_is_missing_between_devices_shows),
        cmocka_unit_test(a_peer_s_memory_is_shut_unless_it_is_reached),
        cmocka_unit_test(both_are_at_work_side_by_side),
        cmocka_unit_test(its_memory_is_shut_and_bounded),
        cmocka_unit_test(a_stack_ends_at_a_page_of_nobody),
        cmocka_unit_test(its_tables_end_with_a_word),
        cmocka_unit_test(more_than_32_bits_count_are_refused),
        cmocka_unit_test(products_are_what_they_should_be),
        cmocka_unit_test(sorts_keep_the_order_of_equals),
        cmocka_unit_test(every_call_fails_when_it_is_to),
        cmocka_unit_test(what_was_not_recorded_has_happened),
        cmocka_unit_test(plugins_of_other_builds_are_refused),
        cmocka_unit_test(an_empty_name_is_none),
        cmocka_unit_test(fingerprints_tell_kernels_apart),
        cmocka_unit_test(cuda_is_there_or_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
