/* Models as wholes: gradients under dropout, memory, names, initial values, refusals. */
#include "nn/nn_fixture.h"

#include "bench/floor.h"
#include "nn/model.h"

#include <math.h>
#include <stdio.h>

static double loss_at(struct og_model *m, const struct fixture *f, uint32_t b)
{
    struct og_rows x = fixture_rows(f, &f->batch[b]);
    struct og_step key = {.seed = 3, .epoch = 2, .batch = b};
    struct og_metrics got;
    assert_int_equal(og__model_gradients(m, &f->batch[b], &x, NULL, f->labels[b], &key, &got, NULL),
                     0);
    return og__metrics_loss(&got);
}

/* The same key drops the same elements, so the loss under dropout is a function with slopes. */
static void slopes_under_all(const char *name, double dropout, double input, double attention)
{
    struct fixture f;
    struct og_model *m;
    fixture_open(&f, name);
    f.config.dropout = dropout;
    f.config.input_dropout = input;
    f.config.attention_dropout = attention;
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 5, NULL, NULL, NULL), 0);
    size_t n, bent = 0, tried = 0;
    struct og_param *p = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; p[i].grad && j < og__param_count(&p[i]); j += 13) {
            const float step = 1e-3f, before = p[i].value[j];
            p[i].value[j] = before + step;
            double up = loss_at(m, &f, 0);
            p[i].value[j] = before - step;
            double down = loss_at(m, &f, 0);
            p[i].value[j] = before;
            double here = loss_at(m, &f, 0), grad = (double)p[i].grad[j];
            double right = (up - here) / (double)step, left = (here - down) / (double)step;
            double noise = 5e-4 * (1 + fabs(grad));
            /* a ReLU that turns on or off within the step: the slopes of both sides differ */
            tried++;
            if (fabs(right - left) > 2 * noise)
                bent++;
            else if (!(fabs((right + left) / 2 - grad) <= noise))
                fail_msg("%s: slope of %s[%zu] is %g, not %g", name, p[i].name, j,
                         (right + left) / 2, grad);
        }
    }
    if (bent * 4 > tried)
        fail_msg("%s: %zu of %zu slopes cannot be judged", name, bent, tried);
    og__model_free(m);
    fixture_close(&f);
}

static void slopes_under_dropout(const char *name, double dropout)
{
    slopes_under_all(name, dropout, 0, 0);
}

static void gradients_are_slopes_of_the_loss(void **state)
{
    (void)state;
    slopes_under_dropout("sage3", 0.5);
    slopes_under_dropout("gcn3", 0.3);
    slopes_under_dropout("sage2_wide", 0.5);
    slopes_under_dropout("gcn2_wide", 0);
    slopes_under_dropout("sage2_multi", 0.25);
    slopes_under_dropout("gat2", 0.5);
    slopes_under_dropout("gat3", 0.25);
    slopes_under_dropout("gat2_narrow", 0.5);
    slopes_under_dropout("gat3_single", 0.5);
    slopes_under_dropout("gatv2_2", 0.5);
    slopes_under_dropout("gatv2_3", 0.25);
    slopes_under_dropout("gatv2_2_narrow", 0.5);
    slopes_under_dropout("link_gatv2", 0.3);
    slopes_under_dropout("sage_max3", 0.5);
    slopes_under_dropout("sage_gcn2", 0.5);
    slopes_under_dropout("gin2_wide", 0.5);
    slopes_under_dropout("pinsage3", 0.3);
    slopes_under_dropout("pinsage2", 0.5);
    slopes_under_dropout("sage2_batch", 0.5);
    slopes_under_dropout("gcn3_batch", 0.3);
    slopes_under_dropout("sage3_layer", 0.5);
    slopes_under_dropout("link_dot", 0.5);
    slopes_under_dropout("link_margin", 0.3);
    slopes_under_dropout("link_mlp", 0.3);
    slopes_under_dropout("link_mlp_margin", 0.5);
    slopes_under_dropout("value_mse", 0.5);
    slopes_under_dropout("value_mae", 0.3);
    slopes_under_dropout("value_huber", 0.4);
    slopes_under_all("sage2_wide", 0.5, 0.3, 0);
    slopes_under_all("gcn3", 0, 0.5, 0);
    slopes_under_all("pinsage2", 0.3, 0.4, 0);
    slopes_under_all("sage_wide_residual", 0.5, 0.4, 0);
    slopes_under_all("gat2", 0.6, 0.6, 0.6);
    slopes_under_all("gat3", 0.3, 0.2, 0.5);
    slopes_under_all("gat2_narrow", 0, 0, 0.4);
    slopes_under_all("gat3_single", 0, 0.3, 0.3);
    slopes_under_all("gatv2_2", 0.6, 0.6, 0.6);
    slopes_under_all("gatv2_3", 0.3, 0.2, 0.5);
    slopes_under_all("gatv2_3_single", 0, 0.3, 0.3);
}

