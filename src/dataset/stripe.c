/* og_stripe: divides the features of a dataset among folders, a disk each, one node type after
 * another.
 *
 *   features.npy ──read once, a unit at a time──> part 1, part 2, ...   under temporary names
 *        │ checksum as declared?                     │ read back: as written?
 *        └────────────────────────────┬──────────────┘
 *                  parts get their names ──> meta.json is replaced ──> what it replaces is removed
 *
 * Replacing meta.json switches the dataset from the old state to the new one. Parts without it are
 * unreferenced files; the next run with the same folders overwrites them. Files to remove are
 * listed in meta.json ("replaces") until they are gone, so that a run after a kill finishes the
 * removal.
 *
 * A part's name has a hash of the dataset's path, its contents and the folders, in order. So parts
 * never overwrite those in use. Those of another dataset are not removed, even of a copy whose
 * meta.json still names them. */
#include "base/file_lock.h"
#include "base/hex.h"
#include "base/sized.h"
#include "dataset/identity.h"
#include "dataset/striper.h"
#include "dataset/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the request ---- */

static int add_folder(struct og_striper *s, const char *name, struct og_err *err)
{
    static const char hint[] = "name folders that are there, on a disk each: mkdir makes one";
    struct stat st;
    if (s->stripes.parts == OG_MOST_PARTS)
        return og__fail(err, -EINVAL, NULL, "--over: more than %d folders", OG_MOST_PARTS);
    char *path = realpath(name, NULL);
    if (!path)
        return og__fail_errno(err, -errno, hint, "--over: %s", *name ? name : "\"\"");
    s->folder[s->stripes.parts++] = path;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return og__fail(err, -ENOTDIR, hint, "--over: %s: not a folder", name);
    return 0;
}

/* False: the group has no features. */
static bool take_group(struct og_striper *s, uint32_t group)
{
    s->group = &s->ds->group[group];
    s->name = og__group_array(s->ds, group);
    if (s->group->dim == 0)
        return false;
    s->stripes.unit = og__stripe_unit(og__file_row_bytes(s->group));
    return true;
}

static int take_folders(struct og_striper *s, const char *over, struct og_err *err)
{
    char *rest = s->over = strdup(over);
    if (!rest)
        return og__striper_no_memory(s, err);
    for (char *name; (name = strsep(&rest, ",")) != NULL;)
        OG_DO(add_folder(s, name, err));
    if (s->stripes.parts < 2)
        return og__fail(err, -EINVAL, "separate them by a comma: --over /disk1/dir,/disk2/dir",
                        "--over %s: two folders or more are expected", over);
    return 0;
}

/* Bytes of all groups that are not yet striped as requested. */
static int part_bytes(struct og_striper *s, uint64_t bytes[OG_MOST_PARTS], struct og_err *err)
{
    for (uint32_t k = 0; k < s->ds->n_groups; k++) {
        bool so;
        if (!take_group(s, k))
            continue;
        OG_DO(og__striper_lies_so(s, &so, err));
        for (uint32_t p = 0; p < s->stripes.parts && !so; p++)
            bytes[p] +=
                OG__NPY_HEADER + og__part_rows(&s->stripes, p, (uint64_t)s->group->n_nodes) *
                                     og__file_row_bytes(s->group);
    }
    return 0;
}

/* Room for all parts that a file system is to take. */
static int check_room(struct og_striper *s, struct og_err *err)
{
    uint64_t bytes[OG_MOST_PARTS] = {0};
    char text[2][32];
    OG_DO(part_bytes(s, bytes, err));
    for (uint32_t p = 0; p < s->stripes.parts; p++) {
        uint64_t needed = 0;
        const uint64_t there = og__disk_free(s->folder[p]);
        for (uint32_t q = 0; q < s->stripes.parts; q++)
            needed += og__same_disk(s->folder[p], s->folder[q]) ? bytes[q] : 0;
        if (there > 0 && needed > there)
            return og__fail(err, -ENOSPC, "free space there, or name another folder",
                            "%s: the features take %s there, %s are free", s->folder[p],
                            og__human_bytes(text[0], (double)needed),
                            og__human_bytes(text[1], (double)there));
    }
    return 0;
}

