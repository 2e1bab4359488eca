/* Edges in text, one a line: "src dst" or "src dst weight". Blanks, tabs, commas or semicolons
 * separate them. Lines that begin with # or % are comments. The first line may name the columns, in
 * any order. All threads parse. */
#ifndef OG_IMPORT_PAIRS_H
#define OG_IMPORT_PAIRS_H

#include "dataset/import/import.h"
#include "dataset/import/text.h"
#include "dataset/names.h"

enum { OG__EDGE_TEXT_PARTS = 8 };

/* Further columns, read one kind at a time. */
enum og_edge_values { OG__EDGE_TIME, OG__EDGE_FEATURE, OG__EDGE_VALUES, OG__NO_VALUES };

/* Edges of one part of the text, in order. */
struct og_edge_text_part {
    const char *begin, *end;
    uint64_t *src, *dst; /* [n]; words as og__edge_text_words takes them */
    float *weight;       /* [n], or NULL */
    char *value;         /* [n][columns of the kind]: int64 times, double features; or NULL */
    size_t n;
    uint64_t most;       /* largest id */
    int64_t n_rounded;   /* weights that f32 changes */
    double most_rounded; /* by so much at most */
    bool zeros;          /* some id begins with a zero that says nothing */
    struct og_word_kinds kinds;
    const char *wrong, *why; /* where parsing failed, and why; else NULL */
    const char *hint;        /* to it; NULL = the file's */
    bool no_number;          /* because an id is no whole number */
};

struct og_edge_text {
    struct og_text text;
    struct og_budget *budget;
    struct og_pool *pool;
    /* rules: set between open and the first next */
    int weight_column;     /* from 1; 0 = ignore further columns; -1 = there are none */
    bool exact;            /* there are no columns after the weight */
    uint64_t base;         /* the first id there may be */
    uint64_t limit;        /* ids are below base + limit; 0 = any */
    int64_t skip;          /* lines at the start that are a header */
    const char *line_hint; /* says what a line is; NULL = an edge list's */
    const char *names;     /* column names, "dst,src,weight", that override the file's; or NULL */
    const char *ends;      /* names of the columns of both ends, "user,item", or NULL */
    const char *values[OG__EDGE_VALUES]; /* names of such columns, "f*,g", or NULL */
    enum og_edge_values reads;           /* the kind that next parses too; OG__NO_VALUES */
    bool reverse;     /* the user declares columns dst, src; contradicted by names in the file */
    bool takes_words; /* ids may be words: then next sets met_word instead of failing */
    bool words;       /* they are: set before a rewind */
    /* from the first line, columns from 0; -1 = absent */
    int src, dst, weight;
    int n_values[OG__EDGE_VALUES];
    int *value_at; /* [columns]: 1 + place in a row of `reads`, 0 = none */
    int last_value;
    int n_named;       /* columns that have names; 0 = none have */
    char mark;         /* between named columns: comma, semicolon or tab; 0 = blanks, or no names */
    bool others_known; /* further columns are left out */
    struct og_names unread; /* those, by name */
    struct og_names left;   /* that an asterisk would have taken as features */
    /* what next found */
    struct og_edge_text_part part[OG__EDGE_TEXT_PARTS];
    size_t parts; /* 0 at the end */
    uint64_t *ids;
    float *weights;
    char *row; /* of values, while they are read */
    size_t row_bytes;
    int64_t n_rounded; /* since the last rewind, as in the parts */
    double most_rounded;
    bool begun;
    bool met_word;
};

OG_MUST_CHECK int og__edge_text_open(struct og_edge_text *p, const char *path, struct og_budget *b,
                                     struct og_pool *pool, struct og_err *err);
void og__edge_text_close(struct og_edge_text *p);
OG_MUST_CHECK int og__edge_text_rewind(struct og_edge_text *p, struct og_err *err);
/* The next edges. Ids come less `base`. With p->met_word set it returns what failed as *err too:
 * the ids are words, or wrong. */
OG_MUST_CHECK int og__edge_text_next(struct og_edge_text *p, struct og_err *err);
/* Bytes that a line has at least: each value takes a digit and a mark. */
size_t og__edge_text_least(const struct og_edge_text *p);
/* Views the columns of a kind as a table with a row per edge, in order. All edges have been read
 * once. The caller owns `p`, and nobody else reads it meanwhile. NULL if none are requested. */
OG_MUST_CHECK int og__edge_text_values(struct og_edge_text *p, enum og_edge_values kind,
                                       int64_t edges, struct og_table **out, struct og_err *err);
/* n words of a part, `id` its src or dst from some place on. In the memory of the block. */
void og__edge_text_words(const struct og_edge_text *p, const uint64_t *id, size_t n,
                         struct og_word *word);

#endif