static void widen(struct og_batch_caps *caps, const struct og_batch *b)
{
    caps->n_hops = b->n_hops;
    for (uint32_t h = 0; h < b->n_hops; h++) {
        caps->hop[h].n_dst = OG_MAX(caps->hop[h].n_dst, b->hop[h].n_dst);
        caps->hop[h].n_src = OG_MAX(caps->hop[h].n_src, b->hop[h].n_src);
        caps->hop[h].n_edges = OG_MAX(caps->hop[h].n_edges, b->hop[h].n_edges);
    }
}

/* What was planned is enough and is taken at the start: steps take nothing more. */
static void steps_stay_within_the_plan(void **state)
{
    (void)state;
    const char *const names[] = {
        "sage3",       "gcn2_wide",          "sage2_wide", "gcn1",      "gat3",
        "gat2_narrow", "gat3_single",        "gatv2_2",    "gatv2_3",   "gatv2_3_single",
        "sage_max2",   "sage_gcn2",          "gin3_batch", "gin2_wide", "pinsage3",
        "gcn3_batch",  "sage_wide_residual", "link_dot",   "link_mlp",  "link_mlp_margin",
        "value_mse"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct fixture f;
        struct og_model *m;
        struct og_pool *pool;
        struct og_batch_caps caps = {0};
        struct og_err err = {0};
        fixture_open(&f, names[i]);
        f.config.input_dropout = i % 2 ? 0.3 : 0;
        f.config.attention_dropout = i % 2 ? 0.3 : 0;
        assert_true(f.n_batches > 0);
        for (uint32_t b = 0; b < f.n_batches; b++)
            widen(&caps, &f.batch[b]);
        if (f.config.task == OG_TASK_LINK)
            caps.n_pairs = caps.n_scores = ((const struct og_pairs *)f.labels[0])->n;
        size_t planned = og__model_bytes(&og__ops_cpu, &f.config, OG_OPTIMIZER_ADAM) +
                         og__model_workspace_bytes(&og__ops_cpu, &f.config, &caps, true, 2);
        struct og_budget *budget = og__budget_new(planned);
        assert_int_equal(og__pool_open(&pool, 2, NULL), 0);
        if (og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_ADAM, 1, pool, budget,
                             &err) < 0 ||
            og__model_reserve(m, &caps, true, &err) < 0)
            fail_msg("%s", err.message);
        loss_at(m, &f, 0);
        size_t used = og__budget_used(budget);
        assert_true(used > planned * 9 / 10); /* and it is not a wild overestimate */
        const struct og_pace pace = og__usual_pace(0.01, 0);
        for (uint32_t step = 1; step < 8; step++) {
            loss_at(m, &f, step % f.n_batches);
            assert_int_equal(og__model_update(m, &pace, 1, step, NULL), 0);
            assert_int_equal(og__budget_used(budget), used);
        }
        og__model_free(m);
        assert_int_equal(og__budget_used(budget), 0);
        og__pool_close(pool);
        og__budget_free(budget);
        fixture_close(&f);
    }
}

