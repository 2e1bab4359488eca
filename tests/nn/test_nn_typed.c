/* Heterogeneous models against PyTorch (tests/nn/golden/nn_typed_make.py): logits, gradients and
 * the losses of 28 Adam steps. With one type and one relation also against homogeneous ones. */
#include "nn/nn_slopes.h"
#include "nn/typed_fixture.h"

#include "nn/model.h"
#include "nn/shape.h"

#include <math.h>
#include <stdio.h>

static const char *const cases[] = {"typed_sage2",
                                    "typed_sage3",
                                    "typed_sage2_wide",
                                    "typed_sage2_few",
                                    "typed_sage2_bare",
                                    "typed_sage2_trained",
                                    "typed_sage_max2",
                                    "typed_gin2",
                                    "typed_gin3",
                                    "typed_gin2_trained",
                                    "typed_sage3_layer",
                                    "typed_sage2_same",
                                    "typed_sage_max2_batch",
                                    "typed_gin3_batch",
                                    "typed_gat2",
                                    "typed_gat3",
                                    "typed_gat3_single",
                                    "typed_gat2_narrow",
                                    "typed_gat2_bare",
                                    "typed_gat2_trained",
                                    "typed_gat3_layer",
                                    "typed_gat2_batch",
                                    "typed_gcn2",
                                    "typed_gcn3",
                                    "typed_gcn2_wide",
                                    "typed_gcn2_bare",
                                    "typed_gcn2_trained",
                                    "typed_gcn3_layer",
                                    "typed_gcn2_batch",
                                    "typed_link_gcn2",
                                    "typed_link_gcn2_mlp",
                                    "typed_link_sage2",
                                    "typed_link_sage3",
                                    "typed_link_sage_max2",
                                    "typed_link_gat2",
                                    "typed_link_gat3",
                                    "typed_link_gin2",
                                    "typed_link_gin2_mlp",
                                    "typed_pairs_sage2",
                                    "typed_pairs_gat2",
                                    "typed_gatv2_2",
                                    "typed_gatv2_3_layer",
                                    "typed_gatv2_2_bare",
                                    "typed_gatv2_2_batch",
                                    "typed_link_gatv2",
                                    "typed_link_sage2_complex",
                                    "typed_link_gcn2_transe",
                                    "typed_rgcn2",
                                    "typed_rgcn2_bases",
                                    "typed_rgcn3",
                                    "typed_rgcn3_bases",
                                    "typed_rgcn2_batch",
                                    "typed_rgcn1",
                                    "typed_rgcn2_few",
                                    "typed_rgcn2_blended",
                                    "typed_rgcn2_distmult",
                                    "typed_rgcn2_margin",
                                    "typed_rgcn2_complex",
                                    "typed_rgcn2_transe",
                                    "typed_rgcn1_widths",
                                    "typed_rgcn2_widths",
                                    "typed_rgcn3_widths",
                                    "typed_rgcn2_widths_link",
                                    "typed_rgcn2_widths_few",
                                    "typed_pinsage2",
                                    "typed_pinsage3",
                                    "typed_link_pinsage2"};

/* ---- a run ---- */

struct run {
    const char *name;
    struct typed t;
    struct og_pool *pool;
    struct og_model *model;
};

static void run_open(struct run *r, const char *name, int threads)
{
    struct og_err err = {0};
    r->name = name;
    typed_open(&r->t, name);
    assert_int_equal(og__pool_open(&r->pool, threads, NULL), 0);
    if (og__model_create(&r->model, &og__ops_cpu, &r->t.f.config, OG_OPTIMIZER_ADAM, 1, r->pool,
                         NULL, &err) < 0)
        fail_msg("%s", err.message);
    fixture_load(&r->t.f, r->model, "init.");
}

/* With initial values of its own. */
static void run_open_dropping(struct run *r, const char *name, int threads, double dropout)
{
    run_open(r, name, threads);
    og__model_free(r->model);
    r->t.f.config.dropout = dropout;
    r->t.f.config.input_dropout = dropout / 2;
    r->t.f.config.attention_dropout = dropout;
    assert_int_equal(og__model_create(&r->model, &og__ops_cpu, &r->t.f.config, OG_OPTIMIZER_ADAM, 9,
                                      r->pool, NULL, NULL),
                     0);
}

