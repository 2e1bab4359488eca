#include "flow/count_work.h"
#include "flow/exchange_parts.h"
#include "flow/places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "exchange";

static struct og_round_state *state_of(struct og_exchange *x, uint64_t round)
{
    return &x->state[round % OG__ROUNDS_UNDER_WAY];
}

/* ---- in step with others ---- */

int og__exchange_agree(struct og_exchange *x, int rc, struct og_err *err)
{
    const double start = og__now();
    rc = x->with.agree(x->with.arg, rc, err);
    x->waited += og__now() - start;
    return rc;
}

int og__exchange_swap(struct og_exchange *x, const struct og_message *send,
                      const struct og_message *receive, struct og_err *err)
{
    const double start = og__now();
    int rc = og__comm_exchange(x->with.comm, send, receive, err);
    x->waited += og__now() - start;
    return rc;
}

int og__exchange_await(struct og_exchange *x, struct og_err *err)
{
    const double start = og__now();
    int rc = og__comm_end(x->with.comm, err);
    x->waited += og__now() - start;
    return rc;
}

/* ---- memory ---- */

int og__exchange_room(struct og_exchange *x, struct og_room *r, size_t bytes, struct og_err *err)
{
    struct og_budget *b = x->path->budget;
    if (bytes <= r->bytes)
        return 0;
    og__release(b, r->at, r->bytes, part);
    *r = (struct og_room){og__alloc(b, bytes, part, err), bytes};
    if (r->at)
        return 0;
    r->bytes = 0;
    return -ENOMEM;
}

static void give_room(struct og_exchange *x, struct og_room *r)
{
    og__release(x->path->budget, r->at, r->bytes, part);
    *r = (struct og_room){0};
}

/* ---- opening and closing ---- */

/* Sized for the largest batch, and for as many rows as the profiling batches request. They grow
 * where that is too few. */
static int open_rooms(struct og_exchange *x, struct og_err *err)
{
    const struct og_workload *f = x->path->workload;
    const bool numbers = x->in_place.area.of; /* in the place of rows */
    const size_t rows = og__input_rows(f);
    const size_t list = rows * sizeof(uint32_t);
    for (int i = 0; i < OG__ROUNDS_UNDER_WAY; i++)
        OG_DO(og__exchange_room(x, &x->state[i].place, list, err));
    for (int i = 0; i < OG__RECEIVED; i++)
        OG_DO(og__exchange_room(x, &x->received[i], numbers ? list : f->bytes.input, err));
    const size_t sent = (size_t)og__sent_rows(f, x->ranks) * sizeof(uint32_t);
    OG_DO(og__exchange_room(x, &x->sent, numbers ? sent : f->bytes.sent, err));
    OG_DO(og__exchange_room(x, &x->lists_sent, list, err));
    return og__exchange_room(x, &x->lists_received, sent, err);
}

int og__exchange_open(struct og_data_path *path, const struct og_exchange_with *with,
                      struct og_err *err)
{
    struct og_exchange *x = calloc(1, sizeof(*x));
    if (!x)
        return og__fail_errno(err, -ENOMEM, NULL, "exchange");
    x->path = path;
    x->with = *with;
    x->rank = (uint32_t)with->comm->rank;
    x->ranks = (uint32_t)with->comm->n;
    x->whole = og__schedule_whole(&path->workload->schedule);
    og__plan_init(&x->served.plan, path->budget);
    x->served.planned.budget = x->listed.budget = path->budget;
    int rc;
    OG_TRY(og__exchange_groups_open(x, err));
    OG_TRY(og__demand_open(&x->demand, x->ranks, x->rank, x->groups.end, x->groups.n, path->budget,
                           err));
    OG_TRY(og__place_open(x, err));
    OG_TRY(open_rooms(x, err));
    path->exchange = x;
    return 0;
out:
    og__exchange_close(x);
    return rc;
}

/* Reads that nobody waits for must end before their memory does. */
static void stop_reading(struct og_exchange *x)
{
    if (x->reading)
        x->path->rows.ops->give_up(x->path->rows.self, &x->served);
    x->reading = false;
}

