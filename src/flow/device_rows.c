#include "flow/device_rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A batch that was collected, as long as the host has not looked. */
struct collected {
    int room; /* -1: none */
    double asked;
    uint64_t batch;
};

/* Who has a room: nobody; a batch of the flow; a trainer, beyond the batch's turn. */
enum whose { FREE, OF_FLOW, OF_TRAINER };
enum { MOST_ROOMS = OG__MOST_DEVICES * OG__MOST_ROOMS };
_Static_assert((int)OG__MOST_DEVICES <= (int)OG__MOST_KEEPERS, "each may keep rows");

struct og_device_rows {
    struct og_device_rows_setup setup;
    struct og_nn_backend *backend[OG__MOST_DEVICES];
    struct og_device_width *width; /* [n_widths] */
    uint32_t n_widths;             /* that were opened */
    int n_staging, n_rooms;
    struct og_device_width *filled; /* whose slots are being filled; NULL: none's */
    struct og_rows *view;           /* [MOST_ROOMS][n_views] */
    /* the loader's: which area a flow's batch is read into, and what was read there last */
    int area[OG__MOST_ROOMS], next_area;
    struct collected collected[OG__MOST_ROOMS]; /* [areas] */
    pthread_mutex_t lock;
    pthread_cond_t freed;
    enum whose room[MOST_ROOMS]; /* guarded by lock */
    /* of whoever ends a batch, until it has failed */
    struct og_err why; /* guarded by lock */
    atomic_int failed;
    const struct og_work *kept; /* the consumer's: a trainer has its rows */
};

static const struct og_rows_ops *ops_of(const struct og_device_rows *d)
{
    return d->setup.ops->rows;
}

/* ---- open and close ---- */

/* The first device's is the model's. */
static int open_backends(struct og_device_rows *d, struct og_budget *b, struct og_err *err)
{
    const struct og_device_rows_setup *s = &d->setup;
    int rc = 0;
    d->backend[0] = s->backend;
    for (int k = 1; k < s->devices.n; k++) {
        OG_TRY(s->ops->open(&d->backend[k], s->devices.number[k], NULL, b, err));
        OG_TRY(s->ops->bound(d->backend[k], s->bound, err));
    }
out:
    return rc;
}

static int open_widths(struct og_device_rows *d, struct og_budget *b, struct og_err *err)
{
    const struct og_device_rows_setup *s = &d->setup;
    int rc = 0;
    while (d->n_widths < s->n_widths) {
        struct og_device_width *w = &d->width[d->n_widths];
        d->n_widths++;
        OG_TRY(og__device_width_open(w, &s->width[w - d->width], ops_of(d), d->backend,
                                     s->devices.n, b, err));
    }
    /* where no type of nodes has features there is nothing to wait for */
    d->n_staging = d->n_widths > 0 ? d->width[0].setup.gather.n_staging : 1;
    d->n_rooms = d->n_widths > 0 ? d->width[0].setup.rows.n_rooms : 1;
out:
    d->setup.width = NULL; /* borrowed no longer */
    return rc;
}

int og__device_rows_open(struct og_device_rows **out, const struct og_device_rows_setup *setup,
                         struct og_budget *b, struct og_err *err)
{
    struct og_device_rows *d = calloc(1, sizeof(*d));
    *out = NULL;
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    d->setup = *setup;
    for (int i = 0; i < OG__MOST_ROOMS; i++)
        d->collected[i].room = -1;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->freed, NULL);
    d->width = calloc(setup->n_widths, sizeof(*d->width));
    d->view = calloc((size_t)MOST_ROOMS * setup->n_views, sizeof(*d->view));
    int rc = 0;
    if (!d->width || !d->view)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "device cache"));
    OG_TRY(open_backends(d, b, err));
    OG_TRY(open_widths(d, b, err));
    *out = d;
    return 0;
out:
    og__device_rows_close(d);
    return rc;
}

void og__device_rows_close(struct og_device_rows *d)
{
    if (!d)
        return;
    for (uint32_t k = 0; k < d->n_widths; k++)
        og__device_width_close(&d->width[k]);
    for (int k = 1; k < d->setup.devices.n; k++)
        d->setup.ops->close(d->backend[k]);
    pthread_cond_destroy(&d->freed);
    pthread_mutex_destroy(&d->lock);
    free(d->width);
    free(d->view);
    free(d);
}

const char *og__device_rows_engine(const struct og_device_rows *d)
{
    return d->n_widths > 0 ? og__gather_engine(d->width[0].gather) : "none";
}

void og__device_rows_from_packs(struct og_device_rows *d, struct og_pack *const *packs)
{
    for (uint32_t k = 0; k < d->n_widths; k++)
        og__gather_from_packs(d->width[k].gather, packs ? &packs[k] : NULL);
}