static void run_close(struct run *r)
{
    og__model_free(r->model);
    og__pool_close(r->pool);
    typed_close(&r->t);
}

static double run_step(struct run *r, uint32_t step)
{
    const uint32_t b = step % r->t.f.n_batches;
    const struct og_step key = {.seed = 1, .epoch = 1, .batch = step};
    const struct og_pace pace = og__usual_pace(r->t.f.lr, r->t.f.weight_decay);
    struct og_metrics got;
    struct og_err err = {0};
    if (og__model_gradients(r->model, &r->t.f.batch[b], r->t.x[b], NULL, r->t.f.labels[b], &key,
                            &got, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(og__model_update(r->model, &pace, 1, step + 1, NULL), 0);
    return og__metrics_loss(&got);
}

static void assert_near(const struct run *r, const char *what, const float *got, const float *want,
                        size_t n, double tol)
{
    double largest = 0.1; /* of gradients that are next to nothing */
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tol * largest))
            fail_msg("%s: %s[%zu]: %.9g, not %.9g", r->name, what, i, (double)got[i],
                     (double)want[i]);
}

static size_t count_named(const struct fixture *f, const char *prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < f->t.n; i++)
        n += strncmp(f->t.tensor[i].name, prefix, strlen(prefix)) == 0;
    return n;
}

static void assert_params_near(struct run *r, const char *prefix, bool gradients, double tol)
{
    size_t n;
    size_t compared = 0;
    const struct og_param *p = og__model_params(r->model, &n);
    for (size_t i = 0; i < n; i++) {
        char name[OG_PARAM_NAME + 16];
        if (gradients && !p[i].grad)
            continue;
        compared++;
        snprintf(name, sizeof(name), "%s%s", prefix, p[i].name);
        assert_near(r, name, gradients ? p[i].grad : p[i].value,
                    fixture_tensor(&r->t.f, name)->data, og__param_count(&p[i]), tol);
    }
    assert_int_equal(compared, count_named(&r->t.f, prefix)); /* all that seeds depend on */
}

static void first_step_equals_pytorch(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        run_open(&r, cases[c], 2);
        run_step(&r, 0);
        const struct og_tensor *logits = fixture_tensor(&r.t.f, "logits");
        assert_near(&r, "logits", og__model_logits(r.model), logits->data, logits->bytes / 4, 2e-6);
        assert_params_near(&r, "grad.", true, 2e-6);
        run_close(&r);
    }
}

/* Evaluation takes less memory: nothing is kept for the way back. */
static void forward_alone_equals_pytorch(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        struct og_err err = {0};
        run_open(&r, cases[c], 2);
        const struct og_tensor *logits = og__tensors_find(&r.t.f.t, "forward");
        if (!logits) /* without batch norm they are those of training */
            logits = fixture_tensor(&r.t.f, "logits");
        if (og__model_forward(r.model, &r.t.f.batch[0], r.t.x[0], NULL, NULL, NULL, &err) < 0)
            fail_msg("%s", err.message);
        assert_near(&r, "logits", og__model_logits(r.model), logits->data, logits->bytes / 4, 2e-6);
        run_close(&r);
    }
}

static void losses_equal_pytorch_over_28_adam_steps(void **state)
{
    (void)state;
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r;
        double worst = 0;
        run_open(&r, cases[c], 2);
        const struct og_tensor *losses = fixture_tensor(&r.t.f, "losses");
        assert_int_equal(losses->shape[0], 28);
        for (uint32_t s = 0; s < (uint32_t)losses->shape[0]; s++) {
            double want;
            memcpy(&want, (const char *)losses->data + s * sizeof(want), sizeof(want));
            worst = fmax(worst, fabs(run_step(&r, s) / want - 1));
        }
        if (!(worst <= 1e-5))
            fail_msg("%s: losses differ by %.3g", cases[c], worst);
        assert_params_near(&r, "final.", false, 1e-4);
        print_message("%-20s losses within %.1e\n", cases[c], worst);
        run_close(&r);
    }
}

/* The same key drops the same elements, of features too. */
static double loss_at(void *arg)
{
    const struct run *r = arg;
    const struct og_step key = {.seed = 1, .epoch = 1};
    struct og_metrics got;
    assert_int_equal(og__model_gradients(r->model, &r->t.f.batch[0], r->t.x[0], NULL,
                                         r->t.f.labels[0], &key, &got, NULL),
                     0);
    return og__metrics_loss(&got);
}

