/* The command through a whole life: generate, train, evaluate. With --json the results on standard
 * output are JSON and nothing else. */
#include "cli/cli_fixture.h"

static void a_dataset_is_made_and_checked(void **state)
{
    (void)state;
    static const char *const keys[] = {"name",          "num_nodes",   "num_edges", "feature_dim",
                                       "feature_dtype", "num_classes", NULL};
    json_t *info =
        json_of("generate d --nodes 2000 --degree 8 --dim 16 --classes 4 --seed 3 --json");
    assert_keys(info, keys);
    assert_int_equal(json_integer_value(json_object_get(info, "num_nodes")), 2000);
    json_decref(info);
    struct outcome *o = outgrow("generate d");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "d: exists already");
    o = outgrow("verify d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "nothing wrong");
    o = outgrow("info d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "2,000");

    /* one bit of the features */
    assert_int_equal(system("cp -r d e"), 0);
    int fd = open("e/features.npy", O_RDWR | O_CLOEXEC);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 5000), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 5000), 1);
    close(fd);
    o = outgrow("verify e");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "features.npy");
    assert_null(strstr(o->out, "hint: "));
    o = outgrow("verify e --repair-hints");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "hint: copy the file from a sound copy");
    json_error_t why;
    json_t *root = json_loads(outgrow("verify e --json")->out, 0, &why);
    assert_int_equal(json_array_size(json_object_get(root, "findings")), 1);
    json_decref(root);
}

static const char *const run_keys[] = {"version",
                                       "dataset",
                                       "config",
                                       "seed",
                                       "plan",
                                       "prepare",
                                       "epochs",
                                       "best_epoch",
                                       "valid_acc",
                                       "test_acc",
                                       "peak_rss_bytes",
                                       "baseline_rss_bytes",
                                       "seconds",
                                       "memory_budget_bytes",
                                       NULL};
static const char *const epoch_keys[] = {"epoch",
                                         "loss",
                                         "train_acc",
                                         "valid_acc",
                                         "seconds",
                                         "sample_seconds",
                                         "plan_seconds",
                                         "gather_seconds",
                                         "train_seconds",
                                         "stall_seconds",
                                         "eval_seconds",
                                         "eval_bytes_read",
                                         "rows",
                                         "hits",
                                         "misses",
                                         "prefill",
                                         "reads",
                                         "bytes_read",
                                         "feature_bytes_read",
                                         "topology_bytes_read",
                                         "trace_bytes_read",
                                         "bytes_written",
                                         "prepare_reads",
                                         "prepare_bytes_read",
                                         NULL};
static const char *const plan_keys[] = {"policy", "layout",    "topology",
                                        "memory", "predicted", NULL};

