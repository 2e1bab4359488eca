/* `outgrow bench io`: measures this disk and stores its profile.
 *
 *     write 2 GiB ──> points: (engine, size, depth, order) ──> rates ──> profile ──> cache folder
 *     (unnamed)   └─> the same on an old file, if there is one
 *
 * A file that was just written may be in a cache of the host or controller. Then its rates are too
 * high. Files that are an hour old or more are less likely to be. So the largest of those is read
 * too (two levels down, never written); if there is one, it decides the profile. Only an existing
 * file can be old.
 *
 * A point is measured again while other programs use the disk, as the kernel counts its bytes. If
 * they do not end, the profile says what share of the bytes was theirs. */
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "bench/bench.h"
#include "io/engine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES  (2 * OG_GIB)
#define BLOCK_BYTES (4 * OG_MIB)
enum {
    OLD_SECONDS = 3600,
    LEAST_OLD_BYTES = 256 * 1024 * 1024,
    MOST_ENTRIES = 10000, /* searched for an old file */
};
static const double point_seconds = 3;
enum { MOST_TRIES = 4 }; /* of a point */
static const double nearly_best =
    0.97; /* a smaller depth with this fraction of the best is better */

struct shape {
    size_t bytes;
    int depth; /* threads, for page faults */
    bool sequential;
};
struct point {
    struct shape shape;
    struct og_io_rate rate;
};

static const struct shape fresh_shapes[] = {
    {64 * 1024, 32, true}, {256 * 1024, 4, true}, {256 * 1024, 16, true},  {1024 * 1024, 8, true},
    {512, 128, false},     {4096, 1, false},      {4096, 16, false},       {4096, 64, false},
    {4096, 128, false},    {4096, 256, false},    {16 * 1024, 128, false}, {64 * 1024, 64, false},
};
static const struct shape pread_shapes[] = {{256 * 1024, 16, true}, {4096, 32, false}};
static const int fault_threads[] = {4, 8, 16, 32, 64};
enum { N_FRESH = OG_COUNT(fresh_shapes), N_PREAD = OG_COUNT(pread_shapes) };
enum { N_FAULTS = OG_COUNT(fault_threads), N_OLD = 2 };

struct bench {
    const char *folder;
    const struct og_observer *observer;
    struct og_log log;
    const struct og_io_ops *ops; /* uring, or its fallback */
    struct og_io_file file;
    char *old_path; /* NULL = none */
    time_t old_age;
    double write_rate;
    double others;   /* the largest share of other programs in the disk's bytes during a point */
    int done, total; /* measured points */
    struct point fresh[N_FRESH], pread[N_PREAD], old[N_OLD];
    struct point faults[N_FAULTS];
    struct og_disk_profile profile;
};

static bool stopped(const struct bench *b)
{
    return b->observer && og__stop_requested(b->observer->stop);
}

static int interrupted(struct og_err *err)
{
    return og__fail(err, OG_INTERRUPTED, NULL, "bench io: interrupted");
}

static void show_progress(const struct bench *b, const char *stage, uint64_t done, uint64_t total)
{
    const struct og_progress p = {.size = sizeof(p), .stage = stage, .done = done, .total = total};
    if (b->observer && b->observer->progress)
        b->observer->progress(b->observer->arg, &p);
}

/* ---- the file ---- */

