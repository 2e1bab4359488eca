/* Writes a packed file with three kinds of threads, so that the disk is never idle.
 *
 *   reader thread     reads partition k + 1          parts: empty ──> full ──> empty
 *   the caller's      distributes the rows of
 *                     partition k to the open        pieces: free ──> open ──> queued ──> free
 *                     pieces of the batches
 *   writer threads    write full pieces; consecutive ones in one request
 *
 * Every batch has one open piece. Its rows wait for later partitions, so that no block is written
 * twice and every write is of whole blocks. Over several disks a piece ends with its unit, and
 * there are as many more writers. Writers hash blocks; a chunk's checksum is the sum of its blocks'
 * hashes.
 *
 * Writes are direct if the file system allows. Otherwise they go through the page cache, which is
 * flushed and dropped after them. */
#include "gather/pack.h"

#include "dataset/features.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const char memory_part[] = "packing";
enum { STANDARD_WRITERS = 4, MOST_WRITERS = 16, TOGETHER = 8 };

struct piece {
    char *data;      /* [sweep.piece] */
    uint64_t offset; /* in the packed file */
    size_t bytes;
    uint32_t batch; /* whose rows these are */
    uint32_t room;  /* maximum of bytes */
    uint64_t check; /* of its blocks, after writing */
    struct piece *next;
};

struct part {
    uint32_t *list; /* [sweep.part_rows] */
    char *rows;     /* [sweep.part_rows * row_bytes] */
    uint32_t n;
    bool full; /* under the lock */
};

struct packer {
    /* constant after the threads start */
    const struct og_packing *packing;
    const struct og_pack_options *opt;
    const struct og_sweep *sweep;
    struct og_packed_out out;
    struct og_allocs arrays;
    char *memory;    /* pieces, rows of the parts */
    uint32_t *lists; /* of the parts */
    struct piece *pieces;
    pthread_t reader_thread, writer[MOST_WRITERS];
    bool reading;
    int n_writers;
    /* reader thread only */
    struct og_reader *reader;
    struct og_io_counts swept;
    /* the caller's thread only */
    struct piece **open; /* [n_batches] */
    uint64_t *cursor;    /* [n_batches] next row of each batch to distribute */
    /* under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct part part[2];
    struct piece *free_pieces, *queue, **queue_end;
    uint64_t written, writes;
    uint64_t *checks; /* [n_batches] of the written blocks of their chunks */
    bool ended;       /* nothing more will be queued */
    int failed;
    struct og_err why; /* the first failure */
};

/* ---- failing ---- */

static void fail(struct packer *pk, int code, const struct og_err *why)
{
    pthread_mutex_lock(&pk->lock);
    if (pk->failed == 0) {
        pk->failed = code;
        pk->why = *why;
    }
    pthread_cond_broadcast(&pk->changed);
    pthread_mutex_unlock(&pk->lock);
}

/* ---- reader thread ---- */

/* A part belongs to this thread until it is full, then to the caller until it is empty. */
static bool wait_for_part(struct packer *pk, const struct part *part, bool full)
{
    pthread_mutex_lock(&pk->lock);
    while (part->full != full && pk->failed == 0)
        pthread_cond_wait(&pk->changed, &pk->lock);
    bool go_on = pk->failed == 0;
    pthread_mutex_unlock(&pk->lock);
    return go_on;
}

static void pass_part(struct packer *pk, struct part *part, bool full)
{
    pthread_mutex_lock(&pk->lock);
    part->full = full;
    pthread_cond_broadcast(&pk->changed);
    pthread_mutex_unlock(&pk->lock);
}

static int read_part(struct packer *pk, struct part *part, struct og_err *err)
{
    struct og_read_job job = {.rows = part->list, .n = part->n, .out = part->rows};
    OG_DO(og__reader_submit(pk->reader, &job, err));
    OG_DO(og__reader_wait(pk->reader, &job, err));
    pk->swept.reads += job.counts.reads;
    pk->swept.bytes += job.counts.bytes;
    return 0;
}

