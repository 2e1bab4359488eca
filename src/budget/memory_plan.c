/* A memory plan: its parts, one after another. */
#include "budget/memory_plan_parts.h"
#include "budget/slots.h"

int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err)
{
    if (m->limit >= m->smallest)
        return 0;
    char text[480];
    char hint[160];
    char size[32];
    char each[32] = "";
    og__ledger_list(m, text, sizeof(text));
    if (m->parts > 1)
        snprintf(each, sizeof(each), "each of %d parts: ", m->parts);
    snprintf(hint, sizeof(hint), "the smallest that would do is --memory %zuM; %s less",
             og__memory_plan_all(m, m->smallest) / OG_MIB, og__ledger_remedy(m));
    return og__fail(err, -ENOMEM, hint, "--memory %s: too little (%s%s)",
                    og__human_bytes(size, (double)og__memory_plan_all(m, m->limit)), each, text);
}

int og__memory_plan_batches(struct og_memory_plan *m, const struct og_plan_inputs *p,
                            struct og_err *err)
{
    OG_DO(og__memory_plan_lookahead(m, p, err));
    og__memory_plan_sample_groups(m, p);
    return og__memory_plan_neighbors(m, p, err);
}

int og__memory_plan(struct og_memory_plan *m, const struct og_plan_inputs *p,
                    const struct og_slots_given *given, struct og_group_size *size,
                    struct og_err *err)
{
    og__memory_plan_fixed(m, p);
    int rc;
    OG_TRY(og__memory_plan_check(m, err));
    OG_TRY(og__memory_plan_batches(m, p, err));
out:
    return rc < 0 ? rc : og__memory_plan_cache(m, p, given, size, err);
}
