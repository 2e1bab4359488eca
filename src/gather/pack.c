/* The format of packed files, and reading them.
 *
 *   chunk     | block | block | block | rows    |pad|
 *   out       | block | block | block | rows |            the last block through `tail`,
 *                                                         because out ends with the rows
 *
 * Whole blocks are read in parts. The CPU hashes a part in its cache while the disk reads the
 * next. */
#include "gather/pack.h"

#include "base/file.h"
#include "gather/shared.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char part[] = "packing";
static const char magic[8] = "OGPACK2\n";
static const char earlier[8] = "OGPACK1\n"; /* without checksums of chunks */
/* bytes of the head that its checksum covers, and with it */
enum { CHECKED = 48, HEAD = CHECKED + 8 };
/* Requests of the reader that form a part of a chunk. Parts do not add requests. */
enum { PART_REQUESTS = 8 };

struct chunk_read {
    struct og_read_job *parts; /* [n_parts] of up to part_blocks whole blocks */
    struct og_read_job rest;
    size_t n_parts;
    uint32_t *blocks; /* [longest chunk] numbers in the file */
    uint32_t last;    /* number of the block in part, if there is one */
    char *tail;       /* [OG__PACK_BLOCK] */
    char *out;
    size_t out_bytes;
    const struct og_pack_entry *entry;
};

struct og_pack {
    char *path;
    struct og_pack_head head;
    struct og_pack_entry *table; /* [n_batches] */
    size_t table_bytes;
    struct og_reader *reader;
    struct og_shared *shared; /* NULL: chunks have all rows */
    const char *hint;         /* hint if a chunk is damaged */
    uint64_t longest;         /* blocks */
    size_t part_blocks;
    struct og_budget *budget;
    int n_reads;
    struct chunk_read read[];
};

/* ---- format ---- */

/* Bytes of its blocks, with padding. */
static size_t table_bytes(const struct og_pack_head *h)
{
    return og__packing_data_start((uint32_t)h->n_batches) - OG__PACK_BLOCK;
}

static uint64_t check_of(const char *block, const struct og_pack_head *h,
                         const struct og_pack_entry *table)
{
    return XXH3_64bits_withSeed(table, table_bytes(h), XXH3_64bits(block, CHECKED));
}

static void put_head(const struct og_pack_head *h, char *block)
{
    const uint64_t row = og__pack_put_row(h->row_bytes, h->dtype);
    const uint64_t number[] = {h->dataset, row, h->n_batches, h->n_rows, h->file_bytes, h->check};
    memset(block, 0, OG__PACK_BLOCK);
    memcpy(block, magic, sizeof(magic));
    memcpy(block + sizeof(magic), number, sizeof(number));
}

void og__pack_format(struct og_pack_head *h, const struct og_pack_entry *table,
                     char block[OG__PACK_BLOCK])
{
    put_head(h, block);
    h->check = check_of(block, h, table);
    put_head(h, block);
}

static bool is_zero(const char *data, size_t bytes)
{
    char any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= data[i];
    return any == 0;
}

int og__pack_parse(struct og_pack_head *h, const void *data, size_t len, uint64_t file_bytes,
                   const char *name, struct og_err *err)
{
    uint64_t number[6];
    if (len >= OG__PACK_BLOCK && memcmp(data, earlier, sizeof(earlier)) == 0)
        return og__fail(err, -EINVAL, og__pack_remake_hint,
                        "%s: packed by an earlier version, without checksums of rows", name);
    if (len < OG__PACK_BLOCK || memcmp(data, magic, sizeof(magic)) != 0)
        return og__fail(err, -EINVAL, NULL, "%s: not a file of packed features", name);
    memcpy(number, (const char *)data + sizeof(magic), sizeof(number));
    *h = (struct og_pack_head){.dataset = number[0],
                               .n_batches = number[2],
                               .n_rows = number[3],
                               .file_bytes = number[4],
                               .check = number[5]};
    bool sound = og__pack_get_row(number[1], &h->row_bytes, &h->dtype) &&
                 is_zero((const char *)data + HEAD, OG__PACK_BLOCK - HEAD);
    if (h->file_bytes != file_bytes)
        return og__fail(err, -EINVAL, og__pack_remake_hint, "%s: %llu bytes, its header says %llu",
                        name, (unsigned long long)file_bytes, (unsigned long long)h->file_bytes);
    if (!sound || h->n_batches >= UINT32_MAX)
        return og__fail(err, -EINVAL, og__pack_remake_hint, "%s: the header is damaged", name);
    if (og__packing_data_start((uint32_t)h->n_batches) > file_bytes)
        return og__fail(err, -EINVAL, og__pack_remake_hint,
                        "%s: no room for a table of %llu batches", name,
                        (unsigned long long)h->n_batches);
    return 0;
}

