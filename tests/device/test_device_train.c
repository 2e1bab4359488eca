/* Training with a cache of rows on the device over the host's is bit-identical to training without.
 * That holds under any policies, sizes, orders of threads and paces of streams. Each tier serves
 * what the simulation says. */
#include "device/device_run.h"

#include "device/virtual.h"

#include <math.h>

struct pair {
    const char *device, *host, *cache, *victim, *superbatch;
};

/* Policies that change their caches, and that do not; that look ahead, and that do not. */
static void every_pair_serves_what_is_told(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {NULL, "degree", "10%", NULL, NULL},
        {"presc", "degree", "10%", NULL, NULL},
        {NULL, "none", "0%", NULL, NULL},
        {"none", "pagerank", "20%", NULL, NULL},
        {"lru", "degree", "10%", NULL, NULL},
        {"degree", "lru", "10%", NULL, NULL},
        {"clock", "sieve", "5%", NULL, NULL},
        {"s3fifo", "rr", "8%", NULL, NULL},
        {"hybrid:window=6", "pagerank", "10%", NULL, "7"},
        {"degree", "belady", "10%", NULL, "7"},
        {"lru", "belady", "10%", NULL, "5"},
        {"belady", "belady", "10%", NULL, "11"},
        {"belady", "belady", "10%", NULL, "all"},
        {"belady", "lru", "6%", NULL, "9"},
        {"frequency", "hybrid:window=4", "6%", NULL, "9"},
        {"hybrid:window=8,update=2", "degree", "5%", "pvp:depth=3", "7"},
        {"hybrid:window=8,update=2", "none", "0%", "pvp:depth=400", "7"},
        {"lru", "belady", "5%", "pvp:depth=30", "7"},
    };
    static const char *const plain[] = {"policy", "degree", NULL};
    static const char *const traffic[] = {"device_hits", "host_hits",      "victim_hits",
                                          "misses",      "victim_pushed",  "victim_dropped",
                                          "demoted",     "link_bytes_back"};
    long long seen[OG_COUNT(traffic)] = {0};
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        const struct pair *p = &pairs[i];
        char memory[32];
        const char *way[20] = {"policy", p->host, "cache", p->cache, "device-memory", memory};
        int n = 6;
        const struct og_tiers_asked requested = {
            .size = sizeof(requested), .policies = p->device, .victim = p->victim};
        struct og_virtual v = og__virtual_usual;
        memory_for(i % 3 ? 400 : 150, memory);
        if (p->device) {
            way[n++] = "device-policy";
            way[n++] = p->device;
        }
        if (p->victim) {
            way[n++] = "victim";
            way[n++] = p->victim;
        }
        way[n++] = "superbatch";
        way[n++] = p->superbatch ? p->superbatch : "auto";
        v.pace = (enum og__pace)(i % OG__PACES);
        v.order = (enum og__order)(i % OG__ORDERS);
        v.seed = i;
        og__virtual_become(&v);
        struct result with = train(way);
        og__virtual_become(&og__virtual_usual);
        assert_same_numbers(&with, &without);
        const char *simulated[] = {"superbatch", p->superbatch ? p->superbatch : "auto", NULL};
        assert_as_told(&with, simulated, p->host, p->cache, &requested);
        for (size_t k = 0; k < OG_COUNT(seen); k++)
            seen[k] += sum(&with, traffic[k]);
        drop(&with);
    }
    for (size_t i = 0; i < OG_COUNT(seen); i++) /* each kind of traffic was there */
        if (seen[i] == 0)
            fail_msg("no %s", traffic[i]);
    drop(&without);
}