/* ---- writing ---- */

/* The header is known before the first row, so the written file can be verified against it. */
static int open_target(struct og_striper *s, uint32_t p, struct og_err *err)
{
    struct og_stripe_target *t = &s->target[p];
    const struct og_npy *f = &s->group->rows;
    char header[OG__NPY_HEADER];
    const int64_t shape[2] = {(int64_t)og__part_rows(&s->stripes, p, (uint64_t)s->group->n_nodes),
                              f->shape[1]};
    char *path = og__striper_part_path(s, (const char *const *)s->folder, s->stripes.parts, p);
    t->meant = XXH3_createState();
    int rc;
    OG_TRY(path && t->meant ? 0 : og__striper_no_memory(s, err));
    XXH3_64bits_reset(t->meant);
    XXH3_64bits_update(t->meant, header, og__npy_header(header, f->type, 2, shape, OG__NPY_HEADER));
    OG_TRY(og__newfile_open(&t->file, path, err));
    OG_TRY(og__npy_over(&t->writer, t->file.fd, path, f->type, 0, f->shape[1], err));
out:
    free(path);
    return rc;
}

/* The number of present feature files: one, or the parts. */
static uint32_t n_sources(const struct og_striper *s)
{
    const struct og_npy_parts *parts = s->group->rows.parts;
    return parts ? parts->stripes.parts : 1;
}

static const struct og_npy *source_of(const struct og_striper *s, uint32_t i)
{
    const struct og_npy *f = &s->group->rows;
    return f->parts ? &f->parts->part[i] : f;
}

static int open_sources(struct og_striper *s, struct og_err *err)
{
    char *head = NULL;
    struct stat st;
    int rc = 0;
    if (fstat(source_of(s, 0)->fd, &st) < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", source_of(s, 0)->path));
    s->source_bytes = st.st_size;
    for (uint32_t i = 0; i < n_sources(s); i++) {
        const struct og_npy *f = source_of(s, i);
        free(head);
        head = malloc((size_t)f->offset + 1);
        s->source[i] = XXH3_createState();
        OG_TRY(head && s->source[i] ? 0 : og__striper_no_memory(s, err));
        OG_TRY(og__read_all(f->fd, head, (size_t)f->offset, 0, f->path, err));
        XXH3_64bits_reset(s->source[i]);
        XXH3_64bits_update(s->source[i], head, (size_t)f->offset);
    }
out:
    free(head);
    return rc;
}

/* Adds bytes [at, at + bytes) of the elements, which are in s->unit, to the hashes of their files.
 * Drops their pages, as they are read once. */
static void sum_sources(struct og_striper *s, int64_t at, size_t bytes)
{
    const struct og_npy *f = &s->group->rows;
    for (size_t done = 0; done < bytes;) {
        const struct og_npy_piece piece = og__npy_piece(f, at + (int64_t)done, bytes - done);
        const size_t i = f->parts ? (size_t)(piece.file - f->parts->part) : 0;
        XXH3_64bits_update(s->source[i], s->unit + done, piece.bytes);
        posix_fadvise(piece.file->fd, piece.at, (off_t)piece.bytes, POSIX_FADV_DONTNEED);
        done += piece.bytes;
    }
}

static int copy_unit(struct og_striper *s, const struct og_unit *u, int64_t n, struct og_err *err)
{
    const struct og_npy *f = &s->group->rows;
    struct og_stripe_target *t = &s->target[u->part];
    const size_t row_bytes = og__file_row_bytes(s->group);
    const size_t bytes = (size_t)n * row_bytes;
    OG_DO(og__npy_read(f, (int64_t)u->first, n, s->unit, err));
    sum_sources(s, (int64_t)(u->first * row_bytes), bytes);
    XXH3_64bits_update(t->meant, s->unit, bytes);
    return og__npy_append(t->writer, s->unit, n, err);
}

static int copy_all(struct og_striper *s, struct og_err *err)
{
    const int64_t rows = s->group->n_nodes;
    const int64_t row_bytes = (int64_t)og__file_row_bytes(s->group);
    for (int64_t row = 0; row < rows;) {
        const struct og_unit u = og__unit_of(&s->stripes, (uint64_t)row);
        const int64_t n = OG_MIN(rows - row, (int64_t)(u.end - u.first));
        OG_DO(copy_unit(s, &u, n, err));
        row += n;
        OG_DO(og__writing_goes_on(s->observer, "stripe", "bytes", row * row_bytes, rows * row_bytes,
                                  err));
    }
    return 0;
}

/* Damaged features are not striped: parts with sound checksums would hide it. */
static int check_sources(const struct og_striper *s, struct og_err *err)
{
    for (uint32_t i = 0; i < n_sources(s); i++) {
        const char *said = og__striper_checksum(s, i);
        const struct og_hex found = og__hex(XXH3_64bits_digest(s->source[i]));
        if (said && strcmp(said, found.digits) != 0)
            return og__fail(err, -EIO, "nothing was changed; `outgrow verify` says what is wrong",
                            "%s: checksum %s, meta.json says %s", source_of(s, i)->path,
                            found.digits, said);
    }
    return 0;
}

/* The time of what it is a copy of, the latest of its files'. */
static int copy_time(const struct og_striper *s, int fd)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    struct stat st;
    for (uint32_t i = 0; i < n_sources(s); i++) {
        if (fstat(source_of(s, i)->fd, &st) < 0)
            return -errno;
        const struct timespec *t = &st.st_mtim;
        if (i == 0 || t->tv_sec > times[1].tv_sec ||
            (t->tv_sec == times[1].tv_sec && t->tv_nsec > times[1].tv_nsec))
            times[1] = *t;
    }
    return futimens(fd, times) < 0 ? -errno : 0;
}