int og__pack_check(const struct og_pack_head *h, const struct og_pack_entry *table,
                   const char *name, struct og_err *err)
{
    uint64_t at = og__packing_data_start((uint32_t)h->n_batches);
    uint64_t rows = 0;
    char block[OG__PACK_BLOCK];
    for (uint64_t b = 0; b < h->n_batches; b++) {
        uint64_t bytes;
        bool fits = !__builtin_mul_overflow(table[b].rows, h->row_bytes, &bytes) &&
                    bytes <= h->file_bytes - at && table[b].offset == at;
        uint64_t padded = fits ? og__round_up(bytes, OG__PACK_BLOCK) : 0;
        if (!fits || padded > h->file_bytes - at)
            return og__fail(err, -EINVAL, og__pack_remake_hint,
                            "%s: chunk %llu has a wrong position", name, (unsigned long long)b);
        at += padded;
        rows += table[b].rows;
    }
    put_head(h, block);
    if (at != h->file_bytes || rows != h->n_rows || h->check != check_of(block, h, table))
        return og__fail(err, -EINVAL, og__pack_remake_hint, "%s: the table of chunks is damaged",
                        name);
    return 0;
}

struct og_packed_lay og__pack_lay(uint32_t parts)
{
    return (struct og_packed_lay){.blocks = {parts, og__stripe_unit(OG__PACK_BLOCK)}};
}

/* ---- open and close ---- */

/* The file's parts, open while the table is read. */
struct open_parts {
    struct og_places at;
    int fd[OG_MOST_PARTS];
    uint64_t bytes; /* of all parts */
};

