/* Predictions for a run with a cache on the device: rows by tier, bytes over the link, seconds.
 * Also which pair of policies --policy auto takes by them. */
#include "device/device_run.h"

#include "device/virtual.h"

#include <math.h>
#include <string.h>

static long long told(const json_t *plan, const char *key)
{
    const json_t *n = json_object_get(json_object_get(plan, "predicted"), key);
    if (!json_is_integer(n))
        fail_msg("nothing is told of %s", key);
    return json_integer_value(n);
}

/* Every kind of pair: caches that stay, that change, that look ahead, that know of one another. */
static void plans_tell_rows_by_tier_and_bytes_over_the_link(void **state)
{
    (void)state;
    static const struct {
        const char *device, *host, *victim;
        bool ahead; /* a run knows it from its first superbatch */
    } pairs[] = {
        {"degree", "degree", "off", false},
        {"lru", "degree", "off", false},
        {"lru", "belady", "off", true},
        {"belady", "belady", "off", true},
        {"frequency", "frequency", "off", true},
        {"hybrid:window=8,update=2", "degree", "pvp:depth=5", true},
    };
    long long seen[OG_COUNT(tier_keys)] = {0};
    char memory[32];
    memory_for(300, memory);
    for (size_t i = 0; i < OG_COUNT(pairs); i++) {
        const char *const way[] = {"policy",     pairs[i].host,   "cache",         "10%",
                                   "superbatch", "all",           "device-policy", pairs[i].device,
                                   "victim",     pairs[i].victim, "device-memory", memory,
                                   NULL};
        struct result run = train(way);
        json_t *plan = plan_of(way);
        const json_t *own = json_object_get(run.summary, "plan");
        for (size_t k = 0; k < OG_COUNT(tier_keys); k++) {
            const long long was =
                json_integer_value(json_object_get(epoch_of(&run, 0), tier_keys[k]));
            if (pairs[i].ahead && told(own, tier_keys[k]) != was)
                fail_msg("%s over %s: %s is %lld, told by the run %lld", pairs[i].device,
                         pairs[i].host, tier_keys[k], was, told(own, tier_keys[k]));
            if (told(plan, tier_keys[k]) != was)
                fail_msg("%s over %s: %s is %lld, told %lld", pairs[i].device, pairs[i].host,
                         tier_keys[k], was, told(plan, tier_keys[k]));
            seen[k] += was;
        }
        json_decref(plan);
        drop(&run);
    }
    for (size_t k = 0; k < OG_COUNT(tier_keys); k++)
        if (seen[k] == 0)
            fail_msg("no %s", tier_keys[k]);
}

/* Static caches are predicted by a run too, from its profiling batches. */
static void a_run_with_two_thresholds_has_a_prediction(void **state)
{
    (void)state;
    char memory[32];
    memory_for(300, memory);
    const char *const way[] = {"policy", "degree", "cache", "10%", "device-memory", memory, NULL};
    struct result run = train(way);
    const json_t *plan = json_object_get(run.summary, "plan");
    for (size_t k = 0; k < 4; k++) {
        const double was =
            (double)json_integer_value(json_object_get(epoch_of(&run, 0), tier_keys[k]));
        const double said = (double)told(plan, tier_keys[k]);
        if (fabs(said - was) > 0.1 * was) /* other batches than the profiling batches' */
            fail_msg("%s is %g, told %g", tier_keys[k], was, said);
    }
    drop(&run);
}

static double term_of(const json_t *plan, const char *name)
{
    const json_t *first = json_array_get(json_object_get(plan, "candidates"), 0);
    return json_number_value(json_object_get(json_object_get(first, "terms"), name));
}

