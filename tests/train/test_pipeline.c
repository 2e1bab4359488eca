/* --pipeline none: the same numbers and bytes, and no stage works while another one does. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_run.h"

#include "base/base.h"
#include "base/file.h"

#include <jansson.h>
#include <outgrow/outgrow.h>
#include <stdlib.h>

static char dataset[300], run_path[300], spans_path[300];

static int make_dataset(void **state)
{
    struct og_err err = {0};
    if (make_folder(state) < 0)
        return -1;
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    snprintf(run_path, sizeof(run_path), "%s/run", folder);
    snprintf(spans_path, sizeof(spans_path), "%s/spans.json", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    struct og_generate g = small_graph(OG_RMAT);
    g.nodes = 4096;
    g.degree = 8;
    g.dim = 256;
    g.train_fraction = 0.15;
    if (og_generate(dataset, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

struct result {
    json_t *summary, *spans;
    char *checkpoint;
    size_t bytes;
};

static json_t *load(char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

/* way: words of options, ended by NULL. */
static struct result train(const char *const *way, const char *pipeline)
{
    struct result r = {0};
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL, path[400];
    size_t n;
    small_run(&opt, run_path);
    assert_int_equal(og_options_set(&opt, "epochs", "2", NULL), 0);
    assert_int_equal(og_options_set(&opt, "threads", "4", NULL), 0);
    assert_int_equal(og_options_set(&opt, "pipeline", pipeline, NULL), 0);
    assert_int_equal(og_options_set(&opt, "trace-timeline", spans_path, NULL), 0);
    for (; *way; way += 2)
        assert_int_equal(og_options_set(&opt, way[0], way[1], NULL), 0);
    if (og_train(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    r.summary = load(text);
    assert_int_equal(og__read_text(spans_path, 1 << 26, &text, &n, NULL), 0);
    r.spans = load(text);
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(og__read_text(path, 1 << 24, &r.checkpoint, &r.bytes, NULL), 0);
    og__remove_tree(run_path);
    unlink(spans_path);
    og__options_release(&opt);
    return r;
}

static void drop(struct result *r)
{
    json_decref(r->summary);
    json_decref(r->spans);
    free(r->checkpoint);
}

/* ---- what overlaps ---- */

struct span {
    const char *stage;
    double start, end; /* microseconds */
};

static int by_start(const void *left, const void *right)
{
    const struct span *a = left;
    const struct span *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* A superbatch is sampled by several threads, and spilled meanwhile: that is one stage. A batch
 * that goes straight through is sampled by one. */
static bool is_one_stage(const struct span *a, const struct span *b)
{
    const bool first = strcmp(a->stage, "put away") == 0;
    const bool second = strcmp(b->stage, "put away") == 0;
    return (first || strcmp(a->stage, "sample") == 0) &&
           (second || strcmp(b->stage, "sample") == 0);
}

/* Seconds that stages worked while another one did. Times are written to a tenth of a microsecond,
 * so that much may seem to overlap. */
static double overlap(const struct result *r)
{
    const size_t n = json_array_size(r->spans);
    struct span *all = calloc(n, sizeof(*all));
    size_t n_spans = 0, i;
    double both = 0;
    json_t *entry;
    assert_non_null(all);
    json_array_foreach(r->spans, i, entry)
    {
        if (strcmp(json_string_value(json_object_get(entry, "ph")), "X") != 0)
            continue;
        double start = json_number_value(json_object_get(entry, "ts"));
        double took = json_number_value(json_object_get(entry, "dur"));
        const char *stage = json_string_value(json_object_get(entry, "name"));
        all[n_spans++] = (struct span){stage, start, start + took};
    }
    assert_true(n_spans > 40);
    qsort(all, n_spans, sizeof(*all), by_start);
    for (size_t k = 0; k < n_spans; k++)
        for (size_t j = k + 1; j < n_spans && all[j].start < all[k].end - 1; j++)
            if (!is_one_stage(&all[k], &all[j]))
                both += OG_MIN(all[j].end, all[k].end) - all[j].start;
    free(all);
    return both / 1e6;
}

/* ---- tests ---- */

static const char *const ways[][11] = {
    {"policy", "degree", "cache", "10%"},
    {"policy", "lru", "cache", "10%", "topology", "disk", "neighbor-cache", "0"},
    {"policy", "belady", "cache", "10%", "superbatch", "7"},
    {"policy", "sweep", "cache", "30%"},
    {"policy", "frequency", "cache", "10%", "layout", "packed", "alternate", "true"},
    {"policy", "hybrid", "cache", "10%", "accumulate", "4", "trainers", "4"},
};

static void nothing_goes_on_beside_a_stage(void **state)
{
    (void)state;
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        struct result r = train(ways[i], "none");
        if (overlap(&r) > 0)
            fail_msg("%s: stages overlap by %g s", ways[i][1], overlap(&r));
        drop(&r);
    }
}

/* Side by side, something does: else the test above says nothing. */
static void stages_overlap_by_default(void **state)
{
    (void)state;
    double both = 0;
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        struct result r = train(ways[i], "batches");
        both += overlap(&r);
        drop(&r);
    }
    assert_true(both > 0);
}

static void numbers_and_bytes_are_the_same(void **state)
{
    (void)state;
    static const char *const keys[] = {"loss", "hits", "misses", "prefill", "feature_bytes_read"};
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        struct result a = train(ways[i], "batches");
        struct result b = train(ways[i], "none");
        assert_int_equal(a.bytes, b.bytes);
        assert_memory_equal(a.checkpoint, b.checkpoint, a.bytes);
        for (size_t e = 0; e < 2; e++)
            for (size_t k = 0; k < OG_COUNT(keys); k++) {
                const json_t *x = json_array_get(json_object_get(a.summary, "epochs"), e);
                const json_t *y = json_array_get(json_object_get(b.summary, "epochs"), e);
                assert_true(json_equal(json_object_get(x, keys[k]), json_object_get(y, keys[k])));
            }
        drop(&a);
        drop(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_goes_on_beside_a_stage),
        cmocka_unit_test(stages_overlap_by_default),
        cmocka_unit_test(numbers_and_bytes_are_the_same),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