static void gradients_are_slopes_of_the_loss(void **state)
{
    (void)state;
    static const char *const of[] = {"typed_rgcn2_widths", "typed_rgcn2_widths_link",
                                     "typed_rgcn2_widths_few", "typed_pinsage2", "typed_pinsage3"};
    for (size_t c = 0; c < OG_COUNT(of); c++) {
        struct run r;
        size_t n;
        run_open_dropping(&r, of[c], 1, 0.3);
        struct og_param *p = og__model_params(r.model, &n);
        struct slopes s = {.value = loss_at, .arg = &r, .step = 1e-3f, .tolerance = 1e-2};
        for (size_t i = 0; i < n; i++) {
            const size_t count = p[i].grad ? og__param_count(&p[i]) : 0;
            float *grad = malloc(count * sizeof(*grad));
            loss_at(&r);
            if (count > 0)
                memcpy(grad, p[i].grad, count * sizeof(*grad));
            check_slopes(&s, p[i].name, p[i].value, grad, count, 11);
            free(grad);
        }
        assert_mostly_judged(&s);
        run_close(&r);
    }
}

/* Products come first also where they are wider, if sources are few. */
static void both_orders_are_covered(void **state)
{
    (void)state;
    int seen[2][2] = {{0}}; /* wider products, transform first */
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct typed t;
        typed_open(&t, cases[c]);
        struct og_type_counts n;
        if (og__conv_of(&t.f.config)->joins) { /* which has one */
            typed_close(&t);
            continue;
        }
        const uint32_t hop = (uint32_t)t.f.config.layers - 1;
        assert_int_equal(og__type_counts_init(&n, &t.types, hop + 1, NULL), 0);
        og__count_types(&t.types, &t.f.batch[0], NULL, &n);
        for (uint32_t r = 0; r < t.types.n_relations; r++) {
            const struct og_graph_relation *of = &t.relation[r];
            const struct og_block b = {.n_dst = (uint32_t)og__nodes_of(&n, hop, of->destination),
                                       .n_src = (uint32_t)og__nodes_of(&n, hop + 1, of->source),
                                       .n_edges = og__edges_of(&n, hop, r)};
            const int in = t.type[of->source].dim;
            if (in > 0 && b.n_dst > 0)
                seen[t.f.config.hidden > in][og__transform_first(&b, in, t.f.config.hidden)]++;
        }
        og__type_counts_release(&n);
        typed_close(&t);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i / 2][i % 2] > 0);
}

/* Hidden layers from one type to another (1) and within one (0): products first, and inputs. */
static void both_orders_of_attention_are_covered(void **state)
{
    (void)state;
    int seen[2][2] = {{0}};
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct typed t;
        struct og_type_counts n;
        typed_open(&t, cases[c]);
        const uint32_t layers = (uint32_t)t.f.config.layers;
        assert_int_equal(og__type_counts_init(&n, &t.types, layers, NULL), 0);
        og__count_types(&t.types, &t.f.batch[0], NULL, &n);
        for (uint32_t i = 0; i < (layers - 1) * t.types.n_relations; i++) {
            const uint32_t l = i / t.types.n_relations, r = i % t.types.n_relations;
            const uint32_t hop = layers - 1 - l;
            const struct og_graph_relation *of = &t.relation[r];
            struct og_model_config part = t.f.config;
            const struct og_block b = {.n_dst = (uint32_t)og__nodes_of(&n, hop, of->destination),
                                       .n_src = (uint32_t)og__nodes_of(&n, hop + 1, of->source),
                                       .n_edges = og__edges_of(&n, hop, r)};
            part.in_dim = t.type[of->source].dim;
            if (part.kind == OG_MODEL_GAT && part.in_dim > 0 && b.n_dst > 0)
                seen[of->source != of->destination][og__attend_first(&part, (int)l, &b)]++;
        }
        og__type_counts_release(&n);
        typed_close(&t);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i / 2][i % 2] > 0);
}

