/* Samples made beforehand (`outgrow sample`): the training batches of a run, read back from the
 * folder of a trace in any order (Liu et al. 2025, §4).
 *
 *   draw 0                     draw 1
 *   | batch 0 | 1 | ... | n-1 | n | n+1 | ...        one draw for each epoch that draws batches
 *
 * Nothing in the folder is believed: sizes are checked against the files when it is opened, ids and
 * positions when a batch is read. */
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
};

/* Offsets, and a bit a node, from the budget as "trace". -ENOENT, -EINVAL for a folder that is no
 * such trace. */
OG_MUST_CHECK int og__samples_open(struct og_samples **out, const struct og_samples_options *opt,
                                   struct og_budget *b, struct og_err *err);
void og__samples_close(struct og_samples *s); /* accepts NULL */

uint32_t og__samples_batches(const struct og_samples *s);
size_t og__samples_memory(const struct og_samples *s);            /* bytes that it holds */
struct og_io_counts og__samples_asks(const struct og_samples *s); /* to read each batch once */

/* Batch number i into `out`, just as the sampler had made it; without `blocks` its ids and counts
 * alone, and no arrays of its blocks. *read: what was asked of the kernel. -EIO when something in
 * it cannot be. Any thread; one reads at a time. */
OG_MUST_CHECK int og__samples_read(struct og_samples *s, uint32_t i, bool blocks,
                                   struct og_batch_memory *out, struct og_io_counts *read,
                                   struct og_err *err);
/* Let batch i come from the disk while other things are done. */
void og__samples_prefetch(const struct og_samples *s, uint32_t i);

#endif
