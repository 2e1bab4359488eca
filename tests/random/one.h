/* A graph under way: its folder, the runs on it, and what must hold of them. */
#ifndef OG_RANDOM_ONE_H
#define OG_RANDOM_ONE_H

#include "graph.h"
#include "options.h"
#include "report.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum { MOST_PATH = 400 };

struct one {
    struct report *report;
    uint64_t number;
    struct draw draw;
    struct graph graph;
    char folder[256];
    char dataset[MOST_PATH];
    struct settings numbers;
    bool sampled, packed; /* is there a folder of samples, and with packs? */
    bool killed;          /* what a run left may still be there */
    int n_runs;
    int n_batches, n_training; /* of the first run, with those of evaluations and without */
    struct outcome *first;
};

struct file {
    char *data;
    size_t size;
};

struct outcome {
    json_t *summary;
    json_t *numbers;
    struct file checkpoint, best;
    char command[MOST_COMMAND];
};

/* ---- one run (one.c) ---- */

void path_in(const struct one *c, char out[MOST_PATH], const char *name, int number);
void remove_tree(const char *path);
/* Nothing where there is no such file. */
struct file file_read(const char *folder, const char *name);
bool same_file(const struct file *a, const struct file *b);
/* As options to be given back. */
void apply(struct og_options **out, const struct settings *s);
struct settings both(const struct settings *numbers, const struct settings *way);
void outcome_free(struct outcome *o);
/* 0, OG_INTERRUPTED or another code, which is counted as refused. The run stops after `stop_at`
 * batches; 0 = never, negative = killed after so many, in a process of its own. */
int train(struct one *c, const struct settings *way, const char *run, int stop_at,
          struct outcome *o);
int64_t number(const json_t *object, const char *key);
void compare_numbers(struct one *c, const struct outcome *o);
void check_epochs(struct one *c, const struct outcome *o);
/* Checks the prediction of a single epoch that is planned as a whole before it begins. It has to be
 * exact. With several workers the plan is the first one's alone. */
void check_prediction(struct one *c, const struct outcome *o);
void check_leftovers(struct one *c, const char *folder, const char *command);

/* What `plan` predicts of this run; NULL where it was refused, which is counted. */
json_t *plan_of(struct one *c, const struct settings *way);

/* ---- devices (device.c) ---- */

void draw_device(struct one *c, struct settings *way);
/* Reduces a plentiful --device-memory to the smallest that the plan names, and room for some
 * rows. */
void take_device_memory(struct one *c, struct settings *way);

/* ---- ways to the same numbers (ways.c) ---- */

/* Samples of the graph's batches, made once, and their packs. */
void make_samples(struct one *c);
void pack_samples(struct one *c);
void train_another_way(struct one *c);

/* ---- simulation, and a model that is trained (model.c) ---- */

void simulate(struct one *c);
void use_model(struct one *c);

#endif
