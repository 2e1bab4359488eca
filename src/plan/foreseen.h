/* foreseen: where changed rows go when they leave memory, if the coming batches are known. The run
 * and the simulation call the same code, so they count the same reads and writes.
 *
 *   leaves after batch e, next use at t > e + 1   ──> chunk of batch t
 *                         next use at e + 1       ──> one of two late chunks: e + 1 is being read
 *                         none in the superbatch  ──> one of 16 chunks of rows by number: the rest
 *   the next superbatch begins                    ──> the rest is read once, into slots, into
 *                                                     chunks of batches, or back
 *
 * So each row is in one place: a slot, staging or a chunk. One that was never changed is made
 * again. Batches read their chunk as a whole.
 *
 * Batches of an evaluation change nothing, so what they have read is not written again:
 *
 *   they end the superbatch        ──> their chunks become part of the rest
 *   they are all of the superbatch ──> the rest stays, and chunks have copies of it
 *
 * Only a later batch of them gets a copy. A row may be in the rest several times then. */
#ifndef OG_PLAN_FORESEEN_H
#define OG_PLAN_FORESEEN_H

#include "io/chunk_file.h"
#include "plan/writes.h"

enum { OG__REST_CHUNKS = 16, OG__LATE_CHUNKS = 2, OG__OTHER_CHUNKS = 2 };
#define OG__NO_USE UINT16_MAX /* in this superbatch */

struct og_trace;

/* ---- which batch of a superbatch uses a row next ---- */

struct og_next_use_list {
    uint64_t *ptr;  /* [batches + 1] */
    uint16_t *next; /* [ptr[batches]] of row i of batch b at ptr[b] + i */
    uint32_t most_batches;
    uint64_t most_rows;
    struct og_budget *budget;
};
/* Sets ptr by the trace's batches, and makes room for the uses of their rows. As "superbatch". */
OG_MUST_CHECK int og__next_use_list_begin(struct og_next_use_list *l, const struct og_trace *t,
                                          struct og_budget *b, struct og_err *err);
size_t og__next_use_list_bytes(uint64_t batches, uint64_t rows);
void og__next_use_list_release(struct og_next_use_list *l); /* accepts a zeroed one */

/* ---- a group's rows ---- */

struct og_foreseen {
    struct og_chunk_form form;
    uint32_t n_rows, n_slots, batches; /* of a superbatch, at most */
    uint32_t *due;   /* [n_rows] first use in the superbatch, or OG__NO_USE; or the row's slot; or
                        that it was distributed */
    uint16_t *next;  /* [n_slots] next use of its row */
    uint64_t *there; /* [n_rows] bits: the row was changed, and left memory */
    bool fills;      /* the superbatch begins: its slots are not filled yet */
    uint32_t reads_from; /* its batches change no row from this one on */
    struct og_budget *budget;
};
/* Tables come from the budget as "feature cache". */
OG_MUST_CHECK int og__foreseen_open(struct og_foreseen *f, size_t row_bytes, uint64_t n_rows,
                                    uint32_t n_slots, uint32_t batches, struct og_budget *b,
                                    struct og_err *err);
void og__foreseen_close(struct og_foreseen *f); /* accepts a zeroed one */
size_t og__foreseen_bytes(uint64_t n_rows, uint64_t n_slots);
struct og_chunk_form og__foreseen_form(size_t row_bytes, uint64_t n_rows, uint32_t batches);

static inline uint32_t og__rest_chunk(const struct og_foreseen *f, uint32_t row)
{
    return f->batches + (uint32_t)((uint64_t)row * OG__REST_CHUNKS / f->n_rows);
}

/* Rows that leave at the end of the batch before this one. */
static inline uint32_t og__late_chunk(const struct og_foreseen *f, uint32_t batch)
{
    return f->batches + OG__REST_CHUNKS + batch % OG__LATE_CHUNKS;
}

/* For rows of the rest while they are distributed. */
static inline uint32_t og__aside_chunk(const struct og_foreseen *f)
{
    return f->batches + OG__REST_CHUNKS + OG__LATE_CHUNKS;
}

/* What evaluations read last; of the rest too. */
static inline uint32_t og__kept_chunk(const struct og_foreseen *f)
{
    return og__aside_chunk(f) + 1;
}

/* The k-th chunk of the rest, of OG__REST_CHUNKS + 1. */
static inline uint32_t og__kth_rest_chunk(const struct og_foreseen *f, uint32_t k)
{
    return k < OG__REST_CHUNKS ? f->batches + k : og__kept_chunk(f);
}

/* A superbatch begins. Then its batches from the last to the first: ids[n] that begin with number
 * `first` of the group; sets next[n]. Then done: rows are in the slots that `w` has, and batches
 * change no row from `reads_from` on. */
void og__foreseen_begin(struct og_foreseen *f);
void og__foreseen_batch(struct og_foreseen *f, uint32_t batch, const uint32_t *ids, uint64_t first,
                        uint32_t n, uint16_t *next);
void og__foreseen_done(struct og_foreseen *f, const struct og_writes *w, uint32_t reads_from);
static inline bool og__foreseen_reads(const struct og_foreseen *f)
{
    return f->reads_from == 0;
}

/* A row leaves memory for a chunk. It is in slot `at`, or is miss at - n_slots. */
typedef int og_push_row(void *arg, uint32_t row, uint32_t at, uint32_t chunk, struct og_err *err);

/* The row enters the slot before the first batch; what was there leaves. Returns where its value
 * comes from, or an error. */
enum og_comes {
    OG__COMES_NOT, /* it is there */
    OG__COMES_FRESH,
    OG__COMES_READ, /* when the rest is distributed */
    OG__COMES_MOVED /* from the slot *from */
};
OG_MUST_CHECK int og__foreseen_fill(struct og_foreseen *f, struct og_writes *w, uint32_t row,
                                    uint32_t slot, og_push_row *push, void *arg, uint32_t *from,
                                    struct og_err *err);
/* Then a row of the rest is distributed: into a chunk, or a slot. Not if it was, or if a slot has
 * it as it is, or if it is left where it is. */
enum og_goes { OG__GOES_NOWHERE, OG__GOES_CHUNK, OG__GOES_SLOT };
enum og_goes og__foreseen_distribute(struct og_foreseen *f, const struct og_writes *w, uint32_t row,
                                     uint32_t *to);
/* How many rows in slots the rest has too. They are clean. */
uint64_t og__foreseen_copies(const struct og_foreseen *f, const struct og_writes *w);
/* Once the rest was distributed: slots are filled. Rows that it had are in memory alone, unless
 * batches only read. */
void og__foreseen_filled(struct og_foreseen *f, struct og_writes *w);

/* Do the batch's chunks become part of the rest, as most of its rows are not used again? They have
 * so many blocks, and those that did before `kept`. True also if they were copies. */
bool og__foreseen_keeps(const struct og_foreseen *f, const struct og_writes_batch *b,
                        uint32_t number, const uint16_t *next, uint32_t blocks, uint32_t kept);

/* After batch `number`: as og__writes_end, with the next uses of its rows. Rows in slots that only
 * memory has are dirty. keeps: as above. */
OG_MUST_CHECK int og__foreseen_end(struct og_foreseen *f, struct og_writes *w,
                                   const struct og_writes_batch *b, uint32_t number, bool keeps,
                                   const uint16_t *next, og_push_row *push, void *arg,
                                   struct og_err *err);

#endif
