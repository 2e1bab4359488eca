/* Several virtual devices whose memory is one cache of rows. Results are those of one device, and
 * of none, under any policies and layouts, whoever trains. Each tier serves what the simulation
 * says, and traffic between devices is as predicted. */
#include "device/device_run.h"

#include "device/virtual.h"

#include <signal.h>
#include <sys/wait.h>

/* Words of options: some, and more after them. */
struct words {
    const char *word[40];
    int n;
};

static void add(struct words *w, const char *name, const char *value)
{
    if (!value)
        return;
    w->word[w->n++] = name;
    w->word[w->n++] = value;
    w->word[w->n] = NULL;
}

/* So many mini-batches at a time, by so many devices. */
static struct words words_of(const char *device)
{
    struct words w = {0};
    add(&w, "device", device);
    add(&w, "accumulate", "4");
    add(&w, "memory", "256M");
    return w;
}

static void become(size_t i)
{
    struct og_virtual v = og__virtual_usual;
    v.pace = (enum og__pace)(i % OG__PACES);
    v.order = (enum og__order)(i / OG__PACES % OG__ORDERS);
    v.seed = i;
    og__virtual_become(&v);
}

struct pair {
    const char *device, *host, *cache, *victim, *superbatch, *layout;
};

static struct words words_of_pair(const struct pair *p, const char *device, const char *memory)
{
    struct words w = words_of(device);
    add(&w, "policy", p->host);
    add(&w, "cache", p->cache);
    add(&w, "device-policy", p->device);
    add(&w, "victim", p->victim);
    add(&w, "superbatch", p->superbatch);
    add(&w, "layout", p->layout);
    add(&w, "device-memory", memory);
    return w;
}

static void every_number_serves_what_is_told(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {NULL, "degree", "10%", NULL, NULL, NULL},
        {"presc", "degree", "10%", NULL, NULL, "segmented"},
        {"lru", "degree", "10%", NULL, NULL, NULL},
        {"lru", "lru", "6%", NULL, NULL, NULL},
        {"degree", "lru", "10%", NULL, NULL, NULL},
        {"hybrid:window=6", "none", "0%", NULL, "7", NULL},
        {"belady", "belady", "10%", NULL, "11", "packed"},
        {"hybrid:window=8,update=2", "degree", "5%", "pvp:depth=3", "7", NULL},
        {"lru", "belady", "5%", "pvp:depth=30", "7", NULL},
    };
    static const char *const devices[] = {"virtual", "virtual:2", "virtual:4"};
    static const char *const plain[] = {"policy", "degree", "accumulate", "4", NULL};
    long long peers = 0, entered = 0;
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        for (size_t k = i % test_ways_step_of(3); k < OG_COUNT(devices);
             k += test_ways_step_of(3)) {
            const struct pair *p = &pairs[i];
            const struct og_tiers_asked requested = {
                .size = sizeof(requested), .policies = p->device, .victim = p->victim};
            char memory[32];
            struct words w = words_of(devices[k]);
            memory_of(w.word, i % 2 ? 400 : 150, memory);
            w = words_of_pair(p, devices[k], memory);
            become(3 * i + k);
            struct result with = train(w.word);
            og__virtual_become(&og__virtual_usual);
            assert_same_numbers(&with, &without);
            struct words simulated = words_of(devices[k]);
            add(&simulated, "superbatch", p->superbatch);
            assert_as_told(&with, simulated.word, p->host, p->cache, &requested);
            const json_int_t n = json_integer_value(json_object_get(device_of(&with), "devices"));
            assert_int_equal(n, 1 << k);
            if (k == 0)
                assert_int_equal(sum(&with, "peer_hits") + sum(&with, "peer_bytes"), 0);
            peers += sum(&with, "peer_hits");
            entered += sum(&with, "peer_bytes") - ROW_BYTES * sum(&with, "peer_hits");
            drop(&with);
        }
    assert_true(peers > 0 && entered > 0);
    drop(&without);
}

