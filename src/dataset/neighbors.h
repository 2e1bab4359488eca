/* The neighbour cache: in-neighbour lists in memory, of a topology on disk (Park et al. 2022,
 * §3.2).
 *
 * A list costs its length in memory, and its use is proportional to its node's out-degree. So lists
 * of all relations are selected together by out-degree / length, best first, until the capacity is
 * full. The out-degree of a node counts its edges in all relations: each found edge leads to it,
 * and then each of its lists is read.
 *
 *   list v of a relation ──> bit? ──rank──> slot ──first──> ids[first[slot] .. first[slot] + n)
 *                                                          weights likewise, if cached
 *
 * Selection and copy each scan the indices once. The result is saved (docs/reference/formats.md)
 * and later loaded in one sequential read. A saved cache is checked: dataset, capacity, degrees,
 * checksum and range of ids must match. Otherwise it is built again. */
#ifndef OG_DATASET_NEIGHBORS_H
#define OG_DATASET_NEIGHBORS_H

#include "base/bits.h"
#include "base/persistent_cache.h"
#include "dataset/topology.h"

/* One relation's part. */
struct og_neighbors {
    uint64_t n_nodes, n_lists, n_ids;
    uint64_t *bits;          /* one bit a node: is its list cached? NULL = no cache */
    uint32_t *rank;          /* of bits */
    struct og_offsets first; /* [n_lists + 1] into ids */
    uint32_t *ids;           /* [n_ids] list after list, by node */
    float *weights;          /* [n_ids] of these edges; NULL = the cache has none */
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

/* Weights of the list of cached node v; NULL = the cache has none. */
static inline const float *og__neighbors_weights(const struct og_neighbors *c, uint32_t v)
{
    return c->weights ? c->weights + og__neighbors_first(c, v) : NULL;
}

struct og_neighbors_options {
    size_t capacity; /* bytes, of all relations, the cache's overhead included */
    bool weights;    /* with those of edges, which the dataset must have */
    const char *dir; /* folder that it is saved in; NULL = not saved */
    const struct og_log *log;
};

/* Selects the best lists that fit opt->capacity. Ties go to the first relation, then to smaller
 * ids. If a list is too long for the remaining space, lists of equal rank are tried. Loads the
 * cache from the folder if saved there, else builds and saves it. A failed save is logged and is no
 * error. Fills disk->cache of each relation of t; *written: bytes written to save it. Memory
 * "neighbour cache" from t's budget. */
OG_MUST_CHECK int og__neighbors_open(struct og_topology *t, const struct og_graph *g,
                                     const struct og_neighbors_options *opt, uint64_t *written,
                                     struct og_err *err);
void og__neighbors_release(struct og_topology *t);

/* Path, malloc'ed, of the folder below `under` for the cache of g. It is named by the dataset's
 * path; NULL if that is unknown. */
char *og__neighbors_folder(const char *under, const struct og_graph *g);
extern const struct og_persistent_cache_kind og__neighbors_kind; /* such folders */
/* The dataset path that folder `dir` records; malloc'ed, NULL = none. */
char *og__neighbors_dataset(const char *dir);

/* Byte sizes: a cache of this capacity at most, one without a list, one of all lists. And the
 * temporary bytes of building. */
size_t og__neighbors_bytes(const struct og_graph *g, bool weights, size_t capacity);
size_t og__neighbors_least_bytes(const struct og_graph *g);
size_t og__neighbors_whole_bytes(const struct og_graph *g, bool weights);
size_t og__neighbors_build_bytes(const struct og_graph *g);

/* ---- what is said in neighbors.json ---- */

struct og_neighbors_note {
    uint64_t structure, capacity; /* state of the lists' files; bytes */
    uint64_t n_nodes, n_edges, n_lists, n_ids;
    uint64_t nodes_checksum, ids_checksum; /* XXH3-64 of the arrays' bytes */
    uint64_t weights_checksum;             /* 0: there are none */
};
/* Any bytes; -EINVAL with what is wrong. */
OG_MUST_CHECK int og__neighbors_parse(struct og_neighbors_note *note, const char *text, size_t len,
                                      const char *name, struct og_err *err);

#endif
