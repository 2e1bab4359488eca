#include "plan/pair.h"

#include "plan/lower_belady.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "tiers";
#define NONE OG_NO_SLOT

/* Rows put into the device's cache outside batches, those before one batch after those before
 * another. */
struct fills {
    uint32_t *node, *slot; /* [capacity] */
    uint64_t n, capacity, taken;
};

struct og_pair {
    struct og_tiers_setup setup; /* slots as the policies have them */
    struct og_tiers_places at;
    struct og_policy *device;
    struct og_policy *host;             /* or NULL: */
    struct og_lower_belady lower_cache; /* the host's cache, of what leaves the device's too */
    struct og_victim victim;
    /* the superbatch, as the device's policy planned it */
    uint32_t *code;     /* [rows] og__plan_encode */
    uint32_t *from;     /* [rows] where the rings hold it; with rings */
    uint32_t *to;       /* [rows] where the rings take what it replaces; with rings */
    uint32_t *missed;   /* [rows] requests to the host's cache */
    uint64_t *ptr;      /* [batches + 1] rows of each */
    uint64_t *miss_ptr; /* [batches + 1] of missed */
    uint64_t *fill_ptr; /* [batches + 1] of fills */
    uint32_t *dropped;  /* [batches] */
    bool begun;         /* call for policies that look at no batches was made, */
    bool lost;          /* and the host's has lost rows since */
    struct fills fills;
    /* the next batch */
    uint32_t batch, n_batches;
    uint32_t *held; /* [device slots] what each holds then */
    struct og_plan lower;
    /* [longest] scratch */
    uint32_t *row_of, *leaver, *leaver_slot, *leaver_to;
    bool *taken;
    struct og_allocs of_rows, of_batches, of_longest; /* what there is for each */
    struct og_budget *budget;
};

/* ---- pairs ---- */

static uint32_t slots_of(const struct og_policy_setup *setup)
{
    return og__policy_caches(setup->kind)
               ? (uint32_t)OG_MIN((uint64_t)setup->n_slots, setup->n_nodes)
               : 0;
}

/* ---- memory ---- */

static int open_host(struct og_pair *t, struct og_err *err)
{
    const struct og_policy_setup *device = &t->setup.device;
    struct og_policy_setup host = t->setup.host;
    struct og_placement above = {0};
    int rc;
    if (og__is_lower_belady(&t->setup))
        return og__lower_belady_open(&t->lower_cache, host.n_nodes, host.n_slots, t->budget, err);
    if (og__both_stay(&t->setup)) {
        OG_TRY(og__placement_build(&above, device->hotness, device->n_nodes, device->n_slots,
                                   t->budget, err));
        host.without = above.bits;
    }
    OG_TRY(og__policy_open(&t->host, &host, t->budget, err));
out:
    og__placement_release(&above);
    return rc;
}

static int open_tiers(struct og_pair *t, struct og_err *err)
{
    const uint32_t n_device = t->setup.device.n_slots;
    const size_t bytes = n_device * sizeof(*t->held);
    t->held = og__alloc(t->budget, bytes, part, err);
    OG_DO(t->held ? 0 : -ENOMEM);
    memset(t->held, 0xff, bytes);
    OG_DO(og__policy_open(&t->device, &t->setup.device, t->budget, err));
    OG_DO(open_host(t, err));
    if (og__has_victim_buffer(&t->setup))
        OG_DO(og__victim_open(&t->victim, &t->setup.victim, t->setup.device.n_nodes, n_device,
                              t->budget, err));
    return 0;
}

/* Checks that all places of a batch, misses too, have numbers. */
static int number_places(struct og_pair *t, struct og_err *err)
{
    const struct og_tiers_setup *s = &t->setup;
    const uint64_t misses =
        (uint64_t)s->device.n_slots + s->host.n_slots + og__victim_places(&s->victim);
    if (misses + s->device.n_nodes > UINT32_MAX)
        return og__fail(err, -EINVAL, "give a smaller --window, or rings of fewer rows",
                        "tiers: %llu places in caches and rings, more than have numbers",
                        (unsigned long long)misses);
    t->at.host = s->device.n_slots;
    t->at.victim = t->at.host + s->host.n_slots;
    t->at.misses = (uint32_t)misses;
    return 0;
}

