/* executors: hands that sample or train, and how long an epoch takes by who does which, told by
 * running a clock of events (Yang et al. 2022, FGNN, section 5).
 *
 *   tickets 0, 1, 2, ... ──> samplers ──> global queue ──> trainers
 *                               └── no ticket to be had ──> standby trainers (switching)
 *
 * A ticket is the number of a mini-batch. Samplers take the lowest that is left, trainers the
 * lowest that is not trained, once it is sampled. Pure: no clock but its own, the same arguments
 * give the same answer. */
#ifndef OG_EXECUTORS_H
#define OG_EXECUTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { OG__MOST_EXECUTORS = 96 };

/* Seconds of a mini-batch. */
struct og_hand_times {
    double sample;  /* of a sampler */
    double train;   /* of a trainer */
    double standby; /* of a sampler that stands in as a trainer */
};

struct og_executor {
    bool samples;  /* else it trains */
    double sample; /* seconds a mini-batch, of a sampler */
    double train;  /* seconds a mini-batch; of a sampler: as a standby trainer, HUGE_VAL: never */
};

/* Who does what in an epoch. */
struct og_executors {
    const struct og_executor *executor; /* [n] */
    int n;                              /* at most OG__MOST_EXECUTORS */
    bool switches;                      /* samplers have standby trainers */
    uint64_t tickets;                   /* mini-batches of the epoch */
    uint64_t queue; /* that may be sampled and not yet trained; 0 = all of them */
    /* Steps (learn/steps.h): mini-batches of one, and steps whose mini-batches may be trained
     * before those of an earlier one are all there. What an executor made of its mini-batch is
     * taken in order, until then it has no other. 0 mini-batches: nobody waits for anybody. */
    uint64_t accumulate, staleness;
};

struct og_executed {
    double seconds; /* until the last mini-batch is trained; HUGE_VAL: never */
    uint64_t sampled[OG__MOST_EXECUTORS], trained[OG__MOST_EXECUTORS]; /* tickets by executor */
    double busy[OG__MOST_EXECUTORS];                                   /* seconds at work */
    uint64_t switched; /* mini-batches that standby trainers trained */
};

void og__executors_run(const struct og_executors *e, struct og_executed *out);

/* Is a standby trainer to take a mini-batch? `remaining` wait in the queue, which n_trainers work
 * through at `train` seconds each; the standby trainer needs `standby`. FGNN's profit, above 0. */
bool og__executors_profit(uint64_t remaining, int n_trainers, double train, double standby);

/* Samplers among n executors alike: FGNN's ceil(n / (K + 1)), K = train / sample. 1 .. n. */
int og__executors_samplers(int n, double sample, double train);

/* Seconds of an epoch in which work flows like water, of `samplers` and `trainers` alike: as long
 * as the slower of the two; with standby trainers, all are at work until the end. */
double og__executors_fluid(uint64_t tickets, int samplers, int trainers, double sample,
                           double train, double standby, bool switches);

#endif