/* The virtual link is a model: its rate is found, and seconds follow from bytes. */
static void seconds_over_the_link_are_those_of_its_model(void **state)
{
    (void)state;
    of_a_virtual_device();
    char memory[32];
    memory_for(300, memory);
    const char *const way[] = {"policy", "auto", "cache", "10%", "device-memory", memory, NULL};
    double took[2];
    for (int slow = 0; slow < 2; slow++) {
        struct og_virtual v = og__virtual_usual;
        v.bytes_per_second = slow ? 1e9 : 8e9;
        v.latency = slow ? 1e-4 : 1e-6;
        og__virtual_become(&v);
        json_t *plan = plan_of(way);
        const json_t *link = json_object_get(plan, "link");
        const json_t *first = json_array_get(json_object_get(plan, "candidates"), 0);
        const double rate = json_number_value(json_object_get(link, "bandwidth"));
        const double latency = json_number_value(json_object_get(link, "latency"));
        /* of rows, while a kernel reads them in place */
        const double share = (double)ROW_BYTES / (ROW_BYTES + 4);
        assert_true(fabs(rate / (v.bytes_per_second * share) - 1) < 0.01);
        assert_true(fabs(latency / v.latency - 1) < 0.01);
        assert_true(json_number_value(json_object_get(link, "collect")) > 0);
        const double bytes = json_number_value(json_object_get(first, "link_bytes")) +
                             json_number_value(json_object_get(first, "link_bytes_back"));
        const double batches = 4000 * 0.12 / 24;
        took[slow] = term_of(plan, "linking");
        assert_true(fabs(took[slow] / (bytes / rate + batches * latency) - 1) < 0.01);
        assert_true(term_of(plan, "collecting") > 0);
        json_decref(plan);
    }
    assert_true(took[1] > 7 * took[0]);
    og__virtual_become(&og__virtual_usual);
}

/* Modelled links are apart, so two devices together are as fast as both. An epoch's batches have
 * half of them each. */
static void links_of_several_are_timed_side_by_side(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const two[] = {"device",     "virtual:2", "policy", "degree",
                                      "accumulate", "2",         NULL};
    char memory[32];
    memory_of(two, 300, memory);
    const char *const way[] = {"policy",        "auto", "cache",      "10%", "device", "virtual:2",
                               "device-memory", memory, "accumulate", "2",   NULL};
    struct og_virtual v = og__virtual_usual;
    v.bytes_per_second = 1e9;
    v.latency = 1e-4;
    og__virtual_become(&v);
    json_t *plan = plan_of(way);
    og__virtual_become(&og__virtual_usual);
    const json_t *link = json_object_get(plan, "link");
    const json_t *devices = json_object_get(plan, "devices");
    const json_t *first = json_array_get(json_object_get(plan, "candidates"), 0);
    const double share = (double)ROW_BYTES / (ROW_BYTES + 4), batches = 4000 * 0.12 / 24;
    const double rate = json_number_value(json_object_get(link, "bandwidth"));
    const double latency = json_number_value(json_object_get(link, "latency"));
    assert_true(fabs(rate / (2 * v.bytes_per_second * share) - 1) < 0.01);
    assert_true(fabs(latency / (v.latency / 2) - 1) < 0.01);
    assert_int_equal(json_array_size(devices), 2);
    for (size_t k = 0; k < 2; k++) {
        const json_t *own = json_object_get(json_array_get(devices, k), "link");
        const double alone = json_number_value(json_object_get(own, "bandwidth"));
        assert_true(fabs(alone / (v.bytes_per_second * share) - 1) < 0.01);
        assert_true(fabs(json_number_value(json_object_get(own, "latency")) / v.latency - 1) <
                    0.01);
        assert_true(json_number_value(json_object_get(own, "collect")) > 0);
    }
    const double bytes = json_number_value(json_object_get(first, "link_bytes")) +
                         json_number_value(json_object_get(first, "link_bytes_back"));
    assert_true(fabs(term_of(plan, "linking") / (bytes / rate + batches * latency) - 1) < 0.01);
    json_decref(plan);
}

/* The pair that auto takes is the first of those that were compared. A run that names both policies
 * takes the same. */
