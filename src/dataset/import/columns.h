/* The first line of a text with columns: does it name them, and what are they? */
#ifndef OG_IMPORT_COLUMNS_H
#define OG_IMPORT_COLUMNS_H

#include "base/base.h"

enum og_column {
    OG__COLUMN_UNKNOWN,
    OG__COLUMN_ID, /* of a node; in a list of edges, of the edge */
    OG__COLUMN_SRC,
    OG__COLUMN_DST,
    OG__COLUMN_WEIGHT,
    OG__COLUMN_LABEL,
    OG__COLUMN_OTHER, /* known, and of no use here: times, types, "-" */
};

/* A column's name, in small letters, without quotes and blanks around it. */
struct og_column_name {
    char text[48]; /* of a longer one the beginning */
};

/* The field at p of a line that a newline ends; what follows it: the next field, or the newline.
 * mark = what stands between fields; ' ' = blanks and tabs, or any of , and ; */
const char *og__column_next(const char *p, char mark, struct og_column_name *name);
/* How many fields the line has, empty ones too; not of blanks. */
int64_t og__column_count(const char *line, char mark);
/* What stands between the fields of this line: ',' ';' or tab, whichever is there; else ' '. */
char og__column_mark(const char *line);

/* Do the fields of this line name columns? Some are words, not nan, inf, none, null or na, and none
 * is a number; or, where an `id` is to be first, the first one is a word. */
bool og__names_columns(const char *line, char mark, bool id);

enum og_column og__column_of(const char *name);

#endif
