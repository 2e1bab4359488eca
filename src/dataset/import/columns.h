/* Column names in the first line of a text: detects and parses them. */
#ifndef OG_IMPORT_COLUMNS_H
#define OG_IMPORT_COLUMNS_H

#include "base/base.h"

enum og_column {
    OG__COLUMN_UNKNOWN,
    OG__COLUMN_ID, /* of a node; in an edge list, of the edge */
    OG__COLUMN_SRC,
    OG__COLUMN_DST,
    OG__COLUMN_WEIGHT,
    OG__COLUMN_LABEL,
    OG__COLUMN_TIME,  /* unused, unless it is named */
    OG__COLUMN_OTHER, /* known and unused: types, "-" */
};

/* A column's name in lower case, without surrounding quotes and blanks. */
struct og_column_name {
    char text[48]; /* a longer one is truncated */
};

/* Parses the field at p of a line that a newline ends. Returns the start of the next field, or the
 * newline. mark = the separator; ' ' = blanks and tabs, or any of , and ; */
const char *og__column_next(const char *p, char mark, struct og_column_name *name);
/* The number of fields in the line, empty ones included; not for blanks. */
int64_t og__column_count(const char *line, char mark);
/* The separator of this line: ',' ';' or tab, if it occurs; else ' '. */
char og__column_mark(const char *line);

/* Does this line name columns? True if some fields are words, other than nan, inf, none, null or
 * na, and none is a number. With `id`, true if the first field is a word. */
bool og__names_columns(const char *line, char mark, bool id);

enum og_column og__column_of(const char *name);

/* Are both ends among the names of this line? Names that are not known may be `others`: not in a
 * remark, such as "FromNodeId ToNodeId". */
bool og__names_ends(const char *line, bool others);

#endif
