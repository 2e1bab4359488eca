#include "flow/tiers_spill.h"

struct head {
    uint32_t n, n_changes, n_moves, n_pushed, n_dropped;
    uint32_t device_hits, host_hits, victim_hits;
};
_Static_assert(sizeof(struct head) == OG__TIERS_HEAD_BYTES, "as it is planned");

static struct head head_of(const struct og_tiers_plan *p)
{
    return (struct head){p->plan.n,    p->plan.n_changes, p->n_moves,   p->n_pushed,
                         p->n_dropped, p->device_hits,    p->host_hits, p->victim_hits};
}

static struct og_io_counts part_asks(const struct og_tiers_plan *p)
{
    const uint64_t words = p->plan.n + 2 * ((uint64_t)p->plan.n_changes + p->n_moves);
    const int arrays = (p->plan.n > 0) + 2 * (p->plan.n_changes > 0) + 2 * (p->n_moves > 0);
    return (struct og_io_counts){1 + (uint64_t)arrays,
                                 sizeof(struct head) + words * sizeof(uint32_t)};
}

struct og_io_counts og__tiers_get_asks(const struct og_tiers_plan *p)
{
    struct og_io_counts sum = {0};
    for (uint32_t k = 0; k < p->n_parts; k++) {
        const struct og_tiers_plan of = og__tiers_plan_part(p, k);
        const struct og_io_counts asks = part_asks(&of);
        sum.reads += asks.reads;
        sum.bytes += asks.bytes;
    }
    return sum;
}

static int put(struct og_spill *to, const uint32_t *words, uint32_t n, struct og_err *err)
{
    return n > 0 ? og__spill_append(to, words, n * sizeof(*words), err) : 0;
}

static int put_part(struct og_spill *to, const struct og_tiers_plan *p, struct og_err *err)
{
    const struct head h = head_of(p);
    OG_DO(og__spill_append(to, &h, sizeof(h), err));
    OG_DO(put(to, p->plan.place, h.n, err));
    OG_DO(put(to, p->plan.change_row, h.n_changes, err));
    OG_DO(put(to, p->plan.change_slot, h.n_changes, err));
    OG_DO(put(to, p->move_from, h.n_moves, err));
    return put(to, p->move_to, h.n_moves, err);
}

int og__tiers_put(struct og_spill *to, const struct og_tiers_plan *p, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < p->n_parts; k++) {
        const struct og_tiers_plan of = og__tiers_plan_part(p, k);
        rc = put_part(to, &of, err);
    }
    return rc;
}

static void take_head(struct og_tiers_plan *p, const struct head *h)
{
    p->plan.n = h->n;
    p->plan.n_changes = h->n_changes;
    p->n_moves = h->n_moves;
    p->n_pushed = h->n_pushed;
    p->n_dropped = h->n_dropped;
    p->device_hits = h->device_hits;
    p->host_hits = h->host_hits;
    p->victim_hits = h->victim_hits;
}

struct reading {
    struct og_spill *from;
    uint64_t at;
    struct og_io_counts *read;
};

static int get(struct reading *r, void *out, size_t bytes, struct og_err *err)
{
    const uint64_t before = r->read->bytes;
    const int rc = bytes > 0 ? og__spill_read(r->from, r->at, out, bytes, &r->read->bytes, err) : 0;
    r->read->reads += r->read->bytes > before;
    r->at += bytes;
    return rc;
}

static int get_words(struct reading *r, uint32_t *out, uint32_t n, struct og_err *err)
{
    return get(r, out, n * sizeof(*out), err);
}

static int damaged(struct og_err *err)
{
    return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                    "a plan in --scratch is damaged");
}

/* Which of the part's ids are missed, in the order of their places. The part's node 0 is `node`,
 * and `first` is the place of its first miss. */
static int list_misses(uint32_t node, uint32_t first, const uint32_t *ids, struct og_plan *p,
                       struct og_err *err)
{
    p->n_misses = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->place[i] < first)
            continue;
        if (p->place[i] - first >= p->n)
            return damaged(err);
        p->misses[p->place[i] - first] = ids[i] - node;
        p->n_misses++;
    }
    return 0;
}

/* Does what the head says come after what there is? */
static bool has_room(const struct og_tiers_plan *out, const struct head *h, uint32_t n)
{
    const struct og_plan *plan = &out->plan;
    return h->n <= n - plan->n && h->n_changes <= plan->of_changes.room - plan->n_changes &&
           h->n_moves <= out->of_moves.room - out->n_moves;
}

static int get_part(struct reading *r, const struct og_tiers *tiers, uint32_t k,
                    const uint32_t *ids, uint32_t n, struct og_tiers_plan *out, struct og_err *err)
{
    struct og_tiers_plan of = og__tiers_plan_part(out, k);
    struct og_plan *plan = &of.plan;
    struct head h;
    OG_DO(get(r, &h, sizeof(h), err));
    if (!has_room(out, &h, n))
        return damaged(err);
    take_head(&of, &h);
    OG_DO(get_words(r, plan->place, h.n, err));
    OG_DO(get_words(r, plan->change_row, h.n_changes, err));
    OG_DO(get_words(r, plan->change_slot, h.n_changes, err));
    OG_DO(get_words(r, of.move_from, h.n_moves, err));
    OG_DO(get_words(r, of.move_to, h.n_moves, err));
    OG_DO(list_misses(og__tiers_first(tiers, k), og__tiers_places(tiers, k).misses,
                      ids + out->plan.n, plan, err));
    og__tiers_plan_add(out, k, &of);
    return 0;
}

int og__tiers_get(struct og_spill *from, uint64_t at, const struct og_tiers *tiers,
                  const uint32_t *ids, uint32_t n, struct og_tiers_plan *out,
                  struct og_io_counts *read, struct og_err *err)
{
    struct reading r = {from, at, read};
    OG_DO(og__tiers_plan_reserve(out, og__tiers_setup(tiers), n, err));
    og__tiers_plan_empty(out);
    for (uint32_t k = 0; k < og__tiers_parts(tiers); k++)
        OG_DO(get_part(&r, tiers, k, ids, n, out, err));
    if (out->plan.n != n)
        return damaged(err);
    return 0;
}
