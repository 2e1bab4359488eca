/* Writes shared rows, block by block of positions:
 *
 *   nodes by position   7 2 9 | 2 5 7 | ...     a node may be shared in several segments
 *   read, ascending     2 7 9                   one sequential scan of the feature file
 *   written             7 2 9                   after the previous rest of a page
 *
 * A segment's orders are written before its rows. With a block of rows in memory, the orders in the
 * file give the checksums that each row is part of. */
#include "gather/shared.h"

#include "dataset/features.h"

#include <string.h>

static const char part[] = "packing";
enum { PAGE = OG__PACK_BLOCK };

/* A batch's rows in the file that were not in a block yet. */
struct unhashed {
    uint64_t at, n; /* byte of their positions; number of them */
};

struct writer {
    const struct og_group *group;
    const struct og_packing *packing;
    struct og_segments *segments;
    const struct og_pack_options *opt;
    struct og_packed_out files;
    struct og_reader *reader;
    struct og_shared_head head;
    struct og_shared_entry *table;
    uint64_t *stored;
    struct og_pack_counts counts;
    /* a block */
    uint32_t most, n; /* positions */
    struct og_allocs arrays;
    char *memory;      /* memory of the next two */
    char *in;          /* [most] rows by node */
    char *out;         /* [most] rows by position, after `kept` bytes of the previous block */
    uint64_t *hashes;  /* [most] by position */
    uint32_t done;     /* positions before the block */
    size_t kept;       /* < PAGE */
    uint64_t at;       /* byte of the rows where out is written */
    uint32_t *nodes;   /* [most] by position */
    uint32_t *list;    /* [most] ascending */
    uint64_t *bits;    /* [ceil(N / 64)] of the block's nodes */
    uint32_t *rank;    /* [ceil(N / 64)] */
    uint32_t *order;   /* [2 * longest] of a batch */
    uint64_t longest;  /* misses of a batch */
    uint64_t order_at; /* byte of the next order */
    struct unhashed *unhashed; /* [n_batches] */
    uint32_t open, laid_out;   /* batches with unhashed rows are in [open, laid_out) */
    uint32_t first;            /* position of the segment's first row */
};

/* The part with everything but rows. */
static int first_fd(const struct writer *w)
{
    return w->files.part[0].file.fd;
}

static const char *first_path(const struct writer *w)
{
    return w->files.part[0].file.path;
}

/* ---- memory ---- */

static size_t row_cost(const struct og_packing *p)
{
    return 2 * (p->row_bytes + sizeof(uint32_t)) + sizeof(uint64_t);
}

static uint64_t longest_batch(const struct og_packing *p)
{
    uint64_t longest = 0;
    for (uint32_t b = 0; b < p->n_batches; b++)
        longest = OG_MAX(longest, og__packing_chunk_rows(p, b));
    return longest;
}

static size_t bits_bytes(const struct og_packing *p)
{
    return og__bits_words(p->n_nodes) * sizeof(uint64_t);
}

/* Bytes independent of the block. */
static size_t fixed_bytes(const struct og_packing *p)
{
    const size_t a_batch = sizeof(struct og_shared_entry) + sizeof(struct unhashed);
    return bits_bytes(p) * 3 / 2 + longest_batch(p) * 2 * sizeof(uint32_t) +
           p->n_batches * a_batch + (size_t)2 * PAGE;
}

size_t og__shared_least(const struct og_packing *p)
{
    return fixed_bytes(p) + row_cost(p);
}

static int take_memory(struct writer *w, struct og_budget *b, struct og_err *err)
{
    const struct og_packing *p = w->packing;
    if (w->opt->memory < og__shared_least(p))
        return og__fail(err, -ENOMEM, NULL, "packing: shared rows take %zu bytes of memory",
                        og__shared_least(p));
    uint64_t most = (w->opt->memory - fixed_bytes(p)) / row_cost(p);
    w->most = (uint32_t)OG_MAX(OG_MIN(most, w->head.n_rows), (uint64_t)1);
    w->longest = longest_batch(p);
    const size_t rows = w->most;
    struct og_allocs *a = &w->arrays;
    *a = og__allocs(b, part);
    w->memory = og__allocs_take(a, 2 * (rows * p->row_bytes + PAGE), err);
    w->hashes = og__allocs_take(a, rows * sizeof(*w->hashes), err);
    w->nodes = og__allocs_take(a, rows * sizeof(*w->nodes), err);
    w->list = og__allocs_take(a, rows * sizeof(*w->list), err);
    w->bits = og__allocs_take(a, bits_bytes(p), err);
    w->rank = og__allocs_take(a, bits_bytes(p) / 2, err);
    w->order = og__allocs_take(a, w->longest * 2 * sizeof(*w->order), err);
    w->table = og__allocs_take(a, p->n_batches * sizeof(*w->table), err);
    w->unhashed = og__allocs_take(a, p->n_batches * sizeof(*w->unhashed), err);
    if (og__allocs_taken(a) < 0)
        return -ENOMEM;
    w->out = (char *)og__round_up((uintptr_t)w->memory, PAGE);
    w->in = w->out + w->most * p->row_bytes + PAGE;
    return 0;
}

