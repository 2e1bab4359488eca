#include "plan/lower_belady.h"

#include <string.h>

static const char part[] = "policy";
#define NONE   OG_NO_SLOT
#define CHOSEN (OG_NO_SLOT - 1) /* to be prefilled; its slot is not known yet */

static uint32_t key_of(const struct og_lower_belady *s, uint16_t next, uint32_t rank)
{
    return og__key_of(&s->lists, next, s->uses.node[rank].visits);
}

static bool is_missed(const struct og_lower_belady *s, uint32_t node, uint32_t *rank)
{
    if (node == NONE || !og__placement_has(&s->uses.nodes, node))
        return false;
    *rank = og__placement_rank(&s->uses.nodes, node);
    return true;
}

/* ---- memory ---- */

int og__lower_belady_open(struct og_lower_belady *s, uint64_t n_nodes, uint32_t n_slots,
                          struct og_budget *b, struct og_err *err)
{
    const size_t bytes = n_slots * sizeof(uint32_t);
    *s = (struct og_lower_belady){.n_slots = n_slots, .budget = b};
    s->held = og__alloc(b, bytes, part, err);
    s->lists.link = og__alloc(b, bytes, part, err);
    if (!s->held || !s->lists.link)
        return -ENOMEM;
    memset(s->held, 0xff, bytes);
    return og__next_uses_open(&s->uses, n_nodes, b, err);
}

static void release(struct og_lower_belady *s, uint32_t **p, uint64_t n)
{
    og__release(s->budget, *p, n * sizeof(**p), part);
    *p = NULL;
}

/* Each row of a batch may bring two arrivals. It arrives from the disk itself, and the row that it
 * replaces arrives from the upper cache. */
size_t og__lower_belady_bytes(uint64_t n_nodes, uint32_t n_slots,
                              const struct og_lower_belady_size *of)
{
    return og__next_uses_bytes(n_nodes, of->rows, of->distinct) + n_nodes / 8 + 8 +
           of->distinct * 6 + (size_t)n_slots * 8 + og__slot_keys(of->batches) * 8 +
           of->longest * 8;
}

/* Resets the capacities too, so that the next superbatch allocates again. */
static void release_distinct(struct og_lower_belady *s)
{
    og__release(s->budget, s->next, s->n_distinct * sizeof(*s->next), part);
    s->next = NULL;
    release(s, &s->slot_of, s->n_distinct);
    s->n_distinct = 0;
}

static void release_keys(struct og_lower_belady *s)
{
    release(s, &s->lists.list, s->n_keys);
    release(s, &s->arrival, s->n_keys);
    s->n_keys = 0;
}

void og__lower_belady_trim(struct og_lower_belady *s)
{
    release_distinct(s);
    release_keys(s);
    release(s, &s->arrival_link, s->n_arrivals);
    s->n_arrivals = 0;
    s->prefill_left = 0;
    og__next_uses_trim(&s->uses);
}

void og__lower_belady_invalidate(struct og_lower_belady *s, uint32_t first)
{
    for (uint32_t slot = first; slot < s->n_slots; slot++)
        s->held[slot] = NONE;
}

void og__lower_belady_close(struct og_lower_belady *s)
{
    og__lower_belady_trim(s);
    release(s, &s->held, s->n_slots);
    release(s, &s->lists.link, s->n_slots);
    og__next_uses_close(&s->uses);
    *s = (struct og_lower_belady){0};
}

static int reserve_distinct(struct og_lower_belady *s, uint64_t n, struct og_err *err)
{
    if (s->slot_of && n <= s->n_distinct)
        return 0;
    release_distinct(s);
    s->n_distinct = n;
    s->next = og__alloc(s->budget, n * sizeof(*s->next), part, err);
    s->slot_of = s->next ? og__alloc(s->budget, n * sizeof(*s->slot_of), part, err) : NULL;
    if (s->slot_of)
        return 0;
    release_distinct(s);
    return -ENOMEM;
}

