/* Text with fields between commas, mapped: lists of nodes and tables of predictions. */
#ifndef OG_DATASET_TEXT_FILE_H
#define OG_DATASET_TEXT_FILE_H

#include "dataset/word_runs.h"

enum { OG__FIELD_MOST = 4 * OG__WORD_MOST }; /* bytes of a field; the rest of a longer one is cut */

/* Maps a file of text. An empty one is NULL. */
OG_MUST_CHECK int og__text_map(const char *path, const char **text, size_t *bytes,
                               struct og_err *err);
void og__text_unmap(const char *text, size_t bytes); /* also NULL */
/* Where the text begins, after a byte order mark. */
size_t og__text_begin(const char *text, size_t bytes);
/* The field that begins at `at`, without quotes, in out[OG__FIELD_MOST]. Returns where it ends: at
 * a comma, the end of a line, or the end of the text. */
size_t og__text_field(const char *text, size_t bytes, size_t at, char *out, struct og_word *word);

#endif
