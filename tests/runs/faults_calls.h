/* The calls that test_faults makes. */
#ifndef OG_FAULTS_CALLS_H
#define OG_FAULTS_CALLS_H

#include "dataset/generate/options.h"
#include "dataset/import/options.h"
#include "options/fields.h"
#include "runs/faults_folder.h"

#include "base/file.h"
#include "base/temporary.h"
#include "bench/bench.h"
#include "nn/nn.h"
#include "support/runs.h"

#include <outgrow/outgrow.h>

/* Made before faults are armed: setting options is a call of its own. */
static struct og_options options;

static void usual_options(void)
{
    og__options_release(&options);
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
    og__import_init(&i);
    i.symmetrize = i.row_normalize = true;
    i.memory = (struct og_amount){OG_BYTES, 64 << 20};
    i.threads = 1;
    return og_import("npy", source, out_dir, &i, NULL, err);
}

static int import_from(const char *format, const char *name, bool link, struct og_err *err)
{
    struct og_import i;
    char path[160];
    og__import_init(&i);
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

static const char *typed_graph(void)
{
    static char path[160];
    snprintf(path, sizeof(path), "%s/typed_graph", root);
    return path;
}

static const char *edges_graph(void)
{
    static char path[160];
    snprintf(path, sizeof(path), "%s/edges_graph", root);
    return path;
}

static int call_import_typed(struct og_err *err)
{
    return import_from("npy", "typed", false, err);
}

static int call_export_typed(struct og_err *err)
{
    return og_export("npy", typed_graph(), out_dir, NULL, err);
}

static int call_info_typed(struct og_err *err)
{
    char *text = NULL;
    int rc = og_info(typed_graph(), &text, err);
    free(text);
    return rc;
}

static int call_generate_typed(struct og_err *err)
{
    struct og_generate g;
    og__generate_init(&g);
    g.types = "a:60:4,b:40";
    g.relations = "b:x:a:3,a:y:a:2";
    g.classes = 3;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    return og_generate(out_dir, &g, NULL, err);
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

static int call_import_words(struct og_err *err)
{
    return import_from("edgelist", "words", false, err);
}

static int call_import_by_id(struct og_err *err)
{
    return import_from("edgelist", "by_id", false, err);
}

static int call_import_mtx(struct og_err *err)
{
    return import_from("mtx", "graph.mtx", false, err);
}

/* An edge list with so many ids and so little memory that ids and edges go to disk. */
static int call_import_far(struct og_err *err)
{
    struct og_import i;
    char path[160];
    og__import_init(&i);
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
    return og_verify(graph, on_finding, NULL, NULL, err);
}

static int call_verify_typed(struct og_err *err)
{
    return og_verify(typed_graph(), on_finding, NULL, NULL, err);
}

static int call_verify_samples(struct og_err *err)
{
    return og_verify_samples(packed, graph, on_finding, NULL, NULL, err);
}

static int call_options(struct og_err *err)
{
    struct og_options opt;
    og__options_init(&opt);
    int rc = og_options_load(&opt, config, err);
    if (rc == 0)
        rc = og_options_set(&opt, "scratch", "/tmp/elsewhere", err);
    if (rc == 0)
        rc = og_options_set(&opt, "fanout", "3,4,5", err);
    og__options_release(&opt);
    return rc;
}

static void sum_array(const struct og_array *a, size_t size, uint64_t *sum)
{
    const size_t n = (size_t)(a->shape[0] * (a->n_dims > 1 ? a->shape[1] : 1));
    if (a->data)
        *sum = XXH3_64bits_withSeed(a->data, n * size, *sum);
}

/* What the batches of an epoch have in them. */
static int sum_batches(struct og_loader *l, uint64_t *sum, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    int rc;
    while ((rc = og_loader_next(l, -1, &b, err)) == 0 && b) {
        sum_array(&b->ids, 8, sum);
        sum_array(&b->x, 4, sum);
        for (int h = 0; h < b->n_hops && b->n_types == 0; h++)
            sum_array(&b->hop[h]->edge_attr, 4, sum);
        for (int t = 0; t < b->n_types; t++)
            sum_array(&b->type[t]->x, 4, sum);
        for (int i = 0; i < b->n_relations; i++)
            sum_array(&b->relation[i]->edge_index, 8, sum);
        og_minibatch_release(b);
    }
    return rc;
}

/* An epoch, left in its middle for where another begins; a pass; and its results. */
static int load(struct og_loader *l, const char *split, uint64_t *sum, struct og_err *err)
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
    OG_TRY(og_loader_evaluate(l, split, err));
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

static int load_all(const char *dataset, const struct og_loader_options *from, const char *split,
                    struct og_err *err)
{
    struct og_loader *l = NULL;
    uint64_t sum = 0;
    char *text;
    int rc;
    OG_TRY(og_loader_open(&l, dataset, &options, from, NULL, err));
    OG_TRY(load(l, split, &sum, err));
    if (asprintf(&text, "{\"%016llx\": 0}", (unsigned long long)sum) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "sum"));
    keep(text);
out:
    og_loader_close(l);
    return rc;
}

static int call_loader(struct og_err *err)
{
    return load_all(graph, NULL, "valid", err);
}

static int call_loader_typed(struct og_err *err)
{
    static const int64_t seeds[] = {0, 1, 2}; /* of one type */
    struct og_loader_options from;
    og_loader_options_init(&from);
    from.seeds = seeds;
    from.n_seeds = OG_COUNT(seeds);
    return load_all(typed_graph(), &from, "seeds", err);
}

/* With features of edges, as rows of their own. */
static int call_loader_of_edges(struct og_err *err)
{
    static const int64_t seeds[] = {0, 1, 2};
    struct og_loader_options from;
    og_loader_options_init(&from);
    from.seeds = seeds;
    from.n_seeds = OG_COUNT(seeds);
    from.edge_features = true;
    return load_all(edges_graph(), &from, "seeds", err);
}

/* Rows of nodes by number, twice: misses, then hits. */
static int call_rows(struct og_err *err)
{
    static const int64_t ids[] = {7, 0, 7, 3};
    struct og_row_reader *r = NULL;
    unsigned char rows[4096];
    uint64_t sum = 0;
    char *text;
    int rc;
    OG_TRY(og_rows_open(&r, graph, OG_ROWS_OF_NODES, 0, &options, err));
    for (int turn = 0; turn < 2; turn++) {
        OG_TRY(og_rows_read(r, ids, OG_COUNT(ids), rows, err));
        sum = XXH3_64bits_withSeed(rows, OG_COUNT(ids) * og_rows_bytes(r), sum);
    }
    if (asprintf(&text, "{\"%016llx\": 0}", (unsigned long long)sum) < 0)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "sum"));
    keep(text);
