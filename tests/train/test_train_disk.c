/* What runs read from the disk and write to it: as predicted, within --disk, and nothing left. */
#include "support/files.h"
#include "train/train_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exact where all batches are known in advance: five, all of them profiling batches; or a
 * superbatch. */
static void predictions_come_true(void **state)
{
    (void)state;
    static const char *const some[][15] = {
        {"policy", "degree", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "belady", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"preset", "ginex", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "frequency", "cache", "5%", "epochs", "1", "eval-every", "0"},
        {"policy", "lru", "cache", "10%", "epochs", "1", "eval-every", "0"},
        {"policy", "belady", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "packed"},
        {"policy", "degree", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "packed"},
        {"policy", "belady", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented",
         "disk", "450K", "superbatch", "all"},
        {"policy", "degree", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented",
         "disk", "500K", "superbatch", "all"},
        {"policy", "none", "cache", "5%", "epochs", "1", "eval-every", "0", "layout", "segmented"},
    };
    static const char *const keys[] = {"rows",
                                       "hits",
                                       "misses",
                                       "reads",
                                       "bytes_read",
                                       "feature_bytes_read",
                                       "topology_bytes_read",
                                       "trace_bytes_read"};
    for (size_t k = 0; k < OG_COUNT(some); k++) {
        struct og_options opt;
        char *plan = NULL;
        set_options(&opt, "unused", some[k]);
        assert_int_equal(og_plan(dataset, &opt, NULL, &plan, NULL), 0);
        og__options_release(&opt);
        json_t *predicted = json_loads(plan, 0, NULL);
        struct outcome o = train("run", some[k]);
        const json_t *said = json_object_get(predicted, "predicted");
        const json_t *was = json_array_get(json_object_get(o.summary, "epochs"), 0);
        for (size_t i = 0; i < OG_COUNT(keys); i++)
            assert_int_equal(json_integer_value(json_object_get(said, keys[i])),
                             json_integer_value(json_object_get(was, keys[i])));
        json_decref(predicted);
        free(plan);
        drop(&o);
    }
}

static json_t *plan_of(const char *const some[])
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, "unused", some);
    assert_int_equal(og_plan(dataset, &opt, NULL, &text, NULL), 0);
    og__options_release(&opt);
    json_t *plan = json_loads(text, 0, NULL);
    free(text);
    return plan;
}

/* The profiling batches are the same, though from a disk they are sampled in a group. */
static void a_structure_on_disk_foretells_the_same(void **state)
{
    (void)state;
    static const char *const samplers[] = {"uniform", "labor", "ladies"};
    static const char *const keys[] = {"rows", "hits", "misses"};
    for (size_t k = 0; k < OG_COUNT(samplers); k++) {
        const char *some[] = {"policy", "degree",  "cache", "10%",      "epochs", "1", "batch",
                              "7",      "sampler", "",      "topology", "memory", NULL};
        some[9] = samplers[k];
        json_t *memory = plan_of(some);
        some[11] = "disk";
        json_t *disk = plan_of(some);
        for (size_t i = 0; i < OG_COUNT(keys); i++)
            assert_int_equal(
                json_integer_value(json_object_get(json_object_get(memory, "predicted"), keys[i])),
                json_integer_value(json_object_get(json_object_get(disk, "predicted"), keys[i])));
        json_decref(memory);
        json_decref(disk);
    }
}

/* There is nothing to predict, and a plan nevertheless. */
static void no_epochs_are_planned(void **state)
{
    (void)state;
    static const char *const some[][7] = {
        {"epochs", "0", "policy", "belady"},
        {"epochs", "0", "policy", "lru"},
        {"epochs", "0", "policy", "frequency", "layout", "packed"},
        {"epochs", "0", "policy", "degree", "layout", "segmented"},
    };
    for (size_t k = 0; k < OG_COUNT(some); k++) {
        struct og_options opt;
        struct og_err err = {0};
        char *plan = NULL;
        set_options(&opt, "unused", some[k]);
        if (og_plan(dataset, &opt, NULL, &plan, &err) < 0)
            fail_msg("%s: %s", err.message, err.hint);
        og__options_release(&opt);
        assert_non_null(strstr(plan, "\"predicted\": null"));
        free(plan);
    }
}

/* ---- killed while it had put much away ---- */

static size_t count_scratch(void)
{
    char path[128];
    size_t n = 0;
    in_root(path, "killed");
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strncmp(e->d_name, "outgrow-scratch", 15) == 0;
    if (dir)
        closedir(dir);
    return n;
}