static void a_larger_batch_takes_more_or_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct og_model *m;
    struct og_batch_caps small = {.n_hops = 2, .hop = {{1, 1, 1}, {1, 1, 1}}};
    struct og_err err = {0};
    fixture_open(&f, "sage2");
    struct og_rows x = fixture_rows(&f, &f.batch[0]);
    struct og_step key = {0};
    struct og_metrics got;
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL), 0);
    assert_int_equal(og__model_reserve(m, &small, true, NULL), 0);
    assert_true(loss_at(m, &f, 0) > 0);
    og__model_free(m);

    size_t plan = og__model_bytes(&og__ops_cpu, &f.config, OG_OPTIMIZER_SGD) +
                  og__model_workspace_bytes(&og__ops_cpu, &f.config, &small, true, 1);
    struct og_budget *budget = og__budget_new(plan);
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 1, NULL, budget, NULL), 0);
    assert_int_equal(og__model_reserve(m, &small, true, NULL), 0);
    assert_int_equal(og__model_gradients(m, &f.batch[0], &x, NULL, f.labels[0], &key, &got, &err),
                     -ENOMEM);
    assert_non_null(strstr(err.message, "activations"));
    og__model_free(m);
    og__budget_free(budget);
    fixture_close(&f);
}

static void forward_alone_equals_training(const char *name)
{
    struct fixture f;
    struct og_model *m;
    fixture_open(&f, name);
    const struct og_batch *b = &f.batch[1];
    struct og_rows x = fixture_rows(&f, b);
    struct og_metrics trained, seen;
    struct og_step key = {0};
    size_t bytes = b->n_seeds * (size_t)f.config.n_classes * sizeof(float);
    float *logits = malloc(bytes);
    assert_int_equal(
        og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL), 0);
    assert_int_equal(og__model_forward(m, b, &x, NULL, f.labels[1], &seen, NULL), 0);
    memcpy(logits, og__model_logits(m), bytes);
    assert_int_equal(og__model_gradients(m, b, &x, NULL, f.labels[1], &key, &trained, NULL), 0);
    assert_memory_equal(logits, og__model_logits(m), bytes);
    assert_memory_equal(&trained, &seen, sizeof(seen));
    assert_true(seen.counted > 0 && seen.correct <= seen.counted);
    free(logits);
    og__model_free(m);
    fixture_close(&f);
}

/* A parameter that batch norm does not touch. */
static void forward_alone_gives_the_same_logits(void **state)
{
    (void)state;
    const char *const names[] = {"sage2_wide", "gat3",      "sage_max3",   "gin2_wide",
                                 "pinsage3",   "sage_gcn2", "sage3_layer", "gatv2_3"};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        forward_alone_equals_training(names[i]);
}

/* With what training left in the workspace as well. */
static void evaluation_drops_nothing(void **state)
{
    (void)state;
    const char *const names[] = {"sage2", "gat2", "gat2_narrow", "gatv2_2", "gin2_wide"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct fixture f;
        struct og_model *m;
        fixture_open(&f, names[i]);
        f.config.dropout = f.config.input_dropout = f.config.attention_dropout = 0.5;
        struct og_rows x = fixture_rows(&f, &f.batch[0]);
        size_t bytes = f.batch[0].n_seeds * (size_t)f.config.n_classes * sizeof(float);
        float *logits = malloc(bytes);
        assert_int_equal(
            og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL),
            0);
        assert_int_equal(og__model_forward(m, &f.batch[0], &x, NULL, NULL, NULL, NULL), 0);
        memcpy(logits, og__model_logits(m), bytes);
        loss_at(m, &f, 0);
        assert_memory_not_equal(logits, og__model_logits(m), bytes);
        assert_int_equal(og__model_forward(m, &f.batch[0], &x, NULL, NULL, NULL, NULL), 0);
        assert_memory_equal(logits, og__model_logits(m), bytes);
        free(logits);
        og__model_free(m);
        fixture_close(&f);
    }
}

