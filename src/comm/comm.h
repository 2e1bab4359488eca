/* comm: ranks, processes that work on one thing and exchange bytes in step.
 *
 *   rank 0   exchange ── exchange ────────── exchange ──>      each gives something to each other
 *                x          x                    x             one, and takes something of each;
 *   rank 1   ─ exchange ─ exchange ───────── exchange ──>      nobody leaves one before it has all
 *
 * Every rank makes the same exchanges in the same order, and both sides know how long each message
 * is: a message that is of another exchange, or shorter or longer, is an error. One whose other
 * side has ended is one, too. How bytes travel is a table of functions; who the ranks are a process
 * finds in its environment, where who started it has put that. A process that works alone is the
 * only rank, and its exchanges are over at once.
 *
 * One thread of a rank at a time. An exchange may be begun, and ended later: it goes on by itself
 * meanwhile (beside.c). */
#ifndef OG_COMM_H
#define OG_COMM_H

#include "base/base.h"

enum { OG__MOST_RANKS = 64, OG__HOST_NAME = 64 };

/* What goes to a rank, or comes from one; of a rank's own place nothing is read or written. */
struct og_message {
    void *at;
    size_t bytes;
};

struct og_comm;

struct og_comm_kind {
    const char *name;
    int (*exchange)(struct og_comm *c, const struct og_message *send,
                    const struct og_message *receive, struct og_err *err);
    void (*close)(struct og_comm *c);
};

struct og_comm {
    const struct og_comm_kind *kind;
    int rank, n;
    int here;                 /* ranks on this machine */
    uint64_t exchanges;       /* made so far */
    uint64_t sent;            /* bytes of them that went to others */
    bool broken;              /* one failed: there can be no other */
    bool one_thread;          /* its kind takes calls of the one that opened it alone */
    int line;                 /* a stream to who started it; -1: none */
    struct og_beside *beside; /* makes those that are begun; NULL: there were none */
    void *self;               /* of its kind */
};

/* The ranks that this process belongs to; of one that works alone it is the only one. */
OG_MUST_CHECK int og__comm_find(struct og_comm **out, struct og_err *err);
void og__comm_close(struct og_comm *c);

/* send[n], receive[n]: one a rank. -ECONNABORTED where another rank has ended. */
OG_MUST_CHECK int og__comm_exchange(struct og_comm *c, const struct og_message *send,
                                    const struct og_message *receive, struct og_err *err);
/* The same in two calls: lists are copied, what they point to stays as it is until end has
 * returned. The next exchange, whichever it is, ends one that is under way, and fails where that
 * did. end: 0 where none is. */
OG_MUST_CHECK int og__comm_begin(struct og_comm *c, const struct og_message *send,
                                 const struct og_message *receive, struct og_err *err);
OG_MUST_CHECK int og__comm_end(struct og_comm *c, struct og_err *err);
/* The same bytes from each to all: all[n * bytes], of which it has its own at all + rank * bytes.
 */
OG_MUST_CHECK int og__comm_gather(struct og_comm *c, void *all, size_t bytes, struct og_err *err);

/* Lays messages of bytes[n] one behind another from `at` on; the own one, which stays, at `own`. */
void og__comm_lay(const struct og_comm *c, void *at, void *own, const size_t *bytes,
                  struct og_message *out);

/* What this rank is at must not be cut short when another fails, or need not be any more: of ranks
 * that `outgrow train --workers` has started, one that has not said so is killed some seconds after
 * another failed. */
void og__comm_guard(const struct og_comm *c, bool on);

/* ---- sockets: ranks of one machine (sockets.c) ---- */

/* fd[n]: a stream to each rank; in its own place one to who started them, or -1. They are the
 * comm's from then on, even if it fails. */
OG_MUST_CHECK int og__comm_sockets(struct og_comm **out, int rank, int n, const int *fd,
                                   struct og_err *err);

/* ---- MPI: ranks of any machines (mpi.c) ---- */

/* Which rank this process is, by what its launcher tells; -1: none, or the only one. */
int og__mpi_rank(void);
OG_MUST_CHECK int og__comm_mpi(struct og_comm **out, struct og_err *err);
/* Can its plugin be loaded? */
bool og__mpi_there(void);

/* ---- ranks of this machine that og_workers_run starts (launch.c) ---- */

/* In the environment of a process that it has started: "1/3:5,6,7" is rank 1 of 3, with a
 * descriptor a rank, its own that of a stream to who started it, or -1. In that it says
 * OG__GUARDED, OG__UNGUARDED (og__comm_guard). */
#define OG__WORKER_ENV "OUTGROW_WORKER"
enum { OG__GUARDED = '+', OG__UNGUARDED = '-' };
/* og_workers_run, with so many seconds between a failure and the end of those that go on. */
OG_MUST_CHECK int og__workers_run(int n, char *const *argv, double grace, struct og_err *err);

#endif
