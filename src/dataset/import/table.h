/* Tables: rows of numbers, read front to back from any kind of file. Importers are built from them.
 *
 *   table.c       all kinds; a .npy or headerless file
 *   table_zip.c   a member of an .npz archive
 *   table_csv.c   a CSV file (table_csv_parts.h) */
#ifndef OG_IMPORT_TABLE_H
#define OG_IMPORT_TABLE_H

#include "base/json.h"
#include "base/memory.h"
#include "dataset/graph.h"
#include "dataset/import/columns.h"
#include "dataset/import/node_columns.h"
#include "dataset/names.h"

struct og_table;

/* A node's id as a message has it. */
struct og_id_text {
    char text[48];
};

struct og_table_ops {
    /* Reads at most `want` rows; *got is less only at the end. */
    int (*read)(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err);
    int (*rewind)(struct og_table *t, struct og_err *err);
    void (*close)(struct og_table *t); /* frees t too */
    /* The source's id of a node, if ids are in the first column; else NULL. */
    void (*id_of)(const struct og_table *t, int64_t node, struct og_id_text *out);
};

struct og_table {
    const struct og_table_ops *ops;
    char *name;             /* for messages */
    enum og__npy_type type; /* of what read gives */
    int ndim;
    int64_t rows; /* -1 = known at the end */
    int64_t columns;
    int64_t next;     /* row */
    int64_t skip;     /* bytes of elements before the first row */
    const char *path; /* the file with the rows as they are, from `offset` on; or NULL */
    int64_t offset;
    bool raw;     /* that file has no .npy header */
    bool text;    /* numbers were written in decimal digits */
    bool swapped; /* what ops->read gives is big endian */
    bool moved;   /* rows come in another order: id_of has the row of the source */
};

/* ---- opening one ---- */

/* C or Fortran order, either byte order. */
OG_MUST_CHECK int og__table_npy(struct og_table **out, const char *path, struct og_err *err);
/* Edges [n, 2] or [2, n] as rows of two; [2, 2] is [n, 2]. Other shapes stay. */
OG_MUST_CHECK int og__table_npy_pairs(struct og_table **out, const char *path, struct og_err *err);
/* Opens the rows as stored: an array in Fortran order is its transpose, and sets *columns. */
OG_MUST_CHECK int og__table_npy_as_stored(struct og_table **out, const char *path, bool *columns,
                                          struct og_err *err);
/* A headerless file of rows of `columns` elements. */
OG_MUST_CHECK int og__table_raw(struct og_table **out, const char *path, enum og__npy_type type,
                                int64_t columns, struct og_err *err);
/* Is there a .npy header? */
OG_MUST_CHECK int og__is_npy(const char *path, bool *is, struct og_err *err);
/* Opens NAME.npy in an .npz archive, stored or deflated, ZIP64 or not. */
OG_MUST_CHECK int og__table_zip(struct og_table **out, const char *path, const char *member,
                                struct og_err *err);
/* Reads the last bytes of a small member: [bytes] in `out`. -ENOENT if it is shorter, or absent. */
OG_MUST_CHECK int og__zip_ends(const char *path, const char *member, char *out, size_t bytes,
                               struct og_err *err);
/* Opens comma separated numbers without a header line, gzipped or not, as int64 or float64. For
 * columns 0 it takes the number in the first line. */
OG_MUST_CHECK int og__table_csv(struct og_table **out, const char *path, enum og__npy_type type,
                                int64_t columns, struct og_budget *b, struct og_err *err);

