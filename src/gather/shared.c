/* The format of shared rows, and reading them. */
#include "gather/shared.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char part[] = "packing";
static const char magic[8] = "OGSHAR2\n";
enum { CHECKED = 64, NUMBERS = 8 }; /* bytes of the head that its checksum covers */

struct shared_read {
    struct og_read_job job;
    uint32_t *order;                     /* [longest] */
    const struct og_shared_entry *entry; /* entry of the batch being read */
};

struct og_shared {
    char *path;
    int fd; /* for orders */
    struct og_shared_head head;
    struct og_shared_entry *table; /* [n_batches] */
    uint64_t *at;                  /* [n_batches] byte of the order */
    size_t table_bytes, at_bytes;
    struct og_reader *reader;
    uint64_t longest; /* longest order */
    struct og_budget *budget;
    int n_reads;
    struct shared_read read[];
};

/* ---- format ---- */

struct og_packed_lay og__shared_lay(const struct og_shared_head *h)
{
    const uint32_t rows = og__stripe_unit_of_blocks(h->row_bytes);
    const uint32_t blocks = (uint32_t)(rows * h->row_bytes / OG__PACK_BLOCK);
    return (struct og_packed_lay){.blocks = {h->parts, blocks}, .aside = OG__PACK_BLOCK};
}

uint64_t og__shared_table_at(const struct og_shared_head *h)
{
    const struct og_packed_lay lay = og__shared_lay(h);
    return og__packed_part_bytes(&lay, 0, h->n_rows * h->row_bytes);
}

uint64_t og__shared_orders_at(const struct og_shared_head *h)
{
    return og__shared_table_at(h) + h->n_batches * sizeof(struct og_shared_entry);
}

static uint64_t bytes_of(const struct og_shared_head *h)
{
    return og__shared_orders_at(h) + (h->n_misses + h->n_reads) * sizeof(uint32_t);
}

uint64_t og__shared_part_bytes(const struct og_shared_head *h, uint32_t number)
{
    const struct og_packed_lay lay = og__shared_lay(h);
    return number > 0 ? og__packed_part_bytes(&lay, number, h->n_rows * h->row_bytes) : bytes_of(h);
}

uint64_t og__shared_file_bytes(const struct og_packing *p, const struct og_segment_cost *cost,
                               uint32_t parts)
{
    const struct og_shared_head h = {.row_bytes = p->row_bytes,
                                     .parts = parts,
                                     .n_batches = p->n_batches,
                                     .n_rows = cost->shared,
                                     .n_misses = p->ptr[p->n_batches],
                                     .n_reads = cost->shared_reads};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < parts; i++)
        bytes += og__shared_part_bytes(&h, i);
    return bytes;
}

uint64_t og__shared_hash_order(const uint32_t *order, uint64_t n)
{
    return XXH3_64bits(order, n * sizeof(*order));
}

static uint64_t check_of(const char *block, const struct og_shared_entry *table, uint64_t n)
{
    return XXH3_64bits_withSeed(table, n * sizeof(*table), XXH3_64bits(block, CHECKED));
}

static void put_head(const struct og_shared_head *h, char *block)
{
    const uint64_t row = og__pack_put_row(h->row_bytes, h->dtype);
    const uint64_t number[NUMBERS] = {h->dataset,  row,        h->n_batches,  h->n_rows,
                                      h->n_misses, h->n_reads, h->file_bytes, h->check};
    memset(block, 0, OG__PACK_BLOCK);
    memcpy(block, magic, sizeof(magic));
    memcpy(block + sizeof(magic), number, sizeof(number));
}

void og__shared_format(struct og_shared_head *h, const struct og_shared_entry *table,
                       char block[OG__PACK_BLOCK])
{
    h->file_bytes = bytes_of(h);
    put_head(h, block);
    h->check = check_of(block, table, h->n_batches);
    put_head(h, block);
}

