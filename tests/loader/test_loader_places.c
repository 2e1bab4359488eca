/* loader: places to go on from, and what is refused. */
#include "loader/loader_calls.h"

#include "support/runs.h"

#include <errno.h>
#include <jansson.h>

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
        og__options_release(&opt);
        l = open_with(policies[(at + 1) % OG_COUNT(policies)], &opt, 1);
        if (og_loader_restore(l, text, &err) < 0)
            fail_msg("%s", err.message);
        go(l, &e, epoch, first, batches - first);
        assert_null(next_batch(l));
        if (epoch == 1)
            assert_epochs(l, &e, 2, 2);
        free(text);
        og_loader_close(l);
        og__options_release(&opt);
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
    og__options_release(&opt);
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
    og__options_release(&opt);
    og__options_release(&other);
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
    og__options_release(&opt);
}

static void bad_input_is_told_in_one_line(void **state)
{
    (void)state;
    static const char *const small[] = {"memory", "14M", NULL};
    static const char *const none[] = {"epochs", "0", NULL};
    static const char *const link[] = {"task", "link", NULL};
    static const int64_t far[] = {5, N_NODES};
    struct og_loader_options from;
    og_loader_options_init(&from);
    refuse(small, NULL, "too little", "the smallest that would do is --memory");
    refuse(none, NULL, "no batches", "--epochs 1");
    from.split = "training";
    refuse(NULL, &from, "training: there is no such split", "train, valid or test");
    from.split = NULL;
    from.hold = -1;
    refuse(NULL, &from, "hold -1", "");
    from.hold = 1;
    from.seeds = far;
    from.n_seeds = 2;
    refuse(NULL, &from, "seeds: row 1: node 3000, the graph has 3000 nodes", "");
    refuse(link, &from, "seeds of the caller's own are nodes", "");
    from.n_seeds = 0;
    refuse(NULL, &from, "seeds: an empty list", "");
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
    og__options_release(&opt);
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
        og__options_release(&opt);
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
        const struct og_observer seen = {
            .size = sizeof(seen), .arg = &said, .message = test_note_message};
        struct og_loader *l = NULL;
        struct og_options opt;
        set_up(&opt, pairs);
        assert_int_equal(og_loader_open(&l, graph, &opt, NULL, &seen, NULL), 0);
        const bool idle = strstr(said.text, "--draw has no effect") != NULL;
        assert_int_equal(idle, opt.n_fanout == 1);
        og_loader_close(l);
        og__options_release(&opt);
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
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loader_goes_on_where_another_was),
        cmocka_unit_test(a_place_is_told_at_any_time),
        cmocka_unit_test(places_of_other_loaders_are_refused),
        cmocka_unit_test(bad_input_is_told_in_one_line),
        cmocka_unit_test(the_smallest_memory_that_is_named_will_do),
        cmocka_unit_test(a_draw_has_an_effect_on_what_is_handed_over),
        cmocka_unit_test(features_may_be_left_out),
    };
    return cmocka_run_group_tests(tests, make_one_graph, remove_folder);
}
