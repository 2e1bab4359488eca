#include "runs/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <liburing.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zip.h>

const char *const fault_names[FAULT_KINDS] = {"none", "memory", "library", "open",  "read",
                                              "end",  "short",  "write",   "space", "slow"};

static atomic_int armed; /* enum fault_kind */
static atomic_long number, calls;
static atomic_bool fired_now, full; /* full: the disk has no room left */

/* The code of the libraries that are meant. */
static struct text {
    uintptr_t begin, end;
    const char *library;
} texts[16];
static size_t n_texts;

/* A thread that runs code of ours: not what starts it, nor one of OpenMP. */
static _Thread_local bool ours;

static int note_text(struct dl_phdr_info *at, size_t size, void *unused)
{
    static const char *const names[] = {"libjansson.", "libz.",   "libzip.",
                                        "libyaml-",    "libbz2.", "libc."};
    const char *slash = strrchr(at->dlpi_name, '/');
    const char *name = slash ? slash + 1 : at->dlpi_name;
    const char *meant = NULL;
    (void)size;
    (void)unused;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            meant = names[i];
    for (int i = 0; meant && i < at->dlpi_phnum && n_texts < sizeof(texts) / sizeof(*texts); i++) {
        const ElfW(Phdr) *part = &at->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        uintptr_t begin = at->dlpi_addr + part->p_vaddr;
        texts[n_texts++] = (struct text){begin, begin + part->p_memsz, meant};
    }
    return 0;
}

void faults_arm(enum fault_kind kind, long k)
{
    ours = true;
    if (n_texts == 0)
        dl_iterate_phdr(note_text, NULL);
    atomic_store(&number, k);
    atomic_store(&calls, 0);
    atomic_store(&fired_now, false);
    atomic_store(&full, false);
    atomic_store(&armed, kind);
}

long faults_disarm(bool *fired)
{
    atomic_store(&armed, FAULT_NONE);
    atomic_store(&full, false);
    *fired = atomic_load(&fired_now);
    return atomic_load(&calls);
}

/* Is this call the one? */
static bool hit(enum fault_kind kind)
{
    if ((enum fault_kind)atomic_load(&armed) != kind)
        return false;
    bool now = atomic_fetch_add(&calls, 1) + 1 == atomic_load(&number);
    if (now)
        atomic_store(&fired_now, true);
    return now;
}

/* For functions that return a pointer or -1: errno is set when it is their turn. */
static bool fails(enum fault_kind kind, int code)
{
    if (!hit(kind))
        return false;
    errno = code;
    return true;
}

/* The linker's names. */
#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name

/* ---- memory inside libraries ----
 *
 * A program's own malloc is the one that libraries are given as well. It passes calls to the
 * sanitizer's where there is one, else to the C library's; what free() gets is theirs in any
 * case. */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__interceptor_malloc(size_t n) __attribute__((weak));
void *__interceptor_calloc(size_t n, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *p, size_t n) __attribute__((weak));

/* The library that calls; NULL: none that is meant. */
static const char *library_of(const void *caller)
{
    for (size_t i = 0; i < n_texts; i++)
        if ((uintptr_t)caller >= texts[i].begin && (uintptr_t)caller < texts[i].end)
            return texts[i].library;
    return NULL;
}

/* Two libraries mishandle a lack of memory, which cannot be mended from outside. While it reads,
 * jansson doubles its buffer for a long word, does not check whether it got it, and reads on past
 * its end. And libzip loses a descriptor when the C library has no memory for its FILE, and layers
 * of a member when it has none for the next. */
static _Thread_local bool json_is_read, zip_is_opened, member_is_opened;

static bool spared(const char *library, size_t n)
{
    return (json_is_read && n >= 32 && (n & (n - 1)) == 0) ||
           (zip_is_opened && strcmp(library, "libc.") == 0) ||
           (member_is_opened && strcmp(library, "libzip.") == 0);
}

static bool fails_within(const void *caller, size_t n)
{
    if ((enum fault_kind)atomic_load(&armed) != FAULT_LIBRARY || !ours)
        return false;
    const char *library = library_of(caller);
    return library && !spared(library, n) && fails(FAULT_LIBRARY, ENOMEM);
}

