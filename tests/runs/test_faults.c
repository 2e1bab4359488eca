/* Every public call, with every single failure that there can be. The k-th allocation, open, read
 * or write of it fails, for k = 1, 2, 3, ... until the call has no k-th one. It returns an error
 * that says something, or does its work in another way. It leaves neither memory (under asan) nor
 * descriptors nor files, and what was there before is as it was.
 *
 *     test_faults [GROUP]
 *
 * GROUP: one group of calls, or "resumed" or "predicted"; none: all. OG_FAULTS_STEP=N: of the
 * failures of each call and kind one in N, 1 for all of them (default 101). OG_FAULTS_SEED=N: which
 * of them: seeds 0 to N-1 together make every failure. Default: the day, so that each day takes
 * others; it is printed. OG_FAULTS_ONLY, OG_FAULTS_KIND: one call, one kind alone. */
#include "runs/faults_calls.h"
#include "runs/faults_sources.h"
#include "support/runs.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
static bool leaks(void)
{
    return __lsan_do_recoverable_leak_check() != 0;
}
#else
static bool leaks(void)
{
    return false;
}
#endif

/* ---- checking after a call ---- */

static void set_tree_aside(void)
{
    og__remove_tree(run_dir);
    og__remove_tree(out_dir);
    og__remove_tree(timeline);
    og__remove_tree(pack_dir);
    og__remove_tree(embeddings);
    const char *const outputs[] = {out_dir, embeddings};
    for (size_t i = 0; i < OG_COUNT(outputs); i++) { /* what a prediction would go on with */
        char part[96];
        snprintf(part, sizeof(part), "%s.part", outputs[i]);
        unlink(part);
    }
}

/* What a call has made; of what holds times, which keys there are. A call that did its work another
 * way has made the same. */
static uint64_t hash_outputs(void)
{
    static const char *const files[] = {"checkpoint", "best"};
    static const char *const told[] = {"summary.json", "plan.json", "metrics.jsonl"};
    struct inventory v = {0};
    char path[160];
    look(out_dir, &v);
    look(pack_dir, &v);
    v.hash += shape_of_text(said);
    for (size_t i = 0; i < OG_COUNT(told); i++) {
        snprintf(path, sizeof(path), "%s/%s", run_dir, told[i]);
        v.hash = 31 * v.hash + shape_of_file(path, strcmp(told[i], "metrics.jsonl") == 0);
    }
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%s/%s.safetensors", run_dir, files[i]);
        if (access(path, F_OK) == 0)
            look_at_file(path, &v);
    }
    if (access(embeddings, F_OK) == 0) { /* and the file next to it */
        look_at_file(embeddings, &v);
        look_at_file(out_dir, &v);
    }
    return v.hash;
}

/* A checkpoint that is there is whole. */
static void check_run_folder(void)
{
    static const char *const files[] = {"checkpoint", "best", "resume"};
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        char path[160];
        struct og_tensors_file f;
        snprintf(path, sizeof(path), "%s/%s.safetensors", run_dir, files[i]);
        if (access(path, F_OK) != 0)
            continue;
        assert_int_equal(og__tensors_open(&f, path, NULL), 0);
        assert_int_equal(og__tensors_check(&f, NULL), 0);
        og__tensors_close(&f);
    }
}

struct tally {
    long injected, refused, done_otherwise;
};
static struct tally all;

struct call {
    const char *group; /* run by a process of its own under ctest: tests/CMakeLists.txt */
    const char *name;
    int (*fn)(struct og_err *err);
    const char *options[14]; /* name, value, ... */
    /* So many failures, of memory and of reading, for calls that measure for seconds where nothing
     * fails. 0 = all kinds, until the call has no k-th of them. */
    long most;
};

static int make(const struct call *c, struct og_err *err)
{
    keep(NULL);
    return c->fn(err);
}

/* Printed at once; the test fails at its end, when all are known. */
static int complaints;

static void complain(const char *what, const char *why)
{
    print_error("%s: %s\n", what, why);
    complaints++;
}

