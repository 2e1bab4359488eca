/* Which transport gradients take: from device to device where all ranks can, else through the
 * hosts. */
#include "learn/shares.h"

#include "device/device.h"
#include "nn/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 160 };

/* What a rank sends first; like the rest, bytes as they are in memory. */
struct offer {
    bool has, can;                       /* a device, which may be of a group */
    unsigned char device[OG__DEVICE_ID]; /* which it is */
};

/* And where there are devices. */
struct more {
    unsigned char group[OG__GROUP_ID]; /* of rank 0: what the group is called */
    char why[WHY];                     /* this one's device cannot be of a group; "": it can */
};

struct ranks {
    struct offer offer[OG__MOST_RANKS];
    struct more more[OG__MOST_RANKS];
};

static void refuse(struct ranks *r, int own, const struct og_err *why)
{
    r->offer[own].can = false;
    snprintf(r->more[own].why, WHY, "%.*s", WHY - 1, why->message);
}

/* ---- what each has ---- */

static void look(const struct og_shares *h, const struct og_nn_ops *ops, struct ranks *r)
{
    const int own = h->comm->rank;
    struct og_nn_backend *be = og__model_backend(h->steps->model);
    struct og_err why = {0};
    r->offer[own].has = r->offer[own].can = ops->sums != NULL;
    if (!ops->sums)
        return;
    int rc = ops->sums->identify(be, r->offer[own].device, &why);
    if (rc == 0 && own == 0)
        rc = ops->sums->group_id(be, r->more[own].group, &why);
    if (rc < 0)
        refuse(r, own, &why);
}

static bool all_can(const struct ranks *r, int n)
{
    for (int i = 0; i < n; i++)
        if (!r->offer[i].can)
            return false;
    return true;
}

/* If two ranks have the same device, the latter has none of its own. */
static bool all_differ(const struct ranks *r, int n, char why[WHY])
{
    const size_t size = sizeof(r->offer[0].device);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (memcmp(r->offer[k].device, r->offer[i].device, size) == 0) {
                snprintf(why, WHY, "workers %d and %d have one device", k, i);
                return false;
            }
    return true;
}

/* ---- the group ---- */

static void open_sums(struct og_shares *h, const struct og_nn_ops *ops, struct ranks *r)
{
    struct og_steps *s = h->steps;
    struct og_err why = {0};
    const struct og_sums_setup setup = {.id = r->more[0].group,
                                        .rank = h->comm->rank,
                                        .ranks = h->comm->n,
                                        .n = s->n,
                                        .slice = h->slice};
    s->sums_ops = ops->sums;
    if (ops->sums->open(&s->sums, og__model_backend(s->model), &setup, &why) < 0)
        refuse(r, h->comm->rank, &why);
}

/* The first reason of all, into why[]: "" where there is none. */
static int hear(struct og_shares *h, struct ranks *r, char why[WHY], struct og_err *err)
{
    const int rc = og__comm_gather(h->comm, r->more, sizeof(*r->more), err);
    for (int i = h->comm->n - 1; rc == 0 && i >= 0; i--)
        if (r->more[i].why[0])
            snprintf(why, WHY, "%.*s", WHY - 1, r->more[i].why);
    return rc;
}

/* All have one, or none. */
static int open_group(struct og_shares *h, const struct og_nn_ops *ops, struct ranks *r,
                      char why[WHY], struct og_err *err)
{
    open_sums(h, ops, r);
    const int rc = hear(h, r, why, err);
    if (h->steps->sums && (rc < 0 || why[0])) {
        h->steps->sums_ops->close(h->steps->sums);
        h->steps->sums = NULL;
    }
    return rc;
}

static int find_way(struct og_shares *h, const struct og_nn_ops *ops, struct ranks *r,
                    char why[WHY], struct og_err *err)
{
    const int n = h->comm->n;
    bool devices = true;
    int rc;
    look(h, ops, r);
    OG_TRY(og__comm_gather(h->comm, r->offer, sizeof(*r->offer), err));
    for (int i = 0; i < n; i++)
        devices = devices && r->offer[i].has;
    if (!devices) /* as options that decide the numbers say, of all or of none */
        return 0;
    OG_TRY(hear(h, r, why, err));
    if (all_can(r, n) && all_differ(r, n, why))
        OG_TRY(open_group(h, ops, r, why, err));
out:
    return rc;
}

int og__shares_find_transport(struct og_shares *h, const struct og_nn_ops *ops,
                              const struct og_log *log, struct og_err *err)
{
    struct ranks *r = calloc(1, sizeof(*r));
    char why[WHY] = "";
    int rc = r ? 0 : og__fail_errno(err, -ENOMEM, NULL, "workers");
    OG_TRY(rc);
    OG_TRY(find_way(h, ops, r, why, err));
    if (why[0])
        og__say(log, OG__INFO, "gradients go through the hosts: %s", why);
out:
    free(r);
    return rc;
}
