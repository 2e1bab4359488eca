/* loader: holding batches, going elsewhere, places, threads, other processes, refusals. */
#include "loader_fixture.h"

#include "loader/loader.h"
#include "support/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static char graph[128];

static int make_one_graph(void **state)
{
    int rc = make_folder(state);
    make_graph(graph, "graph", OF_CLASSES, OG_F32);
    return rc;
}

static const char *const policies[] = {"degree", "lru", "belady", "sweep", "hybrid"};

static struct og_loader *open_with(const char *policy, struct og_options *opt, int hold)
{
    const char *const pairs[] = {"policy", policy, "cache", "10%", "superbatch", "7", NULL};
    struct og_loader_options from;
    set_up(opt, pairs);
    og_loader_options_init(&from);
    from.hold = hold;
    return open_loader(graph, opt, &from);
}

/* The trace of a run like that, of two epochs. */
static void expect_with(struct expected *e)
{
    static const char *const pairs[] = {"policy", "none", NULL};
    struct og_options opt;
    set_up(&opt, pairs);
    expect(e, graph, &opt);
    og_options_release(&opt);
}

static void go(struct og_loader *l, const struct expected *e, int epoch, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct og_minibatch *b = next_batch(l);
        assert_non_null(b);
        assert_int_equal(b->epoch, epoch);
        assert_int_equal(b->batch, first + i);
        assert_same_batch(b, e, (epoch - 1) * og_loader_batches(l, NULL) + first + i);
        og_minibatch_release(b);
    }
}

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
        og_options_release(&opt);
    }
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
    assert_null(next_batch(l)); /* the end is told again */
    og_loader_close(l);
    forget(&e);
    og_options_release(&opt);
    og_options_release(&less);
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
    og_options_release(&opt);
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
    og_options_release(&opt);
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
        og_options_release(&opt);
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
        og_options_release(&opt);
    }
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
    og_options_release(&opt);
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
    og_options_release(&opt);
}

/* ---- batches made beforehand ---- */

/* A folder of draws for epochs 1 .. `epochs`, and a loader on it. */
static struct og_loader *open_on_samples(char dir[128], const char *policy, const char *epochs,
                                         const char *resample, struct og_options *opt)
{
    const char *const pairs[] = {"policy",         policy,   "cache",  "10%",  "superbatch", "7",
                                 "resample-every", resample, "epochs", epochs, NULL};
    struct og_err err = {0};
    set_up(opt, pairs);
    snprintf(dir, 128, "%s/samples", folder);
    if (og_sample(graph, dir, false, opt, NULL, &err) < 0)
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
        og_options_release(&opt);
        og__remove_tree(dir);
    }
    forget(&e);
}

/* Two draws for every second epoch are batches of four epochs, though one was asked for. */
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
    og_options_release(&opt);
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
        og_options_release(&opt);
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
    pthread_mutex_lock(&l->depot->lock);
    const bool ended = l->run.ended;
    pthread_mutex_unlock(&l->depot->lock);
    return ended;
}

/* A batch is held, so that the run waits with the next; what it reads behind that is cut off for a
 * while, and then the caller goes elsewhere. 0: it did not come to that, for the next was cut off
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
        og_options_release(&opt);
    }
    free(r.data);
}

/* ---- places ---- */

static void a_loader_goes_on_where_another_was(void **state)
{
    (void)state;
    struct expected e;
    expect_with(&e);
    for (uint32_t at = 0; at < 10; at++) {
        struct og_options opt;
        char *text = NULL;
        struct og_err err = {0};
        struct og_loader *l = open_with(policies[at % OG_COUNT(policies)], &opt, 1);
        const int64_t batches = og_loader_batches(l, NULL);
        const int epoch = 1 + (int)(at % 2);
        const int64_t first = test_scramble(at + 3) % (uint32_t)(batches + 1);
        start_epoch(l, epoch);
        go(l, &e, epoch, 0, first);
        assert_int_equal(og_loader_state(l, &text, NULL), 0);
        og_loader_close(l);
        og_options_release(&opt);
        l = open_with(policies[(at + 1) % OG_COUNT(policies)], &opt, 1);
        if (og_loader_restore(l, text, &err) < 0)
            fail_msg("%s", err.message);
        go(l, &e, epoch, first, batches - first);
        assert_null(next_batch(l));
        if (epoch == 1)
            assert_epochs(l, &e, 2, 2);
        free(text);
        og_loader_close(l);
        og_options_release(&opt);
    }
    forget(&e);
}