static int check_space(const struct bench *b, struct og_err *err)
{
    struct statvfs fs;
    char need[32];
    if (statvfs(b->folder, &fs) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", b->folder);
    if ((double)fs.f_bavail * (double)fs.f_frsize >= 1.05 * (double)FILE_BYTES)
        return 0;
    return og__fail(err, -ENOSPC, "use --path with another folder", "%s: less than %s free",
                    b->folder, og__human_bytes(need, 1.05 * (double)FILE_BYTES));
}

/* Creates an unnamed file, which disappears with the process. *fd is for writing; b->file reads,
 * directly if possible. */
static int create_file(struct bench *b, int *fd, struct og_err *err)
{
    char *name = NULL;
    if (asprintf(&name, "%s/outgrow-bench-XXXXXX", b->folder) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", b->folder);
    *fd = mkostemp(name, O_CLOEXEC);
    int rc = *fd < 0 ? og__fail_errno(err, -errno, "use --path with another folder",
                                      "%s: cannot create a file", b->folder)
                     : og__io_file_open(&b->file, name, true, &b->log, err);
    if (*fd >= 0)
        unlink(name);
    free(name);
    b->file.size = FILE_BYTES;
    return rc;
}

/* Writes blocks that storage can neither compress nor deduplicate: random words, different in each
 * block. */
static int write_blocks(struct bench *b, int fd, uint32_t *words, struct og_err *err)
{
    const uint32_t n = BLOCK_BYTES / sizeof(*words);
    for (uint32_t i = 0; i < n; i += 4)
        og__philox(1, OG__STREAM_BENCH, 0, 0, 0, i, 0, words + i);
    for (uint32_t block = 0; block < FILE_BYTES / BLOCK_BYTES; block++) {
        uint32_t key[4];
        uint64_t at = block * (uint64_t)BLOCK_BYTES;
        og__philox(1, OG__STREAM_BENCH, 0, 1, 0, block, 0, key);
        for (uint32_t i = 0; i < n; i++)
            words[i] ^= key[i % 4];
        if (stopped(b))
            return interrupted(err);
        OG_DO(og__write_all(fd, words, BLOCK_BYTES, (off_t)at, b->file.path, err));
        show_progress(b, "write", at + BLOCK_BYTES, FILE_BYTES);
    }
    return 0;
}

static int write_file(struct bench *b, struct og_err *err)
{
    int fd = -1;
    uint32_t *words = NULL;
    int rc = 0;
    OG_TRY(check_space(b, err));
    OG_TRY(create_file(b, &fd, err));
    (void)syncfs(fd); /* what an import has just written goes to the disk before */
    words = og__alloc(NULL, BLOCK_BYTES, "benchmark", err);
    OG_TRY(words ? 0 : -ENOMEM);
    (void)fcntl(fd, F_SETFL, O_DIRECT); /* like packed files, if the file system allows */
    double begin = og__now();
    OG_TRY(write_blocks(b, fd, words, err));
    if (fdatasync(fd) < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot flush", b->file.path));
    b->write_rate = (double)FILE_BYTES / (og__now() - begin);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
out:
    og__release(NULL, words, BLOCK_BYTES, "benchmark");
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- an old file ---- */

struct search {
    dev_t device;
    time_t now;
    int entries_left;
    off_t best_bytes;
    time_t best_age;
    char *best;
};

/* Sparse files are in memory, not on disk; files on other devices are on other disks. */
static bool is_old_file(const struct search *s, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == s->device && st->st_size >= LEAST_OLD_BYTES &&
           st->st_blocks >= st->st_size / 512 / 10 * 9 && s->now - st->st_mtime >= OLD_SECONDS;
}

static void look_at(struct search *s, const char *path, const struct stat *st)
{
    if (is_old_file(s, st) && st->st_size > s->best_bytes && access(path, R_OK) == 0) {
        free(s->best);
        s->best = strdup(path);
        s->best_bytes = st->st_size;
        s->best_age = s->now - st->st_mtime;
    }
}

static void search_folder(struct search *s, const char *folder, int levels)
{
    struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)) && s->entries_left-- > 0) {
        struct stat st;
        char *path = entry->d_name[0] == '.' ? NULL : og__path_join(folder, entry->d_name);
        if (path && lstat(path, &st) == 0) {
            look_at(s, path, &st);
            if (S_ISDIR(st.st_mode) && levels > 1)
                search_folder(s, path, levels - 1);
        }
        free(path);
    }
    if (dir)
        closedir(dir);
}

static void find_old_file(struct bench *b)
{
    struct stat st;
    struct search s = {.now = time(NULL), .entries_left = MOST_ENTRIES};
    if (stat(b->folder, &st) < 0)
        return;
    s.device = st.st_dev;
    search_folder(&s, b->folder, 2);
    b->old_path = s.best;
    b->old_age = s.best_age;
}

/* ---- measuring ---- */

/* The share of other programs in the bytes that the disk moved. 0 where that is not known. */
static double share_of_others(const struct bench *b, bool known, uint64_t before, uint64_t own)
{
    uint64_t after;
    if (!known || !og__disk_traffic(b->folder, &after) || after - before <= own)
        return 0;
    return 1 - (double)own / (double)(after - before);
}

static int measure_once(struct bench *b, const struct og_io_ops *ops, const struct og_io_file *file,
                        const struct og_io_load *load, struct og_io_rate *rate, double *others,
                        struct og_err *err)
{
    uint64_t before;
    const bool known = og__disk_traffic(b->folder, &before);
    OG_DO(og__io_measure(ops, file, load, rate, err));
    if (stopped(b))
        return interrupted(err);
    *others = share_of_others(b, known, before, rate->bytes);
    return 0;
}

/* Keeps the attempt with the least work of other programs. */
static int measure(struct bench *b, const struct og_io_ops *ops, const struct og_io_file *file,
                   struct point *p, struct og_err *err)
{
    const struct og_io_load load = {
        .bytes = p->shape.bytes,
        .depth = p->shape.depth,
        .threads = p->shape.depth,
        .sequential = p->shape.sequential,
        .seconds = point_seconds,
        .seed = (uint32_t)b->done + 1,
        .stop = b->observer ? b->observer->stop : NULL,
    };
    double least = 1;
    for (int i = 0; i < MOST_TRIES && least > OG__DISK_BUSY; i++) {
        struct og_io_rate rate = {0};
        double others = 0;
        OG_DO(measure_once(b, ops, file, &load, &rate, &others, err));
        if (i == 0 || others < least) {
            p->rate = rate;
            least = others;
        }
    }
    b->others = OG_MAX(b->others, least);
    show_progress(b, "measure", (uint64_t)++b->done, (uint64_t)b->total);
    og__say(&b->log, OG__INFO, "%d of %d: %s, %s, %zu bytes, depth %d: %.0f reads/s, %.3f GB/s",
            b->done, b->total, ops->name, p->shape.sequential ? "sequential" : "random",
            p->shape.bytes, p->shape.depth, p->rate.iops, p->rate.bytes_per_second * 1e-9);
    return 0;
}

/* Measures page faults with more and more threads; each scan is on an uncached file. */
static int measure_faults(struct bench *b, struct og_err *err)
{
    for (size_t i = 0; i < N_FAULTS; i++) {
        b->faults[i].shape = (struct shape){4096, fault_threads[i], false};
        (void)posix_fadvise(b->file.fd, 0, 0, POSIX_FADV_DONTNEED);
        OG_DO(measure(b, &og__io_mmap, &b->file, &b->faults[i], err));
    }
    return 0;
}

/* The smallest depth (or number of threads) that nearly reaches the best. */
static const struct point *best(const struct point *points, size_t n, bool sequential, size_t bytes)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (points[i].shape.sequential == sequential &&
            (bytes == 0 || points[i].shape.bytes == bytes))
            most = OG_MAX(most, points[i].rate.bytes_per_second);
    const struct point *found = &points[0];
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct point *p = &points[i];
        bool requested =
            p->shape.sequential == sequential && (bytes == 0 || p->shape.bytes == bytes);
        if (requested && p->rate.bytes_per_second >= nearly_best * most &&
            (!any || p->shape.depth < found->shape.depth)) {
            found = p;
            any = true;
        }
    }
    return found;
}

