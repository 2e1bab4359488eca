/* Rows of all nodes that a step of inference writes. One file, or parts striped over the folders of
 * --scratch, which are written and read in parallel (io/stripes.h). */
#ifndef OG_STEP_FILES_H
#define OG_STEP_FILES_H

#include "base/places.h"
#include "io/stripes.h"

/* Byte of each file where rows begin. */
enum { OG__MATRIX_OFFSET = 4096 };

struct og_step_files {
    struct og_places at; /* owned */
    struct og_stripes stripes;
};

/* Files named `name` in each of these folders, for rows of this size; or one file. */
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
/* Read n bytes of the rows, in order, from byte `at`. Drops the pages, which are not needed soon.
 */
OG_MUST_CHECK int og__step_reader_read(const struct og_step_reader *r, uint64_t at, size_t n,
                                       void *out, struct og_err *err);
void og__step_reader_close(struct og_step_reader *r); /* also after a failed open */

/* ---- writing, front to back ---- */

struct og_step_writer;

/* Bytes of its buffers for several folders, in addition to a single file's. */
size_t og__step_writer_extra_bytes(uint32_t folders);
/* Open with `rows` existing rows of `cols` floats, or new. */
OG_MUST_CHECK int og__step_writer_open(struct og_step_writer **out, const struct og_step_files *s,
                                       uint64_t rows, int64_t cols, struct og_err *err);
/* Open over an output's descriptor, which stays the caller's. */
OG_MUST_CHECK int og__step_writer_over(struct og_step_writer **out, int fd, const char *path,
                                       uint64_t rows, int64_t cols, struct og_err *err);
OG_MUST_CHECK int og__step_writer_append(struct og_step_writer *w, const float *rows, uint32_t n,
                                         struct og_err *err);
/* Write everything appended so far to disk. */
OG_MUST_CHECK int og__step_writer_sync(struct og_step_writer *w, struct og_err *err);
/* Complete the files and free the writer; or only free it if rc is an error. Returns rc or the
 * first error. Accepts a partially opened writer. */
OG_MUST_CHECK int og__step_writer_end(struct og_step_writer *w, int rc, struct og_err *err);

#endif