static void place_is(struct og_loader *l, int64_t epoch, int64_t batch)
{
    char *text = NULL;
    assert_int_equal(og_loader_state(l, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "epoch")), epoch);
    assert_int_equal(json_integer_value(json_object_get(root, "batch")), batch);
    json_decref(root);
    free(text);
}

static void a_place_is_told_at_any_time(void **state)
{
    (void)state;
    struct expected e;
    struct og_options opt;
    expect_with(&e);
    struct og_loader *l = open_with("degree", &opt, 1);
    const int64_t batches = og_loader_batches(l, NULL);
    place_is(l, 1, 0);
    start_epoch(l, 1);
    place_is(l, 1, 0);
    go(l, &e, 1, 0, batches);
    place_is(l, 1, batches);
    assert_null(next_batch(l));
    place_is(l, 2, 0);
    assert_int_equal(og_loader_evaluate(l, "valid", NULL), 0);
    og_minibatch_release(next_batch(l));
    place_is(l, 2, 0);
    og_loader_close(l);
    og_options_release(&opt);
    forget(&e);
}

/* The text with what is at `key` replaced; free() it. */
static char *with(const char *text, const char *key, json_t *value)
{
    json_t *root = json_loads(text, 0, NULL);
    if (value)
        json_object_set_new(root, key, value);
    else
        json_object_del(root, key);
    char *out = json_dumps(root, 0);
    json_decref(root);
    return out;
}

static void refuse_place(struct og_loader *l, const char *text, const char *says)
{
    struct og_err err = {0};
    assert_int_equal(og_loader_restore(l, text, &err), -EINVAL);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static void places_of_other_loaders_are_refused(void **state)
{
    (void)state;
    static const char *const pairs[] = {"fanout", "4,2", NULL};
    static const int64_t ids[] = {1, 2, 3};
    struct og_options opt, other;
    struct og_loader_options from;
    char *text = NULL, *mine = NULL;
    set_up(&other, pairs);
    struct og_loader *l = open_with("degree", &opt, 1);
    struct og_loader *o = open_loader(graph, &other, NULL);
    assert_int_equal(og_loader_state(l, &mine, NULL), 0);
    assert_int_equal(og_loader_state(o, &text, NULL), 0);
    refuse_place(l, text, "another --fanout ([4,2], this run has [4,3])");
    og_loader_close(o);
    free(text);
    og_loader_options_init(&from);
    from.seeds = ids;
    from.n_seeds = 3;
    o = open_loader(graph, &opt, &from);
    assert_int_equal(og_loader_state(o, &text, NULL), 0);
    refuse_place(l, text, "other seeds");
    og_loader_close(o);
    free(text);
    test_set(&other, "fanout", "4,3");
    test_set(&other, "resample-every", "2");
    o = open_loader(graph, &other, NULL);
    assert_int_equal(og_loader_state(o, &text, NULL), 0);
    refuse_place(l, text, "another --resample-every (2, this run has 1)");
    refuse_place(o, mine, "another --resample-every (1, this run has 2)");
    assert_int_equal(og_loader_restore(o, text, NULL), 0);
    char *before = with(mine, "resample-every", NULL); /* of before states said it */
    refuse_place(o, before, "another --resample-every (1, this run has 2)");
    assert_int_equal(og_loader_restore(l, before, NULL), 0);
    free(before);
    og_loader_close(o);
    free(text);
    refuse_place(l, "{}", "\"format\"");
    refuse_place(l, "[1, 2", "state of a loader");
    static const char *const keys[] = {"epoch", "batch", "batch"};
    static const int worse[] = {0, -1, 1000000};
    for (size_t i = 0; i < OG_COUNT(keys); i++) {
        text = with(mine, keys[i], json_integer(worse[i]));
        refuse_place(l, text, "no such \"epoch\" and \"batch\"");
        free(text);
    }
    text = with(mine, "dataset_checksum", json_string("0123456789abcdef"));
    refuse_place(l, text, "another dataset");
    free(text);
    text = with(mine, "dataset_checksum", NULL);
    refuse_place(l, text, "it says not of which");
    free(text);
    assert_int_equal(og_loader_restore(l, mine, NULL), 0); /* none of it did any harm */
    free(mine);
    og_loader_close(l);
    og_options_release(&opt);
    og_options_release(&other);
}

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
    pthread_mutex_lock(&l->depot->lock);
    const bool so = l->n_inside == calls;
    pthread_mutex_unlock(&l->depot->lock);
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
        og_options_release(&opt);
    }
}

