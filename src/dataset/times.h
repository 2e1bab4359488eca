/* times: when the edges of a graph came to be. An edge has a time of its own, or that of its
 * source.
 *
 *   list v      | place 0 | place 1 | ...          as indices.npy has it
 *   order       | places by time, equal times by place |
 *
 * In memory each list has its order, unless it is in that order already. With the topology on disk
 * the times of edges stay there too, and lists are sorted when they are sampled. Lists that were
 * imported with --by-time are sorted: "by_time" in meta.json says by which times. */
#ifndef OG_DATASET_TIMES_H
#define OG_DATASET_TIMES_H

#include "dataset/topology.h"

/* The times of one relation's edges. */
struct og_list_times {
    const int64_t *node;       /* [sources of the relation]; NULL: they have none, or edges have */
    const int64_t *edge;       /* [edges]; NULL: none, or on disk */
    const struct og_npy *file; /* [edges] on disk; NULL: none there */
    const uint32_t *order;     /* [edges]; NULL: each list is in order, or on disk */
    bool sorted;               /* from disk: each list is in order there */
    bool uncached; /* lists are read though the neighbour cache has them: it has no times */
};

struct og_times {
    enum og_times_kind kind;
    int64_t *node;            /* [nodes of the graph], OG__NO_TIME in groups without; or NULL */
    struct og_list_times *of; /* [n_relations] */
    uint32_t n_relations;
    struct og_budget *budget;
    size_t n_nodes;
    const struct og_graph *graph;
};

#define OG__NO_TIME INT64_MIN

/* A place of a list and its time. */
struct og_timed {
    int64_t time;
    uint32_t place;
};
/* Sorts a list by time; its order where times are equal stays. `room` has n entries too. */
void og__sort_by_time(struct og_timed *list, struct og_timed *room, size_t n);

/* The key of meta.json: a list with the word of a kind for each relation. Without it lists are by
 * source. Returns the kind that the lists of relation r are sorted by. */
extern const char og__by_time_key[];
extern const char *const og__times_words[]; /* of enum og_times_kind */
enum og_times_kind og__sorted_by(const struct og_graph *g, uint32_t r);

/* Are there times of this kind? -EINVAL with the files that are missing. */
OG_MUST_CHECK int og__times_check(const struct og_graph *g, enum og_times_kind kind,
                                  struct og_err *err);

/* Loads the times of the graph's nodes, or edges, for lists that are in memory or on disk. Counted
 * as "times". */
OG_MUST_CHECK int og__times_load(const struct og_graph *g, enum og_times_kind kind,
                                 const struct og_topology *t, struct og_budget *b,
                                 struct og_times *out, struct og_err *err);
void og__times_release(struct og_times *t); /* also a zeroed one */
/* Are there lists that samplers read even where the neighbour cache has them? */
bool og__times_uncached(const struct og_graph *g, enum og_times_kind kind);
/* The most that loading takes, with the topology in memory or on disk. */
size_t og__times_bytes(const struct og_graph *g, enum og_times_kind kind, bool on_disk);

#endif
