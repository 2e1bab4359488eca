/* Runs in processes of their own: workers that train together, and one that is killed. */
#ifndef OG_RANDOM_WORKERS_H
#define OG_RANDOM_WORKERS_H

#include "one.h"

/* How many train together, and whether they send one another rows. Once the first run is known. */
void draw_workers(struct one *c, struct settings *way);

/* Train with all these options, as many processes as they say. stop_at: as of train(). Returns 0,
 * OG_INTERRUPTED, also of one that was killed on purpose, or a negative code with err. */
int apart_train(const struct one *c, const struct settings *all, int stop_at, struct og_err *err);

/* This program as it is started then: random_runs --rank DATASET STOP_AT REFUSAL NAME=VALUE ... */
int rank_main(int argc, char **argv);

#endif
