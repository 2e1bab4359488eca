/* packing: plans how missed rows are rewritten, batch by batch. A scan of the feature file collects
 * them (Liu et al. 2025, §5.2). Pure: no I/O.
 *
 *   batch 0 misses   2 5 9        the file    0 1 2 3 4 5 6 7 8 9 ...
 *   batch 1 misses   5 6 9                        ^     ^ ^     ^     missed by some batch
 *
 *   partitions: as many missed rows as memory holds      | 2 5 | 6 9 |
 *   packed file:  | head, table | 2 5 9 .... | 5 6 9 .... |     a chunk a batch, blocks of 4096
 *
 * A chunk holds its batch's misses in file order, which is also a plan's order. So a partition only
 * appends to chunks, and reading a chunk is one sequential run. */
#ifndef OG_PACKING_H
#define OG_PACKING_H

#include "base/bits.h"
#include "io/io.h"
#include "plan/plan.h"

enum { OG__PACK_BLOCK = 4096 }; /* chunks start at multiples of this and are padded to it */

/* The misses of each batch of a superbatch. */
struct og_packing {
    uint32_t first; /* the node with number 0: 0, except for rows of one of several sizes */
    uint64_t n_nodes;
    size_t row_bytes;
    uint32_t n_batches;
    uint64_t *ptr;    /* [n_batches + 1] batch b misses rows[ptr[b] .. ptr[b + 1]) */
    uint64_t *offset; /* [n_batches + 1] of its chunk in the packed file; last, the size */
    uint32_t *rows;   /* numbers of nodes, ascending in each batch */
    /* the nodes that any batch misses or the scan also fetches, numbered in file order */
    uint64_t *bits;      /* [ceil(N / 64)] */
    uint32_t *rank;      /* [ceil(N / 64)], after finish */
    uint32_t n_distinct; /* after finish */
    /* memory */
    uint32_t *spare; /* [longest] */
    uint64_t capacity, longest;
    uint32_t most_batches;
    bool borrowed; /* rows are in the caller's memory */
    struct og_allocs tables;
    struct og_budget *budget;
};

/* For at most so many batches. All memory from the budget as "packing": rows grow with what is
 * added, bits take 3 N / 16 bytes. */
OG_MUST_CHECK int og__packing_open(struct og_packing *p, uint64_t n_nodes, size_t row_bytes,
                                   uint32_t most_batches, struct og_budget *b, struct og_err *err);
/* Maximum memory for so many misses in all, `longest` of them in one batch. 0 rows: they are in the
 * caller's memory. */
size_t og__packing_bytes(uint64_t n_nodes, uint64_t rows, uint64_t batches, uint64_t longest);
void og__packing_close(struct og_packing *p); /* accepts a zeroed one */

/* Allocates for so many misses in all, at once instead of step by step. */
OG_MUST_CHECK int og__packing_reserve(struct og_packing *p, uint64_t rows, struct og_err *err);

/* Uses the caller's memory instead, for so many rows; it must stay valid. It may be the ids of all
 * added batches: a batch's misses overwrite its own ids or earlier ones, after they have been
 * read. */
void og__packing_borrow(struct og_packing *p, uint32_t *rows, uint64_t capacity);

/* Adds the next batch: the rows whose code marks a miss (og__plan_encode); NULL codes mean all. Ids
 * are distinct and among the n_nodes from `first` on. O(n). */
OG_MUST_CHECK int og__packing_add(struct og_packing *p, const uint32_t *ids, const uint32_t *codes,
                                  uint32_t n, struct og_err *err);
/* Call after the last batch; releases excess memory. */
OG_MUST_CHECK int og__packing_finish(struct og_packing *p, struct og_err *err);

/* After finish: adds nodes whose rows the scan fetches without a chunk. After the last of them,
 * numbers all. */
void og__packing_also(struct og_packing *p, const uint32_t *nodes, uint32_t n);
void og__packing_number(struct og_packing *p);

/* Drops rows[i] if bit i is set, and finishes again. */
OG_MUST_CHECK int og__packing_drop(struct og_packing *p, const uint64_t *dropped,
                                   struct og_err *err);

/* Bytes of the packed file of its first n batches, finished. */
uint64_t og__packing_file_bytes(const struct og_packing *p, uint32_t n);
/* Keeps the first n batches alone, and finishes again. */
OG_MUST_CHECK int og__packing_shorten(struct og_packing *p, uint32_t n, struct og_err *err);

static inline uint64_t og__packing_chunk_rows(const struct og_packing *p, uint32_t batch)
{
    return p->ptr[batch + 1] - p->ptr[batch];
}

/* The offset of the first chunk: after one block of head and the table. */
uint64_t og__packing_data_start(uint32_t n_batches);

/* Radix sort: destroys `from`, leaves the result in `to`. */
void og__sort_ids(uint32_t *from, uint32_t *to, uint32_t n);

/* ---- the sweep ---- */

/* Divides memory into two partitions and write buffers. One partition is read while the other is
 * scattered. Each batch has an open buffer; spare ones are being written. */
struct og_sweep {
    uint32_t part_rows; /* missed rows in a partition; the last may have fewer */
    uint32_t n_parts;
    size_t piece;      /* bytes of a write, whole blocks */
    uint32_t n_pieces; /* more than there are batches */
};
/* Bookkeeping bytes while chunks are written: of a batch, besides its table entry; of a write
 * buffer. */
enum { OG__SWEEP_A_BATCH = 24, OG__SWEEP_A_PIECE = 48 };
/* -ENOMEM, with the required minimum, if `memory` is too small. */
OG_MUST_CHECK int og__sweep_share(const struct og_packing *p, size_t memory, struct og_sweep *out,
                                  struct og_err *err);
size_t og__sweep_bytes(const struct og_packing *p, const struct og_sweep *s); /* <= memory */
size_t og__sweep_least(const struct og_packing *p);
/* The most memory of use, for so many rows of row_bytes and batches of at most batch_bytes. */
size_t og__sweep_most(uint64_t rows, size_t row_bytes, uint64_t batches, size_t batch_bytes);

/* Stores the node ids of the next partition, ascending, in list[part_rows]. Returns their number.
 * *cursor is 0 at first. */
uint32_t og__sweep_part(const struct og_packing *p, const struct og_sweep *s, uint64_t *cursor,
                        uint32_t *list);

/* The exact cost of writing and reading back. The scan skips unneeded groups of the file wider than
 * the rule's gap. */
struct og_packing_cost {
    struct og_io_counts sweep;
    uint64_t bytes_written; /* the size of the packed file */
    struct og_io_counts back;
};
OG_MUST_CHECK int og__packing_predict(const struct og_packing *p, const struct og_sweep *s,
                                      const struct og_read_rule *rule, struct og_packing_cost *out,
                                      struct og_err *err);
/* Reads of one chunk with requests of at most max_request bytes. */
struct og_io_counts og__packing_predict_chunk(uint64_t chunk_bytes, size_t max_request);

#endif
