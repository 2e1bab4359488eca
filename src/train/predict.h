/* What a session will read, told before it is read: one epoch's rows, hits, misses, reads, bytes.
 *
 *   a cache that stays as it is    from the pilot's batches, in proportion
 *   one that changes               from the plans of the first superbatch, exact for its batches */
#ifndef OG_PREDICT_H
#define OG_PREDICT_H

#include "train/pilot.h"

/* s->facts.read_rule: how the engine that will read the features merges; asked of one. */
OG_MUST_CHECK int og__learn_rule(struct og_session *s, struct og_err *err);

OG_MUST_CHECK int og__predict_pilot(struct og_session *s, const struct og_pilot *pilot,
                                    struct og_err *err);

/* Training batches of a superbatch, one after another, and their sum as an epoch's. */
struct og_prediction {
    struct og_predicted sum;
    uint64_t batches;
};
/* The plan's misses are numbered; `from` is what sampling the batch read. */
void og__predict_batch(struct og_prediction *p, const struct og_session *s,
                       const struct og_plan *plan, const struct og_sample_reads *from);
/* trace_bytes: read back for each batch. */
void og__predict_epoch(const struct og_prediction *p, struct og_session *s, uint64_t trace_bytes);

#endif
