/* Pre-sampled batches (`outgrow sample`): the training batches of a run. They are read in any order
 * from the folder of a trace (Liu et al. 2025, §4).
 *
 *   draw 0                     draw 1
 *   | batch 0 | 1 | ... | n-1 | n | n+1 | ...        one draw for each epoch that draws batches
 *
 * The folder is untrusted: open checks sizes against the files; a read checks ids and positions. */
#ifndef OG_SAMPLES_H
#define OG_SAMPLES_H

#include "io/io.h"
#include "sample/batch_memory.h"

struct og_samples;

struct og_samples_options {
    const char *dir;
    int n_hops;
    unsigned extras; /* OG__WITH_...: blocks are to have them; OG__NESTED */
    uint32_t n_relations;
    uint64_t n_nodes;
    /* With OG__WITH_EDGES, to check what is read. */
    uint64_t end_of_units;            /* of all relations */
    const struct og_edge_unit *units; /* of each; NULL: not known */
};

/* Takes offsets, and a bit a node, from the budget as "trace". Returns -ENOENT, or -EINVAL for a
 * folder without such a trace. */
OG_MUST_CHECK int og__samples_open(struct og_samples **out, const struct og_samples_options *opt,
                                   struct og_budget *b, struct og_err *err);
void og__samples_close(struct og_samples *s); /* accepts NULL */

uint32_t og__samples_batches(const struct og_samples *s);
size_t og__samples_memory(const struct og_samples *s);            /* bytes that it holds */
struct og_io_counts og__samples_asks(const struct og_samples *s); /* to read each batch once */

/* Reads batch number i into `out`, identical to the sampler's. Without `blocks`, its ids and counts
 * alone. *read: reads requested from the kernel. -EIO for invalid content. Any thread; one reads at
 * a time. */
OG_MUST_CHECK int og__samples_read(struct og_samples *s, uint32_t i, bool blocks,
                                   struct og_batch_memory *out, struct og_io_counts *read,
                                   struct og_err *err);
/* Starts reading batch i in the background. */
void og__samples_prefetch(const struct og_samples *s, uint32_t i);

#endif