void og__exchange_close(struct og_exchange *x)
{
    if (!x)
        return;
    stop_reading(x);
    (void)!og__exchange_await(x,
                              NULL); /* they come, or their streams end, before their memory does */
    for (int i = 0; i < OG__ROUNDS_UNDER_WAY; i++)
        give_room(x, &x->state[i].place);
    for (int i = 0; i < OG__RECEIVED; i++)
        give_room(x, &x->received[i]);
    og__place_close(x);
    give_room(x, &x->sent);
    give_room(x, &x->lists_sent);
    give_room(x, &x->lists_received);
    give_room(x, &x->codes_at);
    give_room(x, &x->row_counts);
    give_room(x, &x->recalled);
    og__plan_release(&x->served.plan);
    og__demand_close(&x->demand);
    og__exchange_groups_close(x);
    free(x);
}

void og__exchange_release_requests(struct og_exchange *x)
{
    og__demand_release_rows(&x->demand);
    give_room(x, &x->row_counts);
    x->spilled = true;
}

void og__exchange_start(struct og_exchange *x, enum og__split pass, uint64_t first, uint64_t last)
{
    stop_reading(x);
    x->pass = pass;
    x->item = first;
    x->known = x->spilled = false;
    x->limit = x->end = last;
    x->reached = x->here = x->begun = x->counted = 0;
}

struct og_upcoming *og__exchange_upcoming(struct og_exchange *x)
{
    return &x->upcoming;
}

/* ---- requests of this rank ---- */

struct og_round_of og__exchange_round(const struct og_exchange *x, uint64_t item)
{
    const struct og_items items = {&x->whole, x->pass, 0, x->end};
    const struct og_descriptor d = og__item_at(&items, item);
    const uint64_t after = og__round_end(&items, x->ranks, item);
    const uint32_t first = d.batch % x->ranks;
    return (struct og_round_of){
        .after = after, .has = x->rank - first < after - item, .trains = d.split == OG__TRAIN};
}

static uint32_t requested_of(const struct og_round_state *t, uint32_t owner)
{
    return t->by.first[owner + 1] - t->by.first[owner];
}

/* Rows have a place of 32 bits each in what is received. */
static int check_places(const struct og_exchange *x, const struct og_round_state *t,
                        struct og_err *err)
{
    return t->by.begins[x->ranks] <= UINT32_MAX
               ? 0
               : og__fail(err, -EOVERFLOW, "give a smaller --batch or --fanout",
                          "--exchange: a mini-batch has too many bytes of rows");
}

/* The round that is begun next: its batch, and whose rows that has. */
static int look_ahead(struct og_exchange *x, struct og_err *err)
{
    struct og_round_state *t = state_of(x, x->begun);
    const struct og_round_of round = og__exchange_round(x, x->item);
    *t = (struct og_round_state){.place = t->place, .trains = round.trains};
    if (round.has) {
        OG_DO(og__upcoming_next(&x->upcoming, &t->work));
        OG_DO(og__planned_ids_of(t->work, x->path->workload->planned_groups, err));
        t->ids = t->work->planned.ids;
        t->n = t->work->planned.n;
    }
    x->item = round.after;
    OG_DO(og__exchange_room(x, &t->place, t->n * sizeof(uint32_t), err));
    OG_DO(og__exchange_room(x, &x->lists_sent, t->n * sizeof(uint32_t), err));
    og__exchange_sort(x, t->ids, t->n, &t->by, t->place.at);
    return check_places(x, t, err);
}

/* ---- exchanging requests ---- */

/* counts[i]: rows that rank i requests. */
static int tell_counts(struct og_exchange *x, uint32_t *counts, struct og_err *err)
{
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    uint32_t row_counts[OG__MOST_RANKS];
    const struct og_round_state *t = state_of(x, x->begun);
    for (uint32_t i = 0; i < x->ranks; i++) {
        row_counts[i] = requested_of(t, i);
        send[i] = (struct og_message){&row_counts[i], sizeof(row_counts[i])};
        receive[i] = (struct og_message){&counts[i], sizeof(counts[i])};
    }
    counts[x->rank] = row_counts[x->rank];
    return og__exchange_swap(x, send, receive, err);
}

