/* lookahead: a run in superbatches, for policies that must know the coming batches (Park et al.
 * 2022, §3.1).
 *
 *   superbatch k:  sample all its batches ──> prepare ──> prefill ──> replay them to the consumer
 *                  (a flow without features)              (a flow that reads, plans, loads)
 *
 * Policies that look past its end get a tail: batches of the next superbatches, sampled once and
 * kept. They may be of the next epochs, up to the end of the run:
 *
 *   | own | tail |                sampled:  own, tail
 *         | own | tail |                    what its tail has more than what is left of that one
 *
 * Under any other policy there is one flow from beginning to end. */
#ifndef OG_LOOKAHEAD_H
#define OG_LOOKAHEAD_H

#include "flow/data_path.h"

/* As og__flow_run, over the data path: every command runs its batches through this. */
OG_MUST_CHECK int og__run_batches(struct og_data_path *d, enum og__split pass, uint64_t first,
                                  uint64_t last, og_consumer *consumer, void *arg,
                                  struct og_err *err);

/* Ends a run before its last item, so that another may begin. Rows that were planned into the cache
 * may not have come there. For a loader alone: training that ended early resumes with a session of
 * its own, so that no device has rows then. */
void og__abandon_batches(struct og_data_path *d);

/* Predicts without a run: samples and plans the first superbatch, so what it reads is known. For
 * policies that do not look ahead it is an epoch. */
OG_MUST_CHECK int og__predict_run(struct og_data_path *d, struct og_err *err);

/* The first superbatch of a run from `first` ends before this item. */
uint64_t og__superbatch_end(const struct og_data_path *d, enum og__split pass, uint64_t first,
                            uint64_t last);

/* Packs offline the sample of epoch `epoch`. Which nodes the cache is to hold, and the misses of
 * its batches and of the validation batches after them. For a session that planned whole draws and
 * opened no features. *done, and rows [n_types], or of one, are added to. */
struct og_npy_writer;
struct og_draw_files {
    const char *dir; /* packed files of draw `draw`, as packs.h names them */
    uint32_t draw;
    struct og_npy_writer *cached; /* int64 */
};
OG_MUST_CHECK int og__pack_draw(struct og_data_path *d, uint32_t epoch,
                                const struct og_draw_files *to, struct og_lookahead_counts *done,
                                uint64_t *rows, struct og_err *err);

#endif
