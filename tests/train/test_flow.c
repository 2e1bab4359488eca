/* The flow without features: order, the same batches from any number of samplers, and how it ends.
 */
#include "support/testing.h"

#include "flow/source.h"
#include "support/runs.h"

#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

enum { N = 2000, DEGREE = 9, BATCH = 32, WORKS = 8, MOST_SAMPLERS = 5 };

struct fixture {
    int64_t indptr[N + 1];
    int32_t indices[N * DEGREE];
    uint32_t split[OG__SPLITS][700];
    struct og_topology topology;
    struct og_schedule schedule;
    struct og_seed_source seeds;
    struct og_sampler *samplers[MOST_SAMPLERS];
    struct og_work works[WORKS];
    struct og_sampled_source sampled;
    struct og_flow flow;
};

static void use_samplers(struct fixture *f, int n)
{
    f->sampled.n_samplers = n;
    f->flow.batches = og__source_sampled(&f->sampled);
}

static struct og_items items_of(const struct fixture *f, enum og__split pass, uint64_t first,
                                uint64_t last)
{
    return (struct og_items){&f->schedule, pass, first, last};
}

static int run(struct fixture *f, struct og_items items, og_consumer *consumer, void *arg,
               struct og_err *err)
{
    f->flow.items = items;
    return og__flow_run(&f->flow, consumer, arg, err);
}

static int open_fixture(void **state)
{
    static const int fanout[2] = {4, 3};
    struct fixture *f = calloc(1, sizeof(*f));
    for (int v = 0; v < N; v++) {
        f->indptr[v + 1] = f->indptr[v] + DEGREE;
        for (int i = 0; i < DEGREE; i++)
            f->indices[v * DEGREE + i] = (v * 17 + i * 131) % N;
    }
    f->topology = (struct og_topology){
        .n_nodes = N, .n_edges = N * DEGREE, .indptr = f->indptr, .indices32 = f->indices};
    for (uint32_t s = 0; s < OG__SPLITS; s++)
        for (uint32_t i = 0; i < 700; i++)
            f->split[s][i] = (i * 2 + s) % N;
    f->schedule = (struct og_schedule){.n_seeds = {700, 90, 33},
                                       .batch_size = BATCH,
                                       .epochs = 3,
                                       .eval_every = 1,
                                       .seed = 4,
                                       .shuffle = true};
    for (int i = 0; i < MOST_SAMPLERS; i++)
        assert_int_equal(og__sampler_open(&f->samplers[i], &f->topology, fanout, 2, 4, NULL, NULL),
                         0);
    f->seeds = (struct og_seed_source){.schedule = &f->schedule,
                                       .split = {f->split[0], f->split[1], f->split[2]}};
    for (int i = 0; i < WORKS; i++) {
        og__batch_init(&f->works[i].sampled, NULL);
        og__plan_init(&f->works[i].plan, NULL);
        assert_int_equal(og__seeds_open(&f->works[i].seeds, &f->seeds, NULL, NULL), 0);
    }
    f->sampled = (struct og_sampled_source){.samplers = f->samplers, .n_hops = 2};
    f->flow = (struct og_flow){.seeds = &f->seeds, .works = f->works, .n_works = WORKS};
    use_samplers(f, 1);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < MOST_SAMPLERS; i++)
        og__sampler_close(f->samplers[i]);
    for (int i = 0; i < WORKS; i++) {
        og__batch_release(&f->works[i].sampled);
        og__seeds_close(&f->works[i].seeds);
    }
    free(f);
    return 0;
}

struct seen {
    const struct og_schedule *schedule;
    bool pass;
    uint64_t next, fail_at;
    int fail_with; /* 0 = -EDOM */
    XXH64_hash_t hash;
    volatile sig_atomic_t *stop;
    uint64_t stop_at;
};

