/* Files that are complete or absent. */
#ifndef OG_FILE_H
#define OG_FILE_H

#include "base/base.h"

#include <stdio.h>
#include <sys/types.h>

/* Fails if no file can replace `path`: it is a folder, or no valid name. An existing file is
 * fine. */
OG_MUST_CHECK int og__check_target(const char *path, struct og_err *err);

/* -EEXIST, with a hint, if `path` exists: user files are never replaced. A link counts, even a
 * dangling one. */
OG_MUST_CHECK int og__check_absent(const char *path, struct og_err *err);
/* Refuses an output that is the input. No hint then says to remove it. */
OG_MUST_CHECK int og__check_apart(const char *in, const char *out, struct og_err *err);

/* A file written under a temporary name in the same folder, and renamed once it is on disk. */
struct og_newfile {
    int fd; /* -1 when closed */
    char *path, *temporary;
};

/* Opens a temporary file (base/temporary.h), after removing those of killed processes. An existing
 * <path> is unchanged until commit. */
OG_MUST_CHECK int og__newfile_open(struct og_newfile *f, const char *path, struct og_err *err);
/* fsync, rename, fsync of the folder. A failure removes the temporary and leaves <path>
 * unchanged. */
OG_MUST_CHECK int og__newfile_commit(struct og_newfile *f, struct og_err *err);
/* Removes the temporary. Safe after commit, and on a zeroed struct with fd = -1. */
void og__newfile_abandon(struct og_newfile *f);

/* Makes `path` another name of the file at `of`, in place of what was there. Negative errno. */
OG_MUST_CHECK int og__file_link(const char *of, const char *path);

/* Opens an existing regular file for reading. Returns its descriptor or a negative errno. Other
 * kinds are refused, and a pipe does not block. */
OG_MUST_CHECK int og__open_plain(const char *path, uint64_t *size, struct og_err *err);

/* Writes all bytes or fails with an error that names `path`; continues interrupted and short
 * writes. */
OG_MUST_CHECK int og__write_all(int fd, const void *data, size_t bytes, off_t offset,
                                const char *path, struct og_err *err);
/* Reads all bytes, or fails; -EIO "ends early" when the file is shorter. */
OG_MUST_CHECK int og__read_all(int fd, void *data, size_t bytes, off_t offset, const char *path,
                               struct og_err *err);

/* Call as bytes [*from, to) have been written in order. From time to time it makes the kernel write
 * them out and drop earlier pages. Dirty pages otherwise count against a memory limit for long.
 * Advances *from. */
void og__write_behind(int fd, uint64_t *from, uint64_t to);

/* Gives disk blocks of bytes [*from, to) back, or at least their pages, from time to time. The file
 * stays as long. Advances *from. */
void og__free_behind(int fd, uint64_t *from, uint64_t to);

/* XXH3-64 of the whole file, however large. */
OG_MUST_CHECK int og__file_checksum(const char *path, uint64_t *hash, struct og_err *err);

/* Reads a whole text file of at most `max` bytes into a NUL-terminated malloc'ed string. */
OG_MUST_CHECK int og__read_text(const char *path, size_t max, char **out, size_t *len,
                                struct og_err *err);
/* Text through og__newfile. */
OG_MUST_CHECK int og__write_text(const char *path, const char *text, size_t len,
                                 struct og_err *err);

/* Returns 1, 0, or a negative errno if the lookup fails for another reason than absence. `name` is
 * relative to `folder`, or a path of its own if that is NULL. */
OG_MUST_CHECK int og__exists(const char *folder, const char *name, struct og_err *err);

/* mkdir -p. */
OG_MUST_CHECK int og__make_dirs(const char *path, struct og_err *err);

/* An output folder, written under a temporary name (base/temporary.h) and renamed to <path> when
 * complete. An existing <path> is refused, with a hint. begin allocates both strings; end frees
 * them. */
struct og_newdir {
    char *path, *temporary;
    int lock; /* descriptor above 0 whose lock marks the temporary as in use; 0 = none */
};
OG_MUST_CHECK int og__newdir_begin(struct og_newdir *d, const char *path, struct og_err *err);
OG_MUST_CHECK int og__newdir_commit(struct og_newdir *d, struct og_err *err);
void og__newdir_abandon(struct og_newdir *d); /* removes the temporary and all in it */

/* $XDG_CACHE_HOME/outgrow or ~/.cache/outgrow, malloc'ed; NULL if neither variable is set. The
 * folder may not exist yet. */
char *og__cache_dir(void);

/* `path` or its nearest existing parent folder; malloc'ed, NULL = no memory. */
char *og__nearest_there(const char *path);

/* Bytes an unprivileged user may write at `path` or its nearest existing parent; 0 = unknown. */
uint64_t og__disk_free(const char *path);

#endif
