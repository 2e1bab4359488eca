#include "train/trainers.h"

#include "train/targets.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATIONS "activations"

struct trainer {
    struct og_trainers *all;
    pthread_t thread;
    bool started;
    struct og_pool *pool;
    struct og_model *model;
    struct og_arena copy; /* of the mini-batch: */
    struct og_work work;
    const void *targets;
    struct og_step key;
    struct og_part part;
    int rc;
    struct og_err err;
    enum { IDLE, GIVEN, MADE } state; /* guarded by all->lock */
};

struct og_trainers {
    const struct og_facts *facts;
    int n;
    uint64_t given, taken; /* mini-batch number i is that of trainer i modulo n */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended; /* guarded by lock */
    struct trainer one[OG__MOST_TRAINERS];
};

/* ---- what they take ---- */

int og__trainers_useful(const struct og_options *opt)
{
    if (opt->pipeline == OG_PIPELINE_NONE)
        return 1;
    const int64_t at_a_time = (int64_t)opt->accumulate * (opt->staleness + 1);
    return (int)OG_MIN(at_a_time, (int64_t)OG__MOST_TRAINERS);
}

static int threads_each(int threads, int n)
{
    return OG_MAX(threads / n, 1);
}

/* Gradients without moments. */
enum { OPTIMIZER = OG_OPTIMIZER_SGD };

/* Sizes of a copy. */
struct extent {
    struct og_batch_caps caps;
    size_t rows, labels; /* bytes */
};

static size_t copy_bytes(const struct extent *e)
{
    size_t sum = og__arena_room(e->rows) + og__arena_room(e->labels) +
                 2 * og__arena_room(e->caps.n_pairs * sizeof(uint32_t));
    for (uint32_t h = 0; h < e->caps.n_hops; h++) {
        const size_t edges = e->caps.hop[h].n_edges, sources = e->caps.hop[h].n_src;
        sum += og__arena_room((e->caps.hop[h].n_dst + 1) * sizeof(uint32_t)) +
               og__arena_room(edges * sizeof(uint32_t)) + og__arena_room(edges * sizeof(float)) +
               og__arena_room(sources * sizeof(uint32_t));
    }
    return sum;
}

static size_t most_copied(const struct og_facts *f)
{
    const struct extent most = {
        .caps = f->caps, .rows = og__input_rows(f) * f->row_bytes, .labels = og__targets_bytes(f)};
    return copy_bytes(&most);
}

size_t og__trainers_model_bytes(const struct og_nn_ops *ops, const struct og_facts *f, int n)
{
    return (size_t)n * og__model_bytes(ops, &f->shape, OPTIMIZER);
}

size_t og__trainers_activation_bytes(const struct og_nn_ops *ops, const struct og_facts *f,
                                     int threads, int n)
{
    const size_t workspace =
        og__model_workspace_bytes(ops, &f->shape, &f->caps, true, threads_each(threads, n));
    return (size_t)n * (workspace + most_copied(f));
}

/* ---- a copy of a mini-batch ---- */

static void *copied(struct og_arena *arena, const void *from, size_t bytes)
{
    if (!from)
        return NULL;
    void *to = og__arena_take(arena, bytes);
    return memcpy(to, from, bytes);
}

static void copy_block(struct og_arena *arena, const struct og_block *from, struct og_block *to)
{
    const size_t beyond = from->n_src - from->n_dst;
    *to = *from;
    to->indptr = copied(arena, from->indptr, (from->n_dst + (size_t)1) * sizeof(*to->indptr));
    to->src = copied(arena, from->src, from->n_edges * sizeof(*to->src));
    to->degree = copied(arena, from->degree, beyond * sizeof(*to->degree));
    to->weight = copied(arena, from->weight, from->n_edges * sizeof(*to->weight));
}

enum { TASK_ROWS = 4096 };

struct copying {
    const struct og_rows *from;
    char *to;
};

static void copy_rows(void *arg, size_t task, int thread)
{
    const struct copying *c = arg;
    const uint32_t first = (uint32_t)task * TASK_ROWS;
    const uint32_t last = OG_MIN(c->from->n - first, (uint32_t)TASK_ROWS) + first;
    (void)thread;
    og__rows_copy(c->from, first, last, c->to);
}

/* Rows one behind the other: a view of the cache would change with it. */
static void gather_rows(struct og_arena *arena, const struct og_rows *from, struct og_rows *to,
                        struct og_pool *pool)
{
    *to = (struct og_rows){
        .stride = from->stride, .n = from->n, .dim = from->dim, .dtype = from->dtype};
    struct copying c = {from, og__arena_take(arena, from->n * from->stride)};
    to->base = c.to;
    og__pool_run(pool, (from->n + (size_t)TASK_ROWS - 1) / TASK_ROWS, copy_rows, &c);
}

static struct extent extent_of(const struct og_facts *f, const struct og_work *w)
{
    struct extent e = {.caps = {.n_hops = w->sampled.batch.n_hops},
                       .rows = w->rows.n * w->rows.stride};
    og__caps_include(&e.caps, &w->sampled.batch);
    if (f->seeds.edges)
        e.caps.n_pairs = w->seeds.pairs.n;
    else
        e.labels = og__labels_bytes(f->ds, w->descriptor.n_seeds);
    return e;
}

