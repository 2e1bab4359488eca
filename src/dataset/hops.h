/* The rows that propagate made of a dataset's labelled nodes, hop by hop side by side. They are in
 * the folder hops of the dataset, which is a dataset itself: its nodes are the labelled ones. Its
 * meta.json says of which graph. */
#ifndef OG_DATASET_HOPS_H
#define OG_DATASET_HOPS_H

#include "dataset/graph.h"

#define OG__HOPS_FOLDER "hops"

enum { OG__HOPS_HOW = 32 };
/* How they were made. "sym" or "row", then ",loops" and ",multiply" (by weights of edges). */
void og__hops_how(const struct og_graph *rows, char how[OG__HOPS_HOW]);

/* Opens them in place of the dataset. Fails with -EINVAL unless they are hops `first` to `last` of
 * it, and made as `how` says; "" is any. */
OG_MUST_CHECK int og__hops_open(const char *dataset, int first, int last, const char *how,
                                struct og_graph **out, struct og_err *err);

/* hop<k>.npy of all nodes, as groups of rows. */
struct og_hop_files {
    struct og_group group[OG_MAX_HOPS + 1]; /* by hop; 0 has no file */
};
/* Opens hops `first` to `last`, 0 apart; -EINVAL unless they are the dataset's. Release also one
 * that is all zeros. */
OG_MUST_CHECK int og__hop_files_open(const struct og_graph *g, int first, int last, const char *how,
                                     struct og_hop_files *out, struct og_err *err);
void og__hop_files_close(struct og_hop_files *h);

#endif
