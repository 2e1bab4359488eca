/* The event model of executors against a simulation that goes tick by tick, and against a fluid
 * model. Also with the times of FGNN (Yang et al. 2022), Table 5. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/small_graph.h"

#include "base/random.h"
#include "plan/executors.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* ---- tick by tick ----
 *
 * Whole ticks, one state an executor and one a batch, everything looked up again at every tick. */

enum { MOST_BATCHES = 40, NOWHERE = -1 };
enum batch { LEFT, WITH_SAMPLER, QUEUED, WITH_TRAINER, DONE };

struct ticking {
    const struct og_executors *g;
    enum batch batch[MOST_BATCHES];
    int has[OG__MOST_EXECUTORS]; /* batch, or NOWHERE */
    int left[OG__MOST_EXECUTORS];
    int switched;
};

static int first_not(const struct ticking *t, enum batch below)
{
    int i = 0;
    while (i < (int)t->g->n_batches && t->batch[i] > below)
        i++;
    return i;
}

static int first_in(const struct ticking *t, enum batch state)
{
    for (int i = 0; i < (int)t->g->n_batches; i++)
        if (t->batch[i] == state)
            return i;
    return NOWHERE;
}

static bool window_has_room(const struct ticking *t, int batch)
{
    const int size = (int)t->g->accumulate;
    if (size == 0)
        return true;
    for (int i = 0; i < (int)t->g->n_batches; i++) /* of steps that it must see */
        if (i / size + (int)t->g->staleness < batch / size && t->batch[i] != DONE)
            return false;
    return true;
}

/* The next batch to train: the first that no trainer has. It and all before it must be sampled. */
static int to_train(const struct ticking *t)
{
    const int i = first_not(t, QUEUED);
    return i < (int)t->g->n_batches && t->batch[i] == QUEUED && window_has_room(t, i) ? i : NOWHERE;
}

static int to_sample(const struct ticking *t)
{
    const int i = first_in(t, LEFT);
    int there = 0;
    for (int k = 0; k < (int)t->g->n_batches; k++)
        there += t->batch[k] == QUEUED || t->batch[k] == WITH_SAMPLER;
    return t->g->queue == 0 || there < (int)t->g->queue ? i : NOWHERE;
}

static bool pays(const struct ticking *t, int i)
{
    double all = 0;
    int n = 0;
    int waiting = 0;
    for (int k = 0; k < t->g->n; k++)
        if (!t->g->executor[k].samples) {
            all += t->g->executor[k].train;
            n++;
        }
    for (int k = first_not(t, QUEUED); k < (int)t->g->n_batches && t->batch[k] == QUEUED; k++)
        waiting++;
    return n == 0 || waiting * (all / n) / n > t->g->executor[i].train;
}

static bool assign(struct ticking *t, int i)
{
    const struct og_executor *own = &t->g->executor[i];
    int k = own->samples ? to_sample(t) : NOWHERE;
    if (t->has[i] != NOWHERE)
        return false;
    if (k != NOWHERE) {
        t->batch[k] = WITH_SAMPLER;
        t->left[i] = (int)own->sample;
    } else if ((k = to_train(t)) != NOWHERE && (!own->samples || (t->g->switches && pays(t, i)))) {
        t->batch[k] = WITH_TRAINER;
        t->left[i] = (int)own->train;
        t->switched += own->samples;
    } else {
        return false;
    }
    t->has[i] = k;
    return true;
}

static void work_a_tick(struct ticking *t)
{
    for (int i = 0; i < t->g->n; i++)
        if (t->has[i] != NOWHERE && t->left[i] > 0 && --t->left[i] == 0 &&
            t->batch[t->has[i]] == WITH_SAMPLER) {
            t->batch[t->has[i]] = QUEUED;
            t->has[i] = NOWHERE;
        }
    for (bool again = true; again;) { /* what was made is taken, in order where there are steps */
        again = false;
        for (int i = 0; i < t->g->n; i++) {
            const bool made = t->has[i] != NOWHERE && t->left[i] == 0;
            if (!made || (t->g->accumulate > 0 && t->has[i] != first_not(t, WITH_TRAINER)))
                continue;
            t->batch[t->has[i]] = DONE;
            t->has[i] = NOWHERE;
            again = true;
        }
    }
}

