/* What the files of CSV tables share. Nobody else includes this.
 *
 *   table_csv.c            lines and their values
 *   table_csv_columns.c    the first line: which column is what */
#ifndef OG_IMPORT_TABLE_CSV_PARTS_H
#define OG_IMPORT_TABLE_CSV_PARTS_H

#include "dataset/import/table.h"
#include "dataset/import/text.h"

struct og_csv_table {
    struct og_table t;
    struct og_text text;
    const char *at, *end; /* within the present block */
    char mark;            /* between columns */
    bool by_id;           /* a column is an id, the first line may be names */
    struct og_csv_use use;
    bool named; /* the first line names columns */
    bool begun;
    const char *line;                  /* the one that was read last */
    bool met_word, met_class;          /* what failed is an id, or a label */
    struct og_word_map *classes;       /* labels are words; or NULL */
    struct og_word_kinds *class_kinds; /* counts these; or NULL */
    bool alone;                        /* only these are read */
    int32_t *place; /* by_id: [n_columns] which element of a row each is, 0 = the id */
    int64_t n_columns;
    struct og_names unread; /* columns */
    bool unnamed_id;        /* the first line has names, and none for the ids */
    /* nodes.csv alone: */
    char *names;   /* the first line */
    uint8_t *what; /* [n_columns] enum og_node_column */
    bool left_out; /* the line is of a node that the split has not */
};

/* Places of columns that are no element of a row. */
enum { OG__CSV_UNREAD = -1, OG__CSV_SPLIT = -2 };

static inline bool og__csv_is_nodes(const struct og_csv_table *c)
{
    return c->use.of_nodes != OG__NODE_UNREAD;
}

/* The first line that is neither empty nor a comment; NULL if there is none. */
OG_MUST_CHECK int og__csv_first_line(struct og_csv_table *c, const char **line, struct og_err *err);
/* Finds separator, number and places of the columns by the first line, and rewinds. Returns -EINVAL
 * for a line that names none of the ids, or is not clear. */
OG_MUST_CHECK int og__csv_find_columns(struct og_csv_table *c, struct og_err *err);

#endif
