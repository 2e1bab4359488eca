#include "flow/device_width.h"

#include "budget/memory_plan.h"

#define VICTIMS "victim"
#define PLANS   "plans"
enum { LEAST_AREA = 256 };

/* A row that is to enter a slot of the host. */
struct og_entering {
    const char *from;
    uint32_t slot;
};
_Static_assert(sizeof(struct og_entering) == OG__ENTERING_BYTES, "as it is planned");

/* ---- open and close ---- */

static void *take_pinned(void *self, size_t bytes, struct og_err *err)
{
    const struct og_device_width *w = self;
    return w->ops->pin(w->there, OG_MAX(bytes, (size_t)1), err);
}

static void give_pinned(void *self, void *p, size_t bytes)
{
    const struct og_device_width *w = self;
    w->ops->unpin(w->there, p, OG_MAX(bytes, (size_t)1));
}

static size_t victim_bytes(const struct og_device_width *w)
{
    return (size_t)w->setup.n_victims * w->setup.rows.row_bytes;
}

static int open_victims(struct og_device_width *w, struct og_err *err)
{
    if (w->setup.n_victims == 0)
        return 0;
    int rc = og__budget_charge(w->budget, victim_bytes(w), VICTIMS, err);
    if (rc < 0)
        return rc;
    w->victims = take_pinned(w, victim_bytes(w), err);
    if (w->victims)
        return 0;
    og__budget_uncharge(w->budget, victim_bytes(w), VICTIMS);
    return -ENOMEM;
}

static int reserve_entering(struct og_device_width *w, uint32_t n, struct og_err *err)
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

int og__device_width_open(struct og_device_width *w, const struct og_device_width_setup *setup,
                          const struct og_rows_ops *ops, struct og_nn_backend *const *be, int n,
                          struct og_budget *b, struct og_err *err)
{
    *w = (struct og_device_width){.setup = *setup, .ops = ops, .budget = b};
    w->pinned = (struct og_pinned){w, take_pinned, give_pinned};
    w->setup.gather.pinned = &w->pinned;
    w->setup.gather.n_slots = &w->setup.n_slots;
    w->setup.gather.staging_rows = &w->setup.staging_rows;
    int rc;
    OG_TRY(ops->open(&w->there, be, n, &setup->rows, err));
    OG_TRY(og__gather_open(&w->gather, setup->group, 1, &w->setup.gather, b, err));
    OG_TRY(open_victims(w, err));
    OG_TRY(reserve_entering(w, OG_MAX(setup->most, 1u), err));
out:
    return rc;
}

void og__device_width_close(struct og_device_width *w)
{
    if (!w->ops)
        return;
    if (w->there) /* what it was asked may still read what is given back */
        (void)!w->ops->finish(w->there, NULL);
    og__gather_close(w->gather);
    if (w->victims) {
        give_pinned(w, w->victims, victim_bytes(w));
        og__budget_uncharge(w->budget, victim_bytes(w), VICTIMS);
    }
    og__release(w->budget, w->entering, w->most * sizeof(*w->entering), PLANS);
    w->ops->close(w->there);
}

/* ---- filling ---- */

/* Rows on their way to slots through a staging area. */
struct lot {
    int area;
    uint32_t first, n;
};

static int put(struct og_device_width *w, const struct lot *l, const uint32_t *slots,
               struct og_io_counts *counts, struct og_err *err)
{
    struct og_io_counts read = {0};
    const struct og_rows *rows;
    int rc;
    OG_TRY(og__gather_finish(w->gather, l->area, &rows, &read, err));
    counts->reads += read.reads;
    counts->bytes += read.bytes;
    OG_TRY(w->ops->fill(w->there, rows->more[0].base, slots + l->first, l->n, err));
out:
    return rc;
}

/* By way of the staging areas, as many rows at a time as one holds: of two one is read while what
 * the other has is put into slots. */
static int fill_device(struct og_device_width *w, const uint32_t *nodes, const uint32_t *slots,
                       uint32_t n, struct og_io_counts *counts, struct og_err *err)
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

int og__device_width_fill(struct og_device_width *w, const uint32_t *nodes, uint32_t *places,
                          uint32_t n, struct og_io_counts *counts, struct og_err *err)
{
    const uint32_t host = w->setup.at.host;
    if (n > 0 && places[0] < host)
        return fill_device(w, nodes, places, n, counts, err);
    for (uint32_t i = 0; i < n; i++)
        places[i] -= host;
    return og__gather_fill(w->gather, nodes, places, n, counts, err);
}

/* ---- a batch ---- */

int og__device_width_begin(struct og_device_width *w, int area, const struct og_tiers_plan *plan,
                           uint32_t chunk, struct og_err *err)
{
    w->plan[area] = *plan;
    return og__gather_begin(w->gather, area, &w->plan[area].plan, NULL, chunk, err);
}

int og__device_width_finish(struct og_device_width *w, int area, struct og_io_counts *read,
                            struct og_err *err)
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
static struct og_rows tiers_of(const struct og_device_width *w, const struct og_rows *read)
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

/* Changes of the plan: into slots of the device, which it is asked to make, and of the host. The
 * former come first. */
static int note_entries(struct og_device_width *w, int area, const struct og_plan *plan,
                        struct og_bringing *b, struct og_err *err)
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
        w->entering[w->n_entering++] = (struct og_entering){
            og__row_at(&b->x, plan->place[plan->change_row[c]]), plan->change_slot[c] - host};
    return rc;
}

int og__device_width_bring(struct og_device_width *w, int area, int room, struct og_brought *out,
                           struct og_err *err)
{
    const struct og_tiers_plan *p = &w->plan[area];
    struct og_bringing b = {.room = room,
                            .x = tiers_of(w, &w->read[area]),
                            .n_moves = p->n_moves,
                            .move_from = p->move_from,
                            .move_to = p->move_to};
    int rc;
    OG_TRY(note_entries(w, area, &p->plan, &b, err));
    OG_TRY(w->ops->bring(w->there, &b, out, err));
out:
    return rc;
}

void og__device_width_enter(struct og_device_width *w, int area)
{
    for (uint32_t i = 0; i < w->n_entering && w->entering_from == area; i++)
        og__gather_put(w->gather, w->entering[i].slot, w->entering[i].from);
    if (w->entering_from == area)
        w->n_entering = 0;
}
