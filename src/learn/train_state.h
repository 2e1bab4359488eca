/* Where a run stands between two batches, and that as text in the metadata of
 * resume.safetensors. */
#ifndef OG_TRAIN_STATE_H
#define OG_TRAIN_STATE_H

#include "nn/nn.h"
#include "report/counters.h"
#include "sample/schedule.h"

struct og_train_state {
    uint64_t next_item; /* of the schedule */
    uint64_t steps;     /* updates made */
    double weight;      /* of the terms that the step under way has so far (steps.h) */
    struct og_epoch_counters counters; /* of the epoch under way */
    struct og_tier_counters tiers;     /* the same, of this process */
    struct og_metrics train, valid;
    uint32_t best_epoch; /* 0: none yet */
    double seconds;      /* of the whole run so far */
    json_t *epochs;      /* rows of summary.json, owned */
};

/* The row of the best epoch, not owned; NULL: there is none. */
json_t *og__train_state_best(const struct og_train_state *s);

/* JSON with 17 digits, to be freed; NULL without memory. The position is also given without regard
 * to --epochs: a run may be made longer. */
char *og__train_state_text(const struct og_train_state *s, const struct og_schedule *schedule);
/* Replaces s->epochs; s is as it was on errors. A text of NULL is none: -EINVAL, as where it is not
 * of this schedule. The path is for messages. */
OG_MUST_CHECK int og__train_state_parse(struct og_train_state *s,
                                        const struct og_schedule *schedule, const char *text,
                                        const char *path, struct og_err *err);

#endif
