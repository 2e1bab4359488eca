/* Models that see rows of edges against PyTorch Geometric (golden/nn_attr_make.py). Logits,
 * gradients and the losses of 28 Adam steps. Also against finite differences, with dropout, and
 * bit-identical for any number of threads. */
#include "nn/nn_ops.h"
#include "nn/typed_fixture.h"

static const char *const cases[] = {"attr_gat2",
                                    "attr_gat3",
                                    "attr_gat2_narrow",
                                    "attr_gat3_single",
                                    "attr_gatv2_2",
                                    "attr_gatv2_3",
                                    "attr_gatv2_2_single",
                                    "attr_gine2",
                                    "attr_gine3",
                                    "attr_gine2_wide",
                                    "attr_transformer2",
                                    "attr_transformer3",
                                    "attr_transformer2_single",
                                    "attr_transformer2_bare",
                                    "typed_attr_gat2",
                                    "typed_attr_gatv2_2",
                                    "typed_attr_gine2",
                                    "typed_attr_transformer2"};

/* ---- a run ---- */

struct run {
    bool typed;
    struct typed t; /* of a homogeneous graph, only its fixture */
    struct fixture *f;
    struct og_pool *pool;
    struct og_model *model;
};

static void run_read(struct run *r, const char *name)
{
    memset(r, 0, sizeof(*r));
    r->typed = strncmp(name, "typed", 5) == 0;
    r->f = &r->t.f;
    if (r->typed)
        typed_open(&r->t, name);
    else
        fixture_open(r->f, name);
}

static void run_create(struct run *r, uint64_t seed)
{
    struct og_err err = {0};
    og__model_free(r->model);
    if (og__model_create(&r->model, &og__ops_cpu, &r->f->config, OG_OPTIMIZER_ADAM, seed, r->pool,
                         NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void run_open(struct run *r, const char *name, int threads)
{
    run_read(r, name);
    assert_int_equal(og__pool_open(&r->pool, threads, NULL), 0);
    run_create(r, 1);
    fixture_load(r->f, r->model, "init.");
}

static void run_close(struct run *r)
{
    og__model_free(r->model);
    og__pool_close(r->pool);
    if (r->typed)
        typed_close(&r->t);
    else
        fixture_close(r->f);
}

static double loss_of(struct run *r, uint32_t b, uint32_t step)
{
    const struct og_batch *batch = &r->f->batch[b];
    const struct og_rows own = r->typed ? (struct og_rows){0} : fixture_rows(r->f, batch);
    const struct og_step key = {.seed = 1, .epoch = 1, .batch = step};
    struct og_metrics got;
    struct og_err err = {0};
    if (og__model_gradients(r->model, batch, r->typed ? r->t.x[b] : &own, r->f->edges,
                            r->f->labels[b], &key, &got, &err) < 0)
        fail_msg("%s", err.message);
    return og__metrics_loss(&got);
}

static double run_step(struct run *r, uint32_t step)
{
    const double loss = loss_of(r, step % r->f->n_batches, step);
    const struct og_pace pace = og__usual_pace(r->f->lr, r->f->weight_decay);
    assert_int_equal(og__model_update(r->model, &pace, 1, step + 1, NULL), 0);
    return loss;
}

/* ---- PyTorch Geometric ---- */

/* Smaller numbers are held against LEAST. */
#define LEAST 0.1

static void assert_near(const char *what, const float *got, const float *want, size_t n, double tol)
{
    double largest = LEAST;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tol * largest))
            fail_msg("%s[%zu]: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

static void assert_params_near(const struct run *r, const char *prefix, bool gradients, double tol)
{
    size_t n;
    const struct og_param *p = og__model_params(r->model, &n);
    for (size_t i = 0; i < n; i++) {
        char name[OG_PARAM_NAME + 16];
        if ((gradients && !p[i].grad) || strstr(p[i].name, "num_batches_tracked"))
            continue;
        snprintf(name, sizeof(name), "%s%s", prefix, p[i].name);
        assert_near(name, gradients ? p[i].grad : p[i].value, fixture_tensor(r->f, name)->data,
                    og__param_count(&p[i]), tol);
    }
}

static void first_step_equals_pytorch(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 2);
        print_message("%s\n", cases[c]);
        loss_of(&r, 0, 0);
        const struct og_tensor *logits = fixture_tensor(r.f, "logits");
        assert_near("logits", og__model_logits(r.model), logits->data, logits->bytes / 4, 2e-6);
        assert_params_near(&r, "grad.", true, 4e-6);
        run_close(&r);
    }
}

/* Evaluation takes less memory: nothing is kept for the way back. */
static void assert_evaluation_near(struct run *r, uint32_t step, const char *name, double tol)
{
    const struct og_tensor *want = og__tensors_find(&r->f->t, name);
    const uint32_t b = step % r->f->n_batches;
    const struct og_rows own = r->typed ? (struct og_rows){0} : fixture_rows(r->f, &r->f->batch[b]);
    if (!want)
        return;
    assert_int_equal(og__model_forward(r->model, &r->f->batch[b], r->typed ? r->t.x[b] : &own,
                                       r->f->edges, NULL, NULL, NULL),
                     0);
    assert_near(name, og__model_logits(r->model), want->data, want->bytes / 4, tol);
}

static void losses_equal_pytorch_over_28_adam_steps(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 2);
        const struct og_tensor *losses = fixture_tensor(r.f, "losses");
        double worst = 0;
        assert_int_equal(losses->shape[0], 28);
        if (r.f->config.norm != OG_NORM_BATCH)
            assert_evaluation_near(&r, 0, "logits", 2e-6);
        for (uint32_t s = 0; s < 28; s++) {
            double want;
            memcpy(&want, (const char *)losses->data + s * sizeof(want), sizeof(want));
            worst = fmax(worst, fabs(run_step(&r, s) / want - 1));
        }
        if (!(worst <= 1e-5))
            fail_msg("%s: losses differ by %.3g", cases[c], worst);
        assert_params_near(&r, "final.", false, 1e-4);
        assert_evaluation_near(&r, 27, "eval_logits", 2e-4);
        print_message("%-24s losses within %.1e\n", cases[c], worst);
        run_close(&r);
    }
}

