/* The reader: reads many rows of a file at once.
 *
 *   row ids       3  5    40 41 42 43            900
 *                 │  │     └──┴──┴──┘             │
 *   requests     [====]   [==========]          [==]      near ones merged, extended to blocks
 *                   │          │                  │
 *   slab         |##|#########|__________|##|___________|  slab.h
 *                   │          │                  │
 *   out          row by row, in the caller's memory
 *
 * Requests of all sizes share one slab: many small ones, or a few large ones. (Separate classes of
 * small and large buffers are simpler. But merged requests, usually of 10 to 50 KiB, then take
 * large buffers, and the depth falls to their number.)
 *
 * Rows may be in several files, one a disk (stripes.h). One engine reads them all, so a wait
 * returns when any disk completes. With one ring a disk, waits would alternate and finished disks
 * stand idle. Requests go out in row order, so each disk has its share in flight and all finish
 * together.
 *
 * A large request reads straight into `out` if its rows have the same layout there. Alignment must
 * allow it as well. With a conversion, every request goes through the slab.
 *
 * Memory: the slab from the budget as "read buffers"; one allocation of `depth` requests at open;
 * none later. */
#include "io/engine.h"
#include "io/slab.h"
#include "io/span.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 4096,
    LARGE_IN_SLAB = 16,    /* largest requests that fit the slab at the same time */
    SMALL_IN_SLAB = 8192,  /* bytes a request of the full depth has at least */
    DIRECT_AT = 16 * 1024, /* below, a registered buffer and a copy cost less */
    WAKE_SHARE = 8,        /* an eighth of what is in flight completes per system call */
    PREAD_THREADS = 32,
};

/* A request and its purpose. */
struct slot {
    struct og_io_request request; /* first member: the engine returns its address */
    struct og_read_job *job;
    struct og_span span; /* of the job's rows */
    bool bounces;        /* through the slab; else straight to out */
    struct slot *next_free;
};

struct og_reader {
    /* set at open, then constant */
    struct og_io_file *files; // [n_files]
    int n_files;
    const struct og_io_ops *ops;
    struct og_io_engine *engine;
    struct og_read_rule rule;
    const struct og_recode *recode; /* NULL: rows arrive as they are in the file; else: */
    struct og_recode own;
    uint64_t n_rows;
    uint64_t end; /* byte of the file where the only part's rows end; UINT64_MAX: all are whole */
    int depth;
    bool drops; /* pages of files without direct reads, once they were read */
    /* owner thread only */
    struct og_slab slab;
    struct slot *slots;                    // [depth]
    struct slot *free_slot;                // list
    struct slot *planned;                  // waits for slab units
    struct og_io_request **batch;          // [depth]
    struct og_read_job *queue, *queue_end; // jobs with rows to submit
    size_t in_flight;
    struct og_io_counts counted; // kernel's counts already given to jobs
    struct og_err failure;       // the first since the reader last stood idle
};

/* ---- sizes ---- */

static int depth_of(const struct og_reader_options *opt)
{
    int wish = opt->depth > 0 ? opt->depth : opt->profile.depth;
    return OG_MAX(OG_MIN(wish, MOST_DEPTH), 1);
}

/* Disks that have something to do at the same time. */
static int disks_of(const struct og_reader_options *opt)
{
    return OG_MAX(opt->profile.disks, 1);
}

static size_t slab_bytes(const struct og_reader_options *opt)
{
    size_t depth = (size_t)depth_of(opt);
    size_t at_once = (size_t)LARGE_IN_SLAB * (size_t)disks_of(opt);
    size_t large = og__read_request_limit(opt) * OG_MIN(depth, at_once);
    return OG_MAX(large, depth * SMALL_IN_SLAB);
}

size_t og__reader_bytes(const struct og_reader_options *opt)
{
    return og__slab_bytes(slab_bytes(opt));
}

#define POINTER(NAME, name) [OG_IO_##NAME] = &og__io_##name,

/* The engine of this kind; auto: the first. */
static const struct og_io_ops *engine_of(int kind)
{
    static const struct og_io_ops *const engines[] = {OG__IO_ENGINES(POINTER)};
    return engines[kind == OG_IO_AUTO ? 0 : kind];
}

bool og__io_uses_page_cache(int kind)
{
    return engine_of(kind)->uses_page_cache;
}