/* With one basis and with more: a product a list, and coefficients along the edges first. */
static void both_orders_of_bases_are_covered(void **state)
{
    (void)state;
    int seen[2][2] = {{0}};
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct typed t;
        typed_open(&t, cases[c]);
        const struct og_model_config *config = &t.f.config;
        for (int l = 0; config->bases > 0 && l < config->layers; l++)
            seen[config->bases > 1]
                [og__blends(config, l, &t.f.batch[0].hop[config->layers - 1 - l])]++;
        typed_close(&t);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i / 2][i % 2] > 0);
}

/* ---- memory ---- */

/* Creating and running one takes the predicted bytes, and next to nothing less. */
static void memory_is_what_was_told(void **state)
{
    (void)state;
    if (og__ops_cpu.room_bytes(1) > 0) /* of a device: test_device_models.c */
        skip();
    for (size_t c = 0; c < OG_COUNT(cases); c++) {
        struct run r = {0};
        struct og_err err = {0};
        struct og_type_counts most;
        typed_open(&r.t, cases[c]);
        const struct og_model_config *config = &r.t.f.config;
        const struct og_batch_caps caps = typed_caps(&r.t, &most);
        const size_t told = og__model_bytes(&og__ops_cpu, config, OG_OPTIMIZER_ADAM) +
                            og__model_workspace_bytes(&og__ops_cpu, config, &caps, true, 2);
        struct og_budget *budget = og__budget_new(told);
        assert_int_equal(og__pool_open(&r.pool, 2, NULL), 0);
        if (og__model_create(&r.model, &og__ops_cpu, config, OG_OPTIMIZER_ADAM, 1, r.pool, budget,
                             &err) < 0 ||
            og__model_reserve(r.model, &caps, true, &err) < 0)
            fail_msg("%s: %s", cases[c], err.message);
        run_step(&r, 0);
        const size_t used = og__budget_used(budget);
        assert_true(used > told * 9 / 10);
        for (uint32_t step = 1; step < r.t.f.n_batches; step++)
            run_step(&r, step);
        assert_int_equal(og__budget_used(budget), used);
        og__type_counts_release(&most);
        run_close(&r);
        og__budget_free(budget);
    }
}

/* ---- bits ---- */

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return h;
}

static uint64_t hash_params(uint64_t h, struct og_model *m)
{
    size_t n;
    const struct og_param *p = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++)
        h = hash(h, p[i].value, og__param_count(&p[i]) * sizeof(float));
    return h;
}

static uint64_t bits_after(const char *name, int threads, double dropout)
{
    struct run r;
    run_open_dropping(&r, name, threads, dropout);
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t s = 0; s < 6; s++) {
        double loss = run_step(&r, s);
        h = hash(h, &loss, sizeof(loss));
    }
    h = hash_params(h, r.model);
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

/* The lists of an untyped block as those of one relation. */
static void relate(struct og_block *b)
{
    uint32_t *indptr = malloc((b->n_dst + (size_t)1) * sizeof(*indptr));
    b->n_relations = 1;
    b->relation = calloc(2, sizeof(*b->relation));
    b->dst = malloc(((size_t)b->n_dst + 1) * sizeof(*b->dst));
    for (uint32_t v = 0; v < b->n_dst; v++) {
        if (b->indptr[v] == b->indptr[v + 1])
            continue;
        indptr[b->n_lists] = b->indptr[v];
        b->dst[b->n_lists++] = v;
    }
    indptr[b->n_lists] = (uint32_t)b->n_edges;
    b->relation[1] = b->n_lists;
    b->indptr = indptr;
}