/* A parameter of the first layer that is NaN makes the loss NaN, whatever is between. Nothing takes
 * it for a zero, or for less than another. */
static void what_is_no_number_reaches_the_loss(void **state)
{
    (void)state;
    const char *const names[] = {"sage2",     "sage3",      "gcn3",      "gat3",
                                 "sage_max3", "gin2_wide",  "gcn2_wide", "sage2_batch",
                                 "pinsage3",  "sage3_layer"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct fixture f;
        struct og_model *m;
        struct og_metrics seen;
        size_t n;
        fixture_open(&f, names[i]);
        struct og_rows x = fixture_rows(&f, &f.batch[0]);
        assert_int_equal(
            og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL),
            0);
        struct og_param *p = og__model_params(m, &n);
        for (size_t k = 0; k < n; k++) {
            if (!strstr(p[k].name, "convs.0."))
                continue;
            float was = p[k].value[0];
            p[k].value[0] = NAN;
            assert_int_equal(og__model_forward(m, &f.batch[0], &x, NULL, f.labels[0], &seen, NULL),
                             0);
            if (!og__metrics_undefined(&seen))
                fail_msg("%s: %s made a loss of %g", names[i], p[k].name, og__metrics_loss(&seen));
            p[k].value[0] = was;
        }
        og__model_free(m);
        fixture_close(&f);
    }
}

static void parameters_are_pytorch_geometrics(void **state)
{
    (void)state;
    const char *const sage[] = {"convs.0.lin_l.weight", "convs.0.lin_l.bias",
                                "convs.0.lin_r.weight", "convs.1.lin_l.weight",
                                "convs.1.lin_l.bias",   "convs.1.lin_r.weight"};
    const char *const gcn[] = {"convs.0.bias", "convs.0.lin.weight", "convs.1.bias",
                               "convs.1.lin.weight"};
    for (int kind = OG_MODEL_GCN; kind <= OG_MODEL_SAGE; kind++) {
        struct og_model_config c = {
            .kind = kind, .layers = 2, .in_dim = 100, .hidden = 50, .n_classes = 7, .dropout = 0.5};
        struct og_model *m, *same;
        size_t n;
        assert_int_equal(
            og__model_create(&m, &og__ops_cpu, &c, OG_OPTIMIZER_ADAM, 1, NULL, NULL, NULL), 0);
        assert_int_equal(
            og__model_create(&same, &og__ops_cpu, &c, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL), 0);
        struct og_param *p = og__model_params(m, &n), *q = og__model_params(same, &n);
        assert_int_equal(n, kind == OG_MODEL_SAGE ? OG_COUNT(sage) : OG_COUNT(gcn));
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(p[i].name, kind == OG_MODEL_SAGE ? sage[i] : gcn[i]);
            int l = p[i].name[6] - '0';
            double in = l ? 50 : 100, out = l ? 7 : 50, sum = 0, largest = 0;
            assert_int_equal(p[i].shape[0], (int)out);
            assert_int_equal(p[i].shape[1], p[i].ndim == 2 ? (int)in : 1);
            for (size_t j = 0; j < og__param_count(&p[i]); j++) {
                sum += (double)p[i].value[j];
                largest = fmax(largest, fabs((double)p[i].value[j]));
            }
            double bound = kind == OG_MODEL_SAGE ? 1 / sqrt(in) : sqrt(6 / (in + out));
            if (kind == OG_MODEL_GCN && p[i].ndim == 1)
                bound = 0;
            assert_true(largest <= bound * (1 + 1e-6) && largest >= 0.7 * bound);
            assert_true(fabs(sum) <= 4 * bound * sqrt((double)og__param_count(&p[i]) / 3));
            assert_memory_equal(p[i].value, q[i].value, og__param_count(&p[i]) * sizeof(float));
        }
        og__model_free(m);
        og__model_free(same);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct og_model *m;
    struct og_err err = {0};
    fixture_open(&f, "sage2");
    struct og_model_config c = f.config;
    c.in_dim++;
    assert_int_equal(og__model_create(&m, &og__ops_cpu, &c, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL),
                     0);
    struct og_rows x = fixture_rows(&f, &f.batch[0]);
    assert_int_equal(og__model_forward(m, &f.batch[0], &x, NULL, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "width"));
    og__model_free(m);
    c = f.config;
    c.layers = 3;
    err = (struct og_err){0};
    assert_int_equal(og__model_create(&m, &og__ops_cpu, &c, OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL),
                     0);
    assert_int_equal(og__model_forward(m, &f.batch[0], &x, NULL, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "hops"));
    og__model_free(m);
    const struct og_model_config good = {
        .kind = OG_MODEL_SAGE, .layers = 1, .in_dim = 1, .hidden = 10, .n_classes = 1, .heads = 5};
    enum { BAD = 10 };
    struct og_model_config bad[BAD];
    for (size_t i = 0; i < BAD; i++)
        bad[i] = good;
    bad[0].layers = 0;
    bad[1].layers = 99;
    bad[2].in_dim = 0;
    bad[3].dropout = 1;
    bad[4].kind = 7;
    bad[5].norm = 3;
    bad[6].aggregator = -1;
    bad[7].kind = OG_MODEL_GIN; /* has an aggregator of its own */
    bad[7].aggregator = OG_AGGREGATOR_MAX;
    bad[8].kind = bad[9].kind = OG_MODEL_GAT;
    bad[8].heads = 3; /* 10 in 3 */
    bad[9].heads = 0;
    for (size_t i = 0; i < BAD; i++)
        assert_int_equal(
            og__model_create(&m, &og__ops_cpu, &bad[i], OG_OPTIMIZER_SGD, 1, NULL, NULL, NULL),
            -EINVAL);
    assert_int_equal(og__model_check(&good, NULL), 0);
    fixture_close(&f);
}