/* ---- dropout, memory, bits ---- */

static void set_dropout(struct run *r, double dropout)
{
    r->f->config.dropout = dropout;
    r->f->config.input_dropout = dropout / 2;
    r->f->config.attention_dropout = dropout;
    run_create(r, 9);
}

/* Two-sided differences in every parameter, of which a kink spoils few. */
static void gradients_are_slopes_of_the_loss(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        size_t n, tried = 0, wrong = 0;
        run_open(&r, cases[c], 1);
        if (r.f->config.norm == OG_NORM_BATCH) { /* gradients of biases are rounding alone */
            run_close(&r);
            continue;
        }
        set_dropout(&r, 0.4);
        loss_of(&r, 0, 0);
        const struct og_param *p = og__model_params(r.model, &n);
        for (size_t i = 0; i < n; i++) {
            const size_t count = og__param_count(&p[i]);
            float *grad = copy_floats(p[i].grad, count);
            for (size_t k = 0; k < count; k += 1 + count / 5) {
                const float before = p[i].value[k], step = 4e-3f;
                p[i].value[k] = before + step;
                double slope = loss_of(&r, 0, 0);
                p[i].value[k] = before - step;
                slope = (slope - loss_of(&r, 0, 0)) / (2 * (double)step);
                p[i].value[k] = before;
                tried++;
                wrong += !(fabs(slope - (double)grad[k]) <= 4e-3 + 0.04 * fabs((double)grad[k]));
            }
            free(grad);
        }
        print_message("%-24s %zu of %zu slopes differ\n", cases[c], wrong, tried);
        assert_true(wrong * 20 <= tried);
        run_close(&r);
    }
}

static struct og_batch_caps caps_of(struct run *r, struct og_type_counts *most)
{
    struct og_batch_caps caps = {.n_hops = (uint32_t)r->f->config.layers};
    if (r->typed)
        return typed_caps(&r->t, most);
    for (uint32_t b = 0; b < r->f->n_batches; b++)
        typed_include_hops(&caps, &r->f->batch[b]);
    return caps;
}

