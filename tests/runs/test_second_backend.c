/* Everything that computes works without the host's access to memory. Each model, task and
 * optimiser trains, resumes, evaluates and predicts with a backend whose memory is closed except
 * while it works (oracles/ops_guarded.h), and writes the bytes that the product writes. */
#include "support/own_folder.h"
#include "support/small_run.h"

#include "base/file.h"
#include "base/random.h"
#include "dataset/graph.h"
#include "oracles/ops_guarded.h"
#include "support/runs.h"

#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 256, WIDE = 3 };

/* ---- which backend the library computes with ---- */

static const struct og_nn_ops *computes = &og__ops_cpu;

const struct og_nn_ops *__wrap_og__nn_ops(void);
const struct og_nn_ops *__wrap_og__nn_ops(void)
{
    return computes;
}

/* ---- graphs ---- */

enum labels { CLASSES, SETS, VALUES, OF_TYPES, LABELS };
static const char *const graph_name[LABELS] = {"classes", "sets", "values", "types"};

static void in_folder(char out[320], const char *name)
{
    snprintf(out, 320, "%s/%s", folder, name);
}

static void write_labels(const char *graph, bool values)
{
    char path[400], head[4096];
    static float y[NODES * WIDE];
    const int64_t shape[2] = {NODES, WIDE};
    for (int i = 0; i < NODES * WIDE; i++)
        y[i] = values ? (float)(i * 13 % 37) / 8 : (float)(i * 5 % 11 < 4);
    snprintf(path, sizeof(path), "%s/labels.npy", graph);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    size_t n = og__npy_header(head, OG__NPY_F32, 2, shape, 64);
    assert_int_equal(fwrite(head, 1, n, f), n);
    assert_int_equal(fwrite(y, sizeof(*y), OG_COUNT(y), f), OG_COUNT(y));
    assert_int_equal(fclose(f), 0);
    json_t *meta = json_pack("{s:i s:i s:s}", "format", 1, "num_classes", WIDE, "task",
                             values ? "node regression" : "node classification");
    snprintf(path, sizeof(path), "%s/meta.json", graph);
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

static int make_graphs(void **state)
{
    char graph[320];
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < LABELS; i++) {
        struct og_generate g = small_graph(OG_PLANTED);
        if (i == OF_TYPES) {
            g.types = "paper:160:8,author:70:5";
            g.relations = "author:writes:paper:3,paper:cites:paper:2,paper:by:author:2";
        }
        in_folder(graph, graph_name[i]);
        if (og_generate(graph, &g, NULL, NULL) < 0)
            return -1;
        if (i == SETS || i == VALUES)
            write_labels(graph, i == VALUES);
    }
    return 0;
}

/* ---- what is compared ---- */

struct model {
    enum labels labels;
    bool link;
    const char *options[24]; /* names and values */
};

/* Is it evaluated and predicted layer by layer? */
static bool by_layers(const struct model *m)
{
    return !m->link && m->labels < OF_TYPES;
}

static void set_options(struct og_options *opt, const char *run, const struct model *m,
                        const char *epochs, const char *resume)
{
    struct og_err err = {0};
    char path[320];
    in_folder(path, run);
    small_run(opt, path);
    for (int i = 0; m->options[i]; i += 2)
        if (og_options_set(opt, m->options[i], m->options[i + 1], &err) < 0)
            fail_msg("%s", err.message);
    assert_int_equal(og_options_set(opt, "hidden", "8", NULL), 0);
    assert_int_equal(og_options_set(opt, "epochs", epochs, NULL), 0);
    assert_int_equal(og_options_set(opt, "resume", resume, NULL), 0);
}

