/* What the files of the exchange share.
 *
 *   exchange.c        rounds, one after another
 *   exchange_place.c  rows that ranks of one machine read where their owner has put them
 *   exchange_ahead.c  what is asked for in all rounds of a superbatch, told at once */
#ifndef OG_EXCHANGE_PARTS_H
#define OG_EXCHANGE_PARTS_H

#include "base/common.h"
#include "plan/demand.h"
#include "train/exchange.h"
#include "train/trainers.h"

/* Rounds under way: trained, here, being read. */
enum { OG__TURNS = 3, OG__RECEIVED = 2 };
/* Those that were reached and are not counted: trainers have them, or the model. */
enum { OG__MOST_REACHED = OG__MOST_TRAINERS + 1 };

/* Memory that grows with the largest batch. */
struct og_room {
    void *at;
    size_t bytes;
};

struct og_turn {
    struct og_work *work; /* NULL: this rank has no batch in the round */
    bool trains;
    uint32_t first[OG__MOST_RANKS + 1]; /* of its rows, those of each owner, one behind the other */
    struct og_room place; /* uint32_t [rows] where the row of its batch is among them */
    /* as an owner */
    uint64_t asked, sent, misses;
    struct og_io_counts read, plan_read, filled;
    double plan_seconds, gather_seconds, exchange_seconds, fill_seconds;
};

/* Rows of two rounds of each owner, in memory that all ranks have, and the caches of those whose
 * rows stay in them, as one range of addresses:
 *
 *   | owner 0: rounds 0, 2, ... | rounds 1, 3, ... | owner 1: ... | slots | cache 0 | cache 1 | ...
 *      `rows` each                                                            `cached` at most
 *
 * What goes to other ranks then are numbers of rows in it. slots: rows that are in each cache. */
struct og_in_place {
    struct og_common_piece area; /* NULL: rows are sent */
    struct og_common_piece cache[OG__MOST_RANKS];
    char *base;
    size_t reserved;
    uint32_t rows, cached;
    uint32_t cache_at;                                 /* number of the first row of cache 0 */
    uint32_t own_slots;                                /* of this rank's cache, if others read it */
    uint32_t *slots;                                   /* [ranks] */
    size_t charged[OG__RECEIVED], taken[OG__RECEIVED]; /* bytes of own ones */
};

struct og_exchange {
    struct og_data_path *path;
    struct og_exchange_with with;
    uint32_t rank, ranks;
    size_t row_bytes;
    size_t each; /* bytes that go to a rank for a row that it asked for */
    struct og_in_place in_place;
    /* rounds of the flow, numbered from 0 */
    struct og_schedule whole;
    enum og__split pass;
    bool known;              /* what is asked for, and how that is planned, until `limit` */
    uint32_t planned;        /* rounds of it that were begun */
    struct og_room codes_at; /* uint64_t [demand.n] where their plans are spilled */
    struct og_room asks;     /* uint32_t [2, ranks, rounds] rows that they ask for: own, of all */
    struct og_ahead_counts prepared; /* not told yet */
    struct og_filling *filling;      /* fills the cache for them; NULL: it is filled */
    uint64_t item, limit, end; /* the next to be begun is that of this item; there are no more */
    uint64_t reached;          /* rounds that were asked for; */
    uint64_t here, begun;      /* whose rows came; whose reading was begun */
    double waited;             /* seconds for others, for the round reached last */
    struct og_turn turn[OG__TURNS]; /* of round r: r modulo OG__TURNS */
    uint64_t told; /* rounds that were counted; of those after it what there is to count: */
    struct og_turn reached_turn[OG__MOST_REACHED]; /* of round r: r modulo that */
    struct og_upcoming upcoming;
    /* what this owner is asked for, and the plan of the round begun last */
    struct og_demand demand;
    struct og_plan plan;
    bool reading;
    struct og_rows rows;                   /* that were read, until they are packed */
    struct og_room spoken, heard;          /* uint32_t lists to others, and from them */
    struct og_room sent;                   /* rows, or their numbers */
    struct og_room received[OG__RECEIVED]; /* the same, of round r: r modulo OG__RECEIVED */
};

OG_MUST_CHECK int og__exchange_room(struct og_exchange *x, struct og_room *r, size_t bytes,
                                    struct og_err *err);
/* In step with others; what that takes is counted. */
OG_MUST_CHECK int og__exchange_agree(struct og_exchange *x, int rc, struct og_err *err);
OG_MUST_CHECK int og__exchange_swap(struct og_exchange *x, const struct og_message *send,
                                    const struct og_message *receive, struct og_err *err);

/* x->each, and where all ranks read rows in place what that takes; else nothing. */
OG_MUST_CHECK int og__place_open(struct og_exchange *x, struct og_err *err);
void og__place_close(struct og_exchange *x);
/* Rows of the round read last that are not told of where they are in the cache. */
static inline uint32_t og__place_copied(const struct og_exchange *x)
{
    return x->in_place.own_slots > 0 ? x->plan.n_misses : x->rows.n;
}
/* For so many of a round. */
OG_MUST_CHECK int og__place_room(struct og_exchange *x, uint64_t round, uint32_t rows,
                                 struct og_err *err);
/* x->rows, which a round asked for, to their place, and their numbers to this rank's and to those
 * of the others. No rank has what lay there of two rounds before any more. */
void og__place_rows(struct og_exchange *x, uint64_t round, const struct og_demanded *asked,
                    uint32_t *own, uint32_t *others);
/* Numbers that came for a round are those of rows of whoever they came from. */
OG_MUST_CHECK int og__place_check(struct og_exchange *x, uint64_t round, struct og_err *err);

/* The round that begins with an item: *own: this rank's batch among those, if `has`. */
struct og_round_of {
    uint64_t after; /* the item behind it */
    bool has, trains;
};
struct og_round_of og__exchange_round(const struct og_exchange *x, uint64_t item);

/* n ids, sorted by their owners in x->spoken: first[ranks + 1] of each; place[n], which may be
 * NULL: where each is. */
void og__exchange_sort(struct og_exchange *x, const uint32_t *ids, uint32_t n, uint32_t *first,
                       uint32_t *place);
/* Lists of a round that lie so, from all, to what is asked of this rank. counts[ranks]: rows that
 * each asks for, for which there is room. */
OG_MUST_CHECK int og__exchange_lists(struct og_exchange *x, const uint32_t *first,
                                     const uint32_t *counts, struct og_err *err);

#endif
