/* What the files of `outgrow verify SAMPLES` share.
 *
 *   verifier.c         telling what was found
 *   verify_packs.c     packs of samples
 *   verify_samples.c   samples, and all of it
 *
 * Each calls only those above it. */
#ifndef OG_RUN_VERIFIER_H
#define OG_RUN_VERIFIER_H

#include "dataset/graph.h"
#include "sample/samples.h"
#include "sample/trace.h"

struct og_verify_room {
    void *data;
    size_t bytes;
};

struct og_verifier {
    const char *dir;
    void (*finding)(void *arg, const char *text, const char *hint);
    void *arg;
    const struct og_observer *observer;
    struct og_budget *budget; /* there is no --memory: of what is free */
    int n_findings;
    uint64_t wrong; /* of what is checked; only the first few are reported one by one */
    /* what trace.json says */
    struct og_trace_description description;
    uint32_t draws, per_draw;
    bool once; /* --draw once */
    struct og_samples_options arrays;
    struct og_graph said; /* of the dataset; no files */
    /* the dataset itself, where one is given and it is that */
    struct og_graph *given;
    struct og_samples *samples; /* NULL: cannot be opened */
    struct og_batch_memory batch;
    uint64_t *cached; /* bit a node: in the draw's list */
    struct og_verify_room misses, spare, chunk, rows;
};

#define OG__VERIFY_PART "verify" /* of the budget */

/* A finding; of what is looked at, from begin to end, the first few and how many more. */
void og__verify_report(struct og_verifier *v, const char *text, const char *hint);
void og__verify_tell(struct og_verifier *v, const char *hint, const char *fmt, ...) OG_PRINTF(3, 4);
void og__verify_begin(struct og_verifier *v);
void og__verify_end(struct og_verifier *v, const char *what);
/* What is wrong with a file, or cannot be read of it, is a finding: 1. What keeps us from looking
 * at any is a failure. */
OG_MUST_CHECK int og__verify_judge(struct og_verifier *v, int rc, const struct og_err *why,
                                   struct og_err *err);
void og__verify_progress(const struct og_verifier *v, uint64_t done, uint64_t total);
/* At least so many bytes, whose contents go; NULL on lack of memory. */
void *og__verify_room(const struct og_verifier *v, struct og_verify_room *room, size_t bytes,
                      struct og_err *err);

/* All of the folder `pack`, if it is there. */
OG_MUST_CHECK int og__verify_packs(struct og_verifier *v, struct og_err *err);

#endif
