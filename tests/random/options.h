/* Options of a run: those that decide numbers, and those that must not. */
#ifndef OG_RANDOM_OPTIONS_H
#define OG_RANDOM_OPTIONS_H

#include "draw.h"
#include "graph.h"

/* MiB of memory for anything that is drawn: relations whose lists are on disk take most. */
int plenty_of(const struct graph *g);

/* Model, sampler, task, batches, and the kind of device (numbers.c). */
void options_numbers(struct settings *s, struct draw *d, const struct graph *g);

/* The plainest way to these numbers: everything in memory, one thread. */
void options_plain(struct settings *s, const struct graph *g);

/* Any execution of one process to them. */
void options_strategy(struct settings *s, struct draw *d, const struct graph *g,
                      const char *dataset);

/* For inference, layer by layer or in batches: what may differ while the bytes may not. */
void options_of_inference(struct settings *s, struct draw *d, const struct graph *g,
                          bool in_batches);

#endif
