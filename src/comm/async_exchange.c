/* Asynchronous exchanges: a thread of the comm makes the exchange while the rank's own thread
 * computes.
 *
 *   rank      begin ─────── computes ─────── end
 *               └─> exchange, by its kind ───┘       one at a time, in the order of all of them */
#include "comm/async_exchange.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct og_async_exchange {
    struct og_comm *comm;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    enum { IDLE, BEGUN, DONE, CLOSED } state;
    /* the thread's while it is BEGUN, else the rank's */
    struct og_message send[OG__MOST_RANKS], receive[OG__MOST_RANKS];
    int rc;
    struct og_err err;
};

static void *serve(void *arg)
{
    struct og_async_exchange *b = arg;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (b->state != BEGUN && b->state != CLOSED)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->state == CLOSED)
            break;
        pthread_mutex_unlock(&b->lock);
        b->rc = b->comm->kind->exchange(b->comm, b->send, b->receive, &b->err);
        pthread_mutex_lock(&b->lock);
        b->state = DONE;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Signals are for the threads of the program, but for those of what this one touches. */
static int start(struct og_async_exchange *b)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&b->thread, NULL, serve, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct og_async_exchange *og__async_exchange_open(struct og_comm *c)
{
    struct og_async_exchange *b = calloc(1, sizeof(*b));
    if (!b)
        return NULL;
    b->comm = c;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (start(b) == 0)
        return b;
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
    return NULL;
}

static void change(struct og_async_exchange *b, int state)
{
    pthread_mutex_lock(&b->lock);
    b->state = state;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

void og__async_exchange_close(struct og_async_exchange *b)
{
    if (!b)
        return;
    (void)!og__async_exchange_end(b, NULL);
    change(b, CLOSED);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void og__async_exchange_begin(struct og_async_exchange *b, const struct og_message *send,
                              const struct og_message *receive)
{
    const size_t n = (size_t)b->comm->n;
    memcpy(b->send, send, n * sizeof(*send));
    memcpy(b->receive, receive, n * sizeof(*receive));
    b->err = (struct og_err){0};
    change(b, BEGUN);
}

int og__async_exchange_end(struct og_async_exchange *b, struct og_err *err)
{
    pthread_mutex_lock(&b->lock);
    const bool any = b->state != IDLE;
    while (b->state == BEGUN)
        pthread_cond_wait(&b->changed, &b->lock);
    b->state = IDLE;
    pthread_mutex_unlock(&b->lock);
    if (!any)
        return 0;
    b->comm->exchanges++;
    b->comm->broken = b->rc < 0;
    if (b->rc < 0 && err && err->code == 0)
        *err = b->err;
    return b->rc;
}
