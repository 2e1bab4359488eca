/* What the files of a superbatch share.
 *
 *   lookahead_sample.c    which batches it has, and sampling them
 *   lookahead_predict.c   what its batches will read
 *   lookahead_groups.c    what they miss, by groups
 *   lookahead_sweep.c     the cache, filled by the sweep that packs
 *   lookahead_pack.c      what they miss, packed; what that and the rest takes on disk
 *   lookahead_tiers.c     plans of a device's cache over the host's
 *   lookahead.c           one superbatch after another, sampled, planned and trained on
 *   lookahead_ids.c       one that is not trained on: to predict a run, to pack offline
 *
 * Each calls only those above it. */
#ifndef OG_LOOKAHEAD_PARTS_H
#define OG_LOOKAHEAD_PARTS_H

#include "choose/predict.h"
#include "dataset/features.h"
#include "flow/pipeline.h"
#include "lookahead/lookahead.h"
#include "plan/segments.h"

/* Rows of one size, which are packed by themselves. */
struct og_lookahead_group {
    const struct og_group *rows; /* from the packing's first node on, to this one: */
    uint64_t end;
    uint32_t group;
    struct og_packing misses; /* until it is written */
    uint64_t room;            /* of --disk, for its segments */
};

/* Where its rows are written to; shared: nowhere, where chunks hold all that batches miss. */
struct og_lookahead_files {
    struct og_places at, shared;
};

struct og_lookahead {
    struct og_data_path *path;
    const struct og_lookahead_plans *plans;
    struct og_sampled_lookahead *sampled; /* [n] of the superbatch */
    enum og__split pass;
    uint64_t first, last;  /* its items, the last excluded */
    uint64_t n, own, next; /* batches: the most there can be, with a tail; those it has
                              itself; those sampled, with a tail */
    uint64_t fills_at;     /* phased memory with a device's cache: in the spill of plans, */
    uint32_t n_fills;      /* so many pieces */
    uint64_t piece;        /* item that began what is spilled apart from what was before */
    bool by_draw;          /* an epoch's batches, for all epochs that train on them */
    struct og_fill_windows windows;   /* what enters the cache, and when */
    struct og_lookahead_group *group; /* [n_groups] once any is packed */
    uint32_t n_groups;
    uint32_t packed; /* batches that it was begun for; with others, rounds */
    struct og_prediction prediction;
    uint64_t written_before; /* bytes spilled before this superbatch; */
    uint64_t code_before;    /* of which so many of plans */
    uint64_t spill_bytes;    /* that blocks and plans will take on disk, where memory has no room */
    bool said_short;         /* that not all is packed */
    bool sampling;           /* batches, just now: the disk also holds the sample group's */
    struct og_io_counts trace; /* that replaying the batches of an epoch's prediction will read, */
    uint64_t n_traced;         /* so many of them */
    struct og_io_counts
        made; /* reads of pre-sampled batches, and of what group sampling spilled; */
    uint64_t spilled_sample_group_bytes; /* bytes of that */
};

/* ---- sampling ---- */

/* The epoch that drew what the epoch of `item` trains on. A run may go on from a batch of its
 * validation. */
uint32_t og__lookahead_drawn(const struct og_data_path *d, uint64_t item);
/* The most that a superbatch and its tail have. */
uint64_t og__lookahead_most(const struct og_data_path *d);
/* Samples the items' batches into the session's superbatch, and a tail that ends at `end` at the
 * latest. It has the tail of the previous superbatch first, then what `consumer` appends. */
OG_MUST_CHECK int og__lookahead_sample(struct og_lookahead *a, enum og__split pass, uint64_t first,
                                       uint64_t last, uint64_t end, og_consumer *consumer,
                                       struct og_err *err);
/* Records what the next batch took to sample, and takes to read back. `*apart`: it is to be spilled
 * apart from those before it. */
OG_MUST_CHECK int og__lookahead_note(struct og_lookahead *a, struct og_work *w, bool *apart,
                                     struct og_err *err);
/* Replaces ids[n] of a batch by those that plans are of. In a heterogeneous graph these are a part,
 * in memory that the next call reuses. */
OG_MUST_CHECK int og__lookahead_planned(const struct og_data_path *d, const uint32_t **ids,
                                        uint32_t *n, struct og_err *err);
