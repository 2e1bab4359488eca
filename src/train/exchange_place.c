/* Rows that ranks of one machine have from one another in place: an owner copies what a round asks
 * of it, each row once, to where all read it, and tells each the numbers of its rows there. */
#include "train/exchange_parts.h"

#include <string.h>

static const char part[] = "exchange";

/* The first of those that an owner has for a round. */
static uint32_t first_row(const struct og_exchange *x, uint32_t owner, uint64_t round)
{
    return (owner * OG__RECEIVED + (uint32_t)(round % OG__RECEIVED)) * x->in_place.rows;
}

static size_t place_of(const struct og_exchange *x, uint32_t row)
{
    return row * x->row_bytes;
}

int og__place_open(struct og_exchange *x, struct og_err *err)
{
    static const char key[8] = "exchange";
    const struct og_data_path *d = x->path;
    struct og_in_place *p = &x->in_place;
    uint64_t number;
    x->each = x->row_bytes;
    if (!og__exchanges_in_place(d->config, d->facts->n_nodes))
        return 0;
    memcpy(&number, key, sizeof(number));
    x->each = sizeof(uint32_t);
    p->rows = (uint32_t)og__owned_nodes(x->ranks, 0, d->facts->n_nodes);
    int rc = og__common_area(d->config->sharers.common, number,
                             place_of(x, first_row(x, x->ranks, 0)), &p->area, err);
    for (int i = 0; rc == 0 && i < OG__RECEIVED; i++) {
        const size_t bytes = og__read_rows(d->facts) * x->row_bytes;
        rc = og__budget_charge(d->budget, bytes, part, err);
        p->charged[i] = rc == 0 ? bytes : 0;
    }
    return rc;
}

void og__place_close(struct og_exchange *x)
{
    for (int i = 0; i < OG__RECEIVED; i++)
        og__budget_uncharge(x->path->budget, x->in_place.charged[i], part);
    og__common_give(&x->in_place.area);
}

int og__place_room(struct og_exchange *x, uint64_t round, uint32_t rows, struct og_err *err)
{
    struct og_in_place *p = &x->in_place;
    const int i = (int)(round % OG__RECEIVED);
    const size_t bytes = rows * x->row_bytes;
    int rc = 0;
    if (!p->area.of)
        return 0;
    if (bytes > p->charged[i]) {
        OG_TRY(og__budget_charge(x->path->budget, bytes - p->charged[i], part, err));
        p->charged[i] = bytes;
    }
    if (bytes > p->taken[i]) {
        OG_TRY(og__common_room(&p->area, place_of(x, first_row(x, x->rank, round)), bytes, err));
        p->taken[i] = bytes;
    }
out:
    return rc;
}

void og__place_rows(struct og_exchange *x, uint64_t round, const struct og_demanded *asked,
                    uint32_t *own, uint32_t *others)
{
    const uint32_t first = first_row(x, x->rank, round);
    og__rows_copy(&x->rows, 0, asked->n, (char *)x->in_place.area.at + place_of(x, first));
    for (uint32_t i = 0, k = 0; i < x->ranks; i++) {
        uint32_t **to = i == x->rank ? &own : &others;
        for (uint32_t n = asked->counts[i]; n > 0; n--)
            *(*to)++ = first + asked->at[k++];
    }
    x->with.comm->sent += (asked->n_at - asked->counts[x->rank]) * x->row_bytes; /* as if it were */
}

int og__place_check(const struct og_exchange *x, uint64_t round, struct og_err *err)
{
    const uint32_t *number = x->received[round % OG__RECEIVED].at;
    const uint32_t *first = x->turn[round % OG__TURNS].first;
    bool fits = true;
    for (uint32_t i = 0; x->in_place.area.of && fits && i < x->ranks; i++) {
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            fits &= number[k] - first_row(x, i, round) < x->in_place.rows;
        if (!fits)
            og__fail(err, -EPROTO, "start all workers from the same version",
                     "worker %u has no such rows as it tells of", i);
    }
    return fits ? 0 : -EPROTO;
}

size_t og__exchange_counted_elsewhere(const struct og_exchange *x)
{
    size_t bytes = 0;
    for (uint32_t i = 0; x && x->in_place.area.of && i < x->ranks; i++)
        if (i != x->rank)
            bytes += og__common_touched(&x->in_place.area, place_of(x, first_row(x, i, 0)),
                                        place_of(x, OG__RECEIVED * x->in_place.rows));
    return bytes;
}