static int count_ticks(const struct og_executors *g, int *switched)
{
    struct ticking t = {.g = g};
    int ticks = 0;
    for (int i = 0; i < g->n; i++)
        t.has[i] = NOWHERE;
    for (; first_not(&t, WITH_TRAINER) < (int)g->n_batches; ticks++) {
        assert_true(ticks < 100000);
        for (bool again = true; again;) {
            again = false;
            for (int i = 0; i < g->n; i++)
                again |= !g->executor[i].samples && assign(&t, i);
            for (int i = 0; i < g->n; i++)
                again |= g->executor[i].samples && assign(&t, i);
        }
        work_a_tick(&t);
    }
    *switched = t.switched;
    return ticks;
}

static void model_equals_ticks(void **state)
{
    (void)state;
    struct og_rng rng;
    og__rng_at(&rng, 18, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int round = 0; round < 1500; round++) {
        struct og_executor e[8] = {{0}};
        struct og_executors g = {.executor = e,
                                 .n = 1 + (int)og__rng_below(&rng, 8),
                                 .n_batches = 1 + og__rng_below(&rng, MOST_BATCHES),
                                 .queue = og__rng_below(&rng, 6),
                                 .accumulate = og__rng_below(&rng, 4),
                                 .staleness = og__rng_below(&rng, 3)};
        bool trains = false;
        for (int i = 0; i < g.n; i++) {
            e[i].samples = i == 0 || og__rng_below(&rng, 2);
            e[i].sample = 1 + (int)og__rng_below(&rng, 9);
            e[i].train = 1 + (int)og__rng_below(&rng, 20);
            trains |= !e[i].samples;
        }
        g.switches = !trains || og__rng_below(&rng, 2);
        struct og_executed out;
        int switched;
        uint64_t sampled = 0;
        uint64_t trained = 0;
        og__executors_run(&g, &out);
        assert_int_equal((int)lround(out.seconds), count_ticks(&g, &switched));
        assert_int_equal(out.switched, switched);
        for (int i = 0; i < g.n; i++) {
            sampled += out.sampled[i];
            trained += out.trained[i];
            assert_true(out.busy[i] <= out.seconds);
            assert_true(fabs((double)out.sampled[i] * e[i].sample +
                             (double)out.trained[i] * e[i].train - out.busy[i]) < 1e-9);
        }
        assert_int_equal(sampled, g.n_batches);
        assert_int_equal(trained, g.n_batches);
    }
}

/* Nobody trains, and nobody may switch. */
static void an_epoch_that_never_ends_says_so(void **state)
{
    (void)state;
    const struct og_executor one = {true, 1, 2};
    struct og_executors g = {.executor = &one, .n = 1, .n_batches = 5};
    struct og_executed out;
    og__executors_run(&g, &out);
    assert_true(out.seconds == HUGE_VAL);
    g.switches = true; /* one executor: all are sampled, then all are trained */
    og__executors_run(&g, &out);
    assert_true(out.seconds == 5 * (1 + 2));
    assert_int_equal(out.switched, 5);
}

/* ---- executors alike ---- */

/* Seconds of an epoch in FGNN: all mini-batches may wait in the queue, nobody for a step. */
static double epoch_of(uint64_t n_batches, int samplers, int trainers, double sample, double train,
                       bool switches)
{
    struct og_executor e[16];
    const struct og_executors g = {
        .executor = e, .n = samplers + trainers, .switches = switches, .n_batches = n_batches};
    struct og_executed out;
    for (int i = 0; i < g.n; i++)
        e[i] = (struct og_executor){i < samplers, sample, train};
    og__executors_run(&g, &out);
    return out.seconds;
}

/* Table 5, seconds an epoch: sampling, extracting and training. */
static const struct fgnn {
    double sample, train;
} fgnn[] = {{.39, .19 + 1.18}, {.37, .80 + 1.50}, {.96, .61 + 3.81}, {.56, 3.08 + 3.12},
            {.20, .10 + .24},  {.16, .44 + .42},  {.46, .34 + 1.12}, {.27, 1.44 + 1.02},
            {.20, .10 + 1.72}, {.28, .55 + 2.54}, {.61, .41 + 5.97}, {.65, 3.39 + 6.99}};

/* The model is never faster than the fluid one, and slower only by what whole mini-batches cost.
 * The first is sampled before any is trained, and the last ones do not end together. */
