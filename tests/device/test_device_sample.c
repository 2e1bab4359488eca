/* Sampling on a device: traces are those of the CPUs, byte for byte. */
#include "dataset/generate/options.h"
#include "dataset/import/options.h"
#include "device/tested_device.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_run.h"

#include "base/file.h"
#include "device/virtual.h"
#include "support/runs.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>

static char traces[2][400];

static void set(struct og_options *opt, const char *name, const char *value)
{
    struct og_err err = {0};
    if (og_options_set(opt, name, value, &err) < 0)
        fail_msg("%s", err.message);
}

static void sample(const char *dataset, const char *const *way, const char *place, const char *out)
{
    struct og_options opt;
    struct og_err err = {0};
    og__options_init(&opt);
    set(&opt, "memory", "96M");
    set(&opt, "threads", "3");
    set(&opt, "epochs", "2");
    set(&opt, "device", tested_device());
    set(&opt, "sample-on", place);
    for (; *way; way += 2)
        set(&opt, way[0], way[1]);
    if (og_sample(dataset, out, false, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
}

/* Every array of the one is there in the other, and the same. */
static int count_same(const char *a, const char *b)
{
    DIR *dir = opendir(a);
    int n = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[2][700], *text[2];
        size_t bytes[2];
        if (!strstr(e->d_name, ".npy"))
            continue;
        snprintf(path[0], sizeof(path[0]), "%s/%s", a, e->d_name);
        snprintf(path[1], sizeof(path[1]), "%s/%s", b, e->d_name);
        for (int i = 0; i < 2; i++)
            assert_int_equal(og__read_text(path[i], 1 << 28, &text[i], &bytes[i], NULL), 0);
        if (bytes[0] != bytes[1] || memcmp(text[0], text[1], bytes[0]) != 0)
            fail_msg("%s differs", e->d_name);
        free(text[0]);
        free(text[1]);
        n++;
    }
    closedir(dir);
    return n;
}

static void compare(const char *dataset, const char *const *way)
{
    static int pace;
    struct og_virtual v = og__virtual_usual;
    sample(dataset, way, "host", traces[0]);
    for (int pinned = 0; pinned < 2; pinned++) {
        v.order = (enum og__order)(pace % OG__ORDERS);
        v.pace = (enum og__pace)(pace % OG__PACES);
        v.seed = (uint64_t)pace++;
        og__virtual_become(&v);
        sample(dataset, way, pinned ? "pinned" : "device", traces[1]);
        assert_true(on_gpu() || og__virtual_calls() > 100);
        og__virtual_become(&og__virtual_usual);
        assert_true(count_same(traces[0], traces[1]) >= 7);
        og__remove_tree(traces[1]);
    }
    og__remove_tree(traces[0]);
}

static const char *const ways[][7] = {
    {"batch", "100", "fanout", "10,5", NULL},
    {"batch", "60", "fanout", "-1,3", NULL},
    {"batch", "30", "fanout", "3,-1", "draw", "once", NULL},
    {"batch", "50", "fanout", "60,70", NULL}, /* more than are looked through, on CPUs */
    {"batch", "40", "fanout", "5,4,3", "draw", "once", NULL},
    {"batch", "7", "fanout", "1", "seed", "9", NULL},
};

static void traces_are_the_same(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        char dataset[400];
        struct og_generate g = small_graph(k ? OG_RMAT : OG_PLANTED);
        struct og_err err = {0};
        snprintf(dataset, sizeof(dataset), "%s/graph%d", folder, k);
        g.nodes = k ? 6000 : 2500;
        g.degree = k ? 24 : 9;
        if (og_generate(dataset, &g, NULL, &err) < 0)
            fail_msg("%s", err.message);
        for (size_t i = (size_t)k % test_ways_step_of(2); i < OG_COUNT(ways);
             i += test_ways_step_of(2))
            compare(dataset, ways[i]);
    }
}

static void real_graphs_too(void **state)
{
    (void)state;
    static const char *const names[] = {"cora", "tolokers", "debian-packages"};
    static const char *const way[] = {"batch", "500", "fanout", "10,10", "epochs", "1", NULL};
    const char *shared = getenv("OUTGROW_DATA");
    char source[500], dataset[400];
    int n = 0;
    snprintf(dataset, sizeof(dataset), "%s/imported", folder);
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct og_import import;
        struct og_err err = {0};
        snprintf(source, sizeof(source), "%s/%s", shared ? shared : "../shared/data", names[i]);
        if (access(source, R_OK) != 0)
            continue;
        og__import_init(&import);
        import.symmetrize = true;
        import.drop_types = true;
        if (og_import("npy", source, dataset, &import, NULL, &err) < 0)
            fail_msg("%s", err.message);
        compare(dataset, way);
        og__remove_tree(dataset);
        n++;
    }
    if (n == 0)
        skip();
}

