/* A superbatch: a run of batches sampled ahead and kept until they are trained (Park et al. 2022,
 * §3.1).
 *
 *   append, append, ... ──> seal ──> replay 0, 1, 2, ... ──> clear ──> append, ...
 *                                                        └─> drop ──> append, ... behind the rest
 *
 * The ids of all its batches stay in memory, where policies read them. Blocks stay in memory up to
 * a share of the budget; batches beyond it are spilled to folders in the form of traces
 * (docs/reference/formats.md) and read back front to back, or in the order of each epoch that
 * reuses them. */
#ifndef OG_SUPERBATCH_H
#define OG_SUPERBATCH_H

#include "base/places.h"
#include "sample/samples.h"

struct og_superbatch;

struct og_superbatch_options {
    struct og_places scratch; /* for what is spilled; made when it is first needed */
    size_t memory;            /* bytes of blocks kept in memory; what is beyond is spilled */
    int n_hops;
    uint64_t n_nodes;
    uint32_t n_relations; /* of a typed graph */
    unsigned extras;      /* OG__WITH_DEGREES, OG__WITH_WEIGHTS, OG__WITH_RELATIONS: kept too */
};

/* Ids and blocks come from the budget as "trace", and the buffers through which others are spilled:
 * og__trace_writer_bytes until seal, and og__spilled_reader_bytes from then on. */
OG_MUST_CHECK int og__superbatch_open(struct og_superbatch **out,
                                      const struct og_superbatch_options *opt, struct og_budget *b,
                                      struct og_err *err);
void og__superbatch_close(struct og_superbatch *s); /* removes what was spilled */
/* What so many batches of so many ids in all take, without blocks. */
size_t og__superbatch_bytes(int n_hops, uint64_t batches, uint64_t ids);

/* Copies the batch. -ENOMEM beyond the budget: what was appended before stays. Where a spill fails
 * (-ENOSPC when the disk is full) its folder is removed with what was spilled before: all that may
 * follow is clear or close. One thread. */
OG_MUST_CHECK int og__superbatch_append(struct og_superbatch *s, const struct og_batch *batch,
                                        struct og_err *err);
/* A batch that lies in samples, with its number there: its ids alone are kept, and its blocks need
 * not have been read. `samples`, the same for all of them, outlives the superbatch's batches. */
OG_MUST_CHECK int og__superbatch_refer(struct og_superbatch *s, const struct og_batch *batch,
                                       struct og_samples *samples, uint32_t number,
                                       struct og_err *err);
/* What is appended next lies apart from what was before it: dropping all of the one frees its disk,
 * whatever becomes of the other. */
OG_MUST_CHECK int og__superbatch_cut(struct og_superbatch *s, struct og_err *err);
/* After the last append, before the first replay. A cut, too. */
OG_MUST_CHECK int og__superbatch_seal(struct og_superbatch *s, struct og_err *err);

/* The ids of what was appended; valid until clear. May be called while another thread replays. */
struct og_trace og__superbatch_trace(const struct og_superbatch *s);

/* Batch number i into `out`, which afterwards is just what the sampler had made and stays so after
 * clear. `next` is the one that will be wanted then, so that it is on its way meanwhile; none =
 * UINT32_MAX. *read: what was asked of the kernel for it. One thread. */
OG_MUST_CHECK int og__superbatch_replay(struct og_superbatch *s, uint32_t i, uint32_t next,
                                        struct og_batch_memory *out, struct og_io_counts *read,
                                        struct og_err *err);
uint64_t og__superbatch_written(const struct og_superbatch *s); /* bytes spilled since open */
/* What is there, as a bound counts it that folders share equally (og__trace_room). */
uint64_t og__superbatch_room(const struct og_superbatch *s);

/* The ids as og__superbatch_trace has them, to be written over: after seal, where every batch is on
 * disk, and by nobody who does not release them then. */
uint32_t *og__superbatch_ids(struct og_superbatch *s);
/* After seal: give the memory of the ids back, but for the first `keep` of them, where every batch
 * is on disk; replay then reads them from there. og__superbatch_trace has none any more. */
OG_MUST_CHECK int og__superbatch_release_ids(struct og_superbatch *s, uint64_t keep,
                                             struct og_err *err);

/* The first n batches are done with: what is behind them is numbered from 0 and more may be
 * appended. Ids that were given back are read again, for which `scratch` is refilled; *read: what
 * was asked of the kernel for them. */
OG_MUST_CHECK int og__superbatch_drop(struct og_superbatch *s, uint32_t n,
                                      struct og_batch_memory *scratch, struct og_io_counts *read,
                                      struct og_err *err);

/* Empty again, memory kept. */
void og__superbatch_clear(struct og_superbatch *s);

#endif
