/* loader: its batches are those that `outgrow sample` writes, array by array, whatever brings them
 * there. */
#include "loader/loader_fixture.h"

#include "loader/loader.h"

#include <pthread.h>
#include <unistd.h>
#include <xxhash.h>

static char classes[128], labels[128], values[128], rounded[128], bytes[128];

static int make_graphs(void **state)
{
    int rc = make_folder(state);
    make_graph(classes, "classes", OF_CLASSES, OG_F32);
    make_graph(labels, "labels", OF_LABELS, OG_F16);
    make_graph(values, "values", OF_VALUES, OG_F32);
    make_graph(rounded, "rounded", OF_CLASSES, OG_BF16);
    make_graph(bytes, "bytes", OF_CLASSES, OG_U8);
    return rc;
}

static void compare(const char *graph, const char *const *pairs)
{
    struct og_options opt;
    struct expected e;
    set_up(&opt, pairs);
    expect(&e, graph, &opt);
    struct og_loader *l = open_loader(graph, &opt, NULL);
    assert_int_equal(2 * og_loader_batches(l, NULL), e.n_batches);
    assert_epochs(l, &e, 1, 2);
    og_loader_close(l);
    forget(&e);
    og__options_release(&opt);
}

static const char *const samplers[][2] = {{"sampler", "uniform"},
                                          {"sampler", "weighted"},
                                          {"sampler", "walk"},
                                          {"sampler", "labor"},
                                          {"sampler", "ladies"}};
static const char *const policies[] = {"degree", "lru", "belady"};

static void batches_are_those_of_sample(void **state)
{
    (void)state;
    for (size_t s = 0; s < OG_COUNT(samplers); s++)
        for (size_t p = 0; p < OG_COUNT(policies); p++)
            for (int disk = 0; disk < 2; disk++) {
                const bool ladies = strcmp(samplers[s][1], "ladies") == 0;
                const char *const pairs[] = {"sampler",  samplers[s][1],
                                             "policy",   policies[p],
                                             "topology", disk ? "disk" : "memory",
                                             "cache",    "10%",
                                             "fanout",   ladies ? "100,100" : "4,3",
                                             NULL};
                compare(classes, pairs);
            }
}

/* Then the edges of a batch are there once. */
static void what_is_drawn_once_is_there_once(void **state)
{
    (void)state;
    for (size_t s = 0; s + 1 < OG_COUNT(samplers); s++) /* ladies draws for a hop as a whole */
        for (size_t p = 0; p < OG_COUNT(policies); p++) {
            const char *const pairs[] = {"sampler", samplers[s][1], "policy", policies[p], "draw",
                                         "once",    "fanout",       "4,3,2",  NULL};
            struct og_options opt;
            compare(classes, pairs);
            set_up(&opt, pairs);
            struct og_loader *l = open_loader(classes, &opt, NULL);
            start_epoch(l, 1);
            const struct og_minibatch *b = next_batch(l);
            assert_int_equal(b->edge_index.shape[1], b->hop[2]->n_edges);
            assert_int_equal(b->hop[2]->first_edge, 0);
            og_minibatch_release(b);
            og_loader_close(l);
            og__options_release(&opt);
        }
}

static void layouts_change_nothing(void **state)
{
    (void)state;
    static const char *const ways[][7] = {
        {"policy", "frequency", "layout", "packed", "alternate", "true", NULL},
        {"policy", "belady", "layout", "segmented", NULL},
        {"policy", "hybrid:window=8,update=4", "superbatch", "5", NULL},
        {"policy", "sweep", NULL},
        {"policy", "none", NULL},
        {"policy", "auto", NULL},
        {"policy", "clock", "no-shuffle", "true", NULL},
    };
    for (size_t i = 0; i < OG_COUNT(ways); i++)
        compare(classes, ways[i]);
}

