/* Topology on disk: list offsets are in memory, at little more than 4 bytes a node. The lists are
 * in indices.npy, or in the neighbour cache.
 *
 *   indices.npy   | header | block | block | block | ...          | block | tail |
 *                          ^ base    512 bytes each, read on demand         in memory
 *
 * Blocks are at multiples of 512 in the file, so direct reads need no more than them. If elements
 * are not aligned in the file, blocks start at the elements, and reads are wider. */
#ifndef OG_DATASET_ON_DISK_H
#define OG_DATASET_ON_DISK_H

#include "dataset/neighbors.h"
#include "dataset/relation.h"
#include "io/io.h"

enum { OG__LIST_BLOCK = 512 };
#define OG__MOST_BLOCKS (UINT32_MAX - (1u << 16)) /* samplers use numbers above */

struct og_topology_disk_options {
    size_t cache_bytes;    /* capacity of the neighbour cache, of all relations; 0 = none */
    const char *cache_dir; /* folder that the cache is saved in; NULL = not saved. Copied. */
    bool weights;          /* batches have the weights of edges, and so has the cache */
    size_t staging_bytes;  /* bytes of each sampler's read buffer; 0 = 8 MiB */
    struct og_reader_options reader; /* of each sampler */
    const struct og_log *log;
};

/* An array with one element an edge, as blocks. */
struct og_blocks {
    const struct og_npy *array;
    size_t size;               /* bytes of an element */
    uint64_t base;             /* byte of the file where block 0 begins */
    uint64_t skew;             /* of block 0 where edge 0 begins */
    uint64_t n_blocks;         /* whole ones */
    char tail[OG__LIST_BLOCK]; /* what follows them */
};

/* One relation's part. */
struct og_topology_disk {
    const struct og_relation *of;
    struct og_topology_disk_options opt; /* its share; of the cache nothing */
    struct og_blocks lists;
    int64_t longest; /* list: its length */
    struct og_neighbors cache;
};

/* All relations. */
struct og_stored_topology {
    const struct og_graph *graph;
    struct og_topology_disk_options opt; /* cache_dir is our copy */
    int lock;                            /* on the folder of the saved cache; 0 = none */
    uint64_t written;                    /* bytes written to save it; 0 if it was loaded */
};

/* The graph must stay open as long as the topology. Memory "topology" and "neighbour cache" from
 * the budget. -EOVERFLOW if the 32-bit distances or block numbers are too small for the graph. */
OG_MUST_CHECK int og__topology_open_disk(const struct og_graph *g,
                                         const struct og_topology_disk_options *opt,
                                         struct og_budget *b, struct og_topology *out,
                                         struct og_err *err);
/* Divides the options among relations. They are read one after another, but each has its own
 * reader, and hundreds must fit. So buffers and threads are proportional to a relation's edges; an
 * engine with threads has at least one. So is the depth; relations with a quarter of the edges have
 * all. */
struct og_topology_disk_options og__relation_on_disk(const struct og_relation *r,
                                                     const struct og_topology_disk_options *opt);
OG_MUST_CHECK int og__relation_open_disk(const struct og_relation *r,
                                         const struct og_topology_disk_options *opt,
                                         struct og_budget *b, struct og_topology *out,
                                         struct og_err *err);
void og__topology_close_disk(struct og_topology *t); /* og__topology_release calls it, and */
OG_MUST_CHECK int og__stored_open(const struct og_graph *g,
                                  const struct og_topology_disk_options *opt, struct og_topology *t,
                                  struct og_err *err);
void og__stored_close(struct og_topology *t);

/* Releases what only sampling needs, offsets and neighbour cache, and restores it. Without offsets
 * no list may be looked up. A failed load leaves it released. */
void og__stored_unload(struct og_topology *t);
bool og__stored_is_loaded(const struct og_topology *t);
OG_MUST_CHECK int og__stored_load(struct og_topology *t, struct og_err *err);

/* Releases the neighbour cache, and restores it from its folder or by building. No sampler may run
 * meanwhile. Batches are identical with and without it. */
void og__neighbors_unload(struct og_topology *t);
void og__neighbors_keep_none(struct og_topology *t); /* from now on in memory alone */
OG_MUST_CHECK int og__neighbors_load(struct og_topology *t, struct og_err *err);

/* Memory of an open topology without the neighbour cache (og__neighbors_bytes). Opening and
 * scanning take 4 MiB more temporarily; building the cache takes og__neighbors_build_bytes. */
size_t og__topology_disk_bytes(const struct og_graph *g);
size_t og__topology_offsets_bytes(const struct og_graph *g); /* of which offsets */
size_t og__relation_disk_bytes(const struct og_relation *r);

/* The array must outlive `out`. -EOVERFLOW beyond 2 TiB. */
OG_MUST_CHECK int og__blocks_lay(struct og_blocks *out, const struct og_npy *array,
                                 struct og_err *err);

/* The position of an edge's element: byte `within` of `block`; block n_blocks is the tail. */
struct og_list_place {
    uint32_t block, within;
};
static inline struct og_list_place og__list_place(const struct og_blocks *b, uint64_t first_byte)
{
    uint64_t at = b->skew + first_byte;
    return (struct og_list_place){(uint32_t)(at / OG__LIST_BLOCK), (uint32_t)(at % OG__LIST_BLOCK)};
}

#endif
