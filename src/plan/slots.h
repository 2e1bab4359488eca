/* slots: the node of each cache slot, the slot of each node, and queues of slots. For policies that
 * admit rows one at a time (lru, clock, sieve, s3fifo, tinylfu).
 *
 *   slots   node[slot], and a table node -> slot
 *   queue   newest <─> slot <─> slot <─> ... <─> oldest <─> (head) <─> newest ... */
#ifndef OG_SLOTS_H
#define OG_SLOTS_H

#include "base/id_table.h"
#include "plan/plan.h"

struct og_slots {
    uint32_t n;               /* slots */
    uint32_t n_filled;        /* slots below have held a row */
    uint32_t *node;           /* [n] or OG_NO_SLOT */
    struct og_id_table table; /* of slots, by what they hold */
    uint8_t *mark;            /* [n] OG__PINNED, and bits of the policy; or NULL */
    struct og_link *link;     /* [n + heads] queues, the heads last; NULL without heads */
};

OG_MUST_CHECK int og__slots_open(struct og_slots *s, uint32_t n, bool marks, uint32_t heads,
                                 struct og_allocs *a, struct og_err *err);
size_t og__slots_bytes(uint32_t n, bool marks, uint32_t heads);

/* The slot that holds the node, or OG_NO_SLOT. */
static inline uint32_t og__slots_of(const struct og_slots *s, uint32_t node)
{
    return *(const uint32_t *)og__id_find(&s->table, sizeof(uint32_t), s->node, node);
}

/* The slot is empty, the node in none. */
void og__slots_put(struct og_slots *s, uint32_t slot, uint32_t node);
/* Empties a slot that is not, and clears its mark. */
void og__slots_drop(struct og_slots *s, uint32_t slot);
/* The slots below n_filled all hold rows: drops those from `first` on, to be filled next. */
void og__slots_cut(struct og_slots *s, uint32_t first);
/* out->place[i] = slot of ids[i], or OG_NO_SLOT. */
void og__slots_look_up(const struct og_slots *s, const uint32_t *ids, struct og_plan *out);

/* While a batch is planned, none of its rows may leave. The marks pin them; a policy uses their
 * other bits. The function og__slots_pin_hits looks rows up and returns the number of hits. It sets
 * these bits of hits, OG__PINNED among them. og__slots_unpin clears the pins of hits and of entered
 * rows. */
enum { OG__PINNED = 0x80 };
uint32_t og__slots_pin_hits(const struct og_slots *s, uint8_t bits, const uint32_t *ids,
                            struct og_plan *out);
void og__slots_unpin(const struct og_slots *s, const struct og_plan *out);

/* The functions by which a policy admits rows. First, evict empties an unpinned slot (there is one)
 * and returns it. Then enter records that a node is in its slot, pinned. */
struct og_admission {
    uint32_t (*evict)(void *policy);
    void (*enter)(void *policy, uint32_t slot, uint32_t node);
    void *policy;
};
/* Admits a batch's misses in order until every slot is pinned, `pinned` of them by hits. Fills
 * slots never used first. Adds the changes to the plan. */
void og__slots_admit(struct og_slots *s, uint32_t pinned, const uint32_t *ids, struct og_plan *out,
                     const struct og_admission *how);
/* Processes a batch for policies that only track used rows: all of the above. Sets the bits `used`
 * in the marks of hits. */
void og__slots_step(struct og_slots *s, uint8_t used, const uint32_t *ids, struct og_plan *out,
                    const struct og_admission *how);

/* ---- queues: rings through links, each with a head beyond the slots ---- */

struct og_link {
    uint32_t newer, older; /* of a head: newer is the oldest slot, older the newest */
};

static inline void og__ring_init(struct og_link *link, uint32_t head)
{
    link[head].newer = link[head].older = head;
}

static inline void og__ring_take_out(struct og_link *link, uint32_t slot)
{
    link[link[slot].newer].older = link[slot].older;
    link[link[slot].older].newer = link[slot].newer;
}

static inline void og__ring_push(struct og_link *link, uint32_t head, uint32_t slot)
{
    link[slot].newer = head;
    link[slot].older = link[head].older;
    link[link[head].older].newer = slot;
    link[head].older = slot;
}

#endif
