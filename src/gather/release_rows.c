#include "gather/release_rows.h"

static const char part[] = "feature cache";

void og__release_rows(struct og_budget *b, char *base, size_t before, size_t after)
{
    enum { PAGE = 4096 };
    const size_t present = og__round_up(after, PAGE);
    const size_t end = before / PAGE * PAGE; /* the last page may have other data */
    og__budget_uncharge(b, before - after, part);
    if (end > present)
        og__address_empty(b, base + present, end - present);
}

int og__reclaim_rows(struct og_budget *b, char *base, size_t before, size_t after,
                     struct og_err *err)
{
    const size_t more = after - before;
    if (more == 0)
        return 0;
    og__address_furnish(b, base + before, more); /* charging would drop what is kept */
    int rc = og__budget_charge(b, more, part, err);
    if (rc < 0)
        return rc;
    rc = og__address_open(base + before, more, err);
    if (rc < 0)
        og__budget_uncharge(b, more, part);
    return rc;
}
