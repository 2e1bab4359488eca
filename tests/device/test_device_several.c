/* Several virtual devices, each a trainer: results are those of one device, whatever they exchange.
 * What is planned of each one's memory is what it takes. */
#include "device/device_run.h"

#include "device/virtual.h"

#include <signal.h>

static const char steps[] = "accumulate";

/* Checkpoints of one device, and of two and four, in orders and paces, by policies and layouts. */
static void any_number_gives_the_same_bytes(void **state)
{
    (void)state;
    static const char *const devices[] = {"virtual", "virtual:2", "virtual:4"};
    static const struct {
        const char *name, *value, *policy, *layout;
    } ways[] = {
        {"staleness", "0", "degree", "raw"},    {"staleness", "2", "lru", "raw"},
        {"staleness", "0", "belady", "packed"}, {"staleness", "1", "belady", "segmented"},
        {"optimizer", "sgd", "none", "raw"},
    };
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        struct result one = {0};
        for (size_t k = 0; k < OG_COUNT(devices); k++) {
            const char *const way[] = {
                "device", devices[k],     steps,    "3",    "policy",     ways[i].policy,
                "layout", ways[i].layout, "cache",  "10%",  ways[i].name, ways[i].value,
                "norm",   "batch",        "memory", "256M", NULL};
            struct og_virtual v = og__virtual_usual;
            v.order = (enum og__order)((i + k) % OG__ORDERS);
            v.pace = (enum og__pace)((i + 2 * k) % OG__PACES);
            v.seed = i + k;
            og__virtual_become(&v);
            struct result r = train(way);
            og__virtual_become(&og__virtual_usual);
            if (k > 0) {
                assert_same_numbers(&r, &one);
                drop(&r);
            } else {
                one = r;
            }
        }
        drop(&one);
    }
}

/* So many trained, each on a device of its own, and all of them something. */
static void each_is_a_trainer(void **state)
{
    (void)state;
    static const struct {
        const char *device, *accumulate, *trainers;
        size_t n;
    } cases[] = {{"virtual:2", "2", "auto", 2},
                 {"virtual:4", "4", "auto", 4},
                 {"virtual:4", "2", "auto", 2}, /* no more has something to do */
                 {"virtual:2", "4", "4", 4}};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const char *const way[] = {"device",   cases[i].device,   steps,    cases[i].accumulate,
                                   "trainers", cases[i].trainers, "policy", "degree",
                                   NULL};
        struct result r = train(way);
        const json_t *did = json_object_get(r.summary, "executors");
        size_t k, n = 0;
        json_t *one;
        json_int_t trained = 0;
        const json_int_t devices = strtol(cases[i].device + strlen("virtual:"), NULL, 10);
        json_array_foreach(json_object_get(did, "each"), k, one)
        {
            const json_int_t own = json_integer_value(json_object_get(one, "trained"));
            if (strcmp(json_string_value(json_object_get(one, "role")), "trainer") != 0)
                continue;
            assert_int_equal(json_integer_value(json_object_get(one, "device")),
                             (json_int_t)n % devices);
            assert_true(own > 0);
            trained += own;
            n++;
        }
        assert_int_equal(n, cases[i].n);
        assert_int_equal(trained, EPOCHS * 20); /* 480 seeds by 24 */
        const json_t *planned = json_object_get(json_object_get(r.summary, "plan"), "devices");
        assert_int_equal(json_array_size(planned), devices);
        drop(&r);
    }
}

static size_t planned(const json_t *device)
{
    return (size_t)(json_integer_value(json_object_get(device, "model")) +
                    json_integer_value(json_object_get(device, "activations")));
}

/* A device that has what the plan says, and no more, is enough. One with a little less is not. Each
 * trainer, and the model with the first, has a device's memory of its own here. */
static void what_is_planned_is_what_each_takes(void **state)
{
    (void)state;
    static const char *const way[] = {"device", "virtual:2",  steps, "2", "policy",
                                      "degree", "eval-every", "1",   NULL};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    common(&opt, way);
    assert_int_equal(og_plan(dataset, &opt, NULL, &text, NULL), 0);
    json_t *plan = json_loads(text, 0, NULL);
    const json_t *devices = json_object_get(plan, "devices");
    const size_t first = planned(json_array_get(devices, 0));
    const size_t second = planned(json_array_get(devices, 1));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(devices, 1), "trainers")),
                     1);
    assert_true(first > second && second > 0);
    struct og_virtual v = og__virtual_usual;
    v.capacity = OG_MAX(second, first - second);
    og__virtual_become(&v);
    struct result r = train(way);
    drop(&r);
    v.capacity -= 1 << 12;
    og__virtual_become(&v);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    og__virtual_become(&og__virtual_usual);
    og__remove_tree(run_path);
    json_decref(plan);
    free(text);
    og__options_release(&opt);
}

/* Stopped after a step or so, and resumed by another number of devices. */
static volatile sig_atomic_t stop;

static void stop_soon(void *self, const struct og_progress *p)
{
    (void)self;
    if (strcmp(p->stage, "train") == 0 && p->epoch == 2)
        __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

static void a_run_goes_on_with_another_number(void **state)
{
    (void)state;
    static const char *const parts[][2] = {
        {"virtual:2", "virtual"}, {"virtual", "virtual:4"}, {"virtual:4", "virtual:2"}};
    const char *whole_way[] = {"device", "virtual", steps, "3", "staleness", "1", NULL};
    struct result whole = train(whole_way);
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        const char *way[] = {"device", parts[i][0], steps, "3", "staleness", "1", NULL};
        struct og_options opt;
        struct og_err err = {0};
        struct og_observer seen = {.size = sizeof(seen), .progress = stop_soon, .stop = &stop};
        common(&opt, way);
        stop = 0;
        assert_int_equal(og_train(dataset, &opt, &seen, NULL, &err), OG_INTERRUPTED);
        og__options_release(&opt);
        const char *on[] = {"device", parts[i][1], steps,  "3", "staleness",
                            "1",      "resume",    "true", NULL};
        struct result r = train(on);
        assert_same_numbers(&r, &whole);
        drop(&r);
    }
    drop(&whole);
}

/* Whatever call fails, of whichever device, is reported, and nothing is left. */
static void a_call_that_fails_is_told(void **state)
{
    (void)state;
    static const char *const way[] = {"device", "virtual:2", steps, "2", "epochs",
                                      "1",      "batch",     "200", NULL};
    struct og_virtual v = og__virtual_usual;
    og__virtual_become(&v);
    int told = 0;
    struct result r = train(way);
    const uint64_t calls = og__virtual_calls();
    drop(&r);
    for (uint64_t k = 1; k < calls; k += OG_MAX(calls / 40, (uint64_t)1)) {
        struct og_options opt;
        struct og_err err = {0};
        v.fail = k;
        og__virtual_become(&v);
        common(&opt, way);
        const int rc = og_train(dataset, &opt, NULL, NULL, &err);
        told += rc < 0;
        if ((rc < 0) != (err.code < 0) || (rc < 0 && !strstr(err.message, "was to fail")))
            fail_msg("call %llu: %d, '%s'", (unsigned long long)k, rc, err.message);
        og__options_release(&opt);
        og__remove_tree(run_path);
    }
    assert_true(told > 20);
    og__virtual_become(&og__virtual_usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_gives_the_same_bytes),
        cmocka_unit_test(each_is_a_trainer),
        cmocka_unit_test(what_is_planned_is_what_each_takes),
        cmocka_unit_test(a_run_goes_on_with_another_number),
        cmocka_unit_test(a_call_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