static void auto_takes_the_fastest_pair(void **state)
{
    (void)state;
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(300, memory);
    const char *const way[] = {"policy", "auto", "cache", "10%", "device-memory", memory, NULL};
    struct result without = train(plain);
    struct result with = train(way);
    const json_t *plan = json_object_get(with.summary, "plan");
    const json_t *candidates = json_object_get(plan, "candidates");
    const json_t *first = json_array_get(candidates, 0);
    const json_t *device = json_object_get(plan, "device");
    assert_same_numbers(&with, &without);
    assert_true(json_array_size(candidates) >= 5);
    assert_string_equal(json_string_value(json_object_get(first, "device_policy")),
                        json_string_value(json_object_get(device, "policy")));
    assert_true(json_equal(json_object_get(first, "policy"), json_object_get(plan, "policy")));
    for (size_t i = 1; i < json_array_size(candidates); i++) {
        const json_t *next = json_array_get(candidates, i);
        assert_true(!json_is_true(json_object_get(next, "possible")) ||
                    json_number_value(json_object_get(next, "seconds")) >=
                        json_number_value(json_object_get(first, "seconds")));
    }
    drop(&with);
    drop(&without);
}

/* What a system's paper has on its device. */
static void presets_mean_their_papers(void **state)
{
    (void)state;
    static const struct {
        const char *preset, *device, *host;
        bool rings;
    } presets[] = {{"helios", "presc", "presc", false},
                   {"fgnn", "presc", "presc", false},
                   {"ginex", "frequency", "belady", false},
                   {"diskgnn", "frequency", "frequency", false},
                   {"lsm-gnn", "hybrid", "pagerank", true}};
    static const char *const plain[] = {"policy", "degree", NULL};
    char memory[32];
    memory_for(300, memory);
    struct result without = train(plain);
    for (size_t i = 0; i < OG_COUNT(presets); i++) {
        const char *const way[] = {"preset",
                                   presets[i].preset,
                                   "cache",
                                   "10%",
                                   "device-memory",
                                   memory,
                                   presets[i].rings ? "victim" : "device",
                                   presets[i].rings ? "pvp:depth=20" : tested_device(),
                                   NULL};
        struct result with = train(way);
        const json_t *plan = json_object_get(with.summary, "plan");
        const json_t *device = json_object_get(plan, "device");
        assert_string_equal(json_string_value(json_object_get(device, "policy")),
                            presets[i].device);
        assert_non_null(
            strstr(json_string_value(json_object_get(plan, "policy")), presets[i].host));
        assert_true((json_integer_value(json_object_get(device, "victim_rows")) > 0) ==
                    presets[i].rings);
        assert_true(sum(&with, "device_hits") > 0 && sum(&with, "host_hits") > 0);
        assert_true((sum(&with, "link_bytes_back") > 0) == presets[i].rings);
        assert_same_numbers(&with, &without);
        drop(&with);
    }
    drop(&without);
}

static long long threshold_of(const json_t *plan)
{
    return json_integer_value(json_object_get(json_object_get(plan, "device"), "threshold"));
}

/* Rows of the first superbatch on the device and in its rings, as predicted; *chosen: the
 * threshold. */
static long long found_by(const char *rings, const char *threshold, long long *chosen)
{
    char memory[32];
    memory_for(300, memory);
    const char *const way[] = {"preset",
                               "lsm-gnn",
                               "cache",
                               "0%",
                               "window",
                               "16",
                               "device-memory",
                               memory,
                               "victim",
                               rings,
                               "superbatch",
                               "all",
                               threshold ? "threshold" : "device",
                               threshold ? threshold : tested_device(),
                               NULL};
    struct result run = train(way);
    json_t *plan = plan_of(way);
    const long long found = told(plan, "device_hits") + told(plan, "victim_hits");
    *chosen = threshold_of(json_object_get(run.summary, "plan"));
    assert_int_equal(threshold_of(plan), *chosen);
    json_decref(plan);
    drop(&run);
    return found;
}

/* The preset takes the threshold under which most rows of the first superbatch are found on the
 * device. It is another for a victim buffer that is soon full. */
