/* device rows: the rows of batches come to where models compute, from slots there, from the host's
 * slots, from rings of victims and from what was read for the batch.
 *
 *   reads of batch i + 1 ──> staging area        the loader's thread
 *   collect batch i      ──> room on the device, moves, entries: the device's stream
 *   (collected: its area is free, and what of it enters the host's slots is copied there)
 *   train batch i - 1    <── room                the consumer's thread, or a trainer's
 *
 * A staging area is free as soon as the device has read it, whatever becomes of the batch. Of
 * several devices, whose slots are one cache, training batch b of an epoch goes to device b modulo
 * them, any other one to the first. */
#ifndef OG_DEVICE_ROWS_H
#define OG_DEVICE_ROWS_H

#include "budget/devices.h"
#include "nn/ops.h"
#include "train/flow.h"

struct og_device_rows;

struct og_device_rows_setup {
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend; /* of the first device; the others get some of their own, */
    struct og_devices devices;
    size_t bound; /* of so much of a device's memory */
    struct og_rows_setup rows;
    struct og_tiers_places at;
    uint32_t n_victims;                  /* places of rings */
    uint32_t most;                       /* rows of a batch */
    struct og_gather_options gather;     /* n_slots: of the host; pinned is set by the call */
    struct og_timeline *const *timeline; /* where it will be, if there is one */
};
OG_MUST_CHECK int og__device_rows_open(struct og_device_rows **out, const struct og_dataset *ds,
                                       const struct og_device_rows_setup *setup,
                                       struct og_budget *b, struct og_err *err);
void og__device_rows_close(struct og_device_rows *d); /* before the model whose backend it is */
const char *og__device_rows_engine(const struct og_device_rows *d);

/* Rows into places of one tier, of the device or of the host, nodes ascending. Between batches;
 * after the last call, or a failed one, comes og__device_rows_fill_end. */
OG_MUST_CHECK int og__device_rows_fill(struct og_device_rows *d, const uint32_t *nodes,
                                       uint32_t *places, uint32_t n, struct og_io_counts *counts,
                                       struct og_err *err);

/* The host's slots give their memory back, if n > 0, and all of them lose their rows; and take it
 * again. No batch is in flight. */
OG_MUST_CHECK int og__device_rows_yield(struct og_device_rows *d, uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__device_rows_reclaim(struct og_device_rows *d, struct og_err *err);
OG_MUST_CHECK int og__device_rows_fill_end(struct og_device_rows *d, struct og_io_counts *counts,
                                           struct og_err *err);

/* As og__gather_from_pack. */
void og__device_rows_from_pack(struct og_device_rows *d, struct og_pack *pack);
/* A flow begins: so many of its batches may be between their reads and the consumer's end. */
int og__device_rows_start(struct og_device_rows *d);
struct og_row_source og__rows_on_device(struct og_device_rows *d);
/* Which device a batch is on; NULL: -1. */
int og__device_rows_keeper(const struct og_device_rows *d, const struct og_work *w);
/* Who computes on that device with another backend than rows were opened with. */
OG_MUST_CHECK int og__device_rows_join(struct og_device_rows *d, int keeper,
                                       struct og_nn_backend *be, struct og_err *err);
/* By the consumer: the batch's rows are still looked at when it has had its turn; and by whoever
 * did that, when it has asked its backend for all that looks at them. */
void og__device_rows_keep(struct og_device_rows *d, const struct og_work *w);
void og__device_rows_done(struct og_device_rows *d, const struct og_work *w,
                          struct og_nn_backend *be);
/* What failed at the end of a batch, which could not say so. NULL: nothing. */
OG_MUST_CHECK int og__device_rows_check(const struct og_device_rows *d, struct og_err *err);

#endif
