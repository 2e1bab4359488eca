/* The columns of nodes.csv, which has a line per node: what each is, by its name. */
#ifndef OG_IMPORT_NODE_COLUMNS_H
#define OG_IMPORT_NODE_COLUMNS_H

#include "dataset/import/text.h"
#include "dataset/names.h"

enum og_node_column {
    OG__NODE_UNREAD, /* without a name */
    OG__NODE_ID,
    OG__NODE_FEATURE, /* every other */
    OG__NODE_LABEL,
    OG__NODE_TIME,
    OG__NODE_SPLIT, /* the name of each node's split */
    OG__NODE_TRAIN, /* masks, in the order of enum og__split */
    OG__NODE_VALID,
    OG__NODE_TEST
};

/* Names of columns that options give, or NULL. */
struct og_node_options {
    const char *id, *label;
};

/* Is this the name of a column, in lower case and perhaps truncated? */
bool og__node_column_is(const char *name, const char *given);

/* Sets what[j] for each of the n columns that the line names; `id` is that of ids. */
OG_MUST_CHECK int og__node_columns(const struct og_text *t, const char *line, char mark, int64_t n,
                                   int64_t id, const struct og_node_options *opt, uint8_t *what,
                                   struct og_err *err);

/* Makes columns of texts, by the first lines, UNREAD, and adds their names to `unread`, or NULL.
 * The lines from `at` on follow `line`, which names the columns. */
OG_MUST_CHECK int og__node_texts(const struct og_text *t, const char *line, const char *at,
                                 const char *end, char mark, int64_t n, uint8_t *what,
                                 struct og_names *unread, struct og_err *err);

/* Is this true or false? */
bool og__node_truth(const char *text, size_t n, double *x);

/* 1 if a word of column `what` puts its node into `split`, named as a mask, else 0. It fails with
 * -EINVAL and *why if it is no word of such a column. */
OG_MUST_CHECK int og__node_in_split(const struct og_word *word, enum og_node_column what,
                                    enum og_node_column split, const char **why);

#endif