static void a_run_is_summed_up(void **state)
{
    (void)state;
    json_t *s = json_of("train d --json --run r --epochs 3 --batch 50 --hidden 16 --fanout 5,5 "
                        "--cache 5% --log-every 1");
    assert_keys(s, run_keys);
    assert_keys(json_object_get(s, "plan"), plan_keys);
    json_t *epochs = json_object_get(s, "epochs");
    assert_int_equal(json_array_size(epochs), 3);
    size_t i;
    json_t *e;
    json_array_foreach(epochs, i, e)
    {
        assert_keys(e, epoch_keys);
        assert_int_equal(json_integer_value(json_object_get(e, "epoch")), i + 1);
        assert_int_equal(json_integer_value(json_object_get(e, "rows")),
                         json_integer_value(json_object_get(e, "hits")) +
                             json_integer_value(json_object_get(e, "misses")));
    }
    assert_string_equal(json_string_value(json_object_get(json_object_get(s, "config"), "cache")),
                        "5%");
    json_t *file = json_load_file("r/summary.json", 0, NULL);
    assert_true(json_equal(s, file));
    json_decref(file);
    json_decref(s);
    json_t *v = json_of("eval d --checkpoint r/best.safetensors --split valid --json");
    assert_true(json_is_real(json_object_get(v, "acc")));
    json_decref(v);
    v = json_of("eval d --checkpoint r/best.safetensors --full --json");
    assert_true(json_is_real(json_object_get(v, "acc")));
    json_decref(v);
    v = json_of("predict d --checkpoint r/best.safetensors --out p.npy --embeddings e.npy --json");
    assert_true(json_is_array(json_object_get(v, "layers")));
    json_decref(v);
    assert_int_equal(access("p.npy", F_OK), 0);
    assert_int_equal(access("e.npy", F_OK), 0);
    const struct outcome *o = outgrow("predict d --checkpoint r/best.safetensors --out p.npy");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "p.npy: exists already");
    assert_says(o->err, "hint: give --overwrite to replace it");
    o = outgrow("predict d --checkpoint r/best.safetensors --out p.npy --resume");
    assert_int_equal(o->status, 1); /* it had ended */
    assert_says(o->err, "p.npy: exists already, and --resume finds nothing to continue");
    o = outgrow("predict d --checkpoint r/best.safetensors --out p.npy --resume --overwrite");
    assert_int_equal(o->status, 0);
    assert_says(o->err, "nothing to resume");
    o = outgrow("train d --run r");
    assert_int_equal(o->status, 1); /* a finished run is not overwritten */
    /* a run of several: its options serve what is the work of one */
    assert_int_equal(system("sed 's/^workers: 1$/workers: 2/' r/config.yaml >two.yaml"), 0);
    assert_int_equal(system("grep -q '^workers: 2$' two.yaml"), 0);
    o = outgrow("eval d --config two.yaml --checkpoint r/best.safetensors");
    assert_int_equal(o->status, 0);
}

/* Killed before it saved anything: others' options would replace its best model. */
static void a_run_that_saved_nothing_goes_on_by_its_own_options(void **state)
{
    (void)state;
    static const char *const models[] = {"sage", "mlp"}; /* mlp has no fanout */
    for (size_t i = 0; i < 2; i++) {
        char same[160], line[256];
        snprintf(same, sizeof(same), "train d --run early%zu --epochs 1 --model %s --hidden 8", i,
                 models[i]);
        assert_int_equal(outgrow(same)->status, 0);
        snprintf(line, sizeof(line),
                 "rm early%zu/resume.safetensors early%zu/checkpoint.safetensors "
                 "early%zu/summary.json && cp early%zu/best.safetensors best.kept",
                 i, i, i, i);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof(line), "%s --resume --lr 0.3", same);
        const struct outcome *o = outgrow(line);
        assert_int_equal(o->status, 1);
        assert_says(o->err, "the run was started with another --lr (0.003, this run has 0.3)");
        snprintf(line, sizeof(line), "cmp early%zu/best.safetensors best.kept", i);
        assert_int_equal(system(line), 0);
        snprintf(line, sizeof(line), "%s --resume --policy degree --memory 300M", same);
        o = outgrow(line);
        assert_int_equal(o->status, 0);
        assert_says(o->err, "nothing to resume");
        snprintf(line, sizeof(line), "cmp early%zu/best.safetensors best.kept", i);
        assert_int_equal(system(line), 0);
    }
    assert_int_equal(outgrow("train d --config early1/config.yaml --run by-file")->status, 0);
}

