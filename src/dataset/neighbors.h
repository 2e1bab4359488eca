/* The neighbour cache: in-neighbour lists held in memory while the topology is on disk (Park et al.
 * 2022, §3.2).
 *
 * A list costs its length in memory, and its use is proportional to its node's out-degree. So nodes
 * are selected by out-degree / in-degree, best first, until the capacity is full.
 *
 *   node v ──> bit? ──rank──> slot ──first──> ids[first[slot] .. first[slot] + degree(v))
 *
 * Selection and copy each scan indices.npy once. The result is saved (docs/reference/formats.md)
 * and later loaded in one sequential read. A saved cache is checked: dataset, capacity, degrees,
 * checksum and range of ids must match. Otherwise it is built again. */
#ifndef OG_DATASET_NEIGHBORS_H
#define OG_DATASET_NEIGHBORS_H

#include "base/bits.h"
#include "base/persistent_cache.h"
#include "dataset/topology.h"

struct og_neighbors {
    uint64_t n_nodes, n_lists, n_ids;
    uint64_t *bits;          /* one bit a node: is its list cached? NULL = no cache */
    uint32_t *rank;          /* of bits */
    struct og_offsets first; /* [n_lists + 1] into ids */
    uint32_t *ids;           /* [n_ids] list after list, by node */
    uint64_t bytes_written;  /* bytes written to save it; 0 if it was loaded */
    struct og_budget *budget;
};

static inline bool og__neighbors_has(const struct og_neighbors *c, uint32_t v)
{
    return c->bits && og__bits_has(c->bits, v);
}

/* The start in ids of the list of cached node v. */
static inline int64_t og__neighbors_first(const struct og_neighbors *c, uint32_t v)
{
    return og__offset(&c->first, og__bits_rank(c->bits, c->rank, v));
}

/* Selects the best lists in at most `capacity` bytes, the cache's overhead included; ties go to
 * smaller ids. If a list is too long for the remaining space, lists of equal rank are tried. Loads
 * the cache from folder `dir` if saved there, else builds and saves it; NULL = not saved. A failed
 * save is logged and is no error. Memory "neighbour cache" from t's budget. */
OG_MUST_CHECK int og__neighbors_open(struct og_neighbors *c, const struct og_topology *t,
                                     size_t capacity, const char *dir, const struct og_log *log,
                                     struct og_err *err);
void og__neighbors_release(struct og_neighbors *c);

/* The folder below `under` for the cache of r, named by the dataset's path. malloc'ed; NULL if the
 * path is unknown. */
char *og__neighbors_folder(const char *under, const struct og_relation *r);
extern const struct og_persistent_cache_kind og__neighbors_kind; /* such folders */
/* The dataset path that folder `dir` records; malloc'ed, NULL = none. */
char *og__neighbors_dataset(const char *dir);

/* Byte sizes: of a cache of this capacity at most, of a cache of all lists, and temporarily of
 * building. */
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