static void *read_parts(void *arg)
{
    struct packer *pk = arg;
    uint64_t cursor = 0;
    for (uint32_t k = 0; k < pk->sweep->n_parts; k++) {
        struct part *part = &pk->part[k % 2];
        struct og_err why = {0};
        if (!wait_for_part(pk, part, false))
            break;
        part->n = og__sweep_part(pk->packing, pk->sweep, &cursor, part->list);
        int rc = read_part(pk, part, &why);
        if (rc < 0) {
            fail(pk, rc, &why);
            break;
        }
        pass_part(pk, part, true);
    }
    return NULL;
}

/* ---- writer threads ---- */

/* Takes consecutive queued pieces; 0 = there will be no more. */
static int take_queued(struct packer *pk, struct piece *run[TOGETHER])
{
    int n = 0;
    pthread_mutex_lock(&pk->lock);
    while (!pk->queue && !pk->ended && pk->failed == 0)
        pthread_cond_wait(&pk->changed, &pk->lock);
    while (pk->queue && pk->failed == 0 && n < TOGETHER) {
        struct piece *piece = pk->queue;
        if (n > 0 && (piece->offset != run[n - 1]->offset + run[n - 1]->bytes ||
                      og__packed_spot(&pk->out.lay, run[n - 1]->offset).n <= run[n - 1]->bytes))
            break;
        run[n++] = piece;
        pk->queue = piece->next;
    }
    if (!pk->queue)
        pk->queue_end = &pk->queue;
    pthread_mutex_unlock(&pk->lock);
    return n;
}

static void give_back(struct packer *pk, struct piece **run, int n, uint64_t bytes, uint64_t writes)
{
    pthread_mutex_lock(&pk->lock);
    for (int i = 0; i < n; i++) {
        pk->checks[run[i]->batch] += run[i]->check;
        run[i]->next = pk->free_pieces;
        pk->free_pieces = run[i];
    }
    pk->written += bytes;
    pk->writes += writes;
    pthread_cond_broadcast(&pk->changed);
    pthread_mutex_unlock(&pk->lock);
}

/* Writes the remainder of a short write. */
static int write_rest(const struct packer *pk, struct piece **run, int n, uint64_t done,
                      struct og_err *err)
{
    for (int i = 0; i < n; i++) {
        size_t skip = (size_t)OG_MIN(done, (uint64_t)run[i]->bytes);
        OG_DO(og__packed_put(&pk->out, run[i]->data + skip, run[i]->bytes - skip,
                             run[i]->offset + skip, err));
        done -= skip;
    }
    return 0;
}

static int write_run(const struct packer *pk, struct piece **run, int n, uint64_t *bytes,
                     struct og_err *err)
{
    struct iovec io[TOGETHER];
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        struct piece *piece = run[i];
        io[i] = (struct iovec){piece->data, piece->bytes};
        *bytes += piece->bytes;
        piece->check = og__pack_hash_blocks(piece->data, piece->bytes / OG__PACK_BLOCK,
                                            piece->offset / OG__PACK_BLOCK);
    }
    const struct og_packed_spot spot = og__packed_spot(&pk->out.lay, run[0]->offset);
    const struct og_packed_part *part = &pk->out.part[spot.part];
    int fd = part->direct_fd >= 0 ? part->direct_fd : part->file.fd;
    ssize_t done;
    do
        done = pwritev(fd, io, n, (off_t)spot.at);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return og__fail_errno(err, -errno, errno == ENOSPC ? og__pack_full_hint : NULL,
                              "%s: cannot write at byte %llu", part->file.path,
                              (unsigned long long)spot.at);
    OG_DO((uint64_t)done < *bytes ? write_rest(pk, run, n, (uint64_t)done, err) : 0);
    if (part->direct_fd < 0)
        og__packed_push(part, spot.at, *bytes);
    return 0;
}

static void *write_pieces(void *arg)
{
    struct packer *pk = arg;
    struct piece *run[TOGETHER];
    for (int n; (n = take_queued(pk, run)) > 0;) {
        struct og_err why = {0};
        uint64_t bytes;
        int rc = write_run(pk, run, n, &bytes, &why);
        if (rc < 0) {
            fail(pk, rc, &why);
            break;
        }
        give_back(pk, run, n, bytes, 1);
    }
    return NULL;
}