static void targets_and_features_have_the_types_they_are_stored_in(void **state)
{
    (void)state;
    const char *const graphs[] = {classes, labels, values, rounded, bytes};
    static const int x[] = {OG_ELEMENT_F32, OG_ELEMENT_F16, OG_ELEMENT_F32, OG_ELEMENT_BF16,
                            OG_ELEMENT_U8};
    for (size_t i = 0; i < OG_COUNT(graphs); i++) {
        static const char *const pairs[] = {"policy", "degree", "cache", "5%", NULL};
        struct og_options opt;
        compare(graphs[i], pairs);
        set_up(&opt, pairs);
        struct og_loader *l = open_loader(graphs[i], &opt, NULL);
        start_epoch(l, 1);
        const struct og_minibatch *b = next_batch(l);
        const bool wide = graphs[i] == labels || graphs[i] == values;
        assert_shape(&b->x, x[i], 2, b->ids.shape[0], DIM);
        assert_shape(&b->y, wide ? OG_ELEMENT_F32 : OG_ELEMENT_I64, wide ? 2 : 1, b->n_seeds,
                     CLASSES);
        assert_string_equal(b->split, "train");
        og_minibatch_release(b);
        og_loader_close(l);
        og__options_release(&opt);
    }
}

/* ---- in parallel ---- */

static void *go_through(void *arg)
{
    struct og_loader *l = arg;
    for (int epoch = 1; epoch <= 3; epoch++) {
        start_epoch(l, epoch);
        for (const struct og_minibatch *b; (b = next_batch(l));)
            og_minibatch_release(b);
    }
    return NULL;
}

static void a_second_loader_changes_nothing(void **state)
{
    (void)state;
    static const char *const others[] = {"policy", "lru",    "cache", "5%", "seed",
                                         "4711",   "epochs", "3",     NULL};
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        const char *const pairs[] = {"policy", policies[p], "cache", "10%", NULL};
        struct og_options opt, other;
        struct expected e;
        pthread_t thread;
        set_up(&opt, pairs);
        set_up(&other, others);
        expect(&e, classes, &opt);
        struct og_loader *l = open_loader(classes, &opt, NULL);
        struct og_loader *beside = open_loader(classes, &other, NULL);
        assert_int_equal(pthread_create(&thread, NULL, go_through, beside), 0);
        assert_epochs(l, &e, 1, 2);
        pthread_join(thread, NULL);
        og_loader_close(beside);
        og_loader_close(l);
        forget(&e);
        og__options_release(&opt);
        og__options_release(&other);
    }
}

/* ---- seeds ---- */

static void own_seeds_that_are_a_split_make_its_batches(void **state)
{
    (void)state;
    static const char *const pairs[] = {"policy", "degree", "cache", "10%", NULL};
    struct og_options opt;
    struct og_loader_options from;
    struct expected e;
    char path[256];
    struct og_npy a;
    int64_t ids[N_SPLIT];
    set_up(&opt, pairs);
    expect(&e, classes, &opt);
    snprintf(path, sizeof(path), "%s/train.npy", classes);
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    assert_int_equal(og__npy_read_int64(&a, 0, N_SPLIT, ids, NULL), 0);
    og__npy_close(&a);
    og_loader_options_init(&from);
    from.seeds = ids;
    from.n_seeds = N_SPLIT;
    struct og_loader *l = open_loader(classes, &opt, &from);
    memset(ids, -1, sizeof(ids)); /* they were copied */
    assert_epochs(l, &e, 1, 2);
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    assert_string_equal(b->split, "seeds");
    og_minibatch_release(b);
    og_loader_close(l);
    forget(&e);
    og__options_release(&opt);
}

