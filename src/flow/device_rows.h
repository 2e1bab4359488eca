/* device rows: collects the rows of batches on devices, from device slots, host slots, victim
 * buffer and staging.
 *
 *   reads of batch i + 1 ──> staging area        the loader's thread
 *   collect batch i      ──> row buffer, moves, entries   the device's stream
 *   collected:               its area is free, and what enters the host's slots is copied there
 *   train batch i - 1    <── row buffer          the consumer's thread, or a trainer's
 *
 * Each group of rows has its own device slots, row buffers, host slots, victim buffer and reader.
 * All groups proceed together: a batch has the same area and the same buffer in each, from `begin`
 * until its misses are in the host's slots.
 *
 * A staging area is free as soon as the device has read it, whatever becomes of the batch. With
 * several devices, whose slots are one cache, training batch b of an epoch goes to device b modulo
 * their number, any other batch to the first. */
#ifndef OG_DEVICE_ROWS_H
#define OG_DEVICE_ROWS_H

#include "flow/flow.h"
#include "nn/ops.h"
#include "options/devices.h"

struct og_device_rows;

/* A group's rows, whose nodes are numbered from 0, as their file has them. */
struct og_device_group {
    const struct og_group *group; /* whose rows they are */
    uint32_t view;                /* number of their view among a batch's */
    struct og_rows_setup rows;
    struct og_tiers_places at;
    uint32_t n_slots, staging_rows;  /* of the host */
    struct og_gather_options gather; /* these and pinned are set by the call */
};

struct og_device_rows_setup {
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend; /* of the first device; the others get some of their own, */
    struct og_devices devices;
    size_t bound; /* of so much of a device's memory */
    /* [n_groups] with features, in the order of the parts of plans; with as many areas and rooms
     * each. Borrowed by the call */
    const struct og_device_group *group;
    uint32_t n_groups, n_views;          /* views of a batch, some of which may be of none */
    struct og_timeline *const *timeline; /* where it will be, if there is one */
};
OG_MUST_CHECK int og__device_rows_open(struct og_device_rows **out,
                                       const struct og_device_rows_setup *setup,
                                       struct og_budget *b, struct og_err *err);
/* Fills places of one tier at a time, of the device or of the host. The host's slots give all of
 * their memory back or none, and lose their rows. d is closed with it, before the model whose
 * backend it has. */
struct og_row_store og__rows_on_device(struct og_device_rows *d);
/* Which device a batch is on; NULL: -1. */
int og__device_rows_keeper(const struct og_device_rows *d, const struct og_work *w);
/* Who computes on that device with another backend than rows were opened with. */
OG_MUST_CHECK int og__device_rows_join(struct og_device_rows *d, int keeper,
                                       struct og_nn_backend *be, struct og_err *err);
/* The consumer keeps a batch whose rows are still read after its turn. Whoever reads them is done
 * once its backend has queued all reads. */
void og__device_rows_keep(struct og_device_rows *d, const struct og_work *w);
void og__device_rows_done(struct og_device_rows *d, const struct og_work *w,
                          struct og_nn_backend *be);
#endif
