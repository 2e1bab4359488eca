/* device rows: the rows of batches come to where models compute, from slots there, from the host's
 * slots, from rings of victims and from what was read for the batch.
 *
 *   reads of batch i + 1 ──> staging area        the loader's thread
 *   collect batch i      ──> room on the device, moves, entries: the device's stream
 *   (collected: its area is free, and what of it enters the host's slots is copied there)
 *   train batch i - 1    <── room                the consumer's thread, or a trainer's
 *
 * Rows of several widths are brought side by side, each width's by itself (device_width.h): a batch
 * has the same area and the same room of each.
 *
 * A staging area is free as soon as the device has read it, whatever becomes of the batch. Of
 * several devices, whose slots are one cache, training batch b of an epoch goes to device b modulo
 * them, any other one to the first. */
#ifndef OG_DEVICE_ROWS_H
#define OG_DEVICE_ROWS_H

#include "flow/device_width.h"
#include "flow/flow.h"
#include "options/devices.h"

struct og_device_rows;

struct og_device_rows_setup {
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend; /* of the first device; the others get some of their own, */
    struct og_devices devices;
    size_t bound; /* of so much of a device's memory */
    /* [n_widths] in the order of the parts of plans; with as many areas and rooms each. Borrowed by
     * the call */
    const struct og_device_width_setup *width;
    uint32_t n_widths, n_views;          /* views of a batch, some of which may be of no width */
    struct og_timeline *const *timeline; /* where it will be, if there is one */
};
OG_MUST_CHECK int og__device_rows_open(struct og_device_rows **out,
                                       const struct og_device_rows_setup *setup,
                                       struct og_budget *b, struct og_err *err);
void og__device_rows_close(struct og_device_rows *d); /* before the model whose backend it is */
const char *og__device_rows_engine(const struct og_device_rows *d);

/* Rows of one width into places of one tier, of the device or of the host, nodes ascending; both
 * lists are changed. Between batches; after the last call, or a failed one, comes
 * og__device_rows_fill_end. */
OG_MUST_CHECK int og__device_rows_fill(struct og_device_rows *d, uint32_t *nodes, uint32_t *places,
                                       uint32_t n, struct og_io_counts *counts, struct og_err *err);

/* The host's slots give their memory back, if n > 0, and all of them lose their rows; and take it
 * again. No batch is in flight. */
OG_MUST_CHECK int og__device_rows_yield(struct og_device_rows *d, uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__device_rows_reclaim(struct og_device_rows *d, struct og_err *err);
OG_MUST_CHECK int og__device_rows_fill_end(struct og_device_rows *d, struct og_io_counts *counts,
                                           struct og_err *err);

/* As og__gather_from_pack, a pack of each width; or NULL. */
void og__device_rows_from_packs(struct og_device_rows *d, struct og_pack *const *packs);
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
