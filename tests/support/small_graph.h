/* The graph that tests of whole runs train on. It is large enough for a few dozen batches, and
 * generated in some hundredths of a second. */
#ifndef OG_SMALL_GRAPH_H
#define OG_SMALL_GRAPH_H

#include "dataset/generate/options.h"

#include <outgrow/outgrow.h>

static inline void small_graph_init(struct og_generate *g)
{
    og__generate_init(g);
    g->nodes = 3000;
    g->degree = 10;
    g->dim = 24;
    g->classes = 5;
    g->train_fraction = 0.2;
    g->memory = (struct og_amount){OG_BYTES, 64 << 20};
    g->threads = 2;
}

#endif
