/* An output FILE of a long command. It is written as FILE.part next to it, renamed when complete.
 * FILE.part is locked, so that two processes never write one FILE. */
#ifndef OG_OUTPUT_FILE_H
#define OG_OUTPUT_FILE_H

#include "dataset/graph.h"

struct og_output_file {
    char *path, *part; /* NULL = no such output */
    int fd;            /* descriptor of `part` above 0, locked; 0 = none */
    bool in_place;     /* a killed run had renamed it already */
};

/* Check the name in advance, and create its folder. NULL = no such output. With `replaces` the file
 * may exist. */
OG_MUST_CHECK int og__output_file_name(struct og_output_file *w, const char *path, bool replaces,
                                       struct og_err *err);
#define OG__HOW_TO_REPLACE "give --overwrite to replace it"
/* -EEXIST with this hint for a name that is there. */
OG_MUST_CHECK int og__output_file_absent(const char *path, struct og_err *err);
/* Refuse an output that is `input`, which messages call `what`, or a file of the graph. */
OG_MUST_CHECK int og__output_spare(const struct og_graph *g, const char *input, const char *what,
                                   const char *out, struct og_err *err);
/* Check that the outputs are two files. */
OG_MUST_CHECK int og__output_file_differ(const struct og_output_file *out,
                                         const struct og_output_file *embeddings,
                                         struct og_err *err);
/* Create and lock FILE.part. -EBUSY if another process writes it. */
OG_MUST_CHECK int og__output_file_lock(struct og_output_file *w, struct og_err *err);
/* Remove FILE.part, if it is still the locked file. */
void og__output_file_remove(const struct og_output_file *w);
/* -ENOENT if FILE.part is not the written file any more. */
OG_MUST_CHECK int og__output_file_check(const struct og_output_file *w, struct og_err *err);
OG_MUST_CHECK int og__output_file_deliver(const struct og_output_file *w, struct og_err *err);

/* Absolute path of a file that may not exist, in an existing folder. Malloc'ed, NULL if out of
 * memory. */
char *og__absolute(const char *path);

#endif
