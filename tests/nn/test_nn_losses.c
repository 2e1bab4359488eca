/* Losses of classes and labels, against the reference and finite differences. */
#include "nn/nn_fixture.h"
#include "nn/nn_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ==== losses ==== */

enum { LOSS_ROWS = 150, LOSS_COLS = 9 };

struct loss_case {
    bool multi;
    int loss;
    float gamma, smoothing;
    float *logits, *grad;
    const float *class_weight, *row_weight;
    void *labels;
    struct og_metrics blocks[4];
};

static double loss_value(const struct loss_case *c, const struct og_nn_ops *ops, float *grad,
                         struct og_metrics *m)
{
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {.rows = LOSS_ROWS,
                         .cols = LOSS_COLS,
                         .loss = c->loss,
                         .gamma = c->gamma,
                         .smoothing = c->smoothing,
                         .logits = c->logits,
                         .labels = c->labels,
                         .class_weight = c->class_weight,
                         .row_weight = c->row_weight,
                         .grad = grad,
                         .blocks = (void *)c->blocks,
                         .out = m};
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
        const uint32_t draw = og__rng_below(&rng, 9);
        if (multi) /* one row of them is not known at all */
            ((float *)c->labels)[i] = draw > 6 || i / LOSS_COLS == 5 ? NAN : draw < 3;
        else if (i < LOSS_ROWS)
            ((int32_t *)c->labels)[i] = (int32_t)og__rng_below(&rng, LOSS_COLS + 1) - 1;
    }
}

/* Compares with the reference, and the gradient with its differences. */
static void check_case(struct loss_case *c)
{
    struct og_metrics m, r;
    float *want = random_floats(LOSS_ROWS * LOSS_COLS);
    double loss = loss_value(c, &og__ops_cpu, c->grad, &m);
    assert_true(fabs(loss / loss_value(c, &og__ops_reference, want, &r) - 1) <= OG__TOLERANCE_LOSS);
    assert_true(fabs(m.weight / r.weight - 1) <= 1e-6);
    assert_close("gradient", c->grad, want, LOSS_ROWS * LOSS_COLS, OG__TOLERANCE_LOSS);
    assert_int_equal(m.counted, r.counted);
    assert_int_equal(m.correct, r.correct);
    assert_int_equal(m.true_positive, r.true_positive);
    assert_int_equal(m.false_positive, r.false_positive);
    assert_int_equal(m.false_negative, r.false_negative);
    for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i += 7) {
        const float step = 0.01f, before = c->logits[i];
        c->logits[i] = before + step;
        double up = loss_value(c, &og__ops_reference, NULL, &r);
        c->logits[i] = before - step;
        double slope = (up - loss_value(c, &og__ops_reference, NULL, &r)) / (2 * 0.01);
        c->logits[i] = before;
        assert_true(fabs(slope - (double)c->grad[i]) < 4e-6);
    }
    free(want);
}

static void losses_equal_reference_and_slopes(void **state)
{
    (void)state;
    static const struct {
        int loss;
        float gamma, smoothing;
        bool classes, rows;
    } kinds[] = {{0, 0, 0, false, false},
                 {0, 0, 0, true, false},
                 {0, 0, 0.2f, false, false},
                 {0, 0, 0.3f, true, true},
                 {OG_LOSS_FOCAL, 2, 0, false, false},
                 {OG_LOSS_FOCAL, 0.5f, 0, true, true}};
    for (int multi = 0; multi < 2; multi++)
        for (size_t k = 0; k < OG_COUNT(kinds); k++) {
            struct loss_case c = {0};
            loss_open(&c, multi);
            float *classes = random_floats(LOSS_COLS), *rows = random_floats(LOSS_ROWS);
            for (size_t i = 0; i < LOSS_COLS; i++)
                classes[i] = i == 2 ? 0 : fabsf(classes[i]) + 0.1f;
            for (size_t i = 0; i < LOSS_ROWS; i++)
                rows[i] = (float)(1 + i % 4);
            c.loss = kinds[k].loss;
            c.gamma = kinds[k].gamma;
            c.smoothing = multi ? 0 : kinds[k].smoothing;
            c.class_weight = kinds[k].classes ? classes : NULL;
            c.row_weight = kinds[k].rows ? rows : NULL;
            check_case(&c);
            free(classes);
            free(rows);
            free(c.logits);
            free(c.grad);
            free(c.labels);
        }
}

