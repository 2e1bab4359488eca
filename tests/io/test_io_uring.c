/* io_uring's rarer answers: reads put off, reads that come short, a kernel that grants no modern
 * flag. The engine is compiled into this program with the kernel's answers tampered with; the data
 * come from the real one. */
#include "io/io_fixture.h"

#include <liburing.h>
#include <pthread.h>

static struct {
    int put_off;       /* so many completions become -EAGAIN, then -EINTR, alternately */
    int cut;           /* so many are cut to a third, in whole blocks */
    int always;        /* every completion becomes this */
    unsigned refused;  /* setup flags that this "kernel" does not know */
    int enter_refused; /* so many calls say -EAGAIN or -EINTR without doing anything */
    int enter_fails;   /* this call says -EBADF, once; 0 = none */
    pid_t number;      /* every thread has it; 0 = each its own */
} kernel;

static int32_t tamper(int32_t res)
{
    if (kernel.always)
        return kernel.always;
    if (res <= 0)
        return res;
    if (kernel.put_off > 0)
        return kernel.put_off-- % 2 ? -EAGAIN : -EINTR;
    bool cut = res > 512 && kernel.cut-- > 0;
    return cut ? OG_MAX(res / 3 & ~511, 512) : res;
}

static int tampered_submit_and_wait(struct io_uring *ring, unsigned wait)
{
    unsigned head;
    struct io_uring_cqe *cqe;
    if (kernel.enter_refused > 0)
        return kernel.enter_refused-- % 2 ? -EAGAIN : -EINTR;
    if (kernel.enter_fails > 0 && --kernel.enter_fails == 0)
        return -EBADF;
    unsigned ready = io_uring_cq_ready(ring);
    int rc = io_uring_submit_and_wait(ring, wait);
    unsigned i = 0;
    io_uring_for_each_cqe(ring, head, cqe)
    {
        if (i++ >= ready)
            cqe->res = tamper(cqe->res);
    }
    return rc;
}

static int tampered_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    return flags & kernel.refused ? -EINVAL : io_uring_queue_init(entries, ring, flags);
}

static pid_t tampered_gettid(void)
{
    return kernel.number ? kernel.number : gettid();
}

#define gettid                   tampered_gettid
#define io_uring_submit_and_wait tampered_submit_and_wait
#define io_uring_queue_init      tampered_queue_init
#include "../src/io/uring.c"

enum { ROWS = 2000, BYTES = 700 };

static int read_all_sets(struct og_err *err)
{
    struct scratch s;
    struct og_reader *r;
    struct og_reader_options opt = {.profile = test_profile};
    opt.profile.iops = 1e6; /* gap 1 kB: many requests */
    scratch_open(&s, (size_t)ROWS * BYTES);
    uint32_t *rows = calloc(ROWS, sizeof(*rows));
    char *out = malloc((size_t)ROWS * BYTES);
    int rc = og__reader_open_on(&r, &og__io_uring, s.path, 0, BYTES, ROWS, &opt, NULL, err);
    for (int set = 0; rc == 0 && set < N_SETS; set++) {
        struct og_read_job job = {.rows = rows, .out = out};
        job.n = pick((enum row_set)set, ROWS, rows);
        memset(out, 0, (size_t)ROWS * BYTES);
        rc = og__reader_submit(r, &job, err);
        rc = rc == 0 ? og__reader_wait(r, &job, err) : rc;
        if (rc == 0)
            check_rows(&s, 0, BYTES, &job);
    }
    og__reader_close(r);
    free(rows);
    free(out);
    scratch_close(&s);
    return rc;
}

static int ordinary(void **state)
{
    (void)state;
    kernel.put_off = kernel.cut = kernel.always = kernel.enter_refused = kernel.enter_fails = 0;
    kernel.refused = 0;
    kernel.number = 0;
    return 0;
}