static void check_one(const struct call *c, enum fault_kind kind, long k, int rc,
                      const struct og_err *err, const struct inventory *before, uint64_t made,
                      int fds)
{
    char what[400];
    snprintf(what, sizeof(what), "%s: %s %ld: %d %.300s", c->name, fault_names[kind], k, rc,
             err->message);
    if (rc < 0 && (!err->message[0] || err->code != rc))
        complain(what, "no message, or one of another error");
    if (rc < 0 && (kind == FAULT_SHORT || kind == FAULT_SLOW))
        complain(what, "that is no failure");
    if (open_files() != fds)
        complain(what, "descriptors are left open");
    check_run_folder();
    if (rc < 0 && (access(out_dir, F_OK) == 0 || access(pack_dir, F_OK) == 0 ||
                   access(embeddings, F_OK) == 0))
        complain(what, "there is an output");
    if (rc >= 0 && c->most == 0 && hash_outputs() != made)
        complain(what, "its output is another");
    struct inventory now = take_inventory();
    if (rc < 0 && now.temporaries)
        complain(what, "leaves temporaries");
    set_tree_aside();
    if (now.temporaries) { /* what failed was the cleaning up: the next does it */
        struct og_err ignored = {0};
        assert_true(make(c, &ignored) >= 0);
        set_tree_aside();
    }
    now = take_inventory();
    if (now.hash != before->hash)
        complain(what, "files have changed");
}

/* One failure in so many. Calls that measure for seconds only with 1. */
static long fault_step = 101;
static uint64_t fault_seed;

/* One failure in so many is made. Libraries allocate far more often than we do, mostly for a word
 * of JSON: all of these would take an hour. */
static long step_of(enum fault_kind kind)
{
    bool some = kind == FAULT_LIBRARY && !getenv("OG_FAULTS_KIND");
    return some ? OG_MAX(5 * fault_step, 23L) : fault_step;
}

/* The first failure that is made of a call with `count` of them. As seeds count up each one has its
 * turn, and at least one is made. */
static long first_of(const char *name, enum fault_kind kind, long step, long count)
{
    uint64_t turns = (uint64_t)OG_MAX(OG_MIN(step, count), 1L);
    return (long)((fault_seed + XXH3_64bits_withSeed(name, strlen(name), kind)) % turns) + 1;
}

struct torture {
    const struct call *call;
    enum fault_kind kind;
    uint64_t made;
    int fds;
    struct inventory before;
    struct tally tally;
};

/* Calls with the k-th failure; k = 0: with none, which counts how many there could be. */
static long call_with(struct torture *t, long k, bool *fired)
{
    struct og_err err = {0};
    faults_arm(t->kind, k);
    int rc = make(t->call, &err);
    long count = faults_disarm(fired);
    if (!*fired && rc < 0)
        fail_msg("%s: without a failure: %s", t->call->name, err.message);
    check_one(t->call, t->kind, k, rc, &err, &t->before, t->made, t->fds);
    t->tally.injected += *fired;
    t->tally.refused += *fired && rc < 0;
    t->tally.done_otherwise += *fired && rc >= 0;
    return count;
}

static struct tally torture(const struct call *c, enum fault_kind kind, uint64_t made)
{
    struct torture t = {c, kind, made, open_files(), take_inventory(), {0}};
    const long step = step_of(kind);
    bool fired = false;
    long k = 1;
    if (step > 1 && c->most == 0 && kind != FAULT_SLOW)
        k = first_of(c->name, kind, step, call_with(&t, 0, &fired));
    for (fired = true; fired && (c->most == 0 || k <= c->most); k += step) {
        call_with(&t, k, &fired);
        if (kind == FAULT_SLOW)
            break;
    }
    if (leaks())
        complain(c->name, fault_names[kind]);
    return t.tally;
}