/* Each with its row, its label and its edges, and input_id says which it is. */
static void seeds_that_repeat_are_there_as_often(void **state)
{
    enum { N = 6 };
    static const int64_t ids[N] = {40, 7, 40, 40, 12, 7};
    static const int64_t first[N] = {0, 1, 0, 0, 4, 1};
    static const char *const pairs[] = {"policy", "degree", "no-shuffle", "true", NULL};
    struct og_options opt;
    struct og_loader_options from;
    (void)state;
    set_up(&opt, pairs);
    og_loader_options_init(&from);
    from.seeds = ids;
    from.n_seeds = N;
    struct og_loader *l = open_loader(classes, &opt, &from);
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    assert_int_equal(b->n_seeds, N);
    assert_memory_equal(b->ids.data, ids, sizeof(ids));
    const int64_t *ptr = b->hop[0]->indptr.data;
    const int64_t *src = b->hop[0]->src.data;
    const float *x = b->x.data;
    for (int64_t i = 0; i < N; i++) {
        const int64_t f = first[i];
        assert_int_equal(((const int64_t *)b->input_id.data)[i], i);
        assert_int_equal(ptr[i + 1] - ptr[i], ptr[f + 1] - ptr[f]);
        assert_memory_equal(src + ptr[i], src + ptr[f], (size_t)(ptr[i + 1] - ptr[i]) * 8);
        assert_memory_equal(x + i * DIM, x + f * DIM, DIM * sizeof(*x));
    }
    assert_int_equal(ptr[N], b->hop[0]->n_edges);
    og_minibatch_release(b);
    og_loader_close(l);
    og__options_release(&opt);
}

/* ---- links ---- */

static void batches_of_links_have_their_pairs(void **state)
{
    (void)state;
    static const char *const pairs[] = {"task", "link",           "negatives", "2",      "batch",
                                        "200",  "eval-negatives", "5",         "policy", "degree",
                                        NULL};
    struct og_options opt;
    struct expected e;
    set_up(&opt, pairs);
    expect(&e, classes, &opt);
    struct og_loader *l = open_loader(classes, &opt, NULL);
    assert_epochs(l, &e, 1, 2);
    start_epoch(l, 1);
    const struct og_minibatch *b = next_batch(l);
    assert_int_equal(b->n_positive, 200);
    assert_int_equal(b->n_negative, 400);
    assert_shape(&b->pairs, OG_ELEMENT_I64, 2, 2, 600);
    for (int64_t i = 0; i < 1200; i++)
        assert_in_range(((const int64_t *)b->pairs.data)[i], 0, (uintmax_t)b->n_seeds - 1);
    assert_null(b->y.data);
    og_minibatch_release(b);
    assert_int_equal(og_loader_evaluate(l, "valid", NULL), 0);
    b = next_batch(l);
    assert_int_equal(b->pairs.shape[1], b->n_positive * (2 + 5));
    assert_int_equal(b->n_negative, b->n_positive);
    og_minibatch_release(b);
    og_loader_close(l);
    forget(&e);
    og__options_release(&opt);
}

/* ---- passes ---- */

/* In the order of the split, unshuffled. Returns a checksum of its batches. */
static uint64_t go_over(struct og_loader *l, const char *split)
{
    struct read_back ids = read_back(classes, split);
    uint64_t sum = 0;
    int64_t at = 0;
    assert_int_equal(og_loader_evaluate(l, split, NULL), 0);
    for (const struct og_minibatch *b; (b = next_batch(l));) {
        assert_string_equal(b->split, split);
        assert_int_equal(b->epoch, 0);
        assert_memory_equal(b->ids.data, (const int64_t *)ids.data + at, (size_t)b->n_seeds * 8);
        sum = XXH3_64bits_withSeed(b->ids.data, (size_t)b->ids.shape[0] * 8, sum);
        sum = XXH3_64bits_withSeed(b->x.data, (size_t)b->x.shape[0] * DIM * 4, sum);
        sum = XXH3_64bits_withSeed(b->edge_index.data, (size_t)b->edge_index.shape[1] * 16, sum);
        at += b->n_seeds;
        og_minibatch_release(b); /* and another batch may be in it at once */
    }
    assert_int_equal(at, ids.rows);
    free(ids.data);
    return sum;
}

