/* No option is ignored without a word: every two of them are given together. Each of the two makes
 * a difference with the other, or is said to have no effect, or the pair is refused. What is said
 * to have no effect has none.
 *
 * OG_PAIRS_STEP=N takes every N-th pair, 1 all of them; 7 unless it is set. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/files.h"
#include "support/own_folder.h"

#include "base/base.h"
#include "base/file.h"

#include <jansson.h>
#include <outgrow/outgrow.h>
#include <unistd.h>

static char dataset[300], run_path[300], initial[300], made_before[300], spans[300], scratch[300],
    scores[320], by_scores[330], ids[330];

/* ---- a value for each option, other than its default and the base's ---- */

/* Whether a value must change something. It need not where an option only bounds something, names a
 * place, or says what may be so anyway. */
enum kind { CHANGES, BOUNDS };

static const struct given {
    const char *name, *value;
    enum kind kind;
} given[] = {
    {"model", "gat", CHANGES},
    {"model", "gcn", CHANGES},
    {"model", "mlp", CHANGES},
    {"layers", "2", BOUNDS}, /* that --fanout has so many numbers */
    {"hidden", "12", CHANGES},
    {"heads", "2", CHANGES},
    {"aggregator", "max", CHANGES},
    {"norm", "layer", CHANGES},
    {"compute", "bf16", CHANGES}, /* refused by a CPU without it */
    {"residual", "true", CHANGES},
    {"dropout", "0.2", CHANGES},
    {"input-dropout", "0.3", CHANGES},
    {"attention-dropout", "0.3", CHANGES},
    {"task", "link", CHANGES},
    {"task", "regression", CHANGES},
    {"task", "edge", CHANGES},
    {"decoder", "mlp", CHANGES},
    {"loss", "margin", CHANGES},
    {"loss", "mae", CHANGES},
    {"loss", "focal:1.5", CHANGES},
    {"focal-gamma", "0.7", CHANGES},
    {"class-weights", "balanced", CHANGES},
    {"seed-weights", ids, CHANGES},
    {"type-weights", "paper=2", BOUNDS},
    {"label-smoothing", "0.2", CHANGES},
    {"oversample", "balanced", CHANGES},
    {"edge-split", "70/15/15", CHANGES},
    {"negatives", "3", CHANGES},
    {"negative", "batch", CHANGES},
    {"negative", "given", CHANGES},
    {"eval-negatives", "7", CHANGES},
    {"fanout", "4", CHANGES},
    {"fanout", "3,3,3", CHANGES},
    {"sampler", "walk", CHANGES},
    {"sampler", "labor", CHANGES},
    {"sampler", "ladies", CHANGES},
    {"walks", "2", CHANGES},
    {"walk-length", "1", CHANGES},
    {"walk-restart", "0.1", CHANGES},
    {"neighbors", "2", CHANGES},
    {"batch", "11", CHANGES},
    {"epochs", "3", BOUNDS}, /* --patience may end it before */
    {"epochs", "1", CHANGES},
    {"optimizer", "sgd", CHANGES},
    {"lr", "0.05", CHANGES},
    {"optimizer", "adamw", CHANGES},
    {"weight-decay", "0.1", CHANGES},
    {"beta1", "0.5", CHANGES},
    {"beta2", "0.5", CHANGES},
    {"epsilon", "0.1", CHANGES},
    {"clip", "0.01", CHANGES},
    {"lr-schedule", "cosine", CHANGES},
    {"lr-schedule", "step:1,0.5", CHANGES},
    {"lr-schedule", "plateau:0.5,0", BOUNDS}, /* every epoch may be better */
    {"lr-steps", "7", CHANGES},
    {"lr-min", "0.001", BOUNDS}, /* the rate may not come down to it */
    {"lr-every", "2", CHANGES},
    {"lr-factor", "0.3", BOUNDS},
    {"lr-patience", "1", BOUNDS},
    {"warmup", "3", CHANGES},
    {"min-delta", "0.01", BOUNDS},
    {"patience", "1", BOUNDS},
    {"edge-weights", "off", BOUNDS}, /* the graph has none */
    {"edge-features", "off", BOUNDS},
    {"inputs", "0-2", BOUNDS}, /* of mlp alone */
    {"init", initial, CHANGES},
    {"seed", "9", CHANGES},
    {"no-shuffle", "true", CHANGES},
    {"locality", "4", CHANGES},
    {"order", "minhash", BOUNDS}, /* of --locality alone */
    {"eval-every", "2", CHANGES},
    {"best-by", "loss", BOUNDS}, /* it may choose the same epoch */
    {"resample-every", "2", CHANGES},
    {"pack-dtype", "f16", CHANGES},
    {"memory", "70M", CHANGES},
    {"cache", "20%", CHANGES},
    {"threads", "3", CHANGES},
    {"topology", "disk", CHANGES},
    {"neighbor-cache", "1K", CHANGES},
    {"policy", "none", CHANGES},
    {"policy", "presc", CHANGES},
    {"policy", "belady", CHANGES},
    {"policy", "hybrid", CHANGES},
    {"policy", "lru", CHANGES},
    {"policy", "frequency", CHANGES},
    {"policy", "clock", CHANGES},
    {"policy", by_scores, CHANGES},
    {"scores", scores, CHANGES},
    {"presc-epochs", "2", CHANGES},
    {"superbatch", "2", CHANGES},
    {"layout", "packed", CHANGES},
    {"layout", "segmented", CHANGES},
    {"phased-memory", "true", CHANGES},
    {"ways", "2", CHANGES},
    {"window", "1", CHANGES},
    {"update", "1", CHANGES},
    {"threshold", "1", CHANGES},
    {"evict", "static", CHANGES},
    {"evict", "dynamic", CHANGES},
    {"disk", "40M", BOUNDS},
    {"scratch", scratch, BOUNDS},
    {"samples", made_before, CHANGES},
    {"io", "mmap", CHANGES},
    {"preset", "pyg+", BOUNDS},
    {"preset", "ali+pg", BOUNDS},
    {"preset", "ginex", BOUNDS},
    {"preset", "diskgnn", BOUNDS},
    {"preset", "fgnn", BOUNDS},
    {"preset", "lsm-gnn", BOUNDS},
    {"preset", "helios", BOUNDS},
    {"preset", "memory", BOUNDS},
    {"checkpoint-every", "7", BOUNDS},
    {"log-every", "1", BOUNDS},
    {"trace-timeline", spans, BOUNDS},
    {"draw", "once", CHANGES},
    {"disjoint", "true", CHANGES},
    {"time", "node", CHANGES},
    {"time-strategy", "last", BOUNDS}, /* of --time alone, as the next one */
    {"time-window", "9", BOUNDS},
    {"replace", "true", CHANGES},
    {"batch-dependency", "3", CHANGES},
    {"layer-dependency", "true", CHANGES},
    {"accumulate", "2", CHANGES},
    {"staleness", "1", CHANGES},
    {"executors", "2", BOUNDS},
    {"sample-group", "1", BOUNDS},
    {"pipeline", "none", BOUNDS},
    {"executors", "1:1", BOUNDS},
    {"relation-fanout", "cites=4,4", BOUNDS},
    {"device", "virtual", CHANGES},
    {"embedding", "6", CHANGES},
    {"embedding-optimizer", "adagrad", CHANGES},
    {"embedding-lr", "0.01", CHANGES},
    {"device-memory", "9M", CHANGES},
    {"device-policy", "lru", BOUNDS},
    {"victim", "pvp:depth=4", BOUNDS},
    {"sample-on", "device", BOUNDS},
    {"bases", "2", CHANGES},
    {"relation", "cites", BOUNDS},
    {"devices", "0,1", BOUNDS},
};
enum { GIVEN = OG_COUNT(given) };