static void lsm_gnn_counts_which_threshold_is_best(void **state)
{
    (void)state;
    static const char *const rings[] = {"pvp:depth=60", "pvp:depth=5"};
    static const char *const tried[] = {"2", "4", "8"};
    long long chosen[OG_COUNT(rings)];
    for (size_t r = 0; r < OG_COUNT(rings); r++) {
        long long of[OG_COUNT(tried)];
        size_t best = 0;
        for (size_t i = 0; i < OG_COUNT(tried); i++) {
            of[i] = found_by(rings[r], tried[i], &chosen[r]);
            assert_int_equal(chosen[r], 2 << i);
            best = of[i] > of[best] ? i : best;
        }
        assert_int_equal(found_by(rings[r], NULL, &chosen[r]), of[best]);
        assert_int_equal(chosen[r], 2 << best);
    }
    assert_true(chosen[0] < chosen[1]);
}

/* Pre-sampled batches are the same, whoever trains on them. */
static void samples_made_beforehand_are_trained_on(void **state)
{
    (void)state;
    static const char *const policies[] = {"degree", "lru", "belady"};
    static const char *const sampling[] = {"policy", "degree", NULL};
    char samples[400], memory[32];
    struct og_options opt;
    struct og_err err = {0};
    snprintf(samples, sizeof(samples), "%s/samples", folder);
    memory_for(100, memory);
    common(&opt, sampling);
    if (og_sample(dataset, samples, false, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    for (size_t i = 0; i < OG_COUNT(policies); i++) {
        const char *way[] = {"policy",
                             policies[i],
                             "cache",
                             "2%",
                             "device-policy",
                             policies[i],
                             "device-memory",
                             memory,
                             "superbatch",
                             "7",
                             NULL,
                             NULL,
                             NULL};
        struct result drawn = train(way);
        way[10] = "samples";
        way[11] = samples;
        struct result read = train(way);
        assert_same_numbers(&read, &drawn);
        for (size_t k = 0; k < OG_COUNT(tier_keys); k++)
            if (sum(&read, tier_keys[k]) != sum(&drawn, tier_keys[k]))
                fail_msg("%s: %s is %lld, drawn %lld", policies[i], tier_keys[k],
                         sum(&read, tier_keys[k]), sum(&drawn, tier_keys[k]));
        if (sum(&read, "device_hits") == 0 || sum(&read, "misses") == 0)
            fail_msg("%s: nothing on the device, or nothing missed", policies[i]);
        drop(&read);
        drop(&drawn);
    }
}

static double part_of(const char *const *way, const char *part)
{
    json_t *plan = plan_of(way);
    const json_t *n = json_object_get(json_object_get(plan, "memory"), part);
    assert_true(json_is_integer(n));
    const double bytes = json_number_value(n);
    json_decref(plan);
    return bytes;
}

/* With a device that samples, --memory has the pinned staging in addition to that of the
 * model's. */
static void staging_of_sampling_is_in_the_plan(void **state)
{
    (void)state;
    const char *way[] = {"policy", "degree",    "cache", "10%", "topology",
                         "memory", "sample-on", "host",  NULL};
    const double without = part_of(way, "activations");
    way[7] = "device";
    assert_true(part_of(way, "activations") - without == 2 << 20);
}

static json_int_t limit_of(const char *const *way)
{
    json_t *plan = plan_of(way);
    const json_t *memory = json_object_get(json_object_get(plan, "device"), "memory");
    const json_int_t limit = json_integer_value(json_object_get(memory, "limit"));
    json_decref(plan);
    return limit;
}

/* A device that reports free memory uses it for rows. An explicit --device-memory, or an option
 * without rows on the device, prevents that. */
static void rows_are_offered_what_is_free(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const degree[] = {"policy", "degree", NULL};
    static const char *const less[] = {"policy", "degree", "device-memory", "48M", NULL};
    static const char *const sweep[] = {"policy", "sweep", NULL};
    static const char *const preset[] = {"preset", "lsm-gnn", "victim", "pvp:depth=20", NULL};
    struct og_virtual v = og__virtual_usual;
    assert_int_equal(limit_of(degree), 0);
    struct result without = train(degree);
    v.free = 64 << 20;
    og__virtual_become(&v);
    assert_int_equal(limit_of(degree), 60 << 20);
    assert_int_equal(limit_of(less), 48 << 20);
    assert_int_equal(limit_of(sweep), 0);
    struct result with = train(degree);
    assert_same_numbers(&with, &without);
    assert_int_equal(sum(&with, "device_hits"), sum(&with, "rows"));
    const json_t *plan = json_object_get(with.summary, "plan");
    assert_int_equal(json_integer_value(json_object_get(plan, "cache_rows")), 0);
    drop(&with);
    with = train(preset);
    const json_t *device = json_object_get(json_object_get(with.summary, "plan"), "device");
    assert_string_equal(json_string_value(json_object_get(device, "policy")), "hybrid");
    assert_same_numbers(&with, &without);
    drop(&with);
    drop(&without);
    og__virtual_become(&og__virtual_usual);
}

static size_t least_of(const char *const *way)
{
    json_t *plan = plan_of(way);
    const json_t *memory = json_object_get(json_object_get(plan, "device"), "memory");
    const size_t least = (size_t)json_integer_value(json_object_get(memory, "smallest"));
    json_decref(plan);
    return least;
}

static void note(void *arg, int level, const char *text)
{
    (void)level;
    *(bool *)arg |= strstr(text, "no rows stay on the device") != NULL;
}

/* Where others have nearly all of a device it trains with what is left, and keeps no rows. Where
 * that is not enough the refusal names what is free, not an option that nobody gave. */
static void little_that_is_free_is_the_model_s(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const degree[] = {"policy", "degree", NULL};
    static const char *const given[] = {"policy", "degree", "device-memory", "64M", NULL};
    struct og_virtual v = og__virtual_usual;
    struct og_options opt;
    struct og_err err = {0};
    bool said = false;
    const struct og_observer seen = {.size = sizeof(seen), .arg = &said, .message = note};
    const size_t least = least_of(given);
    struct result without = train(degree);
    v.free = least; /* of which fifteen sixteenths are less than that */
    og__virtual_become(&v);
    struct result with = train(degree);
    assert_same_numbers(&with, &without);
    assert_int_equal(json_integer_value(json_object_get(device_of(&with), "cache_rows")), 0);
    assert_int_equal(sum(&with, "device_hits"), 0);
    common(&opt, degree);
    assert_int_equal(og_plan(dataset, &opt, &seen, NULL, &err), 0);
    assert_true(said);
    v.free = least - 1;
    og__virtual_become(&v);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "free, training takes"));
    assert_null(strstr(err.message, "--device-memory"));
    assert_null(strstr(err.hint, "--device-memory"));
    og__options_release(&opt);
    og__virtual_become(&og__virtual_usual);
    drop(&with);
    drop(&without);
}

