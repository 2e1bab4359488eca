/* Rows of all nodes that a step of inference makes: in one file, or in parts over the folders of
 * --scratch, a file each, which are written and read side by side (io/stripes.h). */
#ifndef OG_STEP_FILES_H
#define OG_STEP_FILES_H

#include "base/places.h"
#include "io/stripes.h"

/* Rows begin at that byte of each file. */
enum { OG__MATRIX_OFFSET = 4096 };

struct og_step_files {
    struct og_places at; /* its own */
    struct og_stripes stripes;
};

/* `name` in each of these folders, of rows so long; or one file. */
OG_MUST_CHECK int og__step_files_name(struct og_step_files *out, struct og_places folders,
                                      const char *name, size_t row_bytes, struct og_err *err);
OG_MUST_CHECK int og__step_files_one(struct og_step_files *out, const char *path,
                                     struct og_err *err);
void og__step_files_free(struct og_step_files *s); /* accepts a zeroed one */
void og__step_files_remove(const struct og_step_files *s);

/* ---- reading, from anywhere ---- */

struct og_step_reader {
    const struct og_step_files *files; /* borrowed */
    size_t row;                        /* bytes */
    int fd[OG_MOST_PLACES];            /* -1 = closed */
};
OG_MUST_CHECK int og__step_reader_open(struct og_step_reader *r, const struct og_step_files *s,
                                       size_t row_bytes, struct og_err *err);
/* n bytes of their rows, in order, from byte `at`. Pages go again: they are not needed soon. */
OG_MUST_CHECK int og__step_reader_read(const struct og_step_reader *r, uint64_t at, size_t n,
                                       void *out, struct og_err *err);
void og__step_reader_close(struct og_step_reader *r); /* also after a failed open */

/* ---- writing, front to back ---- */

struct og_step_writer;

/* Its buffers, of so many folders, beside the one that a single file has. */
size_t og__step_writer_beside(uint32_t folders);
/* With `rows` rows of `cols` floats that are there and stay, or anew. */
OG_MUST_CHECK int og__step_writer_open(struct og_step_writer **out, const struct og_step_files *s,
                                       uint64_t rows, int64_t cols, struct og_err *err);
/* Over the open file of one that is wanted, whose descriptor is the caller's. */
OG_MUST_CHECK int og__step_writer_over(struct og_step_writer **out, int fd, const char *path,
                                       uint64_t rows, int64_t cols, struct og_err *err);
OG_MUST_CHECK int og__step_writer_append(struct og_step_writer *w, const float *rows, uint32_t n,
                                         struct og_err *err);
/* All that was appended is on disk. */
OG_MUST_CHECK int og__step_writer_sync(struct og_step_writer *w, struct og_err *err);
/* Completes the files and frees; or only frees, where rc tells of an error. What there is of one.
 */
OG_MUST_CHECK int og__step_writer_end(struct og_step_writer *w, int rc, struct og_err *err);

#endif
