#include "io/write_behind.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "read buffers";

enum { RING_BYTES = 4 * 1024 * 1024, LEAST_ROWS = 16, AT_ONCE = 1024 /* rows */ };

struct og_write_behind {
    struct og_row_writer file;
    struct og_budget *budget;
    size_t row_bytes;
    uint32_t capacity;
    char *records;  /* [capacity] rows; that of number i is at i % capacity */
    uint32_t *rows; /* [capacity] */
    uint64_t pushed;
    bool started;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    uint64_t ready, done; /* rows that are in the ring, and in the file */
    bool ends;
    int failed;
    struct og_err why;
};

uint32_t og__write_behind_rows(size_t row_bytes, uint64_t n_rows)
{
    const uint64_t rows = OG_MAX(RING_BYTES / row_bytes, (size_t)LEAST_ROWS);
    return (uint32_t)OG_MIN(rows, OG_MAX(n_rows, (uint64_t)1));
}

static size_t ring_bytes(size_t row_bytes, uint32_t rows)
{
    return rows * (row_bytes + sizeof(uint32_t));
}

size_t og__write_behind_bytes(size_t row_bytes, uint64_t n_rows)
{
    return og__row_writer_bytes(row_bytes) +
           ring_bytes(row_bytes, og__write_behind_rows(row_bytes, n_rows));
}

/* ---- the thread ---- */

struct piece {
    const char *records;
    size_t row_bytes;
};

static const char *record_of(void *arg, size_t i)
{
    const struct piece *p = arg;
    return p->records + i * p->row_bytes;
}

/* Rows [done, done + n), which follow one another in the ring. */
static int write_piece(struct og_write_behind *w, uint64_t done, size_t n, struct og_err *err)
{
    const size_t at = done % w->capacity;
    struct piece p = {w->records + at * w->row_bytes, w->row_bytes};
    struct og_io_counts counts = {0}; /* known since the push */
    og__row_writer_prepare(&w->file, w->rows + at, n);
    return og__row_writer_write(&w->file, w->rows + at, n, record_of, &p, &counts, err);
}

static void *write_rows_behind(void *arg)
{
    struct og_write_behind *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->ready == w->done && !w->ends)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->ends)
            break;
        const uint64_t done = w->done;
        const size_t n = (size_t)OG_MIN(OG_MIN(w->ready - done, w->capacity - done % w->capacity),
                                        (uint64_t)AT_ONCE);
        const bool writes = w->failed == 0;
        struct og_err err = {0};
        pthread_mutex_unlock(&w->lock);
        const int rc = writes ? write_piece(w, done, n, &err) : 0;
        pthread_mutex_lock(&w->lock);
        if (rc < 0) {
            w->failed = rc;
            w->why = err;
        }
        w->done += n; /* after a failure too: nobody waits for ever */
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- its owner ---- */

int og__write_behind_open(struct og_write_behind **out, const char *path, uint64_t offset,
                          size_t row_bytes, uint64_t n_rows, struct og_budget *b,
                          struct og_err *err)
{
    struct og_write_behind *w = *out = calloc(1, sizeof(*w));
    int rc;
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    *w = (struct og_write_behind){.budget = b,
                                  .row_bytes = row_bytes,
                                  .file = {.fd = -1},
                                  .capacity = og__write_behind_rows(row_bytes, n_rows)};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->records = og__alloc(b, ring_bytes(row_bytes, w->capacity), part, err);
    OG_TRY(w->records ? 0 : -ENOMEM);
    w->rows = (void *)(w->records + w->capacity * row_bytes);
    OG_TRY(og__row_writer_open(&w->file, path, offset, row_bytes, b, err));
    rc = -pthread_create(&w->thread, NULL, write_rows_behind, w);
    if (rc < 0)
        OG_TRY(og__fail_errno(err, rc, "lower --threads", "cannot start a thread"));
    w->started = true;
out:
    return rc;
}

void og__write_behind_close(struct og_write_behind *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->started)
        pthread_join(w->thread, NULL);
    og__row_writer_close(&w->file);
    og__release(w->budget, w->records, w->records ? ring_bytes(w->row_bytes, w->capacity) : 0,
                part);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static int failure_of(const struct og_write_behind *w, struct og_err *err)
{
    if (w->failed < 0 && err)
        *err = w->why;
    return w->failed;
}

/* Waits until fewer than `most` rows are in the ring alone. */
static int wait_below(struct og_write_behind *w, uint64_t most, uint64_t *left, struct og_err *err)
{
    pthread_mutex_lock(&w->lock);
    while (w->ready - w->done >= most)
        pthread_cond_wait(&w->changed, &w->lock);
    *left = w->ready - w->done;
    const int rc = failure_of(w, err);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

int og__write_behind_push(struct og_write_behind *w, const uint32_t *rows, size_t n,
                          const char *(*from)(void *arg, size_t i), void *arg,
                          struct og_io_counts *written, struct og_err *err)
{
    const struct og_io_counts counts = og__row_writer_predict(w->row_bytes, rows, n);
    int rc = 0;
    for (size_t i = 0, end; i < n;) {
        uint64_t used;
        OG_TRY(wait_below(w, w->capacity, &used, err));
        for (end = (size_t)OG_MIN((uint64_t)n, i + w->capacity - used); i < end; i++) {
            const size_t at = w->pushed++ % w->capacity;
            w->rows[at] = rows[i];
            memcpy(w->records + at * w->row_bytes, from(arg, i), w->row_bytes);
        }
        pthread_mutex_lock(&w->lock);
        w->ready = w->pushed;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    written->reads += counts.reads;
    written->bytes += counts.bytes;
out:
    return rc;
}

const char *og__write_behind_recall(const struct og_write_behind *w, size_t back)
{
    return w->records + (w->pushed - back) % w->capacity * w->row_bytes;
}

const struct og_row_writer *og__write_behind_file(const struct og_write_behind *w)
{
    return &w->file;
}

uint64_t og__write_behind_pushed(const struct og_write_behind *w)
{
    return w->pushed;
}

void og__write_behind_await(struct og_write_behind *w, uint64_t number)
{
    pthread_mutex_lock(&w->lock);
    while (w->done < number)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

int og__write_behind_settle(struct og_write_behind *w, struct og_row_writer **file,
                            struct og_err *err)
{
    uint64_t left;
    *file = &w->file;
    return wait_below(w, 1, &left, err);
}
