/* What the files of edges in text share. Nobody else includes this.
 *
 *   edge_text.c            blocks of a file, and the edges of their lines
 *   edge_text_columns.c    the first lines: which column is what, and the separator */
#ifndef OG_IMPORT_EDGE_TEXT_PARTS_H
#define OG_IMPORT_EDGE_TEXT_PARTS_H

#include "dataset/import/edge_text.h"

#include <string.h>

/* ---- one line; a newline ends every scan ---- */

/* A carriage return is blank only before a newline: elsewhere it would join lines. */
static inline bool og__is_blank(const char *p)
{
    return *p == ' ' || *p == '\t' || (*p == '\r' && p[1] == '\n');
}

static inline const char *og__skip_blanks(const char *p)
{
    while (og__is_blank(p))
        p++;
    return p;
}

/* Blanks and at most one mark. */
static inline const char *og__skip_separator(const char *p)
{
    p = og__skip_blanks(p);
    return *p == ',' || *p == ';' ? og__skip_blanks(p + 1) : p;
}

static inline const char *og__skip_field(const char *p)
{
    while (!og__is_blank(p) && *p != ',' && *p != ';' && *p != '\n')
        p++;
    return p;
}

static inline bool og__is_remark(const char *p)
{
    return *p == '#' || *p == '%';
}

static inline const char *og__next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

/* ---- the first lines ---- */

extern const char og__edge_columns_hint[]; /* how users name columns */
/* Finds the columns and the separator. The user or the file may name columns. Names are in the
 * first line that is no remark, or in the remark before it. Returns -EINVAL for unclear columns.
 *
 * begin  in: the file's first line; out: its first edge, or `end` */
OG_MUST_CHECK int og__edge_text_begin(struct og_edge_text *p, const char **begin, const char *end,
                                      struct og_err *err);

#endif
