#include "train/device_rows.h"

#include "budget/memory_plan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define VICTIMS "victim"
#define PLANS   "plans"
enum { LEAST_AREA = 256 };

/* A row that is to enter a slot of the host. */
struct entering {
    const char *from;
    uint32_t slot;
};
_Static_assert(sizeof(struct entering) == OG__ENTERING_BYTES, "as it is planned");

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
    struct og_budget *budget;
    struct og_nn_backend *backend[OG__MOST_DEVICES];
    struct og_rows_there *there;
    struct og_pinned pinned;
    struct og_gather *gather;
    char *victims; /* [n_victims] rows, pinned */
    /* the loader's: which area a flow's batch is read into, and what was read there last */
    int area[OG__MOST_ROOMS], next_area;
    struct collected collected[OG__MOST_ROOMS]; /* [areas] */
    struct entering *entering;                  /* [most] of the area entering_from */
    uint32_t n_entering, most;
    int entering_from;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    enum whose room[MOST_ROOMS]; /* guarded by lock */
    /* of whoever ends a batch, until it has failed */
    struct og_err why; /* guarded by lock */
    atomic_int failed;
    const struct og_work *kept; /* the consumer's: a trainer has its rows */
};

/* ---- open and close ---- */

static void *take_pinned(void *self, size_t bytes, struct og_err *err)
{
    const struct og_device_rows *d = self;
    return d->setup.ops->rows->pin(d->there, OG_MAX(bytes, (size_t)1), err);
}

static void give_pinned(void *self, void *p, size_t bytes)
{
    const struct og_device_rows *d = self;
    d->setup.ops->rows->unpin(d->there, p, OG_MAX(bytes, (size_t)1));
}

static size_t victim_bytes(const struct og_device_rows *d)
{
    return (size_t)d->setup.n_victims * d->setup.rows.row_bytes;
}

static int open_victims(struct og_device_rows *d, struct og_err *err)
{
    if (d->setup.n_victims == 0)
        return 0;
    int rc = og__budget_charge(d->budget, victim_bytes(d), VICTIMS, err);
    if (rc < 0)
        return rc;
    d->victims = take_pinned(d, victim_bytes(d), err);
    if (d->victims)
        return 0;
    og__budget_uncharge(d->budget, victim_bytes(d), VICTIMS);
    return -ENOMEM;
}

static int reserve_entering(struct og_device_rows *d, uint32_t n, struct og_err *err)
{
    if (d->entering && n <= d->most)
        return 0;
    og__release(d->budget, d->entering, d->most * sizeof(*d->entering), PLANS);
    d->most = 0;
    d->entering = og__alloc(d->budget, n * sizeof(*d->entering), PLANS, err);
    if (!d->entering)
        return -ENOMEM;
    d->most = n;
    return 0;
}

/* The first device's is the model's. */
static int open_backends(struct og_device_rows *d, struct og_err *err)
{
    const struct og_device_rows_setup *s = &d->setup;
    int rc = 0;
    d->backend[0] = s->backend;
    for (int k = 1; k < s->devices.n; k++) {
        OG_TRY(s->ops->open(&d->backend[k], s->devices.number[k], NULL, d->budget, err));
        OG_TRY(s->ops->bound(d->backend[k], s->bound, err));
    }
out:
    return rc;
}

