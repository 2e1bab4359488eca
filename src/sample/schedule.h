/* The order of all batches of a run, as a pure function of their number. So stages may run ahead by
 * any distance, and a resumed run may start anywhere.
 *
 *   item   0 ........... | ...... | .......... | ...... | ...
 *          train, epoch 1  valid    train, 2      valid */
#ifndef OG_SCHEDULE_H
#define OG_SCHEDULE_H

#include "base/random.h"
#include "dataset/graph.h"

/* A rank's share of data-parallel training: batches of a split, or pass, whose number modulo
 * `ranks` is `rank`. 0 ranks count as one, which has all. */
struct og_share {
    uint32_t rank, ranks;
};

struct og_schedule {
    uint64_t n_seeds[OG__SPLITS];
    uint32_t batch_size;
    int epochs, eval_every;
    int resample_every; /* epochs that train on the same batches, in another order; 0 counts as 1 */
    uint64_t seed;
    bool shuffle;
    uint32_t locality;       /* seeds of training per chunk; below 2: each by itself */
    const uint32_t *order;   /* [n_seeds[OG__TRAIN]] that chunks are taken from; NULL: the file's */
    uint64_t order_checksum; /* of the order; 0 without */
    bool may_stop;           /* after each validation (--patience) */
    uint32_t
        whole_rounds; /* an epoch has whole batches alone, a multiple of so many; 0: it has all */
    struct og_share share; /* whose items it numbers; descriptors have the numbers of the whole */
};

/* One batch: the seeds at positions [first, first + n_seeds) of the split's order. The order is
 * that of the epoch that sampled it. */
struct og_descriptor {
    enum og__split split;
    uint32_t epoch; /* from 1 */
    uint32_t batch; /* within the split and epoch, from 0 */
    /* identifies the batch: number `drawn_batch` of epoch `drawn_epoch`, which sampled it */
    uint32_t drawn_epoch, drawn_batch;
    uint64_t first;
    uint32_t n_seeds;
    bool last_of_epoch; /* the last item, training or evaluation, of its epoch */
};

/* -EOVERFLOW if a pass has more batches than 32 bits number. */
OG_MUST_CHECK int og__schedule_check(const struct og_schedule *s, struct og_err *err);

/* The schedule of all ranks. */
struct og_schedule og__schedule_whole(const struct og_schedule *s);

uint64_t og__schedule_batches(const struct og_schedule *s, enum og__split split);
/* The size of parts of n batches, as few as hold at most `most` each, and about equal. */
static inline uint64_t og__even_part(uint64_t n, uint64_t most)
{
    const uint64_t parts = n / most + (n % most > 0);
    return n > 0 ? (n - 1) / parts + 1 : 0;
}
/* The epoch whose batches this one trains on (Liu et al. 2025, §4). With resample_every 3: 1, 1, 1,
 * 4, 4, 4, ... */
uint32_t og__schedule_drawn(const struct og_schedule *s, uint32_t epoch);
bool og__schedule_evaluates(const struct og_schedule *s, uint32_t epoch);
/* The first item of the share at or after item `item` of the whole. */
uint64_t og__share_item(const struct og_schedule *s, uint64_t item);
/* The number of items of the run, and the first item of an epoch. */
uint64_t og__schedule_items(const struct og_schedule *s);
uint64_t og__schedule_start(const struct og_schedule *s, uint32_t epoch);
struct og_descriptor og__schedule_at(const struct og_schedule *s, uint64_t item);
/* The end of the stretch of `item`. Nothing after it is prepared before the run is known to
 * continue. Without may_stop the run is one stretch. */
uint64_t og__schedule_stretch(const struct og_schedule *s, uint64_t item);
/* Items [first, last) of the run; with pass < OG__SPLITS, batches [first, last) of one pass over
 * that split. */
struct og_items {
    const struct og_schedule *schedule;
    enum og__split pass; /* OG__SPLITS: the run */
    uint64_t first, last;
};
struct og_descriptor og__item_at(const struct og_items *items, uint64_t item);

/* A round is a batch of each rank, of one split; a rank without one waits. Returns the item of the
 * whole after the round of `item`; */
uint64_t og__round_end(const struct og_items *whole, uint32_t ranks, uint64_t item);
/* and the item of the whole that begins the round of item `own` of a share. */
uint64_t og__round_start(const struct og_items *share, uint64_t own);

/* Batch number `batch` of a single pass over one split in file order. The pass is outside the run,
 * for all ranks. */
struct og_descriptor og__schedule_pass(const struct og_schedule *s, enum og__split split,
                                       uint64_t batch);

/* Fills place[turn->n_seeds]: positions of the turn's seeds in the split's file. */
void og__schedule_places(const struct og_schedule *s, const struct og_descriptor *descriptor,
                         uint64_t *place);

#endif
