/* io moves bytes. It knows files, offsets and engines; it knows nothing of graphs or policies.
 *
 *      rows wanted, sorted ──> merge near ones ──> requests ──> engine ──> bounce ──> out
 *                              (profile: gap)      depth kept   uring      buffers
 *                                                  topped up    pread
 *                                                               mmap
 *
 * Three layers: a file opened for direct reads (file.c), engines behind one table (engine.h,
 * uring.c, pread.c, mmap.c), and the reader on top, whose rule merges (read_rule.c) and which
 * scatters what arrives (reader.c). What a disk is good at is measured once and kept as a profile
 * (profile.c). */
#ifndef OG_IO_H
#define OG_IO_H

#include <outgrow/outgrow.h>

#include "base/base.h"
#include "base/choices.h"
#include "base/memory.h"
#include "io/stripes.h"

/* ---- what the disk can do ---- */

struct og_disk_point {
    size_t bytes;      /* a request */
    int depth;         /* requests in flight */
    double per_second; /* requests */
};

/* Times follow  seconds = requests / iops + bytes / bandwidth  closely enough to plan with. */
struct og_disk_profile {
    double iops;       /* small random reads a second at the best depth */
    double bandwidth;  /* bytes a second, large sequential reads at the best depth */
    double fresh;      /* the same of what was just written: hosts cache that */
    double write;      /* bytes a second, large direct writes one behind another */
    int depth;         /* the best for small reads */
    int fault_threads; /* page faults: the number of threads that serves the disk best */
    bool measured;     /* false: figures of a common NVMe disk, nothing was measured here */
    int disks;         /* that serve side by side, all of this is of them together; 0 = one */
};

/* The text of one. False: damaged or absurd. For fuzzing too. */
bool og__profile_parse(const char *text, size_t len, struct og_disk_profile *out);
/* Profile stored for the device that holds `path`; else the built-in one. Never fails. */
void og__profile_load(const char *path, struct og_disk_profile *out);
/* Of n paths that have an equal share of what is read, and are read side by side: the disk with the
 * slowest share decides, as all wait for it. Paths on the same disk share its rates. */
void og__profile_load_all(const char *const *paths, int n, struct og_disk_profile *out);
/* Do both lie on the same disk, partitions of one included? What cannot be told counts as so. */
bool og__same_disk(const char *a, const char *b);
/* Store it for the device that holds `path`, as JSON under $XDG_CACHE_HOME/outgrow (or
 * ~/.cache/outgrow). The file's name is returned in *file (malloc'ed), which may be NULL. */
OG_MUST_CHECK int og__profile_save(const char *path, const struct og_disk_profile *p, char **file,
                                   struct og_err *err);

/* Bytes between two wanted ranges below which reading on is cheaper than asking twice. */
static inline size_t og__profile_gap(const struct og_disk_profile *p)
{
    return (size_t)(p->bandwidth / p->iops);
}

/* ---- counters ---- */

struct og_io_counts {
    uint64_t reads; /* requests made of the kernel; under mmap, pages it read */
    uint64_t bytes; /* asked for, alignment and merged gaps included; under mmap, read by it */
};

/* All reads of this process so far, whoever made them: to be taken while nobody else reads. */
static inline struct og_io_counts og__io_made(void)
{
    struct og_io_counts made;
    og__reads_made(&made.reads, &made.bytes);
    return made;
}

/* To *sum what was read since `before`. */
static inline void og__io_add_since(struct og_io_counts *sum, struct og_io_counts before)
{
    const struct og_io_counts now = og__io_made();
    sum->reads += now.reads - before.reads;
    sum->bytes += now.bytes - before.bytes;
}

/* ---- reader: rows of a file, many at once ---- */

struct og_reader;

/* Rows that lie in memory in another form than in the file, element by element. */
struct og_recode {
    size_t from, to; /* bytes of an element in the file, and in memory; a row is whole elements */
    /* n elements at `in` to `out`, either at any byte. The position of the first that has no such
     * form, or -1. */
    int64_t (*fn)(const void *in, size_t n, void *out);
    const char *refusal, *hint; /* why it has none; a job with one fails with -ERANGE */
};

struct og_reader_options {
    int io;             /* enum og_io_kind; AUTO = uring, else pread */
    int threads;        /* of pread and mmap; 0 = what suits the engine and the profile */
    int depth;          /* requests in flight; 0 = profile's */
    size_t max_request; /* none is larger; longer rows are read in pieces; 0 = 256 KiB */
    struct og_disk_profile profile;
    const struct og_recode *recode; /* NULL: rows arrive as they are in the file */
    const struct og_log *log;       /* fallbacks are said here; may be NULL */
};

