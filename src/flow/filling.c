#include "flow/filling.h"

#include "gather/written.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- spilling ---- */

static const char part[] = "superbatch";

int og__fill_windows_begin(struct og_fill_windows *w, uint32_t batches, struct og_budget *b,
                           struct og_err *err)
{
    w->n = 0;
    w->rows = 0;
    if (w->capacity >= batches)
        return 0;
    og__fill_windows_release(w);
    w->window = og__alloc(b, batches * sizeof(*w->window), part, err);
    if (!w->window)
        return -ENOMEM;
    w->capacity = batches;
    w->budget = b;
    return 0;
}

void og__fill_windows_release(struct og_fill_windows *w)
{
    og__release(w->budget, w->window, w->capacity * sizeof(*w->window), part);
    *w = (struct og_fill_windows){0};
}

static void add_window(struct og_fill_windows *w, uint32_t batch, uint64_t at)
{
    assert(w->n < w->capacity);
    w->window[w->n++] = (struct og_fill_window){batch, at};
}

int og__filling_put_piece(struct og_fill_head head, const uint32_t *list, struct og_spill *to,
                          struct og_err *err)
{
    OG_DO(og__spill_append(to, &head, sizeof(head), err));
    OG_DO(og__spill_append(to, list, head.n * sizeof(*list), err));
    return og__spill_append(to, list + OG__FILL_ROWS, head.n * sizeof(*list), err);
}

int og__filling_put(struct og_fill_windows *w, struct og_policy *policy, uint32_t batch,
                    struct og_spill *to, uint32_t *list, struct og_err *err)
{
    bool begun = w->n == 0;
    if (begun)
        add_window(w, batch, og__spill_size(to));
    for (struct og_fill_head head = {.n = 1}; head.n > 0;) {
        head.n = og__policy_prefill(policy, list, list + OG__FILL_ROWS, OG__FILL_ROWS);
        head.after = og__policy_free_after(policy);
        if (!begun && head.n == 0)
            break;
        if (!begun)
            add_window(w, batch, og__spill_size(to));
        begun = true;
        if (batch == 0 && w->foreseen)
            OG_DO(og__gather_tell(w->foreseen, list, list + OG__FILL_ROWS, head.n, err));
        OG_DO(og__filling_put_piece(head, list, to, err));
        w->rows += head.n;
    }
    if (batch == 0 && w->foreseen)
        OG_DO(og__gather_distribute(w->foreseen, err));
    return 0;
}

int og__filling_get(struct og_spill *from, uint64_t *at, struct og_fill_piece *piece,
                    uint64_t *read, struct og_err *err)
{
    struct og_fill_head *head = &piece->head;
    OG_DO(og__spill_read(from, *at, head, sizeof(*head), read, err));
    if (head->n > OG__FILL_ROWS)
        return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                        "a plan in --scratch is damaged");
    const size_t bytes = head->n * sizeof(*piece->nodes);
    *at += sizeof(*head);
    OG_DO(og__spill_read(from, *at, piece->nodes, bytes, read, err));
    OG_DO(og__spill_read(from, *at + bytes, piece->slots, bytes, read, err));
    *at += 2 * bytes;
    return 0;
}

uint64_t og__filling_bytes(uint32_t batch, uint64_t pieces, uint64_t rows)
{
    if (batch > 0 && pieces == 0)
        return 0;
    return (pieces + 1) * sizeof(struct og_fill_head) + 2 * rows * sizeof(uint32_t);
}

/* ---- the thread ---- */

struct og_filling {
    struct og_filling_options opt;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    /* guarded by lock */
    uint32_t done;   /* batches */
    uint32_t wanted; /* windows that may be begun */
    uint32_t filled; /* windows */
    bool given_up;   /* nobody waits any more */
    int rc;          /* of the thread, with err */
    struct og_err err;
    struct og_filled untold;
    /* the thread's own */
    struct og_fill_piece piece;
    struct og_filled now;
};

static int await_slots(struct og_filling *f, uint32_t after)
{
    pthread_mutex_lock(&f->lock);
    while (f->done < after && !f->given_up)
        pthread_cond_wait(&f->moved, &f->lock);
    int rc = f->given_up ? OG__GIVEN_UP : 0;
    pthread_mutex_unlock(&f->lock);
    return rc;
}

static bool await_demand(struct og_filling *f, uint32_t window)
{
    pthread_mutex_lock(&f->lock);
    while (f->wanted <= window && !f->given_up)
        pthread_cond_wait(&f->moved, &f->lock);
    bool wanted = f->wanted > window;
    pthread_mutex_unlock(&f->lock);
    return wanted;
}