/* ---- the caller's thread: distributing rows ---- */

/* A free piece; NULL after a failure. */
static struct piece *take_free(struct packer *pk)
{
    pthread_mutex_lock(&pk->lock);
    while (!pk->free_pieces && pk->failed == 0)
        pthread_cond_wait(&pk->changed, &pk->lock);
    struct piece *piece = pk->failed == 0 ? pk->free_pieces : NULL;
    if (piece)
        pk->free_pieces = piece->next;
    pthread_mutex_unlock(&pk->lock);
    return piece;
}

static void queue_piece(struct packer *pk, struct piece *piece)
{
    pthread_mutex_lock(&pk->lock);
    piece->next = NULL;
    *pk->queue_end = piece;
    pk->queue_end = &piece->next;
    pthread_cond_broadcast(&pk->changed);
    pthread_mutex_unlock(&pk->lock);
}

/* The batch's open piece, with space; queues a full one. */
static struct piece *room_of(struct packer *pk, uint32_t batch)
{
    struct piece *piece = pk->open[batch];
    if (OG_LIKELY(piece && piece->bytes < piece->room))
        return piece;
    uint64_t offset = piece ? piece->offset + piece->bytes : pk->packing->offset[batch];
    if (piece)
        queue_piece(pk, piece);
    piece = pk->open[batch] = take_free(pk);
    if (piece) {
        piece->offset = offset;
        piece->batch = batch;
        piece->bytes = 0;
        piece->room = (uint32_t)OG_MIN(pk->sweep->piece, og__packed_spot(&pk->out.lay, offset).n);
    }
    return piece;
}

static bool append(struct packer *pk, uint32_t batch, const char *data, size_t bytes)
{
    while (bytes > 0) {
        struct piece *piece = room_of(pk, batch);
        if (!piece)
            return false;
        size_t n = OG_MIN(bytes, piece->room - piece->bytes);
        memcpy(piece->data + piece->bytes, data, n);
        piece->bytes += n;
        data += n;
        bytes -= n;
    }
    return true;
}

/* Copies the batch's rows of the partition that begins with listed row number `first`. */
static bool hand_out(struct packer *pk, uint32_t batch, const struct part *part, uint32_t first)
{
    enum { AHEAD = 8 };
    const struct og_packing *p = pk->packing;
    const uint64_t end = p->ptr[batch + 1];
    uint64_t at = pk->cursor[batch];
    const uint32_t last = part->n > 0 ? part->list[part->n - 1] : 0;
    for (; at < end && p->rows[at] <= last; at++) {
        if (at + AHEAD < end && p->rows[at + AHEAD] <= last) {
            uint32_t next = og__bits_rank(p->bits, p->rank, p->rows[at + AHEAD]) - first;
            __builtin_prefetch(part->rows + next * p->row_bytes);
        }
        uint32_t row = og__bits_rank(p->bits, p->rank, p->rows[at]) - first;
        if (!append(pk, batch, part->rows + row * p->row_bytes, p->row_bytes))
            return false;
    }
    pk->cursor[batch] = at;
    return true;
}

/* Returns -EIO if another thread failed, which has set the error. */
static int hand_out_all(struct packer *pk, struct og_err *err)
{
    uint32_t first = 0;
    for (uint32_t k = 0; k < pk->sweep->n_parts; k++) {
        struct part *part = &pk->part[k % 2];
        if (!wait_for_part(pk, part, true))
            return -EIO;
        if (og__stop_requested(pk->opt->stop))
            return og__fail(err, OG_INTERRUPTED, NULL, "stopped while packing");
        for (uint32_t b = 0; b < pk->packing->n_batches; b++)
            if (!hand_out(pk, b, part, first))
                return -EIO;
        int rc =
            pk->opt->pass ? pk->opt->pass(pk->opt->arg, part->list, part->n, part->rows, err) : 0;
        if (rc < 0)
            return rc;
        first += part->n;
        pass_part(pk, part, false);
    }
    return 0;
}

