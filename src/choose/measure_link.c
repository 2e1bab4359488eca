/* How fast rows come to devices: a batch's accesses, timed for each alone and for all in parallel.
 * Two that share a link, or the host's memory, are no faster together than one. */
#include "choose/measure.h"
#include "nn/ops.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "probe";
enum { MOST_ROWS = 4096, LEAST_ROWS = 16, FEWER = 8, TIMES = 3, MEMORY_SHARE = 8 };

/* So many slots of a device, as many rows of the host, and a room. */
struct side {
    struct og_nn_backend *backend;
    struct og_device_row_store *store;
    char *host; /* [n] rows, pinned */
};

struct link_probe {
    const struct og_nn_ops *nn;
    const struct og_rows_ops *ops;
    struct side side[OG__MOST_DEVICES];
    int n_sides;
    size_t row_bytes;
    uint32_t n;
    uint32_t *place; /* [n] */
    struct og_budget *budget;
};

static size_t row_bytes_here(const struct link_probe *p)
{
    return (size_t)p->n_sides * p->row_bytes + sizeof(*p->place);
}

static size_t host_bytes(const struct link_probe *p)
{
    return p->n * row_bytes_here(p) + (size_t)p->n_sides * p->ops->host_bytes();
}

/* Rows in a share of what is free on each device and here. */
static uint32_t rows_of(const struct link_probe *p, size_t limit)
{
    const size_t left = og__budget_left(p->budget);
    const size_t own = (size_t)p->n_sides * (p->nn->own_bytes(1) + p->ops->host_bytes());
    const size_t taken = p->nn->device_own_bytes ? p->nn->device_own_bytes() : 0;
    const size_t there = (limit - OG_MIN(limit, taken)) / MEMORY_SHARE / p->row_bytes;
    const size_t here = (left - OG_MIN(left, own)) / MEMORY_SHARE / row_bytes_here(p);
    return (uint32_t)OG_MIN(OG_MIN(there, here), (size_t)MOST_ROWS);
}

static int open_side(struct link_probe *p, struct side *s, int number, size_t limit,
                     struct og_err *err)
{
    const struct og_rows_setup setup = {
        .n_slots = p->n, .n_rooms = 1, .room_rows = p->n, .row_bytes = p->row_bytes};
    OG_DO(p->nn->open(&s->backend, number, NULL, p->budget, err));
    OG_DO(p->nn->bound ? p->nn->bound(s->backend, limit, err) : 0);
    OG_DO(p->ops->open(&s->store, &s->backend, 1, &setup, err));
    s->host = p->ops->pin(s->store, p->n * p->row_bytes, err);
    OG_DO(s->host ? 0 : -ENOMEM);
    memset(s->host, 0, p->n * p->row_bytes);
    for (uint32_t i = 0; i < p->n; i++)
        p->place[i] = i;
    return p->ops->fill(s->store, s->host, p->place, p->n, err);
}

static int open_probe(struct link_probe *p, const struct og_devices *devices, size_t limit,
                      struct og_err *err)
{
    int rc;
    OG_TRY(og__budget_charge(p->budget, host_bytes(p), part, err));
    p->place = calloc(p->n, sizeof(*p->place));
    if (!p->place) {
        og__budget_uncharge(p->budget, host_bytes(p), part);
        return og__fail_errno(err, -ENOMEM, NULL, part);
    }
    for (int k = 0; k < p->n_sides; k++)
        OG_TRY(open_side(p, &p->side[k], devices->number[k], limit, err));
out:
    return rc;
}

static void close_probe(struct link_probe *p)
{
    for (int k = 0; k < p->n_sides; k++) {
        struct side *s = &p->side[k];
        if (s->host)
            p->ops->unpin(s->store, s->host, p->n * p->row_bytes);
        p->ops->close(s->store);
        if (s->backend)
            p->nn->close(s->backend);
    }
    if (p->place) {
        og__budget_uncharge(p->budget, host_bytes(p), part);
        free(p->place);
    }
}

/* Which devices are timed side by side, and what. */
struct timing {
    int first, n_sides;
    uint32_t from, n; /* rows of places from there on */
    bool link;
};

/* For one device, where copies are modelled: seconds of its link so far. */
static double modelled(const struct link_probe *p, int k)
{
    return p->ops->link_seconds(p->side[k].store);
}

