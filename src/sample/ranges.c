#include "sample/ranges.h"

#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { AREAS = 2 };

static const char area_part[] = "sampler";

struct og_ranges {
    /* set before the thread starts, then constant */
    const struct og_block_requests *requested;
    struct og_reader_options opt;
    struct og_budget *budget;
    struct og_queue *full;
    pthread_t thread;
    bool started;
    struct og_range area[AREAS];
    struct og_shelf empty;
    /* the thread's, until it has ended */
    struct og_reader *reader[OG__PASS_ARRAYS];
    struct og_io_counts read;
    int rc;
    struct og_err err;
};

/* Includes the tail. */
static size_t data_bytes(uint64_t most)
{
    return (size_t)(most + 1) * OG__LIST_BLOCK;
}

size_t og__ranges_bytes(uint64_t most, const struct og_reader_options *opt)
{
    return AREAS * (data_bytes(most) + (size_t)most * sizeof(uint32_t)) + og__reader_bytes(opt);
}

/* ---- the thread ---- */

static void list_blocks(const struct og_requested_blocks *w, struct og_range_part *part)
{
    part->n = 0;
    part->before = 0;
    for (uint64_t at = part->stretch.low; at <= part->stretch.high; at++) {
        at = og__bits_next(w->bits, w->n_blocks, at);
        if (at >= w->n_blocks || at > part->stretch.high)
            return;
        if (part->n == 0)
            part->before = og__bits_rank(w->bits, w->rank, at);
        part->block[part->n++] = (uint32_t)at;
    }
}

static int read_part(struct og_ranges *r, uint32_t array, struct og_range_part *part,
                     struct og_err *err)
{
    const struct og_requested_blocks *w = &r->requested->array[array];
    list_blocks(w, part);
    struct og_read_job job = {.rows = part->block, .n = part->n, .out = part->data};
    OG_DO(og__reader_submit(r->reader[array], &job, err));
    OG_DO(og__reader_wait(r->reader[array], &job, err));
    r->read.reads += job.counts.reads;
    r->read.bytes += job.counts.bytes;
    memcpy(part->data + (size_t)part->n * OG__LIST_BLOCK, w->of->tail, OG__LIST_BLOCK);
    return 0;
}

static int read_all(struct og_ranges *r, struct og_err *err)
{
    for (uint32_t i = 0; i < r->requested->n_ranges; i++) {
        const int area = og__shelf_take(&r->empty, true);
        if (area < 0) /* stopped */
            return 0;
        struct og_range *range = &r->area[area];
        range->number = i;
        for (uint32_t a = 0; a < r->requested->n_arrays; a++) {
            range->part[a].stretch = r->requested->stretch[a][i];
            OG_DO(read_part(r, a, &range->part[a], err));
        }
        if (!og__queue_push(r->full, i, range))
            return 0;
    }
    return 0;
}

static int open_readers(struct og_ranges *r, struct og_err *err)
{
    for (uint32_t a = 0; a < r->requested->n_arrays; a++) {
        const struct og_blocks *of = r->requested->array[a].of;
        OG_DO(og__reader_open(&r->reader[a], of->array->path, of->base, OG__LIST_BLOCK,
                              of->n_blocks, &r->opt, r->budget, err));
    }
    return 0;
}

/* A ring serves the thread that opened it. */
static void *run(void *arg)
{
    struct og_ranges *r = arg;
    r->rc = open_readers(r, &r->err);
    if (r->rc == 0)
        r->rc = read_all(r, &r->err);
    for (int a = 0; a < OG__PASS_ARRAYS; a++)
        og__reader_close(r->reader[a]);
    if (r->rc < 0)
        og__queue_shut(r->full);
    return NULL;
}

/* ---- the areas ---- */

static int open_areas(struct og_ranges *r, struct og_err *err)
{
    for (int i = 0; i < AREAS; i++)
        for (uint32_t a = 0; a < r->requested->n_arrays; a++) {
            const size_t most = r->requested->array[a].most;
            struct og_range_part *part = &r->area[i].part[a];
            part->block = og__alloc(r->budget, most * sizeof(*part->block), area_part, err);
            part->data = og__alloc(r->budget, data_bytes(most), area_part, err);
            OG_DO(part->block && part->data ? 0 : -ENOMEM);
        }
    return 0;
}

static void close_areas(struct og_ranges *r)
{
    for (int i = 0; i < AREAS; i++)
        for (uint32_t a = 0; a < r->requested->n_arrays; a++) {
            const size_t most = r->requested->array[a].most;
            struct og_range_part *part = &r->area[i].part[a];
            og__release(r->budget, part->block, most * sizeof(*part->block), area_part);
            og__release(r->budget, part->data, data_bytes(most), area_part);
        }
}

/* ---- the caller ---- */

int og__ranges_start(struct og_ranges **out, const struct og_block_requests *requested,
                     const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_ranges *r = calloc(1, sizeof(*r));
    if (!r)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", area_part);
    *r = (struct og_ranges){.requested = requested, .opt = *opt, .budget = b};
    og__shelf_init(&r->empty, AREAS);
    int rc;
    OG_TRY(og__queue_open(&r->full, AREAS, 0, err));
    OG_TRY(open_areas(r, err));
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
    close_areas(r);
    og__shelf_release(&r->empty);
    if (r->full)
        og__queue_free(r->full);
    free(r);
}
