/* Topology on disk: where each node's list begins stays in memory, at little more than 4 bytes a
 * node; the lists stay in indices.npy, but for those in the neighbour cache.
 *
 *   indices.npy   | header | block | block | block | ...          | block | tail |
 *                          ^ base    512 bytes each, read on demand         in memory
 *
 * Blocks lie on multiples of 512 in the file, so that direct reads need no more than them; where
 * the elements start off an element's boundary, blocks start with them, and reads are wider. */
#ifndef OG_DATASET_ON_DISK_H
#define OG_DATASET_ON_DISK_H

#include "dataset/neighbors.h"
#include "dataset/relation.h"
#include "io/io.h"

enum { OG__LIST_BLOCK = 512 };

struct og_topology_disk_options {
    size_t cache_bytes;              /* capacity of the neighbour cache; 0 = none */
    const char *cache_dir;           /* folder it is kept in; NULL = not kept. Copied. */
    size_t staging_bytes;            /* what each sampler reads into; 0 = 8 MiB */
    struct og_reader_options reader; /* of each sampler */
    const struct og_log *log;
};

/* An array with an element an edge, as blocks. */
struct og_blocks {
    const struct og_npy *array;
    uint64_t base;             /* byte of the file where block 0 begins */
    uint64_t skew;             /* of block 0 where edge 0 begins */
    uint64_t n_blocks;         /* whole ones */
    char tail[OG__LIST_BLOCK]; /* what follows them */
};

struct og_topology_disk {
    const struct og_relation *of;
    struct og_topology_disk_options opt; /* cache_dir is our copy */
    struct og_blocks lists;
    int64_t longest; /* list: its length */
    int lock;        /* of the folder the cache is kept in; 0 = none */
    struct og_neighbors cache;
};

/* The graph stays open as long as the topology. "topology" and "neighbour cache" of the budget.
 * -EOVERFLOW for graphs that the 32-bit distances or block numbers cannot hold. */
OG_MUST_CHECK int og__topology_open_disk(const struct og_graph *g,
                                         const struct og_topology_disk_options *opt,
                                         struct og_budget *b, struct og_topology *out,
                                         struct og_err *err);
/* How one of several relations is opened then: relations are read one after another, but each
 * through a reader of its own, and hundreds of them have to fit. So what is read into goes by their
 * sizes, as do threads, of which each has one at least, where the engine reads by threads; and so
 * does what is asked for at a time, of which those with a quarter of the edges have all. */
struct og_topology_disk_options og__relation_on_disk(const struct og_relation *r,
                                                     const struct og_topology_disk_options *opt);
OG_MUST_CHECK int og__relation_open_disk(const struct og_relation *r,
                                         const struct og_topology_disk_options *opt,
                                         struct og_budget *b, struct og_topology *out,
                                         struct og_err *err);
void og__topology_close_disk(struct og_topology *t); /* og__topology_release calls it */

/* Give the neighbour cache's memory back, and fetch it again: from its folder, or built anew. No
 * sampler may be at work meanwhile; batches are the same with and without it. */
void og__neighbors_unload(struct og_topology *t);
void og__neighbors_keep_none(struct og_topology *t); /* from now on in memory alone */
OG_MUST_CHECK int og__neighbors_load(struct og_topology *t, struct og_err *err);

/* What stays in memory, the neighbour cache apart; og__neighbors_bytes tells of that. Opening and
 * scanning take 4 MiB more, for a while; building the cache og__neighbors_build_bytes. */
size_t og__topology_disk_bytes(const struct og_graph *g);
size_t og__relation_disk_bytes(const struct og_relation *r);

/* The array stays where it is as long as `out`. -EOVERFLOW beyond 2 TiB. */
OG_MUST_CHECK int og__blocks_lay(struct og_blocks *out, const struct og_npy *array,
                                 struct og_err *err);

/* Where an edge's element is: byte `within` of `block`; block n_blocks is the tail. */
struct og_list_place {
    uint32_t block, within;
};
static inline struct og_list_place og__list_place(const struct og_blocks *b, uint64_t first_byte)
{
    uint64_t at = b->skew + first_byte;
    return (struct og_list_place){(uint32_t)(at / OG__LIST_BLOCK), (uint32_t)(at % OG__LIST_BLOCK)};
}

#endif
