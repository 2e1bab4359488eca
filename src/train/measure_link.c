/* How fast rows come to a device: what a batch asks of it, timed. */
#include "nn/ops.h"
#include "train/measure.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "probe";
enum { MOST_ROWS = 4096, LEAST_ROWS = 16, FEWER = 8, TIMES = 3, MEMORY_SHARE = 8 };

/* So many slots there and so many rows of the host, and a room. */
struct link_probe {
    const struct og_rows_ops *ops;
    struct og_nn_backend *backend;
    struct og_rows_there *there;
    size_t row_bytes;
    uint32_t n;
    char *host;      /* [n] rows, pinned */
    uint32_t *place; /* [n] */
    struct og_budget *budget;
};

static size_t host_bytes(const struct link_probe *p)
{
    return p->n * (p->row_bytes + sizeof(*p->place)) + p->ops->host_bytes();
}

/* Rows in a share of what is free there and here. */
static uint32_t rows_of(const struct link_probe *p, const struct og_nn_ops *nn, size_t limit)
{
    const size_t left = og__budget_left(p->budget), own = nn->own_bytes(1) + p->ops->host_bytes();
    const size_t taken = nn->own_there ? nn->own_there() : 0;
    const size_t there = (limit - OG_MIN(limit, taken)) / MEMORY_SHARE / p->row_bytes;
    const size_t here =
        (left - OG_MIN(left, own)) / MEMORY_SHARE / (p->row_bytes + sizeof(*p->place));
    return (uint32_t)OG_MIN(OG_MIN(there, here), (size_t)MOST_ROWS);
}

static int open_probe(struct link_probe *p, const struct og_nn_ops *nn, int number, size_t limit,
                      struct og_err *err)
{
    const struct og_rows_setup setup = {
        .n_slots = p->n, .n_rooms = 1, .room_rows = p->n, .row_bytes = p->row_bytes};
    int rc;
    OG_TRY(og__budget_charge(p->budget, host_bytes(p), part, err));
    p->place = calloc(p->n, sizeof(*p->place));
    if (!p->place) {
        og__budget_uncharge(p->budget, host_bytes(p), part);
        return og__fail_errno(err, -ENOMEM, NULL, part);
    }
    OG_TRY(nn->open(&p->backend, number, NULL, p->budget, err));
    OG_TRY(nn->bound ? nn->bound(p->backend, limit, err) : 0);
    OG_TRY(p->ops->open(&p->there, &p->backend, 1, &setup, err));
    p->host = p->ops->pin(p->there, p->n * p->row_bytes, err);
    OG_TRY(p->host ? 0 : -ENOMEM);
    memset(p->host, 0, p->n * p->row_bytes);
    for (uint32_t i = 0; i < p->n; i++)
        OG_TRY(p->ops->fill(p->there, p->host, &i, 1, err));
out:
    return rc;
}

static void close_probe(struct link_probe *p, const struct og_nn_ops *nn)
{
    if (p->host)
        p->ops->unpin(p->there, p->host, p->n * p->row_bytes);
    p->ops->close(p->there);
    if (p->backend)
        nn->close(p->backend);
    if (p->place) {
        og__budget_uncharge(p->budget, host_bytes(p), part);
        free(p->place);
    }
}

/* The best of a few: n rows of places from `first` on; over the link where copies are modelled as
 * the model has it, else as the clock does. */
static int time_rows(struct link_probe *p, uint32_t first, uint32_t n, bool link, double *seconds,
                     struct og_err *err)
{
    const struct og_rows x = {.index = p->place,
                              .stride = p->row_bytes,
                              .n = n,
                              .dim = (int)p->row_bytes,
                              .dtype = OG_U8,
                              .n_more = 1,
                              .more = {{.base = p->host, .first = p->n}}};
    const struct og_bringing b = {.x = x};
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        p->place[i] = first + i;
    for (int k = 0; k < TIMES; k++) {
        struct og_brought ignored;
        const double modelled = p->ops->link_seconds(p->there);
        const double start = og__now();
        OG_TRY(p->ops->bring(p->there, &b, &ignored, err));
        OG_TRY(p->ops->finish(p->there, err));
        const double clock = og__now() - start;
        const double more = p->ops->link_seconds(p->there) - modelled;
        const double took = link && more > 0 ? more : clock;
        *seconds = k == 0 ? took : OG_MIN(*seconds, took);
    }
out:
    return rc;
}

/* A line through two sizes. */
static void set_rates(const struct link_probe *p, double few, double all, double there,
                      struct og_link_rates *out)
{
    const double bytes = (double)p->n * (double)p->row_bytes;
    const uint32_t n_few = p->n / FEWER;
    const double less = (double)n_few * (double)p->row_bytes;
    out->bandwidth = all > few ? (bytes - less) / (all - few) : bytes / OG_MAX(all, 1e-9);
    out->latency = OG_MAX(few - less / out->bandwidth, 0.0);
    out->collect = bytes / OG_MAX(there, 1e-9);
}

int og__time_link(const struct og_learner *l, size_t row_bytes, size_t limit, struct og_budget *b,
                  struct og_link_rates *out, struct og_err *err)
{
    struct link_probe p = {.ops = l->ops->rows, .row_bytes = row_bytes, .budget = b};
    double few = 0;
    double all = 0;
    double there = 0;
    int rc;
    *out = (struct og_link_rates){0};
    if (!p.ops)
        return 0;
    p.n = rows_of(&p, l->ops, limit);
    if (p.n < LEAST_ROWS)
        return 0;
    OG_TRY(open_probe(&p, l->ops, l->devices.number[0], limit, err));
    OG_TRY(time_rows(&p, p.n, p.n / FEWER, true, &few, err));
    OG_TRY(time_rows(&p, p.n, p.n, true, &all, err));
    OG_TRY(time_rows(&p, 0, p.n, false, &there, err));
    set_rates(&p, few, all, there, out);
out:
    close_probe(&p, l->ops);
    if (rc == -ENOMEM) { /* what it would tell is not worth a refusal */
        *err = (struct og_err){0};
        return 0;
    }
    return rc;
}