static uint64_t bits_of_untyped(const char *name, const struct og_graph_types *types)
{
    struct fixture f;
    struct og_pool *pool;
    struct og_model *m;
    struct og_err err = {0};
    uint64_t h = 0xcbf29ce484222325u;
    fixture_open(&f, name);
    f.config.types = types;
    f.config.dropout = 0.4;
    f.config.input_dropout = 0.2;
    f.config.attention_dropout = 0.3;
    assert_int_equal(og__pool_open(&pool, 2, NULL), 0);
    if (og__model_create(&m, &og__ops_cpu, &f.config, OG_OPTIMIZER_ADAM, 3, pool, NULL, &err) < 0)
        fail_msg("%s", err.message);
    for (uint32_t s = 0; s < 6; s++) {
        const uint32_t b = s % f.n_batches;
        struct og_batch batch = f.batch[b];
        const struct og_rows x = fixture_rows(&f, &batch);
        const struct og_step key = {.seed = 1, .epoch = 1, .batch = s};
        const struct og_pace pace = og__usual_pace(f.lr, f.weight_decay);
        struct og_metrics got;
        for (uint32_t hop = 0; types && hop < batch.n_hops; hop++)
            relate(&batch.hop[hop]);
        if (og__model_gradients(m, &batch, &x, NULL, f.labels[b], &key, &got, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(og__model_update(m, &pace, 1, s + 1, NULL), 0);
        h = hash(h, &got.loss_sum, sizeof(got.loss_sum));
        for (uint32_t hop = 0; types && hop < batch.n_hops; hop++) {
            free(batch.hop[hop].indptr);
            free(batch.hop[hop].relation);
            free(batch.hop[hop].dst);
        }
    }
    h = hash_params(h, m);
    og__model_free(m);
    og__pool_close(pool);
    fixture_close(&f);
    return h;
}

static void one_type_and_one_relation_is_the_untyped_model(void **state)
{
    (void)state;
    static const char *const untyped[] = {"sage2",
                                          "sage3",
                                          "sage2_wide",
                                          "sage2_multi",
                                          "sage_max2",
                                          "gin2_wide",
                                          "sage3_layer",
                                          "sage_wide_residual",
                                          "gin3_batch",
                                          "gat2",
                                          "gat2_narrow",
                                          "gat3",
                                          "gat3_single",
                                          "gcn2",
                                          "gcn3",
                                          "gcn2_wide",
                                          "gcn3_batch",
                                          "link_dot",
                                          "link_mlp_margin",
                                          "pinsage2",
                                          "pinsage3",
                                          "gatv2_2",
                                          "gatv2_3",
                                          "gatv2_3_single",
                                          "link_gatv2"};
    for (size_t c = 0; c < OG_COUNT(untyped); c++) {
        struct fixture f;
        fixture_open(&f, untyped[c]);
        struct og_graph_type type = {
            .name = "node", .end = UINT32_MAX, .dim = f.config.in_dim, .target = true};
        struct og_graph_relation relation = {.name = "edge"};
        const struct og_graph_types types = {.n_types = 1,
                                             .n_relations = 1,
                                             .by_relation = true,
                                             .type = &type,
                                             .relation = &relation};
        fixture_close(&f);
        assert_int_equal(bits_of_untyped(untyped[c], &types), bits_of_untyped(untyped[c], NULL));
    }
}

/* Where a draw is made: the seed that it has, and its layer, of which there are 256. */
struct place {
    uint64_t seed;
    uint32_t layer;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->seed != y->seed)
        return x->seed < y->seed ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

static void hundreds_of_relations_share_no_draws(void **state)
{
    (void)state;
    enum { RELATIONS = 300, KEYS = OG__INPUT_KEY + 1 };
    static struct place place[RELATIONS * KEYS];
    const struct og_step step = {.seed = 1};
    for (uint32_t i = 0; i < RELATIONS * KEYS; i++) {
        const uint32_t key = i / KEYS * OG__KEYS + i % KEYS;
        const struct og_dropout dropout = og__dropout_of(0.5, &step, key);
        assert_true(dropout.layer < 256);
        place[i] = (struct place){dropout.step.seed, dropout.layer};
    }
    qsort(place, OG_COUNT(place), sizeof(*place), by_place);
    for (size_t i = 1; i < OG_COUNT(place); i++)
        assert_int_not_equal(by_place(&place[i - 1], &place[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_step_equals_pytorch),
        cmocka_unit_test(forward_alone_equals_pytorch),
        cmocka_unit_test(losses_equal_pytorch_over_28_adam_steps),
        cmocka_unit_test(gradients_are_slopes_of_the_loss),
        cmocka_unit_test(both_orders_are_covered),
        cmocka_unit_test(both_orders_of_attention_are_covered),
        cmocka_unit_test(both_orders_of_bases_are_covered),
        cmocka_unit_test(memory_is_what_was_told),
        cmocka_unit_test(hundreds_of_relations_share_no_draws),
        cmocka_unit_test(same_bits_for_any_number_of_threads),
        cmocka_unit_test(one_type_and_one_relation_is_the_untyped_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