/* Any trainers, samplers that stand in, and steps that lag. */
static void whoever_trains_gives_the_same_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *device, *name, *value, *staleness;
    } cases[] = {
        {"virtual", "trainers", "3", "0"},      {"virtual:2", "trainers", "4", "1"},
        {"virtual:3", "trainers", "2", "0"}, /* the third keeps no rows */
        {"virtual:2", "executors", "1:2", "0"}, {"virtual:2", "executors", "2:1", "1"},
        {"virtual", "executors", "1:2", "1"},   {"virtual:4", NULL, NULL, "1"},
    };
    static const char *const policies[] = {"lru", "degree", "belady"};
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const char *const plain[] = {"policy",    "degree",           "accumulate", "4",
                                     "staleness", cases[i].staleness, NULL};
        char memory[32];
        struct result without = train(plain);
        struct words w = words_of(cases[i].device);
        add(&w, "staleness", cases[i].staleness);
        if (cases[i].name)
            add(&w, cases[i].name, cases[i].value);
        memory_of(w.word, 300, memory);
        add(&w, "device-memory", memory);
        add(&w, "device-policy", policies[i % OG_COUNT(policies)]);
        add(&w, "policy", "degree");
        add(&w, "cache", "10%");
        become(i);
        struct result with = train(w.word);
        og__virtual_become(&og__virtual_usual);
        assert_same_numbers(&with, &without);
        assert_int_equal(sum(&with, "device_hits") + sum(&with, "host_hits") + sum(&with, "misses"),
                         sum(&with, "rows"));
        drop(&with);
        drop(&without);
    }
}

/* A plan predicts what the first epoch brings from where, and what devices have of one another. */
static void plans_tell_what_devices_have_of_one_another(void **state)
{
    (void)state;
    static const char *const keys[] = {"rows",       "device_hits", "host_hits", "misses",
                                       "link_bytes", "peer_hits",   "peer_bytes"};
    static const char *const policies[] = {"degree", "belady"};
    for (size_t i = 0; i < OG_COUNT(policies); i++) {
        char memory[32], *text = NULL;
        struct og_options opt;
        struct words w = words_of("virtual:2");
        memory_of(w.word, 300, memory);
        add(&w, "device-memory", memory);
        add(&w, "device-policy", policies[i]);
        add(&w, "policy", policies[i]);
        add(&w, "cache", "10%");
        add(&w, "superbatch", "all");
        struct result run = train(w.word);
        common(&opt, w.word);
        assert_int_equal(og_plan(dataset, &opt, NULL, &text, NULL), 0);
        json_t *plan = json_loads(text, 0, NULL);
        const json_t *told = json_object_get(plan, "predicted");
        const json_t *epoch = json_array_get(json_object_get(run.summary, "epochs"), 0);
        for (size_t k = 0; k < OG_COUNT(keys); k++)
            if (!json_equal(json_object_get(told, keys[k]), json_object_get(epoch, keys[k])))
                fail_msg("%s: %s told %lld, was %lld", policies[i], keys[k],
                         json_integer_value(json_object_get(told, keys[k])),
                         json_integer_value(json_object_get(epoch, keys[k])));
        assert_true(json_integer_value(json_object_get(told, "peer_hits")) > 0);
        json_decref(plan);
        free(text);
        drop(&run);
        og__options_release(&opt);
    }
}

/* A refusal names it; so much is enough, of each device, and less is not. */
static void too_little_is_refused_with_what_would_do(void **state)
{
    (void)state;
    struct words w = words_of("virtual:2");
    struct og_options opt;
    struct og_err err = {0};
    char memory[32];
    add(&w, "hidden", "128");
    add(&w, "device-memory", "1K");
    common(&opt, w.word);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    og__options_release(&opt);
    const char *at = strstr(err.hint, "--device-memory ");
    assert_non_null(at);
    const long smallest = strtol(at + strlen("--device-memory "), NULL, 10);
    assert_true(smallest > 1);
    for (long less = 1; less >= 0; less--) {
        w = words_of("virtual:2");
        add(&w, "hidden", "128");
        snprintf(memory, sizeof(memory), "%ldM", smallest - less);
        add(&w, "device-memory", memory);
        add(&w, "policy", "degree");
        if (less == 0) {
            struct result r = train(w.word);
            drop(&r);
            continue;
        }
        common(&opt, w.word);
        assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), -ENOMEM);
        og__options_release(&opt);
    }
}