static int room_for_lists(struct og_exchange *x, const uint32_t *counts, struct og_err *err)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < x->ranks; i++)
        rows += counts[i];
    OG_DO(
        og__exchange_room(x, &x->lists_received, (rows - counts[x->rank]) * sizeof(uint32_t), err));
    og__demand_clear(&x->demand);
    return og__demand_reserve(&x->demand, 1, rows, err);
}

static int check_list(const struct og_exchange *x, uint32_t from, const uint32_t *nodes, uint32_t n,
                      struct og_err *err)
{
    return og__exchange_groups_fit(x, nodes, n)
               ? 0
               : og__fail(err, -EPROTO, "start all workers from the same version",
                          "worker %u requests rows that worker %u does not own", from, x->rank);
}

int og__exchange_lists(struct og_exchange *x, const uint32_t *first, const uint32_t *counts,
                       struct og_err *err)
{
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    size_t bytes[OG__MOST_RANKS];
    const uint32_t *nodes[OG__MOST_RANKS];
    uint32_t *lists_sent = x->lists_sent.at;
    for (uint32_t i = 0; i < x->ranks; i++) {
        send[i] = (struct og_message){lists_sent + first[i],
                                      (first[i + 1] - first[i]) * sizeof(*lists_sent)};
        bytes[i] = counts[i] * sizeof(*lists_sent);
    }
    og__comm_lay(x->with.comm, x->lists_received.at, send[x->rank].at, bytes, receive);
    int rc;
    OG_TRY(og__exchange_swap(x, send, receive, err));
    for (uint32_t i = 0; i < x->ranks; i++) {
        nodes[i] = receive[i].at;
        OG_TRY(check_list(x, i, nodes[i], counts[i], err));
    }
    og__demand_add(&x->demand, nodes, counts);
out:
    return rc;
}

/* ---- as an owner: planned, read, sent ---- */

/* The requests of the round whose reading was begun last. */
static struct og_demanded requested_last(const struct og_exchange *x)
{
    struct og_demanded requested = og__demand_of(&x->demand, x->known ? x->planned - 1 : 0);
    if (x->spilled && x->recalled.at) {
        requested.at = x->recalled.at;
        requested.ids = requested.at + requested.n_at;
    }
    return requested;
}

/* Reads spilled requests of the round. */
static int recall_requests(struct og_exchange *x, struct og_io_counts *read, struct og_err *err)
{
    if (!x->spilled)
        return 0;
    const struct og_demanded it = og__demand_of(&x->demand, x->planned - 1);
    const uint64_t *at = x->codes_at.at;
    const size_t bytes = ((size_t)it.n_at + it.n) * sizeof(uint32_t);
    uint64_t asked = 0;
    OG_DO(og__exchange_room(x, &x->recalled, bytes, err));
    OG_DO(og__spill_read(x->path->stores.codes, at[x->planned - 1] + it.n * sizeof(uint32_t),
                         x->recalled.at, bytes, &asked, err));
    read->reads += asked > 0;
    read->bytes += asked;
    return 0;
}

/* A plan that was made with the superbatch's. */
static int read_plan(struct og_exchange *x, const struct og_demanded *requested,
                     struct og_io_counts *read, struct og_err *err)
{
    const struct og_data_path *d = x->path;
    const uint64_t *at = x->codes_at.at;
    const uint32_t n_slots = d->memory->n_slots;
    struct og_plan *plan = &x->served.plan;
    uint64_t bytes = 0;
    OG_DO(og__plan_reserve(plan, requested->n, OG_MIN(requested->n, n_slots), err));
    OG_DO(og__spill_read(d->stores.codes, at[x->planned - 1], plan->place,
                         requested->n * sizeof(*plan->place), &bytes, err));
    read->reads += bytes > 0;
    read->bytes += bytes;
    return og__plan_decode(&x->path->planner, plan->place, requested->ids, requested->n, n_slots,
                           plan, err);
}

/* All that such a plan finds in the cache is there. */
static int await_filling(struct og_exchange *x, struct og_round_state *t, struct og_err *err)
{
    struct og_filled filled = {0};
    const int rc = og__filling_await(x->filling, x->planned - 1, &filled, err);
    t->filled = filled.read;
    t->fill_seconds = filled.seconds;
    return rc;
}