static void model_is_near_the_fluid_one(void **state)
{
    (void)state;
    const uint64_t n = 1000;
    for (size_t k = 0; k < OG_COUNT(fgnn); k++)
        for (int all = 1; all <= 8; all++)
            for (int samplers = 1; samplers <= all; samplers++)
                for (int switches = samplers == all; switches <= 1; switches++) {
                    const double s = fgnn[k].sample / (double)n;
                    const double t = fgnn[k].train / (double)n;
                    const double is = epoch_of(n, samplers, all - samplers, s, t, switches);
                    const double want =
                        og__executors_fluid(n, samplers, all - samplers, s, t, t, switches);
                    assert_true(is > want - 1e-9);
                    assert_true(is < want + 2 * s + 3 * t);
                }
}

/* "1.5 s for 2S3T vs. 2.1 s for 3S2T". With one sampler nothing gets better from five trainers
 * on. */
static void figure_14(void **state)
{
    (void)state;
    const uint64_t n = 151; /* 1.2 M nodes in batches of 8000 */
    const double s = .96 / (double)n;
    const double t = 4.42 / (double)n;
    assert_true(fabs(epoch_of(n, 2, 3, s, t, false) - 1.5) < .08);
    assert_true(fabs(epoch_of(n, 3, 2, s, t, false) - 2.1) < .16);
    assert_true(epoch_of(n, 1, 4, s, t, false) > epoch_of(n, 1, 5, s, t, false) + .1);
    assert_true(fabs(epoch_of(n, 1, 5, s, t, false) - epoch_of(n, 1, 7, s, t, false)) < .02);
    assert_int_equal(og__executors_samplers(8, s, t), 2); /* Table 4 */
}

/* Switching of PinSAGE on PA, one sampler: much with few trainers, nearly nothing with seven. */
static void figure_16(void **state)
{
    (void)state;
    static const double gain[] = {[1] = 1.83, [2] = 1.37, [3] = 1.22, [7] = 1.04};
    const uint64_t n = 151;
    const double s = .61 / (double)n;
    const double t = 6.38 / (double)n;
    for (size_t k = 1; k < OG_COUNT(gain); k++) {
        const double without = epoch_of(n, 1, (int)k, s, t, false);
        const double with = epoch_of(n, 1, (int)k, s, t, true);
        if (gain[k] > 0)
            assert_true(fabs(without / with - gain[k]) < .03);
    }
}

/* ceil(N / (K + 1)) samplers, who switch, against every other split. */
static void rule_is_near_the_best_split(void **state)
{
    (void)state;
    const uint64_t n = 300;
    double worst = 1;
    for (size_t k = 0; k < OG_COUNT(fgnn); k++)
        for (int all = 1; all <= 8; all++) {
            const double s = fgnn[k].sample / (double)n;
            const double t = fgnn[k].train / (double)n;
            const int by_rule = og__executors_samplers(all, s, t);
            double best = HUGE_VAL;
            assert_true(by_rule >= 1 && by_rule <= all);
            for (int m = 1; m <= all; m++)
                best = OG_MIN(best, epoch_of(n, m, all - m, s, t, true));
            worst = OG_MAX(worst, epoch_of(n, by_rule, all - by_rule, s, t, true) / best);
        }
    print_message("the rule's split takes at most %.3f times the best one's seconds\n", worst);
    assert_true(worst < 1.04);
}

static void rule_by_hand(void **state)
{
    (void)state;
    assert_int_equal(og__executors_samplers(2, 1, 1), 1);
    assert_int_equal(og__executors_samplers(8, 1, 3), 2);
    assert_int_equal(og__executors_samplers(8, 1, 2.9), 3);
    assert_int_equal(og__executors_samplers(8, 1, 1e9), 1);
    assert_int_equal(og__executors_samplers(8, 1, 0), 8);
    assert_int_equal(og__executors_samplers(1, 1, 5), 1);
    /* 3 x 2 / 2 = 3 seconds are left to two trainers */
    assert_true(og__executors_profit(3, 2, 2, 2.9));
    assert_false(og__executors_profit(3, 2, 2, 3));
    assert_true(og__executors_profit(1, 0, 2, 100));
    assert_false(og__executors_profit(0, 0, 2, 1));
}

/* ---- the command ---- */

