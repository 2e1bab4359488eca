/* packing: where the rows that no cache holds go when they are written anew, batch by batch, and
 * the sweep of the feature file that fetches them (Liu et al. 2025, §5.2). Pure: no I/O.
 *
 *   batch 0 misses   2 5 9        the file    0 1 2 3 4 5 6 7 8 9 ...
 *   batch 1 misses   5 6 9                        ^     ^ ^     ^     wanted by some batch
 *
 *   partitions: as many wanted rows as memory holds      | 2 5 | 6 9 |
 *   container:  | head, table | 2 5 9 .... | 5 6 9 .... |     a chunk a batch, blocks of 4096
 *
 * A chunk holds its batch's misses in the order of the file, which is the order a plan numbers them
 * in, so that a partition only ever appends to a chunk and reading it back is one sequential run.
 */
#ifndef OG_PACKING_H
#define OG_PACKING_H

#include "base/bits.h"
#include "io/io.h"
#include "plan/plan.h"

enum { OG__PACK_BLOCK = 4096 }; /* chunks begin on such blocks and are padded to them */

/* What each batch of a superbatch misses. */
struct og_packing {
    uint32_t first; /* the node that is number 0: 0, but of rows of one width among others' */
    uint64_t n_nodes;
    size_t row_bytes;
    uint32_t n_batches;
    uint64_t *ptr;    /* [n_batches + 1] batch b misses rows[ptr[b] .. ptr[b + 1]) */
    uint64_t *offset; /* [n_batches + 1] of its chunk in the container; the last is its size */
    uint32_t *rows;   /* numbers of nodes, ascending in each batch */
    /* the nodes that any batch misses, or the sweep fetches also, numbered in the order of the file
     */
    uint64_t *bits;      /* [ceil(N / 64)] */
    uint32_t *rank;      /* [ceil(N / 64)], once sealed */
    uint32_t n_distinct; /* once sealed */
    /* memory */
    uint32_t *spare; /* [longest] */
    uint64_t capacity, longest;
    uint32_t most_batches;
    bool lent; /* rows are in memory of somebody else */
    struct og_budget *budget;
};

/* For up to so many batches. Everything from the budget as "packing"; rows grow with what is added,
 * bits take 3 N / 16 bytes. */
OG_MUST_CHECK int og__packing_open(struct og_packing *p, uint64_t n_nodes, size_t row_bytes,
                                   uint32_t most_batches, struct og_budget *b, struct og_err *err);
/* What it takes at most for so many rows missed in all, `longest` of them by one batch; 0 rows: in
 * memory that is lent. */
size_t og__packing_bytes(uint64_t n_nodes, uint64_t rows, uint64_t batches, uint64_t longest);
void og__packing_close(struct og_packing *p); /* accepts a zeroed one */

/* Memory for so many missed rows in all, at once instead of little by little. */
OG_MUST_CHECK int og__packing_reserve(struct og_packing *p, uint64_t rows, struct og_err *err);

/* Instead: in memory of the caller's, which stays as long, for so many rows. That may be the ids of
 * all batches that are added: what a batch misses is written over its own ids, or those of batches
 * before it, once they have been looked at. */
void og__packing_lend(struct og_packing *p, uint32_t *rows, uint64_t capacity);

/* The next batch: those of its rows whose code says that they are missed (og__plan_encode); codes
 * NULL means all. Ids are distinct, and of the n_nodes from `first` on. O(n). */
OG_MUST_CHECK int og__packing_add(struct og_packing *p, const uint32_t *ids, const uint32_t *codes,
                                  uint32_t n, struct og_err *err);
/* After the last batch; memory that was reserved for more rows is given back. */
OG_MUST_CHECK int og__packing_seal(struct og_packing *p, struct og_err *err);

/* Once sealed: nodes whose rows no chunk is to have and the sweep is to fetch as well; after the
 * last of them they are numbered. */
void og__packing_also(struct og_packing *p, const uint32_t *nodes, uint32_t n);
void og__packing_number(struct og_packing *p);

/* Without rows[i] where bit i is set, sealed again. */
OG_MUST_CHECK int og__packing_drop(struct og_packing *p, const uint64_t *dropped,
                                   struct og_err *err);

/* Bytes of a container of its first n batches, sealed. */
uint64_t og__packing_container(const struct og_packing *p, uint32_t n);
/* With the first n batches alone, sealed again. */
OG_MUST_CHECK int og__packing_shorten(struct og_packing *p, uint32_t n, struct og_err *err);

static inline uint64_t og__packing_chunk_rows(const struct og_packing *p, uint32_t batch)
{
    return p->ptr[batch + 1] - p->ptr[batch];
}

/* Where the first chunk begins: after one block of head and the table. */
uint64_t og__packing_data_start(uint32_t n_batches);

/* Counting passes from one array to the other and back: `from` is lost, `to` is sorted. */
void og__sort_ids(uint32_t *from, uint32_t *to, uint32_t n);

/* ---- the sweep ---- */

/* How memory is shared out: two partitions, one being read while the other is handed out, and the
 * pieces in which chunks are written, one open in each batch and spare ones on their way. */
struct og_sweep {
    uint32_t part_rows; /* wanted rows in a partition; the last may have fewer */
    uint32_t n_parts;
    size_t piece;      /* bytes of a write, whole blocks */
    uint32_t n_pieces; /* more than there are batches */
};
/* What is noted of a batch while its chunk is written, beside its entry of the container's table,
 * and of a piece. */
enum { OG__SWEEP_A_BATCH = 24, OG__SWEEP_A_PIECE = 48 };
/* -ENOMEM, with the least that would do, when `memory` is too small. */
OG_MUST_CHECK int og__sweep_share(const struct og_packing *p, size_t memory, struct og_sweep *out,
                                  struct og_err *err);
size_t og__sweep_bytes(const struct og_packing *p, const struct og_sweep *s); /* <= memory */
size_t og__sweep_least(const struct og_packing *p);
/* More than that serves nothing, of so many rows of so many bytes in all, and of batches of which
 * the largest takes batch_bytes. */
size_t og__sweep_most(uint64_t rows, size_t row_bytes, uint64_t batches, size_t batch_bytes);

/* The node ids of the next partition, ascending, into list[part_rows]; returns how many. *cursor is
 * 0 before the first. */
uint32_t og__sweep_part(const struct og_packing *p, const struct og_sweep *s, uint64_t *cursor,
                        uint32_t *list);

/* What writing and reading back will cost, exactly: ranges of the file that no batch needs are
 * skipped where they are wider than the rule's gap. */
struct og_packing_cost {
    struct og_io_counts sweep;
    uint64_t bytes_written; /* the size of the container */
    struct og_io_counts back;
};
OG_MUST_CHECK int og__packing_predict(const struct og_packing *p, const struct og_sweep *s,
                                      const struct og_read_rule *rule, struct og_packing_cost *out,
                                      struct og_err *err);
/* Of reading one chunk back with requests of at most max_request bytes. */
struct og_io_counts og__packing_predict_chunk(uint64_t chunk_bytes, size_t max_request);

#endif