/* Calls that begin or end runs wait for one another; one that waits is inside until it is told. */
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
        pthread_mutex_lock(&l->depot->lock);
        const bool so = l->n_inside == n_inside && l->closing == closing;
        pthread_mutex_unlock(&l->depot->lock);
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
        og_options_release(&opt);
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
        og_options_release(&opt);
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
    assert_non_null(b = next_batch(l)); /* here it goes on */
    og_minibatch_release(b);
    og_loader_close(l);
    og_options_release(&opt);
}

static void a_flag_stops_it(void **state)
{
    (void)state;
    volatile sig_atomic_t stop = 0;
    const struct og_observer seen = {.stop = &stop};
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
    og_options_release(&opt);
}

/* ---- refusals ---- */

static void refuse(const char *const *pairs, const struct og_loader_options *from,
                   const char *message, const char *hint)
{
    struct og_options opt;
    struct og_err err = {0};
    struct og_loader *l = NULL;
    set_up(&opt, pairs);
    assert_true(og_loader_open(&l, graph, &opt, from, NULL, &err) < 0);
    assert_null(l);
    if (!strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("'%s', '%s' do not say '%s', '%s'", err.message, err.hint, message, hint);
    og_options_release(&opt);
}

static void bad_input_is_told_in_one_line(void **state)
{
    (void)state;
    static const char *const small[] = {"memory", "14M", NULL};
    static const char *const none[] = {"epochs", "0", NULL};
    static const char *const link[] = {"task", "link", NULL};
    static const int64_t far[] = {5, N_NODES}, twice[] = {3, 7, 3};
    struct og_loader_options from;
    og_loader_options_init(&from);
    refuse(small, NULL, "too little", "the smallest that would do is --memory");
    refuse(none, NULL, "no batches", "--epochs 1");
    from.split = "training";
    refuse(NULL, &from, "training: there is no such split", "train, valid and test");
    from.split = NULL;
    from.hold = -1;
    refuse(NULL, &from, "hold: -1", "");
    from.hold = 1;
    from.seeds = far;
    from.n_seeds = 2;
    refuse(NULL, &from, "seeds: row 1: node 3000, the graph has 3000 nodes", "");
    from.seeds = twice;
    from.n_seeds = 3;
    refuse(NULL, &from, "seeds: row 2: node 3 is listed twice", "numpy.unique");
    refuse(link, &from, "seeds of the caller's own are nodes", "");
    from.n_seeds = 0;
    refuse(NULL, &from, "seeds: there are none", "");
    struct og_options opt;
    struct og_err err = {0};
    struct og_loader *l = open_with("degree", &opt, 1);
    const struct og_minibatch *b;
    assert_int_equal(og_loader_start(l, 0, &err), -EINVAL);
    assert_int_equal(og_loader_evaluate(l, "seeds", NULL), -EINVAL);
    assert_int_equal(og_loader_evaluate(l, NULL, NULL), -EINVAL);
    assert_int_equal(og_loader_batches(l, "nothing"), -1);
    assert_int_equal(og_loader_next(l, -1, &b, NULL), 0); /* none was begun */
    assert_null(b);
    og_loader_close(l);
    og_options_release(&opt);
    og_loader_close(NULL);
    og_minibatch_release(NULL);
}

/* The smallest that it names is enough; each batch more that is held takes more. */
static void the_smallest_memory_that_is_named_will_do(void **state)
{
    (void)state;
    static const char words[] = "the smallest that would do is --memory ";
    static const char *const little[] = {"memory", "14M", "batch", "300", "fanout", "10,10", NULL};
    long before = 0;
    for (int hold = 0; hold < 30; hold += 14) {
        struct og_options opt;
        struct og_err err = {0};
        struct og_loader_options from;
        struct og_loader *l = NULL;
        char enough[24];
        set_up(&opt, little);
        og_loader_options_init(&from);
        from.hold = hold;
        assert_int_equal(og_loader_open(&l, graph, &opt, &from, NULL, &err), -ENOMEM);
        const char *named = strstr(err.hint, words);
        assert_non_null(named);
        const long least = strtol(named + strlen(words), NULL, 10);
        assert_true(least > before);
        before = least;
        snprintf(enough, sizeof(enough), "%ldM", least);
        test_set(&opt, "memory", enough);
        l = open_loader(graph, &opt, &from);
        start_epoch(l, 1);
        for (const struct og_minibatch *b; (b = next_batch(l));)
            og_minibatch_release(b);
        og_loader_close(l);
        og_options_release(&opt);
    }
}

/* With all neighbours too it decides which edges edge_index has. */
static void a_draw_has_an_effect_on_what_is_handed_over(void **state)
{
    (void)state;
    static const char *const fanouts[] = {"-1,-1", "4,-1", "4"};
    for (size_t i = 0; i < OG_COUNT(fanouts); i++) {
        const char *const pairs[] = {"draw", "once", "fanout", fanouts[i], NULL};
        struct test_said said = {0};
        const struct og_observer seen = {.arg = &said, .message = test_note_message};
        struct og_loader *l = NULL;
        struct og_options opt;
        set_up(&opt, pairs);
        assert_int_equal(og_loader_open(&l, graph, &opt, NULL, &seen, NULL), 0);
        const bool idle = strstr(said.text, "--draw has no effect") != NULL;
        assert_int_equal(idle, opt.n_fanout == 1);
        og_loader_close(l);
        og_options_release(&opt);
    }
}

static void features_may_be_left_out(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_loader_options from;
    set_up(&opt, NULL);
    og_loader_options_init(&from);
    from.no_features = true;
    struct og_loader *l = open_loader(graph, &opt, &from);
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    assert_null(b->x.data);
    assert_non_null(b->ids.data);
    assert_non_null(b->y.data);
    assert_int_equal(b->hits + b->misses, 0);
    og_minibatch_release(b);
    og_loader_close(l);
    og_options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_abandoned_epoch_leaves_nothing_behind),
        cmocka_unit_test(epochs_beyond_those_that_were_planned_go_on),
        cmocka_unit_test(counters_are_those_of_the_batches),
        cmocka_unit_test(an_epoch_has_one_row_of_counters),
        cmocka_unit_test(who_holds_too_many_is_told_how_many),
        cmocka_unit_test(there_is_room_for_what_is_kept_and_one_batch),
        cmocka_unit_test(what_the_caller_writes_changes_no_other_batch),
        cmocka_unit_test(batches_go_through_many_hands),
        cmocka_unit_test(epochs_without_batches_are_refused),
        cmocka_unit_test(epochs_that_draw_nothing_have_the_batches_of_another),
        cmocka_unit_test(the_end_of_the_last_epoch_is_a_place),
        cmocka_unit_test(a_run_that_failed_while_it_was_ended_has_failed),
        cmocka_unit_test(a_loader_goes_on_where_another_was),
        cmocka_unit_test(a_place_is_told_at_any_time),
        cmocka_unit_test(places_of_other_loaders_are_refused),
        cmocka_unit_test(closing_wakes_those_that_wait),
        cmocka_unit_test(closing_waits_for_those_that_go_elsewhere),
        cmocka_unit_test(closing_meets_those_that_go_elsewhere),
        cmocka_unit_test(a_child_process_is_told_so),
        cmocka_unit_test(a_flag_stops_it),
        cmocka_unit_test(bad_input_is_told_in_one_line),
        cmocka_unit_test(the_smallest_memory_that_is_named_will_do),
        cmocka_unit_test(a_draw_has_an_effect_on_what_is_handed_over),
        cmocka_unit_test(features_may_be_left_out),
    };
    return cmocka_run_group_tests(tests, make_one_graph, remove_folder);
}
