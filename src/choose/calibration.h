/* calibration: rates of samplers and trainers, with the model and the batches at hand, measured
 * before the run.
 *
 *   --executors auto  groups of threads that compute a mini-batch each. They are as few as are
 * about as fast as the fastest that memory has room for
 *   --executors S:T   what an epoch will take (plan/executors.h)
 *   --preset fgnn     how many threads sample (Yang et al. 2022, §5.2) */
#ifndef OG_CALIBRATION_H
#define OG_CALIBRATION_H

#include "flow/structure.h"
#include "learn/trainers.h"
#include "plan/executors.h"

enum { OG__MOST_TRIED = 8 };

/* `trainers` of `threads` each computed a mini-batch, all at the same time, in so many seconds. */
struct og_trainer_time {
    int trainers, threads;
    double seconds; /* 0: memory has no room for so many */
};

struct og_calibration {
    bool known;
    struct og_trainer_time tried[OG__MOST_TRIED]; /* [n_tried] of --executors auto */
    int n_tried;
    double sample;         /* seconds of a sampler, a mini-batch */
    double train, standby; /* of a trainer, and of a sampler that stands in; 0 = there is none */
    int by_rule; /* threads that sample by FGNN's rule; 0 = half of them. It takes `sample` and, as
                    `train`, the seconds of one thread that trains */
};

/* Trainers to take: the fewest whose mini-batches a second are within 5 % of the most. So chance
 * does not decide, nor memory that gains nothing. At least 1. */
int og__calibration_choose(const struct og_trainer_time *tried, int n);

/* Does --executors auto require measuring? */
bool og__calibration_requested(const struct og_config *config, const struct og_workload *f);

/* Measures 1, 2, 4, ... trainers into h->tried. */
OG_MUST_CHECK int og__calibration_try(struct og_calibration *h, const struct og_learner *l,
                                      const struct og_structure *g, int threads, int most,
                                      struct og_err *err);
/* Does FGNN's rule say how many of the threads sample, and is the run long enough to measure? */
bool og__calibration_ruled(const struct og_config *config, const struct og_workload *f);
/* Measures a thread that trains, into h->by_rule. */
OG_MUST_CHECK int og__calibration_rule(struct og_calibration *h, const struct og_learner *l,
                                       const struct og_structure *g, int threads,
                                       struct og_err *err);
/* Measures what the options require, into h->train and standby. */
OG_MUST_CHECK int og__calibration_time(struct og_calibration *h, const struct og_learner *l,
                                       const struct og_structure *g, struct og_err *err);

/* What an epoch of so many mini-batches takes by the options; out may be NULL. */
void og__calibration_predict(const struct og_calibration *h, const struct og_options *opt,
                             const struct og_exec_plan *exec, uint64_t n_batches, bool switches,
                             struct og_executed *out);

#endif