static int reserve_keys(struct og_lower_belady *s, uint64_t n, struct og_err *err)
{
    if (n <= s->n_keys)
        return 0;
    release_keys(s);
    s->n_keys = n;
    s->lists.list = og__alloc(s->budget, n * sizeof(*s->lists.list), part, err);
    s->arrival = s->lists.list ? og__alloc(s->budget, n * sizeof(*s->arrival), part, err) : NULL;
    if (s->arrival)
        return 0;
    release_keys(s);
    return -ENOMEM;
}

static int reserve_arrivals(struct og_lower_belady *s, uint64_t n, struct og_err *err)
{
    if (n <= s->n_arrivals)
        return 0;
    release(s, &s->arrival_link, s->n_arrivals);
    s->n_arrivals = 0;
    s->arrival_link = og__alloc(s->budget, n * sizeof(*s->arrival_link), part, err);
    if (!s->arrival_link)
        return -ENOMEM;
    s->n_arrivals = n;
    return 0;
}

/* ---- a superbatch ---- */

/* Puts slots into lists by next use. Returns the number of slots with no row of this superbatch, or
 * with one that the upper cache has too. */
static uint32_t hang_all(struct og_lower_belady *s, const uint64_t *is_upper)
{
    uint32_t idle = 0;
    uint32_t rank;
    for (uint32_t slot = s->n_slots; slot-- > 0;) { /* from the back: low slots go first */
        if (s->held[slot] != NONE && og__bits_has(is_upper, s->held[slot]))
            s->held[slot] = NONE;
        if (is_missed(s, s->held[slot], &rank)) {
            s->slot_of[rank] = slot;
            og__hang(&s->lists, slot, key_of(s, s->uses.node[rank].first, rank));
            continue;
        }
        og__hang(&s->lists, slot, og__key_absent(&s->lists));
        idle++;
    }
    return idle;
}

/* Idle slots are for the nodes that are missed first and are in neither cache. */
static uint32_t choose_prefill(struct og_lower_belady *s, const struct og_trace *missed,
                               const uint64_t *is_upper, uint32_t idle)
{
    const uint64_t rows = missed->ptr[missed->n_batches];
    uint32_t chosen = 0;
    for (uint64_t i = 0; i < rows && chosen < idle; i++) {
        uint32_t *slot = &s->slot_of[og__placement_rank(&s->uses.nodes, missed->ids[i])];
        if (*slot != NONE || og__bits_has(is_upper, missed->ids[i]))
            continue;
        *slot = CHOSEN;
        chosen++;
    }
    return chosen;
}

int og__lower_belady_prepare(struct og_lower_belady *s, const struct og_trace *missed,
                             const uint32_t *upper, uint32_t n_upper, uint32_t *n_prefill,
                             struct og_err *err)
{
    const size_t bytes = og__bits_words(s->uses.nodes.n_nodes) * sizeof(uint64_t);
    uint64_t *is_upper = og__alloc(s->budget, bytes, part, err);
    int rc;
    OG_TRY(is_upper ? og__next_uses_find(&s->uses, missed, err) : -ENOMEM);
    s->lists.n_batches = missed->n_batches;
    OG_TRY(reserve_distinct(s, s->uses.nodes.n_slots, err));
    OG_TRY(reserve_keys(s, og__slot_keys(s->lists.n_batches), err));
    memset(s->lists.list, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->lists.list));
    memset(s->arrival, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->arrival));
    for (uint32_t r = 0; r < s->uses.nodes.n_slots; r++) {
        s->slot_of[r] = NONE;
        s->next[r] = s->uses.node[r].first;
    }
    for (uint32_t i = 0; i < n_upper; i++)
        if (upper[i] != NONE)
            og__bits_add(is_upper, upper[i]);
    s->row = s->batch = s->lists.farthest = 0;
    const uint32_t idle = hang_all(s, is_upper);
    s->prefill_left = *n_prefill = choose_prefill(s, missed, is_upper, idle);
    s->prefill_node = s->prefill_rank = 0;
out:
    og__release(s->budget, is_upper, bytes, part);
    return rc;
}