static int upload_once(struct link_probe *p, const struct timing *t, double *seconds,
                       struct og_err *err)
{
    double before[OG__MOST_DEVICES];
    double longest = 0;
    const double start = og__now();
    for (int k = t->first; k < t->first + t->n_sides; k++) {
        const struct og_rows x = {.index = p->place,
                                  .stride = p->row_bytes,
                                  .n = t->n,
                                  .dim = (int)p->row_bytes,
                                  .dtype = OG_U8,
                                  .n_more = 1,
                                  .more = {{.base = p->side[k].host, .first = p->n}}};
        const struct og_upload b = {.x = x};
        struct og_uploaded ignored;
        before[k] = modelled(p, k);
        OG_DO(p->ops->upload(p->side[k].store, &b, &ignored, err));
    }
    for (int k = t->first; k < t->first + t->n_sides; k++) {
        OG_DO(p->ops->finish(p->side[k].store, err));
        longest = OG_MAX(longest, modelled(p, k) - before[k]);
    }
    *seconds = t->link && longest > 0 ? longest : og__now() - start;
    return 0;
}

/* The best of a few times. Where copies are modelled it is the model's, else the clock's. */
static int time_rows(struct link_probe *p, const struct timing *t, double *seconds,
                     struct og_err *err)
{
    for (uint32_t i = 0; i < t->n; i++)
        p->place[i] = t->from + i;
    for (int k = 0; k < TIMES; k++) {
        double took;
        OG_DO(upload_once(p, t, &took, err));
        *seconds = k == 0 ? took : OG_MIN(*seconds, took);
    }
    return 0;
}

/* A line through two sizes; several devices have a batch each. */
static void set_rates(const struct link_probe *p, int n_sides, double few, double all, double there,
                      struct og_link_rates *out)
{
    const double a_row = (double)n_sides * (double)p->row_bytes;
    const double bytes = (double)p->n * a_row;
    const uint32_t n_few = p->n / FEWER;
    const double less = (double)n_few * a_row;
    out->bandwidth = all > few ? (bytes - less) / (all - few) : bytes / OG_MAX(all, 1e-9);
    out->latency = OG_MAX(few - less / out->bandwidth, 0.0) / n_sides;
    out->collect = bytes / OG_MAX(there, 1e-9);
}

static int time_sides(struct link_probe *p, int first, int n_sides, struct og_link_rates *out,
                      struct og_err *err)
{
    const struct timing a_few = {first, n_sides, p->n, p->n / FEWER, true};
    const struct timing the_lot = {first, n_sides, p->n, p->n, true};
    const struct timing had = {first, n_sides, 0, p->n, false};
    double few;
    double all;
    double there;
    OG_DO(time_rows(p, &a_few, &few, err));
    OG_DO(time_rows(p, &the_lot, &all, err));
    OG_DO(time_rows(p, &had, &there, err));
    set_rates(p, n_sides, few, all, there, out);
    return 0;
}

int og__know_links(const struct og_learner *l, const struct og_config *config,
                   struct og_workload *f, struct og_budget *b, struct og_err *err)
{
    const size_t limit = (size_t)config->opt.device_memory.value;
    const size_t row_bytes = f->bytes.widest;
    const int n = f->keepers;
    struct og_links *out = &f->links;
    if (out->n == n)
        return 0;
    struct link_probe p = {
        .nn = l->ops, .ops = l->ops->rows, .n_sides = n, .row_bytes = row_bytes, .budget = b};
    int rc;
    *out = (struct og_links){0};
    if (!p.ops || row_bytes == 0) /* no type of nodes has features */
        return 0;
    p.n = rows_of(&p, limit);
    if (p.n < LEAST_ROWS)
        return 0;
    OG_TRY(open_probe(&p, &l->devices, limit, err));
    for (int k = 0; k < n; k++)
        OG_TRY(time_sides(&p, k, 1, &out->each[k], err));
    if (n > 1)
        OG_TRY(time_sides(&p, 0, n, &out->all, err));
    else
        out->all = out->each[0];
    out->n = n;
out:
    close_probe(&p);
    if (rc == -ENOMEM) { /* the measurement is not worth a refusal */
        *err = (struct og_err){0};
        *out = (struct og_links){0};
        return 0;
    }
    return rc;
}