static void release(struct writer *w)
{
    og__reader_close(w->reader);
    og__packed_abandon(&w->files);
    og__allocs_release(&w->arrays);
}

/* ---- rows ---- */

/* Writes whole pages of out. */
static int write_pages(struct writer *w, size_t bytes, struct og_err *err)
{
    int rc = og__packed_write(&w->files, w->out, bytes, w->at, err);
    w->at += bytes;
    w->counts.bytes_written += bytes;
    w->counts.writes++;
    return rc;
}

static int read_block(struct writer *w, struct og_err *err)
{
    const uint64_t n_nodes = w->packing->n_nodes;
    uint32_t n = og__bits_count(w->bits, n_nodes, w->rank);
    uint64_t node = 0;
    for (uint32_t i = 0; i < n; i++) {
        node = og__bits_next(w->bits, n_nodes, node);
        w->list[i] = (uint32_t)node++;
    }
    struct og_read_job job = {.rows = w->list, .n = n, .out = w->in};
    int rc;
    OG_TRY(og__reader_submit(w->reader, &job, err));
    OG_TRY(og__reader_wait(w->reader, &job, err));
out:
    w->counts.sweep.reads += job.counts.reads;
    w->counts.sweep.bytes += job.counts.bytes;
    return rc;
}

/* Adds the batch's rows in the block to its checksum. Its positions ascend, so these come next.
 * Rows of later blocks are left for later; an order that is already damaged may leave some forever.
 */
static int add_checks_of(struct writer *w, uint32_t batch, struct og_err *err)
{
    enum { PIECE = 1024 };
    uint32_t position[PIECE];
    struct unhashed *u = &w->unhashed[batch];
    for (bool more = true; more && u->n > 0;) {
        const uint64_t n = OG_MIN(u->n, (uint64_t)PIECE);
        uint64_t i = 0;
        OG_DO(og__read_all(first_fd(w), position, n * sizeof(*position), (off_t)u->at,
                           first_path(w), err));
        for (; i < n && position[i] - w->done < w->n; i++)
            w->table[batch].check += w->hashes[position[i] - w->done];
        u->at += i * sizeof(*position);
        u->n -= i;
        more = i == n;
        w->counts.sweep.reads++;
        w->counts.sweep.bytes += n * sizeof(*position);
    }
    return 0;
}

static int add_checks(struct writer *w, struct og_err *err)
{
    const size_t row = w->packing->row_bytes;
    int rc = 0;
    for (uint32_t i = 0; i < w->n; i++)
        w->hashes[i] = og__pack_hash_at(w->out + w->kept + i * row, row, w->done + i);
    for (uint32_t b = w->open; b < w->laid_out; b++)
        OG_TRY(add_checks_of(w, b, err));
out:
    while (w->open < w->laid_out && w->unhashed[w->open].n == 0)
        w->open++;
    return rc;
}

static int write_block(struct writer *w, struct og_err *err)
{
    const size_t row = w->packing->row_bytes;
    if (w->n == 0)
        return 0;
    if (og__stop_requested(w->opt->stop))
        return og__fail(err, OG_INTERRUPTED, NULL, "stopped while packing");
    int rc = read_block(w, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < w->n; i++)
        memcpy(w->out + w->kept + i * row,
               w->in + og__bits_rank(w->bits, w->rank, w->nodes[i]) * row, row);
    rc = add_checks(w, err);
    if (rc < 0)
        return rc;
    const size_t bytes = w->kept + w->n * row;
    const size_t whole = bytes / PAGE * PAGE;
    if (whole > 0)
        rc = write_pages(w, whole, err);
    w->kept = bytes - whole;
    memmove(w->out, w->out + whole, w->kept);
    memset(w->bits, 0, bits_bytes(w->packing));
    w->done += w->n;
    w->n = 0;
    return rc;
}

static int add_rows(struct writer *w, struct og_err *err)
{
    for (uint32_t i = 0; i < w->segments->n_shared; i++) {
        uint32_t node = w->segments->order[i];
        w->nodes[w->n++] = node;
        og__bits_add(w->bits, node);
        if (w->n == w->most)
            OG_DO(write_block(w, err));
    }
    return 0;
}

static int end_rows(struct writer *w, struct og_err *err)
{
    int rc = write_block(w, err);
    if (rc < 0 || w->kept == 0)
        return rc;
    memset(w->out + w->kept, 0, PAGE - w->kept);
    return write_pages(w, PAGE, err);
}

/* ---- orders ---- */

