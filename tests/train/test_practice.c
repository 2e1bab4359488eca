/* Optimizers, clipping and learning rates against PyTorch's (nn_steps_make.py), over 50 steps. */
#include "train/steps_fixture.h"

#include "learn/steps.h"
#include "learn/watch.h"
#include "support/whole_tensors.h"

#include <math.h>
#include <string.h>

enum { STEPS = 50, N = 33 };

/* Two products and a bias of 5 features and 3 classes: N numbers. */
static const struct og_model_config shape = {
    .kind = OG_MODEL_SAGE, .layers = 1, .in_dim = 5, .hidden = 1, .n_classes = 3};

struct golden {
    struct og_tensors t;
    char *bytes;
    uint32_t epoch; /* steps */
};

static const struct og_tensor *tensor_of(const struct golden *g, const char *what, const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), "%s%s%s", what, *name ? "." : "", name);
    const struct og_tensor *t = og__tensors_find(&g->t, full);
    if (!t)
        fail_msg("no tensor %s", full);
    return t;
}

static double real_of(const struct og_tensor *t, size_t i)
{
    double value;
    memcpy(&value, (const char *)t->data + i * sizeof(value), sizeof(value));
    return value;
}

/* "name=value name=value" */
static void set_all(struct og_options *opt, const char *text)
{
    char list[256], *left = list, *pair;
    snprintf(list, sizeof(list), "%s", text);
    while ((pair = strsep(&left, " "))) {
        char *value = strchr(pair, '=');
        *value++ = 0;
        test_set(opt, pair, value);
    }
}

static void move(struct og_model *m, bool gradients, float *vector, bool into_model)
{
    size_t n;
    struct og_param *p = og__model_params(m, &n);
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        float *there = gradients ? p[i].grad : p[i].value;
        const size_t bytes = og__param_count(&p[i]) * sizeof(float);
        memcpy(into_model ? there : vector + all, into_model ? vector + all : there, bytes);
        all += og__param_count(&p[i]);
    }
    assert_int_equal(all, N);
}

/* The row of an epoch, as a run keeps it. */
static json_t *row_of(double measured)
{
    return json_pack("{s:{s:f}}", "valid_metrics", "acc", measured);
}

static void check_case(const struct golden *g, const char *name, const char *options)
{
    struct og_options opt;
    struct og_model *m;
    struct og_steps steps;
    struct og_watch watch;
    float vector[N];
    const struct og_tensor *rates = tensor_of(g, "rates", name);
    const float *want = tensor_of(g, "final", name)->data;
    double off = 0, rate_off = 0, largest = 0;
    og__options_init(&opt);
    set_all(&opt, options);
    assert_int_equal(og__model_create(&m, &og__ops_cpu, &shape, opt.optimizer, 1, NULL, NULL, NULL),
                     0);
    memcpy(vector, tensor_of(g, "init", "")->data, sizeof(vector));
    move(m, false, vector, true);
    assert_int_equal(og__steps_open(&steps, m, &opt, NULL, NULL), 0);
    og__watch_begin(&watch, &opt, &shape, NULL);
    for (uint32_t s = 0; s < STEPS; s++) {
        const double lr = og__rate_at(&watch.rate, s, s / g->epoch);
        memcpy(vector, (const char *)tensor_of(g, "gradients", "")->data + s * sizeof(vector),
               sizeof(vector));
        move(m, true, vector, true);
        assert_int_equal(og__steps_update(&steps, 1, 1, s + 1, lr, NULL), 0);
        rate_off = fmax(rate_off, fabs(lr - real_of(rates, s)) / opt.lr);
        if (s % g->epoch == g->epoch - 1) {
            json_t *row = row_of(real_of(tensor_of(g, "measured", ""), s / g->epoch));
            og__watch_epoch(&watch, row);
            json_decref(row);
        }
    }
    move(m, false, vector, false);
    for (size_t i = 0; i < N; i++) {
        float one;
        memcpy(&one, (const char *)want + i * sizeof(one), sizeof(one));
        off = fmax(off, fabs((double)vector[i] - (double)one));
        largest = fmax(largest, fabs((double)one));
    }
    print_message("%-13s parameters within %.1e, rates within %.1e\n", name, off / largest,
                  rate_off);
    if (!(off <= 1e-6 * largest) || !(rate_off <= 1e-12))
        fail_msg("%s: not PyTorch's", name);
    og__steps_close(&steps);
    og__model_free(m);
    og__options_release(&opt);
}

static void steps_are_pytorchs(void **state)
{
    (void)state;
    struct golden g = {.bytes = whole_tensors(TEST_GOLDEN "/nn_steps.safetensors", &g.t)};
    size_t cases = 0;
    for (size_t i = 0; i < g.t.n_metadata; i++)
        if (strcmp(g.t.metadata[i].key, "epoch") == 0)
            g.epoch = (uint32_t)strtoul(g.t.metadata[i].value, NULL, 10);
    assert_true(g.epoch > 0);
    for (size_t i = 0; i < g.t.n_metadata; i++)
        if (strcmp(g.t.metadata[i].key, "epoch") != 0) {
            check_case(&g, g.t.metadata[i].key, g.t.metadata[i].value);
            cases++;
        }
    assert_true(cases >= 11);
    og__tensors_release(&g.t);
    free(g.bytes);
}

/* A resumed run has the rows alone. */
static void a_watch_follows_from_the_rows(void **state)
{
    (void)state;
    static const double measured[] = {0.2, 0.5, 0.5, 0.49, 0.52, 0.51, 0.505, 0.53, 0.1, 0.2};
    struct og_options opt;
    struct og_watch one;
    json_t *rows = json_array();
    og__options_init(&opt);
    set_all(&opt, "lr-schedule=plateau:0.5,1 min-delta=0.01");
    og__watch_begin(&one, &opt, &shape, NULL);
    for (size_t i = 0; i < OG_COUNT(measured); i++) {
        struct og_watch other;
        json_t *never = json_pack("{s:n}", "valid_metrics");
        json_array_append_new(rows, row_of(measured[i]));
        json_array_append(rows, never); /* an epoch without validation changes nothing */
        og__watch_epoch(&one, json_array_get(rows, 2 * i));
        og__watch_epoch(&one, never);
        json_decref(never);
        og__watch_begin(&other, &opt, &shape, rows);
        assert_int_equal(one.without, other.without);
        assert_true(one.rate.reduced == other.rate.reduced && one.best == other.best);
    }
    assert_true(one.rate.reduced < opt.lr);
    json_decref(rows);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_pytorchs),
        cmocka_unit_test(a_watch_follows_from_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