static int threads_of(const struct og_io_ops *ops, const struct og_reader_options *opt)
{
    if (opt->threads > 0)
        return opt->threads;
    int suits = ops->uses_page_cache ? opt->profile.fault_threads
                                     : OG_MIN(depth_of(opt), PREAD_THREADS * disks_of(opt));
    return OG_MAX(suits, 1);
}

int og__reader_threads(const struct og_reader_options *opt)
{
    return threads_of(engine_of(opt->io), opt);
}

/* Requests, the slab's units, and the pages of a ring. For a fallback engine, the touched part of
 * its threads' stacks. */
size_t og__reader_extra_bytes(const struct og_reader_options *opt)
{
    enum { OF_RING = 12 * 1024, OF_ENTRY = 96, OF_THREAD = 32 * 1024 };
    const size_t depth = (size_t)depth_of(opt);
    const size_t ring = OF_RING + depth * OF_ENTRY;
    const size_t threads = (size_t)og__reader_threads(opt) * OF_THREAD;
    return sizeof(struct og_reader) + sizeof(struct og_io_file) +
           depth * (sizeof(struct slot) + sizeof(struct og_io_request *)) +
           slab_bytes(opt) / OG_SLAB_UNIT + OG_MAX(ring, threads);
}

int og__reader_descriptors(const struct og_reader_options *opt)
{
    return engine_of(opt->io)->descriptors;
}

/* ---- from rows to requests ---- */

/* Bytes in memory of `bytes` bytes of rows in the file. */
static size_t arriving(const struct og_reader *r, uint64_t bytes)
{
    return r->recode ? bytes / r->recode->from * r->recode->to : bytes;
}

static char *place_in_out(const struct og_reader *r, const struct slot *s)
{
    const struct og_span *span = &s->span;
    uint64_t into_row = span->start - og__span_row(&r->rule, span, span->first);
    return s->job->out + arriving(r, span->first * r->rule.row_bytes + into_row);
}

/* Allocates the destination: `out` itself, or units of the slab. False if none are free. */
static bool find_room(struct og_reader *r, struct slot *s)
{
    char *out = place_in_out(r, s);
    const struct og_span *span = &s->span;
    bool exact = span->from == span->start && span->length == span->end - span->start;
    const struct og_io_file *file = &r->files[span->unit.part];
    bool aligned = (uintptr_t)out % file->align_memory == 0;
    bool worth = span->length >= DIRECT_AT || !file->direct;
    s->request.file = file;
    s->request.offset = span->from;
    s->request.length = span->length;
    s->bounces = r->recode || !(span->dense && exact && aligned && worth);
    s->request.data = s->bounces ? og__slab_take(&r->slab, s->request.length) : out;
    return s->request.data != NULL;
}

/* The next request that can start now, or NULL: nothing left, depth reached, or slab full. */
static struct slot *next_request(struct og_reader *r)
{
    struct og_read_job *job = r->queue;
    if (!r->planned) {
        if (!job || !r->free_slot)
            return NULL;
        r->planned = r->free_slot;
        r->free_slot = r->planned->next_free;
        og__span_next(&r->rule, job, &r->planned->span);
        r->planned->job = job;
        job->in_flight++;
        if (job->next == job->n)
            r->queue = job->later;
    }
    if (!find_room(r, r->planned))
        return NULL;
    struct slot *s = r->planned;
    r->planned = NULL;
    s->request.done = s->request.tries = 0;
    return s;
}

/* The slot, its units and its place in the job's count are free again. */
static void give_back(struct og_reader *r, struct slot *s)
{
    if (s->bounces && s->request.data)
        og__slab_give(&r->slab, s->request.data, s->request.length);
    s->job->in_flight--;
    s->next_free = r->free_slot;
    r->free_slot = s;
}

static int top_up(struct og_reader *r, struct og_err *err)
{
    size_t n = 0;
    uint64_t bytes = 0;
    for (struct slot *s; (s = next_request(r)) != NULL; n++)
        r->batch[n] = &s->request;
    if (n == 0)
        return 0;
    int rc = r->ops->submit(r->engine, r->batch, n, err);
    for (size_t i = 0; i < n; i++) {
        struct slot *s = (struct slot *)r->batch[i];
        if (rc < 0) {
            s->job->failed = rc;
            give_back(r, s);
        } else {
            s->job->counts.reads++;
            s->job->counts.bytes += s->request.length;
            bytes += s->request.length;
            r->in_flight++;
        }
    }
    if (rc >= 0 && !r->ops->kernel_counts)
        og__count_reads(n, bytes);
    return rc;
}