static int add_order(struct writer *w, uint32_t batch, struct og_err *err)
{
    const struct og_packing *p = w->packing;
    const uint64_t first = p->ptr[batch];
    const uint64_t n = og__packing_chunk_rows(p, batch);
    uint32_t *position = w->order + n;
    const uint32_t n_shared = og__segments_batch(w->segments, batch, w->order, position);
    for (uint64_t i = 0; i < n; i++)
        if (w->order[i] < n_shared)
            og__bits_add(w->stored, first + i);
    for (uint32_t i = 0; i < n_shared; i++)
        position[i] += w->first;
    const size_t bytes = (n + n_shared) * sizeof(*w->order);
    w->table[batch] = (struct og_shared_entry){n, n_shared, og__pack_hash_ids(p->rows + first, n),
                                               og__shared_hash_order(w->order, n + n_shared), 0};
    w->unhashed[batch] = (struct unhashed){w->order_at + n * sizeof(*w->order), n_shared};
    w->laid_out = batch + 1;
    int rc = og__write_all(first_fd(w), w->order, bytes, (off_t)w->order_at, first_path(w), err);
    w->order_at += bytes;
    w->counts.bytes_written += bytes;
    w->counts.writes += bytes > 0;
    return rc;
}

/* ---- all of it ---- */

static int create(struct writer *w, struct og_err *err)
{
    const struct og_packed_lay lay = og__shared_lay(&w->head);
    uint64_t bytes[OG_MOST_PARTS];
    for (uint32_t i = 0; i < w->opt->at.n; i++)
        bytes[i] = og__shared_part_bytes(&w->head, i);
    return og__packed_create(&w->files, w->opt->at, &lay, bytes, err);
}

static int write_segment(struct writer *w, uint32_t first, uint32_t last,
                         enum og__segment_order order, struct og_err *err)
{
    int rc;
    OG_TRY(og__segments_lay_out(w->segments, first, last, order, err));
    for (uint32_t b = first; b < last; b++)
        OG_TRY(add_order(w, b, err));
    OG_TRY(add_rows(w, err));
out:
    w->first += w->segments->n_shared;
    return rc;
}

static int write_segments(struct writer *w, uint32_t size, enum og__segment_order order,
                          struct og_err *err)
{
    const uint32_t n = w->packing->n_batches;
    int rc = 0;
    for (uint32_t first = 0; first < n; first += OG_MIN(size, n - first))
        OG_TRY(write_segment(w, first, first + OG_MIN(size, n - first), order, err));
out:
    return rc < 0 ? rc : end_rows(w, err);
}

static int write_head(struct writer *w, struct og_err *err)
{
    char block[OG__PACK_BLOCK];
    const size_t table = w->head.n_batches * sizeof(*w->table);
    og__shared_format(&w->head, w->table, block);
    int rc;
    OG_TRY(og__write_all(first_fd(w), block, sizeof(block), 0, first_path(w), err));
    OG_TRY(og__write_all(first_fd(w), w->table, table, (off_t)og__shared_table_at(&w->head),
                         first_path(w), err));
out:
    w->counts.bytes_written += sizeof(block) + table;
    w->counts.writes += 2;
    return rc;
}

int og__shared_write(const struct og_group *group, struct og_segments *s, uint32_t size,
                     enum og__segment_order order, const struct og_pack_options *opt,
                     uint64_t *stored, struct og_budget *b, struct og_pack_counts *counts,
                     struct og_err *err)
{
    const struct og_packing *p = s->packing;
    struct og_segment_cost cost;
    int rc = 0;
    *counts = (struct og_pack_counts){0};
    og__segments_space(s, OG_MAX(size, 1u), &cost);
    if (cost.shared >= UINT32_MAX)
        return og__fail(err, -EFBIG, "pack fewer batches at a time", "%s: too many shared rows",
                        opt->at.path[0]);
    struct writer w = {.group = group,
                       .packing = p,
                       .segments = s,
                       .opt = opt,
                       .stored = stored,
                       .head = {.dataset = group->contents,
                                .row_bytes = p->row_bytes,
                                .dtype = group->dtype,
                                .n_batches = p->n_batches,
                                .n_rows = cost.shared,
                                .n_misses = p->ptr[p->n_batches],
                                .parts = opt->at.n,
                                .n_reads = cost.shared_reads}};
    w.order_at = og__shared_orders_at(&w.head);
    OG_TRY(take_memory(&w, b, err));
    OG_TRY(og__features_open(&w.reader, group, &opt->reader, b, err));
    OG_TRY(create(&w, err));
    OG_TRY(write_segments(&w, OG_MAX(size, 1u), order, err));
    OG_TRY(write_head(&w, err));
    OG_TRY(og__packed_commit(&w.files, err));
    *counts = w.counts;
    counts->direct = og__packed_is_direct(&w.files);
out:
    release(&w);
    return rc;
}
