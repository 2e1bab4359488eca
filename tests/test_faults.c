/* Every public call, with every single failure there can be: the k-th allocation, open, read or
 * write of it, for k = 1, 2, 3, ... until the call has no k-th one. It returns an error that says
 * something, or does its work in another way; it leaves neither memory (under asan) nor descriptors
 * nor files behind, and what was there before is as it was.
 *
 *     test_faults [GROUP]
 *
 * GROUP: one group of calls, or "resumed" or "predicted"; none: all.
 * OG_FAULTS_STEP=N: of the failures of each call and kind one in N, 1 for all of them (default
 * 101). OG_FAULTS_SEED=N: which of them: seeds 0 to N-1 together make every failure. Default: the
 * day, so that the days take turns; it is printed. OG_FAULTS_ONLY, OG_FAULTS_KIND: one call, one
 * kind alone. */
#include "small_run.h"

#include "base/file.h"
#include "base/temporary.h"
#include "bench/bench.h"
#include "dataset/dataset.h"
#include "faults.h"
#include "nn/nn.h"
#include "support/folder.h"
#include "support/runs.h"

#include <dirent.h>
#include <jansson.h>
#include <outgrow/outgrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zip.h>
#include <zlib.h>

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

static char root[TEST_PATH];
static char graph[64], disk_cache[64], source[64], run_dir[64], out_dir[64], model[96], trace[64],
    config[64], timeline[64], link_model[96], packed[64], pack_dir[96], embeddings[64];

/* ---- what lies in the folder ---- */

struct inventory {
    uint64_t hash;
    int temporaries; /* names of unfinished files, and scratch */
};

/* Contents seen before, by name: read again only when anything that the kernel says of the file has
 * changed. Its clock ticks every few milliseconds, so what was young when it was read is read
 * again. */
static struct seen {
    uint64_t name, hash;
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec written, changed;
    bool settled;
} seen_files[4096];

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_as_seen(const struct seen *f, uint64_t name, const struct stat *st)
{
    return f->settled && f->name == name && f->device == st->st_dev && f->inode == st->st_ino &&
           f->bytes == st->st_size && nanoseconds(f->written) == nanoseconds(st->st_mtim) &&
           nanoseconds(f->changed) == nanoseconds(st->st_ctim);
}

static uint64_t hash_contents(const char *path, uint64_t name)
{
    char *text;
    size_t len;
    assert_int_equal(og__read_text(path, 1 << 26, &text, &len, NULL), 0);
    uint64_t hash = XXH3_64bits_withSeed(text, len, name);
    free(text);
    return hash;
}

static void look_at_file(const char *path, struct inventory *v)
{
    const uint64_t name = XXH3_64bits(path, strlen(path));
    struct seen *f = &seen_files[name % OG_COUNT(seen_files)];
    struct timespec now;
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    if (!is_as_seen(f, name, &st)) {
        bool settled = nanoseconds(now) - nanoseconds(st.st_ctim) > 100 * 1000000;
        *f = (struct seen){name,       hash_contents(path, name),
                           st.st_dev,  st.st_ino,
                           st.st_size, st.st_mtim,
                           st.st_ctim, settled};
    }
    v->hash += f->hash;
}

static void look(const char *folder, struct inventory *v)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while (dir && (e = readdir(dir))) {
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        char *path = og__path_join(folder, e->d_name);
        assert_int_equal(lstat(path, &st), 0);
        v->temporaries += strstr(e->d_name, ".tmp-") || strstr(e->d_name, "outgrow-scratch-");
        v->hash += XXH3_64bits(path, strlen(path));
        if (S_ISDIR(st.st_mode))
            look(path, v);
        else
            look_at_file(path, v);
        free(path);
    }
    if (dir)
        closedir(dir);
}

static struct inventory take_inventory(void)
{
    struct inventory v = {0};
    look(root, &v);
    return v;
}

static void a_change_of_any_file_is_seen(void **state)
{
    (void)state;
    static const struct timespec long_enough = {.tv_nsec = 150 * 1000000};
    char path[160];
    snprintf(path, sizeof(path), "%s/changing", root);
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) { /* as many bytes, in the same file, at once or when it is old */
        FILE *f = fopen(path, i ? "r+" : "w");
        assert_non_null(f);
        assert_int_equal(fputc('a' + i, f), 'a' + i);
        assert_int_equal(fclose(f), 0);
        uint64_t now = take_inventory().hash;
        assert_true(now != last && now == take_inventory().hash);
        last = now;
        if (i % 2)
            nanosleep(&long_enough, NULL);
        assert_true(now == take_inventory().hash);
    }
    assert_int_equal(unlink(path), 0);
    assert_true(take_inventory().hash != last);
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- JSON, but for its numbers and words ---- */