/* A sentence each on what is kept, what is read and why, before the tables. No line ends blank. */
static void a_plan_begins_with_its_reasons(void **state)
{
    (void)state;
    const struct outcome *o = outgrow("plan d --fanout 5,5 --hidden 16 --cache 5%");
    assert_int_equal(o->status, 0);
    assert_true(strncmp(o->out, "Memory holds 100 feature rows by policy ", 40) == 0 ||
                strncmp(o->out, "Memory takes the feature rows of ", 33) == 0);
    assert_says(o->out, "of them in memory and reads ");
    assert_says(o->out, "Fastest of ");
    assert_says(o->out, "; the next, ");
    assert_null(strstr(o->out, " \n"));
    assert_true(strstr(strstr(o->out, "\ncandidates"), " MiB  ") != NULL); /* what each way holds */
    o = outgrow("plan d --fanout 5,5 --hidden 16 --cache 5% --policy degree --layout raw");
    assert_says(o->out,
                "by policy degree, the others are read from the feature file; the topology is "
                "in memory.\nAn epoch needs ");
    assert_null(strstr(o->out, "Fastest"));
    assert_null(strstr(o->out, " \n"));
    assert_null(strstr(o->out, "candidates"));
    assert_null(strstr(o->out, " 0 B\n")); /* a table of what is there */
    assert_null(strstr(o->out, "superbatch"));
    o = outgrow("plan d --fanout 5,5 --hidden 16");
    assert_says(o->out, "Memory holds all feature rows that are needed, 2,000; the topology "
                        "is in memory.\nAn epoch needs ");
    assert_null(strstr(outgrow("info d")->out, " \n"));

    /* counted, but there is no room on the disk for them */
    json_t *plan = json_of("plan d --fanout 5,5 --hidden 16 --cache 5% --disk 50K --json");
    char wanted[64];
    size_t possible = 0;
    const json_t *ways = json_object_get(plan, "candidates");
    for (size_t i = 0; i < json_array_size(ways); i++)
        possible += json_is_true(json_object_get(json_array_get(ways, i), "possible"));
    assert_true(possible > 1 && possible < json_array_size(ways));
    snprintf(wanted, sizeof(wanted), "Fastest of %zu execution plans", possible);
    assert_says(outgrow("plan d --fanout 5,5 --hidden 16 --cache 5% --disk 50K")->out, wanted);
    json_decref(plan);
}

static long number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    if (!at)
        fail_msg("no \"%s\" in: %s", words, text);
    return strtol(at + strlen(words), NULL, 10);
}

/* The smallest memory has no room for a cache: that is said, with a batch that has one. */
static void reads_without_a_cache_are_announced(void **state)
{
    (void)state;
    static const char plan[] = "plan wide --batch 500 --fanout 10,10 --hidden 16";
    char line[200];
    assert_int_equal(outgrow("generate wide --nodes 60000 --dim 200 --threads 2 --quiet")->status,
                     0);
    snprintf(line, sizeof(line), "%s --memory 1M", plan);
    const int least = (int)number_after(outgrow(line)->err, "that would do is --memory ");
    snprintf(line, sizeof(line), "%s --memory %dM", plan, least);
    const struct outcome *o = outgrow(line);
    assert_int_equal(o->status, 0);
    assert_true(strncmp(o->out, "Memory holds no feature rows (policy ", 37) == 0);
    assert_says(o->err, "memory caches no feature rows: an epoch reads about ");
    assert_says(o->err, " times the feature file; more --memory reads less, as does --batch ");
    assert_says(o->out, "\ncandidates"); /* those that do not fit, with the reason */
    const int batch = (int)number_after(o->err, "as does --batch ");
    assert_true(batch > 0 && batch < 500);
    snprintf(line, sizeof(line), "%s --memory %dM --batch %d", plan, least, batch);
    o = outgrow(line);
    assert_int_equal(o->status, 0);
    assert_null(strstr(o->out, "holds no feature rows"));
    assert_null(strstr(o->err, "memory caches no"));
    snprintf(line, sizeof(line), "%s --memory %dM --policy none", plan, least);
    assert_null(strstr(outgrow(line)->err, "memory caches no")); /* its options say so */
    assert_says(outgrow(line)->out, "No other execution plan was compared: the policy is given.");
    assert_says(outgrow("plan wide --memory 1G --fanout 5,5 --hidden 16")->out,
                "No other execution plan was compared: memory holds all rows.");
}

static void people_get_text(void **state)
{
    (void)state;
    struct outcome *o =
        outgrow("train d --config r/config.yaml --epochs 2 --run q --memory 200M --preset memory");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "test accuracy");
    assert_says(o->out, "peak memory");
    assert_says(o->out, "host cache");
    assert_says(o->out, "disk");
    assert_says(o->err, "epoch 2/2");
    o = outgrow("train d --config r/config.yaml --epochs 1 --run p --quiet");
    assert_int_equal(o->status, 0);
    assert_string_equal(o->err, "");
    o = outgrow("plan d --fanout 5,5");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "feature cache");
    o = outgrow("sample d --out t --epochs 1 --fanout 5,5");
    assert_int_equal(o->status, 0);
    assert_string_equal(o->out, "t\n");
    assert_int_equal(access("t/trace.json", F_OK), 0);
    json_t *made = json_of("sample d --out told --epochs 1 --fanout 5,5 --json");
    assert_string_equal(json_string_value(json_object_get(made, "trace")), "told");
    json_decref(made);
}