/* Those of a batch, likewise. */
OG_MUST_CHECK int og__lookahead_planned_batch(const struct og_data_path *d,
                                              const struct og_batch *batch, const uint32_t **ids,
                                              uint32_t *n, struct og_err *err);
/* The superbatch's own batches. */
struct og_trace og__lookahead_own(const struct og_lookahead *a);
uint64_t og__lookahead_longest(const struct og_trace *trace); /* rows of a batch */

/* The path's list of next uses, for groups with of[k] (plan/foreseen.h), which learn their first
 * ones. */
OG_MUST_CHECK int og__lookahead_foresee(struct og_lookahead *a, const struct og_trace *trace,
                                        struct og_foreseen *const *of, struct og_err *err);

/* ---- predicting ---- */

/* Does the superbatch's batch number b count for the prediction of an epoch? */
bool og__lookahead_predicts(const struct og_lookahead *a, uint32_t b);
bool og__lookahead_trains(const struct og_lookahead *a, uint32_t b); /* or else validates */
/* The first batch after all that train. */
uint32_t og__lookahead_reads_from(const struct og_lookahead *a, const struct og_trace *own);
OG_MUST_CHECK int og__lookahead_predict_batch(struct og_lookahead *a, uint32_t b,
                                              const uint32_t *ids, struct og_err *err);
/* What batches read of the segments of group k. */
OG_MUST_CHECK int og__lookahead_predict_segments(struct og_lookahead *a, uint32_t k,
                                                 struct og_segments *segments, uint32_t size,
                                                 struct og_err *err);
void og__lookahead_end_prediction(struct og_lookahead *a);

/* ---- what batches miss, by groups ---- */

/* Empty packings for the batches of the trace. Misses replace the ids where the memory plan has no
 * other place for them; */
OG_MUST_CHECK int og__lookahead_begin_packing(struct og_lookahead *a, const struct og_trace *trace,
                                              struct og_err *err);
/* then the memory of the ids is given back but for what is packed there. */
OG_MUST_CHECK int og__lookahead_release_ids(struct og_lookahead *a, struct og_err *err);
/* Adds the next batch, as og__packing_add; in a heterogeneous graph ids come type by type. */
OG_MUST_CHECK int og__lookahead_add_misses(struct og_lookahead *a, const uint32_t *ids,
                                           const uint32_t *codes, uint32_t n, struct og_err *err);
OG_MUST_CHECK int og__lookahead_finish(struct og_lookahead *a, struct og_err *err);
/* Files of each group, malloc'ed, without names; or those of the packs of --samples. */
struct og_lookahead_files *og__lookahead_files_new(const struct og_lookahead *a);
void og__lookahead_files_free(const struct og_lookahead *a, struct og_lookahead_files *files);
OG_MUST_CHECK int og__lookahead_made_files(const struct og_lookahead *a, const char *dir,
                                           uint32_t draw, struct og_lookahead_files **out,
                                           struct og_err *err);
uint32_t og__lookahead_packed(const struct og_lookahead *a); /* batches */
/* Bytes of the packed files of the first n of them, finished. */
uint64_t og__lookahead_file_bytes(const struct og_lookahead *a, uint32_t n);
OG_MUST_CHECK int og__lookahead_shorten(struct og_lookahead *a, uint32_t n, struct og_err *err);
/* Their memory serves others; it ends with the superbatches. */
void og__lookahead_drop_packing(struct og_lookahead *a);
void og__lookahead_end_packing(struct og_lookahead *a);
/* By which rows of the group are read: of the feature file; of this run's packs. */
struct og_disk_profile og__lookahead_profile(const struct og_data_path *d,
                                             const struct og_lookahead_group *w, bool packs);

/* ---- filling the cache in the same sweep ---- */

/* Memory that packing may work in: what the sweep's own buffers leave of the budget. */
size_t og__lookahead_left(const struct og_data_path *d);

struct og_lookahead_passing;
/* The sweep of the finished packings also fetches the rows of the first window into free slots.
 * NULL in *out where none are. *read: bytes of spilled plans, added to until the end. */
