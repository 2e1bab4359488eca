/* Offline samples and packs: runs on pre-sampled batches are bit-identical to runs that sample.
 * What is not theirs is refused or ignored, and packing leaves all or nothing. */
#include "train/offline_fixture.h"

/* ---- runs ---- */

static int64_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* -EINVAL, no run begun, saying `message` and `hint`. */
static void refused(pairs_t pairs, const char *message, const char *hint)
{
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EINVAL);
    if (!strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(access("run", F_OK), -1);
    og__options_release(&opt);
}

/* ---- samples ---- */

static void a_run_on_samples_is_the_same(void **state)
{
    (void)state;
    static pairs_t moves[] = {
        {"policy", "none"},
        {"policy", "degree", "cache", "10%"},
        {"policy", "degree", "cache", "5%", "layout", "packed", "superbatch", "4"},
        {"policy", "lru", "cache", "10%", "io", "pread"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "hybrid", "cache", "10%", "topology", "disk"},
        {"preset", "ginex", "cache", "10%"},
        {"preset", "diskgnn", "cache", "10%", "threads", "1"},
        {"preset", "fgnn", "cache", "10%"},
        {"preset", "helios", "cache", "10%", "threads", "3"},
        {"preset", "lsm-gnn"},
        {"preset", "memory", "eval-every", "2"},
        {"memory", "84M"},
        {NULL},
    };
    static pairs_t none = {NULL};
    sample("s", none);
    struct outcome first = train(none);
    for (size_t i = 0; i < OG_COUNT(moves); i++) {
        const char *pairs[PAIRS] = {"samples", "s"};
        memcpy(pairs + 2, moves[i], (PAIRS - 2) * sizeof(*pairs));
        struct outcome other = train(pairs);
        bool evaluates_less = i == 11;
        if (!evaluates_less)
            assert_same(&first, &other);
        assert_true(json_equal(json_object_get(epoch_of(&first, 2), "loss"),
                               json_object_get(epoch_of(&other, 2), "loss")));
        assert_true(number(epoch_of(&other, 1), "trace_bytes_read") > 0);
        assert_int_equal(number(epoch_of(&other, 1), "topology_bytes_read"), 0);
        drop(&other);
    }
    drop(&first);
}

static void every_model_and_sampler_finds_what_it_needs(void **state)
{
    (void)state;
    static pairs_t kinds[] = {
        {"model", "gcn"},
        {"model", "gat", "hidden", "16", "heads", "2"},
        {"model", "pinsage", "sampler", "walk", "neighbors", "3"},
        {"sampler", "labor"},
        {"sampler", "ladies", "model", "gin"},
    };
    for (size_t i = 0; i < OG_COUNT(kinds); i++) {
        const char *pairs[PAIRS];
        memcpy(pairs, kinds[i], sizeof(pairs));
        sample("k", pairs);
        struct outcome first = train(pairs);
        size_t n = 0;
        while (pairs[n])
            n++;
        memcpy(pairs + n, ((const char *const[]){"samples", "k", NULL}), 3 * sizeof(*pairs));
        struct outcome straight = train(pairs);
        assert_same(&first, &straight);
        memcpy(
            pairs + n + 2,
            ((const char *const[]){"policy", "belady", "cache", "10%", "alternate", "true", NULL}),
            7 * sizeof(*pairs));
        struct outcome ahead = train(pairs);
        assert_same(&first, &ahead);
        drop(&ahead);
        drop(&straight);
        drop(&first);
        test_shell("rm -r %s%s", "k", "");
    }
}

