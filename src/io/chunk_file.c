#include "io/chunk_file.h"

#include "base/file.h"
#include "base/sort.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "read buffers";
#define NONE UINT32_MAX

enum {
    PAGE = 4096,
    LEAST_ROWS = 4,        /* of a block, so that little of it is unused */
    LARGEST = 128 * 1024,  /* block of small records */
    BLOCKS_OF_ALL = 8192,  /* of all records, at most, until blocks are as large as that */
    SMALL = 32 * 1024,     /* block of fewer records, for requests cost more than their bytes */
    BLOCKS_OF_SMALL = 256, /* of these, at least; */
    OPEN_SHARE = 2,        /* open ones of all chunks have that share of the records, at most */
    AT_ONCE = 1024 * 1024, /* bytes that are read together, at most */
    SHARE = 64,            /* and of all records */
    COPIES = 4,            /* of a record: two in the rest, waiting, of the batch that is in use */
    MOST_AT_ONCE = AT_ONCE / PAGE,
    WRITERS = 4,
    LEAST_WAITING = 8, /* blocks that wait to be written, */
    MOST_WAITING = 64,
    WAITING = 4 * 1024 * 1024 /* bytes of them, and as many a share of all, at most */
};

struct chunk {
    char *open;           /* block in memory; NULL: none */
    uint32_t rows;        /* in it */
    uint32_t first, last; /* blocks of the file, linked */
    uint32_t blocks;      /* so many */
    uint32_t pending;     /* of them, not written yet */
};

struct full {
    char *block;
    uint32_t at, chunk;
};

struct og_chunk_file {
    struct og_chunk_form form;
    struct og_budget *budget;
    char *path;
    int fd;
    struct og_reader *reader;
    char *memory, *aligned; /* blocks in memory: open, being written, then read */
    uint32_t at_once;       /* blocks */
    char *read[3];          /* [at_once] blocks twice; and one that is read aside */
    uint32_t *link;         /* [n_blocks] next of the chunk, or of the free ones */
    struct chunk *chunk;    /* [n_chunks] */
    pthread_t thread[WRITERS];
    int n_threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock, as are lists of chunks */
    char **spare; /* [n_spare] blocks in memory */
    uint32_t n_spare;
    struct full full[MOST_WAITING]; /* ring: [taken, queued) */
    uint64_t queued, taken;
    uint32_t free; /* block of the file, then linked; NONE: only those from `fresh` on */
    uint32_t fresh;
    bool ends;
    int failed;
    struct og_err why;
};

/* ---- sizes ---- */

struct og_chunk_form og__chunk_form(size_t row_bytes, uint64_t n_rows, uint32_t n_chunks)
{
    const size_t record = row_bytes + sizeof(uint32_t);
    const uint64_t all = n_rows * record;
    const size_t small =
        OG_MIN((size_t)(all / OG_MAX((uint64_t)BLOCKS_OF_SMALL, (uint64_t)OPEN_SHARE * n_chunks)),
               (size_t)SMALL);
    const size_t wish = OG_MAX(OG_MIN((size_t)(all / BLOCKS_OF_ALL), (size_t)LARGEST), small);
    struct og_chunk_form f = {.row_bytes = row_bytes, .n_chunks = n_chunks};
    f.block = og__round_up(OG_MAX(wish, LEAST_ROWS * record), PAGE);
    f.rows = (uint32_t)(f.block / record);
    f.n_blocks = (uint32_t)(COPIES * (n_rows / f.rows + 1)) + 2 * n_chunks;
    return f;
}

/* Blocks in so many bytes, or a share of all. */
static uint32_t blocks_of(const struct og_chunk_form *f, size_t bytes, uint32_t least,
                          uint32_t most)
{
    const size_t all = (size_t)((f->n_blocks - 2 * f->n_chunks) / COPIES) * f->block;
    const size_t blocks = OG_MIN(all / SHARE, bytes) / f->block;
    return (uint32_t)OG_MIN(OG_MAX(blocks, (size_t)least), (size_t)most);
}

static uint32_t blocks_at_once(const struct og_chunk_form *f)
{
    return blocks_of(f, AT_ONCE, 1, MOST_AT_ONCE);
}

static uint32_t blocks_waiting(const struct og_chunk_form *f)
{
    return blocks_of(f, WAITING, LEAST_WAITING, MOST_WAITING);
}

static uint32_t blocks_in_memory(const struct og_chunk_form *f)
{
    return f->n_chunks + blocks_waiting(f);
}

size_t og__chunk_file_blocks_bytes(const struct og_chunk_form *f)
{
    return f->n_chunks * (f->block + sizeof(char *) + sizeof(struct chunk) + 2 * sizeof(uint32_t));
}

