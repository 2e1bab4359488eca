/* Rows of one width on devices, as device_rows.h brings them: slots and rooms there, the host's
 * slots, rings of victims, and who reads the rest. Nodes are numbered from 0, as their file has
 * them.
 *
 * A batch has a staging area from `begin` to `entered`, and the room that it is brought to. */
#ifndef OG_DEVICE_WIDTH_H
#define OG_DEVICE_WIDTH_H

#include "gather/gather.h"
#include "nn/ops.h"
#include "plan/tiers.h"

struct og_device_width_setup {
    const struct og_group *group; /* whose rows they are */
    uint32_t first, end;          /* nodes of all that they are */
    uint32_t view;                /* number of their view among a batch's */
    struct og_rows_setup rows;
    struct og_tiers_places at;
    uint32_t n_victims;              /* places of rings */
    uint32_t most;                   /* rows of a batch */
    uint32_t n_slots, staging_rows;  /* of the host */
    struct og_gather_options gather; /* these and pinned are set by the call */
};

struct og_device_width {
    struct og_device_width_setup setup;
    const struct og_rows_ops *ops;
    struct og_budget *budget;
    struct og_rows_there *there;
    struct og_pinned pinned;
    struct og_gather *gather;
    char *victims; /* [n_victims] rows, pinned */
    /* by staging area: the plan that is carried out, and what was read for it */
    struct og_tiers_plan plan[OG__MOST_ROOMS];
    struct og_rows read[OG__MOST_ROOMS];
    struct og_entering *entering; /* [most] of the area entering_from */
    uint32_t n_entering, most;
    int entering_from;
};

/* On n backends; it stays where it is until it is closed, which it is to be after a failure too. */
OG_MUST_CHECK int og__device_width_open(struct og_device_width *w,
                                        const struct og_device_width_setup *setup,
                                        const struct og_rows_ops *ops,
                                        struct og_nn_backend *const *be, int n, struct og_budget *b,
                                        struct og_err *err);
void og__device_width_close(struct og_device_width *w);

/* Rows into places of one tier, nodes ascending; the host's are changed. */
OG_MUST_CHECK int og__device_width_fill(struct og_device_width *w, const uint32_t *nodes,
                                        uint32_t *places, uint32_t n, struct og_io_counts *counts,
                                        struct og_err *err);

/* Start reading what the plan misses, and wait for it; *read is added to. */
OG_MUST_CHECK int og__device_width_begin(struct og_device_width *w, int area,
                                         const struct og_tiers_plan *plan, uint32_t chunk,
                                         struct og_err *err);
OG_MUST_CHECK int og__device_width_finish(struct og_device_width *w, int area,
                                          struct og_io_counts *read, struct og_err *err);
/* Ask for the batch's rows in the room. */
OG_MUST_CHECK int og__device_width_bring(struct og_device_width *w, int area, int room,
                                         struct og_brought *out, struct og_err *err);
/* Once they have come: what of the area is to enter the host's slots does. */
void og__device_width_enter(struct og_device_width *w, int area);

#endif
