/* Models on a virtual device: the results of the cpu backend for the same batch, within its
 * tolerance. They are bit-identical in any order of threads and at any pace of streams, and every
 * call of the device fails in turn. */
#include "device/tested_device.h"
#include "nn/nn_fixture.h"
#include "nn/typed_fixture.h"

#include "device/virtual.h"
#include "nn/device/backend.h"
#include "nn/model.h"

#include <math.h>
#include <stdio.h>

static const char *const cases[] = {
    "sage3",       "gcn3_batch", "gat3",        "gat2_narrow",        "sage_max2",    "gin2_wide",
    "gin3_batch",  "pinsage2",   "sage3_layer", "sage2_multi",        "link_mlp",     "link_margin",
    "value_huber", "gatv2_3",    "pairs_sage2", "pairs_sage3_values", "link_complex", "link_transe",
    "value_shares"};

/* A model of each kind of relational one, with and without features, norms, tasks and decoders. */
static const char *const typed_cases[] = {
    "typed_sage3",           "typed_sage2_bare",     "typed_sage2_trained",
    "typed_sage_max2",       "typed_gin3",           "typed_sage3_layer",
    "typed_sage_max2_batch", "typed_gat3",           "typed_gat2_trained",
    "typed_gat2_batch",      "typed_gat2_narrow",    "typed_gin2_trained",
    "typed_link_sage3",      "typed_link_gin2_mlp",  "typed_rgcn2",
    "typed_rgcn3_bases",     "typed_rgcn2_batch",    "typed_rgcn2_few",
    "typed_rgcn2_blended",   "typed_rgcn2_distmult", "typed_rgcn2_margin",
    "typed_rgcn2_widths",    "typed_rgcn3_widths",   "typed_rgcn2_widths_link",
    "typed_pinsage2",        "typed_pinsage3",       "typed_gcn3_layer",
    "typed_gcn2_trained",    "typed_link_gcn2",      "typed_gatv2_2_batch",
    "typed_link_gatv2",      "typed_pairs_sage2",    "typed_rgcn2_complex",
    "typed_link_gcn2_transe"};

enum { STEPS = 3 };

/* Parameters and gradients of all, consecutive, and the losses. */
struct made {
    float *value;
    size_t n;
    double loss[STEPS];
};

static struct og_model_config with_dropout(const struct fixture *f)
{
    struct og_model_config c = f->config;
    c.dropout = 0.3;
    c.input_dropout = 0.2;
    c.attention_dropout = 0.5;
    return c;
}

/* t: of a heterogeneous graph, else NULL. */
static int steps(const struct fixture *f, const struct typed *t, struct og_model *m,
                 struct made *out, struct og_err *err)
{
    for (uint32_t s = 0; s < STEPS; s++) {
        const struct og_batch *batch = &f->batch[s % f->n_batches];
        const struct og_rows own = t ? (struct og_rows){0} : fixture_rows(f, batch);
        const struct og_rows *x = t ? t->x[s % f->n_batches] : &own;
        const struct og_step key = {.seed = 1, .epoch = 1, .batch = s};
        const struct og_pace pace = og__usual_pace(f->lr, f->weight_decay);
        struct og_metrics got = {0};
        int rc =
            og__model_gradients(m, batch, x, NULL, f->labels[s % f->n_batches], &key, &got, err);
        rc = rc < 0 ? rc : og__model_update(m, &pace, 1, s + 1, err);
        if (rc < 0)
            return rc;
        out->loss[s] = og__metrics_loss(&got);
    }
    return 0;
}

static int collect(struct og_model *m, struct made *out, struct og_err *err)
{
    size_t n;
    const struct og_param *p = og__model_params(m, &n);
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        for (int grad = 0; grad < (p[i].grad ? 2 : 1); grad++) {
            const size_t count = og__param_count(&p[i]);
            out->value = realloc(out->value, (out->n + count) * sizeof(float));
            int rc = og__model_fetch(m, out->value + out->n, grad ? p[i].grad : p[i].value,
                                     count * sizeof(float), err);
            if (rc < 0)
                return rc;
            out->n += count;
        }
    return 0;
}

/* Reserves for the largest batch. Otherwise a larger batch allocates memory again, and nobody
 * checks whether the device still uses the old one. */
static int reserve(struct og_model *m, const struct typed *t, struct og_err *err)
{
    struct og_type_counts most;
    const struct og_batch_caps caps = typed_caps(t, &most);
    const int rc = og__model_reserve(m, &caps, true, err);
    og__type_counts_release(&most);
    return rc;
}

/* Trains with SGD. Adam would make steps of what is zero but for rounding, as a bias before batch
 * norm is. */
static int make_of(const struct fixture *f, const struct typed *t, const struct og_nn_ops *ops,
                   struct made *out, struct og_err *err)
{
    const struct og_model_config c = with_dropout(f);
    struct og_model *m = NULL;
    *out = (struct made){0};
    int rc = og__model_create(&m, ops, &c, OG_OPTIMIZER_SGD, 9, NULL, NULL, err);
    rc = rc < 0 || !t ? rc : reserve(m, t, err);
    rc = rc < 0 ? rc : steps(f, t, m, out, err);
    rc = rc < 0 ? rc : collect(m, out, err);
    if (rc == 0 && ops == tested_ops()) /* all that operators needed was planned */
        assert_int_equal(m->backend->extra_bytes, 0);
    og__model_free(m);
    return rc;
}

