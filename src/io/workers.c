/* Blocking reads by many threads.
 *
 *     submit ──> todo ──> thread ──> done ──> reap
 *                   └───> thread ──┘
 *
 * Both lists link the requests themselves, so nothing is allocated after open. One lock guards
 * both. A thread takes a few requests at a time when many wait, so the lock costs little. */
#include "io/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, MOST_AT_ONCE = 8 };

struct list {
    struct og_io_request *head, *tail;
    size_t n;
};

struct og_workers {
    void (*serve)(void *arg, struct og_io_request *q); /* set at open, then constant */
    void *arg;
    pthread_t *threads;
    size_t n_threads;
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    /* guarded by lock */
    struct list todo, done;
    size_t idle;   /* threads waiting for work */
    size_t wanted; /* done requests that the owner waits for; 0 = it does not */
    pid_t *ids;
    size_t n_ids;
    bool closing;
};

static void list_add(struct list *l, struct og_io_request *q)
{
    q->next = NULL;
    if (l->tail)
        l->tail->next = q;
    else
        l->head = q;
    l->tail = q;
    l->n++;
}

static struct og_io_request *list_take(struct list *l)
{
    struct og_io_request *q = l->head;
    l->head = q->next;
    if (!l->head)
        l->tail = NULL;
    l->n--;
    return q;
}

/* Takes up to MOST_AT_ONCE requests, but leaves enough for idle threads. Lock held. */
static size_t take_some(struct og_workers *w, struct og_io_request **some)
{
    size_t fair = OG_MAX(w->todo.n / w->n_threads, 1);
    size_t n = OG_MIN(OG_MIN(fair, w->todo.n), (size_t)MOST_AT_ONCE);
    for (size_t i = 0; i < n; i++)
        some[i] = list_take(&w->todo);
    return n;
}

static void *worker_main(void *arg)
{
    struct og_workers *w = arg;
    struct og_io_request *some[MOST_AT_ONCE];
    pthread_mutex_lock(&w->lock);
    w->ids[w->n_ids++] = gettid();
    for (;;) {
        w->idle++;
        while (w->todo.n == 0 && !w->closing)
            pthread_cond_wait(&w->work, &w->lock);
        w->idle--;
        if (w->closing)
            break;
        size_t n = take_some(w, some);
        pthread_mutex_unlock(&w->lock);
        for (size_t i = 0; i < n; i++)
            w->serve(w->arg, some[i]);
        pthread_mutex_lock(&w->lock);
        for (size_t i = 0; i < n; i++)
            list_add(&w->done, some[i]);
        if (w->wanted > 0 && w->done.n >= w->wanted)
            pthread_cond_signal(&w->finished);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Blocks signals, which are for the threads of the calling program. Not SIGBUS: it goes to the
 * thread that touches an unreadable page, and if blocked it kills the process. */
static int start_threads(struct og_workers *w, size_t threads, struct og_err *err)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;
    int failed = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    size_t started = 0;
    while (started < threads && failed == 0) {
        failed = pthread_create(&w->threads[started], &attr, worker_main, w);
        started += failed == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    w->n_threads = started;
    if (started == 0)
        return og__fail_errno(err, -failed, NULL, "cannot start a thread for reading");
    return 0; /* fewer threads than requested work as well, only slower */
}

int og__workers_open(struct og_workers **out, int threads,
                     void (*serve)(void *arg, struct og_io_request *q), void *arg,
                     struct og_err *err)
{
    *out = NULL;
    struct og_workers *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "threads for reading");
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->finished, NULL);
    w->serve = serve;
    w->arg = arg;
    w->threads = calloc((size_t)threads, sizeof(*w->threads));
    w->ids = calloc((size_t)threads, sizeof(*w->ids));
    int rc = w->threads && w->ids ? start_threads(w, (size_t)threads, err)
                                  : og__fail_errno(err, -ENOMEM, NULL, "threads for reading");
    if (rc < 0)
        og__workers_close(w);
    else
        *out = w;
    return rc;
}

void og__workers_close(struct og_workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (size_t t = 0; t < w->n_threads; t++)
        pthread_join(w->threads[t], NULL);
    pthread_cond_destroy(&w->finished);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    free(w->threads);
    free(w->ids);
    free(w);
}

void og__workers_submit(struct og_workers *w, struct og_io_request **reqs, size_t n)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < n; i++)
        list_add(&w->todo, reqs[i]);
    if (n >= w->idle)
        pthread_cond_broadcast(&w->work);
    else
        for (size_t i = 0; i < n; i++)
            pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
}

size_t og__workers_reap(struct og_workers *w, struct og_io_request **reqs, size_t min, size_t max)
{
    pthread_mutex_lock(&w->lock);
    w->wanted = min;
    while (w->done.n < min)
        pthread_cond_wait(&w->finished, &w->lock);
    w->wanted = 0;
    size_t n = OG_MIN(max, w->done.n);
    for (size_t i = 0; i < n; i++)
        reqs[i] = list_take(&w->done);
    pthread_mutex_unlock(&w->lock);
    return n;
}

size_t og__workers_ids(struct og_workers *w, pid_t *ids, size_t max)
{
    pthread_mutex_lock(&w->lock);
    size_t n = OG_MIN(w->n_ids, max);
    for (size_t i = 0; i < n; i++)
        ids[i] = w->ids[i];
    pthread_mutex_unlock(&w->lock);
    return n;
}