int og__pair_open(struct og_pair **out, const struct og_tiers_setup *setup, struct og_budget *b,
                  struct og_err *err)
{
    struct og_pair *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "tiers");
    t->setup = *setup;
    t->setup.device.n_slots = slots_of(&setup->device);
    t->setup.host.n_slots = slots_of(&setup->host);
    t->setup.device.has_victims = og__has_victim_buffer(setup);
    t->budget = b;
    t->of_rows = t->of_batches = t->of_longest = og__allocs(b, part);
    og__plan_init(&t->lower, b);
    int rc;
    OG_TRY(number_places(t, err));
    OG_TRY(open_tiers(t, err));
    *out = t;
    return 0;
out:
    og__pair_close(t);
    return rc;
}

static void release(struct og_pair *t, uint32_t **p, uint64_t n)
{
    og__release(t->budget, *p, n * sizeof(**p), part);
    *p = NULL;
}

static void release_prepared(struct og_pair *t)
{
    og__allocs_release(&t->of_rows);
    og__allocs_release(&t->of_batches);
    og__allocs_release(&t->of_longest);
    release(t, &t->fills.node, t->fills.capacity);
    release(t, &t->fills.slot, t->fills.capacity);
    og__plan_release(&t->lower);
}

void og__pair_close(struct og_pair *t)
{
    if (!t)
        return;
    og__policy_close(t->device);
    og__policy_close(t->host);
    og__lower_belady_close(&t->lower_cache);
    og__victim_close(&t->victim);
    release_prepared(t);
    release(t, &t->held, t->setup.device.n_slots);
    free(t);
}

const struct og_tiers_setup *og__pair_setup(const struct og_pair *t)
{
    return &t->setup;
}

struct og_tiers_places og__pair_places(const struct og_pair *t)
{
    return t->at;
}

static uint32_t *words(struct og_pair *t, uint64_t n, struct og_err *err)
{
    return og__alloc(t->budget, n * sizeof(uint32_t), part, err);
}

static int reserve_rows(struct og_pair *t, uint64_t rows, struct og_err *err)
{
    const size_t bytes = rows * sizeof(uint32_t);
    struct og_allocs *a = &t->of_rows;
    if (og__allocs_fit(a, rows))
        return 0;
    t->code = og__allocs_take(a, bytes, err);
    t->missed = og__allocs_take(a, bytes, err);
    if (og__has_victim_buffer(&t->setup)) {
        t->from = og__allocs_take(a, bytes, err);
        t->to = og__allocs_take(a, bytes, err);
    }
    return og__allocs_taken(a);
}

static int reserve_batches(struct og_pair *t, uint32_t batches, struct og_err *err)
{
    const size_t bytes = ((size_t)batches + 1) * sizeof(uint64_t);
    struct og_allocs *a = &t->of_batches;
    if (og__allocs_fit(a, batches))
        return 0;
    t->ptr = og__allocs_take(a, bytes, err);
    t->miss_ptr = og__allocs_take(a, bytes, err);
    t->fill_ptr = og__allocs_take(a, bytes, err);
    t->dropped = og__allocs_take(a, batches * sizeof(*t->dropped), err);
    return og__allocs_taken(a);
}

static int reserve_longest(struct og_pair *t, uint32_t longest, struct og_err *err)
{
    const size_t bytes = longest * sizeof(uint32_t);
    struct og_allocs *a = &t->of_longest;
    if (og__allocs_fit(a, longest))
        return 0;
    t->row_of = og__allocs_take(a, bytes, err);
    t->leaver = og__allocs_take(a, bytes, err);
    t->leaver_slot = og__allocs_take(a, bytes, err);
    t->leaver_to = og__allocs_take(a, bytes, err);
    t->taken = og__allocs_take(a, longest * sizeof(*t->taken), err);
    return og__allocs_taken(a);
}

static uint32_t longest_of(const struct og_trace *t, uint32_t n)
{
    uint64_t longest = 1;
    for (uint32_t b = 0; b < n; b++)
        longest = OG_MAX(longest, t->ptr[b + 1] - t->ptr[b]);
    return (uint32_t)longest;
}