static int make(const struct fixture *f, const struct og_nn_ops *ops, struct made *out,
                struct og_err *err)
{
    return make_of(f, NULL, ops, out, err);
}

/* Gradients that are zero but for rounding are held against LEAST. */
#define LEAST 0.1

static void assert_close(const char *name, const struct made *got, const struct made *want)
{
    assert_int_equal(got->n, want->n);
    for (size_t i = 0; i < want->n; i++)
        if (!(fabs((double)got->value[i] - (double)want->value[i]) <=
              1e-4 * fmax(fabs((double)want->value[i]), LEAST)))
            fail_msg("%s: number %zu is %.9g, not %.9g", name, i, (double)got->value[i],
                     (double)want->value[i]);
    for (int s = 0; s < STEPS; s++)
        assert_true(fabs(got->loss[s] / want->loss[s] - 1) < 1e-5);
}

static void compare(const char *name, const struct fixture *f, const struct typed *t, uint64_t seed)
{
    struct made want, first, again;
    struct og_virtual v = og__virtual_usual;
    assert_int_equal(make_of(f, t, &og__ops_cpu, &want, NULL), 0);
    og__virtual_become(&v);
    assert_int_equal(make_of(f, t, tested_ops(), &first, NULL), 0);
    assert_close(name, &first, &want);
    for (int k = 1; k < OG__ORDERS; k++) {
        v.order = (enum og__order)k;
        v.pace = k == 1 ? OG__LAZY : OG__SEEDED;
        v.seed = seed;
        og__virtual_become(&v);
        assert_int_equal(make_of(f, t, tested_ops(), &again, NULL), 0);
        assert_memory_equal(again.value, first.value, first.n * sizeof(float));
        assert_memory_equal(again.loss, first.loss, sizeof(first.loss));
        free(again.value);
    }
    free(want.value);
    free(first.value);
}

static void as_the_processors_make_it_and_always_the_same(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct fixture f;
        fixture_open(&f, cases[c]);
        compare(cases[c], &f, NULL, c);
        fixture_close(&f);
    }
}

static void so_are_models_of_typed_graphs(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(typed_cases); c++) {
        struct typed t;
        typed_open(&t, typed_cases[c]);
        compare(typed_cases[c], &t.f, &t, c);
        typed_close(&t);
    }
}

/* The predicted bytes of device and host memory suffice, and next to nothing less. */
static void memory_of_typed_graphs_is_what_was_told(void **state)
{
    (void)state;
    of_a_virtual_device();
    for (size_t c = 0; c < OG_COUNT(typed_cases); c++) {
        struct typed t;
        struct og_type_counts most;
        struct made out = {0};
        struct og_model *m;
        typed_open(&t, typed_cases[c]);
        const struct og_model_config config = with_dropout(&t.f);
        const struct og_batch_caps caps = typed_caps(&t, &most);
        const size_t told = og__model_bytes(tested_ops(), &config, OG_OPTIMIZER_SGD) +
                            og__model_workspace_bytes(tested_ops(), &config, &caps, true, 1) +
                            tested_ops()->device_own_bytes();
        struct og_budget *host = og__budget_new(told);
        assert_int_equal(
            og__model_create(&m, tested_ops(), &config, OG_OPTIMIZER_SGD, 9, NULL, host, NULL), 0);
        assert_int_equal(og__model_reserve(m, &caps, true, NULL), 0);
        const size_t used = og__budget_used(host) + og__budget_used(m->own.budget);
        if (used > told || used < told * 9 / 10)
            fail_msg("%s: %zu bytes, told %zu", typed_cases[c], used, told);
        assert_int_equal(steps(&t.f, &t, m, &out, NULL), 0);
        assert_int_equal(og__budget_used(host) + og__budget_used(m->own.budget), used);
        og__model_free(m);
        assert_int_equal(og__budget_used(host), 0);
        og__budget_free(host);
        og__type_counts_release(&most);
        typed_close(&t);
    }
}

/* Each says so, and gives back what it has. */
static void check_failures(const char *name, const struct fixture *f, const struct typed *t)
{
    struct og_virtual v = og__virtual_usual;
    struct made out;
    og__virtual_become(&v);
    assert_int_equal(make_of(f, t, tested_ops(), &out, NULL), 0);
    free(out.value);
    const uint64_t calls = og__virtual_calls();
    assert_true(calls > 300);
    v.pace = OG__LAZY;
    for (v.fail = 1; v.fail <= calls; v.fail += v.fail < 60 ? 1 : 17) {
        struct og_err err = {0};
        og__virtual_become(&v);
        int rc = make_of(f, t, tested_ops(), &out, &err);
        if (og__virtual_calls() > v.fail + 12 || (rc < 0) != (err.code < 0))
            fail_msg("%s: call %llu of %llu: %d, then %llu calls", name, (unsigned long long)v.fail,
                     (unsigned long long)calls, rc, (unsigned long long)og__virtual_calls());
        free(out.value);
    }
}