static const struct outcome *keep_rows(const char *command, const char *device)
{
    char line[256];
    snprintf(line, sizeof(line),
             "%s --epochs 1 --fanout 5,5 --batch 100 --accumulate 2 --device %s --device-memory 8M "
             "--policy degree --cache 10%%",
             command, device);
    const struct outcome *o = outgrow(line);
    assert_int_equal(o->status, 0);
    return o;
}

/* Rows that devices have of one another are printed for several devices alone. */
static void rows_of_another_device_are_told(void **state)
{
    (void)state;
    const struct outcome *o = keep_rows("train d --run v1", "virtual");
    assert_says(o->out, "\n  device ");
    assert_null(strstr(o->out, "another's"));
    o = keep_rows("train d --run v2", "virtual:2");
    assert_says(o->out, "\n    another's ");
    o = keep_rows("plan d", "virtual");
    assert_says(o->out, "over the interconnect");
    assert_null(strstr(o->out, "move between devices"));
    o = keep_rows("plan d", "virtual:2");
    assert_says(o->out, "move between devices");
    o = keep_rows("simulate d", "virtual");
    assert_null(strstr(o->out, "another's"));
    o = keep_rows("simulate d --json -", "virtual:2");
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *told = json_array_get(json_object_get(root, "results"), 0);
    const double peers = json_number_value(json_object_get(told, "peer_hits"));
    char share[64];
    snprintf(share, sizeof(share), " %7.2f %% %7.2f %% %7.2f %%", 100.0,
             100 * peers / json_number_value(json_object_get(told, "rows")), 0.0);
    assert_int_equal(json_integer_value(json_object_get(root, "devices")), 2);
    assert_true(peers > 0);
    json_decref(root);
    o = keep_rows("simulate d", "virtual:2");
    assert_says(o->out, "    device another's      host   victims      disk ");
    assert_says(o->out, share);
}

/* Every sampler, on a graph without weights. */
static void samplers_train_as_shown(void **state)
{
    static const char *const shown[] = {
        "--sampler walk --model pinsage",
        "--sampler walk --walks 8 --walk-length 2 --walk-restart 0.3 --neighbors 10 --fanout 1,1",
        "--sampler labor", "--sampler ladies --model pinsage --fanout 5,5,5"};
    char line[300];
    (void)state;
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
        snprintf(line, sizeof(line), "train d --run s%zu --epochs 1 --hidden 16 --json %s", i,
                 shown[i]);
        json_t *s = json_of(line);
        assert_non_null(json_object_get(s, "best_epoch"));
        json_decref(s);
    }
    assert_int_equal(outgrow("sample d --out w --epochs 1 --sampler walk")->status, 0);
    assert_int_equal(access("w/hop1_weight.npy", F_OK), 0);
    static const char *const others[] = {
        "simulate d --policy degree,belady --cache 10% --epochs 1 --sampler labor",
        "plan d --sampler ladies --topology disk",
        "predict d --checkpoint s0/best.safetensors --out walked.npy --seed 3",
        "predict d --checkpoint s0/best.safetensors --out all.npy --sampler uniform",
        "eval d --checkpoint s0/best.safetensors --neighbors 8",
        "train d --model pinsage --hidden 16 --init s0/best.safetensors --run again --epochs 1",
        "bench epoch d --epochs 1 --sampler walk --json"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_int_equal(outgrow(others[i])->status, 0);
    const struct outcome *o = outgrow("train d --run s --sampler weighted");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "no edge weights");
}