/* ---- from requests to rows ---- */

static int fail_request(struct og_reader *r, const struct slot *s, int code, const char *why,
                        uint64_t at)
{
    struct og_read_job *job = s->job;
    og__fail(&r->failure, code,
             why ? "the file was cut short: make it again"
                 : "the disk may be failing: see the kernel's log (dmesg)",
             "%s: %s at byte %llu", s->request.file->path, why ? why : strerrordesc_np(-code),
             (unsigned long long)at);
    if (job->failed == 0)
        job->failed = code;
    return code;
}

static int refuse_element(struct og_reader *r, const struct slot *s, uint64_t at)
{
    struct og_read_job *job = s->job;
    uint64_t into_unit =
        (at - og__read_rule_row(&r->rule, &s->span.unit, s->span.unit.first)) / r->rule.row_bytes;
    og__fail(&r->failure, -ERANGE, r->recode->hint, "%s: a number of row %llu is %s (at byte %llu)",
             s->request.file->path, (unsigned long long)(s->span.unit.first + into_unit),
             r->recode->refusal, (unsigned long long)at);
    if (job->failed == 0)
        job->failed = -ERANGE;
    return -ERANGE;
}

/* Converts row by row, or from within a row to within another. */
static int64_t recode_scaled(const struct og_recode *how, size_t column, const char *in, size_t n,
                             char *out)
{
    for (size_t i = 0; i < n;) {
        const size_t many = OG_MIN(n - i, how->columns - column);
        const int64_t refused =
            how->scaled(in + i * how->from, how->scale + column, many, out + i * how->to);
        if (refused >= 0)
            return (int64_t)i + refused;
        i += many;
        column = 0;
    }
    return -1;
}

/* Converts the n elements at byte `from` of the file. */
static int64_t recode(const struct og_reader *r, const struct slot *s, uint64_t from,
                      const char *in, size_t n, char *out)
{
    const struct og_recode *how = r->recode;
    if (!how->scaled)
        return how->fn(in, n, out);
    const struct og_unit *unit = &s->span.unit;
    const uint64_t into = from - og__read_rule_row(&r->rule, unit, unit->first);
    return recode_scaled(how, into % r->rule.row_bytes / how->from, in, n, out);
}

/* The bytes [from, to) of the file, which the request brought, to out. */
static int deliver(struct og_reader *r, const struct slot *s, uint64_t from, uint64_t to, char *out)
{
    const char *data = (const char *)s->request.data + (from - s->request.offset);
    const uint64_t end = OG_MAX(OG_MIN(to, r->end), from);
    memset(out + arriving(r, end - from), 0, arriving(r, to - end));
    to = end;
    if (!r->recode) {
        memcpy(out, data, to - from);
        return 0;
    }
    const size_t size = r->recode->from;
    int64_t refused = recode(r, s, from, data, (to - from) / size, out);
    return refused < 0 ? 0 : refuse_element(r, s, from + (uint64_t)refused * size);
}

/* Copies the requested bytes to their rows; adjacent rows in one copy. */
static int scatter(struct og_reader *r, const struct slot *s)
{
    const struct og_span *span = &s->span;
    const uint32_t *rows = span->rows;
    char *out = place_in_out(r, s);
    uint64_t from = span->start;
    if (span->dense)
        return deliver(r, s, from, span->end, out);
    for (size_t i = span->first; i <= span->last;) {
        size_t next = i + 1;
        while (next <= span->last && rows[next] == rows[next - 1] + 1)
            next++;
        uint64_t to = next > span->last
                          ? span->end
                          : og__span_row(&r->rule, span, next - 1) + r->rule.row_bytes;
        OG_DO(deliver(r, s, from, to, out));
        out += arriving(r, to - from);
        if (next <= span->last)
            from = og__span_row(&r->rule, span, next);
        i = next;
    }
    return 0;
}

/* Zeros for what the file does not have, in a request straight into rows. */
static void clear_rest(const struct og_reader *r, const struct slot *s)
{
    const uint64_t from = OG_MAX(s->span.start, r->end);
    memset((char *)s->request.data + (from - s->request.offset), 0, s->span.end - from);
}

