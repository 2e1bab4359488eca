/* slots: which node each slot of a cache holds, where a node is, and queues of slots. For policies
 * that let rows in one at a time (lru, clock, sieve, s3fifo, tinylfu).
 *
 *   slots   node[slot], and a table node -> slot
 *   queue   newest <─> slot <─> slot <─> ... <─> oldest <─> (head) <─> newest ... */
#ifndef OG_SLOTS_H
#define OG_SLOTS_H

#include "base/id_table.h"
#include "plan/plan.h"

struct og_slots {
    uint32_t n;               /* slots */
    uint32_t n_filled;        /* slots below held a row at some time */
    uint32_t *node;           /* [n] or OG_NO_SLOT */
    struct og_id_table table; /* of slots, by what they hold */
    struct og_budget *budget;
};

/* Memory "policy" from the budget. */
OG_MUST_CHECK int og__slots_open(struct og_slots *s, uint32_t n, struct og_budget *b,
                                 struct og_err *err);
void og__slots_close(struct og_slots *s); /* accepts what open left when it failed, and zeros */
size_t og__slots_bytes(uint32_t n);

/* The slot that holds the node, or OG_NO_SLOT. */
static inline uint32_t og__slots_of(const struct og_slots *s, uint32_t node)
{
    return *(const uint32_t *)og__id_find(&s->table, sizeof(uint32_t), s->node, node);
}

/* The slot is empty, the node in none. */
void og__slots_put(struct og_slots *s, uint32_t slot, uint32_t node);
/* Empties a slot that is not. */
void og__slots_drop(struct og_slots *s, uint32_t slot);
/* out->place[i] = slot of ids[i], or OG_NO_SLOT. */
void og__slots_look_up(const struct og_slots *s, const uint32_t *ids, struct og_plan *out);

/* While a batch is planned nothing that it uses may leave: a mark a slot says so, beside what a
 * policy notes in its other bits. pin_hits looks up, sets these bits of hits, OG__PINNED among
 * them, and returns the number of hits; unpin ends it for hits and for what has entered. */
enum { OG__PINNED = 0x80 };
uint32_t og__slots_pin_hits(const struct og_slots *s, uint8_t *mark, uint8_t bits,
                            const uint32_t *ids, struct og_plan *out);
void og__slots_unpin(uint8_t *mark, const struct og_plan *out);

/* How a policy lets rows in: evict empties a slot that is not pinned (there is one) and returns it;
 * enter notes that a node is in its slot, pinned. */
struct og_admission {
    uint32_t (*evict)(void *policy);
    void (*enter)(void *policy, uint32_t slot, uint32_t node);
    void *policy;
};
/* Let in what a batch misses, in its order, until every slot is pinned, `pinned` of which are by
 * its hits: first into slots that held nothing yet. The plan's changes say so. */
void og__slots_admit(struct og_slots *s, uint32_t pinned, const uint32_t *ids, struct og_plan *out,
                     const struct og_admission *how);
/* A batch of a policy that only wants to know which rows were used: all of the above, with the bits
 * `used` set in the marks of hits. */
void og__slots_step(struct og_slots *s, uint8_t *mark, uint8_t used, const uint32_t *ids,
                    struct og_plan *out, const struct og_admission *how);

/* ---- queues: rings through links, each with a head beyond the slots ---- */

struct og_link {
    uint32_t newer, older; /* of a head: newer is the oldest slot, older the newest */
};

static inline void og__queue_init(struct og_link *link, uint32_t head)
{
    link[head].newer = link[head].older = head;
}

static inline void og__queue_take_out(struct og_link *link, uint32_t slot)
{
    link[link[slot].newer].older = link[slot].older;
    link[link[slot].older].newer = link[slot].newer;
}

static inline void og__queue_push(struct og_link *link, uint32_t head, uint32_t slot)
{
    link[slot].newer = head;
    link[slot].older = link[head].older;
    link[link[head].older].newer = slot;
    link[head].older = slot;
}

#endif
