/* topology: the in-neighbours of every node, in memory, mapped, or on disk. */
#ifndef OG_DATASET_TOPOLOGY_H
#define OG_DATASET_TOPOLOGY_H

#include "base/shared_memory.h"
#include "dataset/graph.h"
#include "dataset/offsets.h"

/* Two forms. In memory (or mapped): indptr and one of the two indices. On disk: `first` replaces
 * indptr, and `disk` (dataset/on_disk.h) reads the indices; `stored` is of all relations together.
 * In-neighbours of v are edges [og__first_edge(v), og__first_edge(v) + og__degree(v)) in both. */
struct og_alias_edge;
struct og_related_lists;
struct og_stored_topology;
struct og_topology_disk;
/* Self-loops: the nodes that have one, and every further loop of a node. */
struct og_loops {
    uint64_t *bits;     /* [N], one bit a node; NULL = no loops */
    uint32_t *more;     /* [n_more] nodes, ascending */
    size_t n_more, cap; /* cap: room */
};
struct og_topology {
    int64_t n_nodes, n_edges;
    int64_t n_sources;     /* ids in the lists are below it; 0 = n_nodes */
    const int64_t *indptr; /* [N+1] */
    const int32_t *indices32;
    const int64_t *indices64;
    struct og_offsets first;
    struct og_topology_disk *disk;
    struct og_stored_topology *stored;
    /* in memory, if requested */
    const float *weights;              /* [E] */
    const struct og_alias_edge *alias; /* [E] of each list; with OG__WEIGHT_TABLES */
    struct og_loops loops;             /* after og__loops_find */
    /* heterogeneous: the lists are those of its relations */
    struct og_related_lists *relation; /* [n_relations], or NULL */
    uint32_t n_relations;
    /* of its memory */
    struct og_budget *budget;
    const struct og_relation *mapped;     /* set in a read-only view of these files; else NULL */
    struct og_shared_memory_piece shared; /* of processes; each counts its part */
    size_t charged;
};

/* Lists in a heterogeneous graph:
 *
 *     list v of relation r      of the destination's node v, which is node first + v of the graph
 *     u in it                   the source's node u, which is node first_source + u of the graph */
struct og_related_lists {
    struct og_topology lists;
    uint32_t first, first_source;
    /* the reverse relation, from its destinations to its sources: itself within a type. Else the
     * one with edges that is called rev_<its name>, or whose rev_<name> it is. Or none */
    uint32_t back;
    /* one bit a node: its list is not empty; NULL: check the lists, or all are empty */
    const uint64_t *listed;
};
#define OG__NO_RELATION UINT32_MAX

/* Use of edge weights: none, the weights, or also tables for weighted sampling (dataset/alias.h).
 */
enum og_weights { OG__NO_WEIGHTS, OG__PLAIN_WEIGHTS, OG__WEIGHT_TABLES };

/* Loads all into memory, counted as "topology" (dataset/relation.h). The graph must stay open as
 * long. */
OG_MUST_CHECK int og__topology_load(const struct og_graph *g, enum og_weights weights,
                                    struct og_budget *b, struct og_topology *out,
                                    struct og_err *err);
size_t og__topology_bytes(const struct og_graph *g, enum og_weights weights);
/* Releases that memory, and loads it again; pointers to the topology and its relations stay
 * valid. */
void og__topology_unload(struct og_topology *t);
OG_MUST_CHECK int og__topology_reload(const struct og_graph *g, enum og_weights weights,
                                      struct og_topology *t, struct og_err *err);
bool og__topology_is_loaded(const struct og_topology *t); /* on disk: the neighbour cache */

/* The memory segment that processes of a machine share, and their number. */
struct og_sharing {
    struct og_shared_memory *shared_memory;
    int n;
};
/* Loads a topology into memory that processes share. The first process to request it reads it while
 * others wait. Each counts its part of the bytes as "topology". */
OG_MUST_CHECK int og__topology_share(const struct og_graph *g, enum og_weights weights,
                                     const struct og_sharing *with, struct og_budget *b,
                                     struct og_topology *out, struct og_err *err);
size_t og__topology_part_bytes(const struct og_graph *g, enum og_weights weights, int n_processes);