/* Takes a finished request apart. Returns its failure, if it has one. */
static int finish(struct og_reader *r, struct slot *s)
{
    const struct og_io_request *q = &s->request;
    int rc = 0;
    if (q->result < 0)
        rc = fail_request(r, s, q->result, NULL, q->offset + q->done);
    else if (q->offset + (uint32_t)q->result < OG_MIN(s->span.end, r->end))
        rc = fail_request(r, s, -EIO, "the file ends early", q->offset + (uint32_t)q->result);
    else if (s->bounces)
        rc = scatter(r, s);
    else if (s->span.end > r->end)
        clear_rest(r, s);
    if (r->drops && !q->file->direct)
        og__io_file_drop(q->file, q->offset, q->length);
    r->in_flight--;
    give_back(r, s);
    return rc;
}

/* Wait for at least `min` requests and take apart all that have finished. */
static int collect(struct og_reader *r, size_t min, struct og_err *err)
{
    int n = r->ops->reap(r->engine, r->batch, min, (size_t)r->depth, err);
    int rc = OG_MIN(n, 0);
    for (int i = 0; i < n; i++) {
        int failed = finish(r, (struct slot *)r->batch[i]);
        rc = rc < 0 ? rc : failed;
    }
    return rc;
}

/* ---- failing ---- */

static void cancel(struct og_read_job *job, int code)
{
    job->failed = job->failed ? job->failed : code;
    job->next = job->n;
}

/* After a failure: submits nothing more, and waits for requests in flight. They write to memory
 * that the caller will free. An engine that cannot wait is closed. */
static void drain_all(struct og_reader *r, int code)
{
    for (struct og_read_job *job = r->queue; job; job = job->later)
        cancel(job, code);
    r->queue = NULL;
    if (r->planned) {
        cancel(r->planned->job, code);
        give_back(r, r->planned);
        r->planned = NULL;
    }
    while (r->in_flight > 0 && r->engine) {
        size_t before = r->in_flight;
        int rc = collect(r, 1, NULL);
        if (rc < 0 && r->in_flight == before) {
            r->ops->close(r->engine);
            r->engine = NULL;
        }
    }
}

/* Handles a failed read, or engine (`why`): every job in progress reports the failure. */
static void break_off(struct og_reader *r, int code, const struct og_err *why)
{
    if (why->code && !r->failure.code)
        r->failure = *why;
    drain_all(r, code);
}

static int tell_failure(const struct og_reader *r, int code, struct og_err *err)
{
    const struct og_err *why = &r->failure;
    return og__fail(err, code, why->hint, "%s", why->code ? why->message : "reading was stopped");
}

/* ---- jobs ---- */

int og__reader_submit(struct og_reader *r, struct og_read_job *job, struct og_err *err)
{
    struct og_err why = {0};
    job->counts = (struct og_io_counts){0};
    job->next = job->in_flight = job->skip = 0;
    job->failed = 0;
    job->later = NULL;
    if (!r->engine)
        return tell_failure(r, -EIO, err);
    if (job->n > 0 && job->rows[job->n - 1] >= r->n_rows) {
        cancel(job, -EINVAL); /* there is nothing to wait for */
        return og__fail(err, -EINVAL, NULL, "%s: row %u of %llu", r->files[0].path,
                        job->rows[job->n - 1], (unsigned long long)r->n_rows);
    }
    if (job->n == 0)
        return 0;
    if (r->in_flight == 0)
        r->failure = (struct og_err){0};
    if (r->queue)
        r->queue_end->later = job;
    else
        r->queue = job;
    r->queue_end = job;
    int rc;
    OG_TRY(top_up(r, &why));
    OG_TRY(collect(r, 0, &why));
out:
    if (rc < 0) {
        break_off(r, rc, &why);
        return tell_failure(r, rc, err);
    }
    return 0;
}

static bool complete(const struct og_read_job *job)
{
    return job->next == job->n && job->in_flight == 0;
}

/* Under mmap the kernel alone knows what was read. What came since the last job ended is this
 * one's. Jobs that overlap share a little, their sum is exact. */
static void take_kernel_counts(struct og_reader *r, struct og_read_job *job)
{
    struct og_io_counts now;
    if (!r->ops->kernel_counts || job->n == 0 || !r->ops->kernel_counts(r->engine, &now))
        return;
    job->counts.reads = now.reads - r->counted.reads;
    job->counts.bytes = now.bytes - r->counted.bytes;
    og__count_reads(job->counts.reads, job->counts.bytes);
    r->counted = now;
}