static void train(const char *run, const struct model *m, const char *epochs, const char *resume)
{
    struct og_options opt;
    struct og_err err = {0};
    char graph[320];
    in_folder(graph, graph_name[m->labels]);
    set_options(&opt, run, m, epochs, resume);
    if (og_train(graph, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s %s: %s", m->options[1], m->options[3], err.message);
    og__options_release(&opt);
}

static void forget_seconds(json_t *root)
{
    static const char *const of_a_run[] = {
        "seconds", "prepare",    "layers",     "peak_rss_bytes", "baseline_rss_bytes", "checkpoint",
        "out",     "embeddings", "bytes_read", "bytes_written",  "prepare_bytes_read"};
    for (size_t i = 0; i < OG_COUNT(of_a_run); i++)
        json_object_del(root, of_a_run[i]);
}

/* The figures of an evaluation as text. */
static char *figures(const char *run, const struct model *m, bool full)
{
    struct og_options opt;
    struct og_err err = {0};
    char graph[320], path[400], *text = NULL;
    in_folder(graph, graph_name[m->labels]);
    snprintf(path, sizeof(path), "%s/%s/best.safetensors", folder, run);
    set_options(&opt, run, m, "1", "false");
    int rc = full ? og_eval_full(graph, path, "test", &opt, NULL, &text, &err)
                  : og_eval(graph, path, "test", &opt, NULL, &text, &err);
    if (rc < 0)
        fail_msg("eval: %s", err.message);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    forget_seconds(root);
    text = json_dumps(root, JSON_SORT_KEYS);
    json_decref(root);
    og__options_release(&opt);
    return text;
}

static void predict(const char *run, const struct model *m)
{
    struct og_options opt;
    struct og_err err = {0};
    char graph[320], model[400], out[400], hidden[400];
    in_folder(graph, graph_name[m->labels]);
    snprintf(model, sizeof(model), "%s/%s/best.safetensors", folder, run);
    snprintf(out, sizeof(out), "%s/%s/out.npy", folder, run);
    snprintf(hidden, sizeof(hidden), "%s/%s/hidden.npy", folder, run);
    set_options(&opt, run, m, "1", "false");
    if (og_predict(graph, model, out, by_layers(m) ? hidden : NULL, &opt, NULL, NULL, &err) < 0)
        fail_msg("predict: %s", err.message);
    og__options_release(&opt);
}

static char *bytes_of(const char *run, const char *name, size_t *n)
{
    char path[400], *bytes = NULL;
    snprintf(path, sizeof(path), "%s/%s/%s", folder, run, name);
    assert_int_equal(og__read_text(path, (size_t)1 << 24, &bytes, n, NULL), 0);
    return bytes;
}

static void assert_same_file(const char *name)
{
    size_t n;
    size_t m;
    char *a = bytes_of("plain", name, &n), *b = bytes_of("guarded", name, &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void assert_same_text(char *a, char *b)
{
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void forget(const char *run)
{
    char path[320];
    in_folder(path, run);
    og__remove_tree(path);
}

/* Two epochs at once, and one after the other in memory of its own. */
static void assert_same(const struct model *m)
{
    computes = &og__ops_cpu;
    train("plain", m, "2", "false");
    predict("plain", m);
    char *plain = figures("plain", m, false),
         *full = by_layers(m) ? figures("plain", m, true) : NULL;
    computes = &og__ops_guarded;
    train("guarded", m, "1", "false");
    train("guarded", m, "2", "true");
    assert_same_file("checkpoint.safetensors");
    assert_same_file("best.safetensors");
    predict("guarded", m);
    assert_same_file("out.npy");
    if (by_layers(m))
        assert_same_file("hidden.npy");
    assert_same_text(plain, figures("guarded", m, false));
    if (by_layers(m))
        assert_same_text(full, figures("guarded", m, true));
    computes = &og__ops_cpu;
    forget("plain");
    forget("guarded");
}

/* ---- models x tasks, and each with either optimiser ---- */

static const char *const convolutions[][9] = {
    {"model", "gcn", "norm", "batch", NULL},
    {"model", "sage", "norm", "layer", "input-dropout", "0.2", NULL},
    {"model", "sage", "aggregator", "max", "residual", "true", NULL},
    {"model", "sage", "aggregator", "gcn", NULL},
    {"model", "gat", "heads", "2", "attention-dropout", "0.3", "residual", "true", NULL},
    {"model", "gatv2", "heads", "2", "attention-dropout", "0.3", "residual", "true", NULL},
    {"model", "gin", "residual", "true", "norm", "batch", NULL},
    {"model", "pinsage", "sampler", "walk", NULL},
    {"norm", "batch", "batch", "8", "accumulate", "3", "trainers", "2", NULL},
    {"model", "sage", "batch", "8", "accumulate", "3", "staleness", "2", NULL},
};

static const struct {
    enum labels labels;
    bool link;
    const char *options[7];
} tasks[] = {
    {CLASSES, false, {NULL}},
    {SETS, false, {NULL}},
    {VALUES, false, {"task", "regression", "loss", "mae", NULL}},
    {CLASSES, true, {"task", "link", "decoder", "dot", NULL}},
    {CLASSES, true, {"task", "link", "decoder", "mlp", "loss", "margin", NULL}},
};

static void append(struct model *m, const char *const *options)
{
    int n = 0;
    while (m->options[n])
        n++;
    for (int i = 0; options[i]; i++)
        m->options[n++] = options[i];
}

/* One in so many of a model's tasks, another one of the next model. */
static void tasks_of_all(const char *optimizer, size_t first, size_t step)
{
    const char *const with[] = {"optimizer", optimizer, NULL};
    for (size_t c = 0; c < OG_COUNT(convolutions); c++)
        for (size_t t = (c + first) % step; t < OG_COUNT(tasks); t += step) {
            struct model m = {.labels = tasks[t].labels, .link = tasks[t].link};
            append(&m, convolutions[c]);
            append(&m, tasks[t].options);
            append(&m, with);
            assert_same(&m);
        }
}

static void every_model_and_task_is_trained_with_adam(void **state)
{
    (void)state;
    tasks_of_all("adam", 0, test_ways_step_of(OG_COUNT(tasks)));
}

static void every_model_and_some_task_is_trained_with_sgd(void **state)
{
    (void)state;
    tasks_of_all("sgd", 2, OG_COUNT(tasks));
}

/* Relations, and vectors of the kinds of links. */
static void relations_are_served(void **state)
{
    static const struct model models[] = {
        {OF_TYPES, false, {"model", "rgcn", "bases", "2"}},
        {OF_TYPES, false, {"model", "rgcn", "bases", "0"}},
        {OF_TYPES, false, {"model", "sage", "aggregator", "mean"}},
        {CLASSES, true, {"task", "link", "decoder", "distmult"}},
    };
    (void)state;
    for (size_t i = 0; i < OG_COUNT(models); i++)
        assert_same(&models[i]);
}

/* Its own memory was used, for all of it, and is given back. */
static void its_memory_was_used(void **state)
{
    (void)state;
    const struct og_guarded_counts n = og__guarded_counts();
    assert_true(n.operators > 10000 && n.fetches > 0 && n.pushes > 0 && n.gathers > 0);
    assert_true(n.peak > 0);
    assert_int_equal(n.live, 0);
}

/* ---- what it is there for ---- */

/* How a process ends that does `what`: the signal, or 0. */
static int signal_of(void (*what)(struct og_model *m), struct og_model *m)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        what(m);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void looks(struct og_model *m)
{
    size_t n;
    volatile float *value = og__model_params(m, &n)->value;
    (void)*value;
}

static void writes(struct og_model *m)
{
    size_t n;
    volatile float *value = og__model_params(m, &n)->value;
    *value = 1;
}

static void pushes_too_much(struct og_model *m)
{
    size_t n;
    static char host[1 << 20];
    (void)!og__model_push(m, og__model_params(m, &n)->value, host, sizeof(host), NULL);
}

static void fetches_from_the_host(struct og_model *m)
{
    char host[16], other[16] = {0};
    (void)!og__model_fetch(m, host, other, sizeof(host), NULL);
}

static void hands_over_its_own(struct og_model *m)
{
    const struct og_pace pace = og__usual_pace(0.1, 0);
    static float value[4], grad[4];
    size_t n;
    struct og_param *p = og__model_params(m, &n);
    p->value = value;
    p->grad = grad;
    (void)!og__model_update(m, &pace, 1, 1, NULL);
}

static void fetches(struct og_model *m)
{
    size_t n;
    float host;
    assert_int_equal(og__model_fetch(m, &host, og__model_params(m, &n)->value, 4, NULL), 0);
}

static void nobody_else_touches_its_memory(void **state)
{
    (void)state;
    struct og_model *m;
    const struct og_model_config c = {
        .kind = OG_MODEL_SAGE, .layers = 1, .in_dim = 4, .hidden = 4, .n_classes = 4};
    assert_int_equal(
        og__model_create(&m, &og__ops_guarded, &c, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL), 0);
    assert_int_equal(signal_of(fetches, m), 0);
    assert_int_equal(signal_of(looks, m), SIGSEGV);
    assert_int_equal(signal_of(writes, m), SIGSEGV);
    assert_int_equal(signal_of(pushes_too_much, m), SIGABRT);
    assert_int_equal(signal_of(fetches_from_the_host, m), SIGABRT);
    assert_int_equal(signal_of(hands_over_its_own, m), SIGABRT);
    og__model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_else_touches_its_memory),
        cmocka_unit_test(every_model_and_task_is_trained_with_adam),
        cmocka_unit_test(every_model_and_some_task_is_trained_with_sgd),
        cmocka_unit_test(relations_are_served),
        cmocka_unit_test(its_memory_was_used),
    };
    return cmocka_run_group_tests(tests, make_graphs, remove_folder);
}