/* Fills the idle slots, in file order. */
uint32_t og__lower_belady_prefill(struct og_lower_belady *s, uint32_t *nodes, uint32_t *slots,
                                  uint32_t most)
{
    uint32_t n = 0;
    while (n < most && s->prefill_left > 0) {
        uint32_t node;
        og__placement_nodes(&s->uses.nodes, &s->prefill_node, &node, 1);
        const uint32_t rank = s->prefill_rank++;
        if (s->slot_of[rank] != CHOSEN)
            continue;
        const uint32_t slot = s->lists.list[og__key_absent(&s->lists)];
        s->lists.list[og__key_absent(&s->lists)] = s->lists.link[slot];
        s->slot_of[rank] = slot;
        s->held[slot] = node;
        og__hang(&s->lists, slot, key_of(s, s->uses.node[rank].first, rank));
        nodes[n] = node;
        slots[n++] = slot;
        s->prefill_left--;
    }
    return n;
}

/* ---- a batch ---- */

static void arrive(struct og_lower_belady *s, uint32_t arrival, uint32_t key)
{
    s->arrival_link[arrival] = s->arrival[key];
    s->arrival[key] = arrival;
}

/* Records rows that leave the upper cache and have a next use. They enter last among rows with the
 * same next use: the batch's own rows need no copy from above. */
static void note_leavers(struct og_lower_belady *s, const struct og_lower_belady_batch *in)
{
    uint32_t rank;
    for (uint32_t l = 0; l < in->n_leavers; l++) {
        in->to[l] = NONE;
        if (is_missed(s, in->leavers[l], &rank) && s->next[rank] != OG__NEVER &&
            s->slot_of[rank] == NONE)
            arrive(s, in->n + l, s->next[rank]);
    }
}

static void look_up(struct og_lower_belady *s, const struct og_lower_belady_batch *in,
                    struct og_plan *out)
{
    const uint16_t *next = s->uses.next + s->row;
    for (uint32_t i = 0; i < in->n; i++) {
        const uint32_t rank = og__placement_rank(&s->uses.nodes, in->ids[i]);
        const uint32_t slot = s->slot_of[rank];
        const uint32_t key = key_of(s, next[i], rank);
        s->next[rank] = next[i];
        out->place[i] = slot;
        if (slot == NONE && !in->taken[i])
            arrive(s, i, key);
        if (slot == NONE)
            continue;
        og__hang(&s->lists, slot, in->taken[i] ? og__key_absent(&s->lists) : key);
        if (in->taken[i])
            s->held[slot] = s->slot_of[rank] = NONE;
    }
}

static void let_in(struct og_lower_belady *s, uint32_t slot, uint32_t node, uint32_t key)
{
    uint32_t rank;
    if (is_missed(s, s->held[slot], &rank))
        s->slot_of[rank] = NONE;
    if (is_missed(s, node, &rank))
        s->slot_of[rank] = slot;
    s->held[slot] = node;
    og__hang(&s->lists, slot, key);
}

/* In the order of their next use, while a row used later can leave. */
static void choose_slots(struct og_lower_belady *s, const struct og_lower_belady_batch *in,
                         struct og_plan *out)
{
    uint32_t slot = 0;
    for (uint32_t key = 0; key < s->lists.farthest && slot != NONE; key++) {
        for (uint32_t a = s->arrival[key]; a != NONE; a = s->arrival_link[a]) {
            slot = og__take_beyond(&s->lists, key);
            if (slot == NONE)
                break;
            if (a < in->n)
                og__plan_change(out, a, slot);
            else
                in->to[a - in->n] = slot;
            let_in(s, slot, a < in->n ? in->ids[a] : in->leavers[a - in->n], key);
        }
    }
    memset(s->arrival, 0xff, (og__key_absent(&s->lists) + 1) * sizeof(*s->arrival));
}

int og__lower_belady_step(struct og_lower_belady *s, const struct og_lower_belady_batch *in,
                          struct og_plan *out, struct og_err *err)
{
    const int rc = reserve_arrivals(s, (uint64_t)in->n + in->n_leavers, err);
    if (rc < 0)
        return rc;
    s->lists.list[s->batch++] = NONE; /* every slot of this list was hit and has moved */
    out->n = in->n;
    out->n_misses = out->n_changes = 0;
    note_leavers(s, in);
    look_up(s, in, out);
    choose_slots(s, in, out);
    s->row += in->n;
    return 0;
}