static int take_types(void **state)
{
    struct og_generate g;
    (void)state;
    og__generate_init(&g);
    snprintf(dataset, sizeof(dataset), "%s/types", folder);
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.types = "paper:2400:40,author:1500:12";
    g.relations = "author:writes:paper:4,paper:cites:paper:5,paper:by:author:4";
    g.train_fraction = 0.12;
    return og_generate(dataset, &g, NULL, NULL);
}

static int take_one_type(void **state)
{
    (void)state;
    og__remove_tree(dataset);
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    return 0;
}

static void rows_of_types_are_offered_what_is_free(void **state)
{
    rows_are_offered_what_is_free(state);
    little_that_is_free_is_the_model_s(state);
}

/* What a library takes of the device when it is opened is within --device-memory. The smallest that
 * works grows by as much, and is enough. */
static void a_library_s_memory_is_in_the_bound(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const plain[] = {"policy", "degree", NULL};
    enum { OWN = 3 };
    struct og_virtual v = og__virtual_usual;
    char memory[32];
    const char *const way[] = {"policy", "degree", "cache", "10%", "device-memory", memory, NULL};
    const long smallest = smallest_memory();
    struct result without = train(plain);
    v.own = (size_t)OWN << 20;
    og__virtual_become(&v);
    assert_int_equal(smallest_memory(), smallest + OWN);
    snprintf(memory, sizeof(memory), "%ldM", smallest + OWN);
    struct result with = train(way);
    const json_t *device = device_of(&with);
    const json_t *parts = json_object_get(device, "memory");
    double all = json_number_value(json_object_get(parts, "model")) +
                 json_number_value(json_object_get(parts, "activations")) +
                 json_number_value(json_object_get(parts, "batches")) +
                 json_number_value(json_object_get(parts, "feature cache"));
    assert_true(all <= (double)((smallest + OWN) << 20));
    assert_true(json_number_value(json_object_get(parts, "activations")) > OWN << 20);
    assert_same_numbers(&with, &without);
    og__virtual_become(&og__virtual_usual);
    drop(&with);
    drop(&without);
}