/* A walk keeps no more neighbours than it meets: --fanout, as resolved, is what is compared. */
static void more_neighbors_than_walks_meet_are_the_same(void **state)
{
    (void)state;
    static pairs_t most = {"sampler", "walk", "walks", "3", "walk-length", "2", "neighbors", "40"};
    static pairs_t other = {"sampler", "walk",      "walks", "3",       "walk-length",
                            "2",       "neighbors", "30",    "samples", "w"};
    static pairs_t less = {"sampler", "walk",      "walks", "3",       "walk-length",
                           "2",       "neighbors", "2",     "samples", "w"};
    sample("w", most);
    struct outcome first = train(most), again = train(other);
    for (size_t epoch = 0; epoch < 3; epoch++)
        assert_true(json_equal(json_object_get(epoch_of(&first, epoch), "loss"),
                               json_object_get(epoch_of(&again, epoch), "loss")));
    refused(less, "sampled with another --fanout", "sampled with");
    drop(&again);
    drop(&first);
    test_shell("rm -r %s%s", "w", "");
}

static size_t rows_of(const char *folder)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    json_t *root_json = json_load_file(path, 0, NULL);
    size_t n = (size_t)number(root_json, "batches");
    json_decref(root_json);
    return n;
}

static void epochs_that_reuse_write_nothing(void **state)
{
    (void)state;
    static pairs_t five = {"resample-every", "2", "epochs", "5"};
    static pairs_t diskgnn = {"resample-every", "2",       "epochs", "5",  "samples", "s2",
                              "preset",         "diskgnn", "cache",  "10%"};
    static pairs_t straight = {"resample-every", "2", "epochs", "5", "samples", "s2"};
    static pairs_t fours = {"resample-every", "4", "epochs", "5"};
    static pairs_t fours_of_twos = {"resample-every", "4", "epochs", "5", "samples", "s2"};
    sample("s2", five);
    assert_int_equal(rows_of("s2"), 3 * 5);
    struct outcome first = train(five);
    struct outcome other = train(diskgnn);
    assert_same(&first, &other);
    drop(&other);
    other = train(straight);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
    /* of the draws for epochs 1, 3 and 5 those for 1 and 5 */
    first = train(fours);
    other = train(fours_of_twos);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
}

static void others_are_refused(void **state)
{
    (void)state;
    static pairs_t seed = {"samples", "s", "seed", "2"};
    static pairs_t fanout = {"samples", "s", "fanout", "5,5"};
    static pairs_t batch = {"samples", "s", "batch", "100"};
    static pairs_t sampler = {"samples", "s", "sampler", "labor"};
    static pairs_t order = {"samples", "s", "no-shuffle", "true"};
    static pairs_t degrees = {"samples", "s", "model", "gcn"};
    static pairs_t longer = {"samples", "s", "epochs", "7"};
    static pairs_t sparse = {"samples", "s2", "epochs", "8"};
    static pairs_t nowhere = {"samples", "nowhere"};
    refused(seed, "another --seed (1, this run has 2)", "options it was sampled with");
    refused(fanout, "another --fanout ([5,4], this run has [5,5])", "sampled with");
    refused(batch, "another --batch", "sampled with");
    refused(sampler, "another --sampler", "sampled with");
    refused(order, "another --no-shuffle", "sampled with");
    refused(degrees, "without the degrees that --model gcn needs", "the same --model");
    refused(longer, "no batches for epoch 4", "--resample-every 7 would do");
    refused(sparse, "no batches for epoch 2", "--resample-every 4 would do");
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, nowhere);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -ENOENT);
    og__options_release(&opt);
    /* another graph of the same shape */
    set_options(&opt, (pairs_t){"samples", "s"});
    assert_int_equal(og_train("other", &opt, NULL, NULL, &err), -EINVAL);
    og__options_release(&opt);
}

/* No epoch draws batches: there would be nothing that training could take. */
static void no_epochs_are_no_samples(void **state)
{
    (void)state;
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, (pairs_t){"epochs", "0"});
    assert_int_equal(og_sample("graph", "none", false, &opt, NULL, NULL, &err), -EINVAL);
    og__options_release(&opt);
    assert_non_null(strstr(err.message, "--epochs 0"));
    assert_true(err.hint[0]);
    assert_int_equal(access("none", F_OK), -1);
}

