/* What a run is told: options that decide numbers, and options that must not. */
#ifndef OG_RANDOM_OPTIONS_H
#define OG_RANDOM_OPTIONS_H

#include "draw.h"
#include "graph.h"

/* Model, sampler, task, batches. */
void options_numbers(struct settings *s, struct draw *d, const struct graph *g);

/* The plainest way to these numbers: everything in memory, one thread. */
void options_plain(struct settings *s);

/* Any way to them. */
void options_strategy(struct settings *s, struct draw *d);

/* Of inference: what may differ while the bytes may not. */
void options_of_inference(struct settings *s, struct draw *d);

#endif
