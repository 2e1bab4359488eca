/* device rows: the rows of batches come to where the model computes, from slots there, from the
 * host's slots, from rings of victims and from what was read for the batch.
 *
 *   reads of batch i + 1 ──> staging area        the loader's thread
 *   collect batch i      ──> room on the device, moves, entries: the device's stream
 *   (collected: its area is free, and what of it enters the host's slots is copied there)
 *   train batch i - 1    <── room                the consumer's thread
 *
 * A staging area is free as soon as the device has read it, whatever becomes of the batch. */
#ifndef OG_DEVICE_ROWS_H
#define OG_DEVICE_ROWS_H

#include "nn/ops.h"
#include "train/flow.h"

struct og_device_rows;

struct og_device_rows_setup {
    const struct og_rows_ops *ops;
    struct og_nn_backend *backend;
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
OG_MUST_CHECK int og__device_rows_fill_end(struct og_device_rows *d, struct og_io_counts *counts,
                                           struct og_err *err);

/* As og__gather_from_pack. */
void og__device_rows_from_pack(struct og_device_rows *d, struct og_pack *pack);
/* So many batches of a flow may be between their reads and the end of their training. */
int og__device_rows_in_flight(const struct og_device_rows *d);
struct og_row_source og__rows_on_device(struct og_device_rows *d);
/* What failed at the end of a batch, which could not say so. NULL: nothing. */
OG_MUST_CHECK int og__device_rows_check(const struct og_device_rows *d, struct og_err *err);

#endif