static void every_call_may_fail(void **state)
{
    (void)state;
    of_a_virtual_device();
    static const char *const some[] = {"gat3", "gin3_batch", "link_mlp"};
    static const char *const typed[] = {"typed_gat2_trained", "typed_rgcn2_distmult",
                                        "typed_rgcn2_transe"};
    for (size_t c = 0; c < OG_COUNT(some); c++) {
        struct fixture f;
        fixture_open(&f, some[c]);
        check_failures(some[c], &f, NULL);
        fixture_close(&f);
    }
    for (size_t c = 0; c < OG_COUNT(typed); c++) {
        struct typed t;
        typed_open(&t, typed[c]);
        check_failures(typed[c], &t.f, &t);
        typed_close(&t);
    }
    og__virtual_become(&og__virtual_usual);
}

enum { LONG = 9000, WIDE = 100 };

static void *there(const struct og_memory *m, size_t bytes)
{
    void *p = m->kind->alloc(m, bytes, "test", NULL);
    assert_non_null(p);
    return p;
}

/* grad[0] = the sum of a column of bytes, made in the backend's room. */
static void ask_for_sum(struct og_nn_backend *be, const uint8_t *x, uint32_t rows, int dim,
                        const float *ones, float *grad)
{
    const struct og_weight_grad op = {.rows = rows,
                                      .n_out = 1,
                                      .dy = ones,
                                      .n_inputs = 1,
                                      .input = {{.base = (const char *)x,
                                                 .stride = (size_t)dim,
                                                 .n = rows,
                                                 .dim = dim,
                                                 .dtype = OG_U8}},
                                      .grad = {grad}};
    assert_int_equal(tested_ops()->weight_grad(be, &op, NULL), 0);
}

/* More than both halves of the staging memory; and a room that grows while it is in use. */
static void what_is_under_way_is_waited_for(void **state)
{
    (void)state;
    static float host[LONG * WIDE], back[LONG * WIDE];
    static uint8_t bytes[LONG * WIDE];
    struct og_virtual v = og__virtual_usual;
    struct og_nn_backend *be;
    float sum[2][WIDE];
    v.pace = OG__LAZY;
    og__virtual_become(&v);
    assert_int_equal(tested_ops()->open(&be, 0, NULL, NULL, NULL), 0);
    const struct og_memory m = tested_ops()->memory(be);
    for (size_t i = 0; i < OG_COUNT(host); i++) {
        host[i] = (float)(i % 100003);
        bytes[i] = (uint8_t)(i % 7);
    }
    float *x = there(&m, sizeof(host)), *grad = there(&m, sizeof(sum));
    uint8_t *u = there(&m, sizeof(bytes));
    const struct og_rows rows = og__dense(host, LONG, WIDE);
    assert_int_equal(tested_ops()->gather(be, &rows, x, NULL), 0);
    assert_int_equal(tested_ops()->fetch(be, back, x, sizeof(back), NULL), 0);
    assert_memory_equal(back, host, sizeof(host));
    for (size_t i = 0; i < LONG; i++)
        host[i] = 1;
    assert_int_equal(tested_ops()->push(be, x, host, LONG * sizeof(float), NULL), 0);
    assert_int_equal(tested_ops()->push(be, u, bytes, sizeof(bytes), NULL), 0);
    ask_for_sum(be, u, 50, 8, x, grad);
    ask_for_sum(be, u, LONG, WIDE, x, grad + WIDE);
    assert_int_equal(tested_ops()->fetch(be, sum, grad, sizeof(sum), NULL), 0);
    double want[2] = {0};
    for (size_t r = 0; r < LONG; r++) {
        want[0] += r < 50 ? bytes[r * 8] : 0;
        want[1] += bytes[r * WIDE];
    }
    assert_true((double)sum[0][0] == want[0] && (double)sum[1][0] == want[1]);
    m.kind->release(&m, x, sizeof(host), "test");
    m.kind->release(&m, grad, sizeof(sum), "test");
    m.kind->release(&m, u, sizeof(bytes), "test");
    tested_ops()->close(be);
    og__virtual_become(&og__virtual_usual);
}

/* A device with too little memory says what it lacks. */
static void too_little_memory_is_refused(void **state)
{
    (void)state;
    of_a_virtual_device();
    struct fixture f;
    struct made out;
    struct og_virtual v = og__virtual_usual;
    struct og_err err = {0};
    fixture_open(&f, "sage3");
    v.capacity = 64 << 10;
    og__virtual_become(&v);
    assert_int_equal(make(&f, tested_ops(), &out, &err), -ENOMEM);
    assert_non_null(strstr(err.message, "virtual device: needs "));
    free(out.value);
    fixture_close(&f);
    og__virtual_become(&og__virtual_usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_processors_make_it_and_always_the_same),
        cmocka_unit_test(so_are_models_of_typed_graphs),
        cmocka_unit_test(memory_of_typed_graphs_is_what_was_told),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(what_is_under_way_is_waited_for),
        cmocka_unit_test(too_little_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