static uint64_t shape_of(const json_t *value)
{
    uint64_t shape = json_is_boolean(value) ? JSON_TRUE : value ? json_typeof(value) + 1u : 0;
    const char *key;
    json_t *inner;
    size_t i;
    json_object_foreach((json_t *)value, key, inner) shape +=
        XXH3_64bits_withSeed(key, strlen(key), shape_of(inner));
    json_array_foreach(value, i, inner) shape = 31 * shape + shape_of(inner);
    return shape;
}

static uint64_t shape_of_text(const char *text)
{
    json_t *value = text ? json_loads(text, 0, NULL) : NULL;
    uint64_t shape = shape_of(value);
    json_decref(value);
    return shape;
}

/* Of a file with a value, or one a line. */
static uint64_t shape_of_file(const char *path, bool by_line)
{
    char *text;
    size_t len;
    uint64_t shape = 0;
    if (access(path, F_OK) != 0)
        return 0;
    assert_int_equal(og__read_text(path, 1 << 24, &text, &len, NULL), 0);
    char *end;
    for (char *line = text; by_line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        shape = 31 * shape + shape_of_text(line);
    }
    if (!by_line)
        shape = shape_of_text(text);
    free(text);
    return shape;
}

/* What the last call said. */
static char *said;

static void keep(char *text)
{
    free(said);
    said = text;
}

/* ---- the calls ---- */

/* Made before faults are armed: setting options is a call of its own. */
static struct og_options options;

static void usual_options(void)
{
    og_options_release(&options);
    small_run(&options, run_dir);
    test_set(&options, "cache", "10%");
    test_set(&options, "disk", "1G");
}

static int call_generate(struct og_err *err)
{
    struct og_generate g = small_graph(OG_PLANTED);
    return og_generate(out_dir, &g, NULL, err);
}

static int call_generate_rmat(struct og_err *err)
{
    struct og_generate g = small_graph(OG_RMAT);
    return og_generate(out_dir, &g, NULL, err);
}

static int call_import(struct og_err *err)
{
    struct og_import i;
    og_import_init(&i);
    i.symmetrize = i.row_normalize = true;
    i.memory = (struct og_amount){OG_BYTES, 64 << 20};
    i.threads = 1;
    return og_import("npy", source, out_dir, &i, NULL, err);
}

static int import_from(const char *format, const char *name, bool link, struct og_err *err)
{
    struct og_import i;
    char path[160];
    og_import_init(&i);
    i.link = link;
    i.memory = (struct og_amount){OG_BYTES, 64 << 20};
    i.threads = 1;
    i.weight_column = strcmp(format, "edgelist") == 0 ? 3 : -1;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return og_import(format, path, out_dir, &i, NULL, err);
}

static int call_import_link(struct og_err *err)
{
    return import_from("npy", "source", true, err);
}

static int call_import_ogb(struct og_err *err)
{
    return import_from("ogb", "ogbn_products", false, err);
}

static int call_import_papers(struct og_err *err)
{
    return import_from("ogb", "papers", false, err);
}

static int call_import_mag(struct og_err *err)
{
    return import_from("ogb", "mag", false, err);
}

static int call_import_igb(struct og_err *err)
{
    return import_from("igb", "igb", false, err);
}

static int call_import_graphbolt(struct og_err *err)
{
    return import_from("graphbolt", "graphbolt", false, err);
}

static int call_import_edgelist(struct og_err *err)
{
    return import_from("edgelist", "edges.txt.gz", false, err);
}

static int call_import_mtx(struct og_err *err)
{
    return import_from("mtx", "graph.mtx", false, err);
}

/* The same edge list, with so many ids and so little memory that ids and edges go to the disk. */
static int call_import_far(struct og_err *err)
{
    struct og_import i;
    char path[160];
    og_import_init(&i);
    i.memory = (struct og_amount){OG_BYTES, 13 << 20};
    i.threads = 1;
    snprintf(path, sizeof(path), "%s/far.txt", root);
    return og_import("edgelist", path, out_dir, &i, NULL, err);
}

static int call_export_npy(struct og_err *err)
{
    return og_export("npy", graph, out_dir, NULL, err);
}

