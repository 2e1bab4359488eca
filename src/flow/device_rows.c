#include "flow/device_rows.h"

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

/* A group's rows, on n backends. */
struct group {
    struct og_device_group setup;
    const struct og_rows_ops *ops;
    struct og_budget *budget;
    struct og_device_row_store *store;
    struct og_pinned pinned;
    struct og_gather *gather;
    char *victims; /* [n_victims] rows, pinned */
    /* by staging area: the plan that is carried out, and what was read for it */
    struct og_tiers_plan plan[OG__MOST_ROOMS];
    struct og_rows read[OG__MOST_ROOMS];
    struct entering *entering; /* [most] of the area entering_from */
    uint32_t n_entering, most;
    int entering_from;
};

/* A batch that was collected, as long as the host has not looked. */
struct collected {
    int room; /* -1: none */
    double requested;
    uint64_t batch;
};

/* Who has a room: nobody; a batch of the flow; a trainer, beyond the batch's turn. */
enum whose { FREE, OF_FLOW, OF_TRAINER };
enum { MOST_ROOMS = OG__MOST_DEVICES * OG__MOST_ROOMS };
_Static_assert((int)OG__MOST_DEVICES <= (int)OG__MOST_KEEPERS, "each may keep rows");

struct og_device_rows {
    struct og_device_rows_setup setup;
    struct og_nn_backend *backend[OG__MOST_DEVICES];
    struct group *group; /* [n_groups] */
    uint32_t n_groups;   /* that were opened */
    int n_staging, n_rooms;
    struct group *filled; /* whose slots are being filled; NULL: none's */
    struct og_rows *view; /* [MOST_ROOMS][n_views] */
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

/* ---- a group: open and close ---- */

static void *take_pinned(void *self, size_t bytes, struct og_err *err)
{
    const struct group *w = self;
    return w->ops->pin(w->store, OG_MAX(bytes, (size_t)1), err);
}

static void give_pinned(void *self, void *p, size_t bytes)
{
    const struct group *w = self;
    w->ops->unpin(w->store, p, OG_MAX(bytes, (size_t)1));
}

static size_t victim_bytes(const struct group *w)
{
    return (size_t)(w->setup.at.misses - w->setup.at.victim) * w->setup.rows.row_bytes;
}

static int open_victims(struct group *w, struct og_err *err)
{
    if (victim_bytes(w) == 0)
        return 0;
    OG_DO(og__budget_charge(w->budget, victim_bytes(w), VICTIMS, err));
    w->victims = take_pinned(w, victim_bytes(w), err);
    if (w->victims)
        return 0;
    og__budget_uncharge(w->budget, victim_bytes(w), VICTIMS);
    return -ENOMEM;
}

static int reserve_entering(struct group *w, uint32_t n, struct og_err *err)
{
    if (w->entering && n <= w->most)
        return 0;
    og__release(w->budget, w->entering, w->most * sizeof(*w->entering), PLANS);
    w->most = 0;
    w->entering = og__alloc(w->budget, n * sizeof(*w->entering), PLANS, err);
    if (!w->entering)
        return -ENOMEM;
    w->most = n;
    return 0;
}

static int open_group(struct group *w, const struct og_device_group *setup,
                      const struct og_rows_ops *ops, struct og_nn_backend *const *be, int n,
                      struct og_budget *b, struct og_err *err)
{
    *w = (struct group){.setup = *setup, .ops = ops, .budget = b};
    w->pinned = (struct og_pinned){w, take_pinned, give_pinned};
    w->setup.gather.pinned = &w->pinned;
    w->setup.gather.n_slots = &w->setup.n_slots;
    w->setup.gather.staging_rows = &w->setup.staging_rows;
    OG_DO(ops->open(&w->store, be, n, &setup->rows, err));
    OG_DO(og__gather_open(&w->gather, setup->group, 1, &w->setup.gather, b, err));
    OG_DO(open_victims(w, err));
    return reserve_entering(w, OG_MAX((uint32_t)setup->rows.room_rows, 1u), err);
}

static void close_group(struct group *w)
{
    if (!w->ops)
        return;
    if (w->store) /* queued kernels may still read what is given back */
        (void)!w->ops->finish(w->store, NULL);
    og__gather_close(w->gather);
    if (w->victims) {
        give_pinned(w, w->victims, victim_bytes(w));
        og__budget_uncharge(w->budget, victim_bytes(w), VICTIMS);
    }
    og__release(w->budget, w->entering, w->most * sizeof(*w->entering), PLANS);
    w->ops->close(w->store);
}

/* ---- a group: filling ---- */

/* Rows on their way to slots through a staging area. */
struct lot {
    int area;
    uint32_t first, n;
};

static int put(struct group *w, const struct lot *l, const uint32_t *slots,
               struct og_io_counts *counts, struct og_err *err)
{
    struct og_io_counts read = {0};
    const struct og_rows *rows;
    OG_DO(og__gather_finish(w->gather, l->area, &rows, &read, err));
    counts->reads += read.reads;
    counts->bytes += read.bytes;
    return w->ops->fill(w->store, rows->more[0].base, slots + l->first, l->n, err);
}

/* Reads through the staging areas, as many rows at a time as one holds. With two, one is read while
 * the other's rows are put into slots. */
static int fill_device(struct group *w, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                       struct og_io_counts *counts, struct og_err *err)
{
    const uint32_t most = OG_MAX(w->setup.staging_rows, (uint32_t)LEAST_AREA);
    const bool two = w->setup.gather.n_staging > 1;
    struct lot now = {0}, before = {0};
    struct og_plan plan[2]; /* borrowed while their areas are read */
    int rc = 0;
    for (; now.first < n; now.first += now.n, now.area = two && !now.area) {
        now.n = OG_MIN(n - now.first, most);
        plan[now.area] =
            (struct og_plan){.n_misses = now.n, .misses = (uint32_t *)nodes + now.first};
        OG_TRY(og__gather_begin(w->gather, now.area, &plan[now.area], NULL, UINT32_MAX,
                                err)); /* of no pack */
        if (before.n > 0)
            OG_TRY(put(w, &before, slots, counts, err));
        before = now;
        if (two)
            continue;
        OG_TRY(put(w, &now, slots, counts, err));
        before.n = 0;
    }
    if (before.n > 0)
        OG_TRY(put(w, &before, slots, counts, err));
out:
    return rc;
}

static int fill_group(struct group *w, const uint32_t *nodes, uint32_t *places, uint32_t n,
                      struct og_io_counts *counts, struct og_err *err)
{
    const uint32_t host = w->setup.at.host;
    if (n > 0 && places[0] < host)
        return fill_device(w, nodes, places, n, counts, err);
    for (uint32_t i = 0; i < n; i++)
        places[i] -= host;
    return og__gather_fill(w->gather, nodes, places, n, counts, err);
}

/* ---- a group: its part of a batch ---- */

static int begin_group(struct group *w, int area, const struct og_tiers_plan *plan, uint32_t chunk,
                       struct og_err *err)
{
    w->plan[area] = *plan;
    return og__gather_begin(w->gather, area, &w->plan[area].plan, NULL, chunk, err);
}

static int finish_group(struct group *w, int area, struct og_io_counts *read, struct og_err *err)
{
    struct og_io_counts own = {0};
    const struct og_rows *rows;
    const int rc = og__gather_finish(w->gather, area, &rows, &own, err);
    if (rc == 0)
        w->read[area] = *rows;
    read->reads += own.reads;
    read->bytes += own.bytes;
    return rc;
}

/* Places through all tiers; those of the device come first. */
static struct og_rows tiers_of(const struct group *w, const struct og_rows *read)
{
    const struct og_tiers_places *at = &w->setup.at;
    struct og_rows x = *read;
    x.base = NULL;
    x.n_more = 3;
    x.more[0] = (struct og_tier){.base = read->base, .first = at->host};
    x.more[1] = (struct og_tier){.base = w->victims, .first = at->victim};
    x.more[2] = read->n_more > 0 ? read->more[0] : (struct og_tier){0};
    x.more[2].first = at->misses;
    return x;
}

/* Changes of the plan: into slots of the device, by a queued kernel, and of the host. The former
 * come first. */
static int note_entries(struct group *w, int area, const struct og_plan *plan, struct og_upload *b,
                        struct og_err *err)
{
    const uint32_t host = w->setup.at.host;
    uint32_t n = 0;
    w->n_entering = 0;
    w->entering_from = area;
    while (n < plan->n_changes && plan->change_slot[n] < host)
        n++;
    b->n_entries = n;
    b->entry_row = plan->change_row;
    b->entry_slot = plan->change_slot;
    int rc = reserve_entering(w, OG_MAX(plan->n_changes - n, 1u), err);
    for (uint32_t c = n; rc == 0 && c < plan->n_changes; c++)
        w->entering[w->n_entering++] = (struct entering){
            og__row_at(&b->x, plan->place[plan->change_row[c]]), plan->change_slot[c] - host};
    return rc;
}

static int upload_group(struct group *w, int area, int room, struct og_uploaded *out,
                        struct og_err *err)
{
    const struct og_tiers_plan *p = &w->plan[area];
    struct og_upload b = {.room = room,
                          .x = tiers_of(w, &w->read[area]),
                          .n_moves = p->n_moves,
                          .move_from = p->move_from,
                          .move_to = p->move_to};
    OG_DO(note_entries(w, area, &p->plan, &b, err));
    return w->ops->upload(w->store, &b, out, err);
}

static void enter_rows(struct group *w, int area)
{
    for (uint32_t i = 0; i < w->n_entering && w->entering_from == area; i++)
        og__gather_put(w->gather, w->entering[i].slot, w->entering[i].from);
    if (w->entering_from == area)
        w->n_entering = 0;
}

static const struct og_rows_ops *ops_of(const struct og_device_rows *d)
{
    return d->setup.ops->rows;
}

/* ---- open and close ---- */

/* The first device's is the model's. */
static int open_backends(struct og_device_rows *d, struct og_budget *b, struct og_err *err)
{
    const struct og_device_rows_setup *s = &d->setup;
    d->backend[0] = s->backend;
    for (int k = 1; k < s->devices.n; k++) {
        OG_DO(s->ops->open(&d->backend[k], s->devices.number[k], NULL, b, err));
        OG_DO(s->ops->bound(d->backend[k], s->bound, err));
    }
    return 0;
}

static int open_groups(struct og_device_rows *d, struct og_budget *b, struct og_err *err)
{
    const struct og_device_rows_setup *s = &d->setup;
    int rc = 0;
    while (d->n_groups < s->n_groups) {
        struct group *w = &d->group[d->n_groups];
        d->n_groups++;
        OG_TRY(open_group(w, &s->group[w - d->group], ops_of(d), d->backend, s->devices.n, b, err));
    }
    /* where no type of nodes has features there is nothing to wait for */
    d->n_staging = d->n_groups > 0 ? d->group[0].setup.gather.n_staging : 1;
    d->n_rooms = d->n_groups > 0 ? d->group[0].setup.rows.n_rooms : 1;
out:
    d->setup.group = NULL; /* borrowed no longer */
    return rc;
}

static void close_rows(void *self)
{
    struct og_device_rows *d = self;
    for (uint32_t k = 0; d->group && k < d->n_groups; k++)
        close_group(&d->group[k]);
    for (int k = 1; k < d->setup.devices.n; k++)
        d->setup.ops->close(d->backend[k]);
    pthread_cond_destroy(&d->freed);
    pthread_mutex_destroy(&d->lock);
    free(d->group);
    free(d->view);
    free(d);
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
    d->group = calloc(setup->n_groups, sizeof(*d->group));
    d->view = calloc((size_t)MOST_ROOMS * setup->n_views, sizeof(*d->view));
    int rc = 0;
    if (!d->group || !d->view)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "device cache"));
    OG_TRY(open_backends(d, b, err));
    OG_TRY(open_groups(d, b, err));
    *out = d;
    return 0;
