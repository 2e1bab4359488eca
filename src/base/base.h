/* Basics that every module needs: errors, logging, time, text.
 *
 * Naming: og_ is exported, og__ crosses files inside the library, static stays in its file. A
 * function that can fail returns 0 (or a count) or a negative errno and fills `err`. */
#ifndef OG_BASE_H
#define OG_BASE_H

#include <outgrow/err.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define OG_COUNT(array)      (sizeof(array) / sizeof((array)[0]))
#define OG_MIN(a, b)         ((a) < (b) ? (a) : (b))
#define OG_MAX(a, b)         ((a) > (b) ? (a) : (b))
#define OG_LIKELY(x)         __builtin_expect(!!(x), 1)
#define OG_UNLIKELY(x)       __builtin_expect(!!(x), 0)

#define OG_KIB ((size_t)1 << 10)
#define OG_MIB ((size_t)1 << 20)
#define OG_GIB ((size_t)1 << 30)

/* The compiler builds hot kernels for three generations of x86-64; the loader selects one at start.
 * So one package runs everywhere. Not with sanitizers: they start after ifunc resolvers run. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OG_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define OG_CLONES
#endif

/* ---- failing ---- */

/* Records a failure and returns `code`. Keeps what is already in `err`: the first message wins.
 * hint may be NULL. The message becomes one line; one too long is cut in the middle. */
int og__fail(struct og_err *err, int code, const char *hint, const char *fmt, ...) OG_PRINTF(4, 5);

/* As og__fail, and appends ": " and the text of errno value -code. A NULL hint becomes the usual
 * one for that errno, if any. */
int og__fail_errno(struct og_err *err, int code, const char *hint, const char *fmt, ...)
    OG_PRINTF(4, 5);

/* The analyzer reads one file at a time. With this it does not follow failures past `if (rc < 0)
 * return rc;`. */
#ifdef __clang_analyzer__
static inline int og__negative(int code)
{
    if (code >= 0)
        __builtin_unreachable();
    return code;
}
#define og__fail(...)       og__negative(og__fail(__VA_ARGS__))
#define og__fail_errno(...) og__negative(og__fail_errno(__VA_ARGS__))
#endif

/* The standard error paths. Success may be more than 0.
 *
 * OG_DO returns a failure: in functions that hold no resource. */
#define OG_DO(expr)                  \
    do {                             \
        const int og__rc = (expr);   \
        if (OG_UNLIKELY(og__rc < 0)) \
            return og__rc;           \
    } while (0)
/* OG_TRY jumps to `out` on a failure. The function declares an int `rc`, releases its resources at
 * `out` and returns rc. */
#define OG_TRY(expr)             \
    do {                         \
        rc = (expr);             \
        if (OG_UNLIKELY(rc < 0)) \
            goto out;            \
    } while (0)

/* ---- log ---- */

enum og__level { OG__WARN, OG__INFO, OG__DEBUG };

/* Destination of log messages. NULL, or a NULL `fn`, discards them. Any thread may call `fn`. */
struct og_log {
    void (*fn)(void *arg, int level, const char *text);
    void *arg;
};
void og__say(const struct og_log *log, enum og__level level, const char *fmt, ...) OG_PRINTF(3, 4);

/* ---- time and machine ---- */

double og__now(void);          /* seconds, monotonic */
double og__thread_time(void);  /* CPU seconds of the calling thread */
int og__cpu_count(void);       /* CPU cores this process may use (base/limits.h) */
size_t og__memory_whole(void); /* bytes of the machine */
size_t og__memory_free(void);  /* bytes available on the machine, or in a cgroup with less */

/* VmHWM, VmRSS and RssFile of this process in bytes; 0 where /proc lacks them. */
size_t og__rss_peak(void);
size_t og__rss_now(void);
size_t og__rss_file(void);

/* File reads of this library so far, and their bytes, counted at each call. The kernel's count
 * (/proc/self/io) includes reads of /proc and excludes io_uring; some systems count a read twice.
 * Any thread. */
void og__reads_made(uint64_t *reads, uint64_t *bytes);
void og__count_reads(uint64_t reads, uint64_t bytes);

/* ---- stop requests ---- */

/* Has a signal handler or another thread set the flag? NULL: never set. */
static inline bool og__stop_requested(const volatile sig_atomic_t *flag)
{
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

/* ---- text ---- */

/* "1.50 GiB" into buf[32]; returns buf. */
const char *og__human_bytes(char buf[32], double bytes);

/* "a/b" malloc'ed; NULL on lack of memory. */
char *og__path_join(const char *a, const char *b);

/* ---- numbers ---- */

/* Round up to a multiple of `to`, a power of two. */
static inline uint64_t og__round_up(uint64_t x, uint64_t to)
{
    return (x + to - 1) & ~(to - 1);
}

/* Turns the counts of a counting sort into the start of each bucket, in place. */
static inline void og__counts_to_starts(uint32_t *count, size_t n)
{
    uint32_t before = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t here = count[i];
        count[i] = before;
        before += here;
    }
}

#endif
