/* io reads rows of files. It knows files, offsets and engines, but no graphs and no policies.
 *
 *      sorted row ids ──> merge near ones ──> requests ──> engine ──> bounce ──> out
 *                         (profile: gap)      depth kept   uring      buffers
 *                                             topped up    pread
 *                                                          mmap
 *
 * Three layers: files opened for direct reads (file.c), engines in one table (engine.h), and the
 * reader. The engines are uring.c, pread.c and mmap.c. The reader merges rows (read_rule.c) and
 * scatters the data (reader.c). A disk is measured once; its profile is stored (profile.c). */
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

/* The model  seconds = requests / iops + bytes / bandwidth  is accurate enough to plan with. */
struct og_disk_profile {
    double iops;       /* small random reads per second at the best depth */
    double bandwidth;  /* bytes per second, large sequential reads at the best depth */
    double fresh;      /* the same for recently written data, which hosts cache */
    double write;      /* bytes per second, large sequential direct writes */
    int depth;         /* the best for small reads */
    int fault_threads; /* page faults: the best number of threads */
    double others;     /* share of other programs in the disk's bytes while it was measured */
    bool measured;     /* false: built-in values of a common NVMe disk */
    int disks;         /* disks in parallel, which all values cover together; 0 = one */
};

/* Parses a profile. False: damaged or implausible. For fuzzing too. */
bool og__profile_parse(const char *text, size_t len, struct og_disk_profile *out);
/* Loads the profile stored for the device of `path`, or the built-in one. Never fails. */
void og__profile_load(const char *path, struct og_disk_profile *out);
/* Loads the profile of n paths that are read in parallel, in equal shares. The disk with the
 * slowest share determines it, as all wait for that one. Paths on the same disk share its rates. */
void og__profile_load_all(const char *const *paths, int n, struct og_disk_profile *out);
/* Are both paths on the same disk, partitions included? Unknown counts as yes. */
bool og__same_disk(const char *a, const char *b);
/* Bytes that the disk of `path` has read and written since the system started, for all programs.
 * False: the kernel does not count it, as for network file systems. */
bool og__disk_traffic(const char *path, uint64_t *bytes);
/* From this share of other programs on, a profile is doubtful. */
#define OG__DISK_BUSY 0.05
/* Stores the profile of the device of `path`, as JSON under $XDG_CACHE_HOME/outgrow (or
 * ~/.cache/outgrow). Returns the file's name in *file (malloc'ed), which may be NULL. */
OG_MUST_CHECK int og__profile_save(const char *path, const struct og_disk_profile *p, char **file,
                                   struct og_err *err);

/* Gap in bytes below which reading on is cheaper than a second request. */
static inline size_t og__profile_gap(const struct og_disk_profile *p)
{
    return (size_t)(p->bandwidth / p->iops);
}

/* ---- counters ---- */

struct og_io_counts {
    uint64_t reads; /* requests to the kernel; with mmap, pages it read */
    uint64_t bytes; /* bytes requested, alignment and merged gaps included; with mmap, bytes read */
};
static inline void og__add_io(struct og_io_counts *sum, struct og_io_counts more)
{
    sum->reads += more.reads;
    sum->bytes += more.bytes;
}

/* All reads of this process so far. Exact only while no other thread reads. */
static inline struct og_io_counts og__io_made(void)
{
    struct og_io_counts made;
    og__reads_made(&made.reads, &made.bytes);
    return made;
}

/* Adds the reads since `before` to *sum. */
static inline void og__io_add_since(struct og_io_counts *sum, struct og_io_counts before)
{
    const struct og_io_counts now = og__io_made();
    sum->reads += now.reads - before.reads;
    sum->bytes += now.bytes - before.bytes;
}

/* ---- reader: rows of a file, many at once ---- */

struct og_reader;

/* Converts rows from the file's element type to another one in memory. */
struct og_recode {
    size_t from, to; /* bytes of an element in the file, and in memory; rows are whole elements */
    /* Converts n elements from `in` to `out`, at any alignment. Returns the position of the first
     * element without a conversion, or -1. */
    int64_t (*fn)(const void *in, size_t n, void *out);
    /* Or, with the number of elements of a row in `columns`: the same with a scale per element. */
    int64_t (*scaled)(const void *in, const float *scale, size_t n, void *out);
    const float *scale; /* [columns] outlives the reader */
    size_t columns;
    const char *refusal, *hint; /* why an element has none; its job fails with -ERANGE */
};

struct og_reader_options {
    int io;             /* enum og_io_kind; AUTO = uring, else pread */
    int threads;        /* for pread and mmap; 0 = what suits the engine and the profile */
    int depth;          /* requests in flight; 0 = profile's */
    size_t max_request; /* bytes; longer rows are read in pieces; 0 = 256 KiB */
    struct og_disk_profile profile;
    bool through_page_cache;        /* no direct reads: the file is being written */
    const struct og_recode *recode; /* NULL: rows arrive unconverted; copied */
    const struct og_log *log;       /* log of fallbacks; may be NULL */
};

