/* Small text files of OGB's heterogeneous datasets (ogb_words.c). */
#ifndef OG_IMPORT_OGB_H
#define OG_IMPORT_OGB_H

#include "dataset/import/import.h"

enum { OG__MOST_LINES = OG_MOST_RELATIONS, OG__MOST_WORDS = OG_MOST_TYPES };

struct og_words {
    char *path, *text; /* cut into words */
    size_t n;
    struct og_words_line {
        char **word;
        size_t n;
    } line[OG__MOST_LINES];
};

/* Free also what failed, and NULL. */
OG_MUST_CHECK int og__words_read(const struct og_importer *imp, const char *name,
                                 struct og_words **out, struct og_err *err);
void og__words_free(struct og_words *l);
/* Reads a file of two lines: names, and a word for each. */
OG_MUST_CHECK int og__words_table(const struct og_importer *imp, const char *name,
                                  struct og_words **out, struct og_err *err);
/* The word for a name, "" if absent. */
const char *og__words_value(const struct og_words *l, const char *name);
/* -EINVAL: `what` is wrong. */
int og__words_wrong(const struct og_words *l, const char *what, struct og_err *err);

#endif