static void a_moved_folder_serves_and_a_damaged_one_is_named(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t moved = {"samples", "away/there/s"};
    static pairs_t damaged[] = {{"samples", "d", "policy", "degree"},
                                {"samples", "d", "policy", "belady", "cache", "10%"}};
    struct outcome first = train(none);
    test_shell("mkdir -p %s && cp -r s %s", "away/there", "away/there");
    struct outcome other = train(moved);
    assert_same(&first, &other);
    drop(&other);
    drop(&first);
    /* another seed, which no other check would find */
    for (size_t i = 0; i < OG_COUNT(damaged); i++) {
        struct og_options opt;
        struct og_err err = {0};
        test_shell("rm -rf %s && cp -r s %s", "d", "d");
        test_flip("d/ids.npy", 4096);
        set_options(&opt, damaged[i]);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_true(og_train("graph", &opt, NULL, NULL, &err) < 0);
        assert_non_null(strstr(err.hint, "make it again"));
        og__options_release(&opt);
        test_shell("rm -rf %s%s", "run", "");
    }
}

/* ---- stopping ---- */

static void cut(pairs_t pairs, int at)
{
    struct test_stopper s = {.at = at};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, pairs);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og__options_release(&opt);
}

/* Begun with samples and ended without, and the other way round. */
static void an_interrupted_run_goes_on_with_or_without(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t with = {"samples", "s", "preset", "diskgnn", "cache", "10%"};
    static pairs_t on_with = {"samples", "s", "resume", "true", "policy", "belady"};
    static pairs_t on_without = {"resume", "true"};
    static const int moments[] = {2, 7, 12};
    struct outcome whole = train(none);
    for (size_t i = 0; i < OG_COUNT(moments); i++) {
        cut(with, moments[i]);
        struct outcome resumed = train(i % 2 ? on_without : on_with);
        assert_same(&whole, &resumed);
        drop(&resumed);
        cut(none, moments[i]);
        resumed = train(on_with);
        assert_same(&whole, &resumed);
        drop(&resumed);
    }
    drop(&whole);
}

/* ---- what was written before there was --draw ---- */

/* Nor did files have checksums inside then. */
static void forget_draw_of_samples(const char *path)
{
    json_t *said = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_del(json_object_get(said, "options"), "draw"), 0);
    assert_int_equal(json_object_del(said, "xxh3"), 0);
    assert_int_equal(json_dump_file(said, path, 0), 0);
    json_decref(said);
}

/* In a text of JSON within a text of JSON: blanks say nothing. */
static void forget_draw_of_run(const char *path)
{
    static const char said[] = "\\\"draw\\\": \\\"each\\\", ";
    char *all;
    size_t bytes;
    assert_int_equal(og__read_text(path, 1 << 24, &all, &bytes, NULL), 0);
    char *at = memmem(all, bytes, said, strlen(said));
    char *seal = memmem(all, bytes, "xxh3", 4);
    assert_true(at && seal);
    memset(at, ' ', strlen(said));
    memcpy(seal, "none", 4);
    FILE *f = fopen(path, "we");
    assert_true(f && fwrite(all, 1, bytes, f) == bytes && fclose(f) == 0);
    free(all);
}

static void files_without_a_draw_drew_in_each_hop(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t once = {"draw", "once", "samples", "e"};
    static pairs_t each = {"samples", "e"};
    static pairs_t resumed = {"resume", "true"};
    static pairs_t resumed_once = {"resume", "true", "draw", "once"};
    struct outcome whole = train(none);
    sample("e", none);
    forget_draw_of_samples("e/trace.json");
    struct outcome other = train(each);
    assert_same(&whole, &other);
    drop(&other);
    refused(once, "another --draw (\"each\", this run has \"once\")", "sampled with");
    cut(none, 7);
    forget_draw_of_run("run/resume.safetensors");
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, resumed_once);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "started with another --draw"));
    og__options_release(&opt);
    other = train(resumed);
    assert_same(&whole, &other);
    drop(&other);
    drop(&whole);
    test_shell("rm -r %s%s", "e", "");
}