/* Makes room for so many more; preserves the contents. */
static int reserve_fills(struct og_pair *t, uint64_t more, struct og_err *err)
{
    struct fills *f = &t->fills;
    const uint64_t capacity = OG_MAX(f->n + more, f->capacity + f->capacity / 2);
    if (f->n + more <= f->capacity)
        return 0;
    uint32_t *node = words(t, capacity, err);
    uint32_t *slot = node ? words(t, capacity, err) : NULL;
    if (!slot) {
        release(t, &node, capacity);
        return -ENOMEM;
    }
    if (f->n > 0) {
        memcpy(node, f->node, f->n * sizeof(*node));
        memcpy(slot, f->slot, f->n * sizeof(*slot));
    }
    release(t, &f->node, f->capacity);
    release(t, &f->slot, f->capacity);
    f->node = node;
    f->slot = slot;
    f->capacity = capacity;
    return 0;
}

/* ---- the device's plan of a superbatch ---- */

static int fill_device(struct og_pair *t, uint32_t batch, struct og_err *err)
{
    enum { LOT = 256 };
    struct fills *f = &t->fills;
    t->fill_ptr[batch] = f->n;
    for (uint32_t n = 1; n > 0; f->n += n) {
        OG_DO(reserve_fills(t, LOT, err));
        n = og__policy_prefill(t->device, f->node + f->n, f->slot + f->n, LOT);
        for (uint64_t i = f->n; i < f->n + n && og__has_victim_buffer(&t->setup); i++)
            og__victim_prefill(&t->victim, f->slot[i], f->node[i]);
    }
    t->fill_ptr[batch + 1] = f->n;
    return 0;
}

static int plan_device(struct og_pair *t, uint32_t batch, const uint32_t *ids, uint32_t n,
                       struct og_err *err)
{
    const uint64_t start = t->ptr[batch];
    uint64_t missed = t->miss_ptr[batch];
    OG_DO(og__policy_code(t->device, ids, n, &t->lower, t->code + start, err));
    if (og__has_victim_buffer(&t->setup)) {
        struct og_victim_batch v = {.from = t->from + start, .to = t->to + start};
        og__victim_step(&t->victim, ids, &t->lower, &v);
        t->dropped[batch] = v.dropped;
    }
    for (uint32_t i = 0; i < n; i++) {
        const bool served = t->from && t->from[start + i] != NONE;
        if (t->lower.place[i] == NONE && !served)
            t->missed[missed++] = ids[i];
    }
    t->miss_ptr[batch + 1] = missed;
    return 0;
}

/* Applies the first prefills of the device's cache. A cache that admits rows has no later ones. */
static void apply_first_fills(struct og_pair *t)
{
    for (uint64_t i = 0; t->n_batches > 0 && i < t->fill_ptr[1]; i++)
        t->held[t->fills.slot[i]] = t->fills.node[i];
}

static int prepare_host(struct og_pair *t, struct og_err *err)
{
    const struct og_trace missed = {t->n_batches, t->miss_ptr, t->missed};
    uint32_t ignored;
    const bool told = t->begun && !t->lost;
    t->lost = false;
    if (t->host && told && !og__policy_looks_ahead(t->setup.host.kind))
        return 0;
    if (t->host)
        return og__policy_prepare(t->host, &missed, &ignored, err);
    apply_first_fills(t);
    return og__lower_belady_prepare(&t->lower_cache, &missed, t->held, t->setup.device.n_slots,
                                    &ignored, err);
}

int og__pair_prepare(struct og_pair *t, const struct og_trace *trace, uint32_t n,
                     struct og_err *err)
{
    uint32_t ignored;
    struct og_trace seen = *trace;
    seen.n_batches = OG_MIN(trace->n_batches, n + og__policy_tail(&t->setup.device));
    OG_DO(reserve_rows(t, trace->ptr[n], err));
    OG_DO(reserve_batches(t, n, err));
    OG_DO(reserve_longest(t, longest_of(trace, n), err));
    if (!t->begun || og__policy_looks_ahead(t->setup.device.kind))
        OG_DO(og__policy_prepare(t->device, &seen, &ignored, err));
    if (og__has_victim_buffer(&t->setup))
        OG_DO(og__victim_prepare(&t->victim, trace, err));
    t->batch = 0;
    t->n_batches = n;
    t->fills.n = t->fills.taken = 0;
    t->miss_ptr[0] = t->ptr[0] = 0;
    for (uint32_t b = 0; b < n; b++) {
        const uint64_t rows = trace->ptr[b + 1] - trace->ptr[b];
        t->ptr[b + 1] = t->ptr[b] + rows;
        OG_DO(fill_device(t, b, err));
        OG_DO(plan_device(t, b, trace->ids + trace->ptr[b], (uint32_t)rows, err));
    }
    OG_DO(prepare_host(t, err));
    t->begun = true;
    return 0;
}

