/* loader: epochs, retained batches, changes of position, pre-sampled batches, failures. */
#include "loader/loader_calls.h"

#include "loader/loader.h"
#include "support/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* ---- epochs ---- */

static void an_abandoned_epoch_leaves_nothing_behind(void **state)
{
    (void)state;
    struct expected e;
    expect_with(&e);
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        struct og_options opt;
        struct og_loader *l = open_with(policies[p], &opt, 1);
        for (int i = 0; i < 6; i++) {
            start_epoch(l, 1 + i % 2);
            go(l, &e, 1 + i % 2, 0, i);
        }
        assert_epochs(l, &e, 1, 2);
        assert_epochs(l, &e, 1, 2); /* again, from the beginning */
        og_loader_close(l);
        og__options_release(&opt);
    }
    forget(&e);
}

/* So what an abandoned one leaves in a cache is the host's alone. */
static void no_device_has_rows_of_a_loader(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        "policy",  "lru",           "cache", "10%",           "superbatch", "7", "device",
        "virtual", "device-memory", "64M",   "device-policy", "lru",        NULL};
    struct expected e;
    struct og_options opt;
    struct og_loader_options from;
    expect_with(&e);
    set_up(&opt, pairs);
    og_loader_options_init(&from);
    struct og_loader *l = open_loader(graph, &opt, &from);
    char *text = NULL;
    assert_int_equal(og_loader_plan(l, &text, NULL), 0);
    json_t *plan = json_loads(text, 0, NULL);
    assert_true(json_integer_value(json_object_get(plan, "cache_rows")) > 0);
    assert_true(json_is_null(json_object_get(plan, "device")));
    json_decref(plan);
    free(text);
    for (int i = 0; i < 4; i++) {
        start_epoch(l, 1 + i % 2);
        go(l, &e, 1 + i % 2, 0, i);
    }
    assert_epochs(l, &e, 1, 2);
    og_loader_close(l);
    og__options_release(&opt);
    forget(&e);
}

static void epochs_beyond_those_that_were_planned_go_on(void **state)
{
    (void)state;
    static const char *const pairs[] = {"policy", "belady", "epochs", "5", NULL};
    struct og_options opt, less;
    struct expected e;
    set_up(&opt, pairs);
    expect(&e, graph, &opt);
    struct og_loader *l = open_with("belady", &less, 1);
    assert_epochs(l, &e, 1, 5);
    assert_null(next_batch(l)); /* the end is reported again */
    og_loader_close(l);
    forget(&e);
    og__options_release(&opt);
    og__options_release(&less);
}