out:
    og_rows_close(r);
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
    return og_sample(graph, out_dir, true, &options, NULL, NULL, err);
}

static int call_simulate(struct og_err *err)
{
    char *text = NULL;
    int rc =
        og_simulate(graph, "presc,lru,belady,hybrid", "5%,20%", NULL, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_simulate_trace(struct og_err *err)
{
    char *text = NULL;
    int rc = og_simulate(trace, "frequency,rr", "5%", NULL, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_simulate_workers(struct og_err *err)
{
    char *text = NULL;
    options.workers = 2;
    int rc = og_simulate(graph, "degree,lru,belady", "5%", NULL, &options, NULL, &text, err);
    options.workers = 1;
    keep(text);
    return rc;
}

static int call_simulate_tiers(struct og_err *err)
{
    char *text = NULL;
    const struct og_tiers_asked requested = {
        .size = sizeof(requested), "hybrid,belady", "4%", "pvp:depth=30"};
    int rc = og_simulate(graph, "presc,belady", "5%", &requested, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_simulate_executors(struct og_err *err)
{
    char *text = NULL;
    const struct og_executors_asked requested = {.size = sizeof(requested), .splits = "1:1,2"};
    int rc = og_simulate_executors(graph, &requested, &options, NULL, &text, err);
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

/* Features in parts: reading them, and ways there. */
static int call_info_parts(struct og_err *err)
{
    char *text = NULL;
    int rc = og_info(striped, &text, err);
    keep(text);
    return rc;
}

static int call_verify_parts(struct og_err *err)
{
    return og_verify(striped, on_finding, NULL, NULL, err);
}

static int call_train_parts(struct og_err *err)
{
    char *text = NULL;
    int rc = og_train(striped, &options, NULL, &text, err);
    keep(text);
    return rc;
}

static void stripe_of(char over[300], const char *dataset)
{
    char words[400];
    snprintf(words, sizeof(words), "cp -r %s %s && mkdir %s/a %s/b", graph, dataset, dataset,
             dataset);
    assert_int_equal(system(words), 0);
    snprintf(over, 300, "%s/a,%s/b", dataset, dataset);
}

/* Runs on a copy. What fails leaves a whole dataset and nothing unfinished: then the copy may
 * go. */
static int call_stripe(struct og_err *err)
{
    char over[300];
    struct inventory left = {0};
    stripe_of(over, out_dir);
    int rc = og_stripe(out_dir, over, false, NULL, err);
    if (rc >= 0)
        return rc;
    look(out_dir, &left);
    if (!left.temporaries && og_verify(out_dir, on_finding, NULL, NULL, NULL) == 0)
        og__remove_tree(out_dir);
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

/* Nodes of two types, one of them without features; samples of it, and packs. */
static void make_typed_runs(void)
{
    struct og_generate g;
    char *text = NULL;
    og__generate_init(&g);
    g.types = "paper:90:6,author:40";
    g.relations = "paper:cites:paper:2,author:writes:paper:2";
    g.classes = 3;
    g.train_fraction = 0.3;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    assert_int_equal(og_generate(typed_runs, &g, NULL, NULL), 0);
    usual_options();
    assert_int_equal(og_sample(typed_runs, typed_packed, false, &options, NULL, NULL, NULL), 0);
    test_set(&options, "samples", typed_packed);
    test_set(&options, "embedding", "3");
    assert_int_equal(og_pack(typed_runs, &options, NULL, &text, NULL), 0);
    free(text);
}

static int call_train_edges(struct og_err *err)
{
    char *text = NULL;
    int rc = og_train(edges_graph(), &options, NULL, &text, err);
    keep(text);
    return rc;
}

static int call_train_typed(struct og_err *err)
{
    char *text = NULL;
    int rc = og_train(typed_runs, &options, NULL, &text, err);
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

static int call_sample_typed(struct og_err *err)
{
    return og_sample(typed_graph(), out_dir, true, &options, NULL, NULL, err);
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

#endif