static void must_read_all(void)
{
    struct og_err err = {0};
    if (read_all_sets(&err) < 0)
        fail_msg("%s", err.message);
}

static void reads_put_off_are_asked_again(void **state)
{
    (void)state;
    kernel.put_off = 500;
    must_read_all();
    assert_int_equal(kernel.put_off, 0);
}

static void short_reads_are_completed(void **state)
{
    (void)state;
    kernel.cut = 300;
    must_read_all();
    assert_true(kernel.cut <= 0);
}

static void a_busy_ring_is_asked_again(void **state)
{
    (void)state;
    kernel.enter_refused = 20;
    must_read_all();
    assert_int_equal(kernel.enter_refused, 0);
}

static void errors_are_told(void **state)
{
    (void)state;
    struct og_err err = {0};
    kernel.always = -EIO;
    assert_int_equal(read_all_sets(&err), -EIO);
    assert_non_null(strstr(err.message, "Input/output error"));
    err = (struct og_err){0};
    kernel.always = -EAGAIN; /* for ever: an error, not a hang */
    assert_int_equal(read_all_sets(&err), -EAGAIN);
}

/* Whichever call fails, once: what had come by then is not waited for again. */
static void a_call_that_fails_loses_no_read(void **state)
{
    (void)state;
    for (int call = 1; call < 60; call++) {
        struct og_err err = {0};
        kernel.enter_fails = call;
        kernel.put_off = 200; /* so that one wait is several calls */
        alarm(20);
        int rc = read_all_sets(&err);
        alarm(0);
        assert_true(rc == 0 || (rc == -EBADF && kernel.enter_fails == 0));
    }
}

struct reading {
    struct scratch s;
    struct og_reader *r;
};

static void *read_one(void *arg)
{
    struct reading *k = arg;
    char out[BYTES];
    struct og_err err = {0};
    struct og_read_job job = {.rows = &(uint32_t){7}, .n = 1, .out = out};
    int rc = og__reader_submit(k->r, &job, &err);
    rc = rc == 0 ? og__reader_wait(k->r, &job, &err) : rc;
    if (rc == 0 && memcmp(out, k->s.bytes + (size_t)7 * BYTES, BYTES) != 0)
        rc = -EILSEQ;
    return (void *)(intptr_t)rc;
}

/* The kernel gives numbers of threads away again once they have ended. */
static void a_thread_may_have_the_number_of_one_before(void **state)
{
    (void)state;
    struct reading k;
    struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&k.s, (size_t)ROWS * BYTES);
    kernel.number = 4711;
    assert_int_equal(
        og__reader_open_on(&k.r, &og__io_uring, k.s.path, 0, BYTES, ROWS, &opt, NULL, NULL), 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *rc;
        assert_int_equal(pthread_create(&thread, NULL, read_one, &k), 0);
        assert_int_equal(pthread_join(thread, &rc), 0);
        assert_int_equal((intptr_t)rc, 0);
        assert_null(read_one(&k));
    }
    og__reader_close(k.r);
    scratch_close(&k.s);
}

static void older_kernels_do(void **state)
{
    (void)state;
    kernel.refused = IORING_SETUP_DEFER_TASKRUN; /* before 6.1 */
    must_read_all();
    kernel.refused |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN; /* before 5.19 */
    must_read_all();
}

int main(void)
{
    const char *reason;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_put_off_are_asked_again, ordinary),
        cmocka_unit_test_setup(short_reads_are_completed, ordinary),
        cmocka_unit_test_setup(a_busy_ring_is_asked_again, ordinary),
        cmocka_unit_test_setup(errors_are_told, ordinary),
        cmocka_unit_test_setup(a_call_that_fails_loses_no_read, ordinary),
        cmocka_unit_test_setup(a_thread_may_have_the_number_of_one_before, ordinary),
        cmocka_unit_test_setup(older_kernels_do, ordinary),
    };
    if (!og__io_uring.available(&reason))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
