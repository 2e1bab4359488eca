/* filling: rows enter the cache as a superbatch's plan says, while the flow trains it.
 *
 *   spilled:    | n, after, nodes, slots | ... | 0 |   a window: what must be there before a batch
 *
 *   a thread:   piece by piece, each once `after` batches of the superbatch are done with
 *   the flow:   await(b) before batch b is loaded, done(n) after n batches are trained
 *
 * Most policies have one window, before the first batch; sweep has more (plan/sweep.c). */
#ifndef OG_FILLING_H
#define OG_FILLING_H

#include "base/spill.h"
#include "budget/config.h"
#include "flow/store.h"
#include "gather/gather.h"
#include "plan/policy.h"
#include "report/timeline.h"

#include <signal.h>

struct og_fill_window {
    uint32_t batch; /* before which it must be there */
    uint64_t at;    /* in the spill */
};
struct og_fill_windows {
    struct og_fill_window *window; /* [n] */
    uint32_t n, capacity;
    uint64_t rows;
    struct og_gather *foreseen; /* gets rows of the first window at once, and distributes others
                                   (gather/written.h); NULL: it has none such */
    struct og_budget *budget;
};
/* None yet, and room for one before each of so many batches: from the budget, as "superbatch". */
OG_MUST_CHECK int og__fill_windows_begin(struct og_fill_windows *w, uint32_t batches,
                                         struct og_budget *b, struct og_err *err);
void og__fill_windows_release(struct og_fill_windows *w);

/* What the policy wants in slots before the next batch, which is number `batch`, is spilled. A
 * window is added if that is anything, or it is the first. `list` has room for 2 OG__FILL_ROWS. */
OG_MUST_CHECK int og__filling_put(struct og_fill_windows *w, struct og_policy *policy,
                                  uint32_t batch, struct og_spill *to, uint32_t *list,
                                  struct og_err *err);

/* A piece of a window: nodes, ascending, and their slots. These are free once `after` batches of
 * the superbatch are done with. */
struct og_fill_head {
    uint32_t n, after; /* n = 0: the window ends here */
};
struct og_fill_piece {
    struct og_fill_head head;
    uint32_t nodes[OG__FILL_ROWS], slots[OG__FILL_ROWS];
};
/* `list` has room for 2 OG__FILL_ROWS: nodes, and from OG__FILL_ROWS on their slots. */
OG_MUST_CHECK int og__filling_put_piece(struct og_fill_head head, const uint32_t *list,
                                        struct og_spill *to, struct og_err *err);
/* The piece at *at of the spill, which moves on to the next. *read as of og__spill_read. */
OG_MUST_CHECK int og__filling_get(struct og_spill *from, uint64_t *at, struct og_fill_piece *piece,
                                  uint64_t *read, struct og_err *err);

/* Bytes that it spills for so many rows in so many pieces. */
uint64_t og__filling_bytes(uint32_t batch, uint64_t pieces, uint64_t rows);

struct og_filling_options {
    const struct og_fill_windows *windows;
    struct og_spill *from;
    struct og_row_store to;            /* whose slots they are */
    const struct og_config *config;    /* whose policy has planned; NULL: its nodes are rows */
    const volatile sig_atomic_t *stop; /* may be NULL */
    struct og_timeline *timeline;      /* may be NULL */
    bool on_demand;                    /* no window is begun before a batch waits for it */
};

struct og_filling;

/* All pointers are borrowed until the end. */
OG_MUST_CHECK int og__filling_start(struct og_filling **out, const struct og_filling_options *opt,
                                    struct og_err *err);
/* The following accept NULL: a cache that is filled already. */

/* Nothing more is begun, and nobody waits any longer. Any thread. */
void og__filling_give_up(struct og_filling *f);
void og__filling_end(struct og_filling *f);

/* Would await return at once? Any thread. */
bool og__filling_ready(struct og_filling *f, uint32_t batch);

/* The result of a thread that was woken to end because another one has failed. Neither
 * OG_INTERRUPTED nor an errno, which a disk may give as well. */
enum { OG__GIVEN_UP = OG_INTERRUPTED - 1 };

/* What reading took since the last call. */
struct og_filled {
    struct og_io_counts read;
    double seconds;
};
/* Until all that the batch wants is in the cache, or filling failed or was given up (OG__GIVEN_UP).
 * One thread. */
OG_MUST_CHECK int og__filling_await(struct og_filling *f, uint32_t batch, struct og_filled *filled,
                                    struct og_err *err);
/* So many batches of the superbatch are done with. Any thread. */
void og__filling_done(struct og_filling *f, uint32_t n);

#endif
