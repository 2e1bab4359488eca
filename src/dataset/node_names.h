/* Names of nodes: what the source called each. Rows are in the order of the names' bytes.
 *
 *     node_names.npy            S<k> [n], where no name is longer than 32 bytes; else
 *     node_names_offsets.npy    int64 [n + 1], and
 *     node_names_bytes.npy      uint8, all names one after another
 *
 * In a heterogeneous graph each type has its own, node_names_<t>.npy as features_<t>.npy. */
#ifndef OG_NODE_NAMES_H
#define OG_NODE_NAMES_H

#include "base/json.h"
#include "dataset/graph.h"
#include "dataset/word_runs.h"

/* ---- reading: files are mapped, nothing is loaded ---- */

struct og_node_names;
/* The names of a group's nodes; NULL if the dataset has none. Looks at the files' headers only. */
OG_MUST_CHECK int og__node_names_open(struct og_node_names **out, const struct og_graph *g,
                                      uint32_t group, struct og_err *err);
/* The same in any folder, by the files' prefix, such as "node_names"; n nodes. */
OG_MUST_CHECK int og__node_names_in(struct og_node_names **out, const char *folder,
                                    const char *prefix, int64_t n, struct og_err *err);
void og__node_names_close(struct og_node_names *names); /* also NULL */
/* The name of node v, in the mapping. Any thread. */
struct og_word og__node_name(const struct og_node_names *names, int64_t v);
/* The node of this name, or -1: a binary search. Any thread. */
int64_t og__node_names_find(const struct og_node_names *names, const struct og_word *name);
/* Refuses a number in place of a name. The message has `what` it is, and a name as an example. */
OG_MUST_CHECK int og__node_names_refuse(const struct og_node_names *names, const char *what,
                                        struct og_err *err);
/* The first node whose name does not come after that of the node before, or -1. */
int64_t og__node_names_wrong(const struct og_node_names *names);

/* Prefix of the files of a group's names: "node_names", "node_names_2". */
struct og_array_name og__node_names_prefix(const struct og_graph *g, uint32_t group);

/* ---- writing ---- */

struct og_node_names_writer;
/* `longest` bytes is the longest name. */
OG_MUST_CHECK int og__node_names_create(struct og_node_names_writer **out, const char *folder,
                                        const char *prefix, uint32_t longest, struct og_err *err);
/* An og_word_fn. */
OG_MUST_CHECK int og__node_names_append(void *writer, const struct og_word *name,
                                        struct og_err *err);
/* Completes the files and adds their checksums, which may be NULL. Sets *w to NULL. */
OG_MUST_CHECK int og__node_names_finish(struct og_node_names_writer **w, json_t *checksums,
                                        struct og_err *err);
void og__node_names_discard(struct og_node_names_writer *w); /* also NULL */
/* Writes the names into another folder; -EINVAL if they are out of order. */
OG_MUST_CHECK int og__node_names_copy(const struct og_node_names *names, const char *folder,
                                      const char *prefix, json_t *checksums, struct og_err *err);

#endif
