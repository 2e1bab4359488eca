/* structure: a session's hold on the graph's topology, from which batches are sampled. In memory or
 * on disk, given back while it is not needed, and fetched again. */
#ifndef OG_STRUCTURE_H
#define OG_STRUCTURE_H

#include "base/scratch.h"
#include "budget/memory_plan.h"
#include "dataset/on_disk.h"
#include "dataset/times.h"

struct og_structure {
    /* not its own: what decides where it is, and how batches are sampled */
    struct og_plan_inputs given;
    struct og_budget *budget;
    struct og_topology topology;
    struct og_times times; /* of --time, while the topology is there */
    int *fanouts;          /* [n_relations][n_fanout] */
    char *neighbors_dir;   /* where the neighbour cache is kept; NULL = nowhere */
    bool passing;          /* it lives no longer than the session: edges were held out of it */
    uint64_t on_disk;      /* bytes of that cache, where it is kept */
};

/* The folder of the neighbour cache, by the dataset's path, in --scratch's first or the user's
 * cache folder. With held-out edges, it is the folder of the remaining graph. NULL: none were. */
OG_MUST_CHECK int og__structure_name(struct og_structure *g, const struct og_scratch *held_out,
                                     struct og_err *err);

/* In a heterogeneous graph each relation's fanouts, by --fanout and --relation-fanout. -EINVAL for
 * an unknown relation. */
OG_MUST_CHECK int og__structure_fanouts(struct og_structure *g, struct og_err *err);

/* Bytes of it in memory during training, without the neighbour cache. By its place, memory or disk
 * (enum og_topology_kind). */
size_t og__structure_bytes(const struct og_structure *g, int topology);
/* What of a workload depends on its place, into f, whose caps are known. The topology that is open
 * may be either. */
void og__structure_sizes(const struct og_structure *g, int topology, struct og_workload *f);
/* How it is to be opened on disk, without a neighbour cache. */
struct og_topology_disk_options og__structure_on_disk(const struct og_structure *g);
/* How blocks of its lists are read there. */
struct og_read_rule og__structure_rule(const struct og_structure *g);

/* May its files be open as often as threads read them on disk? -EMFILE if not. */
OG_MUST_CHECK int og__structure_check_files(const struct og_structure *g, struct og_err *err);

/* Opens it in memory or on disk, as the execution plan says. Its neighbour cache, whose size is
 * unknown, comes later. */
OG_MUST_CHECK int og__structure_open(struct og_structure *g, struct og_err *err);
/* The same, where it was open in another place: what was found of the graph stays. */
OG_MUST_CHECK int og__structure_move(struct og_structure *g, struct og_err *err);
/* And with one of so many bytes; 0 = without. It is kept on disk where that has `room` for it.
 * *written is added to. */
OG_MUST_CHECK int og__structure_add_neighbors(struct og_structure *g, size_t bytes, uint64_t room,
                                              uint64_t *written, struct og_err *err);
void og__structure_close(struct og_structure *g);

/* Give it back as far as training does without it, and fetch it again. Adds to *read and *written,
 * for a neighbour cache that is kept. */
void og__structure_drop(struct og_structure *g);
OG_MUST_CHECK int og__structure_fetch(struct og_structure *g, struct og_io_counts *read,
                                      uint64_t *written, struct og_err *err);

/* A sampler of its batches; GCN's blocks carry degrees. */
OG_MUST_CHECK int og__structure_sampler(const struct og_structure *g, struct og_sampler **out,
                                        struct og_budget *b, struct og_err *err);

#endif