static void torture_all(const struct call *c)
{
    usual_options();
    for (const char *const *o = c->options; *o; o += 2)
        test_set(&options, o[0], o[1]);
    struct og_err err = {0}; /* what is kept between calls (caches, profiles) is there now */
    if (c->most == 0 && make(c, &err) < 0)
        fail_msg("%s: %s", c->name, err.message);
    const char *only = getenv("OG_FAULTS_KIND");
    const uint64_t made = hash_outputs();
    set_tree_aside();
    for (enum fault_kind kind = FAULT_MEMORY; kind < FAULT_KINDS; kind++) {
        bool quick = kind == FAULT_MEMORY || kind == FAULT_LIBRARY || kind == FAULT_READ;
        if ((c->most && (!quick || fault_step > 1)) ||
            (only && strcmp(only, fault_names[kind]) != 0))
            continue;
        double start = og__now();
        struct tally t = torture(c, kind, made);
        print_message("%-24s %-8s %6ld injected: %6ld refused, %5ld done otherwise  %.1f s\n",
                      c->name, fault_names[kind], t.injected, t.refused, t.done_otherwise,
                      og__now() - start);
        all.injected += t.injected;
        all.refused += t.refused;
        all.done_otherwise += t.done_otherwise;
    }
}

static const struct call calls[] = {
    {"datasets", "options", call_options, {NULL}, 0},
    {"datasets", "info", call_info, {NULL}, 0},
    {"datasets", "verify", call_verify, {NULL}, 0},
    {"datasets", "info parts", call_info_parts, {NULL}, 0},
    {"datasets", "verify parts", call_verify_parts, {NULL}, 0},
    {"datasets", "stripe", call_stripe, {NULL}, 0},
    {"datasets", "verify samples", call_verify_samples, {NULL}, 0},
    {"datasets", "generate planted", call_generate, {NULL}, 0},
    {"datasets", "generate rmat", call_generate_rmat, {NULL}, 0},
    {"imports", "import npy", call_import, {NULL}, 0},
    {"imports", "import npy --in-place", call_import_link, {NULL}, 0},
    {"imports", "import npy typed", call_import_typed, {NULL}, 0},
    {"imports", "export npy typed", call_export_typed, {NULL}, 0},
    {"imports", "verify typed", call_verify_typed, {NULL}, 0},
    {"imports", "info typed", call_info_typed, {NULL}, 0},
    {"imports", "generate typed", call_generate_typed, {NULL}, 0},
    {"imports", "import ogb", call_import_ogb, {NULL}, 0},
    {"imports", "import ogb papers", call_import_papers, {NULL}, 0},
    {"imports", "import ogb mag", call_import_mag, {NULL}, 0},
    {"imports", "import igb", call_import_igb, {NULL}, 0},
    {"imports", "import graphbolt", call_import_graphbolt, {NULL}, 0},
    {"imports", "import edgelist", call_import_edgelist, {NULL}, 0},
    {"imports", "import edgelist far", call_import_far, {NULL}, 0},
    {"imports", "import edgelist by id", call_import_by_id, {NULL}, 0},
    {"imports", "import edgelist of words", call_import_words, {NULL}, 0},
    {"imports", "import mtx", call_import_mtx, {NULL}, 0},
    {"imports", "export npy", call_export_npy, {NULL}, 0},
    {"imports", "export graphbolt", call_export_graphbolt, {NULL}, 0},
    {"loaders", "loader", call_loader, {"policy", "lru"}, 0},
    {"loaders", "loader ahead", call_loader, {"policy", "belady", "superbatch", "3"}, 0},
    {"loaders", "loader from disk", call_loader, {"policy", "degree", "topology", "disk"}, 0},
    {"loaders", "loader typed", call_loader_typed, {"policy", "lru", "cache", "2"}, 0},
    {"loaders", "rows", call_rows, {"policy", "s3fifo"}, 0},
    {"loaders", "loader of edges", call_loader_of_edges, {"policy", "lru", "cache", "2"}, 0},
    {"loaders",
     "loader of edges ahead",
     call_loader_of_edges,
     {"policy", "belady", "superbatch", "3", "cache", "2", "layout", "packed"},
     0},
    {"plans", "plan", call_plan, {NULL}, 0},
    {"plans", "plan belady", call_plan, {"policy", "belady", "trace-timeline", timeline}, 0},
    {"plans",
     "sample",
     call_sample,
     {"policy", "degree", "topology", "memory", "layout", "raw"},
     0},
    {"plans", "sample typed", call_sample_typed, {"cache", "100%", "topology", "memory"}, 0},
    {"samplers",
     "sample typed from disk",
     call_sample_typed,
     {"sampler", "labor", "topology", "disk", "memory", "160M"},
     0},
    {"plans", "simulate", call_simulate, {NULL}, 0},
    {"plans", "simulate a trace", call_simulate_trace, {NULL}, 0},
    {"plans", "simulate workers", call_simulate_workers, {NULL}, 0},
    {"plans", "simulate tiers", call_simulate_tiers, {NULL}, 0},
    {"plans", "simulate executors", call_simulate_executors, {NULL}, 0},
    {"train", "train", call_train, {"checkpoint-every", "0", "log-every", "1"}, 0},
    {"train", "train uring", call_train, {"io", "uring", "policy", "none"}, 0},
    {"train", "train parts", call_train_parts, {"policy", "none"}, 0},
    {"train", "train parts mmap", call_train_parts, {"io", "mmap", "policy", "none"}, 0},
    {"train", "train belady", call_train, {"policy", "belady", "superbatch", "3"}, 0},
    {"train",
     "train by two",
     call_train,
     {"accumulate", "3", "staleness", "1", "trainers", "2", "norm", "batch"},
     0},
    {"turns", "train in turns", call_train, {"policy", "belady", "alternate", "true"}, 0},
    {"turns", "train topology disk", call_train, {"topology", "disk", "scratch", disk_cache}, 0},
    {"together",
     "train sampled together",
     call_train,
     {"topology", "disk", "neighbor-cache", "0", "together", "2", "scratch", disk_cache},
     0},
    {"datasets", "cache", call_cache, {NULL}, 0},
    {"turns", "train sweep", call_train, {"policy", "sweep", "cache", "50%", "superbatch", "3"}, 0},
    {"turns",
     "train packed f16",
     call_train,
     {"layout", "packed", "cache", "5%", "pack-dtype", "f16"},
     0},
    {"turns", "train mmap", call_train, {"io", "mmap", "policy", "none"}, 0},
    {"packs",
     "train packed",
     call_train,
     {"layout", "packed", "policy", "belady", "superbatch", "all", "epochs", "2"},
     0},
    {"packs",
     "train segmented",
     call_train,
     {"layout", "segmented", "policy", "degree", "disk", "38K", "superbatch", "all"},
     0},
    {"packs",
     "train reusing",
     call_train,
     {"resample-every", "2", "policy", "frequency", "layout", "packed", "epochs", "2"},
     0},
    {"packs",
     "train typed packed",
     call_train_typed,
     {"layout", "packed", "policy", "frequency", "superbatch", "all", "embedding", "3"},
     0},
    {"packs",
     "train typed samples",
     call_train_typed,
     {"samples", typed_packed, "policy", "frequency", "embedding", "3"},
     0},
    {"learnt",
     "train learnt",
     call_train_typed,
     {"embedding", "3", "embedding-optimizer", "adagrad", "policy", "belady", "superbatch", "3",
      "cache", "2", "checkpoint-every", "0"},
     0},
    {"learnt",
     "train learnt read",
     call_train_typed,
     {"embedding", "3", "embedding-optimizer", "sparse-adam", "policy", "lru", "cache", "2",
      "checkpoint-every", "0"},
     0},
    {"packs", "train samples", call_train, {"samples", packed, "policy", "frequency"}, 0},
    {"samplers",
     "train ladies",
     call_train,
     {"sampler", "ladies", "model", "gcn", "norm", "batch"},
     0},
    {"samplers",
     "train pinsage",
     call_train,
     {"sampler", "walk", "model", "pinsage", "eval-every", "0"},
     0},
    {"samplers",
     "train gat",
     call_train,
     {"sampler", "labor", "model", "gat", "topology", "disk", "scratch", disk_cache},
     0},
    {"samplers",
     "train link",
     call_train,
     {"task", "link", "edge-split", "80/10/10", "eval-negatives", "5", "eval-every", "0"},
     0},
    {"samplers",
     "eval link",
     call_eval_link,
     {"task", "link", "edge-split", "80/10/10", "eval-negatives", "5"},
     0},
    {"samplers",
     "train links with features of edges",
     call_train_edges,
     {"task", "link", "edge-split", "90/5/5", "model", "gine", "eval-every", "0"},
     0},
    {"evaluations", "eval --full", call_eval_full, {NULL}, 0},
    {"evaluations", "predict", call_predict, {"scratch", run_dir}, 0},
    {"evaluations",
     "predict from disk",
     call_predict,
     {"topology", "disk", "io", "uring", "scratch", run_dir},
     0},
    {"evaluations", "pack", call_pack, {"samples", trace}, 0},
    {"evaluations", "eval", call_eval, {"trace-timeline", timeline}, 0},
    {"evaluations", "bench epoch", call_bench_epoch, {"policy", "hybrid"}, 0},
    {"evaluations", "bench sample", call_bench_sample, {NULL}, 3},
    {"evaluations", "bench train", call_bench_train, {NULL}, 3},
    {"evaluations", "bench gemm", call_bench_gemm, {NULL}, 2},
};

