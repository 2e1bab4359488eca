/* Files that are either whole or not there. */
#ifndef OG_FILE_H
#define OG_FILE_H

#include "base/base.h"

#include <stdio.h>
#include <sys/types.h>

/* Refuses what no file can take the place of: a folder, or a name that is none. What lies there
 * already is no failure. */
OG_MUST_CHECK int og__check_target(const char *path, struct og_err *err);

/* -EEXIST, with a hint, where something has the name: what a user has made is never replaced. A
 * link counts, wherever it leads to. */
OG_MUST_CHECK int og__check_absent(const char *path, struct og_err *err);

/* A file written beside its final name and renamed into place once it is on disk. */
struct og_newfile {
    int fd; /* -1 when closed */
    char *path, *temporary;
};

/* Opens a temporary beside it (base/temporary.h), after removing what killed processes left there.
 * An existing <path> stays as it is until commit. */
OG_MUST_CHECK int og__newfile_open(struct og_newfile *f, const char *path, struct og_err *err);
/* fsync, rename, fsync of the folder. On failure the temporary is gone and <path> untouched. */
OG_MUST_CHECK int og__newfile_commit(struct og_newfile *f, struct og_err *err);
/* Forget it: removes the temporary. Safe after commit and on a zeroed struct with fd = -1. */
void og__newfile_abandon(struct og_newfile *f);

/* An existing file for reading: its descriptor, or negative. What is no plain file is refused, and
 * a pipe is not waited for. */
OG_MUST_CHECK int og__open_plain(const char *path, uint64_t *size, struct og_err *err);

/* All bytes or an error that names `path`; interrupted and short writes go on. */
OG_MUST_CHECK int og__write_all(int fd, const void *data, size_t bytes, off_t offset,
                                const char *path, struct og_err *err);
/* All bytes, or -EIO "ends early" when the file is shorter. */
OG_MUST_CHECK int og__read_all(int fd, void *data, size_t bytes, off_t offset, const char *path,
                               struct og_err *err);

/* Bytes [*from, to) were written, front to back: now and then the kernel is told to put them on the
 * disk, and to forget those before. Dirty pages would count against a memory limit until it thinks
 * of them. *from moves on. */
void og__write_behind(int fd, uint64_t *from, uint64_t to);

/* XXH3-64 of the whole file, however large. */
OG_MUST_CHECK int og__file_checksum(const char *path, uint64_t *hash, struct og_err *err);

/* Whole small text file (at most `max` bytes) as a NUL-terminated malloc'ed string. */
OG_MUST_CHECK int og__read_text(const char *path, size_t max, char **out, size_t *len,
                                struct og_err *err);
/* Text through og__newfile. */
OG_MUST_CHECK int og__write_text(const char *path, const char *text, size_t len,
                                 struct og_err *err);

/* 1, 0, or negative where it cannot be told: what cannot be looked at is not taken for absent.
 * `name` is looked for in `folder`, or by itself where that is NULL. */
OG_MUST_CHECK int og__exists(const char *folder, const char *name, struct og_err *err);

/* mkdir -p. */
OG_MUST_CHECK int og__make_dirs(const char *path, struct og_err *err);

/* An output folder: built under a temporary name (base/temporary.h), renamed to <path> when
 * complete. Refuses, with a hint, a <path> that exists. Both strings are malloc'ed by begin and
 * freed by end. */
struct og_newdir {
    char *path, *temporary;
    int lock; /* a descriptor above 0 that says the temporary is in use; 0 = none */
};
OG_MUST_CHECK int og__newdir_begin(struct og_newdir *d, const char *path, struct og_err *err);
OG_MUST_CHECK int og__newdir_commit(struct og_newdir *d, struct og_err *err);
void og__newdir_abandon(struct og_newdir *d); /* removes the temporary and all in it */

/* $XDG_CACHE_HOME/outgrow or ~/.cache/outgrow, malloc'ed; NULL where there is neither. It may not
 * exist yet. */
char *og__cache_dir(void);

/* `path`, or the nearest folder above it that exists; malloc'ed, NULL = no memory. */
char *og__nearest_there(const char *path);

/* Bytes that an ordinary user may still write at `path`, or at the nearest folder above it that
 * exists; 0 when that is unknown. */
uint64_t og__disk_free(const char *path);

#endif