static int fill_piece(struct og_filling *f, struct og_err *err)
{
    struct og_fill_piece *p = &f->piece;
    double start = og__now();
    if (f->opt.config)
        og__rows_of_own(f->opt.config, p->nodes, p->head.n);
    int rc = p->head.n > 0 ? f->opt.to.ops->fill(f->opt.to.self, p->nodes, p->slots, p->head.n,
                                                 &f->now.read, err)
                           : 0;
    f->now.seconds += og__now() - start;
    if (rc < 0)
        return rc;
    if (og__stop_requested(f->opt.stop))
        return og__fail(err, OG_INTERRUPTED, NULL,
                        "interrupted while rows were put into the cache");
    return 0;
}

static int fill_pieces(struct og_filling *f, uint64_t at, struct og_err *err)
{
    int rc;
    do {
        OG_TRY(og__filling_get(f->opt.from, &at, &f->piece, &f->now.read.bytes, err));
        OG_TRY(await_slots(f, f->piece.head.after));
        OG_TRY(fill_piece(f, err));
    } while (f->piece.head.n > 0);
out:
    return rc;
}

static int fill_window(struct og_filling *f, uint64_t at, struct og_err *err)
{
    int rc = fill_pieces(f, at, err);
    double start = og__now();
    int ended = f->opt.to.ops->fill_end(f->opt.to.self, &f->now.read, rc == 0 ? err : NULL);
    f->now.seconds += og__now() - start;
    return rc < 0 ? rc : ended;
}

/* A window is in the cache, or never will be. */
static bool publish(struct og_filling *f, int rc, const struct og_err *err)
{
    pthread_mutex_lock(&f->lock);
    f->filled += rc == 0;
    f->rc = rc;
    f->err = *err;
    f->untold.read.reads += f->now.read.reads;
    f->untold.read.bytes += f->now.read.bytes;
    f->untold.seconds += f->now.seconds;
    bool going = rc == 0 && !f->given_up;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
    return going;
}

static void *fill_windows(void *arg)
{
    struct og_filling *f = arg;
    const struct og_fill_windows *w = f->opt.windows;
    bool going = true;
    for (uint32_t i = 0; going && i < w->n && await_demand(f, i); i++) {
        struct og_err err = {0};
        f->now = (struct og_filled){0};
        double start = og__now();
        int rc = fill_window(f, w->window[i].at, &err);
        og__timeline_add(f->opt.timeline, "fill cache", i, start, og__now());
        going = publish(f, rc, &err);
    }
    return NULL;
}

/* ---- its two ends ---- */

int og__filling_start(struct og_filling **out, const struct og_filling_options *opt,
                      struct og_err *err)
{
    *out = NULL;
    if (opt->windows->n == 0) /* nothing enters */
        return 0;
    struct og_filling *f = calloc(1, sizeof(*f));
    if (!f)
        return og__fail_errno(err, -ENOMEM, NULL, "filling the cache");
    f->opt = *opt;
    f->wanted = opt->on_demand ? 0 : opt->windows->n;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    int failed = pthread_create(&f->thread, NULL, fill_windows, f);
    if (failed == 0) {
        *out = f;
        return 0;
    }
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->lock);
    free(f);
    return og__fail_errno(err, -failed, "lower --threads", "cannot start a thread");
}

void og__filling_give_up(struct og_filling *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->given_up = true;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
}

void og__filling_end(struct og_filling *f)
{
    if (!f)
        return;
    og__filling_give_up(f);
    pthread_join(f->thread, NULL);
    pthread_cond_destroy(&f->moved);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static uint32_t windows_before(const struct og_filling *f, uint32_t batch)
{
    const struct og_fill_windows *w = f->opt.windows;
    uint32_t low = 0;
    for (uint32_t high = w->n; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (w->window[middle].batch <= batch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool og__filling_ready(struct og_filling *f, uint32_t batch)
{
    if (!f)
        return true;
    uint32_t need = windows_before(f, batch);
    pthread_mutex_lock(&f->lock);
    bool ready = f->filled >= need || f->rc < 0;
    pthread_mutex_unlock(&f->lock);
    return ready;
}

int og__filling_await(struct og_filling *f, uint32_t batch, struct og_filled *filled,
                      struct og_err *err)
{
    *filled = (struct og_filled){0};
    if (!f)
        return 0;
    uint32_t need = windows_before(f, batch);
    pthread_mutex_lock(&f->lock);
    f->wanted = OG_MAX(f->wanted, need);
    pthread_cond_broadcast(&f->moved);
    while (f->filled < need && f->rc == 0 && !f->given_up)
        pthread_cond_wait(&f->moved, &f->lock);
    int rc = f->filled >= need ? 0 : f->rc < 0 ? f->rc : OG__GIVEN_UP;
    if (rc < 0 && rc != OG__GIVEN_UP)
        og__fail(err, rc, f->err.hint, "%s", f->err.message);
    *filled = f->untold;
    f->untold = (struct og_filled){0};
    pthread_mutex_unlock(&f->lock);
    return rc;
}

void og__filling_done(struct og_filling *f, uint32_t n)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->done = OG_MAX(f->done, n);
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
}
