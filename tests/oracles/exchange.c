/* Are the plans of all owners, taken together, true? Slow and simple on purpose: it shares no code
 * with what deals nodes out. */
#include "oracles/exchange.h"

#include <stdlib.h>

/* Row i of a mini-batch, of whose rows before[] were served by each owner. */
static int check_served(const struct og_asking *a, uint32_t i, uint32_t owners,
                        const struct og_serving *serving, uint32_t *before, bool **requested,
                        struct og_err *err)
{
    const uint32_t owner = a->ids[i] % owners;
    const struct og_serving *s = &serving[owner];
    const uint32_t turn = before[owner]++;
    if (turn >= a->n_at[owner])
        return og__fail(err, -EINVAL, NULL, "row %u: owner %u serves only %u", i, owner,
                        a->n_at[owner]);
    const uint32_t at = a->at[owner][turn];
    if (at >= s->n)
        return og__fail(err, -EINVAL, NULL, "row %u: served at %u of %u", i, at, s->n);
    if ((uint64_t)s->ids[at] * owners + owner != a->ids[i])
        return og__fail(err, -EINVAL, NULL, "row %u: node %u served as %u by owner %u", i,
                        a->ids[i], s->ids[at], owner);
    requested[owner][at] = true;
    return 0;
}

static int check_asking(const struct og_asking *a, uint32_t owners,
                        const struct og_serving *serving, bool **requested, struct og_err *err)
{
    uint32_t before[OG__MOST_OWNERS] = {0};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < a->n; i++)
        rc = check_served(a, i, owners, serving, before, requested, err);
    for (uint32_t o = 0; rc == 0 && o < owners; o++)
        if (before[o] != a->n_at[o])
            rc = og__fail(err, -EINVAL, NULL, "owner %u serves %u rows, %u are its", o, a->n_at[o],
                          before[o]);
    return rc;
}

/* Each node once, and each requested. */
static int check_list(const struct og_serving *s, uint32_t owner, const bool *requested,
                      struct og_err *err)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (!requested[i])
            return og__fail(err, -EINVAL, NULL, "owner %u: nobody asked for %u", owner, s->ids[i]);
        for (uint32_t k = 0; k < i; k++)
            if (s->ids[k] == s->ids[i])
                return og__fail(err, -EINVAL, NULL, "owner %u: %u is there twice", owner,
                                s->ids[i]);
    }
    return 0;
}

int og__exchange_check(struct og_exchange_verifier *v, const struct og_asking *asking,
                       uint32_t n_asking, const struct og_serving *serving, struct og_err *err)
{
    bool *requested[OG__MOST_OWNERS] = {NULL};
    int rc = v->owners > 0 ? 0 : og__fail(err, -EINVAL, NULL, "no owners");
    for (uint32_t o = 0; rc == 0 && o < v->owners; o++) {
        requested[o] = calloc((size_t)serving[o].n + 1, sizeof(bool));
        rc = requested[o] ? 0 : og__fail_errno(err, -ENOMEM, NULL, "verifier");
    }
    for (uint32_t b = 0; rc == 0 && b < n_asking; b++)
        rc = check_asking(&asking[b], v->owners, serving, requested, err);
    for (uint32_t o = 0; rc == 0 && o < v->owners; o++) {
        const struct og_serving *s = &serving[o];
        rc = requested[o] ? check_list(s, o, requested[o], err) : -ENOMEM;
        if (rc == 0)
            rc = og__verifier_check(&v->cache[o], s->ids, s->n, s->plan, err);
    }
    for (uint32_t o = 0; o < OG__MOST_OWNERS; o++)
        free(requested[o]);
    return rc;
}
