/* Results that nobody needs: every call takes NULL in place of where its text would go. Also
 * workers where there is nothing for them to share, and structs that do not say their size. */
#include "dataset/generate/options.h"
#include "dataset/import/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_graph.h"
#include "support/testing.h"

#include <outgrow/outgrow.h>

#include <string.h>
#include <unistd.h>

static const char *at(const char *name)
{
    static char path[4][400];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static void options(struct og_options *opt)
{
    og__options_init(opt);
    opt->fanout[0] = opt->fanout[1] = 2;
    opt->n_fanout = 2;
    opt->hidden = 8;
    opt->epochs = 1;
    opt->threads = 2;
    opt->io = OG_IO_PREAD;
    assert_int_equal(og_options_set(opt, "memory", "200M", NULL), 0);
}

static void nothing_has_to_be_told(void **state)
{
    (void)state;
    struct og_generate g;
    struct og_options o;
    struct og_err err = {0};
    char graph[400], best[500];
    snprintf(graph, sizeof(graph), "%s", at("g"));
    small_graph_init(&g);
    options(&o);
    assert_int_equal(og_generate(graph, &g, NULL, &err), 0);
    assert_int_equal(og_options_set(&o, "run", at("run"), NULL), 0);
    assert_int_equal(og_train(graph, &o, NULL, NULL, &err), 0);
    snprintf(best, sizeof(best), "%s/best.safetensors", at("run"));
    og__options_release(&o);
    options(&o);
    assert_int_equal(og_eval(graph, best, "test", &o, NULL, NULL, &err), 0);
    assert_int_equal(og_eval_full(graph, best, "test", &o, NULL, NULL, &err), 0);
    assert_int_equal(og_predict(graph, best, at("p.npy"), NULL, &o, NULL, NULL, &err), 0);
    assert_int_equal(og_plan(graph, &o, NULL, NULL, &err), 0);
    assert_int_equal(og_simulate(graph, "lru", "5%", NULL, &o, NULL, NULL, &err), 0);
    assert_int_equal(og_sample(graph, at("samples"), false, &o, NULL, NULL, &err), 0);
    assert_int_equal(og_info(graph, NULL, &err), 0);
    assert_int_equal(og_cache(at("g"), false, NULL, &err), 0);
    og__options_release(&o);
    options(&o);
    assert_int_equal(og_options_set(&o, "samples", at("samples"), NULL), 0);
    assert_int_equal(og_pack(graph, &o, NULL, NULL, &err), 0);
    og__options_release(&o);
}

static void refusals_need_nowhere_either(void **state)
{
    (void)state;
    struct og_options o;
    struct og_err err = {0};
    options(&o);
    assert_int_not_equal(og_pack(at("none"), &o, NULL, NULL, &err), 0);
    assert_int_not_equal(og_plan(at("none"), &o, NULL, NULL, &err), 0);
    assert_int_not_equal(og_info(at("none"), NULL, &err), 0);
    og__options_release(&o);
}

static void refuse_workers(int rc, struct og_err *err)
{
    assert_int_equal(rc, -EINVAL);
    assert_non_null(strstr(err->message, "--workers 3: this command runs in one process"));
    assert_non_null(strstr(err->hint, "leave --workers out"));
    *err = (struct og_err){0};
}

static void one_process_takes_no_workers(void **state)
{
    (void)state;
    struct og_options o;
    struct og_err err = {0};
    char graph[400], best[500], samples[400];
    snprintf(graph, sizeof(graph), "%s", at("g"));
    snprintf(samples, sizeof(samples), "%s", at("samples"));
    snprintf(best, sizeof(best), "%s/best.safetensors", at("run"));
    og__remove_tree(at("samples/pack"));
    options(&o);
    o.workers = 3;
    refuse_workers(og_sample(graph, at("s"), false, &o, NULL, NULL, &err), &err);
    refuse_workers(og_eval(graph, best, "test", &o, NULL, NULL, &err), &err);
    refuse_workers(og_eval_full(graph, best, "test", &o, NULL, NULL, &err), &err);
    refuse_workers(og_predict(graph, best, at("q.npy"), NULL, &o, NULL, NULL, &err), &err);
    assert_int_equal(og_options_set(&o, "samples", samples, NULL), 0);
    refuse_workers(og_pack(graph, &o, NULL, NULL, &err), &err);
    og__options_release(&o);
    static const char *const none[] = {"s", "q.npy", "samples/pack"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_int_equal(access(at(none[i]), F_OK), -1);
}

static void refuse_size(int rc, const char *name, struct og_err *err)
{
    char begin[80];
    snprintf(begin, sizeof(begin), "struct %s: its size is 0, ", name);
    assert_int_equal(rc, -EINVAL);
    assert_int_equal(strncmp(err->message, begin, strlen(begin)), 0);
    assert_non_null(strstr(err->hint, ".size = sizeof(s)"));
    *err = (struct og_err){0};
}

static void ignore(void *arg, const char *text, const char *hint)
{
    (void)arg, (void)text, (void)hint;
}

/* Every call that takes a struct from the program looks how large it is there, before all else. */
static void structs_have_a_size(void **state)
{
    (void)state;
    static const char observer[] = "og_observer";
    const struct og_observer seen = {.stop = NULL};
    const struct og_tiers_asked tiers = {.memory = "5%"};
    const struct og_executors_asked requested = {.splits = "1:1"};
    struct og_loader_options from;
    struct og_generate g;
    struct og_import i;
    struct og_options o;
    struct og_loader *l = NULL;
    struct og_err err = {0};
    options(&o);
    og__generate_init(&g);
    og__import_init(&i);
    og_loader_options_init(&from);
    refuse_size(og_train("none", &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_eval("none", "none", "test", &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_eval_full("none", "none", "test", &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_predict("none", "none", "none", NULL, &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_plan("none", &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_sample("none", "none", false, &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_pack("none", &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_simulate("none", "lru", "5%", NULL, &o, &seen, NULL, &err), observer, &err);
    refuse_size(og_simulate("none", "lru", "5%", &tiers, &o, NULL, NULL, &err), "og_tiers_asked",
                &err);
    refuse_size(og_simulate_executors("none", &requested, &o, NULL, NULL, &err),
                "og_executors_asked", &err);
    refuse_size(og_loader_open(&l, "none", &o, &from, &seen, &err), observer, &err);
    from.size = 0;
    refuse_size(og_loader_open(&l, "none", &o, &from, NULL, &err), "og_loader_options", &err);
    refuse_size(og_generate("none", &g, &seen, &err), observer, &err);
    refuse_size(og_import("npy", "none", "none", &i, &seen, &err), observer, &err);
    refuse_size(og_export("npy", "none", "none", &seen, &err), observer, &err);
    refuse_size(og_stripe("none", "none", false, &seen, &err), observer, &err);
    refuse_size(og_stripe_part("none", "none", 2, 0, &seen, &err), observer, &err);
    refuse_size(og_verify("none", ignore, NULL, &seen, &err), observer, &err);
    refuse_size(og_verify_samples("none", NULL, ignore, NULL, &seen, &err), observer, &err);
    og__options_release(&o);
}

static int start(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    return setenv("XDG_CACHE_HOME", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_to_be_told), cmocka_unit_test(one_process_takes_no_workers),
        cmocka_unit_test(refusals_need_nowhere_either), cmocka_unit_test(structs_have_a_size)};
    return cmocka_run_group_tests(tests, start, remove_folder);
}