static void killed_with(const char *preset, const char *layout, const char *disk)
{
    const char *const ahead[] = {"preset", preset,   "epochs", "400",  "superbatch", "50", "cache",
                                 "10%",    "layout", layout,   "disk", disk,         NULL};
    const char *const again[] = {"preset", preset,  "epochs", "400",    "superbatch",
                                 "50",     "cache", "10%",    "layout", layout,
                                 "disk",   disk,    "resume", "true",   NULL};
    size_t found = 0;
    for (int i = 0; i < 6 || (found == 0 && i < 100); i++) { /* later where all is slow */
        pid_t child = fork();
        if (child == 0) {
            struct og_options opt;
            set_options(&opt, "killed", i ? again : ahead);
            _exit(og_train(dataset, &opt, NULL, NULL, NULL) == 0 ? 0 : 1);
        }
        usleep(60000 + 25000 * (unsigned)i);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        found += count_scratch();
    }
    assert_true(found > 0); /* it was killed in the middle at least once */
    static const char *const last[] = {"policy", "degree", "resume", "true", "epochs", "400", NULL};
    interrupt("killed", last, 1);
    assert_int_equal(count_scratch(), 0);
    char path[128];
    in_root(path, "killed");
    og__remove_tree(path);
}

static void a_killed_run_leaves_nothing_after_the_next_start(void **state)
{
    (void)state;
    killed_with("ginex", "raw", "1G");
    killed_with("diskgnn", "packed", "1G");    /* killed while it packs, too */
    killed_with("diskgnn", "segmented", "3M"); /* while it writes shared rows */
}

/* By the run, and by a plan of it. */
static void refused_for_disk(const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    struct og_err planned = {0};
    char *plan = NULL;
    set_options(&opt, "killed", pairs);
    assert_int_equal(og_plan(dataset, &opt, NULL, &plan, &planned), -ENOSPC);
    assert_null(plan);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -ENOSPC);
    og__options_release(&opt);
    assert_non_null(strstr(err.message, "--disk"));
    assert_true(err.hint[0]);
    assert_non_null(strstr(planned.message, "--disk"));
    assert_int_equal(count_scratch(), 0);
    char path[128];
    in_root(path, "killed");
    og__remove_tree(path);
}

static void a_pack_beyond_the_disk_allowed_is_refused(void **state)
{
    (void)state;
    static const char *const little[][15] = {
        {"preset", "diskgnn", "resample-every", "3", "disk", "600K", "cache", "1%", "layout",
         "packed"},
        {"preset", "diskgnn", "resample-every", "3", "disk", "100K", "cache", "1%", "layout",
         "segmented"},
        {"policy", "belady", "superbatch", "1", "disk", "30K", "cache", "1%", "layout", "packed"},
    };
    for (size_t k = 0; k < OG_COUNT(little); k++)
        refused_for_disk(little[k]);
}

/* Rows are read where they are, but what is sampled ahead is spilled. */
static void batches_beyond_the_disk_allowed_are_refused(void **state)
{
    (void)state;
    static const char *const little[][15] = {
        {"policy", "belady", "cache", "5%", "superbatch", "all", "disk", "150K", "alternate",
         "true"},
        {"policy", "sweep", "cache", "10%", "superbatch", "all", "disk", "0", "alternate", "true"},
        {"policy", "belady", "cache", "100%", "superbatch", "3", "disk", "4K", "alternate", "true",
         "layout", "segmented"},
        {"policy", "frequency", "cache", "5%", "resample-every", "3", "disk", "100K", "alternate",
         "true"},
    };
    for (size_t k = 0; k < OG_COUNT(little); k++)
        refused_for_disk(little[k]);
}

/* The maximum in a scratch folder while batches were trained. */
struct disk_watch {
    char scratch[128];
    uint64_t most;
};

static void look_at_disk(void *arg, const struct og_progress *p)
{
    struct disk_watch *w = arg;
    (void)p;
    w->most = OG_MAX(w->most, test_bytes_under(w->scratch));
}

/* Trains with --disk, and returns the maximum there. */
static uint64_t most_on_disk(const char *const *pairs, struct outcome *o)
{
    struct disk_watch w = {.most = 0};
    const struct og_observer seen = {.size = sizeof(seen), .arg = &w, .progress = look_at_disk};
    const char *all[24] = {"scratch", w.scratch};
    size_t n = 2;
    in_root(w.scratch, "scratch");
    assert_int_equal(mkdir(w.scratch, 0700), 0);
    while (*pairs && n + 2 < OG_COUNT(all))
        all[n++] = *pairs++;
    assert_null(*pairs);
    *o = train_seen("run", all, &seen);
    assert_int_equal(rmdir(w.scratch), 0); /* and nothing stays */
    return w.most;
}