/* Sampled and packed here, trained there. */
static void samples_are_made_beforehand(void **state)
{
    (void)state;
    static const char *const keys[] = {"pack",       "draws",         "cache_rows", "rows",
                                       "bytes_read", "bytes_written", NULL};
    struct outcome *o =
        outgrow("sample d --out samples --epochs 4 --resample-every 2 --fanout 5,5 --quiet");
    assert_int_equal(o->status, 0);
    json_t *packed = json_of("pack d --samples samples --cache 10% --json");
    assert_keys(packed, keys);
    assert_int_equal(json_integer_value(json_object_get(packed, "draws")), 2);
    json_decref(packed);
    assert_int_equal(system("mv samples elsewhere"), 0);
    o = outgrow("train d --samples elsewhere --epochs 4 --resample-every 2 --fanout 5,5 "
                "--hidden 16 --preset diskgnn --cache 10% --run with");
    assert_int_equal(o->status, 0);
    assert_int_equal(strstr(o->err, "packs for itself") == NULL, 1);
    o = outgrow("train d --epochs 4 --resample-every 2 --fanout 5,5 --hidden 16 --quiet "
                "--run without");
    assert_int_equal(o->status, 0);
    assert_int_equal(system("cmp with/checkpoint.safetensors without/checkpoint.safetensors"), 0);
    o = outgrow("train d --samples elsewhere --epochs 4 --fanout 5,5 --run never");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "hint: --resample-every 2 would do");
    o = outgrow("bench epoch d --samples elsewhere --epochs 1 --fanout 5,5 --json");
    assert_int_equal(o->status, 0);
    o = outgrow("verify elsewhere --dataset d");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "elsewhere: nothing wrong");
    assert_int_equal(outgrow("verify d --dataset d")->status, 2);
    assert_int_equal(truncate("elsewhere/pack/draw1_cached.npy", 4000), 0);
    o = outgrow("verify elsewhere --repair-hints");
    assert_int_equal(o->status, 1);
    assert_says(o->out, "draw1_cached.npy: not what was written");
    assert_says(o->out, "make it again with `outgrow pack`");
    json_t *found = json_loads(outgrow("verify elsewhere --json")->out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(found, "findings")), 1);
    json_decref(found);
}

static void policies_are_compared(void **state)
{
    (void)state;
    static const char *const keys[] = {"policy", "cache",      "hit_rate", "hit_rate_with_prefill",
                                       "rows",   "hits",       "misses",   "prefill",
                                       "reads",  "bytes_read", NULL};
    struct outcome *o = outgrow("simulate d --policy degree,presc:2,lru --cache 1%,20K --epochs 2 "
                                "--fanout 5,5 --batch 50 --json j.json");
    assert_int_equal(o->status, 0);
    assert_says(o->out, "hit rate");
    assert_says(o->out, "presc:2");
    assert_says(o->out, "20K");
    json_t *file = json_load_file("j.json", 0, NULL);
    const json_t *results = json_object_get(file, "results");
    assert_int_equal(json_array_size(results), 6);
    for (size_t i = 0; i < 6; i++)
        assert_keys(json_array_get(results, i), keys);
    o = outgrow("simulate d --policy lru --cache 1% --json j.json");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "j.json: exists already");
    assert_says(o->err, "hint: remove it or choose another name");
    json_t *printed = json_of("simulate d --policy degree,presc:2,lru --cache 1%,20K --epochs 2 "
                              "--fanout 5,5 --batch 50 --json -");
    assert_true(json_equal(results, json_object_get(printed, "results")));
    json_decref(printed);
    json_decref(file);
}

static void too_little_memory_is_refused(void **state)
{
    (void)state;
    const struct outcome *o = outgrow("train d --run m --memory 1M");
    assert_int_equal(o->status, 1);
    assert_says(o->err, "hint: ");
    assert_int_equal(access("m", F_OK), -1);
}

static void an_interrupted_run_goes_on(void **state)
{
    (void)state;
    char line[1024];
    snprintf(line, sizeof(line),
             "'%s' train d --run i --epochs 100000 --fanout 5,5 --hidden 16 --quiet 2>err.txt & "
             "p=$!; n=0; while ! [ -e i ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done; "
             "sleep 0.3; kill -INT $p; wait $p",
             TEST_COMMAND);
    int status = system(line);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_int_equal(access("i/resume.safetensors", F_OK), 0);
}