out:
    close_rows(d);
    return rc;
}

static const char *engine(const void *self)
{
    const struct og_device_rows *d = self;
    return d->n_groups > 0 ? og__gather_engine(d->group[0].gather) : "none";
}

static void from_packs(void *self, struct og_pack *const *packs)
{
    struct og_device_rows *d = self;
    for (uint32_t k = 0; k < d->n_groups; k++)
        og__gather_from_packs(d->group[k].gather, packs ? &packs[k] : NULL);
}

/* ---- rooms ---- */

/* Those of batches that an earlier flow did not come to are nobody's; trainers may be at work. */
static int start(void *self)
{
    struct og_device_rows *d = self;
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

/* A row buffer of that device that is free. Where there is none trainers have them, which will be
 * done: a flow has no more batches at a time than a device has rooms. */
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
    for (uint32_t k = 0; k < d->n_groups; k++)
        OG_TRY(ops_of(d)->join(d->group[k].store, keeper, be, err));
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
    for (uint32_t k = 0; k < d->n_groups && rc == 0; k++)
        rc = ops_of(d)->used(d->group[k].store, w->room, be, &err);
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
    for (uint32_t k = 0; k < d->n_groups; k++)
        OG_TRY(ops_of(d)->wait(d->group[k].store, room, err));
    for (uint32_t k = 0; k < d->n_groups; k++)
        enter_rows(&d->group[k], area);
    og__timeline_add(*d->setup.timeline, "collect", c->batch, c->requested, og__now());
out:
    return rc;
}

