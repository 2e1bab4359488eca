/* Losses of classes and labels, beside the reference and finite differences. */
#include "nn/nn_ops.h"

#include <math.h>

/* ==== losses ==== */

enum { LOSS_ROWS = 150, LOSS_COLS = 9 };

struct loss_case {
    bool multi;
    float *logits, *grad;
    void *labels;
    struct og_metrics blocks[4];
};

static double loss_value(const struct loss_case *c, const struct og_nn_ops *ops, float *grad,
                         struct og_metrics *m)
{
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {LOSS_ROWS, LOSS_COLS, c->logits, c->labels, grad, (void *)c->blocks, m};
    assert_int_equal((c->multi ? ops->sigmoid_loss : ops->softmax_loss)(be, &op, NULL), 0);
    og__ops_cpu.close(be);
    return og__metrics_loss(m);
}

static void loss_open(struct loss_case *c, bool multi)
{
    start();
    c->multi = multi;
    c->logits = random_floats(LOSS_ROWS * LOSS_COLS);
    c->grad = random_floats(LOSS_ROWS * LOSS_COLS);
    c->labels = random_floats(LOSS_ROWS * LOSS_COLS);
    for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i++) {
        c->logits[i] *= 4;
        if (multi)
            ((float *)c->labels)[i] = og__rng_below(&rng, 3) == 0;
        else if (i < LOSS_ROWS)
            ((int32_t *)c->labels)[i] = (int32_t)og__rng_below(&rng, LOSS_COLS + 1) - 1;
    }
}

static void losses_equal_reference_and_slopes(void **state)
{
    (void)state;
    for (int multi = 0; multi < 2; multi++) {
        struct loss_case c;
        struct og_metrics m, r;
        loss_open(&c, multi);
        float *want = random_floats(LOSS_ROWS * LOSS_COLS);
        double loss = loss_value(&c, &og__ops_cpu, c.grad, &m);
        assert_true(fabs(loss / loss_value(&c, &og__ops_reference, want, &r) - 1) <=
                    OG__TOLERANCE_LOSS);
        assert_close("gradient", c.grad, want, LOSS_ROWS * LOSS_COLS, OG__TOLERANCE_LOSS);
        assert_int_equal(m.counted, r.counted);
        assert_int_equal(m.correct, r.correct);
        assert_int_equal(m.true_positive, r.true_positive);
        assert_int_equal(m.false_positive, r.false_positive);
        assert_int_equal(m.false_negative, r.false_negative);
        for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i += 7) {
            const float step = 0.01f, before = c.logits[i];
            c.logits[i] = before + step;
            double up = loss_value(&c, &og__ops_reference, NULL, &r);
            c.logits[i] = before - step;
            double slope = (up - loss_value(&c, &og__ops_reference, NULL, &r)) / (2 * 0.01);
            c.logits[i] = before;
            assert_true(fabs(slope - (double)c.grad[i]) < 2e-6);
        }
        free(want);
        free(c.logits);
        free(c.grad);
        free(c.labels);
    }
}

static void losses_survive_large_logits(void **state)
{
    (void)state;
    const float logits[] = {1e4f, -1e4f};
    const int32_t label = 1;
    const float on[] = {0, 1};
    struct og_metrics block[1], m;
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {1, 2, logits, &label, NULL, block, &m};
    assert_int_equal(og__ops_cpu.softmax_loss(be, &op, NULL), 0);
    assert_true(fabs(m.loss_sum - 2e4) < 1);
    op.labels = on;
    assert_int_equal(og__ops_cpu.sigmoid_loss(be, &op, NULL), 0);
    assert_true(fabs(m.loss_sum - 1e4) < 1);
    og__ops_cpu.close(be);
}

/* A row with a number that is none has no largest element: it is right about no class. */
static void rows_that_are_no_numbers_are_not_right(void **state)
{
    (void)state;
    const struct og_nn_ops *const both[] = {&og__ops_cpu, &og__ops_reference};
    for (size_t o = 0; o < OG_COUNT(both); o++)
        for (int32_t wrong = 0; wrong < 3; wrong++)
            for (int32_t label = 0; label < 3; label++) {
                float logits[] = {1, 0, 0, 0, 0, 0, 0, 1, 0};
                const int32_t labels[] = {0, label, 1};
                struct og_metrics block[1], m;
                struct og_nn_backend *be = backend_alone();
                struct og_loss op = {3, 3, logits, labels, NULL, block, &m};
                logits[3 + wrong] = NAN;
                assert_int_equal(both[o]->softmax_loss(be, &op, NULL), 0);
                og__ops_cpu.close(be);
                assert_int_equal(m.correct, 2);
                assert_int_equal(m.counted, 3);
                assert_string_equal(og__metrics_undefined(&m), "loss");
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_equal_reference_and_slopes),
        cmocka_unit_test(losses_survive_large_logits),
        cmocka_unit_test(rows_that_are_no_numbers_are_not_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