uint32_t og__pair_prefill(struct og_pair *t, uint32_t *nodes, uint32_t *places, uint32_t most)
{
    struct fills *f = &t->fills;
    uint32_t n = 0;
    if (t->batch == t->n_batches)
        return 0;
    for (; n < most && f->taken < t->fill_ptr[t->batch + 1]; n++, f->taken++) {
        nodes[n] = f->node[f->taken];
        places[n] = f->slot[f->taken];
    }
    if (n > 0)
        return n;
    n = t->host ? og__policy_prefill(t->host, nodes, places, most)
                : og__future_prefill(&t->lower_cache.cache, nodes, places, most);
    for (uint32_t i = 0; i < n; i++)
        places[i] += t->at.host;
    return n;
}

void og__pair_invalidate(struct og_pair *t, uint32_t first)
{
    t->lost = first < t->setup.host.n_slots;
    if (t->host)
        og__policy_invalidate(t->host, first);
    else
        og__future_invalidate(&t->lower_cache.cache, first);
}

void og__pair_set_threshold(struct og_pair *t, uint32_t batches)
{
    t->setup.device.threshold = batches;
    og__policy_set_threshold(t->device, batches);
}

void og__pair_trim(struct og_pair *t)
{
    release_prepared(t);
    t->fills = (struct fills){0};
    og__plan_init(&t->lower, t->budget);
    t->batch = t->n_batches = 0;
    og__policy_trim(t->device);
    if (t->host)
        og__policy_trim(t->host);
    else
        og__lower_belady_trim(&t->lower_cache);
    if (og__has_victim_buffer(&t->setup))
        og__victim_trim(&t->victim);
}

/* ---- a batch ---- */

static void move(struct og_tiers_plan *p, uint32_t from, uint32_t to)
{
    p->move_from[p->n_moves] = from;
    p->move_to[p->n_moves++] = to;
}

/* Takes the device's plan from prepare. Rows left to the host have no place yet; returns their
 * number, with the rows in row_of. */
static uint32_t take_device_plan(struct og_pair *t, struct og_tiers_plan *out)
{
    const uint64_t start = t->ptr[t->batch];
    struct og_plan *plan = &out->plan;
    uint32_t left = 0;
    for (uint32_t i = 0; i < plan->n; i++) {
        const uint32_t code = t->code[start + i];
        const uint32_t slot = code & ~(uint32_t)OG__CODE_MISS;
        plan->place[i] = slot;
        if (!(code & (uint32_t)OG__CODE_MISS)) {
            out->device_hits++;
            continue;
        }
        const bool enters = code != OG__CODE_STAYS_OUT;
        const bool served = t->from && t->from[start + i] != NONE;
        if (enters)
            og__plan_change(plan, i, slot);
        if (enters && t->to && t->to[start + i] != NONE)
            move(out, slot, t->at.victim + t->to[start + i]);
        plan->place[i] = served ? t->at.victim + t->from[start + i] : NONE;
        out->victim_hits += served;
        t->taken[left] = enters;
        t->row_of[left] = i;
        left += !served;
    }
    out->n_pushed = out->n_moves;
    out->n_dropped = t->from ? t->dropped[t->batch] : 0;
    return left;
}

/* Rows that the batch replaces on the device leave it, except into the victim buffer. */
static uint32_t find_leavers(struct og_pair *t, const struct og_plan *plan)
{
    const uint32_t *to = t->to ? t->to + t->ptr[t->batch] : NULL;
    uint32_t n = 0;
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        const bool pushed = to && to[plan->change_row[c]] != NONE;
        t->leaver[n] = t->held[plan->change_slot[c]];
        t->leaver_slot[n] = plan->change_slot[c];
        n += t->leaver[n] != NONE && !pushed;
    }
    return n;
}

static int plan_lower(struct og_pair *t, struct og_planner *planner, uint32_t left,
                      struct og_tiers_plan *out, struct og_err *err)
{
    const uint32_t *ids = t->missed + t->miss_ptr[t->batch];
    struct og_lower_belady_batch in = {.ids = ids,
                                       .taken = t->taken,
                                       .n = left,
                                       .leavers = t->leaver,
                                       .n_leavers = find_leavers(t, &out->plan),
                                       .to = t->leaver_to};
    OG_DO(og__plan_reserve(&t->lower, left, left, err));
    OG_DO(og__lower_belady_step(&t->lower_cache, &in, &t->lower, err));
    OG_DO(og__plan_misses(planner, ids, t->setup.host.n_slots, &t->lower, err));
    for (uint32_t l = 0; l < in.n_leavers; l++)
        if (in.to[l] != NONE)
            move(out, t->leaver_slot[l], t->at.host + in.to[l]);
    return 0;
}

