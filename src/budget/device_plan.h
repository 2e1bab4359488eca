/* How --device-memory is divided: a function of options and of the workload.
 *
 *   | models, optimiser | activations, workspace | rooms of batches' rows | slack | feature rows |
 *
 * Everything but the rows is what training needs there; rows get the rest. Several devices have as
 * many rows as the first, which holds the model and its trainers as well. */
#ifndef OG_DEVICE_PLAN_H
#define OG_DEVICE_PLAN_H

#include "budget/config.h"
#include "budget/exec_plan.h"
#include "budget/workload.h"
#include "nn/ops.h"
#include "plan/tiers.h"

struct og_plan_inputs;

/* In bytes. */
struct og_device_plan {
    size_t limit;  /* of each device; 0: none was given */
    size_t free;   /* that each had, where the limit follows from that; else 0 */
    bool is_short; /* all of that is taken, and rows get nothing */
    int n_devices; /* that keep rows */
    size_t model, activations, sampling;
    struct og_rows_setup rows; /* slots of all devices, and rooms for the rows of batches */
    size_t rooms, cache;       /* of each device */
    /* With several row sizes: bytes of all devices for slots. rows.n_slots and cache are then 0. */
    size_t slots;
    size_t slack;               /* left for batches larger than planned */
    size_t smallest;            /* the least --device-memory that would do */
    size_t of_trainer, of_rows; /* bounds: of each trainer, and of rows with the model */
};
struct og_device_plan og__device_plan(const struct og_plan_inputs *p);
/* Refuse when the limit is below the smallest that would do. */
OG_MUST_CHECK int og__device_plan_check(const struct og_device_plan *d, struct og_err *err);

/* Both caches, the host's of n_slots rows; without hotness. */
struct og_tiers_setup og__plan_inputs_tiers(const struct og_plan_inputs *p, uint64_t n_slots);

#endif