/* ---- setting up ---- */

/* Trains, and keeps the model as `to`. */
static void train_model(const char *to)
{
    char from[160];
    struct og_err err = {0};
    if (call_train(&err) < 0)
        fail_msg("%s", err.message);
    snprintf(from, sizeof(from), "%s/checkpoint.safetensors", run_dir);
    assert_int_equal(rename(from, to), 0);
}

static int prepare(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "faults"));
    const struct {
        char *out;
        size_t room;
        const char *name;
    } names[] = {{graph, sizeof(graph), "graph"},
                 {disk_cache, sizeof(disk_cache), ".cache"},
                 {source, sizeof(source), "source"},
                 {run_dir, sizeof(run_dir), "run"},
                 {out_dir, sizeof(out_dir), "out"},
                 {model, sizeof(model), "model.safetensors"},
                 {trace, sizeof(trace), "trace"},
                 {config, sizeof(config), "config.yaml"},
                 {timeline, sizeof(timeline), "timeline"},
                 {link_model, sizeof(link_model), "link.safetensors"},
                 {packed, sizeof(packed), "packed"},
                 {pack_dir, sizeof(pack_dir), "trace/pack"},
                 {embeddings, sizeof(embeddings), "embeddings.npy"},
                 {striped, sizeof(striped), "striped"},
                 {typed_runs, sizeof(typed_runs), "typed_runs"},
                 {typed_packed, sizeof(typed_packed), "typed_packed"}};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        snprintf(names[i].out, names[i].room, "%s/%s", root, names[i].name);
    setenv("XDG_CACHE_HOME", disk_cache, 1);
    struct og_generate g = small_graph(OG_PLANTED);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    char over[300];
    stripe_of(over, striped);
    assert_int_equal(og_stripe(striped, over, false, NULL, NULL), 0);
    make_source();
    make_formats();
    usual_options();
    assert_int_equal(og_sample(graph, trace, false, &options, NULL, NULL, NULL), 0);
    assert_int_equal(og_sample(graph, packed, false, &options, NULL, NULL, NULL), 0);
    test_set(&options, "samples", packed);
    assert_int_equal(call_pack(NULL), 0);
    make_typed_runs();
    usual_options();
    test_set(&options, "task", "link");
    test_set(&options, "edge-split", "80/10/10");
    train_model(link_model);
    og__remove_tree(run_dir);
    usual_options();
    train_model(model);
    char from[160];
    snprintf(from, sizeof(from), "%s/config.yaml", run_dir);
    assert_int_equal(rename(from, config), 0);
    og__remove_tree(run_dir);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    og__options_release(&options);
    keep(NULL);
    og__remove_tree(root);
    return 0;
}

