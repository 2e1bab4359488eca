/* The head of a Matrix Market file. */
#ifndef OG_IMPORT_MTX_H
#define OG_IMPORT_MTX_H

#include "dataset/import/text.h"

struct og_mtx_head {
    bool symmetric, weighted;
    int64_t nodes;   /* rows, and columns */
    int64_t entries; /* promised */
    int64_t lines;   /* that the head takes */
};

/* Parses the header in the first block of t, [begin, end). */
OG_MUST_CHECK int og__mtx_head(struct og_mtx_head *head, const struct og_text *t, const char *begin,
                               const char *end, struct og_err *err);

#endif