/* Options that need no pair. Two name the folder of all that is seen here; others are for processes
 * that were started together (workers.py). */
static const char *const apart[] = {"run", "resume", "workers", "exchange"};

static bool has_value(const char *name)
{
    for (size_t i = 0; i < GIVEN; i++)
        if (strcmp(given[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < OG_COUNT(apart); i++)
        if (strcmp(apart[i], name) == 0)
            return true;
    return false;
}

/* ---- what is seen of a run ---- */

struct seen {
    int rc;
    json_t *config; /* options as resolved */
    char *told;     /* plan, figures, losses and metrics, without times */
    char said[4096];
    struct og_err err;
};

static void hear(void *arg, int level, const char *text)
{
    struct seen *s = arg;
    size_t n = strlen(s->said);
    (void)level;
    snprintf(s->said + n, sizeof(s->said) - n, "%s\n", text);
}

/* And what times decide; resume.safetensors says how long the run took, in as many digits as that
 * has. */
static bool is_time(const char *key)
{
    static const char *const decided[] = {"candidates", "checkpoint_bytes_written",
                                          "samplers_by_rule", "standby", "switched"};
    bool found = strstr(key, "seconds") != NULL;
    for (size_t i = 0; i < OG_COUNT(decided); i++)
        found = found || strcmp(key, decided[i]) == 0;
    return found;
}

static void drop_times(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (is_time(key))
            json_object_del(object, key);
        else if (json_is_object(value))
            drop_times(value);
    }
}

static char *tell(const char *summary, json_t **config)
{
    static const char *const keys[] = {"plan",         "epochs", "valid_metrics",
                                       "test_metrics", "io",     "memory_budget_bytes"};
    json_t *root = json_loads(summary, 0, NULL);
    json_t *out = json_object();
    size_t e;
    json_t *epoch;
    assert_non_null(root);
    for (size_t i = 0; i < OG_COUNT(keys); i++)
        json_object_set(out, keys[i], json_object_get(root, keys[i]));
    json_array_foreach(json_object_get(out, "epochs"), e, epoch) drop_times(epoch);
    drop_times(out);
    *config = json_incref(json_object_get(root, "config"));
    char *text = json_dumps(out, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(out);
    json_decref(root);
    assert_non_null(text);
    return text;
}

static void set_base(struct og_options *opt)
{
    og__options_init(opt);
    opt->fanout[0] = opt->fanout[1] = opt->fanout[2] = 2;
    opt->n_fanout = 3; /* as many as by default */
    opt->hidden = 8;
    opt->batch = 16;
    opt->epochs = 2;
    opt->memory = (struct og_amount){OG_BYTES, 80 << 20};
    opt->disk = (struct og_amount){OG_BYTES, 50 << 20};
    opt->cache = (struct og_amount){OG_PERCENT, 30};
    opt->policy = OG_POLICY_DEGREE;
    opt->threads = 2;
    opt->io = OG_IO_PREAD;
    opt->resample_every = 1;
    assert_int_equal(og_options_set(opt, "run", run_path, NULL), 0);
}

static struct seen look_at(const struct given *a, const struct given *b)
{
    struct seen s = {0};
    struct og_options opt;
    char *text = NULL;
    const struct og_observer observer = {.size = sizeof(observer), .arg = &s, .message = hear};
    const struct given *const both[] = {a, b};
    set_base(&opt);
    for (size_t i = 0; i < 2; i++)
        if (both[i] && og_options_set(&opt, both[i]->name, both[i]->value, &s.err) < 0)
            fail_msg("%s", s.err.message);
    s.rc = og_train(dataset, &opt, &observer, &text, &s.err);
    if (s.rc == 0)
        s.told = tell(text, &s.config);
    free(text);
    og__options_release(&opt);
    og__remove_tree(run_path);
    og__remove_tree(scratch);
    unlink(spans);
    return s;
}

/* ---- the fixture ---- */

/* The labels, each of the next node. */
static void other_scores(void)
{
    char path[400];
    size_t n;
    snprintf(path, sizeof(path), "%s/labels.npy", dataset);
    FILE *in = fopen(path, "rb"), *out = fopen(scores, "wb");
    assert_true(in && out);
    char data[8192];
    n = fread(data, 1, sizeof(data), in);
    const size_t head = 128, each = (n - head) / 400;
    assert_true(n < sizeof(data) && each > 0);
    fwrite(data, 1, head, out);
    fwrite(data + head + each, 1, n - head - each, out);
    fwrite(data + head, 1, each, out);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* About half of the edges lead from a later node and are not sampled. */
static void other_times(void)
{
    int64_t times[400];
    for (int64_t v = 0; v < 400; v++)
        times[v] = v * 7 % 20;
    test_write_npy(dataset, "node_times.npy", OG__NPY_I64, 1, 400, 0, times);
}

/* Lists of edges with times, labels and negatives, some of which are edges. */
static void other_lists(void)
{
    enum { LISTED = 90 };
    static const char *const splits[] = {"train", "valid", "test"};
    for (int s = 0; s < 3; s++) {
        int64_t ends[2 * LISTED], times[LISTED], labels[LISTED], negatives[2 * LISTED];
        char name[64];
        for (int64_t i = 0; i < LISTED; i++) {
            ends[2 * i] = (i * 37 + s * 11) % 400;
            ends[2 * i + 1] = (i * 53 + s * 7 + 1) % 400;
            times[i] = i % 25;
            labels[i] = (ends[2 * i] + ends[2 * i + 1]) % 3;
            negatives[2 * i] = (i * 29 + 3) % 400;
            negatives[2 * i + 1] = (i * 31 + 5) % 400;
        }
        snprintf(name, sizeof(name), "%s_edges.npy", splits[s]);
        test_write_npy(dataset, name, OG__NPY_I64, 2, LISTED, 2, ends);
        snprintf(name, sizeof(name), "%s_edge_times.npy", splits[s]);
        test_write_npy(dataset, name, OG__NPY_I64, 1, LISTED, 0, times);
        snprintf(name, sizeof(name), "%s_edge_labels.npy", splits[s]);
        test_write_npy(dataset, name, OG__NPY_I64, 1, LISTED, 0, labels);
        if (s == 0) /* others draw theirs */
            test_write_npy(dataset, "train_neg_dst.npy", OG__NPY_I64, 2, LISTED, 2, negatives);
    }
}

static int make_dataset(void **state)
{
    struct og_generate g;
    struct og_options opt;
    struct og_err err = {0};
    char path[400];
    if (make_folder(state) < 0)
        return -1;
    snprintf(dataset, sizeof(dataset), "%s/graph", folder);
    snprintf(run_path, sizeof(run_path), "%s/run", folder);
    snprintf(initial, sizeof(initial), "%s/initial.safetensors", folder);
    snprintf(made_before, sizeof(made_before), "%s/samples", folder);
    snprintf(spans, sizeof(spans), "%s/spans.json", folder);
    snprintf(scratch, sizeof(scratch), "%s/scratch", folder);
    snprintf(scores, sizeof(scores), "%s/scores.npy", folder);
    snprintf(by_scores, sizeof(by_scores), "file:%s/labels.npy", dataset); /* a number a node */
    snprintf(ids, sizeof(ids), "%s/train.npy", dataset); /* a number a training node */
    setenv("XDG_CACHE_HOME", folder, 1);
    og__generate_init(&g);
    g.nodes = 400;
    g.degree = 12;
    g.dim = 24;
    g.classes = 4;
    g.train_fraction = 0.2;
    g.threads = 1;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    if (og_generate(dataset, &g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    other_scores();
    other_times();
    other_lists();
    set_base(&opt);
    if (og_sample(dataset, made_before, false, &opt, NULL, NULL, &err) < 0 ||
        og_options_set(&opt, "seed", "77", &err) < 0 ||
        og_train(dataset, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    snprintf(path, sizeof(path), "%s/checkpoint.safetensors", run_path);
    assert_int_equal(rename(path, initial), 0);
    og__remove_tree(run_path);
    return 0;
}

/* ---- tests ---- */

static void every_option_is_given(void **state)
{
    (void)state;
    const struct og_option *option;
    for (size_t i = 0; (option = og_option(i)); i++)
        if (!has_value(option->name))
            fail_msg("--%s: no value to give it with others", option->name);
}

static bool is_said(const struct seen *s, const struct given *g)
{
    char line[80];
    snprintf(line, sizeof(line), "--%s has no effect with --", g->name);
    return strstr(s->said, line) != NULL;
}

/* Is it what the other one sets anyway, as a preset does? */
static bool is_set(const struct seen *other, const struct given *g)
{
    const json_t *value = json_object_get(other->config, g->name);
    char text[64] = "";
    if (json_is_boolean(value))
        snprintf(text, sizeof(text), "%s", json_is_true(value) ? "true" : "false");
    if (json_is_string(value)) /* presc:2 is presc */
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(json_string_value(value), ":"),
                 json_string_value(value));
    return strcmp(text, g->value) == 0;
}

/* Checks of a pair what `g` adds to a run with the other. Returns whether that is as it should
 * be. */
static bool judge(const struct seen *both, const struct seen *other, const struct given *g,
                  const struct given *beside)
{
    const bool differs = strcmp(both->told, other->told) != 0;
    const bool said = is_said(both, g);
    if (said == !differs || (!said && g->kind == BOUNDS))
        return true;
    if (beside && is_set(other, g))
        return true;
    print_error("--%s %s beside --%s %s: %s\n", g->name, g->value, beside ? beside->name : "",
                beside ? beside->value : "",
                said ? "has an effect, and is said to have none" : "ignored without a word");
    return false;
}

static void release(struct seen *s)
{
    free(s->told);
    json_decref(s->config);
    s->told = NULL;
    s->config = NULL;
}

static void no_pair_is_ignored_without_a_word(void **state)
{
    (void)state;
    static struct seen alone[GIVEN];
    const char *text = getenv("OG_PAIRS_STEP");
    const size_t step = text ? OG_MAX((size_t)strtoul(text, NULL, 10), (size_t)1) : 7;
    size_t wrong = 0, works = 0, refused = 0, said = 0, pair = 0;
    struct seen base = look_at(NULL, NULL);
    assert_int_equal(base.rc, 0);
    for (size_t i = 0; i < GIVEN; i++) {
        alone[i] = look_at(&given[i], NULL);
        if (alone[i].rc == 0)
            wrong += !judge(&alone[i], &base, &given[i], NULL);
    }
    for (size_t i = 0; i < GIVEN; i++) {
        for (size_t k = i + 1; k < GIVEN; k++) {
            if (strcmp(given[i].name, given[k].name) == 0 || pair++ % step)
                continue;
            struct seen both = look_at(&given[i], &given[k]);
            if (both.rc < 0) {
                assert_true(both.err.message[0] && both.err.hint[0]);
                refused++;
                continue;
            }
            if (alone[k].rc == 0)
                wrong += !judge(&both, &alone[k], &given[i], &given[k]);
            if (alone[i].rc == 0)
                wrong += !judge(&both, &alone[i], &given[k], &given[i]);
            const bool idle = is_said(&both, &given[i]) || is_said(&both, &given[k]);
            said += idle;
            works += !idle;
            release(&both);
        }
    }
    for (size_t i = 0; i < GIVEN; i++)
        release(&alone[i]);
    release(&base);
    print_message("%zu pairs work, %zu are refused, of %zu one is said to have no effect\n", works,
                  refused, said);
    assert_int_equal(wrong, 0);
}

/* Presets are lists of options: none of them is idle with the others. */
static void presets_say_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < GIVEN; i++) {
        if (strcmp(given[i].name, "preset") != 0)
            continue;
        struct seen s = look_at(&given[i], NULL);
        assert_int_equal(s.rc, 0);
        if (strstr(s.said, "--preset")) /* else it is of the base */
            fail_msg("--preset %s: %s", given[i].value, s.said);
        release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_given),
        cmocka_unit_test(presets_say_nothing),
        cmocka_unit_test(no_pair_is_ignored_without_a_word),
    };
    return cmocka_run_group_tests(tests, make_dataset, remove_folder);
}