static int open_part(struct open_parts *f, uint32_t i, struct og_err *err)
{
    struct stat st;
    f->fd[i] = open(f->at.path[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd[i] < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot open", f->at.path[i]);
    if (fstat(f->fd[i], &st) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", f->at.path[i]);
    f->bytes += (uint64_t)st.st_size;
    return 0;
}

static int read_parts(const struct open_parts *f, char *out, size_t bytes, uint64_t at,
                      struct og_err *err)
{
    const struct og_packed_lay lay = og__pack_lay(f->at.n);
    for (size_t done = 0, n; done < bytes; done += n) {
        const struct og_packed_spot spot = og__packed_spot(&lay, at + done);
        n = (size_t)OG_MIN(bytes - done, spot.n);
        OG_DO(og__read_all(f->fd[spot.part], out + done, n, (off_t)spot.at, f->at.path[spot.part],
                           err));
    }
    return 0;
}

static int read_table(struct og_pack *p, const struct open_parts *f, const struct og_group *group,
                      struct og_err *err)
{
    char block[OG__PACK_BLOCK];
    size_t len = (size_t)OG_MIN(f->bytes, (uint64_t)sizeof(block));
    int rc;
    OG_TRY(read_parts(f, block, len, 0, err));
    OG_TRY(og__pack_parse(&p->head, block, len, f->bytes, p->path, err));
    rc = og__pack_suits(group, p->head.dataset, p->head.row_bytes, p->head.dtype, p->path, err);
    if (rc < 0)
        return rc;
    p->table_bytes = table_bytes(&p->head);
    p->table = og__alloc(p->budget, p->table_bytes, part, err);
    rc = p->table ? read_parts(f, (char *)p->table, p->table_bytes, OG__PACK_BLOCK, err) : -ENOMEM;
    return rc < 0 ? rc : og__pack_check(&p->head, p->table, p->path, err);
out:
    return rc;
}

static int open_table(struct og_pack *p, struct og_places at, const struct og_group *group,
                      struct og_err *err)
{
    struct open_parts f = {.at = at};
    uint32_t n = 0;
    int rc = 0;
    while (n < at.n)
        OG_TRY(open_part(&f, n++, err));
    OG_TRY(read_table(p, &f, group, err));
    for (uint64_t b = 0; b < p->head.n_batches; b++)
        p->longest = OG_MAX(p->longest, p->table[b].rows * p->head.row_bytes / OG__PACK_BLOCK);
out:
    while (n-- > 0)
        if (f.fd[n] >= 0)
            close(f.fd[n]);
    return rc;
}

static size_t parts_bytes(const struct og_pack *p)
{
    return (p->longest / p->part_blocks + 1) * sizeof(struct og_read_job);
}

static void release_read(const struct og_pack *p, struct chunk_read *read)
{
    og__release(p->budget, read->blocks, p->longest * sizeof(*read->blocks), part);
    og__release(p->budget, read->parts, parts_bytes(p), part);
    free(read->tail);
}

static int open_reads(struct og_pack *p, int n_reads, struct og_err *err)
{
    for (; p->n_reads < n_reads; p->n_reads++) {
        struct chunk_read *read = &p->read[p->n_reads];
        read->blocks = og__alloc(p->budget, p->longest * sizeof(*read->blocks), part, err);
        read->parts = read->blocks ? og__alloc(p->budget, parts_bytes(p), part, err) : NULL;
        read->tail = aligned_alloc(OG__PACK_BLOCK, OG__PACK_BLOCK);
        if (!read->tail)
            (void)!og__fail_errno(err, -ENOMEM, NULL, "%s", p->path);
        if (!read->tail || !read->parts) {
            release_read(p, read);
            return -ENOMEM;
        }
    }
    return 0;
}

int og__pack_open(struct og_pack **out, struct og_places at, const struct og_group *group,
                  int n_reads, const struct og_reader_options *opt, struct og_budget *b,
                  struct og_err *err)
{
    const char *path = at.path[0];
    int rc = 0;
    *out = NULL;
    struct og_pack *p = calloc(1, sizeof(*p) + (size_t)n_reads * sizeof(p->read[0]));
    if (!p || !(p->path = strdup(path))) {
        free(p);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    }
    p->budget = b;
    p->hint = og__pack_remake_hint;
    OG_TRY(open_table(p, at, group, err));
    uint64_t blocks = p->head.file_bytes / OG__PACK_BLOCK;
    if (blocks > UINT32_MAX) /* 16 TiB */
        OG_TRY(og__fail(err, -EFBIG, "pack fewer batches at a time", "%s: too large", path));
    const struct og_row_files files = {.paths = at.path,
                                       .stripes = og__pack_lay(at.n).blocks,
                                       .row_bytes = OG__PACK_BLOCK,
                                       .n_rows = blocks};
    OG_TRY(og__reader_open_parts(&p->reader, &files, opt, b, err));
    p->part_blocks = PART_REQUESTS * og__reader_rule(p->reader).max_request / OG__PACK_BLOCK;
    OG_TRY(open_reads(p, n_reads, err));
    *out = p;
    return 0;
out:
    og__pack_close(p);
    return rc;
}

void og__pack_close(struct og_pack *p)
{
    if (!p)
        return;
    og__shared_close(p->shared);
    og__reader_close(p->reader);
    for (int i = 0; i < p->n_reads; i++)
        release_read(p, &p->read[i]);
    og__release(p->budget, p->table, p->table_bytes, part);
    free(p->path);
    free(p);
}

int og__pack_add_shared(struct og_pack *p, struct og_places at, const struct og_group *group,
                        const struct og_reader_options *opt, struct og_err *err)
{
    struct og_shared *shared;
    int rc;
    OG_TRY(og__shared_open(&shared, at, group, p->n_reads, opt, p->budget, err));
    for (uint64_t b = 0; b < p->head.n_batches; b++) {
        const struct og_shared_entry *e = og__shared_entry(shared, b);
        if (!e || e->misses - e->shared != p->table[b].rows)
            OG_TRY(og__fail(err, -EINVAL, og__pack_remake_hint,
                            "%s: its rows are not those that %s misses", at.path[0], p->path));
    }
    p->shared = shared;
    return 0;
out:
    og__shared_close(shared);
    return rc;
}

void og__pack_is_own(struct og_pack *p)
{
    p->hint = og__pack_disk_hint;
}

uint32_t og__pack_batches(const struct og_pack *p)
{
    return (uint32_t)p->head.n_batches;
}

uint64_t og__pack_rows(const struct og_pack *p, uint32_t batch)
{
    return p->table[batch].rows;
}

int og__pack_holds(const struct og_pack *p, uint32_t batch, const uint32_t *rows, uint64_t n,
                   struct og_err *err)
{
    const bool there = batch < p->head.n_batches;
    const struct og_shared_entry *shared =
        there && p->shared ? og__shared_entry(p->shared, batch) : NULL;
    uint64_t held = shared ? shared->misses : there ? p->table[batch].rows : 0;
    uint64_t ids = shared ? shared->ids : there ? p->table[batch].ids : 0;
    if (there && held == n && ids == og__pack_hash_ids(rows, n))
        return 0;
    return og__fail(err, -EINVAL, og__pack_remake_hint,
                    "%s: chunk %u has other rows than batch %u misses", p->path, batch, batch);
}

/* ---- one chunk ---- */

static int submit_parts(struct og_pack *p, struct chunk_read *r, uint32_t n, struct og_err *err)
{
    r->n_parts = 0;
    for (size_t i = 0, k; i < n; i += k) {
        struct og_read_job *job = &r->parts[r->n_parts++];
        k = OG_MIN(n - i, p->part_blocks);
        *job =
            (struct og_read_job){.rows = r->blocks + i, .n = k, .out = r->out + i * OG__PACK_BLOCK};
        OG_DO(og__reader_submit(p->reader, job, err));
    }
    return 0;
}

static int begin(struct og_pack *p, int read, uint32_t batch, char *out, struct og_err *err)
{
    struct chunk_read *r = &p->read[read];
    r->n_parts = 0;
    r->rest = (struct og_read_job){0};
    if (p->shared) {
        OG_DO(og__shared_begin(p->shared, read, batch, out, err));
        out += og__shared_entry(p->shared, batch)->shared * p->head.row_bytes;
    }
    r->out = out;
    r->entry = &p->table[batch];
    r->out_bytes = r->entry->rows * p->head.row_bytes;
    uint32_t first = (uint32_t)(r->entry->offset / OG__PACK_BLOCK);
    uint32_t n = (uint32_t)(r->out_bytes / OG__PACK_BLOCK);
    for (uint32_t i = 0; i < n; i++)
        r->blocks[i] = first + i;
    r->last = first + n;
    OG_DO(submit_parts(p, r, n, err));
    r->rest = (struct og_read_job){
        .rows = &r->last, .n = r->out_bytes % OG__PACK_BLOCK > 0, .out = r->tail};
    return og__reader_submit(p->reader, &r->rest, err);
}

int og__pack_begin(struct og_pack *p, int read, uint32_t batch, char *out, struct og_err *err)
{
    int rc = begin(p, read, batch, out, err);
    if (rc < 0)
        og__pack_give_up(p, read);
    return rc;
}

void og__pack_give_up(struct og_pack *p, int read)
{
    struct chunk_read *r = &p->read[read];
    if (p->shared)
        og__shared_give_up(p->shared, read);
    for (size_t i = 0; i < r->n_parts; i++)
        (void)!og__reader_wait(p->reader, &r->parts[i], NULL);
    (void)!og__reader_wait(p->reader, &r->rest, NULL);
}

/* Waits for blocks and hashes them; the last one is padded with zeros. */
static int finish_job(struct og_pack *p, struct og_read_job *job, uint64_t *sum,
                      struct og_io_counts *counts, struct og_err *err)
{
    OG_DO(og__reader_wait(p->reader, job, err));
    if (job->n > 0)
        *sum += og__pack_hash_blocks(job->out, job->n, job->rows[0]);
    counts->reads += job->counts.reads;
    counts->bytes += job->counts.bytes;
    return 0;
}

static int finish(struct og_pack *p, int read, struct og_io_counts *counts, struct og_err *err)
{
    struct chunk_read *r = &p->read[read];
    uint64_t sum = 0;
    OG_DO(p->shared ? og__shared_finish(p->shared, read, counts, err) : 0);
    for (size_t i = 0; i < r->n_parts; i++)
        OG_DO(finish_job(p, &r->parts[i], &sum, counts, err));
    OG_DO(finish_job(p, &r->rest, &sum, counts, err));
    if (sum != r->entry->check)
        return og__fail(err, -EIO, p->hint, "%s: chunk %td is not what was written: wrong checksum",
                        p->path, r->entry - p->table);
    size_t rest = r->out_bytes % OG__PACK_BLOCK;
    if (rest > 0)
        memcpy(r->out + (r->out_bytes - rest), r->tail, rest);
    return 0;
}

int og__pack_finish(struct og_pack *p, int read, struct og_io_counts *counts, struct og_err *err)
{
    int rc = finish(p, read, counts, err);
    if (rc < 0)
        og__pack_give_up(p, read);
    return rc;
}

const uint32_t *og__pack_where(const struct og_pack *p, int read)
{
    return p->shared ? og__shared_where(p->shared, read) : NULL;
}