static int look(void *arg, struct og_work *w, struct og_err *err)
{
    struct seen *s = arg;
    struct og_descriptor t = s->pass ? og__schedule_pass(s->schedule, w->descriptor.split, s->next)
                                     : og__schedule_at(s->schedule, s->next);
    assert_int_equal(w->descriptor.split, t.split);
    assert_int_equal(w->descriptor.epoch, t.epoch);
    assert_int_equal(w->descriptor.batch, t.batch);
    const struct og_batch *b = &w->sampled.batch;
    assert_int_equal(b->n_seeds, t.n_seeds);
    s->hash = XXH64(b->ids, b->n_ids * sizeof(*b->ids), s->hash);
    s->hash = XXH64(b->hop[1].src, b->hop[1].n_edges * sizeof(*b->hop[1].src), s->hash);
    if (s->next == s->fail_at)
        return og__fail(err, s->fail_with ? s->fail_with : -EDOM, "a hint", "the sink fails");
    if (s->stop && s->next == s->stop_at)
        test_ask_stop(s->stop);
    s->next++;
    return 0;
}

static void batches_come_in_order_and_the_same_from_any_sampler(void **state)
{
    struct fixture *f = *state;
    XXH64_hash_t first = 0;
    uint64_t items = og__schedule_items(&f->schedule);
    for (int samplers = 1; samplers <= MOST_SAMPLERS; samplers++) {
        struct seen seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX};
        use_samplers(f, samplers);
        assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, items), look, &seen, NULL), 0);
        assert_int_equal(seen.next, items);
        if (samplers == 1)
            first = seen.hash;
        assert_int_equal(seen.hash, first);
    }
}

static void a_run_may_start_anywhere(void **state)
{
    struct fixture *f = *state;
    struct seen seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX, .next = 17};
    use_samplers(f, 2);
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 17, 40), look, &seen, NULL), 0);
    assert_int_equal(seen.next, 40);
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 40, 40), look, &seen, NULL), 0);
    assert_int_equal(seen.next, 40);
}

static void a_pass_visits_one_split(void **state)
{
    struct fixture *f = *state;
    struct seen seen = {.schedule = &f->schedule, .pass = true, .fail_at = UINT64_MAX};
    use_samplers(f, 3);
    uint64_t batches = og__schedule_batches(&f->schedule, OG__TEST);
    assert_int_equal(run(f, items_of(f, OG__TEST, 0, batches), look, &seen, NULL), 0);
    assert_int_equal(seen.next, 2);
}

static void the_first_error_ends_it(void **state)
{
    struct fixture *f = *state;
    for (uint64_t at = 0; at < 30; at += 3) {
        struct seen seen = {.schedule = &f->schedule, .fail_at = at};
        struct og_err err = {0};
        use_samplers(f, 1 + (int)(at % MOST_SAMPLERS));
        assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, 60), look, &seen, &err), -EDOM);
        assert_string_equal(err.message, "the sink fails");
        assert_string_equal(err.hint, "a hint");
        assert_int_equal(seen.next, at);
    }
}

/* What a disk or a file system may say too. */
static void a_cancelled_read_is_a_failure(void **state)
{
    struct fixture *f = *state;
    struct seen seen = {.schedule = &f->schedule, .fail_at = 7, .fail_with = -ECANCELED};
    struct og_err err = {0};
    use_samplers(f, 2);
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, 60), look, &seen, &err), -ECANCELED);
    assert_string_equal(err.message, "the sink fails");
}

/* An error inside a stage: the last training seed is no node of the graph. */
static void a_stage_that_fails_ends_it(void **state)
{
    struct fixture *f = *state;
    f->split[OG__TRAIN][699] = N + 1;
    struct seen seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX};
    struct og_err err = {0};
    use_samplers(f, 3);
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, 60), look, &seen, &err), -EINVAL);
    assert_non_null(strstr(err.message, "node 2001"));
}

