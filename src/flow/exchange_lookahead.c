/* A superbatch of all ranks: where it ends, and the requests of all its rounds. These are exchanged
 * at once, so that an owner's policy sees what comes.
 *
 *   own batches     sampled ahead, as without others
 *   bound           it ends with a round, where that of the rank ends that has room for
 *   requests        lists of all its rounds, and of those that a policy sees after it
 *   planned         the owner's plans of them, spilled
 *   reach, ...      rounds one after another, until its end */
#include "flow/exchange_parts.h"

#include <assert.h>
#include <string.h>

/* ---- rounds ---- */

/* The item of all ranks that begins the round of own item `own`. Own ones are numbered as in the
 * path. */
static uint64_t round_start(const struct og_exchange *x, uint64_t own)
{
    const struct og_schedule *s = &x->path->workload->schedule;
    const uint64_t last =
        x->pass == OG__SPLITS ? og__schedule_items(s) : og__schedule_batches(s, x->pass);
    const struct og_items items = {s, x->pass, 0, last};
    return own < last ? og__round_start(&items, own) : x->end;
}

/* The first own item that is, or comes after, an item of all ranks. */
static uint64_t own_item(const struct og_exchange *x, uint64_t item)
{
    const struct og_schedule *s = &x->path->workload->schedule;
    return x->pass == OG__SPLITS ? og__share_item(s, item)
                                 : (item + x->ranks - 1 - x->rank) / x->ranks;
}

/* The smallest value that a rank brings. */
static int least_of_ranks(struct og_exchange *x, uint64_t *value, struct og_err *err)
{
    uint64_t all[OG__MOST_RANKS] = {0};
    all[x->rank] = *value;
    int rc = og__exchange_agree(x, 0, err);
    if (rc == 0)
        rc = og__comm_gather(x->with.comm, all, sizeof(*all), err);
    for (uint32_t i = 0; i < x->ranks; i++)
        *value = OG_MIN(*value, all[i]);
    return rc;
}

bool og__exchange_goes_on(const struct og_exchange *x)
{
    return x->item < x->end;
}

int og__exchange_bound(struct og_exchange *x, uint64_t *last, struct og_err *err)
{
    uint64_t item = round_start(x, *last);
    int rc = least_of_ranks(x, &item, err);
    x->known = true;
    x->spilled = false;
    x->planned = 0;
    x->limit = item;
    *last = own_item(x, item);
    return rc;
}

uint64_t og__exchange_limit(const struct og_exchange *x)
{
    return x->limit;
}

/* ---- requests ---- */

static uint32_t rounds_until(const struct og_exchange *x, uint64_t item)
{
    uint32_t n = 0;
    for (uint64_t at = x->item; at < item; at = og__exchange_round(x, at).after)
        n++;
    return n;
}

/* This rank's batches of the rounds: ids that have rows, valid until the next. `*ids` is NULL where
 * it has none. */
struct own_rounds {
    const struct og_trace *trace;
    uint64_t item;
    uint32_t batch;
};

static int next_batch(struct og_exchange *x, struct own_rounds *own, const uint32_t **ids,
                      uint32_t *n, struct og_err *err)
{
    const struct og_round_of round = og__exchange_round(x, own->item);
    own->item = round.after;
    *ids = NULL;
    *n = 0;
    if (!round.has)
        return 0;
    const uint64_t *ptr = own->trace->ptr + own->batch++;
    *ids = own->trace->ids + ptr[0];
    *n = (uint32_t)(ptr[1] - ptr[0]);
    return og__exchange_groups_list(x, &x->listed, ids, n, err);
}

static uint32_t longest_of(const struct og_trace *trace)
{
    uint64_t longest = 0;
    for (uint32_t b = 0; b < trace->n_batches; b++)
        longest = OG_MAX(longest, trace->ptr[b + 1] - trace->ptr[b]);
    return (uint32_t)longest;
}

/* Rows of each round, by owner: own[ranks, rounds]. */
static int count_rows(struct og_exchange *x, const struct og_trace *trace, uint32_t rounds,
                      uint32_t *own, struct og_err *err)
{
    struct own_rounds at = {trace, x->item, 0};
    assert(x->ranks > 1);
    for (uint32_t k = 0; k < rounds; k++) {
        const uint32_t *ids;
        uint32_t n;
        OG_DO(next_batch(x, &at, &ids, &n, err));
        for (uint32_t o = 0; o < x->ranks; o++)
            own[(size_t)o * rounds + k] = 0;
        for (uint32_t i = 0; i < n; i++)
            own[(size_t)og__owner_of(x->ranks, ids[i]) * rounds + k]++;
    }
    return 0;
}

