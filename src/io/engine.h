/* An I/O engine: submits reads, later completes them. Submission and completion are separate on
 * purpose: the ring works while the caller computes, and a GPU engine may do one of the two. */
#ifndef OG_IO_ENGINE_H
#define OG_IO_ENGINE_H

#include "io/io.h"

/* A file opened for reading, with the alignment that direct reads need (1, 1 when buffered). */
struct og_io_file {
    int fd;
    char *path;
    uint64_t size;
    size_t align_offset, align_memory;
    bool direct;
};
/* want_direct: O_DIRECT with the alignment statx reports; where refused (tmpfs, overlay) the file
 * is buffered, readahead off, and pages are dropped behind the reads. */
OG_MUST_CHECK int og__io_file_open(struct og_io_file *f, const char *path, bool want_direct,
                                   const struct og_log *log, struct og_err *err);
void og__io_file_close(struct og_io_file *f);

/* One read. The engine fills result: bytes read, or a negative errno. Short reads are resubmitted
 * by the engine until done or at end of file. */
struct og_io_request {
    uint64_t offset;
    uint32_t length;
    uint32_t buffer; /* index of the bounce buffer, for registered ones */
    void *data;      /* where to */
    int32_t result;
    uint32_t done; /* engine's own: bytes so far */
    void *user;
};

struct og_io_engine; /* each engine's own */

struct og_io_setup {
    const struct og_io_file *file;
    int depth;
    int threads;
    void *buffers; /* depth buffers, one after another */
    size_t buffer_bytes;
    const struct og_log *log;
};

struct og_io_ops {
    const char *name;
    /* false with a reason: this machine or container has it not. Cheap; called before open. */
    bool (*available)(const char **reason);
    bool wants_direct;
    OG_MUST_CHECK int (*open)(struct og_io_engine **out, const struct og_io_setup *s,
                              struct og_err *err);
    void (*close)(struct og_io_engine *e);
    /* Takes ownership of the requests until reap returns them. At most `depth` are in flight. */
    OG_MUST_CHECK int (*submit)(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                                struct og_err *err);
    /* At least min (<= in flight) and at most max finished requests; their number is returned. */
    OG_MUST_CHECK int (*reap)(struct og_io_engine *e, struct og_io_request **reqs, size_t min,
                              size_t max, struct og_err *err);
};

extern const struct og_io_ops og__io_uring, og__io_pread, og__io_mmap, og__io_null;

#endif