/* A plan knows what the first epoch reads. */
static void plans_tell_what_is_read(void **state)
{
    (void)state;
    static const char *const policies[] = {"degree", "lru", "belady"};
    char memory[32];
    memory_for(300, memory);
    for (size_t i = 0; i < OG_COUNT(policies); i++) {
        const char *const way[] = {
            "policy",        policies[i], "cache",         "10%",  "superbatch", "all",
            "device-policy", policies[i], "device-memory", memory, NULL};
        struct og_options opt;
        struct og_err err = {0};
        char *text = NULL;
        struct result run = train(way);
        common(&opt, way);
        if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
            fail_msg("%s: %s", err.message, err.hint);
        json_t *plan = json_loads(text, 0, NULL);
        const json_t *told = json_object_get(plan, "predicted");
        const json_t *epoch = json_array_get(json_object_get(run.summary, "epochs"), 0);
        static const char *const keys[] = {"rows", "hits", "misses"};
        for (size_t k = 0; k < OG_COUNT(keys); k++)
            assert_int_equal(json_integer_value(json_object_get(told, keys[k])),
                             json_integer_value(json_object_get(epoch, keys[k])));
        assert_true(json_equal(json_object_get(plan, "device"), (json_t *)device_of(&run)));
        json_decref(plan);
        free(text);
        drop(&run);
        og__options_release(&opt);
    }
}

/* From just enough to more than all rows take. */
static void any_memory_gives_the_same_numbers(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    const long smallest = smallest_memory();
    long long hits = -1;
    struct result without = train(plain);
    for (int k = 0; k < 4; k++) {
        char memory[32];
        const char *const way[] = {"policy",        "degree", "cache", "10%",
                                   "device-memory", memory,   NULL};
        snprintf(memory, sizeof(memory), "%ldK", smallest * 1024 + (k < 3 ? 700 * k : 1L << 20));
        struct result with = train(way);
        assert_same_numbers(&with, &without);
        assert_true(sum(&with, "device_hits") >= hits);
        hits = sum(&with, "device_hits");
        if (k == 3) {
            assert_int_equal(hits, sum(&with, "rows"));
            assert_int_equal(sum(&with, "link_bytes"), 0);
        }
        drop(&with);
    }
    drop(&without);
}

/* Each is one line that says why, before anything is written. */
static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *why;
    } cases[] = {
        {"device", "cpu", "no memory of its own"},
        {"policy", "sweep", "sweep"},
        {"device-policy", "sweep", "sweep"},
        {"device-policy", "best", "best"},
        {"device-policy", "auto", "auto"},
        {"victim", "pvp", "evicts no rows"},
        {"victim", "some", "some"},
        {"device-memory", "10%", "percentage"},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        const char *const way[] = {"policy",       "degree", "device-memory", "64M", cases[i].name,
                                   cases[i].value, NULL};
        struct og_options opt;
        struct og_err err = {0};
        common(&opt, way);
        if (og_train(dataset, &opt, NULL, NULL, &err) >= 0 || !strstr(err.message, cases[i].why))
            fail_msg("%s %s: '%s'", cases[i].name, cases[i].value, err.message);
        assert_true(access(run_path, F_OK) < 0);
        og__options_release(&opt);
    }
}

/* ---- what overlaps ---- */

struct span {
    double start, end;
    json_int_t batch;
};

static size_t spans_of(const json_t *all, const char *stage, struct span *out, size_t most)
{
    size_t i;
    size_t n = 0;
    json_t *e;
    json_array_foreach((json_t *)all, i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        const json_t *batch = json_object_get(json_object_get(e, "args"), "batch");
        if (!batch || strcmp(name, stage) != 0 || n == most)
            continue;
        const double start = json_number_value(json_object_get(e, "ts"));
        out[n++] = (struct span){start, start + json_number_value(json_object_get(e, "dur")),
                                 json_integer_value(batch)};
    }
    return n;
}

