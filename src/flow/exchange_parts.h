/* What the files of the exchange share.
 *
 *   exchange.c             rounds, one after another
 *   exchange_groups.c      row sizes, and the layout of a message of rows
 *   exchange_place.c       rows that ranks of one machine read where their owner has put them
 *   exchange_lookahead.c   requests of all rounds of a superbatch, exchanged at once */
#ifndef OG_EXCHANGE_PARTS_H
#define OG_EXCHANGE_PARTS_H

#include "base/shared_memory.h"
#include "flow/exchange.h"
#include "flow/source.h"
#include "options/trainer_count.h"
#include "plan/demand.h"

/* Rounds under way: trained, here, being read. */
enum { OG__ROUNDS_UNDER_WAY = 3, OG__RECEIVED = 2 };
/* Those that were reached and are not counted: trainers have them, or the model. */
enum { OG__MOST_REACHED = OG__MOST_TRAINERS + 1 };

/* Memory that grows with the largest batch. */
struct og_room {
    void *at;
    size_t bytes;
};

/* Rows of a range of nodes: of all, or of those of a type. */
struct og_exchange_group {
    uint32_t own_end; /* of this rank's nodes those of the group end there, by its own numbers */
    uint32_t units;   /* that a row takes of a message; 0: they have none */
    size_t row_bytes;
    int dim;
    enum og_dtype dtype;
    const struct og_sparse_rows *sparse;
    const float *scale;
    /* where ranks read rows in place */
    uint32_t takes;           /* units of places that a row takes */
    uint32_t slots, slots_at; /* of the own cache, if others read it; its first there */
    uint32_t n, n_at;         /* rows of the round read last that are copied; the first there */
};

/* A message has the rows of one owner for one rank's batch. They are in the order of the list that
 * requested them: group by group. Rows of several sizes are in units, whose bytes divide all of
 * them:
 *
 *   received   | owner 0: rows of group 0 | of group 1 || owner 1: of group 0 | of 1 || ...
 *
 * A place in it is a number of units, so that rows of any size have one. */
struct og_exchange_groups {
    uint32_t n;
    uint32_t *end;                   /* [n] nodes of the graph */
    struct og_exchange_group *group; /* [n] */
    size_t unit;                     /* bytes */
    struct og_rows *views;           /* [OG__RECEIVED][n] what batches have of rounds */
};

/* A list of rows by owner: first[i] and begins[i] are the number and unit of owner i's first. */
struct og_sorted {
    uint32_t first[OG__MOST_RANKS + 1];
    uint64_t begins[OG__MOST_RANKS + 1];
};

struct og_round_state {
    struct og_work *work; /* NULL: this rank has no batch in the round */
    bool trains;
    const uint32_t *ids; /* [n] of its batch, those that have rows */
    uint32_t n;
    struct og_sorted by;  /* these by their owners */
    struct og_room place; /* uint32_t [n] where the row of each is in what is received */
    /* as an owner */
    uint64_t requested, sent, misses;
    struct og_io_counts read, plan_read, filled;
    double plan_seconds, gather_seconds, exchange_seconds, fill_seconds;
};

/* Memory for rows that all ranks read, as one range of addresses. It has rows of two rounds of each
 * owner, and the caches of those whose rows stay in them:
 *
 *   | owner 0: rounds 0, 2, ... | rounds 1, 3, ... | owner 1: ... | slots | cache 0 | cache 1 | ...
 *      `room` each                                                            `cached` at most
 *
 * Other ranks then get locations of rows in it, as numbers of units. `slots` are the units that
 * each cache takes. Rows are in order of group, in a round as in a cache. */
struct og_in_place {
    struct og_shared_memory_piece area; /* NULL: rows are sent */
    struct og_shared_memory_piece cache[OG__MOST_RANKS];
    char *base;
    size_t reserved;
    size_t unit;                                       /* bytes; all below are numbers of them */
    uint32_t room, cached;                             /* of rows of a round; of a cache, at most */
    uint32_t cache_at;                                 /* where cache 0 begins */
    uint32_t *slots;                                   /* [ranks] */
    size_t charged[OG__RECEIVED], taken[OG__RECEIVED]; /* bytes of own ones */
};