static const char *group_wanted; /* NULL: all */

static bool wanted(const char *group, const char *name)
{
    const char *only = getenv("OG_FAULTS_ONLY");
    return (!group_wanted || strcmp(group_wanted, group) == 0) &&
           (!only || strcmp(only, name) == 0);
}

static void every_call_survives_every_failure(void **state)
{
    (void)state;
    int made = 0;
    for (size_t i = 0; i < OG_COUNT(calls); i++)
        if (wanted(calls[i].group, calls[i].name)) {
            torture_all(&calls[i]);
            made++;
        }
    if (made == 0)
        skip();
    print_message("%ld faults injected: %ld refused, %ld done otherwise\n", all.injected,
                  all.refused, all.done_otherwise);
    assert_int_equal(complaints, 0);
}

/* ---- a run that continues while things fail still ends with the bytes of an unbroken one ---- */

static void stop_at_once(void *arg, const struct og_progress *p)
{
    (void)p;
    test_ask_stop(arg);
}

static uint64_t hash_of(const char *name)
{
    char path[160];
    char *text;
    size_t len;
    snprintf(path, sizeof(path), "%s/%s", run_dir, name);
    assert_int_equal(og__read_text(path, 1 << 24, &text, &len, NULL), 0);
    uint64_t hash = XXH3_64bits(text, len);
    free(text);
    return hash;
}

