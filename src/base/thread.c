#include "base/thread.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- pool ---- */

struct og_pool {
    int n_threads; /* set at open, then constant */
    pthread_t *workers;
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    /* guarded by lock */
    uint64_t round; /* counts runs; a worker waits for it to move */
    int busy;
    bool closing;
    /* set by the caller before a round starts, constant during it */
    void (*fn)(void *arg, size_t task, int thread);
    void *arg;
    size_t n_tasks;
    atomic_size_t next;
};

struct worker_start {
    struct og_pool *pool;
    int thread;
};

static void work(struct og_pool *pool, int thread)
{
    size_t task;
    while ((task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->n_tasks)
        pool->fn(pool->arg, task, thread);
}

static void *worker_main(void *arg)
{
    struct worker_start start = *(struct worker_start *)arg;
    free(arg);
    struct og_pool *pool = start.pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->closing)
            pthread_cond_wait(&pool->start, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        work(pool, start.thread);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int og__pool_open(struct og_pool **out, int n_threads, struct og_err *err)
{
    *out = NULL;
    struct og_pool *pool = calloc(1, sizeof(*pool));
    pthread_t *workers = calloc((size_t)OG_MAX(n_threads, 1), sizeof(*workers));
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return og__fail_errno(err, -ENOMEM, NULL, "thread pool");
    }
    pool->workers = workers;
    pool->n_threads = 1;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int t = 1; t < n_threads; t++) {
        struct worker_start *start = malloc(sizeof(*start));
        int failed = ENOMEM;
        if (start) {
            *start = (struct worker_start){pool, t};
            failed = pthread_create(&workers[t], NULL, worker_main, start);
        }
        if (failed) {
            free(start);
            og__pool_close(pool);
            return og__fail_errno(err, -failed, "lower --threads", "cannot start thread %d", t);
        }
        pool->n_threads++;
    }
    *out = pool;
    return 0;
}

void og__pool_close(struct og_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (int t = 1; t < pool->n_threads; t++)
        pthread_join(pool->workers[t], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->start);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int og__pool_threads(const struct og_pool *pool)
{
    return pool ? pool->n_threads : 1;
}

void og__pool_run(struct og_pool *pool, size_t n_tasks,
                  void (*fn)(void *arg, size_t task, int thread), void *arg)
{
    if (!pool || pool->n_threads == 1 || n_tasks <= 1) {
        for (size_t task = 0; task < n_tasks; task++)
            fn(arg, task, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->arg = arg;
    pool->n_tasks = n_tasks;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->busy = pool->n_threads - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    work(pool, 0);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- queue ---- */

struct og_queue {
    size_t capacity; /* set at open, then constant */
    pthread_mutex_t lock;
    pthread_cond_t room, filled;
    /* guarded by lock */
    void **slot; /* slot[seq % capacity]; NULL = empty */
    uint64_t head;
    bool shut;
};

int og__queue_open(struct og_queue **out, size_t capacity, uint64_t first, struct og_err *err)
{
    *out = NULL;
    struct og_queue *q = calloc(1, sizeof(*q));
    void **slot = calloc(capacity, sizeof(*slot));
    if (!q || !slot) {
        free(q);
        free(slot);
        return og__fail_errno(err, -ENOMEM, NULL, "queue");
    }
    q->slot = slot;
    q->capacity = capacity;
    q->head = first;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->room, NULL);
    pthread_cond_init(&q->filled, NULL);
    *out = q;
    return 0;
}

void og__queue_free(struct og_queue *q)
{
    if (!q)
        return;
    pthread_cond_destroy(&q->filled);
    pthread_cond_destroy(&q->room);
    pthread_mutex_destroy(&q->lock);
    free(q->slot);
    free(q);
}

bool og__queue_push(struct og_queue *q, uint64_t seq, void *item)
{
    pthread_mutex_lock(&q->lock);
    while (!q->shut && seq >= q->head + q->capacity)
        pthread_cond_wait(&q->room, &q->lock);
    bool open = !q->shut;
    if (open) {
        q->slot[seq % q->capacity] = item;
        if (seq == q->head)
            pthread_cond_broadcast(&q->filled);
    }
    pthread_mutex_unlock(&q->lock);
    return open;
}

bool og__queue_pop(struct og_queue *q, void **item)
{
    pthread_mutex_lock(&q->lock);
    while (!q->shut && !q->slot[q->head % q->capacity])
        pthread_cond_wait(&q->filled, &q->lock);
    bool open = !q->shut;
    if (open) {
        void **slot = &q->slot[q->head % q->capacity];
        *item = *slot;
        *slot = NULL;
        q->head++;
        pthread_cond_broadcast(&q->room);
    }
    pthread_mutex_unlock(&q->lock);
    return open;
}

bool og__queue_ready(struct og_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool ready = q->shut || q->slot[q->head % q->capacity];
    pthread_mutex_unlock(&q->lock);
    return ready;
}

void og__queue_shut(struct og_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->shut = true;
    pthread_cond_broadcast(&q->room);
    pthread_cond_broadcast(&q->filled);
    pthread_mutex_unlock(&q->lock);
}

/* ---- shelf ---- */

void og__shelf_init(struct og_shelf *s, int n)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->put, NULL);
    assert(n <= OG__MOST_ON_SHELF);
    s->shut = false;
    s->n = n;
    for (int i = 0; i < n; i++)
        s->thing[i] = n - 1 - i;
}

void og__shelf_release(struct og_shelf *s)
{
    pthread_cond_destroy(&s->put);
    pthread_mutex_destroy(&s->lock);
}

void og__shelf_put(struct og_shelf *s, int thing)
{
    pthread_mutex_lock(&s->lock);
    s->thing[s->n++] = thing;
    pthread_cond_signal(&s->put);
    pthread_mutex_unlock(&s->lock);
}

int og__shelf_take(struct og_shelf *s, bool wait)
{
    pthread_mutex_lock(&s->lock);
    while (s->n == 0 && wait && !s->shut)
        pthread_cond_wait(&s->put, &s->lock);
    int thing = s->n > 0 && !s->shut ? s->thing[--s->n] : -1;
    pthread_mutex_unlock(&s->lock);
    return thing;
}

void og__shelf_shut(struct og_shelf *s)
{
    pthread_mutex_lock(&s->lock);
    s->shut = true;
    pthread_cond_broadcast(&s->put);
    pthread_mutex_unlock(&s->lock);
}