static int measure_old(struct bench *b, struct og_err *err)
{
    struct og_io_file file;
    int rc = og__io_file_open(&file, b->old_path, true, &b->log, err);
    if (rc < 0)
        return rc;
    b->old[0] = *best(b->fresh, N_FRESH, true, 0);
    b->old[1] = *best(b->fresh, N_FRESH, false, 4096);
    for (size_t i = 0; i < N_OLD; i++)
        OG_TRY(measure(b, b->ops, &file, &b->old[i], err));
out:
    og__io_file_close(&file);
    return rc;
}

static int measure_all(struct bench *b, struct og_err *err)
{
    for (size_t i = 0; i < N_FRESH; i++) {
        b->fresh[i].shape = fresh_shapes[i];
        OG_DO(measure(b, b->ops, &b->file, &b->fresh[i], err));
    }
    for (size_t i = 0; i < N_PREAD; i++) {
        b->pread[i].shape = pread_shapes[i];
        OG_DO(measure(b, &og__io_pread, &b->file, &b->pread[i], err));
    }
    OG_DO(measure_faults(b, err));
    if (b->old_path)
        OG_DO(measure_old(b, err));
    return 0;
}

static void make_profile(struct bench *b)
{
    const struct point *sequential = best(b->fresh, N_FRESH, true, 0);
    const struct point *random = best(b->fresh, N_FRESH, false, 4096);
    b->profile = (struct og_disk_profile){
        .iops = b->old_path ? b->old[1].rate.iops : random->rate.iops,
        .bandwidth =
            b->old_path ? b->old[0].rate.bytes_per_second : sequential->rate.bytes_per_second,
        .fresh = sequential->rate.bytes_per_second,
        .write = b->write_rate,
        .depth = random->shape.depth,
        .fault_threads = best(b->faults, N_FAULTS, false, 0)->shape.depth,
        .others = b->others,
        .measured = true,
    };
}