/* ---- rooms ---- */

/* Those of batches that an earlier flow did not come to are nobody's; trainers may be at work. */
int og__device_rows_start(struct og_device_rows *d)
{
    pthread_mutex_lock(&d->lock);
    for (int i = 0; i < MOST_ROOMS; i++)
        if (d->room[i] == OF_FLOW)
            d->room[i] = FREE;
    pthread_mutex_unlock(&d->lock);
    return d->n_staging > 1 ? d->n_rooms : 1;
}

int og__device_rows_keeper(const struct og_device_rows *d, const struct og_work *w)
{
    if (!d)
        return -1;
    return w->descriptor.split == OG__TRAIN
               ? (int)(w->descriptor.batch % (uint32_t)d->setup.devices.n)
               : 0;
}

/* Of that device, in the place of one that is free. Where there is none trainers have them, which
 * will be done: a flow has no more batches at a time than a device has rooms. */
static int take_room(struct og_device_rows *d, int keeper)
{
    const int first = keeper * OG__MOST_ROOMS, end = first + d->n_rooms;
    int found;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        for (found = first; found < end && d->room[found] != FREE;)
            found++;
        if (found < end)
            break;
        pthread_cond_wait(&d->freed, &d->lock);
    }
    d->room[found] = OF_FLOW;
    pthread_mutex_unlock(&d->lock);
    return found;
}

static void set_room(struct og_device_rows *d, int room, enum whose whose)
{
    pthread_mutex_lock(&d->lock);
    d->room[room] = whose;
    pthread_cond_broadcast(&d->freed);
    pthread_mutex_unlock(&d->lock);
}

int og__device_rows_join(struct og_device_rows *d, int keeper, struct og_nn_backend *be,
                         struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < d->n_widths; k++)
        OG_TRY(ops_of(d)->join(d->width[k].there, keeper, be, err));
out:
    return rc;
}

void og__device_rows_keep(struct og_device_rows *d, const struct og_work *w)
{
    d->kept = w;
    set_room(d, w->room, OF_TRAINER);
}

/* It is another batch's once the device is done with it. */
void og__device_rows_done(struct og_device_rows *d, const struct og_work *w,
                          struct og_nn_backend *be)
{
    struct og_err err = {0};
    int rc = 0;
    for (uint32_t k = 0; k < d->n_widths && rc == 0; k++)
        rc = ops_of(d)->used(d->width[k].there, w->room, be, &err);
    pthread_mutex_lock(&d->lock);
    if (rc < 0 && atomic_load(&d->failed) == 0) {
        d->why = err;
        atomic_store(&d->failed, rc);
    }
    pthread_mutex_unlock(&d->lock);
    set_room(d, w->room, FREE);
}

/* ---- a batch that was collected ---- */

/* Wait for it; then what it read may enter the host's slots, and its area is free. */
static int settle(struct og_device_rows *d, int area, struct og_err *err)
{
    struct collected *c = &d->collected[area];
    const int room = c->room;
    int rc = 0;
    if (room < 0)
        return 0;
    c->room = -1;
    for (uint32_t k = 0; k < d->n_widths; k++)
        OG_TRY(ops_of(d)->wait(d->width[k].there, room, err));
    for (uint32_t k = 0; k < d->n_widths; k++)
        og__device_width_enter(&d->width[k], area);
    og__timeline_add(*d->setup.timeline, "collect", c->batch, c->asked, og__now());
out:
    return rc;
}

/* Has it rows that are to enter the host's slots? */
static bool enters(const struct og_device_rows *d, int area)
{
    for (uint32_t k = 0; k < d->n_widths; k++)
        if (d->width[k].n_entering > 0 && d->width[k].entering_from == area)
            return true;
    return false;
}

static int settle_all(struct og_device_rows *d, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->n_staging; i++)
        OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* Before another is collected on this device: what the host's slots get is there then. Several
 * devices may be at it side by side. */
static int settle_before(struct og_device_rows *d, int keeper, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->n_staging; i++)
        if (d->collected[i].room / OG__MOST_ROOMS == keeper || enters(d, i))
            OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* ---- filling ---- */

static struct og_device_width *width_of(struct og_device_rows *d, uint32_t node)
{
    uint32_t k = 0;
    while (k + 1 < d->n_widths && node >= d->width[k].setup.end)
        k++;
    return &d->width[k];
}

int og__device_rows_fill(struct og_device_rows *d, uint32_t *nodes, uint32_t *places, uint32_t n,
                         struct og_io_counts *counts, struct og_err *err)
{
    int rc;
    OG_TRY(settle_all(d, err));
    if (n == 0)
        return 0;
    struct og_device_width *w = width_of(d, nodes[0]);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] -= w->setup.first;
    if (d->filled && d->filled != w)
        OG_TRY(og__gather_fill_end(d->filled->gather, counts, err));
    d->filled = w;
    OG_TRY(og__device_width_fill(w, nodes, places, n, counts, err));