int og__device_rows_open(struct og_device_rows **out, const struct og_dataset *ds,
                         const struct og_device_rows_setup *setup, struct og_budget *b,
                         struct og_err *err)
{
    struct og_device_rows *d = calloc(1, sizeof(*d));
    *out = NULL;
    if (!d)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    d->setup = *setup;
    d->budget = b;
    for (int i = 0; i < OG__MOST_ROOMS; i++)
        d->collected[i].room = -1;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->freed, NULL);
    d->pinned = (struct og_pinned){d, take_pinned, give_pinned};
    d->setup.gather.pinned = &d->pinned;
    int rc;
    OG_TRY(open_backends(d, err));
    OG_TRY(setup->ops->rows->open(&d->there, d->backend, setup->devices.n, &setup->rows, err));
    OG_TRY(og__gather_open(&d->gather, ds, &d->setup.gather, b, err));
    OG_TRY(open_victims(d, err));
    OG_TRY(reserve_entering(d, OG_MAX(setup->most, 1u), err));
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
    if (d->there) /* what it was asked may still read what is given back */
        (void)!d->setup.ops->rows->finish(d->there, NULL);
    og__gather_close(d->gather);
    if (d->victims) {
        give_pinned(d, d->victims, victim_bytes(d));
        og__budget_uncharge(d->budget, victim_bytes(d), VICTIMS);
    }
    og__release(d->budget, d->entering, d->most * sizeof(*d->entering), PLANS);
    d->setup.ops->rows->close(d->there);
    for (int k = 1; k < d->setup.devices.n; k++)
        d->setup.ops->close(d->backend[k]);
    pthread_cond_destroy(&d->freed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

const char *og__device_rows_engine(const struct og_device_rows *d)
{
    return og__gather_engine(d->gather);
}

void og__device_rows_from_pack(struct og_device_rows *d, struct og_pack *pack)
{
    og__gather_from_pack(d->gather, pack);
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
    return d->setup.gather.n_staging > 1 ? d->setup.rows.n_rooms : 1;
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
    const int first = keeper * OG__MOST_ROOMS, end = first + d->setup.rows.n_rooms;
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
    return d->setup.ops->rows->join(d->there, keeper, be, err);
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
    const int rc = d->setup.ops->rows->used(d->there, w->room, be, &err);
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
    if (room < 0)
        return 0;
    c->room = -1;
    const int rc = d->setup.ops->rows->wait(d->there, room, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < d->n_entering && d->entering_from == area; i++)
        og__gather_put(d->gather, d->entering[i].slot, d->entering[i].from);
    if (d->entering_from == area)
        d->n_entering = 0;
    og__timeline_add(*d->setup.timeline, "collect", c->batch, c->asked, og__now());
    return 0;
}

static int settle_all(struct og_device_rows *d, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->setup.gather.n_staging; i++)
        OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* Before another is collected on this device: what the host's slots get is there then. Several
 * devices may be at it side by side. */
static int settle_before(struct og_device_rows *d, int keeper, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->setup.gather.n_staging; i++)
        if (d->collected[i].room / OG__MOST_ROOMS == keeper ||
            (d->n_entering > 0 && d->entering_from == i))
            OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* ---- filling ---- */

/* Rows on their way to slots through a staging area. */
struct lot {
    int area;
    uint32_t first, n;
};

static int put(struct og_device_rows *d, const struct lot *l, const uint32_t *slots,
               struct og_io_counts *counts, struct og_err *err)
{
    struct og_io_counts read = {0};
    struct og_rows rows;
    int rc;
    OG_TRY(og__gather_finish(d->gather, l->area, &rows, &read, err));
    counts->reads += read.reads;
    counts->bytes += read.bytes;
    OG_TRY(d->setup.ops->rows->fill(d->there, rows.more[0].base, slots + l->first, l->n, err));
out:
    return rc;
}

/* By way of the staging areas, as many rows at a time as one holds: of two one is read while what
 * the other has is put into slots. */
static int fill_device(struct og_device_rows *d, const uint32_t *nodes, const uint32_t *slots,
                       uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    const uint32_t most = OG_MAX(d->setup.gather.staging_rows, (uint32_t)LEAST_AREA);
    const bool two = d->setup.gather.n_staging > 1;
    struct lot now = {0}, before = {0};
    struct og_plan plan[2]; /* borrowed while their areas are read */
    int rc = 0;
    for (; now.first < n; now.first += now.n, now.area = two && !now.area) {
        now.n = OG_MIN(n - now.first, most);
        plan[now.area] =
            (struct og_plan){.n_misses = now.n, .misses = (uint32_t *)nodes + now.first};
        OG_TRY(og__gather_begin(d->gather, now.area, &plan[now.area], UINT32_MAX,
                                err)); /* of no pack */
        if (before.n > 0)
            OG_TRY(put(d, &before, slots, counts, err));
        before = now;
        if (two)
            continue;
        OG_TRY(put(d, &now, slots, counts, err));
        before.n = 0;
    }
    if (before.n > 0)
        OG_TRY(put(d, &before, slots, counts, err));
out:
    return rc;
}

int og__device_rows_fill(struct og_device_rows *d, const uint32_t *nodes, uint32_t *places,
                         uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    int rc;
    OG_TRY(settle_all(d, err));
    if (n > 0 && places[0] < d->setup.at.host)
        return fill_device(d, nodes, places, n, counts, err);
    for (uint32_t i = 0; i < n; i++)
        places[i] -= d->setup.at.host;
    OG_TRY(og__gather_fill(d->gather, nodes, places, n, counts, err));
out:
    return rc;
}

int og__device_rows_fill_end(struct og_device_rows *d, struct og_io_counts *counts,
                             struct og_err *err)
{
    return og__gather_fill_end(d->gather, counts, err);
}

int og__device_rows_yield(struct og_device_rows *d, uint32_t n, struct og_err *err)
{
    const int rc = settle_all(d, err); /* what was asked may still read them */
    if (rc == 0)
        og__gather_yield(d->gather, n);
    return rc;
}

int og__device_rows_reclaim(struct og_device_rows *d, struct og_err *err)
{
    return og__gather_reclaim(d->gather, 0, err);
}

/* ---- a flow's batches ---- */

int og__device_rows_check(const struct og_device_rows *d, struct og_err *err)
{
    const int failed = d ? atomic_load(&d->failed) : 0; /* `why` is as it was from then on */
    return failed < 0 ? og__fail(err, failed, d->why.hint, "%s", d->why.message) : 0;
}

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->next_area;
    int rc;
    OG_TRY(og__device_rows_check(d, err));
    OG_TRY(settle(d, area, err));
    d->next_area = (area + 1) % d->setup.gather.n_staging;
    d->area[w->staging] = area;
    OG_TRY(og__gather_begin(d->gather, area, &w->plan, w->number, err));
out:
    return rc;
}

