/* Edges of several relations, as triples (source, relation, destination). It has the relation of
 * each edge of a split, and a set of all triples of all splits. With the set, a negative pair that
 * is an edge can be detected (the filtered setting of Bordes et al. 2013, section 4.1). */
#ifndef OG_SAMPLE_TRIPLES_H
#define OG_SAMPLE_TRIPLES_H

#include "base/memory.h"
#include "dataset/graph.h"
#include "sample/by_type.h"

struct og_triples {
    const struct og_graph_types *types; /* borrowed, as are those of the splits */
    struct og_triple_list {
        const uint32_t *ends;     /* [2 n] source and destination, one after another */
        const uint32_t *relation; /* [n] */
        uint64_t n;
    } split[OG__SPLITS];
    /* numbers of triples, split after split, from 1; 0: a free entry */
    uint32_t *table;
    size_t size; /* a power of two */
    struct og_budget *budget;
};

/* Builds the table from the types and splits that are set. Memory: "seeds".
 * -EOVERFLOW for 2^31 of them. */
OG_MUST_CHECK int og__triples_open(struct og_triples *t, struct og_budget *b, struct og_err *err);
void og__triples_close(struct og_triples *t); /* also a zeroed one */

bool og__triples_has(const struct og_triples *t, uint32_t source, uint32_t relation,
                     uint32_t destination);

#endif