static void counters_are_those_of_the_batches(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_loader *l = open_with("lru", &opt, 1);
    uint64_t hits[2] = {0}, misses[2] = {0};
    for (int epoch = 1; epoch <= 2; epoch++) {
        start_epoch(l, epoch);
        for (const struct og_minibatch *b; (b = next_batch(l));) {
            hits[epoch - 1] += b->hits;
            misses[epoch - 1] += b->misses;
            og_minibatch_release(b);
        }
    }
    char *text = NULL;
    assert_int_equal(og_loader_metrics(l, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    json_t *epochs = json_object_get(root, "epochs");
    assert_int_equal(json_array_size(epochs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(epochs, i);
        assert_int_equal(json_integer_value(json_object_get(row, "epoch")), i + 1);
        assert_int_equal(json_integer_value(json_object_get(row, "batches")),
                         og_loader_batches(l, NULL));
        assert_int_equal(json_integer_value(json_object_get(row, "hits")), hits[i]);
        assert_int_equal(json_integer_value(json_object_get(row, "misses")), misses[i]);
    }
    assert_true(hits[1] > hits[0]); /* the cache stays warm */
    json_decref(root);
    free(text);
    og_loader_close(l);
    og__options_release(&opt);
}

static void an_epoch_has_one_row_of_counters(void **state)
{
    (void)state;
    static const int begun[] = {1, 2, 1, 3, 2, 2}, rows[] = {1, 3, 2};
    struct og_options opt;
    char *text = NULL;
    struct og_loader *l = open_with("degree", &opt, 1);
    for (size_t i = 0; i < OG_COUNT(begun); i++) {
        start_epoch(l, begun[i]);
        for (int k = 0; k < begun[i]; k++)
            og_minibatch_release(next_batch(l));
    }
    assert_int_equal(og_loader_metrics(l, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    json_t *epochs = json_object_get(root, "epochs");
    assert_int_equal(json_array_size(epochs), OG_COUNT(rows));
    for (size_t i = 0; i < OG_COUNT(rows); i++) {
        const json_t *row = json_array_get(epochs, i);
        assert_int_equal(json_integer_value(json_object_get(row, "epoch")), rows[i]);
        assert_int_equal(json_integer_value(json_object_get(row, "batches")), rows[i]);
    }
    json_decref(root);
    free(text);
    og_loader_close(l);
    og__options_release(&opt);
}

/* ---- holding ---- */

static void who_holds_too_many_is_told_how_many(void **state)
{
    (void)state;
    for (int hold = 0; hold < 4; hold++) {
        struct og_options opt;
        struct og_err err = {0};
        char words[32];
        struct og_loader *l = open_with("degree", &opt, hold);
        const struct og_minibatch *held[5], *more;
        start_epoch(l, 1);
        for (int i = 0; i <= hold; i++)
            assert_non_null(held[i] = next_batch(l));
        assert_int_equal(og_loader_next(l, -1, &more, &err), -ENOBUFS);
        snprintf(words, sizeof(words), "hold = %d", hold + 1);
        assert_non_null(strstr(err.hint, words));
        assert_null(more);
        og_minibatch_keep(held[0]);
        og_minibatch_release(held[0]);
        assert_int_equal(og_loader_next(l, -1, &more, NULL), -ENOBUFS);
        og_minibatch_release(held[0]);
        held[0] = next_batch(l);
        assert_int_equal(held[0]->batch, hold + 1);
        og_loader_close(l);
        for (int i = 0; i <= hold; i++) { /* they outlive it */
            assert_in_range(((int64_t *)held[i]->ids.data)[0], 0, N_NODES - 1);
            og_minibatch_release(held[i]);
        }
        og__options_release(&opt);
    }
}

static json_int_t bytes_handed_over(struct og_loader *l)
{
    char *text = NULL;
    assert_int_equal(og_loader_plan(l, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *memory = json_object_get(root, "memory");
    const json_int_t bytes = json_integer_value(json_object_get(memory, "batches handed over"));
    json_decref(root);
    free(text);
    return bytes;
}

static void there_is_room_for_what_is_kept_and_one_batch(void **state)
{
    (void)state;
    json_int_t one = 0;
    for (int hold = 0; hold < 4; hold++) {
        struct og_options opt;
        struct og_loader *l = open_with("degree", &opt, hold);
        const json_int_t bytes = bytes_handed_over(l);
        one = hold == 0 ? bytes : one;
        assert_true(one > 0);
        assert_int_equal(bytes, (hold + 1) * one);
        og_loader_close(l);
        og__options_release(&opt);
    }
}

static void a_superbatch_is_prepared_in_the_memory_of_a_batch(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_loader *l = open_with("belady", &opt, 1);
    const struct og_budget *budget = l->s->budget;
    const size_t one = l->s->workload.bytes.handed;
    const size_t used = og__budget_used(budget);
    assert_true(one > 0 && l->s->memory.handed_released == one);
    for (int times = 0; times < 2; times++) { /* a run may end in between */
        assert_int_equal(og__loader_release(l, NULL), 0);
        assert_int_equal(og__budget_used(budget), used - one);
    }
    assert_int_equal(og__loader_reclaim(l, NULL), 0);
    assert_int_equal(og__budget_used(budget), used);
    start_epoch(l, 1);
    const struct og_minibatch *before = NULL;
    for (const struct og_minibatch *b; (b = next_batch(l)); before = b)
        og_minibatch_release(before);
    og_minibatch_release(before);
    og_loader_close(l);
    og__options_release(&opt);
    l = open_with("degree", &opt, 1); /* which prepares nothing */
    assert_int_equal(l->s->memory.handed_released, 0);
    og_loader_close(l);
    og__options_release(&opt);
}

static void what_the_caller_writes_changes_no_other_batch(void **state)
{
    (void)state;
    struct expected e;
    struct og_options opt;
    expect_with(&e);
    struct og_loader *l = open_with("lru", &opt, 2);
    for (int epoch = 1; epoch <= 2; epoch++) {
        start_epoch(l, epoch);
        const struct og_minibatch *b, *before = NULL;
        for (int64_t i = 0; (b = next_batch(l)); i++) {
            assert_same_batch(b, &e, (epoch - 1) * b->batches + i);
            og_minibatch_release(before);
            memset(b->ids.data, 0xff, (size_t)b->ids.shape[0] * 8);
            memset(b->x.data, 0xff, (size_t)(b->x.shape[0] * b->x.shape[1]) * 4);
            memset(b->edge_index.data, 0xff, (size_t)b->edge_index.shape[1] * 16);
            before = b;
        }
        og_minibatch_release(before);
    }
    og_loader_close(l);
    og__options_release(&opt);
    forget(&e);
}

/* Batches that several threads have at once, and let go in any order. */
enum { THREADS = 4, IN_HAND = 3 };

struct pile {
    pthread_mutex_t lock;
    const struct og_minibatch *batch[THREADS * IN_HAND];
    int n;
    bool done;
};

static const struct og_minibatch *take_any(struct pile *p, uint32_t draw)
{
    const struct og_minibatch *b = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->n > 0) {
        const int i = (int)(draw % (uint32_t)p->n);
        b = p->batch[i];
        p->batch[i] = p->batch[--p->n];
    }
    pthread_mutex_unlock(&p->lock);
    return b;
}

static bool is_done(struct pile *p)
{
    pthread_mutex_lock(&p->lock);
    const bool done = p->done && p->n == 0;
    pthread_mutex_unlock(&p->lock);
    return done;
}

static void *juggle(void *arg)
{
    struct pile *p = arg;
    for (uint32_t i = 1; !is_done(p); i++) {
        const struct og_minibatch *b = take_any(p, test_scramble(i));
        if (!b) {
            usleep(50);
            continue;
        }
        for (uint32_t k = test_scramble(i) % 3; k > 0; k--) {
            og_minibatch_keep(b);
            og_minibatch_release(b);
        }
        assert_true(b->ids.shape[0] >= b->n_seeds);
        og_minibatch_release(b);
    }
    return NULL;
}

static bool put_down(struct pile *p, const struct og_minibatch *b)
{
    pthread_mutex_lock(&p->lock);
    const bool room = p->n < THREADS * IN_HAND;
    if (room)
        p->batch[p->n++] = b;
    pthread_mutex_unlock(&p->lock);
    return room;
}

static void batches_go_through_many_hands(void **state)
{
    (void)state;
    static const char *const pairs[] = {"policy", "degree", "batch", "16", NULL};
    const char *count = getenv("OG_LOADER_BATCHES");
    const int most = count ? (int)strtol(count, NULL, 10) : 2000;
    struct og_options opt;
    struct og_loader_options from;
    struct pile pile = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[THREADS];
    set_up(&opt, pairs);
    og_loader_options_init(&from);
    from.hold = THREADS * IN_HAND;
    struct og_loader *l = open_loader(graph, &opt, &from);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, juggle, &pile), 0);
    int64_t seen = 0, n = 0;
    for (int epoch = 1; n < most; epoch++) {
        start_epoch(l, epoch);
        for (;;) {
            const struct og_minibatch *b = NULL;
            int rc = og_loader_next(l, 5, &b, NULL);
            if (rc == -ENOBUFS) {
                usleep(50);
                continue;
            }
            assert_int_equal(rc, 0);
            if (!b)
                break;
            assert_int_equal(b->batch, n % b->batches);
            n++;
            og_minibatch_keep(b);
            while (!put_down(&pile, b))
                usleep(50);
            seen += b->ids.shape[0];
            og_minibatch_release(b);
        }
    }
    og_loader_close(l);
    pthread_mutex_lock(&pile.lock);
    pile.done = true;
    pthread_mutex_unlock(&pile.lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_true(seen > n);
    og__options_release(&opt);
}

/* ---- pre-sampled batches ---- */

/* A folder of draws for epochs 1 .. `epochs`, and a loader on it. */
static struct og_loader *open_on_samples(char dir[128], const char *policy, const char *epochs,
                                         const char *resample, struct og_options *opt)
{
    const char *const pairs[] = {"policy",         policy,   "cache",  "10%",  "superbatch", "7",
                                 "resample-every", resample, "epochs", epochs, NULL};
    struct og_err err = {0};
    set_up(opt, pairs);
    snprintf(dir, 128, "%s/samples", folder);
    if (og_sample(graph, dir, false, opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    test_set(opt, "samples", dir);
    return open_loader(graph, opt, NULL);
}

static void refuse_epoch(struct og_loader *l, int epoch, const char *says, const char *hint)
{
    struct og_err err = {0};
    assert_int_equal(og_loader_start(l, epoch, &err), -EINVAL);
    if (!strstr(err.message, says) || !strstr(err.hint, hint))
        fail_msg("'%s', '%s' do not say '%s', '%s'", err.message, err.hint, says, hint);
}

/* In the middle of an epoch what was refused does no harm. */
static void epochs_without_batches_are_refused(void **state)
{
    (void)state;
    struct expected e;
    expect_with(&e);
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        char dir[128];
        struct og_options opt;
        struct og_loader *l = open_on_samples(dir, policies[p], "2", "1", &opt);
        refuse_epoch(l, 3, "no batches for epoch 3", "epochs 1 to 2");
        start_epoch(l, 1);
        go(l, &e, 1, 0, 2);
        refuse_epoch(l, 3, "no batches for epoch 3", "epochs 1 to 2");
        go(l, &e, 1, 2, 1);
        assert_epochs(l, &e, 1, 2);
        refuse_epoch(l, 3, "no batches for epoch 3", "epochs 1 to 2");
        assert_null(next_batch(l));
        assert_epochs(l, &e, 2, 2);
        og_loader_close(l);
        og__options_release(&opt);
        og__remove_tree(dir);
    }
    forget(&e);
}

/* Two draws for every second epoch are batches of four epochs, though one was requested. */
static void epochs_that_draw_nothing_have_the_batches_of_another(void **state)
{
    (void)state;
    char dir[128];
    struct og_options opt;
    struct og_loader *l = open_on_samples(dir, "degree", "3", "2", &opt);
    const int64_t batches = og_loader_batches(l, NULL);
    for (int epoch = 1; epoch <= 4; epoch++) {
        start_epoch(l, epoch);
        for (int64_t i = 0; i < batches; i++)
            og_minibatch_release(next_batch(l));
        assert_null(next_batch(l));
    }
    refuse_epoch(l, 5, "no batches for epoch 5", "epochs 1 to 4");
    og_loader_close(l);
    og__options_release(&opt);
    og__remove_tree(dir);
}

static void the_end_of_the_last_epoch_is_a_place(void **state)
{
    (void)state;
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        char dir[128], *text = NULL;
        struct og_options opt;
        struct expected e;
        expect_with(&e);
        struct og_loader *l = open_on_samples(dir, policies[p], "2", "1", &opt);
        start_epoch(l, 2);
        go(l, &e, 2, 0, og_loader_batches(l, NULL));
        assert_int_equal(og_loader_state(l, &text, NULL), 0);
        og_loader_close(l);
        l = open_loader(graph, &opt, NULL);
        assert_int_equal(og_loader_restore(l, text, NULL), 0);
        assert_null(next_batch(l));
        assert_int_equal(og_loader_evaluate(l, "valid", NULL), 0);
        og_minibatch_release(next_batch(l));
        assert_epochs(l, &e, 1, 2);
        free(text);
        og_loader_close(l);
        og__options_release(&opt);
        og__remove_tree(dir);
        forget(&e);
    }
}

/* ---- failures ---- */

struct rows {
    char path[192], *data;
    size_t n;
};

static struct rows rows_of_graph(void)
{
    struct rows r;
    snprintf(r.path, sizeof(r.path), "%s/features.npy", graph);
    assert_int_equal(og__read_text(r.path, 1 << 24, &r.data, &r.n, NULL), 0);
    return r;
}

static void put_back(const struct rows *r)
{
    int fd = open(r->path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, r->data, r->n, 0), r->n);
    close(fd);
}

static bool run_has_ended(struct og_loader *l)
{
    pthread_mutex_lock(&l->buffer_pool->lock);
    const bool ended = l->run.ended;
    pthread_mutex_unlock(&l->buffer_pool->lock);
    return ended;
}

/* A batch is retained, so that the run waits with the next. What it reads after that is cut off for
 * a while, and then the caller goes elsewhere. 0: it did not come to that, for the next was cut off
 * or all had been read. */
static int go_elsewhere_while_it_fails(struct og_loader *l, const struct rows *r, useconds_t when,
                                       struct og_err *err)
{
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    usleep(when);
    assert_int_equal(truncate(r->path, 4096), 0);
    usleep(3000);
    put_back(r);
    const bool ended = run_has_ended(l);
    const int rc = og_loader_start(l, 2, err);
    og_minibatch_release(b);
    return ended ? 0 : rc;
}

/* The file is whole again, yet what the cache holds is not known any more. */
static void a_run_that_failed_while_it_was_ended_has_failed(void **state)
{
    (void)state;
    struct rows r = rows_of_graph();
    for (uint32_t i = 0, failed = 0; !failed; i++) {
        struct og_options opt;
        struct og_err err = {0}, again = {0};
        struct og_loader *l = open_with("none", &opt, 0);
        assert_true(i < 1000);
        const int rc = go_elsewhere_while_it_fails(l, &r, test_scramble(i) % 500, &err);
        failed = rc < 0;
        if (failed) {
            assert_non_null(strstr(err.message, "features.npy"));
            assert_int_equal(og_loader_start(l, 1, &again), rc);
            assert_string_equal(again.message, err.message);
            assert_int_equal(og_loader_evaluate(l, "valid", NULL), rc);
        }
        og_loader_close(l);
        og__options_release(&opt);
    }
    free(r.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_epoch_leaves_nothing_behind),
        cmocka_unit_test(no_device_has_rows_of_a_loader),
        cmocka_unit_test(epochs_beyond_those_that_were_planned_go_on),
        cmocka_unit_test(counters_are_those_of_the_batches),
        cmocka_unit_test(an_epoch_has_one_row_of_counters),
        cmocka_unit_test(who_holds_too_many_is_told_how_many),
        cmocka_unit_test(there_is_room_for_what_is_kept_and_one_batch),
        cmocka_unit_test(a_superbatch_is_prepared_in_the_memory_of_a_batch),
        cmocka_unit_test(what_the_caller_writes_changes_no_other_batch),
        cmocka_unit_test(batches_go_through_many_hands),
        cmocka_unit_test(epochs_without_batches_are_refused),
        cmocka_unit_test(epochs_that_draw_nothing_have_the_batches_of_another),
        cmocka_unit_test(the_end_of_the_last_epoch_is_a_place),
        cmocka_unit_test(a_run_that_failed_while_it_was_ended_has_failed),
    };
    return cmocka_run_group_tests(tests, make_one_graph, remove_folder);
}