/* While much is in flight, wait for a share of it: one system call for many reads. The rest stays
 * in flight meanwhile, and is topped up before the next wait. */
static int pump(struct og_reader *r, const struct og_read_job *job, struct og_err *err)
{
    size_t share = OG_MIN(r->in_flight, OG_MAX(r->in_flight / WAKE_SHARE, 1));
    size_t own = OG_MAX(job->in_flight, 1);
    int rc = collect(r, OG_MIN(share, own), err);
    return rc < 0 ? rc : top_up(r, err);
}

int og__reader_wait(struct og_reader *r, struct og_read_job *job, struct og_err *err)
{
    struct og_err why = {0};
    while (job->failed == 0 && !complete(job)) {
        int rc = r->engine ? pump(r, job, &why) : -EIO;
        if (rc < 0)
            break_off(r, rc, &why);
        if (!r->engine)
            cancel(job, rc);
    }
    if (job->failed)
        return tell_failure(r, job->failed, err);
    take_kernel_counts(r, job);
    return 0;
}

/* ---- open and close ---- */

/* Does the file have this many rows, or as many bytes of them? */
static int check_rows(const struct og_read_rule *rule, const struct og_io_file *file, uint64_t rows,
                      uint64_t end, struct og_err *err)
{
    uint64_t bytes;
    if (rule->row_bytes == 0 || __builtin_mul_overflow(rows, rule->row_bytes, &bytes) ||
        __builtin_add_overflow(bytes, rule->offset, &bytes))
        return og__fail(err, -EINVAL, NULL, "%s: %llu rows of %zu bytes", file->path,
                        (unsigned long long)rows, rule->row_bytes);
    bytes = OG_MIN(bytes, end);
    if (bytes > file->size)
        return og__fail(err, -EIO, "the file was cut short: make it again",
                        "%s: the file ends early: %llu bytes, %llu rows of %zu from byte %llu "
                        "need %llu",
                        file->path, (unsigned long long)file->size, (unsigned long long)rows,
                        rule->row_bytes, (unsigned long long)rule->offset,
                        (unsigned long long)bytes);
    return 0;
}

/* Opens all parts; finds blocks that suit every one of them. */
static int open_files(struct og_reader *r, const struct og_row_files *rows,
                      const struct og_reader_options *opt, struct og_err *err)
{
    const int n = (int)OG_MAX(rows->stripes.parts, 1u);
    size_t align = 1;
    assert(n <= OG_MOST_PARTS && (n == 1 || rows->stripes.unit > 0));
    r->files = calloc((size_t)n, sizeof(*r->files));
    if (!r->files)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", rows->paths[0]);
    for (; r->n_files < n; r->n_files++) {
        struct og_io_file *f = &r->files[r->n_files];
        OG_DO(og__io_file_open(f, rows->paths[r->n_files],
                               r->ops->wants_direct && !opt->through_page_cache, opt->log, err));
        align = OG_MAX(align, f->align_offset);
    }
    r->drops = r->ops->wants_direct && !opt->through_page_cache;
    r->rule = og__read_rule_standard(rows->offset, rows->row_bytes, align, opt);
    r->rule.stripes = rows->stripes;
    for (int p = 0; p < n; p++)
        OG_DO(check_rows(&r->rule, &r->files[p],
                         og__part_rows(&rows->stripes, (uint32_t)p, rows->n_rows), r->end, err));
    return 0;
}

static int take_memory(struct og_reader *r, size_t slab, struct og_budget *b, struct og_err *err)
{
    OG_DO(og__slab_init(&r->slab, slab, b, err));
    r->slots = calloc((size_t)r->depth, sizeof(*r->slots));
    r->batch = calloc((size_t)r->depth, sizeof(*r->batch));
    if (!r->slots || !r->batch)
        return og__fail_errno(err, -ENOMEM, NULL, "%s: read requests", r->files[0].path);
    for (int i = 0; i < r->depth; i++) {
        r->slots[i].next_free = r->free_slot;
        r->free_slot = &r->slots[i];
    }
    return 0;
}