static json_t *ask(const char *dataset, const struct og_executors_asked *requested,
                   const struct og_options *opt)
{
    char *text = NULL;
    struct og_err err = {0};
    if (og_simulate_executors(dataset, requested, opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(root);
    return root;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void splits_are_told_in_order(void **state)
{
    (void)state;
    struct og_options opt;
    og__options_init(&opt);
    opt.staleness = 8; /* nobody waits */
    json_t *root = ask(
        NULL,
        &(struct og_executors_asked){sizeof(struct og_executors_asked), "2:3,4", ".5,2,3", 100, 0},
        &opt);
    const json_t *list = json_object_get(root, "splits");
    static const char *const names[] = {"2:3", "1:3", "2:2", "3:1", "4:0"};
    assert_int_equal(json_array_size(list), OG_COUNT(names));
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        const json_t *row = json_array_get(list, i);
        const int m = names[i][0] - '0';
        const int n = names[i][2] - '0';
        assert_string_equal(json_string_value(json_object_get(row, "split")), names[i]);
        assert_true(json_is_true(json_object_get(row, "by_rule")) == (m == 1)); /* K = 4 */
        assert_true(fabs(number(row, "fluid_seconds") -
                         og__executors_fluid(100, m, n, .5, 2, 3, true)) < 1e-12);
        if (n > 0) /* 34 rounds of three trainers, after the first sample */
            assert_true(fabs(number(row, "seconds_without_switching") -
                             (.5 * (n > m ? n - m : 1) + 2 * ceil(100. / n))) < 2.1);
        else
            assert_true(json_is_null(json_object_get(row, "seconds_without_switching")));
    }
    json_decref(root);
    og__options_release(&opt);
}

static void times_of_a_dataset_are_measured(void **state)
{
    (void)state;
    char graph[TEST_PATH + 16];
    struct og_generate g;
    struct og_options opt;
    small_graph_init(&g);
    og__options_init(&opt);
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    assert_int_equal(og_generate(graph, &g, NULL, NULL), 0);
    assert_int_equal(og_options_set(&opt, "batch", "100", NULL), 0);
    assert_int_equal(og_options_set(&opt, "fanout", "5,5", NULL), 0);
    assert_int_equal(og_options_set(&opt, "memory", "300M", NULL), 0);
    assert_int_equal(og_options_set(&opt, "staleness", "3", NULL), 0);
    /* with trainers a session's own model has no gradients, what is timed has */
    assert_int_equal(og_options_set(&opt, "trainers", "2", NULL), 0);
    json_t *root = ask(
        graph,
        &(struct og_executors_asked){.size = sizeof(struct og_executors_asked), .splits = "1:1"},
        &opt);
    assert_int_equal((int)number(root, "tickets"), 6); /* a fifth of 3000 nodes by 100 */
    assert_true(number(root, "sample_seconds_each") > 0);
    assert_true(number(root, "train_seconds_each") > 0);
    json_decref(root);
    og__options_release(&opt);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
#define ASKED(...)                                     \
    {                                                  \
        sizeof(struct og_executors_asked), __VA_ARGS__ \
    }
    static const struct og_executors_asked wrong[] = {
        ASKED("", "1,1", 5, 0),      ASKED("0:1", "1,1", 5, 0),     ASKED("1:", "1,1", 5, 0),
        ASKED("1:2:3", "1,1", 5, 0), ASKED("-1", "1,1", 5, 0),      ASKED("1:-1", "1,1", 5, 0),
        ASKED("60:60", "1,1", 5, 0), ASKED("1:1", "1", 5, 0),       ASKED("1:1", "1,0", 5, 0),
        ASKED("1:1", "1,1,", 5, 0),  ASKED("1:1", "1,1,1,1", 5, 0), ASKED("1:1", "nan,1", 5, 0),
        ASKED("1:1", "1,1", 0, 0),   ASKED("1:1", NULL, 5, 0)};
    struct og_options opt;
    og__options_init(&opt);
    for (size_t i = 0; i < OG_COUNT(wrong); i++) {
        struct og_err err = {0};
        assert_int_equal(og_simulate_executors(NULL, &wrong[i], &opt, NULL, NULL, &err), -EINVAL);
        assert_true(err.message[0] && !strstr(err.message, "its size is"));
    }
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_equals_ticks),
        cmocka_unit_test(an_epoch_that_never_ends_says_so),
        cmocka_unit_test(model_is_near_the_fluid_one),
        cmocka_unit_test(figure_14),
        cmocka_unit_test(figure_16),
        cmocka_unit_test(rule_is_near_the_best_split),
        cmocka_unit_test(rule_by_hand),
        cmocka_unit_test(splits_are_told_in_order),
        cmocka_unit_test(times_of_a_dataset_are_measured),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