/* Places through all tiers; those of the device come first. */
static struct og_rows tiers_of(const struct og_device_rows *d, const struct og_rows *read)
{
    const struct og_tiers_places *at = &d->setup.at;
    struct og_rows x = *read;
    x.base = NULL;
    x.n_more = 3;
    x.more[0] = (struct og_tier){.base = read->base, .first = at->host};
    x.more[1] = (struct og_tier){.base = d->victims, .first = at->victim};
    x.more[2] = read->n_more > 0 ? read->more[0] : (struct og_tier){0};
    x.more[2].first = at->misses;
    return x;
}

/* Changes of the plan: into slots of the device, which it is asked to make, and of the host. The
 * former come first. */
static int note_entries(struct og_device_rows *d, int area, const struct og_plan *plan,
                        const struct og_rows *x, struct og_bringing *b, struct og_err *err)
{
    const uint32_t host = d->setup.at.host;
    uint32_t n = 0;
    d->n_entering = 0;
    d->entering_from = area;
    while (n < plan->n_changes && plan->change_slot[n] < host)
        n++;
    b->n_entries = n;
    b->entry_row = plan->change_row;
    b->entry_slot = plan->change_slot;
    int rc = reserve_entering(d, OG_MAX(plan->n_changes - n, 1u), err);
    for (uint32_t c = n; rc == 0 && c < plan->n_changes; c++)
        d->entering[d->n_entering++] = (struct entering){
            og__row_at(x, plan->place[plan->change_row[c]]), plan->change_slot[c] - host};
    return rc;
}

/* By the batch's device, into a room of its own. */
static int bring(struct og_device_rows *d, struct og_work *w, const struct og_rows *read,
                 struct og_err *err)
{
    const int area = d->area[w->staging];
    struct og_bringing b = {.x = tiers_of(d, read),
                            .n_moves = w->tiers.n_moves,
                            .move_from = w->tiers.move_from,
                            .move_to = w->tiers.move_to};
    struct og_brought brought;
    int rc;
    OG_TRY(note_entries(d, area, &w->plan, &b.x, &b, err));
    b.room = w->room = take_room(d, og__device_rows_keeper(d, w));
    const double asked = og__now();
    rc = d->setup.ops->rows->bring(d->there, &b, &brought, err);
    if (rc < 0) { /* some of it may have been asked: that ends before its area is another's */
        (void)!d->setup.ops->rows->finish(d->there, NULL);
        return rc;
    }
    d->collected[area] = (struct collected){b.room, asked, w->descriptor.batch};
    w->view = brought.rows;
    w->rows = &w->view;
    w->link_bytes = brought.link_bytes;
    w->link_bytes_back = brought.link_bytes_back;
    w->peer_hits = brought.peer_hits;
    w->peer_bytes = brought.peer_bytes;
out:
    return rc;
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    struct og_rows read;
    int rc;
    OG_TRY(og__gather_finish(d->gather, d->area[w->staging], &read, &w->read, err));
    OG_TRY(settle_before(d, og__device_rows_keeper(d, w), err));
    OG_TRY(bring(d, w, &read, err));
out:
    return rc;
}

static void give_up(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    og__gather_give_up(d->gather, d->area[w->staging]);
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