int og__shared_parse(struct og_shared_head *h, const void *data, size_t len, uint64_t file_bytes,
                     const char *name, struct og_err *err)
{
    uint64_t n[NUMBERS];
    if (len < OG__PACK_BLOCK || memcmp(data, magic, sizeof(magic)) != 0)
        return og__fail(err, -EINVAL, NULL, "%s: not a file of shared rows", name);
    memcpy(n, (const char *)data + sizeof(magic), sizeof(n));
    *h = (struct og_shared_head){.dataset = n[0],
                                 .n_batches = n[2],
                                 .n_rows = n[3],
                                 .n_misses = n[4],
                                 .n_reads = n[5],
                                 .file_bytes = n[6],
                                 .check = n[7],
                                 .parts = h->parts};
    bool sound = og__pack_get_row(n[1], &h->row_bytes, &h->dtype);
    if (h->file_bytes != file_bytes)
        return og__fail(err, -EINVAL, og__pack_disk_hint, "%s: %llu bytes, its header says %llu",
                        name, (unsigned long long)file_bytes, (unsigned long long)h->file_bytes);
    /* No sum overflows: rows are shorter than 2^31 bytes, all else is at most the file's size. */
    sound = sound && file_bytes <= INT64_MAX / 2 && h->n_batches < UINT32_MAX &&
            h->n_rows < UINT32_MAX && h->n_misses <= file_bytes / sizeof(uint32_t) &&
            h->n_reads <= h->n_misses;
    if (!sound || bytes_of(h) != file_bytes)
        return og__fail(err, -EINVAL, og__pack_disk_hint, "%s: the header is damaged", name);
    return 0;
}

int og__shared_check(const struct og_shared_head *h, const struct og_shared_entry *table,
                     const char *name, struct og_err *err)
{
    uint64_t misses = 0;
    uint64_t reads = 0;
    char block[OG__PACK_BLOCK];
    for (uint64_t b = 0; b < h->n_batches; b++) {
        if (table[b].misses > h->n_misses - misses || table[b].shared > table[b].misses)
            return og__fail(err, -EINVAL, og__pack_disk_hint,
                            "%s: batch %llu has more misses than the file has rows", name,
                            (unsigned long long)b);
        misses += table[b].misses;
        reads += table[b].shared;
    }
    put_head(h, block);
    if (misses != h->n_misses || reads != h->n_reads ||
        h->check != check_of(block, table, h->n_batches))
        return og__fail(err, -EINVAL, og__pack_disk_hint, "%s: the table of batches is damaged",
                        name);
    return 0;
}

/* ---- open and close ---- */

