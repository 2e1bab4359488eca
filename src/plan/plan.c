/* The memory of plans, and what all policies share: misses in the order of the file. */
#include "plan/plan.h"

#include <string.h>

/* ---- memory ---- */

void og__plan_init(struct og_plan *p, struct og_budget *b)
{
    *p = (struct og_plan){.of_rows = og__allocs(b, "plans"), .of_changes = og__allocs(b, "plans")};
}

size_t og__plan_bytes(uint64_t rows, uint64_t changes)
{
    return (size_t)(rows + changes) * 2 * sizeof(uint32_t);
}

/* Two arrays that hold at least n, emptied when they grow. */
static int reserve_two(struct og_allocs *a, uint32_t **one, uint32_t **two, uint32_t n,
                       struct og_err *err)
{
    if (n == 0 || og__allocs_fit(a, n))
        return 0;
    *one = og__allocs_take(a, n * sizeof(**one), err);
    *two = og__allocs_take(a, n * sizeof(**two), err);
    return og__allocs_taken(a);
}

int og__plan_reserve(struct og_plan *p, uint32_t rows, uint32_t changes, struct og_err *err)
{
    int rc;
    OG_TRY(reserve_two(&p->of_rows, &p->place, &p->misses, rows, err));
    OG_TRY(reserve_two(&p->of_changes, &p->change_row, &p->change_slot, changes, err));
out:
    if (rc < 0)
        og__plan_release(p);
    return rc;
}

void og__plan_release(struct og_plan *p)
{
    struct og_budget *b = p->of_rows.budget;
    og__allocs_release(&p->of_rows);
    og__allocs_release(&p->of_changes);
    og__plan_init(p, b);
}

void og__planner_init(struct og_planner *p, struct og_budget *b)
{
    *p = (struct og_planner){.arrays = og__allocs(b, "planner")};
}

size_t og__planner_bytes(uint64_t rows)
{
    return (size_t)rows * 2 * sizeof(uint64_t);
}

int og__planner_reserve(struct og_planner *p, uint32_t rows, struct og_err *err)
{
    if (og__allocs_fit(&p->arrays, rows))
        return 0;
    p->pairs = og__allocs_take(&p->arrays, rows * sizeof(*p->pairs), err);
    p->spare = og__allocs_take(&p->arrays, rows * sizeof(*p->spare), err);
    return og__allocs_taken(&p->arrays);
}

void og__planner_release(struct og_planner *p)
{
    og__allocs_release(&p->arrays);
}

/* ---- planning ---- */

/* Sort by the high 32 bits: three counting passes of 11 bits. Ends in *a or *b, which is returned.
 */
static uint64_t *sort_pairs(uint64_t *a, uint64_t *b, uint32_t n)
{
    enum { BITS = 11, BINS = 1 << BITS };
    for (unsigned shift = 32; shift < 64; shift += BITS) {
        uint32_t start[BINS] = {0};
        for (uint32_t i = 0; i < n; i++)
            start[a[i] >> shift & (BINS - 1)]++;
        og__counts_to_starts(start, BINS);
        for (uint32_t i = 0; i < n; i++)
            b[start[a[i] >> shift & (BINS - 1)]++] = a[i];
        uint64_t *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

int og__plan_misses(struct og_planner *planner, const uint32_t *ids, uint32_t n_slots,
                    struct og_plan *out, struct og_err *err)
{
    OG_DO(og__planner_reserve(planner, out->n, err));
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        planner->pairs[n] = (uint64_t)ids[i] << 32 | i;
        n += out->place[i] == OG_NO_SLOT;
    }
    const uint64_t *sorted = sort_pairs(planner->pairs, planner->spare, n);
    for (uint32_t m = 0; m < n; m++) {
        out->misses[m] = (uint32_t)(sorted[m] >> 32);
        out->place[(uint32_t)sorted[m]] = n_slots + m;
    }
    out->n_misses = n;
    return 0;
}

/* ---- codes ---- */

void og__plan_encode(const struct og_plan *plan, uint32_t *codes)
{
    for (uint32_t i = 0; i < plan->n; i++)
        codes[i] = plan->place[i] == OG_NO_SLOT ? OG__CODE_STAYS_OUT : plan->place[i];
    for (uint32_t c = 0; c < plan->n_changes; c++)
        codes[plan->change_row[c]] = (uint32_t)OG__CODE_MISS | plan->change_slot[c];
}

int og__plan_decode(struct og_planner *planner, const uint32_t *codes, const uint32_t *ids,
                    uint32_t n, uint32_t n_slots, struct og_plan *out, struct og_err *err)
{
    OG_DO(og__plan_reserve(out, n, OG_MIN(n, n_slots), err));
    out->n = n;
    out->n_misses = out->n_changes = 0;
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = codes[i] & ~(uint32_t)OG__CODE_MISS;
        bool miss = codes[i] & (uint32_t)OG__CODE_MISS;
        bool enters = miss && codes[i] != OG__CODE_STAYS_OUT;
        out->place[i] = miss ? OG_NO_SLOT : slot;
        if (!miss || enters)
            largest = OG_MAX(largest, slot + 1);
        if (enters && out->n_changes < out->of_changes.room) {
            out->change_row[out->n_changes] = i;
            out->change_slot[out->n_changes++] = slot;
        }
    }
    if (largest > n_slots)
        return og__fail(err, -EIO, "give this run a --scratch folder of its own",
                        "a plan in --scratch was changed: slot %u of %u", largest - 1, n_slots);
    return og__plan_misses(planner, ids, n_slots, out, err);
}

void og__plan_cost_add(struct og_plan_cost *sum, const struct og_plan_cost *part)
{
    sum->rows += part->rows;
    sum->hits += part->hits;
    sum->misses += part->misses;
    sum->reads += part->reads;
    sum->bytes += part->bytes;
}
