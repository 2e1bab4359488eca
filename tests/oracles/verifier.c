/* Is a plan true? Slow and simple on purpose: it shares no code with the policies it checks. */
#include "oracles/verifier.h"

#include <stdlib.h>

int og__verifier_open(struct og_verifier *v, uint32_t n_slots, struct og_err *err)
{
    v->n_slots = n_slots;
    v->held = malloc(OG_MAX(n_slots, 1u) * sizeof(*v->held));
    if (!v->held)
        return og__fail_errno(err, -ENOMEM, NULL, "verifier");
    for (uint32_t s = 0; s < n_slots; s++)
        v->held[s] = OG_NO_SLOT;
    return 0;
}

void og__verifier_close(struct og_verifier *v)
{
    free(v->held);
    v->held = NULL;
}

int og__verifier_prefill(struct og_verifier *v, uint32_t slot, uint32_t node, struct og_err *err)
{
    if (slot >= v->n_slots)
        return og__fail(err, -EINVAL, NULL, "prefill: slot %u of %u", slot, v->n_slots);
    v->held[slot] = node;
    return 0;
}

static int check_row(const struct og_verifier *v, uint32_t id, uint32_t row,
                     const struct og_plan *plan, struct og_err *err)
{
    uint32_t place = plan->place[row];
    if (place < v->n_slots) {
        if (v->held[place] != id)
            return og__fail(err, -EINVAL, NULL, "row %u: slot %u holds node %u, not %u", row, place,
                            v->held[place], id);
        return 0;
    }
    uint32_t miss = place - v->n_slots;
    if (miss >= plan->n_misses)
        return og__fail(err, -EINVAL, NULL, "row %u: miss %u of %u", row, miss, plan->n_misses);
    if (plan->misses[miss] != id)
        return og__fail(err, -EINVAL, NULL, "row %u: miss %u is node %u, not %u", row, miss,
                        plan->misses[miss], id);
    return 0;
}

/* Checks that each miss is read once and used once. Ids of a batch are distinct: it is enough that
 * misses are, and are as many as the rows that name one. */
static int check_misses(const struct og_verifier *v, const struct og_plan *plan, struct og_err *err)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->n; i++)
        used += plan->place[i] >= v->n_slots;
    if (used != plan->n_misses)
        return og__fail(err, -EINVAL, NULL, "%u misses are read, %u are used", plan->n_misses,
                        used);
    for (uint32_t m = 1; m < plan->n_misses; m++)
        if (plan->misses[m - 1] >= plan->misses[m])
            return og__fail(err, -EINVAL, NULL, "miss %u: node %u after node %u", m,
                            plan->misses[m], plan->misses[m - 1]);
    return 0;
}

/* What enters has been read for this batch, and no slot is filled twice. */
static int apply_change(struct og_verifier *v, const uint32_t *ids, const struct og_plan *plan,
                        uint32_t c, struct og_err *err)
{
    uint32_t row = plan->change_row[c];
    if (row >= plan->n)
        return og__fail(err, -EINVAL, NULL, "change %u: row %u of %u", c, row, plan->n);
    if (plan->place[row] < v->n_slots)
        return og__fail(err, -EINVAL, NULL, "change %u: row %u is in slot %u already", c, row,
                        plan->place[row]);
    for (uint32_t before = 0; before < c; before++)
        if (plan->change_slot[before] == plan->change_slot[c])
            return og__fail(err, -EINVAL, NULL, "change %u: slot %u is filled twice", c,
                            plan->change_slot[c]);
    return og__verifier_prefill(v, plan->change_slot[c], ids[row], err);
}

int og__verifier_check(struct og_verifier *v, const uint32_t *ids, uint32_t n,
                       const struct og_plan *plan, struct og_err *err)
{
    if (plan->n != n)
        return og__fail(err, -EINVAL, NULL, "the plan has %u rows, the batch %u", plan->n, n);
    int rc = check_misses(v, plan, err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = check_row(v, ids[i], i, plan, err);
    for (uint32_t c = 0; rc == 0 && c < plan->n_changes; c++)
        rc = apply_change(v, ids, plan, c, err);
    return rc;
}