static int read_head(struct og_shared *p, const struct og_group *group, struct og_err *err)
{
    char block[OG__PACK_BLOCK];
    struct stat st;
    if (fstat(p->fd, &st) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", p->path);
    size_t len = (size_t)OG_MIN(st.st_size, (off_t)sizeof(block));
    const struct og_shared_head *h = &p->head;
    OG_DO(og__read_all(p->fd, block, len, 0, p->path, err));
    OG_DO(og__shared_parse(&p->head, block, len, (uint64_t)st.st_size, p->path, err));
    return og__pack_suits(group, h->dataset, h->row_bytes, h->dtype, p->path, err);
}

static int read_table(struct og_shared *p, struct og_err *err)
{
    const uint64_t n = p->head.n_batches;
    p->table = og__alloc(p->budget, p->table_bytes = n * sizeof(*p->table), part, err);
    if (!p->table)
        return -ENOMEM;
    p->at = og__alloc(p->budget, p->at_bytes = n * sizeof(*p->at), part, err);
    OG_DO(p->at ? og__read_all(p->fd, p->table, p->table_bytes,
                               (off_t)og__shared_table_at(&p->head), p->path, err)
                : -ENOMEM);
    OG_DO(og__shared_check(&p->head, p->table, p->path, err));
    uint64_t at = og__shared_orders_at(&p->head);
    for (uint64_t b = 0; b < n; b++) {
        uint64_t order = p->table[b].misses + p->table[b].shared;
        p->at[b] = at;
        p->longest = OG_MAX(p->longest, order);
        at += order * sizeof(uint32_t);
    }
    return 0;
}

static int open_reads(struct og_shared *p, int n_reads, struct og_err *err)
{
    for (; p->n_reads < n_reads; p->n_reads++) {
        uint32_t *order = og__alloc(p->budget, p->longest * sizeof(*order), part, err);
        if (!order)
            return -ENOMEM;
        p->read[p->n_reads].order = order;
    }
    return 0;
}

int og__shared_open(struct og_shared **out, struct og_places at, const struct og_group *group,
                    int n_reads, const struct og_reader_options *opt, struct og_budget *b,
                    struct og_err *err)
{
    const char *path = at.path[0];
    int rc = 0;
    *out = NULL;
    struct og_shared *p = calloc(1, sizeof(*p) + (size_t)n_reads * sizeof(p->read[0]));
    if (!p || !(p->path = strdup(path))) {
        free(p);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    }
    p->budget = b;
    p->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (p->fd < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot open", path));
    p->head.parts = at.n;
    OG_TRY(read_head(p, group, err));
    OG_TRY(read_table(p, err));
    OG_TRY(open_reads(p, n_reads, err));
    const struct og_row_files files = {
        .paths = at.path,
        .stripes = {at.n, og__stripe_unit_of_blocks(p->head.row_bytes)},
        .offset = OG__PACK_BLOCK,
        .row_bytes = p->head.row_bytes,
        .n_rows = p->head.n_rows};
    OG_TRY(og__reader_open_parts(&p->reader, &files, opt, b, err));
    *out = p;
    return 0;
out:
    og__shared_close(p);
    return rc;
}

void og__shared_close(struct og_shared *p)
{
    if (!p)
        return;
    og__reader_close(p->reader);
    for (int i = 0; i < p->n_reads; i++)
        og__release(p->budget, p->read[i].order, p->longest * sizeof(uint32_t), part);
    og__release(p->budget, p->at, p->at_bytes, part);
    og__release(p->budget, p->table, p->table_bytes, part);
    if (p->fd >= 0)
        close(p->fd);
    free(p->path);
    free(p);
}

const struct og_shared_entry *og__shared_entry(const struct og_shared *p, uint64_t batch)
{
    return batch < p->head.n_batches ? &p->table[batch] : NULL;
}

/* ---- one batch ---- */

/* Each miss is a row of the batch; positions are rows of the file, ascending. */
static bool order_is_sound(const struct og_shared *p, const struct og_shared_entry *e,
                           const uint32_t *order)
{
    const uint32_t *position = order + e->misses;
    bool sound = e->order == og__shared_hash_order(order, e->misses + e->shared);
    for (uint64_t i = 0; i < e->misses; i++)
        sound &= order[i] < e->misses;
    for (uint64_t i = 0; i < e->shared; i++)
        sound &= position[i] < p->head.n_rows && (i == 0 || position[i] > position[i - 1]);
    return sound;
}

int og__shared_begin(struct og_shared *p, int read, uint32_t batch, char *out, struct og_err *err)
{
    struct shared_read *r = &p->read[read];
    const struct og_shared_entry *e = r->entry = &p->table[batch];
    OG_DO(og__read_all(p->fd, r->order, (e->misses + e->shared) * sizeof(*r->order),
                       (off_t)p->at[batch], p->path, err));
    if (!order_is_sound(p, e, r->order))
        return og__fail(err, -EINVAL, og__pack_disk_hint, "%s: the order of batch %u is damaged",
                        p->path, batch);
    r->job = (struct og_read_job){.rows = r->order + e->misses, .n = e->shared, .out = out};
    return og__reader_submit(p->reader, &r->job, err);
}

/* Compares the checksum of a batch's rows, by position. */
static int compare_check(const struct og_shared *p, const struct shared_read *r, struct og_err *err)
{
    const size_t row = p->head.row_bytes;
    uint64_t sum = 0;
    for (size_t i = 0; i < r->job.n; i++)
        sum += og__pack_hash_at(r->job.out + i * row, row, r->job.rows[i]);
    if (sum == r->entry->check)
        return 0;
    return og__fail(err, -EIO, og__pack_disk_hint,
                    "%s: rows of batch %td are not what was written: wrong checksum", p->path,
                    r->entry - p->table);
}

int og__shared_finish(struct og_shared *p, int read, struct og_io_counts *counts,
                      struct og_err *err)
{
    struct shared_read *r = &p->read[read];
    const uint64_t order = r->entry->misses + r->entry->shared;
    int rc = og__reader_wait(p->reader, &r->job, err);
    counts->reads += r->job.counts.reads + (order > 0);
    counts->bytes += r->job.counts.bytes + order * sizeof(*r->order);
    return rc < 0 ? rc : compare_check(p, r, err);
}

void og__shared_give_up(struct og_shared *p, int read)
{
    (void)!og__reader_wait(p->reader, &p->read[read].job, NULL);
}

const uint32_t *og__shared_where(const struct og_shared *p, int read)
{
    return p->read[read].order;
}