/* One larger than was planned is taken as far as the budget goes. */
static int make_room(struct og_arena *arena, size_t bytes, struct og_err *err)
{
    og__arena_rewind(arena, 0);
    if (bytes <= arena->cap)
        return 0;
    const struct og_memory memory = arena->memory;
    og__arena_release(arena);
    return og__arena_init(arena, memory, bytes, ACTIVATIONS, err);
}

static int copy_work(struct trainer *to, const struct og_work *w, struct og_pool *pool,
                     struct og_err *err)
{
    const struct og_facts *f = to->all->facts;
    const struct extent e = extent_of(f, w);
    struct og_work *own = &to->work;
    int rc = make_room(&to->copy, copy_bytes(&e), err);
    if (rc < 0)
        return rc;
    *own = *w;
    own->sampled.batch.ids = NULL;
    for (uint32_t h = 0; h < w->sampled.batch.n_hops; h++)
        copy_block(&to->copy, &w->sampled.batch.hop[h], &own->sampled.batch.hop[h]);
    gather_rows(&to->copy, &w->rows, &own->rows, pool);
    if (f->seeds.edges) {
        const struct og_pairs *pairs = &w->seeds.pairs;
        own->seeds.pairs.a = copied(&to->copy, pairs->a, pairs->n * sizeof(*pairs->a));
        own->seeds.pairs.b = copied(&to->copy, pairs->b, pairs->n * sizeof(*pairs->b));
    }
    to->targets = og__work_targets(f, own, og__arena_take(&to->copy, e.labels));
    return 0;
}

/* ---- a trainer's thread ---- */

static void compute(struct trainer *own)
{
    const double start = og__now();
    own->part.metrics = (struct og_metrics){0};
    own->rc = og__model_part(own->model, &own->work.sampled.batch, &own->work.rows, own->targets,
                             &own->key, &own->part.metrics, &own->err);
    own->part.seconds = og__now() - start;
}

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
        compute(own);
        pthread_mutex_lock(&all->lock);
        own->state = MADE;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* ---- giving and taking ---- */

int og__trainers_busy(const struct og_trainers *t)
{
    return (int)(t->given - t->taken);
}

bool og__trainers_full(const struct og_trainers *t)
{
    return og__trainers_busy(t) == t->n;
}

static void set_state(struct trainer *one, int state)
{
    pthread_mutex_lock(&one->all->lock);
    one->state = state;
    pthread_cond_broadcast(&one->all->changed);
    pthread_mutex_unlock(&one->all->lock);
}

int og__trainers_give(struct og_trainers *t, const struct og_work *w, const struct og_steps *steps,
                      int ended, struct og_pool *pool, struct og_err *err)
{
    struct trainer *one = &t->one[t->given % (uint64_t)t->n];
    int rc;
    OG_TRY(copy_work(one, w, pool, err));
    OG_TRY(og__steps_show(steps, ended, one->model, err));
    one->key =
        (struct og_step){(uint64_t)steps->opt->seed, w->descriptor.epoch, w->descriptor.batch};
    one->err = (struct og_err){0};
    t->given++;
    set_state(one, GIVEN);
out:
    return rc;
}

int og__trainers_take(struct og_trainers *t, struct og_part *part, struct og_err *err)
{
    struct trainer *one = &t->one[t->taken++ % (uint64_t)t->n];
    pthread_mutex_lock(&t->lock);
    while (one->state != MADE)
        pthread_cond_wait(&t->changed, &t->lock);
    one->state = IDLE;
    pthread_mutex_unlock(&t->lock);
    if (one->rc < 0)
        return og__fail(err, one->rc, one->err.hint, "%s", one->err.message);
    *part = one->part;
    return 0;
}

/* ---- all of them ---- */

static int open_trainer(struct trainer *one, const struct og_learner *l, int threads,
                        struct og_budget *b, struct og_err *err)
{
    const struct og_facts *f = one->all->facts;
    int rc;
    OG_TRY(og__pool_open(&one->pool, threads, err));
    OG_TRY(og__model_create(&one->model, l->ops, &f->shape, OPTIMIZER, 0, one->pool, b, err));
    OG_TRY(og__model_reserve(one->model, &f->caps, true, err));
    OG_TRY(og__arena_init(&one->copy, og__host_memory(b), most_copied(f), ACTIVATIONS, err));
    one->part = (struct og_part){.work = &one->work, .model = one->model};
    int failed = pthread_create(&one->thread, NULL, run_trainer, one);
    if (failed)
        OG_TRY(og__fail_errno(err, -failed, "lower --trainers", "cannot start a trainer"));
    one->started = true;
out:
    return rc;
}

int og__trainers_open(struct og_trainers **out, const struct og_learner *l,
                      const struct og_facts *f, int threads, int n, struct og_budget *b,
                      struct og_err *err)
{
    int rc = 0;
    struct og_trainers *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "trainers");
    t->facts = f;
    t->n = n;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    for (int i = 0; i < n; i++)
        t->one[i].all = t;
    for (int i = 0; i < n; i++)
        OG_TRY(open_trainer(&t->one[i], l, threads_each(threads, n), b, err));
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
    for (int i = 0; i < t->n; i++) {
        struct trainer *one = &t->one[i];
        if (one->started)
            pthread_join(one->thread, NULL);
        og__model_free(one->model);
        og__arena_release(&one->copy);
        og__pool_close(one->pool);
    }
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
