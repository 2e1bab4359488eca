#include "plan/victim.h"

#include <string.h>

static const char part[] = "victim";
#define NEVER UINT32_MAX
#define NONE  OG_NO_SLOT

/* ---- memory ---- */

int og__victim_open(struct og_victim *v, const struct og_victim_setup *setup, uint64_t n_nodes,
                    uint32_t n_slots, struct og_budget *b, struct og_err *err)
{
    *v = (struct og_victim){.setup = *setup, .n_slots = n_slots};
    const size_t places = og__victim_places(setup);
    v->setup.update = OG_MAX(setup->update, 1u);
    v->tables = og__allocs(b, part);
    v->of_ranks = og__allocs(b, part);
    v->slot = og__allocs_take(&v->tables, n_slots * sizeof(*v->slot), err);
    v->filled = og__allocs_take(&v->tables, setup->n_rings * sizeof(*v->filled), err);
    v->node = og__allocs_take(&v->tables, places * sizeof(*v->node), err);
    if (og__allocs_taken(&v->tables) < 0)
        return -ENOMEM;
    for (uint32_t s = 0; s < n_slots; s++)
        v->slot[s] = (struct og_victim_slot){.node = NONE, .next = NEVER};
    return og__next_uses_open(&v->uses, n_nodes, b, err);
}

void og__victim_close(struct og_victim *v)
{
    og__allocs_release(&v->tables);
    og__allocs_release(&v->of_ranks);
    og__next_uses_close(&v->uses);
    *v = (struct og_victim){0};
}

void og__victim_trim(struct og_victim *v)
{
    og__allocs_release(&v->of_ranks);
    og__next_uses_trim(&v->uses);
}

size_t og__victim_bytes(const struct og_victim_setup *setup, uint64_t n_nodes, uint32_t n_slots,
                        uint64_t rows, uint64_t distinct)
{
    return og__next_uses_bytes(n_nodes, rows, distinct) + distinct * sizeof(uint32_t) +
           n_slots * sizeof(struct og_victim_slot) +
           ((size_t)og__victim_places(setup) + setup->n_rings) * sizeof(uint32_t);
}

/* ---- a superbatch ---- */

static bool known(const struct og_victim *v, uint32_t node, uint32_t *rank)
{
    if (node == NONE || !og__placement_has(&v->uses.nodes, node))
        return false;
    *rank = og__placement_rank(&v->uses.nodes, node);
    return true;
}

/* A batch of the superbatch as one of the run. */
static uint32_t of_run(const struct og_victim *v, uint16_t batch)
{
    return batch == OG__NEVER ? NEVER : v->first + batch;
}

static int reserve(struct og_victim *v, struct og_err *err)
{
    const uint64_t distinct = v->uses.nodes.n_slots;
    if (og__allocs_fit(&v->of_ranks, distinct))
        return 0;
    v->place_of = og__allocs_take(&v->of_ranks, distinct * sizeof(*v->place_of), err);
    return og__allocs_taken(&v->of_ranks);
}

/* Finds the rows of slots and rings in the coming batches. */
int og__victim_prepare(struct og_victim *v, const struct og_trace *trace, struct og_err *err)
{
    OG_DO(og__next_uses_find(&v->uses, trace, err));
    OG_DO(reserve(v, err));
    uint32_t rank;
    v->first = v->batch;
    v->row = 0;
    for (uint32_t s = 0; s < v->n_slots; s++)
        v->slot[s].next =
            known(v, v->slot[s].node, &rank) ? of_run(v, v->uses.node[rank].first) : NEVER;
    memset(v->place_of, 0xff, v->of_ranks.room * sizeof(*v->place_of));
    for (uint32_t ring = 0; ring < v->setup.n_rings; ring++)
        for (uint32_t i = 0; i < v->filled[ring]; i++)
            if (known(v, v->node[ring * v->setup.depth + i], &rank))
                v->place_of[rank] = ring * v->setup.depth + i;
    return 0;
}

void og__victim_prefill(struct og_victim *v, uint32_t slot, uint32_t node)
{
    uint32_t rank;
    const bool wanted = known(v, node, &rank);
    v->slot[slot] = (struct og_victim_slot){
        node, wanted ? of_run(v, v->uses.node[rank].first) : NEVER, v->batch};
}

/* ---- a batch ---- */

/* The ring that this batch emptied before it began. */
static void take_back(struct og_victim *v, const uint32_t *ids, const struct og_plan *plan,
                      uint32_t *from)
{
    const uint32_t ring = v->batch % v->setup.n_rings;
    for (uint32_t i = 0; i < plan->n; i++) {
        from[i] = NONE;
        if (plan->place[i] == NONE)
            from[i] = v->place_of[og__placement_rank(&v->uses.nodes, ids[i])];
    }
    for (uint32_t i = 0; i < v->filled[ring]; i++)
        v->place_of[og__placement_rank(&v->uses.nodes, v->node[ring * v->setup.depth + i])] = NONE;
    v->filled[ring] = 0;
}

/* Puts a leaving row into the ring of its next use, if the last look knows it. */
static uint32_t push(struct og_victim *v, const struct og_victim_slot *old, uint32_t *dropped)
{
    const uint32_t look = v->batch - v->batch % v->setup.update;
    uint32_t rank;
    if (old->node == NONE || old->used > look || old->next == NEVER ||
        old->next > look + v->setup.n_rings)
        return NONE;
    const uint32_t ring = old->next % v->setup.n_rings;
    if (v->filled[ring] == v->setup.depth) {
        ++*dropped;
        return NONE;
    }
    const uint32_t place = ring * v->setup.depth + v->filled[ring]++;
    v->node[place] = old->node;
    if (known(v, old->node, &rank))
        v->place_of[rank] = place;
    return place;
}

void og__victim_step(struct og_victim *v, const uint32_t *ids, const struct og_plan *plan,
                     struct og_victim_batch *out)
{
    const uint16_t *next = v->uses.next + v->row;
    out->dropped = 0;
    take_back(v, ids, plan, out->from);
    for (uint32_t i = 0; i < plan->n; i++) {
        out->to[i] = NONE;
        if (plan->place[i] == NONE)
            continue;
        v->slot[plan->place[i]].next = of_run(v, next[i]);
        v->slot[plan->place[i]].used = v->batch + 1;
    }
    for (uint32_t c = 0; c < plan->n_changes; c++) {
        const uint32_t row = plan->change_row[c];
        struct og_victim_slot *slot = &v->slot[plan->change_slot[c]];
        out->to[row] = push(v, slot, &out->dropped);
        *slot = (struct og_victim_slot){ids[row], of_run(v, next[row]), v->batch + 1};
    }
    v->row += plan->n;
    v->batch++;
}