static int call_export_graphbolt(struct og_err *err)
{
    return og_export("graphbolt", graph, out_dir, NULL, err);
}

static int call_info(struct og_err *err)
{
    char *text = NULL;
    int rc = og_info(graph, &text, err);
    keep(text);
    return rc;
}

static int call_cache(struct og_err *err)
{
    char *text = NULL;
    int rc = og_cache(disk_cache, false, &text, err);
    keep(text);
    return rc;
}

static void on_finding(void *arg, const char *text, const char *hint)
{
    (void)arg;
    (void)text;
    (void)hint;
}

static int call_verify(struct og_err *err)
{
    return og_verify_hints(graph, on_finding, NULL, NULL, err);
}

static int call_verify_samples(struct og_err *err)
{
    return og_verify_samples(packed, graph, on_finding, NULL, NULL, err);
}

static int call_options(struct og_err *err)
{
    struct og_options opt;
    og_options_init(&opt);
    int rc = og_options_load(&opt, config, err);
    if (rc == 0)
        rc = og_options_set(&opt, "scratch", "/tmp/elsewhere", err);
    if (rc == 0)
        rc = og_options_set(&opt, "fanout", "3,4,5", err);
    og_options_release(&opt);
    return rc;
}

/* What the batches of an epoch have in them. */
static int sum_batches(struct og_loader *l, uint64_t *sum, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    int rc;
    while ((rc = og_loader_next(l, -1, &b, err)) == 0 && b) {
        *sum = XXH3_64bits_withSeed(b->ids.data, (size_t)b->ids.shape[0] * 8, *sum);
        *sum = XXH3_64bits_withSeed(b->x.data, (size_t)(b->x.shape[0] * b->x.shape[1]) * 4, *sum);
        og_minibatch_release(b);
    }
    return rc;
}

/* An epoch, left in its middle for where another begins; a pass; and what it tells. */
static int load(struct og_loader *l, uint64_t *sum, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    char *text = NULL;
    int rc;
    OG_TRY(og_loader_start(l, 1, err));
    OG_TRY(og_loader_next(l, -1, &b, err));
    og_minibatch_release(b);
    OG_TRY(og_loader_state(l, &text, err));
    OG_TRY(og_loader_start(l, 2, err));
    OG_TRY(sum_batches(l, sum, err));
    OG_TRY(og_loader_evaluate(l, "valid", err));
    OG_TRY(sum_batches(l, sum, err));
    OG_TRY(og_loader_restore(l, text, err));
    OG_TRY(sum_batches(l, sum, err));
    free(text);
    OG_TRY(og_loader_plan(l, &text, err));
    free(text);
    OG_TRY(og_loader_metrics(l, &text, err));
out:
    free(text);
    return rc;
}

static int call_loader(struct og_err *err)
{
    struct og_loader *l = NULL;
    uint64_t sum = 0;
    char *text;
    int rc;
    OG_TRY(og_loader_open(&l, graph, &options, NULL, NULL, err));
    OG_TRY(load(l, &sum, err));
    if (asprintf(&text, "{\"%016llx\": 0}", (unsigned long long)sum) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "sum"));
    keep(text);
out:
    og_loader_close(l);
    return rc;
}