/* Has it rows that are to enter the host's slots? */
static bool enters(const struct og_device_rows *d, int area)
{
    for (uint32_t k = 0; k < d->n_groups; k++)
        if (d->group[k].n_entering > 0 && d->group[k].entering_from == area)
            return true;
    return false;
}

static int resolve_all(struct og_device_rows *d, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->n_staging; i++)
        OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* Before another is collected on this device: what the host's slots get is there then. Several
 * devices may be at it side by side. */
static int resolve_before(struct og_device_rows *d, int keeper, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < d->n_staging; i++)
        if (d->collected[i].room / OG__MOST_ROOMS == keeper || enters(d, i))
            OG_TRY(settle(d, i, err));
out:
    return rc;
}

/* ---- filling ---- */

static uint32_t end_of(const struct og_group *g)
{
    return (uint32_t)(g->first + g->n_nodes);
}

static struct group *group_of(struct og_device_rows *d, uint32_t node)
{
    uint32_t k = 0;
    while (k + 1 < d->n_groups && node >= end_of(d->group[k].setup.group))
        k++;
    return &d->group[k];
}

static int fill(void *self, uint32_t *nodes, uint32_t *places, uint32_t n,
                struct og_io_counts *counts, struct og_err *err)
{
    struct og_device_rows *d = self;
    OG_DO(resolve_all(d, err));
    if (n == 0)
        return 0;
    struct group *w = group_of(d, nodes[0]);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] -= (uint32_t)w->setup.group->first;
    if (d->filled && d->filled != w)
        OG_DO(og__gather_fill_end(d->filled->gather, counts, err));
    d->filled = w;
    return fill_group(w, nodes, places, n, counts, err);
}