static void a_pass_has_its_split_in_order(void **state)
{
    (void)state;
    for (size_t p = 0; p < OG_COUNT(policies); p++) {
        const char *const pairs[] = {"policy", policies[p], "cache", "10%", NULL};
        static const char *const splits[] = {"valid", "test", "train"};
        struct og_options opt;
        struct expected e;
        set_up(&opt, pairs);
        expect(&e, classes, &opt);
        struct og_loader *l = open_loader(classes, &opt, NULL);
        for (int round = 0; round < 2; round++) {
            assert_epochs(l, &e, round + 1, round + 1);
            for (size_t s = 0; s < OG_COUNT(splits); s++)
                go_over(l, splits[s]);
        }
        og_loader_close(l);
        forget(&e);
        og__options_release(&opt);
    }
}

static uint64_t pass_without_plan(const char *split)
{
    static const char *const pairs[] = {"policy", "none", NULL};
    struct og_options opt;
    set_up(&opt, pairs);
    struct og_loader *l = open_loader(classes, &opt, NULL);
    const uint64_t sum = go_over(l, split);
    og_loader_close(l);
    og__options_release(&opt);
    return sum;
}

/* Validated after every second epoch and the last, as was said: one run goes through all of it. */
static void go_as_planned(struct og_loader *l, const struct expected *e, uint64_t valid)
{
    for (int epoch = 1; epoch <= 5; epoch++) {
        assert_epochs(l, e, epoch, epoch);
        if (epoch % 2 == 0 || epoch == 5)
            assert_int_equal(go_over(l, "valid"), valid);
        assert_int_equal(l->run.first, 0);
    }
}

/* Not validated, another split, in its middle, after an epoch that none was planned for. */
static void go_otherwise(struct og_loader *l, const struct expected *e, uint64_t valid)
{
    assert_epochs(l, e, 2, 3);
    assert_epochs(l, e, 4, 4);
    go_over(l, "test");
    assert_epochs(l, e, 2, 2);
    assert_int_equal(og_loader_evaluate(l, "valid", NULL), 0);
    og_minibatch_release(next_batch(l));
    assert_int_equal(go_over(l, "valid"), valid);
    assert_epochs(l, e, 3, 3);
    assert_int_equal(go_over(l, "valid"), valid);
    assert_epochs(l, e, 5, 5);
    start_epoch(l, 6); /* what was the last one is none any more */
    for (const struct og_minibatch *b; (b = next_batch(l));)
        og_minibatch_release(b);
    assert_int_equal(go_over(l, "valid"), valid);
    assert_epochs(l, e, 4, 5);
}

static void a_pass_that_is_planned_goes_on(void **state)
{
    (void)state;
    static const char *const ways[] = {"degree", "lru", "belady", "sweep", "hybrid"};
    const uint64_t valid = pass_without_plan("valid");
    for (size_t p = 0; p < OG_COUNT(ways); p++) {
        const char *const pairs[] = {"policy", ways[p], "cache",      "10%", "superbatch", "7",
                                     "epochs", "5",     "eval-every", "2",   NULL};
        struct og_options opt;
        struct og_loader_options from;
        struct expected e;
        set_up(&opt, pairs);
        expect(&e, classes, &opt);
        og_loader_options_init(&from);
        from.evaluates = true;
        struct og_loader *l = open_loader(classes, &opt, &from);
        go_as_planned(l, &e, valid);
        go_otherwise(l, &e, valid);
        og_loader_close(l);
        forget(&e);
        og__options_release(&opt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_those_of_sample),
        cmocka_unit_test(what_is_drawn_once_is_there_once),
        cmocka_unit_test(layouts_change_nothing),
        cmocka_unit_test(targets_and_features_have_the_types_they_are_stored_in),
        cmocka_unit_test(a_second_loader_changes_nothing),
        cmocka_unit_test(own_seeds_that_are_a_split_make_its_batches),
        cmocka_unit_test(seeds_that_repeat_are_there_as_often),
        cmocka_unit_test(batches_of_links_have_their_pairs),
        cmocka_unit_test(a_pass_has_its_split_in_order),
        cmocka_unit_test(a_pass_that_is_planned_goes_on),
    };
    return cmocka_run_group_tests(tests, make_graphs, remove_folder);
}