static int send_tables(struct og_exchange *x, uint32_t rounds, uint32_t *own, uint32_t *all,
                       struct og_err *err)
{
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    const size_t bytes = rounds * sizeof(*own);
    for (uint32_t i = 0; i < x->ranks; i++) {
        send[i] = (struct og_message){own + (size_t)i * rounds, bytes};
        receive[i] = (struct og_message){all + (size_t)i * rounds, bytes};
    }
    memcpy(all + (size_t)x->rank * rounds, own + (size_t)x->rank * rounds, bytes);
    return og__exchange_swap(x, send, receive, err);
}

/* For lists of all rounds, and of the longest of others. */
static int room_for_all(struct og_exchange *x, uint32_t rounds, const uint32_t *all,
                        uint32_t longest, struct og_err *err)
{
    uint64_t rows = 0;
    uint64_t most = 0;
    for (uint32_t k = 0; k < rounds; k++) {
        uint64_t of_round = 0;
        for (uint32_t i = 0; i < x->ranks; i++)
            of_round += all[(size_t)i * rounds + k];
        rows += of_round;
        most = OG_MAX(most, of_round - all[(size_t)x->rank * rounds + k]);
    }
    OG_DO(og__exchange_room(x, &x->lists_sent, longest * sizeof(uint32_t), err));
    OG_DO(og__exchange_room(x, &x->lists_received, most * sizeof(uint32_t), err));
    OG_DO(og__exchange_room(x, &x->codes_at, rounds * sizeof(uint64_t), err));
    og__demand_clear(&x->demand);
    return og__demand_reserve(&x->demand, rounds, rows, err);
}

static int send_lists(struct og_exchange *x, const struct og_trace *trace, uint32_t rounds,
                      const uint32_t *all, struct og_err *err)
{
    struct own_rounds at = {trace, x->item, 0};
    int rc = 0;
    for (uint32_t k = 0; k < rounds; k++) {
        struct og_sorted by;
        uint32_t counts[OG__MOST_RANKS];
        const uint32_t *ids;
        uint32_t n;
        OG_TRY(next_batch(x, &at, &ids, &n, err));
        for (uint32_t i = 0; i < x->ranks; i++)
            counts[i] = all[(size_t)i * rounds + k];
        og__exchange_sort(x, ids, n, &by, NULL);
        OG_TRY(og__exchange_lists(x, by.first, counts, err));
    }
out:
    return rc;
}

int og__exchange_requests(struct og_exchange *x, const struct og_trace *own, uint64_t first,
                          struct og_trace *requested, uint32_t *rounds, struct og_err *err)
{
    uint64_t until = round_start(x, first + own->n_batches);
    int rc = least_of_ranks(x, &until, err);
    if (rc < 0)
        return rc;
    const uint32_t n = rounds_until(x, until);
    const size_t table = (size_t)n * x->ranks;
    *rounds = rounds_until(x, x->limit);
    const uint32_t longest = longest_of(own);
    rc = og__exchange_room(x, &x->row_counts, 2 * table * sizeof(uint32_t), err);
    if (rc == 0)
        rc = og__exchange_groups_reserve(x, &x->listed, longest, err);
    if (rc == 0)
        rc = count_rows(x, own, n, x->row_counts.at, err);
    OG_TRY(og__exchange_agree(x, rc, err));
    uint32_t *of_own = x->row_counts.at;
    uint32_t *of_all = of_own + table;
    OG_TRY(send_tables(x, n, of_own, of_all, err));
    rc = room_for_all(x, n, of_all, longest, err);
    OG_TRY(og__exchange_agree(x, rc, err));
    OG_TRY(send_lists(x, own, n, of_all, err));
    *requested = og__demand_trace(&x->demand);
out:
    return rc;
}

/* ---- plans ---- */

struct og_plan *og__exchange_scratch(struct og_exchange *x)
{
    return &x->served.plan;
}

void og__exchange_planned(struct og_exchange *x, uint32_t round, uint64_t at)
{
    uint64_t *codes_at = x->codes_at.at;
    codes_at[round] = at;
}

int og__exchange_spill(struct og_exchange *x, uint32_t round, struct og_err *err)
{
    const struct og_demanded it = og__demand_of(&x->demand, round);
    struct og_spill *to = x->path->stores.codes;
    OG_DO(og__spill_append(to, it.at, it.n_at * sizeof(*it.at), err));
    return og__spill_append(to, it.ids, it.n * sizeof(*it.ids), err);
}

void og__exchange_fill(struct og_exchange *x, struct og_filling *filling)
{
    x->filling = filling;
}

void og__exchange_prepared(struct og_exchange *x, const struct og_lookahead_counts *done)
{
    x->prepared = *done;
}

int og__exchange_pass(struct og_exchange *x, struct og_err *err)
{
    return x->with.pass(x->with.arg, x->limit, err);
}
