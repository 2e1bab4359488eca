/* A superbatch: batches sampled ahead and stored until they are trained (Park et al. 2022, §3.1).
 *
 *   append, append, ... ──> finish ──> replay 0, 1, 2, ... ──> clear ──> append, ...
 *                                                        └─> drop ──> append, ... after the rest
 *
 * The ids of all its batches are in memory, where policies read them. Blocks are in memory up to a
 * share of the budget. Other batches are spilled to folders as traces (docs/reference/formats.md),
 * and read back front to back, or in the order of each epoch that reuses them. */
#ifndef OG_SUPERBATCH_H
#define OG_SUPERBATCH_H

#include "base/places.h"
#include "sample/samples.h"

struct og_superbatch;

struct og_superbatch_options {
    struct og_places scratch; /* for spilled batches; made on first use */
    size_t memory;            /* bytes of blocks in memory; others are spilled */
    int n_hops;
    uint64_t n_nodes;
    uint32_t n_relations; /* heterogeneous */
    unsigned extras;      /* OG__WITH_...: stored too */
    bool plans_units;     /* a batch's units follow its ids, in the trace too */
};

/* Ids and blocks come from the budget as "trace". So do the spill buffers: og__trace_writer_bytes
 * until finish, then og__spilled_reader_bytes. */
OG_MUST_CHECK int og__superbatch_open(struct og_superbatch **out,
                                      const struct og_superbatch_options *opt, struct og_budget *b,
                                      struct og_err *err);
void og__superbatch_close(struct og_superbatch *s); /* removes what was spilled */
/* Memory of so many batches with so many ids in all, without blocks. */
size_t og__superbatch_bytes(int n_hops, uint64_t batches, uint64_t ids);

/* Copies the batch. -ENOMEM beyond the budget: earlier batches stay. If a spill fails (-ENOSPC when
 * the disk is full), its folder is removed with all spilled batches; then only clear and close are
 * allowed. One thread. */
OG_MUST_CHECK int og__superbatch_append(struct og_superbatch *s, const struct og_batch *batch,
                                        struct og_err *err);
/* Refers to a batch in samples, by its number there: stores only the ids. Its blocks may be unread.
 * `samples`, the same for all, must outlive the superbatch's batches. */
OG_MUST_CHECK int og__superbatch_refer(struct og_superbatch *s, const struct og_batch *batch,
                                       struct og_samples *samples, uint32_t number,
                                       struct og_err *err);
/* Separates later batches from earlier ones on disk: dropping all of one part frees its disk
 * space. */
OG_MUST_CHECK int og__superbatch_cut(struct og_superbatch *s, struct og_err *err);
/* After the last append, before the first replay. Also cuts. */
OG_MUST_CHECK int og__superbatch_finish(struct og_superbatch *s, struct og_err *err);

/* The ids of the appended batches; valid until clear. May be called while another thread
 * replays. */
struct og_trace og__superbatch_trace(const struct og_superbatch *s);

/* Loads batch number i into `out`, identical to the sampler's, and valid after clear. `next` is the
 * one needed after it, which is prefetched; none = UINT32_MAX. *read: reads requested from the
 * kernel. One thread. */
OG_MUST_CHECK int og__superbatch_replay(struct og_superbatch *s, uint32_t i, uint32_t next,
                                        struct og_batch_memory *out, struct og_io_counts *read,
                                        struct og_err *err);
uint64_t og__superbatch_written(const struct og_superbatch *s); /* bytes spilled since open */
/* Disk space used, for a bound that folders share equally (og__trace_room). */
uint64_t og__superbatch_room(const struct og_superbatch *s);

/* The ids of og__superbatch_trace, writable. Call after finish, if every batch is on disk; the
 * caller must release the ids then. */
uint32_t *og__superbatch_ids(struct og_superbatch *s);
/* After finish, if every batch is on disk: releases the memory of the ids, except the first `keep`.
 * Replay then reads them from disk. og__superbatch_trace has none any more. */
OG_MUST_CHECK int og__superbatch_release_ids(struct og_superbatch *s, uint64_t keep,
                                             struct og_err *err);

/* Drops the first n batches: the rest is numbered from 0, and more may be appended. Reads released
 * ids again, through `scratch`. *read: their reads requested from the kernel. */
OG_MUST_CHECK int og__superbatch_drop(struct og_superbatch *s, uint32_t n,
                                      struct og_batch_memory *scratch, struct og_io_counts *read,
                                      struct og_err *err);

/* Empties it and keeps its memory. */
void og__superbatch_clear(struct og_superbatch *s);

#endif