/* Moments at which batch i - 1 is trained, i is collected and i + 1 is read. */
static int count_together(const char *path)
{
    enum { MOST = 400 };
    static struct span read[MOST], collected[MOST], trained[MOST];
    char *text;
    size_t bytes;
    int n = 0;
    assert_int_equal(og__read_text(path, 1 << 26, &text, &bytes, NULL), 0);
    json_t *all = json_loads(text, 0, NULL);
    const size_t n_read = spans_of(all, "gather", read, MOST);
    const size_t n_collected = spans_of(all, "collect", collected, MOST);
    const size_t n_trained = spans_of(all, "train", trained, MOST);
    assert_true(n_read > 20 && n_collected > 20 && n_trained > 20);
    for (size_t a = 0; a < n_trained; a++)
        for (size_t b = 0; b < n_collected; b++)
            for (size_t c = 0; c < n_read; c++)
                n += collected[b].batch == trained[a].batch + 1 &&
                     read[c].batch == collected[b].batch + 1 &&
                     fmax(trained[a].start, fmax(collected[b].start, read[c].start)) <
                         fmin(trained[a].end, fmin(collected[b].end, read[c].end));
    json_decref(all);
    free(text);
    return n;
}

static void three_batches_are_on_their_way(void **state)
{
    (void)state;
    char spans[400], memory[32];
    snprintf(spans, sizeof(spans), "%s/spans.json", folder);
    snprintf(memory, sizeof(memory), "%ldK", smallest_memory() * 1024 + 2000);
    for (int alone = 0; alone < 2; alone++) {
        const char *const way[] = {"policy",
                                   "degree",
                                   "cache",
                                   "5%",
                                   "device-policy",
                                   "lru",
                                   "device-memory",
                                   memory,
                                   "trace-timeline",
                                   spans,
                                   "hidden",
                                   "32",
                                   "pipeline",
                                   alone ? "none" : "batches",
                                   NULL};
        struct result with = train(way);
        assert_true(json_integer_value(json_object_get(device_of(&with), "batches")) == 3);
        const int together = count_together(spans);
        if ((together > 0) == alone)
            fail_msg("pipeline %s: %d times", alone ? "none" : "batches", together);
        unlink(spans);
        drop(&with);
    }
}

/* A run with a failing call is the same as without, or fails with a message. Then it gives back all
 * that it has. */
static void a_call_that_fails_ends_the_run(void **state)
{
    (void)state;
    of_a_virtual_device();
    char memory[32];
    const char *const way[] = {"policy", "degree",        "cache", "10%",    "device-policy",
                               "lru",    "device-memory", memory,  "epochs", "1",
                               NULL};
    memory_for(300, memory);
    struct og_virtual v = og__virtual_usual;
    og__virtual_become(&v);
    struct og_options opt;
    common(&opt, way);
    char path[400], *whole, *some;
    size_t bytes, n;
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    assert_int_equal(og__read_text(path, 1 << 24, &whole, &bytes, NULL), 0);
    og__remove_tree(run_path);
    const uint64_t calls = og__virtual_calls();
    assert_true(calls > 1000);
    for (v.fail = 1; v.fail < calls; v.fail += v.fail < 40 ? 3 : calls / 23) {
        struct og_err err = {0};
        v.pace = (enum og__pace)(v.fail % OG__PACES);
        og__virtual_become(&v);
        const int rc = og_train(dataset, &opt, NULL, NULL, &err);
        if ((rc < 0) != (err.code < 0) || (rc < 0 && !strstr(err.message, "was to fail")))
            fail_msg("call %llu: %d, '%s'", (unsigned long long)v.fail, rc, err.message);
        if (rc == 0) { /* nothing that counts hung on it */
            assert_int_equal(og__read_text(path, 1 << 24, &some, &n, NULL), 0);
            assert_int_equal(n, bytes);
            assert_memory_equal(some, whole, bytes);
            free(some);
        }
        og__remove_tree(run_path);
    }
    free(whole);
    og__virtual_become(&og__virtual_usual);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_serves_what_is_told),
        cmocka_unit_test(plans_tell_what_is_read),
        cmocka_unit_test(any_memory_gives_the_same_numbers),
        cmocka_unit_test(what_does_not_go_together_is_refused),
        cmocka_unit_test(three_batches_are_on_their_way),
        cmocka_unit_test(a_call_that_fails_ends_the_run),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