out:
    return rc;
}

int og__device_rows_fill_end(struct og_device_rows *d, struct og_io_counts *counts,
                             struct og_err *err)
{
    struct og_device_width *w = d->filled;
    d->filled = NULL;
    return w ? og__gather_fill_end(w->gather, counts, err) : 0;
}

int og__device_rows_yield(struct og_device_rows *d, uint32_t n, struct og_err *err)
{
    const int rc = settle_all(d, err); /* what was asked may still read them */
    for (uint32_t k = 0; rc == 0 && k < d->n_widths; k++)
        og__gather_yield(d->width[k].gather, n);
    return rc;
}

int og__device_rows_reclaim(struct og_device_rows *d, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < d->n_widths; k++)
        OG_TRY(og__gather_reclaim(d->width[k].gather, 0, err));
out:
    return rc;
}

/* ---- a flow's batches ---- */

int og__device_rows_check(const struct og_device_rows *d, struct og_err *err)
{
    const int failed = d ? atomic_load(&d->failed) : 0; /* `why` is as it was from then on */
    return failed < 0 ? og__fail(err, failed, d->why.hint, "%s", d->why.message) : 0;
}

/* What of a batch is of a width. */
static struct og_tiers_plan plan_of(const struct og_device_rows *d, const struct og_work *w,
                                    const struct og_device_width *of)
{
    return og__tiers_plan_part(&w->tiers, (uint32_t)(of - d->width));
}

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->next_area;
    uint32_t k = 0;
    int rc;
    OG_TRY(og__device_rows_check(d, err));
    OG_TRY(settle(d, area, err));
    d->next_area = (area + 1) % d->n_staging;
    d->area[w->staging] = area;
    for (; k < d->n_widths; k++) {
        const struct og_tiers_plan plan = plan_of(d, w, &d->width[k]);
        OG_TRY(og__device_width_begin(&d->width[k], area, &plan, w->number, err));
    }
out:
    while (rc < 0 && k-- > 0) /* the others' reads end before their area is another's */
        og__gather_give_up(d->width[k].gather, area);
    return rc;
}

static int bring_widths(struct og_device_rows *d, struct og_work *w, int area, struct og_rows *view,
                        struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; k < d->n_widths; k++) {
        struct og_brought brought;
        OG_TRY(og__device_width_bring(&d->width[k], area, w->room, &brought, err));
        view[d->width[k].setup.view] = brought.rows;
        w->link_bytes += brought.link_bytes;
        w->link_bytes_back += brought.link_bytes_back;
        w->peer_hits += brought.peer_hits;
        w->peer_bytes += brought.peer_bytes;
    }
out:
    return rc;
}

/* By the batch's device, into a room of its own. */
static int bring(struct og_device_rows *d, struct og_work *w, struct og_err *err)
{
    const int area = d->area[w->staging];
    w->room = take_room(d, og__device_rows_keeper(d, w));
    const double asked = og__now();
    struct og_rows *view = d->view + (size_t)w->room * d->setup.n_views;
    const int rc = bring_widths(d, w, area, view, err);
    if (rc < 0) { /* some of it may have been asked: that ends before its area is another's */
        for (uint32_t k = 0; k < d->n_widths; k++)
            (void)!ops_of(d)->finish(d->width[k].there, NULL);
        return rc;
    }
    d->collected[area] = (struct collected){w->room, asked, w->descriptor.batch};
    w->rows = view;
    return 0;
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->area[w->staging];
    uint32_t k = 0;
    int rc = 0;
    for (; k < d->n_widths; k++)
        OG_TRY(og__device_width_finish(&d->width[k], area, &w->read, err));
    OG_TRY(settle_before(d, og__device_rows_keeper(d, w), err));
    OG_TRY(bring(d, w, err));
out:
    while (rc < 0 && ++k < d->n_widths)
        og__gather_give_up(d->width[k].gather, area);
    return rc;
}

static void give_up(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    for (uint32_t k = 0; k < d->n_widths; k++)
        og__gather_give_up(d->width[k].gather, d->area[w->staging]);
}

/* Unless a trainer has its rows. Those on a device without the model are a trainer's, or nobody's.
 */
static void end(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    if (d->kept != w)
        og__device_rows_done(d, w, d->backend[w->room / OG__MOST_ROOMS]);
    d->kept = NULL;
}

struct og_row_source og__rows_on_device(struct og_device_rows *d)
{
    return (struct og_row_source){d, begin, finish, give_up, end};
}