/* ---- packs ---- */

static int64_t written(const struct outcome *o)
{
    return number(epoch_of(o, 0), "bytes_written") + number(epoch_of(o, 1), "bytes_written") +
           number(epoch_of(o, 2), "bytes_written");
}

static void packs_serve_a_cache_as_large(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t own = {"preset", "diskgnn", "cache", "10%", "epochs", "3"};
    static pairs_t packed = {"samples", "s", "cache", "10%"};
    static pairs_t same = {"samples", "s", "preset", "diskgnn", "cache", "10%"};
    static pairs_t resumed = {"samples", "s",   "preset", "diskgnn",
                              "cache",   "10%", "resume", "true"};
    static pairs_t larger = {"samples", "s", "preset", "diskgnn", "cache", "12%"};
    static pairs_t smaller = {"samples", "s", "preset", "diskgnn", "cache", "5%"};
    static pairs_t never = {"samples", "s",     "policy", "frequency",  "layout",
                            "packed",  "cache", "10%",    "eval-every", "0"};
    static pairs_t open = {"samples", "s", "cache", "12%"};
    static pairs_t open_smaller = {"samples", "s", "cache", "5%"};
    struct outcome whole = train(none);
    struct outcome alone = train(own);
    pack(packed);
    assert_true(test_is_there("s/pack/pack.json") && test_is_there("s/pack/draw2.pack"));
    struct outcome used = train(same);
    assert_same(&whole, &used);
    assert_true(written(&used) * 3 < written(&alone));
    assert_string_equal(used.said.text, "");
    drop(&used);
    drop(&alone);
    cut(same, 8); /* in the middle of a draw */
    used = train(resumed);
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    drop(&used);
    used = train(larger);
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    drop(&used);
    used = train(never);
    assert_string_equal(used.said.text, "");
    assert_int_equal(number(epoch_of(&used, 1), "bytes_written"), 0);
    drop(&used);
    used = train(smaller);
    assert_same(&whole, &used);
    assert_non_null(
        strstr(used.said.text, "for a cache of 300 rows, this run's has 150: it does without"));
    drop(&used);
    used = train(open); /* what is there is taken */
    assert_same(&whole, &used);
    assert_string_equal(used.said.text, "");
    const json_t *plan = json_object_get(used.summary, "plan");
    assert_string_equal(json_string_value(json_object_get(plan, "layout")), "packed");
    assert_int_equal(number(plan, "cache_rows"), 360);
    drop(&used);
    used = train(open_smaller);
    assert_same(&whole, &used);
    assert_non_null(strstr(used.said.text, "it does without"));
    assert_int_equal(number(json_object_get(used.summary, "plan"), "cache_rows"), 150);
    drop(&used);
    drop(&whole);
}

static void packs_of_reused_draws_serve(void **state)
{
    (void)state;
    static pairs_t five = {"resample-every", "2", "epochs", "5"};
    static pairs_t packed = {"samples", "s2", "cache", "10%", "eval-every", "0"};
    static pairs_t used = {"resample-every", "2",       "epochs", "5",  "samples", "s2",
                           "preset",         "diskgnn", "cache",  "10%"};
    pack(packed); /* without validation batches: those are read raw */
    struct outcome first = train(five);
    struct outcome other = train(used);
    assert_same(&first, &other);
    assert_string_equal(other.said.text, "");
    drop(&other);
    drop(&first);
}

/* ---- damage of what describes them ---- */

static bool left_over(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    bool found = false;
    while (dir && (e = readdir(dir)))
        found = found || strncmp(e->d_name, "pack", 4) == 0 || strstr(e->d_name, "scratch");
    if (dir)
        closedir(dir);
    return found;
}

