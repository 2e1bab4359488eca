/* ranks: what ranks that train together exchange apart from gradients (learn/shares.h). So all know
 * the same of the run, and any could write its files; rank 0 does.
 *
 * They meet before the first round, in every round, and before they end. A rank that fails or is to
 * stop between two meetings says so at the next, and all end there, at the same mini-batch. */
#ifndef OG_RANKS_H
#define OG_RANKS_H

#include "base/shared_memory.h"
#include "learn/scores.h"
#include "learn/shares.h"
#include "nn/nn.h"
#include "report/counters.h"

/* What a rank brings to a meeting: numbers that travel as they lie in memory. */
struct og_rank_report {
    enum { OG__HAS_PART, OG__HAS_NONE, OG__STOPS, OG__FAILS } what;
    bool saves;                        /* rank 0: it is time for a checkpoint */
    struct og_metrics metrics;         /* of a part; */
    struct og_epoch_counters counters; /* and what was counted of it */
    union {
        struct og_err why;             /* OG__FAILS */
        struct og_tier_counters tiers; /* OG__HAS_PART, of training: with a device's cache */
    };
    uint64_t rows_sent; /* with --exchange, to others in the round */
    uint64_t sent;      /* bytes so far */
};

/* The row of a rank in summary.json. */
struct og_rank_did {
    char host[OG__HOST_NAME];
    uint64_t batches, rows, hits, misses, rows_sent, rows_received, bytes_read;
    double seconds; /* of training on its mini-batches */
    uint64_t peak_rss;
};

struct og_ranks {
    struct og_comm *comm;
    struct og_rank_report report[OG__MOST_RANKS];
    struct og_rank_did did[OG__MOST_RANKS];
    uint64_t sent_before; /* bytes of all, at the last query */
    bool stopped;         /* all know that the run is interrupted */
    struct og_shared_memory
        *shared_memory;        /* of all on this machine; NULL: some cannot share memory */
    bool here[OG__MOST_RANKS]; /* those on this machine */
    int cpus;                  /* what of this machine's is this rank's */
    bool parted; /* an exchange failed, or all know that one did: there is none any more */
    bool leaves; /* knows that the run ends before its time, and ends by itself */
    FILE *log;   /* messages of a rank above 0, until its file is there */
    char *said;
    size_t n_said;
};

/* The ranks that this process belongs to; one that works alone is the only one. */
OG_MUST_CHECK int og__ranks_open(struct og_ranks **out, struct og_err *err);
void og__ranks_close(struct og_ranks *r);
/* Which of the batches are this rank's. */
struct og_share og__ranks_share(const struct og_ranks *r);

/* A meeting: r->report has what each brought. 0; OG_INTERRUPTED where one stops; -ECONNABORTED with
 * its message where another one failed. */
OG_MUST_CHECK int og__ranks_synchronize(struct og_ranks *r, const struct og_rank_report *own,
                                        struct og_err *err);
/* The same, of a rank that came so far with rc, and err if that is an error. */
OG_MUST_CHECK int og__ranks_agree(struct og_ranks *r, int rc, struct og_err *err);

/* Rank 0 begins to write a checkpoint, or is through with it. When another rank fails meanwhile it
 * is not killed. */
void og__ranks_write(struct og_ranks *r, bool on);

/* What must agree in all ranks at the start: where the run resumes, and what their datasets hold.
 * Also options that decide what is computed. */
struct og_beginning {
    uint64_t next_item, contents, numbers;
    bool structure, features; /* that it shares with all on its machine */
    bool exchanges, ahead;    /* rows with others; in superbatches */
    int behind_most;          /* rounds that its trainers may have; then the least of all */
};
/* -EINVAL, or of ranks above 0 -ECONNABORTED, where one has others. */
OG_MUST_CHECK int og__ranks_compare(struct og_ranks *r, struct og_beginning *own,
                                    struct og_err *err);

/* Bytes of rank 0 in all; */
OG_MUST_CHECK int og__ranks_hear(struct og_ranks *r, void *value, size_t size, struct og_err *err);
/* a text of it, of at most size - 1 bytes. */
OG_MUST_CHECK int og__ranks_name(struct og_ranks *r, char *text, size_t size, struct og_err *err);

/* Sends messages of ranks above 0 to worker-<rank>.log in the run's folder, and none to the screen.
 * Messages before that is there are kept. */
void og__ranks_listen(struct og_ranks *r, struct og_observer *observer,
                      const struct og_observer *outer);
OG_MUST_CHECK int og__ranks_log(struct og_ranks *r, const char *folder, struct og_err *err);

/* Collects scores of a pass that each rank evaluated a share of. All ranks get all, in no order. */
OG_MUST_CHECK int og__ranks_scores(struct og_ranks *r, struct og_scores *c, struct og_err *err);

/* Sets "exchanged_bytes": what went from rank to rank since the last call, as of the last meeting.
 * It is of an epoch's row, and absent if the rank works alone. */
json_t *og__ranks_with_sent(struct og_ranks *r, json_t *row);
/* Adds a part to what its rank did. */
void og__ranks_count(struct og_ranks *r, int rank, const struct og_rank_report *part);
/* At the end: hosts and peaks of all. */
OG_MUST_CHECK int og__ranks_introduce(struct og_ranks *r, uint64_t peak_rss, struct og_err *err);
/* "workers" of summary.json; null where it worked alone. */
json_t *og__ranks_json(const struct og_ranks *r);

#endif
