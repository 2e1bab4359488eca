/* Why a run was slow, inside: what its summary says of its time, and what would shorten it. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "figure.h"

enum { TEXT_MAX = 512, MIB = 1 << 20, REMEDIES_MAX = 4 };

/* Where the time of a run goes. Training waits for the stages from SAMPLING to EXCHANGING, which
 * run in other threads. */
enum stage { PREPARING, COMPUTING, EVALUATING, SAMPLING, PLANNING, READING, EXCHANGING, STAGES };

struct measured {
    const json_t *summary, *plan, *config, *requested;
    double total, waiting;
    double seconds[STAGES]; /* of one thread; waiting of training is that of the longest */
    enum stage largest, waited_for;
    bool reads_to_evaluate; /* evaluating takes long for its rows, as training does */
    double processes, threads;
};

struct advice {
    char text[TEXT_MAX];
    const char *option;     /* the one to change; NULL = none */
    char value[SHOWN_MAX];  /* "" = leave it out */
    const char *drops;      /* a requested option that contradicts it; NULL = none */
    const char *subcommand; /* another command that helps, for the dataset; NULL = train */
    bool is_none;           /* nothing helps */
};

/* Mean of a figure over steady epochs: all except the first, if there are two. */
double steady_figure(const struct measured *m, const char *key);
double memory_figure(const struct measured *m, const char *part);
double rows_bytes(const struct measured *m); /* of all features */
double bytes_read(const struct measured *m); /* in a steady epoch, for its rows */
bool has_topology_on_disk(const struct measured *m);

/* Fill out[REMEDIES_MAX] with what would shorten the run, the best first. Returns how many. If
 * nothing helps, the first says so. */
int find_remedies(const struct measured *m, struct advice *out);

#endif