static int begin_reading(struct og_exchange *x, struct og_err *err)
{
    const struct og_data_path *d = x->path;
    struct og_round_state *t = state_of(x, x->begun);
    struct og_plan *plan = &x->served.plan;
    double start = og__now();
    int rc;
    x->planned++;
    OG_TRY(recall_requests(x, &t->plan_read, err));
    const struct og_demanded requested = requested_last(x);
    OG_TRY(x->known ? read_plan(x, &requested, &t->plan_read, err)
                    : og__policy_plan(d->policy, &x->path->planner, requested.ids, requested.n,
                                      plan, err));
    t->plan_seconds = og__now() - start;
    OG_TRY(x->known ? await_filling(x, t, err) : 0);
    start = og__now(); /* who fills counts its own time */
    og__rows_of_own(d->config, plan->misses, plan->n_misses);
    OG_TRY(og__exchange_groups_serve(x, &requested, err));
    t->requested = requested.n_at;
    t->sent = requested.n_at - requested.counts[x->rank];
    t->misses = plan->n_misses;
    x->served.number = x->planned - 1;
    OG_TRY(d->rows.ops->begin(d->rows.self, &x->served, err));
    x->reading = true;
    x->begun++;
    t->gather_seconds += og__now() - start;
out:
    return rc;
}

/* Moves what was read for the round to where it goes. Own rows go where they are used, those of
 * others into their messages. */
static int finish_reading(struct og_exchange *x, uint64_t round, struct og_err *err)
{
    struct og_round_state *t = state_of(x, round);
    struct og_room *received = &x->received[round % OG__RECEIVED];
    const struct og_row_store *rows = &x->path->rows;
    const struct og_demanded requested = requested_last(x);
    const double start = og__now();
    size_t bytes[OG__MOST_RANKS];
    int rc;
    x->reading = false; /* it ends, whatever comes */
    OG_TRY(rows->ops->finish(rows->self, &x->served, err));
    t->read = x->served.read;
    OG_TRY(og__exchange_room(x, &x->sent, og__exchange_groups_sizes(x, &requested, bytes), err));
    OG_TRY(og__exchange_room(x, received, t->by.begins[x->ranks] * x->groups.unit, err));
    OG_TRY(og__place_room(x, round, err));
    og__comm_lay(x->with.comm, x->sent.at,
                 (char *)received->at + t->by.begins[x->rank] * x->groups.unit, bytes, x->send);
out:
    t->gather_seconds += og__now() - start;
    return rc;
}

/* What was read for the round is stored as it is sent. Where ranks read rows in place all of them
 * have begun the round before, and so left the one before that. */
static void pack_rows(struct og_exchange *x, uint64_t round)
{
    struct og_round_state *t = state_of(x, round);
    const struct og_row_store *rows = &x->path->rows;
    const struct og_demanded requested = requested_last(x);
    const double start = og__now();
    if (x->in_place.area.of)
        og__place_rows(x, round, &requested);
    else
        og__exchange_groups_put(x, &requested, og__exchange_groups_copy);
    rows->ops->end(rows->self, &x->served);
    og__filling_done(x->filling, x->planned);
    t->gather_seconds += og__now() - start;
}

/* Begins it: what is read next, and the batch that has its rows, need not wait for that. */
static int send_rows(struct og_exchange *x, uint64_t round, struct og_err *err)
{
    struct og_message receive[OG__MOST_RANKS];
    const uint64_t *begins = state_of(x, round)->by.begins;
    const size_t unit = x->groups.unit;
    char *to = x->received[round % OG__RECEIVED].at;
    for (uint32_t i = 0; i < x->ranks; i++)
        receive[i] = (struct og_message){to + begins[i] * unit, (begins[i + 1] - begins[i]) * unit};
    return og__comm_begin(x->with.comm, x->send, receive, err);
}

/* ---- a step: rows of one round are sent for, and the next one is begun ---- */

/* Exchanges the requests of the round that is begun, and before that whether all continue. counts:
 * by rank. */
static int hear_counts(struct og_exchange *x, uint32_t *counts, struct og_err *err)
{
    int rc = og__exchange_agree(x, 0, err);
    return rc < 0 ? rc : tell_counts(x, counts, err);
}