static int fill_end(void *self, struct og_io_counts *counts, struct og_err *err)
{
    struct og_device_rows *d = self;
    struct group *w = d->filled;
    d->filled = NULL;
    return w ? og__gather_fill_end(w->gather, counts, err) : 0;
}

static int release_slots(void *self, uint32_t n, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int rc = resolve_all(d, err); /* queued kernels may still read them */
    for (uint32_t k = 0; rc == 0 && k < d->n_groups; k++)
        og__gather_release_slots(d->group[k].gather, n);
    return rc;
}

static int reclaim(void *self, size_t bytes, struct og_err *err)
{
    const struct og_device_rows *d = self;
    (void)bytes; /* all or none */
    for (uint32_t k = 0; k < d->n_groups; k++)
        OG_DO(og__gather_reclaim(d->group[k].gather, 0, err));
    return 0;
}

/* ---- a flow's batches ---- */

static int check(void *self, struct og_err *err)
{
    const struct og_device_rows *d = self;
    const int failed = atomic_load(&d->failed); /* `why` is as it was from then on */
    return failed < 0 ? og__fail(err, failed, d->why.hint, "%s", d->why.message) : 0;
}

/* What of a batch is of a group. */
static struct og_tiers_plan plan_of(const struct og_device_rows *d, const struct og_work *w,
                                    const struct group *of)
{
    return og__tiers_plan_part(&w->tiers, (uint32_t)(of - d->group));
}

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->next_area;
    uint32_t k = 0;
    int rc;
    OG_TRY(check(d, err));
    OG_TRY(settle(d, area, err));
    d->next_area = (area + 1) % d->n_staging;
    d->area[w->staging] = area;
    for (; k < d->n_groups; k++) {
        const struct og_tiers_plan plan = plan_of(d, w, &d->group[k]);
        OG_TRY(begin_group(&d->group[k], area, &plan, w->number, err));
    }