/* The host's plan of what was left to it, as part of the whole. */
static void add_host_plan(struct og_pair *t, struct og_tiers_plan *out)
{
    const struct og_plan *lower = &t->lower;
    const uint32_t n_host = t->setup.host.n_slots;
    struct og_plan *plan = &out->plan;
    for (uint32_t k = 0; k < lower->n; k++) {
        const uint32_t place = lower->place[k];
        plan->place[t->row_of[k]] =
            place < n_host ? t->at.host + place : t->at.misses + (place - n_host);
    }
    for (uint32_t c = 0; c < lower->n_changes; c++)
        og__plan_change(plan, t->row_of[lower->change_row[c]], t->at.host + lower->change_slot[c]);
    if (lower->n_misses > 0)
        memcpy(plan->misses, lower->misses, lower->n_misses * sizeof(*plan->misses));
    plan->n_misses = lower->n_misses;
    out->host_hits = lower->n - lower->n_misses;
}

int og__pair_plan(struct og_pair *t, struct og_planner *planner, const uint32_t *ids, uint32_t n,
                  struct og_tiers_plan *out, struct og_err *err)
{
    out->plan.n = n;
    const uint32_t left = take_device_plan(t, out);
    const uint32_t n_entered = out->plan.n_changes;
    OG_DO(t->host ? og__policy_plan(t->host, planner, t->missed + t->miss_ptr[t->batch], left,
                                    &t->lower, err)
                  : plan_lower(t, planner, left, out, err));
    add_host_plan(t, out);
    for (uint32_t c = 0; c < n_entered; c++)
        t->held[out->plan.change_slot[c]] = ids[out->plan.change_row[c]];
    t->batch++;
    return 0;
}

/* ---- what it takes ---- */

static struct og_tiers_setup with_slots(const struct og_tiers_setup *setup)
{
    struct og_tiers_setup s = *setup;
    s.device.n_slots = slots_of(&setup->device);
    s.host.n_slots = slots_of(&setup->host);
    return s;
}

size_t og__pair_bytes(const struct og_tiers_setup *setup, uint64_t rows, uint64_t longest,
                      uint64_t batches, uint64_t distinct)
{
    const struct og_tiers_setup s = with_slots(setup);
    const uint64_t n_nodes = s.device.n_nodes;
    const uint64_t words_a_row = og__has_victim_buffer(&s) ? 4 : 2;
    const uint64_t filled = og__policy_prefills(s.device.kind) ? OG_MAX(rows, s.device.n_slots) : 0;
    size_t bytes = og__policy_bytes(&s.device, rows, batches, distinct) +
                   (size_t)s.device.n_slots * sizeof(uint32_t) + rows * words_a_row * 4 +
                   (batches + 1) * 28 + longest * 17 + filled * 20 +
                   og__plan_bytes(longest, longest);
    const struct og_lower_belady_size of = {rows, longest, batches, distinct};
    bytes += og__is_lower_belady(&s) ? og__lower_belady_bytes(n_nodes, s.host.n_slots, &of)
                                     : og__policy_bytes(&s.host, rows, batches, distinct);
    if (og__both_stay(&s))
        bytes += og__placement_bytes(n_nodes);
    if (og__has_victim_buffer(&s))
        bytes += og__victim_bytes(&s.victim, n_nodes, s.device.n_slots, rows, distinct);
    return bytes;
}

size_t og__pair_trimmed_bytes(const struct og_tiers_setup *setup)
{
    const struct og_tiers_setup s = with_slots(setup);
    const struct og_lower_belady_size none = {0};
    size_t bytes =
        og__policy_trimmed_bytes(&s.device) + (size_t)s.device.n_slots * sizeof(uint32_t);
    bytes += og__is_lower_belady(&s)
                 ? og__lower_belady_bytes(s.device.n_nodes, s.host.n_slots, &none)
                 : og__policy_trimmed_bytes(&s.host);
    if (og__has_victim_buffer(&s))
        bytes += og__victim_bytes(&s.victim, s.device.n_nodes, s.device.n_slots, 0, 0);
    return bytes;
}
