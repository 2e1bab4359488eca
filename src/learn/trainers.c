#include "learn/trainers.h"

#include <stdlib.h>
#include <string.h>

static const struct og_trainer_kind *const kind = &og__trainer_threads;

struct trainer {
    struct og_trainers *all;
    void *self; /* of its kind */
    pthread_t thread;
    bool started;
    int rc;
    struct og_err err;
    struct og_part part;
    int device, keeper; /* its number, and which of the devices that is */
    uint64_t trained;   /* by who gives and takes */
    double seconds;
    enum { IDLE, GIVEN, MADE } state; /* guarded by all->lock */
};

struct og_trainers {
    struct og_trainers_setup setup;
    struct og_idle_hooks idle_hooks;
    uint64_t given, taken;
    int order[OG__MOST_TRAINERS]; /* who has mini-batch number i, modulo its length */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    bool ended;
    struct sampler {
        bool works; /* it has a batch, or looks for one */
        uint64_t sampled;
        double seconds;
    } sampler[OG__MOST_SAMPLERS];
    struct trainer one[OG__MOST_TRAINERS]; /* the standby trainers come last */
};

/* ---- what they take ---- */

size_t og__trainers_model_bytes(const struct og_nn_ops *ops, const struct og_workload *f,
                                const struct og_trainers_setup *s)
{
    return (size_t)og__trainers_all(s) * kind->model_bytes(ops, f);
}

size_t og__trainers_activation_bytes(const struct og_nn_ops *ops, const struct og_workload *f,
                                     const struct og_trainers_setup *s)
{
    size_t sum = 0;
    if (s->n > 0)
        sum += (size_t)s->n * kind->activation_bytes(ops, f, s->threads);
    if (s->standby > 0)
        sum += (size_t)s->standby * kind->activation_bytes(ops, f, 1);
    return sum;
}

/* ---- a trainer's thread ---- */