static void a_stop_ends_at_the_next_batch(void **state)
{
    struct fixture *f = *state;
    volatile sig_atomic_t stop = 0;
    struct seen seen = {
        .schedule = &f->schedule, .fail_at = UINT64_MAX, .stop = &stop, .stop_at = 11};
    use_samplers(f, 2);
    f->flow.stop = &stop;
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, 60), look, &seen, NULL), OG_INTERRUPTED);
    assert_int_equal(seen.next, 12);
}

/* As many works as there may be. */
static void the_most_works_circulate(void **state)
{
    struct fixture *f = *state;
    struct og_work *works = calloc(OG__MOST_WORKS, sizeof(*works));
    for (int i = 0; i < OG__MOST_WORKS; i++) {
        og__batch_init(&works[i].sampled, NULL);
        og__plan_init(&works[i].plan, NULL);
        assert_int_equal(og__seeds_open(&works[i].seeds, &f->seeds, NULL, NULL), 0);
    }
    f->flow.works = works;
    f->flow.n_works = OG__MOST_WORKS;
    alarm(60); /* works that went astray are waited for */
    batches_come_in_order_and_the_same_from_any_sampler(state);
    alarm(0);
    for (int i = 0; i < OG__MOST_WORKS; i++) {
        og__batch_release(&works[i].sampled);
        og__seeds_close(&works[i].seeds);
    }
    free(works);
}

static int keep(void *arg, struct og_work *w, struct og_err *err)
{
    return og__superbatch_append(arg, &w->sampled.batch, err);
}

/* Batches that are replayed are those of the schedule, or the run ends. Those of the schedule are
 * what they are compared with. */
static void replayed_batches_have_their_seeds(void **state)
{
    enum { ITEMS = 30 };
    struct fixture *f = *state;
    struct og_sampled_lookahead lookahead[ITEMS] = {0};
    const struct og_superbatch_options opt = {
        .scratch = OG__ONE_PLACE("/tmp"), .memory = 64 * OG_MIB, .n_hops = 2, .n_nodes = N};
    struct og_superbatch *batches;
    assert_int_equal(og__superbatch_open(&batches, &opt, NULL, NULL), 0);
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, ITEMS), keep, batches, NULL), 0);
    assert_int_equal(og__superbatch_finish(batches, NULL), 0);
    struct og_replayed_source replayed = {
        .batches = batches, .lookahead = lookahead, .items = items_of(f, OG__SPLITS, 0, ITEMS)};
    f->flow.batches = og__source_replayed(&replayed);
    for (int other = 0; other < 2; other++) {
        struct seen seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX};
        struct og_err err = {0};
        f->schedule.seed += (uint64_t)other;
        int rc = run(f, items_of(f, OG__SPLITS, 0, ITEMS), look, &seen, &err);
        assert_int_equal(rc, other ? -EIO : 0);
        assert_int_equal(seen.next, other ? 0 : ITEMS);
        assert_true(!other || strstr(err.message, "batch 0"));
    }
    og__superbatch_close(batches);
}

/* A consumer that looks two batches ahead, where there are so many. They are those that it is
 * called with later, and what it saw of them stays. */
struct looking {
    struct seen seen;
    struct og_upcoming upcoming;
    struct og_work *lookahead[3];
    uint32_t n_ids[3];
    uint64_t seen_until, last;
};

static int look_on(void *arg, struct og_work *w, struct og_err *err)
{
    struct looking *l = arg;
    if (l->seen_until > w->item) {
        assert_ptr_equal(l->lookahead[w->item % 3], w);
        assert_int_equal(l->n_ids[w->item % 3], w->sampled.batch.n_ids);
    }
    while (l->seen_until < OG_MIN(w->item + 3, l->last)) {
        struct og_work *next;
        assert_int_equal(og__upcoming_next(&l->upcoming, &next), 0);
        assert_int_equal(next->item, l->seen_until);
        l->lookahead[l->seen_until % 3] = next;
        l->n_ids[l->seen_until++ % 3] = next->sampled.batch.n_ids;
    }
    return look(&l->seen, w, err);
}

