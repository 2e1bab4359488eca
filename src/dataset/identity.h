/* identity: decides whether a sample or pack was made from this dataset.
 *
 * It stores for each array
 *
 *     contents   a hash of type, shape, declared checksum, and 256 pages, or all pages if there are
 *                fewer
 *     file       the file's inode and birth time
 *     written    size, and time of last modification
 *
 * Equal contents make two folders the same dataset, wherever they are. So samples and packs of a
 * copy on another machine are valid here. The pages are spread over the array, which detects
 * another array, but not a few changed rows between them. Reading all would take as long as the
 * first epoch. File states cover that case. The same file with another time was modified. Another
 * file with the old time is a copy. Another file with another time may be a copy too, but only if
 * the other arrays are copies. A single new file among old ones replaced the original.
 *
 * An array in parts is one array, with the contents that it has in one file. Its parts have
 * contents of their own, which reveal a part of another dataset. As a file it is all parts,
 * modified when the last one was. `outgrow stripe` gives the parts the time of the original file,
 * which makes them a copy of it.
 *
 * Opening a dataset computes this from a few hundred reads of 4 KiB an array. All are requested
 * before the first wait. */
#ifndef OG_DATASET_IDENTITY_H
#define OG_DATASET_IDENTITY_H

#include "base/json.h"
#include "dataset/meta.h"

/* Fills g->identity, and the contents of its groups. */
OG_MUST_CHECK int og__graph_identify(struct og_graph *g, const struct og_meta *m,
                                     struct og_err *err);
/* Fill g->identity from the arrays of a homogeneous graph, or from the parts of another. */
OG_MUST_CHECK int og__identify_arrays(struct og_graph *g, const struct og_meta *m,
                                      struct og_err *err);
OG_MUST_CHECK int og__identify_parts(struct og_graph *g, const struct og_meta *m,
                                     struct og_err *err);
/* The hash of a group's rows, derived from the graph's hash. The first is for the only group, the
 * second for one of several. */
uint64_t og__contents_of_all(const struct og_graph *g, uint32_t group);
uint64_t og__contents_of_group(const struct og_graph *g, uint32_t group);

/* The hash of an array's contents alone, without its declaration. */
OG_MUST_CHECK int og__array_contents(const struct og_npy *a, uint64_t *sum, struct og_err *err);

/* Adds to root "dataset_checksum", contents in 16 hexadecimal digits, and "dataset_files". NULL on
 * lack of memory, as og__json_with. */
json_t *og__identity_with(json_t *root, const struct og_identity *id);
/* Reads these from an object. False: no "dataset_checksum"; "dataset_files" may be missing, as
 * other programs omit it. */
bool og__identity_get(const json_t *root, struct og_identity *id);

/* Is a result of dataset state `then` valid for state `now`? If not, `why` has the reason: "of
 * another dataset", "features.npy was written to since". */
enum { OG__WHY = 64 };
bool og__identity_same(const struct og_identity *then, const struct og_identity *now,
                       char why[OG__WHY]);

/* A hash of the exact files and their state. It covers the lists, also their weights, or all
 * arrays. For caches that are valid at one path only. */
OG_MUST_CHECK int og__structure_state(const struct og_graph *g, bool weights, uint64_t *state,
                                      struct og_err *err);
uint64_t og__dataset_state(const struct og_identity *id);

#endif
