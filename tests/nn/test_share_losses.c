/* Losses of shares and NDCG@10, against the reference, finite differences, PyTorch and NumPy. */
#include "nn/nn_fixture.h"
#include "nn/nn_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct shares {
    uint32_t rows;
    int cols, loss;
    float *logits, *labels, *grad, *row_weight; /* row_weight: or NULL */
    struct og_metrics m;
};

static size_t cells(const struct shares *s)
{
    return s->rows * (size_t)s->cols;
}

static double measure(const struct og_nn_ops *ops, struct shares *s, float *grad)
{
    struct bench b;
    struct og_metrics *blocks = calloc(og__n_blocks(s->rows) + 1, sizeof(*blocks));
    bench_open(&b, 3, 16);
    struct og_loss op = {.rows = s->rows,
                         .cols = s->cols,
                         .loss = s->loss,
                         .logits = s->logits,
                         .labels = s->labels,
                         .row_weight = s->row_weight,
                         .grad = grad,
                         .blocks = blocks,
                         .out = &s->m};
    assert_int_equal(ops->share_loss(b.be, &op, NULL), 0);
    bench_close(&b);
    free(blocks);
    return og__metrics_loss(&s->m);
}

/* Scores with ties; rows that are unknown, or all 0. */
static void shares_open(struct shares *s, uint32_t rows, int cols, int loss)
{
    start();
    *s = (struct shares){.rows = rows, .cols = cols, .loss = loss};
    s->logits = random_floats(cells(s));
    s->labels = random_floats(cells(s));
    s->grad = random_floats(cells(s));
    for (size_t i = 0; i < cells(s); i++) {
        const uint32_t row = (uint32_t)(i / (size_t)cols), draw = og__rng_below(&rng, 4);
        s->logits[i] = row % 3 == 0 ? (float)draw : 4 * s->logits[i];
        s->labels[i] = row % 7 == 6 || draw > 1 ? 0 : fabsf(s->labels[i]);
        if (row % 5 == 4)
            s->labels[i] = NAN;
    }
}

static void shares_close(struct shares *s)
{
    free(s->logits);
    free(s->labels);
    free(s->grad);
    free(s->row_weight);
}

static bool is_near(double x, double want, double tolerance)
{
    return fabs(x - want) <= tolerance * fmax(fabs(want), 1e-3);
}

static void assert_equal_metrics(const struct og_metrics *m, const struct og_metrics *want)
{
    assert_int_equal(m->counted, want->counted);
    assert_int_equal(m->values, want->values);
    assert_true(m->weight == want->weight);
    assert_true(is_near(m->loss_sum, want->loss_sum, OG__TOLERANCE_LOSS));
    assert_true(is_near(m->absolute, want->absolute, 1e-5));
    assert_true(is_near(m->squared, want->squared, 1e-5));
    assert_true(is_near(m->value_sum, want->value_sum, 1e-9));
    assert_true(is_near(m->value_squares, want->value_squares, 1e-9));
    assert_true(is_near(m->ndcg, want->ndcg, 1e-12));
}

static void check_slopes(struct shares *s)
{
    const float step = 1.0f / 128;
    for (size_t i = 0; i < cells(s); i += 1 + cells(s) / 40) {
        const float before = s->logits[i];
        s->logits[i] = before + step;
        const double up = measure(&og__ops_reference, s, NULL);
        s->logits[i] = before - step;
        const double down = measure(&og__ops_reference, s, NULL);
        s->logits[i] = before;
        assert_true(fabs((up - down) / (2 * (double)step) - (double)s->grad[i]) < 2e-5);
    }
}

static void losses_equal_reference_and_slopes(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 9, 10, 11, 40};
    static const int losses[] = {OG_LOSS_CROSS_ENTROPY, OG_LOSS_MSE, OG_LOSS_HUBER};
    for (size_t w = 0; w < OG_COUNT(widths); w++)
        for (size_t k = 0; k < OG_COUNT(losses); k++)
            for (int weighs = 0; weighs < 2; weighs++) {
                struct shares s;
                shares_open(&s, 150, widths[w], losses[k]);
                s.row_weight = weighs ? random_floats(s.rows) : NULL;
                for (uint32_t r = 0; weighs && r < s.rows; r++)
                    s.row_weight[r] = (float)(r % 4) / 2;
                float *want = random_floats(cells(&s));
                measure(&og__ops_reference, &s, want);
                const struct og_metrics reference = s.m;
                measure(&og__ops_cpu, &s, s.grad);
                assert_equal_metrics(&s.m, &reference);
                assert_int_equal(s.m.counted, 120);
                assert_close("slopes", s.grad, want, cells(&s), 2e-6);
                measure(&og__ops_cpu, &s, NULL);
                assert_true(is_near(s.m.loss_sum, reference.loss_sum, OG__TOLERANCE_LOSS));
                check_slopes(&s);
                free(want);
                shares_close(&s);
            }
}