#define CALLER __builtin_return_address(0)
#define SEEN   __attribute__((visibility("default"))) /* by libraries */

SEEN void *malloc(size_t n)
{
    if (fails_within(CALLER, n))
        return NULL;
    return __interceptor_malloc ? __interceptor_malloc(n) : __libc_malloc(n);
}

SEEN void *calloc(size_t n, size_t size)
{
    if (fails_within(CALLER, n * size))
        return NULL;
    return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

SEEN void *realloc(void *p, size_t n)
{
    if (fails_within(CALLER, n))
        return NULL;
    return __interceptor_realloc ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}

json_t *REAL(json_loadb)(const char *text, size_t n, size_t flags, json_error_t *why);

json_t *WRAP(json_loadb)(const char *text, size_t n, size_t flags, json_error_t *why);
json_t *WRAP(json_loadb)(const char *text, size_t n, size_t flags, json_error_t *why)
{
    json_is_read = true;
    json_t *root = REAL(json_loadb)(text, n, flags, why);
    json_is_read = false;
    return root;
}

/* ---- memory, threads ---- */

void *REAL(malloc)(size_t n);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *p, size_t n);
void *REAL(aligned_alloc)(size_t to, size_t n);
char *REAL(strdup)(const char *s);
char *REAL(strndup)(const char *s, size_t n);
void *REAL(mmap)(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int REAL(pthread_create)(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);

void *WRAP(malloc)(size_t n);
void *WRAP(malloc)(size_t n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(malloc)(n);
}

void *WRAP(calloc)(size_t n, size_t size);
void *WRAP(calloc)(size_t n, size_t size)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(calloc)(n, size);
}

void *WRAP(realloc)(void *p, size_t n);
void *WRAP(realloc)(void *p, size_t n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(realloc)(p, n);
}

void *WRAP(aligned_alloc)(size_t to, size_t n);
void *WRAP(aligned_alloc)(size_t to, size_t n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(aligned_alloc)(to, n);
}

char *WRAP(strdup)(const char *s);
char *WRAP(strdup)(const char *s)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(strdup)(s);
}

char *WRAP(strndup)(const char *s, size_t n);
char *WRAP(strndup)(const char *s, size_t n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(strndup)(s, n);
}

int WRAP(asprintf)(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int WRAP(asprintf)(char **out, const char *fmt, ...)
{
    if (fails(FAULT_MEMORY, ENOMEM))
        return -1;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(out, fmt, ap);
    va_end(ap);
    return n;
}

void *WRAP(mmap)(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *WRAP(mmap)(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    return fails(FAULT_MEMORY, ENOMEM) ? MAP_FAILED : REAL(mmap)(at, n, prot, flags, fd, offset);
}

int REAL(posix_memalign)(void **p, size_t to, size_t n);
char *REAL(realpath)(const char *path, char *out);
int REAL(dup)(int fd);
locale_t REAL(newlocale)(int mask, const char *name, locale_t base);
FILE *REAL(open_memstream)(char **data, size_t *n);
XXH3_state_t *REAL(XXH3_createState)(void);

int WRAP(posix_memalign)(void **p, size_t to, size_t n);
int WRAP(posix_memalign)(void **p, size_t to, size_t n)
{
    return hit(FAULT_MEMORY) ? ENOMEM : REAL(posix_memalign)(p, to, n);
}

char *WRAP(realpath)(const char *path, char *out);
char *WRAP(realpath)(const char *path, char *out)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(realpath)(path, out);
}

int WRAP(dup)(int fd);
int WRAP(dup)(int fd)
{
    return fails(FAULT_MEMORY, EMFILE) ? -1 : REAL(dup)(fd);
}

locale_t WRAP(newlocale)(int mask, const char *name, locale_t base);
locale_t WRAP(newlocale)(int mask, const char *name, locale_t base)
{
    return fails(FAULT_MEMORY, ENOMEM) ? (locale_t)0 : REAL(newlocale)(mask, name, base);
}

FILE *WRAP(open_memstream)(char **data, size_t *n);
FILE *WRAP(open_memstream)(char **data, size_t *n)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(open_memstream)(data, n);
}

XXH3_state_t *WRAP(XXH3_createState)(void);
XXH3_state_t *WRAP(XXH3_createState)(void)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(XXH3_createState)();
}