/* The use of a text by id. */
enum og_csv_rows { OG__CSV_IDS, OG__CSV_FEATURES, OG__CSV_LABELS };
struct og_csv_use {
    enum og_csv_rows rows;
    bool ids_only; /* read nothing else */
    /* ids are words: occurrence `first` is that of the first line. Before they are sorted, lines
     * are put, and ids read as 0; later ids are numbers, -1 for a word without one */
    struct og_word_map *words;
    uint64_t first;
    bool adds;                   /* as og__word_map_put */
    struct og_word_kinds *kinds; /* counts ids that are words, or NULL */
    bool takes_classes;          /* the one column of labels may be words */
    /* of nodes.csv: the columns to read; of a split the ids of its nodes. Else UNREAD */
    enum og_node_column of_nodes;
    struct og_node_options names; /* of nodes.csv */
};
/* Opens lines of a node's id, read as int64, and numbers, as float64. The first line may name the
 * columns, in any order, with one called id; for labels it uses columns called label. Separated by
 * commas, semicolons or tabs. Gzipped or not. */
OG_MUST_CHECK int og__table_csv_by_id(struct og_table **out, const char *path,
                                      const struct og_csv_use *use, struct og_budget *b,
                                      struct og_err *err);
/* After a failure of og__table_read: because an id, or a label, is no number? */
bool og__table_csv_met_word(const struct og_table *t);
bool og__table_csv_met_class(const struct og_table *t);
/* Reads labels as words from now on. They are put into `classes`, or taken from it once sorted. A
 * class is its number; no label is NaN. Counts words in `kinds`, or NULL. Rewinds. With `alone` ids
 * are not used, and read as 0. */
OG_MUST_CHECK int og__table_csv_classes(struct og_table *t, struct og_word_map *classes, bool alone,
                                        struct og_word_kinds *kinds, struct og_err *err);
/* The error of the line that was read last: its id is no node's. */
OG_MUST_CHECK int og__table_csv_no_node(const struct og_table *t, int64_t nodes,
                                        struct og_err *err);
/* Has nodes.csv columns of this kind, or for this split? */
bool og__table_csv_has(const struct og_table *t, enum og_node_column what);
/* The name of the column of nodes.csv that is value j of a row; false of other files. */
bool og__table_csv_name(const struct og_table *t, int64_t j, struct og_column_name *name);
/* Names of its columns of features, as JSON; NULL of other files. */
json_t *og__table_csv_names(const struct og_table *t);
/* Is its first column, which has no name, used as ids? */
bool og__table_csv_unnamed_id(const struct og_table *t);
/* Unused columns of such a table; owned by the table. */
struct og_names *og__table_csv_unread(struct og_table *t);

/* Allocates a zeroed struct of `bytes` that begins with a table, with ops and name set. For
 * implementations of a kind. NULL on lack of memory. */
void *og__table_new(size_t bytes, const struct og_table_ops *ops, const char *name,
                    struct og_err *err);

/* ---- any ---- */

void og__table_close(struct og_table *t);
OG_MUST_CHECK int og__table_rewind(struct og_table *t, struct og_err *err);
OG_MUST_CHECK int og__table_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                                 struct og_err *err);
/* Turns [R, C] into the C elements of row r. Not for CSV. Call before reading. */
OG_MUST_CHECK int og__table_take_row(struct og_table *t, int64_t r, struct og_err *err);

/* The position of a node's row, in the source's terms, and a column unless -1. Either "row 3,
 * column 0", or "id 31, column 2" if ids are the first column. */
struct og_table_place {
    char text[88];
};
struct og_table_place og__table_place(const struct og_table *t, int64_t row, int64_t column);

static inline size_t og__table_row_bytes(const struct og_table *t)
{
    return (size_t)t->columns * og__npy_size(t->type);
}

/* A buffer for some of its rows, independent of the table's size. */
struct og_piece {
    struct og_table *t;
    struct og_budget *budget;
    int64_t room; /* rows */
    size_t bytes;
    char *raw; /* [room, columns] as stored */
};
OG_MUST_CHECK int og__piece_take(struct og_piece *p, struct og_table *t, struct og_budget *b,
                                 struct og_err *err);
void og__piece_give(struct og_piece *p); /* also a zeroed one */

#endif