/* ---- results ---- */

static json_t *rows(const struct point *points, size_t n, bool sequential)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct point *p = &points[i];
        if (p->shape.sequential != sequential)
            continue;
        json_t *row = json_pack("{s:I, s:i, s:o, s:o}", "bytes", (json_int_t)p->shape.bytes,
                                "depth", p->shape.depth, "iops", og__json_real(p->rate.iops),
                                "bytes_per_second", og__json_real(p->rate.bytes_per_second));
        list = og__json_append(list, row);
    }
    return list;
}

static json_t *fault_rows(const struct bench *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < N_FAULTS; i++)
        list = og__json_append(
            list, json_pack("{s:i, s:o, s:o}", "threads", b->faults[i].shape.depth, "iops",
                            og__json_real(b->faults[i].rate.iops), "bytes_per_second",
                            og__json_real(b->faults[i].rate.bytes_per_second)));
    return list;
}

static json_t *old_file(const struct bench *b)
{
    if (!b->old_path)
        return json_null();
    return json_pack("{s:s, s:f, s:o, s:o}", "file", b->old_path, "age_seconds", (double)b->old_age,
                     "sequential", rows(b->old, N_OLD, true), "random", rows(b->old, N_OLD, false));
}

static json_t *profile_json(const struct og_disk_profile *p, const char *file)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:I, s:s?}", "iops", p->iops, "bandwidth",
                     p->bandwidth, "fresh_bandwidth", p->fresh, "write_bandwidth", p->write,
                     "depth", p->depth, "fault_threads", p->fault_threads, "other_traffic",
                     p->others, "merge_gap_bytes", (json_int_t)og__profile_gap(p), "file", file);
}

static char *to_json(const struct bench *b, const char *profile_file)
{
    json_t *root =
        json_pack("{s:s, s:s, s:b, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "path", b->folder,
                  "engine", b->ops->name, "direct", b->file.direct, "file_bytes",
                  (json_int_t)FILE_BYTES, "write_bytes_per_second", b->write_rate, "sequential",
                  rows(b->fresh, N_FRESH, true), "random", rows(b->fresh, N_FRESH, false), "pread",
                  json_pack("{s:o, s:o}", "sequential", rows(b->pread, N_PREAD, true), "random",
                            rows(b->pread, N_PREAD, false)),
                  "mmap_faults", fault_rows(b), "old", old_file(b), "profile",
                  profile_json(&b->profile, profile_file));
    if (!b->old_path)
        root = og__json_with(
            root, "old_reason",
            json_string("no file here of 256 MiB or more was last written an hour ago or earlier"));
    char *text = og__json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    json_decref(root);
    return text;
}

/* Results are returned even if the profile cannot be stored. */
static int report(struct bench *b, char **out, struct og_err *err)
{
    struct og_err why = {0};
    char *file = NULL;
    make_profile(b);
    if (b->others > OG__DISK_BUSY)
        og__say(
            &b->log, OG__WARN,
            "other programs moved up to %.0f %% of this disk's bytes while it was measured: run "
            "`outgrow bench io` again when they have ended",
            100 * b->others);
    if (og__profile_save(b->folder, &b->profile, &file, &why) < 0)
        og__say(&b->log, OG__WARN, "the profile was not stored: %s", why.message);
    char *text = to_json(b, file);
    free(file);
    if (!text)
        return og__fail_errno(err, -ENOMEM, NULL, "bench io");
    if (out)
        *out = text;
    else
        free(text);
    return 0;
}

int og__bench_io(const char *path, const struct og_observer *observer, char **out,
                 struct og_err *err)
{
    struct bench b = {.folder = path ? path : ".", .observer = observer, .file = {.fd = -1}};
    int rc = 0;
    if (out)
        *out = NULL;
    if (observer)
        b.log = (struct og_log){.fn = observer->message, .arg = observer->arg};
    b.ops = og__io_pick(OG_IO_AUTO, &b.log);
    find_old_file(&b);
    b.total = N_FRESH + N_PREAD + N_FAULTS + (b.old_path ? N_OLD : 0);
    og__say(
        &b.log, OG__INFO,
        "writes 2 GiB to %s, then reads in %d ways for %.0f s each: a minute or two, longer on a "
        "slow or busy disk",
        b.folder, b.total, point_seconds);
    OG_TRY(write_file(&b, err));
    OG_TRY(measure_all(&b, err));
    OG_TRY(report(&b, out, err));
out:
    og__io_file_close(&b.file);
    free(b.old_path);
    return rc;
}