int WRAP(pthread_create)(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
struct thread {
    void *(*fn)(void *);
    void *arg;
};

static void *run_thread(void *thread)
{
    struct thread t = *(struct thread *)thread;
    free(thread);
    ours = true;
    return t.fn(t.arg);
}

int WRAP(pthread_create)(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    if (hit(FAULT_MEMORY))
        return EAGAIN;
    struct thread *thread = REAL(malloc)(sizeof(*thread));
    if (!thread)
        return EAGAIN;
    *thread = (struct thread){fn, arg};
    int rc = REAL(pthread_create)(t, a, run_thread, thread);
    if (rc != 0)
        free(thread);
    return rc;
}

/* ---- names ---- */

int REAL(open)(const char *path, int flags, ...);
int REAL(openat)(int at, const char *path, int flags, ...);
FILE *REAL(fopen)(const char *path, const char *mode);
FILE *REAL(fdopen)(int fd, const char *mode);
DIR *REAL(opendir)(const char *path);
DIR *REAL(fdopendir)(int fd);
int REAL(mkdir)(const char *path, mode_t mode);
int REAL(mkdirat)(int at, const char *path, mode_t mode);
int REAL(rename)(const char *from, const char *to);
int REAL(fstat)(int fd, struct stat *st);

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

int WRAP(open)(const char *path, int flags, ...);
int WRAP(open)(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(open)(path, flags, mode);
}

int WRAP(openat)(int at, const char *path, int flags, ...);
int WRAP(openat)(int at, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(openat)(at, path, flags, mode);
}

FILE *WRAP(fopen)(const char *path, const char *mode);
FILE *WRAP(fopen)(const char *path, const char *mode)
{
    return fails(FAULT_OPEN, EACCES) ? NULL : REAL(fopen)(path, mode);
}

FILE *WRAP(fdopen)(int fd, const char *mode);
FILE *WRAP(fdopen)(int fd, const char *mode)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(fdopen)(fd, mode);
}

DIR *WRAP(opendir)(const char *path);
DIR *WRAP(opendir)(const char *path)
{
    return fails(FAULT_OPEN, EACCES) ? NULL : REAL(opendir)(path);
}

DIR *WRAP(fdopendir)(int fd);
DIR *WRAP(fdopendir)(int fd)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : REAL(fdopendir)(fd);
}

int WRAP(mkdir)(const char *path, mode_t mode);
int WRAP(mkdir)(const char *path, mode_t mode)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(mkdir)(path, mode);
}

int WRAP(mkdirat)(int at, const char *path, mode_t mode);
int WRAP(mkdirat)(int at, const char *path, mode_t mode)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(mkdirat)(at, path, mode);
}

int WRAP(rename)(const char *from, const char *to);
int WRAP(rename)(const char *from, const char *to)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(rename)(from, to);
}

int WRAP(fstat)(int fd, struct stat *st);
int WRAP(fstat)(int fd, struct stat *st)
{
    if (fails(FAULT_OPEN, EACCES))
        return -1;
    int rc = REAL(fstat)(fd, st);
    if (rc == 0 && S_ISREG(st->st_mode) && hit(FAULT_END))
        st->st_size /= 2; /* which a mapping is created with where others read too far */
    return rc;
}

int REAL(stat)(const char *path, struct stat *st);
int REAL(lstat)(const char *path, struct stat *st);
int REAL(statx)(int at, const char *path, int flags, unsigned mask, struct statx *st);
int REAL(access)(const char *path, int mode);

int WRAP(stat)(const char *path, struct stat *st);
int WRAP(stat)(const char *path, struct stat *st)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(stat)(path, st);
}

int WRAP(lstat)(const char *path, struct stat *st);
int WRAP(lstat)(const char *path, struct stat *st)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(lstat)(path, st);
}

int WRAP(statx)(int at, const char *path, int flags, unsigned mask, struct statx *st);
int WRAP(statx)(int at, const char *path, int flags, unsigned mask, struct statx *st)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(statx)(at, path, flags, mask, st);
}

int WRAP(access)(const char *path, int mode);
int WRAP(access)(const char *path, int mode)
{
    return fails(FAULT_OPEN, EACCES) ? -1 : REAL(access)(path, mode);
}

