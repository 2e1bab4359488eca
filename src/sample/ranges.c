#include "sample/ranges.h"

#include "base/bits.h"
#include "base/thread.h"

#include <stdlib.h>

enum { AREAS = 2 };

static const char part[] = "sampler";

struct og_ranges {
    /* set before the thread starts, then constant */
    struct og_wanted_blocks wanted;
    struct og_reader_options opt;
    struct og_budget *budget;
    struct og_queue *full;
    pthread_t thread;
    bool started;
    struct og_range area[AREAS];
    struct og_shelf empty;
    /* the thread's, until it has ended */
    struct og_io_counts read;
    int rc;
    struct og_err err;
};

static size_t most_blocks(unsigned shift)
{
    return (size_t)1 << shift;
}

size_t og__ranges_bytes(unsigned shift, const struct og_reader_options *opt)
{
    return AREAS * most_blocks(shift) * (OG__LIST_BLOCK + sizeof(uint32_t)) + og__reader_bytes(opt);
}

/* ---- the thread ---- */

static void list_blocks(const struct og_wanted_blocks *w, struct og_range *range, uint64_t *next)
{
    range->n = 0;
    while (range->n < most_blocks(w->shift)) {
        const uint64_t block = og__bits_next(w->bits, w->of->n_blocks, *next);
        if (block >= w->of->n_blocks)
            return;
        *next = block + 1;
        range->block[range->n++] = (uint32_t)block;
    }
}

static int read_range(struct og_ranges *r, struct og_reader *reader, const struct og_range *range,
                      struct og_err *err)
{
    struct og_read_job job = {.rows = range->block, .n = range->n, .out = range->data};
    int rc;
    OG_TRY(og__reader_submit(reader, &job, err));
    OG_TRY(og__reader_wait(reader, &job, err));
    r->read.reads += job.counts.reads;
    r->read.bytes += job.counts.bytes;
out:
    return rc;
}

static int read_all(struct og_ranges *r, struct og_reader *reader, struct og_err *err)
{
    const uint32_t n_ranges = og__ranges_of(&r->wanted);
    uint64_t next = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n_ranges; i++) {
        const int area = og__shelf_take(&r->empty, true);
        if (area < 0) /* nobody wants them any more */
            return 0;
        struct og_range *range = &r->area[area];
        range->number = i;
        list_blocks(&r->wanted, range, &next);
        OG_TRY(read_range(r, reader, range, err));
        if (!og__queue_push(r->full, i, range))
            return 0;
    }
out:
    return rc;
}

/* A ring serves the thread that opened it. */
static void *run(void *arg)
{
    struct og_ranges *r = arg;
    const struct og_blocks *of = r->wanted.of;
    struct og_reader *reader = NULL;
    r->rc = og__reader_open(&reader, of->array->path, of->base, OG__LIST_BLOCK, of->n_blocks,
                            &r->opt, r->budget, &r->err);
    if (r->rc == 0)
        r->rc = read_all(r, reader, &r->err);
    og__reader_close(reader);
    if (r->rc < 0)
        og__queue_shut(r->full);
    return NULL;
}

/* ---- the caller ---- */

int og__ranges_start(struct og_ranges **out, const struct og_wanted_blocks *wanted,
                     const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_ranges *r = calloc(1, sizeof(*r));
    if (!r)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    *r = (struct og_ranges){.wanted = *wanted, .opt = *opt, .budget = b};
    og__shelf_init(&r->empty, AREAS);
    const size_t most = most_blocks(wanted->shift);
    int rc;
    OG_TRY(og__queue_open(&r->full, AREAS, 0, err));
    for (int i = 0; i < AREAS; i++) {
        r->area[i].block = og__alloc(b, most * sizeof(*r->area[i].block), part, err);
        r->area[i].data = og__alloc(b, most * OG__LIST_BLOCK, part, err);
        OG_TRY(r->area[i].block && r->area[i].data ? 0 : -ENOMEM);
    }
    rc = -pthread_create(&r->thread, NULL, run, r);
    r->started = rc == 0;
    if (rc < 0)
        OG_TRY(og__fail_errno(err, rc, "lower --threads", "cannot start a thread"));
    *out = r;
    return 0;
out:
    og__ranges_stop(r, NULL);
    return rc;
}

int og__ranges_next(struct og_ranges *r, const struct og_range **out, struct og_err *err)
{
    void *popped;
    if (!og__queue_pop(r->full, &popped)) { /* the thread has ended */
        pthread_join(r->thread, NULL);
        r->started = false;
        return og__fail(err, r->rc, r->err.hint, "%s", r->err.message);
    }
    *out = popped;
    return 0;
}

void og__ranges_put(struct og_ranges *r, const struct og_range *range)
{
    og__shelf_put(&r->empty, (int)(range - r->area));
}

void og__ranges_stop(struct og_ranges *r, struct og_io_counts *read)
{
    if (!r)
        return;
    og__shelf_shut(&r->empty);
    if (r->full)
        og__queue_shut(r->full);
    if (r->started)
        pthread_join(r->thread, NULL);
    if (read) {
        read->reads += r->read.reads;
        read->bytes += r->read.bytes;
    }
    const size_t most = most_blocks(r->wanted.shift);
    for (int i = 0; i < AREAS; i++) {
        og__release(r->budget, r->area[i].block, most * sizeof(*r->area[i].block), part);
        og__release(r->budget, r->area[i].data, most * OG__LIST_BLOCK, part);
    }
    og__shelf_release(&r->empty);
    if (r->full)
        og__queue_free(r->full);
    free(r);
}