/* ==== against PyTorch and NumPy ==== */

static const struct og_tensor *tensor_of(const struct og_tensors *t, const char *name,
                                         const char *of)
{
    char full[64];
    snprintf(full, sizeof(full), "%s.%s", name, of);
    return og__tensors_find(t, full);
}

static float *floats_of(const struct og_tensors *t, const char *name, const char *of)
{
    const struct og_tensor *x = tensor_of(t, name, of);
    return x ? memcpy(random_floats(x->bytes / sizeof(float)), x->data, x->bytes) : NULL;
}

static double number_of(const struct og_tensors *t, const char *name, const char *of)
{
    double x;
    memcpy(&x, tensor_of(t, name, of)->data, sizeof(x));
    return x;
}

/* Files of nn_losses_make.py. */
static void losses_are_pytorchs(void **state)
{
    (void)state;
    struct og_tensors t;
    char path[512];
    double worst = 0, worst_ndcg = 0;
    start();
    fixture_path(path, sizeof(path), "shares");
    char *bytes = whole_tensors(path, &t);
    for (size_t k = 0; k < t.n_metadata; k++) {
        const char *name = t.metadata[k].key;
        const struct og_tensor *x = tensor_of(&t, name, "logits");
        struct shares s = {.rows = (uint32_t)x->shape[0],
                           .cols = (int)x->shape[1],
                           .loss = strstr(t.metadata[k].value, "mse") ? OG_LOSS_MSE
                                                                      : OG_LOSS_CROSS_ENTROPY,
                           .logits = floats_of(&t, name, "logits"),
                           .labels = floats_of(&t, name, "labels"),
                           .row_weight = floats_of(&t, name, "rows")};
        s.grad = random_floats(cells(&s));
        float *want = floats_of(&t, name, "grad");
        const double loss = measure(&og__ops_cpu, &s, s.grad);
        const double ndcg = s.m.ndcg / (double)s.m.counted;
        worst = fmax(worst, fabs(loss / number_of(&t, name, "loss") - 1));
        worst_ndcg = fmax(worst_ndcg, fabs(ndcg - number_of(&t, name, "ndcg")));
        assert_close(name, s.grad, want, cells(&s), 1e-6);
        free(want);
        shares_close(&s);
    }
    print_message("%zu losses within %.1e, NDCG within %.1e\n", t.n_metadata, worst, worst_ndcg);
    assert_true(t.n_metadata >= 9 && worst <= 1e-6 && worst_ndcg <= 1e-12);
    og__tensors_release(&t);
    free(bytes);
}

/* ==== special rows ==== */

static double ndcg_of(float *logits, float *labels, int n)
{
    struct shares s = {
        .rows = 1, .cols = n, .loss = OG_LOSS_CROSS_ENTROPY, .logits = logits, .labels = labels};
    measure(&og__ops_cpu, &s, NULL);
    return s.m.ndcg;
}

static void ndcg_of_a_row(void **state)
{
    (void)state;
    float logits[30], labels[30];
    for (int j = 0; j < 30; j++) {
        logits[j] = (float)-j;
        labels[j] = j == 1;
    }
    assert_true(fabs(ndcg_of(logits, labels, 30) - 1 / log2(3)) < 1e-12);
    labels[1] = 0;
    assert_true(ndcg_of(logits, labels, 30) == 0);
    labels[10] = 1; /* the eleventh */
    assert_true(ndcg_of(logits, labels, 30) == 0);
    for (int j = 0; j < 30; j++)
        logits[j] = 5; /* each class has one of 30 places */
    assert_true(fabs(ndcg_of(logits, labels, 30) - 4.543559338088346 / 30) < 1e-12);
    logits[3] = 6;
    assert_true(fabs(ndcg_of(logits, labels, 30) - 3.543559338088346 / 29) < 1e-12);
}

static void losses_survive_large_logits(void **state)
{
    (void)state;
    float logits[] = {1e4f, -1e4f}, labels[] = {0.25f, 0.75f}, grad[2];
    struct shares s = {
        .rows = 1, .cols = 2, .loss = OG_LOSS_CROSS_ENTROPY, .logits = logits, .labels = labels};
    assert_true(fabs(measure(&og__ops_cpu, &s, grad) - 1.5e4) < 1e-2);
    assert_true(grad[0] == 0.75f && grad[1] == -0.75f);
    logits[1] = NAN;
    measure(&og__ops_cpu, &s, grad);
    assert_string_equal(og__metrics_undefined(&s.m), "loss");
    labels[0] = NAN; /* not known: it does not count */
    assert_true(measure(&og__ops_cpu, &s, grad) == 0 && s.m.counted == 0 && s.m.weight == 0);
    assert_true(grad[0] == 0 && grad[1] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_equal_reference_and_slopes),
        cmocka_unit_test(losses_are_pytorchs),
        cmocka_unit_test(ndcg_of_a_row),
        cmocka_unit_test(losses_survive_large_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