/* A seed of weight k is k seeds. A focal loss of gamma 0 is the loss; classes may weigh nothing. */
static void special_cases(void **state)
{
    (void)state;
    struct loss_case c = {0};
    struct og_metrics m, one;
    float weights[LOSS_COLS] = {0}, rows[LOSS_ROWS];
    loss_open(&c, false);
    const double plain = loss_value(&c, &og__ops_cpu, NULL, &one);
    c.loss = OG_LOSS_FOCAL;
    assert_true(loss_value(&c, &og__ops_cpu, NULL, &m) == plain);
    c.loss = OG_LOSS_AUTO;
    for (size_t i = 0; i < LOSS_ROWS; i++)
        rows[i] = 3;
    c.row_weight = rows;
    assert_true(fabs(loss_value(&c, &og__ops_cpu, NULL, &m) - plain) < 1e-12);
    assert_true(m.weight == 3 * one.weight);
    c.class_weight = weights;
    assert_true(loss_value(&c, &og__ops_cpu, c.grad, &m) == 0 && m.weight == 0);
    for (size_t i = 0; i < LOSS_ROWS * LOSS_COLS; i++)
        assert_true(c.grad[i] == 0);
    free(c.logits);
    free(c.grad);
    free(c.labels);
}

/* ==== against PyTorch ==== */

static const float *floats_of(const struct og_tensors *t, const char *name, const char *of)
{
    char full[64];
    snprintf(full, sizeof(full), "%s.%s", name, of);
    const struct og_tensor *tensor = og__tensors_find(t, full);
    return tensor ? tensor->data : NULL;
}

static float number_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtof(at + strlen(name), NULL) : 0;
}

/* Files of nn_losses_make.py: float32 tensors, labels too. */
static void losses_are_pytorchs(void **state)
{
    (void)state;
    struct og_tensors t;
    char path[512];
    fixture_path(path, sizeof(path), "losses");
    char *bytes = whole_tensors(path, &t);
    double worst = 0;
    for (size_t k = 0; k < t.n_metadata; k++) {
        const char *name = t.metadata[k].key, *text = t.metadata[k].value;
        struct loss_case c = {.multi = strstr(text, "multi"),
                              .loss = strstr(text, "gamma=") ? OG_LOSS_FOCAL : OG_LOSS_AUTO,
                              .gamma = number_of(text, "gamma="),
                              .smoothing = number_of(text, "smoothing=")};
        struct og_metrics m;
        const float *labels = floats_of(&t, name, "labels"), *grad = floats_of(&t, name, "grad");
        float *weight = calloc(LOSS_COLS, sizeof(float)), rows[LOSS_ROWS];
        loss_open(&c, c.multi);
        memcpy(c.logits, floats_of(&t, name, "logits"), LOSS_ROWS * LOSS_COLS * sizeof(float));
        for (size_t i = 0; i < LOSS_ROWS * (size_t)(c.multi ? LOSS_COLS : 1); i++) {
            float label;
            memcpy(&label, labels + i, sizeof(label));
            if (c.multi)
                ((float *)c.labels)[i] = label;
            else
                ((int32_t *)c.labels)[i] = (int32_t)label;
        }
        if (floats_of(&t, name, "weight"))
            c.class_weight =
                memcpy(weight, floats_of(&t, name, "weight"), LOSS_COLS * sizeof(float));
        if (floats_of(&t, name, "rows"))
            c.row_weight = memcpy(rows, floats_of(&t, name, "rows"), sizeof(rows));
        const double loss = loss_value(&c, &og__ops_cpu, c.grad, &m);
        double want;
        memcpy(&want, floats_of(&t, name, "loss"), sizeof(want));
        worst = fmax(worst, fabs(loss / want - 1));
        assert_true(fabs(loss / want - 1) <= 1e-6);
        float *theirs = malloc(LOSS_ROWS * LOSS_COLS * sizeof(float));
        memcpy(theirs, grad, LOSS_ROWS * LOSS_COLS * sizeof(float));
        assert_close(name, c.grad, theirs, LOSS_ROWS * LOSS_COLS, 1e-6);
        free(theirs);
        free(weight);
        free(c.logits);
        free(c.grad);
        free(c.labels);
    }
    assert_true(t.n_metadata >= 13);
    print_message("%zu losses within %.1e\n", t.n_metadata, worst);
    og__tensors_release(&t);
    free(bytes);
}

static void losses_survive_large_logits(void **state)
{
    (void)state;
    const float logits[] = {1e4f, -1e4f};
    const int32_t label = 1;
    const float on[] = {0, 1};
    struct og_metrics block[1], m;
    struct og_nn_backend *be = backend_alone();
    struct og_loss op = {
        .rows = 1, .cols = 2, .logits = logits, .labels = &label, .blocks = block, .out = &m};
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
                struct og_loss op = {.rows = 3,
                                     .cols = 3,
                                     .logits = logits,
                                     .labels = labels,
                                     .blocks = block,
                                     .out = &m};
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
        cmocka_unit_test(special_cases),
        cmocka_unit_test(losses_are_pytorchs),
        cmocka_unit_test(losses_survive_large_logits),
        cmocka_unit_test(rows_that_are_no_numbers_are_not_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