/* As many batches as there is room for, whatever else the policy spills. Hybrid keeps a tail of the
 * coming batches, which goes piece by piece while its superbatch is trained. */
static void batches_sampled_ahead_keep_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const policies[] = {"belady", "frequency", "sweep", "hybrid"};
    static const char *const limits[] = {"100K", "200K", "300K"}; /* all: 360K */
    for (size_t k = 0; k < OG_COUNT(policies) * OG_COUNT(limits); k++) {
        const char *const pairs[] = {"policy", policies[k / 3], "cache",       "20%", "alternate",
                                     "true",   "disk",          limits[k % 3], NULL};
        const uint64_t limit = strtoull(limits[k % 3], NULL, 10) << 10;
        struct outcome o;
        const uint64_t most = most_on_disk(pairs, &o);
        const uint64_t least = strcmp(policies[k / 3], "hybrid") == 0 ? limit / 3 : limit / 2;
        if (most > limit || most < least)
            fail_msg("%s, %s: %llu bytes on disk", policies[k / 3], limits[k % 3],
                     (unsigned long long)most);
        drop(&o);
    }
}

/* Several folders change nothing, whatever is stored there and on how many disks. Losses,
 * parameters and counts are the same, shares are equal, and nothing is left. Where --disk is short
 * what is read differs: it is the fullest folder that fills its share. */
static void several_folders_change_nothing(void **state)
{
    (void)state;
    static const char *const ways[][14] = {
        {"policy", "belady", "cache", "10%", "alternate", "true", "superbatch", "4"},
        {"policy", "belady", "cache", "5%", "layout", "packed"},
        {"preset", "diskgnn", "resample-every", "3", "layout", "segmented", "cache", "1%", "disk",
         "1000K"},
        {"topology", "disk", "policy", "degree", "cache", "10%", "model", "gcn"},
        {"topology", "disk", "sampler", "labor", "policy", "sweep", "cache", "30%"},
    };
    enum { SHORT = 2 };
    char one[128], two[128], both[300];
    in_root(one, "one");
    in_root(two, "two");
    snprintf(both, sizeof(both), "%s,%s", one, two);
    for (size_t k = 0; k < OG_COUNT(ways); k++) {
        const char *pairs[18] = {"scratch", one};
        for (size_t i = 0; ways[k][i]; i++)
            pairs[2 + i] = ways[k][i];
        struct outcome a = train("run", pairs);
        pairs[1] = both;
        struct outcome b = train("run", pairs);
        assert_same(&a, &b);
        for (size_t e = 0; e < 3; e++) {
            static const char *const keys[] = {"rows", "misses", "bytes_read", "bytes_written"};
            for (size_t i = 0; i < (k == SHORT ? 2 : OG_COUNT(keys)); i++) {
                const json_t *x = json_array_get(json_object_get(a.summary, "epochs"), e);
                const json_t *y = json_array_get(json_object_get(b.summary, "epochs"), e);
                assert_int_equal(json_integer_value(json_object_get(x, keys[i])),
                                 json_integer_value(json_object_get(y, keys[i])));
            }
        }
        drop(&a);
        drop(&b);
        assert_int_equal(test_entries(two), 0);
        og__remove_tree(one); /* a neighbour cache may be kept there */
        og__remove_tree(two);
    }
}

/* The bytes that lie in each folder while batches are trained. */
struct shares_watch {
    char folder[2][128];
    uint64_t most[2];
};

static void look_at_shares(void *arg, const struct og_progress *p)
{
    struct shares_watch *w = arg;
    (void)p;
    for (int i = 0; i < 2; i++)
        w->most[i] = OG_MAX(w->most[i], test_bytes_under(w->folder[i]));
}

static void folders_have_equal_shares(void **state)
{
    (void)state;
    struct shares_watch w = {.most = {0}};
    const struct og_observer seen = {.size = sizeof(seen), .arg = &w, .progress = look_at_shares};
    char both[300];
    in_root(w.folder[0], "one");
    in_root(w.folder[1], "two");
    snprintf(both, sizeof(both), "%s,%s", w.folder[0], w.folder[1]);
    const char *const pairs[] = {"scratch", both,     "policy",     "belady", "cache",  "1%",
                                 "layout",  "packed", "superbatch", "all",    "fanout", "12,12",
                                 "batch",   "32",     "epochs",     "1",      NULL};
    struct outcome o = train_seen("run", pairs, &seen);
    drop(&o);
    for (int i = 0; i < 2; i++) { /* of packed files in units of a MiB, and of files of samples */
        if (w.most[i] == 0 || 3 * w.most[i] < w.most[1 - i])
            fail_msg("%llu and %llu bytes", (unsigned long long)w.most[0],
                     (unsigned long long)w.most[1]);
        assert_int_equal(test_entries(w.folder[i]), 0);
        og__remove_tree(w.folder[i]);
    }
}

