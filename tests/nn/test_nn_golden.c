/* nn against PyTorch: logits, gradients and the losses of 28 Adam steps with weight decay. */
#include "nn/nn_fixture.h"

#include "nn/model.h"

#include <math.h>
#include <stdio.h>

static const char *const cases[] = {"sage2",
                                    "sage3",
                                    "gcn2",
                                    "gcn3",
                                    "sage2_wide",
                                    "gcn2_wide",
                                    "sage2_multi",
                                    "gcn1",
                                    "gat2",
                                    "gat3",
                                    "gat2_narrow",
                                    "gat3_single",
                                    "sage_max2",
                                    "sage_max3",
                                    "sage_gcn2",
                                    "gin2_wide",
                                    "gin3_batch",
                                    "pinsage2",
                                    "pinsage3",
                                    "sage2_batch",
                                    "sage3_layer",
                                    "gcn3_batch",
                                    "sage_wide_residual",
                                    "link_dot",
                                    "link_margin",
                                    "link_mlp",
                                    "link_mlp_margin",
                                    "link_distmult",
                                    "link_complex",
                                    "link_transe",
                                    "value_mse",
                                    "value_mae",
                                    "value_huber",
                                    "value_shares",
                                    "gatv2_2",
                                    "gatv2_3",
                                    "gatv2_2_narrow",
                                    "gatv2_3_single",
                                    "link_gatv2",
                                    "pairs_sage2",
                                    "pairs_gat2",
                                    "pairs_gcn1_multi",
                                    "pairs_sage3_values",
                                    "edge_sage2",
                                    "edge_sage2_wide",
                                    "edge_sage2_mean",
                                    "edge_sage2_mean_wide",
                                    "edge_sage_gcn2",
                                    "edge_sage_max2",
                                    "edge_sage_max3",
                                    "edge_gin2_wide",
                                    "edge_gin3",
                                    "edge_gat2",
                                    "edge_gat3",
                                    "edge_gat2_narrow",
                                    "edge_gatv2_2",
                                    "edge_gcn2",
                                    "edge_gcn3",
                                    "edge_gcn2_wide",
                                    "edge_link_gcn",
                                    "edge_link_sage"};

struct run {
    struct fixture f;
    struct og_pool *pool;
    struct og_model *model;
};

static void run_open(struct run *r, const char *name, int threads)
{
    fixture_open(&r->f, name);
    assert_int_equal(og__pool_open(&r->pool, threads, NULL), 0);
    struct og_err err = {0};
    if (og__model_create(&r->model, &og__ops_cpu, &r->f.config, OG_OPTIMIZER_ADAM, 1, r->pool, NULL,
                         &err) < 0)
        fail_msg("%s", err.message);
    fixture_load(&r->f, r->model, "init.");
}

static void run_close(struct run *r)
{
    og__model_free(r->model);
    og__pool_close(r->pool);
    fixture_close(&r->f);
}

static double run_step(struct run *r, uint32_t step)
{
    const struct fixture *f = &r->f;
    uint32_t b = step % f->n_batches;
    struct og_rows x = fixture_rows(f, &f->batch[b]);
    struct og_step key = {.seed = 1, .epoch = 1, .batch = step};
    const struct og_pace pace = og__usual_pace(f->lr, f->weight_decay);
    struct og_metrics got;
    struct og_err err = {0};
    if (og__model_gradients(r->model, &f->batch[b], &x, NULL, f->labels[b], &key, &got, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(og__model_update(r->model, &pace, 1, step + 1, NULL), 0);
    return og__metrics_loss(&got);
}

/* The smallest value that gradients are compared with. Some are zero but for rounding, such as
 * those of a bias before batch norm. */
#define LEAST 0.1

static void assert_near(const char *what, const float *got, const float *want, size_t n, double tol)
{
    double largest = LEAST;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)got[i] - (double)want[i]) <= tol * largest))
            fail_msg("%s[%zu]: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
    }
}

static void assert_params_near(struct run *r, const char *prefix, bool gradients, double tol)
{
    size_t n;
    struct og_param *p = og__model_params(r->model, &n);
    for (size_t i = 0; i < n; i++) {
        char name[OG_PARAM_NAME + 16];
        if ((gradients && !p[i].grad) || strstr(p[i].name, "num_batches_tracked"))
            continue;
        snprintf(name, sizeof(name), "%s%s", prefix, p[i].name);
        assert_near(name, gradients ? p[i].grad : p[i].value, fixture_tensor(&r->f, name)->data,
                    og__param_count(&p[i]), tol);
    }
}