/* Creating and running one takes the predicted bytes, and next to nothing less. */
static void memory_is_what_was_told(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        struct og_type_counts most = {0};
        run_read(&r, cases[c]);
        const struct og_model_config *config = &r.f->config;
        const struct og_batch_caps caps = caps_of(&r, &most);
        const size_t told = og__model_bytes(&og__ops_cpu, config, OG_OPTIMIZER_ADAM) +
                            og__model_workspace_bytes(&og__ops_cpu, config, &caps, true, 2);
        struct og_budget *budget = og__budget_new(told);
        assert_int_equal(og__pool_open(&r.pool, 2, NULL), 0);
        assert_int_equal(og__model_create(&r.model, &og__ops_cpu, config, OG_OPTIMIZER_ADAM, 1,
                                          r.pool, budget, NULL),
                         0);
        assert_int_equal(og__model_reserve(r.model, &caps, true, NULL), 0);
        run_step(&r, 0);
        const size_t used = og__budget_used(budget);
        for (uint32_t step = 1; step < r.f->n_batches; step++)
            run_step(&r, step);
        assert_int_equal(og__budget_used(budget), used);
        assert_true(used > told * 9 / 10);
        if (r.typed)
            og__type_counts_release(&most);
        run_close(&r);
        og__budget_free(budget);
    }
}

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return h;
}

static uint64_t bits_after(const char *name, int threads, double dropout)
{
    struct run r;
    uint64_t h = 0xcbf29ce484222325u;
    size_t n;
    run_open(&r, name, threads);
    set_dropout(&r, dropout);
    for (uint32_t s = 0; s < 4; s++) {
        const double loss = run_step(&r, s);
        h = hash(h, &loss, sizeof(loss));
    }
    const struct og_param *p = og__model_params(r.model, &n);
    for (size_t i = 0; i < n; i++)
        h = hash(h, p[i].value, og__param_count(&p[i]) * sizeof(float));
    run_close(&r);
    return h;
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        const uint64_t one = bits_after(cases[c], 1, 0.3);
        assert_int_equal(bits_after(cases[c], 3, 0.3), one);
        assert_int_not_equal(bits_after(cases[c], 1, 0.0), one); /* dropout does something */
    }
}

/* ---- what is refused ---- */

static void assert_refused(const struct og_nn_ops *ops, const struct og_model_config *config,
                           int code, const char *message)
{
    struct og_model *m;
    struct og_err err = {0};
    assert_int_equal(og__model_create(&m, ops, config, OG_OPTIMIZER_ADAM, 1, NULL, NULL, &err),
                     code);
    assert_string_equal(err.message, message);
}

static void models_and_rows_must_agree(void **state)
{
    (void)state;
    struct og_model_config c = {
        .layers = 2, .in_dim = 8, .hidden = 8, .n_classes = 3, .heads = 2, .edge_dim = 4};
    struct og_nn_ops bare = og__ops_cpu;
    bare.name = "bare";
    bare.edge_fill = NULL;
    bare.dots = NULL;
    c.kind = OG_MODEL_SAGE;
    assert_refused(&og__ops_cpu, &c, -EINVAL, "--model sage: does not use features of edges");
    c.kind = OG_MODEL_GATV2;
    assert_refused(&bare, &c, -ENOTSUP,
                   "--model gatv2: the backend bare does not use features of edges yet");
    c.edge_dim = 0;
    c.kind = OG_MODEL_TRANSFORMER;
    assert_refused(&bare, &c, -ENOTSUP,
                   "--model transformer: the backend bare does not have it yet");
    c.kind = OG_MODEL_GINE;
    assert_refused(&og__ops_cpu, &c, -EINVAL, "--model gine: requires features of edges");
}

static void batches_have_the_rows_of_the_model(void **state)
{
    (void)state;
    struct run r;
    struct og_err err = {0};
    run_open(&r, "attr_gatv2_2", 1);
    const struct og_rows x = fixture_rows(r.f, &r.f->batch[0]);
    assert_int_equal(og__model_forward(r.model, &r.f->batch[0], &x, NULL, NULL, NULL, &err),
                     -EINVAL);
    assert_string_equal(err.message, "model: a batch without rows of edges");
    err = (struct og_err){0};
    r.f->edges->dim = 5;
    assert_int_equal(og__model_forward(r.model, &r.f->batch[0], &x, r.f->edges, NULL, NULL, &err),
                     -EINVAL);
    assert_string_equal(err.message,
                        "model: trained with features of edges of width 6, these have 5");
    run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_step_equals_pytorch),
        cmocka_unit_test(losses_equal_pytorch_over_28_adam_steps),
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(memory_is_what_was_told),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(models_and_rows_must_agree),
        cmocka_unit_test(batches_have_the_rows_of_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