static uint64_t shape_of_epochs(void)
{
    json_t *summary = said ? json_loads(said, 0, NULL) : NULL;
    uint64_t shape = shape_of(json_object_get(summary, "epochs"));
    json_decref(summary);
    return shape;
}

/* How many failures of a kind there could be in a run from its start. */
static long steady_count(enum fault_kind kind, int (*fn)(struct og_err *err))
{
    bool fired;
    og__remove_tree(run_dir);
    assert_int_equal(mkdir(run_dir, 0777), 0);
    faults_arm(kind, 0);
    int rc = fn(NULL);
    long count = faults_disarm(&fired);
    assert_true(rc >= 0);
    return count;
}

static void a_run_whose_resuming_failed_ends_the_same(void **state)
{
    (void)state;
    char at[160];
    char *text;
    size_t len;
    volatile sig_atomic_t stop = 0;
    if (!wanted("resumed", ""))
        skip();
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = (void *)&stop, .progress = stop_at_once, .stop = &stop};
    usual_options();
    test_set(&options, "checkpoint-every", "0");
    test_set(&options, "resume", "true");
    test_set(&options, "accumulate", "2"); /* it is stopped within a step */
    test_set(&options, "staleness", "1");
    assert_int_equal(call_train(NULL), 0);
    const uint64_t whole = hash_of("checkpoint.safetensors");
    const uint64_t told = shape_of_epochs();
    og__remove_tree(run_dir);
    assert_int_equal(og_train(graph, &options, &seen, NULL, NULL), OG_INTERRUPTED);
    snprintf(at, sizeof(at), "%s/resume.safetensors", run_dir);
    assert_int_equal(og__read_text(at, 1 << 24, &text, &len, NULL), 0);
    long injected = 0;
    for (enum fault_kind kind = FAULT_MEMORY; kind <= FAULT_SPACE; kind++) {
        const long step = (kind == FAULT_MEMORY ? 7 : 1) * step_of(kind); /* most: seen above */
        bool fired = true;
        for (long k = first_of("resumed", kind, step, steady_count(kind, call_train)); fired;
             k += step) {
            struct og_err err = {0};
            og__remove_tree(run_dir);
            assert_int_equal(mkdir(run_dir, 0777), 0);
            assert_int_equal(og__write_text(at, text, len, NULL), 0);
            faults_arm(kind, k);
            int rc = call_train(&err);
            faults_disarm(&fired);
            injected += fired;
            check_run_folder();
            assert_true(rc >= 0 || err.message[0]);
            struct og_err none = {0};
            if (call_train(&none) < 0 || hash_of("checkpoint.safetensors") != whole ||
                shape_of_epochs() != told)
                fail_msg("%s %ld: %s; then: %s", fault_names[kind], k, err.message, none.message);
        }
    }
    free(text);
    og__remove_tree(run_dir);
    print_message("%ld faults injected into a run that goes on\n", injected);
}

/* ---- so does inference ---- */

