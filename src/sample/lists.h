/* Reads whole lists, of in-neighbours or of edge weights, of a few nodes at a time. */
#ifndef OG_SAMPLE_LISTS_H
#define OG_SAMPLE_LISTS_H

#include "dataset/on_disk.h"
#include "sample/hop.h"

/* ---- from an array on disk ---- */

struct og_lists;
enum { OG__LISTS_AT_ONCE = 4096 }; /* that are read together, at most */

/* Opens an array of the topology's dataset, which is on disk; the topology's options configure
 * reads. */
OG_MUST_CHECK int og__lists_open(struct og_lists **out, const struct og_topology *t,
                                 const struct og_npy *array, struct og_budget *b,
                                 struct og_err *err);
void og__lists_close(struct og_lists *l);
/* Memory if the longest list has that many elements. */
size_t og__lists_bytes(const struct og_topology_disk_options *opt, size_t element, int64_t longest);

/* Reads the lists of nodes[0 .. *taken), *taken >= 1, valid until the next call. Skips those in the
 * cache (NULL = none). */
OG_MUST_CHECK int og__lists_read(struct og_lists *l, const struct og_topology *t,
                                 const struct og_neighbors *kept, const uint32_t *nodes, uint32_t n,
                                 uint32_t *taken, struct og_sample_reads *read, struct og_err *err);
const void *og__lists_start(const struct og_lists *l, uint32_t i); /* of nodes[i] */

/* ---- in-neighbours of a hop's destinations, wherever they are ---- */

struct og_list {
    int64_t n;
    const void *ids; /* [n] int64_t when wide, else uint32_t */
    bool wide;
    const float
        *weights; /* [n], where the sampler needs them; from disk where they were requested */
    const int64_t *times; /* [n] in group sampling, where edges have times of their own */
};

/* -EINVAL if the list of v, from disk, has a source out of range. */
OG_MUST_CHECK int og__check_sources(const struct og_topology *t, const struct og_list *list,
                                    uint32_t v, struct og_err *err);

/* What samplers of whole lists read from disk: sources and, where needed, weights. */
size_t og__source_lists_bytes(const struct og_relation *of, const struct og_sampling *how,
                              const struct og_topology_disk_options *opt, int64_t longest);

/* As the dataset has it, valid or not. */
static inline int64_t og__list_source(const struct og_list *l, int64_t i)
{
    return l->wide ? ((const int64_t *)l->ids)[i] : ((const int32_t *)l->ids)[i];
}
static inline uint32_t og__list_id(const struct og_list *l, int64_t i)
{
    return l->wide ? (uint32_t)((const int64_t *)l->ids)[i] : ((const uint32_t *)l->ids)[i];
}

/* Provides the lists of destinations first .. first + *taken, with weights if requested; in memory,
 * all remaining ones. Call once for each destination, in order. */
OG_MUST_CHECK int og__hop_lists(struct og_hop *h, uint32_t first, bool weights, uint32_t *taken,
                                struct og_err *err);
struct og_list og__hop_list(const struct og_hop *h, uint32_t first, uint32_t i);

/* Group sampling by lists. First, bring loads the lists of all destinations. Then next returns that
 * of v, the next one that is not cached. */
OG_MUST_CHECK int og__listed_fetch(struct og_hop *h, struct og_err *err);
struct og_list og__listed_next(const struct og_hop *h, uint32_t v);

#endif
