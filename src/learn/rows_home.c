#include "learn/rows_home.h"

#include "base/bits.h"
#include "base/file.h"
#include "dataset/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MODEL "model"

enum { ROOM = 256 * 1024 };

/* A group's file. */
struct rows {
    char *path;
    int fd;
    uint64_t n_rows;
    size_t bytes; /* of a record; 0: the group has no such rows */
    uint64_t *there;
    uint64_t *kept; /* the last checkpoint has them, and no undo */
};

/* embedding.undo: this, and then blocks. */
struct head {
    char magic[8];
    uint64_t from, to, hash; /* names; of what is before */
    uint64_t sealed, seal;   /* where blocks end that were synced; its hash. It may be torn. */
};
static const char magic[8] = "OGUNDO2";

/* Records of a block begin at a fixed place, after as many numbers as it may have. */
struct block {
    uint64_t hash; /* of all that follows, with the name that it leads back to */
    uint32_t group, n;
    uint32_t row[];
};

struct og_home {
    struct og_budget *budget;
    struct og_home_io *io;
    char *undo_path;
    int undo;
    off_t undo_end, sealed;
    uint64_t from, to;
    bool resumes, begun;
    size_t room;   /* of each: */
    char *buffer;  /* a block */
    char *putting; /* records [n_put] from `put` on, of group put_group */
    uint32_t put_group;
    uint64_t put, n_put;
    uint32_t n;
    struct rows rows[OG_MOST_TYPES];
};

/* ---- memory ---- */

static size_t bits_bytes(uint64_t n_rows)
{
    return og__bits_words(n_rows) * sizeof(uint64_t);
}

static uint32_t rows_of_block(size_t bytes)
{
    const size_t most = (ROOM - sizeof(struct block)) / (bytes + sizeof(uint32_t));
    return (uint32_t)OG_MAX(most, (size_t)1);
}

static size_t block_head(size_t bytes)
{
    return og__round_up(sizeof(struct block) + rows_of_block(bytes) * sizeof(uint32_t), 8);
}

size_t og__home_bytes(uint64_t n_rows)
{
    return 2 * bits_bytes(n_rows);
}

static size_t room_for(size_t bytes)
{
    return OG_MAX((size_t)ROOM, block_head(bytes) + rows_of_block(bytes) * bytes);
}

size_t og__home_buffer(size_t row_bytes)
{
    return 2 * room_for(row_bytes);
}

/* ---- files ---- */

void og__home_file(char name[32], int k)
{
    snprintf(name, 32, k < 0 ? "embedding.undo" : "embedding_%d.npy", k);
}

static int new_name(uint64_t *name, struct og_err *err)
{
    do {
        if (getrandom(name, sizeof(*name), 0) != (ssize_t)sizeof(*name))
            return og__fail_errno(err, -errno, NULL, "embeddings: no random number");
    } while (*name == 0); /* no checkpoint's */
    return 0;
}

/* One without records, that leads back to `from`. */
static int begin_undo(struct og_home *h, uint64_t from, struct og_err *err)
{
    struct head head = {.from = from};
    struct og_newfile f = {.fd = -1};
    int rc;
    memcpy(head.magic, magic, sizeof(magic));
    OG_TRY(new_name(&head.to, err));
    head.hash = XXH3_64bits(&head, offsetof(struct head, hash));
    OG_TRY(og__newfile_open(&f, h->undo_path, err));
    OG_TRY(og__write_all(f.fd, &head, sizeof(head), 0, h->undo_path, err));
    const int fd = fcntl(f.fd, F_DUPFD_CLOEXEC, 0);
    OG_TRY(fd < 0 ? og__fail_errno(err, -errno, NULL, "%s", h->undo_path) : 0);
    if (h->undo >= 0)
        close(h->undo);
    h->undo = fd;
    h->undo_end = h->sealed = sizeof(head);
    OG_TRY(og__newfile_commit(&f, err));
    h->from = from;
    h->to = head.to;
out:
    og__newfile_abandon(&f);
    return rc;
}