static void a_folder_that_serves_not_is_named_before_anything_starts(void **state)
{
    (void)state;
    static const char *const whys[] = {"one is there twice", "is no folder"};
    char one[128], file[128], list[300];
    in_root(one, "one");
    in_root(file, "file");
    assert_int_equal(og__write_text(file, "x", 1, NULL), 0);
    for (size_t k = 0; k < OG_COUNT(whys); k++) {
        snprintf(list, sizeof(list), "%s,%s", one, k ? file : one);
        const char *const pairs[] = {"policy", "belady", "scratch", list, NULL};
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, "killed", pairs);
        assert_true(og_train(dataset, &opt, NULL, NULL, &err) < 0);
        og__options_release(&opt);
        if (!strstr(err.message, whys[k]) || !err.hint[0])
            fail_msg("%s: %s", list, err.message);
        in_root(list, "killed");
        assert_false(test_is_there(list) || test_is_there(one));
    }
    unlink(file);
}

/* It is kept for the next run where there is room, else not. */
static void a_neighbour_cache_keeps_to_the_disk_allowed(void **state)
{
    (void)state;
    char scratch[128];
    in_root(scratch, "scratch");
    for (int room = 0; room < 2; room++) {
        const char *const pairs[] = {"topology", "disk", "neighbor-cache",      "40K", "scratch",
                                     scratch,    "disk", room ? "100K" : "10K", NULL};
        assert_int_equal(mkdir(scratch, 0700), 0);
        struct outcome o = train("run", pairs);
        drop(&o);
        assert_int_equal(rmdir(scratch) == 0, !room);
        og__remove_tree(scratch);
    }
}

/* More than there are is all of them. */
static void a_superbatch_ends_with_the_run(void **state)
{
    (void)state;
    static const char *const many[] = {"policy", "belady", "superbatch", "1000000000", NULL};
    static const char *const few[] = {"policy", "belady", "superbatch", "24", NULL};
    struct outcome a = train("run", many);
    struct outcome b = train("run", few);
    const json_t *plan = json_object_get(a.summary, "plan");
    assert_true(json_integer_value(json_object_get(plan, "superbatch")) <= 100);
    assert_same(&a, &b);
    drop(&a);
    drop(&b);
}

/* Where packing every batch is refused segments do it, and keep to what they may take. */
static void segments_keep_to_the_disk_allowed(void **state)
{
    (void)state;
    static const char *const limits[] = {"850K", "1000K", "1200K"};
    for (size_t i = 0; i < OG_COUNT(limits); i++) {
        const char *const pairs[] = {
            "preset", "diskgnn", "resample-every", "3",       "layout", "segmented",
            "cache",  "1%",      "disk",           limits[i], NULL};
        struct outcome o;
        const uint64_t most = most_on_disk(pairs, &o);
        assert_in_range(most, 1, strtoull(limits[i], NULL, 10) << 10);
        const json_t *first = json_array_get(json_object_get(o.summary, "epochs"), 0);
        double written = (double)json_integer_value(json_object_get(first, "bytes_written"));
        assert_true(written <= 1.01 * 1024 * strtod(limits[i], NULL));
        assert_true(written > 0);
        drop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_come_true),
        cmocka_unit_test(a_structure_on_disk_foretells_the_same),
        cmocka_unit_test(no_epochs_are_planned),
        cmocka_unit_test(a_killed_run_leaves_nothing_after_the_next_start),
        cmocka_unit_test(a_pack_beyond_the_disk_allowed_is_refused),
        cmocka_unit_test(batches_beyond_the_disk_allowed_are_refused),
        cmocka_unit_test(batches_sampled_ahead_keep_to_the_disk_allowed),
        cmocka_unit_test(several_folders_change_nothing),
        cmocka_unit_test(folders_have_equal_shares),
        cmocka_unit_test(a_folder_that_serves_not_is_named_before_anything_starts),
        cmocka_unit_test(a_neighbour_cache_keeps_to_the_disk_allowed),
        cmocka_unit_test(a_superbatch_ends_with_the_run),
        cmocka_unit_test(segments_keep_to_the_disk_allowed),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_dataset, remove_all);
}