/* All that may fail in one rank alone before messages of a length that others know. */
static int prepare(struct og_exchange *x, bool hears, bool brings, const uint32_t *counts,
                   struct og_err *err)
{
    if (brings)
        OG_DO(finish_reading(x, x->here, err));
    if (brings && hears) /* all have met; new requests replace the previous ones */
        pack_rows(x, x->here);
    if (hears)
        OG_DO(room_for_lists(x, counts, err));
    return 0;
}

static int step(struct og_exchange *x, bool begins, bool brings, struct og_err *err)
{
    uint32_t counts[OG__MOST_RANKS] = {0}; /* rows requested in the round that is begun */
    const bool hears = begins && !x->known;
    int rc;
    OG_TRY(og__exchange_await(x, err)); /* of the round before: they lie where these are packed */
    if (begins)
        OG_TRY(look_ahead(x, err));
    if (hears)
        OG_TRY(hear_counts(x, counts, err));
    rc = prepare(x, hears, brings, counts, err);
    OG_TRY(og__exchange_agree(x, rc, err));
    if (hears)
        OG_TRY(og__exchange_lists(x, state_of(x, x->begun)->by.first, counts, err));
    if (brings && !hears)
        pack_rows(x, x->here);
    if (brings) {
        OG_TRY(send_rows(x, x->here, err));
        if (state_of(x, x->here)->work)
            state_of(x, x->here)->work->rows = og__exchange_groups_show(x, x->here);
        x->here++;
    }
    if (begins)
        OG_TRY(begin_reading(x, err));
out:
    return rc;
}

/* Requests are by id; who trains sees places. */
static int show_places(const struct og_exchange *x, struct og_work *w, struct og_err *err)
{
    return w ? og__places_show(&w->places, &w->sampled.batch, &w->rows,
                               x->path->workload->row_graph, err)
             : 0;
}

/* With --pipeline none no later round is begun. */
int og__exchange_reach(struct og_exchange *x, struct og_err *err)
{
    const bool alone = x->path->exec->one_by_one;
    const uint64_t to_begin = alone ? 0 : OG__ROUNDS_UNDER_WAY - 1;
    const uint64_t to_bring = alone ? 0 : OG__RECEIVED - 1;
    int rc = 0;
    x->reached++; /* what lists of a superbatch took before it is in x->waited */
    for (;;) {
        const bool begins = x->item < x->limit && x->begun < x->reached + to_begin;
        const bool brings = x->here < x->begun && x->here < x->reached + to_bring;
        if (!begins && !brings)
            break;
        OG_TRY(step(x, begins, brings, err));
    }
    if (x->here <= x->reached) /* those sent for last are this round's */
        OG_TRY(og__exchange_await(x, err));
    OG_TRY(og__place_check(x, x->reached - 1, err));
    OG_TRY(show_places(x, state_of(x, x->reached - 1)->work, err));
out:
    state_of(x, x->reached - 1)->exchange_seconds = x->waited;
    x->reached_state[(x->reached - 1) % OG__MOST_REACHED] = *state_of(x, x->reached - 1);
    x->waited = 0;
    return rc;
}

uint64_t og__exchange_count(struct og_exchange *x, struct og_epoch_counters *c)
{
    assert(x->counted < x->reached && x->reached - x->counted <= OG__MOST_REACHED);
    const struct og_round_state *t = &x->reached_state[x->counted++ % OG__MOST_REACHED];
    const uint64_t bytes = t->read.bytes + t->plan_read.bytes;
    c->plan_seconds += t->plan_seconds;
    c->gather_seconds += t->gather_seconds + t->fill_seconds;
    c->exchange_seconds += t->exchange_seconds;
    c->prepare_reads += t->filled.reads;
    c->prepare_bytes_read += t->filled.bytes;
    og__count_lookahead(c, &x->prepared);
    x->prepared = (struct og_lookahead_counts){0};
    if (!t->trains) {
        c->eval_bytes_read += bytes;
        return 0;
    }
    c->rows += t->requested;
    c->misses += t->misses;
    c->hits += t->requested - t->misses;
    c->reads += t->read.reads + t->plan_read.reads;
    c->bytes_read += bytes;
    c->feature_bytes_read += t->read.bytes;
    c->trace_bytes_read += t->plan_read.bytes;
    c->rows_exchanged += t->by.first[x->ranks] - requested_of(t, x->rank);
    return t->sent;
}