/* ---- killed ---- */

static void kill_soon(void *self, const struct og_progress *p)
{
    (void)self;
    if (strcmp(p->stage, "train") == 0 && p->epoch == 2 && p->done > 6)
        raise(SIGKILL);
}

static void die_training(const struct words *w)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct og_options opt;
        struct og_observer seen = {.size = sizeof(seen), .progress = kill_soon};
        common(&opt, w->word);
        (void)!og_train(dataset, &opt, &seen, NULL, NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* While it trains, and resumed by another number, with rows on devices or without. */
static void a_killed_run_goes_on_with_another_number(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        bool keeps[2];
    } parts[] = {{"virtual:2", "virtual", {true, true}},
                 {"virtual", "virtual:4", {false, true}},
                 {"virtual:4", "virtual:2", {true, false}},
                 {"virtual:2", "virtual:4", {false, false}}};
    static const char *const plain[] = {"policy", "degree", "accumulate", "4", NULL};
    struct result whole = train(plain);
    for (size_t i = 0; i < OG_COUNT(parts); i++) {
        char memory[32];
        for (int part = 0; part < 2; part++) {
            const char *device = part ? parts[i].after : parts[i].before;
            struct words w = words_of(device);
            memory_of(w.word, 300, memory);
            add(&w, "device-memory", parts[i].keeps[part] ? memory : NULL);
            add(&w, "device-policy", parts[i].keeps[part] ? "lru" : NULL);
            add(&w, "policy", "degree");
            add(&w, "cache", "10%");
            add(&w, "checkpoint-every", "0");
            add(&w, "resume", part ? "true" : NULL);
            if (part == 0) {
                die_training(&w);
                continue;
            }
            struct result r = train(w.word);
            assert_same_numbers(&r, &whole);
            drop(&r);
        }
    }
    drop(&whole);
}

/* ---- failing ---- */

static void a_call_that_fails_is_told(void **state)
{
    (void)state;
    char memory[32];
    struct words w = words_of("virtual:2");
    memory_of(w.word, 300, memory);
    add(&w, "device-memory", memory);
    add(&w, "device-policy", "lru");
    add(&w, "policy", "degree");
    add(&w, "cache", "10%");
    add(&w, "epochs", "1");
    struct og_virtual v = og__virtual_usual;
    og__virtual_become(&v);
    struct og_options opt;
    common(&opt, w.word);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    og__remove_tree(run_path);
    const uint64_t calls = og__virtual_calls();
    const uint64_t step = test_ways_step_of(2);
    int told = 0;
    for (v.fail = 1; v.fail < calls; v.fail += step * (v.fail < 60 ? 3 : calls / 30)) {
        struct og_err err = {0};
        v.pace = (enum og__pace)(v.fail % OG__PACES);
        og__virtual_become(&v);
        const int rc = og_train(dataset, &opt, NULL, NULL, &err);
        told += rc < 0;
        if ((rc < 0) != (err.code < 0) || (rc < 0 && !strstr(err.message, "was to fail")))
            fail_msg("call %llu: %d, '%s'", (unsigned long long)v.fail, rc, err.message);
        og__remove_tree(run_path);
    }
    assert_true(told > 20 / (int)step);
    og__virtual_become(&og__virtual_usual);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_serves_what_is_told),
        cmocka_unit_test(whoever_trains_gives_the_same_bytes),
        cmocka_unit_test(plans_tell_what_devices_have_of_one_another),
        cmocka_unit_test(too_little_is_refused_with_what_would_do),
        cmocka_unit_test(a_killed_run_goes_on_with_another_number),
        cmocka_unit_test(a_call_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