struct og_exchange {
    struct og_data_path *path;
    struct og_exchange_with with;
    uint32_t rank, ranks;
    struct og_exchange_groups groups;
    struct og_in_place in_place;
    /* rounds of the flow, numbered from 0 */
    struct og_schedule whole;
    enum og__split pass;
    bool known;                /* requests, and their plans, until `limit` */
    uint32_t planned;          /* rounds of it that were begun */
    bool spilled;              /* their requests are too, with their plans */
    struct og_room codes_at;   /* uint64_t [demand.n] where their plans are spilled */
    struct og_room row_counts; /* uint32_t [2, ranks, rounds] rows that they request: own, of all */
    struct og_lookahead_counts prepared; /* not counted yet */
    struct og_filling *filling;          /* fills the cache for them; NULL: it is filled */
    uint64_t item, limit, end; /* the next to be begun is that of this item; there are no more */
    uint64_t reached;          /* rounds that were requested; */
    uint64_t here, begun;      /* whose rows came; whose reading was begun */
    double waited;             /* seconds for others, for the round reached last */
    struct og_round_state
        state[OG__ROUNDS_UNDER_WAY]; /* of round r: r modulo OG__ROUNDS_UNDER_WAY */
    uint64_t counted; /* rounds that were counted; of those after it what there is to count: */
    struct og_round_state reached_state[OG__MOST_REACHED]; /* of round r: r modulo that */
    struct og_upcoming upcoming;
    /* requests to this owner, and the round begun last as a work. That has its plan, and the rows
     * read, until they are packed */
    struct og_demand demand;
    struct og_room recalled; /* uint32_t: where spilled, what that round requests, then the ids */
    struct og_work served;
    bool reading;
    struct og_planned_ids listed;              /* those of a batch that have rows */
    struct og_room lists_sent, lists_received; /* uint32_t lists to others, and from them */
    struct og_room sent;                       /* rows, or their numbers: */
    struct og_message send[OG__MOST_RANKS]; /* those of each rank; own ones where they are used */
    struct og_room received[OG__RECEIVED];  /* the same, of round r: r modulo OG__RECEIVED */
};

OG_MUST_CHECK int og__exchange_room(struct og_exchange *x, struct og_room *r, size_t bytes,
                                    struct og_err *err);
/* In step with others; what that takes is counted. */
OG_MUST_CHECK int og__exchange_agree(struct og_exchange *x, int rc, struct og_err *err);
OG_MUST_CHECK int og__exchange_swap(struct og_exchange *x, const struct og_message *send,
                                    const struct og_message *receive, struct og_err *err);

/* ---- groups (exchange_groups.c) ---- */

OG_MUST_CHECK int og__exchange_groups_open(struct og_exchange *x, struct og_err *err);
void og__exchange_groups_close(struct og_exchange *x);
/* Lists the ids of a batch that have rows, group by group; the result may be in `room`. */
OG_MUST_CHECK int og__exchange_groups_list(const struct og_exchange *x, struct og_planned_ids *room,
                                           const uint32_t **ids, uint32_t *n, struct og_err *err);
/* What it takes for batches of n ids at most is there. */
OG_MUST_CHECK int og__exchange_groups_reserve(const struct og_exchange *x,
                                              struct og_planned_ids *room, uint32_t n,
                                              struct og_err *err);
/* Nodes of a list are of this owner, have rows, and come group by group. */
bool og__exchange_groups_fit(const struct og_exchange *x, const uint32_t *nodes, uint32_t n);
/* x->served becomes the request, before it is begun. */
OG_MUST_CHECK int og__exchange_groups_serve(struct og_exchange *x,
                                            const struct og_demanded *requested,
                                            struct og_err *err);
/* Bytes that each rank requested; returns those of others. */
size_t og__exchange_groups_sizes(const struct og_exchange *x, const struct og_demanded *requested,
                                 size_t *bytes);
/* Rows of one group that a rank requested: [begin, end) of requested->at. The first requested row
 * of that group is requested->ids' number `first`. */
struct og_run {
    uint32_t rank, group, first, begin, end;
};
/* Writes something of each row for the rank that requested it, in the order of a message. */
typedef void og_put_run(const struct og_exchange *x, const struct og_demanded *requested,
                        const struct og_run *run, char **to);
void og__exchange_groups_put(const struct og_exchange *x, const struct og_demanded *requested,
                             og_put_run *put);
/* x->served's rows. */
og_put_run og__exchange_groups_copy;
/* What a batch has of a round, once that is here. */
const struct og_rows *og__exchange_groups_show(struct og_exchange *x, uint64_t round);

/* ---- rows in place (exchange_place.c) ---- */

/* Where all ranks read rows in place what that takes; else nothing. */
OG_MUST_CHECK int og__place_open(struct og_exchange *x, struct og_err *err);
void og__place_close(struct og_exchange *x);
/* Room for rows of the round read last whose place in the cache is not sent. */
OG_MUST_CHECK int og__place_room(struct og_exchange *x, uint64_t round, struct og_err *err);
/* Copies x->served's rows, which a round requested, to their place. Their numbers go to where
 * x->send has those of each rank. No rank still uses the rows of two rounds before. */
void og__place_rows(struct og_exchange *x, uint64_t round, const struct og_demanded *requested);
/* Numbers that came for a round are those of rows of whoever they came from. */
OG_MUST_CHECK int og__place_check(struct og_exchange *x, uint64_t round, struct og_err *err);

/* The round that begins with an item: *own: this rank's batch among those, if `has`. */
struct og_round_of {
    uint64_t after; /* the item after it */
    bool has, trains;
};
struct og_round_of og__exchange_round(const struct og_exchange *x, uint64_t item);

/* Sorts n ids, group by group, by their owners into x->lists_sent. And place[n], which may be NULL,
 * gets where the row of each is in what is received. */
void og__exchange_sort(struct og_exchange *x, const uint32_t *ids, uint32_t n, struct og_sorted *by,
                       uint32_t *place);
/* Collects a round's lists from all ranks, for this owner. counts[ranks]: rows that each requests.
 * Buffers must have room. */
OG_MUST_CHECK int og__exchange_lists(struct og_exchange *x, const uint32_t *first,
                                     const uint32_t *counts, struct og_err *err);

#endif