static int predict_in_run(struct og_err *err)
{
    char logits[160], activations[160];
    snprintf(logits, sizeof(logits), "%s/p.npy", run_dir);
    snprintf(activations, sizeof(activations), "%s/e.npy", run_dir);
    char *text = NULL;
    int rc = og_predict(graph, model, logits, activations, &options, NULL, &text, err);
    free(text);
    return rc;
}

static int files_in_run(void)
{
    DIR *dir = opendir(run_dir);
    const struct dirent *e;
    int n = 0;
    while (dir && (e = readdir(dir)))
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void a_prediction_that_failed_ends_the_same(void **state)
{
    (void)state;
    if (!wanted("predicted", ""))
        skip();
    usual_options();
    test_set(&options, "sampler", "walk"); /* one pass more */
    test_set(&options, "checkpoint-every", "0");
    test_set(&options, "resume", "true");
    assert_int_equal(predict_in_run(NULL), 0);
    const uint64_t logits = hash_of("p.npy"), activations = hash_of("e.npy");
    long injected = 0;
    for (enum fault_kind kind = FAULT_MEMORY; kind <= FAULT_SPACE; kind++) {
        const long step = (kind == FAULT_MEMORY ? 3 : 1) * step_of(kind); /* most: seen above */
        bool fired = true;
        for (long k = first_of("predicted", kind, step, steady_count(kind, predict_in_run)); fired;
             k += step) {
            struct og_err err = {0}, none = {0};
            og__remove_tree(run_dir);
            int before = open_files();
            faults_arm(kind, k);
            int rc = predict_in_run(&err);
            faults_disarm(&fired);
            injected += fired;
            assert_int_equal(open_files(), before);
            assert_true(rc >= 0 || err.message[0]);
            if (rc < 0) /* else its files are there, and stay */
                rc = predict_in_run(&none);
            if (rc < 0 || hash_of("p.npy") != logits || hash_of("e.npy") != activations ||
                files_in_run() != 2)
                fail_msg("%s %ld: %s; then: %s", fault_names[kind], k, err.message, none.message);
        }
    }
    assert_false(leaks());
    og__remove_tree(run_dir);
    print_message("%ld faults injected into inference\n", injected);
}

/* It measures for a minute where nothing fails; so only what it needs first. */
static void measuring_a_disk_that_is_full_ends(void **state)
{
    (void)state;
    if (!wanted("evaluations", ""))
        skip();
    static const enum fault_kind kinds[] = {FAULT_WRITE, FAULT_SPACE};
    const struct inventory before = take_inventory();
    for (size_t i = 0; i < OG_COUNT(kinds); i++) {
        struct og_err err = {0};
        bool fired;
        faults_arm(kinds[i], 1);
        assert_true(call_bench_io(&err) < 0);
        faults_disarm(&fired);
        assert_true(fired && err.message[0]);
        assert_true(take_inventory().hash == before.hash);
    }
}

static void read_environment(void)
{
    const char *step = getenv("OG_FAULTS_STEP"), *seed = getenv("OG_FAULTS_SEED");
    if (step)
        fault_step = OG_MAX(strtol(step, NULL, 10), 1L);
    fault_seed = seed ? strtoull(seed, NULL, 10) : (uint64_t)(time(NULL) / 86400);
    print_message("OG_FAULTS_STEP=%ld OG_FAULTS_SEED=%llu\n", fault_step,
                  (unsigned long long)fault_seed);
}

static bool is_group(const char *name)
{
    bool is = strcmp(name, "resumed") == 0 || strcmp(name, "predicted") == 0;
    for (size_t i = 0; i < OG_COUNT(calls); i++)
        is = is || strcmp(name, calls[i].group) == 0;
    return is;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_any_file_is_seen),
        cmocka_unit_test(every_call_survives_every_failure),
        cmocka_unit_test(a_run_whose_resuming_failed_ends_the_same),
        cmocka_unit_test(a_prediction_that_failed_ends_the_same),
        cmocka_unit_test(measuring_a_disk_that_is_full_ends),
    };
    group_wanted = argc > 1 ? argv[1] : NULL;
    if (group_wanted && !is_group(group_wanted)) {
        print_error("test_faults: no calls are called %s\n", group_wanted);
        return 2;
    }
    read_environment();
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
