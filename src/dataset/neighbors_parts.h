/* What the files of neighbour caches share. Nobody else includes this. */
#ifndef OG_DATASET_NEIGHBORS_PARTS_H
#define OG_DATASET_NEIGHBORS_PARTS_H

#include "dataset/neighbors.h"
#include "dataset/on_disk.h"

struct og_caching {
    struct og_topology *t;
    const struct og_graph *g;
    struct og_neighbors_options opt; /* with the capacity that is used */
};

/* ---- neighbors.c ---- */

/* The lists of relation r; NULL: it has no edges. */
const struct og_topology *og__neighbors_lists(const struct og_caching *k, uint32_t r);
struct og_neighbors *og__neighbors_cache(const struct og_caching *k, uint32_t r);
typedef int og_neighbors_fn(const struct og_caching *k, uint32_t r, void *arg, struct og_err *err);
/* Calls fn for each relation with edges, until one fails. */
OG_MUST_CHECK int og__neighbors_each(const struct og_caching *k, og_neighbors_fn *fn, void *arg,
                                     struct og_err *err);

/* Steps of making a relation's cache: its marks, what they add up to, its lists. */
og_neighbors_fn og__neighbors_take_nodes, og__neighbors_count_marked, og__neighbors_take_lists;

/* ---- neighbors_files.c ---- */

/* Writes the note last; it holds checksums of the other files. So after an interruption the folder
 * is either complete or known not to be. Adds the bytes to *written. */
OG_MUST_CHECK int og__neighbors_write_folder(const struct og_caching *k, uint64_t *written,
                                             struct og_err *err);
/* Loads a saved cache, or says why it is not of this graph. -ENOENT: there is none. */
OG_MUST_CHECK int og__neighbors_read_folder(const struct og_caching *k, struct og_err *err);

#endif