/* The pair that was chosen is written down: a run from its configuration has the same. */
static void a_chosen_pair_is_in_the_configuration(void **state)
{
    (void)state;
    char memory[32], config[400];
    memory_for(300, memory);
    const char *const way[] = {"policy",      "auto",          "cache", "10%", "victim",
                               "pvp:depth=5", "device-memory", memory,  NULL};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    common(&opt, way);
    if (og_train(dataset, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    json_t *first = plan_of(way);
    snprintf(config, sizeof(config), "%s/config.yaml", run_path);
    og__options_init(&opt);
    if (og_options_load(&opt, config, &err) < 0 || og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    json_t *again = json_loads(text, 0, NULL);
    free(text);
    assert_string_equal(json_string_value(json_object_get(again, "policy")),
                        json_string_value(json_object_get(first, "policy")));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(again, "device"), "policy")),
        json_string_value(json_object_get(json_object_get(first, "device"), "policy")));
    json_decref(first);
    json_decref(again);
    og__remove_tree(run_path);
}

/* Timing the link takes no more than is free: with wide rows, and much memory there. */
static void the_smallest_memory_is_enough_for_the_link(void **state)
{
    (void)state;
    char wide[320], narrow[300], memory[32];
    struct og_generate g = small_graph(OG_RMAT);
    snprintf(narrow, sizeof(narrow), "%s", dataset);
    snprintf(wide, sizeof(wide), "%s/wide", folder);
    g.nodes = 3000;
    g.dim = 2048;
    assert_int_equal(og_generate(wide, &g, NULL, NULL), 0);
    snprintf(dataset, sizeof(dataset), "%s/wide", folder);
    const char *way[] = {"policy", "degree",        "batch", "4",      "fanout", "1,1", "threads",
                         "1",      "device-memory", "8G",    "memory", "128M",   NULL};
    json_t *plan = plan_of(way);
    const json_t *least = json_object_get(json_object_get(plan, "memory"), "smallest");
    snprintf(memory, sizeof(memory), "%lldM", (long long)(json_integer_value(least) / 1048576 + 1));
    json_decref(plan);
    way[11] = memory;
    json_decref(plan_of(way));
    snprintf(dataset, sizeof(dataset), "%s", narrow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_tell_rows_by_tier_and_bytes_over_the_link),
        cmocka_unit_test(a_run_with_two_thresholds_has_a_prediction),
        cmocka_unit_test(seconds_over_the_link_are_those_of_its_model),
        cmocka_unit_test(links_of_several_are_timed_side_by_side),
        cmocka_unit_test(auto_takes_the_fastest_pair),
        cmocka_unit_test(presets_mean_their_papers),
        cmocka_unit_test(lsm_gnn_counts_which_threshold_is_best),
        cmocka_unit_test(samples_made_beforehand_are_trained_on),
        cmocka_unit_test(staging_of_sampling_is_in_the_plan),
        cmocka_unit_test(rows_are_offered_what_is_free),
        cmocka_unit_test(little_that_is_free_is_the_model_s),
        cmocka_unit_test_setup_teardown(rows_of_types_are_offered_what_is_free, take_types,
                                        take_one_type),
        cmocka_unit_test(a_library_s_memory_is_in_the_bound),
        cmocka_unit_test(a_chosen_pair_is_in_the_configuration),
        cmocka_unit_test(the_smallest_memory_is_enough_for_the_link),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