out:
    while (rc < 0 && k-- > 0) /* the others' reads end before their area is another's */
        og__gather_give_up(d->group[k].gather, area);
    return rc;
}

static int upload_groups(struct og_device_rows *d, struct og_work *w, int area,
                         struct og_rows *view, struct og_err *err)
{
    for (uint32_t k = 0; k < d->n_groups; k++) {
        struct og_uploaded brought;
        OG_DO(upload_group(&d->group[k], area, w->room, &brought, err));
        view[d->group[k].setup.view] = brought.rows;
        w->link_bytes += brought.link_bytes;
        w->link_bytes_back += brought.link_bytes_back;
        w->peer_hits += brought.peer_hits;
        w->peer_bytes += brought.peer_bytes;
    }
    return 0;
}

/* By the batch's device, into a room of its own. */
static int upload(struct og_device_rows *d, struct og_work *w, struct og_err *err)
{
    const int area = d->area[w->staging];
    w->room = take_room(d, og__device_rows_keeper(d, w));
    const double requested = og__now();
    struct og_rows *view = d->view + (size_t)w->room * d->setup.n_views;
    const int rc = upload_groups(d, w, area, view, err);
    if (rc < 0) { /* some of it may be queued: that ends before its area is another's */
        for (uint32_t k = 0; k < d->n_groups; k++)
            (void)!ops_of(d)->finish(d->group[k].store, NULL);
        return rc;
    }
    d->collected[area] = (struct collected){w->room, requested, w->descriptor.batch};
    w->rows = view;
    return 0;
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    struct og_device_rows *d = self;
    const int area = d->area[w->staging];
    uint32_t k = 0;
    int rc = 0;
    for (; k < d->n_groups; k++)
        OG_TRY(finish_group(&d->group[k], area, &w->read, err));
    OG_TRY(resolve_before(d, og__device_rows_keeper(d, w), err));
    OG_TRY(upload(d, w, err));
out:
    while (rc < 0 && ++k < d->n_groups)
        og__gather_give_up(d->group[k].gather, area);
    return rc;
}

static void give_up(void *self, struct og_work *w)
{
    struct og_device_rows *d = self;
    for (uint32_t k = 0; k < d->n_groups; k++)
        og__gather_give_up(d->group[k].gather, d->area[w->staging]);
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

struct og_row_store og__rows_on_device(struct og_device_rows *d)
{
    static const struct og_store_ops ops = {.start = start,
                                            .begin = begin,
                                            .finish = finish,
                                            .give_up = give_up,
                                            .end = end,
                                            .check = check,
                                            .fill = fill,
                                            .fill_end = fill_end,
                                            .release_slots = release_slots,
                                            .reclaim = reclaim,
                                            .from_packs = from_packs,
                                            .engine = engine,
                                            .close = close_rows};
    return (struct og_row_store){&ops, d};
}
