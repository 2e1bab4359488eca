/* topology: who has which in-neighbours, in memory, mapped, or on disk. */
#ifndef OG_DATASET_TOPOLOGY_H
#define OG_DATASET_TOPOLOGY_H

#include "base/common.h"
#include "dataset/graph.h"
#include "dataset/offsets.h"

/* Two forms. In memory (or mapped): indptr and one of the two indices. On disk: `first` in the
 * place of indptr, and `disk` (dataset/on_disk.h), which knows how to read the indices.
 * In-neighbours of v are edges [og__first_edge(v), og__first_edge(v) + og__degree(v)) of both. */
struct og_alias_edge;
struct og_related_lists;
struct og_topology_disk;
/* Edges of nodes to themselves: who has one, and each beyond a node's first. */
struct og_loops {
    uint64_t *bits;     /* [N], a bit a node; NULL = nobody */
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
    /* in memory, where og__weights_load was asked for */
    const float *weights;              /* [E] */
    const struct og_alias_edge *alias; /* [E] of each list */
    struct og_loops loops;             /* where og__loops_find was asked for */
    /* with types: lists are those of its relations */
    struct og_related_lists *relation; /* [n_relations], or NULL */
    uint32_t n_relations;
    /* who gives the memory back */
    struct og_budget *budget;
    const struct og_relation *mapped; /* whose files this is a read-only view of, or NULL */
    struct og_common_piece shared; /* where processes share it, of which this one counts so much */
    size_t charged;
};

/* Of a graph with types:
 *
 *   list v of relation r      of the destination's node v, which is node first + v of the graph
 *   u in it                   the source's node u, which is node first_source + u of the graph */
struct og_related_lists {
    struct og_topology lists;
    uint32_t first, first_source;
    /* the relation that leads from its destinations to its sources: itself within a type, else the
     * one with edges that is called rev_<its name>, or whose rev_<name> it is; or none */
    uint32_t back;
    /* a bit a node: its list is not empty; NULL: see the list, or no list is */
    const uint64_t *listed;
};
#define OG__NO_RELATION UINT32_MAX

/* All in memory, with weights if they are used, counted as "topology" (dataset/relation.h). The
 * graph stays open as long. */
OG_MUST_CHECK int og__topology_load(const struct og_graph *g, bool weighs, struct og_budget *b,
                                    struct og_topology *out, struct og_err *err);
size_t og__topology_bytes(const struct og_graph *g, bool weighs);
/* Give that memory back, and load it again: who holds the topology or one of its relations holds it
 * still. */
void og__topology_unload(struct og_topology *t);
OG_MUST_CHECK int og__topology_reload(const struct og_graph *g, bool weighs, struct og_topology *t,
                                      struct og_err *err);
bool og__topology_is_loaded(const struct og_topology *t); /* on disk it always is */

/* What processes of a machine have in common, and how many of them there are. */
struct og_sharers {
    struct og_common *common;
    int n;
};
/* A topology in memory, with weights if they are used, in memory that processes share: read by the
 * first that asks, while others wait for it. Of its bytes each counts its part as "topology". */
OG_MUST_CHECK int og__topology_share(const struct og_graph *g, bool weighs,
                                     const struct og_sharers *with, struct og_budget *b,
                                     struct og_topology *out, struct og_err *err);
size_t og__topology_part_bytes(const struct og_graph *g, bool weighs, int sharers);

/* The files themselves, mapped, for looking before the budget is settled: nothing is copied, and
 * nothing is checked but what the two functions below are asked about. Works where the arrays start
 * on an element boundary; else -ENOTSUP. The graph stays open as long as the topology. */
OG_MUST_CHECK int og__topology_map(const struct og_graph *g, struct og_topology *out,
                                   struct og_err *err);
/* Of a mapped topology, before anything of it is used: do the lists of these nodes lie within the
 * edges; have these edges, which do, nodes for sources? -EINVAL if not, naming the file. */
OG_MUST_CHECK int og__mapped_lists(const struct og_topology *t, const uint32_t *nodes, uint32_t n,
                                   struct og_err *err);
OG_MUST_CHECK int og__mapped_edges(const struct og_topology *t, int64_t first, int64_t n,
                                   struct og_err *err);
void og__topology_release(struct og_topology *t); /* any form */

static inline int64_t og__sources(const struct og_topology *t)
{
    return t->n_sources ? t->n_sources : t->n_nodes;
}

/* Ids of destinations and of sources are below it. */
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

/* One prefetch for both: gcc leaves out those on a path that it takes for an unlikely one. */
static inline void og__prefetch_degree(const struct og_topology *t, uint32_t v)
{
    const void *in_memory = &t->indptr[v], *on_disk = &t->first.low[v];
    __builtin_prefetch(t->indptr ? in_memory : on_disk);
}

/* The longest list's length. On disk it is known; else a pass over the degrees. */
int64_t og__longest_list(const struct og_topology *t);

/* Source of an edge; in memory only. */
static inline uint32_t og__neighbor(const struct og_topology *t, int64_t e)
{
    return t->indices32 ? (uint32_t)t->indices32[e] : (uint32_t)t->indices64[e];
}

/* Both forms, in bounded memory: fn is called with the sources of edges [first, first + n), run
 * after run in the order of edges. On disk they are read sequentially past the page cache, through
 * a buffer from the topology's budget, and an id out of range is refused before fn sees it. What fn
 * returns below 0 ends the scan and is returned. */
typedef int og_scan_fn(void *arg, int64_t first, const uint32_t *ids, size_t n, struct og_err *err);
OG_MUST_CHECK int og__topology_scan(const struct og_topology *t, og_scan_fn *fn, void *arg,
                                    struct og_err *err);

/* Look for them, in one scan. Counted as "topology" and given back with it; og__loops_bytes is what
 * it takes where no node has two. */
OG_MUST_CHECK int og__loops_find(struct og_topology *t, struct og_err *err);
void og__loops_release(struct og_topology *t);
size_t og__loops_bytes(uint64_t n_nodes);
/* How many of a node's edges are to itself; 0 where nobody looked. */
int64_t og__loops_of(const struct og_topology *t, uint32_t v);

/* How many lists each node is in: count[N], zeroed first. One scan. */
OG_MUST_CHECK int og__topology_out_degrees(const struct og_topology *t, uint32_t *count,
                                           struct og_err *err);
/* The same of one relation, whose sources may be of another type: count[og__sources(t)]. */
OG_MUST_CHECK int og__topology_count_sources(const struct og_topology *t, uint32_t *count,
                                             struct og_err *err);
/* In-degrees, without edges of nodes to themselves: count[N]. One scan. */
OG_MUST_CHECK int og__topology_count_neighbors(const struct og_topology *t, uint32_t *count,
                                               struct og_err *err);

#endif