/* Bytes for reading that a plan with these samples has. */
static json_int_t reading(const char *samples)
{
    pairs_t pairs = {"samples", samples, "preset", "diskgnn", "cache", "10%"};
    struct og_options opt;
    char *text = NULL;
    struct og_err err = {0};
    set_options(&opt, pairs);
    if (og_plan("graph", &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *plan = json_loads(text, 0, NULL);
    const json_int_t bytes = number(json_object_get(plan, "memory"), "read buffers");
    assert_true(bytes > 0);
    json_decref(plan);
    free(text);
    og__options_release(&opt);
    return bytes;
}

/* Whatever the disks are that features and scratch lie on. */
static void packs_made_are_read_by_their_own_disk(void **state)
{
    (void)state;
    char elsewhere[] = "/dev/shm/outgrow-packs-XXXXXX";
    char samples[sizeof(elsewhere) + 8];
    struct og_disk_profile p;
    if (og__same_disk("/dev/shm", root) || !mkdtemp(elsewhere))
        skip();
    snprintf(samples, sizeof(samples), "%s/s", elsewhere);
    test_shell("cp -r s %s%s", elsewhere, "");
    og__profile_load(elsewhere, &p);
    const json_int_t before = reading(samples);
    assert_int_equal(before, reading("s"));
    p.depth = 1024;
    assert_int_equal(og__profile_save(elsewhere, &p, NULL, NULL), 0);
    assert_true(reading(samples) > before);
    assert_int_equal(reading("s"), before);
    struct outcome there =
        train((pairs_t){"samples", samples, "preset", "diskgnn", "cache", "10%"});
    struct outcome here = train((pairs_t){"samples", "s", "preset", "diskgnn", "cache", "10%"});
    assert_same(&there, &here);
    assert_null(strstr(there.said.text, "packs for itself"));
    drop(&there);
    drop(&here);
    test_shell("rm -r %s%s", elsewhere, "");
}

static void packing_leaves_all_or_nothing(void **state)
{
    (void)state;
    static pairs_t again = {"samples", "s"};
    static pairs_t no_room = {"samples", "n", "disk", "300K", "cache", "5%"};
    static pairs_t fresh = {"samples", "n", "cache", "5%"};
    static pairs_t nothing = {NULL};
    struct og_err err = {0};
    assert_int_equal(try_pack(again, &err), -EEXIST);
    assert_int_equal(try_pack(nothing, NULL), -EINVAL);
    test_shell("cp -r s %s && rm -r %s/pack", "n", "n");
    assert_int_equal(try_pack(no_room, NULL), -ENOSPC);
    assert_false(left_over("n"));
    for (int at = 1; at <= 2; at++) {
        struct test_stopper s = {.at = at};
        const struct og_observer seen = {
            .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
        struct og_options opt;
        char *text = NULL;
        set_options(&opt, fresh);
        assert_int_equal(og_pack("graph", &opt, &seen, &text, NULL), OG_INTERRUPTED);
        assert_null(text);
        og__options_release(&opt);
        assert_false(left_over("n"));
    }
    pid_t pid = fork();
    if (pid == 0) { /* a file may not grow */
        const struct rlimit limit = {200 * 1024, 200 * 1024};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(try_pack(fresh, NULL) == 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(left_over("n"));
    pack(fresh);
    assert_true(left_over("n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_on_samples_is_the_same),
        cmocka_unit_test(every_model_and_sampler_finds_what_it_needs),
        cmocka_unit_test(more_neighbors_than_walks_meet_are_the_same),
        cmocka_unit_test(epochs_that_reuse_write_nothing),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(no_epochs_are_no_samples),
        cmocka_unit_test(a_moved_folder_serves_and_a_damaged_one_is_named),
        cmocka_unit_test(an_interrupted_run_goes_on_with_or_without),
        cmocka_unit_test(files_without_a_draw_drew_in_each_hop),
        cmocka_unit_test(packs_serve_a_cache_as_large),
        cmocka_unit_test(packs_of_reused_draws_serve),
        cmocka_unit_test(packs_made_are_read_by_their_own_disk),
        cmocka_unit_test(packing_leaves_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