/* ---- reading ---- */

ssize_t REAL(pread)(int fd, void *data, size_t n, off_t at);
size_t REAL(fread)(void *data, size_t size, size_t n, FILE *f);
int REAL(io_uring_queue_init)(unsigned entries, struct io_uring *ring, unsigned flags);
int REAL(io_uring_submit_and_wait)(struct io_uring *ring, unsigned wait);

static void be_slow(void)
{
    if (atomic_load(&armed) != FAULT_SLOW || atomic_fetch_add(&calls, 1) + 1 < atomic_load(&number))
        return;
    atomic_store(&fired_now, true);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* About half, in whole sectors for requests of whole sectors, as direct I/O requires. */
static size_t shorter(size_t n)
{
    size_t half = (n + 1) / 2;
    return n % 512 == 0 ? (half + 511) / 512 * 512 : half;
}

ssize_t WRAP(pread)(int fd, void *data, size_t n, off_t at);
ssize_t WRAP(pread)(int fd, void *data, size_t n, off_t at)
{
    be_slow();
    if (fails(FAULT_READ, EIO))
        return -1;
    if (hit(FAULT_END))
        return 0;
    return REAL(pread)(fd, data, hit(FAULT_SHORT) ? shorter(n) : n, at);
}

size_t WRAP(fread)(void *data, size_t size, size_t n, FILE *f);
size_t WRAP(fread)(void *data, size_t size, size_t n, FILE *f)
{
    if (!hit(FAULT_READ))
        return REAL(fread)(data, size, n, f);
    f->_flags |= 0x20; /* what ferror looks at: _IO_ERR_SEEN */
    errno = EIO;
    return 0;
}

/* ---- compressed ---- */

zip_t *REAL(zip_open)(const char *path, int flags, int *why);
zip_file_t *REAL(zip_fopen_index)(zip_t *z, zip_uint64_t index, zip_flags_t flags);
zip_int64_t REAL(zip_fread)(zip_file_t *f, void *data, zip_uint64_t n);

zip_t *WRAP(zip_open)(const char *path, int flags, int *why);
zip_t *WRAP(zip_open)(const char *path, int flags, int *why)
{
    if (hit(FAULT_OPEN)) {
        *why = ZIP_ER_OPEN;
        return NULL;
    }
    zip_is_opened = true;
    zip_t *z = REAL(zip_open)(path, flags, why);
    zip_is_opened = false;
    return z;
}

zip_file_t *WRAP(zip_fopen_index)(zip_t *z, zip_uint64_t index, zip_flags_t flags);
zip_file_t *WRAP(zip_fopen_index)(zip_t *z, zip_uint64_t index, zip_flags_t flags)
{
    if (hit(FAULT_MEMORY))
        return NULL;
    member_is_opened = true;
    zip_file_t *member = REAL(zip_fopen_index)(z, index, flags);
    member_is_opened = false;
    return member;
}

zip_int64_t WRAP(zip_fread)(zip_file_t *f, void *data, zip_uint64_t n);
zip_int64_t WRAP(zip_fread)(zip_file_t *f, void *data, zip_uint64_t n)
{
    be_slow();
    if (hit(FAULT_READ))
        return -1;
    if (hit(FAULT_END))
        return 0;
    return REAL(zip_fread)(f, data, hit(FAULT_SHORT) ? (n + 1) / 2 : n);
}

/* ---- rings ---- */

int REAL(io_uring_register_buffers)(struct io_uring *ring, const struct iovec *v, unsigned n);
int REAL(io_uring_register_files)(struct io_uring *ring, const int *fd, unsigned n);

int WRAP(io_uring_register_buffers)(struct io_uring *ring, const struct iovec *v, unsigned n);
int WRAP(io_uring_register_buffers)(struct io_uring *ring, const struct iovec *v, unsigned n)
{
    return hit(FAULT_MEMORY) ? -ENOMEM : REAL(io_uring_register_buffers)(ring, v, n);
}

int WRAP(io_uring_register_files)(struct io_uring *ring, const int *fd, unsigned n);
int WRAP(io_uring_register_files)(struct io_uring *ring, const int *fd, unsigned n)
{
    return hit(FAULT_MEMORY) ? -ENOMEM : REAL(io_uring_register_files)(ring, fd, n);
}

int WRAP(io_uring_queue_init)(unsigned entries, struct io_uring *ring, unsigned flags);
int WRAP(io_uring_queue_init)(unsigned entries, struct io_uring *ring, unsigned flags)
{
    return hit(FAULT_MEMORY) ? -ENOMEM : REAL(io_uring_queue_init)(entries, ring, flags);
}

/* The oldest completion that waits in the ring is changed. */
static void spoil_completion(struct io_uring *ring)
{
    unsigned head = *ring->cq.khead;
    if (io_uring_cq_ready(ring) == 0)
        return;
    struct io_uring_cqe *cqe = &ring->cq.cqes[head & *ring->cq.kring_mask];
    if (cqe->res <= 0)
        return;
    if (hit(FAULT_READ))
        cqe->res = -EIO;
    if (hit(FAULT_END))
        cqe->res = 0;
}

int WRAP(io_uring_submit_and_wait)(struct io_uring *ring, unsigned wait);
int WRAP(io_uring_submit_and_wait)(struct io_uring *ring, unsigned wait)
{
    be_slow();
    if (hit(FAULT_MEMORY))
        return -EAGAIN;
    int rc = REAL(io_uring_submit_and_wait)(ring, wait);
    spoil_completion(ring);
    return rc;
}

/* ---- writing ---- */

ssize_t REAL(pwrite)(int fd, const void *data, size_t n, off_t at);
int REAL(fflush)(FILE *f);
int REAL(ftruncate)(int fd, off_t n);

ssize_t WRAP(pwrite)(int fd, const void *data, size_t n, off_t at);
ssize_t WRAP(pwrite)(int fd, const void *data, size_t n, off_t at)
{
    if (fails(FAULT_WRITE, EIO))
        return -1;
    if (atomic_load(&full)) {
        errno = ENOSPC;
        return -1;
    }
    if (!hit(FAULT_SPACE))
        return REAL(pwrite)(fd, data, n, at);
    atomic_store(&full, true);
    if (n > 1)
        return REAL(pwrite)(fd, data, n / 2, at);
    errno = ENOSPC;
    return -1;
}

ssize_t REAL(pwritev)(int fd, const struct iovec *v, int n, off_t at);
int REAL(fallocate)(int fd, int mode, off_t at, off_t n);
int REAL(fclose)(FILE *f);

ssize_t WRAP(pwritev)(int fd, const struct iovec *v, int n, off_t at);
ssize_t WRAP(pwritev)(int fd, const struct iovec *v, int n, off_t at)
{
    if (fails(FAULT_WRITE, EIO))
        return -1;
    if (hit(FAULT_SPACE))
        atomic_store(&full, true);
    if (!atomic_load(&full))
        return REAL(pwritev)(fd, v, n, at);
    errno = ENOSPC;
    return -1;
}

int WRAP(fallocate)(int fd, int mode, off_t at, off_t n);
int WRAP(fallocate)(int fd, int mode, off_t at, off_t n)
{
    if (!fails(FAULT_SPACE, ENOSPC))
        return REAL(fallocate)(fd, mode, at, n);
    atomic_store(&full, true);
    return -1;
}

/* What was still to be written is written where it can be. */
int WRAP(fclose)(FILE *f);
int WRAP(fclose)(FILE *f)
{
    int rc = REAL(fclose)(f);
    return fails(FAULT_WRITE, EIO) ? EOF : rc;
}

int WRAP(fsync)(int fd);
int WRAP(fsync)(int fd)
{
    (void)fd; /* nothing here has to outlive the machine */
    return fails(FAULT_WRITE, EIO) ? -1 : 0;
}

int WRAP(fflush)(FILE *f);
int WRAP(fflush)(FILE *f)
{
    return fails(FAULT_WRITE, EIO) || fails(FAULT_SPACE, ENOSPC) ? EOF : REAL(fflush)(f);
}

int WRAP(ftruncate)(int fd, off_t n);
int WRAP(ftruncate)(int fd, off_t n)
{
    return fails(FAULT_WRITE, EIO) ? -1 : REAL(ftruncate)(fd, n);
}