static void first_step_equals_pytorch(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 2);
        run_step(&r, 0);
        const struct og_tensor *logits = fixture_tensor(&r.f, "logits");
        assert_near("logits", og__model_logits(r.model), logits->data, logits->bytes / 4, 2e-6);
        const struct og_tensor *scores = og__tensors_find(&r.f.t, "scores");
        if (scores)
            assert_near("scores", og__model_scores(r.model), scores->data, scores->bytes / 4, 2e-6);
        assert_params_near(&r, "grad.", true, 2e-6);
        run_close(&r);
    }
}

/* With running statistics instead of the batch's, after the last step, on its batch. */
static void assert_evaluation_near(struct run *r, uint32_t step)
{
    const struct og_tensor *want = og__tensors_find(&r->f.t, "eval_logits");
    const struct og_batch *batch = &r->f.batch[step % r->f.n_batches];
    struct og_rows x = fixture_rows(&r->f, batch);
    if (!want) /* no batch norm */
        return;
    assert_int_equal(og__model_forward(r->model, batch, &x, NULL, NULL, NULL, NULL), 0);
    assert_near("logits", og__model_logits(r->model), want->data, want->bytes / 4, 2e-4);
}

static void losses_equal_pytorch_over_28_adam_steps(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 2);
        const struct og_tensor *losses = fixture_tensor(&r.f, "losses");
        double worst = 0;
        for (uint32_t s = 0; s < (uint32_t)losses->shape[0]; s++) {
            double want;
            memcpy(&want, (const char *)losses->data + s * sizeof(want), sizeof(want));
            double got = run_step(&r, s);
            worst = fmax(worst, fabs(got / want - 1));
        }
        if (!(worst <= 1e-5))
            fail_msg("%s: losses differ by %.3g", cases[c], worst);
        assert_params_near(&r, "final.", false, 1e-4);
        assert_evaluation_near(&r, (uint32_t)losses->shape[0] - 1);
        print_message("%-12s losses within %.1e\n", cases[c], worst);
        run_close(&r);
    }
}

static bool transforms_first(const struct og_model_config *c, int l, const struct og_block *b)
{
    if (og__conv_of(c)->attends)
        return !og__attend_first(c, l, b);
    return og__transform_first(b, og__layer_in(c, l), og__layer_mid(c, l));
}

/* Each model that has a choice, in its first layer and later. */
static void both_orders_are_covered(void **state)
{
    (void)state;
    static const int kinds[] = {OG_MODEL_GCN, OG_MODEL_SAGE, OG_MODEL_GAT, OG_MODEL_GIN};
    int seen[OG_MODEL_GATV2 + 1][2][2] = {{{0}}}; /* kind, later layer, transform first */
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 1);
        for (int l = 0; l < r.f.config.layers; l++) {
            const struct og_block *b = &r.f.batch[0].hop[r.f.config.layers - 1 - l];
            seen[r.f.config.kind][l > 0][transforms_first(&r.f.config, l, b)]++;
        }
        run_close(&r);
    }
    for (size_t k = 0; k < OG_COUNT(kinds); k++)
        for (int i = 0; i < 4; i++) /* GIN's later layers grow no narrower */
            assert_true(seen[kinds[k]][i / 2][i % 2] > 0 || (kinds[k] == OG_MODEL_GIN && i == 3));
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
    run_open(&r, name, threads);
    og__model_free(r.model);
    r.f.config.dropout = dropout;
    r.f.config.input_dropout = dropout / 2;
    r.f.config.attention_dropout = dropout;
    assert_int_equal(og__model_create(&r.model, &og__ops_cpu, &r.f.config, OG_OPTIMIZER_ADAM, 9,
                                      r.pool, NULL, NULL),
                     0);
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t s = 0; s < 6; s++) {
        double loss = run_step(&r, s);
        h = hash(h, &loss, sizeof(loss));
    }
    size_t n;
    struct og_param *p = og__model_params(r.model, &n);
    for (size_t i = 0; i < n; i++)
        h = hash(h, p[i].value, og__param_count(&p[i]) * sizeof(float));
    run_close(&r);
    return h;
}

static void same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        uint64_t one = bits_after(cases[c], 1, 0.3);
        assert_int_equal(bits_after(cases[c], 2, 0.3), one);
        assert_int_equal(bits_after(cases[c], 3, 0.3), one);
        assert_int_not_equal(bits_after(cases[c], 1, 0.0), one); /* dropout does something */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_step_equals_pytorch),
        cmocka_unit_test(losses_equal_pytorch_over_28_adam_steps),
        cmocka_unit_test(both_orders_are_covered),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