static void a_consumer_may_look_ahead(void **state)
{
    struct fixture *f = *state;
    alarm(60); /* works that went astray are waited for */
    for (int samplers = 1; samplers <= MOST_SAMPLERS; samplers++) {
        struct looking l = {.seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX}, .last = 50};
        struct og_work *none;
        use_samplers(f, samplers);
        f->flow.n_works = samplers + 3;
        f->flow.upcoming = &l.upcoming;
        assert_int_equal(og__upcoming_next(&l.upcoming, &none), OG__GIVEN_UP);
        assert_int_equal(run(f, items_of(f, OG__SPLITS, 0, 50), look_on, &l, NULL), 0);
        assert_int_equal(l.seen.next, 50);
        assert_null(l.upcoming.run);
    }
    alarm(0);
}

/* A source of its own: no graph, no sampler. */
struct numbers {
    int of_thread[3]; /* batches that it made */
};

static int make_number(void *self, int thread, struct og_work *w, struct og_err *err)
{
    struct numbers *n = self;
    (void)err;
    n->of_thread[thread]++;
    w->sampled.batch.n_ids = (uint32_t)(w->item * 3);
    return 0;
}

static int count_up(void *arg, struct og_work *w, struct og_err *err)
{
    uint64_t *next = arg;
    (void)err;
    assert_int_equal(w->item, *next);
    assert_int_equal(w->sampled.batch.n_ids, *next * 3);
    assert_int_equal(w->plan.n, 0); /* nothing planned it */
    ++*next;
    return 0;
}

static void stages_take_batches_of_any_source(void **state)
{
    struct fixture *f = *state;
    struct numbers numbers = {0};
    uint64_t next = 5;
    f->flow.batches = (struct og_batch_source){&numbers, 3, "count", make_number};
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 5, 60), count_up, &next, NULL), 0);
    assert_int_equal(next, 60);
    assert_int_equal(numbers.of_thread[0] + numbers.of_thread[1] + numbers.of_thread[2], 55);
}

static int fail_to_plan(void *self, struct og_work *w, struct og_err *err)
{
    const uint64_t *at = self;
    return w->item < *at ? 0 : og__fail(err, -EDOM, NULL, "no plan for %u", w->number);
}

/* Plans are made in the order of batches, and the consumer sees none whose plan failed. */
static void a_plan_that_fails_ends_it(void **state)
{
    struct fixture *f = *state;
    uint64_t at = 20;
    struct seen seen = {.schedule = &f->schedule, .fail_at = UINT64_MAX, .next = 20};
    struct og_err err = {0};
    use_samplers(f, 3);
    f->flow.plans = (struct og_plan_source){&at, fail_to_plan};
    assert_int_equal(run(f, items_of(f, OG__SPLITS, 20, 60), look, &seen, &err), -EDOM);
    assert_string_equal(err.message, "no plan for 0");
    assert_int_equal(seen.next, 20);
}

int main(void)
{
#define FLOW_TEST(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        FLOW_TEST(batches_come_in_order_and_the_same_from_any_sampler),
        FLOW_TEST(a_run_may_start_anywhere),
        FLOW_TEST(a_pass_visits_one_split),
        FLOW_TEST(a_consumer_may_look_ahead),
        FLOW_TEST(the_first_error_ends_it),
        FLOW_TEST(a_cancelled_read_is_a_failure),
        FLOW_TEST(a_stage_that_fails_ends_it),
        FLOW_TEST(a_stop_ends_at_the_next_batch),
        FLOW_TEST(the_most_works_circulate),
        FLOW_TEST(replayed_batches_have_their_seeds),
        FLOW_TEST(stages_take_batches_of_any_source),
        FLOW_TEST(a_plan_that_fails_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
