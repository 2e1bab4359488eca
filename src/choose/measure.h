/* measure: rates of the machine with the very file and model of a session. A few milliseconds, for
 * choosing among execution plans (choose.h).
 *
 *   probe   reads of the feature file: runs of rows, and rows at random
 *   copy    bytes in memory
 *   model   one step on a sampled batch
 *   link    rows to devices, and collecting there */
#ifndef OG_MEASURE_H
#define OG_MEASURE_H

#include "flow/structure.h"
#include "learn/learner.h"

/* Rates of the disk on the file itself: hosts serve what was just written faster than the rest.
 * What is read is not looked at. All jobs share one buffer, as memory touched for the first time
 * takes about as long as reading it. */
struct og_probe {
    struct og_reader *reader;   /* NULL: not measured: the file is small, or memory is short */
    uint32_t *rows;             /* [n] of a round */
    char *out;                  /* rows of one job */
    uint32_t n, run, scattered; /* rows at most; of a run; at random */
    size_t out_bytes;
    size_t row_bytes;
    uint64_t n_nodes;
    uint32_t round;
    double iops, bandwidth; /* the best of all rounds: others work on the disk as well */
};

/* In a heterogeneous graph the type with the largest features is read. Else f->read_rule is known
 * from then on. To be closed even if it fails. */
OG_MUST_CHECK int og__probe_open(struct og_probe *p, struct og_workload *f,
                                 const struct og_config *config, struct og_budget *b,
                                 struct og_err *err);
void og__probe_close(struct og_probe *p, struct og_budget *b);
/* Until so many seconds have gone; at least once, and a few times if in doubt. */
OG_MUST_CHECK int og__probe_disk(struct og_probe *p, const struct og_disk_profile *known,
                                 double seconds, struct og_err *err);

/* Bytes a second, of one thread; 0 where it cannot be measured. */
double og__copy_rate(struct og_budget *b);

/* Rates of rows to the devices that keep some, by backends of their own; measured once. All are 0
 * where none keeps rows, or memory has no room to time some. */
OG_MUST_CHECK int og__know_links(const struct og_learner *l, const struct og_config *config,
                                 struct og_workload *f, struct og_budget *b, struct og_err *err);

/* Seconds of one step on a batch that is sampled for it. It has gradients where the session
 * trains. */
OG_MUST_CHECK int og__time_model(const struct og_learner *l, const struct og_structure *g,
                                 struct og_pool *pool, double *seconds, struct og_err *err);
/* Seconds in which n groups of `threads` compute one such batch each, all at the same time. */
OG_MUST_CHECK int og__time_trainers(const struct og_learner *l, const struct og_structure *g, int n,
                                    int threads, double *seconds, struct og_err *err);

#endif
