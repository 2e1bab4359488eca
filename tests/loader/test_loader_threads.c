/* loader: threads that call it side by side, other processes, signals. */
#include "loader/loader_calls.h"

#include "loader/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- threads, processes, signals ---- */

/* Takes batches until it has had enough. `calls`: it is about to enter og_loader_next, or inside.
 */
struct taker {
    pthread_t thread;
    struct og_loader *l;
    const atomic_bool *enough;
    atomic_bool calls;
    int rc;
};

static void *take_batches(void *arg)
{
    struct taker *t = arg;
    const struct og_minibatch *b = NULL;
    while (t->rc == 0) {
        atomic_store(&t->calls, true);
        if (atomic_load(t->enough))
            break;
        t->rc = og_loader_next(t->l, 30, &b, NULL);
        og_minibatch_release(b);
        atomic_store(&t->calls, false);
        if (!b)
            usleep(100);
    }
    atomic_store(&t->calls, false);
    return NULL;
}

/* None enters any more, and those that were about to are inside. */
static bool all_are_inside(struct og_loader *l, struct taker *taker, int n)
{
    int calls = 0;
    for (int k = 0; k < n; k++)
        calls += atomic_load(&taker[k].calls);
    pthread_mutex_lock(&l->buffer_pool->lock);
    const bool so = l->n_inside == calls;
    pthread_mutex_unlock(&l->buffer_pool->lock);
    return so;
}

static void closing_wakes_those_that_wait(void **state)
{
    (void)state;
    enum { TAKERS = 2 };
    for (int i = 0; i < 20; i++) {
        struct og_options opt;
        struct taker taker[TAKERS] = {0};
        atomic_bool enough = false;
        struct og_loader *l = open_with(policies[i % 5], &opt, 3);
        start_epoch(l, 1);
        for (int k = 0; k < TAKERS; k++) {
            taker[k].l = l;
            taker[k].enough = &enough;
            assert_int_equal(pthread_create(&taker[k].thread, NULL, take_batches, &taker[k]), 0);
        }
        usleep((useconds_t)(test_scramble((uint32_t)i) % 4000));
        atomic_store(&enough, true);
        while (!all_are_inside(l, taker, TAKERS))
            usleep(10);
        og_loader_close(l);
        for (int k = 0; k < TAKERS; k++) {
            pthread_join(taker[k].thread, NULL);
            assert_true(taker[k].rc == 0 || taker[k].rc == -ECANCELED);
        }
        og__options_release(&opt);
    }
}

/* Calls that begin or end runs wait for one another. One that waits is inside until it is
 * notified. */
struct call {
    struct og_loader *l;
    int kind;
    const char *text;
    int rc;
};

static void *call(void *arg)
{
    struct call *c = arg;
    c->rc = c->kind == 0   ? og_loader_start(c->l, 2, NULL)
            : c->kind == 1 ? og_loader_evaluate(c->l, "valid", NULL)
                           : og_loader_restore(c->l, c->text, NULL);
    return NULL;
}

static void *close_it(void *arg)
{
    og_loader_close(arg);
    return NULL;
}

static void wait_until(struct og_loader *l, int n_inside, bool closing)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&l->buffer_pool->lock);
        const bool so = l->n_inside == n_inside && l->closing == closing;
        pthread_mutex_unlock(&l->buffer_pool->lock);
        if (so)
            return;
        usleep(500);
    }
    fail_msg("%d threads are not inside", n_inside);
}