/* Pads open pieces to whole blocks and queues them. */
static void close_pieces(struct packer *pk)
{
    for (uint32_t b = 0; b < pk->packing->n_batches; b++) {
        struct piece *piece = pk->open[b];
        if (!piece)
            continue;
        size_t padded = og__round_up(piece->bytes, OG__PACK_BLOCK);
        memset(piece->data + piece->bytes, 0, padded - piece->bytes);
        piece->bytes = padded;
        pk->open[b] = NULL;
        queue_piece(pk, piece);
    }
}

/* ---- threads ---- */

static int start(struct packer *pk, struct og_err *err)
{
    const int each = pk->opt->writers > 0 ? pk->opt->writers : STANDARD_WRITERS;
    const int n = OG_MIN(each * (int)pk->out.n, MOST_WRITERS);
    int rc = pthread_create(&pk->reader_thread, NULL, read_parts, pk);
    pk->reading = rc == 0;
    for (; rc == 0 && pk->n_writers < n; pk->n_writers += rc == 0)
        rc = pthread_create(&pk->writer[pk->n_writers], NULL, write_pieces, pk);
    return rc == 0 ? 0 : og__fail_errno(err, -rc, NULL, "packing: cannot start a thread");
}

/* Writers finish what is queued, unless something failed. */
static void join(struct packer *pk)
{
    pthread_mutex_lock(&pk->lock);
    pk->ended = true;
    pthread_cond_broadcast(&pk->changed);
    pthread_mutex_unlock(&pk->lock);
    if (pk->reading)
        pthread_join(pk->reader_thread, NULL);
    for (int i = 0; i < pk->n_writers; i++)
        pthread_join(pk->writer[i], NULL);
}

static int run(struct packer *pk, struct og_err *err)
{
    struct og_err why = {0};
    int rc;
    OG_TRY(start(pk, &why));
    OG_TRY(hand_out_all(pk, &why));
    close_pieces(pk);
out:
    if (rc < 0)
        fail(pk, rc, &why);
    join(pk);
    if (pk->failed < 0)
        return og__fail(err, pk->failed, pk->why.hint, "%s", pk->why.message);
    return 0;
}

/* ---- the file ---- */

static int create(struct packer *pk, struct og_err *err)
{
    uint64_t bytes[OG_MOST_PARTS];
    const struct og_packed_lay lay = og__pack_lay(pk->opt->at.n);
    for (uint32_t i = 0; i < pk->opt->at.n; i++)
        bytes[i] = og__packed_part_bytes(&lay, i, pk->packing->offset[pk->packing->n_batches]);
    return og__packed_create(&pk->out, pk->opt->at, &lay, bytes, err);
}

/* Direct if one block can be written directly: that of the head, which is overwritten last. */
static int write_head(const struct og_group *group, struct packer *pk, struct og_budget *b,
                      char *block, struct og_err *err)
{
    const struct og_packing *p = pk->packing;
    size_t bytes = og__packing_data_start(p->n_batches) - OG__PACK_BLOCK;
    struct og_pack_head head = {.dataset = group->contents,
                                .row_bytes = p->row_bytes,
                                .dtype = group->dtype,
                                .n_batches = p->n_batches,
                                .n_rows = p->ptr[p->n_batches],
                                .file_bytes = p->offset[p->n_batches]};
    struct og_pack_entry *table = og__alloc(b, bytes, memory_part, err);
    if (!table)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->n_batches; i++) {
        uint64_t n = og__packing_chunk_rows(p, i);
        uint64_t ids = og__pack_hash_ids(p->rows + p->ptr[i], n);
        table[i] = (struct og_pack_entry){p->offset[i], n, ids, pk->checks[i]};
    }
    og__pack_format(&head, table, block);
    int rc;
    OG_TRY(og__packed_put(&pk->out, block, OG__PACK_BLOCK, 0, err));
    OG_TRY(og__packed_put(&pk->out, table, bytes, OG__PACK_BLOCK, err));
out:
    og__release(b, table, bytes, memory_part);
    return rc;
}

