/* comm: ranks, processes of one job that exchange bytes in step.
 *
 *     rank 0   exchange ── exchange ────────── exchange ──>
 *                  x          x                    x
 *     rank 1   ─ exchange ─ exchange ───────── exchange ──>
 *
 * In an exchange a rank sends a message to every other rank and receives one from each. It returns
 * once it has all messages.
 *
 * Every rank makes the same exchanges in the same order, and both sides know each message's length.
 * A message of another exchange or of another length is an error. So is a peer that has ended. A
 * table of functions implements the transport. A process finds its rank in the environment, set by
 * the launcher. A process on its own is the only rank, and its exchanges return at once.
 *
 * One thread of a rank at a time. An asynchronous exchange proceeds between begin and end
 * (async_exchange.c). */
#ifndef OG_COMM_H
#define OG_COMM_H

#include "base/base.h"

enum { OG__MOST_RANKS = 64, OG__HOST_NAME = 64 };

/* A message to or from a rank; a rank's own entry is ignored. */
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
    int n_local;                     /* ranks on this machine */
    uint64_t exchanges;              /* made so far */
    uint64_t sent;                   /* bytes of them that went to others */
    bool broken;                     /* one failed: there can be no other */
    bool one_thread;                 /* only the thread that opened it may call its functions */
    int line;                        /* a stream to the launcher; -1: none */
    struct og_async_exchange *async; /* runs asynchronous exchanges; NULL: none so far */
    void *self;                      /* of its kind */
};

/* Opens the comm of this process; a process on its own is its only rank. */
OG_MUST_CHECK int og__comm_find(struct og_comm **out, struct og_err *err);
void og__comm_close(struct og_comm *c);

/* send[n], receive[n]: one message a rank. -ECONNABORTED if another rank has ended. */
OG_MUST_CHECK int og__comm_exchange(struct og_comm *c, const struct og_message *send,
                                    const struct og_message *receive, struct og_err *err);
/* The asynchronous form. begin copies the lists; the data they point to must stay unchanged until
 * end returns. The next exchange of any form first ends one in progress, and fails if that failed.
 * end returns 0 if none is in progress. */
OG_MUST_CHECK int og__comm_begin(struct og_comm *c, const struct og_message *send,
                                 const struct og_message *receive, struct og_err *err);
OG_MUST_CHECK int og__comm_end(struct og_comm *c, struct og_err *err);
/* All-gather of `bytes` bytes a rank into all[n * bytes]. The caller has stored its own at all +
 * rank * bytes. */
OG_MUST_CHECK int og__comm_gather(struct og_comm *c, void *all, size_t bytes, struct og_err *err);

/* Places messages of bytes[n] one after another from `at` on; the own one, not sent, at `own`. */
void og__comm_lay(const struct og_comm *c, void *at, void *own, const size_t *bytes,
                  struct og_message *out);

/* Turns protection on or off: a protected rank is not killed when another rank fails. Under
 * `outgrow train --workers`, others are killed a few seconds after a failure. */
void og__comm_guard(const struct og_comm *c, bool on);

/* ---- sockets: ranks of one machine (sockets.c) ---- */

/* fd[n]: a stream to each rank. A rank's own entry is a stream to the launcher, or -1. The comm
 * owns the descriptors, even on failure. */
OG_MUST_CHECK int og__comm_sockets(struct og_comm **out, int rank, int n, const int *fd,
                                   struct og_err *err);

/* ---- MPI: ranks of any machines (mpi.c) ---- */

/* The rank that the MPI launcher's environment gives; -1: none, or a single rank. */
int og__mpi_rank(void);
OG_MUST_CHECK int og__comm_mpi(struct og_comm **out, struct og_err *err);
/* Can its plugin be loaded? */
bool og__mpi_there(void);

/* ---- ranks of this machine that og_workers_run starts (launch.c) ---- */

/* Set in the environment of started processes. "1/3:5,6,7" is rank 1 of 3, with a descriptor for
 * each rank; its own entry is a stream to the launcher, or -1. On that stream a rank sends
 * OG__GUARDED or OG__UNGUARDED (og__comm_guard). */
#define OG__WORKER_ENV "OUTGROW_WORKER"
enum { OG__GUARDED = '+', OG__UNGUARDED = '-' };
/* As og_workers_run. grace: seconds between a failure and the end of the other ranks. */
OG_MUST_CHECK int og__workers_run(int n, char *const *argv, double grace, struct og_err *err);

#endif