static int make_file(const struct og_home *h, struct rows *r, struct og_err *err)
{
    const int64_t shape[2] = {(int64_t)r->n_rows, (int64_t)(r->bytes / sizeof(float))};
    char header[OG__HOME_RECORD];
    const size_t n = og__npy_header(header, OG__NPY_F32, 2, shape, OG__HOME_RECORD);
    if (h->resumes) /* what a run left that ended before its first checkpoint */
        unlink(r->path);
    r->fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (r->fd < 0)
        return og__fail_errno(err, -errno, errno == EEXIST ? "choose another --run" : NULL,
                              "%s: cannot create", r->path);
    const int rc = og__write_all(r->fd, header, n, 0, r->path, err);
    if (rc == 0 && ftruncate(r->fd, (off_t)(n + r->n_rows * r->bytes)) < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot make a file of this size", r->path);
    return rc;
}

/* The first rows are about to come: nothing is there. By the undo a run is recognised (rundir.h).
 */
static int begin(struct og_home *h, struct og_err *err)
{
    int rc = 0;
    if (h->begun)
        return 0;
    OG_TRY(begin_undo(h, 0, err));
    for (uint32_t k = 0; k < h->n; k++)
        if (h->rows[k].bytes > 0)
            OG_TRY(make_file(h, &h->rows[k], err));
    h->begun = true;
out:
    return rc;
}

static int open_rows(struct og_home *h, const char *folder, const struct og_group *of,
                     struct rows *r, struct og_err *err)
{
    char name[32];
    og__home_file(name, (int)(r - h->rows));
    r->path = og__path_join(folder, name);
    if (!r->path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    r->n_rows = (uint64_t)of->n_nodes;
    r->there = og__alloc(h->budget, og__home_bytes(r->n_rows), MODEL, err);
    if (!r->there)
        return -ENOMEM;
    r->kept = r->there + og__bits_words(r->n_rows);
    r->bytes = og__row_bytes(of);
    h->room = OG_MAX(h->room, room_for(r->bytes));
    return 0;
}

int og__home_open(struct og_home **out, const char *folder, const struct og_graph *g, bool resumes,
                  struct og_home_io *io, struct og_budget *b, struct og_err *err)
{
    struct og_home *h = *out = calloc(1, sizeof(*h));
    char name[32];
    int rc;
    if (!h)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    *h = (struct og_home){.budget = b, .io = io, .undo = -1, .resumes = resumes, .n = g->n_groups};
    for (uint32_t k = 0; k < h->n; k++)
        h->rows[k].fd = -1;
    og__home_file(name, -1);
    h->undo_path = og__path_join(folder, name);
    OG_TRY(h->undo_path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", folder));
    for (uint32_t k = 0; k < h->n; k++)
        if (g->group[k].state > 0)
            OG_TRY(open_rows(h, folder, &g->group[k], &h->rows[k], err));
    h->buffer = og__alloc(b, 2 * h->room, MODEL, err);
    OG_TRY(h->buffer ? 0 : -ENOMEM);
    h->putting = h->buffer + h->room;
out:
    return rc;
}

void og__home_close(struct og_home *h)
{
    if (!h)
        return;
    for (uint32_t k = 0; k < h->n; k++) {
        struct rows *r = &h->rows[k];
        og__release(h->budget, r->there, r->there ? og__home_bytes(r->n_rows) : 0, MODEL);
        if (r->fd >= 0)
            close(r->fd);
        free(r->path);
    }
    if (h->undo >= 0)
        close(h->undo);
    og__release(h->budget, h->buffer, h->buffer ? 2 * h->room : 0, MODEL);
    free(h->undo_path);
    free(h);
}

uint64_t *og__home_there(struct og_home *h, uint32_t k)
{
    return h->rows[k].there;
}

static off_t place_of(const struct rows *r, uint64_t row)
{
    return (off_t)(OG__HOME_RECORD + row * r->bytes);
}

int og__home_get(const struct og_home *h, uint32_t k, uint64_t first, size_t n, float *records,
                 struct og_err *err)
{
    const struct rows *r = &h->rows[k];
    if (r->fd < 0) /* nothing is there */
        return 0;
    return og__read_all(r->fd, records, n * r->bytes, place_of(r, first), r->path, err);
}

/* ---- records that are about to be overwritten ---- */

static void count(struct og_io_counts *c, size_t bytes)
{
    c->reads++;
    c->bytes += bytes;
}

static uint64_t hash_of(const struct og_home *h, const struct block *b, size_t bytes)
{
    return XXH3_64bits_withSeed(&b->group, bytes - offsetof(struct block, group), h->from);
}

static int write_block(struct og_home *h, uint32_t k, struct og_err *err)
{
    struct block *b = (void *)h->buffer;
    const size_t bytes = block_head(h->rows[k].bytes) + b->n * h->rows[k].bytes;
    int rc = 0;
    if (b->n == 0)
        return 0;
    b->group = k;
    b->hash = hash_of(h, b, bytes);
    OG_TRY(og__write_all(h->undo, b, bytes, h->undo_end, h->undo_path, err));
    h->undo_end += (off_t)bytes;
    count(&h->io->written, bytes);
out:
    b->n = 0;
    return rc;
}

static bool needs_undo(const struct rows *r, const uint64_t *changed, uint64_t row)
{
    return row < r->n_rows && og__bits_has(changed, row) && og__bits_has(r->kept, row);
}

int og__home_protect(struct og_home *h, uint32_t k, const uint64_t *changed, struct og_err *err)
{
    struct rows *r = &h->rows[k];
    const uint32_t most = rows_of_block(r->bytes);
    struct block *b = (void *)h->buffer;
    int rc;
    OG_TRY(begin(h, err));
    b->n = 0;
    for (uint64_t i = 0, n; (i = og__bits_next(r->kept, r->n_rows, i)) < r->n_rows; i += n) {
        char *to = h->buffer + block_head(r->bytes) + b->n * r->bytes;
        for (n = 0; b->n + n < most && needs_undo(r, changed, i + n); n++)
            b->row[b->n + n] = (uint32_t)(i + n);
        if (n == 0) {
            n = 1;
            continue;
        }
        OG_TRY(og__read_all(r->fd, to, n * r->bytes, place_of(r, i), r->path, err));
        count(&h->io->read, n * r->bytes);
        b->n += (uint32_t)n;
        if (b->n == most)
            OG_TRY(write_block(h, k, err));
    }
    OG_TRY(write_block(h, k, err));
    for (size_t w = 0; w < og__bits_words(r->n_rows); w++) {
        r->kept[w] &= ~changed[w];
        r->there[w] |= changed[w];
    }
out:
    return rc;
}

static int sync_file(int fd, const char *path, struct og_err *err)
{
    return fd < 0 || fsync(fd) == 0 ? 0
                                    : og__fail_errno(err, -errno, NULL, "%s: cannot flush", path);
}

static uint64_t seal_of(const struct head *head)
{
    return XXH3_64bits_withSeed(&head->sealed, sizeof(head->sealed), head->to);
}

/* The head says how much of it was synced. Rows are overwritten after that. */
int og__home_protected(struct og_home *h, struct og_err *err)
{
    const size_t at = offsetof(struct head, sealed);
    struct head head = {.to = h->to, .sealed = (uint64_t)h->undo_end};
    int rc = 0;
    if (h->undo_end == h->sealed)
        return 0;
    head.seal = seal_of(&head);
    OG_TRY(sync_file(h->undo, h->undo_path, err));
    OG_TRY(og__write_all(h->undo, &head.sealed, sizeof(head) - at, (off_t)at, h->undo_path, err));
    OG_TRY(sync_file(h->undo, h->undo_path, err));
    h->sealed = h->undo_end;
out:
    return rc;
}

/* ---- records of now ---- */

static int write_put(struct og_home *h, struct og_err *err)
{
    const struct rows *r = &h->rows[h->put_group];
    const size_t bytes = h->n_put * r->bytes;
    h->n_put = 0;
    if (bytes == 0)
        return 0;
    count(&h->io->written, bytes);
    return og__write_all(r->fd, h->putting, bytes, place_of(r, h->put), r->path, err);
}

int og__home_put(struct og_home *h, uint32_t k, uint32_t row, const void *record,
                 struct og_err *err)
{
    const size_t bytes = h->rows[k].bytes;
    int rc = 0;
    if (k != h->put_group || row != h->put + h->n_put || (h->n_put + 1) * bytes > h->room) {
        OG_TRY(write_put(h, err));
        h->put_group = k;
        h->put = row;
    }
    memcpy(h->putting + h->n_put++ * bytes, record, bytes);
out:
    return rc;
}

int og__home_sync(struct og_home *h, struct og_err *err)
{
    int rc;
    OG_TRY(begin(h, err));
    OG_TRY(write_put(h, err));
    for (uint32_t k = 0; k < h->n; k++)
        OG_TRY(sync_file(h->rows[k].fd, h->rows[k].path, err));
out:
    return rc;
}

/* ---- checkpoints ---- */

uint64_t og__home_name(const struct og_home *h)
{
    return h->to;
}

int og__home_commit(struct og_home *h, struct og_err *err)
{
    const int rc = begin_undo(h, h->to, err);
    for (uint32_t k = 0; rc == 0 && k < h->n; k++)
        if (h->rows[k].bytes > 0)
            memcpy(h->rows[k].kept, h->rows[k].there, bits_bytes(h->rows[k].n_rows));
    return rc;
}

static const char other_hint[] =
    "its files belong together: bring back those of one moment, or start another run";

/* -ENOENT would say that there is nothing to resume. */
static int check_there(const char *path, const char *resume, struct og_err *err)
{
    const int rc = og__exists(NULL, path, err);
    return rc != 0
               ? OG_MIN(rc, 0)
               : og__fail(err, -EINVAL, other_hint, "%s: missing; %s needs its rows", path, resume);
}

static int find_file(struct rows *r, const char *resume, struct og_err *err)
{
    struct og_npy npy;
    int rc;
    OG_TRY(check_there(r->path, resume, err));
    OG_TRY(og__npy_open(&npy, r->path, err));
    const bool fits = npy.type == OG__NPY_F32 && npy.ndim == 2 &&
                      npy.shape[0] == (int64_t)r->n_rows && npy.offset == OG__HOME_RECORD &&
                      npy.shape[1] == (int64_t)(r->bytes / sizeof(float));
    og__npy_close(&npy);
    if (!fits)
        return og__fail(err, -EINVAL, other_hint, "%s: not the rows of this run", r->path);
    r->fd = open(r->path, O_RDWR | O_CLOEXEC);
    rc = r->fd >= 0 ? 0 : og__fail_errno(err, -errno, NULL, "%s: cannot open", r->path);
out:
    return rc;
}

/* A block at undo_end. 0: there is none, or it was cut short. */
static int read_block(struct og_home *h, off_t size, struct og_err *err)
{
    struct block *b = (void *)h->buffer;
    const off_t at = h->undo_end;
    int rc;
    if (size - at < (off_t)sizeof(*b))
        return 0;
    OG_TRY(og__read_all(h->undo, b, sizeof(*b), at, h->undo_path, err));
    const size_t record = b->group < h->n ? h->rows[b->group].bytes : 0;
    if (record == 0 || b->n == 0 || b->n > rows_of_block(record))
        return 0;
    const size_t bytes = block_head(record) + b->n * record;
    if (size - at < (off_t)bytes)
        return 0;
    OG_TRY(og__read_all(h->undo, b, bytes, at, h->undo_path, err));
    count(&h->io->read, bytes);
    if (b->hash != hash_of(h, b, bytes))
        return 0;
    h->undo_end += (off_t)bytes;
    return 1;
out:
    return rc;
}

static int go_back(struct og_home *h, struct og_err *err)
{
    const struct block *b = (void *)h->buffer;
    struct stat st;
    int rc = fstat(h->undo, &st) < 0 ? og__fail_errno(err, -errno, NULL, "%s", h->undo_path) : 0;
    if (rc < 0)
        return rc;
    while ((rc = read_block(h, st.st_size, err)) > 0) {
        const struct rows *r = &h->rows[b->group];
        const char *record = h->buffer + block_head(r->bytes);
        for (uint32_t i = 0; i < b->n; i++, record += r->bytes)
            if (b->row[i] < r->n_rows)
                OG_TRY(og__home_put(h, b->group, b->row[i], record, err));
    }
    OG_TRY(rc);
    if (h->undo_end < h->sealed) /* what comes later was not overwritten yet */
        OG_TRY(og__fail(err, -EINVAL, other_hint, "%s: damaged at byte %lld", h->undo_path,
                        (long long)h->undo_end));
    OG_TRY(og__home_sync(h, err));
out:
    return rc;
}

int og__home_restore(struct og_home *h, uint64_t name, const char *resume, struct og_err *err)
{
    struct head head = {.from = 0};
    int rc = 0;
    for (uint32_t k = 0; k < h->n; k++)
        if (h->rows[k].bytes > 0)
            OG_TRY(find_file(&h->rows[k], resume, err));
    OG_TRY(check_there(h->undo_path, resume, err));
    h->undo = open(h->undo_path, O_RDWR | O_CLOEXEC);
    if (h->undo < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", h->undo_path));
    OG_TRY(og__read_all(h->undo, &head, sizeof(head), 0, h->undo_path, err));
    if (memcmp(head.magic, magic, sizeof(magic)) != 0 ||
        head.hash != XXH3_64bits(&head, offsetof(struct head, hash)) ||
        (head.from != name && head.to != name))
        OG_TRY(og__fail(err, -EINVAL, other_hint,
                        "%s: the rows of embeddings are of another checkpoint than %s",
                        h->undo_path, resume));
    h->begun = true;
    h->from = head.from;
    h->undo_end = sizeof(head);
    h->sealed = head.seal == seal_of(&head) ? (off_t)head.sealed : 0;
    if (head.from == name)
        OG_TRY(go_back(h, err));
    h->to = name;
    OG_TRY(og__home_commit(h, err));
out:
    return rc;
}
