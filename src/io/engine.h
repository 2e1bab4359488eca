/* An I/O engine submits reads and later completes them. The two are separate so that the ring works
 * while the caller computes, and a GPU engine may do one of the two. */
#ifndef OG_IO_ENGINE_H
#define OG_IO_ENGINE_H

#include "io/io.h"

/* ---- file ---- */

/* A file opened for reading, with the alignment that direct reads need (1, 1 when buffered). */
struct og_io_file {
    int fd;
    char *path;
    uint64_t size;
    size_t align_offset, align_memory;
    bool direct;
};
/* want_direct: opens with O_DIRECT and the alignment that statx reports. Where it is refused
 * (tmpfs, overlay) the file is buffered, without readahead, and og__io_file_drop drops pages after
 * reads. */
OG_MUST_CHECK int og__io_file_open(struct og_io_file *f, const char *path, bool want_direct,
                                   const struct og_log *log, struct og_err *err);
void og__io_file_close(struct og_io_file *f);
/* Advises the kernel that the pages of a buffered file in this range will not be read again. */
void og__io_file_drop(const struct og_io_file *f, uint64_t offset, size_t length);

/* ---- engines ---- */

/* One read. The engine fills result: bytes read, or a negative errno. The engine resubmits short
 * reads until complete or at end of file, and reads that the kernel postpones (EAGAIN, EINTR). */
struct og_io_request {
    const struct og_io_file *file; /* one of the engine's */
    uint64_t offset;
    uint32_t length;
    int32_t result;
    void *data;                 /* destination: an engine buffer, or memory aligned as well */
    uint32_t done;              /* bytes so far; the engine's own, 0 at submit */
    uint32_t tries;             /* times postponed; the engine's own, 0 at submit */
    struct og_io_request *next; /* engine's own */
};

/* Records n > 0 more bytes, or 0 at the end of the file. Returns true when the request is finished:
 * complete, at the end of the file, or stuck there because the file shrank after it was opened. A
 * direct read that stopped within a block resumes from the last whole one. */
static inline bool og__io_advance(const struct og_io_file *f, struct og_io_request *q, uint32_t n)
{
    uint32_t have = q->done + n;
    uint32_t whole = have & ~(uint32_t)(f->align_offset - 1);
    bool more = n > 0 && have < q->length && q->offset + have < f->size && whole > q->done;
    q->result = (int32_t)have;
    if (more)
        q->done = whole;
    return !more;
}

struct og_io_engine; /* each engine's own */

struct og_io_setup {
    const struct og_io_file *files; // [n_files] that requests are of
    int n_files;
    int depth;     /* most requests in flight, of all files */
    int threads;   /* of engines that have them; >= 1 */
    void *buffers; /* destination of most reads; registered if the kernel allows */
    size_t buffer_bytes;
    const struct og_log *log;
};

struct og_io_ops {
    const char *name;
    /* Returns false, with a reason, if the machine or its sandbox lacks it. Cheap; called before
     * open. */
    bool (*available)(const char **reason);
    bool wants_direct;
    bool uses_page_cache;            /* threads wait for page faults, and the kernel drops pages */
    int descriptors;                 /* in addition to one a file */
    const struct og_io_ops *instead; /* where it is not available; NULL: it always is */
    /* Reads only requested bytes: merging over gaps would distort a measurement. */
    bool never_merges_gaps;
    OG_MUST_CHECK int (*open)(struct og_io_engine **out, const struct og_io_setup *s,
                              struct og_err *err);
    void (*close)(struct og_io_engine *e); /* accepts NULL; nothing may be in flight */
    /* Takes ownership of the requests until reap returns them. They start now or, with engines that
     * batch system calls, at the next reap. reap with min = 0 starts them without waiting. At most
     * `depth` are in flight. On failure it has taken none. */
    OG_MUST_CHECK int (*submit)(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                                struct og_err *err);
    /* Waits for at least min (<= in flight) and returns at most max finished requests, and their
     * number. */
    OG_MUST_CHECK int (*reap)(struct og_io_engine *e, struct og_io_request **reqs, size_t min,
                              size_t max, struct og_err *err);
    /* Reads so far by the kernel's count, for engines that do not request exact ranges (mmap).
     * NULL: the requests are exact. false: the kernel does not report it. */
    bool (*kernel_counts)(struct og_io_engine *e, struct og_io_counts *out);
};

#define OG__IO_DECLARED(NAME, name) extern const struct og_io_ops og__io_##name;
OG__IO_ENGINES(OG__IO_DECLARED)

/* The engine of this kind (enum og_io_kind), or its fallback on this machine, which is logged. */
const struct og_io_ops *og__io_pick(int kind, const struct og_log *log);

/* As og__reader_open_parts, with a fixed engine and no fallback. For tests and measurements. */
OG_MUST_CHECK int og__reader_open_parts_on(struct og_reader **out, const struct og_io_ops *ops,
                                           const struct og_row_files *rows,
                                           const struct og_reader_options *opt, struct og_budget *b,
                                           struct og_err *err);
OG_MUST_CHECK int og__reader_open_on(struct og_reader **out, const struct og_io_ops *ops,
                                     const char *path, uint64_t offset, size_t row_bytes,
                                     uint64_t n_rows, const struct og_reader_options *opt,
                                     struct og_budget *b, struct og_err *err);

/* ---- measuring ---- */

/* A steady load of equal reads on one file. Random reads are at distinct positions, so no cache can
 * serve one twice. Ends after `seconds`, or once random reads have covered the file. */
struct og_io_load {
    size_t bytes; /* a request; rounded up to the file's alignment */
    int depth, threads;
    bool sequential;
    double seconds;
    uint32_t seed;                     /* of the places */
    const volatile sig_atomic_t *stop; /* may be NULL */
};
struct og_io_rate {
    double iops, bytes_per_second;
    uint64_t bytes; /* that were read */
};
OG_MUST_CHECK int og__io_measure(const struct og_io_ops *ops, const struct og_io_file *file,
                                 const struct og_io_load *load, struct og_io_rate *out,
                                 struct og_err *err);

#endif
