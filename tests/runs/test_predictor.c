/* A predictor of little memory: a request is refused only if it does not fit alone. What others
 * left or hold is no reason. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/runs.h"
#include "support/testing.h"

#include <outgrow/outgrow.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 40000, CLASSES = 5, ASKED = 6, MOST = 16, CALLERS = 4, ROUNDS = 3 };

static char graph[300], run[300], checkpoint[340];

static void options(struct og_options *opt, const char *memory)
{
    og__options_init(opt);
    test_set(opt, "memory", memory);
    test_set(opt, "threads", "1");
    test_set(opt, "scratch", folder);
}

static void train(void)
{
    struct og_generate g;
    struct og_options opt;
    char *summary = NULL;
    og__generate_init(&g);
    g.nodes = NODES;
    g.degree = 20;
    g.dim = 128;
    g.classes = CLASSES;
    g.threads = 2;
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    snprintf(run, sizeof(run), "%s/run", folder);
    snprintf(checkpoint, sizeof(checkpoint), "%s/checkpoint.safetensors", run);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    options(&opt, "256M");
    test_set(&opt, "fanout", "2,2");
    test_set(&opt, "hidden", "64");
    test_set(&opt, "epochs", "1");
    test_set(&opt, "run", run);
    assert_int_equal(og_train(graph, &opt, NULL, &summary, NULL), 0);
    free(summary);
    og__options_release(&opt);
}

static struct og_predictor *open_predictor(void)
{
    struct og_predictor *p = NULL;
    struct og_options opt;
    struct og_err err = {0};
    options(&opt, "48M");
    if (og_predictor_open(&p, graph, checkpoint, &opt, NULL, &err) < 0)
        fail_msg("%s (%s)", err.message, err.hint);
    og__options_release(&opt);
    return p;
}

static int64_t indptr[NODES + 1], by_degree[NODES];

static int64_t degree(int64_t node)
{
    return indptr[node + 1] - indptr[node];
}

static int falling(const void *a, const void *b)
{
    const int64_t x = degree(*(const int64_t *)a), y = degree(*(const int64_t *)b);
    return (x < y) - (x > y);
}

static void sort_nodes(void)
{
    char path[340];
    snprintf(path, sizeof(path), "%s/indptr.npy", graph);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, -(long)sizeof(indptr), SEEK_END), 0);
    assert_int_equal(fread(indptr, sizeof(indptr), 1, f), 1);
    fclose(f);
    for (int64_t v = 0; v < NODES; v++)
        by_degree[v] = v;
    qsort(by_degree, NODES, sizeof(*by_degree), falling);
}

/* Request k is of the nodes with the longest lists, and more of them than the one before. */
static int64_t request(int k, int64_t nodes[MOST])
{
    const int64_t n = 1 + (int64_t)k * (MOST - 1) / (ASKED - 1);
    memcpy(nodes, by_degree, n * sizeof(*nodes));
    return n;
}

struct answer {
    int rc;
    float row[MOST * CLASSES];
};

static struct answer alone[ASKED];

static struct answer ask(struct og_predictor *p, int k)
{
    struct answer a = {0};
    int64_t nodes[MOST];
    const int64_t n = request(k, nodes);
    a.rc = og_predictor_rows(p, nodes, n, a.row, NULL);
    return a;
}

/* Returns how many answers differ. */
static void *call(void *predictor)
{
    size_t wrong = 0;
    for (int i = 0; i < ROUNDS * ASKED; i++) {
        const int k = i * 5 % ASKED;
        const struct answer a = ask(predictor, k);
        wrong +=
            a.rc != alone[k].rc || (a.rc == 0 && memcmp(a.row, alone[k].row, sizeof(a.row)) != 0);
    }
    return (void *)wrong;
}

static void requests_that_fit_are_answered(void **state)
{
    (void)state;
    int answered = 0;
    train();
    sort_nodes();
    for (int k = 0; k < ASKED; k++) {
        struct og_predictor *p = open_predictor();
        alone[k] = ask(p, k);
        assert_true(alone[k].rc == 0 || alone[k].rc == -ENOMEM);
        answered += alone[k].rc == 0;
        og_predictor_close(p);
    }
    assert_in_range(answered, 2, ASKED - 1);
    struct og_predictor *p = open_predictor();
    assert_null(call(p)); /* one caller */
    pthread_t thread[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call, p), 0);
    size_t wrong = 0;
    for (int i = 0; i < CALLERS; i++) {
        void *of = NULL;
        pthread_join(thread[i], &of);
        wrong += (size_t)of;
    }
    assert_int_equal(wrong, 0);
    og_predictor_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_fit_are_answered),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