/* ---- memory ---- */

static size_t lists_bytes(const struct packer *pk)
{
    return OG_COUNT(pk->part) * pk->sweep->part_rows * sizeof(*pk->lists);
}

static size_t memory_bytes(const struct packer *pk)
{
    const struct og_sweep *s = pk->sweep;
    return OG_COUNT(pk->part) * s->part_rows * pk->packing->row_bytes + s->n_pieces * s->piece +
           OG__PACK_BLOCK;
}

/*   | up to a block | piece | piece | ... | rows 0 | rows 1 |   */
static void suballoc(struct packer *pk)
{
    size_t rows = pk->sweep->part_rows;
    char *at = (char *)og__round_up((uintptr_t)pk->memory, OG__PACK_BLOCK);
    pk->queue_end = &pk->queue;
    for (uint32_t i = 0; i < pk->sweep->n_pieces; i++, at += pk->sweep->piece) {
        pk->pieces[i] = (struct piece){.data = at, .next = pk->free_pieces};
        pk->free_pieces = &pk->pieces[i];
    }
    for (size_t i = 0; i < OG_COUNT(pk->part); i++, at += rows * pk->packing->row_bytes) {
        pk->part[i].rows = at;
        pk->part[i].list = pk->lists + i * rows;
    }
}

_Static_assert(sizeof(struct piece) == OG__SWEEP_A_PIECE &&
                   sizeof(struct piece *) + 2 * sizeof(uint64_t) == OG__SWEEP_A_BATCH,
               "og__sweep_bytes counts them");

static int take_memory(struct packer *pk, struct og_budget *b, struct og_err *err)
{
    uint32_t n = pk->packing->n_batches;
    pk->arrays = og__allocs(b, memory_part);
    pk->memory = og__allocs_take(&pk->arrays, memory_bytes(pk), err);
    pk->lists = og__allocs_take(&pk->arrays, lists_bytes(pk), err);
    pk->pieces = og__allocs_take(&pk->arrays, pk->sweep->n_pieces * sizeof(*pk->pieces), err);
    pk->open = og__allocs_take(&pk->arrays, n * sizeof(struct piece *), err);
    pk->cursor = og__allocs_take(&pk->arrays, n * sizeof(*pk->cursor), err);
    pk->checks = og__allocs_take(&pk->arrays, n * sizeof(*pk->checks), err);
    if (og__allocs_taken(&pk->arrays) < 0)
        return -ENOMEM;
    memcpy(pk->cursor, pk->packing->ptr, n * sizeof(*pk->cursor));
    suballoc(pk);
    return 0;
}

static void release(struct packer *pk)
{
    og__reader_close(pk->reader);
    og__packed_abandon(&pk->out);
    og__allocs_release(&pk->arrays);
    pthread_cond_destroy(&pk->changed);
    pthread_mutex_destroy(&pk->lock);
}

int og__pack_write(const struct og_group *group, const struct og_packing *p,
                   const struct og_sweep *sweep, const struct og_pack_options *opt,
                   struct og_budget *b, struct og_pack_counts *counts, struct og_err *err)
{
    _Alignas(OG__PACK_BLOCK) char block[OG__PACK_BLOCK] = {0};
    struct packer pk = {.packing = p, .sweep = sweep, .opt = opt};
    int rc = 0;
    pthread_mutex_init(&pk.lock, NULL);
    pthread_cond_init(&pk.changed, NULL);
    *counts = (struct og_pack_counts){0};
    OG_TRY(take_memory(&pk, b, err));
    OG_TRY(og__features_open(&pk.reader, group, &opt->reader, b, err));
    OG_TRY(create(&pk, err));
    OG_TRY(run(&pk, err));
    OG_TRY(write_head(group, &pk, b, block, err));
    *counts =
        (struct og_pack_counts){.sweep = pk.swept,
                                .bytes_written = pk.written + og__packing_data_start(p->n_batches),
                                .writes = pk.writes + 2,
                                .direct = og__packed_is_direct(&pk.out)};
    rc = og__packed_commit(&pk.out, err);
out:
    release(&pk);
    return rc;
}