/* Node v has v neighbours, of eleven. */
static void degrees_are_told(void **state)
{
    (void)state;
    static const char *const names[] = {"min", "median", "p90", "p99", "max"};
    static const int wanted[] = {0, 5, 9, 9, 10};
    assert_int_equal(system("for v in 0 1 2 3 4 5 6 7 8 9 10; do u=0; while [ $u -lt $v ]; do "
                            "echo $u $v; u=$((u + 1)); done; done >steps.txt"),
                     0);
    assert_int_equal(outgrow("import edgelist steps.txt steps --quiet")->status, 0);
    json_t *info = json_of("info steps --json");
    const json_t *degree = json_object_get(info, "in_degree");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(json_integer_value(json_object_get(degree, names[i])), wanted[i]);
    assert_true(json_real_value(json_object_get(degree, "mean")) == 5);
    assert_true(json_real_value(json_object_get(degree, "share_of_zero")) == 1.0 / 11);
    json_decref(info);
}

static void parts_of_a_run_are_measured(void **state)
{
    (void)state;
    static const char *const sampled[] = {"batches", "rows", "edges", "edges_per_second", NULL};
    static const char *const trained[] = {"batches",       "rows",  "train_seconds",
                                          "floor_seconds", "ratio", NULL};
    json_t *b = json_of("bench sample d --fanout 3,2 --batch 32 --json");
    assert_keys(b, sampled);
    assert_true(json_integer_value(json_object_get(b, "edges")) > 0);
    json_decref(b);
    b = json_of("bench train d --fanout 3,2 --batch 32 --hidden 8 --json");
    assert_keys(b, trained);
    assert_true(json_integer_value(json_object_get(b, "rows")) > 0);
    assert_true(json_real_value(json_object_get(b, "floor_seconds")) > 0);
    json_decref(b);
}

/* Whether it is seen by its size or by a page that is gone, is chance; see test_lost_file.c. */
static void features_cut_while_mapped_end_with_1(void **state)
{
    (void)state;
    char line[1024], said[4096];
    static const char options[] = "--io mmap --policy belady --superbatch 3 --cache 5% --scratch . "
                                  "--fanout 5,5 --hidden 16 --quiet";
    snprintf(line, sizeof(line),
             "cp -r d cut && { '%s' train cut --run z --epochs 100000 %s 2>err.txt & "
             "p=$!; n=0; while ! [ -e z ] && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done; "
             "sleep 0.3; truncate -s 4096 cut/features.npy; wait $p; }",
             TEST_COMMAND, options);
    int status = system(line);
    slurp("err.txt", said, sizeof(said));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(strncmp(said, "outgrow: ", 9), 0);
    assert_says(said, "cut/features.npy");
    assert_int_equal(system("cp d/features.npy cut/features.npy"), 0);
    snprintf(line, sizeof(line), "train cut --run y --epochs 1 %s", options);
    assert_int_equal(outgrow(line)->status, 0);
    assert_int_equal(system("test -z \"$(ls -d outgrow-scratch-* z/*.tmp-* 2>/dev/null)\""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_is_made_and_checked),
        cmocka_unit_test(a_run_is_summed_up),
        cmocka_unit_test(a_run_that_saved_nothing_goes_on_by_its_own_options),
        cmocka_unit_test(a_plan_begins_with_its_reasons),
        cmocka_unit_test(reads_without_a_cache_are_announced),
        cmocka_unit_test(people_get_text),
        cmocka_unit_test(rows_of_another_device_are_told),
        cmocka_unit_test(samplers_train_as_shown),
        cmocka_unit_test(samples_are_made_beforehand),
        cmocka_unit_test(policies_are_compared),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(an_interrupted_run_goes_on),
        cmocka_unit_test(degrees_are_told),
        cmocka_unit_test(parts_of_a_run_are_measured),
        cmocka_unit_test(features_cut_while_mapped_end_with_1),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
