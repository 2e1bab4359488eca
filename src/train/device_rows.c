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

struct og_device_rows {
    struct og_device_rows_setup setup;
    struct og_budget *budget;
    struct og_rows_there *there;
    struct og_pinned pinned;
    struct og_gather *gather;
    char *victims; /* [n_victims] rows, pinned */
    /* the loader's: which area a room's batch is read into, and the batch that was collected last,
     * as long as the host has not looked */
    int area[OG__MOST_ROOMS], next_area;
    int collected, collected_area; /* its room, and its area; -1: none */
    double asked;
    uint64_t batch;
    struct entering *entering; /* [most] */
    uint32_t n_entering, most;
    /* the consumer's, until it has failed */
    struct og_err why;
    atomic_int failed;
};

/* ---- open and close ---- */

static void *take_pinned(void *self, size_t bytes, struct og_err *err)
{
    const struct og_device_rows *d = self;
    return d->setup.ops->pin(d->there, OG_MAX(bytes, (size_t)1), err);
}

static void give_pinned(void *self, void *p, size_t bytes)
{
    const struct og_device_rows *d = self;
    d->setup.ops->unpin(d->there, p, OG_MAX(bytes, (size_t)1));
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
    d->collected = -1;
    d->pinned = (struct og_pinned){d, take_pinned, give_pinned};
    d->setup.gather.pinned = &d->pinned;
    int rc;
    OG_TRY(setup->ops->open(&d->there, setup->backend, &setup->rows, err));
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
        (void)!d->setup.ops->finish(d->there, NULL);
    og__gather_close(d->gather);
    if (d->victims) {
        give_pinned(d, d->victims, victim_bytes(d));
        og__budget_uncharge(d->budget, victim_bytes(d), VICTIMS);
    }
    og__release(d->budget, d->entering, d->most * sizeof(*d->entering), PLANS);
    d->setup.ops->close(d->there);
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

int og__device_rows_in_flight(const struct og_device_rows *d)
{
    return d->setup.gather.n_staging > 1 ? d->setup.rows.n_rooms : 1;
}

/* ---- a batch that was collected ---- */

/* Wait for it; then what it read may enter the host's slots, and its area is free. */
static int settle(struct og_device_rows *d, struct og_err *err)
{
    const int room = d->collected;
    if (room < 0)
        return 0;
    d->collected = -1;
    const int rc = d->setup.ops->wait(d->there, room, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < d->n_entering; i++)
        og__gather_put(d->gather, d->entering[i].slot, d->entering[i].from);
    og__timeline_add(*d->setup.timeline, "collect", d->batch, d->asked, og__now());
    return 0;
}

/* ---- filling ---- */

/* By way of the first staging area, as many rows at a time as it holds. */
static int fill_device(struct og_device_rows *d, const uint32_t *nodes, const uint32_t *slots,
                       uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    const uint32_t most = OG_MAX(d->setup.gather.staging_rows, (uint32_t)LEAST_AREA);
    int rc = 0;
    for (uint32_t first = 0, k; first < n; first += k) {
        struct og_io_counts read = {0};
        struct og_rows rows;
        k = OG_MIN(n - first, most);
        const struct og_plan plan = {.n_misses = k, .misses = (uint32_t *)nodes + first};
        OG_TRY(og__gather_begin(d->gather, 0, &plan, UINT32_MAX, err)); /* of no pack */
        OG_TRY(og__gather_finish(d->gather, 0, &rows, &read, err));
        counts->reads += read.reads;
        counts->bytes += read.bytes;
        OG_TRY(d->setup.ops->fill(d->there, rows.more[0].base, slots + first, k, err));
    }
out:
    return rc;
}

int og__device_rows_fill(struct og_device_rows *d, const uint32_t *nodes, uint32_t *places,
                         uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    int rc;
    OG_TRY(settle(d, err));
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

/* ---- a flow's batches ---- */

int og__device_rows_check(const struct og_device_rows *d, struct og_err *err)
{
    const int failed = d ? atomic_load(&d->failed) : 0;
    return failed < 0 ? og__fail(err, failed, d->why.hint, "%s", d->why.message) : 0;
}

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->next_area;
    int rc;
    OG_TRY(og__device_rows_check(d, err));
    if (d->collected >= 0 && d->collected_area == area)
        OG_TRY(settle(d, err));
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
static int note_entries(struct og_device_rows *d, const struct og_plan *plan,
                        const struct og_rows *x, struct og_bringing *b, struct og_err *err)
{
    const uint32_t host = d->setup.at.host;
    uint32_t n = 0;
    d->n_entering = 0;
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

static int bring(struct og_device_rows *d, struct og_work *w, const struct og_rows *read,
                 struct og_err *err)
{
    const int room = w->staging;
    struct og_bringing b = {.room = room,
                            .x = tiers_of(d, read),
                            .n_moves = w->tiers.n_moves,
                            .move_from = w->tiers.move_from,
                            .move_to = w->tiers.move_to};
    struct og_brought brought;
    int rc;
    OG_TRY(note_entries(d, &w->plan, &b.x, &b, err));
    d->asked = og__now();
    d->batch = w->descriptor.batch;
    rc = d->setup.ops->bring(d->there, &b, &brought, err);
    if (rc < 0) { /* some of it may have been asked: that ends before its area is another's */
        (void)!d->setup.ops->finish(d->there, NULL);
        return rc;
    }
    d->collected = room;
    d->collected_area = d->area[room];
    w->view = brought.rows;
    w->rows = &w->view;
    w->link_bytes = brought.link_bytes;
    w->link_bytes_back = brought.link_bytes_back;
out:
    return rc;
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    struct og_rows read;
    int rc;
    OG_TRY(og__gather_finish(d->gather, d->area[w->staging], &read, &w->read, err));
    OG_TRY(settle(d, err));
    OG_TRY(bring(d, w, &read, err));
out:
    return rc;
}

static void give_up(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    og__gather_give_up(d->gather, d->area[w->staging]);
}

/* The room is another batch's once the device is done with it. */
static void end(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    if (atomic_load(&d->failed) == 0)
        atomic_store(&d->failed, d->setup.ops->used(d->there, w->staging, &d->why));
}

struct og_row_source og__rows_on_device(struct og_device_rows *d)
{
    return (struct og_row_source){d, begin, finish, give_up, end};
}