/* Rows of one array, each of row_bytes at any alignment. rows[n] ascending and distinct; row
 * rows[i] arrives at out + i * row_bytes, or as many bytes as a row has once it is recoded. All of
 * it must stay until og__reader_wait returns. */
struct og_read_job {
    const uint32_t *rows;
    size_t n;
    char *out;
    /* filled by the reader */
    struct og_io_counts counts;
    size_t next;      /* first row not yet submitted */
    size_t in_flight; /* requests */
    int failed;       /* first error */
    size_t skip;      /* bytes of row `next` that have been asked for: long rows go in pieces */
    struct og_read_job *later; /* queue of jobs with rows to submit */
};

/* Equal rows in one file or in parts of it (stripes.h), which begin at the same byte of each. */
struct og_row_files {
    const char *const *paths; // [OG_MAX(stripes.parts, 1)]
    struct og_stripes stripes;
    uint64_t offset; /* of row 0 of each */
    size_t row_bytes;
    uint64_t n_rows; /* of all */
};

/* Opens these files (direct where the file system lets us, said in the log where not). Buffers come
 * from the budget as "read buffers"; a refusal of RLIMIT_MEMLOCK or of io_uring falls back and is
 * said, never an error. Owner thread only. */
OG_MUST_CHECK int og__reader_open_parts(struct og_reader **out, const struct og_row_files *rows,
                                        const struct og_reader_options *opt, struct og_budget *b,
                                        struct og_err *err);
/* The same of one file, `path`: rows of row_bytes from byte `offset`, n_rows of them. */
OG_MUST_CHECK int og__reader_open(struct og_reader **out, const char *path, uint64_t offset,
                                  size_t row_bytes, uint64_t n_rows,
                                  const struct og_reader_options *opt, struct og_budget *b,
                                  struct og_err *err);
/* Jobs that nobody waited for are awaited now. By the thread that submitted them: another cannot,
 * and that thread should not end before they have. */
void og__reader_close(struct og_reader *r);
const char *og__reader_engine(const struct og_reader *r);     /* "uring"; what it fell back to */
size_t og__reader_bytes(const struct og_reader_options *opt); /* what open takes of the budget */
size_t og__reader_beside_bytes(const struct og_reader_options *opt); /* and what it does not */
int og__reader_descriptors(const struct og_reader_options *opt);     /* beside one for each file */
int og__reader_threads(const struct og_reader_options *opt); /* with an engine that has threads */

/* Queue a job and start as many of its requests as the depth allows. Jobs queued later keep the
 * ring full while an earlier one drains. Does not wait. */
OG_MUST_CHECK int og__reader_submit(struct og_reader *r, struct og_read_job *job,
                                    struct og_err *err);
/* Until this job is complete. -EIO with file and offset when a read failed or ended early. After a
 * failure every queued job is drained before it returns, so buffers may be freed. */
OG_MUST_CHECK int og__reader_wait(struct og_reader *r, struct og_read_job *job, struct og_err *err);

/* What such a job would ask of the kernel, without asking: the same merging, no I/O. Under mmap the
 * kernel's own cache decides; what is said then is what a cold one would read. */
struct og_io_counts og__reader_predict(const struct og_reader *r, const uint32_t *rows, size_t n);

/* ---- how rows become requests ---- */

/* All that the merging of a reader depends on: enough to predict without a file. */
struct og_read_rule {
    uint64_t offset; /* byte of row 0 */
    size_t row_bytes;
    size_t align;              /* requests begin and end on such blocks, a power of two */
    size_t gap;                /* bytes between two rows below which they are one request */
    size_t max_request;        /* bytes */
    size_t element;            /* a row is cut between elements of so many bytes; 0 = anywhere */
    bool never_merges_gaps;    /* only what touches is one request */
    bool by_page;              /* the kernel pages: each page of a row is a read */
    struct og_stripes stripes; /* offset is that of each part; no request is of two units */
};

/* Of a reader with these options on a file of such blocks, for engines that read what is asked. */
struct og_read_rule og__read_rule_standard(uint64_t offset, size_t row_bytes, size_t align,
                                           const struct og_reader_options *opt);
struct og_read_rule og__reader_rule(const struct og_reader *r);
struct og_io_counts og__read_rule_predict(const struct og_read_rule *r, const uint32_t *rows,
                                          size_t n);

/* The same of so many rows that lie anywhere among `all`, one as likely as another: on average. */
struct og_io_expected {
    double reads, bytes;
};
struct og_io_expected og__read_rule_expect(const struct og_read_rule *r, double rows, double all);

#endif