static void closing_waits_for_those_that_go_elsewhere(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct og_options opt;
        char *text = NULL;
        pthread_t caller, closer;
        struct og_loader *l = open_with(policies[kind], &opt, 1);
        start_epoch(l, 1);
        og_minibatch_release(next_batch(l));
        assert_int_equal(og_loader_state(l, &text, NULL), 0);
        struct call c = {.l = l, .kind = kind, .text = text};
        pthread_mutex_lock(&l->steering); /* as another that goes somewhere */
        assert_int_equal(pthread_create(&caller, NULL, call, &c), 0);
        wait_until(l, 1, false);
        assert_int_equal(pthread_create(&closer, NULL, close_it, l), 0);
        wait_until(l, 1, true);
        pthread_mutex_unlock(&l->steering);
        pthread_join(caller, NULL);
        assert_int_equal(c.rc, -ECANCELED);
        pthread_join(closer, NULL);
        free(text);
        og__options_release(&opt);
    }
}

/* Wherever they are just then. */
static void closing_meets_those_that_go_elsewhere(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        struct og_options opt;
        pthread_t caller;
        struct og_loader *l = open_with(policies[i % 5], &opt, 1);
        start_epoch(l, 1);
        struct call c = {.l = l, .kind = i % 2};
        pthread_mutex_lock(&l->steering);
        assert_int_equal(pthread_create(&caller, NULL, call, &c), 0);
        wait_until(l, 1, false);
        pthread_mutex_unlock(&l->steering);
        usleep((useconds_t)(test_scramble((uint32_t)i) % 1000));
        og_loader_close(l);
        pthread_join(caller, NULL);
        assert_true(c.rc == 0 || c.rc == -ECANCELED);
        og__options_release(&opt);
    }
}

static int refusals_in_child(struct og_loader *l, const struct og_minibatch *b)
{
    struct og_err err = {0};
    const struct og_minibatch *next;
    char *text;
    int ok = og_loader_next(l, -1, &next, &err) == -ECHILD && strstr(err.message, "forked") != NULL;
    ok = ok && og_loader_start(l, 1, NULL) == -ECHILD && og_loader_state(l, &text, NULL) == -ECHILD;
    ok = ok && og_loader_evaluate(l, "valid", NULL) == -ECHILD;
    ok = ok && og_loader_plan(l, &text, NULL) == -ECHILD;
    ok = ok && og_loader_metrics(l, &text, NULL) == -ECHILD;
    ok = ok && og_loader_restore(l, "{}", NULL) == -ECHILD;
    og_minibatch_keep(b);
    og_minibatch_release(b);
    og_minibatch_release(b);
    og_loader_close(l);
    return ok ? 0 : 1;
}

static void a_child_process_is_told_so(void **state)
{
    (void)state;
    struct og_options opt;
    int status = -1;
    struct og_loader *l = open_with("degree", &opt, 1);
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    pid_t child = fork();
    if (child == 0)
        _exit(refusals_in_child(l, b));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    og_minibatch_release(b);
    assert_non_null(b = next_batch(l)); /* here it continues */
    og_minibatch_release(b);
    og_loader_close(l);
    og__options_release(&opt);
}

static void a_flag_stops_it(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    const struct og_observer seen = {.size = sizeof(seen), .stop = &stop};
    struct og_options opt;
    struct og_loader *l = NULL;
    const struct og_minibatch *b;
    set_up(&opt, NULL);
    assert_int_equal(og_loader_open(&l, graph, &opt, NULL, &seen, NULL), 0);
    start_epoch(l, 1);
    og_minibatch_release(next_batch(l));
    test_ask_stop(&stop);
    assert_int_equal(og_loader_next(l, -1, &b, NULL), OG_INTERRUPTED);
    stop = 0;
    b = next_batch(l);
    assert_int_equal(b->batch, 1); /* none is lost */
    og_minibatch_release(b);
    og_loader_close(l);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_wakes_those_that_wait),
        cmocka_unit_test(closing_waits_for_those_that_go_elsewhere),
        cmocka_unit_test(closing_meets_those_that_go_elsewhere),
        cmocka_unit_test(a_child_process_is_told_so),
        cmocka_unit_test(a_flag_stops_it),
    };
    return cmocka_run_group_tests(tests, make_one_graph, remove_folder);
}
