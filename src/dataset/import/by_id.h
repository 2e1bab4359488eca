/* What nodes have, in CSV: an id and its numbers a line, in any order. */
#ifndef OG_IMPORT_BY_ID_H
#define OG_IMPORT_BY_ID_H

#include "dataset/import/import.h"

/* Is NAME or NAME.gz there? 1, 0, or negative where it cannot be told. */
OG_MUST_CHECK int og__by_id_has(const struct og_importer *imp, const char *name,
                                struct og_err *err);
/* Opens NAME, feat.csv say, or NAME.gz of the source: a row is an int64 id and doubles, as the text
 * has them. NULL where neither is there. */
OG_MUST_CHECK int og__by_id_text(const struct og_importer *imp, const char *name,
                                 struct og_table **out, struct og_err *err);

/* The same as doubles alone, a row a node in the order of nodes, as imp->ids has them: each node's
 * once. With `whole` every node has one, of finite numbers; else those are labels: NaN stands for
 * what is not there, which is told, or refused where they are several a node. NULL where there is
 * no such file. */
OG_MUST_CHECK int og__by_id_open(struct og_importer *imp, const char *name, bool whole,
                                 struct og_table **out, struct og_err *err);

/* How many lines it has, but for one of names; -1 where there is no such file. */
OG_MUST_CHECK int og__by_id_count(const struct og_importer *imp, const char *name, int64_t *rows,
                                  struct og_err *err);

/* NAME as a list of nodes, an id a line: rows are the nodes' numbers. NULL where it is not there.
 */
OG_MUST_CHECK int og__by_id_list(struct og_importer *imp, const char *name, struct og_table **out,
                                 struct og_err *err);

/* Ids that were numbered anew: those of node_ids.npy, which has been written. */
OG_MUST_CHECK int og__node_ids_load(struct og_importer *imp, struct og_err *err);
void og__node_ids_drop(struct og_importer *imp);

#endif