static int call_plan(struct og_err *err)
{
    char *text = NULL;
    int rc = og_plan(graph, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_sample(struct og_err *err)
{
    return og_sample(graph, out_dir, true, &options, NULL, err);
}

static int call_simulate(struct og_err *err)
{
    char *text = NULL;
    int rc = og_simulate(graph, "presc,lru,belady,hybrid", "5%,20%", &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_simulate_trace(struct og_err *err)
{
    char *text = NULL;
    int rc = og_simulate(trace, "frequency,rr", "5%", &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_train(struct og_err *err)
{
    char *text = NULL;
    int rc = og_train(graph, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_eval(struct og_err *err)
{
    char *text = NULL;
    int rc = og_eval(graph, model, "valid", &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_eval_link(struct og_err *err)
{
    char *text = NULL;
    int rc = og_eval(graph, link_model, "test", &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_eval_full(struct og_err *err)
{
    char *text = NULL;
    int rc = og_eval_full(graph, model, "test", &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_predict(struct og_err *err)
{
    char *text = NULL;
    int rc = og_predict(graph, model, out_dir, embeddings, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_pack(struct og_err *err)
{
    char *text = NULL;
    int rc = og_pack(graph, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_bench_epoch(struct og_err *err)
{
    char *text = NULL;
    int rc = og__bench_epoch(graph, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_bench_sample(struct og_err *err)
{
    char *text = NULL;
    int rc = og__bench_sample(graph, &options, &text, err);
    keep(text);
    return rc;
}

static int call_bench_train(struct og_err *err)
{
    char *text = NULL;
    int rc = og__bench_train(graph, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_bench_gemm(struct og_err *err)
{
    char *text = NULL;
    int rc = og__bench_gemm(8, 3, &options, &text, err);
    keep(text);
    return rc;
}

static int call_bench_io(struct og_err *err)
{
    char *text = NULL;
    int rc = og__bench_io(root, NULL, &text, err);
    keep(text);
    return rc;
}

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
    if (access(embeddings, F_OK) == 0) { /* and the file beside it */
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
    const char *options[10]; /* name, value, ... */
    /* Of what measures for seconds where nothing fails: so many, of memory and of reading; 0 = all
     * kinds, until the call has no k-th of them. */
    long most;
};

static int make(const struct call *c, struct og_err *err)
{
    keep(NULL);
    return c->fn(err);
}

/* Told at once; the test fails at its end, when all are known. */
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

/* Libraries ask for memory far more often than we do, mostly for a word of JSON: every
 * one of these would take an hour. */
static long step_of(enum fault_kind kind)
{
    bool some = kind == FAULT_LIBRARY && !getenv("OG_FAULTS_KIND");
    return some ? OG_MAX(5 * fault_step, 23L) : fault_step;
}

/* The first failure of those that are made, of a call that has so many: each one in its turn as
 * seeds count up, and at least one. */
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
    {"datasets", "verify samples", call_verify_samples, {NULL}, 0},
    {"datasets", "generate planted", call_generate, {NULL}, 0},
    {"datasets", "generate rmat", call_generate_rmat, {NULL}, 0},
    {"imports", "import npy", call_import, {NULL}, 0},
    {"imports", "import npy --link", call_import_link, {NULL}, 0},
    {"imports", "import ogb", call_import_ogb, {NULL}, 0},
    {"imports", "import ogb papers", call_import_papers, {NULL}, 0},
    {"imports", "import ogb mag", call_import_mag, {NULL}, 0},
    {"imports", "import igb", call_import_igb, {NULL}, 0},
    {"imports", "import graphbolt", call_import_graphbolt, {NULL}, 0},
    {"imports", "import edgelist", call_import_edgelist, {NULL}, 0},
    {"imports", "import edgelist far", call_import_far, {NULL}, 0},
    {"imports", "import mtx", call_import_mtx, {NULL}, 0},
    {"imports", "export npy", call_export_npy, {NULL}, 0},
    {"imports", "export graphbolt", call_export_graphbolt, {NULL}, 0},
    {"loaders", "loader", call_loader, {"policy", "lru"}, 0},
    {"loaders", "loader ahead", call_loader, {"policy", "belady", "superbatch", "3"}, 0},
    {"loaders", "loader from disk", call_loader, {"policy", "degree", "topology", "disk"}, 0},
    {"plans", "plan", call_plan, {NULL}, 0},
    {"plans", "plan belady", call_plan, {"policy", "belady", "trace-timeline", timeline}, 0},
    {"plans",
     "sample",
     call_sample,
     {"policy", "degree", "topology", "memory", "layout", "raw"},
     0},
    {"plans", "simulate", call_simulate, {NULL}, 0},
    {"plans", "simulate a trace", call_simulate_trace, {NULL}, 0},
    {"train", "train", call_train, {"checkpoint-every", "0", "log-every", "1"}, 0},
    {"train", "train uring", call_train, {"io", "uring", "policy", "none"}, 0},
    {"train", "train belady", call_train, {"policy", "belady", "superbatch", "3"}, 0},
    {"turns", "train in turns", call_train, {"policy", "belady", "alternate", "true"}, 0},
    {"turns", "train topology disk", call_train, {"topology", "disk", "scratch", disk_cache}, 0},
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

static void make_source(void)
{
    static const char *const copies[][2] = {
        {"features.npy", "feat.npy"}, {"labels.npy", "label.npy"}, {"train.npy", "train.npy"}};
    char from[128], to[128];
    char edges[128 + 4 * 16];
    size_t len;
    char *text;
    assert_int_equal(mkdir(source, 0777), 0);
    for (size_t i = 0; i < OG_COUNT(copies); i++) {
        snprintf(from, sizeof(from), "%s/%s", graph, copies[i][0]);
        snprintf(to, sizeof(to), "%s/%s", source, copies[i][1]);
        assert_int_equal(og__read_text(from, 1 << 24, &text, &len, NULL), 0);
        assert_int_equal(og__write_text(to, text, len, NULL), 0);
        free(text);
    }
    /* four edges, by hand */
    static const int64_t ends[4][2] = {{0, 1}, {1, 2}, {2, 2}, {5, 200}};
    memset(edges, ' ', sizeof(edges));
    memcpy(edges, "\x93NUMPY\x01\x00\x76\x00", 10);
    static const char header[] = "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 2), }";
    memcpy(edges + 10, header, sizeof(header) - 1);
    edges[127] = '\n';
    memcpy(edges + 128, ends, sizeof(ends));
    snprintf(to, sizeof(to), "%s/edges.npy", source);
    assert_int_equal(og__write_text(to, edges, sizeof(edges), NULL), 0);
}

/* ---- small sources, laid out as their projects do ---- */

static const char *in_root(const char *name)
{
    static char path[160];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *p = strchr(path + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0777);
        *p = '/';
    }
    return path;
}

static void write_file(const char *name, const char *text)
{
    size_t len = strlen(name);
    gzFile f = gzopen(in_root(name), strcmp(name + len - 3, ".gz") == 0 ? "wb" : "wbT");
    assert_non_null(f);
    assert_int_equal(gzputs(f, text), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
}

/* The bytes of a .npy file. */
static char *npy_bytes(enum og__npy_type type, int64_t rows, int64_t columns, const void *data,
                       size_t *len)
{
    const int64_t shape[2] = {rows, columns};
    char head[4096];
    size_t n = og__npy_header(head, type, columns > 1 ? 2 : 1, shape, 64);
    size_t bytes = (size_t)(rows * columns) * og__npy_size(type);
    char *whole = malloc(n + bytes);
    assert_non_null(whole);
    memcpy(whole, head, n);
    memcpy(whole + n, data, bytes);
    *len = n + bytes;
    return whole;
}

static void write_npy(const char *name, enum og__npy_type type, int64_t rows, int64_t columns,
                      const void *data)
{
    size_t len;
    char *whole = npy_bytes(type, rows, columns, data, &len);
    assert_int_equal(og__write_text(in_root(name), whole, len, NULL), 0);
    free(whole);
}

/* Its bytes, which are the archive's until that is closed. */
static char *add_member(zip_t *z, const char *name, enum og__npy_type type, int64_t rows,
                        int64_t columns, const void *data)
{
    size_t len;
    char *whole = npy_bytes(type, rows, columns, data, &len);
    assert_true(zip_file_add(z, name, zip_source_buffer(z, whole, len, 0), 0) >= 0);
    return whole;
}

enum { SMALL = 6, SMALL_EDGES = 7 };
static const int64_t small_src[SMALL_EDGES] = {0, 1, 2, 3, 4, 5, 0};
static const int64_t small_dst[SMALL_EDGES] = {1, 2, 3, 4, 5, 0, 3};
static const float small_rows[SMALL][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {1, 0.5f}};
static const float small_labels[SMALL] = {0, 1, 2, 0, 1, 2};

static void make_ogb(const char *name, const char *file, const char *text)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/%s", name, file);
    write_file(path, text);
}

static void make_splits(const char *name)
{
    make_ogb(name, "split/time/train.csv.gz", "0\n1\n");
    make_ogb(name, "split/time/valid.csv.gz", "2\n");
    make_ogb(name, "split/time/test.csv.gz", "3\n");
}

static void make_products(void)
{
    static const char name[] = "ogbn_products";
    make_ogb(name, "raw/edge.csv.gz", "0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n0,3\n");
    make_ogb(name, "raw/num-node-list.csv.gz", "6\n");
    make_ogb(name, "raw/num-edge-list.csv.gz", "7\n");
    make_ogb(name, "raw/node-feat.csv.gz", "0,1\n2,3\n4,5\n6,7\n8,9\n1,0.5\n");
    make_ogb(name, "raw/node-label.csv.gz", "0\n1\n2\n0\nnan\n2\n");
    make_splits(name);
}

static void make_papers(void)
{
    static const int64_t nodes = SMALL;
    int64_t edges[2][SMALL_EDGES];
    memcpy(edges[0], small_src, sizeof(small_src));
    memcpy(edges[1], small_dst, sizeof(small_dst));
    zip_t *z = zip_open(in_root("papers/raw/data.npz"), ZIP_CREATE, NULL);
    assert_non_null(z);
    char *members[4];
    members[0] = add_member(z, "edge_index.npy", OG__NPY_I64, 2, SMALL_EDGES, edges);
    members[1] = add_member(z, "node_feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    members[2] = add_member(z, "num_nodes_list.npy", OG__NPY_I64, 1, 1, &nodes);
    assert_int_equal(zip_close(z), 0);
    z = zip_open(in_root("papers/raw/node-label.npz"), ZIP_CREATE, NULL);
    assert_non_null(z);
    members[3] = add_member(z, "node_label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    assert_int_equal(zip_close(z), 0);
    for (size_t i = 0; i < OG_COUNT(members); i++)
        free(members[i]);
    make_splits("papers");
    write_npy("mag/processed/paper___cites___paper/edge_index.npy", OG__NPY_I64, 2, SMALL_EDGES,
              edges);
    write_npy("mag/processed/paper/node_feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    write_npy("mag/processed/paper/node_label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    write_npy("mag/train.npy", OG__NPY_I64, 3, 1, small_src);
}

static void make_igb(void)
{
    int64_t edges[SMALL_EDGES][2];
    for (size_t i = 0; i < SMALL_EDGES; i++) {
        edges[i][0] = small_src[i];
        edges[i][1] = small_dst[i];
    }
    write_npy("igb/processed/paper__cites__paper/edge_index.npy", OG__NPY_I64, SMALL_EDGES, 2,
              edges);
    write_npy("igb/processed/paper/node_label_19.npy", OG__NPY_F32, SMALL, 1, small_labels);
    static const float rows[SMALL][1024] = {{1, 2}, {0, 0.5f}};
    assert_int_equal(og__write_text(in_root("igb/processed/paper/node_feat.npy"),
                                    (const char *)rows, sizeof(rows), NULL),
                     0); /* headerless */
}

static void make_far(void)
{
    enum { LINES = 90000 };
    FILE *f = fopen(in_root("far.txt"), "w");
    assert_non_null(f);
    for (uint64_t i = 0; i < LINES; i++)
        fprintf(f, "%llu %llu\n", (unsigned long long)(2 * i * 0x9e3779b97f4a7c15u >> 1),
                (unsigned long long)((2 * i + 1) * 0x9e3779b97f4a7c15u >> 1));
    assert_int_equal(fclose(f), 0);
}

static void make_formats(void)
{
    make_products();
    make_papers();
    make_igb();
    make_far();
    write_file("edges.txt.gz", "# a remark\n7 900 0.5\n900 31 1.5\n31 7 2\n7 7 1\n");
    write_file("graph.mtx", "%%MatrixMarket matrix coordinate real symmetric\n% a remark\n"
                            "4 4 3\n2 1 0.5\n3 3 1\n4 2 2\n");
    assert_int_equal(og_export("graphbolt", graph, in_root("graphbolt"), NULL, NULL), 0);
}

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
                 {embeddings, sizeof(embeddings), "embeddings.npy"}};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        snprintf(names[i].out, names[i].room, "%s/%s", root, names[i].name);
    setenv("XDG_CACHE_HOME", disk_cache, 1);
    struct og_generate g = small_graph(OG_PLANTED);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    make_source();
    make_formats();
    usual_options();
    assert_int_equal(og_sample(graph, trace, false, &options, NULL, NULL), 0);
    assert_int_equal(og_sample(graph, packed, false, &options, NULL, NULL), 0);
    test_set(&options, "samples", packed);
    assert_int_equal(call_pack(NULL), 0);
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
    og_options_release(&options);
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

/* ---- a run that goes on while things fail still ends with the bytes of an unbroken one ---- */

static void stop_at_once(void *arg, const struct og_progress *p)
{
    (void)p;
    *(volatile sig_atomic_t *)arg = 1;
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
    const struct og_observer seen = {.arg = (void *)&stop, .progress = stop_at_once, .stop = &stop};
    usual_options();
    test_set(&options, "checkpoint-every", "0");
    test_set(&options, "resume", "true");
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
            if (predict_in_run(&none) < 0 || hash_of("p.npy") != logits ||
                hash_of("e.npy") != activations || files_in_run() != 2)
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