/* Maps the files, for inspection before the budget is set. Copies nothing, and checks only what the
 * next two functions are called for. -ENOTSUP unless arrays start on an element boundary. The graph
 * must stay open as long as the topology. */
OG_MUST_CHECK int og__topology_map(const struct og_graph *g, struct og_topology *out,
                                   struct og_err *err);
/* Checks a mapped topology before use: the lists of these nodes are within the edges. These edges
 * have nodes as sources. Else -EINVAL with the file's name. */
OG_MUST_CHECK int og__mapped_lists(const struct og_topology *t, const uint32_t *nodes, uint32_t n,
                                   struct og_err *err);
OG_MUST_CHECK int og__mapped_edges(const struct og_topology *t, int64_t first, int64_t n,
                                   struct og_err *err);
void og__topology_release(struct og_topology *t); /* any form */

/* The lists of its relations, or of a homogeneous graph those that it has itself. */
static inline uint32_t og__n_lists(const struct og_topology *t)
{
    return t->relation ? t->n_relations : 1;
}
static inline struct og_topology *og__relation_lists(struct og_topology *t, uint32_t r)
{
    return t->relation ? &t->relation[r].lists : t;
}
static inline const struct og_topology *og__lists_seen(const struct og_topology *t, uint32_t r)
{
    return t->relation ? &t->relation[r].lists : t;
}

static inline int64_t og__sources(const struct og_topology *t)
{
    return t->n_sources ? t->n_sources : t->n_nodes;
}

/* An upper bound of the ids of destinations and sources. */
static inline int64_t og__most_ids(const struct og_topology *t)
{
    return OG_MAX(t->n_nodes, t->n_sources);
}

static inline int64_t og__first_edge(const struct og_topology *t, uint64_t v)
{
    return OG_LIKELY(t->indptr) ? t->indptr[v] : og__offset(&t->first, v);
}

static inline int64_t og__degree(const struct og_topology *t, uint32_t v)
{
    return og__first_edge(t, v + (uint64_t)1) - og__first_edge(t, v);
}

/* One prefetch for both: gcc drops prefetches on a path that it considers unlikely. */
static inline void og__prefetch_degree(const struct og_topology *t, uint32_t v)
{
    const void *in_memory = &t->indptr[v], *on_disk = &t->first.low[v];
    __builtin_prefetch(t->indptr ? in_memory : on_disk);
}

/* The length of the longest list. Stored for a topology on disk; else a scan of the degrees. */
int64_t og__longest_list(const struct og_topology *t);

/* Source of an edge; in memory only. */
static inline uint32_t og__neighbor(const struct og_topology *t, int64_t e)
{
    return t->indices32 ? (uint32_t)t->indices32[e] : (uint32_t)t->indices64[e];
}

/* Scans both forms in bounded memory. Calls fn with the sources of edges [first, first + n), in
 * edge order. On disk it reads sequentially, bypasses the page cache, and refuses ids out of range;
 * the buffer is from the topology's budget. A negative result of fn ends the scan and is
 * returned. */
typedef int og_scan_fn(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err);
OG_MUST_CHECK int og__topology_scan(const struct og_topology *t, og_scan_fn *fn, void *arg,
                                    struct og_err *err);

/* Finds self-loops in one scan. Counted as "topology" and released with it. og__loops_bytes: the
 * size if no node has two. */
OG_MUST_CHECK int og__loops_find(struct og_topology *t, struct og_err *err);
void og__loops_release(struct og_topology *t);
size_t og__loops_bytes(uint64_t n_nodes);
/* The number of a node's self-loops; 0 without og__loops_find. */
int64_t og__loops_of(const struct og_topology *t, uint32_t v);

/* Counts the lists that each node is in: count[N], zeroed first. One scan. */
OG_MUST_CHECK int og__topology_out_degrees(const struct og_topology *t, uint32_t *count,
                                           struct og_err *err);
/* As og__topology_out_degrees for one relation, whose sources may be of another type:
 * count[og__sources(t)]. */
OG_MUST_CHECK int og__topology_count_sources(const struct og_topology *t, uint32_t *count,
                                             struct og_err *err);
/* In-degrees without self-loops: count[N]. One scan. */
OG_MUST_CHECK int og__topology_count_neighbors(const struct og_topology *t, uint32_t *count,
                                               struct og_err *err);

#endif