OG_MUST_CHECK int og__lookahead_pass_begin(struct og_lookahead *a,
                                           struct og_lookahead_passing **out, uint64_t *read,
                                           struct og_err *err);
/* Rows of this group come by next; groups in their order. */
void og__lookahead_pass_group(struct og_lookahead_passing *p, uint32_t first_node,
                              size_t row_bytes);
/* For struct og_pack_options. */
OG_MUST_CHECK int og__lookahead_pass(void *passing, const uint32_t *nodes, uint32_t n,
                                     const char *rows, struct og_err *err);
/* whole: all rows have come by, and the window begins after this sweep. Accepts NULL. */
void og__lookahead_pass_end(struct og_lookahead *a, struct og_lookahead_passing *p, bool whole);

/* ---- packing ---- */

/* Bytes written so far, of blocks and plans. */
uint64_t og__lookahead_written(const struct og_data_path *d);
/* Bytes of them on the disk: the superbatch's, and its tail's. */
uint64_t og__lookahead_spilled(const struct og_lookahead *a);
/* -ENOSPC where --disk is less than that. */
OG_MUST_CHECK int og__lookahead_within_disk(const struct og_lookahead *a, struct og_err *err);
/* Called once all is spilled. Fails with -ENOSPC where the disk is too small for it, or may be for
 * later superbatches of the run. */
OG_MUST_CHECK int og__lookahead_spill_fits(const struct og_lookahead *a, uint64_t spilled,
                                           struct og_err *err);
/* Do the finished packings fit next to `spilled` bytes? If not, that is an error before the first
 * batch is trained, unless the layout was left open. Then its last batches, maybe all, read from
 * the feature file instead. */
OG_MUST_CHECK int og__lookahead_fit_chunks(struct og_lookahead *a, uint64_t spilled,
                                           struct og_err *err);
/* The same of segments: what each group's may take is its room then. */
OG_MUST_CHECK int og__lookahead_fit_segments(struct og_lookahead *a, uint64_t spilled,
                                             struct og_err *err);
/* Segments of group k, and how many batches each has. `*segments` is to be closed, unless this
 * fails. */
OG_MUST_CHECK int og__lookahead_choose_segments(struct og_lookahead *a, uint32_t k,
                                                struct og_segments *segments, uint32_t *size,
                                                struct og_err *err);
/* Decides what the cache is to hold: by the packs of --samples, else by the policy. */
OG_MUST_CHECK int og__lookahead_prepare(struct og_lookahead *a, const struct og_trace *all,
                                        struct og_io_counts *read, struct og_err *err);
/* Chunks of the finished packings, which fit: files of each group. */
OG_MUST_CHECK int og__lookahead_write_chunks(struct og_lookahead *a,
                                             const struct og_lookahead_files *files,
                                             struct og_lookahead_counts *done, struct og_err *err);
/* The packed files of the superbatch before have been read, and go. */
void og__lookahead_drop_pack(struct og_lookahead *a);
/* The superbatch's misses in packed files of their own, one for each group. */
OG_MUST_CHECK int og__lookahead_pack(struct og_lookahead *a, struct og_lookahead_counts *done,
                                     struct og_err *err);

/* ---- plans of a superbatch: codes of one cache (lookahead.c, lookahead_ids.c), or of two ---- */

struct og_lookahead_plans {
    size_t row_bytes; /* spilled per row, as far as that is known before it is planned */
    /* Spills those of all own batches until they are trained. */
    int (*put)(struct og_lookahead *a, struct og_lookahead_counts *done, struct og_err *err);
    /* Counts a superbatch that is not trained on. */
    int (*count)(struct og_lookahead *a, struct og_err *err);
};
const struct og_lookahead_plans *og__lookahead_plans(const struct og_data_path *d);
OG_MUST_CHECK int og__lookahead_put_codes(struct og_lookahead *a, struct og_lookahead_counts *done,
                                          struct og_err *err);
OG_MUST_CHECK int og__lookahead_count_codes(struct og_lookahead *a, struct og_err *err);
/* Phased memory: rows whose entry was spilled enter both caches before the first batch. The host's
 * has its memory again then. */
OG_MUST_CHECK int og__lookahead_fill_spilled(struct og_lookahead *a,
                                             struct og_lookahead_counts *done, struct og_err *err);

#endif
