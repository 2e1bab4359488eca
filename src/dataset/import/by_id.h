/* Node data in CSV: a line has a node's id and its numbers, in any order of nodes. */
#ifndef OG_IMPORT_BY_ID_H
#define OG_IMPORT_BY_ID_H

#include "dataset/import/import.h"

/* Checks the columns of nodes.csv, and that no other file has the same. Without it, its options are
 * an error. */
OG_MUST_CHECK int og__by_id_check(const struct og_importer *imp, struct og_err *err);
/* Is NAME or NAME.gz there, or nodes.csv with its columns? 1, 0, or a negative errno if the lookup
 * fails otherwise. */
OG_MUST_CHECK int og__by_id_has(const struct og_importer *imp, const char *name,
                                struct og_err *err);
/* Opens NAME, such as feat.csv, or NAME.gz of the source, else its columns of nodes.csv. A row is
 * an int64 id and doubles, in the order of the text, or with `ids_only` the id. NULL if there is
 * none. Ids that are words: read each file once before they are sorted, in any order. Later ids are
 * numbers of nodes, or -1. */
OG_MUST_CHECK int og__by_id_text(struct og_importer *imp, const char *name, bool ids_only,
                                 struct og_table **out, struct og_err *err);

/* Opens the same as doubles alone, a row a node in the order of imp->ids. Each node is there at
 * most once. With `whole` every node needs a row of finite numbers. Otherwise the rows are labels:
 * a missing one is NaN, which is reported, or an error if a node has several labels. NULL if there
 * is no such file. */
OG_MUST_CHECK int og__by_id_open(struct og_importer *imp, const char *name, bool whole,
                                 struct og_table **out, struct og_err *err);

/* The number of its lines, without a line of names; -1 if there is no such file. */
OG_MUST_CHECK int og__by_id_count(struct og_importer *imp, const char *name, int64_t *rows,
                                  struct og_err *err);

/* Opens NAME as a list of nodes, an id a line; rows are node numbers. NULL if it is not there, or
 * if nodes.csv has no node of it. */
OG_MUST_CHECK int og__by_id_list(struct og_importer *imp, const char *name, struct og_table **out,
                                 struct og_err *err);

/* Files that list nodes by id, each of which may be there: splits. Ends with NULL. */
extern const char *const og__by_id_lists[];

/* Collects labels of an open text that are words, and makes it read their numbers. Then
 * imp->class_names has the words. The caller closes `classes` after the table. */
OG_MUST_CHECK int og__classes_collect(struct og_importer *imp, struct og_table *text,
                                      struct og_word_map *classes, struct og_err *err);

/* Loads the ids of renumbered nodes from node_ids.npy, which has been written. */
OG_MUST_CHECK int og__node_ids_load(struct og_importer *imp, struct og_err *err);
void og__node_ids_drop(struct og_importer *imp);

/* ---- ids that are words (named.c) ---- */

/* Call when all have been put: numbers them, writes node_names.npy, and sets the number of nodes.
 * `why` is the error of the first id that is no whole number; it is the result if none is a word.
 */
OG_MUST_CHECK int og__named_resolve(struct og_importer *imp, const struct og_err *why,
                                    struct og_err *err);
void og__named_drop(struct og_importer *imp);

#endif