/* Read back from the disk, as far as the kernel lets us, and compared. */
static int finish_target(struct og_striper *s, struct og_stripe_target *t, struct og_err *err)
{
    struct og_npy_writer *w = t->writer;
    int rc;
    OG_TRY(og__npy_sync(w, err));
    (void)posix_fadvise(t->file.fd, 0, 0, POSIX_FADV_DONTNEED);
    t->writer = NULL;
    OG_TRY(og__npy_finish(w, &t->checksum, err));
    if (t->checksum != XXH3_64bits_digest(t->meant))
        OG_TRY(og__fail(err, -EIO, "the disk may be failing: see the kernel's log (dmesg)",
                        "%s: reads back other bytes than were written", t->file.path));
    rc = copy_time(s, t->file.fd);
    if (rc < 0)
        OG_TRY(og__fail_errno(err, rc, NULL, "%s: cannot set its time", t->file.path));
out:
    return rc;
}

static int place_target(struct og_stripe_target *t, struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    char *path = strdup(t->file.path); /* commit forgets it */
    int rc;
    OG_TRY(path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "stripe"));
    OG_TRY(og__newfile_commit(&t->file, err));
    t->placed = true;
    t->file.path = path;
    path = NULL;
    OG_TRY(og__npy_open(&a, t->file.path, err));
    OG_TRY(og__array_contents(&a, &t->contents, err));
out:
    og__npy_close(&a);
    free(path);
    return rc;
}

static int write_parts(struct og_striper *s, struct og_err *err)
{
    s->unit = malloc((size_t)s->stripes.unit * og__file_row_bytes(s->group));
    OG_DO(s->unit ? 0 : og__striper_no_memory(s, err));
    OG_DO(open_sources(s, err));
    for (uint32_t p = 0; p < s->stripes.parts; p++)
        OG_DO(open_target(s, p, err));
    OG_DO(copy_all(s, err));
    OG_DO(check_sources(s, err));
    for (uint32_t p = 0; p < s->stripes.parts; p++)
        OG_DO(finish_target(s, &s->target[p], err));
    for (uint32_t p = 0; p < s->stripes.parts; p++)
        OG_DO(place_target(&s->target[p], err));
    return 0;
}