size_t og__chunk_file_bytes(const struct og_chunk_form *f)
{
    const uint32_t waiting = blocks_waiting(f);
    const size_t blocks = waiting + 2 * blocks_at_once(f) + 1;
    return og__chunk_file_blocks_bytes(f) + PAGE + blocks * f->block + waiting * sizeof(char *) +
           (f->n_blocks - 2 * f->n_chunks) * sizeof(uint32_t);
}

struct og_reader_options og__chunk_reader_options(const struct og_reader_options *like)
{
    struct og_reader_options opt = *like;
    opt.through_page_cache = false;
    opt.recode = NULL;
    opt.profile.iops = 1e15; /* what is between two blocks is never read */
    if (opt.io == OG_IO_MMAP)
        opt.io = OG_IO_PREAD; /* writes are direct */
    return opt;
}

/* ---- writing ---- */

static void link_block(struct og_chunk_file *f, struct chunk *c, uint32_t at)
{
    f->link[at] = NONE;
    if (c->first == NONE)
        c->first = at;
    else
        f->link[c->last] = at;
    c->last = at;
    c->blocks++;
}

static void *write_blocks(void *arg)
{
    struct og_chunk_file *f = arg;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        while (f->queued == f->taken && !f->ends)
            pthread_cond_wait(&f->changed, &f->lock);
        if (f->ends)
            break;
        const struct full full = f->full[f->taken++ % MOST_WAITING];
        const bool writes = f->failed == 0;
        struct og_err err = {0};
        pthread_mutex_unlock(&f->lock);
        const int rc =
            writes ? og__write_all(f->fd, full.block, f->form.block,
                                   (off_t)(full.at * (uint64_t)f->form.block), f->path, &err)
                   : 0;
        pthread_mutex_lock(&f->lock);
        if (rc < 0 && f->failed == 0) {
            f->failed = rc;
            f->why = err;
        }
        f->chunk[full.chunk].pending--; /* after a failure too: nobody waits for ever */
        f->spare[f->n_spare++] = full.block;
        pthread_cond_broadcast(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static int failure_of(const struct og_chunk_file *f, struct og_err *err)
{
    if (f->failed < 0 && err)
        *err = f->why;
    return f->failed;
}

/* Under the lock. */
static int take_spare(struct og_chunk_file *f, char **out, struct og_err *err)
{
    while (f->n_spare == 0)
        pthread_cond_wait(&f->changed, &f->lock);
    *out = f->spare[--f->n_spare];
    return failure_of(f, err);
}

/* Under the lock. */
static int queue_block(struct og_chunk_file *f, uint32_t chunk, struct og_err *err)
{
    struct chunk *c = &f->chunk[chunk];
    while (f->queued - f->taken == MOST_WAITING)
        pthread_cond_wait(&f->changed, &f->lock);
    const uint32_t at = f->free != NONE ? f->free : f->fresh;
    if (at == f->form.n_blocks) {
        c->rows--; /* the block has room for no further one */
        return og__fail(err, -ENOSPC, NULL, "%s: more rows than there are", f->path);
    }
    if (f->free != NONE)
        f->free = f->link[at];
    else
        f->fresh++;
    link_block(f, c, at);
    c->pending++;
    f->full[f->queued++ % MOST_WAITING] = (struct full){c->open, at, chunk};
    c->open = NULL;
    c->rows = 0;
    pthread_cond_broadcast(&f->changed);
    return 0;
}

int og__chunk_push(struct og_chunk_file *f, uint32_t chunk, uint32_t row, const void *record,
                   struct og_io_counts *written, struct og_err *err)
{
    struct chunk *c = &f->chunk[chunk];
    const size_t bytes = f->form.row_bytes;
    int rc = 0;
    if (!c->open) {
        pthread_mutex_lock(&f->lock);
        rc = take_spare(f, &c->open, err);
        pthread_mutex_unlock(&f->lock);
        if (rc < 0)
            return rc;
    }
    memcpy(c->open + c->rows * sizeof(row), &row, sizeof(row));
    memcpy(c->open + f->form.rows * sizeof(row) + c->rows * bytes, record, bytes);
    if (++c->rows < f->form.rows)
        return 0;
    pthread_mutex_lock(&f->lock);
    rc = queue_block(f, chunk, err);
    pthread_mutex_unlock(&f->lock);
    written->reads += rc == 0;
    written->bytes += rc == 0 ? f->form.block : 0;
    return rc;
}

/* ---- reading ---- */

static int each_of(const struct og_chunk_file *f, const char *block, uint32_t n, og_chunk_row *row,
                   void *arg, struct og_err *err)
{
    const char *record = block + f->form.rows * sizeof(uint32_t);
    int rc = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number;
        memcpy(&number, block + i * sizeof(number), sizeof(number));
        OG_TRY(row(arg, number, record + i * f->form.row_bytes, err));
    }
out:
    return rc;
}

/* Blocks of a chunk, some at a time, in the order of the file. */
struct lot {
    struct og_read_job job;
    uint32_t at[MOST_AT_ONCE];
};

static int begin_lot(struct og_chunk_file *f, struct lot *l, char *to, uint32_t *next,
                     struct og_err *err)
{
    size_t n = 0;
    for (; *next != NONE && n < f->at_once; *next = f->link[*next])
        l->at[n++] = *next;
    og__sort_in_place(l->at, n, sizeof(*l->at), og__by_number);
    l->job = (struct og_read_job){.rows = l->at, .n = n, .out = to};
    return og__reader_submit(f->reader, &l->job, err);
}

/* The next lot is read while rows of this one are used. A failure of the reader ends both. */
static int each_block(struct og_chunk_file *f, uint32_t next, og_chunk_row *row, void *arg,
                      struct og_io_counts *read, struct og_err *err)
{
    struct lot lot[2];
    int rc;
    OG_TRY(begin_lot(f, &lot[0], f->read[0], &next, err));
    for (int i = 0; lot[i].job.n > 0; i = 1 - i) {
        OG_TRY(begin_lot(f, &lot[1 - i], f->read[1 - i], &next, err));
        OG_TRY(og__reader_wait(f->reader, &lot[i].job, err));
        read->reads += lot[i].job.n;
        read->bytes += lot[i].job.n * f->form.block;
        for (size_t k = 0; rc == 0 && k < lot[i].job.n; k++)
            rc = each_of(f, f->read[i] + k * f->form.block, f->form.rows, row, arg, err);
        if (rc < 0) {
            (void)!og__reader_wait(f->reader, &lot[1 - i].job, NULL);
            break;
        }
    }
out:
    return rc;
}

static int each_aside(struct og_chunk_file *f, uint32_t next, og_chunk_row *row, void *arg,
                      struct og_io_counts *read, struct og_err *err)
{
    const size_t block = f->form.block;
    int rc = 0;
    for (; next != NONE; next = f->link[next]) {
        OG_TRY(
            og__read_all(f->fd, f->read[2], block, (off_t)(next * (uint64_t)block), f->path, err));
        read->reads++;
        read->bytes += block;
        OG_TRY(each_of(f, f->read[2], f->form.rows, row, arg, err));
    }
out:
    return rc;
}

int og__chunk_each(struct og_chunk_file *f, uint32_t chunk, bool aside, og_chunk_row *row,
                   void *arg, struct og_io_counts *read, struct og_err *err)
{
    const struct chunk *c = &f->chunk[chunk];
    pthread_mutex_lock(&f->lock);
    while (c->pending > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    int rc = failure_of(f, err);
    pthread_mutex_unlock(&f->lock);
    if (rc == 0 && c->first != NONE)
        rc = aside ? each_aside(f, c->first, row, arg, read, err)
                   : each_block(f, c->first, row, arg, read, err);
    return rc == 0 && c->open ? each_of(f, c->open, c->rows, row, arg, err) : rc;
}

/* After a failure or an early end its blocks may be being written. */
void og__chunk_drop(struct og_chunk_file *f, uint32_t chunk)
{
    struct chunk *c = &f->chunk[chunk];
    pthread_mutex_lock(&f->lock);
    while (c->pending > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    if (c->first != NONE) {
        f->link[c->last] = f->free;
        f->free = c->first;
    }
    if (c->open)
        f->spare[f->n_spare++] = c->open;
    *c = (struct chunk){.first = NONE};
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

uint32_t og__chunk_blocks(const struct og_chunk_file *f, uint32_t chunk)
{
    return f->chunk[chunk].blocks;
}

struct appending {
    struct og_chunk_file *file;
    uint32_t to;
    struct og_io_counts *written;
};

static int append_row(void *arg, uint32_t row, const char *record, struct og_err *err)
{
    const struct appending *a = arg;
    return og__chunk_push(a->file, a->to, row, record, a->written, err);
}

static void append_blocks(struct og_chunk_file *f, struct chunk *from, struct chunk *to)
{
    pthread_mutex_lock(&f->lock);
    while (from->pending > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    if (to->first == NONE)
        to->first = from->first;
    else if (from->first != NONE)
        f->link[to->last] = from->first;
    to->last = from->first != NONE ? from->last : to->last;
    to->blocks += from->blocks;
    from->first = NONE;
    from->blocks = 0;
    pthread_mutex_unlock(&f->lock);
}

int og__chunk_append(struct og_chunk_file *f, uint32_t from, uint32_t to,
                     struct og_io_counts *written, struct og_err *err)
{
    struct chunk *c = &f->chunk[from];
    struct appending a = {f, to, written};
    append_blocks(f, c, &f->chunk[to]);
    const int rc = c->open ? each_of(f, c->open, c->rows, append_row, &a, err) : 0;
    og__chunk_drop(f, from);
    return rc;
}

void og__chunk_move(struct og_chunk_file *f, uint32_t from, uint32_t to)
{
    pthread_mutex_lock(&f->lock);
    while (f->chunk[from].pending > 0)
        pthread_cond_wait(&f->changed, &f->lock);
    f->chunk[to] = f->chunk[from];
    f->chunk[from] = (struct chunk){.first = NONE};
    pthread_mutex_unlock(&f->lock);
}

const struct og_reader *og__chunk_file_reader(const struct og_chunk_file *f)
{
    return f->reader;
}

/* ---- open and close ---- */

/* Through the page cache where direct writes are refused. */
static int open_file(struct og_chunk_file *f, struct og_err *err)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    f->fd = open(f->path, flags | O_CREAT | O_EXCL, 0600);
    if (f->fd < 0 || ftruncate(f->fd, (off_t)(f->form.n_blocks * (uint64_t)f->form.block)) < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot create", f->path);
    const int direct = open(f->path, flags | O_DIRECT);
    if (direct < 0)
        return 0;
    if (pwrite(direct, f->read[2], PAGE, 0) == PAGE) {
        close(f->fd);
        f->fd = direct;
    } else {
        close(direct);
    }
    return 0;
}

static void share_memory(struct og_chunk_file *f)
{
    char *at = f->aligned;
    for (; f->n_spare < blocks_in_memory(&f->form); at += f->form.block)
        f->spare[f->n_spare++] = at;
    for (int i = 0; i < 2; i++, at += f->at_once * f->form.block)
        f->read[i] = at;
    f->read[2] = at;
}

static int make_arrays(struct og_chunk_file *f, struct og_err *err)
{
    const struct og_chunk_form *form = &f->form;
    char *at = f->memory = og__alloc(f->budget, og__chunk_file_bytes(form), part, err);
    if (!at)
        return -ENOMEM;
    const size_t blocks = blocks_in_memory(form) + 2 * f->at_once + 1;
    f->aligned = (char *)og__round_up((uintptr_t)at, PAGE);
    at = f->aligned + blocks * form->block;
    f->spare = (void *)at;
    f->chunk = (void *)(at + blocks_in_memory(form) * sizeof(*f->spare));
    f->link = (void *)(f->chunk + form->n_chunks);
    for (uint32_t c = 0; c < form->n_chunks; c++)
        f->chunk[c].first = NONE;
    share_memory(f);
    return 0;
}

int og__chunk_file_open(struct og_chunk_file **out, const char *path,
                        const struct og_chunk_form *form, const struct og_reader_options *like,
                        struct og_budget *b, struct og_err *err)
{
    struct og_chunk_file *f = *out = calloc(1, sizeof(*f));
    const struct og_reader_options opt = og__chunk_reader_options(like);
    int rc;
    if (!f)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    *f = (struct og_chunk_file){.form = *form, .budget = b, .fd = -1, .free = NONE};
    f->at_once = blocks_at_once(form);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->path = strdup(path);
    OG_TRY(f->path ? make_arrays(f, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(open_file(f, err));
    rc = og__reader_open(&f->reader, path, 0, form->block, form->n_blocks, &opt, b, err);
    unlink(path);
    OG_TRY(rc);
    for (; f->n_threads < WRITERS; f->n_threads++) {
        rc = -pthread_create(&f->thread[f->n_threads], NULL, write_blocks, f);
        if (rc < 0)
            OG_TRY(og__fail_errno(err, rc, "lower --threads", "cannot start a thread"));
    }
out:
    return rc;
}

void og__chunk_file_close(struct og_chunk_file *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->ends = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    for (int i = 0; i < f->n_threads; i++)
        pthread_join(f->thread[i], NULL);
    og__reader_close(f->reader);
    if (f->fd >= 0)
        close(f->fd);
    og__release(f->budget, f->memory, f->memory ? og__chunk_file_bytes(&f->form) : 0, part);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    free(f->path);
    free(f);
}
