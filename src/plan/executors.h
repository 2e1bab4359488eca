/* executors: predicts the time of an epoch whose threads are divided into samplers and trainers.
 * From Yang et al. 2022, FGNN, section 5.
 *
 *   batches 0, 1, 2, ... ──> samplers ──> global queue ──> trainers
 *                               └── no batch left ──> standby trainers (switching)
 *
 * Samplers take the lowest remaining mini-batch, trainers the lowest untrained one that is sampled.
 * A pure function with a simulated clock. */
#ifndef OG_EXECUTORS_H
#define OG_EXECUTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { OG__MOST_EXECUTORS = 96 };

/* Seconds of a mini-batch. */
struct og_executor_times {
    double sample;  /* of a sampler */
    double train;   /* of a trainer */
    double standby; /* of a sampler that acts as a standby trainer */
};

struct og_executor {
    bool samples;  /* else it trains */
    double sample; /* seconds a mini-batch, of a sampler */
    double train;  /* seconds a mini-batch; for a sampler as standby trainer, HUGE_VAL: never */
};

/* The division of work in an epoch. */
struct og_executors {
    const struct og_executor *executor; /* [n] */
    int n;                              /* at most OG__MOST_EXECUTORS */
    bool switches;                      /* samplers have standby trainers */
    uint64_t n_batches;                 /* mini-batches of the epoch */
    uint64_t queue;                     /* the most batches sampled and not yet trained; 0 = all */
    /* Optimizer steps (learn/steps.h): mini-batches a step, and how many incomplete earlier steps a
     * mini-batch may run ahead of. An executor's result is applied in order; until then it takes no
     * other batch. 0 mini-batches: no waiting. */
    uint64_t accumulate, staleness;
};

struct og_executed {
    double seconds; /* until the last mini-batch is trained; HUGE_VAL: never */
    uint64_t sampled[OG__MOST_EXECUTORS], trained[OG__MOST_EXECUTORS]; /* batches by executor */
    double busy[OG__MOST_EXECUTORS];                                   /* seconds at work */
    uint64_t switched; /* mini-batches that standby trainers trained */
};

void og__executors_run(const struct og_executors *e, struct og_executed *out);

/* Should a standby trainer take a mini-batch? `remaining` are in the queue, for n_trainers of
 * `train` seconds each; the standby trainer needs `standby`. FGNN's profit, above 0. */
bool og__executors_profit(uint64_t remaining, int n_trainers, double train, double standby);

/* Samplers among n equal executors: FGNN's ceil(n / (K + 1)), K = train / sample. 1 .. n. */
int og__executors_samplers(int n, double sample, double train);

/* Seconds of an epoch in the fluid limit: those of the slower of samplers and trainers. All of a
 * kind have equal speed. With standby trainers, all work until the end. */
double og__executors_fluid(uint64_t n_batches, int samplers, int trainers, double sample,
                           double train, double standby, bool switches);

#endif