/* ---- all of it ---- */

/* Releases what belongs to the current group. */
static void close_group(struct og_striper *s)
{
    for (uint32_t p = 0; p < OG_MOST_PARTS; p++) {
        struct og_stripe_target *t = &s->target[p];
        og__npy_discard(t->writer);
        if (t->placed && !s->switched)
            unlink(t->file.path);
        if (t->placed)
            free(t->file.path);
        else
            og__newfile_abandon(&t->file);
        XXH3_freeState(t->meant);
        XXH3_freeState(s->source[p]);
        *t = (struct og_stripe_target){.file.fd = -1};
        s->source[p] = NULL;
    }
    free(s->unit);
    s->unit = NULL;
    s->switched = false;
}

static void close_striper(struct og_striper *s)
{
    for (uint32_t p = 0; p < OG_MOST_PARTS; p++)
        free(s->folder[p]);
    json_decref(s->meta);
    free(s->over);
    free(s->home);
    og__graph_close(s->ds);
    if (s->lock >= 0)
        close(s->lock);
}

static int stripe_group(struct og_striper *s, struct og_err *err)
{
    bool so = false;
    int rc;
    OG_TRY(og__striper_lies_so(s, &so, err));
    if (so)
        return 0;
    OG_TRY(write_parts(s, err));
    OG_TRY(og__striper_switch_meta(s, err));
    OG_TRY(og__striper_remove_replaced(s, err));
out:
    close_group(s);
    return rc;
}

/* Stripes one group after another; the dataset is valid between any two. */
static int stripe(struct og_striper *s, const char *over, struct og_err *err)
{
    bool any = false;
    OG_DO(take_folders(s, over, err));
    OG_DO(og__striper_read_meta(s, err));
    for (uint32_t k = 0; k < s->ds->n_groups; k++)
        if (take_group(s, k)) /* of one that was killed */
            OG_DO(og__striper_remove_replaced(s, err));
    OG_DO(check_room(s, err));
    for (uint32_t k = 0; k < s->ds->n_groups; k++) {
        if (!take_group(s, k))
            continue;
        any = true;
        OG_DO(stripe_group(s, err));
    }
    if (!any)
        return og__fail(err, -EINVAL, "only features from files can be striped",
                        "%s: no type of nodes has features", s->ds->path);
    return 0;
}

/* Locks the folder for this process until the descriptor is closed. Two runs at once would
 * overwrite and remove each other's parts. */
static int take_dataset(struct og_striper *s, const char *dataset, struct og_err *err)
{
    s->lock = open(dataset, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock < 0 || og__file_lock(s->lock) != -EBUSY)
        return 0; /* opening the dataset reports the error */
    return og__fail(err, -EBUSY, "wait until it ends",
                    "%s: another process is writing its features", dataset);
}

static int open_dataset(struct og_striper *s, const char *dataset, struct og_err *err)
{
    int rc;
    OG_TRY(take_dataset(s, dataset, err));
    OG_TRY(og__graph_open(dataset, &s->ds, err));
    s->home = realpath(dataset, NULL);
    if (!s->home)
        rc = og__fail_errno(err, -errno, NULL, "%s", dataset);
out:
    return rc;
}

int og_stripe(const char *dataset, const char *over, bool keep, const struct og_observer *observer,
              struct og_err *err)
{
    struct og_striper s = {.observer = observer, .keep = keep, .lock = -1};
    int rc = OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    if (observer)
        s.log = (struct og_log){observer->message, observer->arg};
    for (uint32_t p = 0; p < OG_MOST_PARTS; p++)
        s.target[p].file.fd = -1;
    rc = open_dataset(&s, dataset, err);
    rc = rc < 0 ? rc : stripe(&s, over, err);
    close_striper(&s);
    return rc;
}