/* A request for rows of one array, each of row_bytes at any alignment. rows[n]: ascending and
 * distinct. Row rows[i] arrives at out + i * row_bytes, or i * its converted size. All memory must
 * stay valid until og__reader_wait returns. */
struct og_read_job {
    const uint32_t *rows;
    size_t n;
    char *out;
    /* filled by the reader */
    struct og_io_counts counts;
    size_t next;               /* first row not yet submitted */
    size_t in_flight;          /* requests */
    int failed;                /* first error */
    size_t skip;               /* bytes of row `next` already requested: long rows go in pieces */
    struct og_read_job *later; /* queue of jobs with rows to submit */
};

/* An array of rows in one file, or in parts of it (stripes.h). All parts begin at the same byte. */
struct og_row_files {
    const char *const *paths; // [OG_MAX(stripes.parts, 1)]
    struct og_stripes stripes;
    uint64_t offset; /* of row 0 of each */
    size_t row_bytes;
    uint64_t n_rows; /* of all */
    uint64_t bytes;  /* of them, if the last is cut short; its rest arrives as zeros. 0: whole */
};

/* Opens these files, with direct reads where the file system allows; otherwise logs that. Buffers
 * come from the budget as "read buffers". If RLIMIT_MEMLOCK or io_uring refuses, it falls back and
 * logs it. Owner thread only. */
OG_MUST_CHECK int og__reader_open_parts(struct og_reader **out, const struct og_row_files *rows,
                                        const struct og_reader_options *opt, struct og_budget *b,
                                        struct og_err *err);
/* As og__reader_open_parts, for one file `path`: n_rows rows of row_bytes from byte `offset`. */
OG_MUST_CHECK int og__reader_open(struct og_reader **out, const char *path, uint64_t offset,
                                  size_t row_bytes, uint64_t n_rows,
                                  const struct og_reader_options *opt, struct og_budget *b,
                                  struct og_err *err);
/* Waits for unfinished jobs, then closes. Call it on the thread that submitted them, which must not
 * end earlier. */
void og__reader_close(struct og_reader *r);
const char *og__reader_engine(const struct og_reader *r);     /* "uring", or the fallback */
size_t og__reader_bytes(const struct og_reader_options *opt); /* open's charge to the budget */
size_t og__reader_extra_bytes(const struct og_reader_options *opt); /* and its other memory */
int og__reader_descriptors(const struct og_reader_options *opt);    /* in addition to one a file */
bool og__io_uses_page_cache(int kind); /* its pages are the kernel's to drop */
int og__reader_threads(const struct og_reader_options *opt); /* if the engine uses threads */

/* Queues a job and starts as many requests as the depth allows. Later jobs keep the ring full while
 * an earlier one drains. Does not wait. */
OG_MUST_CHECK int og__reader_submit(struct og_reader *r, struct og_read_job *job,
                                    struct og_err *err);
/* Waits for this job. -EIO with file and offset if a read failed or ended early. After a failure it
 * first drains every queued job, so buffers may be freed. */
OG_MUST_CHECK int og__reader_wait(struct og_reader *r, struct og_read_job *job, struct og_err *err);

/* Predicts the requests of such a job: the same merging, no I/O. With mmap, the page cache decides
 * the real reads; the prediction is for a cold one. */
struct og_io_counts og__reader_predict(const struct og_reader *r, const uint32_t *rows, size_t n);

/* ---- how rows become requests ---- */

/* The parameters of request merging: enough to predict reads without a file. */
struct og_read_rule {
    uint64_t offset; /* byte of row 0 */
    size_t row_bytes;
    size_t align;              /* requests begin and end on such blocks; a power of two */
    size_t gap;                /* bytes between two rows below which they are one request */
    size_t max_request;        /* bytes */
    size_t element;            /* rows are cut between elements of so many bytes; 0 = anywhere */
    bool never_merges_gaps;    /* merges adjacent rows only */
    bool by_page;              /* the kernel reads each page of a row */
    struct og_stripes stripes; /* offset is that of each part; a request stays within a unit */
};

/* The rule of a reader with these options and this block size, for engines that read exact
 * ranges. */
struct og_read_rule og__read_rule_standard(uint64_t offset, size_t row_bytes, size_t align,
                                           const struct og_reader_options *opt);
struct og_read_rule og__reader_rule(const struct og_reader *r);
struct og_io_counts og__read_rule_predict(const struct og_read_rule *r, const uint32_t *rows,
                                          size_t n);

/* Expected counts for `rows` rows drawn uniformly from `all`. */
struct og_io_expected {
    double reads, bytes;
};
struct og_io_expected og__read_rule_expect(const struct og_read_rule *r, double rows, double all);

#endif
