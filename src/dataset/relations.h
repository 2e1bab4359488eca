/* The structure of a typed graph: a topology with the nodes and edges of all types, whose lists are
 * those of its relations.
 *
 *   list v of relation r      of the destination's node v, which is node first + v of the graph
 *   u in it                   the source's node u, which is node first_source + u of the graph */
#ifndef OG_DATASET_RELATIONS_H
#define OG_DATASET_RELATIONS_H

#include "dataset/on_disk.h"
#include "dataset/typed.h"

#define OG__NO_RELATION UINT32_MAX

struct og_related_lists {
    struct og_topology lists;
    uint32_t first, first_source;
    /* the relation that leads from its destinations to its sources: itself within a type, else the
     * one with edges that is called rev_<its name>, or whose rev_<name> it is; or none */
    uint32_t back;
    /* a bit a node: its list is not empty; NULL: see the list, or no list is */
    const uint64_t *listed;
};

/* Ways to have it, as a topology of one relation. The typed dataset stays open as long; releasing
 * is og__topology_release's. */
OG_MUST_CHECK int og__relations_load(const struct og_typed *g, struct og_budget *b,
                                     struct og_topology *out, struct og_err *err);
void og__relations_release(struct og_topology *t); /* what any of them has beyond others */
/* Lists in memory give it back, and are loaded there again, their weights aside: who holds the
 * topology or one of its relations holds it still. */
void og__relations_unload(struct og_topology *t);
OG_MUST_CHECK int og__relations_reload(const struct og_typed *g, struct og_topology *t,
                                       struct og_err *err);
bool og__relations_are_loaded(const struct og_topology *t); /* on disk they always are */
OG_MUST_CHECK int og__relations_load_weights(const struct og_typed *g, struct og_topology *t,
                                             struct og_err *err);
/* In memory that processes share, all relations in one part of it, with weights if they are used
 * (og__topology_share). */
OG_MUST_CHECK int og__relations_share(const struct og_typed *g, bool weighs,
                                      const struct og_sharers *with, struct og_budget *b,
                                      struct og_topology *out, struct og_err *err);
OG_MUST_CHECK int og__relations_open_disk(const struct og_typed *g,
                                          const struct og_topology_disk_options *opt,
                                          struct og_budget *b, struct og_topology *out,
                                          struct og_err *err);
/* How relation r is opened then: relations are read one after another, but each through a reader of
 * its own, and hundreds of them have to fit. So what is read into goes by their sizes, as do
 * threads, of which each has one at least, where the engine reads by threads; and so does what is
 * asked for at a time, of which those with a quarter of the edges have all. */
struct og_topology_disk_options og__relation_on_disk(const struct og_typed *g, uint32_t r,
                                                     const struct og_topology_disk_options *opt);
OG_MUST_CHECK int og__relations_map(const struct og_typed *g, struct og_topology *out,
                                    struct og_err *err);

/* What each takes. */
size_t og__relations_bytes(const struct og_typed *g);
size_t og__relations_weights_bytes(const struct og_typed *g);
size_t og__relations_part_bytes(const struct og_typed *g, bool weighs, int sharers);
size_t og__relations_disk_bytes(const struct og_typed *g);

#endif