/* Operations counted by hand: a GCN layer multiplies twice, a SAGE layer twice as often. */
static void the_floor_counts_products(void **state)
{
    (void)state;
    struct og_batch_caps shape = {.n_hops = 1, .hop = {{100, 400, 300}}};
    for (int kind = OG_MODEL_GCN; kind <= OG_MODEL_SAGE; kind++) {
        struct og_model_config c = {
            .kind = kind, .layers = 1, .in_dim = 20, .hidden = 1, .n_classes = 30};
        struct og_floor floor;
        assert_int_equal(og__model_floor(&c, &shape, OG_F16, NULL, &floor, NULL), 0);
        double products = kind == OG_MODEL_SAGE ? 4 : 2;
        assert_true(floor.flops == products * 2 * 100 * 20 * 30);
        double params = kind == OG_MODEL_SAGE ? 30 * 41 : 30 * 21;
        double self = kind == OG_MODEL_SAGE ? 2 * 100 * 20 * 2 : 0;
        assert_true(floor.bytes == 300 * 20 * 2 + 100 * 20 * 4 + self + 7 * 4 * params);
        assert_true(floor.product_seconds > 0 && floor.memory_seconds > 0);
    }
    /* sources to 8 and its gradient; 8 to 30, its gradient and input's; the own row to 30 */
    struct og_model_config c = {
        .kind = OG_MODEL_PINSAGE, .layers = 1, .in_dim = 20, .hidden = 8, .n_classes = 30};
    struct og_floor floor;
    assert_int_equal(og__model_floor(&c, &shape, OG_F32, NULL, &floor, NULL), 0);
    assert_true(floor.flops == 2 * (2 * 400 * 20 * 8 + 3 * 100 * 8 * 30 + 2 * 100 * 20 * 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(steps_stay_within_the_plan),
        cmocka_unit_test(a_larger_batch_takes_more_or_is_refused),
        cmocka_unit_test(forward_alone_gives_the_same_logits),
        cmocka_unit_test(evaluation_drops_nothing),
        cmocka_unit_test(what_is_no_number_reaches_the_loss),
        cmocka_unit_test(parameters_are_pytorch_geometrics),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_floor_counts_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