/* A run that samples there has the same numbers. */
static void training_is_the_same(void **state)
{
    (void)state;
    enum { PLACES = 3 };
    static const char *const places[PLACES] = {"host", "device", "pinned"};
    char dataset[400], run[400], *text[PLACES], path[500];
    size_t bytes[PLACES];
    snprintf(dataset, sizeof(dataset), "%s/graph1", folder);
    snprintf(run, sizeof(run), "%s/run", folder);
    for (int i = 0; i < PLACES; i++) {
        struct og_options opt;
        struct og_err err = {0};
        small_run(&opt, run);
        set(&opt, "batch", "200");
        set(&opt, "threads", "3");
        set(&opt, "device", tested_device());
        set(&opt, "sample-on", places[i]);
        if (i) {
            set(&opt, "policy", "degree");
            set(&opt, "device-memory", "96M");
        }
        if (og_train(dataset, &opt, NULL, NULL, &err) < 0)
            fail_msg("%s: %s", err.message, err.hint);
        snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run);
        assert_int_equal(og__read_text(path, 1 << 24, &text[i], &bytes[i], NULL), 0);
        og__remove_tree(run);
        og__options_release(&opt);
    }
    for (int i = 1; i < PLACES; i++) {
        assert_int_equal(bytes[0], bytes[i]);
        assert_memory_equal(text[0], text[i], bytes[0]);
    }
    for (int i = 0; i < PLACES; i++)
        free(text[i]);
}

static json_int_t planned_there(const char *dataset, const char *place)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    og__options_init(&opt);
    set(&opt, "device", tested_device());
    set(&opt, "sample-on", place);
    set(&opt, "policy", "degree");
    set(&opt, "memory", "96M");
    set(&opt, "device-memory", "96M");
    if (og_plan(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    json_t *plan = json_loads(text, 0, NULL);
    const json_t *memory = json_object_get(json_object_get(plan, "device"), "memory");
    const json_int_t bytes = json_integer_value(json_object_get(memory, "sampling"));
    json_decref(plan);
    free(text);
    og__options_release(&opt);
    return bytes;
}

/* Lists that stay in the host's memory are none of the device's. */
static void pinned_lists_take_nothing_there(void **state)
{
    (void)state;
    enum { HEAD = 4096, EACH = 4 }; /* of the file; of an index */
    char dataset[400], path[500];
    struct stat file;
    snprintf(dataset, sizeof(dataset), "%s/graph1", folder);
    snprintf(path, sizeof(path), "%s/indices.npy", dataset);
    assert_int_equal(stat(path, &file), 0);
    const json_int_t lists = planned_there(dataset, "device") - planned_there(dataset, "pinned");
    assert_int_equal(lists, file.st_size - HEAD);
    assert_true(lists > 100000 * EACH);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][4] = {{"device", "device", "cpu", "the host"},
                                           {"device", "sampler", "labor", "uniform"},
                                           {"device", "topology", "disk", "memory"},
                                           {"pinned", "alternate", "true", "would release"}};
    char dataset[400];
    snprintf(dataset, sizeof(dataset), "%s/graph1", folder);
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_options opt;
        struct og_err err = {0};
        og__options_init(&opt);
        set(&opt, "device", tested_device());
        set(&opt, "sample-on", cases[i][0]);
        set(&opt, cases[i][1], cases[i][2]);
        assert_int_equal(og_sample(dataset, traces[0], false, &opt, NULL, NULL, &err), -EINVAL);
        if (!strstr(err.message, cases[i][3]))
            fail_msg("%s %s: %s", cases[i][1], cases[i][2], err.message);
        assert_true(access(traces[0], F_OK) < 0);
        og__options_release(&opt);
    }
}

static int make(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    setenv("XDG_CACHE_HOME", folder, 1);
    for (int i = 0; i < 2; i++)
        snprintf(traces[i], sizeof(traces[i]), "%s/trace%d", folder, i);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_are_the_same),
        cmocka_unit_test(real_graphs_too),
        cmocka_unit_test(training_is_the_same),
        cmocka_unit_test(pinned_lists_take_nothing_there),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, make, remove_folder);
}