/* Opens ops' engine. If that fails and `fallback` is given, logs it and opens that one. */
static int open_engine(struct og_reader *r, const struct og_io_ops *fallback,
                       const struct og_reader_options *opt, struct og_err *err)
{
    struct og_err why = {0};
    struct og_io_setup setup = {
        .files = r->files,
        .n_files = r->n_files,
        .depth = r->depth,
        .threads = threads_of(r->ops, opt),
        .buffers = r->slab.base,
        .buffer_bytes = r->slab.n_units * OG_SLAB_UNIT,
        .log = opt->log,
    };
    int rc = r->ops->open(&r->engine, &setup, &why);
    if (rc >= 0)
        return rc;
    if (!fallback || fallback == r->ops)
        return og__fail(err, rc, why.hint, "%s", why.message);
    og__say(opt->log, OG__WARN, "%s; reading with %s", why.message, fallback->name);
    r->ops = fallback;
    setup.threads = threads_of(fallback, opt);
    return fallback->open(&r->engine, &setup, err);
}

static int open_on(struct og_reader **out, const struct og_io_ops *ops,
                   const struct og_io_ops *fallback, const struct og_row_files *rows,
                   const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    *out = NULL;
    struct og_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", rows->paths[0]);
    r->ops = ops;
    if (opt->recode) {
        r->own = *opt->recode;
        r->recode = &r->own;
    }
    r->n_rows = rows->n_rows;
    r->end = rows->bytes > 0 ? rows->offset + rows->bytes : UINT64_MAX;
    r->depth = depth_of(opt);
    assert(!r->recode || rows->row_bytes % r->recode->from == 0);
    OG_TRY(open_files(r, rows, opt, err));
    OG_TRY(take_memory(r, slab_bytes(opt), b, err));
    OG_TRY(open_engine(r, fallback, opt, err));
    r->rule.never_merges_gaps = r->ops->never_merges_gaps;
    r->rule.by_page = r->ops->kernel_counts != NULL;
    *out = r;
    return 0;
out:
    og__reader_close(r);
    return rc;
}

const struct og_io_ops *og__io_pick(int kind, const struct og_log *log)
{
    const struct og_io_ops *ops = engine_of(kind);
    const char *reason = "";
    while (!ops->available(&reason)) {
        og__say(log, OG__WARN, "I/O engine %s: %s; reading with %s", ops->name, reason,
                ops->instead->name);
        ops = ops->instead;
    }
    return ops;
}

int og__reader_open_parts(struct og_reader **out, const struct og_row_files *rows,
                          const struct og_reader_options *opt, struct og_budget *b,
                          struct og_err *err)
{
    const struct og_io_ops *ops = og__io_pick(opt->io, opt->log);
    return open_on(out, ops, ops->instead, rows, opt, b, err);
}

int og__reader_open_parts_on(struct og_reader **out, const struct og_io_ops *ops,
                             const struct og_row_files *rows, const struct og_reader_options *opt,
                             struct og_budget *b, struct og_err *err)
{
    return open_on(out, ops, NULL, rows, opt, b, err);
}

int og__reader_open(struct og_reader **out, const char *path, uint64_t offset, size_t row_bytes,
                    uint64_t n_rows, const struct og_reader_options *opt, struct og_budget *b,
                    struct og_err *err)
{
    const struct og_row_files rows = {
        .paths = &path, .offset = offset, .row_bytes = row_bytes, .n_rows = n_rows};
    return og__reader_open_parts(out, &rows, opt, b, err);
}

int og__reader_open_on(struct og_reader **out, const struct og_io_ops *ops, const char *path,
                       uint64_t offset, size_t row_bytes, uint64_t n_rows,
                       const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    const struct og_row_files rows = {
        .paths = &path, .offset = offset, .row_bytes = row_bytes, .n_rows = n_rows};
    return og__reader_open_parts_on(out, ops, &rows, opt, b, err);
}

void og__reader_close(struct og_reader *r)
{
    if (!r)
        return;
    if (r->engine)
        drain_all(r, -ECANCELED);
    if (r->engine)
        r->ops->close(r->engine);
    og__slab_release(&r->slab);
    free(r->slots);
    free(r->batch);
    for (int i = 0; i < r->n_files; i++)
        og__io_file_close(&r->files[i]);
    free(r->files);
    free(r);
}

const char *og__reader_engine(const struct og_reader *r)
{
    return r->ops->name;
}

struct og_io_counts og__reader_predict(const struct og_reader *r, const uint32_t *rows, size_t n)
{
    return og__read_rule_predict(&r->rule, rows, n);
}

struct og_read_rule og__reader_rule(const struct og_reader *r)
{
    return r->rule;
}
