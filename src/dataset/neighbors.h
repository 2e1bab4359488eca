/* The neighbour cache: in-neighbour lists that stay in memory while the topology is on disk
 * (Park et al. 2022, §3.2).
 *
 * A list costs its length in memory and is asked for as often as its node is drawn, so nodes are
 * taken by out-degree / in-degree, best first, while there is room.
 *
 *   node v ──> bit? ──rank──> slot ──first──> ids[first[slot] .. first[slot] + degree(v))
 *
 * Choosing and copying are two passes over indices.npy. The result is saved
 * (docs/reference/formats.md) and afterwards loaded in one sequential read. What was saved is never
 * trusted: it must name this dataset and this capacity, fit the degrees, match its checksums and
 * hold ids in range; else it is built anew. */
#ifndef OG_DATASET_NEIGHBORS_H
#define OG_DATASET_NEIGHBORS_H

#include "base/bits.h"
#include "base/kept.h"
#include "dataset/topology.h"

struct og_neighbors {
    uint64_t n_nodes, n_lists, n_ids;
    uint64_t *bits;          /* over nodes: is its list here? NULL = no cache */
    uint32_t *rank;          /* of bits */
    struct og_offsets first; /* [n_lists + 1] into ids */
    uint32_t *ids;           /* [n_ids] list after list, by node */
    uint64_t bytes_written;  /* to keep it; 0 where it was kept already */
    struct og_budget *budget;
};

static inline bool og__neighbors_has(const struct og_neighbors *c, uint32_t v)
{
    return c->bits && og__bits_has(c->bits, v);
}

/* Where the list of v, which is here, begins in ids. */
static inline int64_t og__neighbors_first(const struct og_neighbors *c, uint32_t v)
{
    return og__offset(&c->first, og__bits_rank(c->bits, c->rank, v));
}

/* The best lists in at most `capacity` bytes, all that the cache takes of the budget included; of
 * equal ones those of smaller ids, a list too long for what is left being passed over in favour of
 * equals. From folder `dir` when it was saved there, else built and saved there; NULL = not saved.
 * That it could not be saved is said, not an error. Memory "neighbour cache" from t's budget. */
OG_MUST_CHECK int og__neighbors_open(struct og_neighbors *c, const struct og_topology *t,
                                     size_t capacity, const char *dir, const struct og_log *log,
                                     struct og_err *err);
void og__neighbors_release(struct og_neighbors *c);

/* The folder under `under` where that of ds is kept, named by where ds lies: one for each place,
 * whatever is put there. malloc'ed; NULL where that cannot be told. */
char *og__neighbors_folder(const char *under, const struct og_relation *r);
extern const struct og_kept_kind og__neighbors_kind; /* such folders */
/* Where the dataset lay that the folder `dir` says it is of; malloc'ed, NULL = it does not say. */
char *og__neighbors_dataset(const char *dir);

/* Sizes: what a cache of this capacity takes at most; what one of every list would; what building
 * one takes besides, for a while. */
size_t og__neighbors_bytes(const struct og_relation *r, size_t capacity);
size_t og__neighbors_least_bytes(const struct og_relation *r); /* with no list yet */
size_t og__neighbors_whole_bytes(const struct og_relation *r);
size_t og__neighbors_build_bytes(const struct og_relation *r);

/* ---- what is said in neighbors.json ---- */

struct og_neighbors_note {
    uint64_t structure, capacity; /* state of indptr.npy and indices.npy; bytes */
    uint64_t n_nodes, n_edges, n_lists, n_ids;
    uint64_t nodes_checksum, ids_checksum; /* XXH3-64 of the arrays' bytes */
};
/* Any bytes; -EINVAL with what is wrong. */
OG_MUST_CHECK int og__neighbors_parse(struct og_neighbors_note *note, const char *text, size_t len,
                                      const char *name, struct og_err *err);

#endif
