/* Inference over several folders of --scratch. Layers are stored in all of them, the outputs are
 * bit-identical, and a stopped run resumes. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/temporary.h"
#include "support/files.h"
#include "support/folder.h"
#include "support/runs.h"

#include <outgrow/outgrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 3, OUTPUTS = 2 };

static char root[TEST_PATH];
static char graph[TEST_PATH + 32], checkpoint[TEST_PATH + 64];
static char output[OUTPUTS][TEST_PATH + 32];
static char folder[FOLDERS][TEST_PATH + 32];

static const char *const models[] = {"gcn", "gat"};

/* Rows of 256 bytes, so that a layer's are five units and a part of one. */
static int set_up(void **state)
{
    (void)state;
    struct og_generate g;
    assert_non_null(test_folder(root, "folders"));
    setenv("XDG_CACHE_HOME", root, 1);
    snprintf(graph, sizeof(graph), "%s/graph", root);
    for (int i = 0; i < OUTPUTS; i++)
        snprintf(output[i], sizeof(output[i]), "%s/out%d.npy", root, i);
    for (int i = 0; i < FOLDERS; i++)
        snprintf(folder[i], sizeof(folder[i]), "%s/scratch%d", root, i);
    og__generate_init(&g);
    g.nodes = 23000;
    g.degree = 5;
    g.dim = 16;
    g.classes = 4;
    return og_generate(graph, &g, NULL, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    og__remove_tree(root);
    return 0;
}

/* An untrained model. */
static void make_model(const char *kind)
{
    char run[TEST_PATH + 16];
    struct og_options opt;
    struct og_err err = {0};
    snprintf(run, sizeof(run), "%s/run", root);
    snprintf(checkpoint, sizeof(checkpoint), "%s/checkpoint.safetensors", run);
    og__remove_tree(run);
    og__options_init(&opt);
    test_set(&opt, "model", kind);
    test_set(&opt, "hidden", "64");
    test_set(&opt, "fanout", "3,3,3");
    test_set(&opt, "epochs", "0");
    test_set(&opt, "run", run);
    test_set(&opt, "threads", "2");
    if (og_train(graph, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    og__options_release(&opt);
}

/* What a run reports, and how much each folder held at some time. */
struct heard {
    volatile sig_atomic_t stop;
    int stop_layer; /* 0 = none */
    uint64_t most[FOLDERS];
    struct test_said said;
};

static void hear_progress(void *arg, const struct og_progress *p)
{
    struct heard *h = arg;
    for (int i = 0; i < FOLDERS; i++)
        h->most[i] = OG_MAX(h->most[i], test_bytes_under(folder[i]));
    if (p->epoch == h->stop_layer && p->done > p->total / 2)
        test_ask_stop(&h->stop);
}

static void hear_message(void *arg, int level, const char *text)
{
    struct heard *h = arg;
    test_note_message(&h->said, level, text);
}

static int predict(int folders, bool resume, struct heard *h, struct og_err *err)
{
    char list[FOLDERS * (sizeof(folder[0]) + 1)] = "";
    const struct og_observer seen = {.size = sizeof(seen),
                                     .message = hear_message,
                                     .progress = hear_progress,
                                     .arg = h,
                                     .stop = &h->stop};
    struct og_options opt;
    for (int i = 0; i < folders; i++) {
        const size_t n = strlen(list);
        if (i > 0)
            list[n] = ',';
        memcpy(list + n + (i > 0), folder[i], strlen(folder[i]) + 1);
    }
    og__options_init(&opt);
    test_set(&opt, "memory", "40M");
    test_set(&opt, "threads", "2");
    test_set(&opt, "checkpoint-every", "0");
    test_set(&opt, "scratch", list);
    test_set(&opt, "resume", resume ? "true" : "false");
    int rc = og_predict(graph, checkpoint, output[0], output[1], &opt, &seen, NULL, err);
    og__options_release(&opt);
    return rc;
}

struct bytes {
    char *data[OUTPUTS];
    size_t n[OUTPUTS];
};

/* What was made, which then is removed; nothing else is left. */
static struct bytes take(void)
{
    struct bytes b;
    for (int i = 0; i < OUTPUTS; i++) {
        b.data[i] = test_read(output[i], &b.n[i]);
        unlink(output[i]);
    }
    for (int i = 0; i < FOLDERS; i++)
        assert_int_equal(test_entries(folder[i]), 0);
    return b;
}

static void drop(struct bytes *b)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(b->data[i]);
}

static void assert_same(const struct bytes *wanted)
{
    struct bytes found = take();
    for (int i = 0; i < OUTPUTS; i++) {
        assert_int_equal(found.n[i], wanted->n[i]);
        assert_memory_equal(found.data[i], wanted->data[i], wanted->n[i]);
    }
    drop(&found);
}

static void must_predict(int folders, bool resume, struct heard *h)
{
    struct og_err err = {0};
    if (predict(folders, resume, h, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

static void layers_lie_in_all_folders(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(models); k++) {
        make_model(models[k]);
        struct heard one = {0};
        must_predict(1, false, &one);
        struct bytes wanted = take();
        const uint64_t all = one.most[0];
        assert_true(all > 5 * OG_MIB && one.most[1] == 0);
        for (int folders = 2; folders <= FOLDERS; folders++) {
            struct heard h = {0};
            must_predict(folders, false, &h);
            assert_same(&wanted);
            for (int i = 0; i < FOLDERS; i++) { /* a unit more, or a unit less, of each file */
                const uint64_t share = i < folders ? all / (uint64_t)folders : 0;
                assert_in_range(h.most[i], share - OG_MIN(share, 3 * OG_MIB), share + 3 * OG_MIB);
                assert_int_equal(h.most[i] > OG_MIB / 2, i < folders);
            }
        }
        drop(&wanted);
    }
}

static void a_stopped_run_goes_on_over_them(void **state)
{
    (void)state;
    struct heard whole = {0};
    must_predict(1, false, &whole);
    struct bytes wanted = take();
    for (int layer = 1; layer <= 3; layer++) {
        struct heard cut = {.stop_layer = layer};
        struct heard rest = {0};
        assert_int_equal(predict(2, false, &cut, NULL), OG_INTERRUPTED);
        assert_int_equal(test_entries(folder[0]), 1);
        assert_int_equal(test_entries(folder[1]), 1);
        must_predict(2, true, &rest);
        assert_non_null(strstr(rest.said.text, "resuming in layer"));
        assert_same(&wanted);
    }
    /* with other folders it starts again, and files in those that it has go */
    struct heard cut = {.stop_layer = 2};
    struct heard rest = {0};
    assert_int_equal(predict(2, false, &cut, NULL), OG_INTERRUPTED);
    must_predict(3, true, &rest);
    assert_non_null(strstr(rest.said.text, "of other folders of --scratch"));
    assert_same(&wanted);
    drop(&wanted);
}

/* A byte of the second part. */
static void damage_to_a_part_is_found(void **state)
{
    (void)state;
    struct heard whole = {0};
    struct heard cut = {.stop_layer = 2};
    struct heard rest = {0};
    must_predict(1, false, &whole);
    struct bytes wanted = take();
    assert_int_equal(predict(2, false, &cut, NULL), OG_INTERRUPTED);
    test_shell("printf x | dd of=$(ls -S %s/outgrow-infer-*/*.npy | head -1) bs=1 seek=9000 "
               "conv=notrunc 2>/dev/null",
               folder[1]);
    must_predict(2, true, &rest);
    assert_non_null(strstr(rest.said.text, "damaged; starting over"));
    assert_same(&wanted);
    drop(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_lie_in_all_folders),
        cmocka_unit_test(a_stopped_run_goes_on_over_them),
        cmocka_unit_test(damage_to_a_part_is_found),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