static void *run_trainer(void *arg)
{
    struct trainer *own = arg;
    struct og_trainers *all = own->all;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (own->state != GIVEN && !all->ended)
            pthread_cond_wait(&all->changed, &all->lock);
        if (own->state != GIVEN)
            break;
        pthread_mutex_unlock(&all->lock);
        own->rc = kind->compute(own->self, &own->part, &own->err);
        pthread_mutex_lock(&all->lock);
        own->state = MADE;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- samplers come and go ---- */

/* The standby trainer of a sampler, or NULL. */
static struct trainer *standby_of(struct og_trainers *t, int sampler)
{
    return sampler < t->setup.standby ? &t->one[t->setup.n + sampler] : NULL;
}

static void rest(void *self, int sampler)
{
    struct og_trainers *t = self;
    pthread_mutex_lock(&t->lock);
    t->sampler[sampler].works = false;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

/* One hand: it samples when what it trains is done. */
static void resume(void *self, int sampler)
{
    struct og_trainers *t = self;
    const struct trainer *one = standby_of(t, sampler);
    pthread_mutex_lock(&t->lock);
    while (one && one->state == GIVEN)
        pthread_cond_wait(&t->changed, &t->lock);
    t->sampler[sampler].works = true;
    pthread_mutex_unlock(&t->lock);
}

static void sampled(void *self, int sampler, double seconds)
{
    struct og_trainers *t = self;
    pthread_mutex_lock(&t->lock);
    t->sampler[sampler].sampled++;
    t->sampler[sampler].seconds += seconds;
    pthread_mutex_unlock(&t->lock);
}

const struct og_idle_hooks *og__trainers_idle_hooks(struct og_trainers *t)
{
    return &t->idle_hooks;
}

/* ---- who takes a mini-batch ---- */

/* Given and not taken. */
static int count_busy(const struct og_trainers *t)
{
    return (int)(t->given - t->taken);
}

static struct trainer *oldest(struct og_trainers *t)
{
    return &t->one[t->order[t->taken % OG__MOST_TRAINERS]];
}

/* Mean seconds of trainers first .. last - 1; 0: none has ended one. */
static double mean_seconds(const struct og_trainers *t, int first, int last)
{
    double sum = 0;
    uint64_t n = 0;
    for (int i = first; i < last; i++) {
        sum += t->one[i].seconds;
        n += t->one[i].trained;
    }
    return n > 0 ? sum / (double)n : 0;
}

/* A standby trainer that has not been timed yet counts as slower by the threads that it lacks. */
static bool pays(const struct og_trainers *t, int i, uint64_t remaining)
{
    const int n = t->setup.n;
    const double train = mean_seconds(t, 0, n);
    const double own = mean_seconds(t, i, i + 1);
    return og__executors_profit(remaining, n, train, own > 0 ? own : train * t->setup.threads);
}

static bool may_take(const struct trainer *one, int keeper)
{
    return one->state == IDLE && (keeper < 0 || one->keeper == keeper);
}

/* lock is held. */
static int find_free(struct og_trainers *t, uint64_t remaining, int keeper)
{
    for (int i = 0; i < t->setup.n; i++)
        if (may_take(&t->one[i], keeper))
            return i;
    for (int k = 0; k < t->setup.standby; k++) {
        const int i = t->setup.n + k;
        if (may_take(&t->one[i], keeper) && !t->sampler[k].works && pays(t, i, remaining))
            return i;
    }
    return -1;
}

int og__trainers_pick(struct og_trainers *t, uint64_t remaining, int keeper)
{
    int one;
    pthread_mutex_lock(&t->lock);
    while ((one = find_free(t, remaining, keeper)) < 0 &&
           (count_busy(t) == 0 || oldest(t)->state != MADE))
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return one;
}

static void set_state(struct trainer *one, int state)
{
    pthread_mutex_lock(&one->all->lock);
    one->state = state;
    pthread_cond_broadcast(&one->all->changed);
    pthread_mutex_unlock(&one->all->lock);
}

int og__trainers_give(struct og_trainers *t, int i, const struct og_work *w,
                      const struct og_steps *steps, int ended, struct og_pool *pool,
                      struct og_err *err)
{
    struct trainer *one = &t->one[i];
    int rc;
    OG_TRY(kind->bring(one->self, w, steps, ended, pool, err));
    one->err = (struct og_err){0};
    t->order[t->given++ % OG__MOST_TRAINERS] = i;
    set_state(one, GIVEN);
out:
    return rc;
}

int og__trainers_take(struct og_trainers *t, struct og_part *part, struct og_err *err)
{
    struct trainer *one = oldest(t);
    t->taken++;
    pthread_mutex_lock(&t->lock);
    while (one->state != MADE)
        pthread_cond_wait(&t->changed, &t->lock);
    one->state = IDLE;
    pthread_mutex_unlock(&t->lock);
    if (one->rc < 0)
        return og__fail(err, one->rc, one->err.hint, "%s", one->err.message);
    one->trained++;
    one->seconds += one->part.seconds;
    *part = one->part;
    return 0;
}

/* ---- all of them ---- */

void og__trainers_tell(struct og_trainers *t, struct og_trainers_did *out)
{
    const struct og_trainers_setup *s = &t->setup;
    *out = (struct og_trainers_did){.samplers = s->standby, .trainers = s->n};
    pthread_mutex_lock(&t->lock);
    for (int k = 0; k < OG__MOST_SAMPLERS; k++)
        if (t->sampler[k].sampled > 0)
            out->samplers = OG_MAX(out->samplers, k + 1);
    for (int k = 0; k < out->samplers; k++) {
        struct og_executor_did *did = &out->did[k];
        const struct trainer *one = standby_of(t, k);
        did->sampled = t->sampler[k].sampled;
        did->sample_seconds = t->sampler[k].seconds;
        did->device = one ? one->device : 0;
        did->trained = one ? one->trained : 0;
        did->train_seconds = one ? one->seconds : 0;
    }
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < s->n; i++)
        out->did[out->samplers + i] = (struct og_executor_did){.device = t->one[i].device,
                                                               .trained = t->one[i].trained,
                                                               .train_seconds = t->one[i].seconds};
}

static int open_trainer(struct trainer *one, const struct og_trainer_given *given,
                        struct og_err *err)
{
    OG_DO(kind->open(&one->self, given, err));
    int failed = pthread_create(&one->thread, NULL, run_trainer, one);
    if (failed)
        return og__fail_errno(err, -failed, "lower --executors", "cannot start a trainer");
    one->started = true;
    return 0;
}

int og__trainers_open(struct og_trainers **out, const struct og_learner *l,
                      const struct og_workload *f, const struct og_trainers_setup *s,
                      struct og_device_rows *rows, size_t bound, struct og_budget *b,
                      struct og_err *err)
{
    struct og_trainer_given given = {
        .learner = l, .workload = f, .rows = rows, .bound = bound, .budget = b};
    int rc = 0;
    struct og_trainers *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "trainers");
    t->setup = *s;
    t->idle_hooks = (struct og_idle_hooks){t, rest, resume, sampled};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    for (int i = 0; i < og__trainers_all(s); i++)
        t->one[i].all = t;
    for (int i = 0; i < og__trainers_all(s); i++) {
        given.threads = i < s->n ? s->threads : 1;
        given.keeper = t->one[i].keeper = i % l->devices.n;
        given.device = t->one[i].device = l->devices.number[given.keeper];
        OG_TRY(open_trainer(&t->one[i], &given, err));
    }
    *out = t;
    t = NULL;
out:
    og__trainers_close(t);
    return rc;
}

void og__trainers_close(struct og_trainers *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < og__trainers_all(&t->setup); i++) {
        struct trainer *one = &t->one[i];
        if (one->started)
            pthread_join(one->thread, NULL);
        kind->close(one->self);
    }
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
