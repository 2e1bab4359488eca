/* identity: is this the dataset that something was made of?
 *
 * Of each array it has
 *
 *   contents   its type, its shape, the checksum declared for it, and 256 of its pages; all of them
 *              where it has no more
 *   file       which file it is: inode and birth
 *   written    size, and when it was last written to
 *
 * Equal contents make two folders one dataset, wherever they lie: what was sampled or packed of a
 * copy on another machine is good here. The pages are spread over the array, so another array is
 * found out; a few rows that changed between them are not, and reading all would take as long as
 * the first epoch. There the files tell. The same file with another time was written to since.
 * Another file with the time of the old one is a copy of it. Another file with a time of its own
 * may be a copy as well, but only where the other arrays are copies too: one new file among the old
 * ones was put in its place.
 *
 * An array in parts is one array, with the contents that it has in one file; its parts have
 * contents of their own, by which a part of another dataset is told. As a file it is all of them,
 * written to when the last of them was; `outgrow stripe` gives them the time of the file that they
 * come from, so that they are a copy of it.
 *
 * Opening a dataset looks at all this: a few hundred reads of 4 KiB an array, asked for together
 * before the first is waited for. */
#ifndef OG_DATASET_IDENTITY_H
#define OG_DATASET_IDENTITY_H

#include "base/json.h"
#include "dataset/meta.h"

/* Fills g->identity, and the contents of its groups. */
OG_MUST_CHECK int og__graph_identify(struct og_graph *g, const struct og_meta *m,
                                     struct og_err *err);
/* The number of a group's rows, which follows from that of the whole. */
uint64_t og__group_contents(const struct og_graph *g, uint32_t group);

/* The number of an array's contents alone: what declares them is not in it. */
OG_MUST_CHECK int og__array_contents(const struct og_npy *a, uint64_t *sum, struct og_err *err);

/* root with "dataset_checksum", contents in 16 hexadecimal digits, and "dataset_files"; NULL on
 * lack of memory, as og__json_with. */
json_t *og__identity_with(json_t *root, const struct og_identity *id);
/* What such an object says. False: no "dataset_checksum"; "dataset_files" may be missing, as other
 * programs leave it out. */
bool og__identity_get(const json_t *root, struct og_identity *id);

/* Is what was made of a dataset that was `then` good for the one that is `now`? If not, why: "of
 * another dataset", "features.npy was written to since". */
enum { OG__WHY = 64 };
bool og__identity_same(const struct og_identity *then, const struct og_identity *now,
                       char why[OG__WHY]);

/* One number for the very files in the very state: of what is kept for one place alone, of the
 * lists or of all arrays. */
uint64_t og__structure_state(const struct og_identity *id);
uint64_t og__dataset_state(const struct og_identity *id);

#endif
